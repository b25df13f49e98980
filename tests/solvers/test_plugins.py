"""Plugins: what is known of them without importing them, and what becomes of those that misbehave."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import psutil
import pytest

from mpu_bench import solvers
from mpu_bench.config.choices import Experiment
from mpu_bench.config.read import read_config
from mpu_bench.core.solver import FACTS
from mpu_bench.errors import ConfigError
from mpu_bench.experiment import plan
from mpu_bench.guard import process as guarded
from mpu_bench.scaled import Scaled
from mpu_bench.solvers.linear.dcd import DCD
from mpu_bench.solvers.plugins import importing, process
from mpu_bench.solvers.plugins.description import describe

HEAD = """
import enum, math, os, signal, sys, time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval, Lt
from pydantic import AfterValidator

from mpu_bench.core.solver import Solver
from mpu_bench.errors import ConfigError


class Base(Solver):
    def start(self, problem, kernel, seed): ...
    def advance(self, state, until): ...
    def model(self, state): ...

"""
LINES = HEAD.count("\n")
SOLVER = """
@dataclass(frozen=True)
class Own(Base):
    name = "own"
    C: Annotated[float, Gt(0)] = 1.0
"""
CONFIG = (
    "name: tried\ndataset: checkerboard\noptimum: true\nplugins: [{plugins}]\nsolvers: [dcd, {solver}]\n"
    "stop: {{passes: 10}}\n"
)


@pytest.fixture(autouse=True)
def _known_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no solver of a plugin behind."""
    monkeypatch.setattr(solvers, "SOLVERS", dict(solvers.SOLVERS))
    monkeypatch.setattr(solvers, "_SOURCES", dict(solvers._SOURCES))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Experiment]:
    """Read a config with a plugin of this text."""

    def read(text: str, solver: str = "own", **options: object) -> Experiment:
        (tmp_path / "own.py").write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        (tmp_path / "tried.yaml").write_text(CONFIG.format(plugins="own.py", solver=solver), encoding="utf-8")
        return read_config(tmp_path / "tried.yaml", **options)

    return read


@pytest.fixture
def refused(read: Callable[..., Experiment]) -> Callable[..., str]:
    def message(text: str, solver: str = "own", **options: object) -> str:
        with pytest.raises(ConfigError) as caught:
            read(text, solver, **options)
        return str(caught.value)

    return message


def with_parameter(written: str) -> str:
    return SOLVER.replace("C: Annotated[float, Gt(0)] = 1.0", written)


def with_method(written: str) -> str:
    return SOLVER + textwrap.indent(textwrap.dedent(written), "    ")


# ------------------------------------------------------------------ what is known


def test_a_stand_in_has_the_parameters_and_the_attributes(read) -> None:
    read(
        """
        @dataclass(frozen=True)
        class Own(Base):
            name = "own"
            paper = "mine"
            kernels = "any"
            version = 3
            weighted = True
            rounding = {"updates": 0.1}

            needed: int
            C: Annotated[float, Gt(0)] = np.float32(0.5)
            share: Annotated[float | None, Interval(ge=0, lt=1)] = None
            rule: Literal["one", "two"] = "two"
            many: int | float = 3
            switch: bool = field(default_factory=bool)
            word: str = "a"
            made: int = field(default=1, init=False)
        """,
        "{own: {needed: 2}}",
    )
    own = solvers.load("own")
    hints = get_type_hints(own)
    assert own(needed=2) == own(needed=2, C=0.5, share=None, rule="two", many=3, switch=False, word="a")
    assert (own.paper, own.kernels, own.classes, own.online, own.version) == ("mine", "any", "two", False, 3)
    assert own.rounding == {"updates": 0.1}
    assert own.weighted
    assert (hints["needed"], hints["C"], hints["share"], hints["many"]) == (int, float, float | None, int | float)
    assert Scaled(2.0, "n") == own(needed=2, C=Scaled(2.0, "n")).C
    for wrong in ({"C": 0.0}, {"share": 1.0}, {"share": -0.1}):
        with pytest.raises(ConfigError, match=f"own: {next(iter(wrong))} is"):
            own(needed=2, **wrong)
    with pytest.raises(NotImplementedError):
        own(needed=2).start(None, None, 0)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_solver_says_whether_examples_may_have_weights(read, refused, weighted: bool) -> None:
    given = "{own: {class_weight: balanced}}"
    if weighted:
        read(SOLVER + "    weighted = True\n", given)
    else:
        assert "class_weight" in refused(SOLVER, given)


