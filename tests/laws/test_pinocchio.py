"""Inverse dynamics, mass matrix and forward dynamics compared with Pinocchio's, on every URDF of two packages."""

import numpy as np
import pytest

import sixd
from peers import pin
from robots import FIVE, ByName, all_urdfs, pinocchio_model, quiet_load

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

FIVE_CASES = [("ur5", False), ("panda", False), ("anymal", True), ("talos", False)] + [
    pytest.param(*case, marks=pytest.mark.long)
    for case in (("anymal", False), ("simple_humanoid", False), ("talos", True))
]

# data.md's list of files whose mass matrix is exactly singular: a leaf link has no inertia about its joint
SINGULAR = {
    "bluevolta_bravo7_gripper", "falcon_bravo7_gripper", "bravo7_gripper", "romeo", "romeo_laas_small", "irb140", "irb140QT",
    "lbr_iiwa_14_r820", "al5d_robot", "puma560_robot",
}  # fmt: skip


def scaled_error(x, y):
    return np.abs(x - y).max(initial=0.0) / max(1.0, np.abs(y).max(initial=0.0))


def compare(model, pinocchio, rng, states=3):
    """Return the largest scaled differences of (inverse dynamics, M, forward dynamics or its residual), and cond(M)."""
    model = model.without_passive()
    data, names = pinocchio.createData(), ByName(model, pinocchio)
    worst = {"id": 0.0, "M": 0.0, "fd": 0.0, "residual": 0.0}
    largest_cond = 0.0
    for _ in range(states):
        q = model.random_configuration(rng)
        qd, qdd, tau = rng.uniform(-2, 2, (3, model.nv))
        args = names.q(q), names.v(qd)
        theirs = names.back(np.array(pin.rnea(pinocchio, data, *args, names.v(qdd))))
        worst["id"] = max(worst["id"], scaled_error(sixd.inverse_dynamics(model, q, qd, qdd), theirs))
        M = np.array(pin.crba(pinocchio, data, args[0]))
        M = names.back(np.triu(M) + np.triu(M, 1).T)
        worst["M"] = max(worst["M"], scaled_error(sixd.mass_matrix(model, q), M))
        cond = np.linalg.cond(M) if model.nv else 1.0
        largest_cond = max(largest_cond, cond)
        try:
            ours = sixd.forward_dynamics(model, q, qd, tau)
        except sixd.SingularError:
            return worst, np.inf
        if cond < 1e6:
            theirs = names.back(np.array(pin.aba(pinocchio, data, *args, names.v(tau))))
            worst["fd"] = max(worst["fd"], scaled_error(ours, theirs))
        else:
            h = sixd.bias_force(model, q, qd)
            # relative to |M| |qdd|, because qdd itself is rounded: icub reaches |qdd| = 5e10, where LAPACK has an error
            # of 3e-8
            size = max(1.0, np.abs(M).max() * np.abs(ours).max())
            worst["residual"] = max(worst["residual"], np.abs(M @ ours + h - tau).max() / size)
    return worst, largest_cond


@pytest.mark.many
@pytest.mark.parametrize(("name", "floating"), FIVE_CASES)
def test_five_robots(name, floating, rng):
    """Ur5, panda, anymal, talos and simple_humanoid; anymal and talos also with a floating base."""
    model = quiet_load(FIVE[name], floating_base=floating)
    worst, cond = compare(model, pinocchio_model(FIVE[name], floating=floating), rng, states=5)
    assert cond < 1e6
    assert max(worst.values()) < 1e-10, worst


GRIPPER = """<robot name="gripper">
  <link name="palm"><inertial><origin xyz="0.01 0.02 0.05" rpy="0.1 0.2 0.3"/><mass value="0.73"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0.0001" ixz="0" iyz="0.0002"/></inertial></link>
  <link name="finger"><inertial><origin xyz="0 0 0.03"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="5e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/><origin xyz="0 0.02 0.1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
</robot>"""


def test_a_gripper_on_an_arm(rng):
    """ur5 with a gripper attached is Pinocchio's appendModel: the palm, the gripper's root link, has its mass there."""
    arm, at = quiet_load(FIVE["ur5"]), sixd.placement((0, 0, 0.02), (0.3, 0.1, 0.2))
    both = arm.attach(sixd.load(GRIPPER), "tool0", placement=at)
    assert abs(both.mass - arm.mass - 0.83) < 1e-14
    theirs = pinocchio_model(FIVE["ur5"])
    pose = pin.SE3(at[:3, :3], at[:3, 3])
    theirs = pin.appendModel(theirs, pin.buildModelFromXML(GRIPPER), theirs.getFrameId("tool0"), pose)
    worst, _ = compare(both, theirs, rng, states=3)
    assert max(worst.values()) < 1e-10, worst


@pytest.mark.long
@pytest.mark.parametrize("path", all_urdfs(), ids=lambda p: f"{p.parent.parent.name}/{p.name}")
def test_every_urdf(path, rng, record_property, request):
    """Every file that Pinocchio loads gives the same numbers; the files that it rejects are rejected with one clear
    error.
    """
    pinocchio = pinocchio_model(path)
    if pinocchio is None:
        request.applymarker(pytest.mark.one_target)  # nothing to compute
        with pytest.raises(sixd.LoadError, match=path.name):
            quiet_load(path)
        record_property("urdf", f"{path.name:34} refused by both")
        return
    model = quiet_load(path)
    assert (model.nv, model.nb) == (pinocchio.nv, pinocchio.njoints - 1)
    assert np.isclose(model.body_inertia("world").mass, pinocchio.inertias[0].mass, rtol=1e-12, atol=0)
    worst, cond = compare(model, pinocchio, rng)
    shown = "  ".join(f"{worst[k]:8.1e}" for k in worst)
    record_property("urdf", f"{path.name:34} {model.nv:4d}  {shown}  {cond:8.1e}")
    assert max(worst.values()) < 1e-10, worst
    assert np.isinf(cond) == (path.stem in SINGULAR)
