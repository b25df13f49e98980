"""A model as one C file in single precision.

Steps, scores and votes are those of Python, in its order, but in single precision: scores differ by rounding, and a
label where two scores lie as near to each other as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from mpu_bench.core.voting import REST
from mpu_bench.models.export.c_text import (
    COEFFICIENTS,
    VECTORS,
    Constants,
    array_bytes,
    comment,
    distinct,
    expansion,
    function,
    identifier,
    labels_table,
    number,
    store,
)
from mpu_bench.models.export.portable import Portable
from mpu_bench.preprocessing import CategoricalColumn, NumberColumn, Table, Vectors

_MACHINE_SCORES = "static void machine_scores(const float *x, float *f)"


@dataclass(frozen=True)
class Source:
    """A C file, and what it takes of a device.

    Attributes
    ----------
    text : str
    name : str
        What its functions begin with.
    constant_bytes : int
        Of its arrays.
    array_bytes : int
        Of the arrays on its stack.
    counts : mapping
        What a prediction takes: ``multiply_adds``, ``exponentials`` of a Gaussian, ``cosines`` (sines, too).
    input_scale : tuple of int
        Of fixed-point rows: each column is multiplied by 2 to this power; empty for floats.
    probability_bytes : int
        Of the arrays that probabilities alone need.
    """

    text: str
    name: str
    constant_bytes: int
    array_bytes: int
    counts: Mapping[str, int]
    input_scale: tuple[int, ...] = ()
    probability_bytes: int = 0


def float_source(model: Portable, name: str) -> Source:
    """Return a model as C in single precision.

    Parameters
    ----------
    model : Portable
    name : str
        What its functions begin with; made an identifier of C.

    Raises
    ------
    DataError
        If a number is beyond the range of single precision.
    """
    name, constants = identifier(name), Constants()
    kind, rounding = "float", _ROUNDING
    if model.number is np.float64:
        kind, rounding = "double", _FAR_COLUMNS
        constants.lines.append(f"typedef char {name}_double_has_64_bits[sizeof(double) == 8 ? 1 : -1];")
    steps = _steps(model, constants, kind)
    machines, counts = _machines(model, constants)
    labels, label_bytes = labels_table(name, model.saved.classes.labels.tolist())
    vote, scores = vote_code(model, constants, "float"), class_scores(model)
    probabilities = _probabilities(model, name, kind)
    parts = [
        heading(model, name, f"{kind}s", rounding),
        "#include <math.h>\n#include <stdint.h>", defines(model, name), labels,
        *constants.lines, steps, machines, vote, scores, public_functions(model, name, kind, "float", "float"),
        probabilities,
    ]  # fmt: skip
    stack = 4 * (model.features + model.machines + model.scores + (2 * model.classes if model.pairs is not None else 0))
    text = "\n\n".join(filter(None, parts)) + "\n"
    taken = array_bytes(text) + label_bytes, stack, counts
    return Source(text, name, *taken, probability_bytes=array_bytes(probabilities))


_ROUNDING = (
    "This file computes in single precision, in the order of mpu-bench, which computes scores in double precision.",
    "Scores differ by rounding. A label differs only where two scores are that close to each other.",
)

_FAR_COLUMNS = (
    "A column lies so far from zero that single precision does not tell its values apart: rows, and the steps on them,",
    "are in double precision, all that follows in single. Scores differ from those of mpu-bench by rounding.",
)


def heading(model: Portable, name: str, numbers: str, rounding: tuple[str, ...], powers: tuple[int, ...] = ()) -> str:
    """Return the comment that a file begins with: what it is, and the columns of a row, in order."""
    origin, lines = model.saved.origin, []
    run = " ".join(filter(None, [origin.solver, f"on {origin.dataset}" if origin.dataset else "", origin.time]))
    lines.append(f"A model of mpu-bench {origin.version}{': ' + run if run else ''}. Written by mpu-bench export-c.")
    lines += ["", f"int {name}_predict(row) returns the index of a label in {name}_labels[].", *rounding, ""]
    lines.append(f"A row is {len(model.columns)} {numbers}, in this order:")
    codes = _codes(model, name)
    for index, column in enumerate(model.columns):
        shown = f"  [{index}] {column.name}"
        power = f", times 2^{powers[index]}" if powers else ""
        if isinstance(column, CategoricalColumn):
            pairs = [
                f"{code} = {word or '(missing)'}" for word, code in zip(column.categories, codes[index], strict=True)
            ]
            shown += f": a code, {', '.join(pairs[:8])}{', ...' if len(pairs) > 8 else ''}; -1 for any other word"
        elif isinstance(model.saved.preprocessing, Table):
            fill = "must be there" if column.fill is None else f"NaN if missing, which counts as {column.fill:g}"
            shown += f": a number{power}, {fill if not powers else fill.replace('NaN', '-32768')}"
        else:
            shown += power
        lines.append(shown)
        if index >= 199 and len(model.columns) > 201:
            lines.append(f"  ... and {len(model.columns) - index - 1} more")
            break
    return "/*\n" + "\n".join(f" * {comment(line)}".rstrip() if line.strip() else " *" for line in lines) + "\n */"


def _codes(model: Portable, name: str) -> dict[int, list[str]]:
    """Return the names of the codes of every categorical column, by its index."""
    wanted = [
        (index, f"{name}_{identifier(column.name, 'column')}_{identifier(word or 'missing', 'value')}")
        for index, column in enumerate(model.columns)
        if isinstance(column, CategoricalColumn)
        for word in column.categories
    ]
    names = distinct(code for _, code in wanted)
    codes: dict[int, list[str]] = {}
    for (index, _), chosen in zip(wanted, names, strict=True):
        codes.setdefault(index, []).append(chosen)
    return codes


def defines(model: Portable, name: str) -> str:
    """Return the sizes, and the codes of words, as constants of C."""
    upper = name.upper()
    sizes = {"COLUMNS": len(model.columns), "CLASSES": model.classes, "SCORES": model.scores}
    lines = [f"#define {upper}_{word} {size}" for word, size in sizes.items()]
    for codes in _codes(model, name).values():
        lines.append("enum { " + ", ".join(f"{code} = {i}" for i, code in enumerate(codes)) + " };")
    return "\n".join(lines)


def _steps(model: Portable, constants: Constants, kind: str) -> str:
    """Return the function that makes features of a row of numbers of this kind."""
    prepared = model.saved.preprocessing
    if isinstance(prepared, Table):
        body = _table_steps(model, constants, kind)
        if prepared.unit_rows:
            body += _norm("x[j]", model.made_of_columns, "float")
            body.append(f"for (j = 0; j < {model.made_of_columns}; j++) x[j] = x[j] / most / norm;")
    elif isinstance(prepared, Vectors):
        body = _vector_steps(prepared, model, constants, kind)
    else:
        body = [f"for (j = 0; j < {model.made_of_columns}; j++) x[j] = row[j];"]
    for offset, value in enumerate(model.constants):
        body.append(f"x[{model.made_of_columns + offset}] = {number(value)};")
    return function(f"static void make_features(const {kind} *row, float *x)", ["int32_t j;", *body, "(void)j;"])


def _table_steps(model: Portable, constants: Constants, kind: str) -> list[str]:
    numbers = [column for column in model.columns if isinstance(column, NumberColumn)]
    constants.add(kind, "column_shift", [column.shift for column in numbers])
    constants.add(kind, "column_width", [min(column.width, model.largest_width) for column in numbers])
    if any(column.fill is not None for column in numbers):
        constants.add(kind, "column_fill", [column.fill or 0.0 for column in numbers])
    body, index, feature, met = [f"for (j = 0; j < {model.made_of_columns}; j++) x[j] = 0.0f;"], 0, 0, 0
    while index < len(model.columns):
        column = model.columns[index]
        if isinstance(column, CategoricalColumn):
            size = len(column.categories)
            body.append(
                f"if (row[{index}] >= 0.0f && row[{index}] < {size}.0f) x[{feature} + (int32_t)row[{index}]] = 1.0f;"
            )
            index, feature = index + 1, feature + size
            continue
        run = len(list(takewhile(lambda following: isinstance(following, NumberColumn), model.columns[index:])))
        body.append(f"for (j = 0; j < {run}; j++) {{")
        body.append(f"  {kind} value = row[{index} + j];")
        filled = [int(following.fill is not None) for following in model.columns[index : index + run]]  # type: ignore[union-attr]
        if any(filled):
            constants.add("uint8_t", f"filled_{index}", filled)
            body.append(f"  if (value != value && filled_{index}[j]) value = column_fill[{met} + j];")
        body.append(f"  x[{feature} + j] = (float)((value - column_shift[{met} + j]) / column_width[{met} + j]);")
        body.append("}")
        index, feature, met = index + run, feature + run, met + run
    return body


def _vector_steps(steps: Vectors, model: Portable, constants: Constants, kind: str) -> list[str]:
    columns, body = list(range(steps.features_in)) if steps.kept is None else list(steps.kept), []
    factor = f" * {number(steps.multiply_by, kind)}" if steps.multiply_by != 1.0 else ""
    factor += f" / {number(steps.divide_by, kind)}" if steps.divide_by != 1.0 else ""
    if steps.unit_rows:  # of all columns, before some are left out
        body += _norm(f"row[j]{factor}", steps.features_in, kind)
        factor += " / most / norm"
    source = "row[j]"
    if columns != list(range(len(columns))):
        constants.indices("kept_columns", columns, steps.features_in)
        source = "row[kept_columns[j]]"
    value = f"(float)({source}{factor})"  # as Python rounds them, which measured shift and width then
    if steps.shift is not None:
        constants.add(kind, "feature_shift", steps.shift)
        value = f"({value} - feature_shift[j])"
    if steps.width is not None:
        constants.add(kind, "feature_width", np.minimum(steps.width, model.largest_width))
        value = f"{value} / feature_width[j]"
    body.append(f"for (j = 0; j < {len(columns)}; j++) x[j] = (float)({value});")
    return body


def _norm(value: str, features: int, kind: str) -> list[str]:
    """Return the code of a row's largest number, and of its norm over that: so no square overflows or vanishes."""
    f = "" if kind == "double" else "f"
    return [
        f"{kind} most = 0, sum = 0, norm;",
        f"for (j = 0; j < {features}; j++) {{ {kind} size = fabs{f}({value}); if (size > most) most = size; }}",
        "if (most == 0) most = 1;",
        f"for (j = 0; j < {features}; j++) {{ {kind} part = {value} / most; sum += part * part; }}",
        f"norm = sum > 0 ? sqrt{f}(sum) : 1;",
    ]


