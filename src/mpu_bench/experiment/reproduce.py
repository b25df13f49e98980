"""Everything that the papers publish, re-run: their configs, dataset by dataset, the cheapest first.

A step is one dataset of one config. Existing results are kept, so that an interrupted reproduction resumes where
it stopped, and a failure does not stop the rest. Data that may not or cannot be fetched are rows ``unavailable``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import Say, read_config
from mpu_bench.config.schema import PAPERS
from mpu_bench.data.cards import catalog
from mpu_bench.errors import ClusterError, ConfigError, UserError, check_known, nearest
from mpu_bench.experiment import plan, runner
from mpu_bench.experiment.estimates import Estimate, Estimates
from mpu_bench.experiment.options import ReproduceOptions
from mpu_bench.experiment.outlook import Outlook
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.runner import ChosenRuns, Listener
from mpu_bench.resources import config_names


@dataclass(frozen=True)
class Step:
    """Runs of one config, as a rule on one dataset, and how long they train, as far as that is known.

    ``examples`` is how many training examples they have together.
    """

    chosen: ChosenRuns
    estimate: Estimate
    examples: int

    def __str__(self) -> str:
        labels = dict.fromkeys(run.dataset.label for run in self.chosen.runs)
        return f"{self.chosen.experiment.name} on {', '.join(labels)}"


def experiments(papers: Sequence[str], profile: str | None, say: Say) -> tuple[list[Experiment], list[str]]:
    """Read the configs of the papers.

    Parameters
    ----------
    papers : sequence of str
        Those wanted; all if empty.
    profile : str or None
        Configs that do not have it are left out, and reported with ``say``.
    say : function

    Returns
    -------
    list of Experiment
    list of str
        What is wrong with the configs that cannot be read.

    Raises
    ------
    ConfigError
        If there is no such paper, or no config has the profile.
    """
    for paper in papers:
        check_known(paper, PAPERS, f"--paper {paper}")
    matching: list[Experiment] = []
    failures: list[str] = []
    left_out: list[str] = []
    profiles: set[str] = set()
    for name in config_names():
        try:
            whole = read_config(Path(name), with_plugins=False)
            if whole.paper is None or whole.paper not in (papers or PAPERS):
                continue
            profiles.update(whole.profiles)
            if profile is not None and profile not in whole.profiles:
                left_out.append(name)
                continue
            is_read = profile is None and not whole.plugins
            matching.append(whole if is_read else read_config(Path(name), profile=profile, say=say))
        except UserError as error:
            failures.append(str(error))
    if profile is not None and profile not in profiles and not failures:
        raise ConfigError(f"--profile {profile}: no config has it: {nearest(profile, profiles)}")
    for name in left_out:
        say(f"{name}: left out, it has no profile '{profile}'")
    return matching, failures


def steps(experiments: Sequence[Experiment], options: ReproduceOptions) -> list[Step]:
    """Divide experiments into steps, the cheapest first, and those of unknown time last, by their examples.

    On a cluster a step is a whole experiment, so that many machines have enough to do, and not one dataset of it.
    """
    divided = []
    for experiment in experiments:
        runs = plan.plan(experiment)
        estimates = Estimates(experiment, runs)
        labels = dict.fromkeys(run.dataset.label for run in runs)
        for part in [[label] for label in labels] if options.cluster is None else [[*labels]]:
            selected = [run for run in runs if run.dataset.label in part]
            cards = (catalog.card(run.dataset.name, run.dataset.options) for run in selected)
            examples = sum(card.expected_rows()[0] or 0 for card in cards)
            estimate = Estimate.of([estimates.expected(run) for run in selected])
            divided.append(Step(ChosenRuns(experiment, runs, selected, options), estimate, examples))
    return sorted(divided, key=lambda step: (step.estimate.unknown > 0, step.estimate.seconds, step.examples))


def run(
    todo: Sequence[Step],
    pool: Pool,
    *,
    listening: Callable[[Step, int], AbstractContextManager[Listener]],
    finished: Callable[[Step], list[str]],
) -> list[str]:
    """Take the steps one after the other; runs whose seconds are judged one at a time, others ``jobs`` at once.

    Parameters
    ----------
    todo : sequence of Step
    pool : Pool
    listening : function
        Returns a listener for a step and its number, which begins.
    finished : function
        Is called when the results of a step are in its folder, and returns what of it failed.

    Returns
    -------
    list of str
        What failed, and why.
    """
    failures = []
    for number, step in enumerate(todo, start=1):
        experiment = step.chosen.experiment
        pool.use_threads(experiment.threads)
        pool.use_jobs(1 if experiment.is_timed else step.chosen.options.jobs)
        try:
            with listening(step, number) as listener:
                runner.execute(step.chosen, pool, listener)
            failures += finished(step)
        except ClusterError:
            raise
        except UserError as error:
            failures.append(f"{step}: {error}")
    return failures


def outlooks(experiments: Sequence[Experiment], options: ReproduceOptions, say: Say) -> dict[str, Outlook]:
    """Return what remains of each experiment, by its name; ``say`` reports one whose results cannot be read."""
    known = {}
    for experiment in experiments:
        runs = plan.plan(experiment)
        try:
            known[experiment.name] = Outlook.of(ChosenRuns(experiment, runs, runs, options))
        except UserError as error:
            say(f"{experiment.name}: {error}")
    return known
