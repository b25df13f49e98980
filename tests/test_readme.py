"""What README.md and the pages of docs/ tell a user to write works as it stands there."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import mpu_bench
from classifiers import ONLINE
from command_line import environment
from copies import Copies
from documentation import ROOT, block, blocks, commands, pages
from documents.commands import given, verbs
from mpu_bench import estimators
from mpu_bench.cli.app import app
from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.resources import config_names
from mpu_bench.solver import Solver
from mpu_bench.solvers import SOLVERS
from mpu_bench.solvers.plugins import scaffold


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a working folder with the card, the data and the config of the pages."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "mine.yaml").write_text(block("yaml", "kind: svmlight"), encoding="utf-8")
    (tmp_path / "mirror").mkdir()
    lines = [f"{1 if i % 2 else -1} {1 + i % 20}:{i % 7 + 1} {21 if i < 0 else 20}:1".split() for i in range(1000)]
    rows = [f"{label} {first if first.split(':')[0] != '20' else '19:1'} {last}" for label, first, last in lines]
    (tmp_path / "mirror" / "mine.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(block("yaml", "name: mine"), encoding="utf-8")
    return tmp_path


def test_the_config_the_card_and_the_file_by_hand(place: Path, copies: Copies) -> None:
    arguments = ["run", "mine.yaml", "--profile", "ci", "--mirror", "mirror", "--data", "home"]
    done = copies.call(arguments, place, environment())
    assert done.returncode == 0, done.stderr
    assert "mine: 800 x 20, 200 test rows" in done.stdout


def test_a_file_of_ones_own(tmp_path: Path, copies: Copies) -> None:
    rows = [f"{i % 17},{('red', '?')[i % 5 == 0]},{('no', 'yes')[i % 17 > 8]}" for i in range(100)]
    (tmp_path / "mine.csv").write_text("\n".join(["age,color,answer", *rows, ",red,no"]) + "\n", encoding="utf-8")
    lines = [command for command in commands() if "persons" in command]
    home = environment(MPU_BENCH_DATA=str(tmp_path / "home"))
    add, run_it = (line.split() for line in lines)
    for command in (add, [*run_it, "--only", "solver=dcd"]):
        done = copies.call(command[1:], tmp_path, home)
        assert done.returncode == 0, done.stderr
    assert "persons: 80 x 3, 21 test rows" in done.stdout
    assert (tmp_path / "datasets" / "persons.yaml").is_file()


def test_the_example_is_what_the_command_writes() -> None:
    assert block("python", "class MySolver") == scaffold.solver_text("my-solver")


def test_the_runner_from_python(tmp_path: Path) -> None:
    told = _program(block("python", "results = mpu_bench.run") + "\nprint(len(again.runs))", tmp_path)
    assert "digits: 1347 x 64, 450 test rows" in told
    assert told.splitlines()[-1] == "9"
    assert (tmp_path / "test-error.pdf").is_file()


def test_the_classifiers_and_the_users_kernel(tmp_path: Path) -> None:
    program = block("python", "BudgetedPegasosClassifier, SMOClassifier") + "print(online.score(X, y))\n"
    done = _program(program + block("python", "laplacian_kernel"), tmp_path)
    score, gap, evaluations, online, best, given_gap, given_score = map(float, done.split())
    assert score > 0.85
    assert gap < 0.01
    assert evaluations > 0
    assert online > 0.8
    assert best > 0.9
    assert given_gap < 0.01
    assert given_score > 0.95


def test_a_plan_from_python(tmp_path: Path) -> None:
    program = block("python", "mpu_bench.plan").partition("made =")[0]  # tests/cli/test_reproduce.py does the rest
    assert "runs to do" in _program("import mpu_bench\n" + program, tmp_path)


def test_a_users_solver_as_a_classifier(tmp_path: Path) -> None:
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "solver.py").write_text(block("python", "class MySolver"), encoding="utf-8")
    rows = "import numpy as np\nX = np.random.default_rng(0).normal(size=(60, 3)); y = X[:, 0] > 0\n"
    _program(rows + block("python", "classifier(MySolver"), tmp_path)
    assert (tmp_path / "model.mpu").is_file()
    named = tomllib.loads("".join(text for language, text in blocks("docs/own-solver.md") if language == "toml"))
    assert set(named["project"]["entry-points"]) == {"mpu_bench.solvers", "mpu_bench.datasets"}


def _program(program: str, place: Path) -> str:
    """Return what a program prints, in which every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=place, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("command", commands())
