"""Accept results folders as results/baseline, and write anew what is made of it.

That is results/baseline/README.md and configs/seconds.csv; scripts/document.py writes the pages of the papers.

    python scripts/accept.py results/mpu-table1 results/sbp-table2    # what full runs came to
    python scripts/accept.py results/ci/*-ci                          # what CI holds its own runs to
    python scripts/accept.py results/baseline/*/                      # verdicts anew, after a rule has changed
    python scripts/accept.py                                          # what is made of it alone

For maintainers: what is kept is what `mpu-bench check` holds later results to. Commit it with the change that made it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import stored
from mpu_bench.errors import StoreError
from mpu_bench.experiment import estimates, reproduce
from mpu_bench.files import csv_text, write_text
from mpu_bench.report import overview
from mpu_bench.resources import config_names
from mpu_bench.results.folder import open_results

BASELINE = Path(__file__).parents[1] / "results" / "baseline"
SECONDS = Path(__file__).parents[1] / "configs" / estimates.FILE

HEAD = """# What this project came to

Its own last numbers, which `mpu-bench check` holds later results to. `mpu-bench show`, `plot`, `report` and `export`
read the folders here like any other. `scripts/accept.py` keeps a results folder here and writes this file. How many of
the reported values and ratios, and of the papers' claims, the full runs give which verdict:
"""
RUNS = "The runs behind it (what is without a result, and why, is in each `about.json`):"
SHORT = "Of the ci profiles, which CI holds its runs to (judged only where nothing is cut):"


def readme(root: Path) -> str:
    """Return the text of the baseline's README: the overview, and where, when and how long it was measured."""
    about = {folder: stored.about(folder) for folder in stored.folders(root)}
    whole = full(root)
    lines = [_line(about[folder], _machines(folder)) for folder in whole]
    every = {experiment.name for experiment in reproduce.experiments([], None, print)[0]}
    absent = sorted(every - {about[folder]["name"] for folder in whole})
    if absent:
        lines.append(f"- not run in full so far: {', '.join(f'`{name}`' for name in absent)}")
    table = overview.markdown(overview.by_table(map(overview.of_folder, whole)))
    short = [_line(about[folder], _machines(folder)) for folder in about if folder not in whole]
    return "\n".join([HEAD, table, RUNS, "", *lines, *(["", SHORT, "", *short] if short else []), ""])


def full(root: Path) -> list[Path]:
    """Return the folders of full runs, those of no profile."""
    return [each for each in stored.folders(root) if each.name in config_names()]


def seconds(root: Path) -> str:
    """Return the text of configs/seconds.csv: how long the runs of the baseline train."""
    rows = []
    for folder in stored.folders(root):
        with open_results(folder) as results:
            rows += estimates.typical_rows(results.finished())
    return csv_text(rows, estimates.COLUMNS)


def _machines(folder: Path) -> dict[str, list[str]]:
    """Return the commits by the machine they ran on."""
    commits: dict[str, list[str]] = {}
    for machine in json.loads((folder / "environment.json").read_text("utf-8"))["machines"]:
        commits.setdefault(f"{machine['processor']}, {machine['cores']} cores", []).append(f"`{machine['commit']}`")
    return commits


def _line(about: dict[str, Any], machines: dict[str, list[str]]) -> str:
    hours = about["hours"]
    time = f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"
    where = "; ".join(f"{name}, commit {', '.join(dict.fromkeys(commits))}" for name, commits in machines.items())
    without = dict.fromkeys(f"{'part of ' * each.is_part}{each.dataset}" for each in about["missing"])
    line = (
        f"- `{about['name']}`: {about['runs']} of {about['planned']} runs, {time} of training, {about['date']}, {where}"
    )
    return line + (f"; without {', '.join(without)}" if without else "")


def _check_config(folder: Path) -> None:
    """Refuse results of a config that is none of the project, or was named by its path: nobody else has that path."""
    with open_results(folder) as results:
        config = results.facts["config"]
    if config not in config_names():
        raise StoreError(f"{folder}: is of the config {config}, which is none of the project; run it by its name")


def main() -> None:
    folders = [*map(Path, sys.argv[1:])]
    for folder in folders:
        _check_config(folder)
    for folder in folders:
        print(f"kept: {stored.accept(folder, BASELINE)}")
    write_text(BASELINE / "README.md", readme(BASELINE))
    write_text(SECONDS, seconds(BASELINE))


if __name__ == "__main__":
    try:
        main()
    except StoreError as error:
        sys.exit(f"accept: {error}")
