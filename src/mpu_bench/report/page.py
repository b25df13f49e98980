"""The pages of a report: a folder that opens from disk without a network, made from results folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mpu_bench import __version__, published
from mpu_bench.config.sentences import sentences
from mpu_bench.files import write_all
from mpu_bench.quantities import format_number, quantity_of
from mpu_bench.report import experiments, overview, printed, style
from mpu_bench.report.tables import Table, html_text
from mpu_bench.results import naming
from mpu_bench.texts import publishable
from mpu_bench.verdict.cells import CLAIM, RATIO, VALUE, Cell, count_verdicts
from mpu_bench.verdict.folders import solver_text, verdict_text
from mpu_bench.verdict.verdict import Verdict

TEMPLATES = Path(__file__).with_name("templates")
_COPIED = ("page.css", "page.js", "uPlot.css", "uPlot.js")
_TITLE = "Perceptron-like and budgeted SVM training: reported and measured"
_ERRORS, _RATIOS, _OTHERS = "test error, %", "seconds relative to another solver's", "other values"  # panels of a chart
_OWN = "other-experiments"  #: the page of what belongs to no paper


def write(results: Sequence[Path], out: Path, documentation: str = "") -> Path:
    """Write the pages of some results folders: one for each paper, and the first, which has what came out.

    Parameters
    ----------
    results : sequence of Path
        Where all are of one paper, or of none, there is the first page alone.
    out : Path
        The pages' folder; made if need be, its files of earlier pages are replaced.
    documentation : str
        The address of the documentation, to which the pages link; empty for none.

    Returns
    -------
    Path
        The first page, ``index.html``.

    Raises
    ------
    StoreError
        If a folder holds no results, or the pages cannot be written.
    """
    found = [experiments.shown(folder) for folder in results]
    found.sort(key=lambda each: (overview.paper_order(each["paper"]), each["name"]))
    for each, name in zip(found, naming.numbered([each["name"] for each in found]), strict=True):
        slug = name.replace(" (", "-").rstrip(")")
        each |= {"name": name, "slug": slug, "anchor": f"experiment-{slug}"}
    tables = overview.by_table(each["judged"] for each in found)
    papers = list(dict.fromkeys(each["paper"] for each in found))
    pages = {paper: _page(paper, found, tables) for paper in papers}
    names = {paper: f"{paper or _OWN}.html" if len(papers) > 1 else "index.html" for paper in papers}
    common = _common(found, tables) | {"names": names, "pages": pages, "documentation": documentation}
    cells = [cell for table in tables for cell in table.cells]
    counted = {"counts": count_verdicts(cells), "compared": _compared(cells)}
    overall = {"overall": counted, "besides": overview.besides(tables), "rows": overview.by_paper(tables)}
    templates = environment()
    texts = {"index.html": templates.get_template("index.html").render(**common, **overall, alone=len(papers) == 1)}
    if len(papers) > 1:
        template = templates.get_template("paper.html")
        texts |= {names[paper]: template.render(**common, page=page, alone=False) for paper, page in pages.items()}
    write_all(out, {name: (TEMPLATES / name).read_text("utf-8") for name in _COPIED} | texts)
    return out / "index.html"


def _common(found: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what all pages show."""
    names = [each["name"] for each in found]
    return {
        "title": _TITLE if tables else f"Results of {', '.join(names[:3])}{' and others' * (len(names) > 3)}",
        "judged": bool(tables),
        "version": __version__,
        "date": _date(found),
        "verdicts": list(Verdict),
        "colours": style.COLOURS,
        "dark_colours": style.DARK_COLOURS,
    }


def environment() -> jinja2.Environment:
    """Return what makes pages of the templates."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=html_text,
    )
    made.filters["number"] = format_number
    return made


def _date(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the day of the results where all are kept ones, so that the same results give the same pages; or today."""
    dates = [each["date"] for each in found]
    return max(dates) if dates and all(dates) else datetime.now(UTC).date().isoformat()


