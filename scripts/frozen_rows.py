"""Hold the rows of every config's ci profile against a frozen table: counts, errors and objectives, bit for bit.

    python scripts/frozen_rows.py compare RESULTS    # the folder that `mpu-bench reproduce --profile ci` wrote
    python scripts/frozen_rows.py freeze RESULTS     # make the table anew

Rows whose end the clock chose (``stop: seconds``) are held to their existence and status only.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "tests" / "frozen" / "ci_profiles.csv"
KEY = (
    *("experiment", "dataset", "split", "solver", "parameters", "kernel", "budget_vectors", "seed", "trial", "tuned"),
)
COUNTS = ("kernel_evaluations", "kernel_computed", "inner_products", "updates", "passes", "support_vectors")
VALUES = (
    *("objective", "dual_objective", "gap", "deviation", "train_error", "test_error", "online_error", "margin"),
    *("margin_fraction", "margin_fraction_wanted", "update_bound", "nu"),
)
SIZES = ("n", "d", "n_test", "classes", "chosen", "status")
COLUMNS = (*KEY, *SIZES, *COUNTS, *VALUES, "clocked")
#: today's names of what the table has under an earlier one
RENAMED = {"reference": "optimum", "kernel-reference": "kernel-optimum"}
#: and of its columns
RENAMED_COLUMNS = {"deviation": "suboptimality"}


def rows(results: Path) -> list[dict[str, str]]:
    """Read the rows of every results folder below a folder."""
    found = []
    for path in sorted(results.glob("*/runs.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                clocked = any(part.startswith(("seconds ", "timeout")) for part in row["reason"].split("; "))
                values = {name: row.get(RENAMED_COLUMNS.get(name, name), "") for name in COLUMNS}
                found.append(values | {"clocked": "yes" if clocked else ""})
    return found


def freeze(results: Path) -> None:
    """Write the table."""
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows(results), key=lambda row: [row[name] for name in KEY]))


def differences(results: Path) -> list[str]:
    """Compare the rows of results with the table; a line for each difference."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        frozen = {key_of(row): row for row in csv.DictReader(file)}
    now = {key_of(row): row for row in rows(results)}
    lines = [f"missing: {key}" for key in frozen if key not in now]
    lines += [f"new: {key}" for key in now if key not in frozen]
    for key in frozen.keys() & now.keys():
        left, right = frozen[key], now[key]
        watched = ("status",) if left["clocked"] or right["clocked"] else (*SIZES, *COUNTS, *VALUES)
        lines += [f"{key}: {name} was {left[name]}, is {right[name]}" for name in watched if left[name] != right[name]]
    return sorted(lines)


def key_of(row: dict[str, str]) -> tuple[str, ...]:
    """Return what tells a row apart, with today's names."""
    return tuple(RENAMED.get(row[name], row[name]) for name in KEY)


if __name__ == "__main__":
    verb, folder = sys.argv[1], Path(sys.argv[2])
    if verb == "freeze":
        freeze(folder)
    else:
        found = differences(folder)
        print("\n".join(found) or "every row equals the frozen table")
        sys.exit(1 if found else 0)
