"""``mpu-bench try``."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from mpu_bench.cli.options import TryOptions, takes

_MAX_JOBS = 8


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

    Exit code 1: nothing was chosen, because nothing fits, or nothing is better than a constant.
    """
    if options.online:
        from mpu_bench.cli import selecting

        raise typer.Exit(selecting.follow(file, options))
    from mpu_bench.selection.pool import Pool

    began = time.monotonic()
    with Pool(options.jobs or min(os.cpu_count() or 1, _MAX_JOBS)) as pool:
        from mpu_bench.cli import selecting  # which takes a second or two, in which the processes import as much

        code = selecting.select(file, options, pool, began)
    raise typer.Exit(code)
