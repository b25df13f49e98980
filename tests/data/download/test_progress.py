"""The ways of showing how far a download is."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mpu_bench.data.download.progress import SILENT, Bar, Lines, for_console


def test_lines_come_now_and_then() -> None:
    lines: list[str] = []
    times = iter([0.0, 1.0, 5.0, 6.0, 10.0])
    progress = Lines(lines.append, clock=lambda: next(times))
    with progress.transfer("fetch a9a", 2_000_000, 1_000_000) as advance:
        for count in (100_000, 400_000, 100_000, 400_000):
            advance(count)
    progress.note("a note")
    assert lines == [
        "fetch a9a: 1.5 MB of 2.0 MB, 100.0 kB/s, 5 s left",
        "fetch a9a: 2.0 MB of 2.0 MB, 100.0 kB/s, 0 s left",
        "fetch a9a: done, 2.0 MB",
        "a note",
    ]


def test_lines_without_a_total_and_without_an_end() -> None:
    lines: list[str] = []
    times = iter([0.0, 10.0])
    progress = Lines(lines.append, clock=lambda: next(times))

    def fail() -> None:
        with progress.transfer("fetch a9a", None) as advance:
            advance(500)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert lines == ["fetch a9a: 500 bytes, 50 bytes/s"]


def test_a_terminal_gets_a_bar() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    progress = for_console(console)
    assert isinstance(progress, Bar)
    with progress.transfer("fetch [a9a]", 2_000_000) as advance:
        advance(2_000_000)
    progress.note("a [note]")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("fetch [a9a]", "2.0/2.0 MB", "0:00:00", "a [note]"):
        assert part in shown


def test_a_pipe_gets_lines() -> None:
    console = Console(file=io.StringIO(), force_terminal=False, width=20)
    progress = for_console(console)
    assert isinstance(progress, Lines)
    progress.note("a [long] note that is not wrapped at all")
    assert console.file.getvalue() == "a [long] note that is not wrapped at all\n"  # type: ignore[attr-defined]


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with SILENT.transfer("fetch a9a", 1) as advance:
        advance(1)
    SILENT.note("nothing")
    assert capsys.readouterr() == ("", "")
