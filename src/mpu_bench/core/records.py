"""Scalars that change while a solver runs, as the fields of a record: ``p.position += 1`` in jitted code.

A NamedTuple of arrays cannot be assigned to; a one-element record array in it can, field by field.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def new_record(dtype: np.dtype[Any], **values: Any) -> np.recarray[Any, Any]:
    """Return a record array of one element, zero but for ``values``; jitted code works on its element 0.

    Parameters
    ----------
    dtype : dtype
        With named fields, such as ``np.dtype([("position", "i8"), ("gap", "f8")])``.
    **values
        The first values of fields.

    Returns
    -------
    recarray, shape (1,)
    """
    record = np.zeros(1, dtype).view(np.recarray)
    for name, value in values.items():
        record[name] = value
    return record
