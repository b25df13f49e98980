import json
from pathlib import Path

import pytest

from mpu_bench.config.drawings import Drawing
from mpu_bench.errors import ConfigError, StoreError
from mpu_bench.report import figures, figures_along
from mpu_bench.verdict.rank_tests import critical_difference
from oracles import made_up
from records import summaries


def row(dataset, solver, n=1000, budget=None, parameters=None, **means):
    named = {"dataset": dataset, "solver": solver, "n": n, "budget_vectors": budget, "kernel": "linear"}
    return (
        named | {"parameters": json.dumps(parameters or {})} | {f"{name}_mean": value for name, value in means.items()}
    )


def band(dataset, solver, presented, budget=None, **means):
    return row(dataset, solver, budget=budget, **means) | {"presented": presented}


def make(name, rows, curves, *against):
    return figures.make(name, summaries(rows), summaries(curves), *against)


def drawn(rows, curves, *drawings, **options):
    return figures.figures(summaries(rows), summaries(curves), *drawings, **options)


def axes(curves):
    return figures_along.axes(summaries(curves))


CURVES = [
    band(dataset, solver, 10**k, kernel_evaluations=float(10**k), train_seconds=0.1 * k, passes=k, inner_products=0,
         test_error=worse + 1 / k, suboptimality=10.0**-k)
    for dataset in ("adult", "web") for solver, worse in (("sbp", 0.1), ("sdca", 0.2)) for k in range(1, 6)
]  # fmt: skip


def test_a_curve_may_be_drawn_against_every_axis_on_which_all_solvers_are_counted():
    assert axes(CURVES) == ["kernel_evaluations", "train_seconds", "passes"]
    uncounted = [*CURVES, band("adult", "liblinear", 1, train_seconds=1.0, passes=1, test_error=0.2)]
    assert axes(uncounted) == ["train_seconds", "passes"]


def test_a_figure_that_is_not_against_the_axis_that_is_asked_for_says_so():
    figure = figures.meant_by(Drawing(draw="test-error", against="inner_products"), [], summaries(CURVES))
    assert figure.panels[0].x_label == "kernel evaluations"
    assert "not against inner products, which not all these solvers count" in figure.remarks()[0]
    shown = figures.versions(make("test-error", [], CURVES, "train_seconds"), [], summaries(CURVES))
    assert [*shown] == ["kernel evaluations", "training seconds", "passes"]
    assert not any(version.note for version in shown.values())


def test_curves_have_a_panel_per_dataset_and_a_series_per_solver():
    figure = make("test-error", [], CURVES)
    assert [panel.title for panel in figure.panels] == ["adult", "web"]
    assert [each.label for each in figure.panels[0].series] == ["sbp", "sdca"]
    assert figure.panels[0].series[0].y[0] == pytest.approx(110)
    against = make("test-error", [], CURVES, "train_seconds").panels[0]
    assert against.x_label == "training seconds"
    assert against.series[0].x == pytest.approx((0.1, 0.2, 0.3, 0.4, 0.5))
    assert make("objective", [], CURVES).panels[0].y_log


def test_published_numbers_stand_beside_the_measured():
    rows = [
        row("usps", "bpegasos", budget=size, parameters={"maintenance": "merging", "vectors": size}, test_error=0.1)
        | {"published_test_accuracy_percent": accuracy}
        for size, accuracy in ((100, 92.0), (500, 93.9))
    ]
    rows.append(row("usps", "perceptron", test_error=0.05))
    panel = make("budget", rows, []).panels[0]
    found = {each.label: each for each in panel.series}
    assert found["bpegasos, reported"].y == pytest.approx((8.0, 6.1))
    assert found["perceptron"].x == (100, 500)  # no budget: the same at every size


def test_seconds_against_length_need_several_lengths():
    alike = {"train_seconds": 1.0}
    assert make("length", [row("a", "fw", 10, **alike), row("b", "mfw", 20, **alike)], []) is None
    figure = make("length", [row(f"w{n}a", "fw", n, **alike) for n in (20, 10, 40)], [])
    assert figure.panels[0].series[0].x == (10, 20, 40)


@pytest.fixture
def results(tmp_path):
    return made_up.results(tmp_path)


