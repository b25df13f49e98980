"""Processes ended at random moments, and at chosen ones: in a transaction, a download, a preparation, while writing."""

from __future__ import annotations

import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from faults import experiments
from faults.campaign import Fault, References, completed, serving, wait_for
from faults.processes import Started, call, started
from faults.watching import Watch, pause
from http_server import Answer, Server

_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}

#: moment -> the paths whose changes announce it, how many may be let pass, and the seconds after the last
MOMENTS: dict[str, tuple[str, int, float]] = {
    "transaction": (r"runs\.sqlite-journal$", 24, 0.004),
    "writing": (r"/\.(runs|table|curves|mean_curves|comparison|environment)\.[a-z]+\.", 8, 0.002),
    "preparation": (r"/prepared/\.|/prepared$|/optima/", 12, 0.01),
    "download": (r"/files/", 12, 0.05),
}
_OF_ALL = ("transaction", "writing", "preparation")
_SLOW = [Answer(cut_after=cut) for cut in (3_000, 20_000, 50_000)]  #: a connection that breaks


def parent(seed: int, place: Path, references: References, kills: int = 8) -> list[Fault]:
    """End mpu-bench at random moments of its time."""
    return _carried_to_the_end("parent", seed, place, references, kills, ("random",))


def moment(seed: int, place: Path, references: References, kills: int = 8) -> list[Fault]:
    """End mpu-bench in transactions, preparation, downloads and while it writes its tables."""
    return _carried_to_the_end("moment", seed, place, references, kills, _OF_ALL)


def download(seed: int, place: Path, references: References, kills: int = 8) -> list[Fault]:
    """End mpu-bench while it fetches over connections that break."""
    return _carried_to_the_end("download", seed, place, references, kills, ("download",), "fetched")


def _carried_to_the_end(
    kind: str, seed: int, place: Path, references: References, kills: int, moments: tuple[str, ...], name: str = ""
) -> list[Fault]:
    chance = random.Random(f"{kind} {seed}")
    name = name or chance.choice(references.names)
    jobs = str(chance.choice((1, 1, 2)))
    seconds = references.of(name).seconds
    faults: list[Fault] = []
    anew: tuple[str, ...] = ()
    with serving() as server:
        experiments.write(place, name, server.address)
        for _ in range(kills):
            if kind == "download":
                _break_connections(server, chance)
            began = time.monotonic()
            with started(place, "run", f"{name}.yaml", "--jobs", jobs, *anew) as process:
                fault = _end(process, chance, chance.choice(moments), seconds, place)
                anew = () if fault else ("--force",)  # it came to its end, and there is nothing left to do
                if fault is None:
                    if kind == "download":
                        break
                    seconds = min(seconds, time.monotonic() - began)
                    continue
                fault.kind, fault.seed, fault.moment = kind, seed, f"{name} --jobs {jobs}: {fault.moment}"
                faults.append(fault)
        problems = completed(place, name, references, "--jobs", jobs)
    if not faults:
        faults.append(Fault(kind, seed, f"{name}: it ended before"))
    faults[-1].problems += problems
    return faults


def _break_connections(server: Server, chance: random.Random) -> None:
    for path in server.files:
        server.script[path] = chance.choices(_SLOW, k=chance.randint(0, 2))


def _end(process: Started, chance: random.Random, when: str, seconds: float, place: Path) -> Fault | None:
    """End a process at a moment, and list what is wrong about its end; None if its end came first."""
    number = chance.choice(_SIGNALS)
    if when == "random":
        after = chance.uniform(0.02, 0.9 * seconds)
        told = f"after {after:.3f} s"
        with suppress(psutil.TimeoutExpired):
            psutil.Process(process.process.pid).wait(after) if process.process.poll() is None else None
    else:
        pattern, most, later = MOMENTS[when]
        events, later = chance.randint(1, most), chance.uniform(0, later)
        told = f"{when}, event {events} and {1000 * later:.2f} ms"
        with Watch(place / "results", place / "home") as watch:
            watch.wait(pattern, events, lambda: process.process.poll() is None)
        pause(later)
    ready, way = _is_ready(process), chance.choice(("", "", " to all", " twice"))
    if not process.send(number, to_all=way == " to all"):
        return None
    if way == " twice" and number != signal.SIGKILL:
        pause(chance.uniform(0, 0.1))
        process.send(number)
    code = _CODES[number]
    ended, problems = wait_for(process, (code, 0) if ready else (code, 0, *_before_our_first_line(number)))
    if ended is not None and ended.code == 0 and "results are in" not in ended.err:
        problems.append(f"exit code 0 of a run that {number.name} ended")
    if not ready:  # the interpreter was still on its way to our first line
        problems = [each for each in problems if not each.startswith("traceback")]
    return Fault("", 0, f"{number.name}{way} {told}", problems)


def _before_our_first_line(number: signal.Signals) -> tuple[int, int]:
    """Return the codes of an interpreter that a signal ends while it starts: of the signal, or as `site` fails."""
    return -number, 1


