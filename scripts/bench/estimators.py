"""What the classifiers cost beside the bare solvers, and beside scikit-learn's: in one process, on one thread.

    python scripts/bench/estimators.py [--rows 1000000] [--columns 50] [--stream 1000000]

**First table: overhead.** Seconds of ``fit`` over those of the solver's start and advances on rows that are prepared
already, both to the same tolerance; the fastest of some rounds, in alternation, and what its parts take.

**Second table: seconds and errors beside scikit-learn's** LinearSVC, SGDClassifier and SVC (on fewer rows), on one
problem.

**Third table: memory of a stream.** What a pickled classifier takes after a hundredth of the rows, and after all.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import argparse
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

import mpu_bench
from mpu_bench.core.rows import with_constant
from mpu_bench.core.solver import Until
from mpu_bench.estimators.inputs import problem_of, rows_of
from mpu_bench.kernels import Linear
from mpu_bench.solvers import load

ROUNDS = 3
ROWS_OF_KERNEL = 5000


def data(rows: int, columns: int, seed: int = 0) -> tuple[Any, Any]:
    """Return points of two classes, a tenth of them on the wrong side."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, columns)).astype(np.float32)
    y = (X @ random.normal(size=columns) + random.normal(scale=0.3 * np.sqrt(columns), size=rows) > 0).astype(int)
    return X, y


def bare(X: Any, y: Any) -> Any:
    """Train the solver of `DCDClassifier` as it does, and return it with its state."""
    solver = load("dcd")(C=0.01, tolerance=1e-3)
    problem = problem_of(rows_of(X), y.astype(np.int32), X.shape[1], np.array([0, 1]))
    state = solver.start(problem, Linear(), 0)
    solver.advance(state, Until())
    return solver, state


def overhead(X: Any, y: Any) -> None:
    """Print the first table."""
    words = np.array(["no", "yes"])[y]
    augmented = np.hstack([X, np.ones((len(X), 1), X.dtype)])
    solver, state = bare(X, y)
    plain = mpu_bench.DCDClassifier(C=0.01, random_state=0, fit_intercept=False)
    whole = mpu_bench.DCDClassifier(C=0.01, random_state=0)
    runs: dict[str, Callable[[], object]] = {
        "bare": lambda: bare(X, y),
        "labels 0, 1": lambda: plain.fit(X, y),
        "labels of words": lambda: plain.fit(X, words),
        "bare, augmented": lambda: bare(augmented, y),
        "with intercept": lambda: whole.fit(X, y),
        "  the certificate": lambda: solver.measures(state),
        "  checks of X and y": lambda: plain._checked(X, y),
        "  and of words": lambda: plain._checked(X, words),
        "  a column of ones": lambda: with_constant(rows_of(X), X.shape[1], 1.0),
    }
    least = dict.fromkeys(runs, np.inf)
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            spent = timing.seconds(run, attempts=1)
            least[name] = min(least[name], spent) if round_ else np.inf  # the first one compiles
    passes = plain.fit(X, y).n_iter_
    print(f"\noverhead of fit on {X.shape[0]:,} x {X.shape[1]}, to the tolerance in {passes} passes of dcd")
    for name, spent in least.items():
        peer = "bare, augmented" if "intercept" in name else "bare"
        print(f"{name:>20}  {spent:8.3f} s   {spent / least[peer]:6.3f} x {peer}")


def beside_scikit_learn(X: Any, y: Any) -> None:
    """Print the second table."""
    half = len(y) // 2
    few = min(ROWS_OF_KERNEL, half)
    pairs = [
        ("LinearSVC", LinearSVC(loss="hinge", tol=1e-2, C=0.01), half),
        ("DCDClassifier", mpu_bench.DCDClassifier(tol=1e-2, C=0.01), half),
        ("MPUClassifier", mpu_bench.MPUClassifier(tol=1e-2, C=0.01), half),
        ("SGDClassifier", SGDClassifier(random_state=0), half),
        ("PegasosClassifier", mpu_bench.PegasosClassifier(max_iter=5, C=0.01, random_state=0), half),
        ("SVC", SVC(cache_size=1000), few),
        ("SMOClassifier", mpu_bench.SMOClassifier(), few),
        ("BudgetedPegasosClassifier", mpu_bench.BudgetedPegasosClassifier(gamma=0.01), half),
    ]
    print("\nseconds of the processor, and errors on rows that were not seen")
    for name, model, rows in pairs:
        model.fit(X[:200], y[:200])  # compiles
        spent = timing.seconds(model.fit, X[:rows], y[:rows], attempts=1)
        error = 100 * (1 - model.score(X[half : half + 20_000], y[half : half + 20_000]))
        print(f"{name:>26}  {rows:9,} rows  {spent:8.2f} s   error {error:5.2f} %")


def stream(rows: int, columns: int = 10) -> None:
    """Print the third table."""
    at_once = max(rows // 1000, 100)
    print(f"\nbytes of a classifier after {rows // 100:,} and {rows:,} rows")
    for name in ("ForgetronClassifier", "BudgetPerceptronClassifier", "BudgetedPegasosClassifier"):
        model, sizes = getattr(mpu_bench, name)(gamma=0.1, random_state=0), []
        for first in range(0, rows, at_once):
            X, y = data(at_once, columns, seed=first)
            model.partial_fit(X, y, classes=[0, 1])
            if first + at_once in (rows // 100, rows):
                sizes.append(len(pickle.dumps(model)))
        print(f"{name:>26}  {' '.join(f'{size:10,}' for size in sizes)}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--stream", type=int, default=1_000_000, help="the rows of the third table")
    asked = parser.parse_args()
    X, y = data(asked.rows, asked.columns)
    overhead(X, y)
    beside_scikit_learn(X, y)
    stream(asked.stream)


if __name__ == "__main__":
    main()
