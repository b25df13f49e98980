"""The cache of optima: what one experiment has found serves all others that use the same data home.

Suboptimality and what stops by it are set against what it holds, so a file has a checksum, and an optimum certifies
itself. One that is damaged, changed or of a version without checksums is found again, with a remark.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_bench import files
from mpu_bench.errors import StoreError
from mpu_bench.quantities import FINISHED
from mpu_bench.results import provenance, rows
from mpu_bench.results.rows import DamagedError

Result = tuple[dict[str, Any], list[dict[str, Any]]]  # a row, and its checkpoints

_LARGEST = 2**24  # bytes of a file
_ROUNDING = 1e-6  # of a gap; a certificate may add a bound on rounding of its own, which is less than its gap


@dataclass(frozen=True)
class OptimaCache:
    """Optima, each in a file beside the prepared data.

    Attributes
    ----------
    home : Path
        The folder of the data home.
    remark : function
        Is told why an optimum could not be read or kept.
    """

    home: Path
    remark: Callable[[str], None]

    def _path(self, key: str) -> Path:
        return self.home / "optima" / f"{key}.json"

    def load(self, key: str) -> Result | None:
        """Return the row and the checkpoints of an optimum, or None where there is none that can be read."""
        path = self._path(key)
        try:
            if not path.exists():
                return None
            text = files.read_bounded(path, _LARGEST, StoreError)
            return _checked(rows.parse(text.decode(errors="replace")))
        except (OSError, StoreError, DamagedError) as fault:
            self.remark(f"{path}: this kept optimum cannot be used and is found again ({fault})")
            return None

    def save(self, key: str, result: Result) -> None:
        """Keep an optimum for other experiments."""
        path = self._path(key)
        record, checkpoints = result
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = json.loads(json.dumps({"record": record, "checkpoints": checkpoints}))
            files.write_text(path, json.dumps(kept | {"checksum": provenance.content_hash(**kept)}))
        except OSError as fault:
            why = fault.strerror or fault
            self.remark(f"{path}: cannot be written ({why}); other experiments will find this optimum again")


def _checked(kept: Any) -> Result:
    """Return what a file of the cache holds, if it is a result with all that a solver's row has."""
    try:
        record, checkpoints = rows.record_to_keep(kept["record"]), [dict(point) for point in kept["checkpoints"]]
        rows.columns_to_keep(checkpoints)
        checksum = kept.get("checksum")
    except DamagedError:
        raise
    except (TypeError, KeyError, ValueError, AttributeError):
        raise DamagedError("it holds no row with its checkpoints") from None
    if record.get("status") not in FINISHED:
        raise DamagedError("it holds no result")
    if checksum is None:
        raise DamagedError("it has no checksum: an earlier version wrote it")
    if checksum != provenance.content_hash(kept["record"], kept["checkpoints"]):
        raise DamagedError("it does not fit its checksum: it was damaged or changed")
    _check_certificate(record)
    return {"reason": "", **record}, checkpoints


def _check_certificate(record: dict[str, Any]) -> None:
    """Refuse an optimum whose primal and dual objective do not give its gap."""
    objective, dual, gap = (record.get(name) for name in ("objective", "dual_objective", "gap"))
    if objective is None or dual is None or gap is None:  # not every optimum is certified so
        return
    least = objective / dual - 1 if dual > 0 else -1.0
    if not -_ROUNDING <= least <= gap + _ROUNDING <= 2 * (least + _ROUNDING) + _ROUNDING:
        raise DamagedError(f"objective {objective:.10g} and dual {dual:.10g} do not give its gap {gap:.2g}")
