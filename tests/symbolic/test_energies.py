"""Energies of rigid bodies and angular velocities, compared with table D and the tree algorithms."""

import itertools

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.spatial import rotation_from_euler, skew
from sixd.symbolic.echelon import is_zero
from sixd.symbolic.lagrange.energies import rate

m, I, g, x, y, z, theta = sp.symbols("m I g x y z theta")
A, B, C, D, E, F = sp.symbols("A B C D E F")
q1, q2, q3, qd1, qd2, qd3 = sp.symbols("q1 q2 q3 qd1 qd2 qd3")
xd, yd, zd, thetad = sp.symbols("xd yd zd thetad")
s, c = sp.sin, sp.cos

SEQUENCES = [
    word
    for letters in itertools.product("xyz", repeat=3)
    if letters[0] != letters[1] != letters[2]
    for word in ("".join(letters), "".join(letters).upper())
]


def rotation_of(sequence, angles):
    return sp.Matrix(3, 3, list(rotation_from_euler(sequence, np.array(angles, dtype=object)).ravel()))


def hat(w):
    return sp.Matrix(3, 3, list(skew(np.array(list(w), dtype=object)).ravel()))


# ---------------------------------------------------------------------------- table D


def test_planar_body():
    """u = (m q̈1, m q̈2 + m a_g, I q̈3), M constant, no Christoffel symbols."""
    T, V = sixd.body_energy(m, (q1, q2), (q1, q2, q3), angle=q3, inertia=I, gravity=(0, -g))
    assert is_zero(T - (m * qd1**2 + m * qd2**2 + I * qd3**2) / 2)
    assert m * g * q2 == V
    body = sixd.lagrange(T, V, (q1, q2, q3))
    assert list(body.tau - sp.Matrix([m, m, I]).multiply_elementwise(body.qdd)) == [0, m * g, 0]
    assert not any(sp.flatten(body.Gamma))


def test_euler_angles():
    """R = Rz(q1) Rx(q3) Rz(q2), as table D has its angular velocity; singular where sin q3 = 0."""
    w = sixd.angular_velocity(rotation_of("ZXZ", [q1, q3, q2]), (q1, q2, q3))
    expected = [qd3 * c(q2) + qd1 * s(q2) * s(q3), -qd3 * s(q2) + qd1 * c(q2) * s(q3), qd2 + qd1 * c(q3)]
    assert all(is_zero(a - b) for a, b in zip(w, expected, strict=True))
    assert is_zero(w.jacobian([qd1, qd2, qd3]).det() ** 2 - s(q3) ** 2)
    T, V = sixd.body_energy(m, (0, 0, 0), (q1, q2, q3), euler=("ZXZ", (q1, q3, q2)), inertia=(A, B, C))
    assert is_zero(T - (A * expected[0] ** 2 + B * expected[1] ** 2 + C * expected[2] ** 2) / 2)
    assert V == 0


def test_rotation():
    """Ṙ = R ω̂ = ω̂_s R, ω_s = R ω, and K = ½ ωᵀIω is the same in both frames with I_s = R I Rᵀ."""
    q, qd = (q1, q2, q3), (qd1, qd2, qd3)
    R = rotation_of("ZYX", q)
    body, space = (sixd.angular_velocity(R, q, qd, frame) for frame in ("body", "space"))
    assert all(is_zero(e) for e in rate(R, q, qd) - R * hat(body))
    assert all(is_zero(e) for e in rate(R, q, qd) - hat(space) * R)
    assert all(is_zero(e) for e in space - R * body)
    inertia = sp.Matrix([[A, D, E], [D, B, F], [E, F, C]])
    T, _ = sixd.body_energy(m, (0, 0, 0), q, rotation=R, inertia=inertia)
    assert is_zero(T - (space.T * R * inertia * R.T * space)[0] / 2)


# ---------------------------------------------------------------------------- laws


@pytest.mark.many
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_every_sequence_is_a_rotation_with_that_velocity(sequence):
    q = (q1, q2, q3)
    w = sixd.angular_velocity(rotation_of(sequence, q), q)
    assert all(
        is_zero(e) for e in rate(rotation_of(sequence, q), q, (qd1, qd2, qd3)) - rotation_of(sequence, q) * hat(w)
    )


