"""Saved models as C and ONNX: written once they are compiled, or run, and compared with Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from mpu_bench.cli.options import FAILED, say, write
from mpu_bench.cli.predicting import check_free, pieces_of
from mpu_bench.core.models import labels_of
from mpu_bench.core.rows import Dense, take
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.errors import DataError, UserError
from mpu_bench.files import as_store_error, write_together, written_whole
from mpu_bench.installed import extra
from mpu_bench.models.export import agreement, c_test, compiler, onnx_graph
from mpu_bench.models.export.agreement import MIN_AGREEMENT, Agreement, RowsAtHand
from mpu_bench.models.export.c_fixed_machines import FixedPoint
from mpu_bench.models.export.c_float import Source
from mpu_bench.models.export.device import Device, named
from mpu_bench.models.export.footprint import Footprint, footprint, raw_rows
from mpu_bench.models.export.portable import Portable, dense_features, portable, too_coarse
from mpu_bench.models.saved import SavedModel, load
from mpu_bench.texts import counted

_MAX_ROWS, _MAX_NUMBERS = 20_000, 20_000_000  # that are compared
_MADE_UP_ROWS = 20  # to run where there are no others
_MAX_BITS = 16


def export_c(
    model: Path,
    out: Path | None,
    check: str | None,
    home: DataDirectory,
    *,
    fixed_point: bool,
    bits: int | None,
    name: str | None,
    with_test: bool,
    device: str | None,
    force: bool,
) -> None:
    """Write a model as C, or raise what `mpu-bench export-c` exits with; the parameters are the options."""
    target = None if device is None else named(device)
    check_free(out, force, (model, check))
    if out is not None and with_test and out.suffix != ".c":
        raise UserError(f"--out {out}: must end in .c, by which the makefile of --with-test knows its language")
    if bits is not None and not fixed_point:
        raise UserError("--bits needs --fixed-point: it is the width of its integers")
    saved = load(model)
    portable_model = portable(saved)
    rows = _rows_at_hand(saved, portable_model, check, home)
    if with_test and (out is None or rows is None or rows.numbers is None):
        raise UserError("--with-test needs --out FILE, and rows to test it on: a file of raw ones, --check DATA")
    source, how = agreement.sourced(
        portable_model, name or (out or model).stem, rows, (bits or _MAX_BITS) if fixed_point else None
    )
    _check_alike(portable_model, _compared(portable_model, source, rows=rows, how=how, data=check), rows)
    c_rows, labels = _c_rows(saved, portable_model, rows, how)
    if target is not None:
        _check_device(footprint(portable_model, source, target, rows=c_rows, labels=labels), target, rows)
    texts = {} if out is None else {out: source.text}
    if out is not None and with_test:
        texts |= c_test.files_beside(source, out, c_rows, labels)
    for path in [*texts][1:]:
        check_free(path, force, (model, check))
    if out is None:
        write(source.text)
    else:
        with as_store_error(out):
            write_together(texts)
        say(f"written: {out}: int {source.name}_predict(row) and void {source.name}_scores(row, scores)")
    if with_test:
        say(f"also written: {', '.join(path.name for path in [*texts][1:])}")
    _tell_sizes(source, "" if device else "; for flash, RAM and time on a device: --device cortex-m0")


def export_onnx(model: Path, out: Path, check: str | None, home: DataDirectory, *, force: bool) -> None:
    """Write a model as ONNX, or raise what `mpu-bench export-onnx` exits with; the parameters are the options."""
    check_free(out, force, (model, check))
    saved = load(model)
    portable_model = portable(saved)
    content = onnx_graph.onnx_bytes(portable_model)
    rows = None if check is None else _rows_at_hand(saved, portable_model, check, home)
    _check_alike(portable_model, _onnx_compared(saved, content, rows), rows)
    with as_store_error(out), written_whole(out) as stream:
        stream.write(content)
    answers = "label, scores and probabilities" if saved.sigmoids is not None else "label and scores"
    say(f"written: {out}: rows of {counted(len(portable_model.columns), 'number')} in, {answers} out")


def _check_alike(model: Portable, share: float | None, rows: RowsAtHand | None) -> None:
    """Raise if labels differ from those of Python, or if nobody has compared them and they may."""
    if share is not None and share < MIN_AGREEMENT:
        say(f"nothing written: fewer than {100 * MIN_AGREEMENT:.0f}% of the labels agree")
        raise typer.Exit(FAILED)
    if (share is None or rows is None or rows.numbers is None) and (why := too_coarse(model)):
        raise DataError(f"nothing written: {why}; or show that labels agree on raw rows: --check DATA")


def _onnx_compared(saved: SavedModel, content: bytes, rows: RowsAtHand | None) -> float | None:
    """Return the share of labels that are the same, and print it, or why nothing was compared."""
    if rows is None or rows.numbers is None:
        say("labels not compared: no raw rows; name a file with --check DATA")
        return None
    answers = onnx_graph.runtime_answers(content, rows.numbers)
    if answers is None:
        say(f"labels not compared: onnxruntime is not installed; {extra('onnx')}")
        return None
    labels = np.asarray(saved.classes.labels)[labels_of(rows.scores)]
    names = (str(label).encode(errors="backslashreplace").decode() for label in labels.tolist())
    theirs = map(str, np.asarray(answers[0]).tolist())
    differ = sum(one != other for one, other in zip(names, theirs, strict=True))
    largest = float(np.abs(answers[1] - rows.scores).max(initial=0.0))
    return _share_of(Agreement(len(labels), differ, largest), rows, "raw rows")


def _share_of(found: Agreement, rows: RowsAtHand, which: str, remark: str = "") -> float:
    """Return the share of labels that are the same, and print it."""
    counted = f"{len(rows.scores):,} {which}"
    words = f"compared: {counted if rows.whole else f'the first {counted} (the limit)'}; "
    words += f"labels that differ: {found.differ:,} ({100 * found.share:.2f}% agree)"
    if found.largest_difference is not None:
        words += f"; largest difference of a score: {found.largest_difference:.2g}"
    say(words + remark)
    return found.share


def _rows_at_hand(saved: SavedModel, model: Portable, data: str | None, home: DataDirectory) -> RowsAtHand | None:
    """Return rows of a file or a dataset; without one the vectors of a kernel model, whose features are known."""
    row_limit = max(1, min(_MAX_ROWS, _MAX_NUMBERS // max(model.features, len(model.columns))))
    if data is None:
        if model.vectors is None or not model.vectors.shape[0]:
            return None
        features = np.ascontiguousarray(model.vectors[:row_limit].toarray(), np.float32)
        return RowsAtHand(None, features, saved.model.scores(Dense(features)))
    parts, whole, left = list[tuple[Any, ...]](), True, row_limit
    for piece in pieces_of(saved, data, None, labelled=False, home=home):
        if not left:
            whole = False
            break
        whole, first = len(piece) <= left, take(piece.rows, np.arange(min(len(piece), left)))
        raw = () if piece.raw is None else (model.numbers(piece.raw[:left]),)
        parts.append((dense_features(first, saved.features), saved.model.scores(first), *raw))
        left -= len(parts[-1][0])
    if not parts:
        return None
    features, scores, *numbers = map(np.concatenate, zip(*parts, strict=True))
    return RowsAtHand(numbers[0] if numbers else None, features, scores, whole)


def _compared(
    model: Portable, source: Source, rows: RowsAtHand | None, how: FixedPoint | None, data: str | None
) -> float | None:
    """Return the share of labels that are the same, and print it, or why nothing was compared."""
    if rows is None:
        say("labels not compared: no rows; name a file with --check DATA")
        return None
    if compiler.find_compiler() is None:
        say("labels not compared: no C compiler (cc, gcc or clang) on the PATH")
        return None
    which = "raw rows" if rows.numbers is not None else "prepared rows" if data else "of the model's own vectors"
    without = "" if rows.numbers is not None else "; the steps before were not: name a file of raw rows with --check"
    return _share_of(agreement.compared(model, source, rows, how), rows, which, without)


def _c_rows(
    saved: SavedModel, model: Portable, rows: RowsAtHand | None, how: FixedPoint | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows as the C file takes them, with Python's labels; rows of random features where there are none."""
    if rows is None:
        features = np.random.default_rng(0).normal(size=(_MADE_UP_ROWS, model.features)).astype(np.float32)
        features[:, model.made_of_columns :] = model.constants
        rows = RowsAtHand(None, features, saved.model.scores(Dense(features)))
    numbers = raw_rows(model, rows.features) if rows.numbers is None else rows.numbers
    return numbers if how is None else how.rows(numbers), labels_of(rows.scores)


