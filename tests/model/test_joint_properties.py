"""Joints of a finished model: other limits and passive properties, configurations by names, arrays that must fit."""

import dataclasses

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_array_equal

import sixd
from sixd.model.parts import PER_Q, PER_V

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more


@pytest.fixture
def robot():
    """A floating body with an arm of a revolute, a spherical and a prismatic joint, and a joint that mimics the first."""
    b, body = sixd.ModelBuilder("robot"), sixd.sphere(0.1, mass=1.0)
    b.add_body("base", "world", sixd.Free(), inertia=body)
    b.add_body("upper", "base", sixd.Revolute("z"), inertia=body, joint_name="elbow", limits=(-2, 2), damping=0.3)
    b.add_body("hand", "upper", sixd.Spherical(), inertia=body, joint_name="wrist")
    b.add_body("rod", "hand", sixd.Prismatic("x"), inertia=body, joint_name="slide", effort=5)
    b.add_body("finger", "hand", sixd.Revolute("x"), inertia=body)
    b.add_constraint(sixd.Mimic("finger", "elbow", 2.0, 0.1))
    return b.build()


# with_joints ----------------------------------------------------------------------------------------


def test_joints_by_name_and_for_all(robot):
    """What is given by name counts more than what is given for all; all else stays, in this model and in the first."""
    before = {key: getattr(robot, key).copy() for key in (*PER_Q, *PER_V)}
    changed = robot.with_joints({"elbow": {"limits": (-1, 0.5), "friction": 0.2}}, friction=0.1, armature={"slide": 3})
    elbow, slide = changed.joint("elbow"), changed.joint("slide")
    assert (elbow.lower, elbow.upper, elbow.friction, elbow.damping) == (-1, 0.5, 0.2, 0.3)
    assert (slide.friction, slide.armature, slide.effort_limit, elbow.armature) == (0.1, 3, 5, 0)
    assert_array_equal(changed.joint("wrist").friction, [0.1] * 3)
    assert not changed.joint("base").friction.any()  # a number for all is none for a floating base
    assert changed.constraints == robot.constraints
    assert changed.joint_names == robot.joint_names
    for key, array in before.items():
        assert_array_equal(getattr(robot, key), array)
    same = robot.with_joints()
    assert all(np.array_equal(getattr(same, key), array) for key, array in before.items())


def test_values_of_several_degrees_of_freedom(robot):
    """A joint accepts an array of its degrees of freedom, all joints one of the model's; limits are pairs of these."""
    turned = robot.with_joints(
        {"wrist": {"damping": [1, 2, 3], "stiffness": 4, "rest": [0, 1, 0, 0]}, "base": {"damping": 7}}
    )
    wrist = turned.joint("wrist")
    assert_array_equal(wrist.damping, [1, 2, 3])
    assert_array_equal(wrist.stiffness, [4] * 3)
    assert_array_equal(wrist.rest, [0, 1, 0, 0])
    assert_array_equal(turned.joint("base").damping, [7] * 6)
    all_of_them = np.arange(float(robot.nv))
    assert_array_equal(robot.with_joints(velocity=all_of_them).velocity_limit, all_of_them)
    low = np.linspace(-2, -1, robot.nq)
    bounded = robot.with_joints(limits=(low, np.inf))
    assert_array_equal(bounded.lower, low)
    bounded = robot.with_joints(limits=(-1, 1), rest=0.2)  # quaternions have neither
    assert_array_equal(bounded.upper, np.where(np.isin(np.arange(robot.nq), [7, 12, 13]), 1, robot.upper))
    assert_array_equal(bounded.joint("wrist").rest, robot.joint("wrist").rest)


