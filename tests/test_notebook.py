"""The notebook of the documentation runs from its first cell to its last, in a kernel of its own."""

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from documentation import DOCS

NOTEBOOK = DOCS / "notebooks" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, 4)
    where = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    nbclient.NotebookClient(notebook, timeout=250, resources=where).execute()
    return {cell.id: cell for cell in notebook.cells}


def shown(cells, name):
    """Return what a cell shows, which is one thing, and no warning beside it."""
    (output,) = cells[name].outputs
    assert output.output_type == "execute_result"
    return output.data


def test_it_lies_in_git_without_outputs():
    notebook = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == 5
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert NOTEBOOK.relative_to(DOCS).as_posix() in Path(DOCS / "index.md").read_text("utf-8")


def test_a_run_shows_its_table_and_a_figure_once(cells):
    data = shown(cells, "run")
    assert "checkerboard: 10000 x 2, 2000 test rows" in data["text/plain"]
    assert data["text/html"].count("<table") == data["text/html"].count("<svg") == 1


def test_a_table_is_a_frame(cells):
    text = shown(cells, "table")["text/plain"]
    assert re.findall(r"(dcd|perceptron|forgetron) +(<NA>|\d+)", text) == [
        ("dcd", "<NA>"), ("perceptron", "<NA>"), ("forgetron", "50"), ("forgetron", "200"),
    ]  # fmt: skip


def test_a_figure_is_shown(cells):
    assert "forgetron B=50" in shown(cells, "figure")["image/svg+xml"]


def test_a_claim_has_its_verdict(cells):
    assert re.search(r"perceptron with\S* +holds +\d", shown(cells, "verdict")["text/plain"])


def test_a_classifier_is_right(cells):
    assert 0.96 < float(re.findall(r"0\.\d+", shown(cells, "classifier")["text/plain"])[0]) <= 1
