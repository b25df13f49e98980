"""A plugin's file, read, parsed and imported; the solvers that it defines, and where in it an exception arose.

It is never imported in the process that reads a config. Two kinds of process do: workers, which make runs, and the
children that describe solvers.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.util
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_origin

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError
from mpu_bench.files import read_bounded
from mpu_bench.texts import one_line, plain

MAX_CHARACTERS = 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*")
#: YAML takes these for a switch or for nothing
_WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null"}
#: parameters that say how a solver meets a problem, and are not the solver's own
OF_THE_PROBLEM = ("multiclass", "class_weight")
THRESHOLD = "score_threshold"  #: of two classes, above which its model predicts the positive one
APART = (*OF_THE_PROBLEM, THRESHOLD)
_TAKEN = {"kernel", "tune", *APART}


def check_name(name: Any, where: str) -> None:
    """Refuse a solver's name that cannot stand in a config, a file's name and a table.

    Raises
    ------
    ConfigError
        Beginning with ``where``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_CHARACTERS:
        raise ConfigError(
            f"{where}: its name is {one_line(repr(name), 2 * MAX_CHARACTERS)}; "
            f"it must be a letter and then letters, digits, '-', '_', '+' or '.', {MAX_CHARACTERS} at most"
        )
    if name.lower() in _WORDS_OF_YAML:
        raise ConfigError(f"{where}: its name is '{name}', which is no text in YAML; choose another")


def check_parameter(name: str, where: str) -> None:
    """Refuse a parameter's name that means something else in a config.

    Raises
    ------
    ConfigError
        Beginning with ``where``.
    """
    if name in _TAKEN:
        raise ConfigError(f"{where}: '{name}' is reserved in configs; choose another name")
    if name.startswith(("_", "model_")) or not name.isascii() or len(name) > MAX_CHARACTERS:
        raise ConfigError(
            f"{where}: must be letters and digits, {MAX_CHARACTERS} at most, and not begin with _ or model_"
        )


_LARGEST_FILE = 10_000_000
_DIGITS = 16  # of a hash


