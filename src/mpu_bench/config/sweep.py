"""The datasets, kernels and solvers that a config names: sweeps written out, every value checked."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from mpu_bench import document, solvers
from mpu_bench.config.schema import (
    FROM_REGULARIZATION,
    KERNELS,
    OVER_EXAMPLES,
    Candidate,
    DatasetChoice,
    File,
    KernelChoice,
    SolverChoice,
    Stop,
    Tune,
    Tuning,
)
from mpu_bench.data.cards import catalog
from mpu_bench.document import Key, Located
from mpu_bench.errors import ConfigError, DataError, nearest
from mpu_bench.solvers.multiclass import Reduction

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], data: Any, file: Located, key: Key) -> Model:
    """Check data against a schema; a `ConfigError` names file, line, key and the fix."""
    try:
        return model.model_validate(data)
    except ValidationError as fault:

        def fields(below: Key) -> list[str]:
            return _field_names(model, below)

        raise ConfigError(document.validation_message(fault, file.place, key, fields)) from None


def _field_names(model: type[BaseModel], below: Key) -> list[str]:
    for step in below:
        annotation = model.model_fields[str(step)].annotation if str(step) in model.model_fields else None
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        nested = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
        if not nested:
            return []
        model = nested[0]
    return list(model.model_fields)


def _named(entry: Any, key: Key, file: Located, what: str) -> tuple[str, dict[str, Any]]:
    """Read ``name`` or ``name: {parameters}``."""
    if isinstance(entry, str):
        return entry, {}
    if isinstance(entry, Mapping) and len(entry) == 1:
        name, parameters = next(iter(entry.items()))
        if parameters is None:
            return str(name), {}
        if isinstance(parameters, Mapping):
            return str(name), dict(parameters)
    raise ConfigError(
        f"{file.place(key)}: {document.dotted(key)}: must be the name of a {what}, or one name with its parameters "
        f"(name: {{key: value}}), not {entry!r}"
    )


def _sweep(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Write out every combination of the lists in the parameters, the first key varying slowest."""
    options = [_options(value) for value in parameters.values()]
    for values in itertools.product(*options):
        yield dict(zip(parameters, values, strict=True))


