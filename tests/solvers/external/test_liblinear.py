"""What LIBLINEAR answers, and that it says when it was stopped."""

from mpu_bench import solvers
from mpu_bench.core.solver import Status
from oracles import toys
from oracles.toys import train


def test_tells_when_its_cap_stopped_it():
    problem = toys.problem(*toys.binary(), "ones")
    peer = solvers.load("liblinear")(tolerance=1e-9, most_passes=3)
    _, status = train(peer, problem)
    assert status == Status.RUNNING
