"""Comparing two descriptions of a robot: every kind of difference is found, and a change of frames alone is not one."""

import dataclasses
import json

import numpy as np
import pytest

import sixd
from robots import FIVE, quiet_load
from sixd.spatial.transform import inverse_pose
from sixd.zoo.random_trees import random_pose

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more

LINK = sixd.box(0.1, 0.2, 0.3, mass=2.0).translated((0.1, 0.2, -0.3))
STANDARD = {
    "mass": 2.0, "com": (0.1, 0.2, -0.3), "inertia": (0.02, 0.03, 0.04), "axis": (0, 0, 1), "at": (0, 0, 0.5),
    "turn": (0.1, 0.2, 0.3), "kind": sixd.Revolute, "name": "upper", "parent": "base", "tip": (0.1, 0, 0),
    "options": {}, "gravity": (0, 0, -9.81), "constraints": (), "more": False,
}  # fmt: skip


def arm(**changes):
    """An arm of three bodies, with these changes of the second."""
    c = STANDARD | changes
    builder = sixd.ModelBuilder("arm", c["gravity"])
    builder.add_body("base", "world", sixd.Revolute("z"), inertia=LINK, joint_name="pan")
    inertia = sixd.Inertia(c["mass"], c["com"], c["inertia"])
    pose = sixd.placement(c["at"], c["turn"])
    builder.add_body(
        c["name"], c["parent"], c["kind"](c["axis"]), inertia=inertia, placement=pose, joint_name="lift", **c["options"]
    )
    builder.add_body("fore", c["name"], sixd.Prismatic("x"), inertia=LINK, joint_name="reach", damping=0.3)
    builder.add_frame("tip", "fore", sixd.placement(c["tip"]))
    for constraint in c["constraints"]:
        builder.add_constraint(constraint)
    if c["more"]:
        builder.add_body("extra", "fore", sixd.Revolute("x"), inertia=LINK)
    return builder.build()


def kinds(comparison):
    return {d.kind for d in comparison.differences}


@pytest.mark.many
@pytest.mark.parametrize(
    ("changes", "kind", "where", "what"),
    [
        ({"mass": 2.1}, "masses", "upper", "mass [kg]"),
        ({"com": (0.1, 0.2, -0.31)}, "inertias", "upper", "centre of mass [m]"),
        ({"inertia": (0.02, 0.03, 0.0401)}, "inertias", "upper", "Ixx Ixy Ixz Iyy Iyz Izz [kg m²]"),
        ({"at": (0.1, 0, 0.5)}, "placements", "lift", "placement [m]"),
        ({"turn": (0.1, 0.25, 0.3)}, "placements", "lift", "placement, roll pitch yaw [rad]"),
        ({"axis": (0, 0, -1)}, "placements", "lift", "axis"),
        ({"axis": (0, 0.01, 1)}, "placements", "lift", "axis"),
        ({"kind": sixd.Prismatic}, "joints", "lift", "kind"),
        ({"parent": "world"}, "joints", "lift", "carried by"),
        ({"name": "arm"}, "names", "lift", "name of the body"),
        ({"tip": (0.1, 0, 0.02)}, "frames", "tip", "frame [m]"),
        ({"options": {"limits": (-1, 1)}}, "limits", "lift", "lower"),
        ({"options": {"effort": 3.0}}, "limits", "lift", "effort limit"),
        ({"options": {"damping": 0.1}}, "passive", "lift", "damping"),
        ({"options": {"friction": 0.1}}, "passive", "lift", "friction"),
        ({"options": {"armature": 0.1}}, "passive", "lift", "armature"),
        ({"options": {"stiffness": 0.1, "rest": 1.0}}, "passive", "lift", "rest"),
        ({"gravity": (0, 0, -1.62)}, "gravity", "world", "gravity [m/s²]"),
        ({"constraints": (sixd.Mimic("lift", "pan", 2.0),)}, "constraints", "Mimic(lift, pan)", "constraint"),
        ({"more": True}, "joints", "extra", "joint"),
    ],
)
def test_every_difference_is_found(changes, kind, where, what):
    """It is reported once, with both values; a description equals itself."""
    one, two = arm(), arm(**changes)
    found = sixd.compare(one, two, states=3)
    assert not found
    assert (kind, where, what) in {(d.kind, d.where, d.what) for d in found.differences}
    assert what in str(found)
    back = sixd.compare(two, one, states=3)
    assert kind in kinds(back)
    assert sixd.compare(two, arm(**changes), states=3).equal
    # forces differ too, wherever the change acts on them
    silent = {"names", "frames", "limits", "constraints", "joints"}
    assert ("dynamics" in kinds(found)) == (kind not in silent or "parent" in changes)


