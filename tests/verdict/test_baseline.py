import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import stored
from mpu_bench import plan, resources
from mpu_bench.errors import StoreError
from mpu_bench.files import csv_text
from mpu_bench.quantities import RECORD_COLUMNS, Record, RunStatus
from mpu_bench.report import checked
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import Store
from mpu_bench.verdict import baseline, comparison
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.regression import Difference, Mismatch
from mpu_bench.verdict.verdict import Verdict
from oracles import made_up

ROOT = Path(__file__).parents[2]
KEPT = Cell(
    "value", "sbp-runtime", 4, "adult", "sbp", column="test_error_percent", published=15.0, measured=15.1, count=5,
    verdict=Verdict.REPRODUCED,
)  # fmt: skip
CLAIM = Cell(
    "claim",
    column="SBP errs less",
    sentence="sbp-errs-less",
    count=3,
    verdict=Verdict.SUPPORTED,
    points=3,
    points_measured=3,
)
SAME = Difference("adult sbp seed=0", Record(dataset="adult", solver="sbp"), (), 1.0)
ROUNDED = replace(SAME, is_other=True)
BROKEN = replace(SAME, mismatches=(Mismatch("updates", "5", "6"),), is_other=True)


def changes(now, kept, run=SAME, exact=False):
    return [(each.words, each.is_fault) for each in baseline.changed(now, kept, [run], exact)]


def test_what_is_accepted_is_all_that_judging_needs(tmp_path):
    folder = made_up.results(tmp_path)
    place = stored.accept(folder, tmp_path / "baseline")
    assert place == tmp_path / "baseline" / "made-up"
    with open_results(folder) as now, open_results(place) as kept:
        assert kept.is_kept
        assert kept.mean_curves == now.mean_curves
        assert [each.row(RECORD_COLUMNS) for each in kept.records()] == [
            each.row(RECORD_COLUMNS) for each in now.records()
        ]
        assert comparison.of_results(kept).cells == comparison.of_results(now).cells == baseline.cells(place)
    about = stored.about(place)
    assert (about["runs"], about["planned"], list(map(str, about["missing"]))) == (
        2,
        3,
        ["part of adult, 1 run: not run"],
    )


def test_the_same_results_are_kept_in_the_same_bytes(tmp_path):
    folder = made_up.results(tmp_path)
    first, second = (stored.accept(folder, tmp_path / name) for name in "ab")
    assert {path.name: path.read_bytes() for path in first.iterdir()} == {
        path.name: path.read_bytes() for path in second.iterdir()
    }


def test_of_what_is_kept_the_verdicts_can_be_accepted_again(tmp_path):
    place = stored.accept(made_up.results(tmp_path), tmp_path / "baseline")
    runs, kept = (place / "runs.csv").read_text(), (place / "comparison.csv").read_text()
    (place / "comparison.csv").write_text(kept.replace("agrees", "differs"))
    assert baseline.check(place, tmp_path / "baseline").has_changed
    assert stored.accept(place, tmp_path / "baseline") == place
    assert ((place / "runs.csv").read_text(), (place / "comparison.csv").read_text()) == (runs, kept)


def test_what_was_kept_of_runs_that_are_not_made_again_stays(tmp_path):
    place = stored.accept(made_up.results(tmp_path / "before"), tmp_path / "baseline")
    with open_results(place) as kept:
        curves = kept.mean_curves
    stored.accept(made_up.results(tmp_path / "after", error=0.2, done=1), tmp_path / "baseline")
    with open_results(place) as kept:
        assert [record.test_error for record in kept.records()] == [0.2, 0.16, None]
        assert len(kept.mean_curves) == len(curves)
    assert stored.about(place)["runs"] == 2


def test_sizes_of_pairs_of_classes_stay_where_the_data_are_no_longer_at_hand(tmp_path):
    known = {"adult": [32561, 32561], "web": [49749, 49749]}
    stored.accept(made_up.results(tmp_path / "before", pairs=known), tmp_path / "baseline")
    later = made_up.results(tmp_path / "after", pairs={"adult": [], "web": [10, 10]})
    with open_results(stored.accept(later, tmp_path / "baseline")) as kept:
        assert kept.fact("pairs") == known | {"web": [10, 10]}


