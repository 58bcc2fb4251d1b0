"""xacro files, expanded by xacrodoc where they are trusted: arguments, packages, limits, and what cannot be expanded."""

import functools
import os
import sys

import numpy as np
import pytest

import sixd
from peers import peer, pin
from robots import quiet_load
from sdf_text import INERTIAL
from urdf_text import CHAIN

xacrodoc = peer("xacrodoc", "xacrodoc")
pytestmark = pytest.mark.one_target
load = functools.partial(sixd.load, trust=True)

ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:arg name="length" default="0.5"/>
  <xacro:arg name="tool" default="false"/>
  <xacro:include filename="parts/rod.xacro"/>
  <link name="base"/>
  <xacro:rod name="$(arg prefix)rod" parent="base" length="$(arg length)"/>
  <xacro:if value="$(arg tool)">
    <link name="tool"><inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="grip" type="fixed"><parent link="$(arg prefix)rod"/><child link="tool"/></joint>
  </xacro:if>
</robot>
"""
ROD = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="rod" params="name parent length">
    <link name="${name}">
      <inertial>
        <origin xyz="0 0 ${length/2}"/>
        <mass value="${2*length}"/>
        <inertia ixx="${length**2}" ixy="0" ixz="0" iyy="${length**2}" iyz="0" izz="0.001"/>
      </inertial>
    </link>
    <joint name="${name}_joint" type="continuous">
      <origin xyz="0 0 ${sin(pi/6)}" rpy="${radians(30)} 0 0"/>
      <parent link="${parent}"/>
      <child link="${name}"/>
      <axis xyz="0 1 0"/>
    </joint>
  </xacro:macro>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    """The path of the arm; the test is skipped if xacrodoc is not installed."""
    assert xacrodoc.XacroDoc
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rod.xacro").write_text(ROD)
    (tmp_path / "arm.urdf.xacro").write_text(ARM)
    return tmp_path / "arm.urdf.xacro"


def test_arguments(arm):
    """Numbers, flags and texts; without them the file's own."""
    assert load(arm).mass == 1
    loaded = load(arm, arguments={"prefix": "left_", "length": 2, "tool": True})
    assert (loaded.body_names, loaded.mass) == (("left_rod",), 7)
    assert "tool" in loaded.frames
    with arm.open() as file:
        assert load(file, arguments={"length": 1.5}).mass == 3


def test_masses_inertias_and_poses_as_pinocchio_reads_the_expanded_file(arm):
    text = xacrodoc.XacroDoc.from_string(
        ARM.replace('<xacro:include filename="parts/rod.xacro"/>', ROD.split("\n", 1)[1].rsplit("</robot>", 1)[0])
    ).to_urdf_string()
    theirs, ours = pin.buildModelFromXML(text), load(arm)
    data, q = theirs.createData(), np.array([0.7])
    pin.framesForwardKinematics(theirs, data, pin.integrate(theirs, pin.neutral(theirs), q))
    for frame, name in ((theirs.getFrameId("rod"), "rod"),):
        np.testing.assert_allclose(sixd.pose(ours, q, name), data.oMf[frame].homogeneous, atol=1e-12)
    inertia = theirs.inertias[1]
    body = ours.body_inertia("rod")
    np.testing.assert_allclose([body.mass, *body.com], [inertia.mass, *inertia.lever], atol=1e-12)
    np.testing.assert_allclose(body.about_com, inertia.inertia, atol=1e-12)


def test_unknown_arguments_are_refused(arm):
    with pytest.raises(
        sixd.LoadError, match=r"arm\.urdf\.xacro: arguments: no xacro argument named 'prefx'. Did you mean 'prefix'"
    ):
        load(arm, arguments={"prefx": "left_"})
    with pytest.raises(sixd.ScalarTypeError, match="arguments is 3, expected a mapping such as"):
        load(arm, arguments=3)


def test_arguments_of_what_is_not_xacro_are_refused(tmp_path):
    """Of URDF, SDF, MJCF, .mat files and dictionaries, whether or not xacrodoc is installed."""
    (tmp_path / "robot.urdf").write_text(CHAIN)
    sdf = f"<sdf version='1.9'><model name='m'><link name='a'>{INERTIAL}</link></model></sdf>"
    for source in (CHAIN, tmp_path / "robot.urdf", sdf, "<mujoco/>", {"NB": 1}):
        for arguments in ({"prefix": "left_"}, {}):
            with pytest.raises(sixd.LoadError, match="arguments were passed, but .* is not xacro"):
                load(source, arguments=arguments)


