"""Between two looks at the clock lies a tenth of a second of work, whatever an example costs."""

from itertools import pairwise
from types import SimpleNamespace
from unittest import mock

from mpu_bench import SDCAClassifier
from mpu_bench.core.counters import KERNEL_EVALUATIONS, PRESENTED, new_counters
from mpu_bench.core.solver import Status, Until
from mpu_bench.estimators import base

_CHEAP, _ROW, _UNITS_A_SECOND = 1_000_000, 2_000, 100_000.0


class DearerLater:
    """A solver whose first examples cost nothing, and the others a row of kernel values."""

    def advance(self, state: SimpleNamespace, until: Until) -> Status:
        counters = state.counters
        while counters[PRESENTED] < until.presented and counters[KERNEL_EVALUATIONS] < until.kernel_evaluations:
            if counters[PRESENTED] < _CHEAP:
                counters[PRESENTED] = min(until.presented, _CHEAP)
                continue
            counters[PRESENTED] += 1
            counters[KERNEL_EVALUATIONS] += _ROW
        return Status.RUNNING


def test_a_slice_of_dear_examples_after_cheap_ones_is_short() -> None:
    state, looks = SimpleNamespace(counters=new_counters()), [0.0]

    def now() -> float:
        looks.append(float(state.counters[PRESENTED] + state.counters[KERNEL_EVALUATIONS]) / _UNITS_A_SECOND)
        return looks[-1]

    with mock.patch.object(base, "time", SimpleNamespace(perf_counter=now)):
        ended = SDCAClassifier()._train(DearerLater(), state, Until(presented=_CHEAP + 1000), base.Fit())  # type: ignore[arg-type]
    assert ended == "max_iter"
    slices = [after - before for before, after in pairwise(looks)]
    assert 0.05 < max(slices) <= 8 * 0.1 + _ROW / _UNITS_A_SECOND
