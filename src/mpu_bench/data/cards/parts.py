"""The parts of cards: files, counts, splits, columns, and the types of their keys."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from mpu_bench.document import Label, MisfitError, Strict, shown
from mpu_bench.texts import number_in

MAX_FEATURES = 2**31 - 2  #: what the parser of svmlight can count
MAX_COLUMNS = 100_000  #: of a delimited text
MAX_CLASSES = 1000
ANY_OTHER = "*"  #: in ``classes``: every label that no other class names


def plain_text(value: Any) -> Any:
    """YAML reads an unquoted 8 as a number; a class or a label is a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _listed(value: Any) -> Any:
    """YAML has no tuples, and one item may stand for a list of one."""
    return tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str | int) else value


def _classes(value: Any) -> Any:
    """Let a list name classes that are called as their labels are."""
    if isinstance(value, list | dict) and len(value) > MAX_CLASSES:
        raise ValueError(f"has {len(value):,} classes, and {MAX_CLASSES:,} can be told apart")
    if not isinstance(value, list):
        return value
    for name in value:
        if not isinstance(plain_text(name), str):
            raise ValueError(f"must be names of classes, not {shown(name)}; put quotation marks around a name")
    return {str(name): (name,) for name in value}


def _of_one_class(classes: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    known: dict[str, str] = {}
    for name, labels in classes.items():
        for label in labels:
            if (other := known.setdefault(label.strip(), name)) != name:
                raise ValueError(f"the label '{label}' is in two classes, '{other}' and '{name}'")
    return classes


def is_number(text: str) -> bool:
    """Return whether a text is a finite number, as files write it."""
    return not math.isnan(number_in(text))


def in_usual_order(names: Collection[str]) -> list[str]:
    """Return names in the order that most cards have: as numbers if all are."""
    return sorted(names, key=lambda name: (float(name), name)) if all(map(is_number, names)) else sorted(names)


Text = Annotated[str, BeforeValidator(plain_text), WithJsonSchema({"type": ["string", "integer"]})]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Names = Annotated[tuple[Annotated[Label, BeforeValidator(plain_text)], ...], BeforeValidator(_listed)]
Classes = Annotated[
    dict[Annotated[Label, BeforeValidator(plain_text)], Texts],
    BeforeValidator(_classes),
    AfterValidator(_of_one_class),
    Field(min_length=2),
]
Column = Annotated[int, Field(ge=1, le=MAX_COLUMNS)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_listed)]
MissingRule = Literal["refuse", "median", "drop"]  #: what becomes of a number that is not there
Kind = Literal["number", "categorical", "omitted", "label"]  #: of a column of a table
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Digests = Annotated[tuple[Digest, ...], BeforeValidator(_listed)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Features = Annotated[int, Field(ge=1, le=MAX_FEATURES)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class File(Strict):
    """One raw file: where it is, and what it must hash to.

    ``path`` is a user file, relative to the card, that is read where it is and may change.
    ``edited`` says that the hashes are those of a copy that was changed on its way: another copy may be right too,
    so they are not enforced.
    """

    urls: Texts = ()
    sha256: Digests = ()
    content_sha256: Digest | None = None
    bytes: Count | None = None
    content_bytes: Count | None = None
    by_hand: str | None = None
    path: Annotated[str, Field(min_length=1)] | None = None
    edited: bool = False

    @model_validator(mode="after")
    def _is_in_one_place(self) -> Self:
        if self.path is not None and (self.urls or self.by_hand or self.sha256 or self.content_sha256):
            raise MisfitError("path", "a user file has no 'urls', no 'by_hand' and no hashes")
        return self


class Part(Strict):
    """What a part must come to: its rows, and how many of each class where that is known."""

    rows: Count
    classes: dict[Text, Count] = {}

    @model_validator(mode="after")
    def _adds_up(self) -> Part:
        if self.classes and sum(self.classes.values()) != self.rows:
            raise ValueError(f"the classes add up to {sum(self.classes.values())}, not to the {self.rows} rows")
        return self


class Expectation(Strict):
    """Expected counts, by part; ``total`` where a split makes the parts."""

    train: Part | None = None
    test: Part | None = None
    total: Part | None = None


class Split(Strict):
    """Which rows are the training part: the first ``train`` of them, or ``train`` at random by ``seed``.

    ``test`` gives the size of the test part instead: a count, or a fraction (rounded up).
    """

    train: Annotated[Count, Field(ge=1)] | None = None
    test: Count | float | None = None
    seed: Seed | None = None

    @model_validator(mode="after")
    def _one_size(self) -> Split:
        if (self.train is None) == (self.test is None):
            raise ValueError("give either 'train' (a count) or 'test' (a count or a fraction)")
        if self.test is not None and (self.test <= 0 or (isinstance(self.test, float) and self.test >= 1)):
            raise MisfitError("test", f"must be a count of rows or a fraction below 1, not {self.test}")
        return self

    def train_rows(self, total: int) -> int:
        """Return the number of training rows among ``total``."""
        if self.train is not None:
            return self.train
        if isinstance(self.test, float):
            return total - int(-(-self.test * total // 1))
        return total - (self.test or 0)


class DelimitedColumns(Strict):
    """The columns of a delimited text, counted from 1.

    ``categories`` lists the values of a categorical column; those of the others are collected from the training
    part. A value that is in neither gets no column.
    """

    label: Column
    separator: Literal[",", ";", "blank"] = ","
    skip: Columns = ()
    categorical: Columns = ()
    categories: dict[int, Texts] = {}

    @model_validator(mode="after")
    def _lists_categories_once(self) -> Self:
        for column, names in self.categories.items():
            if column not in self.categorical:
                raise MisfitError("categories", f"column {column} is none of the categorical ones")
            if len(set(names)) < len(names):
                raise MisfitError("categories", f"column {column} lists a value twice")
        return self


class Smooth(Strict):
    """A Gaussian of so many pixels that smooths every row, an image of ``rows`` times ``columns`` pixels.

    Beyond its edge an image is ``outside``; the Gaussian ends at four deviations.
    """

    rows: Features
    columns: Features
    deviation: Annotated[float, Field(gt=0, le=100)]
    outside: Annotated[float, Field(allow_inf_nan=False)] = 0.0

    @property
    def pixels(self) -> int:
        """The pixels of an image."""
        return self.rows * self.columns


class Topic(Strict):
    """Labels from another file: an example is positive if a line ``topic example 1`` is in ``file`` (RCV1)."""

    file: str
    name: str
