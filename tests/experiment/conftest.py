"""What the tests of experiments share: a pool of one worker, configs read from text, and their execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.experiment import plan, runner
from mpu_bench.experiment.options import RunOptions
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.results.store import Store

BY_ROWS = """
kernel: {gaussian: {gamma: 0.001}}
stop: {passes: 2}
solvers:
  - sbp: {nu: 0.01}
  - sdca: {regularization: 0.01}
  - pegasos-kernel: {regularization: 0.01}
  - smo: {C: [1, 10]}
"""
DIGITS = "name: tried\ndataset: {digits: {positive: ['8']}}\n"


@pytest.fixture(scope="session")
def pool() -> Iterator[LocalPool]:
    with LocalPool() as made:
        yield made


@pytest.fixture
def by_rows() -> str:
    """Return the config of all solvers that work on rows of the kernel matrix; more solvers may follow."""
    return BY_ROWS


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Experiment]:
    """Read a config from its text; without a name it is one of the digits."""

    def read_text(text: str) -> Experiment:
        path = tmp_path / "tried.yaml"
        path.write_text(text if text.lstrip().startswith("name:") else DIGITS + text, encoding="utf-8")
        return read_config(path)

    return read_text


@pytest.fixture
def execute(tmp_path: Path, pool: LocalPool, read: Callable[[str], Experiment]):
    """Execute a config, and return its records and the runs that were made, in their order."""

    def run(text: str, filters: Sequence[str] = (), folder: str = "results") -> tuple[list[dict[str, Any]], list[str]]:
        experiment, done = read(text), []
        runs = plan.plan(experiment)
        chosen = plan.only(runs, filters) if filters else runs
        listener = runner.Listener(finished=lambda run, _record: done.append(str(run)))
        options = RunOptions(results=tmp_path / folder, data=tmp_path / "home", offline=True)
        made = runner.ChosenRuns(experiment, runs, chosen, options)
        complete = runner.execute(made, pool, listener)
        with Store(made.folder) as store:
            assert complete == ({record.run_id for record in store.records()} <= store.finished()) or filters
            return store.records(), done

    return run
