"""Feed everything that reads what comes from outside with damaged input, guided by coverage.

    python scripts/fuzz.py --inputs 1e6                  # all targets, two at once; run again, it goes on
    python scripts/fuzz.py --inputs 2e5 --only config    # one of them
    python scripts/fuzz.py --list                        # what they are, and how many inputs each gets

Needs atheris (pip install -e '.[fuzz]'). Targets are those of tests/fuzz/registry.py. In build/fuzz, or --folder, are
what was found interesting (corpus), how far each target is (state), every kind of crash once as the input that made it
(crashes) with its traceback, and the report as JSON and Markdown. Exit code 1 if there is a crash. One that is mended
becomes a test: copy its input to tests/fuzz/seeds/TARGET/.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", ROOT / "tests")
PACKAGE = ROOT / "src" / "mpu_bench"
MEMORY = Path("/dev/shm")
LONGEST_INPUT_BYTES = 65_536
MAX_MEMORY_MB = 3_000  #: that one input may make the process take
ADDRESS_SPACE_BYTES = 8 << 30  #: so that what asks for more than a machine has is told so at once
LONGEST_SECONDS = 60  #: for one input
OWN_MUTATIONS = 0.7  #: the share of inputs that the target's own mutator makes; libFuzzer makes the others
PARTS = 2  #: in which a target's inputs are tried, each in a fresh process
MAX_DEATHS = 20  #: of a target's processes, after which it is left alone
_COUNTS = struct.Struct("<QQQQ")  # tried, accepted, refused, crashed


def main() -> int:
    """Run the campaign, or go on with it."""
    options = _options()
    sys.path[:0] = map(str, SOURCES)
    if options.child:
        _fuzz(options.child, int(options.inputs), options.folder, options.seed)
    shares = _shares(options.only, int(options.inputs))
    if options.list:
        print("\n".join(f"{name:24} {count:>10,}" for name, count in shares.items()))
        return 0
    rooms = [Room(options.folder, name, count) for name, count in shares.items()]
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("fuzzing needs atheris: pip install -e '.[fuzz]' (Linux)", file=sys.stderr)
        return 2
    parts = [room for _ in range(PARTS) for room in rooms]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda room: room.go_on(options.seed), parts))
    report = [room.report() for room in rooms]
    text = _table(report)
    (options.folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.folder / "report.md").write_text(text)
    print(text)
    return int(any(each["crashes"] or each["inputs"] < each["wanted"] for each in report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=float, default=1e6, help="over all targets together (1e6)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (2)")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "fuzz", help="where the state is kept (build/fuzz)"
    )
    parser.add_argument("--only", nargs="+", metavar="TARGET", help="these targets alone")
    parser.add_argument("--seed", type=int, default=1, help="of what is tried first (1)")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def _shares(only: list[str] | None, inputs: int) -> dict[str, int]:
    """Return how many inputs each target gets."""
    from fuzz.registry import targets

    if unknown := set(only or ()) - set(targets()):
        raise SystemExit(f"there is no target {', '.join(sorted(unknown))}; choose from {', '.join(targets())}")
    chosen = {name: each.share for name, each in targets().items() if name in (only or targets())}
    whole = sum(chosen.values())
    return {name: round(inputs * share / whole) for name, share in chosen.items()}


class Room:
    """What is kept of the fuzzing of one target, and its processes.

    Parameters
    ----------
    folder : Path
    name : str
        Of the target.
    wanted : int
        How many inputs are to be tried.
    """

    def __init__(self, folder: Path, name: str, wanted: int) -> None:
        self.folder, self.name, self.wanted = folder, name, wanted
        self.state = folder / "state" / f"{name}.json"
        self.crashes = folder / "crashes" / name
        self.known: dict[str, Any] = {"seconds": 0.0, "deaths": 0, "coverage": 0, "parts": 0}
        if self.state.is_file():
            self.known |= json.loads(self.state.read_text())

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The inputs tried, accepted, refused, and those that crashed."""
        path = self.folder / "state" / f"{self.name}.counts"
        return _COUNTS.unpack(path.read_bytes()) if path.is_file() else (0, 0, 0, 0)

    def go_on(self, seed: int) -> None:
        """Try a part of what is left; where an input ends the process, another goes on."""
        part = -(-self.wanted // PARTS)
        goal = min(self.wanted, self.counts[0] + part)
        while self.counts[0] < goal and self.known["deaths"] < MAX_DEATHS:
            self.known["parts"] += 1
            begun, tried = time.monotonic(), self.counts[0]
            command = [
                *(sys.executable, __file__, "--child", self.name, "--inputs", str(goal - tried)),
                *("--folder", str(self.folder), "--seed", str(seed + 1000 * self.known["parts"])),
            ]
            log = self.folder / "state" / f"{self.name}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            memory = MEMORY if MEMORY.is_dir() else None  # libFuzzer ends a process without its cleaning up
            with tempfile.TemporaryDirectory(prefix="mpu-bench-fuzz-", dir=memory) as place, log.open("wb") as stream:
                surroundings = os.environ | {"TMPDIR": place}
                code = subprocess.run(command, stdout=stream, stderr=stream, env=surroundings, check=False).returncode
            self.known["seconds"] += time.monotonic() - begun
            found = re.findall(rb"cov: (\d+)", log.read_bytes())
            self.known["coverage"] = max([self.known["coverage"], *map(int, found)])
            if code != 0:
                self.known["deaths"] += 1
                (self.folder / "state" / f"{self.name}.death{self.known['deaths']}.log").write_bytes(
                    log.read_bytes()[-20_000:]
                )
            self.state.write_text(json.dumps(self.known))
        print(f"{self.name}: {self.counts[0]:,} of {self.wanted:,} inputs, {len(self._crashes())} crashes", flush=True)

    def _crashes(self) -> list[str]:
        return sorted(path.name for path in self.crashes.glob("*") if path.suffix != ".txt")

    def report(self) -> dict[str, Any]:
        """Return what became of the target."""
        tried, accepted, refused, _ = self.counts
        return {
            "target": self.name, "wanted": self.wanted, "inputs": tried, "accepted": accepted, "refused": refused,
            "coverage": self.known["coverage"], "seconds": round(self.known["seconds"]), "crashes": self._crashes(),
        }  # fmt: skip


def _table(report: list[dict[str, Any]]) -> str:
    columns = {"inputs": "inputs", "accepted": "accepted", "refused": "refused"}
    columns |= {"coverage": "places covered", "seconds": "seconds"}
    rows = [["target", *columns.values(), "crashes"], ["---", *["---:"] * (len(columns) + 1)]]
    for each in report:
        rows.append([each["target"], *(f"{each[name]:,}" for name in columns), str(len(each["crashes"]))])
    total = {name: sum(each[name] for each in report) for name in columns}
    rows.append(["all", *(f"{count:,}" for count in total.values()), str(sum(len(each["crashes"]) for each in report))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


# ------------------------------------------------------------------ the process that fuzzes one target


def _fuzz(name: str, inputs: int, folder: Path, seed: int) -> None:
    """Try inputs until there were enough; never returns."""
    import atheris

    with atheris.instrument_imports(include=["mpu_bench"], exclude=_compiled_modules()):
        from fuzz.registry import targets
    target = targets()[name]
    crashes, corpus, examples = (folder / kind / name for kind in ("crashes", "corpus", "examples"))
    for each in (crashes, corpus, examples):
        each.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate([*target.examples(), *target.seeds()]):
        (examples / f"{number:04}").write_bytes(content)
    dictionary = folder / "state" / f"{name}.words"
    words = target.words or ("0", "-1")
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words if word))
    counts = Counts(folder / "state" / f"{name}.counts")

    def one(data: bytes) -> None:
        counts.add(0)
        try:
            counts.add(1 if target.attempt(data) == "accepted" else 2)
        except Exception as fault:
            counts.add(3)
            _keep(fault, data, crashes)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        drawn = random.Random(number)
        if drawn.random() < OWN_MUTATIONS:
            made = target.mutate(data, drawn)
            if len(made) <= most:
                return made
        return atheris.Mutate(data, most)  # type: ignore[no-any-return]

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    flags = {
        "runs": inputs, "max_len": LONGEST_INPUT_BYTES, "timeout": LONGEST_SECONDS, "rss_limit_mb": MAX_MEMORY_MB,
        "report_slow_units": LONGEST_SECONDS,  # what takes ten seconds on a busy machine is no crash
        "seed": seed, "artifact_prefix": f"{crashes}/", "dict": dictionary, "print_final_stats": 1,
    }  # fmt: skip
    arguments = [sys.argv[0], *(f"-{flag}={value}" for flag, value in flags.items()), str(corpus), str(examples)]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()
    os._exit(0)


class Counts:
    """Numbers in a file, which outlive the process."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            path.write_bytes(_COUNTS.pack(0, 0, 0, 0))
        with path.open("r+b") as stream:
            self._memory = mmap.mmap(stream.fileno(), _COUNTS.size)

    def add(self, which: int) -> None:
        """Count one more."""
        (value,) = struct.unpack_from("<Q", self._memory, 8 * which)
        struct.pack_into("<Q", self._memory, 8 * which, value + 1)


def _compiled_modules() -> list[str]:
    """Return the modules that numba compiles, which must stay as they are."""
    paths = [path for room in ("core", "solvers") for path in (PACKAGE / room).rglob("*.py")]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in paths]
    return [name.removesuffix(".__init__") for name in names if name != "mpu_bench.solvers.__init__"]


def _keep(fault: Exception, data: bytes, crashes: Path) -> None:
    """Keep an input that crashed; of those that crash in the same way the shortest."""
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if "mpu_bench" in frame.filename] or frames
    place = f"{Path(own[-1].filename).stem}-{own[-1].name}-{own[-1].lineno}"
    path = crashes / re.sub(r"[^\w.-]", "", f"{type(fault).__name__}-{place}")
    if path.is_file() and path.stat().st_size <= len(data):
        return
    path.write_bytes(data)
    path.with_name(path.name + ".txt").write_text(
        "".join(traceback.format_exception(fault))[-20_000:], errors="replace"
    )


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())
