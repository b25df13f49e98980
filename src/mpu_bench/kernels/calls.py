"""How jitted code calls a kernel: by the address of its values, which are compiled once for all solvers.

Any kernel has one type there, so a solver is compiled once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    make_attribute_wrapper,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

from mpu_bench.core.jit import jit, jit_dispatch
from mpu_bench.kernels.base import Kernel, value, values

_NUMBERS = types.float64[::1]
_FLOATS, _REALS = types.CPointer(types.float32), types.CPointer(types.float64)
_SIGNATURES = {
    "value": types.float64(_REALS, types.float64, types.float64, types.float64),
    "singles": types.void(_REALS, _FLOATS, _FLOATS, types.intp, types.float64),
    "doubles": types.void(_REALS, _REALS, _REALS, types.intp, types.float64),
}
_LAYOUTS: dict[str, types.NamedTuple] = {}  #: of the kernels in use, by name
_PARTS = types.Tuple([_NUMBERS, *[types.intp] * len(_SIGNATURES)])


class KernelType(types.Type):
    """Numba's type of all kernels."""

    instance_class = Kernel  #: by which `value` and `values` know it


@typeof_impl.register(Kernel)
def _(_kernel: Kernel, _context: Any) -> KernelType:
    return KernelType("Kernel")


@register_model(KernelType)
class _Model(models.StructModel):
    def __init__(self, manager: Any, kind: KernelType) -> None:
        super().__init__(manager, kind, list(zip(("numbers", *_SIGNATURES), _PARTS, strict=True)))


for _name in ("numbers", *_SIGNATURES):
    make_attribute_wrapper(KernelType, _name, _name)


@unbox(KernelType)
def _(kind: KernelType, kernel: Any, c: Any) -> NativeValue:
    """Read the numbers of a kernel, which live as long as the call, and the addresses."""
    function = c.pyapi.unserialize(c.pyapi.serialize_object(compiled))
    parts = c.pyapi.call_function_objargs(function, (kernel,))
    c.pyapi.decref(function)
    read = cgutils.alloca_once_value(c.builder, ir.Constant(c.context.get_value_type(kind), None))
    has_failed = cgutils.alloca_once_value(c.builder, cgutils.is_null(c.builder, parts))
    with c.builder.if_then(cgutils.is_not_null(c.builder, parts)):
        native = c.unbox(_PARTS, parts)
        c.builder.store(native.value, read)
        c.builder.store(native.is_error, has_failed)

    return NativeValue(c.builder.load(read), c.builder.load(has_failed), lambda: c.pyapi.decref(parts))


def compiled(kernel: Kernel) -> tuple[Any, ...]:
    """Return the numbers of a kernel, and the addresses of its value and of its values in single and double precision.

    The arrays among its parameters live as long as the kernel.
    """
    numbers = np.fromiter((number for parameter in kernel for number in _numbers(parameter)), np.float64)
    parameters: list[Any] = [
        typeof(parameter) if isinstance(parameter, np.ndarray) else type(parameter) for parameter in kernel
    ]
    return numbers, *_addresses(type(kernel), *parameters)


def _numbers(parameter: Any) -> Iterator[float]:
    """Yield a number, or address, shape and strides of an array; below 2^53 float64 holds an integer exactly."""
    if isinstance(parameter, np.ndarray):
        yield parameter.ctypes.data
        yield from parameter.shape + parameter.strides
    else:
        yield parameter


@cache
def _addresses(kind: type[Kernel], *parameters: Any) -> list[int]:
    """Return the addresses of the functions of `_SIGNATURES`, of a kernel with parameters of some types."""
    fields = [typeof(parameter()) if isinstance(parameter, type) else parameter for parameter in parameters]
    name = f"{kind.__module__}.{kind.__qualname__}{fields}"
    _LAYOUTS[name] = types.NamedTuple(fields, kind)

    def value_of(numbers, dot, a2, b2):
        return value(_read(numbers, name), dot, a2, b2)  # type: ignore[call-arg]

    def values_of(numbers, products, norms, n, norm):
        values(_read(numbers, name), _array(products, n), _array(norms, n), norm)  # type: ignore[call-arg]

    bodies: dict[str, Callable[..., Any]] = {"value": value_of, "singles": values_of, "doubles": values_of}
    for body in bodies.values():  # which tells what is kept of them from that of another kernel
        body.__module__, body.__qualname__ = kind.__module__, f"{body.__name__}.{kind.__qualname__}{fields}"
    return [jit(bodies[key]).address(signature.args) for key, signature in _SIGNATURES.items()]


