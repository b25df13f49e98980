"""The words of a config and their types: what is strict, what is swept, what the rest of the project receives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from mpu_bench.config.rules import Claim, Judging, Known, Rule
from mpu_bench.errors import ConfigError

if TYPE_CHECKING:
    from mpu_bench.core.kernels import Kernel

FORMAT_VERSION = 1
Paper = Literal["mpu-2010", "forgetron-2005", "bpegasos-2010", "sbp-2012", "frank-wolfe-2012"]
PAPERS: tuple[str, ...] = get_args(Paper)

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
AtLeastOne = Annotated[int, Field(ge=1)]


def _bytes(memory: Any) -> Any:
    return ByteSize._validate(memory, None) if isinstance(memory, str) else memory  # type: ignore[arg-type]


Memory = Annotated[ByteSize, Field(gt=0), BeforeValidator(_bytes)]  #: bytes, or words such as 4 GB


def memory(text: str, option: str) -> int:
    """Read a size as an option gives it: ``200MB``.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        return TypeAdapter(Memory).validate_python(text)
    except ValidationError:
        raise ConfigError(f"{option} {text}: must be a size above 0, such as 200MB") from None


class Strict(BaseModel):
    """Refuses unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KernelOptions(Strict):
    """``normalize: true``, for any kernel, is K(a, b) / sqrt(K(a, a) K(b, b)): the cosine in feature space."""

    normalize: bool | None = None


class LinearKernel(KernelOptions):
    """K(a, b) = a.b."""


def _number_or_rule(number: Any) -> Any:
    rules = ("over-features", "over-mean-squared-distance")
    given = number
    if isinstance(number, Mapping):
        if len(number) != 1 or next(iter(number)) not in rules:
            raise ValueError(f"must be a number or one of {{{rules[0]}: 4}}, {{{rules[1]}: 2}}")
        given = next(iter(number.values()))
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < float("inf"):
        raise ValueError(f"must be greater than 0, not {given!r}")
    return number


#: a number, or ``{over-features: g}``, g / d, or ``{over-mean-squared-distance: g}``, g over the mean squared
#: distance of two training rows
Scale = Annotated[Any, AfterValidator(_number_or_rule)]


class GaussianKernel(KernelOptions):
    """K(a, b) = exp(-gamma ||a - b||^2), by gamma or by sigma2 = 1 / (2 gamma); K(a, a) is 1 anyway."""

    gamma: Scale = None
    sigma2: Positive | None = None

    @model_validator(mode="after")
    def _one_width(self) -> GaussianKernel:
        if (self.gamma is None) == (self.sigma2 is None):
            raise ValueError("give either gamma or sigma2")
        return self


class PolynomialKernel(KernelOptions):
    """K(a, b) = (scale a.b + offset)^degree."""

    degree: AtLeastOne
    scale: Scale = 1.0
    offset: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


KERNELS: dict[str, type[Strict]] = {
    "linear": LinearKernel,
    "gaussian": GaussianKernel,
    "polynomial": PolynomialKernel,
}


class SecondsOf(Strict):
    """``factor`` times the seconds that ``solver`` takes on the same data, with the same kernel and seed."""

    solver: str
    factor: Positive


class Stop(Strict):
    """What ends a run besides the solver's own rule; whichever comes first.

    ``gap`` is certified by the solver's own dual variables, ``deviation`` is the objective's from the reference
    optimum (``reference: true``); both are looked at at checkpoints. ``seconds_of`` does not hold
    for the solver it names.
    """

    gap: Positive | None = None
    deviation: Positive | None = None
    passes: Positive | None = None
    seconds: Positive | None = None
    seconds_of: SecondsOf | None = None
    kernel_evaluations: Positive | None = None


class Limits(Strict):
    """What a run may never exceed: its process is ended and the row says so."""

    seconds: Positive | None = None
    memory: Memory | None = None


class Checkpoints(Strict):
    """When the model is evaluated: at geometrically growing numbers of passes, off the clock."""

    first: Positive = 0.1
    per_decade: Annotated[int, Field(ge=1, le=1000)] = 8


class Budget(Strict):
    """How many vectors a budgeted solver may keep; a list is swept."""

    vectors: list[AtLeastOne]

    @field_validator("vectors", mode="before")
    @classmethod
    def _list(cls, vectors: Any) -> Any:
        return vectors if isinstance(vectors, list) else [vectors]


class Tune(Strict):
    """How the values of ``tune:`` are tried; its other keys are parameters with the values to try.

    Exactly one of: ``holdout``, the part of the training rows that is held out; ``folds``, how many parts are held out
    in turn; ``on_test_set``, the test rows themselves, whose errors are then too good. ``repeats``: with how many
    seeds. ``metric``: what is smallest on average for the value chosen. ``with``: one solver with its parameters whose
    choice holds for all.
    """

    holdout: Annotated[float, Field(gt=0, lt=1)] | None = None
    folds: Annotated[int, Field(ge=2)] | None = None
    on_test_set: bool = False
    repeats: AtLeastOne = 1
    metric: Literal["error", "online_error"] = "error"
    tuner: Any = Field(default=None, alias="with")

    def trials(self) -> tuple[Trial, ...]:
        """Give rows and seeds that every value is tried on and with; none, or too many, if it is not said how."""
        parts = tuple(Trial(folds=self.folds, fold=fold) for fold in range(self.folds or 0))
        held = (Trial(holdout=self.holdout),) if self.holdout is not None else ()
        rows = (*parts, *held, *((Trial(on_test_set=True),) if self.on_test_set else ()))
        return tuple(replace(each, seed=seed) for seed in range(self.repeats) for each in rows)


class File(Strict):
    """The keys of a config file."""

    version: int = FORMAT_VERSION
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    description: str = ""
    dataset: Any = None
    datasets: list[Any] | None = None
    kernel: Any = "linear"
    repeats: Annotated[int, Field(ge=1, le=100_000)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    solvers: Annotated[list[Any], Field(min_length=1)]
    budget: Budget | None = None
    tune: Any = None
    stop: Stop = Stop()
    limits: Limits = Limits()
    checkpoints: Checkpoints = Checkpoints()
    threads: AtLeastOne = 1
    kernel_memory: Memory | None = None
    reference: bool = False
    paper: Paper | None = None
    published: str | None = None
    compare: dict[str, dict[str, Rule]] = {}
    known: list[Known] = []
    claims: list[Claim] = []
    plugins: list[str] = []
    profiles: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class DatasetChoice:
    """A dataset as a config names it: the card, the options that override it, the label in tables, its classes.

    Of a sweep over ``splits`` every split of the classes is one such choice, and ``split`` names its positive classes.
    """

    name: str
    options: Mapping[str, Any]
    label: str
    classes: tuple[str, ...]
    split: str = ""


@dataclass(frozen=True)
class KernelChoice:
    """A kernel as a config names it; what depends on the data is settled when they are there."""

    name: str = "linear"
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}{_in_brackets(self.parameters)}"

    def made(self, settle: Callable[[Any], float]) -> Kernel:
        """Make the kernel; ``settle`` turns a `Scale` into a number."""
        from mpu_bench.core.kernels import Gaussian, Linear, Polynomial

        given, normalize = self.parameters, bool(self.parameters.get("normalize", False))
        if self.name == "linear":
            return Polynomial(1.0, 0.0, 1, normalize) if normalize else Linear()
        if self.name == "polynomial":
            return Polynomial(settle(given["scale"]), float(given["offset"]), int(given["degree"]), normalize)
        return Gaussian(0.5 / given["sigma2"] if "sigma2" in given else settle(given["gamma"]))


@dataclass(frozen=True)
class Trial:
    """What a value is tried on: a part held out, one of k folds, or the test rows after training on all; the seed."""

    holdout: float | None = None
    folds: int | None = None
    fold: int = 0
    on_test_set: bool = False
    seed: int = 0

    def __str__(self) -> str:
        if self.on_test_set:
            return "test set"
        return f"fold {self.fold + 1} of {self.folds}" if self.folds is not None else f"hold-out {self.holdout:g}"


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
    trials: tuple[Trial, ...]
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
        return f"{values}; {self.metric.replace('_', ' ')} of {self.solver} on {rows}{repeated}"


@dataclass(frozen=True)
class SolverChoice:
    """A solver with one value for each of its parameters, on all datasets or on the one of a label.

    What is to be tuned is left out of its parameters and of those of the kernel.
    """

    name: str
    parameters: Mapping[str, Any]
    kernel: KernelChoice
    vectors: int | None = None
    only_for: str | None = None
    tuning: Tuning | None = None


@dataclass(frozen=True)
class Experiment:
    """What a config file says, checked and with every sweep written out.

    ``paper`` is the one whose table or figure it is, ``options`` are the words of a command that changed the config,
    ``profiles`` what else it could have been.
    """

    name: str
    source: str
    description: str
    datasets: tuple[DatasetChoice, ...]
    solvers: tuple[SolverChoice, ...]
    seeds: tuple[int, ...]
    stop: Stop
    limits: Limits
    checkpoints: Checkpoints
    threads: int
    kernel_memory: int | None
    reference: bool
    published: str | None
    judging: Judging
    plugins: tuple[Path, ...]
    paper: str | None
    options: tuple[str, ...]
    profiles: tuple[str, ...]


OVER_EXAMPLES = "over-examples"  #: ``{over-examples: 2}`` is 2 / n, for a solver's parameter
FROM_REGULARIZATION = "from-regularization"  #: ``nu: {from-regularization: 0.1}`` is nu of the optimum at lambda 0.1

_DIVISORS = {OVER_EXAMPLES: "n", "over-features": "d", "over-mean-squared-distance": "mean squared distance"}


def _in_brackets(parameters: Mapping[str, Any]) -> str:
    if not parameters:
        return ""
    return "(" + ", ".join(f"{name}={short(value)}" for name, value in parameters.items()) + ")"


def short(value: Any) -> str:
    """Write a parameter's value briefly: ``1e-05``, ``4/d`` for ``{over-features: 4}``, or ``nu(1/n)`` if derived."""
    if isinstance(value, Mapping) and FROM_REGULARIZATION in value:
        return f"nu({short(value[FROM_REGULARIZATION])})"
    if isinstance(value, Mapping):
        return ", ".join(f"{short(each)}/{_DIVISORS.get(name, name)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
