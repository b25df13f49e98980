"""Inject faults by the hundred, in parts, and tell what came of them: ``make soak``.

What is done is kept in a folder, a JSON line for each fault: the same command again goes on where it was. Every part
has a seed, from which all that is random in it follows, so that one that failed can be made again:
``scripts/soak.py --only moment --from-seed 17 --parts 1``. The exit code is 0 if nothing was wrong, else 1.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src"), str(ROOT)]

from faults import clusters, company, databases, disks, hostile_server, kills, zoo  # noqa: E402
from faults.campaign import PROBLEMS, Campaign, Fault, References  # noqa: E402

_ANSWERS = 40  # of a hostile server, in a part


def hostile(seed: int, _place: Path, _references: References) -> list[Fault]:
    """Let a server send answers that are put together at random."""
    faults = [Fault("hostile", seed, f"answer {number}") for number in range(1, _ANSWERS + 1)]
    faults[-1].problems += [f"message: {found}" for found in hostile_server.campaign(seed, _ANSWERS)]
    return faults


#: kind -> what makes the faults of a part, and how many of a hundred parts are of this kind
KINDS: dict[str, tuple[Campaign, int]] = {
    "parent": (kills.parent, 24),
    "moment": (kills.moment, 22),
    "download": (kills.download, 7),
    "worker": (kills.worker, 9),
    "writing": (kills.writing, 6),
    "full": (disks.full, 4),
    "read-only": (disks.read_only, 1),
    "file-size": (disks.file_size, 2),
    "clock": (company.clock, 3),
    "together": (company.together, 6),
    "fetches": (company.fetches, 1),
    "database": (databases.database, 14),
    "hostile": (hostile, 3),
    "cluster": (clusters.campaign, 3),
    "zoo": (zoo.campaign, 0),  # once
}
#: whose faults are processes that are ended
_KILLS = ("parent", "moment", "download", "worker", "writing", "cluster")
_KEPT = "faults.jsonl"


def main() -> int:
    """Go on injecting faults until there are enough, and print what came of them all."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell may have it ignored in the background
        signal.signal(number, signal.default_int_handler)
    options = _options()
    state = options.state
    if options.fresh:
        shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True, exist_ok=True)
    owed = _forget_problems(state) if options.again else []
    try:
        _go_on(options, owed)
    except KeyboardInterrupt:
        print("interrupted: what is done is kept; the same command goes on", file=sys.stderr)
    table = summary(_kept(state))
    (state / "summary.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    (state / "summary.md").write_text(markdown(table), encoding="utf-8")
    print(markdown(table), end="")
    for fault in _kept(state):
        for problem in fault["problems"]:
            print(f"{fault['kind']} {fault['seed']}: {fault['moment']}: {problem}")
    return 1 if any(row["faults with problems"] for row in table) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many processes to end, in all (%(default)s)")
    parser.add_argument("--parts", type=int, help="how many parts to do, whatever they hold")
    parser.add_argument("--from-seed", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="how many parts at once (%(default)s)")
    parser.add_argument("--only", choices=[*KINDS], action="append", help="only faults of this kind (repeatable)")
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "soak", help="the folder of what is kept")
    parser.add_argument("--again", action="store_true", help="forget the parts with problems, and do them again")
    parser.add_argument("--fresh", action="store_true", help="begin anew")
    return parser.parse_args()


def _go_on(options: argparse.Namespace, owed: list[tuple[str, int]]) -> None:
    """Do the parts that are owed, and then others until there are enough."""
    kept = list(_kept(options.state))
    done = {(fault["kind"], fault["seed"]) for fault in kept}
    ended = sum(fault["kind"] in _KILLS for fault in kept)
    waiting = chain(owed, (part for part in _parts(options) if part not in done and part not in owed))
    references = References(options.state / "undisturbed")
    shutil.rmtree(references.place, ignore_errors=True)  # of other sources, perhaps
    started, lock, under_way = 0, threading.Lock(), set[Future[list[Fault]]]()
    with ThreadPoolExecutor(options.jobs) as threads:
        try:
            while True:
                while len(under_way) < options.jobs and (started < len(owed) or _wanted(options, started, ended)):
                    if (part := next(waiting, None)) is None:
                        break
                    started += 1
                    under_way.add(threads.submit(_part, *part, options.state, references, lock))
                if not under_way:
                    return
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for each in finished:
                    ended += sum(fault.kind in _KILLS for fault in each.result())
        finally:
            threads.shutdown(cancel_futures=True)


