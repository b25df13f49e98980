import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mpu_bench.solvers.online.merging import (
    best_as_published,
    best_partner,
    bound,
    new_candidates,
    screen,
    solve,
    solve_as_published,
)
from oracles.bpegasos import golden_section, merging_loss, published_place


@settings(max_examples=60, deadline=None)
@example(distance=-6.0, ratio=0.0, cosine=-1.0)  # z is far beyond both: the brackets cancel
@given(
    distance=st.floats(-7, 1.5),
    ratio=st.floats(0, 6),
    cosine=st.one_of(st.sampled_from([-1.0, 1.0]), st.floats(-1, 1)),
)
def test_the_best_place_is_that_of_golden_section(distance, ratio, cosine):
    g, r = 10.0**distance, 10.0**ratio
    q, v = cosine * r, r * r
    h, loss = solve(g, q, v)
    _, least = golden_section(g, q, v)
    assert h <= 0.5
    brackets = -np.expm1(-2 * g * (1 - h) ** 2) - v * np.expm1(-2 * g * h * h)  # what the loss is rounded with
    assert loss <= least * (1 + 1e-10) + 1e-15 * brackets
    assert loss == pytest.approx(float(merging_loss(g, q, v, h)), rel=1e-7, abs=1e-14 * brackets)


def test_limits():
    assert solve(0.0, 3.0, 9.0)[1] == 0.0  # equal points lose nothing
    assert solve(0.0, -1.0, 1.0)[1] == 0.0  # not even where they cancel
    for q in (-30.0, 30.0):  # points far apart: the small one is lost, and the other stays where it is
        assert solve(1e9, q, 900.0) == pytest.approx((0.0, 1.0), abs=1e-300)
    h, loss = solve(0.5, 1.0, 1.0)  # equal weights meet in the middle: 2 + 2 k - 4 sqrt(k)
    assert h == 0.5
    assert loss == pytest.approx(2 + 2 * np.exp(-0.5) - 4 * np.exp(-0.25), rel=1e-12)
    g = 0.3  # a partner that is infinitely heavier: 1 - k^2 (1 + 2 g)
    assert solve(g, 1e9, 1e18)[1] == pytest.approx(1 - np.exp(-2 * g) * (1 + 2 * g), rel=1e-8)


