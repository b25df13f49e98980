"""A hint to the processor: fetch an element that is needed soon.

Solvers visit examples in random order, so each one is a miss of the nearest caches; and a test on its response,
which no branch predictor can foresee, keeps the processor from running ahead to the next. Naming the examples a few
positions ahead takes about a seventh off the time of an epoch over Adult.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

EXAMPLES_AHEAD = np.uint32(6)  #: of the one presented, that are fetched


def prefetch(array: Any, index: Any) -> None:
    """Fetch the cache line of ``array.flat[index]``; only a hint, and nothing at all in plain Python."""


@type_callable(prefetch)
def _(_context):
    def typed(array, index):
        supported = isinstance(array, types.Array) and array.layout == "C"
        return types.void if supported and isinstance(index, types.Integer) else None

    return typed


@lower_builtin(prefetch, types.Array, types.Integer)
def _(context, builder, signature, arguments):
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, word(0), word(3), word(1)])  # to read, into all caches, data
    return context.get_dummy_value()
