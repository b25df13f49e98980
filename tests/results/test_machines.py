"""Seconds are set against each other only where they were measured on one machine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.quantities import Record
from mpu_bench.results import machines
from mpu_bench.results.means import Summary
from records import record

ENVIRONMENT = {
    "id": "1",
    "processor": "AMD EPYC",
    "instruction_set": "znver4",
    "cores": 2,
    "memory_gb": 23.5,
    "system": "Linux",
    "versions": {"numpy": "2"},
    "threads": 1,
    "kernel_memory": None,
    "commit": "a",
}
QUANTITY = "train_seconds"


def run(seed: int, made_on: str | None, seconds: float | None = 1.0, **more: Any) -> Record:
    return record({"seed": seed, "made_on": made_on, QUANTITY: seconds} | more)


def side(*made_on: str | None) -> list[Record]:
    return [run(seed, each) for seed, each in enumerate(made_on)]


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({"versions": {"numpy": "3"}, "commit": "b", "threads": 2, "kernel_memory": 5, "id": "2"}, True),
        ({"host": "b"}, False),
        ({"processor": "Intel"}, False),
        ({"instruction_set": "znver5"}, False),
        ({"cores": 4}, False),
        ({"memory_gb": 64.0}, False),
        ({"system": "Windows"}, False),
    ],
)
def test_a_machine_is_the_same_whatever_its_versions(change: dict[str, Any], is_same: bool) -> None:
    assert (machines.machine_of(ENVIRONMENT) == machines.machine_of(ENVIRONMENT | change)) == is_same


def test_what_was_not_recorded_is_not_known() -> None:
    assert machines.machine_of({**ENVIRONMENT, "instruction_set": None}) is None
    environments = [ENVIRONMENT, ENVIRONMENT | {"id": "2", "host": "b"}]
    located = machines.located([Record(machine=each) for each in ("1", "2", "3", None)], environments)
    known = [each.made_on for each in located]
    assert None not in known[:2]
    assert known[0] != known[1]
    assert known[2:] == [None, None]


@pytest.mark.parametrize(
    ("sides", "is_comparable"),
    [
        ([side("a", "a"), side("a")], True),
        ([side("a", "b"), side("a", "b")], True),  # each seed on one machine
        ([side("a", "b"), side("b", "a")], False),
        ([side("a", "a"), side("b", "b")], False),
        ([side("a", "b"), side("a")], False),  # a mean over two machines beside one of one
        ([side("a", "b"), side(None, None)], True),
        ([side("a", None), side("b", None)], False),
        ([side("a", "b")], True),
        ([side(None), side("a"), side("b")], False),
        ([[], side("a", "b")], True),
        ([[], side("a"), side("b")], False),
        ([side("a", "b"), side("a", "b"), side("b", "b")], False),
        ([side("a"), [run(0, "a"), run(1, "b", seconds=None)]], True),
    ],
)
def test_sides_are_comparable_on_one_machine_or_pair_by_pair(sides: list[Any], is_comparable: bool) -> None:
    assert machines.comparable(QUANTITY, *sides) == is_comparable
    assert machines.comparable("test_error", *sides)
    assert bool(machines.why_not_comparable(QUANTITY, "dcd", *sides)) == (not is_comparable)


SIDES = st.lists(st.lists(st.sampled_from(["a", "b", None]), max_size=3).map(lambda s: side(*s)), max_size=3)


@given(SIDES)
def test_the_order_of_sides_and_the_names_of_machines_do_not_matter(sides: list[Any]) -> None:
    expected = machines.comparable(QUANTITY, *sides)
    names = {"a": "b", "b": "a", None: None}
    renamed = [[replace(each, made_on=names[each.made_on]) for each in one] for one in sides]
    assert machines.comparable(QUANTITY, *renamed) == machines.comparable(QUANTITY, *reversed(sides)) == expected
    if expected:
        assert all(machines.comparable(QUANTITY, *both) for both in itertools.combinations(sides, 2))
    unknown = [[replace(each, made_on=None) for each in one] for one in sides]
    assert machines.comparable(QUANTITY, *unknown)


def test_disturbed_runs_have_no_seconds_to_compare() -> None:
    quiet = {"threads": 1, "disturbed": None, "cpu_seconds": 1.0}
    one, other = ([run(seed, name, **quiet) for seed, name in enumerate(each)] for each in (("a", "b"), ("a", "a")))
    assert not machines.comparable("comparable_seconds", one, other)
    one[1] = replace(one[1], disturbed="waited")
    assert machines.comparable("comparable_seconds", one, other)
    assert not machines.comparable(QUANTITY, one, other)


def test_a_mean_has_its_finished_runs() -> None:
    named = {"dataset": "adult", "solver": "mpu", "parameters": "{}", "kernel": "linear", "budget_vectors": None}
    runs = [
        run(seed, "a", **named, status=status, trial=trial)
        for seed, (status, trial) in enumerate([("done", None), ("crashed", None), ("done", "fold 1")])
    ]
    none = Summary(**named)
    (row, other) = machines.with_runs([none, replace(none, solver="dcd")], runs)
    assert (row.runs, other.runs) == (runs[:1], [])
    assert machines.runs_of([row, row, other, none]) == runs[:1]  # each once


def test_seconds_of_two_versions_are_told_as_such_and_of_which() -> None:
    environments = [ENVIRONMENT, ENVIRONMENT | {"id": "2", "commit": "b"}, ENVIRONMENT | {"id": "3", "commit": None}]
    environments[2]["versions"] = {"mpu-bench": "1.0"}
    runs = [
        record({"machine": each, "status": "done", "seed": 0, QUANTITY: seconds})
        for each, seconds in (("1", 1.0), ("2", None), ("2", 1.0), ("3", 1.0), (None, 1.0))
    ]
    one, none, two, release, unknown = machines.located(runs, environments)
    assert [each.made_by for each in (one, two, release, unknown)] == ["a", "b", "1.0", None]
    assert machines.versions_remark(QUANTITY, [one], [two]) == "seconds are of 2 versions of mpu-bench (a, b)"
    for sides in ([one], [none]), ([one], [unknown]), ([one, one], [one]):
        assert machines.versions_remark(QUANTITY, *sides) == ""
    assert machines.versions_remark("test_error", [one], [two]) == ""
    assert machines.remarks(runs[:2], environments[:2]) == []
    (line,) = machines.remarks(runs, environments)
    assert "3 versions of mpu-bench (1.0, a, b)" in line


def alike(seed: int, seconds: float, disturbed: str = "", **more: Any) -> Record:
    return record({"seed": seed, "threads": 1, "cpu_seconds": seconds, "disturbed": disturbed, "machine": "1"} | more)


SLOW = "the processor was 1.6 times slower than at its fastest"


@pytest.mark.parametrize(
    ("seconds", "change", "counts"),
    [
        (0.9, {}, True),
        (1.0, {}, True),
        (1.1, {}, False),
        (0.9, {"machine": "2"}, False),
        (0.9, {"kernel_matrix_seconds": 0.0}, False),
        (0.9, {"threads": 2}, False),
        (0.9, {"solver": "dcd"}, False),
    ],
)
def test_a_disturbed_run_counts_that_took_no_longer_than_an_undisturbed_one(
    seconds: float, change: dict[str, Any], counts: bool
) -> None:
    runs = [alike(0, 1.0), alike(1, 3.0), alike(2, seconds, SLOW, **change)]
    *others, last = machines.with_fastest(runs)
    assert others == runs[:2]
    assert last.comparable_seconds == (seconds if counts else None)
    assert machines.with_fastest([runs[2]])[0].comparable_seconds is None  # nothing says that it was not slow
