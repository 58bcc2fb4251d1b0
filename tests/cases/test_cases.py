"""Cases of tables B, E and F of the collection, each as a test with the name of its row."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

# the state of the RP arm's case, which several others use
STATE = (0.6, 0.8), (1.1, -0.7), (0.5, 0.9)


def test_id1_h_and_c_from_id():
    """H(:, i) = ID(q, qd, e_i) - C for planar(2), with its closed forms."""
    arm = sixd.zoo.planar(2)
    q, qd, qdd = np.array([0.3, 0.5]), np.array([1.0, -2.0]), np.array([0.4, 0.6])
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    H = np.array([[5 / 3 + c2, 1 / 3 + c2 / 2], [1 / 3 + c2 / 2, 1 / 3]])
    C = np.array([-s2 * (2 * qd[0] * qd[1] + qd[1] ** 2) / 2, s2 * qd[0] ** 2 / 2])
    assert_allclose(sixd.inverse_dynamics(arm, q, qd, [0, 0]), C, atol=1e-14)
    assert_allclose(sixd.inverse_dynamics(arm, q, qd, np.eye(2)) - C, H, atol=1e-14)
    assert_allclose(sixd.mass_matrix(arm, q), H, atol=1e-14)
    assert_allclose(sixd.inverse_dynamics(arm, q, qd, qdd), [1.48097445999, 0.748562615014], atol=5e-12)


@pytest.mark.parametrize("m", [0.3, 1.0])
def test_effi1_equal_dynamics(m, rng):
    """Moving mass from link 1's end to link 2's origin changes nothing, although m = 1 makes link 1 massless."""
    arm = sixd.zoo.planar(2)
    I1, I2 = arm.body_inertia("link1"), arm.body_inertia("link2")
    b = sixd.ModelBuilder("other", (0, 0, 0))
    b.add_body("link1", "world", sixd.Revolute("z"), inertia=I1 - sixd.point(m, (1, 0, 0)))
    b.add_body("link2", "link1", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=I2 + sixd.point(m))
    other = b.build()
    q, qd, qdd = rng.normal(size=(3, 2))
    assert_allclose(sixd.inverse_dynamics(other, q, qd, qdd), sixd.inverse_dynamics(arm, q, qd, qdd), atol=1e-13)
    assert_allclose(sixd.forward_dynamics(other, q, qd, qdd), sixd.forward_dynamics(arm, q, qd, qdd), atol=1e-12)
    assert any(f.where == "link1" for f in sixd.check(other))  # doubtful, but accepted


def craig(M1, M2, L1, L2, V1, V2, g, q, qd, qdd, cos, sin):
    c2, s2 = cos(q[1]), sin(q[1])
    reach = L1 + L2 * c2
    tau1 = (M1 * L1**2 + M2 * reach**2) * qdd[0] - 2 * reach * M2 * L2 * s2 * qd[0] * qd[1] + V1 * qd[0]
    tau2 = M2 * L2**2 * qdd[1] + reach * M2 * L2 * s2 * qd[0] ** 2 + M2 * g * L2 * c2 + V2 * qd[1]
    return tau1, tau2


def test_6_5_two_joints_with_point_masses():
    """Craig 6.5 from its DH rows, from the zoo, and in symbols."""
    L1, L2, M1, M2 = 0.7, 0.5, 2.0, 1.3
    rows = [
        {"alpha": 0, "a": 0, "d": 0, "mass": M1, "com": (L1, 0, 0), "damping": 0.4},
        {"alpha": np.pi / 2, "a": L1, "d": 0, "mass": M2, "com": (L2, 0, 0), "damping": 0.6},
    ]
    arm = sixd.from_dh(rows)
    assert_allclose(sixd.inverse_dynamics(arm.without_passive(), *STATE), [1.9571737986, 5.3265318877], atol=5e-11)
    expected = craig(M1, M2, L1, L2, 0.4, 0.6, 9.81, *STATE, np.cos, np.sin)
    assert_allclose(sixd.inverse_dynamics(arm, *STATE), expected, atol=1e-13)
    assert_allclose(sixd.inverse_dynamics(sixd.zoo.craig_arm(V1=0.4, V2=0.6), *STATE), expected, atol=1e-13)

    names = sp.symbols("M1 M2 L1 L2 V1 V2 g", positive=True)
    M1, M2, L1, L2, V1, V2, g = names
    q, qd, qdd = (sp.symbols(f"{n}1:3", real=True) for n in ("q", "u", "a"))
    tau = sixd.inverse_dynamics(sixd.zoo.craig_arm(L1, L2, M1, M2, V1, V2, g), q, qd, qdd)
    for got, want in zip(tau, craig(*names, q, qd, qdd, sp.cos, sp.sin), strict=True):
        assert sp.simplify(sp.expand(got - want)) == 0


def test_6_7_planar_2r_point_masses():
    """The arm of Craig's section 6.7, gravity along -y."""
    l1, l2, m1, m2, g = 0.7, 0.5, 2.0, 1.3, 9.81
    (q1, q2), (u1, u2), (a1, a2) = STATE
    c1, c2, s2, c12 = np.cos(q1), np.cos(q2), np.sin(q2), np.cos(q1 + q2)
    tau1 = (
        m2 * l2**2 * (a1 + a2) + m2 * l1 * l2 * c2 * (2 * a1 + a2) + (m1 + m2) * l1**2 * a1
        - m2 * l1 * l2 * s2 * (u2**2 + 2 * u1 * u2) + m2 * l2 * g * c12 + (m1 + m2) * l1 * g * c1
    )  # fmt: skip
    tau2 = m2 * l1 * l2 * c2 * a1 + m2 * l1 * l2 * s2 * u1**2 + m2 * l2 * g * c12 + m2 * l2**2 * (a1 + a2)
    got = sixd.inverse_dynamics(sixd.zoo.point_arm(l1, l2, m1, m2), *STATE)
    assert_allclose(got, [tau1, tau2], atol=1e-13)
    assert_allclose(got, [21.9953282124, 2.0922366589], atol=5e-11)


