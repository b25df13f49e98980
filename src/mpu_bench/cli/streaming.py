"""``mpu-bench try --online``: which online classifier suits a file whose rows come in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from mpu_bench.cli.options import FAILED, INTERRUPTED, TryOptions, console, saved_in, say
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.progress import for_console
from mpu_bench.display.terminal import Drawn
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.files import as_store_error, write_all
from mpu_bench.models.evaluation import METRICS
from mpu_bench.models.saved import LEARNED_TEST_ROWS
from mpu_bench.report import front
from mpu_bench.report.tables import Table
from mpu_bench.results.store import folder_lock
from mpu_bench.selection.candidates import Candidate
from mpu_bench.selection.online import WARM_UP, Contender, Stream, Track, candidates, judge
from mpu_bench.selection.repetition import model_of
from mpu_bench.selection.rows import Source
from mpu_bench.texts import counted

_MIN_ROWS = 100
_REPORTS = 5  # of how far it is
_WRITTEN = ("stream.csv", "stream.svg", "stream.png", "model.mpu")


def check(options: TryOptions) -> None:
    """Reject options that say nothing of a stream.

    Raises
    ------
    ConfigError
        If one is given.
    """
    of_models = ("memory", "device", "flash", "ram", "split", "jobs", "any")
    names = [f"--{name}" for name in of_models if getattr(options, name)]
    names += ["--threshold"] if options.threshold is not None else []
    if names:
        raise ConfigError(f"{', '.join(names)}: cannot be given with --online, which judges rows as they come")


def judge_online(
    source: Source,
    budgets: tuple[int, ...],
    chosen: Callable[[list[Candidate]], list[Candidate]] | None,
    *,
    seconds: float,
    folder: Path,
) -> int:
    """Judge online classifiers on the rows of a dataset in their order, and keep what comes of it.

    Parameters
    ----------
    source : Source
    budgets : tuple of int
        Support vectors that budgeted classifiers may keep.
    chosen : function, optional
        Returns those of the candidates that are tried.
    seconds : float
    folder : Path
        Where everything is written.

    Returns
    -------
    int
        The exit code.
    """
    source, data = _in_order(source).begun(for_console(console(stderr=True)))
    name = source.dataset
    all_rows = data.problem.n + data.problem.n_test
    if all_rows < _MIN_ROWS:
        raise DataError(f"{name}: has {counted(all_rows, 'row')}; a stream needs {_MIN_ROWS} to be judged by")
    tried = candidates(data.width, budgets)
    tried, reported = chosen(tried) if chosen else tried, 0

    def changed(stream: Stream) -> None:
        nonlocal reported
        if (part := stream.rows * _REPORTS // all_rows) > reported:
            reported, value = part, 100 * stream.chosen.value(stream.metric)
            say(f"row {stream.rows:,} of {all_rows:,}: {stream.chosen.name}, {METRICS[stream.metric]} {value:.2f} %")

    stream = judge(data, tried, source.metric, seconds=seconds, changed=changed)
    if not stream.rows and stream.is_interrupted:
        say(f"interrupted before a row was judged; what was in {folder} stays")
        return INTERRUPTED
    if not stream.rows:
        raise DataError(f"{name}: no row was judged; give more --seconds")
    with folder_lock(folder):
        forget_earlier(folder, _WRITTEN)
        write_all(folder, {"stream.csv": stream.to_csv(), **front.drawn_stream(stream, name)})
        if stream.is_better:
            model_of(stream.finished(), source, **{LEARNED_TEST_ROWS: True}).save(folder / "model.mpu")
    _print(stream, name)
    there = ", ".join(file_name for file_name in _WRITTEN if (folder / file_name).exists())
    say(saved_in(folder, stream.is_interrupted) + there)
    return INTERRUPTED if stream.is_interrupted else 0 if stream.is_better else FAILED


def forget_earlier(folder: Path, names: Iterable[str]) -> None:
    """Delete what an earlier call has written: it must not stand beside the table of this one."""
    with as_store_error(folder):
        for name in names:
            (folder / name).unlink(missing_ok=True)


def _in_order(source: Source) -> Source:
    """Return a source whose rows stay in their order: where they are split, the first ones are the training part."""
    card = source.options.get(catalog.CARD) or catalog.whole(source.dataset)
    if not card.get("split"):
        return source
    return replace(source, options={**source.options, catalog.CARD: {**card, "split": {"test": 1 - WARM_UP}}})


def _print(stream: Stream, name: str) -> None:
    """Print the table, the choice, and how far the metric moved along the stream."""
    words, chosen, windows = METRICS[stream.metric], stream.chosen, stream.windows
    last = windows[-1][2] - windows[-1][1] + 1 if windows else stream.rows
    headings = ["classifier", f"{words}, %", f"last {last:,} rows", "time per row", "support vectors", "settings"]
    every = sorted((*stream.contenders, *stream.references), key=lambda classifier: -classifier.value(stream.metric))
    rows = [
        (
            classifier.name,
            f"{100 * classifier.value(stream.metric):.2f}",
            f"{100 * classifier.rolling(stream.metric)[-1]:.2f}",
            *_details(stream, classifier),
        )
        for classifier in every
    ]
    console().print(Drawn(Table(headings, rows, "lrrrrl"), framed=False))
    of = {row[0]: row[1] for row in rows}
    summary = f"{words} {of[chosen.name]} % on {stream.rows:,} rows, each predicted before it was learned"
    summary += "".join(f"; {reference.name}: {of[reference.name]} %" for reference in stream.references)
    test = f"Wilcoxon over blocks of {stream.block:,} rows with Bonferroni's correction, p = {stream.chance:.2g}"
    if stream.is_better:
        say(f"{name}: take {chosen.name}: {summary}; better beyond chance ({test})")
    else:
        say(f"{name}: nothing was chosen, and no model is saved: {chosen.name}, the best, has {summary} ({test})")
    if len(windows) > 1:
        said = [
            f"{100 * value:.2f} % (rows {first:,} to {last:,})" for value, first, last in (min(windows), max(windows))
        ]
        say(f"over {stream.window:,} rows at a time, {chosen.name} has {said[0]} at worst and {said[1]} at best")
    if stream.rows < stream.all_rows:
        say(
            f"{stream.all_rows - stream.rows:,} of {stream.all_rows:,} rows were not judged"
            + ("" if stream.is_interrupted else "; give more --seconds")
        )


def _details(stream: Stream, track: Track) -> tuple[str, str, str]:
    """Return microseconds for a row, vectors and settings of a classifier; nothing of a reference."""
    if not isinstance(track, Contender):
        return "", "", ""
    leader = track.leader(stream.metric)
    settings = " ".join(f"{name}={value:.3g}" for name, value in leader.setting.items())
    return f"{1e6 * leader.seconds / stream.rows:.3g} µs", f"{leader.vectors:,}" if leader.vectors else "", settings
