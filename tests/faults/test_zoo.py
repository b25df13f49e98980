"""Solvers that misbehave, beside the project's own: each is a row with its cause, and nothing else is touched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from faults import zoo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and what is left behind are held on Linux")

#: whose like is visited already, or that take a minute; `make soak` visits all
ONLY_IN_SOAK = {
    "forks", "leaves-a-daemon", "eats-memory", "eats-memory-at-once", "changes-test-rows", "changes-the-kernel",
    "changes-the-folder", "changes-other-solvers", "interrupts", "raises-the-base", "raises-generator-exit",
    "recurses", "reads-nowhere", "aborts", "kills-itself", "kills-its-group", "weights-infinite",
    "labels-of-no-class", "model-none", "objective-huge", "objective-complex", "objective-array", "objective-nan",
    "objective-unpicklable", "measures-dict", "status-17", "status-none", "counters-negative", "counters-floats",
    "counters-none", "notes-and-exits", "refused-exits", "refused-exits-at-once", "refused-hangs",
    "refused-is-abstract", "refused-is-named-badly",
}  # fmt: skip


def test_every_solver_of_the_zoo_has_a_fate() -> None:
    named = {
        path.stem.replace("_", "-"): re.search(r'name = "(.*)"', path.read_text(encoding="utf-8"))
        for path in zoo.ZOO.glob("*.py")
    }
    assert named.keys() == {*zoo.QUICK, *zoo.HANGING, *zoo.REFUSED}
    assert {name: found[1] for name, found in named.items() if name not in zoo.REFUSED and found} == {
        name: name for name in (*zoo.QUICK, *zoo.HANGING)
    }


@pytest.mark.timeout(3000)  # some sixty processes, one after the other
def test_whatever_a_solver_does_is_its_own_row(tmp_path: Path) -> None:
    assert zoo.visit(tmp_path, {*zoo.QUICK, *zoo.HANGING} - ONLY_IN_SOAK) == []


@pytest.mark.parametrize("name", sorted(zoo.REFUSED.keys() - ONLY_IN_SOAK))
def test_a_plugin_that_cannot_be_imported_is_refused(tmp_path: Path, name: str) -> None:
    assert zoo.refused(tmp_path, name) == []
