"""What README.md and the pages of docs/ tell a user to write works as it stands there."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mpu_bench
from command_line import environment
from copies import Copies
from documentation import ROOT, block, blocks, commands, pages
from mpu_bench import estimators
from mpu_bench.cli.app import app
from mpu_bench.config.schema import PAPERS
from mpu_bench.report import page
from mpu_bench.resources import config_names
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
    program = block("python", "results = mpu_bench.run") + "\nprint(len(again.runs))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    assert "digits: 1347 x 64, 450 test rows" in done.stdout
    assert done.stdout.splitlines()[-1] == "9"
    assert (tmp_path / "test-error.pdf").is_file()


def test_the_program_of_ones_own(tmp_path: Path) -> None:
    program = block("python", "BudgetedPegasosClassifier, SMOClassifier")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program + "\nprint(online.score(X, y))"], cwd=tmp_path,
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    score, gap, evaluations, online = map(float, done.stdout.split())
    assert score > 0.85
    assert gap < 0.01
    assert evaluations > 0
    assert online > 0.8


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
OWN_CONFIGS = ("mine", "wine", "my_solver", "CONFIG")
#: why commands are not run here, but for their words; all others are run by a test
NOT_RUN = {
    r"--cluster|dask": "needs a cluster; tests/experiment/pool/cluster makes one",
    r"reproduce|^make |report|run [\w-]+ --only dataset=": "takes minutes to days",
    r"adult|web|plot|baseline|check$|bench/": "needs data or results; tests/cli runs the verbs",
    r"MODEL|model|export": "needs a model; tests/cli/test_models.py and test_exporting.py run the verbs",
    r"mine\.|train\.svm|FILE|try": "needs a file; tests/cli/test_adding.py and test_selecting.py run the verbs",
    r"--pdb": "needs a terminal",
    r"[A-Z]{4,}|\.\.\.|\|": "has words to be replaced",
    r"^mpu-bench [a-z-]+$|list configs|completion": "names a verb, which tests/cli runs",
}


def test_every_command_is_run_or_it_is_said_why_not() -> None:
    ran = set(tutorial_commands()) | {command for command in commands() if "persons" in command}
    ran |= {command for command in commands() if "list solvers" in command}  # tests/cli/test_info.py
    unsaid = [
        command
        for command in commands()
        if command not in ran and not any(re.search(pattern, command) for pattern in NOT_RUN)
    ]
    assert unsaid == []


def tutorial_commands() -> list[str]:
    """Return the commands of the tutorial that need nothing but it, in their order."""
    shown = [line for language, text in blocks("docs/tutorial.md") if language == "" for line in text.splitlines()]
    plain = [line.partition("#")[0].strip() for line in shown]
    return [line for line in plain if line.startswith("mpu-bench") and "baseline" not in line]


def test_the_tutorial(tmp_path: Path, copies: Copies) -> None:
    (tmp_path / "wine.yaml").write_text(block("yaml", "name: wine"), encoding="utf-8")
    subprocess.run([sys.executable, "-c", block("python", "load_wine")], cwd=tmp_path, check=True, timeout=100)
    home = environment(MPU_BENCH_DATA=str(tmp_path / "home"), COLUMNS="150")
    told = {}
    for command in tutorial_commands():
        done = copies.call(command.split()[1:], tmp_path, home)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        told[command] = done.stdout
    assert "wine: 142 x 13, 36 test rows" in told["mpu-bench run wine.yaml"]
    assert "all 15 checks hold" in told["mpu-bench check-solver my_solver.py"]
    assert "my-solver" in told["mpu-bench run my_solver.yaml"]
    assert "inconclusive (1 of 1 measured)" in told["mpu-bench check results/wine --all"]


def test_the_first_program(tmp_path: Path) -> None:
    (program,) = [text for language, text in blocks("README.md") if language == "python"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True,
        timeout=300,
    )  # fmt: skip
    assert 0.8 < float(done.stdout) <= 1


def test_every_shipped_config_named_is_there() -> None:
    for path, text in pages().items():
        for name in re.findall(r"configs/([a-z0-9-]+)\.yaml", text):
            assert (ROOT / "configs" / f"{name}.yaml").is_file(), f"{path}: {name}"


def test_the_readme_and_the_pages_of_the_baseline_show_what_is_kept(tmp_path: Path) -> None:
    path = ROOT / "scripts" / "accept.py"
    specification = importlib.util.spec_from_file_location("accept", path)
    assert specification is not None
    assert specification.loader is not None
    accept = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(accept)
    kept = (accept.BASELINE / "README.md").read_text(encoding="utf-8")
    assert kept == accept.readme(accept.BASELINE), "run scripts/accept.py"
    assert accept.SECONDS.read_text(encoding="utf-8") == accept.seconds(accept.BASELINE), "run scripts/accept.py"
    page.write(accept.full(accept.BASELINE), tmp_path)
    assert {f"{paper}.html" for paper in PAPERS} < {path.name for path in tmp_path.iterdir()}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5e6


def test_the_tests_that_the_promises_name_are_there() -> None:
    named = set(re.findall(r"`(tests/[^`]*)`", pages()["docs/reliability.md"]))
    assert named
    assert not [each for each in named if not (ROOT / each).exists()]


def test_the_table_of_classifiers_names_their_solvers() -> None:
    table = pages()["docs/python.md"].partition("| classifier |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    named = {re.findall(r"`(.+?)`", name)[0]: re.findall(r"`(.+?)`", solvers) for name, solvers in rows}
    expected = {name: list(getattr(mpu_bench, name).solvers) for name in estimators.__all__}
    assert {name: named.get(name) for name in expected} == expected


def test_rivers_classifier(tmp_path: Path) -> None:
    pytest.importorskip("river")
    done = subprocess.run(
        [sys.executable, "-c", block("python", "river.BudgetedPegasos")], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr
