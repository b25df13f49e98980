import math
from pathlib import Path

import pytest

from mpu_bench.core import counters
from mpu_bench.core.solver import Measures
from mpu_bench.quantities import (
    CHECKPOINT_COLUMNS,
    COLUMNS,
    DECLARED,
    FAILED,
    FINISHED,
    QUANTITIES,
    RECORD_COLUMNS,
    Record,
    RunStatus,
    quantity_of,
)

ROOT = Path(__file__).parents[1]


def test_all_that_a_solver_measures_or_counts_is_declared() -> None:
    assert {*Measures().by_name(), *counters.NAMES} <= set(CHECKPOINT_COLUMNS) <= set(DECLARED)


def test_what_is_soon_measured_has_its_column() -> None:
    soon = {"waiting_seconds", "steal_seconds", "probe_seconds", "load", "balanced_error", "positives_found"}
    assert soon | {"model_bytes", "cpu_seconds", "machine"} <= set(RECORD_COLUMNS)


def test_every_column_says_what_it_means() -> None:
    for column in (*RECORD_COLUMNS.values(), *DECLARED.values()):
        assert column.help
        assert not column.help.endswith(".")
    for quantity in DECLARED.values():
        assert quantity.in_runs or quantity.in_curves or quantity.name not in COLUMNS


def test_numbers_are_read_as_their_quantity_says() -> None:
    assert DECLARED["test_error"].text(0.15) == "15.00"
    assert DECLARED["test_error"].spread(0.001) == " ±0.1"
    assert DECLARED["test_error"].text(None) == DECLARED["test_error"].spread(None) == ""
    assert DECLARED["gap"].heading == "duality gap"
    assert DECLARED["inner_products"].heading == "inner products"


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [("updates", "12", 12), ("updates", "12.0", 12), ("updates", str(2**60 + 1), 2**60 + 1), ("gap", "1e-3", 1e-3),
     ("gap", "1", 1.0), ("gap", "nan", None), ("gap", "1e200", None), ("gap", "", None), ("solver", "mpu", "mpu")],
)  # fmt: skip
def test_texts_become_the_type_of_their_column(name: str, value: str, typed: object) -> None:
    result = RECORD_COLUMNS[name].of_text(value)
    assert result == typed
    assert type(result) is type(typed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("updates", 1.5), ("updates", True), ("updates", 2**63), ("updates", -1), ("n", -5), ("gap", "x"),
        ("solver", 1), ("test_error", -0.5), ("online_error", -1),
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_range_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match="belongs"):
        RECORD_COLUMNS[name].checked(value)


def test_what_is_not_finite_or_missing_is_none() -> None:
    assert [COLUMNS["gap"].checked(value) for value in (None, math.nan, math.inf, 1e200, 0.5)] == [None] * 4 + [0.5]


def test_what_follows_from_a_record_is_an_attribute_like_others() -> None:
    record = Record(test_error=0.25, passes=2.0, n=10, support_vectors=5, threads=1, cpu_seconds=3.0)
    assert (record.test_error_percent, record.test_accuracy_percent) == (25.0, 75.0)
    assert (record.examples, record.support_vectors_percent, record.comparable_seconds) == (20.0, 50.0, 3.0)
    assert Record().test_error_percent is None
    assert record.known().keys() == {"test_error", "passes", "n", "support_vectors", "threads", "cpu_seconds"}


def test_a_column_of_a_published_table_is_a_quantity() -> None:
    assert quantity_of("seconds") is DECLARED["train_seconds"]
    assert quantity_of("accuracy_percent").better == "higher"
    assert quantity_of("SBP lies below") is None
    assert "steps" not in QUANTITIES  # no run has it, so no claim can be about it


def test_a_status_is_its_word() -> None:
    assert [*FINISHED, *FAILED, "not run"] == list(RunStatus)
    assert RunStatus.OUT_OF_MEMORY == "out-of-memory"
    assert "done" in FINISHED


def test_headings_name_the_unit() -> None:
    binary = {name: each.heading for name, each in DECLARED.items() if "2^20" in each.unit}
    assert binary
    assert all(heading.endswith(", MiB") for heading in binary.values()), binary
