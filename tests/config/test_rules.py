from __future__ import annotations

import pytest

HEAD = "name: tried\ndataset: {checkerboard: {rows: 100, test_rows: 50}}\n"
CLAIM = "claims: [{claim: x, "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compare: {mpu-table3: {}}", "compare.mpu-table3: there is no table 'mpu-table3'; did you mean"),
        ("compare: {mpu-table1: {objectiv: {relative: 1}}}", "mpu-table1 has no column 'objectiv'; did you mean 'obj"),
        ("compare: {fw-tables5-6: {statistic: {relative: 1}}}", "fw-tables5-6 has no column 'dataset'"),
        (
            "compare: {mpu-table1: {seconds: {ratio_to: dcb, factor: 2}}}",
            "ratio_to: there is no solver 'dcb'; did you mean 'dcd'",
        ),
        ("compare: {mpu-table1: {seconds: {}}}", "give relative, absolute"),
        ("paper: mpu-2011", "paper"),
        ("known: [{claim: x, reason: y}]", "known.claim: there is no claim 'x'"),
        (
            CLAIM
            + "kind: number, rule: {relative: 1}, quantity: nu, printed: {table: sbp-table2, row: 9, column: nu}}]",
            "row 9 of sbp-table2 prints no nu",
        ),
        (
            CLAIM + "kind: rises, by: 1, quantity: test_eror}]",
            "claims.quantity: there is no quantity 'test_eror'; did you mean",
        ),
        (CLAIM + "kind: bound, quantity: updates, against: bound}]", "claims.against: there is no quantity 'bound'"),
        (
            CLAIM + "kind: statistic, rule: {relative: 1}, test: wilcoxon, solvers: [fw, cvm], of: fw-table3, "
            "quantity: minutes, printed: 1}]",
            "fw-table3 has no column 'minutes'",
        ),
        (
            CLAIM
            + "kind: statistic, rule: {relative: 1}, test: friedman, solvers: [fw, cvm], quantity: nu, printed: 1}]",
            "three or more",
        ),
    ],
)
def test_what_is_compared_must_be_there(refused, text: str, message: str) -> None:
    told = refused(HEAD + f"solvers: [mpu]\n{text}\n")
    assert message in told
    assert len(told.splitlines()) == 1


ORDER = CLAIM + "kind: order, quantity: test_error, rows: [{solver: mpu}, {solver: dcd}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ORDER + ", by: 3, share: 0.2}]", "line 4: claims.by: unknown key; choose from claim, datasets, kind"),
        (ORDER + ", slac: 0.2}]", "line 4: claims.slac: unknown key; did you mean 'slack'?"),
        (CLAIM + "kind: ordr, quantity: nu}]", "line 4: claims.kind: there is no kind 'ordr'; did you mean 'order'?"),
        (CLAIM + "quantity: nu}]", "line 4: claims.kind: this key is missing"),
        (CLAIM + "kind: rises, quantity: test_error}]", "line 4: claims.by: this key is missing"),
        (CLAIM + "kind: order, quantity: nu, rows: []}]", "line 4: claims.rows: must hold 1 at least"),
        (ORDER + ", where: {solver: mpv}}]", "claims.where.solver: there is no solver 'mpv'; did you mean 'mpu'?"),
        (ORDER.replace("dcd", "dce") + "}]", "claims.rows.solver: there is no solver 'dce'; did you mean 'dcd'?"),
        (
            ORDER + ", where: {dataset: chequerboard}}]",
            "there is no dataset 'chequerboard'; did you mean 'checkerboard'?",
        ),
        (ORDER + ", datasets: [adult]}]", "claims.datasets: there is no dataset 'adult'; choose from checkerboard"),
        (
            CLAIM + "kind: slope, quantity: nu, against: m, between: [0, 1]}]",
            "claims.against: there is no quantity 'm'",
        ),
        (
            CLAIM + "kind: slope, quantity: nu, speed_up_over: {solver: mpv}, between: [0, 1]}]",
            "claims.speed_up_over.solver: there is no solver 'mpv'",
        ),
        ("known: [{column: nu, solver: mpv, measured: 1, relative: 1, reason: x}]", "known.solver: there is no solver"),
        ("known: [{column: nu, table: t, measured: 1, relative: 1, reason: x}]", "no table under compare 't'"),
        (
            "compare: {mpu-table1: {seconds: {relative: 1, overrides: [{datasets: [adlut], relative: 1}]}}}",
            "compare.mpu-table1.seconds.overrides.datasets: there is no dataset 'adlut'; did you mean 'adult'?",
        ),
        (
            "compare: {mpu-table1: {seconds: {relative: 1, overrides: [{solvers: [mpv], relative: 1}]}}}",
            "there is no solver 'mpv'; did you mean 'mpu'?",
        ),
    ],
)
def test_a_name_that_does_not_exist_and_a_key_of_another_kind_are_refused(refused, text: str, message: str) -> None:
    told = refused(HEAD + f"solvers: [mpu]\n{text}\n")
    assert message in told
    assert "tried.yaml, line 4: " in told


def test_a_claim_may_be_about_a_dataset_of_a_profile(read) -> None:
    text = HEAD + "solvers: [mpu]\n" + ORDER + ", where: {dataset: small}}]\n"
    profiles = "profiles: {ci: {dataset: {checkerboard: {rows: 50, test_rows: 50, as: small}}}}\n"
    for profile in (None, "ci"):
        assert read(text + profiles, profile=profile).judging.claims[0].where.dataset == "small"
