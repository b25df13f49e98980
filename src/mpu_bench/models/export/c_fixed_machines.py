"""The machines of a model in fixed point: how numbers become integers, and the function that adds them up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpu_bench.errors import DataError
from mpu_bench.models.export.c_text import COEFFICIENTS, VECTORS, Constants, expansion, function, store
from mpu_bench.models.export.portable import Portable

MISSING = -32768  #: in a row of integers
LARGEST_INPUT = 32767
HEADROOM = 1.25  #: over the largest of the rows at hand
MAX_POWER = 30
_MIN_LARGEST = 127
_MAX_SUM = 2**31 - 1


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

    def rows(self, numbers: NDArray[np.floating[Any]]) -> NDArray[np.int16]:
        """Return raw rows, shape (n, columns), as a device gets them."""
        scaled = numbers.astype(np.float64) * np.exp2(np.array(self.input_powers, np.float64))
        scaled = np.trunc(scaled + np.copysign(0.5, scaled))  # as the macro of the file rounds
        cut = np.clip(np.nan_to_num(scaled, nan=0.0), -LARGEST_INPUT, LARGEST_INPUT)
        return np.where(np.isnan(scaled), MISSING, cut).astype(np.int16)

    def features(self, features: NDArray[np.float32]) -> NDArray[np.int16]:
        """Return features, shape (n, d), as the machines take them."""
        scaled = np.rint(features.astype(np.float64) * 2.0**self.feature_power)
        return np.clip(scaled, -self.largest, self.largest).astype(np.int16)


def power_of_two(largest: float, maximum: float) -> int:
    """Return the power of two, `MAX_POWER` at most, that makes the largest number as large as it may be.

    Raises
    ------
    DataError
        If there is none, or one that leaves numbers of less than 8 bits where there may be more.
    """
    power = min(math.floor(math.log2(largest / maximum)), MAX_POWER)
    if power < -MAX_POWER or maximum * 2.0**power < min(largest / 2, _MIN_LARGEST):
        raise DataError(f"fixed point: numbers up to {maximum:.3g} cannot be held; scale the features")
    return power


_PRODUCT = """/* a b / 2^15, for a below 2^30 and b up to 2^15 */
static int32_t product(int32_t a, int32_t b)
{
  return (a >> 15) * b + (((a & 32767) * b) >> 15);
}

"""


class Machines:
    """The function that computes the scores of the machines, and its arrays."""

    def __init__(self, model: Portable, how: FixedPoint, constants: Constants, features: NDArray[np.float32]) -> None:
        self.model, self.how, self.constants, self.at_hand = model, how, constants, features
        self.kind = "int8_t" if how.bits <= 8 else "int16_t"
        self.maximum = 2 ** (how.bits - 1) - 1  # of weights and coefficients
        self.score_power = 0  #: scores are times two to this power, once there is `code`

    def code(self) -> tuple[str, dict[str, int]]:
        """Return the function, with what it needs before it, and what it takes."""
        model = self.model
        if model.frequencies is not None:
            return self._fourier()
        if model.weights is not None:
            return self._linear(model.weights)
        return self._expansion()

    def _quantised(self, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return numbers as integers and the power of two they are multiplied by."""
        power = power_of_two(self.maximum, float(np.abs(values).max(initial=0.0)) or 1.0)
        return np.rint(values * 2.0**power).astype(np.int64), power

    def _add_biases(self, sums: NDArray[Any], power: int, terms: int) -> int:
        """Add the biases for the smallest shift with which no sum overflows, and return that shift.

        ``sums`` are the largest sums of products, by machine; ``power`` is that of a product.
        """
        maximum = float(np.abs(self.model.biases).max(initial=0.0))
        for down in range(31):
            bias = maximum * 2.0 ** (power - down)
            if float(sums.max(initial=0)) / 2**down + terms + bias < _MAX_SUM:
                biases = np.rint(self.model.biases * 2.0 ** (power - down)).astype(np.int64)
                self.constants.add("int32_t", "biases", biases)
                self.score_power = power - down
                return down
        raise DataError("fixed point: the sums of the model cannot be held in 32 bits; scale the features")

    def _function(self, lines: list[str], helpers: str = "") -> str:
        text = function("static void machine_scores(const int16_t *x, int32_t *f)", lines)
        return (_PRODUCT if "product(" in text else "") + helpers + text

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
        power = min(
            power_of_two(self.maximum, float(np.abs(turns).max(initial=0.0)) or 1.0), 32 - self.how.feature_power
        )
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
            f"    f[k] += ((weights[k * {2 * count} + i] * c){_shifted(down)})",
            f"      + ((weights[k * {2 * count} + {count} + i] * s){_shifted(down)});",
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
        before, value, down, work = self._products(vectors)
        at_hand = np.asarray(model.vectors @ self.at_hand.T.astype(np.float64))
        kernel = model.kernel.c_fixed(2 * self.how.feature_power - down, at_hand)
        add, terms = self._coefficients(kernel.scale, kernel.power)
        lines = expansion(before, [*value, *kernel.value, add], m, model.machines)
        work["multiply_adds"] += m * kernel.multiply_adds + terms
        return self._function(lines, kernel.helpers), {**work, "exponentials": m * kernel.exponentials}

    def _products(self, vectors: Any) -> tuple[list[str], list[str], int, dict[str, int]]:
        """Return the code of a squared distance or an inner product, how far it is shifted, and what all take."""
        d, maximum, of_distance = self.model.features, self.how.largest, self.model.kernel.shift_invariant
        longest = float(np.abs(vectors).sum(axis=1).max(initial=0.0)) * maximum
        norms = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        bound = longest + d
        if of_distance:
            bound = 2 * longest + d * float(maximum) ** 2 + float(norms.max(initial=0)) + 2 * d
        down = max(0, math.ceil(math.log2(max(bound, 1.0) / 2**30)))
        stored = store(self.constants, self.kind, vectors, VECTORS, "j")
        if of_distance and not stored.is_sparse:
            apart = f"{{ int32_t apart = (int32_t){stored.value} - x[j]; value += (apart * apart){_shifted(down)}; }}"
            lines = ["int32_t value = 0;", f"{stored.loop} {apart}"]
            return [], lines, down, {"multiply_adds": stored.terms, "subtractions": stored.terms}
        one = f"{stored.loop} value += ((int32_t){stored.value} * x[{stored.column}]){_shifted(down)};"
        if not of_distance:
            return [], ["int32_t value = 0;", one], down, {"multiply_adds": stored.terms}
        self.constants.add("int32_t", "vector_norms", norms.astype(np.int64) >> down)
        before = ["int32_t norm = 0;", f"for (j = 0; j < {d}; j++) norm += ((int32_t)x[j] * x[j]){_shifted(down)};"]
        end = ["value = norm + vector_norms[i] - 2 * value;", "if (value < 0) value = 0;"]
        return before, ["int32_t value = 0;", one, *end], down, {"multiply_adds": stored.terms + d}

    def _coefficients(self, scale: float, kernel_power: int) -> tuple[str, int]:
        """Return the code that adds up a kernel value times its coefficients, and the multiply-adds of all."""
        whole = self.model.coefficients.copy()
        whole.data, power = self._quantised(whole.data * scale)
        sums = np.asarray(np.abs(whole).sum(axis=0)).ravel() * 2.0 ** (kernel_power - 15)
        down = self._add_biases(sums, power + kernel_power - 15, int(whole.nnz))
        stored = store(self.constants, self.kind, whole, COEFFICIENTS, "k")
        return f"{stored.loop} f[{stored.column}] += product(value, {stored.value}){_shifted(down)};", stored.terms


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
