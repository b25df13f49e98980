"""The keys of a config and their types, one class for each kind of value.

Datasets, kernels and solvers may have any name here: `sweep` checks each entry against the parameters of its name once
its lists are expanded, and `json_schema` puts the existing names into these types.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Generic, Literal, Self, TypeVar, Union, get_args

from pydantic import (
    ByteSize,
    ConfigDict,
    Discriminator,
    Field,
    SkipValidation,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    field_validator,
    model_validator,
)

from mpu_bench.config import bounds
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.rules import Judging
from mpu_bench.document import MisfitError, Positive, Strict
from mpu_bench.errors import ConfigError

FORMAT_VERSION: Final = 1
Paper = Literal["mpu-2010", "forgetron-2005", "bpegasos-2010", "sbp-2012", "frank-wolfe-2012"]
Placement = Literal["together", "spread"]
PAPERS: tuple[str, ...] = get_args(Paper)

#: names of earlier versions -> the names now
RENAMED = {
    "reference": "optimum",
    "kernel-reference": "kernel-optimum",
    "deviation": "suboptimality",
    "splits": "bipartitions",
    "compare": "published",
    "known": "explained",
}

AtLeastOne = Annotated[int, Field(ge=1, le=bounds.LARGEST_COUNT)]
Repeats = Annotated[int, Field(ge=1, le=bounds.MAX_REPEATS)]
Seconds = Annotated[float, Field(gt=0, le=bounds.MAX_SECONDS)]
Passes = Annotated[float, Field(gt=0, le=bounds.MAX_PASSES)]

_ANY_SIZE = TypeAdapter(ByteSize)


def _bytes(memory: Any, check: Callable[[Any], Any]) -> Any:
    try:
        count = _ANY_SIZE.validate_python(memory, strict=not isinstance(memory, str))  # words of a size are no integer
    except (ValidationError, OverflowError):  # the latter of pydantic before 2.14
        raise ValueError("must be a number of bytes, or a number and a unit such as 4 GB") from None
    return check(count)


#: bytes, or words such as 4 GB
Memory = Annotated[
    ByteSize,
    Field(gt=0, le=bounds.MAX_MEMORY_BYTES),
    WrapValidator(_bytes),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^[0-9.]+ *[A-Za-z]*$"}]}
    ),
]


_MEMORY = TypeAdapter[int](Memory)


def bytes_of(text: str, option: str) -> int:
    """Return the bytes of a size as an option has it: ``200MB``.

    Raises
    ------
    ConfigError
        If it is not a size.
    """
    try:
        return _MEMORY.validate_python(text)
    except ValidationError:
        raise ConfigError(f"{option} {text}: must be a size above 0, such as 200MB") from None


_V = TypeVar("_V")

#: a value, or a list of values that is swept
Swept = Union[_V, Annotated[list[_V], Field(min_length=1)]]  # noqa: UP007 - what mypy takes for generic
#: the name of a dataset, kernel or solver; or that with its options
Named = str | Annotated[dict[str, dict[str, Any] | None], Field(min_length=1, max_length=1)]


class PerDataset(Strict, Generic[_V]):
    """Values by dataset: ``{per-dataset: {adult: 0.06, otherwise: 0.1}}``."""

    values: dict[str, _V] = Field(alias="per-dataset")


class OverExamples(Strict):
    """A number over that of the training examples."""

    factor: Swept[Positive] = Field(alias="over-examples")


class FromRegularization(Strict):
    """The nu of the optimum at a regularization."""

    regularization: Swept[Positive | OverExamples] = Field(alias="from-regularization")


class RepeatsPerDataset(PerDataset[Repeats]):
    """The number of seeds by dataset."""

    @model_validator(mode="after")
    def _has_otherwise(self) -> Self:
        if "otherwise" not in self.values:
            raise ValueError("say how many otherwise, such as {per-dataset: {usps: 20, otherwise: 5}}")
        return self


Kernels = Swept[Named] | PerDataset[Swept[Named]]
_AnyRepeats = Annotated[
    Annotated[Repeats, Tag("number")] | Annotated[RepeatsPerDataset, Tag("by dataset")],
    Discriminator(lambda value: "by dataset" if isinstance(value, Mapping | PerDataset) else "number"),
]


class SecondsOf(Strict):
    """``factor`` times the seconds that ``solver`` takes on the same data, with the same kernel and seed."""

    solver: str
    factor: Positive


class Stop(Strict):
    """What ends a run besides the solver's own rule; whichever comes first. External solvers train in one piece.

    ``gap`` is certified by the solver's own dual variables, ``suboptimality`` is the objective over the optimum, less 1
    (``optimum: true``); both are looked at at checkpoints. ``seconds_of`` does not hold for the solver it names.
    """

    gap: Positive | None = None
    suboptimality: Positive | None = None
    passes: Passes | None = None
    seconds: Seconds | None = None
    seconds_of: SecondsOf | None = None
    kernel_evaluations: Annotated[float, Field(gt=0, le=bounds.MAX_EVALUATIONS)] | None = None

    @property
    def is_timed(self) -> bool:
        """Whether seconds end a run."""
        return self.seconds is not None or self.seconds_of is not None


class Limits(Strict):
    """What a run may never exceed: its process is ended and the row says so."""

    seconds: Seconds | None = None
    memory: Memory | None = None


class Checkpoints(Strict):
    """When the model is evaluated: at geometrically growing numbers of passes, off the clock."""

    first: Passes = 0.1
    per_decade: Annotated[int, Field(ge=1, le=1000)] = 8


class Budget(Strict):
    """How many support vectors a solver with a budget may keep; a list is swept."""

    vectors: Annotated[list[AtLeastOne], Field(min_length=1)]

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

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, SkipValidation[list[Any] | dict[str, list[Any]]]]

    holdout: Annotated[float, Field(gt=0, lt=1)] | None = None
    folds: Annotated[int, Field(ge=2, le=bounds.MAX_RUNS)] | None = None
    on_test_set: bool = False
    repeats: Repeats = 1
    metric: Literal["error", "online_error"] = "error"
    tuner: SkipValidation[Named | None] = Field(default=None, alias="with")

    @model_validator(mode="after")
    def _says_on_what(self) -> Self:
        if (self.holdout is not None) + (self.folds is not None) + self.on_test_set != 1:
            raise ValueError("needs a validation set: give one of holdout: 0.3, folds: 5, or on_test_set: true")
        return self


#: folders among results that are no experiment's: of `report`, of what `check` compares with, of `reproduce`
RESERVED = ("page", "baseline", "tables")


class File(Judging):
    """The keys of a config file."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["dataset"]}, {"required": ["datasets"]}]})

    version: Literal[1] = Field(FORMAT_VERSION, description="The version of the config format.")
    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        max_length=100,
        description="What the experiment is called; its results go to results/NAME, or results/NAME-PROFILE.",
    )
    description: str = Field("", description="What `mpu-bench list configs` says of it.")
    dataset: SkipValidation[Named | None] = Field(
        None,
        description="The dataset, by the name of its card, with options, or your file: {file: mine.csv}.",
    )
    datasets: list[SkipValidation[Named]] | None = Field(
        None, min_length=1, max_length=bounds.MAX_ENTRIES, description="Several datasets, in place of `dataset`."
    )
    kernel: SkipValidation[Kernels] = Field(
        "linear", description="The kernel of all solvers that take one; a list is swept."
    )
    repeats: _AnyRepeats = Field(
        1, description="How often each run is made, with seeds `seed`, `seed` + 1, ...; or a number for each dataset."
    )
    seed: int = Field(0, ge=0, le=bounds.LARGEST_SEED, description="The first seed.")
    solvers: list[SkipValidation[Named]] = Field(
        min_length=1,
        max_length=bounds.MAX_ENTRIES,
        description="The solvers with their parameters; a list of values is swept.",
    )
    budget: Budget | None = Field(
        None, description="How many support vectors the solvers with a budget may keep; a list is swept."
    )
    tune: SkipValidation[Tune | None] = Field(
        None, description="Values of parameters to try on held-out rows before the runs."
    )
    stop: Stop = Field(
        Stop(),
        description="What ends a run besides the solver's own rule; whichever comes first. External solvers "
        "train in one piece, to their end.",
    )
    limits: Limits = Field(
        Limits(), description="What a run may never exceed: its process is ended, and its row says so."
    )
    checkpoints: Checkpoints = Field(
        Checkpoints(), description="When a model is evaluated on the way, off the clock: the rows of curves.csv."
    )
    threads: int = Field(1, ge=1, le=bounds.MAX_THREADS, description="How many threads a run may use.")
    kernel_memory: Memory | None = Field(
        None,
        description="Memory for kernel values that are kept; half of limits.memory, or of what is free, by default.",
    )
    kernel_matrix: Literal["own", "shared"] = Field(
        "own",
        description="Whether runs compute kernel rows of their own, or share a matrix, computed off their clocks; on a "
        "cluster all compute their own.",
    )
    placement: Placement | None = Field(
        None,
        description="Of several machines: all solvers of a dataset and seed together on one, so that their seconds can "
        "be compared, or spread; together by default where stop says seconds.",
    )
    optimum: bool = Field(
        False, description="Solve every SVM to its optimum first, so that `suboptimality` can be measured."
    )
    paper: Paper | None = Field(
        None, description="The paper whose table or figure this is; `mpu-bench reproduce` runs such configs."
    )
    plugins: list[str] = Field(
        [],
        max_length=bounds.MAX_ENTRIES,
        description="Python files with your solvers, relative to the config. They are code: run what you trust.",
    )
    profiles: dict[str, dict[str, Any]] = Field(
        {}, description="Other forms of the experiment, by name: keys that override, such as solvers.mpu.C."
    )
    figures: list[Drawing] = Field(
        [],
        max_length=bounds.MAX_ENTRIES,
        description="The figures that plot and the pages draw, with their axes and panels; all that have data by "
        "default.",
    )

    @field_validator("name")
    @classmethod
    def _names_no_folder_of_others(cls, name: str) -> str:
        if name.lower() in RESERVED:
            raise ValueError(f"'{name}' is reserved for the folder results/{name.lower()}; choose another name")
        return name

    @model_validator(mode="after")
    def _has_seconds_of_one_machine(self) -> Self:
        if self.placement == "spread" and self.stop.seconds_of is not None:
            raise MisfitError("placement", "must be together: seconds_of gives runs the seconds of others beside them")
        return self

    @model_validator(mode="after")
    def _names_datasets(self) -> Self:
        if (self.dataset is None) == (self.datasets is None):
            raise ValueError("give either dataset: NAME or datasets: [NAME, ...]")
        return self
