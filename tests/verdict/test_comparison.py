"""Cells: which number of print stands beside which row of results, and what kind of number it is."""

from __future__ import annotations

import json

import pytest

from mpu_bench import published
from mpu_bench.config.rules import Judging
from mpu_bench.results.folder import open_results
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import CLAIM, FACT, RATIO, RECOMPUTED, SET, VALUE, count_verdicts
from mpu_bench.verdict.points import Evidence
from mpu_bench.verdict.verdict import Verdict
from oracles import made_up
from records import records, summaries


def row(dataset, solver, budget=None, n=32561, count=1, parameters=None, **means):
    quantities = {f"{name}_mean": value for name, value in means.items() if not name.endswith("_std")}
    deviations = {f"{name}_std": None for name in means} | {
        name: value for name, value in means.items() if name.endswith("_std")
    }
    named = {"dataset": dataset, "solver": solver, "budget_vectors": budget, "n": n, "d": 123, "n_test": 1,
             "classes": 2, "kernel": "linear"}  # fmt: skip
    state = {"parameters": json.dumps(parameters or {}), "count": count, "planned": count, "status": "done",
             "reason": "", "as_published": 1, "disturbed": None}  # fmt: skip
    return named | state | deviations | quantities


def judged(rows, **judging):
    cells = comparison.compare(summaries(rows), Evidence(), Judging.model_validate(judging))
    return {(cell.dataset, cell.solver, cell.what): cell for cell in cells}


def test_every_printed_number_has_a_row_whatever_was_run():
    cells = comparison.compare([], Evidence(), Judging(published=["mpu-table1"]))
    printed = published.table("mpu-table1")
    datasets = {each["dataset"] for each in printed}
    assert len(cells) == 2 * len(printed) + 2 * len(datasets)  # objective and seconds; n and d
    assert {cell.verdict for cell in cells} == {Verdict.NOT_RUN}
    assert all(cell.remark for cell in cells)


@pytest.mark.parametrize(
    ("objective", "verdict"),
    [(11434.4, Verdict.REPRODUCED), (11435.5, Verdict.REPRODUCED), (11436, Verdict.INCONCLUSIVE)],
)
def test_an_objective_is_held_to_the_accuracy_that_the_paper_asks_for(objective, verdict):
    cell = judged([row("adult", "mpu", objective=objective)], published="mpu-table1")["adult", "mpu", "objective"]
    assert (cell.kind, cell.verdict) == (VALUE, verdict)
    assert cell.difference == pytest.approx(objective - 11434.4)
    assert cell.allowed == pytest.approx(1.14344 + 0.05)


def test_a_difference_says_which_way_and_whether_that_is_better():
    nu = judged(
        [row("reuters-money-fx", "smo", n=7770, nu=6.81e-4, parameters={"bias": False})
         | {"kernel": "gaussian(sigma2=0.5)"}],
        published="sbp-table2",
    )["reuters-money-fx", "smo", "nu"]  # fmt: skip
    assert (nu.verdict, nu.direction, nu.judged) == (Verdict.NOT_REPRODUCED, "higher", "")
    merging = row("usps", "bpegasos", 100, 7291, 5, {"maintenance": "merging"}, test_accuracy_percent=80.0,
                  test_accuracy_percent_std=0.2)  # fmt: skip
    cell = judged([merging], published="bpegasos-table1")["usps", "bpegasos", "accuracy_percent"]
    assert (cell.verdict, cell.direction, cell.judged) == (Verdict.NOT_REPRODUCED, "lower", "worse")
    assert (cell.published_std, cell.published_runs) == (0.2, 5)


def test_a_number_that_a_setting_was_read_off_is_fitted_where_it_agrees():
    fitted = {"table": "mpu-table1", "column": "objective", "datasets": ["adult"], "solvers": ["mpu"], "how": "by C"}
    rows = [row("adult", solver, objective=11434.4) for solver in ("mpu", "dcd")]
    found = judged(rows, published="mpu-table1", fitted=[fitted])
    assert (found["adult", "mpu", "objective"].verdict, found["adult", "mpu", "objective"].remark) == ("fitted", "by C")
    assert found["adult", "dcd", "objective"].verdict == Verdict.REPRODUCED
    assert count_verdicts(list(found.values()))[Verdict.FITTED] == 1
    rows[0] |= {"objective_mean": 12000.0}
    assert judged(rows, published="mpu-table1", fitted=[fitted])["adult", "mpu", "objective"].verdict != Verdict.FITTED


