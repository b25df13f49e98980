"""Results as one piece of HTML, for a notebook: the tables of the terminal and a figure, without any script."""

from __future__ import annotations

import sys

import jinja2
from markupsafe import Markup

from mpu_bench.display import table
from mpu_bench.errors import StoreError
from mpu_bench.report import figures
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.summary import published_tables
from mpu_bench.texts import publishable

#: colours are those of the page around it, light or dark; the figure is drawn on white, as in print
_FRAGMENT = """\
<div class="mpu-bench-results" style="font-family: sans-serif">
{% for block in blocks %}
<table style="border-collapse: collapse; margin: 0.5em 0; color: inherit; background: none">
<caption style="text-align: left; font-weight: bold; color: inherit; white-space: nowrap">{{ block.title }}</caption>
<thead><tr>
{% for heading in block.headings %}
<th style="text-align: {{ "right" if loop.index0 else "left" }}; padding: 0.2em 0.6em; color: inherit; \
border-bottom: 1px solid currentColor">{{ heading }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in block.rows %}
<tr style="background: none">
{% for cell in row %}
<td style="text-align: {{ "right" if loop.index0 else "left" }}; padding: 0.2em 0.6em; color: inherit\
{{ "; opacity: 0.75" if loop.index0 in block.faint }}">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
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
    """Return the tables of a results folder, what their reader must know, and its first figure as SVG."""
    records, published = results.records(earlier=True), published_tables(results)
    try:
        figure = figures.figures_of(results.folder)[0]
        svg, caption = _svg(figures.drawn(figure, ["svg"])["svg"].decode()), figure.caption
    except StoreError:  # no data for one
        svg, caption = Markup(), ""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, finalize=_shown)
    return environment.from_string(_FRAGMENT).render(
        blocks=table.blocks(records, published),
        remarks=table.remarks(records, results.environments(), published),
        figure=svg,
        caption=caption,
    )


def _svg(document: str) -> Markup:
    """Return a document of matplotlib's, whose texts it has escaped, without what stands before the picture."""
    return Markup(document[document.index("<svg") :].strip())


def _shown(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return publishable(value, sys.maxsize)
    return value
