"""docs/papers/*.svg: the papers' main figures as they came out here, small enough to lie in git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mpu_bench.report import figures

_ATTRIBUTES = re.compile(r'(?<= )(?:d|x|y|transform)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{2,}")
_STYLE = re.compile(r'style="([^"]*)"')
_NOTHING = re.compile(
    r'<metadata>.*?</metadata>|<!--.*?-->| id="[a-z]+(?:\.[a-z]+)?_\d+"| transform="rotate\(-0 [^"]*"', re.DOTALL
)
_GROUP = re.compile(r"<g>((?:(?!</?g[> ]).)*)</g>")  # without groups in it


def picture(results: Path, name: str) -> str:
    """Return a figure of a results folder as SVG, at a third of the size that matplotlib writes."""
    (figure,) = figures.figures_of(results, name)
    return compact(figures.drawn(figure, ["svg"])["svg"].decode())


def compact(svg: str) -> str:
    """Return an SVG with tenths of a point, a class for each style, and no names that nothing refers to."""
    svg = re.sub(r">\s+<", "><", _NOTHING.sub("", _ATTRIBUTES.sub(_shortened, svg)))
    while (flat := _GROUP.sub(r"\1", svg)) != svg:
        svg = flat
    classes: dict[str, str] = {}
    svg = _STYLE.sub(lambda found: f'class="{classes.setdefault(found[1], f"s{len(classes)}")}"', svg)
    return re.sub(r"(<svg [^>]*>)", lambda found: f"{found[1]}{_rules(classes)}", svg, count=1) + "\n"


def _shortened(attribute: re.Match[str]) -> str:
    return " ".join(_LONG.sub(lambda number: f"{float(number[0]):.1f}", attribute[0]).split())


def _rules(classes: Mapping[str, str]) -> str:
    return f"<style>{''.join(f'.{name}{{{style}}}' for style, name in classes.items())}</style>"
