"""The datasets, kernels and solvers that a config names: sweeps written out, every value checked.

Three steps for each entry of ``solvers``: what differs from dataset to dataset is selected, lists are expanded into
every combination of their values, and each plain entry that results is validated.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from mpu_bench import solvers
from mpu_bench.config.bounds import LARGEST_SEED, PlanSize, check_trials, combinations
from mpu_bench.config.checks import check_together
from mpu_bench.config.choices import (
    Candidate,
    DatasetChoice,
    Experiment,
    KernelChoice,
    SolverChoice,
    Tuning,
    ValidationSplit,
)
from mpu_bench.config.parameters import Names, check_answers, checked_parameters, names_of_parameters
from mpu_bench.config.rules import Judging
from mpu_bench.config.schema import RENAMED, File, Tune
from mpu_bench.data.cards import catalog
from mpu_bench.data.cards.schema import UNIVERSAL_OPTIONS
from mpu_bench.document import Change, Document, Label, Locations, Node, shown
from mpu_bench.errors import ConfigError, DataError
from mpu_bench.kernels import KERNELS
from mpu_bench.scaled import Derived, parse

_PER_DATASET, _OTHERWISE = "per-dataset", "otherwise"  # of all other datasets
_FILE = "file"  # of a dataset that is a user file
_KERNEL_PREFIX = "kernel."  # of what is tuned: kernel.gamma
_TUNE_KEYS = ", ".join(field.alias or name for name, field in Tune.model_fields.items())


def experiment_of(
    written: Document, changes: Sequence[Change] = (), say: Callable[[str], object] | None = None
) -> Experiment:
    """Apply changes to a config, check what it says then, and expand its sweeps.

    Parameters
    ----------
    written : Document
        What was read.
    changes : sequence of Change
        Those of a profile and of options.
    say : function or None
        Called with its plugins, which are then run; None: nothing is known of their solvers but the names.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    document = written.changed(changes)
    content: File = document.root.validated(File)
    plugins = _plugin_files(content.plugins, document["plugins"])
    # what does not need the code of plugins is rejected before it is run
    with solvers.undescribed() if plugins else nullcontext():
        experiment = _expanded_experiment(content, document, plugins)
    if plugins and say is not None:
        named = dict.fromkeys(map(str, plugins))
        say(f"this config names plugins, which are code that runs with your rights: {', '.join(named)}")
        for position, plugin in enumerate(plugins):
            try:
                solvers.describe_plugin(plugin)
            except ConfigError as error:
                raise document["plugins"][position].error(str(error)) from None
        experiment = _expanded_experiment(content, document, plugins)
    return experiment


def _plugin_files(names: Sequence[str], node: Node) -> tuple[Path, ...]:
    """Return the plugins' paths; a file that cannot be read, or is no Python, is rejected."""
    files = []
    for position, name in enumerate(names):
        try:
            files.append((Path(node.document.source).parent / name).resolve())
            solvers.check_plugin(files[-1])
        except (ConfigError, OSError, RuntimeError, ValueError) as error:  # such as of a loop of links
            raise node[position].error(str(error)) from None
    return tuple(files)


