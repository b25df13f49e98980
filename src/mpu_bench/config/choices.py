"""What a config says: an experiment with every sweep written out, as the rest of the project receives it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mpu_bench import solvers
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.rules import Judging
from mpu_bench.config.schema import Checkpoints, Limits, Placement, Stop
from mpu_bench.scaled import short

if TYPE_CHECKING:
    from mpu_bench.kernels import Kernel


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset as a config names it: the card, the options that override it, the label in tables, its classes.

    Of a sweep over ``bipartitions`` every one is such a choice, and ``split`` names its positive classes. Of a user
    file, ``remarks`` are what its user should read.
    """

    name: str
    options: Mapping[str, Any]
    label: str
    classes: tuple[str, ...]
    split: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The card's name and the options as text: equal where the data are."""
        return self.name, json.dumps(dict(self.options), sort_keys=True)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel as a config names it; its width or scale may be relative to the data."""

    name: str = "linear"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        written = ", ".join(f"{name}={short(value)}" for name, value in self.parameters.items())
        return f"{self.name}({written})" if written else self.name

    @property
    def is_linear(self) -> bool:
        """Whether it is a.b itself, which linear solvers train with."""
        return self.name == "linear" and not self.parameters.get("normalize")

    def build(self, resolve: Callable[[Any], Any]) -> Kernel:
        """Make the kernel; ``resolve`` turns a width or scale into a number, or leaves it relative."""
        from mpu_bench.kernels import KERNELS

        return KERNELS[self.name].options(**self.parameters).kernel(resolve)


@dataclass(frozen=True)
class ValidationSplit:
    """What a value is tried on: a part held out, one of k folds, or the test rows after training on all; the seed."""

    holdout: float | None = None
    folds: int | None = None
    fold: int = 0
    on_test_set: bool = False
    seed: int = 0

    def __str__(self) -> str:
        if self.on_test_set:
            return "test set"
        return f"fold {self.fold + 1} of {self.folds}" if self.folds is not None else f"hold-out {short(self.holdout)}"


@dataclass(frozen=True)
class Candidate:
    """Values to try, by the names of the config; all parameters with them, of the run's solver and of the one tried."""

    values: Mapping[str, Any]
    parameters: Mapping[str, Any]
    kernel: KernelChoice
    tried: Mapping[str, Any]


@dataclass(frozen=True)
class Tuning:
    """What is tried to tune a solver: which solver tries which values on which rows, and what is compared."""

    solver: str
    candidates: tuple[Candidate, ...]
    trials: tuple[ValidationSplit, ...]
    metric: str

    @property
    def names(self) -> tuple[str, ...]:
        """What is tuned: ``C``, ``kernel.gamma``."""
        return tuple(self.candidates[0].values)

    def __str__(self) -> str:
        tried = {
            name: dict.fromkeys(short(candidate.values[name]) for candidate in self.candidates) for name in self.names
        }
        values = "; ".join(f"{name} of {', '.join(values)}" for name, values in tried.items())
        first, seeds = self.trials[0], len({trial.seed for trial in self.trials})
        rows = str(first) if first.folds is None else f"{first.folds} folds"
        repeated = f", {seeds} seeds" if seeds > 1 else ""
        tuner = " ".join([self.solver, *(f"{name}={short(value)}" for name, value in self._of_tuner().items())])
        return f"{values}; {self.metric.replace('_', ' ')} of {tuner} on {rows}{repeated}"

    def _of_tuner(self) -> dict[str, Any]:
        """Return what tells the solver that tries values from another one with the same name in ``with:``.

        That is its parameters that are neither those of the run nor at their default.
        """
        own, tried = self.candidates[0].parameters, self.candidates[0].tried
        named = own.keys() | solvers.chosen_parameters(self.solver, tried).keys()
        return {name: value for name, value in tried.items() if name in named and own.get(name) != value}


class Plugin(NamedTuple):
    """The user file that defines a solver, and the hash of its code as the config knows it; a worker runs no other."""

    path: Path
    code_hash: str


@dataclass(frozen=True)
class SolverChoice:
    """A solver with one value for each of its parameters, on all datasets or on the one of a label.

    What is to be tuned is left out of its parameters and of those of the kernel. ``plugin`` is None for a solver of the
    project or of an installed package.
    """

    name: str
    parameters: Mapping[str, Any]
    kernel: KernelChoice
    vectors: int | None = None
    only_for: str | None = None
    tuning: Tuning | None = None
    plugin: Plugin | None = None

    @property
    def variants(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The solver with its parameters; where it is tuned with each value to try, and the solvers that try them."""
        if self.tuning is None:
            return [(self.name, self.parameters)]
        tried = [(self.tuning.solver, candidate.tried) for candidate in self.tuning.candidates]
        return [(self.name, candidate.parameters) for candidate in self.tuning.candidates] + tried

    def __post_init__(self) -> None:
        """Bind the plugin that defines the solver."""
        if source := solvers.plugin_of(self.name):
            object.__setattr__(self, "plugin", Plugin(source.path, source.code_hash))


@dataclass(frozen=True)
class Experiment:
    """What a config file says, checked and with every sweep written out.

    ``seeds`` are those of every dataset but those of ``seeds_on``, by label, which have their own.
    ``paper`` is the one whose table or figure it is, ``options`` are the words of a command that changed the config,
    ``profiles`` what else it could have been. ``overridden`` names the keys that a profile or an option changed, and
    ``unchanged`` is the config without: None where nothing changed it, or where the file says nothing whole without.
    ``placement`` says which runs are made on one machine where there are several: those of a dataset and seed, or none.
    ``kernel_matrix`` says whether runs compute kernel rows of their own, or share those of one matrix.
    ``given`` is the text of a config that a program gave, and that is no file; empty for one that is.
    """

    name: str
    source: str
    description: str
    datasets: tuple[DatasetChoice, ...]
    solvers: tuple[SolverChoice, ...]
    seeds: tuple[int, ...]
    seeds_on: Mapping[str, tuple[int, ...]]
    stop: Stop
    limits: Limits
    checkpoints: Checkpoints
    threads: int
    kernel_memory: int | None
    kernel_matrix: Literal["own", "shared"]
    placement: Placement
    optimum: bool
    judging: Judging
    figures: Sequence[Drawing]
    paper: str | None
    profiles: tuple[str, ...]
    plugins: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    overridden: str = ""
    unchanged: Experiment | None = None
    given: str = ""

    @property
    def is_timed(self) -> bool:
        """Whether seconds are compared or end a run, so that runs that are compared belong beside nothing else."""
        return self.placement == "together"
