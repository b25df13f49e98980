import numpy as np
import pytest

from mpu_bench.core.counters import KERNEL_EVALUATIONS, NAMES, PRESENTED, new_counters, reached
from mpu_bench.core.solver import Until


def test_all_counts_begin_at_zero():
    counters = new_counters()
    assert counters.dtype == np.int64
    assert counters.tolist() == [0] * len(NAMES)


@pytest.mark.parametrize("function", [reached, reached.py_func], ids=["compiled", "plain"])
def test_an_advance_stops_at_whichever_counter_is_reached_first(function):
    counters = new_counters()
    assert not function(counters, Until())
    assert function(counters, Until(presented=0))
    counters[PRESENTED], counters[KERNEL_EVALUATIONS] = 5, 70
    assert not function(counters, Until(6, 71))
    assert function(counters, Until(5, 71))
    assert function(counters, Until(6, 70))
