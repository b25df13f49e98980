"""``repeat.yaml`` trains the very model again: of every candidate, two and several classes, with weights or not."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sklearn.exceptions import ConvergenceWarning

import mpu_bench
from mpu_bench import yaml_text
from mpu_bench.config.read import read_config
from mpu_bench.core.models import LinearModel, labels_of
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import load_problem
from mpu_bench.data.user_files.adding import FileOptions, options_of
from mpu_bench.errors import DataError
from mpu_bench.experiment import bind, trace
from mpu_bench.experiment.plan import plan
from mpu_bench.selection.candidates import Candidate, Facts, candidates
from mpu_bench.selection.repetition import config_of, exports_of, model_of
from mpu_bench.selection.rows import Source
from mpu_bench.selection.schedule import Fit, Fitted
from mpu_bench.selection.worker import Evaluated, Evaluation, _scores, answer, model_path

OWN = [each for each in candidates(Facts(0.5, budgets=(5,))) if each.is_own]
WEIGHTED = candidates(Facts(0.5, "f1", budgets=(5,)))
BALANCED = [each for each in WEIGHTED if each.is_own and "class_weight" in each.fixed]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of two classes and one of three, whose classes overlap."""
    folder, random = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for classes in (2, 3):
        y = random.integers(0, classes, 90)
        X = (random.normal(size=(90, 3)) + 1.2 * y[:, np.newaxis] ** [1, 2, 0]).round(3)
        lines = [",".join(map(str, [*row, "abc"[label]])) for row, label in zip(X.tolist(), y, strict=True)]
        (folder / f"of{classes}.csv").write_text("\n".join(["p,q,r,label", *lines]) + "\n", encoding="utf-8")
    return folder


def source_of(file: Path, **file_options: Any) -> Source:
    name, options = options_of(file, FileOptions(**file_options), str(file), None)
    return Source(name, options, DataDirectory.from_options(file.parent / "home"), file_options.get("seed", 0))


def repeated(config: Path, home: DataDirectory) -> tuple[Any, Any]:
    """Return the trace of a config's only run, made in this process, and its problem."""
    (run,) = plan(read_config(config))
    problem = load_problem(catalog.card(run.dataset.name, run.dataset.options), home)
    if weight := run.solver.parameters.get("class_weight"):
        problem = problem.weighted(weight)
    solver = bind.build_solver(run.solver.name, run.solver.parameters, problem.n)
    kernel = bind.build_kernel(run.solver.kernel, problem)
    settings = run.settings
    return trace.train(solver, problem, kernel, run.seed, settings.stop, settings.checkpoints), problem


@pytest.mark.parametrize(("classes", "seed"), [(2, 0), (3, 3)])
@pytest.mark.parametrize("candidate", [*OWN, *BALANCED], ids=lambda each: each.name + "-balanced" * (each in BALANCED))
def test_a_run_of_the_config_gives_the_very_model(
    candidate: Candidate, classes: int, seed: int, folder: Path, tmp_path: Path
) -> None:
    source = source_of(folder / f"of{classes}.csv", seed=seed)
    data = source.load()
    fit = Fit(candidate, candidate.settings()[0], data.problem.n, 1000.0, 1)
    fitted = answer(fit, lambda: data, tmp_path, {candidate.classifier}, lambda: None)
    evaluated = answer(Evaluation(candidate.name, 1, 1000.0), lambda: data, tmp_path, set(), lambda: None)
    assert isinstance(fitted, Fitted)
    assert isinstance(evaluated, Evaluated)
    assert (fitted.reason, fitted.is_cut, evaluated.reason) == ("", False, "")

    classifier = pickle.loads(model_path(tmp_path, 1).read_bytes())
    made = tmp_path / "results" / "try-it"
    made.mkdir(parents=True)
    text = config_of(classifier, source, str(folder / f"of{classes}.csv"), {"seed": seed}, data.problem.n, made)
    assert str(folder) not in text  # it may be carried elsewhere, with its file
    (made / "repeat.yaml").write_text(text, encoding="utf-8")
    run, problem = repeated(made / "repeat.yaml", source.home)
    assert run.checkpoints[-1].test_error == pytest.approx(1 - evaluated.metrics["accuracy"])
    scores = run.model.scores(problem.test)
    theirs = _scores(classifier, data.test[0], classes)
    assert (labels_of(scores) == labels_of(theirs)).all()
    np.testing.assert_allclose(scores, theirs, rtol=1e-6, atol=1e-9)