def test_new_properties_enter_the_dynamics(robot):
    """Damping, friction, armature and springs act as those given to the builder; symbols stay symbols."""
    q, qd = robot.neutral(), np.linspace(-1, 1, robot.nv)
    changed = robot.with_joints({"elbow": {"stiffness": 3, "rest": 0.5}}, damping=0.5, friction=0.25, armature=0.125)
    free = np.arange(robot.nv) < 6
    passive = sixd.bias_force(changed, q, qd) - sixd.bias_force(robot, q, qd)
    expected = np.where(free, 0, qd * np.where(np.arange(robot.nv) == 6, 0.2, 0.5) + 0.25 * np.sign(qd))
    expected[6] -= 3 * 0.5
    np.testing.assert_allclose(passive, expected, atol=1e-14)
    M = sixd.mass_matrix(changed, q) - sixd.mass_matrix(robot, q)
    np.testing.assert_allclose(M, np.diag(np.where(free, 0, 0.125)), atol=1e-15)
    c = sp.Symbol("c", positive=True)
    assert robot.with_joints({"elbow": {"damping": c}}).symbols == (c,)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([{"elbo": {"damping": 1}}], sixd.UnknownNameError, "with_joints: no joint named 'elbo'. Did you mean 'elbow'?"),
        ([{"elbow": {"dampng": 1}}], sixd.UnknownNameError, "joint 'elbow': no property named 'dampng'. Did you mean 'damping'?"),
        ([{"elbow": 0.3}], sixd.ScalarTypeError, r"joint 'elbow' is 0.3, expected a mapping such as {'friction': 0.2}"),
        ([["elbow"]], sixd.ScalarTypeError, r"joints is \['elbow'\], expected a mapping such as {'elbow': {'friction'"),
        ([{"elbow": {"friction": -1}}], sixd.ModelError, "joint 'elbow': its friction is negative .-1.; give"),
        ([{"elbow": {"effort": -1}}], sixd.ModelError, "joint 'elbow': its effort limit is negative"),
        ([{"elbow": {"limits": (1, -1)}}], sixd.ModelError, r"joint 'elbow': the lower limit \[1.0\] is above"),
        ([{"elbow": {"limits": 1}}], sixd.ModelError, r"joint 'elbow': limits are 1, expected \(lower, upper\)"),
        ([{"elbow": {"limits": np.array(1)}}], sixd.ModelError, r"limits are array\(1\), expected \(lower, upper\)"),
        ([{"elbow": {"friction": np.nan}}], sixd.ModelError, r"joint 'elbow': friction is \[?nan\]?, expected finite"),
        ([{"elbow": {"armature": [1, 2]}}], sixd.ModelError, r"armature has shape \(2,\), expected a number or \(1,\)"),
        ([{"elbow": {"damping": "much"}}], sixd.ScalarTypeError, "damping is 'much', expected numbers"),
        ([{"wrist": {"stiffness": [1, 2, 3]}}], sixd.ModelError, "stiffness of a spherical joint is .*, expected one"),
        ([{"base": {"stiffness": 1}}], sixd.ModelError, "joint 'base': a free joint cannot have a spring"),
        ([{"wrist": {"rest": [0, 0, 0, 0]}}], sixd.ModelError, "joint 'wrist': rest has a zero quaternion"),
        ({"friction": [1, 2]}, sixd.ShapeError, r"friction has shape \(2,\), expected a number, an array \(12,\), or a mapping"),
        ({"friction": {"elbo": 1}}, sixd.UnknownNameError, "with_joints: friction: no joint named 'elbo'"),
        ({"limits": 3}, sixd.ModelError, r"with_joints: limits are 3, expected \(lower, upper\)"),
        ({"damping": "much"}, sixd.ScalarTypeError, "with_joints: damping is 'much', expected numbers"),
        ({"damping": np.inf}, sixd.ModelError, "with_joints: joint 'elbow': damping is .*inf.*, expected finite"),
    ],
)  # fmt: skip
def test_joints_that_cannot_be(robot, arguments, error, message):
    with pytest.raises(error, match=message):
        robot.with_joints(*arguments) if isinstance(arguments, list) else robot.with_joints(**arguments)


