"""Signals at any moment: the exit code is theirs, and no words of another fault are told."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import environment

#: where a signal comes: in work that goes on, that turns it into another error, in tidying up, and again and again
PLACES = {
    "plain": "die()",
    "turned": "try:\n        die()\n    except BaseException:\n        raise UserError('the disk is full')",
    "bug": "try:\n        die()\n    except BaseException:\n        raise ZeroDivisionError",
    "swallowed": "try:\n        die()\n    except BaseException:\n        return 0",
    "destructor": "class Falling:\n        def __del__(self):\n            die()\n    Falling()\n    time.sleep(60)",
    "tidying": "try:\n        die()\n    finally:\n        die()",
    "other": "try:\n        die()\n    finally:\n        os.kill(os.getpid(), signal.SIGTERM)",
    "made code": "exec('die()')",  # as dataclasses and namedtuples are made
    "import": "sys.path.insert(0, '.')\n    import dying",
    "exit handler": "atexit.register(die)\n    return 0",
    "exit handler after": "atexit.register(die)\n    die()",
    "output": "atexit.register(die)\n    print('x' * 100)\n    die()",
}
SCRIPT = """
import atexit, os, signal, sys, time
from mpu_bench.cli import app, interruption
from mpu_bench.errors import UserError

def die():
    os.kill(os.getpid(), signal.{name})

def work(**_):
    {place}

def called(standalone_mode):
    return work()

app.app = called
interruption.leave_with(app.call)
"""


@pytest.mark.parametrize(
    ("place", "name"),
    [
        *((place, "SIGINT") for place in PLACES),
        *((place, "SIGTERM") for place in ("turned", "destructor", "tidying", "exit handler")),
    ],
)
def test_a_signal_at_any_moment_decides_the_exit_code(tmp_path: Path, place: str, name: str) -> None:
    (tmp_path / "dying.py").write_text(
        f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.{name})\nexcept BaseException:\n"
        "    raise ImportError('half of it')\n",
        encoding="utf-8",
    )
    (tmp_path / "started.py").write_text(SCRIPT.format(name=name, place=PLACES[place]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "started"], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 128 + signal.Signals[name]
    assert "Traceback" not in done.stderr
    assert "disk is full" not in done.stderr


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    ignoring: Callable[[], object] = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(name="SIGINT", place="die()\n    return 0")], cwd=tmp_path,
        env=environment(), preexec_fn=ignoring, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0
