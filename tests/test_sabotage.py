"""What is broken on purpose turns its own cells of ``mpu-bench check`` red: a solver, a number, a rule, a sentence.

Solvers run in plain Python (NUMBA_DISABLE_JIT), where nothing need be compiled for a copy of the sources; the bodies
are the same. For the others nothing is run: what the baseline keeps is judged again.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import stored
from checkout import ROOT, called, copied
from mpu_bench.results.folder import open_results
from mpu_bench.verdict import comparison
from mpu_bench.verdict.cells import RATIO, Cell
from mpu_bench.verdict.verdict import Verdict

CONFIG = """
name: small
dataset: {checkerboard: {rows: 200, test_rows: 200}}
solvers:
  - forgetron: {vectors: 10, kernel: {gaussian: {gamma: 4.0}}}
  - sbp: {nu: 0.1, passes: 1, kernel: {gaussian: {gamma: 4.0}}}
  - mpu: {C: 1, accuracy: 0.01, stop: 0}
stop: {passes: 20}
checkpoints: {first: 1, per_decade: 1}
"""


def mpu_bench(place: Path, sources: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return called(sources, place, "-m", "mpu_bench", *arguments)


def run(place: Path, sources: Path) -> None:
    place.mkdir(exist_ok=True)
    (place / "small.yaml").write_text(CONFIG, encoding="utf-8")
    done = mpu_bench(place, sources, "run", "small.yaml", "--data", "data")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep what the sources as they are give."""
    place = tmp_path_factory.mktemp("whole")
    run(place, ROOT / "src")
    stored.accept(place / "results" / "small", place / "reference")
    return place / "reference"


@pytest.mark.parametrize(
    ("solver", "file", "right", "wrong"),
    [
        ("", "online/forgetron.py", "", ""),
        ("forgetron", "online/leaving.py", "sigma * (sigma - 2.0 * mu)", "sigma * (sigma + 2.0 * mu)"),
        ("sbp", "batch/sbp.py", "max(iterations, 1)", "iterations + 1"),
        ("mpu", "mpu/mpu.py", "elif p_i >= unlearn_at and I_i > 0.0:", "elif False:"),
    ],
    ids=["nothing is broken", "a sign of the quadratic", "the length of the average", "no unlearning"],
)
def test_what_is_broken_is_red(solver: str, file: str, right: str, wrong: str, kept: Path, tmp_path: Path) -> None:
    package = copied(tmp_path / "copy")
    path, sources = package / "solvers" / file, package.parent
    text = path.read_text(encoding="utf-8")
    assert not solver or text.count(right) == 1
    path.write_text(text.replace(right, wrong) if solver else text, encoding="utf-8")
    run(tmp_path / "place", sources)
    checked = mpu_bench(tmp_path / "place", sources, "check", "results/small", "--baseline", str(kept))
    assert checked.returncode == (1 if solver else 0), checked.stdout + checked.stderr
    told = [line for line in checked.stdout.splitlines() if "checkerboard" in line]
    assert all(f"checkerboard {solver}" in line for line in told)
    assert bool(told) == bool(solver)


KEPT = ("bpegasos-table1", "mpu-hard-margin", "sbp-table2")


PRINTED = "bpegasos-table1 row 3, usps, bpegasos random B=100, accuracy_percent"


@pytest.mark.baseline
@pytest.mark.parametrize(
    ("file", "right", "wrong", "red"),
    [
        ("rules.yaml", "", "", {}),
        (
            "bpegasos-table1.csv",
            "usps,7291,256,10,100,bpegasos-random,78.3",
            "usps,7291,256,10,100,bpegasos-random,87.3",
            {PRINTED: "published: now 87.3, baseline 78.3"},
        ),
        (
            "rules.yaml",
            "nu: {relative: 0.005, zero",
            "nu: {relative: 0.5, zero",
            {
                "sbp-table2 row 1, reuters-money-fx, smo, nu": "now reproduced, baseline not reproduced higher; "
                "measured is the same: the rule, or print, is another"
            },
        ),
        (
            "sentences/mpu-2010.yaml",
            "quantity: updates\n    against: update_bound   #",
            "quantity: update_bound\n    against: updates   #",
            {
                "Theorem 1: no run needs more updates than (10) allows": "now contradicted, baseline supported; "
                "measured is the same: the rule, or print, is another"
            },
        ),
    ],
    ids=["nothing is broken", "a printed number", "a rule", "a sentence"],
)
def test_what_is_changed_in_print_or_rules_is_red(
    file: str, right: str, wrong: str, red: dict[str, str], tmp_path: Path
) -> None:
    sources = copied(tmp_path / "copy", "configs").parent
    path = tmp_path / "copy" / "configs" / "published" / file
    text = path.read_text(encoding="utf-8")
    assert not red or text.count(right) == 1
    path.write_text(text.replace(right, wrong) if red else text, encoding="utf-8")
    folders = [str(ROOT / "results" / "baseline" / name) for name in KEPT]
    checked = mpu_bench(
        tmp_path, sources, "check", *folders, "--baseline", str(ROOT / "results" / "baseline"), "--format", "json"
    )
    assert checked.returncode == int(bool(red)), checked.stderr
    changes = [change for each in json.loads(checked.stdout) for change in each["changes"]]
    assert {change["what"]: change["words"] for change in changes} == red


def made_elsewhere(kept: Path, to: Path, is_elsewhere: Callable[[Mapping[str, str]], bool]) -> Path:
    """Copy what is kept, some of its runs as if another computer of a cluster had made them."""
    shutil.copytree(kept, to)
    made = json.loads((to / "environment.json").read_text(encoding="utf-8"))["machines"]
    versions = [{name: each.get(name) for name in ("id", "commit", "versions")} for each in made]
    machines = [
        made[0] | each | {"id": f"{each['id']} {name}", "host": name} for each in versions for name in ("here", "there")
    ]
    (to / "environment.json").write_text(json.dumps({"machines": machines}), encoding="utf-8")
    rows = list(csv.DictReader((to / "runs.csv").read_text(encoding="utf-8").splitlines()))
    for row in rows:
        row["machine"] += " there" if is_elsewhere(row) else " here"
    with (to / "runs.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return to


def judged(folder: Path) -> list[Cell]:
    with open_results(folder) as results:
        return comparison.of_results(results).cells


@pytest.mark.baseline
@pytest.mark.parametrize(("name", "solver"), [("mpu-table1", "dcd"), ("fw-c-study", "cvm"), ("fw-table2", "fw")])
def test_rows_of_another_machine_change_no_verdict_but_those_of_seconds(name: str, solver: str, tmp_path: Path) -> None:
    kept = ROOT / "results" / "baseline" / name
    before = judged(made_elsewhere(kept, tmp_path / "nothing", lambda _: False))  # all on one machine
    apart = judged(made_elsewhere(kept, tmp_path / "solver", lambda row: row["solver"] == solver))
    changed = [cell for cell, old in zip(apart, before, strict=True) if cell != old]
    assert changed
    assert all(cell.kind == RATIO or cell.timed for cell in changed)
    assert any(
        cell.verdict == Verdict.NOT_COMPARABLE and "on another machine than those of" in cell.remark for cell in changed
    )
    assert judged(made_elsewhere(kept, tmp_path / "everything", lambda _: True)) == before
