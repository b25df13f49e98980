"""Two solvers at one point: what is paired, what noise is, and what a difference says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.config.rules import Where
from mpu_bench.quantities import Record
from mpu_bench.verdict import points
from mpu_bench.verdict.pairs import Difference, difference
from mpu_bench.verdict.points import verdict_at
from mpu_bench.verdict.verdict import Verdict
from records import record


def by_seed(*values: float) -> dict[tuple[str, int], float]:
    return {("", seed): value for seed, value in enumerate(values)}


def test_runs_of_one_seed_are_pairs() -> None:
    found = difference(by_seed(1.0, 2.0, 3.0), by_seed(1.1, 2.1, 3.1), certain=(False, False))
    assert found is not None
    assert found.mean == pytest.approx(0.1)
    assert found.error == pytest.approx(0.0, abs=1e-12)  # the seeds differ, the pairs do not


def test_one_run_that_says_all_stands_beside_all_seeds_of_the_other() -> None:
    found = difference(by_seed(1.0), {("", 3): 2.0, ("", 4): 4.0}, certain=(True, False))
    assert found == Difference(2.0, pytest.approx(1.0), 2)  # type: ignore[arg-type]


def test_one_run_of_something_random_stands_beside_the_mean_of_the_other_and_has_no_error() -> None:
    several = by_seed(2.0, 3.0, 5.0)
    assert difference(by_seed(1.0), several, certain=(False, False)) == Difference(pytest.approx(7 / 3), None, 1)  # type: ignore[arg-type]
    assert difference(several, {("", 7): 1.0}, certain=(True, False)) == Difference(pytest.approx(-7 / 3), None, 1)  # type: ignore[arg-type]
    single, all_seeds = (
        {(split, 0): 1.0 for split in "ab"},
        {(s, seed): seed + (s == "b") for s in "ab" for seed in range(3)},
    )
    found = difference(single, all_seeds, certain=(False, False))
    assert found == Difference(pytest.approx(0.5), pytest.approx(0.5), 2)  # type: ignore[arg-type]


def test_means_stand_beside_each_other_where_no_seed_is_common() -> None:
    found = difference({("", 0): 1.0, ("", 1): 3.0}, {("", 2): 5.0, ("", 3): 7.0}, certain=(False, False))
    assert found == Difference(4.0, pytest.approx(2**0.5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (None, Verdict.NOT_RUN),
        (Difference(1.0, None), Verdict.SUPPORTED),
        (Difference(0.0, None), None),
        (Difference(-1.0, None), Verdict.INCONCLUSIVE),  # one run of something random
        (Difference(-1.0, 0.6), None),
        (Difference(-1.0, 0.4), Verdict.CONTRADICTED),
        (Difference(-1.0, 0.0), Verdict.CONTRADICTED),
    ],
)
def test_only_what_goes_beyond_noise_contradicts(difference: Difference | None, expected: Verdict | None) -> None:
    assert verdict_at(difference) == expected


@pytest.mark.parametrize(("mean", "expected"), [(-1.0, None), (-1.1, Verdict.CONTRADICTED), (0.1, Verdict.SUPPORTED)])
def test_within_the_floor_nothing_contradicts(mean: float, expected: Verdict | None) -> None:
    assert verdict_at(Difference(mean, 0.0), 1.0) == expected


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
def test_what_contradicts_one_order_supports_the_other(values: list[float]) -> None:
    zero = by_seed(*[0.0] * len(values))
    one = difference(zero, by_seed(*values), certain=(False, False))
    other = difference(by_seed(*values), zero, certain=(False, False))
    if verdict_at(one) == Verdict.CONTRADICTED:
        assert verdict_at(other) == Verdict.SUPPORTED
    assert not verdict_at(one) == verdict_at(other) == Verdict.SUPPORTED


def test_the_error_of_a_logarithm_is_relative() -> None:
    """Of test rows, of which a fifth more or less is chance, and of a curve of thousands of vectors."""
    few, more = (
        points.Sample(by_seed(mean, mean), True, "a", variance=mean * (1 - mean) / 50, test_rows=50)
        for mean in (0.2, 0.34)
    )
    apart = points.apart_of(*map(points.logarithms, (few, more)))
    assert apart is not None
    assert apart.error == pytest.approx(((0.8 / 0.2 + 0.66 / 0.34) / 50) ** 0.5)
    curves = (points.Sample({0: mean}, False, "a", error=20.0, is_of_curve=True) for mean in (1000.0, 3000.0))
    apart = points.apart_of(*map(points.logarithms, curves))
    assert apart is not None
    assert apart.error == pytest.approx((0.02**2 + (0.02 / 3) ** 2) ** 0.5)


def test_rows_are_selected_by_columns_and_parameters_and_a_solver_without_budget_stands_at_each() -> None:
    def row(solver: str, budget: int | None, **parameters: object) -> Record:
        named = {"experiment": "e", "dataset": "adult", "solver": solver, "kernel": "k", "budget_vectors": budget}
        return record(named | {"parameters": json.dumps(parameters)})

    rows = [row("cvm", None, C=1.0), row("cvm", None, C=2.0), row("cks", 10), row("cks", 20)]
    assert points.selected(rows, Where(solver="cvm"), {"dataset": "adult", "C": 2}) == [rows[1]]
    assert points.selected(rows, Where(solver="cks"), {"dataset": "adult", "budget": 20}) == [rows[3]]
    assert points.selected(rows, Where(solver="cvm", parameters={"C": 1.0}), {"budget": 20}) == [rows[0]]
    assert points.selected(rows, Where(solver="cvm", budget=20), {}) == []
    assert points.selected(rows, Where(budget=20), {"budget": 10}) == [rows[3]]
    tuned = [replace(row("projectron++", None, **own), tuned="...") for own in ({"eta": 0.1}, {"vectors": None})]
    assert points.selected(tuned, Where(solver="projectron++"), {"budget": 20}) == tuned[1:]
    assert points.selected(rows, Where(dataset="web"), {"dataset": "adult"}) == []
