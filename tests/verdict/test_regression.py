import json
from dataclasses import replace
from pathlib import Path

import pytest

import stored
from mpu_bench import solvers
from mpu_bench.errors import StoreError
from mpu_bench.verdict import regression
from mpu_bench.verdict.regression import Results
from oracles import made_up
from records import records

HERE = {
    "instruction_set": "znver4 1",
    "blas": ["openblas 0.3.31 SkylakeX"],
    "versions": {"mpu-bench": "1", "numpy": "2"},
}
RECORD = {
    "dataset": "adult", "solver": "mpu", "parameters": "{}", "kernel": "linear", "seed": 0, "status": "done",
    "n": 1000, "n_test": 16281, "updates": 1000, "kernel_evaluations": 10000, "objective": 2.0,
    "test_error": 0.15, "threads": 1, "cpu_seconds": 1.0,
}  # fmt: skip


def results(*changes, machine=HERE):
    return Results(Path("here"), records(RECORD | each for each in changes or ({},)), [machine])


def mismatches(now, kept, machine=HERE, solver="mpu"):
    left, right = results(now | {"solver": solver}), results(kept | {"solver": solver}, machine=machine)
    return [
        mismatch.words("now", "baseline")
        for each in regression.differences(left, right)
        for mismatch in each.mismatches
    ]


def test_a_parameter_that_a_solver_has_since_is_at_its_default_in_earlier_runs():
    """SMO has ``conjugate`` since: its earlier runs were compared with none, and nothing had changed."""
    before, now = '{"C": 1.0, "bias": false}', '{"C": 1.0, "bias": false, "conjugate": false}'
    assert mismatches({"parameters": now}, {"parameters": before}, solver="smo") == []
    assert len(mismatches({"parameters": now, "updates": 1001}, {"parameters": before}, solver="smo")) == 1
    other = '{"C": 1.0, "bias": false, "conjugate": true}'
    assert (
        regression.differences(
            results({"solver": "smo", "parameters": other}), results({"solver": "smo", "parameters": before})
        )
        == []
    )


ELSEWHERE = HERE | {"instruction_set": "haswell 2"}


def test_what_is_no_longer_counted_was_zero():
    assert mismatches({"updates": None}, {"updates": 0}) == []
    assert mismatches({"updates": None}, {}) == ["updates: now none, baseline 1e+03"]


def test_one_machine_is_one_set_of_instructions_and_one_of_libraries():
    assert regression.same_machine(results(), results(machine=HERE | {"processor": "another name", "cores": 64}))
    assert regression.same_machine(results(), results(machine=HERE | {"versions": {"mpu-bench": "2", "numpy": "2"}}))
    for change in (
        {"instruction_set": "haswell 2"},
        {"blas": ["openblas 0.3.31 Haswell"]},
        {"versions": {"numpy": "3"}},
        {"instruction_set": None},
    ):
        assert not regression.same_machine(results(), results(machine=HERE | change))
    unknown = HERE | {"instruction_set": None}
    assert not regression.same_machine(results(machine=unknown), results(machine=unknown))


@pytest.mark.parametrize("change", [{"updates": 1001}, {"objective": 2.0000001}, {"test_error": 0.1501}], ids=str)
def test_on_one_machine_all_is_equal_or_it_is_a_fault(change):
    for solver in ("mpu", "mfw"):
        assert mismatches({}, {}, solver=solver) == []
        assert len(mismatches(change, {}, solver=solver)) == 1


def test_elsewhere_most_solvers_count_the_same():
    assert mismatches({"objective": 2.0 + 1e-9}, {}, ELSEWHERE) == []
    assert mismatches({"updates": 1001}, {}, ELSEWHERE) == ["updates: now 1001, baseline 1000, +0.1%"]
    assert mismatches({"test_error": 0.1501}, {}, ELSEWHERE) == ["test error, %: now 15.01, baseline 15, +0.01 points"]
    assert mismatches({"objective": 2.00001}, {}, ELSEWHERE) == ["objective: now 2.00001, baseline 2, +0.0005%"]
    assert mismatches({"objective": -1.0}, {"objective": -2.0}) == ["objective: now -1, baseline -2, +50%"]


def test_elsewhere_a_count_may_differ_by_what_its_solver_says():
    rounding = regression.rounding_of("mfw")["updates"]
    nearly, too_far = round(1000 / (1 - 0.9 * rounding)), round(1000 / (1 - 1.1 * rounding))
    assert mismatches({"updates": nearly}, {}, ELSEWHERE, "mfw") == []
    assert len(mismatches({"updates": too_far}, {}, ELSEWHERE, "mfw")) == 1
    assert mismatches({"test_error": 0.155}, {}, ELSEWHERE, "mfw") == []  # 1.3 of its standard deviations
    assert len(mismatches({"test_error": 0.17}, {}, ELSEWHERE, "mfw")) == 1


