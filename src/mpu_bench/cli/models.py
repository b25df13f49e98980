"""The verbs on saved models: predict, evaluate, export-c, export-onnx."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mpu_bench.cli.options import TextOptions, takes
from mpu_bench.experiment.options import FolderOptions

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A saved model, such as results/adult/models/....mpu.")
]
DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="An svmlight, CSV, TSV or Parquet file; or a dataset, for its test set.")
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The label column. By default the model's."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


@takes(TextOptions)
def predict(
    model: ModelFile,
    rows: DataFile,
    options: TextOptions,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The CSV file to write. By default standard output.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Add the scores of every class.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probabilities of a model trained with probability=True.")
    ] = False,
    label: LabelColumn = None,
    force: Force = False,
) -> None:
    """Predict labels with a saved model, as CSV.

    Each line has the number of the row and its label.
    """
    from mpu_bench.cli import predicting

    predicting.check_free(out, force, (model, rows))
    predicting.predict(model, rows, label, options, out=out, scores=scores, probabilities=probabilities)


@takes(TextOptions)
def evaluate(model: ModelFile, rows: DataFile, options: TextOptions, label: LabelColumn = None) -> None:
    """Evaluate a saved model on labelled rows.

    Prints the error, other metrics and the confusion matrix.
    """
    from mpu_bench.cli import predicting

    predicting.evaluate(model, rows, label, options)


@takes(FolderOptions)
def export_c(
    model: ModelFile,
    options: FolderOptions,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The C file to write. By default standard output.")
    ] = None,
    check: Annotated[
        str | None, typer.Option(metavar="DATA", help="Rows to compare labels on: a file, or a dataset.")
    ] = None,
    fixed_point: Annotated[
        bool, typer.Option("--fixed-point", help="Use integers only, for processors without floating point.")
    ] = False,
    bits: Annotated[
        int | None,
        typer.Option(metavar="N", min=8, max=16, help="The bits of a number with --fixed-point. By default 16."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The prefix of the C functions. By default the name of the file.")
    ] = None,
    with_test: Annotated[
        bool,
        typer.Option(
            "--with-test", help="Also write a test program with rows of --check, a makefile and an Arduino sketch."
        ),
    ] = False,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compile for cortex-m0 or cortex-m4, and run in qemu.")
    ] = None,
    force: Force = False,
) -> None:
    """Export a saved model as C, and check it against Python.

    The file is for small devices, and stands alone. Exit code 1: fewer than 99% of the labels agree, and nothing is
    written.
    """
    from mpu_bench.cli import exporting

    exporting.export_c(
        model, out, check, options.home, bits=bits, fixed_point=fixed_point, name=name, with_test=with_test,
        device=device, force=force,
    )  # fmt: skip


@takes(FolderOptions)
def export_onnx(
    model: ModelFile,
    options: FolderOptions,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The ONNX file to write.")],
    check: Annotated[str | None, typer.Option(metavar="DATA", help="A file of rows to compare labels on.")] = None,
    force: Force = False,
) -> None:
    """Export a saved model to ONNX, and check it against Python.

    The check needs onnxruntime. Exit code 1: fewer than 99% of the labels agree, and nothing is written.
    """
    from mpu_bench.cli import exporting

    exporting.export_onnx(model, out, check, options.home, force=force)
