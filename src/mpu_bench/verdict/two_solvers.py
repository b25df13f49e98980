"""Two solvers compared over seeds, splits and datasets: ``mpu-bench compare``.

Runs stand side by side that have the same dataset, split and seed, and the same setting: the values of what varies
within a dataset, such as a budget. A solver without a budget stands beside all budgets of the other; `pairs` says how
runs are paired. In seconds, which always vary, only runs of one seed are paired, and only those of one machine.
Errors are compared by their difference, all else by its ratio, since objectives, counts and seconds of several datasets
have no common unit.

On one dataset the pairs are those of the seeds, or where there are several splits, of the splits (each the mean over
its seeds, which share its examples); the interval and the probability are those of the paired t test. Over datasets,
what is paired is the mean of each, and the test is Wilcoxon's, as in `rank_tests`.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy  # whose stats are imported where they are first used: they take a second of every command
from numpy.typing import NDArray

from mpu_bench.errors import StoreError, check_known
from mpu_bench.quantities import QUANTITIES, Record
from mpu_bench.results.machines import comparable, why_disturbed
from mpu_bench.results.means import grouped
from mpu_bench.results.naming import better_way, function_of
from mpu_bench.scaled import parameters_in, short
from mpu_bench.texts import counted, listed
from mpu_bench.verdict.pairs import is_certain, partners
from mpu_bench.verdict.rank_tests import LEVEL, MIN_PAIRS, typical, wilcoxon

#: the quantities that are compared where none is named
COMPARED = ("test_error", "balanced_error", "online_error", "objective", "nu", "support_vectors", "comparable_seconds")
_SAME_AS_BUDGET = {"vectors"}
_ROUNDING = 1e-9  # relative: what two numbers may differ by and be tied
_MAX_LOGARITHM = math.log(sys.float_info.max)

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """A quantity of two solvers on one dataset, or over several.

    Attributes
    ----------
    dataset : str
        Empty over datasets.
    setting : str
        What else both have in common there, such as ``"budget=200"``.
    quantity : str
        One of `QUANTITIES`.
    measure : {"difference", "ratio"}
    first, second : float
        The means of both; of ratios the geometric ones.
    effect : float
        The first less, or by, the second: the mean over pairs; over datasets the Hodges-Lehmann median.
    low, high : float or None
        The ends of its 95% interval; None where the pairs are too few for one, or do not vary.
    p_value : float or None
        That they do not differ, two-sided.
    test : {"paired t", "Wilcoxon", ""}
    pairs, wins, ties, losses : int
        How many pairs there are, and in how many the first is better, equal, worse; where neither way is better, lower
        counts as such.
    remark : str
        What limits the row, such as too few datasets.
    """

    dataset: str
    setting: str
    quantity: str
    measure: Literal["difference", "ratio"]
    first: float
    second: float
    effect: float
    low: float | None
    high: float | None
    p_value: float | None
    test: Literal["paired t", "Wilcoxon", ""]
    pairs: int
    wins: int
    ties: int
    losses: int
    remark: str


def runs_of(records: Iterable[Record], solver: str, folder: str) -> list[Record]:
    """Return the finished runs of a solver, without trials and those of earlier plans.

    Parameters
    ----------
    records : iterable of Record
        As a results folder has them.
    solver : str
        Its name, and where one of several of its settings is meant ``name=value`` of parameters, ``budget`` or
        ``kernel``, as in ``"bpegasos maintenance=merging budget=100"``.
    folder : str
        What the results are called in messages.

    Raises
    ------
    ConfigError
        If there is no finished run of the solver, or none with these values.
    """
    name, *words = re.split(r"\s+(?![^({]*[)}])", solver.strip())  # a kernel has blanks between its brackets
    runs = [record for record in records if record.is_finished and not record.trial and not record.earlier]
    names = {run.solver for run in runs}
    check_known(name, names, f"{folder}: has no finished run of a solver '{name}'")
    runs = [run for run in runs if run.solver == name]
    for word in words:
        runs = _with_value(runs, word, folder)
    return runs


def _with_value(runs: Sequence[Record], word: str, folder: str) -> list[Record]:
    name, _, value = word.partition("=")
    all_settings = [_settings(run) for run in runs]
    known = {parameter for settings in all_settings for parameter in settings}
    check_known(name, known, f"{folder}: {runs[0].solver} has no '{name}'")
    values = {settings[name] for settings in all_settings if name in settings}
    check_known(value, values, f"{folder}: {runs[0].solver} was not run with '{word}'")
    return [run for run, settings in zip(runs, all_settings, strict=True) if settings.get(name) == value]


def _settings(run: Record) -> dict[str, str]:
    """Return what a run was made with, by name: its parameters, its budget, its kernel; none of what it has not.

    And whether it was ``tuned``: the values that were chosen for it are no settings.
    """
    parameters = {name: short(value) for name, value in parameters_in(run.parameters).items()}
    settings = {"class_weight": "none"} | parameters | {"kernel": run.kernel, "tuned": "yes" if run.tuned else "no"}
    return settings | ({} if run.budget_vectors is None else {"budget": str(run.budget_vectors)})


def _conditions(run: Record) -> dict[str, str]:
    """Return what else must be alike, as far as it is recorded, for numbers to speak of the solvers alone."""
    names = [name for name in ("n", "n_test", "threads") if run.value(name) is not None]
    return {name: str(run.value(name)) for name in names} | {"changes from the config": run.overridden or "nothing"}


class Sides:
    """The runs of two solvers, those that can be paired found by dataset and setting.

    Parameters
    ----------
    first, second : sequence of Record
        As `runs_of` returns them.

    Raises
    ------
    StoreError
        If they have no dataset and setting in common.
    """

    def __init__(self, first: Sequence[Record], second: Sequence[Record]) -> None:
        self._sides = first, second
        made_with = {id(run): _settings(run) for side in self._sides for run in side}
        names = {name for side in self._sides for name in _varying(side, made_with)}
        names -= _SAME_AS_BUDGET if "budget" in names else set()
        self._settings = {
            run: {name: value for name, value in settings.items() if name in names}
            for run, settings in made_with.items()
        }
        self._blocks = {
            (dataset, setting): both
            for dataset in dict.fromkeys(run.dataset for run in first)
            for setting, both in self._common([[run for run in side if run.dataset == dataset] for side in self._sides])
        }
        if not self._blocks:
            names_of = " and ".join(side[0].solver for side in self._sides)
            raise StoreError(f"{names_of} have no dataset with one setting in common: there is nothing to pair")

    def _common(self, both: Sequence[Sequence[Record]]) -> Iterator[tuple[str, tuple[list[Record], list[Record]]]]:
        """Yield the runs of both on a dataset by the settings that they share."""
        of_sides = [dict.fromkeys(tuple(self._settings[id(run)].items()) for run in side) for side in both]
        shared = dict.fromkeys(
            tuple((dict(one) | dict(other)).items())
            for one in of_sides[0]
            for other in of_sides[1]
            if _agree(dict(one), dict(other))
        )
        for setting in shared:
            first, second = ([run for run in side if _agree(self._settings[id(run)], dict(setting))] for side in both)
            for side in (first, second):
                _check_pairs(side)
            yield " ".join(f"{name}={value}" for name, value in setting), (first, second)

    def only_in(self, side: Literal[0, 1]) -> list[str]:
        """Return which runs of one side have no partner: datasets, or settings and seeds of one."""
        paired = {id(pair[side]) for both in self._blocks.values() for pair in _partners(*both)}
        common = {dataset for dataset, _ in self._blocks}
        alone = grouped((run for run in self._sides[side] if id(run) not in paired), lambda run: run.dataset)
        return [
            f"{dataset} ({listed(list(map(self._words, runs)))})" if dataset in common else dataset
            for dataset, runs in alone.items()
        ]

    def _words(self, run: Record) -> str:
        """Return what tells a run apart on its dataset."""
        named = {"split": run.split} if run.split else {}
        return " ".join(
            f"{name}={value}" for name, value in (named | self._settings[id(run)] | {"seed": run.seed}).items()
        )

    def unlike(self) -> list[str]:
        """Return which parameters, or sizes of the data, both have that are not the same: ``"C: 1 and 10 (adult)"``."""
        made_with = (
            (dataset, _settings(first[0]) | _conditions(first[0]), _settings(second[0]) | _conditions(second[0]))
            for (dataset, _), (first, second) in self._blocks.items()
        )
        unlike = dict.fromkeys(
            (f"{name}: {value} and {other[name]}", dataset)
            for dataset, one, other in made_with
            for name, value in one.items()
            if name not in _SAME_AS_BUDGET and other.get(name, value) != value
        )
        return [
            f"{words} ({listed([dataset for _, dataset in several])})"
            for words, several in grouped(unlike, lambda entry: entry[0]).items()
        ]

    def on_other_machines(self) -> int:
        """Return of how many pairs the runs were made on different machines: their seconds are not compared."""
        pairs = [pair for both in self._blocks.values() for pair in _partners(*both, "train_seconds")]
        return sum(not comparable("train_seconds", [one], [other]) for one, other in pairs)

    def compare(self, quantities: Collection[str]) -> list[Comparison]:
        """Return the comparisons in these quantities, as far as both have them: by dataset, then over datasets."""
        return [row for quantity in quantities for row in self._compare(quantity)]

    def why_not_compared(self, quantity: str) -> str:
        """Return why no run of the two can be compared in a quantity of which `compare` has no row."""
        sides = [[run for block in self._blocks.values() for run in block[side]] for side in (0, 1)]
        values = [[value for run in side if (value := run.judged(quantity)) is not None] for side in sides]
        if not all(values) and why_disturbed(quantity, *sides):
            return "its seconds were disturbed"
        if not all(values):
            return "neither has it" if not any(values) else f"the {'second' if values[0] else 'first'} has none"
        if not _is_difference(quantity) and not all(max(side) > 0 for side in values):
            return "a ratio needs numbers above 0"
        return "no pair of runs has it that can be compared"

    def _compare(self, quantity: str) -> Iterator[Comparison]:
        over_datasets: dict[_Subject, list[Comparison]] = {}
        for (dataset, setting), (first, second) in self._blocks.items():
            pairs, unit, left = _pairs(first, second, quantity)
            if len(pairs):
                subject = _Subject(setting, quantity, better_way(quantity, first[0]))
                row = _on_dataset(dataset, subject, pairs, unit)
                row = replace(row, remark="; ".join(filter(None, [row.remark, left])))
                over_datasets.setdefault(subject, []).append(row)
                yield row
        for subject, rows in over_datasets.items():
            if len(rows) > 1:
                yield _over_datasets(subject, rows)


class _Subject(NamedTuple):
    """What is compared on each dataset and over all."""

    setting: str
    quantity: str
    better: str  #: "lower", "higher" or neither


def _agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether what both name has the same value."""
    return all(other.get(name, value) == value for name, value in one.items())


