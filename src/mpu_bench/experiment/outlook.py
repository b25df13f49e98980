"""What remains of an experiment: which runs have a result, how long the others take, and what is downloaded.

Nothing is fetched, prepared, run or written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mpu_bench.data.download.cache import DataDirectory, RemoteFile
from mpu_bench.data.download.fetch import obstacle
from mpu_bench.experiment.estimates import Estimate, Estimates, Expected
from mpu_bench.experiment.facts import check_config
from mpu_bench.experiment.plan import PlannedRun, inspect, needs_of, with_needed
from mpu_bench.experiment.runner import ChosenRuns, model_files, without_model
from mpu_bench.files import is_file
from mpu_bench.quantities import Record
from mpu_bench.results.store import FILE, Store, refuse_kept

HAS_RESULT, UNAVAILABLE, TO_DO = "has a result", "unavailable", "to do"


@dataclass(frozen=True)
class Outlook:
    """What remains to be done for an experiment.

    Attributes
    ----------
    runs : sequence of PlannedRun
        The requested ones, and those that they need.
    finished : set of str
        The keys of those that have a result.
    obstacles : dict
        Why data are unavailable, by the index of the run in ``runs``.
    expected : sequence of Expected
        What each run will take.
    stored_seconds : float
        Of training, of the stored results.
    """

    runs: Sequence[PlannedRun]
    finished: set[str]
    obstacles: dict[int, str]
    expected: Sequence[Expected]
    stored_seconds: float

    @classmethod
    def of(cls, chosen: ChosenRuns) -> Outlook:
        """Look at the chosen runs of an experiment, at its data and at its results folder; nothing is written."""
        home = chosen.options.home
        every = inspect(chosen.plan, home)
        records, finished = _results(chosen, every)
        sources = [(id(run.run), {} if run.unavailable else chosen.plan.needed(run.run)) for run in every]
        needs = {run: {kind: id(source) for kind, source in of_run.items()} for run, of_run in sources}
        selected = with_needed(map(id, chosen.runs), needs)
        planned = [run for run in every if id(run.run) in selected]
        estimates = Estimates(chosen.experiment, chosen.plan, records)
        stored = sum(row.train_seconds or 0.0 for row in records if row.is_finished)
        obstacles = _obstacles(planned, finished, home)
        expected = [estimates.expected(run.run) for run in planned]
        return cls(runs=planned, finished=finished, obstacles=obstacles, expected=expected, stored_seconds=stored)

    def state(self, index: int) -> str:
        """Return the state of a run: `HAS_RESULT`, `UNAVAILABLE` or `TO_DO`."""
        if self.runs[index].run_id in self.finished:
            return HAS_RESULT
        return UNAVAILABLE if index in self.obstacles else TO_DO

    @property
    def done(self) -> int:
        """How many runs have a result."""
        return sum(run.run_id in self.finished for run in self.runs)

    @cached_property
    def todo(self) -> list[int]:
        """The indices of the runs that can be executed and have no result; the first of those with one result."""
        indices = [index for index in reversed(range(len(self.runs))) if self.state(index) == TO_DO]
        return sorted({self.runs[index].run_id or index: index for index in indices}.values())

    @property
    def estimate(self) -> Estimate:
        """What the remaining runs take."""
        return Estimate.of([self.expected[index] for index in self.todo])

    @property
    def missing(self) -> dict[str, RemoteFile]:
        """The files that would be fetched, by their names."""
        described = [self.runs[index].description for index in self.todo]
        return {file.name: file for description in described if description is not None for file in description.missing}


def _results(chosen: ChosenRuns, planned: Sequence[PlannedRun]) -> tuple[list[Record], set[str]]:
    """Return the stored rows, and the keys of the planned runs that a run would keep; raise as it would."""
    refuse_kept(chosen.folder)
    if not is_file(chosen.folder / FILE):
        return [], set()
    with Store(chosen.folder) as store:
        check_config(chosen.experiment, store)
        finished = set() if chosen.options.force else store.finished(needs_of(planned, chosen.plan))
        return store.records(earlier=True), finished - without_model(model_files(chosen, planned), finished, store)


def _obstacles(planned: Sequence[PlannedRun], finished: set[str], home: DataDirectory) -> dict[int, str]:
    known: dict[str, str] = {}
    obstacles = {}
    for index, run in enumerate(planned):
        files = run.description.missing if run.description is not None else ()
        for file in files:
            known.setdefault(file.name, obstacle(file, home))
        why = run.unavailable or next(filter(None, (known[file.name] for file in files)), "")
        if why and run.run_id not in finished:
            obstacles[index] = why
    return obstacles
