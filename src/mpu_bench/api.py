"""The runner from Python: `run` executes the runs of a config, `plan` lists them, `read` opens a results folder.

`reproduce` executes those of the papers. All are imported from the top, ``import mpu_bench``.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mpu_bench import solvers
from mpu_bench.config.read import Config
from mpu_bench.display import table
from mpu_bench.display.live import Display
from mpu_bench.display.terminal import Terminal, say, terminal
from mpu_bench.errors import ClusterError, StoreError
from mpu_bench.experiment.options import ReproduceOptions, RunOptions, keywords, path_of
from mpu_bench.experiment.outlook import Outlook
from mpu_bench.experiment.reproduce import experiments as experiments_of
from mpu_bench.experiment.runner import Listener, choose, opened
from mpu_bench.files import is_folder
from mpu_bench.report import csv_files, figures, reproduction
from mpu_bench.report.overview import overview_rows
from mpu_bench.results.folder import open_results
from mpu_bench.results.store import FILE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ("Reproduction", "Results", "plan", "read", "reproduce", "run")

_WIDTH = 120  # letters of a table


class Results:
    """The results of one experiment, read from its folder when they are used, and then kept.

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
            raise StoreError(f"{self.folder}: no such folder; results are in results/NAME, where NAME is the config's")
        with open_results(self.folder):
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
        """What environment.json holds: the machines and versions of the runs."""
        with open_results(self.folder) as results:
            return csv_files.Tables(results).environment

    def figure(self, name: str | None = None, against: str | None = None, style: str = "paper") -> Figure:
        """Draw a figure of ``mpu-bench plot``.

        Parameters
        ----------
        name : str, optional
            Which; by default the first of the config's, or else the first that there are data for.
        against : str, optional
            The horizontal axis of curves: ``"train_seconds"``, ``"passes"``, ...
        style : {"paper", "slides"}
            How large text and lines are.

        Raises
        ------
        ConfigError
            If there is no figure, axis or style of this name.
        StoreError
            If there are no data for it.
        """
        return figures.styled(figures.figures_of(self.folder, name, against)[0], style)

    def _frame(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            with open_results(self.folder) as results:
                self._frames[name] = csv_files.frame(name, getattr(csv_files.Tables(results), name))
        return self._frames[name].copy()  # so that nobody changes what is kept

    def __repr__(self) -> str:
        text = io.StringIO()
        with open_results(self.folder) as results:
            table.print_results(results, Terminal(file=text, width=_WIDTH, color_system=None))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")

    def _repr_html_(self) -> str:
        with open_results(self.folder) as results:
            return table.fragment(results)


def read(folder: Path | str) -> Results:
    """Open a results folder, such as ``"results/adult"``; nothing is written there.

    Raises
    ------
    StoreError
        If it does not exist, or holds no results.
    """
    return Results(folder)


@keywords(RunOptions)
def run(config: Config | str, options: RunOptions) -> Results:
    """Execute the runs of a config that have no result yet, as the command ``mpu-bench run`` does.

    Each run has its own process. A run that fails is a row of `Results.runs` with its ``status`` and
    ``reason``, and stops nothing else. After Ctrl-C (`KeyboardInterrupt`, which passes) what is finished is kept, and
    the same call makes the rest.

    Parameters
    ----------
    config : mapping, Path or str
        A YAML file, the name of a bundled config, or what such a file would hold. The ``plugins:`` of a mapping are
        found from the working folder. Plugins are code: they run with your rights, in child processes only.
    **options
        Those of the command as keywords: the fields of `RunOptions`.

    Returns
    -------
    Results

    Raises
    ------
    ConfigError
        If the config or a keyword is wrong; the message names the key.
    FetchError
        If the mirror is of an unknown kind, or it or the data directory is in the folder of an unknown user.
    StoreError
        If the results folder cannot be used.
    ClusterError
        If the cluster cannot be reached, or is lost; what is finished is kept.
    """
    report = say if options.progress else _say_nothing
    solvers.forget_plugins()
    with opened(_config(config), options, report) as (chosen, pool), _listener(options.progress) as listener:
        try:
            chosen.make(pool, listener, report)
        except (KeyboardInterrupt, ClusterError):
            if (chosen.folder / FILE).is_file():
                _write(chosen.folder)
            raise
    _write(chosen.folder)
    return Results(chosen.folder)


@keywords(RunOptions)
def plan(config: Config | str, options: RunOptions) -> Outlook:
    """Return what `run` would do with the same config and keywords; nothing is fetched, run or written.

    Parameters
    ----------
    config, **options
        As `run` takes them.

    Returns
    -------
    Outlook
        Its ``runs``, which of them are ``todo``, the ``estimate`` of what they take, the files that are ``missing``.

    Raises
    ------
    ConfigError, FetchError, StoreError
        As of `run`.
    """
    solvers.forget_plugins()
    return Outlook.of(choose(_config(config), options, say if options.progress else _say_nothing))


class Reproduction(NamedTuple):
    """The output of `reproduce`: results by name, the verdicts on every published table, and what failed."""

    results: dict[str, Results]
    verdicts: pd.DataFrame
    failures: list[str]


@keywords(ReproduceOptions)
def reproduce(papers: str | Sequence[str], options: ReproduceOptions) -> Reproduction:
    """Run every config of some papers, cheapest first, and compare with the published numbers.

    The files that ``mpu-bench reproduce`` writes are written, too. After Ctrl-C what is finished is kept.

    Parameters
    ----------
    papers : str or sequence of str
        ``"mpu-2010"``, ...; all if empty.
    **options
        Those of the command as keywords: the fields of `ReproduceOptions`, such as ``profile="ci"``.

    Returns
    -------
    Reproduction

    Raises
    ------
    ConfigError
        If a paper or a profile does not exist, or a keyword is wrong.
    FetchError, ClusterError
        As of `run`.
    """
    import pandas as pd

    report = say if options.progress else _say_nothing
    named = [papers] if isinstance(papers, str) else list(papers)
    experiments, failures = experiments_of(named, options.profile, report)
    failures += reproduction.make(experiments, options, lambda: _listener(options.progress), report)
    tables, folders = reproduction.write(experiments, options)
    verdicts = pd.DataFrame(overview_rows(tables))
    return Reproduction({folder.name: Results(folder) for folder in folders}, verdicts, failures)


def _config(config: Config | str) -> Config:
    return config if isinstance(config, Mapping) else path_of("config", config)


def _write(folder: Path) -> None:
    with open_results(folder) as opened:
        csv_files.write(opened)


def _say_nothing(_line: str) -> None:
    pass


def _listener(progress: bool) -> AbstractContextManager[Listener]:
    return Display(terminal(stderr=True), table=False).listening() if progress else nullcontext(Listener())