def _check_pairs(runs: Sequence[Record]) -> None:
    """Reject runs of which several are of one split and seed: which of them is meant, nothing says."""
    of_pair: dict[Any, Record] = {}
    for run in runs:
        if (other := of_pair.setdefault(run.pair, run)) is not run:
            tuned = f"tuned over {other.tuned}, and over {run.tuned}" if other.tuned != run.tuned else "of one setting"
            raise StoreError(
                f"{run.solver} on {run.dataset}: has several runs of seed {run.seed}, {tuned}: run them under "
                "configs of their own to compare them"
            )


def _varying(runs: Sequence[Record], settings: Mapping[int, Mapping[str, str]]) -> set[str]:
    """Return what has several values on one dataset."""
    values = {(run.dataset, name, value) for run in runs for name, value in settings[id(run)].items()}
    counts = Counter((dataset, name) for dataset, name, _ in values)
    return {name for (_, name), count in counts.items() if count > 1}


def _partners(first: Sequence[Record], second: Sequence[Record], quantity: str = "") -> list[tuple[Record, Record]]:
    """Return the runs of both that have a partner in a quantity."""
    certain = is_certain(quantity, first), is_certain(quantity, second)
    return partners({run.pair: run for run in first}, {run.pair: run for run in second}, certain)


def _pairs(first: Sequence[Record], second: Sequence[Record], quantity: str) -> tuple[_Array, str, str]:
    """Return the pairs of a quantity, shape (N, 2), what each is of, a seed or a split, and how many have no ratio."""
    alike = [
        (one.split, (one.judged(quantity), other.judged(quantity)))
        for one, other in _partners(first, second, quantity)
        if comparable(quantity, [one], [other]) and (quantity != "objective" or function_of(one) == function_of(other))
    ]
    known = [(split, pair) for split, pair in alike if None not in pair]
    usable = [(split, pair) for split, pair in known if _is_difference(quantity) or min(pair) > 0]
    by_split = grouped(usable, lambda entry: entry[0] or "").values()
    several, left = len(by_split) > 1, len(known) - len(usable)
    means = [[fmean(side) for side in zip(*(pair for _, pair in entries), strict=True)] for entries in by_split]
    pairs = means if several else [pair for _, pair in usable]
    words = f"without {counted(left, 'pair')} of numbers that are not all above 0" if left else ""
    return np.array(pairs, np.float64).reshape(len(pairs), 2), "split" if several else "seed", words


