import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mpu_bench import published
from mpu_bench.config.rules import Judging, Known, OrderClaim, Rule
from mpu_bench.report import figure_data
from mpu_bench.results import curves
from mpu_bench.verdict import comparison
from mpu_bench.verdict.comparison import BETTER, KNOWN, NOT_RUN, OUTSIDE, WITHIN


def row(dataset, solver, budget=None, n=32561, count=1, parameters=None, **means):
    quantities = {f"{name}_mean": value for name, value in means.items()}
    deviations = {f"{name}_std": None for name in means}
    named = {
        "dataset": dataset,
        "solver": solver,
        "budget_vectors": budget,
        "n": n,
        "d": 123,
        "n_test": 1,
        "classes": 2,
    }
    state = {"parameters": json.dumps(parameters or {}), "count": count, "planned": 1, "status": "done", "reason": ""}
    return named | state | deviations | quantities


def judged(rows, curves=(), **judging):
    cells = comparison.compare(rows, curves, Judging.model_validate(judging))
    return {(cell.dataset, cell.solver, cell.column): cell for cell in cells}


def test_every_printed_number_has_a_row_whatever_was_run():
    cells = comparison.compare([], [], Judging.model_validate({"compare": {"mpu-table1": {}}}))
    printed = published.table("mpu-table1")
    datasets = {each["dataset"] for each in printed}
    assert len(cells) == 2 * len(printed) + 2 * len(datasets)  # objective and seconds; n and d
    assert {cell.verdict for cell in cells} == {NOT_RUN}
    assert all(cell.reason for cell in cells)


@pytest.mark.parametrize(
    ("objective", "verdict"),
    [(11434.4, WITHIN), (11435.5, WITHIN), (11436, OUTSIDE), (11433, BETTER), (11433.3, WITHIN)],
)
def test_a_number_is_judged_by_its_rule(objective, verdict):
    rows = [row("adult", "mpu", objective=objective)]
    cell = judged(rows, compare={"mpu-table1": {"objective": {"relative": 1e-4}}})["adult", "mpu", "objective"]
    assert cell.verdict == verdict
    assert cell.difference == pytest.approx(objective - 11434.4)


def test_a_rule_may_differ_for_some_datasets_and_solvers():
    rule = {"absolute": 1.0, "overrides": [{"datasets": ["a1a", "w1a"], "solvers": ["cvm"], "absolute": 0.1},
                                     {"datasets": ["w1a"], "standard_deviations": 2.0}]}  # fmt: skip
    rows = [row(dataset, solver, test_accuracy_percent=97.0 if dataset[0] == "w" else 83.0)
            for dataset in ("a1a", "w1a") for solver in ("cvm", "fw")]  # fmt: skip
    found = judged(rows, compare={"fw-table2": {"accuracy_percent": rule}})
    verdicts = {name[:2]: (cell.tolerance, cell.verdict) for name, cell in found.items() if cell.count}
    assert verdicts == {
        ("a1a", "cvm"): ("absolute 0.1", OUTSIDE), ("a1a", "fw"): ("absolute 1", WITHIN),
        ("w1a", "cvm"): ("absolute 0.1", OUTSIDE), ("w1a", "fw"): ("standard deviations 2", OUTSIDE),
    }  # fmt: skip


def test_facts_of_the_data_are_to_be_met():
    found = judged([row("adult", "mpu", n=32560)], compare={"mpu-table1": {}})
    assert found["adult", "", "d"].verdict == WITHIN
    assert found["adult", "", "n"].verdict == OUTSIDE


def test_what_a_card_expects_is_no_fact():
    found = judged([row("adult", "mpu", count=0)], compare={"mpu-table1": {}})["adult", "", "n"]
    assert (found.verdict, found.reason) == (NOT_RUN, "the data are not here")


def test_a_part_of_the_data_answers_nothing():
    found = judged([row("adult", "mpu", n=1000, objective=1.0)], compare={"mpu-table1": {"objective": {"relative": 1}}})
    assert found["adult", "mpu", "objective"].verdict == NOT_RUN
    assert "1000 rows" in found["adult", "mpu", "objective"].reason
    assert found["adult", "", "n"].verdict == NOT_RUN


def test_a_run_that_is_still_to_come_says_so():
    waiting = row("adult", "mpu", count=0, objective=None) | {"status": "not run"}
    found = judged([waiting], compare={"mpu-table1": {"objective": {"relative": 1}}})["adult", "mpu", "objective"]
    assert (found.verdict, found.reason) == (NOT_RUN, "planned and not yet run; the same command goes on")


