"""``mpu-bench try``, with few classifiers and few rows."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import get_args
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import mpu_bench
from command_line import COMMAND, Called, environment
from mpu_bench.cli import selecting
from mpu_bench.cli.adding import file_options_of
from mpu_bench.cli.options import Metric
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.user_files.adding import options_of
from mpu_bench.files import process_lock
from mpu_bench.models.evaluation import METRICS
from mpu_bench.results.store import LOCK
from mpu_bench.selection.rows import Source

ONLY = "dcd,bpegasos-20,LogisticRegression"


@pytest.fixture
def table(place: Path) -> pd.DataFrame:
    """Write a file with words, numbers that are missing, and labels of words."""
    random = np.random.default_rng(0)
    n = 400
    age, color = random.normal(40, 10, n), random.choice(["red", "green", ""], n)
    label = np.where(age + 8 * (color == "red") + random.normal(0, 2, n) > 43, "yes", "no")
    ages = [f"{value:.2f}" if i % 50 else "?" for i, value in enumerate(age)]
    frame = pd.DataFrame({"age": ages, "color": color, "answer": label})
    frame.to_csv(place / "mine.csv", index=False)
    return frame


def test_a_file_becomes_a_table_a_picture_a_model_and_a_config(
    table: pd.DataFrame, place: Path, mpu_bench_command: Called
) -> None:
    done = mpu_bench_command("try", "mine.csv", "--only", ONLY, "--budget", "20", "--jobs", "1", "--seconds", "60")
    assert done.returncode == 0, done.stderr
    folder = place / "results" / "try-mine"
    with (folder / "candidates.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == sorted([*ONLY.split(","), "constant"])
    (chosen,) = [row for row in rows.values() if row["chosen"] == "True"]
    assert chosen["name"] in ("dcd", "bpegasos-20")
    assert chosen["rows"] == "320"
    assert "accuracy chooses (no class is rare), by 5-fold cross-validation, 3 times" in done.stderr
    assert f"mine: take {chosen['name']} (" in done.stdout
    assert "points better than a constant (95% from " in done.stdout
    assert "LogisticRegression, the best reference (95% from " in done.stdout
    assert "What it costs: " in done.stdout
    assert float(rows.pop("constant")["error"]) > 0.25
    assert all(int(row["tested"]) == 80 and float(row["error"]) < 0.25 for row in rows.values())
    assert int(rows["bpegasos-20"]["vectors"]) <= 20
    assert (folder / "front.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert 'role="img" aria-label="error, % of each classifier against the bytes of its model"' in page
    assert f"take {chosen['name']} (" in page
    assert (folder / "model.onnx").stat().st_size > 100
    assert "int model_predict(" in (folder / "model.c").read_text(encoding="utf-8")

    model = mpu_bench.load(folder / "model.mpu")
    assert set(model.predict(table)) <= {"yes", "no"}
    assert np.mean(model.predict(table.drop(columns="answer")) == table["answer"]) > 0.85
    again = mpu_bench_command("run", "results/try-mine/repeat.yaml")
    assert again.returncode == 0, again.stderr
    (run,) = mpu_bench.read(place / "results" / "try-mine-again").runs.itertuples()
    assert run.test_error == float(chosen["error"])
    evaluated = mpu_bench_command("evaluate", "results/try-mine/model.mpu", "mine.csv")
    assert evaluated.returncode == 0, evaluated.stderr
    assert all(f"{words}, %: " in evaluated.stdout for words in ("F1", "AUC", "average precision"))
    assert "mine.csv: contains the rows that this model was trained on" in evaluated.stderr
    table.iloc[:90].to_csv(place / "new.csv", index=False)
    assert "trained on" not in mpu_bench_command("evaluate", "results/try-mine/model.mpu", "new.csv").stderr


def test_columns_that_are_left_out_are_named_with_the_reason(
    table: pd.DataFrame, place: Path, mpu_bench_command: Called
) -> None:
    table.insert(0, "id", [f"row-{i}" for i in range(len(table))])
    table.insert(1, "nothing", "")
    table.to_csv(place / "mine.csv", index=False)
    done = mpu_bench_command("try", "mine.csv", "--only", "dcd", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "column 'id' is left out: an identifier: nearly every row has a word of its own" in done.stderr
    assert "column 'nothing' is left out: has no value" in done.stderr
    assert "column 'age'" not in done.stderr


def test_the_fewest_seconds_come_to_a_choice_too(table: pd.DataFrame, place: Path, mpu_bench_command: Called) -> None:
    """What seconds are for is training: processes that begin, and the compiler, are waited for."""
    done = mpu_bench_command("try", "mine.csv", "--only", "dcd,mpu", "--seconds", "1")
    assert done.returncode == 0, done.stderr
    assert "mine: take " in done.stdout
    assert "s to tune and test, the rest to read the data, start processes, compile and write" in done.stderr
    assert (place / "results" / "try-mine" / "model.mpu").exists()


@pytest.mark.parametrize(("share", "metric"), [(0.5, None), (0.1, None), (0.3, "auc")])
def test_nothing_is_chosen_where_nothing_beats_a_constant(
    place: Path, mpu_bench_command: Called, share: float, metric: str | None
) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(300, 3)).round(4), columns=["a", "b", "c"])
    frame.assign(label=np.where(random.random(300) < share, "yes", "no")).to_csv(place / "noise.csv", index=False)
    given = [] if metric is None else ["--metric", metric]
    done = mpu_bench_command("try", "noise.csv", "--only", "dcd,mpu", "--jobs", "1", "--seconds", "20", *given)
    assert done.returncode == 1, done.stderr
    assert "noise: nothing was chosen, and no model is saved: the best, " in done.stdout
    assert "is not better than a constant beyond chance" in done.stdout
    assert sorted(each.name for each in (place / "results" / "try-noise").iterdir()) == [
        LOCK,
        "candidates.csv",
        "front.png",
        "front.svg",
        "report.html",
    ]


def test_classes_as_many_as_rows_take_no_seconds(place: Path, mpu_bench_command: Called) -> None:
    names = pd.DataFrame({"age": range(60), "name": [f"n{i}" for i in range(60)]})
    names.to_csv(place / "names.csv", index=False)
    done = mpu_bench_command("try", "names.csv")
    assert done.returncode == 2
    assert "--label" in done.stderr
    assert not (place / "results").exists()


def test_one_row_besides_a_class_leaves_none_to_choose_by(place: Path, mpu_bench_command: Called) -> None:
    for name, rare in (("rare", 1), ("test", 20)):
        answers = ["yes"] * rare + ["no"] * (60 - rare)
        pd.DataFrame({"age": range(60), "answer": answers}).to_csv(place / f"{name}.csv", index=False)
    done = mpu_bench_command("try", "rare.csv", "--test", "test.csv")
    assert done.returncode == 2
    assert "all training rows but one are of class 'no'" in done.stderr
    assert not (place / "results").exists()


@pytest.mark.parametrize(("rows", "rare"), [(2600, 2), (60, 1)])
def test_a_class_of_few_rows_is_named_before_it_chooses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int, rare: int
) -> None:
    for name, count in (("mine", rare), ("test", 20)):
        answers = ["rare"] * count + [["no", "yes"][i % 2] for i in range(rows - count)]
        pd.DataFrame({"age": range(rows), "answer": answers}).to_csv(tmp_path / f"{name}.csv", index=False)
    file_options = {"test": str(tmp_path / "test.csv")}
    dataset = options_of(tmp_path / "mine.csv", file_options_of(file_options, "try"), "mine.csv", "mine")
    source = Source(*dataset, home=DataDirectory(tmp_path / "data"))
    selecting._loaded(source, None)
    said = capsys.readouterr().err
    assert f"warning: class 'rare' has {rare} of the training rows, too few to choose by" in said
    assert "give more rows of it" in said


def test_the_metrics_are_those_of_the_option() -> None:
    assert get_args(Metric) == (*METRICS,)


@pytest.mark.parametrize("learner", ["dcd", "rff-32", "bpegasos-100"])
def test_where_a_class_is_rare_the_config_repeats_weights_and_threshold(
    place: Path, mpu_bench_command: Called, learner: str
) -> None:
    random = np.random.default_rng(0)
    labels = np.where(np.arange(600) % 20 == 0, "fault", "fine")
    values = random.normal(size=(600, 3)) + np.where(labels == "fault", 1.5, 0)[:, np.newaxis]
    pd.DataFrame(values.round(4), columns=["a", "b", "c"]).assign(answer=labels).to_csv(place / "rare.csv", index=False)
    options = ["--label", "answer", "--only", learner, "--jobs", "1", "--seconds", "60"]
    done = mpu_bench_command("try", "rare.csv", *options)
    assert done.returncode == 0, done.stderr
    assert "and the threshold" in done.stderr
    folder = place / "results" / "try-rare"
    config = (folder / "repeat.yaml").read_text(encoding="utf-8")
    assert "score_threshold: " in config
    assert ("class_weight: balanced" in config) == (learner != "bpegasos-100")
    with (folder / "candidates.csv").open(newline="", encoding="utf-8") as file:
        row = next(each for each in csv.DictReader(file) if each["name"] == learner)
    done = mpu_bench_command("run", "results/try-rare/repeat.yaml")
    assert done.returncode == 0, done.stderr
    (run,) = mpu_bench.read(place / "results" / "try-rare-again").runs.itertuples()
    assert run.test_error == float(row["error"])
    assert run.balanced_error == pytest.approx(1 - float(row["balanced_accuracy"]))
    model = mpu_bench.load(folder / "model.mpu")
    assert model.origin.parameters["score_threshold"] == float(row["threshold"])
    exported = mpu_bench_command("export-c", "results/try-rare/model.mpu", "--out", "x.c", "--check", "rare.csv")
    assert "100.00% agree" in exported.stdout + exported.stderr


def test_a_reference_is_chosen_only_where_any_may_be(place: Path, mpu_bench_command: Called) -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=(600, 2)).round(4)
    labels = np.where(values[:, 0] * values[:, 1] > 0, "yes", "no")
    pd.DataFrame(values, columns=["a", "b"]).assign(answer=labels).to_csv(place / "xor.csv", index=False)
    options = ["--only", "dcd,HistGradientBoosting", "--jobs", "1", "--metric", "accuracy"]
    assert "take HistGradientBoosting" not in mpu_bench_command("try", "xor.csv", *options).stdout
    done = mpu_bench_command("try", "xor.csv", *options, "--any")
    assert done.returncode == 0, done.stderr
    assert "xor: take HistGradientBoosting (" in done.stdout
    assert "HistGradientBoosting is scikit-learn's: train it there with these values" in done.stdout
    assert not (place / "results" / "try-xor" / "model.mpu").exists()


@pytest.fixture
def mpu_bench_command(mpu_bench: Called) -> Called:
    return mpu_bench


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "smo,rff-33"], "--only: there is no classifier 'rff-33'; did you mean 'rff-32'?"),
        (
            ["--metric", "auc", "--threshold"],
            "--threshold: it makes no difference to AUC, or there are several classes",
        ),
        (["--budget", "100;500"], "--budget 100;500: must be numbers of support vectors from 2 to 1,000,000, such as"),
        (["--budget", 5000 * "1"], "must be numbers of support vectors from 2 to 1,000,000"),
        (["--memory", "small"], "--memory small: must be a size above 0, such as 200MB"),
        (["--label", "ages"], "mine.csv: has no column 'ages'; did you mean 'age'?"),
        (["--missing", "refuse"], "no number (8 missing in this column); --missing median puts the median"),
    ],
)
def test_a_mistake_is_one_message(
    table: pd.DataFrame, place: Path, mpu_bench_command: Called, options: list[str], words: str
) -> None:
    done = mpu_bench_command("try", "mine.csv", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "results").exists()


def test_interrupted_it_keeps_what_is_known(table: pd.DataFrame, place: Path) -> None:
    command = [*COMMAND, "try", "mine.csv", "--missing", "drop", "--only", "dcd,smo", "--jobs", "1", "--seconds", "300"]
    with subprocess.Popen(
        command, cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        kept = place / "results" / "try-mine" / "candidates.csv"
        end = time.monotonic() + 120
        while not kept.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 130), errors  # it may have ended by itself just then
    assert "dcd" in output
    assert "Traceback" not in errors
    assert kept.exists()
    if process.returncode == 130:
        assert f"interrupted: what was found so far is kept in {Path('results', 'try-mine')}: report.html" in errors


def test_interrupted_while_its_picture_is_drawn_it_keeps_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = SimpleNamespace(save=lambda path: path.write_bytes(b"a model"))
    session = Mock(target=None, **{"choice.return_value": (Mock(), saved)})
    monkeypatch.setattr(selecting, "_keep_table", Mock())
    monkeypatch.setattr(selecting, "_differs", lambda *_: "")
    monkeypatch.setattr(selecting, "config_of", lambda *_, **__: "name: again\n")
    monkeypatch.setattr(selecting, "exports_of", lambda *_: ({}, []))
    monkeypatch.setattr(selecting.front, "drawn", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        selecting._keep(session, Mock(), file="mine.csv", file_options={}, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.mpu", "repeat.yaml"]


def test_what_is_said_of_a_file_is_refused_for_a_dataset(mpu_bench_command: Called, place: Path) -> None:
    (place / "digits").mkdir()  # no file
    done = mpu_bench_command("try", "digits", "--positive", "8", "--split", "0.5", "--missing", "drop")
    assert done.returncode == 2
    assert "--split, --missing: cannot be given for 'digits', which is a dataset with a card, not a file" in done.stderr


def test_beside_a_test_file_the_seed_is_of_the_search_alone(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,a\n2,b\n3,a\n", encoding="utf-8")
    test = str(tmp_path / "b.csv")
    _, _, said = selecting._dataset(str(tmp_path / "a.csv"), {"test": test, "seed": 3})
    assert said == {"test": test, "missing": "median"}


def test_in_svmlight_text_nothing_is_missing(place: Path, mpu_bench_command: Called) -> None:
    random = np.random.default_rng(0)
    X, lines = random.normal(size=(200, 2)), []
    for x, y in X.round(3).tolist():
        lines.append(f"{1 if x + y > 0 else -1} 1:{x} 2:{y}")
    (place / "mine.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = mpu_bench_command("try", "mine.svm", "--only", "dcd", "--jobs", "1", "--seconds", "20")
    assert done.returncode == 0, done.stderr
    assert "missing" not in (place / "results" / "try-mine" / "repeat.yaml").read_text(encoding="utf-8")


def test_a_stream_becomes_a_curve_and_a_model(place: Path, mpu_bench_command: Called) -> None:
    random = np.random.default_rng(0)
    level, color = random.normal(size=600), random.choice(["red", "green"], 600)
    answer = np.where((level + (color == "red") > 0.5) ^ (np.arange(600) >= 400), "yes", "no")  # changes at row 400
    frame = pd.DataFrame({"level": level, "color": color, "answer": answer})
    frame.to_csv(place / "mine.csv", index=False)
    only = "forgetron-50,perceptron-50"
    done = mpu_bench_command("try", "mine.csv", "--online", "--only", only, "--budget", "50")
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout
    assert "on 600 rows, each predicted before it was learned; majority so far: " in done.stdout + done.stderr
    said = re.search(
        r"over 200 rows at a time, \S+ has (\S+) % \(rows (\d+) to (\d+)\) at worst", done.stdout + done.stderr
    )
    assert said is not None
    first, last = int(said[2]), int(said[3])
    assert last - first == 199
    assert first <= 400 < last, "the window with the change is the worst"
    folder = place / "results" / "try-mine-online"
    curve = pd.read_csv(folder / "stream.csv").set_index("row")
    assert [*curve.columns] == [*only.split(","), "majority so far", "no change"]
    best = curve[only.split(",")].max(axis=1)
    assert best[400] > 0.75
    assert best.loc[420:560].min() < best[400] - 0.03
    assert (folder / "stream.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "stream.svg").read_bytes()
    model = mpu_bench.load(folder / "model.mpu")
    found = model.predict(frame.iloc[500:].drop(columns="answer"))
    assert np.mean(found == answer[500:]) > 0.75
    assert model.predict_proba(frame).shape == (600, 2)
    for wrong in (("--device", "cortex-m0"), ("--split", "0.5"), ("--metric", "auc")):
        done = mpu_bench_command("try", "mine.csv", "--online", *wrong)
        assert (done.returncode, "--online" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "LogisticRegression"], "--only LogisticRegression: references are never chosen, but for --any"),
        (["--only", "constant", "--any"], "--only constant: references are never chosen, but for --any"),
        (["--any", "--device", "cortex-m0"], "--any: scikit-learn's references have no C file for a --device"),
        (["--online", "--flash", "32KB"], "--flash: cannot be given with --online"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    table: pd.DataFrame, place: Path, mpu_bench_command: Called, options: list[str], words: str
) -> None:
    done = mpu_bench_command("try", "mine.csv", *options)
    assert done.returncode == 2
    assert words in done.stderr


def test_one_command_at_a_time_uses_a_folder(table: pd.DataFrame, place: Path, mpu_bench_command: Called) -> None:
    """And what was there before stays where it is not replaced."""
    folder = place / "results" / "try-mine"
    folder.mkdir(parents=True)
    (folder / "model.mpu").write_bytes(b"of an earlier selection")
    with process_lock(folder / LOCK, AssertionError, lambda _: AssertionError()):
        done = mpu_bench_command("try", "mine.csv", "--only", "dcd", "--jobs", "1", "--seconds", "1")
    assert done.returncode == 2
    assert f"{Path('results', 'try-mine')}: another mpu-bench is using this folder" in done.stderr
    assert (folder / "model.mpu").read_bytes() == b"of an earlier selection"


def test_a_rare_class_of_many_rows_is_chosen_by_its_ranks(place: Path, mpu_bench_command: Called) -> None:
    """Six of 4,000 rows are positive: the validation set has some, whatever the seed; the test set must."""
    random = np.random.default_rng(3)
    x, rare = random.normal(size=(4000, 2)), np.arange(4000) % 667 == 0
    x[rare] += 4
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.where(rare, "yes", "no")}).to_csv(place / "mine.csv", index=False)
    for seed in ("2", "3"):  # by which the test set has none, and a validation set drawn at random would not
        done = mpu_bench_command(
            "try", "mine.csv", "--metric", "average-precision", "--only", "dcd", "--jobs", "1", "--seconds", "5",
            "--seed", seed,
        )  # fmt: skip
        if seed == "2":
            assert done.returncode == 2
            assert "all 800 test rows are of class 'no', which judges no classifier; draw others" in done.stderr
            continue
        assert done.returncode == 0, done.stderr
        assert " ± ? %" in done.stdout
        assert "average precision chooses (--metric; positive is 'yes', change that by --positive)" in done.stderr


def test_interrupted_before_anything_is_known_it_leaves_an_earlier_answer(table: pd.DataFrame, place: Path) -> None:
    folder = place / "results" / "try-mine"
    folder.mkdir(parents=True)
    (folder / "model.mpu").write_bytes(b"of an earlier selection")
    command = [*COMMAND, "try", "mine.csv", "--only", "smo", "--jobs", "1", "--seconds", "300"]
    with subprocess.Popen(
        command, cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 120
        while not (folder / LOCK).exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    if "interrupted before anything was known" in errors:  # a fit may have ended just then
        assert (folder / "model.mpu").read_bytes() == b"of an earlier selection"
