"""A release has one version and one date, wherever they are named, and a changelog that is read in minutes."""

import re
import tomllib

import yaml

import mpu_bench
from documentation import ROOT


def text(name):
    return (ROOT / name).read_text("utf-8")


def test_one_version_and_one_date():
    cited = yaml.safe_load(text("CITATION.cff"))
    version, date = re.findall(r"^## (\d\S*) - (\S+)$", text("CHANGELOG.md"), re.MULTILINE)[0]
    assert version == mpu_bench.__version__ == tomllib.loads(text("pyproject.toml"))["project"]["version"]
    assert (str(cited["version"]), str(cited["date-released"])) == (version, date)


def test_what_is_new_is_told_in_800_words():
    unreleased, latest = re.split(r"^## ", text("CHANGELOG.md"), flags=re.MULTILINE)[1:3]
    assert unreleased.startswith("Unreleased\n")
    assert max(len(unreleased.split()), len(latest.split())) <= 800
