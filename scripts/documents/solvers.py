"""docs/solvers/*.md: a page for each solver, from its docstrings, its parameters and solvers.yaml.

The problem, the algorithm with the numbers of its equations, what is counted and where it deviates are the head of the
solver's file; parameters are those of its class. What it costs and when to choose it stands in solvers.yaml.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import yaml

from documents.markdown import code, of_docstring, table
from documents.papers import experiments
from mpu_bench import estimators, published, solvers
from mpu_bench.config.schema import PAPERS
from mpu_bench.core.solver import KINDS_OF_KERNELS, Solver
from mpu_bench.solvers import meanings

INDEX = """# The solvers

Every solver of the five papers, and external solvers to compare with: programs of others, run whole. Each page has the
problem it solves, the algorithm in words with the numbers of the paper's equations, its parameters, what it counts,
what it costs, and when to choose it. `mpu-bench list solvers NAME` shows the parameters in a terminal;
`mpu-bench try FILE` finds out which one [suits your data](../try.md).

The external solvers `onedal-svc` and `snapml-svm` need a package more: `pip install '.[peers]'`. Without it
their runs are rows `unavailable`, and `make bench` skips them.
"""
WORDS = """
In the costs n is the number of training examples, d that of features, d' the features of an example that are not zero,
B the budget, and |S| how many vectors are stored; K(x, x') is the kernel.
"""
FAMILIES = {
    "mpu": "Perceptrons with margin",
    "linear": "Linear SVMs",
    "online": "Online, with and without a budget",
    "batch": "Kernel SVMs",
    "meb": "Minimal enclosing balls",
    "external": "External solvers",
    "optimum": "The optimum",
}


def pages() -> dict[str, str]:
    """Return the pages, and the one before them."""
    written = yaml.safe_load((Path(__file__).parent / "solvers.yaml").read_text("utf-8"))
    made = {f"solvers/{file_of(name)}": _page(name, written[name]) for name in solvers.OWN}
    return {"solvers/index.md": _index(written), **made}


def family(name: str) -> str:
    """Return the folder that a solver's file is in."""
    return solvers.SOLVERS[name].removeprefix("mpu_bench.solvers.").partition(":")[0].partition(".")[0]


def file_of(solver: str) -> str:
    """Return the name of a solver's page."""
    return f"{solver.replace('++', '-plus-plus')}.md"


def _index(written: dict[str, dict[str, str]]) -> str:
    parts = [INDEX]
    for folder, title in FAMILIES.items():
        names = [name for name in solvers.OWN if family(name) == folder]
        rows = [(f"[{name}]({file_of(name)})", _in_short(name), written[name]["choose"]) for name in names]
        parts += [f"## {title}\n", table(("solver", "what it is", "when to choose it"), rows)]
    return "\n".join([*parts, WORDS])


def _in_short(name: str) -> str:
    return f"{meanings.summary(solvers.load(name)).partition(';')[0].rstrip('.')}."


def _page(name: str, written: dict[str, str]) -> str:
    solver = solvers.load(name)
    heads, bases = _heads(solver)
    own, counted, deviations = _parted(heads[0])
    parts = [f"# {name}\n", _summary(solver), _facts(name, solver), "## Problem and algorithm\n"]
    parts += [of_docstring(own)]
    if "problem" in written:
        parts += [code(written["problem"])]
    for head in heads[1:]:
        more, more_counted, more_deviations = _parted(head)
        parts += [of_docstring(more)]
        counted, deviations = counted or more_counted, "\n\n".join(filter(None, [deviations, more_deviations]))
    parts += [f"What it shares with [{each}]({file_of(each)}) is said there.\n" for each in bases]
    parts += ["## Deviations from print\n", of_docstring(deviations)] if deviations else []
    parts += _parameters(solver)
    counts = meanings.counted(solver) or counted
    parts += ["## What is counted\n", of_docstring(_upper(counts))] if counts else []
    parts += ["## What it costs\n", f"{written['complexity']}\n", "## When to choose it\n", f"{written['choose']}\n"]
    return "\n".join([*parts, *_cited(solver)])


def _heads(solver: type[Solver]) -> tuple[list[str], list[str]]:
    """Return the docstrings of the files that a solver's class stands on, its own first; and solvers it stands on."""
    homes = {target.partition(":")[0]: name for name, target in reversed(list(_own().items()))}
    own, *others = dict.fromkeys(
        each.__module__ for each in solver.__mro__ if each.__module__.startswith("mpu_bench.solvers.")
    )
    texts = [cleandoc(sys.modules[name].__doc__ or "") for name in (own, *others) if name == own or name not in homes]
    return [texts[0], *(text for text in texts[1:] if "\n\n" in text)], [
        homes[name] for name in others if name in homes
    ]


def _own() -> dict[str, str]:
    return {name: solvers.SOLVERS[name] for name in solvers.OWN}


def _parted(head: str) -> tuple[str, str, str]:
    """Return a docstring without what it says of counts and deviations, these, and those."""
    parts = re.split(r"\n{2,}", head)
    counted = [part for part in parts if part.startswith("Counted")]
    first = next((i for i, part in enumerate(parts) if part.startswith(("Deviation:", "Deviations"))), len(parts))
    last = first + 1
    while last < len(parts) and parts[last].startswith("- "):
        last += 1
    deviations = parts[first:last]
    own = [part for part in parts[1:] if part not in (*counted, *deviations)]
    text = re.sub(r"^Deviations?(?:: |, )", "", "\n\n".join(deviations))
    return "\n\n".join(own), "\n\n".join(counted).removeprefix("Counted: "), _upper(text)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _summary(solver: type[Solver]) -> str:
    head = cleandoc(sys.modules[solver.__module__].__doc__ or "").partition("\n\n")[0]
    return of_docstring(head)


def _facts(name: str, solver: type[Solver]) -> str:
    paper = solver.paper
    more = "; more by `multiclass: one-against-one` or `one-against-rest`" if solver.classes == "two" else ""
    used = [config for config, each in experiments().items() if name in {choice.name for choice in each.solvers}]
    facts = (
        ("paper", f"[{paper}](../papers/{paper}.md)" if paper in PAPERS else paper),
        ("kernels", KINDS_OF_KERNELS[solver.kernels]),
        ("classes", f"{solver.classes}{more}"),
        ("online", "yes: row by row, also from a stream" if solver.online else "no"),
        ("stops by itself", "yes" if solver.ends or not solver.sliceable else "no: the config needs stop:"),
        ("heeds `stop:`", "" if solver.sliceable else "no: it trains in one piece"),
        ("random", "no" if solver.deterministic else "yes, by the seed"),
        ("weights of classes", "yes: `class_weight`" if solver.weighted else "no"),
        ("in Python", ", ".join(f"`{each}`" for each in _classifiers(name))),
        ("configs of the papers", ", ".join(f"`{each}`" for each in used)),
    )
    shown = [fact for fact in facts if fact[1]]
    return table(shown[0], shown[1:])


def _classifiers(name: str) -> list[str]:
    written = [each for each, (_, *used) in estimators.MODULES.items() if name in used]
    return written + [each for each, solver in estimators.wrapped_solvers().items() if solver == name]


def _parameters(solver: type[Solver]) -> Iterator[str]:
    rows = [
        (each.name, each.range, each.default or "must be given", each.meaning) for each in meanings.parameters(solver)
    ]
    yield "## Parameters\n"
    yield table(("parameter", "range", "default", "meaning"), rows) if rows else "It has none.\n"


def _cited(solver: type[Solver]) -> Iterator[str]:
    if cited := published.citation(solver.paper):
        yield f"## To cite\n\n{code(cited, 'bibtex')}"