def test_every_command_is_one(command: str) -> None:
    """Its verb and options exist, and whatever follows `run` as a config."""
    program, *words = shlex.split(command)
    if program != "mpu-bench":
        assert _exists(program, words), f"{commands()[command]}: {command}"
    elif words and not set(words) & {"VERB", "--install-completion"}:
        words = [word.partition("|")[0] for word in words if not word.startswith("[")]
        told = CliRunner().invoke(app, [*words, "--help"])
        assert told.exit_code == 0, f"{commands()[command]}: {command}: {told.output}"
        assert words[0] != "run" or len(words) == 1 or Path(words[1]).stem in (*config_names(), *OWN_CONFIGS)


def _exists(program: str, words: list[str]) -> bool:
    if program == "make":
        return f"\n{words[0]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    return (ROOT / words[0]).is_file()


#: configs that the pages let a user write
OWN_CONFIGS = ("mine", "even", "my_solver", "pairwise", "CONFIG")
#: why commands are not run here, but for their words; all others are run by a test
NOT_RUN = {
    r"--cluster|dask": "needs a cluster; tests/experiment/pool/cluster makes one",
    r"reproduce|^make |report|since-2012|run [\w-]+ --only dataset=": "takes minutes to days",
    r"adult|web|plot|baseline|check$|bench/": "needs data or results; tests/cli runs the verbs",
    r"MODEL|model|export": "needs a model; tests/cli/test_models.py and test_exporting.py run the verbs",
    r"mine\.|train\.svm|FILE|try": "needs a file; tests/cli/test_adding.py and test_selecting.py run the verbs",
    r"--pdb": "needs a terminal",
    r"[A-Z]{4,}|\.\.\.|\|": "has words to be replaced",
    r"^mpu-bench [a-z-]+$|list configs|completion": "names a verb, which tests/cli runs",
}


def test_every_command_is_run_or_it_is_said_why_not() -> None:
    ran = {*commands_of("docs/tutorial.md"), *commands_of("docs/own-solver.md"), *commands_of("docs/ci.md")}
    ran |= {command for command in commands() if "persons" in command}
    ran |= {command for command in commands() if "list solvers" in command}  # tests/cli/test_info.py
    unsaid = [
        command
        for command in commands()
        if command not in ran and not any(re.search(pattern, command) for pattern in NOT_RUN)
    ]
    assert unsaid == []


def commands_of(page: str) -> list[str]:
    """Return the commands of a page that need nothing but it, in their order."""
    shown = [line for language, text in blocks(page) if language == "" for line in text.splitlines()]
    plain = [re.split(r"\s+#|\s+>\s", line)[0].strip() for line in shown]
    return [line for line in plain if line.startswith("mpu-bench") and not re.search("results/baseline|--pdb", line)]


Follow = Callable[[Iterable[str]], Mapping[str, str]]


@pytest.fixture
def follow(tmp_path: Path, copies: Copies) -> Follow:
    """Return what runs commands one after the other in one folder, each once, and returns what all of them printed."""
    home = environment(MPU_BENCH_DATA=str(tmp_path / "home"), COLUMNS="150")
    told: dict[str, str] = {}

    def run(commands: Iterable[str]) -> Mapping[str, str]:
        for command in commands:
            if command not in told:
                done = copies.call(shlex.split(command)[1:], tmp_path, home)
                assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
                told[command] = done.stdout
        return told

    return run


def test_the_tutorial(tmp_path: Path, follow: Follow) -> None:
    (tmp_path / "even.yaml").write_text(block("yaml", "name: even"), encoding="utf-8")
    subprocess.run([sys.executable, "-c", block("python", "load_digits")], cwd=tmp_path, check=True, timeout=100)
    told = follow(command for command in commands_of("docs/tutorial.md") if "lecture" not in command)
    assert "even: 1437 x 65, 360 test rows" in told["mpu-bench run even.yaml"]
    assert "all 15 tests pass" in told["mpu-bench check-solver my_solver.py"]
    assert "my-solver" in told["mpu-bench run my_solver.yaml"]
    assert "supported" in told["mpu-bench check results/even --all"]


