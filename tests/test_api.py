"""The runner from Python: runs, results as DataFrames, what a notebook shows."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mpu_bench
from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.experiment.runner import ChosenRuns
from mpu_bench.report import page
from mpu_bench.results.store import Store

BOARD = {"checkerboard": {"rows": 300, "test_rows": 50}}
CONFIG = {
    "name": "tried",
    "dataset": BOARD,
    "solvers": [{"dcd": {"C": 1}}, {"mpu": {"C": 1, "accuracy": 1e-3}}],
    "repeats": 2,
    "stop": {"passes": 100},
}
PLUGIN = Path(__file__).parent / "plugins" / "misbehaving.py"
TABLES = ("runs", "table", "curves", "mean_curves", "comparison")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, home: Path) -> mpu_bench.Results:
    return mpu_bench.run(CONFIG, results=tmp_path_factory.mktemp("results"), data=home)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_columns_and_rows_of_its_file(results: mpu_bench.Results, name: str) -> None:
    frame = getattr(results, name)
    with (results.folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        written = list(reader)
    assert list(frame.columns) == list(reader.fieldnames or [])
    assert len(frame) == len(written)
    for column in frame.columns:
        assert [row[column] == "" for row in written] == [
            missing or value == "" for missing, value in zip(frame[column].isna(), frame[column], strict=True)
        ], column


def test_columns_have_types(results: mpu_bench.Results) -> None:
    runs = results.runs
    assert (len(runs), set(runs.status)) == (4, {"done", "stopped"} & set(runs.status))
    assert isinstance(runs.solver.dtype, pd.CategoricalDtype)
    assert [str(runs[name].dtype) for name in ("seed", "n", "objective", "reason")] == [
        *("Int64", "Int64", "float64", "string"),
    ]
    assert runs.groupby("solver", observed=True).objective.mean().notna().all()
    assert str(results.table["objective_mean"].dtype) == "float64"
    runs.loc[:, "objective"] = 0.0
    assert (results.runs.objective > 0).all()  # nobody changes what is kept


def test_a_second_call_makes_only_what_is_missing(results: mpu_bench.Results, home: Path) -> None:
    before = results.runs.set_index("run_id").train_seconds
    again = mpu_bench.run(CONFIG, results=results.folder.parent, data=home, settings={"repeats": 3}, only={"seed": 2})
    after = again.runs.set_index("run_id").train_seconds
    assert len(after) == 6
    assert (after[before.index] == before).all()


def test_a_plan_says_what_a_run_would_do_and_does_nothing(
    results: mpu_bench.Results, home: Path, tmp_path: Path
) -> None:
    before = state(results.folder)
    outlook = mpu_bench.plan(CONFIG, results=results.folder.parent, data=home, settings={"repeats": 4})
    assert [outlook.state(place) for place in outlook.todo] == ["to do"] * (8 - outlook.done)
    assert outlook.done == mpu_bench.read(results.folder).runs.status.isin(["done", "stopped"]).sum() > 0
    assert outlook.estimate.runs == len(outlook.todo)
    assert outlook.missing == {}
    again = mpu_bench.plan(CONFIG, results=results.folder.parent, data=home, force=True)
    assert again.done == 0
    unsaved = mpu_bench.plan(CONFIG, results=results.folder.parent, data=home, save_models=True)
    assert unsaved.done == 0  # a run makes them again for their models
    assert state(results.folder) == before
    assert mpu_bench.plan(CONFIG, results=tmp_path / "none", data=home).done == 0
    assert not (tmp_path / "none").exists()


def test_a_plan_counts_the_runs_that_the_chosen_ones_need(tmp_path: Path) -> None:
    config = {**CONFIG, "name": "needing", "repeats": 1, "stop": {"seconds_of": {"solver": "dcd", "factor": 0.5}}}
    chosen = mpu_bench.plan(config, results=tmp_path, data=tmp_path / "home", only={"solver": "mpu"})
    assert [planned.run.solver.name for planned in chosen.runs] == ["dcd", "mpu"]
    assert chosen.estimate.runs == 2


def test_a_plan_counts_runs_of_one_result_once(home: Path, results: mpu_bench.Results, tmp_path: Path) -> None:
    again = {"checkerboard": {**BOARD["checkerboard"], "as": "again"}}
    twice = {**CONFIG, "name": "twice", "repeats": 1, "datasets": [BOARD, again]}
    del twice["dataset"]
    outlook = mpu_bench.plan(twice, results=tmp_path, data=home)
    assert len(outlook.runs) == 4
    assert outlook.estimate.runs == 2


def test_a_keyword_is_an_option_of_the_command() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'job'"):
        mpu_bench.run(CONFIG, job=2)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="--send-data: applies to a cluster"):
        mpu_bench.plan(CONFIG, send_data=True)
    with pytest.raises(ConfigError, match="did you mean 'mpu-2010'"):
        mpu_bench.reproduce("mpu-2011")
    with pytest.raises(ConfigError, match="such as 200MB"):
        mpu_bench.reproduce("mpu-2010", data_limit="much")
    assert mpu_bench.plan("quickstart", settings={"description": "\U0001f600"}).runs


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"force": "no"}, "force is 'no'; it must be True or False"),
        ({"offline": "no"}, "offline is 'no'; it must be True or False"),
        ({"cluster": 3}, "--cluster 3: give the address"),
        ({"only": 5}, "only: holds what no YAML file can"),
        ({"settings": [5]}, "--set 5: must be written key=value"),
    ],
)
def test_a_wrong_keyword_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        mpu_bench.plan(CONFIG, **given)


def test_the_text_is_the_table_of_the_terminal(results: mpu_bench.Results) -> None:
    text = repr(mpu_bench.read(results.folder))
    assert text.startswith("checkerboard: 300 x 2, 50 test rows")
    assert re.search(r"^mpu( †)? +[23] ", text, re.MULTILINE)


def test_figures_are_those_of_the_plots(results: mpu_bench.Results) -> None:
    assert results.figure().axes
    assert results.figure(style="slides").get_figwidth() > results.figure().get_figwidth()
    assert results.figure("test-error", against="passes").axes[0].get_xlabel() == "passes"
    with pytest.raises(ConfigError, match="no figure 'test-eror': did you mean 'test-error'"):
        results.figure("test-eror")


def test_opening_writes_nothing(results: mpu_bench.Results) -> None:
    before = state(results.folder)
    opened = mpu_bench.read(str(results.folder))
    for name in TABLES:
        getattr(opened, name)
    opened.environment, repr(opened), opened._repr_html_(), opened.figure()
    assert state(results.folder) == before
    assert opened.environment == json.loads((results.folder / "environment.json").read_text(encoding="utf-8"))


def test_what_is_no_results_folder_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="absent: no such folder; results are in results/NAME"):
        mpu_bench.read(tmp_path / "absent")
    with pytest.raises(StoreError, match="holds no results"):
        mpu_bench.read(tmp_path)


@pytest.mark.baseline
def test_kept_results_are_read_too() -> None:
    kept = mpu_bench.read(Path(__file__).parents[1] / "results" / "baseline" / "mpu-table1")
    assert len(kept.runs) > 10
    assert kept.curves.empty
    assert "dcd" in kept._repr_html_()


def test_a_config_that_is_no_file_has_no_command_and_no_folder_of_another(
    results: mpu_bench.Results, home: Path, tmp_path: Path
) -> None:
    text = page.write([results.folder], tmp_path / "page").read_text(encoding="utf-8")
    assert "checkerboard" in text
    assert "mpu-bench run" not in text
    (tmp_path / "tried.yaml").write_text("name: tried\ndataset: checkerboard\nsolvers: [dcd]\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"holds results of another config named tried \(given by a program\)"):
        mpu_bench.run(tmp_path / "tried.yaml", results=results.folder.parent, data=home)


# ------------------------------------------------------------------ HTML


class Parsed(HTMLParser):
    """The elements of a text, whose tags must close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_notebook_shows_tables_and_a_figure(results: mpu_bench.Results) -> None:
    text = results._repr_html_()
    parsed = Parsed(text)
    assert {"table", "caption", "th", "td", "svg"} <= set(parsed.seen)
    assert not {"script", "link", "img", "iframe"} & set(parsed.seen)
    words = " ".join(parsed.words)
    assert "checkerboard: 300 x 2, 50 test rows" in words
    assert "duality gap" in words
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "http://" not in re.sub(
        r'(xmlns(:\w+)?|rdf:\w+)="[^"]*"|<metadata>.*?</metadata>', "", text, flags=re.DOTALL
    )


