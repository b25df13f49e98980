from __future__ import annotations

from pathlib import Path

import pytest

from mpu_bench.config.read import read_config
from mpu_bench.config.sweep import expand
from mpu_bench.data.cards import catalog
from mpu_bench.errors import ConfigError
from mpu_bench.scaled import Derived, Scaled

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"


def test_every_list_is_swept_and_the_product_is_complete(read) -> None:
    text = HEAD + "kernel: {gaussian: {sigma2: [1, 10, 100]}}\nsolvers: [{perceptron: {passes: [1, 2]}}]\n"
    solvers = read(text).solvers
    found = {(each.parameters["passes"], each.kernel.parameters["sigma2"]) for each in solvers}
    assert found == {(passes, sigma2) for passes in (1, 2) for sigma2 in (1, 10, 100)}
    assert len(solvers) == 6


def test_parameters_may_differ_from_dataset_to_dataset(read) -> None:
    text = """
name: tried
datasets: [adult, web, a1a]
solvers: [{dcd: {C: [1, 2], tolerance: {per-dataset: {adult: 0.06, otherwise: [0.1, 0.2]}}}}, mpu]
"""
    experiment = read(text)
    found = [(each.only_for, each.parameters.get("tolerance")) for each in experiment.solvers]
    others = [(label, tolerance) for label in ("web", "a1a") for _ in range(2) for tolerance in (0.1, 0.2)]
    assert found == [("adult", 0.06), ("adult", 0.06), *others, (None, None)]


def test_tuning_may_differ_from_dataset_to_dataset(read) -> None:
    text = """
name: tried
datasets: [adult, web]
solvers: [{dcd: {tune: {per-dataset: {adult: {C: [1, 2], folds: 3}, otherwise: {C: [4], holdout: 0.3, repeats: 2}}}}}]
"""
    found = [(each.only_for, [one.values["C"] for one in each.tuning.candidates]) for each in read(text).solvers]
    assert found == [("adult", [1.0, 2.0]), ("web", [4.0])]
    assert [len(each.tuning.trials) for each in read(text).solvers] == [3, 2]
    with pytest.raises(ConfigError, match="has no value for 'web'"):
        read(text.replace("otherwise", "a1a"))


def test_a_kernel_may_differ_from_dataset_to_dataset(read) -> None:
    text = """
name: tried
datasets: [adult, web]
kernel: {per-dataset: {adult: {gaussian: {sigma2: [10, 20]}}, otherwise: linear}}
solvers: [perceptron, {dcd: {kernel: linear}}]
"""
    found = [(each.name, each.only_for, str(each.kernel)) for each in read(text).solvers]
    assert found == [
        ("perceptron", "adult", "gaussian(sigma2=10)"),
        ("perceptron", "adult", "gaussian(sigma2=20)"),
        ("perceptron", "web", "linear"),
        ("dcd", None, "linear"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nsolvers: [mpu]", "give either dataset: NAME or datasets"),
        ("name: x\ndataset: adult\ndatasets: [web]\nsolvers: [mpu]", "give either dataset: NAME or datasets"),
        ("name: x\ndatasets: []\nsolvers: [mpu]", "line 2: datasets: must hold 1 at least, not []"),
        (
            "name: x\ndataset: adlut\nsolvers: [mpu]",
            "line 2: dataset: there is no dataset 'adlut'; did you mean 'adult'?",
        ),
        ("name: x\ndatasets: [adult, adult]\nsolvers: [mpu]", "line 2: datasets: 'adult' stands twice"),
        ("name: x\ndataset: {checkerboard: {rows: -5}}\nsolvers: [mpu]", "line 2: "),
        ("name: x\ndataset: {checkerboard: {rowz: 5}}\nsolvers: [mpu]", "rowz"),
        (
            "name: x\ndataset: digits\nsolvers: [mpu]",
            "line 3: solvers: solver 'mpu' separates two classes and 'digits' has 10",
        ),
        ("name: ../x\ndataset: adult\nsolvers: [mpu]", "line 1: name: "),
        ("dataset: adult\nsolvers: [mpu]", "tried.yaml: name: this key is missing"),
    ],
)
def test_a_mistake_in_names_and_datasets_is_told(refused, text: str, message: str) -> None:
    assert message in refused(text)


