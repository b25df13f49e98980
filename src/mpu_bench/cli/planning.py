"""What remains to be done, printed: the runs of an experiment, or of the papers, how long they take, and downloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.filesize import decimal

from mpu_bench.cli.listing import columns
from mpu_bench.data.download.cache import RemoteFile, shown
from mpu_bench.display.terminal import Terminal, reason
from mpu_bench.experiment.estimates import Estimate
from mpu_bench.experiment.options import ReproduceOptions
from mpu_bench.experiment.outlook import HAS_RESULT, UNAVAILABLE, Outlook
from mpu_bench.experiment.run import Names
from mpu_bench.experiment.runner import ChosenRuns
from mpu_bench.results.means import grouped
from mpu_bench.texts import counted, duration

_HUNDREDTH_OF_AN_HOUR = 36.0  # seconds
_LONGEST_REASON = 40  # letters; more of it stands in the results


def _state(outlook: Outlook, index: int) -> str:
    """Return the state of a run in words."""
    state, seconds = outlook.state(index), outlook.expected[index].seconds
    if state == UNAVAILABLE:
        return f"{state}: {reason(outlook.obstacles[index])}"
    return state if state == HAS_RESULT or seconds is None else f"{state}, about {_brief(seconds)}"


def _unavailable(outlook: Outlook) -> str:
    """Return how many runs lack data that are unavailable here, of which datasets and why."""
    reasons = {
        index: why if len(why) <= _LONGEST_REASON else f"{why[:_LONGEST_REASON]}..."
        for index, why in outlook.obstacles.items()
    }
    brief = [
        f"{', '.join(dict.fromkeys(outlook.runs[index].run.dataset.label for index in indices))}: {why}"
        for why, indices in grouped(reasons, reasons.__getitem__).items()
    ]
    return f"{len(outlook.obstacles)} ({'; '.join(brief)})" if brief else ""


def print_plan(chosen: ChosenRuns, console: Terminal) -> None:
    """List the chosen runs of a plan, which of them have a valid result, how long they take, and downloads."""
    outlook, names, home = Outlook.of(chosen), Names(chosen.plan), chosen.options.home
    rows = [(names.of(planned_run.run), _state(outlook, index)) for index, planned_run in enumerate(outlook.runs)]
    console.print(columns(("run", "state"), rows))
    for file in outlook.missing.values():
        size = "size unknown" if file.bytes is None else decimal(file.bytes)
        where = ", else ".join(filter(None, [*map(shown, [*home.mirrors, *file.urls[:1]]), file.by_hand]))
        console.tell(f"to download: {file.name} ({size}) from {where}")
    without = f", {len(outlook.obstacles)} unavailable" if outlook.obstacles else ""
    console.tell(
        f"{counted(len(outlook.runs), 'run')}, {outlook.done} finished{without}; results folder: {chosen.folder}"
    )
    _tell_estimate(outlook.estimate, console)
    if files := outlook.missing:
        console.tell(f"to download: {_size(files.values())}; prepared data take disk space, too")


def _tell_estimate(estimate: Estimate, console: Terminal) -> None:
    """Print how many runs remain, how long they take together, and how much memory."""
    if not estimate.runs:
        console.tell("to do: nothing")
        return
    known = f"about {_brief(estimate.seconds)} of training"
    if estimate.unknown:
        few = f"{known}; unknown for {counted(estimate.unknown, 'run')}"
        known = few if estimate.unknown < estimate.runs else "training time unknown"
    console.tell(f"to do: {counted(estimate.runs, 'run')}, {known}")
    if estimate.reported_runs:
        reported = f"the papers report {_brief(estimate.reported)} on their machines"
        console.tell(f"for {counted(estimate.reported_runs, 'run')} of unknown time {reported}")
    console.tell(f"overhead (loading, evaluation, storage): about {_brief(estimate.overhead)}")
    if estimate.memory_mb:
        console.tell(f"memory per run: up to {decimal(int(estimate.memory_mb * 2**20))}, by earlier runs")


def _brief(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _size(files: Iterable[RemoteFile]) -> str:
    sizes = [file.bytes for file in files]
    if not any(sizes):
        return f"{counted(len(sizes), 'file')} of unknown size"
    known = f"{decimal(sum(filter(None, sizes)))} in {counted(len(sizes), 'file')}"
    return f"{known}, {sizes.count(None)} of unknown size" if None in sizes else known


def print_reproduction(
    outlooks: Mapping[str, Outlook], timed: set[str], options: ReproduceOptions, console: Terminal
) -> None:
    """Print for each experiment what has a result, what cannot run here, what remains, and how long it takes.

    Parameters
    ----------
    outlooks : mapping of str to Outlook
        By the name of the experiment.
    timed : set of str
        Those whose seconds are judged, so that their runs are executed one at a time.
    options : ReproduceOptions
    console : Terminal
    """
    headings = ("config", "runs", "finished", "to do", "hours", "downloads", "unavailable")
    console.print(columns(headings, [(name, *_cells(outlook)) for name, outlook in outlooks.items()]))
    every = Estimate.of([outlook.expected[index] for outlook in outlooks.values() for index in outlook.todo])
    at_once = [
        outlook.expected[index] for name, outlook in outlooks.items() if name not in timed for index in outlook.todo
    ]
    files = {name: file for outlook in outlooks.values() for name, file in outlook.missing.items()}
    _tell_estimate(every, console)
    if options.jobs > 1 and at_once:
        least = every.seconds - Estimate.of(at_once).seconds * (1 - 1 / options.jobs)
        console.tell(f"with {options.jobs} parallel runs where no seconds are judged: at least {_brief(least)}")
    console.tell(f"to download: {_size(files.values())}" if files else "to download: nothing")
    stored = sum(outlook.stored_seconds for outlook in outlooks.values())
    console.tell(f"stored in {options.folder}: {duration(stored)} of training")


def _cells(outlook: Outlook) -> Sequence[str]:
    estimate = outlook.estimate
    hours = f"{estimate.seconds / 3600:.2f}" if estimate.seconds > _HUNDREDTH_OF_AN_HOUR else "< 0.01"
    if estimate.unknown:
        hours = "unknown" if estimate.unknown == estimate.runs else f"{hours}, unknown for {estimate.unknown}"
    sizes = _size(outlook.missing.values()) if outlook.missing else ""
    numbers = map(str, (len(outlook.runs), outlook.done, len(outlook.todo)))
    return *numbers, hours if estimate.runs else "", sizes, _unavailable(outlook)
