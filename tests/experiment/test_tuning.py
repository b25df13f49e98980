"""Tuning: what is tried and chosen, and that tuning runs are runs that are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mpu_bench.display import table
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan, tuning
from mpu_bench.experiment import run as run_identity
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.results import summary

DCD = "tune: {C: [1.0e-7, 0.01, 0.1], holdout: 0.3}\nsolvers: [{dcd: {tolerance: 0.1}}]\nrepeats: 2\n"


def test_what_is_tuned_is_left_out_of_the_run_and_tried_by_trials(read) -> None:
    text = """
kernel: [gaussian, {gaussian: {normalize: true}}]
tune: {kernel.gamma: [{over-features: 1}, {over-features: 4}], C: [1, 2], folds: 3}
solvers: [{smo: {bias: [true, false]}}]
repeats: 5
"""
    runs = plan.plan(read(text))
    trials, tuned = [run for run in runs if run.trial], [run for run in runs if run.solver.tuning]
    assert len(runs) == len(trials) + len(tuned)
    assert len(tuned) == 4 * 5
    assert len(trials) == 4 * 4 * 3
    assert runs[: len(trials)] == trials
    for run in tuned:
        assert "C" not in run.solver.parameters
        assert "gamma" not in run.solver.kernel.parameters
        found = plan.Plan(runs).needed(run)
        assert len(found) == 12
        assert {trial.solver.kernel.parameters.get("normalize") for trial in found.values()} == {
            run.solver.kernel.parameters.get("normalize")
        }
        assert {trial.solver.parameters["bias"] for trial in found.values()} == {run.solver.parameters["bias"]}
    assert str(tuned[0].solver.tuning) == "kernel.gamma of 1/d, 4/d; C of 1, 2; error of smo on 3 folds"


def test_a_tuned_run_claims_no_value_before_it_is_chosen(read) -> None:
    text = """
