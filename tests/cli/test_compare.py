"""compare: two results folders, or two solvers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpu_bench.results.store import Store
from records import records

MACHINE = {
    "id": "here", "versions": {}, "instruction_set": "x", "processor": "p", "cores": 2, "memory_gb": 1.0, "system": "s"
}  # fmt: skip


def results(
    folder: Path,
    seeds: int = 7,
    better: float = 0.0,
    hosts: Mapping[str, str] = {},
    solvers: tuple[str, ...] = ("mpu", "dcd"),
    **more: object,
) -> None:
    """Make a results folder of two solvers on two datasets; the seconds of the last seed are disturbed.

    ``hosts`` are the computers that solvers ran on.
    """
    runs = records(
        {
            "experiment": "x",
            "dataset": dataset,
            "solver": solver,
            "parameters": "{}",
            "kernel": "linear",
            "seed": seed,
        }
        | {"n": 100, "n_test": 100, "run_id": f"{dataset} {solver} {seed}", "status": "done"}
        | {"test_error": 0.2 + 0.01 * (seed % 3) + 0.05 * (solver == "dcd") - better, "train_seconds": 2.0 + seed}
        | {"cpu_seconds": (1.0 + seed % 3 + 9 * (seed == seeds - 1)) * (3 if solver == "dcd" else 1), "threads": 1}
        | {"disturbed": "waited" if seed == seeds - 1 else ""}
        | more
        for dataset in ("adult", "web")
        for solver in solvers
        for seed in range(seeds)
    )
    with Store(folder, create=True) as store:
        store.save_plan(runs, {"name": "x"})
        for record in runs:
            name = hosts.get(record.solver, "here") if hosts else "here"
            store.save(record, [], MACHINE | {"id": name} | ({"host": name} if hosts else {}))


def test_seconds_of_two_machines_are_not_compared(called, place: Path) -> None:
    results(place / "x", hosts={"dcd": "there"})
    code, written = called("compare", "x", "--solvers", "mpu", "dcd")
    assert code == 0
    assert "-5.00" in written
    assert "×0.333" not in written
    assert "14 pairs of runs come from different machines: their seconds are not compared" in written


def test_two_solvers_of_one_folder(called, place: Path) -> None:
    results(place / "x")
    code, written = called("compare", "x", "--solvers", "mpu", "dcd")
    assert code == 0
    assert "mpu against dcd" in written
    assert "-5.00" in written
    assert "×0.333" in written  # of comparable seconds, 6 seeds of 7
    assert "the same difference at every seed" in written
    assert "too few datasets: 2 of 6 needed" in written
    assert "4 of 28 runs have no seconds to compare: disturbed, or not recorded" in written


def test_two_folders_of_one_experiment(called, place: Path) -> None:
    results(place / "x")
    results(place / "y", seeds=5, better=0.01)
    code, written = called("compare", "x", "y")
    assert code == 1  # the errors of runs that both have differ
    assert "mpu of x against mpu of y" in written
    assert "only mpu of x has adult (seed=5, seed=6), web (seed=5, seed=6)" in written
    assert "only dcd of y" not in written
    assert "20 runs in both, 20 differ" in written
    code, written = called("compare", "x", "x")
    assert code == 0
    assert "equal in every pair" in written


def test_json_and_csv_say_the_same(called, place: Path) -> None:
    results(place / "x")
    arguments = ("compare", "x", "--solvers", "mpu", "dcd", "--quantity", "test_error", "--format")
    (pair,) = json.loads(called(*arguments, "json")[1])["pairs"]
    rows = list(csv.DictReader(io.StringIO(called(*arguments, "csv")[1])))
    assert [row["dataset"] for row in rows] == [row["dataset"] for row in pair["rows"]] == ["adult", "web", ""]
    assert (rows[0]["of"], rows[0]["against"]) == (pair["first"], pair["second"]) == ("mpu", "dcd")
    assert float(rows[0]["effect"]) == pytest.approx(pair["rows"][0]["effect"]) == pytest.approx(-0.05)
    assert (rows[0]["low"], pair["rows"][0]["low"]) == ("", None)
    assert rows[0]["wins"] == "7"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a second results folder, or two solvers of x: --solvers X Y (it has dcd, mpu)"),
        (("--solvers", "mpus", "dcd"), "no finished run of a solver 'mpus': did you mean 'mpu'?"),
        (("--solvers", "mpu", "dcd", "--quantity", "test_eror"), "did you mean 'test_error'?"),
        (("nowhere",), "holds no results"),
    ],
)
def test_what_cannot_be_compared_is_one_message(arguments, message, called, place: Path) -> None:
    results(place / "x")
    code, written = called("compare", "x", *arguments)
    assert code == 2
    assert message in written
    assert "Traceback" not in written


def test_folders_without_a_solver_in_common(called, place: Path) -> None:
    results(place / "x", solvers=("mpu",))
    results(place / "y", solvers=("dcd",))
    code, written = called("compare", "x", "y")
    assert code == 2
    assert "share no solver" in written
    assert called("compare", "x", "y", "--solvers", "mpu", "dcd")[0] == 0
