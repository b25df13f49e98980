"""What models take of a Cortex-M0 and M4: in qemu, where it is installed, and by the table where it is not."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from classifiers import ALL, blobs, made
from model_examples import FAR_TABLE, FEATURES, MODELS, TABLE, VECTORS_STEPS, expansion, linear, raw_rows, saved
from mpu_bench.core.models import KernelModel, LinearModel, labels_of
from mpu_bench.core.rows import Dense
from mpu_bench.errors import ConfigError
from mpu_bench.estimators.saving import saved_model
from mpu_bench.kernels import Gaussian, Polynomial
from mpu_bench.models.classes import Classes
from mpu_bench.models.export import device_costs
from mpu_bench.models.export.agreement import raw_at_hand, sourced
from mpu_bench.models.export.c_fixed import fixed_point, fixed_source
from mpu_bench.models.export.c_float import Source, float_source
from mpu_bench.models.export.device import DEVICES, PROGRAMS, Device, named
from mpu_bench.models.export.footprint import Footprint, footprint
from mpu_bench.models.export.footprint import raw_rows as raw_rows_of
from mpu_bench.models.export.portable import dense_features, portable
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.models.saved import SavedModel

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)),
    reason="gcc-arm-none-eabi, libnewlib-arm-none-eabi or qemu-system-arm is missing",
)
on_both = pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)

#: a prediction of 3,003 instructions
_KNOWN = """
__attribute__((naked)) int m_predict(const float *row)
{ __asm__("ldr r1, =1000\\n1: sub r1, #1\\ncmp r1, #0\\nbne 1b\\nmov r0, #0\\nbx lr\\n.ltorg"); }
"""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """Import scripts/bench/device.py, which made the table."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "scripts" / "bench"))
    try:
        import device
    finally:
        sys.path.pop(0)
    return device


def on_device(model: SavedModel, device: Device, rows: Any, bits: int = 0) -> Footprint:
    exported, features = portable(model), dense_features(model.rows(rows), model.features)
    labels, given = labels_of(model.model.scores(model.rows(rows))), exported.numbers(rows)
    if not bits:
        return footprint(exported, float_source(exported, "a model"), device, given, labels)
    how = fixed_point(exported, features, bits)
    return footprint(exported, fixed_source(exported, how, features, "a model"), device, how.rows(given), labels)


@needs_tools
@on_both
def test_instructions_are_counted_exactly(device: Device) -> None:
    source = Source(_KNOWN, "m", 0, 0, {"multiply_adds": 1})
    found = footprint(portable(saved("linear")), source, device, raw_rows(), np.zeros(50, np.int32))
    assert (found.instructions, found.differ, found.estimated) == (3003, 0, "")


@needs_tools
@on_both
@pytest.mark.parametrize("name", MODELS)
def test_labels_on_a_device_are_those_of_python(name: str, device: Device) -> None:
    found = on_device(saved(name), device, raw_rows())
    assert (found.rows, found.differ, found.estimated) == (50, 0, "")
    assert found.flash > float_source(portable(saved(name)), "m").constant_bytes
    assert found.ram > 4 * FEATURES
    if "normalized" not in name:
        integers = on_device(saved(name), device, raw_rows(), bits=16)
        assert (integers.differ <= 1, integers.estimated) == (True, "")
        assert integers.flash < found.flash + 200


@needs_tools
@on_both
def test_steps_on_raw_rows_are_taken_on_a_device(device: Device) -> None:
    for steps, codes in ((TABLE, 3), (FAR_TABLE, 2)):
        model = SavedModel(expansion("dense", Gaussian(0.3)), Classes.of([0, 1]), FEATURES, steps)
        exported, features = portable(model), raw_rows()
        features[:, 1 : 1 + codes] = np.eye(codes)[np.arange(50) % codes]
        given = raw_rows_of(exported, features)
        found = footprint(exported, float_source(exported, "m"), device, given, np.zeros(50, np.int32))
        assert (found.rows, found.estimated) == (50, "")
    missing = np.array([[np.nan, 1.0, 3.0]], np.float32)
    model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, TABLE)
    one = footprint(portable(model), float_source(portable(model), "m"), device, missing, np.zeros(1, np.int32))
    assert (one.rows, one.estimated) == (1, "")


@needs_tools
@pytest.mark.parametrize("name", ALL)
def test_every_classifier_answers_alike_on_both(name: str) -> None:
    X, y = blobs(3)
    model = saved_model(made(name).fit(X, y))
    for device in DEVICES.values():
        found = on_device(model, device, X.astype(np.float32))
        assert (found.differ, found.estimated) == (0, "")


def test_raw_rows_are_made_of_features() -> None:
    for steps, width in ((None, 5), (VECTORS_STEPS, 4), (TABLE, 5)):
        model = SavedModel(linear(), Classes.of([0, 1]), FEATURES, steps)
        features = raw_rows()
        if steps is TABLE:
            features[:, 1:4] = np.eye(3)[np.arange(50) % 3]
        raw = raw_rows_of(portable(model), features)
        if steps is TABLE:
            assert (raw[:, 1] == np.arange(50) % 3).all()
            assert raw[:, 0] == pytest.approx(features[:, 0] * 12.5 + 40, rel=1e-5)
        else:
            assert dense_features(model.rows(raw), FEATURES)[:, :width] == pytest.approx(features[:, :width], abs=1e-5)


