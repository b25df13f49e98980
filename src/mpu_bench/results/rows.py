"""Rows of results as JSON text: made plain and publishable on the way in, held to their columns on the way out.

What a database or a kept folder holds may have been written by anyone. `DamagedError` says what is wrong with it; who
reads the file says which file and which run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from mpu_bench.quantities import CHECKPOINT_COLUMNS, RECORD_COLUMNS, TOO_LARGE, Column, Ending, RunStatus
from mpu_bench.results.saved_models import NOT_SAVED
from mpu_bench.scaled import Derived, Scaled, from_json
from mpu_bench.texts import publishable

_BITS = 64  # of an integer, as other tools that read a CSV file or a database have it
_TYPES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int)}
_NOUNS = {"TEXT": "a text", "INTEGER": "an integer", "REAL": "a number"}
_OF_PLAN = ("dataset", "solver", "parameters", "kernel", "seed")  # without which no table can be made
_OF_POINT = ("dataset", "solver", "parameters", "kernel", "presented", "count")
_SHOWN = 60  # characters of a wrong value


class DamagedError(ValueError):
    """What is stored is not what was written; the message says what of it."""


class _Facts(BaseModel):
    """What readers rely on of the facts of a folder; there may be more."""

    model_config = ConfigDict(strict=True, extra="ignore")

    name: str | None = None
    config: str | None = None
    config_keys: list[str] | None = None
    description: str | None = None
    paper: str | None = None
    options: list[str] | None = None
    pairs: dict[str, list[int]] | None = None
    date: str | None = None
    hours: float | None = None
    runs: int | None = None
    planned: int | None = None
    missing: list[str] | None = None


class _Machine(BaseModel):
    """What readers rely on of a machine; there may be more."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: str
    processor: str | None = None
    host: str | None = None
    cores: int | None = None
    threads: int | None = None
    instruction_set: str | None = None
    blas: list[str] | None = None
    versions: dict[str, str | None] | None = None
    commit: str | None = None


def made_publishable(value: Any) -> Any:
    """Return a value as it may be kept: its texts by `texts.publishable`, and None for what is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    if isinstance(value, str):
        return publishable(value)
    if isinstance(value, Mapping):
        return {publishable(str(key)): made_publishable(each) for key, each in value.items()}
    return [made_publishable(each) for each in value] if isinstance(value, list | tuple) else value


def record_to_keep(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it is kept: each value of the type of its column, texts publishable, and without what is missing.

    Raises
    ------
    DamagedError
        If a value is none of its column.
    """
    kept = {}
    for name, value in record.items():
        column = RECORD_COLUMNS.get(name)
        plain = made_publishable(value) if column is None else _kept(column, value)
        if plain is not None:
            kept[name] = plain
    return kept


def _kept(column: Column, value: Any) -> Any:
    if column.name == "parameters" and value is not None:  # JSON, which stays JSON
        return json.dumps(made_publishable(parse(value)))
    try:
        typed = column.typed(value)
    except (TypeError, ValueError, OverflowError):
        raise DamagedError(_wrong(column, value)) from None
    return made_publishable(_checked(column, typed))


def columns_to_keep(checkpoints: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the checkpoints of a run as they are kept: a list for each quantity that has values.

    Raises
    ------
    DamagedError
        If a value is none of its column.
    """
    columns = {
        name: [_kept(column, point[name]) for point in checkpoints] for name, column in CHECKPOINT_COLUMNS.items()
    }
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def parse(text: object) -> Any:
    """Return what a stored JSON text holds.

    Raises
    ------
    DamagedError
        If it is none, or one that is nested too deeply.
    """
    if not isinstance(text, str):
        raise DamagedError(f"{_shown(text)} stands where JSON text belongs")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DamagedError(f"{_shown(text)} is not JSON: {why}") from None


def _mapping(text: object) -> dict[str, Any]:
    content = parse(text)
    if not isinstance(content, dict):
        raise DamagedError(f"{_shown(text)} holds no keys")
    return content


def parse_key(value: object) -> str:
    """Return the key of a run or a machine.

    Raises
    ------
    DamagedError
        If it is no text.
    """
    if not isinstance(value, str) or not _is_unicode(value):
        raise DamagedError(f"{_shown(value)} stands where a key belongs")
    return value


def parse_planned(text: object) -> dict[str, Any]:
    """Return what is known of a run before it is made.

    Raises
    ------
    DamagedError
        If the text is not that of such a row.
    """
    row = checked_record(_mapping(text))
    _check_present(row, _OF_PLAN)
    return row


def parse_result(text: object) -> dict[str, Any]:
    """Return the row of a run that was made.

    Raises
    ------
    DamagedError
        If the text is not that of such a row.
    """
    row = checked_record(_mapping(text))
    _check_status(row)
    return row


def _check_present(row: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if row.get(name) is None:
            raise DamagedError(f"'{name}' is missing")


def _check_status(row: Mapping[str, Any]) -> None:
    if row.get("status") not in set(RunStatus):
        raise DamagedError(f"status is {_shown(row.get('status'))}, which is none")
    if row.get("ended_by") not in {None, *Ending}:
        raise DamagedError(f"ended_by is {_shown(row['ended_by'])}, which is none")


def of_before(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the columns that 0.2.0 did not have.

    This is the one place that finds in words for people what a run was: there they were nowhere else.
    """
    if row.get("ended_by") is not None:
        return row
    said, status = row.get("reason") or "", row["status"]
    rule = said.partition("; ")[0]
    of_stop = {each: each for each in Ending} | {"the": Ending.CAP}  # "passes 5", "the peer's own cap"
    later = {
        "ended_by": {RunStatus.DONE: Ending.RULE, RunStatus.STOPPED: of_stop.get(rule.partition(" ")[0])}.get(status),
        "unsavable": 1 if NOT_SAVED in said else None,
        "maximised": int((row.get("problem") or "").startswith("largest ")),
        "tuned_on_test": int("on test set" in (row.get("tuned") or "")),
        "as_published": int(not (row.get("experiment") or "").endswith("-ci")),
    }
    return row | {name: value for name, value in later.items() if row.get(name) is None}


def checked_whole(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a planned run with what became of it, if it is one.

    Raises
    ------
    DamagedError
        If not.
    """
    _check_present(row, _OF_PLAN)
    _check_status(row)
    return checked_record(row)


def checked_point(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a mean curve, if it is one.

    Raises
    ------
    DamagedError
        If not.
    """
    _check_present(row, _OF_POINT)
    return checked_record(row)


def checked_record(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row, each value of which is of the type of its column.

    Raises
    ------
    DamagedError
        If one is not, or ``parameters`` are none.
    """
    for name, value in row.items():
        if value is not None and (column := RECORD_COLUMNS.get(name)) is not None:
            _checked(column, value)
    if row.get("parameters") is not None:
        _check_parameters(row["parameters"])
    return row


@lru_cache(maxsize=4096)
def _check_parameters(text: str) -> None:
    try:
        parameters = json.loads(text, object_hook=from_json)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise DamagedError(f"parameters are {_shown(text)}, which is not JSON") from None
    if not isinstance(parameters, dict):
        raise DamagedError(f"parameters are {_shown(text)}, which holds no keys")
    if not all(map(_is_parameter, parameters.values())):
        raise DamagedError(f"parameters are {_shown(text)}, of which one is no value of a parameter")


def _is_parameter(value: Any) -> bool:
    """Return whether a value, relative ones parsed, is one that a config can give a parameter."""
    if isinstance(value, Scaled):
        value = value.factor
        return isinstance(value, int | float) and abs(value) < TOO_LARGE
    if isinstance(value, Derived):
        return isinstance(value.regularization, int | float | Scaled) and _is_parameter(value.regularization)
    if isinstance(value, list | dict):
        return all(map(_is_parameter, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or value.bit_length() < _BITS


def parse_checkpoints(text: object) -> list[dict[str, Any]]:
    """Return the checkpoints of a run, each with all of `CHECKPOINT_COLUMNS`.

    Raises
    ------
    DamagedError
        If the text does not hold a list for each quantity, all of one length.
    """
    columns = checked_columns(_mapping(text))
    names = [*CHECKPOINT_COLUMNS, *(name for name in columns if name not in CHECKPOINT_COLUMNS)]
    none = [None] * len(next(iter(columns.values()), ()))
    return [
        dict(zip(names, point, strict=True)) for point in zip(*(columns.get(name, none) for name in names), strict=True)
    ]


def checked_columns(columns: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the checkpoints of a run as lists of values, which are of the types of their columns.

    Raises
    ------
    DamagedError
        If they are not, or of unequal length.
    """
    for name, values in columns.items():
        if not isinstance(values, list):
            raise DamagedError(f"the checkpoints' {name} is {_shown(values)}, where a list belongs")
        if (column := CHECKPOINT_COLUMNS.get(name)) is not None:
            for value in values:
                if value is not None:
                    _checked(column, value)
    if len(lengths := {len(values) for values in columns.values()}) > 1:
        raise DamagedError(f"the checkpoints' quantities have {' and '.join(map(str, sorted(lengths)))} values")
    return dict(columns)


def parse_machine(text: object) -> dict[str, Any]:
    """Return the machine and the versions of a run.

    Raises
    ------
    DamagedError
        If the text is not that of a machine.
    """
    return checked_machine(_mapping(text))


def checked_machine(machine: Any) -> dict[str, Any]:
    """Return a machine as it is, if it is one.

    Raises
    ------
    DamagedError
        If it is none.
    """
    return _checked_by(_Machine, machine, "machine")


def checked_facts(facts: Any) -> dict[str, Any]:
    """Return the facts of a folder as they are, if readers can rely on them.

    Raises
    ------
    DamagedError
        If not.
    """
    return _checked_by(_Facts, facts, "fact")


def _checked_by(model: type[BaseModel], content: Any, noun: str) -> dict[str, Any]:
    try:
        model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise DamagedError(f"{noun} {place}: {first['msg']}") from None
    checked: dict[str, Any] = content
    return checked


def _checked(column: Column, value: Any) -> Any:
    """Return a value of a column's type; nothing is turned into another type."""
    if value is None:
        return None
    is_right = isinstance(value, _TYPES[column.type]) and not isinstance(value, bool)
    if is_right and isinstance(value, int):
        is_right = value.bit_length() < _BITS
    if is_right and isinstance(value, float):
        is_right = abs(value) < TOO_LARGE
    if is_right and isinstance(value, str):
        is_right = value.isascii() or _is_unicode(value)
    if not is_right:
        raise DamagedError(_wrong(column, value))
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _wrong(column: Column, value: Any) -> str:
    size = {"INTEGER": f" of at most {_BITS} bits", "REAL": " that is finite"}.get(column.type, "")
    return f"{column.name} is {_shown(value)}, where {_NOUNS[column.type]}{size} belongs"


def _shown(value: Any) -> str:
    """Return a wrong value, briefly."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or a list in a list in a list
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
