"""Prepared data: whole or not there, made once, and made again when they must be."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest
from tests.datasets_of_user import POINTS, SVMLIGHT, TABLE

from mpu_bench.data.cards import catalog
from mpu_bench.data.download import integrity
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.download.fetch import fetch
from mpu_bench.data.prepare import build, load, npy
from mpu_bench.data.prepare.load import clean_prepared, describe, load_problem, prepared_folder, preprocessing_of
from mpu_bench.data.user_files.adding import FileOptions, options_of
from mpu_bench.errors import DataError, FetchError


def test_the_second_load_reads_no_source_file(world):
    first = world.load()
    (world.home.folder / "files" / "points").unlink()
    (world.mirror / "points").unlink()
    second = world.load()
    assert np.array_equal(first.train.values, second.train.values)
    assert first.fingerprint == second.fingerprint


def test_a_broken_download_is_mended_by_the_command_that_the_message_names(world, server):
    card = world.card(SVMLIGHT.replace("{by_hand: make it}", f"{{urls: ['{server.put('points', b'7 1:1')}']}}"))
    home = DataDirectory(world.home.folder)
    for _ in range(2):
        with pytest.raises(
            DataError, match=r"label '7' is none .*; if the download is broken: mpu-bench data clean points"
        ):
            load_problem(card, home)
    server.put("points", POINTS.encode())
    clean_prepared(card, home)
    assert load_problem(card, home).n == 3


def test_a_change_of_a_loaded_array_stays_in_the_process(world):
    problem = world.load()
    problem.train.values[:] = 7
    problem.labels[:] = 0
    again = world.load()
    assert again.train.values.tolist() == [1, 2.5, -1]
    assert again.labels.tolist() == [1, 0, 1]


def test_two_class_problems_share_the_arrays(world, numbers):
    whole = world.load(TABLE, name="table")
    one = world.load(TABLE, {"positive": ["c", "a"]}, name="table")
    assert len(world.left()) == 1
    assert one.classes == ("rest", "a+c")
    assert np.array_equal(one.labels, np.isin(whole.labels, [0, 2]))
    assert len({problem.fingerprint for problem in (whole, one, world.load(TABLE, {"positive": "b"}, "table"))}) == 3
    assert one.fingerprint == world.load(TABLE, {"positive": ["a", "c"]}, name="table").fingerprint


def test_datasets_of_the_same_rows_keep_them_once(world):
    """As RCV1 by topic: the labels differ."""
    world.offer(POINTS)
    other = SVMLIGHT.replace('["-1", "+1"]', '["+1", "-1"]')
    problems = [world.load(text, name=name) for name, text in (("points", SVMLIGHT), ("others", other))]
    folders = [prepared_folder(world.card(text, name=name), world.home) for name, text in
               (("points", SVMLIGHT), ("others", other))]  # fmt: skip
    kept = {path.stat().st_ino for folder in folders for path in folder.glob("train-*.npy")}
    assert len(kept) == 5  # values, indices and starts, and the labels of both
    assert problems[0].labels.tolist() == [1, 0, 1]
    assert problems[1].labels.tolist() == [0, 1, 0]
    shutil.rmtree(folders[0])
    assert world.load(other, name="others").train.values.tolist() == [1.0, 2.5, -1.0]


def test_the_fingerprint_is_of_content_and_preparation(world, tmp_path):
    plain = world.load().fingerprint
    assert world.load(options={"multiply_by": 2.0}).fingerprint != plain
    other = DataDirectory(tmp_path / "other", world.home.mirrors, offline=True)
    world.offer(gzip.compress(POINTS.encode()))
    assert load_problem(world.card(), other).fingerprint == plain
    third = DataDirectory(tmp_path / "third", world.home.mirrors, offline=True)
    world.offer(POINTS + "+1 1:1\n")
    assert load_problem(world.card(), third).fingerprint != plain


def test_the_fingerprint_tells_which_class_is_the_second(world):
    """In the order of a card of the user's, which may be turned around; the order that is usual is not written."""
    turned = SVMLIGHT.replace('["-1", "+1"]', '["+1", "-1"]')
    assert world.load().fingerprint != world.load(turned).fingerprint
    assert "order_of_classes" not in world.card().preparation()


def test_describe(world):
    card = world.card(SVMLIGHT + "expect:\n  train: {rows: 3}\n")
    before = describe(card, world.home)
    assert (before.state, before.fingerprint, before.n, before.d, before.n_test) == ("missing", None, 3, 4, 0)
    assert [file.name for file in before.missing] == ["points"]
    problem = load_problem(card, world.home)
    after = describe(card, world.home)
    assert (after.state, after.fingerprint, after.n, after.missing) == ("prepared", problem.fingerprint, 3, ())
    assert describe(world.card(options={"multiply_by": 2.0}), world.home).state == "fetched"


def test_describe_knows_the_fingerprint_of_known_content(shared_home, world):
    card = catalog.card("adult")
    described = describe(card, world.home)
    assert described.state == "missing"
    assert described.fingerprint is not None
    assert describe(catalog.card("digits"), world.home).state == "embedded"
    generated = describe(catalog.card("waveform", {"rows": 10}), world.home)
    assert (generated.state, generated.n, generated.n_test, generated.d) == ("generated", 10, 20000, 21)


def test_clean_removes_all_options_but_not_what_was_put_there_by_hand(world):
    world.load()
    world.load(options={"multiply_by": 2.0})
    (world.home.folder / "prepared" / "points-of-others-0123456789ab").mkdir()
    assert clean_prepared(world.card(), world.home) > 0
    assert world.left() == ["points-of-others-0123456789ab"]
    assert (world.home.folder / "files" / "points").exists()
    web = SVMLIGHT.replace("by_hand: make it", "urls: http://localhost/points")
    world.load(web)
    assert clean_prepared(world.card(web), world.home) > len(POINTS)
    assert not (world.home.folder / "files" / "points").exists()


def test_what_datasets_share_is_freed_with_the_last_of_them(world):
    other = SVMLIGHT.replace('["-1", "+1"]', '["+1", "-1"]')
    for name, text in (("points", SVMLIGHT), ("others", other)):
        world.load(text, name=name)
    folders = [prepared_folder(world.card(text, name=name), world.home) for name, text in
               (("points", SVMLIGHT), ("others", other))]  # fmt: skip
    shared = sum(path.stat().st_size for path in folders[0].iterdir() if path.stat().st_nlink > 1)
    own, whole = (sum(path.stat().st_size for path in folder.iterdir()) for folder in folders)
    assert clean_prepared(world.card(), world.home) == own - shared
    assert clean_prepared(world.card(other, name="others"), world.home) == whole


def test_a_file_of_which_nothing_is_pinned_is_hashed_once_a_load(world, monkeypatch):
    world.load()
    world.home.pin_path(*world.card().remote_files).unlink()
    hashed, digest = [], integrity.digest_file
    monkeypatch.setattr(integrity, "digest_file", lambda *given: hashed.append(given) or digest(*given))
    world.load()
    assert len(hashed) == 1


# ------------------------------------------------------------------ damage and interruption


def test_a_file_system_that_cannot_sync_folders(world, monkeypatch):
    fsync = os.fsync

    def of_files_only(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", of_files_only)
    assert world.load().n == 3


def _cut(place):
    path = place / "train-values.npy"
    path.write_bytes(path.read_bytes()[:-2])


def _flip(place):
    path = place / "train-indices.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.write_bytes(content)


def _lose(place):
    (place / "train-starts.npy").unlink()


def _garble(place):
    (place / "meta.json").write_text("{")


def _empty(place):
    (place / "meta.json").write_text("[]")


def _nest(place):
    (place / "meta.json").write_text("[" * 100_000)


def _pipe(place):
    for name in ("meta.json", "train-values.npy"):
        (place / name).unlink()
        os.mkfifo(place / name)


def _pipe_of_values(place):
    (place / "train-values.npy").unlink()
    os.mkfifo(place / "train-values.npy")


@pytest.mark.parametrize("damage", [_cut, _flip, _lose, _garble, _empty, _nest, _pipe, _pipe_of_values])
def test_damage_is_repaired(world, damage):
    fingerprint = world.load().fingerprint
    damage(prepared_folder(world.card(), world.home))
    again = world.load()
    assert again.train.indices.tolist() == [0, 2, 1]
    assert again.fingerprint == fingerprint
    assert len(world.left()) == 1


def test_another_content_that_the_user_accepts_is_prepared_anew(world):
    before = world.load()
    (world.home.folder / "files" / "points").write_text("+1 4:9\n")
    with pytest.raises(FetchError, match="accept"):
        load_problem(world.card(options={"multiply_by": 2.0}), world.home)
    (world.home.folder / "files" / "points.lock.json").unlink()
    load_problem(world.card(options={"multiply_by": 2.0}), world.home)
    after = world.load()
    assert after.train.indices.tolist() == [3]
    assert after.fingerprint != before.fingerprint


def test_a_file_that_is_accepted_by_deleting_its_pin_is_prepared_anew(world):
    """As the message says that refuses it."""
    before = world.load()
    (world.home.folder / "files" / "points").write_text("+1 4:9\n")
    with pytest.raises(FetchError, match="accept"):
        world.load()
    (world.home.folder / "files" / "points.lock.json").unlink()
    after = world.load()
    assert after.train.indices.tolist() == [3]
    assert after.fingerprint != before.fingerprint
    os.utime(world.home.folder / "files" / "points", (1, 1))
    assert world.load().fingerprint == after.fingerprint
    (world.home.folder / "files" / "points.lock.json").unlink()
    assert describe(world.card(), world.home).state == "prepared"


def test_a_card_that_asks_for_another_file_gets_it(world):
    world.load()
    content = POINTS.replace("2.5", "3.5").encode()
    wanted = hashlib.sha256(content).hexdigest()
    asking = SVMLIGHT.replace("{by_hand: make it}", f"{{by_hand: make it, sha256: {wanted}}}")
    with pytest.raises(FetchError, match=f"wrong hash.* where {wanted} is expected"):
        world.load(asking)
    world.offer(content)
    (world.home.folder / "files" / "points").unlink()
    assert world.load(asking).train.values.tolist() == [1, 3.5, -1]


def test_a_card_with_another_address_does_not_get_the_file_of_the_first(world, server):
    """Two datasets may call their files alike, and an address may change with the version of the data."""
    home = DataDirectory(world.home.folder)

    def load(address, name="points"):
        text = SVMLIGHT.replace("{by_hand: make it}", f"{{urls: ['{address}']}}")
        return load_problem(world.card(text, name=name), home)

    first, other = server.put("v1/points", POINTS.encode()), server.put("v2/points", POINTS.replace("2", "3").encode())
    assert load(first).n == 3
    for name in ("points", "others"):
        with pytest.raises(FetchError, match=r"points came from .*/v1/points, which the dataset card does not name"):
            load(other, name)
    for file in ("points", "points.lock.json"):
        (home.folder / "files" / file).unlink()
    assert load(other).train.values.tolist() == [1, 3.5, -1]


def test_what_another_process_still_writes_is_not_shared(world):
    """It would change under the name of this one: rows are scaled in place."""
    made = world.load()
    folder = prepared_folder(world.card(), world.home)
    shutil.copytree(folder, half := folder.with_name(".others-0123456789ab.12345"))
    shutil.rmtree(folder)
    assert world.load().fingerprint == made.fingerprint
    assert not any(path.samefile(half / path.name) for path in folder.glob("*.npy"))


def test_rows_that_are_replaced_while_they_are_loaded_are_not_taken_for_those_of_the_file(tmp_path, monkeypatch):
    """Two files with one name and the same counts, as of folds, are prepared in the same folder."""
    home, cards = DataDirectory(tmp_path / "home", (), offline=True), []
    for fold in ("1", "2"):
        (tmp_path / fold).mkdir()
        (tmp_path / fold / "train.csv").write_text("y,a\n" + f"no,{fold}1\nyes,{fold}2\n" * 10, encoding="utf-8")
        name, options = options_of(tmp_path / fold / "train.csv", FileOptions(scale="none"), "here", None)
        cards.append(catalog.card(name, options))
    values = [load_problem(card, home).train.values.tolist() for card in cards]
    assert prepared_folder(cards[0], home) == prepared_folder(cards[1], home)
    assert values[0] != values[1]
    mapped, others = load._problem, [cards[1], cards[1]]

    def replaced(card, *arguments):
        if others and card is cards[0]:
            load_problem(others.pop(), home)
        return mapped(card, *arguments)

    monkeypatch.setattr(load, "_problem", replaced)
    assert load_problem(cards[0], home).train.values.tolist() == values[0]
    others += [cards[1]] * 9
    with pytest.raises(DataError, match="train: another process prepares other rows under this name"):
        load_problem(cards[0], home)


def test_what_an_interrupted_preparation_left_is_removed(world):
    name = prepared_folder(world.card(), world.home).name
    left = world.home.folder / "prepared" / f".{name}.12345"
    left.mkdir(parents=True)
    (left / "train-values.npy").write_bytes(b"half")
    world.load()
    assert world.left() == [name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing(world, monkeypatch, number):
    card = world.card()

    def full(self, array):
        raise OSError(number, os.strerror(number), str(self.path))

    monkeypatch.setattr(npy.ArrayFile, "append", full)
    with pytest.raises(FetchError, match=r"disk is full.*MPU_BENCH_DATA"):
        world.load()
    assert world.left() == []
    monkeypatch.undo()
    assert load_problem(card, world.home).n == 3


def test_a_stop_by_the_user_leaves_nothing(world, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_check", stop)
    with pytest.raises(KeyboardInterrupt):
        world.load()
    assert world.left() == []


def test_two_processes_prepare_once(world, tmp_path):
    world.card()
    code = (
        "import time; from pathlib import Path; from mpu_bench.data.cards import catalog\n"
        "from mpu_bench.data.download.cache import DataDirectory; from mpu_bench.data.prepare import build, load\n"
        "made = build.build\n"
        "def slowly(*arguments):\n"
        "    open('made', 'a').write('once '); time.sleep(0.5); return made(*arguments)\n"
        "build.build = slowly\n"
        f"home = DataDirectory(Path('home'), ({str(world.mirror)!r},), True)\n"
        "print(load.load_problem(catalog.card('points'), home).fingerprint)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in started]
    assert said[0] == said[1] != ""
    assert (tmp_path / "made").read_text() == "once "
    assert len(world.left()) == 1


def test_the_meta_file_tells_where_the_data_came_from(world):
    world.load()
    meta = json.loads((prepared_folder(world.card(), world.home) / "meta.json").read_text())
    assert meta["counts"] == {"train": [1, 2], "test": [0, 0]}
    assert list(meta["content"]) == ["points"]
    assert meta["origins"]["points"].endswith("points")


@pytest.mark.parametrize(
    "damage",
    [
        "[]", "{", "null", "[" * 100_000, "{}", '"n"', b"\xff",
        {"n": "three"}, {"counts": {"train": [1], "test": [0]}}, {"counts": {"train": 3, "test": 0}}, {"arrays": 3},
        {"arrays": {"../x": {}}}, {"content": []}, {"counts": {"train": ["a", "b"], "test": [0, 0]}},
    ],
    ids=str,
)  # fmt: skip
def test_a_damaged_description_is_made_anew(world, damage):
    world.load()
    (path,) = (world.home.folder / "prepared").glob("*/meta.json")
    whole = path.read_bytes()
    if isinstance(damage, dict):
        damage = json.dumps(json.loads(whole) | damage)
    path.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    assert world.load().n == 3
    assert json.loads(path.read_bytes())["counts"] == json.loads(whole)["counts"]


def test_a_pipe_in_place_of_a_description_is_not_read(world):
    world.load()
    (path,) = (world.home.folder / "prepared").glob("*/meta.json")
    path.unlink()
    os.mkfifo(path)
    assert world.load().n == 3


def test_the_order_of_classes_of_a_file_of_ones_own_is_part_of_its_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    (tmp_path / "mine.csv").write_text("y,a,b\n" + "no,1,2\nyes,3,4\nno,5,6\n" * 10, encoding="utf-8")
    home, found = DataDirectory(tmp_path / "home", (), offline=True), {}
    for order in (["no", "yes"], ["yes", "no"]):
        (tmp_path / "datasets" / "mine.yaml").write_text(
            "title: mine\nkind: table\nfiles: {mine.csv: {path: ../mine.csv}}\ntrain: mine.csv\nseparator: ','\n"
            "header: true\nsplit: {test: 0.2, seed: 0}\ncolumns: {y: label, a: number, b: number}\n"
            f"classes: {order}\nexpect: {{total: {{rows: 30}}}}\n",
            encoding="utf-8",
        )
        problem = load_problem(catalog.card("mine"), home)
        found[problem.fingerprint] = [problem.classes[label] for label in problem.labels]
    one, other = found.values()
    assert one == other


INSTEAD = SVMLIGHT.replace("by_hand: make it", "urls: https://example.org/points") + "instead: others\n"
OTHERS = SVMLIGHT.replace("points", "others")


def test_a_preparation_is_asked_for_by_the_rows_that_it_is_of(tmp_path):
    path, home = tmp_path / "mine.csv", DataDirectory(tmp_path / "home", (), offline=True)
    path.write_text("y,a\n" + "no,1\nyes,2\n" * 10, encoding="utf-8")
    name, options = options_of(path, FileOptions(), "here", None)
    card = catalog.card(name, options)
    fingerprint = load_problem(card, home).fingerprint
    assert preprocessing_of(card, home, fingerprint=fingerprint) is not None
    path.write_text("y,a\n" + "no,1\nyes,7\n" * 10, encoding="utf-8")
    with pytest.raises(DataError, match="mine: its data have changed since they were loaded"):
        preprocessing_of(card, home, fingerprint=fingerprint)


def test_another_dataset_is_read_where_the_files_cannot_be_had(world):
    world.card(OTHERS, name="others")
    world.offer("-1 1:7\n+1 2:8\n", "others")
    (world.mirror / "points").unlink()
    card = world.card(INSTEAD, {"positive": ["-1"], "augment": 2.0})
    problem = load_problem(card, world.home)
    assert (problem.n, problem.features, problem.classes) == (2, 5, ("rest", "-1"))
    assert describe(card, world.home).fingerprint == problem.fingerprint
    assert prepared_folder(card, world.home).is_dir()
    world.offer(POINTS)
    assert load_problem(card, world.home).n == 2  # what is prepared stays
    clean_prepared(catalog.card("others"), world.home)
    fetch(next(iter(card.remote_files)), world.home)
    assert load_problem(card, world.home).n == 3  # its own files come first


def test_the_files_of_a_dataset_come_before_those_of_another(world):
    world.card(OTHERS, name="others")
    world.offer("-1 1:7\n+1 2:8\n", "others")
    assert load_problem(world.card(INSTEAD), world.home).n == 3


def test_files_that_nothing_stands_for_are_asked_for(world):
    world.card(OTHERS, name="others")
    (world.mirror / "points").unlink()
    with pytest.raises(FetchError, match="points is not in the data directory"):
        load_problem(world.card(INSTEAD), world.home)
