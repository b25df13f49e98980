"""A table for people, with its writers in Markdown, HTML and LaTeX; that for the terminal is in display."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from markupsafe import Markup

from mpu_bench.files import csv_text
from mpu_bench.results import naming
from mpu_bench.texts import one_line, publishable
from mpu_bench.verdict.verdict import Verdict

Line = Sequence[Any]  #: cells, whose texts are words


class Best(str):
    """A cell that is the best of its dataset in its column, to be set in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class Measured:
    """What stands beside a reported value: the measured one, how it is judged, and a remark."""

    text: str
    verdict: Verdict | None = None  #: None of what is not judged, as the seconds that others are set against
    judged: str = ""  #: the verdict in words, of a ratio with both ratios
    remark: str = ""
    experiment: str = ""  #: named where it is not the table's own


class Reported(str):
    """A cell of a reported value or word, with what was measured; several where several runs answer it."""

    measured: tuple[Measured, ...]
    rows: int  #: how many rows it stands for; 0 where the one above does

    def __new__(cls, text: str = "", measured: tuple[Measured, ...] = (), rows: int = 1) -> Reported:
        """Return a cell."""
        cell = super().__new__(cls, text)
        cell.measured, cell.rows = measured, rows
        return cell


@dataclass(frozen=True)
class Table:
    """A table for people; a row may be shorter than the headings.

    Attributes
    ----------
    headings : sequence of str
    rows : sequence of sequence
        Cells are words, which a writer escapes; those for the terminal may have a style.
    sides : str
        How columns are aligned, a letter each, as in LaTeX: ``"llr"``.
    title, about, note : str
        What stands above it, below that, and below the table.
    faint : frozenset of int
        Which columns stand back, such as those of reported values.
    groups : sequence of (str, int)
        What stands above the headings, and over how many of them.
    name : str
        Of a published table.
    """

    headings: Line
    rows: Sequence[Line]
    sides: str
    title: str = ""
    faint: frozenset[int] = frozenset()
    groups: Sequence[tuple[str, int]] = ()
    name: str = ""
    about: str = ""
    note: str = ""


def markdown(table: Table) -> str:
    """Return a table in Markdown, in which all words are words."""
    return markdown_table(map(_markdown_cells, (spanned_headings(table), *table.rows)))


def spanned_headings(table: Table) -> list[str]:
    """Return the headings in one line, each with what spans it before."""
    above = [name for name, span in table.groups or [("", len(table.headings))] for _ in range(span)]
    return [f"{name}: {heading}" if name else heading for name, heading in zip(above, table.headings, strict=True)]


def markdown_table(lines: Iterable[Line]) -> str:
    """Return lines of cells, each of them Markdown, as a table."""
    headings, *rows = lines
    return "".join(f"| {' | '.join(line)} |\n" for line in (headings, ["---"] * len(headings), *rows))


def _markdown_cells(line: Line) -> list[str]:
    """Return cells whose words are words: no tag, no link, no emphasis and no edge of a cell."""
    escaped = [_MARKDOWN.sub(r"\\\g<0>", publishable(one_line(cell, _LONGEST_CELL)).translate(_TAGS)) for cell in line]
    return [f"**{text}**" if isinstance(cell, Best) else text for cell, text in zip(line, escaped, strict=True)]


def html(table: Table) -> str:
    """Return a table in HTML with its title as caption and its name as id; colours are those of the page around it."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=html_text)
    return environment.from_string(_HTML).render(table=table)


def html_text(value: object) -> object:
    """Return a value as HTML shows it, without secrets of addresses and the home folder; what is `Best` in bold."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = publishable(value, sys.maxsize)
    return Markup("<b>{}</b>").format(text) if isinstance(value, Best) else text


def csv(table: Table) -> str:
    """Return a table in CSV: its cells as they are."""
    return csv_text([dict(zip(spanned_headings(table), row, strict=True)) for row in table.rows])