def test_the_lecture(tmp_path: Path, follow: Follow) -> None:
    shown = [command for command in commands_of("docs/tutorial.md") if "lecture" in command]
    few = "--repeats 1 --only solver=perceptron,forgetron"  # bpegasos takes longest to compile
    told = follow(f"{command} {few}" if " run " in command else command for command in shown)
    assert "forgetron vectors=200" in told[f"mpu-bench run lecture {few}"]
    assert (tmp_path / "results" / "lecture" / "figures" / "test-error.png").stat().st_size
    judged = told["mpu-bench check results/lecture --all"]
    assert "Budgeted Pegasos errs less" in judged
    assert "runs of 2 settings" not in judged, "its claim can be judged"


def test_a_users_solver_then_ci(tmp_path: Path, follow: Follow) -> None:
    (tmp_path / "pairwise.yaml").write_text(block("yaml", "name: pairwise"), encoding="utf-8")
    (tmp_path / "pairwise.py").write_text(block("python", "class PairwiseFW"), encoding="utf-8")
    checked = "mpu-bench check-solver my_solver.py"  # by the test of the tutorial
    told = follow(command for command in commands_of("docs/own-solver.md") if command != checked)
    assert r"\textbf" in (tmp_path / "my_solver.tex").read_text(encoding="utf-8")
    assert "all 15 tests pass" in told["mpu-bench check-solver pairwise.py"]
    assert told["mpu-bench run pairwise.yaml"].count(" 4.67 ") == 2, "the same optimum in two ways"
    (shell,) = (text for _, text in blocks("docs/ci.md") if "mkdir" in text)
    copying = [line for line in shell.splitlines() if line.startswith(("mkdir", "cp"))]
    subprocess.run(["sh", "-ec", "\n".join(copying)], cwd=tmp_path, check=True)
    steps = [each["run"] for each in workflow() if each.get("run", "").startswith("mpu-bench")]
    follow(command for command in steps if command != checked)
    told = follow(commands_of("docs/ci.md"))
    assert "nothing changed" in told["mpu-bench check results/my_solver --baseline baseline"]


def workflow() -> list[dict[str, Any]]:
    """Return the steps of the workflow that docs/ci.md shows."""
    (text,) = (text for language, text in blocks("docs/ci.md") if language == "yaml")
    assert len(text.splitlines()) <= 22
    steps: list[dict[str, Any]] = yaml.safe_load(text)["jobs"]["solver"]["steps"]
    return steps


def test_every_piece_of_a_config_that_a_page_shows_is_one(tmp_path: Path) -> None:
    pieces = [text for language, text in blocks("docs/configs.md") if language == "yaml" and "name: mine" not in text]
    pieces += re.findall(r"`([^`\n]+: [^`\n]+)`", re.sub(r"(?ms)^```.*?^```", "", pages()["docs/configs.md"]))
    assert len(pieces) > 10
    for number, piece in enumerate(pieces):
        given = yaml.safe_load(piece)
        if given is not None and "yamlVersion" not in piece:
            path = tmp_path / f"piece{number}.yaml"
            path.write_text(yaml.safe_dump(_config_with(given)), encoding="utf-8")
            read_config(path, with_plugins=False)


