"""Derivatives of inverse and forward dynamics: dual numbers, differences of compiled code, Pinocchio, every joint type."""

import dataclasses

import numpy as np
import pytest
import sympy as sp

import sixd
from c_compiler import build, call, needs_cc
from peers import pin
from robots import FIVE, pinocchio_model, quiet_load
from samples import KINDS, Parabola, single_joint, states, trees
from sixd.algorithms.aba import aba
from sixd.algorithms.derivatives.joint_derivatives import joint_derivatives
from sixd.algorithms.rnea import rnea
from sixd.spatial.dual import duals, parts
from sixd.spatial.transform import rotx, roty, xlt

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TIGHT = 1e-13  # norm-wise, relative

MODELS = {f"tree{k}": tree for k, tree in enumerate(trees()[:2])}
MODELS |= {kind: single_joint(kind) for kind in KINDS}
each = pytest.mark.parametrize("name", MODELS)
FUNCTIONS = {
    "inverse": (sixd.inverse_dynamics_derivatives, rnea, sixd.inverse_dynamics),
    "forward": (sixd.forward_dynamics_derivatives, aba, sixd.forward_dynamics),
}
both = pytest.mark.parametrize("way", FUNCTIONS)


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def by_duals(algorithm, model, q, qd, x, f_ext):
    """Return the three derivatives of an algorithm, one direction at a time."""

    def derivative(dq, dqd, dx):
        rate = np.asarray(model.configuration_rate(q, dq), dtype=float)
        row = duals(q, rate), duals(qd, dqd), duals(x, dx)
        force = {} if f_ext is None else {"f_ext": duals(f_ext, np.zeros_like(f_ext))}
        return np.asarray(parts(algorithm(model, *row, **force))[1], dtype=float)

    zero, units = np.zeros(model.nv), np.eye(model.nv)
    directions = [(e, zero, zero) for e in units], [(zero, e, zero) for e in units], [(zero, zero, e) for e in units]
    return [np.stack([derivative(*d) for d in group], axis=1) for group in directions]


def by_differences(function, model, q, qd, x, f_ext, step):
    """Return central differences of the public function, all columns as one batch."""
    E = step * np.eye(model.nv)

    def sides(change):
        return [function(model, *change(sign), f_ext=f_ext) for sign in (1, -1)]

    changes = (
        lambda s: (model.integrate(q, s * E), qd, x),
        lambda s: (q, qd + s * E, x),
        lambda s: (q, qd, x + s * E),
    )
    return [(ahead - behind).T / (2 * step) for ahead, behind in map(sides, changes)]


# against dual numbers and differences ---------------------------------------------------------------


@pytest.mark.many
@each
@both
@pytest.mark.parametrize("force", [False, True], ids=["", "f_ext"])
def test_dual_numbers(name, way, force, rng):
    """With springs, damping, friction and armature; every joint type, also near 0 and near a half turn."""
    model, (function, algorithm, _) = MODELS[name], FUNCTIONS[way]
    for q, qd, x in states(model, rng, count=3):
        f_ext = rng.normal(size=(model.nb, 6)) if force else None
        found = function(model, q, qd, x, f_ext=f_ext)
        expected = by_duals(algorithm, model, q, qd, x, f_ext)
        assert max(map(error, found, expected)) < TIGHT


@pytest.mark.many
@each
@both
def test_differences(name, way, rng):
    """Central differences of the function itself: truncation and rounding have an error of 1e-8."""
    model, (function, _, primal) = MODELS[name], FUNCTIONS[way]
    q, qd, x = next(states(model, rng))
    qd = np.where(np.abs(qd) < 0.1, 0.5, qd)  # friction is discontinuous at rest
    f_ext = rng.normal(size=(model.nb, 6))
    found = function(model, q, qd, x, f_ext=f_ext)
    expected = by_differences(primal, model, q, qd, x, f_ext, 1e-5)
    assert max(map(error, found, expected)) < 1e-7


@pytest.mark.many
@each
def test_forward_and_inverse(name, rng):
    """∂qdd = -M⁻¹ ∂tau at the resulting acceleration; the derivatives with respect to the last arguments are M⁻¹ and M."""
    model = MODELS[name]
    q, qd, tau = next(states(model, rng))
    forward = sixd.forward_dynamics_derivatives(model, q, qd, tau)
    inverse = sixd.inverse_dynamics_derivatives(model, q, qd, sixd.forward_dynamics(model, q, qd, tau))
    assert error(inverse.qdd, sixd.mass_matrix(model, q)) < TIGHT
    assert error(forward.tau @ inverse.qdd, np.eye(model.nv)) < 1e-12
    assert error(inverse.qdd @ forward.q, -inverse.q) < 1e-12
    assert error(inverse.qdd @ forward.qd, -inverse.qd) < 1e-12
    assert np.array_equal(forward.tau, forward.tau.T)