def test_plot_writes_svg_pdf_and_png_that_repeat_byte_for_byte(results):
    written = figures.plot(results, None, None, None)
    assert [path.name for path in written] == ["test-error.svg", "test-error.pdf", "test-error.png"]
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in figures.plot(results, "test-error", None, None)] == before
    assert "kernel evaluations" in written[0].read_text()
    assert not [path for path in written[0].parent.iterdir() if path not in written]


def test_wrong_names_are_refused_with_the_nearest(results, tmp_path):
    with pytest.raises(ConfigError, match="test-error"):
        figures.plot(results, "test-errors", None, None)
    with pytest.raises(ConfigError, match="train_seconds"):
        figures.plot(results, None, "seconds", None)
    with pytest.raises(ConfigError, match="svg"):
        figures.plot(results, None, None, None, ["svgs"])
    with pytest.raises(StoreError, match="does not fit the figure 'budget', which needs 2 budgets or more; draw"):
        figures.plot(results, "budget", None, tmp_path)


SERIES = [
    row(f"w{k}a", solver, n, parameters={"C": 2 + k % 2}, train_seconds=seconds * n, support_vectors=10.0 * n,
        test_accuracy_percent=accuracy + k)
    | {"d": 300, "published_train_seconds": 2 * seconds * n}
    for k, n in enumerate((100, 200, 400), start=1)
    for solver, seconds, accuracy in (("cvm", 0.01 * n, 90.0), ("fw", 0.001, 80.0), ("mfw", 0.002, 85.0))
]  # fmt: skip


def test_a_series_of_datasets_has_a_panel_of_its_own():
    others = [row(name, "fw", 50, train_seconds=1.0) | {"d": 20} for name in ("letter", "usps")]
    panel = make("length", SERIES + others, []).panels
    assert [each.title for each in panel] == ["w1a to w3a"]
    assert [each.label for each in panel[0].series] == [
        "cvm",
        "cvm, reported",
        "fw",
        "fw, reported",
        "mfw",
        "mfw, reported",
    ]


def test_scaling_has_a_row_for_each_quantity_and_a_column_for_each_series():
    figure = make("scaling", SERIES, [])
    assert [panel.y_label for panel in figure.panels] == [
        "test accuracy, %", "speed-up over cvm", "training seconds", "support vectors",
    ]  # fmt: skip
    assert figure.columns == 1
    assert not figure.panels[0].y_log
    other = [each | {"d": 20, "dataset": f"a{each['n']}"} for each in SERIES]
    assert make("scaling", SERIES + other, []).columns == 2


def test_bars_of_speed_ups_stand_on_one():
    accuracy, speed_up = make("speed-up-bars", SERIES, []).panels
    assert (accuracy.note, accuracy.limits[0]) == ("axis from 70", 70)
    assert speed_up.levels[0].y == 1
    assert [each.label for each in speed_up.series if not each.published] == ["fw", "mfw"]
    assert speed_up.series[0].y == pytest.approx((1000, 2000, 4000))


def test_a_sweep_over_many_settings_has_no_bars():
    """39 bars of a dataset, in colours of which each is there several times, tell nothing."""

    def swept(count):
        return [row(data, solver, parameters={"C": c}, test_accuracy_percent=90.0, train_seconds=1.0)
                for data in "abc" for solver in ("fw", "mfw") for c in range(1, count + 1)]  # fmt: skip

    assert len(make("bars", swept(8), []).panels[0].series) == 16
    assert make("bars", swept(9), []) is None
    assert figures.FIGURES["bars"].needs.endswith("in 16 settings at most")
    assert make("parameter", swept(9), []) is not None


def test_bars_stand_beside_the_best_constant_where_the_axis_shows_it():
    constants = {"w1a": 0.03, "w2a": 0.25, "w3a": 0.9}
    rows = [each | {"constant_error_mean": constants[each["dataset"]]} for each in SERIES]
    accuracy = make("bars", rows, []).panels[0]
    assert [(level.category, level.y) for level in accuracy.levels] == [(0, pytest.approx(97)), (1, pytest.approx(75))]
    assert make("bars", SERIES, []).panels[0].levels == ()


def test_an_online_algorithm_sees_examples_again_after_its_first_pass():
    counted = [each | {"passes_mean": 2.0 ** (k - 8), "online_error_mean": 0.1}
               for k, each in enumerate(long_way_down("perceptron", 0.1))]  # fmt: skip
    others = [each | {"passes_mean": 2.0 ** (k - 8)} for k, each in enumerate(long_way_down("sdca", 0.13))]
    series = make("test-error", [], counted + others).panels[0].series
    assert [(each.label, each.again) for each in series] == [("perceptron", 8), ("sdca", 0)]
    once = make("test-error", [], counted[:9] + others).panels[0].series
    assert once[0].again == 0


