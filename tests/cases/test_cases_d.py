"""Cases of table D, and 6.5, 6.7 and the symmetric velocity terms of table E, in closed form.

Each test has the name of its row. The pages of docs/course show them. Here the same facts are tested with random
parameters, compared with plain SymPy, and with expressions that are nearly right, which must fail.
"""

import itertools

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from sixd.algorithms.linear.tree import ltdl
from sixd.spatial import skew
from sixd.symbolic.ring.normal_form import canonical

m, m1, m2, I, I1, I2, r1, r2, L1, L2, R, a_g = sp.symbols("m m1 m2 I I1 I2 r1 r2 L1 L2 R a_g", positive=True)
q1, q2, q3, qd1, qd2, qd3, qdd1, qdd2, qdd3 = sp.symbols("q1:4 qd1:4 qdd1:4")
s1, c1, s2, c2, s3, c3 = sp.sin(q1), sp.cos(q1), sp.sin(q2), sp.cos(q2), sp.sin(q3), sp.cos(q3)
Q, QD, QDD = [q1, q2, q3], [qd1, qd2, qd3], [qdd1, qdd2, qdd3]
# the state of the RP arm's case, which several others use
STATE = [0.6, 0.8], [1.1, -0.7], [0.5, 0.9]


def zero(*expressions):
    """Whether all entries of expressions and matrices vanish identically."""
    entries = [x for e in expressions for x in (sp.flatten(e) if hasattr(e, "shape") else [e])]
    return all(canonical(x) == 0 or canonical(sp.together(x)) == 0 for x in entries)


def agrees(ours, book):
    """Every entry is that of the book, and a change of the sign of any one of its terms is noticed."""
    for x, y in zip(ours, book, strict=True):
        assert zero(x - y)
        assert not any(zero(x - y + 2 * term) for term in sp.Add.make_args(sp.expand(y)) if term != 0)


def rate(expression, n):
    """d/dt of a function of q and q̇."""
    return sum(expression.diff(x) * v for x, v in zip(Q[:n] + QD[:n], QD[:n] + QDD[:n], strict=True))


def euler_lagrange(T, V, n):
    """Return d/dt ∂L/∂q̇ - ∂L/∂q, with SymPy alone."""
    return [rate((T - V).diff(v), n) - (T - V).diff(x) for x, v in zip(Q[:n], QD[:n], strict=True)]


def energies(bodies, n):
    """Return T and V of flat bodies (mass, moment, place of the centre, angle), gravity along -y."""
    T = sum(k * sum(rate(sp.sympify(x), n) ** 2 for x in p) / 2 + J * rate(sp.sympify(angle), n) ** 2 / 2 for k, J, p, angle in bodies)  # fmt: skip
    return T, sum(k * a_g * p[1] for k, _, p, _ in bodies)


# name: model, its bodies, the book's τ, Christoffel symbols that are not zero
h = m2 * L1 * r2 * s2
c12, s12 = sp.cos(q1 + q2), sp.sin(q1 + q2)
ARMS = {
    "rp": (
        sixd.zoo.rp_arm(m1, m2, I1, I2, r1, a_g),
        [(m1, I1, (r1 * c1, r1 * s1), q1), (m2, I2, (q2 * c1, q2 * s1), q1)],
        [
            (I1 + I2 + m1 * r1**2 + m2 * q2**2) * qdd1 + 2 * m2 * q2 * qd1 * qd2 + a_g * (m1 * r1 + m2 * q2) * c1,
            m2 * qdd2 - m2 * q2 * qd1**2 + a_g * m2 * s1,
        ],
        {(0, 0, 1): m2 * q2, (0, 1, 0): m2 * q2, (1, 0, 0): -m2 * q2},
    ),
    "2r": (
        sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, a_g),
        [(m1, I1, (r1 * c1, r1 * s1), q1), (m2, I2, (L1 * c1 + r2 * c12, L1 * s1 + r2 * s12), q1 + q2)],
        [
            (I1 + I2 + m1 * r1**2 + m2 * (L1**2 + r2**2 + 2 * L1 * r2 * c2)) * qdd1
            + (I2 + m2 * (r2**2 + L1 * r2 * c2)) * qdd2
            - h * (2 * qd1 * qd2 + qd2**2)
            + a_g * ((m1 * r1 + m2 * L1) * c1 + m2 * r2 * c12),
            (I2 + m2 * (r2**2 + L1 * r2 * c2)) * qdd1 + (I2 + m2 * r2**2) * qdd2 + h * qd1**2 + a_g * m2 * r2 * c12,
        ],
        {(0, 0, 1): -h, (0, 1, 0): -h, (0, 1, 1): -h, (1, 0, 0): h},
    ),
    "pr": (
        sixd.zoo.pr_arm(m1, m2, I2, r2, a_g),
        [(m1, 0, (q1, 0), 0), (m2, I2, (q1 + r2 * c2, r2 * s2), q2)],
        [
            (m1 + m2) * qdd1 - m2 * r2 * s2 * qdd2 - m2 * r2 * c2 * qd2**2,
            -m2 * r2 * s2 * qdd1 + (I2 + m2 * r2**2) * qdd2 + m2 * a_g * r2 * c2,
        ],
        {(0, 1, 1): -m2 * r2 * c2},
    ),
}


def check_arm(name, rng):
    model, bodies, book, symbols = ARMS[name]
    arm = sixd.equations(model)
    agrees(arm.tau, book)
    agrees(euler_lagrange(*energies(bodies, 2), 2), book)
    for index in np.ndindex(2, 2, 2):
        assert zero(arm.Gamma[index] - symbols.get(index, 0))
    # any parameters, any state: the tree's own algorithm, the compiled closed form, the book's formula
    values = {s: rng.uniform(0.3, 2.0) for s in arm.symbols}
    state = rng.uniform(-2, 2, (3, 2))
    expected = sp.lambdify([Q[:2], QD[:2], QDD[:2]], [x.subs(values) for x in book])(*state)
    assert_allclose(sixd.inverse_dynamics(model.substitute(values), *state), expected, atol=1e-12)
    assert_allclose(sixd.inverse_dynamics(arm.substitute(values), *state), expected, atol=1e-12)


def test_planar_body(rng):
    book = [m * qdd1, m * qdd2 + m * a_g, I * qdd3]
    T = m * (qd1**2 + qd2**2) / 2 + I * qd3**2 / 2
    body = sixd.lagrange(*sixd.body_energy(m, (q1, q2), Q, angle=q3, inertia=I, gravity=(0, -a_g)), Q)
    agrees(body.tau, book)
    agrees(euler_lagrange(T, m * a_g * q2, 3), book)
    assert not any(sp.flatten(body.Gamma))
    assert body.M.free_symbols == {m, I}
    model = sixd.zoo.planar_body(m, I, a_g)  # q = (θ, x, y)
    ours = sixd.inverse_dynamics(model, [q3, q1, q2], [qd3, qd1, qd2], [qdd3, qdd1, qdd2])
    agrees(np.roll(ours, -1), book)
    # released, it falls: with the printed sign it would rise
    mass, moment, g = rng.uniform(0.3, 2.0, 3)
    falling = sixd.forward_dynamics(
        body.substitute({m: mass, I: moment, a_g: g}), *rng.uniform(-1, 1, (2, 3)), [0, 0, 0]
    )
    assert_allclose(falling, [0, -g, 0], atol=1e-14)


def test_rp_arm(rng):
    check_arm("rp", rng)
    values = {m1: 2.0, m2: 1.5, I1: 0.4, I2: 0.3, r1: 0.35, a_g: 9.81}
    tau = sixd.inverse_dynamics(sixd.equations(ARMS["rp"][0]).substitute(values), *STATE)
    assert_allclose(tau, [14.4879305263, 8.206713996], rtol=0, atol=5e-10)  # printed digits


@pytest.mark.parametrize("name", ARMS)
def test_coriolis_matrix(name):
    """C_ij = Σ_k Γ^i_jk q̇_k: of the six orders of indices, exactly those that keep the upper one as the row."""
    model, bodies, _, _ = ARMS[name]
    arm = sixd.equations(model)
    T, _ = energies(bodies, 2)
    velocity_terms = [x.subs(dict.fromkeys(QDD, 0)) for x in euler_lagrange(T, 0, 2)]
    M_dot = arm.M.applyfunc(lambda x: rate(x, 2))
    Gamma, qd = np.array(arm.Gamma.tolist(), dtype=object), np.array(QD[:2])
    right = set()
    for order in itertools.permutations("ijk"):
        C = sp.Matrix(np.einsum(f"{''.join(order)},k->ij", Gamma, qd))
        skewed = M_dot - 2 * C
        if zero(C * arm.qd - sp.Matrix(velocity_terms), skewed + skewed.T):
            right.add("".join(order))
            assert zero(C - arm.C, C - sp.Matrix(sixd.coriolis_matrix(model, Q[:2], QD[:2])))
    assert right == {"ijk", "ikj"}
    if name == "rp":
        assert zero(arm.C - m2 * q2 * sp.Matrix([[qd2, qd1], [-qd1, 0]]))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_positive_definite(n, rng):
    """Pivots have the signs of the eigenvalues; determinant and trace prove nothing for n ≥ 3."""
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    chain = tuple(range(-1, n - 1))
    for signs in itertools.product((-1, 1), repeat=n):
        H = turn.T @ np.diag(signs * rng.uniform(0.5, 2.0, n)) @ turn
        assert (ltdl((H + H.T) / 2, chain)[1] < 0).sum() == signs.count(-1)  # Sylvester's law of inertia
    impostor = np.diag([-1.0, -1.0, *[3.0] * (n - 2)]) if n > 2 else np.diag([-1.0, 3.0])
    by_the_book = np.linalg.det(impostor) > 0 and np.trace(impostor) > 0
    assert by_the_book == (n > 2)
    assert not sp.Matrix(impostor).is_positive_definite
    assert ltdl(impostor, chain)[1].min() < 0
    model = sixd.zoo.random_tree(n, passive=False)
    M = sixd.mass_matrix(model, model.random_configuration(rng))
    assert ltdl(M, model.dof_parent)[1].min() > 0


