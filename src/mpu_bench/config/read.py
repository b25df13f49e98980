"""YAML text -> `Experiment`: strict, with errors that name file, line and key.

A config names datasets, solvers, a kernel and the rules that end a run. Any list in a solver's parameters, in
a kernel or in the budget is swept. Everything is checked here, before anything is fetched or run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpu_bench import document, resources, solvers
from mpu_bench.config.named import judging_of, published_table
from mpu_bench.config.schema import FORMAT_VERSION, Experiment, File
from mpu_bench.config.sweep import check_classes, check_seconds_of, datasets_of, solvers_of, validated
from mpu_bench.document import Located
from mpu_bench.errors import ConfigError, nearest


def find_config(path: Path) -> Path:
    """Find a config file: the path itself, or the name of one that comes with the project.

    A folder of the same name, such as that of its results, does not hide it.

    Raises
    ------
    ConfigError
        If there is no such file; the message suggests the nearest shipped config.
    """
    if path.exists() and not path.is_dir():
        return path
    shipped_configs = config_names()
    name = path.name.removesuffix(".yaml")
    if name in shipped_configs and path.parent in (Path(), Path("configs")):
        return resources.folder("configs") / f"{name}.yaml"
    if path.is_dir():
        return path  # whose reader says that it is no file
    near = nearest(name, shipped_configs)
    raise ConfigError(f"{path}: no such config file; {near} (mpu-bench list configs)")


def config_names() -> list[str]:
    """List the configs that come with the project."""
    return sorted(path.stem for path in resources.folder("configs").glob("*.yaml"))


def read_config(
    path: Path,
    *,
    profile: str | None = None,
    settings: Sequence[str] = (),
    seed: int | None = None,
    repeats: int | None = None,
    threads: int | None = None,
    kernel_memory: str | None = None,
) -> Experiment:
    """Read and check a config.

    Parameters
    ----------
    path : Path
        The YAML file, or the name of a shipped config.
    profile : str, optional
        The entry of the config's ``profiles`` that overrides it; its results go to ``<name>-<profile>``.
    settings : sequence of str
        ``key=value`` overrides, such as ``stop.seconds=5`` or ``solvers.mpu.C=10``.
    seed, repeats, threads : int, optional
        Override the keys of these names.
    kernel_memory : str, optional
        The same, with its unit: ``2GB``.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    file = document.read(find_config(path), ConfigError)
    _check_version(file)
    if profile is not None:
        _apply_profile(file, profile)
    for setting in settings:
        _apply_setting(file, setting)
    given = {"seed": seed, "repeats": repeats, "threads": threads, "kernel_memory": kernel_memory}
    options = [*(["--profile", profile] if profile is not None else []), *(f"--set={setting}" for setting in settings)]
    for key, value in given.items():
        if value is not None:
            option = f"--{key.replace('_', '-')}"
            file.overlay((), {key: value}, {(key,): option})
            options += [option, str(value)]
    return _experiment(file, Path(file.source).parent, tuple(options))


def _check_version(file: Located) -> None:
    version = file.data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise ConfigError(
            f"{file.place(('version',))}: version: this config is written for version {version!r} of the config "
            f"format, and this mpu-bench reads version {FORMAT_VERSION}; install the matching mpu-bench, or adapt "
            f"the config and set version: {FORMAT_VERSION}"
        )


def _apply_profile(file: Located, profile: str) -> None:
    profiles = file.data.get("profiles") or {}
    if not isinstance(profiles, Mapping) or profile not in profiles or not isinstance(profiles[profile], Mapping):
        known = profiles if isinstance(profiles, Mapping) else {}
        raise ConfigError(f"{file.source}: no profile '{profile}': {nearest(profile, known)}")
    places = {key[2:]: place for key, place in file.places.items() if key[:2] == ("profiles", profile) and key[2:]}
    file.overlay((), profiles[profile], places)
    if "name" not in profiles[profile] and isinstance(file.data.get("name"), str):
        file.data["name"] += f"-{profile}"


def _apply_setting(file: Located, setting: str) -> None:
    place = f"--set {setting}"
    dotted, equals, text = setting.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"{place}: must be written key=value, such as stop.seconds=5")
    value = document.value(text, place, ConfigError)
    target: Any = file.data
    key: list[str | int] = []
    for step in dotted.split(".")[:-1]:
        target, where = _step_into(target, step, place)
        key += where
    if not isinstance(target, dict):
        raise ConfigError(f"{place}: '{dotted.rpartition('.')[0]}' holds no keys")
    last = dotted.split(".")[-1]
    target[last] = value
    for stale in [known for known in file.places if known[: len(key) + 1] == (*key, last)]:
        del file.places[stale]
    file.places[(*key, last)] = place


def _step_into(target: Any, step: str, place: str) -> tuple[Any, list[str | int]]:
    """Go one key down; in a list of names or single-key mappings (solvers, datasets) the name is the key."""
    if isinstance(target, list):
        for position, entry in enumerate(target):
            if entry == step:
                target[position] = {step: {}}
            if isinstance(target[position], dict) and step in target[position]:
                if target[position][step] is None:
                    target[position][step] = {}
                return target[position][step], [position, step]
        known = [str(next(iter(entry))) if isinstance(entry, dict) else str(entry) for entry in target]
        raise ConfigError(f"{place}: no '{step}' in this config: {nearest(step, known)}")
    if isinstance(target, dict):
        return target.setdefault(step, {}), [step]
    raise ConfigError(f"{place}: '{step}' stands below a value that holds no keys")


def _experiment(file: Located, folder: Path, options: tuple[str, ...]) -> Experiment:
    content = validated(File, file.data, file, ())
    plugins = tuple((folder / plugin).resolve() for plugin in content.plugins)
    for position, plugin in enumerate(plugins):
        _load_plugin(plugin, file.place(("plugins", position)))
    datasets = datasets_of(content, file)
    labels = list(dict.fromkeys(dataset.label for dataset in datasets))
    choices = tuple(
        choice
        for position, entry in enumerate(content.solvers)
        for choice in solvers_of(entry, ("solvers", position), content, labels, file)
    )
    check_classes(datasets, choices, file)
    if content.budget is not None and all(choice.vectors is None for choice in choices):
        raise ConfigError(
            f"{file.place(('budget',))}: budget: no solver of this config lives on a budget of vectors; remove the key"
        )
    if content.stop.deviation is not None and not content.reference:
        raise ConfigError(
            f"{file.place(('stop', 'deviation'))}: stop.deviation: needs the optimum to deviate from; "
            "set reference: true"
        )
    if content.stop.deviation is not None and any(choice.tuning is not None for choice in choices):
        raise ConfigError(
            f"{file.place(('stop', 'deviation'))}: stop.deviation: the optimum of what is tuned is not known before; "
            "use stop.gap"
        )
    check_seconds_of(content.stop, labels, choices, file)
    return Experiment(
        name=content.name,
        source=file.source,
        description=content.description,
        datasets=datasets,
        solvers=choices,
        seeds=tuple(range(content.seed, content.seed + content.repeats)),
        stop=content.stop,
        limits=content.limits,
        checkpoints=content.checkpoints,
        threads=content.threads,
        kernel_memory=content.kernel_memory,
        reference=content.reference,
        published=published_table(content, file),
        judging=judging_of(content, file),
        plugins=plugins,
        paper=content.paper,
        options=options,
        profiles=tuple(content.profiles),
    )


def _load_plugin(plugin: Path, place: str) -> None:
    try:
        solvers.load_plugin(plugin)
    except ConfigError as fault:
        raise ConfigError(f"{place}: plugins: {fault}") from fault.__cause__
