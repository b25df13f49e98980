from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest

from mpu_bench.display import table
from mpu_bench.display.terminal import Terminal
from mpu_bench.quantities import Record
from records import record as of_columns


def record(**values: object) -> Record:
    known = {
        "dataset": "adult",
        "n": 32561,
        "d": 123,
        "n_test": 16281,
        "solver": "mpu",
        "parameters": json.dumps({"C": 1.0}),
        "kernel": "linear",
        "seed": 0,
        "status": "done",
        "reason": "",
        "as_published": 1,
        "objective": 11434.4,
        "gap": 1e-5,
        "test_error": 0.15,
        "train_seconds": 0.1,
        "passes": 10.0,
    }
    return of_columns(known | values)


def printed(records: list[Record], width: int, published: Sequence[str] = ()) -> str:
    text = io.StringIO()
    table.print_table(records, published, Terminal(file=text, width=width))
    return text.getvalue()


def test_means_and_deviations_over_seeds() -> None:
    text = printed([record(seed=0, test_error=0.1), record(seed=1, test_error=0.2)], 150)
    assert "15.00 ±7" in text
    assert "adult: 32561 x 123, 16281 test rows" in text


def test_the_published_number_stands_beside_the_measured_one() -> None:
    text = printed([record()], 150, ["mpu-table1"])
    assert "reported" in text
    assert "11434.4" in text


@pytest.mark.parametrize("width", [55, 60, 80, 120])
def test_a_narrow_screen_loses_columns_never_letters(width: int) -> None:
    text = printed(
        [record(), record(solver="dcd"), record(status="crashed", solver="liblinear")], width, ["mpu-table1"]
    )
    for word in ("mpu", "dcd", "liblinear", "error, %", "15.00", "seconds", "0.1"):
        assert word in text
    assert "…" not in text
    if width == 55:
        assert "columns left out for lack of room" in text


def test_only_parameters_that_vary_are_shown() -> None:
    records = [record(parameters=json.dumps({"C": C, "stop": 0.1})) for C in (1.0, 10.0)]
    text = printed(records, 150)
    assert "mpu C=10" in text
    assert "stop" not in text


def test_an_error_of_zero_is_shown_and_a_count_of_zero_is_not() -> None:
    text = printed([record(test_error=0.0, kernel_evaluations=0)], 150)
    assert "error, %" in text
    assert "0.00" in text
    assert "kernel" not in text


def test_a_group_without_a_result_shows_its_status() -> None:
    assert "timeout" in printed([record(status="timeout"), record(solver="dcd")], 150)


def test_remarks_tell_failures_what_is_missing_and_mixed_machines() -> None:
    machines = [{"id": name, "processor": name, "cores": 2, "threads": 1} for name in ("a", "b")]
    records = [record(status="crashed", reason="its process was ended"), record(status="not run"), record()]
    lines = "\n".join(table.remarks(records, machines, []))
    assert "adult mpu seed=0: crashed: its process was ended" in lines
    assert "1 of 3 runs has no result yet" in lines
    assert "different machines" in lines
    assert table.remarks([record()], machines[:1], []) == []


def test_failures_of_one_solver_are_told_apart_by_their_parameters() -> None:
    failed = [record(status="error", reason="x", parameters=json.dumps({"C": C, "stop": 0.1})) for C in (1.0, 10.0)]
    assert table.remarks(failed, [], []) == ["adult mpu C=1 seed=0: error: x", "adult mpu C=10 seed=0: error: x"]


def test_of_how_many_machines_seconds_are_is_said_once() -> None:
    named = {"processor": "p", "instruction_set": "i", "cores": 2, "memory_gb": 1.0, "system": "s", "threads": 1}
    machines = [named | {"id": each, "host": each} for each in ("a", "b")]
    records = [record(seed=seed, machine=each) for seed, each in enumerate(("a", "b", "b"))]
    (line,) = table.remarks(records, machines, [])
    assert line.startswith("seconds come from 2 machines")
    assert table.remarks(records[1:], machines[1:], []) == []


def test_a_disturbed_row_is_marked_and_the_mark_explained() -> None:
    records = [record(), record(solver="dcd", threads=1, disturbed="waited 31% of its wall seconds")]
    text = printed(records, 150)
    assert "dcd †" in text
    assert "mpu †" not in text
    (line,) = table.remarks(records, [], [])
    assert line.startswith("† disturbed: 1 of 2 runs (adult dcd seed=0: waited 31% of its wall seconds)")


def test_headings_are_the_titles_of_the_quantities_in_short_lines() -> None:
    lines = printed([record(kernel_evaluations=5)], 150).splitlines()
    assert "kernel" in lines[2]
    assert "evaluations" in lines[3]
    assert "error, %" in lines[3]


def test_what_was_changed_is_said_once_and_has_no_published_number() -> None:
    changed = record(
        parameters=json.dumps({"C": 10.0}), objective=114243.4, as_published=0, overridden="solvers.mpu.C = 10"
    )
    records = [changed, record(solver="dcd", as_published=1), record(earlier=1, as_published=1)]
    lines = printed(records, 150, ["mpu-table1"]).splitlines()
    (row,) = [line for line in lines if "114243" in line]
    assert row.startswith("mpu C=10")
    assert "11434.4" not in row
    assert any(line.startswith("mpu C=1 (earlier run)") and line.count("11434.4") == 2 for line in lines)
    remarks = table.remarks(records, [], ["mpu-table1"])
    assert "changed from the config: solvers.mpu.C = 10 (for mpu)" in remarks
    assert sum("earlier run: 1 run of an earlier plan of this folder" in line for line in remarks) == 1
    assert not any("reported:" in line for line in table.remarks([changed], [], ["mpu-table1"]))


def test_objectives_of_two_problems_have_two_columns() -> None:
    smo = record(solver="smo", parameters=json.dumps({"C": 1, "bias": True}), objective=59.8)
    lines = printed([record(), smo], 150).splitlines()
    assert sum(line.count("objective:") for line in lines) == 2
    assert not any("11434.4" in line and "59.8" in line for line in lines)