@dataclass(frozen=True)
class PluginSource:
    """A plugin's file as it was read."""

    path: Path
    content: bytes

    @property
    def module_name(self) -> str:
        """The name of the module that is made of it, one for each path."""
        return f"mpu_bench_plugin_{self.path.stem}_{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:8]}"

    @property
    def content_hash(self) -> str:
        """The same for equal files."""
        return hashlib.sha256(self.content).hexdigest()[:_DIGITS]

    @cached_property
    def code_hash(self) -> str:
        """The same for files that differ in comments, docstrings and layout only, as far as Python's parser reaches."""
        try:
            return hashlib.sha256(_without_docstrings(self.parsed()).encode()).hexdigest()[:_DIGITS]
        except (RecursionError, MemoryError):  # an expression of thousands of parts
            return self.content_hash

    def parsed(self) -> ast.Module:
        """Return the syntax tree.

        Raises
        ------
        ConfigError
            If this is not Python, naming the line.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.content, str(self.path))
        except SyntaxError as error:
            line = f", line {error.lineno}" if error.lineno else ""
            raise ConfigError(f"{self.path}{line}: {type(error).__name__}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise ConfigError(f"{self.path}: is not Python: {type(error).__name__}: {error}") from None


def _without_docstrings(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)


def read_plugin(path: Path) -> PluginSource:
    """Read a plugin's file.

    Raises
    ------
    ConfigError
        If it is missing, no regular file, no Python file by its ending, too large, or not text.
    """
    if path.suffix != ".py":
        raise ConfigError(f"{path}: is not a Python file; its name must end in .py")
    content = read_bounded(path, _LARGEST_FILE, ConfigError)
    try:
        importlib.util.decode_source(content)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not a text file: {error}") from None
    return PluginSource(path, content)


MAX_BYTES = 8_000  #: of a traceback
_PACKAGES = "site-packages"


def located(error: BaseException, files: Collection[Path], said: str) -> tuple[str, str]:
    """Return what an exception says with its last location in any of the files, and its traceback.

    Parameters
    ----------
    error : BaseException
    files : collection of Path
        As they were imported.
    said : str
        The exception's name and text: the last line of the traceback.

    Returns
    -------
    text : str
        ``ValueError: odd (own.py, line 31, in advance)``; without a location where it passed none of the files.
    traceback : str
        From the first frame in any of the files on, else the whole: plain text of `MAX_BYTES` at most; of a longer one
        the end is left, which is nearest to the error.
    """
    frames = traceback.extract_tb(error.__traceback__)
    inside = [index for index, frame in enumerate(frames) if Path(frame.filename) in files]
    lines = [line for frame in frames[inside[0] if inside else 0 :] for line in _lines(frame, files)]
    end = plain(said, MAX_BYTES // 2)
    room = MAX_BYTES - len(end.encode()) - 100  # for the words around
    shown: list[str] = []
    for line in map(plain, reversed(lines)):
        room -= len(line.encode()) + 1
        if room < 0:
            shown.append("  ...")
            break
        shown.append(line)
    whole = "\n".join(["Traceback (most recent call last):", *reversed(shown), end])
    if not inside:
        return said, whole
    last = frames[inside[-1]]
    return f"{said} ({Path(last.filename).name}, line {last.lineno}, in {last.name})", whole


def _lines(frame: traceback.FrameSummary, files: Collection[Path]) -> list[str]:
    """Return a frame as Python writes it, with no more of its path than is needed to find it."""
    path = Path(frame.filename)
    shown = path.name if path in files else frame.filename.rpartition(f"{_PACKAGES}/")[2]
    source = [f"    {frame.line}"] if frame.line else []
    return [f'  File "{shown}", line {frame.lineno}, in {frame.name}', *source]


_MAX_SHOWN_BYTES = 1000  # of what an exception says


def import_solvers(source: PluginSource) -> list[type[Solver]]:
    """Run a plugin's file, unless that is done already, and return the solvers that it defines.

    Exactly the bytes that were read are run, never a compiled file that lies beside them.

    Raises
    ------
    ConfigError
        If the file fails, by whatever exception; if it defines no solver, or one that is not fit to be run: without a
        method that every solver has, with a name that cannot be written in a config, or with parameters but no
        dataclass.
    """
    module = _import(source)
    try:
        return _solver_classes(module, source.path)
    except ConfigError:
        raise
    except BaseException as error:  # a metaclass may do anything
        raise ConfigError(cause_of(error, source.path)) from error


def _import(source: PluginSource) -> ModuleType:
    if source.module_name in sys.modules:
        return sys.modules[source.module_name]
    spec = importlib.util.spec_from_file_location(source.module_name, source.path)
    assert spec is not None, "its name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[source.module_name] = module
    try:
        exec(compile(source.content, str(source.path), "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        sys.modules.pop(source.module_name, None)
        of_ours = isinstance(error, ImportError) and (error.name or "").startswith("mpu_bench")
        where = "; what solvers import is in mpu_bench.solver" if of_ours else ""
        raise ConfigError(f"{cause_of(error, source.path)}; the file cannot be imported{where}") from error
    return module


def _solver_classes(module: ModuleType, path: Path) -> list[type[Solver]]:
    subclasses = [
        subclass
        for subclass in dict.fromkeys(value for value in vars(module).values() if isinstance(value, type))
        if issubclass(subclass, Solver) and subclass.__module__ == module.__name__
    ]
    named = [subclass for subclass in subclasses if hasattr(subclass, "name")]
    bases = {base for subclass in named for base in subclass.__mro__[1:]}
    classes = [subclass for subclass in named if not (subclass.__abstractmethods__ and subclass in bases)]
    if not classes:
        why = "; ".join(f"class {subclass.__name__} has no name = '...'" for subclass in subclasses)
        raise ConfigError(
            f"{path}: defines no solver: a subclass of mpu_bench.solver.Solver with a name"
            + (f" ({why})" if why else "")
        )
    known: dict[str, type[Solver]] = {}
    for solver in classes:
        check_class(solver, f"{path}: class {solver.__name__}")
        if vars(module).get(solver.__name__) is not solver:  # by which it is loaded: it would be another, or none
            raise ConfigError(
                f"{path}: the class of '{solver.name}' calls itself {solver.__name__}, which in the file is another "
                "class, or none; write class statements, each with its own name"
            )
        if (other := known.setdefault(solver.name, solver)) is not solver:
            raise ConfigError(
                f"{path}: the classes {other.__name__} and {solver.__name__} have one name, '{solver.name}'; choose "
                "another for one of them"
            )
    return classes


def check_class(solver: Any, where: str) -> None:
    """Refuse a class that is no solver, or not fit to be run; messages begin with ``where``.

    Raises
    ------
    ConfigError
    """
    if not isinstance(solver, type) or not issubclass(solver, Solver) or not hasattr(solver, "name"):
        raise ConfigError(f"{where}: is not a subclass of mpu_bench.solver.Solver with a name")
    if "name" in [field.name for field in dataclasses.fields(solver)]:
        raise ConfigError(f"{where}: name is annotated and so a parameter; write name = '...' without a type")
    check_name(solver.name, where)
    if missing := sorted(solver.__abstractmethods__):
        raise ConfigError(f"{where}: lacks {' and '.join(missing)}, which every solver has")
    typed = [name for name, hint in vars(solver).get("__annotations__", {}).items() if not _is_class_variable(hint)]
    if typed and "__dataclass_fields__" not in vars(solver):
        raise ConfigError(
            f"{where}: is not a dataclass, and {', '.join(typed)} no parameter; write @dataclass(frozen=True) above it"
        )


def _is_class_variable(hint: Any) -> bool:
    return "ClassVar" in hint if isinstance(hint, str) else hint is ClassVar or get_origin(hint) is ClassVar


def cause_of(error: BaseException, path: Path) -> str:
    """Return what an exception says, after the file and the last line of it that was reached."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f"{path}, line {lines[-1]}" if lines else str(path)
    return ": ".join(filter(None, [where, type(error).__name__, text_of(error)]))


def text_of(
    error: BaseException, written: Callable[[str, int], str] = one_line, max_bytes: int = _MAX_SHOWN_BYTES
) -> str:
    """Return the text of an exception, which may fail itself, as it is to be written."""
    try:
        return written(str(error), max_bytes)
    except BaseException as another:
        return f"(its text is unavailable: its __str__ raises {type(another).__name__})"
