"""The disk cache of compiled code.

Numba notices a change of the file that holds a jitted function, but not of the files whose functions it inlines. So
what a module compiles lives in a folder named after that module and the text of all whose code it may inline, those of
users too: an edit of a solver compiles this solver anew, and stale machine code can never be loaded. Where the sources
are counts for nothing: other environments and checkouts with the same text load what one of them has compiled.
"""

from __future__ import annotations

import atexit
import hashlib
import math
import os
import re
import shutil
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import platformdirs
from numba.core import config

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from (mpu_bench[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?: as (\w+))?")
_REGISTERS = re.compile(r"^@(\w+)\.register\((\w*)", re.MULTILINE)
_KERNEL = re.compile(r"^class (\w+)\(.*\bKernel\):$", re.MULTILINE)
_KEPT_FOLDERS = 4  # of each module, and of each function in it
_IN_USE_SECONDS = 86_400.0  # for which a folder is taken to be in use, perhaps by another process
_WRITING_SECONDS = 10.0  # within which another process keeps the checksum of what it wrote
_LOOK_SECONDS = 0.05


class CacheWarning(RuntimeWarning):
    """Compiled code cannot be kept, or was damaged: everything works, but compiling takes its time again."""


@cache
def _sources() -> dict[str, bytes]:
    """Return the text of every module that may hold jitted code."""
    paths = [path for folder in ("core", "kernels", "solvers") for path in sorted((_PACKAGE / folder).rglob("*.py"))]
    return {_module_of(path): path.read_bytes() for path in paths}


def _module_of(path: Path) -> str:
    parts = path.relative_to(_PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _needed() -> dict[str, set[str]]:
    """Return whose code each module may inline: of those it imports from, and those that register bodies with it.

    What a kernel registers is called by its address (`kernels/calls.py`), and inlined nowhere.
    """
    needed: dict[str, set[str]] = defaultdict(set)
    for module, imported in _imports().items():
        text = _sources()[module].decode()
        kernels = _KERNEL.findall(text)
        inlined = {name for name, kind in _REGISTERS.findall(text) if kind not in kernels}
        for name, (package, original) in imported.items():
            other = _defines(package, original)
            needed[module].add(other)
            if name in inlined:
                needed[other].add(module)
    return needed


@cache
def _imports() -> dict[str, dict[str, tuple[str, str]]]:
    """Return what each module imports: by its name there, the module that it comes from and its name in that."""
    return {
        module: {
            renamed or name: (package, name)
            for package, names in _IMPORT.findall(text.decode())
            for name, renamed in _NAME.findall(names)
        }
        for module, text in _sources().items()
    }


def _defines(package: str, name: str) -> str:
    """Return the module that defines what is imported from another, which may only hand it on."""
    if f"{package}.{name}" in _sources():
        return f"{package}.{name}"
    handed_on = _imports().get(package, {}).get(name)
    return _defines(*handed_on) if handed_on else package


@cache
def source_hash(module: str) -> str:
    """Return a hash of the text of all modules of ours whose code a module may inline, its own among them."""
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        digest.update(name.encode() + b"\0" + _sources()[name] + b"\0")
    return digest.hexdigest()[:16]


@cache
def _reached(module: str) -> set[str]:
    """Return the modules of ours whose code a module may inline: any, where it is none of them."""
    if module not in _sources():
        return set(_sources())
    reached: set[str] = set()
    frontier = {module}
    while frontier:
        reached |= frontier
        frontier = set().union(*(_needed()[name] for name in frontier)) & _sources().keys() - reached
    return reached


def cache_folder() -> Path:
    """Return where compiled code is kept: ``NUMBA_CACHE_DIR``, or a folder of the user's cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    return Path(platformdirs.user_cache_dir("mpu-bench", appauthor=False)) / "compiled"


def folder_of(module: str) -> Path:
    """Return where the compiled code of a module is kept."""
    return cache_folder() / f"{module}-{source_hash(module)}"


def folder_of_function(function: Callable[..., Any], identity: str) -> Path:
    """Return where what is compiled of one function is kept; it counts as in use from now on."""
    folder = folder_of(function.__module__)
    function_folder = folder / f"{function.__qualname__}-{identity}"
    for path in (folder, function_folder):
        with suppress(OSError):  # it is not made yet
            os.utime(path)
    return function_folder


class Locator:
    """Where numba keeps what it compiles of a function: in the folder of that function, and nowhere else.

    Numba knows it by name, as ``NUMBA_CACHE_LOCATOR_CLASSES`` would say; versions that know no such variable keep code
    in a folder of that one, by the path of the source.
    """

    def __init__(self, path: str, folder: Path) -> None:
        self._py_file, self._folder = path, folder  # which numba's messages name

    @classmethod
    def from_function(cls, _function: Callable[..., Any], path: str) -> Locator:
        """Return that of a function of a file, in the folder that is chosen now."""
        return cls(path, Path(config.CACHE_DIR))  # type: ignore[attr-defined]

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return nothing: another text has another folder."""
        return ""

    def get_disambiguator(self) -> str:
        """Return nothing: another function has another folder."""
        return ""


def identity_of(function: Callable[..., Any]) -> str:
    """Return what tells a function from others of its name: its line, and a hash of what is compiled of it.

    That is its code, and what is frozen in it: compiled functions that it names, wherever they stand, and constants, as
    this process has loaded them. Files may say something else by now, or nothing of a constant that is read from one.
    """
    described = repr(_described(function, set()))
    return f"{function.__code__.co_firstlineno}-{hashlib.sha256(described.encode()).hexdigest()[:8]}"


def _described(function: Any, seen: set[Any]) -> list[Any]:
    """Return the code of a function, what is frozen in it, and the layout of the named tuples that its module knows."""
    seen.add(id(function))
    codes = list(_codes(function.__code__))
    names = tuple(sorted({name for code in codes for name in (*code.co_names, *code.co_freevars)}))
    namespace = function.__globals__ | _closure(function)
    return [
        *((code.co_code, code.co_names, code.co_varnames, _constants(code)) for code in codes),
        _frozen(function.__defaults__, names, seen),
        *((name, _frozen(namespace[name], names, seen)) for name in names if name in namespace),
        *sorted((layout.__qualname__, layout._fields) for layout in _layouts(function)),
    ]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _constants(code: CodeType) -> list[str]:
    return [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]


def _closure(function: Any) -> dict[str, Any]:
    """Return what a function within another one has taken from that."""
    values = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has no value yet
            values[name] = cell.cell_contents
    return values


def _layouts(function: Any) -> list[Any]:
    """Return the types of named tuples that the module of a function knows."""
    return [value for value in function.__globals__.values() if isinstance(value, type) and hasattr(value, "_fields")]


def _frozen(value: Any, names: tuple[str, ...], seen: set[Any]) -> Any:
    """Return what is frozen of a value in code that names it; of a module or a class, of what has one of the names."""
    if value is None or isinstance(value, int | float | complex | str | bytes | np.generic):
        return value
    if isinstance(value, tuple):
        return [_frozen(element, names, seen) for element in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    known = getattr(value, "__module__", ""), getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, ModuleType | type):
        if (id(value), names) in seen:
            return known
        seen.add((id(value), names))
        return known, [(name, _frozen(vars(value)[name], names, seen)) for name in names if name in vars(value)]
    is_replaced = isinstance(value, FunctionType) and not hasattr(value, "bodies") and not _is_known(value)
    text = _hash_of_file(value.__code__.co_filename) if is_replaced else ""
    return known, text, [_described(function, seen) for function in _compiled(value) if id(function) not in seen]


def _compiled(value: Any) -> list[Any]:
    """Return the functions that are compiled for callers of a value; what types choose of ours is known by its text."""
    if isinstance(value, FunctionType):
        return [body.py_func for body in getattr(value, "bodies", {}).values() if not _is_known(body)]
    return [value.py_func] if hasattr(value, "py_func") else []


def _is_known(function: Any) -> bool:
    """Return whether a function is ours or of numpy, which numba knows."""
    return str(function.__module__).partition(".")[0] in ("mpu_bench", "numpy")


def _hash_of_file(path: str) -> str:
    """Return a hash of a file in which what numba takes instead of a function stands beside it; nothing of no file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def knows_layout(function: Callable[..., Any], kind: type) -> bool:
    """Return whether code that is kept of a function for tuples of a type is told from that for another layout of it.

    Else a change of the type's fields, or of what is registered for it, would not be noticed; and what is kept for a
    type of a user's file could not even be looked at without that file.
    """
    return kind.__module__ in _reached(function.__module__) or kind in _layouts(function)


def has_file(function: Callable[..., Any]) -> bool:
    """Return whether a function was read from a file, and not typed in."""
    return Path(function.__code__.co_filename).is_file()


@cache
def use_cache() -> bool:
    """Return whether compiled code can be kept at all.

    Where that folder cannot be written, a temporary one does for this process and those it starts, with a warning:
    numba's own next choice, beside the sources, does not notice a change of an inlined function.
    """
    if not can_be_kept():
        try:
            temporary = tempfile.mkdtemp(prefix="mpu-bench-")
        except OSError:
            temporary = ""
        lasts = "until this command ends" if temporary else "nowhere"
        warnings.warn(
            f"{cache_folder()} is not writable; compiled code is kept {lasts}."
            " Set NUMBA_CACHE_DIR to a writable folder.",
            CacheWarning,
            stacklevel=2,
        )
        if not temporary:
            return False
        atexit.register(_remove, temporary, os.getpid())
        os.environ["NUMBA_CACHE_DIR"] = temporary
    return True


def keep_checksums(folder: Path) -> None:
    """Keep the checksums of the compiled code in a folder."""
    if unknown := _unknown(folder):
        with suppress(OSError), (folder / "checksums").open("a", encoding="ascii") as file:  # a full disk
            file.write("".join(f"{checksum}\n" for checksum in unknown.values()))


def remove_damaged(folder: Path) -> None:
    """Remove compiled code of which no checksum is kept, with one warning a process.

    Another process may be about to keep that of a file which it has just written: for this it is waited.
    """
    while unknown := _unknown(folder):
        if any(abs(_age(path)) < _WRITING_SECONDS for path in unknown):  # a clock may have been set back
            time.sleep(_LOOK_SECONDS)
            continue
        _warn_of_damage()
        for path in unknown:
            path.unlink(missing_ok=True)


def _unknown(folder: Path) -> dict[Path, str]:
    """Return the files of compiled code of which no checksum is kept, with their checksums."""
    try:
        known = (folder / "checksums").read_text(encoding="ascii", errors="replace").split()
    except FileNotFoundError:
        known = []
    checksums = {}
    for path in folder.rglob("*.nb[ci]"):
        with suppress(FileNotFoundError):  # another process removes it
            checksums[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return {path: checksum for path, checksum in checksums.items() if checksum not in known}


@cache
def _warn_of_damage() -> None:
    warnings.warn(f"{cache_folder()}: damaged compiled code is compiled again", CacheWarning, stacklevel=2)


def can_be_kept() -> bool:
    """Return whether the folder of compiled code can be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # and not a process that it forked
        shutil.rmtree(folder, ignore_errors=True)


def prune() -> None:
    """Remove what was compiled of earlier sources, but for the newest few and what may be in use."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    with suppress(OSError):  # there is none, or another process removes the same
        _prune(cache_folder(), 1)
        for folder in cache_folder().iterdir():
            _prune(folder, 2)  # a line and a hash


def _prune(parent: Path, parts: int) -> None:
    """Remove folders that differ from several newer ones only in so many last parts of their names."""
    by_name = defaultdict(list)
    for folder in sorted(filter(Path.is_dir, parent.iterdir()), key=_modified, reverse=True):
        by_name["".join(folder.name.rsplit("-", parts)[:-parts])].append(folder)
    for name, folders in by_name.items():
        for old in folders[_KEPT_FOLDERS if name else 0 :]:  # 0.2 had one of all modules, named after none
            if time.time() - _modified(old) > _IN_USE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)


def _modified(path: Path) -> float:
    return path.stat().st_mtime


def _age(path: Path) -> float:
    """Return the seconds since a file was written; without end where another process has removed it."""
    try:
        return time.time() - _modified(path)
    except FileNotFoundError:
        return math.inf
