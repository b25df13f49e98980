"""The options with which experiments are run: each is one field here.

`mpu-bench run` and `reproduce` have an option for each; `mpu_bench.run`, `plan` and `reproduce` have a keyword. One
that is named as a key of configs overrides that key.
"""

from __future__ import annotations

import inspect
import json
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from mpu_bench.config.bounds import LARGEST_SEED, MAX_JOBS, MAX_REPEATS, MAX_THREADS
from mpu_bench.errors import ConfigError

if TYPE_CHECKING:
    from mpu_bench.config.read import Say
    from mpu_bench.data.download.cache import DataDirectory
    from mpu_bench.experiment.pool import Pool

_NO = {"", "0", "false", "no", "off", "f", "n", "none"}  #: any other word keeps the network out of bounds
_P = ParamSpec("_P")
_First = TypeVar("_First")
_Options = TypeVar("_Options", bound="Options")
_R = TypeVar("_R")


def option(default: Any, meaning: str, kind: Any = None, **typed: Any) -> Any:
    """Return a field that is an option.

    Parameters
    ----------
    default : object
    meaning : str
        What it does, for ``--help``.
    kind : type
        What the command line reads; that of the default, if that is no None. For programs alone: ``False``.
    **typed
        ``flag``, how it is written if not as its name; ``min``, ``max``, ``metavar`` and others as typer has them.
    """
    return field(default=default, metadata={"help": meaning, "kind": type(default) if kind is None else kind} | typed)


@dataclass(frozen=True, kw_only=True)
class FolderOptions:
    """Where data are."""

    data: Path | str | None = option(
        None,
        "The data directory. By default MPU_BENCH_DATA, or your user data folder.",
        Path | None,
        metavar="DIR",
        show_default=False,
    )

    @property
    def home(self) -> DataDirectory:
        """The data directory."""
        return self._home(None, True)

    def _home(self, mirror: str | None, offline: bool) -> DataDirectory:
        from mpu_bench.data.download.cache import DataDirectory

        return DataDirectory.from_options(None if self.data is None else Path(self.data), mirror, offline)


@dataclass(frozen=True, kw_only=True)
class DataOptions(FolderOptions):
    """Where data are, and where they come from."""

    mirror: str | None = option(
        None,
        "A mirror to try first for data files. By default MPU_BENCH_MIRROR.",
        str | None,
        metavar="URL|DIR",
        show_default=False,
    )
    offline: bool | None = option(
        None, "Do not use the network. By default MPU_BENCH_OFFLINE decides.", bool, show_default=False
    )

    @property
    def home(self) -> DataDirectory:
        """The data directory."""
        by_default = os.environ.get("MPU_BENCH_OFFLINE", "").strip().lower() not in _NO
        return self._home(self.mirror, by_default if self.offline is None else self.offline)


@dataclass(frozen=True, kw_only=True)
class Options(DataOptions):
    """Where and how runs are executed, and where their results go."""

    profile: str | None = option(None, "Use this profile of the config, such as ci.", str | None, metavar="NAME")
    jobs: int = option(
        1, "The number of parallel runs. They share the machine, so training takes longer.",
        min=1, max=MAX_JOBS, metavar="N",
    )  # fmt: skip
    cluster: str | None = option(
        None,
        "Run on a Dask cluster: the address of its scheduler, its scheduler file, or local:N.",
        str | None,
        metavar="ADDRESS",
    )
    jobs_per_worker: int = option(
        1, "The number of parallel runs on each worker of the cluster.", min=1, max=MAX_JOBS, metavar="N"
    )
    send_data: bool = option(False, "Send prepared data to the cluster. By default each machine downloads it.")
    results: Path | str = option(
        Path("results"), "The results folder: experiment X goes to DIR/X.", Path, metavar="DIR"
    )
    progress: bool = option(False, "Print on stderr what the command prints: a line per run, and remarks.", False)

    def __post_init__(self) -> None:
        """Make what programs give (whole numbers and paths of any type) what the command line gives.

        Raises
        ------
        ConfigError
            Which names the option that is wrong, or means nothing beside the others.
        """
        for declared in fields(self):
            value, limit, kind = getattr(self, declared.name), declared.metadata.get("max"), declared.metadata["kind"]
            if value is not None and limit is not None:
                object.__setattr__(
                    self, declared.name, _whole(declared.name, value, range(declared.metadata["min"], limit + 1))
                )
            elif value is not None and kind in (Path, Path | None):
                object.__setattr__(self, declared.name, path_of(declared.name, value))
            elif value is not None and kind in (str, str | None):
                object.__setattr__(self, declared.name, str(value))
            elif kind in (bool, False) and value not in (None, False, True):
                raise ConfigError(f"{declared.name} is {value!r}; it must be True or False")
        self._check_cluster()

    @property
    def folder(self) -> Path:
        """Where results are kept."""
        return Path(self.results)

    def _check_cluster(self) -> None:
        """Reject options that mean nothing without a cluster, or with one."""
        from mpu_bench.experiment.pool.cluster.connect import scheduler_of

        if self.cluster is None and (self.jobs_per_worker > 1 or self.send_data):
            flag = "--send-data" if self.send_data else "--jobs-per-worker"
            raise ConfigError(f"{flag}: applies to a cluster; give --cluster, too")
        if self.cluster is not None:
            if self.jobs > 1:
                raise ConfigError(
                    f"--jobs {self.jobs}: applies to this machine; with --cluster use --jobs-per-worker {self.jobs}"
                )
            scheduler_of(self.cluster)

    def pool(self, say: Say, threads: int = 1) -> AbstractContextManager[Pool]:
        """Return what makes the runs: workers of this machine, or a cluster, whose news go to ``say``."""
        from mpu_bench.experiment.pool.cluster.connect import pool_of
        from mpu_bench.experiment.pool.local import LocalPool

        if self.cluster is None:
            return LocalPool(self.jobs, threads)
        slots, send_data = self.jobs_per_worker, self.send_data
        return pool_of(self.cluster, self.home.folder, say, slots=slots, send_data=send_data)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """The options with which an experiment is run."""

    settings: Mapping[str, Any] | Sequence[str] = option(
        (), "Override a key of the config: stop.seconds=5 (repeatable).", list[str] | None,
        flag="--set", metavar="KEY=VALUE",
    )  # fmt: skip
    only: Mapping[str, Any] | Sequence[str] = option(
        (), "Run only matching runs: solver=mpu, dataset=adult (repeatable).", list[str] | None, metavar="KEY=VALUE"
    )
    seed: int | None = option(None, "The first seed.", int | None, min=0, max=LARGEST_SEED, metavar="N")
    repeats: int | None = option(None, "The number of seeds.", int | None, min=1, max=MAX_REPEATS, metavar="N")
    threads: int | None = option(
        None, "The number of threads per run.", int | None, min=1, max=MAX_THREADS, metavar="N"
    )
    kernel_memory: str | None = option(
        None,
        "Memory for cached kernel values, such as 2GB. By default half of limits.memory, or of the free memory.",
        str | None,
        metavar="SIZE",
    )
    force: bool = option(False, "Re-run even if a result exists.")
    save_models: bool = option(False, "Save the model of every run, in the folder models of its results.")

    def __post_init__(self) -> None:
        """Write what may be a mapping as the command line has it: ``KEY=VALUE``."""
        from mpu_bench.yaml_text import as_in_file

        super().__post_init__()
        object.__setattr__(
            self,
            "settings",
            _pairs("settings", self.settings, lambda one: json.dumps(as_in_file(one), ensure_ascii=False)),
        )
        object.__setattr__(self, "only", _pairs("only", self.only, _one_of))


@dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Options):
    """The options with which the papers are reproduced."""

    data_limit: str = option("200MB", "Do not download files larger than this.", metavar="SIZE")
    out: Path | str | None = option(
        None, "The folder for the tables. By default tables in the results folder.", Path | None, metavar="DIR"
    )
    force: bool = field(init=False, default=False, metadata={"kind": False})  # what has a result is kept
    save_models: bool = field(init=False, default=False, metadata={"kind": False})

    def __post_init__(self) -> None:
        """Reject a limit that is not a size."""
        from mpu_bench.config.schema import bytes_of

        super().__post_init__()
        bytes_of(self.data_limit, "--data-limit")

    @property
    def tables(self) -> Path:
        """The folder of the tables."""
        return Path(self.out or self.folder / "tables")

    @property
    def home(self) -> DataDirectory:
        """The data directory, with the limit of what is fetched."""
        from mpu_bench.config.schema import bytes_of

        return replace(super().home, limit=bytes_of(self.data_limit, "--data-limit"))


def keywords(
    options: Callable[_P, _Options],
) -> Callable[[Callable[[_First, _Options], _R]], Callable[Concatenate[_First, _P], _R]]:
    """Let a function that takes options of a class take each as a keyword."""

    def with_keywords(function: Callable[[_First, _Options], _R]) -> Callable[Concatenate[_First, _P], _R]:
        first = next(iter(inspect.signature(function).parameters.values()))
        signature = inspect.Signature([first, *inspect.signature(options).parameters.values()])

        @wraps(function)
        def call(*arguments: Any, **values: Any) -> _R:
            named = signature.bind(*arguments, **values).arguments
            return function(named.pop(first.name), options(**named))  # type: ignore[call-arg]

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return with_keywords


def path_of(name: str, value: Any) -> Path:
    """Return a path of whatever type as Python's own."""
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name} is {value!r}; it must be a path")
    return Path(value)


def _whole(name: str, value: Any, allowed: range) -> int:
    """Return a whole number of whatever type as Python's own."""
    count = None
    if not isinstance(value, bool):
        with suppress(TypeError):
            count = operator.index(value)
    if count not in allowed:
        raise ConfigError(f"{name}: must be a whole number from {allowed[0]} to {allowed[-1]}, not {value!r}")
    return count  # type: ignore[return-value]


def _pairs(keyword: str, values: Mapping[str, Any] | Sequence[str] | None, text: Callable[[Any], str]) -> list[str]:
    try:
        if isinstance(values, Mapping):
            return [f"{key}={text(value)}" for key, value in values.items()]
        return [values] if isinstance(values, str) else [*map(str, values or ())]
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{keyword}: holds what no YAML file can: {error}") from None


def _one_of(value: Any) -> str:
    """Return one value, or several of which any will do, as ``--only`` takes them."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