def _options(value: Any) -> Iterable[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return list(_sweep(value))
    return [value]


def _check_lists(parameters: Mapping[str, Any], key: Key, file: Located) -> None:
    for name, value in parameters.items():
        if value == []:
            raise ConfigError(
                f"{file.place((*key, name))}: {document.dotted((*key, name))}: an empty list sweeps nothing"
            )


def _kernels(entry: Any, key: Key, grid: _Grid, file: Located) -> tuple[tuple[KernelChoice, ...], ...]:
    """Check the kernels; each with every combination of the values to be tried, one where there is none."""
    entries = entry if isinstance(entry, list) else [entry]
    return tuple(
        choices
        for position, each in enumerate(entries)
        for choices in _kernel(each, (*key, position) if isinstance(entry, list) else key, grid, file)
    )


def _kernel(entry: Any, key: Key, grid: _Grid, file: Located) -> Iterator[tuple[KernelChoice, ...]]:
    name, parameters = _named(entry, key, file, "kernel")
    if name not in KERNELS:
        raise ConfigError(f"{file.place(key)}: unknown kernel '{name}': {nearest(name, KERNELS)}")
    _check_lists(parameters, (*key, name), file)
    _check_tuned(grid, "kernel.", f"kernel '{name}'", KERNELS[name].model_fields, parameters, file)
    for combination in _sweep(parameters):
        yield tuple(
            KernelChoice(name, validated(KERNELS[name], each, file, (*key, name)).model_dump(exclude_none=True))
            for each in (combination | values for values in grid.of("kernel."))
        )


@dataclasses.dataclass(frozen=True)
class _Grid:
    """What a config's ``tune:`` says, and every combination of the values; one of nothing where there is no tuning."""

    how: Tune
    combinations: tuple[Mapping[str, Any], ...]
    key: Key

    def of(self, prefix: str) -> list[dict[str, Any]]:
        """Give, of every combination, the values of the kernel's or of the solver's (no prefix) parameters."""
        return [
            {name.removeprefix(prefix): value for name, value in each.items() if _prefix(name) == prefix}
            for each in self.combinations
        ]


def _prefix(name: str) -> str:
    return "kernel." if name.startswith("kernel.") else ""


def _grid(entry: Any, key: Key, file: Located) -> _Grid:
    """Read ``tune: {C: [1, 2], kernel.gamma: [0.1, 1], holdout: 0.3}``."""
    if entry is None:
        return _Grid(Tune(), ({},), ())
    place = f"{file.place(key)}: {document.dotted(key)}"
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{place}: must be parameters with the values to try and holdout: 0.3, not {entry!r}")
    entry = dict(entry)
    below = entry.pop("kernel", {})  # kernel.gamma as --set writes it
    if not isinstance(below, Mapping):
        raise ConfigError(f"{place}.kernel: must be written kernel.gamma: [0.1, 1]")
    entry |= {f"kernel.{name}": values for name, values in below.items()}
    words = [field.alias or name for name, field in Tune.model_fields.items()]
    how = validated(Tune, {name: value for name, value in entry.items() if name in words}, file, key)
    if (how.holdout is not None) + (how.folds is not None) + how.on_test_set != 1:
        raise ConfigError(f"{place}: say on what, by one of holdout: 0.3, folds: 5, or on_test_set: true")
    values = {str(name): tried for name, tried in entry.items() if name not in words}
    for name, tried in values.items():
        if not isinstance(tried, list) or not tried:
            raise ConfigError(
                f"{file.place((*key, name))}: {document.dotted((*key, name))}: must be a list of values to try, not "
                f"{tried!r} (the other keys of tune: {', '.join(words)})"
            )
    if not values:
        raise ConfigError(f"{place}: names no parameter to try values of, such as C: [1, 10, 100]")
    combinations = tuple(dict(zip(values, each, strict=True)) for each in itertools.product(*values.values()))
    return _Grid(how, combinations, key)


def _check_tuned(
    grid: _Grid, prefix: str, owner: str, known: Iterable[str], given: Mapping[str, Any], file: Located
) -> None:
    """See that what is tuned is there to be tuned, and is not given as well."""
    for name in grid.of(prefix)[0]:
        key = (*grid.key, prefix + name)
        place = f"{file.place(key)}: {document.dotted(key)}"
        if name not in known:
            raise ConfigError(f"{place}: {owner} has no parameter '{name}': {nearest(name, known)}")
        if name in given:
            raise ConfigError(f"{place}: {owner} is given a value of '{name}', too; remove one of the two")


def _tuning(
    name: str, checked: Sequence[dict[str, Any]], kernels: Sequence[KernelChoice], grid: _Grid, content: File,
    file: Located,
) -> Tuning | None:  # fmt: skip
    """Make what is tried; ``checked`` and ``kernels`` are the solver's parameters and kernel for every combination."""
    if not grid.key:
        return None
    if any(isinstance(value, Mapping) and FROM_REGULARIZATION in value for value in checked[0].values()):
        raise ConfigError(
            f"{file.place(grid.key)}: {document.dotted(grid.key)}: nu is derived before tuning; give nu a value"
        )
    tuner, tried = (name, checked) if grid.how.tuner is None else _tuner(grid, checked, kernels, content, file)
    _check_kernels(tuner, kernels, file.place(grid.key))
    if grid.how.metric == "online_error" and not solvers.load(tuner).online:
        raise ConfigError(
            f"{file.place(grid.key)}: tune.metric: solver '{tuner}' is not online and has no online error"
        )
    candidates = tuple(map(Candidate, grid.combinations, checked, kernels, tried))
    return Tuning(tuner, candidates, grid.how.trials(), grid.how.metric)


def _tuner(
    grid: _Grid, checked: Sequence[dict[str, Any]], kernels: Sequence[KernelChoice], content: File, file: Located
) -> tuple[str, list[dict[str, Any]]]:
    """Check the solver that tries the values for all: ``with: {cvm: {...}}``."""
    key = (*grid.key, "with")
    name, given = _named(grid.how.tuner, key, file, "solver")
    if name not in solvers.SOLVERS:
        raise ConfigError(
            f"{file.place(key)}: {document.dotted(key)}: unknown solver '{name}': {nearest(name, solvers.SOLVERS)}"
        )
    model = parameters_model(name)
    _check_tuned(grid, "", f"solver '{name}'", model.model_fields, given, file)
    if "vectors" in model.model_fields and "vectors" not in given and content.budget is not None:
        given["vectors"] = checked[0].get("vectors", content.budget.vectors[0])
    return name, [
        _checked(name, model, given | values, kernel, file, (*key, name))
        for values, kernel in zip(grid.of(""), kernels, strict=True)
    ]


@cache
def parameters_model(name: str) -> type[BaseModel]:
    """Make the schema of a solver's parameters out of its dataclass, with ``multiclass`` for one of two classes.

    Raises
    ------
    ConfigError
        If no solver has this name.
    """
    solver = solvers.load(name)
    hints = get_type_hints(solver, include_extras=True)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is dataclasses.MISSING else parameter.default)
        for parameter in dataclasses.fields(solver)
    }
    if solver.classes == "two":
        fields["multiclass"] = (Reduction | None, None)
    strict = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    return create_model(f"{name} parameters", __config__=strict, **fields)


def solvers_of(entry: Any, key: Key, content: File, labels: Sequence[str], file: Located) -> Iterator[SolverChoice]:
    """Write out an entry of ``solvers``: every combination of its lists, kernels, budgets and datasets."""
    name, parameters = _named(entry, key, file, "solver")
    if name not in solvers.SOLVERS:
        raise ConfigError(f"{file.place(key)}: unknown solver '{name}': {nearest(name, solvers.SOLVERS)}")
    below = (*key, name)
    kernel_key = (*below, "kernel") if "kernel" in parameters else ("kernel",)
    tune_key = (*below, "tune") if "tune" in parameters else ("tune",)
    grid = _grid(parameters.pop("tune", content.tune), tune_key, file)
    model = parameters_model(name)
    budgeted = "vectors" in model.model_fields and "vectors" not in parameters and content.budget is not None
    sizes: Sequence[int | None] = content.budget.vectors if budgeted and content.budget is not None else [None]
    for label, chosen in _by_dataset({"kernel": content.kernel} | parameters, labels, below, file):
        kernels = _kernels(chosen.pop("kernel"), kernel_key, grid, file)
        for kernel in kernels:
            _check_kernels(name, kernel, file.place(kernel_key))
        _check_lists(chosen, below, file)
        _check_tuned(grid, "", f"solver '{name}'", model.model_fields, chosen, file)
        for combination, kernel, size in itertools.product(_sweep(chosen), kernels, sizes):
            given = combination if size is None else combination | {"vectors": size}
            checked = [
                _checked(name, model, given | values, each, file, below)
                for values, each in zip(grid.of(""), kernel, strict=True)
            ]
            tuning = _tuning(name, checked, kernel, grid, content, file)
            fixed = _without(checked[0], grid.of("")[0])
            fixed_kernel = KernelChoice(kernel[0].name, _without(kernel[0].parameters, grid.of("kernel.")[0]))
            yield SolverChoice(name, fixed, fixed_kernel, checked[0].get("vectors"), label, tuning)


def _without(parameters: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name not in names}


def _checked(
    solver: str, model: type[BaseModel], given: Mapping[str, Any], kernel: KernelChoice, file: Located, key: Key
) -> dict[str, Any]:
    """Check one value for each parameter; one that depends on n is checked as if n were 1, and kept as it is."""
    derived = {
        name for name, value in given.items() if isinstance(value, Mapping) and set(value) == {FROM_REGULARIZATION}
    }
    for name in derived:
        _check_derived(name, given[name][FROM_REGULARIZATION], file.place((*key, name)))
    plain: dict[str, Any] = {name: 1.0 if name in derived else value for name, value in given.items()}
    by_n = {name for name, value in plain.items() if isinstance(value, Mapping) and set(value) == {OVER_EXAMPLES}}
    numbers = {name: value[OVER_EXAMPLES] if name in by_n else value for name, value in plain.items()}
    checked = validated(model, numbers, file, key).model_dump()
    if checked.get("multiclass", "") is None:
        del checked["multiclass"]
    elif derived and "multiclass" in checked:
        raise ConfigError(
            f"{file.place(key)}: {document.dotted(key)}: nu cannot be derived for several machines, which have one "
            "each; give nu, or leave out multiclass"
        )
    _check_together(solver, {name: value for name, value in checked.items() if name != "multiclass"}, kernel, file, key)
    return checked | {name: {OVER_EXAMPLES: checked[name]} for name in by_n} | {name: given[name] for name in derived}


def _check_together(solver: str, parameters: Mapping[str, Any], kernel: KernelChoice, file: Located, key: Key) -> None:
    """Refuse parameters and a kernel that do not go together, which the solver itself knows."""
    stand_in = kernel.made(lambda _scale: 1.0)  # a width or scale may be known only when the data are there
    try:
        made = solvers.load(solver)(**parameters)
        if made.kernels == "any":
            made.check_kernel(stand_in)
    except ConfigError as fault:
        words = str(fault).replace(str(stand_in), str(kernel))
        raise ConfigError(f"{file.place(key)}: {document.dotted(key)}: {words}") from None


def _check_derived(name: str, regularization: Any, place: str) -> None:
    """Check ``nu: {from-regularization: lambda}``, where lambda may be ``{over-examples: number}``."""
    number: Any = regularization
    if isinstance(regularization, Mapping) and set(regularization) == {OVER_EXAMPLES}:
        number = regularization[OVER_EXAMPLES]
    if name != "nu":
        raise ConfigError(f"{place}: {name}: only nu can be derived {FROM_REGULARIZATION}")
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < float("inf"):
        raise ConfigError(
            f"{place}: nu: {FROM_REGULARIZATION}: must be a number above 0 or {{{OVER_EXAMPLES}: 1}}, not {number!r}"
        )


def check_seconds_of(stop: Stop, labels: Sequence[str], choices: Sequence[SolverChoice], file: Located) -> None:
    """See that there is one run whose seconds are meant by ``stop: {seconds_of: ...}``."""
    if stop.seconds_of is None:
        return
    name = stop.seconds_of.solver
    for label, kernel in itertools.product(labels, {str(choice.kernel): choice for choice in choices}):
        alike = [each for each in choices if each.only_for in (None, label) and str(each.kernel) == kernel]
        count = sum(each.name == name for each in alike)
        if count != 1 and len(alike) > count:
            raise ConfigError(
                f"{file.place(('stop', 'seconds_of'))}: stop.seconds_of: solver '{name}' must stand in this config "
                f"once, with one value for each parameter, for {label} and the kernel {kernel}; there are {count}"
            )


_BY_DATASET, _OTHERWISE = "per-dataset", "otherwise"


def check_classes(datasets: Sequence[DatasetChoice], choices: Sequence[SolverChoice], file: Located) -> None:
    """Refuse solvers of two classes on datasets of more."""
    for dataset, choice in itertools.product(datasets, choices):
        classes, together = dataset.classes, choice.only_for in (None, dataset.label)
        pairs = [(choice.name, choice.parameters)]
        if choice.tuning is not None:
            pairs.append((choice.tuning.solver, choice.tuning.candidates[0].tried))
        for name, parameters in pairs:
            one = solvers.load(name).classes == "two" and "multiclass" not in parameters
            if together and len(classes) > 2 and one:
                raise ConfigError(
                    f"{file.place(('solvers',))}: solver '{name}' separates two classes and '{dataset.label}' has "
                    f"{len(classes)}; name the positive ones: {dataset.name}: {{positive: [{classes[0]}]}}, or "
                    f"separate them two at a time: {name}: {{multiclass: one-against-one}}"
                )


