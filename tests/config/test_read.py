from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.config.read import config_names, read_config
from mpu_bench.config.choices import Experiment, KernelChoice
from mpu_bench.errors import ConfigError

CLAIM = "claims: [{claim: x, rule: {relative: 1}, "
HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"


@pytest.fixture
def read(tmp_path: Path):
    def read_text(text: str, **overrides: object) -> Experiment:
        path = tmp_path / "tried.yaml"
        path.write_text(text, encoding="utf-8")
        return read_config(path, **overrides)

    return read_text


def refused(read, text: str, **overrides: object) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text, **overrides)
    return str(caught.value)


def test_a_whole_config(read) -> None:
    experiment = read(
        HEAD
        + """
description: all keys
kernel: {gaussian: {gamma: {over-features: 4}}}
repeats: 3
seed: 7
solvers:
  - perceptron: {passes: [1, 2]}
  - mpu: {C: 1, accuracy: 1e-5, kernel: linear}
stop: {gap: 1.0e-4, passes: 100, seconds: 600, kernel_evaluations: 1.0e10}
limits: {seconds: 1000, memory: 4 GB}
checkpoints: {first: 0.5, per_decade: 4}
threads: 2
kernel_memory: 2 GB
published: mpu-table1
"""
    )
    assert [solver.name for solver in experiment.solvers] == ["perceptron", "perceptron", "mpu"]
    assert [solver.parameters.get("passes") for solver in experiment.solvers[:2]] == [1, 2]
    assert experiment.solvers[0].kernel == KernelChoice("gaussian", {"gamma": {"over-features": 4}})
    assert experiment.solvers[2].kernel == KernelChoice("linear", {})
    assert experiment.solvers[2].parameters["C"] == 1
    assert experiment.seeds == (7, 8, 9)
    assert experiment.limits.memory == 4_000_000_000
    assert experiment.kernel_memory == 2_000_000_000
    assert experiment.threads == 2


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


