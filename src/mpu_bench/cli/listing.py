"""Tables of what there is: solvers, datasets, kernels, configs, the machine, and the plan of an experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from mpu_bench import solvers
from mpu_bench.config import schema
from mpu_bench.config.read import config_names, read_config
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS, Card
from mpu_bench.data.download.cache import DataHome
from mpu_bench.data.prepare.load import describe
from mpu_bench.errors import ConfigError
from mpu_bench.experiment.run import Run
from mpu_bench.scaled import short


def names(kind: str) -> list[str]:
    """Return the names of one kind: solvers, datasets, kernels or configs."""
    known = {
        "solvers": lambda: sorted(solvers.SOLVERS),
        "datasets": catalog.names,
        "kernels": lambda: sorted(schema.KERNELS),
        "configs": config_names,
    }
    return known[kind]()


def table(kind: str) -> Table:
    """Describe everything of one kind: solvers, datasets, kernels or configs."""
    makers = {"solvers": _solvers, "datasets": _datasets, "kernels": _kernels, "configs": _configs}
    return makers[kind]()


def _table(*headings: str) -> Table:
    listed = Table(box=None, pad_edge=False)
    for heading in headings:
        listed.add_column(heading, overflow="fold")
    return listed


def _solvers() -> Table:
    listed = _table("solver", "paper", "kernels", "classes", "parameters")
    for name in names("solvers"):
        solver = solvers.load(name)
        parameters = ", ".join(_parameter(field) for field in dataclasses.fields(solver))
        listed.add_row(name, solver.paper, solver.kernels, solver.classes, parameters)
    return listed


def _parameter(field: dataclasses.Field[Any]) -> str:
    required = field.default is dataclasses.MISSING
    return field.name if required else f"{field.name}={short(field.default)}"


def _datasets() -> Table:
    listed = _table("dataset", "train", "test", "features", "classes", "papers", "description")
    for name in names("datasets"):
        card = catalog.card(name)
        train, test = card.expected_rows()
        features = card.kept_features or card.features
        counts = ["" if number is None else str(number) for number in (train, test, features, len(card.class_names))]
        listed.add_row(name, *counts, ", ".join(card.papers), card.title)
    return listed


def _kernels() -> Table:
    listed = _table("kernel", "parameters", "description")
    for name, model in schema.KERNELS.items():
        parameters = ", ".join(model.model_fields)
        listed.add_row(name, parameters, (model.__doc__ or "").split("\n")[0])
    return listed


def _configs() -> Table:
    listed = _table("config", "datasets", "solvers", "description")
    for name in names("configs"):
        try:
            experiment = read_config(Path(name))
        except ConfigError as fault:
            listed.add_row(name, "", "", str(fault))
            continue
        used = ", ".join(dict.fromkeys(choice.name for choice in experiment.solvers))
        listed.add_row(name, ", ".join(choice.label for choice in experiment.datasets), used, experiment.description)
    return listed


def facts(home: DataHome) -> Table:
    """Describe the machine, the versions and the folders in use."""
    from mpu_bench.core import cache
    from mpu_bench.experiment import environment

    listed = _table("", "")
    machine = environment.describe(threads=1)
    listed.add_row("memory", f"{machine['memory_gb']} GiB")
    for name in ("processor", "cores", "system", "python", "commit"):
        listed.add_row(name, str(machine[name]))
    for package, version in machine["versions"].items():
        listed.add_row(package, version or "not installed")
    listed.add_row("datasets", str(home.folder))
    listed.add_row("mirror", ", ".join(home.mirrors) or "none")
    listed.add_row("compiled code", str(cache.cache_folder()))
    return listed


def dataset_facts(card: Card, home: DataHome) -> Table:
    """Describe one dataset: its files and their addresses, and whether it is on this machine."""
    described = describe(card, home)
    listed = _table("", "")
    listed.add_row(card.name, card.title)
    listed.add_row("papers", ", ".join(card.papers))
    for words in (card.cite, card.note):
        if words:
            listed.add_row("", words)
    listed.add_row("state", described.state)
    listed.add_row("options", ", ".join([*card.options, *UNIVERSAL_OPTIONS]))
    for file in card.remote_files:
        listed.add_row(file.name, "\n".join([*file.urls, *([file.by_hand] if file.by_hand else [])]))
    if described.fingerprint:
        listed.add_row("rows", f"{described.n} x {described.d} for training, {described.n_test} for testing")
        listed.add_row("classes", ", ".join(described.classes))
        listed.add_row("folder", str(described.folder))
    return listed


def print_plan(chosen: Sequence[Run], home: DataHome, folder: Path, console: Console) -> None:
    """List the runs of an experiment, which of them have a result, and what would be downloaded."""
    from mpu_bench.experiment import runner
    from mpu_bench.results.store import FILE, Store

    finished: set[str] = set()
    if (folder / FILE).is_file():
        with Store(folder) as store:
            finished = store.finished()
    listed = _table("run", "state")
    planned = runner.inspect(chosen, home)
    for each in planned:
        state = "has a result" if each.run_id in finished else "to do"
        listed.add_row(str(each.run), f"unavailable: {each.unavailable}" if each.unavailable else state)
    console.print(listed)
    missing = {file.name: file for each in planned if each.description for file in each.description.missing}
    for file in missing.values():
        size = "size unknown" if file.bytes is None else decimal(file.bytes)
        where = ", else ".join([*home.mirrors, *file.urls[:1], *([file.by_hand] if file.by_hand else [])])
        console.print(f"to download: {file.name} ({size}) from {where}", highlight=False, markup=False, soft_wrap=True)
    done = sum(each.run_id in finished for each in planned)
    console.print(
        f"{len(planned)} runs, {done} of them with a result; results are kept in {folder}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
