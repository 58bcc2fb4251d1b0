"""Equalities and keyframes of MJCF compared with MuJoCo itself: residuals, Jacobians, accelerations, named configurations."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from peers import mujoco
from sixd.interop import to_mujoco

BOX = "<geom type='box' size='.1 .2 .3' pos='.1 -.2 .05' euler='20 30 40'/>"
BODIES = f"""<body name='a' pos='0 0 1' euler='10 20 30'><joint name='a1' axis='0 1 0' ref='20'/>
    <joint name='a2' type='slide' axis='1 0 1' ref='.1'/>{BOX}
    <body name='b' pos='.3 0 .1'><joint name='b1' type='ball' pos='.1 0 0'/>{BOX}
    <site name='bs' pos='.1 .2 .3' euler='1 2 3'/></body><body name='rim' pos='0 .1 0' euler='0 0 9'>{BOX}</body></body>
    <body name='c' pos='1 0 0'><freejoint/>{BOX}<site pos='0 .1 0' euler='3 2 1'/><site name='cs' euler='5 6 7'/></body>
    <body name='e' pos='0 2 0'><joint name='e1' ref='30'/>{BOX}</body><site name='ws' pos='.2 0 0' euler='0 40 0'/>"""
KEYS = """<keyframe><key name='home' qpos='.1 .2 1 1 0 0 1 2 3 0 2 0 0 .5'/><key/></keyframe>"""


def document(equalities, keys="", head=""):
    return f"<mujoco model='case'>{head}<worldbody>{BODIES}</worldbody><equality>{equalities}</equality>{keys}</mujoco>"


def equality_rows(model, theirs, q):
    """MuJoCo's residual and Jacobian of its equalities at sixd's q, the latter in sixd's velocities."""
    theirs.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(theirs)
    data.qpos = to_mujoco(model, q, mujoco_model=theirs)
    mujoco.mj_forward(theirs, data)
    rows = data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)
    A = to_mujoco(model, q, np.eye(model.nv), mujoco_model=theirs)[1].T
    return data.efc_pos[rows], data.efc_J.reshape(-1, theirs.nv)[rows] @ A


def span(rows):
    """The orthogonal projection onto the space of the rows."""
    _, s, Vt = np.linalg.svd(rows)
    basis = Vt[: (s > 1e-9).sum()]
    return basis.T @ basis


EQUALITIES = {
    "connect": "<connect body1='b' body2='c' anchor='.1 .1 .1'/>",
    "connect to the world": "<connect body1='b' anchor='.2 .1 .1'/>",
    "connect from the world": "<connect body1='world' body2='c' anchor='.2 .1 .1'/>",
    "connect sites": "<connect site1='cs' site2='bs'/>",
    "weld": "<weld body1='b' body2='c' relpose='.1 .2 .3 .5 .5 .5 -.5' anchor='.1 0 .2'/>",
    "weld as it stands": "<weld body1='c' body2='b'/>",
    "weld to the world": "<weld body1='c' anchor='.3 0 .2'/>",
    "weld sites": "<weld site1='bs' site2='cs'/>",
    "weld to a site of the world": "<weld site1='cs' site2='ws'/>",
    "weld without torque": "<weld body1='c' body2='b' anchor='.1 .2 .3' torquescale='0'/>",
    "weld of a merged body": "<weld body1='rim' body2='c'/>",
    "scaled weld": "<weld body1='b' body2='c' torquescale='.3'/>",
    "joint": "<joint joint1='a1' joint2='e1' polycoef='.1 2 0 0 0'/>",
    "joint by a polynomial": "<joint joint1='a2' joint2='e1' polycoef='.1 2 .3 .4 .5'/>",
    "joint alone": "<joint joint1='e1' polycoef='.3 0 0 0 0'/>",
    "several": "<joint joint1='a1' joint2='e1'/><connect body1='b' body2='c' anchor='0 0 0'/>",
}


@pytest.mark.parametrize("case", EQUALITIES)
def test_equalities_are_mujocos(case, rng):
    """Where sixd's residual is zero, MuJoCo's is; the rows of both Jacobians span the same space there."""
    text = document(EQUALITIES[case])
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    q = sixd.assemble(model, model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.nv)))
    residual, J = equality_rows(model, theirs, q)
    assert_allclose(residual, 0, atol=1e-9)  # how well assemble closes
    A = np.vstack([c.jacobian(model, q) for c in model.constraints])
    assert A.shape == ((len(J) - 3 * (case == "weld without torque")), model.nv)
    assert_allclose(span(A), span(J), atol=1e-9)  # at a configuration closed to 1e-11 or so


