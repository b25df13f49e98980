"""Finding and reading cards: names, aliases, options, a user's own, and what a mistake is answered with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mpu_bench import resources
from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.experiment.plan import only, plan
from mpu_bench.quantities import Record, RunStatus
from mpu_bench.results.means import mean_curves
from mpu_bench.results.summary import summarize

MINIMAL = """\
title: Two points
kind: svmlight
files:
  points: {by_hand: make it}
train: points
classes: ["-1", "+1"]
features: 2
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write a card of the user's into ./datasets and return a function that does so."""
    (tmp_path / "datasets").mkdir()
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        path = tmp_path / "datasets" / f"{name}.yaml"
        path.write_text(text)
        return path

    return write


def complaint(name, options=None) -> str:
    with pytest.raises(DataError) as caught:
        catalog.card(name, options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("alias", "name"), [("a9a", "adult"), ("w8a", "web"), ("reuters", "reuters-money-fx"), ("ijcnn1", "ijcnn")]
)
def test_aliases(alias, name):
    assert catalog.card(alias) == catalog.card(name)


def test_an_unknown_name_is_answered_with_the_nearest():
    assert complaint("adlut") == "there is no dataset 'adlut'; did you mean 'adult'?"


def test_the_name_of_a_file_is_answered_with_how_files_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").touch()
    told = r"for the file write \{file: mine\.csv\} in a config, or give mpu-bench data add mine\.csv"
    with pytest.raises(DataError, match=told):
        catalog.card("mine.csv")


def test_a_positive_class_called_rest_is_told_from_the_others(own):
    own("mine", MINIMAL.replace('["-1", "+1"]', '{rest: "0", run: "1"}') + "options: [positive]\n")
    assert catalog.card("mine", {"positive": ["rest"]}).class_names == ("others", "rest")
    assert catalog.card("mine", {"positive": ["run"]}).class_names == ("rest", "run")


def test_a_label_is_of_one_class(own):
    path = own("mine", MINIMAL.replace('["-1", "+1"]', '{low: [0, 1], high: [" 1", 2]}'))
    where = f"{path.relative_to(Path.cwd())}, line 6: classes"
    assert complaint("mine") == f"{where}: the label ' 1' is in two classes, 'low' and 'high'"


def test_options_replace_the_keys_they_name():
    card = catalog.card("mnist", {"positive": [8], "divide_by": 256})
    assert card.positive == ("8",)
    assert card.class_names == ("rest", "8")
    assert card.divide_by == 256
    assert catalog.card("checkerboard", {"rows": 1.0e7}).rows == 10**7


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("adult", {"positive": ["+1"]}, "option: positive: the dataset has no such option; choose from augment"),
        ("mnist", {"positve": [8]}, "option: positve: the dataset has no such option; did you mean 'positive'?"),
        ("mnist", {"positive": ["x"]}, "option: positive: there is no class 'x'; choose from 0, 1"),
        ("mnist", {"positive": list(range(10))}, "option: positive: must name some of the classes, but not all"),
        ("mnist", {"divide_by": 0}, "option: divide_by: must be greater than 0, not 0"),
        ("mnist", {"drop_columns": "all"}, "option: drop_columns: must be 'none', 'zero' or 'trailing-zero'"),
        (
            "digits",
            {"split": {"test": 2.0}},
            "option: split.test: must be a count of rows or a fraction below 1, not 2.0",
        ),
        ("digits", {"split": {"train": 1797}}, "option: split: 1797 training rows of 1797 leave nothing"),
        ("digits", {"split": {"size": 3}}, "option: split.size: unknown key"),
        ("checkerboard", {"rows": 0}, "option: rows: must be greater than or equal to 1, not 0"),
        ("checkerboard", {"rows": "many"}, "option: rows: must be a valid integer, not 'many'"),
        ("checkerboard", {"seed": -1}, "option: seed: must be greater than or equal to 0, not -1"),
    ],
)
def test_impossible_options_are_refused(name, options, said):
    message = complaint(name, options)
    assert said in message
    assert f"{name}.yaml" in message


