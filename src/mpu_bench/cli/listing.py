"""What there is: solvers, datasets, kernels, configs, the machine, and the plan of an experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mpu_bench import solvers
from mpu_bench.config import schema
from mpu_bench.config.read import config_names, read_config
from mpu_bench.config.schema import short
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card
from mpu_bench.data.download.cache import Home
from mpu_bench.data.prepare.load import describe
from mpu_bench.errors import ConfigError
from mpu_bench.experiment.plan import Run

KINDS = ("solvers", "datasets", "kernels", "configs")


def names(kind: str) -> list[str]:
    """Give the names of one of the `KINDS`."""
    known = {
        "solvers": lambda: sorted(solvers.SOLVERS),
        "datasets": catalog.names,
        "kernels": lambda: sorted(schema.KERNELS),
        "configs": config_names,
    }
    return known[kind]()


def table(kind: str) -> Table:
    """Describe everything of one of the `KINDS`."""
    makers = {"solvers": _solvers, "datasets": _datasets, "kernels": _kernels, "configs": _configs}
    return makers[kind]()


def _table(*headings: str) -> Table:
    made = Table(box=None, pad_edge=False)
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made


def _solvers() -> Table:
    made = _table("solver", "paper", "kernels", "classes", "parameters")
    for name in names("solvers"):
        solver = solvers.load(name)
        parameters = ", ".join(_parameter(field) for field in dataclasses.fields(solver))
        made.add_row(name, solver.paper, solver.kernels, solver.classes, parameters)
    return made


def _parameter(field: dataclasses.Field[Any]) -> str:
    required = field.default is dataclasses.MISSING
    return field.name if required else f"{field.name}={short(field.default)}"


def _datasets() -> Table:
    made = _table("dataset", "train", "test", "features", "classes", "papers", "what it is")
    for name in names("datasets"):
        card = catalog.card(name)
        train, test = card.expected_rows()
        features = card.kept_features or card.features
        counts = ["" if number is None else str(number) for number in (train, test, features, len(card.class_names))]
        made.add_row(name, *counts, ", ".join(card.papers), card.title)
    return made


def _kernels() -> Table:
    made = _table("kernel", "parameters", "what it is")
    for name, model in schema.KERNELS.items():
        parameters = ", ".join(model.model_fields)
        made.add_row(name, parameters, (model.__doc__ or "").split("\n")[0])
    return made


def _configs() -> Table:
    made = _table("config", "datasets", "solvers", "what it is")
    for name in names("configs"):
        try:
            experiment = read_config(Path(name))
        except ConfigError as fault:
            made.add_row(name, "", "", str(fault))
            continue
        used = ", ".join(dict.fromkeys(choice.name for choice in experiment.solvers))
        made.add_row(name, ", ".join(choice.label for choice in experiment.datasets), used, experiment.description)
    return made


def facts(home: Home) -> Table:
    """Describe the machine, the versions and the folders in use."""
    from mpu_bench.core import cache
    from mpu_bench.experiment import environment

    made = _table("", "")
    machine = environment.describe(threads=1)
    for name in ("processor", "cores", "memory_gb", "system", "python", "commit"):
        made.add_row(name.replace("_", " "), str(machine[name]))
    for package, version in machine["versions"].items():
        made.add_row(package, version or "not installed")
    made.add_row("datasets", str(home.folder))
    made.add_row("mirror", ", ".join(home.mirrors) or "none")
    made.add_row("compiled code", str(cache.cache_folder()))
    return made


def dataset_facts(card: Card, home: Home) -> Table:
    """Describe one dataset: what it is, its files and their addresses, whether it is here."""
    described = describe(card, home)
    made = _table("", "")
    made.add_row(card.name, card.title)
    made.add_row("papers", ", ".join(card.papers))
    for words in (card.cite, card.note):
        if words:
            made.add_row("", words)
    made.add_row("state", described.state)
    made.add_row("options", ", ".join([*card.options, *UNIVERSAL_OPTIONS]))
    for file in card.remote_files:
        made.add_row(file.name, "\n".join([*file.urls, *([file.by_hand] if file.by_hand else [])]))
    if described.fingerprint:
        made.add_row("rows", f"{described.n} x {described.d} for training, {described.n_test} for testing")
        made.add_row("classes", ", ".join(described.classes))
        made.add_row("folder", str(described.folder))
    return made


def print_plan(chosen: Sequence[Run], home: Home, folder: Path, console: Console) -> None:
    """Show the runs an experiment would do, which of them have a result, and what would be downloaded."""
    from mpu_bench.experiment import runner
    from mpu_bench.results.store import FILE, Store

    finished: set[str] = set()
    if (folder / FILE).is_file():
        with Store(folder) as store:
            finished = store.finished()
    made = _table("run", "state")
    planned = runner.look(chosen, home)
    for each in planned:
        state = "has a result" if each.run_id in finished else "to do"
        made.add_row(str(each.run), f"not available: {each.unavailable}" if each.unavailable else state)
    console.print(made)
    missing = {file.name: file for each in planned if each.description for file in each.description.missing}
    for file in missing.values():
        size = "size unknown" if file.bytes is None else f"{file.bytes / 1e6:.1f} MB"
        where = ", else ".join([*home.mirrors, *file.urls[:1], *([file.by_hand] if file.by_hand else [])])
        console.print(f"to fetch: {file.name} ({size}) from {where}", highlight=False, markup=False, soft_wrap=True)
    done = sum(each.run_id in finished for each in planned)
    console.print(f"{len(planned)} runs, {done} with a result, results in {folder}", highlight=False, markup=False)