def test_a_subclass_of_the_projects_solver_has_its_facts(read) -> None:
    text = (
        "from mpu_bench.solvers.linear.dcd import DCD\n@dataclass(frozen=True)\nclass Mine(DCD):\n    name = 'mine'\n"
    )
    read(text, "{mine: {class_weight: balanced}}")
    assert all(getattr(solvers.load("mine"), fact) == getattr(DCD, fact) for fact in FACTS if fact != "name")


def test_types_that_a_config_can_say_are_taken(read) -> None:
    for hint in ("Any", "object", "Annotated[int, AfterValidator(abs)]", "Literal['a', 1] | None", "int | str"):
        solvers.forget_plugins()
        read(with_parameter(f"C: {hint} = 1"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("C: 0", "line 5: solvers.own.C: must be greater than 0"),
        ("C: a", "line 5: solvers.own.C: must be a valid number"),
        ("D: 1", "line 5: solvers.own.D: unknown key; choose from C, multiclass, rule, score_threshold, share"),
        ("share: 1", "line 5: solvers.own.share: must be less than 1"),
        ("tune: {D: [1], holdout: 0.3}", "solver 'own' has no parameter 'D'"),
        ("kernel: {gaussian: {gamma: 1}}", "solver 'own' is linear only"),
    ],
)
def test_a_config_is_checked_against_them(refused, given: str, message: str) -> None:
    text = SOLVER + '    share: Annotated[float | None, Lt(1)] = None\n    rule: Literal["one", "two"] = "two"\n'
    assert message in refused(text, f"{{own: {{{given}}}}}")


def test_what_only_the_plugin_knows_it_is_asked(read, refused) -> None:
    text = with_method("""
        kind: Annotated[int, AfterValidator(lambda kind: kind if kind % 2 else 1 / 0)] = 1

        def __post_init__(self):
            super().__post_init__()
            if 2 * self.C > 10:  # what is relative to the data cannot be multiplied yet
                raise ConfigError("own: C is too large for it")

        def check_kernel(self, kernel):
            if kernel.__class__.__name__ == "Gaussian" and 2 * kernel.gamma > 10:
                raise ConfigError("own: gamma is too large for it")

        @classmethod
        def objective_of(cls, parameters):
            return f"own objective, C is {parameters['C']}"

        @classmethod
        def optimum_solver(cls, parameters, linear):
            return ("optimum", {"C": parameters["C"]}) if linear else None
    """).replace('name = "own"', 'name = "own"\n    kernels = "any"')
    experiment = read(text, "{own: {C: [1, {over-examples: 2}]}}")
    own = solvers.load("own")
    assert own.objective_of({"C": Scaled(2.0, "n"), "kind": 1}) == "own objective, C is 2/n"
    assert own.optimum_solver({"C": Scaled(2.0, "n"), "kind": 1}, True) == ("optimum", {"C": Scaled(2.0, "n")})
    assert own.optimum_solver({"C": 1.0, "kind": 1}, False) is None
    optima = [run.solver.parameters["C"] for run in plan.plan(experiment) if run.solver.name == "optimum"]
    assert optima == [1.0, Scaled(2.0, "n")]
    assert "line 5: solvers.own: own: C is too large for it" in refused(text, "{own: {C: 6}}")
    assert "ZeroDivisionError" in refused(text, "{own: {kind: 2}}")
    gaussian = "{own: {kernel: {gaussian: {gamma: [1, 6]}}}}"
    assert "line 5: solvers.own: own: gamma is too large for it" in refused(text, gaussian)


def test_what_it_optimises_is_said_by_class_attributes(read) -> None:
    experiment = read(with_method("objective = 'own objective'\noptimum = 'optimum'"), "{own: {C: [2, 3]}}")
    assert solvers.load("own").objective_of({"C": 2.0}) == "own objective"
    optima = [run.solver.parameters["C"] for run in plan.plan(experiment) if run.solver.name == "optimum"]
    assert set(optima) >= {2.0, 3.0}


