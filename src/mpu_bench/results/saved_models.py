"""Where the models of an experiment are kept: one file for each run, in ``models/`` of its results folder."""

from __future__ import annotations

import re
from pathlib import Path

from mpu_bench.quantities import Record

FOLDER = "models"
NOT_SAVED = "the model is not saved: "  #: begins why, in the reason of a run whose `unsavable` is 1
NOT_WRITTEN = "the model could not be written: "  #: likewise, where it may be another time
#: what such a file is called; nothing else is ever deleted
NAME = r"[A-Za-z0-9_.+-]{1,120}-seed\d+-[0-9a-f]{16}\.mpu"

_OTHER = re.compile(r"[^A-Za-z0-9_.+-]+")
_LONGEST = 60  # characters of a name in a name


def model_file(folder: Path, record: Record) -> Path:
    """Return the file of a run's model: dataset, split, solver, seed and the key of the result are its name.

    Parameters
    ----------
    folder : Path
        The results folder.
    record : Record
    """
    words = [record.dataset, record.split, record.solver]
    named = "-".join(_OTHER.sub("_", str(word))[:_LONGEST] for word in words if word)[:120]
    return folder / FOLDER / f"{named}-seed{record.seed}-{record.run_id}.mpu"
