"""What overrides the keys of a config: its profiles, and ``--set key=value``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from mpu_bench import document
from mpu_bench.config.drawings import Drawing
from mpu_bench.config.rules import Judging
from mpu_bench.document import Document
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.texts import one_line, plain
from mpu_bench.yaml_text import MOST_DEPTH, Locations

_Key = tuple[str | int, ...]

_MOST_SHOWN_BYTES = 200  # of an option, in a message


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