@pytest.mark.parametrize("name", config_names())
def test_every_shipped_config_is_right(name: str) -> None:
    experiment = read_config(Path(name))
    assert experiment.name == name
    assert experiment.description


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("solvers: [mpv]", "line 3: unknown solver 'mpv': did you mean 'mpu'?"),
        ("solvers: [mpu]\nrepaets: 3", "line 4: unknown key 'repaets': did you mean 'repeats'?"),
        ("solvers:\n  - mpu: {C: -1}", "line 4: solvers.mpu.C: must be greater than 0, not -1"),
        ("solvers:\n  - mpu: {C: 0}", "line 4: solvers.mpu.C: must be greater than 0, not 0"),
        ("solvers:\n  - mpu:\n      C: [1, -2]", "line 5: solvers.mpu.C: must be greater than 0, not -2"),
        ("solvers:\n  - mpu: {C: one}", "line 4: solvers.mpu.C: must be a valid number, not 'one'"),
        ("solvers:\n  - mpu: {C: .inf}", "solvers.mpu.C: must be a finite number"),
        ("solvers:\n  - mpu: {c: 1}", "unknown key 'solvers.mpu.c': did you mean 'C'?"),
        ("solvers:\n  - mpu: {C: []}", "solvers.mpu.C: an empty list"),
        ("solvers: []", "line 3: solvers: "),
        ("solvers: mpu", "line 3: solvers: must be a valid list"),
        ("solvers: [{mpu: {}, dcd: {}}]", "must be the name of a solver, or one name with its parameters"),
        ("solvers: [3]", "must be the name of a solver"),
        ("repeats: 2", "the key 'solvers' is missing"),
        ("solvers: [mpu]\nrepeats: 0", "line 4: repeats: must be greater than or equal to 1"),
        ("solvers: [mpu]\nrepeats: 1.5", "line 4: repeats: "),
        ("solvers: [mpu]\nseed: -1", "seed: must be greater than or equal to 0"),
        ("solvers: [mpu]\nstop: {gap: 0}", "line 4: stop.gap: must be greater than 0"),
        ("solvers: [mpu]\nstop: {gapp: 1}", "unknown key 'stop.gapp': did you mean 'gap'?"),
        ("solvers: [mpu]\nlimits: {memory: much}", "limits.memory: "),
        ("solvers: [mpu]\nkernel: gauss", "unknown kernel 'gauss': did you mean 'gaussian'?"),
        ("solvers: [dcd]\nkernel: {gaussian: {gamma: 1}}", "line 4: solver 'dcd' is linear only"),
        (
            "solvers: [{bpegasos: {vectors: 1}}]\nkernel: {gaussian: {gamma: 1}}",
            "line 3: solvers.bpegasos: bpegasos: vectors is 1; merging needs",
        ),
        ("solvers: [dcd]\nkernel: {linear: {normalize: true}}", "line 4: solver 'dcd' is linear only"),
        ("solvers: [perceptron]\nkernel: gaussian", "give either gamma or sigma2"),
        ("solvers: [perceptron]\nkernel: {gaussian: {gamma: 0}}", "line 4: kernel.gaussian.gamma: must be greater"),
        ("solvers: [perceptron]\nkernel: {gaussian: {sigma2: 0}}", "kernel.gaussian.sigma2: must be greater than 0"),
        ("solvers: [perceptron]\nkernel: {gaussian: {gamma: {over-feature: 4}}}", "over-features"),
        ("solvers: [fw]\nkernel: {polynomial: {degree: 2, scale: 0}}", "kernel.polynomial.scale: must be greater"),
        ("solvers: [perceptron]\nkernel: {polynomial: {degree: 0}}", "kernel.polynomial.degree: must be greater"),
        ("solvers: [mpu]\nbudget: {vectors: 100}", "line 4: budget: no solver of this config lives on a budget"),
        ("solvers: [mpu]\nbudget: {vectors: 0}", "line 4: budget.vectors: must be greater than or equal to 1"),
        ("solvers: [mpu]\npublished: mpu-table9", "published: no table 'mpu-table9': did you mean 'mpu-table"),
        ("solvers: [mpu]\nversion: 2", "line 4: version: this config is written for version 2"),
        ("solvers: [mpu]\nplugins: [absent.py]", "absent.py: no such file"),
        ("solvers: [mpu]\nstop: {deviation: 0.01}", "line 4: stop.deviation: needs the optimum"),
        ("solvers: [{mpu: {C: {per-dataset: {adult: 1}}}}]", "C.per-dataset: has no value for 'checkerboard'"),
        ("solvers: [{mpu: {C: {per-dataset: 3}}}]", "must give a value for each dataset"),
        ("solvers: [{mpu: {C: {per-dataset: {checkerboard: 0}}}}]", "solvers.mpu.C: must be greater than 0"),
        ("solvers: [{mpu: {C: {over-examples: 0}}}]", "solvers.mpu.C: must be greater than 0"),
        ("solvers: [{mpu: {C: {over-exmples: 1}}}]", "solvers.mpu.C: must be a valid number"),
        ("solvers: [mpu]\nname: x", "the key 'name' was already given on line 1"),
    ],
)
def test_a_mistake_is_told_with_line_key_and_remedy(read, text: str, message: str) -> None:
    told = refused(read, HEAD + text)
    assert message in told
    assert "tried.yaml" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nsolvers: [mpu]", "give either dataset: NAME or datasets"),
        ("name: x\ndataset: adult\ndatasets: [web]\nsolvers: [mpu]", "give either dataset: NAME or datasets"),
        ("name: x\ndatasets: []\nsolvers: [mpu]", "names no dataset"),
        ("name: x\ndataset: adlut\nsolvers: [mpu]", "line 2: there is no dataset 'adlut'; did you mean 'adult'?"),
        ("name: x\ndatasets: [adult, adult]\nsolvers: [mpu]", "line 2: 'adult' stands twice"),
        ("name: x\ndataset: {checkerboard: {rows: -5}}\nsolvers: [mpu]", "line 2: "),
        ("name: x\ndataset: {checkerboard: {rowz: 5}}\nsolvers: [mpu]", "rowz"),
        ("name: x\ndataset: digits\nsolvers: [mpu]", "line 3: solver 'mpu' separates two classes and 'digits' has 10"),
        ("name: ../x\ndataset: adult\nsolvers: [mpu]", "line 1: name: "),
        ("dataset: adult\nsolvers: [mpu]", "the key 'name' is missing"),
    ],
)
def test_a_mistake_in_names_and_datasets_is_told(read, text: str, message: str) -> None:
    assert message in refused(read, text)


