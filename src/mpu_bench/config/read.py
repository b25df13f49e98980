"""YAML text -> `Experiment`: strict, with errors that name file, line and key.

A config names datasets, solvers, a kernel and the rules that end a run. Any list in a solver's parameters, in
a kernel or in the budget is swept. Everything is checked here, before anything is fetched or run.
"""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mpu_bench import document, resources, solvers
from mpu_bench.config.bounds import PlanSize, check_seeds
from mpu_bench.config.choices import Experiment, SolverChoice
from mpu_bench.config.drawings import check_drawings
from mpu_bench.config.overrides import apply_profile, apply_setting
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
from mpu_bench.yaml_text import Locations, shown

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
    is_folder = False
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - of a name that no file can have, too
        if not is_folder:
            return path
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError):
        return path  # whose reader says why
    shipped_configs = resources.config_names()
    name = path.name.removesuffix(".yaml")
    if name in shipped_configs and path.parent in (Path(), Path("configs")):
        return resources.bundled("configs") / f"{name}.yaml"
    if is_folder:
        return path  # whose reader says that it is no file
    near = nearest(name, shipped_configs)
    raise ConfigError(f"{path}: no such config file; {near} (mpu-bench list configs)")


Config = Path | Mapping[str, Any]  #: a file, the name of a shipped one, or the content of one
GIVEN = "the config"  #: what messages call one that is no file


def read_config(
    path: Config,
    *,
    profile: str | None = None,
    settings: Sequence[str] = (),
    announce: Callable[[Sequence[Path]], None] = lambda _plugins: None,
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
    announce : function
        Called with the files of its plugins before any of them is run.
    **keys
        Override the keys of these names, but for those that are None: ``seed=1``, ``kernel_memory="2GB"``.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    try:
        return _read(path, profile, settings, keys=keys, plugins=_Plugins(announce))
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
    plugins: _Plugins | None = None,
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
    experiment = replace(_experiment(file, labels, plugins), options=tuple(options), given=text)
    if not overridden:
        return experiment
    unchanged = None
    with suppress(ConfigError):  # what the file says need not be whole without the options that change it
        unchanged = _experiment(written, labels, plugins and replace(plugins, only=plugins.described))
    return replace(experiment, overridden="; ".join(overridden), unchanged=unchanged and replace(unchanged, given=text))


@dataclass
class _Plugins:
    """How the plugins of a config are described; ``only`` those, where it is given."""

    announce: Callable[[Sequence[Path]], None]
    only: Collection[Path] | None = None
    described: list[Path] = field(default_factory=list)

    def describe(self, files: Sequence[Path], node: Node) -> None:
        """Let each file be run in a child process that says which solvers it defines.

        Raises
        ------
        ConfigError
            Naming the entry of the config, the file, the line in it and the cause.
        """
        if self.only is None:
            self.announce(files)
        for position, file in enumerate(files):
            if self.only is not None and file not in self.only:
                raise node[position].error("is not run for this config")
            try:
                solvers.describe_plugin(file)
            except ConfigError as error:
                raise node[position].error(str(error)) from None
            self.described.append(file)


def _check_version(file: Document) -> None:
    version = file.data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise file["version"].error(
            f"this config is written for version {shown(version)} of the config format, and this mpu-bench reads "
            f"version {FORMAT_VERSION}; install the matching mpu-bench, or adapt the config and set "
            f"version: {FORMAT_VERSION}"
        )


def _experiment(file: Document, known: Collection[str], plugins: _Plugins | None) -> Experiment:
    """Check a config whose profile and options are applied; ``known`` are labels that the profiles bring in."""
    content: File = file.root.validated(File)
    files = _plugin_files(content, file["plugins"])
    if files:  # what does not need their code is refused before it is run
        with solvers.undescribed(_words(file.data)):
            undescribed = _checked(file, content, known, files)
        if plugins is None:
            return undescribed
        plugins.describe(files, file["plugins"])
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
    check_seeds(content.seed, max([repeats, *more.values()]), file["seed"])
    size = PlanSize((dataset.label for dataset in datasets), repeats, more)
    choices = tuple(choice for entry in entries for choice in solvers_of(entry, content, labels, known, size))
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
