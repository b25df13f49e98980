"""What runs are called where several stand together."""

from __future__ import annotations

from collections.abc import Callable

from mpu_bench.config.choices import Experiment
from mpu_bench.experiment import plan
from mpu_bench.experiment.run import Names

TEXT = """
name: named
dataset: checkerboard
solvers:
  - mpu: {C: [1, 10]}
  - dcd
"""


def test_a_name_tells_what_varies(read: Callable[[str], Experiment]) -> None:
    runs = plan.plan(read(TEXT))
    names = [Names(runs).of(run) for run in runs]
    assert names == [
        "checkerboard mpu C=1",
        "checkerboard mpu C=10",
        "checkerboard dcd",
    ]


def test_the_names_of_a_plan_are_as_many_as_its_runs(read: Callable[[str], Experiment]) -> None:
    text = "name: tuned\ndataset: checkerboard\nsolvers: [dcd]\ntune: {C: [1, 10], holdout: 0.3}\nrepeats: 2\n"
    runs = plan.plan(read(text))
    names = [Names(runs).of(run) for run in runs]
    assert len(set(names)) == len(names) == 4
    assert [name for name in names if "tuning run" in name] == [
        f"checkerboard dcd C={C} seed=0 tuning run: hold-out 0.3" for C in (1, 10)
    ]
