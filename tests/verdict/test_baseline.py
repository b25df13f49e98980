import csv
import importlib.util
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mpu_bench.cli.app import app
from mpu_bench.errors import StoreError
from mpu_bench.report import overview
from mpu_bench.results.store import FILE, Store
from mpu_bench.verdict import baseline, comparison, regression
from oracles import made_up

ROOT = Path(__file__).parents[2]
BASELINE = ROOT / "results" / "baseline"


def check(*arguments):
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_what_is_accepted_is_what_later_results_are_held_to(tmp_path):
    folder = made_up.results(tmp_path)
    place = baseline.accept(folder, tmp_path / "baseline")
    assert place == tmp_path / "baseline" / "made-up"
    same = check(folder, "--against", tmp_path / "baseline")
    assert same.exit_code == 0, same.output
    (tmp_path / "later").mkdir()
    other = made_up.results(tmp_path / "later", error=0.1501)
    changed = check(other, "--against", tmp_path / "baseline")
    assert changed.exit_code == 1
    assert "test error 15.01% and 15%" in " ".join(changed.output.split())


def test_what_is_kept_can_be_judged_again(tmp_path):
    folder = made_up.results(tmp_path)
    place = baseline.accept(folder, tmp_path / "baseline")
    assert baseline.cells(place) == overview.of_folder(folder).cells
    about = baseline.about(place)
    assert (about["runs"], about["planned"], about["missing"]) == (2, 3, ["part of adult, 1 run: not run"])


def test_what_is_kept_names_no_folder_of_the_machine(tmp_path):
    folder = made_up.results(tmp_path)
    lost = "a.bz2 is not in /home/somebody/data/files/a.bz2; see https://example.org/files/a.bz2"
    with Store(folder) as store:
        record = store.records()[2] | {"status": "unavailable", "reason": lost}
        store.save(record, [], {"id": "x"})
    place = baseline.accept(folder, tmp_path / "baseline")
    kept = "".join(path.read_text() for path in place.iterdir())
    assert "/home" not in kept
    assert "a.bz2 is not in a.bz2; see https://example.org/files/a.bz2" in kept