kernel: {gaussian: {gamma: 1}}
budget: {vectors: 7}
solvers:
- forgetron: {tune: {vectors: [10, 100], holdout: 0.3}}
- dcd: {kernel: linear, tune: {class_weight: [balanced, {rest: 2}], holdout: 0.3}}
- perceptron
- bpegasos: {regularization: 1}
"""
    tuned, budgeted, weighted = (
        [plan.PlannedRun(run, None, "").record() for run in plan.plan(read(text)) if condition(run)]
        for condition in (
            lambda run: run.solver.name == "forgetron",
            lambda run: run.solver.name == "bpegasos",
            lambda run: run.solver.name == "dcd" and run.trial is None,
        )
    )
    assert [run.budget_vectors for run in tuned] == [10, 100, None]
    assert [run.budget_vectors for run in budgeted] == [7]
    of_trials = [f"w.w/2 + C sum hinge, class weights {each}" for each in ("balanced", "rest 2")]
    assert [run.problem for run in weighted] == [" or ".join(of_trials)]


def test_every_value_to_try_is_checked(read) -> None:
    tens = "name: tens\ndataset: digits\nsolvers: [dcd: {tune: {multiclass: [%s], holdout: 0.3}}]\n"
    assert len(plan.plan(read(tens % "one-against-one, one-against-rest"))) == 3
    for text, message in (
        ("tune: {kernel.normalize: [false, true], holdout: 0.3}\nsolvers: [dcd]", "cannot take the kernel linear"),
        ("tune: {class_weight: [balanced, {x: 2}], holdout: 0.3}\nsolvers: [dcd]", "no class of 'digits'"),
        ("tune: {nu: [1, {from-regularization: 1}], holdout: 0.3}\nsolvers: [sbp: {passes: 1}]", "nu is derived"),
    ):
        with pytest.raises(ConfigError, match=message):
            read(text + "\n")


def test_a_tuner_tries_for_all(read) -> None:
    text = "tune: {C: [1, 2], holdout: 0.5, with: {dcd: {tolerance: 1}}}\nsolvers: [mpu, svmperf]\n"
    runs = plan.plan(read(text))
    assert [run.solver.name for run in runs] == ["dcd", "dcd", "mpu", "svmperf"]
    for run in runs[2:]:
        assert list(plan.Plan(runs).needed(run).values()) == runs[:2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tune: {C: [1]}", "needs a validation set: give one of holdout: 0.3, folds: 5, or on_test_set: true"),
        ("tune: {C: [1], holdout: 0.3, folds: 5}", "needs a validation set"),
        ("tune: {C: [1], holdout: 1}", "line 3: tune.holdout"),
        ("tune: {C: [1], holdout: 0.0}", "tune.holdout: must be greater than 0"),
        ("tune: {C: [1], folds: 1}", "tune.folds: must be greater than or equal to 2"),
        ("tune: {C: [], holdout: 0.3}", "tune.C: must be a list of values to try, not []"),
        ("tune: {C: 1, holdout: 0.3}", "tune.C: must be a list of values to try, not 1"),
        ("tune: {hold-out: 0.2, C: [1], holdout: 0.3}", "tune.hold-out: must be a list of values"),
        ("tune: {holdout: 0.3}", "names no parameter to try values of"),
        ("tune: {c: [1], holdout: 0.3}", "tune.c: solver 'dcd' has no parameter 'c'; did you mean 'C'?"),
        ("tune: {kernel.gamma: [1], holdout: 0.3}", "kernel 'linear' has no parameter 'gamma'"),
        ("tune: {tolerance: [1], holdout: 0.3}", "solver 'dcd' is given a value of 'tolerance', too"),
        ("tune: {C: [0], holdout: 0.3}", "tune.C: must be greater than 0"),
        ("tune: {C: [1], holdout: 0.3, with: cvn}", "tune.with: there is no solver 'cvn'"),
        ("tune: {C: [1], holdout: 0.3, with: {dcd: {C: 3}}}", "is given a value of 'C', too"),
        ("tune: {C: [1], holdout: 0.3, metric: eror}", "tune.metric"),
        ("tune: {C: [1], holdout: 0.3, metric: online_error}", "'dcd' is not online"),
        ("tune: 3", "tune: must be parameters with the values to try"),
        ("tune: {C: [1], holdout: 0.3}\noptimum: true\nstop: {suboptimality: 0.1}", "tuned is not known before"),
    ],
)
def test_a_mistake_is_told(read, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text + "\nsolvers: [{dcd: {tolerance: 0.1}}]\n")
    assert message in str(caught.value)


def test_the_smallest_mean_error_is_chosen_and_the_first_on_ties(read) -> None:
    (run,) = [
        run
        for run in plan.plan(read("tune: {C: [1, 2, 3], folds: 2}\nsolvers: [dcd]\n"))
        if run.solver.tuning is not None
    ]

    def chosen(*errors: tuple[float | None, float | None]) -> tuning.TunedRun:
        rows = {
            f"trial {value}.{fold}": Record(
                run_id=f"{value}.{fold}",
                status=RunStatus.ERROR if error is None else RunStatus.DONE,
                reason="why",
                test_error=error,
                train_seconds=1.0,
                kernel_evaluations=5,
            )
            for value, pair in enumerate(errors)
            for fold, error in enumerate(pair)
        }
        return tuning.select_best(run, rows)

    choice = chosen((0.3, 0.3), (0.1, 0.2), (0.2, 0.1))
    assert choice.columns == {"chosen": "C=2", "tune_seconds": 6.0, "tune_kernel_evaluations": 30}
    assert choice.run.solver.parameters["C"] == 2
    assert not choice.notes
    choice = chosen((0.3, 0.3), (0.1, 0.2), (0.15, 0.15))  # the mean of the former is 0.15000000000000002
    assert choice.run.solver.parameters["C"] == 2
    choice = chosen((0.3, 0.3), (0.0, None), (0.2, 0.1))
    assert choice.run.solver.parameters["C"] == 3
    assert choice.notes == ("1 of 3 values tried failed: error: why",)
    choice = chosen((None, 0.1), (0.0, None), (None, None))
    assert choice.failure == "no value of C could be tried: error: why"


def test_a_value_that_is_listed_twice_is_tried_and_counted_once(read) -> None:
    runs = plan.plan(read("tune: {C: [1, 1.0, 2], holdout: 0.3}\nsolvers: [dcd]\n"))
    needed = runs.needed(runs[-1])
    rows = {
        name: Record(run_id=str(runs.index(run)), status=RunStatus.DONE, test_error=0.1, train_seconds=1.0)
        for name, run in needed.items()
    }
    assert len(rows) == 3
    assert tuning.select_best(runs[-1], rows).columns["tune_seconds"] == 2.0


def test_solvers_that_try_by_other_parameters_are_told_apart(read) -> None:
    text = """
kernel: {gaussian: {gamma: 1}}
solvers:
  - cvm: {inner_tolerance: 0.1, tune: {C: [1], holdout: 0.3, with: {cvm: {inner_tolerance: 0.1}}}}
  - cvm: {inner_tolerance: 0.1, tune: {C: [1], holdout: 0.3, with: cvm}}
  - fw: {tune: {C: [1], holdout: 0.3, with: cvm}}
  - fw: {tune: {C: [1], holdout: 0.3, with: {cvm: {inner_tolerance: 0.1}}}}