def long_way_down(solver, end, **more):
    """Return a curve that stays at 50% for long and then falls."""
    falls = [0.5] * 8 + [0.3, 0.2, end + 0.01, end]
    return [
        band("adult", solver, 2**k, kernel_evaluations=2.0**k, test_error=error, count=1, **more)
        for k, error in enumerate(falls)
    ]


def test_a_long_way_down_does_not_flatten_the_rest_and_is_said():
    curves = long_way_down("sbp", 0.10) + long_way_down("sdca", 0.13)
    rows = [
        row("adult", name, constant_error=0.24, test_error=error) | {"count": 1}
        for name, error in (("sbp", 0.1), ("sdca", 0.13), ("kernel-optimum", 0.09))
    ]
    (panel,) = make("test-error", rows, curves).panels
    low, high = panel.limits
    assert 0 <= low < 9
    assert 13 < high < 35
    assert panel.note == "↑ to 50"
    assert panel.entry == 2.0**7  # the point before the first that is shown
    assert [(each.label, each.y) for each in panel.levels] == [
        ("optimum", pytest.approx(9)), ("best constant", pytest.approx(24)),
    ]  # fmt: skip
    (turned,) = make("test-accuracy", rows, curves).panels
    assert turned.limits == pytest.approx((100 - high, 100 - low))
    assert turned.note == "↓ from 50"
    assert turned.levels[1].y == pytest.approx(76)
    alike = make("test-error", [], [*long_way_down("sbp", 0.1), *long_way_down("sdca", 0.1)]).panels[0]
    assert alike.limits[1] - alike.limits[0] > 1  # equal ends do not fill the panel


def test_a_curve_ends_where_its_runs_end_though_no_two_end_at_one_checkpoint():
    rows = [
        row("adult", "sbp", kernel_evaluations=1e6, examples=1e6, test_error=0.05) | {"count": 3},
        row("adult", "sdca", kernel_evaluations=1e5, examples=1e5, test_error=0.2 + 1 / 5) | {"count": 1},
        row("adult", "libsvm", kernel_evaluations=2e5, examples=2e5, test_error=0.3) | {"count": 3},
        row("adult", "rff", examples=0.0) | {"count": 0},
    ]
    curves = [
        point | {"count": 3 if point["solver"] == "sbp" else 1} for point in CURVES if point["dataset"] == "adult"
    ]
    curves += [band("adult", "libsvm", n, kernel_evaluations=n, test_error=0.1, count=1) for n in (1e5, 2e5, 3e5)]
    (panel,) = make("test-error", rows, [each | {"count": each.get("count", 1)} for each in curves]).panels
    found = {each.label: each for each in panel.series}
    assert (found["sbp"].x[-1], found["sbp"].y[-1]) == (1e6, pytest.approx(5))
    assert len(found["sbp"].x) == 6
    assert len(found["sdca"].x) == 5  # its last point is its end
    assert (found["libsvm"].x, found["libsvm"].y) == ((2e5,), (pytest.approx(30),))  # of three runs, an end each


def test_bands_say_of_how_many_runs_and_stay_between_0_and_100_percent():
    curves = [each | {"test_error_std": 0.95, "count": 7} for each in long_way_down("sbp", 0.1)]
    series = make("test-error", [], curves + long_way_down("sdca", 0.1)).panels[0].series[0]
    assert series.runs == 7
    assert (min(series.low), max(series.high)) == (0, 100)


def test_a_config_names_the_figures_that_are_drawn():
    drawings = [Drawing(draw="test-error", against="passes", datasets=["web"], of="Figure 9")]
    (figure,) = drawn([], CURVES, drawings)
    assert figure.caption == "Figure 9: test error against passes"
    assert [panel.title for panel in figure.panels] == ["web"]
    assert figure.panels[0].x_label == "passes"
    every = drawn([], CURVES, drawings, every=True)
    assert [each.name for each in every] == ["test-error", "objective"]
    elsewhere = [Drawing(draw="test-error", datasets=["elsewhere"])]
    assert [each.name for each in drawn([], CURVES, elsewhere)] == ["test-error", "objective"]


