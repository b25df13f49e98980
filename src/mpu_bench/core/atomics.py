"""Words of an array that several threads write: each operation is done whole, and in the order of the program.

What a thread has written before `store` or `add` is there for the one that finds the new value by `load` or `add`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

_WORD_BYTES = 8


def load(array: Any, index: Any) -> Any:
    """Return an element of an array of int64."""
    return array[index]


def store(array: Any, index: Any, value: Any) -> None:
    """Set an element of an array of int64."""
    array[index] = value


def add(array: Any, index: Any, value: Any) -> Any:
    """Add to an element of an array of int64, and return what it was."""
    before = array[index]
    array[index] += value
    return before


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _are_words(array: Any, index: Any) -> bool:
    return array == types.int64[::1] and isinstance(index, types.Integer)


@type_callable(load)
def _(_context):
    return lambda array, index: types.int64 if _are_words(array, index) else None


@type_callable(store)
def _(_context):
    return lambda array, index, value: types.void if _are_words(array, index) and value == types.int64 else None


@type_callable(add)
def _(_context):
    return lambda array, index, value: types.int64 if _are_words(array, index) and value == types.int64 else None


@lower_builtin(load, types.Array, types.Integer)
def _(context, builder, signature, arguments):
    return builder.load_atomic(_pointer(context, builder, signature, arguments), "acquire", _WORD_BYTES)


@lower_builtin(store, types.Array, types.Integer, types.Integer)
def _(context, builder, signature, arguments):
    builder.store_atomic(arguments[2], _pointer(context, builder, signature, arguments), "release", _WORD_BYTES)
    return context.get_dummy_value()


@lower_builtin(add, types.Array, types.Integer, types.Integer)
def _(context, builder, signature, arguments):
    return builder.atomic_rmw("add", _pointer(context, builder, signature, arguments), arguments[2], "acq_rel")
