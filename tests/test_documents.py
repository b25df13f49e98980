"""The documentation is up to date, its links lead somewhere, and it builds as a site."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pydantic
import pytest
import yaml

from documentation import DOCS, README, ROOT, pages

_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def document() -> ModuleType:
    """Import scripts/document.py, which writes pages of docs/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        specification = importlib.util.spec_from_file_location("document", ROOT / "scripts" / "document.py")
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    return module


@pytest.mark.baseline
def test_what_is_written_by_the_script_is_what_it_writes(document: ModuleType) -> None:
    written = document.pages()
    if tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 12):  # which spell the same schema in other words
        del written["config-schema.json"]
    stale = [path for path, text in written.items() if (DOCS / path).read_text(encoding="utf-8") != text]
    assert stale == [], "run python scripts/document.py"
    readme = README.read_text(encoding="utf-8")
    assert readme == document.readme(readme), "run python scripts/document.py"
    verdicts = document.VERDICTS.read_text(encoding="utf-8")
    assert verdicts == document.verdicts_page(verdicts), "run python scripts/document.py"
    marked = {page.removeprefix("docs/") for page, text in pages().items() if text.endswith(document.GENERATED)}
    assert marked == {path for path in written if path.endswith(".md")}


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 130


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    for target in _LINK.findall(re.sub(r"^```.*?^```", "", pages()[page], flags=re.MULTILINE | re.DOTALL)):
        name, _, anchor = target.partition("#")
        if name.startswith("https://"):
            continue
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), f"{page}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", each).lower().replace(" ", "-") for each in headings}, target


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
