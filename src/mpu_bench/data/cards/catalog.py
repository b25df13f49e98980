"""The cards of all datasets: those that come with the project, and the user's own in ``./datasets``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mpu_bench import document, resources
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card
from mpu_bench.document import Document
from mpu_bench.errors import DataError, nearest

__all__ = ["Card", "bipartitions", "card", "for_published", "names"]

_FIVE_AGAINST_FIVE = "five-against-five"
_NOT_INHERITED = ("aliases", "published")


def names() -> list[str]:
    """List the datasets, sorted: one per card of the shipped and of the user's folder."""
    return sorted(_paths())


def card(name: str, options: Mapping[str, Any] | None = None) -> Card:
    """Read a dataset's card and apply options to it.

    Parameters
    ----------
    name : str
        The dataset's name, or an alias of it.
    options : mapping, optional
        Values for keys that the card's ``options`` declare as free, or that are free for every dataset (``augment``).

    Returns
    -------
    Card

    Raises
    ------
    DataError
        If there is no such dataset, the card is wrong, or an option is unknown or impossible. The message names the
        card's file, line and key.
    """
    found = _find(name)
    path = _paths()[found]
    content = _content(path)
    chosen = dict(options or {})
    allowed = [*_texts(content.get("options")), *UNIVERSAL_OPTIONS]
    for key in chosen:
        if key not in allowed:
            raise DataError(f"dataset '{found}' ({path}) has no option '{key}'; {nearest(key, allowed)}")
    try:
        return Card.model_validate({**content, **chosen, "name": found, "origin": str(path)})
    except ValidationError as error:
        raise DataError(_explain(error, path, found, chosen)) from None


def for_published(table: str, dataset: str) -> str:
    """Name the card that a published table means by one of its names.

    ``letter`` is one set of files in bpegasos-2010 and another in frank-wolfe-2012; the cards' ``published`` say so.

    Parameters
    ----------
    table : str
        The published table, as its CSV is named: ``"fw-table1"``.
    dataset : str
        The name in its column ``dataset``.

    Raises
    ------
    DataError
        If no card answers to it.
    """
    for name, path in _paths().items():
        published = _readable(path).get("published")
        if isinstance(published, dict) and dataset in _texts(published.get(table)):
            return name
    return _find(dataset)


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
        raise DataError(f"dataset '{chosen.name}': bipartitions: must be {_FIVE_AGAINST_FIVE}, not {how!r}")
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
    """Give the card of every name; a user's card must not take the place of a shipped one."""
    ours = resources.folder("datasets")
    found = {path.stem: path for path in sorted(ours.glob("*.yaml"))}
    if ours.resolve() == Path("datasets").resolve():
        return found
    for path in sorted(Path("datasets").glob("*.yaml")):
        known = found.setdefault(path.stem, path)
        if known is not path and path.read_bytes() != known.read_bytes():
            raise DataError(f"{path}: the project has a dataset '{path.stem}' of its own ({known}); rename your card")
    return found


def _find(name: str) -> str:
    """Give the name of the card that a name or an alias means."""
    paths = _paths()
    if name in paths and paths[name].parent == resources.folder("datasets"):
        return name
    owners: dict[str, str] = {}
    for owner, path in paths.items():  # the shipped cards come first
        for alias in _texts(_readable(path).get("aliases")):
            owners.setdefault(alias, owner)
    if name in paths and paths.get(owners.get(name, ""), paths[name]) != paths[name]:
        raise DataError(
            f"{paths[name]}: '{name}' is another name of the project's dataset '{owners[name]}'; rename your card"
        )
    if name not in paths and name not in owners:
        raise DataError(f"there is no dataset '{name}'; {nearest(name, [*paths, *owners])}")
    return name if name in paths else owners[name]


def _readable(path: Path) -> dict[str, Any]:
    """Read a card's keys where they can be read: a broken card is complained of when it is asked for."""
    try:
        return _content(path)
    except DataError:
        return {}


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [value] if isinstance(value, str) else []


def _content(path: Path, below: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read a card's keys, with those of the card that it extends underneath."""
    read = _read(path)
    own = dict(read.data)
    base = own.pop("extends", None)
    if base is None:
        return own
    place = read.location(("extends",))
    if base in (*below, path.stem):
        raise DataError(f"{place}: extends: '{base}' extends this card in turn")
    if base not in _paths():
        raise DataError(f"{place}: extends: there is no dataset '{base}'; {nearest(str(base), _paths())}")
    inherited = _content(_paths()[base], (*below, path.stem))
    return {**{key: value for key, value in inherited.items() if key not in _NOT_INHERITED}, **own}


def _read(path: Path) -> Document:
    return _read_once(path, path.stat().st_mtime_ns)


@cache
def _read_once(path: Path, _changed: int) -> Document:
    return document.read(path, DataError)


def _explain(error: ValidationError, path: Path, name: str, options: Mapping[str, Any]) -> str:
    """Put the first fault into one line: file, line, key, what is wrong, and what may be meant."""
    fault = error.errors(include_url=False)[0]
    keys = tuple(key for key in fault["loc"] if not _is_noise(key))
    message = re.sub(r"^Value error, |^Input ", "", fault["msg"])
    if message.startswith("should") and isinstance(fault["input"], str | int | float):
        message += f", not {fault['input']!r}"
    if fault["type"] == "extra_forbidden":
        message = "unknown key"
        if len(keys) == 1:
            message += f"; {nearest(str(keys[0]), [*Card.model_fields, 'extends'])}"
    elif fault["type"] == "missing":
        message = "this key is missing"
    elif fault["type"] in ("model_type", "dict_type"):
        message = f"should be a mapping, not {fault['input']!r}"
    blamed = keys[0] if keys else message.partition(":")[0]
    if blamed in options:
        said = message.removeprefix(f"{blamed}: ")
        return f"dataset '{name}' ({path}), option '{'.'.join(map(str, keys)) or blamed}': {said}"
    key = ".".join(map(str, keys))
    return f"{_read(path).location(keys or (blamed,))}: {key + ': ' if key else ''}{message}"


def _is_noise(key: object) -> bool:
    """Pydantic adds the branch of a union or a validator to the location of a fault."""
    return isinstance(key, str) and bool(re.search(r"\[|\(|^(int|float|str)$|^constrained-", key))
