"""docs/papers: what each paper says, what came out of it here, with figures, and how to run what has not been run.

What is written by hand stands in papers.yaml; numbers and verdicts are those of results/baseline, judged by today's
rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import accept
import stored
from documents.datasets import download
from documents.markdown import code, head, table, words_table
from documents.pictures import picture
from mpu_bench import published, resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.config.schema import PAPERS
from mpu_bench.config.sentences import observations, sentences
from mpu_bench.data.cards import catalog
from mpu_bench.quantities import RunStatus, format_number
from mpu_bench.report import overview
from mpu_bench.report.overview import PaperTable
from mpu_bench.resources import config_names
from mpu_bench.verdict.cells import CLAIM, COUNTED, Cell, solver_text
from mpu_bench.verdict.claims import of_sentences
from mpu_bench.verdict.comparison import ExperimentCells
from mpu_bench.verdict.points import Evidence
from mpu_bench.verdict.verdict import Verdict
from stored import Missing

INDEX = """# The papers

Verdicts of the full runs in `results/baseline` on the values, ratios and claims of the papers;
[Verdicts](../verdicts.md) says what each means and how it is reached.
"""
SEE_ALSO = """
Each page says what is reproduced, what is not reproduced or contradicted and what is known of why, how print is read
here, and what has not been run, with the command that runs it. `make site` builds pages that have every table of a
paper, with the measured values in it, and every figure.
"""


def pages() -> dict[str, str]:
    """Return the pages, and the one before them."""
    tables, written = _tables(), _written()
    made = {"papers/index.md": _index(tables)}
    return made | {
        f"papers/{paper}.md": _page(paper, written[paper], [each for each in tables if each.paper == paper])
        for paper in PAPERS
    }


@cache
def _abouts() -> dict[str, dict[str, Any]]:
    """Return what is known of each full run that is kept, by its config."""
    found = [stored.about(folder) for folder in _folders()]
    return {each.get("config", each["name"]): each for each in found}


@cache
def _folders() -> list[Path]:
    return accept.full(accept.BASELINE)


@cache
def _kept() -> list[ExperimentCells]:
    return [overview.of_folder(folder) for folder in _folders()]


@cache
def _evidence() -> Evidence:
    return sum((each.evidence for each in _kept()), Evidence())


@cache
def _tables() -> list[PaperTable]:
    return overview.by_table(_kept())


def figures() -> dict[str, str]:
    """Return the main figures of the papers as SVG, by their paths."""
    return {
        f"papers/{_file_of_figure(each)}": picture(accept.BASELINE / each["config"], each["figure"])
        for written in _written().values()
        for each in written["figures"]
    }


def _file_of_figure(figure: dict[str, str]) -> str:
    return f"{figure['config']}-{figure['figure']}.svg"


def _written() -> dict[str, dict[str, Any]]:
    written: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "papers.yaml").read_text("utf-8"))
    return written


@cache
def experiments() -> dict[str, Experiment]:
    """Return the configs of the papers, by name."""
    found = {name: read_config(Path(name), with_plugins=False) for name in config_names()}
    return {name: each for name, each in found.items() if each.paper is not None}


def result_line() -> str:
    """Return in a line how many numbers and claims of all papers have which verdict."""
    cells = [cell for each in _tables() for cell in each.cells if cell.kind in COUNTED]
    claims = Counter(cell.verdict for cell in cells if cell.kind == CLAIM)
    everything = Counter(cell.verdict for cell in cells)
    numbers = everything - claims
    kinds = {
        "Numbers": (numbers, (Verdict.REPRODUCED, Verdict.WITHIN_5X, Verdict.NOT_REPRODUCED)),
        "Claims": (claims, (Verdict.SUPPORTED, Verdict.SUPPORTED_SO_FAR, Verdict.CONTRADICTED)),
        "Open": (everything, (Verdict.INCONCLUSIVE, Verdict.NOT_RUN)),
    }
    told = {kind: ", ".join(f"{counts[each]} {each.word}" for each in shown) for kind, (counts, shown) in kinds.items()}
    return f"**Result so far.** {' '.join(f'{kind}: {words}.' for kind, words in told.items())}\n"


def overview_table(folder: str = "") -> str:
    """Return how many verdicts of each kind every paper has, with links to the papers' pages in a folder."""
    rows = [row for row in overview.by_paper(_tables()) if row["paper"] != "all"]
    shown = [verdict for verdict in Verdict if any(row[verdict] for row in rows)]
    lines = [(f"[{row['paper']}]({folder}{row['paper']}.md)", *(row[name] or "" for name in shown)) for row in rows]
    return table(("paper", *(verdict.word for verdict in shown)), lines)


