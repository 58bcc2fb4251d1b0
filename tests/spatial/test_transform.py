"""Plücker transforms, poses, spatial cross products, points and the two accelerations."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from sixd import ShapeError, SixdError
from sixd.spatial import (
    classical_acceleration,
    congruence,
    crf,
    crm,
    force_at_point,
    force_transform,
    inverse_pose,
    inverse_transform,
    mirror_upper,
    placement,
    plucker,
    point_acceleration,
    point_velocity,
    pose_from_transform,
    quaternion_to_rotation,
    random_quaternion,
    rotate_both,
    rotx,
    roty,
    rotz,
    skew,
    spatial_acceleration,
    transform_from_pose,
    transform_point,
    xlt,
)

PI = np.pi
ANGLES = [0.0, 1e-160, 1e-9, -1e-9, PI / 2, PI, PI - 1e-9, PI + 1e-9, -PI, 0.7]
EYE = np.eye(6)


def random_pose(rng, reach=1.0):
    return placement(rng.uniform(-reach, reach, 3), R=quaternion_to_rotation(random_quaternion(rng)))


def close(a, b, tolerance=1e-14):
    return np.abs(np.asarray(a) - b).max() <= tolerance


@pytest.fixture(params=range(4))
def draw(request):
    """A generator per seed."""
    return np.random.default_rng(request.param)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("k", range(3))
def test_coordinate_rotations(angle, k):
    """rotx, roty, rotz hold R_BA = R_ABᵀ twice, with exact zeros and ones, and are exponentials of −e×."""
    X = (rotx, roty, rotz)[k](angle)
    e = np.eye(3)[k]
    R = Rotation.from_rotvec(angle * e).as_matrix()
    assert close(X, np.kron(np.eye(2), R.T), 1e-15)
    assert close(X, expm(-crm([*(angle * e), 0, 0, 0])))
    assert X[k, k] == 1
    assert not X[:3, 3:].any()
    assert not X[3:, :3].any()


def test_xlt(draw):
    """A shift by r maps [ω; v] to [ω; v − r×ω] and is an exponential too."""
    r, w, v = draw.standard_normal((3, 3))
    assert close(xlt(r) @ [*w, *v], [*w, *(v - np.cross(r, w))])
    assert close(xlt(r), expm(-crm([0, 0, 0, *r])))


def test_transforms_compose_like_poses(draw):
    """T_AB T_BC ↔ X_CB X_BA: letters cancel."""
    T_AB, T_BC = random_pose(draw), random_pose(draw)
    X_BA, X_CB = transform_from_pose(T_AB), transform_from_pose(T_BC)
    assert close(transform_from_pose(T_AB @ T_BC), X_CB @ X_BA)
    assert close(pose_from_transform(X_CB @ X_BA), T_AB @ T_BC)
    assert close(plucker(T_AB[:3, :3].T, T_AB[:3, 3]), X_BA, 0)


@pytest.mark.parametrize("reach", [0.0, 1e-160, 1.0, 1e6])
def test_inverses(draw, reach):
    """Inverse of transform, force transform and pose, near and far."""
    T = random_pose(draw, reach)
    X = transform_from_pose(T)
    scale = max(1.0, reach) ** 2  # products of two shifts cancel
    assert close(inverse_transform(X) @ X, EYE, 4e-15 * scale)
    assert close(inverse_pose(T) @ T, np.eye(4), 4e-15 * scale)
    assert close(force_transform(X), np.linalg.inv(X).T, 1e-14 * scale)
    assert close(transform_from_pose(inverse_pose(T)), inverse_transform(X), 4e-15 * scale)
    assert close(pose_from_transform(X)[:3, 3], T[:3, 3], 4e-15 * max(reach, 1e-300))


def test_power_is_the_same_in_every_frame(draw):
    """f·v is invariant: forces map with the inverse transpose, back with the transpose."""
    X = transform_from_pose(random_pose(draw))
    v_A, f_B = draw.standard_normal((2, 6))
    assert f_B @ (X @ v_A) == pytest.approx((X.T @ f_B) @ v_A, abs=1e-13)
    assert close(force_transform(X) @ (X.T @ f_B), f_B)


def test_congruence(draw):
    """XᵀIX, exactly symmetric, from the upper triangle alone."""
    X, A = transform_from_pose(random_pose(draw)), draw.standard_normal((6, 6))
    inertia = A @ A.T
    moved = congruence(X, inertia)
    assert close(moved, X.T @ inertia @ X, 1e-13)
    assert (moved == moved.T).all()
    for n in (1, 3, 6):
        upper = mirror_upper(A[:n, :n])
        assert (upper == np.triu(A[:n, :n]) + np.triu(A[:n, :n], 1).T).all()


def test_mirror_upper_of_a_large_matrix():
    """The result has the argument's shape."""
    assert mirror_upper(np.eye(8)).shape == (8, 8)


# cross products -------------------------------------------------------------------------------------


def test_cross_products(draw):
    """v×m and v×*f by 3-D cross products; crf = −crmᵀ; v×v = 0; Jacobi's identity."""
    v, m, u = draw.standard_normal((3, 6))
    assert close(crm(v) @ m, [*np.cross(v[:3], m[:3]), *(np.cross(v[:3], m[3:]) + np.cross(v[3:], m[:3]))])
    assert close(crf(v) @ m, [*(np.cross(v[:3], m[:3]) + np.cross(v[3:], m[3:])), *np.cross(v[:3], m[3:])])
    assert close(crf(v), -crm(v).T, 0)
    assert close(crm(v) @ v, 0)
    assert close(crm(v) @ m, -crm(m) @ v)
    assert close(crm(crm(v) @ m), crm(v) @ crm(m) - crm(m) @ crm(v), 1e-13)
    assert close(crm(u) @ (crm(v) @ m) + crm(v) @ (crm(m) @ u) + crm(m) @ (crm(u) @ v), 0, 1e-13)