@pytest.mark.parametrize("case", ["joint", "joint by a polynomial", "joint alone"])
def test_joint_residuals_are_mujocos_everywhere(case, rng):
    text = document(EQUALITIES[case])
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    q = model.random_configuration(rng)
    residual, J = equality_rows(model, theirs, q)
    (constraint,) = model.constraints
    assert_allclose(constraint.position(model, q), residual, atol=1e-13)
    assert_allclose(constraint.jacobian(model, q), J, atol=1e-13)


def test_kinds():
    """A linear relation is a Mimic, a polynomial a Coupling, the others are loops; frames and models can be pickled."""
    parts = [EQUALITIES[k] for k in ("joint", "joint by a polynomial", "connect", "weld to the world", "weld sites")]
    model = sixd.load(document("".join(parts)))
    assert [type(c).__name__ for c in model.constraints] == ["Mimic", "Coupling", "Loop", "Loop", "Loop"]
    assert model.constraints[0].multiplier == 2
    assert model.constraints[4].frames == ("bs", "cs")
    assert len(model.constraints[2].directions) == 3
    again = pickle.loads(pickle.dumps(model))
    assert again.constraints == model.constraints
    assert again.attach(model, prefix="p_").constraints[6].joints == ("p_a2", "p_e1")


def test_accelerations_are_mujocos(rng):
    """At rest; MuJoCo's stiffest constraint still gives way by 1e-4 of the force, its largest impedance being 0.9999."""
    hard = "solref='.004 1' solimp='.9999 .9999 .001 .5 1'"
    text = document(f"<connect body1='b' anchor='.2 .1 .1' {hard}/><joint joint1='a1' joint2='e1' {hard}/>")
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    q = sixd.assemble(model, model.neutral())
    zero, tau = np.zeros(model.nv), rng.normal(size=model.nv)
    ours, _ = sixd.constrained_dynamics(model, q, zero, tau)
    data = mujoco.MjData(theirs)
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    theirs.opt.tolerance, theirs.opt.iterations = 1e-14, 1000
    data.qpos, _, _, data.qfrc_applied = to_mujoco(model, q, zero, zero, tau, mujoco_model=theirs)
    mujoco.mj_forward(theirs, data)
    expected = to_mujoco(model, q, zero, ours, mujoco_model=theirs)[2]
    free = sixd.forward_dynamics(model, q, zero, tau)
    assert np.abs(data.qacc - expected).max() < 1e-3 * np.abs(free).max()
    assert np.abs(free - ours).max() > 0.1 * np.abs(free).max()  # the constraints do act


def test_inactive_soft_and_idle_equalities():
    """Inactive equalities and those within a body are left out, soft ones become hard: notes, without a warning."""
    text = document(
        "<weld body1='a' body2='rim'/><connect body1='b' anchor='0 0 0' active='false'/><joint joint1='e1' joint2='a1'/>"
    )
    model = sixd.load(text)  # warnings are errors in these tests
    assert len(model.constraints) == 1
    found = [f.message for f in sixd.check(model) if f.code == "equality"]
    assert len(found) == 3
    assert all(
        any(word in m for m in found)
        for word in ("(1) are soft", "(1) are not active", "(1) connect points of the same")
    )
    for flag in ("equality", "constraint"):
        off = sixd.load(document(EQUALITIES["joint"], head=f"<option><flag {flag}='disable'/></option>"))
        assert off.constraints == ()


def test_circles_are_reported():
    """A joint that follows itself through another cannot be explicit: the second relation is left out, with a warning."""
    with pytest.warns(sixd.ModelWarning, match="equality1: the equality is left out: .*no circle"):
        model = sixd.load(document("<joint joint1='e1' joint2='a1'/><joint joint1='a1' joint2='e1'/>"))
    assert len(model.constraints) == 1


def test_tendon_equalities_are_not_carried():
    tendon = "<tendon><fixed name='t'><joint joint='e1' coef='1'/></fixed></tendon></mujoco>"
    with pytest.warns(sixd.ModelWarning, match=r"of tendons or flexible bodies \(1\) are not supported"):
        sixd.load(document("<tendon tendon1='t'/>").replace("</mujoco>", tendon))


# keyframes ---------------------------------------------------------------------------------------