def _is_ready(process: Started) -> bool:
    """Return whether the process has its own answer to SIGTERM already."""
    with suppress(OSError, StopIteration):
        status = Path(f"/proc/{process.process.pid}/status").read_text(encoding="ascii")
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
        return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
    return False


def worker(seed: int, place: Path, references: References, kills: int = 8) -> list[Fault]:
    """Kill processes that mpu-bench has started, workers and whatever comes from them, at random moments."""
    chance = random.Random(f"worker {seed}")
    name, jobs = chance.choice(references.names), str(chance.choice((1, 1, 2)))
    seconds = references.of(name).seconds
    faults: list[Fault] = []
    with serving() as server:
        experiments.write(place, name, server.address)
        for _ in range(kills):
            with started(place, "run", f"{name}.yaml", "--jobs", jobs) as process:
                killed = _kill_descendants(process, chance, seconds, kills - len(faults), place)
                _, problems = wait_for(process, (0, 1))
            faults += [Fault("worker", seed, f"{name} --jobs {jobs}: {each}") for each in killed]
            if faults:
                faults[-1].problems += problems
            if len(faults) >= kills:
                break
        problems = completed(place, name, references, "--jobs", jobs)
    if not faults:
        faults.append(Fault("worker", seed, f"{name}: it ended before"))
    faults[-1].problems += problems
    return faults


def _kill_descendants(process: Started, chance: random.Random, seconds: float, most: int, place: Path) -> list[str]:
    """Kill some of what a process has started: at random moments, or soon after a result is kept, in the next run."""
    killed: list[str] = []
    began = time.monotonic()
    with Watch(place / "results") as watch:
        while process.process.poll() is None and len(killed) < most:
            if chance.random() < 0.3:
                pause(chance.uniform(0.05, 0.4 * seconds))
            else:
                events = chance.randint(1, 8)
                watch.wait(MOMENTS["transaction"][0], events, lambda: process.process.poll() is None)
                pause(chance.uniform(0, 0.03))
            if not (there := sorted(process.descendants(), key=lambda each: each.pid)):
                continue
            chosen = chance.choice(there)
            with suppress(psutil.Error):
                chosen.kill()
                told = f"after {time.monotonic() - began:.2f} s"
                killed.append(f"descendant {1 + there.index(chosen)} of {len(there)} {told}")
    return killed


#: verb -> its arguments, for a results folder
_WRITERS = {
    "report": ("report", "results/{name}", "--out", "written"),
    "plot": ("plot", "results/{name}", "--out", "written"),
    "export": ("export", "results/{name}", "--to", "tex", "--out", "written/table.tex"),
    "show": ("show", "results/{name}"),
}


def writing(seed: int, place: Path, references: References, kills: int = 4) -> list[Fault]:
    """End the verbs that read results and write pages, figures and tables; what they have written stays whole."""
    chance = random.Random(f"writing {seed}")
    name, verb = chance.choice(references.names), chance.choice(list(_WRITERS))
    arguments = tuple(each.format(name=name) for each in _WRITERS[verb])
    reference = references.of(name)
    experiments.write(place, name)
    (place / "results").symlink_to(references.place / name / "results")
    (place / "written").mkdir()
    began = time.monotonic()
    whole = call(place, *arguments)
    seconds = time.monotonic() - began
    before = _contents(place / "written")
    faults = []
    for _ in range(kills):
        number = chance.choice(_SIGNALS)
        with started(place, *arguments) as process:
            with Watch(place / "written") as watch:
                if chance.random() < 0.5:
                    watch.wait(r"/\.", chance.randint(1, 6), lambda: process.process.poll() is None)
                    told = "while it writes"
                else:
                    after = chance.uniform(0.02, seconds)
                    pause(after)
                    told = f"after {after:.3f} s"
            ready = _is_ready(process)
            sent = process.send(number)
            codes = (_CODES[number], 0) if ready else (_CODES[number], 0, *_before_our_first_line(number))
            _, problems = wait_for(process, codes)
        if not ready:
            problems = [each for each in problems if not each.startswith("traceback")]
        if sent:
            faults.append(Fault("writing", seed, f"{verb}: {number.name} {told}", problems))
        there = {
            name: text for name, text in _contents(place / "written").items() if not Path(name).name.startswith(".")
        }
        torn = [name for name in before if name in there and len(there[name]) < len(before[name]) // 2]
        if faults:
            faults[-1].problems += [f"lost: {name}" for name in before if name not in there]
            faults[-1].problems += [f"damaged: {name}" for name in torn]
    again = call(place, *arguments)
    faults = faults or [Fault("writing", seed, f"{verb}: it ended before")]
    if (again.code, again.out) != (whole.code, whole.out):
        faults[-1].problems.append(f"differs: {verb} says {again.text[-500:]}")
    left = _contents(place / "written").keys() - before.keys()
    faults[-1].problems += [f"left over: {name}" for name in sorted(left)]
    faults[-1].problems += experiments.Results.read(
        references.place / name / "results" / name, references.place / name / "home"
    ).problems(reference.results)
    return faults


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