def _machines(model: Portable, constants: Constants) -> tuple[str, dict[str, int]]:
    """Return the function that computes the scores of the machines, and what it takes."""
    if model.weights is not None:
        return _weighted(model, constants)
    constants.add("float", "biases", model.biases)
    before, value, counts = _kernel_values(model, constants)
    coefficients = store(constants, "float", model.coefficients, COEFFICIENTS, "k")
    value.append(f"{coefficients.loop} f[{coefficients.column}] += {coefficients.value} * value;")
    counts["multiply_adds"] += coefficients.terms
    return function(_MACHINE_SCORES, expansion(before, value, model.vectors.shape[0], model.machines)), counts


def _weighted(model: Portable, constants: Constants) -> tuple[str, dict[str, int]]:
    assert model.weights is not None
    p, d = model.weights.shape
    constants.add("float", "biases", model.biases)
    if model.frequencies is None:
        constants.add("float", "weights", model.weights)
        lines = [
            "int32_t j, k;",
            f"for (k = 0; k < {p}; k++) {{",
            "  float sum = biases[k];",
            f"  for (j = 0; j < {d}; j++) sum += weights[k * {d} + j] * x[j];",
            "  f[k] = sum;",
            "}",
        ]
        return function(_MACHINE_SCORES, lines), {"multiply_adds": p * d}
    count, columns = model.frequencies.shape
    constants.add("float", "frequencies", model.frequencies)
    constants.add("float", "weights", model.weights / np.sqrt(count))
    lines = [
        "int32_t i, j, k;",
        f"for (k = 0; k < {p}; k++) f[k] = biases[k];",
        f"for (i = 0; i < {count}; i++) {{",
        "  float angle = 0.0f, c, s;",
        f"  for (j = 0; j < {columns}; j++) angle += frequencies[i * {columns} + j] * x[j];",
        "  c = cosf(angle);",
        "  s = sinf(angle);",
        f"  for (k = 0; k < {p}; k++) f[k] += weights[k * {d} + i] * c + weights[k * {d} + {count} + i] * s;",
        "}",
    ]
    return function(_MACHINE_SCORES, lines), {"multiply_adds": count * columns + p * d, "cosines": 2 * count}


