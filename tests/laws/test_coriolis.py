"""The Coriolis matrix and the Christoffel symbols: laws for every joint type, closed forms, Pinocchio."""

import functools

import numpy as np
import pytest
import sympy as sp

import sixd
import sixd.spatial_v2 as sv
from peers import pin
from robots import FIVE, ByName, pinocchio_model, quiet_load
from samples import KINDS, Parabola, single_joint, states, trees
from sixd.algorithms import coriolis
from sixd.algorithms.crba import crba
from sixd.algorithms.jacobian import jacobian, jacobian_rate
from sixd.algorithms.kinematics import joint_transforms, world_transforms
from sixd.spatial import crf, crm, quaternion_multiply, quaternion_to_rotation
from sixd.trace import Graph, Slot, make_program
from sixd.trace import jacobian as trace_jacobian
from sixd.zoo.random_trees import random_inertia

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TIGHT = 1e-12

# two trees with every joint type, with each type on a moving body, and a tree of all types whose qd is the rate of q
ON_THE_LINE = tuple(kind for kind in KINDS if kind not in ("free", "spherical"))
BARE = {f"tree{k}": tree.without_passive() for k, tree in enumerate(trees()[:2])}
BARE |= {kind: single_joint(kind).without_passive() for kind in KINDS}
BARE["line"] = sixd.zoo.random_tree(5, kinds=ON_THE_LINE, passive=False)
each = pytest.mark.parametrize("name", BARE)


def close(x, y, tolerance=TIGHT):
    """Whether two arrays have equal shapes, and equal values relative to the largest number (or to 1)."""
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


# exact derivatives of M, independent of the library ----------------------------------------------


@functools.cache
def mass_matrix_derivative_program(model):
    """Return a program of ∂M/∂q (nv, nv, nq)."""
    q = Graph().input("q", (model.nq,))
    M = [q[0].graph.lift(x) for x in crba(model, q).ravel()]
    derivatives = [q[0].graph.lift(x) for x in trace_jacobian(M, list(q)).ravel()]
    shape = (model.nv, model.nv, model.nq)
    return make_program([Slot("q", (model.nq,), tuple(q))], [Slot("derivatives", shape, tuple(derivatives))])


def rates(model, q):
    """Return dq/dt (nq, nv), a column for each DoF: ½ q⊗ω, and R v for the position of a free joint."""
    R = np.zeros((model.nq, model.nv))
    for i in model.bodies:
        joint, at = model.joints[i], q[model.iq[i]]
        columns = np.eye(joint.nv)
        if joint.nq != joint.nv:
            columns = np.zeros((joint.nq, joint.nv))
            columns[:4, :3] = np.array([quaternion_multiply(at[:4], np.array([0, *e])) / 2 for e in np.eye(3)]).T
            if isinstance(joint, sixd.Free):
                columns[4:, 3:] = quaternion_to_rotation(at[:4])
        R[model.iq[i], model.iv[i]] = columns
    return R


def mass_matrix_derivatives(model, q):
    """Return ∂M_ij along DoF k (nv, nv, nv)."""
    return mass_matrix_derivative_program(model).evaluate(q)[0] @ rates(model, q)


def brackets(model):
    """Return [e_j, e_k] of two DoFs (nv, nv, nv), with its components last: those of a rotation, or of a rigid motion."""
    c = np.zeros((model.nv,) * 3)
    for i in model.bodies:
        iv = model.iv[i]
        if isinstance(model.joints[i], (sixd.Spherical, sixd.Free)):
            n = model.joints[i].nv
            for j, e in enumerate(np.eye(6)[:n]):
                c[iv.start + j, iv, iv] = crm(e)[:n, :n].T
    return c


# laws -------------------------------------------------------------------------------------------


@pytest.mark.many
@each
def test_velocity_forces(name, rng):
    """C qd is the bias force minus gravity."""
    model = BARE[name]
    for q, qd, _ in states(model, rng):
        C = sixd.coriolis_matrix(model, q, qd)
        close(C @ qd, sixd.bias_force(model, q, qd) - sixd.gravity_force(model, q))


@pytest.mark.many
@each
def test_rate_of_the_mass_matrix(name, rng):
    """dM/dt = C + Cᵀ along the motion, so dM/dt - 2 C is skew; with C at another velocity it is not."""
    model = BARE[name]
    for q, qd, _ in states(model, rng):
        C, rate = sixd.coriolis_matrix(model, q, qd), mass_matrix_derivatives(model, q) @ qd
        close(C + C.T, rate)
        skew = rate - 2 * C
        close(skew, -skew.T)
    if np.abs(rate).max() > 1e-3:
        wrong = rate - 2 * sixd.coriolis_matrix(model, q, 1.1 * qd)
        assert np.abs(wrong + wrong.T).max() > 1e-4


