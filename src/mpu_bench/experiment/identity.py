"""The key under which a run's result is kept: equal keys mean that the result may be reused."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mpu_bench import solvers
from mpu_bench.experiment.run import Run
from mpu_bench.scaled import to_json


def run_id(run: Run, fingerprint: str, needed: Sequence[str] = ()) -> str:
    """Make the key of a run's result: equal keys mean that the result may be reused.

    It depends on the solver, its parameters and its source, the kernel, the stopping rules, the seed, the threads,
    the content of the data, and the keys of results that are ``needed`` to settle it; not on names, order, other
    runs, or limits.
    """
    content: dict[str, Any] = {
        "solver": run.solver,
        "parameters": dict(run.parameters),
        "kernel": [run.kernel.name, dict(run.kernel.parameters)],
        "seed": run.seed,
        "stop": run.stop.model_dump(exclude_none=True),
        "checkpoints": run.checkpoints.model_dump(),
        "threads": run.threads,
        "data": fingerprint,
        "code": code_version(run.solver, "multiclass" in run.parameters),
    }
    if needed:
        content["needed"] = list(needed)
    if run.tuning is not None:
        content["tuned by"] = run.tuning.metric
    if run.trial is not None:
        content["trial"] = str(run.trial)
    text = json.dumps(content, sort_keys=True, default=to_json)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def code_version(solver: str, several: bool = False) -> str:
    """Hash the meaning of every source file of this project that a solver's module imports, directly or not.

    ``several``: whether it is made to tell several classes apart.

    Comments, docstrings and layout do not count: only what changes a result may make results stale. The file
    that clocks and evaluates a run, trace.py, counts too.
    """
    files = {*_imported_files(solvers.load(solver).__module__), Path(__file__).with_name("trace.py")}
    if several:
        files |= set(_imported_files("mpu_bench.solvers.multiclass"))
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(_meaning(path).encode())
    return digest.hexdigest()[:16]


def _imported_files(module: str) -> Iterator[Path]:
    waiting, seen = [module], {module}
    while waiting:
        path = _source(waiting.pop())
        if path is None:
            continue
        yield path
        for name in _imports(path):
            if name.startswith("mpu_bench") and name not in seen:
                seen.add(name)
                waiting.append(name)


def _source(module: str) -> Path | None:
    if module in sys.modules:
        origin = sys.modules[module].__file__
        return Path(origin) if origin else None
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # the last part names an object, not a module
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _meaning(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return ast.dump(tree)
