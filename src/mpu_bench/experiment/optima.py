"""The cache of optima: those of one experiment serve all others that use the same data directory.

Suboptimality and what stops by it are set against what it holds, so a file has a checksum. One that is damaged, or of a
version that did not keep the machine, is computed again, with a remark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_bench import files
from mpu_bench.errors import StoreError
from mpu_bench.quantities import Record
from mpu_bench.results import provenance, rows
from mpu_bench.results.rows import DamagedError

#: a run, its checkpoints, and the machine that made it
Result = tuple[Record, list[Record], Mapping[str, Any]]

_LARGEST = 2**24  # bytes of a file


@dataclass(frozen=True)
class OptimaCache:
    """Optima, each in a file beside the prepared data.

    Attributes
    ----------
    home : Path
        The folder of the data directory.
    remark : function
        Called with why an optimum could not be read or kept.
    """

    home: Path
    remark: Callable[[str], None]

    def _path(self, key: str) -> Path:
        return self.home / "optima" / f"{key}.json"

    def load(self, key: str) -> Result | None:
        """Return an optimum, or None where there is none that can be read."""
        path = self._path(key)
        try:
            if not path.exists():
                return None
            text = files.read_bounded(path, _LARGEST, StoreError)
            return _checked(rows.parse_mapping(text.decode(errors="replace")))
        except (OSError, StoreError, DamagedError) as error:
            self.remark(f"{path}: this cached optimum cannot be used and is computed again ({error})")
            return None

    def save(self, key: str, result: Result) -> None:
        """Keep an optimum for other experiments."""
        path = self._path(key)
        record, checkpoints, environment = result
        content: dict[str, Any] = {"record": rows.to_keep(record), "checkpoints": list(map(rows.to_keep, checkpoints))}
        content["environment"] = environment
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_text(path, json.dumps(content | {"checksum": _checksum(content)}))
        except OSError as error:
            why = error.strerror or error
            self.remark(f"{path}: cannot be written ({why}); other experiments will compute this optimum again")


def _checked(content: dict[str, Any]) -> Result:
    """Return what a file of the cache holds, if it is what was written."""
    if (checksum := content.pop("checksum", None)) is None or content.get("environment") is None:
        raise DamagedError("it has no checksum, or no machine: an earlier version wrote it")
    if checksum != _checksum(content):
        raise DamagedError("it does not fit its checksum: it was damaged or changed")
    machine, checkpoints = rows.checked_machine(content["environment"]), content.get("checkpoints")
    if not isinstance(checkpoints, list):
        raise DamagedError("it has no list of checkpoints")
    return rows.record_of(content.get("record")), list(map(rows.record_of, checkpoints)), machine


def _checksum(content: Mapping[str, Any]) -> str:
    record = content.get("record")
    known = record if isinstance(record, Mapping) else {}  # what is no record is damage, which is reported as such
    return provenance.content_hash(known, [content.get("checkpoints"), content["environment"]])