def _is_difference(quantity: str) -> bool:
    """Return whether a quantity is compared by its difference: shares are."""
    return QUANTITIES[quantity].is_in_percent


def _on_dataset(dataset: str, subject: _Subject, pairs: _Array, unit: str) -> Comparison:
    differences = _differences(subject.quantity, pairs)
    mean, low, high, p_value = float(differences.mean()), None, None, None
    count, remarks = len(pairs), []
    is_constant = count > 1 and np.ptp(differences) <= _ROUNDING * np.abs(differences).max()
    if is_constant:
        remarks.append(f"{'the same difference' if differences.any() else 'equal'} at every {unit}")
    elif count == 1:
        remarks.append(f"one {unit}: no test")
    if count > 1 and not is_constant:
        test = scipy.stats.ttest_1samp(differences, 0.0)
        low, high = (float(end) for end in test.confidence_interval(1 - LEVEL))
        p_value = float(test.pvalue)
        if unit == "split":
            remarks.append("splits share examples, so p is too small")
    return _row(dataset, subject, pairs, (mean, low, high, p_value), "; ".join(remarks))


def _over_datasets(subject: _Subject, rows: Sequence[Comparison]) -> Comparison:
    pairs = np.array([(row.first, row.second) for row in rows])
    differences = _differences(subject.quantity, pairs)
    middle = typical(differences) or (float(np.median(differences)), None, None)
    p_value = wilcoxon(differences, np.zeros(len(rows))).p_value
    few = f"too few datasets: {len(rows)} of {MIN_PAIRS} needed"
    return _row("", subject, pairs, (*middle, p_value), few if len(rows) < MIN_PAIRS else "")


