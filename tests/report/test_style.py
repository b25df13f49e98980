from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpu_bench import resources
from mpu_bench.config.read import read_config
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
        choices = read_config(resources.config_path(config), with_plugins=False).solvers
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


def test_many_series_of_two_solvers_are_distinct() -> None:
    """As of a sweep: where free colours are left, none has the colour and the dashes of another solver's."""
    labels = {f"{solver} C={value}": solver for solver in ("dcd", "mpu") for value in range(28)}
    assert len(set(style.numbers(labels).values())) == len(labels)


@given(st.lists(st.sampled_from([*_FIXED, "mine", "yours"]), min_size=7, max_size=8, unique=True))
def test_seven_solvers_differ_in_colour_and_in_dashes_and_in_marker(names: list[str]) -> None:
    looks = [style.of(number) for number in style.numbers({name: name for name in names}).values()]
    for of_each in zip(*looks, strict=True):
        assert len(set(of_each)) == len(names)


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
    return float(_linear(colour) @ _XYZ[1])


def _linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


#: what eyes without medium, or without long, cones see of linear red, green and blue (Machado et al., 2009)
_EYES = (
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
)
_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


@pytest.mark.parametrize("colours", [style.COLOURS, style.DARK_COLOURS])
@pytest.mark.parametrize("eyes", _EYES)
def test_eyes_that_are_colour_blind_tell_all_colours_apart(eyes: tuple[Any, ...], colours: tuple[str, ...]) -> None:
    """A difference of 2.3 in CIELAB can just be seen."""
    seen = [_lab(np.clip(np.array(eyes) @ _linear(colour), 0, 1)) for colour in colours]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 15


def _lab(linear: np.ndarray) -> np.ndarray:
    scaled = np.array(_XYZ) @ linear / (0.9505, 1.0, 1.089)
    roots = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])
