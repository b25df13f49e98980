import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.verdict.rank_tests import LEVEL, wilcoxon
from mpu_bench.verdict.two_solvers import Sides, runs_of
from records import record


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def run(solver, seed=0, dataset="adult", split="", budget=None, status="done", parameters=None, **measured):
    named = {"dataset": dataset, "solver": solver, "seed": seed, "split": split, "budget_vectors": budget}
    named |= {"parameters": json.dumps(parameters or {}), "kernel": "linear", "status": status}
    return record(named | measured)


def side(solver, values, **more):
    return [run(solver, seed, test_error=value, **more) for seed, value in enumerate(values)]


def compared(records, first="a", second="b", quantities=("test_error",)):
    return Sides(runs_of(records, first, "results/x"), runs_of(records, second, "results/x")).compare(quantities)


def test_errors_on_one_dataset_are_compared_by_the_paired_t_test(rng):
    a, b = rng.normal(0.10, 0.01, 8), rng.normal(0.11, 0.01, 8)
    (row,) = compared(side("a", a) + side("b", b))
    expected = stats.ttest_rel(a, b)
    assert row.effect == pytest.approx((a - b).mean())
    assert (row.low, row.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert row.p_value == pytest.approx(expected.pvalue)
    assert (row.measure, row.test, row.pairs, row.remark) == ("difference", "paired t", 8, "")
    assert (row.wins, row.ties, row.losses) == ((a < b).sum(), 0, (a > b).sum())
    assert (row.first, row.second) == pytest.approx((a.mean(), b.mean()))


@pytest.mark.parametrize(("one", "pairs"), [("smo", 8), ("sbp", 1)])
def test_one_run_stands_beside_all_seeds_only_where_nothing_in_it_is_random(rng, one, pairs):
    records = [*side(one, [0.2]), *side("cks", rng.normal(0.1, 0.01, 8))]
    for row in compared(records, one, "cks") + compared(records, "cks", one):
        assert row.pairs == pairs
        assert (row.p_value is None) == (pairs == 1)
        assert (row.remark == "one seed: no test") == (pairs == 1)


def test_one_run_that_says_all_stands_beside_the_one_seed_of_the_other():
    records = [*side("smo", [0.2]), run("cks", 3, test_error=0.1)]
    for names in (("smo", "cks"), ("cks", "smo")):
        (row,) = compared(records, *names)
        assert row.pairs == 1


def test_one_time_stands_beside_the_time_of_its_own_seed():
    seconds = [run("cks", seed, train_seconds=1.0 + seed, machine="m") for seed in range(8)]
    records = [run("smo", 3, train_seconds=2.0, machine="m"), *seconds]
    (row,) = compared(records, "smo", "cks", ("train_seconds",))
    assert (row.pairs, row.second) == (1, pytest.approx(4.0))


def test_the_larger_objective_wins_where_the_problem_is_to_find_the_largest():
    records = [
        run(solver, seed, objective=value, parameters={"nu": 0.1})
        for solver, value in (("sbp", 0.3), ("sbp-less", 0.2)) for seed in range(6)
    ]  # fmt: skip
    records = [replace(each, problem="f(w)", maximised=1) for each in records]
    (row,) = compared(records, "sbp", "sbp-less", ("objective",))
    assert (row.wins, row.losses) == (6, 0)


def test_objectives_and_counts_are_compared_by_their_ratio(rng):
    a, b = rng.uniform(1, 2, 7), rng.uniform(2, 3, 7)
    records = [
        run(solver, seed, support_vectors=value, objective=value)
        for solver, values in (("a", a), ("b", b)) for seed, value in enumerate(values)
    ]  # fmt: skip
    (row,) = compared(records, quantities=("objective", "support_vectors"))  # a and b name no problem: each has its own
    logs = np.log(a / b)
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert (row.quantity, row.measure) == ("support_vectors", "ratio")
    assert (row.effect, row.low, row.high) == pytest.approx((math.exp(logs.mean()), math.exp(low), math.exp(high)))
    assert row.effect == pytest.approx(row.first / row.second)
    records = [replace(each, problem="hinge") for each in records]
    assert [each.quantity for each in compared(records, quantities=("objective",))] == ["objective"]
    records = [replace(each, parameters=json.dumps({"C": 1 if each.solver == "a" else 2})) for each in records]
    assert compared(records, quantities=("objective",)) == []


def test_over_datasets_the_means_are_compared_by_signed_ranks(rng):
    a, b = rng.normal(0.2, 0.05, (9, 4)), rng.normal(0.22, 0.05, (9, 4))
    records = [
        each for place in range(9)
        for solver, values in (("a", a), ("b", b)) for each in side(solver, values[place], dataset=f"d{place}")
    ]  # fmt: skip
    *single, whole = compared(records)
    differences = (a - b).mean(axis=1)
    assert [row.dataset for row in single] == [f"d{place}" for place in range(9)]
    assert (whole.dataset, whole.test, whole.pairs, whole.remark) == ("", "Wilcoxon", 9, "")
    assert whole.p_value == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)
    assert (whole.wins, whole.losses) == ((differences < 0).sum(), (differences > 0).sum())
    for shift, is_refused in (
        (whole.low, False),
        (whole.low - 2e-6, True),
        (whole.high, True),
        (whole.high - 2e-6, False),
    ):
        assert (wilcoxon(differences, np.full(9, shift + 1e-6)).p_value < LEVEL) == is_refused
    assert single[0].pairs == 4
    assert single[0].remark == ""  # a t test needs no least number of pairs


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        ([0.1], "one seed: no test"),
        ([0.1] * 7, "the same difference at every seed"),
        ([0.2] * 7, "equal at every seed"),
        ([0.10, 0.11, 0.12, 0.13, 0.15], ""),
    ],
)
def test_what_the_seeds_cannot_tell_is_said(values, remark):
    (row,) = compared(side("a", values) + side("b", [0.2] * len(values)))
    assert row.remark.startswith(remark)
    assert (row.p_value is None) == (row.low is None) == (len(set(values)) == 1)


def test_numbers_that_are_equal_but_for_rounding_do_not_differ(rng):
    """Ties in every pair are no significant difference: not on a dataset, and not over several."""
    records = [
        replace(run(solver, seed, dataset, objective=value * factor), problem="hinge")
        for dataset in "abcdefg" for seed, value in enumerate(rng.uniform(1, 2, 5))
        for solver, factor in (("a", 1 + rng.uniform(1e-13, 3e-13)), ("b", 1.0))
    ]  # fmt: skip
    *single, whole = compared(records, quantities=("objective",))
    assert {(row.effect, row.p_value, row.ties, row.remark) for row in single} == {
        (1.0, None, 5, "equal at every seed")
    }
    assert (whole.effect, whole.p_value, whole.ties) == (1.0, 1.0, 7)


def test_few_datasets_have_no_interval():
    records = [
        each for name in "de" for solver in "ab" for each in side(solver, [0.1 + (solver == name)], dataset=name)
    ]
    whole = compared(records)[-1]
    assert (whole.low, whole.high) == (None, None)
    assert "too few datasets: 2 of 6 needed" in whole.remark


def test_seeds_of_one_split_are_one_pair():
    records = [
        run(solver, seed, split=split, online_error=0.1 + 0.01 * seed + 0.02 * place * (solver == "b"))
        for solver in "ab" for place, split in enumerate(("01", "02", "12")) for seed in range(2)
    ]  # fmt: skip
    (row,) = compared(records, quantities=("online_error",))
    assert (row.pairs, row.ties) == (3, 1)
    assert row.effect == pytest.approx(-0.02)
    assert row.remark == "splits share examples, so p is too small"


def test_a_solver_without_a_budget_stands_beside_every_budget():
    values = {None: 0.1, 200: 0.3, 400: 0.2}
    records = [
        run("perceptron" if budget is None else "forgetron", seed, budget=budget, test_error=value + seed / 100,
            parameters={} if budget is None else {"vectors": budget})
        for budget, value in values.items() for seed in range(3)
    ]  # fmt: skip
    rows = compared(records, "forgetron", "perceptron")
    assert [(row.setting, row.pairs) for row in rows] == [("budget=200", 3), ("budget=400", 3)]
    assert [row.effect for row in rows] == pytest.approx([0.2, 0.1])
    for name in ("budget", "vectors"):  # as its parameter is called
        (row,) = compared(records, f"forgetron {name}=400", "perceptron")
        assert (row.setting, row.effect) == ("", pytest.approx(0.1))


def test_settings_that_only_one_has_are_told_with_what_has_no_partner():
    records = [run("a", seed, parameters={"C": C}, test_error=0.1 * C) for C in (1, 2, 4) for seed in (0, 1)]
    records += [run("b", seed, parameters={"C": C}, test_error=0.1) for C in (1, 2) for seed in (0, 2)]
    records += [run("b", 0, dataset="web", parameters={"C": 1}, test_error=0.1), run("b", 5, status="error")]
    sides = Sides(runs_of(records, "a", "x"), runs_of(records, "b", "x"))
    assert [(row.setting, row.pairs) for row in sides.compare(["test_error"])] == [("C=1", 1), ("C=2", 1)]
    assert sides.only_in(0) == ["adult (C=1 seed=1, C=2 seed=1, C=4 seed=0, C=4 seed=1)"]
    assert sides.only_in(1) == ["adult (C=1 seed=2, C=2 seed=2)", "web"]