#: of sizes that the table was not made of
OTHERS = [
    ("linear", "table", (13, 5), 2, 0), ("linear", "words", (15, 5), 3, 16), ("fourier", "table", (15, 64), 2, 0),
    ("gaussian", "table", (18, 100), 2, 0), ("gaussian", "words", (14, 50), 3, 0),
    ("gaussian", "none", (40, 25), 2, 16),
    ("polynomial", "words", (12, 40), 2, 0), ("polynomial", "none", (20, 50), 3, 16),
    ("normalized", "table", (16, 45), 2, 0), ("gaussian", "far", (8, 50), 2, 0),
    ("gaussian", "sparse", (20, 60), 2, 0), ("polynomial", "sparse", (16, 40), 3, 16),
]  # fmt: skip


@needs_tools
@on_both
@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_an_estimate_is_near_what_is_measured(bench: ModuleType, other: Any, device: Device) -> None:
    case = bench.case(*other, seed=7)
    found = footprint(case.model, case.source, device, case.rows, case.labels)
    flash, ram, instructions = device_costs.estimate(case.model, case.source, device.name)
    assert not found.estimated
    assert flash == pytest.approx(found.flash, rel=0.15)
    assert ram == pytest.approx(found.ram, rel=0.15)
    assert instructions == pytest.approx(found.instructions, rel=0.15)


def test_an_estimate_takes_vectors_as_the_file_stores_them() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(20, 8)).astype(np.float32)
    vectors[:, :2] = 0.0  # with all numbers smaller in integers, without those that are 0 in floats
    kernel_model = KernelModel(Dense(vectors), random.normal(size=(20, 1)), Polynomial(0.1, 1.0, 2), 8)
    model = portable(SavedModel(kernel_model, Classes.of([0, 1]), 8))
    features = random.normal(size=(30, 8)).astype(np.float32)
    source = fixed_source(model, fixed_point(model, features), features, "m")
    for device, measured in (("cortex-m0", (718, 84, 2798)), ("cortex-m4", (748, 88, 1832))):
        assert device_costs.estimate(model, source, device) == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize("bits", [None, 16])
def test_an_estimate_is_of_labels_alone(bits: int | None) -> None:
    without = replace(saved("dense gaussian"), sigmoids=None)
    estimates = []
    for each in (without, replace(without, sigmoids=Sigmoids((2.0,), (0.5,)))):
        model = portable(each)
        source = sourced(model, "m", raw_at_hand(model, raw_rows()), bits)[0]
        estimates.append(device_costs.estimate(model, source, "cortex-m4"))
    assert estimates[0] == estimates[1]  # as measured: the linker leaves out what is not called


def test_without_the_programs_the_table_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = on_device(saved("dense gaussian"), DEVICES["cortex-m0"], raw_rows())
    assert found.estimated == "not installed: arm-none-eabi-gcc, arm-none-eabi-size, qemu-system-arm"
    assert found.flash == pytest.approx(5116, rel=0.15)
    assert found.ram == pytest.approx(280, rel=0.15)
    assert found.instructions == pytest.approx(29_379, rel=0.15)


@needs_tools
def test_what_is_larger_than_the_chip_is_estimated() -> None:
    source = float_source(portable(saved("linear")), "m")
    large = Source(source.text, "m", 2**18 + 1, 0, source.counts)
    found = footprint(portable(saved("linear")), large, DEVICES["cortex-m0"], raw_rows(), np.zeros(50, np.int32))
    assert found.estimated == "its arrays alone are larger than the flash or RAM of an nRF51822"
    assert found.flash > 2**18
    wide = SavedModel(LinearModel(np.ones((1, 4090))), Classes.of([0, 1]), 4090)
    found = on_device(wide, DEVICES["cortex-m0"], np.ones((2, 4090), np.float32))
    assert found.estimated.startswith("qemu-system-arm failed: qemu: fatal: Lockup")
    assert found.ram > 2**14


def test_an_unknown_device_names_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match="--device cortex-m1: no such device; choose from cortex-m0, cortex-m4"):
        named("cortex-m1")
    assert DEVICES["cortex-m0"].timing == "1.5 cycles an instruction at 16 MHz"


@pytest.mark.parametrize(("instructions", "words"), [(1_109_993, "104 ms"), (20_445, "1.9 ms"), (99, "0.0093 ms")])
def test_a_time_is_read_without_an_exponent(instructions: int, words: str) -> None:
    text = Footprint(flash=1, ram=1, instructions=instructions).duration(named("cortex-m0"))
    assert text.startswith(f"about {words} (1.5 cycles an instruction at 16 MHz, an estimate")
