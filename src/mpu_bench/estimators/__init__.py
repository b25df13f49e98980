"""The solvers as scikit-learn classifiers: thin classes over `mpu_bench.solvers`, nothing written twice.

They are imported from the top, ``from mpu_bench import SMOClassifier``, and only when they are asked for. A solver that
no class below uses has one that is made of it: `solvers/online/fogd.py` is FOGDClassifier.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from mpu_bench import solvers

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


@cache
def made() -> dict[str, Any]:
    """Return the classifiers made of the solvers that none above uses, by name; none of external solvers and optima."""
    from mpu_bench.estimators.of_solver import classifier
    from mpu_bench.solvers import optimum

    used = {solver for name in MODULES for solver in _imported(name).solvers}
    kinds = {name: solvers.load(name) for name in solvers.OWN}
    ours = {name: kind for name, kind in kinds.items() if kind.sliceable and kind.__module__ != optimum.__name__}
    free = [kind for name, kind in ours.items() if name not in used]
    return {f"{kind.__name__}Classifier": classifier(kind) for kind in free}


def _imported(name: str) -> Any:
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*MODULES, *made()]
    if name in MODULES:
        return _imported(name)
    if name.endswith("Classifier") and name in made():
        return made()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *MODULES]  # without those made: completion imports nothing heavy
