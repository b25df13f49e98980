"""``mpu-bench data add``: one command makes a dataset of a file, and one message says what is wrong."""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import Called
from mpu_bench.cli.options import BAD_INPUT

Call = Callable[..., tuple[object, str]]


def table(rows: int = 40, missing: bool = False) -> str:
    lines = ["id,age,color,answer"]
    for i in range(rows):
        age = "" if missing and i == 3 else str(20 + 7 * i % 31)
        lines.append(f"u{i},{age},{('red', 'blue')[i % 3 == 0]},{('no', 'yes')[7 * i % 31 > 14]}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def mine(place: Path) -> Path:
    (place / "mine.csv").write_text(table(), encoding="utf-8")
    return place / "mine.csv"


def refused(called: Call, *arguments: str) -> str:
    code, said = called("data", "add", *arguments)
    assert code == BAD_INPUT
    assert said.count("mpu-bench: ") == 1
    assert "Traceback" not in said
    return " ".join(said.split())


def test_from_a_file_to_a_result(mine: Path, place: Path, mpu_bench: Called) -> None:
    data = str(place / "home")
    added = mpu_bench("data", "add", "mine.csv")
    assert added.returncode == 0, added.stderr
    for told in (
        "left out",
        "numbers",
        "categories",
        "label",
        "'answer' (the last column)",
        "32 training and 8 test rows",
    ):
        assert told in added.stdout
    command = added.stdout.splitlines()[-2]
    assert command == "mpu-bench run quickstart --set name=mine --set 'datasets=[mine]' --repeats 1"
    ran = mpu_bench(*shlex.split(command)[1:], "--only", "solver=dcd", MPU_BENCH_DATA=data)
    assert ran.returncode == 0, ran.stderr
    assert "mine: 32 x 3, 8 test rows" in ran.stdout
    mine.write_text(table().replace("u1,", "u100,"), encoding="utf-8")
    again = mpu_bench(*shlex.split(command)[1:], "--only", "solver=dcd", MPU_BENCH_DATA=data)
    assert "other runs of this experiment" in again.stdout  # of the file as it was


@pytest.mark.parametrize("name", ["2024", "off", "größe"])
def test_the_command_that_comes_next_works_with_a_name_that_is_no_text_in_yaml(
    name: str, mine: Path, place: Path, called: Call
) -> None:
    mine.rename(place / f"{name}.csv")
    code, said = called("data", "add", f"{name}.csv")
    assert code == 0
    command = next(line for line in said.splitlines() if line.startswith("mpu-bench run quickstart"))
    assert called(*shlex.split(command)[1:], "--dry-run")[0] == 0


def test_by_its_path_alone(
    mine: Path, place: Path, mpu_bench: Called, rows: Callable[..., list[dict[str, str]]]
) -> None:
    (place / "sub").mkdir()
    mine.rename(place / "sub" / "mine.csv")
    (place / "sub" / "own.yaml").write_text(
        "name: own\ndatasets:\n  - {file: mine.csv, label: answer, positive: ['yes'], scale: none}\n"
        "  - {file: mine.csv, split: 0.5, as: half}\nsolvers: [{dcd: {C: 1}}]\nstop: {passes: 3}\n",
        encoding="utf-8",
    )
    ran = mpu_bench("run", "sub/own.yaml", MPU_BENCH_DATA=str(place / "home"))
    assert ran.returncode == 0, ran.stderr
    assert [(row["dataset"], row["n"], row["n_test"]) for row in rows("own")] == [
        ("mine", "32", "8"),
        ("half", "20", "20"),
    ]
    again = mpu_bench("run", "sub/own.yaml", "--dry-run", MPU_BENCH_DATA=str(place / "home"))
    assert "2 runs, 2 finished" in again.stdout


def test_the_verbs_for_a_file_of_ones_own(mine: Path, place: Path, called: Call) -> None:
    assert called("data", "add", "mine.csv", "--positive", "yes", "--name", "own")[0] == 0
    for verb, told in (
        ("info", "(your file, read where it is)"),
        ("verify", "your file, not prepared in its current state"),
        ("path", "own-"),
        ("fetch", "32 training and 8 test rows of 3 features"),
        ("verify", "your file, unchanged since prepared"),
        ("info", "32 x 3 for training"),
        ("clean", "own: "),
    ):
        code, said = called("data", verb, "own")
        assert code == 0, said
        assert told in said
    assert mine.read_text("utf-8") == table()


def test_a_positive_class_is_told_as_the_problem_that_it_makes(mine: Path, place: Path, called: Call) -> None:
    code, said = called("data", "add", "mine.csv", "--label", "color", "--positive", "red", "--name", "two")
    assert (code, "against the rest" in said) == (0, False)
    mine.write_text("x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(30)), encoding="utf-8")
    code, said = called("data", "add", "mine.csv", "--positive", "0")
    assert code == 0
    assert "3 classes: 0 (10), 1 (10), 2 (10); 0 against the rest" in " ".join(said.split())
    assert "one-against-rest" not in said


def test_a_command_of_a_card_repeats_all_options(place: Path, called: Call) -> None:
    (place / "mine.csv").write_text("2019,country\n1,NA\n2,FR\n3,NA\n4,FR\n", encoding="utf-8")
    assert "'NA' stands for a label that is missing" in refused(called, "mine.csv", "--header")
    assert called("data", "add", "mine.csv", "--header", "--no-missing-words")[0] == 0
    card = place / "datasets" / "mine.yaml"
    assert "--header --no-missing-words --name mine" in card.read_text("utf-8").splitlines()[1]
    (place / "m.svm").write_text("1 1:1 2:5000\n-1 1:2 2:3\n", encoding="utf-8")
    code, said = called("data", "add", "m.svm", "--first-index", "0")
    assert code == 0
    assert "3 features, counted from 0" in said
    assert "warning: the largest values of its columns differ by a factor of 2e+03" in " ".join(said.split())
    assert "--first-index 0 --name m" in (place / "datasets" / "m.yaml").read_text("utf-8").splitlines()[1]


def test_a_card_is_not_replaced_unasked(mine: Path, place: Path, called: Call) -> None:
    assert called("data", "add", "mine.csv")[0] == 0
    assert "datasets/mine.yaml: already exists; choose another name (--name NAME)" in refused(called, "mine.csv")
    card = place / "datasets" / "mine.yaml"
    command = card.read_text("utf-8").splitlines()[1].removeprefix("# mpu-bench ")
    before = card.read_bytes()
    assert called(*shlex.split(command))[0] == 0
    assert card.read_bytes() == before
    assert called("data", "add", "mine.csv", "--label", "color", "--force")[0] == 0
    assert "--label color" in card.read_text("utf-8")


def test_names_of_the_project_are_its_own(mine: Path, called: Call) -> None:
    assert "the project has a dataset 'a9a' already" in refused(called, "mine.csv", "--name", "a9a")
    assert "'../x' cannot be the name of a dataset" in refused(called, "mine.csv", "--name", "../x")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--label", "answr"], "mine.csv: has no column 'answr'; did you mean 'answer'?"),
        (["--positive", "maybe"], "no class 'maybe' can be positive; choose from no, yes"),
        (["--split", "1.5"], "--split: must be less than 1"),
        (["--scale", "log"], "--scale: must be 'none', 'standard' or 'unit-interval'"),
        (["--missing", "zero"], "--missing: must be 'refuse', 'median' or 'drop'"),
        (["--test", "none.csv"], "none.csv: cannot be read: No such file or directory"),
        (["--test", "mine.csv", "--split", "0.5"], "the test set comes from a separate file"),
        (["--label", "age"], "different numbers suggest regression"),
        (["--separator", "||"], "--separator: "),
        (["--first-index", "0"], "is a table, to which 'first_index' does not apply"),
    ],
)
def test_options_that_cannot_be(options: list[str], told: str, place: Path, mine: Path, called: Call) -> None:
    if told.startswith("different"):
        mine.write_text("age,x,answer\n" + "".join(f"{i}.5,1,no\n" for i in range(99)), encoding="utf-8")
    assert told in refused(called, "mine.csv", *options)
    assert not (place / "datasets").exists()


