"""About how long runs will train: as long as those that were made before of the same dataset and solver.

What was made before are the finished runs of the same results folder, and what the project's own last results came to:
``configs/seconds.csv``, which scripts/accept.py writes from results/baseline. Where neither knows of any, nothing is
known; no number is made up.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from mpu_bench.config.choices import Experiment
from mpu_bench.experiment.facts import marks_of
from mpu_bench.experiment.run import Run
from mpu_bench.files import read_csv
from mpu_bench.quantities import FINISHED
from mpu_bench.resources import bundled
from mpu_bench.scaled import to_json

FILE = "seconds.csv"  #: in configs/
COLUMNS = ("experiment", "dataset", "solver", "trial", "runs", "seconds")
_CHANGING_NOTHING = ("--profile", "--seed", "--repeats")  # options, of what a run of a named experiment takes

Records = Iterable[Mapping[str, Any]]


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
        self._own: dict[tuple[Any, ...], list[float]] = {}
        for record in records:
            if _has_seconds(record):
                for key in _keys_of_record(record):
                    self._own.setdefault(key, []).append(record["train_seconds"])
        marks = marks_of(experiment, plan) if self._own else []
        self._changes = {id(run): mark["overridden"] for run, mark in zip(plan, marks, strict=False)}
        options = [each for each in experiment.options if each.startswith("--")]
        self._is_named = all(each in _CHANGING_NOTHING for each in options) and not experiment.given

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
        keys = _keys(run, self._changes.get(id(run), ""))
        found = next((self._own[key] for key in keys if key in self._own), None)
        typical = statistics.fmean(found) if found else self._typical(run)
        limit = run.settings.stop.seconds
        return typical if typical is None or limit is None else min(typical, limit)

    def _typical(self, run: Run) -> float | None:
        if not self._is_named:
            return None
        return _typical().get((run.experiment, run.dataset.label, run.solver.name, run.trial is not None))


def _keys(run: Run, changed: str) -> Iterable[tuple[Any, ...]]:
    """Yield by what a run is compared with earlier ones: first those that differ in nothing but their seed."""
    solver, is_trial = run.solver, run.trial is not None
    alike = (run.dataset.label, solver.name, is_trial, changed)
    yield *alike, json.dumps(dict(solver.parameters), default=to_json), str(solver.kernel), solver.vectors
    yield *alike, solver.vectors
    yield alike


def _keys_of_record(record: Mapping[str, Any]) -> Iterable[tuple[Any, ...]]:
    alike = (record["dataset"], record["solver"], bool(record["trial"]), record["overridden"] or "")
    yield *alike, record["parameters"], record["kernel"], record["budget_vectors"]
    yield *alike, record["budget_vectors"]
    yield alike


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
