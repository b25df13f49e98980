"""``mpu-bench new``: files to begin with, and names that cannot be."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest
import yaml

from mpu_bench import solvers
from mpu_bench.config.read import read_config
from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.solvers.plugins import scaffold


def test_a_solver_and_its_config_are_written(called, place: Path) -> None:
    code, text = called("new", "solver", "my-solver")
    assert code == 0
    assert "written: my_solver.py, my_solver.yaml" in text
    assert (place / "my_solver.py").read_text(encoding="utf-8") == scaffold.solver_text("my-solver")
    assert (place / "my_solver.yaml").is_file()


def test_the_commands_that_follow_can_be_copied(called, place: Path) -> None:
    code, text = called("new", "solver", "my-solver", "--file", "my files/my solver.py")
    assert code == 0
    assert "mpu-bench check-solver 'my files/my solver.py'; run it: mpu-bench run 'my files/my solver.yaml'" in text


def test_files_that_are_there_are_not_overwritten(called, place: Path) -> None:
    (place / "my_solver.yaml").write_text("mine\n", encoding="utf-8")
    code, text = called("new", "solver", "my-solver")
    assert (code, text) == (
        2, "mpu-bench: my_solver.yaml: already exists; choose another name, or another --file\n",
    )  # fmt: skip
    assert not (place / "my_solver.py").exists()
    assert (place / "my_solver.yaml").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("my solver", None, "new solver: its name is 'my solver'; it must be a letter and then letters, digits"),
        ("8", None, "new solver: its name is '8'"),
        ("off", None, "which is no text in YAML"),
        ("mpu", None, "the project already has a solver 'mpu'; choose another name"),
        ("mine", "mine.txt", "mine.txt: the name of the file must end in .py"),
        ("numpy", None, "numpy.py: an installed package has a module 'numpy', which the file would hide"),
        ("annotated-types", None, "an installed package has a module 'annotated_types'"),
        ("json", None, "json.py: Python itself has a module 'json'"),
    ],
)
def test_names_that_cannot_be_are_refused(name: str, file: str | None, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        scaffold.write(name, None if file is None else tmp_path / file)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_the_solver_of_an_installed_package_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solvers, "package_of", lambda name: "theirs 1.2" if name == "dcd2" else "")
    with pytest.raises(ConfigError, match=r"the installed package theirs 1\.2 has a solver 'dcd2'; choose another"):
        scaffold.write("dcd2")


@pytest.mark.parametrize("name", ["STEPS", "PRESENTED", "UPDATES", "INNER_PRODUCTS", "exception", "rows", "State"])
def test_a_class_takes_the_place_of_no_other_name(name: str) -> None:
    tree = ast.parse(scaffold.solver_text(name))
    made = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    imported = [each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names]
    assert len(set(made + imported)) == len(made + imported)
    assert not set(made) & set(dir(builtins))


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        scaffold.write("mine", tmp_path / "file" / "mine.py")


@pytest.mark.parametrize("name", ["mine", "my-solver", "a+b.c", "Solver", "state", "x_1", "none-"])
def test_any_name_gives_a_class_and_a_config(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, config = scaffold.write(name)
    classes = [node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    assert len(set(classes)) == 2
    assert all(each.isidentifier() for each in classes)
    if name in ("a+b.c", "none-"):  # reading it imports the solver in a process of its own
        experiment = read_config(config)
        assert [choice.name for choice in experiment.solvers] == [name, "mpu", "perceptron"]
        solvers.forget_plugins()
    else:
        first, *_ = yaml.safe_load(config.read_text(encoding="utf-8"))["solvers"]
        assert list(first) == [name]
