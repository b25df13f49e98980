"""The model of a run as a file, with all that it needs to take raw rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mpu_bench.core.models import Model
from mpu_bench.core.problem import Problem
from mpu_bench.data.cards.catalog import CARD
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import preprocessing_of, training_content
from mpu_bench.errors import UserError
from mpu_bench.experiment.run import Run
from mpu_bench.models.classes import Classes
from mpu_bench.models.saved import Origin, SavedModel, made_now
from mpu_bench.results.saved_models import NOT_SAVED, NOT_WRITTEN
from mpu_bench.scaled import to_json


def save_model(
    path: Path, model: Model, run: Run, problem: Problem, card: Card, home: DataDirectory
) -> tuple[str, bool]:
    """Write the model of a run; return why it is not saved, if it is not, and whether no file can hold it.

    Parameters
    ----------
    path : Path
        Its folder is made.
    model : Model
    run : Run
    problem : Problem
        What it was trained on.
    card : Card
        Of the dataset.
    home : DataDirectory
        Where the dataset is prepared.
    """
    try:
        preprocessing = preprocessing_of(card, home)
        if preprocessing is not None and preprocessing.features != problem.features:
            preprocessing = None
        saved = SavedModel(
            model,
            Classes.of(problem.classes, card.class_words),
            problem.features,
            preprocessing,
            origin=_origin(run, card, home),
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        saved.save(path)
    except UserError as fault:
        return f"{NOT_SAVED}{fault}", True
    except OSError as fault:
        return f"{NOT_WRITTEN}{path}: {fault.strerror}", False
    return "", False


def _origin(run: Run, card: Card, home: DataDirectory) -> Origin:
    parameters: dict[str, Any] = json.loads(json.dumps(dict(run.solver.parameters), default=to_json))
    own = {name: value for name, value in run.dataset.options.items() if name != CARD}  # which names the user's files
    options: dict[str, Any] = json.loads(json.dumps(own, default=to_json))
    kernel = {} if run.solver.kernel.is_linear else {"kernel": str(run.solver.kernel)}
    return made_now(
        Origin(
            solver=run.solver.name,
            parameters=parameters | kernel,
            dataset=run.dataset.name,
            options=options,
            trained_on=training_content(card, home),
            seed=run.seed,
        )
    )
