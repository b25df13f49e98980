"""The papers' tables in one command: order, resumption, failures, what is written, and the exit code."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mpu_bench
from mpu_bench.cli.app import app
from mpu_bench.config import read
from mpu_bench.experiment import reproduce as reproduction
from mpu_bench.experiment.options import ReproduceOptions
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.results.store import Store

PLUGIN = Path(__file__).parents[1] / "plugins" / "misbehaving.py"
CONFIGS = {
    "mpu-tiny": """
        name: mpu-tiny
        paper: mpu-2010
        dataset: {digits: {positive: ["8"]}}
        solvers: [dcd: {C: 1, tolerance: 0.1}]
        published: mpu-table1
        claims:
          - claim: dcd has an objective
            statement: {kind: bound, quantity: objective, of: {solver: dcd}, against: 200, each: {dataset: digits}}
        profiles: {ci: {}}
    """,
    "sbp-tiny": """
        name: sbp-tiny
        paper: sbp-2012
        datasets: [physics, {checkerboard: {rows: 300, test_rows: 50}}, covertype]
        solvers: [dcd]
        published: sbp-runtime
        placement: together
        profiles: {ci: {}}
    """,
    "sbp-else": "name: sbp-else\npaper: sbp-2012\ndataset: adult\nsolvers: [dcd]\n",
    "other": "name: other\ndataset: adult\nsolvers: [dcd]\nprofiles: {ci: {}}\n",
    "broken": "name: broken\npaper: sbp-2012\n",
}


@pytest.fixture
def shipped_configs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put made-up configs in place of those of the project."""
    folder = tmp_path / "configs"
    folder.mkdir()
    for name, text in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(reproduction, "config_names", lambda: sorted(path.stem for path in folder.glob("*.yaml")))
    monkeypatch.setattr(read, "find_config", lambda path: folder / f"{path.name}.yaml")
    monkeypatch.setenv("MPU_BENCH_MIRROR", "")
    monkeypatch.chdir(tmp_path)
    return folder