def latex(table: Table) -> str:
    """Return a table in LaTeX, for the packages array, booktabs and longtable, without empty columns.

    What was measured has a line of its own, below that of the reported values. With a title, which is its caption, or a
    name, which is its label, the table floats.
    """
    lines = table.headings, *(line for row in table.rows for line in _latex_lines(row))
    columns = [
        (*column, side) for *column, side in zip(*lines, table.sides, strict=True) if any(column[1:]) or not table.rows
    ]
    *full, sides = zip(*columns, strict=True)
    widest = [max(map(len, column[1:-1]), default=0) for column in columns]
    body = [" & ".join(map(latex_text, line)) for line in full[1:]]
    rows = sum(1 + max(map(len, line), default=0) // _LONGEST_WORDS for line in full[1:])
    headings = _latex_groups(table.groups) + _latex_headings(full[0], widest, sides)
    note = f"% {table.note}\n" if table.note else ""
    named = rf"\caption{{{latex_text(table.title)}}}" if table.title else ""
    named += rf"\label{{{table.name}}}" if table.name else ""
    return note + _latex_table(headings, body, _wrapped(widest, sides), rows, named)


def _latex_lines(row: Line) -> Iterator[Line]:
    """Yield a row, and below it what was measured of its reported values, if anything was."""
    yield row
    below = [_Below(", ".join(_marked(value) for value in getattr(cell, "measured", ()) if value.text)) for cell in row]
    if any(below):
        yield below


class _Below(str):
    """The measured values of a cell, below its reported one."""

    __slots__ = ()


def _marked(measured: Measured) -> str:
    return f"{measured.text} {measured.verdict.mark if measured.verdict else ''}".strip()


def _latex_groups(groups: Sequence[tuple[str, int]]) -> str:
    """Return the line of headings that span several columns, each with a rule below; empty without any."""
    if not any(name for name, _ in groups):
        return ""
    spans = [rf"\multicolumn{{{span}}}{{c}}{{{latex_text(name)}}}" for name, span in groups[1:]]
    ends = list(accumulate(span for _, span in groups))
    rules = [rf"\cmidrule(lr){{{before + 1}-{end}}}" for before, end in pairwise(ends)]
    return " & ".join([*[""] * groups[0][1], *spans]) + rf" \\ {' '.join(rules)}" + "\n"


def _wrapped(widest: Sequence[int], sides: Sequence[str]) -> str:
    """Return how columns are aligned where those of many letters are paragraphs that share most of the page."""
    count = sum(width > _LONGEST_WORDS for width in widest)
    share = f"{min(0.28, 0.66 / max(count, 1)):.2g}"
    paragraph = rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}"
    return "".join(paragraph if width > _LONGEST_WORDS else side for width, side in zip(widest, sides, strict=True))


def _latex_table(headings: str, body: Sequence[str], columns: str, rows: int, named: str) -> str:
    """Return lines of LaTeX, without the breaks behind them, as a table; of more than a page as one that is broken."""
    lines = [r"\toprule", rf"{headings} \\", r"\midrule", *(rf"{line} \\" for line in body), r"\bottomrule"]
    name, around = "tabular", ([r"\begin{table}", r"\centering", named], [r"\end{table}"]) if named else ([], [])
    if rows > _LONGEST_TABLE:
        name, around = "longtable", ([], [])
        lines = [*([rf"{named} \\"] if named else []), *lines[:3], r"\endhead", *lines[3:]]
    begin, end = rf"\begin{{{name}}}{{{columns}}}", rf"\end{{{name}}}"
    return "\n".join([*around[0], begin, *lines, end, *around[1], ""])


def _latex_headings(headings: Line, widest: Sequence[int], sides: Iterable[str]) -> str:
    """Return headings in LaTeX, each in rows that widen no column whose cells have ``widest`` letters."""
    stacked = []
    for heading, width, side in zip(headings, widest, sides, strict=True):
        tied = heading.replace(" %", f"{_TIE}%")
        longest = max(width, *map(len, tied.split(" ")), 1)
        rows = textwrap.wrap(tied, longest, break_on_hyphens=False)
        words = r" \\ ".join(latex_text(row.replace(_TIE, " ")) for row in rows)
        stacked.append(rf"\shortstack[{side}]{{{words}}}" if len(rows) > 1 else words)
    return " & ".join(stacked)