def _kernel_values(model: Portable, constants: Constants) -> tuple[list[str], list[str], dict[str, int]]:
    """Return the code before all vectors, that of a kernel value, and what all values take."""
    d, m, of_distance = model.features, model.vectors.shape[0], model.kernel.shift_invariant
    norms = np.asarray(model.vectors.multiply(model.vectors).sum(axis=1)).ravel()
    kernel = model.kernel.c_float(norms, number)
    vectors = store(constants, "float", model.vectors, VECTORS, "j")
    before, term = list(kernel.before), f"value += {vectors.value} * x[{vectors.column}];"
    if of_distance and not vectors.is_sparse:
        term = f"{{ float apart = {vectors.value} - x[j]; value += apart * apart; }}"
    value = ["float value = 0.0f;", f"{vectors.loop} {term}"]
    if of_distance and vectors.is_sparse:
        constants.add("float", "vector_norms", norms)
        value += ["value = norm + vector_norms[i] - 2.0f * value;", "if (value < 0.0f) value = 0.0f;"]
    if needs_norm := bool(before) or (of_distance and vectors.is_sparse):
        before = ["float norm = 0.0f;", f"for (j = 0; j < {d}; j++) norm += x[j] * x[j];", *before]
    for name, numbers in kernel.arrays.items():
        constants.add("float", name, numbers)
    work = vectors.terms + m * kernel.multiply_adds + (d if needs_norm else 0)
    counts = {"multiply_adds": work, "exponentials": m * kernel.exponentials}
    if model.kernel.shift_invariant and not vectors.is_sparse:
        counts["subtractions"] = vectors.terms
    return before, [*value, *kernel.value], counts


