"""The documentation and the baseline are up to date, links lead somewhere, and it builds as a site."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest
import yaml

import accept
import stored
from documentation import DOCS, README, ROOT, document, made, pages
from mpu_bench import estimators
from mpu_bench.config.rules import Statement, Where
from mpu_bench.config.schema import PAPERS
from mpu_bench.experiment import reproduce
from mpu_bench.report import overview
from mpu_bench.report.page import write as write_pages
from mpu_bench.solver import CHECKS
from mpu_bench.verdict.cells import COUNTED

RUN = "run python scripts/document.py"

_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module", autouse=True)
def _each_experiment_is_judged_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(overview, "of_folder", cache(overview.of_folder))
        yield


@pytest.mark.baseline
def test_what_is_written_by_the_script_is_what_it_writes() -> None:
    script = document()
    written = script.kept()
    texts = {path: text for path, text in written.items() if path.endswith(".md")}
    assert [path for path, text in texts.items() if text != (DOCS / path).read_text("utf-8")] == [], RUN
    assert {path.name for path in (DOCS / "papers").iterdir()} == {Path(path).name for path in written}, RUN
    readme = README.read_text(encoding="utf-8")
    assert readme == script.readme(readme), RUN
    verdicts = script.VERDICTS.read_text(encoding="utf-8")
    assert verdicts == script.verdicts_page(verdicts), RUN


@pytest.mark.baseline
def test_the_readme_and_the_pages_of_the_baseline_show_what_is_kept(tmp_path: Path) -> None:
    kept = (accept.BASELINE / "README.md").read_text(encoding="utf-8")
    assert kept == accept.readme(accept.BASELINE), "run scripts/accept.py"
    assert accept.SECONDS.read_text(encoding="utf-8") == accept.seconds(accept.BASELINE), "run scripts/accept.py"
    write_pages(accept.full(accept.BASELINE), tmp_path)
    assert {f"{paper}.html" for paper in PAPERS} < {path.name for path in tmp_path.iterdir()}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 5e6


@pytest.mark.baseline
def test_whatever_speaks_against_a_paper_has_its_cause() -> None:
    """One that anyone can run or look up, or the list of what was excluded."""
    tables = overview.by_table(map(overview.of_folder, accept.full(accept.BASELINE)))
    against = [cell for each in tables for cell in each.cells if cell.kind in COUNTED and cell.is_against]
    assert against
    assert [(cell.table or cell.sentence, cell.dataset, cell.what) for cell in against if not cell.explained] == []
    assert [(cell.table or cell.sentence, cell.dataset, cell.what) for cell in against if not cell.evidence] == []


@pytest.mark.parametrize("path", sorted((DOCS / "papers").glob("*.svg")), ids=lambda path: path.stem)
def test_figures_in_git_are_small_and_whole(path: Path) -> None:
    assert path.stat().st_size <= 40_000
    assert "".join(ElementTree.parse(path).getroot().itertext()).strip(), "words stay words"
    for reference in re.findall(r'(?:href="#|url\(#)([^")]+)', path.read_text("utf-8")):
        assert f'id="{reference}"' in path.read_text("utf-8")


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    for target in _LINK.findall(re.sub(r"^```.*?^```", "", pages()[page], flags=re.MULTILINE | re.DOTALL)):
        name, _, anchor = target.partition("#")
        if name.startswith("https://"):
            continue
        path = os.path.normpath((Path(page).parent / name).as_posix() if name else page)
        assert path.removeprefix("docs/") in made() or (ROOT / path).exists() or path in pages(), f"{page}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", pages()[path], re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", each).lower().replace(" ", "-") for each in headings}, target


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/papers/{path.name}" for path in (DOCS / "papers").glob("*.md"))]
)
def test_what_is_read_on_a_forge_links_to_what_lies_in_git(page: str) -> None:
    for name in (target.partition("#")[0] for target in _LINK.findall(pages()[page])):
        assert name.startswith("https://") or ((ROOT / page).parent / name).exists(), name


def test_numbers_that_pages_name_are_those_there_are() -> None:
    used = [name for _, *of_class in estimators.MODULES.values() for name in of_class]
    assert f"Its {len([*used, *estimators.wrapped_solvers()])} solvers" in pages()["README.md"].replace("\n", " ")
    for page in ("docs/tutorial.md", "docs/own-solver.md"):
        assert re.findall(r"(\d+) contract tests", pages()[page]) == [str(len(CHECKS))]


@pytest.mark.baseline
def test_the_page_says_how_many_hours_everything_takes() -> None:
    papers = {experiment.name for experiment in reproduce.experiments([], None, print)[0]}
    about = [stored.about(folder) for folder in accept.full(accept.BASELINE)]
    hours = sum(each["hours"] for each in about if each["name"] in papers)
    (said,) = re.findall(r"more than (\d+) hours", pages()["docs/verdicts.md"])
    assert 0 <= hours - int(said) < 3


def test_the_reference_has_every_kind_of_statement() -> None:
    rows = made()["config-reference.md"].partition("## claims")[2].splitlines()
    for kind in get_args(get_args(Statement)[0]):
        for word in get_args(kind.model_fields["kind"].annotation):
            assert any(row.startswith("|") and f"`{word}`" in row.split("|")[1] for row in rows), word


def test_the_reference_has_the_types_that_rows_are_selected_by() -> None:
    """They are columns of runs.csv, not what configs say of datasets, kernels and budgets."""
    rows = made()["config-reference.md"].partition("| key of `of` and `than` |")[2]
    words = {str: "text", int: "whole number"}
    for name, field in Where.model_fields.items():
        kind, *others = get_args(field.annotation)
        if kind in words and others == [type(None)]:
            assert f"\n| `{name}` | {words[kind]} |\n" in rows, name


def test_the_site_has_every_page() -> None:
    settings = yaml.safe_load((DOCS / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = re.findall(r"[\w/+-]+\.md", yaml.safe_dump(settings["nav"]))
    assert sorted(listed) == sorted(page.removeprefix("docs/") for page in pages() if page != "README.md")


def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the extra docs: make docs")
    pytest.importorskip("mkdocstrings")
    with (DOCS / "mkdocs.yml").open("rb") as settings:
        built = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "-", "--site-dir", str(tmp_path)],
            stdin=settings, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200,
        )  # fmt: skip
    assert built.returncode == 0, built.stderr
    for path in tmp_path.rglob("*.html"):
        fetched = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"?(https?://[^\" >]*)", path.read_text("utf-8"))
        assert not fetched, path.name
