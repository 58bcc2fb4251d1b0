"""States of other programs: Pinocchio's and MuJoCo's own dynamics, through the maps, are sixd's."""

import numpy as np
import pytest
import sympy

import sixd
from peers import mujoco, pin
from robots import FIVE, ROBOTS, all_urdfs, pinocchio_model, quiet_load
from sixd.interop import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio
from sixd.interop.layouts import pinocchio_order

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more


def link(name, mass=1.0):
    inertia = "ixx='.3' ixy='.01' ixz='.02' iyy='.25' iyz='-.03' izz='.2'"
    return (
        f"<link name='{name}'><inertial><origin xyz='.1 -.2 .3' rpy='.1 .2 .3'/><mass value='{mass}'/>"
        f"<inertia {inertia}/></inertial></link>"
    )


def joint(name, kind, parent, child, axis="0 0 1", rpy="0 0 0"):
    limit = "<limit lower='-2' upper='2' effort='1' velocity='1'/>" if kind in ("revolute", "prismatic") else ""
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>"
        f"<origin xyz='.1 .2 .3' rpy='{rpy}'/><axis xyz='{axis}'/>{limit}</joint>"
    )


# joint names sort against file order; fixed joints in between, upper case and digits among the names
BRANCHING = (
    "<robot name='branching'>"
    + "".join(link(name) for name in ("base", "a", "b", "c", "d", "e", "f", "g", "h", "plate"))
    + joint("zeta", "continuous", "base", "a", "1 2 3")
    + joint("mu", "fixed", "base", "plate", rpy=".3 .2 .1")
    + joint("Alpha", "prismatic", "plate", "b", "0 1 1")
    + joint("beta", "revolute", "plate", "c", "1 0 0", ".5 .1 -.4")
    + joint("alpha", "planar", "base", "d", rpy=".4 .3 .2")
    + joint("y10", "revolute", "a", "e", "0 1 0")
    + joint("y9", "continuous", "a", "f", "0 0 1")
    + joint("drift", "floating", "d", "g", rpy=".1 -.5 .9")
    + joint("kappa", "continuous", "g", "h", "1 0 0")
    + "</robot>"
)
REAL = {
    **FIVE,
    "kinova": ROBOTS / "kinova_description/robots/kinova.urdf",
    "tiago": ROBOTS / "tiago_description/robots/tiago.urdf",
}
CASES = [(name, False) for name in ("ur5", "panda", "anymal", "talos", "kinova", "tiago")] + [
    ("anymal", True), ("talos", True), ("branching", False), ("branching", True),
]  # fmt: skip


def pair(name, floating):
    """The model without passive forces, which Pinocchio ignores, and Pinocchio's."""
    if name == "branching":
        free = [pin.JointModelFreeFlyer()] if floating else []
        model, theirs = sixd.load(BRANCHING, floating_base=floating), pin.buildModelFromXML(BRANCHING, *free)
    else:
        model, theirs = quiet_load(REAL[name], floating_base=floating), pinocchio_model(REAL[name], floating=floating)
    return model.without_passive(), theirs


def assert_close(ours, theirs):
    assert np.abs(ours - theirs).max(initial=0.0) <= 1e-10 * max(1.0, np.abs(theirs).max(initial=0.0))


