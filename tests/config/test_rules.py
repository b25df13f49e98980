from __future__ import annotations

import pytest

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"
CLAIM = "claims: [{claim: x, statement: {each: {dataset: checkerboard}, "
LOWER = CLAIM + "kind: lower, quantity: test_error, of: {solver: mpu}, than: {solver: dcd}"
RECOMPUTED = "claims: [{claim: x, statement: {kind: significant, test: wilcoxon, solvers: [fw, cvm], "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("published: mpu-table3", "published: there is no table 'mpu-table3'; did you mean"),
        ("published: [mpu-table1, fw-tabel2]", "there is no table 'fw-tabel2'; did you mean 'fw-table2'"),
        ("paper: mpu-2011", "paper"),
        (
            LOWER.replace("checkerboard}", "checkerboard, c: [1, 2]}") + "}}]",
            "claims.statement.each.c: there is no parameter 'c'; did you mean 'C'?",
        ),
        (
            LOWER.replace("{solver: dcd}", "{solver: dcd, parameters: {tolerence: 1}}") + "}}]",
            "claims.statement.than.parameters.tolerence: there is no parameter 'tolerence'",
        ),
        (
            CLAIM + "kind: rising, quantity: test_error, of: {solver: mpu}, along: C}}]",
            "claims.statement.along: each: has no 'C' to go along; give its values there",
        ),
        (LOWER + ", by: 3}}]", "line 4: claims.statement.by: unknown key"),
        (LOWER + ", slac: 0.2}}]", "line 4: claims.statement.slac: unknown key; did you mean 'slack'?"),
        (CLAIM + "kind: lowr, quantity: nu}}]", "there is no kind 'lowr'; did you mean 'lower'?"),
        (CLAIM + "quantity: nu}}]", "claims.statement.kind: this key is missing"),
        (CLAIM + "kind: lower, quantity: nu, of: {}}}]", "claims.statement.than: this key is missing"),
        (LOWER.replace("dcd", "dce") + "}}]", "than.solver: there is no solver 'dce'; did you mean 'dcd'?"),
        (LOWER.replace("mpu", "mpv") + "}}]", "of.solver: there is no solver 'mpv'; did you mean 'mpu'?"),
        (
            LOWER.replace("checkerboard", "chequerboard") + "}}]",
            "no dataset 'chequerboard'; did you mean 'checkerboard'",
        ),
        (LOWER.replace("checkerboard", "[checkerboard, adult]") + "}}]", "there is no dataset 'adult'"),
        (
            CLAIM + "kind: bound, quantity: gap, of: {solver: mpu}, against: [2, tolerence]}}]",
            "statement.against: there is no quantity or parameter 'tolerence'; did you mean 'tolerance'?",
        ),
        (LOWER.replace("test_error", "test_eror") + "}}]", "there is no quantity 'test_eror'; did you mean"),
        (CLAIM + "kind: slope, quantity: nu, of: {}, against: m, between: [0, 1]}}]", "there is no quantity 'm'"),
        (
            CLAIM + "kind: slope, quantity: nu, of: {}, over: {solver: mpv}, against: n, between: [0, 1]}}]",
            "over.solver: there is no solver 'mpv'",
        ),
        (
            CLAIM + "kind: number, quantity: nu, of: {}, printed: {table: sbp-table2, row: 9, column: nu}}}]",
            "row 9 of sbp-table2 prints no nu",
        ),
        (
            CLAIM + "kind: below, quantity: nu, of: {}, than: {solver: mpu}, up_to: {examples: 1, end: 1}}}]",
            "give one of examples, examples_squared, end",
        ),
        (
            RECOMPUTED + "of: fw-table3, quantity: minutes, "
            "printed: {table: fw-tables5-6, row: 1, column: statistic}}}]",
            "fw-table3 has no column 'minutes'",
        ),
        (RECOMPUTED + "quantity: nu}}]", "give the datasets, or a published table"),
        (
            RECOMPUTED.replace("wilcoxon", "friedman") + "quantity: nu, datasets: [checkerboard]}}]",
            "three or more",
        ),
        (
            CLAIM + "kind: below, quantity: nu, of: {after: {passes: 1}}, than: {solver: mpu}}}]",
            "claims.statement.of.after: only whole runs count here; leave it out",
        ),
        (
            CLAIM + "kind: below, quantity: nu, of: {}, than: {solver: mpu, after: {passes: 1}}}}]",
            "than.after: only whole runs count here",
        ),
        (CLAIM + "kind: critical, quantity: nu, of: {after: {passes: 1}}}}]", "of.after: only whole runs count here"),
        (CLAIM + "kind: bound, quantity: nu, of: {after: {passes: 1}}, against: 1}}]", "of.after: only whole runs"),
        (LOWER + ", over: {after: {passes: 1}}}}]", "over.after: only whole runs count here"),
        (CLAIM + "kind: number, quantity: nu, of: {after: {passes: 1}}, printed: 1}}]", "needs within"),
        ("explained: [{column: nu, after: {passes: 1}, because: x, evidence: y}]", "after: only whole runs count here"),
        ("explained: [{because: x, evidence: adult}]", "name the column of a published table, or the sentence"),
        ("explained: [{column: nu, solver: mpv, because: x, evidence: adult}]", "explained.solver: there is no solver"),
        ("explained: [{column: nu, table: t, because: x, evidence: adult}]", "explained.table: there is no table 't'"),
        ("explained: [{column: nux, table: sbp-table2, because: x, evidence: y}]", "sbp-table2 has no column 'nux'"),
        ("explained: [{column: nu, dataset: adlut, because: x, evidence: y}]", "dataset: there is no dataset 'adlut'"),
        ("explained: [{sentence: some, because: x, evidence: y}]", "explained.sentence: there is no sentence 'some'"),
        (
            "explained: [{sentence: faster-as-c-grow, because: x, evidence: y}]\npaper: frank-wolfe-2012",
            "line 4: explained.sentence: there is no sentence 'faster-as-c-grow'; did you mean 'faster-as-c-grows'?",
        ),
        ("explained: [{column: nu, because: x}]", "explained.evidence: this key is missing"),
        (
            "explained: [{column: nu, because: x, evidence: sbp-nuu}]",
            "line 4: explained.evidence: there is no config 'sbp-nuu'; did you mean 'sbp-nu'?",
        ),
    ],
)
def test_what_does_not_exist_or_says_nothing_is_refused(refused, text: str, message: str) -> None:
    error = refused(HEAD + f"solvers: [mpu]\n{text}\n")
    assert message in error
    assert "tried.yaml, line 4: " in error