def vote_code(model: Portable, constants: Constants, kind: str) -> str:
    """Return the function that chooses a class by the scores of machines; the rule of core/voting.py."""
    head = f"static int choose(const {kind} *f)"
    if model.pairs is None:
        return function(head, _best(model))
    largest = model.classes
    both = bool((model.pairs[:, 0] != REST).any())
    if both:
        constants.indices("pair_firsts", np.where(model.pairs[:, 0] == REST, largest, model.pairs[:, 0]), largest)
    constants.indices("pair_seconds", model.pairs[:, 1], largest)
    down = f" >> {model.classes.bit_length()}" if both and kind != "float" else ""  # so that sums hold
    lines = ["int32_t c, k, best = 0;", f"{kind} sums[{model.classes}];", f"int32_t votes[{model.classes}];"]
    lines += [f"for (c = 0; c < {model.classes}; c++) {{ sums[c] = 0; votes[c] = 0; }}"]
    lines += [f"for (k = 0; k < {model.machines}; k++) {{", f"  sums[pair_seconds[k]] += f[k]{down};"]
    if both:
        lines += [
            f"  if (pair_firsts[k] < {largest}) {{",
            f"    sums[pair_firsts[k]] -= f[k]{down};",
            "    votes[f[k] > 0 ? pair_seconds[k] : pair_firsts[k]]++;",
            "  }",
        ]
    lines += ["}", f"for (c = 1; c < {model.classes}; c++)"]
    lines += ["  if (votes[c] > votes[best] || (votes[c] == votes[best] && sums[c] > sums[best])) best = c;"]
    return function(head, [*lines, "return best;"])


def _best(model: Portable) -> list[str]:
    if model.machines == 1:
        return ["return f[0] > 0;"]
    loop = f"for (c = 1; c < {model.machines}; c++) if (f[c] > f[best]) best = c;"
    return ["int32_t c, best = 0;", loop, "return best;"]