def test_point_in_polar_coordinates():
    """m p̈ in Cartesian coordinates, seen along the curved ones: u = Jᵀ m p̈."""
    p = sp.Matrix([q1 * c2, q1 * s2])
    J = p.jacobian(Q[:2])
    v = J * sp.Matrix(QD[:2])
    point = sixd.lagrange(m * v.dot(v) / 2, 0, Q[:2])
    book = [m * qdd1 - m * q1 * qd2**2, m * q1**2 * qdd2 + 2 * m * q1 * qd1 * qd2]
    agrees(point.tau, book)
    agrees(J.T * (m * v.applyfunc(lambda x: rate(x, 2))), book)
    symbols = {(0, 1, 1): -m * q1, (1, 0, 1): m * q1, (1, 1, 0): m * q1}
    assert all(zero(point.Gamma[i] - symbols.get(i, 0)) for i in np.ndindex(2, 2, 2))


def test_thrusters(rng):
    """u = Jᵀf: four methods for T, external forces on the body, and the singular place."""
    model = ARMS["rp"][0]
    J = sixd.equations(model).jacobian("link2", expressed_in="aligned")[3:5, :]
    agrees(sp.flatten(J.T), [-q2 * s1, q2 * c1, c1, s1])
    assert zero(J.det() + q2)
    assert J.subs(q2, 0).rank() == 1
    place = ARMS["rp"][1][1][2]
    assert zero(J - sp.Matrix(place).jacobian(Q[:2]), J.T - sixd.point_forces(place, Q[:2]))
    jets = [sixd.Thruster("link2", axis, expressed_in="aligned") for axis in ((1, 0, 0), (0, 1, 0))]
    f = np.array(sp.symbols("f1 f2"))
    assert zero(J.T - sp.Matrix(sixd.Actuation(model, jets).matrix(Q[:2])))
    along = sixd.Thruster("link2", (1, 0, 0))  # in the body's axes it pushes the slide alone
    assert zero(sp.Matrix(sixd.Actuation(model, [along]).matrix(Q[:2])) - sp.Matrix([0, 1]))
    wrench = sixd.external_force(model, Q[:2], "link2", [*f, 0], expressed_in="aligned")
    pushed = sixd.bias_force(model, Q[:2], QD[:2], f_ext=wrench) - sixd.bias_force(model, Q[:2], QD[:2])
    assert zero(sp.Matrix(pushed) + J.T * sp.Matrix(f))
    # numbers: the thrusts that hold the arm, except with the slide at the axis
    arm = sixd.zoo.rp_arm()
    q, rest = rng.uniform(0.3, 1.0, 2), np.zeros(2)
    thrusts = sixd.Actuation(arm, jets).feedback(q, rest, rest)
    assert_allclose(sixd.Actuation(arm, jets).generalized(q, thrusts), sixd.gravity_force(arm, q), atol=1e-12)
    with pytest.raises(sixd.SingularError, match="rank 1"):
        sixd.Actuation(arm, jets).feedback([q[0], 0.0], rest, rest)


def test_2r_arm(rng):
    check_arm("2r", rng)
    values = {m1: 2.0, m2: 1.5, I1: 0.4, I2: 0.3, r1: 0.35, r2: 0.5, L1: 1.2, a_g: 9.81}
    tau = sixd.inverse_dynamics(sixd.equations(ARMS["2r"][0]).substitute(values), *STATE)
    assert_allclose(tau, [25.708659188, 3.290252056], rtol=0, atol=5e-10)  # printed digits


def test_pr_arm(rng):
    check_arm("pr", rng)


def test_spherical_point(rng):
    p, v, u = (sp.Matrix(sp.symbols(names)) for names in ("x y z", "xd yd zd", "u1:4"))
    particle = sixd.lagrange(m * v.dot(v) / 2, 0, p, constraints=[(p.dot(p) - 1) / 2])
    assert particle.A == p.T
    qdd, lam = (sp.Matrix(x) for x in sixd.constrained_dynamics(particle, list(p), list(v), list(u)))
    wanted = -(p.dot(u) + m * v.dot(v)) / p.dot(p)
    assert zero(lam[0] - wanted, m * qdd - u - lam[0] * p)
    assert not zero(lam[0] + wanted)
    P, P_u = (sp.Matrix(x) for x in sixd.projections(particle, list(p)))
    assert zero(P - (sp.eye(3) - p * p.T / p.dot(p)), P_u - P.T)
    # on the sphere, in numbers: the book's formulas, with ‖q‖ = 1
    at, speed, force = rng.standard_normal((3, 3))
    at /= np.linalg.norm(at)
    speed -= at * (at @ speed)
    got, multiplier = sixd.constrained_dynamics(particle.substitute({m: 1.7}), at, speed, force)
    across = np.eye(3) - np.outer(at, at)
    assert_allclose(got, across @ force / 1.7 - (speed @ speed) * at, atol=1e-13)
    assert_allclose(multiplier, -(at @ force + 1.7 * speed @ speed), atol=1e-13)
    assert at @ got + speed @ speed == pytest.approx(0, abs=1e-13)

    # latitude and longitude, by substitution, and from the energy written directly
    globe = particle.eliminate(dict(zip(p, (c1 * c2, c1 * s2, s1), strict=True)), new=[q1, q2])
    direct = sixd.lagrange(m * (qd1**2 + c1**2 * qd2**2) / 2, 0, [q1, q2])
    for system in (globe, direct):
        agrees(system.tau, [m * qdd1 + m * s1 * c1 * qd2**2, m * c1**2 * qdd2 - 2 * m * s1 * c1 * qd1 * qd2])
        symbols = {(0, 1, 1): m * s1 * c1, (1, 0, 1): -m * s1 * c1, (1, 1, 0): -m * s1 * c1}
        assert all(zero(system.Gamma[i] - symbols.get(i, 0)) for i in np.ndindex(2, 2, 2))


