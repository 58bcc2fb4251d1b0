"""MJCF scenes: bodies begin where the file has them, and one remark says what MuJoCo simulates in addition."""

import re
import warnings

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from commands import caller
from peers import mujoco
from sixd.viewer.scene.scene import make_scene

pytestmark = pytest.mark.one_target

SCENE = """<mujoco model="bench">
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="table" pos=".5 0 .2"><geom type="box" size=".3 .3 .2"/></body>
    <body name="one" pos=".4 0 .45"><freejoint name="one"/><geom type="box" size=".05 .05 .05"/></body>
    <body name="two" pos=".6 .1 .5" euler="20 0 30"><freejoint name="two"/><geom type="box" size=".05 .05 .05"/></body>
    <body name="upper" pos="0 0 .5"><joint name="shoulder" axis="0 1 0" range="-90 90"/><geom size=".05"/>
      <body name="fore" pos=".3 0 0"><joint name="elbow" axis="0 1 0" range="-120 120" ref="10"/><geom size=".04"/></body>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="50"/><motor joint="elbow"/></actuator>
  <keyframe><key name="home" qpos=".4 0 .45 1 0 0 0 .6 .1 .45 1 0 0 0 .2 .3"/></keyframe>
</mujoco>"""
ARM = """<mujoco model="arm"><worldbody><body><joint axis="0 1 0"/><geom size=".1" pos="0 0 .3"/></body></worldbody></mujoco>"""


@pytest.fixture(autouse=True)
def _reader():
    """MuJoCo reads the files: without it the tests are skipped."""
    assert mujoco.MjModel


