"""``mpu-bench check-solver``: what holds and what fails of a solver of one's own, in words.

That all holds of the solver to begin with is shown by the tutorial, which tests/test_readme.py runs.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command_line import Called
from mpu_bench.solvers.contract.checks import CHECKS

HEAD = """
import os, time
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Gt

from mpu_bench.core.counters import INNER_PRODUCTS, PRESENTED, UPDATES, STEPS, new_counters
from mpu_bench.core.models import LinearModel
from mpu_bench.core.solver import Solver, Status

class State(NamedTuple):
    weights: np.ndarray
    counters: np.ndarray

class Base(Solver):
    def start(self, problem, kernel, seed):
        self.check(problem, kernel)
        return State(np.zeros((1, problem.features)), new_counters())

    def model(self, state):
        return LinearModel(state.weights)
"""
WRONG = """
@dataclass(frozen=True)
class Wrong(Base):
    name = "wrong"
    ends = True
    C: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self):
        pass

    def advance(self, state, until):
        state.counters[PRESENTED] += 13
        state.counters[STEPS] += 13
        state.weights[:] = np.random.default_rng().normal()
        return Status.RUNNING
"""
RAISING = """
@dataclass(frozen=True)
class Raising(Base):
    name = "raising"

    def advance(self, state, until):
        return state.weights[0, 100_000]
"""
ENDING = """
@dataclass(frozen=True)
class Ending(Base):
    name = "ending"

    def advance(self, state, until):
        hung = os.environ.get("MPU_BENCH_HUNG")  # a file that is there once it has
        if hung and not os.path.exists(hung):
            open(hung, "w").close()
            time.sleep(100)
        os._exit(3)
"""


def lines_of(text: str) -> dict[str, str]:
    """Return what is said of each check, by its words."""
    words = {check.words for check in CHECKS.values()}
    lines = [line.strip().partition(" ") for line in text.splitlines() if line.startswith(("  passes", "  FAILS"))]
    found = {}
    for verdict, _, rest in lines:
        promise = max((each for each in words if rest.strip().startswith(each)), key=len)
        found[promise] = f"{verdict}{rest.strip().removeprefix(promise)}"
    return found


def said(name: str) -> str:
    return CHECKS[name].words


def test_what_fails_is_told_check_by_check(mpu_bench: Called, place: Path) -> None:
    (place / "own.py").write_text(HEAD + WRONG, encoding="utf-8")
    done = mpu_bench("check-solver", "own.py")
    assert done.returncode == 1, done.stderr
    found = lines_of(done.stdout)
    assert set(found) == {check.words for check in CHECKS.values()}
    told = {
        "refuses_meaningless_problems": "passes",
        "refuses_parameters_out_of_range": "FAILS: C=0 is accepted, although its annotation excludes it; begin your",
        "is_a_function_of_the_seed": "FAILS: two runs with one seed differ: they differ in the",
        "slices_equal_one_long_advance": "FAILS: an advance by ",
        "nothing_changes_once_done": "FAILS: it says ends = True, and after 13 examples seen in 0 s",
        "counters_are_sane": "FAILS: there are more steps than updates: {'presented': 130, 'steps': 130, 'updates': 0",
        "model_is_no_view_of_the_state": "FAILS: a model changes while the solver goes on; let model() return copies",
        "separates_three_classes": "passes: it separates two classes",
    }
    for name, words in told.items():
        assert found[said(name)].startswith(words), found[said(name)]
    failing = sum(line.startswith("FAILS") for line in found.values())
    assert done.stdout.splitlines()[-1] == f"{failing} of {len(CHECKS)} tests fail"


def test_an_exception_is_told_with_its_place_and_traceback(mpu_bench: Called, place: Path) -> None:
    (place / "own.py").write_text(HEAD + RAISING, encoding="utf-8")
    line = 1 + (HEAD + RAISING).splitlines().index("        return state.weights[0, 100_000]")
    done = mpu_bench("check-solver", "own.py", "--name", "raising")
    assert done.returncode == 1
    words = f"IndexError: index 100000 is out of bounds for axis 1 with size 12 (own.py, line {line}, in advance)"
    assert lines_of(done.stdout)[said("is_a_function_of_the_seed")] == f"FAILS: {words}"
    assert f'          File "own.py", line {line}, in advance' in done.stdout


@pytest.mark.parametrize("how", ["ends", "hangs"])
def test_one_that_ends_its_process_or_hangs_fails_check_by_check(mpu_bench: Called, place: Path, how: str) -> None:
    (place / "own.py").write_text(HEAD + ENDING, encoding="utf-8")
    hung = {"MPU_BENCH_HUNG": str(place / "hung")} if how == "hangs" else {}
    done = mpu_bench("check-solver", "own.py", "--seconds", "2", **hung)
    assert done.returncode == 1
    found = lines_of(done.stdout)
    ended = [words for words in found.values() if "its process ended with exit code 3" in words]
    assert len(ended) > 5
    hanging = [words for words in found.values() if "while checking it: still at it after 2 seconds" in words]
    assert len(hanging) == (how == "hangs")
    assert found[said("separates_three_classes")].startswith("passes")


def test_bad_input_is_one_message(mpu_bench: Called, place: Path) -> None:
    (place / "own.py").write_text(HEAD + RAISING, encoding="utf-8")
    (place / "lacking.py").write_text(HEAD + "class Own(Base):\n    name = 'own'\n", encoding="utf-8")
    (place / "broken.py").write_text("class (\n", encoding="utf-8")
    for arguments, words in (
        (["absent.py"], "absent.py: no such file"),
        (["own.py", "--name", "raisin"], "own.py: defines no solver 'raisin': did you mean 'raising'?"),
        (["lacking.py"], "lacking.py: class Own: lacks advance, which every solver has"),
        (["broken.py"], "broken.py, line 1: SyntaxError: "),
    ):
        done = mpu_bench("check-solver", *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_it_is_never_imported_in_the_process_of_the_command(called, place: Path) -> None:
    marking = f"import os\nopen({str(place / 'by')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    (place / "own.py").write_text(marking + HEAD + RAISING, encoding="utf-8")
    code, text = called("check-solver", "own.py")
    assert code == 1, text
    by = {int(line) for line in (place / "by").read_text(encoding="utf-8").split()}
    assert by
    assert os.getpid() not in by
