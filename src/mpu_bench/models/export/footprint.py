"""What a model takes of a microcontroller: flash, RAM and instructions, measured in an emulator, or estimated.

A program that predicts one row is compiled to be small and linked with all that it needs; its sections are its flash
and static RAM. Another predicts rows in qemu, and says how deep the stack gets and how many instructions a prediction
is: with `-icount shift=0` each is a nanosecond of SysTick, less those of calls of an empty function.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.models.export import device_costs
from mpu_bench.models.export.c_float import Source
from mpu_bench.models.export.c_test import program_text
from mpu_bench.models.export.compiler import called
from mpu_bench.models.export.device import PROGRAMS, Device
from mpu_bench.models.export.portable import Portable
from mpu_bench.texts import one_line

_LONGEST_REASON = 150
_ANSWER = re.compile(r"(\d+) rows; .*: (\d+); bytes of stack: (\d+); instructions of a prediction: (\d+)")


@dataclass(frozen=True)
class Footprint:
    """What a prediction takes of a device, in bytes and instructions.

    Attributes
    ----------
    flash : int
        Of the model's code and constants, with the functions of libraries.
    ram : int
        Of static data, a row and the stack.
    instructions : int
        Mean over the rows.
    rows, differ : int
        That were predicted there, and those of them whose label is not Python's.
    estimated : str
        Why all this is an estimate; empty if it was measured.
    """

    flash: int
    ram: int
    instructions: int
    rows: int = 0
    differ: int = 0
    estimated: str = ""

    def duration(self, device: Device) -> str:
        """Return in words how long a prediction takes, an estimate."""
        milliseconds = self.instructions * device.cycles / device.megahertz / 1000
        number = f"{milliseconds:.2g}" if milliseconds < 10 else f"{milliseconds:,.0f}"
        return f"about {number} ms ({device.timing}, an estimate)"


def raw_rows(model: Portable, features: NDArray[np.float32]) -> NDArray[Any]:
    """Return raw rows, shape (n, columns), that have these features, shape (n, d), but for rounding."""
    rows = np.zeros((len(features), len(model.columns)))
    codes: dict[int, int] = {}
    for values, origin in zip(features.T, model.sources, strict=False):
        if isinstance(origin, int):
            code = codes[origin] = codes.get(origin, -1) + 1
            rows[:, origin] = np.where(values > 0, code, rows[:, origin] if code else -1)
        else:
            column, shift, width = origin
            rows[:, column] = values.astype(np.float64) * width + shift
    return rows.astype(model.number)


def footprint(model: Portable, source: Source, device: Device, rows: NDArray[Any], labels: NDArray[Any]) -> Footprint:
    """Return what a prediction takes of a device: measured where the programs for it are installed.

    Parameters
    ----------
    model : Portable
    source : Source
        Its C file.
    device : Device
    rows : array of float32, float64 or int16, shape (n, columns)
        As the file takes them.
    labels : array of int, shape (n,)
        Those of Python, by index.
    """
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    try:
        if missing:
            raise DataError(f"not installed: {', '.join(missing)}")
        return _measured(source, device, rows, labels)
    except DataError as error:
        flash, ram, instructions = device_costs.estimate(model, source, device.name)
        return Footprint(flash, ram, instructions, estimated=one_line(str(error), _LONGEST_REASON))


def _measured(source: Source, device: Device, rows: NDArray[Any], labels: NDArray[Any]) -> Footprint:
    if source.constant_bytes > device.flash or source.array_bytes > device.ram:
        raise DataError(f"its arrays alone are larger than the flash or RAM of an {device.chip}")
    with tempfile.TemporaryDirectory() as folder:
        model, test, one, tested = (str(Path(folder, name)) for name in ("model.c", "test.c", "one.elf", "test.elf"))
        Path(model).write_text(source.text, encoding="ascii")
        Path(test).write_text(program_text(source, rows, labels), encoding="ascii")
        called([*device.build([model, test], one), "-DONE_ROW"])
        text, data, bss = map(int, called([PROGRAMS[1], one]).split(b"\n")[1].split()[:3])
        if text + data > device.flash:
            raise DataError(f"it is larger than the flash of an {device.chip}, and cannot be run")
        called(device.build([model, test], tested))
        said = called(device.emulate(tested), codes=(0, 1)).decode(errors="replace")
    match = _ANSWER.search(said)
    if match is None:
        raise DataError(f"the program did not answer on qemu's {device.board}")
    count, differ, stack, instructions = map(int, match.groups())
    return Footprint(text + data, data + bss + stack, instructions, count, differ)
