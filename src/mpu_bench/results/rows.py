"""Records as JSON text: made publishable on the way out, held to their columns on the way in, and nowhere else.

What comes in, out of a file or a worker's message, may be damaged. `DamagedError` says what is wrong with it; who reads
it says which file and which run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from mpu_bench.columns import Column
from mpu_bench.document import first_error, shown
from mpu_bench.quantities import CHECKPOINT_COLUMNS, COLUMNS, Ending, Record, RunStatus
from mpu_bench.results.saved_models import NOT_SAVED
from mpu_bench.scaled import parameters_in
from mpu_bench.texts import publishable

#: without which no table can be made: of a planned run, and of a point of a mean curve
OF_PLAN = ("dataset", "solver", "parameters", "kernel", "seed")
OF_POINT = ("dataset", "solver", "parameters", "kernel", "presented")
_WORDS: Mapping[str, Callable[[str], str]] = {"status": RunStatus, "ended_by": Ending}  # columns of a few words


class DamagedError(ValueError):
    """What is stored is not what was written; the message says what of it."""


def _lenient(model_name: str, /, **types: Any) -> type[BaseModel]:
    """Return a model of which every key may be missing, and to which others may be added."""
    fields: dict[str, Any] = {key: (kind | None, None) for key, kind in types.items()}
    model: type[BaseModel] = create_model(model_name, __config__=ConfigDict(strict=True, extra="ignore"), **fields)
    return model


#: what readers rely on of the facts of a folder, and of a machine
_Facts = _lenient(
    "_Facts",
    **dict.fromkeys(("name", "config", "description", "paper", "date"), str),
    **dict.fromkeys(("config_keys", "options", "missing"), list[str]),
    **dict.fromkeys(("runs", "planned"), int),
    hours=float,
    pairs=dict[str, list[int]],
)
_Machine = _lenient(
    "_Machine",
    **dict.fromkeys(("processor", "host", "instruction_set", "commit"), str),
    **dict.fromkeys(("cores", "threads"), int),
    blas=list[str],
    versions=dict[str, str | None],
)


def made_publishable(value: Any) -> Any:
    """Return a value as it may be kept: its texts by `texts.publishable`, and None for what is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    if isinstance(value, str):
        return publishable(value)
    if isinstance(value, Mapping):
        return {publishable(str(key)): made_publishable(item) for key, item in value.items()}
    return [made_publishable(item) for item in value] if isinstance(value, list | tuple) else value


def to_keep(record: Record) -> dict[str, Any]:
    """Return what is known of a run as it may be kept, by column."""
    values: dict[str, Any] = made_publishable(record.known())
    if record.parameters:  # JSON, which stays JSON
        values["parameters"] = json.dumps(made_publishable(parse(record.parameters)))
    return values


def columns_to_keep(checkpoints: Sequence[Record]) -> dict[str, list[Any]]:
    """Return the checkpoints of a run as they may be kept: a list for each quantity that has values."""
    columns = {name: made_publishable([point.value(name) for point in checkpoints]) for name in CHECKPOINT_COLUMNS}
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def parse(text: object) -> Any:
    """Return what a stored JSON text holds.

    Raises
    ------
    DamagedError
        If it is none, or one that is nested too deeply.
    """
    if not isinstance(text, str):
        raise DamagedError(f"{shown(text)} stands where JSON text belongs")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise DamagedError(f"{shown(text)} is not JSON: {why}") from None


def parse_mapping(text: object) -> dict[str, Any]:
    """Return the keys and values that a stored JSON text holds.

    Raises
    ------
    DamagedError
        If it holds none.
    """
    content = parse(text)
    if not isinstance(content, dict):
        raise DamagedError(f"{shown(text)} holds no keys")
    return content


def parse_key(value: object) -> str:
    """Return the key of a run or a machine.

    Raises
    ------
    DamagedError
        If it is no text.
    """
    if not isinstance(value, str):
        raise DamagedError(f"{shown(value)} stands where a key belongs")
    return value


def record_of(values: Any, needed: Iterable[str] = ()) -> Record:
    """Return the record of values by column, out of a message or a file; what is no column is left out.

    Parameters
    ----------
    values : mapping
    needed : iterable of str
        Columns that must have a value.

    Raises
    ------
    DamagedError
        If a value is none of its column, or a needed one is missing.
    """
    if not isinstance(values, Mapping):
        raise DamagedError(f"{shown(values)} holds no keys")
    present = ((name, value) for name, value in values.items() if value is not None and name in COLUMNS)
    known = {name: _checked(COLUMNS[name], value) for name, value in present}
    for name in needed:
        if known.get(name) is None:
            raise DamagedError(f"'{name}' is missing")
    if known.get("parameters") is not None:
        _check_parameters(known["parameters"])
    return Record(**known)


def of_before(record: Record) -> Record:
    """Return a record with the columns that 0.2.0 did not have.

    This is the one place that finds in words for people what a run was: there they were nowhere else.
    """
    if record.ended_by is not None:
        return record
    rule = record.reason.partition("; ")[0]
    of_stop = {ending: ending for ending in Ending} | {"the": Ending.CAP}  # "passes 5", "the peer's own cap"
    of_status = {RunStatus.DONE: Ending.RULE, RunStatus.STOPPED: of_stop.get(rule.partition(" ")[0])}
    later: dict[str, Any] = {
        "ended_by": of_status.get(record.status),
        "unsavable": 1 if NOT_SAVED in record.reason else None,
        "maximised": int((record.problem or "").startswith("largest ")),
        "tuned_on_test": int("on test set" in (record.tuned or "") or record.trial == "test set"),
        "as_published": int(not (record.experiment or "").endswith("-ci")),
    }
    return replace(record, **{name: value for name, value in later.items() if record.value(name) is None})


def _check_parameters(text: str) -> None:
    try:
        parameters = parameters_in(text)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise DamagedError(f"parameters are {shown(text)}, which is not JSON") from None
    if not isinstance(parameters, dict):
        raise DamagedError(f"parameters are {shown(text)}, which holds no keys")


def parse_checkpoints(text: object) -> list[Record]:
    """Return the checkpoints of a run.

    Raises
    ------
    DamagedError
        If the text does not hold a list for each quantity, all of one length.
    """
    columns = parse_mapping(text)
    for name, values in columns.items():
        if not isinstance(values, list):
            raise DamagedError(f"the checkpoints' {name} is {shown(values)}, where a list belongs")
    if len(lengths := {len(values) for values in columns.values()}) > 1:
        raise DamagedError(f"the checkpoints' quantities have {' and '.join(map(str, sorted(lengths)))} values")
    return [record_of(dict(zip(columns, point, strict=True))) for point in zip(*columns.values(), strict=True)]


def checked_facts(facts: Any) -> dict[str, Any]:
    """Return the facts of a folder as they are, if readers can rely on them.

    Raises
    ------
    DamagedError
        If not.
    """
    return _as_it_is(_Facts, facts, "fact")


def checked_machine(machine: Any) -> dict[str, Any]:
    """Return a machine as it is, if readers can rely on it; raise as of `checked_facts`."""
    return _as_it_is(_Machine, machine, "machine", needed="id")


def _as_it_is(model: type[BaseModel], content: Any, noun: str, needed: str = "") -> dict[str, Any]:
    try:
        model.model_validate(content)
    except ValidationError as error:
        raise DamagedError(f"{noun} {first_error(error)}") from None
    if needed and not isinstance(content.get(needed), str):
        raise DamagedError(f"{noun} {needed}: Field required")
    checked: dict[str, Any] = content
    return checked


def _checked(column: Column, value: Any) -> Any:
    """Return a value of a column's type; nothing is turned into another type, but for words of a few."""
    try:
        checked = column.checked(value)
    except ValueError as error:
        raise DamagedError(f"{column.name} is {shown(value)}, where {error}") from None
    try:
        return _WORDS[column.name](checked) if column.name in _WORDS else checked
    except ValueError:
        raise DamagedError(f"{column.name} is {shown(value)}, which is none") from None
