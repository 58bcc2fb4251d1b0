"""Spatial vectors and one rigid body: the cases of table A, and those of table D on rotation and inertia."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import sixd
from sixd import Inertia, placement
from sixd.spatial import crf, crm, quaternion_to_rotation, skew, transform_from_pose
from sixd.zoo.random_trees import random_inertia, random_pose

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

SEEDS = range(5)


def close(a, b, tolerance=1e-12):
    return np.abs(np.asarray(a) - b).max() <= tolerance


def symbolic_inertia():
    """Return a body of mass m with centre c and a full matrix about it."""
    m, c = sp.Symbol("m", positive=True), sp.symbols("c1:4", real=True)
    a, b, d, e, f, g = sp.symbols("a b d e f g", real=True)
    I_C = sp.Matrix([[a, e, f], [e, b, g], [f, g, d]])
    return m, sp.Matrix(c), I_C, Inertia(m, c, np.array(I_C.tolist()))


@pytest.mark.one_target
def test_a1_momentum():
    """I_O [ω; v_O] = [h_C + c×h; h] with h = m(v_O − c×ω), h_C = I_C ω."""
    m, c, I_C, inertia = symbolic_inertia()
    w, v = sp.Matrix(sp.symbols("w1:4")), sp.Matrix(sp.symbols("v1:4"))
    h = m * (v - c.cross(w))
    momentum = sp.Matrix(inertia.matrix @ np.array([*w, *v]))
    assert (momentum - sp.Matrix([I_C * w + c.cross(h), h])).expand() == sp.zeros(6, 1)


@pytest.mark.one_target
@pytest.mark.parametrize("seed", SEEDS)
def test_a2_inverse_inertia(seed):
    """I_B⁻¹ = X I_A⁻¹ Xᵀ with X = X_BA."""
    rng = np.random.default_rng(seed)
    T_AB, I_B = random_pose(rng), random_inertia(rng)
    X_BA, I_A = transform_from_pose(T_AB), I_B.moved(T_AB)
    expected = X_BA @ np.linalg.inv(I_A.matrix) @ X_BA.T
    assert close(I_B.inverse(), expected, 1e-12 * np.abs(expected).max())
    assert close(I_B.inverse(), X_BA @ I_A.inverse() @ X_BA.T, 1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_a3_relative_inertia(seed):
    """Two free bodies under ±f separate with (I_A⁻¹ + I_B⁻¹) f; welded together their inertias add to I_A + I_B."""
    rng = np.random.default_rng(seed)
    builder = sixd.ModelBuilder("pair", gravity=(0, 0, 0))
    bodies = {name: random_inertia(rng) for name in ("A", "B")}
    for name, inertia in bodies.items():
        builder.add_body(name, "world", sixd.Free(), inertia=inertia)
    model = builder.build()
    q, f = model.random_configuration(rng), rng.standard_normal(6)
    rest = np.zeros(12)
    qdd = sixd.forward_dynamics(model, q, rest, rest, f_ext=np.array([f, -f]))
    a = [sixd.acceleration(model, q, rest, qdd, name, expressed_in="world") for name in bodies]
    I_A, I_B = (inertia.moved(sixd.pose(model, q, name)) for name, inertia in bodies.items())
    scale = np.abs(a).max()
    assert close(a[0] - a[1], (I_A.inverse() + I_B.inverse()) @ f, 1e-12 * scale)
    assert close((I_A + I_B).matrix, I_A.matrix + I_B.matrix, 0)
    assert close(sixd.composite_inertia(model, q), (I_A + I_B).matrix)


@pytest.mark.one_target
def test_a4_equation_of_motion_at_the_centre_of_mass():
    """With a = [ω̇; c̈ − ω×v_C]: I a + v×*I v = [I_C ω̇ + ω×I_C ω; m c̈]."""
    m, _, I_C, _ = symbolic_inertia()
    w, v, w_dot, c_ddot = (sp.Matrix(sp.symbols(f"{x}1:4")) for x in ("w", "v", "p", "r"))
    I = Inertia(m, (0, 0, 0), np.array(I_C.tolist())).matrix
    a, spatial_v = np.array([*w_dot, *(c_ddot - w.cross(v))]), np.array([*w, *v])
    left = sp.Matrix(I @ a + crf(spatial_v) @ (I @ spatial_v))
    right = sp.Matrix([I_C * w_dot + w.cross(I_C * w), m * c_ddot])
    assert (left - right).expand() == sp.zeros(6, 1)


def constrained(seed, nf):
    """Return inertia, S, its rate, rates α, velocity and force of a body with nf DoFs, all in fixed coordinates."""
    rng = np.random.default_rng(seed)
    I = random_inertia(rng).moved(random_pose(rng)).matrix
    S, S_dot, alpha, f = (rng.standard_normal(size) for size in ((6, nf), (6, nf), nf, 6))
    return I, S, S_dot, alpha, S @ alpha, f


@pytest.mark.one_target
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("nf", [1, 3, 5])
def test_b1_constrained_body(seed, nf):
    """a = Φf + b solves the equations of motion with a constraint force that does no work; ΦIΦ = Φ."""
    I, S, S_dot, alpha, v, f = constrained(seed, nf)
    phi = S @ np.linalg.inv(S.T @ I @ S) @ S.T
    b = S_dot @ alpha - phi @ (I @ S_dot @ alpha + crf(v) @ I @ v)
    a = phi @ f + b
    # the whole system at once: I a − f_c = f − v×*Iv, a − S α̇ = Ṡ α, Sᵀ f_c = 0
    Z, E = np.zeros, np.eye(6)
    system = np.block([[I, -E, Z((6, nf))], [E, Z((6, 6)), -S], [Z((nf, 6)), S.T, Z((nf, nf))]])
    solution = np.linalg.solve(system, np.concatenate([f - crf(v) @ I @ v, S_dot @ alpha, Z(nf)]))
    scale = 1e-11 * np.linalg.cond(S.T @ I @ S)  # Φ is as inaccurate as the matrix that it inverts
    assert close(a, solution[:6], scale)
    assert close(phi @ I @ phi, phi, scale)
    assert np.linalg.matrix_rank(phi) == nf
    assert close(S.T @ (I @ a + crf(v) @ I @ v - f), 0, scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_b2_subspace_fixed_in_the_moving_body(seed):
    """Ṡ = v×S, so Ṡα = 0 and a = Sα̇; the constraint directions T have Ṫᵀv = 0."""
    I, S, _, alpha, v, _ = constrained(seed, 2)
    S_dot = crm(v) @ S
    step = 1e-20  # the imaginary part of a complex step is the derivative to rounding
    assert close((expm(1j * step * crm(v)) @ S).imag / step, S_dot)
    assert close(S_dot @ alpha, 0)
    T = np.linalg.svd(S.T)[2][2:].T
    assert close(S.T @ T, 0)
    assert close((crf(v) @ T).T @ v, 0)
    builder = sixd.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("body", "world", sixd.Cylindrical("z"), inertia=Inertia.from_matrix(I))
    model = builder.build()
    q, qd, qdd = np.zeros(2), alpha, np.array([0.3, -0.4])
    a = sixd.acceleration(model, q, qd, qdd, "body")
    assert close(a, sixd.jacobian(model, q, "body") @ qdd)


@pytest.mark.parametrize(
    "joint", [sixd.Planar(), sixd.Universal(), sixd.RackAndPinion(0.3), sixd.Free(), sixd.Helical("x", 0.2)]
)
@pytest.mark.parametrize("seed", range(3))
def test_b3_b4_equation_of_one_joint(joint, seed):
    """H = SᵀIS, C = Sᵀ(IṠα + v×*Iv), T = ½ q̇ᵀHq̇."""
    rng = np.random.default_rng(seed)
    inertia = random_inertia(rng)
    builder = sixd.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("body", "world", joint, inertia=inertia)
    model = builder.build()
    q, qd, qdd = model.random_configuration(rng), rng.standard_normal(joint.nv), rng.standard_normal(joint.nv)
    I, S = inertia.matrix, joint.subspace(q)
    v = S @ qd
    H, C = S.T @ I @ S, S.T @ (I @ joint.bias(q, qd) + crf(v) @ I @ v)
    assert close(sixd.mass_matrix(model, q), H)
    assert close(sixd.bias_force(model, q, qd), C)
    assert close(sixd.inverse_dynamics(model, q, qd, qdd), H @ qdd + C)
    assert sixd.energy(model, q, qd)[0] == pytest.approx(qd @ H @ qd / 2, abs=1e-12)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("roots", [1, pytest.param(2, marks=pytest.mark.long)])
def test_c1_energy_and_momentum_of_a_tree(seed, roots):
    """T = ½ Σ vᵢᵀIᵢvᵢ; hᵢ = Iᵢvᵢ + Σ h_j of the children; the total is the sum over the base's children."""
    model = sixd.zoo.random_tree(seed, passive=False)
    for k in range(1, roots):
        model = model.attach(sixd.zoo.random_tree(seed + 10 * k, passive=False), prefix="other_")
    rng = np.random.default_rng(seed)
    q, qd = model.random_configuration(rng), rng.standard_normal(model.nv)
    v = [sixd.velocity(model, q, qd, name, expressed_in="world") for name in model.body_names]
    I = [model.body_inertia(name).moved(sixd.pose(model, q, name)).matrix for name in model.body_names]
    h = [np.zeros(6)] + [I_i @ v_i for I_i, v_i in zip(I, v, strict=True)]
    kinetic = sum(v_i @ h_i for v_i, h_i in zip(v, h[1:], strict=True)) / 2
    for i in reversed(model.bodies):
        h[model.parent[i]] = h[model.parent[i]] + h[i]
    scale = np.abs(h).max()
    assert sixd.energy(model, q, qd)[0] == pytest.approx(kinetic, rel=1e-12)
    assert close(sixd.momentum(model, q, qd), sum(h[i] for i in model.tree.children(0)), 1e-12 * scale)
    assert len(model.tree.children(0)) == roots
    assert close(sixd.momentum(model, q, qd), h[1], 1e-12 * scale) == (roots == 1)


