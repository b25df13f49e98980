"""The classifiers that are tried, and the values of their parameters.

Widths are multiples of 2 / (mean squared distance of two rows), C and lambda as usual; the first of each list is the
one that is right most often. Unless accuracy chooses, those that have a place for weights give all classes the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any, Literal

Kind = Literal["linear", "budgeted", "batch", "scikit-learn"]

WIDTHS = (0.5, 0.125, 2.0)  #: of Gaussian kernels
_CS = (1.0, 10.0, 0.1, 100.0)
_LINEAR_CS = (1.0, 0.1, 0.01, 10.0)
_LAMBDAS = (1e-4, 1e-5, 1e-3)
_PASSES = 3  # of those that go row by row
_PAIRS = 512  # of random Fourier features
_PEERS = {"LinearSVC": "sklearn.svm", "SVC": "sklearn.svm", "SGDClassifier": "sklearn.linear_model"}


@dataclass(frozen=True)
class Facts:
    """What the parameters depend on.

    Attributes
    ----------
    width : float
        2 / (mean squared distance of two training rows).
    balanced : bool
        Whether every class weighs the same.
    budgets : tuple of int
        Support vectors that budgeted classifiers may keep.
    """

    width: float
    balanced: bool
    budgets: tuple[int, ...] = (100, 500)


@dataclass(frozen=True)
class Candidate:
    """A classifier with the values that are tried.

    Attributes
    ----------
    name : str
    kind : {"linear", "budgeted", "batch", "scikit-learn"}
    classifier : str
        Of `mpu_bench`, or of scikit-learn.
    fixed : mapping
        Parameters that are not tried.
    grid : mapping of str to sequence
        Those that are, with their values.
    growth : float
        The power of the number of rows with which its seconds grow.
    """

    name: str
    kind: Kind
    classifier: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]
    growth: float

    @property
    def is_own(self) -> bool:
        """Whether it is of this project, and not external."""
        return self.kind != "scikit-learn"

    def settings(self) -> list[dict[str, Any]]:
        """Return every combination of values."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def made(self, setting: Mapping[str, Any], seed: int, seconds: float) -> Any:
        """Return the classifier with a setting, which ends by itself after so many seconds if it can."""
        parameters: dict[str, Any] = {**self.fixed, **setting}
        if self.is_own:
            import mpu_bench

            limits = {"random_state": seed, "max_seconds": seconds}
            return getattr(mpu_bench, self.classifier)(**parameters, **limits)
        return getattr(import_module(_PEERS[self.classifier]), self.classifier)(**parameters, random_state=seed)


def candidates(facts: Facts) -> list[Candidate]:
    """Return the classifiers that are tried on data with these facts."""
    gammas = tuple(width * facts.width for width in WIDTHS)
    weights = {"class_weight": "balanced"} if facts.balanced else {}
    found = [
        Candidate("mpu", "linear", "MPUClassifier", {"tol": 1e-2, **weights}, {"C": _LINEAR_CS}, 1),
        Candidate("dcd", "linear", "DCDClassifier", {"tol": 1e-2, **weights}, {"C": _LINEAR_CS}, 1),
        Candidate("pegasos", "linear", "PegasosClassifier", {"max_iter": _PASSES}, {"C": _LINEAR_CS}, 1),
    ]
    for budget in facts.budgets:
        common: dict[str, Any] = {"budget": budget, "max_iter": _PASSES, "shuffle": True}
        found += [
            Candidate(
                f"bpegasos-{budget}", "budgeted", "BudgetedPegasosClassifier", common,
                {"gamma": gammas, "regularization": _LAMBDAS}, 1,
            ),
            Candidate(f"forgetron-{budget}", "budgeted", "ForgetronClassifier", common, {"gamma": gammas}, 1),
            Candidate(
                f"perceptron-{budget}", "budgeted", "BudgetPerceptronClassifier", common | {"removal": "random"},
                {"gamma": gammas}, 1,
            ),
        ]  # fmt: skip
    grid = {"gamma": gammas, "C": _CS}
    return [
        *found,
        Candidate("smo", "batch", "SMOClassifier", {"tol": 1e-2, **weights}, grid, 2),
        Candidate("rff", "batch", "RandomFourierClassifier", {"pairs": _PAIRS, **weights}, grid, 1),
        Candidate("mfw", "batch", "FrankWolfeClassifier", {"tol": 1e-2, **weights}, grid, 1.5),
        Candidate("LinearSVC", "scikit-learn", "LinearSVC", weights, {"C": _LINEAR_CS}, 1),
        Candidate("SVC", "scikit-learn", "SVC", {"cache_size": 500, **weights}, grid, 2),
        Candidate("SGD", "scikit-learn", "SGDClassifier", weights, {"alpha": _LAMBDAS}, 1),
    ]
