"""A model as one C file that computes with integers of 16 and 32 bits alone.

Features, weights, vectors and coefficients are integers of so many bits, each kind times one power of two, chosen so
that the rows at hand fit; features beyond that are cut off. Products are shifted as far as the largest sum that can
occur asks for, so that no sum overflows, whatever a row holds. 2^-u is read from a table, between whose entries is a
line; so is the sigmoid of a probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.voting import REST
from mpu_bench.errors import DataError
from mpu_bench.models.export.c_fixed_machines import (
    HEADROOM,
    LARGEST_INPUT,
    MAX_POWER,
    MISSING,
    FixedPoint,
    Machines,
    power_of_two,
)
from mpu_bench.models.export.c_float import Source, defines, heading, public_functions, vote_code
from mpu_bench.models.export.c_text import Constants, array_bytes, function, identifier, labels_table
from mpu_bench.models.export.portable import WIDTH_OF_CONSTANT, Portable
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn

_SMALLEST_SHARE = 1 / 16  # of the range of all features that a column's own range is at least
_MIN_STEPS = 4  # of an integer over the values of a column
_Z_POWER, _ENTRY_POWER = 11, 8  # sigmoids are of z times 2^11, and have an entry for each 2^8 of that
_ENTRIES = 96  # beyond, at z = 12, a sigmoid is 1
_ONE = 32768  # a probability of 1
_VOTE_POWER, _MAX_TERM = 16, 1 << 13  # of a vote; of what a fraction of it is made of
_LARGEST_Z = 1 << 18
_ROUNDING = (
    "Only integers of 16 and 32 bits; >> of a negative number must keep its sign, as on all usual processors.",
    "Multiply each number of a row by the power of two of its column, and limit it to -32767 to 32767.",
)


def fixed_point(model: Portable, features: NDArray[np.float32], bits: int = 16) -> FixedPoint:
    """Return how the numbers of a model become integers, by the features of rows at hand, shape (n, d).

    Raises
    ------
    DataError
        If the ranges cannot be held.
    """
    steps: Any = model.saved.preprocessing
    if steps is not None and steps.unit_rows:
        raise DataError("fixed point: rows are divided by their norms, which integers do not; export floats")
    spare = 2 if model.kernel.shift_invariant else 1  # a difference of two features is squared
    largest = 2 ** (bits - spare) - 1
    vectors = 0.0 if model.vectors is None or not model.vectors.nnz else float(np.abs(model.vectors.data).max())
    word = float(any(isinstance(column, CategoricalColumn) for column in model.columns))  # though no row has one
    fills = _fills(model)
    numbers = [source for source in model.sources if isinstance(source, tuple) and source[0] in fills]
    filled = [abs(fills[column] - shift) / width for column, shift, width in numbers]
    maximum = max(float(np.abs(features).max(initial=0.0)), vectors, word, *filled)
    power = power_of_two(largest, maximum if maximum > 0 else 1.0)
    return FixedPoint(bits, largest, power, _input_powers(model, features, maximum, power))


def _is_copied(model: Portable) -> bool:
    """Return whether the features are the columns as they are."""
    sources = model.sources
    plain = all(source == (index, 0.0, 1.0) for index, source in enumerate(sources))
    return plain and len(sources) == len(model.columns) and not _fills(model)


def _fills(model: Portable) -> dict[int, float]:
    """Return what stands for a missing number, by the index of its column."""
    return {
        i: column.fill
        for i, column in enumerate(model.columns)
        if isinstance(column, NumberColumn) and column.fill is not None
    }


def _input_powers(model: Portable, features: NDArray[np.float32], maximum: float, power: int) -> tuple[int, ...]:
    """Return the power of two for every column of a row: 0 for words and for what becomes 0."""
    if _is_copied(model):
        for column, values in zip(model.columns, features.T, strict=False):
            _check_distinct(column.name, values.astype(np.float64), power)
        return (power,) * len(model.columns)
    powers, fills = [0] * len(model.columns), _fills(model)
    for source, values in zip(model.sources, features.T, strict=False):
        if isinstance(source, tuple) and source[2] != WIDTH_OF_CONSTANT:
            index, shift, width = source
            apart = values.astype(np.float64) * width
            values_at_hand = float(np.abs(apart + shift).max(initial=0.0))
            least = max(abs(shift), abs(fills.get(index, 0.0)), abs(width) * maximum * _SMALLEST_SHARE)
            powers[index] = _column_power(model.columns[index].name, max(values_at_hand, least))
            _check_distinct(model.columns[index].name, apart, powers[index])
    return tuple(powers)


def _column_power(column: str, largest: float) -> int:
    try:
        return power_of_two(LARGEST_INPUT, largest * HEADROOM) if largest else 0
    except DataError as error:
        raise DataError(f"{error}: column '{column}'") from None


def _check_distinct(column: str, values: NDArray[np.float64], power: int) -> None:
    """Refuse a column of whose values at hand, less any shift, hardly an integer tells one from another."""
    spread = float(np.ptp(values)) if len(values) else 0.0
    if 0 < spread < _MIN_STEPS * 2.0**-power:
        raise DataError(
            f"fixed point: column '{column}' lies far from zero, or beside larger ones: integers do not tell its "
            "values apart; subtract an offset before training, scale the features, or export floats"
        )


def fixed_source(model: Portable, how: FixedPoint, features: NDArray[np.float32], name: str) -> Source:
    """Return a model as C in fixed point.

    Parameters
    ----------
    model : Portable
    how : FixedPoint
    features : array, shape (n, d)
        Of the rows at hand.
    name : str
        What its functions begin with; made an identifier of C.

    Raises
    ------
    DataError
        If the ranges cannot be held.
    """
    name, constants = identifier(name), Constants()
    steps = _steps(model, how, constants)
    builder = Machines(model, how, constants, features)
    machines, counts = builder.code()
    labels, label_bytes = labels_table(name, model.saved.classes.labels.tolist())
    vote, scores = vote_code(model, constants, "int32_t"), _class_scores(model, builder.score_power)
    probabilities = _probabilities(model, builder.score_power, name)
    parts = [
        heading(model, name, "integers", _ROUNDING, how.input_powers), "#include <stdint.h>",
        defines(model, name), _macro(how, name), labels, *constants.lines, steps, machines, vote, scores,
        public_functions(model, name, "int16_t", "int16_t", "int32_t"), probabilities,
    ]  # fmt: skip
    stack = 2 * model.features + 4 * (model.machines + model.scores)
    stack += 8 * model.classes if model.pairs is not None else 0
    text = "\n\n".join(filter(None, parts)) + "\n"
    taken = array_bytes(text) + label_bytes, stack, counts, how.input_powers
    return Source(text, name, *taken, array_bytes(probabilities))


def _macro(how: FixedPoint, name: str) -> str:
    powers = ", ".join(map(str, how.input_powers))
    upper = name.upper()
    return (
        f"/* A number as a row holds it: {upper}_FIXED(value, {name}_powers[column]) */\n"
        f"const int8_t {name}_powers[{len(how.input_powers)}] = {{{powers}}};\n"
        f"#define {upper}_FIXED(value, power) ((int16_t)((((power) >= 0 \\\n"
        "  ? (value) * ((int32_t)1 << ((power) > 0 ? (power) : 0)) * 2 \\\n"
        "  : (value) / ((int32_t)1 << ((power) < 0 ? -(power) - 1 : 0))) + ((value) > 0 ? 1 : -1)) / 2))"
    )


def _steps(model: Portable, how: FixedPoint, constants: Constants) -> str:
    """Return the function that makes features of a row: of a number ``(row - shift) factor / 2^down``, cut off."""
    n, body = len(model.sources), []
    if _is_copied(model):
        body += [f"for (j = 0; j < {n}; j++) x[j] = cut(row[j]);"]
    else:
        body += _scaled_steps(model, how, constants)
    for offset, value in enumerate(model.constants):
        body.append(f"x[{n + offset}] = {_rounded(value * 2.0**how.feature_power, how.largest)};")
    needed = any("cut(" in line for line in body)
    cut = (
        f"static int16_t cut(int32_t value)\n{{\n  return (int16_t)(value > {how.largest} ? {how.largest} : "
        f"value < -{how.largest} ? -{how.largest} : value);\n}}\n\n"
    )
    head = "static void make_features(const int16_t *row, int16_t *x)"
    return (cut if needed else "") + function(head, ["int32_t j;", *body, "(void)j;"])


def _scaled_steps(model: Portable, how: FixedPoint, constants: Constants) -> list[str]:
    sources, body = model.sources, []
    numbers = [(feature, *source) for feature, source in enumerate(sources) if isinstance(source, tuple)]
    factors, downs = [], []
    for _, column, _shift, width in numbers:
        exact = 2.0 ** (how.feature_power - how.input_powers[column]) / width
        factor, down = _factor(exact) if width != WIDTH_OF_CONSTANT else (0, 0)
        factors.append(factor)
        downs.append(down)
    shifts = [_rounded(shift * 2.0 ** how.input_powers[column], LARGEST_INPUT) for _, column, shift, _ in numbers]
    if len(numbers) < len(sources):
        body.append(f"for (j = 0; j < {len(sources)}; j++) x[j] = 0;")
    if numbers:
        constants.indices("number_features", [feature for feature, *_ in numbers], len(sources))
        constants.indices("number_columns", [column for _, column, *_ in numbers], len(model.columns))
        constants.add("int16_t", "number_shifts", shifts)
        constants.add("int16_t", "number_factors", factors)
        constants.add("uint8_t", "number_downs", downs)
        body += [f"for (j = 0; j < {len(numbers)}; j++) {{", "  int32_t value = row[number_columns[j]];"]
        if known := _fills(model):
            fills = [known.get(column, 0.0) * 2.0 ** how.input_powers[column] for _, column, *_ in numbers]
            constants.add("int16_t", "number_fills", [_rounded(fill, LARGEST_INPUT) for fill in fills])
            body.append(f"  if (value == {MISSING}) value = number_fills[j];")
        body.append("  value = (value - number_shifts[j]) * number_factors[j];")
        body.append("  value = (value + ((int32_t)1 << number_downs[j] >> 1)) >> number_downs[j];")
        body += ["  x[number_features[j]] = cut(value);", "}"]
    return body + _words(model, how)


def _words(model: Portable, how: FixedPoint) -> list[str]:
    body, feature, one = [], 0, _rounded(2.0**how.feature_power, how.largest)
    for index, column in enumerate(model.columns):
        if isinstance(column, CategoricalColumn):
            size = len(column.categories)
            body.append(f"if (row[{index}] >= 0 && row[{index}] < {size}) x[{feature} + row[{index}]] = {one};")
            feature += size
        else:
            feature += 1
    return body


def _rounded(value: float, largest: int) -> int:
    return max(-largest, min(largest, round(value)))


def _factor(value: float) -> tuple[int, int]:
    """Return an integer below 2^14 and how far its products are shifted down, which together are nearly the value."""
    down = 13 - math.floor(math.log2(abs(value)))
    if down < 0:
        raise DataError("fixed point: the ranges of the columns cannot be held; scale the features")
    if down > MAX_POWER:
        return 0, 0
    factor = round(value * 2.0**down)
    return (factor, down) if abs(factor) < 2**14 else (round(value * 2.0 ** (down - 1)), down - 1)


def _has_votes(model: Portable) -> bool:
    return model.pairs is not None and bool((model.pairs[:, 0] != REST).any())


def _class_scores(model: Portable, score_power: int) -> str:
    """Return the function that makes the scores of classes: those of their machines, or votes times 2^16.

    As with floats, votes have a fraction, s / (3 (|s| + 1)) of the sum s of the class's machines.
    """
    n, body = model.classes, ["int32_t c;", f"for (c = 0; c < {model.machines}; c++) scores[c] = f[c];"]
    if model.pairs is not None:
        body = ["int32_t c, k;", f"for (c = 0; c < {n}; c++) scores[c] = 0;"]
        body.append(f"for (k = 0; k < {model.machines}; k++) scores[pair_seconds[k]] += f[k];")
    if _has_votes(model):
        down = max(n.bit_length(), score_power - 30)
        body = [
            f"int32_t sums[{n}], c, k, size, one;",
            f"for (c = 0; c < {n}; c++) sums[c] = scores[c] = 0;",
            f"for (k = 0; k < {model.machines}; k++) {{",
            f"  sums[pair_seconds[k]] += f[k] >> {down};",
            f"  if (pair_firsts[k] < {n}) {{",
            f"    sums[pair_firsts[k]] -= f[k] >> {down};",
            f"    scores[f[k] > 0 ? pair_seconds[k] : pair_firsts[k]] += {1 << _VOTE_POWER};",
            "  }",
            "}",
            f"for (c = 0; c < {n}; c++) {{",
            f"  one = {math.floor(2.0 ** (score_power - down))};",
            "  size = sums[c] < 0 ? -sums[c] : sums[c];",
            f"  for (; size > {_MAX_TERM} || one > {_MAX_TERM}; one >>= 1) size >>= 1;",
            f"  if (size) size = (size << {_VOTE_POWER}) / (3 * (size + one));",
            "  scores[c] += sums[c] < 0 ? -size : size;",
            "}",
        ]
    return function("static void class_scores(const int32_t *f, int32_t *scores)", body)


_SIGMOID = f"""/* {_ONE} / (1 + exp(-z / {1 << _Z_POWER})) */
static int32_t sigmoid(int32_t z)
{{
  int32_t u = z < 0 ? -z : z, i = u >> {_ENTRY_POWER}, value = {_ONE};
  if (i < {_ENTRIES}) {{
    value = sigmoids[i];
    value += (((int32_t)sigmoids[i + 1] - value) * (u & {(1 << _ENTRY_POWER) - 1})) >> {_ENTRY_POWER};
  }}
  return z < 0 ? {_ONE} - value : value;
}}