def _page(paper: str, every: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what the page of a paper shows: its experiments and tables, of all."""
    found = [each for each in every if each["paper"] == paper]
    tables = [table for table in tables if table.paper == paper]
    cells = [cell for table in tables for cell in table.cells]
    drawn = {f"{each['slug']}-{name}": data for each in found for name, data in each["drawn"].items()}
    claims = [cell for cell in cells if cell.sentence and cell.kind == CLAIM]
    return {
        "counts": count_verdicts(cells),
        "compared": _compared(cells),
        "paper": paper,
        "reference": published.reference(paper),
        "printed": _printed(found, tables),
        "contradicted": _rows(paper, [cell for cell in claims if cell.is_against]),
        "claims": _rows(paper, [cell for cell in claims if not cell.is_against]),
        "missed": _missed(found, cells),
        "tables": [
            {
                "name": table.name,
                "counts": counts,
                "experiments": [each for each in found if table.name in each["tables"]],
            }
            for table in tables
            if any((counts := count_verdicts(table.cells)).values())
        ],
        "experiments": found,
        "figures": Markup(json.dumps(drawn, separators=(",", ":")).replace("<", "\\u003c")),  # ends no script element
    }


def _printed(found: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> list[Table]:
    """Return the tables of a paper as they are printed, with what other experiments measured of them beside."""
    cells = [cell for table in tables for cell in table.cells]
    seconds = {name: table.seconds_of for table in tables for name in {cell.table for cell in table.cells}}
    counted = set(map(id, cells))
    others = [
        (each["name"], cell)
        for each in found
        for cell in each["judged"].cells
        if cell.kind == VALUE and not cell.sentence and cell.verdict != Verdict.NOT_RUN and id(cell) not in counted
    ]
    shaped = (printed.table(name, cells, seconds.get(name, lambda _cell: ""), others) for name in printed.layouts())
    return [table for table in shaped if table is not None]


def _compared(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return reported and measured values by panel of a chart that has a mark for each; accuracies are errors there."""
    panels: dict[str, list[Any]] = {}
    for cell in cells:
        if cell.kind in (VALUE, RATIO) and cell.published is not None and cell.measured is not None:
            quantity, pair = quantity_of(cell.column), [cell.published, cell.measured]
            better = quantity.better if quantity is not None and quantity.is_in_percent else None
            pair = [100 - value for value in pair] if better == "higher" else pair
            name = _RATIOS if cell.kind == RATIO else _OTHERS if better is None else _ERRORS
            numbers = f"reported {format_number(cell.published)}, measured {format_number(cell.measured)}"
            words = f"{cell.table} {cell.dataset} {solver_text(cell)}: {cell.what}: {numbers}: {verdict_text(cell)}"
            panels.setdefault(name, []).append([*pair, cell.verdict.finding.page, publishable(words)])
    return [{"title": name, "points": panels[name]} for name in (_ERRORS, _RATIOS, _OTHERS) if name in panels]


def _rows(paper: str, claims: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return what a page shows of claims: with the words of the paper, and where they stand."""
    quoted = {each.name: each for each in sentences(paper)} if claims else {}
    return [
        vars(cell) | {"quote": quoted[cell.sentence].quote, "at": quoted[cell.sentence].at, "text": verdict_text(cell)}
        for cell in claims
    ]


def _missed(
    found: Sequence[Mapping[str, Any]], cells: Sequence[Cell]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the values that count and are not reproduced, with their experiments; first those not explained."""
    counted = {id(cell) for cell in cells if cell.kind in ("value", "ratio") and cell.is_against}
    missed = [
        (each, row)
        for each in found
        for cell, row in zip(each["judged"].cells, each["cells"], strict=True)
        if id(cell) in counted
    ]
    return sorted(missed, key=lambda pair: bool(pair[1]["explained"]))


def _publishable(value: Any) -> Any:
    """Return what the pages show of a value: of a text, what may be published."""
    return publishable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
