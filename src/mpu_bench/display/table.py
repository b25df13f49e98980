"""The table of an experiment, in a terminal or a notebook: a block per dataset, means ± deviations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from mpu_bench.display.terminal import Drawn, Terminal, reason
from mpu_bench.errors import StoreError
from mpu_bench.quantities import FINISHED, Record, RunStatus, format_number
from mpu_bench.report import tables
from mpu_bench.report.tables import Table
from mpu_bench.results import machines, naming
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.means import Summary, by_dataset, grouped
from mpu_bench.results.naming import Shown
from mpu_bench.results.summary import disturbed_remark, published_tables, summarize
from mpu_bench.texts import command, counted


def print_results(results: ResultsFolder, console: Terminal, chosen: Collection[int] | None = None) -> None:
    """Print the table of a results folder, and below it what its reader must know.

    Parameters
    ----------
    results : ResultsFolder
    console : Terminal
    chosen : collection of int or None
        The indices in the plan of the runs to print; the others are counted in one line. None: everything.
    """
    every = results.records(earlier=True)
    records = every if chosen is None else [record for index, record in enumerate(every) if index in chosen]
    tables = published_tables(results)
    print_table(records, tables, console)
    for line in remarks(records, results.environments(), tables):
        console.tell(line)
    rest = 0 if chosen is None else sum(not record.trial for index, record in enumerate(every) if index not in chosen)
    if rest:
        console.tell(f"other runs of this experiment: {rest}; {command('show', results.folder)} prints all")


def print_table(records: Sequence[Record], published: Sequence[str], console: Terminal) -> None:
    """Print a block per dataset, leaving out columns that the screen has no room for."""
    rows = summarize(records, published)
    varying = naming.varying(rows)
    left_out: set[str] = set()
    for block in by_dataset(rows).values():
        columns = naming.in_terminal(block)
        table = Drawn(_block(block, columns, varying))
        while any(column.quantity.rank for column in columns) and table.width > console.width:
            last = max(columns, key=lambda column: column.quantity.rank)
            left_out.add(last.heading)
            columns.remove(last)
            table = Drawn(_block(block, columns, varying))
        console.print(table)
    if left_out:
        names = "; ".join(sorted(left_out))
        console.tell(f"columns left out for lack of room: {names} (see table.csv)", "dim")


def _block(rows: Sequence[Summary], columns: Sequence[Shown], varying: Mapping[str, set[str]]) -> Table:
    several = any(row.planned > 1 or not row.count for row in rows)
    cells = [["solver", *(naming.solver_text(row, varying) for row in rows)]]
    cells += [["runs", *map(_runs_text, rows)]] if several else []
    published = set()
    for column in columns:
        cells.append([column.heading, *(_cell(row, column) for row in rows)])
        if column.is_published(rows):
            published.add(len(cells))
            cells.append(["reported", *(format_number(column.published(row)) if row.count else "" for row in rows)])
    headings, *lines = zip(*cells, strict=True)
    sides = "l" + "r" * (len(headings) - 1)
    return Table(headings, lines, sides, title=f"\n{_title(rows[0])}", faint=frozenset(published))


def _runs_text(row: Summary) -> str:
    if not row.count:
        return row.statuses
    return str(row.count) if row.count == row.planned else f"{row.count} of {row.planned}"


def _title(row: Summary) -> str:
    if row.n is None:
        return row.dataset
    test = f", {row.n_test} test row{'s' * (row.n_test > 1)}" if row.n_test else ""
    return f"{row.dataset}: {row.n} x {row.d}{test}"


def _cell(row: Summary, column: Shown) -> str:
    if not row.count or (column.quantity.is_none_at_zero and column.mean(row) == 0):
        return ""
    return column.text(row) + (column.spread(row) if column.quantity.has_spread else "")


def remarks(
    records: Sequence[Record], environments: Sequence[Mapping[str, Any]], published: Sequence[str]
) -> list[str]:
    """Return remarks on the table: what did not finish and why, and whether seconds are comparable."""
    earlier = [record for record in records if record.earlier]
    records = [record for record in records if not record.earlier]
    failed = [record for record in records if record.status not in (*FINISHED, RunStatus.NOT_RUN)]
    varied = naming.varying(records)
    lines = [
        f"{run.dataset} {naming.run_text(run, varied)} seed={run.seed}: {reason(naming.without_result(run))}"
        for run in failed
    ]
    done = [record for record in records if record.status == RunStatus.DONE and record.reason]
    lines += dict.fromkeys(f"{run.dataset} {naming.run_text(run, varied)}: {reason(run.reason)}" for run in done)
    lines += dict.fromkeys(map(_tuning_remark, (record for record in records if record.tuned)))
    if missing := sum(record.status == RunStatus.NOT_RUN for record in records):
        lines.append(f"{missing} of {counted(len(records), 'run')} {'has' if missing == 1 else 'have'} no result yet")
    lines += machines.remarks(records, environments)
    if remark := disturbed_remark(every := [*records, *earlier]):
        by_the_machine = any(record.disturbed and record.kernel_matrix_seconds is None for record in every)
        hint = "; re-run them with --force when the machine is quiet" if by_the_machine else ""
        lines.append(remark + hint)
    if published and any(record.is_finished and record.as_published != 0 for record in records):
        lines.append(f"reported: the values of {', '.join(published)}; their seconds are from the paper's machine")
    changed = (record for record in every if record.overridden and not record.trial)
    lines += [
        f"changed from the config: {changes} (for {', '.join(dict.fromkeys(run.solver for run in runs))})"
        for changes, runs in grouped(changed, lambda record: record.overridden).items()
    ]
    if earlier:
        lines.append(
            f"earlier run: {counted(len(earlier), 'run')} of an earlier plan of this folder, in no other row and in no "
            "verdict, until mpu-bench clean deletes the folder"
        )
    return lines


def _tuning_remark(record: Record) -> str:
    chosen = f"chosen: the best {record.tuned}"
    if record.tuned_on_test:
        return f"{chosen}: CHOSEN ON THE TEST SET, so these errors are too low"
    return f"{chosen}; tuning took the seconds in column tune_seconds of table.csv, which are not included here"


#: colours are those of the page around it, light or dark; the figure is drawn on white, as in print
_FRAGMENT = """\
<div class="mpu-bench-results" style="font-family: sans-serif">
{% for block in blocks %}
{{ block }}
{% endfor %}
{% for line in remarks %}
<p style="margin: 0.2em 0; color: inherit">{{ line }}</p>
{% endfor %}
{% if figure %}
<div style="display: inline-block; max-width: 100%; background: #ffffff; padding: 0.5em" role="img" \
aria-label="{{ caption }}">{{ figure }}</div>
{% endif %}
</div>
"""


def fragment(results: ResultsFolder) -> str:
    """Return the tables of a results folder, what their reader must know, and its first figure, as HTML."""
    import jinja2

    from mpu_bench.report import figures

    records, published = results.records(earlier=True), published_tables(results)
    rows = summarize(records, published)
    varying = naming.varying(rows)
    blocks = [_block(block, naming.in_terminal(block), varying) for block in by_dataset(rows).values()]
    try:
        figure = figures.figures_of(results.folder)[0]
        svg, caption = figures.drawn(figure, ["svg"])["svg"].decode(), figure.caption
    except StoreError:  # no data for one
        svg, caption = "", ""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, finalize=tables.html_text)
    return environment.from_string(_FRAGMENT).render(
        blocks=[Markup(tables.html(block)) for block in blocks],
        remarks=remarks(records, results.environments(), published),
        figure=Markup(svg[svg.find("<svg") :].strip()),  # matplotlib has escaped its texts
        caption=caption,
    )