#: what HTML, then what Markdown would take for more than a word; an underscore within a word is one
_TAGS = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_MARKDOWN = re.compile(r"[\\`*\[\]|]|(?<!\w)_|_(?!\w)")
_LONGEST_CELL = 1000  # bytes; CSV files have the whole
_TIE = "\0"  # stands for a blank at which no row ends
_LONGEST_TABLE = 45  # rows of text in LaTeX; more of them do not stand on a page
_HTML = """\
<table{% if table.name %} id="{{ table.name }}"{% endif %} style="border-collapse: collapse; margin: 0.5em 0; \
color: inherit; background: none">
{% if table.title %}
<caption style="text-align: left; font-weight: bold; color: inherit; white-space: nowrap">{{ table.title }}</caption>
{% endif %}
<thead>
{% if table.groups %}
<tr>
{% for name, span in table.groups %}
<th colspan="{{ span }}" style="text-align: center; padding: 0.2em 0.6em; color: inherit">{{ name }}</th>
{% endfor %}
</tr>
{% endif %}
<tr>
{% for heading in table.headings %}
<th style="text-align: {{ "right" if table.sides[loop.index0] == "r" else "left" }}; padding: 0.2em 0.6em; \
color: inherit; border-bottom: 1px solid currentColor">{{ heading }}</th>
{% endfor %}
</tr>
</thead>
<tbody>
{% for row in table.rows %}
<tr style="background: none">
{% for cell in row %}
<td style="text-align: {{ "right" if table.sides[loop.index0] == "r" else "left" }}; padding: 0.2em 0.6em; \
color: inherit{{ "; opacity: 0.75" if loop.index0 in table.faint }}">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
"""
_LONGEST_WORDS = 30  # letters of a column in LaTeX that stand beside each other

_POWER_OF_TEN = r" \\times 10^{\1\2}"
_EXPONENT = re.compile(r"e\+?(-?)0*(\d+)")
#: numbers of which the mean or the deviation has an exponent
_POWERS = re.compile(r"(?<!\S)(-?[\d.]+(?:e[+-]?\d+(?: ±[\d.]+(?:e[+-]?\d+)?)?| ±[\d.]+e[+-]?\d+))(?=[\s,]|$)")
_PLUS_MINUS = r"\pm "

#: in mathematics, what the default fonts of pdflatex lack: of our tables, and of names that users give
_MATHEMATICS = {
    "±": r"\pm", "✓": r"\surd", "≈": r"\approx", "≠": r"\neq", "✗": r"\times", "○": r"\circ", "·": r"\cdot",
    "×": r"\times", "−": "-", "≤": r"\leq", "≥": r"\geq", "µ": r"\mu", "°": r"^\circ", "′": "'", "∞": r"\infty",
    "→": r"\rightarrow", "√": r"\surd", "⁻": "^-",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\varepsilon", "ζ": r"\zeta", "η": r"\eta",
    "θ": r"\theta", "ι": r"\iota", "κ": r"\kappa", "λ": r"\lambda", "μ": r"\mu", "ν": r"\nu", "ξ": r"\xi",
    "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "υ": r"\upsilon", "φ": r"\varphi", "χ": r"\chi",
    "ψ": r"\psi", "ω": r"\omega", "ϵ": r"\epsilon", "Γ": r"\Gamma", "Δ": r"\Delta", "Θ": r"\Theta", "Λ": r"\Lambda",
    "Ξ": r"\Xi", "Π": r"\Pi", "Σ": r"\Sigma", "Φ": r"\Phi", "Ψ": r"\Psi", "Ω": r"\Omega",
    **{raised: f"^{digit}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip
_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {symbol: f"${text}$" for symbol, text in _MATHEMATICS.items()}
    | {
        "–": "--",
        naming.DISTURBED: r"\dag{}",
        "\\": r"\textbackslash{}",
        "^": r"\^{}",
        "~": r"\~{}",
    }
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}"}  # \\[ would be a skip
)


def latex_text(cell: str) -> str:
    """Return a cell whose words are words, in LaTeX; numbers with a power of ten are set as such."""
    pieces = _POWERS.split(publishable(one_line(cell, _LONGEST_CELL)))
    text = "".join(_power(piece) if index % 2 else piece.translate(_ESCAPES) for index, piece in enumerate(pieces))
    if isinstance(cell, _Below) and text:
        return rf"\emph{{{text}}}"
    return rf"{{\boldmath\textbf{{{text}}}}}" if isinstance(cell, Best) else text


def _power(number: str) -> str:
    return f"${_EXPONENT.sub(_POWER_OF_TEN, number).replace('±', _PLUS_MINUS)}$"
