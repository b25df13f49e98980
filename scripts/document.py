"""Write the pages of docs/ that are made from the project itself: its solvers, cards, configs and baseline.

    python scripts/document.py

writes those that lie in git: the pages of the papers with their figures, and parts of README.md and docs/verdicts.md.
`tests/test_documents.py` holds them to it. All others are made while the site is built, as MkDocs calls `on_files`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from documents import benchmarks, columns, commands, comparisons, configs, datasets, papers, solvers, verdicts
from mpu_bench.files import write_text

DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.parent / "README.md"
VERDICTS = DOCS / "verdicts.md"
GENERATED = "\n<!-- Written by scripts/document.py: do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return every page and figure that is made while the site is built, by its path in docs/."""
    made: dict[str, str] = {}
    for each in (benchmarks, columns, commands, comparisons, configs, datasets, solvers):
        made |= each.pages()
    return made


def kept() -> dict[str, str]:
    """Return every page and figure that is made and lies in git, by its path in docs/."""
    made = {path: text.rstrip() + "\n" + GENERATED for path, text in papers.pages().items()}
    return made | papers.figures()


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made to those of docs/: MkDocs calls this."""
    from mkdocs.structure.files import File  # of the extra docs

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def readme(text: str) -> str:
    """Return README.md with the result of all papers as it is now."""
    return _with_part(text, "result", papers.result_line())


def verdicts_page(text: str) -> str:
    """Return docs/verdicts.md with the verdicts as they are now."""
    return _with_part(text, "verdicts", verdicts.table_of_verdicts())


def _with_part(text: str, name: str, part: str) -> str:
    """Return a page that is written by hand with the part between two comments as it is now."""
    head, begin, rest = text.partition(f"<!-- {name}: written by scripts/document.py -->\n")
    _, end, tail = rest.partition(f"<!-- end of {name} -->")
    return f"{head}{begin}\n{part}\n{end}{tail}"


def main() -> None:
    written = kept()
    write_text(README, readme(README.read_text("utf-8")))
    write_text(VERDICTS, verdicts_page(VERDICTS.read_text("utf-8")))
    for path in (DOCS / "papers").iterdir():
        if f"papers/{path.name}" not in written:
            path.unlink()
    for path, text in written.items():
        write_text(DOCS / path, text)


if __name__ == "__main__":
    main()
