"""Cards whose real files are at no mirror, tried on made-up rows in the layout that their sources describe."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from mpu_bench.core.rows import Dense, Sparse
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.errors import DataError

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Load a dataset from made-up files: a card that extends the shipped one, without hashes, with other counts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "mirror").mkdir()

    def load(name, files, expect, more="", options=None):
        listed = "".join(f"  {file}: {{by_hand: made up}}\n" for file in files)
        text = f"extends: {name}\nfiles:\n{listed}expect: {expect}\n{more}"
        (tmp_path / "datasets" / "tried.yaml").write_text(text)
        for file, content in files.items():
            compress = COMPRESS.get(file.rpartition(".")[2], bytes)
            (tmp_path / "mirror" / file).write_bytes(compress(content.encode()))
        home = DataDirectory(Path(mkdtemp(dir=tmp_path)), (str(tmp_path / "mirror"),), offline=True)
        return load_problem(catalog.card("tried", options), home)

    return load


def test_physics_loses_the_columns_with_missing_values(made_up):
    """By the Cup's page, columns 22-24, 31, 46-48 and 57 hold 999 or 9999 for 'not available'."""
    missing = {22: 999, 23: 999, 24: 999, 31: 9999, 46: 999, 47: 999, 48: 999, 57: 9999}
    rows = [[i, i % 2, *(missing.get(column, column) for column in range(3, 81))] for i in range(4)]
    problem = made_up(
        "physics", {"phy_train.dat": "\n".join("\t".join(map(str, row)) for row in rows)}, "{train: {rows: 4}}"
    )
    assert isinstance(problem.train, Dense)
    assert problem.features == 70
    kept = [column for column in range(3, 81) if column not in missing]
    assert np.allclose(problem.train.values, np.array(kept) * 0.001)
    assert problem.labels.tolist() == [0, 1, 0, 1]


COVTYPE = "\n".join(",".join(map(str, [*range(1, 55), kind])) for kind in (5, 1, 2, 7, 1, 2))


def test_covertype_is_class_1_against_the_rest_times_a_thousandth(made_up):
    problem = made_up("covertype", {"covtype.data.gz": COVTYPE}, "{total: {rows: 6}}")
    assert isinstance(problem.train, Sparse)
    assert problem.classes == ("rest", "1")
    assert problem.labels.tolist() == [0, 1, 0, 0, 1, 0]
    assert np.allclose(problem.train.values[:54], np.arange(1, 55) * 0.001)
    assert problem.n_test == 0


def test_covertype_has_other_uses(made_up):
    files = {"covtype.data.gz": COVTYPE}
    multiclass = made_up("covertype-multiclass", files, "{total: {rows: 6}}", "split: {train: 4, seed: 0}\n")
    assert (multiclass.n, multiclass.n_test, len(multiclass.classes)) == (4, 2, 7)
    assert isinstance(multiclass.train, Dense)
    forest = made_up("forest", files, "{total: {rows: 6}}", "split: {train: 5, seed: 0}\n")
    assert (forest.n, forest.n_test, forest.classes) == (5, 1, ("rest", "2"))
    assert forest.train.values[0].tolist() == list(range(1, 55))
    assert forest.labels.sum() + forest.test_labels.sum() == 2


def test_rcv1_joins_its_parts_and_takes_labels_from_the_topics(made_up):
    files = {
        "lyrl2004_vectors_train.dat.gz": "2286  864:0.0497 1523:0.04\n2287  1:1\n",
        "lyrl2004_vectors_test_pt0.dat.gz": "26151  2:0.5\n",
        "rcv1v2.topics.qrels.gz": "C11 2287 1\nCCAT 2287 1\nCCAT 26151 1\nE11 2286 1\n",
    }
    more = "train: [lyrl2004_vectors_train.dat.gz, lyrl2004_vectors_test_pt0.dat.gz]\n"
    for name, labels in (("rcv1-ccat", [0, 1, 1]), ("rcv1-c11", [0, 1, 0])):
        problem = made_up(name, files, "{train: {rows: 3}}", more)
        assert problem.labels.tolist() == labels
        assert problem.train.indices.tolist() == [863, 1522, 0, 1]
        assert problem.features == 47236


def connection(service, label, duration=0):
    return ",".join([str(duration), "tcp", service, "SF", *["0"] * 37, label])


def test_kdd99_full_has_127_columns_and_two_classes(made_up):
    files = {
        "kddcup.data.gz": f"{connection('http', 'normal.')}\n{connection('aol', 'smurf.', 10)}\n",
        "corrected.gz": f"{connection('icmp', 'mscan.', 5)}\n",
    }
    problem = made_up("kdd99-full", files, "{train: {rows: 2}, test: {rows: 1}}")
    assert (problem.features, problem.classes) == (127, ("normal", "attack"))
    assert (problem.labels.tolist(), problem.test_labels.tolist()) == ([0, 1], [1])
    assert problem.test.values.tolist() == [0.5, 1, 1, 1, 1, 1, 1, 1]  # duration, and one for each symbolic attribute


def test_kdd99_knows_the_kinds_of_attack(made_up):
    lines = [connection("http", label) for label in ("normal.", "back.", "nmap.", "spy.", "perl.")]
    files, expect = {"kddcup.data_10_percent.gz": "\n".join(lines)}, "{total: {rows: 5}}"
    problem = made_up("kdd99-10pc", files, expect, "split: {train: 4}\n")
    assert [*problem.labels, *problem.test_labels] == [0, 1, 2, 3, 4]
    files = {"kddcup.data_10_percent.gz": "\n".join([*lines[:4], connection("http", "mscan.")])}
    with pytest.raises(DataError, match=r"line 5: column 42: the label 'mscan\.' is none"):
        made_up("kdd99-10pc", files, expect, "split: {train: 4}\nfeatures: 127\n")


def test_protein_has_blanks_after_the_colons_and_ijcnn_labels_with_a_point(made_up):
    protein = made_up("protein", {"protein.bz2": "2 1: 0.5 3: 0.25\n0 2: 1\n", "protein.t.bz2": "1 357: 1\n"}, "{}")
    assert protein.train.values.tolist() == [0.5, 0.25, 1]
    assert protein.labels.tolist() == [2, 0]
    ijcnn = made_up("ijcnn", {"ijcnn1.bz2": "-1.0 1:1\n1.0 2:1\n", "ijcnn1.t.bz2": "-1 22:0.5\n"}, "{}")
    assert (ijcnn.labels.tolist(), ijcnn.test.values.shape) == ([0, 1], (1, 22))


@pytest.mark.parametrize("name", ["real-sim", "news20", "webspam"])
def test_a_test_part_can_be_split_off(made_up, name):
    (file,) = catalog.card(name).files
    rows = "".join(f"{label} {i + 1}:0.5\n" for i, label in enumerate(["-1", "+1"] * 5))
    whole = made_up(name, {file: rows}, "{train: {rows: 10}}")
    assert (whole.n, whole.n_test) == (10, 0)
    cut = made_up(name, {file: rows}, "{train: {rows: 10}}", options={"split": {"test": 0.2, "seed": 1}})
    assert (cut.n, cut.n_test) == (8, 2)
