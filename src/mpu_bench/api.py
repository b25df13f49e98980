"""The runner from Python: `run` makes the runs of a config, `read` opens a results folder.

Both are imported from the top, ``import mpu_bench``, and return `Results`.
"""

from __future__ import annotations

import io
import json
import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpu_bench import solvers
from mpu_bench.config.bounds import MOST_JOBS, MOST_THREADS
from mpu_bench.data.download.cache import DataHome
from mpu_bench.display import html, table
from mpu_bench.display.live import Display
from mpu_bench.display.terminal import Terminal, say, terminal
from mpu_bench.document import as_in_file
from mpu_bench.errors import ClusterError, ConfigError, StoreError
from mpu_bench.experiment import disturbance
from mpu_bench.experiment.chosen import ChosenRuns
from mpu_bench.experiment.pool import Pool
from mpu_bench.experiment.pool.cluster.connect import Cluster, pool_of
from mpu_bench.experiment.pool.local import LocalPool
from mpu_bench.experiment.runner import Listener
from mpu_bench.files import is_folder
from mpu_bench.report import csv_files, figures, frames
from mpu_bench.results.folder import ResultsFolder, open_results
from mpu_bench.results.store import FILE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ("Results", "read", "run")

_WIDTH = 120  # letters of a table
_YES = {"1", "true", "yes", "on", "t", "y"}


