"""Which of the classifiers suits a user file: what ``mpu-bench try`` does."""

from __future__ import annotations

import math
import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from rich.filesize import decimal
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid

from mpu_bench.cli import streaming
from mpu_bench.cli.adding import file_options_of
from mpu_bench.cli.options import FAILED, INTERRUPTED, TryOptions, console, saved_in, say
from mpu_bench.config.schema import bytes_of
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.progress import for_console
from mpu_bench.data.user_files.adding import name_of, options_of, remarks
from mpu_bench.data.user_files.formats import unnamed
from mpu_bench.data.user_files.tables import open_table
from mpu_bench.display.terminal import Drawn, Terminal, styled
from mpu_bench.errors import ConfigError, DataError, nearest
from mpu_bench.files import is_file, write_all
from mpu_bench.models.evaluation import METRICS, OF_LABELS
from mpu_bench.models.export.device import named
from mpu_bench.report import choice, front
from mpu_bench.report.tables import Table
from mpu_bench.results.store import folder_lock
from mpu_bench.selection.candidates import CONSTANT, Candidate, Facts, candidates
from mpu_bench.selection.outcome import Outcome, Row, as_csv
from mpu_bench.selection.pool import Pool
from mpu_bench.selection.repetition import config_of, exports_of
from mpu_bench.selection.rows import MIN_PER_CLASS, Data, Source
from mpu_bench.selection.session import Session
from mpu_bench.selection.target import BITS, Target
from mpu_bench.texts import counted

_MIN_ROWS = 20
_WRITTEN = {
    "report.html": "the answer on one page",
    "candidates.csv": "the table",
    "front.svg": "the picture",
    "front.png": "the same",
    "model.mpu": "the model (mpu-bench predict)",
    "model.c": "in C99",
    "model.onnx": "in ONNX",
    "repeat.yaml": "trains it again (mpu-bench run)",
}
_LINES_A_SECOND = 4  # of what is seen meanwhile
_WIDTH = 40  # of the bar
_SECONDS_BETWEEN_TABLES = 0.5  # that are written while it goes on
_OF_POSITIVES = ("f1", "average-precision")  # metrics of two classes that are others where the classes are swapped


def follow(file: str, options: TryOptions) -> int:
    """Judge online classifiers on the rows of a file in their order, and return the exit code."""
    streaming.check(options)
    budgets = _budgets(options.budget)
    source, _ = _source(file, options)
    folder = options.results / f"try-{source.dataset}-online"
    chosen = None if options.only is None else partial(_among, only=options.only)
    return streaming.judge_online(source, budgets, chosen, seconds=options.seconds, folder=folder)


def select(file: str, options: TryOptions, pool: Pool, began: float) -> int:
    """Choose a classifier for a file, keep what comes of it, and return the exit code.

    Parameters
    ----------
    file : str
    options : TryOptions
    pool : Pool
        Which imports meanwhile.
    began : float
        When, by `time.monotonic`.
    """
    budgets, max_bytes = _budgets(options.budget), _bytes(options.memory, "--memory")
    target = _target(options)
    source, file_options = _source(file, options)
    source, data = _loaded(source, options.threshold)
    session = Session(
        source,
        _tried(source, data, budgets, options),
        learned_from=data.learned_from,
        all_rows=data.problem.n,
        seconds=options.seconds,
        max_bytes=max_bytes,
        target=None if target is None else replace(target, rows=data.sample),
        with_references=options.any,
    )
    folder = options.results / f"try-{source.dataset}"
    with folder_lock(folder):
        code = _select(session, data, pool, file=file, file_options=file_options, folder=folder)
    took, working = time.monotonic() - began, session.seconds_spent - session.preparing - session.compiling
    say(
        f"took {took:.0f} s: {working:.0f} s to tune and test, the rest to read the data, start processes, compile and "
        "write"
    )
    return code


def _budgets(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,7}", word) and 2 <= int(word) <= 1_000_000 for word in words):
        raise ConfigError(f"--budget {text}: must be numbers of support vectors from 2 to 1,000,000, such as 100,500")
    return tuple(dict.fromkeys(map(int, words)))


def _bytes(text: str | None, option: str) -> int | None:
    return None if text is None else bytes_of(text, option)


def _target(options: TryOptions) -> Target | None:
    """Return the device to choose for; what is not given of it is as on a chip with it."""
    if options.device is None:
        if options.flash is not None or options.ram is not None:
            raise ConfigError("--flash and --ram are those of a device: name it by --device")
        return None
    if options.any:
        raise ConfigError("--any: scikit-learn's references have no C file for a --device; leave one of the two out")
    chosen = named(options.device)
    return Target(chosen, _bytes(options.flash, "--flash") or chosen.flash, _bytes(options.ram, "--ram") or chosen.ram)


