"""Models of the solvers as the arrays that scikit-learn's users expect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from mpu_bench.core.models import FourierModel, KernelModel, LinearModel, Model
from mpu_bench.core.voting import MulticlassModel
from mpu_bench.estimators.inputs import as_array
from mpu_bench.kernels import Kernel, Linear


def machines_of(model: Model) -> Any:
    """Return the models of the binary subproblems, or the model, where there is no vote."""
    return model.machines if isinstance(model, MulticlassModel) else model


def with_machines(model: Model, **changes: Any) -> Model:
    """Return a model whose expansions have other vectors or another kernel."""
    machines = replace(machines_of(model), **changes)
    return replace(model, machines=machines) if isinstance(model, MulticlassModel) else machines


def kernel_of(model: Model) -> Kernel | None:
    """Return the kernel of a model; None of a linear one."""
    return getattr(machines_of(model), "kernel", None)


def weights_of(model: Model) -> NDArray[np.float64] | None:
    """Return the weights of the features, one row a binary subproblem; None where the model is not linear in them."""
    machines = machines_of(model)
    if isinstance(machines, LinearModel):
        return None if isinstance(machines, FourierModel) else machines.weights
    if not isinstance(machines.kernel, Linear):
        return None
    return np.asarray((as_array(machines.vectors, machines.features).T @ coefficients_of(machines).T).T)


def coefficients_of(machines: Any) -> NDArray[np.float64]:
    """Return the coefficients of models that share their vectors, shape (p, m)."""
    if isinstance(machines, KernelModel):
        return machines.coefficients.T
    parts = machines.coefficients, machines.machines, machines.starts
    return scipy.sparse.csc_array(parts, (len(machines.biases), len(machines.starts) - 1)).toarray("C")