def test_a_shifted_joint_is_one_difference():
    """What the joint carries moves with it, and is not reported again."""
    found = sixd.compare(arm(), arm(at=(0, 0, 0.6)), ignore=["dynamics"])
    (difference,) = found.differences
    assert difference.difference == pytest.approx(0.1)
    assert str(difference) == "lift: placement [m] is (0, 0, 0.5) in a, (0, 0, 0.6) in b, by 0.1"


def in_other_frames(model, rng):
    """The same mechanism with the frames of its bodies elsewhere, and its bodies in another order."""
    builder = sixd.ModelBuilder(model.name, model.gravity)
    moved = {"world": np.eye(4)}  # the new frame of each body in the old one
    for i in sorted(model.bodies, key=lambda i: (model.tree.depth(i), -i)):
        joint, name = model.joint(model.joint_names[i - 1]), model.body_names[i - 1]
        shift, turn = random_pose(rng), np.eye(4)
        turn[:3, :3] = shift[:3, :3]
        kind = joint.joint
        if isinstance(kind, (sixd.Revolute, sixd.Prismatic)):  # another frame on the axis
            kind = type(kind)(turn[:3, :3].T @ np.array(kind.axis))
            turn[:3, 3] = 0.3 * np.array(joint.joint.axis)
        elif isinstance(kind, sixd.Free):
            turn = shift
        elif not isinstance(kind, sixd.Spherical):
            turn = np.eye(4)
        placement = inverse_pose(moved[joint.parent_body]) @ model.placement[i] @ turn
        builder.add_body(
            name, joint.parent_body, kind, placement=placement, joint_name=joint.name, damping=joint.damping,
            inertia=model.body_inertia(name).moved(inverse_pose(turn)), link_pose=None,
        )  # fmt: skip
        moved[name] = turn
    return builder.build()


@pytest.mark.parametrize("seed", range(3))
def test_frames_of_bodies_do_not_matter(seed, rng):
    """Two files may place them differently, as URDF and MJCF do: masses, axes and forces agree."""
    kinds = ("revolute", "prismatic", "spherical", "free", "universal", "cylindrical")
    model = sixd.zoo.random_tree(seed, passive=False, kinds=kinds, rounds=2)
    other = in_other_frames(model, rng)
    found = sixd.compare(model, other, ignore=["frames"], states=5)
    assert found.equal, str(found)
    assert 0 <= found.dynamics_error < 1e-11
    assert "frames" in kinds_of(model, other)
    heavier = dataclasses.replace(other, inertia=other.inertia * 1.001)
    assert {"masses", "dynamics"} <= kinds_of(model, heavier)


def kinds_of(one, two):
    return kinds(sixd.compare(one, two, states=2))


def test_robots():
    """A robot written and read is the same; another one is not."""
    model = quiet_load(FIVE["anymal"], floating_base=True)
    assert sixd.compare(model, sixd.load(sixd.to_urdf(model)), states=2)
    found = sixd.compare(model, quiet_load(FIVE["ur5"]), states=2)
    assert found.dynamics_error is None
    assert "inverse dynamics: not compared, the joints are not the same" in str(found)


def test_by_order():
    """Joints of other names are matched by their order, and their names are differences."""
    one = arm()
    builder = sixd.ModelBuilder("other")
    parent = "world"
    for i in one.bodies:
        name = f"link{i}"
        builder.add_body(
            name, parent, one.joints[i], placement=one.placement[i], inertia=sixd.Inertia.from_matrix(one.inertia[i]),
            damping=one.damping[one.iv[i]],
        )  # fmt: skip
        parent = name
    found = sixd.compare(one, builder.build(), by="order", ignore=["frames"], states=2)
    assert kinds(found) == {"names"}
    assert sixd.compare(one, builder.build(), by="order", ignore=["frames", "names"], states=2)
    assert kinds(sixd.compare(one, builder.build(), states=2)) >= {"joints"}


