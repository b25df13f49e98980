"""What a config comes to is counted before it is made, and every number of it has an upper end."""

from __future__ import annotations

import pytest

from mpu_bench.config.bounds import MAX_RUNS, combinations
from mpu_bench.config.sweep import expand

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"
THOUSAND = "[" + ", ".join(map(str, range(1, 1001))) + "]"
CLAIM = "solvers: [mpu]\nclaims:\n- claim: x\n  statement:\n    {kind: lower, quantity: nu, than: {}, each: %s}"
TUNED = "solvers: [mpu]\ntune: {C: [1, 2, 3], "


@pytest.mark.parametrize("value", [1, [1, 2], {"a": [1, 2], "b": [3, 4]}, [{"a": [1, 2]}, 3], {"a": {"b": [1]}}, {}])
def test_combinations_are_counted_as_they_are_made(value: object) -> None:
    assert combinations(value) == len(expand(value))


def test_very_many_are_counted() -> None:
    assert combinations({str(key): [1, 2] for key in range(9000)}) == 2**9000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"solvers:\n  - mpu: {{C: {THOUSAND}, passes: {THOUSAND}}}",
            "line 4: solvers.mpu: has 1,000,000 combinations of values, and the limit is 20,000",
        ),
        (
            f"solvers: [{{mpu: {{{', '.join(f'C{key}: {THOUSAND}' for key in range(6))}}}}}]",
            "has 1,000,000,000,000,000 or more combinations of values",
        ),
        (f"repeats: 300\nsolvers:\n  - mpu: {{C: {THOUSAND}}}", "line 5: solvers.mpu: has 300,000 runs"),
        ("repeats: 12_000\nsolvers:\n  - mpu\n  - dcd", "line 6: solvers.dcd: has 24,000 runs"),
        ("repeats: 12_000\nsolvers:\n  - mpu: {C: [1, 2]}", "line 5: solvers.mpu: has 24,000 runs"),
        (
            "solvers:\n- mpu: {kernel: []}",
            "line 4: solvers.mpu.kernel: an empty list sweeps nothing",
        ),
        ("solvers: [mpu: {C: {over-examples: []}}, dcd]", "line 3: solvers.mpu.C: an empty list sweeps nothing"),
        (
            "solvers: [smo]\nkernel: {gaussian: {gamma: {over-features: []}}}",
            "line 4: kernel.gaussian.gamma: an empty list sweeps nothing",
        ),
        ("solvers: [dcd]\ntune: {C: [{over-examples: []}], holdout: 0.3}", "line 4: tune.C: must be a list of values"),
        ("solvers: [forgetron]\nbudget: {vectors: []}", "line 4: budget.vectors: must hold 1 at least, not []"),
        (
            f"solvers: [bpegasos]\nkernel: {{gaussian: {{gamma: {THOUSAND}}}}}\nbudget: {{vectors: {THOUSAND}}}",
            "line 3: solvers.bpegasos: has 1,000,000 runs",
        ),
        (
            f"solvers: [perceptron]\nkernel: {{polynomial: {{degree: {THOUSAND}, scale: {THOUSAND}}}}}",
            "line 4: kernel.polynomial: has 1,000,000 combinations of values",
        ),
        (TUNED + "folds: 1_000_000_000}", "line 4: tune.folds: must be less than or equal to 20000"),
        (TUNED + "folds: 20_000}", "line 4: tune: has 60,000 tuning runs"),
        (TUNED + "folds: 10, repeats: 1_000_000_000}", "line 4: tune.repeats: must be less than or equal to 20000"),
        (TUNED + "folds: 10, repeats: 5_000}", "line 4: tune: has 150,000 tuning runs"),
        (TUNED + "folds: 10, repeats: 1000, C2: [1, 2, 3, 4]}", "line 4: tune: has 120,000 tuning runs"),
        (f"{TUNED}holdout: 0.3, {', '.join(f'C{key}: [1]' for key in range(20))}}}", "tune: has 21 parameters"),
        (
            "solvers:\n  - mpu: {passes: [1, 2, 3, 4]}\ntune: {C: [1, 2, 3], folds: 2000}",
            "line 4: solvers.mpu: has 24,004 runs",
        ),
        (f"solvers: [{'mpu, ' * 1001}]", "solvers: must have at most 1000 items"),
        (
            CLAIM % f"{{C: {THOUSAND}, passes: {THOUSAND}}}",
            "line 7: claims.statement.each: has 1,000,000 points, and the limit is 10,000",
        ),
    ],
)
def test_a_plan_that_is_too_large_is_refused_before_it_is_made(refused, text: str, message: str) -> None:
    assert message in refused(HEAD + text)


def test_every_problem_that_a_dataset_is_split_into_is_counted(read, refused) -> None:
    text = "name: tried\ndataset: {digits: {bipartitions: five-against-five}}\nsolvers: [dcd]\nrepeats: %d\n"
    assert len(read(text % 2).datasets) == 126
    assert "has 20,034 runs" in refused(text % 159)


