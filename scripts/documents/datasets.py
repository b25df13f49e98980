"""docs/datasets.md: every dataset that comes with the project, from its card."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from rich.filesize import decimal

from documents.markdown import table
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card

HEAD = """# Datasets

Every dataset that comes with the project, from its card in `datasets/`. `mpu-bench data info NAME` shows the same with
the full addresses, and whether it is on this machine. [Use your data](data.md) shows how to fetch, mirror and add
datasets.

Rows, features and classes are what the card expects after preparation; a file with others is rejected. Downloads are
the sizes of the files where the card has them. Please cite what a dataset's entry names when you use it. A licence
stands here as far as it was found stated; where none was, none is guessed, and the source decides what it allows.
"""


def pages() -> dict[str, str]:
    """Return the page."""
    cards = [catalog.card(name) for name in sorted(catalog.names()) if name in catalog.shipped_names()]
    headings = ("dataset", "training rows", "test rows", "features", "classes", "download", "papers")
    overview = table(headings, map(_row, cards))
    return {"datasets.md": "\n".join([HEAD, overview, *map(_entry, cards)])}


def download(card: Card) -> str:
    """Return what must be fetched: its size, or that it is not known, or that it is only available manually."""
    if not card.remote_files:
        return "none"
    if any(not file.urls for file in card.remote_files):
        return "manual"
    sizes = [file.bytes for file in card.remote_files if file.bytes is not None]
    if not sizes:
        return "size not known"
    more = "" if len(sizes) == len(card.remote_files) else " or more"
    return decimal(sum(sizes)) + more


def _row(card: Card) -> tuple[object, ...]:
    train, test = card.expected_rows()
    counts = [f"{count:,}" if count else ("none" if count == 0 else "") for count in (train, test, _features(card))]
    return f"[{card.name}](#{card.name})", *counts, len(card.class_names), download(card), ", ".join(card.papers)


def _features(card: Card) -> int | None:
    return card.kept_features or card.features


def _entry(card: Card) -> str:
    return "\n".join([f"## {card.name}", "", f"{card.title}.", "", *(f"- {line}" for line in _facts(card)), ""])


def _facts(card: Card) -> Iterator[str]:
    if card.aliases:
        yield f"Also called {', '.join(f'`{name}`' for name in card.aliases)}."
    if card.note:
        yield " ".join(card.note.split())
    if card.cite:
        yield f"Cite: {card.cite.rstrip('.')}."
    if card.licence:
        yield f"Licence: {card.licence}."
    hosts = {urlsplit(address).hostname or "" for file in card.remote_files for address in file.urls}
    if hosts:
        yield f"Fetched from {', '.join(sorted(hosts))}."
    for text in dict.fromkeys(file.by_hand for file in card.remote_files if file.by_hand):
        yield f"By hand: {' '.join(str(text).split())}."
    yield f"Options: {', '.join(f'`{name}`' for name in (*card.options, *UNIVERSAL_OPTIONS))}."