def _check_device(costs: Footprint, device: Device, rows: RowsAtHand | None) -> None:
    """Print what a prediction takes of a device, and raise if labels differ there."""
    say(f"{device.name}: {costs.flash:,} bytes of flash, {costs.ram:,} of RAM with the stack (-Os)")
    say(f"{device.name}: {costs.instructions:,} instructions per prediction, {costs.duration(device)}")
    if costs.estimated:
        say(f"{device.name}: all of this is an estimate from a table of measured models ({costs.estimated})")
        return
    say(f"{device.name}: bytes by arm-none-eabi-size, stack and instructions counted in qemu ({device.board})")
    if rows is not None and rows.numbers is not None:
        say(f"{device.name}: {costs.rows - costs.differ} of {costs.rows} labels agree on the device")
        if costs.differ > (1 - MIN_AGREEMENT) * costs.rows:
            say(f"nothing written: fewer than {100 * MIN_AGREEMENT:.0f}% of the labels agree")
            raise typer.Exit(FAILED)


def _tell_sizes(source: Source, advice: str) -> None:
    say(f"flash: {source.constant_bytes:,} bytes of constants; RAM: {source.array_bytes:,} bytes of stack arrays")
    words = {"multiply_adds": "multiply-adds", "exponentials": "exponentials", "cosines": "sines and cosines"}
    shown = [name for name in words if source.counts.get(name) or name == "multiply_adds"]
    counts = [f"{source.counts[name]:,} {words[name]}" for name in shown]
    say(f"per prediction: {', '.join(counts)}{advice}")
