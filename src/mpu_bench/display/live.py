"""What a person sees while an experiment runs: lines, or on a terminal a screen of what is done and the time left.

The screen has a line for each dataset and solver. It is never higher than the terminal: where there are too many lines,
there is one for each solver, and at last one for all solvers that find no room.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rich.progress_bar import ProgressBar
from rich.table import Table

from mpu_bench.data.download import progress
from mpu_bench.display.terminal import Terminal, reason, screen_on, styled
from mpu_bench.experiment.messages import Compiled, News, Phase, Progress
from mpu_bench.experiment.run import Names, Run
from mpu_bench.experiment.runner import Listener, Todo
from mpu_bench.quantities import DECLARED, Record, RunStatus
from mpu_bench.results.means import grouped
from mpu_bench.texts import counted, duration

if TYPE_CHECKING:
    from rich.live import Live


_WORTH_SHOWING = 10.0  # seconds left at the start; of less, what else a run takes is more, and is not known at first
_NOISE = 0.1  # seconds, below which what runs took says little of how fast this machine is
_OVERDUE = 0.1  # of a run that takes longer than expected, this part of what it has taken is what it still takes


class Group(NamedTuple):
    """The runs that a line is of."""

    dataset: str
    solver: str


@dataclass
class Tally:
    """The runs of a line: how many there are, how many run now, and the records of those that have ended."""

    total: int = 0
    running: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def done(self) -> int:
        """How many have a result."""
        return sum(record.is_finished for record in self.records)

    def mean(self, quantity: str) -> float | None:
        """Return the mean of a quantity as the final table has it: without tuning runs, and those without a value."""
        of_table = (record.value(quantity) for record in self.records if record.is_finished and not record.trial)
        known = [value for value in of_table if value is not None]
        return statistics.fmean(known) if known else None

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> Tally:
        """Return the tally of the runs of several."""
        records = [record for tally in tallies for record in tally.records]
        return cls(sum(tally.total for tally in tallies), sum(tally.running for tally in tallies), records)


@dataclass
class Alike:
    """Runs that differ in their seed alone, or in what a trial holds out.

    ``expected`` are the seconds that each takes, if that is known beforehand; the ``ended`` ones took ``seconds``.
    """

    expected: float | None
    left: int = 0
    ended: int = 0
    seconds: float = 0.0

    @property
    def is_unknown(self) -> bool:
        """Whether neither an estimate nor a run says how long they take."""
        return self.expected is None and not self.ended and self.left > 0

    def run_seconds(self, pace: float) -> float:
        """Return about how long each takes, where runs take ``pace`` times as long as expected."""
        if self.expected is None:
            return self.seconds / max(1, self.ended)
        return (self.seconds + pace * self.expected) / (self.ended + 1)


class UnderWay(NamedTuple):
    """A run under way: its status in words, when it began, and how long runs like it take."""

    group: Group
    words: str
    began: float
    alike: Alike


class Overall:
    """How far the runs of an experiment are.

    The time left is that of runs like those that have ended. Of settings of which no run has ended, it is what was
    expected of them, times how much longer the others took than expected.

    Parameters
    ----------
    runs : sequence of Run
        Those to be made.
    seconds : sequence of float or None
        About how long each takes, where that is known.
    """

    def __init__(self, runs: Sequence[Run], seconds: Sequence[float | None]) -> None:
        self._alike: dict[tuple[object, ...], Alike] = {}
        self._began = time.monotonic()
        self.total, self.ended, self.failed = len(runs), 0, 0
        self.under_way: dict[str, UnderWay] = {}
        self.tallies: dict[Group, Tally] = {}
        for run, expected in zip(runs, seconds, strict=True):
            self.tallies.setdefault(_group(run), Tally()).total += 1
            self._alike.setdefault(_settings(run), Alike(expected)).left += 1

    def is_at(self, run: Run, name: str, words: str) -> None:
        """Note what a run is at."""
        began = self.under_way[name].began if name in self.under_way else time.monotonic()
        self.under_way[name] = UnderWay(_group(run), words, began, self._alike[_settings(run)])

    def has_ended(self, run: Run, name: str, record: Record, compiled: float = 0.0) -> None:
        """Note what has become of a run, and how many seconds it compiled, which no other run has to."""
        trained = record.train_seconds or 0.0
        now = self.under_way.pop(name, None)
        alike = self._alike[_settings(run)]
        alike.left -= 1
        if record.is_finished or alike.expected is None:  # what failed says nothing of how fast this machine is
            alike.ended += 1
            alike.seconds += trained if now is None else max(trained, time.monotonic() - now.began - compiled)
        self.ended += 1
        self.failed += not record.is_finished
        self.tallies[_group(run)].records.append(record)

    def share(self) -> float:
        """Return which part of the work is done, from 0 to 1."""
        done, left = self._work() or (self.ended, self.total - self.ended)
        return done / (done + left) if done + left > 0 else 0.0

    def seconds_left(self) -> float | None:
        """Return about how long it still takes; None before it is known of all settings, from estimates or a run."""
        _, left = self._work() or (0.0, None)
        if left is None or self.ended == self.total or (not self.ended and left < _WORTH_SHOWING):
            return None
        return left / max(1, len(self.under_way))

    def _work(self) -> tuple[float, float] | None:
        """Return about how many seconds all runs have taken, and still take; None before that is known of all."""
        every = self._alike.values()
        if any(alike.is_unknown for alike in every):
            return None
        foreseen = [(alike, alike.expected) for alike in every if alike.expected is not None]
        expected = sum(alike.ended * seconds for alike, seconds in foreseen)
        pace = (sum(alike.seconds for alike, _ in foreseen) + _NOISE) / (expected + _NOISE)
        done, left = sum(alike.seconds for alike in every), sum(alike.left * alike.run_seconds(pace) for alike in every)
        for run in [*self.under_way.values()]:
            taken, needed = time.monotonic() - run.began, run.alike.run_seconds(pace)
            done, left = done + taken, left + max(needed - taken, _OVERDUE * taken) - needed
        return done, left

    def summary(self) -> str:
        """Return in a line what has become of the runs."""
        words = [f"{self.ended - self.failed} done"]
        words += [f"{self.failed} failed"] if self.failed else []
        words += [f"{self.total - self.ended} not run"] if self.ended < self.total else []
        return f"{counted(self.total, 'run')}: {', '.join(words)}, in {duration(time.monotonic() - self._began)}"


def _group(run: Run) -> Group:
    return Group(run.dataset.label, run.solver.name)


def _settings(run: Run) -> tuple[object, ...]:
    """Return the same for runs that take about as long: they differ in their seed, or in what a trial holds out."""
    described = [words for name, words in run.described.items() if name not in ("seed", "trial")]
    return (_group(run), run.trial is None, *described)


_LINES_BESIDES = 4  # the headings, two lines below, and the one of the cursor
_NARROW = 60  # letters, below which there are fewer columns
_BAR = 20  # letters of the bar


def screen(overall: Overall, console: Terminal) -> Table:
    """Return what a terminal shows of an experiment at this moment."""
    running = Counter(run.group for run in [*overall.under_way.values()])
    tallies = {group: replace(tally, running=running[group]) for group, tally in overall.tallies.items()}
    lines = _fitting(tallies, console.height - _LINES_BESIDES)
    shown = _lines()
    if lines:
        shown.add_row(_table(lines, console.width))
    shown.add_row(_how_far(overall, console.width))
    shown.add_row(_now(overall))
    return shown


def _fitting(tallies: Mapping[Group, Tally], room: int) -> dict[Group, Tally]:
    """Return as many lines as there is room for, by leaving out datasets first."""
    if len(tallies) <= room:
        return dict(tallies)
    if room < 1:
        return {}
    of_solvers = grouped(tallies, lambda group: Group("", group.solver))
    lines = {line: Tally.of([tallies[group] for group in groups]) for line, groups in of_solvers.items()}
    if len(lines) <= room:
        return lines
    busiest = sorted(lines, key=lambda group: (not lines[group].running, lines[group].done == lines[group].total))
    shown, rest = busiest[: room - 1], Tally.of([lines[group] for group in busiest[room - 1 :]])
    last = f"{len(lines) - len(shown)} more" if shown else "all solvers"
    return {group: lines[group] for group in shown} | {Group("", last): rest}


def _table(lines: Mapping[Group, Tally], width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    has_datasets = len({group.dataset for group in lines}) > 1
    names = ["dataset", "solver"] if has_datasets else ["solver"]
    for heading in names:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    numbers = ["done", "failed"] if width < _NARROW else list(_NUMBERS)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for group, tally in lines.items():
        style = "bold" if tally.running else ""
        cells = [*group[2 - len(names) :], *(_NUMBERS[heading](tally) for heading in numbers)]
        table.add_row(*(styled(cell, style) for cell in cells))
    return table


def _mean(quantity: str) -> Callable[[Tally], str]:
    return lambda tally: DECLARED[quantity].text(tally.mean(quantity))


#: columns of the table
_NUMBERS: dict[str, Callable[[Tally], str]] = {
    "done": lambda tally: f"{tally.done}/{tally.total}",
    "running": lambda tally: str(tally.running or ""),
    "failed": lambda tally: str(len(tally.records) - tally.done or ""),
    **{DECLARED[quantity].heading: _mean(quantity) for quantity in ("train_seconds", "test_error")},
}


def _how_far(overall: Overall, width: int) -> Table:
    share = overall.share()
    words = [f"{100 * share:.0f} %", f"{overall.ended} of {overall.total} runs"]
    words += [f"{overall.failed} failed"] if overall.failed else []
    if (seconds := overall.seconds_left()) is not None:
        words.append(f"about {duration(seconds)} left")
    has_bar = width >= _NARROW
    line = _lines(_BAR if has_bar else None)
    line.add_row(*([ProgressBar(total=1.0, completed=share)] if has_bar else []), ", ".join(words))
    return line


def _now(overall: Overall) -> str:
    now = [f"{name}: {run.words}" for name, run in [*overall.under_way.items()]]
    more = [f"and {len(now) - 1} more"] if len(now) > 1 else []
    return ", ".join([*now[:1], *more])


def _lines(bar: int | None = None) -> Table:
    """Return an empty stack of lines that end at the edge of the screen, after a bar if it has a width."""
    lines = Table.grid(padding=(0, 1))
    if bar is not None:
        lines.add_column(width=bar)
    lines.add_column(no_wrap=True, overflow="ellipsis")
    return lines


_PHASES = {
    "starting": "starting",
    "importing": "importing a plugin",
    "loading": "loading data",
    "compiling": "loading compiled code (compiling, the first time on a machine)",
    "kernel matrix": "computing the shared kernel matrix",
    "training": "training",
}
_SCREENS_A_SECOND = 2  # every one costs this process milliseconds, beside runs whose seconds are measured
_MAX_LINES = 20  # runs that have a line of their own beside the table


class Display:
    """Turns the runner's messages into lines, and on a terminal into a table of what is done.

    Parameters
    ----------
    console : Terminal
    table : bool
        Without, there is a line for every run, and nothing else.
    """

    def __init__(self, console: Terminal, table: bool = True) -> None:
        self._console = console
        self._has_table = table and console.is_terminal and not console.is_dumb_terminal
        self._live: Live | None = None
        self._names = Names([])
        self._overall = Overall([], [])
        self._compiled: dict[str, float] = {}
        self._last_reason = ""

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Listen to one experiment."""
        listener = Listener(
            progress=progress.for_console(self._console),
            planned=self._planned,
            news=self._news,
            finished=self._finished,
        )
        try:
            with screen_on(self._console) if self._has_table else nullcontext():
                yield listener
        finally:
            self._stop()

    def _stop(self) -> None:
        if self._live is None:
            return
        self._live.stop()
        self._live = None
        if not self._has_lines:
            self._console.tell(self._overall.summary())

    def _planned(self, todo: Todo) -> None:
        self._names, self._overall = Names(todo.plan), Overall(todo.runs, todo.seconds)
        if todo.finished:
            self._console.tell(
                f"{counted(todo.finished, 'run')} finished before, {counted(len(todo.runs), 'run')} to do"
            )
        if todo.runs and self._has_table:
            from rich.live import Live

            self._live = Live(
                console=self._console,
                get_renderable=lambda: screen(self._overall, self._console),
                refresh_per_second=_SCREENS_A_SECOND,
                transient=True,
            )
            self._live.start()

    @property
    def _has_lines(self) -> bool:
        """Whether every finished run has a line."""
        return not self._has_table or self._overall.total <= _MAX_LINES

    def _news(self, run: Run, news: News) -> None:
        name = self._names.of(run)
        match news:
            case Phase(phase):
                self._overall.is_at(run, name, _PHASES[phase])
            case Compiled(seconds):
                self._compiled[name] = seconds
            case Progress():
                words = [f"{news.passes:.3g} epochs", f"{news.seconds:.1f} s"]
                words += _values({"objective": news.objective, "gap": news.gap})
                self._overall.is_at(run, name, ", ".join(words))

    def _finished(self, run: Run, record: Record) -> None:
        name = self._names.of(run)
        compiled = self._compiled.pop(name, 0.0)
        self._overall.has_ended(run, name, record, compiled)
        head = f"{self._overall.ended}/{self._overall.total}  {name}"
        if record.is_finished:
            if self._has_lines:
                more = f" (after {compiled:.1f} s of compilation, once per machine)" if compiled else ""
                self._console.tell(f"{head}: {_result(record)}{more}")
            return
        why = reason(record.reason) if record.reason != self._last_reason else "as above"
        self._last_reason = record.reason
        values = f"; {_result(record)}" if record.status == RunStatus.PROVISIONAL else ""
        self._console.tell(f"{head}: {record.status.upper()}: {why}{values}", style="bold red")


def _values(known: Mapping[str, float | None]) -> list[str]:
    """Return the values of some quantities in words, of those that are known."""
    return [f"{name} {DECLARED[name].text(value)}" for name, value in known.items() if value is not None]


def _result(record: Record) -> str:
    words = [f"{record.status} in {record.train_seconds or 0.0:.3g} s"] if record.is_finished else []
    words += _values({"objective": record.objective, "gap": record.gap})
    if record.test_error is not None:
        rows = "validation" if record.trial and not record.tuned_on_test else "test"
        words.append(f"{rows} error {DECLARED['test_error'].text(record.test_error)} %")
    if record.reason and record.is_finished:
        words.append(reason(record.reason))
    return ", ".join(words)
