"""Which runs share machine code, and what this machine is known to have compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mpu_bench.config.choices import Experiment
from mpu_bench.core import cache
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.experiment import machine_code, plan
from mpu_bench.experiment.messages import Task
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.experiment.run import Run

Read = Callable[[str], Experiment]


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let an empty folder say what is compiled; that stays where it is."""
    monkeypatch.setattr(machine_code.cache, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def runs(read: Read, solvers: str) -> list[Run]:
    return plan.plan(read(f"kernel: {{gaussian: {{gamma: 0.001}}}}\nsolvers: {solvers}\n"))


def codes_of(read: Read, solvers: str, storage: str = "dense") -> list[str]:
    return [machine_code.code_of(run, storage) for run in runs(read, solvers)]


def test_numbers_share_code_and_words_do_not(read: Read) -> None:
    one, other = codes_of(read, "[{smo: {C: [1, 10.5]}}]")
    assert one == other != ""
    different = codes_of(read, "[{bpegasos: {maintenance: [merging, random]}}, {forgetron: {vectors: 9}}]")
    assert len({one, *different}) == 4
    assert codes_of(read, "[{smo: {C: 1}}]", "sparse") != [one]
    assert codes_of(read, "[{smo: {C: 1, kernel: linear}}]") != [one]


def test_peers_have_no_code_of_ours(read: Read) -> None:
    assert codes_of(read, "[libsvm]") == [""]


def test_what_was_compiled_is_known(known: Path) -> None:
    assert not machine_code.is_compiled("of/some")
    machine_code.keep_compiled("of/some")
    assert machine_code.is_compiled("of/some")
    assert [each.name for each in known.iterdir()] == ["of"]


def test_where_nothing_can_be_kept_nothing_is_known(known: Path) -> None:
    known.write_text("in the way")
    assert not cache.can_be_kept()
    machine_code.keep_compiled("of/some")
    assert not machine_code.is_compiled("of/some")


def test_a_pool_compiles_what_can_be_compiled(tmp_path: Path, read: Read) -> None:
    home, folder = DataDirectory(tmp_path / "home", offline=True), machine_code.cache.cache_folder()
    dcd, perceptron, tron = runs(read, "[{dcd: {kernel: linear}}, perceptron, {forgetron: {vectors: 9}}]")
    names = [f"of-a-test-{tmp_path.name}-{number}" for number in range(3)]
    missing = DataDirectory(tmp_path / "nothing" / "here", offline=True)
    tasks = [
        Task("a", dcd, home, code=names[0], only_compiles=True),
        Task("b", tron, missing, fingerprint="other data", code=names[1], only_compiles=True),
        Task("c", perceptron, home, code=names[2], only_compiles=True),
    ]
    said: list[str] = []
    try:
        with LocalPool() as pool:
            pool.compile_ahead(tasks, said.append)
            assert pool.has_room
        assert said == ["compiling dcd, forgetron, perceptron (once per machine)"]
        assert [machine_code.is_compiled(name) for name in names] == [True, False, True]
    finally:
        for name in names:
            (folder / name).unlink(missing_ok=True)
