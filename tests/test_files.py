"""Files that are read in bounds and written whole or not at all, locks between processes, and CSV files of results."""

from __future__ import annotations

import csv
import errno
import lzma
import multiprocessing
import os
import socket
import stat
import threading
import tracemalloc
from pathlib import Path

import filelock
import pytest

from mpu_bench import files
from mpu_bench.errors import StoreError, UserError
from mpu_bench.files import csv_text, process_lock, read_bounded, read_csv, write_all, write_text, written_whole


def explained(error: OSError) -> UserError:
    return StoreError(f"cannot lock: {errno.errorcode[error.errno or 0]}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "no such file"),
        ("folder", "is a folder, not a file"),
        ("pipe", "is a pipe, not a file"),
        ("linked", "is a pipe, not a file"),
        ("dangling", "no such file"),
        ("circle", "cannot be read: Too many levels of symbolic links"),
        ("/dev/zero", "is a device, not a file"),
        ("/dev/null", "is a device, not a file"),
        ("kept/below", "cannot be read: Not a directory"),
        ("x" * 300, "cannot be read: File name too long"),
        ("x/" * 2500, "cannot be read: File name too long"),
        ("a\0b", "cannot be read: no file can have this name"),
        ("\ud800", "cannot be read: no file can have this name"),
        ("large", "is larger than 10 bytes"),
    ],
)
def test_only_a_regular_file_is_read(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "kept").write_bytes(b"ten bytes.")
    (tmp_path / "large").write_bytes(b"eleven byte")
    os.mkfifo(tmp_path / "pipe")
    for link, target in (("linked", "pipe"), ("dangling", "nothing"), ("circle", "circle")):
        (tmp_path / link).symlink_to(target)
    with pytest.raises(StoreError) as caught:
        read_bounded(tmp_path / name, 10, StoreError)
    assert words in str(caught.value)
    assert read_bounded(tmp_path / "kept", 10, StoreError) == b"ten bytes."


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(StoreError, match="is a socket, not a file"):
            read_bounded(Path("socket"), 10, StoreError)


def test_memory_is_taken_for_what_there_is(tmp_path: Path) -> None:
    """Where an address space is limited, a gigabyte is not to be had, though a file has but some bytes."""
    (tmp_path / "small").write_bytes(b"small")
    tracemalloc.start()
    try:
        assert read_bounded(tmp_path / "small", 2**34, StoreError) == b"small"
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
    (tmp_path / "larger").write_bytes(b"x" * (2**21 + 1))
    assert len(read_bounded(tmp_path / "larger", 2**21 + 1, StoreError)) == 2**21 + 1
    with pytest.raises(StoreError, match="is larger than"):
        read_bounded(tmp_path / "larger", 2**21, StoreError)


def test_a_text_is_written_as_it_is(tmp_path: Path) -> None:
    write_text(tmp_path / "table.csv", "naïve\nline\r\n")
    assert (tmp_path / "table.csv").read_bytes() == "naïve\nline\r\n".encode()


def test_a_text_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old and longer")
    write_text(tmp_path / "file", "new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"new")]


def test_others_may_read_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_text(tmp_path / "whole", "")
    assert stat.S_IMODE((tmp_path / "whole").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.parametrize("fault", [OSError("full"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(tmp_path: Path, fault: BaseException) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def write() -> None:
        with written_whole(tmp_path / "file") as stream:
            stream.write(b"half of the n")
            raise fault

    with pytest.raises(type(fault)):
        write()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path: Path) -> None:
    with written_whole(tmp_path / "file") as stream:
        stream.write(b"content")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"content"


def test_what_a_killed_process_has_left_is_removed_and_what_another_is_writing_is_not(tmp_path: Path) -> None:
    (tmp_path / ".file.0123abcd").write_bytes(b"half of")
    (tmp_path / ".file.notes").write_bytes(b"not ours")
    (tmp_path / ".other.0123abcd").write_bytes(b"of another file")
    with written_whole(tmp_path / "file") as first:
        first.write(b"first")
        write_text(tmp_path / "file", "second")
        first.write(b" and last")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "file": b"first and last", ".file.notes": b"not ours", ".other.0123abcd": b"of another file",
    }  # fmt: skip


def test_a_file_that_is_taken_for_left_behind_at_once_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def swept(path: Path, mode: str = "r", *more: object) -> object:
        stream = opened(path, mode, *more)
        if mode == "xb" and len(begun) < 2:
            begun.append(path)
            path.unlink()
        return stream

    begun: list[Path] = []
    monkeypatch.setattr(Path, "open", swept)
    write_text(tmp_path / "file", "content")
    assert len(begun) == 2
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"content")]


def test_all_texts_are_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    write_all(tmp_path / "a" / "b", {"one": "1", "two": "2"})
    assert {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()} == {"one": "1", "two": "2"}


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file: cannot be written: File exists"):
        write_all(tmp_path / "file", {"one": "1"})


def test_a_lock_is_had_again_after_the_work(tmp_path: Path) -> None:
    for _ in range(2):
        with process_lock(tmp_path / "sub" / "lock", StoreError("busy"), explained):
            pass


def test_a_lock_that_is_held_raises_the_callers_error(tmp_path: Path) -> None:
    with (
        filelock.FileLock(tmp_path / "lock"),
        pytest.raises(StoreError, match="busy"),
        process_lock(tmp_path / "lock", StoreError("busy"), explained),
    ):
        pytest.fail("the lock was had twice")


def test_who_waits_says_so_and_gets_the_lock(tmp_path: Path) -> None:
    lock = filelock.FileLock(tmp_path / "lock")
    lock.acquire()
    told: list[str] = []

    def waiting() -> None:
        told.append("waiting")
        lock.release()

    with process_lock(tmp_path / "lock", waiting, explained):
        assert told == ["waiting"]


def test_who_waits_says_so_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_SECONDS_BETWEEN_WORDS", 0.05, raising=False)
    lock = filelock.FileLock(tmp_path / "lock")
    lock.acquire()
    told: list[str] = []

    def waiting() -> None:
        told.append("waiting")
        if len(told) == 3:
            lock.release()

    released = threading.Timer(5.0, lock.release)  # so that who waits in silence ends, too
    released.start()
    with process_lock(tmp_path / "lock", waiting, explained):
        assert told == ["waiting"] * 3
    released.cancel()


def _take_and_die(path: Path) -> None:
    filelock.FileLock(path).acquire()
    os._exit(1)


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_take_and_die, args=(tmp_path / "lock",))
    process.start()
    process.join()
    with process_lock(tmp_path / "lock", StoreError("busy"), explained):
        assert process.exitcode == 1


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StoreError, match=r"cannot lock: (EEXIST|ENOTDIR)"),
        process_lock(tmp_path / "file" / "lock", StoreError("busy"), explained),
    ):
        pytest.fail("the lock was had")


def test_a_file_system_without_locks_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with (
        pytest.raises(StoreError, match="cannot lock: ENOSYS"),
        process_lock(tmp_path / "lock", StoreError("busy"), explained),
    ):
        pytest.fail("the lock was had")


def test_errors_of_the_work_pass(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mine"), process_lock(tmp_path / "lock", StoreError("busy"), explained):
        raise OSError("mine")


def test_a_csv_file_is_read_as_its_columns_types(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_text(path, csv_text([{"name": "a, b", "count": 3, "note": None}, {"name": "c", "count": 4, "else": 1}]))
    assert path.read_text().splitlines()[0] == "name,count,note,else"
    types = {"name": str, "count": int, "note": lambda text: text or None, "later": lambda text: text or None}
    rows = read_csv(path, types, needed=["name", "count"])
    assert rows[0] == {"name": "a, b", "count": 3, "note": None, "later": None}
    with pytest.raises(StoreError, match="no column 'later'"):
        read_csv(path, types)
    with pytest.raises(StoreError, match="cannot be read"):
        read_csv(path, {"name": int})


def test_a_csv_file_is_read_as_a_spreadsheet_saves_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'\xef\xbb\xbf"name",count,\r\n"a\r\nb",3,\r\n,4,\r\n')
    rows = [{"name": "a\r\nb", "count": 3}, {"name": "", "count": 4}]
    assert read_csv(path, {"name": str, "count": int}) == rows


def test_csv_text_has_the_columns_asked_for() -> None:
    assert csv_text([{"a": 1, "b": 2}], ["b", "c"]) == "b,c\n2,\n"


ODD_TEXTS = ["=1+2", "+1", "-x", "@sum", "'=1", "''", "'", "-1.5", "a\nb", "a,b", '"', "é", "", "\tx", " =1"]


def test_no_cell_of_a_csv_file_is_a_formula_and_all_come_back(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_text(path, csv_text([{"name": text, "=odd": text} for text in ODD_TEXTS]))
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in ("=", "+", "@", "-") and cell not in ("-1.5", "+1")]
    assert [row["name"] for row in read_csv(path, {"name": str, "=odd": str})] == ODD_TEXTS


def test_no_cell_of_a_csv_file_is_obeyed_by_a_terminal() -> None:
    assert csv_text([{"a": "\x1b[31m\udcff\0\r", "b": -1.5}]) == "a,b\n\\x1b[31m\\udcff\\x00\\r,-1.5\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xff\xfe", "cannot be read"),
        ("a,b\n1,2\n".encode("utf-16"), "cannot be read"),
        (b"x,y\n1,2\n", "no column 'a'"),
        (b"a,b\n1\n", "line 2: has 1 cell, and the heading 2"),
        (b"a,b\n1,2,3\n", "line 2: has 3 cells, and the heading 2"),
        (b'a,b\n1,"x\ny"\none,2\n', "line 4: a cannot be read"),
        (b"a,b\none,2\n", "line 2: a cannot be read"),
        (b"a,b\n1e999,2\n", "line 2: a cannot be read"),
        (b"a,b\n" + b"9" * 5000 + b",2\n", "line 2: a cannot be read"),
        (b"a,b\n1," + b"x" * 20_000_000 + b"\n", "field larger than field limit"),
        (b'a,b\n1,"2\n', "unexpected end of data"),
    ],
)
def test_a_csv_file_of_another_kind_is_one_message(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"table\.csv.*{message}"):
        read_csv(path, {"a": lambda text: int(float(text)), "b": str})


COMPRESSED = {
    "empty": lambda: b"",
    "no xz": lambda: b"no xz",
    "cut": lambda: lzma.compress(b"a,b\n1,2\n")[:-9],
    "two": lambda: lzma.compress(b"a,b\n1,2\n") + lzma.compress(b"3,4\n"),
    "a bomb": lambda: lzma.compress(bytes(2**27)),  # which takes a second
}


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_compressed_file_is_believed_only_so_far(tmp_path: Path, kind: str, monkeypatch) -> None:
    monkeypatch.setattr("mpu_bench.files._MAX_CSV_BYTES", 2**20)
    path = tmp_path / "table.csv.xz"
    path.write_bytes(COMPRESSED[kind]())
    with pytest.raises(StoreError, match=r"table\.csv\.xz: cannot be read"):
        read_csv(path, {"a": str})


def test_where_one_file_cannot_be_written_none_is(tmp_path: Path) -> None:
    write_all(tmp_path, {"a": "old", "c": "old"})
    (tmp_path / "b").mkdir()
    with pytest.raises(StoreError, match="cannot be written: b is not a regular file"):
        write_all(tmp_path, {"a": "new", "b": "new", "c": b"new"})
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "c"}
    assert [(tmp_path / name).read_text() for name in "ac"] == ["old", "old"]


def test_a_file_takes_the_place_of_nothing_but_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        write_text(tmp_path / "pipe", "text")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("name", ["a" * 300, "a" * 5000, "a\0b", "file/below", "loop/below"])
def test_a_folder_that_no_system_makes_is_one_message(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match="cannot be written"):
        write_all(tmp_path / name, {"a": "text"})