@pytest.mark.one_target
@pytest.mark.parametrize("model", [sixd.zoo.craig_arm(), sixd.zoo.pendulum(3)], ids=lambda m: m.name)
def test_symmetric_velocity_terms(model):
    """Σ ∂m_kj/∂q_i qd_i qd_j may be symmetrised over i and j without changing the sum."""
    n = model.nv
    q, qd = sp.symbols(f"q0:{n}"), sp.symbols(f"u0:{n}")
    M = sixd.mass_matrix(model, q)
    at = {**{x: 0.3 + 0.2 * k for k, x in enumerate(q)}, **{x: 1.1 - 0.4 * k for k, x in enumerate(qd)}}
    for k in range(n):
        plain = sum(sp.diff(M[k, j], q[i]) * qd[i] * qd[j] for i in range(n) for j in range(n))
        both = (
            sum((sp.diff(M[k, j], q[i]) + sp.diff(M[k, i], q[j])) * qd[i] * qd[j] for i in range(n) for j in range(n))
            / 2
        )
        assert abs(float(sp.sympify(plain - both).subs(at))) < 1e-12


def test_puma_560():
    """Published gravity load and mass matrix, and a full inverse dynamics."""
    puma, pose = sixd.zoo.puma560(), np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
    assert_allclose(sixd.gravity_force(puma, pose), [0, 31.63988038, 6.03513802, 0, 0.0282528, 0], atol=5e-9)
    M = sixd.mass_matrix(puma, pose)
    diagonal = [3.65937541, 4.41374193, 0.93784158, 0.19253171, 0.17134845, 0.19410451]
    assert_allclose(np.diag(M), diagonal, atol=5e-9)
    assert_allclose([M[0, 1], M[0, 2], M[1, 2]], [-0.40436125, 0.10061365, 0.35089066], atol=5e-9)
    tau = sixd.inverse_dynamics(
        puma.without_passive(), pose + 0.1, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, -1, 0.5, 2, -2, 1]
    )
    assert_allclose(tau, [3.25279843, 27.59460867, 7.02580178, -0.0005468, 0.02379448, 0.00010509], atol=5e-9)