@pytest.mark.baseline
@pytest.mark.parametrize(
    ("experiment", "names", "x_label"),
    [
        ("sbp-figure2", ["test-error"], "kernel evaluations"),
        ("bpegasos-figure1", ["test-accuracy"], "examples seen"),
    ],
)
def test_kept_results_are_drawn_as_their_papers_print_them(experiment, names, x_label):
    drawn = figures.figures_of(Path(__file__).parents[2] / "results" / "baseline" / f"{experiment}-ci")
    assert [each.name for each in drawn] == names
    assert drawn[0].panels[0].x_label == x_label
    assert drawn[0].caption.startswith("Figure")


def test_speed_up_is_over_the_first_solver():
    panel = make("speed-up", SERIES, []).panels[0]
    found = {each.label: each.y for each in panel.series}
    assert found["fw"] == pytest.approx((1000, 2000, 4000))
    assert found["mfw"] == pytest.approx((500, 1000, 2000))
    assert found["fw, reported"] == pytest.approx(found["fw"])
    assert panel.y_label == "speed-up over cvm"
    assert make("length-vectors", SERIES, []).panels[0].series[0].y == (1000, 2000, 4000)


def test_accuracy_and_seconds_against_a_parameter():
    rows = [
        row("shuttle", solver, parameters={"C": C, "eps": 1e-6}, test_accuracy_percent=90.0 + C, train_seconds=1 / C)
        for solver in ("cvm", "fw") for C in (4, 1, 2)
    ]  # fmt: skip
    figure = make("parameter", rows, [])
    assert [panel.y_label for panel in figure.panels] == ["test accuracy, %", "training seconds"]
    assert [(each.label, each.x, each.y) for each in figure.panels[0].series] == [
        ("cvm", (1, 2, 4), (91, 92, 94)), ("fw", (1, 2, 4), (91, 92, 94)),
    ]  # fmt: skip
    assert make("parameter", SERIES, []) is None


def test_average_ranks_with_the_critical_difference():
    timed = [each | {"comparable_seconds_mean": each["train_seconds_mean"]} for each in SERIES]
    seconds, accuracy = make("ranks", timed, []).panels
    assert seconds.title == "seconds, Friedman p = 0.028"  # 1 / (3! 3!): all three datasets rank alike
    ranks = {each.label: each.x[1] for each in seconds.series}
    assert ranks == {"fw": 1, "mfw": 2, "cvm": 3}
    assert seconds.names == ("fw", "mfw", "cvm")
    assert {each.label: each.x[1] for each in accuracy.series} == {"cvm": 1, "mfw": 2, "fw": 3}
    low, _, high = seconds.series[0].x
    assert high - low == pytest.approx(critical_difference(3, 3))
    assert seconds.critical_difference == pytest.approx(critical_difference(3, 3))
    assert seconds.groups == ((0, 1), (1, 2))  # 2 - 1 is less than the 1.91 of three datasets, 3 - 1 is more
    assert make("ranks", SERIES + SERIES, []) is None  # which of the rows is a solver's is not said
    assert [panel.title[:8] for panel in make("ranks", SERIES, []).panels] == ["accuracy"]


def test_budgets_and_parameters_are_ranked_apart_on_two_datasets_or_more():
    kinds = [(None, "none"), (100, "merging"), (100, "removal"), (500, "merging")]
    rows = [
        row(name, "bpegasos", budget=budget, parameters={"maintenance": kind}, test_accuracy_percent=90.0 + place)
        for name in ("usps", "letter") for place, (budget, kind) in enumerate(kinds)
    ]  # fmt: skip
    (panel,) = make("ranks", rows, []).panels
    best = ("bpegasos merging B=500", "bpegasos removal B=100", "bpegasos merging B=100", "bpegasos none")
    assert panel.names == best
    assert make("ranks", rows[:4], []) is None


def test_a_kernel_is_named_where_nothing_else_tells_rows_apart():
    rows = [
        row("letter", "bpegasos", budget=size, parameters={"vectors": size}, test_error=0.1 * k) | {"kernel": kernel}
        for size in (100, 500) for k, kernel in enumerate(("gaussian(gamma=1)", "gaussian(gamma=4)"), start=1)
    ]  # fmt: skip
    (panel,) = make("budget", rows, []).panels
    labels = [each.label for each in panel.series]
    assert labels == ["bpegasos gaussian(gamma=1)", "bpegasos gaussian(gamma=4)"]
    assert [each.x for each in panel.series] == [(100, 500)] * 2
    for each, number in zip(rows, (1, 2, 1, 2), strict=True):
        each["parameters"] = json.dumps({"vectors": each["budget_vectors"], "C": number})
    assert [each.label for each in make("budget", rows, []).panels[0].series] == ["bpegasos C=1", "bpegasos C=2"]


