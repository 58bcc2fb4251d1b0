"""MJCF models compared with MuJoCo itself: forces, mass matrix, poses, energy; real and broken files."""

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest

import sixd
from peers import mujoco
from robots import DM_CONTROL, require_file
from sixd.interop import to_mujoco

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and by the plain algorithms

SUITE = DM_CONTROL / "suite"


# two views of one file ----------------------------------------------------------------------------


def quiet_load(source):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        return sixd.load(source)


def tree_of(source):
    """MuJoCo's model without constraints, tendon forces and fluid: what ``sixd`` carries (friction is a constraint)."""
    mujoco.set_mju_user_warning(lambda text: None)  # it would write a log file
    try:
        load = mujoco.MjModel.from_xml_path if isinstance(source, Path) else mujoco.MjModel.from_xml_string
        theirs = load(str(source))
    finally:
        mujoco.set_mju_user_warning(None)
    for name in ("CONSTRAINT", "CONTACT", "LIMIT", "FRICTIONLOSS"):
        theirs.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}"))
    theirs.opt.density = theirs.opt.viscosity = 0
    theirs.tendon_stiffness[:] = theirs.tendon_damping[:] = 0
    return theirs


def error(ours, theirs):
    return np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0))


def differences(model, theirs, rng, states=3):
    """Largest scaled differences of tau, M, poses, centre of mass and energy over random states."""
    model = dataclasses.replace(model, friction=np.zeros(model.nv))
    data, worst = mujoco.MjData(theirs), dict.fromkeys(("tau", "M", "pose", "center", "energy"), 0.0)
    names = [theirs.body(b).name or f"body{b}" for b in range(theirs.nbody)]
    moving = theirs.body_weldid != 0
    for _ in range(states):
        q = model.random_configuration(rng)
        qd, qdd = rng.uniform(-2, 2, (2, model.nv))
        tau = sixd.inverse_dynamics(model, q, qd, qdd)
        data.qpos, data.qvel, data.qacc, tau = to_mujoco(model, q, qd, qdd, tau, mujoco_model=theirs)
        mujoco.mj_inverse(theirs, data)
        mujoco.mj_energyPos(theirs, data)
        mujoco.mj_energyVel(theirs, data)
        M = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, M)
        A = to_mujoco(model, q, np.eye(model.nv))[1].T
        mass, center = theirs.body_mass[:, None], data.xipos
        gravity = theirs.opt.gravity * (not theirs.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY))
        potential, kinetic = data.energy
        potential += (mass * center)[~moving].sum(axis=0) @ gravity  # MuJoCo counts what cannot move, too
        pairs = [("tau", tau, data.qfrc_inverse), ("M", A @ sixd.mass_matrix(model, q) @ A.T, M)]
        pairs += [("energy", np.array(sixd.energy(model, q, qd)), np.array([kinetic, potential]))]
        pairs += [("center", sixd.center_of_mass(model, q), (mass * center)[moving].sum(axis=0) / mass[moving].sum())]
        for b in range(1, theirs.nbody):
            T = sixd.pose(model, q, names[b])
            pairs += [("pose", T[:3, 3], data.xpos[b]), ("pose", T[:3, :3], data.xmat[b].reshape(3, 3))]
        for key, ours, other in pairs:
            worst[key] = max(worst[key], error(ours, other))
    return worst


def agree(source, rng):
    model = quiet_load(source)
    theirs = tree_of(source)
    assert (model.nq, model.nv) == (theirs.nq, theirs.nv)
    worst = differences(model, theirs, rng)
    assert max(worst.values()) <= 1e-10, worst
    return model


# dm-control's suite ------------------------------------------------------------------------------

# lqr.xml has no joint: its bodies are made by dm-control's code. All others are compared; of ball_in_cup, dog, fish,
# manipulator, point_mass, quadruped and stacker without their tendons, of fish and swimmer without the fluid.
SUITE_FILES = sorted(p.name for p in SUITE.glob("*.xml") if p.name != "lqr.xml")
SIX = {f"{name}.xml" for name in ("acrobot", "cartpole", "cheetah", "hopper", "walker", "humanoid")}


@pytest.mark.parametrize("name", [n if n in SIX else pytest.param(n, marks=pytest.mark.long) for n in SUITE_FILES])
def test_suite(name, rng):
    """Forces, mass matrix, poses, centre of mass and energy are MuJoCo's."""
    agree(SUITE / name, rng)


@pytest.mark.one_target
def test_suite_has_the_six():
    """Guard: the models the project promises are among those compared."""
    require_file(SUITE)
    assert set(SUITE_FILES) >= SIX


@pytest.mark.one_target
def test_no_joint_at_all():
    model = sixd.load(require_file(SUITE / "lqr.xml"))
    assert (model.nb, model.nq) == (0, 0)


# mechanisms of our own ---------------------------------------------------------------------------


def document(bodies, head=""):
    return f"<mujoco model='case'>{head}<worldbody>{bodies}</worldbody></mujoco>"


