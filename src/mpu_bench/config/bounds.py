"""The largest numbers that a config may hold, and how many runs it may have, counted before any is made."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpu_bench.document import Node

MAX_RUNS = 20_000  #: of one experiment, with the trials of its tuning and without optima
MAX_TUNED = 20  #: parameters of one ``tune``
MAX_ENTRIES = 1000  #: datasets, solvers, claims of one config
MAX_POINTS = 10_000  #: over which one statement ranges
LARGEST_SEED = 2**32 - 1  #: that NumPy's old generators and LIBLINEAR take
LARGEST_COUNT = 2**31 - 1  #: of vectors
MAX_REPEATS = MAX_RUNS
MAX_THREADS = 1024
MAX_JOBS = 1024
MAX_SECONDS = 1e9  #: some thirty years
MAX_PASSES = 1e8
MAX_EVALUATIONS = 4e18  #: of the kernel: what 64 bits can count
MAX_MEMORY_BYTES = 2**62
_UNTOLD = 10**15  # a number from here on is not written out


def combinations(value: Any) -> int:
    """Return how many values `sweep.expand` makes of one."""
    if isinstance(value, list):
        return sum(combinations(entry) if isinstance(entry, Mapping) else 1 for entry in value)
    return math.prod(map(combinations, value.values())) if isinstance(value, Mapping) else 1


def check_trials(tried: Mapping[str, Any], splits: int, node: Node) -> None:
    """Reject a tuning of too many parameters, or by too many runs."""
    _check_bound(len(tried), "parameters", MAX_TUNED, node)
    _check_bound(combinations(tried) * splits, "tuning runs", MAX_RUNS, node)


def _swept(node: Node) -> int:
    """Reject empty lists, and return how many combinations there are."""
    for name, value in node.value.items():
        if combinations(value) == 0:
            raise node[name].error("an empty list sweeps nothing")
    count = combinations(node.value)
    _check_bound(count, "combinations of values", MAX_RUNS, node)
    return count


def _check_bound(count: int, what: str, limit: int, node: Node) -> None:
    """Reject what is more than the limit.

    Raises
    ------
    ConfigError
        Which says how many there are.
    """
    if count > limit:
        said = f"{count:,}" if count < _UNTOLD else f"{_UNTOLD:,} or more"
        raise node.error(f"has {said} {what}, and the limit is {limit:,}; give fewer values")


class PlanSize:
    """Counts the runs of a plan while its config is read.

    Parameters
    ----------
    problems : iterable of str
        The label of every problem; those that a dataset is split into have the same.
    seeds : int
        How many seeds each run is made with ...
    seeds_on : mapping of str to int
        ... and how many on datasets that have a number of their own, by label.
    """

    def __init__(self, problems: Iterable[str], seeds: int, seeds_on: Mapping[str, int]) -> None:
        self._problems = Counter(problems)
        self._seeds, self._seeds_on = seeds, seeds_on
        self._total = 0

    def add(self, node: Node, kernels: Sequence[Node], *, budgets: int, trials: int, label: str | None) -> None:
        """Count the runs of an entry of ``solvers``.

        Parameters
        ----------
        node : Node
            The parameters of the solver, lists of which are swept ...
        kernels : sequence of Node
            ... and those of its kernels.
        budgets : int
            How many budgets there are.
        trials : int
            How many runs it takes to tune one solver with one value for each parameter.
        label : str or None
            The dataset that they are for, None for all.

        Raises
        ------
        ConfigError
            If a list is empty, or there are too many by now.
        """
        solvers = _swept(node) * sum(map(_swept, kernels)) * budgets
        chosen = self._problems if label is None else {label: self._problems[label]}
        runs_per_solver = sum(
            count * (self._seeds_on.get(name, self._seeds) + trials) for name, count in chosen.items()
        )
        self._total += solvers * runs_per_solver
        _check_bound(self._total, "runs", MAX_RUNS, node)