# Pinocchio ------------------------------------------------------------------------------------------

ROBOTS = [("ur5", False), ("panda", False), ("anymal", True), ("talos", True)]
PLAIN = ("ur5", "anymal")  # with the plain algorithms, which need a second for a humanoid


@pytest.mark.many
@pytest.mark.parametrize(("name", "floating"), ROBOTS)
def test_pinocchio(name, floating, rng, target):
    """Its derivatives are in the tangent space too; columns in the order of ``sixd.interop``."""
    if target == "plain" and name not in PLAIN:
        pytest.skip("shown by the other robots")
    model = quiet_load(FIVE[name], floating_base=floating).without_passive()
    theirs = pinocchio_model(FIVE[name], floating=floating)
    data = theirs.createData()
    order = sixd.interop.from_pinocchio(model, pin.neutral(theirs), np.arange(model.nv), pinocchio_model=theirs)[
        1
    ].astype(int)
    back = np.ix_(order, order)
    for _ in range(1 if target == "plain" else 4):
        q = model.random_configuration(rng)
        qd, qdd, tau = rng.uniform(-2, 2, (3, model.nv))
        p, v, *last = sixd.interop.to_pinocchio(model, q, qd, qdd, tau, pinocchio_model=theirs)
        expected = pin.computeRNEADerivatives(theirs, data, p, v, last[0])
        M = np.triu(expected[2]) + np.triu(expected[2], 1).T
        found = sixd.inverse_dynamics_derivatives(model, q, qd, qdd)
        assert max(map(error, found, [x[back] for x in (*expected[:2], M)])) < 1e-12
        expected = pin.computeABADerivatives(theirs, data, p, v, last[1])
        W = np.triu(expected[2]) + np.triu(expected[2], 1).T
        found = sixd.forward_dynamics_derivatives(model, q, qd, tau)
        assert max(map(error, found, [x[back] for x in (*expected[:2], W)])) < 1e-12


# arrays ---------------------------------------------------------------------------------------------


@pytest.mark.long
@both
def test_batches_and_out(way, rng):
    model, (function, _, _) = MODELS["tree0"], FUNCTIONS[way]
    q = model.random_configuration(rng, size=(2, 3))
    qd, x = rng.uniform(-1, 1, (2, 1, 3, model.nv))
    found = function(model, q, qd, x)
    assert type(found)._fields == ("q", "qd", "qdd" if way == "inverse" else "tau")
    assert all(s.shape == (2, 3, model.nv, model.nv) for s in found)
    one = function(model, q[1, 2], qd[0, 2], x[0, 2])
    assert type(one) is type(found)
    assert all(np.array_equal(a, b[1, 2]) for a, b in zip(one, found, strict=True))
    for out in (tuple(np.full_like(s, np.nan) for s in found), type(found)(*(np.full_like(s, np.nan) for s in found))):
        for _ in range(2):
            assert function(model, q, qd, x, out=out) is out
            assert all(map(np.array_equal, out, found))
    single = [a.astype(np.float32) for a in (q, qd, x)]
    small = function(model, *single)
    assert all(s.dtype == np.float32 for s in small)
    assert max(map(error, small, found)) < 1e-3  # float32


@pytest.mark.long
@both
def test_nan_stays_in_its_sample(way, rng):
    model, (function, _, _) = MODELS["tree0"], FUNCTIONS[way]
    q = model.random_configuration(rng, size=5)
    qd, x = rng.uniform(-1, 1, (2, 5, model.nv))
    whole = function(model, q, qd, x)
    qd[3, 0] = np.nan
    found = function(model, q, qd, x)
    rows = [0, 1, 2, 4]
    assert np.isnan(found.q[3]).any()
    assert all(np.array_equal(a[rows], b[rows]) for a, b in zip(found, whole, strict=True))


@pytest.mark.one_target
@both
def test_kernels_symbols_and_c(way, rng):
    function, _, primal = FUNCTIONS[way]
    arm = sixd.zoo.pendulum(2)
    row = rng.uniform(-1, 1, (3, 2))
    expected = function(arm, *row)
    kernel = sixd.compile(function, arm)
    for _ in range(3):
        found = kernel(*row)
        assert type(found) is type(expected)
        assert all(map(np.array_equal, found, expected))
    several = sixd.compile((primal, function), arm)(*row)
    assert error(several[1], expected.q) < TIGHT

    # symbols: the derivatives of the expressions
    x = sp.symbols("q1 q2 v1 v2 a1 a2")
    exact = function(arm, x[:2], x[2:4], x[4:])
    tau = sp.Matrix(primal(arm, x[:2], x[2:4], x[4:]))
    values = dict(zip(x, row.ravel(), strict=True))
    for s, variables in zip(exact, (x[:2], x[2:4], x[4:]), strict=True):
        difference = (sp.Matrix(s) - tau.jacobian(variables)).subs(values)
        assert max(abs(d) for d in difference) < 1e-12