def test_textbook_arms_at_the_states_of_their_cases():
    """RP and 2R arms: the numbers that their cases print."""
    assert_allclose(sixd.inverse_dynamics(sixd.zoo.rp_arm(), *STATE), [14.4879305263, 8.206713996], atol=5e-10)
    assert_allclose(sixd.inverse_dynamics(sixd.zoo.two_link_arm(), *STATE), [25.708659188, 3.290252056], atol=5e-10)


def test_course_models_at_the_states_of_their_cases():
    """Spinning top, scissor, tumbling box and falling sphere at their first instant."""
    top = sixd.zoo.spinning_top()
    assert_allclose(sixd.forward_dynamics(top, [0, 0.5, 0], [0, 0, 1000], [0, 0, 0]), [0, 44.26507796, 0], atol=1e-7)
    s, c, I1, I3 = np.sin(0.5), np.cos(0.5), 0.010625, 0.00125
    H = [[I1 * s * s + I3 * c * c, 0, I3 * c], [0, I1, 0], [I3 * c, 0, I3]]
    assert_allclose(sixd.mass_matrix(top, [0.3, 0.5, 0.7]), H, atol=1e-15)

    scissor, q = sixd.zoo.scissor(), 0.1
    base = [np.cos(q / 4), 0, -np.sin(q / 4), 0, 0, 0, 0, q]
    X_BW = sixd.spatial.transform_from_pose(sixd.pose(scissor, base, "first"))
    qd = np.append(X_BW @ [0, 0, 3, 0, 0, 0], 0)
    qdd = sixd.forward_dynamics(scissor, base, qd, np.zeros(7))
    assert_allclose(qdd[6], 0.8293853075, atol=1e-10)
    a = sixd.acceleration(scissor, base, qd, qdd, "first", expressed_in="world")
    assert_allclose(a, [0, -0.4146926538, 0, 0, 0, 0], atol=1e-10)

    box = sixd.zoo.single_body()
    q, spin, c = box.neutral(), np.array([0.4, 2, 0]), np.array([1.5, 1, 0.5])
    qd = np.concatenate([spin, -np.cross(spin, c)])
    assert_allclose(sixd.energy(box, q, qd)[0], 1.7)
    assert_allclose(sixd.momentum(box, q, qd), [1 / 6, 5 / 3, 0, 0, 0, 0], atol=1e-14)

    ball = sixd.zoo.falling_sphere()
    qdd = sixd.forward_dynamics(ball, ball.neutral(), [-5, 0, 0, 0, -1, -1], np.zeros(6))
    assert_allclose(qdd, [0, 0, 0, 0, 5, -14.8066], atol=1e-13)


def test_gear_only_transmits_gt_tau():
    """Double elbow with q3 = q2: torques with the same Gᵀτ give the same reduced acceleration."""
    arm = sixd.zoo.double_elbow()
    assert arm.constraints == (sixd.Mimic("elbow2", "elbow1"),)
    G = np.array([[1, 0], [0, 1], [0, 1]])
    assert_allclose(G.T @ [1, 2, 3], G.T @ [1, 5, 0])
    q, qd = [0.3, 0.7, 0.7], [1.0, -0.5, -0.5]
    first, second, other = (sixd.constrained_dynamics(arm, q, qd, tau)[0] for tau in ([1, 2, 3], [1, 5, 0], [1, 2, 4]))
    assert_allclose(first, second, rtol=0, atol=1e-10)
    assert np.abs(first - other).max() > 0.01
