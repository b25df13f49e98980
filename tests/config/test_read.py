from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench.config.read import read_config
from mpu_bench.errors import ConfigError
from mpu_bench.experiment.plan import plan
from mpu_bench.resources import config_names

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"


@pytest.mark.parametrize("name", config_names())
def test_every_shipped_config_is_right(name: str) -> None:
    experiment = read_config(Path(name))
    assert experiment.name == name
    assert experiment.description


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


@pytest.mark.parametrize(
    ("profiled", "expected"),
    [("checkerboard: 2", 2), ("otherwise: 1", 1), ("checkerboard: 3, otherwise: 1", 3)],
)
def test_a_profile_that_says_what_holds_otherwise_says_all(read, profiled: str, expected: int) -> None:
    text = HEAD + "repeats: {per-dataset: {checkerboard: 5, otherwise: 4}}\nsolvers: [mpu]\n"
    experiment = read(f"{text}profiles:\n  ci: {{repeats: {{per-dataset: {{{profiled}}}}}}}\n", profile="ci")
    assert len(experiment.seeds_on.get("checkerboard", experiment.seeds)) == expected


def test_a_profile_overrides_keys_and_has_results_of_its_own(read) -> None:
    experiment = read(PROFILED, profile="ci")
    assert experiment.seeds == (0,)
    assert (experiment.stop.gap, experiment.stop.passes) == (3, 2)
    assert experiment.name == "tried-ci"
    assert read(PROFILED).name == "tried"


def test_an_unknown_profile_is_told(refused) -> None:
    assert "there is no profile 'c'; " in refused(PROFILED, profile="c")


def test_a_mistake_in_a_profile_is_told_with_its_own_line(refused) -> None:
    text = HEAD + "repeats: 5\nsolvers: [mpu]\nprofiles:\n  ci:\n    repeats: 0\n"
    assert "line 7: repeats: must be" in refused(text, profile="ci")


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


def test_a_setting_reaches_names_with_dots(read) -> None:
    text = "name: x\ndatasets: [{adult: {as: adult-0.5}}]\nkernel: linear\nstop: {passes: 1}\n"
    text += "solvers: [mpu: {C: {per-dataset: {adult-0.5: 1, otherwise: 2}}}]\n"
    experiment = read(text, settings=["solvers.mpu.C.per-dataset.adult-0.5=3"])
    assert experiment.solvers[0].parameters["C"] == 3
    tuned = HEAD + "kernel: gaussian\ntune: {kernel.gamma: [0.1, 1], holdout: 0.3}\nsolvers: [mpu]\n"
    experiment = read(tuned, settings=["tune.kernel.gamma=[5]"])
    assert [one.kernel.parameters["gamma"] for one in experiment.solvers[0].tuning.candidates] == [5]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("repeats", "must be written key=value"),
        ("repeats=0", "--set repeats=0: must be"),
        ("solvers.dcd.C=1", "there is no 'dcd' in this config; "),
        ("solvers.mpu.c=1", "--set solvers.mpu.c=1: unknown key"),
        ("stop.seconds=[", "the value is not YAML"),
        ("repeats.x=1", "'repeats' holds no keys"),
        ("sotp.passes=1", "--set sotp.passes=1: unknown key; did you mean 'stop'?"),
        ("repeats.x.y=1", "'x' stands below a value"),
    ],
)
def test_a_wrong_setting_is_told(refused, setting: str, message: str) -> None:
    assert message in refused(HEAD + "repeats: 1\nsolvers: [mpu]\n", settings=[setting])


def test_options_override_the_config(read) -> None:
    experiment = read(HEAD + "solvers: [mpu]\n", seed=5, repeats=2, threads=2, kernel_memory="500MB")
    assert experiment.seeds == (5, 6)
    assert experiment.threads == 2
    assert experiment.kernel_memory == 500_000_000
    limited = HEAD + "limits: {memory: 1 GB}\nsolvers: [mpu]\n"
    assert read(limited).kernel_memory == 500_000_000  # as environment.json says, too
    assert read(limited, kernel_memory="2GB").kernel_memory == 2_000_000_000


