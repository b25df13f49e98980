from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mpu_bench import resources
from mpu_bench.config.read import read_without_plugins
from mpu_bench.report import style
from mpu_bench.solvers import OWN

_FIXED = sorted({*OWN, *(f"bpegasos {word}" for word in ("merging", "projection", "smallest", "random"))})


def test_every_solver_of_the_project_has_a_style_of_its_own() -> None:
    assert len({style.number_of(name) for name in _FIXED}) == len(_FIXED)
    assert len({style.of(style.number_of(name)) for name in _FIXED}) == len(_FIXED)
    assert style.name_of("bpegasos", {"vectors": 100, "maintenance": "merging"}) == "bpegasos merging"
    assert style.name_of("mpu", {"loss": "merging"}) == "mpu"


def test_solvers_of_one_config_differ_in_colour_and_in_dashes_or_marker() -> None:
    for config in resources.config_names():
        choices = read_without_plugins(resources.config_path(config)).solvers
        names = {style.name_of(choice.name, choice.parameters) for choice in choices}
        looks = [style.of(style.number_of(name)) for name in names]
        assert len({look.colour for look in looks}) == len(names), config
        assert len({look.marker for look in looks}) == len(names), config  # in grey


@given(st.lists(st.sampled_from([*_FIXED, "mine", "yours", "a third"]), min_size=1, max_size=24))
def test_styles_are_distinct_within_a_figure(names: list[str]) -> None:
    labels = {f"{name} {place}": name for place, name in enumerate(names)}
    looks = {label: style.of(number) for label, number in style.numbers(labels).items()}
    for name in _FIXED:
        of_solver = [looks[label] for label in labels if labels[label] == name]
        assert len(set(of_solver)) == len(of_solver)
        assert len({look.colour for look in of_solver[: len(style.MARKERS)]}) <= 1
    solvers = dict.fromkeys(names)
    first = [style.of(style.numbers({name: name for name in solvers})[name]) for name in solvers]
    assert len({look.colour for look in first}) == min(len(first), len(style.COLOURS))
    assert all(len(of) == len(set(of)) for of in [[(look.marker, look.dashes, look.colour) for look in first]])


def test_a_solver_keeps_its_colour_where_no_other_has_it() -> None:
    for names in (["mpu", "dcd", "sdca"], ["fw", "mfw", "cvm", "perceptron"]):
        assert style.numbers({name: name for name in names}) == {name: style.number_of(name) for name in names}


def test_no_solver_is_dotted_for_dots_are_what_is_after_the_first_pass() -> None:
    assert all(max(dashes[::2]) > 2 for dashes in style.DASHES[1:])


def test_a_solver_of_a_user_takes_a_free_colour() -> None:
    for own in map(str, range(30)):
        numbers = style.numbers({name: name for name in ("mpu", "dcd", "svmperf", "pegasos", own)})
        colours = {style.of(number).colour for number in numbers.values()}
        assert len(colours) == 5


def test_colours_are_dark_enough_on_white_and_light_enough_on_black() -> None:
    for colours, background in ((style.COLOURS, 1.0), (style.DARK_COLOURS, 0.01)):
        for colour in colours:
            low, high = sorted([_luminance(colour), background])
            assert (high + 0.05) / (low + 0.05) > 4.5, colour


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(
        itertools.starmap(lambda weight, part: weight * part, zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    )