def test_a_card_of_the_user(own):
    own("points", MINIMAL)
    assert "points" in catalog.names()
    assert catalog.card("points").title == "Two points"


def test_a_card_of_the_user_may_not_take_a_shipped_name(own):
    path = own("adult", MINIMAL)
    assert complaint("adult").startswith("datasets/adult.yaml: the project has a dataset 'adult' already")
    path.write_bytes((resources.bundled("datasets") / "adult.yaml").read_bytes())
    assert catalog.card("adult").features == 123  # the same card is no rival


def test_a_card_of_the_user_may_not_take_a_shipped_alias(own):
    own("a9a", MINIMAL)
    assert "'a9a' is another name of the project's dataset 'adult'" in complaint("a9a")


def test_a_card_may_extend_another(own):
    own("points", MINIMAL + "aliases: [dots]\noptions: [positive]\n")
    own("others", "extends: points\ntitle: Other points\nfeatures: 3\n")
    card = catalog.card("others", {"positive": "-1"})
    assert (card.title, card.features, card.aliases, card.train) == ("Other points", 3, (), ("points",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINIMAL + "feature: 3\n", ", line 8: feature: unknown key; did you mean 'features'?"),
        (MINIMAL.replace("features: 2", "features: two"), ", line 7: features: must be a valid integer, not 'two'"),
        (MINIMAL.replace("features: 2\n", ""), ": features: this key is missing"),
        (MINIMAL.replace("{by_hand: make it}", "{}"), ", line 3: files: 'points' needs 'urls', or 'by_hand'"),
        (MINIMAL.replace("make it}", "make it, sha256: abc}"), ", line 4: files.points.sha256: must match"),
        (MINIMAL.replace("train: points", "train: point"), "file 'point' is used, but 'files' does not list it"),
        (MINIMAL.replace("features: 2", "features: 2\nstorage: dens"), ", line 8: storage: must be 'auto', 'dense'"),
        (MINIMAL + "multiply_by: 0\n", ", line 8: multiply_by: must not be 0"),
        (MINIMAL + "scale: standard\n", ", line 8: scale: 'standard' fills every zero; it needs 'storage: dense'"),
        (
            MINIMAL + "expect:\n  train: {rows: 3, classes: {'-1': 1, '+1': 1}}\n",
            ", line 9: expect.train: the classes add up",
        ),
        (MINIMAL + "expect:\n  train: {rows: 2, classes: {a: 1, b: 1}}\n", "must count each of the classes: -1, +1"),
        (MINIMAL.replace("points", "../points"), ", line 3: files: '../points' cannot be the name of a file"),
        (MINIMAL + "extends: adlut\n", ", line 8: extends: there is no dataset 'adlut'; did you mean 'adult'?"),
        (MINIMAL + "extends: points\n", ", line 8: extends: 'points' extends this card in turn"),
        (MINIMAL + "\tstorage: dense\n", ", line 8: "),
        ("just text", "must hold keys and values"),
        ("", "must hold keys and values"),
        (MINIMAL.replace("kind: svmlight", "kind: idx"), "kind 'idx' needs two files for each part"),
        (MINIMAL.replace("kind: svmlight", "kind: delimited"), ": columns: this key is missing"),
        (MINIMAL + "columns: {label: 1}\n", ", line 8: columns: unknown key; did you mean 'drop_columns'?"),
        (MINIMAL + "rows: 5\n", ", line 8: rows: unknown key; "),
        (MINIMAL + "first_indx: 0\n", ", line 8: first_indx: unknown key; did you mean 'first_index'?"),
        (
            MINIMAL.replace("kind: svmlight", "kind: svm-light"),
            ", line 2: kind: there is no kind 'svm-light'; did you mean",
        ),
        (MINIMAL.replace("kind: svmlight\n", ""), ": kind: this key is missing"),
        (MINIMAL + "extend: mnist\n", ", line 8: extend: unknown key; did you mean 'extends'?"),
        (MINIMAL + "split: {train: 3}\n", "split: 'expect' must say how many rows"),
    ],
)
def test_a_wrong_card_is_answered_with_file_line_and_key(own, text, said):
    own("points", text)
    message = complaint("points")
    assert message.startswith("datasets/points.yaml")
    assert said in message
    assert "\n" not in message