def test_facts_of_the_data_are_to_be_met_and_are_no_values():
    found = judged([row("adult", "mpu", n=32560)], published="mpu-table1")
    assert (found["adult", "", "d"].kind, found["adult", "", "d"].verdict) == (FACT, Verdict.REPRODUCED)
    assert found["adult", "", "n"].verdict == Verdict.NOT_REPRODUCED
    assert count_verdicts(list(found.values()))[Verdict.REPRODUCED] == 0


def test_what_a_card_expects_is_no_fact():
    found = judged([row("adult", "mpu", count=0)], published="mpu-table1")["adult", "", "n"]
    assert (found.verdict, found.remark) == (Verdict.NOT_RUN, "the data are not here")


def test_a_part_of_the_data_answers_nothing():
    found = judged([row("adult", "mpu", n=1000, objective=11434.4)], published="mpu-table1")
    assert found["adult", "mpu", "objective"].verdict == Verdict.NOT_RUN
    assert "1000 rows" in found["adult", "mpu", "objective"].remark
    assert found["adult", "", "n"].verdict == Verdict.NOT_RUN


def test_a_run_with_other_settings_answers_nothing():
    other = row("adult", "mpu", objective=11434.4) | {"as_published": 0}
    found = judged([other], published="mpu-table1")["adult", "mpu", "objective"]
    assert (found.verdict, found.remark) == (Verdict.NOT_RUN, "run with other settings than those of the config")


def test_a_run_that_is_still_to_come_says_so():
    waiting = row("adult", "mpu", count=0, objective=None) | {"status": "not run"}
    found = judged([waiting], published="mpu-table1")["adult", "mpu", "objective"]
    assert (found.verdict, found.remark) == (Verdict.NOT_RUN, "planned and not yet run; the same command goes on")


def test_seconds_are_judged_as_ratios_and_only_undisturbed_ones():
    rows = [
        row("adult", "mpu", count=5, comparable_seconds=0.06),
        row("adult", "dcd", count=5, comparable_seconds=0.04),
    ]
    cell = judged(rows, published="mpu-table1")["adult", "mpu", "seconds / dcd's"]
    assert (cell.kind, cell.verdict) == (RATIO, Verdict.REPRODUCED)
    assert (cell.published, cell.measured) == (pytest.approx(4 / 3), pytest.approx(1.5))
    rows[0] |= {"comparable_seconds_mean": 0.6}
    assert judged(rows, published="mpu-table1")["adult", "mpu", "seconds / dcd's"].verdict == Verdict.NOT_REPRODUCED
    rows[0] |= {"comparable_seconds_mean": None, "disturbed": 1}
    disturbed = judged(rows, published="mpu-table1")["adult", "mpu", "seconds / dcd's"]
    assert (disturbed.verdict, disturbed.remark) == (Verdict.NOT_COMPARABLE, "disturbed while mpu ran")
    assert judged(rows, published="mpu-table1")["adult", "dcd", "seconds"].kind == SET  # over itself
    assert judged(rows[:1], published="mpu-table1")["adult", "mpu", "seconds"].verdict == Verdict.NOT_RUN


def test_seconds_are_those_of_the_row_that_answers():
    rows = [row("adult", "mpu", train_seconds=seconds) | {"kernel": kernel}
            for kernel, seconds in (("linear", 1.0), ("polynomial(degree=1)", 2.0))]  # fmt: skip
    cells = comparison.compare(summaries(rows), Evidence(), Judging(published=["mpu-table1"]))
    found = [cell.seconds for cell in cells if (cell.dataset, cell.solver, cell.column) == ("adult", "mpu", "seconds")]
    assert [float(text) for text in found] == [1.0, 2.0]


