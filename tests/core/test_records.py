import numpy as np
import pytest
from numba import njit

from mpu_bench.core.numeric import new_record

PROGRESS = np.dtype([("position", "i8"), ("gap", "f8")])


@njit
def advance(progress):
    p = progress[0]
    p.position += 1
    p.gap = 0.5


@pytest.mark.parametrize("function", [advance, advance.py_func], ids=["compiled", "plain"])
def test_fields_begin_at_zero_or_as_given_and_change_in_place(function):
    progress = new_record(PROGRESS, position=3)
    assert progress.gap[0] == 0.0
    function(progress)
    assert (progress.position[0], progress.gap[0]) == (4, 0.5)


def test_a_field_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="position_"):
        new_record(PROGRESS, position_=1)