def test_the_errors_of_a_last_hypothesis_may_scatter_as_far_as_its_solver_says():
    assert mismatches({"test_error": 0.17}, {}, ELSEWHERE, "forgetron") == []
    assert len(mismatches({"test_error": 0.21}, {}, ELSEWHERE, "forgetron")) == 1


def test_what_a_solver_says_of_rounding_is_about_quantities_that_are_held():
    held = {each.name for each in (*regression._COUNTS, *regression._VALUES, *regression._ERRORS)}
    for name in (*solvers.OWN, *solvers.INSTALLED):  # other tests may have registered plugins
        rounding = regression.rounding_of(name)
        assert set(rounding) <= held
        assert all(0 < allowed < 1 for allowed in rounding.values())
    assert regression.rounding_of("a plugin's") == {}


def test_a_run_that_its_seconds_ended_is_held_to_its_errors_alone():
    ended = {"status": "stopped", "ended_by": "seconds"}
    assert mismatches(ended | {"updates": 5}, ended) == []
    assert mismatches(ended | {"test_error": 0.5}, ended) == ["test error, %: now 50, baseline 15, +35 points"]


@pytest.mark.parametrize(
    ("now", "slower"),
    [((10, 25), False), ((1, 2.5), False), ((1, 6.5), True), ((0.1, 0.65), False), ((10, 1), False)],
    ids=["a slower machine", "a little", "another algorithm", "too short to tell", "faster"],
)
def test_seconds_are_held_to_those_of_the_first_solver(now, slower):
    left, right = (
        results({"cpu_seconds": seconds[0]}, {"solver": "dcd", "cpu_seconds": seconds[1]}) for seconds in (now, (1, 2))
    )
    assert bool(regression.slower(left, right)) == slower


@pytest.mark.parametrize("change", [{"disturbed": "waited 31% of its wall seconds"}, {"threads": None}], ids=str)
def test_disturbed_seconds_are_held_to_nothing(change):
    left, right = (
        results({"cpu_seconds": 1} | change, {"solver": "dcd", "cpu_seconds": seconds}) for seconds in (6.5, 2)
    )
    assert regression.slower(left, right) == []


def test_a_kept_folder_is_held_to_like_any_other(tmp_path):
    folder = made_up.results(tmp_path)
    kept = stored.accept(folder, tmp_path / "kept")
    assert [each.mismatches for each in regression.differences(regression.read(folder), regression.read(kept))] == [
        (),
        (),
    ]


def test_what_cannot_be_compared_is_one_message(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        regression.read(tmp_path)
    assert regression.differences(results(), results({"dataset": "web"})) == []
    place = stored.accept(made_up.results(tmp_path), tmp_path / "kept")
    lines = (place / "runs.csv").read_text().replace("test_error", "error").splitlines()
    (place / "runs.csv").write_text("\n".join(lines))
    with pytest.raises(StoreError, match="no column 'test_error'"):
        regression.read(place)


def test_a_machine_of_an_earlier_version_is_another(tmp_path):
    folder = made_up.results(tmp_path)
    kept = stored.accept(folder, tmp_path / "kept")
    machines = json.loads((kept / "environment.json").read_text())
    for machine in machines["machines"]:
        del machine["instruction_set"]
    (kept / "environment.json").write_text(json.dumps(machines))
    assert regression.same_machine(regression.read(folder), regression.read(folder))
    assert not regression.same_machine(regression.read(folder), regression.read(kept))


def test_seconds_of_two_machines_are_held_to_nothing():
    slow, before = (
        results({"cpu_seconds": seconds, "made_on": "here"}, {"solver": "dcd", "cpu_seconds": 1, "made_on": "here"})
        for seconds in (1, 1)
    )
    slow.records[1] = replace(slow.records[1], cpu_seconds=9)
    assert regression.slower(slow, before)
    assert [each.ratio for each in regression.differences(slow, before)] == [1, 9]
    slow.records[1] = replace(slow.records[1], made_on="there")
    assert regression.slower(slow, before) == []
    assert [each.ratio for each in regression.differences(slow, before)] == [1, None]


@pytest.mark.parametrize("machine", [HERE, ELSEWHERE], ids=["here", "elsewhere"])
@pytest.mark.parametrize(("name", "words"), [("updates", "updates: now none, baseline 1e+03"),
                                             ("test_error", "test error, %: now none, baseline 15.00")])  # fmt: skip
def test_what_is_no_longer_measured_has_changed(name, words, machine):
    assert mismatches({name: None}, {}, machine) == [words]
    assert mismatches({}, {name: None}, machine) == []  # measured since
