"""Statements that papers make, of rows made up here."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy.stats import ttest_1samp

from mpu_bench.config.rules import Claim, SignificantStatement, Statement
from mpu_bench.config.sentences import sentences
from mpu_bench.published import table
from mpu_bench.quantities import Ending
from mpu_bench.verdict.claims import of_claims
from mpu_bench.verdict.pairs import Difference, difference, p_value_of
from mpu_bench.verdict.points import Evidence, Point, points_of
from mpu_bench.verdict.statements import p_value_over, verdict_of
from mpu_bench.verdict.verdict import Verdict
from records import records, summaries


def run(dataset="a", solver="fw", seed=0, experiment="one", parameters=None, **quantities):
    named = {"dataset": dataset, "solver": solver, "seed": seed, "experiment": experiment, "split": "", "n": 100}
    return named | {"parameters": json.dumps(parameters or {}), "kernel": "linear", "budget_vectors": None} | quantities


def runs(values, quantity="train_seconds", **named):
    """Three seeds of each (dataset, solver), a hundredth apart."""
    return [
        run(dataset, solver, seed, **{quantity: value + 0.01 * seed}, **named)
        for (dataset, solver), value in values.items()
        for seed in range(3)
    ]


def curve(values, solver="sbp", count=10, std=0.001):
    return [
        {
            "dataset": "a",
            "solver": solver,
            "parameters": "{}",
            "kernel": "linear",
            "budget_vectors": None,
            "count": count,
        }
        | {
            "experiment": "one",
            "presented": 100 * passes,
            "passes_mean": passes,
            "kernel_evaluations_mean": 1e4 * passes,
        }
        | {"test_error_mean": value, "test_error_std": std}
        for passes, value in values.items()
    ]


def judged(statement, runs=(), curves=()):
    parsed = TypeAdapter(Statement).validate_python(statement)
    points = points_of(parsed, Evidence(records(runs), summaries(curves)))
    return verdict_of(points, getattr(parsed, "most", False)), points


ORDER = {"kind": "lower", "quantity": "train_seconds", "than": {"solver": "cvm"}}


def test_most_is_more_than_half():
    datasets = ["a", "b", "c"]
    values = {("a", "fw"): 1, ("a", "cvm"): 2, ("b", "fw"): 1, ("b", "cvm"): 2, ("c", "fw"): 5, ("c", "cvm"): 2}
    statement = ORDER | {"of": {"solver": "fw"}, "each": {"dataset": datasets}}
    assert judged(statement, runs(values))[0] == Verdict.CONTRADICTED
    assert judged(statement | {"most": True}, runs(values))[0] == Verdict.SUPPORTED
    values["b", "fw"] = 5
    assert judged(statement | {"most": True}, runs(values))[0] == Verdict.CONTRADICTED


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ("++-", Verdict.SUPPORTED),
        ("++.", Verdict.SUPPORTED_SO_FAR),
        ("+..", Verdict.SUPPORTED_SO_FAR),
        ("+-.", Verdict.INCONCLUSIVE),
        ("+--", Verdict.CONTRADICTED),
        ("-..", Verdict.INCONCLUSIVE),
        ("--..", Verdict.CONTRADICTED),
        ("...", Verdict.NOT_RUN),
    ],
)
def test_what_is_not_measured_may_still_decide_most(outcomes, verdict):
    words = {"+": Verdict.SUPPORTED, "-": Verdict.CONTRADICTED, ".": Verdict.NOT_RUN}
    assert verdict_of([Point("", words[each]) for each in outcomes], most=True) == verdict


def test_one_statement_speaks_of_several_solvers():
    values = {("a", "fw"): 1, ("a", "mfw"): 3, ("a", "cvm"): 2}
    verdict, points = judged(ORDER | {"each": {"solver": ["fw", "mfw"], "dataset": "a"}}, runs(values))
    assert verdict == Verdict.CONTRADICTED
    assert [(point.name, point.verdict) for point in points] == [
        ("fw, a", Verdict.SUPPORTED),
        ("mfw, a", Verdict.CONTRADICTED),
    ]


def test_a_speed_up_on_one_dataset_beside_that_on_another():
    values = {("a", "fw"): 1, ("a", "cvm"): 10, ("b", "fw"): 1, ("b", "cvm"): 3}
    statement = {"kind": "higher", "quantity": "train_seconds", "over": {"solver": "cvm"}, "than": {"dataset": "b"}}
    verdict, points = judged(statement | {"each": {"solver": "fw", "dataset": "a"}}, runs(values))
    assert verdict == Verdict.SUPPORTED
    assert points[0].words == "9.911 to b's 2.98"


@pytest.mark.parametrize(
    ("more", "verdict"),
    [({}, Verdict.CONTRADICTED), ({"by_factor": 0.4}, Verdict.SUPPORTED), ({"by_factor": 0.6}, Verdict.CONTRADICTED)],
)
def test_an_advantage_may_be_limited(more, verdict):
    """Of CVM that is twice as fast: it is never more than 1/0.4 times as fast, and is more than 1/0.6 times."""
    statement = {"kind": "higher", "quantity": "train_seconds", "of": {"solver": "cvm"}, "than": {"solver": "fw"}}
    values = {("a", "fw"): 2, ("a", "cvm"): 1}
    assert judged(statement | {"each": {"dataset": "a"}} | more, runs(values))[0] == verdict


def test_slack_is_in_the_unit_of_the_quantity():
    values = {("a", "fw"): 96.5, ("a", "cvm"): 97}
    statement = {
        "kind": "lower",
        "quantity": "test_accuracy_percent",
        "of": {"solver": "cvm"},
        "than": {"solver": "fw"},
    }
    rows = runs(values, "test_accuracy_percent")
    assert judged(statement | {"each": {"dataset": "a"}}, rows)[0] == Verdict.CONTRADICTED
    assert judged(statement | {"each": {"dataset": "a"}, "slack": 1.0}, rows)[0] == Verdict.SUPPORTED


@pytest.mark.parametrize(("within", "verdict"), [(0.94, Verdict.SUPPORTED), (0.4, Verdict.CONTRADICTED)])
def test_alike_within_what_the_paper_says(within, verdict):
    rows = runs({("a", "fw"): 96.5, ("a", "cvm"): 97}, "test_accuracy_percent")
    statement = {
        "kind": "alike",
        "quantity": "test_accuracy_percent",
        "of": {"solver": "fw"},
        "than": {"solver": "cvm"},
    }
    assert judged(statement | {"each": {"dataset": "a"}, "within": within}, rows)[0] == verdict


def test_what_is_exactly_as_far_as_allowed_is_alike():
    """A tenth of 30% is 3 points, though 0.33 - 0.3 is more in the last bit."""
    statement = {"kind": "alike", "quantity": "test_error", "of": {"solver": "smo"}, "than": {"solver": "smo"}}
    statement["of"]["parameters"], statement["than"]["parameters"] = {"C": 1}, {"C": 2}
    rows = [run(solver="smo", parameters={"C": c}, test_error=error) for c, error in ((1, 0.33), (2, 0.3))]
    assert judged(statement | {"each": {"dataset": "a"}}, rows)[0] == Verdict.SUPPORTED


def test_no_seed_is_left_out_of_a_ratio_for_being_zero():
    rows = [run(solver="fw", seed=seed, updates=10 * min(seed, 1)) for seed in range(3)]
    rows += [run(solver=solver, seed=seed, updates=100) for solver in ("cvm", "mfw") for seed in range(3)]
    statement = {"quantity": "updates", "of": {"solver": "fw"}, "over": {"solver": "cvm"}, "each": {"dataset": "a"}}
    verdict, points = judged(statement | {"kind": "higher", "than": {"solver": "mfw"}}, rows)
    assert (verdict, points[0].words) == (Verdict.NOT_RUN, "it is 0, of which nothing is a multiple")


def test_a_slope_leaves_out_no_point_for_being_zero():
    statement = {"kind": "slope", "quantity": "test_error", "against": "passes", "between": [-1.1, -0.9]}
    statement |= {"of": {"solver": "sbp"}, "each": {"dataset": "a"}}
    falling = {1: 0.1, 2: 0.05, 4: 0.025}
    assert judged(statement, [run(solver="sbp")], curve(falling))[0] == Verdict.SUPPORTED
    verdict, points = judged(statement, [run(solver="sbp")], curve(falling | {8: 0.0}))
    assert verdict == Verdict.INCONCLUSIVE
    assert points[0].words == "not all values are above 0, and their logarithms have no slope"


def with_and_without_the_hard_split(datasets):
    """FW is worse on every split, and failed on the hard one."""
    easy = [
        run(name, solver, split="x", test_error=e) for name in datasets for solver, e in (("fw", 0.1), ("cvm", 0.09))
    ]
    return easy + [run(name, "cvm", split="y", test_error=0.5) for name in datasets]


def test_solvers_are_ranked_by_the_splits_that_all_have():
    statement = {"kind": "significant", "test": "wilcoxon", "quantity": "test_error", "solvers": ["fw", "cvm"]}
    statement |= {"datasets": list("abcdefg"), "alternative": "less", "level": 0.05}
    assert judged(statement, with_and_without_the_hard_split("abcdefg"))[0] == Verdict.CONTRADICTED


def test_a_claim_shows_the_means_of_what_it_compares():
    statement = {"kind": "lower", "quantity": "test_error", "of": {"solver": "fw"}, "than": {"solver": "cvm"}}
    points = judged(statement | {"each": {"dataset": "a"}}, with_and_without_the_hard_split("a"))[1]
    assert points[0].words == "10.00 to cvm's 9.00"


@pytest.mark.parametrize(
    "statement",
    [
        {"kind": "number", "printed": 0.3, "within": 0.01, "each": {"dataset": "a"}},
        {"kind": "falling", "along": "dataset", "each": {"dataset": ["b", "a"]}},
    ],
)
def test_a_number_and_a_trend_are_read_off_a_curve_where_they_say_so(statement):
    """At the end both datasets have the same error; after one epoch, 0.4 and 0.3."""
    rows = [run(dataset, "sbp", test_error=0.2) for dataset in "ab"]
    curves = curve({1: 0.3, 2: 0.2}) + [row | {"dataset": "b"} for row in curve({1: 0.4, 2: 0.2})]
    statement = statement | {"quantity": "test_error", "of": {"solver": "sbp", "after": {"passes": 1}}}
    verdict, (point,) = judged(statement, rows, curves)
    assert (verdict, point.words) == (Verdict.SUPPORTED, "30.00" if "printed" in statement else "0.4 to 0.3")


def test_rows_of_one_experiment_beside_those_of_another():
    rows = runs({("a", "fw"): 2}, experiment="one") + runs({("a", "fw"): 9}, experiment="two")
    statement = {
        "kind": "lower",
        "quantity": "train_seconds",
        "of": {"experiment": "one"},
        "than": {"experiment": "two"},
    }
    verdict, points = judged(statement | {"each": {"solver": "fw", "dataset": "a"}}, rows)
    assert verdict == Verdict.SUPPORTED
    assert points[0].words == "2.01 to two's 9.01"


@pytest.mark.parametrize(("end", "verdict"), [(0.10, Verdict.SUPPORTED), (0.30, Verdict.CONTRADICTED)])
def test_the_end_of_a_run_beside_its_curve_after_some_passes(end, verdict):
    statement = {"kind": "lower", "quantity": "test_error", "of": {"solver": "sbp"}}
    statement |= {"than": {"solver": "sbp", "after": {"passes": 1}}, "each": {"dataset": "a"}}
    rows = [run(solver="sbp", seed=seed, test_error=end) for seed in range(3)]
    verdict_found, points = judged(statement, rows, curve({0.1: 0.5, 1.0: 0.2, 10.0: end}))
    assert verdict_found == verdict
    assert "20.00 of sbp after 1 pass" in points[0].words


def test_a_place_on_a_curve_that_ends_there():
    """SMO lies above up to half of its run, and below in the end."""
    smo, sbp = curve({1: 0.5, 5: 0.5, 6: 0.1, 10: 0.1}, "smo"), curve({1: 0.2, 10: 0.2})
    statement = {"kind": "above", "quantity": "test_error", "of": {"solver": "smo"}, "than": {"solver": "sbp"}}
    statement |= {"each": {"dataset": "a"}}
    rows = [run(solver="smo", test_error=0.1), run(solver="sbp", test_error=0.2)]
    assert judged(statement | {"up_to": {"end": 0.5}}, rows, smo + sbp)[0] == Verdict.SUPPORTED
    assert judged(statement, rows, smo + sbp)[0] == Verdict.CONTRADICTED


def test_what_rises_is_asked_across_a_gap():
    statement = {"kind": "rising", "quantity": "train_seconds", "over": {"solver": "cvm"}, "along": "dataset"}
    statement |= {"each": {"solver": "fw", "dataset": ["a", "b", "c"]}}
    values = {("a", "fw"): 1, ("a", "cvm"): 5, ("c", "fw"): 1, ("c", "cvm"): 9}
    verdict, points = judged(statement, runs(values))
    assert verdict == Verdict.SUPPORTED_SO_FAR
    assert [(point.name, point.verdict) for point in points] == [
        ("fw, a to b", Verdict.NOT_RUN),
        ("fw, a to c", Verdict.SUPPORTED),
    ]


def test_a_slope_says_what_it_says_of_the_datasets_it_has():
    statement = {"kind": "slope", "quantity": "train_seconds", "against": "n", "between": [0, float("inf")]}
    statement |= {"of": {"solver": "fw"}, "each": {"dataset": ["a", "b", "c"]}}
    rows = [row | {"n": 10 if row["dataset"] == "a" else 90} for row in runs({("a", "fw"): 1, ("b", "fw"): 4})]
    verdict, points = judged(statement, rows)
    assert verdict == Verdict.SUPPORTED_SO_FAR
    assert [point.verdict for point in points] == [Verdict.SUPPORTED, Verdict.SUPPORTED, Verdict.NOT_RUN]


@pytest.mark.parametrize(
    ("against", "verdict"),
    [
        ("examples", Verdict.CONTRADICTED),
        (["n", "examples"], Verdict.SUPPORTED),
        (10.0, Verdict.SUPPORTED),
        (4.0, Verdict.CONTRADICTED),
    ],
)
def test_a_bound_is_a_number_a_quantity_or_a_product(against, verdict):
    rows = [run(support_vectors=10, passes=0.08)]
    statement = {"kind": "bound", "quantity": "support_vectors", "against": against, "of": {}, "each": {"dataset": "a"}}
    assert judged(statement, rows)[0] == verdict


def test_the_decisions_of_table_7_are_those_that_are_printed():
    asked = [
        sentence.statement
        for sentence in sentences("frank-wolfe-2012")
        if sentence.at.startswith("Table 7") and isinstance(sentence.statement, SignificantStatement)
    ]
    printed = [
        (row["quantity"], row["pair"].split(" vs "), "not shown" if "not" in row["decision"] else "shown")
        for row in table("fw-table7")
    ]
    words = {"comparable_seconds": "seconds", "test_accuracy_percent": "accuracy"}
    assert [(words[each.quantity], each.solvers, each.decision) for each in asked] == printed


def on(rows, **machines):
    """Say of rows on which machine each was made, by solver or dataset."""
    return [row | {"made_on": machines.get(row["solver"]) or machines.get(row["dataset"])} for row in rows]


VALUES = {(dataset, solver): value for dataset in "abc" for solver, value in (("fw", 1), ("cvm", 2), ("mfw", 3))}
BY_LENGTH = {"kind": "slope", "against": "n", "between": [-0.1, 0.1], "of": {"solver": "fw"}}
OF_SECONDS = [
    ORDER | {"of": {"solver": "fw"}, "each": {"dataset": ["a", "b"]}},
    {"kind": "alike", "of": {"solver": "fw"}, "than": {"solver": "cvm"}, "within": 5, "each": {"dataset": "a"}},
    ORDER | {"of": {"solver": "fw"}, "than": {"solver": "mfw"}, "over": {"solver": "cvm"}, "each": {"dataset": "a"},
             "kind": "higher"},
    {"kind": "rising", "along": "dataset", "of": {"solver": "fw"}, "over": {"solver": "cvm"},
     "each": {"dataset": ["a", "b"]}},
    BY_LENGTH | {"over": {"solver": "cvm"}, "each": {"dataset": ["a", "b"]}},
    {"kind": "significant", "test": "wilcoxon", "solvers": ["fw", "cvm"], "datasets": ["a", "b"]},
    {"kind": "significant", "test": "friedman", "solvers": ["fw", "mfw", "cvm"], "datasets": ["a", "b"]},
]  # fmt: skip


@pytest.mark.parametrize("statement", OF_SECONDS, ids=lambda each: " ".join([each["kind"], each.get("test", "")]))
def test_seconds_of_two_machines_are_not_judged(statement):
    rows = [row | {"n": 100 * "-abc".index(row["dataset"]), "test_error": 0.1} for row in runs(VALUES)]
    statement = {"quantity": "train_seconds"} | statement
    alone, points = judged(statement, rows)
    assert alone not in (Verdict.NOT_COMPARABLE, Verdict.NOT_RUN)
    assert judged(statement, on(rows, fw="here", mfw="here", cvm="here"))[1] == points
    for row in rows:
        row["made_on"] = ("here", "there", "elsewhere")[row["seed"]]
    assert judged(statement, rows)[1] == points  # each seed on one
    verdict, points = judged(statement, on(rows, fw="here", mfw="here", cvm="there"))
    assert verdict == Verdict.NOT_COMPARABLE
    assert {point.words for point in points} >= {"its seconds were made on another machine than those of cvm"}
    errors = statement | {"quantity": "test_error"}
    assert judged(errors, on(rows, fw="here", mfw="here", cvm="there")) == judged(errors, rows)


@pytest.mark.parametrize(
    ("statement", "is_judged"),
    [
        ({"kind": "falling", "along": "dataset", "of": {"solver": "fw"}, "each": {"dataset": ["a", "b"]}}, False),
        (BY_LENGTH | {"each": {"dataset": ["a", "b"]}}, False),
        (BY_LENGTH | {"over": {"solver": "cvm"}, "each": {"dataset": ["a", "b"]}}, True),
        (OF_SECONDS[0], True),
        (OF_SECONDS[-2], False),  # differences in seconds, of all datasets in one ranking
        (OF_SECONDS[-1], True),  # a ranking in each dataset
    ],
    ids=["from one to the next", "slope", "slope of a ratio", "order", "wilcoxon", "friedman"],
)
def test_datasets_may_be_on_machines_of_their_own_where_seconds_are_compared_within_each(statement, is_judged):
    rows = [row | {"n": 100 * "-abc".index(row["dataset"])} for row in runs(VALUES)]
    verdict, _ = judged({"quantity": "train_seconds"} | statement, on(rows, a="here", b="there", c="there"))
    assert (verdict != Verdict.NOT_COMPARABLE) == is_judged


def test_part_of_the_points_on_two_machines_leaves_the_others_to_judge():
    statement = ORDER | {"of": {"solver": "fw"}, "each": {"dataset": ["a", "b"]}}
    rows = runs(VALUES)
    for row in rows:
        row["made_on"] = "there" if row["dataset"] == "b" and row["seed"] == 2 and row["solver"] == "cvm" else "here"
    verdict, points = judged(statement, rows)
    assert verdict == Verdict.SUPPORTED_SO_FAR
    assert [point.verdict for point in points] == [Verdict.SUPPORTED, Verdict.NOT_COMPARABLE]
    rows.append(run("a", "cvm", 3, made_on="there", train_seconds=2.0))  # no pair
    assert judged(statement, rows)[1][0].verdict == Verdict.SUPPORTED


@pytest.mark.parametrize(("against", "is_judged"), [("train_seconds", False), ("passes", True)])
def test_curves_against_seconds_are_of_one_machine(against, is_judged):
    def made(solver, value, machine):
        of = [{"split": "", "seed": 0, "made_on": machine, "train_seconds": 3.0}]
        rows = curve({1: value, 2: value, 3: value}, solver)
        return [row | {"train_seconds_mean": row["passes_mean"], "runs": of} for row in rows]

    statement = {"kind": "below", "quantity": "test_error", "against": against, "of": {"solver": "sbp"},
                 "than": {"solver": "sdca"}, "each": {"dataset": "a"}}  # fmt: skip
    whole = made("sbp", 0.1, "here") + made("sdca", 0.2, "here")
    assert judged(statement, [run("a")], whole)[0] == Verdict.SUPPORTED
    apart = made("sbp", 0.1, "here") + made("sdca", 0.2, "there")
    assert judged(statement, [run("a")], apart)[0] == (Verdict.SUPPORTED if is_judged else Verdict.NOT_COMPARABLE)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=8).filter(lambda values: np.std(values) > 0.1))
def test_the_p_of_a_point_is_that_of_the_t_test(values):
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    expected = ttest_1samp(values, 0.0, alternative="less").pvalue
    assert p_value_of(Difference(mean, error, len(values))) == pytest.approx(expected)


def test_an_every_over_many_points_is_refuted_by_noise_more_often():
    against, supporting = Point("x", Verdict.CONTRADICTED, p_value=0.03), Point("y", None, p_value=0.4)
    assert p_value_over([against]) == 0.03
    assert p_value_over([against, *[supporting] * 9, Point("z", Verdict.NOT_RUN)]) == pytest.approx(0.3)
    assert p_value_over([against, Point("z", Verdict.CONTRADICTED)]) is None  # one that is not known
    assert p_value_over([supporting]) is None
    assert p_value_of(Difference(-1.0, None, 1)) is None
    assert p_value_of(Difference(-1.0, 0.0)) == 0.0  # where nothing is random
    of, than = {("", 0): 0.3, ("", 1): 0.3}, {("", 0): 0.2, ("", 1): 0.2}
    assert p_value_of(difference(of, than, (True, True))) == 0.0
    assert p_value_of(difference(of, than, (False, False))) == 0.25  # the seeds agree by chance


def test_a_refuted_claim_says_whether_that_may_be_noise():
    values = {("a", "fw"): 1.0, ("a", "cvm"): 0.9, ("b", "fw"): 1.0, ("b", "cvm"): 2.0}
    rows = runs(values, "test_error")
    for row, more in zip(rows[:3], (0.0, 0.05, -0.04), strict=True):
        row["test_error"] += more
    statement = {"kind": "lower", "quantity": "test_error", "of": {"solver": "fw"}, "than": {"solver": "cvm"},
                 "each": {"dataset": ["a", "b"]}}  # fmt: skip
    claim = TypeAdapter(Claim).validate_python({"claim": "fw errs less", "statement": statement})
    evidence = Evidence(records(rows))
    (cell,) = of_claims([claim], evidence)
    assert cell.verdict == Verdict.CONTRADICTED
    assert re.search(r"over 2 points that may be noise: p = 0\.\d+ \(Bonferroni\)", cell.remark)
    trend = {"kind": "falling", "quantity": "test_error", "of": {}, "along": "solver",
             "each": {"dataset": ["a", "b"], "solver": ["cvm", "fw"]}}  # fmt: skip
    (cell,) = of_claims([TypeAdapter(Claim).validate_python({"claim": "it falls", "statement": trend})], evidence)
    assert cell.verdict == Verdict.CONTRADICTED
    assert re.search(r"over 2 points that may be noise: p = 0\.\d+ \(Bonferroni\)", cell.remark)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"of": {"solver": "fw", "parameters": {"C": 3}}}, "no finished run has C 3"),
        ({"each": {"dataset": "a", "C": [1.0, 2]}}, "no finished run has C 2"),
        ({"than": {"solver": "cvm", "kernel": "gausian"}}, "no finished run has kernel gausian"),
        ({"each": {"dataset": ["a", "c"]}}, "no finished run has dataset c"),
        (
            {"each": {"dataset": "a", "budget": 70}, "of": {"solver": "fw", "budget": 70}},
            "no finished run has budget 70",
        ),
        ({}, ""),
    ],
)
def test_a_claim_of_what_no_run_has_says_of_what(more, words):
    values = {("a", "fw"): 1.0, ("a", "cvm"): 2.0}
    rows = [row | {"parameters": '{"C": 1.0}'} for row in runs(values, "test_error")]
    statement = ORDER | {"quantity": "test_error", "of": {"solver": "fw"}, "each": {"dataset": "a"}} | more
    claim = Claim.model_validate({"claim": "x", "statement": statement})
    assert of_claims([claim], Evidence(records(rows)))[0].remark == words
    assert of_claims([claim], Evidence())[0].remark == ""


@pytest.mark.parametrize("elsewhere", [0, 2])
def test_one_time_beside_several_is_judged_only_if_all_are_of_its_machine(elsewhere):
    rows = [run("a", "fw", 0, train_seconds=1.0), *(run("a", "cvm", seed, train_seconds=2.0) for seed in range(3))]
    made = [row | {"made_on": "here"} for row in rows]
    made[-1]["made_on"] = "there" if elsewhere else "here"
    statement = TypeAdapter(Statement).validate_python(ORDER | {"of": {"solver": "fw"}, "each": {"dataset": "a"}})
    (point,) = points_of(statement, Evidence(records(made)))
    assert point.verdict == (Verdict.NOT_COMPARABLE if elsewhere else Verdict.SUPPORTED)


#: a kind of statement -> a curve, or runs, that plainly satisfy it, and such that plainly do not
ERRS = {"quantity": "test_error", "of": {"solver": "sbp"}, "than": {"solver": "smo"}, "each": {"dataset": "a"}}
LOW, HIGH = {1: 0.10, 5: 0.08, 10: 0.08}, {1: 0.30, 5: 0.25, 10: 0.25}
ABOUT = {1: 0.105, 5: 0.078, 10: 0.082}
CRITICAL = {"kind": "critical", "quantity": "test_error", "of": {"solver": "sbp"}, "each": {"dataset": "a"}}


@pytest.mark.parametrize(
    ("statement", "satisfies", "does_not"),
    [
        (ERRS | {"kind": "below"}, [LOW, HIGH], [HIGH, LOW]),
        (ERRS | {"kind": "above"}, [HIGH, LOW], [LOW, HIGH]),
        (ERRS | {"kind": "near"}, [LOW, ABOUT], [LOW, HIGH]),
        (CRITICAL, [{1: 0.5, 2: 0.45, 3: 0.11, 10: 0.1}], [{1: 0.5, 2: 0.3, 4: 0.15, 8: 0.12, 10: 0.1}]),
    ],
    ids=lambda value: value.get("kind") if isinstance(value, dict) else None,
)
def test_each_statement_of_curves_is_met_by_what_plainly_meets_it_and_by_nothing_else(statement, satisfies, does_not):
    def verdict(curves):
        solvers = ("sbp", "smo")[: len(curves)]
        rows = [run(solver=solver, seed=seed) for solver in solvers for seed in range(10)]
        return judged(statement, rows, [point for solver, each in zip(solvers, curves, strict=True)
                                        for point in curve(each, solver)])[0]  # fmt: skip

    assert verdict(satisfies) == Verdict.SUPPORTED
    assert verdict(does_not) == Verdict.CONTRADICTED


@pytest.mark.parametrize("kind", ["below", "lower"])
def test_a_few_test_rows_refute_no_order(kind):
    """0.6 v 0.565% errors are 4 rows of 10,000: within a tenth of an error, however little the seeds scatter."""
    rows = [run(solver=solver, seed=seed, test_error=error + 1e-7 * seed)
            for solver, error in (("sbp", 0.00607), ("smo", 0.00565)) for seed in range(3)]  # fmt: skip
    curves = curve({1: 0.00607, 10: 0.00607}, std=1e-5) + curve({1: 0.00565, 10: 0.00565}, "smo", std=1e-5)
    assert judged(ERRS | {"kind": kind}, rows, curves)[0] == Verdict.INCONCLUSIVE
    worse = [row | {"test_error": 2 * row["test_error"]} if row["solver"] == "sbp" else row for row in rows]
    curves = curve({1: 0.012, 10: 0.012}, std=1e-5) + curve({1: 0.00565, 10: 0.00565}, "smo", std=1e-5)
    assert judged(ERRS | {"kind": kind}, worse, curves)[0] == Verdict.CONTRADICTED


def test_one_noisy_place_of_an_axis_refutes_no_curve():
    """Of 40 places one lies 2.5 standard errors beyond: p of the whole axis is 0.7."""
    other = dict.fromkeys(range(1, 41), 0.1)
    mine = {place: 0.10 + 0.0158 * (place == 20) for place in other}
    rows = [run(solver=solver, seed=seed) for solver in ("sbp", "smo") for seed in range(10)]
    verdict, points = judged(ERRS | {"kind": "below"}, rows, curve(mine, std=0.02) + curve(other, "smo", std=0.0))
    assert verdict != Verdict.CONTRADICTED
    assert "over the whole axis may be chance" in points[0].words


def test_a_position_where_the_seeds_agree_by_chance_refutes_no_curve():
    """There two standard errors are 0, and t would be infinite."""
    other = dict.fromkeys(range(1, 41), 0.1)
    mine = [
        row | {"test_error_std": 0.02 * (place != 20)}
        for place, row in zip(other, curve({place: 0.1 + 0.0158 * (place == 20) for place in other}), strict=True)
    ]
    rows = [run(solver=solver, seed=seed) for solver in ("sbp", "smo") for seed in range(10)]
    verdict, points = judged(ERRS | {"kind": "below"}, rows, mine + curve(other, "smo", std=0.0))
    assert verdict != Verdict.CONTRADICTED
    assert "over the whole axis may be chance" in points[0].words


def test_from_the_first_to_the_last_a_step_back_is_none():
    statement = {"kind": "falling", "quantity": "train_seconds", "along": "dataset", "of": {"solver": "fw"}}
    statement |= {"each": {"dataset": ["a", "b", "c"]}}
    values = {("a", "fw"): 9, ("b", "fw"): 2, ("c", "fw"): 4}
    assert judged(statement, runs(values))[0] == Verdict.CONTRADICTED
    verdict, points = judged(statement | {"between": "ends"}, runs(values))
    assert (verdict, [point.name for point in points]) == (Verdict.SUPPORTED, ["a to c"])
    assert judged(statement | {"between": "ends"}, runs(values | {("c", "fw"): 19}))[0] == Verdict.CONTRADICTED


@pytest.mark.parametrize(("gain", "verdict"), [(0.02, Verdict.SUPPORTED), (0.0001, Verdict.INCONCLUSIVE)])
def test_most_counts_points_beyond_noise(gain, verdict):
    scatter = (0.0, 0.004, -0.004)
    rows = [run(dataset, solver, seed, test_error=0.2 - gain * (solver == "sbp") + scatter[seed] * (solver == "sbp"))
            for dataset in "abc" for solver in ("sbp", "smo") for seed in range(3)]  # fmt: skip
    statement = ERRS | {"kind": "lower", "most": True, "each": {"dataset": ["a", "b", "c"]}}
    assert judged(statement, rows)[0] == verdict


def test_all_later_checkpoints_are_one_mean():
    statement = {
        "kind": "higher",
        "quantity": "test_error",
        "of": {"solver": "sbp", "after": {"passes": 1, "later": True}},
    }
    statement |= {"than": {"solver": "sbp", "after": {"passes": 1}}, "each": {"dataset": "a"}}
    rows = [run(solver="sbp", seed=seed) for seed in range(10)]
    verdict, points = judged(statement, rows, curve({1: 0.1, 5: 0.3, 8: 0.3, 10: 0.12}))
    assert verdict == Verdict.SUPPORTED
    assert points[0].words == "24.00 to 10.00 of sbp after 1 pass"


def test_a_part_of_an_axis_may_end_where_the_curve_had_made_so_many_passes():
    rows = [run(solver=solver, seed=seed) for solver in ("sbp", "smo") for seed in range(10)]
    curves = curve({0.5: 0.1, 1: 0.1, 2: 0.4, 10: 0.4}) + curve({0.5: 0.2, 10: 0.2}, "smo")
    statement = ERRS | {"kind": "below"}
    assert judged(statement | {"up_to": {"passes": 1}}, rows, curves)[0] == Verdict.SUPPORTED
    assert judged(statement, rows, curves)[0] == Verdict.CONTRADICTED


def stopped(values, by, solver="sbp"):
    """A curve whose runs ended at its last value, and by what."""
    last = max(values)
    end = run(solver=solver, ended_by=by, passes=last, kernel_evaluations=1e4 * last)
    return [row | {"runs": [end]} for row in curve(values, solver)]


@pytest.mark.parametrize("up_to", [10e4, {"examples": 10}, {"examples_squared": 10}])
@pytest.mark.parametrize("error", [0.1, 0.3])
def test_a_part_of_an_axis_that_a_stopped_run_does_not_reach_supports_nothing(up_to, error):
    """One that ended by its own rule stays where it is; what is contradicted before stays so."""
    rows = [run(solver=solver) for solver in ("sbp", "smo")]
    smo = stopped({1: 0.2, 10: 0.2}, Ending.PASSES, "smo")
    statement = ERRS | {"kind": "below", "up_to": up_to}
    statement |= {"against": "presented"} if up_to == {"examples": 10} else {}
    verdict, points = judged(statement, rows, stopped({1: error, 5: error}, Ending.SECONDS) + smo)
    assert verdict == (Verdict.INCONCLUSIVE if error < 0.2 else Verdict.CONTRADICTED)
    assert ("sbp was stopped at" in points[0].words) == (error < 0.2)
    verdict, points = judged(statement, rows, stopped({1: error, 5: error}, Ending.RULE) + smo)
    assert verdict == (Verdict.SUPPORTED if error < 0.2 else Verdict.CONTRADICTED)


def test_the_last_value_of_a_solver_that_ended_by_itself_goes_on():
    """SMO ends at 0.1 after 5 passes; SBP is there after 6, and goes on to 0.05."""
    curves = stopped({1: 0.3, 5: 0.1}, Ending.RULE, "smo") + stopped({1: 0.4, 5: 0.4, 6: 0.05, 100: 0.05}, Ending.RULE)
    rows = [run(solver=solver) for solver in ("sbp", "smo")]
    below = ERRS | {"kind": "above", "than": {"solver": "smo"}}
    assert judged(below, rows, curves)[0] == Verdict.SUPPORTED
    assert judged(below | {"up_to": 100e4}, rows, curves)[0] == Verdict.CONTRADICTED


@pytest.mark.parametrize("kind", ["lower", "alike"])
def test_a_run_that_was_stopped_has_no_value_after_more_passes(kind):
    statement = ERRS | {"kind": kind, "than": ERRS["than"] | {"after": {"passes": 5}}}
    rows = [run(solver="sbp", seed=seed, test_error=0.1) for seed in range(3)]
    verdict, points = judged(statement, rows, stopped({1: 0.2, 3: 0.1005}, Ending.SECONDS, "smo"))
    assert (verdict, points[0].words) == (Verdict.NOT_RUN, "smo was stopped at 3 of 5 passes")
    assert judged(statement, rows, stopped({1: 0.2, 3: 0.1005}, Ending.RULE, "smo"))[0] == Verdict.SUPPORTED


def test_a_slope_along_a_curve_that_was_stopped_before():
    statement = {"kind": "slope", "quantity": "test_error", "against": "passes", "between": [-2, 0], "up_to": 10}
    statement |= {"of": {"solver": "sbp"}, "each": {"dataset": "a"}}
    values = {1: 0.4, 2: 0.2, 4: 0.1}
    assert judged(statement, [run(solver="sbp")], stopped(values, Ending.SECONDS))[0] == Verdict.INCONCLUSIVE
    assert (
        judged(statement | {"up_to": 4}, [run(solver="sbp")], stopped(values, Ending.SECONDS))[0] == Verdict.SUPPORTED
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({1: 0.5, 6: 0.45, 10: 0.1}, "2 times its last up to 60% of its run, which is more than half of it"),
        ({1: 0.5, 6: 0.45, 10: 0.0}, "its last value is 0, of which nothing is a multiple"),
    ],
)
def test_a_run_that_ends_too_early_says_nothing_of_a_critical_point(values, words):
    verdict, points = judged(CRITICAL, [run(solver="sbp", seed=seed) for seed in range(10)], curve(values))
    assert (verdict, points[0].verdict, points[0].words) == (Verdict.INCONCLUSIVE, None, words)


def test_the_end_of_a_run_that_was_stopped_is_no_critical_point():
    for values in ({1: 0.5, 2: 0.45, 3: 0.11, 10: 0.1}, {1: 0.5, 2: 0.3, 4: 0.15, 8: 0.12, 10: 0.1}):
        verdict, points = judged(CRITICAL, [run(solver="sbp")], stopped(values, Ending.SECONDS))
        assert verdict == points[0].verdict == Verdict.INCONCLUSIVE
        assert points[0].words == "a run was stopped: its last value is not what it comes to"


DISTURBED = {"threads": 1, "disturbed": "waited 60% of its wall seconds"}


@pytest.mark.parametrize(
    ("quantity", "more", "is_judged"),
    [
        ("train_seconds", {}, False),
        ("train_seconds", {"only_delayed": 1}, False),  # its wall seconds hold the waiting
        ("cpu_seconds", {}, False),
        ("cpu_seconds", {"only_delayed": 1}, True),
        ("kernel_evaluations", {}, True),
    ],
)
def test_seconds_that_were_disturbed_are_no_evidence(quantity, more, is_judged):
    rows = [
        run("a", solver, seed, **{quantity: 100 * value + seed}, **disturbed)
        for solver, value, disturbed in (("fw", 5, DISTURBED | more), ("cvm", 1, {}))
        for seed in range(3)
    ]
    statement = ORDER | {"quantity": quantity, "of": {"solver": "fw"}, "each": {"dataset": "a"}}
    verdict, (point,) = judged(statement, rows)
    assert verdict == (Verdict.CONTRADICTED if is_judged else Verdict.NOT_COMPARABLE)
    assert (point.words == "disturbed while fw ran") == (not is_judged)
    trend = {
        "kind": "falling",
        "quantity": quantity,
        "along": "solver",
        "each": {"solver": ["fw", "cvm"], "dataset": "a"},
    }
    assert judged(trend, rows)[0] == (Verdict.SUPPORTED if is_judged else Verdict.NOT_COMPARABLE)


@pytest.mark.parametrize("against", ["train_seconds", "passes"])
def test_curves_against_disturbed_seconds_are_not_judged(against):
    def made(solver, value, **more):
        of = [{"split": "", "seed": 0, "solver": solver, "train_seconds": 3.0} | more]
        return [
            row | {"train_seconds_mean": row["passes_mean"], "runs": of} for row in curve({1: value, 3: value}, solver)
        ]

    statement = {"kind": "below", "quantity": "test_error", "against": against, "of": {"solver": "sbp"},
                 "than": {"solver": "sdca"}, "each": {"dataset": "a"}}  # fmt: skip
    verdict, (point,) = judged(statement, [run("a")], made("sbp", 0.1) + made("sdca", 0.2, **DISTURBED))
    expected = (Verdict.SUPPORTED, True) if against == "passes" else (Verdict.NOT_COMPARABLE, False)
    assert (verdict, point.words != "disturbed while sdca ran") == expected


def test_a_ratio_to_something_random_is_no_certain_number_and_of_all_its_seeds():
    """SMO counts the same each time, SBP does not: their ratio is 11 over the seeds of SBP, and one of 12 is chance."""
    rows = [run(dataset, "smo", 0, kernel_evaluations=100) for dataset in "ab"]
    rows += [run("a", "sbp", seed, kernel_evaluations=1000 + 100 * seed) for seed in range(3)]
    rows += [run("b", "sbp", 0, kernel_evaluations=1200)]
    statement = {"kind": "higher", "quantity": "kernel_evaluations", "over": {"solver": "sbp"}}
    statement |= {"than": {"dataset": "b"}, "each": {"solver": "smo", "dataset": "a"}}
    verdict, points = judged(statement, rows)
    assert (verdict, points[0].words) == (Verdict.INCONCLUSIVE, "11 to b's 12")


def test_one_run_of_what_comes_out_the_same_each_time_refutes_a_trend():
    def rows(solver):
        return [run("a", solver, 0, parameters={"C": c}, kernel_evaluations=100 * c) for c in (1, 2)]

    statement = {
        "kind": "falling",
        "quantity": "kernel_evaluations",
        "along": "C",
        "each": {"dataset": "a", "C": [1, 2]},
    }
    assert judged(statement | {"of": {"solver": "smo"}}, rows("smo"))[0] == Verdict.CONTRADICTED
    assert judged(statement | {"of": {"solver": "sbp"}}, rows("sbp"))[0] == Verdict.INCONCLUSIVE


def test_a_trend_on_one_dataset_is_of_pairs():
    """Seeds that differ by more than the trend does hide no trend that each of them shows."""
    rows = [
        run(solver="sbp", seed=seed, parameters={"C": c}, kernel_evaluations=1000 * (seed + 1) + c * (50 + seed))
        for seed in range(5) for c in (1, 2)
    ]  # fmt: skip
    statement = {"kind": "falling", "quantity": "kernel_evaluations", "of": {"solver": "sbp"}, "along": "C"}
    assert judged(statement | {"each": {"dataset": "a", "C": [1, 2]}}, rows)[0] == Verdict.CONTRADICTED


def test_a_slope_along_passes_begins_where_the_statement_says():
    """Flat for ten passes, then as the square: in examples, each of these points would be beyond the tenth."""
    values = {passes: max(1.0, passes / 10) ** 2 for passes in (1, 3, 10, 30, 100)}
    statement = {"kind": "slope", "quantity": "test_error", "of": {"solver": "sbp"}, "against": "passes", "from": 10,
                 "between": [1.9, 2.1], "each": {"dataset": "a"}}  # fmt: skip
    verdict, points = judged(statement, [run(solver="sbp", seed=seed) for seed in range(10)], curve(values))
    assert (verdict, points[0].words) == (Verdict.SUPPORTED, "slope 2.000")


@pytest.mark.parametrize(("vectors", "verdict"), [(0, Verdict.SUPPORTED), (3, Verdict.CONTRADICTED)])
def test_a_bound_of_nothing_is_a_bound(vectors, verdict):
    rows = [run(support_vectors=vectors, updates=0)]
    statement = {
        "kind": "bound",
        "quantity": "support_vectors",
        "against": "updates",
        "of": {},
        "each": {"dataset": "a"},
    }
    assert judged(statement, rows)[0] == verdict


def sampled(statement, rows, curves=()):
    """Judge what a config claims of its own data, of which the test rows are a sample."""
    rows = [row | {"n_test": 100} for row in rows]
    evidence = Evidence(records(rows), summaries([each | {"runs": rows} for each in curves]), samples_test_rows=True)
    points = points_of(TypeAdapter(Statement).validate_python(statement), evidence)
    return verdict_of(points)


FEW = {1: 0.20, 10: 0.20}


AFTER_ONE = {"after": {"passes": 1}}
#: a statement of every kind that is so where SBP errs less, and the same turned round
OF_ERRORS = {
    "order": (ERRS | {"kind": "lower"}, ERRS | {"kind": "higher"}),
    "order of datasets": [ERRS | {"kind": kind, "than": {"dataset": "b", "solver": "sbp"}}
                          for kind in ("lower", "higher")],
    "order on curves": [ERRS | {"kind": kind, "of": ERRS["of"] | AFTER_ONE, "than": ERRS["than"] | AFTER_ONE}
                        for kind in ("lower", "higher")],
    "curve": (ERRS | {"kind": "below"}, ERRS | {"kind": "above"}),
    "trend": [{"kind": kind, "of": {"solver": "sbp"}, "along": "dataset", "each": {"dataset": ["a", "b"]}}
              for kind in ("rising", "falling")],
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ERRORS)
@pytest.mark.parametrize(("other", "is_known"), [(0.24, False), (0.5, True)])
def test_no_claim_of_any_kind_is_decided_by_a_few_test_rows(name, other, is_known):
    """20 and 24 errors on 100 rows, the same for each seed, are no difference; 20 and 50 are one."""
    rows = [run(dataset, solver, seed, test_error=0.2 if (dataset, solver) == ("a", "sbp") else other)
            for dataset in "ab" for solver in ("sbp", "smo") for seed in range(3)]  # fmt: skip
    curves = curve(FEW, count=3, std=0.0) + curve(dict.fromkeys(FEW, other), "smo", count=3, std=0.0)
    found = [sampled({"quantity": "test_error"} | each, rows, curves) for each in OF_ERRORS[name]]
    assert found == ([Verdict.SUPPORTED, Verdict.CONTRADICTED] if is_known else [Verdict.INCONCLUSIVE] * 2)
    number = {"kind": "number", "quantity": "test_error", "of": {"solver": "smo"}, "printed": 0.2, "within": 0.01}
    number |= {"each": {"dataset": "a"}}
    assert sampled(number, rows) == (Verdict.CONTRADICTED if is_known else Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    "statement",
    [
        ERRS | {"kind": "lower"},
        ERRS | {"kind": "alike"},
        {"kind": "number", "quantity": "test_error", "of": {"solver": "sbp"}, "printed": 0.2, "each": {"dataset": "a"}},
        {"kind": "falling", "quantity": "test_error", "of": {"solver": "sbp"}, "along": "dataset",
         "each": {"dataset": ["a", "b"]}},
        {"kind": "slope", "quantity": "test_error", "of": {"solver": "sbp"}, "against": "n", "between": [-1, 1],
         "each": {"dataset": ["a", "b"]}},
        {"kind": "significant", "quantity": "test_error", "test": "wilcoxon", "solvers": ["sbp", "smo"],
         "datasets": ["a", "b"]},
    ],
    ids=lambda statement: statement["kind"],
)  # fmt: skip
def test_no_claim_is_of_a_mean_over_settings_that_it_does_not_name(statement):
    rows = [run(dataset, solver, seed, parameters={"C": C}, test_error=0.1 * C)
            for dataset in "ab" for solver in ("sbp", "smo") for seed in range(3) for C in (1, 3)]  # fmt: skip
    cell = of_claims([Claim(claim="so it is", statement=statement)], Evidence(records(rows)))[0]
    assert cell.verdict == Verdict.NOT_RUN
    assert "runs of 2 settings; name their budget, kernel or parameters" in cell.remark
    one = [row for row in rows if row["parameters"] == '{"C": 1}']
    assert "settings" not in of_claims([Claim(claim="so it is", statement=statement)], Evidence(records(one)))[0].remark


def test_curves_of_two_settings_are_no_curve():
    """Whichever comes last, it must not decide."""
    good, bad = curve({1: 0.3, 2: 0.2, 4: 0.1}), curve({1: 0.5, 2: 0.5, 4: 0.5})
    bad = [point | {"parameters": '{"C": 2}'} for point in bad]
    other = curve({1: 0.4, 2: 0.4, 4: 0.4}, solver="smo")
    below = {"kind": "below", "quantity": "test_error", "of": {"solver": "sbp"}, "than": {"solver": "smo"}}
    rows = [run(solver=solver, test_error=0.1) for solver in ("sbp", "smo")]

    def cell(statement, curves):
        said = Claim(claim="sbp is below", statement=statement | {"each": {"dataset": "a"}})
        return of_claims([said], Evidence(records(rows), summaries(curves)))[0]

    assert cell(below, good + other).verdict == Verdict.SUPPORTED
    for curves in (good + bad, bad + good):
        found = cell(below, curves + other)
        assert (found.verdict, found.remark) == (Verdict.NOT_RUN, "a, sbp: 2 curves; name its parameters")
    named = below | {"of": {"solver": "sbp", "parameters": {"C": 2}}}
    assert cell(named, good + bad + other).verdict == Verdict.CONTRADICTED


def test_why_a_point_has_no_value_is_said():
    early, late = curve({1: 0.3, 2: 0.2}), curve({4: 0.3, 8: 0.2}, solver="smo")
    below = {"kind": "below", "quantity": "test_error", "of": {"solver": "sbp"}, "than": {"solver": "smo"}}
    said = Claim(claim="sbp is below", statement=below | {"each": {"dataset": "a"}})
    rows = records(run(solver=solver, test_error=0.1) for solver in ("sbp", "smo"))
    (cell,) = of_claims([said], Evidence(rows, summaries(early + late)))
    assert (cell.verdict, cell.remark) == (
        Verdict.NOT_RUN, "a, smo: the curves have no part of the axis in common",
    )  # fmt: skip


def test_no_factor_leads_to_zero():
    alike = {"kind": "alike", "quantity": "updates", "within_factor": 2, "of": {"solver": "fw"}}
    alike |= {"than": {"solver": "cvm"}, "each": {"dataset": "a"}}
    rows = [run(solver="fw", seed=seed, updates=seed) for seed in range(3)]
    rows += [run(solver="cvm", seed=seed, updates=2) for seed in range(3)]
    verdict, (point,) = judged(alike, rows)
    assert (verdict, point.words) == (Verdict.INCONCLUSIVE, "1 to cvm's 2")
