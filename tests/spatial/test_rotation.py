"""Rotation matrices, quaternions, rotation vectors and Euler angles."""

import itertools

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from sixd import ModelError, ShapeError
from sixd.spatial import (
    axis_rotation,
    quaternion_conjugate,
    quaternion_from_rotation,
    quaternion_from_vector,
    quaternion_multiply,
    quaternion_normalize,
    quaternion_to_rotation,
    quaternion_to_vector,
    random_quaternion,
    rotation_from_euler,
    rotation_from_rpy,
    rotation_from_vector,
    rotation_to_euler,
    rotation_to_rpy,
    rotation_to_vector,
    skew,
    unit_vector,
    unskew,
)

PI = np.pi
NEAR = [0.0, 1e-160, 1e-16, 1e-9, 1e-5]
ANGLES = [*NEAR, *(PI - e for e in NEAR[2:]), PI, 0.4, 1.0, 2.0, 3.0]
AXES = [a for a in itertools.product((-1, 0, 1), repeat=3) if any(a)] + [(0.3, -0.5, 0.8), (1e-9, 1.0, 0.0)]
SEQUENCES = [s for s in map("".join, itertools.product("XYZ", repeat=3)) if s[0] != s[1] != s[2]]
QUATERNIONS = [
    (1, 0, 0, 0), (-1, 0, 0, 0), (-1, 1e-9, 0, -1e-9), (1, 1e-160, -1e-160, 0), (0, 0, 1, 0), (1e-9, -1, 0, 0),
    (-1e-12, 0.6, 0, 0.8), (-0.0, 0, 0, -1), (-3, 4, 0, 0), (0.5, -0.5, 0.5, -0.5),
    (2e100, 1e100, 0, -3e100), (-1e-100, 0, 2e-100, 0),
]  # fmt: skip


def close(a, b, tolerance=1e-14):
    return np.abs(np.asarray(a) - b).max() <= tolerance


def near(a, b, tolerance=1e-14):
    """Equal up to the sign, which is arbitrary at angle π."""
    return close(a, b, tolerance) or close(-np.asarray(a), b, tolerance)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("angle", ANGLES)
def test_vector_to_rotation_and_back(axis, angle):
    """exp agrees with SciPy, is orthogonal at every angle, and log inverts it."""
    v = angle * np.array(axis) / np.linalg.norm(axis)
    R = rotation_from_vector(v)
    assert close(R, Rotation.from_rotvec(v).as_matrix(), 4e-15)
    assert close(R @ R.T, np.eye(3))
    assert close(R, axis_rotation(unit_vector(axis), angle))
    back = rotation_to_vector(R)
    assert near(back, v) if angle > PI - 1e-14 else close(back, v)
    assert np.linalg.norm(back) <= PI + 1e-15
    if 0 < angle < 1e-15:  # tiny vectors keep their relative accuracy
        assert back == pytest.approx(v, rel=1e-14)


@pytest.mark.parametrize("angle", [*ANGLES, 4.0, 6.2, 2 * PI, 10.0, -2.0])
def test_vector_exponential_of_any_magnitude(angle, rng):
    """R and quaternion of a vector equal the matrix exponential, beyond one turn too."""
    v = angle * unit_vector(rng.standard_normal(3))
    assert close(rotation_from_vector(v), expm(skew(v)), 1e-13)  # expm itself is good to about 1e-14 here
    q = quaternion_from_vector(v)
    assert close(quaternion_to_rotation(q), expm(skew(v)), 1e-13)
    assert q @ q == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("q", QUATERNIONS)
def test_quaternion_of_any_length(q):
    """The rotation equals SciPy's; from it the same unit quaternion comes back, with w ≥ 0."""
    q = np.array(q, dtype=float)
    unit = q / np.linalg.norm(q)
    R = quaternion_to_rotation(q)
    assert close(R, Rotation.from_quat(unit, scalar_first=True).as_matrix(), 1e-15)
    assert close(R, quaternion_to_rotation(-q), 0)
    back = quaternion_from_rotation(R)
    assert back[0] >= 0
    assert back @ back == pytest.approx(1, abs=1e-15)
    assert near(back, unit, 1e-15)
    assert close(quaternion_normalize(q), unit, 1e-15)


