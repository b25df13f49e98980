"""What changes a config before it is checked: one of its profiles, then options of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mpu_bench import yaml_text
from mpu_bench.document import Change, Document
from mpu_bench.errors import ConfigError
from mpu_bench.texts import one_line, plain
from mpu_bench.yaml_text import Locations

_MOST_SHOWN_BYTES = 200  # of an option, in a message
#: keys that change no setting of any run
_NO_SETTINGS = ("name", "description", "seed", "repeats", "limits", "claims", "figures")


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
