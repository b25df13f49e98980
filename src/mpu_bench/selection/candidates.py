"""The classifiers that are tried, the references beside them, and the values of their parameters.

References show what a small model costs: a constant, a logistic regression and boosted trees, of scikit-learn.

Widths are multiples of 2 / (mean squared distance of two rows), C and lambda as usual; the first of each list is the
one that is right most often. Unless accuracy chooses, those that have a place for weights give all classes the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any, Literal

Kind = Literal["linear", "budgeted", "batch", "reference"]
CONSTANT = "constant"  #: the name of the one that always gives the same answer

WIDTHS = (0.5, 0.125, 2.0)  #: of Gaussian kernels
_CS = (1.0, 10.0, 0.1, 100.0)
_LINEAR_CS = (1.0, 0.1, 0.01, 10.0)
_LAMBDAS = (1e-4, 1e-5, 1e-3)
_PASSES = 3  # of those that go row by row
_PAIRS = (32, 128, 512)  # of random Fourier features: the fewer, the smaller the model
_MAX_STEPS = 1000  # of the logistic regression
_LEAVES = (31, 7)  # of a tree
_MAX_DENSE = 50_000_000  # numbers that trees, which take no sparse rows, are given
_REFERENCES = {
    "DummyClassifier": "sklearn.dummy",
    "LogisticRegression": "sklearn.linear_model",
    "HistGradientBoostingClassifier": "sklearn.ensemble",
}


@dataclass(frozen=True)
class Facts:
    """What the parameters depend on.

    Attributes
    ----------
    width : float
        2 / (mean squared distance of two training rows).
    metric : str
        Which chooses; unless it is accuracy, every class weighs the same.
    classes : int
    numbers : int
        Of all training rows, with those that are 0.
    budgets : tuple of int
        Support vectors that budgeted classifiers may keep.
    """

    width: float
    metric: str = "accuracy"
    classes: int = 2
    numbers: int = 0
    budgets: tuple[int, ...] = (100, 500)


@dataclass(frozen=True)
class Candidate:
    """A classifier with the values that are tried.

    Attributes
    ----------
    name : str
    kind : {"linear", "budgeted", "batch", "reference"}
    classifier : str
        Of `mpu_bench`, or of scikit-learn.
    fixed : mapping
        Parameters that are not tried.
    grid : mapping of str to sequence
        Those that are, with their values.
    growth : float
        The power of the number of rows with which its seconds grow.
    takes_dense : bool
        Whether sparse rows are made dense for it.
    left_out : str
        Why it is not tried; nothing if it is.
    """

    name: str
    kind: Kind
    classifier: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, Sequence[Any]]
    growth: float
    takes_dense: bool = False
    left_out: str = ""

    @property
    def is_own(self) -> bool:
        """Whether it is of this project, and no reference."""
        return self.kind != "reference"

    def settings(self) -> list[dict[str, Any]]:
        """Return every combination of values."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def build(self, setting: Mapping[str, Any], seed: int, seconds: float | None = None) -> Any:
        """Return the classifier with a setting, which ends by itself after so many seconds, if any and if it can."""
        parameters: dict[str, Any] = {**self.fixed, **setting}
        if self.is_own:
            import mpu_bench

            limits = {"random_state": seed, "max_seconds": seconds}
            return getattr(mpu_bench, self.classifier)(**parameters, **limits)
        model = getattr(import_module(_REFERENCES[self.classifier]), self.classifier)(**parameters, random_state=seed)
        if not self.takes_dense:
            return model
        # here, as the command line, which trains nothing, does not wait for it
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer

        return make_pipeline(FunctionTransformer(_dense, accept_sparse=True), model)


def candidates(facts: Facts) -> list[Candidate]:
    """Return the classifiers that are tried on data with these facts, those first for which nothing is compiled."""
    gammas = tuple(width * facts.width for width in WIDTHS)
    weights = {} if facts.metric == "accuracy" else {"class_weight": "balanced"}
    listed = [
        *_references(facts, weights),
        Candidate("mpu", "linear", "MPUClassifier", {"tol": 1e-2, **weights}, {"C": _LINEAR_CS}, 1),
        Candidate("dcd", "linear", "DCDClassifier", {"tol": 1e-2, **weights}, {"C": _LINEAR_CS}, 1),
        Candidate("pegasos", "linear", "PegasosClassifier", {"max_iter": _PASSES, **weights}, {"C": _LINEAR_CS}, 1),
    ]
    for budget in facts.budgets:
        common: dict[str, Any] = {"budget": budget, "max_iter": _PASSES, "shuffle": True}
        listed += [
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
        *listed,
        Candidate("smo", "batch", "SMOClassifier", {"tol": 1e-2, **weights}, grid, 2),
        *(
            Candidate(f"rff-{pairs}", "batch", "RandomFourierClassifier", {"pairs": pairs, **weights}, grid, 1)
            for pairs in _PAIRS
        ),
        Candidate("mfw", "batch", "FrankWolfeClassifier", {"tol": 1e-2, **weights}, grid, 1.5),
    ]


def _references(facts: Facts, weights: Mapping[str, Any]) -> list[Candidate]:
    positive = facts.metric == "f1" and facts.classes == 2  # of which the best constant says yes
    constant = {"strategy": "constant", "constant": 1} if positive else {"strategy": "most_frequent"}
    linear = {"max_iter": _MAX_STEPS, **weights}
    too_many = f"is not tried on more than {_MAX_DENSE:,} numbers" if facts.numbers > _MAX_DENSE else ""
    return [
        Candidate(CONSTANT, "reference", "DummyClassifier", constant, {}, 1),
        Candidate("LogisticRegression", "reference", "LogisticRegression", linear, {"C": _LINEAR_CS}, 1),
        Candidate(
            "HistGradientBoosting", "reference", "HistGradientBoostingClassifier", weights,
            {"max_leaf_nodes": _LEAVES}, 1, takes_dense=True, left_out=too_many,
        ),
    ]  # fmt: skip


def _dense(rows: Any) -> Any:
    return rows.toarray() if hasattr(rows, "toarray") else rows
