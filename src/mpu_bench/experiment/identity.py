"""The key under which a run's result is kept: equal keys mean that the result may be reused.

What the code does is in the key by versions that are raised by hand when a result would come out otherwise, so that
comments, names and moves make no result stale: `SHARED_VERSION` here, and ``version`` of each solver. Of a solver from
a file of the user's own, where nobody keeps a version, the code of that file is in the key; of one from an installed
package, the version of that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from mpu_bench import solvers
from mpu_bench.experiment.run import Run
from mpu_bench.scaled import to_json

#: of what every run shares: how it is traced, timed and evaluated, and what solvers stand on (core/)
SHARED_VERSION = 1


def run_id(run: Run, fingerprint: str, needed: Sequence[str] = ()) -> str:
    """Return the key of a run's result.

    It depends on the solver, its version and parameters, the kernel, the stopping rules, the checkpoints, the seed, the
    threads, the content of the data, and the keys of results that are ``needed`` before the run; not on names, order,
    other runs, or limits. What is at its default is left out, so that a new parameter or setting changes no key.

    Parameters
    ----------
    run : Run
    fingerprint : str
        Of the data.
    needed : sequence of str
    """
    from mpu_bench.kernels import KERNELS

    choice, settings = run.solver, run.settings
    solver = solvers.load(choice.name)
    of_solver = {field.name: field.default for field in fields(solver)}
    options = KERNELS[choice.kernel.name].options
    of_kernel = {name: field.default for name, field in options.model_fields.items()}
    content = {
        "solver": choice.name,
        "versions": _versions(choice.name, choice.parameters),
        "parameters": _without_defaults(choice.parameters, of_solver),
        "kernel": [choice.kernel.name, _without_defaults(choice.kernel.parameters, of_kernel)],
        "data": fingerprint,
        "seed": run.seed,
        "stop": settings.stop.model_dump(exclude_defaults=True),
        "checkpoints": settings.checkpoints.model_dump(exclude_defaults=True),
        "threads": settings.threads,
        "needed": list(needed),
        "tuned by": choice.tuning and choice.tuning.metric,
        "trial": run.trial and str(run.trial),
    }
    text = json.dumps({name: value for name, value in content.items() if value}, sort_keys=True, default=to_json)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_id(run: Run, seconds_of: Run | None = None) -> str:
    """Return the same for all runs that differ in nothing but their seed, whether their data are there or not.

    Parameters
    ----------
    run : Run
    seconds_of : Run or None
        The run that says how many seconds this one gets.
    """
    data = json.dumps([run.dataset.name, dict(run.dataset.options)], sort_keys=True, default=to_json)
    needed = [repr(run.solver.tuning), "" if seconds_of is None else settings_id(seconds_of)]
    return run_id(replace(run, seed=0), data, needed)


def _without_defaults(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}


def _versions(name: str, parameters: Mapping[str, Any]) -> list[int | str]:
    from mpu_bench.solvers.multiclass import Multiclass

    source = solvers.plugin_of(name)
    own = [source.code_hash] if source is not None else list(filter(None, [solvers.package_of(name)]))
    several = [Multiclass.version] if "multiclass" in parameters else []
    return [SHARED_VERSION, solvers.load(name).version_for(parameters), *several, *own]
