"""Words of an array that several threads write: each operation is done whole, and in the order of the program.

What a thread has written before `store` or `add` is there for the one that finds the new value by `load` or `add`.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

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


def _pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


@intrinsic
def _load(_typing_context, array, index):
    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", _WORD_BYTES)

    return types.int64(array, index), generate


@intrinsic
def _store(_typing_context, array, index, value):
    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], pointer, "release", _WORD_BYTES)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic
def _add(_typing_context, array, index, value):
    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", pointer, arguments[2], "acq_rel")

    return types.int64(array, index, value), generate


def _are_words(array: Any, index: Any, *values: Any) -> bool:
    words = isinstance(array, types.Array) and array.dtype == types.int64 and array.ndim == 1 and array.layout == "C"
    return words and isinstance(index, types.Integer) and all(value == types.int64 for value in values)


@overload(load)
def _compiled_load(array, index):
    def implementation(array, index):
        return _load(array, index)  # type: ignore[call-arg]

    return implementation if _are_words(array, index) else None


@overload(store)
def _compiled_store(array, index, value):
    def implementation(array, index, value):
        _store(array, index, value)  # type: ignore[call-arg]

    return implementation if _are_words(array, index, value) else None


@overload(add)
def _compiled_add(array, index, value):
    def implementation(array, index, value):
        return _add(array, index, value)  # type: ignore[call-arg]

    return implementation if _are_words(array, index, value) else None
