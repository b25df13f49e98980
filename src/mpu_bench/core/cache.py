"""The disk cache of compiled code.

Numba notices a change of the file that holds a jitted function, but not of the files whose functions it inlines. So
what a module compiles lives in a folder named after that module and the text of all whose code it may inline, those of
users too: an edit of a solver compiles this solver anew, and stale machine code can never be loaded.
"""

from __future__ import annotations

import atexit
import hashlib
import math
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import platformdirs

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from (mpu_bench[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_REGISTERS = re.compile(r"^@(\w+)\.register\(", re.MULTILINE)
_INSTALLED = {"site-packages", "dist-packages"}
_KEPT_FOLDERS = 4  # of each module
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
    """Return whose code each module may inline: of those it imports, and those that register bodies with it."""
    needed: dict[str, set[str]] = defaultdict(set)
    for module, text in _sources().items():
        registered = _REGISTERS.findall(text.decode())
        for package, imported in _IMPORT.findall(text.decode()):
            for name in re.findall(r"\w+", imported):
                other = f"{package}.{name}" if f"{package}.{name}" in _sources() else package
                needed[module].add(other)
                if name in registered:
                    needed[other].add(module)
    return needed


def source_hash(module: str) -> str:
    """Return a hash of the text of a module and of all whose code it may inline: any of ours, where it is none."""
    if module in _sources():
        return _hash_of_ours(module)
    return _hash({each: _hash_of_ours(each).encode() for each in _sources()} | _reached_of_users(module))


@cache
def _hash_of_ours(module: str) -> str:
    reached, found = set(), {module}
    while found:
        reached |= found
        found = set().union(*(_needed()[each] for each in found)) & _sources().keys() - reached
    return _hash({each: _sources()[each] for each in reached})


def _reached_of_users(module: str) -> dict[str, bytes]:
    """Return the text of a user's module as it is now, and of those loaded that it, or one of them, names."""
    texts: dict[str, bytes] = {}
    loaded = {name: Path(file) for name in tuple(sys.modules) if (file := _file_of_user(name, module))}
    found = {module}
    while found := found & loaded.keys() - texts.keys():
        for name in found:
            with suppress(OSError):
                texts[name] = loaded[name].read_bytes()
        words = {word.decode() for name in found for word in re.findall(rb"\w+", texts.get(name, b""))}
        found = {name for name in loaded if name.rpartition(".")[2] in words}
    return texts


def _file_of_user(name: str, user: str) -> str | None:
    """Return the file of a loaded module that is not of Python, nor of a package that another one installed."""
    top, file = name.partition(".")[0], getattr(sys.modules.get(name), "__file__", None)
    if not file or top in sys.stdlib_module_names or top == "mpu_bench":
        return None
    return file if top == user.partition(".")[0] or not _INSTALLED & set(Path(file).parts) else None


def _hash(texts: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for each in sorted(texts):
        digest.update(each.encode() + b"\0" + texts[each] + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return where compiled code is kept: ``NUMBA_CACHE_DIR``, or a folder of the user's cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    return Path(platformdirs.user_cache_dir("mpu-bench", appauthor=False)) / "compiled"


def folder_of(module: str) -> Path:
    """Return where the compiled code of a module is kept."""
    return cache_folder() / f"{module}-{source_hash(module)}"


def folder_of_function(function: Callable[..., Any]) -> Path:
    """Return where what is compiled of one function is kept; it counts as in use from now on."""
    folder = folder_of(function.__module__)
    with suppress(OSError):
        os.utime(folder)
    return folder / f"{function.__qualname__}-{identity_of(function)}"


def identity_of(function: Callable[..., Any]) -> str:
    """Return what tells a function from others of its name in its module: its line, and a hash of what it does."""
    code = function.__code__
    return f"{code.co_firstlineno}-{hashlib.sha256(_described(code).encode()).hexdigest()[:8]}"


def _described(code: CodeType) -> str:
    constants = [_described(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


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
        if any(_age(path) < _WRITING_SECONDS for path in unknown):
            time.sleep(_LOOK_SECONDS)
            continue
        _warn_of_damage()
        for path in unknown:
            path.unlink(missing_ok=True)


def _unknown(folder: Path) -> dict[Path, str]:
    """Return the files of compiled code of which no checksum is kept, with their checksums."""
    try:
        kept = (folder / "checksums").read_text(encoding="ascii", errors="replace").split()
    except FileNotFoundError:
        kept = []
    checksums = {}
    for path in folder.rglob("*.nb[ci]"):
        with suppress(FileNotFoundError):  # another process removes it
            checksums[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return {path: checksum for path, checksum in checksums.items() if checksum not in kept}


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
    """Remove the folders of earlier sources, but for the newest few of a module and those that may be in use."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    by_module = defaultdict(list)
    with suppress(OSError):  # there is none, or another process removes the same
        for folder in sorted(cache_folder().iterdir(), key=_modified, reverse=True):
            by_module[folder.name.rpartition("-")[0]].append(folder)
        for module, folders in by_module.items():
            for old in folders[_KEPT_FOLDERS if module else 0 :]:  # 0.2 had one of all modules, named after none
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
