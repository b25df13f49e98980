"""What holds for every verb: help, completion, mistakes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from command_line import COMMAND, environment
from mpu_bench.cli.app import app, call


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "absent.yaml"], "absent.yaml: no such config file"),
        (["run", "tried.yaml", "--set", "solvers.dcd.C=-1"], "--set solvers.dcd.C=-1: must be greater than 0"),
        (["run", "tried.yaml", "--profile", "ci"], "no profile 'ci'"),
        (["run", "tried.yaml", "--only", "solver=svm"], "no run has solver 'svm'"),
        (["run", "quickstart", "--only", "solver=mpu", "--only", "solver=dcd"], "give --only solver=A,B"),
        (["list", "solver"], "'solver' is not one of 'solvers'"),
        (["export", "results/tried", "--to", "xls"], "--to xls: choose from csv"),
        (["show", "results/absent"], "holds no results"),
        (["clean", "."], "holds no results"),
        (["data", "info", "adlut"], "did you mean 'adult'?"),
        (["data", "verify", "adult"], "a9a"),
        (["frobnicate"], "No such command"),
        (["run"], "Missing argument"),
        (["run", "tried.yaml", "--jobs", "0"], "--jobs"),
        (["run", "tried.yaml", "--jobs", "x"], "'x'"),
        (["run", "tried.yaml", "--repeats", "0"], "--repeats"),
        (["reproduce", "--paper", "mpu-2011"], "did you mean 'mpu-2010'?"),
        (["reproduce", "--profile", "cii"], "--profile cii: no config has it: did you mean 'ci'?"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(called, place: Path, arguments: list[str], message: str) -> None:
    code, told = called(*arguments)
    assert code == 2
    assert message in told
    assert not (place / "results").exists()


@pytest.mark.parametrize("text", ["name: x\n\tdataset: adult\n", "name: [", "\x00", "version: 7\nname: x\n"])
def test_a_broken_config_has_no_traceback(called, place: Path, text: str) -> None:
    (place / "tried.yaml").write_text(text, encoding="utf-8")
    code, told = called("run", "tried.yaml")
    assert code == 2
    assert "tried.yaml" in told


def test_help_is_instant_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom mpu_bench.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'numba', 'numpy', 'pandas', 'scipy', 'sklearn', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_are_completed(place: Path) -> None:
    asked = {"_MPU_BENCH_COMPLETE": "complete_bash", "COMP_WORDS": "mpu-bench data info ad", "COMP_CWORD": "3"}
    script = Path(sys.executable).with_name("mpu-bench")
    completed = subprocess.run(
        [script], cwd=place, capture_output=True, text=True, env=environment(**asked), check=True
    )
    assert "adult" in completed.stdout.split()


def verbs() -> list[list[str]]:
    """List every verb."""
    group = typer.main.get_command(app)
    names = []
    for name, verb in group.commands.items():  # type: ignore[attr-defined]
        names += [[name, each] for each in verb.commands] if hasattr(verb, "commands") else [[name]]
    return names


@pytest.mark.parametrize("verb", verbs(), ids=" ".join)
def test_every_verb_and_option_has_a_help(verb: list[str]) -> None:
    found = typer.main.get_command(app)
    for name in verb:
        found = found.commands[name]  # type: ignore[attr-defined]
    assert found.help
    assert all(getattr(each, "help", None) for each in found.params), [each.name for each in found.params]
    shown = CliRunner().invoke(app, [*verb, "--help"], prog_name="mpu-bench", terminal_width=78)
    assert shown.exit_code == 0
    assert "[[" not in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    words = " ".join([found.help, *(each.help for each in found.params if not each.hidden)]).split()
    assert [word for word in words if word not in shown.output.split()] == []


@pytest.mark.parametrize("group", [[], ["data"], ["new"]], ids=" ".join)
def test_lists_of_verbs_show_whole_sentences(group: list[str]) -> None:
    shown = CliRunner().invoke(app, [*group, "--help"], prog_name="mpu-bench", terminal_width=78)
    assert "..." not in shown.output.partition("Commands:")[2]
    assert max(map(len, shown.output.splitlines())) <= 80


WIDE = [
    ["list", "solvers"], ["list", "datasets"], ["list", "kernels"], ["list", "configs"], ["list", "solvers", "mpu"],
    ["info"], ["data", "info", "adult"], ["show", "results/baseline/mpu-table1"],
    ["check", "results/baseline/bpegasos-figure3"], ["check", "--all", "results/baseline/mpu-soft-margin"],
    ["compare", "results/baseline/mpu-table1", "--solvers", "mpu", "dcd"],
    ["compare", "results/baseline/mpu-table1-ci", "results/baseline/mpu-table1"],
    ["run", "sbp-table2", "--dry-run", "--offline"], ["reproduce", "--paper", "mpu-2010", "--dry-run", "--offline"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", WIDE, ids=" ".join)
def test_no_word_is_broken_on_a_terminal_of_80_columns(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    wide, narrow = (
        CliRunner().invoke(app, arguments, env={"COLUMNS": width, "TTY_COMPATIBLE": "1", "TERM": "dumb"}).output
        for width in ("1000", "80")
    )
    narrow = narrow.partition("columns left out for lack of room")[0]
    known = {word.strip(":;") for word in wide.split()}
    longest = "".join(word for word in known if len(word) > 60)  # as the path of a folder may be
    assert [word for word in narrow.split() if word.strip("─:;") not in known | {""} and word not in longest] == []
    lines = [line for line in narrow.splitlines() if " = {" not in line]  # of BibTeX
    assert max(map(len, lines)) <= 80


MISBEHAVING = Path(__file__).parents[1] / "plugins" / "misbehaving.py"
LONG = "x" * 5000


@pytest.mark.parametrize(
    "arguments",
    [
        ["\x1b[31mfoo"], ["[/red]"], ["show", "[/red]"], ["show", "--\x1b[31m"], ["list", "\x1b[2J"],
        ["show", "\udcff"], ["show", LONG],
        ["check", LONG], ["report", LONG], ["export", LONG], ["plot", LONG], ["compare", LONG, LONG],
        ["check", "--baseline", LONG], ["reproduce", "--profile", LONG], ["reproduce", "--paper", "\x1b[31m"],
        ["compare", ".", "--quantity", "\x1b[31m"], ["plot", ".", "--figure", LONG],
        ["plot", ".", "--against", "[/red]"],
        ["run", "tried.yaml", "--kernel-memory", LONG], ["run", "tried.yaml", "--jobs", "\x1b[31m"], ["run", LONG],
        ["run", "tried.yaml", "--profile", LONG], ["run", "tried.yaml", "--only", LONG], ["data", "info", "\x1b[31m"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40].encode("unicode_escape", "backslashreplace").decode(),
)  # fmt: skip
def test_whatever_is_typed_is_echoed_as_words_and_briefly(called, place: Path, arguments: list[str]) -> None:
    code, told = called(*arguments)
    assert code == 2
    assert told.count("mpu-bench: ") == 1
    assert "\x1b" not in told
    assert len(told) < 3000
    assert not (place / "results").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", [["--help"], ["list", "kernels"], ["--version"]])
def test_an_output_that_cannot_be_written_is_one_message(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "mpu-bench: the output cannot be written: No space left on device\n"


def test_an_encoding_without_the_letters_is_no_failure(place: Path) -> None:
    (place / "tried.yaml").write_text("name: tried\nversion: ±\n", encoding="utf-8")
    told = subprocess.run(
        [*COMMAND, "run", "tried.yaml"], cwd=place, capture_output=True, env=environment(PYTHONIOENCODING="ascii"),
        check=False,
    )  # fmt: skip
    assert told.returncode == 2
    assert b"Traceback" not in told.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_a_stream_that_came_closed_changes_no_exit_code(place: Path, closed: str) -> None:
    for verb, code in (("--version", 0), ("run absent.yaml", 2)):
        command = f"{shlex.join(map(str, COMMAND))} {verb} {closed}"
        done = subprocess.run(["sh", "-c", command], cwd=place, capture_output=True, env=environment(), check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), verb


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_runs_are_made_whatever_stream_came_closed(place: Path, closed: str) -> None:
    (place / "tried.yaml").write_text(
        "name: tried\ndataset: {checkerboard: {rows: 60, test_rows: 20}}\nkernel: {gaussian: {gamma: 1.0}}\n"
        "solvers: [perceptron]\nstop: {passes: 1}\n",
        encoding="utf-8",
    )
    command = f"{shlex.join(map(str, COMMAND))} run tried.yaml {closed}"
    assert subprocess.run(["sh", "-c", command], cwd=place, env=environment(), check=False).returncode == 0


def test_memory_that_cannot_be_had_is_one_message(monkeypatch, capsys) -> None:
    def fail(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("mpu_bench.cli.app.app", fail)
    assert call() == 2
    assert capsys.readouterr().err.startswith("mpu-bench: out of memory; ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on address space that holds")
def test_too_small_an_address_space_is_one_message(place: Path) -> None:
    command = f"ulimit -v 400000; {shlex.join(map(str, COMMAND))} list configs"
    done = subprocess.run(
        ["sh", "-c", command], cwd=place, capture_output=True, env=environment(), text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the limit on address space (ulimit -v) is 410 MB; mpu-bench needs at least 500 MB" in " ".join(
        done.stderr.split()
    )


@pytest.mark.parametrize("verb", ["list solvers", "--help"])
@pytest.mark.parametrize("colour", [{}, {"FORCE_COLOR": "1"}], ids=["plain", "colour"])
def test_a_reader_who_has_gone_is_told_from_a_run_that_failed(place: Path, verb: str, colour: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        done = subprocess.run(
            [*COMMAND, *verb.split()], cwd=place, stdout=output, stderr=subprocess.PIPE, env=environment(**colour),
            check=False, text=True,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "solver"], "'solver' is not one of 'solvers'"),
        (["run", "tried.yaml", "--jobs", "x"], "Invalid value for '--jobs': must be a valid integer"),
        (["run", "tried.yaml", "--set", "name=page"], "'page' is reserved for the folder results/page; choose another"),
        (["run", "tried.yaml", "--set", "name=Baseline"], "'Baseline' is reserved for the folder results/baseline"),
        (["run", "tried.yaml", "--set", "name=tables"], "'tables' is reserved for the folder results/tables"),
    ],
)
def test_words_of_libraries_are_ours(called, arguments: list[str], message: str) -> None:
    code, told = called(*arguments)
    assert code == 2
    assert message in " ".join(told.split())


@pytest.mark.parametrize(
    "arguments", [["list", "configs"], ["check"], ["new", "solver", "own"], ["check-solver", str(MISBEHAVING)]]
)
def test_a_current_folder_that_was_deleted_is_told_as_such(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "gone").mkdir()
    command = ["sh", "-c", 'cd gone && rmdir ../gone && exec "$@"', "sh", *COMMAND, *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("mpu-bench: ")
    assert done.stderr.endswith("the current folder was deleted; change to another and try again\n")
    assert done.stderr.count("\n") == 1