def test_all_mistakes_are_told_at_once(read) -> None:
    told = refused(read, HEAD + "solvers: [mpu]\nrepeats: 0\nthreads: 0\n")
    assert "repeats" in told
    assert "threads" in told


def test_a_missing_file_suggests_a_shipped_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="did you mean 'adult'"):
        read_config(Path("adlut.yaml"))


@pytest.mark.parametrize("path", ["adult", "adult.yaml", "configs/adult.yaml"])
def test_a_shipped_config_is_found_from_any_folder(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_config(Path(path)).name == "adult"


def test_a_folder_hides_no_shipped_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("adult").mkdir()  # as in the folder of results
    Path("mine").mkdir()
    assert read_config(Path("adult")).name == "adult"
    with pytest.raises(ConfigError, match="mine: is a folder"):
        read_config(Path("mine"))


PROFILED = (
    HEAD + "repeats: 5\nstop: {gap: 1, passes: 2}\nsolvers: [mpu]\nprofiles:\n  ci: {repeats: 1, stop: {gap: 3}}\n"
)


def test_a_profile_overrides_keys_and_has_results_of_its_own(read) -> None:
    experiment = read(PROFILED, profile="ci")
    assert experiment.seeds == (0,)
    assert (experiment.stop.gap, experiment.stop.passes) == (3, 2)
    assert experiment.name == "tried-ci"
    assert read(PROFILED).name == "tried"


def test_an_unknown_profile_is_told(read) -> None:
    assert "no profile 'c': " in refused(read, PROFILED, profile="c")


def test_a_mistake_in_a_profile_is_told_with_its_own_line(read) -> None:
    text = HEAD + "repeats: 5\nsolvers: [mpu]\nprofiles:\n  ci:\n    repeats: 0\n"
    assert "line 7: repeats: must be" in refused(read, text, profile="ci")


@pytest.mark.parametrize(
    ("setting", "look", "value"),
    [
        ("repeats=2", lambda experiment: len(experiment.seeds), 2),
        ("stop.seconds=1e-3", lambda experiment: experiment.stop.seconds, 1e-3),
        ("solvers.mpu.C=10", lambda experiment: experiment.solvers[0].parameters["C"], 10),
        ("solvers.mpu.C=[1, 2]", lambda experiment: len(experiment.solvers), 2),
        ("datasets.checkerboard.rows=30", lambda experiment: experiment.datasets[0].options["rows"], 30),
    ],
)
def test_a_setting_overrides_a_key(read, setting: str, look, value: object) -> None:
    text = "name: tried\ndatasets: [checkerboard]\nsolvers: [mpu]\n"
    assert look(read(text, settings=[setting])) == value


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("repeats", "must be written key=value"),
        ("repeats=0", "--set repeats=0: repeats: must be"),
        ("solvers.dcd.C=1", "no 'dcd' in this config: "),
        ("solvers.mpu.c=1", "unknown key 'solvers.mpu.c'"),
        ("stop.seconds=[", "the value is not YAML"),
        ("repeats.x=1", "'repeats' holds no keys"),
        ("repeats.x.y=1", "'x' stands below a value"),
    ],
)
def test_a_wrong_setting_is_told(read, setting: str, message: str) -> None:
    assert message in refused(read, HEAD + "repeats: 1\nsolvers: [mpu]\n", settings=[setting])


def test_options_override_the_config(read) -> None:
    experiment = read(HEAD + "solvers: [mpu]\n", seed=5, repeats=2, threads=2, kernel_memory="500MB")
    assert experiment.seeds == (5, 6)
    assert experiment.threads == 2
    assert experiment.kernel_memory == 500_000_000