def test_seconds_of_two_machines_make_no_ratio():
    def made_on(*machines):
        runs = [{"split": None, "seed": seed, "made_on": each, "comparable_seconds": 1.0}
                for seed, each in enumerate(machines)]  # fmt: skip
        return {"runs": [*runs, *runs]}

    def cell(mpu, dcd):
        rows = [row("adult", "mpu", comparable_seconds=0.06, objective=11434.4) | mpu,
                row("adult", "dcd", comparable_seconds=0.04) | dcd]  # fmt: skip
        found = judged(rows, published="mpu-table1")
        assert found["adult", "mpu", "objective"].verdict == Verdict.REPRODUCED
        return found["adult", "mpu", "seconds / dcd's"]

    apart = cell(made_on("here", "here"), made_on("here", "there"))
    assert (apart.verdict, apart.measured) == (Verdict.NOT_COMPARABLE, None)
    assert apart.remark == "its seconds were made on another machine than those of dcd"
    assert cell(made_on("here", "there"), made_on("here", "there")).verdict == Verdict.REPRODUCED
    assert cell(made_on("here", None), made_on("here", "here")).verdict == Verdict.REPRODUCED


def test_a_claim_about_seconds_of_two_machines_is_not_judged(tmp_path):
    def verdicts(**machines):
        with open_results(made_up.results(tmp_path, "-".join(["x", *machines]), **machines)) as results:
            return {cell.column: cell for cell in comparison.of_results(results).cells if cell.kind == CLAIM}

    seconds, errors = verdicts(hosts=("one", "two")).values()
    assert (seconds.verdict, errors.verdict) == (Verdict.NOT_COMPARABLE, Verdict.SUPPORTED)
    assert seconds.remark == "adult: its seconds were made on another machine than those of libsvm"
    assert [cell.verdict for cell in verdicts().values()] == [Verdict.SUPPORTED, Verdict.SUPPORTED]


def test_numbers_that_the_config_gives_are_counted_apart_and_carry_no_deviation():
    budget = row("usps", "projectron++", 100, 7291, 5, support_vectors=100.0, support_vectors_std=0.0,
                 test_accuracy_percent=81.0, test_accuracy_percent_std=3.0)  # fmt: skip
    found = judged([budget], published="bpegasos-table1")
    assert found["usps", "projectron++", "support_vectors"].kind == SET
    assert found["usps", "projectron++", "support_vectors"].published_std is None


def test_a_number_that_a_constant_answer_reaches_is_uninformative():
    web = row("w1a", "fw", n=2477, count=5, test_accuracy_percent=97.5, test_accuracy_percent_std=0.1,
              constant_error=0.0303)  # fmt: skip
    web |= {"balanced_error_mean": 0.41, "positives_found_mean": 0.18}
    cell = judged([web], published="fw-table8")["w1a", "fw", "accuracy_percent"]
    assert cell.verdict == Verdict.NOT_INFORMATIVE
    assert "balanced test error, %: 41.00, positives found, %: 18.00" in cell.remark
    web |= {"constant_error_mean": 0.3}
    assert judged([web], published="fw-table8")["w1a", "fw", "accuracy_percent"].verdict != Verdict.NOT_INFORMATIVE


def test_an_explanation_changes_no_verdict():
    nu = row("reuters-money-fx", "smo", n=7770, nu=6.81e-4, parameters={"bias": False})
    nu |= {"kernel": "gaussian(sigma2=0.5)"}
    why = {"table": "sbp-table2", "column": "nu", "because": "the oracle has it too", "evidence": "sbp-table2"}
    cell = judged([nu], published="sbp-table2", explained=[why])["reuters-money-fx", "smo", "nu"]
    assert (cell.verdict, cell.explained, cell.evidence) == (
        Verdict.NOT_REPRODUCED,
        "the oracle has it too",
        "sbp-table2",
    )
    other = judged([nu], published="sbp-table2", explained=[why | {"dataset": "adult"}])
    assert not other["reuters-money-fx", "smo", "nu"].explained


def recomputed(column, **more):
    return {"claim": "W", "statement": {"kind": "significant", "test": "wilcoxon", "alternative": "less",
            "solvers": ["fw", "cvm"], "of": "fw-table3", "quantity": "seconds",
            "printed": {"table": "fw-tables5-6", "row": 1, "column": column}} | more}  # fmt: skip


@pytest.mark.parametrize("column", ["statistic", "p_value"])
def test_a_statistic_is_computed_again_from_what_is_printed(column):
    judging = Judging.model_validate({"claims": [recomputed(column)], "published": "fw-tables5-6"})
    *rest, claim = comparison.compare([], Evidence(), judging)
    assert (claim.kind, claim.verdict, claim.count, claim.row) == (RECOMPUTED, Verdict.REPRODUCED, 26, 1)
    assert (1, column) not in {(cell.row, cell.column) for cell in rest}  # the claim answers that number
    assert len(rest) == 2 * len(published.table("fw-tables5-6")) - 1


