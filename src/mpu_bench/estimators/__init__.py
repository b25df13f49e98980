"""The solvers as scikit-learn classifiers: thin classes over `mpu_bench.solvers`, nothing written twice.

They are imported from the top, ``from mpu_bench import SMOClassifier``, and only when they are asked for. A solver that
no class below uses has one that is made of it: `solvers/online/fogd.py` is FOGDClassifier.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from mpu_bench import solvers

#: class -> the module that it is in, and the solvers that it may use
MODULES = {
    "MPUClassifier": ("linear", "mpu"),
    "MarginPerceptronClassifier": ("linear", "margin-perceptron"),
    "DCDClassifier": ("linear", "dcd"),
    "SVMPerfClassifier": ("linear", "svmperf"),
    "PegasosClassifier": ("linear", "pegasos", "pegasos-kernel"),
    "PerceptronClassifier": ("online", "perceptron"),
    "ForgetronClassifier": ("online", "forgetron"),
    "BudgetPerceptronClassifier": ("online", "cks", "perceptron-oldest", "perceptron-random"),
    "ProjectronClassifier": ("online", "projectron++"),
    "BudgetedPegasosClassifier": ("online", "bpegasos", "pegasos-multiclass"),
    "SBPClassifier": ("batch", "sbp"),
    "SDCAClassifier": ("batch", "sdca"),
    "SMOClassifier": ("batch", "smo"),
    "RandomFourierClassifier": ("batch", "rff"),
    "CoreVectorClassifier": ("balls", "cvm"),
    "FrankWolfeClassifier": ("balls", "fw", "mfw"),
}
_NOT_TRAINED_HERE = ("mpu_bench.solvers.external.", "mpu_bench.solvers.optimum:")


def wrapped_solvers() -> dict[str, str]:
    """Return the solvers that none of these uses by the names of their classifiers; none external, and no optimum."""
    used = {solver for _, *of_class in MODULES.values() for solver in of_class}
    free = {name: solvers.SOLVERS[name] for name in solvers.OWN if name not in used}
    return {
        f"{target.partition(':')[2]}Classifier": name
        for name, target in free.items()
        if not target.startswith(_NOT_TRAINED_HERE)
    }


@cache
def wrapped_classifiers() -> dict[str, Any]:
    """Return the classifiers of the solvers that none above uses, by name."""
    from mpu_bench.estimators.of_solver import classifier

    return {name: classifier(solvers.load(solver)) for name, solver in wrapped_solvers().items()}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*MODULES, *wrapped_solvers()]
    if name in MODULES:
        return getattr(import_module(f"{__name__}.{MODULES[name][0]}"), name)
    if name in wrapped_solvers():
        return wrapped_classifiers()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *MODULES, *wrapped_solvers()]