OF_TABLE = """\
title: A table
kind: table
files: {mine: {path: ../mine.csv}}
train: mine
classes: [a, b]
columns: {x: number, c: categorical, y: label}
"""


def test_a_table_of_ones_own(own):
    own("mine", OF_TABLE)
    card = catalog.card("mine")
    assert (card.label, card.missing, card.scale, card.known_features) == ("y", "refuse", "none", None)
    assert card.remote_files[0].path == Path.cwd() / "mine.csv"
    own("mine", OF_TABLE.replace("categorical", "omitted"))
    assert catalog.card("mine").known_features == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OF_TABLE.replace("label", "number"), ", line 6: columns: one must be the label, not 0"),
        (OF_TABLE.replace("categorical", "label"), ", line 6: columns: one must be the label, not 2"),
        (OF_TABLE.replace("number", "omitted").replace("categorical", "omitted"), "none is left to learn from"),
        (OF_TABLE.replace("number", "numbers"), ", line 6: columns.x: must be 'number', 'categorical'"),
        (OF_TABLE + "missing: mean\n", ", line 7: missing: must be 'refuse', 'median' or 'drop'"),
        (OF_TABLE + "divide_by: 2\n", ", line 7: divide_by: is not for a table"),
        (OF_TABLE + "drop_columns: zero\n", ", line 7: drop_columns: is not for a table"),
        (OF_TABLE + "storage: ones\n", ", line 7: storage: must be auto, dense or sparse"),
        (OF_TABLE + "scale: standard-overall\n", ", line 7: scale: must be none, standard or unit-interval"),
        (
            OF_TABLE.replace("{path:", "{by_hand: x, path:"),
            "path: a user file has no 'urls', no 'by_hand'",
        ),
    ],
)
def test_a_wrong_card_of_a_table(own, text, said):
    own("mine", text)
    assert said in complaint("mine")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("topic: {file: a, name: b}", ", line 8: topic: unknown key"),
        ("first_index: 0", ", line 8: first_index: unknown key"),
        ("seed: 1", ", line 8: seed: unknown key"),
    ],
)
def test_a_key_of_another_kind_is_refused(own, more, said):
    own("points", MINIMAL.replace("kind: svmlight", "kind: delimited") + more + "\ncolumns: {label: 1}\n")
    assert said in complaint("points")


def test_five_faults_of_a_card_are_told_at_once(own):
    own("points", MINIMAL + "".join(f"key{number}: 1\n" for number in range(7)))
    lines = complaint("points").splitlines()
    assert len(lines) == 6
    assert all(line.startswith("datasets/points.yaml, line ") for line in lines[:5])
    assert lines[5] == "and 2 more"


def test_an_inherited_fault_is_told_where_it_stands(own):
    own("points", MINIMAL.replace("features: 2", "features: two"))
    own("others", "extends: points\n\nscale: none\n")
    assert complaint("others").startswith("datasets/points.yaml, line 7: features: must be a valid integer")


def test_a_key_without_a_value_is_not_inherited(own):
    own("points", MINIMAL.replace("kind: svmlight", "kind: delimited") + "columns: {label: 1}\n")
    own("others", "extends: points\nkind: svmlight\ncolumns: null\n")
    assert catalog.card("others").kind == "svmlight"


def test_a_new_key_that_is_not_given_leaves_what_is_prepared_valid():
    """Fingerprints are made without defaults."""
    prepared = catalog.card("adult").preparation()
    assert prepared == {
        "version": 2,
        "kind": "svmlight",
        "train": ["a9a"],
        "test": ["a9a.t"],
        "classes": {"-1": ["-1"], "+1": ["+1"]},
        "features": 123,
        "storage": "ones",
    }


