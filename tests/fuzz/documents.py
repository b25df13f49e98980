"""Targets: YAML, configs, what a command line lays over them, cards, and the published files of the project."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from unittest import mock

import yaml
from pydantic import BaseModel

from fuzz.mutation import bent_words, mutator_of_parts, mutator_of_yaml
from fuzz.target import SEPARATOR, Target, place, written
from mpu_bench import document, published, quantities, resources, scaled, solvers, yaml_text
from mpu_bench.config import sentences
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.download.cache import DataDirectory
from mpu_bench.data.prepare.load import describe
from mpu_bench.document import Strict
from mpu_bench.errors import ConfigError
from mpu_bench.experiment.plan import FILTERS, only, plan
from mpu_bench.kernels import KERNELS
from mpu_bench.verdict import judge

MAX_RUNS = 300  #: of a config whose runs are planned, too
_LARGEST_CONFIG_BYTES = 1_300  #: reading larger ones takes long


# ------------------------------------------------------------------ words


@cache
def words() -> tuple[str, ...]:
    """Return the words that configs and cards know: found from schemas and registries."""
    found = {*solvers.SOLVERS, *KERNELS, *scaled.DIVISORS, scaled.FROM_REGULARIZATION, *catalog.names()}
    found |= {
        *quantities.DECLARED,
        *published.names(),
        "per-dataset",
        "otherwise",
        "as",
        "bipartitions",
        "five-against-five",
    }
    for model in _below(Strict):
        for name, field in model.model_fields.items():
            found |= {field.alias or name, *_literals(field.annotation)}
    for name in solvers.SOLVERS:
        found |= {each.name for each in dataclasses.fields(solvers.load(name))}
    return tuple(sorted(found))


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _below(each)


def _literals(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (str(word) for word in get_args(annotation))
    for argument in get_args(annotation):
        yield from _literals(argument)


# ------------------------------------------------------------------ YAML


YAML_EXAMPLES = [
    b"a: 1\nb: [1, 2.5, x, {c: ~}]\nd:\n  - e: &anchor {f: 1e-5}\n  - *anchor\n",
    b"a: &base {b: 1}\nc: {<<: *base, d: 2}\n? e\n: |\n  text\n  more\nf: >-\n  folded\n",
    b"int: !!int '3'\nfloat: 1.0e10\ntext: !!str 5\ndate: 2001-12-14\nflag: yes\nnone: null\nhex: 0x1F\n",
    b"--- \n# comment\n'a b': \"\\x41\\u00e9\\n\"\n",
]


def _read_yaml(data: bytes) -> None:
    read = yaml_text.read(written("document.yaml", data), ConfigError)
    for key in read.data:
        assert read.locations.head((key,), read.source).startswith(read.source)
        document.dotted((key,))


def _read_value(data: bytes) -> None:
    yaml_text.load(data.decode("utf-8", "surrogateescape"), "--set key=value", ConfigError, has_lines=False)


# ------------------------------------------------------------------ configs


@cache
def config_examples() -> list[bytes]:
    """Return configs: the shorter ones of the project, and of every one its head with each of its solvers alone."""
    found = []
    for name in resources.config_names():
        text = resources.config_path(name).read_bytes()
        if len(text) <= _LARGEST_CONFIG_BYTES:
            found.append(text)
        tree = yaml.safe_load(text)
        tree["datasets"] = tree.get("datasets", [tree.pop("dataset", None)])[:2]
        for entry in tree["solvers"][:2]:
            found.append(yaml.safe_dump(tree | {"solvers": [entry]}, sort_keys=False).encode())
    return found


def _read_config(data: bytes) -> None:
    path = written("config.yaml", data)
    experiment = read_config(path)
    for profile in experiment.profiles[:2]:
        with contextlib.suppress(ConfigError):
            _plan(read_config(path, profile=profile))
    _plan(experiment)


@contextlib.contextmanager
def _bundled(name: str, folder: Path) -> Iterator[None]:
    """Let another folder stand for one that comes with the project."""

    def bundled(asked: str) -> Path:
        below = asked.removeprefix(name).strip("/")
        return folder / below if asked.startswith(name) else original(asked)

    original = resources.bundled
    with mock.patch.object(resources, "bundled", bundled):
        yield


def _plan(experiment: Experiment) -> None:
    seeds = max([len(experiment.seeds), *map(len, experiment.seeds_on.values())])
    trials = sum(len(each.tuning.trials) * len(each.tuning.candidates) for each in experiment.solvers if each.tuning)
    if (len(experiment.solvers) * seeds + trials) * len(experiment.datasets) > MAX_RUNS:
        return
    for run in plan(experiment):
        str(run)


SETTINGS = (
    *("stop.seconds=5", "solvers.mpu.C=10", "seed=3", "solvers.mpu={}", "solvers.dcd.C=[1, 2]", "threads=1"),
    *("datasets.digits.positive=[3]", "limits.memory=4 GB", "tune.C=[1, 10]", "kernel.gaussian.gamma=0.5", "name=x"),
    *("kernel={gaussian: {gamma: {over-features: 4}}}", "budget.vectors=[10, 20]", "repeats={per-dataset: {a: 1}}"),
)


def _setting_examples() -> list[bytes]:
    config = next(text for text in config_examples() if b"quickstart" in text)
    return [SEPARATOR.join([config, *map(str.encode, SETTINGS[at : at + 3])]) for at in range(len(SETTINGS) - 2)]


def _read_settings(data: bytes) -> None:
    config, *settings = data.split(SEPARATOR)
    read_config(written("set.yaml", config), settings=[each.decode("utf-8", "surrogateescape") for each in settings])


@cache
def _quickstart() -> list[Any]:
    return plan(read_config(Path("quickstart")))


def _read_only(data: bytes) -> None:
    only(_quickstart(), [each.decode("utf-8", "surrogateescape") for each in data.split(b"\n")])


# ------------------------------------------------------------------ cards


@cache
def card_examples() -> list[bytes]:
    """Return the project's cards, each alone and with an option."""
    found = [path.read_bytes() for path in sorted(resources.bundled("datasets").glob("*.yaml"))]
    options = (b"positive: [1]", b"storage: dense", b"augment: 1.0", b"scale: standard", b"rows: 1000", b"seed: 5")
    return [*found, *(SEPARATOR.join(pair) for pair in zip(found, options, strict=False))]