def test_a_wrong_size_of_memory_names_the_option(refused) -> None:
    for wrong in ("much", "0", "-1GB"):
        assert "--kernel-memory: " in refused(HEAD + "solvers: [mpu]\n", kernel_memory=wrong)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
)
def test_nothing_but_a_config_error_comes_of_any_value(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    for key in ("solvers", "kernel", "stop", "dataset", "repeats", "profiles", "tune", "compare", "claims", "known"):
        content = {"name": "any", "dataset": "checkerboard", "solvers": ["mpu"]} | {key: value}
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        error = "any.yaml"
        try:
            read_config(path)
        except ConfigError as raised:
            error = str(raised)
        assert "any.yaml" in error


def test_how_a_config_was_read_is_remembered(read) -> None:
    text = HEAD + "solvers: [mpu]\npaper: mpu-2010\nprofiles: {ci: {repeats: 1}, all: {repeats: 9}}\n"
    experiment = read(text, profile="ci", settings=["solvers.mpu.C=10"], seed=3)
    assert experiment.options == ("--profile", "ci", "--set=solvers.mpu.C=10", "--seed", "3")
    assert (experiment.paper, experiment.profiles) == ("mpu-2010", ("ci", "all"))
    assert read(text).options == ()


def test_a_profile_may_reach_into_lists_by_dotted_keys(read, refused) -> None:
    text = HEAD + "stop: {passes: 2}\nsolvers:\n  - mpu: &shared {C: 1}\n  - dcd: *shared\nprofiles:\n  ci:\n"
    experiment = read(text + "    solvers.mpu.C: [2, 3]\n    stop.seconds: 5\n", profile="ci")
    assert [(each.name, each.parameters["C"]) for each in experiment.solvers] == [("mpu", 2), ("mpu", 3), ("dcd", 1)]
    assert (experiment.stop.passes, experiment.stop.seconds) == (2, 5)
    assert "line 9: solvers.mpu.C: must be greater than 0, not -1" in refused(
        text + "    solvers.mpu.C: -1\n", profile="ci"
    )
    assert "line 9: there is no 'mpv' in this config; did you mean 'mpu'?" in refused(
        text + "    solvers.mpv.C: 1\n", profile="ci"
    )


PER_DATASET = "name: tried\ndatasets: [adult, web]\nsolvers: [mpu]\nrepeats: {per-dataset: {%s}}\n"


def test_a_dataset_may_have_more_seeds_than_others(read) -> None:
    runs = [(run.dataset.label, run.seed) for run in plan(read(PER_DATASET % "web: 3, otherwise: 1"))]
    assert runs == [("adult", 0), ("web", 0), ("web", 1), ("web", 2)]
    assert {run.seed for run in plan(read(PER_DATASET % "web: 3, otherwise: 1", repeats=2))} == {0, 1}


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("web: 3", "line 4: repeats: say how many otherwise"),
        ("wed: 3, otherwise: 1", "line 4: repeats.wed: there is no dataset 'wed'; did you mean 'web'?"),
        ("web: 0, otherwise: 1", "line 4: repeats.per-dataset.web: must be greater than or equal to 1"),
    ],
)
def test_seeds_of_single_datasets_are_checked(refused, counts: str, message: str) -> None:
    assert message in refused(PER_DATASET % counts)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pipe.yaml", "pipe.yaml: is a pipe, not a file"),
        ("/dev/zero", "/dev/zero: is a device, not a file"),
        ("large.yaml", "large.yaml: is larger than 1,000,000 bytes"),
        ("x" * 300, "no such config file"),
        ("a\0b", "no such config file"),
        ("\udcff", r"\udcff: no such config file"),
        ("utf16.yaml", "utf16.yaml: is not a UTF-8 text file (invalid start byte at byte 0)"),
        ("adlut/x.yaml", "adlut/x.yaml: no such config file"),
    ],
)
def test_what_is_no_config_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    Path("large.yaml").write_bytes(b"#" * 1_000_001)
    Path("utf16.yaml").write_text("name: x\n", encoding="utf-16")
    with pytest.raises(ConfigError) as caught:
        read_config(Path(name))
    assert words in str(caught.value)


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_text(HEAD + "solvers: [mpu]\r\n", encoding="utf-8-sig")
    assert read_config(path).name == "tried"


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        ("pipe.py", "is a pipe, not a file"),
        ("folder.py", "is a folder, not a file"),
        ("/dev/zero", "its name must end in .py"),
        ("absent.py", "absent.py: no such file"),
        ("circle.py", "Symlink loop" if sys.version_info < (3, 13) else "Too many levels of symbolic links"),
        (f"{'x' * 300}.py", "File name too long"),
        ('"a\\0b"', "a text holds a character that cannot be shown"),
    ],
)
def test_what_is_no_plugin_file_is_told(refused, tmp_path: Path, plugin: str, words: str) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "circle.py").symlink_to("circle.py")
    error = refused(HEAD + f"solvers: [mpu]\nplugins: [{plugin}]\n")
    assert "tried.yaml, line 4: " in error
    assert words in error


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("a." * 60 + "b=1", "lies more than 50 levels deep"),
        ("stop=" + "[" * 60 + "]" * 60, "lies more than 50 levels deep"),
        ("stop.seconds=!!int x", "--set stop.seconds=!!int x: 'x' is no whole number"),
        ("stop.seconds=2001-99-99", "--set stop.seconds=2001-99-99: must be a valid number, not '2001-99-99'"),
        ("stop=&a [*a]", "lies more than 50 levels deep"),
        ("stop={[a]: 1}", "a key must be a word, not a list"),
        ("stop={null: 1}", "a key must be a word, and 'null' means nothing"),
        ("stop.seconds=\udcff", r"--set stop.seconds=\udcff: holds a character that cannot be shown"),
        ("\udcff=1", r"--set \udcff=1: holds a character that cannot be shown, or is not UTF-8 text"),
        ("=1", "must be written key=value"),
        (".=1", "unknown key"),
        ("name=\x1b[31m", "holds a character that cannot be shown"),
        ('name="\\e[31m"', "a text holds a character that cannot be shown"),
        ("solvers.mpu={1: 2}", "'solvers' holds no keys"),
        ("version=2", "version=2: must be 1, not 2"),
        ("stop={1: 2}", "stop: a key must be a word, not 1"),
    ],
)
def test_an_odd_setting_is_told(refused, setting: str, words: str) -> None:
    error = refused(HEAD + "solvers: [mpu]\n", settings=[setting])
    assert words in error
    assert error.encode()
