"""``mpu-bench list`` and ``mpu-bench info``."""

from __future__ import annotations

import pytest

from command_line import Called


@pytest.mark.parametrize("kind", ["solvers", "datasets", "kernels", "configs"])
def test_list(mpu_bench: Called, kind: str) -> None:
    listed = mpu_bench("list", kind)
    assert listed.returncode == 0
    assert len(listed.stdout.splitlines()) > 1
    assert "mnist, mnist" not in listed.stdout  # bipartitions are one dataset


def test_version_and_info(mpu_bench: Called) -> None:
    from mpu_bench import __version__

    assert mpu_bench("--version").stdout.strip() == __version__
    assert "processor" in mpu_bench("info").stdout