def coin():
    """An upright coin that rolls: at (x, y), heading q3, rolled by q4; two equations for four velocities."""
    x, y, q4, xd, yd, qd4 = sp.symbols("x y q4 xd yd qd4")
    T = m * (xd**2 + yd**2) / 2 + I1 * qd3**2 / 2 + I2 * qd4**2 / 2
    return sixd.lagrange(T, 0, [x, y, q3, q4], constraints=[xd - R * c3 * qd4, yd - R * s3 * qd4])


def test_pfaffian_constraints(rng):
    system = coin()
    q, qd, u = system.q, system.qd, sp.Matrix(sp.symbols("u1:5"))
    M, A = system.M, system.A
    assert zero(A - sp.Matrix([[1, 0, 0, -R * c3], [0, 1, 0, -R * s3]]))
    A_dot, W = A.diff(q3) * qd3, (A * M.inv() * A.T).inv()
    lam = W * (-A_dot * qd + A * M.inv() * (system.C * qd + system.g - u))
    P_u = sp.eye(4) - A.T * W * A * M.inv()
    ours = [sp.Matrix(x) for x in sixd.constrained_dynamics(system, list(q), list(qd), list(u))]
    assert zero(ours[1] - lam, ours[0] - M.inv() * (u + A.T * lam))
    assert not zero(ours[1] - W * (A_dot * qd - A * M.inv() * u))  # the sign of the rate matters
    P, force_part = (sp.Matrix(x) for x in sixd.projections(system, list(q)))
    assert zero(force_part - P_u, P - P_u.T, P * P - P, A * P, P_u * A.T, P.trace() - 2)
    assert zero((P * qd).T * M * (sp.eye(4) - P) * qd)
    assert not zero((P * qd).T * (sp.eye(4) - P) * qd)  # orthogonal in the metric M, not as arrows
    # closed form: rolling, the coin has the inertia I2 + m R² about its contact
    assert zero(ours[0][3] * (I2 + m * R**2) - (u[3] + R * (u[0] * c3 + u[1] * s3)))

    # any numbers: rank and orthogonality of the compiled function
    numeric = system.substitute({m: 1.3, I1: 0.4, I2: 0.7, R: 0.6})
    at, speed = rng.standard_normal((2, 4))
    P, P_u = sixd.projections(numeric, at)
    mass = sixd.mass_matrix(numeric, at)
    assert np.linalg.matrix_rank(P) == np.linalg.matrix_rank(P_u) == 2
    assert (P @ speed) @ mass @ (speed - P @ speed) == pytest.approx(0, abs=1e-13)


def test_knife_edge(rng):
    system = sixd.lagrange(m * (qd1**2 + qd2**2) / 2 + I * qd3**2 / 2, 0, Q, constraints=[s3 * qd1 - c3 * qd2])
    assert zero(system.A - sp.Matrix([[s3, -c3, 0]]))
    P, P_u = (sp.Matrix(x) for x in sixd.projections(system, Q))
    agrees(P, [c3**2, s3 * c3, 0, s3 * c3, s3**2, 0, 0, 0, 1])
    assert zero(P - P_u)
    numeric = system.substitute({m: 2.0, I: 0.5})
    q, qd = [0, 0, 0.7], [1.5 * np.cos(0.7), 1.5 * np.sin(0.7), 0.9]
    qdd, lam = sixd.constrained_dynamics(numeric, q, qd, [1, -0.4, 0.3])
    assert_allclose(qdd, [-0.675747065, 1.195896100, 0.6], rtol=0, atol=5e-10)  # printed digits
    assert_allclose(lam, [-3.650154562], rtol=0, atol=5e-10)

    # the constraint of bodies, at any state: q = (θ, x, y) there, λ to the left
    builder = sixd.ModelBuilder("skate", gravity=(0, 0, 0))
    builder.add_body("skate", "world", sixd.Planar(), inertia=sixd.Inertia(2.0, about_com=(0.25, 0.25, 0.5)))
    builder.add_constraint(sixd.KnifeEdge("skate"))
    at, force = rng.uniform(-2, 2, (2, 3))
    speed = np.array([np.cos(at[2]), np.sin(at[2]), rng.uniform(-1, 1)])
    ours, theirs = (
        sixd.constrained_dynamics(numeric, at, speed, force),
        sixd.constrained_dynamics(builder.build(), *(np.roll(x, 1) for x in (at, speed, force))),
    )
    assert_allclose(np.roll(theirs[0], -1), ours[0], atol=1e-13)
    assert_allclose(theirs[1], -ours[1], atol=1e-13)