def _index(tables: Sequence[PaperTable]) -> str:
    return "\n".join([INDEX, overview_table(), overview.besides(tables), SEE_ALSO])


def _page(paper: str, written: dict[str, Any], tables: Sequence[PaperTable]) -> str:
    cells = [cell for each in tables for cell in each.cells if cell.kind in COUNTED]
    found = {name: each for name, each in experiments().items() if each.paper == paper}
    return "\n".join([
        f"# {paper}: {written['title']}\n\n{written['about']}\n",
        code(published.citation(paper), "bibtex"),
        _solvers(written["solvers"].split()),
        *_drawn(written),
        *_reproduced(tables, found),
        *_not_reproduced(cells),
        *_contradicted(paper, cells),
        *_seen(paper),
        *_open(cells),
        *_read(written, found),
        *_not_run(paper, found),
        *_commands(paper, found),
    ])  # fmt: skip


def _reproduced(tables: Sequence[PaperTable], found: dict[str, Experiment]) -> Iterator[str]:
    yield "## What is reproduced\n"
    abouts = _abouts()
    rows = [
        (f"`{name}`", each.description.partition(": ")[2] or each.description, _share(abouts.get(name)))
        for name, each in found.items()
    ]
    yield table(("config", "what it is", "runs with a result"), rows)
    counted = overview.overview_rows(tables)
    shown = [verdict for verdict in Verdict if any(row[verdict] for row in counted)]
    yield "Verdicts of the full runs, by table, and for the claims:\n"
    yield table(
        ("table", *(verdict.word for verdict in shown)),
        [(row["table"], *(row[name] or "" for name in shown)) for row in counted],
    )


def _solvers(names: Sequence[str]) -> str:
    return f"Its solvers: {', '.join(f'`{name}`' for name in names)} (`mpu-bench list solvers NAME` describes one).\n"


def _drawn(written: dict[str, Any]) -> Iterator[str]:
    for figure in written["figures"]:
        yield f"![{figure['shows']}]({_file_of_figure(figure)})\n"
        yield f"{figure['shows']}: `mpu-bench plot results/baseline/{figure['config']} --figure {figure['figure']}`.\n"


def _share(about: dict[str, Any] | None) -> str:
    return "none" if about is None else f"{about['runs']:,} of {about['planned']:,}"


def _not_reproduced(cells: Sequence[Cell]) -> Iterator[str]:
    found = [cell for cell in cells if cell.kind != CLAIM and cell.is_against]
    yield f"## What is not reproduced\n\n{_counted(found, 'reported value', 'is', 'are')} not reproduced.\n"
    if found:
        headings = ("table", "dataset", "solver", "what", "reported", "measured", "allowed", "it is", "why, if known")
        yield words_table(headings, map(_differing, found))


def _counted(found: Sequence[Cell], what: str, one: str, many: str) -> str:
    return f"One {what} {one}" if len(found) == 1 else f"{len(found) or 'No'} {what.replace(' or', 's or')}s {many}"


def _differing(cell: Cell) -> tuple[str, ...]:
    allowed = "" if cell.allowed is None else f"{cell.allowed:.3g}"
    numbers = format_number(cell.published), format_number(cell.measured), allowed
    way = ", ".join(filter(None, [cell.direction, cell.judged]))
    where = cell.table.partition("-")[2] or cell.table
    return where, cell.dataset, solver_text(cell), cell.what, *numbers, way, _why(cell)


def _why(cell: Cell) -> str:
    return f"{cell.explained} ({cell.evidence})" if cell.explained else ""


def _contradicted(paper: str, cells: Sequence[Cell]) -> Iterator[str]:
    found = [cell for cell in cells if cell.kind == CLAIM and cell.is_against]
    quoted = {each.name: each for each in sentences(paper)}
    yield f"## What is contradicted\n\n{_counted(found, 'claim', 'is', 'are')} contradicted by what is measured.\n"
    for cell in found:
        sentence = quoted.get(cell.sentence)
        yield f"- **{_upper(cell.column)}.**"
        if sentence is not None:
            yield f'  The paper: "{" ".join(sentence.quote.split())}" ({sentence.at}).'
        verb = "is" if cell.points_measured == 1 else "are"
        points = "One point is" if cell.points == 1 else f"Of {cell.points} points {cell.points_measured} {verb}"
        yield f"  {points} measured, {cell.contradicted} against it: {_plain(cell.remark)}."
        yield f"  Why: {_plain(_why(cell))}.\n" if cell.explained else "  Why is not known.\n"