def test_a_hostile_name_is_only_a_word(results: mpu_bench.Results, tmp_path: Path) -> None:
    evil = "<script>alert('x')</script>"
    folder = tmp_path / "evil"
    with Store(results.folder) as store:
        records, facts = store.records(), store.facts()
        points = dict(store.checkpoints())
    machine = {"id": "m", "processor": evil}
    with Store(folder, create=True) as store:
        hostile = [replace(each, dataset=evil, solver=f"<b>{evil}", reason=evil) for each in records]
        store.save_plan(hostile, facts | {"description": evil})
        for each in hostile:
            store.save(each, points.get(each.run_id or "", []), machine, {})
    text = mpu_bench.read(folder)._repr_html_()
    parsed = Parsed(text)
    assert "script" not in parsed.seen
    assert "svg" in parsed.seen
    assert "&lt;script&gt;" in text


# ------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("change", "keywords", "words"),
    [
        ({"solvers": [{"mpu": {"C": 0}}]}, {}, "the config: solvers.mpu.C: must be greater than 0, not 0"),
        ({"solver": []}, {}, "the config: solver: unknown key; did you mean 'solvers'?"),
        ({"repeats": object()}, {}, "the config: holds what no YAML file can"),
        ({}, {"settings": {"solvers.dcd.D": 1}}, "--set solvers.dcd.D=1: unknown key"),
        ({}, {"settings": {"stop.passes": object()}}, "settings: holds what no YAML file can: Object of type object"),
        ({}, {"only": {"solver": "pegasos"}}, "no run has solver 'pegasos'"),
        ({}, {"profile": "ci"}, "the config: there is no profile 'ci'"),
        ({}, {"jobs": 0}, "jobs: must be a whole number from 1 to"),
        ({}, {"threads": "2"}, "threads: must be a whole number from 1 to"),
        ({"plugins": ["absent.py"]}, {}, "absent.py: no such file"),
    ],
)
def test_a_wrong_config_names_the_key(
    change: dict[str, object], keywords: dict[str, object], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        mpu_bench.run({**CONFIG, **change}, results=tmp_path, data=tmp_path / "home", **keywords)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tried").exists()


def test_whole_numbers_and_lists_of_any_type_are_taken(tmp_path: Path, home: Path) -> None:
    made = mpu_bench.run(
        CONFIG, results=tmp_path, data=home, only={"solver": ["dcd", "mpu"]}, jobs=np.int64(1), threads=np.int32(1)
    )
    assert set(made.table["solver"]) == {"dcd", "mpu"}


def test_a_run_that_fails_is_a_row(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PLUGIN.read_text(encoding="utf-8").replace('"misbehaving"', '"failing"')  # other tests leave that one behind
    Path("own.py").write_text(text, encoding="utf-8")
    config = {
        "name": "failing",
        "dataset": BOARD,
        "plugins": ["own.py"],
        "solvers": [{"failing": {"how": "raise"}}],
    }
    failed = mpu_bench.run(config, data=home)
    (row,) = failed.runs.to_dict("records")
    assert row["status"] == "error"
    assert re.fullmatch(r"ValueError: the matrix is not what it seemed \(own.py, line \d+, in _raise\)", row["reason"])
    assert 'File "own.py", line' in row["traceback"]
    assert "the matrix is not what it seemed" in repr(failed)
    # an edited file is looked at anew, and so is one of the same name elsewhere
    text = text.replace("it seemed", "it was").replace("passes: ", "rounds: int = 1\n    passes: ")
    Path("own.py").write_text(text, encoding="utf-8")
    config["solvers"] = [{"failing": {"how": "raise", "rounds": 2}}]
    assert "is not what it was" in mpu_bench.run(config, data=home).runs.reason[0]
    assert "misbehaving" not in sys.modules


def test_an_interruption_passes_and_keeps_what_is_finished(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = ChosenRuns.make

    def interrupted(*arguments: object, **keywords: object) -> bool:
        make(*arguments, **keywords)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ChosenRuns, "make", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mpu_bench.run(CONFIG, results=tmp_path, data=home, only=["solver=dcd"])
    assert (tmp_path / "tried" / "runs.csv").is_file()
    status = mpu_bench.read(tmp_path / "tried").runs.status
    assert list(status.isin(["done", "stopped"])) == [True, True, False, False]
    assert {type(each) for each in status} == {str}


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_a_program_needs_no_guard(how: str, tmp_path: Path, home: Path) -> None:
    program = (
        f"import mpu_bench\nresults = mpu_bench.run({CONFIG!r}, only=['seed=0'], data={str(home)!r}, progress=True)\n"
        "print(len(results.runs), *results.runs.status)\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    arguments, given = (["program.py"], None) if how == "file" else (["-"], program)
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments], input=given, cwd=tmp_path, capture_output=True, text=True,
        check=False, timeout=200, env=os.environ | {"COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "4"
    assert "2/2  checkerboard mpu" in done.stderr


def test_the_top_needs_nothing_until_it_is_asked() -> None:
    program = "import sys, mpu_bench; print([n for n in ('numpy', 'pandas', 'mpu_bench.api') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert {"run", "plan", "reproduce", "read", "Results", "UserError", "SMOClassifier"} <= set(dir(mpu_bench))
    with pytest.raises(AttributeError, match="has no attribute 'runn'"):
        mpu_bench.runn  # noqa: B018


def test_what_is_no_path_is_told() -> None:
    for arguments in ((3,), ("quickstart", {"results": 3}), ("quickstart", {"data": 3})):
        config, *named = arguments
        with pytest.raises(mpu_bench.ConfigError, match="is 3; it must be a path"):
            mpu_bench.run(config, **(named[0] if named else {}))
