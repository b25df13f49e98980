import math
from pathlib import Path

import pytest

from mpu_bench.core import counters
from mpu_bench.core.solver import Measures
from mpu_bench.quantities import (
    CHECKPOINT_COLUMNS,
    DECLARED,
    FAILED,
    FINISHED,
    QUANTITIES,
    RECORD_COLUMNS,
    RunStatus,
    quantity_of,
)

ROOT = Path(__file__).parents[1]


def test_all_that_a_solver_measures_or_counts_is_declared() -> None:
    assert {*Measures._fields, *counters.NAMES} <= set(DECLARED)
    assert {*Measures._fields, *counters.NAMES} <= set(CHECKPOINT_COLUMNS)


def test_what_is_soon_measured_has_its_column() -> None:
    soon = {"waiting_seconds", "steal_seconds", "probe_seconds", "load", "balanced_error", "positives_found"}
    assert soon | {"model_bytes", "prediction_seconds", "cpu_seconds", "machine"} <= set(RECORD_COLUMNS)


def test_every_column_says_what_it_means() -> None:
    for column in (*RECORD_COLUMNS.values(), *DECLARED.values()):
        assert column.help
        assert not column.help.endswith(".")
    for quantity in DECLARED.values():
        assert quantity.in_runs or quantity.in_curves or quantity.derive is not None


def test_numbers_are_read_as_their_quantity_says() -> None:
    assert DECLARED["test_error"].text(0.15) == "15.00"
    assert DECLARED["test_error"].spread(0.001) == " ±0.1"
    assert DECLARED["test_error"].text(None) == DECLARED["test_error"].spread(None) == ""
    assert DECLARED["gap"].heading == "duality gap"
    assert DECLARED["inner_products"].heading == "inner products"


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [("updates", "12", 12), ("updates", 12.0, 12), ("updates", 2**60 + 1, 2**60 + 1), ("gap", "1e-3", 1e-3),
     ("gap", 1, 1.0), ("gap", math.nan, None), ("gap", "", None), ("gap", None, None), ("solver", "mpu", "mpu")],
)  # fmt: skip
def test_values_and_texts_become_the_type_of_their_column(name: str, value: object, typed: object) -> None:
    result = RECORD_COLUMNS[name].typed(value)
    assert result == typed
    assert type(result) is type(typed)


def test_a_column_of_a_published_table_is_a_quantity() -> None:
    assert quantity_of("seconds") is DECLARED["train_seconds"]
    assert quantity_of("accuracy_percent").better == "higher"
    assert quantity_of("SBP lies below") is None
    assert "steps" not in QUANTITIES  # no run has it, so no claim can be about it


def test_a_status_is_its_word() -> None:
    assert [*FINISHED, *FAILED, "not run"] == list(RunStatus)
    assert RunStatus.OUT_OF_MEMORY == "out-of-memory"
    assert "done" in FINISHED