def states(count, partners, classes, seed=0):
    """Make weights and distances at random as they are late in a stream: weights up to a millionfold different."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        coefficients = random.normal(size=(classes, partners)) * 10 ** random.uniform(0, 6, partners)
        norms = (coefficients**2).sum(axis=0)
        p = int(norms.argmin())
        spread = 10 ** random.uniform(-4, 0.5)
        distances = spread * random.chisquare(random.integers(2, 12), partners)
        distances[p] = 0.0
        yield distances, coefficients[:, p] @ coefficients, norms, p


@pytest.mark.parametrize("classes", [1, 3])
def test_the_partner_is_that_of_golden_section(classes):
    for distances, products, norms, p in states(40, 20, classes):
        partner, h, loss = choose(distances, products, norms, p)
        exact = {
            n: golden_section(distances[n], products[n] / norms[p], norms[n] / norms[p], 60)[1]
            for n in range(len(norms))
            if n != p
        }
        assert exact[partner] <= min(exact.values()) * (1 + 1e-10)
        assert loss == pytest.approx(exact[partner], rel=1e-8)
        assert h <= 0.5


def choose(distances, products, norms, p):
    m = len(norms)
    room = 64

    def padded(array):
        return np.concatenate([array, np.zeros(room - m)])

    ages = np.arange(room)
    return best_partner(padded(distances), padded(products), padded(norms), ages, p, m, new_candidates(room))


@pytest.mark.parametrize("partners", [3, 12])
def test_a_partner_is_found_where_all_are_equal_but_for_rounding(partners):
    random = np.random.default_rng(0)
    for _ in range(300):
        coefficients, distances = random.normal(size=partners), 10 ** random.uniform(-32, -12, partners)
        norms, p = coefficients**2, int(np.abs(coefficients).argmin())
        products = coefficients[p] * coefficients
        partner, h, loss = choose(distances, products, norms, p)
        assert partner != p
        assert loss == pytest.approx(0.0, abs=1e-9)
        assert (h, loss) == solve(distances[partner], products[partner] / norms[p], norms[partner] / norms[p])


@pytest.mark.parametrize("classes", [1, 3])
def test_no_partner_loses_less_than_its_bounds(classes):
    for distances, products, norms, p in states(200, 16, classes, seed=1):
        least, screened, losses = np.zeros(16), np.zeros(16), np.zeros(16)
        bound(distances, products, norms, norms[p], 16, least)
        screen(distances, products, norms, norms[p], 16, screened, losses)
        for n in set(range(16)) - {p}:
            _, loss = solve(distances[n], products[n] / norms[p], norms[n] / norms[p])
            assert least[n] <= loss * (1 + 1e-3)
            assert screened[n] <= loss * (1 + 1e-9)
            assert losses[n] >= loss * (1 - 1e-9)


def bound_in_double(distances, products, norms, unit):
    """Compute `bound` as its docstring says it."""
    g2, v, q = 2 * distances, np.maximum(norms / unit, 1), products / unit
    along = -np.expm1(-g2) - g2 * np.exp(-g2)
    off = np.maximum(1 - q * q / v, 0) * g2 * np.exp(-g2)
    return (along + off) * v / (np.sqrt(v) + 1) ** 2


@pytest.mark.parametrize("exponent", [0, -100, -130, -140, -400, -800])
def test_bounds_and_partner_do_not_depend_on_the_unit(exponent):
    scale = 2.0**exponent  # exact: nothing may change, also where a squared norm or its inverse is no number in single
    for distances, products, norms, p in states(40, 16, 3, seed=2):
        least = np.zeros(16)
        bound(distances, products * scale, norms * scale, norms[p] * scale, 16, least)
        assert least == pytest.approx(bound_in_double(distances, products, norms, norms[p]), rel=2e-3, abs=2e-6)
        assert choose(distances, products * scale, norms * scale, p) == choose(distances, products, norms, p)


def test_a_partner_of_any_size_has_a_bound():
    sizes = 10.0 ** np.arange(0, 301, 20)  # of squared norms: the first is the one to be merged
    for cosine in (-1.0, 0.0, 1.0):
        least, distances = np.zeros(16), np.full(16, 0.01)
        bound(distances, cosine * np.sqrt(sizes), sizes, 1.0, 16, least)
        exact = bound_in_double(distances, cosine * np.sqrt(sizes), sizes, 1.0)
        assert np.isfinite(least).all()
        assert (least <= exact * (1 + 1e-3)).all()
        assert least[sizes <= 1e20] == pytest.approx(exact[sizes <= 1e20], rel=2e-3, abs=2e-6)


@settings(max_examples=100, deadline=None)
@given(g=st.floats(0.01, 40), of_p=st.floats(-3, 5), of_n=st.floats(-3, 5))
def test_the_published_place_is_that_of_a_search(g, of_p, of_n):
    assume(of_p + of_n >= 0.5)
    value = lambda h: of_p * np.exp(-g * (1 - h) ** 2) + of_n * np.exp(-g * h**2)  # noqa: E731
    grid = np.linspace(-12, 13, 5001)
    assert value(solve_as_published(g, of_p, of_n)) >= value(grid).max() * (1 - 1e-12)


def test_of_two_classes_the_published_partner_is_the_best_one():
    random = np.random.default_rng(0)
    for _ in range(50):
        coefficients = random.normal(size=(1, 20))
        norms, p = (coefficients**2).sum(axis=0), int(np.abs(coefficients[0]).argmin())
        distances = random.chisquare(3, 20)
        distances[p] = 0.0
        products = coefficients[:, p] @ coefficients
        found = best_as_published(coefficients, distances, products, norms, np.arange(20), p, 20)
        best = choose(distances, products, norms, p)
        assert found[0] == best[0]
        assert found[1:] == pytest.approx(best[1:], rel=1e-6, abs=1e-9)


def test_what_cancels_in_all_classes_meets_in_the_middle():
    coefficients = np.array([[1.0, -1.0], [-1.0, 1.0]])
    norms, products = np.full(2, 2.0), np.array([2.0, -2.0])
    found = best_as_published(coefficients, np.array([0.0, 0.5]), products, norms, np.arange(2), 0, 2)
    assert found[:2] == (1, pytest.approx(0.5, abs=1e-12))
    assert published_place(0.5, coefficients[:, 0], coefficients[:, 1]) == 0.5
