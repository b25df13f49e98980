"""The solvers as scikit-learn classifiers: thin classes over `mpu_bench.solvers`, nothing written twice.

They are imported from the top, ``from mpu_bench import SMOClassifier``, and only when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: class -> the module that it is in
MODULES = {
    "MPUClassifier": "linear",
    "MarginPerceptronClassifier": "linear",
    "DCDClassifier": "linear",
    "SVMPerfClassifier": "linear",
    "PegasosClassifier": "linear",
    "PerceptronClassifier": "online",
    "ForgetronClassifier": "online",
    "BudgetPerceptronClassifier": "online",
    "ProjectronClassifier": "online",
    "BudgetedPegasosClassifier": "online",
    "SBPClassifier": "batch",
    "SDCAClassifier": "batch",
    "SMOClassifier": "batch",
    "RandomFourierClassifier": "batch",
    "CoreVectorClassifier": "balls",
    "FrankWolfeClassifier": "balls",
}

__all__ = tuple(MODULES)


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *MODULES]
