"""A results folder as its readers see it: one with its database, or one that is kept as CSV, as in results/baseline.

What a kept folder lacks is empty: one of an earlier version has no curves, and no column that came later. How the
results of a config that comes with the project are judged is read from that config, as it is today.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from mpu_bench import resources
from mpu_bench.config.read import read_without_plugins
from mpu_bench.errors import StoreError
from mpu_bench.files import read_csv
from mpu_bench.quantities import FINISHED, RECORD_COLUMNS
from mpu_bench.results.curves import MEAN_CURVE_TYPES, curves_of, mean_curves
from mpu_bench.results.store import FILE, Store
from mpu_bench.results.summary import Summary

#: of a kept folder
ABOUT, RUNS, CURVES, MACHINES = "about.json", "runs.csv", "mean_curves.csv.xz", "environment.json"


class ResultsFolder(ABC):
    """The results of one experiment, to read."""

    is_kept: ClassVar[bool] = False  #: CSV without a database

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.fact("name") or self.folder.name

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is known of the experiment, such as its ``config``, ``paper`` and ``options``."""
        own = self._own_facts()
        return own | _judged_by(own)

    @abstractmethod
    def _own_facts(self) -> dict[str, Any]:
        """Return the facts that the folder holds."""

    def fact(self, name: str) -> Any:
        """Return one of the facts, or None."""
        return self.facts.get(name)

    @abstractmethod
    def records(self, *, earlier: bool = False) -> list[dict[str, Any]]:
        """Return the planned runs in order, each with its result or as ``not run``, with all `RECORD_COLUMNS`.

        With ``earlier``, behind them the finished runs that only an earlier plan has.
        """

    @abstractmethod
    def curves(self) -> list[Summary]:
        """Return the rows of curves.csv; kept folders have none."""

    @abstractmethod
    def mean_curves(self) -> list[Summary]:
        """Return the rows of mean_curves.csv."""

    @abstractmethod
    def environments(self) -> list[dict[str, Any]]:
        """Return the machines and versions that the runs were made on."""

    def finished(self) -> list[dict[str, Any]]:
        """Return the runs that have a result."""
        return [record for record in self.records() if record["status"] in FINISHED]


class _WithDatabase(ResultsFolder):
    def __init__(self, store: Store) -> None:
        super().__init__(store.folder)
        self._store = store

    def _own_facts(self) -> dict[str, Any]:
        return self._store.facts()

    def records(self, *, earlier: bool = False) -> list[dict[str, Any]]:
        return self._store.records(earlier=earlier)

    def curves(self) -> list[Summary]:
        return self._curves

    @cached_property
    def _curves(self) -> list[Summary]:
        return curves_of(self._store)

    def mean_curves(self) -> list[Summary]:
        return self._mean_curves

    @cached_property
    def _mean_curves(self) -> list[Summary]:
        return mean_curves(self.curves())

    def environments(self) -> list[dict[str, Any]]:
        return self._store.environments()


class _Kept(ResultsFolder):
    is_kept = True

    def _own_facts(self) -> dict[str, Any]:
        path = self.folder / ABOUT
        return _json(path) if path.is_file() else {}

    def records(self, *, earlier: bool = False) -> list[dict[str, Any]]:  # noqa: ARG002 - none is kept of those
        types = {name: column.typed for name, column in RECORD_COLUMNS.items()}
        needed = ("dataset", "solver", "parameters", "kernel", "seed", "status", "test_error", "run_id")
        return [row | {"reason": row["reason"] or ""} for row in read_csv(self.folder / RUNS, types, needed)]

    def curves(self) -> list[Summary]:
        return []

    def mean_curves(self) -> list[Summary]:
        return self._mean_curves

    @cached_property
    def _mean_curves(self) -> list[Summary]:
        path = self.folder / CURVES
        return read_csv(path, MEAN_CURVE_TYPES, ("dataset", "solver", "presented")) if path.is_file() else []

    def environments(self) -> list[dict[str, Any]]:
        path = self.folder / MACHINES
        machines: list[dict[str, Any]] = _json(path).get("machines", []) if path.is_file() else []
        return machines


@contextmanager
def open_results(folder: Path) -> Iterator[ResultsFolder]:
    """Open a results folder for reading.

    Raises
    ------
    StoreError
        If it holds no results, those of another version, or damaged ones.
    """
    if not (folder / FILE).is_file() and (folder / RUNS).is_file():
        yield _Kept(folder)
        return
    with Store(folder) as store:
        yield _WithDatabase(store)


def _judged_by(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts that today's config has on how its results are judged; none where it is not shipped."""
    path = resources.bundled("configs") / f"{facts.get('config')}.yaml"
    if not path.is_file():
        return {}
    options = facts.get("options") or []
    profile = options[options.index("--profile") + 1] if "--profile" in options else None
    experiment = read_without_plugins(path, profile=profile)
    judging = experiment.judging.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {"judging": judging}


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise StoreError(f"{path}: cannot be read: it holds no keys")
    return content
