"""The screen of an experiment under way fits into the terminal, whatever that is."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.config.choices import DatasetChoice, KernelChoice, SolverChoice
from mpu_bench.display.live import Overall, screen
from mpu_bench.display.terminal import Terminal
from mpu_bench.experiment.run import Run, RunSettings
from records import record


def shown(datasets: int, solvers: int, width: int, height: int) -> list[str]:
    runs = [
        Run(
            "tried", DatasetChoice("digits", {}, f"dataset-{one}", ()),
            SolverChoice(f"solver-{two}", {}, KernelChoice()), RunSettings(), seed=0,
        )
        for one in range(datasets)
        for two in range(solvers)
    ]  # fmt: skip
    overall = Overall(runs, [60.0] * len(runs))
    overall.has_ended(runs[0], "", record({"status": "done", "train_seconds": 30.0, "test_error": 0.25}))
    overall.is_at(runs[-1], "the last one", "training " * 20)
    console = Terminal(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    console.print(screen(overall, console))
    return console.file.getvalue().splitlines()


def test_a_line_for_each_dataset_and_solver() -> None:
    heading, first, *_, last, below, now = shown(2, 3, 100, 20)
    assert heading.split() == [
        "dataset",
        "solver",
        "done",
        "running",
        "failed",
        "training",
        "seconds",
        "test",
        "error,",
        "%",
    ]
    assert first.split() == ["dataset-0", "solver-0", "1/1", "30", "25.00"]
    assert last.split() == ["dataset-1", "solver-2", "0/1", "1"]
    assert "1 of 6 runs, about 3 min left" in below
    assert now.startswith("the last one: training")


def test_a_line_for_each_solver_where_there_is_no_room_for_more() -> None:
    lines = shown(9, 3, 100, 20)
    assert [line.split()[:2] for line in lines[1:4]] == [[f"solver-{each}", f"{int(not each)}/9"] for each in range(3)]


def test_what_runs_is_shown_first_where_there_is_no_room_for_all_solvers() -> None:
    lines = shown(2, 30, 100, 8)
    assert len(lines) == 7
    assert lines[1].split()[0] == "solver-29"
    assert lines[4].split()[:3] == ["27", "more", "0/54"] or lines[4].split()[:3] == ["27", "more", "1/54"]


@given(datasets=st.integers(1, 12), solvers=st.integers(1, 12), width=st.integers(30, 130), height=st.integers(3, 40))
def test_it_is_never_larger_than_the_terminal(datasets: int, solvers: int, width: int, height: int) -> None:
    lines = shown(datasets, solvers, width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width
