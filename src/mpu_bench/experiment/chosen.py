"""The runs of an experiment that are to be made now, whoever asks for them: a command or a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import Config, read_config
from mpu_bench.data.download.cache import DataHome
from mpu_bench.experiment import disturbance, plan, runner
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.runner import Listener


@dataclass(frozen=True)
class ChosenRuns:
    """An experiment, its whole plan, and those runs of it that are to be made."""

    experiment: Experiment
    plan: Sequence[Run]
    runs: Sequence[Run]

    @classmethod
    def read(cls, config: Config, only: Sequence[str], **overrides: Any) -> ChosenRuns:
        """Read a config and choose runs of it.

        Parameters
        ----------
        config, **overrides
            As `read_config` takes them.
        only : sequence of str
            Filters such as ``solver=mpu``; all runs if empty.

        Raises
        ------
        ConfigError
        """
        experiment = read_config(config, **overrides)
        runs = plan.plan(experiment)
        return cls(experiment, runs, plan.only(runs, only) if only else runs)

    @property
    def places(self) -> Collection[int] | None:
        """The places of the runs in the plan; None where they are the whole plan."""
        if len(self.runs) == len(self.plan):
            return None
        chosen = set(map(id, self.runs))
        return {place for place, run in enumerate(self.plan) if id(run) in chosen}

    def make(
        self,
        folder: Path,
        home: DataHome,
        pool: Pool,
        listener: Listener,
        *,
        force: bool = False,
        save_models: bool = False,
        jobs: int = 1,
        load: float = math.nan,
        say: Callable[[str], object] = lambda _line: None,
    ) -> bool:
        """Make the runs that have no result yet; return whether every one has a result that holds.

        Parameters
        ----------
        folder, home, pool, listener, force, save_models
            As `runner.execute` takes them.
        jobs : int
            How many runs the pool makes at once.
        load : float
            Of the machine, before there were workers (`disturbance.load_of_others`).
        say : function
            Is told why seconds may not be compared.
        """
        pool.use_threads(self.experiment.threads)
        if busy := disturbance.warning(load, jobs * self.experiment.threads):
            say(busy)
        if jobs > 1:
            say(f"{jobs} runs at once share this machine: do not compare their seconds with those of single runs")
        return runner.execute(
            self.experiment, self.plan, self.runs, home, folder, pool, listener, force, save_models=save_models
        )
