"""Seconds of the kernel solvers as ratios to LIBSVM, and of kernel rows to the machine's own matrix product.

    python scripts/bench/kernel.py [--datasets adult mnist-8] [--repeats 1] [--threads 1] [--rows-only]

One process, and 2 GB for kept kernel values, both. Machine code is compiled before the clock starts, and the conversion
of the examples for the peer is not counted. Solvers: seconds of the clock, which the ratios are of, and beside them
those of the processor, which other processes disturb less. Rows: of the processor, or of the clock with several
threads. LIBSVM has one thread in any case. A dataset that cannot be had is a line that says why.

Rows: microseconds of a row, and the seconds of the clock that two threads take as a share of those of one. *sgemm*: the
floating point operations that inner products of dense rows would take, as a share of what sgemm does in the same run.
*memory*: the bytes that a row reads, as a share of what a plain sum reads. A row of dense examples uses each value
once, so that memory is what bounds it.

smo: with a bias, C = 1 and a tolerance of 1e-3, as LIBSVM, and as oneDAL (onedal-svc) where scikit-learn-intelex is
installed; oneDAL has the threads of the bench. Its ways: pairs with a bias as in the papers' configs, and conjugate
steps, as of `SMOClassifier`, with a bias and without. Ratios are of user seconds; what the system takes for memory that
is touched first hangs on the machine, and stands beside them, of a first fit and of a second one in the process.

sbp: seconds until its average iterate has LIBSVM's test error and 0.1% more, on Adult with sigma2 = 100, lambda =
1/(100 n) and a bias, nu being that of the optimum, which is not the printed one. Its test error is looked at off the
clock, each time a tenth more iterations are done.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import argparse
import sys

import timing


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["adult"], choices=["adult", "mnist-8"])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows-only", action="store_true")
    return parser.parse_args()


OPTIONS = arguments()
timing.use_threads(OPTIONS.threads)

import os
import statistics

import numpy as np

from mpu_bench import solvers
from mpu_bench.core import buffers
from mpu_bench.core.counters import PRESENTED, new_counters
from mpu_bench.core.jit import jit
from mpu_bench.core.lru import clear
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Rows, count
from mpu_bench.core.solver import Solver, Status, Until
from mpu_bench.core.vector_store import BITS, COLUMNS, CSC, QUANTISED, VectorStore
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian, Kernel
from mpu_bench.kernels import matrix as kernel_matrix
from timing import Seconds, now

CLOCK = "processor" if OPTIONS.threads == 1 else "clock"
MEMORY_BYTES = 2 << 30
GAMMAS = {"adult": 0.05, "mnist-8": 1 / 50}  # sigma2 = 10; MNIST: 25
LAYOUTS = {BITS: "bits", QUANTISED: "quantised", COLUMNS: "columns", CSC: "csc"}
ROWS_AT_ONCE = 64
WAYS: dict[str, dict[str, bool]] = {
    "smo": {"bias": True},
    "smo, conjugate steps": {"bias": True, "conjugate": True},
    "smo, conjugate steps, without a bias": {"conjugate": True},
}
ROWS = ("adult", "reuters-money-fx", "mnist-8")
SMALL = ((1000, 8, 0.5), (3089, 4, 0.0), (4435, 36, 0.2), (5000, 10, 0.5), (8124, 20, 0.0))  # n, d, noise
SMALL_C = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: peer -> what it is called in the table of all benches
PEERS = {"libsvm": "LIBSVM", "onedal-svc": "oneDAL"}
NU = 1.367e-3  # of Adult's optimum with sigma2 = 100, lambda = 1/(100 n) and a bias; sbp-2012 prints 5.79e-4


def seconds(function, attempts: int) -> float:
    return timing.seconds(function, attempts=attempts, clock=CLOCK)


def sgemm_rate() -> float:
    """Return the floating point operations a second of a large product."""
    square = np.random.default_rng(0).random((2048, 2048), np.float32)
    return 2 * 2048**3 / seconds(lambda: square @ square, 5)


def read_rate() -> float:
    """Return the bytes a second that a sum reads of what no cache holds."""
    numbers = np.ones(100_000_000, np.float32)
    return numbers.nbytes / seconds(lambda: numbers @ numbers, 5)


def fresh_memory() -> float:
    """Return the seconds that a gigabyte takes to be there when it is touched for the first time."""

    def touch() -> None:
        np.empty(1 << 28, np.uint8)[::4096] = 1

    return 4 * seconds(touch, 1)


def read_bytes(store: VectorStore, i: int) -> int:
    """Return the bytes of the examples that row i reads."""
    if store.layout == CSC:
        columns = store.row_columns[store.row_starts[i] : store.row_starts[i + 1]]
        return int((store.starts[columns + 1].astype(int) - store.starts[columns]).sum()) * 8
    columns = {BITS: store.bits, QUANTISED: store.quantised, COLUMNS: store.columns}[store.layout]
    return int(np.count_nonzero(columns[:, i])) * columns[0].nbytes


@jit
def ask(held, several, counters):
    """Ask for rows as a solver does, none of which is kept."""
    for i in several:
        kernel_matrix.row_slot(held, i, counters)


def row_seconds(rows: Rows, features: int, threads: int, clock: str) -> tuple[float, kernel_matrix.Gram]:
    """Return the seconds of a kernel row, and where it was computed."""
    several, counters = np.arange(ROWS_AT_ONCE, dtype=np.uint32), new_counters()
    with kernel_matrix.threads(threads):
        held = kernel_matrix.build(rows, features, Gaussian(0.05), memory=ROWS_AT_ONCE * 4 * count(rows))
        ask(held, several, counters)  # compiles
        spent = timing.seconds(lambda: ask(forget(held), several, counters), attempts=9, clock=clock)
    return spent / ROWS_AT_ONCE, held


def measure_rows(name: str, rows: Rows, features: int, sgemm: float, read: float, ratios: timing.Ratios) -> None:
    row, held = row_seconds(rows, features, OPTIONS.threads, CLOCK)
    n, several = count(rows), range(ROWS_AT_ONCE)
    work, size = 2.0 * n * features, statistics.mean(read_bytes(held.store, i) for i in several)
    print(
        f"{name:17} n = {n:6} d = {features:5} {LAYOUTS[held.store.layout]:9} a row {row * 1e6:7.1f} us"
        f"   sgemm {work / row / sgemm:5.2f}   memory {size / row / read:5.2f}",
        flush=True,
    )
    shares = {"sgemm": work / row / sgemm, "the bytes a sum reads": size / row / read}
    nearer = max(shares, key=lambda name: shares[name])
    ratios.add(f"{name}, a kernel row", "", shares[nearer], nearer, better="more", bound_by=nearer)
    if held.store.layout != CSC and (os.cpu_count() or 1) > 1:
        both = statistics.median(
            row_seconds(rows, features, 2, "clock")[0] / row_seconds(rows, features, 1, "clock")[0] for _ in range(5)
        )
        print(f"{'':17} on two threads {both:.2f} of the seconds of one (goal: {1 / 1.6:.2f})", flush=True)
        bound = "half, and the memory that both read"
        ratios.add(f"{name}, a kernel row on two threads", "", both, "seconds of one thread", bound_by=bound)


def forget(held: kernel_matrix.Gram) -> kernel_matrix.Gram:
    clear(held.lru)
    return held


def train(solver: Solver, problem: Problem, kernel: Kernel) -> tuple[Seconds, float, float]:
    """Train to the end; return seconds, objective and test error."""
    before = now()
    state = solver.start(problem, kernel, 0)
    if not solver.sliceable:
        before = now()
    status = solver.advance(state, Until())
    elapsed = now() - before
    if status != Status.DONE:
        raise SystemExit(f"{solver.name} on {problem.name}: {status.name}")
    objective = solver.measures(state).objective
    error = float(np.mean(solver.model(state).labels(problem.test) != problem.test_labels))
    return elapsed, objective, error


def measure(problem: Problem, kernel: Kernel, repeats: int, ratios: timing.Ratios) -> None:
    peers = {name: solvers.load(name)(C=1.0, cache_mb=MEMORY_BYTES / 2**20) for name in installed_peers()}
    every = {way: solvers.load("smo")(C=1.0, **parameters) for way, parameters in WAYS.items()} | peers
    for solver in every.values():
        train(solver, timing.few_rows(problem, 250), kernel)  # compiles, or imports
    buffers.release()
    found = [{name: train(solver, problem, kernel) for name, solver in every.items()} for _ in range(repeats)]
    for name in every:
        least = Seconds(*map(min, zip(*(each[name][0] for each in found), strict=True)))
        _, objective, error = found[0][name]
        print(
            f"{problem.name:12} {name:36} {least}   objective {objective:.4f}   test error {100 * error:.2f}%",
            flush=True,
        )
    for way in WAYS:
        for name in peers:
            faster = statistics.median(each[name][0].user / each[way][0].user for each in found)
            print(f"{problem.name:12} {way} is {faster:.1f} times faster than {name}", flush=True)
            case, against = f"{problem.name}, {way}", f"seconds of {PEERS[name]}"
            ratios.add(case, "smo", 1 / faster, against, bound_by="computing kernel rows")
    measure_memory(problem, kernel, ratios)


def measure_memory(problem: Problem, kernel: Kernel, ratios: timing.Ratios) -> None:
    """Print what the system takes for rows' memory, in a first fit and in a second one, as a part of user seconds."""
    solver = solvers.load("smo")(C=1.0, bias=True, conjugate=True)
    buffers.release()
    for fit in ("first", "second"):
        spent = train(solver, problem, kernel)[0]
        print(f"{problem.name:12} {fit} fit: the system's seconds are {spent.system / spent.user:.2f} of the user's")
        case = f"{problem.name}, seconds of the system in a {fit} fit"
        ratios.add(
            case, "smo", spent.system / spent.user, "its user seconds", bound_by="memory that the host must find"
        )


