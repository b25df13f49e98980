"""What a reader must know of a machine before comparing numbers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

from mpu_bench.experiment import environment

_ASK = (
    "import json; from mpu_bench.experiment import environment as e; print(json.dumps([e.instruction_set(), e.blas()]))"
)


def asked(**variables: str) -> tuple[str, list[str]]:
    """Ask another process, as numba and BLAS read these variables once."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    instruction_set, blas = json.loads(done.stdout)
    return instruction_set, blas


def test_a_machine_is_described_whole_and_alike_each_time() -> None:
    first, second = environment.describe(1), environment.describe(1)
    assert first == second
    assert first["id"] != environment.describe(2)["id"]
    name, features = first["instruction_set"].split()
    assert name
    assert len(features) == 12
    assert first["blas"]
    json.dumps(first)


def test_another_rounding_is_another_instruction_set() -> None:
    here, _ = asked()
    assert asked()[0] == here
    generic, blas = asked(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", OPENBLAS_CORETYPE="Nehalem")
    assert generic.split()[0] == "generic"
    assert generic != here
    if platform.machine() == "x86_64":
        assert all("Nehalem" in each for each in blas if each.startswith("openblas"))
