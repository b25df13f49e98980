"""What is to do: the runs of an experiment, or of all that a paper prints, how long they take, and what is downloaded.

Nothing is fetched, prepared, made or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.filesize import decimal

from mpu_bench.cli.listing import columns
from mpu_bench.config.choices import Experiment
from mpu_bench.data.download.address import shown
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.download.fetch import obstacle
from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.display.overall import duration, number_of_runs
from mpu_bench.display.terminal import Terminal, reason
from mpu_bench.errors import UserError
from mpu_bench.experiment import plan
from mpu_bench.experiment import planned as planned_runs
from mpu_bench.experiment.chosen import ChosenRuns
from mpu_bench.experiment.estimates import Estimate, Estimates, Expected
from mpu_bench.experiment.facts import check_config
from mpu_bench.experiment.names import Names
from mpu_bench.experiment.planned import PlannedRun
from mpu_bench.experiment.run import Run
from mpu_bench.files import is_file
from mpu_bench.quantities import Record
from mpu_bench.results.store import FILE, Store, refuse_kept

_HUNDREDTH_OF_AN_HOUR = 36.0  # seconds
_LONGEST_REASON = 40  # letters; more of it stands in the results


@dataclass(frozen=True)
class Outlook:
    """What is to do of an experiment.

    Attributes
    ----------
    runs : sequence of PlannedRun
        All that are asked for.
    finished : set of str
        The keys of those that have a result.
    obstacles : dict
        Why data cannot be had, by the place of the run in ``runs``.
    expected : sequence of Expected
        What each run will take.
    stored_seconds : float
        Of training, of the results that there are.
    """

    runs: Sequence[PlannedRun]
    finished: set[str]
    obstacles: dict[int, str]
    expected: Sequence[Expected]
    stored_seconds: float

    @classmethod
    def of(cls, chosen: ChosenRuns, home: DataHome, folder: Path, force: bool = False) -> Outlook:
        """Look at the runs of an experiment, at its data and at its results folder; with force none has a result."""
        every = planned_runs.inspect(chosen.plan, home)
        records, finished = _results(chosen.experiment, folder, every)
        finished = set() if force else finished
        selected = set(map(id, chosen.runs))
        planned = [each for each in every if id(each.run) in selected]
        expected = Estimates(chosen.experiment, chosen.plan, records).expected([each.run for each in planned])
        stored = sum(row.train_seconds or 0.0 for row in records if row.is_finished)
        return cls(planned, finished, _obstacles(planned, finished, home), expected, stored)

    def state(self, place: int) -> str:
        """Return in words what there is of a run."""
        if self.runs[place].run_id in self.finished:
            return "has a result"
        if place in self.obstacles:
            return f"unavailable: {reason(self.obstacles[place])}"
        seconds = self.expected[place].seconds
        return "to do" if seconds is None else f"to do, about {_brief(seconds)}"

    @property
    def done(self) -> int:
        """How many runs have a result."""
        return sum(each.run_id in self.finished for each in self.runs)

    @cached_property
    def todo(self) -> list[int]:
        """The places of the runs that can be made and have no result."""
        return [
            place
            for place, each in enumerate(self.runs)
            if each.run_id not in self.finished and place not in self.obstacles
        ]

    @property
    def estimate(self) -> Estimate:
        """What all that is to do takes."""
        return Estimate.of([self.expected[place] for place in self.todo])

    @property
    def missing(self) -> dict[str, RemoteFile]:
        """The files that would be fetched, by their names."""
        described = [self.runs[place].description for place in self.todo]
        return {file.name: file for each in described if each is not None for file in each.missing}

    @property
    def unavailable(self) -> str:
        """How many runs lack data that cannot be had here, of which datasets and why."""
        labels: dict[str, dict[str, None]] = {}
        for place, why in self.obstacles.items():
            labels.setdefault(_shortened(why), {})[self.runs[place].run.dataset.label] = None
        brief = [f"{', '.join(known)}: {why}" for why, known in labels.items()]
        return f"{len(self.obstacles)} ({'; '.join(brief)})" if brief else ""


def _results(experiment: Experiment, folder: Path, planned: Sequence[PlannedRun]) -> tuple[list[Record], set[str]]:
    """Return the rows that there are, and the keys of the planned runs whose result holds; refuse what a run would."""
    refuse_kept(folder)
    if not is_file(folder / FILE):
        return [], set()
    with Store(folder) as store:
        check_config(experiment, store)
        return store.records(earlier=True), store.finished(planned_runs.needs_of(planned))


def _obstacles(planned: Sequence[PlannedRun], finished: set[str], home: DataHome) -> dict[int, str]:
    known: dict[str, str] = {}
    found = {}
    for place, each in enumerate(planned):
        files = each.description.missing if each.description is not None else ()
        for file in files:
            known.setdefault(file.name, obstacle(file, home))
        why = each.unavailable or next(filter(None, (known[file.name] for file in files)), "")
        if why and each.run_id not in finished:
            found[place] = why
    return found


def _shortened(why: str) -> str:
    return why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}..."


def print_plan(chosen: ChosenRuns, home: DataHome, folder: Path, console: Terminal, force: bool = False) -> None:
    """List the chosen runs of a plan, which of them have a result that holds, how long they take, and downloads."""
    outlook, names = Outlook.of(chosen, home, folder, force), Names(chosen.plan)
    rows = [(names.of(each.run), outlook.state(place)) for place, each in enumerate(outlook.runs)]
    console.print(columns(("run", "state"), rows))
    for file in outlook.missing.values():
        size = "size unknown" if file.bytes is None else decimal(file.bytes)
        where = ", else ".join(filter(None, [*map(shown, [*home.mirrors, *file.urls[:1]]), file.by_hand]))
        console.tell(f"to download: {file.name} ({size}) from {where}")
    without = f", {len(outlook.obstacles)} unavailable" if outlook.obstacles else ""
    console.tell(
        f"{number_of_runs(len(outlook.runs))}, {outlook.done} of them with a result{without}; results are kept in "
        f"{folder}"
    )
    _tell_estimate(outlook.estimate, console)
    if files := outlook.missing:
        console.tell(f"to download and keep on disk: {_size(files.values())}; what is prepared of it comes on top")


def _tell_estimate(estimate: Estimate, console: Terminal) -> None:
    """Print how many runs there are to be made, how long they take together, and how much memory."""
    if not estimate.runs:
        console.tell("to do: nothing")
        return
    known = f"about {_brief(estimate.seconds)} of training"
    if estimate.unknown:
        few = f"{known}; unknown for {estimate.unknown} of {estimate.runs} runs"
        known = few if estimate.unknown < estimate.runs else "training time unknown"
    console.tell(f"to do: {number_of_runs(estimate.runs)}, {known}")
    if estimate.reported_runs:
        console.tell(
            f"of these unknown runs the papers report {_brief(estimate.reported)} for {estimate.reported_runs}, on the "
            "machines of their time: an order of magnitude"
        )
    console.tell(f"beside training, to load, evaluate and store: about {_brief(estimate.overhead)}")
    if estimate.memory_mb:
        console.tell(f"memory of a run: up to {decimal(int(estimate.memory_mb * 2**20))}, as far as earlier runs tell")


def _brief(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _size(files: Iterable[RemoteFile]) -> str:
    sizes = [file.bytes for file in files]
    if not any(sizes):
        return f"{len(sizes)} files of unknown size"
    known = f"{decimal(sum(filter(None, sizes)))} in {len(sizes)} files"
    return f"{known}, size unknown of {sizes.count(None)}" if None in sizes else known


def print_reproduction(
    experiments: Sequence[Experiment], home: DataHome, results: Path, console: Terminal, jobs: int = 1
) -> None:
    """Print for each experiment what has a result, what cannot be made here, what is to do, and how long it takes.

    ``jobs`` runs are made at once where seconds are not judged.
    """
    outlooks = {each.name: _outlook(each, home, results / each.name, console) for each in experiments}
    found = {name: outlook for name, outlook in outlooks.items() if outlook is not None}
    headings = ("config", "runs", "with a result", "to do", "hours", "to download", "unavailable here")
    console.print(columns(headings, [(name, *_cells(outlook)) for name, outlook in found.items()]))
    every = Estimate.of([each.expected[place] for each in found.values() for place in each.todo])
    at_once = [
        outlook.expected[place]
        for each in experiments
        if not each.is_timed and (outlook := found.get(each.name)) is not None
        for place in outlook.todo
    ]
    files = {name: file for each in found.values() for name, file in each.missing.items()}
    _tell_estimate(every, console)
    if jobs > 1 and at_once:
        saved = Estimate.of(at_once).seconds * (1 - 1 / jobs)
        least = every.seconds - saved
        console.tell(f"with {jobs} runs at once where seconds are not judged: {_brief(least)} or more")
    console.tell(f"to download: {_size(files.values())}" if files else "to download: nothing")
    stored = sum(each.stored_seconds for each in found.values())
    console.tell(f"results in {results}: {duration(stored)} of training")


def _outlook(experiment: Experiment, home: DataHome, folder: Path, console: Terminal) -> Outlook | None:
    runs: list[Run] = plan.plan(experiment)
    try:
        return Outlook.of(ChosenRuns(experiment, runs, runs), home, folder)
    except UserError as fault:
        console.tell(f"{experiment.name}: {fault}")
        return None


def _cells(outlook: Outlook) -> Sequence[str]:
    estimate = outlook.estimate
    hours = "" if not estimate.runs else "unknown" if estimate.unknown == estimate.runs else _hours(estimate)
    sizes = _size(outlook.missing.values()) if outlook.missing else ""
    return str(len(outlook.runs)), str(outlook.done), str(len(outlook.todo)), hours, sizes, outlook.unavailable


def _hours(estimate: Estimate) -> str:
    hours = f"{estimate.seconds / 3600:.2f}" if estimate.seconds > _HUNDREDTH_OF_AN_HOUR else "< 0.01"
    return f"{hours}, unknown for {estimate.unknown}" if estimate.unknown else hours