def test_a_parameter_is_named_on_the_datasets_on_which_it_varies():
    def curve(dataset, C):
        return [each | {"parameters": json.dumps({"C": C})} for each in CURVES if each["dataset"] == dataset]

    others = [
        each | {"dataset": f"more{k}", "parameters": json.dumps({"C": 10 + k})} for k in range(3) for each in CURVES
    ]
    figure = make("test-error", [], [*curve("adult", 1), *curve("web", 2), *curve("web", 3), *others])
    names = {panel.title: [each.label for each in panel.series] for panel in figure.panels}
    assert names["adult"] == ["sbp", "sdca"]
    assert names["web"] == ["sbp C=2", "sdca C=2", "sbp C=3", "sdca C=3"]


def test_ranks_of_too_many_to_be_read_are_not_drawn():
    rows = [
        row(name, "fw", parameters={"C": C}, test_accuracy_percent=90.0 + C) for name in "abc" for C in range(20)
    ]  # fmt: skip
    assert make("ranks", rows, []) is None
    assert make("ranks", [each for each in rows if json.loads(each["parameters"])["C"] < 16], []) is not None


def test_ranks_leave_out_who_was_not_measured_on_most_datasets():
    rows = [
        row(name, solver, test_accuracy_percent=90.0 + place)
        for name in "abcdef" for place, solver in enumerate(("fw", "mfw", "cvm", "late"))
        if solver != "late" or name in "ab"
    ]  # fmt: skip
    (panel,) = make("ranks", rows, []).panels
    assert panel.names == ("cvm", "mfw", "fw")
    assert panel.x_label == "average rank over 6 datasets (1 is best)"


def test_names_in_figures_are_words(tmp_path):
    odd = [row | {"dataset": r"$\frac$ <b> \x1b[31m http://a:b@c", "solver": "$x$"} for row in CURVES]
    figure = make("test-error", [], odd)
    assert figure.panels[0].title == r"$\frac$ <b> \x1b[31m http://c".replace("\x1b", r"\x1b")
    drawn = {f"{figure.name}.{form}": content for form, content in figures.drawn(figure, figures.FORMS).items()}
    svg = drawn["test-error.svg"].decode()
    assert r"$\frac$ &lt;b&gt;" in svg
    assert "\x1b" not in svg


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        figures.plot(made_up.results(tmp_path), "test-error", None, tmp_path / "file" / "below")


def test_an_axis_that_no_figure_can_have_is_not_replaced_in_silence(tmp_path):
    results = made_up.results(tmp_path)
    with pytest.raises(StoreError, match="has no figure against inner_products: it needs curves of solvers that all"):
        figures.plot(results, "test-error", "inner_products", None)
    assert not (results / "figures").exists()


def on(rows, **machines):
    """Say of rows of which machine their seconds are, by solver or dataset; "here" where none is named."""
    names = [machines.get(row["solver"]) or machines.get(row["dataset"]) or "here" for row in rows]
    return [
        row | {"runs": [{"split": "", "seed": 0, "made_on": name, "train_seconds": 1.0, "comparable_seconds": 1.0}]}
        for row, name in zip(rows, names, strict=True)
    ]


def test_curves_are_not_drawn_against_seconds_of_two_machines():
    assert axes(on(CURVES)) == axes(CURVES)
    assert axes(on(CURVES, web="there")) == axes(CURVES)
    assert axes(on(CURVES, sbp="there")) == ["kernel_evaluations", "passes"]


def test_seconds_of_two_machines_are_in_no_figure():
    timed = [each | {"comparable_seconds_mean": each["train_seconds_mean"]} for each in SERIES]
    assert make("length", on(timed, cvm="there"), []) is None
    assert make("length", on(timed, w1a="there"), []) is None
    assert make("length-vectors", on(timed, w1a="there"), []) is not None
    assert make("speed-up", on(timed, w1a="there"), []) is not None
    assert make("speed-up", on(timed, cvm="there"), []) is None
    for name in ("ranks", "bars"):
        titles = [panel.title for panel in make(name, on(timed, cvm="there"), []).panels]
        assert [title.partition(",")[0] for title in titles] == ["accuracy"]
        assert len(make(name, on(timed, w1a="there"), []).panels) == 2


