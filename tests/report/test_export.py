import csv
import json
import os
import re
import shutil
import subprocess

import pytest

from mpu_bench import published
from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.experiment.environment import describe
from mpu_bench.quantities import QUANTITIES
from mpu_bench.report import export, printed, tables
from mpu_bench.results import naming
from mpu_bench.results.store import Store
from mpu_bench.verdict.cells import Cell
from mpu_bench.verdict.verdict import Verdict
from oracles import made_up
from records import record, records, summaries


def test_tables_in_other_forms(tmp_path):
    folder = made_up.results(tmp_path)
    lines = export.export(folder, "md", None).splitlines()
    assert len(lines) == 2 + 3
    assert len({line.count("|") for line in lines}) == 1
    tex = export.export(folder, "tex", None)
    assert r"\shortstack[r]{test \\ error, \%}" in tex
    assert len(re.findall(r"\\\\$", tex, re.M)) == 4
    out = tmp_path / "table.csv"
    assert export.export(folder, "csv", out) is None
    with out.open(newline="") as file:
        assert [row["solver"] for row in csv.DictReader(file)] == ["sbp", "libsvm", "sdca"]
    with pytest.raises(ConfigError, match="csv"):
        export.export(folder, "cvs", None)
    with pytest.raises(StoreError, match=r"absent/table\.csv: cannot be written: No such file"):
        export.export(folder, "csv", folder / "absent" / "table.csv")
    with pytest.raises(ConfigError, match="--out"):
        export.export(folder, "parquet", None)


def test_disturbed_rows_are_marked(tmp_path):
    folder = made_up.results(tmp_path, disturbed="waited 31% of its wall seconds")
    text = export.export(folder, "md", None)
    assert text.startswith("| dataset | solver (†: disturbed) |")
    assert "| sbp † |" in text
    assert "| libsvm |" in text
    assert r"sbp \dag{} &" in export.export(folder, "tex", None)


def test_seconds_of_two_machines_and_earlier_runs_are_never_the_best(tmp_path):
    best = export.Shape(bold_best=True)
    assert "**1**" in export.export(made_up.results(tmp_path / "one"), "md", None, best)
    text = export.export(made_up.results(tmp_path / "two", hosts=("a", "b")), "md", None, best)
    assert "**15.00**" in text
    assert "**1**" not in text
    rows = [{"dataset": "a", "solver": "mpu", "test_error_percent_mean": error, "earlier": earlier}
            for error, earlier in ((3.0, None), (2.0, None), (1.0, 1))]  # fmt: skip
    (column,) = naming.columns(made := summaries(rows), [QUANTITIES["test_error_percent"]])
    assert [isinstance(cell, tables.Best) for cell in export._cells(column, made, best)] == [False, True, False]


def test_numbers_are_written_as_their_quantities_say(tmp_path):
    text = export.export(made_up.results(tmp_path), "md", None)
    headings = text.splitlines()[0]
    assert "| test error, % | test error, %, published | training seconds |" in headings
    assert "| 15.00 |" in text


def markdown(headings, *rows):
    return tables.markdown(tables.Table(headings, rows, "l" * len(headings)))


def latex(sides, headings, *rows):
    return tables.latex(tables.Table(headings, rows, sides))


def test_words_in_markdown_are_words():
    text = markdown(["a"], ["<script>alert(1)</script>"], ["x|y\nz"], ["[a](http://b) `c` *d* _e_ f_g"], ["\\|"])
    assert text.splitlines()[2:] == [
        "| &lt;script&gt;alert(1)&lt;/script&gt; |",
        r"| x\|y z |",
        r"| \[a\](http://b) \`c\` \*d\* \_e\_ f_g |",
        r"| \\\| |",
    ]
    assert "\x1b" not in markdown(["a"], ["\x1b[31m"])


def test_words_in_latex_are_words():
    cells = [
        ["a"],
        [r"\input{/etc/passwd}"],
        ["$x$ 5% #1 a_b & c~d^e"],
        ["[2cm]"],
        ["*"],
        ["a<b>|\n\x1b"],
        ["5 µm ≥ −2 σ² ≤ 1 ±3"],
    ]
    lines = latex("l", *cells).splitlines()[4:-2]
    assert lines == [
        r"\textbackslash{}input\{/etc/passwd\} \\",
        r"\$x\$ 5\% \#1 a\_b \& c\~{}d\^{}e \\",
        r"{[}2cm] \\",
        r"{*} \\",
        r"a\textless{}b\textgreater{}\textbar{} \textbackslash{}x1b \\",
        r"5 $\mu$m $\geq$ $-$2 $\sigma$$^2$ $\leq$ 1 $\pm$3 \\",
    ]


def test_long_words_in_latex_are_paragraphs_and_long_tables_go_over_pages():
    short = latex("llr", ["a", "b", "c"], ["x", "", "1"])
    assert short.splitlines()[0] == r"\begin{tabular}{lr}"  # without what says nothing
    long = latex("ll", ["a", "b"], *[["x", "many words " * 20]] * 46)
    assert r"\begin{longtable}{l>{\raggedright\arraybackslash}p{0.28\linewidth}}" in long
    assert long.count(r"\endhead") == 1
    assert latex("lr", ["a", "b"]).startswith(r"\begin{tabular}{lr}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_latex_is_compiled(tmp_path):
    words = [r"\input{/etc/passwd}", "$x$ 5% #1 a_b & c~d^e [2cm]", "* a<b>| ± † ñ é ≥ ≤ µ σ² − × ·"]
    written = [
        export.export(made_up.results(tmp_path), "tex", None),
        LATEX,
        latex("rlll", ["many words, %", *words], *[["1", *words]] * 50),
        *(tables.latex(table) for table in map(_printed_table, published.names())),
    ]
    packages = r"\documentclass{article}\usepackage{array,booktabs,longtable}"
    body = "\n\n".join(written)
    (tmp_path / "all.tex").write_text(f"{packages}\\begin{{document}}\n{body}\n\\end{{document}}\n", "utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size


def _printed_table(name):
    cell = Cell(
        "value", name, 1, "a_b", "mpu", "100", column="objective", measured=80.44, count=5, verdict=Verdict.REPRODUCED
    )
    return printed.table(name, [cell])


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5000, "pipe", "folder", "file/below", "loop/below", "null", "a\0b"])
def test_a_file_that_cannot_be_written_is_one_message(tmp_path, made_up_folder, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "null").symlink_to(os.devnull)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(StoreError, match="cannot be written"):
        export.export(made_up_folder, "csv", tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "null").is_char_device()


@pytest.fixture(scope="module")
def made_up_folder(tmp_path_factory):
    return made_up.results(tmp_path_factory.mktemp("results"))


def test_numbers_in_latex_are_numbers():
    cells = ["1.16e+08 ±7.6e+04", "2.3e-05", "-1e+100", "12 ±3", "e", "sbp e", "11434.5", "0.01 ±3e-05 †", "12 †"]
    assert [tables.latex_text(cell) for cell in cells] == [
        r"$1.16 \times 10^{8} \pm 7.6 \times 10^{4}$",
        r"$2.3 \times 10^{-5}$",
        r"$-1 \times 10^{100}$",
        r"12 $\pm$3",
        "e",
        "sbp e",
        "11434.5",
        r"$0.01 \pm 3 \times 10^{-5}$ \dag{}",
        r"12 \dag{}",
    ]


def test_a_table_for_people_has_a_shape(tmp_path):
    folder = made_up.results(tmp_path, disturbed="waited")
    columns = "test_error_percent", "train_seconds"
    shape = export.Shape(columns, caption="100% of it", label="tab:mine", bold_best=True)
    tex = export.export(folder, "tex", None, shape)
    assert tex.startswith("\\begin{table}\n\\centering\n\\caption{100\\% of it}\\label{tab:mine}\n\\begin{tabular}")
    assert tex.endswith("\\end{tabular}\n\\end{table}\n")
    markdown = export.export(folder, "md", None, export.Shape(columns, bold_best=True))
    assert "| **15.00** |" in markdown
    assert markdown.count("**") == 2  # disturbed seconds are of no best
    assert "kernel" not in markdown


