"""About how long runs will train: as long as those that were made before of the same dataset and solver.

What was made before are the finished runs of the same results folder, and what the project's own last results came to:
``configs/seconds.csv``, which scripts/accept.py writes from results/baseline. Runs on another number of rows or columns
tell nothing, nor do those with other parameters, but for C and its like and those of the kernel. Where neither knows of
any, nothing is known; no number is made up.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mpu_bench.config.choices import Experiment, ValidationSplit
from mpu_bench.data.cards import catalog
from mpu_bench.errors import UserError
from mpu_bench.experiment.facts import marks_of
from mpu_bench.experiment.run import Run
from mpu_bench.files import read_csv
from mpu_bench.quantities import FINISHED
from mpu_bench.resources import bundled
from mpu_bench.scaled import to_json

FILE = "seconds.csv"  #: in configs/
COLUMNS = ("experiment", "dataset", "solver", "trial", "runs", "seconds")
_OF_THE_PROBLEM = ("C", "regularization", "nu")  # parameters that leave the work of about the same size
_ON_TEST_SET = str(ValidationSplit(on_test_set=True))
_CHANGING_NOTHING = ("--profile", "--seed", "--repeats")  # options, of what a run of a named experiment takes

Records = Iterable[Mapping[str, Any]]


class Size(NamedTuple):
    """Training rows and columns of a dataset, as far as they are known."""

    rows: int | None
    columns: int | None


class Estimate(NamedTuple):
    """The training seconds of runs together: of those of which something is known; and of how many nothing is."""

    seconds: float
    runs: int
    unknown: int

    @classmethod
    def of(cls, seconds: Sequence[float | None]) -> Estimate:
        """Add up what `Estimates` knows of each run."""
        known = [each for each in seconds if each is not None]
        return cls(sum(known), len(seconds), len(seconds) - len(known))


class Estimates:
    """The training seconds of the runs of an experiment, as far as earlier runs tell.

    Parameters
    ----------
    experiment : Experiment
    plan : sequence of Run
        All its runs.
    records : iterable of mapping
        Rows of its results folder, whatever became of them.
    """

    def __init__(self, experiment: Experiment, plan: Sequence[Run], records: Records = ()) -> None:
        self._own: dict[tuple[Any, ...], list[tuple[Size, float]]] = {}
        for record in records:
            if _has_seconds(record):
                for key in _keys_of_record(record):
                    self._own.setdefault(key, []).append((_size_of_record(record), record["train_seconds"]))
        self._means: dict[tuple[tuple[Any, ...], Size], float | None] = {}
        self._sizes: dict[str, Size] = {}
        marks = marks_of(experiment, plan) if self._own else []
        self._changes = {id(run): mark["overridden"] for run, mark in zip(plan, marks, strict=False)}
        options = [each for each in experiment.options if each.startswith("--")]
        is_shipped = Path(experiment.source).resolve().parent == bundled("configs").resolve()
        self._is_named = is_shipped and all(each in _CHANGING_NOTHING for each in options) and not experiment.given

    def seconds(self, runs: Sequence[Run]) -> list[float | None]:
        """Return the training seconds that each run will take, None where nothing is known.

        Parameters
        ----------
        runs : sequence of Run
            Of the plan.
        """
        return [self._bounded(run) for run in runs]

    def _bounded(self, run: Run) -> float | None:
        """Return the mean of the nearest earlier runs, but no more than the config lets a run train."""
        size = self._size(run)
        means = (self._mean(key, size) for key in _keys(run, self._changes.get(id(run), "")))
        typical = next((mean for mean in means if mean is not None), None)
        typical = self._typical(run) if typical is None else typical
        limit = run.settings.stop.seconds
        return typical if typical is None or limit is None else min(typical, limit)

    def _mean(self, key: tuple[Any, ...], size: Size) -> float | None:
        """Return the mean seconds of the earlier runs that have a key, and whose data are of a size.

        Found once: the seeds of a sweep have the same key.
        """
        if (key, size) not in self._means:
            alike = [seconds for other, seconds in self._own.get(key, ()) if _agree(other, size)]
            self._means[key, size] = statistics.fmean(alike) if alike else None
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


def _keys_of_record(record: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    changed = record["overridden"] or ""
    alike = (record["dataset"], record["solver"], bool(record["trial"]), changed, record["budget_vectors"])
    parameters, kernel = record["parameters"] or "{}", record["kernel"] or ""
    yield *alike, parameters, kernel
    yield *alike, _work(parameters), kernel.partition("(")[0]


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


def _size_of_record(record: Mapping[str, Any]) -> Size:
    """Return the size of the data; what a trial held out was taken from the training rows."""
    rows, held_out = record["n"], record["n_test"]
    if record["trial"] and record["trial"] != _ON_TEST_SET and rows is not None and held_out is not None:
        rows += held_out
    return Size(rows, record["d"])


def _agree(one: Size, other: Size) -> bool:
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _has_seconds(record: Mapping[str, Any]) -> bool:
    return record["status"] in FINISHED and record["train_seconds"] is not None


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
    records : iterable of mapping
        The rows of the runs of any experiments.
    """
    found: dict[tuple[Any, ...], list[float]] = {}
    for record in records:
        if _has_seconds(record):
            key = (record["experiment"], record["dataset"], record["solver"], int(bool(record["trial"])))
            found.setdefault(key, []).append(record["train_seconds"])
    return [
        dict(zip(COLUMNS, (*key, len(seconds), f"{statistics.fmean(seconds):.3g}"), strict=True))
        for key, seconds in found.items()
    ]
