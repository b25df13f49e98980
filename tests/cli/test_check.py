"""``mpu-bench check``: exit codes, what it says, what it writes for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

import stored
from mpu_bench.cli import verdicts
from mpu_bench.cli.app import app
from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.files import csv_text
from mpu_bench.report import checked, overview
from mpu_bench.results.folder import results_folders
from mpu_bench.verdict import baseline, regression
from mpu_bench.verdict.baseline import VERDICTS
from mpu_bench.verdict.cells import COLUMNS
from mpu_bench.verdict.verdict import Verdict
from oracles import made_up


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a working folder with results that its baseline keeps."""
    monkeypatch.chdir(tmp_path)
    folder = made_up.results(Path("results"))
    stored.accept(folder, Path("results/baseline"))
    return folder


def check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def changed(results: Path) -> Path:
    """Return other results of the same experiment."""
    return made_up.results(results.parent / "later", error=0.2)


def test_what_differs_from_print_is_listed_and_no_failure_but_a_strict_one(results: Path) -> None:
    done = check()
    assert done.exit_code == 0, done.output
    assert "libsvm" in done.output
    assert (
        "made-up, 2 runs compared with results/baseline/made-up (counts must be equal): nothing changed" in done.output
    )
    assert check("--strict").exit_code == 1


def test_a_change_is_a_failure(results: Path) -> None:
    done = check(changed(results))
    assert done.exit_code == 1
    words = " ".join(done.output.split())
    assert "adult sbp seed=0 test error, %: now 20, baseline 15, +5 points" in words
    assert "now inconclusive higher, baseline reproduced" in words
    assert "2 runs and 1 verdict changed" in words


def test_where_nothing_was_run_the_kept_results_are_judged_again(results: Path) -> None:
    (results / "runs.sqlite").unlink()
    (results / "runs.sqlite").parent.rename("elsewhere")
    done = check()
    assert done.exit_code == 0, done.output
    assert "made-up, under the current rules: nothing changed" in done.output


def test_results_without_a_baseline_are_no_failure(results: Path) -> None:
    other = made_up.results(Path("results"), "other")
    done = check(other)
    assert done.exit_code == 0
    assert "not in the baseline: other; it has a folder for each experiment" in done.output
    Path("results/baseline").rename("kept")
    assert check(other).exit_code == 0
    assert check(results, "--baseline", "kept").exit_code == 0


def test_bad_input_is_one_message(results: Path, tmp_path: Path) -> None:
    assert "no such folder" in str(check("--baseline", "nowhere").exception)
    renamed = check("--against", "results/baseline").exception
    assert isinstance(renamed, ConfigError)
    assert "is called --baseline now" in str(renamed)
    results.parent.rename("away")
    empty = check().exception
    assert isinstance(empty, StoreError)
    assert "holds no results; run a config first" in str(empty)


def test_json_says_all_that_the_table_says(results: Path) -> None:
    done = check(changed(results), "--format", "json")
    assert done.exit_code == 1
    (found,) = json.loads(done.output)
    assert (found["experiment"], found["changed"], found["differs"], found["runs"]) == ("made-up", True, True, 2)
    assert found["verdicts"][0]["verdict"] == "differs"
    assert {"experiment", "what", "words", "is_fault"} == set(found["changes"][0])


def test_junit_is_a_case_for_each_run_and_verdict(results: Path) -> None:
    def suite(*arguments: str | Path) -> tuple[ET.Element, dict[str, Any]]:
        (found,) = ET.fromstring(check(*arguments, "--format", "junit").output)
        failures = {case.get("name"): case[0].get("message") for case in found if case.find("failure") is not None}
        assert (len(found), len(failures)) == (int(found.get("tests", 0)), int(found.get("failures", 0)))
        return found, failures

    same, failures = suite()
    assert failures == {}
    assert {case.get("classname") for case in same} >= {"made-up.runs", "made-up.value", "made-up.claim"}
    _, failures = suite("--strict")
    assert failures == {
        "sbp-runtime row 1, adult, libsvm, test_error_percent": "not reproduced (higher, worse): "
        "reported 14.9, measured 16"
    }
    _, failures = suite(changed(results))
    assert failures["adult sbp seed=0"] == "test error, %: now 20, baseline 15, +5 points"
    assert len(failures) == 3


def test_github_gets_an_annotation_for_each_change_and_a_summary(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = changed(results)
    done = check(other, "--format", "github")
    assert done.exit_code == 1
    annotations = [line for line in done.output.splitlines() if line.startswith("::")]
    assert "::error title=made-up::adult sbp seed=0: test error, %25: now 20, baseline 15, +5 points" in annotations
    assert len(annotations) == 3
    assert "| made-up | adult sbp seed=0 |" in done.output
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    Path("summary.md").write_text("of the step before\n", encoding="utf-8")
    assert check(other, "--format", "github").output.splitlines() == annotations
    summary = Path("summary.md").read_text(encoding="utf-8")
    assert summary.startswith("of the step before\n| mpu-bench check |")
    assert "verdict changed" in summary
    assert "| adult sbp seed=0 |" in summary


def test_what_a_strict_check_fails_for_is_annotated(results: Path) -> None:
    assert "::" not in check(results, "--format", "github").output
    done = check(results, "--format", "github", "--strict")
    assert done.exit_code == 1
    words = "sbp-runtime row 1, adult, libsvm, test_error_percent: not reproduced (higher, worse): reported 14.9"
    assert f"::error title=made-up::{words}, measured 16" in done.output


@pytest.mark.parametrize("name", ["mpu-hard-margin-ci", "fw-table2-ci", "bpegasos-table1-ci"])
def test_no_two_cases_have_one_name(name: str) -> None:
    folder = Path(__file__).parents[2] / "results/baseline" / name
    copy = [baseline.check(folder, None)]
    (suite,) = ET.fromstring(checked.junit_text(copy, strict=False))
    cases = [(case.get("classname"), case.get("name")) for case in suite]
    runs = regression.read(folder)
    names = [each.name for each in regression.differences(runs, runs)]
    assert (len(set(cases)), len(set(names))) == (len(cases), len(names))


def test_a_fresh_clone_is_checked_on_one_screen_with_the_counts_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    checks: dict[Path, baseline.Check] = {}

    def remembered(folder: Path, against: Path | None) -> baseline.Check:
        return checks.get(folder) or checks.setdefault(folder, baseline.check(folder, against))

    monkeypatch.setattr(verdicts, "check_folder", remembered)
    done = check()
    lines = done.output.splitlines()
    assert done.exit_code == 0
    assert len(lines) < 40
    assert lines[-1].endswith("experiments, under the current rules: nothing changed")
    stale = [
        folder
        for folder, each in checks.items()
        if csv_text([cell.written() for cell in each.cells], COLUMNS) != (folder / VERDICTS).read_text("utf-8")
    ]
    assert stale == [], "run scripts/accept.py results/baseline/*/"
    narrow = CliRunner().invoke(app, ["check"], env={"COLUMNS": "80", "TTY_COMPATIBLE": "1"})
    assert len(narrow.output.splitlines()) < 40
    site = overview.by_table(map(overview.of_folder, results_folders(Path("results"), profiles=False)))
    counts = overview.by_paper(site)[-1]
    (all_of_it,) = (line.split() for line in lines if line.startswith("all "))
    assert list(map(int, all_of_it[1:])) == [counts[verdict] for verdict in Verdict if counts[verdict]]
