"""YAML text -> `Experiment`: strict, with errors that name file, line and key.

A config names datasets, solvers, a kernel and the rules that end a run. Any list in a solver's parameters, in
a kernel or in the budget is swept. Everything is checked here, before anything is fetched or run.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from mpu_bench import document, resources, solvers
from mpu_bench.config.bounds import LARGEST_SEED, PlanSize
from mpu_bench.config.choices import Experiment, SolverChoice
from mpu_bench.config.drawings import Drawing, check_drawings
from mpu_bench.config.rules import Judging, check_judging
from mpu_bench.config.schema import FORMAT_VERSION, RENAMED, File
from mpu_bench.config.sweep import (
    check_classes,
    check_ends,
    check_per_dataset,
    check_seconds_of,
    datasets_of,
    labels_in,
    solvers_of,
)
from mpu_bench.document import Document, Node
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.files import is_file
from mpu_bench.texts import one_line, plain
from mpu_bench.yaml_text import MOST_DEPTH, Locations, shown

_Key = tuple[str | int, ...]

#: folders before the name of a config that comes with the project
_SHIPPED_IN = (Path(), Path("configs"), Path("configs/explain"))
_MOST_SHOWN_BYTES = 200  # of an option, in a message
#: keys that change no setting of any run
_NO_SETTINGS = ("name", "description", "seed", "repeats", "limits", "claims", "figures")


def find_config(path: Path) -> Path:
    """Find a config file: the path itself, or the name of one that comes with the project.

    A folder of the same name, such as that of its results, does not hide it.

    Raises
    ------
    ConfigError
        If there is no such file; the message suggests the nearest shipped config.
    """
    shipped = resources.config_path(path.name.removesuffix(".yaml"))
    if shipped is not None and path.parent in _SHIPPED_IN and not is_file(path):
        return shipped
    if os.path.lexists(path):
        return path  # whose reader says what it is, if it is no file
    raise ConfigError(
        f"{path}: no such config file; {nearest(path.stem, resources.config_names())} (mpu-bench list configs)"
    )


Say = Callable[[str], object]  #: is told what happens, line by line
Config = Path | Mapping[str, Any]  #: a file, the name of a shipped one, or the content of one
GIVEN = "the config"  #: what messages call one that is no file


def read_config(
    path: Config,
    *,
    profile: str | None = None,
    settings: Sequence[str] = (),
    say: Say = lambda _line: None,
    **keys: Any,
) -> Experiment:
    """Read and check a config.

    The files that it names as ``plugins`` are run, in a child process, to learn which solvers they define; before that
    all is checked that does not depend on them.

    Parameters
    ----------
    path : Path or mapping
        The YAML file, or the name of a shipped config; or what such a file would hold: its plugins are found from the
        working folder.
    profile : str, optional
        The entry of the config's ``profiles`` that overrides it; its results go to ``<name>-<profile>``.
    settings : sequence of str
        ``key=value`` overrides, such as ``stop.seconds=5`` or ``solvers.mpu.C=10``.
    say : function
        Is told of its plugins before any of them is run: they are code.
    **keys
        Override the keys of these names, but for those that are None: ``seed=1``, ``kernel_memory="2GB"``.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    try:
        return _read(path, profile, settings, keys=keys, say=say)
    finally:
        solvers.end_descriptions()


