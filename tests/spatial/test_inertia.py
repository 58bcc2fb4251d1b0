"""Rigid-body inertia: ten linear numbers, their views, moves and physical consistency."""

import pickle

import numpy as np
import pytest
import sympy as sp

from sixd import Inertia, ModelError, ShapeError, SixdError, placement
from sixd.spatial import congruence, quaternion_to_rotation, random_quaternion, rotz, skew, transform_from_pose

SEEDS = range(5)


def cloud(seed, n=6, scale=0.5):
    """Points and masses of a random rigid cloud, and its inertia."""
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(scale=scale, size=(n, 3)) + rng.uniform(-1, 1, 3), rng.uniform(0.1, 2.0, n)
    return rng, points, masses, sum(Inertia(m, p) for m, p in zip(masses, points, strict=True))


def random_pose(rng):
    return placement(rng.uniform(-1, 1, 3), R=quaternion_to_rotation(random_quaternion(rng)))


def close(a, b, tolerance=1e-13):
    a, b = (x.parameters if isinstance(x, Inertia) else np.asarray(x) for x in (a, b))
    return np.abs(a - b).max() <= tolerance


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_of_a_cloud(seed):
    """Mass, centre, matrices, spatial inertia and pseudo-inertia by their defining sums."""
    _, p, m, inertia = cloud(seed)
    c = m @ p / m.sum()
    about_origin = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(m, p, strict=True))
    about_com = sum(w * (x @ x * np.eye(3) - np.outer(x, x)) for w, x in zip(m, p - c, strict=True))
    assert inertia.mass == pytest.approx(m.sum(), rel=1e-15)
    assert close(inertia.com, c)
    assert close(inertia.first_moment, m @ p)
    assert close(inertia.about_origin, about_origin)
    assert close(inertia.about_com, about_com)
    H = skew(m @ p)
    assert close(inertia.matrix, np.block([[about_origin, H], [H.T, m.sum() * np.eye(3)]]))
    homogeneous = np.hstack([p, np.ones((len(p), 1))])
    assert close(inertia.pseudo_inertia, homogeneous.T @ (m[:, None] * homogeneous))
    assert close(Inertia(m.sum(), c, about_com), inertia)


