"""Everything that the papers publish, re-run and compared with what they report: results, tables and pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import Say
from mpu_bench.errors import StoreError
from mpu_bench.experiment import disturbance, reproduce
from mpu_bench.experiment.options import ReproduceOptions
from mpu_bench.experiment.reproduce import Step
from mpu_bench.experiment.runner import Listener
from mpu_bench.quantities import FAILED
from mpu_bench.report import csv_files, overview, page
from mpu_bench.results import naming
from mpu_bench.results.folder import ResultsFolder, open_results
from mpu_bench.texts import duration
from mpu_bench.verdict import comparison
from mpu_bench.verdict.points import Evidence

_NO_FAILURE = ("unavailable", "skipped")


def make(
    experiments: Sequence[Experiment],
    options: ReproduceOptions,
    listening: Callable[[], AbstractContextManager[Listener]],
    say: Say,
) -> list[str]:
    """Make what has no result yet, the cheapest first, and return what failed; each step leaves its CSV files.

    Parameters
    ----------
    experiments : sequence of Experiment
    options : ReproduceOptions
    listening : function
        Returns a listener for a step.
    say : function
        Called with which step is next, and why seconds may not be compared.
    """
    threads = max((experiment.threads for experiment in experiments), default=1)
    if options.cluster is None and (busy := disturbance.warning(disturbance.load_of_others(), threads)):
        say(busy)
    if options.jobs > 1:
        shared = [experiment.name for experiment in experiments if not experiment.is_timed]
        say(f"{options.jobs} parallel runs, so their seconds are not comparable: {', '.join(shared) or 'of no config'}")

    def begun(step: Step, number: int) -> AbstractContextManager[Listener]:
        # how long it trains if nothing of it has a result
        about = "" if step.estimate.unknown else f", about {duration(step.estimate.seconds)} in all"
        say(f"[{number}/{len(steps)}] {step}{about}")
        return listening()

    def finished(step: Step) -> list[str]:
        with open_results(step.chosen.folder) as opened:
            csv_files.write(opened)
            return _failed(step, opened)

    with replace(options, jobs=1).pool(say) as pool:
        steps = reproduce.steps(experiments, options)
        return reproduce.run(steps, pool, listening=begun, finished=finished)


def _failed(step: Step, results: ResultsFolder) -> list[str]:
    """Return the runs of a step that should have a result and have none."""
    labels = {run.dataset.label for run in step.chosen.runs}
    records = results.records()
    varied = naming.varying(records)
    return [
        f"{step}: {naming.run_text(record, varied)} seed={record.seed}: {record.status}: {record.reason}"
        for record in records
        if record.dataset in labels and record.status in FAILED and record.status not in _NO_FAILURE
    ]


def write(experiments: Sequence[Experiment], options: ReproduceOptions) -> tuple[list[overview.PaperTable], list[Path]]:
    """Set what there is of the experiments, run or not, beside the published tables, and write tables and pages.

    Returns
    -------
    list of PaperTable
        The published tables, each number with its verdict.
    list of Path
        The results folders that there are.
    """
    judged, folders = [], []
    for experiment in experiments:
        folder = options.folder / experiment.name
        try:
            judged.append(overview.of_folder(folder))
            folders.append(folder)
        except StoreError:
            cells = comparison.compare([], Evidence(), experiment.judging)
            config = Path(experiment.source).stem
            judged.append(comparison.ExperimentCells(experiment.paper or "", experiment.name, cells, config))
    tables = overview.by_table(judged)
    overview.write(tables, options.tables)
    if folders:
        page.write(folders, options.folder / "page")
    return tables, folders
