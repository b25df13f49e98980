"""The device that a selection is for: what of a candidate's C file fits it, in floats or in integers alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.models import labels_of
from mpu_bench.errors import DataError
from mpu_bench.models.export.agreement import MIN_AGREEMENT, RowsAtHand, compared, raw_at_hand, sourced
from mpu_bench.models.export.device import Device
from mpu_bench.models.export.footprint import Footprint, footprint
from mpu_bench.models.export.portable import Portable, portable
from mpu_bench.models.saved import SavedModel

Form = Literal["floats", "fixed point"]
BITS: dict[Form, int | None] = {"floats": None, "fixed point": 16}  #: of the integers of a C file
_ROWS_ON_DEVICE = 50
_SMALLEST_SHARE = 2  # of the bytes of floats: integers have 16 bits


@dataclass(frozen=True)
class Fitting:
    """What a C file takes of the device, and in which form; or the reason why it cannot be there."""

    form: Form = "floats"
    footprint: Footprint | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Target:
    """A device, the bytes that a model may take of it, and rows that are predicted there.

    Attributes
    ----------
    device : Device
    flash, ram : int
    rows : array of float32, shape (n, d)
        Features of training rows, without a constant that a classifier appends.
    """

    device: Device
    flash: int
    ram: int
    rows: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @property
    def max_bytes(self) -> int:
        """The bytes of numbers in single precision beyond which no form of a model fits."""
        return _SMALLEST_SHARE * self.flash

    @property
    def without_file(self) -> Fitting:
        """What is known of a reference there."""
        return Fitting(reason="has no C file")

    def fitting(self, saved: SavedModel, size: int) -> Fitting:
        """Return what a model takes of the device: in the form with the fewest instructions of those that fit.

        Parameters
        ----------
        saved : SavedModel
        size : int
            Bytes of its numbers in single precision.
        """
        if size > self.max_bytes:
            return Fitting(reason=f"does not fit: {size:,} bytes of numbers alone")
        ranked: list[tuple[bool, int, Fitting]] = []
        faults: list[str] = []
        for form in BITS:
            try:
                model = portable(saved)
                taken = self._taken(model, form, raw_at_hand(model, self.rows))
            except DataError as error:
                faults.append(f"{form}: {error}")
                continue
            misfit = self.misfit(taken)
            ranked.append((bool(misfit), taken.instructions, Fitting(form, taken, misfit)))
        if not ranked:
            return Fitting(reason=f"has no C file: {'; '.join(faults)}")
        return min(ranked, key=lambda entry: entry[:2])[2]

    def _taken(self, model: Portable, form: Form, rows: RowsAtHand) -> Footprint:
        """Return what a form of a C file takes.

        Raises
        ------
        DataError
            If there is no such form, or integers do not give the labels of Python, or nobody can know.
        """
        source, how = sourced(model, "model", rows, BITS[form])
        inputs, labels = rows.numbers[:_ROWS_ON_DEVICE], labels_of(rows.scores[:_ROWS_ON_DEVICE])  # type: ignore[index]
        if how is None:
            return footprint(model, source, self.device, inputs, labels)
        if (share := compared(model, source, rows, how).share) < MIN_AGREEMENT:
            raise DataError(f"only {100 * share:.1f} % of the labels are the same")
        return footprint(model, source, self.device, how.rows(inputs), labels)

    @property
    def words(self) -> str:
        """The device with its limits, in words."""
        return f"{self.device.name} with {self.flash:,} bytes of flash and {self.ram:,} of RAM"

    def misfit(self, taken: Footprint) -> str:
        """Return in words what does not fit; nothing if all does."""
        parts = ("flash", taken.flash, self.flash), ("RAM", taken.ram, self.ram)
        about = "about " if taken.estimated else ""
        excess = [f"{about}{needed:,} of {there:,} bytes of {name}" for name, needed, there in parts if needed > there]
        return f"does not fit: {' and '.join(excess)}" if excess else ""
