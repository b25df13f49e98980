"""The zoo: what must become of the run of each misbehaving solver in tests/plugins/zoo, and of the runs beside it."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faults import experiments
from faults.campaign import Fault, References, wait_for
from faults.processes import started

ZOO = Path(__file__).parents[1] / "plugins" / "zoo"
_TESTS = str(Path(__file__).parents[1])
_LONGEST_REASON_BYTES = 11_000  # 10 kB from the solver, and what mpu-bench itself says


@dataclass(frozen=True)
class Fate:
    """What a solver's row must be: one of these statuses, and a reason that matches."""

    statuses: tuple[str, ...]
    reason: str = ""

    def problems(self, name: str, row: Mapping[str, str]) -> list[str]:
        """List what is not so in a row of runs.csv."""
        found = []
        if row["status"] not in self.statuses:
            found.append(
                f"differs: {name} is {row['status']} ({row['reason'][:300]}), not {' or '.join(self.statuses)}"
            )
        elif not re.search(self.reason, row["reason"]):
            found.append(f"message of {name}: '{row['reason'][:300]}' does not match '{self.reason}'")
        if len(row["reason"].encode()) > _LONGEST_REASON_BYTES:
            found.append(f"message of {name} is of {len(row['reason'])} characters")
        if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", row["reason"]):
            found.append(f"message of {name} has what a terminal obeys: {row['reason'][:100]!r}")
        return found


_DONE = Fate(("done",))
_TIMEOUT = Fate(("timeout",), r"after|limit")
_OUT_OF_MEMORY = Fate(("out-of-memory",), "limit of")
_DIVERGED = Fate(("diverged",), "finite")


def _error(words: str) -> Fate:
    return Fate(("error",), words)


def _crashed(words: str) -> Fate:
    return Fate(("crashed", "error"), words)


#: those that must be ended; they run side by side
HANGING: dict[str, Fate] = {
    "hangs-in-start": _TIMEOUT,
    "hangs-in-measures": _TIMEOUT,
    "hangs-at-exit": _DONE,
    "stops-itself": _TIMEOUT,
    "never-ends": _TIMEOUT,
    "catches-everything": _TIMEOUT,
    "forks-and-sleeps": _TIMEOUT,
}

#: those that end by themselves, or that a limit on memory ends
QUICK: dict[str, Fate] = {
    "forks-twice": _DONE,
    "forks-and-returns": Fate(("done", "error", "crashed")),
    "leaves-threads": _DONE,
    "eats-memory": _OUT_OF_MEMORY,
    "eats-memory-in-a-child": _OUT_OF_MEMORY,
    "zeroes-rows-warming-up": _DONE,
    "changes-numpy": Fate(("done", "error")),
    "deletes-its-file": _DONE,
    "closes-files": _crashed("ended|exit code|closed"),
    "writes-rubbish": _crashed("."),
    "prints-much": _DONE,
    "exits": _crashed("SystemExit"),
    "raises-escapes": _error("markup"),
    "recurses-in-c": _crashed("SIGSEGV|RecursionError"),
    "kills-itself": _crashed("SIGKILL"),
    "bias-nan": _DIVERGED,
    "labels-too-few": _error("label"),
    "objective-text": _error("hello"),
    "counters-few": _error("count"),
    "notes-much": _DONE,
}

#: what a config is refused for -> a word of the message
REFUSED = {
    "refused-exits-at-once": "ended|exit",
    "refused-raises": "Unspeakable",
    "refused-closes-files": "",
}

_OWN_EVERY = 8  # solvers of the zoo, a run of the project's own


def _file(name: str) -> str:
    return f"{name.replace('-', '_')}.py"


def _config(name: str, animals: Collection[str], limits: str, own: int) -> str:
    """Return a config in which runs of dcd stand between those of the zoo."""
    lines, numbers = [], iter(range(1, own + 1))
    for place, animal in enumerate(animals):
        if place % _OWN_EVERY == 0:
            lines.append(f"  - dcd: {{C: {next(numbers)}}}")
        lines.append(f"  - {animal}")
    lines += [f"  - dcd: {{C: {number}}}" for number in numbers]
    plugins = f"plugins: [{', '.join(f'zoo/{_file(animal)}' for animal in animals)}]\n" if animals else ""
    limited = f"limits: {{{limits}}}\n" if limits else ""
    dataset = "dataset: {checkerboard: {rows: 200, test_rows: 50}}\n"
    return f"name: {name}\n{dataset}{plugins}{limited}solvers:\n" + "\n".join(lines) + "\nstop: {passes: 5}\n"


