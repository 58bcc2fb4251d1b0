"""SDF files that are broken or hostile: each is one LoadError with the file and line, at once."""

import os

import pytest

import sixd
from sdf_text import joint, link, model, sdf

TWO = link("a") + link("b", "1 0 0 0 0 0")
pytestmark = pytest.mark.one_target


def posed(pose):
    return sdf(model(link("a").replace("<inertial>", f"{pose}<inertial>", 1)))


def axis(inside):
    return sdf(model(TWO + joint(inside=inside)))


def included(uri):
    return sdf(model(link("a") + f"\n<include><uri>{uri}</uri></include>"))


AUTO = "<link name='a'><inertial auto='true'/>{}</link>"
SHAPE = "<collision name='c'><geometry>{}</geometry></collision>"
BROKEN = {
    "an entity bomb": ("<!DOCTYPE x [<!ENTITY a 'aa'><!ENTITY b '&a;&a;'>]><sdf version='1.6'/>", 1, "has a DTD"),
    "no version": ("<sdf/>", 1, "<sdf> has no attribute 'version'"),
    "an old version": (sdf(model(TWO), "1.3"), 1, "SDF 1.3 is not supported, expected 1.4 to 1.12"),
    "a new version": (sdf(model(TWO), "1.99"), 1, "SDF 1.99 is not supported"),
    "a version of words": (sdf(model(TWO), "1.x"), 1, "expected a version such as 1.9"),
    "a huge version": (sdf(model(TWO), "1." + "9" * 9999), 1, "expected a version such as 1.9"),
    "nothing": ("<sdf version='1.9'/>", 1, "<sdf> has no <model>"),
    "an empty world": ("<sdf version='1.9'>\n<world name='w'/></sdf>", 2, "<world> has no <model>"),
    "an empty model": (sdf(model("")), 2, "model 'm' has no <link>"),
    "two worlds": ("<sdf version='1.9'><world name='v'/>\n<world name='w'/></sdf>", 2, "the file has 2 worlds"),
    "a world and a model": (sdf("<world name='w'/>" + model(TWO)), 1, "a world and a model outside it"),
    "a link in the world": (sdf(f"<world name='w'>{TWO}</world>"), 2, "a <link> is directly in the world"),
    "NaN": (posed("<pose>nan 0 0 0 0 0</pose>"), 3, "'nan' is not a finite number. NaN is not a quantity"),
    "infinity": (posed("<pose>0 0 inf 0 0 0</pose>"), 3, "'inf' is not a finite number"),
    "beyond floats": (sdf(model("<link name='a'><inertial><mass>1e999</mass></inertial></link>")), 2, "'1e999' is not a finite"),
    "five numbers": (posed("<pose>0 0 0 0 0</pose>"), 3, "<pose>0 0 0 0 0</pose> has 5 numbers, expected 6"),
    "a thousand numbers": (posed(f"<pose>{'0 ' * 1000}</pose>"), 3, "has 1000 numbers, expected 6"),
    "a zero quaternion": (posed("<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 0</pose>"), 3, "a zero quaternion"),
    "a rotation format": (posed("<pose rotation_format='axis'>0 0 0 0 0 0</pose>"), 3, "expected 'euler_rpy' or 'quat_xyzw'"),
    "a flag": (sdf(model("\n<static>maybe</static>" + TWO)), 3, "<static> is 'maybe', expected true or false"),
    "two links of a name": (sdf(model(TWO + link("a"))), 5, "a second link named 'a' (the first, a <link>, is on line 3)"),
    "two joints of a name": (sdf(model(TWO + joint() + joint(parent="b", child="a"))), 6, "a second joint named 'j'"),
    "two models of a name": (sdf(model(TWO) + model(TWO), "1.6"), 6, "a second model named 'm'"),
    "a reserved name": (sdf(model(link("__x__"))), 3, "the name is reserved in SDF"),
    "a link called world": (sdf(model(link("world"))), 3, "a <link> is named 'world', which in SDF is the fixed frame"),
    "our prefix": (sdf(model(link("joint:x"))), 3, "the prefix 'joint:' is reserved for frames"),
    "no name": (sdf(model("\n<link/>")), 3, "<link> has no attribute 'name'"),
    "relative to itself": (posed("<pose relative_to='a'>0 0 0 0 0 0</pose>"), 3, "a cycle by relative_to: a -> a"),
    "a cycle": (
        sdf(model(TWO.replace("<pose>", "<pose relative_to='c'>") + link("c", "0 0 0 0 0 0").replace("<pose>", "<pose relative_to='b'>"))),
        4, "the frames form a cycle by relative_to: b -> c -> b",
    ),
    "a cycle through a joint": (
        sdf(model(link("a") + link("b", "0 0 0 0 0 0").replace("<pose>", "<pose relative_to='j'>") + joint())),
        4, "the frames form a cycle by relative_to: b -> joint:j -> b",
    ),
    "attached in a circle": (
        sdf(model(link("a") + "\n<frame name='f' attached_to='g'><pose relative_to='a'/></frame>\n<frame name='g' attached_to='f'/>")),
        4, "a cycle by attached_to: f -> g -> f",
    ),
    "a model relative to its own link": (
        sdf("<world name='w'>" + model(TWO, pose="0").replace("<pose>0", "<pose relative_to='m::a'>") + "</world>"),
        2, "a cycle by relative_to",
    ),
    "no such frame": (posed("<pose relative_to='aa'>0 0 0 0 0 0</pose>"), 3, "no link, joint, frame or model named 'aa'"),
    "the world in a model": (posed("<pose relative_to='world'>0 0 0 0 0 0</pose>"), 3, "'world', which is not known inside a model"),
    "no such canonical link": (sdf(model(TWO, attributes="canonical_link='q'")), 2, "the canonical link: no link"),
    "no such placement frame": (sdf(model(TWO, attributes="placement_frame='q'")), 2, "the placement frame: no link"),
    "no such parent": (sdf(model(TWO + joint(parent="c"))), 5, "joint 'j': <parent>: no link, joint, frame or model named 'c'"),
    "no parent": (sdf(model(TWO + "\n<joint name='j' type='fixed'><child>a</child></joint>")), 5, "<joint> has no <parent>"),
    "a child that is the world": (sdf(model(TWO + joint(child="world"))), 5, "has the child 'world'. Exchange"),
    "a joint on itself": (sdf(model(TWO + joint(child="j"))), 5, "joint 'j' is its own child"),
    "a joint of one link": (sdf(model(TWO + joint(child="a"))), 5, "joint 'j' connects 'a' with itself"),
    "revolute2": (sdf(model(TWO + joint(kind="revolute2"))), 5, "the type 'revolute2' (two axes), which is not supported"),
    "gearbox": (sdf(model(TWO + joint(kind="gearbox"))), 5, "the type 'gearbox'"),
    "an unknown type": (sdf(model(TWO + joint(kind="hinge"))), 5, "no joint type named 'hinge'"),
    "no type": (sdf(model(TWO + "\n<joint name='j'><parent>a</parent><child>b</child></joint>")), 5, "no attribute 'type'"),
    "no axis": (axis(""), 5, "joint 'j' (revolute) has no <axis>"),
    "no direction": (axis("<axis/>"), 5, "<axis> has no <xyz>"),
    "a zero axis": (axis("<axis><xyz>0 0 0</xyz></axis>"), 5, "has the axis [0.0, 0.0, 0.0], expected a direction"),
    "one axis of two": (sdf(model(TWO + joint(kind="universal"))), 5, "joint 'j' (universal) has no <axis2>"),
    "a crooked universal joint": (
        sdf(model(TWO + joint(kind="universal", inside="<axis><xyz>0 0 1</xyz></axis><axis2><xyz>0 1 1</xyz></axis2>"))),
        5, "are not at right angles",
    ),
    "a thread of zero": (
        sdf(model(TWO + joint(kind="screw", inside="<axis><xyz>0 0 1</xyz></axis><thread_pitch>0</thread_pitch>"))),
        5, "<thread_pitch> is zero",
    ),
    "a leader that does not exist": (
        axis("<axis><xyz>0 0 1</xyz><mimic joint='k'><multiplier>1</multiplier></mimic></axis>"), 5, "mimic: no joint named 'k'",
    ),
    "a loop by a screw": (
        sdf(model(TWO + link("c") + joint() + joint("k", parent="b", child="c") + joint("s", "screw", "c", "a"))),
        8, "joint 's' (screw) closes a loop of links, which is supported for fixed, ball",
    ),
    "automatic inertia of a mesh": (sdf(model(AUTO.format(SHAPE.format("<mesh/>")))), 2, "the inertia of <mesh> is not computed"),
    "automatic inertia of nothing": (sdf(model(AUTO.format(""))), 2, "no <collision> has a volume"),
    "a negative radius": (
        sdf(model(AUTO.format(SHAPE.format("<sphere><radius>-1</radius></sphere>")))), 2, "radius is -1.0, expected a finite length",
    ),
    "gravity": (sdf("<world name='w'>\n<gravity>0 nan 0</gravity>" + model(TWO) + "</world>"), 2, "'nan' is not a finite"),
    "models without end": (
        sdf("".join(f"\n<model name='m{i}'><link name='a'/>" for i in range(3000)) + "</model>" * 3000),
        102, "models are nested more than 100 levels deep",
    ),
    "an include without a URI": (sdf(model(TWO + "\n<include/>")), 5, "<include> has no <uri>"),
    "an include of a text": (included("x.sdf"), 4, "the included 'x.sdf' is not found in package_dirs; a text has no folder"),
    "an include from a network": (included("https://fuel.gazebosim.org/1.0/x"), 4, "is on a network, expected a file"),
    "an include of a device": (included("/dev/zero"), 4, "the included '/dev/zero' is not found"),
    "an include of a long path": (included("a/" * 3000), 4, "has 4096 characters or more"),
    "a merge in a world": (
        sdf("<world name='w'><include merge='true'><uri>x</uri></include></world>"), 1, "the included 'x' is not found",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_files(kind):
    text, line, message = BROKEN[kind]
    with pytest.raises(sixd.LoadError) as caught:
        sixd.load(text)
    assert str(caught.value).startswith(f"<text>, line {line}: "), caught.value
    assert message in str(caught.value)


def test_wrong_roots():
    with pytest.raises(sixd.LoadError, match=r"the root tag is <model>, expected <robot> \(URDF\), <sdf> \(SDF\) or"):
        sixd.load("<model/>")


FILES = {
    "a.sdf": included("b.sdf"),
    "b.sdf": included("a.sdf"),
    "self.sdf": included("self.sdf"),
    "robot.urdf": "<robot name='r'><link name='a'/></robot>",
    "urdf.sdf": included("robot.urdf"),
    "world.sdf": sdf(f"<world name='w'>{model(TWO)}</world>"),
    "of_world.sdf": included("world.sdf"),
    "half.sdf": "<sdf version='1.9'>\n<model>",
    "of_half.sdf": included("half.sdf"),
    "dtd.sdf": "<!DOCTYPE a><sdf/>",
    "of_dtd.sdf": included("dtd.sdf"),
    "text.sdf": "hello",
    "of_text.sdf": included("text.sdf"),
    "inner.sdf": sdf(model("\n\n" + link("a", "0 0"))),
    "of_inner.sdf": included("inner.sdf"),
    "still.sdf": sdf(model("<static>1</static>" + link("x"))),
    "of_still.sdf": included("still.sdf").replace("<include>", "<include merge='true'>"),
}
WRONG = {
    "a.sdf": "b.sdf, line 4: the files include each other: a.sdf -> b.sdf -> a.sdf",
    "self.sdf": "self.sdf, line 4: the files include each other: self.sdf -> self.sdf",
    "urdf.sdf": "urdf.sdf, line 4: 'robot.urdf' has the root tag <robot>, expected <sdf>",
    "of_world.sdf": "of_world.sdf, line 4: 'world.sdf' holds a <world>, expected one model",
    "of_half.sdf": "half.sdf, line 2: the XML is broken",
    "of_dtd.sdf": "dtd.sdf, line 1: the file has a DTD",
    "of_text.sdf": "of_text.sdf, line 4: cannot include",
    "of_inner.sdf": "inner.sdf, line 5: <pose>0 0</pose> has 2 numbers, expected 6",
    "of_still.sdf": "a static model is merged into one that moves",
    "of_pipe.sdf": "of_pipe.sdf, line 4: the included 'pipe.sdf' is not found next to of_pipe.sdf",
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_includes(name, tmp_path):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.sdf")
    (tmp_path / "of_pipe.sdf").write_text(included("pipe.sdf"))
    with pytest.raises(sixd.LoadError) as caught:
        sixd.load(tmp_path / name)
    assert WRONG[name] in str(caught.value)


def test_includes_that_double_are_stopped(tmp_path, monkeypatch):
    """Thirty files that each include the next one twice would be a billion models."""
    monkeypatch.setattr("sixd.io.sdf.includes._MOST_INCLUDES", 200)
    two = "<include><name>p</name><uri>{0}.sdf</uri></include><include><name>q</name><uri>{0}.sdf</uri></include>"
    for k in range(30):
        (tmp_path / f"{k}.sdf").write_text(sdf(model(link("a") + two.format(k + 1))))
    (tmp_path / "30.sdf").write_text(sdf(model(link("a"))))
    with pytest.raises(sixd.LoadError, match="includes more than 200 models"):
        sixd.load(tmp_path / "0.sdf")


@pytest.mark.long
def test_long_chains_load():
    """A thousand links, each relative to the one before it."""
    pose = "<pose relative_to='l{}'>0 0 1 0 0 0</pose>"
    links = [link(f"l{k}", inside=pose.format(k - 1) if k else "") for k in range(1000)]
    joints = [joint(f"j{k}", parent=f"l{k - 1}", child=f"l{k}") for k in range(1, 1000)]
    for static, nv in (("", 1005), ("<static>1</static>", 0)):
        loaded = sixd.load(sdf(model(static + "".join(links + joints))))
        assert loaded.nv == nv
    assert loaded.frames["l999"].pose[2, 3] == 999
