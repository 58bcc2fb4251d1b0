"""The commands convert and compare: files, endings, exit statuses, and that no file is lost."""

import json
import os
import subprocess
import sys

import pytest

import sixd
from commands import caller, fails, find
from peers import mujoco

BOX = sixd.box(0.1, 0.2, 0.3, mass=1.0)


@pytest.fixture(name="call")
def _call(capsys, tmp_path, monkeypatch):
    return caller(capsys, tmp_path, monkeypatch)


def arm_file(tmp_path, name="arm.urdf", mass=1.0, joint="lift"):
    builder = sixd.ModelBuilder("arm")
    builder.add_body("upper", "world", sixd.Revolute("y"), inertia=BOX, joint_name="pan", limits=(-1, 1))
    fore = sixd.box(0.1, 0.1, 0.1, mass=mass)
    builder.add_body("fore", "upper", sixd.Prismatic("x"), inertia=fore, joint_name=joint, limits=(-1, 1))
    sixd.to_urdf(builder.build(), tmp_path / name)
    return name


# convert ------------------------------------------------------------------------------------------


def test_convert_examples(call, tmp_path):
    """They run as they are written; the files are those of the library."""
    for line, _ in find("convert").examples:
        status, out, _ = call(*line.split()[1:])
        assert status == 0
        assert out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["panda.urdf", "panda.xml"]
    assert (tmp_path / "panda.urdf").read_text() == sixd.to_urdf(sixd.zoo.panda_arm())
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "panda.xml")).nv == 7


def test_standard_output_by_its_names(call, tmp_path):
    """The text alone, as for -, and no file."""
    options = ("--to", "mjcf", "--no-shapes")
    wanted = call("convert", "two_link_arm", "-", *options)
    assert wanted[1].startswith("<mujoco")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        assert call("convert", "two_link_arm", name, *options) == wanted
        assert "both write to standard output" in fails(call("convert", "two_link_arm", name, *options, "--json"), 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="/dev/stdout is POSIX")
def test_a_pipe_after_the_command(tmp_path):
    """The library writes to /dev/stdout, too."""
    code = "import sixd; sixd.to_urdf(sixd.zoo.panda_arm(), '/dev/stdout')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, env=environment, text=True)
    assert (done.stdout, done.returncode) == (sixd.to_urdf(sixd.zoo.panda_arm()), 0)


def test_there_and_back(call, tmp_path):
    """URDF → MJCF → URDF: compare finds nothing but what was said to be left out."""
    assert mujoco.MjModel  # skipped without it: the commands turn its absence into a message
    arm_file(tmp_path)
    assert call("convert", "arm.urdf", "arm.xml") == (0, "arm.xml  (MJCF, 2 bodies)\n", "")
    assert call("convert", "arm.xml", "again.URDF") == (0, "again.URDF  (URDF, 2 bodies)\n", "")
    for one, two in (("arm.urdf", "arm.xml"), ("arm.xml", "again.URDF"), ("arm.urdf", "again.URDF")):
        status, out, _ = call("compare", one, two)
        assert (status, out.splitlines()[0]) == (0, "a: arm, b: arm: no differences")


def test_what_is_left_out_is_a_warning(call):
    status, out, err = call("convert", "panda_arm", "panda.mjcf", "--json")
    facts = json.loads(out)
    assert status == 0
    assert {"robot": "panda_arm", "file": "panda.mjcf", "format": "mjcf", "bodies": 7}.items() <= facts.items()
    assert "velocity limits" in facts["warnings"][0]
    assert err.startswith("warning: The velocity limits of joint1")


def test_standard_streams(call, tmp_path, monkeypatch):
    """- is standard input for ROBOT, and standard output for OUT, which then needs --to."""
    status, out, err = call("convert", "two_link_arm", "-", "--to", "mjcf", "--no-shapes")
    assert (status, err) == (0, "")
    assert out.startswith('<mujoco model="two_link_arm">')
    assert "<geom type" not in out
    assert "--to urdf or --to mjcf" in fails(call("convert", "two_link_arm", "-"), 2)
    assert "expected one of them" in fails(call("convert", "two_link_arm", "-", "--to", "mjcf", "--json"), 2)
    assert "both -" in fails(call("compare", "-", "-"), 2)
    assert not list(tmp_path.iterdir())


def test_form_is_chosen_by_the_option(call, tmp_path):
    assert call("convert", "two_link_arm", "arm.txt", "--to", "mjcf")[0] == 0
    assert (tmp_path / "arm.txt").read_text().startswith("<mujoco")
    for name in ("arm.sdf", "arm", "arm.json", ".urdf"):
        assert "expected a name that ends in one of .urdf, .xml, .mjcf" in fails(call("convert", "vee", name), 2)


