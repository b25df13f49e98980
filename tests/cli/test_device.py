"""From a table to a device: what docs/device.md tells a user to write, and choices that fit or do not."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import Called
from documentation import blocks
from mpu_bench.models.export.device import PROGRAMS

TRIED = ("--only", "dcd,bpegasos-20,smo", "--budget", "20", "--jobs", "1", "--seconds", "30")
has_tools = all(map(shutil.which, PROGRAMS))


@pytest.fixture
def bank(place: Path) -> Path:
    """Write a table with words and numbers, of which one in six rows is positive."""
    random, n = np.random.default_rng(7), 1500
    job, rate = random.choice(["admin.", "services", "retired", "student"], n), random.normal(3, 1.5, n).round(3)
    balance = [f"{value:.2f}" if value > 20 else "" for value in random.lognormal(6, 1, n)]
    chance = 1 / (1 + np.exp(3.2 + rate - 2.5 * np.isin(job, ["retired", "student"])))
    frame = pd.DataFrame({"job": job, "age": random.integers(18, 90, n), "rate": rate, "balance": balance})
    frame.assign(y=np.where(random.random(n) < 4 * chance, "yes", "no")).to_csv(place / "bank.csv", index=False)
    return place


def table_of(place: Path) -> dict[str, dict[str, str]]:
    with (place / "results" / "try-bank" / "candidates.csv").open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_the_page_leads_from_a_table_to_c(bank: Path, mpu_bench: Called) -> None:
    shown = [text.splitlines() for language, text in blocks("docs/device.md") if language == ""]
    told = []
    for command in [line for lines in shown for line in lines]:
        more = TRIED if " try " in command else ()
        done = mpu_bench(*command.split()[1:], *more)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        told.append(done.stdout + done.stderr)
    assert "it fits cortex-m0 with 32,000 bytes of flash and 8,000 of RAM: " in told[0]
    assert ("labels agree" if has_tools else "all of this is an estimate") in told[0]
    assert "(1.5 cycles an instruction at 16 MHz, an estimate)" in told[0]
    assert "bytes of flash, " in told[1]
    assert "small_test.c, small.mk, small.ino" in told[2]
    (chosen,) = [row for row in table_of(bank).values() if row["chosen"] == "True"]
    assert int(chosen["flash"]) <= 32_000
    assert int(chosen["ram"]) <= 8_000
    assert int(chosen["instructions"]) > 0
    lines = [line for language, text in blocks("docs/device.md") if language == "sh" for line in text.splitlines()]
    for command in [line.split() for line in lines if line.startswith("make ")]:
        if shutil.which("make") and (has_tools or "test" in command):
            done = subprocess.run(command, cwd=bank, capture_output=True, text=True, check=False)
            assert "rows; labels that differ from Python's: " in done.stdout, done.stderr


def test_only_what_fits_is_chosen(bank: Path, mpu_bench: Called) -> None:
    given = ("try", "bank.csv", "--device", "cortex-m0", *TRIED)
    done = mpu_bench(*given, "--flash", "6KiB", PATH="")
    assert done.returncode == 0, done.stderr
    rows = table_of(bank)
    assert rows["dcd"]["chosen"] == rows["dcd"]["fits"] == "True"
    assert rows["smo"]["fits"] == "False"
    assert "does not fit: " in rows["smo"]["reason"]
    assert {row["estimated"] for row in rows.values() if row["flash"]} == {"True"}
    assert re.search(rf"dcd .* ~{int(rows['dcd']['flash']):,} ", done.stdout)
    assert "all of this is an estimate from a table of measured models (not installed: arm-none-eabi-gcc" in done.stdout
    done = mpu_bench(*given, "--flash", "1KB", "--ram", "200", PATH="")
    assert done.returncode == 1
    assert (
        "nothing was chosen, and no model is saved: none fits cortex-m0 with 1,000 bytes of flash and 200 of RAM: the"
        in done.stdout
    )
    assert "; give a smaller --budget or fewer columns, or a larger device (--flash, --ram)" in done.stdout
    assert not (bank / "results" / "try-bank" / "model.mpu").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "z80"), "--device z80: no such device; choose from cortex-m0, cortex-m4"),
        (("--flash", "32KB"), "--flash and --ram are those of a device: name it by --device"),
        (("--device", "cortex-m0", "--ram", "much"), "--ram much: must be a size above 0, such as 200MB"),
    ],
)
def test_a_wrong_device_is_one_message(called, bank: Path, options: tuple[str, ...], message: str) -> None:
    code, said = called("try", "bank.csv", *options)
    assert (code, message in said) == (2, True)
