"""How jitted code is compiled: without reference counts, and with dispatch over tuple types."""

from __future__ import annotations

import gc
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache as once
from functools import cached_property, update_wrapper, wraps
from inspect import signature
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.errors import TypingError
from numba.core.event import trigger_event
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import typeof_impl
from numba.np.numpy_support import as_dtype

from mpu_bench.core import cache

GETS_READY = "mpu-bench:ready"  #: numba's event around the first call with arguments of some types
#: Nobody calls through a C function pointer: without that wrapper a solver compiles faster. The rest a function without
#: a word of its own would inherit from whichever caller is compiled first: its last digits then hung on what had run
#: before, and it was copied into all callers where one was.
_SETTINGS = {"no_cfunc_wrapper": True, "fastmath": False, "error_model": "python", "forceinline": False}
_FOLDER_LOCK = threading.Lock()  # numba has one folder for all threads


def jit(function: Callable[..., Any] | None = None, /, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a function; the one decorator of jitted code, in two forms: ``@jit`` and ``@jit(allocates=True)``.

    Numba counts a reference to every array that a function takes out of a tuple, by an atomic instruction, and another
    when it lets go. For steps of some hundred nanoseconds on tuples of twenty arrays that was three quarters of the
    time. The arrays of an argument live as long as the call, so a function that makes no array of its own needs none
    of it: ``@jit`` switches it off (numba's internal ``_nrt``; unset, a function inherits its first caller's).

    Parameters
    ----------
    function : function
    allocates : bool
        It makes or returns arrays; needed also to call one that returns them.
    **options
        Passed on to ``numba.njit``: ``fastmath``, ``error_model``, ``inline``, ``forceinline``.

    Returns
    -------
    Jitted
        Or numba's dispatcher, of a function that is inlined. Raises numba's own error when a function that makes an
        array is compiled without ``allocates`` ("NRT required but not enabled").
    """
    settings: dict[str, Any] = {"nogil": True, "_nrt": allocates} | _SETTINGS | options

    def decorate(body: Callable[..., Any]) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return body
        return _dispatcher(body, settings) if "inline" in options else Jitted(body, settings)

    return decorate if function is None else decorate(function)


class Jitted:
    """A function that is compiled once for callers that are jitted and, where Python calls it, once for Python.

    What Python calls takes its arguments apart: of a state of fifty arrays that is a fifth of the time of compiling,
    and most functions are never called so. Without it a call from Python ends the process.
    """

    def __init__(self, body: Callable[..., Any], settings: dict[str, Any]) -> None:
        self.py_func, self._settings = body, settings
        update_wrapper(self, body)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call what is compiled for Python."""
        return self.from_python(*arguments, **named)

    @cached_property
    def from_python(self) -> Any:
        """Numba's dispatcher of calls from Python."""
        return _dispatcher(self.py_func, self._settings, "python")

    @cached_property
    def from_jitted(self) -> Any:
        """Numba's dispatcher of calls from jitted functions."""
        return _dispatcher(self.py_func, self._settings | {"no_cpython_wrapper": True}, "jitted")

    def address(self, kinds: tuple[types.Type, ...]) -> int:
        """Return where the code for arguments of some types begins, as C calls it."""
        dispatcher = _dispatcher(self.py_func, self._settings | {"no_cfunc_wrapper": False}, "c")
        dispatcher.compile(kinds)
        compiled = dispatcher.overloads[kinds]
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


@typeof_impl.register(Jitted)
def _(function: Jitted, _context: Any) -> types.Dispatcher:
    return types.Dispatcher(function.from_jitted)


def _dispatcher(body: Callable[..., Any], settings: dict[str, Any], kind: str = "") -> Any:
    """Return numba's dispatcher of a function, with a folder of compiled code by its kind.

    Numba links by module, name, types of arguments, and a number that two processes with one cache may both have given:
    two functions of one name then become one, in silence. So each has its identity in its name. One made within
    another may share even that, and one that was typed in shares its module with all such: they are not kept on disk,
    and have a name that is never given again, as what calls them may be kept.
    """
    identity = cache.identity_of(body)
    if "<locals>" in body.__qualname__ or not cache.has_file(body) or not cache.use_cache():
        return _not_kept(body, settings, identity)
    folder = cache.folder_of_function(body, identity) / kind
    chosen = {"CACHE_DIR": str(folder), "CACHE_LOCATOR_CLASSES": f"{cache.__name__}.{cache.Locator.__name__}"}
    with _FOLDER_LOCK:
        others = {name: getattr(config, name, None) for name in chosen}
        try:
            vars(config).update(chosen)  # which numba reads here, and only here
            dispatcher = njit(cache=True, **settings)(_named(body, identity))
        finally:
            vars(config).update(others)
    # made once, if at all: what a dispatcher has compiled goes with it
    dispatcher.compile = _checked(dispatcher, folder, once(lambda: _not_kept(body, settings, identity)))
    return dispatcher


def _not_kept(body: Callable[..., Any], settings: dict[str, Any], identity: str) -> Any:
    return njit(**settings)(_named(body, f"{identity}-{secrets.token_hex(8)}"))


def _named(body: Callable[..., Any], identity: str) -> Callable[..., Any]:
    """Return the function with its identity in its name."""
    named = FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__, body.__closure__)
    update_wrapper(named, body).__qualname__ = f"{identity}.{body.__qualname__}"
    return named