@pytest.mark.parametrize("q", QUATERNIONS)
def test_quaternion_logarithm(q):
    """q, −q and any multiple give one vector of norm at most π, whose exponential is the rotation."""
    q = np.array(q, dtype=float)
    v = quaternion_to_vector(q)
    assert np.linalg.norm(v) <= PI + 1e-15
    assert near(v, quaternion_to_vector(-q), 0 if q[0] else 1e-15)
    assert close(rotation_from_vector(v), quaternion_to_rotation(q))
    if q[0] == 0:  # half a turn: the largest component of the quaternion is positive
        assert rotation_to_vector(quaternion_to_rotation(q)).max() == pytest.approx(PI)
    else:
        assert close(v, Rotation.from_quat(q / np.linalg.norm(q), scalar_first=True).as_rotvec())


def test_quaternion_logarithm_of_tiny_turns():
    """Near 1 and near −1 a tiny vector part keeps its relative accuracy."""
    for size in (1e-160, 1e-150, 1e-20, 1e-9):
        for w in (1.0, -1.0):
            assert quaternion_to_vector([w, 0, size, 0]) == pytest.approx([0, 2 * w * size, 0], rel=1e-14, abs=0)


@pytest.mark.parametrize("seed", range(5))
def test_quaternion_algebra(seed):
    """The product composes rotations, is associative, and the conjugate inverts."""
    p, q, r = np.random.default_rng(seed).standard_normal((3, 4))
    pq = quaternion_multiply(p, q)
    assert close(quaternion_to_rotation(pq), quaternion_to_rotation(p) @ quaternion_to_rotation(q))
    assert close(quaternion_multiply(pq, r), quaternion_multiply(p, quaternion_multiply(q, r)), 1e-13)
    assert close(quaternion_multiply(q, quaternion_conjugate(q)), [q @ q, 0, 0, 0])
    i, j, k = np.eye(4, dtype=int)[1:]
    assert quaternion_multiply(i, j).tolist() == k.tolist()  # Hamilton's, not the other handedness
    u = random_quaternion(np.random.default_rng(seed))
    assert u @ u == pytest.approx(1, abs=1e-15)


def test_random_quaternions_are_uniform():
    """Their second moment is that of the sphere: E[q qᵀ] = 1/4 (fixed seed; 4σ is 0.01)."""
    rng = np.random.default_rng(1)
    sample = np.array([random_quaternion(rng) for _ in range(4000)])
    assert close(sample.T @ sample / len(sample), np.eye(4) / 4, 0.01)


@pytest.mark.parametrize("axis", AXES[:26])
def test_axis_rotation_of_plain_axes(axis):
    """R v turns right-handed about the axis; an axis along a coordinate leaves exact 0s, 1s, sin and cos."""
    if np.abs(axis).sum() == 1:
        a = sp.Symbol("a", real=True)
        R = axis_rotation(axis, a)
        assert {str(abs(x)) for x in sp.flatten(R.tolist())} <= {"0", "1", "Abs(cos(a))", "Abs(sin(a))"}
        assert not sp.Matrix(R).atoms(sp.Float)
    u = unit_vector(axis)
    assert close(axis_rotation(u, 0.7), Rotation.from_rotvec(0.7 * u).as_matrix(), 1e-15)
    assert close(axis_rotation(u, 0.7) @ u, u, 1e-15)


def test_skew(rng):
    """skew(v) u = v × u, and unskew takes the skew part."""
    v, u = rng.standard_normal((2, 3))
    assert close(skew(v) @ u, np.cross(v, u), 1e-15)
    assert close(unskew(skew(v) + np.diag(u)), v, 0)
    assert unskew(skew(sp.symbols("x y z"))).tolist() == list(sp.symbols("x y z"))


def test_unit_vector():
    """Unit vectors are not disturbed; zero, NaN and wrong shapes are refused with the name."""
    assert unit_vector((0, 0, -2)).tolist() == [0, 0, -1]
    assert unit_vector([0.6, 0.8, 0.0]).tolist() == [0.6, 0.8, 0.0]
    for bad in ([0, 0, 0], [np.nan, 0, 1], [np.inf, 0, 0]):
        with pytest.raises(ShapeError, match=r"normal is .* expected a non-zero finite"):
            unit_vector(bad, name="normal")
    with pytest.raises(ShapeError, match=r"axis has shape \(2,\), expected \(3,\)"):
        unit_vector([1, 2])
    x = sp.Symbol("x", positive=True)
    assert unit_vector([0, x, 0]).tolist() == [0, 1, 0]


# Euler angles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", [*SEQUENCES, *map(str.lower, SEQUENCES)])
def test_euler_angles_away_from_singularity(sequence, rng):
    """Both ways agree with SciPy for the moving and the fixed axes."""
    for _ in range(5):
        R = quaternion_to_rotation(random_quaternion(rng))
        angles = rotation_to_euler(sequence, R)
        reference = Rotation.from_matrix(R).as_euler(sequence)
        assert close(rotation_from_euler(sequence, angles), R)
        assert close(rotation_from_euler(sequence, reference), R)
        assert close(angles, reference, 1e-12)  # angles lose 1/sin of the middle one


