"""What `make check` says of the documentation's words."""

from __future__ import annotations

from types import ModuleType

import pytest

from documentation import ROOT


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import prose

    monkeypatch.setattr(prose, "helps", lambda: iter(()))
    return prose


def test_a_phrase_is_named_with_its_line_and_code_and_quotations_are_let_be(
    prose: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '# Peers\n\n`a peer` and "a peer".\n\n```\na peer\n```\n\n> a peer\n\nYou are told so.\n'
    monkeypatch.setattr(prose, "pages", lambda: iter([("page.md", text)]))
    assert [fault.partition(";")[0] for fault in prose.faults()] == [
        "page.md:1: 'Peers'", "page.md:11: 'are told'",
    ]  # fmt: skip
    assert prose.main() == 1


def test_a_page_of_long_sentences_is_named(prose: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    long, short = "word " * 29 + "word.\n\n", "Two words.\n\n"
    monkeypatch.setattr(prose, "pages", lambda: iter([("page.md", long * 2 + short * 8), ("good.md", short * 9)]))
    (fault,) = prose.faults()
    assert fault.startswith("page.md:1: ")
