"""How jitted code is compiled: without reference counts, and with dispatch over tuple types."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.caching import IndexDataCacheFile
from numba.core.errors import TypingError
from numba.core.event import trigger_event
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from mpu_bench.core.cache import use_cache, warn_of_damage

GETS_READY = "mpu-bench:ready"  #: numba's event around the first call with arguments of some types
#: Nobody calls through a C function pointer: without that wrapper a solver compiles faster. The rest a function without
#: a word of its own would inherit from whichever caller is compiled first: its last digits then hung on what had run
#: before, and it was copied into all callers where one was.
_SETTINGS = {"no_cfunc_wrapper": True, "fastmath": False, "error_model": "python", "forceinline": False}


def jit(function: Callable[..., Any] | None = None, /, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a function; the one decorator of jitted code, in two forms: ``@jit`` and ``@jit(allocates=True)``.

    Numba counts a reference to every array that a function takes out of a tuple, by an atomic instruction, and another
    when it lets go. For steps of some hundred nanoseconds on tuples of twenty arrays that was three quarters of the
    time. The arrays of an argument live as long as the call, so a function that makes no array of its own needs none
    of it: ``@jit`` switches it off (numba's internal ``_nrt``; unset, a function inherits its first caller's).

    To be called from Python a function needs a wrapper that takes every array out of its tuple, and for short functions
    that wrapper is most of the code. Jitted callers need none: they call a twin, compiled apart and without a wrapper.

    Parameters
    ----------
    function : function
    allocates : bool
        It makes or returns arrays; needed also to call one that returns them.
    **options
        Passed on to ``numba.njit``: ``fastmath``, ``error_model``, ``inline``, ``forceinline``.

    Returns
    -------
    dispatcher
        Raises numba's own error when a function that makes an array is compiled without ``allocates`` ("NRT required
        but not enabled").
    """
    settings: dict[str, Any] = {"cache": use_cache(), "nogil": True, "_nrt": allocates} | _SETTINGS | options

    def decorate(body: Callable[..., Any]) -> Any:
        outer = njit(**settings)(body)
        if outer is not body:  # NUMBA_DISABLE_JIT is not set
            inner = njit(**(settings | {"no_cpython_wrapper": True}))(_twin(body))
            outer.get_call_template, outer.get_overload, outer.inner = (
                inner.get_call_template,
                inner.get_overload,
                inner,
            )
            for dispatcher in (outer, inner):
                if settings["cache"]:
                    dispatcher._cache._cache_file.__class__ = _CheckedFiles
            _tell_when_it_gets_ready(outer)
        return outer

    return decorate if function is None else decorate(function)


class _CheckedFiles(IndexDataCacheFile):
    """The files of compiled code of one function, each with a checksum: one that is damaged counts as missing."""

    def save(self, key: Any, data: Any) -> None:
        with suppress(OSError):  # a full disk: it is used all the same, and compiled again another time
            super().save(key, data)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _load_index(self) -> dict[Any, str]:
        index: dict[Any, str] = super()._load_index() if _is_whole(self._index_path) else {}
        return index

    def _load_data(self, name: str) -> Any:
        return super()._load_data(name) if _is_whole(self._data_path(name)) else None


def _is_whole(path: str) -> bool:
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:  # for which there are other words
        return True
    content, digest = content[:-32], content[-32:]
    if digest == hashlib.sha256(content).digest():
        return True
    warn_of_damage()
    return False


def _tell_when_it_gets_ready(dispatcher: Any) -> None:
    """Let an event be heard when code is loaded or compiled: of loading numba itself has none."""
    get_ready = dispatcher._compile_for_args

    def tell_and_get_ready(*arguments: Any, **named: Any) -> Any:
        with trigger_event(GETS_READY):
            return get_ready(*arguments, **named)

    dispatcher._compile_for_args = tell_and_get_ready


def _twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function under another name, by which numba keeps what it compiles on disk."""
    twin = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__qualname__ = f"{function.__qualname__}_inner"
    return twin


def jit_dispatch(function: Callable[..., Any] | None = None, /, *, allocates: bool = False, **options: Any) -> Any:
    """Make one function out of one body per tuple type, chosen by the type of its first argument.

    A body registered for a type of numpy's scalars is for arrays of them, one for float for numbers. It is used as
    `functools.singledispatch` is:

        @jit_dispatch
        def dot(rows, i, w):
            '''Return the inner product of row i with w.'''

        @dot.register(Dense)
        def _(rows, i, w):
            ...

    Inside jitted code the choice falls when the caller is compiled (`numba.extending.overload`), so it costs
    nothing; in plain Python, and with ``NUMBA_DISABLE_JIT=1``, the same bodies run.

    Parameters
    ----------
    function : function
        Gives the name, the docstring and the number of arguments, which are positional; its body is not used.
    allocates, **options
        As of `jit`, for every body.

    Returns
    -------
    function
        With ``register(type)``, a decorator. Raises `TypeError` (numba's own inside jitted code) where nothing is
        registered for the type of the first argument, or the number of arguments is wrong.
    """
    if function is None:
        return lambda later: jit_dispatch(later, allocates=allocates, **options)
    name, arguments = function.__name__, len(signature(function).parameters)
    bodies: dict[type, Callable[..., Any]] = {}

    def complaint(type_name: object, given: int) -> str:
        if given != arguments:
            return f"{name} takes {arguments} arguments, not {given}"
        known = ", ".join(tuple_type.__name__ for tuple_type in bodies)
        return f"{name}: nothing is registered for {type_name}; there are {known}"

    @wraps(function)
    def dispatched(first: Any, *others: Any) -> Any:
        key = first.dtype.type if isinstance(first, np.ndarray) else float if isinstance(first, float) else type(first)
        body = bodies.get(key)
        if body is None or 1 + len(others) != arguments:
            raise TypeError(complaint(type(first).__name__, 1 + len(others)))
        return body(first, *others)

    def choose(first: Any, *others: Any) -> Callable[..., Any]:
        key = float if isinstance(first, types.Float) else getattr(first, "instance_class", None)
        if isinstance(first, types.Array):
            key = as_dtype(first.dtype).type
        body = bodies.get(key)  # type: ignore[arg-type]
        if body is None or 1 + len(others) != arguments:
            raise TypingError(complaint(first, 1 + len(others)))
        return body

    def register(tuple_type: type) -> Callable[..., Any]:
        def keep(body: Callable[..., Any]) -> Callable[..., Any]:
            if len(signature(body).parameters) != arguments:
                raise TypeError(f"{name} takes {arguments} arguments; the body for {tuple_type.__name__} does not")
            return bodies.setdefault(tuple_type, body)

        return keep

    settings = {"_nrt": allocates} | _SETTINGS | options
    overload(dispatched, jit_options=settings, strict=False)(choose)  # type: ignore[arg-type]
    dispatched.register, dispatched.bodies = register, bodies  # type: ignore[attr-defined]
    return dispatched
