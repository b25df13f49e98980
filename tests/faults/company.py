"""Several processes at once on one results folder or one data directory, and a clock that is set meanwhile."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path

from faults import experiments
from faults.campaign import Fault, References, completed, serving, wait_for
from faults.processes import Started, started
from faults.watching import Watch, pause

_HOOKS = str(Path(__file__).with_name("hooks"))


def clock(seed: int, place: Path, references: References) -> list[Fault]:
    """Set the clock back or forward during a run, by seconds or by years."""
    chance = random.Random(f"clock {seed}")
    name = chance.choice(references.names)
    after = chance.uniform(0, references.of(name).seconds)
    shift = chance.choice((-1, 1)) * 10 ** chance.uniform(0, 9)
    fault = Fault("clock", seed, f"{name}: {shift:+.0f} s after {after:.2f} s")
    with serving() as server:
        experiments.write(place, name, server.address)
        variables = {"PYTHONPATH": _HOOKS, "MPU_BENCH_TEST_CLOCK": f"{after},{shift}"}
        with started(place, "run", f"{name}.yaml", **variables) as process:
            _, fault.problems = wait_for(process, (0,))
        fault.problems += completed(place, name, references)
    return [fault]


def together(seed: int, place: Path, references: References) -> list[Fault]:
    """Start something beside a run: another run, readers, fetches, or what deletes."""
    chance = random.Random(f"together {seed}")
    beside = chance.choice(list(_BESIDE))
    name = "fetched" if beside in _ON_DATA else chance.choice(references.names)
    fault = Fault("together", seed, f"{name} and {beside}")
    arguments, codes = _BESIDE[beside]
    filled = tuple(each.format(name=name) for each in arguments)
    with serving() as server:
        experiments.write(place, name, server.address)
        with started(place, "run", f"{name}.yaml") as run:
            if beside in ("clean", *_READERS):
                _until_it_has_begun(run, place)
            while True:
                pause(chance.uniform(0, 0.5))
                with started(place, *filled) as other:
                    ended, problems = wait_for(other, codes)
                fault.problems += problems
                if problems or beside not in _REPEATED or run.process.poll() is not None:
                    break
            has_run = beside in _RUNS and ended is not None and ended.code == 0
            _, problems = wait_for(run, (0, 1) if beside == "data clean" else (0, 2) if has_run else (0,))
        fault.problems += problems
        if not (place / "results" / name / "runs.sqlite").exists() and beside != "clean":
            fault.problems.append("lost: the results folder")
        fault.problems += completed(place, name, references)
    return [fault]


#: what is started beside a run -> its arguments, and how it may end
_BESIDE: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "run": (("run", "{name}.yaml"), (0, 2)),
    "run --force": (("run", "{name}.yaml", "--force"), (0, 2)),
    "show": (("show", "results/{name}"), (0, 2)),
    "report": (("report", "results/{name}", "--out", "page"), (0, 2)),
    "export": (("export", "results/{name}"), (0, 2)),
    "compare": (("compare", "results/{name}", "results/{name}"), (0, 1, 2)),
    "data fetch": (("data", "fetch", "first", "second", "third"), (0,)),
    "data verify": (("data", "verify", "first", "second", "third"), (0, 1, 2)),
    "data clean": (("data", "clean", "first", "second"), (0, 1, 2)),
    "clean": (("clean", "results/{name}", "-y"), (2, 0)),
}
_RUNS = ("run", "run --force")  # either of two may come first; the other waits for nothing, and is refused
_ON_DATA = ("data fetch", "data verify", "data clean")
_READERS = ("show", "report", "export", "compare")
_REPEATED = (*_READERS, "data verify")


def _until_it_has_begun(run: Started, place: Path) -> None:
    with Watch(place / "results") as watch:
        watch.wait(r"runs\.sqlite-journal$", 3, lambda: run.process.poll() is None)


def fetches(seed: int, place: Path, references: References) -> list[Fault]:
    """Let four processes fetch and prepare the same data at once."""
    fault = Fault("fetches", seed, "four at once")
    with serving() as server, ExitStack() as stack:
        experiments.write(place, "fetched", server.address)
        running = [stack.enter_context(started(place, "data", "fetch", "first", "second", "third")) for _ in range(3)]
        running.append(stack.enter_context(started(place, "run", "fetched.yaml")))
        for each in running:
            fault.problems += wait_for(each, (0,))[1]
        fault.problems += completed(place, "fetched", references)
    return [fault]
