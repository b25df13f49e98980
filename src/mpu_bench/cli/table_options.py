"""Options that say what a user file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The label column, by name or number. By default label, class, target, y or the last."
    ),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(metavar="LABEL", help="A label of the positive class, against all others (repeatable)."),
]
TestFile = Annotated[Path | None, typer.Option(metavar="FILE", help="A file of test rows, with the same columns.")]
Split = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="The share of rows to train on, drawn at random.  [default: 0.8]"),
]
SplitSeed = Annotated[int, typer.Option(metavar="N", help="The seed of the split.")]
MissingRule = Annotated[
    str,
    typer.Option(metavar="RULE", help="How to treat missing numbers: refuse, median (fill it in) or drop (the row)."),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="How to scale numbers: none, standard or unit-interval. By default none for svmlight, else standard.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="The first line has the column names, or has not. By default detected."),
]
MissingWords = Annotated[
    bool,
    typer.Option("--missing-words/--no-missing-words", help="Labels such as NA are missing values, or are classes."),
]
FirstIndex = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=1,
        help="The first column index of svmlight.  [default: 0 if there is an index 0]",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR", help="The cell separator: a character, or tab. By default detected.", show_default=False
    ),
]