def test_one_process_is_started_for_a_config_and_its_plan(read, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(process, "Child", lambda *given, **more: started.append(given) or guarded.Child(*given, **more))
    text = with_method("""
        @classmethod
        def objective_of(cls, parameters):
            return "own"

        @classmethod
        def optimum_solver(cls, parameters, linear):
            return "optimum", {"C": parameters["C"]}
    """)
    experiment = read(text, "{own: {tune: {C: [1, 2], holdout: 0.3}}}, {own: {C: [3, 4]}}", settings=["stop.passes=2"])
    runs = plan.plan(experiment)
    plan.marks_of(experiment, runs)
    asked = [variant for run in runs for variant in run.solver.variants]
    assert {solvers.load(name).objective_of(parameters) for name, parameters in asked} >= {"own"}
    assert len(started) == 1
    assert not process._children
    assert solvers.load("own").objective_of({"C": 5.0}) == "own"  # a question that was not asked before
    assert len(started) == 2


def test_an_edited_plugin_is_described_anew(read) -> None:
    read(SOLVER)
    read(SOLVER.replace("own", "other").replace("C:", "D:"), "other")
    assert "own" not in solvers.SOLVERS
    assert solvers.load("other")(D=2.0).D == 2.0


# ------------------------------------------------------------------ where and when it is run


@pytest.fixture
def marking(tmp_path: Path) -> str:
    """A plugin that writes the number of the process that imports it."""
    return f'with open("{tmp_path}/imported", "a") as file: print(os.getpid(), file=file)\n' + SOLVER


def test_it_is_never_imported_in_the_process_that_reads_a_config(read, marking: str, tmp_path: Path) -> None:
    read(marking)
    (imported,) = (tmp_path / "imported").read_text(encoding="utf-8").split()
    assert int(imported) != os.getpid()
    assert not psutil.pid_exists(int(imported))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["unknown=1"], "unknown key"),
        (["seed=-1"], "--set seed=-1: must be"),
        (["dataset=nothing"], "nothing"),
        (["kernel=gausian"], "gausian"),
        (["solvers.dcd.C=0"], "solvers.dcd.C=0: must be greater than 0"),
        (["solvers.dcd.D=1"], "unknown key"),
        (["solvers.own.tune=3"], "tune=3: must be parameters"),
        (["published=[mpu-table99]"], "there is no table"),
        (["stop.suboptimality=0.1", "optimum=false"], "needs the optimum"),
        (["plugins=[own.py, other.py]"], "other.py: no such file"),
        (["plugins=[own.py, .]"], "its name must end in .py"),
        (["plugins=[own.py, wrong.py]"], "wrong.py, line 2: SyntaxError"),
        (["plugins=[own.py, pipe.py]"], "pipe.py: is a pipe, not a file"),
        ([f"plugins=[own.py, {'a' * 300}.py]"], "cannot be read: File name too long"),
        (['plugins=["\\0.py"]'], "cannot be shown"),
    ],
)
def test_a_config_that_is_wrong_in_itself_is_refused_before_it_is_run(
    refused, marking: str, tmp_path: Path, options: list[str], message: str
) -> None:
    (tmp_path / "wrong.py").write_text("x = 1\nclass A(:\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.py")
    assert message in refused(marking, settings=options)
    assert not (tmp_path / "imported").exists()


def test_it_is_announced_before_it_is_run(read, marking: str, tmp_path: Path) -> None:
    announced = []
    read(marking, say=lambda line: announced.append((line, (tmp_path / "imported").exists())))
    ((line, was_imported),) = announced
    assert line.endswith(f"code that runs with your rights: {tmp_path / 'own.py'}")
    assert not was_imported