def test_seeds_of_single_datasets_are_counted(refused) -> None:
    text = "name: tried\ndatasets: [adult, web]\nsolvers: [dcd]\nrepeats: {per-dataset: {web: 20_000, otherwise: 1}}\n"
    assert "line 3: solvers.dcd: has 20,001 runs" in refused(text)


def test_the_largest_plan_is_read(read) -> None:
    experiment = read(HEAD + f"repeats: {MAX_RUNS // 2}\nsolvers: [{{mpu: {{C: [1, 2]}}}}]\n")
    assert len(experiment.seeds) * len(experiment.solvers) == MAX_RUNS


HUGE = 10**30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"seed: {2**32}", "seed: must be less than or equal to 4294967295, not 4294967296"),
        (f"seed: {HUGE}", ": must be a valid integer"),
        (f"seed: {2**32 - 1}\nrepeats: 2", "line 4: seed: the last of the 2 seeds from 4,294,967,295 on is beyond"),
        ("seed: true", "seed: must be a valid integer, not True"),
        (f"repeats: {HUGE}", "repeats: must be"),
        ("threads: 1025", "threads: must be less than or equal to 1024"),
        (f"threads: {HUGE}", "threads: must be a valid integer"),
        (f"budget: {{vectors: {2**31}}}", "budget.vectors: must be less than or equal to 2147483647"),
        (f"budget: {{vectors: [1, {HUGE}]}}", "budget.vectors: must be a valid integer"),
        ("kernel: {polynomial: {degree: 101}}", "degree: must be less than or equal to 100"),
        ("kernel: {polynomial: {degree: 2, offset: .inf}}", "offset: must be a finite number"),
        ("kernel: {gaussian: {gamma: .inf}}", "gamma: must be greater than 0 and finite, not inf"),
        ("kernel: {gaussian: {gamma: .nan}}", "gamma: must be greater than 0 and finite, not nan"),
        ("kernel: {gaussian: {gamma: {over-features: [[1]]}}}", "gamma: must be greater than 0 and finite, not [1]"),
        ("kernel: {gaussian: {gamma: {over-features: true}}}", "gamma: must be greater than 0 and finite, not True"),
        ("checkpoints: {per_decade: 1001}", "per_decade: must be less than or equal to 1000"),
        ("checkpoints: {first: 1e9}", "first: must be less than or equal to 100000000"),
        ("stop: {passes: 1e300}", "passes: must be less than or equal to 100000000"),
        ("stop: {seconds: 1e10}", "seconds: must be less than or equal to 1000000000"),
        ("stop: {kernel_evaluations: 1e19}", "kernel_evaluations: must be less than or equal to 4000000000"),
        ("stop: {gap: .nan}", "stop.gap: must be"),
        (f"stop: {{gap: {'9' * 400}}}", "line 4: '9999999"),
        ("stop: {gap: 1e400}", "stop.gap: must be a finite number, not inf"),
        ("limits: {seconds: 1e300}", "limits.seconds: must be less than or equal to 1000000000"),
        (f"limits: {{memory: {HUGE}}}", "limits.memory: must be a number of bytes"),
        ("limits: {memory: 1e10}", "limits.memory: must be a number of bytes, or a number and a unit"),
        ("limits: {memory: -4}", "limits.memory: must be a number of bytes, or a number and a unit"),
        ("limits: {memory: true}", "limits.memory: must be a number of bytes, or a number and a unit"),
        (f"limits: {{memory: {'9' * 300} EB}}", "limits.memory: must be a number of bytes"),
        ("limits: {memory: 1e400 GB}", "limits.memory: must be a number of bytes, or a number and a unit"),
        ("kernel_memory: 9999999 EB", "kernel_memory: must be less than or equal to"),
        ("tune: {C: [1], folds: 2, repeats: 20_001}", "tune.repeats: must be less than or equal to 20000"),
        (f"name: {'x' * 101}", "the key 'name' was already given"),
    ],
)
def test_every_number_has_an_upper_end(refused, text: str, message: str) -> None:
    assert message in refused(HEAD + f"solvers: [mpu]\n{text}\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"seed": HUGE}, "--seed: must be less than or equal to 4294967295"),
        ({"threads": HUGE}, "--threads: must be less than or equal to 1024"),
        ({"repeats": HUGE}, "--repeats: must be less than or equal to 20000"),
        ({"kernel_memory": "9" * 300 + "EB"}, "--kernel-memory: must be a number of bytes"),
        ({"seed": 2**32 - 1, "repeats": 2}, "--seed: the last of the 2 seeds"),
        ({"settings": [f"seed={HUGE}"]}, ": must be a valid integer"),
        ({"settings": ["seed=" + "9" * 5000]}, "no whole number that can be read"),
    ],
)
def test_options_have_the_same_ends(refused, option: dict[str, object], message: str) -> None:
    assert message in refused(HEAD + "solvers: [mpu]\n", **option)