def test_cross_products_change_frames(draw):
    """(Xv)× = X (v×) X⁻¹, and the dual with X*."""
    X, v = transform_from_pose(random_pose(draw)), draw.standard_normal(6)
    assert close(crm(X @ v), X @ crm(v) @ inverse_transform(X), 1e-13)
    assert close(crf(X @ v), force_transform(X) @ crf(v) @ X.T, 1e-13)


def test_transform_moves_by_its_velocity(draw):
    """A frame that moves with constant v in its own coordinates has X(t) = exp(−v× t) X(0)."""
    T, v = random_pose(draw), draw.standard_normal(6)
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = skew(v[:3]), v[3:]
    assert close(transform_from_pose(T @ expm(0.3 * twist)), expm(-0.3 * crm(v)) @ transform_from_pose(T), 1e-13)


def test_rotate_both(draw):
    """Axes turn, the origin stays: for one vector and for columns."""
    R, V = quaternion_to_rotation(random_quaternion(draw)), draw.standard_normal((6, 4))
    expected = plucker(R, [0, 0, 0]) @ V
    assert close(rotate_both(R, V), expected)
    assert close(rotate_both(R, V[:, 0]), expected[:, 0])


# points -------------------------------------------------------------------------------------------


def test_points_move_like_poses(draw):
    """Coordinates of one point, and of many, by transform and by pose."""
    T = random_pose(draw)
    p = draw.standard_normal((3, 5))
    expected = (inverse_pose(T) @ np.vstack([p, np.ones(5)]))[:3]
    assert close(transform_point(transform_from_pose(T), p), expected)
    assert close(transform_point(transform_from_pose(T), p[:, 1]), expected[:, 1])


def test_point_velocity_and_acceleration():
    """Body-fixed points under a twist that varies in time: derivatives of their paths, by SymPy."""
    t = sp.Symbol("t")
    R = rotz(t**2)[:3, :3].T @ rotx(sp.sin(t))[:3, :3].T
    origin, p_body = np.array([t**3, sp.cos(t), t]), np.array([sp.Rational(1, 2), -1, 2])
    path = sp.Matrix(origin + R @ p_body)
    W = sp.Matrix(R).diff(t) * sp.Matrix(R).T
    w = sp.Matrix([W[2, 1], W[0, 2], W[1, 0]])
    v = sp.Matrix([w, sp.Matrix(origin).diff(t) - w.cross(sp.Matrix(origin))])  # at the fixed frame's origin
    at = {t: 0.7}
    p, v_now, a_now = (np.array(x.subs(at).evalf(20), dtype=float).ravel() for x in (path, v, v.diff(t)))
    assert close(point_velocity(v_now, p), np.array(path.diff(t).subs(at).evalf(20), float).ravel())
    assert close(
        point_acceleration(a_now, v_now, p), np.array(path.diff(t, 2).subs(at).evalf(20), float).ravel(), 1e-13
    )
    classical = classical_acceleration(a_now, v_now)
    assert close(classical[3:], point_acceleration(a_now, v_now, np.zeros(3)), 0)


def test_accelerations_invert_each_other(draw):
    """Classical = spatial + [0; ω×v], and back."""
    a, v = draw.standard_normal((2, 6))
    classical = classical_acceleration(a, v)
    assert close(classical - a, [0, 0, 0, *np.cross(v[:3], v[3:])])
    assert close(spatial_acceleration(classical, v), a)


def test_falling_sphere_accelerations():
    """Spatial acceleration [0 0 0 0 5 −14.8066] of the falling sphere is gravity, classically."""
    v = [-5, 0, 0, 0, -1, -1]
    assert spatial_acceleration([0, 0, 0, 0, 0, -9.8066], v) == pytest.approx([0, 0, 0, 0, 5, -14.8066], abs=1e-14)


def test_force_at_point(draw):
    """Its power is that of the linear force on the moving point."""
    f, p = draw.standard_normal((2, 3))
    v = draw.standard_normal(6)
    assert force_at_point(f, p) @ v == pytest.approx(f @ point_velocity(v, p), abs=1e-13)


# poses and symbols ----------------------------------------------------------------------------------


def test_placement():
    """A pose from position and angles or matrix; numbers give floats; shapes are checked."""
    T = placement((1, 2, 3), (0.1, 0.2, 0.3))
    assert close(T[:3, :3], Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix(), 1e-15)
    assert T[:, 3].tolist() == [1, 2, 3, 1]
    assert placement().dtype == float
    with pytest.raises(ShapeError, match=r"xyz has shape \(2,\), R \(3, 3\); expected \(3,\) and \(3, 3\)"):
        placement((1, 2))


def test_placement_with_two_angles():
    """Two angles are refused with a message."""
    with pytest.raises(SixdError, match="expected"):
        placement((0, 0, 0), (0.1, 0.2))


def test_symbolic_transforms_are_exact():
    """Plücker transforms of symbols: group laws hold identically, without floats."""
    a, x, y, z = sp.symbols("a x y z", real=True)
    X = rotz(a) @ xlt([x, y, z])
    assert sp.simplify(sp.Matrix(X @ inverse_transform(X))) == sp.eye(6)
    assert not sp.Matrix(X).atoms(sp.Float)
    T = pose_from_transform(X)
    assert sp.simplify(sp.Matrix(T)[:, 3]) == sp.Matrix([x, y, z, 1])
    assert sp.Matrix(crm([a, x, y, z, a, x]) @ np.array([a, x, y, z, a, x])).expand() == sp.zeros(6, 1)
    assert (xlt([1, 2, 3]) == xlt([1.0, 2.0, 3.0])).all()
