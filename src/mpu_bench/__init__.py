"""mpu-bench: reproduces the benchmarks of five papers on perceptron-like and budgeted SVM training.

For Python programs: the solvers are classifiers, ``from mpu_bench import SMOClassifier`` (`estimators`); ``load`` reads
a model that was saved (`models`); ``run`` makes the runs of a config, ``plan`` says which, ``reproduce`` makes those
of the papers, and ``read`` opens a results folder (`api`).
"""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"

#: name -> the module that it is in; imported when it is used: the command line needs none of it
_MODULES = {
    **dict.fromkeys(("run", "plan", "reproduce", "read", "Results"), "api"),
    **dict.fromkeys(("UserError", "ConfigError", "DataError", "StoreError"), "errors"),
    "load": "models.saved",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # what ``from mpu_bench import *`` brings
        from mpu_bench import estimators

        return sorted({*_MODULES, *estimators.__all__})
    module = "estimators" if name.endswith("Classifier") else _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    from mpu_bench import estimators

    return [*globals(), *_MODULES, *estimators.__all__]
