"""``mpu-bench data``: whatever is named as data directory or mirror, or lies there, one message says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

Call = Callable[..., tuple[object, str]]

VERBS = ["fetch", "verify", "info", "clean"]
NO_HOMES = {
    "long": "x" * 300,
    "very long": "x/" * 3000,
    "device": "/dev/zero",
    "NUL": "a\0b",
    "half a pair": "\ud800",
    "nobody": "~no such user/x",
}


def refused(called: Call, *arguments: str) -> str:
    """Let a command be refused, and hold its message to one paragraph without secrets."""
    code, said = called("data", *arguments)
    assert code == 2
    assert "mpu-bench: " in said
    assert "Traceback" not in said
    assert "hunter2" not in said
    assert "t0ken" not in said
    return " ".join(said.split())


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", NO_HOMES)
def test_a_data_home_that_cannot_be(kind: str, verb: str, called: Call) -> None:
    if kind in ("NUL", "half a pair") and version("typer").startswith(("0.26.", "0.27.", "0.28.")):
        pytest.skip("this typer looks at such a path before the command does; no command line can hold one")
    more = ["--offline"] if verb == "fetch" else []
    said = refused(called, verb, "a1a", "--data", NO_HOMES[kind], *more)
    assert "MPU_BENCH_DATA" in said or "Invalid value for '--data'" in said


@pytest.mark.parametrize("verb", VERBS)
def test_a_data_home_that_holds_no_file(verb: str, called: Call, place: Path) -> None:
    (place / "home" / "files" / "a1a").mkdir(parents=True)
    os.mkfifo(place / "home" / "files" / "a1a.t")
    said = refused(called, verb, "a1a", "--data", "home", *(["--offline"] if verb == "fetch" else []))
    assert f"home{os.sep}files{os.sep}a1a is a folder where a file is needed" in said


@pytest.mark.parametrize(
    ("mirror", "told"),
    [
        ("x" * 5000, "does not exist"),
        ("a\0b", "does not exist"),
        ("/dev/zero", "is not a folder"),
        ("nowhere", "does not exist"),
        ("ftp://alice:hunter2@host/x?t0ken=1", "The mirror 'ftp://host/x'"),
        ("file://[", "does not exist"),
        ("http:/host", "The mirror 'http:/host'"),
    ],
)
def test_a_mirror_that_cannot_be(mirror: str, told: str, called: Call) -> None:
    assert told in refused(called, "fetch", "a1a", "--mirror", mirror, "--offline")


def test_a_file_of_which_no_hash_is_known_is_not_called_correct(called: Call, place: Path) -> None:
    files = place / "home" / "files"
    files.mkdir(parents=True)
    for name in ("pendigits", "pendigits.t"):
        (files / name).write_text("".join(f"{label} 1:{label} 16:100\n" for label in range(10)))
    code, said = called("data", "verify", "pendigits", "--data", "home")
    assert (code, " ".join(said.split()).count("no hash of it is known")) == (0, 2), said


@pytest.mark.parametrize("name", ["", "x" * 5000, "../a1a", "a\0b", "\ud800", "[/red]", "\x1b[2J"])
def test_a_dataset_that_cannot_be(name: str, called: Call) -> None:
    for verb in (*VERBS, "path"):
        assert "there is no dataset" in refused(called, verb, name)


def test_info_shows_how_large_each_file_is(called: Call, place: Path) -> None:
    code, said = called("data", "info", "adult", "--data", "home")
    assert code == 0, said
    assert "a9a (2.3 MB)" in said
    assert "a9a.t (1.2 MB)" in said


def test_what_is_printed_of_a_mirror_has_no_secret(called: Call, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPU_BENCH_MIRROR", "https://alice:hunter2@host.invalid/data?t0ken=1")
    (place / "web.yaml").write_text("name: web\ndataset: w3a\nsolvers: [{dcd: {C: 1}}]\nstop: {passes: 1}\n")
    for arguments in (["info"], ["run", "web.yaml", "--dry-run"]):
        code, said = called(*arguments)
        assert code == 0, said
        assert "https://host.invalid/data" in "".join(said.split())
        for secret in ("alice", "hunter2", "t0ken"):
            assert secret not in said
