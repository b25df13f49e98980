"""The errors a user can cause, each with a message that names the thing and the fix.

``mpu-bench`` prints the message of a `UserError` on one paragraph and leaves with exit code 2.
Anything else that escapes is a bug and keeps its traceback.

    UserError
    |- ConfigError      a config file, an option that overrides it, or a name in it
    |  `- OutOfRangeError   a parameter of a solver
    |- DataError        a dataset's card, or the content of a file
    |- FetchError       a download
    |- StoreError       a results folder
    |- SolverError      what a solver of the user's own answers
    `- ClusterError     a cluster of machines
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from mpu_bench.texts import plain

_MAX_COMPARED, _LONGEST_COMPARED = 1000, 100  # names, and characters of one


class UserError(Exception):
    """Something the user can mend; the message says what and how.

    What it quotes may come from anywhere: the message is `plain` text, so that it can be printed and stored.
    """

    def __init__(self, message: str) -> None:
        super().__init__(plain(message))


class ConfigError(UserError):
    """A config file, an option that overrides it, or a name in it is wrong."""


class OutOfRangeError(ConfigError):
    """A parameter of a solver is outside its range.

    Attributes
    ----------
    parameter, range : str
        Its name, and what it must be: ``"above 0"``.
    """

    def __init__(self, solver: str, parameter: str, value: object, range_: str) -> None:
        super().__init__(f"{solver}: {parameter} is {value!r}; it must be {range_}")
        self.parameter, self.range = parameter, range_


class DataError(UserError):
    """A dataset's card, or the content of a data file, is wrong."""


class FetchError(UserError):
    """A file could not be had, or is not the file it should be."""


class ClusterError(UserError):
    """A cluster cannot be reached, is gone, or has no worker that can make runs."""


class StoreError(UserError):
    """A results folder cannot be read or written."""


class SolverError(UserError):
    """A solver answers something else than `core.solver.Solver` requires."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return which valid name was probably meant, or the list of the valid ones.

    Parameters
    ----------
    name : str
        What the user wrote.
    valid : iterable of str
        The names that exist.

    Returns
    -------
    str
        ``"did you mean 'mpu'?"``, or ``"choose from dcd, liblinear, mpu"`` where nothing is near.
    """
    choices = sorted(valid)
    by_lower_case = {choice.lower(): choice for choice in choices[:_MAX_COMPARED]}
    near = difflib.get_close_matches(name[:_LONGEST_COMPARED].lower(), by_lower_case, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{by_lower_case[near[0]]}'?"
    return "choose from " + ", ".join(choices) if choices else "there are none"


def check_known(name: str, valid: Collection[str], message: str, error: type[UserError] = ConfigError) -> None:
    """Reject a name that is none of the valid ones: the message, and which one was probably meant."""
    if name not in valid:
        raise error(f"{message}: {nearest(name, valid)}")