def test_what_is_kept_names_no_folder_of_the_machine(tmp_path):
    folder = made_up.results(tmp_path)
    lost = "a.bz2 is not in /home/somebody/data/files/a.bz2; see https://example.org/files/a.bz2"
    with Store(folder) as store:
        record = replace(store.records()[2], status=RunStatus.UNAVAILABLE, reason=lost)
        store.save(record, [], {"id": "x"})
    place = stored.accept(folder, tmp_path / "baseline")
    kept = "".join(path.read_text() for path in place.iterdir() if path.suffix != ".xz")
    assert "/home" not in kept
    assert "a.bz2 is not in a.bz2; see https://example.org/files/a.bz2" in kept


def test_a_folder_is_held_to_what_is_kept_of_it(tmp_path):
    folder = made_up.results(tmp_path)
    place = stored.accept(folder, tmp_path / "baseline")
    for each, runs in ((folder, 2), (place, 0)):
        same = baseline.check(each, tmp_path / "baseline")
        assert (same.has_changed, len(same.runs), same.baseline) == (False, runs, place)
    other = baseline.check(made_up.results(tmp_path / "later", error=0.2), tmp_path / "baseline")
    assert other.has_changed
    assert [[mismatch[1:3] for mismatch in run.mismatches] for run in other.runs] == [[("20", "15")], [("21", "16")]]
    assert [(each.cell.solver, each.words) for each in other.changes] == [
        ("sbp", "now inconclusive higher, baseline reproduced")
    ]


def test_what_the_baseline_does_not_keep_has_not_changed(tmp_path):
    folder = made_up.results(tmp_path)
    for kept in (None, tmp_path / "baseline"):
        found = baseline.check(folder, kept)
        assert (found.baseline, found.has_changed, found.differs) == (None, False, True)


def test_a_run_that_breaks_is_a_change(tmp_path):
    folder = made_up.results(tmp_path)
    stored.accept(folder, tmp_path / "baseline")
    with Store(folder) as store:
        record = store.records()[0]
        store.save(replace(record, status=RunStatus.CRASHED, reason="a signal", test_error=None), [], {"id": "x"})
    found = baseline.check(folder, tmp_path / "baseline")
    assert [run.mismatches for run in found.runs if run.mismatches] == [(Mismatch("crashed: a signal"),)]


def test_a_run_that_vanished_is_not_among_those_compared(tmp_path):
    folder = made_up.results(tmp_path)
    stored.accept(folder, tmp_path / "baseline")
    with Store(folder) as store:
        store.save(replace(store.records()[0], status=RunStatus.TIMEOUT, test_error=None), [], {"id": "x"})
    (line,) = checked.summaries([baseline.check(folder, tmp_path / "baseline")])
    assert line.startswith("made-up, 1 of the baseline's 2 runs compared with ")


def test_what_the_baseline_itself_measures_is_what_was_accepted():
    """Its runs are the same: a mean, or a count, that is another is the code's."""
    same = KEPT, CLAIM
    assert baseline.changed(same, same, None, True) == []
    fewer = replace(KEPT, count=4), replace(KEPT, verdict=Verdict.NOT_RUN, measured=None, count=0)
    for now in (replace(KEPT, measured=15.2), *fewer, replace(CLAIM, points_measured=2)):
        (change,) = baseline.changed([now], [KEPT if now.kind == "value" else CLAIM], None, True)
        assert change.is_fault
    (gone,) = baseline.changed([replace(fewer[1], parameters="{}")], [KEPT], None, True)
    assert gone.words == "now without a verdict, baseline reproduced"


def test_equal_verdicts_are_no_change():
    assert changes([KEPT, CLAIM], [CLAIM, KEPT]) == []


@pytest.mark.parametrize(
    ("now", "run", "exact", "mismatch"),
    [
        ({"verdict": Verdict.NOT_REPRODUCED, "direction": "higher"}, SAME, False, True),
        ({"verdict": Verdict.NOT_REPRODUCED, "direction": "higher", "measured": 16.0}, ROUNDED, False, False),
        ({"verdict": Verdict.NOT_REPRODUCED, "direction": "higher", "measured": 16.0}, ROUNDED, True, True),
        ({"verdict": Verdict.NOT_REPRODUCED, "direction": "higher", "measured": 16.0}, BROKEN, False, True),
        ({"verdict": Verdict.INCONCLUSIVE, "count": 2, "measured": 16.0}, ROUNDED, True, False),
        ({"kind": "set"}, SAME, False, True),
        ({"published": 15.1}, SAME, False, True),
        ({"verdict": Verdict.NOT_RUN, "measured": None}, SAME, False, True),
    ],
    ids=["another rule", "other rounding", "same machine", "a run has changed", "fewer runs", "another kind",
         "another print", "no longer measured"],
)  # fmt: skip
def test_a_verdict_that_is_another_is_a_fault_unless_rounding_or_fewer_runs_account_for_it(now, run, exact, mismatch):
    assert [each for _, each in changes([replace(KEPT, **now)], [KEPT], run, exact)] == [mismatch]


