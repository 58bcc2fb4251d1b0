"""The commands: what they print, how they fail, and that their help is true."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import click
import numpy as np
import pytest

import sixd
from commands import caller, fails, find
from sdf_text import joint, link, model, sdf
from sixd.cli import entry_point, group, output
from sixd.cli.commands.bench import measure
from sixd.cli.commands.check import advice
from sixd.codegen.llvm import machine
from sixd.model.parts import Finding
from urdf_text import CHAIN

SOURCE = Path(sixd.__file__).parent
COMMANDS = list(group.COMMANDS)


@pytest.fixture(name="call")
def _call(capsys, tmp_path, monkeypatch):
    return caller(capsys, tmp_path, monkeypatch)


def urdf(tmp_path, text="", name="robot.urdf"):
    body = text or sixd.to_urdf(sixd.zoo.panda_arm())
    (tmp_path / name).write_text(body)
    return name


WRONG = """<robot name="wrong">
<link name="base"/>
<link name="a"><inertial><mass value="-1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"/>
<joint name="one" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="1" upper="-1" effort="1" velocity="1"/></joint>
<joint name="two" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
</robot>"""


# the entry point -----------------------------------------------------------------------------------


def test_help_names_every_command(call):
    status, out, err = call("--help")
    assert all(kind in out for kind in ("URDF", "SDF", "MJCF", "xacro", "robot_descriptions:NAME"))
    assert (status, err) == (0, "")
    for name, line in group.COMMANDS.items():
        assert name in out
        assert line.split()[-1] in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches(call, name):
    status, out, err = call(name, "--help")
    assert (status, err) == (0, "")
    command = find(name)
    assert len(command.examples) >= 2
    for line, meaning in command.examples:
        assert f"  {line}\n" in out
        assert meaning.split()[0] in out
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help
            assert parameter.opts[-1] in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("name", ["info", "check", "equations", "export"])
def test_examples_run(call, name):
    """Those that move or measure something are run with those commands' tests."""
    for line, _ in find(name).examples:
        status, out, err = call(*line.split()[1:])
        assert status == (1 if "check puma560" in line else 0)
        assert out
        assert err == ""


def test_no_command_shows_the_help(call):
    shown = call("--help")
    assert call() == shown
    assert call("--debug") == shown