def read_without_plugins(path: Path, *, profile: str | None = None) -> Experiment:
    """Read and check a config without running the files that it names as ``plugins``.

    For what only shows a config: nothing is known of their solvers but the names, and their parameters are not checked.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    return _read(path, profile)


def _read(
    path: Config,
    profile: str | None,
    settings: Sequence[str] = (),
    *,
    keys: Mapping[str, Any] = MappingProxyType({}),
    say: Say | None = None,
) -> Experiment:
    text = ""
    if isinstance(path, Path):
        file = document.read(find_config(path), ConfigError, RENAMED)
    else:
        file, text = document.of_mapping(path, GIVEN, ConfigError, RENAMED)
    _check_version(file)
    written, labels = copy.deepcopy(file), labels_in(file.data)
    overridden: list[str] = []
    if profile is not None:
        changed = ", ".join(key for key in apply_profile(file, profile) if key not in _NO_SETTINGS)
        overridden.append(f"profile {profile} ({changed})")
    for setting in settings:
        apply_setting(file, setting)
    overridden += (" = ".join(setting.split("=", 1)) for setting in settings)
    options = [*(["--profile", profile] if profile is not None else []), *(f"--set={setting}" for setting in settings)]
    for key, value in keys.items():
        if value is not None:
            option = f"--{key.replace('_', '-')}"
            file.replace((key,), value, Locations(option))
            options += [option, str(value)]
            overridden += [] if key in _NO_SETTINGS else [f"{key} = {value}"]
    experiment = replace(_experiment(file, labels, say), options=tuple(options), given=text)
    if not overridden:
        return experiment
    unchanged = None
    with suppress(ConfigError):  # what the file says need not be whole without the options that change it
        read = replace(_experiment(written, labels), given=text)
        solved_by = {name for each in read.solvers for name in (each.name, each.tuning and each.tuning.solver) if name}
        unchanged = read if solved_by <= solvers.SOLVERS.keys() else None  # other plugins are not run
    return replace(experiment, overridden="; ".join(overridden), unchanged=unchanged)


def _check_version(file: Document) -> None:
    version = file.data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise file["version"].error(
            f"this config is written for version {shown(version)} of the config format, and this mpu-bench reads "
            f"version {FORMAT_VERSION}; install the matching mpu-bench, or adapt the config and set "
            f"version: {FORMAT_VERSION}"
        )


def _experiment(file: Document, known: Collection[str], say: Say | None = None) -> Experiment:
    """Check a config whose profile and options are applied; ``known`` are labels that the profiles bring in."""
    content: File = file.root.validated(File)
    files = _plugin_files(content, file["plugins"])
    if files:  # what does not need their code is refused before it is run
        with solvers.undescribed(_words(file.data)):
            undescribed = _checked(file, content, known, files)
        if say is None:
            return undescribed
        named = ", ".join(dict.fromkeys(map(str, files)))
        say(f"this config names plugins, which are code that runs with your rights: {named}")
        for position, plugin in enumerate(files):
            try:
                solvers.describe_plugin(plugin)
            except ConfigError as error:
                raise file["plugins"][position].error(str(error)) from None
    return _checked(file, content, known, files)


def _plugin_files(content: File, node: Node) -> tuple[Path, ...]:
    """Return the plugins' paths; a file that cannot be read, or is no Python, is refused."""
    files = []
    for position, name in enumerate(content.plugins):
        try:
            files.append((Path(node.document.source).parent / name).resolve())
            solvers.check_plugin(files[-1])
        except (ConfigError, OSError, RuntimeError, ValueError) as error:  # such as of a loop of links
            raise node[position].error(str(error)) from None
    return tuple(files)


def _words(value: Any) -> set[str]:
    """Return all keys and texts of a config: among them are the names of solvers that its plugins define."""
    if isinstance(value, Mapping):
        return _words(list(value)).union(*map(_words, value.values()))
    if isinstance(value, list):
        return set().union(*map(_words, value))
    return {value} if isinstance(value, str) else set()


def _checked(file: Document, content: File, known: Collection[str], plugins: tuple[Path, ...]) -> Experiment:
    """Check a config whose keys and types are checked, with all that is known of solvers now."""
    datasets = datasets_of(content, file)
    labels = list(dict.fromkeys(dataset.label for dataset in datasets))
    repeats, more = content.repeats, dict[str, int]()
    if not isinstance(repeats, int):
        check_per_dataset(file["repeats"].holding(repeats.values), labels, known)
        more = dict(repeats.values)
        repeats = more.pop("otherwise")
    entries = [file["solvers"][position] for position in range(len(content.solvers))]
    count = max([repeats, *more.values()])
    if content.seed + count - 1 > LARGEST_SEED:
        raise file["seed"].error(f"the last of the {count:,} seeds from {content.seed:,} on is beyond {LARGEST_SEED:,}")
    size = PlanSize((dataset.label for dataset in datasets), repeats, more)
    choices = tuple(
        choice for entry in entries for choice in solvers_of(entry, content, labels=labels, known=known, size=size)
    )
    check_classes(datasets, choices, file["solvers"])
    check_seconds_of(content.stop, labels, choices, file["stop"]["seconds_of"])
    _check_choices(content, choices, file)
    check_ends(content, choices, file["solvers"])
    check_judging(content, file.root, {*labels, *known})
    check_drawings(content.figures, file["figures"], {*labels, *known})
    return Experiment(
        source=file.source,
        placement=content.placement or ("together" if content.stop.is_timed else "spread"),
        datasets=datasets,
        solvers=choices,
        seeds=tuple(range(content.seed, content.seed + repeats)),
        seeds_on={label: tuple(range(content.seed, content.seed + count)) for label, count in more.items()},
        judging=Judging(published=content.published, claims=content.claims, explained=content.explained),
        plugins=plugins,
        profiles=tuple(content.profiles),
        **{name: getattr(content, name) for name in _TAKEN_OVER},
    )