def class_scores(model: Portable) -> str:
    """Return the function that makes the scores of classes out of those of machines."""
    if model.pairs is None:
        body = [f"for (c = 0; c < {model.machines}; c++) scores[c] = f[c];"]
    else:
        both = bool((model.pairs[:, 0] != REST).any())
        c = model.classes
        body = [f"float sums[{c}];", f"for (c = 0; c < {c}; c++) {{ sums[c] = 0.0f; scores[c] = 0.0f; }}"]
        body += ["int32_t k;", f"for (k = 0; k < {model.machines}; k++) {{", "  sums[pair_seconds[k]] += f[k];"]
        if both:
            body += [f"  if (pair_firsts[k] < {c}) {{", "    sums[pair_firsts[k]] -= f[k];"]
            body += ["    scores[f[k] > 0.0f ? pair_seconds[k] : pair_firsts[k]] += 1.0f;", "  }"]
        end = "scores[c] += sums[c] / (3.0f * (fabsf(sums[c]) + 1.0f));" if both else "scores[c] = sums[c];"
        body += ["}", f"for (c = 0; c < {c}; c++) {end}"]
    return function("static void class_scores(const float *f, float *scores)", ["int32_t c;", *body])


def public_functions(model: Portable, name: str, row: str, feature: str, score: str) -> str:
    """Return the two functions that a device calls, for these types of a row, of features and of scores."""
    arrays = f"  {feature} x[{model.features}];\n  {score} f[{model.machines}];\n"
    arrays += "  make_features(row, x);\n  machine_scores(x, f);\n"
    return (
        f"/* Writes {model.scores} score{'s' * (model.scores > 1)} of a row; of two classes it is above zero for the "
        f"second. */\nvoid {name}_scores(const {row} *row, {score} *scores)\n{{\n{arrays}  class_scores(f, scores);\n}}"
        f"\n\n/* Returns the index of the row's label in {name}_labels. */\n"
        f"int {name}_predict(const {row} *row)\n{{\n{arrays}  return choose(f);\n}}"
    )


MIN_Z = -40.0  #: below which sigmoids are in proportion to exponentials, for single precision

_SIGMOID = """/* 1 / (1 + exp(-z)) to five digits, without a library of mathematics. */
static float sigmoid(float z)
{
  float y = z > 69.0f ? -99.5f : z < -69.0f ? 99.5f : z * -1.44269504f;
  int32_t k = (int32_t)(y + 100.0f) - 100;
  float t = y - (float)k;
  float power = 1.0f + t * (0.69303211f + t * (0.24137979f + t * (0.05203236f + t * 0.01355574f)));
  for (; k > 0; k--) power *= 2.0f;
  for (; k < 0; k++) power *= 0.5f;
  return 1.0f / (1.0f + power);
}"""


def _probabilities(model: Portable, name: str, kind: str) -> str:
    """Return the function that makes probabilities of the scores of a row, as `Sigmoids.probabilities` does."""
    sigmoids, c = model.saved.sigmoids, model.classes
    if sigmoids is None:
        return ""
    slopes, intercepts = (", ".join(map(number, values)) for values in (sigmoids.slopes, sigmoids.intercepts))
    line = "slopes[c] * scores[c] + intercepts[c]"
    lines = [
        f"static const float slopes[{model.scores}] = {{{slopes}}};",
        f"static const float intercepts[{model.scores}] = {{{intercepts}}};",
        f"float scores[{model.scores}];",
        f"{name}_scores(row, scores);",
    ]
    if model.scores == 1:
        lines += [f"probabilities[1] = sigmoid({line.replace('c]', '0]')});"]
        lines += ["probabilities[0] = 1.0f - probabilities[1];"]
    else:
        loop, least = f"for (c = 0; c < {c}; c++)", number(MIN_Z)
        lines += ["float sum = 0.0f, most = -3e38f, up;", "int32_t c;"]
        lines += [f"{loop} {{ scores[c] = {line}; if (scores[c] > most) most = scores[c]; }}"]
        lines += [f"up = most < {least} ? {least} - most : 0.0f; /* their ratios stay where all are nearly 0 */"]
        lines += [f"{loop} {{ probabilities[c] = sigmoid(scores[c] + up); sum += probabilities[c]; }}"]
        lines += [f"{loop} probabilities[c] /= sum;"]
    head = f"/* Writes the probabilities of the {c} classes of a row. */"
    return f"{_SIGMOID}\n\n{head}\n" + function(
        f"void {name}_probabilities(const {kind} *row, float *probabilities)", lines
    )