# table D ----------------------------------------------------------------------------------------------


@pytest.mark.one_target
def test_parallel_axis():
    """I' = I + m(‖r‖² 1 − r rᵀ): the product I_xy changes by −m x y."""
    m, x, y, z = sp.symbols("m x y z")
    about = sp.Matrix(Inertia(m, (x, y, z)).about_origin)
    r = sp.Matrix([x, y, z])
    assert (about - m * (r.dot(r) * sp.eye(3) - r * r.T)).expand() == sp.zeros(3, 3)
    assert about[0, 1].expand() == -m * x * y


@pytest.mark.one_target
def test_moved_inertia():
    """diag(1, 2, 3), rotated by 90° about z and moved by (3, 0, 2)."""
    m = sp.Symbol("m")
    T = placement((3, 0, 2), (sp.Integer(0), sp.Integer(0), sp.pi / 2))
    moved = Inertia(m, (0, 0, 0), (1, 2, 3)).moved(T)
    expected = sp.Matrix([[2 + 4 * m, 0, -6 * m], [0, 1 + 13 * m, 0], [-6 * m, 0, 3 + 9 * m]])
    assert sp.Matrix(moved.about_origin).expand() == expected
    given = sp.Matrix([[2 + 13 * m, 0, 0], [0, 1 + 4 * m, -6 * m], [0, -6 * m, 3 + 9 * m]])
    shifted_first = Inertia(m, (0, 0, 0), (1, 2, 3)).translated((3, 0, 2)).rotated(T[:3, :3])
    assert sp.Matrix(shifted_first.about_origin).expand() == given


