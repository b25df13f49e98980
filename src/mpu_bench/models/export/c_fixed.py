"""A model as one C file that computes with integers of 16 and 32 bits alone.

Features, weights, vectors and coefficients are integers of so many bits, each kind times one power of two, chosen so that
the rows at hand fit; features beyond that are cut off. Products are shifted as far as the largest sum that can occur
asks for, so that no sum overflows, whatever a row holds. 2^-u is read from a table, between whose entries is a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.core.kernels import Gaussian, Polynomial
from mpu_bench.core.voting import REST
from mpu_bench.errors import DataError
from mpu_bench.models.export.c_float import Source, defines, heading, public_functions, vote_code
from mpu_bench.models.export.c_text import Constants, identifier, labels_table
from mpu_bench.models.export.portable import Portable
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table

MISSING = -32768  #: in a row of integers
_LARGEST_INPUT = 32767
_HEADROOM = 1.25  # over the largest of the rows at hand
_MOST_SUM = 2**31 - 1
_SMALLEST_SHARE = 1 / 16  # of the range of all features that a column's own range is at least
_MOST_POWER = 30
_LARGEST_EXPONENT = 24  # below 2^-24 a kernel value is zero
_ROUNDING = (
    "Integers of 16 and 32 bits alone; >> of a negative number must keep its sign, as on all usual processors.",
    "Numbers of a row are multiplied by the power of two of their column; beyond -32767 to 32767 cut them off.",
)


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """How a model's numbers become integers.

    Attributes
    ----------
    bits : int
        Of features, weights, vectors and coefficients, with their sign.
    largest : int
        Of features.
    feature_power : int
        Features are multiplied by 2 to this power.
    input_powers : tuple of int
        For every column of a row.
    """

    bits: int
    largest: int
    feature_power: int
    input_powers: tuple[int, ...]

    def rows(self, model: Portable, numbers: NDArray[np.float32]) -> NDArray[np.int16]:
        """Return raw rows, shape (n, columns), as a device gets them."""
        scaled = np.rint(numbers.astype(np.float64) * np.exp2(np.array(self.input_powers, np.float64)))
        cut = np.clip(np.nan_to_num(scaled, nan=0.0), -_LARGEST_INPUT, _LARGEST_INPUT)
        return np.where(np.isnan(scaled), MISSING, cut).astype(np.int16)

    def features(self, features: NDArray[np.float32]) -> NDArray[np.int16]:
        """Return features, shape (n, d), as the machines take them."""
        scaled = np.rint(features.astype(np.float64) * 2.0**self.feature_power)
        return np.clip(scaled, -self.largest, self.largest).astype(np.int16)


def fixed_point(model: Portable, features: NDArray[np.float32], bits: int = 16) -> FixedPoint:
    """Return how the numbers of a model become integers, by the features of rows at hand, shape (n, d).

    Raises
    ------
    DataError
        If the ranges cannot be held.
    """
    _check_possible(model)
    spare = 2 if isinstance(model.kernel, Gaussian) else 1  # a difference of two features is squared
    largest = 2 ** (bits - spare) - 1
    vectors = 0.0 if model.vectors is None or not model.vectors.nnz else float(np.abs(model.vectors.data).max())
    most = max(float(np.abs(features).max(initial=0.0)), vectors)
    power = _power(largest, most if most > 0 else 1.0)
    powers = tuple(_input_power(model, place, features, most, power) for place in range(len(model.columns)))
    return FixedPoint(bits, largest, power, powers)


def _check_possible(model: Portable) -> None:
    steps: Any = model.saved.preprocessing
    if steps is not None and steps.unit_rows:
        raise DataError("fixed point: rows are divided by their norms, which integers do not; export floats")
    if steps is not None and getattr(steps, "multiply_by", 1.0) == 0:
        raise DataError("fixed point: the preprocessing multiplies by zero")
    if isinstance(model.kernel, Polynomial) and model.kernel.normalize:
        raise DataError("fixed point: a normalized polynomial kernel needs square roots; export floats")


def _power(largest: float, most: float) -> int:
    """Return the power of two that makes the largest number as large as it may be."""
    power = math.floor(math.log2(largest / most))
    if not -_MOST_POWER <= power <= _MOST_POWER:
        raise DataError(f"fixed point: numbers up to {most:.3g} cannot be held; scale the features")
    return power


def _sources(model: Portable) -> list[tuple[int, float, float] | int]:
    """Return, for every feature, the column it is made from with its shift and width, or the column of its word."""
    prepared: Any = model.saved.preprocessing
    if prepared is None:
        return [(place, 0.0, 1.0) for place in range(model.saved.raw_features)]
    if isinstance(prepared, Table):
        found: list[tuple[int, float, float] | int] = []
        for place, column in enumerate(model.columns):
            if isinstance(column, CategoricalColumn):
                found += [place] * len(column.categories)
            else:
                found.append((place, column.shift, column.width))
        return found
    kept = range(prepared.features_in) if prepared.kept is None else prepared.kept
    factor = prepared.divide_by / prepared.multiply_by
    shifts, widths = prepared.shift or [0.0] * len(kept), prepared.width or [1.0] * len(kept)
    return [
        (column, shift * factor, width * factor) for column, shift, width in zip(kept, shifts, widths, strict=True)
    ]


def _constants(model: Portable) -> list[float]:
    """Return the features behind those of columns, which are the same for every row."""
    augment = getattr(model.saved.preprocessing, "augment", None)
    return [value for value in (augment, model.constant) if value is not None]


def _is_copied(model: Portable) -> bool:
    """Return whether the features are the columns as they are."""
    sources = _sources(model)
    plain = all(source == (place, 0.0, 1.0) for place, source in enumerate(sources))
    return plain and len(sources) == len(model.columns) and not any(_fill(column) for column in model.columns)


def _fill(column: Any) -> bool:
    return isinstance(column, NumberColumn) and column.fill is not None


def _input_power(model: Portable, place: int, features: NDArray[np.float32], most: float, power: int) -> int:
    if isinstance(model.columns[place], CategoricalColumn):
        return 0
    if _is_copied(model):
        return power
    largest = 0.0
    for number, source in enumerate(_sources(model)):
        if isinstance(source, tuple) and source[0] == place:
            _, shift, width = source
            values = np.abs(features[:, number].astype(np.float64) * width + shift).max(initial=0.0)
            largest = max(largest, float(values), abs(shift), abs(width) * most * _SMALLEST_SHARE)
    return _power(_LARGEST_INPUT, largest * _HEADROOM) if largest else 0


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
    machines, counts = _Machines(model, how, constants, features).code()
    labels, label_bytes = labels_table(name, model.saved.classes.labels.tolist())
    vote, scores = vote_code(model, constants, "int32_t"), _class_scores(model)
    parts = [
        heading(model, name, "integers", _ROUNDING, how.input_powers), "#include <stdint.h>",
        defines(model, name), _macro(how, name), labels, *constants.lines, _PRODUCT, steps, machines, vote, scores,
        public_functions(model, name, "int16_t", "int16_t", "int32_t"),
    ]  # fmt: skip
    stack = 2 * model.features + 4 * (model.machines + model.scores)
    stack += 8 * model.classes if model.pairs is not None else 0
    text = "\n\n".join(filter(None, parts)) + "\n"
    size = constants.bytes + label_bytes + len(how.input_powers)
    return Source(text, name, size, stack, **counts, input_scale=how.input_powers)


_PRODUCT = """/* a b / 2^15, for a below 2^30 and b up to 2^15 */
static int32_t product(int32_t a, int32_t b)
{
  return (a >> 15) * b + (((a & 32767) * b) >> 15);
}"""


def _macro(how: FixedPoint, name: str) -> str:
    powers = ", ".join(map(str, how.input_powers))
    upper = name.upper()
    return (
        f"/* A number as a row holds it: {upper}_FIXED(value, {name}_powers[column]) */\n"
        f"const int8_t {name}_powers[{len(how.input_powers)}] = {{{powers}}};\n"
        f"#define {upper}_FIXED(value, power) ((int16_t)((power) >= 0 ? (value) * ((int32_t)1 << ((power) > 0 ? (power) "
        f": 0)) \\\n  : (value) / ((int32_t)1 << ((power) < 0 ? -(power) : 0))))"
    )


def _steps(model: Portable, how: FixedPoint, constants: Constants) -> str:
    """Return the function that makes features of a row: of a number ``(row - shift) factor / 2^down``, cut off."""
    n, body = len(_sources(model)), []
    if _is_copied(model):
        body += [f"for (j = 0; j < {n}; j++) x[j] = cut(row[j]);"]
    else:
        body += _scaled_steps(model, how, constants)
    for offset, value in enumerate(_constants(model)):
        body.append(f"x[{n + offset}] = {_rounded(value * 2.0**how.feature_power, how.largest)};")
    cut = (
        f"static int16_t cut(int32_t value)\n{{\n  return (int16_t)(value > {how.largest} ? {how.largest} : "
        f"value < -{how.largest} ? -{how.largest} : value);\n}}\n\n"
    )
    lines = "\n".join(f"  {line}" for line in body)
    return f"{cut}static void make_features(const int16_t *row, int16_t *x)\n{{\n  int32_t j;\n{lines}\n  (void)j;\n}}"


def _scaled_steps(model: Portable, how: FixedPoint, constants: Constants) -> list[str]:
    sources, body = _sources(model), []
    numbers = [(feature, *source) for feature, source in enumerate(sources) if isinstance(source, tuple)]
    factors, downs = [], []
    for _, column, _shift, width in numbers:
        factor, down = _factor(2.0 ** (how.feature_power - how.input_powers[column]) / width)
        factors.append(factor)
        downs.append(down)
    shifts = [round(shift * 2.0 ** how.input_powers[column]) for _, column, shift, _ in numbers]
    if len(numbers) < len(sources):
        body.append(f"for (j = 0; j < {len(sources)}; j++) x[j] = 0;")
    if numbers:
        constants.indices("number_features", [feature for feature, *_ in numbers], len(sources))
        constants.indices("number_columns", [column for _, column, *_ in numbers], len(model.columns))
        constants.add("int16_t", "number_shifts", shifts)
        constants.add("int16_t", "number_factors", factors)
        constants.add("uint8_t", "number_downs", downs)
        body += [f"for (j = 0; j < {len(numbers)}; j++) {{", "  int32_t value = row[number_columns[j]];"]
        fills = [_filled(model.columns[column], how.input_powers[column]) for _, column, *_ in numbers]
        if any(_fill(column) for column in model.columns):
            constants.add("int16_t", "number_fills", fills)
            body.append(f"  if (value == {MISSING}) value = number_fills[j];")
        body.append("  value = (value - number_shifts[j]) * number_factors[j];")
        body.append("  value = (value + ((int32_t)1 << number_downs[j] >> 1)) >> number_downs[j];")
        body += ["  x[number_features[j]] = cut(value);", "}"]
    return body + _words(model, how)


def _filled(column: Any, power: int) -> int:
    return _rounded((column.fill or 0.0) * 2.0**power, _LARGEST_INPUT)


def _words(model: Portable, how: FixedPoint) -> list[str]:
    body, feature, one = [], 0, _rounded(2.0**how.feature_power, how.largest)
    for place, column in enumerate(model.columns):
        if isinstance(column, CategoricalColumn):
            size = len(column.categories)
            body.append(f"if (row[{place}] >= 0 && row[{place}] < {size}) x[{feature} + row[{place}]] = {one};")
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
    if down > _MOST_POWER:
        return 0, 0
    factor = round(value * 2.0**down)
    return (factor, down) if abs(factor) < 2**14 else (round(value * 2.0 ** (down - 1)), down - 1)


class _Machines:
    """The function that computes the scores of the machines, and its arrays."""

    def __init__(self, model: Portable, how: FixedPoint, constants: Constants, features: NDArray[np.float32]) -> None:
        self.model, self.how, self.constants, self.at_hand = model, how, constants, features
        self.kind = "int8_t" if how.bits <= 8 else "int16_t"
        self.most = 2 ** (how.bits - 1) - 1  # of weights and coefficients

    def code(self) -> tuple[str, dict[str, int]]:
        model = self.model
        if model.frequencies is not None:
            return self._fourier()
        if model.weights is not None:
            return self._linear(model.weights)
        return self._expansion()

    def _quantised(self, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return numbers as integers and the power of two they are multiplied by."""
        power = _power(self.most, float(np.abs(values).max(initial=0.0)) or 1.0)
        return np.rint(values * 2.0**power).astype(np.int64), power

    def _add_biases(self, sums: NDArray[Any], power: int, terms: int) -> int:
        """Add the biases for the smallest shift with which no sum overflows, and return that shift.

        ``sums`` are the largest sums of products, by machine; ``power`` is that of a product.
        """
        most = float(np.abs(self.model.biases).max(initial=0.0))
        for down in range(31):
            bias = most * 2.0 ** (power - down)
            if float(sums.max(initial=0)) / 2**down + terms + bias < _MOST_SUM:
                biases = np.rint(self.model.biases * 2.0 ** (power - down)).astype(np.int64)
                self.constants.add("int32_t", "biases", biases)
                return down
        raise DataError("fixed point: the sums of the model cannot be held in 32 bits; scale the features")

    def _function(self, lines: list[str], helpers: str = "") -> str:
        text = "\n".join(f"  {line}" for line in lines)
        return f"{helpers}static void machine_scores(const int16_t *x, int32_t *f)\n{{\n{text}\n}}"

    def _linear(self, weights: NDArray[np.float64]) -> tuple[str, dict[str, int]]:
        p, d = weights.shape
        numbers, power = self._quantised(weights)
        self.constants.add(self.kind, "weights", numbers)
        sums = np.abs(numbers).sum(axis=1) * self.how.largest
        down = self._add_biases(sums, power + self.how.feature_power, d)
        lines = [
            "int32_t j, k;",
            f"for (k = 0; k < {p}; k++) {{",
            "  int32_t sum = biases[k];",
            f"  for (j = 0; j < {d}; j++) sum += ((int32_t)weights[k * {d} + j] * x[j]){_shifted(down)};",
            "  f[k] = sum;",
            "}",
        ]
        return self._function(lines), {"multiply_adds": p * d}

    def _fourier(self) -> tuple[str, dict[str, int]]:
        model = self.model
        assert model.frequencies is not None
        assert model.weights is not None
        count, d = model.frequencies.shape
        turns = model.frequencies / (2 * np.pi)
        power = min(_power(self.most, float(np.abs(turns).max(initial=0.0)) or 1.0), 32 - self.how.feature_power)
        self.constants.add(self.kind, "frequencies", np.rint(turns * 2.0**power))
        table = np.rint(32767 * np.sin(np.minimum(np.arange(66), 64) * np.pi / 128))
        self.constants.add("int16_t", "sines", table)
        weights, weight_power = self._quantised(model.weights / np.sqrt(count))
        self.constants.add(self.kind, "weights", weights)
        sums, p = np.abs(weights).sum(axis=1) * 32767, model.machines
        down = self._add_biases(sums, weight_power + 15, 2 * count)
        up = 32 - power - self.how.feature_power
        if up > 31:
            raise DataError("fixed point: the frequencies of the model cannot be held; scale the features")
        lines = [
            "int32_t i, j, k;",
            f"for (k = 0; k < {p}; k++) f[k] = biases[k];",
            f"for (i = 0; i < {count}; i++) {{",
            "  uint32_t turn = 0;",
            "  int32_t c, s;",
            f"  for (j = 0; j < {d}; j++) turn += (uint32_t)((int32_t)frequencies[i * {d} + j] * x[j]);",
            f"  turn <<= {up};" if up else "",
            "  c = sine(turn + 1073741824u);",
            "  s = sine(turn);",
            f"  for (k = 0; k < {p}; k++)",
            f"    f[k] += ((weights[k * {2 * count} + i] * c){_shifted(down)}) "
            f"+ ((weights[k * {2 * count} + {count} + i] * s){_shifted(down)});",
            "}",
        ]
        return self._function([line for line in lines if line], _SINE), {
            "multiply_adds": count * d + 2 * p * count, "cosines": 2 * count,
        }  # fmt: skip

    def _expansion(self) -> tuple[str, dict[str, int]]:
        model = self.model
        m = model.vectors.shape[0]
        vectors = model.vectors.copy()
        vectors.data = np.rint(vectors.data * 2.0**self.how.feature_power).astype(np.int64)
        before, product, down, work = self._products(vectors)
        if isinstance(model.kernel, Gaussian):
            value, scale, kernel_power, helpers = self._gaussian(model.kernel, down), 1.0, 30, _EXP
        else:
            assert isinstance(model.kernel, Polynomial)
            value, scale = self._polynomial(model.kernel, down)
            kernel_power, helpers = 28, ""
            work += m * model.kernel.degree
        add, terms = self._coefficients(scale, kernel_power)
        lines = [
            "int32_t i, j, k;",
            *before,
            f"for (k = 0; k < {model.machines}; k++) f[k] = biases[k];",
            f"for (i = 0; i < {m}; i++) {{",
            *(f"  {line}" for line in [*product, *value, *add]),
            "}",
            "(void)j;",
        ]
        counts = {"multiply_adds": work + terms}
        return self._function(lines, helpers), counts | (
            {"exponentials": m} if isinstance(model.kernel, Gaussian) else {}
        )

    def _products(self, vectors: Any) -> tuple[list[str], list[str], int, int]:
        """Return the code of a squared distance or an inner product, how far it is shifted, and its multiply-adds."""
        d, m, stored, most = self.model.features, vectors.shape[0], int(vectors.nnz), self.how.largest
        size = 1 if self.kind == "int8_t" else 2
        sparse, distances = stored * (size + 1) < m * d * size, isinstance(self.model.kernel, Gaussian)
        sizes = np.abs(vectors)
        longest = float(sizes.sum(axis=1).max()) * most if m else 0.0
        norms = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        bound = longest + d
        if distances:
            bound = 2 * longest + d * float(most) ** 2 + float(norms.max(initial=0)) + 2 * d
        down = max(0, math.ceil(math.log2(max(bound, 1.0) / 2**30)))
        if not sparse:
            self.constants.add(self.kind, "vectors", vectors.toarray())
            loop, other = f"for (j = 0; j < {d}; j++)", f"(int32_t)vectors[i * {d} + j]"
            if distances:
                inner = f"{{ int32_t apart = {other} - x[j]; value += (apart * apart){_shifted(down)}; }}"
                return [], ["int32_t value = 0;", f"{loop} {inner}"], down, m * d
            return [], ["int32_t value = 0;", f"{loop} value += ({other} * x[j]){_shifted(down)};"], down, m * d
        self.constants.add(self.kind, "vector_values", vectors.data)
        self.constants.indices("vector_columns", vectors.indices, d - 1)
        self.constants.indices("vector_starts", vectors.indptr, stored)
        loop = "for (j = (int32_t)vector_starts[i]; j < (int32_t)vector_starts[i + 1]; j++)"
        one = f"{loop} value += ((int32_t)vector_values[j] * x[vector_columns[j]]){_shifted(down)};"
        if not distances:
            return [], ["int32_t value = 0;", one], down, stored
        self.constants.add("int32_t", "vector_norms", norms.astype(np.int64) >> down)
        before = ["int32_t norm = 0;", f"for (j = 0; j < {d}; j++) norm += ((int32_t)x[j] * x[j]){_shifted(down)};"]
        end = ["value = norm + vector_norms[i] - 2 * value;", "if (value < 0) value = 0;"]
        return before, ["int32_t value = 0;", one, *end], down, stored + d

    def _gaussian(self, kernel: Gaussian, down: int) -> list[str]:
        """Return the code that makes a kernel value, times 2^30, of a squared distance."""
        power = 2 * self.how.feature_power - down
        rate = kernel.gamma * math.log2(math.e)  # of the exponent of two
        farthest = min(_LARGEST_EXPONENT / rate * 2.0**power if rate > 0 else math.inf, 2.0**30 - 1)
        up = 29 - math.floor(math.log2(max(farthest, 1.0)))
        if farthest < 16:
            raise DataError("fixed point: gamma is too large for the ranges of the features; use more bits")
        exact = rate * 2.0 ** (24 + 15 - power - up)
        more = max(0, 14 - math.floor(math.log2(exact))) if exact > 0 else 0
        factor, more = (round(exact * 2.0**more), more) if more <= _MOST_POWER else (0, 0)
        moved = f"value << {up}" if up >= 0 else f"value >> {-up}"
        far = f"value > {math.floor(farthest)}"
        return [f"value = {far} ? 0 : power_of_half(product({moved}, {factor}){_shifted(more)});"]

    def _polynomial(self, kernel: Polynomial, down: int) -> tuple[list[str], float]:
        """Return the code that makes a kernel value over ``largest^degree``, times 2^28, of an inner product."""
        at_hand = np.asarray(self.model.vectors @ self.at_hand.T.astype(np.float64))
        bases = kernel.scale * at_hand + kernel.offset
        largest = _HEADROOM * max(float(np.abs(bases).max(initial=0.0)), abs(kernel.offset), 1e-12)
        if not 1e-30 < largest**kernel.degree < 1e30 or kernel.scale == 0:
            raise DataError("fixed point: the values of the polynomial kernel cannot be held; scale the features")
        power = 2 * self.how.feature_power - down
        farthest = min((largest + abs(kernel.offset)) / abs(kernel.scale) * 2.0**power, 2.0**30 - 1)
        up = 29 - math.floor(math.log2(max(farthest, 1.0)))
        factor = round(kernel.scale / largest * 2.0 ** (28 + 15 - power - up))
        if not 0 < abs(factor) <= 2**15:
            raise DataError("fixed point: the values of the polynomial kernel cannot be held; scale the features")
        edge, one = math.floor(farthest), 2**28
        moved = f"value * {2**up}" if up >= 0 else f"value >> {-up}"
        return [
            f"value = value > {edge} ? {edge} : value < -{edge} ? -{edge} : value;",
            f"value = product({moved}, {factor}) + {round(kernel.offset / largest * one)};",
            f"value = value > {one} ? {one} : value < -{one} ? -{one} : value;",
            "j = value >> 13;",
            f"value = {one};",
            f"for (k = 0; k < {kernel.degree}; k++) value = product(value, j);",
        ], largest**kernel.degree

    def _coefficients(self, scale: float, kernel_power: int) -> tuple[list[str], int]:
        """Return the code that adds up a kernel value times its coefficients, and the multiply-adds of all."""
        coefficients, p = self.model.coefficients, self.model.machines
        m, stored = coefficients.shape[0], int(coefficients.nnz)
        numbers, power = self._quantised(coefficients.data * scale)
        whole = coefficients.copy()
        whole.data = numbers
        sums = np.asarray(np.abs(whole).sum(axis=0)).ravel() * 2.0 ** (kernel_power - 15)
        down = self._add_biases(sums, power + kernel_power - 15, stored)
        size = 1 if self.kind == "int8_t" else 2
        if stored * (size + 1) >= m * p * size:
            self.constants.add(self.kind, "coefficients", whole.toarray())
            return [f"for (k = 0; k < {p}; k++) f[k] += product(value, coefficients[i * {p} + k]){_shifted(down)};"], m * p
        self.constants.add(self.kind, "coefficients", numbers)
        self.constants.indices("coefficient_machines", whole.indices, p - 1)
        self.constants.indices("coefficient_starts", whole.indptr, stored)
        loop = "for (k = (int32_t)coefficient_starts[i]; k < (int32_t)coefficient_starts[i + 1]; k++)"
        return [loop, f"  f[coefficient_machines[k]] += product(value, coefficients[k]){_shifted(down)};"], stored


def _shifted(down: int) -> str:
    return f" >> {down}" if down else ""


_SINE = """/* sin of a part of a turn, which is 2^32; times 32767 */
static int32_t sine(uint32_t turn)
{
  int32_t place = (int32_t)((turn >> 14) & 65535u), i, value;
  if (turn & 1073741824u) place = 65536 - place;
  i = place >> 10;
  value = sines[i] + (((sines[i + 1] - sines[i]) * (place & 1023)) >> 10);
  return turn & 2147483648u ? -value : value;
}

"""
_ENTRIES = ", ".join(str(round(2**30 * 2 ** (-i / 64))) for i in range(65))
_EXP = f"""/* 2^-u times 2^30, of u times 2^24 */
static const int32_t powers_of_half[65] = {{{_ENTRIES}}};

static int32_t power_of_half(int32_t u)
{{
  int32_t i = (u >> 18) & 63, rest = (u >> 6) & 4095, whole = u >> 24, value;
  if (whole > 30) return 0;
  value = powers_of_half[i] - ((((powers_of_half[i] - powers_of_half[i + 1]) >> 5) * rest) >> 7);
  return value >> whole;
}}

"""


def _class_scores(model: Portable) -> str:
    """Return the function that makes the scores of classes: those of their machines, or the votes."""
    if model.pairs is None:
        body = [f"for (c = 0; c < {model.machines}; c++) scores[c] = f[c];"]
    else:
        both, c = bool((model.pairs[:, 0] != REST).any()), model.classes
        body = ["int32_t k;", f"for (c = 0; c < {c}; c++) scores[c] = 0;", f"for (k = 0; k < {model.machines}; k++)"]
        vote = f"  if (pair_firsts[k] < {c}) scores[f[k] > 0 ? pair_seconds[k] : pair_firsts[k]]++;"
        body.append(vote if both else "  scores[pair_seconds[k]] += f[k];")
    text = "\n".join(f"  {line}" for line in body)
    return f"static void class_scores(const int32_t *f, int32_t *scores)\n{{\n  int32_t c;\n{text}\n}}"