HEADER = "<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
# a file that calls a function of os by a lambda in a lambda, which xacro's own filter does not see
RUNS = """${(lambda: [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]
    .__init__.__globals__['CALL'])()}"""


def program(call):
    """A xacro file that runs ``call``, Python in the names of os."""
    head, _, tail = RUNS.replace("\n   ", "").partition("['CALL']")
    function, _, arguments = call.partition("(")
    inside = f"{head}['{function}']({arguments}{tail}".replace("<", "&lt;")
    return f'{HEADER}<xacro:property name="p" value="{inside}"/><link name="a"/><xacro:if value="${{p == 3}}"/></robot>'


def test_no_python_of_a_file_runs_without_trust(tmp_path, monkeypatch):
    """By whatever way xacro comes in; the error says why, and how. With trust it runs."""
    assert xacrodoc.XacroDoc
    monkeypatch.chdir(tmp_path)
    text = program("mkdir('ran')")
    (tmp_path / "r.xacro").write_text(text)
    (tmp_path / "r.urdf").write_text(text)
    why = "r.xacro is xacro and trust is False, expected True: a xacro file is a program, .* sixd.load.*, trust=True"
    for call in (
        lambda: sixd.load("r.xacro"),
        lambda: sixd.load(CHAIN, srdf=tmp_path / "r.xacro"),
        lambda: sixd.load("r.xacro", trust=False, arguments={}),
    ):
        with pytest.raises(sixd.LoadError, match=why):
            call()
    with pytest.raises(sixd.LoadError, match="<text> is xacro and trust is False"):
        sixd.load(text, arguments={"x": 1})
    with pytest.raises(sixd.LoadError, match=r"r.urdf, line 1: .*is not expanded: .* load it with\s+trust=True"):
        sixd.load("r.urdf")
    with pytest.raises(sixd.ScalarTypeError, match="trust is 'yes', expected True or False"):
        sixd.load("r.xacro", trust="yes")
    assert sorted(os.listdir()) == ["r.urdf", "r.xacro"]
    load("r.xacro")
    assert os.path.isdir("ran")


def test_text_is_expanded_only_on_request():
    """A text or a .urdf file that holds xacro is refused with its line, unless it is trusted."""
    text = f"{HEADER}<link name='a${{1 + 1}}'/></robot>"
    with pytest.raises(sixd.LoadError, match=r"is not expanded: .* load it with\s+trust=True"):
        sixd.load(text)
    assert xacrodoc.XacroDoc
    assert "a2" in load(text).frames
    assert "a2" in load(text, arguments={}).frames


GROWS = {
    "time": (f"{HEADER}<link name='${{max(range(10**12))}}'/></robot>", "it takes more than 0.7 s"),
    "memory": (f"{HEADER}<link name='${{len([0] * 10**10)}}'/></robot>", "it takes more than 512 MiB of memory"),
    "an end": (program("_exit(3)"), "its process ended with status 3"),
}


@pytest.mark.skipif(os.name != "posix", reason="other systems limit the time alone")
@pytest.mark.parametrize("kind", GROWS)
def test_a_file_that_grows_without_end(kind, tmp_path, monkeypatch):
    """One sentence, by a limit of time, of memory, or because its process is gone; this one keeps its memory."""
    assert xacrodoc.XacroDoc
    text, reason = GROWS[kind]
    if kind == "time":
        monkeypatch.setattr("sixd.file_limits.XACRO_SECONDS", 0.7)
    monkeypatch.setattr("sixd.file_limits.XACRO_MEMORY", 512 << 20)
    (tmp_path / "r.xacro").write_text(text)
    with pytest.raises(sixd.LoadError, match=f"r.xacro: xacro cannot expand the file: {reason}"):
        load(tmp_path / "r.xacro")
    assert os.listdir(tmp_path) == ["r.xacro"]