def test_holonomic_or_not():
    x, y = sp.symbols("x y")
    circle = sixd.is_holonomic([[x, y]], [x, y])
    assert circle.holonomic
    assert circle.integrals == (x**2 + y**2,)
    # a height that depends on the circle's angle is bound to it, a coin that rotates on the spot is not
    assert sixd.is_holonomic([[x, y, 0], [-y, x, -(x**2 + y**2)]], [x, y, q3]).degree == 1
    rolled = coin()
    assert not sixd.is_holonomic(rolled.A, rolled.q).holonomic
    assert sixd.is_holonomic(rolled.A.subs(q3, 0), rolled.q).holonomic  # rolling straight it is only a gear
    edge = sixd.is_holonomic([[s3, -c3, 0]], [x, y, q3])
    assert not edge.holonomic
    assert (edge.rank, edge.degree, edge.integrals) == (1, 3, (None,))

    # the circle's constraint on velocities, or its integral with R² (not R), gives the same motion
    xd, yd = sp.symbols("xd yd")
    T, u = m * (xd**2 + yd**2) / 2, list(sp.symbols("u1 u2"))
    forms = [x * xd + y * yd, (x**2 + y**2 - R**2) / 2]
    accelerations = [
        sixd.constrained_dynamics(sixd.lagrange(T, 0, [x, y], constraints=[c]), [x, y], [xd, yd], u)[0] for c in forms
    ]
    assert zero(sp.Matrix(accelerations[0] - accelerations[1]))
    point = sixd.lagrange(T, 0, [x, y], constraints=forms[1:])
    on_circle = {x: R * sp.cos(q1), y: R * sp.sin(q1)}
    agrees(point.eliminate(on_circle, new=[q1]).tau, [m * R**2 * qdd1])
    wrong = sixd.lagrange(T, 0, [x, y], constraints=[x**2 + y**2 - R])
    with pytest.raises(sixd.ModelError):
        wrong.eliminate(on_circle, new=[q1])


def test_rotation():
    """With Euler angles and a full inertia matrix, with SymPy's derivatives: K, Ṙ, Euler in both frames, dI_s/dt."""
    J = sp.Matrix(3, 3, lambda i, j: sp.Symbol(f"J{min(i, j)}{max(i, j)}"))
    R = sp.rot_axis3(-q1) * sp.rot_axis1(-q3) * sp.rot_axis3(-q2)
    R_dot = R.applyfunc(lambda x: rate(x, 3))

    def unhat(W):
        return sp.Matrix([W[2, 1], W[0, 2], W[1, 0]])

    w, w_s = unhat(R.T * R_dot), unhat(R_dot * R.T)
    assert zero(w - sixd.angular_velocity(R, Q, QD), w_s - sixd.angular_velocity(R, Q, QD, "space"))
    hat, hat_s = (sp.Matrix(skew(np.array(x).ravel())) for x in (w, w_s))
    assert zero(R.T * R_dot - hat, R_dot * R.T - hat_s, R_dot - R * hat, R_dot - hat_s * R)
    J_s = R * J * R.T
    turning = J_s.applyfunc(lambda x: rate(x, 3))
    assert zero(turning - (hat_s * J_s - J_s * hat_s))
    assert not zero(turning - (J_s * hat_s - hat_s * J_s))
    momentum_rate = (J_s * w_s).applyfunc(lambda x: rate(x, 3))
    assert zero(momentum_rate - (J_s * w_s.applyfunc(lambda x: rate(x, 3)) + w_s.cross(J_s * w_s)))
    assert zero(R.T * momentum_rate - (J * w.applyfunc(lambda x: rate(x, 3)) + w.cross(J * w)))

    # the library's ball joint: the same law and energy in symbols of ω and ω̇, whatever the orientation
    builder = sixd.ModelBuilder("body", gravity=(0, 0, 0))
    builder.add_body("body", "world", sixd.Spherical(), inertia=sixd.Inertia(1, about_com=np.array(J)))
    model = builder.build()
    quaternion, omega, alpha = sp.symbols("a:d"), sp.Matrix(sp.symbols("w1:4")), sp.Matrix(sp.symbols("v1:4"))
    tau = sp.Matrix(sixd.inverse_dynamics(model, list(quaternion), list(omega), list(alpha)))
    assert zero(tau - (J * alpha + omega.cross(J * omega)))
    assert zero(sixd.energy(model, list(quaternion), list(omega))[0] - (omega.T * J * omega)[0] / 2)
    principal = tau.subs({J[i, j]: 0 for i in range(3) for j in range(3) if i != j})
    (a, b, c), (x, y, z) = (J[k, k] for k in range(3)), omega
    euler = [(c - b) * y * z, (a - c) * z * x, (b - a) * x * y]
    agrees(principal, [k * v + e for k, v, e in zip((a, b, c), alpha, euler, strict=True)])