def test_sizes_of_pairs_of_classes_are_facts():
    rows = [row("pendigits", "fw", n=7494) | {"d": 16, "n_test": 3498, "classes": 10, "largest_pair": 1560}]
    found = judged(rows, published="fw-table1")
    assert {found["pendigits", "", name].verdict for name in ("n", "n_test", "classes", "d", "largest_pair")} == {
        Verdict.REPRODUCED
    }
    assert found["pendigits", "", "smallest_pair"].verdict == Verdict.NOT_RUN
    assert found["usps", "", "largest_pair"].verdict == Verdict.NOT_RUN


def test_the_number_of_a_sentence_is_a_value_and_fixed_problems_are_no_sample():
    runs = records(
        {"experiment": "forgetron-figure2-mnist", "dataset": "mnist", "solver": "perceptron", "parameters": "{}",
         "kernel": "k", "budget_vectors": None, "seed": 0, "split": str(k), "support_vectors": size}
        for k, size in enumerate((1800, 1900, 2000))
    )  # fmt: skip
    number = {
        "kind": "number",
        "quantity": "support_vectors",
        "of": {"solver": "perceptron"},
        "each": {"dataset": "mnist"},
        "printed": {"table": "forgetron-figure2", "row": 2, "column": "value"},
    }
    judging = Judging.model_validate({"claims": [{"claim": "active set", "statement": number}]})
    (cell,) = comparison.compare([], Evidence(runs), judging)
    assert (cell.kind, cell.measured, cell.verdict) == (VALUE, 1900.0, Verdict.REPRODUCED)
    assert "fixed problems" in cell.remark
    (far,) = comparison.compare([], Evidence(runs[:2]), judging)
    assert (far.measured, far.verdict) == (1850.0, Verdict.INCONCLUSIVE)


def test_a_mean_of_some_of_the_runs_is_judged_as_of_these():
    runs = [{"status": "done", "seed": seed} | ({"test_error": 0.05 * seed} if seed < 2 else {}) for seed in range(5)]
    web = row("w1a", "fw", n=2477, count=5, test_accuracy_percent=97.5, test_accuracy_percent_std=3.5)
    cell = judged([web | {"runs": runs}], published="fw-table8")["w1a", "fw", "accuracy_percent"]
    assert (cell.count, cell.remark) == (2, "2 of 5 runs")


def test_the_zero_beside_a_single_printed_run_is_no_scatter():
    """Protein was run once, and "0.0" stands beside it: where none is printed, the measured scatter stands for both."""
    means = {"test_accuracy_percent": 95.0, "test_accuracy_percent_std": 1.0, "constant_error": 0.5}
    cell = judged([row("protein", "cvm", n=17766, count=5, **means)], published="fw-table2")[
        "protein", "cvm", "accuracy_percent"
    ]
    assert (cell.published_std, cell.published_runs) == (None, 1)
    assert cell.allowed == pytest.approx(1.0)  # the cap; two standard errors of one run and of five are 2.2


def test_seconds_without_those_they_are_set_against_are_no_ratio():
    rows = [row("adult", "mpu", comparable_seconds=0.05), row("adult", "dcd", count=0, comparable_seconds=None)]
    cell = judged(rows, published="mpu-table1")["adult", "mpu", "seconds"]
    assert (cell.kind, cell.verdict, cell.measured, cell.remark) == (RATIO, Verdict.NOT_RUN, None, "dcd was not run")


def test_seconds_are_set_against_one_setting_of_the_other_solver():
    seconds = {"comparable_seconds": 2.0, "comparable_seconds_std": 0.0}
    rows = [row("adult", "mpu", count=3, **seconds), row("adult", "dcd", count=3, **seconds)]
    more = row("adult", "dcd", count=3, parameters={"tolerance": 0.01}, **seconds)
    assert judged(rows, published="mpu-table1")["adult", "mpu", "seconds / dcd's"].measured == 1.0
    cell = judged([*rows, more], published="mpu-table1")["adult", "mpu", "seconds"]
    assert (cell.verdict, cell.measured, cell.remark) == (
        Verdict.NOT_RUN, None, "dcd was run with several settings",
    )  # fmt: skip
