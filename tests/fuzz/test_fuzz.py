"""Damaged input of every kind is refused as a user's error, or accepted: the short form of `make fuzz`."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import data
from fuzz.registry import targets
from fuzz.target import SEEDS, Target
from mpu_bench.data.download import compression
from mpu_bench.data.prepare import build

PACKAGE = Path(__file__).parents[2] / "src" / "mpu_bench"
TRIES = 25  #: of a target with a share of one
#: calls that make sense of what comes from outside
PARSERS = {
    *(
        "json.loads",
        "csv.DictReader",
        "csv.reader",
        "read_csv",
        "sqlite3.connect",
        "struct.unpack",
        "np.load",
        "pd.read_csv",
    ),
    *(
        "document.read",
        "document.parse",
        "yaml_text.load",
        "pickle.loads",
        "pickle.load",
        "recv",
        "recv_bytes",
        "yaml.load",
    ),
}
#: modules that call one of them on what this very process has written or checked before
OWN_TEXT = {
    "mpu_bench.data.cards.schema": "rounds a number to float32",
    "mpu_bench.report.printed": "reads a file that comes with the project",
    "mpu_bench.guard.messages": "a child hears from the process that has started it",
    "mpu_bench.selection.worker": "hears from the process that has started it, and takes the model it has made",
    "mpu_bench.data.user_files.adding": "takes apart the card that it has just made",
    "mpu_bench.models.export.device_costs": "reads a file that comes with the project",
    "mpu_bench.selection.session": "takes the model that a process of its own has just made",
    "mpu_bench.experiment.estimates": "reads a file that comes with the project",
    "mpu_bench.experiment.pool.cluster.client": "hears from workers, which can run code here anyway: docs/cluster.md",
    "mpu_bench.experiment.pool.cluster.host": "hears from its client, which can run code there anyway: docs/cluster.md",
    "mpu_bench.experiment.pool.cluster.connect": "one address, held to a pattern: tests/cli/test_cluster.py",
    "mpu_bench.experiment.worker": "hears from the process that has started it",
}


@pytest.fixture(params=targets().values(), ids=lambda target: target.name)
def target(request: pytest.FixtureRequest) -> Target:
    return request.param


@pytest.mark.parametrize("seed", sorted(SEEDS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_crashed_is_refused_or_accepted(seed: Path) -> None:
    targets()[seed.parent.name].attempt(seed.read_bytes())


def test_examples_are_understood(target: Target) -> None:
    outcomes = [target.attempt(each) for each in target.examples()]
    assert outcomes.count("accepted") >= len(outcomes) / 5


def test_damaged_input_is_refused_or_accepted(target: Target) -> None:
    examples = [*target.examples(), *target.seeds()]

    @settings(max_examples=max(10, min(100, round(TRIES * target.share))))
    @given(st.integers(0, 2**32 - 1))
    def attempt(number: int) -> None:
        random = Random(number)
        made = random.choice(examples)
        for _ in range(random.choice((1, 1, 2, 4))):
            made = target.mutate(made, random)
        target.attempt(made)

    attempt()


# ------------------------------------------------------------------ nothing that reads is left out


def test_every_kind_of_card_is_fuzzed() -> None:
    assert {f"prepare-{kind}" for kind in data.kinds()} <= set(targets())
    assert set(build._READERS) <= data.kinds()
    assert data.reading_modules() <= data.kinds(), "a reader that no kind of card uses is not fuzzed"
    assert data.reading_modules() <= set(targets()), "a reader wants examples of its files, and a target of its own"


def test_every_kind_of_card_is_fuzzed_with_data_it_accepts() -> None:
    for kind in data.kinds():
        outcomes = {targets()[f"prepare-{kind}"].attempt(each) for each in data.preparations(kind)}
        assert "accepted" in outcomes, f"tests/fuzz/data.py: preparations: write a card of kind '{kind}' with its files"


def test_every_compression_is_fuzzed_with_data_it_accepts() -> None:
    for kind in compression._OPENERS:
        heads = [compression.compression(each) for each in targets()[f"compression-{kind or 'none'}"].examples()]
        assert kind in heads, f"tests/fuzz/data.py: _PACK: write how '{kind}' packs"


def test_every_module_that_parses_is_covered() -> None:
    covered = {module for each in targets().values() for module in each.covers}
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        text = path.read_text("utf-8")
        if module in covered or not any(parser.rpartition(".")[2] in text for parser in PARSERS):
            continue
        calls = {_called(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
        parsers = {parser for parser in PARSERS for call in calls if call == parser or call.endswith(f".{parser}")}
        if parsers and module not in OWN_TEXT:
            missing.append(f"{module} calls {', '.join(sorted(parsers))}")
    assert not missing, "no target covers them: " + "; ".join(missing)


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def test_covered_modules_are_there() -> None:
    modules = {module for each in targets().values() for module in each.covers} | set(OWN_TEXT)
    paths = {module: PACKAGE.parent / Path(*module.split(".")) for module in modules}
    assert [name for name, path in paths.items() if not path.with_suffix(".py").is_file() and not path.is_dir()] == []
