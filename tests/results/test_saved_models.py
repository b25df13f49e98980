"""Names of the files of models: readable, and none that leaves its folder."""

from __future__ import annotations

import re
from pathlib import Path

from mpu_bench.quantities import Record
from mpu_bench.results.saved_models import NAME, model_file


def test_a_name_says_what_is_in_it() -> None:
    record = Record(dataset="adult", solver="mpu", seed=3, run_id="0123456789abcdef")
    assert model_file(Path("r"), record) == Path("r/models/adult-mpu-seed3-0123456789abcdef.mpu")


def test_no_name_leaves_the_folder() -> None:
    record = Record(dataset="../" * 90, split="01", solver="my/solver", seed=0, run_id="0123456789abcdef")
    path = model_file(Path("r"), record)
    assert path.parent == Path("r/models")
    assert re.fullmatch(NAME, path.name)
