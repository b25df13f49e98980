"""Everything that the papers publish, run again: their configs, dataset by dataset, the cheapest first.

A step is one dataset of one config. What has a result is kept, so a reproduction that was interrupted goes on where
it stopped, and what fails stops nothing else. Data that may not or cannot be fetched are rows ``unavailable``.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from mpu_bench.cli.options import announce_plugins
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config, read_without_plugins
from mpu_bench.config.schema import PAPERS
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataHome
from mpu_bench.display.overall import duration
from mpu_bench.errors import ClusterError, ConfigError, StoreError, UserError, nearest
from mpu_bench.experiment import plan, runner
from mpu_bench.experiment.estimates import Estimate, Estimates
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.run import Run
from mpu_bench.experiment.runner import Listener
from mpu_bench.quantities import FAILED
from mpu_bench.report import csv_files, overview
from mpu_bench.resources import config_names
from mpu_bench.results import naming
from mpu_bench.results.folder import ResultsFolder, open_results
from mpu_bench.verdict import comparison
from mpu_bench.verdict.points import Evidence

Say = Callable[[str], None]

_NO_FAILURE = ("unavailable", "skipped")


@dataclass(frozen=True)
class Step:
    """Runs of one config, as a rule on one dataset, and how long they train, as far as that is known.

    ``products`` is about how many inner products a pass of each takes together.
    """

    experiment: Experiment
    runs: Sequence[Run]
    chosen: Sequence[Run]
    products: float
    estimate: Estimate

    def __str__(self) -> str:
        labels = dict.fromkeys(run.dataset.label for run in self.chosen)
        return f"{self.experiment.name} on {', '.join(labels)}"


def experiments(papers: Sequence[str], profile: str | None, say: Say) -> tuple[list[Experiment], list[str]]:
    """Read the configs of the papers.

    Parameters
    ----------
    papers : sequence of str
        Those wanted; all if empty.
    profile : str or None
        Configs that do not have it are left out, which ``say`` is told.
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
        if paper not in PAPERS:
            raise ConfigError(f"--paper {paper}: {nearest(paper, PAPERS)}")
    found: list[Experiment] = []
    faults: list[str] = []
    left_out: list[str] = []
    profiles: set[str] = set()
    for name in config_names():
        try:
            whole = read_without_plugins(Path(name))
            if whole.paper is None or whole.paper not in (papers or PAPERS):
                continue
            profiles.update(whole.profiles)
            if profile is not None and profile not in whole.profiles:
                left_out.append(name)
                continue
            is_read = profile is None and not whole.plugins
            found.append(whole if is_read else read_config(Path(name), profile=profile, announce=announce_plugins))
        except UserError as fault:
            faults.append(str(fault))
    if profile is not None and profile not in profiles and not faults:
        raise ConfigError(f"--profile {profile}: no config has it: {nearest(profile, profiles)}")
    for name in left_out:
        say(f"{name}: left out, it has no profile '{profile}'")
    return found, faults


def steps(found: Sequence[Experiment], whole: bool = False) -> list[Step]:
    """Divide experiments into steps, the cheapest first.

    Parameters
    ----------
    found : sequence of Experiment
    whole : bool
        Whether a step is a whole experiment, so that many machines have enough to do, and not one dataset of it.
    """
    found_steps = []
    for experiment in found:
        runs = plan.plan(experiment)
        estimates = Estimates(experiment, runs)
        labels = dict.fromkeys(run.dataset.label for run in runs)
        for part in [[*labels]] if whole else [[label] for label in labels]:
            chosen = [run for run in runs if run.dataset.label in part]
            estimate = Estimate.of(estimates.expected(chosen))
            found_steps.append(Step(experiment, runs, chosen, sum(map(_products, chosen)), estimate))
    return sorted(found_steps, key=_cost(found_steps))


def _cost(every: Sequence[Step]) -> Callable[[Step], float]:
    """Return what steps are sorted by: their seconds; of one that is not known, those of its inner products.

    What an inner product takes is the median over steps that are known. Where none is, it counts as a second.
    """
    known = [step for step in every if not step.estimate.unknown and step.products]
    rate = statistics.median(step.estimate.seconds / step.products for step in known) if known else 1.0
    return lambda step: rate * step.products if step.estimate.unknown else step.estimate.seconds


def _products(run: Run) -> float:
    """Return about how many inner products a pass takes: n, or with a kernel n times the vectors there may be."""
    n = catalog.card(run.dataset.name, run.dataset.options).expected_rows()[0] or 1
    vectors = run.solver.vectors or min(run.solver.parameters.get("vectors_at_most", n), n)
    return float(n if run.solver.kernel.name == "linear" else n * vectors)


def run(
    todo: Sequence[Step],
    home: DataHome,
    results: Path,
    pool: Pool,
    listening: Callable[[], AbstractContextManager[Listener]],
    say: Say,
    jobs: int = 1,
) -> list[str]:
    """Take the steps one after the other; each leaves its results folder with its tables.

    Parameters
    ----------
    todo : sequence of Step
    home : DataHome
    results : Path
        Experiment x goes to ``results/x``.
    pool : Pool
    listening : function
        Returns a listener for a step.
    say : function
        Is told which step is next.
    jobs : int
        How many runs of an experiment whose seconds are not judged are made at once.

    Returns
    -------
    list of str
        What failed, and why.
    """
    failures = []
    for number, step in enumerate(todo, start=1):
        say(f"[{number}/{len(todo)}] {step}{_about(step)}")
        folder = results / step.experiment.name
        pool.use_threads(step.experiment.threads)
        pool.use_jobs(1 if step.experiment.is_timed else jobs)
        try:
            with listening() as listener:
                runner.execute(step.experiment, step.runs, step.chosen, home, folder, pool, listener)
            with open_results(folder) as opened:
                csv_files.write(opened)
                failures += _failed(step, opened)
        except ClusterError:
            raise
        except UserError as fault:
            failures.append(f"{step}: {fault}")
    return failures


def _about(step: Step) -> str:
    """Return how long a step trains if nothing of it has a result, where that is known of all its runs."""
    return "" if step.estimate.unknown else f", about {duration(step.estimate.seconds)} in all"


def _failed(step: Step, results: ResultsFolder) -> list[str]:
    """Return the runs of a step that should have a result and have none."""
    labels = {run.dataset.label for run in step.chosen}
    records = results.records()
    varied = naming.varying(records)
    return [
        f"{step}: {naming.run_text(record, varied)} seed={record.seed}: {record.status}: {record.reason}"
        for record in records
        if record.dataset in labels and record.status in FAILED and record.status not in _NO_FAILURE
    ]


def _config(experiment: Experiment) -> str:
    return Path(experiment.source).stem


def compare(found: Sequence[Experiment], results: Path) -> tuple[list[overview.PaperTable], list[Path]]:
    """Compare what there is of the experiments, run or not, with the published tables.

    Returns
    -------
    list of PaperTable
    list of Path
        The results folders that there are.
    """
    judged, folders = [], []
    for experiment in found:
        folder = results / experiment.name
        try:
            judged.append(overview.of_folder(folder))
            folders.append(folder)
        except StoreError:
            cells = comparison.compare([], Evidence(), experiment.judging)
            judged.append(overview.ExperimentCells(experiment.paper or "", experiment.name, cells, _config(experiment)))
    return overview.by_table(judged), folders
