"""What a dataset's card may say: files, reader, classes, preparation, and the counts it must come to.

A card is a short YAML text in ``datasets/``; `mpu_bench.data.cards.catalog` finds and reads it. There is one class for
each ``kind`` of source. ``features`` counts the columns before any are dropped, ``kept_features`` those that must be
left. The steps of the preparation are always taken in this order, whatever the order of the keys:

1. read (``kind``, ``first_index``, ``columns``) and turn labels into class indices (``classes``);
2. split into training and test part (``split``), unless the parts are files of their own;
3. smooth images (``smooth``), multiply (``multiply_by`` / ``divide_by``), give each row unit length (``unit_rows``);
4. drop columns that are zero in the training part (``drop_columns``);
5. scale by the training part's statistics (``scale``);
6. store (``storage``) as float32, or with ``stream``, of a generated dataset, keep the statistics only and make the
   training rows again whenever they are presented;
7. when the data are loaded, make two classes of the labels (``positive``) and append a constant feature to every row
   (``augment``, which any dataset takes as an option).

Where the files cannot be had here, the dataset that ``instead`` names is read, with the same options.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from mpu_bench import resources
from mpu_bench.data.cards.parts import (
    MAX_FEATURES,
    Classes,
    Count,
    DelimitedColumns,
    Expectation,
    Features,
    File,
    Kind,
    MissingRule,
    Names,
    Part,
    Seed,
    Smooth,
    Split,
    Text,
    Texts,
    Topic,
    in_usual_order,
)
from mpu_bench.data.download.cache import RemoteFile
from mpu_bench.document import MisfitError, Strict

FORMAT_VERSION = 2  #: of the prepared arrays; a new number makes every prepared folder be made afresh
_VERSION_OF_OWN = 3  #: the same, of user files
UNIVERSAL_OPTIONS = ("augment",)  #: what may be chosen of any dataset, whatever its card's ``options`` say
MAX_NAME_BYTES = 100
_MAX_GENERATED_ROWS = 10**10

StorageOfRows = Literal["dense", "sparse", "ones"]
Storage = Literal["auto", "dense", "sparse", "ones"]
RepeatedPairs = Literal["refuse", "drop", "keep"]
Scale = Literal["none", "unit-interval", "symmetric", "standard", "standard-overall"]


def _whole(value: Any) -> Any:
    """YAML reads 1.0e7 as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Card(Strict):
    """What all cards say: what the dataset must look like, and how it is prepared."""

    name: str
    origin: str = Field(exclude=True)
    title: str
    papers: Texts = ()
    aliases: Names = ()
    published: dict[str, Texts] = {}
    cite: str = ""
    licence: str = ""
    note: str = ""
    options: Texts = ()
    expect: Expectation = Expectation()

    classes: Classes
    positive: Texts | None = None
    features: Features
    kept_features: Features | None = None
    drop_columns: Literal["none", "zero", "trailing-zero"] = "none"
    multiply_by: float | None = None
    divide_by: Annotated[float, Field(gt=0)] | None = None
    smooth: Smooth | None = None
    scale: Scale = "none"
    unit_rows: bool = False
    storage: Storage = "auto"
    augment: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    extends: None = Field(default=None, exclude=True)  # followed when the card is read
    instead: str | None = Field(default=None, exclude=True)

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
        if self.multiply_by == 0:
            raise MisfitError("multiply_by", "must not be 0, which would leave nothing of the rows")
        if self.unit_rows and self.scale != "none":
            raise MisfitError("unit_rows", "give either 'unit_rows' or 'scale'")
        if self.coded and self.scale not in ("none", "unit-interval"):
            raise MisfitError("scale", "must be 'unit-interval' or 'none' beside categorical columns")
        if self.scale != "none" and not self.coded and self.storage != "dense":
            raise MisfitError("scale", f"'{self.scale}' fills every zero; it needs 'storage: dense'")
        if self.drop_columns != "none" and self.storage != "dense":
            raise MisfitError("drop_columns", "needs 'storage: dense'")
        if self.smooth and (self.coded or self.storage != "dense" or self.smooth.pixels != self.features):
            raise MisfitError("smooth", "needs 'storage: dense' and as many 'features' as its images have pixels")
        return self

    @model_validator(mode="after")
    def _can_be_augmented(self) -> Self:
        if not 0 < ctypes.c_float(self.augment or 1.0).value < math.inf:
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
    def known_features(self) -> int | None:
        """How many columns there are at last, where the card says so."""
        return self.kept_features or (self.features if self.drop_columns == "none" else None)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes' names by index, as a problem shows them: those of the card, or ``rest`` and the positive.

        Where the positive one is called ``rest``, it is ``others``.
        """
        if self.positive is None:
            return tuple(self.classes)
        positive = "+".join(self.positives)
        return "others" if positive == "rest" else "rest", positive

    @property
    def class_words(self) -> tuple[tuple[str, ...], ...]:
        """Class by class of the problem, what stands for it: its name, and the words of the files."""
        words = [[name] for name in self.class_names]
        for index, (name, others) in zip(self.merged, self.classes.items(), strict=True):
            words[index] += [word for word in (name, *others) if word not in words[index]]
        return tuple(map(tuple, words))

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
        settings = self.model_dump(mode="json", exclude=_NOT_PREPARED, exclude_defaults=True)
        if self.total and getattr(self, "split", None):
            settings["total"] = self.total.rows
        if list(self.classes) != in_usual_order(self.classes) and Path(self.origin).parent != resources.bundled(
            "datasets"
        ):
            settings["order_of_classes"] = list(self.classes)  # of the project's cards it never changes
        return {"version": FORMAT_VERSION, **settings}

    def preparation_key(self) -> str:
        """Return a hash of the preparation, of what it is checked against, and of the content where that is known."""
        expected = self.model_dump(mode="json", include={"expect", "kept_features"}, exclude_defaults=True)
        files: dict[str, File] = getattr(self, "files", {})
        content = {name: file.content_sha256 for name, file in files.items()}
        return digest([self.preparation(), expected, content])[:12]


_NOT_PREPARED = {
    *("name", "title", "papers", "aliases", "published", "cite", "licence", "note", "options", "files"),
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
                words = f"use letters, digits and . + - _, {MAX_NAME_BYTES} at most"
                raise MisfitError("files", f"'{name}' cannot be the name of a file; {words}")
            if not file.urls and not file.by_hand and not file.path:
                raise MisfitError(
                    "files", f"'{name}' needs 'urls', or 'by_hand' to say where the user gets it, or 'path'"
                )
        return self

    @model_validator(mode="after")
    def _has_one_test_part(self) -> Self:
        if self.split is not None and self.test:
            raise MisfitError("split", "the test set comes from a separate file, there is nothing to split")
        return self

    def _used_files(self) -> set[str]:
        return {*self.train, *self.test}

    def expected_rows(self) -> tuple[int | None, int | None]:
        """Return the rows of the training and of the test part, as far as the card says."""
        train, test = super().expected_rows()
        return train, (self.expect.test.rows if self.expect.test else None) if self.test else test

    @property
    def is_of_own_files(self) -> bool:
        """Whether it is of user files, which no other machine has."""
        return any(file.path is not None for file in self.files.values())

    def preparation(self) -> dict[str, Any]:
        """Return what the stored arrays depend on; the order of the classes, too, where the card is the user's own."""
        settings = super().preparation()
        more = {"version": _VERSION_OF_OWN, "order_of_classes": list(self.classes)}
        return {**settings, **more} if self.is_of_own_files else settings

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
                path=Path(os.path.abspath(Path(self.origin).parent / file.path)) if file.path else None,  # noqa: PTH100
            )
            for name, file in self.files.items()
        )


class SvmlightCard(_FileCard):
    """Sparse text, ``label index:value index:value``; the labels may come from another file (``topic``).

    A pair that is repeated in its row is refused, dropped where it is the same, or kept: what an index has adds up.
    """

    kind: Literal["svmlight"]
    first_index: Literal[0, 1] = 1
    repeated_pairs: RepeatedPairs = "refuse"
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


class TableCard(_FileCard):
    """A table of the user's own: ``columns`` says what each is, in the order of the file.

    Words become a feature each, those of the training part; numbers are scaled as ``scale`` says, by the training
    part. ``missing`` says what becomes of a number that is not there: it is refused, the median of the training part
    stands for it, or the row is dropped. ``features`` is the most that all of this may come to.
    """

    kind: Literal["table"]
    format: Literal["delimited", "parquet"] = "delimited"
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    header: bool = True
    columns: Annotated[dict[Text, Kind], Field(min_length=2)]
    missing: MissingRule = "refuse"
    features: Features = MAX_FEATURES

    @model_validator(mode="after")
    def _has_one_label(self) -> Self:
        labels = [name for name, kind in self.columns.items() if kind == "label"]
        if len(labels) != 1:
            raise MisfitError("columns", f"one must be the label, not {len(labels)}")
        if not {"number", "categorical"} & set(self.columns.values()):
            raise MisfitError("columns", "none is left to learn from: one must be 'number' or 'categorical'")
        return self

    @model_validator(mode="after")
    def _can_take_its_steps(self) -> Self:
        for key in ("multiply_by", "divide_by", "smooth"):
            if getattr(self, key) is not None:
                raise MisfitError(key, "is not for a table; its numbers are scaled by 'scale'")
        if self.drop_columns != "none":
            raise MisfitError("drop_columns", "is not for a table; write 'omitted' beside a column")
        if self.storage == "ones":
            raise MisfitError("storage", "must be auto, dense or sparse for a table")
        if self.scale in ("symmetric", "standard-overall"):
            raise MisfitError("scale", "must be none, standard or unit-interval for a table")
        return self

    @property
    def label(self) -> str:
        """The name of the column that holds the label."""
        return next(name for name, kind in self.columns.items() if kind == "label")

    @property
    def known_features(self) -> int | None:
        """How many columns there are at last, where the card says so: words are counted in the training part."""
        kinds = list(self.columns.values())
        return None if "categorical" in kinds else kinds.count("number")


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
    is_of_own_files: ClassVar = False
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
    rows: Annotated[int, BeforeValidator(_whole), Field(ge=1, le=_MAX_GENERATED_ROWS)]
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
    rows: Annotated[int, BeforeValidator(_whole), Field(ge=2, le=_MAX_GENERATED_ROWS)]
    features: Annotated[int, BeforeValidator(_whole), Field(ge=2, le=MAX_FEATURES)]
    margin: Annotated[float, Field(gt=0, lt=1)]


GeneratedCard = SampledCard | SeparableCard
Card = SvmlightCard | DelimitedCard | TableCard | IdxCard | EmbeddedCard | SampledCard | SeparableCard

#: how a card is validated: ``kind`` says which class it is, and ``content`` for those that are generated
AnyCard = Annotated[
    SvmlightCard
    | DelimitedCard
    | TableCard
    | IdxCard
    | EmbeddedCard
    | Annotated[GeneratedCard, Field(discriminator="content")],
    Field(discriminator="kind"),
]


def can_name_a_file(name: str) -> bool:
    """Return whether a file or folder in the data directory may be called so."""
    return re.fullmatch(r"\w[\w.+-]*", name) is not None and len(name.encode()) <= MAX_NAME_BYTES


def digest(content: Any) -> str:
    """Return a hash of something made of lists, mappings, texts and numbers."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