_MOMENTS = itertools.count(1)
_SHIPPED = ("digits", "mnist", "mnist-8", "separable", "usps")  #: enough to extend, and quicker than all


@contextlib.contextmanager
def own_card(text: bytes) -> Iterator[str]:
    """Be in a folder whose ``datasets`` hold this card; yields its name."""
    folder, shipped = place() / "cards", place() / "shipped"
    if not folder.is_dir():
        (folder / "datasets").mkdir(parents=True)
        shipped.mkdir()
        for each in _SHIPPED:
            (shipped / f"{each}.yaml").symlink_to(resources.bundled("datasets") / f"{each}.yaml")
    path = folder / "datasets" / "fuzzed.yaml"
    path.write_bytes(text)
    moment = next(_MOMENTS)  # cards are read once for each time of modification
    os.utime(path, ns=(moment, moment))
    if not moment % 500:
        catalog._read_once.cache_clear()
    with contextlib.chdir(folder), _bundled("datasets", shipped):
        yield "fuzzed"


def _read_card(data: bytes) -> None:
    text, *more = data.split(SEPARATOR)
    with own_card(text) as name:
        card = catalog.card(name)
        describe(card, DataDirectory(place() / "no-data", (), offline=True))
        str((card.remote_files, card.expected_rows(), card.merged))
        for each in more:
            options, _ = yaml_text.load(
                each.decode("utf-8", "surrogateescape"), "options", ConfigError, has_lines=False
            )
            if isinstance(options, dict):
                catalog.card(name, options).preparation_key()


# ------------------------------------------------------------------ published tables, rules, sentences


