"""What a package with one kernel more does with it, as JSON; run by `test_kernel` in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

import mpu_bench
from mpu_bench.cli import listing
from mpu_bench.config.json_schema import json_schema
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.models.export import compiler
from mpu_bench.models.export.agreement import RowsAtHand, compared
from mpu_bench.models.export.c_fixed import fixed_point, fixed_source
from mpu_bench.models.export.c_float import float_source
from mpu_bench.models.export.onnx_graph import onnx_bytes, runtime_answers
from mpu_bench.models.export.portable import portable

BOARD = {"rows": 200, "test_rows": 100}
NAME = "rational-quadratic"
CONFIG = {
    "name": "tried",
    "dataset": {"checkerboard": BOARD},
    "kernel": {NAME: {"gamma": {"over-features": 4}}},
    "solvers": [
        {"smo": {"C": 10, "tolerance": 1e-6, "kernel": NAME, "tune": {"kernel.gamma": [0.01, 3], "holdout": 0.3}}},
        {"perceptron-oldest": {"vectors": 30}},
    ],
    "stop": {"passes": 500},
}


def refusal(function: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """Return what an error says, and nothing where there is none."""
    try:
        function(*arguments, **named)
    except Exception as error:
        return str(error)
    return ""


def trained() -> dict[str, Any]:
    """Return what runs come to, and how many test rows their saved models, loaded again, are wrong on."""
    results = mpu_bench.run(CONFIG, results="results", data="data", save_models=True)
    loaded = [mpu_bench.load(path) for path in Path("results/tried/models").glob("*.mpu")]
    saved = {model.origin.solver: model for model in loaded}
    runs = results.runs[results.runs.trial.isna()]
    problem = load_problem(catalog.card("checkerboard", BOARD), DataDirectory(Path("data"), offline=True))
    return {
        "status": dict(zip(runs.solver, runs.status, strict=True)),
        "kernels": dict(zip(runs.solver, runs.kernel, strict=True)),
        "test_error": dict(zip(runs.solver, runs.test_error, strict=True)),
        "gap": float(runs.gap[runs.solver == "smo"].iloc[0]),
        "tuned": [str(each) for each in runs.tuned],
        "models": {name: repr(model.model.kernel) for name, model in saved.items()},
        "errors of models": {
            name: float(np.mean(model.model.labels(problem.test) != problem.test_labels))
            for name, model in saved.items()
        },
    }


def classified() -> dict[str, Any]:
    """Return whether a classifier agrees with scikit-learn's, and its saved model and exports with it."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    classifier = mpu_bench.SMOClassifier(kernel=NAME, gamma=0.7, C=5.0, tol=1e-6).fit(X, y)
    classifier.save("classifier.mpu")
    loaded, scores = mpu_bench.load("classifier.mpu"), classifier.decision_function(X)

    def plain(a: Any, b: Any) -> Any:
        return 1 / (1 + 0.7 * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    theirs = SVC(kernel=plain, C=5.0, tol=1e-6).fit(X.astype(np.float64), y)
    exported, rows = portable(loaded), RowsAtHand(X, X, loaded.scores(X))
    in_c = compared(exported, float_source(exported, "m"), rows) if compiler.find_compiler() else None
    in_onnx = runtime_answers(onnx_bytes(exported), X)
    return {
        "peer": float(np.abs(scores - theirs.decision_function(X.astype(np.float64))).max()),
        "loaded": repr(loaded.model.kernel),
        "scores": float(np.abs(loaded.decision_function(X) - scores).max()),
        "c": None if in_c is None else in_c.largest_difference,
        "onnx": None if in_onnx is None else float(np.abs(in_onnx[1] - rows.scores).max()),
        "fixed point": refusal(lambda: fixed_source(exported, fixed_point(exported, X), X, "m")),
        "unknown": refusal(mpu_bench.SMOClassifier(kernel="rational").fit, X, y),
    }


def named() -> dict[str, Any]:
    """Return where the kernel is listed, and what is said of a name or a parameter that is wrong."""

    def run(kernel: Any, solver: str) -> str:
        return refusal(mpu_bench.run, CONFIG | {"kernel": kernel, "solvers": [{solver: {"C": 1}}]}, data="data")

    return {
        "list": listing.names("kernels"),
        "schema": NAME in json.dumps(json_schema(["smo"])),
        "mistyped": run("rational-quadratc", "smo"),
        "parameter": run({NAME: {"gama": 1}}, "smo"),
        "range": run({NAME: {"gamma": -1}}, "smo"),
        "libsvm": run({NAME: {"gamma": 1}}, "libsvm"),
        "linear": run({NAME: {"gamma": 1}}, "dcd"),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"trained": trained(), "classified": classified(), "named": named()}))