def test_a_config_is_shown_without_running_it(read, marking: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        read(marking, settings=["seed=-1"])
    experiment = read_config(tmp_path / "tried.yaml", with_plugins=False)
    assert [choice.name for choice in experiment.solvers] == ["dcd", "own"]
    assert not (tmp_path / "imported").exists()


def test_a_plugin_that_the_command_line_takes_out_is_not_run(read, marking: str, tmp_path: Path) -> None:
    experiment = read(marking, "mpu", settings=["plugins=[]"])
    assert experiment.plugins == ()
    assert not (tmp_path / "imported").exists()


def test_runs_of_the_projects_own_solvers_know_of_no_plugin(read, tmp_path: Path) -> None:
    tuned = "{own: {tune: {C: [1, 2], holdout: 0.3, with: dcd}}}"
    runs = plan.plan(read(SOLVER, f"own, {tuned}", settings=["stop.seconds_of={solver: dcd, factor: 2}"]))
    plugins = {(run.solver.name, run.solver.plugin and run.solver.plugin.path) for run in runs}
    assert plugins == {("dcd", None), ("own", tmp_path / "own.py"), ("optimum", None)}
    (own,) = [run for run in runs if run.solver.name == "own" and run.solver.tuning is None]
    assert plan.Plan(runs).needed(own)["seconds"].solver.name == "dcd"


def test_code_that_was_changed_since_the_config_was_read_is_not_run(read, marking: str, tmp_path: Path) -> None:
    (_, own) = [run for run in plan.plan(read(marking)) if run.solver.name in ("dcd", "own")]
    before = (tmp_path / "imported").read_text(encoding="utf-8")
    (tmp_path / "own.py").write_text(HEAD + marking + "x = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="was changed since the config was read; run again"):
        solvers.load_plugin(*own.solver.plugin)
    assert (tmp_path / "imported").read_text(encoding="utf-8") == before


# ------------------------------------------------------------------ misbehaviour

WRITE_TO_ALL = """
for descriptor in range(3, 40):
    try:
        {how}
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("os._exit(3)", "while importing it: its process ended with exit code 3"),
        ("os.abort()", "its process was ended by SIGABRT"),
        ("os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)", "its process was ended by SIGKILL"),
        ("os.closerange(3, 100)\ntime.sleep(600)", "it closed its connection"),
        (
            WRITE_TO_ALL.format(how="os.write(descriptor, b'rubbish\\n')"),
            "while importing it: its process sent what no worker sends: ",
        ),
        (
            WRITE_TO_ALL.format(how="while True: os.write(descriptor, b'x' * 100_000)"),
            "a message of more than 1,000,000 bytes",
        ),
        ("raise ValueError('[red]\\x1b[31m \\ud800')", r"ValueError: [red]\x1b[31m \ud800"),
        (SOLVER.replace("own", "dcd"), "the name 'dcd' is taken by another solver"),
        (with_parameter("C: Annotated[float, Gt(0)] = -1.0"), "own: C is -1.0; it must be above 0"),
        (with_parameter("C: Annotated[float, Gt(0)] = 'x'"), "own: C is 'x'; it must be a number"),
        (with_method("def __post_init__(self): raise TypeError('why not')"), "TypeError: why not"),
        (with_method("def __post_init__(self): os._exit(9)"), "with exit code 9"),
        (with_method("objective_of = classmethod(lambda cls, parameters: 1 / 0)"), "ZeroDivisionError"),
        (with_method("objective_of = classmethod(lambda cls, parameters: 5)"), "objective_of must return a text"),
        (with_method("optimum_solver = classmethod(lambda *_: 5)"), "optimum_solver must return None, or"),
        (with_method("optimum_solver = classmethod(lambda *_: ('dcdd', {}))"), "did you mean 'dcd'?"),
        (with_method("optimum_solver = classmethod(lambda *_: ('dcd', {'c': Base}))"), "may be in no answer"),
    ],
)
def test_one_that_misbehaves_is_one_message(refused, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.setattr(guarded, "_SECONDS_TO_REPORT", 0.5)
    monkeypatch.setattr(guarded, "MAX_BYTES", 10**6)
    told = refused(text)
    assert message in told
    assert "tried.yaml, line " in told
    assert len(told) < 3000


@pytest.mark.parametrize("how", ["time.sleep(600)", "os.kill(os.getpid(), signal.SIGSTOP)"])
def test_one_that_does_not_end_is_ended(refused, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(process, "IMPORT_SECONDS", 0.2)
    assert "own.py: while importing it: still at it after 0.2 seconds; ended by mpu-bench" in refused(how)


def test_one_that_takes_all_memory_is_ended(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "max_memory", lambda: 500e6)
    told = refused("os.fork()\nkept = []\nwhile True: kept.append(np.ones(10_000_000)); time.sleep(0.02)")
    assert "own.py: while importing it: used more than the limit of 476.8MiB; ended by mpu-bench" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sys.exit(3)", f"own.py, line {LINES + 1}: SystemExit: 3"),
        ("class E(BaseException): ...\nraise E", f"line {LINES + 2}: E"),
        ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "its __str__ raises ZeroDivisionError"),
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("import mpu_bench.core.gram", "what solvers import is in mpu_bench.solver"),
        ("def f(): f()\nf()", "RecursionError"),
        ("x = 1", "defines no solver"),
        (SOLVER.replace('    name = "own"\n', ""), "class Own has no name"),
        (SOLVER + SOLVER.replace("Own", "Another"), "the classes Own and Another have one name, 'own'"),
        (SOLVER + "First = Own\n" + SOLVER.replace("own", "other"), "the class of 'own' calls itself Own"),
        (SOLVER + "First = Own\ndel Own", "another class, or none"),
        (SOLVER.replace("(Base)", "(Solver)"), "class Own: lacks advance and model and start"),
        (SOLVER.replace("@dataclass(frozen=True)", ""), "class Own: is not a dataclass"),
        (SOLVER.replace("(frozen=True)", ""), "cannot inherit non-frozen dataclass from a frozen one"),
        (SOLVER.replace("name =", "name: str ="), "class Own: name is annotated and so a parameter"),
        (SOLVER.replace('"own"', "5"), "its name is 5"),
        (SOLVER.replace("own", "../x"), "its name is '../x'"),
        (SOLVER.replace("own", "a" * 300), "60 at most"),
        (with_parameter("C: list = field(default_factory=list)"), "parameter 'C': its type is <class 'list'>"),
        (with_parameter("C: Any = field(default_factory=list)"), "parameter 'C': its default is []"),
        (with_parameter("C: Any = object()"), "parameter 'C': its default is <object"),
        pytest.param(
            with_parameter("C: int = 10**5000"),
            "parameter 'C': its default is",
            marks=pytest.mark.skipif(sys.version_info < (3, 11, 7), reason="its dataclasses print every default"),
        ),
        (with_parameter("C: float = math.nan"), "parameter 'C': its default is nan"),
        (with_parameter("C: np.ndarray = None"), "parameter 'C': its type is <class 'numpy.ndarray'>"),
        (with_parameter("C: Path | None = None"), "parameter 'C': its type is pathlib"),
        (
            with_parameter("C: tuple[int, ...] | None = None"),
            "its type is tuple[int, ...] | None; use bool, int, float",
        ),
        ("class How(str, enum.Enum):\n    A = 'a'\n" + with_parameter("C: How = How.A"), "its type is <enum 'How'>"),
        (
            "class How(enum.IntEnum):\n    A = 1\n" + with_parameter("C: Literal[How.A] = How.A"),
            "its type is typing.Literal",
        ),
        (with_parameter("C: 'Unknown' = None"), "NameError: name 'Unknown' is not defined"),
        (with_parameter("kernel: int = 1"), "'kernel' is reserved in configs"),
        (with_parameter("model: int = 1"), "every solver has another 'model'"),
        (with_parameter("_hidden: int = 1"), "parameter '_hidden'"),
        (with_parameter("C: Annotated[float, Gt('x')] = 1.0"), "parameter 'C': its type is"),
        (with_method("version = '3'"), "version is '3'"),
        (with_method("kernels = 'all'"), "kernels is 'all'"),
        (with_method("online = 1"), "online is 1"),
        (with_method("rounding = {'updates': math.inf}"), "rounding is"),
        (with_method("objective = 5"), "objective is 5; it must be a text"),
        (with_method("optimum = ('optimum', {})"), "optimum is ('optimum', {}); it must be a text"),
        (with_parameter("optimum = 'dcd'"), "optimum is 'dcd', by the same C, and there is no parameter C"),
    ],
)
def test_what_is_not_fit_to_be_run_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.py"
    path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        _ = [describe(solver, path) for solver in importing.import_solvers(importing.read_plugin(path))]
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "beside",
    [
        "os.write(1, b'x' * 3_000_000); os.write(2, b'x' * 3_000_000); print('x' * 3_000_000)",
        "os.environ.clear(); os.chdir('/'); sys.path.clear(); signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "import atexit, threading; atexit.register(time.sleep, 600); threading.Timer(600, print).start()",
    ],
)
def test_one_that_does_harm_to_itself_alone_is_read(read, capfd: pytest.CaptureFixture[str], beside: str) -> None:
    read(SOLVER + beside)
    assert solvers.load("own")().C == 1.0
    assert capfd.readouterr() == ("", "")


def test_what_it_starts_is_ended_with_it(read, tmp_path: Path) -> None:
    """Also a daemon: a child of a child that has left the session."""
    read(
        f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path("{tmp_path}/new").write_text(str(os.getpid()))
                os.rename("{tmp_path}/new", "{tmp_path}/daemon")
                time.sleep(600)
            os._exit(0)
        while not os.path.exists("{tmp_path}/daemon"):
            time.sleep(0.01)
        """
        + textwrap.indent(SOLVER, " " * 8)
    )
    assert not psutil.pid_exists(int((tmp_path / "daemon").read_text(encoding="utf-8")))


def test_one_plugin_does_not_reach_another(tmp_path: Path) -> None:
    spoils = "Solver.kernels = 'any'; Solver.version = 7\n"
    (tmp_path / "first.py").write_text(HEAD + spoils + SOLVER.replace("own", "first"), encoding="utf-8")
    (tmp_path / "second.py").write_text(HEAD + SOLVER.replace("own", "second"), encoding="utf-8")
    text = CONFIG.format(plugins="first.py, second.py", solver="first, second")
    (tmp_path / "tried.yaml").write_text(text, encoding="utf-8")
    read_config(tmp_path / "tried.yaml")
    assert (solvers.load("first").version, solvers.load("second").version) == (7, 1)


# ------------------------------------------------------------------ tracebacks


def raised_by(text: str, path: Path) -> BaseException:
    path.write_text(text, encoding="utf-8")
    space: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), space)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it raises
        space["go"]()  # type: ignore[operator]
    return caught.value