"""
    tuned = [run_identity.record_of(run) for run in plan.plan(read(text)) if run.solver.tuning]
    alone, more = "C of 1; error of cvm on hold-out 0.3", "C of 1; error of cvm inner_tolerance={} on hold-out 0.3"
    assert [record.tuned for record in tuned] == [alone, more.format("None"), alone, more.format("0.1")]
    done = [replace(record, status=RunStatus.DONE, test_error=0.1) for record in tuned]
    assert [row.count for row in summary.summarize(done, [])] == [1, 1, 1, 1]


def test_trials_come_first_are_kept_and_are_not_in_the_table(execute) -> None:
    records, done = execute(DCD)
    assert len(done) == 5
    trials, tuned = records[:3], records[3:]
    assert {record.trial for record in trials} == {"hold-out 0.3"}
    best = min(trials, key=lambda record: record.test_error)
    assert [record.chosen for record in tuned] == [f"C={eval(best.parameters)['C']:g}"] * 2
    assert tuned[0].tune_seconds == pytest.approx(sum(record.train_seconds for record in trials))
    assert tuned[0].n == 1347
    assert {(trial.n < 1347, trial.n + trial.n_test) for trial in trials} == {(True, 1347)}  # what was held out of it
    (row,) = summary.summarize(records, [])
    assert row.chosen == tuned[0].chosen
    assert row.count == 2
    assert any(line.startswith("chosen: the best C of 1e-07") for line in table.remarks(records, [], []))
    assert execute(DCD)[1] == []
    _, more = execute(DCD.replace("0.1]", "0.1, 1]"))
    assert sum("tuning run" in run for run in more) == 1
    assert len(more) == 3


def test_values_are_tried_with_several_seeds(execute) -> None:
    records, _ = execute("""name: seeds
dataset: {checkerboard: {rows: 300, test_rows: 200}}
kernel: gaussian
tune: {kernel.gamma: [2, 8], on_test_set: true, repeats: 3}
solvers: [bpegasos: {vectors: 20, maintenance: random}]
""")
    trials, (run,) = records[:6], records[6:]
    assert [(record.kernel, record.seed) for record in trials] == [
        (f"gaussian(gamma={gamma})", seed) for gamma in (2, 8) for seed in range(3)
    ]
    means = [np.mean([record.test_error for record in trials[first : first + 3]]) for first in (0, 3)]
    assert run.chosen == f"kernel.gamma={(2, 8)[int(np.argmin(means))]}"
    assert run.tuned == "kernel.gamma of 2, 8; error of bpegasos on test set, 3 seeds"


def test_choosing_by_the_test_set_is_said(execute) -> None:
    records, _ = execute("tune: {C: [0.01, 0.1], on_test_set: true}\nsolvers: [dcd]\n")
    assert records[2].tuned == "C of 0.01, 0.1; error of dcd on test set"
    assert records[2].test_error == min(record.test_error for record in records[:2])
    assert any("CHOSEN ON THE TEST SET" in line for line in table.remarks(records, [], []))


def test_the_balls_take_what_cvm_chooses_whatever_the_test_rows(execute) -> None:
    """With other test rows the trials, what is chosen and what is trained are the same."""
    records, _ = execute("""name: balls
datasets: [{checkerboard: {rows: 300, test_rows: 50, as: few}}, {checkerboard: {rows: 300, test_rows: 400, as: many}}]
kernel: {gaussian: {gamma: 8}}
solvers:
  - fw: &tuned {eps: 1.0e-3, tune: {C: [0.001, 4], holdout: 0.3, with: {cvm: {}}}}
  - mfw: *tuned
  - fw: &given {eps: 1.0e-3, C: 4}
  - mfw: *given
""")
    assert {record.status for record in records} == {"done"}
    few, many = ([record for record in records if record.dataset == name] for name in ("few", "many"))
    outcome = ("solver", "chosen", "kernel_evaluations", "updates", "support_vectors", "dual_objective")
    assert [[record.value(name) for name in outcome] for record in few] == [
        [record.value(name) for name in outcome] for record in many
    ]
    trials, others = few[:2], few[2:]
    assert [record.solver for record in trials] == ["cvm", "cvm"]
    assert [record.test_error for record in trials] == [record.test_error for record in many[:2]]
    assert trials[1].test_error < trials[0].test_error
    assert [record.test_error for record in others] != [record.test_error for record in many[2:]]
    for solver in ("fw", "mfw"):
        tuned, given = sorted((each for each in others if each.solver == solver), key=lambda each: not each.chosen)
        assert tuned.chosen == "C=4"
        assert [tuned.value(name) for name in outcome[2:]] == [given.value(name) for name in outcome[2:]]
