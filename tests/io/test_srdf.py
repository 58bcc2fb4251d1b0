"""SRDF files: group states as named configurations, and pairs of links that may touch."""

import pickle

import numpy as np
import pytest

import sixd
from robots import ROBOTS, quiet_load, require_file
from urdf_text import joint, link, robot

pytestmark = pytest.mark.one_target

FINGER = joint("finger", "b", "c", "prismatic", inside="<axis xyz='0 0 1'/>")
FOLLOWER = joint(
    "follower", "b", "d", "prismatic", inside="<axis xyz='0 0 1'/><mimic joint='finger' multiplier='-2' offset='0.1'/>"
)
ARM = robot(
    link("a"),
    link("b"),
    link("c"),
    link("d"),
    link("e"),
    joint("elbow", "a", "b"),
    FINGER,
    FOLLOWER,
    joint("weld", "d", "e", "fixed"),
)


def srdf(*parts):
    return f"<robot name='r'>{''.join(parts)}</robot>"


def state(name, group, **values):
    joints = "".join(f"\n<joint name='{key}' value='{value}'/>" for key, value in values.items())
    return f"\n<group_state name='{name}' group='{group}'>{joints}</group_state>"


def test_group_states_are_configurations():
    """Joints that a state leaves out are neutral, and mimic joints follow."""
    model = sixd.load(ARM, srdf=srdf(state("home", "arm", elbow=0.5), state("open", "hand", finger=0.2)))
    assert model.configuration_names == ("home", "open")
    assert model.configuration("home").tolist() == [0.5, 0, 0]
    np.testing.assert_allclose(model.configuration("open"), [0, 0.2, 0.1 - 0.4])


def test_states_of_a_name_in_several_groups():
    model = sixd.load(ARM, srdf=srdf(state("home", "arm", elbow=0.5), state("home", "hand", finger=0.2)))
    assert model.configuration_names == ("arm/home", "hand/home")


def test_a_file_or_bytes_or_text(tmp_path):
    text = srdf(state("home", "arm", elbow=0.5))
    (tmp_path / "r.srdf").write_text(text)
    for source in (text, text.encode(), tmp_path / "r.srdf", str(tmp_path / "r.srdf")):
        assert sixd.load(ARM, srdf=source).configuration("home")[0] == 0.5


def test_joints_of_several_coordinates():
    """In MoveIt's order: x y angle for planar joints, position and quaternion xyzw for floating ones."""
    text = robot(link("a"), link("b"), link("c"), joint("p", "a", "b", "planar"), joint("f", "b", "c", "floating"))
    half = np.sqrt(0.5)
    model = sixd.load(text, srdf=srdf(state("s", "g", p="1 2 0.3", f=f"4 5 6 {half} 0 0 {half}")))
    assert model.configuration("s").tolist() == [0.3, 1, 2, half, half, 0, 0, 4, 5, 6]


def test_disabled_pairs_are_kept_by_edits():
    pairs = "<disable_collisions link1='a' link2='b' reason='Adjacent'/><disable_collisions link1='c' link2='d'/>"
    model = sixd.load(ARM, srdf=srdf(pairs))
    assert model.disabled_collisions == (("a", "b"), ("c", "d"))
    assert pickle.loads(pickle.dumps(model)).disabled_collisions == model.disabled_collisions
    assert model.lock({"elbow": 0.3}).disabled_collisions == model.disabled_collisions
    assert model.with_frame("x", "c").disabled_collisions == model.disabled_collisions
    with pytest.warns(sixd.ModelWarning, match="Mimic.* is dropped"):
        assert model.submodel("c").disabled_collisions == ()
    both = sixd.zoo.pendulum().attach(model, "world", prefix="left_")
    assert both.disabled_collisions == (("left_a", "left_b"), ("left_c", "left_d"))


def test_what_does_not_fit_is_reported():
    with pytest.warns(sixd.ModelWarning, match="line 3: state 'home': no joint named 'elbw'. Did you mean 'elbow'"):
        model = sixd.load(ARM, srdf=srdf(state("home", "arm", elbw=0.5)))
    assert model.configuration("home").tolist() == [0, 0, 0]
    model = sixd.load(ARM, srdf=srdf(state("home", "arm", weld=0)))  # does not move: nothing is lost
    pair = "<disable_collisions link1='a' link2='z'/>"
    model = sixd.load(ARM, srdf=srdf(pair, "<virtual_joint name='v' type='floating' parent_frame='w' child_link='a'/>"))
    assert model.disabled_collisions == ()
    assert {f.code for f in sixd.check(model)} >= {"disabled-pair", "virtual-joint"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<sdf/>", r"the root tag is <sdf>, expected <robot> \(SRDF\)"),
        (ARM, "it is a URDF, expected an SRDF. Exchange the two files"),
        (srdf(state("home", "arm", elbow="x")), "line 3: .*'x' is not a finite number"),
        (srdf(state("home", "arm", elbow="nan")), "line 3: .*NaN is not a quantity"),
        (srdf(state("home", "arm", elbow="1 2")), "line 3: .*has 2 numbers, expected 1"),
        (srdf("\n<group_state group='arm'/>"), "line 2: <group_state> has no attribute 'name'"),
        (srdf("\n<disable_collisions link1='a'/>"), "line 2: <disable_collisions> has no attribute 'link2'"),
        ("<!DOCTYPE a><robot/>", "has a DTD"),
    ],
)
def test_broken_files(text, message):
    with pytest.raises(sixd.LoadError, match=message):
        sixd.load(ARM, srdf=text)


def test_a_missing_file(tmp_path):
    with pytest.raises(sixd.LoadError, match="cannot read"):
        sixd.load(ARM, srdf=tmp_path / "none.srdf")


def test_files_of_robots():
    """The Panda's and Talos's SRDF, with the names and values that the files have."""
    folder = require_file(ROBOTS / "panda_description" / "srdf" / "panda.srdf").parent.parent
    panda = quiet_load(folder / "urdf" / "panda.urdf", srdf=folder / "srdf" / "panda.srdf")
    assert panda.configuration_names
    assert len(panda.disabled_collisions) > 10
    for name in panda.configuration_names:
        q = panda.configuration(name)
        assert all(abs(c.position(panda, q)).max() < 1e-15 for c in panda.constraints)