def test_parameters_that_are_not_alike_are_told():
    records = [run("a", dataset=name, parameters={"C": 1, "eps": 0.1}, test_error=0.1) for name in ("adult", "web")]
    records += [run("b", dataset=name, parameters={"C": 2, "stop": 1}, test_error=0.1) for name in ("adult", "web")]
    sides = Sides(runs_of(records, "a", "x"), runs_of(records, "b", "x"))
    assert sides.unlike() == ["C: 1 and 2 (adult, web)"]


def test_each_may_vary_what_the_other_has_not():
    records = [run("rff", parameters={"pairs": pairs}, test_error=0.1) for pairs in (1, 2)]
    records += [run("cks", budget=size, test_error=0.2) for size in (10, 20)]
    settings = {row.setting for row in compared(records, "rff", "cks")}
    assert settings == {"pairs=1 budget=10", "pairs=1 budget=20", "pairs=2 budget=10", "pairs=2 budget=20"}


def test_wrong_names_are_refused_with_the_nearest():
    records = [run("bpegasos", parameters={"maintenance": "merging"}, test_error=0.1), run("mpu", dataset="web")]
    for solver, message in (
        ("bpegasso", "results/x: has no finished run of a solver 'bpegasso': did you mean 'bpegasos'"),
        ("bpegasos maintenace=merging", "bpegasos has no 'maintenace': did you mean 'maintenance'"),
        ("bpegasos maintenance=merge", "was not run with 'maintenance=merge': did you mean 'merging'"),
    ):
        with pytest.raises(ConfigError, match=message):
            runs_of(records, solver, "results/x")
    with pytest.raises(StoreError, match="bpegasos and mpu have no dataset"):
        compared(records, "bpegasos", "mpu")


def test_a_setting_whose_value_holds_blanks_is_named_as_it_is_suggested():
    kernels = ["polynomial(degree=2, offset=1)", "polynomial(degree=3, offset=1)"]
    weights = {"class_weight": {"no": 1.0, "yes": 2.0}}
    records = [replace(run("smo", kernel, parameters=weights), kernel=name) for kernel, name in enumerate(kernels)]
    for words in (f"kernel={kernels[1]}", f" kernel={kernels[1]}  class_weight={{'no': 1.0, 'yes': 2.0}} "):
        assert [each.kernel for each in runs_of(records, f"smo {words}", "x")] == kernels[1:]
    with pytest.raises(ConfigError, match="no finished run of a solver ''"):
        runs_of(records, "", "x")


def test_trials_and_earlier_runs_are_no_results():
    records = [run("a", test_error=0.1), run("a", 1, trial="validation"), replace(run("a", 2), earlier=1)]
    assert [each.seed for each in runs_of(records, "a", "x")] == [0]


def test_seconds_are_paired_on_one_machine_only(rng):
    def records(machine):
        return [
            run(solver, seed, test_error=0.1 + seed / 100, threads=1, cpu_seconds=float(value), train_seconds=1.0,
                made_on=machine if solver == "b" and seed < 2 else "here")
            for solver in ("a", "b") for seed, value in enumerate(rng.uniform(1, 2, 7))
        ]  # fmt: skip

    for machine, apart in (("here", 0), (None, 0), ("there", 2)):
        sides = Sides(*(runs_of(records(machine), solver, "results/x") for solver in ("a", "b")))
        found = {row.quantity: row.pairs for row in sides.compare(["test_error", "comparable_seconds"])}
        assert found == {"test_error": 7, "comparable_seconds": 7 - apart}
        assert sides.on_other_machines() == apart


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({}, {}, "neither has it"),
        ({"margin": 0.5}, {}, "the second has none"),
        ({}, {"margin": 0.5}, "the first has none"),
        ({"margin": -0.5}, {"margin": 0.5}, "a ratio needs numbers above 0"),
    ],
)
def test_a_quantity_that_cannot_be_compared_has_a_reason(first, second, why):
    records = [run("a", 0, **first), run("b", 0, **second)]
    sides = Sides(runs_of(records, "a", "results/x"), runs_of(records, "b", "results/x"))
    assert sides.compare(["margin"]) == []
    assert sides.why_not_compared("margin") == why


