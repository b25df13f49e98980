"""Write the pages of docs/ that are made from the project itself: its solvers, cards, configs and kept results.

    python scripts/document.py

`tests/test_documents.py` holds every page to what this writes.
"""

from __future__ import annotations

from pathlib import Path

from documents import benchmarks, columns, commands, configs, datasets, papers, solvers, verdicts
from mpu_bench.files import write_text

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
VERDICTS = DOCS / "verdicts.md"
GENERATED = "\n<!-- Written by scripts/document.py: do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return every generated page, by its path in docs/."""
    made: dict[str, str] = {}
    for each in (benchmarks, columns, commands, configs, datasets, papers, solvers):
        made |= each.pages()
    return {path: text.rstrip() + "\n" + GENERATED if path.endswith(".md") else text for path, text in made.items()}


def readme(text: str) -> str:
    """Return README.md with the overview of the papers as it is now."""
    return _with_part(text, "overview", papers.overview_table("docs/papers/"))


def verdicts_page(text: str) -> str:
    """Return docs/verdicts.md with the verdicts as they are now."""
    return _with_part(text, "verdicts", verdicts.table_of_verdicts())


def _with_part(text: str, name: str, part: str) -> str:
    """Return a page that is written by hand with the part between two comments as it is now."""
    head, begin, rest = text.partition(f"<!-- {name}: written by scripts/document.py -->\n")
    _, end, tail = rest.partition(f"<!-- end of {name} -->")
    return f"{head}{begin}\n{part}\n{end}{tail}"


def main() -> None:
    written = pages()
    write_text(README, readme(README.read_text("utf-8")))
    write_text(VERDICTS, verdicts_page(VERDICTS.read_text("utf-8")))
    for folder in ("papers", "solvers"):
        for path in (DOCS / folder).glob("*.md"):
            if f"{folder}/{path.name}" not in written:
                path.unlink()
    for path, text in written.items():
        (DOCS / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(DOCS / path, text)


if __name__ == "__main__":
    main()
