"""A model as an ONNX graph of the standard operators alone: steps, machines and vote, from raw rows to labels.

The operators of ``ai.onnx.ml`` for support vector machines know neither sines nor normalized kernels nor the vote of
this project; matrix products and exponentials do, and every runtime has them. Rows are a number for each column as in
C, float32 or, where a column lies far from zero, float64: NaN where a number is missing, the code of a word, -1 for any
other word. The metadata, JSON by key, say which: ``columns`` with codes and fills, ``missing_words``, ``classes``.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.filesize import decimal

from mpu_bench.core.voting import REST
from mpu_bench.errors import DataError
from mpu_bench.installed import extra
from mpu_bench.models.export.c_float import MIN_Z
from mpu_bench.models.export.portable import Portable
from mpu_bench.models.probabilities import Sigmoids
from mpu_bench.preprocessing import MISSING_WORDS, CategoricalColumn, NumberColumn, Table, Vectors

_OPSET, _IR_VERSION = 17, 8  # which runtimes of 2022 read
_MAX_BYTES = 2**31 - 1  # of a protobuf


def onnx_bytes(model: Portable) -> bytes:
    """Return a model as the content of an ONNX file.

    Parameters
    ----------
    model : Portable

    Raises
    ------
    DataError
        If the package ``onnx`` is not installed, a number is beyond the range of single precision, or the file would
        be larger than ONNX files can be.
    """
    try:
        import onnx
    except ImportError:
        raise DataError(f"ONNX needs a package that is not installed: {extra('onnx')}") from None
    if (
        model.vectors is not None
        and (size := 4 * model.vectors.shape[0] * (model.features + model.machines)) > _MAX_BYTES
    ):
        raise DataError(
            f"the ONNX file would have {decimal(size)}, of 2 GB that it may have, for it holds vectors with all their "
            "zeros; use export-c, or train with fewer vectors or columns"
        )
    graph = _Graph(onnx)
    features = _with_constants(graph, model, _steps(graph, model))
    scores = _scores(graph, model, _machines(graph, model, features))
    graph.call("Identity", [scores.of_classes], output="scores")
    if model.saved.sigmoids is not None:
        _probabilities(graph, model.saved.sigmoids, scores.of_classes)
    graph.call("Gather", [graph.labels(model), _index(graph, model, scores)], output="label", axis=0)
    proto = graph.model(model)
    onnx.checker.check_model(proto)
    content: bytes = proto.SerializeToString()
    return content


def runtime_answers(content: bytes, rows: NDArray[np.floating[Any]]) -> tuple[NDArray[Any], NDArray[np.float32]] | None:
    """Return the labels and scores that onnxruntime computes for raw rows; None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    labels, scores = session.run(["label", "scores"], {"rows": rows})
    return labels, scores