def test_seconds_are_compared_as_ratios_on_both_sides():
    rules = {"compare": {"mpu-table1": {"seconds": {"ratio_to": "dcd", "factor": 2}}}}
    rows = [row("adult", "mpu", train_seconds=0.06), row("adult", "dcd", train_seconds=0.04)]
    cell = judged(rows, **rules)["adult", "mpu", "seconds / dcd's"]
    assert (cell.published, cell.measured) == (pytest.approx(4 / 3), pytest.approx(1.5))
    assert cell.verdict == WITHIN
    rows[0] |= {"train_seconds_mean": 0.2}
    assert judged(rows, **rules)["adult", "mpu", "seconds / dcd's"].verdict == OUTSIDE
    rows[0] |= {"train_seconds_mean": 0.01}
    assert judged(rows, **rules)["adult", "mpu", "seconds / dcd's"].verdict == BETTER
    assert judged(rows[:1], **rules)["adult", "mpu", "seconds"].verdict == NOT_RUN


def test_joint_deviations_count_where_both_are_known():
    rule = {"compare": {"bpegasos-table1": {"accuracy_percent": {"standard_deviations": 2}}}}
    rows = [row("usps", "bpegasos", 100, 7291, parameters={"maintenance": "merging"}, test_accuracy_percent=92.7)]
    rows[0]["test_accuracy_percent_std"] = 0.3
    assert judged(rows, **rule)["usps", "bpegasos", "accuracy_percent"].verdict == WITHIN  # 2 * sqrt(.2^2 + .3^2) = .72
    rows[0]["test_accuracy_percent_mean"] = 91.2
    assert judged(rows, **rule)["usps", "bpegasos", "accuracy_percent"].verdict == OUTSIDE


def test_what_is_known_is_no_fault_until_it_moves():
    known = {"dataset": "adult", "column": "objective", "measured": 12000.0, "relative": 1e-3, "reason": "evidence"}
    judging = {"compare": {"mpu-table1": {"objective": {"relative": 1e-4}}}, "known": [known]}
    there = judged([row("adult", "mpu", objective=12001.0)], **judging)["adult", "mpu", "objective"]
    assert (there.verdict, there.reason) == (KNOWN, "evidence")
    moved = judged([row("adult", "mpu", objective=12100.0)], **judging)["adult", "mpu", "objective"]
    assert moved.verdict == OUTSIDE
    assert "12000" in moved.reason


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.floats(1e-6, 0.5))
def test_within_means_within(printed, measured, relative):
    cell = replace(_CELL, published=printed, measured=measured)
    within = comparison.judge(cell, Rule(relative=relative)) == WITHIN
    assert within == (abs(measured - printed) <= relative * printed * (1 + 1e-12))


_CELL = comparison.Cell("cell", "", "", "", "", "", "nu", 1.0, None, 1.0, None, 1, None, None, "", "", "")


def curve(solver, values, dataset="adult"):
    return [
        {"dataset": dataset, "solver": solver, "parameters": "{}", "budget_vectors": None, "presented": 10**k,
         "kernel_evaluations_mean": 10.0**k, "test_error_mean": value}
        for k, value in enumerate(values, start=3)
    ]  # fmt: skip


BELOW = {
    "claim": "SBP lies below Pegasos", "kind": "below", "quantity": "test_error",
    "where": {"dataset": "adult", "solver": "sbp"}, "rows": [{"solver": "pegasos-kernel"}],
}  # fmt: skip


def test_a_curve_lies_below_another_up_to_a_point():
    curves = curve("sbp", [0.2, 0.16, 0.15, 0.15]) + curve("pegasos-kernel", [0.3, 0.2, 0.16, 0.14])
    whole = judged([], curves, claims=[BELOW])["adult", "sbp", BELOW["claim"]]
    assert whole.verdict == OUTSIDE
    part = judged([], curves, claims=[BELOW | {"up_to": 9e5}])["adult", "sbp", BELOW["claim"]]
    assert part.verdict == WITHIN
    missing = judged([], curves[:4], claims=[BELOW])["adult", "sbp", BELOW["claim"]]
    assert missing.verdict == NOT_RUN


