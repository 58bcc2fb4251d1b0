"""Every joint type: transform, subspace and its rate, the exponential map, limits; and users' own joints."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from test_scalar import Algebraic, Foreign, values

import sixd
from sixd import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    ModelError,
    Planar,
    Prismatic,
    RackAndPinion,
    Revolute,
    Spherical,
    Universal,
)
from sixd.model.joints import BUILT_IN, verify_joint
from sixd.spatial import crm, plucker, pose_from_transform, quaternion_multiply, quaternion_to_rotation, rotz, skew, xlt

PI = np.pi
JOINTS = [
    Fixed(), Revolute("z"), Revolute((1, 2, -2)), Prismatic("x"), Prismatic((0, -1, 1)), Helical("y", 0.3),
    Helical((1, 1, 1), -0.1), Cylindrical((0, -1, 0)), Universal(), Planar(), Planar("x"), Planar((0, 0, -1)),
    Planar((1, 0, 1)), RackAndPinion(0.2), RackAndPinion(-0.1), Spherical(), Free(),
]  # fmt: skip
EXACT = [
    Revolute("z"), Prismatic("x"), Helical("y", sp.Symbol("h")), Cylindrical("z"), Universal(), Planar(),
    RackAndPinion(sp.Symbol("r")), Spherical(), Free(),
]  # fmt: skip
every_joint = pytest.mark.parametrize("joint", JOINTS, ids=repr)
quaternion_joint = pytest.mark.parametrize("joint", [Spherical(), Free()], ids=repr)


def close(a, b, tolerance=1e-13):
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance


def sample(joint, rng):
    unlimited = np.full(joint.nq, np.inf)
    return joint.random(rng, -unlimited, unlimited)


def step(joint, omega, rng):
    """A velocity with the angular part omega; the linear part, where there is one, is random."""
    return np.concatenate([omega, rng.uniform(-1, 1, joint.nv - 3)])


def test_the_list_has_every_type():
    """No built-in joint is left out."""
    assert {type(j) for j in JOINTS} == set(BUILT_IN)


@every_joint
def test_methods_agree_numerically(joint):
    """The library's own check passes on all of them."""
    verify_joint(joint, samples=10)


@pytest.mark.parametrize("joint", EXACT, ids=repr)
def test_methods_agree_exactly(joint):
    """By SymPy: dX/dt = −(S q̇)× X, S° = dS/dt and cJ = S° q̇, identically and without floats."""
    q, qd = np.array(sp.symbols(f"q:{joint.nq}", real=True)), np.array(sp.symbols(f"d:{joint.nv}", real=True))
    rate = qd
    if isinstance(joint, (Spherical, Free)):
        rate = np.concatenate([quaternion_multiply(q[:4], [0, *qd[:3]]) / sp.Integer(2), qd[3:]])
        rate[4:] = quaternion_to_rotation(q[:4]) @ qd[3:] if joint.nq == 7 else []

    def derivative(A):
        return sum((sp.Matrix(A).diff(x) * r for x, r in zip(q, rate, strict=True)), sp.zeros(*A.shape))

    def vanishes(A):
        return A.applyfunc(sp.cancel if joint.nq >= 4 else sp.simplify).is_zero_matrix

    X, S, S_ring = joint.transform(q), joint.subspace(q), joint.subspace_rate(q, qd)
    assert vanishes(derivative(X) + sp.Matrix(crm(S @ qd) @ X))
    assert vanishes(derivative(S) - sp.Matrix(S_ring))
    assert vanishes(sp.Matrix(joint.bias(q, qd) - S_ring @ qd))
    assert not sp.Matrix(X).atoms(sp.Float)


@every_joint
def test_neutral_and_closure(joint, rng):
    """Neutral is the identity; integrate by 0 stays; difference inverts integrate; rates add for vector joints."""
    X = joint.transform(joint.neutral())
    assert close(X, np.eye(6), 1e-15)
    q, dq = sample(joint, rng), rng.uniform(-1, 1, joint.nv)
    assert close(joint.integrate(q, np.zeros(joint.nv)), q, 1e-15)
    assert close(joint.difference(q, joint.integrate(q, dq)), dq)
    assert close(joint.difference(joint.integrate(q, dq), q), -dq)


