"""``mpu-bench try``: which of the classifiers suits a user file."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpu_bench.cli import streaming
from mpu_bench.cli.options import (
    FAILED,
    INTERRUPTED,
    DataFolder,
    Mirror,
    Offline,
    ResultsRoot,
    console,
    data_directory,
    say,
)
from mpu_bench.cli.table_options import (
    FirstIndex,
    Header,
    Label,
    MissingWords,
    Positive,
    Scale,
    Separator,
    Split,
    SplitSeed,
    TestFile,
)

if TYPE_CHECKING:
    from mpu_bench.selection.candidates import Candidate
    from mpu_bench.selection.outcome import Outcome
    from mpu_bench.selection.rows import Data, Source
    from mpu_bench.selection.session import Session
    from mpu_bench.selection.target import Target

_FEWEST_ROWS, _MOST_JOBS = 20, 8
_MOST_COLUMNS = 20  # that are left out, named
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
_SECONDS_BETWEEN_TABLES = 0.5  # that are written while it goes on
_LARGEST_SECONDS = 7 * 24 * 3600.0


class Metric(StrEnum):
    """Those of `models.evaluation.METRICS`."""

    ACCURACY = "accuracy"
    BALANCED_ACCURACY = "balanced-accuracy"
    F1 = "f1"
    AUC = "auc"
    AVERAGE_PRECISION = "average-precision"


def try_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An svmlight, CSV, TSV or Parquet file; or the name of a dataset.")
    ],
    seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1,
            max=_LARGEST_SECONDS,
            help="The time budget. Starting processes and the first compilation come on top.",
        ),
    ] = 60,
    metric: Annotated[
        Metric | None,
        typer.Option(
            metavar="METRIC",
            help="What to choose by: f1, auc, accuracy, average-precision or balanced-accuracy. By default accuracy; "
            "balanced-accuracy if a class is rare, or a constant is as accurate as a linear classifier.",
        ),
    ] = None,
    threshold: Annotated[
        bool | None,
        typer.Option(
            "--threshold/--no-threshold",
            help="Choose on the validation set above which score a row is positive. By default for balanced-accuracy "
            "and f1 of two classes.",
            show_default=False,
        ),
    ] = None,
    any_: Annotated[
        bool,
        typer.Option("--any", help="Choose among scikit-learn's references, too; their models are not saved."),
    ] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Judge online classifiers on the rows in their order, as a stream.")
    ] = False,
    budget: Annotated[
        str, typer.Option(metavar="N,N", help="The support vector budgets of the budgeted classifiers.")
    ] = "100,500",
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The maximum size of the chosen model, such as 64KB.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Choose a model that fits cortex-m0 or cortex-m4, compiled for it."),
    ] = None,
    flash: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The flash of the device, such as 32KB (32,000) or 32KiB (32,768 bytes)."),
    ] = None,
    ram: Annotated[str | None, typer.Option(metavar="SIZE", help="The RAM of the device, such as 8KiB.")] = None,
    only: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Try only these classifiers, such as smo,bpegasos-100.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=64, help="The number of processes.  [default: one per core, at most 8]"),
    ] = None,
    label: Label = None,
    positive: Positive = None,
    test: TestFile = None,
    split: Split = None,
    seed: SplitSeed = 0,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="What to do with a missing number: fill in the median, refuse it, or drop the row.  [default: median]",
            show_default=False,
        ),
    ] = None,
    scale: Scale = None,
    header: Header = None,
    separator: Separator = None,
    missing_words: MissingWords = True,
    first_index: FirstIndex = None,
    results: ResultsRoot = Path("results"),
    data_folder: DataFolder = None,
    mirror: Mirror = None,
    offline: Offline = False,
) -> None:
    """Find the small, fast classifier that suits your data.

    Takes about a minute. A validation set chooses the classifier and its settings (below 2,000 training rows:
    cross-validation). The reported errors are those on a separate test set. A constant, a logistic regression and
    boosted trees show what the size costs. RESULTS/try-NAME then holds the answer, the chosen model, also in C and
    ONNX, and the config that trains the model again.

    Exit code 1: nothing was chosen, because nothing is better than a constant.
    """
    from mpu_bench.selection.rows import Source

    began = time.monotonic()
    given: dict[str, Any] = {
        "label": label, "positive": positive, "test": None if test is None else str(test), "split": split, "seed": seed,
        "missing": missing, "scale": scale, "header": header, "separator": separator,
        "missing_words": None if missing_words else False, "first_index": first_index,
    }  # fmt: skip
    wishes: Mapping[str, Any] = {key: value for key, value in given.items() if value is not None}
    budgets, most_bytes = _budgets(budget), _bytes(memory, "--memory")
    target = _target(device, flash, ram)
    name, options, wishes = _dataset(file, wishes)
    home = data_directory(data_folder, mirror, offline)
    source = Source(name, options, home=home, seed=seed, metric="" if metric is None else metric.value)
    if online:
        chooses = {"any": any_, "threshold": threshold is not None}
        streaming.refuse({"memory": memory, "device": device, "split": split, "jobs": jobs, **chooses})
        folder = results / f"try-{name}-online"
        chosen = None if only is None else partial(_among, only=only)
        raise typer.Exit(streaming.judge_online(source, budgets, chosen, seconds=seconds, folder=folder))
    source, data = _loaded(source, threshold)
    session = _session(source, data, _tried(source, data, budgets, only), seconds=seconds, target=target, any_=any_)
    session.most_bytes = most_bytes
    code = _select(
        session,
        data,
        file=file,
        wishes=wishes,
        jobs=jobs or min(os.cpu_count() or 1, _MOST_JOBS),
        folder=results / f"try-{name}",
    )
    took, working = time.monotonic() - began, session.seconds_spent - session.preparing - session.compiling
    say(
        f"took {took:.0f} s: {working:.0f} s to tune, test and write, the rest to read the data, start processes and "
        "compile"
    )
    raise typer.Exit(code)


def _budgets(text: str) -> tuple[int, ...]:
    from mpu_bench.errors import ConfigError

    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and 2 <= int(word) <= 1_000_000 for word in words):
        raise ConfigError(f"--budget {text}: must be numbers of support vectors from 2 on, such as 100,500")
    return tuple(dict.fromkeys(map(int, words)))


def _bytes(text: str | None, option: str) -> int | None:
    from mpu_bench.config.schema import bytes_of

    return None if text is None else bytes_of(text, option)


def _target(device: str | None, flash: str | None, ram: str | None) -> Target | None:
    """Return the device to choose for; what is not given of it is as on a chip with it."""
    from mpu_bench.errors import ConfigError
    from mpu_bench.models.export.device import named
    from mpu_bench.selection.target import Target

    if device is None:
        if flash is not None or ram is not None:
            raise ConfigError("--flash and --ram are those of a device: name it by --device")
        return None
    chosen = named(device)
    bytes_there = _bytes(flash, "--flash") or chosen.flash, _bytes(ram, "--ram") or chosen.ram
    return Target(chosen, *bytes_there)


def _dataset(file: str, wishes: Mapping[str, Any]) -> tuple[str, dict[str, Any], Mapping[str, Any]]:
    """Return the name of a dataset and its options: of a file, or of a card with that name; and what is said of it.

    Missing numbers of a table become the median unless something else is said.
    """
    from mpu_bench.cli.adding import wishes_of
    from mpu_bench.data.cards import catalog
    from mpu_bench.data.user_files.adding import name_of, options_of, remarks
    from mpu_bench.data.user_files.formats import unnamed
    from mpu_bench.data.user_files.tables import open_table
    from mpu_bench.errors import ConfigError

    if not Path(file).exists() and file in catalog.names():
        of_files = [f"--{key.replace('_', '-')}" for key in wishes if key not in ("positive", "seed")]
        if of_files:
            raise ConfigError(
                f"{', '.join(of_files)}: cannot be given for '{file}', which is a dataset with a card, not a file"
            )
        return file, {key: wishes[key] for key in ("positive",) if key in wishes}, wishes
    name, said = name_of(Path(file)), wishes_of(wishes, "try")
    if (
        "missing" not in wishes
        and open_table(Path(file), separator=unnamed(wishes.get("separator")), header=said.header).format != "svmlight"
    ):
        wishes = {**wishes, "missing": "median"}
        said = wishes_of(wishes, "try")
    found = options_of(Path(file), said, file, f"my-{name}" if name in catalog.names() else name)
    left_out, notes = remarks(Path(file), said)
    for column, why in left_out[:_MOST_COLUMNS]:
        say(f"column '{column}' is left out: {why}")
    if len(left_out) > _MOST_COLUMNS:
        say(f"and {len(left_out) - _MOST_COLUMNS:,} more columns are left out; mpu-bench data add {file} lists them")
    for note in notes:
        say(f"warning: {note}")
    return *found, wishes


def _loaded(source: Source, threshold: bool | None) -> tuple[Source, Data]:
    """Load the rows, and settle what chooses."""
    from mpu_bench.data.download.progress import for_console
    from mpu_bench.errors import ConfigError, DataError
    from mpu_bench.models.evaluation import METRICS

    data, name = source.load(for_console(console(stderr=True))), source.dataset
    if not data.problem.n_test:
        raise DataError(f"{name}: has no test rows; a file is split by --split 0.8, or give --test FILE")
    if data.problem.n < _FEWEST_ROWS:
        raise DataError(f"{name}: has {data.problem.n} training rows; at least {_FEWEST_ROWS} are needed to choose by")
    if data.problem.n < 2 * len(data.problem.classes):
        raise DataError(
            f"{name}: has {len(data.problem.classes):,} classes in {data.problem.n:,} training rows, so that most have "
            "one; name another column as the label by --label"
        )
    chosen, why = (source.metric, "--metric") if source.metric else data.fitting_metric()
    of_labels = chosen in (Metric.ACCURACY, Metric.BALANCED_ACCURACY, Metric.F1) and len(data.problem.classes) == 2
    if threshold and not of_labels:
        raise ConfigError(f"--threshold: it makes no difference to {METRICS[chosen]}, or there are several classes")
    tunes = threshold if threshold is not None else of_labels and chosen != Metric.ACCURACY
    draws = f", {data.repeats} times" if data.repeats > 1 else ""
    by = (
        f"{data.folds}-fold cross-validation{draws}" if data.is_cross_validated else f"{data.validation_rows:,} of them"
    )
    say(
        f"{name}: {data.problem.n:,} training rows of {data.problem.features:,} features, {data.problem.n_test:,} test "
        f"rows; {METRICS[chosen]} chooses ({why}), by {by}{', and the threshold' * tunes}"
    )
    return replace(source, metric=chosen, threshold=tunes), data


def _tried(source: Source, data: Data, budgets: tuple[int, ...], only: str | None) -> list[Candidate]:
    """Return who is tried; the constant always is."""
    from mpu_bench.selection.candidates import CONSTANT, Facts, candidates

    facts = Facts(
        data.width,
        source.metric,
        classes=len(data.problem.classes),
        numbers=data.problem.n * data.problem.features,
        budgets=budgets,
    )
    every = candidates(facts)
    return every if only is None else _among(every, f"{only},{CONSTANT}")


def _session(
    source: Source, data: Data, tried: list[Candidate], *, seconds: float, target: Target | None, any_: bool
) -> Session:
    from mpu_bench.selection.session import Session

    return Session(
        source,
        tried,
        learned_from=data.learned_from,
        all_rows=data.problem.n,
        seconds=seconds,
        target=None if target is None else replace(target, rows=data.sample),
        with_references=any_,
    )


def _among(every: list[Candidate], only: str) -> list[Candidate]:
    from mpu_bench.errors import ConfigError, nearest

    known = {each.name: each for each in every}
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in known:
            raise ConfigError(f"--only: there is no classifier '{name}'; {nearest(name, known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _select(session: Session, data: Data, *, file: str, wishes: Mapping[str, Any], jobs: int, folder: Path) -> int:
    """Make the selection and keep what comes of it; return the exit code."""
    from mpu_bench.display.selection import Display
    from mpu_bench.files import told_if_unwritable

    code = 0
    with told_if_unwritable(folder):
        for name in _WRITTEN:  # of an earlier selection: it must not stand beside the table of this one
            (folder / name).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="mpu-bench-") as kept:
        session.folder = Path(kept)
        with Display(console(stderr=True), session) as display:
            kept_at = -math.inf

            def changed(outcome: Outcome) -> None:
                nonlocal kept_at
                if time.monotonic() - kept_at > _SECONDS_BETWEEN_TABLES:
                    _keep_table(outcome, folder)
                    kept_at = time.monotonic()
                display.show(outcome)

            session.changed = changed
            try:
                session.make(jobs)
            except KeyboardInterrupt:
                code = INTERRUPTED
        is_chosen = _keep(session, data, file=file, wishes=wishes, folder=folder)
    return code or (0 if is_chosen else FAILED)


def _keep_table(outcome: Outcome, folder: Path) -> None:
    from mpu_bench.files import write_all
    from mpu_bench.selection.outcome import as_csv

    write_all(folder, {"candidates.csv": as_csv(outcome)})


def _keep(session: Session, data: Data, *, file: str, wishes: Mapping[str, Any], folder: Path) -> bool:
    """Write the answer: table, picture, page, model and config; say it, and return whether something was chosen."""
    from mpu_bench.display.selection import shown_table
    from mpu_bench.files import write_all
    from mpu_bench.report import choice, front

    outcome, name = session.outcome, session.source.dataset
    _keep_table(outcome, folder)
    files: dict[str, Any] = front.drawn(outcome, name) if outcome.front else {}
    made, faults = _choice_files(session, data, file=file, wishes=wishes, folder=folder)
    files |= made
    told = choice.sentences(outcome, name)
    shown = console()
    shown.print(shown_table(outcome))
    for line in [*told, *faults]:
        shown.tell(line)
    written = [f"{each}: {words}" for each, words in _WRITTEN.items() if each in files or (folder / each).exists()]
    page = choice.page(outcome, name, [*told, *faults], picture=files.get("front.svg", b""), files=written)
    write_all(folder, files | {"report.html": page})
    say(f"in {folder}: report.html, {', '.join(each.partition(':')[0] for each in written)}")
    return outcome.chosen is not None


def _choice_files(
    session: Session, data: Data, *, file: str, wishes: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Write the chosen model; return the files beside it, by name, and why one is not there."""
    from mpu_bench.selection.repetition import config_of, exports_of

    kept, outcome = session.choice(), session.outcome
    if kept is None or outcome.chosen is None:
        return {}, []
    (classifier, saved), bits = kept, None
    if session.target is not None:
        from mpu_bench.selection.target import BITS

        bits = BITS[outcome.chosen.form]
    saved.save(folder / "model.mpu")
    files, faults = exports_of(saved, data.sample, bits)
    config = config_of(
        classifier,
        session.source,
        file=file,
        wishes=wishes,
        rows=session.all_rows,
        folder=folder,
        threshold=outcome.chosen.threshold,
    )
    return files | {"repeat.yaml": config}, faults
