"""Addresses of files: which kinds there are, and how they are shown without what is secret in them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from mpu_bench.errors import FetchError
from mpu_bench.texts import one_line

_MOST_SHOWN_BYTES = 300
_SCHEME = re.compile(r"\w[\w+.-]+:/*")
_HOST = re.compile(r"(\[[\w:.%]*\]|[^\s@:\[\]]*)(:[0-9]{1,5})?")
_OPTION = "--mirror or MPU_BENCH_MIRROR"


def is_web(address: str) -> bool:
    """Return whether an address is on the web, not a folder."""
    return address.lower().startswith(("http://", "https://"))


def shown(address: str | Path) -> str:
    """Return an address on one line, fit to be printed and kept: of one on the web, no user, password or query.

    What follows ``?`` or ``#`` may be a token. Where there is a user, or no sound host, nothing before the last ``@``
    is shown: a password may hold any character.
    """
    text = str(address)
    scheme = None if isinstance(address, Path) else _SCHEME.match(text)
    if not scheme:
        return one_line(text, _MOST_SHOWN_BYTES)
    rest = text[scheme.end() :]
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    if not _HOST.fullmatch(host):
        rest = rest.rpartition("@")[2]
    return one_line(scheme[0] + re.split("[?#]", rest, maxsplit=1)[0], _MOST_SHOWN_BYTES)


def on_mirror(mirror: str, name: str) -> str:
    """Return how the address of a file on a mirror of the web is shown: without its path, which may hold a key."""
    scheme, _, rest = shown(mirror).partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}/{'.../' if path else ''}{name}"


def folder_named(name: str | Path, option: str) -> Path:
    """Return the folder that an option or a variable names, ``~`` replaced.

    Parameters
    ----------
    name : str or Path
    option : str
        What named it, for the message.

    Raises
    ------
    FetchError
        If no folder can have this name.
    """
    try:
        folder = Path(name).expanduser()
        name_of_system = str(folder).encode("utf-8", "surrogateescape")  # as the system stores it
    except (RuntimeError, ValueError):  # an unknown user after ~, or half of a surrogate pair
        name_of_system = b"\0"
    if b"\0" in name_of_system:
        raise FetchError(f"{shown(str(name))} ({option}) cannot be the name of a folder; correct it, or leave it out.")
    return folder


def mirror_folder(mirror: str) -> Path | None:
    """Return the folder that a mirror names, or None where it is a web address.

    Raises
    ------
    FetchError
        If it is an address of another kind, such as ``ftp://``, or no folder can have this name.
    """
    if is_web(mirror):
        return None
    if mirror.lower().startswith("file://"):
        try:
            from urllib.request import url2pathname  # which brings a client of the web

            return folder_named(url2pathname(urlsplit(mirror).path), _OPTION)
        except ValueError:  # http://[ and the like
            raise FetchError(
                f"The mirror '{shown(mirror)}' ({_OPTION}) is malformed; name a folder by its path."
            ) from None
    if "://" in mirror or mirror.lower().startswith(("http:", "https:")):
        raise FetchError(
            f"The mirror '{shown(mirror)}' ({_OPTION}) is not supported; "
            "give an address that begins with http:// or https://, or a folder."
        )
    return folder_named(mirror, _OPTION)
