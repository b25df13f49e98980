"""What a selection comes to, for people: one table, three sentences, and a page of its own with its picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup
from rich.filesize import decimal

from mpu_bench.models.evaluation import METRICS
from mpu_bench.report.tables import Table
from mpu_bench.selection.outcome import SIGNIFICANT, Outcome, Row, or_infinite, validated
from mpu_bench.texts import counted

if TYPE_CHECKING:
    from mpu_bench.models.export.footprint import Footprint
    from mpu_bench.selection.target import Target

_LONGEST_REASON = 60


def table(outcome: Outcome) -> Table:
    """Return the candidates, the best on the test set first; while that is not known, on the validation set."""
    words = METRICS[outcome.metric]
    headings = ["classifier", *_measured(outcome, f"{words}, %", "error, %"), f"validation {words}, %", "rows",
                "training s", "prediction", "support vectors", "size",
                *([] if outcome.target is None else ["flash", "RAM", "instructions", "form"]), "settings",
                ""]  # fmt: skip
    rows = [_cells(outcome, row) for row in best_first(outcome)]
    sides = "".join("l" if heading in ("classifier", "settings", "") else "r" for heading in headings)
    return Table(headings, rows, sides)


def best_first(outcome: Outcome) -> list[Row]:
    """Return the candidates in the order of the table."""
    return sorted(outcome.rows, key=lambda row: (-outcome.score(row), or_infinite(row.choosing_error)))


def _measured(outcome: Outcome, score: str, error: str) -> list[str]:
    """Return both, or the error alone where accuracy chooses."""
    return [error] if outcome.metric == "accuracy" else [score, error]


def _cells(outcome: Outcome, row: Row) -> list[str]:
    reason = row.reason if row.is_own else "; ".join(filter(None, ["reference", row.reason]))
    reason = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}..."
    taken = row.footprint
    on_device = ["", "", "", ""] if taken is None else [
        *(_about(number, taken) for number in (taken.flash, taken.ram, taken.instructions)), row.form
    ]  # fmt: skip
    return [
        row.name,
        *_measured(outcome, _score(outcome, row), _error(row)),
        "" if row.choosing_error is None else _validated(row),
        f"{row.rows:,}" if row.rows else "",
        "" if row.seconds is None else f"{row.seconds:.3g}",
        "" if row.seconds_per_prediction is None else f"{1e6 * row.seconds_per_prediction:.3g} µs",
        f"{row.vectors:,}" if row.vectors else "",
        "" if row.size is None else decimal(row.size),
        *(on_device if outcome.target is not None else []),
        row.settings,
        reason,
    ]


def _about(number: int, footprint: Footprint) -> str:
    return f"{'~' if footprint.estimated else ''}{number:,}"


def _score(outcome: Outcome, row: Row) -> str:
    score = outcome.score(row)
    spread = "?" if math.isnan(row.spread) else f"{100 * row.spread:.2f}"  # of too few test rows
    return "" if math.isinf(score) else f"{100 * score:.2f} ± {spread}"


def _error(row: Row) -> str:
    return "" if row.error is None else f"{100 * row.error:.2f} ± {100 * (row.standard_error or 0.0):.2f}"


def scored(outcome: Outcome, row: Row) -> str:
    """Return what a candidate comes to on the test set, in words."""
    other = "" if outcome.metric == "accuracy" else f"{METRICS[outcome.metric]} {_score(outcome, row)} %, "
    return f"{other}error {_error(row)} %"


def sentences(outcome: Outcome, name: str) -> list[str]:
    """Return what is chosen, how sure that is and what it costs; then what else its reader must know."""
    chosen = outcome.chosen
    if chosen is None or chosen.size is None:
        return _nothing_chosen(outcome, name)
    lines = [_what(outcome, chosen, name), _how_sure(outcome, chosen), _cost(outcome, chosen)]
    if chosen.rows != outcome.all_rows:
        lines.append(f"{chosen.name} was not trained on all rows: {outcome.note or 'you ended it before'}")
    if not chosen.is_own:
        lines.append(f"{chosen.name} is scikit-learn's: train it there with these values; no model is saved here")
    return lines + [
        f"{row.name} is better on the test set, beyond chance ({difference.test} with Bonferroni's correction, "
        f"{_p(difference.p)})"
        for row, difference in outcome.significantly_better()
    ]


def _what(outcome: Outcome, chosen: Row, name: str) -> str:
    words, best, ahead = METRICS[outcome.metric], outcome.best_choosable, outcome.best_validated
    is_whole = chosen.rows == outcome.all_rows
    rows = f"all {chosen.rows:,} rows" if is_whole else f"{chosen.rows:,} of {outcome.all_rows:,} rows"
    why = f"it has the best validation {words}"
    if best is not None and best is not chosen:
        why = (
            f"it is the smallest within one standard error of the best validation {words}, in pairs of "
            f"rows ({best.name}, {_validated(best)} %)"
        )
    if best is not None and ahead is not None and or_infinite(ahead.choosing_error) < or_infinite(best.choosing_error):
        reason = ahead.reason or "not tested"
        why += f", of those that fit and were tested ({ahead.name} has {_validated(ahead)} %: {reason})"
    return (
        f"{name}: take {chosen.name} ({chosen.settings}): {scored(outcome, chosen)} "
        f"on {counted(chosen.tested, 'test row')}, trained on {rows} in {chosen.seconds:.3g} s; {why}"
    )


def _validated(row: Row) -> str:
    return f"{100 * (1 - or_infinite(row.choosing_error)):.2f}"


def _how_sure(outcome: Outcome, chosen: Row) -> str:
    compared = [_compared(outcome, chosen, outcome.constant, "a constant")]
    if (reference := outcome.reference) is not None and reference is not chosen:
        compared.append(_compared(outcome, chosen, reference, f"{reference.name}, the best reference"))
    return f"How sure: on the test rows it is {', and '.join(filter(None, compared))}"


def _compared(outcome: Outcome, chosen: Row, other: Row | None, named: str) -> str:
    """Return in words by how much the choice is better than another on the test set, and how sure that is."""
    if other is None:
        constant = f"where always the same answer has {100 * chosen.constant:.2f} %"
        return f"{METRICS[outcome.metric]} {_score(outcome, chosen)} %, {constant}"
    gain = outcome.difference(chosen, other)
    points = f"{abs(100 * gain.by):.2f}"
    how = "as good as" if points == "0.00" else f"{points} points {'better' if gain.by > 0 else 'worse'} than"
    words = f"{how} {named}"
    if math.isnan(gain.p):
        return f"{words} (too few test rows of a class to know whether by chance)"
    chance = "" if gain.p < SIGNIFICANT else ", which may be chance"
    return f"{words} (95% from {100 * gain.low:.2f} to {100 * gain.high:.2f}, {gain.test}, {_p(gain.p)}{chance})"


def _p(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def _cost(outcome: Outcome, chosen: Row) -> str:
    assert chosen.size is not None
    sentence = f"What it costs: {decimal(chosen.size)}"
    if chosen.seconds_per_prediction is not None:
        sentence += f" and {1e6 * chosen.seconds_per_prediction:.3g} µs a prediction on this computer"
    reference = outcome.reference
    if reference is not None and reference is not chosen and reference.size is not None:
        sentence += f", where {reference.name} takes {decimal(reference.size)}"
    if outcome.target is not None and chosen.footprint is not None:
        sentence += f"; {_on_target(chosen.footprint, chosen, outcome.target)}"
    front = outcome.front_of([row for row in outcome.models if row.is_own])
    smaller = [row for row in front if row.size and 2 * row.size < chosen.size]
    for model in {smaller[-1].name: smaller[-1], smaller[0].name: smaller[0]}.values() if smaller else ():
        sentence += (
            f"; {model.name} is {chosen.size / (model.size or 1):,.0f} times smaller ({decimal(model.size or 0)}) with "
            f"{scored(outcome, model)}"
        )
    return sentence


def _on_target(costs: Footprint, chosen: Row, target: Target) -> str:
    """Return what the choice takes of its device, and how that is known."""
    known = (
        f"all of this is an estimate from a table of measured models ({costs.estimated})"
        if costs.estimated
        else f"compiled, and run in qemu: {costs.rows - costs.differ} of {costs.rows} labels agree"
    )
    return (
        f"it fits {target.words}: {costs.flash:,} and {costs.ram:,} bytes, {costs.instructions:,} instructions a "
        f"prediction in {chosen.form}, {costs.duration(target.device)}; {known}"
    )


def _nothing_chosen(outcome: Outcome, name: str) -> list[str]:
    message = f"{name}: nothing was chosen, and no model is saved:"
    known = validated(outcome.rows, outcome.with_references)
    if (refused := outcome.refused) is not None:
        words = METRICS[outcome.metric]
        others = ", ".join(f"--metric {metric}" for metric in METRICS if metric != outcome.metric)
        best = (
            f"{message} the best, {refused.name}, is not better than a constant beyond chance: {words} "
            f"{_score(outcome, refused)} % on {refused.tested:,} test rows, where always the same answer has "
            f"{100 * refused.constant:.2f} %"
        )
        advice = (
            "the columns may not tell the classes apart: give more rows or other columns, check which column is the "
            f"label (--label), give more --seconds, or choose by another metric ({others})"
        )
        return [best, advice]
    if not known:
        reasons = [
            f"{row.name}: {row.reason}"
            for row in outcome.rows
            if row.reason and (row.is_own or outcome.with_references)
        ]
        message += f" no classifier was trained ({(reasons or ['there was no time'])[0]})"
        return [f"{message}; give it more --seconds, or change what was the reason"]
    if any(row.size is not None for row in known):
        target, taken = outcome.target, [row.footprint for row in known if row.footprint is not None]
        if target is None or not all(map(target.misfit, taken)):
            return [f"{message} no model of this project is so small; give a larger --memory"]
        return [_too_large(outcome, target, message)]
    ahead = min(known, key=lambda row: or_infinite(row.choosing_error))
    score = f"{METRICS[outcome.metric]} {_validated(ahead)} %"
    return [f"{message} the test set was not reached; so far {ahead.name} is the best on the validation set, {score}"]


def _too_large(outcome: Outcome, target: Target, message: str) -> str:
    message = f"{message} none fits {target.words}"
    known = [(row.footprint.flash, row.name, row.footprint) for row in outcome.rows if row.footprint]
    if known:
        _, name, footprint = min(known, key=lambda entry: entry[:2])
        takes = "takes, by an estimate," if footprint.estimated else "takes"
        message += f": the smallest, {name}, {takes} {footprint.flash:,} bytes of flash and {footprint.ram:,} of RAM"
    return f"{message}; give a smaller --budget or fewer columns, or a larger device (--flash, --ram)"


def page(outcome: Outcome, name: str, lines: Sequence[str], picture: bytes, files: Sequence[str]) -> str:
    """Return a page that needs no other file: the sentences, the picture and the table.

    Parameters
    ----------
    outcome : Outcome
    name : str
        Of the dataset.
    lines : sequence of str
        What `sentences` returns.
    picture : bytes
        As SVG; empty where there is none.
    files : sequence of str
        What else is in the folder, with a word on each.
    """
    from mpu_bench import __version__
    from mpu_bench.report.page import TEMPLATES, environment

    svg = picture.decode()
    shown = {
        "name": name,
        "told": lines,
        "picture": Markup(svg[svg.find("<svg") :] if svg else ""),
        "table": table(outcome),
        "chosen": [row is outcome.chosen for row in best_first(outcome)],
        "files": files,
        "may_choose_references": outcome.with_references,
        "css": Markup((TEMPLATES / "page.css").read_text("utf-8")),
        "version": __version__,
    }
    return environment().get_template("choice.html").render(shown)
