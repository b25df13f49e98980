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
from typing import Any

from pydantic import Field

from mpu_bench import resources, solvers, yaml_text
from mpu_bench.config.choices import Experiment
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.rules import Judging
from mpu_bench.config.schema import FORMAT_VERSION, RENAMED
from mpu_bench.config.sweep import experiment_of
from mpu_bench.document import Change, Document, Locations, shown
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.files import is_file
from mpu_bench.texts import one_line, plain
from mpu_bench.yaml_text import parse, read

_MAX_SHOWN_BYTES = 200  # of an option, in a message
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


@solvers.descriptions()
def read_config(
    config: Config,
    *,
    profile: str | None = None,
    settings: Sequence[str] = (),
    say: Say = lambda _line: None,
    with_plugins: bool = True,
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
        Called with the names of its plugins before any of them is run: they are code.
    with_plugins : bool
        Whether they are run; else nothing is known of their solvers but the names, and their parameters are not
        checked: for what only shows a config.
    **keys
        Override the keys of these names, but for those that are None: ``seed=1``, ``kernel_memory="2GB"``.

    Raises
    ------
    ConfigError
        With file, line, key and the fix.
    """
    text = ""
    if isinstance(config, Path):
        path = find_config(config)
        written = read(path, ConfigError, RENAMED)
    else:
        text = yaml_text.dump(config, GIVEN, ConfigError)
        written = parse(text, GIVEN, ConfigError, RENAMED, has_lines=False)
    version = written.data.get("version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise written["version"].error(
            f"this config is written for version {shown(version)} of the config format, and this "
            f"mpu-bench reads version {FORMAT_VERSION}; install the matching mpu-bench, or adapt the config and set "
            f"version: {FORMAT_VERSION}"
        )
    changes, options, overridden = _overrides(written, profile, settings, keys)
    experiment, unchanged = experiment_of(written, changes, say if with_plugins else None), None
    if overridden:
        with suppress(ConfigError):  # what the file says need not be whole without the options that change it
            whole = experiment_of(written)
            named = {name for choice in whole.solvers for name, _ in choice.variants}
            unchanged = whole if named <= solvers.SOLVERS.keys() else None  # other plugins are not run
    return replace(experiment, options=options, given=text, overridden=overridden, unchanged=unchanged)


class Shown(Judging):
    """The keys of a config about results that exist: what they are compared with, and the figures that show them."""

    figures: list[Drawing] = Field([])


def read_shown(path: Path, profile: str | None) -> Shown:
    """Return what the results of a config are compared with and shown by, without checking the rest of the config.

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
    written = read(path, ConfigError)
    document = written.changed(_of_profile(written, profile))
    content = {name: document.data[name] for name in Shown.model_fields if name in document.data}
    shown: Shown = document.root.holding(content).validated(Shown)
    return shown


# ------------------------------------------------------------------ a profile and options


def _overrides(
    written: Document, profile: str | None, settings: Sequence[str], keys: Mapping[str, Any]
) -> tuple[list[Change], tuple[str, ...], str]:
    """Read the changes of a profile, of ``key=value`` settings and of values of keys; None changes nothing.

    Returns
    -------
    list of Change
    tuple of str
        The same as options of the command line.
    str
        The changed settings of runs, as text.

    Raises
    ------
    ConfigError
        If there is no such profile, or no such key.
    """
    options, words, changes = list[str](), list[str](), _of_profile(written, profile)
    if profile is not None:
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
            changes.append(Change((key,), value, Locations(option, names_key=True)))
            options += [option, str(value)]
            words += [] if key in _NO_SETTINGS else [f"{key} = {value}"]
    return changes, tuple(options), "; ".join(words)


def _of_profile(document: Document, profile: str | None) -> list[Change]:
    """Return the changes of a profile, if one is named: its keys are a config's, or dotted as those of ``--set``."""
    if profile is None:
        return []
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
    """Return the change that ``key=value`` is; raise `ConfigError` if it is not of that form."""
    dotted, equals, text = setting.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {setting}: must be written key=value, such as stop.seconds=5")
    source = f"--set {one_line(setting, _MAX_SHOWN_BYTES)}"
    if setting != plain(setting, 12 * len(setting)):
        raise ConfigError(f"{source}: holds a character that cannot be shown, or is not UTF-8 text")
    value, _ = yaml_text.load(text, source, ConfigError, has_lines=False)
    return Change(tuple(dotted.split(".")), value, Locations(source, names_key=True))
