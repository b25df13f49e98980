"""What is fuzzed: a function of bytes that may refuse them with a user's error, and nothing else."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

from fuzz.mutation import bent_bytes
from mpu_bench.errors import UserError
from mpu_bench.texts import plain

MEMORY = Path("/dev/shm")  #: a folder in memory, on Linux
SEEDS = Path(__file__).parent / "seeds"
SEPARATOR = b"\n--8<--\n"  #: between the parts of an input that stands for several files

Mutate = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """Something that reads what comes from outside.

    Attributes
    ----------
    name : str
        Also of its folder of seeds.
    read : function
        Takes an input; returns if it is accepted.
    examples : function
        Returns valid inputs, from which others are made.
    covers : tuple of str
        Modules of the package whose reading this is; ``"mpu_bench.data.readers.idx"``.
    share : float
        Of all inputs of a campaign, relative to other targets: the slower, the fewer.
    mutate : function
        Makes another input of one.
    words : tuple of str
        What inputs are made of, for a fuzzer's dictionary.
    refusals : tuple of exception types
        What it may raise.
    """

    name: str
    read: Callable[[bytes], object]
    examples: Callable[[], Sequence[bytes]]
    covers: tuple[str, ...]
    share: float = 1.0
    mutate: Mutate = bent_bytes
    words: tuple[str, ...] = ()
    refusals: tuple[type[Exception], ...] = (UserError,)

    def attempt(self, data: bytes) -> Literal["accepted", "refused"]:
        """Read an input; any exception that is no refusal, and a refusal that says nothing, escapes."""
        try:
            self.read(data)
        except self.refusals as refusal:
            if not plain(str(refusal)).strip():
                raise ValueError(f"a {type(refusal).__name__} that says nothing") from refusal
            return "refused"
        return "accepted"

    def seeds(self) -> list[bytes]:
        """Return the inputs that once crashed."""
        return [path.read_bytes() for path in sorted((SEEDS / self.name).glob("*"))]


@cache
def place() -> Path:
    """Return a folder of this process for files: below TMPDIR, else in memory where that can be."""
    memory = MEMORY if "TMPDIR" not in os.environ and MEMORY.is_dir() else None
    made = Path(tempfile.mkdtemp(prefix="mpu-bench-fuzz-", dir=memory))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def written(name: str, data: bytes) -> Path:
    """Return a file of this process with this content."""
    path = place() / f"{name}.file"
    path.write_bytes(data)
    return path


def empty_place(name: str) -> Path:
    """Return an empty folder of this process."""
    folder = place() / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
