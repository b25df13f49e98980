"""A run: one solver on one dataset with one seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpu_bench.config.choices import KernelChoice, Tuning, ValidationSplit
from mpu_bench.config.schema import Checkpoints, Stop
from mpu_bench.scaled import short


@dataclass(frozen=True)
class Run:
    """One solver on one dataset with one seed.

    Attributes
    ----------
    experiment : str
    dataset : str
        The card's name.
    options : mapping
        What overrides the card.
    label : str
        The dataset's name in tables.
    solver : str
    parameters : mapping
        One value for each parameter.
    kernel : KernelChoice
    vectors : int or None
        The budget, for solvers that live on one.
    seed : int
    stop : Stop
    checkpoints : Checkpoints
    threads : int
    plugins : tuple of Path
        Files that define solvers of the user's own.
    split : str
        Which split of the classes it is, of a sweep over them.
    kernel_memory : int or None
        Bytes for kernel values that are kept; None: half of what is free.
    tuning : Tuning or None
        What is tuned before; it is not among the parameters, nor among those of the kernel.
    trial : ValidationSplit or None
        Which rows it is on, if it only tries values for others.
    """

    experiment: str
    dataset: str
    options: Mapping[str, Any]
    label: str
    solver: str
    parameters: Mapping[str, Any]
    kernel: KernelChoice
    vectors: int | None
    seed: int
    stop: Stop
    checkpoints: Checkpoints
    threads: int
    plugins: tuple[Path, ...] = ()
    split: str = ""
    kernel_memory: int | None = None
    tuning: Tuning | None = None
    trial: ValidationSplit | None = None

    def __str__(self) -> str:
        parameters = " ".join(f"{name}={short(value)}" for name, value in self.parameters.items())
        kernel = "" if self.kernel.name == "linear" else f" {self.kernel}"
        data = f"{self.label}-{self.split}" if self.split else self.label
        tuned = "" if self.tuning is None else f" tuned: {', '.join(self.tuning.names)}"
        trial = "" if self.trial is None else f" trial: {self.trial}"
        return f"{data} {self.solver} {parameters}{kernel} seed={self.seed}{tuned}{trial}"
