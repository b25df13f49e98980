"""A kernel is one file and the line that imports it: a copy of the package gets one, and does everything with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from checkout import called, copied

HERE = Path(__file__).parent
LINE = "from mpu_bench.kernels.rational_quadratic import RationalQuadratic as RationalQuadratic\n"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what `kernel_uses` finds where CONTRIBUTING's row of a kernel was done, and nothing else."""
    place = tmp_path_factory.mktemp("copy")
    copy = copied(place)
    shutil.copy2(HERE / "rational_quadratic.py", copy / "kernels")
    with (copy / "kernels" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(LINE)
    empty = tmp_path_factory.mktemp("uses")  # the copy's results are those of the checkout
    done = called(place / "src", empty, str(HERE / "kernel_uses.py"), NUMBA_DISABLE_JIT="0")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_runs_train_and_tune_with_it_and_save_their_models(found: dict[str, Any]) -> None:
    trained = found["trained"]
    assert trained["status"] == {"smo": "done", "perceptron-oldest": "done"}
    assert trained["test_error"]["smo"] < 0.25
    assert trained["gap"] < 0.01
    assert any("gamma" in each for each in trained["tuned"])
    assert all(each.startswith("rational-quadratic") for each in trained["kernels"].values())
    assert trained["errors of models"] == trained["test_error"]
    assert trained["models"] == {
        "smo": "RationalQuadratic(gamma=3.0)",
        "perceptron-oldest": "RationalQuadratic(gamma=2.0)",
    }


def test_a_classifier_has_it_and_its_saved_model_scores_the_same(found: dict[str, Any]) -> None:
    classified = found["classified"]
    assert classified["peer"] < 1e-3
    assert classified["loaded"] == "RationalQuadratic(gamma=0.7)"
    assert classified["scores"] == 0
    assert classified["unknown"] == (
        "kernel is 'rational'; it must be one of 'linear', 'poly', 'rational-quadratic', 'rbf', 'precomputed', "
        "or a function"
    )


@pytest.mark.parametrize("system", ["c", "onnx"])
def test_what_it_says_of_other_systems_is_exported(found: dict[str, Any], system: str) -> None:
    if found["classified"][system] is None:
        pytest.skip("there is no C compiler on the PATH, or onnxruntime is not installed")
    assert found["classified"][system] < 1e-4


def test_what_it_does_not_say_is_refused_in_words(found: dict[str, Any]) -> None:
    kernel = "RationalQuadratic(gamma=0.7)"
    assert found["classified"]["fixed point"] == f"fixed point: the kernel {kernel} cannot be exported; export floats"
    assert "scikit-learn's SVC has no kernel RationalQuadratic(gamma=1)" in found["named"]["libsvm"]
    assert "'dcd' is linear only" in found["named"]["linear"]


def test_it_is_listed_and_a_mistake_gets_the_nearest_name(found: dict[str, Any]) -> None:
    named = found["named"]
    assert named["list"] == ["gaussian", "linear", "polynomial", "rational-quadratic"]
    assert named["schema"]
    assert "there is no kernel 'rational-quadratc'; did you mean 'rational-quadratic'?" in named["mistyped"]
    assert "unknown key; did you mean 'gamma'?" in named["parameter"]
    assert "gamma: must be greater than 0 and finite, not -1" in named["range"]
