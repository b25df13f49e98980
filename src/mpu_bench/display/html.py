"""Results as one piece of HTML, for a notebook: the tables of the terminal and a figure, without any script."""

from __future__ import annotations

import jinja2
from markupsafe import Markup

from mpu_bench.display import table
from mpu_bench.errors import StoreError
from mpu_bench.report import figures, tables
from mpu_bench.results.folder import ResultsFolder
from mpu_bench.results.summary import published_tables

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
    """Return the tables of a results folder, what their reader must know, and its first figure as SVG."""
    records, published = results.records(earlier=True), published_tables(results)
    try:
        figure = figures.figures_of(results.folder)[0]
        drawn, caption = figures.drawn(figure, ["svg"])["svg"].decode(), figure.caption
    except StoreError:  # no data for one
        drawn, caption = "", ""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, finalize=tables.html_text)
    return environment.from_string(_FRAGMENT).render(
        blocks=[Markup(tables.html(block)) for block in table.blocks(records, published)],
        remarks=table.remarks(records, results.environments(), published),
        figure=Markup(drawn[drawn.find("<svg") :].strip()),  # matplotlib has escaped its texts
        caption=caption,
    )