@pytest.mark.parametrize("sequence", ["ZXZ", "XYZ", "zyx", "yxy"])
def test_spatial_body_beside_a_tree_of_joints(sequence, rng):
    """Slides along x, y, z and three successive rotations carry the same body; energies by the tree's algorithms."""
    mass, moments = 1.7, np.array([[0.4, 0.05, -0.02], [0.05, 0.6, 0.03], [-0.02, 0.03, 0.8]])
    order = sequence.lower() if sequence.isupper() else sequence[::-1]
    builder = sixd.ModelBuilder("body", gravity=(0.3, -1, -9.81))
    parent = "world"
    for k, axis in enumerate("xyz" + order):
        joint = sixd.Prismatic(axis) if k < 3 else sixd.Revolute(axis)
        inertia = sixd.Inertia(mass, (0, 0, 0), moments) if k == 5 else None
        builder.add_body(f"b{k}", parent, joint, **({} if inertia is None else {"inertia": inertia}))
        parent = f"b{k}"
    model = builder.build()
    symbols = sp.symbols("x y z a1:4")
    T, V = sixd.body_energy(
        mass, symbols[:3], symbols, euler=(sequence, symbols[3:]), inertia=moments, gravity=(0.3, -1, -9.81)
    )
    rates = sp.symbols("xd yd zd ad1:4")
    q, qd = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6)
    angles = q[3:] if sequence.isupper() else q[:2:-1]
    speeds = qd[3:] if sequence.isupper() else qd[:2:-1]
    values = dict(zip(symbols + rates, [*q[:3], *angles, *qd[:3], *speeds], strict=True))
    kinetic, potential = sixd.energy(model, q, qd)
    assert abs(float(T.xreplace(values)) - kinetic) < 1e-12
    assert abs(float(V.xreplace(values)) - potential) < 1e-12


def test_planar_arm_beside_the_model():
    """The 2R arm, body by body, has the mass matrix and the gravity of the tree's equations."""
    m1, m2, I1, I2, r1, r2, L1 = sp.symbols("m1 m2 I1 I2 r1 r2 L1")
    q = (q1, q2)
    first = sixd.body_energy(m1, (r1 * c(q1), r1 * s(q1)), q, angle=q1, inertia=I1, gravity=(0, -g))
    second = sixd.body_energy(
        m2,
        (L1 * c(q1) + r2 * c(q1 + q2), L1 * s(q1) + r2 * s(q1 + q2)),
        q,
        angle=q1 + q2,
        inertia=I2,
        gravity=sp.Matrix([0, -g]),
    )
    ours = sixd.lagrange(first[0] + second[0], first[1] + second[1], q)
    tree = sixd.equations(sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g))
    assert all(is_zero(e) for e in ours.M - tree.M)
    assert all(is_zero(e) for e in ours.tau - tree.tau)


def test_forms_of_inertia_and_rotation():
    q = (q1, q2, q3)
    R = rotation_of("ZXZ", (q1, q3, q2))
    by_angles, _ = sixd.body_energy(m, (0, 0, 0), q, euler=["ZXZ", [q1, q3, q2]], inertia=[A, B, C])
    for inertia in (sp.diag(A, B, C), sp.Matrix([A, B, C]), np.diag([A, B, C])):
        T, _ = sixd.body_energy(m, (0, 0, 0), q, rotation=R, inertia=inertia)
        assert is_zero(T - by_angles)


def test_rotations_with_rounded_numbers():
    spin = sp.Matrix([[c(q1), -s(q1), 0], [s(q1), c(q1), 0], [0, 0, 1]])
    tilt = sp.Matrix([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]])
    w = sixd.angular_velocity(tilt * spin, (q1,)).subs({q1: 0.3, qd1: 1})
    assert np.abs(np.array(w.tolist(), dtype=float).ravel() - [0, 0, 1]).max() < 1e-12


def test_numbers_and_vectors_of_numpy_and_sympy():
    """Matrices of either kind of SymPy, arrays, and NumPy's numbers, which look like arrays without a shape."""
    expected, _ = sixd.body_energy(2.0, (x, y), (x, y, theta), angle=theta, inertia=0.5)
    for kind in (sp.Matrix, sp.ImmutableMatrix, np.array):
        T, _ = sixd.body_energy(np.float64(2), kind([x, y]), kind([x, y, theta]), angle=theta, inertia=np.float64(0.5))
        assert is_zero(T - expected)
    R = rotation_of("ZXZ", (q1, q3, q2))
    for kind in (sp.ImmutableMatrix, lambda a: np.array(a.tolist())):
        assert sixd.angular_velocity(kind(R), [q1, q2, q3]) == sixd.angular_velocity(R, [q1, q2, q3])