def _seen(paper: str) -> Iterator[str]:
    """Yield what was seen that the paper does not say, and under which settings its numbers come out."""
    stated = observations(paper)
    cells = [cell for cell in of_sentences(stated, _evidence()) if cell.count]
    if not cells:
        return
    yield "## What we saw\n\nThe paper does not say these; they are judged as its claims are, and count nowhere.\n"
    experiments_of = {each.name: ", ".join(f"`{name}`" for name in each.experiments) for each in stated}
    for cell in cells:
        both = f", {format_number(cell.measured)} ({format_number(cell.published)} reported)"
        points = f", {cell.points_measured} of {cell.points} points" if cell.points > 1 else ""
        said = f": {_plain(cell.remark)}" if cell.kind == CLAIM and cell.remark else ""
        words = f"{cell.verdict.word}**{both if cell.kind != CLAIM else points}{said}"
        yield f"- {_upper(cell.column)}: **{words} ({experiments_of[cell.sentence]})."
    yield ""


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").rstrip(".")


def _open(cells: Sequence[Cell]) -> Iterator[str]:
    counts = Counter(cell.verdict for cell in cells)
    found = [
        f"- {count} {verdict.word}: {verdict.meaning}"
        for verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_INFORMATIVE, Verdict.NOT_COMPARABLE)
        if (count := counts[verdict])
    ]
    if found:
        yield "## What is open\n"
        yield "\n".join(found) + "\n"


def _read(written: dict[str, Any], found: dict[str, Experiment]) -> Iterator[str]:
    yield f"## How print is read here\n\n{written.get('readings', '')}\n\nThe heads of the configs say the rest:\n"
    for name in found:
        if lines := head(resources.config_path(name).read_text("utf-8")):
            yield f'??? note "`configs/{name}.yaml`"\n'
            yield _indented(code("\n".join(lines)))


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _not_run(paper: str, found: dict[str, Experiment]) -> Iterator[str]:
    rows = [row for name, each in found.items() for row in _missing(name, each)]
    yield "## What has not been run\n"
    if not rows:
        yield "Every run of its configs has a result.\n"
        return
    cells = [cell for each in _tables() if each.paper == paper for cell in each.cells if cell.kind in COUNTED]
    missing = [cell for cell in cells if cell.verdict == Verdict.NOT_RUN]
    yield f"{_counted(missing, 'reported value or claim', 'has', 'have')} no measured value so far. Missing are:\n"
    yield table(("config", "dataset", "runs without a result", "why", "download"), rows)


def _missing(name: str, experiment: Experiment) -> Iterator[tuple[object, ...]]:
    cards = {each.label: each for each in experiment.datasets}
    for each in _unrun(name):
        choice = cards.get(each.dataset)
        size = "" if choice is None else download(catalog.card(choice.name, _options(choice.options)))
        why = each.reason if each.status == RunStatus.NOT_RUN else f"{each.status}: {each.reason}".removesuffix(": ")
        why = f"`{why}`" if why else ""  # as the run said it
        yield f"`{name}`", f"{'part of ' * each.is_part}{each.dataset}", each.runs, why, size


def _unrun(name: str) -> Sequence[Missing]:
    """Return of what a config has no result."""
    return _abouts()[name]["missing"] if name in _abouts() else ()


def _options(options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != "positive"}


def _commands(paper: str, found: dict[str, Experiment]) -> Iterator[str]:
    lines = [f"mpu-bench reproduce --paper {paper} --profile ci       # a part of each, in minutes"]
    lines += [f"mpu-bench reproduce --paper {paper} --data-limit 5GB   # all; what has a result is kept"]
    for name in found:
        labels = dict.fromkeys(each.dataset for each in _unrun(name))
        lines += [f"mpu-bench run {name} --only dataset={','.join(labels)}"] if labels else []
    yield "## How to run it\n\nWith a network, on your machine; the third and later lines are what is missing here:\n"
    yield code("\n".join([*lines, "mpu-bench check"]), "console")
    yield from _by_hand(found.values())


def _by_hand(found: Iterable[Experiment]) -> Iterator[str]:
    names: dict[str, dict[str, None]] = {}
    for choice in (choice for experiment in found for choice in experiment.datasets):
        for file in catalog.card(choice.name, _options(choice.options)).remote_files:
            if file.by_hand and not file.urls:
                words = " ".join(file.by_hand.split()).rstrip(".")
                names.setdefault(f"{choice.name}: {words}", {})[file.name] = None
    if names:
        yield "Only available manually; put them into `files/` of the data directory (`mpu-bench info` names it):\n"
        yield "".join(
            f"- {words}. Files: {', '.join(f'`{file}`' for file in files)}.\n" for words, files in names.items()
        )
