"""The keys of results: what is in them, and what is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from mpu_bench import solvers
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan
from mpu_bench.experiment import run as identity
from mpu_bench.experiment.plan import Plan
from mpu_bench.experiment.run import Run, run_id
from mpu_bench.solvers.mpu.mpu import MPU

TEXT = """
name: planned
datasets: [adult, web]
solvers:
  - mpu: {C: [1, 10]}
  - dcd
repeats: 2
"""
GAUSSIAN = """
name: tried
dataset: {digits: {positive: ['8'], split: {train: 300, seed: 0}}}
kernel: {gaussian: {sigma2: 500}}
"""
PLUGIN = Path(__file__).parents[1] / "plugins" / "misbehaving.py"


@pytest.fixture
def run(read: Callable[[str], Experiment]) -> Run:
    return plan.plan(read(TEXT))[0]


def with_solver(run: Run, **changes: object) -> Run:
    return dataclasses.replace(run, solver=dataclasses.replace(run.solver, **changes))


def with_settings(run: Run, **changes: object) -> Run:
    return dataclasses.replace(run, settings=dataclasses.replace(run.settings, **changes))


def test_names_and_memory_are_in_no_key(run: Run) -> None:
    renamed = dataclasses.replace(run, experiment="other", dataset=dataclasses.replace(run.dataset, label="other"))
    assert run_id(renamed, "data") == run_id(run, "data")
    assert run_id(with_settings(run, kernel_memory=2**30), "data") == run_id(run, "data")


def test_what_changes_a_result_changes_its_key(run: Run) -> None:
    changed = [
        dataclasses.replace(run, seed=5),
        with_solver(run, name="dcd"),
        with_solver(run, parameters={**run.solver.parameters, "C": 3.0}),
        with_settings(run, stop=Stop(passes=3)),
        with_settings(run, checkpoints=Checkpoints(first=0.5)),
        with_settings(run, threads=2),
        with_settings(run, timed_on_shared_rows=True),
    ]
    keys = [run_id(run, "data"), run_id(run, "other data"), run_id(run, "data", ["another"])]
    keys += [run_id(each, "data") for each in changed]
    assert len(set(keys)) == len(keys)


def test_shared_kernel_rows_are_in_the_key_where_seconds_end_runs(read: Callable[[str], Experiment]) -> None:
    """A shared row costs a run nothing, so it gets further in the same seconds; all else is the same bit for bit."""
    text = GAUSSIAN + "solvers: [smo]\nkernel_matrix: {matrix}\nstop: {stop}\n"

    def key(matrix: str, stop: str) -> str:
        (run,) = plan.plan(read(text.replace("{matrix}", matrix).replace("{stop}", stop)))
        return run_id(run, "data")

    assert key("shared", "{seconds: 5}") != key("own", "{seconds: 5}")
    assert key("shared", "{passes: 5}") == key("own", "{passes: 5}")


def test_what_is_at_its_default_is_in_no_key(run: Run) -> None:
    given = dict(run.solver.parameters)
    default = {field.name: field.default for field in dataclasses.fields(MPU)}
    fewer = {name: value for name, value in given.items() if value != default[name]}
    assert len(fewer) < len(given)
    assert run_id(with_solver(run, parameters=fewer), "data") == run_id(run, "data")


def test_a_version_raised_by_hand_changes_the_keys_of_its_solver(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = with_solver(run, name="dcd", parameters={})
    several = with_solver(run, parameters={**run.solver.parameters, "multiclass": "one-against-one"})
    before = [run_id(each, "data") for each in (run, other, several)]
    monkeypatch.setattr(MPU, "version", 2)
    assert [run_id(each, "data") == key for each, key in zip((run, other, several), before, strict=True)] == [
        False,
        True,
        False,
    ]
    monkeypatch.undo()
    monkeypatch.setattr("mpu_bench.solvers.multiclass.Multiclass.version", 2)
    assert [run_id(each, "data") == key for each, key in zip((run, other, several), before, strict=True)] == [
        True,
        True,
        False,
    ]
    monkeypatch.undo()
    monkeypatch.setattr(identity, "SHARED_VERSION", 2)
    assert run_id(other, "data") != before[1]


def test_keys_do_not_depend_on_the_order_in_the_config(tmp_path: Path, read) -> None:
    lines = TEXT.replace("- mpu: {C: [1, 10]}\n  - dcd", "- dcd\n  - mpu: {C: [10, 1]}").replace(
        "adult, web", "web, adult"
    )
    path = tmp_path / "other.yaml"
    path.write_text(lines, encoding="utf-8")
    keys = [{run_id(run, run.dataset.label) for run in plan.plan(each)} for each in (read(TEXT), read_config(path))]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    "written",
    [
        "kernel: {{gaussian: {{gamma: {0}}}}}\nsolvers: [perceptron]",
        "kernel: {{gaussian: {{gamma: {{over-features: {0}}}}}}}\nsolvers: [perceptron]",
        "kernel: {{gaussian: {{gamma: {{over-mean-squared-distance: {0}}}}}}}\nsolvers: [perceptron]",
        "kernel: {{gaussian: {{sigma2: {0}}}}}\nsolvers: [perceptron]",
        "kernel: {{polynomial: {{degree: 2, scale: {0}, offset: {0}}}}}\nsolvers: [perceptron]",
        "solvers: [{{smo: {{C: {0}, kernel: {{gaussian: {{gamma: {0}}}}}}}}}]",
        "solvers: [{{smo: {{C: {0}}}}}, {{sdca: {{regularization: {{over-examples: {0}}}}}}}]",
        "solvers: [{{smo: {{tune: {{kernel.gamma: [{0}, 4], holdout: 0.5}}, kernel: {{gaussian: {{}}}}}}}}]",
        "solvers: [{{sbp: {{nu: {{from-regularization: {0}}}, passes: 1}}}}]",
        "solvers: [{{sbp: {{nu: {{from-regularization: {{over-examples: {0}}}}}, passes: 1}}}}]",
        "solvers: [dcd]\nstop: {{passes: {0}, seconds: {0}, gap: {0}}}\ncheckpoints: {{first: {0}}}",
    ],
)
def test_a_number_has_one_key_however_it_is_written(read: Callable[[str], Experiment], written: str) -> None:
    forms = [[run_id(run, "data") for run in plan.plan(read(written.format(form)))] for form in ("2", "2.0", "+2.0e0")]
    assert forms[0] == forms[1] == forms[2]


@pytest.mark.parametrize("kernel", ["polynomial: {{degree: 2{}}}", "gaussian: {{gamma: 2{}}}", "linear: {{{}}}"])
def test_a_kernel_that_is_said_not_to_be_normalized_keeps_its_key(read: Callable[..., Experiment], kernel: str) -> None:
    def key(more: str) -> str:
        (run,) = plan.plan(read(f"kernel: {{{kernel.format(more)}}}\nsolvers: [perceptron]\n"))
        return run_id(run, "data")

    more = "normalize: {}" if kernel.startswith("linear") else ", normalize: {}"
    assert key(more.format("false")) == key(more.format("null")) == key("") != key(more.format("true"))


def test_the_whole_width_of_a_kernel_keeps_its_key(read: Callable[[str], Experiment]) -> None:
    """Baselines hold what was kept under it."""
    (run,) = plan.plan(read("kernel: {gaussian: {gamma: {over-features: 4.0}}}\nsolvers: [perceptron]\n"))
    assert repr(run.solver.kernel.parameters["gamma"].factor) == "4"
    with pytest.raises(ConfigError, match="must be greater than 0 and finite"):
        read("kernel: {gaussian: {gamma: 1.0e+400}}\nsolvers: [perceptron]\n")


def test_keys_depend_on_what_settles_a_run(read, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = "{sbp: {nu: {from-regularization: {over-examples: 0.5}}, passes: 1}}"
    optimum, sbp = runs = plan.plan(read(f"{GAUSSIAN}solvers: [{derived}]"))
    key = plan.settled_run_id(sbp, "data", Plan(runs))
    assert plan.settled_run_id(optimum, "data", Plan(runs)) == run_id(optimum, "data")
    tighter = with_solver(optimum, parameters={**optimum.solver.parameters, "tolerance": 1e-6})
    monkeypatch.setattr(plan, "nu_of", lambda run: tighter if run is sbp else None)
    assert plan.settled_run_id(sbp, "data", Plan([tighter, sbp])) != key


def test_a_key_depends_on_the_values_tried(read) -> None:
    keys = set()
    for tune in ("{C: [1, 2], holdout: 0.5}", "{C: [1, 3], holdout: 0.5}", "{C: [1, 2], holdout: 0.4}"):
        runs = plan.plan(read(f"tune: {tune}\nsolvers: [dcd]\n"))
        (run,) = [run for run in runs if run.solver.tuning]
        keys.add(plan.settled_run_id(run, "data", runs))
    assert len(keys) == 3


@pytest.fixture
def plugin_key(tmp_path: Path, run: Run) -> Callable[[str], str]:
    """Write a solver of the user's own, changed, and return the key of a run of it."""
    source = PLUGIN.read_text(encoding="utf-8").replace('name = "misbehaving"', 'name = "own-solver"')

    def key(change: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "own.py").write_text(source + change, encoding="utf-8")
        solvers.load_plugin(folder / "own.py")
        try:
            return run_id(with_solver(run, name="own-solver", parameters={}), "data")
        finally:
            del solvers.SOLVERS["own-solver"]

    return key


def test_a_comment_in_a_file_of_the_users_own_keeps_results_and_a_change_does_not(plugin_key) -> None:
    assert plugin_key("\n# a comment\n") == plugin_key("")
    assert plugin_key("\nX = 1\n") != plugin_key("")