@each
def test_sum_over_bodies(name, rng):
    """C = Σ Jᵀ (I dJ/dt + B J) with B = ½ (v×* I + (I v)×̄* - I v×), body by body in world coordinates."""
    model = BARE[name]
    for q, qd, _ in states(model, rng, count=3):
        X = world_transforms(model, joint_transforms(model, q)[0])
        total = np.zeros((model.nv, model.nv))
        for i in model.bodies:
            frame = f"joint:{model.joint_names[i - 1]}"
            J = jacobian(model, q, frame, expressed_in="world")
            J_dot = jacobian_rate(model, q, qd, frame, expressed_in="world")
            I, v = X[i].T @ model.inertia[i] @ X[i], J @ qd
            swapped = np.array([crf(e) @ (I @ v) for e in np.eye(6)]).T  # (I v)×̄* w = w×* I v
            B = (crf(v) @ I + swapped - I @ crm(v)) / 2
            total += J.T @ (I @ J_dot + B @ J)
        close(sixd.coriolis_matrix(model, q, qd), total)


@pytest.mark.parametrize("kind", KINDS)
def test_passive_forces_and_armature_add_nothing(kind, rng):
    model = single_joint(kind)
    assert all(x.any() for x in (model.damping, model.friction, model.stiffness, model.armature))
    q, qd, _ = next(states(model, rng))
    close(sixd.coriolis_matrix(model, q, qd), sixd.coriolis_matrix(BARE[kind], q, qd))


@pytest.mark.many
@each
def test_christoffel_symbols_are_the_derivatives_of_c(name, rng):
    """Γ qd = C, and Γ[:, :, k] = C(e_k)."""
    model = BARE[name]
    for q, qd, _ in states(model, rng):
        Gamma = sixd.christoffel(model, q)
        close(Gamma @ qd, sixd.coriolis_matrix(model, q, qd))
        columns = [sixd.coriolis_matrix(model, q, e) for e in np.eye(model.nv)]
        close(Gamma, np.stack(columns, axis=-1))


@pytest.mark.many
@each
def test_christoffels_and_koszuls_formula(name, rng):
    """Γ_ijk = ½ (∂_k M_ij + ∂_j M_ik - ∂_i M_jk), plus the brackets of DoFs that are not rates of coordinates."""
    model = BARE[name]
    bracket = brackets(model)
    assert bracket.any() == any(j.nq != j.nv for j in model.joints)
    for q, _, _ in states(model, rng, count=3):
        dM = mass_matrix_derivatives(model, q)
        b = bracket @ crba(model, q)  # b_jki = ⟨[e_j, e_k], e_i⟩
        wanted = dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1)
        wanted = wanted + b.transpose(2, 1, 0) - b.transpose(1, 2, 0) - b.transpose(1, 0, 2)
        close(sixd.christoffel(model, q), wanted / 2)


@pytest.mark.many
@each
def test_symmetry_and_the_wrong_contraction(name, rng):
    """Γ_ijk = Γ_ikj if and only if all qd are rates of coordinates.

    Otherwise C from the other contraction violates the laws.
    """
    model = BARE[name]
    q, qd, _ = next(states(model, rng))
    Gamma, scale = sixd.christoffel(model, q), np.abs(sixd.christoffel(model, q)).max(initial=1.0)
    asymmetry = np.abs(Gamma - Gamma.transpose(0, 2, 1)).max()
    other = np.einsum("ijk,j->ik", Gamma, qd)
    broken = np.abs(other + other.T - mass_matrix_derivatives(model, q) @ qd).max()
    close(other @ qd, Gamma @ qd @ qd)
    if all(j.nq == j.nv for j in model.joints):
        assert max(asymmetry, broken) < TIGHT * scale
    else:
        assert min(asymmetry, broken) > 1e-3


def test_zeros_between_branches(rng):
    """Entries whose joints do not lie on one branch are exactly zero."""
    model = BARE["tree0"]
    q, qd, _ = next(states(model, rng))
    body = np.repeat(np.arange(model.nb + 1), [j.nv for j in model.joints])
    line = np.array([[i in model.tree.ancestors(j) or j in model.tree.ancestors(i) for j in body] for i in body])
    assert not line.all()
    assert not sixd.coriolis_matrix(model, q, qd)[~line].any()
    together = line[:, :, None] & line[:, None, :] & line[None, :, :]
    assert not sixd.christoffel(model, q)[~together].any()


