"""Rules of the house that no linter knows: no circle of imports, short files, one jit decorator, plain docstrings."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mpu_bench"
TESTS = ROOT / "tests"
LONGEST_FILE_LINES = 500
#: openings that say what the author does, not what the function returns or does
BANNED_OPENINGS = ("Give", "Gives", "Tell", "Tells", "Say", "Says")
#: what numba offers for compiling; core/jit.py alone may use it
COMPILERS = {"njit", "jit", "guvectorize", "vectorize", "cfunc", "generated_jit"}
#: folders of tests of the whole
CROSS_CUTTING = {"extension", "faults", "fuzz", "sweep"}

FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def named_by(node: ast.AST) -> list[str]:
    """List the modules, or names in modules, that an import statement may mean."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def imported_by(path: Path) -> set[str]:
    """Return the modules of the package that a file imports anywhere: for types and inside functions, too."""
    imported = set()
    for node in ast.walk(TREES[path]):
        for name in named_by(node):
            module = name
            while module and module not in MODULES:
                module = module.rpartition(".")[0]
            if module and module != module_of(path):
                imported.add(module)
    return imported


def is_in_jit(path: Path) -> bool:
    return path == PACKAGE / "core" / "jit.py"


def short(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_no_circle_of_imports_between_two_files() -> None:
    graph = {module_of(path): imported_by(path) for path in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' <- '.join(error.args[1])}")


def test_files_are_short() -> None:
    lengths = {short(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    long = {name: length for name, length in lengths.items() if length >= LONGEST_FILE_LINES}
    assert not long, f"files of {LONGEST_FILE_LINES} lines or more: {long}"


def test_there_is_one_jit_decorator() -> None:
    others = []
    for path in FILES:
        if is_in_jit(path):
            continue
        for node in ast.walk(TREES[path]):
            spelled = named_by(node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
                spelled = [f"numba.{node.attr}"]
            others += [
                f"{short(path)}:{getattr(node, 'lineno', 0)}: {name}"
                for name in spelled
                if (name.startswith("numba.") and name.rpartition(".")[2] in COMPILERS)
                or name.endswith((".jit.borrowing", ".jit.owning", ".jit.dispatch"))
            ]
    assert not others, "\n".join(others)


def test_jitted_functions_are_decorated_in_two_forms() -> None:
    """``@jit`` and ``@jit(allocates=True)``: any other option of numba's may stand beside."""
    decorators = {
        ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        for path in FILES
        if not is_in_jit(path)
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if "jit" in ast.unparse(decorator)
    }
    assert decorators <= {"jit", "jit_dispatch"}


def test_there_is_one_way_to_print() -> None:
    """Text from outside is no markup and nothing that a terminal obeys: ``display/terminal.py`` alone sees to that."""
    banned = {"rich.console", "rich.text", "rich.markup", "rich.panel", "rich.prompt", "rich.syntax"}
    printing = {"print", "typer.echo", "typer.secho", "typer.confirm", "typer.prompt", "click.echo", "rich.print"}
    others = []
    for path in FILES:
        if short(path) == "display/terminal.py":
            continue
        for_types = {
            id(each)
            for node in ast.walk(TREES[path])
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for each in ast.walk(node)
        }
        for node in ast.walk(TREES[path]):
            imported = (
                {name.rpartition(".")[0] for name in named_by(node)} & banned if id(node) not in for_types else ()
            )
            called = {ast.unparse(node.func)} & printing if isinstance(node, ast.Call) else ()
            if short(path).partition("/")[0] not in ("cli", "display", "report", "verdict", "results"):
                called = ()  # a worker tells what happens to it on its own standard error
            others += [f"{short(path)}:{getattr(node, 'lineno', 0)}: {name}" for name in (*imported, *called)]
    assert not others, "\n".join(others)


def test_docstrings_open_with_what_is_returned_or_done() -> None:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    openings = [
        f"{short(path)}:{getattr(node, 'lineno', 1)}: {docstring.splitlines()[0]}"
        for path in FILES
        for node in ast.walk(TREES[path])
        if isinstance(node, kinds)
        and (docstring := ast.get_docstring(node))
        and docstring.split()[0] in BANNED_OPENINGS
    ]
    assert not openings, "\n".join(openings)


def test_tests_mirror_the_folders_of_the_sources() -> None:
    """``tests/X/`` tests ``src/mpu_bench/X/``."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    homeless = {str(each) for each in folders if not (PACKAGE / each).is_dir()}
    assert homeless == CROSS_CUTTING


#: rooms where a call names its arguments, but for the first four; compiled code, and what stands near it, cannot
NAMING_ROOMS = ("config", "experiment", "cli", "api.py", "results", "display")
MAX_POSITIONAL = 4


def test_calls_name_their_arguments() -> None:
    wide = [
        f"{short(path)}:{node.lineno}: {ast.unparse(node.func)} has {len(node.args)}"
        for path, tree in TREES.items()
        if path.relative_to(PACKAGE).parts[0] in NAMING_ROOMS and "pool" not in path.parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) > MAX_POSITIONAL
    ]
    assert not wide, "\n".join(wide)


#: what is written for people; nothing may depend on what it says
FOR_PEOPLE = {"reason", "remark", "problem", "tuned", "overridden", "description", "caption", "words"}
#: where it is read: rows of before there were columns, and what libyaml says
READS_WORDS = ("results/rows.py", "yaml_text.py")


def _asks_of_words(node: ast.AST) -> bool:
    """Return whether a node asks whether a text for people holds, begins or ends with some words."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return isinstance(node.left, ast.Constant) and _is_for_people(node.comparators[0])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("startswith", "endswith") and _is_for_people(node.func.value)
    return False


def _is_for_people(node: ast.AST) -> bool:
    named = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    named |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    named |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return bool(FOR_PEOPLE & {name for name in named if isinstance(name, str)})


def test_no_words_for_people_decide() -> None:
    found = [
        f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if _asks_of_words(node)
    ]
    assert [each for each in found if not each.startswith(READS_WORDS)] == []
