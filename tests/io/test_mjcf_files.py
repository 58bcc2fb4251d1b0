"""MJCF files: names, sites, shapes and joint properties; unsupported elements, broken files."""

import re
import sys

import numpy as np
import pytest

import sixd
from peers import mujoco

BOX = "<geom type='box' size='.1 .2 .3' pos='.1 -.2 .05' euler='20 30 40'/>"
HINGE = f"<body><joint axis='0 1 0'/>{BOX}</body>"
FREE = f"<body pos='1 2 3'><freejoint/>{BOX}</body>"


def document(bodies, head=""):
    return f"<mujoco model='case'>{head}<worldbody>{bodies}</worldbody></mujoco>"


def test_joint_properties():
    """Limits, friction, effort, rest and gravity land in the model; a range counts only if limited."""
    text = document(
        f"""<body name='a'><joint name='h' range='-30 60' frictionloss='.5' actuatorfrcrange='-4 3' damping='2'/>
        <joint name='s' type='slide' range='-1 2' limited='false' stiffness='3' springref='.2'/>{BOX}</body>"""
    )
    model = sixd.load(text)
    h, s = model.joint("h"), model.joint("s")
    np.testing.assert_allclose([h.lower[0], h.upper[0]], np.radians([-30, 60]))
    assert (h.friction[0], h.effort_limit[0], h.damping[0]) == (0.5, 4, 2)
    assert np.isinf(s.lower[0])
    assert (s.stiffness[0], s.rest[0]) == (3, 0.2)
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])
    off = sixd.load(document(FREE, "<option><flag gravity='disable'/></option>"))
    assert not off.gravity.any()


def test_names_are_invented_and_unique():
    """Unnamed bodies and joints are called by their number; no name is used twice."""
    text = document(
        f"""<body><joint/>{BOX}<body name='body1'><joint name='joint0'/><joint axis='1 0 0'/>{BOX}</body></body>
        <body name='joint0'>{BOX}</body>"""
    )
    model = sixd.load(text)
    assert model.body_names == ("body1_", "body1:joint0", "body1")
    assert model.joint_names == ("joint0_", "joint0", "joint2")
    assert model.frame("joint0").body == 0
    assert sixd.load(text).frame_names == model.frame_names


def test_sites_are_frames():
    """A site is a frame, unless a body has its name or it has none."""
    sites = "<site name='tip' pos='.1 .2 .3' euler='10 20 30'/><site name='arm'/><site/>"
    text = document(f"<site name='home' pos='1 0 0'/><body name='arm' pos='0 0 1'><joint/>{BOX}{sites}</body>")
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    assert {"tip", "home"} <= set(model.frame_names)
    assert len(model.frames) == 5
    data = mujoco.MjData(theirs)
    data.qpos[:] = 0.7
    mujoco.mj_forward(theirs, data)
    T = sixd.pose(model, [0.7], "tip")
    np.testing.assert_allclose(T[:3, 3], data.site("tip").xpos, atol=1e-14)
    np.testing.assert_allclose(T[:3, :3].ravel(), data.site("tip").xmat, atol=1e-14)


