"""From a wheel, in an empty folder: what a person with a file, with arrays, or with a solver of his own does first."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
Call = Callable[..., subprocess.CompletedProcess[str]]
#: calls verbs, each as the command line does, and prints what each of them prints
IN_ONE_PROCESS = """
import json, sys
from typer.testing import CliRunner
from mpu_bench.cli.app import app
told = [CliRunner().invoke(app, command) for command in json.loads(sys.argv[1])]
assert not any(each.exit_code for each in told), [each.output for each in told]
print(json.dumps([each.stdout for each in told]))
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel and unpack it as an installation does."""
    pytest.importorskip("pip", reason="builds a wheel with pip, which an environment made by uv has not")
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(ROOT)],
        capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip
    if "Could not find a version that satisfies the requirement hatchling" in built.stderr:
        pytest.skip("needs hatchling, from a package index")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    compileall.compile_dir(folder / "site", quiet=1)
    return folder / "site"


@pytest.fixture
def call(site: Path, tmp_path: Path) -> Call:
    """Run Python in an empty folder, where the package is that of the wheel."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(site), "MPU_BENCH_DATA": str(tmp_path / "home")}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment,
            capture_output=True, text=True, check=False, timeout=280,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done

    return run


def test_it_is_the_wheel_that_is_tested(call: Call, site: Path) -> None:
    assert call("-c", "import mpu_bench; print(mpu_bench.__file__)").stdout.startswith(str(site))


def test_nothing_of_the_package_is_missing(site: Path) -> None:
    files = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / "mpu_bench").rglob("*") if path.is_file()}
    made = {path for path in files if path.parent.name == "__pycache__"}
    assert files - made <= {path.relative_to(site) for path in site.rglob("*")}


def test_a_person_with_a_file(call: Call, tmp_path: Path) -> None:
    rows = [f"{i % 17},{('red', 'blue')[i % 3 == 0]},{('no', 'yes')[i % 17 > 8]}" for i in range(300)]
    (tmp_path / "mine.csv").write_text("\n".join(["age,color,answer", *rows]) + "\n", encoding="utf-8")
    done = call("-m", "mpu_bench", "try", "mine.csv", "--only", "dcd", "--seconds", "200", "--jobs", "1")
    assert "mine: take dcd" in done.stdout
    folder = Path("results", "try-mine")
    assert sorted(path.name for path in (tmp_path / folder).glob("[!.]*")) == [
        "candidates.csv", "front.png", "front.svg", "model.c", "model.mpu", "model.onnx", "repeat.yaml", "report.html",
    ]  # fmt: skip
    model = str(folder / "model.mpu")
    commands = [
        ["predict", model, "mine.csv"],
        ["evaluate", model, "mine.csv"],
        ["export-c", model, "--out", "model.c", "--check", "mine.csv"],
        ["data", "add", "mine.csv", "--name", "persons"],
    ]
    told = json.loads(call("-c", IN_ONE_PROCESS, json.dumps(commands)).stdout.splitlines()[-1])
    predicted = told[0].splitlines()
    assert len(predicted) == 301
    assert predicted[9] in ("9,no", "9,yes")
    assert "error, %" in told[1]
    assert "predict" in (tmp_path / "model.c").read_text(encoding="utf-8")
    assert (tmp_path / "datasets" / "persons.yaml").is_file()


def test_a_person_with_arrays(call: Call, tmp_path: Path) -> None:
    (tmp_path / "three_lines.py").write_text(
        "from sklearn.datasets import load_breast_cancer\n"
        "from mpu_bench import DCDClassifier\n"
        "X, y = load_breast_cancer(return_X_y=True)\n"
        "print(DCDClassifier(tol=0.1).fit(X / X.max(axis=0), y).n_iter_)\n",
        encoding="utf-8",
    )
    assert int(call("three_lines.py").stdout) > 0


def test_a_person_with_a_solver(call: Call, tmp_path: Path) -> None:
    call("-m", "mpu_bench", "new", "solver", "my-solver")
    assert (tmp_path / "my_solver.py").is_file()
    only = ("--only", "solver=my-solver")  # the others of its config are compiled anew for every folder
    assert "my-solver" in call("-m", "mpu_bench", "run", "my_solver.yaml", *only).stdout
