"""The pages of a report: a folder that opens from disk without a network, made from results folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mpu_bench import __version__, published
from mpu_bench.config.sentences import sentences
from mpu_bench.files import write_all
from mpu_bench.quantities import format_number
from mpu_bench.report import experiments, overview, printed, style
from mpu_bench.report.tables import Table
from mpu_bench.results import naming
from mpu_bench.texts import publishable
from mpu_bench.verdict.cells import CLAIM, VALUE, Cell, count_verdicts
from mpu_bench.verdict.folders import verdict_text
from mpu_bench.verdict.verdict import Finding, Verdict

TEMPLATES = Path(__file__).with_name("templates")
_COPIED = ("page.css", "page.js", "uPlot.css", "uPlot.js")
_TITLE = "Perceptron-like and budgeted SVM training: reported and measured"
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
    names_apart = naming.numbered([each["name"] for each in found])
    found = [
        each if each["name"] == name else experiments.renamed(each, name)
        for each, name in zip(found, names_apart, strict=True)
    ]
    tables = overview.by_table(each["judged"] for each in found)
    papers = list(dict.fromkeys(each["paper"] for each in found))
    pages = {paper: _page(paper, found, tables) for paper in papers}
    names = {paper: f"{paper or _OWN}.html" if len(papers) > 1 else "index.html" for paper in papers}
    common = _common(found, tables) | {"names": names, "pages": pages, "documentation": documentation}
    cells = [cell for table in tables for cell in table.cells]
    overall = {"overall": _came_out(cells), "besides": overview.besides(tables), "rows": overview.by_paper(tables)}
    templates = environment()
    texts = {"index.html": templates.get_template("index.html").render(**common, **overall, alone=len(papers) == 1)}
    if len(papers) > 1:
        template = templates.get_template("paper.html")
        texts |= {names[paper]: template.render(**common, page=page, alone=False) for paper, page in pages.items()}
    write_all(out, {name: (TEMPLATES / name).read_text("utf-8") for name in _COPIED} | texts)
    return out / "index.html"


def _common(found: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what all pages show."""
    return {
        "title": _TITLE if tables else _title(found),
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
        finalize=_publishable,
    )
    made.filters["number"] = format_number
    return made


def _title(found: Sequence[Mapping[str, Any]]) -> str:
    """Return what pages are called that are about nothing published."""
    return f"Results of {', '.join(each['name'] for each in found[:3])}{' and others' * (len(found) > 3)}"


def _date(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the day of the results where all are kept ones, so that the same results give the same pages; or today."""
    dates = [each["date"] for each in found]
    return max(dates) if dates and all(dates) else datetime.now(UTC).date().isoformat()


def _page(paper: str, every: Sequence[Mapping[str, Any]], tables: Sequence[overview.PaperTable]) -> dict[str, Any]:
    """Return what the page of a paper shows: its experiments and tables, of all."""
    found = [each for each in every if each["paper"] == paper]
    tables = [table for table in tables if table.paper == paper]
    cells = [cell for table in tables for cell in table.cells]
    nothing = count_verdicts([])
    return _came_out(cells) | {
        "paper": paper,
        "reference": published.reference(paper),
        "printed": _printed(found, tables),
        "contradicted": _rows(paper, [cell for cell in cells if _is_claim(cell) and cell.is_against]),
        "claims": _rows(paper, [cell for cell in cells if _is_claim(cell) and not cell.is_against]),
        "missed": _missed(found, cells),
        "tables": [_table(table, found) for table in tables if count_verdicts(table.cells) != nothing],
        "experiments": found,
        "figures": Markup(_json({name: data for each in found for name, data in each["drawn"].items()})),
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


def _came_out(cells: Sequence[Cell]) -> dict[str, Any]:
    return {"headline": headline(cells), "counts": count_verdicts(cells)}


def headline(cells: Sequence[Cell]) -> str:
    """Return in two sentences how many values and claims have each verdict."""
    said = []
    for kinds, what in ((("value", "ratio"), "reported value"), ((CLAIM,), "claim")):
        judged = [cell for cell in cells if cell.kind in kinds and cell.verdict.finding is not Finding.NOTHING]
        explained = Counter(cell.verdict for cell in judged if cell.explained)
        words = [
            f"{count} {verdict.word}" + (f" ({explained[verdict]} explained)" if explained[verdict] else "")
            for verdict, count in count_verdicts(judged).items()
            if count
        ]
        if words:
            of = f"Of {len(judged)} {what}s that were judged, " if len(judged) > 1 else f"1 {what} was judged: "
            said.append(f"{of}{', '.join(words)}.")
    return " ".join(said) or "None of the reported values and claims has been measured."


def _is_claim(cell: Cell) -> bool:
    return bool(cell.sentence) and cell.kind == CLAIM


def _rows(paper: str, claims: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return what a page shows of claims: with the words of the paper, and where they stand."""
    quoted = {each.name: each for each in sentences(paper)} if claims else {}
    return [
        vars(cell) | {"quote": quoted[cell.sentence].quote, "at": quoted[cell.sentence].at, "text": verdict_text(cell)}
        for cell in claims
    ]


def _table(table: overview.PaperTable, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row of the overview, with the experiments that it is about."""
    about = [each for each in found if table.name in each["tables"]]
    return {"name": table.name, "counts": count_verdicts(table.cells), "experiments": about}


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


def _json(figures: Mapping[str, Any]) -> str:
    """Return data as JSON that no text in it can make end the script element."""
    return json.dumps(figures, separators=(",", ":")).replace("<", "\\u003c")
