"""What `mpu-bench try` chooses beside FLAML and LazyPredict, each with the same seconds: metric, bytes, seconds.

    python scripts/bench/choice.py [--tables bank11,digits] [--tools try,FLAML] [--seconds 60] [--keep FOLDER]

Every result is kept in FOLDER (build/bench-choice) as it comes: a bench that was ended goes on where it was, and a
result whose file is deleted is measured again.

Ten tables, of scikit-learn or generated, with 1% to 50% positives, words and missing numbers, 178 to 200,000 rows; a
fifth of the rows tests. Where the classes are uneven AUC chooses, else accuracy. FLAML and LazyPredict are in the
extra ``automl``; what is not installed is left out. LazyPredict has no limit of its own: its classifiers are trained
one by one in its order while there are seconds, and the best on a fifth of the training rows is trained again on all.

Bytes are those of numbers in single precision, and 8 for each split of a tree; of a model of another kind those of its
pickle.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(2)

import argparse
import csv
import json
import math
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

PEERS = {"FLAML": "flaml", "LazyPredict": "lazypredict"}
SPLIT, LEAF = 8, 4  # bytes
ROUNDED = 1e-6  # what is less is nothing


def bank(shift: float, n: int = 40_000) -> pd.DataFrame:
    """Return a table as banks have it: words, far numbers, a number that is missing, and few that say yes."""
    random = np.random.default_rng(7)
    words = {
        "job": (["admin.", "technician", "services", "retired", "student"], [0.4, 0.3, 0.2, 0.06, 0.04]),
        "contact": (["cellular", "telephone"], [0.63, 0.37]),
        "month": (["mar", "apr", "may", "jun", "jul", "aug", "sep", "oct"], [0.125] * 8),
    }  # fmt: skip
    table = pd.DataFrame({name: random.choice(each, n, p=shares) for name, (each, shares) in words.items()})
    table["age"], table["campaign"] = random.integers(18, 92, n), random.geometric(0.4, n)
    table["euribor"] = np.round(random.choice([1.3, 4.1, 4.9], n) + random.normal(0, 0.3, n), 3)
    table["employed"] = np.round(5000 + table["euribor"] * 50 + random.normal(0, 20, n), 1)
    table["balance"] = np.round(random.lognormal(7, 1, n), 2)
    z = -2.9 - shift + 0.9 * (table["euribor"] < 2) + 0.8 * table["job"].isin(["student", "retired"])
    z += 0.6 * (table["contact"] == "cellular") + 0.5 * table["month"].isin(["mar", "sep", "oct"])
    z += 0.0009 * (table["age"] - 45) ** 2 - 0.1 * table["campaign"] + random.normal(0, 0.3, n)
    table["label"] = np.where(random.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    table.loc[random.random(n) < 0.05, "balance"] = np.nan
    return table


def generated(rows: int, columns: int, positives: float, **how: Any) -> pd.DataFrame:
    """Return a table of clusters of two classes."""
    informative = {"n_informative": min(columns - 2, 10), "n_clusters_per_class": 4, "flip_y": 0.02, "random_state": 0}
    X, y = datasets.make_classification(rows, columns, weights=[1 - positives], **informative | how)
    return pd.DataFrame(X.round(5), columns=[f"x{i}" for i in range(columns)]).assign(label=np.where(y, "yes", "no"))


def of_sklearn(load: Callable[..., Any]) -> pd.DataFrame:
    """Return a table that comes with scikit-learn."""
    found = load(as_frame=True)
    return found.data.assign(label=found.target.map(lambda label: f"class {label}"))


#: name -> the table, and the metric that chooses
TABLES: dict[str, tuple[Callable[[], pd.DataFrame], str]] = {
    "wine": (lambda: of_sklearn(datasets.load_wine), "accuracy"),
    "small": (lambda: generated(250, 10, 0.5), "accuracy"),
    "breast-cancer": (lambda: of_sklearn(datasets.load_breast_cancer), "accuracy"),
    "digits": (lambda: of_sklearn(datasets.load_digits), "accuracy"),
    "wide": (lambda: generated(5000, 200, 0.3), "auc"),
    "clusters": (lambda: generated(20_000, 20, 0.5), "accuracy"),
    "bank15": (lambda: bank(0.0), "auc"),
    "bank11": (lambda: bank(0.4), "auc"),
    "rare": (lambda: generated(50_000, 20, 0.01, flip_y=0.002), "auc"),
    "large": (lambda: generated(200_000, 20, 0.5), "accuracy"),
}


def of_try(folder: Path, metric: str, seconds: float) -> dict[str, Any]:
    """Return what `mpu-bench try` chooses; the constant where it chooses nothing."""
    command = [sys.executable, "-m", "mpu_bench", "try", "train.csv", "--test", "test.csv", "--metric", metric,
               "--seconds", f"{seconds:g}", "--label", "label"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    with (folder / "results" / "try-train" / "candidates.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    constant = rows["constant"]
    chosen = next((row for row in rows.values() if row["chosen"] == "True"), constant)
    return {
        "name": chosen["name"],
        "metric": float(chosen["test"]),
        "error": float(chosen["test_standard_error"]),
        "bytes": int(chosen["bytes"]),
        "seconds": float(chosen["seconds_per_prediction"]),
        "constant": float(constant["test"]),
    }


def of_flaml(X: Any, y: Any, metric: str, seconds: float) -> tuple[Any, Any, str]:
    """Return what FLAML chooses, the model inside, and its name."""
    from flaml import AutoML

    chosen = AutoML()
    named = {"auc": "roc_auc"}.get(metric, metric)
    chosen.fit(X, y, task="classification", time_budget=seconds, metric=named, seed=0, verbose=0, n_jobs=2)
    return chosen, chosen.model.estimator, chosen.best_estimator


def of_lazypredict(X: Any, y: Any, metric: str, seconds: float) -> tuple[Any, Any, str]:
    """Return the best of LazyPredict's classifiers that are trained while there are seconds, as `of_flaml` does."""
    from lazypredict.Supervised import CLASSIFIERS, LazyClassifier

    began, best = time.monotonic(), (-math.inf, "", None)
    fit_X, choosing_X, fit_y, choosing_y = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    for name, classifier in CLASSIFIERS:
        if time.monotonic() - began > seconds:
            break
        lazy = LazyClassifier(verbose=0, ignore_warnings=True, classifiers=[classifier])
        lazy.fit(fit_X, choosing_X, fit_y, choosing_y)
        with suppress(ValueError):  # of one whose probabilities are no numbers
            if name in lazy.models and (found := score_of(metric, lazy.models[name], choosing_X, choosing_y)) > best[0]:
                best = found, name, classifier
    lazy = LazyClassifier(verbose=0, ignore_warnings=True, classifiers=[best[2]])
    lazy.fit(X, choosing_X, y, choosing_y)
    return lazy.models[best[1]], lazy.models[best[1]][-1], best[1]


