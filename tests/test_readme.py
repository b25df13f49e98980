"""What the README tells a user to write works as it stands there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mpu_bench
from mpu_bench import estimators
from mpu_bench.solvers.plugins import scaffold

README = Path(__file__).parents[1] / "README.md"


def block(language: str, contains: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [each for each in blocks if contains in each]
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a working folder with the README's card, its data, its solver and its config."""
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "mine.yaml").write_text(block("yaml", "kind: svmlight"), encoding="utf-8")
    (tmp_path / "mirror").mkdir()
    lines = [f"{1 if i % 2 else -1} {1 + i % 20}:{i % 7 + 1} {21 if i < 0 else 20}:1".split() for i in range(1000)]
    rows = [f"{label} {first if first.split(':')[0] != '20' else '19:1'} {last}" for label, first, last in lines]
    (tmp_path / "mirror" / "mine.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "my_solver.py").write_text(block("python", "class MySolver"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(block("yaml", "name: mine"), encoding="utf-8")
    return tmp_path


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mpu_bench", "run", *arguments, "--mirror", "mirror", "--data", "home"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=200)


def test_the_config_the_card_and_the_file_by_hand(place: Path) -> None:
    done = run(place, "mine.yaml", "--profile", "ci")
    assert done.returncode == 0, done.stderr
    assert "mine: 800 x 20, 200 test rows" in done.stdout


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    rows = [f"{i % 17},{('red', '?')[i % 5 == 0]},{('no', 'yes')[i % 17 > 8]}" for i in range(100)]
    (tmp_path / "mine.csv").write_text("\n".join(["age,color,answer", *rows, ",red,no"]) + "\n", encoding="utf-8")
    lines = [
        line for line in README.read_text("utf-8").splitlines() if line.startswith("mpu-bench") and "persons" in line
    ]
    home = {"MPU_BENCH_DATA": str(tmp_path / "home")}
    add, run_it = (line.split() for line in lines)
    for command in (add, [*run_it, "--only", "solver=dcd"]):
        done = subprocess.run(
            [sys.executable, "-m", "mpu_bench", *command[1:]], cwd=tmp_path, env=os.environ | home,
            capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "persons: 80 x 3, 21 test rows" in done.stdout
    assert (tmp_path / "datasets" / "persons.yaml").is_file()


def test_the_solver_of_ones_own(place: Path) -> None:
    text = "name: own\ndataset: mine\nstop: {passes: 3}\n" + block("yaml", "plugins: [my_solver.py]")
    (place / "own.yaml").write_text(text, encoding="utf-8")
    done = run(place, "own.yaml")
    assert done.returncode == 0, done.stderr
    assert "my-solver" in done.stdout


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


def test_every_shipped_config_and_verb_named_in_the_readme_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    for name in re.findall(r"configs/([a-z0-9-]+)\.yaml", text):
        assert (README.parent / "configs" / f"{name}.yaml").is_file()
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for verb in re.findall(r"^make ([a-z-]+)", text, re.MULTILINE):
        assert f"\n{verb}:" in makefile


def test_the_readme_of_the_baseline_shows_what_is_kept() -> None:
    path = README.parent / "scripts" / "accept.py"
    specification = importlib.util.spec_from_file_location("accept", path)
    assert specification is not None
    assert specification.loader is not None
    accept = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(accept)
    kept = (accept.BASELINE / "README.md").read_text(encoding="utf-8")
    assert kept == accept.readme(accept.BASELINE), "run scripts/accept.py"
    assert accept.SECONDS.read_text(encoding="utf-8") == accept.seconds(accept.BASELINE), "run scripts/accept.py"


def test_the_tests_that_the_promises_name_are_there() -> None:
    root = README.parent
    named = set(re.findall(r"`(tests/[^`]*)`", (root / "docs" / "reliability.md").read_text(encoding="utf-8")))
    assert named
    assert not [each for each in named if not (root / each).exists()]


def test_the_table_of_classifiers_names_their_solvers() -> None:
    rows = [line.split("|")[1:3] for line in README.read_text("utf-8").splitlines() if line.startswith("| `")]
    named = {re.findall(r"`(.+?)`", name)[0]: re.findall(r"`(.+?)`", solvers) for name, solvers in rows}
    expected = {name: list(getattr(mpu_bench, name).solvers) for name in estimators.MODULES}
    assert {name: named.get(name) for name in expected} == expected


def test_rivers_classifier(tmp_path: Path) -> None:
    pytest.importorskip("river")
    done = subprocess.run(
        [sys.executable, "-c", block("python", "river.BudgetedPegasos")], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr
