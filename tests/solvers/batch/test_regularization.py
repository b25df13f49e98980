import pytest

from mpu_bench import solvers
from mpu_bench.errors import ConfigError
from mpu_bench.kernels import Gaussian
from mpu_bench.scaled import Scaled
from mpu_bench.solvers.batch.regularization import kernel_optimum
from oracles import toys


@pytest.mark.parametrize(
    ("parameters", "weight"),
    [
        ({"C": 3.0}, {"C": 3.0}),
        ({"C": None, "regularization": None}, {"C": 1.0}),
        ({"C": None, "regularization": 0.5}, {"regularization": 0.5}),
        ({"regularization": Scaled(0.25, "n")}, {"C": 4.0}),  # lambda = 1 / (4 n)
        (
            {"regularization": Scaled(0.25, "n"), "multiclass": "one-against-one"},
            {"regularization": Scaled(0.25, "n")},
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


@pytest.mark.parametrize("regularization", [1e-320, 1e308])
@pytest.mark.parametrize("name", ["smo", "sdca", "pegasos-kernel", "rff"])
def test_a_regularization_whose_cost_is_zero_or_infinite_is_rejected(name, regularization):
    solver = solvers.load(name)(regularization=regularization)
    with pytest.raises(ConfigError, match=r"^regularization is .*, for which C = 1/\(regularization n\) is (inf|0);"):
        solver.start(toys.problem(*toys.real(n=20), "dense64"), Gaussian(0.3), 0)