def test_keyframes_are_configurations():
    """Each is MuJoCo's, with the free joint's quaternion first and of unit length."""
    text = document("", KEYS)
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    assert model.configuration_names == ("home", "key1", "file")
    half = np.sqrt(0.5)
    assert_allclose(model.configuration("home"), [0.1, 0.2, half, half, 0, 0, 0, 1, 0, 0, 1, 2, 3, 0.5], atol=1e-15)
    data = mujoco.MjData(theirs)
    for k, name in enumerate(("home", "key1")):
        mujoco.mj_resetDataKeyframe(theirs, data, k)
        mujoco.mj_forward(theirs, data)
        for body in ("b", "c", "e"):
            assert_allclose(sixd.pose(model, model.configuration(name), body)[:3, 3], data.body(body).xpos, atol=1e-14)
    q = model.configuration("home")
    q[:] = 7  # a copy
    assert model.configuration("home")[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        model.configurations["home"][0] = 1
    with pytest.raises(sixd.UnknownNameError, match="no configuration named 'hoome'. Did you mean 'home'"):
        model.configuration("hoome")
    with pytest.raises(sixd.UnknownNameError, match="There are: 'home', 'key1', 'file'"):
        model.configuration("zzzzz")


def test_models_without_configurations():
    arm = sixd.zoo.ur_arm()
    assert arm.configuration_names == ()
    with pytest.raises(sixd.UnknownNameError, match="There are none"):
        arm.configuration("home")


def arm_and_gripper():
    arm, gripper = sixd.ModelBuilder("arm"), sixd.ModelBuilder("gripper")
    arm.add_body("upper", "world", sixd.Revolute("z"), inertia=sixd.box(1, 1, 1, mass=1.0))
    arm.add_body("lower", "upper", sixd.Revolute("y"), inertia=sixd.box(1, 1, 1, mass=1.0))
    arm.add_configuration("home", [0.1, 0.2])
    arm.add_configuration("bent", {"lower": 1.5})
    gripper.add_body("finger", "world", sixd.Prismatic("x"), inertia=sixd.box(1, 1, 1, mass=1.0))
    gripper.add_configuration("home", [0.3])
    gripper.add_configuration("open", [0.4])
    return arm.build(), gripper.build()


def test_configurations_are_carried():
    """By copies, pickles and edits; a joint that one says nothing of is neutral."""
    arm, gripper = arm_and_gripper()
    assert_allclose(arm.configuration("bent"), [0, 1.5])
    for model in (pickle.loads(pickle.dumps(arm)), copy.copy(arm), arm.with_gravity([0, 0, -1]), arm.without_passive()):
        assert_allclose(model.configuration("home"), [0.1, 0.2])
    assert not pickle.loads(pickle.dumps(arm)).configurations["home"].flags.writeable
    assert_allclose(arm.with_frame("tip", "lower").configuration("home"), [0.1, 0.2])
    assert_allclose(arm.lock({"upper": 0.7}).configuration("home"), [0.2])
    assert_allclose(arm.submodel("lower").configuration("home"), [0.2])
    both = arm.attach(gripper, "lower")
    assert both.configuration_names == ("home", "bent", "open")
    assert_allclose(
        [both.configuration(n) for n in both.configuration_names], [[0.1, 0.2, 0.3], [0, 1.5, 0], [0, 0, 0.4]]
    )
    prefixed = arm.attach(gripper, "lower", prefix="g_")
    assert prefixed.configuration_names == ("home", "bent", "g_home", "g_open")
    assert_allclose(prefixed.configuration("g_open"), [0, 0, 0.4])


def test_configurations_change_no_key():
    """A model with named configurations runs the machine code of the one without."""
    from sixd.engine.artifact import _model_key

    arm, _ = arm_and_gripper()
    builder = sixd.ModelBuilder("bare")
    builder.add_body("upper", "world", sixd.Revolute("z"), inertia=sixd.box(1, 1, 1, mass=1.0))
    builder.add_body("lower", "upper", sixd.Revolute("y"), inertia=sixd.box(1, 1, 1, mass=1.0))
    assert _model_key(builder.build()) == _model_key(arm)


@pytest.mark.parametrize(
    ("name", "q", "message"),
    [
        ("home", [1.0], r"add_configuration 'home': q has shape \(1,\), expected \(8,\)"),
        ("home", {"elbo": 1.0}, "no joint named 'elbo'. Did you mean 'elbow'"),
        ("home", {"elbow": np.nan}, "joint 'elbow' is .*expected finite"),
        ("home", {"base": np.zeros(7)}, "joint 'base' has a zero quaternion"),
        ("", [0.0] * 8, "expected a non-empty string"),
    ],
)
def test_bad_configurations(name, q, message):
    builder = sixd.ModelBuilder("m")
    builder.add_body("base", "world", sixd.Free())
    builder.add_body("elbow", "base", sixd.Revolute("z"))
    with pytest.raises(sixd.SixdError, match=message):
        builder.add_configuration(name, q)
