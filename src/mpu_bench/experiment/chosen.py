"""The runs of an experiment that are to be made now, whoever asks for them: a command or a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import Config, read_config
from mpu_bench.config.schema import File
from mpu_bench.experiment import disturbance, plan, runner
from mpu_bench.experiment.options import RunOptions, Say
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.runner import Listener


@dataclass(frozen=True)
class ChosenRuns:
    """An experiment, its whole plan, those runs of it that are to be made, and how.

    ``load`` is that of the machine before there were workers, as `disturbance.load_of_others` returns it.
    """

    experiment: Experiment
    plan: Sequence[Run]
    runs: Sequence[Run]
    options: RunOptions
    load: float = math.nan

    @property
    def folder(self) -> Path:
        """Where the results go."""
        return self.options.folder / self.experiment.name

    @property
    def places(self) -> Collection[int] | None:
        """The places of the runs in the plan; None where they are the whole plan."""
        if len(self.runs) == len(self.plan):
            return None
        chosen = set(map(id, self.runs))
        return {place for place, run in enumerate(self.plan) if id(run) in chosen}

    def make(self, pool: Pool, listener: Listener, say: Say) -> bool:
        """Make the runs that have no result yet; return whether every one has a result that holds.

        ``say`` is told why seconds may not be compared.
        """
        threads, jobs = self.experiment.threads, self.options.jobs
        pool.use_threads(threads)
        if busy := disturbance.warning(self.load, jobs * threads):
            say(busy)
        if jobs > 1:
            say(f"{jobs} runs at once share this machine: do not compare their seconds with those of single runs")
        return runner.execute(
            self.experiment, self.plan, self.runs, home=self.options.home, folder=self.folder, pool=pool,
            listener=listener, force=self.options.force, save_models=self.options.save_models,
        )  # fmt: skip


def announcing(say: Say) -> Callable[[Sequence[Path]], None]:
    """Return what `read_config` is to do before it runs any plugin: ``say`` that plugins are code."""

    def announce(files: Sequence[Path]) -> None:
        named = ", ".join(dict.fromkeys(map(str, files)))
        say(f"this config names plugins, which are code that runs with your rights: {named}")

    return announce


def choose(config: Config, options: RunOptions, say: Say, load: float = math.nan) -> ChosenRuns:
    """Read a config and choose runs of it.

    Parameters
    ----------
    config : Path or mapping
        As `read_config` takes it.
    options : RunOptions
    say : function
        Is told which plugins are run.
    load : float
        See `ChosenRuns`.

    Raises
    ------
    ConfigError
    """
    keys = {name: value for name, value in vars(options).items() if name in File.model_fields}
    experiment = read_config(
        config, profile=options.profile, settings=list(options.settings), announce=announcing(say), **keys
    )
    runs = plan.plan(experiment)
    return ChosenRuns(
        experiment, runs, runs=plan.only(runs, list(options.only)) if options.only else runs, options=options, load=load
    )


@contextmanager
def opened(
    config: Config, options: RunOptions, say: Say, pool: Pool | None = None
) -> Iterator[tuple[ChosenRuns, Pool]]:
    """Return the chosen runs of a config and what makes them, for as long as the context lasts.

    Parameters
    ----------
    config, options, say
        As `choose` takes them.
    pool : Pool or None
        By default what the options name.
    """
    load = disturbance.load_of_others() if options.machines is None else math.nan  # while there are no workers yet
    with pool or options.pool(say, options.threads or 1) as made:
        yield choose(config, options, say, load), made
