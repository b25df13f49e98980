"""`kernel_matrix: shared`: the same results, one matrix, nothing left behind."""

import os
from dataclasses import asdict

import numpy as np
import pytest

from mpu_bench.core.counters import new_counters
from mpu_bench.experiment import shared_matrix
from mpu_bench.kernels import Gaussian, Linear
from mpu_bench.kernels import matrix as kernel_matrix
from mpu_bench.results.store import MATRICES

GAUSSIAN = Gaussian(0.25)
OF_TIME = {"peak_memory_mb", "load", "disturbed", "only_delayed", "machine", "created"}


def results_of(record):
    return {
        name: value
        for name, value in asdict(record).items()
        if "seconds" not in name and "switches" not in name and name not in {*OF_TIME, "kernel_computed"}
    }


def test_runs_that_share_come_to_the_same_results_and_none_computes_a_row(execute, by_rows, tmp_path):
    config = f"repeats: 2\n{by_rows}  - rff: {{regularization: 0.01, pairs: 4}}\n"
    own, _ = execute(config, folder="own")
    shared, _ = execute(f"{config}kernel_matrix: shared\n", folder="shared")
    assert list(map(results_of, shared)) == list(map(results_of, own))
    for record, alone in zip(shared, own, strict=True):
        shares = record.solver != "rff"  # which has no kernel rows
        assert (record.kernel_matrix_seconds is not None) == shares
        assert alone.kernel_matrix_seconds is None
        assert ((record.kernel_computed or 0) == 0) == (shares or alone.kernel_computed == 0)
        if shares:
            assert record.disturbed == shared_matrix.DISTURBS
    took = [record.kernel_matrix_seconds for record in shared if record.kernel_matrix_seconds]
    assert len(took) == 1, "one run had it computed"
    assert not list((tmp_path / "shared").rglob(MATRICES))


def test_machines_of_one_run_share_where_each_has_all_rows(execute):
    text = "name: several\ndataset: digits\nkernel: {gaussian: {gamma: 0.001}}\nkernel_matrix: shared\n"
    text += "solvers: [smo: {C: 1, multiclass: [one-against-rest, one-against-one]}]\n"
    (rest, one), _ = execute(text)
    assert rest.kernel_matrix_seconds > 0
    assert rest.kernel_computed == 0
    assert one.kernel_matrix_seconds is None
    assert one.kernel_computed > 0


def test_a_matrix_that_is_too_large_is_not_shared_and_the_row_says_so(execute):
    text = "kernel: {gaussian: {gamma: 0.001}}\nsolvers: [smo: {C: 1}]\nkernel_matrix: shared\nkernel_memory: 1 MB\n"
    (record,), _ = execute(text)
    assert record.status == "done"
    assert "not shared" in record.reason
    assert "0.001 GB are allowed" in record.reason
    assert record.kernel_matrix_seconds is None


def test_machines_that_cannot_write_it_keep_rows_of_their_own(execute, tmp_path, monkeypatch):
    folder = tmp_path / "results" / "tried"
    folder.mkdir(parents=True)
    (folder / MATRICES).write_text("in the way", encoding="utf-8")
    text = "kernel: {gaussian: {gamma: 0.001}}\nsolvers: [smo: {C: 1}]\nkernel_matrix: shared\n"
    (record,), _ = execute(text)
    assert record.status == "done"
    assert "not shared" in record.reason


@pytest.fixture
def attach(tmp_path):
    """Attach a run with a solver to the matrix of a problem; at the end nothing is shared any more."""
    from types import SimpleNamespace

    from mpu_bench import solvers
    from mpu_bench.solvers.contract import toys

    def attach(kernel=GAUSSIAN, memory=None, solver="smo", seed=0):
        problem = toys.problem(*toys.real(seed=seed), "dense")
        problem = problem.__class__(**{**vars(problem), "fingerprint": f"toy-{seed}"})
        run = SimpleNamespace(solver=SimpleNamespace(parameters={}), settings=SimpleNamespace(kernel_memory=memory))
        made = toys.with_small_parameters(solvers.load(solver))
        found = shared_matrix.attach(tmp_path / "matrices", run, made, problem, kernel, lambda: None)
        return problem, found

    yield attach
    kernel_matrix.PROVISION.shared = None


def test_a_matrix_is_computed_once_for_the_same_rows_and_kernel(attach, tmp_path):
    _, first = attach()
    _, again = attach(solver="sdca")
    assert first[0] > 0
    assert again == (0.0, "")
    assert attach(Linear())[1][0] > 0
    assert attach(seed=1)[1][0] > 0
    assert len(list((tmp_path / "matrices").glob("*.float32"))) == 3


def test_those_used_before_make_room(attach, tmp_path):
    size = attach()[0].n ** 2 * 4
    attach(Linear(), memory=2 * size)
    kept = set((tmp_path / "matrices").glob("*.float32"))
    assert len(kept) == 2
    for age, path in enumerate(sorted(kept)):
        os.utime(path, (1000 + age, 1000 + age))
    attach(seed=1, memory=2 * size)
    left = set((tmp_path / "matrices").glob("*.float32"))
    assert len(left) == 2
    assert left & kept == {max(kept)}


def test_a_gram_of_other_rows_or_of_double_precision_takes_none_of_it(attach):
    problem, _ = attach()
    kernel, d = GAUSSIAN, problem.features
    assert (kernel_matrix.build(problem.train, d, kernel).lru.slot_of_row >= 0).all()
    other = problem.train.__class__(problem.train.values.copy())
    for built in (
        kernel_matrix.build(other, d, kernel),
        kernel_matrix.build(problem.train, d, Gaussian(0.5)),
        kernel_matrix.build(problem.train, d, kernel, precision="double"),
    ):
        assert (built.lru.slot_of_row < 0).all()


def test_shared_rows_are_bit_for_bit_those_a_gram_computes(attach):
    problem, _ = attach()
    shared = kernel_matrix.build(problem.train, problem.features, GAUSSIAN)
    kernel_matrix.PROVISION.shared = None
    own, counters = kernel_matrix.build(problem.train, problem.features, GAUSSIAN), new_counters()
    for i in range(problem.n):
        row = own.kept[kernel_matrix.row_slot(own, np.uint32(i), counters)]
        assert row.tobytes() == shared.kept[kernel_matrix.row_slot(shared, np.uint32(i), counters)].tobytes()
