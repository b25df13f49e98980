"""What a dataset's card may say: files, reader, classes, preparation, and the counts it must come to.

A card is a short YAML text in ``datasets/``; `mpu_bench.data.cards.catalog` finds and reads it. There is one class for
each ``kind`` of source. ``features`` counts the columns before any are dropped, ``kept_features`` those that must be
left. The steps of the preparation are always taken in this order, whatever the order of the keys:

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
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mpu_bench.data.download.remote_file import RemoteFile
from mpu_bench.document import Label, MisfitError, Strict
from mpu_bench.yaml_text import shown

FORMAT_VERSION = 2  #: of the prepared arrays; a new number makes every prepared folder be made afresh
UNIVERSAL_OPTIONS = ("augment",)  #: what may be chosen of any dataset, whatever its card's ``options`` say
MOST_FEATURES = 2**31 - 2  #: what the parser of svmlight can count
MOST_COLUMNS = 100_000  #: of a delimited text
MOST_CLASSES = 1000
MOST_NAME_BYTES = 100
_MOST_GENERATED_ROWS = 10**10
ANY_OTHER = "*"  #: in ``classes``: every label that no other class names

StorageOfRows = Literal["dense", "sparse", "ones"]
Storage = Literal["auto", "dense", "sparse", "ones"]
Scale = Literal["none", "unit-interval", "standard", "standard-overall"]


def _text(value: Any) -> Any:
    """YAML reads an unquoted 8 as a number; a class or a label is a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _listed(value: Any) -> Any:
    """YAML has no tuples, and one item may stand for a list of one."""
    return tuple(value) if isinstance(value, list) else (value,) if isinstance(value, str | int) else value


def _classes(value: Any) -> Any:
    """Let a list name classes that are called as their labels are."""
    if not isinstance(value, list):
        return value
    for name in value:
        if not isinstance(_text(name), str):
            raise ValueError(f"must be names of classes, not {shown(name)}; put quotation marks around a name")
    return {str(name): (name,) for name in value}


def _whole(value: Any) -> Any:
    """YAML reads 1.0e7 as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed)]
Names = Annotated[tuple[Annotated[Label, BeforeValidator(_text)], ...], BeforeValidator(_listed)]
Column = Annotated[int, Field(ge=1, le=MOST_COLUMNS)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_listed)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Digests = Annotated[tuple[Digest, ...], BeforeValidator(_listed)]
Count = Annotated[int, Field(ge=0, le=10**15)]
Features = Annotated[int, Field(ge=1, le=MOST_FEATURES)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class File(Strict):
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


class Topic(Strict):
    """Labels from another file: an example is positive if a line ``topic example 1`` is in ``file`` (RCV1)."""

    file: str
    name: str


class _Card(Strict):
    """What all cards say: what the dataset must look like, and how it is prepared."""

    name: str
    origin: str = Field(exclude=True)
    title: str
    papers: Texts = ()
    aliases: Names = ()
    published: dict[str, Texts] = {}
    cite: str = ""
    note: str = ""
    options: Texts = ()
    expect: Expectation = Expectation()

    classes: Annotated[
        dict[Annotated[Label, BeforeValidator(_text)], Texts],
        BeforeValidator(_classes),
        Field(min_length=2, max_length=MOST_CLASSES),
    ]
    positive: Texts | None = None
    features: Features
    kept_features: Features | None = None
    drop_columns: Literal["none", "zero", "trailing-zero"] = "none"
    multiply_by: float | None = None
    divide_by: Annotated[float, Field(gt=0)] | None = None
    scale: Scale = "none"
    unit_rows: bool = False
    storage: Storage = "auto"
    augment: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    extends: None = Field(default=None, exclude=True)  # followed when the card is read

    @model_validator(mode="after")
    def _counts_its_classes(self) -> Self:
        for part in ("train", "test", "total"):
            expected: Part | None = getattr(self.expect, part)
            if expected and expected.classes and set(expected.classes) != set(self.classes):
                raise MisfitError("expect", f"{part}.classes must count each of the classes: {', '.join(self.classes)}")
        return self

    @model_validator(mode="after")
    def _has_both_signs(self) -> Self:
        for name in self.positive or ():
            if name not in self.classes:
                raise MisfitError("positive", f"there is no class '{name}'; choose from {', '.join(self.classes)}")
        if self.positive is not None and set(self.positive) in (set(), set(self.classes)):
            raise MisfitError("positive", "must name some of the classes, but not all")
        return self

    @model_validator(mode="after")
    def _can_take_its_steps(self) -> Self:
        if self.unit_rows and self.scale != "none":
            raise MisfitError("unit_rows", "give either 'unit_rows' or 'scale'")
        if self.coded and self.scale not in ("none", "unit-interval"):
            raise MisfitError("scale", "must be 'unit-interval' or 'none' beside categorical columns")
        if self.scale != "none" and not self.coded and self.storage != "dense":
            raise MisfitError("scale", f"'{self.scale}' fills every zero; it needs 'storage: dense'")
        if self.drop_columns != "none" and self.storage != "dense":
            raise MisfitError("drop_columns", "needs 'storage: dense'")
        return self

    @model_validator(mode="after")
    def _can_be_augmented(self) -> Self:
        try:
            rounded = struct.unpack("<f", struct.pack("<f", self.augment or 1.0))[0]
        except OverflowError:
            rounded = 0
        if not rounded:
            raise MisfitError("augment", f"{self.augment:g} is beyond the range of float32")
        return self

    @property
    def multiplier(self) -> tuple[float, float]:
        """What every value is multiplied and divided by."""
        return self.multiply_by or 1.0, self.divide_by or 1.0

    @property
    def coded(self) -> bool:
        """Whether there are categorical columns, whose every value gets a column of its own."""
        return False

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes' names by index, as a problem shows them: those of the card, or ``rest`` and the positive."""
        return tuple(self.classes) if self.positive is None else ("rest", "+".join(self.positives))

    @property
    def positives(self) -> tuple[str, ...]:
        """The classes that make the positive one, in the order of the card; none if all classes are kept."""
        return tuple(name for name in self.classes if name in (self.positive or ()))

    @property
    def merged(self) -> tuple[int, ...]:
        """The class of the problem that each class of the card is in."""
        return tuple(i if self.positive is None else int(name in self.positive) for i, name in enumerate(self.classes))

    @property
    def total(self) -> Part | None:
        """What all rows together must come to, before a split."""
        return self.expect.total or (self.expect.train if not self.expect.test else None)

    def preparation(self) -> dict[str, Any]:
        """Return everything that the stored arrays depend on, besides the content of the files.

        ``positive`` and ``augment`` are not among it: they are applied when the data are loaded, so that all problems
        made of one dataset share its arrays. Nor is what has its default: a new key leaves what is prepared valid.
        """
        kept = self.model_dump(mode="json", exclude=_NOT_PREPARED, exclude_defaults=True)
        if self.total and getattr(self, "split", None):
            kept["total"] = self.total.rows
        return {"version": FORMAT_VERSION, **kept}

    def preparation_key(self) -> str:
        """Return a hash of the preparation, of what it is checked against, and of the content where that is known."""
        expected = self.model_dump(mode="json", include={"expect", "kept_features"}, exclude_defaults=True)
        files: dict[str, File] = getattr(self, "files", {})
        content = {name: file.content_sha256 for name, file in files.items()}
        return digest([self.preparation(), expected, content])[:12]


_NOT_PREPARED = {
    *("name", "title", "papers", "aliases", "published", "cite", "note", "options", "files"),
    *("expect", "kept_features", "positive", "augment"),
}


class _Splittable(_Card):
    """A dataset whose rows may be split into a training and a test part."""

    stream: ClassVar[Literal[False]] = False

    split: Split | None = None

    @model_validator(mode="after")
    def _leaves_both_parts(self) -> Self:
        if self.split is None:
            return self
        if self.total is None:
            raise MisfitError("split", "'expect' must say how many rows there are in total")
        train = self.split.train_rows(self.total.rows)
        if not 1 <= train < self.total.rows:
            raise MisfitError("split", f"{train} training rows of {self.total.rows} leave nothing for one of the parts")
        return self

    def expected_rows(self) -> tuple[int | None, int | None]:
        """Return the rows of the training and of the test part, as far as the card says."""
        if self.split is not None:
            total = self.total.rows if self.total else 0
            return self.split.train_rows(total), total - self.split.train_rows(total)
        train = self.expect.train or self.expect.total
        return (train.rows if train else None), 0


class _FileCard(_Splittable):
    """A dataset that is read from files."""

    files: dict[str, File]
    train: Annotated[Texts, Field(min_length=1)]
    test: Texts = ()

    @model_validator(mode="after")
    def _lists_its_files(self) -> Self:
        used = self._used_files()
        for name in sorted(used - set(self.files)):
            raise MisfitError("files", f"file '{name}' is used, but 'files' does not list it")
        for name in sorted(set(self.files) - used):
            raise MisfitError("files", f"'{name}' is listed, but neither 'train' nor 'test' uses it")
        for name, file in self.files.items():
            if not can_name_a_file(name):
                words = f"use letters, digits and . + - _, {MOST_NAME_BYTES} at most"
                raise MisfitError("files", f"'{name}' cannot be the name of a file; {words}")
            if not file.urls and not file.by_hand:
                raise MisfitError("files", f"'{name}' needs 'urls', or 'by_hand' to say where the user gets it")
        return self

    @model_validator(mode="after")
    def _has_one_test_part(self) -> Self:
        if self.split is not None and self.test:
            raise MisfitError("split", "the test part comes from elsewhere, there is nothing to split")
        return self

    def _used_files(self) -> set[str]:
        return {*self.train, *self.test}

    def expected_rows(self) -> tuple[int | None, int | None]:
        """Return the rows of the training and of the test part, as far as the card says."""
        train, test = super().expected_rows()
        return train, (self.expect.test.rows if self.expect.test else None) if self.test else test

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


class SvmlightCard(_FileCard):
    """Sparse text, ``label index:value index:value``; the labels may come from another file (``topic``)."""

    kind: Literal["svmlight"]
    first_index: Literal[0, 1] = 1
    repeated_pairs: Literal["refuse", "drop"] = "refuse"
    topic: Topic | None = None

    def _used_files(self) -> set[str]:
        return super()._used_files() | ({self.topic.file} if self.topic else set())


class DelimitedCard(_FileCard):
    """Text with a column for each value."""

    kind: Literal["delimited"]
    columns: DelimitedColumns

    @property
    def coded(self) -> bool:
        """Whether there are categorical columns, whose every value gets a column of its own."""
        return bool(self.columns.categorical)


class IdxCard(_FileCard):
    """The binary format of MNIST; two files for each part: images, then labels."""

    kind: Literal["idx"]

    @model_validator(mode="after")
    def _pairs_its_files(self) -> Self:
        for part, names in (("train", self.train), ("test", self.test)):
            if len(names) not in (0, 2):
                raise MisfitError(part, "kind 'idx' needs two files for each part: images, then labels")
        return self


class _WithoutFiles(_Card):
    files: ClassVar[dict[str, File]] = {}
    remote_files: ClassVar[tuple[RemoteFile, ...]] = ()
    train: ClassVar[tuple[str, ...]] = ()
    test: ClassVar[tuple[str, ...]] = ()


class EmbeddedCard(_WithoutFiles, _Splittable):
    """A dataset that comes with an installed package: scikit-learn's digits."""

    kind: Literal["embedded"]
    content: Literal["digits"]


class _GeneratedCard(_WithoutFiles):
    """A dataset that is made by a generator.

    With ``stream`` its training rows are never stored, but made again block by block whenever they are presented.
    """

    split: ClassVar[None] = None

    kind: Literal["generated"]
    rows: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=_MOST_GENERATED_ROWS)]
    test_rows: Annotated[Count | None, BeforeValidator(_whole)] = None
    seed: Seed = 0
    stream: bool = False

    @model_validator(mode="after")
    def _can_be_streamed(self) -> Self:
        if self.stream and (self.storage != "dense" or self.drop_columns != "none"):
            raise MisfitError("stream", "needs 'storage: dense' and all columns")
        return self

    def expected_rows(self) -> tuple[int | None, int | None]:
        """Return the rows of the training and of the test part."""
        return self.rows, self.test_rows or 0


class SampledCard(_GeneratedCard):
    """Rows drawn from a distribution of a paper."""

    content: Literal["checkerboard", "waveform"]


class SeparableCard(_GeneratedCard):
    """Two classes whose largest margin is known exactly."""

    content: Literal["separable"]
    rows: Annotated[int, BeforeValidator(_whole), Field(ge=2, le=_MOST_GENERATED_ROWS)]
    features: Annotated[int, BeforeValidator(_whole), Field(ge=2, le=MOST_FEATURES)]
    margin: Annotated[float, Field(gt=0, lt=1)]


GeneratedCard = SampledCard | SeparableCard
Card = SvmlightCard | DelimitedCard | IdxCard | EmbeddedCard | SampledCard | SeparableCard

#: how a card is validated: ``kind`` says which class it is, and ``content`` for those that are generated
AnyCard = Annotated[
    SvmlightCard | DelimitedCard | IdxCard | EmbeddedCard | Annotated[GeneratedCard, Field(discriminator="content")],
    Field(discriminator="kind"),
]


def can_name_a_file(name: str) -> bool:
    """Return whether a file or folder in the data home may be called so."""
    return re.fullmatch(r"\w[\w.+-]*", name) is not None and len(name.encode()) <= MOST_NAME_BYTES


def digest(content: Any) -> str:
    """Return a hash of something made of lists, mappings, texts and numbers."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
