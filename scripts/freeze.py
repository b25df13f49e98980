"""Keep results folders in results/baseline, and bring the README's overview up to date.

    python scripts/freeze.py results/mpu-table1 results/sbp-table2
    python scripts/freeze.py                                          # the README alone

For maintainers: what is kept is what `mpu-bench check --against results/baseline` holds later results to. Commit it
with the change that made it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mpu_bench.cli import reproduction
from mpu_bench.errors import StoreError
from mpu_bench.report import overview
from mpu_bench.verdict import baseline

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference"


def main() -> None:
    for folder in map(Path, sys.argv[1:]):
        print(f"kept: {baseline.freeze(folder, REFERENCE)}")
    found = overview.gather(overview.of_folder(folder) for folder in baseline.folders(REFERENCE))
    every = [experiment.name for experiment in reproduction.experiments([], None, print)[0]]
    baseline.refresh(ROOT / "README.md", baseline.readme_section(overview.markdown(found), REFERENCE, every))


if __name__ == "__main__":
    try:
        main()
    except StoreError as fault:
        sys.exit(f"freeze: {fault}")