def _checked(dispatcher: Any, folder: Path, not_kept: Callable[[], Any]) -> Callable[[Any], Any]:
    """Return what loads or compiles a function for arguments of some types, from code that is whole.

    An event tells of it: numba itself has none of loading. Code for a tuple of whose layout the folder knows nothing is
    compiled by a dispatcher that keeps none.
    """
    get_ready = dispatcher.compile

    def checked(types_of_arguments: Any) -> Any:
        if types_of_arguments in dispatcher.overloads:
            return get_ready(types_of_arguments)
        with trigger_event(GETS_READY), _no_collection():
            if not all(cache.knows_layout(dispatcher.py_func, layout) for layout in _tuples(types_of_arguments)):
                other = not_kept()
                other.compile(types_of_arguments)
                dispatcher.add_overload(other.overloads[types_of_arguments])
                return get_ready(types_of_arguments)
            cache.remove_damaged(folder)
            compiled = dispatcher.stats.cache_misses.total()
            try:
                return get_ready(types_of_arguments)
            except OSError:  # a full disk: what is compiled by now is used, and compiled again another time
                return get_ready(types_of_arguments)
            finally:
                if dispatcher.stats.cache_misses.total() > compiled:  # what is loaded has its checksum
                    cache.keep_checksums(folder)

    return checked


def _tuples(kinds: Iterable[Any]) -> Iterator[type]:
    """Yield the types of named tuples among arguments, and of those in them."""
    for kind in kinds:
        yield from _tuples(getattr(kind, "types", ()) if isinstance(kind, types.BaseTuple) else ())
        if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
            yield kind.instance_class


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking again and again through all that compiling makes: a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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

    Inside jitted code the choice falls when the caller is compiled, so it costs nothing, and a body is compiled and
    kept as any other jitted function is; in plain Python, and with ``NUMBA_DISABLE_JIT=1``, the same bodies run.

    Parameters
    ----------
    function : function
        Gives the name, the docstring and the number of arguments, which are positional; its body is not used.
    allocates, **options
        As of `jit`, for every body.

    Returns
    -------
    function
        With ``register(type, **options)``, a decorator; the options are of that body alone. Raises `TypeError` (numba's
        own inside jitted code) where nothing is registered for the type of the first argument, or the number of
        arguments is wrong.
    """
    if function is None:
        return lambda later: jit_dispatch(later, allocates=allocates, **options)
    name, arguments = function.__name__, len(signature(function).parameters)
    settings = {"nogil": True, "_nrt": allocates} | _SETTINGS | options
    bodies: dict[type, Jitted] = {}

    def complaint(type_name: object, count: int) -> str:
        if count != arguments:
            return f"{name} takes {arguments} arguments, not {count}"
        known = ", ".join(tuple_type.__name__ for tuple_type in bodies)
        return f"{name}: nothing is registered for {type_name}; there are {known}"

    @wraps(function)
    def dispatched(first: Any, *others: Any) -> Any:
        key = first.dtype.type if isinstance(first, np.ndarray) else float if isinstance(first, float) else type(first)
        body = bodies.get(key)
        if body is None or 1 + len(others) != arguments:
            raise TypeError(complaint(type(first).__name__, 1 + len(others)))
        return body.py_func(first, *others)

    def choose(first: Any, *others: Any) -> types.Dispatcher:
        key = float if isinstance(first, types.Float) else getattr(first, "instance_class", None)
        if isinstance(first, types.Array):
            key = as_dtype(first.dtype).type
        body = bodies.get(key)  # type: ignore[arg-type]
        if body is None or 1 + len(others) != arguments:
            raise TypingError(complaint(first, 1 + len(others)))
        return types.Dispatcher(body.from_jitted)

    def register(tuple_type: type, **overrides: Any) -> Callable[..., Any]:
        def keep(body: Callable[..., Any]) -> Callable[..., Any]:
            if len(signature(body).parameters) != arguments:
                raise TypeError(f"{name} takes {arguments} arguments; the body for {tuple_type.__name__} does not")
            body.__name__ = f"{name}_{tuple_type.__name__}"
            body.__qualname__ = f"{function.__qualname__}_{tuple_type.__name__}"
            bodies.setdefault(tuple_type, Jitted(body, settings | overrides))
            return body

        return keep

    class Choice(AbstractTemplate):
        """How numba types a call, and finds what is compiled for it."""

        key = dispatched

        def generic(self, args: Any, kws: Any) -> Any:
            """Return the signature of the body for the type of the first argument."""
            return choose(*args).get_call_type(self.context, args, kws)

        def get_impl_key(self, signature: Any) -> Any:
            """Return what is compiled for a signature."""
            return choose(*signature.args).get_impl_key(signature)

    infer_global(dispatched, types.Function(Choice))
    dispatched.register, dispatched.bodies = register, bodies  # type: ignore[attr-defined]
    return dispatched
