import json
from dataclasses import replace

from mpu_bench.quantities import QUANTITIES, Record
from mpu_bench.results import summary


def record(**values):
    named = {"dataset": "adult", "solver": "mpu", "parameters": json.dumps({"C": 1.0}), "kernel": "linear", "seed": 0}
    known = {"status": "done", "reason": "", "n": 100, "passes": 10.0, "objective": 11434.4, "test_error": 0.15}
    return Record(**named | known | values)


def test_a_failed_run_is_no_part_of_a_mean():
    (row,) = summary.summarize([record(), record(status="diverged", objective=float("inf"), seed=1)], [])
    assert (row.count, row.planned, row.means["objective"]) == (1, 2, 11434.4)
    assert row.statuses == "diverged"


def test_what_follows_from_a_row_is_summed_up_as_well():
    (row,) = summary.summarize([record(), record(seed=1, test_error=0.25, online_error=0.5)], [])
    assert row.means["test_error_percent"] == 20
    assert row.means["test_accuracy_percent"] == 80
    assert row.means["online_error_percent"] == 50
    assert row.means["examples"] == 1000


def timed(**values):
    return record(**{"threads": 1, "train_seconds": 3.0, "cpu_seconds": 1.0} | values)


def test_seconds_that_may_be_compared():
    disturbed = timed(seed=1, disturbed="waited 31% of its wall seconds", cpu_seconds=9.0)
    (row,) = summary.summarize([timed(), disturbed], [])
    assert (row.means["comparable_seconds"], row.means["cpu_seconds"], row.disturbed_runs) == (1.0, 5.0, 1)
    (row,) = summary.summarize([timed(), replace(disturbed, only_delayed=1)], [])
    assert (row.means["comparable_seconds"], row.disturbed_runs) == (5.0, 1)
    (row,) = summary.summarize([timed(threads=2)], [])
    assert (row.means["comparable_seconds"], row.disturbed_runs) == (3.0, 0)
    (row,) = summary.summarize([timed(threads=None)], [])  # of before it was recorded
    assert (row.means["comparable_seconds"], row.disturbed_runs) == (None, None)


def test_disturbed_runs_are_told_in_a_line():
    assert summary.disturbed_remark([timed(), timed(disturbed="waited", status="crashed")]) == ""
    runs = [timed(), timed(seed=1, disturbed="waited 31% of its wall seconds"), timed(trial="a", disturbed="waited")]
    assert summary.disturbed_remark(runs) == (
        "† disturbed: 1 of 2 runs (adult mpu seed=1: waited 31% of its wall seconds); their seconds are not compared"
    )
    runs[1] = replace(runs[1], only_delayed=1)
    assert summary.disturbed_remark(runs).endswith("; only the processor seconds of 1 are compared")


def test_every_quantity_has_a_mean_and_a_standard_deviation():
    (row,) = summary.summarize([record(), record(seed=1)], [])
    assert {f"{name}_{end}" for name in QUANTITIES for end in ("mean", "std")} <= set(row.table_row())


PRINTED = {"published_objective", "published_train_seconds"}


def test_a_published_number_stands_only_beside_what_is_as_published():
    for values, is_published in [
        ({"as_published": 1}, True),
        ({"as_published": 0}, False),
        ({"as_published": 1, "experiment": "mpu-table1-ci"}, True),
    ]:
        (row,) = summary.summarize([record(**values)], ["mpu-table1"])
        assert (set(row.table_row()) >= PRINTED, row.as_published) == (is_published, int(is_published))


def test_earlier_runs_are_no_part_of_the_means_of_others():
    rows = summary.summarize([record(), record(seed=1, objective=1.0, earlier=1)], [])
    assert [(row.earlier, row.count, row.means["objective"]) for row in rows] == [(None, 1, 11434.4), (1, 1, 1.0)]


def test_no_mean_is_of_two_earlier_runs_of_one_seed():
    runs = [record(), *(record(earlier=1, seed=seed, objective=value) for value in (1.0, 3.0) for seed in (0, 1))]
    rows = summary.summarize(runs, [])
    assert [(row.earlier, row.count, row.means["objective"]) for row in rows] == [
        (None, 1, 11434.4), (1, 2, 1.0), (1, 2, 3.0)
    ]  # fmt: skip