# files -------------------------------------------------------------------------------------------

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_include_and_mesh_next_to_the_file(tmp_path, monkeypatch):
    """Included files and meshes are searched next to the file, whatever the working folder is."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "t.obj").write_text(TETRAHEDRON)
    (tmp_path / "part.xml").write_text(
        "<mujocoinclude><body name='b'><joint axis='1 0 0'/><geom type='mesh' mesh='t'/></body></mujocoinclude>"
    )
    head = "<compiler meshdir='meshes'/><asset><mesh name='t' file='t.obj'/></asset>"
    path = tmp_path / "robot.xml"
    path.write_text(document("<include file='part.xml'/>", head))
    model = sixd.load(path)
    (visual,) = model.visuals
    corners = visual.shape.vertices @ visual.pose[:3, :3].T + visual.pose[:3, 3]
    # MuJoCo keeps vertices in single precision
    np.testing.assert_allclose(corners[np.lexsort(corners.round(3).T)][-1], [0, 0, 1], atol=1e-6)
    assert (visual.shape.kind, visual.shape.triangles.shape) == ("mesh", (4, 3))
    with open(path) as file:
        assert sixd.load(file).nv == 1
    monkeypatch.chdir(tmp_path)
    assert sixd.load("robot.xml").nv == 1
    with pytest.raises(sixd.LoadError, match=r"t\.obj.*pass the path"):
        sixd.load(path.read_text().replace("part.xml", str(tmp_path / "part.xml")).replace("meshes", "elsewhere"))


def test_visuals():
    """Shapes with full lengths, colors of geom or material, and none of the hidden groups."""
    head = "<asset><material name='red' rgba='1 0 0 1'/></asset>"
    geoms = """<geom name='b' type='box' size='1 2 3' rgba='0 1 0 .5'/>
        <geom type='capsule' size='.1 .4' material='red'/><geom type='cylinder' size='.1 .4' pos='1 0 0'/>
        <geom size='.2'/><geom type='ellipsoid' size='.1 .2 .3'/><geom size='1' group='3'/>
        <geom size='1' rgba='0 0 0 0'/>"""
    model = sixd.load(document(f"<geom type='plane' size='1 1 1'/><body><joint pos='1 0 0'/>{geoms}</body>", head))
    plane, *others = model.visuals
    assert (plane.body, plane.shape.kind) == (0, "plane")
    kinds = ["box", "capsule", "cylinder", "sphere", "ellipsoid"]
    assert [v.shape.kind for v in others] == kinds
    sizes = [(2, 4, 6), (0.1, 0.8), (0.1, 0.8), (0.2,), (0.1, 0.2, 0.3)]
    assert [v.shape.size for v in others] == sizes
    assert (others[0].name, others[0].color, others[1].color) == ("b", (0, 1, 0, 0.5), (1, 0, 0, 1))
    np.testing.assert_allclose(others[2].pose[:3, 3], [0, 0, 0])  # seen from the joint's anchor


# what is left out, and what is broken ------------------------------------------------------------

RICH = document(
    f"""<body name='a' gravcomp='1'><joint name='h' stiffness='1 2 3' damping='1 2' axis='0 1 0'/>{BOX}</body>
    <body name='b'><joint name='p' type='slide' stiffness='2' springyield='.5'/>{BOX}</body>
    <body name='f'><joint type='free' stiffness='1' armature='.1'/>{BOX}</body>""",
    "<option density='1000' viscosity='.1'/>",
).replace(
    "</mujoco>",
    """<tendon><fixed stiffness='3'><joint joint='h' coef='1'/></fixed><fixed><joint joint='h' coef='1'/></fixed></tendon>
    <actuator><motor joint='h'/><position joint='p'/><motor joint='h' gear='2'/></actuator></mujoco>""",
)
LEFT_OUT = [
    r"tendons \(1\) are", r"gravity compensation \(1 bodies\)",
    r"polynomial springs \(1 joints\)", r"polynomial damping \(1 degrees of freedom\)", r"plastic springs \(1 joints\)",
    r"springs on free joints \(1\)", r"armature or friction on free joints \(1\)",
    r"fluid \(density 1000, viscosity 0\.1\)", r"leaves out what its file has: collisions \(3 geoms.*, actuators \(3\)",
]  # fmt: skip
QUIET = [r"tendons \(1\) that exert no force by themselves"]


def test_each_kind_that_is_not_carried_is_one_warning():
    """Tendons without a force of their own are no warning; check lists them all the same."""
    with pytest.warns(sixd.ModelWarning) as caught:
        model = sixd.load(RICH)
    assert len(caught) == len(LEFT_OUT)
    assert {w.filename for w in caught} == {__file__}
    texts, found = "\n".join(str(w.message) for w in caught), sixd.check(model)
    for pattern in LEFT_OUT:
        assert re.search(pattern, texts), pattern
    for pattern in LEFT_OUT + QUIET:
        assert any(f.code == "not-carried" and re.search(pattern, f.message) for f in found), pattern


def test_flexible_bodies_are_not_carried():
    """Their nodes are bodies like others; the elasticity between them is left out."""
    flex = "<flexcomp name='c' type='grid' count='2 2 1' spacing='.1 .1 .1' dim='2' mass='1'/>"
    with pytest.warns(sixd.ModelWarning, match=r"flexible bodies \(1\)|MuJoCo says: flex 'c'") as caught:
        model = sixd.load(document(flex))
    assert (model.nv, len(caught)) == (12, 2)


def test_a_plain_file_gives_no_warning():
    """Nor does one with contacts, limits and a chain of massless bodies (warnings are errors in these tests)."""
    joints = "<joint type='slide'/><joint axis='0 1 0' range='-1 1' frictionloss='1'/>"
    assert sixd.load(document(f"<geom type='plane' size='1 1 1'/><body>{joints}{BOX}</body>")).notes == ()


def test_mujocos_own_remarks_are_warnings(tmp_path, monkeypatch):
    """They reach the user as warnings, not as a log file in the working folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.warns(sixd.ModelWarning, match="MuJoCo says.*settotalmass"):
        sixd.load(document(HINGE, "<compiler settotalmass='3'/>"))
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody></mujoco>", "line 1: the XML is broken"),
        ("<mujoco><worldbod/></mujoco>", "MuJoCo cannot compile.*unrecognized element.*worldbod"),
        (document("<body><joint/></body>"), "mass and inertia of moving bodies"),
        (document(f"<body><joint axis='0 0 0'/>{BOX}</body>"), "axis too small"),
        (document(f"<body>{BOX}<body><freejoint/>{BOX}</body></body>"), "free joint can only be used on top level"),
        (document(f"<body name='world'>{BOX}</body>"), "repeated name 'world'"),
        (document("<include file='nowhere.xml'/>"), r"nowhere\.xml.*pass the path"),
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><mujoco/>", "DTD"),
    ],
)
def test_broken_files(text, message):
    """One clear error with MuJoCo's words."""
    with pytest.raises(sixd.LoadError, match=message) as caught:
        sixd.load(text)
    assert "\n" not in str(caught.value)