def inertia_by_quadrature(points, weights, mass):
    """∫ (‖p‖² 1 - p pᵀ) dm over points (n, 3) with weights, for a uniform density: ρ = mass / Σ weights."""
    second = np.einsum("n,ni,nj->ij", weights, points, points) * mass / weights.sum()
    return np.trace(second) * np.eye(3) - second


def gauss(low, high, n=12):
    x, w = np.polynomial.legendre.leggauss(n)
    return (high - low) / 2 * x + (high + low) / 2, (high - low) / 2 * w


def grid(*axes):
    """Points (n, 3) and weights of the product of three rules."""
    points = np.stack(np.meshgrid(*(x for x, _ in axes), indexing="ij"), -1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", *(w for _, w in axes)).ravel()
    return points, weights


def around(n=12):
    """Return equal steps on the circle: exact for the low harmonics that occur."""
    return 2 * np.pi * np.arange(n) / n, np.full(n, 2 * np.pi / n)


def ball_points(a, b, c):
    """Return points of an ellipsoid: radius, cosine of the polar angle, and angle."""
    at, w = grid(gauss(0, 1), gauss(-1, 1), around())
    r, z, phi = at.T
    ring = r * np.sqrt(1 - z**2)
    return np.stack([a * ring * np.cos(phi), b * ring * np.sin(phi), c * r * z], -1), w * r**2


def cylinder_points(inner, outer, height):
    at, w = grid(gauss(inner, outer), around(), gauss(-height / 2, height / 2))
    r, phi, z = at.T
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], -1), w * r


def test_shapes(rng):
    """The book's moments, sixd's, and integrals by quadrature that is exact for them, at random sizes."""
    mass, a, b, c, radius, height = rng.uniform(0.2, 2.0, 6)
    box_points = grid(*(gauss(-x / 2, x / 2) for x in (a, b, c)))
    cuboid = np.array([b * b + c * c, c * c + a * a, a * a + b * b])
    across = mass * (3 * radius**2 + height**2) / 12
    cases = [
        (sixd.sphere(radius, mass=mass), ball_points(radius, radius, radius), [2 * mass * radius**2 / 5] * 3),
        (sixd.ellipsoid(a, b, c, mass=mass), ball_points(a, b, c), mass * cuboid / 5),
        (
            sixd.cylinder(radius, height, mass=mass),
            cylinder_points(0, radius, height),
            [across, across, mass * radius**2 / 2],
        ),
        (sixd.box(a, b, c, mass=mass), box_points, mass * cuboid / 12),
    ]
    for inertia, (points, weights), book in cases:
        assert_allclose(inertia_by_quadrature(points, weights, mass), np.diag(book), atol=1e-13)
        assert_allclose(inertia.about_com, np.diag(book), atol=1e-14)
    # a density with another body's volume gives another moment
    points, weights = ball_points(radius, radius, radius)
    wrong = inertia_by_quadrature(points, weights, mass * weights.sum() / (2 * radius) ** 3 * radius**3)
    assert abs(wrong[0, 0] / (2 * mass * radius**2 / 5) - 1) > 0.1


def test_parallel_axis(rng):
    """A cloud of points about any point and in any axes; the product of inertia has the matrix's sign."""
    masses, points = rng.uniform(0.1, 1.0, 6), rng.standard_normal((6, 3))
    total = sum(sixd.point(k, p) for k, p in zip(masses, points, strict=True))
    mass, c = masses.sum(), masses @ points / masses.sum()
    about_com = inertia_by_quadrature(points - c, masses, mass)
    shifted = about_com + mass * (c @ c * np.eye(3) - np.outer(c, c))
    assert_allclose(total.about_origin, shifted, atol=1e-13)
    assert_allclose(total.about_com, about_com, atol=1e-13)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)
    turned = sum(sixd.point(k, turn @ p) for k, p in zip(masses, points, strict=True))
    assert_allclose(turned.about_origin, turn @ shifted @ turn.T, atol=1e-13)
    assert_allclose(total.rotated(turn).about_origin, turn @ shifted @ turn.T, atol=1e-13)

    x, y, z, xy = sp.symbols("x y z I_xy")
    moved = sixd.Inertia(m, (x, y, z), np.array([[I1, xy, 0], [xy, I2, 0], [0, 0, I]])).about_origin
    agrees([moved[0, 1], moved[0, 0]], [xy - m * x * y, I1 + m * y**2 + m * z**2])


