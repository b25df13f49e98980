"""External solvers whose package is not among those that mpu-bench needs."""

from __future__ import annotations

from mpu_bench import solvers
from mpu_bench.errors import ConfigError


def check_installed(name: str) -> None:
    """Refuse to train with a solver whose package is not installed here, such as on one machine of a cluster.

    Raises
    ------
    ConfigError
    """
    if missing := solvers.not_installed(name):
        raise ConfigError(f"{name}: {missing}")
