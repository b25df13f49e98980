"""The cells of claims: what is said beside a verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mpu_bench.config.rules import Claim
from mpu_bench.verdict.claims import of_claims
from mpu_bench.verdict.points import Evidence
from mpu_bench.verdict.verdict import Verdict
from records import records

BOTH = {"quantity": "train_seconds", "each": {"dataset": ["a", "b"]}}
ORDER = BOTH | {"kind": "lower", "of": {"solver": "fw"}, "than": {"solver": "cvm"}}
RANKS = {
    "kind": "significant", "quantity": "train_seconds", "test": "wilcoxon", "solvers": ["fw", "cvm"],
    "datasets": list("abcdefgh"), "alternative": "less", "level": 0.05,
}  # fmt: skip


def run(dataset: str, solver: str, seed: int, made_by: str | None) -> dict[str, Any]:
    named = {"dataset": dataset, "solver": solver, "seed": seed, "experiment": "one", "split": "", "n": 100}
    seconds = (ord(dataset) - 90) * (1.0 if solver == "fw" else 2.0) + 0.01 * seed
    known = {"parameters": json.dumps({}), "kernel": "linear", "budget_vectors": None, "made_on": "m", "threads": 1}
    return named | known | {"train_seconds": seconds, "comparable_seconds": seconds, "made_by": made_by, "passes": 1.0}


@pytest.mark.parametrize("statement", [ORDER, RANKS], ids=["order", "ranks"])
@pytest.mark.parametrize(
    ("versions", "said"),
    [
        (("x", "x"), ""),
        (("x", None), ""),
        (("x", "y"), "seconds are of 2 versions of mpu-bench (x, y)"),
    ],
)
def test_seconds_of_several_versions_are_told(
    statement: dict[str, Any], versions: tuple[str | None, str | None], said: str
) -> None:
    made_by = dict(zip(("fw", "cvm"), versions, strict=True))
    rows = [run(name, solver, seed, made_by[solver]) for name in "abcdefgh" for solver in made_by for seed in range(3)]
    (cell,) = of_claims(
        [Claim.model_validate({"claim": "fw is faster", "statement": statement})], Evidence(records(rows), [])
    )
    assert (cell.verdict, cell.remark) == (Verdict.SUPPORTED, said)


def test_counts_are_of_any_version() -> None:
    statement = ORDER | {"quantity": "passes", "kind": "alike"}
    rows = [run(name, solver, 0, solver) for name in "ab" for solver in ("fw", "cvm")]
    (cell,) = of_claims(
        [Claim.model_validate({"claim": "as many", "statement": statement})], Evidence(records(rows), [])
    )
    assert "versions" not in cell.remark


def errors(solver: str, wrong: int, rows: int) -> list[dict[str, Any]]:
    measured = {"test_error": wrong / rows, "n_test": rows}
    return [run("a", solver, seed, None) | measured for seed in range(2)]


@pytest.mark.parametrize("quantity", ["test_error", "test_error_percent"])
@pytest.mark.parametrize(
    ("fewer", "more", "rows", "verdicts"),
    [
        (0, 1, 36, ("undecided", "undecided")),  # one row is no difference
        (0, 1, 100_000, ("undecided", "undecided")),
        (100, 110, 1000, ("undecided", "undecided")),
        (100, 200, 1000, ("holds", "refuted")),
        (5, 5, 36, ("undecided", "undecided")),
    ],
)
def test_what_other_test_rows_could_turn_round_is_undecided(
    quantity: str, fewer: int, more: int, rows: int, verdicts: tuple[str, str]
) -> None:
    """All seeds come to the same, so that they say nothing of chance."""
    found = []
    for of, than in (("fw", "cvm"), ("cvm", "fw")):
        named = {"quantity": quantity, "of": {"solver": of}, "than": {"solver": than}}
        statement = {"kind": "lower", "each": {"dataset": ["a"]}, **named}
        claim = Claim.model_validate({"claim": "errs less", "statement": statement})
        (cell,) = of_claims([claim], Evidence(records(errors("fw", fewer, rows) + errors("cvm", more, rows))))
        found.append(cell.verdict)
    assert tuple(found) == verdicts


def test_the_mean_over_points_is_of_all_of_them_and_each_counts_once() -> None:
    number = {"kind": "number", "quantity": "test_error_percent", "of": {"solver": "mpu"}, "printed": 10.0}
    claim = Claim.model_validate({"claim": "ten", "statement": number | {"each": {"dataset": ["a", "b"]}}})
    runs = [
        {"experiment": "x", "dataset": dataset, "solver": "mpu", "parameters": "{}", "kernel": "linear", "seed": seed}
        | {"test_error": error + 0.001 * seed}
        for dataset, error in (("a", 0.048), ("b", 0.148))
        for seed in range(5)
    ]
    (part,) = of_claims([claim], Evidence(records(runs[:5])))
    assert (part.verdict, part.measured, part.remark) == (Verdict.NOT_RUN, None, "1 of 2 points measured")
    (whole,) = of_claims([claim], Evidence(records(runs)))
    assert (whole.verdict, whole.measured, whole.count) == (Verdict.REPRODUCED, pytest.approx(10.0), 5)
    (uneven,) = of_claims([claim], Evidence(records(runs[:7])))
    assert uneven.measured == pytest.approx(9.85)
    assert uneven.count == 2
