"""``python -m mpu_bench`` is ``mpu-bench``."""

from mpu_bench.cli.app import main

if __name__ == "__main__":
    main()
