"""A body under a motion constraint, constraint-force subspaces, and the relative inertia of two bodies."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd import Inertia, ShapeError, SingularError
from sixd.spatial import crf, crm, force_subspace

JOINTS = [
    sixd.Fixed(),
    sixd.Revolute("z"),
    sixd.Revolute((0.6, 0.0, 0.8)),
    sixd.Prismatic("y"),
    sixd.Helical("x", pitch=0.3),
    sixd.Cylindrical("z"),
    sixd.Universal(),
    sixd.Planar(),
    sixd.Spherical(),
    sixd.Free(),
    sixd.RackAndPinion(0.2),
]


def some_inertia(rng):
    A = rng.normal(size=(3, 3))
    return Inertia(rng.uniform(1, 3), rng.normal(size=3), A @ A.T + 3 * np.eye(3))


@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: type(j).__name__)
def test_constraint_forces_of_a_joint(joint, rng):
    """SᵀT = 0, and S and T together have full rank: on numbers and on symbols."""
    q = joint.random(rng, np.full(joint.nq, -1.0), np.full(joint.nq, 1.0))
    S, T = joint.subspace(q), joint.constraint_force_subspace(q)
    assert T.shape == (6, 6 - joint.nv)
    assert np.abs(S.T @ T).max(initial=0) < 1e-15
    assert np.linalg.matrix_rank(np.hstack([S, T])) == 6
    symbols = np.array(sp.symbols(f"q1:{joint.nq + 1}"), dtype=object)
    exact = joint.constraint_force_subspace(symbols)
    product = sp.Matrix(joint.subspace(symbols).T @ exact) if exact.size and joint.nv else sp.zeros(1)
    assert all(abs(sp.simplify(e)) < 1e-15 for e in product)
    assert not any(sp.fraction(sp.together(e))[1].free_symbols for e in exact.ravel())


def test_unit_vectors_where_the_axis_is_one():
    assert (sixd.Revolute("z").constraint_force_subspace() == np.eye(6)[:, [0, 1, 3, 4, 5]]).all()
    r, q = sp.symbols("r q1")
    T = sixd.RackAndPinion(r).constraint_force_subspace(np.array([q]))
    assert list(T[0]) == [0, 0, 0, r * sp.cos(q), -r * sp.sin(q)]


@pytest.mark.parametrize("nf", range(1, 7))
def test_laws_of_the_constrained_body(nf, rng):
    """B1: a = Φf + b; ΦIΦ = Φ, rank Φ = nf, Sᵀf_c = 0; H α̇ + C = Sᵀf gives the same acceleration."""
    I, S, alpha, rate = some_inertia(rng), rng.normal(size=(6, nf)), rng.normal(size=nf), rng.normal(size=(6, nf))
    f = rng.normal(size=6)
    body = sixd.constrained_body(I, S, alpha, S_rate=rate)
    assert np.abs(body.Phi @ I.matrix @ body.Phi - body.Phi).max() < 1e-11  # of entries up to 100
    assert np.linalg.matrix_rank(body.Phi, tol=1e-9) == nf
    force = body.constraint_force(f)
    assert np.abs(S.T @ force).max() < 1e-10
    a = body.acceleration(f)
    np.testing.assert_allclose(a, S @ body.alpha_rate(f) + rate @ alpha, atol=1e-10)
    v = S @ alpha
    np.testing.assert_allclose(I.matrix @ a + crf(v) @ I.matrix @ v, f + force, atol=1e-10)
    np.testing.assert_allclose(S.T @ body.T, 0, atol=1e-12)


def test_subspace_fixed_in_the_body(rng):
    """B2: Ṡ = v×S gives Ṡα = v×v = 0, so it may be omitted."""
    I, S, alpha = some_inertia(rng), rng.normal(size=(6, 2)), rng.normal(size=2)
    moving = sixd.constrained_body(I, S, alpha, S_rate=crm(S @ alpha) @ S)
    np.testing.assert_allclose(moving.b, sixd.constrained_body(I, S, alpha).b, atol=1e-11)
    np.testing.assert_allclose(moving.S_rate_alpha, 0, atol=1e-14)


def test_a_joint_of_a_model(rng):
    """The same acceleration as forward dynamics of a body on a joint whose S varies."""
    I, joint = some_inertia(rng), sixd.Universal()
    builder = sixd.ModelBuilder("body", gravity=(0, 0, 0))
    builder.add_body("body", "world", joint, inertia=I)
    q, qd, tau = rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
    S, rate = joint.subspace(q), joint.subspace_rate(q, qd)
    body = sixd.constrained_body(I, S, qd, S_rate=rate)
    f = S @ np.linalg.solve(S.T @ S, tau)
    expected = sixd.forward_dynamics(builder.build(), q, qd, tau)
    np.testing.assert_allclose(body.alpha_rate(f), expected, rtol=0, atol=1e-12)


def test_a_hinge_in_symbols():
    m, c, I, w = sp.symbols("m c I omega", positive=True)
    hinge = sixd.constrained_body(Inertia(m, (c, 0, 0), (0, 0, I)), [0, 0, 1, 0, 0, 0], [w])
    assert hinge.H[0, 0] == I + c**2 * m
    assert sp.simplify(hinge.Phi[2, 2] - 1 / (I + m * c**2)) == 0
    assert list(hinge.b) == [0] * 6
    force = hinge.constraint_force(np.zeros(6, dtype=int))
    assert sp.simplify(force[3] + m * c * w**2) == 0  # inwards


def test_relative_inertia(rng):
    A, B = some_inertia(rng), some_inertia(rng)
    found = sixd.relative_inertia(A, B)
    np.testing.assert_allclose(np.linalg.inv(found), A.inverse() + B.inverse(), atol=1e-11)
    np.testing.assert_allclose(found, found.T, atol=0)
    batch = sixd.relative_inertia(np.stack([A.matrix, B.matrix]), B.matrix)
    np.testing.assert_allclose(batch[0], found, atol=1e-13)


def test_relative_inertia_of_singular_bodies():
    """Two points: the reduced mass; a point outside a body keeps its null space."""
    found = sixd.relative_inertia(sixd.point(1.0), sixd.point(3.0))
    np.testing.assert_allclose(found, np.diag([0, 0, 0, 0.75, 0.75, 0.75]), atol=1e-15)
    rod, body = sixd.rod(1.0, mass=2.0), sixd.box(1.0, 1.0, 1.0, mass=1.0)
    assert np.linalg.matrix_rank(sixd.relative_inertia(rod, body), tol=1e-12) == 5


def test_relative_inertia_in_symbols():
    M, m, I, J = sp.symbols("M m I J", positive=True)
    found = sixd.relative_inertia(Inertia(M, about_com=(I, I, I)), Inertia(m, about_com=(J, J, J)))
    assert sp.simplify(found[0, 0] - I * J / (I + J)) == 0
    assert sp.simplify(found[3, 3] - M * m / (M + m)) == 0


def test_errors():
    body = sixd.box(1, 1, 1, mass=1)
    with pytest.raises(ShapeError, match=r"constrained_body: S has shape \(5,\), expected \(6, nf\)"):
        sixd.constrained_body(body, [0, 0, 1, 0, 0])
    with pytest.raises(ShapeError, match=r"constrained_body: alpha has shape \(2,\), expected \(1,\)"):
        sixd.constrained_body(body, [0, 0, 1, 0, 0, 0], [1, 2])
    with pytest.raises(ShapeError, match=r"inertia has shape \(3, 3\), expected a sixd.Inertia or \(6, 6\)"):
        sixd.constrained_body(np.eye(3), [0, 0, 1, 0, 0, 0])
    with pytest.raises(SingularError, match="S has rank 1, expected 2"):
        force_subspace(np.array([[0, 0, 1, 0, 0, 0], [0, 0, 2, 0, 0, 0]]).T)
    with pytest.raises(SingularError, match="constrained_body: S has rank 1, expected 2"):
        sixd.constrained_body(body, np.ones((6, 2)))
    with pytest.raises(SingularError, match="constrained_body: .* is singular, expected an inertia along every DoF"):
        sixd.constrained_body(sixd.rod(1.0, mass=1.0), [0, 0, 1, 0, 0, 0])


def test_relative_inertia_of_what_is_not_finite():
    with pytest.raises(sixd.ModelError, match="relative_inertia: A or B has entries that are not finite"):
        sixd.relative_inertia(np.full((6, 6), np.nan), np.eye(6))