@contextlib.contextmanager
def _published_with(name: str, data: bytes) -> Iterator[None]:
    """Let a published file have another content."""
    real = resources.bundled("configs/published")
    folder = place() / "published"
    if not folder.is_dir():
        (folder / "sentences").mkdir(parents=True)
        for path in real.glob("*.csv"):
            (folder / path.name).symlink_to(path)
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)

    with _bundled("configs/published", folder):
        yield


def _read_rules(data: bytes) -> None:
    with _published_with(judge.FILE, data):
        judge.rules.__wrapped__()


def _read_sentences(data: bytes) -> None:
    with _published_with("sentences/fuzzed.yaml", data):
        sentences._read.__wrapped__("fuzzed")


def _read_published(data: bytes) -> None:
    with _published_with("mpu-table1.csv", data):
        for row in published.table.__wrapped__("mpu-table1"):
            str([published.deviation(row, column) for column in row])


def _rule_examples() -> list[bytes]:
    return [(resources.bundled("configs/published") / judge.FILE).read_bytes()]


@cache
def _sentence_examples() -> list[bytes]:
    """Return every sentence of the papers alone."""
    files = sorted(resources.bundled("configs/published/sentences").glob("*.yaml"))
    every = [each for path in files for each in yaml.safe_load(path.read_bytes())["sentences"]]
    return [yaml.safe_dump({"sentences": [each]}, sort_keys=False).encode() for each in every]


def _published_examples() -> list[bytes]:
    return [path.read_bytes()[:1500] for path in sorted(resources.bundled("configs/published").glob("*.csv"))]


def _mutator_of(examples: Any) -> Any:
    return mutator_of_yaml(words, examples)


def targets() -> list[Target]:
    """Return the targets of this file."""
    of_config, of_card = _mutator_of(config_examples), _mutator_of(card_examples)
    of_setting = lambda data, random: bent_words(data, random, [*words(), *SETTINGS], b".=[]{}:, ")  # noqa: E731
    of_yaml = mutator_of_yaml(lambda: ("a", "b", "<<"), lambda: YAML_EXAMPLES)
    config_modules = tuple(f"mpu_bench.config.{name}" for name in ("read", "sweep", "checks", "schema", "rules"))
    return [
        Target("yaml", _read_yaml, lambda: YAML_EXAMPLES, ("mpu_bench.document",), 8, of_yaml),
        Target(
            "value",
            _read_value,
            lambda: [each.partition(b"=")[2] for each in map(str.encode, SETTINGS)],
            ("mpu_bench.document",),
            8,
            of_yaml,
        ),
        Target("config", _read_config, config_examples, (*config_modules, "mpu_bench.scaled"), 4, of_config, words()),
        Target(
            "set",
            _read_settings,
            _setting_examples,
            config_modules,
            2,
            mutator_of_parts([of_config, of_setting, of_setting, of_setting], SEPARATOR),
            words(),
        ),
        Target(
            "only",
            _read_only,
            lambda: [b"solver=mpu", b"dataset=digits\nseed=0", b"kernel=linear,gaussian"],
            ("mpu_bench.experiment.plan",),
            4,
            lambda data, random: bent_words(data, random, [*words(), *FILTERS], b"=,\n"),
        ),
        Target(
            "card",
            _read_card,
            card_examples,
            ("mpu_bench.data.cards.catalog", "mpu_bench.data.cards.schema"),
            4,
            mutator_of_parts([of_card, of_card], SEPARATOR),
            words(),
        ),
        Target("rules", _read_rules, _rule_examples, ("mpu_bench.verdict.judge",), 0.5, _mutator_of(_rule_examples)),
        Target(
            "sentences",
            _read_sentences,
            _sentence_examples,
            ("mpu_bench.config.sentences",),
            2,
            _mutator_of(_sentence_examples),
        ),
        Target(
            "published",
            _read_published,
            _published_examples,
            ("mpu_bench.published",),
            2,
            lambda data, random: bent_words(data, random, words()),
        ),
    ]