def test_tube(rng):
    rho, L, d1, d2 = sp.symbols("rho L d1 d2", positive=True)
    tube = sixd.tube(d1 / 2, d2 / 2, L, density=rho)
    along = rho * sp.pi * L * (d2**4 - d1**4) / 32
    across = along / 2 + rho * sp.pi * L**3 * (d2**2 - d1**2) / 48
    agrees(tube.about_com.diagonal(), [across, across, along])
    full = sixd.cylinder(d2 / 2, L, density=rho)
    assert zero(sp.Matrix(tube.parameters).subs(d1, 0) - sp.Matrix(full.parameters))
    inner, outer, length = 0.3, 0.5, rng.uniform(0.5, 2.0)
    points, weights = cylinder_points(inner, outer, length)
    numeric = sixd.tube(inner, outer, length, density=7850)
    assert numeric.mass == pytest.approx(7850 * weights.sum(), rel=1e-13)
    assert_allclose(numeric.about_com, inertia_by_quadrature(points, weights, numeric.mass), rtol=1e-12, atol=1e-9)
    values = {rho: 7850, L: length, d1: 2 * inner, d2: 2 * outer}
    assert_allclose(numeric.about_com[2, 2], float(along.subs(values)), rtol=1e-13)


def test_barbell():
    """Exact numbers: every printed digit is right, and with the spheres elsewhere they are not."""
    rho, tenth = sp.Integer(7850), sp.Rational(1, 10)

    def barbell(at):
        bar = sixd.cylinder(tenth / 5, 2 * tenth, density=rho)
        ball = sixd.sphere(tenth, density=rho)
        whole = bar + ball.translated((0, 0, at)) + ball.translated((0, 0, -at))
        return [f"{sp.N(x, 20):.{d}f}" for x, d in zip([ball.mass, bar.mass, *whole.about_com.diagonal()[[2, 0]]], (7, 8, 9, 9), strict=True)]  # fmt: skip

    given = ["32.8820031", "1.97292019", "0.263450609", "2.900389966"]
    assert barbell(2 * tenth) == given
    assert barbell(3 * tenth)[:3] == given[:3]
    assert barbell(3 * tenth) != given


def test_moved_inertia(rng):
    body = sixd.Inertia(m, about_com=(1, 2, 3))
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    book = [2 + 13 * m, 0, 0, 0, 1 + 4 * m, -6 * m, 0, -6 * m, 3 + 9 * m]
    agrees(body.translated((3, 0, 2)).rotated(quarter).about_origin.ravel(), book)
    agrees(body.moved(sixd.placement(quarter @ (3, 0, 2), R=quarter)).about_origin.ravel(), book)
    other_order = body.rotated(quarter).translated((3, 0, 2)).about_origin.ravel()
    assert not zero(sp.Matrix(other_order) - sp.Matrix(book))
    # a real body: six points with these moments, m/6 each, seen from the point and rotated by hand
    mass = 12.0  # large enough that the moments about the centre are those of points
    arms = np.sqrt(np.array([2, 1, 0]) * 3 / mass)  # ∫x² = 2, ∫y² = 1, ∫z² = 0: moments 1, 2, 3
    points = [sign * arms[k] * np.eye(3)[k] + (3, 0, 2) for k in range(3) for sign in (-1, 1)]
    cloud = sum(sixd.point(mass / 6, quarter @ p) for p in points)
    assert_allclose(cloud.about_origin.ravel(), [float(sp.sympify(x).subs(m, mass)) for x in book], atol=1e-12)


def test_euler_angles(rng):
    builder = sixd.ModelBuilder("gimbals", gravity=(0, 0, 0))
    builder.add_body("outer", "world", sixd.Revolute("z"))
    builder.add_body("inner", "outer", sixd.Revolute("x"))
    builder.add_body("body", "inner", sixd.Revolute("z"), inertia=sixd.box(3, 2, 1, mass=1))
    model = builder.build()
    angles, rates = [q1, q3, q2], [qd1, qd3, qd2]
    book = [qd3 * c2 + qd1 * s2 * s3, -qd3 * s2 + qd1 * c2 * s3, qd2 + qd1 * c3]
    agrees(sixd.velocity(model, angles, rates, "body")[:3], book)
    R = sp.rot_axis3(-q1) * sp.rot_axis1(-q3) * sp.rot_axis3(-q2)
    assert zero(R - sp.Matrix(sixd.pose(model, angles, "body")[:3, :3]))
    hat = R.T * R.applyfunc(lambda x: rate(x, 3))
    agrees([hat[2, 1], hat[0, 2], hat[1, 0]], book)
    E = sp.Matrix(book).jacobian(QD)
    assert zero(E.det() ** 2 - s3**2)
    assert [E.subs(q3, place).rank() for place in (0, sp.pi, 1)] == [2, 2, 3]
    # the spin of a body is the same for any angles that describe it: energy from the inertia matrix
    q, qd = rng.uniform(-2, 2, (2, 3))
    w = sixd.velocity(model, q, qd, "body")[:3]
    assert sixd.energy(model, q, qd)[0] == pytest.approx(w @ sixd.box(3, 2, 1, mass=1).about_com @ w / 2, rel=1e-13)