def test_constraints():
    """Mimic joints by their numbers, others by their labels."""
    two = arm(constraints=(sixd.Mimic("lift", "pan", 2.0, 0.1),))
    for other, what in ((sixd.Mimic("lift", "pan", 2.5, 0.1), "multiplier of the mimic"),
                        (sixd.Mimic("lift", "reach", 2.0, 0.1), "mimics")):  # fmt: skip
        found = sixd.compare(two, arm(constraints=(other,)), states=1)
        assert what in {d.what for d in found.differences}
    loops = [(sixd.Loop("tip", "world", directions),) for directions in ("point", "weld")]
    assert sixd.compare(arm(constraints=loops[0]), arm(constraints=loops[0]), states=1)
    assert kinds(sixd.compare(arm(constraints=loops[0]), arm(), states=1)) == {"constraints"}


def test_tolerances():
    """Relative for masses and limits, metres and radians for places; what is at rounding never counts."""
    one, two = arm(), arm(mass=2.002, at=(0, 0, 0.5004), options={"limits": (-1.0, 1.0)})
    three = arm(options={"limits": (-1.0005, 1.0)})
    assert kinds(sixd.compare(one, two, tol=1e-2, dynamics_tol=1e-2)) == {"limits"}
    assert sixd.compare(two, three, tol=2e-3, dynamics_tol=1e-2)
    assert kinds(sixd.compare(one, two, tol=5e-4, dynamics_tol=1.0)) == {"limits", "masses"}
    assert kinds(sixd.compare(one, two, tol=1e-2, ignore="limits")) == {"dynamics"}
    assert sixd.compare(one, arm(mass=2.0 * (1 + 1e-15)), tol=0.0, states=1, dynamics_tol=1e-12)


def test_printing():
    """A table for people, a dictionary for programs, HTML for notebooks."""
    found = sixd.compare(arm(), arm(mass=2.5), states=2)
    facts = json.loads(json.dumps(found.to_dict()))
    assert facts["equal"] is False
    assert facts["differences"][0] == {
        "kind": "masses", "where": "upper", "what": "mass [kg]", "a": 2.0, "b": 2.5, "difference": 0.5,
    }  # fmt: skip
    assert repr(found) == "<Comparison of 'arm' and 'arm': 2 differences (1 in masses, 1 in dynamics)>"
    assert "mass [kg]" in found._repr_html_()
    assert str(sixd.compare(arm(), arm(), states=0)) == (
        "a: arm, b: arm: no differences\ninverse dynamics: not compared, no states were requested"
    )
    many = sixd.compare(sixd.zoo.pendulum(300), sixd.zoo.pendulum(), states=0)
    assert "… and " in str(many)


def test_empty_models_and_massless_bodies():
    empty = sixd.ModelBuilder("empty").build()
    assert sixd.compare(empty, empty)
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("z"), armature=1.0)
    bare = builder.build()
    assert sixd.compare(bare, bare, states=2)
    builder.add_inertia("a", sixd.point(1.0))
    assert kinds(sixd.compare(bare, builder.build(), ignore=["dynamics"])) == {"masses"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": -1}, "tol is -1, expected a finite number"),
        ({"tol": np.nan}, "tol is nan"),
        ({"dynamics_tol": "x"}, "dynamics_tol is 'x'"),
        ({"states": -1}, "states is -1, expected a whole number"),
        ({"states": 1.5}, "states is 1.5"),
        ({"by": "size"}, "by is 'size', expected 'name' or 'order'"),
        ({"ignore": ["mass"]}, "no kind named 'mass'"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.compare(arm(), arm(), **options)


def test_wrong_models():
    with pytest.raises(sixd.ScalarTypeError, match="compare: model is a str"):
        sixd.compare(arm(), "robot.urdf")
    sympy = pytest.importorskip("sympy")
    with pytest.raises(sixd.ScalarTypeError, match="symbolic parameters m"):
        sixd.compare(arm(), arm(mass=sympy.Symbol("m")))
