"""What each result was made from, and which results therefore hold.

A run may take values of other runs, its sources: the optimum that its objective is set against, a nu, a share of
seconds, the trials by which it was tuned. Its row remembers the key of each source and a hash of what was stored under
that key when the run was made. A result holds while every source has a result that holds and is still the one that it
was made from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mpu_bench.quantities import Record
from mpu_bench.results.rows import DamagedError

#: for each key of a result, the keys of its sources, by what is taken from them
Needs = Mapping[str, Mapping[str, str]]

#: of one result: what is taken -> the source's key, and the hash of what it was, None where it had no result
MadeFrom = Mapping[str, tuple[str, str | None]]

KEY, CHECKSUM = "made_from", "checksum"  #: in a stored row; no columns of the results
_DIGITS = 16  # of a hash
_SEAL = f', "{CHECKSUM}": "'  # the last key of a stored row


class Kept(NamedTuple):
    """What is stored of a run; ``made_from`` is None in rows of earlier versions."""

    record: Record
    made_from: MadeFrom | None


def content_hash(record: Mapping[str, Any], checkpoints: Any) -> str:
    """Return a hash of a result as it is stored, its row and its checkpoints; the same in every process."""
    content = [{name: value for name, value in record.items() if name not in (KEY, CHECKSUM)}, checkpoints]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def sealed(row: Mapping[str, Any], *others: object) -> str:
    """Return a row as JSON text, with a checksum of it and of the texts that are stored beside it."""
    text = json.dumps(row)
    return f'{text[:-1]}{_SEAL}{_checksum(text, *others)}"}}'


def is_as_sealed(text: object, *others: object) -> bool:
    """Return whether a text is what `sealed` returned, beside the same others; of rows without a checksum, yes.

    Earlier versions wrote those.
    """
    if not isinstance(text, str):
        return True  # which is no row, as who parses it says
    row, has_seal, checksum = text.rpartition(_SEAL)
    if not has_seal:
        return f'"{CHECKSUM}"' not in text  # another program has written it anew
    return checksum == f'{_checksum(row + "}", *others)}"}}'


def _checksum(*texts: object) -> str:
    digest = hashlib.sha256()
    for text in map(str, texts):
        digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:_DIGITS]


def checked_made_from(value: Any) -> MadeFrom | None:
    """Return the sources that a stored row names.

    Raises
    ------
    DamagedError
        If it names them in another form.
    """
    if value is None:
        return None
    if not isinstance(value, dict) or not all(map(_is_source, value.values())):
        raise DamagedError(f"{KEY} does not name results")
    return {kind: (key, known) for kind, (key, known) in value.items()}


def _is_source(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], str | None)


def holding(runs: Mapping[str, Kept], needs: Needs, hash_of: Callable[[str], str]) -> set[str]:
    """Return the keys of the results that hold.

    Parameters
    ----------
    runs : mapping
        Every stored run by its key.
    needs : mapping
        What the present plan knows of sources. A result that was made without one of them does not hold; of a row that
        does not tell its sources, of an earlier version, these are believed to be what it was made from.
    hash_of : function
        Returns `content_hash` of what is stored under a key.
    """
    hashes: dict[str, str] = {}

    def is_same(key: str, known: str | None) -> bool:
        if key not in runs or known is None or not runs[key].record.is_finished:  # of a damaged one there is no hash
            return False
        if key not in hashes:
            hashes[key] = hash_of(key)
        return hashes[key] == known

    sources: dict[str, set[str]] = {}
    for key, run in runs.items():
        needed, made_from = needs.get(key, {}), run.made_from
        if not run.record.is_finished:
            continue
        if made_from is None:
            sources[key] = set(needed.values())
        elif all(made_from.get(kind, ("",))[0] == source for kind, source in needed.items()) and all(
            is_same(source, known) for source, known in made_from.values()
        ):
            sources[key] = {source for source, _ in made_from.values()}
    while broken := {key for key, of in sources.items() if not of <= sources.keys()}:
        for key in broken:
            del sources[key]
    return set(sources)