def accepted_with_seconds(tmp_path, name, *seconds):
    place = baseline.accept(made_up.results(tmp_path, name), tmp_path / f"{name} kept")
    with (place / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (place / "runs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"train_seconds": each} for row, each in zip(rows, seconds, strict=True))
    return regression.read(place)


@pytest.mark.parametrize(
    ("now", "slower"),
    [((10, 25), False), ((1, 2.5), False), ((1, 6.5), True), ((0.1, 0.65), False), ((10, 1), False)],
    ids=["a slower machine", "a little", "another algorithm", "too short to tell", "faster"],
)
def test_seconds_are_held_to_those_of_the_first_solver(tmp_path, now, slower):
    left, right = accepted_with_seconds(tmp_path, "now", *now), accepted_with_seconds(tmp_path, "before", 1, 2)
    assert bool(regression.slower(left, right)) == slower


def test_what_cannot_be_held_against_anything_is_one_message(tmp_path):
    folder = made_up.results(tmp_path)
    assert "keeps nothing of made-up" in str(check(folder, "--against", tmp_path / "absent").exception)
    place = baseline.accept(folder, tmp_path / "baseline")
    text = (place / "comparison.csv").read_text()
    (place / "comparison.csv").write_text(text.replace("verdict", "judgement", 1))
    with pytest.raises(StoreError, match="no column 'verdict'"):
        baseline.cells(place)
    (place / "comparison.csv").unlink()
    with pytest.raises(StoreError, match=r"comparison.csv is missing"):
        baseline.cells(place)
    (place / "about.json").write_text("{}")
    with pytest.raises(StoreError, match=r"about.json: cannot be read"):
        baseline.about(place)
    with Store(tmp_path / "empty", create=True) as store:
        store.save_plan([], {"name": "empty"})
    with pytest.raises(StoreError, match="no run has a result"):
        baseline.accept(tmp_path / "empty", tmp_path / "baseline")


def test_half_a_database_or_one_of_another_version_is_one_message(tmp_path):
    for name, damage, message in [
        ("half", lambda data: data[: len(data) // 2], "cannot be read"),
        ("noise", lambda _: b"no database" * 100, "cannot be read"),
        ("version", lambda data: data[:60] + (7).to_bytes(4, "big") + data[64:], "another version"),
    ]:
        folder = made_up.results(tmp_path, name)
        path = folder / FILE
        path.write_bytes(damage(path.read_bytes()))
        for verb in (["check", folder], ["report", folder, "--out", tmp_path / "page"], ["compare", folder, folder],
                     ["check", folder, "--against", tmp_path], ["export", folder], ["show", folder]):  # fmt: skip
            done = CliRunner().invoke(app, [str(word) for word in verb])
            assert isinstance(done.exception, StoreError), (name, verb, done.exception)
            assert message in str(done.exception)
            assert len(str(done.exception).splitlines()) == 1


def cell(table, row, verdict, reason="", column="seconds", **more):
    facts = dict.fromkeys(comparison.COLUMNS, "") | {"published": 1.0, "measured": None, "count": 0, "kind": "cell"}
    numbers = dict.fromkeys(["published_std", "measured_std", "difference", "relative_difference"])
    return comparison.Cell(
        **facts | numbers | {"table": table, "row": row, "verdict": verdict, "column": column, "reason": reason} | more
    )


def test_cells_of_several_experiments_come_together():
    elsewhere = "the dataset is not part of this run"
    first = [cell("mpu-table1", 1, "within", column="seconds / dcd's"), cell("mpu-table1", 2, "not run", elsewhere)]
    second = [cell("mpu-table1", 1, "not run", elsewhere), cell("mpu-table1", 2, "not run", "timeout")]
    third = [cell("", 0, "outside", column="SBP is below", kind="claim")]
    found = overview.by_table([
        overview.ExperimentCells("sbp-2012", "sbp-figure2-ci", third),
        overview.ExperimentCells("mpu-2010", "mpu-table1", first),
        overview.ExperimentCells("mpu-2010", "mpu-else", second),
    ])  # fmt: skip
    assert [each.file for each in found] == ["mpu-2010-table1", "sbp-2012-figure2"]
    assert [(each.row, each.verdict, each.reason) for each in found[0].cells] == [
        (1, "within", ""),
        (2, "not run", "timeout"),
    ]
    assert overview.any_outside(found)
    assert "| sbp-2012 | figure2 |  |  |  | 1 |  |" in overview.markdown(found)


def test_what_one_experiment_claims_is_not_missing_in_another():
    first = [cell("forgetron-figure2", 1, "within", kind="claim", column="the active set", tolerance="absolute 126")]
    second = [cell("forgetron-figure2", 1, "not run", "the config has no rule for value", column="value"),
              cell("forgetron-figure2", 1, "not run", "timeout", column="n", tolerance="exact")]  # fmt: skip
    experiments = [
        overview.ExperimentCells("forgetron-2005", "forgetron-figure2-census", first),
        overview.ExperimentCells("forgetron-2005", "forgetron-figure2-mnist", second),
    ]
    (found,) = overview.by_table(experiments)
    assert [each.column for each in found.cells] == ["n", "the active set"]


def test_the_readme_of_the_baseline_shows_what_is_kept():
    path = ROOT / "scripts" / "accept.py"
    accept = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("accept", path))
    spec.loader.exec_module(accept)
    kept = (BASELINE / "README.md").read_text(encoding="utf-8")
    assert kept == accept.readme(BASELINE), "run scripts/accept.py"


def test_every_kept_result_is_of_a_config_of_a_paper():
    folders = baseline.folders(BASELINE)
    assert folders
    for folder in folders:
        facts = json.loads((folder / "about.json").read_text())
        assert facts["paper"]
        assert (ROOT / "configs" / f"{facts['config']}.yaml").is_file()