@pytest.mark.parametrize(
    "joint", [j for j in JOINTS if not isinstance(j, (Universal, Planar, RackAndPinion))], ids=repr
)
@pytest.mark.parametrize("size", [0.0, 1e-160, 1e-9, 0.5, 1.0, 5.0])
def test_constant_subspaces_integrate_to_exponentials(joint, size, rng):
    """Where S is constant, X after a step is exp(−(S dq)×) X before it."""
    q, dq = sample(joint, rng), size * rng.uniform(-1, 1, joint.nv)
    v = joint.subspace(q) @ dq
    assert close(joint.transform(joint.integrate(q, dq)), expm(-crm(v)) @ joint.transform(q), 1e-12)  # expm's accuracy


# SO(3) and SE(3) --------------------------------------------------------------------------------------

SIZES = [0.0, 1e-160, 1e-20, 1e-9, 1e-3, 0.4999999, 0.5000001, 1.0, 3.0, PI - 1e-6, PI - 1e-9]


@quaternion_joint
@pytest.mark.parametrize("size", [*SIZES, PI, PI + 1e-9, 2 * PI - 1e-9, 2 * PI, 10.0])
def test_integrate_is_the_matrix_exponential(joint, size, rng):
    """The pose after a step is the pose before times exp of the 4×4 twist; the quaternion stays unit."""
    for axis in (np.array([0, 0, 1.0]), np.array([0.6, 0, -0.8]), np.array([2, -1, 2]) / 3):
        q, dq = sample(joint, rng), step(joint, size * axis, rng)
        twist = np.zeros((4, 4))
        twist[:3, :3], twist[:3, 3] = skew(dq[:3]), dq[3:] if joint.nv == 6 else 0
        after = joint.integrate(q, dq)
        T0, T1 = (pose_from_transform(joint.transform(x)) for x in (q, after))
        assert close(T1, T0 @ expm(twist), 1e-12)  # expm scales and squares: about 1e-13 at 10 rad
        assert after[:4] @ after[:4] == pytest.approx(1, abs=1e-15)


@quaternion_joint
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scales", [(1, 1), (1, -1), (-1, 1), (3.0, 1e-3), (-1e-3, 7.0)])
def test_difference_inverts_integrate(joint, size, scales, rng):
    """Near 0 and near π, for either sign and any length of both quaternions."""
    axis = np.array([2, -1, 2]) / 3
    q0, dq = sample(joint, rng), step(joint, size * axis, rng)
    q1 = joint.integrate(q0, dq)
    q0[:4], q1[:4] = scales[0] * q0[:4], scales[1] * q1[:4]
    back = joint.difference(q0, q1)
    assert close(back, dq, 1e-14 * 4)
    assert close(joint.transform(joint.integrate(q0, back)), joint.transform(q1), 4e-15)


@quaternion_joint
@pytest.mark.parametrize("size", [PI, PI + 1e-9, 4.0, 2 * PI - 1e-9, 2 * PI])
def test_difference_beyond_half_a_turn(joint, size, rng):
    """The shortest way is taken, at most π, and reaches the same pose; q and −q do not differ at all."""
    q0, dq = sample(joint, rng), step(joint, size * np.array([0.6, 0, -0.8]), rng)
    q1 = joint.integrate(q0, dq)
    back = joint.difference(q0, q1)
    assert np.linalg.norm(back[:3]) <= PI + 1e-15
    assert close(joint.transform(joint.integrate(q0, back)), joint.transform(q1), 1e-14)
    flipped = q0 * np.array([-1] * 4 + [1] * (joint.nq - 4))
    assert close(joint.difference(q0, flipped), 0, 1e-15)