def test_mistakes_of_a_file_stay_what_they_are():
    """A negative damping that was there is reported by ``check``; it does not keep other properties from changing."""
    b = sixd.ModelBuilder()
    b.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0), damping=-1.0)
    assert b.build().with_joints(friction=2).friction == 2
    b = sixd.ModelBuilder()
    b.add_body("a", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    with pytest.raises(sixd.ModelError, match="friction is for all joints, and 'model' has none but free ones. Name"):
        b.build().with_joints(friction=2)


# configurations by names --------------------------------------------------------------------------------


def test_configuration_of_names(robot):
    """Joints that are not named are neutral, mimic joints follow; as for a configuration of the builder."""
    given = {"elbow": 0.3, "wrist": [0, 1, 0, 0]}
    q = robot.configuration(given)
    expected = robot.neutral()
    expected[7], expected[8:12], expected[13] = 0.3, [0, 1, 0, 0], 2 * 0.3 + 0.1
    assert_array_equal(q, expected)
    assert not sixd.constraint_error(robot, q).any()
    builder = sixd.ModelBuilder.from_model(robot)
    builder.add_configuration("bent", given)
    assert_array_equal(builder.build().configuration("bent"), q)
    assert_array_equal(robot.configuration({}), robot.neutral())
    assert robot.configuration({"elbow": 0.3, "finger": 0.7})[13] == 0.7  # as it is named
    angle = sp.Symbol("angle")
    q = robot.configuration({"elbow": angle})
    assert (q[7], q[13], type(q[4])) == (angle, 2.0 * angle + 0.1, int)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"elbo": 0.3}, sixd.UnknownNameError, "configuration: model 'robot': no joint named 'elbo'. Did you mean 'elbow'?"),
        ({"elbow": [1, 2]}, sixd.ModelError, r"joint 'elbow' has shape \(2,\), expected a number or \(1,\)"),
        ({"wrist": 1}, sixd.ModelError, r"joint 'wrist' has shape \(\), expected \(4,\)"),
        ({"wrist": [0, 0, 0, 0]}, sixd.ModelError, "joint 'wrist' has a zero quaternion"),
        ({"elbow": np.nan}, sixd.ModelError, "joint 'elbow' is nan, expected finite"),
        ({"elbow": "bent"}, sixd.ScalarTypeError, "joint 'elbow' is 'bent', expected numbers"),
        (["elbow"], sixd.UnknownNameError, "no configuration named .'elbow'."),
    ],
)  # fmt: skip
def test_configurations_that_cannot_be(robot, given, error, message):
    with pytest.raises(error, match=message):
        robot.configuration(given)


# dataclasses.replace ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["placement", "inertia", "gravity", *PER_Q, *PER_V])
def test_arrays_fit_the_joints(robot, name):
    """An array that is a row too short, or a bare number, is refused; a list of the right length is an array."""
    array = getattr(robot, name)
    for wrong in (array[:-1], 0.5, "text"):
        with pytest.raises(sixd.ShapeError, match=rf"Model: {name} has shape .*, expected numbers \({len(array)},"):
            dataclasses.replace(robot, **{name: wrong})
    same = getattr(dataclasses.replace(robot, **{name: array.tolist()}), name)
    assert_array_equal(same, array)
    assert not same.flags.writeable


def test_other_parts_fit_the_joints(robot):
    for name in ("parent", "body_names", "joint_names"):
        with pytest.raises(sixd.ShapeError, match=f"Model: {name} has . entries, expected"):
            dataclasses.replace(robot, **{name: getattr(robot, name)[:-1]})
    with pytest.raises(sixd.ShapeError, match="Model: parent has 6 entries, expected 5"):
        dataclasses.replace(robot, joints=robot.joints[:-1])
    with pytest.raises(sixd.ShapeError, match="Model: lower has shape"):
        dataclasses.replace(robot, joints=(*robot.joints[:-1], sixd.Spherical()))
    with pytest.raises(sixd.ShapeError, match="Model: configuration 'x' has shape"):
        dataclasses.replace(robot, configurations={"x": np.zeros(3)})