def test_the_config_names_solver_options_and_weights(folder: Path, tmp_path: Path) -> None:
    data = source_of(folder / "of2.csv").load()
    chosen = mpu_bench.DCDClassifier(C=0.5, tol=0.01, class_weight="balanced", random_state=7).fit(data.X, data.y)
    source = Source("digits", {"positive": ["8"]}, DataDirectory.from_options(tmp_path))
    content = yaml.safe_load(config_of(chosen, source, "digits", {}, data.problem.n, tmp_path))
    file, file_options = str(folder / "of2.csv"), {"label": "1e5", "positive": ["1.5", "010", "no"]}
    of_file, _ = yaml_text.load(config_of(chosen, source, file, file_options, data.problem.n, tmp_path), "", DataError)
    assert of_file["dataset"].items() >= file_options.items()
    ((solver, parameters),) = content["solvers"][0].items()
    assert solver == "dcd"
    assert parameters.items() >= {"C": 0.5, "tolerance": 0.01, "class_weight": "balanced"}.items()
    assert content["dataset"] == {"digits": {"positive": ["8"], "augment": 1}}
    assert content["seed"] == 7


def test_what_ends_a_classifier_ends_the_run(folder: Path, tmp_path: Path) -> None:
    source = source_of(folder / "of2.csv")
    data = source.load()
    for chosen in (
        mpu_bench.MPUClassifier(max_iter=3, random_state=0),
        mpu_bench.ForgetronClassifier(budget=9, gamma=0.3, max_iter=3, shuffle=True, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            chosen.fit(data.X, data.y)
        text = config_of(chosen, source, str(folder / "of2.csv"), {}, data.problem.n, tmp_path)
        (tmp_path / "repeat.yaml").write_text(text, encoding="utf-8")
        run, problem = repeated(tmp_path / "repeat.yaml", source.home)
        assert run.checkpoints[-1].passes == 3
        np.testing.assert_allclose(run.model.scores(problem.test), chosen.model_.scores(problem.test), rtol=1e-6)


def test_a_file_that_changes_meanwhile_is_not_what_the_model_was_trained_on(tmp_path: Path) -> None:
    """New rows are treated as those were, and other processes do not go on with others."""
    path = tmp_path / "mine.csv"
    path.write_text("a,label\n" + "1,no\n2,yes\n" * 30, encoding="utf-8")
    source, data = source_of(path).begun()
    chosen = mpu_bench.DCDClassifier(random_state=0).fit(data.X, data.y)
    expected = model_of(chosen, source)
    path.write_text("a,label\n" + "1,no\n9,yes\n" * 30, encoding="utf-8")
    assert load_problem(catalog.card(source.dataset, source.options), source.home).fingerprint != source.fingerprint
    found = model_of(chosen, source)
    assert found.preprocessing == expected.preprocessing
    assert found.origin.trained_on == expected.origin.trained_on
    with pytest.raises(DataError, match="mine: its data have changed since it was begun; run again"):
        source.load()


def test_a_dataset_of_any_name_is_trained_again(folder: Path, tmp_path: Path) -> None:
    """An experiment's name has ASCII letters alone, and a hundred at most."""
    for name in ("donn\u00e9es", "\u6570\u636e", "_first+second", "n" * 95):
        file = tmp_path / f"{name}.csv"
        file.write_bytes((folder / "of2.csv").read_bytes())
        source = source_of(file)
        text = config_of(trained(), source, str(file), {}, 90, tmp_path)
        (config := tmp_path / "repeat.yaml").write_text(text, encoding="utf-8")
        assert read_config(config).name.startswith("try-")


def test_the_config_says_that_errors_will_differ(folder: Path, tmp_path: Path) -> None:
    given = trained(), source_of(folder / "of2.csv"), str(folder / "of2.csv"), {}, 90, tmp_path
    assert config_of(*given).splitlines()[1] == "# with the same errors."
    assert config_of(*given, differs="it learned few").splitlines()[1] == "# with other errors: it learned few."


def test_a_model_of_a_dataset_keeps_the_options_of_that(tmp_path: Path) -> None:
    source = Source("checkerboard", {"rows": 300, "test_rows": 50}, DataDirectory.from_options(tmp_path / "home"))
    source, _ = source.begun()
    assert dict(model_of(trained(), source).origin.options) == {"rows": 300, "test_rows": 50}


def trained() -> Any:
    """Return a classifier of two columns, trained."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    return mpu_bench.DCDClassifier(random_state=0).fit(X, (X[:, 0] > 0).astype(np.int32))


def test_it_is_said_where_no_labels_were_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("checkerboard", {"rows": 300, "test_rows": 50}, DataDirectory.from_options(tmp_path / "home"))
    source, data = source.begun()
    saved, features = model_of(trained(), source), data.sample
    monkeypatch.setenv("PATH", "")
    files, told = exports_of(saved, features, None)
    assert "model.c" in files
    assert "model.c: its labels were not compared with those of model.mpu: no C compiler (cc, gcc or clang)" in told[0]
    far = replace(saved, model=LinearModel(np.array([[1.0, 1.0, -1e7]])))
    files, told = exports_of(far, features, None)
    assert "model.c" not in files
    assert told[0].startswith("model.c is not written: the intercept -1e+07 cancels against columns far from zero")