def _visited(place: Path, name: str, animals: Mapping[str, Fate], limits: str, jobs: int) -> list[str]:
    """Run solvers of the zoo beside the project's own, and list what is not as it must be."""
    place.mkdir()
    shutil.copytree(ZOO, place / "zoo")
    own = -(-len(animals) // _OWN_EVERY) + 1
    (place / f"{name}.yaml").write_text(_config(name, animals, limits, own), encoding="utf-8")
    (place / f"{name}-undisturbed.yaml").write_text(_config(name, (), "", own), encoding="utf-8")
    undisturbed = place / "undisturbed"
    problems: list[str] = []
    runs = ((f"{name}-undisturbed.yaml", str(undisturbed), 1, (0,)), (f"{name}.yaml", "results", jobs, (1,)))
    for config, results, at_once, codes in runs:
        arguments = ("run", config, "--results", results, "--jobs", str(at_once))
        with started(place, *arguments, PYTHONPATH=_TESTS) as process:
            ended, wrong = wait_for(process, codes)
        # what goes wrong in a solver is told with its traceback; mpu-bench's own would end it
        problems += [each for each in wrong if not each.startswith("traceback")]
        if ended is None or not (place / results / name / "runs.csv").is_file():
            return problems or [f"lost: no runs.csv: {ended}"]
        if "a table of its own" in ended.out or "\x1b" in ended.out:
            problems.append("message: what a solver prints is among the tables")
    rows = _rows(place / "results" / name / "runs.csv")
    for animal, fate in animals.items():
        problems += fate.problems(animal, rows[animal]) if animal in rows else [f"lost: {animal} has no row"]
    for key, row in _rows(undisturbed / name / "runs.csv").items():
        problems += _differing(key, row, rows.get(key))
    readers = (("show",), ("export", "--to", "csv"), ("report", "--out", "page"))
    for arguments in readers if name == "quick" else ():  # those that hang say nothing
        with started(place, arguments[0], f"results/{name}", *arguments[1:]) as process:
            ended, wrong = wait_for(process, (0,))
        problems += wrong
        if ended is not None and "\x1b" in ended.text:
            problems.append(f"message: {arguments[0]} prints what a terminal obeys")
    return problems


def _rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {f"dcd {row['parameters']}" if row["solver"] == "dcd" else row["solver"]: row for row in rows}


def _differing(key: str, row: Mapping[str, str], beside: Mapping[str, str] | None) -> list[str]:
    if beside is None:
        return [f"lost: {key} has no row"]
    own = ("experiment", "as_published", "overridden")
    differing = [
        f"{name} {beside[name]!r} for {value!r}"
        for name, value in row.items()
        if name not in own and not experiments.varies(name) and beside[name] != value
    ]
    return [f"differs: {key} beside the zoo: {'; '.join(differing)[:500]}"] if differing else []


def visit(place: Path) -> list[str]:
    """Run the zoo, and list what is not as it must be."""
    with ThreadPoolExecutor(2) as threads:  # those that hang want no processor
        visits = [
            threads.submit(_visited, place / name, name, animals, limits, jobs)
            for name, animals, limits, jobs in (
                ("quick", QUICK, "seconds: 100, memory: 700 MB", 1),
                ("hanging", HANGING, "seconds: 3", len(HANGING)),
            )
        ]
    return [problem for visit in visits for problem in visit.result()]


def refused(place: Path, name: str) -> list[str]:
    """Run a config whose plugin cannot be imported, and list what is not as it must be."""
    shutil.copytree(ZOO, place / "zoo")
    text = f"name: refused\ndataset: digits\nplugins: [zoo/{_file(name)}]\nsolvers: [{name}]\n"
    (place / "refused.yaml").write_text(text, encoding="utf-8")
    with started(place, "run", "refused.yaml", PYTHONPATH=_TESTS) as process:
        ended, problems = wait_for(process, (2,))
    if ended is None:
        return problems
    if not re.search(REFUSED[name], ended.err):
        problems.append(f"message of {name}: {ended.err[-500:]}")
    if _file(name) not in ended.err:
        problems.append(f"message of {name} does not name the file: {ended.err[-500:]}")
    if "\x1b" in ended.text:
        problems.append(f"message of {name} has what a terminal obeys")
    return problems


def campaign(seed: int, place: Path, references: References) -> list[Fault]:
    """Visit the whole zoo; each of its solvers is a fault."""
    faults = [Fault("zoo", seed, name) for name in (*QUICK, *HANGING, *REFUSED)]
    (place / "all").mkdir()
    faults[0].problems += visit(place / "all")
    for fault in faults[-len(REFUSED) :]:
        (place / fault.moment).mkdir()
        fault.problems += refused(place / fault.moment, fault.moment)
    return faults
