"""The card of a user file: the file is looked at, counted, and left where it is; and datasets without a card.

A config names these by their file: ``dataset: {file: mine.csv, label: y}``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, model_validator

from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.parts import MissingRule, Seed, Text, Texts
from mpu_bench.data.cards.schema import AnyCard, can_name_a_file
from mpu_bench.data.download.integrity import identity
from mpu_bench.data.readers.blocks import WRITE_AGAIN, SourceFile
from mpu_bench.data.user_files.formats import unnamed
from mpu_bench.data.user_files.looking import (
    ColumnSummary,
    Counted,
    check_classes,
    count_labels,
    label_among,
    look_at_columns,
    look_at_examples,
)
from mpu_bench.data.user_files.tables import UserFile, open_table
from mpu_bench.document import Label, MisfitError, Strict, shown
from mpu_bench.errors import DataError, nearest
from mpu_bench.preprocessing import label_key
from mpu_bench.texts import command, listed, one_line
from mpu_bench.yaml_text import MAX_BYTES, Quoting, parse

DEFAULT_SPLIT = 0.8
_MAX_NAMED, _MAX_LEFT_OUT = 5, 20
FREE = [
    "positive",
    "split",
    "scale",
    "missing",
]  #: what a config may choose anew of a table, besides `UNIVERSAL_OPTIONS`

_FAR_APART = 1000  #: how much the columns of unscaled data may differ before a linear solver takes long
_DENSE_BYTES, _DENSE_FROM = 1 << 30, 0.1  # of rows that may be scaled
_HEAD = """\
# Written by this command; run it again when the file has changed:
# {command}
# You may change the kind of a column: number, categorical or omitted. One is the label.
"""


def _quoted(value: Any) -> Any:
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, bool | float):
            raise ValueError(f"must be a word, not {shown(element)}; put quotation marks around it")
    return value


class FileOptions(Strict):
    """What a user may say of a file of his own, in a config or by options; see `mpu_bench.data.user_files.looking`.

    ``split`` is the part of the rows that is the training part, chosen at random by ``seed``. ``missing_words`` says
    whether words such as NA stand for a label that is missing, or are classes.
    """

    label: Annotated[Text | None, BeforeValidator(_quoted)] = None
    positive: Annotated[Texts | None, BeforeValidator(_quoted)] = None
    test: str | None = None
    split: Annotated[float, Field(gt=0, lt=1)] | None = None
    seed: Seed | None = None
    missing: MissingRule = "refuse"
    scale: Literal["none", "standard", "unit-interval"] | None = None
    header: bool | None = None
    missing_words: bool = True
    first_index: Literal[0, 1] | None = None
    separator: Annotated[Annotated[str, Field(min_length=1, max_length=1)] | None, BeforeValidator(unnamed)] = None

    @model_validator(mode="after")
    def _has_one_test_part(self) -> Self:
        for key in ("split", "seed"):
            if self.test is not None and getattr(self, key) is not None:
                raise MisfitError(key, f"the test set comes from a separate file; leave '{key}' or 'test' out")
        return self


@dataclass(frozen=True)
class Added:
    """What was found: the content of a card, the columns of a table, the label and why it was taken for that.

    ``notes`` are sentences that whoever learns from the file should read.
    """

    card: dict[str, Any]
    format: str
    counted: Counted
    columns: Sequence[ColumnSummary] = ()
    label: str = ""
    why_label: str = ""
    notes: Sequence[str] = ()

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The columns that no solver sees, and why."""
        kinds = self.card.get("columns", {})
        return [(column.name, column.why()) for column in self.columns if kinds[column.name] == "omitted"]


def look(path: Path, file_options: FileOptions, advance: Callable[[int], None] = lambda _count: None) -> Added:
    """Look at a file and write down what it is, as the content of a card.

    Parameters
    ----------
    path : Path
    file_options : FileOptions
        Paths in it are relative to the working folder.
    advance : function
        Called with the number of bytes of what was read.

    Raises
    ------
    DataError
        With file, row and column, and the fix.
    """
    first = _open(path, file_options, advance)
    files = [first]
    if file_options.test is not None:
        files.append(_open(Path(file_options.test), file_options, advance, first))
    added = _examples(files, file_options) if first.format == "svmlight" else _table(files, file_options)
    if len(added.counted.train) == 1:
        (name,) = added.counted.train
        raise DataError(f"{path}: all rows are of class '{name}'; two classes are needed to train")
    for word in file_options.positive or ():
        if (name := _class_of(word, added.counted.classes)) not in added.counted.classes:
            raise DataError(f"{path}: no class '{name}' can be positive; {nearest(name, added.counted.classes)}")
    is_same = file_options.test is not None and os.path.realpath(file_options.test) == os.path.realpath(path)
    notes = ["the test file is the training file: errors on it say nothing of other rows"] if is_same else []
    if lost := [f"'{name}'" for name in added.counted.classes if name not in added.counted.train]:
        notes.append(f"no training row is of class {listed(lost)}: every such test row will be an error")
    return replace(added, notes=[*added.notes, *notes])


def _open(
    path: Path, file_options: FileOptions, advance: Callable[[int], None], like: UserFile | None = None
) -> UserFile:
    file = SourceFile(path.name, path, advance, WRITE_AGAIN)
    if like is None:
        return open_table(file, separator=file_options.separator, header=file_options.header)
    is_text = like.format == "delimited"
    table = open_table(file, separator=like.separator if is_text else None, header=like.header if is_text else None)
    if table.format != like.format:
        raise DataError(f"{path}: is {table.format}, and {like.path} is {like.format}; write both alike")
    return table


def _examples(files: Sequence[UserFile], file_options: FileOptions) -> Added:
    for key, words in (
        ("label", "its label is the first word of a line"),
        ("header", "has none"),
        ("missing_words", "its labels are numbers"),
    ):
        if getattr(file_options, key) not in (None, True):
            raise DataError(f"{files[0].path}: is svmlight text, to which '{key}' does not apply: {words}")
    if file_options.missing != "refuse":
        raise DataError(
            f"{files[0].path}: is svmlight text, in which what is not written is 0: 'missing' does not apply"
        )
    seen = look_at_examples(files, file_options.first_index)
    scale = file_options.scale or "none"
    card = {
        **_common("svmlight", files, file_options, seen.counted),
        "features": seen.features,
        **({"first_index": 0} if seen.first_index == 0 else {}),
        **({"scale": scale, "storage": "dense"} if scale != "none" else {}),
        **_counts(seen.counted),
    }
    notes = []
    if scale == "none" and seen.spread > _FAR_APART:
        rows = sum(map(sum, (seen.counted.train.values(), (seen.counted.test or {}).values())))
        fits = seen.filled >= _DENSE_FROM and 4 * rows * seen.features <= _DENSE_BYTES
        notes = [_far_apart(seen.spread, "--scale standard" if fits else "divide each column by its largest value")]
    return Added({**card, "options": ["positive", "split"]}, "svmlight", seen.counted, notes=notes)


def _far_apart(spread: float, fix: str) -> str:
    return f"the largest values of its columns differ by a factor of {spread:.0e}: linear solvers take long; {fix}"


def _table(files: Sequence[UserFile], file_options: FileOptions) -> Added:
    first = files[0]
    label, why = label_among(first.columns, file_options.label, first.path)
    columns = look_at_columns(files)
    kinds = {column.name: "label" if column.name == label else column.kind for column in columns}
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if file_options.first_index is not None:
        raise DataError(f"{first.path}: is a table, to which 'first_index' does not apply: its columns have names")
    for column in columns:
        if column.name != label:
            column.check_numbers(first.path)
    _check_missing(columns, kinds, file_options)
    if not set(kinds.values()) & {"number", "categorical"}:
        raise DataError(
            f"{first.path}: has no column to learn from besides the label '{label}'; is the separator another? name it "
            "by --separator; or are these rows of svmlight without a feature?"
        )
    counted = count_labels(files, label, numbers, file_options.missing, file_options.missing_words)
    _check_labels(counted, columns, label, first.path)
    card = {
        **_common("table", files, file_options, counted),
        **({"format": "parquet"} if first.format == "parquet" else {}),
        **({"separator": first.separator, "header": first.header} if first.format == "delimited" else {}),
        "columns": kinds,
        **({"missing": file_options.missing} if file_options.missing != "refuse" else {}),
        "scale": file_options.scale or "standard",
        **_counts(counted),
        "options": FREE,
    }
    return Added(card, first.format, counted, columns, label, why, _notes(columns, kinds, card["scale"]))


def _check_labels(counted: Counted, columns: Sequence[ColumnSummary], label: str, path: Path) -> None:
    two = [f"'{column.name}'" for column in columns if column.name != label and column.words and len(column.words) == 2]
    fix = "name another label by --label" + (f"; columns of two values: {', '.join(two[:_MAX_NAMED])}" if two else "")
    rows = sum(map(sum, (counted.train.values(), (counted.test or {}).values())))
    check_classes(counted.classes, rows, f"{path}, column '{label}'", fix)


def _notes(columns: Sequence[ColumnSummary], kinds: Mapping[str, str], scale: str) -> list[str]:
    """Return what is to be told of columns that are mostly numbers and taken for words, and of scales far apart."""
    notes = [
        f"column '{column.name}' is taken for words: {column.odd}, "
        f"though {column.numeric:,} of {column.values:,} are numbers"
        for column in columns
        if kinds[column.name] == "categorical" and 2 * column.numeric > column.values
    ]
    notes += [
        f"column '{column.name}': the test file has none of the training file's words, such as '{min(column.trained)}'"
        for column in columns
        if kinds[column.name] == "categorical" and column.trained and not column.shared
    ]
    sizes = [max(abs(column.low), abs(column.high)) for column in columns if kinds[column.name] == "number"]
    sizes = [size for size in sizes if size]
    if scale == "none" and sizes and max(sizes) / min(sizes) > _FAR_APART:
        notes.append(_far_apart(max(sizes) / min(sizes), "leave --scale none out"))
    return notes


def _check_missing(columns: Sequence[ColumnSummary], kinds: Mapping[str, str], file_options: FileOptions) -> None:
    lacking = [column for column in columns if column.missing and kinds[column.name] == "number"]
    if not lacking or file_options.missing != "refuse":
        return
    first, more = lacking[0], len(lacking) - 1
    others = f", and {more} more column{'s' if more > 1 else ''} lack some" if more else ""
    raise DataError(
        f"{first.first_missing}, column '{first.name}': no number ({first.missing:,} missing in this "
        f"column{others}); --missing median puts the median of the training part there, --missing drop leaves such "
        "rows out (in a config: missing: median)"
    )


def _common(kind: str, files: Sequence[UserFile], file_options: FileOptions, counted: Counted) -> dict[str, Any]:
    """Return what both kinds of cards say: the files, the classes, and the split."""
    names = [_file_name(file.path, part) for file, part in zip(files, ("train", "test"), strict=False)]
    if len(set(names)) < len(names):
        names[1] = f"test-{names[1]}"
    part = 1 - (file_options.split or DEFAULT_SPLIT)
    return {
        "title": f"{files[0].path.name}, a user file",
        "kind": kind,
        "files": {name: {"path": os.path.abspath(file.path)} for name, file in zip(names, files, strict=True)},  # noqa: PTH100
        "train": names[0],
        **(
            {"test": names[1]}
            if len(names) > 1
            else {"split": {"test": round(part, 12), "seed": file_options.seed or 0}}
        ),
        "classes": counted.classes,
        **(
            {"positive": [_class_of(word, counted.classes) for word in file_options.positive]}
            if file_options.positive is not None
            else {}
        ),
    }


def _file_name(path: Path, part: str) -> str:
    plain = re.sub(r"[^\w.+-]", "-", path.name).lstrip("-.+")
    return plain if can_name_a_file(plain) else part


def _counts(counted: Counted) -> dict[str, Any]:
    """Return what the data are expected to come to."""

    def part(counts: Mapping[str, int]) -> dict[str, Any]:
        return {"rows": sum(counts.values()), "classes": {name: counts.get(name, 0) for name in counted.classes}}

    if counted.test is None:
        return {"expect": {"total": part(counted.train)}}
    return {"expect": {"train": part(counted.train), "test": part(counted.test)}}


def _class_of(word: str, classes: Sequence[str]) -> str:
    """Return the class that a word means: a number may be written otherwise."""
    return word if word in classes else next((name for name in classes if label_key(name) == label_key(word)), word)


def name_of(path: Path) -> str:
    """Return the name that a dataset gets of its file: the name of the file without what says its format.

    Raises
    ------
    DataError
        If no dataset can be called so.
    """
    name = re.sub(r"[^\w+-]", "-", path.name.partition(".")[0] or path.name.lstrip(".")).strip("-+")
    if not can_name_a_file(name):
        raise DataError(f"{path}: the file's name cannot name a dataset; give one of letters, digits and . + - _")
    return name


def card_text(card: Mapping[str, Any], folder: Path, command: str) -> str:
    """Return the content of a card as YAML; files below the folder's parent are named relative to the folder.

    Parameters
    ----------
    card : mapping
        As of `look`.
    folder : Path
        Of cards.
    command : str
        Which made it.

    Raises
    ------
    DataError
        If the card would be larger than one may be.
    """
    files = {name: {"path": _relative(Path(entry["path"]), folder)} for name, entry in card["files"].items()}
    text = _HEAD.format(command=one_line(command)) + yaml.dump(
        {**card, "files": files},
        Dumper=Quoting,
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )
    if len(text.encode(errors="backslashreplace")) > MAX_BYTES:
        raise DataError(f"{next(iter(files))}: its column names are too long for a dataset card; write it as svmlight")
    read = parse(text, f"the card of {next(iter(files))}", DataError)
    read.data |= {"name": "mine", "origin": str(folder / "mine.yaml")}
    read.root.validated(AnyCard)
    return text


def _relative(path: Path, folder: Path) -> str:
    above = Path(os.path.abspath(folder)).parent  # noqa: PTH100
    return os.path.relpath(path, folder) if path.is_relative_to(above) else str(path)


class FileDataset(FileOptions):
    """A dataset as a config names it by its file: with a name for tables, if that is chosen."""

    file: Annotated[str, Field(min_length=1, max_length=4096)]
    name: Label | None = Field(default=None, alias="as")
    augment: float | None = None

    def found(self, folder: Path, origin: str) -> tuple[str, dict[str, Any], list[str]]:
        """Return what `options_of` and `remarks` do, of files that are found from a folder."""
        test = None if self.test is None else str(folder / self.test)
        said = FileOptions(**self.model_dump(include=set(FileOptions.model_fields)) | {"test": test})
        return *options_of(folder / self.file, said, origin, self.name), remarks(folder / self.file, said)


def options_of(path: Path, file_options: FileOptions, origin: str, label: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of a file's dataset, and the options with which `catalog.card` knows it.

    A file that has not changed is looked at once in a process.

    Parameters
    ----------
    path : Path
    file_options : FileOptions
    origin : str
        Where it is asked for, for messages.
    label : str or None
        What it is called in tables, if that is chosen.

    Raises
    ------
    DataError
        If the file is no dataset, or its name is that of one of the project.
    """
    card = json.loads(_looked_at(path, file_options)[0])
    name = label if label and can_name_a_file(label) else name_of(path)
    if name in catalog.names():
        raise DataError(
            f"'{name}' is the name of another dataset; rename this one with as: NAME, of letters, digits and . + - _"
        )
    return name, {catalog.CARD: {**card, "origin": origin}}


def remarks(path: Path, file_options: FileOptions) -> list[str]:
    """Return a line for each column of a file that is left out, with the reason, and for what else is to be told.

    Raises
    ------
    DataError
        As of `options_of`.
    """
    _, left_out, notes = _looked_at(path, file_options)
    lines = [f"column '{column}' is left out: {why}" for column, why in left_out[:_MAX_LEFT_OUT]]
    if (more := len(left_out) - _MAX_LEFT_OUT) > 0:
        lines.append(f"and {more:,} more columns are left out; {command('data', 'add', path)} lists them")
    return [*lines, *(f"warning: {note}" for note in notes)]


_Looked = tuple[str, list[tuple[str, str]], Sequence[str]]  # a card as JSON, the columns that are left out, notes


def _looked_at(path: Path, file_options: FileOptions) -> _Looked:
    states = _state(path), _state(Path(file_options.test or path))
    return _looked(str(path), file_options.model_dump_json(), states)


def _state(path: Path) -> object:
    try:
        return identity(os.stat(path))  # noqa: PTH116 - of a name that no file can have, too
    except (OSError, ValueError):
        return None  # whose reader says why


@lru_cache(maxsize=32)
def _looked(path: str, file_options: str, _states: Any) -> _Looked:
    added = look(Path(path), FileOptions.model_validate_json(file_options))
    return json.dumps(added.card), added.left_out, added.notes
