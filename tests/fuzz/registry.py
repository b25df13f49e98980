"""All targets, found from the registries: a reader, kind of card or compression that is added is one, too."""

from __future__ import annotations

from functools import cache

from fuzz import data, documents, models, processes, stored
from fuzz.target import Target


@cache
def targets() -> dict[str, Target]:
    """Return every target by its name."""
    every = [*documents.targets(), *data.targets(), *stored.targets(), *models.targets(), *processes.targets()]
    return {each.name: each for each in every}