"""


def _probabilities(model: Portable, score_power: int, name: str) -> str:
    """Return the function that makes probabilities, times 32768, of a row, as `Sigmoids.probabilities` does.

    A score is cut off where its sigmoid is 0 or 1, and shifted so that its product with a slope of 14 bits holds.
    Where the sigmoids of all classes are below 1 / 65536, all are equally probable.
    """
    sigmoids, n = model.saved.sigmoids, model.scores
    if sigmoids is None:
        return ""
    power = _VOTE_POWER if _has_votes(model) else score_power
    constants, limits, shifts, factors, downs = Constants(), [], [], [], []
    for slope, intercept in zip(sigmoids.slopes, sigmoids.intercepts, strict=True):
        furthest = min(_ENTRIES / 8 + abs(intercept), _LARGEST_Z)
        limit = int(min(furthest / abs(slope) * 2.0**power, 2**31 - 1)) if slope else 0
        shift = max(limit.bit_length() - 16, 0)
        exact = float(np.clip(slope * 2.0 ** (_Z_POWER - power + shift), -_MAX_TERM, _MAX_TERM))
        factor, down = _factor(exact) if exact else (0, 0)
        limits.append(limit)
        shifts.append(shift)
        factors.append(factor)
        downs.append(down)
    constants.add("int32_t", "score_limits", limits)
    constants.add("uint8_t", "score_shifts", shifts)
    constants.add("int16_t", "slope_factors", factors)
    constants.add("uint8_t", "slope_downs", downs)
    constants.add("int32_t", "intercepts", [_rounded(b * 2.0**_Z_POWER, 2**29) for b in sigmoids.intercepts])
    z = np.arange(_ENTRIES + 1) * 2.0 ** (_ENTRY_POWER - _Z_POWER)
    constants.add("uint16_t", "sigmoids", np.rint(_ONE / (1 + np.exp(-z))))
    lines = [
        f"int16_t x[{model.features}];",
        f"int32_t f[{model.machines}], scores[{n}], c, z, sum = 0;",
        "make_features(row, x);",
        "machine_scores(x, f);",
        "class_scores(f, scores);",
        f"for (c = 0; c < {n}; c++) {{",
        "  z = scores[c] > score_limits[c] ? score_limits[c] : scores[c];",
        "  z = (z < -score_limits[c] ? -score_limits[c] : z) >> score_shifts[c];",
        "  scores[c] = sigmoid((z * slope_factors[c] >> slope_downs[c]) + intercepts[c]);",
        "  sum += scores[c];",
        "}",
    ]
    if n == 1:
        lines += [f"probabilities[0] = (uint16_t)({_ONE} - sum);", "probabilities[1] = (uint16_t)sum;"]
    else:
        share = f"sum ? (scores[c] << 15) / sum : {_ONE // n}"
        lines += [f"for (c = 0; c < {n}; c++) probabilities[c] = (uint16_t)({share});"]
    head = f"/* Writes the probabilities of the {model.classes} classes of a row, times {_ONE}. */\n"
    head += f"void {name}_probabilities(const int16_t *row, uint16_t *probabilities)"
    return "\n\n".join([*constants.lines, _SIGMOID + function(head, lines)])