def state(model, rng, *shape):
    q = np.array([model.random_configuration(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, model.nq)
    return (q, *rng.uniform(-2, 2, (3, *shape, model.nv)))


# Pinocchio ---------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("name", "floating"), CASES)
def test_pinocchio_dynamics(name, floating, by_name, rng):
    """Pinocchio's rnea, aba and poses at the mapped state are ours."""
    model, theirs = pair(name, floating)
    data, options = theirs.createData(), {"pinocchio_model": theirs} if by_name else {}
    for _ in range(3):
        q, qd, qdd, tau = state(model, rng)
        their_q, their_v, their_a, their_tau = to_pinocchio(model, q, qd, qdd, tau, **options)
        force = np.array(pin.rnea(theirs, data, their_q, their_v, their_a))
        assert_close(sixd.inverse_dynamics(model, q, qd, qdd), from_pinocchio(model, their_q, tau=force, **options)[1])
        acceleration = np.array(pin.aba(theirs, data, their_q, their_v, their_tau))
        mapped = from_pinocchio(model, their_q, their_v, acceleration, **options)[2]
        assert_close(sixd.forward_dynamics(model, q, qd, tau), mapped)
        pin.framesForwardKinematics(theirs, data, their_q)
        for frame, T in zip(theirs.frames, data.oMf, strict=True):
            if frame.type == pin.FrameType.BODY and frame.name in model.frames:
                assert_close(sixd.pose(model, q, frame.name), T.homogeneous)


@pytest.mark.long
@pytest.mark.parametrize("floating", [False, True])
def test_pinocchio_order_of_every_urdf(floating):
    """The computed order is that of Pinocchio's reader, on every file of two packages."""
    compared, files = 0, all_urdfs()
    if not files:
        pytest.skip("no robot files are installed: pip install example-robot-data rtb-data")
    for path in files:
        theirs = pinocchio_model(path, floating=floating)
        if theirs is not None:
            model = quiet_load(path, floating_base=floating)
            assert [model.joint_names[i - 1] for i in pinocchio_order(model)] == list(theirs.names)[1:], path.name
            compared += 1
    assert compared > 60  # the packages, whose files change with their versions, were found


def test_pinocchio_order_survives_lock():
    """Locking a joint leaves the order of the others, as ``pin.buildReducedModel`` does."""
    model, theirs = pair("branching", False)
    model = model.lock({"zeta": 0.3})
    names = [name for name in list(theirs.names)[1:] if name != "zeta"]
    assert [model.joint_names[i - 1] for i in pinocchio_order(model)] == names
    assert [model.submodel("d").joint_names[i - 1] for i in pinocchio_order(model.submodel("d"))] == names[:3]


def test_pinocchio_velocity_is_the_rate(rng):
    """Mapped velocities are what Pinocchio's own integration makes of the mapped configurations."""
    model, theirs = pair("branching", True)
    q, qd, qdd, _ = state(model, rng)
    step = 1e-6
    ahead = to_pinocchio(model, model.integrate(q, step * qd))
    their_q, their_v, their_a = to_pinocchio(model, q, qd, qdd)
    # forward differences of step 1e-6: truncation is of the same size
    np.testing.assert_allclose(pin.difference(theirs, their_q, ahead) / step, their_v, atol=2e-5)
    later = to_pinocchio(model, model.integrate(q, step * qd), qd + step * qdd)[1]
    np.testing.assert_allclose((later - their_v) / step, their_a, atol=2e-5)


def test_pinocchio_unbounded_by_its_own_model(rng):
    """Whether an angle is (cos, sin) is defined by Pinocchio's model, if there is one."""
    builder = sixd.ModelBuilder("arm")
    builder.add_body("upper", "world", sixd.Revolute("z"), joint_name="j")
    theirs = pin.Model()
    theirs.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Identity(), "j")
    np.testing.assert_allclose(
        to_pinocchio(builder.build(), [0.3], pinocchio_model=theirs), [np.cos(0.3), np.sin(0.3)], rtol=1e-15
    )
    assert to_pinocchio(builder.build(), [0.3]) == [0.3]


def test_pinocchio_quaternions_get_unit_length(rng):
    """Pinocchio uses quaternions as they are; those of sixd may be slightly off unit length."""
    model = sixd.zoo.random_tree(0, kinds=("free", "spherical"))
    q = model.random_configuration(rng)
    scaled = q.copy()
    scaled[:4] *= 1.0009
    np.testing.assert_allclose(to_pinocchio(model, scaled), to_pinocchio(model, q), atol=1e-15)


# MuJoCo ------------------------------------------------------------------------------------------

# what MuJoCo's own URDF reader knows: no planar joint; free joints on the world only, their frame turned and moved
FOR_MUJOCO = (
    "<robot name='for_mujoco'><link name='base'/>"
    + "".join(link(name) for name in "abcd")
    + joint("zeta", "floating", "base", "a", rpy=".1 -.5 .9")
    + joint("beta", "revolute", "a", "b", "1 2 3", ".5 .1 -.4")
    + joint("alpha", "prismatic", "a", "c", "0 1 1")
    + joint("free", "floating", "base", "d", rpy=".3 .2 -.1")
    + "</robot>"
)


def for_mujoco():
    return sixd.load(FOR_MUJOCO).without_passive(), mujoco.MjModel.from_xml_string(FOR_MUJOCO)


def test_mujoco_dynamics(rng):
    """MuJoCo's inverse and forward dynamics at the mapped state are ours, for a URDF that both read."""
    model, theirs = for_mujoco()
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(theirs)
    for _ in range(3):
        q, qd, qdd, tau = state(model, rng)
        data.qpos, data.qvel, data.qacc, force = to_mujoco(model, q, qd, qdd, tau, mujoco_model=theirs)
        mujoco.mj_inverse(theirs, data)
        ours = sixd.inverse_dynamics(model, q, qd, qdd)
        assert_close(ours, from_mujoco(model, data.qpos, tau=data.qfrc_inverse, mujoco_model=theirs)[1])
        data.qfrc_applied = force
        mujoco.mj_forward(theirs, data)
        mapped = from_mujoco(model, data.qpos, data.qvel, data.qacc, mujoco_model=theirs)[2]
        assert_close(sixd.forward_dynamics(model, q, qd, tau), mapped)
        for name in "abcd":
            assert_close(sixd.pose(model, q, name)[:3, 3], data.body(name).xpos)


def test_mujoco_unnamed_joints(rng):
    """A joint without a name is matched by the one that loading invents."""
    bodies = "<body><freejoint/><geom size='1'/><body><joint/><geom size='1'/></body></body>"
    text = f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"
    model, theirs = sixd.load(text), mujoco.MjModel.from_xml_string(text)
    q = model.random_configuration(rng)
    np.testing.assert_array_equal(to_mujoco(model, q, mujoco_model=theirs), to_mujoco(model, q))


# both --------------------------------------------------------------------------------------------

PAIRS = {"pinocchio": (to_pinocchio, from_pinocchio), "mujoco": (to_mujoco, from_mujoco)}
MODELS = {"pinocchio": BRANCHING, "mujoco": FOR_MUJOCO}


def both(program):
    return sixd.load(MODELS[program]), *PAIRS[program]


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0,)])
@pytest.mark.parametrize("program", PAIRS)
def test_round_trip(program, shape, rng):
    """There and back is the identity, and a batch equals its states; power is the same on both sides."""
    model, there, back = both(program)
    states = state(model, rng, *shape)
    mapped = there(model, *states)
    for ours, again in zip(states, back(model, *mapped), strict=True):
        assert again.shape == ours.shape
        assert_close(again, ours)
    for k in np.ndindex(*shape):
        for whole, one in zip(mapped, there(model, *(x[k] for x in states)), strict=True):
            np.testing.assert_allclose(whole[k], one, atol=1e-14)
    power = np.sum(states[1] * states[3], axis=-1)
    np.testing.assert_allclose(np.sum(mapped[1] * mapped[3], axis=-1), power, atol=1e-12)


