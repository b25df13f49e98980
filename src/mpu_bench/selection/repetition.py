"""The choice for later: as a model that takes raw rows, and as a config that trains it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from mpu_bench.config.bounds import MOST_PASSES
from mpu_bench.core.counters import UNLIMITED
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import preprocessing_of, training_content
from mpu_bench.estimators.mixins import REDUCTIONS
from mpu_bench.estimators.online import OnlineClassifier
from mpu_bench.models.classes import Classes
from mpu_bench.models.saved import SavedModel
from mpu_bench.selection.rows import Source
from mpu_bench.texts import one_line

_HEAD = "# The classifier chosen for {file}; `mpu-bench run` with this file trains it again on all training rows.\n"


def model_of(classifier: Any, card: Card, home: DataDirectory) -> SavedModel:
    """Return a chosen classifier as a model that takes the rows of the user's file.

    Parameters
    ----------
    classifier : SolverClassifier
        Trained on the classes by number.
    card : Card
        Of the dataset.
    home : DataDirectory
        Where it is prepared.
    """
    from mpu_bench.estimators.saving import saved_model

    saved = saved_model(classifier, preprocessing_of(card, home))
    origin = saved.origin.model_copy(update={"dataset": card.name, "trained_on": training_content(card, home)})
    return replace(saved, classes=Classes.of(card.class_names, card.class_words), origin=origin)


def config_of(classifier: Any, source: Source, file: str, wishes: Mapping[str, Any], rows: int, folder: Path) -> str:
    """Return the config that trains the chosen solver again on all training rows.

    Parameters
    ----------
    classifier : SolverClassifier
        The choice, fitted.
    source : Source
    file : str
        The user's file, or the name of a dataset.
    wishes : mapping
        The options that were given of it.
    rows : int
        The training rows.
    folder : Path
        Of the config, to which its paths are relative.
    """
    is_online = isinstance(classifier, OnlineClassifier)
    solver = classifier._solver(rows, classifier.max_iter) if is_online else classifier._solver(rows)
    kernel, most = classifier._kernel(None), classifier._most_presented(rows)
    parameters = {each.name: _plain(getattr(solver, each.name)) for each in fields(solver)}
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if len(classifier.classes_) > 2 and solver.classes == "two":
        parameters["multiclass"] = REDUCTIONS[classifier.multi_class]
    if (class_weight := getattr(classifier, "class_weight", None)) is not None:
        parameters["class_weight"] = class_weight
    options: dict[str, Any] = {"augment": 1} if classifier._columns > classifier.n_features_in_ else {}
    if Path(file).exists():
        given = {
            key: value for key, value in wishes.items() if (key, value) not in (("seed", 0), ("missing", "refuse"))
        }
        if "test" in given:
            given["test"] = _relative(given["test"], folder)
        dataset: Any = {"file": _relative(file, folder), "as": source.dataset, **given, **options}
    else:
        options = {**source.options, **options}
        dataset = {file: options} if options else file
    content = {
        "name": f"try-{source.dataset}-again",
        "dataset": dataset,
        "kernel": {kernel.name: kernel.parameters} if kernel.parameters else kernel.name,
        "solvers": [{solver.name: parameters}],
        "seed": classifier.random_state,
        **({} if most >= UNLIMITED else {"stop": {"passes": _passes(classifier, most / rows)}}),
    }
    return _HEAD.format(file=one_line(Path(file).name)) + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _passes(classifier: Any, most: float) -> float:
    """Return after how many passes a run ends at the latest, where each binary subproblem has at most so many."""
    classes = len(classifier.classes_)
    pairs = classes * (classes - 1) // 2
    return min(most * (classes if classes > 2 and classifier.multi_class == "ovr" else pairs), MOST_PASSES)


def _relative(file: str, folder: Path) -> str:
    return os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
