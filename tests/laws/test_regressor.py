"""The joint-torque regressor: inverse dynamics is linear in the inertial parameters."""

import ctypes

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd
from peers import pin
from robots import FIVE, ByName, all_urdfs, pinocchio_model, quiet_load
from samples import KINDS, Parabola, single_joint, states, trees
from sixd.algorithms.passive_forces import passive_force

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms


def parameters(model):
    """Return θ (10 nb,), in the order of the parameter "inertia" of ``sixd.compile``."""
    return np.concatenate([np.zeros(0), *(model.body_inertia(name).parameters for name in model.body_names)])


def difference(model, q, qd, qdd):
    """Return Y θ + armature q̈ + passive forces minus inverse dynamics, relative to the largest force."""
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    found = sixd.joint_torque_regressor(model, q, qd, qdd) @ parameters(model)
    found = found + model.armature * qdd + passive_force(model, q, qd)
    return np.abs(found - tau).max(initial=0.0) / max(np.abs(tau).max(initial=0.0), 1e-300)


@pytest.mark.many
@pytest.mark.parametrize("model", [*trees(), *map(single_joint, KINDS)], ids=lambda m: m.name)
def test_it_gives_inverse_dynamics(model, rng):
    for q, qd, qdd in states(model, rng):
        assert difference(model, q, qd, qdd) < 1e-12


@pytest.mark.many
@pytest.mark.parametrize("name", sixd.zoo.names())
def test_it_gives_inverse_dynamics_of_the_zoo(name, rng):
    model = sixd.zoo.get(name)
    assert difference(model, model.random_configuration(rng), *rng.uniform(-2, 2, (2, model.nv))) < 1e-12


@pytest.mark.many
@pytest.mark.targets("plain")
@pytest.mark.parametrize("path", all_urdfs(), ids=lambda p: p.stem)
def test_it_gives_inverse_dynamics_of_every_robot_file(path, rng):
    try:
        model = quiet_load(path)
    except sixd.LoadError as error:
        pytest.skip(f"not a robot that can be loaded: {error}")  # tests/io/test_urdf.py says which and why
    assert difference(model, model.random_configuration(rng), *rng.uniform(-2, 2, (2, model.nv))) < 1e-12


def test_joints_of_users(rng):
    builder = sixd.ModelBuilder("slide")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.box(1, 2, 3, mass=4.0))
    model = builder.build()
    for q, qd, qdd in states(model, rng):
        assert difference(model, q, qd, qdd) < 1e-12


@pytest.mark.parametrize("name", ["ur5", pytest.param("talos", marks=pytest.mark.long)])
def test_it_equals_pinocchios(name, rng):
    """Pinocchio's columns have another order of the moments of inertia: Ixx Ixy Iyy Ixz Iyz Izz."""
    model, other = quiet_load(FIVE[name]).without_passive(), pinocchio_model(FIVE[name])
    by_name = ByName(model, other)
    q, qd, qdd = next(states(model, rng))
    theirs = pin.computeJointTorqueRegressor(other, other.createData(), by_name.q(q), by_name.v(qd), by_name.v(qdd))
    order = [0, 1, 2, 3, 4, 6, 9, 8, 7, 5]
    found = np.zeros((model.nv, 10 * model.nb))
    for k, joint in enumerate(model.joint_names):
        first = 10 * (other.getJointId(joint) - 1)
        found[:, 10 * k : 10 * k + 10] = theirs[by_name.columns][:, first : first + 10][:, order]
    assert_allclose(sixd.joint_torque_regressor(model, q, qd, qdd), found, atol=1e-12 * np.abs(found).max())


def test_batches_and_out(rng):
    model = single_joint("free")
    rows = [np.array(x) for x in zip(*states(model, rng), strict=True)]
    out = np.empty((4, model.nv, 10 * model.nb))
    assert sixd.joint_torque_regressor(model, *rows, out=out) is out
    for k in range(4):
        assert_allclose(out[k], sixd.joint_torque_regressor(model, *(x[k] for x in rows)), rtol=0, atol=1e-12)


@pytest.mark.one_target
def test_closed_form():
    """A pendulum: tau = Izz q̈ - g (hx cos q - hy sin q) with gravity along -y."""
    model = sixd.zoo.pendulum(1)
    q, v, a = sympy.symbols("q v a")
    Y = sixd.joint_torque_regressor(model, *(np.array([x]) for x in (q, v, a)))
    theta = np.array(sympy.symbols("m hx hy hz Ixx Iyy Izz Iyz Ixz Ixy"))
    inertia = sixd.Inertia.from_parameters(theta)
    symbolic = sixd.ModelBuilder("pendulum", gravity=model.gravity)
    symbolic.add_body("rod", "world", model.joints[1], inertia=inertia, placement=model.placement[1])
    tau = sixd.inverse_dynamics(symbolic.build(), *(np.array([x]) for x in (q, v, a)))
    assert sympy.simplify((Y @ theta - tau)[0]) == 0
    assert (Y @ theta)[0].has(sympy.cos(q))


def test_reduced_models(rng):
    """In independent coordinates it is Gᵀ Y."""
    model = single_joint("revolute", passive=False).with_constraints(sixd.Mimic("joint2", "joint1", 2.0, 0.1))
    reduced = model.reduce()
    y, yd, ydd = rng.uniform(-1, 1, (3, reduced.nv))
    found = sixd.joint_torque_regressor(reduced, y, yd, ydd) @ parameters(model)
    armature = reduced.force(y, model.armature * reduced.lift(y, yd, ydd)[2])
    assert_allclose(found + armature, sixd.inverse_dynamics(reduced, y, yd, ydd), rtol=1e-12)


def test_in_c(rng, tmp_path):
    from c_compiler import CC, build

    if CC is None:
        pytest.skip("no C compiler")
    model = sixd.zoo.ur_arm()
    function = build(sixd.export_c(sixd.joint_torque_regressor, model), tmp_path)
    state = rng.uniform(-1, 1, (3, 6))
    out = np.empty((6, 60))
    function(*(ctypes.c_void_p(x.ctypes.data) for x in (*state, out)))
    assert_allclose(out, sixd.joint_torque_regressor(model, *state), atol=1e-13)
