from __future__ import annotations

import pytest

from mpu_bench import resources
from mpu_bench.config.drawings import AXES, KINDS
from mpu_bench.config.read import read_config
from mpu_bench.errors import ConfigError
from mpu_bench.quantities import DECLARED

HEAD = "name: mine\ndatasets: [adult, web]\nsolvers: [mpu, dcd]\n"


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ("[{draw: test-errors}]", "figures.draw: must be"),
        ("[{draw: gap, against: seconds}]", "figures.against: must be"),
        ("[{draw: ranks, against: passes}]", "only curves"),
        ("[{draw: gap}, {draw: gap, datasets: [web]}]", "'gap' is drawn twice"),
        ("[{draw: gap, datasets: [adults]}]", "no dataset 'adults'.*adult"),
        ("[{draw: gap, datasets: []}]", "figures.datasets: must hold"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, figures, message):
    path = tmp_path / "mine.yaml"
    path.write_text(f"{HEAD}figures: {figures}\n")
    with pytest.raises(ConfigError, match=message) as raised:
        read_config(path, with_plugins=False)
    assert "line 4" in str(raised.value)


def test_the_configs_of_papers_name_their_figures():
    printed = {}
    for name in resources.config_names():
        experiment = read_config(resources.config_path(name), with_plugins=False)
        assert experiment.figures or experiment.paper is None or name == "bpegasos-widths"
        printed |= {(experiment.paper, each.of): each.draw for each in experiment.figures if each.of}
    assert printed == {
        ("forgetron-2005", "Figure 2, left"): "online-budget",
        ("forgetron-2005", "Figure 2, right"): "online-budget",
        ("bpegasos-2010", "Figure 1"): "test-accuracy",
        ("bpegasos-2010", "Figure 2"): "test-accuracy",
        ("bpegasos-2010", "Figure 3"): "seconds",
        ("sbp-2012", "Figure 2"): "test-error",
        ("sbp-2012", "Figure 3"): "test-error",
        ("frank-wolfe-2012", "Figures 3 and 4"): "scaling",
        ("frank-wolfe-2012", "Figures 5 and 6"): "speed-up-bars",
        ("frank-wolfe-2012", "Figures 7 and 8"): "parameter",
    }


def test_axes_are_quantities_and_kinds_are_told_apart():
    assert set(AXES) <= DECLARED.keys()
    assert len(set(KINDS)) == len(KINDS)
