"""What goes with a C file: a program that tests it, here and on a Cortex-M; a makefile for it; an Arduino sketch."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.models.export.c_float import Source
from mpu_bench.models.export.c_text import number
from mpu_bench.models.export.device import DEVICES

_BODY, _SKETCH = Path(__file__).with_suffix(".c"), Path(__file__).with_suffix(".ino")
_MAX_ROWS, _MAX_BYTES, _MAX_WORK = 50, 16_000, 200_000  # of the rows, and operations for all
_KINDS = {"f": "float", "d": "double", "h": "int16_t"}


def files_beside(source: Source, file: Path, rows: NDArray[Any], labels: NDArray[Any]) -> dict[Path, str]:
    """Return what is written beside a C file: a test program, a makefile, and an Arduino sketch; by path.

    Parameters
    ----------
    source : Source
    file : Path
        Where it is written.
    rows, labels : arrays
        As of `program_text`.
    """
    program = file.with_name(f"{file.stem}_test.c")
    return {
        program: program_text(source, rows, labels),
        file.with_suffix(".mk"): _makefile(file.name, program.name),
        file.with_suffix(".ino"): _sketch(source, rows),
    }


def program_text(source: Source, rows: NDArray[Any], labels: NDArray[Any]) -> str:
    """Return a program in C that counts the rows whose label is not Python's: of the first ones, as many as are fit.

    Parameters
    ----------
    source : Source
    rows : array of float32, float64 or int16, shape (n, columns)
        As the file takes them.
    labels : array of int, shape (n,)
        Those of Python, by index.
    """
    work = max(sum(source.counts.values()), 1)
    few = max(1, min(_MAX_ROWS, _MAX_BYTES // rows[:1].nbytes, _MAX_WORK // work, len(rows)))
    kind = _KINDS[rows.dtype.char]
    values = ",\n  ".join("{" + ", ".join(_constant(value, kind) for value in row) + "}" for row in rows[:few].tolist())
    return (
        f"/* Rows for {source.name} with Python's labels. Written by mpu-bench export-c. */\n#ifndef ARDUINO\n\n"
        f"#include <math.h>\n#include <stdint.h>\n\n#define PREDICT {source.name}_predict\n#define ROWS {few}\n"
        f"#define COLUMNS {rows.shape[1]}\ntypedef {kind} number;\nint PREDICT(const number *row);\n\n"
        f"#ifndef ONE_ROW\nstatic const number rows[ROWS][COLUMNS] = {{\n  {values}\n}};\n"
        f"static const uint16_t labels[ROWS] = {{{', '.join(map(str, labels[:few].tolist()))}}};\n#endif\n"
        f"{_BODY.read_text(encoding='ascii')}\n#endif\n"
    )


def _constant(value: float, kind: str) -> str:
    if np.isnan(value):
        return "NAN"
    return str(value) if kind == "int16_t" else number(value, kind)


def _makefile(file: str, program: str) -> str:
    """Return a makefile that compiles a C file with its test program, and runs both: here, and on every device."""
    stem = Path(program).stem
    here = ["cc", "-std=c99", "-ffp-contract=off", "-O2", "-o", stem, file, program, "-lm"]
    rules = [("test", here, [f"./{stem}"])]
    for name, device in DEVICES.items():
        elf = f"{stem}-{name}.elf"
        rules.append((name, device.build([file, program], elf), device.emulate(elf)))
    targets = [f"{name}:\n\t{_line(build)}\n\t{_line(run)}\n" for name, build, run in rules]
    names = " ".join(name for name, *_ in rules)
    return f"# Written by mpu-bench export-c. Targets: {names}\n\n" + "\n".join([*targets, f".PHONY: {names}\n"])


def _line(command: list[str]) -> str:
    return shlex.join(command).replace("$", "$$")


def _sketch(source: Source, rows: NDArray[Any]) -> str:
    """Return an Arduino sketch: a row of numbers comes over the serial line, the index of its label goes back."""
    kind, columns = _KINDS[rows.dtype.char], rows.shape[1]
    numbers, read = ("whole numbers", "read_whole") if kind == "int16_t" else ("numbers", "strtod")
    return (
        f"/* Put this sketch into a folder of its name, with the C file. Send {columns} {numbers} a line, with commas\n"
        f"   between; the index of the label comes back. Written by mpu-bench export-c. */\n"
        f"#define PREDICT {source.name}_predict\n#define COLUMNS {columns}\n"
        f'#define WANTED "not a row: send {columns} {numbers} with commas between"\n#define READ {read}\n'
        f'typedef {kind} number;\nextern "C" int {source.name}_predict(const {kind} *row);\n'
        f"{_SKETCH.read_text(encoding='ascii')}"
    )