def installed_peers() -> list[str]:
    """Return the peers that can train here."""
    return [name for name in PEERS if not solvers.not_installed(name)]


def seconds_to(solver: Solver, problem: Problem, kernel: Kernel, error: float) -> tuple[Seconds, float, float]:
    """Train until the test error is no larger; return seconds, epochs and the error."""
    before = now()
    state = solver.start(problem, kernel, 0)
    spent, status, found = now() - before, Status.RUNNING, 1.0
    while found > error and status == Status.RUNNING:
        before, presented = now(), int(state.counters[PRESENTED])
        status = solver.advance(state, Until(presented + max(problem.n // 20, presented // 10)))
        spent += now() - before
        found = float(np.mean(solver.model(state).labels(problem.test) != problem.test_labels))
    return spent, state.counters[PRESENTED] / problem.n, found


def small(n: int, d: int, noise: float, seed: int) -> Problem:
    """Make standardised examples of two classes that a curved surface separates, but for the noise."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((n, d), np.float32)
    score = np.sin(2 * values[:, 0]) + values[:, 1] * values[:, 2] + noise * random.standard_normal(n)
    rows, labels = Dense(values), (score > 0).astype(np.int32)
    return Problem(f"generated {n:,} x {d}", rows, labels, rows, labels, d, ("no", "yes"), f"{n} {d} {noise} {seed}")


def measure_small(ratios: timing.Ratios) -> None:
    """Print how much faster smo is than each peer on small sets, for C from little to much; in all and at the least."""
    names = installed_peers()
    faster: dict[str, list[float]] = {name: [] for name in names}
    large_C: dict[str, list[float]] = {name: [] for name in names}
    no_bias: list[float] = []
    for n, d, noise in SMALL:
        problem, kernel = small(n, d, noise, seed=n), Gaussian(1.0 / d)
        for C in SMALL_C:
            own = [solvers.load("smo")(C=C, bias=bias, conjugate=True) for bias in (True, False)]
            every = [*own, *(solvers.load(name)(C=C, cache_mb=2048.0) for name in names)]
            for solver in every:
                train(solver, timing.few_rows(problem, 100), kernel)  # compiles, or imports
            rounds = [[train(each, problem, kernel)[0].user for each in every] for _ in range(3)]
            mine, without, *theirs = map(min, zip(*rounds, strict=True))
            no_bias.append(without / mine)
            print(f"{problem.name:22} C = {C:<6g} smo {mine:7.3f} s, without a bias {without:7.3f} s", end="")
            for name, spent in zip(names, theirs, strict=True):
                faster[name].append(spent / mine)
                if SMALL_C[-1] == C:
                    large_C[name].append(spent / mine)
                print(f"   {name} {spent:7.3f} s: {spent / mine:5.1f} times", end="")
            print(flush=True)
    passes = "two passes over the active variables an iteration, and rows that are read from memory"
    for name in names:
        mean, least, against = timing.geometric_mean(faster[name]), min(faster[name]), f"seconds of {PEERS[name]}"
        goals = (" (goal: 5)", " (1.5)") if name == "libsvm" else ("", "")
        print(
            f"small sets: smo is {mean:.1f} times faster than {name} in geometric mean{goals[0]}, "
            f"at the least {least:.1f}{goals[1]}"
        )
        ratios.add("small generated sets, C from 0.1 to 1000", "smo", 1 / mean, against, bound_by=passes)
        ratios.add("the worst of them", "smo", 1 / least, against, bound_by=passes)
        ratios.add("the worst of them with C = 1000", "smo", 1 / min(large_C[name]), against, bound_by=passes)
        print(f"with C = 1000 from {min(large_C[name]):.1f} to {max(large_C[name]):.1f} times (goal: 3)")
    ratios.add("small generated sets, without a bias", "smo", max(no_bias), "its seconds with a bias", bound_by=passes)
    print(f"smo without a bias takes at most {max(no_bias):.2f} of the seconds with one (goal: 1)")


def measure_sbp(problem: Problem, ratios: timing.Ratios) -> None:
    kernel, own, peer = Gaussian(1 / 200), solvers.load("sbp")(nu=NU, bias=True), solvers.load("libsvm")(C=100.0)
    seconds_to(own, timing.few_rows(problem, 250), kernel, 0.5)  # compiles
    theirs, _, target = train(peer, problem, kernel)
    mine, epochs, error = seconds_to(own, problem, kernel, target + 0.001)
    print(f"{problem.name:12} libsvm   {theirs}   test error {100 * target:.2f}%   (sigma2 = 100, C = 100)")
    print(f"{problem.name:12} sbp      {mine}   test error {100 * error:.2f}%   after {epochs:.2f} epochs")
    print(
        f"{problem.name:12} sbp takes {mine.clock / theirs.clock:.3f} of libsvm's seconds (claimed: 0.25, goal: 0.1)",
        flush=True,
    )
    ratios.add(
        f"{problem.name}, to LIBSVM's test error",
        "sbp",
        mine.user / theirs.user,
        "seconds of LIBSVM",
        bound_by="computing kernel rows",
    )


def main() -> int:
    kernel_matrix.PROVISION.memory = MEMORY_BYTES
    ratios = timing.Ratios()
    sgemm, read = sgemm_rate(), read_rate()
    print(
        f"{OPTIONS.threads} thread(s)   sgemm: {sgemm / 1e9:.0f} GFLOP/s   a sum reads {read / 1e9:.1f} GB/s"
        f"   memory touched first: {fresh_memory():.2f} s/GB"
    )
    random = np.random.default_rng(0)
    measure_rows("dense random", Dense(random.random((30_000, 784), np.float32)), 784, sgemm, read, ratios)
    problems: dict[str, Problem] = {}
    for name in dict.fromkeys([*ROWS, *OPTIONS.datasets]):
        try:
            problems[name] = timing.load(name)
        except UserError as error:
            print(f"{name}: not available: {error}", flush=True)
            continue
        measure_rows(name, problems[name].train, problems[name].features, sgemm, read, ratios)
    available = [name for name in OPTIONS.datasets if name in problems]
    for peer in PEERS:
        if missing := solvers.not_installed(peer):
            print(f"{peer}: skipped: {missing}", flush=True)
    for name in [] if OPTIONS.rows_only else available:
        measure(problems[name], Gaussian(GAMMAS[name]), OPTIONS.repeats, ratios)
        if name == "adult":
            measure_sbp(problems[name], ratios)
    if not OPTIONS.rows_only:
        measure_small(ratios)
    if OPTIONS.threads == 1:
        ratios.write()
    return 0 if available else 2


if __name__ == "__main__":
    with kernel_matrix.threads(OPTIONS.threads):
        sys.exit(main())
