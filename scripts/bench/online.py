"""Processor seconds of bpegasos on the streams of bpegasos-2010, and how far from the machine's own limit they are.

    python scripts/bench/online.py [--quick] [--repeats 1]

One thread. Streams are generated and standardised before the clock starts, and machine code is compiled. The limit is
what a Gaussian kernel value of single precision takes at least: d multiply-adds and one exponential, both in vector
registers and on data in the nearest cache, measured in the same run.

Rows of words, few values in very many columns, are held against dense rows with as many values each: every learner
takes as many examples of both, with labels by chance, so that both make as many errors.
"""

# ruff: noqa: E402 - the number of threads is read when numpy and numba are imported

from __future__ import annotations

import timing

timing.use_threads(1)

import argparse
import sys
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mpu_bench import solvers
from mpu_bench.core.counters import KERNEL_EVALUATIONS, STEPS
from mpu_bench.core.exp import exp_single
from mpu_bench.core.jit import jit
from mpu_bench.core.problem import Problem
from mpu_bench.core.rows import Dense, Sparse, any_rows, count, take
from mpu_bench.core.solver import Until
from mpu_bench.core.vectors import append, kernel_values, new_vectors, padded
from mpu_bench.data.prepare import generators
from mpu_bench.errors import UserError
from mpu_bench.kernels import Gaussian

GAMMAS = {"checkerboard": 16.0, "waveform": 1.0, "adult": 4.0}  # over d
LENGTHS = (100_000, 1_000_000, 10_000_000)


BOUND_BY = {
    "merging": "the search for the partner: three exponentials and a division for each vector",
    "projection": "the bytes of the factor, B^2 / 2 numbers, read three times and written once where a vector leaves",
}


BOUND_BY_WORDS = {
    "bpegasos (merging)": "merged vectors fill up: each merge reads all values of one",
    "fogd": "frequencies of a row's columns, each read from memory",
}


class Case(NamedTuple):
    """What is run, and the seconds it may take."""

    data: str
    rows: int
    vectors: int
    maintenance: str
    at_most: float


CASES = (
    Case("checkerboard", 10_000_000, 100, "merging", 8.0),
    Case("waveform", 2_000_000, 100, "merging", 5.0),
    Case("waveform", 200_000, 500, "merging", np.inf),
    Case("waveform", 200_000, 500, "projection", np.inf),
    Case("adult", 32_561, 500, "merging", 0.3),
)


class Words(NamedTuple):
    """Rows of words: how often a word occurs falls as its rank rises (Zipf)."""

    name: str
    rows: int
    features: int
    words: int  #: of a row, about


WORDS = (Words("rcv1-like", 10_000, 47_236, 76), Words("news20-like", 2_000, 1_355_191, 455))
LEARNERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("perceptron", {}),
    ("perceptron-oldest", {"vectors": 100}),
    ("cks", {"vectors": 100}),
    ("forgetron", {"vectors": 100}),
    ("bpa-s", {"vectors": 100}),
    ("bpegasos", {"vectors": 100, "maintenance": "smallest"}),
    ("bpegasos", {"vectors": 100, "maintenance": "projection"}),
    ("bpegasos", {"vectors": 100, "maintenance": "merging"}),
    ("pegasos-multiclass", {}),
    ("projectron++", {"eta": 0.95}),
    ("fogd", {"pairs": 50}),
    ("cvm", {"C": 0.1, "eps": 1e-2}),
)


def of_words(words: Words) -> Problem:
    """Return rows of words."""
    random = np.random.default_rng(0)
    shares = np.cumsum(1.0 / (np.arange(words.features) + 2.7))
    names = random.permutation(words.features).astype(np.uint32)
    drawn = (
        random.permutation(np.unique(np.searchsorted(shares, shares[-1] * random.random(3 * words.words))))
        for _ in range(words.rows)
    )
    columns = [np.sort(names[each[: words.words]]) for each in drawn]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in columns])])
    values = random.random(starts[-1], np.float32) + np.float32(0.3)
    values /= np.repeat(np.sqrt(np.add.reduceat(values * values, starts[:-1])), np.diff(starts))
    rows = Sparse(values, np.concatenate(columns), starts.astype(np.uint32))
    return by_chance(words.name, rows, words.features)


