"""What was made from what: no sequence of failures and repetitions leaves a result of another source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpu_bench.errors import StoreError
from mpu_bench.quantities import FINISHED, Record, RunStatus
from mpu_bench.results import provenance, rows
from mpu_bench.results.provenance import Kept
from mpu_bench.results.rows import DamagedError
from mpu_bench.results.store import Store
from records import record

MACHINE = {"id": "m"}
DONE = Record(status=RunStatus.DONE)
NEEDS = {
    "optimum": {},
    "trial 0": {},
    "trial 1": {},
    "peer": {"optimum": "optimum"},
    "tuned": {"trial 0": "trial 0", "trial 1": "trial 1"},
    "timed": {"seconds": "peer", "optimum": "optimum"},
    "last": {"seconds": "timed"},
}


def save(store: Store, key: str, status: str, value: float) -> dict[str, float | None]:
    """Make a run from what is there, and return the values of its sources at this moment."""
    sources = NEEDS[key]
    made_from = store.made_from(sources)
    known = {"dataset": "d", "solver": key, "parameters": "{}", "kernel": "linear", "seed": 0, "run_id": key}
    point = Record(objective=value)
    read = {source: (row := store.row(source)) and row.objective for source in sources.values()}
    store.save(record(known | {"status": status, "objective": value}), [point], MACHINE, made_from)
    return read


steps = st.lists(
    st.tuples(st.sampled_from(sorted(NEEDS)), st.sampled_from(["done", "done", "stopped", "crashed"]), st.floats(0, 3)),
    max_size=15,
)


@given(steps)
@settings(max_examples=25)
def test_a_result_that_holds_was_made_from_what_its_sources_are_now(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str, float]]
) -> None:
    folder = tmp_path_factory.mktemp("results")
    values: dict[str, float] = {}
    status: dict[str, str] = {}
    was: dict[str, dict[str, float | None]] = {}
    with Store(folder, create=True) as store:
        store._database.execute("PRAGMA synchronous = OFF")  # nothing is lost but time
        for key, ended, value in made:
            was[key] = save(store, key, ended, value)
            values[key], status[key] = value, ended
        finished = store.finished(NEEDS)
        for key in finished:
            assert status[key] in FINISHED
            for source in NEEDS[key].values():
                assert source in finished
                assert was[key][source] == values[source]
        whole = {key for key in status if status[key] in FINISHED and not NEEDS[key]}
        assert whole <= finished
        assert store.finished() == finished
        for _ in range(len(NEEDS)):  # what is missing, made in any order often enough, ends with everything finished
            for key in sorted(set(NEEDS) - store.finished(NEEDS)):
                save(store, key, "done", 1.0)
        assert store.finished(NEEDS) == set(NEEDS)


def hash_of(key: str) -> str:
    return f"hash of {key}"


def kept(status: str = "done", **sources: str) -> Kept:
    return Kept(Record(status=RunStatus(status)), {kind: (key, hash_of(key)) for kind, key in sources.items()})


@pytest.mark.parametrize(
    ("stored", "needs", "finished"),
    [
        ({"a": kept()}, {}, {"a"}),
        ({"a": kept("provisional")}, {}, set()),
        ({"a": kept(optimum="o"), "o": kept()}, {}, {"a", "o"}),
        ({"a": kept(optimum="o")}, {}, set()),
        ({"a": kept(optimum="o"), "o": kept("crashed")}, {}, set()),
        ({"a": Kept(DONE, {"optimum": ("o", None)}), "o": kept()}, {}, {"o"}),
        ({"a": Kept(DONE, {"optimum": ("o", "another hash")}), "o": kept()}, {}, {"o"}),
        ({"a": kept(), "o": kept()}, {"a": {"optimum": "o"}}, {"o"}),
        ({"a": kept(optimum="o"), "o": kept(), "p": kept()}, {"a": {"optimum": "p"}}, {"o", "p"}),
        ({"a": kept(seconds="b"), "b": kept(optimum="o"), "o": kept("error")}, {}, set()),
        ({"a": Kept(DONE, None), "o": kept()}, {"a": {"optimum": "o"}}, {"a", "o"}),
        ({"a": Kept(DONE, None), "o": kept("crashed")}, {"a": {"optimum": "o"}}, set()),
        ({"a": Kept(DONE, None)}, {"a": {"optimum": "o"}}, set()),
        ({"a": kept(seconds="b"), "b": kept(seconds="a")}, {}, {"a", "b"}),
    ],
)
def test_which_results_hold(stored: dict[str, Kept], needs: dict[str, dict[str, str]], finished: set[str]) -> None:
    assert provenance.holding(stored, needs, hash_of) == finished


def test_the_hash_of_a_result_is_that_of_what_it_says_and_not_of_what_it_was_made_from() -> None:
    row, columns = {"a": 1, "b": 0.1 + 0.2}, {"gap": [None, 1e-300]}
    same = rows.parse('{"b": 0.30000000000000004, "made_from": {"x": ["y", null]}, "a": 1}')
    assert provenance.content_hash(row, columns) == provenance.content_hash(same, columns)
    assert provenance.content_hash(row, columns) != provenance.content_hash(row | {"a": 2}, columns)
    assert provenance.content_hash(row, columns) != provenance.content_hash(row, {"gap": [None, 2e-300]})


@pytest.mark.parametrize("value", [1, "x", [], {"a": 1}, {"a": ["b"]}, {"a": [1, "b"]}, {"a": ["b", 2]}])
def test_sources_in_another_form_are_damage(value: object) -> None:
    with pytest.raises(DamagedError, match="made_from"):
        provenance.checked_made_from(value)


def test_a_changed_source_is_shown_as_such(tmp_path: Path) -> None:
    with Store(tmp_path, create=True) as store:
        planned = {"dataset": "d", "solver": "s", "parameters": "{}", "kernel": "linear", "seed": 0}
        store.save_plan([record(planned | {"run_id": "peer"})], {"name": "e"})
        save(store, "optimum", "done", 1.0)
        save(store, "peer", "done", 1.0)
        assert [row.status for row in store.records()] == ["done"]
        save(store, "optimum", "done", 2.0)
        (row,) = store.records()
        assert (row.status, row.objective) == ("provisional", 1.0)
        assert row.reason.startswith("made from a result that was made again since")
        changed = "UPDATE runs SET record = json_remove(json_set(record, '$.made_from', 7), '$.checksum')"
        store._database.execute(f"{changed} WHERE run_id = 'peer'")
        with pytest.raises(StoreError, match="made_from does not name results"):
            store.records()