def reproduce(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["reproduce", "--offline", "--profile", "ci", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.output
    return done.exit_code, done.output


def test_from_configs_to_tables(shipped_configs: Path, tmp_path: Path) -> None:
    (shipped_configs / "broken.yaml").unlink()
    code, told = reproduce()
    assert code == 0, told  # data that cannot be had are no failure
    assert "sbp-else: left out, it has no profile 'ci'" in told
    assert [told.index(f"{name} on") for name in ("sbp-tiny-ci", "mpu-tiny-ci")] == sorted(
        told.index(f"{name} on") for name in ("sbp-tiny-ci", "mpu-tiny-ci")
    )  # the checkerboard has fewer rows
    tables = tmp_path / "results" / "tables"
    assert {path.name for path in tables.iterdir()} >= {
        *("overview.md", "overview.csv", "mpu-2010-table1.csv", "mpu-2010-table1.md", "mpu-2010-table1.tex"),
        *("mpu-2010-tiny.md", "sbp-2012-runtime.csv"),
    }
    with (tables / "overview.csv").open(newline="") as file:
        overview = {row["table"]: row for row in csv.DictReader(file)}
    assert overview["tiny"] | {"paper": "mpu-2010", "holds": "1", "refuted": "0"} == overview["tiny"]
    assert int(overview["table1"]["not run"]) == 36 + 27  # objectives, and seconds as ratios to DCD's
    assert "dcd has an objective" in (tables / "mpu-2010-tiny.md").read_text()
    assert (tmp_path / "results" / "page" / "index.html").is_file()
    with Store(tmp_path / "results" / "sbp-tiny-ci") as store:
        physics, checkerboard, covertype = store.records()
        assert store.facts()["options"] == ["--profile", "ci"]
    assert [each.status for each in (physics, checkerboard, covertype)] == ["unavailable", "done", "unavailable"]
    assert "phy_train" in physics.reason
    assert "covtype" in covertype.reason
    _, again = reproduce()
    assert "1 run finished before, 0 runs to do" in again
    words = ["run", "sbp-tiny", "--profile", "ci", "--offline", "--only", "dataset=checkerboard"]
    assert CliRunner().invoke(app, words).exit_code == 0
    with Store(tmp_path / "results" / "sbp-tiny-ci") as store:
        assert [record.status for record in store.records()] == ["unavailable", "done", "unavailable"]


def test_a_program_reproduces_the_same(shipped_configs: Path, tmp_path: Path) -> None:
    (shipped_configs / "broken.yaml").unlink()
    made = mpu_bench.reproduce("mpu-2010", profile="ci", offline=True, results=tmp_path / "made")
    assert list(made.results) == ["mpu-tiny-ci"]
    assert set(made.results["mpu-tiny-ci"].runs.status) <= {"done", "stopped"}
    assert made.failures == []
    assert {"mpu-2010"} == set(made.verdicts.paper)
    assert (tmp_path / "made" / "tables" / "overview.csv").is_file()
    assert (tmp_path / "made" / "page" / "index.html").is_file()


def test_a_run_that_fails_is_exit_code_1_and_a_verdict_never(shipped_configs: Path, tmp_path: Path) -> None:
    path = shipped_configs / "mpu-tiny.yaml"
    path.write_text(path.read_text().replace("against: 200", "against: 100"), encoding="utf-8")
    (shipped_configs / "broken.yaml").unlink()
    code, told = reproduce("--paper", "mpu-2010")
    assert code == 0
    assert "contradicted" in told
    assert "dcd has an objective" in told
    path.write_text(
        f"name: mpu-fails\npaper: mpu-2010\ndataset: {{checkerboard: {{rows: 300, test_rows: 50}}}}\n"
        f"plugins: [{PLUGIN}]\nsolvers: [{{misbehaving: {{how: [kill, finish]}}}}]\nstop: {{seconds: 0.4}}\n"
        "profiles: {ci: {}}\n",
        encoding="utf-8",
    )
    code, told = reproduce("--paper", "mpu-2010", "--out", "elsewhere")
    assert code == 1
    assert "failed: mpu-fails-ci on checkerboard: misbehaving kill seed=0: crashed" in told
    assert (tmp_path / "elsewhere" / "overview.md").is_file()


def test_a_config_that_cannot_be_read_is_told_and_the_others_are_read(shipped_configs: Path) -> None:
    told: list[str] = []
    found, faults = reproduction.experiments([], "ci", told.append)
    assert [experiment.name for experiment in found] == ["mpu-tiny-ci", "sbp-tiny-ci"]
    assert len(faults) == 1
    assert "broken.yaml" in faults[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--paper", "mpu-2011"], "did you mean 'mpu-2010'"), (["--data-limit", "much"], "such as 200MB")],
)
def test_a_mistake_is_one_message(shipped_configs: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert message in str(done.exception)


def test_cheap_steps_come_first() -> None:
    found, faults = reproduction.experiments([], "ci", lambda _: None)
    assert not faults
    steps = reproduction.steps(found, ReproduceOptions())
    known = [step.estimate.seconds for step in steps if not step.estimate.unknown]
    assert len(known) > len(steps) / 2
    assert known == sorted(known)
    assert {run.dataset.label for step in steps for run in step.chosen.runs} >= {"adult", "web", "digits"}


def test_steps_of_unknown_time_are_sorted_by_their_examples(shipped_configs: Path) -> None:
    found, _ = reproduction.experiments([], "ci", lambda _: None)
    steps = reproduction.steps(found, ReproduceOptions())
    assert all(step.estimate.unknown for step in steps)
    assert [step.examples for step in steps] == sorted(step.examples for step in steps)


def test_several_runs_at_once_only_where_seconds_are_not_judged(
    shipped_configs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shipped_configs / "broken.yaml").unlink()
    at_once: list[int] = []
    monkeypatch.setattr(LocalPool, "use_jobs", lambda _self, jobs: at_once.append(jobs))
    found, _ = reproduction.experiments([], "ci", lambda _: None)
    timed = [step.chosen.experiment.is_timed for step in reproduction.steps(found, ReproduceOptions())]
    assert any(timed)
    assert not all(timed)
    code, told = reproduce("--jobs", "3")
    assert code == 0, told
    assert at_once == [1 if is_timed else 3 for is_timed in timed]
    not_timed = {each.name for each in found if not each.is_timed}
    assert f"3 parallel runs, so their seconds are not comparable: {', '.join(not_timed)}" in told


def test_a_dry_run_tells_what_is_to_do_and_does_nothing(shipped_configs: Path, tmp_path: Path) -> None:
    code, told = reproduce("--dry-run")
    assert code == 1  # a config cannot be read
    rows = {line.split()[0]: " ".join(line.split()) for line in told.splitlines() if "-tiny-ci" in line}
    assert rows["mpu-tiny-ci"] == "mpu-tiny-ci 1 0 1 unknown"
    assert rows["sbp-tiny-ci"] == ("sbp-tiny-ci 3 0 1 unknown 2 (physics: manual download only; covertype: offline)")
    assert "to do: 2 runs, training time unknown" in told
    assert "to download: nothing" in told
    assert not (tmp_path / "results").exists()


def test_a_dry_run_knows_the_limit_of_what_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPU_BENCH_MIRROR", "")
    arguments = ["reproduce", "--dry-run", "--profile", "ci", "--paper", "frank-wolfe-2012", "--data", str(tmp_path)]
    done = CliRunner().invoke(app, [*arguments, "--data-limit", "1kB"])
    assert "larger than 1.0 kB" in done.output
    assert "to download: nothing" in done.output
