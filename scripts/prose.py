"""Hold README.md, docs/, the site and every --help text to plain words and short sentences.

    python scripts/prose.py

Prints FILE:LINE for every phrase to avoid and every page whose sentences are too long, and exits with 1 if
there are any. Code and quotations do not count. Of the papers' pages and the templates of the site only phrases do.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from documents import commands

ROOT = Path(__file__).parents[1]
MEDIAN, NINTH_DECILE = 15, 25  #: words of a sentence, at most
WORDS = 9_000  #: of the pages of docs/ that are written by hand, at most

#: what is not to be said -> what is
PHRASES = {
    r"\bpeers?\b": "external solver, baseline",
    r"in words\b": "name what: rejected, reports",
    r"\b(is|are|be|was|were) told\b": "prints, warns, reports",
    r"\bmade (again|anew)\b": "re-run",
    r"\bthe print\b|\bwhat print\b|\bprint (says|leaves)\b|\bas it is printed\b": "reported value",
    r"\bwhat it is that\b": "name it",
    r"\b(data|dataset) home\b": "data directory",
    r"\bcard by hand\b|\bhad by hand\b": "dataset card, manually",
    r"\brows? held out\b": "validation set, test set",
    r"\bno choice has seen\b": "test set",
    r"\bshares? of seconds\b": "time budget",
    r"\bkept results\b|\bbaseline keeps\b|\bresults (that )?are kept\b": "baseline, stored results",
    r"\bholds so far\b|\bsame order\b": "supported so far, within 5x",
    r"\brefuted\b": "contradicted",
    r"\bundecided\b|\buninformative\b": "inconclusive, not informative",
    r"\btrials?\b": "tuning run",
    r"\bpresented\b": "examples seen",
    r"\bnot judged\b|\bnever judged\b": "excluded, timing not comparable",
    r"\b(linear|kernel|three|binary) machines\b": "solvers, models, subproblems",
    r"\blearners?\b": "classifier, solver",
    r"\bcomes? to the same\b|\bcame to\b": "gives, reaches, result",
    r"\bwhatever\b": "any",
    r"\bby hand\b": "manually, yourself",
    r"\bof (your|our|its|their|one's) own\b": "your own ..., user ...",
}  # fmt: skip


def pages() -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of README.md and the pages of docs/ that are written by hand."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def generated() -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the papers' pages, and of the site's templates without their tags."""
    for path in sorted((ROOT / "docs" / "papers").glob("*.md")):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src/mpu_bench/report/templates").glob("*.html")):
        text = re.sub(r"{%.*?%}|{{.*?}}|<[^>]*>", _blank, path.read_text(encoding="utf-8"), flags=re.DOTALL)
        yield path.relative_to(ROOT).as_posix(), text


def helps() -> Iterator[tuple[str, str]]:
    """Yield the verbs of the command line and what their --help says."""
    for words, function in commands.verbs().items():
        lines = [
            (function.__doc__ or "").partition("\f")[0],
            *(f"{each.names[0]}: {each.help}" for each in commands.given(function)),
        ]
        yield f"mpu-bench {words} --help", "\n".join(lines)


def plain(text: str) -> str:
    """Return Markdown with the same lines and without code, comments, quotations and addresses of links."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "X", text)
    text = re.sub(r"^>.*$|^:::.*$|^    options:.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"\"[^\"]{1,300}\"", "X", text))


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, but for headings and tables; an item of a list begins a new one."""
    text = re.sub(r"^(#|\||!\[).*$", "", plain(text), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n *(?:[-*]|\d+\.) ", "\n" + text):
        for sentence in re.split(r"(?<=[.!?:])[*)]*\s+", " ".join(paragraph.split())):
            if len(sentence.split()) > 1:
                yield sentence


def faults() -> Iterator[str]:
    """Yield a line for everything to mend."""
    for name, text in (*pages(), *generated(), *helps()):
        for number, line in enumerate(plain(text).splitlines(), 1):
            for pattern, instead in PHRASES.items():
                for found in re.finditer(pattern, line, re.IGNORECASE):
                    yield f"{name}:{number}: '{found[0]}'; write: {instead}"
    for name, text in pages():
        lengths = [len(sentence.split()) for sentence in sentences(text)]
        if len(lengths) > 1:
            yield from _too_long(name, lengths)
    written = sum(len(plain(text).split()) for name, text in pages() if name.startswith("docs/"))
    if written > WORDS:
        yield f"docs/:1: {written:,} words are written by hand outside of code; at most {WORDS:,}"


def _too_long(name: str, lengths: list[int]) -> Iterator[str]:
    """Yield a line if the sentences of a page are too long."""
    median, decile = statistics.median(lengths), statistics.quantiles(lengths, n=10, method="inclusive")[-1]
    if median > MEDIAN or decile > NINTH_DECILE:
        yield (
            f"{name}:1: half of its sentences have {median:g} words or more, a tenth {decile:.0f}; "
            f"at most {MEDIAN} and {NINTH_DECILE}"
        )


def main() -> int:
    found = list(faults())
    print(*found, sep="\n", end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