def test_orders_rises_slopes_and_single_numbers():
    rows = [
        row("adult", "mpu", n=1000, train_seconds=1.0), row("adult", "dcd", n=1000, train_seconds=2.0),
        row("web", "mpu", n=10000, train_seconds=10.5),
    ]  # fmt: skip
    claims = [
        {"claim": "order", "kind": "order", "quantity": "train_seconds", "where": {"dataset": "adult"},
         "rows": [{"solver": "mpu"}, {"solver": "dcd"}]},
        {"claim": "wrong order", "kind": "order", "quantity": "train_seconds", "where": {"dataset": "adult"},
         "rows": [{"solver": "dcd"}, {"solver": "mpu"}]},
        {"claim": "linear", "kind": "slope", "quantity": "train_seconds", "against": "n", "where": {"solver": "mpu"},
         "between": [0.9, 1.1]},
        {"claim": "number", "kind": "number", "quantity": "train_seconds", "where": {"solver": "mpu"},
         "printed": 5.75, "rule": {"relative": 0.01}},
        {"claim": "overfits", "kind": "rises", "quantity": "test_error", "where": {"solver": "sbp"}, "by": 0.01},
    ]  # fmt: skip
    cells = comparison.compare(rows, curve("sbp", [0.2, 0.1, 0.12]), Judging.model_validate({"claims": claims}))
    assert {cell.column: cell.verdict for cell in cells} == {
        "order": WITHIN, "wrong order": OUTSIDE, "linear": WITHIN, "number": WITHIN, "overfits": WITHIN,
    }  # fmt: skip


def test_a_quantity_may_bound_another_in_every_row():
    claim = {"claim": "Theorem 1", "kind": "bound", "quantity": "updates", "against": "update_bound"}
    rows = [row("adult", "mpu", updates=9.0, update_bound=10.0), row("web", "mpu", updates=2.0, update_bound=2.0)]
    cell = judged(rows, claims=[claim])["", "", "Theorem 1"]
    assert (cell.verdict, cell.measured, cell.count) == (WITHIN, 1.0, 2)
    rows.append(row("reuters", "mpu", updates=3.0, update_bound=2.0))
    assert judged(rows, claims=[claim])["", "", "Theorem 1"].verdict == OUTSIDE
    nothing = judged([row("adult", "mpu", updates=0.0, update_bound=None)], claims=[claim])["", "", "Theorem 1"]
    assert nothing.verdict == NOT_RUN


def test_a_slope_may_be_that_of_a_curve_after_its_start():
    claim = {"claim": "quadratic", "kind": "slope", "quantity": "train_seconds", "against": "presented",
             "where": {"solver": "sbp"}, "from": 1e4, "between": [1.9, 2.1]}  # fmt: skip
    points = [point | {"train_seconds_mean": max(point["presented"], 1e4) ** 2} for point in curve("sbp", [0.0] * 5)]
    assert judged([], points, claims=[claim])["", "sbp", "quadratic"].verdict == WITHIN
    assert judged([], points, claims=[claim | {"from": 1.0}])["", "sbp", "quadratic"].verdict == OUTSIDE


def test_kernel_evaluations_are_inner_products_and_runs_at_one_place_are_a_curve_of_their_last_rows():
    features = [
        {"dataset": "adult", "solver": "rff", "parameters": f'{{"pairs": {pairs}}}', "budget_vectors": None,
         "presented": presented, "inner_products_mean": 1000.0 * pairs, "test_error_mean": error + 1 / presented}
        for pairs, error in ((1, 0.4), (10, 0.3), (100, 0.2)) for presented in (5, 100)
    ]  # fmt: skip
    products = [point | {"inner_products_mean": 0.0} for point in curve("sbp", [0.4, 0.28, 0.2])]
    against = {"against": "inner_products", "rows": [{"solver": "rff"}]}
    cell = judged([], products + features, claims=[BELOW | against])["adult", "sbp", BELOW["claim"]]
    assert (cell.verdict, cell.count) == (WITHIN, 1)
    drawn = figure_data.make(
        "test-error",
        [],
        [point | {"kernel": "linear", "passes_mean": 1.0} for point in products + features],
        "inner_products",
    )
    lines = {each.label: (each.x, each.y) for each in drawn.panels[0].series}
    assert set(lines) == {"sbp", "rff"}
    assert lines["rff"][0] == (1e3, 1e4, 1e5)
    assert lines["rff"][1] == pytest.approx((41, 31, 21))


def test_a_curve_ends_where_the_first_of_its_runs_ends():
    there = {"kernel": "linear", "n": 10, "count": 3}
    rows = [row("adult", "sbp", count=3) | there]
    points = [point | {"kernel": "linear", "count": count, "passes_mean": 1.0}
              for point, count in zip(curve("sbp", [0.3, 0.2, 0.1]), (3, 3, 1), strict=True)]  # fmt: skip
    assert len(curves.complete(points, rows)) == 2
    assert figure_data.make("test-error", rows, points[2:]) is None  # the ends of single runs are no curve


