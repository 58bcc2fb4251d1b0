"""Writing URDF and reading it back: the same dynamics, the same frames; what URDF cannot hold raises."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import FIVE, quiet_load
from samples import states

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more


@pytest.mark.long
@pytest.mark.parametrize(("name", "floating"), [(n, False) for n in FIVE] + [("anymal", True), ("talos", True)])
def test_round_trip(name, floating, rng, tmp_path):
    """Dynamics, frames, limits, mimics and visuals survive a round trip through a file."""
    model = quiet_load(FIVE[name], floating_base=floating)
    path = tmp_path / "out.urdf"
    text = sixd.to_urdf(model, path)
    assert path.read_text() == text
    again = quiet_load(path)
    assert (again.name, again.nq, again.joint_names, again.body_names) == (
        model.name,
        model.nq,
        model.joint_names,
        model.body_names,
    )
    assert set(again.frame_names) >= set(model.frame_names)
    assert again.constraints == model.constraints
    assert len(again.visuals) == len(model.visuals)
    for key in ("lower", "upper", "effort_limit", "velocity_limit", "damping", "friction"):
        assert_allclose(getattr(again, key), getattr(model, key))
    for q, qd, qdd in states(model, rng, count=2):
        tau = sixd.inverse_dynamics(model, q, qd, qdd)
        assert_allclose(sixd.inverse_dynamics(again, q, qd, qdd), tau, rtol=0, atol=1e-12 * max(1, np.abs(tau).max()))
        for frame in model.frame_names:
            assert_allclose(sixd.pose(again, q, frame), sixd.pose(model, q, frame), atol=1e-12)


def test_planar_and_hostile_names(rng):
    """A planar joint with its normal, and names that need escaping."""
    builder = sixd.ModelBuilder('a "b" & <c>')
    inertia = sixd.box(1, 2, 3, mass=2.0)
    builder.add_body(
        "<x>&'\"",
        "world",
        sixd.Planar((1, 2, 3)),
        inertia=inertia,
        placement=sixd.placement((1, 2, 3), (0.1, 1.5707963, 0.3)),
    )
    model = builder.build()
    again = sixd.load(sixd.to_urdf(model))
    assert (again.name, again.body_names) == (model.name, model.body_names)
    q, qd, qdd = model.random_configuration(rng), *rng.normal(size=(2, 3))
    assert_allclose(sixd.inverse_dynamics(again, q, qd, qdd), sixd.inverse_dynamics(model, q, qd, qdd), atol=1e-12)


def test_standard_dh_keeps_its_dynamics_and_frames(rng):
    """Where the named frame is not on the joint, the dynamics are kept and the frame becomes NAME_frame."""
    model = sixd.zoo.ur_arm()
    with pytest.warns(sixd.ModelWarning, match="link1, link2, link3, link4, link5 are not on their joints"):
        again = sixd.load(sixd.to_urdf(model))
    q, qd, qdd = rng.normal(size=(3, 6))
    assert_allclose(sixd.inverse_dynamics(again, q, qd, qdd), sixd.inverse_dynamics(model, q, qd, qdd), atol=1e-12)
    assert_allclose(
        sixd.pose(again, q, "link6"), sixd.pose(model, q, "link6"), atol=1e-12
    )  # its frame is on the joint's axis
    assert_allclose(sixd.pose(again, q, "link2_frame"), sixd.pose(model, q, "link2"), atol=1e-12)


@pytest.mark.parametrize(
    "joint",
    [sixd.Helical("z", 0.1), sixd.Cylindrical("z"), sixd.Universal(), sixd.Spherical(), sixd.RackAndPinion(0.1)],
    ids=lambda j: type(j).__name__,
)
def test_joints_that_urdf_cannot_hold(joint, tmp_path):
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", joint, joint_name="odd", inertia=sixd.sphere(1, mass=1.0))
    with pytest.raises(sixd.ModelError, match=rf"URDF cannot hold joint 'odd' \({type(joint).__name__}\)"):
        sixd.to_urdf(builder.build(), tmp_path / "x.urdf")
    assert not list(tmp_path.iterdir())


def test_other_things_that_urdf_cannot_hold(rng):
    """Armature, springs, symbols and bare first moments raise; gravity warns."""
    with pytest.raises(sixd.ModelError, match="armature of joint 'joint1'"):
        sixd.to_urdf(sixd.zoo.puma560())
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("z"), stiffness=1.0, inertia=sixd.sphere(1, mass=1.0))
    with pytest.raises(sixd.ModelError, match="stiffness of joint 'a'"):
        sixd.to_urdf(builder.build())
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.point(1.0, (1, 0, 0)) - sixd.point(1.0))
    with pytest.raises(sixd.ModelError, match="cannot hold the inertia of body 'a'"):
        sixd.to_urdf(builder.build())
    with pytest.warns(sixd.ModelWarning, match="gravity .* is not in the file"):
        sixd.to_urdf(sixd.zoo.planar(2))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """The file is replaced whole or not at all, and no temporary file stays."""
    path = tmp_path / "m.urdf"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        sixd.to_urdf(sixd.zoo.pendulum(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.urdf"]
