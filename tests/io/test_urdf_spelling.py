"""What a URDF file says in names that URDF does not know: misspelt, repeated, foreign, or of xacro."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import ROBOTS, all_urdfs, require_file
from sixd.io.urdf.spelling import edits, nearest, spelling_findings
from sixd.io.xml import parse
from urdf_text import CHAIN, fails, joint, link, robot


def warnings_of(text, **options):
    """The model and the warnings of a load."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = sixd.load(text, **options)
    assert all(w.category is sixd.ModelWarning and w.filename == __file__ for w in caught)
    return model, [str(w.message) for w in caught]


def arm(inside, extra=""):
    return robot(link("a"), link("b", extra=extra), joint("j", "a", "b", inside=inside))


# xacro -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        "<xacro:include filename='x'/>", "<xacro:arm parent='b'/>", "<xacro:macro name='m'/>", "<xacro:property name='p' value='1'/>",
        "<link name='c'><xacro:if value='1'/></link>", "<link name='${prefix}c'/>", "<gazebo reference='$(arg prefix)b'/>",
    ],
)  # fmt: skip
def test_unexpanded_xacro_is_refused(part):
    """Any tag of xacro's and any expression in an attribute, wherever it is, with the way to expand it."""
    text = CHAIN.replace("</robot>", f"{part}</robot>")
    fails(text, "<text>, line 7: the file is xacro", "expand it first (xacro robot.urdf.xacro > robot.urdf)")


def test_another_prefix_of_xacro_is_refused():
    text = CHAIN.replace("<robot ", "<robot xmlns:x='http://www.ros.org/wiki/xacro' ")
    assert sixd.load(text).nv == 2
    fails(text.replace("</robot>", "<x:arm/></robot>"), "<x:arm> is not expanded")


def test_expanded_xacro_loads():
    """Files that xacro wrote keep the declaration of its name space; dollars mean nothing."""
    text = CHAIN.replace("<robot ", "<robot xmlns:xacro='http://www.ros.org/wiki/xacro' ")
    assert sixd.load(text.replace("'r'", "'$r'")).name == "$r"


# orientations ------------------------------------------------------------------------------------


def test_quaternions_of_origins():
    """quat_xyzw, of any length, is the rotation that rpy would give."""
    half = np.sin(np.pi / 6), np.cos(np.pi / 6)
    turned = sixd.load(arm(f"<origin xyz='1 2 3' quat_xyzw='0 0 {3 * half[0]} {3 * half[1]}'/>"))
    expected = sixd.load(arm(f"<origin xyz='1 2 3' rpy='0 0 {np.pi / 3}'/>"))
    assert_allclose(turned.placement[1], expected.placement[1], atol=1e-15)
    visual = "<visual><origin quat_xyzw='1 0 0 0'/><geometry><sphere radius='1'/></geometry></visual>"
    assert_allclose(sixd.load(arm("", visual)).visuals[0].pose, np.diag([1, -1, -1, 1]))
    fails(arm("<origin quat_xyzw='0 0 0 0'/>"), "line 4: <origin> has a zero quaternion")
    fails(arm("<origin quat_xyzw='0 0 1'/>"), "has 3 numbers, expected 4")
    fails(arm("<origin rpy='0 0 0' quat_xyzw='0 0 0 1'/>"), "both rpy and quat_xyzw")


# names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "element", "near"),
    [
        ("<orgin xyz='1 0 0'/>", "<joint> has no <orgin>", "<origin>"),
        ("<Axis xyz='0 0 1'/>", "<joint> has no <Axis>", "<axis>"),
        ("<axis xzy='0 0 1'/>", "<axis> has no attribute 'xzy'", "'xyz'"),
        ("<limit low='-1' upper='1'/>", "<limit> has no attribute 'low'", "'lower'"),
        ("<limit lower='-1' uper='1'/>", "<limit> has no attribute 'uper'", "'upper'"),
        ("<dynamics dampping='1'/>", "<dynamics> has no attribute 'dampping'", "'damping'"),
        ("<origin rpi='1 0 0'/>", "<origin> has no attribute 'rpi'", "'rpy'"),
    ],
)
def test_misspelt_names_warn(inside, element, near):
    """One warning, with the file, the line, the element and the name that was meant."""
    model, texts = warnings_of(arm(inside))
    (text,) = [t for t in texts if "limit" not in t or "limit" in element]
    assert text.startswith(f"load: 'r': j: <text>, line 4: {element} in URDF, it is ignored; did you mean {near}?")
    assert [(f.code, f.where) for f in sixd.check(model) if f.code == "misspelt"] == [("misspelt", "j")]


def test_a_misspelt_multiplier():
    text = CHAIN.replace("</joint>\n</robot>", "<mimic joint='j1' multiplyer='2'/></joint>\n</robot>")
    _, (message,) = warnings_of(text)
    assert "j2: <text>, line 6: <mimic> has no attribute 'multiplyer'" in message
    assert "did you mean 'multiplier'?" in message


def test_text_instead_of_attributes():
    """<axis>0 1 0</axis> would leave the axis along x."""
    _, (text,) = warnings_of(arm("<axis>0 1 0</axis>"))
    assert "j: <text>, line 4: the text '0 1 0' in <axis> is ignored; write it as an attribute (xyz)" in text


