"""The text of a plugin, read and parsed but not run."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import stat
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mpu_bench.errors import ConfigError

_MOST_BYTES = 10_000_000
_DIGITS = 16  # of a hash


@dataclass(frozen=True)
class PluginSource:
    """A plugin's file as it was read."""

    path: Path
    content: bytes

    @property
    def module_name(self) -> str:
        """The name of the module that is made of it, one for each path."""
        return f"mpu_bench_plugin_{self.path.stem}_{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:8]}"

    @property
    def content_hash(self) -> str:
        """The same for equal files."""
        return hashlib.sha256(self.content).hexdigest()[:_DIGITS]

    @cached_property
    def code_hash(self) -> str:
        """The same for files that differ in comments, docstrings and layout only, as far as Python's parser reaches."""
        try:
            return hashlib.sha256(_without_docstrings(self.parsed()).encode()).hexdigest()[:_DIGITS]
        except (RecursionError, MemoryError):  # an expression of thousands of parts
            return self.content_hash

    def parsed(self) -> ast.Module:
        """Return the syntax tree.

        Raises
        ------
        ConfigError
            If this is not Python, naming the line.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.content, str(self.path))
        except SyntaxError as fault:
            line = f", line {fault.lineno}" if fault.lineno else ""
            raise ConfigError(f"{self.path}{line}: {type(fault).__name__}: {fault.msg}") from None
        except (ValueError, RecursionError, MemoryError) as fault:
            raise ConfigError(f"{self.path}: is not Python: {type(fault).__name__}: {fault}") from None


def _without_docstrings(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)


def read(path: Path) -> PluginSource:
    """Read a plugin's file.

    Raises
    ------
    ConfigError
        If it is missing, no regular file, no Python file by its ending, too large, or not text.
    """
    if path.suffix != ".py":
        raise ConfigError(f"{path}: is not a Python file; its name must end in .py")
    try:
        described = path.stat()
        if not stat.S_ISREG(described.st_mode):
            raise ConfigError(f"{path}: is not a file")
        if described.st_size > _MOST_BYTES:
            raise ConfigError(f"{path}: has {described.st_size:,} bytes; a plugin has {_MOST_BYTES:,} at most")
        content = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except (OSError, ValueError) as fault:  # ValueError: a path with a null character
        raise ConfigError(f"{path}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    try:
        importlib.util.decode_source(content)
    except (SyntaxError, UnicodeDecodeError) as fault:
        raise ConfigError(f"{path}: is not a text file: {fault}") from None
    return PluginSource(path, content)