@pytest.mark.parametrize(
    ("solver", "kernel", "words"),
    [
        (
            "bpegasos: {maintenance: [projection, merging]}",
            "{polynomial: {degree: 3}}",
            "merging needs a Gaussian kernel",
        ),
        ("rff: {regularization: 0.1}", "linear", "rff needs a Gaussian kernel; it cannot train with a linear"),
        (
            "libsvm: {C: 1}",
            "{polynomial: {degree: 2, normalize: true}}",
            "no normalize, not Polynomial(scale=1, offset=0.0, degree=2, normalize=True)",
        ),
    ],
)
def test_a_kernel_that_a_solver_cannot_take_is_refused_with_its_line(
    read, refused, solver: str, kernel: str, words: str
) -> None:
    message = refused(HEAD + f"kernel: {kernel}\nsolvers:\n  - perceptron\n  - {solver}\n")
    assert "tried.yaml, line 6" in message
    assert words in message
    read(HEAD + "kernel: {gaussian: {gamma: {over-features: 4}}}\nsolvers:\n  - " + solver)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("{adlut: 0.06, otherwise: 0.1}", "per-dataset.adlut: there is no dataset 'adlut'; did you mean 'adult'?"),
        (
            "{adult: 0.06, web: 0.1, otherwize: 1}",
            "per-dataset.otherwize: there is no dataset 'otherwize'; did you mean 'otherwise'?",
        ),
        ("{adult: 0.06}", "per-dataset: has no value for 'web'; add it, or otherwise: VALUE"),
    ],
)
def test_a_misspelt_dataset_among_values_is_refused(refused, values: str, message: str) -> None:
    text = f"name: tried\ndatasets: [adult, web]\nsolvers:\n  - dcd: {{tolerance: {{per-dataset: {values}}}}}\n"
    assert f"tried.yaml, line 4: solvers.dcd.tolerance.{message}" in refused(text)


def test_values_may_be_given_for_datasets_that_only_a_profile_has(read) -> None:
    text = """
name: tried
datasets: [adult, web]
solvers: [{dcd: {C: {per-dataset: {adult: 1, web: 2, small: 3, my-rows: 4}}}}]
profiles: {ci: {datasets: [{checkerboard: {as: small}}]}, mine: {datasets: [{file: my rows.csv}, {file: .}]}}
"""
    assert [each.parameters["C"] for each in read(text).solvers] == [1, 2]
    assert [each.parameters["C"] for each in read(text, profile="ci").solvers] == [3]


def test_relative_values_are_parsed_once(read) -> None:
    text = (
        HEAD
        + """
kernel: {polynomial: {degree: 2, scale: {over-mean-squared-distance: [1, 2]}}}
solvers:
  - sdca: {regularization: {over-examples: 2}}
  - sbp: {nu: {from-regularization: {over-examples: 0.5}}}
"""
    )
    solvers = read(text).solvers
    assert [each.kernel.parameters["scale"] for each in solvers[:2]] == [
        Scaled(1, "mean-squared-distance"),
        Scaled(2, "mean-squared-distance"),
    ]
    assert solvers[0].parameters["regularization"] == Scaled(2.0, "n")
    assert solvers[2].parameters["nu"] == Derived(Scaled(0.5, "n"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("regularization: {over-features: 1}", "regularization: must be a valid number"),
        ("regularization: {over-examples: -1}", "regularization: must be greater than 0, not -1"),
        ("passes: {over-examples: 1}", "passes: only a real number can be given over the examples"),
        ("regularization: {from-regularization: 1}", "regularization: only nu can be derived from-regularization"),
    ],
)
def test_an_impossible_relative_value_is_refused(refused, parameters: str, message: str) -> None:
    assert f"line 3: solvers.sdca.{message}" in refused(HEAD + f"solvers: [{{sdca: {{{parameters}}}}}]\n")


@pytest.mark.parametrize(
    ("solvers", "tune", "where"),
    [
        ("[dcd]", "tune: {C: [1, 0], holdout: 0.3}", "line 4: tune.C: must be greater than 0, not 0"),
        ("[{smo: {kernel: gaussian}}]", "tune: {kernel.gamma: [-1], folds: 2}", "line 4: tune.kernel.gamma: must be"),
        ("[dcd]", "tune: {C: [1, 0], holdout: 0.3, with: {smo: {}}}", "line 4: tune.C: must be greater than 0"),
    ],
)
def test_a_wrong_value_to_try_is_told_where_it_stands(refused, solvers: str, tune: str, where: str) -> None:
    assert where in refused(HEAD + f"solvers: {solvers}\n{tune}\n")


def test_weights_of_classes_are_swept_like_numbers(read) -> None:
    text = "solvers: [dcd: {class_weight: [balanced, {white: [2, 3]}]}, smo: {class_weight: null}]\n"
    solvers = read(HEAD + text).solvers
    given = [each.parameters.get("class_weight") for each in solvers]
    assert given == ["balanced", {"white": 2.0}, {"white": 3.0}, None]


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (
            "sbp: {nu: 1, class_weight: balanced}",
            "sbp.class_weight: solver 'sbp' takes no class weights; mpu, dcd, svmperf,",
        ),
        (
            "dcd: {class_weight: {1: 2}}",
            "there is no class of 'checkerboard' (class_weight) '1'; choose from black, white",
        ),
        ("dcd: {class_weight: {white: 0}}", "dcd.class_weight.white: must be greater than 0, not 0"),
        ("dcd: {class_weight: even}", "dcd.class_weight: must be 'balanced'"),
        ("dcd: {score_threshold: {over-examples: 1}}", "dcd: score_threshold must be a number"),
    ],
)
def test_weights_that_cannot_be_are_refused(refused, solver: str, message: str) -> None:
    error = refused(HEAD + f"solvers: [{{{solver}}}]\n")
    assert "line 3: solvers" in error
    assert message in error