def _expanded_experiment(content: File, document: Document, plugins: tuple[Path, ...]) -> Experiment:
    """Expand a config, with all that is known of solvers now."""
    datasets = _datasets_of(content, document)
    labels = list(dict.fromkeys(dataset.label for dataset in datasets))
    repeats, more = content.repeats, dict[str, int]()
    if not isinstance(repeats, int):
        _check_per_dataset(document["repeats"].holding(repeats.values), labels)
        more = dict(repeats.values)
        repeats = more.pop(_OTHERWISE)
    count = max([repeats, *more.values()])
    if content.seed + count - 1 > LARGEST_SEED:
        raise document["seed"].error(
            f"the last of the {count:,} seeds from {content.seed:,} on is beyond {LARGEST_SEED:,}"
        )
    size = PlanSize((dataset.label for dataset in datasets), repeats, more)
    choices = tuple(
        choice
        for entry in document["solvers"].entries()
        for choice in _solvers_of(entry, content, labels=labels, size=size)
    )
    check_together(content, document, datasets, choices, labels={*labels, *_labels_in(document)})
    return Experiment(
        source=document.source,
        placement=content.placement or ("together" if content.stop.is_timed else "spread"),
        datasets=datasets,
        solvers=choices,
        seeds=tuple(range(content.seed, content.seed + repeats)),
        seeds_on={label: tuple(range(content.seed, content.seed + count)) for label, count in more.items()},
        kernel_memory=content.kernel_memory or (content.limits.memory and content.limits.memory // 2),
        judging=Judging(**{name: getattr(content, name) for name in Judging.model_fields}),
        profiles=tuple(content.profiles),
        plugins=plugins,
        **{name: getattr(content, name) for name in _TAKEN_OVER},
    )


_TAKEN_OVER = (
    *("name", "description", "paper", "stop", "limits", "checkpoints", "threads"),
    *("kernel_matrix", "optimum", "figures"),
)


# ------------------------------------------------------------------ datasets


def _datasets_of(content: File, document: Document) -> tuple[DatasetChoice, ...]:
    """Read ``dataset`` or ``datasets``, with sweeps over bipartitions written out."""
    if content.datasets is None:
        return _dataset(document["dataset"])
    by_label: dict[str, tuple[DatasetChoice, ...]] = {}
    for entry in document["datasets"].entries():
        choices = _dataset(entry)
        if choices[0].label in by_label:
            raise entry.error(f"'{choices[0].label}' stands twice; give one another label with as: NAME")
        by_label[choices[0].label] = choices
    return tuple(itertools.chain.from_iterable(by_label.values()))


def _dataset(node: Node) -> tuple[DatasetChoice, ...]:
    """Read a dataset with its options: one choice, or one for each of its ``bipartitions``."""
    if isinstance(node.value, Mapping) and _FILE in node.value:
        return (_user_file(node),)
    name, below = node.named("dataset")
    options = dict(below.value)
    for old in RENAMED.keys() & options.keys():
        raise below[old].error(f"unknown key; it is called '{RENAMED[old]}' now")
    raw_label, bipartitions = options.pop("as", None), options.pop("bipartitions", None)
    label: str | None = None if raw_label is None else below["as"].validated(Label)
    try:
        card = catalog.card(name, options)
        label = label or (name if name in card.aliases else card.name)
        if bipartitions is None:
            return (DatasetChoice(card.name, options, label, card.class_names),)
        return tuple(
            DatasetChoice(card.name, options | {"positive": positive}, label=label, classes=two_classes, split=split)
            for split, positive, two_classes in catalog.bipartitions(card, bipartitions)
        )
    except DataError as error:
        raise node.error(str(error)) from None


def _user_file(node: Node) -> DatasetChoice:
    """Read a dataset that is a user file: ``{file: mine.csv, label: y}``; paths are the config's."""
    from mpu_bench.data.user_files.adding import FileDataset

    file: FileDataset = node.validated(FileDataset)
    written = node.document.locations.nearest(node.key)
    folder = Path() if written.names_key else Path(node.document.source).parent
    options = {key: node.value[key] for key in UNIVERSAL_OPTIONS if key in node.value}
    try:
        name, card, told = file.found(folder, written.text or node.document.source)
        classes = catalog.card(name, options | card).class_names
        return DatasetChoice(name, options | card, file.name or name, classes, remarks=tuple(told))
    except DataError as error:
        raise node[_FILE].error(str(error)) from None


# ------------------------------------------------------------------ one step: select what holds for a dataset


def _selected(node: Node, labels: Sequence[str], written: Mapping[str, Node]) -> Iterator[tuple[str | None, Node]]:
    """Write out ``{per-dataset: {adult: 0.06, otherwise: 0.1}}``: the parameters for each dataset's label.

    ``written`` are those that may stand elsewhere.
    """
    varying = {name for name, value in node.value.items() if isinstance(value, Mapping) and [*value] == [_PER_DATASET]}
    if not varying:
        yield None, node
        return
    for name in varying:
        _check_per_dataset(written.get(name, node[name])[_PER_DATASET], labels)
    for label in labels:
        chosen = {name: node.value[name][_PER_DATASET] for name in varying}
        yield (
            label,
            node.holding(
                node.value | {name: values.get(label, values.get(_OTHERWISE)) for name, values in chosen.items()}
            ),
        )


def _check_per_dataset(node: Node, labels: Sequence[str]) -> None:
    """Reject a name of no dataset, or a dataset without a value."""
    if not isinstance(node.value, Mapping):
        raise node.error(f"must give a value for each dataset (adult: 0.06), not {shown(node.value)}")
    for label in labels:
        if label not in node.value and _OTHERWISE not in node.value:
            raise node.error(f"has no value for '{label}'; add it, or {_OTHERWISE}: VALUE")
    valid = {*labels, *_labels_in(node.document), _OTHERWISE}
    for label in node.value:
        if label not in valid:
            raise node[label].unknown("dataset", str(label), valid)


def _labels_in(document: Document) -> set[str]:
    """List the labels of all datasets that a config names, in any of its profiles, as far as it can be read."""
    data = (document.written or document).data
    profiles = data.get("profiles")
    parts = [data, *(profiles.values() if isinstance(profiles, Mapping) else ())]
    entries = [
        entry
        for part in parts
        if isinstance(part, Mapping)
        for entry in (part.get("dataset"), *(part["datasets"] if isinstance(part.get("datasets"), list) else ()))
    ]
    labels = {entry for entry in entries if isinstance(entry, str)}
    for entry in entries:
        if isinstance(entry, Mapping) and _FILE in entry:
            from mpu_bench.data.user_files.adding import name_of

            with suppress(DataError):
                labels.add(str(entry.get("as") or name_of(Path(str(entry[_FILE])))))
            continue
        for name, options in entry.items() if isinstance(entry, Mapping) else ():
            labels.add(str(options["as"] if isinstance(options, Mapping) and options.get("as") else name))
    return labels


# ------------------------------------------------------------------ two: expand lists


def expand(value: Any) -> list[Any]:
    """Write out every combination of the lists in a value, the first key of a mapping varying slowest."""
    if isinstance(value, list):
        return [one for entry in value for one in (expand(entry) if isinstance(entry, Mapping) else [entry])]
    if isinstance(value, Mapping):
        return list(_expanded(value))
    return [value]


def _expanded(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Write out the combinations one by one, so that the first wrong one ends it."""
    for combination in itertools.product(*map(expand, value.values())):
        yield dict(zip(value, combination, strict=True))


# ------------------------------------------------------------------ three: validate plain entries


def _check_linear(name: str, kernel: KernelChoice, node: Node) -> None:
    if solvers.load(name).kernels == "linear" and not kernel.is_linear:
        raise node.error(
            f"solver '{name}' is linear only and cannot take the kernel {kernel}; use kernel: linear, or give the "
            "kernel to the other solvers alone (- solver: {kernel: ...})"
        )


# ------------------------------------------------------------------ tuning


@dataclasses.dataclass(frozen=True)
class TuningGrid:
    """What ``tune:`` says, every combination of its values, and the splits; one of nothing where there is no tuning."""

    how: Tune | None = None
    node: Node | None = None
    combinations: tuple[Mapping[str, Any], ...] = ({},)
    splits: tuple[ValidationSplit, ...] = ()

    @property
    def trials(self) -> int:
        """How many runs it takes to tune one solver."""
        return len(self.combinations) * len(self.splits)

    def values(self, prefix: str = "") -> list[dict[str, Any]]:
        """Return, of every combination, the values of the solver's parameters, or with a prefix of the kernel's."""
        return [
            {
                name.removeprefix(prefix): value
                for name, value in combination.items()
                if name.startswith(_KERNEL_PREFIX) == bool(prefix)
            }
            for combination in self.combinations
        ]

    def check(self, owner: str, parameters: Names, fixed: Node, prefix: str = "") -> None:
        """Reject tuned names that are not parameters of the solver or kernel, or that have a value as well.

        What is wrong with a value that is tried is from then on said of its key under ``tune``.
        """
        for name in self.values(prefix)[0] if self.node is not None else ():
            node = self.node[prefix + name]  # type: ignore[index]
            if name not in parameters:
                raise node.error(f"{owner} has no parameter '{name}'; {node.document.suggest(name, parameters)}")
            if name in fixed.value:
                raise node.error(f"{owner} is given a value of '{name}', too; remove one of the two")
            locations = node.document.locations
            locations.put((*fixed.key, name), Locations(locations.head(node.key, node.document.source), names_key=True))


def _grid(node: Node) -> TuningGrid:
    """Read ``tune: {C: [1, 2], kernel.gamma: [0.1, 1], holdout: 0.3}``."""
    if node.value is None:
        return TuningGrid()
    if not isinstance(node.value, Mapping):
        raise node.error(f"must be parameters with the values to try and holdout: 0.3, not {shown(node.value)}")
    entry = {str(name): value for name, value in node.value.items()}
    nested = entry.pop("kernel", {})  # as --set tune.kernel.gamma=[1, 2] writes it
    if not isinstance(nested, Mapping):
        raise node["kernel"].error("must be written kernel.gamma: [0.1, 1]")
    entry |= {f"{_KERNEL_PREFIX}{name}": values for name, values in nested.items()}
    how: Tune = node.holding(entry).validated(Tune)
    tried = dict(how.model_extra or {})
    for name, values in tried.items():
        if not isinstance(values, list) or combinations(values) == 0:
            raise node[name].error(
                f"must be a list of values to try, not {shown(values)} (the other keys of tune: {_TUNE_KEYS})"
            )
    if not tried:
        raise node.error("names no parameter to try values of, such as C: [1, 10, 100]")
    check_trials(tried, how.repeats * (how.folds or 1), node)
    parts = itertools.product(range(how.repeats), range(how.folds or 1))
    splits = tuple(
        ValidationSplit(how.holdout, how.folds, fold=fold, on_test_set=how.on_test_set, seed=seed)
        for seed, fold in parts
    )
    return TuningGrid(how, node, tuple(expand(tried)), splits)


def _tuning(
    name: str, grid: TuningGrid, checked: Sequence[dict[str, Any]], kernels: Sequence[KernelChoice], content: File
) -> Tuning | None:
    """Make what is tried; ``checked`` and ``kernels`` are the solver's parameters and kernel for every combination."""
    if grid.how is None or grid.node is None:
        return None
    if any(isinstance(value, Derived) for parameters in checked for value in parameters.values()):
        raise grid.node.error("nu is derived before tuning; give nu a value")
    tuner, tried = name, checked
    if grid.how.tuner is not None:
        tuner, below = grid.node["with"].named("solver", solvers.known())
        tried = _tuner(tuner, below, grid=grid, checked=checked, kernels=kernels, content=content)
    for kernel in kernels:
        _check_linear(tuner, kernel, grid.node)
    if grid.how.metric == "online_error" and not solvers.load(tuner).online:
        raise grid.node["metric"].error(f"solver '{tuner}' is not online and has no online error")
    values = [{name: parse(value) for name, value in combination.items()} for combination in grid.combinations]
    candidates = tuple(Candidate(*each) for each in zip(values, checked, kernels, tried, strict=True))
    return Tuning(tuner, candidates, grid.splits, grid.how.metric)


def _tuner(
    name: str,
    node: Node,
    grid: TuningGrid,
    checked: Sequence[dict[str, Any]],
    kernels: Sequence[KernelChoice],
    content: File,
) -> list[dict[str, Any]]:
    """Check the parameters of the one solver that tries the values for all: ``with: {cvm: {...}}``."""
    fields, parameters = names_of_parameters(name), dict(node.value)
    grid.check(f"solver '{name}'", fields, node)
    if "vectors" in fields and "vectors" not in parameters and content.budget is not None:
        parameters["vectors"] = checked[0].get("vectors", content.budget.vectors[0])
    return [
        checked_parameters(name, node.holding(parameters | values), kernel)
        for values, kernel in zip(grid.values(), kernels, strict=True)
    ]


# ------------------------------------------------------------------ all together


def _solvers_of(node: Node, content: File, labels: Sequence[str], size: PlanSize) -> Iterator[SolverChoice]:
    """Write out an entry of ``solvers``: every combination of its lists, kernels, budgets and datasets.

    ``labels`` are those of the datasets, ``size`` counts the runs.
    """
    name, below = node.named("solver", solvers.known())
    root, options = node.document.root, below.value
    kernel_node = below["kernel"] if "kernel" in options else root["kernel"].holding(content.kernel)
    tune_node = below["tune"] if "tune" in options else root["tune"]
    fields = names_of_parameters(name)
    entry = {"kernel": kernel_node.value, "tune": tune_node.value} | options
    for label, chosen in _selected(below.holding(entry), labels, {"kernel": kernel_node, "tune": tune_node}):
        grid = _grid(tune_node.holding(chosen.value["tune"]))
        plain = chosen.holding({key: value for key, value in chosen.value.items() if key not in ("kernel", "tune")})
        grid.check(f"solver '{name}'", fields, plain)
        ignores_budget = "vectors" not in fields or "vectors" in plain.value or "vectors" in grid.combinations[0]
        budgets = (
            [{}]
            if content.budget is None or ignores_budget
            else [{"vectors": count} for count in content.budget.vectors]
        )
        listed = _kernel_entries(kernel_node.holding(chosen.value["kernel"]))
        size.add(plain, [kernel for *_, kernel in listed], budgets=len(budgets), trials=grid.trials, label=label)
        kernels = [choices for entry in listed for choices in _kernels(*entry, solver=name, grid=grid)]
        combined = ((fixed, *pair) for fixed in _expanded(plain.value) for pair in itertools.product(kernels, budgets))
        for fixed, tried, vectors in combined:
            parameters = [
                checked_parameters(name, plain.holding(fixed | vectors | values), kernel)
                for values, kernel in zip(grid.values(), tried, strict=True)
            ]
            untuned = _without(parameters[0], grid.values()[0])
            choice = SolverChoice(
                name,
                untuned,
                kernel=KernelChoice(tried[0].name, _without(tried[0].parameters, grid.values(_KERNEL_PREFIX)[0])),
                vectors=untuned.get("vectors"),
                only_for=label,
                tuning=_tuning(name, grid, checked=parameters, kernels=tried, content=content),
            )
            check_answers(choice, plain, content.optimum)
            yield choice


def _kernel_entries(node: Node) -> list[tuple[Node, str, Node]]:
    """Return the kernels that are swept: where each stands, its name and its parameters."""
    if node.value == []:
        raise node.error("an empty list sweeps nothing")
    return [(entry, *entry.named("kernel", KERNELS)) for entry in node.entries() or [node]]


def _kernels(entry: Node, name: str, below: Node, *, solver: str, grid: TuningGrid) -> Iterator[list[KernelChoice]]:
    """Check a kernel's combinations; each with every combination of the values to be tried, one where there is none."""
    grid.check(f"kernel '{name}'", KERNELS[name].options.model_fields, below, _KERNEL_PREFIX)
    for one in _expanded(below.value):
        nodes = [below.holding(one | values) for values in grid.values(_KERNEL_PREFIX)]
        choices = [
            KernelChoice(
                name, {key: value for key, value in node.validated(KERNELS[name].options) if value is not None}
            )
            for node in nodes
        ]
        for choice in choices:
            _check_linear(solver, choice, entry)
        yield choices


def _without(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in names}
