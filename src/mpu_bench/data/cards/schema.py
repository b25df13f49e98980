"""What a dataset's card may say: files, reader, classes, preparation, and the counts it must come to.

A card is a short YAML text in ``datasets/``; `mpu_bench.data.cards.catalog` finds and reads it. ``features`` counts the
columns before any are dropped, ``kept_features`` those that must be left. The steps of the
preparation are always taken in this order, whatever the order of the keys:

1. read (``kind``, ``first_index``, ``columns``) and turn labels into class indices (``classes``);
2. split into training and test part (``split``), unless the parts are files of their own;
3. drop columns (``drop_columns``);  4. multiply (``multiply_by`` / ``divide_by``);
5. scale by the training part's statistics (``scale``), or give each row unit length (``unit_rows``);
6. store (``storage``) as float32, or with ``stream``, of a generated dataset, keep the statistics only and make the
   training rows again whenever they are presented;
7. when the data are loaded, make two classes of the labels (``positive``) and append a constant feature to every row
   (``augment``, which any dataset takes as an option).
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mpu_bench.data.download.remote_file import RemoteFile

FORMAT_VERSION = 1  #: of the prepared arrays; a new number makes every prepared folder be made afresh
UNIVERSAL_OPTIONS = ("augment",)  #: what may be chosen of any dataset, whatever its card's ``options`` say
ANY_OTHER = "*"  #: in ``classes``: every label that no other class names

Kind = Literal["svmlight", "delimited", "idx", "embedded", "generated"]
Storage = Literal["auto", "dense", "sparse", "ones"]
Scale = Literal["none", "unit-interval", "standard", "standard-overall"]


def _text(value: Any) -> Any:
    """YAML reads an unquoted 8 as a number; a class or a label is a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _texts(value: Any) -> Any:
    if isinstance(value, str | int):
        value = (value,)
    return tuple(_text(item) for item in value) if isinstance(value, list | tuple) else value


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _classes(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return {_text(name): (_text(name),) for name in value}
    return {_text(name): _texts(labels) for name, labels in value.items()} if isinstance(value, Mapping) else value


def _named(value: Any) -> Any:
    return {_text(name): item for name, item in value.items()} if isinstance(value, Mapping) else value


def _categories(value: Any) -> Any:
    return {column: _texts(names) for column, names in value.items()} if isinstance(value, Mapping) else value


def _whole(value: Any) -> Any:
    """YAML reads 1.0e7 as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Columns = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_tuple)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Digests = Annotated[tuple[Digest, ...], BeforeValidator(_texts)]
Count = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", ser_json_inf_nan="strings")


class File(_Strict):
    """One raw file: where it is, and what it must hash to.

    ``edited`` says that the hashes are those of a copy that was changed on its way: another copy may be right too,
    so they are not enforced.
    """

    urls: Texts = ()
    sha256: Digests = ()
    content_sha256: Digest | None = None
    bytes: Count | None = None
    content_bytes: Count | None = None
    by_hand: str | None = None
    edited: bool = False


class Part(_Strict):
    """What a part must come to: its rows, and how many of each class where that is known."""

    rows: Count
    classes: Annotated[dict[str, Count], BeforeValidator(_named)] = {}

    @model_validator(mode="after")
    def _adds_up(self) -> Part:
        if self.classes and sum(self.classes.values()) != self.rows:
            raise ValueError(f"the classes add up to {sum(self.classes.values())}, not to the {self.rows} rows")
        return self


class Expectation(_Strict):
    """Expected counts, by part; ``total`` where a split makes the parts."""

    train: Part | None = None
    test: Part | None = None
    total: Part | None = None


class Split(_Strict):
    """Which rows are the training part: the first ``train`` of them, or ``train`` at random by ``seed``.

    ``test`` gives the size of the test part instead: a count, or a fraction (rounded up).
    """

    train: Annotated[int, Field(ge=1)] | None = None
    test: int | float | None = None
    seed: Seed | None = None

    @model_validator(mode="after")
    def _one_size(self) -> Split:
        if (self.train is None) == (self.test is None):
            raise ValueError("give either 'train' (a count) or 'test' (a count or a fraction)")
        if self.test is not None and (self.test <= 0 or (isinstance(self.test, float) and self.test >= 1)):
            raise ValueError(f"'test' is a count of rows or a fraction below 1, not {self.test}")
        return self

    def train_rows(self, total: int) -> int:
        """Count the training rows among ``total``."""
        if self.train is not None:
            return self.train
        if isinstance(self.test, float):
            return total - int(-(-self.test * total // 1))
        return total - (self.test or 0)


class DelimitedColumns(_Strict):
    """The columns of a delimited text, counted from 1.

    ``categories`` lists the values of a categorical column; those of the others are collected from the training
    part. A value that is in neither gets no column.
    """

    label: Annotated[int, Field(ge=1)]
    separator: Literal[",", ";", "blank"] = ","
    skip: Columns = ()
    categorical: Columns = ()
    categories: Annotated[dict[int, tuple[str, ...]], BeforeValidator(_categories)] = {}


class Topic(_Strict):
    """Labels from another file: an example is positive if a line ``topic example 1`` is in ``file`` (RCV1)."""

    file: str
    name: str


class Card(_Strict):
    """A dataset: where it comes from, what it must look like, how it is prepared."""

    name: str
    origin: str = Field(exclude=True)
    title: str
    papers: Texts = ()
    aliases: Texts = ()
    published: dict[str, Texts] = {}
    cite: str = ""
    note: str = ""
    options: Texts = ()
    files: dict[str, File] = {}
    expect: Expectation = Expectation()

    kind: Kind
    content: str | None = None
    train: Texts = ()
    test: Texts = ()
    classes: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_classes)]
    positive: Texts | None = None
    features: Annotated[int, Field(ge=1)]
    kept_features: Annotated[int, Field(ge=1)] | None = None
    first_index: Literal[0, 1] = 1
    repeated_pairs: Literal["refuse", "drop"] = "refuse"
    topic: Topic | None = None
    columns: DelimitedColumns | None = None
    rows: Annotated[Count | None, BeforeValidator(_whole)] = None
    test_rows: Annotated[Count | None, BeforeValidator(_whole)] = None
    seed: Seed = 0
    margin: Annotated[float, Field(gt=0, lt=1)] | None = None
    stream: bool = False
    split: Split | None = None
    drop_columns: Literal["none", "zero", "trailing-zero"] = "none"
    multiply_by: float | None = None
    divide_by: Annotated[float, Field(gt=0)] | None = None
    scale: Scale = "none"
    unit_rows: bool = False
    storage: Storage = "auto"
    augment: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Card:
        for check in _CHECKS:
            if problem := check(self):
                raise ValueError(problem)
        return self

    @property
    def remote_files(self) -> tuple[RemoteFile, ...]:
        """The raw files as the downloader wants them, training files first."""
        return tuple(
            RemoteFile(
                name=name,
                urls=file.urls,
                sha256=() if file.edited else file.sha256,
                content_sha256=None if file.edited else file.content_sha256,
                bytes=None if file.edited else file.bytes,
                content_bytes=None if file.edited else file.content_bytes,
                by_hand=file.by_hand.strip() if file.by_hand else None,
            )
            for name, file in self.files.items()
        )

    @property
    def multiplier(self) -> tuple[float, float]:
        """What every value is multiplied and divided by."""
        return self.multiply_by or 1.0, self.divide_by or 1.0

    @property
    def coded(self) -> bool:
        """Whether there are categorical columns, whose every value gets a column of its own."""
        return self.columns is not None and bool(self.columns.categorical)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes' names by index, as a problem shows them: those of the card, or ``rest`` and the positive."""
        return tuple(self.classes) if self.positive is None else ("rest", "+".join(self.positives))

    @property
    def positives(self) -> tuple[str, ...]:
        """The classes that make the positive one, in the order of the card; none if all classes are kept."""
        return tuple(name for name in self.classes if name in (self.positive or ()))

    @property
    def total(self) -> Part | None:
        """What all rows together must come to, before a split."""
        return self.expect.total or (self.expect.train if not self.expect.test else None)

    def expected_rows(self) -> tuple[int | None, int | None]:
        """Give the rows of the training and of the test part, as far as the card says."""
        if self.kind == "generated":
            return self.rows, self.test_rows or 0
        if self.split is not None:
            total = self.total.rows if self.total else 0
            return self.split.train_rows(total), total - self.split.train_rows(total)
        train = self.expect.train or self.expect.total
        test = self.expect.test.rows if self.expect.test else None
        return (train.rows if train else None), (test if self.test else 0)

    def preparation(self) -> dict[str, Any]:
        """Give everything that the stored arrays depend on, besides the content of the files.

        ``positive`` and ``augment`` are not among it: they are applied when the data are loaded, so that all problems
        made of one dataset share its arrays.
        """
        descriptive = {"name", "title", "papers", "aliases", "published", "cite", "note", "options", "files"}
        kept = self.model_dump(mode="json", exclude=descriptive | {"expect", "positive", "augment", "kept_features"})
        if self.margin is None:  # younger than the hashes of the other cards
            del kept["margin"]
        if not self.stream:  # likewise
            del kept["stream"]
        if self.total and self.split:
            kept["total"] = self.total.rows
        return {"version": FORMAT_VERSION, **kept}

    def preparation_key(self) -> str:
        """Hash the preparation, what it is checked against, and the content where the card knows it."""
        expected = self.model_dump(mode="json", include={"expect", "kept_features"})
        content = {name: file.content_sha256 for name, file in self.files.items()}
        return digest([self.preparation(), expected, content])[:12]


def digest(content: Any) -> str:
    """Hash something made of lists, mappings, texts and numbers."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _files_problem(card: Card) -> str | None:
    used = set(card.train) | set(card.test) | ({card.topic.file} if card.topic else set())
    for name in sorted(used - set(card.files)):
        return f"file '{name}' is used, but 'files' does not list it"
    for name in sorted(set(card.files) - used):
        return f"files: '{name}' is listed, but neither 'train' nor 'test' uses it"
    for name, file in card.files.items():
        if not re.fullmatch(r"\w[\w.+-]*", name):
            return f"files: '{name}' cannot be the name of a file; use letters, digits and . + - _"
        if not file.urls and not file.by_hand:
            return f"files: '{name}' needs 'urls', or 'by_hand' to say where the user gets it"
    return None


def _kind_problem(card: Card) -> str | None:
    from_files = card.kind in ("svmlight", "delimited", "idx")
    if from_files and not card.train:
        return f"kind '{card.kind}' needs files in 'train'"
    if card.kind == "idx" and (len(card.train) != 2 or len(card.test) not in (0, 2)):
        return "kind 'idx' needs two files for each part: images, then labels"
    if (card.kind == "delimited") != (card.columns is not None):
        return "'columns' goes with kind 'delimited', and only with it"
    if not from_files and card.content is None:
        return f"kind '{card.kind}' needs 'content', the name of what is {card.kind}"
    if card.kind == "generated" and not card.rows:
        return "rows: kind 'generated' needs one at least"
    return None


def _separable_problem(card: Card) -> str | None:
    separable = card.kind == "generated" and card.content == "separable"
    if separable != (card.margin is not None):
        return "margin: goes with content 'separable' of kind 'generated', and only with it"
    if separable and (card.rows or 0) < 2:
        return "rows: 'separable' needs two at least, whose margin is the one asked for"
    if separable and card.features < 2:
        return "features: 'separable' needs two at least"
    return None


def _classes_problem(card: Card) -> str | None:
    names = set(card.classes)
    if len(names) < 2:
        return "'classes' needs two names at least"
    for part in ("train", "test", "total"):
        expected: Part | None = getattr(card.expect, part)
        if expected and expected.classes and set(expected.classes) != names:
            return f"expect.{part}.classes must count each of the classes: {', '.join(card.classes)}"
    if card.positive is None:
        return None
    unknown = [name for name in card.positive if name not in names]
    if unknown:
        return f"positive: there is no class '{unknown[0]}', choose from {', '.join(card.classes)}"
    if not card.positive or set(card.positive) == names:
        return "positive: must name some of the classes, but not all"
    return None


def _split_problem(card: Card) -> str | None:
    if card.split is None:
        return None
    if card.test or card.kind == "generated":
        return "split: the test part comes from elsewhere, there is nothing to split"
    if card.total is None:
        return "split: 'expect' must say how many rows there are in total"
    train = card.split.train_rows(card.total.rows)
    if not 1 <= train < card.total.rows:
        return f"split: {train} training rows of {card.total.rows} leave nothing for one of the parts"
    return None


def _steps_problem(card: Card) -> str | None:
    if card.unit_rows and card.scale != "none":
        return "unit_rows: give either 'unit_rows' or 'scale'"
    if card.scale.startswith("standard") and card.storage != "dense":
        return f"scale: '{card.scale}' fills every zero, so it needs 'storage: dense'"
    if card.scale == "unit-interval" and not card.coded and card.storage != "dense":
        return "scale: 'unit-interval' needs 'storage: dense', or categorical columns"
    if card.coded and card.scale not in ("none", "unit-interval"):
        return "scale: beside categorical columns only 'unit-interval' or 'none'"
    if card.drop_columns != "none" and card.storage != "dense":
        return "drop_columns: needs 'storage: dense'"
    return None


def _stream_problem(card: Card) -> str | None:
    if not card.stream:
        return None
    if card.kind != "generated":
        return "stream: only generated datasets can be made again block by block"
    if card.storage != "dense" or card.drop_columns != "none":
        return "stream: needs 'storage: dense' and all columns"
    return None


def _augment_problem(card: Card) -> str | None:
    try:
        rounded = struct.unpack("<f", struct.pack("<f", card.augment or 1.0))[0]
    except OverflowError:
        rounded = 0
    return None if rounded else f"augment: {card.augment:g} is beyond the range of float32"


_CHECKS = (
    _files_problem,
    _kind_problem,
    _separable_problem,
    _classes_problem,
    _split_problem,
    _steps_problem,
    _stream_problem,
    _augment_problem,
)