BOX = "<geom type='box' size='.1 .2 .3' pos='.1 -.2 .05' euler='20 30 40'/>"
CASES = {
    "several joints": f"""<body pos='1 2 3' euler='10 20 30'><joint type='slide' axis='1 1 0'/><joint axis='0 1 1'/>
        <joint axis='1 0 0' armature='.3'/>{BOX}</body>""",
    "ref": f"""<body pos='1 2 3'><joint axis='1 2 3' ref='35'/><joint type='slide' axis='0 1 .5' ref='.4'/>
        <joint axis='0 0 1' pos='.1 .2 .3' ref='-50'/>{BOX}</body>""",
    "springs": f"""<body><joint axis='1 2 3' ref='35' springref='-20' stiffness='7' damping='2'/>{BOX}<body pos='0 1 0'>
        <joint type='slide' ref='.3' springref='.7' stiffness='3' armature='.2'/>{BOX}</body></body>""",
    "ball spring": f"<body><joint type='ball' stiffness='4' damping='.3' armature='.1' pos='.3 .2 .1'/>{BOX}</body>",
    "anchors": f"""<body quat='.5 .5 -.5 .5'><joint axis='1 0 0' pos='.1 .2 .3'/><joint axis='0 1 0' pos='-.3 .1 .2'/>
        <joint axis='0 0 1' pos='.2 -.4 .1'/>{BOX}
        <body pos='.5 0 0'><joint pos='.1 .1 0' axis='1 1 1'/>{BOX}</body></body>""",
    "nested fixed": f"""<body pos='0 0 1' euler='0 30 0'>{BOX}<body pos='.1 0 0' euler='30 0 0'>{BOX}
        <body pos='0 .2 0'><joint axis='0 1 0'/>{BOX}<body pos='0 0 .3' euler='0 0 45'>{BOX}
        <body pos='.1 .1 .1'><body><joint axis='1 0 0'/>{BOX}</body>{BOX}</body></body></body></body></body>""",
    "free": f"""<body pos='1 2 3' euler='30 40 50'><freejoint/>{BOX}<body pos='.2 0 0'>
        <joint type='ball'/>{BOX}</body></body><body pos='-1 0 0'><joint type='free' damping='.5'/>{BOX}</body>""",
    "mix": f"""<body pos='0 0 1'><joint type='slide' axis='1 0 1' ref='.2'/><joint axis='0 1 0' pos='0 .2 0' ref='10'/>
        <joint type='ball' pos='.1 0 .2' stiffness='2'/>{BOX}<body pos='.3 0 0' euler='0 90 0'>
        <joint type='ball' pos='0 .1 0'/><joint type='slide' axis='0 1 0'/>{BOX}</body></body>""",
    "classes": f"""<body childclass='soft' pos='0 0 1'><joint axis='1 0 0'/>{BOX}<body pos='0 .3 0'>
        <joint class='stiff' axis='0 1 0'/><joint type='slide' damping='0'/>{BOX}</body></body>""",
    "massless, carrying a fixed body": f"<body><joint axis='0 1 0'/><body pos='.3 0 0'>{BOX}</body></body>",
}  # fmt: skip
CLASSES = """<default><default class='soft'><joint damping='.7' stiffness='1' springref='20'/></default>
    <default class='stiff'><joint armature='.2' stiffness='30' ref='10'/><geom density='300'/></default></default>"""
HEADS = {
    "degree": "<compiler angle='degree'/>",
    "gravity off": "<option gravity='1 2 3'><flag gravity='disable'/></option>",
    "gravity": "<option gravity='1 -2 3'/>",
    "springs off": "<option><flag spring='disable' damper='disable'/></option>",
    "radian": "<compiler angle='radian'/>",
    "eulerseq": "<compiler eulerseq='ZYX'/>",
    "defaults": "<default><joint damping='.7' armature='.2' stiffness='1'/><geom density='300'/></default>",
    "inertia": "<compiler inertiafromgeom='true' boundmass='2' boundinertia='.3'/>",
}


@pytest.mark.many
@pytest.mark.parametrize("case", CASES)
def test_cases(case, rng):
    """Each way to hang bodies gives MuJoCo's numbers."""
    agree(document(CASES[case], CLASSES), rng)


@pytest.mark.many
@pytest.mark.parametrize("head", HEADS)
def test_options(head, rng):
    """Compiler settings, defaults and options act as in MuJoCo."""
    agree(document(CASES["mix"], HEADS[head]), rng)


def test_explicit_inertia(rng):
    """A full inertia matrix, off the body's origin."""
    inertial = "<inertial pos='.1 .2 .3' mass='2' fullinertia='.5 .6 .7 .05 -.04 .03'/>"
    model = agree(document(f"<body name='a'><joint pos='0 .1 0' axis='1 1 0'/>{inertial}</body>"), rng)
    inertia = model.body_inertia("a")
    assert inertia.mass == 2
    np.testing.assert_allclose(inertia.com, [0.1, 0.1, 0.3], atol=1e-15)  # seen from the joint's anchor
    np.testing.assert_allclose(inertia.about_com[0], [0.5, 0.05, -0.04], atol=1e-12)
