"""What runs are called where several stand together: the dataset, the solver, and what differs between its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mpu_bench.experiment.run import Run


class Names:
    """Names for runs, without the parameters that all runs of a solver share.

    Parameters
    ----------
    runs : iterable of Run
        Those that stand together, such as a plan.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: Counter[str] = Counter()
        self._with: dict[tuple[str, str], Counter[str]] = {}
        for run in runs:
            self._runs[run.solver.name] += 1
            for name, words in run.described.items():
                self._with.setdefault((run.solver.name, name), Counter())[words] += 1

    def of(self, run: Run) -> str:
        """Return the name of one of the runs."""
        solver = run.solver.name
        differing = [words for name, words in run.described.items() if not self._is_shared(solver, name, words)]
        return " ".join([run.place, solver, *differing])

    def _is_shared(self, solver: str, name: str, words: str) -> bool:
        return (solver, name) in self._with and self._with[solver, name][words] == self._runs[solver]
