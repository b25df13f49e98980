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
TestFile = Annotated[Path | None, typer.Option(metavar="FILE", help="The test part, with the same columns.")]
Split = Annotated[
    float | None, typer.Option(metavar="PART", help="The part of the rows to train on, at random.  [default: 0.8]")
]
SplitSeed = Annotated[int, typer.Option(help="Of the split.")]
MissingRule = Annotated[
    str, typer.Option(metavar="WORD", help="Of a number that is missing: refuse it, median, or drop the row.")
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="WORD", help="none, standard or unit-interval.  [default: standard for tables, none for svmlight]"
    ),
]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")]
MissingWords = Annotated[
    bool,
    typer.Option("--missing-words/--no-missing-words", help="Whether NA and the like are missing labels, or classes."),
]
FirstIndex = Annotated[
    int | None,
    typer.Option(min=0, max=1, help="Of svmlight's columns.  [default: 0 if there is an index 0]", show_default=False),
]
Separator = Annotated[
    str | None, typer.Option(metavar="C", help="Between cells: a character, or tab.", show_default=False)
]
