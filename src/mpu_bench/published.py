"""The numbers the papers print, from configs/published, one CSV per table."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mpu_bench import resources
from mpu_bench.errors import StoreError, nearest
from mpu_bench.files import read_bounded

_MAX_BYTES = 1_000_000


def names() -> list[str]:
    """List the published tables."""
    return sorted(path.stem for path in resources.bundled("configs/published").glob("*.csv"))


def citation(paper: str) -> str:
    """Return the BibTeX entry of a paper, by the name that configs and solvers give it; empty for one without."""
    path = resources.bundled("configs/published") / "papers.bib"
    entries = read_bounded(path, _MAX_BYTES, StoreError).decode().split("\n\n")
    return next((entry.strip() for entry in entries if entry.partition(",")[0].endswith(f"{{{paper}")), "")


@dataclass(frozen=True)
class Reference:
    """A paper: its title, its authors as one reads them, the year, and where it is, if that has an address."""

    title: str
    authors: str
    year: str
    link: str


def reference(paper: str) -> Reference | None:
    """Return a paper by its name; None for one that papers.bib does not have."""
    fields = dict(re.findall(r"^ +(\w+) = \{(.*)\},$", citation(paper), re.M))
    if not fields:
        return None
    words = {name: _plain(text) for name, text in fields.items()}
    names = [" ".join(reversed(name.split(", "))) for name in words["author"].split(" and ")]
    link = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url", "")
    return Reference(words["title"], ", ".join(names), fields["year"], link)


def _plain(text: str) -> str:
    """Return a text of BibTeX without its braces, with its accents as letters."""
    accented = re.sub(r"\{\\~(\w)\}", lambda match: unicodedata.normalize("NFC", f"{match[1]}\u0303"), text)
    return re.sub(r"[{}]", "", accented)


def deviation(row: Mapping[str, str], column: str) -> str:
    """Return the printed standard deviation of a number of a row, which stands right of it; empty without one."""
    columns = list(row)
    right = columns[columns.index(column) + 1 :][:1]
    return "".join(row[name] for name in right if name == "std" or name.endswith("_std"))


@cache
def table(name: str) -> list[dict[str, str]]:
    """Read a published table.

    Raises
    ------
    StoreError
        If there is none of this name, it cannot be read, or a row of it is not as long as its heading.
    """
    path = resources.bundled("configs/published") / f"{name}.csv"
    if not path.is_file():
        raise StoreError(f"there is no published table '{name}'; {nearest(name, names())}")
    try:
        rows = list(csv.DictReader(io.StringIO(read_bounded(path, _MAX_BYTES, StoreError).decode(), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from None
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise StoreError(f"{path}, line {number}: must have as many cells as the heading has columns")
    return rows
