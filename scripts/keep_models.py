"""Make the files of tests/models/v1: models as this version saves them, and what they answer.

They are made once for each version of the format, and kept: every later version must read them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from mpu_bench import DCDClassifier, SMOClassifier
from mpu_bench.models.format import VERSION
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table

FOLDER = Path(__file__).parents[1] / "tests" / "models" / f"v{VERSION}"
COLUMNS = ("sepal length", "sepal width", "petal length", "petal width")


def main() -> None:
    """Train, save and ask."""
    FOLDER.mkdir(exist_ok=True)
    rows, labels = load_iris(return_X_y=True)
    table = pd.DataFrame(rows, columns=list(COLUMNS)).round(1)
    described = {
        "linear": (table.assign(size=np.where(rows[:, 0] > 5.8, "large", "small")), DCDClassifier(random_state=0)),
        "kernel": (table, SMOClassifier(C=1.0, gamma=0.25, multi_class="ovo", random_state=0)),
    }
    expected = {}
    for name, (frame, classifier) in described.items():
        steps = _steps(frame)
        features = steps.rows(frame).values  # noqa: PD011
        names = np.array(["setosa", "versicolor", "virginica"])[labels] if name == "linear" else labels
        classifier.fit(features[::5], names[::5])
        classifier.save(FOLDER / f"{name}.mpu", steps)
        expected[name] = _answers(FOLDER / f"{name}.mpu", frame.iloc[::7])
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=0) + "\n", encoding="utf-8")


def _steps(frame: pd.DataFrame) -> Table:
    columns = [
        CategoricalColumn(name=name, categories=("large", "small"))
        if name == "size"
        else NumberColumn(name=name, shift=float(frame[name].mean()), width=float(frame[name].std()), fill=0.0)
        for name in frame.columns
    ]
    return Table(columns=tuple(columns))


def _answers(path: Path, frame: pd.DataFrame) -> dict[str, object]:
    from mpu_bench import load

    model = load(path)
    return {
        "columns": list(frame.columns),
        "rows": frame.to_numpy().tolist(),
        "labels": model.predict(frame).tolist(),
        "scores": model.scores(frame).tolist(),
    }


if __name__ == "__main__":
    main()