def test_runs_whose_values_were_tuned_stand_beside_tuned_ones_only():
    """The run of C=1 had the values of the tuned one, which has no C of its own."""
    records = [run("dcd", seed, parameters={"C": 1}, test_error=0.3 + seed / 100) for seed in range(3)]
    records += [replace(run("dcd", seed, test_error=0.1 + seed / 100), tuned="C of 1, 10") for seed in range(3)]
    others = [run("mpu", seed, test_error=0.2) for seed in range(3)]
    (row,) = compared([*records, *others], "dcd", "mpu")
    assert (row.setting, row.first) == ("tuned=no", pytest.approx(0.31))
    (row,) = compared([*records, *(replace(each, tuned="C of 1, 10") for each in others)], "dcd", "mpu")
    assert (row.setting, row.first) == ("tuned=yes", pytest.approx(0.11))
    (row,) = compared([*records, *others], "dcd tuned=yes", "mpu")
    assert row.first == pytest.approx(0.11)


def test_which_of_several_runs_of_a_seed_is_meant_is_not_guessed():
    records = [replace(run("dcd", test_error=0.1), tuned=tuned) for tuned in ("C of 1", "C of 10")]
    with pytest.raises(
        StoreError, match="dcd on adult: has several runs of seed 0, tuned over C of 1, and over C of 10"
    ):
        compared([*records, replace(run("mpu", test_error=0.2), tuned="C of 1")], "dcd", "mpu")


def test_disturbed_seconds_are_not_compared():
    seconds = {"threads": 1, "train_seconds": 1.0, "cpu_seconds": 1.0}
    records = [run(solver, seed, **seconds) for solver in "ab" for seed in range(3)]
    records = [replace(each, disturbed="waited 30%", only_delayed=1) if each.seed == 0 else each for each in records]
    found = {row.quantity: row.pairs for row in compared(records, quantities=("train_seconds", "cpu_seconds"))}
    assert found == {"train_seconds": 2, "cpu_seconds": 3}
    every = [replace(each, disturbed="waited 30%") for each in records]
    sides = Sides(runs_of(every, "a", "x"), runs_of(every, "b", "x"))
    assert (sides.compare(["train_seconds"]), sides.why_not_compared("train_seconds")) == (
        [],
        "its seconds were disturbed",
    )


def test_objectives_of_values_that_tuning_chose_are_of_one_function_only_where_it_chose_the_same():
    records = [run(solver, seed, objective=1.0 + seed) for solver in "ab" for seed in range(3)]
    records = [replace(each, problem="hinge", tuned="C of 1, 10", chosen="C=1") for each in records]
    (row,) = compared(records, quantities=("objective",))
    assert row.pairs == 3
    others = [replace(each, chosen="C=10") if each.solver == "b" else each for each in records]
    assert compared(others, quantities=("objective",)) == []


def test_an_interval_of_ratios_may_have_no_end():
    first = [run("a", seed, suboptimality=value) for seed, value in enumerate((1e-16, 1e10))]
    second = [run("b", seed, suboptimality=value) for seed, value in enumerate((1e10, 1e-16))]
    (row,) = compared(first + second, quantities=("suboptimality",))
    assert (row.effect, row.low, row.high) == (pytest.approx(1.0), pytest.approx(0.0), math.inf)


def test_pairs_without_a_ratio_are_counted():
    first = [run("a", seed, updates=updates) for seed, updates in enumerate((0, 0, 5, 6))]
    second = [run("b", seed, updates=5) for seed in range(4)]
    (row,) = compared(first + second, quantities=("updates",))
    assert (row.pairs, row.remark) == (2, "without 2 pairs of numbers that are not all above 0")
    (row,) = compared(first[1:] + second[1:], quantities=("updates",))
    assert (row.pairs, row.remark) == (2, "without 1 pair of numbers that are not all above 0")


@pytest.mark.parametrize(
    ("first", "second", "unlike"),
    [
        ({"n": 100}, {"n": 1000}, "n: 100 and 1000"),
        ({"threads": 1}, {"threads": 2}, "threads: 1 and 2"),
        ({"overridden": "stop.passes=1"}, {}, "changes from the config: stop.passes=1 and nothing"),
        ({"parameters": {"class_weight": "balanced"}}, {}, "class_weight: balanced and none"),
    ],
)
def test_runs_under_other_conditions_are_told(first, second, unlike):
    sides = [run("a", test_error=0.1, **first)], [run("b", test_error=0.2, **second)]
    assert Sides(*sides).unlike() == [f"{unlike} (adult)"]