def _dataset(file: str, file_options: Mapping[str, Any]) -> tuple[str, dict[str, Any], Mapping[str, Any]]:
    """Return the name of a dataset and its options: of a file, or of a card with that name; and what is said of it.

    Missing numbers of a table become the median unless something else is said.
    """
    if not is_file(Path(file)) and file in catalog.names():
        of_files = [f"--{key.replace('_', '-')}" for key in file_options if key not in ("positive", "seed")]
        if of_files:
            raise ConfigError(
                f"{', '.join(of_files)}: cannot be given for '{file}', which is a dataset with a card, not a file"
            )
        return file, {key: file_options[key] for key in ("positive",) if key in file_options}, file_options
    file_options = {
        key: value for key, value in file_options.items() if key != "seed" or "test" not in file_options
    }  # it draws no rows
    name, said = name_of(Path(file)), file_options_of(file_options, "try")
    if (
        "missing" not in file_options
        and open_table(Path(file), separator=unnamed(file_options.get("separator")), header=said.header).format
        != "svmlight"
    ):
        file_options = {**file_options, "missing": "median"}
        said = file_options_of(file_options, "try")
    dataset = options_of(Path(file), said, file, f"my-{name}" if name in catalog.names() else name)
    for line in remarks(Path(file), said):
        say(line)
    return *dataset, file_options


def _loaded(source: Source, threshold: bool | None) -> tuple[Source, Data]:
    """Load the rows, and settle what chooses."""
    (source, data), name = source.begun(for_console(console(stderr=True))), source.dataset
    if not data.problem.n_test:
        raise DataError(f"{name}: has no test rows; a file is split by --split 0.8, or give --test FILE")
    if data.problem.n < _MIN_ROWS:
        raise DataError(
            f"{name}: has {counted(data.problem.n, 'training row')}; at least {_MIN_ROWS} are needed to choose by"
        )
    if data.problem.n < 2 * len(data.problem.classes):
        raise DataError(
            f"{name}: has {len(data.problem.classes):,} classes in {data.problem.n:,} training rows, so that most have "
            "one; name another column as the label by --label"
        )
    if data.problem.n - (counts := np.bincount(data.y, minlength=len(data.problem.classes))).max() < 2:
        raise DataError(
            f"{name}: all training rows but one are of class '{data.problem.classes[counts.argmax()]}', so that none "
            "is left to choose by; give more rows of others"
        )
    if len(present := set(data.test[1].tolist())) < 2:
        raise DataError(
            f"{name}: all {len(data.test[1]):,} test rows are of class '{data.problem.classes[present.pop()]}', which "
            "judges no classifier; draw others by --seed or --split, or give --test FILE"
        )
    if counts.min() < 2 * MIN_PER_CLASS:
        say(
            f"warning: class '{data.problem.classes[counts.argmin()]}' has {counts.min()} of the training rows, too "
            "few to choose by, so that perhaps nothing is chosen; give more rows of it, or a file without it"
        )
    chosen, why = (source.metric, "--metric") if source.metric else data.fitting_metric()
    of_labels = chosen in OF_LABELS and len(data.problem.classes) == 2
    if threshold and not of_labels:
        raise ConfigError(f"--threshold: it makes no difference to {METRICS[chosen]}, or there are several classes")
    tunes = threshold if threshold is not None else of_labels and chosen != "accuracy"
    if chosen in _OF_POSITIVES and len(data.problem.classes) == 2:
        why += f"; positive is '{data.problem.classes[1]}', change that by --positive"
    draws = f", {data.repeats} times" if data.repeats > 1 else ""
    by = (
        f"{data.folds}-fold cross-validation{draws}" if data.is_cross_validated else f"{data.validation_rows:,} of them"
    )
    say(
        f"{name}: {counted(data.problem.n, 'training row')} of {counted(data.problem.features, 'feature')}, "
        f"{counted(data.problem.n_test, 'test row')}; {METRICS[chosen]} chooses ({why}), "
        f"by {by}{', and the threshold' * tunes}"
    )
    return replace(source, metric=chosen, threshold=tunes), data


def _tried(source: Source, data: Data, budgets: tuple[int, ...], options: TryOptions) -> list[Candidate]:
    """Return who is tried; the constant always is."""
    facts = Facts(
        data.width,
        source.metric,
        classes=len(data.problem.classes),
        numbers=data.problem.n * data.problem.features,
        budgets=budgets,
    )
    every = candidates(facts)
    if options.only is None:
        return every
    tried = _among(every, f"{options.only},{CONSTANT}")
    if not any(candidate.is_own or (options.any and candidate.name != CONSTANT) for candidate in tried):
        raise ConfigError(f"--only {options.only}: references are never chosen, but for --any; name a classifier, too")
    return tried