def test_errors_name_file_and_body(tmp_path):
    """The file that was included, the line and the innermost named body, where these are certain."""
    part = "<mujocoinclude>\n\n<body name='arm'>\n<joint axis='0 0 0'/>\n<geom size='1'/></body></mujocoinclude>"
    cases = {
        "whole.xml": ("<include file='part.xml'/>", "part.xml, line 4, body 'arm': MuJoCo cannot compile"),
        "range.xml": (
            f"\n<body name='q'><joint range='2 1' limited='true'/>{BOX}</body>",
            "range.xml, line 2, body 'q'",
        ),
        "name.xml": (f"\n<body name='q'>\n<joint axs='1 0 0'/>{BOX}</body>", "name.xml, line 3, body 'q'"),
        "bare.xml": ("\n<body name='q'><body>\n<joint/></body></body>", "bare.xml, line 2, body 'q'"),
        "mesh.xml": ("<body><geom type='mesh' mesh='none'/></body>", "mesh.xml, line 1: MuJoCo cannot compile"),
    }
    (tmp_path / "part.xml").write_text(part)
    for name, (bodies, expected) in cases.items():
        (tmp_path / name).write_text(document(bodies))
        with pytest.raises(sixd.LoadError) as caught:
            sixd.load(tmp_path / name)
        assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(("pos", "size"), [("nan 0 0", "1"), ("0 0 0", "1e200")])
def test_numbers_that_mujoco_takes_name_the_body(tmp_path, pos, size):
    file = tmp_path / "arm.xml"
    body = f"<body name='forearm' pos='{pos}'><joint/><geom size='{size}'/></body>"
    file.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    with pytest.raises(sixd.LoadError, match=r"^arm\.xml: body 'forearm': .* expected finite numbers"):
        sixd.load(file)


def test_files_behind_links(tmp_path):
    """Included files are found next to the file itself, even if the path is a link to it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/part.xml").write_text(f"<mujocoinclude>{HINGE}</mujocoinclude>")
    (tmp_path / "real/robot.xml").write_text(document("<include file='part.xml'/>"))
    (tmp_path / "robot.xml").symlink_to(tmp_path / "real/robot.xml")
    assert sixd.load(tmp_path / "robot.xml").nv == 1


def test_other_bytes(tmp_path):
    (tmp_path / "wide.xml").write_bytes(document(HINGE).encode("utf-16"))
    with pytest.raises(sixd.LoadError, match="wide.xml: the text is not UTF-8, expected an MJCF file in UTF-8"):
        sixd.load(tmp_path / "wide.xml")
    with pytest.raises(sixd.LoadError, match="not UTF-8"):
        sixd.load("<?xml version='1.0' encoding='latin-1'?><mujoco model='\xe9'/>".encode("latin-1"))


def test_hostile_includes(tmp_path):
    """An included file that includes itself is an error; entities of an included DTD are not expanded."""
    path = tmp_path / "a.xml"
    path.write_text(document("<include file='a.xml'/>"))
    with pytest.raises(sixd.LoadError, match="already included"):
        sixd.load(path)
    body = "<body name='&x;'><joint/><geom size='1'/></body>"
    bomb = f"<!DOCTYPE b [<!ENTITY x 'yyyy'>]><mujocoinclude>{body}</mujocoinclude>"
    (tmp_path / "b.xml").write_text(bomb)
    path.write_text(document("<include file='b.xml'/>"))
    assert sixd.load(path).body_names == ("&x;",)


def test_floating_base_is_for_urdf():
    with pytest.raises(sixd.LoadError, match="freejoint"):
        sixd.load(document(HINGE), floating_base=True)


def test_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(sixd.MissingPackageError, match=r"pip install mujoco-core"):
        sixd.load("<mujoco/>")