@pytest.mark.parametrize("program", PAIRS)
def test_what_is_given_is_returned(program, rng):
    """q, or the tuple of all inputs; batches broadcast; float32 stays."""
    model, there, back = both(program)
    q, qd, qdd, tau = state(model, rng)
    for function in (there, back):
        q0 = q if function is there else there(model, q)
        assert isinstance(function(model, q0), np.ndarray)
        assert len(function(model, q0, qd)) == 2
        assert len(function(model, q0, tau=tau)) == 2
        assert len(function(model, q0, qd, qdd, tau)) == 4
        q1, v1 = function(model, np.tile(q0, (3, 1, 1)), np.tile(qd, (4, 1)))
        assert (q1.shape[:-1], v1.shape[:-1]) == ((3, 4), (3, 4))
        assert function(model, q0.astype(np.float32), qd.astype(np.float32))[1].dtype == np.float32


def test_symbols_are_converted():
    """SymPy states give SymPy states: the planar joint's velocity rotates with θ."""
    builder = sixd.ModelBuilder("puck")
    builder.add_body("puck", "world", sixd.Planar())
    t, x, y, w, u, v = sympy.symbols("t x y w u v")
    q, qd = to_pinocchio(builder.build(), [t, x, y], [w, u, v])
    assert list(q) == [x, y, sympy.cos(t), sympy.sin(t)]
    assert sympy.simplify(qd[0] - (u * sympy.cos(t) + v * sympy.sin(t))) == 0
    assert qd[2] == w
