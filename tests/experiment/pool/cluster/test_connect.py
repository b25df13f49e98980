"""Which cluster is meant, and that it answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mpu_bench.errors import ClusterError, ConfigError
from mpu_bench.experiment.pool.cluster import connect
from mpu_bench.experiment.pool.cluster.connect import Cluster, pool_of


@pytest.mark.parametrize("address", ["tcp://lab:8786", "tls://10.0.0.1:8786", "lab:8786", "local:12"])
def test_what_an_address_is(address: str) -> None:
    assert Cluster(address).address == address


@pytest.mark.parametrize("address", ["lab", "local:", "local:0", "tcp://", "no/such/file.json", ""])
def test_what_is_none_is_told(address: str) -> None:
    with pytest.raises(ConfigError, match="must be the address of a Dask scheduler"):
        Cluster(address)


def test_a_scheduler_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_SECONDS_TO_CONNECT", 0.5)
    with (
        pytest.raises(ClusterError, match=r"--cluster tcp://127\.0\.0\.1:9999: no scheduler answers"),
        pool_of(Cluster("tcp://127.0.0.1:9999"), tmp_path, print),
    ):
        pass


def test_without_a_certificate_the_configuration_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match="check your TLS configuration"),
        pool_of(Cluster("tls://127.0.0.1:9999"), tmp_path, print),
    ):
        pass


def test_without_dask_it_is_said_how_to_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigError, match=r"pip install '\.\[cluster\]' in mpu-bench's source folder"),
        pool_of(Cluster("local:1"), tmp_path, print),
    ):
        pass
