"""Solvers that misbehave, beside the project's own: each is a row with its cause, and nothing else is touched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from faults import zoo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and what is left behind are held on Linux")

#: one of each sort; `make soak` visits all
IN_SHORT = {
    "forks-twice", "forks-and-dies", "forks-and-returns", "leaves-threads", "eats-memory-in-a-child",
    "zeroes-rows-warming-up", "flips-labels", "changes-numpy", "changes-others-on-import", "deletes-its-file",
    "closes-files", "writes-rubbish", "sends-a-result", "prints-much", "exits", "raises-and-ends", "raises-escapes",
    "raises-much", "recurses-in-c", "kills-its-parent", "bias-nan", "objective-text", "counters-few", "notes-much",
    "hangs-in-start", "hangs-in-measures", "hangs-in-del", "hangs-at-exit", "sleeps-in-c", "stops-itself",
    "ignores-signals", "never-ends", "forks-and-sleeps", "forks-and-moves", "writes-half-a-message",
    "stops-its-parent", "becomes-another", "refused-closes-files", "refused-raises", "refused-kills-its-parent",
}  # fmt: skip


def test_every_solver_of_the_zoo_has_a_fate() -> None:
    named = {
        path.stem.replace("_", "-"): re.search(r'name = "(.*)"', path.read_text(encoding="utf-8"))
        for path in zoo.ZOO.glob("*.py")
    }
    assert named.keys() == {*zoo.QUICK, *zoo.HANGING, *zoo.REFUSED}
    assert named.keys() >= IN_SHORT
    assert {name: found[1] for name, found in named.items() if name not in zoo.REFUSED and found} == {
        name: name for name in (*zoo.QUICK, *zoo.HANGING)
    }


@pytest.mark.timeout(3000)  # some sixty processes, one after the other
def test_whatever_a_solver_does_is_its_own_row(tmp_path: Path) -> None:
    assert zoo.visit(tmp_path, IN_SHORT) == []


@pytest.mark.parametrize("name", sorted(zoo.REFUSED.keys() & IN_SHORT))
def test_a_plugin_that_cannot_be_imported_is_refused(tmp_path: Path, name: str) -> None:
    assert zoo.refused(tmp_path, name) == []