_TAKEN_OVER = (
    *("name", "description", "paper", "stop", "limits", "checkpoints", "threads"),
    *("kernel_memory", "kernel_matrix", "optimum", "figures"),
)


def _check_choices(content: File, choices: Sequence[SolverChoice], file: Document) -> None:
    """Refuse a budget that no solver lives on, and a stop at a suboptimality that cannot be known."""
    if content.budget is not None and all(choice.vectors is None for choice in choices):
        raise file["budget"].error("no solver of this config lives on a budget of vectors; remove the key")
    if content.stop.suboptimality is None:
        return
    node = file["stop"]["suboptimality"]
    if not content.optimum:
        raise node.error("needs the optimum; set optimum: true")
    if any(choice.tuning is not None for choice in choices):
        raise node.error("the optimum of what is tuned is not known before; use stop.gap")


class Shown(Judging):
    """What a config says of results that are there: what they are set against, and the figures that show them."""

    figures: list[Drawing] = Field([])


def read_shown(path: Path, profile: str | None) -> Shown:
    """Return what the results of a config are set against and shown by, without looking at the rest of the config.

    Parameters
    ----------
    path : Path
    profile : str or None
        The entry of the config's ``profiles`` that overrides it.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    file = document.read(path, ConfigError)
    if profile is not None:
        apply_profile(file, profile)
    given = {name: file.data[name] for name in Shown.model_fields if name in file.data}
    shown: Shown = file.root.holding(given).validated(Shown)
    return shown


def apply_profile(file: Document, profile: str) -> list[str]:
    """Lay a profile over the config and return its keys: those of a config, or dotted as those of ``--set``.

    Raises
    ------
    ConfigError
        If there is no such profile.
    """
    node = file.root["profiles"]
    profiles = {} if node.value is None else node.value
    if not isinstance(profiles, Mapping):
        raise node.error("must be a mapping")
    known = [name for name in profiles if isinstance(name, str)]
    if profile not in known:
        raise file.root.unknown("profile", profile, known)
    if not isinstance(profiles[profile], Mapping):
        raise node[profile].error("must be a mapping")
    keys, locations = profiles[profile], file.locations.below(("profiles", profile))
    for name, value in keys.items():
        key, at = str(name), locations.below((name,))
        if "." in key:
            _set(file, key, value, at)
        else:
            file.overlay((key,), value, at)
    if "name" not in keys and isinstance(file.data.get("name"), str):
        file.data["name"] += f"-{profile}"
    return list(map(str, keys))


def apply_setting(file: Document, setting: str) -> None:
    """Let ``key=value`` override what the config says; raise `ConfigError` if it is not of that form."""
    dotted, equals, text = setting.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {setting}: must be written key=value, such as stop.seconds=5")
    source = f"--set {one_line(setting, _MOST_SHOWN_BYTES)}"
    if setting != plain(setting, 12 * len(setting)):
        raise ConfigError(f"{source}: holds a character that cannot be shown, or is not UTF-8 text")
    _set(file, dotted, document.value(text, source, ConfigError), Locations(source))


def _set(file: Document, dotted: str, value: Any, locations: Locations) -> None:
    """Put a value in the place of ``solvers.mpu.C``, in every entry of that name."""
    *steps, last = dotted.split(".")
    if len(steps) >= MOST_DEPTH:
        raise ConfigError(f"{locations.text}: lies more than {MOST_DEPTH} levels deep")
    targets: list[tuple[_Key, Any]] = [((), file.data)]
    for step in steps:
        targets = [
            ((*key, *taken), below) for key, target in targets for taken, below in _below(target, step, locations.text)
        ]
    for key, target in targets:
        if not isinstance(target, dict):
            raise ConfigError(f"{locations.text}: '{'.'.join(steps)}' holds no keys")
        file.replace((*key, last), value, locations)


def _below(target: Any, step: str, location: str) -> list[tuple[_Key, Any]]:
    """Return what stands one key down; in a list of names or single-key mappings (solvers, datasets) the name is it."""
    if isinstance(target, list):
        found: list[tuple[_Key, Any]] = []
        for position, entry in enumerate(target):
            if entry == step:
                target[position] = {step: {}}
            if isinstance(target[position], dict) and step in target[position]:
                if target[position][step] is None:
                    target[position][step] = {}
                found.append(((position, step), target[position][step]))
        if found:
            return found
        known = [str(next(iter(entry))) if isinstance(entry, dict) and entry else str(entry) for entry in target]
        raise ConfigError(f"{location}: there is no '{step}' in this config; {nearest(step, known)}")
    if isinstance(target, dict):
        return [((step,), target.setdefault(step, {}))]
    raise ConfigError(f"{location}: '{step}' stands below a value that holds no keys")
