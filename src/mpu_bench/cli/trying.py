"""``mpu-bench try``."""

from __future__ import annotations

from typing import Annotated

import typer

from mpu_bench.cli.options import TryOptions, takes


@takes(TryOptions)
def try_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="An svmlight, CSV, TSV or Parquet file; or the name of a dataset.")
    ],
    options: TryOptions,
) -> None:
    """Find the small, fast classifier that suits your data.

    Takes about a minute. A validation set chooses the classifier and its settings (below 2,000 training rows:
    cross-validation). The reported errors are those on a separate test set. A constant, a logistic regression and
    boosted trees show what the size costs. RESULTS/try-NAME then holds the answer, the chosen model, also in C and
    ONNX, and the config that trains the model again.

    Exit code 1: nothing was chosen, because nothing is better than a constant.
    """
    from mpu_bench.cli import selecting

    raise typer.Exit(selecting.select(file, options))
