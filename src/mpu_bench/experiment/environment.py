"""The machine and the versions of a run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from mpu_bench import __version__

_PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pandas")
_PEERS = ("scikit-learn-intelex", "snapml")  # no other solver's results depend on them


def describe(threads: int, kernel_memory: int | None = None, host: str = "") -> dict[str, Any]:
    """Collect what a reader must know before comparing seconds.

    Parameters
    ----------
    threads : int
    kernel_memory : int or None
    host : str
        The name of the machine, where it is one of a cluster.

    Returns
    -------
    dict
        ``id`` (a hash of everything else), processor, instruction_set, cores, memory_gb, system, python, versions,
        peers (versions of those packages that are installed), blas, threads, kernel_memory (bytes; None: half of what
        was free), commit, and host where it is given.
    """
    content: dict[str, Any] = {
        "processor": _processor(),
        "instruction_set": instruction_set(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {"mpu-bench": __version__} | {name: _version(name) for name in _PACKAGES},
        "peers": {name: installed for name in _PEERS if (installed := _version(name))},
        "blas": blas(),
        "threads": threads,
        "kernel_memory": kernel_memory,
        "commit": _commit(),
        **({"host": host} if host else {}),
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    return {"id": digest, **content}


def instruction_set() -> str:
    """Return for which processor numba compiles: LLVM's name of it and a hash of its features.

    ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` choose another than this machine's.
    """
    import llvmlite.binding as llvm
    from numba.core import config

    name = config.CPU_NAME or llvm.get_host_cpu_name()  # type: ignore[attr-defined]
    features = config.CPU_FEATURES  # type: ignore[attr-defined]
    if features is None:
        features = llvm.get_host_cpu_features().flatten()
    return f"{name} {hashlib.sha256(features.encode()).hexdigest()[:12]}"


def blas() -> list[str]:
    """Return the libraries of linear algebra, each with its version and the processor whose code it has chosen."""
    import scipy.linalg  # noqa: F401 - numpy brings one library, scipy, which jitted code calls, may bring another
    from threadpoolctl import threadpool_info

    words = ("internal_api", "version", "architecture")
    loaded = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    return sorted({" ".join(str(pool[word]) for word in words if pool.get(word)) for pool in loaded})


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """Name the commit of the checkout the package runs from, with ``+`` where files have changed since."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
