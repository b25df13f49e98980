"""Hold every classifier to random small problems, of which an optimum in 80 bits is known: ``make sweep``.

What is done is kept in a folder, a JSON line for each classifier and problem: the same command again goes on where it
was. A problem follows from its seed: ``scripts/sweep.py --only SMOClassifier --from-seed 17 --problems 1 --fresh``. A
fit that does not end within ten minutes is wrong, too. The exit code is 0 if nothing was wrong, else 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import traceback
from collections import Counter
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from classifiers import ALL  # noqa: E402
from sweep import checks, problems  # noqa: E402

_MAX_SECONDS = 600  # of one classifier on one problem, compiling included: it is no measure, but an end
_KEPT = "outcomes.jsonl"


def main() -> int:
    """Go on with the problems, and print what was wrong."""
    options = _options()
    if options.fresh:
        shutil.rmtree(options.state, ignore_errors=True)
    options.state.mkdir(parents=True, exist_ok=True)
    path = options.state / _KEPT
    done = {(each["name"], each["seed"]) for each in _kept(path)}
    for name in options.only or ALL:
        worker = _Worker(tuple(options.format or problems.FORMATS))
        for seed in range(options.from_seed, options.from_seed + options.problems):
            if (name, seed) in done:
                continue
            found = worker.ask(name, seed)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"seed": seed} | found, default=str) + "\n")
        worker.end()
    return _told(_kept(path))


class _Worker:
    """A process that fits, which is ended where it does not answer, and made again."""

    def __init__(self, formats: tuple[str, ...]) -> None:
        self._formats = formats
        self._begin()

    def _begin(self) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=_answer, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, name: str, seed: int) -> dict[str, Any]:
        self._pipe.send((name, seed, self._formats))
        try:
            if self._pipe.poll(_MAX_SECONDS):
                answer: dict[str, Any] = self._pipe.recv()
                return answer
            wrong = f"no end within {_MAX_SECONDS} seconds"
        except EOFError:
            wrong = "the process was ended"
        self.end()
        self._begin()
        return {"name": name, "problem": str(problems.made(seed, self._formats)), "refused": "", "wrong": [wrong]}

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _answer(pipe: Connection) -> None:
    while True:
        name, seed, formats = pipe.recv()
        problem = problems.made(seed, formats)
        try:
            found = asdict(checks.outcome(name, problem))
        except Exception:
            wrong = [f"traceback: {traceback.format_exc()}"]
            found = {"name": name, "problem": str(problem), "refused": "", "wrong": wrong}
        pipe.send(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=300, help="how many (%(default)s)")
    parser.add_argument("--from-seed", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--only", choices=ALL, action="append", help="only this classifier (repeatable)")
    parser.add_argument(
        "--format", choices=problems.FORMATS, action="append", help="only rows of this kind (repeatable)"
    )
    parser.add_argument("--state", type=Path, default=ROOT / "build" / "sweep", help="the folder of what is kept")
    parser.add_argument("--fresh", action="store_true", help="begin anew")
    return parser.parse_args()


def _kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _told(outcomes: list[dict[str, Any]]) -> int:
    """Print how many problems each classifier took, and what was wrong."""
    tried, refused, wrong = Counter[str](), Counter[str](), Counter[str]()
    for each in outcomes:
        tried[each["name"]] += 1
        refused[each["name"]] += bool(each["refused"])
        wrong[each["name"]] += bool(each["wrong"])
        for text in each["wrong"]:
            print(f"{each['name']}: {each['problem']}, {each.get('parameters')}: {text}")
    for name in tried:
        print(f"{name}: {tried[name]} problems, {refused[name]} refused, {wrong[name]} wrong")
    return 1 if wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main())