def test_a_parameter_has_no_panel_of_seconds_of_two_machines():
    rows = [
        row("shuttle", solver, parameters={"C": C}, test_accuracy_percent=90.0 + C, train_seconds=1 / C)
        for solver in ("cvm", "fw") for C in (4, 1, 2)
    ]  # fmt: skip
    assert len(make("parameter", on(rows), []).panels) == 2
    (panel,) = make("parameter", on(rows, fw="there"), []).panels
    assert panel.y_label == "test accuracy, %"


def test_a_speed_up_is_not_of_disturbed_seconds():
    def rows(**measured):
        return [each | (measured if each["solver"] == "fw" else {}) for each in SERIES]

    def speed_ups(rows):
        figure = make("speed-up", rows, [])
        return {each.label: each.y for each in figure.panels[0].series} if figure else {}

    assert "fw" in speed_ups(rows(disturbed=0))
    assert "fw" not in speed_ups(rows(disturbed=1))
    counted = [each | {"comparable_seconds_mean": each["train_seconds_mean"] / 2} for each in rows(disturbed=1)]
    assert speed_ups(counted)["fw"] == pytest.approx((1000, 2000, 4000))


def test_runs_that_differ_in_what_was_tuned_have_curves_of_their_own():
    mine = [each for each in CURVES if each["solver"] == "sbp"]
    curves = [each | {"tuned": tuned} for tuned in ("C of 1", "C of 10") for each in mine]
    panel = make("test-error", [], curves).panels[0]
    assert [each.label for each in panel.series] == ["sbp (C of 1)", "sbp (C of 10)"]
    assert [len(set(each.x)) for each in panel.series] == [5, 5]


def test_figures_of_seconds_say_how_many_runs_were_disturbed():
    """Whichever axis the seconds are on; others are silent."""
    runs = [{"threads": 1, "train_seconds": 1.0, "disturbed": "waited" * seed} for seed in (0, 0, 1)]
    remark = "† seconds of 4 of 12 runs were disturbed"
    curves = [each | {"runs": shared} for each in CURVES for shared in [runs]]
    assert remark in make("test-error", [], curves, "train_seconds").remarks()
    assert "†" not in "".join(make("test-error", [], curves, "passes").remarks())
    assert remark in make("seconds", [], curves).remarks()
    timed = [each | {"runs": runs} for each in SERIES[:8]]
    for name, count in (("length", 8), ("scaling", 8), ("bars", 8)):
        assert f"† seconds of {count} of {3 * count} runs were disturbed" in make(name, timed, []).remarks()
    assert make("length-vectors", timed, []).remarks() == []
    swept = [row("a", s, parameters={"C": c}, test_accuracy_percent=80.0, train_seconds=1.0) | {"runs": runs}
             for s in ("mpu", "dcd") for c in (1, 2, 4)]  # fmt: skip
    assert "† seconds of 6 of 18 runs were disturbed" in make("parameter", swept, []).remarks()


def test_what_a_figure_leaves_out_is_said():
    rows = [
        row("a", name, budget=size, test_error=0.1) | {"count": count, "planned": 5}
        for name, size, count in (("bpa-s", 10, 5), ("bpa-s", 20, 5), ("forgetron", 10, 5), ("forgetron", 20, 3))
    ]
    assert make("budget", rows, []).remarks() == ["left out of means: runs without a result (of forgetron)"]
    ends = [row("adult", name, test_error=0.1) | {"count": 1, "planned": 2} for name in ("sbp", "sdca")]
    assert make("test-error", ends, CURVES).remarks()[1:] == ["left out of means: runs without a result (of sbp, sdca)"]
    reached = [each | {"suboptimality_mean": each["suboptimality_mean"] - 1e-3} for each in CURVES]
    assert make("objective", [], reached).remarks() == [
        "points at or below 0, which a logarithmic axis has no room for: 12"
    ]