def test_point_masses_and_functions_of_time():
    T, V = sixd.body_energy(m, (x, y, z), (x, y, z))
    assert is_zero(T - m * (xd**2 + yd**2 + zd**2) / 2)
    assert V == 0
    t = sp.Symbol("t")
    a = sp.Function("a")(t)
    T, V = sixd.body_energy(m, (c(a), s(a)), [a], gravity=(0, -g))
    assert is_zero(T - m * a.diff(t) ** 2 / 2)
    assert m * g * s(a) == V
    w = sp.Symbol("w")
    assert sixd.body_energy(m, (c(theta), s(theta)), [theta], [w])[0] == m * w**2 / 2


# ---------------------------------------------------------------------------- what is refused

Q = (x, y, z, theta)
MISTAKES = [
    ({"position": (x,)}, sixd.ShapeError, "position has 1 components, expected 2 or 3"),
    ({"position": 3}, sixd.ScalarTypeError, "position is 3, expected a list"),
    ({"position": (x, "y")}, sixd.ScalarTypeError, "a component of position is 'y'"),
    ({"position": (x, yd)}, sixd.ModelError, "position contains the velocity yd"),
    ({"position": sp.eye(3)}, sixd.ShapeError, r"position has shape \(3, 3\), expected a vector"),
    ({"mass": "m"}, sixd.ScalarTypeError, "mass is 'm'"),
    ({"mass": True}, sixd.ScalarTypeError, "mass is True"),
    ({"q": theta}, sixd.ScalarTypeError, "q is theta, expected a list of coordinates"),
    ({"qd": (xd,)}, sixd.ShapeError, "qd has 1 entries, expected 4"),
    ({"gravity": (0, 0, -g)}, sixd.ShapeError, "gravity has 3 components, expected 2"),
    ({"inertia": I}, sixd.ModelError, "inertia is passed without an orientation, expected angle="),
    ({"inertia": (A, B, C), "angle": theta}, sixd.ShapeError, "expected one moment about z for a planar body"),
    ({"angle": thetad}, sixd.ModelError, "angle contains the velocity thetad"),
    ({"rotation": sp.eye(3)}, sixd.ModelError, "position has 2 components, expected 3 with a rotation"),
    ({"position": (x, y, z), "angle": theta}, sixd.ModelError, "position has 3 components, expected 2 with an angle"),
    ({"position": (x, y, z), "inertia": (A, B, C)}, sixd.ModelError, "expected rotation= or euler= as well"),
    ({"position": (x, y, z), "inertia": I}, sixd.ShapeError, "expected three principal moments or a matrix"),
    ({"position": (x, y, z), "inertia": (A, B)}, sixd.ShapeError, "inertia has 2 components, expected 3"),
    (
        {"position": (x, y, z), "inertia": [[A, B, 0], [0, B, 0], [0, 0, C]]},
        sixd.ModelError,
        "inertia is not symmetric",
    ),
    ({"position": (x, y, z), "rotation": 2 * sp.eye(3)}, sixd.ModelError, "rotation is not a rotation matrix"),
    ({"position": (x, y, z), "rotation": sp.diag(1, 1, -1)}, sixd.ModelError, "rotation is not a rotation matrix"),
    ({"position": (x, y, z), "rotation": sp.diag(1, 1, 1.01)}, sixd.ModelError, "rotation is not a rotation matrix"),
    (
        {"position": (x, y, z), "rotation": sp.eye(2)},
        sixd.ShapeError,
        r"rotation has shape \(2, 2\), expected \(3, 3\)",
    ),
    (
        {"position": (x, y, z), "euler": "zxz"},
        sixd.ScalarTypeError,
        "euler is 'zxz', expected a sequence and its angles",
    ),
    ({"position": (x, y, z), "euler": ("ZXX", (x, y, z))}, sixd.ModelError, "sequence is 'ZXX'"),
    ({"position": (x, y, z), "euler": ("ZXZ", (x, y))}, sixd.ShapeError, "the angles of euler has 2 components"),
    (
        {"position": (x, y, z), "euler": ("ZXZ", (x, y, z)), "rotation": sp.eye(3)},
        sixd.ModelError,
        "rotation and euler are both passed",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), MISTAKES, ids=lambda v: str(v)[:40])
def test_mistakes_raise(changes, error, message):
    arguments = {"mass": m, "position": (x, y), "q": Q, "qd": None, **changes}
    with pytest.raises(error, match=message):
        sixd.body_energy(**arguments)


def test_unknown_frame_of_an_angular_velocity():
    with pytest.raises(sixd.UnknownNameError, match="angular_velocity: frame: no choice named 'world'"):
        sixd.angular_velocity(sp.eye(3), [q1], frame="world")
