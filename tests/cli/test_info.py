"""``mpu-bench list`` and ``mpu-bench info``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import Called
from mpu_bench.cli.app import app


@pytest.mark.parametrize("kind", ["solvers", "datasets", "kernels", "configs"])
def test_list(mpu_bench: Called, kind: str) -> None:
    listed = mpu_bench("list", kind)
    assert listed.returncode == 0
    assert len(listed.stdout.splitlines()) > 1
    assert "mnist, mnist" not in listed.stdout  # bipartitions are one dataset


def test_the_schema_of_configs(mpu_bench: Called) -> None:
    listed = mpu_bench("list", "configs", "--schema")
    assert json.loads(listed.stdout)["title"] == "A config of mpu-bench"
    wrong = mpu_bench("list", "solvers", "--schema")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == "mpu-bench: --schema: solvers have none; write mpu-bench list configs --schema\n"


def test_version_and_info(mpu_bench: Called) -> None:
    from mpu_bench import __version__

    assert mpu_bench("--version").stdout.strip() == __version__
    assert "processor" in mpu_bench("info").stdout


def test_a_solver_is_listed_with_its_parameters(mpu_bench: Called) -> None:
    listed = mpu_bench("list", "solvers", "mpu", "dcd")
    assert listed.returncode == 0
    assert "@inproceedings{hsieh-2008," in listed.stdout
    for words in ("mpu-2010", "number > 0, < 1", "The weight of the losses", "one inner product per example presented"):
        assert words in listed.stdout
    wrong = mpu_bench("list", "solvers", "mpux")
    assert (wrong.returncode, wrong.stderr) == (2, "mpu-bench: unknown solver 'mpux': did you mean 'mpu'?\n")
    assert "did you mean 'adult'" in mpu_bench("list", "datasets", "adlut").stderr
    assert len(mpu_bench("list", "datasets", "adult").stdout.splitlines()) == 2


def test_a_broken_card_of_the_user_hides_no_other_dataset(called, place: Path) -> None:
    (place / "datasets").mkdir()
    (place / "datasets" / "broken.yaml").write_text("title: x\nkind: nope\n", encoding="utf-8")
    code, listed = called("list", "datasets")
    assert code == 0
    assert "datasets/broken.yaml, line 2: kind: there is no kind 'nope'" in " ".join(listed.split())
    assert "adult" in listed


def test_a_solver_that_is_not_installed_is_listed_with_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    reason = "snapml is not installed: pip install '.[peers]' in mpu-bench's source folder"
    monkeypatch.setattr("mpu_bench.solvers.not_installed", lambda name: reason if name == "snapml-svm" else "")
    for names in (["snapml-svm"], ["snapml-svm", "dcd"], []):
        listed = CliRunner().invoke(app, ["list", "solvers", *names])
        assert listed.exit_code == 0
        assert listed.output.count(reason) == 1