def test_a_broken_card_does_not_disturb_the_others(own):
    own("broken", "published: [1]\naliases: {\n")
    own("other", "published: [1]\naliases: 3\noptions: positive\n")
    assert catalog.card("a9a").name == "adult"
    assert "option: positve: the dataset has no such option; did you mean 'positive'?" in complaint(
        "other", {"positve": 1}
    )


def test_listing_imports_nothing_heavy():
    """`mpu-bench list datasets` and --dry-run must answer at once."""
    code = (
        "import sys; from pathlib import Path; from mpu_bench.data.cards import catalog\n"
        "from mpu_bench.data.prepare import load; from mpu_bench.data.download.cache import DataDirectory\n"
        "for name in catalog.names(): load.describe(catalog.card(name), DataDirectory(Path('nowhere')))\n"
        "print([m for m in ('numba', 'sklearn', 'scipy', 'pandas', 'numpy', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------ bipartitions: five of ten classes against five

BIPARTITIONS = """
name: tried
datasets: [{digits: {bipartitions: five-against-five}}, letter]
solvers: [{perceptron: {passes: {per-dataset: {digits: 2, letter: 1}}}}]
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        (tmp_path / "tried.yaml").write_text(text)
        return read_config(tmp_path / "tried.yaml")

    return read_text


def test_there_are_126_ways_to_set_five_of_ten_against_the_others():
    found = catalog.bipartitions(catalog.card("digits"), "five-against-five")
    halves = {frozenset(positive) for _, positive, _ in found}
    assert len(halves) == len(found) == 126
    everything = set("0123456789")
    assert all(len(half) == 5 and everything - half not in halves for half in halves)
    assert found[0] == ("01234", ["0", "1", "2", "3", "4"], ("rest", "0+1+2+3+4"))


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("digits", "halves", "bipartitions: must be five-against-five, not 'halves'"),
        (
            "adult",
            "five-against-five",
            "needs ten classes and an option 'positive' that is not given; it has 2 classes",
        ),
    ],
)
def test_impossible_splits_are_refused(read, name, how, said):
    with pytest.raises(DataError, match=said):
        catalog.bipartitions(catalog.card(name), how)
    with pytest.raises(ConfigError, match=said):
        read(f"name: tried\ndataset: {{{name}: {{bipartitions: {how}}}}}\nsolvers: [perceptron]\n")


def test_a_config_sweeps_over_splits(read):
    runs = plan(read(BIPARTITIONS))
    assert len(runs) == 127
    assert {run.dataset.label for run in runs} == {"digits", "letter"}
    assert [run.solver.parameters["passes"] for run in runs] == [2] * 126 + [1]
    assert str(runs[0]).startswith("digits-01234 perceptron")
    assert only(runs, ["split=01234"]) == runs[:1]
    assert len({(run.dataset.name, str(run.dataset.options)) for run in runs}) == 127


def test_splits_share_the_arrays(tmp_path):
    home = DataDirectory(tmp_path, offline=True)
    card = catalog.card("digits")
    whole = load_problem(card, home)
    for _, positive, classes in catalog.bipartitions(card, "five-against-five")[:3]:
        problem = load_problem(catalog.card("digits", {"positive": positive}), home)
        assert problem.classes == classes
        np.testing.assert_array_equal(problem.labels, np.isin(whole.labels, np.array(positive, int)))
    assert len([path for path in (tmp_path / "prepared").iterdir() if path.is_dir()]) == 1


def test_tables_average_over_splits():
    blank = Record(dataset="digits", solver="perceptron", parameters=json.dumps({}), seed=0, status=RunStatus.DONE)
    found = {"01234": (10, 0.1), "01235": (20, 0.2), "01236": (30, 0.3)}
    records = [
        replace(blank, split=split, support_vectors=vectors, online_error=e) for split, (vectors, e) in found.items()
    ]
    (row,) = summarize(records, [])
    assert (row.dataset, row.count) == ("digits", 3)
    assert row.means["support_vectors"] == pytest.approx(20)
    assert row.means["online_error"] == pytest.approx(0.2)
    (band,) = mean_curves([replace(record, presented=5, passes=1.0) for record in records])
    assert (band.count, band.means["online_error"]) == (3, pytest.approx(0.2))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title: Two points", "extends: {a: 1}", "line 1: extends: must be the name of a dataset, not {'a': 1}"),
        ("title: Two points", "extends: [adult]", "line 1: extends: must be the name of a dataset, not ['adult']"),
        ('["-1", "+1"]', "[[a], b]", "line 6: classes: must be names of classes, not ['a']"),
        ('["-1", "+1"]', "[yes, no]", "line 6: classes: must be names of classes, not True; put quotation marks"),
        ('["-1", "+1"]', "{? [a] : b}", "line 6: a key must be a word, not a list or mapping"),
        ('["-1", "+1"]', "[null, a]", "line 6: classes: must be names of classes, not None"),
        ('["-1", "+1"]', '["a\\nb", c]', "must be of one line without blanks around it"),
        ('["-1", "+1"]', f"[{'x' * 101}, c]", "must have at most 100 characters"),
        (
            '["-1", "+1"]',
            f"[{', '.join(map(str, range(1001)))}]",
            "classes: has 1,001 classes, and 1,000 can be told apart",
        ),
        ("features: 2", "features: 2147483648", "line 7: features: must be less than or equal to 2147483646"),
        ("features: 2", f"features: {10**400}", "line 7: '1000"),
        ("features: 2", "features: 2\nmultiply_by: .nan", "line 8: multiply_by: must be a finite number, not nan"),
        ("features: 2", "features: 2\ndivide_by: .inf", "line 8: divide_by: must be a finite number, not inf"),
        ("features: 2", "features: 2\naliases: [' a']", "aliases: must be of one line without blanks around it"),
        ("features: 2", "features: 2\nexpect: {total: {rows: 1.0e30}}", "expect.total.rows: must be a valid integer"),
        ("features: 2", "features: 2\nexpect: {total: {rows: 9}}\nsplit: {test: .nan}", "split.test: must be"),
        ("points", "p" * 101, "cannot be the name of a file; use letters, digits and . + - _, 100 at most"),
        ("points", "../points", "cannot be the name of a file"),
    ],
)
def test_an_odd_value_of_a_card_is_told(own, old, new, message):
    own("points", MINIMAL.replace(old, new))
    assert message in complaint("points")


def test_a_card_that_is_no_file_is_told(own, tmp_path):
    cards = tmp_path / "datasets"
    os.mkfifo(cards / "pipe.yaml")
    (cards / "folder.yaml").mkdir()
    (cards / "dangling.yaml").symlink_to("nothing")
    (cards / "endless.yaml").symlink_to("/dev/zero")
    for name, words in (
        ("pipe", "is a pipe, not a file"),
        ("folder", "is a folder, not a file"),
        ("dangling", "no such file"),
        ("endless", "is a device, not a file"),
    ):
        assert words in complaint(name)
    assert catalog.card("a9a").name == "adult"
    os.mkfifo(cards / "adult.yaml")
    assert "is a pipe, not a file" in complaint("adult")


@pytest.mark.parametrize("name", ["two words", "\x1b[31m", "x" * 101, "<script>", "é" * 51])
def test_a_card_with_an_odd_name_is_no_dataset(own, name):
    own(name, MINIMAL)
    assert name not in catalog.names()
    assert "cannot be the name of a dataset; use letters, digits" in complaint(name)


def test_a_long_chain_of_cards_is_refused(own):
    own("points0", MINIMAL)
    for number in range(1, 30):
        own(f"points{number}", f"extends: points{number - 1}\n")
    assert catalog.card("points10").features == 2
    assert "more than 10 cards extend one another" in complaint("points29")


def test_options_that_are_no_words_are_told(own):
    own("points", MINIMAL)
    assert "the dataset has no such option" in complaint("points", {1: 2})
