"""Where the folders that come with the project are: configs, datasets, configs/published."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """Return the folder ``name`` that comes with the project: of the installed package, else of the checkout.

    Parameters
    ----------
    name : str
        ``"configs"``, ``"datasets"`` or ``"configs/published"``.
    """
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parents[1] / name


def config_names() -> list[str]:
    """List the configs that come with the project: of experiments, and in explain/ of what explains one."""
    return sorted(_config_paths())


def config_path(name: str) -> Path | None:
    """Return the file of a config that comes with the project; None where there is none of this name."""
    return _config_paths().get(name)


def _config_paths() -> dict[str, Path]:
    folder = bundled("configs")
    return {path.stem: path for pattern in ("*.yaml", "explain/*.yaml") for path in folder.glob(pattern)}
