"""About how long runs will take: as long as earlier runs of the same dataset, solver and settings.

Earlier runs are the finished runs of the same results folder. For configs of this project, those of results/baseline
count too: ``configs/seconds.csv``, which scripts/accept.py writes. Runs on another number of rows or columns do not
count, nor runs with other parameters, except C and its like and those of the kernel. Without such runs nothing is
known, and the paper's seconds are shown as an order of magnitude.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Self

from mpu_bench import solvers
from mpu_bench.config.choices import Experiment
from mpu_bench.data.cards import catalog
from mpu_bench.errors import UserError
from mpu_bench.experiment.facts import name_of
from mpu_bench.experiment.plan import Plan, marks_of
from mpu_bench.experiment.run import Run, record_of
from mpu_bench.files import read_csv
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.resources import bundled
from mpu_bench.results.means import grouped
from mpu_bench.results.summary import published_beside

FILE = "seconds.csv"  #: in configs/
_SETTINGS = ("experiment", "dataset", "solver", "trial", "budget_vectors", "parameters", "kernel")
COLUMNS = (*_SETTINGS, "train_seconds", "overhead_seconds")
_OF_THE_PROBLEM = ("C", "regularization", "nu")  # parameters that leave the work of about the same size
_OVERHEAD_SECONDS = 0.03  # of a small run, where its own are not known
_CHANGING_NOTHING = ("--profile", "--seed", "--repeats")  # options, of what a run of a named experiment takes

Records = Iterable[Record]


class Size(NamedTuple):
    """Training rows and columns of a dataset, as far as they are known."""

    rows: int | None
    columns: int | None


class Expected(NamedTuple):
    """What a run will take: seconds of training, if known, the overhead in seconds, and MiB of memory, if known.

    ``reported`` are the paper's seconds, where nothing else is known and the paper has them.
    """

    seconds: float | None
    overhead: float = 0.0
    memory_mb: float | None = None
    reported: float | None = None

    @property
    def total_seconds(self) -> float | None:
        """Seconds of training and overhead, if known."""
        return None if self.seconds is None else self.seconds + self.overhead


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
    def of(cls, runs: Sequence[Expected]) -> Self:
        """Add up what `Estimates` knows of each run."""
        known = [run.seconds for run in runs if run.seconds is not None]
        reported = [run.reported for run in runs if run.reported is not None]
        return cls(
            sum(known),
            len(runs),
            unknown=len(runs) - len(known),
            overhead=sum(run.overhead for run in runs),
            memory_mb=max((run.memory_mb or 0.0 for run in runs), default=0.0),
            reported=sum(reported),
            reported_runs=len(reported),
        )


class Estimates:
    """What the runs of an experiment will take, as far as earlier runs show.

    Parameters
    ----------
    experiment : Experiment
    plan : Plan
    records : iterable of Record
        Those of its results folder, of any status.
    """

    def __init__(self, experiment: Experiment, plan: Plan, records: Records = ()) -> None:
        of_folder = _by_settings(records)
        self._means: dict[tuple[int, tuple[Any, ...], Size], Expected | None] = {}
        self._sizes: dict[tuple[str, str], Size] = {}
        marks = marks_of(experiment, plan) if of_folder else []
        self._changes = {id(run): mark.overridden for run, mark in zip(plan, marks, strict=False)}
        options = [option for option in experiment.options if option.startswith("--")]
        is_shipped = name_of(experiment) != experiment.source and not experiment.given
        is_named = is_shipped and all(option in _CHANGING_NOTHING for option in options)
        self._earlier = [of_folder, _by_settings(_typical().get(experiment.name, ()) if is_named else ())]
        self._tables = experiment.judging.published

    def expected(self, run: Run) -> Expected:
        """Return what a run of the plan will take: the mean of the nearest earlier ones, but no more than it may."""
        size, limit, row = self._size(run), run.settings.stop.seconds, record_of(run)
        changed = self._changes.get(id(run))
        means = (
            self._mean(index, key, size)
            for index, overridden in enumerate((changed, None))
            for key in _keys(replace(row, overridden=overridden))
        )
        known = next((mean for mean in means if mean is not None), Expected(None, _OVERHEAD_SECONDS))
        if known.seconds is None and not (changed or row.trial):
            known = known._replace(reported=published_beside(self._tables, row).get("train_seconds"))
        return known if known.seconds is None or limit is None else known._replace(seconds=min(known.seconds, limit))

    def _mean(self, index: int, key: tuple[Any, ...], size: Size) -> Expected | None:
        """Return the means of the earlier runs that have a key, and whose data are of a size, and their most memory.

        Computed once: the seeds of a sweep have the same key.
        """
        if (index, key, size) not in self._means:
            alike = [record for other, record in self._earlier[index].get(key, ()) if _agree(other, size)]
            self._means[index, key, size] = None
            if alike:
                self._means[index, key, size] = Expected(
                    statistics.fmean(map(training_seconds, alike)),
                    _mean_overhead(alike),
                    max(record.peak_memory_mb or 0.0 for record in alike) or None,
                )
        return self._means[index, key, size]

    def _size(self, run: Run) -> Size:
        if run.dataset.key not in self._sizes:
            self._sizes[run.dataset.key] = _size_by_card(run)
        return self._sizes[run.dataset.key]


_Index = Mapping[tuple[Any, ...], Sequence[tuple[Size, Record]]]


def _by_settings(records: Records) -> _Index:
    """Return records with seconds by their keys, with the size of their data."""
    index: defaultdict[tuple[Any, ...], list[tuple[Size, Record]]] = defaultdict(list)
    for record in filter(_has_seconds, records):
        for key in _keys(record):
            index[key].append((_size_of_record(record), record))
    return index


def _keys(record: Record) -> Iterable[tuple[Any, ...]]:
    """Yield by what a run is compared with earlier ones: first those that differ in nothing but their seed."""
    alike = (record.dataset, record.solver, bool(record.trial), record.overridden or "", record.budget_vectors)
    parameters, kernel = (record.solver, record.parameters), record.kernel
    yield "same", *alike, _parameters(*parameters), kernel
    yield "like", *alike, _parameters(*parameters, _OF_THE_PROBLEM), kernel.partition("(")[0]


@cache
def _parameters(solver: str, text: str, without: Sequence[str] = ()) -> str:
    """Return as text the parameters that are not at their default."""
    try:
        values = json.loads(text)
    except ValueError:
        return text
    if not isinstance(values, dict):  # a file that another program has changed
        return text
    chosen = solvers.chosen_parameters(solver, values)
    return json.dumps({name: chosen[name] for name in sorted(chosen) if name not in without})


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


def training_seconds(record: Record) -> float:
    """Return how long a run trained; of one that was disturbed, and has one thread, its processor seconds."""
    undisturbed = record.cpu_seconds if record.disturbed and record.threads == 1 else None
    return (record.train_seconds or 0.0) if undisturbed is None else undisturbed


def _has_seconds(record: Record) -> bool:
    return record.is_finished and record.train_seconds is not None


@cache
def _typical() -> Mapping[str, Sequence[Record]]:
    """Return the runs of the baseline by experiment."""
    path = bundled("configs") / FILE
    if not path.is_file():
        return {}
    types: dict[str, Callable[[str], Any]] = dict.fromkeys(COLUMNS, str)
    types["budget_vectors"] = lambda text: int(text) if text else None
    rows = read_csv(path, types | {"train_seconds": float, "overhead_seconds": float})
    return grouped((Record(**row, status=RunStatus.DONE) for row in rows), lambda record: record.experiment or "")


def typical_rows(records: Records) -> list[dict[str, Any]]:
    """Return the rows of ``configs/seconds.csv``: the mean seconds of finished runs with the same settings.

    Parameters
    ----------
    records : iterable of Record
        The runs of any experiments.
    """

    def settings_of(record: Record) -> tuple[Any, ...]:
        parameters = _parameters(record.solver, record.parameters)
        known = record.row(_SETTINGS) | {"trial": "tuning" if record.trial else "", "parameters": parameters}
        return tuple(known.values())

    return [
        dict(zip(_SETTINGS, settings, strict=True))
        | {
            "train_seconds": f"{statistics.fmean(map(training_seconds, alike)):.3g}",
            "overhead_seconds": f"{_mean_overhead(alike):.3g}",
        }
        for settings, alike in grouped(filter(_has_seconds, records), settings_of).items()
    ]


def _mean_overhead(records: Sequence[Record]) -> float:
    known = [record.overhead_seconds for record in records if record.overhead_seconds is not None]
    return statistics.fmean(known) if known else _OVERHEAD_SECONDS