def _by_dataset(
    parameters: dict[str, Any], labels: Sequence[str], key: Key, file: Located
) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Write out ``{per-dataset: {adult: 0.06, otherwise: 0.1}}``: the parameters for each dataset's label."""
    varying = {name for name, value in parameters.items() if isinstance(value, Mapping) and set(value) == {_BY_DATASET}}
    if not varying:
        yield None, parameters
        return
    for name in varying:
        _check_by_dataset(parameters[name][_BY_DATASET], labels, (*key, name, _BY_DATASET), file)
    for label in labels:
        chosen = {
            name: value[_BY_DATASET].get(label, value[_BY_DATASET].get(_OTHERWISE)) if name in varying else value
            for name, value in parameters.items()
        }
        yield label, chosen


def _check_by_dataset(values: Any, labels: Sequence[str], key: Key, file: Located) -> None:
    name = document.dotted(key)
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"{file.place(key)}: {name}: must give a value for each dataset (adult: 0.06), not {values!r}"
        )
    for label in labels:
        if label not in values and _OTHERWISE not in values:
            raise ConfigError(f"{file.place(key)}: {name}: has no value for '{label}'; add it, or {_OTHERWISE}: VALUE")


def _check_kernels(name: str, kernels: Sequence[KernelChoice], place: str) -> None:
    if solvers.load(name).kernels == "any":
        return
    for kernel in kernels:
        if kernel.name != "linear" or kernel.parameters.get("normalize"):
            raise ConfigError(
                f"{place}: solver '{name}' is linear only and cannot take the kernel {kernel}; use kernel: "
                f"linear, or give the kernel to the other solvers alone (- solver: {{kernel: ...}})"
            )


def datasets_of(content: File, file: Located) -> tuple[DatasetChoice, ...]:
    """Read ``dataset`` or ``datasets``, with sweeps over splits written out."""
    if (content.dataset is None) == (content.datasets is None):
        raise ConfigError(f"{file.source}: give either dataset: NAME or datasets: [NAME, ...]")
    if content.dataset is not None:
        return _dataset(content.dataset, ("dataset",), file)
    entries = content.datasets or []
    if not entries:
        raise ConfigError(f"{file.place(('datasets',))}: datasets: an empty list names no dataset")
    named = [_dataset(entry, ("datasets", position), file) for position, entry in enumerate(entries)]
    _check_labels([choices[0] for choices in named], file)
    return tuple(itertools.chain.from_iterable(named))


def _check_labels(choices: Sequence[DatasetChoice], file: Located) -> None:
    seen: set[str] = set()
    for position, choice in enumerate(choices):
        if choice.label in seen:
            raise ConfigError(
                f"{file.place(('datasets', position))}: '{choice.label}' stands twice; give one another label with "
                f"as: NAME"
            )
        seen.add(choice.label)


def _dataset(entry: Any, key: Key, file: Located) -> tuple[DatasetChoice, ...]:
    """Read a dataset with its options: one choice, or one for each of its ``splits``."""
    name, options = _named(entry, key, file, "dataset")
    label, splits = options.pop("as", None), options.pop("splits", None)
    try:
        card = catalog.card(name, options)
        label = label or (name if name in card.aliases else card.name)
        if splits is None:
            return (DatasetChoice(card.name, options, label, card.class_names),)
        return tuple(
            DatasetChoice(card.name, options | {"positive": positive}, label, two_classes, split)
            for split, positive, two_classes in catalog.splits(card, splits)
        )
    except DataError as fault:
        raise ConfigError(f"{file.place(key)}: {fault}") from None
