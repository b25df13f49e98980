"""About how long runs will train: as long as those that were made before of the same dataset and solver.

What was made before are the finished runs of the same results folder, and what the project's own last results came to:
``configs/seconds.csv``, which scripts/accept.py writes from results/baseline. Runs on another number of rows or columns
tell nothing, nor do those with other parameters, but for C and its like and those of the kernel. Where neither knows of
any, nothing is known; no number is made up. What the paper reports stands beside it then, as an order of magnitude.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench.config.choices import Experiment
from mpu_bench.data.cards import catalog
from mpu_bench.errors import UserError
from mpu_bench.experiment.plan import Plan, marks_of
from mpu_bench.experiment.run import Run
from mpu_bench.files import read_csv
from mpu_bench.quantities import Record
from mpu_bench.resources import bundled, config_path
from mpu_bench.results.matching import published_beside
from mpu_bench.scaled import to_json

FILE = "seconds.csv"  #: in configs/
COLUMNS = ("experiment", "dataset", "solver", "trial", "runs", "seconds")
_OF_THE_PROBLEM = ("C", "regularization", "nu")  # parameters that leave the work of about the same size
_OVERHEAD_SECONDS = 0.03  # of a small run, where its own are not known
_CHANGING_NOTHING = ("--profile", "--seed", "--repeats")  # options, of what a run of a named experiment takes

Records = Iterable[Record]


class Size(NamedTuple):
    """Training rows and columns of a dataset, as far as they are known."""

    rows: int | None
    columns: int | None


class Expected(NamedTuple):
    """What a run will take: seconds of training, if they are known, and beside it; MiB of memory, if known.

    ``reported`` are the paper's seconds, where nothing else is known and the paper has them.
    """

    seconds: float | None
    overhead: float = 0.0
    memory_mb: float | None = None
    reported: float | None = None


class Estimate(NamedTuple):
    """What runs will take together, ``seconds`` of training as far as is known; of how many runs nothing is known.

    ``memory_mb`` is the most that is known of one; ``reported`` are the paper's seconds of ``reported_runs`` more.
    """

    seconds: float
    runs: int
    unknown: int
    overhead: float = 0.0
    memory_mb: float = 0.0
    reported: float = 0.0
    reported_runs: int = 0

    @classmethod
    def of(cls, runs: Sequence[Expected]) -> Estimate:
        """Add up what `Estimates` knows of each run."""
        known = [each.seconds for each in runs if each.seconds is not None]
        reported = [each.reported for each in runs if each.reported is not None]
        return cls(
            sum(known),
            len(runs),
            unknown=len(runs) - len(known),
            overhead=sum(each.overhead for each in runs),
            memory_mb=max((each.memory_mb or 0.0 for each in runs), default=0.0),
            reported=sum(reported),
            reported_runs=len(reported),
        )


class Estimates:
    """What the runs of an experiment will take, as far as earlier runs tell.

    Parameters
    ----------
    experiment : Experiment
    plan : Plan
    records : iterable of Record
        Those of its results folder, whatever became of them.
    """

    def __init__(self, experiment: Experiment, plan: Plan, records: Records = ()) -> None:
        self._own: dict[tuple[Any, ...], list[tuple[Size, Record]]] = {}
        for record in records:
            if _has_seconds(record):
                for key in _keys_of_record(record):
                    self._own.setdefault(key, []).append((_size_of_record(record), record))
        self._means: dict[tuple[tuple[Any, ...], Size], Expected | None] = {}
        self._sizes: dict[str, Size] = {}
        marks = marks_of(experiment, plan) if self._own else []
        self._changes = {id(run): mark.overridden for run, mark in zip(plan, marks, strict=False)}
        options = [each for each in experiment.options if each.startswith("--")]
        source = Path(experiment.source)
        shipped = config_path(source.stem)
        is_shipped = shipped is not None and source.resolve() == shipped.resolve()
        self._is_named = is_shipped and all(each in _CHANGING_NOTHING for each in options) and not experiment.given
        self._tables = experiment.judging.published

    def expected(self, runs: Sequence[Run]) -> list[Expected]:
        """Return what each run will take.

        Parameters
        ----------
        runs : sequence of Run
            Of the plan.
        """
        return [self._bounded(run) for run in runs]

    def _bounded(self, run: Run) -> Expected:
        """Return the mean of the nearest earlier runs, but no more than the config lets a run train."""
        size, limit = self._size(run), run.settings.stop.seconds
        means = (self._mean(key, size) for key in _keys(run, self._changes.get(id(run), "")))
        known = next((mean for mean in means if mean is not None), Expected(self._typical(run), _OVERHEAD_SECONDS))
        if known.seconds is None:
            known = known._replace(reported=self._reported(run))
        return known if known.seconds is None or limit is None else known._replace(seconds=min(known.seconds, limit))

    def _reported(self, run: Run) -> float | None:
        """Return the seconds that the paper reports of a run, if it does."""
        if run.trial is not None or self._changes.get(id(run)):
            return None
        solver = run.solver
        row = Record(
            dataset=run.dataset.label, solver=solver.name, kernel=str(solver.kernel), budget_vectors=solver.vectors,
            parameters=json.dumps(dict(solver.parameters), default=to_json),
        )  # fmt: skip
        return published_beside(self._tables, row).get("train_seconds")

    def _mean(self, key: tuple[Any, ...], size: Size) -> Expected | None:
        """Return the means of the earlier runs that have a key, and whose data are of a size, and their most memory.

        Found once: the seeds of a sweep have the same key.
        """
        if (key, size) not in self._means:
            alike = [record for other, record in self._own.get(key, ()) if _agree(other, size)]
            beside = [each.overhead_seconds for each in alike if each.overhead_seconds is not None]
            self._means[key, size] = None
            if alike:
                self._means[key, size] = Expected(
                    statistics.fmean(map(_training_seconds, alike)),
                    statistics.fmean(beside) if beside else _OVERHEAD_SECONDS,
                    max(each.peak_memory_mb or 0.0 for each in alike) or None,
                )
        return self._means[key, size]

    def _size(self, run: Run) -> Size:
        where = json.dumps([run.dataset.name, dict(run.dataset.options)], default=to_json)
        if where not in self._sizes:
            self._sizes[where] = _size_by_card(run)
        return self._sizes[where]

    def _typical(self, run: Run) -> float | None:
        if not self._is_named:
            return None
        return _typical().get((run.experiment, run.dataset.label, run.solver.name, run.trial is not None))


def _keys(run: Run, changed: str) -> Iterable[tuple[Any, ...]]:
    """Yield by what a run is compared with earlier ones: first those that differ in nothing but their seed."""
    solver, is_trial = run.solver, run.trial is not None
    alike = (run.dataset.label, solver.name, is_trial, changed, solver.vectors)
    parameters = json.dumps(dict(solver.parameters), default=to_json)
    yield *alike, parameters, str(solver.kernel)
    yield *alike, _work(parameters), solver.kernel.name


def _keys_of_record(record: Record) -> Iterable[tuple[Any, ...]]:
    alike = (record.dataset, record.solver, bool(record.trial), record.overridden or "", record.budget_vectors)
    yield *alike, record.parameters, record.kernel
    yield *alike, _work(record.parameters), record.kernel.partition("(")[0]


@cache
def _work(parameters: str) -> str:
    """Return the parameters on which the size of the work depends."""
    try:
        values = json.loads(parameters)
    except ValueError:
        return parameters
    if not isinstance(values, dict):  # a file that another program has changed
        return parameters
    return json.dumps({name: values[name] for name in sorted(values) if name not in _OF_THE_PROBLEM})


def _size_by_card(run: Run) -> Size:
    try:
        card = catalog.card(run.dataset.name, run.dataset.options)
    except UserError:  # who plans or makes the run says so
        return Size(None, None)
    columns = card.known_features
    return Size(card.expected_rows()[0], columns and columns + (card.augment is not None))


def _size_of_record(record: Record) -> Size:
    """Return the size of the data; what a trial held out was taken from the training rows."""
    rows, held_out = record.n, record.n_test
    if record.trial and not record.tuned_on_test and rows is not None and held_out is not None:
        rows += held_out
    return Size(rows, record.d)


def _agree(one: Size, other: Size) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _training_seconds(record: Record) -> float:
    """Return how long a run trained; of one that was disturbed, and has one thread, its processor seconds."""
    undisturbed = record.cpu_seconds if record.disturbed and record.threads == 1 else None
    return (record.train_seconds or 0.0) if undisturbed is None else undisturbed


def _has_seconds(record: Record) -> bool:
    return record.is_finished and record.train_seconds is not None


@cache
def _typical() -> dict[tuple[str, str, str, bool], float]:
    path = bundled("configs") / FILE
    if not path.is_file():
        return {}
    types: dict[str, Callable[[str], Any]] = {"experiment": str, "dataset": str, "solver": str, "trial": int}
    rows = read_csv(path, types | {"seconds": float})
    return {(row["experiment"], row["dataset"], row["solver"], bool(row["trial"])): row["seconds"] for row in rows}


def typical_rows(records: Records) -> list[dict[str, Any]]:
    """Return the rows of ``configs/seconds.csv``: the mean training seconds of finished runs.

    Parameters
    ----------
    records : iterable of Record
        The runs of any experiments.
    """
    found: dict[tuple[Any, ...], list[float]] = {}
    for record in records:
        if _has_seconds(record):
            key = (record.experiment, record.dataset, record.solver, int(bool(record.trial)))
            found.setdefault(key, []).append(_training_seconds(record))
    return [
        dict(zip(COLUMNS, (*key, len(seconds), f"{statistics.fmean(seconds):.3g}"), strict=True))
        for key, seconds in found.items()
    ]
