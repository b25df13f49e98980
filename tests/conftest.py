"""What all tests share: a data directory of their own, and the mirror with the real files where there is one."""

from __future__ import annotations

import compileall
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import mpu_bench
from command_line import environment
from copies import Copies
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.guard.process import thread_variables

# machines are shared: no test is timed; and a change must not fail by chance: what is tried is the same each time
settings.register_profile("project", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)  # pytest --hypothesis-profile=explore: other examples each time
settings.load_profile("project")

# before numpy and numba are imported, which the conftest of a folder may do: code for one thread is compiled once, for
# the tests and for the processes they start; and threads of BLAS would wait for each other
for _variable, _one in thread_variables(1).items():
    os.environ.setdefault(_variable, _one)

# the compiler leaves many objects, and looking for free ones took up to a tenth of its seconds
gc.set_threshold(50_000, 20, 50)

_TESTS = Path(__file__).parent
#: In this order. One process compiles every solver for the contract, while the others run what compiles next to
#: nothing: what two begin to compile at the same time, both compile. Then what takes longest, so that no process is
#: left with it at the end; with the fewest tests a file, xdist would begin it last.
_ORDER = (
    "solvers/test_contract.py", "faults/test_zoo.py", "core/test_jit.py", "data", "test_sabotage.py", "report",
    "verdict", "test_documents.py", "display", "config", "results", "fuzz",
    "estimators", "faults/test_campaigns.py", "faults/test_cluster.py", "test_wheel.py", "extension/test_kernel.py",
    "cli", "test_readme.py", "experiment", "solvers", "models", "extension", "sweep", "core", "test_river.py",
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):  # since xdist 3.7
        config.option.loadscopereorder = False
    if not hasattr(config, "workerinput"):
        # tests start some hundred processes: each would compile the sources where PYTHONDONTWRITEBYTECODE is set
        compileall.compile_dir(Path(mpu_bench.__file__).parent, quiet=2)
    # a shell lets what it starts in the background ignore Ctrl-C, and so would the processes that are tested here
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("COLUMNS", None)  # of the workers of xdist: what a command prints is as wide as for a file
    mirror = os.environ.get("MPU_BENCH_MIRROR")
    if mirror and not mirror.startswith("http"):
        if not Path(mirror).is_dir():
            pytest.exit(f"MPU_BENCH_MIRROR names {mirror}, which is no folder", returncode=2)
        os.environ["MPU_BENCH_MIRROR"] = str(Path(mirror).resolve())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return one worker more than there are processors, for many tests wait: for limits, signals, other processes."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist's own answer
    return 1 + len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send what needs the same compiled code to the same process, which compiles it once.

    By marks for ``--dist loadgroup`` nothing is grouped since pytest 9.2, which does not tell xdist (3.8) of it.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByCompiledCode(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return compiled_together(nodeid)

    return ByCompiledCode(config, log)


def compiled_together(nodeid: str) -> str:
    """Return the name of the tests that need the same compiled code: a file, or a classifier."""
    file, _, test = nodeid.partition("::")
    classifier = re.search(r"\b\w+Classifier\b", test)
    if classifier and "/estimators/" in file:
        return f"{file.rpartition('/')[0]}::{classifier[0]}"
    return file


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    # bytes that are no text, as of an archive that tells when it was made, are no name: processes must agree on it
    return argname if isinstance(val, bytes) and not (val.isascii() and val.decode().isprintable()) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)
    lacking = {}
    if not os.environ.get("MPU_BENCH_MIRROR"):
        lacking["real_data"] = "real data: set MPU_BENCH_MIRROR to a folder or address that holds the datasets' files"
    if not (_TESTS.parent / "results" / "baseline").is_dir():
        lacking["baseline"] = "results/baseline, which only the repository has"
    for item in items:
        for name, what in lacking.items():
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"needs {what}"))


def _place(item: pytest.Item) -> int:
    name = item.nodeid.removeprefix("tests/")
    return next((place for place, start in enumerate(_ORDER) if name.startswith(start)), len(_ORDER))


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> DataDirectory:
    """A data directory for the whole session, so that real files are prepared once."""
    mirror = os.environ.get("MPU_BENCH_MIRROR")
    return DataDirectory(tmp_path_factory.mktemp("data-home"), (mirror,) if mirror else (), offline=True)


@pytest.fixture(scope="session")
def copies() -> Iterator[Copies]:
    """Return a process that is copied for commands."""
    made = Copies(environment())
    yield made
    made.close()


@pytest.fixture(scope="session", autouse=True)
def _uncounted_arrays_stay() -> Iterator[None]:
    """Hold every function that was compiled without reference counts to returning no array."""
    yield
    from mpu_bench.core.jit import Jitted

    for name, module in sorted(sys.modules.items()):
        for function in vars(module).values() if name.startswith("mpu_bench.") else ():
            if isinstance(function, Jitted) and not function.from_jitted.targetoptions["_nrt"]:
                signatures = [*function.from_python.nopython_signatures, *function.from_jitted.nopython_signatures]
                returned = [str(signature.return_type) for signature in signatures]
                assert not any("array" in kind for kind in returned), f"{name}.{function.__name__} returns {returned}"


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, shared_home: DataDirectory) -> None:
    """Keep tests away from the user's data directory, mirror settings and network."""
    monkeypatch.setenv("MPU_BENCH_DATA", str(shared_home.folder))
    monkeypatch.delenv("MPU_BENCH_OFFLINE", raising=False)
