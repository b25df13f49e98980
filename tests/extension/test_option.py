"""An option of `run` is one field of `RunOptions`: the command line and the API have it, and the run obeys it."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkout import add, call, copied

KEY = """\
    optimum: bool | None = option(None, "Solve every problem to its optimum first.", bool)
"""
FLAG = """\
    cheerful: bool = option(False, "Say how it went, cheerfully.")
"""
OBEYED = """\
        if self.options.cheerful:
            Path("cheers.txt").write_text(f"hooray for {self.experiment.name}", encoding="utf-8")
"""
CONFIG = """
name: toys
dataset: {checkerboard: {rows: 60, test_rows: 60}}
solvers: [dcd]
"""
PROGRAM = """
import inspect
import mpu_bench

assert inspect.signature(mpu_bench.run).parameters["optimum"].default is None
results = mpu_bench.run("toys.yaml", results="by-api", data="data", optimum=True)
print(len(results.runs))
print(len(mpu_bench.plan("toys.yaml", results="planned", data="data", optimum=True).todo))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project, and add an option that overrides a key of the config, and one that is obeyed in a line."""
    place = tmp_path_factory.mktemp("copy")
    experiment = copied(place) / "experiment"
    add(experiment / "options.py", "    force: bool = option(", KEY + FLAG)
    add(experiment / "runner.py", "        return execute(", OBEYED)
    (place / "toys.yaml").write_text(CONFIG, encoding="utf-8")
    return place


def test_the_command_line_has_it(copy: Path) -> None:
    shown = call(copy, "run", "--help")
    assert "--optimum" in shown
    assert "Say how it went, cheerfully." in " ".join(shown.replace("│", " ").split())


def test_a_key_of_configs_is_overridden(copy: Path) -> None:
    assert len(call(copy, "run", "toys.yaml", "--dry-run", "--data", "data").splitlines()) + 1 == len(
        call(copy, "run", "toys.yaml", "--dry-run", "--data", "data", "--optimum").splitlines()
    )  # the optimum is a run of its own


def test_the_api_has_it(copy: Path) -> None:
    printed = call(copy, program=PROGRAM)
    assert printed.splitlines() == ["2", "2"]


def test_the_run_obeys_it(copy: Path) -> None:
    call(copy, "run", "toys.yaml", "--results", "loud", "--data", "data")
    assert not (copy / "cheers.txt").exists()
    call(copy, "run", "toys.yaml", "--results", "loud", "--data", "data", "--cheerful")
    assert (copy / "cheers.txt").read_text("utf-8") == "hooray for toys"
