"""The microcontrollers that models are measured for, and the commands that compile and run a program for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mpu_bench.errors import ConfigError

PROGRAMS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm")
_RAM_BEGINS = 0x20000000


@dataclass(frozen=True)
class Device:
    """A processor, and a chip with it as an example.

    Attributes
    ----------
    name : str
    board : str
        Of qemu.
    ticks : int
        Tenths of a nanosecond between two of SysTick on that board.
    options : tuple of str
        Of the compiler.
    chip : str
    flash, ram : int
        Bytes of the chip.
    megahertz, cycles : float
        Its clock, and the assumed mean cycles of an instruction.
    """

    name: str
    board: str
    ticks: int
    options: tuple[str, ...]
    chip: str
    flash: int
    ram: int
    megahertz: float
    cycles: float

    def build(self, files: Sequence[str], program: str) -> list[str]:
        """Return the command that compiles and links a program for it."""
        return [
            PROGRAMS[0], "-std=gnu99", "-ffp-contract=off", "-Os", *self.options, "-mthumb", "-ffunction-sections",
            "-fdata-sections", f"-DSTACK_TOP={_RAM_BEGINS + self.ram:#x}", f"-DTENTHS_PER_TICK={self.ticks}",
            "-nostartfiles", "--specs=nano.specs", "--specs=nosys.specs", "-Wl,--gc-sections,-e,board_reset",
            "-Wl,-u,board_vectors,--section-start=.vectors=0,-Ttext=0x40", f"-Wl,-Tdata={_RAM_BEGINS:#x}",
            "-o", program, *files, "-lm",
        ]  # fmt: skip

    def emulate(self, program: str) -> list[str]:
        """Return the command that runs a program in qemu."""
        return [
            PROGRAMS[2], "-M", self.board, "-display", "none", "-monitor", "none", "-serial", "none",
            "-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out",
            "-icount", "shift=0,sleep=off", "-kernel", program,
        ]  # fmt: skip

    @property
    def timing(self) -> str:
        """What milliseconds are computed from, in words."""
        return f"{self.cycles:g} cycles an instruction at {self.megahertz:g} MHz"


DEVICES = {
    device.name: device
    for device in (
        Device("cortex-m0", "microbit", 625, ("-mcpu=cortex-m0", "-mfloat-abi=soft"), "nRF51822", 2**18,
               2**14, 16, 1.5),
        Device(
            "cortex-m4", "mps2-an386", 400, ("-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"), "nRF52832",
            2**19, 2**16, 64, 1.5,
        ),
    )
}  # fmt: skip


def named(name: str) -> Device:
    """Return a device.

    Raises
    ------
    ConfigError
        If there is none of that name.
    """
    if name not in DEVICES:
        raise ConfigError(f"--device {name}: no such device; choose from {', '.join(DEVICES)}")
    return DEVICES[name]
