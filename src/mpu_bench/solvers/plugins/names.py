"""What a solver of a plugin and its parameters may be called."""

from __future__ import annotations

import re
from typing import Any

from mpu_bench.errors import ConfigError
from mpu_bench.texts import one_line

MOST_CHARACTERS = 60
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*")
#: YAML takes these for a switch or for nothing
_WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null"}
#: parameters that say how a solver meets a problem, and are not the solver's own
OF_THE_PROBLEM = ("multiclass", "class_weight")
THRESHOLD = "score_threshold"  #: of two classes, above which its model predicts the positive one
APART = (*OF_THE_PROBLEM, THRESHOLD)
_TAKEN = {"kernel", "tune", *APART}


def check(name: Any, where: str) -> None:
    """Refuse a solver's name that cannot stand in a config, a file's name and a table.

    Raises
    ------
    ConfigError
        Beginning with ``where``.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MOST_CHARACTERS:
        raise ConfigError(
            f"{where}: its name is {_shown(name)}; it must be a letter and then letters, digits, '-', '_', '+' or '.', "
            f"{MOST_CHARACTERS} at most"
        )
    if name.lower() in _WORDS_OF_YAML:
        raise ConfigError(f"{where}: its name is '{name}', which is no text in YAML; choose another")


def check_parameter(name: str, where: str) -> None:
    """Refuse a parameter's name that means something else in a config.

    Raises
    ------
    ConfigError
        Beginning with ``where``.
    """
    if name in _TAKEN:
        raise ConfigError(f"{where}: '{name}' is reserved in configs; choose another name")
    if name.startswith(("_", "model_")) or not name.isascii() or len(name) > MOST_CHARACTERS:
        raise ConfigError(
            f"{where}: must be letters and digits, {MOST_CHARACTERS} at most, and not begin with _ or model_"
        )


def _shown(value: Any) -> str:
    return one_line(repr(value), 2 * MOST_CHARACTERS)