def test_a_speed_up_may_grow_over_some_of_the_datasets():
    rows = [row("letter", "fw", n=50, train_seconds=9.0)]
    rows += [row(f"w{k}a", "fw", n=10**k, train_seconds=float(10**k)) for k in (1, 2, 3)]
    claim = {"claim": "grows", "kind": "slope", "quantity": "train_seconds", "against": "n", "where": {"solver": "fw"},
             "speed_up_over": {"solver": "cvm"}, "datasets": ["w1a", "w2a", "w3a"], "between": [0.4, 0.6]}  # fmt: skip
    assert judged(rows, claims=[claim])["", "fw", "grows"].verdict == NOT_RUN
    rows += [row(f"w{k}a", "cvm", n=10**k, train_seconds=10.0 ** (1.5 * k)) for k in (1, 2, 3)]
    cell = judged(rows, claims=[claim])["", "fw", "grows"]
    assert (cell.verdict, cell.measured) == (WITHIN, pytest.approx(0.5))


def test_a_claim_that_is_known_not_to_hold_says_why():
    curves = curve("sbp", [0.2]) + curve("pegasos-kernel", [0.1])
    curves += [point | {"kernel_evaluations_mean": 1e4, "presented": 1e4} for point in curves]
    cells = judged([], curves, claims=[BELOW], known=[{"claim": BELOW["claim"], "reason": "tried"}])
    assert (cells["adult", "sbp", BELOW["claim"]].verdict, cells["adult", "sbp", BELOW["claim"]].reason) == (
        KNOWN,
        "tried",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        Rule,
        lambda: Rule(ratio_to="dcd"),
        lambda: Known(column="nu", reason="x"),
        lambda: Known(reason="x", measured=1.0, relative=1.0),
        lambda: OrderClaim(claim="x", kind="order", quantity="nu"),
    ],
)
def test_what_says_nothing_is_refused(wrong):
    with pytest.raises(ValidationError, match=r"give|name|required|go together"):
        wrong()


def statistic(column="statistic", **more):
    claim = {"claim": "FW is faster than CVM", "kind": "statistic", "test": "wilcoxon", "alternative": "less",
             "solvers": ["fw", "cvm"], "quantity": "train_seconds", "rule": {"relative": 1e-3},
             "printed": {"table": "fw-tables5-6", "row": 1, "column": column}}  # fmt: skip
    return claim | more


@pytest.mark.parametrize("column", ["statistic", "p_value"])
def test_a_statistic_is_computed_again_from_what_is_printed(column):
    judging = {"claims": [statistic(column, of="fw-table3", quantity="seconds")], "compare": {"fw-tables5-6": {}}}
    claim, *rest = reversed(comparison.compare([], [], Judging.model_validate(judging)))
    assert (claim.verdict, claim.count, claim.row) == (WITHIN, 26, 1)
    assert (1, column) not in {(cell.row, cell.column) for cell in rest}  # the claim answers that number
    assert len(rest) == 2 * len(published.table("fw-tables5-6")) - 1


def test_a_statistic_of_results_is_over_the_datasets_that_all_solvers_have():
    rows = [row(name, solver, train_seconds=float(k + 10 * (solver == "cvm")))
            for k, name in enumerate("abcdefg") for solver in ("fw", "cvm") if name + solver != "gcvm"]  # fmt: skip
    found = judged(rows, claims=[statistic(rule={"absolute": 17})])["", "", "FW is faster than CVM"]
    assert (found.measured, found.count, found.verdict) == (0, 6, WITHIN)
    assert "6 datasets" in found.reason
    absent = judged(rows, claims=[statistic(solvers=["fw", "mfw"])])["", "", "FW is faster than CVM"]
    assert absent.verdict == NOT_RUN
    assert "mfw" in absent.reason


def test_sizes_of_pairs_of_classes_are_facts():
    rows = [row("pendigits", "fw", n=7494) | {"d": 16, "n_test": 3498, "classes": 10, "largest_pair": 1560}]
    found = judged(rows, compare={"fw-table1": {}})
    assert {found["pendigits", "", name].verdict for name in ("n", "n_test", "classes", "d", "largest_pair")} == {
        WITHIN
    }
    assert found["pendigits", "", "smallest_pair"].verdict == NOT_RUN
    assert found["usps", "", "largest_pair"].verdict == NOT_RUN