def remarks(text):
    """The remarks on a scene that loading it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sixd.load(text)
    return [str(w.message) for w in caught if "leaves out what its file has" in str(w.message)]


# the configuration of the file ---------------------------------------------------------------------


def test_the_configuration_of_the_file_is_qpos0():
    """Bodies are where MuJoCo has them before its first step; neutral is that of the joints alone."""
    model, theirs = sixd.load(SCENE), mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    q = model.configuration("file")
    assert model.configuration_names == ("home", "file")
    assert_allclose(sixd.interop.to_mujoco(model, q, mujoco_model=theirs), theirs.qpos0, atol=1e-15)
    for name in model.body_names:
        assert_allclose(sixd.pose(model, q, name)[:3, 3], data.body(name).xpos, atol=1e-15)
        assert_allclose(sixd.pose(model, q, name)[:3, :3], data.body(name).xmat.reshape(3, 3), atol=1e-14)
    assert_array_equal(model.neutral()[:7], [1, 0, 0, 0, 0, 0, 0])


def test_motions_start_where_the_file_has_the_bodies(capsys, tmp_path, monkeypatch):
    """None means one thing: in simulate, ensemble and step, of reduced models, in the page and in the command."""
    model = sixd.load(SCENE)
    start = model.configuration("file")
    assert_array_equal(model.initial_configuration(), start)
    assert_array_equal(sixd.simulate(model, None, None, 0.01).q[0], start)
    assert_array_equal(sixd.ensemble(model, None, None, 0.01, count=2).q[:, 0], [start, start])
    for explicit, default in zip(sixd.step(model, start, None, 1e-3), sixd.step(model, None, None, 1e-3), strict=True):
        assert_array_equal(explicit, default)
    assert make_scene(model)["q"] == start.tolist()
    call = caller(capsys, tmp_path, monkeypatch)
    (tmp_path / "scene.xml").write_text(SCENE)
    assert call("simulate", "scene.xml", "--duration", "0.01", "--q", "shoulder=0.1", "-o", "m.npz")[0] == 0
    assert_array_equal(sixd.Trajectory.load(tmp_path / "m.npz").q[0], [*start[:-2], 0.1, start[-1]])
    mimic = model.with_constraints(sixd.Mimic("elbow", "shoulder"))
    assert_array_equal(mimic.reduce().initial_configuration(), start[:-1])


def test_a_plain_arm_starts_neutral():
    """Its file has every joint at 0: motions and pictures are what they were."""
    arm = sixd.load(ARM)
    assert_array_equal(arm.configuration("file"), arm.neutral())
    assert_array_equal(sixd.simulate(arm, None, None, 0.01).q[0], arm.neutral())
    without = sixd.ModelBuilder.from_model(arm)
    without.configurations.clear()
    assert sixd.draw(arm).svg == sixd.draw(without.build()).svg
    assert "<key" not in sixd.to_mjcf(arm)


def test_a_keyframe_called_file_keeps_its_name():
    text = SCENE.replace('name="home"', 'name="file"')
    assert_array_equal(sixd.load(text).configuration("file")[-2:], [0.2, 0.3])


def test_written_again_the_bodies_are_at_the_same_place():
    """In MuJoCo too, as far as its files can say it: angles of ref are in a keyframe."""
    model = sixd.load(SCENE)
    text = sixd.to_mjcf(model)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert_allclose(theirs.qpos0[:14], mujoco.MjModel.from_xml_string(SCENE).qpos0[:14], atol=1e-15)
    assert_allclose(sixd.load(text).configuration("file"), model.configuration("file"), atol=1e-15)
    boxes = sixd.load(SCENE.replace('ref="10"', ""))
    assert 'name="file"' not in sixd.to_mjcf(boxes)


def test_edits_keep_the_start():
    """Also of a model that is attached under a prefix, whose other configurations get it."""
    scene, top = sixd.load(SCENE), sixd.zoo.pendulum()
    start = scene.configuration("file")
    assert_array_equal(scene.lock({"elbow": 0.1}).initial_configuration(), start[:-1])
    both = top.attach(scene, prefix="b_")
    assert both.configuration_names == ("b_home", "file")
    assert_array_equal(both.initial_configuration(), [0, *start])


# the remark ----------------------------------------------------------------------------------------


def test_one_remark_says_what_is_left_out_and_what_adds_it():
    """The call that it gives works: boxes stay above the floor, which they cross without it."""
    (text,) = remarks(SCENE)
    parts = "collisions (6 geoms; bodies pass through each other), joint limits (2), actuators (2); "
    assert f"the model leaves out what its file has: {parts}" in text
    call = re.search(r"sixd\.simulate\(.*?controller=controller\)", text).group()
    names = {"sixd": sixd, "model": sixd.load(SCENE), "controller": lambda t, q, qd: 0 * qd}
    assert eval(call, names).q[-1, 6] > 0.049  # the floor holds the box, half of whose edge is 0.05
    assert sixd.simulate(names["model"], None, None, 1.0).q[-1, 6] < -1
    assert any("leaves out what its file has" in finding.message for finding in sixd.check(names["model"]))


QUIET = {
    "an arm": ARM,
    "an arm on a floor, with limits": ARM.replace("<body>", '<geom type="plane" size="1 1 1"/><body>'),
    "one free body": ARM.replace('<joint axis="0 1 0"/>', "<freejoint/>"),
    "geoms that do not collide": SCENE.replace("<geom", '<geom contype="0" conaffinity="0"').partition("<actuator")[0]
    + "</mujoco>",
    "contact and actuation off": SCENE.replace(
        "<worldbody>", '<option><flag contact="disable" actuation="disable"/></option><worldbody>', 1
    ),
}


@pytest.mark.parametrize("kind", QUIET)
def test_no_remark_on_a_mechanism_alone(kind):
    assert remarks(QUIET[kind]) == []


def test_the_ground_is_the_files_plane():
    """At its height and with its normal."""
    high = SCENE.replace('size="2 2 .1"', 'size="2 2 .1" pos="0 0 -.25"')
    assert "sixd.RigidGround(height=-0.25)" in remarks(high)[0]
    wall = SCENE.replace('size="2 2 .1"', 'size="2 2 .1" zaxis="0 1 0" pos="0 2 0"')
    assert "sixd.RigidGround(height=2, normal=(0, 1, 0))" in remarks(wall)[0]
    without = SCENE.replace('<geom name="floor" type="plane" size="2 2 .1"/>', "")
    assert "RigidGround" not in remarks(without)[0]
    named = ARM.replace("<joint", '<joint name="j"')
    fixed = named.replace("</mujoco>", '<actuator><motor joint="j"/></actuator></mujoco>')
    assert remarks(fixed)[0].endswith(
        "actuators (1); sixd.simulate(model, None, None, 1.0, controller=controller) adds the joint forces controller(t, q, qd)."
    )