def test_no_two_settings_share_a_series():
    """Neither values of C, nor kernels, nor a parameter that only one of them has."""
    swept = [row(f"w{n}", "dcd", n, parameters={"C": c}, test_accuracy_percent=80.0 + c, train_seconds=1.0 * c)
             for n in (10, 20, 40) for c in (1, 10)]  # fmt: skip
    swept += [row(f"w{n}", "mpu", n, test_accuracy_percent=90.0, train_seconds=1.0) for n in (10, 20, 40)]
    for name in ("bars", "length"):
        found = {each.label: each.y for each in make(name, swept, []).panels[-1].series}
        assert found == {"dcd C=1": (1, 1, 1), "dcd C=10": (10, 10, 10), "mpu": (1, 1, 1)}
    kernels = [row("a", "smo", parameters={"C": c}, test_accuracy_percent=80.0 + c, train_seconds=1.0)
               | {"kernel": kernel}
               for c in (0, 2, 4) for kernel in ("linear", "polynomial")]  # fmt: skip
    (panel,) = make("parameter", kernels, []).panels[:1]
    assert [(each.label, each.x) for each in panel.series] == [("smo linear", (0, 2, 4)), ("smo polynomial", (0, 2, 4))]
    assert not panel.x_log  # which has no 0
    weighted = [row("a", "bpa-s", budget=size, parameters=parameters, test_error=0.1)
                for size in (10, 20) for parameters in ({}, {"average": None}, {"class_weight": "even"})]  # fmt: skip
    assert [each.label for each in make("budget", weighted, []).panels[0].series] == ["bpa-s", "bpa-s even"]


def test_a_solver_without_value_on_some_datasets_is_said_to_have_no_rank():
    rows = [row(name, solver, comparable_seconds=1.0, test_accuracy_percent=80.0 + index)
            for name in "abcdef" for index, solver in enumerate(("mpu", "dcd", "fw"))]  # fmt: skip
    rows += [row(name, "cvm", test_accuracy_percent=99.0) for name in "abc"]
    figure = make("ranks", rows, [])
    assert [sorted(panel.names) for panel in figure.panels] == [["dcd", "fw", "mpu"]] * 2
    assert "; without value on some datasets, and in no rank of accuracy: cvm" in figure.note
    assert "of seconds" not in figure.note


def test_a_tuned_budget_is_no_point_of_a_curve_of_budgets():
    """Its runs have no budget of their own: neither at 0, nor at all of them."""
    given = [row("a", "forgetron", budget=budget, test_error=error) for budget, error in ((10, 0.3), (20, 0.2))]
    tuned = row("a", "forgetron", test_error=0.1) | {"tuned": "vectors of 10, 20"}
    unlimited = row("a", "smo", test_error=0.1)
    for rows in ([*given, tuned, unlimited], [tuned, *given, unlimited]):
        figure = make("budget", rows, [])
        assert [(each.label, each.x) for each in figure.panels[0].series] == [
            ("forgetron", (10.0, 20.0)), ("smo", (10.0, 20.0)),
        ]  # fmt: skip
        assert figure.note == "not drawn, for its budget was tuned: forgetron"


def test_a_solver_without_a_budget_is_no_point_of_its_curve_of_budgets():
    """Projectron++ runs with a budget and without one: neither hides the other, and no budget is none of 0."""
    sizes = ((None, 0.1), (10, 0.3), (20, 0.2))
    rows = [row("a", "projectron++", budget=size, test_error=error) for size, error in sizes]
    for ordered in (rows, rows[::-1]):
        (panel,) = make("budget", ordered, []).panels
        assert {each.label: (each.x, each.y) for each in panel.series} == {
            "projectron++": ((10.0, 20.0), pytest.approx((30.0, 20.0))),
            "projectron++ without a budget": ((10.0, 20.0), pytest.approx((10.0, 10.0))),
        }


def test_the_budget_of_a_panel_is_that_of_its_dataset():
    def curves(dataset, solver, budget):
        return [band(dataset, solver, n, budget, passes=n, test_error=0.3 / n) for n in range(1, 7)]

    titles = [
        [panel.title for panel in make("test-error", [], curves("a", "forgetron", 50) + other).panels]
        for other in (curves("b", "pegasos", None), curves("b", "forgetron", 100))
    ]
    assert titles == [["a, B = 50", "b"], ["a, B = 50", "b, B = 100"]]


def test_ranks_say_which_means_leave_out_runs():
    rows = [row(dataset, solver, test_accuracy_percent=90.0) for dataset in "abc" for solver in ("mpu", "dcd", "smo")]
    figure = make("ranks", [rows[0] | {"planned": 3}, *rows[1:]], [])
    assert "left out of means: runs without a result (of mpu)" in figure.remarks()
