"""What the pages share: tables whose cells are words, code, and texts of docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mpu_bench.report.tables import Table, markdown, markdown_table


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of cells that are Markdown; a bar within one is escaped."""
    lines = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    return markdown_table([list(headings), *lines])


def words_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of cells that are words: nothing in them is Markdown."""
    return markdown(Table(headings, [[str(cell) for cell in row] for row in rows], ""))


def code(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def of_docstring(text: str) -> str:
    """Return a docstring's paragraphs as Markdown: what is indented is code, stars that stand for themselves stay."""
    parts = []
    for part in re.split(r"\n{2,}", text.strip("\n")):
        lines = part.split("\n")
        if all(line.startswith("    ") for line in lines):
            parts.append(code("\n".join(line[4:] for line in lines).replace("``", "")))
        else:
            parts.append(_plain(part) + "\n")
    merged = "\n".join(parts)
    return re.sub(r"```\n\n```text\n", "\n", merged)  # parts of one block


def _plain(part: str) -> str:
    """Return a paragraph in which stars and signs are letters, but for *emphasis* and `code`."""
    pieces = re.split(r"(`[^`]*`|(?<![\w*])\*\w[^*`]*\w\*(?!\w))", part.replace("``", "`"))
    return "".join(piece if piece[:1] in ("`", "*") else _escaped(piece) for piece in pieces)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*")


def head(text: str) -> list[str]:
    """Return the lines of the comment that a config begins with, without their marks."""
    found = re.match(r"(?:#[^\n]*\n)+", text)
    return [line.removeprefix("#").removeprefix(" ") for line in found[0].splitlines()] if found else []