@needs_cc
@pytest.mark.one_target
@both
def test_exported_c(way, rng, tmp_path):
    model, (function, _, _) = sixd.zoo.random_tree(3, kinds=("free", "universal", "revolute")), FUNCTIONS[way]
    row = model.random_configuration(rng), *rng.uniform(-1, 1, (2, model.nv))
    found = call(build(sixd.export_c(function, model), tmp_path), sixd.compile(function, model).program, *row)
    assert max(map(error, found, function(model, *row))) < TIGHT


def test_external_forces_are_held_in_the_world(rng):
    """A force on a pendulum that is fixed in the world: its moment changes as the lever rotates."""
    model = sixd.zoo.pendulum().without_passive()
    q, zero = np.array([0.4]), np.zeros(1)
    wrench = rng.normal(size=6)

    def moment(x):
        J = sixd.jacobian(model, x, model.body_names[0], expressed_in="world")
        return J.T @ wrench

    derivative = sixd.inverse_dynamics_derivatives(model, q, zero, zero, f_ext=wrench[None]).q
    bare = sixd.inverse_dynamics_derivatives(model, q, zero, zero).q
    h = 1e-6
    assert abs((derivative - bare)[0, 0] + (moment(q + h) - moment(q - h))[0] / (2 * h)) < 1e-8  # a difference


# users' joints --------------------------------------------------------------------------------------


def mechanism(joint):
    builder = sixd.ModelBuilder("own")
    builder.add_body("base", "world", sixd.Revolute("y"), inertia=sixd.box(0.2, 0.3, 0.1, mass=1.0), damping=0.1)
    builder.add_body("point", "base", joint, inertia=sixd.box(0.1, 0.2, 0.3, mass=0.7), stiffness=2.0)
    builder.add_body("tip", "point", sixd.Revolute([1, 2, 3]), inertia=sixd.box(0.1, 0.1, 0.2, mass=0.4))
    return builder.build()


class ByBias(Parabola):
    """The parabola, with cJ instead of S°."""

    subspace_rate = sixd.Joint.subspace_rate

    def bias(self, q, qd):
        return np.array([0, 0, 0, 0, 2 * qd[0] * qd[0], 0])


class Ball(sixd.Joint):
    """A user's joint on a curved space: its q is a quaternion."""

    nq, nv = 4, 3
    sphere = sixd.Spherical()

    def transform(self, q):
        return self.sphere.transform(q)

    def subspace(self, q):
        return self.sphere.subspace(q)

    def integrate(self, q, dq):
        return self.sphere.integrate(q, dq)

    def difference(self, q0, q1):
        return self.sphere.difference(q0, q1)

    def neutral(self):
        return self.sphere.neutral()

    def random(self, rng, lower, upper):
        return self.sphere.random(rng, lower, upper)


class Bow(sixd.Joint):
    """Two DoFs with a varying S: a rotation about x that slides along it by 0.3 q₁², then one about y."""

    nq = nv = 2

    def transform(self, q):
        return roty(q[1]) @ xlt([0.3 * q[0] * q[0], 0, 0]) @ rotx(q[0])

    def subspace(self, q):
        first = roty(q[1]) @ np.array([1, 0, 0, 0.6 * q[0], 0, 0])
        return np.stack([first, np.array([0, 1, 0, 0, 0, 0])], axis=1)

    def subspace_rate(self, q, qd):
        c, s, slide = sixd.spatial.cos(q[1]), sixd.spatial.sin(q[1]), 0.6 * q[0]
        turned = np.array([-s, 0, c, -slide * s, 0, slide * c]) * qd[1]
        first = turned + np.array([0, 0, 0, c, 0, s]) * (0.6 * qd[0])
        return np.stack([first, np.zeros(6, dtype=int)], axis=1)


@pytest.mark.many
@both
@pytest.mark.parametrize("joint", [Parabola(), ByBias(), Ball(), Bow()], ids=lambda joint: type(joint).__name__)
def test_own_joints(joint, way, rng):
    model, (function, algorithm, _) = mechanism(joint), FUNCTIONS[way]
    for q, qd, x in states(model, rng, count=1):
        assert max(map(error, function(model, q, qd, x), by_duals(algorithm, model, q, qd, x, None))) < TIGHT


