"""Where runs are made if there are several machines: as the config says, else by whether seconds end its runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mpu_bench import resources
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config

TEXT = """
name: tried
dataset: {digits: {positive: ['8']}}
solvers: [mpu, libsvm]
kernel: {gaussian: {gamma: 0.1}}
"""
CLAIM = """
claims:
  - claim: said
    statement: {kind: lower, quantity: comparable_seconds, of: {solver: mpu}, than: {solver: libsvm},
                each: {dataset: digits}}
"""


@pytest.mark.parametrize(
    ("more", "placement"),
    [
        ("", "spread"),
        ("stop: {passes: 3}", "spread"),
        ("stop: {seconds: 3}", "together"),
        ("stop: {seconds_of: {solver: libsvm, factor: 0.5}}", "together"),
        ("limits: {seconds: 3}", "spread"),
        ("published: mpu-table1", "spread"),
        (CLAIM, "spread"),
        ("stop: {seconds: 3}\nplacement: spread", "spread"),
        ("placement: together", "together"),
    ],
)
def test_where_runs_are_made_does_not_depend_on_what_is_claimed_of_them(
    more: str, placement: str, read: Callable[..., Experiment]
) -> None:
    assert read(TEXT + more).placement == placement


def test_seconds_of_another_run_are_of_the_same_machine(refused: Callable[..., str]) -> None:
    message = refused(TEXT + "placement: spread\nstop: {seconds_of: {solver: libsvm, factor: 0.5}}")
    assert "line 6: placement: must be together" in message
    assert "apart" in refused(TEXT + "placement: apart")


def test_the_configs_of_the_project_are_placed_by_what_they_compare() -> None:
    placed: dict[str, set[str]] = {"together": set(), "spread": set()}
    for name in resources.config_names():
        placed[read_config(resources.config_path(name)).placement].add(name)
    assert placed["together"] == {
        *("adult", "web", "quickstart", "mpu-hard-margin", "mpu-soft-margin", "mpu-table1", "mpu-table2"),
        *("bpegasos-figure1", "bpegasos-figure2", "bpegasos-figure3", "bpegasos-table1", "sbp-runtime"),
        *("fw-c-study", "fw-table2", "fw-table8", "fw-letter-c", "since-2012", "fw-inner-tolerance", "mpu-inner-gap"),
        "mpu-iterations",
    }
    assert placed["spread"] == {
        *("bpegasos-widths", "forgetron-figure2-census", "forgetron-figure2-mnist", "fw-statistics", "fw-tuning"),
        *("bpegasos-letter-merging", "bpegasos-usps-esl", "forgetron-cks", "fw-holdouts", "fw-holdouts-polynomial"),
        *("bpegasos-checkerboard-width", "sbp-nu-reuters", "sbp-figure2", "sbp-figure3", "sbp-nu", "sbp-table2"),
        *("fw-w6a-seeds", "fw-tenfold", "sbp-nu-adult", "lecture", "bpegasos-half"),
    }
