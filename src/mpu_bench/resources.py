"""Where the folders that come with the project are: configs, datasets, configs/published."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Give the folder ``name`` of the checkout, or of the installed package.

    Parameters
    ----------
    name : str
        ``"configs"``, ``"datasets"`` or ``"configs/published"``.
    """
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parents[1] / name