def _differences(quantity: str, pairs: _Array) -> _Array:
    """Return differences of a quantity, or of its logarithms, without those that are rounding."""
    values = pairs if _is_difference(quantity) else np.log(pairs)
    is_tie = np.ptp(pairs, axis=1) <= _ROUNDING * np.abs(pairs).max(axis=1)
    return np.where(is_tie, 0.0, values[:, 0] - values[:, 1])


def _ratio(logarithm: float) -> float:
    """Return the ratio of a logarithm; infinite where no double holds it, as an interval of two pairs may end."""
    return math.exp(logarithm) if logarithm < _MAX_LOGARITHM else math.inf


def _row(
    dataset: str,
    subject: _Subject,
    pairs: _Array,
    estimate: tuple[float, float | None, float | None, float | None],
    remark: str,
) -> Comparison:
    is_difference = _is_difference(subject.quantity)
    effect, low, high = (number if is_difference or number is None else _ratio(number) for number in estimate[:3])
    means = pairs.mean(axis=0) if is_difference else np.exp(np.log(pairs).mean(axis=0))
    off = _differences(subject.quantity, pairs)
    better, worse = (off > 0, off < 0) if subject.better == "higher" else (off < 0, off > 0)
    assert effect is not None
    return Comparison(
        dataset=dataset,
        setting=subject.setting,
        quantity=subject.quantity,
        measure="difference" if is_difference else "ratio",
        first=float(means[0]),
        second=float(means[1]),
        effect=effect,
        low=low,
        high=high,
        p_value=estimate[3],
        test="" if estimate[3] is None else "paired t" if dataset else "Wilcoxon",
        pairs=len(pairs),
        wins=int(better.sum()),
        ties=int((off == 0).sum()),
        losses=int(worse.sum()),
        remark=remark,
    )