def test_a_claim_may_be_about_a_dataset_of_a_profile(read) -> None:
    text = HEAD + "solvers: [mpu]\n" + LOWER.replace("checkerboard", "small") + "}}]\n"
    profiles = "profiles: {ci: {dataset: {checkerboard: {rows: 50, test_rows: 50, as: small}}}}\n"
    for profile in (None, "ci"):
        statement = read(text + profiles, profile=profile).judging.claims[0].statement
        assert list(statement.points()) == [{"dataset": "small"}]


def test_every_combination_is_a_point(read) -> None:
    each = "each: [{dataset: checkerboard, budget: [10, 20]}, {dataset: checkerboard, C: 1.0}]"
    text = LOWER.replace("each: {dataset: checkerboard}", each) + "}}]\n"
    assert list(read(HEAD + "solvers: [mpu]\n" + text).judging.claims[0].statement.points()) == [
        {"dataset": "checkerboard", "budget": 10},
        {"dataset": "checkerboard", "budget": 20},
        {"dataset": "checkerboard", "C": 1.0},
    ]


def test_the_evidence_may_be_a_config_of_the_users_own(read, tmp_path) -> None:
    (tmp_path / "other.yaml").write_text("")
    entries = ", ".join(f"{{column: nu, because: x, evidence: {name}}}" for name in ("sbp-nu", tmp_path / "other.yaml"))
    assert len(read(HEAD + f"solvers: [mpu]\nexplained: [{entries}]\n").judging.explained) == 2