@pytest.mark.long
def test_batches_and_float32(rng):
    """The samples of a batch equal the single calls; float32 arguments give float32 results; ``out`` is filled."""
    model = BARE["free"]
    q = np.array([model.random_configuration(rng) for _ in range(6)]).reshape(2, 3, model.nq)
    qd = rng.uniform(-2, 2, (3, model.nv))
    C, Gamma = sixd.coriolis_matrix(model, q, qd), sixd.christoffel(model, q)
    assert C.shape == (2, 3, 7, 7)
    assert Gamma.shape == (2, 3, 7, 7, 7)
    close(C, np.einsum("abijk,bk->abij", Gamma, qd))
    for i, j in np.ndindex(2, 3):
        close(C[i, j], sixd.coriolis_matrix(model, q[i, j], qd[j]))
        close(Gamma[i, j], sixd.christoffel(model, q[i, j]))
    out = np.empty_like(Gamma)
    assert sixd.christoffel(model, q, out=out) is out
    close(out, Gamma)
    small = q.astype(np.float32), qd.astype(np.float32)
    for got, wanted in ((sixd.coriolis_matrix(model, *small), C), (sixd.christoffel(model, small[0]), Gamma)):
        assert got.dtype == np.float32
        close(got, wanted, 1e-5)  # float32 has seven digits


def test_no_degrees_of_freedom():
    model = sixd.zoo.planar(0)
    assert sixd.coriolis_matrix(model, [], []).shape == (0, 0)
    assert sixd.christoffel(model, []).shape == (0, 0, 0)


# closed forms -----------------------------------------------------------------------------------


def same(got, wanted):
    """Whether two expressions are equal as functions, and exact: without 1.0."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    for x, y in zip(got.ravel(), wanted.ravel(), strict=True):
        assert sp.simplify(sp.expand_trig(sp.expand(x - y))) == 0
        assert not sp.sympify(x).atoms(sp.Float)


@pytest.mark.one_target
def test_revolute_prismatic_arm():
    """C = m2 q2 [[q̇2, q̇1], [-q̇1, 0]]."""
    m1, m2, I1, I2, r1, q1, q2, u1, u2 = sp.symbols("m1 m2 I1 I2 r1 q1 q2 u1 u2", real=True)
    arm = sixd.zoo.rp_arm(m1, m2, I1, I2, r1)
    same(sixd.coriolis_matrix(arm, [q1, q2], [u1, u2]), m2 * q2 * np.array([[u2, u1], [-u1, 0]]))


@pytest.mark.one_target
def test_two_link_arm():
    """Γ¹₁₂ = Γ¹₂₁ = Γ¹₂₂ = -h and Γ²₁₁ = h with h = m2 L1 r2 sin q2; the others vanish."""
    m1, m2, I1, I2, r1, r2, L1, q1, q2 = sp.symbols("m1 m2 I1 I2 r1 r2 L1 q1 q2", real=True)
    arm = sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1)
    h = m2 * L1 * r2 * sp.sin(q2)
    same(sixd.christoffel(arm, [q1, q2]), [[[0, -h], [-h, -h]], [[h, 0], [0, 0]]])
    u1, u2 = sp.symbols("u1 u2", real=True)
    same(sixd.coriolis_matrix(arm, [q1, q2], [u1, u2]), [[-h * u2, -h * (u1 + u2)], [h * u1, 0]])


@pytest.mark.one_target
def test_point_in_polar_coordinates():
    """Γ of a point at angle θ and distance r: m r in θθr and θrθ, -m r in rθθ."""
    m, theta, r = sp.symbols("m theta r", positive=True)
    builder = sixd.ModelBuilder("polar", (0, 0, 0))
    builder.add_body("ray", "world", sixd.Revolute("z"))
    builder.add_body("point", "ray", sixd.Prismatic("x"), inertia=sixd.point(m))
    same(sixd.christoffel(builder.build(), [theta, r]), [[[0, m * r], [m * r, 0]], [[-m * r, 0], [0, 0]]])


@pytest.mark.one_target
def test_body_about_its_centre():
    """On a spherical joint at the centre M is constant, and C = ½ tr(J) ω× - (J ω)× is skew."""
    J = np.diag(sp.symbols("A B D", positive=True))
    quaternion, w = sp.symbols("w x y z", real=True), np.array(sp.symbols("w1:4", real=True))
    builder = sixd.ModelBuilder("body")
    builder.add_body("body", "world", sixd.Spherical(), inertia=sixd.Inertia(sp.Symbol("m"), (0, 0, 0), J))
    cross = sixd.spatial.skew
    wanted = cross(w) * (np.trace(J) / 2) - cross(J @ w)
    same(sixd.coriolis_matrix(builder.build(), quaternion, w), wanted)


def test_joint_of_ones_own():
    """A bead on a parabola: M = m (1 + 4 x²), C = 4 m x ẋ."""
    m, x, u = sp.symbols("m x u", positive=True)
    builder = sixd.ModelBuilder("bead")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.point(m))
    model = builder.build()
    same(sixd.coriolis_matrix(model, [x], [u]), [[4 * m * x * u]])
    close(sixd.coriolis_matrix(model.substitute({m: 2.0}), [0.3], [0.5]), [[1.2]])


# inertias that no rigid body has ----------------------------------------------------------------


def test_any_symmetric_inertia(rng):
    """spatial_v2's models may have any symmetric inertia: the laws hold for them too."""
    model = sv.autoTree(4, 1.5, 0.7)
    for k in range(4):
        A = rng.normal(size=(6, 6))
        model.I[k] = A @ A.T
    tree = sv.to_model(model)
    for q, qd, _ in states(tree, rng, count=2):
        C, dM = sixd.coriolis_matrix(tree, q, qd), mass_matrix_derivatives(tree, q)
        close(C @ qd, sixd.bias_force(tree, q, qd) - sixd.gravity_force(tree, q))
        close(C + C.T, dM @ qd)
        close(sixd.christoffel(tree, q), (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 0, 1)) / 2)