def test_foreign_tags_are_silent():
    """What other programs read is passed over with all that it holds, near names included."""
    foreign = (
        "<gazebo reference='b'><orgin/></gazebo><transmission name='t'><joint name='j'><limt/></joint></transmission>"
        "<ros2_control name='c'/><drake:joint/><link name='b2'><contact><lateral_friction value='1'/></contact></link>"
        "<joint name='f' type='fixed'><parent link='b'/><child link='b2'/><hardwareInterface/></joint>"
    )
    _, texts = warnings_of(CHAIN.replace("</robot>", f"{foreign}</robot>"))
    assert texts == []


def test_no_false_alarms():
    """No name in some eighty robot files is reported as a misspelling."""
    require_file(ROBOTS)
    files = [path for path in all_urdfs() if path.stat().st_size > 100]
    assert len(files) > 80
    found = {path.name: list(spelling_findings(parse(path.read_bytes(), path.name))) for path in files}
    assert {name: f for name, f in found.items() if f} == {}


def test_edits():
    """Letters added, left out, replaced, exchanged; less than half of a name."""
    assert [edits(a, "origin") for a in ("origin", "gazebo", "")] == [0, 6, 6]
    assert [edits(a, "origin") for a in ("orgin", "orgiin", "oirgin", "0rigin")] == [1, 1, 1, 1]
    assert nearest("origin", ["origin"]) is None
    assert nearest("blob", ["box", "mesh"]) is None
    assert nearest("ixz", ["ixx", "ixz"]) is None
    assert nearest("lenght", ["radius", "length"]) == "length"


def test_repeated_elements():
    """The first <inertial> is used, and a warning names the second."""
    model, (text,) = warnings_of(arm("<axis xyz='0 0 1'/>", "<inertial><mass value='9'/></inertial>"))
    assert model.mass == 1
    assert "b: <text>, line 3: a second <inertial> is ignored, the first is used" in text


# numbers -----------------------------------------------------------------------------------------


def test_limits_in_the_wrong_order_are_ignored():
    """The intention is unknown: the joint has no limits, and the warning says so."""
    model, (text,) = warnings_of(arm("<axis xyz='0 0 1'/><limit lower='2' upper='-1' effort='3'/>"))
    assert (
        text == "load: 'r': j: the lower limit 2 is above the upper -1; the joint is left without limits: correct them."
    )
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, np.inf, 3)
    assert [f.code for f in sixd.check(model)] == ["limits"]


def test_zero_inertias_are_missing():
    """Zeros in the file are reported like a missing inertia, unless a fixed body with mass is merged with it."""
    zero = "<link name='b'><inertial><mass value='0'/><inertia ixx='0' iyy='0' izz='0'/></inertial></link>"
    model, (text,) = warnings_of(robot(link("a"), zero, joint("j", "a", "b")))
    assert "b: it has no inertia, zero is assumed" in text
    assert "missing-inertia" in [f.code for f in sixd.check(model)]
    assert (
        warnings_of(robot(link("a"), zero, link("c"), joint("j", "a", "b"), joint("f", "b", "c", "fixed", "")))[1] == []
    )


@pytest.mark.parametrize("text", ["٠ ٠ ١", "0 0 １", "0 0 1e٢"])
def test_digits_of_other_scripts_are_refused(text):
    fails(arm(f"<axis xyz='{text}'/>"), "line 4", "is not a finite number. Write it in the digits 0 to 9.")


def test_negative_properties_warn():
    """Loading warns of what check lists, once for each kind, with the names."""
    inside = "<axis xyz='0 0 1'/><dynamics damping='-1' friction='-2'/><limit effort='-3' velocity='-4' lower='0' upper='1'/>"
    model, (text,) = warnings_of(
        robot(*(link(n) for n in "abc"), joint("j", "a", "b", inside=inside), joint("k", "b", "c", inside=inside))
    )
    assert "j, k: its damping is negative (-1)" in text
    assert "more of this kind" in text
    assert len([f for f in sixd.check(model) if f.code == "negative-property"]) == 8
    assert sixd.check(model.without_passive())[0].message.startswith("its effort limit")


def test_one_warning_for_each_kind():
    """Of ten bare links the first are named and the rest counted; different faults of one kind are in one warning."""
    names = [f"l{k}" for k in range(10)]
    bare = [f"<link name='{n}'/>" for n in names]
    bad = [link("x", mass=-1), link("y", mass=-2)]
    joints = [joint(f"j{n}", "base", n) for n in [*names, "x", "y"]]
    _, texts = warnings_of(robot(link("base"), *bare, *bad, *joints))
    assert len(texts) == 2
    negative, missing = texts
    assert "l0, l1, l2, l3, l4, l5 and 4 more: it has no inertia" in missing
    assert "x: no real body" in negative
    assert "(-1 kg)" in negative
    assert "y: no real body" in negative


def test_huge_numbers_cause_no_other_warnings():
    sixd.load(CHAIN.replace("'1.0'", "'1e308'").replace("'.1'", "'1e308'"))
    fails(CHAIN.replace("'1.0'", f"'{'9' * 200_000}x'"), "'999", "…' is not a finite number")