def test_a_claim_that_is_refuted_later_is_a_change():
    refuted = replace(CLAIM, verdict=Verdict.CONTRADICTED, contradicted=1)
    assert changes([refuted], [CLAIM], BROKEN) == [("now contradicted, baseline supported", True)]
    assert changes([refuted], [CLAIM], ROUNDED) == [
        ("now contradicted, baseline supported; by the other machine's rounding", False)
    ]
    partly = replace(refuted, points_measured=2)
    assert changes([partly], [CLAIM]) == [
        ("now contradicted, baseline supported; now of 2 of 3 points, baseline of 3 of 3 points", False)
    ]  # fmt: skip


def test_seconds_change_with_the_machine_and_the_hour():
    ratio, timed = replace(KEPT, kind="ratio", column="seconds", over="dcd"), replace(CLAIM, timed=1)
    assert (
        changes(
            [replace(ratio, verdict=Verdict.NOT_REPRODUCED), replace(timed, verdict=Verdict.CONTRADICTED)],
            [ratio, timed],
        )
        == []
    )


def test_what_is_judged_for_the_first_time_or_no_more_is_a_change():
    assert changes([KEPT, CLAIM], [KEPT]) == [("the baseline has no verdict on it", True)]
    assert changes([KEPT], [KEPT, CLAIM]) == [("now without a verdict, baseline supported", True)]
    not_run = replace(KEPT, verdict=Verdict.NOT_RUN, measured=None, count=0)
    assert changes([not_run], [KEPT]) == changes([KEPT], [not_run]) == []  # a part of the runs is no change
    assert changes([replace(KEPT, parameters='{"C": 2}')], [not_run]) == []


def test_what_cannot_be_read_is_one_message(tmp_path):
    folder = made_up.results(tmp_path)
    place = stored.accept(folder, tmp_path / "baseline")
    text = (place / "comparison.csv").read_text()
    (place / "comparison.csv").write_text(text.replace("verdict", "judgement", 1))
    with pytest.raises(StoreError, match="no column 'verdict'"):
        baseline.check(folder, tmp_path / "baseline")
    (place / "comparison.csv").unlink()
    with pytest.raises(StoreError, match=r"comparison.csv: is missing"):
        baseline.check(folder, tmp_path / "baseline")
    (place / "about.json").write_text("{}")
    with pytest.raises(StoreError, match=r"about.json: has no 'name'"):
        stored.about(place)
    with Store(tmp_path / "empty", create=True) as store:
        store.save_plan([], {"name": "empty"})
    with pytest.raises(StoreError, match="no run has a result"):
        stored.accept(tmp_path / "empty", tmp_path / "baseline")


@pytest.mark.baseline
def test_every_kept_result_is_shown_somewhere():
    """It is of a paper, or named by a paper's config as evidence, or on the page of comparisons by its figure."""
    folders = stored.folders(ROOT / "results" / "baseline")
    assert folders
    texts = {name: resources.config_path(name).read_text("utf-8") for name in resources.config_names()}
    configs = {name: yaml.safe_load(text) for name, text in texts.items()}
    of_papers = [texts[name] for name, config in configs.items() if "paper" in config]
    for folder in folders:
        facts = json.loads((folder / "about.json").read_text())
        config = configs[facts["config"]]
        is_evidence = any(re.search(rf"\b{facts['config']}\b", text) for text in of_papers)
        assert "paper" in config or is_evidence or config.get("figures"), folder.name


def copied(name, folder, change):
    """Copy kept results, with every row changed."""
    shutil.copytree(ROOT / "results/baseline" / name, folder / name)
    with open_results(folder / name) as kept:
        rows = [change(record.row(RECORD_COLUMNS)) for record in kept.records()]
    (folder / name / "runs.csv").write_text(csv_text(rows, RECORD_COLUMNS))
    return folder / name