@pytest.mark.parametrize(
    ("value", "combinations"),
    [
        (1, [1]),
        ([1, 2], [1, 2]),
        ({"a": [1, 2], "b": [3, 4]}, [{"a": a, "b": b} for a in (1, 2) for b in (3, 4)]),
        ([{"a": [1, 2]}, 3], [{"a": 1}, {"a": 2}, 3]),
        ({"a": {"b": [1, 2]}}, [{"a": {"b": 1}}, {"a": {"b": 2}}]),
        ({}, [{}]),
    ],
)
def test_lists_are_expanded_the_first_key_varying_slowest(value: object, combinations: list[object]) -> None:
    assert expand(value) == combinations


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("[1]", "as: must be a valid string, not [1]"),
        ("3", "as: must be a valid string, not 3"),
        ("{a: 1}", "as: must be a valid string"),
        ('""', "as: must have at least 1 character"),
        ("' a'", "as: must be of one line without blanks around it, not ' a'"),
        ('"a\\nb"', "as: must be of one line"),
        ("x" * 101, "as: must have at most 100 characters"),
    ],
)
def test_a_label_is_a_short_plain_text(refused, label: str, words: str) -> None:
    error = refused(f"name: tried\ndataset: {{digits: {{as: {label}}}}}\nsolvers: [perceptron]\n")
    assert f"line 2: dataset.digits.{words}" in error


def test_a_dataset_is_named_by_a_word(refused) -> None:
    for dataset in ("{null: {}}", "{[a]: {}}", "3", "[digits]", "{digits: {null: 1}}", "{digits: 3}"):
        assert "tried.yaml, line 2" in refused(f"name: tried\ndataset: {dataset}\nsolvers: [perceptron]\n")


# ------------------------------------------------------------------ user files


OWN_FILE = "name: own\ndataset: {dataset}\nsolvers: [{{dcd: {{C: 1}}}}]\nstop: {{passes: 1}}\n"


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """Return a function that reads a config whose dataset is written so, in a folder with a table."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.csv").write_text("x,c,y\n1,a,no\n2,b,yes\n3,a,no\n4,a,maybe\n5,b,no\n")
    monkeypatch.chdir(tmp_path)

    def read(dataset, **options):
        (tmp_path / "sub" / "own.yaml").write_text(OWN_FILE.format(dataset=dataset))
        return read_config(Path("sub/own.yaml"), **options).datasets

    return read


@pytest.mark.parametrize(
    "key", ["kernel: {per-dataset: {adlut: linear, otherwise: linear}}", "tune: {per-dataset: {}}"]
)
def test_a_key_of_all_solvers_is_named_where_it_stands(refused, key: str) -> None:
    message = refused(f"name: x\ndataset: adult\nsolvers: [mpu]\n{key}\n")
    assert f"line 4: {key.partition(':')[0]}.per-dataset" in message


def test_a_file_is_named_relative_to_its_config(own_file):
    (choice,) = own_file("{file: mine.csv, positive: 'yes', augment: 1}")
    assert (choice.name, choice.label, choice.classes) == ("mine", "mine", ("rest", "yes"))
    card = catalog.card(choice.name, choice.options)
    assert (card.kind, card.label, card.augment) == ("table", "y", 1)
    assert card.remote_files[0].path == Path.cwd() / "sub" / "mine.csv"
    assert card.origin == "sub/own.yaml, line 2"


def test_a_file_of_an_option_is_named_relative_to_the_working_folder(own_file):
    (choice,) = own_file("digits", settings=["dataset={file: sub/mine.csv, as: other, positive: 'no'}"])
    assert (choice.label, choice.classes) == ("other", ("rest", "no"))


@pytest.mark.parametrize(
    ("dataset", "error"),
    [
        ("{file: none.csv}", "dataset.file: sub/none.csv: cannot be read: No such file or directory"),
        ("{file: mine.csv, lable: y}", "dataset.lable: unknown key; did you mean 'label'?"),
        ("{file: mine.csv, label: z}", "dataset.file: sub/mine.csv: has no column 'z'; choose from c, x, y"),
        ("{file: mine.csv, positive: [yes]}", "must be a word, not True; put quotation marks around it"),
        ("{file: mine.csv, positive: []}", "positive: must name some of the classes, but not all"),
        ("{file: [a]}", "dataset.file: must be a valid string"),
        ("{file: mine.csv, test: mine.csv, split: 0.5}", "leave 'split' or 'test' out"),
        ("{file: mine.csv, as: digits}", "'digits' is the name of another dataset"),
        ("{file: mine.csv}", "solver 'dcd' separates two classes and 'mine' has 3"),
    ],
)
def test_a_file_that_cannot_be(own_file, dataset, error):
    with pytest.raises(ConfigError) as raised:
        own_file(dataset)
    assert error in str(raised.value)
    assert str(raised.value).startswith("sub/own.yaml, line ")


def test_what_a_setting_was_read_off_reaches_the_verdicts(read) -> None:
    fitted = "fitted: [{table: mpu-table1, column: objective, datasets: [checkerboard], how: C is that of its table}]\n"
    experiment = read(f"{HEAD}solvers: [mpu]\npublished: mpu-table1\n{fitted}")
    assert [each.how for each in experiment.judging.fitted] == ["C is that of its table"]
