"""The choice for later: as a model that takes raw rows, in C and ONNX, and as a config that trains it again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from mpu_bench.config.bounds import MAX_PASSES
from mpu_bench.core.counters import UNLIMITED
from mpu_bench.core.models import labels_of, with_threshold
from mpu_bench.data.cards import catalog
from mpu_bench.errors import DataError
from mpu_bench.estimators.mixins import REDUCTIONS
from mpu_bench.estimators.online import OnlineClassifier
from mpu_bench.files import is_file
from mpu_bench.installed import extra
from mpu_bench.models.classes import Classes
from mpu_bench.models.saved import SavedModel
from mpu_bench.selection.rows import Source
from mpu_bench.solvers.plugins.importing import THRESHOLD
from mpu_bench.texts import one_line, plain_name
from mpu_bench.yaml_text import Quoting

_HEAD = (
    "# The classifier chosen for {file}; `mpu-bench run` with this file trains it again on all training rows,\n"
    "# {errors}.\n"
)


def model_of(classifier: Any, source: Source, threshold: float = 0.0, **more: Any) -> SavedModel:
    """Return a chosen classifier as a model that takes the rows of the user's file.

    Parameters
    ----------
    classifier : SolverClassifier
        Trained on the classes by number.
    source : Source
        As `Source.begun` returns it.
    threshold : float
        The score above which a row is of the second of two classes.
    **more
        What else its origin has for parameters.
    """
    from mpu_bench.estimators.saving import saved_model

    assert source.fingerprint, "it was not begun"
    card = catalog.card(source.dataset, source.options)
    saved = saved_model(classifier, source.preprocessing)
    model, parameters = saved.model, {**saved.origin.parameters, **more}
    if threshold:
        model, parameters[THRESHOLD] = with_threshold(model, threshold), threshold
    known = {
        "dataset": card.name,
        "options": {name: value for name, value in source.options.items() if name != catalog.CARD},
        "trained_on": source.trained_on,
        "parameters": parameters,
    }
    origin = saved.origin.model_copy(update=known)
    return replace(saved, model=model, classes=Classes.of(card.class_names, card.class_words), origin=origin)


def exports_of(saved: SavedModel, features: NDArray[np.float32], bits: int | None) -> tuple[dict[str, Any], list[str]]:
    """Return ``model.c`` and ``model.onnx``, by name, and of one that is not written, or not compared, why.

    A file whose labels are compared here, and are not Python's, is not written; nor is one that nobody can compare
    here, and that is known to be too coarse.

    Parameters
    ----------
    saved : SavedModel
    features : array of float32, shape (n, d)
        Of some rows, without a constant that the classifier appends.
    bits : int or None
        Of the integers that the C file computes with; None for floats.
    """
    from mpu_bench.models.export import compiler, onnx_graph
    from mpu_bench.models.export.agreement import MIN_AGREEMENT, compared, raw_at_hand, sourced
    from mpu_bench.models.export.portable import portable, too_coarse

    files: dict[str, Any] = {}
    faults: list[str] = []

    def add(name: str, make: Callable[[], tuple[Any, float | None]], lacking: str) -> None:
        try:
            content, share = make()
            if share is None and (why := too_coarse(model)):
                raise DataError(f"{why} (nor can labels be compared here: {lacking})")
        except DataError as error:
            faults.append(f"{name} is not written: {error}")
            return
        if share is None:
            faults.append(f"{name}: its labels were not compared with those of model.mpu: {lacking}")
        elif share < MIN_AGREEMENT:
            faults.append(f"{name} is not written: only {100 * share:.1f} % of its labels are those of model.mpu")
            return
        files[name] = content

    def c() -> tuple[str, float | None]:
        source, how = sourced(model, "model", rows, bits)
        is_compared = compiler.find_compiler() is not None
        return source.text, compared(model, source, rows, how).share if is_compared else None

    def onnx() -> tuple[bytes, float | None]:
        content = onnx_graph.onnx_bytes(model)
        answers = onnx_graph.runtime_answers(content, rows.numbers)  # type: ignore[arg-type]
        labels = saved.classes.labels[labels_of(rows.scores)].astype(str)
        return content, None if answers is None else float(np.mean(np.asarray(answers[0]).astype(str) == labels))

    try:
        model = portable(saved)
        rows = raw_at_hand(model, features)
    except DataError as error:
        return {}, [f"model.c and model.onnx are not written: {error}"]
    add("model.c", c, "no C compiler (cc, gcc or clang) on the PATH")
    add("model.onnx", onnx, f"onnxruntime is not installed; {extra('onnx')}")
    return files, faults


def config_of(
    classifier: Any,
    source: Source,
    file: str,
    file_options: Mapping[str, Any],
    rows: int,
    folder: Path,
    threshold: float = 0.0,
    differs: str = "",
) -> str:
    """Return the config that trains the chosen solver again on all training rows.

    Parameters
    ----------
    classifier : SolverClassifier
        The choice, fitted.
    source : Source
    file : str
        The user's file, or the name of a dataset.
    file_options : mapping
        The options that were given of it.
    rows : int
        The training rows.
    folder : Path
        Of the config, to which its paths are relative.
    threshold : float
        As of `model_of`.
    differs : str
        Why its errors will be others; empty if they will be the same.
    """
    is_online = isinstance(classifier, OnlineClassifier)
    solver = classifier._solver(rows, classifier.max_iter) if is_online else classifier._solver(rows)
    kernel, limit = classifier._kernel(None), classifier._max_presented(rows)
    parameters = {
        field.name: value.item() if hasattr(value, "item") else value
        for field in fields(solver)
        if (value := getattr(solver, field.name)) is not None
    }
    if len(classifier.classes_) > 2 and solver.classes == "two":
        parameters["multiclass"] = REDUCTIONS[classifier.multi_class]
    if (class_weight := getattr(classifier, "class_weight", None)) is not None:
        parameters["class_weight"] = class_weight
    if threshold:
        parameters[THRESHOLD] = threshold
    options: dict[str, Any] = {"augment": 1} if classifier._columns > classifier.n_features_in_ else {}
    if is_file(Path(file)):
        file_options = {
            key: value
            for key, value in file_options.items()
            if (key, value) not in (("seed", 0), ("missing", "refuse"))
        }
        if "test" in file_options:
            file_options["test"] = _relative(file_options["test"], folder)
        dataset: Any = {"file": _relative(file, folder), "as": source.dataset, **file_options, **options}
    else:
        options = {**source.options, **options}
        dataset = {file: options} if options else file
    content = {
        "name": f"try-{plain_name(source.dataset)}-again",
        "dataset": dataset,
        "kernel": {kernel.name: kernel.parameters} if kernel.parameters else kernel.name,
        "solvers": [{solver.name: parameters}],
        "seed": classifier.random_state,
        **({} if limit >= UNLIMITED else {"stop": {"passes": _passes(classifier, limit / rows)}}),
    }
    errors = f"with other errors: {differs}" if differs else "with the same errors"
    head = _HEAD.format(file=one_line(Path(file).name), errors=errors)
    return head + yaml.dump(content, Dumper=Quoting, sort_keys=False, allow_unicode=True)


def _passes(classifier: Any, limit: float) -> float:
    """Return after how many passes a run ends at the latest, where each binary subproblem has at most so many."""
    classes = len(classifier.classes_)
    pairs = classes * (classes - 1) // 2
    return min(limit * (classes if classes > 2 and classifier.multi_class == "ovr" else pairs), MAX_PASSES)


def _relative(file: str, folder: Path) -> str:
    return os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
