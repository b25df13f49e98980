"""The verbs on results folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import stored
from command_line import Called
from mpu_bench.cli.app import app
from mpu_bench.errors import StoreError
from mpu_bench.results.store import FILE
from oracles import made_up


def called(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in arguments])


def test_clean_deletes_only_a_results_folder(place: Path, mpu_bench: Called) -> None:
    mpu_bench("run", "tried.yaml", "--repeats", "1")
    assert mpu_bench("clean", "results/tried", "--yes").returncode == 0
    assert not (place / "results" / "tried").exists()
    assert (place / "tried.yaml").exists()


def test_a_folder_is_cleaned_from_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made_up.results(tmp_path))
    assert called("clean", ".", "--yes").exit_code == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_no_run_writes_over_kept_results(place: Path, mpu_bench: Called, more: list[str]) -> None:
    kept = stored.accept(made_up.results(place / "made"), place / "results")
    kept = kept.rename(place / "results" / "tried")
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    done = mpu_bench("run", "tried.yaml", *more)
    assert done.returncode == 2
    assert "is a baseline, which runs must not change" in done.stderr
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_no_plan_is_made_for_a_folder_of_another_config(place: Path, mpu_bench: Called) -> None:
    assert mpu_bench("run", "tried.yaml", "--repeats", "1").returncode == 0
    (place / "elsewhere").mkdir()
    other = (place / "tried.yaml").read_text(encoding="utf-8").replace("C: 1", "C: 2")
    (place / "elsewhere" / "other.yaml").write_text(other, encoding="utf-8")
    done = mpu_bench("run", "elsewhere/other.yaml", "--dry-run")
    assert (done.returncode, "holds results of another config" in done.stderr) == (2, True)


def test_kept_results_are_shown_drawn_written_and_exported_like_any_other(tmp_path: Path) -> None:
    folder = made_up.results(tmp_path)
    place = stored.accept(folder, tmp_path / "baseline")
    for verb in (["show"], ["export"], ["export", "--to", "md"], ["compare", folder]):
        now, kept = called(*verb, folder), called(*verb, place)
        assert now.exit_code == kept.exit_code == 0, (verb, kept.exception)
        assert kept.output.replace(str(place), str(folder)) == now.output
    for each in (folder, place):
        assert called("plot", each, "--out", tmp_path / f"figures of {each.parent.name}").exit_code == 0
        assert called("report", each, "--out", tmp_path / f"page of {each.parent.name}").exit_code == 0
    for kind in ("figures of", "page of"):
        now, kept = (
            {path.name: path.read_bytes() for path in (tmp_path / f"{kind} {name}").iterdir()}
            for name in (tmp_path.name, "baseline")
        )
        assert now == kept


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "cannot be read"),
        (lambda _: b"no database" * 100, "cannot be read"),
        (lambda data: data[:60] + (7).to_bytes(4, "big") + data[64:], "another version"),
    ],
    ids=["half", "noise", "version"],
)
def test_half_a_database_or_one_of_another_version_is_one_message(
    damage: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    folder = made_up.results(tmp_path)
    (folder / FILE).write_bytes(damage((folder / FILE).read_bytes()))
    for verb in (["check", folder], ["report", folder, "--out", tmp_path / "page"], ["compare", folder, folder],
                 ["check", folder, "--baseline", tmp_path], ["export", folder], ["show", folder]):  # fmt: skip
        fault = called(*verb).exception
        assert isinstance(fault, StoreError), (verb, fault)
        assert message in str(fault)
        assert len(str(fault).splitlines()) == 1
