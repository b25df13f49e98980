"""A results folder as its readers see it: one with its database, or one that is kept as CSV, as in results/baseline.

What a kept folder lacks is empty: one of an earlier version has no curves, and no column that came later. How the
results of a config that comes with the project are judged and drawn is read from that config, as it is today.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from mpu_bench import resources
from mpu_bench.config.drawings import Drawing, check_drawings
from mpu_bench.config.read import read_shown
from mpu_bench.config.rules import Judging, check_judging
from mpu_bench.document import Document
from mpu_bench.errors import StoreError
from mpu_bench.files import is_file, read_bounded, read_csv
from mpu_bench.quantities import RECORD_COLUMNS, Record
from mpu_bench.results import rows
from mpu_bench.results.machines import with_fastest
from mpu_bench.results.means import (
    IDENTITY,
    MEAN_CURVE_TYPES,
    Summary,
    curve_identity,
    curves_of,
    mean_curve_of,
    mean_curves,
)
from mpu_bench.results.rows import DamagedError
from mpu_bench.results.store import ABOUT, FILE, Store

BASELINE = "baseline"  #: the folder among results that holds the project's own last numbers
#: of a kept folder
RUNS, CURVES, MACHINES = "runs.csv", "mean_curves.csv.xz", "environment.json"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")  # of an experiment: that of a folder, too

_MAX_JSON_BYTES = 2**26

_T = TypeVar("_T")


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
        """What is known of the experiment, such as its ``config``, ``paper`` and ``options``.

        Raises
        ------
        StoreError
            If they are of another shape, or name what does not exist.
        """
        stored = self._own_facts()
        facts = stored | {"config": _as_typed_here(stored.get("config"))} | _judged_by(stored)
        _check_facts(facts, self.folder)
        return facts

    @abstractmethod
    def _own_facts(self) -> dict[str, Any]:
        """Return the facts that the folder holds."""

    def fact(self, name: str) -> Any:
        """Return one of the facts, or None."""
        return self.facts.get(name)

    def records(self, *, earlier: bool = False) -> list[Record]:
        """Return the planned runs in order, each with its result or as ``not run``.

        With ``earlier``, behind them the finished runs that only an earlier plan has. They are read once: what is made
        of them agrees, whatever runs meanwhile.
        """
        return [record for record in self._records if earlier or not record.earlier]

    @cached_property
    def _records(self) -> list[Record]:
        return with_fastest(self._read_records())

    @abstractmethod
    def _read_records(self) -> list[Record]:
        """Return all records, the earlier ones last."""

    @cached_property
    def curves(self) -> list[Record]:
        """The rows of curves.csv; kept folders have none."""
        return []

    @cached_property
    @abstractmethod
    def mean_curves(self) -> list[Summary]:
        """The rows of mean_curves.csv."""

    @abstractmethod
    def environments(self) -> list[dict[str, Any]]:
        """Return the machines and versions that the runs were made on."""

    def finished(self) -> list[Record]:
        """Return the runs that have a result."""
        return [record for record in self.records() if record.is_finished]


class _WithDatabase(ResultsFolder):
    def __init__(self, store: Store) -> None:
        super().__init__(store.folder)
        self._store = store

    def _own_facts(self) -> dict[str, Any]:
        return self._store.facts()

    def _read_records(self) -> list[Record]:
        return self._store.records(earlier=True)

    @cached_property
    def curves(self) -> list[Record]:
        return curves_of(self.records(), dict(self._store.checkpoints()))

    @cached_property
    def mean_curves(self) -> list[Summary]:
        finished = {record.run_id for record in self.finished()}
        return mean_curves([point for point in self.curves if point.run_id in finished])

    def environments(self) -> list[dict[str, Any]]:
        return self._store.environments()


class _Kept(ResultsFolder):
    is_kept = True

    def _own_facts(self) -> dict[str, Any]:
        return self._checked(ABOUT, rows.checked_facts, self._json(ABOUT))

    def _read_records(self) -> list[Record]:
        types = {name: column.of_text for name, column in RECORD_COLUMNS.items()}
        read = read_csv(self.folder / RUNS, types, (*rows.OF_PLAN, "status", "test_error", "run_id"))
        needed = (*rows.OF_PLAN, "status")
        records = [rows.of_before(self._checked(RUNS, partial(rows.record_of, needed=needed), row)) for row in read]
        seen = Counter((run.run_id, run.trial, *map(run.value, IDENTITY)) for run in records if run.run_id)
        if twice := [key[0] for key, count in seen.items() if count > 1]:  # as a merge of two versions leaves it
            raise StoreError(f"{self.folder / RUNS}: cannot be read: run {twice[0]} is there twice; remove one row")
        return records

    @cached_property
    def mean_curves(self) -> list[Summary]:
        if not self._has(CURVES):
            return []
        read = read_csv(self.folder / CURVES, MEAN_CURVE_TYPES, ("dataset", "solver", "presented"))
        points = [self._checked(CURVES, _point, row) for row in read]
        return points if any(point.tuned for point in points) else _with_tuned(points, self.records())

    def environments(self) -> list[dict[str, Any]]:
        machines = self._json(MACHINES).get("machines", [])
        if not isinstance(machines, list):
            raise StoreError(f"{self.folder / MACHINES}: cannot be read: 'machines' must be a list")
        return [self._checked(MACHINES, rows.checked_machine, machine) for machine in machines]

    def _has(self, name: str) -> bool:
        """Return whether there is something of this name, if only a link to nothing."""
        return os.path.lexists(self.folder / name)

    def _json(self, name: str) -> dict[str, Any]:
        """Return what a file holds; nothing where there is none."""
        if not self._has(name):
            return {}
        path = self.folder / name
        try:
            content = rows.parse(read_bounded(path, _MAX_JSON_BYTES, StoreError).decode())
        except ValueError as error:  # no text, or no JSON
            raise StoreError(f"{path}: cannot be read: {error}") from None
        if not isinstance(content, dict):
            raise StoreError(f"{path}: cannot be read: it holds no keys")
        return content

    def _checked(self, name: str, check: Callable[[Any], _T], content: Any) -> _T:
        try:
            return check(content)
        except DamagedError as damage:
            raise StoreError(f"{self.folder / name}: cannot be read: {damage}") from None


def _point(row: dict[str, Any]) -> Summary:
    rows.record_of(row, rows.OF_POINT)
    if row["count"] is None:
        raise DamagedError("'count' is missing")
    return mean_curve_of(row)


def _with_tuned(points: Sequence[Summary], records: Sequence[Record]) -> list[Summary]:
    """Return points of 0.3.0, which does not say what was tuned, with that of their runs."""
    tuned: dict[tuple[Any, ...], set[str | None]] = {}
    for record in records:
        if not record.trial:
            tuned.setdefault(curve_identity(record)[:-1], set()).add(record.tuned)
    every = (tuned.get(curve_identity(point)[:-1], set()) for point in points)
    of_points = [texts.pop() if len(texts) == 1 else None for texts in map(set, every)]
    return [replace(point, tuned=text) for point, text in zip(points, of_points, strict=True)]


@contextmanager
def open_results(folder: Path) -> Iterator[ResultsFolder]:
    """Open a results folder for reading.

    Raises
    ------
    StoreError
        If it holds no results, those of another version, or damaged ones.
    """
    if not os.path.lexists(folder / FILE) and is_file(folder / RUNS):
        yield _Kept(folder)
        return
    with Store(folder) as store:
        yield _WithDatabase(store)


def results_folders(below: Path, *, profiles: bool = True) -> list[Path]:
    """Return the results folders below a folder; where nothing was run, as in a fresh checkout, those of the baseline.

    Parameters
    ----------
    below : Path
    profiles : bool
        Of the baseline, those of configs with a profile as well.

    Raises
    ------
    StoreError
        If there is none.
    """
    results = sorted(path.parent for path in below.glob(f"*/{FILE}"))
    if not results:
        baseline = sorted(path.parent for path in below.glob(f"{BASELINE}/*/{RUNS}"))
        results = [folder for folder in baseline if profiles or folder.name in resources.config_names()]
    if not results:
        raise StoreError(f"{below}: holds no results; run a config first: mpu-bench run CONFIG")
    return results


def _as_typed_here(config: str | None) -> str | None:
    """Return what a config is called on the command line here: where it is elsewhere, only the name of its file.

    Its whole path may hold the name of a user, and says nothing on another machine.
    """
    if config is None or config in resources.config_names():
        return config
    path = Path(config)
    with suppress(RuntimeError, OSError, ValueError):
        path = (Path.cwd() / path.expanduser()).relative_to(Path.cwd())
        return path.as_posix() if ".." not in path.parts else path.name
    return path.name


def _judged_by(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what today's config says on how its results are judged and drawn; nothing where it is not shipped."""
    path = resources.config_path(facts.get("config") or "")
    if path is None:
        return {}
    options = facts.get("options") or []
    profiles = [profile for option, profile in pairwise(options) if option == "--profile"]
    judging = read_shown(path, profiles[0] if profiles else None).model_dump(
        mode="json", by_alias=True, exclude_unset=True
    )
    return {"figures": judging.pop("figures", []), "judging": judging}


def _check_facts(facts: dict[str, Any], folder: Path) -> None:
    document = Document(facts, str(folder), StoreError)
    name = facts.get("name")
    if name is not None and not _NAME.fullmatch(name):
        raise document["name"].error("is no name of an experiment")
    if (figures := document["figures"]).value is not None:
        check_drawings(figures.validated(list[Drawing]), figures, labels=None)
    judging = document["judging"]
    if judging.value is not None:  # a solver of somebody's own may have no file here
        check_judging(judging.validated(Judging), judging, labels=None, known=None)
