"""sixd.spatial_v2: every name exists; rotations, arithmetic and sparsity. The rest: the other files of this folder."""

import re
from pathlib import Path

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv

NAMES = """
rx ry rz rv rq rqd skew crm crf mcI rotx roty rotz xlt plux plnr pluho XtoV Xpt Vpt Fpt ID HandC FDab FDcrb FDgq HD
EnerMo jcalc get_gravity apply_external_forces floatbase FDfb IDfb fbkin fbanim expandLambda LTL LTDL mpyH mpyL mpyLt
mpyLi mpyLit gcontact gcPosVel gcFD autoTree planar vee singlebody scissor doubleElbow rollingdisc gfxExample
CoriolisMatrix showmotion
"""
CHAIN, BRANCHED = [0, 1, 2, 3, 4], [0, 1, 1, 3, 3]


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_every_original_name_exists():
    assert set(NAMES.split()) <= set(sv.__all__)
    assert all(callable(getattr(sv, name)) and getattr(sv, name).__doc__ for name in NAMES.split())


def test_the_documented_port_runs():
    text = (Path(__file__).parents[2] / "docs" / "from_spatial_v2.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope = {}
    exec("\n".join(blocks), scope)
    assert np.shape(scope["qdd_native"]) == (2,)
    # every name stands in its tables
    assert [name for name in NAMES.split() if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", text)] == []


# rotations --------------------------------------------------------------------------------------


def test_rx_ry_rz_are_coordinate_transforms():
    c, s = np.cos(0.3), np.sin(0.3)
    close(sv.rx(0.3), [[1, 0, 0], [0, c, s], [0, -s, c]])
    close(sv.ry(0.3), [[c, 0, -s], [0, 1, 0], [s, 0, c]])
    close(sv.rz(0.3), [[c, s, 0], [-s, c, 0], [0, 0, 1]])
    close(sv.rotz(np.array([[0.3]]))[:3, :3], sv.rz(0.3))
    with pytest.raises(sixd.ShapeError, match=r"rx: theta is .* expected one number"):
        sv.rx([1, 2, 3])


@pytest.mark.parametrize("angle", [0, 1e-9, 0.5, 0.89 * np.pi, 0.91 * np.pi, np.pi - 1e-9, np.pi, 4.0])
def test_rv_and_back(angle, rng):
    u = rng.standard_normal(3)
    v = angle * u / np.linalg.norm(u)
    E = sv.rv(v)
    back = sv.rv(E)
    close(sv.rv(back), E)
    assert np.linalg.norm(back) <= np.pi + 1e-15
    close(sv.rv([angle, 0, 0]), sv.rx(angle))


def test_rv_of_a_symmetric_matrix_is_half_a_turn():
    """The original returned zero here."""
    close(np.abs(sv.rv(np.diag([1.0, -1, -1]))), [np.pi, 0, 0])
    u = np.array([2, -1, 2]) / 3
    v = sv.rv(2 * np.outer(u, u) - np.eye(3))
    close(v * np.sign(v[0]), np.pi * u)
    close(sv.rv(np.eye(3)), np.zeros(3))


def test_rq_tie_rule():
    assert sv.rq(np.diag([1.0, -1, -1])).tolist() == [0, 1, 0, 0]
    assert sv.rq(np.diag([-1.0, -1, 1])).tolist() == [0, 0, 0, 1]
    half = np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, -1]])  # 180° about (1, -1, 0): equal magnitudes
    close(sv.rq(half), np.array([0, 1, -1, 0]) / np.sqrt(2))


def test_rq_normalises_and_returns_a_scalar_part_of_at_least_zero(rng):
    for q in rng.standard_normal((20, 4)):
        back = sv.rq(sv.rq(5 * q))
        assert back[0] >= 0
        close(back, q / np.linalg.norm(q) * np.sign(q[0]))
    with pytest.raises(sixd.ModelError, match="quaternion is zero"):
        sv.rq(np.zeros(4))
    for function in (sv.rq, sv.rv):
        with pytest.raises(sixd.ModelError, match="is not a rotation"):
            function(-np.eye(3))


