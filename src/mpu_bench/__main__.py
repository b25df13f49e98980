"""The command ``mpu-bench``, or ``python -m mpu_bench``: it can be interrupted from here on, while it imports, too."""

from typing import NoReturn

from mpu_bench.cli import interruption


def main() -> NoReturn:
    """Run the command line."""
    interruption.leave_with(_call)


def _call() -> int:
    from mpu_bench.cli.app import call

    return call()


if __name__ == "__main__":
    main()
