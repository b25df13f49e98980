"""Tables of what there is: solvers, datasets, kernels, configs, the machine, and the plan of an experiment."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from mpu_bench import published, solvers
from mpu_bench.config.read import read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card, TableCard
from mpu_bench.data.download.cache import DataDirectory, RemoteFile, shown
from mpu_bench.data.prepare.load import describe, prepared_folder
from mpu_bench.display.terminal import Drawn, Terminal
from mpu_bench.errors import ConfigError, DataError, check_known
from mpu_bench.kernels import KERNELS
from mpu_bench.report.tables import Table
from mpu_bench.resources import config_names
from mpu_bench.scaled import short
from mpu_bench.solvers import meanings


def names(kind: str) -> list[str]:
    """Return the names of one kind: solvers, datasets, kernels or configs."""
    known = {
        "solvers": lambda: sorted(solvers.SOLVERS),
        "datasets": catalog.names,
        "kernels": lambda: sorted(KERNELS),
        "configs": config_names,
    }
    return known[kind]()


def table(kind: str, chosen: Sequence[str] = ()) -> Drawn:
    """Describe everything of one kind: solvers, datasets, kernels or configs; or what is chosen of it.

    Raises
    ------
    ConfigError
        If there is nothing of a name chosen.
    """
    known = names(kind)
    for name in chosen:
        check_known(name, known, f"no '{name}' in the {kind}")
    headings, describe_one = {
        "solvers": (("solver", "paper", "kernels", "classes", "parameters"), _solver),
        "datasets": (("dataset", "train", "test", "features", "classes", "papers", "description"), _dataset),
        "kernels": (("kernel", "parameters", "description"), _kernel),
        "configs": (("config", "datasets", "solvers", "description"), _config),
    }[kind]
    return columns(headings, [(name, *describe_one(name)) for name in chosen or known])


def schema_text(kind: str, chosen: Sequence[str] = ()) -> str:
    """Return the JSON Schema of configs, with all solvers that are installed.

    Raises
    ------
    ConfigError
        If something else than configs is to be described, or one of them.
    """
    from mpu_bench.config.json_schema import json_schema

    if kind != "configs":
        raise ConfigError(f"--schema: {kind} have none; write mpu-bench list configs --schema")
    if chosen:
        raise ConfigError(f"--schema: is one for all configs; leave out {', '.join(chosen)}")
    return json.dumps(json_schema(solvers.SOLVERS), indent=2) + "\n"


def columns(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Drawn:
    """Return a plain table of texts."""
    return Drawn(Table(headings, list(rows), "l" * len(headings)), framed=False)


def _solver(name: str) -> Sequence[str]:
    if package := solvers.package_of(name):  # which is not imported to list it
        return "", "", "", f"of the package {package}: mpu-bench list solvers {name}"
    solver = solvers.load(name)
    parameters = ", ".join(
        field.name if field.default is dataclasses.MISSING else f"{field.name}={short(field.default)}"
        for field in dataclasses.fields(solver)
    )
    missing = solvers.not_installed(name)
    return solver.paper, solver.kernels, solver.classes, f"{parameters} ({missing})" if missing else parameters


def print_solver(name: str, console: Terminal) -> None:
    """Print what there is to know of a solver: every parameter with its range, its default and what it means.

    Raises
    ------
    ConfigError
        If there is no such solver.
    """
    from mpu_bench.core.solver import KINDS_OF_KERNELS

    solver = solvers.load(name)
    more = "; more by multiclass: one-against-one or one-against-rest" if solver.classes == "two" else ""
    facts = (
        ("solver", f"{name}: {meanings.summary(solver)}"),
        ("paper", getattr(solver, "paper", "")),
        ("kernels", KINDS_OF_KERNELS[solver.kernels]),
        ("classes", f"{solver.classes}{more}"),
        ("weights", "class_weight: balanced, or a number for each class" if solver.weighted else ""),
        ("streams", "yes" if solver.online else "no"),
        ("stops by itself", "yes" if solver.ends or not solver.sliceable else "no: the config needs stop:"),
        ("obeys stop:", "" if solver.sliceable else "no: it trains in one piece"),
        ("counts", meanings.counted(solver)),
        ("missing", solvers.not_installed(name)),
    )
    console.print(columns(("", ""), [fact for fact in facts if fact[1]]))
    described = [
        (parameter.name, parameter.range, parameter.default, parameter.meaning)
        for parameter in meanings.parameters(solver)
    ]
    console.print(columns(("parameter", "range", "default", "meaning"), described))
    if cited := published.citation(getattr(solver, "paper", "")):
        console.print(f"\n{cited}", markup=False, highlight=False, soft_wrap=True)


def _dataset(name: str) -> Sequence[str]:
    try:
        card = catalog.card(name)
    except DataError as error:
        return *[""] * 5, str(error)
    features = card.known_features if isinstance(card, TableCard) else card.kept_features or card.features
    counts = (*card.expected_rows(), features, len(card.class_names))
    return *("" if count is None else str(count) for count in counts), ", ".join(card.papers), card.title


def _kernel(name: str) -> Sequence[str]:
    options = KERNELS[name].options
    return ", ".join(options.model_fields), (options.__doc__ or "").split("\n")[0]


def _config(name: str) -> Sequence[str]:
    try:
        experiment = read_config(Path(name), with_plugins=False)
    except ConfigError as error:
        return "", "", str(error)
    labels = dict.fromkeys(choice.label for choice in experiment.datasets)  # bipartitions have one label
    used = ", ".join(dict.fromkeys(choice.name for choice in experiment.solvers))
    return ", ".join(labels), used, experiment.description


def facts(home: DataDirectory) -> Drawn:
    """Describe the machine, the versions and the folders in use."""
    from mpu_bench.core import cache
    from mpu_bench.experiment import environment

    machine = environment.describe(threads=1)
    return columns(
        ("", ""),
        [
            ("memory", f"{machine['memory_gb']} GiB"),
            *((name, str(machine[name])) for name in ("processor", "cores", "system", "python", "commit")),
            *((package, version or "not installed") for package, version in machine["versions"].items()),
            *machine["peers"].items(),
            ("datasets", str(home.folder)),
            ("mirror", ", ".join(map(shown, home.mirrors)) or "none"),
            ("compiled code", str(cache.cache_folder())),
        ],
    )


def dataset_facts(card: Card, home: DataDirectory) -> Drawn:
    """Describe one dataset: its files and their addresses, and whether it is on this machine."""
    described = describe(card, home)
    optional = [("papers", ", ".join(card.papers)), ("cite", card.cite), ("licence", card.licence), ("", card.note)]
    rows = [
        (card.name, card.title),
        *((key, words) for key, words in optional if words),
        ("state", described.state),
        ("options", ", ".join([*card.options, *UNIVERSAL_OPTIONS])),
        *((file.label, "\n".join(_sources(file))) for file in card.remote_files),
        *([("columns", _columns(card))] if isinstance(card, TableCard) else []),
    ]
    if described.fingerprint:
        rows += [
            ("rows", f"{described.n} x {described.d or '?'} for training, {described.n_test} for testing"),
            ("classes", ", ".join(described.classes)),
            ("folder", str(prepared_folder(card, home))),
        ]
    return columns(("", ""), rows)


def _sources(file: RemoteFile) -> list[str]:
    of_user = "" if file.path is None else f"{file.path} (your file, read where it is)"
    return [words for words in (*map(shown, file.urls), file.by_hand, of_user) if words]


def _columns(card: TableCard) -> str:
    kinds = list(card.columns.values())
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds) if kind != "label")
    return f"{counts}; the label is '{card.label}'; missing: {card.missing}; scale: {card.scale}"
