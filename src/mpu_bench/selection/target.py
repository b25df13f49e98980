"""The device that a selection is for: what of a candidate's C file fits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mpu_bench.data.cards import catalog
from mpu_bench.data.prepare.load import preprocessing_of
from mpu_bench.errors import DataError
from mpu_bench.models.export.c_float import float_source
from mpu_bench.models.export.device import Device
from mpu_bench.models.export.footprint import Footprint, footprint, raw_rows
from mpu_bench.models.export.portable import portable
from mpu_bench.selection.rows import Source


@dataclass(frozen=True, eq=False)
class Target:
    """A device, the bytes that a model may take of it, and rows that are predicted there.

    Attributes
    ----------
    device : Device
    flash, ram : int
    rows : array or CSR matrix, shape (n, d)
        Features, without a constant that a classifier appends.
    """

    device: Device
    flash: int
    ram: int
    rows: Any = None

    def footprint(self, classifier: Any, source: Source, size: int) -> Footprint | str:
        """Return what a fitted classifier takes of the device, or why it cannot be there; ``size`` is in bytes."""
        from mpu_bench.estimators.saving import saved_model

        if size > self.flash:
            return f"does not fit: {size:,} bytes of numbers alone"
        card = catalog.card(source.dataset, source.options)
        try:
            model = portable(saved_model(classifier, preprocessing_of(card, source.home)))
            text = float_source(model, "model")
        except DataError as fault:
            return f"has no C file: {fault}"
        dense = self.rows if isinstance(self.rows, np.ndarray) else self.rows.toarray()
        labels = np.asarray(classifier.predict(self.rows))
        return footprint(model, text, self.device, raw_rows(model, dense), labels)

    @property
    def words(self) -> str:
        """The device with its limits, in words."""
        return f"{self.device.name} with {self.flash:,} bytes of flash and {self.ram:,} of RAM"

    def misfit(self, found: Footprint) -> str:
        """Return in words what does not fit; nothing if all does."""
        parts = ("flash", found.flash, self.flash), ("RAM", found.ram, self.ram)
        told = [f"{needed:,} of {there:,} bytes of {name}" for name, needed, there in parts if needed > there]
        return f"does not fit: {' and '.join(told)}" if told else ""