def test_missing_numbers(mine: Path, place: Path, called: Call) -> None:
    mine.write_text(table(missing=True), encoding="utf-8")
    said = refused(called, "mine.csv")
    assert "mine.csv, row 4, column 'age': no number (1 missing in this column); --missing median puts" in said
    code, said = called("data", "add", "mine.csv", "--missing", "drop")
    assert (code, "31 training and 8 test rows" in said) == (0, True)


def test_a_wide_table_is_shown_short(place: Path, called: Call) -> None:
    names = [f"f{i}" for i in range(300)]
    lines = [",".join([*names, "y"]), *(",".join([*map(str, range(i, i + 300)), "ab"[i % 2]]) for i in range(9))]
    (place / "wide.csv").write_text("\n".join(lines), encoding="utf-8")
    code, said = called("data", "add", "wide.csv")
    assert code == 0
    assert "and 281 more columns: 280 numbers, 1 the label" in said
    assert len(said.splitlines()) < 35


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"", "empty.csv: is empty"),
        ("binary", bytes(range(256)), "binary: is a binary file"),
        ("ragged.csv", b"a,b\n1,x\n1,y,z\n", "ragged.csv, line 3: has 3 cells, where there are 2 columns"),
        ("latin.csv", b"a,b\n1,\xe9\n2,x\n", "latin.csv, line 2: is not UTF-8 text"),
        ("twice.csv", b"a,a,b\n1,2,x\n", "columns 1 and 2 are both called 'a'"),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,x\n2,y\n" * 99)[:-9], "cut.csv.gz: the file is cut short"),
        ("page.csv", b"<!DOCTYPE html>", "page.csv: is an HTML page"),
        ("m.parquet", b"PAR1 nothing", "m.parquet: "),
        ("rows.svm", b"1 1:1\n-1 1:x\n", "rows.svm, line 2: '1:x': the value is not a number"),
    ],
)
def test_files_that_cannot_be(name: str, content: bytes, told: str, place: Path, called: Call) -> None:
    (place / name).write_bytes(content)
    more = ["--header"] if name == "twice.csv" else []
    assert told in refused(called, name, *more)
    assert not (place / "datasets").exists()


def test_what_is_no_file(place: Path, called: Call) -> None:
    os.mkfifo(place / "pipe.csv")
    (place / "folder.csv").mkdir()
    assert "is a pipe" in refused(called, "pipe.csv")
    assert "is a folder" in refused(called, "folder.csv")
    assert "x.csv: cannot be read: No such file or directory" in refused(called, "x.csv")


def test_a_file_that_has_grown_is_added_again_by_the_command_of_its_card(mine: Path, place: Path, called: Call) -> None:
    """Another command, without the options of the first, would make another problem of it."""
    assert called("data", "add", "mine.csv", "--scale", "none")[0] == 0
    mine.write_text(mine.read_text("utf-8") + mine.read_text("utf-8").splitlines()[-1] + "\n", encoding="utf-8")
    code, said = called("data", "fetch", "mine", "--data", str(place / "home"))
    told = " ".join(said.split())
    assert code != 0
    assert "mine.csv has changed, give the command at the head of" in told
    assert "--force" not in told
    assert "--scale none" in (place / "datasets" / "mine.yaml").read_text("utf-8").splitlines()[1]
