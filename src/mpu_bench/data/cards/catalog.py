"""The cards of all datasets: those that come with the project, the user's own in ``./datasets``, those of packages.

An installed package brings a folder of cards by an entry point ``mpu_bench.datasets``.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mpu_bench import installed, resources
from mpu_bench.data.cards.schema import MAX_NAME_BYTES, UNIVERSAL_OPTIONS, AnyCard, Card, can_name_a_file
from mpu_bench.document import Document, Locations, shown
from mpu_bench.errors import DataError, nearest
from mpu_bench.files import is_file, read_bounded
from mpu_bench.texts import command
from mpu_bench.yaml_text import MAX_BYTES, read

_OWN = Path("datasets")  # a user's cards, below the working folder
_MAX_EXTENDED = 10
_FIVE_AGAINST_FIVE = "five-against-five"
CARD = "card"  #: the option that holds a whole card, of a dataset that has none of its own
_NOT_INHERITED = ("aliases", "published")


def names() -> list[str]:
    """List the datasets, sorted: one per card of the shipped and of the user's folder."""
    return sorted(_paths())


def shipped_names() -> set[str]:
    """Return the names of the datasets that come with the project, and their other names."""
    cards = _cards_in(resources.bundled("datasets"))
    return set(cards).union(*(_texts(_readable(path).get("aliases")) for path in cards.values()))


def card(name: str, options: Mapping[str, Any] | None = None) -> Card:
    """Read a dataset's card and apply options to it.

    Parameters
    ----------
    name : str
        The dataset's name, or an alias of it.
    options : mapping, optional
        Values for keys that the card's ``options`` declare as free, or that are free for every dataset (``augment``).
        Under `CARD` the whole card, as plain data, of a dataset that has none of its own.

    Returns
    -------
    Card

    Raises
    ------
    DataError
        If there is no such dataset, the card is wrong, or an option is unknown or impossible. The message names the
        card's file, line and key.
    """
    options = dict(options or {})
    if (whole := options.pop(CARD, None)) is not None:
        read = Document({**whole, "name": name}, str(whole["origin"]), DataError)
    else:
        card_name = _find(name)
        read = _content(_paths()[card_name])
        read.data |= {"name": card_name, "origin": str(_paths()[card_name])}
    allowed = [*_texts(read.data.get("options")), *UNIVERSAL_OPTIONS]
    read.locations.steps |= dict.fromkeys(options, Locations(f"{read.data['origin']}, option"))
    read.data |= options
    for key in options:
        if key not in allowed:
            raise read[key].error(f"the dataset has no such option; {nearest(str(key), allowed)}")
    chosen: Card = read.root.validated(AnyCard)
    return chosen


def whole(name: str) -> dict[str, Any]:
    """Return the content of a card, for the option `CARD` where the card's file is not there."""
    path = _paths()[_find(name)]
    return {**_content(path).data, "origin": str(path)}


def bipartitions(chosen: Card, how: Any) -> list[tuple[str, list[str], tuple[str, ...]]]:
    """List the two-class problems that a dataset's classes can be split into.

    Parameters
    ----------
    chosen : Card
        With ten classes, and none of them named ``positive``.
    how : str
        ``"five-against-five"``: all 126 ways to set five of ten classes against the others.

    Returns
    -------
    list
        Of each problem a name made of its positive classes (the first class is always among them), the value of the
        option ``positive``, and the names of its two classes.

    Raises
    ------
    DataError
        If there is no such sweep, or the dataset does not have ten classes.
    """
    if how != _FIVE_AGAINST_FIVE:
        raise DataError(f"dataset '{chosen.name}': bipartitions: must be {_FIVE_AGAINST_FIVE}, not {shown(how)}")
    if len(chosen.classes) != 10 or chosen.positive is not None or "positive" not in chosen.options:
        raise DataError(
            f"dataset '{chosen.name}': bipartitions: {_FIVE_AGAINST_FIVE} needs ten classes and an option "
            f"'positive' that is not given; it has {len(chosen.class_names)} classes"
        )
    first, *others = chosen.classes
    halves = [[first, *four] for four in itertools.combinations(others, 4)]
    separator = "" if all(len(name) == 1 for name in chosen.classes) else "+"
    return [(separator.join(half), half, ("rest", "+".join(half))) for half in halves]


def _paths() -> dict[str, Path]:
    """Return the card of every name; a user's card must not take the place of a shipped one.

    One of an installed package takes no place that is taken.
    """
    ours = resources.bundled("datasets")
    paths = dict(_cards_in(ours))
    for path in () if ours.resolve() == _OWN.resolve() else _cards_in(_OWN).values():
        if not can_name_a_file(path.stem):
            continue  # `_find` says so to who asks for it
        known = paths.setdefault(path.stem, path)
        if known is not path and _bytes(path) != _bytes(known):
            raise DataError(f"{path}: the project has a dataset '{path.stem}' already ({known}); rename your card")
    for path in _of_packages(tuple(sys.path)):
        paths.setdefault(path.stem, path)
    return paths


def _cards_in(folder: Path) -> Mapping[str, Path]:
    """Return the cards in a folder by name, sorted; none where there is no folder."""
    return _listed_once(folder, _changed(folder))


@cache
def _listed_once(folder: Path, _changed: tuple[int, int]) -> Mapping[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


@cache
def _of_packages(_path: tuple[str, ...]) -> list[Path]:
    """Return the cards of installed packages."""
    folders = [installed.folder_of(entry) for entry in installed.brought(installed.DATASETS).values()]
    paths = [path for folder in folders if folder is not None for path in sorted(folder.glob("*.yaml"))]
    return [path for path in paths if can_name_a_file(path.stem)]


def _bytes(path: Path) -> bytes:
    return read_bounded(path, MAX_BYTES, DataError)


def _find(name: str) -> str:
    """Return the name of the card that a name or an alias means."""
    paths = _paths()
    if name in paths and paths[name].parent == resources.bundled("datasets"):
        return name
    cards = reversed(paths.items())  # the shipped ones last: what they call themselves stands
    owners = {alias: owner for owner, path in cards for alias in _texts(_readable(path).get("aliases"))}
    if name in paths and paths.get(owners.get(name, ""), paths[name]) != paths[name]:
        raise DataError(
            f"{paths[name]}: '{name}' is another name of the project's dataset '{owners[name]}'; rename your card"
        )
    if name not in paths and name not in owners:
        if name in _cards_in(_OWN):
            raise DataError(
                f"{_OWN / name}.yaml: '{name}' cannot be the name of a dataset; use letters, digits and . + - _, "
                f"{MAX_NAME_BYTES} at most"
            )
        of_file = f"for the file write {{file: {name}}} in a config, or give {command('data', 'add', name)}"
        raise DataError(
            f"there is no dataset '{name}'; " + (of_file if is_file(Path(name)) else nearest(name, [*paths, *owners]))
        )
    return name if name in paths else owners[name]


def _readable(path: Path) -> dict[str, Any]:
    """Read a card's keys where they can be read: a broken card is complained of when it is asked for."""
    try:
        return _content(path).data
    except DataError:
        return {}


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [value] if isinstance(value, str) else []


def _content(path: Path, extending: tuple[str, ...] = ()) -> Document:
    """Read a card, with the keys of the card that it extends underneath; a key without a value is not inherited."""
    written = _read_once(path, _changed(path))
    base = written.data.get("extends")
    if base is not None and not isinstance(base, str):
        raise written["extends"].error(f"must be the name of a dataset, not {shown(base)}")
    if len(extending) > _MAX_EXTENDED:
        raise written["extends"].error(f"more than {_MAX_EXTENDED} cards extend one another")
    if base is None:
        data, locations = dict(written.data), written.locations
    else:
        if base in (*extending, path.stem):
            raise written["extends"].error(f"'{base}' extends this card in turn")
        if base not in _paths():
            raise written["extends"].unknown("dataset", base, _paths())
        inherited = _content(_paths()[base], (*extending, path.stem))
        data = {key: value for key, value in inherited.data.items() if key not in _NOT_INHERITED} | written.data
        del data["extends"]
        locations = Locations(steps=inherited.locations.steps | written.locations.steps)
    data = {key: value for key, value in data.items() if value is not None}
    return Document(data, written.source, DataError, Locations(steps=dict(locations.steps)))


def _changed(path: Path) -> tuple[int, int]:
    """Return which file or folder it is, of whatever working folder, and when it was changed."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0  # whose reader says why
    return status.st_ino, status.st_mtime_ns


@cache
def _read_once(path: Path, _changed: tuple[int, int]) -> Document:
    return read(path, DataError)