def test_rqd_forms_agree_and_keep_the_length(rng):
    q, w_A = rng.standard_normal(4), rng.standard_normal(3)
    q /= np.linalg.norm(q)
    close(sv.rqd(w_A, q), sv.rqd(q, sv.rq(q) @ w_A))
    close(sv.rqd(w_A, q) @ q, 0)
    # a quaternion that is too long shrinks: d‖q‖/dt = ½ σ ‖q‖
    sigma = 0.1 * np.linalg.norm(w_A) * (1 - 2)
    close(sv.rqd(w_A, 2 * q) @ q, sigma / 2 * 2)
    with pytest.raises(sixd.ShapeError, match="both arguments have 4 elements"):
        sv.rqd(q, q)


def test_skew_both_ways(rng):
    v, u, A = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal((3, 3))
    close(sv.skew(v) @ u, np.cross(v, u))
    close(sv.skew(sv.skew(v)), v)
    close(sv.skew(sv.skew(A)), (A - A.T) / 2)


# arithmetic -------------------------------------------------------------------------------------


def test_plux_is_rotx_after_xlt():
    close(sv.plux(sv.rx(1), [2, 3, 4]), sv.rotx(1) @ sv.xlt([2, 3, 4]))
    E, r = sv.plux(sv.rotx(1) @ sv.xlt([2, 3, 4]))
    close(E, sv.rx(1))
    close(r, [2, 3, 4])


def test_plnr_and_back_and_in_space():
    X = sv.plnr(0.3, [1, 2])
    theta, r = sv.plnr(X)
    close(theta, 0.3)
    close(r, [1, 2])
    spatial = sv.rotz(0.3) @ sv.xlt([1, 2, 0])
    close(spatial[2:5, 2:5], X)


def test_transformation_rules(rng):
    """crm: X M X⁻¹, crf: X⁻ᵀ F Xᵀ, and the planar operators are parts of the spatial ones."""
    X, v = sv.plux(sv.rv([0.3, -1, 2]), [1, 2, 3]), rng.standard_normal(6)
    close(sv.crm(X @ v), X @ sv.crm(v) @ np.linalg.inv(X), 1e-11)
    close(sv.crf(v), -sv.crm(v).T)
    flat = np.array([0, 0, *v[:3], 0])
    close(sv.crm(v[:3]), sv.crm(flat)[2:5, 2:5])
    close(sv.crf(v[:3]), sv.crf(flat)[2:5, 2:5])


def test_mcI_both_ways():
    I_C = np.array([[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]])
    m, c, I = sv.mcI(sv.mcI(2.5, [0.1, -0.2, 0.3], I_C))
    close(m, 2.5)
    close(c, [0.1, -0.2, 0.3])
    close(I, I_C)
    m, c, I = sv.mcI(sv.mcI(2.0, [0.4, -0.5], 3.0))
    close([m, *c, I], [2, 0.4, -0.5, 3])
    close(sv.mcI(0, [1, 2], 3.0), np.diag([3, 0, 0]))
    with pytest.raises(sixd.ModelError, match="mcI: the inertia has no mass"):
        sv.mcI(sv.mcI(0, [1, 2, 3], np.eye(3)))


def test_pluho_maps_points_like_Xpt(rng):
    X, p = sv.plux(sv.rv([1, 2, -1]), [3, 1, 2]), rng.standard_normal((3, 4))
    T = sv.pluho(X)
    close((T @ np.vstack([p, np.ones(4)]))[:3], sv.Xpt(X, p))
    close(sv.pluho(T), X)


def test_XtoV_is_exact_without_rotation_and_invariant():
    assert sv.XtoV(sv.xlt([1, 2, 3])).tolist() == [0, 0, 0, 1, 2, 3]
    assert sv.XtoV(sv.plnr(0, [4, 5])).tolist() == [0, 4, 5]
    X = sv.plux(sv.rv([0.4, -0.3, 0.8]), [1, 2, 3])
    close(X @ sv.XtoV(X), sv.XtoV(X))
    P = sv.plnr(0.7, [1, 2])
    close(P @ sv.XtoV(P), sv.XtoV(P))
    close(sv.XtoV(sv.rotz(0.7) @ sv.xlt([1, 2, 0]))[2:5], sv.XtoV(P))


