"""mpu-bench: reproduces the benchmarks of five papers on perceptron-like and budgeted SVM training.

The solvers are classifiers for Python programs as well: ``from mpu_bench import SMOClassifier`` (`estimators`);
``load`` reads a model that was saved (`models`).
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # imported when it is asked for: the command line needs none of it
    if name == "load":
        from mpu_bench.models.saved import load

        return load
    if not name.endswith("Classifier"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from mpu_bench import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    from mpu_bench import estimators

    return [*globals(), *estimators.__all__, "load"]
