"""The C compiler of this machine: what a C file answers for rows."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.models.export.c_float import Source

_COMPILERS = ("cc", "gcc", "clang")
_MAX_SECONDS = 600
_FLAGS = ("-std=c99", "-ffp-contract=off")
_DRIVER = """
#include <stdio.h>
#include "{file}"

int main(void)
{{
  static {kind} row[{width}];
  {score} scores[{scores}];
  {score} f[{machines}];
  while (fread(row, sizeof row[0], {width}, stdin) == {width}) {{
    int32_t label;
    {body}
    fwrite(&label, sizeof label, 1, stdout);
    fwrite(scores, sizeof scores[0], {scores}, stdout);
  }}
  (void)f;
  return 0;
}}
"""
_WHOLE = "label = {name}_predict(row); {name}_scores(row, scores);"
_PREPARED = "machine_scores(row, f); label = choose(f); class_scores(f, scores);"


def find_compiler() -> str | None:
    """Return the C compiler on the path, if there is one."""
    return next(filter(None, map(shutil.which, _COMPILERS)), None)


def answers(
    source: Source, rows: NDArray[Any], scores: int, machines: int, folder: Path, prepared: bool = False
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return what a C file answers for rows when it is compiled: class indices (n,) and scores (n, c).

    Parameters
    ----------
    source : Source
    rows : array of float32, float64 or int16, shape (n, columns)
        As the file takes them; with ``prepared``, as its machines take them.
    scores, machines : int
        How many it computes for a row.
    folder : Path
        Where files are put meanwhile.
    prepared : bool

    Raises
    ------
    DataError
        If it does not compile, or its program fails.
    """
    file, program = folder / "model.c", folder / "program"
    file.write_text(source.text, encoding="ascii")
    score = "int32_t" if source.input_scale else "float"
    kind = {"f": "float", "d": "double", "h": "int16_t"}[rows.dtype.char]
    driver = _DRIVER.format(
        file=file.name, kind=kind, score=score, width=rows.shape[1], scores=scores, machines=machines,
        body=(_PREPARED if prepared else _WHOLE).format(name=source.name),
    )  # fmt: skip
    (folder / "driver.c").write_text(driver, encoding="ascii")
    called([_compiler(), *_FLAGS, "-O2", "-o", str(program), str(folder / "driver.c"), "-lm"])
    output = called([str(program)], np.ascontiguousarray(rows).tobytes())
    record = np.dtype([("label", np.int32), ("scores", np.int32 if source.input_scale else np.float32, (scores,))])
    records = np.frombuffer(output, record)
    if len(records) != len(rows):
        raise DataError(f"the compiled model answered {len(records)} of {len(rows)} rows")
    return records["label"], records["scores"]


def _compiler() -> str:
    compiler = find_compiler()
    if compiler is None:
        raise DataError("no C compiler (cc, gcc or clang) on the PATH")
    return compiler


def called(command: Sequence[str], stdin: bytes = b"", codes: Sequence[int] = (0,)) -> bytes:
    """Return what a program writes.

    Parameters
    ----------
    command : sequence of str
    stdin : bytes
        What it reads.
    codes : sequence of int
        Exit codes that are answers.

    Raises
    ------
    DataError
        If it is not there, fails, or takes too long.
    """
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=_MAX_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise DataError(f"{Path(command[0]).name} took more than {_MAX_SECONDS} seconds") from None
    except OSError as error:
        fix = "; name a folder in which programs may be run by TMPDIR" if isinstance(error, PermissionError) else ""
        raise DataError(f"{Path(command[0]).name} cannot be run: {error.strerror}{fix}") from None
    if done.returncode not in codes:
        said = done.stderr.decode(errors="replace").strip()[:500]
        raise DataError(f"{Path(command[0]).name} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout
