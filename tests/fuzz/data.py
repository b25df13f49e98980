"""Targets: source files of every kind, their compressions, prepared folders, and what a server or a disk answers."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import importlib
import inspect
import json
import lzma
import pkgutil
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, get_args
from unittest import mock

import numpy as np
import urllib3.connection
import yaml

from fuzz import documents
from fuzz.documents import own_card
from fuzz.mutation import bent_bytes, bent_words, mutator_of_json, mutator_of_parts, mutator_of_yaml
from fuzz.target import SEPARATOR, Mutate, Target, empty_place, place, written
from mpu_bench.data import readers
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.parts import DelimitedColumns
from mpu_bench.data.cards.schema import Card
from mpu_bench.data.download import compression, fetch
from mpu_bench.data.download.cache import DataDirectory, Policy, RemoteFile
from mpu_bench.data.download.errors import SourceError
from mpu_bench.data.download.integrity import digest_file, read_pin
from mpu_bench.data.download.progress import SILENT
from mpu_bench.data.prepare import generators
from mpu_bench.data.prepare.load import describe, load_problem, prepared_folder, preprocessing_of
from mpu_bench.data.readers.blocks import Labels, SourceFile
from mpu_bench.data.readers.delimited import fit, new_encoding, read_delimited
from mpu_bench.data.readers.idx import read_idx
from mpu_bench.data.readers.svmlight import Rules, Topics, read_svmlight
from mpu_bench.data.user_files.adding import FileOptions, card_text, look
from mpu_bench.errors import UserError

_MAX_CELLS = 200_000  #: of a dataset that is really made; what no machine could hold is asked for, too
_NO_MACHINE_HAS_BYTES = 2**46


# ------------------------------------------------------------------ readers


CLASSES = Labels({"-1": ("-1", "rest"), "+1": ("1", "2"), "b": ("b",)})
SVMLIGHT = (
    b"+1 1:1 3:2.5 # a comment\n-1\n\n-1.0 2: -1e-3 4:0\r\n+1 qid:3 1:1 2:1\n",
    b"1 1:1 1:1 2:.5\n2 3:1e5\n",
    b"-1 1:0.25 2:7\n" * 20,
)
RULES = (
    Rules(CLASSES, 4),
    Rules(CLASSES, 3, 0),
    Rules(CLASSES, 4, 1, True),
    Rules(CLASSES),
    Rules(CLASSES, 4, 0, True),
)
TOPICS = b"C11 2286 1\nCCAT 2286 1\nCCAT 2287 1\n"
TABLE = b"1,2,red,b\n3, 4.5,blue,-1\n0,1e3,red,1\n"
DELIMITED = (
    *(b"1*2*red*b\n3* 4.5*blue*-1\n0*1e3*red*1\n", b"1*2*red*b\r\n\r\n3*4.5*blue*-1"),
    *(b'1*2*"a b"*b\n1*2*red*-1\n', b"-1*2*red*4\nb*4.5*blue*5\n"),
)
LAYOUTS = (
    DelimitedColumns(label=4, categorical=(3,)),
    DelimitedColumns(label=4, skip=(3,)),
    DelimitedColumns(label=4, separator="blank", categorical=(3,), categories={3: ("red", "blue")}),
    DelimitedColumns(label=4, separator=";", categorical=(1, 3)),
    DelimitedColumns(label=1, categorical=(3, 4)),
)
IDX = (
    struct.pack(">4B3I", 0, 0, 8, 3, 2, 2, 2) + bytes(range(8)),
    struct.pack(">4B1I", 0, 0, 8, 1, 2) + bytes((1, 1)),
)
FILE_OPTIONS: tuple[dict[str, Any], ...] = (
    {"missing": "median"},
    {"missing": "drop", "scale": "none"},
    {"scale": "unit-interval", "header": True},
    {"split": 0.5, "seed": 3, "label": "1"},
    {},
)
OWN = (
    b'n,c,y\n1,red,-1\n,"b\nc",1\n2.5,?,b\n1e3,red,1\n',
    b"".join(b"%d;%d,5;a%d\n" % (i, i, i % 2) for i in range(9)),
    b"1 1:1 3:2\n-1 2:1\n1 1:2\n",
    gzip.compress(b"x\ty\n1\ta\n2\tb\n3\ta\n"),
    b"PAR1\x15\x04",
)
WORDS_OF_ROWS = (
    "+1",
    "-1",
    "1:1",
    "4294967294:1",
    "1:nan",
    "1:1e400",
    ":",
    "qid:1",
    "#",
    "0:1",
    "red",
    '"',
    "inf",
    "1e400",
    "\r",
    ";",
)


def _source(name: str, data: bytes) -> SourceFile:
    return SourceFile(name, written(name, data))


def _with_choice(data: bytes, choices: Sequence[Any]) -> tuple[Any, bytes]:
    """Let the first byte of an input choose."""
    return choices[(data[0] if data else 0) % len(choices)], data[1:]


def _read_svmlight(data: bytes) -> None:
    (rules, size), text = _with_choice(data, [(each, size) for each in RULES for size in (None, 16)])
    _drain(read_svmlight(_source("rows", text), rules, size))


def _read_topics(data: bytes) -> None:
    Topics(_source("topics", data), "CCAT")


def _read_delimited(data: bytes) -> None:
    (layout, scaled, size), text = _with_choice(
        data, [(each, scaled, size) for each in LAYOUTS for scaled in (False, True) for size in (None, 16)]
    )
    file = _source("table", text)
    encoding = new_encoding(file, layout, scaled and bool(layout.categorical))
    if layout.categorical:
        fit(encoding, [file], lambda _first, count: np.ones(count, bool))
    _drain(read_delimited(file, encoding, CLASSES, size))


def _add(data: bytes) -> None:
    """Look at a user file, write its card and prepare it."""
    (file_options, _), content = _with_choice(data, [(each, None) for each in FILE_OPTIONS])
    path = written("own", content)
    added = look(path, FileOptions.model_validate(file_options))
    card_text(added.card, place(), "mpu-bench data add")
    card = catalog.card("own", {catalog.CARD: {**added.card, "origin": "own.yaml"}})
    home = DataDirectory(empty_place("home"), (), offline=True)
    problem = load_problem(card, home)
    known = preprocessing_of(card, home)
    assert known is not None
    assert known.features == problem.features


def _read_idx(data: bytes) -> None:
    images, _, labels = data.partition(SEPARATOR)
    _drain(read_idx(_source("images", images), _source("labels", labels), CLASSES, features=4, chunk_rows=1))


def _drain(chunks: Iterator[Any]) -> None:
    for chunk in chunks:
        assert len(chunk.labels) >= 0
        assert chunk.labels.min(initial=0) >= 0, "a row without a class"


def kinds() -> set[str]:
    """Return every kind of card that the schema knows."""
    return {word for card in get_args(Card) for word in get_args(card.model_fields["kind"].annotation)}


def reading_modules() -> set[str]:
    """Return the modules of data/readers with a function ``read_...``."""
    names = [each.name for each in pkgutil.iter_modules(readers.__path__)]
    modules = {name: importlib.import_module(f"{readers.__name__}.{name}") for name in names}
    return {
        name
        for name, module in modules.items()
        if any(
            each.startswith("read_") and function.__module__ == module.__name__
            for each, function in inspect.getmembers(module, inspect.isfunction)
        )
    }


# ------------------------------------------------------------------ whole preparations, for each kind of card


_CARD = "title: T\nfiles: {files}\ntrain: {train}\nclasses: ['-1', '1', b]\nfeatures: {features}\nkind: {kind}\n{more}"
_BY_HAND = "{by_hand: make it}"
_MADE = (
    "title: T\nkind: generated\ncontent: {content}\nrows: 40\ntest_rows: 10\nfeatures: {features}\n"
    "classes: {classes}\n{more}"
)


def _card(kind: str, features: int, more: str, *contents: bytes) -> bytes:
    names = [f"file{number}" for number in range(len(contents))]
    files = ", ".join(f"{name}: {_BY_HAND}" for name in names)
    text = _CARD.format(files=f"{{{files}}}", train=f"[{', '.join(names)}]", features=features, kind=kind, more=more)
    return SEPARATOR.join([text.encode(), *contents])


_WAYS = (
    "",
    "storage: dense\n",
    "storage: sparse\nunit_rows: true\n",
    "storage: dense\nscale: standard\npositive: [b]\n",
    "storage: dense\ndrop_columns: zero\n",
    "multiply_by: 2\ndivide_by: 3\naugment: 1.0\n",
)


_SPLIT = "split: {test: 0.5, seed: 0}\nexpect: {total: {rows: 4}}\n"
_OF_TABLES = (
    "missing: median\n",
    "missing: drop\nscale: standard\nstorage: sparse\n",
    f"missing: median\nscale: unit-interval\naugment: 1.0\n{_SPLIT}",
    "missing: median\nstorage: dense\nunit_rows: true\npositive: [b]\n",
    "header: true\nseparator: ','\n",
)


@cache
def preparations(kind: str) -> list[bytes]:
    """Return cards of a kind, each with its files; of a kind that is new here the project's cards, without files."""
    made: dict[str, Callable[[], list[bytes]]] = {
        "table": lambda: [
            _card("table", 9, f"columns: {{n: number, c: categorical, y: label}}\n{more}", OWN[0])
            for more in _OF_TABLES
        ],
        "svmlight": lambda: [
            *(_card("svmlight", 4, more, text) for more in _WAYS for text in SVMLIGHT[::2]),
            _card("svmlight", 4, "repeated_pairs: drop\nsplit: {train: 1}\nexpect: {total: {rows: 2}}\n", SVMLIGHT[1]),
        ],
        "delimited": lambda: [
            *(_card("delimited", 2, f"columns: {{label: 4, skip: [3]}}\n{more}", TABLE) for more in _WAYS),
            _card("delimited", 4, "columns: {label: 4, categorical: [3]}\nscale: unit-interval\n", TABLE),
        ],
        "idx": lambda: [_card("idx", 4, more, IDX[0], IDX[1]) for more in _WAYS],
        "embedded": lambda: [
            (catalog._paths()["digits"].read_text() + more).encode() for more in ("", "augment: 2.0\n")
        ],
        "generated": lambda: [
            _MADE.format(
                content=name,
                features=each.features or 5,
                classes=list(map(str, range(each.classes))),
                more=more + "margin: 0.1\n" * ("margin" in each.takes),
            ).encode()
            for name, each in generators.GENERATORS.items()
            for more in ("", "storage: dense\nscale: standard\n", "storage: dense\nstream: true\nseed: 3\n")
        ],
    }
    if kind in made:
        return made[kind]()
    return [text for text in documents.card_examples() if yaml.safe_load(text.split(SEPARATOR)[0]).get("kind") == kind]


def _prepare(kind: str, data: bytes) -> None:
    text, *contents = data.split(SEPARATOR)
    with own_card(text) as name:
        card = catalog.card(name)
        if not _is_quick(card):
            return
        home = DataDirectory(empty_place("home"), (), offline=True)
        if any(file.path is not None for file in card.remote_files):
            return  # which would be a file of this machine
        for file, content in zip(card.remote_files, contents, strict=False):
            home.path(file).parent.mkdir(parents=True, exist_ok=True)
            home.path(file).write_bytes(content)
        _look_at(load_problem(card, home), card, home)


def _is_quick(card: Card) -> bool:
    """Return whether a dataset is small, or so large that it must be refused before it is made."""
    rows = max(getattr(card, "rows", 0) + (getattr(card, "test_rows", 0) or 0), card.total.rows if card.total else 0)
    cells = max(rows, 1) * (len(card.columns) if card.kind == "table" else card.features)
    return cells <= _MAX_CELLS or 4 * cells > _NO_MACHINE_HAS_BYTES


def _look_at(problem: Any, card: Card, home: DataDirectory) -> None:
    known = describe(card, home)
    assert (known.n, known.d, known.n_test) == (problem.n, problem.features, len(problem.test_labels)), known
    assert problem.labels.max(initial=0) < len(problem.classes)


# ------------------------------------------------------------------ compressed files


TEXT = b"".join(b"%d 3:1 11:%d\n" % (1 - 2 * (i % 2), i * i) for i in range(40))
#: twelve lines as Unix compress packs them, which Python cannot
PACKED = bytes.fromhex(
    "1f9d903140ccd01130460c1d3014b40838b0e0c1180a1812046150070d85121deac81151e0c48a316c60f4a851468d8e0d291e9c2172214995"
    "1639668469e3a2cb941571409c091246c29b1f1fca8008"
)
_PACK: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "compress": lambda _: PACKED,
}


def _compressed(kind: str | None) -> list[bytes]:
    """Return texts packed in a way; of one that is new here, only its first bytes can be guessed by the fuzzer."""
    pack = _PACK.get(kind, bytes)
    return [pack(TEXT), pack(b""), pack(TEXT) + pack(TEXT), pack(b"<html>" + TEXT)]


def _read_compressed(data: bytes) -> None:
    path = written("packed", data)
    file = RemoteFile("packed", content_bytes=1 << 22)
    digest_file(path, file, SILENT)
    with compression.open_content(path) as stream:
        while stream.read(1 << 16):
            pass


# ------------------------------------------------------------------ what the data directory remembers


_FILE = RemoteFile("rows", urls=("http://server.test/rows",))
_KNOWN = RemoteFile(
    "rows", urls=("http://server.test/rows",), sha256=(hashlib.sha256(TEXT).hexdigest(),), bytes=len(TEXT)
)
_PIN = {
    "sha256": _KNOWN.sha256[0],
    "content_sha256": _KNOWN.sha256[0],
    "bytes": len(TEXT),
    "content_bytes": len(TEXT),
    "origin": "http://server.test/rows",
    "time": "2026-01-01T00:00:00+00:00",
    "modified": 1,
}


def _home(name: str, **files: bytes) -> DataDirectory:
    home = DataDirectory(empty_place(name), (), offline=True)
    (home.folder / "files").mkdir()
    for each, content in files.items():
        (home.folder / "files" / each).write_bytes(content)
    return home


def _read_pin(data: bytes) -> None:
    home = _home("pins", rows=TEXT)
    home.pin_path(_FILE).write_bytes(data)
    read_pin(_FILE, home)
    fetch.have(_FILE, home)
    fetch.fetch(_FILE, home)


_OWN_CARD = _card("svmlight", 4, "positive: [b]\n", SVMLIGHT[0])


@cache
def _prepared() -> tuple[Path, bytes]:
    """Prepare a dataset; returns its data directory, and what it says of itself."""
    text, content = _OWN_CARD.split(SEPARATOR)
    with own_card(text) as name:
        card = catalog.card(name)
        home = DataDirectory(empty_place("prepared-once"), (), offline=True)
        (home.folder / "files").mkdir()
        home.path(card.remote_files[0]).write_bytes(content)
        load_problem(card, home)
        return home.folder, (prepared_folder(card, home) / "meta.json").read_bytes()


def _read_meta(data: bytes) -> None:
    folder, _ = _prepared()
    with own_card(_OWN_CARD.split(SEPARATOR)[0]) as name:
        card = catalog.card(name)
        home = DataDirectory(folder, (), offline=True)
        (prepared_folder(card, home) / "meta.json").write_bytes(data)
        describe(card, home)
        problem = load_problem(card, home)
        assert problem.labels.max(initial=0) < len(problem.classes)


# ------------------------------------------------------------------ answers of servers


_HEAD = b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: "abc"\r\n\r\n' % len(TEXT)
ANSWERS = (
    _HEAD + TEXT,
    _HEAD
    + TEXT[:100]
    + SEPARATOR
    + b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 100-%d/%d\r\nContent-Length: %d\r\n"
    b'ETag: "abc"\r\n\r\n' % (len(TEXT) - 1, len(TEXT), len(TEXT) - 100) + TEXT[100:],
    b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n" + SEPARATOR + _HEAD + TEXT,
    b"HTTP/1.1 429 Slow\r\nRetry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n"
    + SEPARATOR
    + _HEAD
    + TEXT,
    b"HTTP/1.1 302 Found\r\nLocation: http://other.test/there\r\nContent-Length: 0\r\n\r\n" + SEPARATOR + _HEAD + TEXT,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + TEXT[:100] + b"\r\n0\r\n\r\n",
    b"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */10\r\n\r\n" + SEPARATOR + _HEAD + TEXT,
    b"HTTP/1.0 200 OK\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n\r\n" + TEXT,
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(TEXT, mtime=0),
    b"HTTP/1.1 100 Continue\r\n\r\n" + _HEAD + b"<html><body>login</body></html>",
)
WORDS_OF_ANSWERS = (
    *(
        "Content-Length: ",
        "Content-Range: bytes 0-1/2",
        "Retry-After: ",
        "Location: http://[bad",
        "Location: file:///etc/passwd",
    ),
    *(
        "Transfer-Encoding: chunked",
        "Content-Encoding: gzip",
        "Set-Cookie: a=b",
        'ETag: W/"x"',
        "HTTP/0.9",
        "\r\n\r\n",
        "204",
        "206",
    ),
    *(
        "304",
        "301",
        "416",
        "503",
        "\xb2",
        "9" * 5000,
        "99999999999999999999 Oct 2099",
        "-1",
        "1e5",
        "bytes */*",
        "\x00",
        "Location: //",
    ),
)


@contextmanager
def _server(answers: list[bytes]) -> Iterator[None]:
    """Let every connection be to a server that sends the next of these answers, whatever it is asked."""
    waiting = list(answers)

    def connect(_connection: Any) -> socket.socket:
        if not waiting:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(waiting.pop(0)[:100_000])
            theirs.shutdown(socket.SHUT_WR)
        return ours

    names = {"no_proxy": "*", "NO_PROXY": "*"}
    with (
        mock.patch.object(urllib3.connection.HTTPConnection, "_new_conn", connect),
        mock.patch.dict("os.environ", names),
    ):
        yield


_IMPATIENT = Policy(attempts=3, sleep=lambda _seconds: None, connect_timeout=2.0, read_timeout=2.0)


def _read_answers(data: bytes) -> None:
    file, rest = _with_choice(data, (_FILE, _KNOWN))
    home = DataDirectory(empty_place("downloads"), policy=_IMPATIENT)
    path = home.path(file)
    with _server(rest.split(SEPARATOR)):
        try:
            fetched = fetch.fetch(file, home)
        except UserError:
            assert not path.exists(), "a file that was refused stands under its name"
            raise
    assert hashlib.sha256(path.read_bytes()).hexdigest() == fetched.sha256
    assert not file.hashes or not file.hashes.isdisjoint({fetched.sha256, fetched.content_sha256})


# ------------------------------------------------------------------ all of them


def _packed(data: bytes, random: Random) -> bytes:
    """Change bytes behind the first ones, by which a compression is known."""
    return data[:4] + bent_bytes(data[4:], random) if random.random() < 0.95 else bent_bytes(data, random)


def _of_card(kind: str) -> Mutate:
    card = mutator_of_yaml(documents.words, lambda: [each.split(SEPARATOR)[0] for each in preparations(kind)])
    rows = bent_bytes if kind == "idx" else partial(bent_words, words=WORDS_OF_ROWS)
    return mutator_of_parts([card, rows], SEPARATOR)


def _rows(data: bytes, random: Random) -> bytes:
    return bent_words(data, random, WORDS_OF_ROWS)


def _covered(name: str) -> str:
    return f"mpu_bench.data.{name}"


def targets() -> list[Target]:
    """Return the targets of this file."""
    headed = [bytes([number]) + text for number in range(10) for text in SVMLIGHT]
    separators = (",", ",", " ", ";", ",")  # of the layouts
    tables = [
        bytes([4 * number + way]) + text.replace(b"*", separators[number].encode())
        for number in range(len(LAYOUTS))
        for way in range(4)
        for text in DELIMITED
    ]
    answers = partial(bent_words, words=WORDS_OF_ANSWERS, separators=b" :\r\n/-")
    of_json = mutator_of_json(lambda: (*_PIN, "arrays", "content"))
    prepared = [
        Target(
            f"prepare-{kind}",
            partial(_prepare, kind),
            partial(preparations, kind),
            (
                _covered("prepare.build"),
                _covered("prepare.npy"),
                *([_covered(f"readers.{kind}")] if kind in reading_modules() else []),
            ),
            0.5,
            _of_card(kind),
            documents.words(),
        )
        for kind in sorted(kinds())
    ]
    packed = [
        Target(
            f"compression-{kind or 'none'}",
            _read_compressed,
            partial(_compressed, kind),
            (_covered("download.compression"),),
            4,
            _packed,
            refusals=(UserError, SourceError),
        )
        for kind in compression._OPENERS
    ]
    return [
        *prepared,
        *packed,
        Target("svmlight", _read_svmlight, lambda: headed, (_covered("readers.svmlight"),), 6, _rows, WORDS_OF_ROWS),
        Target("topics", _read_topics, lambda: [TOPICS], (_covered("readers.svmlight"),), 6, _rows, WORDS_OF_ROWS),
        Target("delimited", _read_delimited, lambda: tables, (_covered("readers.delimited"),), 4, _rows, WORDS_OF_ROWS),
        Target(
            "own",
            _add,
            lambda: [bytes([k]) + each for k in range(len(FILE_OPTIONS)) for each in OWN],
            tuple(_covered(f"user_files.{name}") for name in ("adding", "formats", "looking", "tables")),
            2,
            _rows,
            WORDS_OF_ROWS,
        ),
        Target("idx", _read_idx, lambda: [SEPARATOR.join(IDX)], (_covered("readers.idx"),), 8),
        Target("pin", _read_pin, lambda: [json.dumps(_PIN).encode()], (_covered("download.integrity"),), 3, of_json),
        Target("meta", _read_meta, lambda: [_prepared()[1]], (_covered("prepare.load"),), 2, of_json),
        Target(
            "answers",
            _read_answers,
            lambda: [bytes([k]) + each for k in (0, 1) for each in ANSWERS],
            (_covered("download.transfer"), _covered("download.fetch")),
            4,
            answers,
            WORDS_OF_ANSWERS,
        ),
    ]