# table E ----------------------------------------------------------------------------------------------


def test_6_5_two_joints_point_masses():
    """From DH rows, from the zoo, and from the positions of two points with SymPy alone."""
    M1, M2, V1, V2, g = sp.symbols("M1 M2 V1 V2 g", positive=True)
    rows = [
        {"alpha": 0, "a": 0, "d": 0, "theta": 0, "mass": M1, "com": (L1, 0, 0), "damping": V1},
        {"alpha": sp.pi / 2, "a": L1, "d": 0, "theta": 0, "mass": M2, "com": (L2, 0, 0), "damping": V2},
    ]
    reach = L1 + L2 * c2
    book = [
        (M1 * L1**2 + M2 * reach**2) * qdd1 - 2 * reach * M2 * L2 * s2 * qd1 * qd2 + V1 * qd1,
        M2 * L2**2 * qdd2 + reach * M2 * L2 * s2 * qd1**2 + M2 * g * L2 * c2 + V2 * qd2,
    ]
    model = sixd.from_dh(rows, gravity=(0, 0, -g), tool=(L2, 0, 0))
    agrees(sixd.equations(model).tau, book)
    agrees(sixd.equations(sixd.zoo.craig_arm(L1, L2, M1, M2, V1, V2, g)).tau, book)
    tips = [(L1 * c1, L1 * s1, 0), (reach * c1, reach * s1, L2 * s2)]
    T = sum(k * rate(sp.sympify(x), 2) ** 2 / 2 for k, p in zip((M1, M2), tips, strict=True) for x in p)
    free = euler_lagrange(T, M2 * g * L2 * s2, 2)
    agrees([x + V * v for x, V, v in zip(free, (V1, V2), QD[:2], strict=True)], book)
    assert zero(sixd.equations(model).pose("tool")[:3, 3] - sp.Matrix(tips[1]))
    values = {L1: 0.7, L2: 0.5, M1: 2.0, M2: 1.3, V1: 0, V2: 0, g: 9.81}
    tau = sixd.inverse_dynamics(model.substitute(values), *STATE)
    assert_allclose(tau, [1.9571737986, 5.3265318877], rtol=0, atol=5e-11)  # printed digits
    # standard DH rows describe another arm: the convention matters
    standard = sixd.from_dh(rows, gravity=(0, 0, -g), convention="standard")
    assert not zero(sixd.equations(standard).tau - sp.Matrix(book))


def test_6_7_planar_2r_point_masses():
    l1, l2, g = sp.symbols("l1 l2 g", positive=True)
    book = [
        m2 * l2**2 * (qdd1 + qdd2) + m2 * l1 * l2 * c2 * (2 * qdd1 + qdd2) + (m1 + m2) * l1**2 * qdd1
        - m2 * l1 * l2 * s2 * (qd2**2 + 2 * qd1 * qd2) + m2 * l2 * g * c12 + (m1 + m2) * l1 * g * c1,
        m2 * l1 * l2 * c2 * qdd1 + m2 * l1 * l2 * s2 * qd1**2 + m2 * l2 * g * c12 + m2 * l2**2 * (qdd1 + qdd2),
    ]  # fmt: skip
    arm = sixd.equations(sixd.zoo.point_arm(l1, l2, m1, m2, g))
    agrees(arm.tau, book)
    # the 2R arm of table D with its masses at the ends
    special = {r1: l1, L1: l1, r2: l2, I1: 0, I2: 0, a_g: g}
    agrees([sp.sympify(x).subs(special) for x in ARMS["2r"][2]], book)
    tau = sixd.inverse_dynamics(arm.substitute({l1: 0.7, l2: 0.5, m1: 2.0, m2: 1.3, g: 9.81}), *STATE)
    assert_allclose(tau, [21.9953282124, 2.0922366589], rtol=0, atol=5e-11)  # printed digits


def test_symmetric_velocity_terms():
    """For any functions m_kj(q): the sums are equal, the matrices are not; with Γ they give Lagrange's equations."""
    n = range(3)
    M = sp.Matrix(3, 3, lambda i, j: sp.Function(f"m{min(i, j) + 1}{max(i, j) + 1}")(*Q))
    qd = sp.Matrix(QD)
    for k in n:
        plain = sp.Matrix(3, 3, lambda i, j, k=k: M[k, j].diff(Q[i]))
        both = (plain + plain.T) / 2
        assert zero((qd.T * (plain - both) * qd)[0])
        assert not zero(plain - both)
        assert not zero((qd.T * (plain - 2 * both) * qd)[0])  # without the half
        christoffel = sp.Matrix(3, 3, lambda i, j, k=k, both=both: both[i, j] - M[i, j].diff(Q[k]) / 2)
        by_lagrange = euler_lagrange((qd.T * M * qd)[0] / 2, 0, 3)[k].subs(dict.fromkeys(QDD, 0))
        assert zero(by_lagrange - (qd.T * christoffel * qd)[0])
