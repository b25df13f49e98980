"""Solvers that misbehave, beside the project's own: each is a row with its cause, and nothing else is touched."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from faults import zoo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and what is left behind are held on Linux")


def test_every_solver_of_the_zoo_has_a_fate() -> None:
    named = {
        path.stem.replace("_", "-"): re.search(r'name = "(.*)"', path.read_text(encoding="utf-8"))
        for path in zoo.ZOO.glob("*.py")
    }
    assert named.keys() == {*zoo.QUICK, *zoo.HANGING, *zoo.REFUSED}
    assert {name: found[1] for name, found in named.items() if name not in zoo.REFUSED and found} == {
        name: name for name in (*zoo.QUICK, *zoo.HANGING)
    }


@pytest.mark.timeout(600)  # some thirty processes
def test_whatever_a_solver_does_is_its_own_row(tmp_path: Path) -> None:
    assert zoo.visit(tmp_path) == []


@pytest.mark.parametrize("name", sorted(zoo.REFUSED))
def test_a_plugin_that_cannot_be_imported_is_refused(tmp_path: Path, name: str) -> None:
    assert zoo.refused(tmp_path, name) == []
