"""Where runs are made if there are several machines: those of a dataset and seed on one, or all anywhere."""

from __future__ import annotations

from mpu_bench import published
from mpu_bench.config.rules import Claim, Sentence, SignificantStatement, Statement
from mpu_bench.config.schema import File, Placement
from mpu_bench.config.sentences import of_experiment
from mpu_bench.quantities import is_seconds


def placement_of(content: File, config: str) -> Placement:
    """Return what a config says, else ``together`` where it compares seconds, and ``spread`` where not.

    Parameters
    ----------
    content : File
    config : str
        The name of the file, without ending; sentences of the paper name it.
    """
    if content.placement is not None:
        return content.placement
    stop = content.stop
    is_timed = stop.seconds is not None or stop.seconds_of is not None
    return "together" if is_timed or _compares_seconds(content, config) else "spread"


def _compares_seconds(content: File, config: str) -> bool:
    """Return whether a published table, a figure, a claim, or a sentence of the paper is about seconds."""
    said: list[Claim | Sentence] = [*content.claims, *of_experiment(content.paper or "", config)]
    columns = [column for name in content.published for column in published.table(name)[0]]
    axes = [drawing.against or "" for drawing in content.figures]
    return any(map(is_seconds, [*columns, *axes])) or any(
        each.statement and is_of_seconds(each.statement) for each in said
    )


def is_of_seconds(statement: Statement) -> bool:
    """Return whether a statement is about measured seconds; a test recomputed from printed ones is not."""
    if isinstance(statement, SignificantStatement) and statement.of is not None:
        return False
    against = getattr(statement, "against", [])
    return any(map(is_seconds, [statement.quantity, *map(str, [against] if isinstance(against, str) else against)]))