@pytest.mark.one_target
def test_rotation():
    """Ṙ = ω̂_s R = R ω̂; τ = ω×Iω + Iω̇ in body and fixed axes; dI_s/dt = ω̂I_s − I_sω̂."""
    inertia = random_inertia(np.random.default_rng(2))
    I, w, w_dot = inertia.about_com, np.array([0.3, -1.2, 0.7]), np.array([1.0, 0.4, -0.5])
    R = quaternion_to_rotation([0.4, 0.3, -0.7, 0.2])
    assert close(skew(R @ w) @ R, R @ skew(w))
    tau = np.cross(w, I @ w) + I @ w_dot
    I_s, w_s = R @ I @ R.T, R @ w
    assert w_s @ I_s @ w_s == pytest.approx(w @ I @ w, rel=1e-14)
    assert close(np.cross(w_s, I_s @ w_s) + I_s @ (R @ w_dot), R @ tau)
    spatial = Inertia(inertia.mass, about_com=I).matrix @ [*w_dot, 0, 0, 0]
    gyroscopic = crf([*w, 0, 0, 0]) @ Inertia(inertia.mass, about_com=I).matrix @ [*w, 0, 0, 0]
    assert close((spatial + gyroscopic)[:3], tau)
    step = 1e-3  # central differences of fourth order: error about step⁴

    def turned(t):
        return inertia.rotated(expm(t * skew(w_s)) @ R).about_com

    rate = (8 * (turned(step) - turned(-step)) - (turned(2 * step) - turned(-2 * step))) / (12 * step)
    assert close(rate, skew(w_s) @ I_s - I_s @ skew(w_s), 1e-10)


@pytest.mark.one_target
def test_euler_equations():
    """In principal axes the gyroscopic moment is Euler's: ((c − b)yz, (a − c)xz, (b − a)xy)."""
    a, b, c, x, y, z = sp.symbols("a b c x y z")
    product = crf([x, y, z, 0, 0, 0]) @ Inertia(1, (0, 0, 0), (a, b, c)).matrix @ np.array([x, y, z, 0, 0, 0])
    euler = [(c - b) * y * z, (a - c) * x * z, (b - a) * x * y, 0, 0, 0]
    assert sp.Matrix(product - np.array(euler)).expand() == sp.zeros(6, 1)


@pytest.mark.one_target
def test_barbell():
    """Two steel spheres of 0.1 m at ±0.2 m on a bar of length 0.2 m and radius 0.02 m."""
    sphere, bar = sixd.sphere(0.1, density=7850), sixd.cylinder(0.02, 0.2, density=7850)
    barbell = bar + sphere.translated((0, 0, 0.2)) + sphere.moved(placement((0, 0, -0.2)))
    assert sphere.mass == pytest.approx(32.8820031, abs=5e-8)  # printed digits
    assert bar.mass == pytest.approx(1.97292019, abs=5e-9)
    assert np.diag(barbell.about_com) == pytest.approx([2.900389966, 2.900389966, 0.263450609], abs=5e-10)
