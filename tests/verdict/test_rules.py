from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mpu_bench import published, resources
from mpu_bench.errors import ConfigError
from mpu_bench.verdict import comparison
from mpu_bench.verdict.judge import FILE, Given, Table, rules

TEXT = (resources.bundled("configs/published") / FILE).read_text("utf-8")


@pytest.fixture
def with_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Read other rules than those of the project."""

    def read(text: str):
        (tmp_path / FILE).write_text(text, encoding="utf-8")
        monkeypatch.setattr("mpu_bench.verdict.judge.resources", SimpleNamespace(bundled=lambda _name: tmp_path))
        return rules.__wrapped__()

    return read


@pytest.mark.parametrize("table", published.names())
def test_every_printed_number_has_a_rule(table: str) -> None:
    for _, row, column in comparison.published_numbers(table):
        if column in comparison.FACTS or "statistic" in row or column == "value":
            continue  # to be met exactly; recomputed; judged as numbers of sentences
        if rules().kind(table, row, column) == "value":
            assert rules().tolerance(table, row, column)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  sbp-table2: {}", "  sbp-table3: {}", "there is no table 'sbp-table3'; did you mean"),
        ("  sbp-table2: {}", "", "'sbp-table2' is missing"),
        ("cap_points: 1", "cap_point: 1", "line 24: values.accuracy_percent.cap_point: unknown key; did you mean"),
        ("significance: 0.01", "significance: 2", "significance"),
    ],
)
def test_rules_that_make_no_sense_are_refused(with_rules, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError, match=message) as told:
        with_rules(TEXT.replace(old, new, 1))
    assert FILE in str(told.value)


def test_what_the_config_gives_is_known_by_its_column_solver_and_dataset() -> None:
    budgets = Given(column="support_vectors", has="budget")
    assert budgets.holds({"solver": "projectron++", "budget": "100"}, "support_vectors")
    assert not budgets.holds({"solver": "projectron++", "budget": ""}, "support_vectors")
    assert not budgets.holds({"budget": "100"}, "accuracy_percent")
    assert rules().kind("mpu-table1", {"dataset": "adult", "solver": "dcd"}, "seconds") == "set"  # over itself
    assert rules().kind("mpu-table1", {"dataset": "adult", "solver": "mpu"}, "seconds") == "ratio"


def test_deviations_of_all_become_those_of_a_sample() -> None:
    assert Table(runs=5, deviations="of-all").sample_deviation(0.4, 5) == pytest.approx(0.4 * (5 / 4) ** 0.5)
    assert Table(runs=5).sample_deviation(0.4, 5) == 0.4
    assert Table(runs=5, but_runs={"protein": 1}).runs_on("protein") == 1


def test_every_override_cites_print() -> None:
    assert all(each.cites for each in rules().overrides)