def test_the_working_folder_has_no_part(tmp_path, monkeypatch, capfd):
    """Modules there are not imported, and output of the file is not read as the answer."""
    assert xacrodoc.XacroDoc
    monkeypatch.chdir(tmp_path)
    for name in ("json", "xacro", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    (tmp_path / "r.xacro").write_text(program("write(1, b'no')"))
    assert load("r.xacro").nv == 0
    assert capfd.readouterr().out == ""


def test_sdf_from_xacro(tmp_path):
    assert xacrodoc.XacroDoc
    text = f"<sdf version='1.9' xmlns:xacro='http://www.ros.org/wiki/xacro'><model name='m'><link name='a${{3}}'>{INERTIAL}</link></model></sdf>"
    (tmp_path / "m.sdf.xacro").write_text(text)
    assert load(tmp_path / "m.sdf.xacro").body_names == ("a3",)


def test_packages_are_found_as_those_of_meshes(tmp_path):
    """In the folders above by name or by package.xml, and in package_dirs; nothing is remembered between two loads."""
    assert xacrodoc.XacroDoc
    for copy, mass in (("one", 1), ("two", 2)):
        folder = tmp_path / copy / "my_robot" / "urdf"
        folder.mkdir(parents=True)
        (folder / "mass.xacro").write_text(f"{HEADER}<xacro:property name='m' value='{mass}'/></robot>")
        inertia = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
        body = f"<link name='a'><inertial><mass value='${{m}}'/>{inertia}</inertial></link>"
        (folder / "r.xacro").write_text(
            f"{HEADER}<xacro:include filename='$(find my_robot)/urdf/mass.xacro'/>{body}</robot>"
        )
        assert load(folder / "r.xacro", floating_base=True).mass == mass
    text = (tmp_path / "one" / "my_robot" / "urdf" / "r.xacro").read_text()
    with pytest.raises(sixd.LoadError, match="the package 'my_robot' is not found; pass package_dirs="):
        load(text, arguments={})
    assert load(text, arguments={}, package_dirs=tmp_path / "two", floating_base=True).mass == 2
    (tmp_path / "one" / "my_robot").rename(tmp_path / "one" / "renamed")
    (tmp_path / "one" / "renamed" / "package.xml").write_text("<package><name>my_robot</name></package>")
    assert load(tmp_path / "one" / "renamed" / "urdf" / "r.xacro", floating_base=True).mass == 1


CANNOT = {
    "a missing file": ("<xacro:include filename='none.xacro'/>", "No such file or directory"),
    "a missing package": ("<xacro:include filename='$(find nowhere)/x.xacro'/>", "the package 'nowhere' is not found"),
    "an undefined name": ("<link name='${nothing}'/>", "name 'nothing' is not defined"),
    "an import": ("<link name='${__import__(\"os\").getcwd()}'/>", "invalid name"),
    "recursion": ("<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>", "call each other without end"),
    "an unknown macro": ("<xacro:arm/>", "unknown macro name: xacro:arm"),
    "a type": ("<xacro:property name='l' value='two'/><link name='${l/2}'/>", "unsupported operand"),
}


@pytest.mark.parametrize("kind", CANNOT)
def test_what_xacro_cannot_expand(kind, tmp_path):
    """One sentence with the file's name; the next file is expanded as if nothing had happened."""
    assert xacrodoc.XacroDoc
    inside, message = CANNOT[kind]
    (tmp_path / "r.xacro").write_text(f"{HEADER}{inside}<link name='b'/></robot>")
    with pytest.raises(sixd.LoadError) as caught:
        load(tmp_path / "r.xacro")
    assert str(caught.value).startswith("r.xacro: xacro cannot expand the file")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert load(f"{HEADER}<link name='${{'b'}}'/></robot>".replace("'b'", '"b"'), arguments={}).nv == 0


def test_errors_after_expansion_say_so(arm):
    arm.write_text(
        ARM.replace("</robot>", "<joint name='j' type='fixed'><parent link='x'/><child link='base'/></joint></robot>")
    )
    with pytest.raises(sixd.LoadError, match=r"arm\.urdf\.xacro, expanded, line \d+: joint 'j': no link named 'x'"):
        load(arm)


def test_entities_are_refused_before_xacro_sees_them(tmp_path):
    (tmp_path / "r.xacro").write_text("<!DOCTYPE r [<!ENTITY a 'a'>]><robot name='&a;'/>")
    with pytest.raises(sixd.LoadError, match="the file has a DTD"):
        load(tmp_path / "r.xacro")


def test_without_xacrodoc(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    (tmp_path / "r.xacro").write_text("<robot name='r'><link name='a'/></robot>")
    with pytest.raises(sixd.MissingPackageError, match=r"r\.xacro is xacro, which needs .* pip install xacrodoc"):
        load(tmp_path / "r.xacro")


def test_quiet_load_takes_arguments(arm):
    assert quiet_load(arm, arguments={"length": 3}, trust=True).mass == 6
