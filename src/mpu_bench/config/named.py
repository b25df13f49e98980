"""What a config says of printed numbers, checked: tables, columns and rows that exist, solvers of the project."""

from __future__ import annotations

import csv

from mpu_bench import document, resources, solvers
from mpu_bench.config.rules import Claim, Judging, Printed
from mpu_bench.config.schema import File
from mpu_bench.document import Key, Located
from mpu_bench.errors import ConfigError, nearest
from mpu_bench.quantities import QUANTITIES


def published_table(content: File, file: Located) -> str | None:
    """Name the printed table that is set beside the results, if there is one."""
    if content.published is not None:
        _check_table(content.published, ("published",), file)
    return content.published


def judging_of(content: File, file: Located) -> Judging:
    """Check that what is to be compared names printed tables, their columns, and solvers of the project."""
    for table, rules in content.compare.items():
        key: Key = ("compare", table)
        _check_table(table, key, file)
        for column, rule in rules.items():
            _check_column(table, column, (*key, column), file)
            if "dataset" not in _printed_rows(table)[0]:
                raise ConfigError(
                    f"{file.place((*key, column))}: {document.dotted((*key, column))}: {table} has no column "
                    "'dataset', by which results are set beside its rows; say what answers it as a claim"
                )
            if rule.ratio_to is not None and rule.ratio_to not in solvers.SOLVERS:
                raise ConfigError(
                    f"{file.place((*key, column, 'ratio_to'))}: {document.dotted((*key, column, 'ratio_to'))}: unknown "
                    f"solver '{rule.ratio_to}': {nearest(rule.ratio_to, solvers.SOLVERS)}"
                )
    for position, claim in enumerate(content.claims):
        _check_claim(claim, position, file)
    _check_known(content, file)
    return Judging(compare=content.compare, known=content.known, claims=content.claims)


def _check_claim(claim: Claim, position: int, file: Located) -> None:
    if isinstance(claim.printed, Printed):
        key = ("claims", position, "printed")
        _check_table(claim.printed.table, key, file)
        _check_column(claim.printed.table, claim.printed.column, key, file)
        _check_row(claim.printed, key, file)
    if claim.of is not None:
        _check_table(claim.of, ("claims", position, "of"), file)
        _check_column(claim.of, claim.quantity, ("claims", position, "quantity"), file)
        return
    quantities = {"quantity": claim.quantity} | ({"against": claim.against} if claim.kind == "bound" else {})
    for name, quantity in quantities.items():
        if quantity not in QUANTITIES:
            key = ("claims", position, name)
            raise ConfigError(
                f"{file.place(key)}: {document.dotted(key)}: no quantity '{quantity}' is measured: "
                f"{nearest(quantity, QUANTITIES)}"
            )


def _check_known(content: File, file: Located) -> None:
    names = [claim.claim for claim in content.claims]
    for position, known in enumerate(content.known):
        place = f"{file.place(('known', position))}: known.{position}"
        if known.claim is not None and known.claim not in names:
            raise ConfigError(f"{place}: no claim '{known.claim}': {nearest(known.claim, names)}")
        if known.table is not None and known.table not in content.compare:
            raise ConfigError(
                f"{place}: no table '{known.table}' under compare: {nearest(known.table, content.compare)}"
            )


def _printed_rows(table: str) -> list[dict[str, str]]:
    with (resources.folder("configs/published") / f"{table}.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _check_table(table: str, key: Key, file: Located) -> None:
    known = [path.stem for path in resources.folder("configs/published").glob("*.csv")]
    if table not in known:
        raise ConfigError(f"{file.place(key)}: {document.dotted(key)}: no table '{table}': {nearest(table, known)}")


def _check_column(table: str, column: str, key: Key, file: Located) -> None:
    columns = list(_printed_rows(table)[0])
    if column not in columns:
        raise ConfigError(
            f"{file.place(key)}: {document.dotted(key)}: {table} has no column '{column}': {nearest(column, columns)}"
        )


def _check_row(printed: Printed, key: Key, file: Located) -> None:
    rows = _printed_rows(printed.table)
    if printed.row > len(rows) or not rows[printed.row - 1][printed.column]:
        raise ConfigError(
            f"{file.place(key)}: {document.dotted(key)}: row {printed.row} of {printed.table} "
            f"prints no {printed.column} (it has {len(rows)} rows)"
        )