def _wanted(options: argparse.Namespace, started: int, ended: int) -> bool:
    return started < options.parts if options.parts is not None else ended < options.kills


def _parts(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Yield kinds with seeds: the zoo once, the others in their shares, without end."""
    kinds = {kind: share for kind, (_, share) in KINDS.items() if not options.only or kind in options.only}
    if "zoo" in kinds:
        yield "zoo", options.from_seed
        if not kinds.pop("zoo") and not kinds:
            return
    owed = dict.fromkeys(kinds, 0.0)
    seeds = dict.fromkeys(kinds, options.from_seed)
    while True:
        for kind, share in kinds.items():
            owed[kind] += share
        kind = max(owed, key=owed.__getitem__)
        owed[kind] -= sum(kinds.values())
        yield kind, seeds[kind]
        seeds[kind] += 1


def _part(kind: str, seed: int, state: Path, references: References, lock: threading.Lock) -> list[Fault]:
    """Inject the faults of one seed, and keep what came of them."""
    place = state / "parts" / f"{kind}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    began = time.monotonic()
    try:
        faults = KINDS[kind][0](seed, place, references)
    except Exception:
        faults = [Fault(kind, seed, "the campaign itself", [f"traceback: {traceback.format_exc()}"])]
    seconds = time.monotonic() - began
    with lock, (state / _KEPT).open("a", encoding="utf-8") as file:
        for fault in faults:
            line = asdict(fault) | {"kind": kind, "seed": seed, "part_seconds": round(seconds, 2)}
            file.write(json.dumps(line) + "\n")
    wrong = sum(bool(fault.problems) for fault in faults)
    print(f"{kind} {seed}: {len(faults)} faults, {wrong} with problems, {seconds:.1f} s", file=sys.stderr, flush=True)
    if not wrong:
        shutil.rmtree(place, ignore_errors=True)
    return faults


def _kept(state: Path) -> list[dict[str, Any]]:
    """Return the faults of earlier parts; of a part that was written in part, none."""
    path = state / _KEPT
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:  # the process was ended while it wrote
            continue
    return found


def _forget_problems(state: Path) -> list[tuple[str, int]]:
    """Leave out the parts in which something was wrong from what is kept, and return them."""
    faults = list(_kept(state))
    wrong = {(fault["kind"], fault["seed"]) for fault in faults if fault["problems"]}
    left = [fault for fault in faults if (fault["kind"], fault["seed"]) not in wrong]
    (state / _KEPT).write_text("".join(json.dumps(fault) + "\n" for fault in left), encoding="utf-8")
    return sorted(wrong)


def summary(faults: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Count faults and what was wrong after them, by kind, and in all."""
    rows = []
    for kind in (*(name for name in KINDS if any(fault["kind"] == name for fault in faults)), "all"):
        mine = [fault for fault in faults if kind in (fault["kind"], "all")]
        skipped = sum(fault["moment"].startswith("skipped") for fault in mine)
        counted = {
            word: sum(problem.startswith(word) for fault in mine for problem in fault["problems"]) for word in PROBLEMS
        }
        wrong = sum(bool(fault["problems"]) for fault in mine)
        rows.append(
            {"kind": kind, "faults": len(mine) - skipped, "skipped": skipped, "faults with problems": wrong, **counted}
        )
    return rows


def markdown(table: list[dict[str, Any]]) -> str:
    """Return the summary as a table of Markdown."""
    names = list(table[0])
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *([str(row[name]) for name in names] for row in table)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