def test_version(call):
    assert call("--version") == (0, f"sixd, version {sixd.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inf"], "no command named 'inf'. Did you mean 'info'?"),
        (["xyz"], "There are: demo, info"),
        (["nope"], "There are: demo, info"),
        (["export", "pendulum", "zzz"], "projections, constraint_jacobian, constraint_error, constraint_velocity"),
        (["export", "pendulum", "energy", "-o", ""], "export: --output is empty, expected a name."),
        (["bench", "pendulum", "--functions", ""], "expected names separated by commas"),
        (["bench", "pendulum", "--frame", "tip"], "but none of inverse_dynamics"),
        (["bench", "planar", "--functions", "pose", "--frame", "tp"], "Did you mean 'tip'?"),
        (["equations", "pendulum", "--what", ""], "expected names separated by commas"),
        (["equations", "pendulum", "--what", "M", "--format", "python"], "does not go with --format python"),
        (["view", "pendulum", "--q", "5,5"], "view: --q has 2 numbers, expected 1"),
        (["info", "panda_arm", "--jsn"], "--jsn"),
        (["check"], "Missing argument 'ROBOT'. For example: sixd check panda_arm. See"),
        (["export", "ur_arm"], "Missing argument 'FUNCTION'. For example: sixd export ur_arm inverse_dynamics"),
        (["simulate", "pendulum", "--helpp"], "(Did you mean one of: '--help', '--html'?) See"),
        (["bench", "pendulum", "--batch", "0"], "--batch"),
        (["equations", "pendulum", "--format", "word"], "word"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage(call, arguments, message):
    text = fails(call(*arguments), 2)
    assert message in text
    assert "--help" in text


def test_unexpected_errors_are_one_sentence(call, monkeypatch):
    def broken(model):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(sixd, "check", broken)
    text = fails(call("check", "pendulum"))
    assert text == (
        "error: RuntimeError: first line second line. This is unexpected: run again with --debug to see where.\n"
    )
    for arguments in (["--debug", "check", "pendulum"], ["check", "pendulum", "--debug"]):
        status, out, err = call(*arguments)
        assert (status, out) == (1, "")
        assert "Traceback" in err
        assert "second line" in err


def test_too_little_memory(call, monkeypatch):
    def greedy(model):
        raise MemoryError

    monkeypatch.setattr(sixd, "check", greedy)
    assert fails(call("check", "pendulum")) == "error: there is not enough memory. Reduce the batch or the duration.\n"


def test_interrupted(call, monkeypatch):
    def interrupted(model):
        raise KeyboardInterrupt

    monkeypatch.setattr(sixd, "check", interrupted)
    status, out, err = call("check", "pendulum")
    assert (status, out, err.strip()) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["info"], 0),
        (["--help"], 0),
        (["check", "puma560"], 1),  # a fault is one, whoever reads
        *(
            pytest.param(arguments, 0, marks=pytest.mark.long)
            for arguments in (["info", "--json"], ["equations", "planar"], ["check", "pendulum"], ["cache"])
        ),
    ],
)
def test_a_closed_pipe_is_no_matter(arguments, status):
    """``sixd info | head -1``: the reader is gone, nothing is said about it, and the command ends as it would."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "sixd", *arguments], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == status


@pytest.mark.long
@pytest.mark.parametrize(("stream", "robot", "status"), [("stdout", "robot.urdf", 0), ("stderr", "x" * 100_000, 1)])
def test_a_pipe_that_is_closed_in_the_middle(tmp_path, stream, robot, status):
    """More is written than a pipe holds (64 KiB), and its reader leaves after the first letter."""
    urdf(tmp_path, sixd.to_urdf(sixd.zoo.pendulum()).replace('"pendulum"', f'"{"x" * 100_000}"'))
    command = [sys.executable, "-m", "sixd", "info", robot, "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process.stdout, process.stderr:
        left, other = (process.stdout, process.stderr)[:: 1 if stream == "stdout" else -1]
        assert left.read(1)
        left.close()
        assert other.read() == b""
    assert process.wait() == status


@pytest.mark.long
def test_standard_output_that_takes_nothing(call, monkeypatch, capsys):
    """Closed, or on a full disk: a sentence, and no traceback when Python flushes at its end."""
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        assert fails(call("info", "humanoid")).startswith("error: standard output is closed")
    if not Path("/dev/full").exists():
        return
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "sixd", "info", "pendulum"], stdout=full, stderr=subprocess.PIPE)
    assert done.stderr == b"error: cannot write the output: No space left on device.\n"
    assert done.returncode == 1


def test_python_m_sixd():
    done = subprocess.run([sys.executable, "-m", "sixd", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"sixd, version {sixd.__version__}\n"


def test_no_colours_in_a_pipe(call):
    for arguments in (["info", "panda_arm"], ["check", "puma560"], ["info", "nothing"]):
        _, out, err = call(*arguments)
        assert "\x1b" not in out + err


def test_colours_in_a_terminal_unless_unwanted(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.console().color_system is not None
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.console().no_color


@pytest.mark.parametrize("width", [40, 60, 100, 200])
@pytest.mark.parametrize("arguments", [["info", "ur_arm"], ["info", "tree"], ["check", "puma560"], ["info"], ["cache"]])
def test_output_keeps_to_the_width(call, monkeypatch, arguments, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = call(*arguments)
    assert max(map(len, out.splitlines())) <= width
    assert not re.search(r" \n", out)


def test_a_pipe_gets_every_column(call, monkeypatch, tmp_path):
    """Without a terminal and without COLUMNS no column is left out and no line is broken."""
    monkeypatch.delenv("COLUMNS")
    names = {"link": "a_rather_long_name_of_a_link_of_an_arm", "joint": "another_long_name_for_the_joint_of_an_arm"}
    text = sixd.to_urdf(sixd.zoo.panda_arm())
    for old, new in names.items():
        text = re.sub(rf'"{old}(\d)"', rf'"{new}\1"', text)
    text = text.replace('<dynamics damping="0" friction="0"/>', "").replace(
        "</joint>", '<dynamics damping="2"/></joint>'
    )
    urdf(tmp_path, text)
    lines = call("info", "robot.urdf")[1].splitlines()
    assert lines[2].split() == ["body", "joint", "kind", "range", "effort", "speed", "passive", "mass", "[kg]"]
    (row,) = [line for line in lines if f"{names['link']}7 " in line]
    for cell in (f"{names['joint']}7", "-2.897 … 2.897 rad", "12 N m", "2.61 rad/s", "damping 2", "0.736"):
        assert cell in row
    findings = call("check", "puma560")[1].splitlines()
    assert any("break the triangle inequality" in line and "principal moments" in line for line in findings)


def test_columns_that_are_left_out_are_named(call, monkeypatch):
    assert "No room for" not in call("info", "puma560")[1]
    monkeypatch.setenv("COLUMNS", "40")
    out = call("info", "puma560")[1]
    assert "No room for: joint, passive, mass [kg]." in " ".join(out.split())
    assert "          └ link6  revolute z" in out


def test_letters_that_command_a_terminal_are_not_printed():
    assert output.printable("a\x1b[31mb\r\nc") == "a?[31mb??c"


def test_markup_in_names_is_printed_as_it_is(call, tmp_path):
    text = sixd.to_urdf(sixd.zoo.pendulum()).replace('name="pendulum"', 'name="[bold]x[/bold]"')
    _, out, _ = call("info", urdf(tmp_path, text))
    assert "[bold]x[/bold]" in out


def test_numbers():
    assert [output.digits(x) for x in (0.0, 1.0, 12.345, 1234.5, 1e9, 1e-5, np.inf)] == [
        "0.00", "1.00", "12.3", "1,234", "1.00e+09", "1.00e-05", "–",
    ]  # fmt: skip
    assert [output.duration(x) for x in (2.0, 0.5, 3e-6, 2.5e-8)] == ["2.00 s", "500 ms", "3.00 µs", "25.0 ns"]
    assert json.loads(output.dump({"a": np.array([1.0, np.inf]), "b": np.float64(2), "c": Path("x")})) == {
        "a": [1.0, None],
        "b": 2.0,
        "c": "x",
    }


# robots --------------------------------------------------------------------------------------------


def test_a_robot_is_a_file_a_name_or_standard_input(call, tmp_path, monkeypatch):
    file = urdf(tmp_path)
    for robot in (file, tmp_path / file, "panda_arm", "zoo:panda_arm"):
        status, out, err = call("info", robot, "--json")
        assert (status, err) == (0, "")
        assert json.loads(out)["nv"] == 7
    with open(file, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": stream}))
        assert json.loads(call("info", "-", "--json")[1])["robot"] == "panda_arm"
        assert "standard input is empty" in fails(call("info", "-"))


def test_a_file_wins_over_the_zoo(call, tmp_path):
    urdf(tmp_path, name="pendulum")
    assert json.loads(call("info", "pendulum", "--json")[1])["nv"] == 7
    assert json.loads(call("info", "zoo:pendulum", "--json")[1])["nv"] == 1
    (tmp_path / "planar").mkdir()  # a folder does not
    assert json.loads(call("info", "planar", "--json")[1])["nv"] == 2


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        ("pand_arm", "Did you mean 'panda_arm'?"),
        ("zoo:pand_arm", "Did you mean 'panda_arm'?"),
        ("panda", "Did you mean 'panda_arm'?"),  # by spelling 'planar' is nearer
        ("zoo:panda", "Did you mean 'panda_arm'?"),
        ("Puma", "Did you mean 'puma560'?"),
        ("UR-arm", "Did you mean 'ur_arm'?"),
        ("pendulums", "Did you mean 'pendulum'?"),
        ("robot", "Did you mean 'robot.urdf'?"),
        ("rolling_d", "Did you mean 'rolling_disc'?"),
        ("link", "Did you mean 'two_link_arm'?"),
        ("robots", "Did you mean 'robot.urdf'?"),
        ("qqqqqq", "`sixd info` lists the ready-made models"),
        ("no/such.urdf", "cannot read 'no/such.urdf'"),
        ("none.urdf", "In that folder: robot.urdf"),
        ("robt.urdf", "there is no such file. Did you mean 'robot.urdf'?"),
        ("./Robot.URDF", "Did you mean 'robot.urdf'?"),
        ("  ", "expected a file or a ready-made model"),
        (".", "it is a folder, expected a file. It contains 'robot.urdf'."),
        ("empty", "It contains no robot file."),
        ("a\0b.urdf", "cannot read"),
    ],
)
def test_robots_that_are_not_there(call, tmp_path, robot, message):
    urdf(tmp_path)
    (tmp_path / "empty").mkdir()
    assert message in fails(call("info", robot))


def test_broken_files(call, tmp_path):
    assert "line" in fails(call("info", urdf(tmp_path, "<robot><link")))
    assert "an HTML page" in fails(call("check", urdf(tmp_path, "<html/>")))
    assert "expected <robot>" in fails(call("check", urdf(tmp_path, "<svg/>")))


def test_floating_base(call, tmp_path):
    assert json.loads(call("info", urdf(tmp_path), "--floating-base", "--json")[1])["nv"] == 13
    assert "expected a URDF file" in fails(call("info", "panda_arm", "--floating-base"))


def test_doubtful_robots_give_one_warning(call, tmp_path):
    status, out, err = call("equations", urdf(tmp_path, WRONG), "--what", "g")
    assert status == 0
    assert out.startswith("wrong: ")
    assert err.startswith("warning: ")
    assert "`sixd check robot.urdf`" in err
    assert err.count("\n") == 1
    err = call("equations", "robot.urdf", "--floating-base", "--package-dir", "a b", "--what", "g")[2]
    assert "`sixd check robot.urdf --floating-base --package-dir 'a b'`" in err


# info and check ------------------------------------------------------------------------------------


def test_info_shows_the_tree(call):
    _, out, err = call("info", "panda_arm")
    assert err == ""
    assert "7 bodies · nq = 7 · nv = 7" in out
    for name in sixd.zoo.panda_arm().body_names:
        assert name in out
    assert "-3.072 … -0.0698 rad" in out
    assert "tool" in out


def test_info_of_constraints(call):
    _, out, _ = call("info", "bricard")
    assert "1 DoF = 5 of the joints" in out
    assert "redundant-constraints" in out
    facts = json.loads(call("info", "bricard", "--json")[1])
    assert (facts["mobility"], facts["nv"], facts["assembles"]) == (1, 5, True)


def test_info_facts_are_those_of_the_model(call):
    model = sixd.zoo.panda_arm()
    facts = json.loads(call("info", "panda_arm", "--json")[1])
    assert facts["mass"] == model.mass
    assert [j["name"] for j in facts["joints"]] == list(model.joint_names)
    np.testing.assert_array_equal([j["lower"][0] for j in facts["joints"]], model.lower)
    np.testing.assert_array_equal(facts["joints"][2]["com"], model.body_inertia("link3").com)
    assert facts["findings"] == []
    free = json.loads(call("info", "falling_sphere", "--json")[1])["joints"][0]
    assert free["upper"] == [None] * 7


def test_info_counts_collision_shapes(call, tmp_path):
    shape = '<collision><geometry><sphere radius="1"/></geometry></collision></link>'
    file = urdf(tmp_path, CHAIN.replace("</link>", shape))
    assert "3 shapes, 2 pairs that may touch" in call("info", file)[1]
    facts = json.loads(call("info", file, "--json")[1])
    assert (len(facts["collisions"]), facts["collision_pairs"]) == (3, 2)


def test_info_alone_lists_the_zoo(call):
    _, out, _ = call("info")
    assert all(name in out for name in sixd.zoo.names())
    assert {m["robot"] for m in json.loads(call("info", "--json")[1])} == set(sixd.zoo.names())


def test_check_of_a_clean_robot(call):
    status, out, err = call("check", "panda_arm")
    assert (status, err) == (0, "")
    assert "no likely mistakes" in out
    assert json.loads(call("check", "panda_arm", "--json")[1]) == {
        "robot": "panda_arm",
        "plausible": True,
        "faults": 0,
        "findings": [],
    }


def test_check_finds_faults(call, tmp_path):
    file = urdf(tmp_path, WRONG)
    status, out, err = call("check", file)
    assert (status, err) == (1, "")
    status, text, _ = call("check", file, "--json")
    facts = json.loads(text)
    assert status == 1
    assert {"negative-mass", "limits", "missing-inertia"} <= {f["code"] for f in facts["findings"]}
    for finding in facts["findings"]:
        assert finding["code"] in out
        assert finding["advice"].split()[0] in out


def test_meshes_that_are_not_there_are_a_remark(call, tmp_path):
    mesh = '<visual><geometry><mesh filename="package://p/{}.stl"/></geometry></visual>'
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    meshes = "".join(mesh.format(name) for name in "abcdef")
    text = f"""<robot name="r"><link name="base"/><link name="a">{meshes}{inertial}</link>
    <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>"""
    status, out, _ = call("check", urdf(tmp_path, text))
    assert status == 0
    assert "6 meshes not found: package://p/a.stl" in out
    assert "and 2 more" in " ".join(out.split())
    assert "--package-dir" in out
    assert "--package-dir" in call("view", "robot.urdf", "--save", "r.html")[2]
    (tmp_path / "p").mkdir()
    for name in "abcdef":
        (tmp_path / "p" / f"{name}.stl").write_text("")
    assert "no likely mistakes" in call("check", "robot.urdf", "--package-dir", ".")[1]


def test_remarks_are_no_faults_unless_strict(call):
    assert call("check", "bricard")[0] == 0
    assert call("check", "bricard", "--strict")[0] == 1


def test_there_is_advice_on_every_finding():
    """Codes are read off the source: a new one needs advice."""
    text = "\n".join(p.read_text() for p in SOURCE.rglob("*.py") if "cli" not in p.relative_to(SOURCE).parts)
    codes = set(re.findall(r'Finding\(\s*"([a-z-]+)"', text)) | {"negative-mass", "impossible-inertia"}
    at_a_configuration = {"not-assembled", "rank-drop"}  # check(model, q) alone
    assert len(codes) > 10
    for code in codes - at_a_configuration:
        assert advice(Finding(code, "", "")) is not advice(Finding("unheard-of", "", "")), code


# equations, export, cache, bench --------------------------------------------------------------------


def test_equations_in_every_format(call):
    derived = sixd.equations(sixd.zoo.two_link_arm())
    _, out, _ = call("equations", "two_link_arm")
    assert "M[1,1]          = 1.8 cos(q₂) + 3.48\n" in out
    assert "M[1,2] = M[2,1] = 0.9 cos(q₂) + 0.675\n" in out
    assert "7.3575 cos(q₁ + q₂)\n" in out  # all digits
    assert call("equations", "two_link_arm", "--format", "latex", "--what", "M,tau")[1] == (
        derived.latex("M", "tau") + "\n"
    )
    assert call("equations", "two_link_arm", "--format", "markdown")[1] == derived.markdown()
    facts = json.loads(call("equations", "two_link_arm", "--format", "json", "--what", "M,g,T,Gamma")[1])
    assert facts["M"][0][1] == "0.9*cos(q2) + 0.675"
    assert len(facts["g"]) == 2
    assert np.shape(facts["Gamma"]) == (2, 2, 2)
    assert "qd1" in facts["T"]


def test_equations_as_a_program(call, tmp_path):
    status, out, _ = call("equations", "two_link_arm", "--format", "python", "-o", "arm.py")
    assert status == 0
    assert "arm.py" in out
    names = {}
    exec((tmp_path / "arm.py").read_text(), names)
    state = [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]
    np.testing.assert_allclose(
        names["inverse_dynamics"](*state), sixd.inverse_dynamics(sixd.zoo.two_link_arm(), *state), rtol=1e-12
    )
    assert "--force" in fails(call("equations", "two_link_arm", "-o", "arm.py"))
    assert call("equations", "two_link_arm", "-o", "arm.py", "--force")[0] == 0
    assert (tmp_path / "arm.py").read_text().startswith("two_link_arm: M q̈ + C q̇ + g = τ")


def test_equations_of_constraints(call):
    assert "A[1,1]" in call("equations", "four_bar")[1]
    _, out, err = call("equations", "double_elbow", "--reduce")
    assert "q₃" not in out
    assert err == ""
    assert "loops and rolling cannot be reduced: Loop(coupler_end" in call("equations", "four_bar", "--reduce")[2]
    assert "'pendulum' has no constraints" in call("equations", "pendulum", "--reduce")[2]


def test_equations_of_one_degree_of_freedom_are_matrices_too(call):
    facts = json.loads(call("equations", "pendulum", "--format", "json")[1])
    assert (facts["M"], facts["C"], np.shape(facts["g"])) == ([["1/3"]], [["0"]], (1,))
    out = call("equations", "pendulum")[1]
    assert "M[1,1] = 1/3\n\nC[1,1] = 0\n\ng[1] = " in out


def test_equations_refused(call):
    assert "no field named 'N'" in fails(call("equations", "pendulum", "--what", "M,N"), 2)
    assert "is not a folder" in fails(call("equations", "pendulum", "-o", "no/where.txt"))
    assert "is a folder" in fails(call("equations", "pendulum", "-o", "."))


def test_long_equations_are_announced(call, monkeypatch):
    derived = sixd.equations(sixd.zoo.pendulum())

    def long(model):
        warnings.warn("equations: it takes some 180 s.", sixd.CompileWarning, stacklevel=2)
        return derived

    monkeypatch.setattr(sixd, "equations", long)
    status, out, err = call("equations", "pendulum")
    assert (status, err) == (0, "warning: equations: it takes some 180 s.\n")
    assert out


def test_long_compiling_is_announced(call, monkeypatch):
    """While it is under way, on standard error, which is not a terminal here."""
    noted, assemble, note = threading.Event(), machine.assemble, entry_point._note

    def tell(what):
        note(what)
        noted.set()

    def slow(*arguments):
        assert noted.wait(60)  # a guard alone
        return assemble(*arguments)

    monkeypatch.setenv("SIXD_CACHE_DIR", "off")
    monkeypatch.setattr(entry_point, "_note", tell)
    monkeypatch.setattr(machine, "assemble", slow)
    monkeypatch.setattr("sixd.slow_work.PATIENCE", 0.01)
    monkeypatch.setattr("sixd.simulation.stepping.compiled_steps._RECENT", {})  # what other tests have compiled
    status, out, err = call("simulate", "pendulum", "--duration", "0.1", "--json")
    assert status == 0
    assert json.loads(out)
    assert "compiling simulate for 'pendulum' …" in err.splitlines()


def test_the_library_by_itself_says_nothing(monkeypatch, capfd):
    """Nor does it start a clock."""
    monkeypatch.setenv("SIXD_CACHE_DIR", "off")
    monkeypatch.setattr("sixd.slow_work.PATIENCE", 0.0)
    monkeypatch.setattr(threading, "Timer", None)
    sixd.mass_matrix(sixd.zoo.pendulum(), [0.3])
    assert capfd.readouterr() == ("", "")


def test_what_is_kept_is_said(capsys, monkeypatch):
    for folder, kept in (("off", ""), ("somewhere", ": once, the code is kept on disk")):
        monkeypatch.setenv("SIXD_CACHE_DIR", folder)
        entry_point._note("compiling x for 'a\x1b[1mb'")
        assert capsys.readouterr().err == f"compiling x for 'a?[1mb'{kept} …\n"


def test_equations_that_take_long_need_force(call, monkeypatch):
    """From five minutes foreseen on; what is quick is done, and then nothing is said about C."""
    derived = sixd.equations(sixd.zoo.pendulum())

    def announced(model):
        warnings.warn("C is long", sixd.CompileWarning, stacklevel=2)
        return derived

    monkeypatch.setattr(sixd, "equations", announced)
    text = fails(call("equations", "humanoid"))
    assert "C of 'humanoid' takes about 108 minutes, expected less than 5 minutes. --what M,g is quick." in text
    assert "--force" in text
    assert "model.lock" in text
    assert call("equations", "humanoid", "--force")[::2] == (0, "warning: C is long.\n")
    assert call("equations", "humanoid", "--what", "M,g")[::2] == (0, "")
    assert "C of 'humanoid'" in fails(call("equations", "humanoid", "--what", "M,C"))
    assert "C of 'humanoid'" in fails(call("equations", "humanoid", "--format", "python"))
    assert call("equations", "panda_arm")[::2] == (0, "warning: C is long.\n")


def test_export_writes_what_export_c_gives(call, tmp_path):
    status, out, err = call("export", "two_link_arm", "mass-matrix", "-o", "c/code")
    assert (status, err) == (0, "")
    made = sixd.export_c(sixd.mass_matrix, sixd.zoo.two_link_arm())
    assert (tmp_path / "c/code/mass_matrix.c").read_text() == made.source
    assert (tmp_path / "c/code/mass_matrix.h").read_text() == made.header
    assert "mass_matrix.h" in out
    facts = json.loads(
        call("export", "planar", "jacobian", "--frame", "tip", "--expressed-in", "world", "--name", "J", "--json")[1]
    )
    assert (facts["source"], facts["name"]) == ("J.c", "J")
    compiler = shutil.which("cc")
    if compiler:
        subprocess.run([compiler, "-std=c99", "-Wall", "-Werror", "-c", "J.c"], cwd=tmp_path, check=True)


def test_export_replaces_nothing_unasked(call, tmp_path):
    (tmp_path / "mass_matrix.h").write_text("mine")
    assert "--force" in fails(call("export", "planar", "mass_matrix"))
    assert (tmp_path / "mass_matrix.h").read_text() == "mine"
    assert not (tmp_path / "mass_matrix.c").exists()
    assert call("export", "planar", "mass_matrix", "--force")[0] == 0
    assert "mine" not in (tmp_path / "mass_matrix.h").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["massmatrix"], "Did you mean 'mass_matrix'?"),
        (["jacobian"], "requires --frame"),
        (["jacobian", "--frame", "tp"], "Did you mean 'tip'?"),
        (["mass_matrix", "--frame", "tip"], "has no option --frame"),
        (["mass_matrix", "--f-ext"], "has no external forces"),
        (["mass_matrix", "--given", "link1"], "has no option --given"),
        (["hybrid_dynamics"], "requires --given"),
        (["hybrid_dynamics", "--given", "lnk1"], "Did you mean"),
        (["mass_matrix", "--name", "a b"], "expected letters"),
        (["mass_matrix", "-o", "file/sub"], "cannot make the folder"),
    ],
)
def test_export_refused(call, tmp_path, arguments, message):
    (tmp_path / "file").write_text("")
    status = 1 if "folder" in message else 2
    assert message in fails(call("export", "planar", *arguments), status)


def test_export_with_external_forces(call, tmp_path):
    assert call("export", "planar", "inverse_dynamics", "--f-ext")[0] == 0
    assert "f_ext" in (tmp_path / "inverse_dynamics.h").read_text()


def test_pipes_are_written_to_and_stay(call, tmp_path):
    """A device or a pipe is never replaced, with --force or without."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for more in ([], ["--force"]):
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        status, _, err = call("equations", "pendulum", "-o", pipe, *more)
        assert (status, err) == (0, "")
        assert os.read(reader, 10_000).startswith(b"pendulum: ")
        os.close(reader)
        assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_folders_that_are_not_writable(call, monkeypatch):
    """The error comes before the work."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(sixd, "equations", None)
    assert "'x.txt' cannot be written" in fails(call("equations", "pendulum", "-o", "x.txt"))


def test_cache(call, tmp_path, monkeypatch):
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    sixd.mass_matrix(sixd.zoo.planar(3), np.zeros(3))
    facts = json.loads(call("cache", "--json")[1])
    assert facts["entries"] >= 1
    assert facts["folder"] == str(tmp_path / "cache")
    assert "mass_matrix of planar3" in call("cache")[1]
    assert "removed" in call("cache", "--clear")[1]
    facts = json.loads(call("cache", "--clear", "--json")[1])
    assert (facts["entries"], facts["removed"]) == (0, 0)
    monkeypatch.setenv("SIXD_CACHE_DIR", "off")
    assert "off" in call("cache")[1]
    assert json.loads(call("cache", "--json")[1])["enabled"] is False


def test_bench(call, monkeypatch):
    monkeypatch.setattr("sixd.cli.commands.bench.MEASUREMENT", 1e-3)
    _, out, err = call("bench", "pendulum", "--rounds", "2", "--batch", "256")
    assert err == ""
    assert "inverse_dynamics" in out
    assert "NumPy" in out
    facts = json.loads(call("bench", "planar", "--functions", "jacobian,energy", "--rounds", "1", "--json")[1])
    assert [f["function"] for f in facts["functions"]] == ["jacobian", "energy"]
    for row in facts["functions"]:
        assert min(row["batch"], row["single"], row["numpy"], row["ready"]) > 0
        assert row["difference"] < 1e-12
    assert "Did you mean 'jacobian'?" in fails(call("bench", "planar", "--functions", "jacobin"), 2)


def test_a_robot_that_cannot_move(call, tmp_path):
    file = urdf(tmp_path, '<robot name="stone"><link name="a"/></robot>')
    assert call("info", file)[0] == call("check", file)[0] == call("equations", file)[0] == 0
    for name in ("bench", "simulate"):
        assert "'stone' has no degrees of freedom" in fails(call(name, file))


def test_bench_with_pinocchio(monkeypatch):
    pytest.importorskip("pinocchio")
    rows, remark = measure(sixd.zoo.ur_arm(), ["inverse_dynamics", "mass_matrix"], 16, rounds=1)
    assert remark == ""
    assert rows[0].pinocchio_batch > 0
    assert rows[1].pinocchio_single > 0
    assert measure(sixd.zoo.falling_sphere(), [], 1)[1].startswith("Pinocchio is left out")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "not installed" in measure(sixd.zoo.planar(), [], 1)[1]


def test_bench_refuses_results_that_differ(monkeypatch):
    """A kernel that computes something else must not pass for a fast one."""
    monkeypatch.setattr("sixd.cli.commands.bench._difference", lambda ours, theirs: 1.0)
    with pytest.raises(sixd.SixdError, match="results of mass_matrix differ"):
        measure(sixd.zoo.planar(), ["mass_matrix"], 4, rounds=1)


def test_the_guide_is_true(call):
    """Its commands run, and print what is shown after them."""
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 5
    out = ""
    for language, block in blocks:
        if language == "text":
            assert block == out
        else:
            for line in block.splitlines():
                status, out, err = call(*line.split()[1:])
                assert (status, err) == (0, "")
    assert all(f"`sixd {name}" in text for name in COMMANDS)


# options of robot files -----------------------------------------------------------------------------


def test_bases_of_sdf(call, tmp_path):
    path = tmp_path / "m.sdf"
    path.write_text(sdf(model(link("a") + link("b") + joint())))
    assert [json.loads(call("info", path, *words, "--json")[1])["nv"] for words in ([], ["--fixed-base"])] == [7, 1]
    assert call("compare", path, path)[0] == 0


def test_xacro_needs_trust(call, tmp_path):
    """In every command that reads a robot; with the option it is expanded."""
    text = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><link name='a'/></robot>"
    (tmp_path / "r.xacro").write_text(text)
    readers = [name for name in COMMANDS if any(p.name in ("robot", "a") for p in find(name).params)]
    assert {"info", "check", "simulate", "view", "convert", "compare", "equations", "export", "bench"} <= set(readers)
    more = {"compare": ("r.xacro",), "convert": ("out.urdf",), "export": ("energy",)}
    for name in readers:
        err = fails(call(name, "r.xacro", *more.get(name, ())))
        assert "r.xacro is xacro and trust is False" in err
        assert "--trust in a shell" in err
    pytest.importorskip("xacrodoc")
    assert call("info", "r.xacro", "--trust")[0] == 0
    assert call("compare", "r.xacro", "r.xacro", "--trust")[0] == 0


def test_arguments_and_srdf(call, tmp_path):
    err = fails(call("info", urdf(tmp_path), "--argument", "prefix=left_"))
    assert "arguments were passed, but robot.urdf is not xacro" in err
    assert "expected NAME=VALUE" in fails(call("info", urdf(tmp_path), "--argument", "prefix"))
    (tmp_path / "robot.srdf").write_text("<robot name='r'><group_state name='home' group='arm'/></robot>")
    assert call("info", urdf(tmp_path), "--srdf", tmp_path / "robot.srdf")[0] == 0
    assert "cannot read" in fails(call("info", urdf(tmp_path), "--srdf", tmp_path / "none.srdf"))
    assert "which has no --srdf" in fails(call("info", "panda_arm", "--srdf", "x.srdf"))
    assert "which has no --argument" in fails(call("info", "panda_arm", "--argument", "a=1"))
    options = ("--fixed-base", "--srdf", tmp_path / "robot.srdf")
    _, _, err = call("equations", urdf(tmp_path, WRONG), *options, "--what", "g")
    assert "--fixed-base --srdf" in err
