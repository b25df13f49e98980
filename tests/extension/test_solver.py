"""A solver is one file, one line of the registry, and what its page says of its cost; all else follows from these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import checkout
from mpu_bench.solvers.plugins import scaffold

CONFIG = """
name: small
dataset: {checkerboard: {rows: 60, test_rows: 60}}
solvers: [{my-solver: {rate: [0.5, 1.0]}}, mpu]
stop: {passes: 3}
"""
PAGE = """
my-solver:
  complexity: d' operations for an example.
  choose: To see how a solver is added.
"""
#: what is asked of the solver, in a process that has the copy alone
ASKED = """
import json, pickle, sys
sys.path.insert(0, "scripts")
import numpy as np
import mpu_bench
from documents import solvers as pages
from mpu_bench.solvers import load
from mpu_bench.solver import CHECKS, classifier

MySolver = load("my-solver")
Mine = classifier(MySolver, "Mine")
random = np.random.default_rng(0)
X = random.normal(size=(80, 3))
y = np.where(X[:, 0] + 0.5 > 0, "yes", "no")
fitted = Mine(rate=0.5, random_state=0, max_iter=20).fit(X, y)
fitted.save("model.mpu")
try:
    Mine(rate=-1.0).fit(X, y)
    refused = ""
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "mine": mpu_bench.__file__,
    "checks": {key: check.of(MySolver) for key, check in CHECKS.items()},
    "score": fitted.score(X, y),
    "saved": float(np.mean(mpu_bench.load("model.mpu").predict(X) == y)),
    "pickled": float(np.mean(pickle.loads(pickle.dumps(fitted)).predict(X) == y)),
    "refused": refused,
    "page": pages.pages()["solvers/my-solver.md"],
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the project and add a solver as CONTRIBUTING says."""
    place = tmp_path_factory.mktemp("copy")
    package = checkout.copied(place, "scripts")
    (package / "solvers" / "linear" / "my_solver.py").write_text(scaffold.solver_text("my-solver"), encoding="utf-8")
    registry = package / "solvers" / "__init__.py"
    text, line = registry.read_text("utf-8"), '    "dcd": "mpu_bench.solvers.linear.dcd:DCD",\n'
    assert line in text
    mine = line.replace("dcd", "my-solver", 1).replace("dcd:DCD", "my_solver:MySolver")
    registry.write_text(text.replace(line, line + mine), encoding="utf-8")
    with (place / "scripts" / "documents" / "solvers.yaml").open("a", encoding="utf-8") as page:
        page.write(PAGE)
    (place / "small.yaml").write_text(CONFIG, encoding="utf-8")
    return place


def test_it_is_run_beside_the_others(copy: Path) -> None:
    done = checkout.command(copy, "run", "small.yaml", "--data", "data", "--results", "run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("my-solver") >= 2
    report = checkout.command(copy, "report", "run/small", "--out", "page")
    assert report.returncode == 0, report.stderr
    assert "my-solver" in (copy / "page" / "index.html").read_text("utf-8")


def test_a_mistake_in_its_parameters_is_one_message(copy: Path) -> None:
    (copy / "wrong.yaml").write_text(CONFIG.replace("rate", "rtae"), encoding="utf-8")
    done = checkout.command(copy, "run", "wrong.yaml", "--data", "data", "--results", "run")
    assert done.returncode == 2
    assert "wrong.yaml" in done.stderr
    assert "rate" in done.stderr


def test_it_is_listed(copy: Path) -> None:
    done = checkout.command(copy, "list", "solvers", "my-solver")
    assert done.returncode == 0, done.stderr
    assert "rate" in done.stdout


def test_it_is_checked_a_classifier_and_has_a_page(copy: Path) -> None:
    told = json.loads(checkout.call(copy, program=ASKED).splitlines()[-1])
    assert told["mine"].startswith(str(copy))
    assert len(told["checks"]) >= 14
    assert told["score"] == told["saved"] == told["pickled"] > 0.8
    assert told["refused"] == "rate is -1.0; it must be above 0"
    assert "To see how a solver is added." in told["page"]
    assert "How far a step goes" in told["page"]