class Silent(sixd.Joint):
    """S depends on q, but there is no rate."""

    nq = nv = 1

    def transform(self, q):
        return xlt([q[0], q[0] * q[0], 0])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1, 2 * q[0], 0]]).T


class Roundabout(sixd.Joint):
    """S is computed from q, but is constant."""

    nq = nv = 1

    def transform(self, q):
        return rotx(q[0])

    def subspace(self, q):
        return rotx(q[0]) @ np.array([[1, 0, 0, 0, 0, 0]]).T


@pytest.mark.one_target
def test_a_varying_subspace_without_a_rate_is_an_error():
    with pytest.raises(sixd.ModelError, match=r"Silent: its S depends on q .* neither subspace_rate nor bias.* Define"):
        joint_derivatives(Silent(), np.array([0.0]), np.array([1.0]))
    derivatives = joint_derivatives(Roundabout(), np.array([0.3]), np.array([1.0]))
    assert not np.any(derivatives.cJ_q)


@dataclasses.dataclass(frozen=True)
class Bent(sixd.Joint):
    """A point sliding along y = curvature · x²."""

    curvature: object
    nq = nv = 1

    def transform(self, q):
        return xlt([q[0], self.curvature * q[0] * q[0], 0])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1, 2 * self.curvature * q[0], 0]]).T

    def subspace_rate(self, q, qd):
        return np.array([[0, 0, 0, 0, 2 * self.curvature * qd[0], 0]]).T


class SilentlyBent(Bent):
    subspace_rate = sixd.Joint.subspace_rate


@pytest.mark.one_target
@pytest.mark.parametrize("value", [0.5, sp.Symbol("c", positive=True)], ids=["number", "symbol"])
def test_no_model_has_a_joint_with_a_silent_rate(value):
    """Not even with symbols: its equations would be wrong in dynamics, simulation and closed form alike."""
    with pytest.raises(sixd.ModelError, match=r"SilentlyBent.*[dD]efine subspace_rate"):
        mechanism(SilentlyBent(value))
    assert mechanism(Bent(value)).nv == 3


@pytest.mark.many
@pytest.mark.one_target
@both
@pytest.mark.parametrize("joint", [Bent, sixd.RackAndPinion, lambda c: sixd.Helical("z", c)])
def test_parameters_of_joints(joint, way, rng):
    """A joint's parameter as an input of the kernel gives the same result as its number; gradients with respect to it
    work.
    """
    c, (function, _, primal) = sp.Symbol("c", positive=True), FUNCTIONS[way]
    model, number = mechanism(joint(c)), mechanism(joint(0.4))
    row = rng.normal(size=(3, 3))
    found = sixd.compile(function, model, parameters=("c",))(*row, 0.4)
    assert max(map(error, found, function(number, *row))) < TIGHT
    w, h = rng.normal(size=3), 1e-6
    gradient = sixd.vjp(primal, model, parameters=("c",), by="c")(*row, 0.4, w)
    ahead, behind = (w @ primal(mechanism(joint(0.4 + s)), *row) for s in (h, -h))
    assert abs(gradient - (ahead - behind) / (2 * h)) < 1e-7 * max(1, abs(ahead))  # a difference


@pytest.mark.one_target
def test_own_joints_in_second_order_and_simulation(rng):
    """hvp against differences of vjp; one implicit step of a simulation, whose linear equations are consistent with it."""
    model = mechanism(Parabola())
    q, qd, tau, w, dq, dqd, du = rng.normal(size=(7, 3))
    first, second = sixd.vjp(sixd.forward_dynamics, model), sixd.hvp(sixd.forward_dynamics, model)
    found, h = second(q, qd, tau, w, dq, dqd, du), 1e-5
    ahead, behind = (first(q + s * dq, qd + s * dqd, tau + s * du, w) for s in (h, -h))
    for x, a, b in zip(found, ahead, behind, strict=True):
        assert error(x, (a - b) / (2 * h)) < 1e-6  # a difference
    derivatives = sixd.forward_dynamics_derivatives(model, q, qd, tau)
    linear = sixd.linearize(model, q, qd, tau)
    assert error(linear.A[3:], np.hstack([derivatives.q, derivatives.qd])) < 1e-12


@pytest.mark.one_target
def test_singular_models_are_rejected():
    builder = sixd.ModelBuilder("light")
    builder.add_body("a", "world", sixd.Revolute("x"))
    model = builder.build()
    with pytest.raises(sixd.SingularError, match="forward_dynamics_derivatives: the mass matrix"):
        sixd.forward_dynamics_derivatives(model, [0.0], [0.0], [0.0])
    assert sixd.inverse_dynamics_derivatives(model, [0.0], [0.0], [0.0]).qdd == 0
