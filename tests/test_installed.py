"""Solvers and datasets of installed packages, found by their entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpu_bench.solvers.plugins.scaffold import solver_text


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a folder as an installed package leaves it: a module with solvers, cards, and entry points."""
    site = tmp_path / "site"
    (site / "brought" / "cards").mkdir(parents=True)
    marking = "from pathlib import Path\nPath(__file__).with_name('imported').touch()\n"
    (site / "brought" / "__init__.py").write_text(marking, encoding="utf-8")
    (site / "brought" / "solver.py").write_text(solver_text("theirs"), encoding="utf-8")
    (site / "brought" / "other.py").write_text("def mistaken(): ...\n", encoding="utf-8")
    card = "extends: checkerboard\ntitle: Points of a package\n"
    (site / "brought" / "cards" / "theirs-board.yaml").write_text(card, encoding="utf-8")
    (site / "brought" / "cards" / "adult.yaml").write_text(card, encoding="utf-8")  # takes no place that is taken
    info = site / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[mpu_bench.solvers]\ntheirs = brought.solver:TheirsSolver\nmpu = brought.solver:TheirsSolver\n"
        "mistaken = brought.other:mistaken\nabsent = brought.absent:X\nrenamed = brought.solver:TheirsSolver\n"
        "[mpu_bench.datasets]\nany = brought.cards\nnothing = brought.absent\nelsewhere = no_such_package.cards\n",
        encoding="utf-8",
    )
    return site


@pytest.fixture
def call(package: Path, tmp_path: Path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=os.environ | {"PYTHONPATH": path},
            capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip

    return run


def test_names_are_listed_without_importing_the_package(call, package: Path) -> None:
    listed = call("-m", "mpu_bench", "list", "solvers")
    assert listed.returncode == 0, listed.stderr
    assert "of the package brought 1.0: mpu-bench list solvers theirs" in listed.stdout
    listed = call("-m", "mpu_bench", "list", "datasets")
    assert "Points of a package" in listed.stdout
    assert listed.stdout.count("Points of a package") == 1
    assert not (package / "brought" / "imported").exists()
    described = call("-m", "mpu_bench", "list", "solvers", "theirs", "mpu")
    assert "How far a step goes." in described.stdout
    assert "mpu-2010" in described.stdout
    assert (package / "brought" / "imported").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mistaken", "is not a subclass of mpu_bench.solver.Solver with a name"),
        ("absent", "brought.absent:X cannot be imported: ModuleNotFoundError: No module named 'brought.absent'"),
        ("renamed", "the class calls itself 'theirs'; its entry point must have the same name"),
    ],
)
def test_a_package_that_is_not_right_is_one_message(call, name: str, words: str) -> None:
    told = call("-m", "mpu_bench", "list", "solvers", name)
    assert told.returncode == 2
    assert told.stderr == f"mpu-bench: solver '{name}' of the package brought 1.0: {words}\n"


def test_they_are_run_like_any_other_and_again_after_an_edit(call, package: Path, tmp_path: Path) -> None:
    (tmp_path / "tried.yaml").write_text(
        "name: tried\ndataset: {theirs-board: {rows: 300, test_rows: 50}}\nsolvers: [theirs, dcd]\nstop: {passes: 3}\n",
        encoding="utf-8",
    )
    done = call("-m", "mpu_bench", "run", "tried.yaml", "--data", "home")
    assert done.returncode == 0, done.stderr
    assert "plugins" not in done.stderr
    assert "theirs-board: 300 x 2, 50 test rows" in done.stdout
    assert "theirs " in done.stdout
    with (package / "brought" / "other.py").open("a") as file:  # which the solver may use
        file.write("VALUE = 2\n")
    again = call("-m", "mpu_bench", "run", "tried.yaml", "--data", "home")
    assert "1 run finished before, 1 run to do" in again.stderr
    asked = """
import mpu_bench
from pathlib import Path
todo = lambda: len(mpu_bench.plan("tried.yaml", data="home").todo)
before, file = todo(), Path("site/brought/other.py")
file.write_text(file.read_text() + "VALUE = 3\\n")
print(before, todo())
"""
    in_one_process = call("-c", asked)  # as of a notebook
    assert in_one_process.stdout == "0 1\n", in_one_process.stderr
    (tmp_path / "tried.yaml").write_text("name: tried\ndataset: theirs-board\nsolvers: [theirs]\n", encoding="utf-8")
    told = call("-m", "mpu_bench", "run", "tried.yaml", "--dry-run")
    assert "line 3: solvers: nothing ends a run of solver 'theirs'" in told.stderr