class Results:
    """The results of one experiment, read from its folder when they are asked for, and then kept.

    Its tables are those of the CSV files, column by column; docs/results.md says what each column means and in which
    unit. Whole numbers are ``Int64``, other numbers ``float64``, texts ``string`` or ``category``.

    Parameters
    ----------
    folder : Path or str
        A results folder. Nothing is written there.

    Raises
    ------
    StoreError
        If it holds no results.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)  #: where they are
        self._frames: dict[str, pd.DataFrame] = {}
        if not is_folder(self.folder):
            raise StoreError(f"{self.folder}: is no folder; results are in results/NAME, NAME being that of the config")
        with self._opened():
            pass

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of runs.csv: one per run, of failed runs, too."""
        return self._frame("runs")

    @property
    def table(self) -> pd.DataFrame:
        """The rows of table.csv: means and standard deviations over seeds, with the published numbers beside."""
        return self._frame("table")

    @property
    def curves(self) -> pd.DataFrame:
        """The rows of curves.csv: one per checkpoint of a run."""
        return self._frame("curves")

    @property
    def mean_curves(self) -> pd.DataFrame:
        """The rows of mean_curves.csv: the curves averaged over seeds."""
        return self._frame("mean_curves")

    @property
    def comparison(self) -> pd.DataFrame:
        """The rows of comparison.csv: one per published number and claim, with its verdict."""
        return self._frame("comparison")

    @property
    def environment(self) -> dict[str, Any]:
        """What environment.json holds: the machines and versions that the runs were made on."""
        with self._opened() as results:
            return csv_files.Tables(results).environment

    def figure(self, name: str | None = None, against: str | None = None) -> Figure:
        """Draw a figure of ``mpu-bench plot``.

        Parameters
        ----------
        name : str, optional
            Which; the first that there are data for by default.
        against : str, optional
            The horizontal axis of curves: ``"train_seconds"``, ``"passes"``, ...

        Raises
        ------
        ConfigError
            If there is no figure or axis of this name.
        StoreError
            If there are no data for it.
        """
        return figures.styled(figures.figures_of(self.folder, name, against)[0])

    def _frame(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            with self._opened() as results:
                self._frames[name] = frames.frame(name, getattr(csv_files.Tables(results), name))
        return self._frames[name].copy()  # so that nobody changes what is kept

    @contextmanager
    def _opened(self) -> Iterator[ResultsFolder]:
        with open_results(self.folder) as results:
            yield results

    def __repr__(self) -> str:
        text = io.StringIO()
        with self._opened() as results:
            table.print_results(results, Terminal(file=text, width=_WIDTH, color_system=None))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")

    def _repr_html_(self) -> str:
        with self._opened() as results:
            return html.fragment(results)


def read(folder: Path | str) -> Results:
    """Open a results folder, such as ``"results/adult"``; nothing is written there.

    Raises
    ------
    StoreError
        If it does not exist, or holds no results.
    """
    return Results(folder)


def run(
    config: Mapping[str, Any] | Path | str,
    *,
    profile: str | None = None,
    settings: Mapping[str, Any] | Sequence[str] = (),
    only: Mapping[str, Any] | Sequence[str] = (),
    seed: int | None = None,
    repeats: int | None = None,
    threads: int | None = None,
    kernel_memory: str | None = None,
    jobs: int = 1,
    force: bool = False,
    save_models: bool = False,
    results: Path | str = "results",
    data: Path | str | None = None,
    mirror: str | None = None,
    offline: bool | None = None,
    progress: bool = False,
    cluster: str | None = None,
    jobs_per_worker: int = 1,
    send_data: bool = False,
) -> Results:
    """Make the runs of a config that have no result yet, as the command ``mpu-bench run`` does.

    Each run is made in a process of its own. A run that fails is a row of `Results.runs` with its ``status`` and
    ``reason``, and stops nothing else. After Ctrl-C (`KeyboardInterrupt`, which passes) what is finished is kept, and
    the same call makes the rest.

    Parameters
    ----------
    config : mapping, Path or str
        A YAML file, the name of a bundled config, or what such a file would hold. The ``plugins:`` of a mapping are
        found from the working folder. Plugins are code: they run with your rights, in child processes only.
    profile : str, optional
        The profile of the config to use; its results have a folder of their own.
    settings : mapping or sequence of str
        Overrides of keys: ``{"solvers.mpu.C": 10}`` or ``["solvers.mpu.C=10"]``.
    only : mapping or sequence of str
        Filters: ``{"solver": "mpu"}`` or ``["solver=mpu"]``.
    seed, repeats, threads : int, optional
        Override the keys of these names.
    kernel_memory : str, optional
        Memory for kernel values that are kept: ``"2GB"``.
    jobs : int
        How many runs at once. They share the machine, and so their seconds grow.
    force : bool
        Make runs again that have a result.
    save_models : bool
        Save the model of every run in ``results/X/models``.
    results : Path or str
        Where results are kept: experiment X in ``results/X``.
    data : Path or str, optional
        Where datasets are kept; by default ``MPU_BENCH_DATA``, or the user's data folder.
    mirror : str, optional
        Where to look for data files first; by default ``MPU_BENCH_MIRROR``.
    offline : bool, optional
        Do not use the network; by default what ``MPU_BENCH_OFFLINE`` says.
    progress : bool
        Print on stderr what the command prints: a line per run, and remarks.
    cluster : str, optional
        Make the runs on a Dask cluster: the address of its scheduler, or the file that it has written.
    jobs_per_worker : int
        How many runs at once on each worker of the cluster.
    send_data : bool
        Send prepared data to the machines of the cluster.

    Returns
    -------
    Results

    Raises
    ------
    ConfigError
        If the config or a keyword is wrong; the message names the key.
    StoreError
        If the results folder cannot be used.
    ClusterError
        If the cluster cannot be reached, or is lost; what is finished is kept.
    """
    jobs = _count("jobs", jobs, MOST_JOBS)
    jobs_per_worker = _count("jobs_per_worker", jobs_per_worker, MOST_JOBS)
    threads = None if threads is None else _count("threads", threads, MOST_THREADS)
    folder_of_results, folder_of_data = _path("results", results), None if data is None else _path("data", data)
    read_from = config if isinstance(config, Mapping) else _path("config", config)
    home = DataHome.from_options(folder_of_data, mirror, _is_offline(offline))
    tell = say if progress else _say_nothing
    solvers.forget_plugins()
    if cluster is None:
        load = disturbance.load_of_others()  # while this process has no workers yet
        opened: AbstractContextManager[Pool] = LocalPool(jobs, threads or 1)
    else:
        load = math.nan
        opened = pool_of(Cluster(cluster, jobs_per_worker, send_data), home.folder, tell)
    with opened as pool:
        chosen = ChosenRuns.read(
            read_from,
            _pairs("only", only, _one_of),
            profile=profile,
            settings=_pairs("settings", settings, lambda value: json.dumps(as_in_file(value))),
            seed=seed,
            repeats=repeats,
            threads=threads,
            kernel_memory=kernel_memory,
            announce=lambda files: tell(f"plugins, which run with your rights: {', '.join(map(str, files))}"),
        )
        folder = folder_of_results / chosen.experiment.name
        with _listener(progress) as listener:
            try:
                chosen.make(
                    folder, home, pool, listener, force=force, save_models=save_models, jobs=jobs, load=load, say=tell
                )
            except (KeyboardInterrupt, ClusterError):
                if (folder / FILE).is_file():
                    _write(folder)
                raise
    _write(folder)
    return Results(folder)


def _path(keyword: str, given: Any) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise ConfigError(f"{keyword} is {given!r}; it must be a path")
    return Path(given)


def _write(folder: Path) -> None:
    with open_results(folder) as opened:
        csv_files.write(opened)


def _say_nothing(_line: str) -> None:
    pass


@contextmanager
def _listener(progress: bool) -> Iterator[Listener]:
    if not progress:
        yield Listener()
        return
    with Display(terminal(stderr=True), table=False).listening() as listener:
        yield listener


def _pairs(keyword: str, given: Mapping[str, Any] | Sequence[str], text: Callable[[Any], str]) -> list[str]:
    """Return what may be a mapping as the command line has it: ``KEY=VALUE``."""
    if not isinstance(given, Mapping):
        return [given] if isinstance(given, str) else list(given)
    try:
        return [f"{key}={text(value)}" for key, value in given.items()]
    except (TypeError, ValueError) as fault:
        raise ConfigError(f"{keyword}: holds what no YAML file can: {fault}") from None


def _one_of(value: Any) -> str:
    """Return one value, or several of which any will do, as ``--only`` takes them."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _is_offline(given: bool | None) -> bool:
    return os.environ.get("MPU_BENCH_OFFLINE", "").lower() in _YES if given is None else given


def _count(name: str, given: Any, most: int) -> int:
    """Return a whole number of whatever type as Python's own."""
    count = 0
    if not isinstance(given, bool):
        with suppress(TypeError):
            count = operator.index(given)
    if not 1 <= count <= most:
        raise ConfigError(f"{name}: must be a whole number from 1 to {most}, not {given!r}")
    return count
