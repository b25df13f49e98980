"""Which cluster is meant, and that it answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mpu_bench.errors import ClusterError, ConfigError
from mpu_bench.experiment.pool.cluster import connect
from mpu_bench.experiment.pool.cluster.connect import pool_of, scheduler_of


@pytest.mark.parametrize("address", ["tcp://lab:8786", "tls://10.0.0.1:8786", "lab:8786", "local:12"])
def test_what_an_address_is(address: str) -> None:
    assert scheduler_of(address) == address


@pytest.mark.parametrize("address", ["lab", "local:", "local:0", "tcp://", "no/such/file.json", ""])
def test_what_is_none_is_told(address: str) -> None:
    with pytest.raises(ConfigError, match="give the address of a Dask scheduler"):
        scheduler_of(address)


def test_the_file_of_a_scheduler_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text('{"type": "Scheduler", "address": "tcp://10.0.0.1:8786", "workers": {}}', encoding="utf-8")
    assert scheduler_of(str(path)) == "tcp://10.0.0.1:8786"


@pytest.mark.parametrize(
    "content",
    ["root:x:0:0", "", "{}", "[]", "7", '{"address": 5}', '{"address": "no address"}', "[" * 100_000, "\ud800", "null"],
)
def test_a_file_that_no_scheduler_has_written_is_one_message(tmp_path: Path, content: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(ConfigError, match=r"some\.json: a Dask scheduler did not write this file; give the address of"):
        scheduler_of(str(path))


def test_a_scheduler_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_SECONDS_TO_CONNECT", 0.5)
    with (
        pytest.raises(ClusterError, match=r"--cluster tcp://127\.0\.0\.1:9999: no scheduler answers"),
        pool_of("tcp://127.0.0.1:9999", tmp_path, print),
    ):
        pass


def test_without_a_certificate_the_configuration_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ClusterError, match="check your TLS configuration"),
        pool_of("tls://127.0.0.1:9999", tmp_path, print),
    ):
        pass


def test_without_dask_it_is_said_how_to_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ConfigError, match=r"pip install '\.\[cluster\]' in mpu-bench's source folder"),
        pool_of("local:1", tmp_path, print),
    ):
        pass