# conventions ------------------------------------------------------------------------------------------

t, d, h, r, x, y = sp.symbols("theta d h r x y", real=True)
s, c = sp.sin(t), sp.cos(t)


def equal(array, expected):
    return sp.simplify(sp.Matrix(array) - sp.Matrix(expected)).is_zero_matrix


def test_mod2a_cylindrical():
    """X = rotz(θ) xlt([0 0 d]), its lower left block, and S."""
    joint = Cylindrical("z")
    X = joint.transform(np.array([t, d]))
    assert equal(X, rotz(t) @ xlt([0, 0, d]))
    assert equal(X[3:, :3], d * sp.Matrix([[-s, c, 0], [-c, -s, 0], [0, 0, 0]]))
    assert equal(joint.subspace(np.array([t, d])).T, [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]])


def test_mod2b_helical():
    """d = hθ, S = [0 0 1 0 0 h]ᵀ."""
    joint = Helical("z", h)
    assert equal(joint.transform(np.array([t])), Cylindrical("z").transform(np.array([t, h * t])))
    assert equal(joint.subspace(np.array([t])).T, [[0, 0, 1, 0, 0, h]])


def test_mod2c_rack_and_pinion():
    """X = rotx(θ) xlt([0 −rθ 0]), S = [1 0 0 0 −rc rs]ᵀ, S° = θ̇ [0 0 0 0 rs rc]ᵀ."""
    joint, q, qd = RackAndPinion(r), np.array([t]), np.array([d])
    E = sp.Matrix([[1, 0, 0], [0, c, s], [0, -s, c]])
    assert equal(joint.transform(q), plucker(np.array(E), [0, -r * t, 0]))
    assert equal(joint.subspace(q).T, [[1, 0, 0, 0, -r * c, r * s]])
    assert equal(joint.subspace_rate(q, qd).T, [[0, 0, 0, 0, d * r * s, d * r * c]])


def test_universal_convention():
    """X = roty(q2) rotx(q1); S = [c2 0 s2 …], [0 1 0 …]; S°q̇ = [−s2 0 c2 0 0 0] q̇1 q̇2."""
    joint, q, qd = Universal(), np.array([x, t]), np.array([d, h])
    Rx = sp.Matrix([[1, 0, 0], [0, sp.cos(x), sp.sin(x)], [0, -sp.sin(x), sp.cos(x)]])
    Ry = sp.Matrix([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    assert equal(joint.transform(q)[:3, :3], Ry * Rx)
    assert equal(joint.subspace(q).T, [[c, 0, s, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    assert equal(joint.bias(q, qd), sp.Matrix([-s, 0, c, 0, 0, 0]) * d * h)


def test_planar_convention():
    """q = (θ, x, y): X = rotz(θ) xlt([x y 0]), S and S°q̇ as stated."""
    joint, q, qd = Planar(), np.array([t, x, y]), np.array([d, h, r])
    assert equal(joint.transform(q), rotz(t) @ xlt([x, y, 0]))
    assert equal(joint.subspace(q).T, [[0, 0, 1, 0, 0, 0], [0, 0, 0, c, -s, 0], [0, 0, 0, s, c, 0]])
    assert equal(joint.bias(q, qd), [0, 0, 0, d * (-s * h + c * r), d * (-c * h - s * r), 0])


@pytest.mark.parametrize(("normal", "axes"), [("x", [(0, 0, -1), (0, 1, 0)]), ("y", [(1, 0, 0), (0, 0, -1)])])
def test_planar_across_another_axis(normal, axes):
    """x and y of the plane are those of the frame turned the shortest way from z to the normal."""
    T = pose_from_transform(Planar(normal).transform(np.array([0.3, 2.0, 5.0])))
    assert close(T[:3, 3], 2 * np.array(axes[0]) + 5 * np.array(axes[1]))
    assert close(T[:3, :3], pose_from_transform(Revolute(normal).transform(np.array([0.3])))[:3, :3])