def test_a_place_is_the_last_line_of_the_users_file(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    fault = raised_by("import json\ndef go():\n    json.loads('{')\n", path)
    said, traced = importing.located(fault, (path,), "said")
    assert said == "said (own.py, line 3, in go)"
    assert importing.located(fault, (), "said")[0] == "said"
    lines = traced.splitlines()
    assert lines[1] == '  File "own.py", line 3, in go'
    assert lines[-1] == "said"
    assert len(lines) > 4  # where it went on from there


def test_a_traceback_is_bounded_and_keeps_its_end(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    fault = raised_by("def go():\n    go()  # " + "x" * 200 + "\n", path)
    _, text = importing.located(fault, (path,), "said\x1b[31m" + "y" * 100_000)
    assert len(text.encode()) <= importing.MAX_BYTES
    assert "\x1b" not in text
    assert text.startswith("Traceback (most recent call last):\n  ...\n")
    assert 'File "own.py", line 2, in go' in text


# ------------------------------------------------------------------ ends


def test_a_run_that_nothing_ends_is_refused(read, refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "CONFIG", CONFIG.replace("stop: {{passes: 10}}\n", ""))
    assert "line 5: solvers: nothing ends a run of solver 'own': say when, such as stop: {passes: 10}" in refused(
        SOLVER
    )
    for more in ("ends = True", "sliceable = False"):
        solvers.forget_plugins()
        read(f"{SOLVER}    {more}\n")
    solvers.forget_plugins()
    read(SOLVER, settings=["limits.seconds=10"])
    read(SOLVER, settings=["stop.seconds_of={solver: dcd, factor: 2}"])
    read(SOLVER, settings=["stop.gap=0.1", "stop.seconds=10"])
    for rule in ("gap: 0.1", "kernel_evaluations: 100", "suboptimality: 0.01"):  # not for sure
        told = refused(SOLVER, settings=[f"stop={{{rule}}}"])
        assert f"for sure (it may never reach stop: {{{rule}}})" in told
        assert f"say when, such as stop: {{{rule}, passes: 10}}" in told
    of_itself = "stop.seconds_of={solver: own, factor: 2}"
    assert "nothing ends a run of solver 'own'" in refused(SOLVER, settings=[of_itself])


def test_a_method_that_is_forgotten_is_one_message(tmp_path: Path) -> None:
    text = "class Own(Solver):\n    name = 'own'\n    def start(self, problem, kernel, seed): ...\n"
    (tmp_path / "own.py").write_text(HEAD + text, encoding="utf-8")
    (tmp_path / "tried.yaml").write_text(CONFIG.format(plugins="own.py", solver="own"), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "tried.yaml")
    assert str(caught.value).endswith("own.py: class Own: lacks advance and model, which every solver has")
    assert "\n" not in str(caught.value)
