"""Which of the planned runs are made, and in which order."""

from __future__ import annotations

from pathlib import Path

from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.experiment import plan
from mpu_bench.experiment.plan import PlannedRun


def planned_of(*keys: str) -> list[PlannedRun]:
    return [PlannedRun(None, None, key) for key in keys]  # type: ignore[arg-type]


NEEDS = {"optimum": {}, "peer": {"optimum": "optimum"}, "timed": {"seconds": "peer"}, "alone": {}}


def test_what_a_chosen_run_needs_is_wanted_too() -> None:
    assert plan.with_needed(["timed"], NEEDS) == {"timed", "peer", "optimum"}
    assert plan.with_needed(["alone"], NEEDS) == {"alone"}


def test_what_is_done_is_left_out_and_so_is_what_would_be_done_twice() -> None:
    runs = planned_of("optimum", "peer", "alone", "peer", "timed")
    missing = plan.filter_already_run(runs, {"peer", "timed", "optimum"}, {"optimum"})
    assert missing == [runs[1], runs[4]]


def test_runs_are_ordered_by_what_they_need() -> None:
    assert list(plan.order(["timed", "peer", "optimum"], NEEDS).static_order()) == ["optimum", "peer", "timed"]
    others_are_there = plan.order(["timed", "alone"], NEEDS)
    assert set(others_are_there.static_order()) == {"timed", "alone"}


def test_an_unprepared_dataset_is_inspected_without_being_touched(tmp_path: Path, read) -> None:
    home = DataDirectory(tmp_path / "home", offline=True)
    (found,) = plan.inspect(plan.plan(read("name: tried\ndataset: adult\nsolvers: [dcd]\n")), home)
    assert [file.name for file in found.description.missing] == ["a9a", "a9a.t"]
    assert not home.folder.exists()
