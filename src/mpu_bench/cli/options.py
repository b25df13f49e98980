"""Options whose text is read by the words of a config."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from mpu_bench.config.schema import Memory
from mpu_bench.errors import ConfigError


def memory(text: str, option: str) -> int:
    """Read a size as an option gives it: ``200MB``; returns bytes.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        return TypeAdapter(Memory).validate_python(text)
    except ValidationError:
        raise ConfigError(f"{option} {text}: must be a size above 0, such as 200MB") from None
