import pytest

from mpu_bench import solvers
from mpu_bench.solvers.batch.regularization import kernel_optimum


@pytest.mark.parametrize(
    ("parameters", "weight"),
    [
        ({"C": 3.0}, {"C": 3.0}),
        ({"C": None, "regularization": None}, {"C": 1.0}),
        ({"C": None, "regularization": 0.5}, {"regularization": 0.5}),
        ({"regularization": {"over-examples": 0.25}}, {"C": 4.0}),  # lambda = 1 / (4 n)
        (
            {"regularization": {"over-examples": 0.25}, "multiclass": "one-against-one"},
            {"regularization": {"over-examples": 0.25}},
        ),
    ],
)
def test_equal_problems_have_one_optimum(parameters, weight):
    assert kernel_optimum(parameters, bias=True) == ("kernel-optimum", weight | {"bias": True})


def test_each_solver_names_the_optimum_of_its_problem():
    found = {
        name: solvers.load(name).optimum_solver({"C": 2.0, "bias": True, "regularization": None}, linear=False)
        for name in ("smo", "sdca", "pegasos-kernel", "sbp", "rff")
    }
    assert found["smo"] == ("kernel-optimum", {"C": 2.0, "bias": True})
    assert found["sdca"] == found["pegasos-kernel"] == ("kernel-optimum", {"C": 2.0, "bias": False})
    assert found["sbp"] is found["rff"] is None