def test_points_velocities_and_forces(rng):
    X, p, v = sv.plnr(0.5, [1, -1]), rng.standard_normal((2, 3)), rng.standard_normal(3)
    spatial, p3, v3 = sv.rotz(0.5) @ sv.xlt([1, -1, 0]), np.vstack([p, np.zeros(3)]), np.array([0, 0, *v, 0])
    close(sv.Xpt(X, p), sv.Xpt(spatial, p3)[:2])
    close(sv.Vpt(v, p), sv.Vpt(v3, p3)[:2])
    close(sv.Vpt(v3, p3), sv.Vpt(np.tile(v3[:, None], 3), p3))
    close(sv.Fpt(p + 1, p), sv.Fpt(p3 + np.array([[1], [1], [0]]), p3)[2:5])
    assert sv.Xpt(X, p[:, 0]).shape == (2,)
    assert sv.Xpt(X, p[:, :1]).shape == (2, 1)
    # power is the same whether of the forces at the points or of their resultant
    f = rng.standard_normal((3, 3))
    close(sv.Fpt(f, p3).sum(axis=1) @ v3, (f * sv.Vpt(v3, p3)).sum())
    with pytest.raises(sixd.ShapeError, match="a point for each force"):
        sv.Fpt(f, p3[:, :2])


def test_columns_and_rows_are_vectors():
    q = np.array([[0.1], [0.2]])
    model = sv.planar(2)
    assert sv.ID(model, q, q.T, q).shape == (2,)
    close(sv.crm(np.ones((6, 1))), sv.crm(np.ones(6)))


# sparsity: cases FD1 and expanded λ -----------------------------------------------------------


def matrix_of_pattern(lam, rng):
    n = len(lam)
    L = np.zeros((n, n))
    for i in range(n):
        j = i + 1
        while j:
            L[i, j - 1] = rng.uniform(0.5, 2)
            j = lam[j - 1]
    return L.T @ L, L


def test_FD1_sparse_factor(rng):
    H, L = matrix_of_pattern(BRANCHED, rng)
    close(sv.LTL(H, BRANCHED), L)
    assert np.array_equal(sv.LTL(H, BRANCHED) != 0, np.tril(H) != 0)
    close(sv.LTL(H, CHAIN), sv.LTL(H, BRANCHED))
    close(sv.LTL(np.tril(H), BRANCHED), L)  # only the lower triangle is read


def test_expanded_lambda():
    assert sv.expandLambda([0, 1, 1], [2, 1, 3]).tolist() == [0, 1, 2, 2, 4, 5]
    assert sv.expandLambda(BRANCHED, [1] * 5).tolist() == BRANCHED
    with pytest.raises(sixd.ModelError, match=r"lambda\(2\) is 2, expected 0 to 1"):
        sv.expandLambda([0, 2], [1, 1])


def test_factors_and_products(rng):
    H, L = matrix_of_pattern(BRANCHED, rng)
    x = rng.standard_normal(5)
    U, D = sv.LTDL(H, BRANCHED)
    close(np.diag(U), np.ones(5))
    close(D, np.diag(np.diag(D)))
    close(U.T @ D @ U, H)
    close(sv.mpyH(np.tril(H), BRANCHED, x), H @ x)
    close(sv.mpyL(L, BRANCHED, x), L @ x)
    close(sv.mpyLt(L, BRANCHED, x), L.T @ x)
    close(sv.mpyL(L, BRANCHED, sv.mpyLi(L, BRANCHED, x)), x)
    close(sv.mpyLt(L, BRANCHED, sv.mpyLit(L, BRANCHED, x)), x)
    close(H @ sv.mpyLi(L, BRANCHED, sv.mpyLit(L, BRANCHED, x)), x)
    with pytest.raises(sixd.SingularError, match="LTL: H is not positive definite"):
        sv.LTL(-H, BRANCHED)
    with pytest.raises(sixd.ModelError, match=r"LTL: H has 1 at \(3, 2\), expected 0"):
        sv.LTL(np.eye(5) + np.diag([0, 1, 0, 0], -1), BRANCHED)


def test_complex_numbers_are_refused():
    with pytest.raises(sixd.ScalarTypeError, match="ID: q is"):
        sixd.spatial_v2.ID(sixd.spatial_v2.planar(2), np.array([1j, 0]), [0, 0], [0, 0])
