"""YAML text -> `Experiment`: strict, with errors that name file, line and key.

A config names datasets, solvers, a kernel and the rules that end a run. Any list in a solver's parameters, in
a kernel or in the budget is swept. Everything is checked here, before anything is fetched or run: the text is parsed
once, a profile and options `override` it, `schema` types it, and `sweep` writes it out as an experiment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from mpu_bench import document, resources, solvers, yaml_text
from mpu_bench.config.choices import Experiment
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.rules import Judging
from mpu_bench.config.schema import FORMAT_VERSION, RENAMED, File
from mpu_bench.config.sweep import experiment_of
from mpu_bench.document import Change, Document, Node
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.files import is_file
from mpu_bench.texts import one_line, plain
from mpu_bench.yaml_text import Locations

_MOST_SHOWN_BYTES = 200  # of an option, in a message
#: keys that change no setting of any run
_NO_SETTINGS = ("name", "description", "seed", "repeats", "limits", "claims", "figures")
#: folders before the name of a config that comes with the project
_SHIPPED_IN = (Path(), Path("configs"), Path("configs/explain"))


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


Say = Callable[[str], object]  #: called with what happens, line by line
Config = Path | Mapping[str, Any]  #: a file, the name of a shipped one, or the content of one
GIVEN = "the config"  #: what messages call one that is no file


def read_config(
    config: Config,
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
    config : Path or mapping
        The YAML file, or the name of a shipped config; or what such a file would hold: its plugins are relative to the
        working folder.
    profile : str, optional
        The entry of the config's ``profiles`` that overrides it; its results go to ``<name>-<profile>``.
    settings : sequence of str
        ``key=value`` overrides, such as ``stop.seconds=5`` or ``solvers.mpu.C=10``.
    say : function
        Called with its plugins before any of them is run: they are code.
    **keys
        Override the keys of these names, but for those that are None: ``seed=1``, ``kernel_memory="2GB"``.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    try:
        return _read(config, profile, settings, keys=keys, say=say)
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
    config: Config,
    profile: str | None,
    settings: Sequence[str] = (),
    *,
    keys: Mapping[str, Any] = MappingProxyType({}),
    say: Say | None = None,
) -> Experiment:
    given = ""
    if isinstance(config, Path):
        path = find_config(config)
        written = document.read(path, ConfigError, RENAMED)
    else:
        given = yaml_text.dump(config, GIVEN, ConfigError)
        written = document.parse(given, GIVEN, ConfigError, RENAMED, has_lines=False)
    version = written.data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise written["version"].error(
            f"this config is written for version {yaml_text.shown(version)} of the config format, and this "
            f"mpu-bench reads version {FORMAT_VERSION}; install the matching mpu-bench, or adapt the config and set "
            f"version: {FORMAT_VERSION}"
        )
    changed, options, overridden = override(written, profile, settings, keys)
    content: File = changed.root.validated(File)
    experiment = replace(_experiment(content, changed, say), options=options, given=given)
    if not overridden:
        return experiment
    unchanged = None
    with suppress(ConfigError):  # what the file says need not be whole without the options that change it
        unchanged_content: File = written.root.validated(File)
        whole = replace(_experiment(unchanged_content, written), given=given)
        solved_by = {name for each in whole.solvers for name in (each.name, each.tuning and each.tuning.solver) if name}
        unchanged = whole if solved_by <= solvers.SOLVERS.keys() else None  # other plugins are not run
    return replace(experiment, overridden=overridden, unchanged=unchanged)


def _experiment(content: File, changed: Document, say: Say | None = None) -> Experiment:
    """Check a config whose profile and options are applied; its plugins are run where ``say`` can report them."""
    plugins = _plugin_files(content.plugins, changed["plugins"])
    names = _words(changed.data) if plugins else set()
    with solvers.undescribed(names):  # what does not need the code of plugins is refused before it is run
        experiment = experiment_of(content, changed)
    if plugins and say is not None:
        named = dict.fromkeys(map(str, plugins))
        say(f"this config names plugins, which are code that runs with your rights: {', '.join(named)}")
        for position, plugin in enumerate(plugins):
            try:
                solvers.describe_plugin(plugin)
            except ConfigError as error:
                raise changed["plugins"][position].error(str(error)) from None
        experiment = experiment_of(content, changed)
    return replace(experiment, plugins=plugins)


def _plugin_files(names: Sequence[str], node: Node) -> tuple[Path, ...]:
    """Return the plugins' paths; a file that cannot be read, or is no Python, is refused."""
    files = []
    for position, name in enumerate(names):
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
    changed, *_ = override(document.read(path, ConfigError), profile)
    given = {name: changed.data[name] for name in Shown.model_fields if name in changed.data}
    shown: Shown = changed.root.holding(given).validated(Shown)
    return shown


# ------------------------------------------------------------------ a profile and options


def override(
    document: Document,
    profile: str | None = None,
    settings: Sequence[str] = (),
    keys: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Document, tuple[str, ...], str]:
    """Let a profile, ``key=value`` settings and values of keys override what a config says; those that are None do not.

    Returns
    -------
    Document
        The config with what overrides it.
    tuple of str
        The words of a command that do the same.
    str
        In words, what changed that is a setting of runs.

    Raises
    ------
    ConfigError
        If there is no such profile, or what is to be changed.
    """
    options, words, changes = list[str](), list[str](), list[Change]()
    if profile is not None:
        changes += _of_profile(document, profile)
        names = [".".join(map(str, change.key)) for change in changes]
        options += ["--profile", profile]
        words.append(f"profile {profile} ({', '.join(name for name in names if name not in _NO_SETTINGS)})")
    for setting in settings:
        changes.append(_of_setting(setting))
        options.append(f"--set={setting}")
        words.append(" = ".join(setting.split("=", 1)))
    for key, value in keys.items():
        if value is not None:
            option = f"--{key.replace('_', '-')}"
            changes.append(Change((key,), value, Locations(option)))
            options += [option, str(value)]
            words += [] if key in _NO_SETTINGS else [f"{key} = {value}"]
    return document.changed(changes), tuple(options), "; ".join(words)


def _of_profile(document: Document, profile: str) -> list[Change]:
    """Return what a profile lays over the config: its keys are those of a config, or dotted as those of ``--set``."""
    profiles = document["profiles"]
    entries = {} if profiles.value is None else profiles.value
    if not isinstance(entries, Mapping):
        raise profiles.error("must be a mapping")
    known = [name for name in entries if isinstance(name, str)]
    if profile not in known:
        raise document.root.unknown("profile", profile, known)
    if not isinstance(entries[profile], Mapping):
        raise profiles[profile].error("must be a mapping")
    changes, name = [], document["name"]
    for entry in map(profiles[profile].__getitem__, entries[profile]):
        key = tuple(str(entry.key[-1]).split("."))
        changes.append(Change(key, entry.value, entry.locations, merged=len(key) == 1))
    if "name" not in entries[profile] and isinstance(name.value, str):
        changes.append(Change(("name",), f"{name.value}-{profile}", name.locations))
    return changes


def _of_setting(setting: str) -> Change:
    """Return what ``key=value`` says; raise `ConfigError` if it is not of that form."""
    dotted, equals, text = setting.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {setting}: must be written key=value, such as stop.seconds=5")
    source = f"--set {one_line(setting, _MOST_SHOWN_BYTES)}"
    if setting != plain(setting, 12 * len(setting)):
        raise ConfigError(f"{source}: holds a character that cannot be shown, or is not UTF-8 text")
    value, _ = yaml_text.load(text, source, ConfigError, has_lines=False)
    return Change(tuple(dotted.split(".")), value, Locations(source))