@pytest.mark.parametrize(
    ("form", "shape", "message"),
    [
        ("md", {"columns": ("test_eror",)}, "--columns test_eror: did you mean 'test_error'"),
        ("tex", {"columns": ("test_error", "")}, "--columns : choose from"),
        ("tex", {"rows": "solver"}, "--rows solver: did you mean 'solvers'"),
        ("md", {"caption": "A"}, "--to md: has no --caption; tex, html have it"),
        ("csv", {"bold_best": True}, "--to csv: has no --bold-best; md, tex, html have it"),
        ("parquet", {"rows": "datasets"}, "--to parquet: has no --rows; csv, md, tex, html have it"),
        ("latex", {}, "--to latex: did you mean 'tex'"),
    ],
)
def test_a_wrong_name_is_one_message(tmp_path, form, shape, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        export.export(made_up.results(tmp_path), form, None, export.Shape(**shape))


#: test error and objective by dataset, solver and its C: dcd has another C on each, so that its objective is another
#: function there; the optimum is no contestant
COMPARED = {
    "a_b": {("mpu", 1): ((0.1, 0.12), 5.0), ("dcd", 1): ((0.1, 0.1), 7.0), ("optimum", 1): ((0.0, 0.0), 1.0)},
    "50% & #1": {("mpu", 1): ((0.2, 0.2), 3.0), ("dcd", 9): ((0.3, 0.3), 2.0)},
    "later": {("mpu", 1): ((), 0.0)},
}


@pytest.fixture
def compared(tmp_path):
    with Store(tmp_path / "compared", create=True) as store:
        planned, results = [], []
        for dataset, solvers in COMPARED.items():
            for (solver, c), (errors, objective) in solvers.items():
                for seed in range(max(1, len(errors))):
                    planned.append({
                        "experiment": "compared", "dataset": dataset, "n": 9, "solver": solver, "kernel": "linear",
                        "parameters": json.dumps({"C": c}), "seed": seed, "run_id": f"{dataset} {solver} {seed}",
                    })  # fmt: skip
                results += [{"status": "done", "test_error": error, "objective": objective} for error in errors]
        store.save_plan(records(planned), {"name": "compared", "judging": {}})
        for each, result in zip(planned, results, strict=False):
            measured = {"train_seconds": 1.0 + each["seed"], "threads": 1, "disturbed": "" if each["seed"] else "busy"}
            store.save(record(each | result | measured), [], describe(1))
    return tmp_path / "compared"


def test_datasets_are_rows_and_solvers_are_columns(compared):
    shape = export.Shape(("test_error", "objective"), "datasets", bold_best=True)
    assert export.export(compared, "md", None, shape).splitlines() == [
        "| dataset | test error, %: mpu | test error, %: dcd | objective: mpu | objective: dcd |",
        "| --- | --- | --- | --- | --- |",
        "| a_b | 11.00 ±1.4 | **10.00** | **5** | 7 |",
        "| 50% & #1 | **20.00** | 30.00 | 3 | 2 |".replace("&", "&amp;"),
    ]


def test_solvers_are_rows_and_datasets_are_columns(compared):
    text = export.export(compared, "csv", None, export.Shape(("test_error", "train_seconds"), "solvers"))
    assert list(csv.reader(text.splitlines())) == [
        ["solver (†: disturbed)", *(f"{each}: {name}" for each in ("test error, %", "training seconds") for name in
                                    ("a_b", "50% & #1"))],
        ["mpu", "11.00 ±1.4", "20.00", "1.5 ±0.71 †", "1.5 ±0.71 †"],
        ["dcd", "10.00", "30.00", "1.5 ±0.71 †", "1.5 ±0.71 †"],
    ]  # fmt: skip


LATEX = r"""\begin{table}
\centering
\caption{50\% \& \#1 of a\_b}\label{tab:a}
\begin{tabular}{lrrrr}
\toprule
 & \multicolumn{2}{c}{test error, \%} & \multicolumn{2}{c}{training seconds} \\ \cmidrule(lr){2-3} \cmidrule(lr){4-5}
\shortstack[l]{dataset \\ (\dag{}: \\ disturbed)} & mpu & dcd & mpu & dcd \\
\midrule
a\_b & 11.00 $\pm$1.4 & {\boldmath\textbf{10.00}} & 1.5 $\pm$0.71 \dag{} & 1.5 $\pm$0.71 \dag{} \\
50\% \& \#1 & {\boldmath\textbf{20.00}} & 30.00 & 1.5 $\pm$0.71 \dag{} & 1.5 $\pm$0.71 \dag{} \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_a_table_for_a_paper(compared):
    shape = export.Shape(("test_error", "train_seconds"), "datasets", "50% & #1 of a_b", "tab:a", bold_best=True)
    assert export.export(compared, "tex", None, shape) == LATEX


def test_a_table_in_html_has_a_caption_groups_and_words(compared):
    shape = export.Shape(("test_error", "objective"), "datasets", "a < b", "tab:a", bold_best=True)
    text = export.export(compared, "html", None, shape)
    assert re.findall(r"<table id=\"(.*?)\"", text) == ["tab:a"]
    assert re.findall(r"<caption.*?>(.*?)</caption>", text) == ["a &lt; b"]
    assert re.findall(r"colspan=\"2\".*?>(.*?)<", text) == ["test error, %", "objective"]
    assert re.findall(r"<td.*?>(.*?)</td>", text)[5:] == ["50% &amp; #1", "<b>20.00</b>", "30.00", "3", "2"]
    assert export.export(compared, "html", None).count("<tr") == 1 + 6


def test_the_best_objective_is_that_of_its_problem(tmp_path):
    """SBP's objective is maximised; of the two that are minimised beside it, the worse one was bold."""
    with Store(tmp_path / "problems", create=True) as store:
        planned = [
            {"experiment": "problems", "dataset": "a", "n": 9, "solver": solver, "kernel": "linear", "parameters": "{}",
             "seed": 0, "run_id": solver, "problem": problem, "maximised": maximised}
            for solver, problem, maximised in (("sbp", "nu", 1), ("mpu", "hinge", 0), ("dcd", "hinge", 0))
        ]  # fmt: skip
        store.save_plan(records(planned), {"name": "problems", "judging": {}})
        for each, objective in zip(planned, (0.5, 5.0, 7.0), strict=True):
            store.save(record(each | {"status": "done", "objective": objective}), [], describe(1))
    shape = export.Shape(("objective",), "solvers", bold_best=True)
    text = export.export(tmp_path / "problems", "md", None, shape)
    assert [line.split(" | ")[-1].strip(" |") for line in text.splitlines()[2:]] == ["", "**5**", "7"]


def test_objectives_of_several_c_have_no_best(tmp_path):
    with Store(tmp_path / "swept", create=True) as store:
        planned = [
            {"experiment": "swept", "dataset": "a", "n": 9, "solver": "dcd", "kernel": "linear", "seed": 0,
             "parameters": json.dumps({"C": c}), "run_id": str(c), "problem": "hinge", "maximised": 0}
            for c in (1, 10)
        ]  # fmt: skip
        store.save_plan(records(planned), {"name": "swept", "judging": {}})
        for each in planned:
            measured = {"status": "done", "objective": float(each["run_id"]), "test_error": 1 / float(each["run_id"])}
            store.save(record(each | measured), [], describe(1))
    shape = export.Shape(("objective", "test_error"), bold_best=True)
    lines = export.export(tmp_path / "swept", "md", None, shape).splitlines()[2:]
    assert [line.split(" | ")[2:] for line in lines] == [["1", "100.00 |"], ["10", "**10.00** |"]]


@pytest.mark.parametrize("rows", ["", *export.ROWS])
def test_a_mean_of_some_of_the_planned_runs_says_so(rows):
    named = {"dataset": "a", "parameters": "{}", "kernel": "linear", "planned": 4, "test_error_percent_mean": 10.5}
    made = summaries(named | {"solver": solver, "count": count} for solver, count in (("mpu", 2), ("dcd", 4)))
    text = export._text(made, "md", export.Shape(rows=rows))
    assert "| 10.50 (2 of 4 runs) |" in text
    assert "| 10.50 |" in text


def test_a_mean_of_some_of_the_planned_runs_is_never_the_best():
    named = {"dataset": "a", "parameters": "{}", "kernel": "linear", "planned": 4}
    errors = (("mine", 2, 8.5), ("mpu", 4, 9.5), ("dcd", 4, 10.5))
    made = summaries(
        named | {"solver": solver, "count": count, "test_error_percent_mean": e} for solver, count, e in errors
    )
    text = export._text(made, "md", export.Shape(bold_best=True))
    assert "| 8.50 (2 of 4 runs) |" in text
    assert "| **9.50** |" in text
