"""Lacks what every solver must have."""

from mpu_bench.core.solver import Solver


class Abstract(Solver):
    name = "refused-is-abstract"
    paper = "none"