@pytest.mark.one_target
def test_two_ways_to_a_bodys_factor(rng):
    """The short form for rigid bodies equals the general one; B v = v×* I v, and B + Bᵀ is the rate of the inertia."""
    for _ in range(5):
        I, v = random_inertia(rng).matrix, rng.normal(size=6)
        B = coriolis.factor_of_inertia(I, v)
        close(coriolis.factor_of_body(I, v), B)
        close(B @ v, crf(v) @ (I @ v))
        close(B + B.T, crf(v) @ I - I @ crm(v))


@pytest.mark.one_target
def test_the_short_form_is_used_where_it_holds(rng):
    """Numbers, symbols and traced parameters of rigid bodies are recognised, which saves operations; others are not."""
    m, c = sp.Symbol("m"), sp.Symbol("c")
    bodies = {
        "numbers": random_inertia(rng).matrix,
        "symbols": sixd.Inertia(m, (c, 0, 1), (m, 2 * m, m)).matrix,
        "traced": sixd.Inertia.from_parameters(Graph().input("p", (10,))).matrix,
        "none": np.zeros((6, 6)),
    }
    for I in bodies.values():
        assert coriolis._is_rigid(I)
    for I in (np.diag([0, 0, 1, 2, 2, 0]), bodies["numbers"] + np.diag([0, 0, 0, 1e-9, 0, 0])):
        assert not coriolis._is_rigid(I)
    model = BARE["revolute"]
    fixed, given = (sixd.compile(sixd.coriolis_matrix, model, parameters=p) for p in ((), ("inertia",)))
    q, qd = rng.normal(size=(2, 2))
    close(given(q, qd, [model.body_inertia(b).parameters for b in model.body_names]), fixed(q, qd))


# other programs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "floating"),
    [("ur5", False), ("anymal", True)]
    + [pytest.param(name, False, marks=pytest.mark.long) for name in ("panda", "talos", "anymal")],
)
def test_pinocchio(name, floating, rng):
    """Pinocchio's C is the same matrix, also with a free base."""
    model = quiet_load(FIVE[name], floating_base=floating)
    reference = pinocchio_model(FIVE[name], floating=floating)
    data, names = reference.createData(), ByName(model, reference)
    for _ in range(3):
        q, qd = model.random_configuration(rng), rng.uniform(-2, 2, model.nv)
        args = names.q(q), names.v(qd)
        theirs = names.back(np.array(pin.computeCoriolisMatrix(reference, data, *args)))
        close(sixd.coriolis_matrix(model, q, qd), theirs)
        nonlinear = pin.nonLinearEffects(reference, data, *args)
        gravity = pin.computeGeneralizedGravity(reference, data, args[0])
        close(sixd.coriolis_matrix(model, q, qd) @ qd, names.back(nonlinear - gravity))
