"""Which waiting run goes to which machine."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.experiment.pool.cluster.placement import Placement, Waiting, why_impossible


def waiting(name: str, group: str = "") -> Waiting:
    task: Any = SimpleNamespace(run_id=name, group=group)
    return Waiting(task)


def name_of(found: Waiting | None) -> str | None:
    return None if found is None else found.task.run_id


MACHINES = ("one", "two", "three")


@given(st.lists(st.sampled_from(["", "a", "b", "c"]), max_size=30), st.lists(st.sampled_from(MACHINES), max_size=60))
def test_every_run_is_taken_once_and_a_group_stays_on_one_machine(groups: list[str], order: list[str]) -> None:
    placement, taken, where = Placement(), list[str](), defaultdict[str, set[str]](set)
    for number, group in enumerate(groups):
        placement.add(waiting(str(number), group))
    for machine in [*order, *(machine for _ in groups for machine in MACHINES)]:
        if (found := placement.take(machine)) is not None:
            taken.append(found.task.run_id)
            where[found.task.group].add(machine)
    assert sorted(taken, key=int) == [str(number) for number in range(len(groups))]
    assert len(placement) == 0
    assert all(len(machines) == 1 for group, machines in where.items() if group)


def test_runs_without_a_group_go_in_their_order() -> None:
    placement = Placement()
    for name in "abc":
        placement.add(waiting(name))
    assert [name_of(placement.take(machine)) for machine in ("two", "one", "two", "one")] == ["a", "b", "c", None]


def test_a_machine_goes_on_with_its_group_before_it_takes_another() -> None:
    placement = Placement()
    for name, group in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")):
        placement.add(waiting(name, group))
    assert [name_of(placement.take("one")) for _ in range(3)] == ["a1", "a2", "b1"]
    assert placement.take("two") is None
    assert name_of(placement.take("one")) == "b2"


def test_a_group_goes_on_where_it_was_made_before() -> None:
    placement = Placement()
    placement.add(waiting("a1", "a"), "two")
    assert placement.take("one") is None
    assert name_of(placement.take("two")) == "a1"


def test_others_have_the_groups_of_a_machine_that_is_gone() -> None:
    placement = Placement()
    for name in ("a1", "a2"):
        placement.add(waiting(name, "a"))
    assert name_of(placement.take("one")) == "a1"
    assert placement.take("two") is None
    placement.forget("one")
    assert name_of(placement.take("two")) == "a2"
    placement.add(waiting("a3", "a"))
    assert placement.take("one") is None
    assert name_of(placement.take("two")) == "a3"


def test_a_run_that_a_machine_refuses_goes_to_another_whatever_its_group() -> None:
    placement = Placement()
    placement.add(waiting("a1", "a"))
    found = placement.take("one")
    assert found is not None
    found.refused["one"] = "no room"
    placement.add(found)
    assert placement.take("one") is None
    assert placement.impossible(["one", "two"]) == []
    assert name_of(placement.take("two")) == "a1"
    found.refused["two"] = "no memory"
    placement.add(found)
    assert placement.impossible(["one", "two"]) == [found]
    assert len(placement) == 0
    assert why_impossible(found, {"one": "lab1", "two": "lab2"}) == "lab1: no room; lab2: no memory"