def dense_of(problem: Problem) -> Problem:
    """Return dense rows with as many values each."""
    assert isinstance(problem.train, Sparse)
    width = round(len(problem.train.values) / problem.n)
    values = np.random.default_rng(1).random((problem.n, width), np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return by_chance(f"{problem.name}-dense", Dense(values), width)


def by_chance(name: str, rows: Sparse | Dense, features: int) -> Problem:
    """Return a problem whose labels are drawn."""
    labels = np.random.default_rng(2).integers(0, 2, int(count(rows))).astype(np.int32)
    few = np.arange(10)
    return Problem(name, rows, labels, take(rows, few), labels[few], features, ("no", "yes"), name)


def against_dense(words: Words, ratios: timing.Ratios) -> None:
    """Report how many times as long every learner takes with words as with dense rows of as many values."""
    sparse = of_words(words)
    problems = {"sparse": sparse, "dense": dense_of(sparse)}
    for name, options in LEARNERS:
        solver, found = solvers.load(name)(**options), {}
        for kind, problem in problems.items():
            few = replace(problem, train=take(problem.train, np.arange(300)), labels=problem.labels[:300])
            for part in (few, problem, problem):
                state, before = solver.start(part, Gaussian(0.5), 0), time.process_time()
                solver.advance(state, Until(presented=part.n))
                seconds = time.process_time() - before
                found[kind] = min(found.get(kind, np.inf), seconds if part is problem else np.inf)
        ratio, kept = found["sparse"] / found["dense"], options.get("maintenance", "")
        label = f"{name} ({kept})" if kept else name
        seconds = ", ".join(f"{kind} {found[kind]:.3f} s" for kind in problems)
        print(f"{words.name:13} {label:25} {seconds}: {ratio:.2f}", flush=True)
        ratios.add(
            f"{words.name}, {words.features:,} columns", label, ratio, "seconds of dense rows with as many values",
            bound_by=BOUND_BY_WORDS.get(label, "memory: a cache line or two for each value"),
        )  # fmt: skip


def stream(name: str, rows: int) -> Problem:
    """Generate a stream and hold it, standardised by its first block."""
    blocks = list(generators.blocks(name, "train", rows, {"seed": 0}))
    values, labels = (np.concatenate([block[part] for block in blocks]) for part in (0, 1))
    first = values[:65_536]
    values -= first.mean(axis=0)
    values /= first.std(axis=0)
    few, count = slice(0, 1000), generators.GENERATORS[name].classes
    classes = tuple(str(c) for c in range(count))
    return Problem(name, Dense(values), labels, Dense(values[few]), labels[few], values.shape[1], classes, name)


def beginning(problem: Problem, length: int) -> Problem:
    """Return the problem of a stream's first rows."""
    assert isinstance(problem.train, Dense)
    return replace(problem, train=Dense(problem.train.values[:length]), labels=problem.labels[:length])


def load(case: Case, quick: bool) -> Problem:
    """Return the case's examples."""
    if case.data in generators.GENERATORS:
        return stream(case.data, case.rows // 10 if quick else case.rows)
    return timing.load(case.data)


@jit(fastmath={"contract"})
def _products(columns, scales, out, repeats):
    for _ in range(repeats):
        for k in range(len(scales)):
            s = scales[k]
            for j in range(np.uint64(0), np.uint64(len(out))):
                out[j] += s * columns[k, j]


@jit(fastmath={"contract"})
def _exponentials(values, out, repeats):
    for _ in range(repeats):
        for j in range(np.uint64(0), np.uint64(len(out))):
            out[j] = exp_single(values[j])


def width(problem: Problem) -> float:
    """Return how many values of an example are kept."""
    rows = problem.train
    return problem.features if isinstance(rows, Dense) else float(np.mean(np.diff(rows.starts.astype(np.int64))))


def limit(features: float) -> float:
    """Return the seconds of d multiply-adds and one exponential."""
    lanes, depth, repeats = 512, 16, 1000
    columns, out = np.ones((depth, lanes), np.float32), np.zeros(lanes, np.float32)
    values, scales = np.linspace(-20, 0, lanes, dtype=np.float32), np.full(depth, 1e-9, np.float32)
    _products(columns, scales, out, 1)
    _exponentials(values, out, 1)
    product = timing.seconds(_products, columns, scales, out, repeats, attempts=30) / (lanes * depth * repeats)
    return features * product + timing.seconds(_exponentials, values, out, repeats, attempts=30) / (lanes * repeats)


@jit
def _rows(vectors, kernel, rows, out, repeats):
    for _ in range(repeats):
        for i in range(len(rows.dense)):
            kernel_values(vectors, kernel, rows, np.uint32(i), out)


def row_alone(name: str, count: int, ratios: timing.Ratios) -> None:
    """Report what a kernel value costs where nothing else is done: rows of so many vectors."""
    values = next(iter(generators.blocks(name, "train", 1000, {"seed": 0})))[0].astype(np.float32)
    vectors, out = new_vectors(values.shape[1], int(padded(count))), np.zeros(padded(count), np.float32)
    rows = any_rows(Dense(values))
    append(vectors, rows, 0, count)
    kernel, repeats = Gaussian(GAMMAS[name] / values.shape[1]), 20
    _rows(vectors, kernel, rows, out, 1)
    each = timing.seconds(_rows, vectors, kernel, rows, out, repeats, attempts=30) / (repeats * len(values) * count)
    least = limit(values.shape[1])
    print(
        f"{name:13} {count} kernel values of a row and nothing else: {1e9 * each:.2f} ns each,"
        f" limit {1e9 * least:.2f}: {least / each:.2f} of it"
    )
    ratios.add(
        f"{name}, a kernel row of {count} vectors",
        "",
        least / each,
        "d multiply-adds and one exponential a value, in vector registers",
        better="more",
        bound_by="reading the example, and what is left over of whole registers",
    )


def measure(case: Case, problem: Problem, repeats: int, ratios: timing.Ratios) -> float:
    """Train; report seconds, evaluations a second and the cost of an example for streams of several lengths."""
    solver = solvers.load("bpegasos")(vectors=case.vectors, maintenance=case.maintenance)
    kernel = Gaussian(GAMMAS[case.data] / problem.features)
    solver.advance(solver.start(problem, kernel, 1), Until(presented=2000))  # compiles
    costs = []  # of an example, by the length of the stream
    for length in sorted({problem.n, *(each for each in LENGTHS if each < problem.n)}):
        part = problem if length == problem.n else beginning(problem, length)
        best = np.inf
        for _ in range(repeats):
            state, before = solver.start(part, kernel, 0), time.process_time()
            solver.advance(state, Until(presented=length))
            best = min(best, time.process_time() - before)
        costs.append(1e9 * best / length)
    evaluations, least = int(state.counters[KERNEL_EVALUATIONS]), limit(width(problem))
    print(
        f"{case.data:13} n = {problem.n:9,} B = {case.vectors:3} {case.maintenance:10} {best:7.2f} s"
        f" (at most {case.at_most:g})  with a loss {state.counters[STEPS] / problem.n:5.1%}"
        f"  ns an example {' '.join(f'{cost:.0f}' for cost in costs)}"
        f"  ns an evaluation {1e9 * best / evaluations:.2f}, limit {1e9 * least:.2f}:"
        f" {least * evaluations / best:.2f} of it",
        flush=True,
    )
    ratios.add(
        f"{case.data}, {problem.n:,} rows, B = {case.vectors}",
        f"bpegasos ({case.maintenance})",
        least * evaluations / best,
        "the kernel values it asks for, at d multiply-adds and one exponential each",
        better="more",
        bound_by=BOUND_BY[case.maintenance],
    )
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a tenth of every generated stream")
    options = parser.parse_args()
    found: dict[tuple[str, int, str], float] = {}
    ratios = timing.Ratios()
    for case in CASES:
        try:
            problem = load(case, options.quick)
        except UserError as error:
            print(f"{case.data}: {error}", file=sys.stderr)
            continue
        found[case.data, case.vectors, case.maintenance] = measure(case, problem, options.repeats, ratios)
    for name in dict.fromkeys(case.data for case in CASES if case.data in generators.GENERATORS):
        row_alone(name, 100, ratios)
        row_alone(name, 500, ratios)
    for words in WORDS:
        against_dense(words._replace(rows=words.rows // 10) if options.quick else words, ratios)
    ratio = found["waveform", 500, "projection"] / found["waveform", 500, "merging"]
    print(f"waveform B = 500: projection takes {ratio:.1f} times merging's seconds (at most 15)")
    ratios.add(
        "waveform, B = 500", "bpegasos (projection)", ratio, "seconds of merging", bound_by=BOUND_BY["projection"]
    )
    ratios.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
