"""The C compiler of this machine: what a C file answers for rows, and how large it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.models.export.c_float import Source

_COMPILERS = ("cc", "gcc", "clang")
_MOST_SECONDS = 600
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
_INNER = ("make_features", "machine_scores", "choose", "class_scores")
_WHOLE = "label = {name}_predict(row); {name}_scores(row, scores);"
_PREPARED = "machine_scores(row, f); label = choose(f); class_scores(f, scores);"


@dataclass(frozen=True)
class Size:
    """What a compiled file takes on this machine, in bytes; None: the tools do not say."""

    code: int | None
    stack: int | None


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
    _called([_compiler(), *_FLAGS, "-O2", "-o", str(program), str(folder / "driver.c"), "-lm"])
    output = _called([str(program)], np.ascontiguousarray(rows).tobytes())
    record = np.dtype([("label", np.int32), ("scores", np.int32 if source.input_scale else np.float32, (scores,))])
    found = np.frombuffer(output, record)
    if len(found) != len(rows):
        raise DataError(f"the compiled model answered {len(found)} of {len(rows)} rows")
    return found["label"], found["scores"]


def size_of(source: Source, folder: Path) -> Size:
    """Return how large a file is when it is compiled to be small."""
    file, compiled = folder / "model.c", folder / "model.o"
    file.write_text(source.text, encoding="ascii")
    try:
        _called([_compiler(), *_FLAGS, "-Os", "-fstack-usage", "-c", "-o", str(compiled), str(file)])
    except DataError:  # a compiler without that option
        return Size(None, None)
    return Size(_code_bytes(compiled), _stack_bytes(compiled.with_suffix(".su")))


def _code_bytes(compiled: Path) -> int | None:
    size = shutil.which("size")
    if size is None:
        return None
    text = _called([size, "-A", str(compiled)]).decode(errors="replace")
    sections = re.findall(r"^(\.text\S*|__text)\s+(\d+)", text, re.MULTILINE)
    return sum(int(number) for _, number in sections)


def _stack_bytes(usage: Path) -> int | None:
    """Return the stack of all functions together: each calls others of them once, none itself."""
    if not usage.is_file():
        return None
    sizes = {}
    for line in usage.read_text(errors="replace").splitlines():
        name, size, *_ = line.split("\t")
        sizes[name.rpartition(":")[2]] = int(size)
    inner = [size for name, size in sizes.items() if name in _INNER]
    return max((size for name, size in sizes.items() if name not in _INNER), default=0) + sum(inner)


def _compiler() -> str:
    found = find_compiler()
    if found is None:
        raise DataError("there is no C compiler (cc, gcc or clang) on the PATH")
    return found


def _called(command: Sequence[str], given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=_MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise DataError(f"{Path(command[0]).name} took more than {_MOST_SECONDS} seconds") from None
    except OSError as fault:
        raise DataError(f"{Path(command[0]).name} cannot be run: {fault.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[:500]
        raise DataError(f"{Path(command[0]).name} failed: {said or f'exit code {done.returncode}'}")
    return done.stdout