@intrinsic
def _read(_context: Any, numbers: Any, name: Any) -> Any:
    """Return the parameters of a kernel, made of its numbers.

    Its layout is found by name, since numba finds what it keeps on disk by what a function has taken from another one,
    and only of numbers and texts is that the same in every process.
    """
    if not isinstance(name, types.StringLiteral):
        return None  # numba asks again with its value
    kind = _LAYOUTS[name.literal_value]

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        numbers = (builder.load(builder.gep(arguments[0], [ir.IntType(64)(at)])) for at in count())
        return context.make_tuple(
            builder, kind, [_parameter(context, builder, parameter, numbers) for parameter in kind]
        )

    return kind(numbers, name), code


@intrinsic
def _array(_context: Any, pointer: Any, length: Any) -> Any:
    """Return the array that begins at an address."""
    kind = pointer.dtype[::1]

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        array = context.make_array(kind)(context, builder)
        itemsize = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
        populate_array(array, arguments[0], [arguments[1]], [itemsize], itemsize, None)
        return array._getvalue()

    return kind(pointer, length), code


def _parameter(context: Any, builder: Any, kind: types.Type, numbers: Iterator[Any]) -> Any:
    if not isinstance(kind, types.Array):
        return context.cast(builder, next(numbers), types.float64, kind)
    data, *rest = (context.cast(builder, next(numbers), types.float64, types.intp) for _ in range(1 + 2 * kind.ndim))
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, kind.dtype.bitwidth // 8)
    data = builder.inttoptr(data, array.data.type)
    populate_array(array, data, rest[: kind.ndim], rest[kind.ndim :], itemsize, None)
    return array._getvalue()


@intrinsic
def _call_value(_context: Any, _address: Any, _numbers: Any, _dot: Any, _a2: Any, _b2: Any) -> Any:
    """Return a kernel value."""
    return types.float64(types.intp, _NUMBERS, *[types.float64] * 3), _calling("value")


def _caller(name: str, products: types.Array) -> Any:
    @intrinsic
    def call_values(
        _context: Any, _address: Any, _numbers: Any, _products: Any, _norms: Any, _length: Any, _norm: Any
    ) -> Any:
        """Turn inner products into kernel values."""
        return types.void(types.intp, _NUMBERS, products, products, types.intp, types.float64), _calling(name)

    return call_values


_call_singles, _call_doubles = _caller("singles", types.float32[::1]), _caller("doubles", types.float64[::1])


def _calling(name: str) -> Any:
    """Return what makes the call of a function of `_SIGNATURES` by its address; of arrays it gets where they begin."""
    called = _SIGNATURES[name]

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        operands = [
            context.make_array(kind)(context, builder, argument).data if isinstance(kind, types.Array) else argument
            for kind, argument in zip(signature.args[1:], arguments[1:], strict=True)
        ]
        returns = called.return_type != types.void
        returned = context.get_value_type(called.return_type) if returns else ir.VoidType()
        function = ir.FunctionType(returned, [context.get_value_type(argument_type) for argument_type in called.args])
        result = builder.call(builder.inttoptr(arguments[0], function.as_pointer()), operands)
        return result if returns else context.get_dummy_value()

    return code


@value.register(Kernel)
def _(kernel, dot, a2, b2):
    return _call_value(kernel.value, kernel.numbers, dot, a2, b2)  # type: ignore[call-arg]


@values.register(Kernel)
def _(kernel, products, norms, norm):
    _call_values(products, kernel, norms, norm)


@jit_dispatch(forceinline=True)
def _call_values(products, kernel, norms, norm):
    """Turn inner products into kernel values, by the function for their precision."""


@_call_values.register(np.float32)
def _(products, kernel, norms, norm):
    _call_singles(kernel.singles, kernel.numbers, products, norms, len(products), norm)


@_call_values.register(np.float64)
def _(products, kernel, norms, norm):
    _call_doubles(kernel.doubles, kernel.numbers, products, norms, len(products), norm)