@pytest.mark.parametrize("sequence", [*SEQUENCES, *map(str.lower, SEQUENCES)])
@pytest.mark.parametrize("off", [0.0, 1e-9, -1e-9, 1e-15, 3e-14, -1e-7])
def test_euler_angles_at_gimbal_lock(sequence, off, rng):
    """At and near the singular middle angles the three angles reproduce R; at it, the first moving one is 0."""
    proper = sequence[0] == sequence[2]
    for lock in (0.0, PI) if proper else (PI / 2, -PI / 2):
        a, c = rng.uniform(-PI, PI, 2)
        R = Rotation.from_euler(sequence, [a, lock + off, c]).as_matrix()
        angles = rotation_to_euler(sequence, R)
        assert 0 <= angles[1] + (0 if proper else PI / 2) <= PI
        assert close(rotation_from_euler(sequence, angles), R, 3e-14)
        if off == 0:
            assert angles[2 if sequence.islower() else 0] == 0


def test_roll_pitch_yaw(rng):
    """R = Rz(yaw) Ry(pitch) Rx(roll), and back."""
    rpy = rng.uniform(-1.5, 1.5, 3)
    turns = [axis_rotation(e, a) for e, a in zip(np.eye(3), rpy, strict=True)]
    assert close(rotation_from_rpy(rpy), turns[2] @ turns[1] @ turns[0])
    assert close(rotation_to_rpy(rotation_from_rpy(rpy)), rpy, 1e-13)


@pytest.mark.parametrize("sequence", ["xy", "xxz", "XyZ", "abc", "", "xyzx"])
def test_bad_euler_sequences(sequence):
    """The error shows the sequence and what is expected."""
    with pytest.raises(ModelError, match=f"sequence is '{sequence}', expected three letters"):
        rotation_from_euler(sequence, [0, 0, 0])


def test_wrong_number_of_euler_angles():
    """Two angles are refused with the shape that is expected."""
    with pytest.raises(ShapeError, match="expected"):
        rotation_from_rpy([0.1, 0.2])


def test_euler_rates_zxz():
    """ω of Rz(q1) Rx(q3) Rz(q2) in body axes as printed, singular where sin q3 = 0."""
    (q1, q2, q3), (d1, d2, d3) = sp.symbols("q1:4", real=True), sp.symbols("d1:4", real=True)
    R = sp.Matrix(rotation_from_euler("ZXZ", [q1, q3, q2]))
    R_dot = d1 * R.diff(q1) + d2 * R.diff(q2) + d3 * R.diff(q3)
    omega = sp.Matrix(unskew(np.array(R.T * R_dot)))
    s2, c2, s3, c3 = sp.sin(q2), sp.cos(q2), sp.sin(q3), sp.cos(q3)
    printed = sp.Matrix([d3 * c2 + d1 * s2 * s3, -d3 * s2 + d1 * c2 * s3, d2 + d1 * c3])
    pythagoras = {sp.cos(q) ** 2: 1 - sp.sin(q) ** 2 for q in (q1, q2, q3)}
    assert (omega - printed).expand().subs(pythagoras).expand() == sp.zeros(3, 1)
    assert (printed.jacobian([d1, d2, d3]).det() ** 2 - s3**2).subs(pythagoras).expand().subs(pythagoras).expand() == 0


def test_symbolic_rotations_are_exact():
    """Symbols give orthogonal matrices without floats; exact numbers give exact ones."""
    w, x, y, z = sp.symbols("w x y z", real=True)
    R = sp.Matrix(quaternion_to_rotation([w, x, y, z]))
    assert sp.simplify(R * R.T) == sp.eye(3)
    assert sp.simplify(R.det()) == 1
    assert not R.atoms(sp.Float)
    turn = sp.Matrix(rotation_from_euler("zyx", [sp.pi / 3, sp.Integer(0), sp.pi / 2]))
    assert turn == sp.Matrix(axis_rotation((1, 0, 0), sp.pi / 2) @ axis_rotation((0, 0, 1), sp.pi / 3))
    assert not turn.atoms(sp.Float)


def test_whole_angles_beside_symbols_are_exact():
    """A symbolic yaw next to zero roll and pitch leaves no floats."""
    assert not sp.Matrix(rotation_from_rpy([0, 0, sp.Symbol("a")])).atoms(sp.Float)