def test_a_wrong_size_of_memory_names_the_option(read) -> None:
    for wrong in ("much", "0", "-1GB"):
        assert "--kernel-memory: kernel_memory: " in refused(read, HEAD + "solvers: [mpu]\n", kernel_memory=wrong)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
)
def test_nothing_but_a_config_error_comes_of_any_value(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    import yaml

    path = tmp_path_factory.mktemp("any") / "any.yaml"
    for key in ("solvers", "kernel", "stop", "datasets", "repeats", "profiles"):
        content = {"name": "any", "dataset": "checkerboard", "solvers": ["mpu"]} | {key: value}
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        told = "any.yaml"
        try:
            read_config(path)
        except ConfigError as fault:
            told = str(fault)
        assert "any.yaml" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compare: {mpu-table3: {}}", "compare.mpu-table3: no table 'mpu-table3': did you mean"),
        ("compare: {mpu-table1: {objectiv: {relative: 1}}}", "mpu-table1 has no column 'objectiv': did you mean 'obj"),
        ("compare: {fw-tables5-6: {statistic: {relative: 1}}}", "fw-tables5-6 has no column 'dataset'"),
        ("compare: {mpu-table1: {seconds: {ratio_to: dcb, factor: 2}}}", "unknown solver 'dcb': did you mean 'dcd'"),
        ("compare: {mpu-table1: {seconds: {}}}", "give relative, absolute"),
        ("paper: mpu-2011", "paper"),
        ("known: [{claim: x, reason: y}]", "no claim 'x'"),
        (
            CLAIM + "kind: number, quantity: nu, printed: {table: sbp-table2, row: 9, column: nu}}]",
            "row 9 of sbp-table2 prints no nu",
        ),
        (CLAIM + "kind: rises, by: 1, quantity: test_eror}]", "no quantity 'test_eror' is measured: did you mean"),
        (CLAIM + "kind: bound, quantity: updates, against: bound}]", "no quantity 'bound' is measured"),
        (
            CLAIM
            + "kind: statistic, test: wilcoxon, solvers: [fw, cvm], of: fw-table3, quantity: minutes, printed: 1}]",
            "fw-table3 has no column 'minutes'",
        ),
        (
            CLAIM + "kind: statistic, test: friedman, solvers: [fw, cvm], quantity: nu, printed: 1}]",
            "three or more",
        ),
    ],
)
def test_what_is_compared_must_be_there(read, text: str, message: str) -> None:
    told = refused(read, HEAD + f"solvers: [mpu]\n{text}\n")
    assert message in told
    assert len(told.splitlines()) == 1


def test_how_a_config_was_read_is_remembered(read) -> None:
    text = HEAD + "solvers: [mpu]\npaper: mpu-2010\nprofiles: {ci: {repeats: 1}, all: {repeats: 9}}\n"
    experiment = read(text, profile="ci", settings=["solvers.mpu.C=10"], seed=3)
    assert experiment.options == ("--profile", "ci", "--set=solvers.mpu.C=10", "--seed", "3")
    assert (experiment.paper, experiment.profiles) == ("mpu-2010", ("ci", "all"))
    assert read(text).options == ()


@pytest.mark.parametrize(
    ("solver", "kernel", "words"),
    [
        (
            "bpegasos: {maintenance: [projection, merging]}",
            "{polynomial: {degree: 3}}",
            "merging needs a Gaussian kernel",
        ),
        ("rff: {regularization: 0.1}", "linear", "rff approximates Gaussian kernels; it cannot train with linear"),
        ("libsvm: {C: 1}", "{polynomial: {degree: 2, normalize: true}}", "no normalize, not polynomial(normalize=True"),
    ],
)
def test_a_kernel_that_a_solver_cannot_take_is_refused_with_its_line(
    read, solver: str, kernel: str, words: str
) -> None:
    message = refused(read, HEAD + f"kernel: {kernel}\nsolvers:\n  - perceptron\n  - {solver}\n")
    assert "tried.yaml, line 6" in message
    assert words in message
    read(HEAD + "kernel: {gaussian: {gamma: {over-features: 4}}}\nsolvers:\n  - " + solver)