#: what is known of a run before it is made
PLANNED = ("experiment", "dataset", "split", "n", "d", "n_test", "classes", "solver", "parameters", "kernel", "seed",
           "budget_vectors", "trial", "tuned", "problem", "as_published", "overridden", "run_id")  # fmt: skip

#: every text for people says what decided something once
WORDS = "seconds 5; past stop: seconds 5; the model is not saved: SIGKILL from outside; could not get more memory"


def reworded(record):
    words = {name: "largest on test set-ci seconds accuracy percent" for name in ("problem", "tuned") if record[name]}
    return record | {"reason": WORDS} | words


@pytest.mark.parametrize("name", ["sbp-runtime", "mpu-hard-margin", "mpu-table1-ci", "bpegasos-table1-ci"])
def test_no_words_for_people_decide(tmp_path, name):
    plain, worded = (
        baseline.check(copied(name, tmp_path / change.__name__.strip("<>"), change), ROOT / "results/baseline")
        for change in (dict, lambda record: reworded(record) | {"tuned": record["tuned"]})
    )
    assert not worded.has_changed
    assert [replace(cell, remark="") for cell in worded.cells] == [replace(cell, remark="") for cell in plain.cells]


def test_no_words_for_people_hide_a_change(tmp_path):
    def tenfold(record):
        return reworded(record) | {"inner_products": record["inner_products"] and 10 * record["inner_products"]}

    changed = copied("mpu-hard-margin", tmp_path, tenfold)
    found = baseline.check(changed, ROOT / "results/baseline")
    counted = [run for run in found.runs if run.record.inner_products]
    assert counted
    assert all(run.mismatches for run in counted)


def solvers_of(folder):
    with open_results(folder) as results:
        return {record.solver for record in results.finished()}


CI = sorted(path.parent.name for path in (ROOT / "results/baseline").glob("*-ci/runs.csv"))


@pytest.mark.parametrize("name", CI)
def test_the_runs_of_a_profile_for_ci_are_all_in_the_baseline(tmp_path, name):
    """A result of an older version of a solver, or of another choice of parameters, would be compared with none."""
    planned = {run.run_id for run in plan(name.removesuffix("-ci"), profile="ci", results=tmp_path).runs}
    with open_results(ROOT / "results/baseline" / name) as results:
        kept = {record.run_id for record in results.records()}
    assert planned - {""} <= kept, f"mpu-bench run {name.removesuffix('-ci')} --profile ci; scripts/accept.py"


@pytest.mark.parametrize("name", CI)
def test_a_part_of_the_same_results_has_not_changed(tmp_path, name):
    """As `run --only solver=X` leaves it; that of another solver is not run."""

    def not_run(record):
        planned = dict.fromkeys(RECORD_COLUMNS) | {name: record[name] for name in PLANNED}
        return planned | {"status": "not run", "reason": ""}

    for solver in solvers_of(ROOT / "results/baseline" / name):
        part = copied(name, tmp_path / solver, lambda row: row if row["solver"] == solver else not_run(row))  # noqa: B023
        found = baseline.check(part, ROOT / "results/baseline")
        assert not found.has_changed, [change.words for change in found.changes]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("put it at /home/me/data/covtype.data.gz by hand", "put it at covtype.data.gz by hand"),
        ("put it at ~/covtype.data.gz by hand", "put it at covtype.data.gz by hand"),
        ("put it at ~/mirror/deep/covtype.data.gz", "put it at covtype.data.gz"),
        ("from https://host/a/b.gz, 3/4 of w/o", "from https://host/a/b.gz, 3/4 of w/o"),
    ],
)
def test_paths_of_this_machine_are_kept_as_names(text, kept):
    assert stored._without_paths(text) == kept


def test_what_is_kept_of_another_version_says_so(tmp_path):
    """Its key became that of the present plan, as if it had been made by it."""
    place = stored.accept(made_up.results(tmp_path / "before"), tmp_path / "baseline")
    later = made_up.results(tmp_path / "after", done=1)
    with Store(later) as store:
        planned = [replace(each, run_id=f"new {each.run_id}") for each in store.records()]
        store.save_plan(planned, store.facts())
        store.save(replace(planned[0], status=RunStatus.DONE, test_error=0.15), [], {"id": "x"})
    stored.accept(later, tmp_path / "baseline")
    with open_results(place) as kept:
        assert [each.run_id for each in kept.records()][:2] == ["new made-up sbp", "made-up libsvm"]