@pytest.mark.parametrize("seed", SEEDS)
def test_kinetic_energy_of_a_cloud(seed, rng):
    """½ vᵀIv is the energy of the points."""
    _, p, m, inertia = cloud(seed)
    v = rng.standard_normal(6)
    speeds = v[3:] + np.cross(v[:3], p)
    assert v @ inertia.matrix @ v / 2 == pytest.approx((m * (speeds**2).sum(axis=1)).sum() / 2, rel=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_views_come_back(seed):
    """The ten parameters, the 6×6 matrix, the pseudo-inertia, the moments, the repr and a pickle round-trip."""
    *_, inertia = cloud(seed)
    A = inertia.about_origin
    assert inertia.parameters[4:].tolist() == [A[0, 0], A[1, 1], A[2, 2], A[1, 2], A[0, 2], A[0, 1]]
    assert close(Inertia.from_parameters(inertia.parameters), inertia, 0)
    assert close(Inertia.from_matrix(inertia.matrix), inertia, 0)
    assert close(Inertia.from_pseudo_inertia(inertia.pseudo_inertia), inertia)
    assert close(Inertia.from_moments(inertia.mass, inertia.first_moment, A), inertia, 0)
    assert close(eval(repr(inertia), {"Inertia": Inertia}), inertia)
    assert close(pickle.loads(pickle.dumps(inertia)), inertia, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_moves(seed):
    """Moving, turning and shifting the inertia is moving the points, and is the congruence of the matrix."""
    rng, p, m, inertia = cloud(seed)
    T, T2 = random_pose(rng), random_pose(rng)
    R, r = T[:3, :3], T[:3, 3]
    assert close(inertia.moved(T), sum(Inertia(w, R @ x + r) for w, x in zip(m, p, strict=True)))
    assert close(inertia.moved(T).matrix, congruence(transform_from_pose(T), inertia.matrix))
    assert close(inertia.moved(T).about_com, R @ inertia.about_com @ R.T)
    assert close(inertia.rotated(R).rotated(R.T), inertia)
    assert close(inertia.translated(r).translated(-r), inertia)
    assert close(inertia.moved(T).moved(T2), inertia.moved(T2 @ T))


def test_sums():
    """Inertias form a vector space: +, −, negation, sum(); moves distribute over +."""
    (rng, _, _, a), (*_, b) = cloud(0), cloud(1)
    T = random_pose(rng)
    assert close((a + b).parameters, a.parameters + b.parameters, 0)
    assert close(a + b - b, a)
    assert close(sum([a, b, a]).matrix, 2 * a.matrix + b.matrix)
    assert close((a + b).moved(T), a.moved(T) + b.moved(T))
    assert close(-a, -a.parameters, 0)
    with pytest.raises(TypeError):
        a + 1.0
    with pytest.raises(TypeError):
        1.0 + a


def test_a_massless_body_may_have_a_first_moment():
    """The equal-dynamics trick: subtracting a point mass leaves a first moment that adds back exactly."""
    body, ball = Inertia(1.0, (0.5, 0, 0), (0, 1 / 12, 1 / 12)), Inertia(1.0, (1.0, 0, 0))
    rest = body - ball
    assert rest.mass == 0
    assert rest.problem() == "the mass is zero but the moments are not"
    assert repr(rest).startswith("Inertia.from_parameters([0.0, -0.5,")
    assert close(rest + ball, body, 1e-16)
    with pytest.raises(ModelError, match="no centre of mass"):
        _ = rest.com
    assert Inertia(0.0).com.tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse(seed):
    """The inverse of the 6×6 matrix, far from the centre too."""
    *_, inertia = cloud(seed)
    reference = np.linalg.inv(inertia.matrix)
    assert close(inertia.inverse(), reference, 1e-11 * np.abs(reference).max())  # cond(I) is about 1e3
    assert close(inertia.inverse() @ inertia.matrix, np.eye(6), 1e-11)


@pytest.mark.parametrize("inertia", [Inertia(0.0), Inertia(1.0), Inertia(2.0, (1, 0, 0), (0, 1, 1))])
def test_inverse_of_a_singular_inertia(inertia):
    """A point mass or a thin rod takes any motion about itself: one clear error."""
    with pytest.raises(SixdError):
        inertia.inverse()


# physical consistency -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_physical_exactly_if_the_pseudo_inertia_is(seed):
    """A body exists just if its pseudo-inertia is positive semi-definite."""
    rng = np.random.default_rng(seed)
    moments = rng.uniform(-0.1, 1, 3)
    inertia = Inertia(rng.uniform(0.1, 1), rng.uniform(-1, 1, 3), moments).moved(random_pose(rng))
    assert inertia.is_physical() == (np.linalg.eigvalsh(inertia.pseudo_inertia)[0] >= 0)
    assert inertia.is_physical() == (sum(moments) >= 2 * max(moments))


@pytest.mark.parametrize("moments", [(0, 0, 0), (0, 1, 1), (1, 2, 3), (0.1, 0.2, 0.3), (2, 2, 2)])
def test_borderline_bodies_are_physical(moments):
    """Points, rods and plates lie on the border and count, wherever they are put."""
    for at in ((0, 0, 0), (1e-3, 0, 0), (0.3, -2, 1e3)):
        assert Inertia(1.0, at, moments).rotated(rotz(0.7)[:3, :3]).problem() is None


@pytest.mark.parametrize(
    ("inertia", "words"),
    [
        (Inertia(-1.0), "the mass is negative (-1 kg)"),
        (Inertia(1.0, (0, 0, 0), (-1, 1, 1)), "a principal moment is negative (-1 kg m²)"),
        (Inertia(1.0, (0, 0, 0), (1, 1, 2.001)), "its principal moments (1, 1, 2) kg m² break the triangle inequality"),
        (Inertia.from_parameters([0] * 4 + [1] * 3 + [0] * 3), "the mass is zero but the moments are not"),
    ],
)
def test_problems_in_words(inertia, words):
    """The message says which law of bodies is broken."""
    assert inertia.problem() == words
    assert not inertia.is_physical()
    assert inertia.is_physical(tolerance=1e-3) == ("2.001" in repr(inertia))  # an excess within the tolerance


# construction -----------------------------------------------------------------------------------------


def test_frozen():
    """Neither attributes nor arrays can be changed, nor does a caller's array shine through."""
    matrix = np.eye(3)
    inertia = Inertia.from_moments(1.0, np.zeros(3), matrix)
    matrix[0, 0] = 5
    assert inertia.about_origin[0, 0] == 1
    with pytest.raises(AttributeError, match="mass cannot be set; an Inertia is frozen"):
        inertia.mass = 2.0
    with pytest.raises(ValueError, match="read-only"):
        inertia.about_origin[0, 0] = 2.0


def test_symbolic():
    """Symbols go through every view exactly; the physical test has nothing to say."""
    m, x, a, b, c = sp.symbols("m x a b c", positive=True)
    inertia = Inertia(m, (x, 0, 0), (a, b, c))
    assert sp.simplify(sp.Matrix(inertia.about_com)) == sp.diag(a, b, c)
    assert sp.simplify(sp.Matrix(inertia.inverse() @ inertia.matrix)) == sp.eye(6)
    assert inertia.problem() is None
    assert not sp.Matrix(inertia.matrix).atoms(sp.Float)
    assert (pickle.loads(pickle.dumps(inertia)).parameters == inertia.parameters).all()
    assert sp.simplify(
        sp.Matrix(Inertia.from_pseudo_inertia(inertia.pseudo_inertia).matrix - inertia.matrix)
    ).is_zero_matrix


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Inertia(1.0, (0, 0)), ShapeError, r"shapes \(\), \(2,\) and \(3, 3\), expected \(\), \(3,\)"),
        (lambda: Inertia([1.0, 2.0]), ShapeError, r"shapes \(2,\)"),
        (lambda: Inertia(1.0, (0, 0, 0), np.eye(2)), ShapeError, r"\(2, 2\)"),
        (lambda: Inertia(np.nan), ModelError, "the mass is nan, expected finite"),
        (lambda: Inertia(1.0, (0, np.nan, 0)), ModelError, "the first moment is"),
        (lambda: Inertia(1.0, (0, 0, 0), (1, np.nan, 1)), ModelError, "the matrix is"),
        (lambda: Inertia(1.0, (0, 0, 0), [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), ModelError, "not symmetric"),
        (lambda: Inertia.from_parameters(np.ones(9)), ShapeError, r"got shape \(9,\), expected \(10,\)"),
        (lambda: Inertia.from_matrix(np.eye(5)), ShapeError, r"got shape \(5, 5\), expected \(6, 6\)"),
        (lambda: Inertia.from_matrix(np.diag([1, 1, 1, 1, 2, 1])), ModelError, "not that of a rigid body"),
        (lambda: Inertia(1.0).moved(np.eye(3)), ShapeError, r"pose has shape \(3, 3\), expected \(4, 4\)"),
        (lambda: Inertia.from_pseudo_inertia(np.eye(3)), ShapeError, "shape"),
        (lambda: Inertia.from_moments(1.0, [0, 0], np.eye(3)), ShapeError, "shape"),
        (lambda: Inertia(1.0).rotated(2 * np.eye(3)), ShapeError, "expected a rotation matrix"),
        (lambda: Inertia(1.0).translated([1, 2]), ShapeError, "shape"),
        (lambda: Inertia(1.0, (1e6, 0, 0), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), ModelError, "not symmetric"),
    ],
)
def test_errors(make, error, words):
    """Wrong shapes, NaN and asymmetry are refused with what was found and expected."""
    with pytest.raises(error, match=words):
        make()