class _Graph:
    """Nodes and constants in the order they are added; every value has a name."""

    def __init__(self, onnx: Any) -> None:
        self._onnx = onnx  #: the package
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def call(self, operator: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float32, *, may_be_missing: bool = False) -> str:
        with np.errstate(over="ignore"):
            array = np.asarray(values).astype(dtype)
        if array.dtype.kind == "f" and not (np.isfinite(array) | (may_be_missing & np.isnan(array))).all():
            raise DataError("a number of the model is beyond the range of single precision")
        name = f"constant_{len(self.constants)}"
        whole = np.ascontiguousarray(array).reshape(np.shape(values))
        self.constants.append(self._onnx.numpy_helper.from_array(whole, name))
        return name

    def labels(self, model: Portable) -> str:
        labels = model.saved.classes.labels
        if _label_type(labels) is not None:
            return self.constant(labels, _label_type(labels))
        texts: Any = [name.encode(errors="backslashreplace") for name in model.saved.classes.names]
        self.constants.append(
            self._onnx.helper.make_tensor("labels", self._onnx.TensorProto.STRING, [len(texts)], texts)
        )
        return "labels"

    def model(self, model: Portable) -> Any:
        helper, TensorProto = self._onnx.helper, self._onnx.TensorProto
        types = {np.int64: TensorProto.INT64, np.float64: TensorProto.DOUBLE, None: TensorProto.STRING}
        label_type = types[_label_type(model.saved.classes.labels)]
        of_rows = TensorProto.DOUBLE if model.number is np.float64 else TensorProto.FLOAT
        rows = helper.make_tensor_value_info("rows", of_rows, ["n", len(model.columns)])
        label = helper.make_tensor_value_info("label", label_type, ["n"])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", model.scores])
        answers = [label, scores]
        if model.saved.sigmoids is not None:
            answers.append(helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", model.classes]))
        graph = helper.make_graph(self.nodes, "mpu_bench", [rows], answers, self.constants)
        opset = [helper.make_opsetid("", _OPSET)]
        proto = helper.make_model(graph, producer_name="mpu-bench", opset_imports=opset, ir_version=_IR_VERSION)
        helper.set_model_props(proto, {name: json.dumps(value) for name, value in _metadata(model).items()})
        return proto


def _metadata(model: Portable) -> dict[str, Any]:
    """Return what a user of the file must know of its rows and labels."""
    columns: list[dict[str, Any]] = []
    for column in model.columns:
        if isinstance(column, CategoricalColumn):
            codes = {word: code for code, word in enumerate(column.categories)}
            columns.append({"name": column.name, "kind": "word", "codes": codes, "exact": column.exact})
        else:
            columns.append({"name": column.name, "kind": "number", "fill": column.fill})
    rows = "one number for each column; of a word its code, of a missing word that of '', of any other word -1; "
    rows += "of a missing number NaN, for which the fill is taken"
    return {
        "rows": rows,
        "columns": columns,
        "missing_words": MISSING_WORDS,
        "classes": model.saved.classes.labels.tolist(),
        "made_by": model.saved.origin.model_dump(mode="json"),
    }


def _label_type(labels: NDArray[Any]) -> Any:
    """Return the type of numbers that holds all labels, None where they are texts there."""
    if labels.dtype.kind in "iu" and labels.max() <= np.iinfo(np.int64).max:
        return np.int64
    return np.float64 if labels.dtype.kind == "f" else None


def _steps(graph: _Graph, model: Portable) -> str:
    """Return the features that are made of the columns."""
    prepared = model.saved.preprocessing
    if isinstance(prepared, Table):
        return _table_steps(graph, model, prepared)
    if isinstance(prepared, Vectors):
        return _vector_steps(graph, model, prepared)
    return "rows"


def _table_steps(graph: _Graph, model: Portable, table: Table) -> str:
    """Take the column of every feature, and make of it a scaled number, or whether it is the code of a word."""
    indices: list[int] = []
    codes: list[int] = []
    shifts: list[float] = []
    widths: list[float] = []
    kind, fills = model.number, [_fill(column) for column in model.columns]
    for index, column in enumerate(model.columns):
        words = len(column.categories) if isinstance(column, CategoricalColumn) else 0
        indices += [index] * (words or 1)
        codes += list(range(words)) or [-1]
        shifts += [0.0] * words if isinstance(column, CategoricalColumn) else [column.shift]
        widths += [1.0] * words if isinstance(column, CategoricalColumn) else [min(column.width, model.largest_width)]
    fill = graph.constant([fills], kind, may_be_missing=True)
    filled = graph.call("Where", [graph.call("IsNaN", ["rows"]), fill, "rows"])
    values = graph.call("Gather", [filled, graph.constant(indices, np.int64)], axis=1)
    shifted = graph.call("Sub", [values, graph.constant([shifts], kind)])
    scaled = graph.call("Cast", [graph.call("Div", [shifted, graph.constant([widths], kind)])], to=1)
    is_word = graph.call("Cast", [graph.call("Equal", [values, graph.constant([codes], kind)])], to=1)
    features = graph.call("Where", [graph.constant([np.array(codes) >= 0], np.bool_), is_word, scaled])
    return _unit_rows(graph, features, np.float32) if table.unit_rows else features


def _fill(column: NumberColumn | CategoricalColumn) -> float:
    """Return what stands for a missing value: no word is one of the categories, and what has no fill stays missing."""
    if isinstance(column, CategoricalColumn):
        return -1.0
    return math.nan if column.fill is None else column.fill


def _vector_steps(graph: _Graph, model: Portable, steps: Vectors) -> str:
    values, kind = "rows", model.number
    if (steps.multiply_by, steps.divide_by) != (1.0, 1.0):
        values = graph.call("Mul", [values, graph.constant(steps.multiply_by / steps.divide_by, kind)])
    if steps.unit_rows:
        values = _unit_rows(graph, values, kind)
    if steps.kept is not None:
        values = graph.call("Gather", [values, graph.constant(list(steps.kept), np.int64)], axis=1)
    if kind is np.float64:  # as Python rounds them, which measured shift and width then
        values = graph.call("Cast", [graph.call("Cast", [values], to=1)], to=11)
    if steps.shift is not None:
        values = graph.call("Sub", [values, graph.constant([list(steps.shift)], kind)])
    if steps.width is not None:
        values = graph.call("Div", [values, graph.constant([np.minimum(steps.width, model.largest_width)], kind)])
    return graph.call("Cast", [values], to=1) if kind is np.float64 else values


def _unit_rows(graph: _Graph, values: str, kind: type[np.floating[Any]]) -> str:
    """Divide rows by their largest number first, so that no square overflows or vanishes."""
    most = graph.call("ReduceMax", [graph.call("Abs", [values])], axes=[1], keepdims=1)
    is_zero = graph.call("Equal", [most, graph.constant(0.0, kind)])
    parts = graph.call("Div", [values, graph.call("Where", [is_zero, graph.constant(1.0, kind), most])])
    norms = graph.call("ReduceL2", [parts], axes=[1], keepdims=1)  # at least 1, but of a row of zeros
    return graph.call("Div", [parts, graph.call("Max", [norms, graph.constant(1.0, kind)])])


def _with_constants(graph: _Graph, model: Portable, features: str) -> str:
    for value in model.constants:
        features = graph.call("Pad", [features, graph.constant([0, 0, 0, 1], np.int64), graph.constant(value)])
    return features


def _machines(graph: _Graph, model: Portable, features: str) -> str:
    """Return the scores of the machines, shape (n, p)."""
    if model.weights is not None:
        weights = model.weights
        if model.frequencies is not None:
            angles = graph.call("MatMul", [features, graph.constant(model.frequencies.T)])
            features = graph.call("Concat", [graph.call("Cos", [angles]), graph.call("Sin", [angles])], axis=1)
            weights = weights / np.sqrt(len(model.frequencies))
        return graph.call(
            "Add", [graph.call("MatMul", [features, graph.constant(weights.T)]), graph.constant([model.biases])]
        )
    kernel_values = _kernel_values(graph, model, features)
    coefficients = graph.constant(model.coefficients.toarray())
    return graph.call("Add", [graph.call("MatMul", [kernel_values, coefficients]), graph.constant([model.biases])])


def _kernel_values(graph: _Graph, model: Portable, features: str) -> str:
    """Return the kernel values of every row with every vector, shape (n, m)."""
    vectors, kernel = model.vectors.toarray(), model.kernel
    if kernel.shift_invariant and len(vectors):  # the distances stay, and less of them is lost by rounding
        mean = vectors.mean(axis=0).astype(np.float32)
        features, vectors = graph.call("Sub", [features, graph.constant([mean])]), vectors - mean.astype(np.float64)
    products = graph.call("MatMul", [features, graph.constant(vectors.T)])
    norms = np.square(vectors).sum(axis=1, keepdims=True).T
    row_norms = graph.call("ReduceSumSquare", [features], axes=[1], keepdims=1)
    if kernel.shift_invariant:
        twice = graph.call("Mul", [products, graph.constant(2.0)])
        distances = graph.call("Sub", [graph.call("Add", [row_norms, graph.constant(norms)]), twice])
        return kernel.onnx(graph, graph.call("Relu", [distances]), row_norms, norms)
    return kernel.onnx(graph, products, row_norms, norms)


class _Scores(NamedTuple):
    """The scores of classes; and by which the best class is known, where single precision may not tell scores apart."""

    of_classes: str
    ranks: str


def _scores(graph: _Graph, model: Portable, machines: str) -> _Scores:
    """Return the scores of classes; the rule of core/voting.py."""
    if model.pairs is None:
        return _Scores(machines, machines)
    p = len(model.pairs)
    firsts, seconds = np.zeros((p, model.classes)), np.zeros((p, model.classes))
    seconds[np.arange(p), model.pairs[:, 1]] = 1.0
    one_against_one = np.flatnonzero(model.pairs[:, 0] != REST)
    firsts[one_against_one, model.pairs[one_against_one, 0]] = 1.0
    sums = graph.call("MatMul", [machines, graph.constant(seconds - firsts)])
    if not len(one_against_one):
        return _Scores(sums, sums)
    for_second = graph.call("Cast", [graph.call("Greater", [machines, graph.constant(0.0)])], to=1)
    votes = graph.call("MatMul", [for_second, graph.constant(seconds - firsts)])
    votes = graph.call("Add", [votes, graph.constant([firsts.sum(axis=0)])])
    larger = graph.call("Add", [graph.call("Abs", [sums]), graph.constant(1.0)])
    share = graph.call("Div", [sums, graph.call("Mul", [larger, graph.constant(3.0)])])
    most = graph.call("ReduceMax", [votes], axes=[1], keepdims=1)
    behind = graph.call("Less", [votes, most])
    ranks = graph.call("Where", [behind, graph.constant(np.finfo(np.float32).min), sums])
    return _Scores(graph.call("Add", [votes, share]), ranks)


def _index(graph: _Graph, model: Portable, scores: _Scores) -> str:
    """Return the class of every row, shape (n,)."""
    if model.scores > 1:
        return graph.call("ArgMax", [scores.ranks], axis=1, keepdims=0)
    above = graph.call("Cast", [graph.call("Greater", [scores.ranks, graph.constant(0.0)])], to=7)
    return graph.call("Squeeze", [above, graph.constant([1], np.int64)])


def _probabilities(graph: _Graph, sigmoids: Sigmoids, scores: str) -> None:
    """Compute the probabilities of classes as `Sigmoids.probabilities` does."""
    line = graph.call("Mul", [scores, graph.constant([sigmoids.slopes])])
    line = graph.call("Add", [line, graph.constant([sigmoids.intercepts])])
    if len(sigmoids.slopes) == 1:
        positive = graph.call("Sigmoid", [line])
        rest = graph.call("Sub", [graph.constant(1.0), positive])
        graph.call("Concat", [rest, positive], output="probabilities", axis=1)
        return
    most = graph.call("ReduceMax", [line], axes=[1], keepdims=1)  # their ratios stay where all are nearly 0
    line = graph.call("Add", [line, graph.call("Relu", [graph.call("Sub", [graph.constant(MIN_Z), most])])])
    larger = graph.call("Add", [graph.constant(1.0), graph.call("Exp", [graph.call("Neg", [line])])])
    unscaled = graph.call("Reciprocal", [larger])  # runtimes round a small Sigmoid to 0
    graph.call(
        "Div", [unscaled, graph.call("ReduceSum", [unscaled, graph.constant([1], np.int64)])], output="probabilities"
    )