def _config_with(given: Any) -> dict[str, Any]:
    """Return a config that holds a piece of one: keys, options of a dataset, or parameters of a solver."""
    whole: dict[str, Any] = {"name": "piece", "dataset": "adult", "solvers": [{"smo": {"C": 1}}], "stop": {"passes": 9}}
    if isinstance(given, list):
        return whole | {"solvers": given}
    (first, *_) = given
    if first in SOLVERS and isinstance(given[first], dict):
        return whole | {"solvers": [given], "kernel": {"gaussian": {"gamma": 1}}}
    if first in catalog.names():
        return whole | {"dataset": given}
    if first == "on_test_set":
        given = {"tune": {"C": [1, 2], "kernel.gamma": [1, 2]} | given}
    if first == "augment":
        return whole | {"dataset": {"adult": given}}
    if first in ("tolerance", "class_weight", "multiclass", "score_threshold"):
        return whole | {"solvers": [{"dcd": {"C": 1} | given}], "dataset": "adult"}
    if first == "datasets":
        whole = {name: value for name, value in whole.items() if name != "dataset"}
    if "tune" in given:
        return whole | {"solvers": ["smo", "cvm"], "kernel": "gaussian"} | given
    if "seconds_of" in given.get("stop", ()):
        return whole | {"solvers": [{"smo": {"C": 1}}, "libsvm"]} | given
    return whole | {"optimum": "suboptimality" in given.get("stop", ())} | given


def test_the_first_program(tmp_path: Path) -> None:
    (program,) = [text for language, text in blocks("README.md") if language == "python"]
    assert 0.96 < float(_program(program, tmp_path)) <= 1


def test_every_option_and_name_that_a_page_writes_is_one_of_the_program() -> None:
    """Columns, keys, parameters and functions: a name of several words in code stands in the program, too."""
    known = {name for function in verbs().values() for option in given(function) for name in option.names}
    known = {word for name in known for word in name.split()} | {"--help", "--hypothesis-profile"}
    program = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = set(re.findall(r"\w+", program)) | {"check_estimator", "DASK_CONFIG", "NAME_probabilities"}
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for code in re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```", "", path.read_text(encoding="utf-8"))):
            unknown = [] if code.startswith("dask ") else set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", code)) - known
            written = (
                []
                if re.search(r"/|\.(py|yaml|csv|json)\b", code)
                else re.findall(r"\b[A-Za-z]+(?:_[A-Za-z]+)+\b", code)
            )
            assert not [*unknown, *(each for each in written if each not in names)], f"{path.name}: {code}"


def test_every_shipped_config_named_is_there() -> None:
    for path, text in pages().items():
        for name in re.findall(r"configs/([a-z0-9-]+)\.yaml", text):
            assert (ROOT / "configs" / f"{name}.yaml").is_file(), f"{path}: {name}"


def test_the_tests_that_the_promises_name_are_there() -> None:
    named = set(re.findall(r"`(tests/[^`]*)`", pages()["docs/guarantees.md"]))
    assert named
    assert not [each for each in named if not (ROOT / each).exists()]


def test_the_table_of_classifiers_names_their_solvers() -> None:
    table = pages()["docs/python.md"].partition("| classifier |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    named = {re.findall(r"`(.+?)`", name)[0]: re.findall(r"`(.+?)`", solvers) for name, solvers in rows}
    expected = {name: [*solvers] for name, (_, *solvers) in estimators.MODULES.items()}
    expected |= {name: [solver] for name, solver in estimators.wrapped_solvers().items()}
    assert {name: named.get(name) for name in expected} == expected


def test_the_table_of_ends_has_the_defaults() -> None:
    table = pages()["docs/python.md"].partition("| classifier | `tol` |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        names, tol, _, most = (cell.strip() for cell in line.split("|")[1:5])
        for group, limit in zip(names.split(";"), most.split(";"), strict=True):
            for name in re.findall(r"`(\w+)`", group) or ONLINE:
                parameters = getattr(mpu_bench, name)().get_params()
                assert parameters["max_iter"] == int(re.sub(r"\D", "", limit)), name
                assert parameters.get("tol") == (float(tol) if tol else None), name


def test_the_attributes_of_a_solver_have_the_defaults() -> None:
    table = pages()["docs/own-solver.md"].partition("| attribute | default |")[2].partition("\n\n")[0]
    rows = [[cell.strip("` ") for cell in line.split("|")[1:3]] for line in table.splitlines()[2:]]
    assert len(rows) == 6
    assert {name: ast.literal_eval(default) for name, default in rows} == {n: getattr(Solver, n) for n, _ in rows}


def test_rivers_classifier(tmp_path: Path) -> None:
    pytest.importorskip("river")
    done = subprocess.run(
        [sys.executable, "-c", block("python", "river.BudgetedPegasos")], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr
