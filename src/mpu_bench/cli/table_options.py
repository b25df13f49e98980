"""Options that say what a user file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The label's column, by name or number. By default label, class, target, y or the last."
    ),
]
Positive = Annotated[
    list[str] | None, typer.Option(metavar="V", help="A label of the positive class: makes two classes. Repeatable.")
]
TestFile = Annotated[Path | None, typer.Option(metavar="FILE", help="A file of test rows, with the same columns.")]
Split = Annotated[
    float | None,
    typer.Option(metavar="PART", help="The share of the rows to train on, drawn at random.  [default: 0.8]"),
]
SplitSeed = Annotated[int, typer.Option(help="The seed of the split.")]
MissingRule = Annotated[
    str,
    typer.Option(
        metavar="WORD", help="What to do with a missing number: refuse it, fill in the median, or drop the row."
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="WORD",
        help="Scale numbers: none, standard or unit-interval.  [default: standard for tables, none for svmlight]",
    ),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="The first line names the columns, or does not.")
]
MissingWords = Annotated[
    bool,
    typer.Option("--missing-words/--no-missing-words", help="Labels such as NA are missing, or are classes."),
]
FirstIndex = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="The first index of svmlight's columns.  [default: 0 if there is an index 0]",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None, typer.Option(metavar="C", help="The separator of cells: a character, or tab.", show_default=False)
]
