"""A run: one solver on one dataset with one seed; and what runs are called where several stand together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpu_bench import solvers
from mpu_bench.config.choices import DatasetChoice, SolverChoice, ValidationSplit
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.scaled import short


@dataclass(frozen=True)
class RunSettings:
    """How a run is made, whatever its solver and its data.

    Attributes
    ----------
    stop : Stop
        What ends it besides the solver's own rule.
    checkpoints : Checkpoints
        When its model is evaluated.
    threads : int
    plugins : tuple of Path
        The file that defines the solver, if that is of the user's own; none for the project's own solvers.
    plugin_code : str
        The hash of that file's code as the plan knows it; a worker runs no other.
    kernel_memory : int or None
        Bytes for kernel values that are kept; None: half of what is free.
    """

    stop: Stop = field(default_factory=Stop)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    threads: int = 1
    plugins: tuple[Path, ...] = ()
    plugin_code: str = ""
    kernel_memory: int | None = None

    def for_solver(self, name: str) -> RunSettings:
        """Return these settings with the plugin that defines a solver; without one for the project's own."""
        source = solvers.plugin_of(name)
        if source is None:
            return replace(self, plugins=(), plugin_code="")
        return replace(self, plugins=(source.path,), plugin_code=source.code_hash)


@dataclass(frozen=True)
class Run:
    """One solver on one dataset with one seed.

    Attributes
    ----------
    experiment : str
        The experiment's name.
    dataset : DatasetChoice
    solver : SolverChoice
        With its parameters and its kernel; what is tuned before the run is not among them.
    settings : RunSettings
    seed : int
    trial : ValidationSplit or None
        The rows it is on, if it only tries values for other runs.
    """

    experiment: str
    dataset: DatasetChoice
    solver: SolverChoice
    settings: RunSettings
    seed: int
    trial: ValidationSplit | None = None

    def __str__(self) -> str:
        return " ".join([self.place, self.solver.name, *self.described.values()])

    @property
    def place(self) -> str:
        """What its dataset is called, with its split if there are several."""
        return f"{self.dataset.label}-{self.dataset.split}" if self.dataset.split else self.dataset.label

    @property
    def described(self) -> dict[str, str]:
        """What there is to say of it besides its dataset and its solver: each parameter, the kernel, the seed, ..."""
        solver, kernel = self.solver, self.solver.kernel
        words = {name: f"{name}={short(value)}" for name, value in solver.parameters.items()}
        if kernel.name != "linear":
            words["kernel"] = str(kernel)
        words["seed"] = f"seed={self.seed}"
        if solver.tuning is not None:
            words["tuned"] = f"tuned: {', '.join(solver.tuning.names)}"
        if self.trial is not None:
            words["trial"] = f"trial: {self.trial}"
        return words


class Names:
    """Names for runs: the dataset, the solver, and what differs between its runs.

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
