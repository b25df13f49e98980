"""docs/comparisons.md: configs of no paper that set solvers side by side, what they came to, and their figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import accept
import stored
from documents.markdown import code, head
from documents.pictures import picture
from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.report import export
from mpu_bench.results.store import ABOUT

HEAD = """# Beyond the papers

Configs that reproduce no paper and set solvers of several side by side. No reported values stand beside their numbers,
so there are no verdicts. `mpu-bench check` holds later results to these. Each solver has
[a page](solvers/index.md).
"""


@cache
def experiments() -> dict[str, Experiment]:
    """Return the configs of no paper that say which figures show them, by name; none of those that explain a paper."""
    paths = resources.bundled("configs").glob("*.yaml")
    found = {path.stem: read_config(path, with_plugins=False) for path in sorted(paths)}
    return {name: each for name, each in found.items() if each.paper is None and each.figures}


def pages() -> dict[str, str]:
    """Return the page, and the figures on it."""
    made = {"comparisons.md": "\n".join([HEAD, *(part for name in experiments() for part in _section(name))])}
    return made | {_file(name): picture(_folder(name), _figure(name)) for name in experiments() if _is_kept(name)}


def _folder(name: str) -> Path:
    return accept.BASELINE / experiments()[name].name


def _is_kept(name: str) -> bool:
    return (_folder(name) / ABOUT).is_file()


def _figure(name: str) -> str:
    return experiments()[name].figures[0].draw


def _file(name: str) -> str:
    return f"comparisons/{name}-{_figure(name)}.svg"


def _section(name: str) -> Iterator[str]:
    experiment = experiments()[name]
    yield f"## {name}\n\n{experiment.description}.\n"
    if lines := head(Path(experiment.source).read_text("utf-8")):
        yield f"{' '.join(lines)}\n"
    if not _is_kept(name):
        yield f"Not run in full so far; to run it:\n\n{code(f'mpu-bench run {name}', 'console')}"
        return
    about = stored.about(_folder(name))
    yield f"![{experiment.description}]({_file(name)})\n"
    yield export.export(_folder(name), "md", None) or ""
    yield f"{about['runs']} of {about['planned']} runs, {about['date']}. To draw the figure, and to run it:\n"
    yield code(f"mpu-bench plot results/baseline/{experiment.name}\nmpu-bench run {name}", "console")
