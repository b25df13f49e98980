from __future__ import annotations

import pytest

from mpu_bench.config.choices import KernelChoice
from mpu_bench.config.schema import RENAMED
from mpu_bench.scaled import Scaled

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"


def test_a_whole_config(read) -> None:
    experiment = read(
        HEAD
        + """
description: all keys
kernel: {gaussian: {gamma: {over-features: 4}}}
repeats: 3
seed: 7
solvers:
  - perceptron: {passes: [1, 2]}
  - mpu: {C: 1, accuracy: 1e-5, kernel: linear}
stop: {gap: 1.0e-4, passes: 100, seconds: 600, kernel_evaluations: 1.0e10}
limits: {seconds: 1000, memory: 4 GB}
checkpoints: {first: 0.5, per_decade: 4}
threads: 2
kernel_memory: 2 GB
published: mpu-table1
"""
    )
    assert [solver.name for solver in experiment.solvers] == ["perceptron", "perceptron", "mpu"]
    assert [solver.parameters.get("passes") for solver in experiment.solvers[:2]] == [1, 2]
    assert experiment.solvers[0].kernel == KernelChoice("gaussian", {"gamma": Scaled(4, "d")})
    assert experiment.solvers[2].kernel == KernelChoice("linear", {})
    assert experiment.solvers[2].parameters["C"] == 1
    assert experiment.seeds == (7, 8, 9)
    assert experiment.limits.memory == 4_000_000_000
    assert experiment.kernel_memory == 2_000_000_000
    assert experiment.threads == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("solvers: [mpv]", "line 3: solvers: there is no solver 'mpv'; did you mean 'mpu'?"),
        ("solvers: [mpu]\nrepaets: 3", "line 4: repaets: unknown key; did you mean 'repeats'?"),
        ("solvers:\n  - mpu: {C: -1}", "line 4: solvers.mpu.C: must be greater than 0, not -1"),
        ("solvers:\n  - mpu: {C: 0}", "line 4: solvers.mpu.C: must be greater than 0, not 0"),
        ("solvers:\n  - mpu:\n      C: [1, -2]", "line 5: solvers.mpu.C: must be greater than 0, not -2"),
        ("solvers:\n  - mpu: {C: one}", "line 4: solvers.mpu.C: must be a valid number, not 'one'"),
        ("solvers:\n  - mpu: {C: .inf}", "solvers.mpu.C: must be a finite number"),
        ("solvers:\n  - mpu: {c: 1}", "solvers.mpu.c: unknown key; did you mean 'C'?"),
        ("solvers:\n  - mpu: {C: []}", "solvers.mpu.C: an empty list"),
        ("solvers: []", "line 3: solvers: "),
        ("solvers: mpu", "line 3: solvers: must be a valid list"),
        ("solvers: [{mpu: {}, dcd: {}}]", "must be the name of a solver, or one name with its parameters"),
        ("solvers: [3]", "must be the name of a solver"),
        ("repeats: 2", "tried.yaml: solvers: this key is missing"),
        ("solvers: [mpu]\nrepeats: 0", "line 4: repeats: must be greater than or equal to 1"),
        ("solvers: [mpu]\nrepeats: 1.5", "line 4: repeats: "),
        ("solvers: [mpu]\nseed: -1", "seed: must be greater than or equal to 0"),
        ("solvers: [mpu]\nstop: {gap: 0}", "line 4: stop.gap: must be greater than 0"),
        ("solvers: [mpu]\nstop: {gapp: 1}", "stop.gapp: unknown key; did you mean 'gap'?"),
        ("solvers: [mpu]\nlimits: {memory: much}", "limits.memory: "),
        ("solvers: [mpu]\nkernel: gauss", "line 4: kernel: there is no kernel 'gauss'; did you mean 'gaussian'?"),
        ("solvers: [dcd]\nkernel: {gaussian: {gamma: 1}}", "line 4: kernel: solver 'dcd' is linear only"),
        (
            "solvers: [{bpegasos: {vectors: 1}}]\nkernel: {gaussian: {gamma: 1}}",
            "line 3: solvers.bpegasos: bpegasos: vectors is 1; it must be at least 2 for maintenance: merging",
        ),
        ("solvers: [dcd]\nkernel: {linear: {normalize: true}}", "line 4: kernel: solver 'dcd' is linear only"),
        ("solvers: [perceptron]\nkernel: gaussian", "give either gamma or sigma2"),
        ("solvers: [perceptron]\nkernel: {gaussian: {gamma: 0}}", "line 4: kernel.gaussian.gamma: must be greater"),
        ("solvers: [perceptron]\nkernel: {gaussian: {sigma2: 0}}", "kernel.gaussian.sigma2: must be greater than 0"),
        ("solvers: [perceptron]\nkernel: {gaussian: {gamma: {over-feature: 4}}}", "over-features"),
        ("solvers: [fw]\nkernel: {polynomial: {degree: 2, scale: 0}}", "kernel.polynomial.scale: must be greater"),
        ("solvers: [perceptron]\nkernel: {polynomial: {degree: 0}}", "kernel.polynomial.degree: must be greater"),
        ("solvers: [mpu]\nbudget: {vectors: 100}", "line 4: budget: no solver of this config takes its vectors"),
        ("solvers: [mpu]\nbudget: {vectors: 0}", "line 4: budget.vectors: must be greater than or equal to 1"),
        ("solvers: [mpu]\npublished: mpu-table9", "published: there is no table 'mpu-table9'; did you mean 'mpu-table"),
        ("solvers: [mpu]\nversion: 2", "line 4: version: this config is written for version 2"),
        ("solvers: [mpu]\nplugins: [absent.py]", "absent.py: no such file"),
        ("solvers: [{cks: {vectors: 5}}]\nbudget: {vectors: 9}", "line 4: budget: no solver of this config takes its"),
        ("solvers: [mpu]\nstop: {suboptimality: 0.01}", "line 4: stop.suboptimality: needs the optimum"),
        (
            "solvers: [perceptron, margin-perceptron]\nstop: {suboptimality: 0.01, passes: 1}\noptimum: true",
            "line 4: stop.suboptimality: no solver of this config has an objective whose optimum is known",
        ),
        ("solvers: [perceptron]\nstop: {gap: 0.1, passes: 1}", "line 4: stop.gap: no solver of this config has a gap"),
        ("solvers: [{mpu: {C: {per-dataset: {adult: 1}}}}]", "C.per-dataset: has no value for 'checkerboard'"),
        ("solvers: [{mpu: {C: {per-dataset: 3}}}]", "must give a value for each dataset"),
        ("solvers: [{mpu: {C: {per-dataset: {checkerboard: 0}}}}]", "solvers.mpu.C: must be greater than 0"),
        ("solvers: [{mpu: {C: {over-examples: 0}}}]", "solvers.mpu.C: must be greater than 0"),
        ("solvers: [{mpu: {C: {over-exmples: 1}}}]", "solvers.mpu.C: must be a valid number"),
        ("solvers: [mpu]\nname: x", "the key 'name' was already given on line 1"),
    ],
)
def test_a_mistake_is_told_with_line_key_and_remedy(refused, text: str, message: str) -> None:
    error = refused(HEAD + text)
    assert message in error
    assert "tried.yaml" in error


def test_all_mistakes_are_told_at_once(refused) -> None:
    error = refused(HEAD + "solvers: [mpu]\nrepeats: 0\nthreads: 0\n")
    assert "repeats" in error
    assert "threads" in error


@pytest.mark.parametrize(
    ("text", "key", "word"),
    [
        ("reference: true", "reference", "optimum"),
        ("stop: {deviation: 0.01}", "stop.deviation", "suboptimality"),
        ("compare: {mpu-table1: {}}", "compare", "published"),
        ("known: []", "known", "explained"),
    ],
)
def test_a_word_of_earlier_versions_is_refused_with_the_new_one(refused, text: str, key: str, word: str) -> None:
    assert f"line 4: {key}: unknown key; it is called '{word}' now" in refused(HEAD + f"solvers: [mpu]\n{text}\n")
    assert RENAMED[key.rpartition(".")[2]] == word


def test_the_old_word_of_bipartitions_is_refused_with_the_new_one(refused) -> None:
    text = "name: tried\ndataset: {digits: {splits: five-against-five}}\nsolvers: [perceptron]\n"
    assert "line 2: dataset.digits.splits: unknown key; it is called 'bipartitions' now" in refused(text)
