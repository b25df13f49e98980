"""The words of a config and their types, one class for each kind of thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import (
    ByteSize,
    Field,
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

FORMAT_VERSION: Final = 1
Paper = Literal["mpu-2010", "forgetron-2005", "bpegasos-2010", "sbp-2012", "frank-wolfe-2012"]
Placement = Literal["together", "spread"]
PAPERS: tuple[str, ...] = get_args(Paper)

#: words of earlier versions -> what they are called now
RENAMED = {
    "reference": "optimum",
    "kernel-reference": "kernel-optimum",
    "deviation": "suboptimality",
    "splits": "bipartitions",
    "compare": "published",
    "known": "explained",
}

AtLeastOne = Annotated[int, Field(ge=1, le=bounds.LARGEST_COUNT)]
Repeats = Annotated[int, Field(ge=1, le=bounds.MOST_REPEATS)]
Seconds = Annotated[float, Field(gt=0, le=bounds.MOST_SECONDS)]
Passes = Annotated[float, Field(gt=0, le=bounds.MOST_PASSES)]

_ANY_SIZE = TypeAdapter(ByteSize)


def _bytes(memory: Any, check: Callable[[Any], Any]) -> Any:
    if not isinstance(memory, str):
        return check(memory)
    try:
        count = _ANY_SIZE.validate_python(memory)  # not strict about words
    except (ValidationError, OverflowError):  # the latter of pydantic before 2.14
        raise ValueError("must be a number of bytes, or a number and a unit such as 4 GB") from None
    return check(count)


#: bytes, or words such as 4 GB
Memory = Annotated[
    ByteSize,
    Field(gt=0, le=bounds.MOST_MEMORY_BYTES),
    WrapValidator(_bytes),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^[0-9.]+ *[A-Za-z]*$"}]}
    ),
]


class SecondsOf(Strict):
    """``factor`` times the seconds that ``solver`` takes on the same data, with the same kernel and seed."""

    solver: str
    factor: Positive


class Stop(Strict):
    """What ends a run besides the solver's own rule; whichever comes first. Peers that train in one piece heed none.

    ``gap`` is certified by the solver's own dual variables, ``suboptimality`` is the objective over the optimum, less 1
    (``optimum: true``); both are looked at at checkpoints. ``seconds_of`` does not hold for the solver it names.
    """

    gap: Positive | None = None
    suboptimality: Positive | None = None
    passes: Passes | None = None
    seconds: Seconds | None = None
    seconds_of: SecondsOf | None = None
    kernel_evaluations: Annotated[float, Field(gt=0, le=bounds.MOST_EVALUATIONS)] | None = None


class Limits(Strict):
    """What a run may never exceed: its process is ended and the row says so."""

    seconds: Seconds | None = None
    memory: Memory | None = None


class Checkpoints(Strict):
    """When the model is evaluated: at geometrically growing numbers of passes, off the clock."""

    first: Passes = 0.1
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
    folds: Annotated[int, Field(ge=2, le=bounds.MOST_RUNS)] | None = None
    on_test_set: bool = False
    repeats: Repeats = 1
    metric: Literal["error", "online_error"] = "error"
    tuner: Any = Field(default=None, alias="with")

    @model_validator(mode="after")
    def _says_on_what(self) -> Tune:
        if (self.holdout is not None) + (self.folds is not None) + self.on_test_set != 1:
            raise ValueError("say on what, by one of holdout: 0.3, folds: 5, or on_test_set: true")
        return self


#: folders among results that are no experiment's: of `report`, of what `check` compares with, of `reproduce`
RESERVED = ("page", "baseline", "tables")


class File(Judging):
    """The keys of a config file."""

    version: Literal[1] = FORMAT_VERSION
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
    description: str = ""
    dataset: Any = None
    datasets: Annotated[list[Any], Field(min_length=1, max_length=bounds.MOST_ENTRIES)] | None = None
    kernel: Any = "linear"
    repeats: Repeats = 1
    seed: Annotated[int, Field(ge=0, le=bounds.LARGEST_SEED)] = 0
    solvers: Annotated[list[Any], Field(min_length=1, max_length=bounds.MOST_ENTRIES)]
    budget: Budget | None = None
    tune: Any = None
    stop: Stop = Stop()
    limits: Limits = Limits()
    checkpoints: Checkpoints = Checkpoints()
    threads: Annotated[int, Field(ge=1, le=bounds.MOST_THREADS)] = 1
    kernel_memory: Memory | None = None
    kernel_matrix: Literal["own", "shared"] = "own"
    placement: Placement | None = None
    optimum: bool = False
    paper: Paper | None = None
    figures: Annotated[list[Drawing], Field(max_length=bounds.MOST_ENTRIES)] = []
    plugins: Annotated[list[str], Field(max_length=bounds.MOST_ENTRIES)] = []
    profiles: dict[str, dict[str, Any]] = {}

    @field_validator("name")
    @classmethod
    def _names_no_folder_of_others(cls, name: str) -> str:
        if name.lower() in RESERVED:
            raise ValueError(f"'{name}' is reserved for the folder results/{name.lower()}; choose another name")
        return name

    @model_validator(mode="after")
    def _has_seconds_of_one_machine(self) -> File:
        if self.placement == "spread" and self.stop.seconds_of is not None:
            raise MisfitError("placement", "must be together: seconds_of gives runs the seconds of others beside them")
        return self

    @model_validator(mode="after")
    def _names_datasets(self) -> File:
        if (self.dataset is None) == (self.datasets is None):
            raise ValueError("give either dataset: NAME or datasets: [NAME, ...]")
        return self