def _among(every: list[Candidate], only: str) -> list[Candidate]:
    known = {candidate.name: candidate for candidate in every}
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise ConfigError(f"--only: there is no classifier '{name}'; {nearest(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _source(file: str, options: TryOptions) -> tuple[Source, Mapping[str, Any]]:
    """Return where the rows come from, and what is said of them."""
    name, of_dataset, file_options = _dataset(file, options.specified)
    return Source(
        name, of_dataset, home=options.home, seed=options.seed or 0, metric=options.metric or ""
    ), file_options


def _select(
    session: Session, data: Data, pool: Pool, *, file: str, file_options: Mapping[str, Any], folder: Path
) -> int:
    """Make the selection and keep what comes of it; return the exit code."""
    code, is_new = 0, True
    with tempfile.TemporaryDirectory(prefix="mpu-bench-") as temporary:
        session.folder = Path(temporary)
        with Display(console(stderr=True), session) as display:
            written_at = -math.inf

            def changed(outcome: Outcome) -> None:
                nonlocal written_at, is_new
                if is_new:
                    streaming.forget_earlier(folder, _WRITTEN)
                    is_new = False
                if time.monotonic() - written_at > _SECONDS_BETWEEN_TABLES:
                    _keep_table(outcome, folder)
                    written_at = time.monotonic()
                display.show(outcome)

            session.changed = changed
            try:
                session.make(pool)
            except KeyboardInterrupt:
                code = INTERRUPTED
        if code and is_new:
            say(f"interrupted before anything was known; what was in {folder} stays")
            return code
        is_chosen = _keep(session, data, file=file, file_options=file_options, folder=folder, is_interrupted=bool(code))
    return code or (0 if is_chosen else FAILED)


def _keep_table(outcome: Outcome, folder: Path) -> None:
    write_all(folder, {"candidates.csv": as_csv(outcome)})


def _keep(
    session: Session,
    data: Data,
    *,
    file: str,
    file_options: Mapping[str, Any],
    folder: Path,
    is_interrupted: bool = False,
) -> bool:
    """Write the answer: table, picture, page, model and config; say it, and return whether something was chosen."""
    outcome, name = session.outcome, session.source.dataset
    _keep_table(outcome, folder)
    files, failures = _choice_files(session, data, file=file, file_options=file_options, folder=folder)
    files |= front.drawn(outcome, name) if outcome.front else {}
    lines = choice.sentences(outcome, name)
    shown = console()
    shown.print(shown_table(outcome))
    for line in [*lines, *failures]:
        shown.tell(line)
    written = [
        f"{file_name}: {words}"
        for file_name, words in _WRITTEN.items()
        if file_name in files or (folder / file_name).exists()
    ]
    page = choice.page(outcome, name, [*lines, *failures], picture=files.get("front.svg", b""), files=written)
    write_all(folder, files | {"report.html": page})
    say(saved_in(folder, is_interrupted) + ", ".join(["report.html", *(entry.partition(":")[0] for entry in written)]))
    return outcome.chosen is not None


def _choice_files(
    session: Session, data: Data, *, file: str, file_options: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Write the chosen model and its config; return the files beside them, by name, and why one is not there."""
    chosen, outcome = session.choice(), session.outcome
    if chosen is None or outcome.chosen is None:
        return {}, []
    classifier, saved = chosen
    saved.save(folder / "model.mpu")
    config = config_of(
        classifier,
        session.source,
        file=file,
        file_options=file_options,
        rows=session.all_rows,
        folder=folder,
        threshold=outcome.chosen.threshold,
        differs=_differs(outcome.chosen, session, data),
    )
    write_all(folder, {"repeat.yaml": config})
    return exports_of(saved, data.sample, None if session.target is None else BITS[outcome.chosen.form])


def _differs(chosen: Row, session: Session, data: Data) -> str:
    """Return why a run of the config will not have the errors that were printed; nothing if it will."""
    if chosen.rows != session.all_rows:
        return f"this model learned {chosen.rows:,} of {session.all_rows:,} rows"
    if chosen.is_cut:
        return "the seconds of try ended the training of this model"
    if chosen.tested != data.problem.n_test:
        return f"try tested {chosen.tested:,} of {data.problem.n_test:,} test rows, a run tests all"
    return ""


class Display:
    """Shows a selection while it goes on: on a terminal the table and a bar, else a line for each new best model."""

    def __init__(self, console: Terminal, session: Session) -> None:
        self._console, self._session = console, session
        self._live: Live | None = None
        self._outcome = session.outcome
        self._announced: set[str] = set()

    def __enter__(self) -> Display:
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._shown, refresh_per_second=_LINES_A_SECOND, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, outcome: Outcome) -> None:
        """Take note of something new."""
        self._outcome = outcome
        if self._live is None:
            for row in outcome.rows:
                if row.metrics and row.name not in self._announced:
                    self._announced.add(row.name)
                    self._console.tell(f"{row.name}: {choice.scored(outcome, row)}, {decimal(row.size or 0)}")

    def _shown(self) -> Grid:
        session = self._session
        total, left = session.seconds + session.preparing, max(session.seconds_left, 0.0)
        bar = ProgressBar(total=total, completed=min(session.seconds_spent, total), width=_WIDTH)
        remaining = styled(f"at most {left:.0f} s left; Ctrl-C ends it with what is known")
        shown = Grid.grid()
        for part in (shown_table(self._outcome), bar, remaining):
            shown.add_row(part)
        return shown


def shown_table(outcome: Outcome) -> Drawn:
    """Return the table for the terminal, the choice in bold."""
    shaped = choice.table(outcome)
    styles = ["bold" if row is outcome.chosen else "" for row in choice.best_first(outcome)]
    rows = [[styled(cell, style) for cell in row] for row, style in zip(shaped.rows, styles, strict=True)]
    return Drawn(Table(shaped.headings, rows, shaped.sides), framed=False)