def score_of(metric: str, model: Any, X: Any, y: Any) -> float:
    """Return the metric of a model on some rows."""
    if metric == "accuracy":
        return float(accuracy_score(y, model.predict(X)))
    if hasattr(model, "predict_proba"):
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    if hasattr(model, "decision_function"):
        return float(roc_auc_score(y, model.decision_function(X)))
    return float(roc_auc_score(y, np.asarray(model.predict(X)) == np.unique(y)[1]))


def bytes_of(model: Any) -> int:  # noqa: PLR0911 - a way for each kind
    """Return the bytes of a trained model, in the most compact form that is told of its kind."""
    if hasattr(model, "calibrated_classifiers_"):
        return sum(bytes_of(each.estimator) for each in model.calibrated_classifiers_)
    if hasattr(model, "booster_"):
        leaves = [tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]]
        return sum(SPLIT * (each - 1) + LEAF * each for each in leaves)
    if hasattr(model, "get_booster"):
        nodes = model.get_booster().trees_to_dataframe()["Feature"]
        return int(np.where(nodes == "Leaf", LEAF, SPLIT).sum())
    trees = [model] if hasattr(model, "tree_") else np.ravel(getattr(model, "estimators_", []))
    if len(trees) and all(hasattr(each, "tree_") for each in trees):
        values = trees[0].tree_.value.shape[2] - 1 or 1
        return sum(SPLIT * (each.tree_.node_count - each.tree_.n_leaves) + LEAF * values * each.tree_.n_leaves
                   for each in trees)  # fmt: skip
    if hasattr(model, "coef_"):
        return int(LEAF * (np.size(model.coef_) + np.size(model.intercept_)))
    if hasattr(model, "support_vectors_"):
        return int(LEAF * (model.support_vectors_.size + model.dual_coef_.size + np.size(model.intercept_)))
    return len(pickle.dumps(model))


def of_peer(peer: str, folder: Path, metric: str, seconds: float) -> dict[str, Any]:
    """Return what a peer chooses, found in a process of its own."""
    command = [sys.executable, __file__, "--seconds", f"{seconds:g}", "--peer", peer, str(folder), metric]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure_peer(name: str, folder: Path, metric: str, seconds: float) -> None:
    """Print what a peer chooses, as JSON."""
    warnings.simplefilter("ignore")
    train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
    choose = {"FLAML": of_flaml, "LazyPredict": of_lazypredict}[name]
    columns = train.columns.drop("label")
    model, inner, kind = choose(train[columns], train["label"], metric, seconds)
    model.predict(test[columns][:10])
    began = time.perf_counter()
    model.predict(test[columns])
    took = (time.perf_counter() - began) / len(test)
    found = {"name": kind, "metric": score_of(metric, model, test[columns], test["label"])}
    print("\n" + json.dumps(found | {"bytes": int(bytes_of(inner)), "seconds": took}))