def test_no_file_is_lost(call, tmp_path):
    """A file is not replaced without --force, the source never, and a failure leaves what was there."""
    arm_file(tmp_path)
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "link.urdf").symlink_to(tmp_path / "arm.urdf")
    for out in ("arm.urdf", "./arm.urdf", "link.urdf"):
        assert "is the robot's own file" in fails(call("convert", "arm.urdf", out, "--force"))
        assert "is the robot's own file" in fails(call("equations", "arm.urdf", "-o", out, "--force"))
    assert (tmp_path / "arm.urdf").read_text() == text
    (tmp_path / "old.xml").write_text("old")
    assert "'old.xml' exists already" in fails(call("convert", "arm.urdf", "old.xml"))
    assert (tmp_path / "old.xml").read_text() == "old"
    assert "has hinges, slides" not in call("convert", "arm.urdf", "old.xml", "--force")[2]
    assert (tmp_path / "old.xml").read_text().startswith("<mujoco")
    (tmp_path / "kept.urdf").write_text("kept")
    assert "URDF cannot hold" in fails(call("convert", "puma560", "kept.urdf", "--force"))
    assert (tmp_path / "kept.urdf").read_text() == "kept"
    assert (tmp_path / "arm.urdf").read_text() == text


def test_places_that_cannot_be_written(call, tmp_path):
    (tmp_path / "folder.xml").mkdir()
    for out, message in (("folder.xml", "is a folder"), ("none/a.xml", "is not a folder"), ("", "is empty")):
        assert message in fails(call("convert", "vee", out), 2 if out == "" else 1)
    if os.geteuid():  # root writes everywhere
        (tmp_path / "locked").mkdir(mode=0o500)
        assert "cannot be written" in fails(call("convert", "vee", "locked/a.xml"))


def test_broken_robots(call, tmp_path):
    (tmp_path / "broken.urdf").write_text("<robot name='x'>")
    assert "broken" in fails(call("convert", "broken.urdf", "a.xml"))
    assert "no such file" in fails(call("convert", "none.urdf", "a.xml")).lower()
    assert "MJCF cannot hold the constraint" in fails(call("convert", "four_bar", "a.xml"))
    assert not (tmp_path / "a.xml").exists()


# compare ------------------------------------------------------------------------------------------


def test_compare_examples(call):
    for (line, _), expected in zip(find("compare").examples, (0, 1, 0), strict=True):
        status, out, err = call(*line.split()[1:])
        assert (status, err) == (expected, "")
        assert out


def test_compare_shows_differences(call, tmp_path):
    """A table, or JSON; exit status 1, and 0 within the tolerances."""
    arm_file(tmp_path)
    arm_file(tmp_path, "heavy.urdf", mass=1.001)
    status, out, err = call("compare", "arm.urdf", "heavy.urdf")
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "a: arm, b: arm: 3 differences (1 in masses, 1 in inertias, 1 in dynamics)"
    assert lines[3].split() == ["fore", "mass", "[kg]", "1", "1.001", "0.001"]
    status, out, _ = call("compare", "arm.urdf", "heavy.urdf", "--json")
    facts = json.loads(out)
    assert (status, facts["equal"], facts["tol"]) == (1, False, 1e-9)
    assert [d["kind"] for d in facts["differences"]] == ["masses", "inertias", "dynamics"]
    loose = ["--tol", "0.01", "--dynamics-tol", "0.01"]
    assert call("compare", "arm.urdf", "heavy.urdf", *loose)[0] == 0
    assert call("compare", "arm.urdf", "heavy.urdf", "--ignore", "masses,inertias,dynamics")[0] == 0


def test_compare_by_order_and_floating_base(call, tmp_path):
    arm_file(tmp_path)
    arm_file(tmp_path, "named.urdf", joint="slide")
    assert call("compare", "arm.urdf", "named.urdf")[0] == 1
    assert call("compare", "arm.urdf", "named.urdf", "--by", "order", "--ignore", "names")[0] == 0
    assert call("compare", "arm.urdf", "arm.urdf", "--floating-base", "both")[0] == 0
    assert call("compare", "arm.urdf", "arm.urdf", "--floating-base", "a")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tol", "-1"], "--tol is -1"),
        (["--tol", "nan"], "--tol is nan"),
        (["--ignore", "mass"], "no kind named 'mass'. Did you mean 'masses'?"),
        (["--ignore", ""], "expected names separated by commas"),
        (["--states", "-1"], "--states"),
        (["--by", "size"], "size"),
    ],
)
def test_compare_wrong_usage(call, arguments, message):
    assert message in fails(call("compare", "vee", "vee", *arguments), 2)


def test_names_cannot_command_a_terminal(call, tmp_path):
    text = (tmp_path / arm_file(tmp_path)).read_text().replace('name="arm"', 'name="&#x9b;31m"')
    (tmp_path / "odd.urdf").write_text(text)
    assert "\x9b" not in call("compare", "odd.urdf", "vee")[1]
