"""``mpu-bench data add``: writes the card of a user file and describes the file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpu_bench.cli.listing import columns
from mpu_bench.cli.options import console, say, write
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.parts import Split
from mpu_bench.data.cards.schema import can_name_a_file
from mpu_bench.data.download.progress import for_console
from mpu_bench.data.user_files.adding import Added, FileOptions, card_text, look, name_of
from mpu_bench.data.user_files.looking import ColumnSummary
from mpu_bench.document import Document, Locations
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.files import write_all
from mpu_bench.texts import counted, listed, plain_name
from mpu_bench.yaml_text import load

FOLDER = Path("datasets")
_MAX_COLUMNS, _MAX_CLASSES = 20, 20  # shown
_KINDS = {"number": "numbers", "categorical": "categories", "omitted": "left out", "label": "label"}  # of columns


def add(file: Path, options: Mapping[str, Any], name: str | None, force: bool) -> None:
    """Look at a file, write ``datasets/NAME.yaml`` and describe the file.

    Parameters
    ----------
    file : Path
    options : mapping
        The options that were given, by name.
    name : str or None
        Of the dataset; None for that of the file.
    force : bool
        Whether a card that is there is replaced.

    Raises
    ------
    UserError
        If an option or the file is wrong, or there is such a dataset already.
    """
    file_options = file_options_of(options, "data add")
    called = name or name_of(file)
    card_path = _card_path(called, force)
    with for_console(console(stderr=True)).transfer(f"look at {file.name}", None) as advance:
        added = look(file, file_options, advance)
    text = card_text(added.card, FOLDER, _command(file, options, called))
    write_all(FOLDER, {card_path.name: text})
    _show(called, added)
    say(f"{card_path} written; your file stays where it is, and may change")
    for line in _next(called, added):
        write(f"{line}\n")


def file_options_of(options: Mapping[str, Any], verb: str) -> FileOptions:
    """Return what options say of a file.

    Raises
    ------
    ConfigError
        Naming the option.
    """
    steps: dict[str | int, Locations] = {
        key: Locations(f"--{key.replace('_', '-')}", names_key=True) for key in options
    }
    file_options: FileOptions = Document(dict(options), verb, ConfigError, Locations(steps=steps)).root.validated(
        FileOptions
    )
    return file_options


def _card_path(name: str, force: bool) -> Path:
    """Return where the card goes, and reject a name that hides another dataset or replaces a card."""
    path = FOLDER / f"{name}.yaml"
    if not can_name_a_file(name):
        raise DataError(f"'{name}' cannot be the name of a dataset; use letters, digits and . + - _: --name NAME")
    if name in catalog.shipped_names():
        raise DataError(f"the project has a dataset '{name}' already; choose another name: --name NAME")
    if path.exists() and not force:
        raise DataError(f"{path}: already exists; choose another name (--name NAME), or replace it with --force")
    return path


def _command(file: Path, options: Mapping[str, Any], name: str) -> str:
    """Return the command that makes the card again."""
    words = ["mpu-bench", "data", "add", str(file)]
    for key, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            option = key.replace("_", "-")
            if isinstance(item, bool):
                words.append(f"--{option}" if item else f"--no-{option}")
            else:
                words += [f"--{option}", str(item)]
    return shlex.join([*words, "--name", name, "--force"])


def _show(name: str, added: Added) -> None:
    known, out = added.counted, console()
    if added.columns:
        out.print(
            columns(
                ("column", "type", "distinct", "missing", "from", "to", ""),
                [_row(column, added) for column in added.columns[:_MAX_COLUMNS]],
            )
        )
        if len(added.columns) > _MAX_COLUMNS:
            out.tell(_rest(added.columns[_MAX_COLUMNS:], added.label))
        out.tell(f"the label is column '{added.label}' ({added.why_label}); choose another with --label")
    else:
        out.tell(f"{counted(added.card['features'], 'feature')}, counted from {added.card.get('first_index', 1)}")
    counts = {label: known.train.get(label, 0) + (known.test or {}).get(label, 0) for label in known.classes}
    shown = listed([f"{label} ({count:,})" for label, count in counts.items()], _MAX_CLASSES)
    train, test = _parts(added)
    positive = added.card.get("positive", ())
    against = f"; {' and '.join(positive)} against the rest" if positive and len(counts) > 2 else ""
    parts = f"{train:,} training and {counted(test, 'test row')}"
    out.tell(f"{name}: {added.format}, {parts}; {len(counts)} classes: {shown}{against}")
    for note in added.notes:
        say(f"warning: {note}")


def _parts(added: Added) -> tuple[int, int]:
    """Return the numbers of training and test rows."""
    total = sum(added.counted.train.values())
    if added.counted.test is not None:
        return total, sum(added.counted.test.values())
    train = Split.model_validate(added.card["split"]).train_rows(total)
    return train, total - train


def _row(column: ColumnSummary, added: Added) -> tuple[str, ...]:
    kind = added.card["columns"][column.name]
    is_range = kind == "number" and math.isfinite(column.low)
    ends = (f"{column.low:g}", f"{column.high:g}") if is_range else ("", "")
    missing = f"{column.missing:,}" if column.missing else ""
    return column.name, _KINDS[kind], column.different, missing, *ends, "" if kind == "label" else column.why()


def _rest(columns: Sequence[ColumnSummary], label: str) -> str:
    """Return how many there are of each kind among the columns that are not shown."""
    kinds = ["the label" if column.name == label else _KINDS[column.kind] for column in columns]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    missing = sum(bool(column.missing) for column in columns)
    return f"and {counted(len(columns), 'more column')}: {counts}" + (
        f"; {missing:,} with missing values" if missing else ""
    )


def _next(name: str, added: Added) -> list[str]:
    """Return the commands that come next."""
    several = len(added.counted.classes) > 2 and "positive" not in added.card
    solvers = " --set 'solvers=[{dcd: {multiclass: one-against-rest}}]'" if several else ""
    datasets = shlex.quote(f"datasets=[{_text(name)}]")
    experiment = shlex.quote(_text(plain_name(name)))
    return [
        f"mpu-bench try {name}",
        f"mpu-bench run quickstart --set name={experiment} --set {datasets}{solvers} --repeats 1",
        f"mpu-bench data info {name}",
    ]


def _text(name: str) -> str:
    """Return a name as an option gives it: 2024 and no are a number and a false in YAML."""
    return name if load(name, name, DataError)[0] == name else f'"{name}"'
