"""What README.md and the pages of docs/ tell a user to write: blocks of code, and commands."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = ROOT / "README.md"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = ("", "console")  #: languages of the blocks whose lines are commands
_COMMANDS = ("mpu-bench ", "make ", "python scripts/")


@cache
def document() -> ModuleType:
    """Import scripts/document.py, which makes pages of docs/."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import document
    finally:
        sys.path.pop(0)
    return document


@cache
def made() -> dict[str, str]:
    """Return what is made while the site is built, by its path below docs."""
    made_pages: dict[str, str] = document().pages()
    return made_pages


@cache
def pages() -> dict[str, str]:
    """Return the text of every page, by its path in the checkout, those that are made while the site is built, too."""
    paths = [README, *sorted(DOCS.rglob("*.md"))]
    written = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    further = {f"docs/{path}": text for path, text in made().items() if path.endswith(".md")}
    assert not written.keys() & further.keys()
    return written | further


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of every block of a page."""
    return _BLOCK.findall(pages()[page])


def block(language: str, contains: str) -> str:
    """Return the one block of any page that holds a text."""
    (found,) = {text for page in pages() for name, text in blocks(page) if name == language and contains in text}
    return found


@cache
def commands() -> dict[str, str]:
    """Return every command that a page shows in a block or within a sentence, with the first page that does."""
    found: dict[str, str] = {}
    for page, text in pages().items():
        lines = [line for language, block in blocks(page) if language in _SHELL for line in block.splitlines()]
        shown = [re.split(r"\s+#|\s+>\s", line)[0].strip() for line in lines]
        shown += re.findall(r"`([^`\n]+)`", _BLOCK.sub("", text))
        for command in shown:
            if command.startswith(_COMMANDS):
                found.setdefault(command, page)
    return found
