"""All targets, found from the registries: a reader, kind of card or compression that is added is fuzzed with the rest."""

from __future__ import annotations

from functools import cache

from fuzz import data, documents, processes, stored
from fuzz.target import Target


@cache
def targets() -> dict[str, Target]:
    """Return every target by its name."""
    every = [*documents.targets(), *data.targets(), *stored.targets(), *processes.targets()]
    return {each.name: each for each in every}