def kept(path: Path, seconds: float, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a tool has chosen for a table within so many seconds; it is measured unless a file has it."""
    if path.exists() and (found := json.loads(path.read_text(encoding="utf-8")))["limit"] == seconds:
        return dict(found)
    began = time.monotonic()
    found = measure() | {"limit": seconds, "load": os.getloadavg()[0], "took": time.monotonic() - began}
    path.write_text(json.dumps(found), encoding="utf-8")
    print(f"{path.stem}: {found}", flush=True)
    return dict(found)


def note(ratios: timing.Ratios, case: str, ours: dict[str, Any], peer: str, theirs: dict[str, Any]) -> None:
    """Note three ratios of a table."""
    table, metric = case.split(": ")
    said = f"{ours['metric']:.4f} and {theirs['metric']:.4f} ({apart(metric, ours, theirs):+.1f} SE), constant "
    against = f"{peer} ({theirs['name']})"
    loss = (1 - ours["metric"]) / max(1 - theirs["metric"], ROUNDED)
    ratios.add(f"{table}: 1 - {metric}", ours["name"], loss, against, bound_by=said + f"{ours['constant']:.4f}")
    for what, of in (("bytes", "model"), ("seconds", "prediction")):
        said = f"{ours[what]:.3g} and {theirs[what]:.3g}"
        ratios.add(f"{table}: {what} of a {of}", ours["name"], ours[what] / theirs[what], against, bound_by=said)


def apart(metric: str, ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Return by how many standard errors our metric is above a peer's: of accuracies the larger of both, else ours."""
    errors = [ours["error"], ROUNDED]
    if metric == "accuracy":
        errors += [math.sqrt(each["metric"] * (1 - each["metric"]) / ours["tested"]) for each in (ours, theirs)]
    return float((ours["metric"] - theirs["metric"]) / max(errors))


def as_markdown(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the table for docs/try.md: what was found, by table and tool."""
    lines = [
        "| Table | `try` | FLAML | LazyPredict | Beside FLAML | Bytes, times FLAML's |",
        "|---|---|---|---|---|---|",
    ]
    for table, tools in found.items():
        ours, flaml = tools["try"], tools.get("FLAML")
        cells = [
            f"{each['name']}, {100 * each['metric']:.2f} %, {each['bytes']:,} B, {1e6 * each['seconds']:,.1f} µs"
            if (each := tools.get(tool)) is not None
            else ""
            for tool in ("try", *PEERS)
        ]
        if flaml is not None:
            beside = apart(TABLES[table][1], ours, flaml)
            word = "within one SE" if abs(beside) <= 1 else "better" if beside > 0 else "worse"
            cells += [f"{word} ({beside:+.1f})", f"{ours['bytes'] / flaml['bytes']:,.3g}"]
        lines.append(f"| {table}, {TABLES[table][1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the tables, and write results/bench.csv."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--tools", default=",".join(["try", *PEERS]))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--keep", type=Path, default=Path("build/bench-choice"), help="the folder of tables and results"
    )
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        measure_peer(given.peer[0], Path(given.peer[1]), given.peer[2], given.seconds)
        return
    tools = given.tools.split(",")
    ratios, found = timing.Ratios(), dict[str, dict[str, dict[str, Any]]]()
    for name in given.tables.split(","):
        make, metric = TABLES[name]
        folder = given.keep.resolve() / name
        folder.mkdir(parents=True, exist_ok=True)
        table = make()
        parts = train_test_split(table, test_size=0.2, stratify=table["label"], random_state=0)
        for part, rows in zip(("train", "test"), parts, strict=True):
            if not (folder / f"{part}.csv").exists():
                rows.to_csv(folder / f"{part}.csv", index=False)
        measures = {"try": partial(of_try, folder, metric, given.seconds)} | {
            peer: partial(of_peer, peer, folder, metric, given.seconds)
            for peer, module in PEERS.items()
            if find_spec(module) is not None
        }
        found[name] = {}
        for tool in [tool for tool in measures if tool in tools]:
            try:
                result = kept(folder / f"{name}-{tool}.json", given.seconds, measures[tool])
            except subprocess.CalledProcessError as error:  # the system ends what needs too much memory
                print(f"{name}: {tool} has no result: {error}", file=sys.stderr)
            else:
                found[name][tool] = result | {"tested": len(parts[1])}
        for peer in PEERS:
            if {"try", peer} <= found[name].keys():
                note(ratios, f"{name}: {metric}", found[name]["try"], peer, found[name][peer])
    if "try" in tools:
        ratios.write()
        print(as_markdown(found))


if __name__ == "__main__":
    main()
