"""Lagrange's equations: laws, SymPy's own mechanics module, systems in place of models, and bad input."""

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

import sixd
from sixd.symbolic.ring.normal_form import canonical

m, M, l, g, k, c, W = sp.symbols("m M l g k c Omega", positive=True)
x, theta, r, phi = sp.symbols("x theta r phi")
xd, thetad, rd, phid = sp.symbols("xd thetad rd phid")

# name: (T, V, q), with velocities by their usual names
SYSTEMS = {
    "pendulum": (m * l**2 * thetad**2 / 2, -m * g * l * sp.cos(theta), [theta]),
    "cart pole": (
        M * xd**2 / 2 + m * ((xd + l * sp.cos(theta) * thetad) ** 2 + (l * sp.sin(theta) * thetad) ** 2) / 2,
        -m * g * l * sp.cos(theta),
        [x, theta],
    ),
    "spring pendulum": (
        m * (rd**2 + r**2 * thetad**2) / 2,
        k * (r - l) ** 2 / 2 - m * g * r * sp.cos(theta),
        [r, theta],
    ),
    "spherical pendulum": (
        m * l**2 * (thetad**2 + sp.sin(theta) ** 2 * phid**2) / 2,
        m * g * l * sp.cos(theta),
        [theta, phi],
    ),
    "bead on a turning hoop": (
        m * l**2 * (thetad**2 + W**2 * sp.sin(theta) ** 2) / 2,
        m * g * l * sp.cos(theta),
        [theta],
    ),
    "charge in a field": (m * (xd**2 + rd**2) / 2 + k * (x * rd - r * xd) / 2, 0, [x, r]),
    "not polynomial": (m * xd**2 * (1 + sp.exp(-x)) / 2 + m * rd**2 / (2 * r), k / r + sp.sqrt(x), [x, r]),
}


def zero(expression):
    return canonical(sp.expand(expression)) == 0 or sp.simplify(expression) == 0


@pytest.fixture(params=SYSTEMS, ids=str)
def case(request):
    T, V, q = SYSTEMS[request.param]
    return sp.sympify(T), sp.sympify(V), sixd.lagrange(T, V, q, name=request.param)


def test_equations_are_euler_and_lagranges(case):
    """τ = d/dt ∂L/∂q̇ - ∂L/∂q, the total derivative written out."""
    T, V, system = case
    L = T - V
    for tau, q, qd in zip(system.tau, system.q, system.qd, strict=True):
        p = L.diff(qd)
        rate = sum(p.diff(a) * b for a, b in zip([*system.q, *system.qd], [*system.qd, *system.qdd], strict=True))
        assert zero(rate - L.diff(q) - tau)


def test_standard_form(case):
    """Ṁ - 2C is skew, C contracts Γ, Γ is symmetric in its last two, and h, tau are sums of the others."""
    _, _, system = case
    M, C, n = system.M, system.C, system.nv
    rate = M.applyfunc(lambda e: sum(e.diff(a) * b for a, b in zip(system.q, system.qd, strict=True)))
    assert all(zero(e) for e in rate - C - C.T)
    for i in range(n):
        for j in range(n):
            assert zero(C[i, j] - sum(system.Gamma[i, j, s] * system.qd[s] for s in range(n)))
            assert all(zero(system.Gamma[i, j, s] - system.Gamma[i, s, j]) for s in range(n))
    assert all(zero(e) for e in system.h - C * system.qd - system.g - system.b)
    assert all(zero(e) for e in system.tau - M * system.qdd - system.h)
    assert system.M.is_symmetric()


@pytest.mark.parametrize("name", ["cart pole", "spring pendulum", "spherical pendulum"])
def test_sympy_mechanics_agrees(name):
    T, V, q = SYSTEMS[name]
    ours = sixd.lagrange(T, V, q)
    moving = [dynamicsymbols(str(s)) for s in q]
    t = dynamicsymbols._t
    table = dict(zip(ours.q, moving, strict=True)) | {v: s.diff(t) for v, s in zip(ours.qd, moving, strict=True)}
    theirs = LagrangesMethod((T - V).xreplace(table), moving)
    forms = theirs.form_lagranges_equations()
    back = {s.diff(t, 2): a for s, a in zip(moving, ours.qdd, strict=True)}
    back |= {s.diff(t): v for s, v in zip(moving, ours.qd, strict=True)}
    for a, b in zip(forms, ours.tau, strict=True):
        assert zero(a.subs(back).subs(dict(zip(moving, ours.q, strict=True))) - b)


def test_functions_of_time():
    """Coordinates and energies in the manner of sympy.physics.mechanics."""
    q1, q2 = dynamicsymbols("q1 q2")
    t = dynamicsymbols._t
    system = sixd.lagrange(m * (q1.diff(t) ** 2 + q1**2 * q2.diff(t) ** 2) / 2, m * g * q1 * sp.sin(q2), [q1, q2])
    a1, a2, v1, v2, s1, s2 = sp.symbols("qdd1 qdd2 qd1 qd2 q1 q2")
    assert zero(system.tau[0] - (m * a1 - m * s1 * v2**2 + m * g * sp.sin(s2)))
    assert zero(system.tau[1] - (m * s1**2 * a2 + 2 * m * s1 * v1 * v2 + m * g * s1 * sp.cos(s2)))


def test_conserved():
    spherical = sixd.lagrange(*SYSTEMS["spherical pendulum"])
    assert zero(spherical.conserved[phi] - m * l**2 * sp.sin(theta) ** 2 * phid)
    assert set(spherical.conserved) == {phi, "energy"}
    hoop = sixd.lagrange(*SYSTEMS["bead on a turning hoop"])
    T0 = m * l**2 * W**2 * sp.sin(theta) ** 2 / 2
    assert zero(hoop.conserved["energy"] - (hoop.T - 2 * T0 + hoop.V))  # Jacobi's integral, not T + V
    damped = sixd.lagrange(*SYSTEMS["spherical pendulum"], dissipation=c * phid**2 / 2)
    assert damped.conserved == {}


def test_conserved_quantities_keep_still():
    """The rate of each along the motion without input is zero."""
    for name in ("spherical pendulum", "bead on a turning hoop", "charge in a field"):
        system = sixd.lagrange(*SYSTEMS[name])
        accelerations = system.M.LUsolve(-system.h)
        for quantity in system.conserved.values():
            rate = sum(quantity.diff(a) * b for a, b in zip(system.q, system.qd, strict=True))
            rate += sum(quantity.diff(a) * b for a, b in zip(system.qd, accelerations, strict=True))
            assert sp.simplify(rate) == 0


def test_dissipation_and_inputs():
    force = sp.Matrix([[1], [l * sp.cos(theta)]])
    system = sixd.lagrange(*SYSTEMS["cart pole"], dissipation=c * xd**2 / 2 + k * thetad**2 / 2, inputs=force)
    assert list(system.b) == [c * xd, k * thetad]
    assert system.input_matrix == force


NUMBERS = {m: 0.7, M: 1.9, l: 0.6, g: 9.81, k: 3.1, c: 0.2, W: 2.2}


@pytest.mark.many
def test_a_system_stands_for_a_model(case, rng):
    """Every function that needs no bodies: against the closed form, alone and in batches."""
    _, _, symbolic = case
    system = symbolic.substitute({s: NUMBERS[s] for s in symbolic.symbols})
    n = system.nv
    q, qd, tau = rng.uniform(0.3, 1.2, (3, 5, n))
    qdd = sixd.forward_dynamics(system, q, qd, tau)
    np.testing.assert_allclose(sixd.inverse_dynamics(system, q, qd, qdd), tau, atol=1e-11)
    for row in range(5):
        table = dict(zip([*system.q, *system.qd], [*q[row], *qd[row]], strict=True))
        exact = {name: np.array(getattr(system, name).xreplace(table), dtype=float) for name in ("M", "C", "g", "h")}
        np.testing.assert_allclose(sixd.mass_matrix(system, q[row]), exact["M"], rtol=1e-13)
        np.testing.assert_allclose(sixd.coriolis_matrix(system, q[row], qd[row]), exact["C"], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(sixd.gravity_force(system, q[row]), exact["g"].ravel(), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(sixd.bias_force(system, q[row], qd[row]), exact["h"].ravel(), rtol=1e-12, atol=1e-13)
        kinetic, potential = sixd.energy(system, q[row], qd[row])
        assert kinetic == pytest.approx(float(system.T.xreplace(table)), rel=1e-13)
        assert potential == pytest.approx(float(system.V.xreplace(table)), rel=1e-13)
    np.testing.assert_allclose(
        sixd.christoffel(system, q) @ qd[..., None, :, None],
        sixd.coriolis_matrix(system, q, qd)[..., None],
        rtol=1e-12,
        atol=1e-13,
    )
    np.testing.assert_allclose(
        sixd.inverse_mass_matrix(system, q) @ sixd.mass_matrix(system, q),
        np.broadcast_to(np.eye(n), (5, n, n)),
        atol=1e-12,
    )
    np.testing.assert_allclose(system.integrate(q, qd), q + qd)


def test_kernels_with_parameters(rng):
    system = sixd.lagrange(*SYSTEMS["pendulum"])
    kernel = sixd.compile(sixd.forward_dynamics, system, parameters=("l", "g", "m"))
    q, length = rng.uniform(-1, 1, (4, 1)), rng.uniform(0.5, 2, 4)
    got = kernel(q, np.zeros(1), np.zeros(1), length, 9.81, 1.0)
    np.testing.assert_allclose(got[:, 0], -9.81 / length * np.sin(q[:, 0]), rtol=1e-13)
    with pytest.raises(sixd.UnknownNameError, match="no parameter named 'gravity'"):
        sixd.compile(sixd.forward_dynamics, system, parameters=("gravity",))


def test_a_function_of_the_users_own(rng):
    system = sixd.lagrange(*SYSTEMS["pendulum"]).substitute({m: 1.0, l: 2.0, g: 9.81})

    def power(model, q, qd, tau):
        return qd @ sixd.forward_dynamics(model, q, qd, tau)

    q, qd, tau = rng.uniform(-1, 1, (3, 1))
    assert sixd.compile(power, system)(q, qd, tau) == pytest.approx(qd @ sixd.forward_dynamics(system, q, qd, tau))


def test_symbols_in_symbols_out():
    system = sixd.lagrange(*SYSTEMS["pendulum"])
    alpha, omega = sp.symbols("alpha omega")
    assert zero(
        sixd.inverse_dynamics(system, [theta], [omega], [alpha])[0] - (m * l**2 * alpha + m * g * l * sp.sin(theta))
    )
    with pytest.raises(sixd.ScalarTypeError, match="symbolic parameters g, l, m"):
        sixd.forward_dynamics(system, [0.1], [0.2], [0.3])


def test_singular_states_are_reported():
    system = sixd.lagrange(*SYSTEMS["spherical pendulum"]).substitute({m: 1.0, l: 2.0, g: 9.81})
    with pytest.raises(sixd.SingularError, match=r"singular in this configuration: there coordinates \['phi'\]"):
        sixd.forward_dynamics(system, [0.0, 0.0], [0.0, 0.0], [0.0, 1.0])


def test_linearize():
    """The pole upright on its cart: against the textbook, and against differences of forward dynamics."""
    system = sixd.lagrange(*SYSTEMS["cart pole"], inputs=[[1], [0]])
    A, B = system.linearize([0, sp.pi])
    assert sp.simplify(A[2, 1] - m * g / M) == 0
    assert sp.simplify(A[3, 1] - (M + m) * g / (M * l)) == 0
    assert sp.simplify(B[2, 0] - 1 / M) == 0
    numeric = system.substitute({s: NUMBERS[s] for s in system.symbols})
    q, qd, f = np.array([0.2, 0.5]), np.array([0.3, -0.4]), np.array([1.5])
    A, B = numeric.linearize(q, qd, f)
    assert A.shape == (4, 4)
    assert B.shape == (4, 1)
    T = np.array([1.0, 0.0])

    def derivative(dq, dqd, df, h=1e-6):
        def at(s):
            return sixd.forward_dynamics(numeric, q + s * dq, qd + s * dqd, T * (f + s * df))

        return (at(h) - at(-h)) / (2 * h)

    zeros = np.zeros(2)
    expected = (
        [derivative(e, zeros, 0) for e in np.eye(2)]
        + [derivative(zeros, e, 0) for e in np.eye(2)]
        + [derivative(zeros, zeros, 1)]
    )
    np.testing.assert_allclose(np.hstack([A, B])[2:], np.array(expected).T, atol=1e-7)  # central differences
    with pytest.raises(sixd.ShapeError, match="linearize: q has 1 entries, expected 2"):
        numeric.linearize([0.1])


BAD = {
    "quartic": (lambda: sixd.lagrange(m * thetad**4, 0, [theta]), "T is not quadratic in the velocities.*expected T ="),
    "root": (lambda: sixd.lagrange(sp.sqrt(1 - thetad**2), 0, [theta]), "T is not quadratic in the velocities"),
    "V of velocity": (lambda: sixd.lagrange(m * thetad**2, thetad * k, [theta]), "V depends on the velocity thetad"),
    "no energy": (lambda: sixd.lagrange(m * thetad**2, 0, [theta, x]), "T has no square of xd"),
    "dependent": (lambda: sixd.lagrange(m * (xd + thetad) ** 2, 0, [x, theta]), "are dependent: the mass matrix has rank 1 of 2"),
    "twice": (lambda: sixd.lagrange(m * thetad**2, 0, [theta, theta]), "expected each coordinate once"),
    "unknown": (lambda: sixd.lagrange(m * thetad**2 * k, 0, [theta], parameters=[m]), "unknown symbols k, expected coordinates"),
    "acceleration": (lambda: sixd.lagrange(m * thetad**2, sp.Symbol("thetadd"), [theta]), "unknown symbols thetadd"),
    "text": (lambda: sixd.lagrange("m *", 0, [theta]), "T is 'm \\*', expected a number or a SymPy expression"),
    "no list": (lambda: sixd.lagrange(m * thetad**2, 0, theta), "q is theta, expected a list of coordinates"),
    "no symbol": (lambda: sixd.lagrange(m * thetad**2, 0, [theta + 1]), "coordinate theta \\+ 1 is a Add"),
    "count": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], qd=[thetad, xd]), "qd has 2 entries, expected 1"),
    "speed": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], qd=[theta]), "expected a symbol of its own for each velocity"),
    "inputs": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], inputs=[[1], [2]]), "inputs has shape \\(2, 1\\), expected \\(1, m\\)"),
    "assumptions": (
        lambda: sixd.lagrange(m * sp.Symbol("thetad", real=True) ** 2, 0, [theta]),
        "with other assumptions",
    ),
    "empty constraint": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], constraints=[m - k]), "contains neither a coordinate"),
    "quadratic constraint": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], constraints=[thetad**2]), "not linear in the velocities"),
    "void constraint": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], constraints=[sp.sin(theta)**2 + sp.cos(theta)**2 - 1]), "does not restrict any motion"),
    "odd right side": (lambda: sixd.lagrange(m * thetad**2, 0, [theta], constraints=[thetad - theta]), "depends on theta, expected a function of the time"),
    "substitute": (lambda: sixd.lagrange(m * thetad**2, 0, [theta]).substitute({"mm": 1}), "no symbol named 'mm'"),
    "frames": (lambda: sixd.pose(sixd.lagrange(thetad**2, 0, [theta]), [0.1], "tool"), "without bodies and frames"),
    "no answer": (lambda: sixd.momentum(sixd.lagrange(thetad**2, 0, [theta]), [0.1], [0.1]), "defined by energies, without bodies"),
    "field": (lambda: sixd.lagrange(thetad**2, 0, [theta]).latex("Q"), "no field named 'Q'"),
    "language": (lambda: sixd.lagrange(thetad**2, 0, [theta]).code("java"), "no choice named 'java'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, message = BAD[name]
    with pytest.raises(sixd.SixdError, match=message):
        call()


# constraints ------------------------------------------------------------------------------------


def point(n=2):
    """A free point of mass m in n dimensions."""
    q, qd = sp.symbols(f"q1:{n + 1}"), sp.symbols(f"qd1:{n + 1}")
    return m * sum(v**2 for v in qd) / 2, q, qd


def test_constraints_in_symbols_and_by_kinds_agree(rng):
    """x² + y² = 1 and y = x², each written as an expression and by a constraint of the library."""
    T, q, _ = point()
    pairs = [
        (q[0] ** 2 + q[1] ** 2 - 1, sixd.Holonomic(lambda q: np.array([q[0] * q[0] + q[1] * q[1] - 1]))),
        (q[1] - q[0] ** 2, sixd.Coupling(("q2",), ("q1",), lambda y: y * y)),
    ]
    for expression, constraint in pairs:
        states = rng.uniform(0.3, 0.9, (3, 4, 2))
        results = []
        for c in (expression, constraint):
            system = sixd.lagrange(T, m * 9.81 * q[1], q, constraints=[c]).substitute({m: 2.0})
            results.append(sixd.constrained_dynamics(system, *states))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_equations_under_constraints_hold(rng):
    """M q̈ + h = τ + Aᵀλ and d²φ/dt² = 0, symbolically, for a point on an ellipsoid under gravity, where φ = 0."""
    T, q, qd = point(3)
    phi = q[0] ** 2 + 2 * q[1] ** 2 + 3 * q[2] ** 2 - 1
    system = sixd.lagrange(T, m * g * q[2], q, constraints=[phi])
    u = sp.Matrix(sp.symbols("u1:4"))
    qdd, lam = system.constrained()

    def vanishes(x):
        return zero(sp.rem(sp.fraction(sp.together(x))[0], phi, q[0]))

    assert all(vanishes(x) for x in system.M * qdd + system.h - u - system.A.T * lam)
    rate = sum(phi.diff(a) * b for a, b in zip(q, qd, strict=True))
    second = sum(rate.diff(a) * b for a, b in zip([*q, *qd], [*qd, *qdd], strict=True))
    assert vanishes(second)
    P, P_u = system.projections()
    assert all(vanishes(x) for x in P * P - P)
    assert all(vanishes(x) for x in system.A * P)
    assert P_u == P.T


def test_closed_forms_use_the_constraint():
    """On the unit sphere P = 1 - q qᵀ, λ has no denominator; on another P has its radius."""
    T, q, qd = point(3)
    p, v, u, R = sp.Matrix(q), sp.Matrix(qd), sp.Matrix(sp.symbols("u1:4")), sp.Symbol("R", positive=True)
    system = sixd.lagrange(T, 0, q, constraints=[p.dot(p) - 1])
    P = sp.eye(3) - p * p.T
    assert system.projections().P == P
    qdd, lam = system.constrained()
    assert zero(2 * lam[0] + p.dot(u) + m * v.dot(v))
    assert all(zero(x) for x in qdd - P * u / m + p * v.dot(v))
    assert all(zero(e.rhs - x) for e, x in zip(system.constrained_equations().projected, P * u / m, strict=True))
    assert sp.fraction(lam[0])[1].is_number
    other = sixd.lagrange(T, 0, q, constraints=[p.dot(p) - R**2]).projections().P
    assert all(zero(x) for x in other - sp.eye(3) + p * p.T / R**2)
    # a rod and a hinge: sines and cosines too; rows on velocities and other functions are left alone
    angle, rate = sp.symbols("a ad")
    hinge = sixd.lagrange(rate**2 / 2 + v.dot(v) / 2, 0, [*q, angle], qd=[*qd, rate], constraints=[
        q[0] - sp.cos(angle), q[1] - sp.sin(angle)
    ])  # fmt: skip
    assert hinge.projections().P[3, 3] == sp.Rational(1, 2)
    odd = sixd.lagrange(T, 0, q, constraints=[sp.exp(q[0]) - q[1] - 1]).projections().P
    assert zero(odd[0, 0] - 1 / (1 + sp.exp(2 * q[0])))


@pytest.mark.parametrize("assumptions", [{"positive": True}, {"nonnegative": True}, {"integer": True}, {"real": True}])
def test_velocities_are_real(assumptions):
    """A radius is positive, its rate is not: both roots of a speed are kept."""
    r, a = sp.Symbol("r", **assumptions), sp.Symbol("a", real=True)
    system = sixd.lagrange(*sixd.body_energy(m, (r * sp.cos(a), r * sp.sin(a)), (r, a)), (r, a))
    rd = system.qd[0]
    assert (rd.is_real, rd.is_positive, rd.is_integer) == (True, None, None)
    assert set(sp.solve(rd**2 - 4, rd)) == {-2, 2}
    assert sp.diag(m, m * r**2) == system.M
    (turning,) = sixd.angular_velocity(sp.rot_axis3(-r), [r]).free_symbols
    assert turning == rd


def test_velocities_in_a_users_own_energies_are_found():
    """Symbols without assumptions, and velocities that were declared with those of the coordinate."""
    for assumptions in ({}, {"positive": True}, {"real": True}):
        r, rd = sp.symbols("r rd", **assumptions)
        assert sixd.lagrange(m * rd**2 / 2, m * r, [r]).M[0] == m
        assert sixd.lagrange(m * rd**2 / 2, m * r, [r]).qd[0] == rd
    r, rd = sp.Symbol("r", positive=True), sp.Symbol("rd")
    with pytest.raises(sixd.ModelError, match="rd occurs as a coordinate or velocity and, with other assumptions"):
        sixd.lagrange(m * rd**2 / 2, m * r, [r])
    with pytest.raises(sixd.ModelError, match="position contains the velocity rd"):
        sixd.body_energy(m, (r + rd, 0), (r,))


def test_prescribed_rates():
    """A point dragged along at a speed that grows with time: A q̇ = b(t), so q̈ has db/dt in it."""
    T, q, qd = point()
    t = sp.Symbol("t")
    system = sixd.lagrange(T, 0, q, constraints=[qd[0] - sp.sin(3 * t)]).substitute({m: 2.0})
    qdd, lam = sixd.constrained_dynamics(system, [0.1, 0.2], [0.0, 0.5], [0.0, 1.0], t=0.4)
    np.testing.assert_allclose(qdd, [3 * np.cos(1.2), 0.5], rtol=1e-13)
    assert lam[0] == pytest.approx(2 * 3 * np.cos(1.2))


def test_elimination():
    """A bead on a parabola: solved for y, by the map itself, and as a constrained point."""
    T, (x1, y1), (v1, v2) = point()
    system = sixd.lagrange(T, m * g * y1, [x1, y1], constraints=[y1 - x1**2])
    solved = system.eliminate()
    s = sp.Symbol("s")
    mapped = system.eliminate({x1: s, y1: s**2}, new=[s])
    assert zero(solved.M[0] - m * (1 + 4 * x1**2))
    assert zero(
        solved.tau[0].subs(dict(zip([*solved.q, *solved.qd, *solved.qdd], sp.symbols("s sd sdd"), strict=True)))
        - mapped.tau[0]
    )
    numbers = {m: 1.3, g: 9.81}
    free, bound = solved.substitute(numbers), system.substitute(numbers)
    qdd, _ = sixd.constrained_dynamics(bound, [0.4, 0.16], [0.7, 0.56], [0.0, 0.0])
    np.testing.assert_allclose(sixd.forward_dynamics(free, [0.4], [0.7], [0.0])[0], qdd[0], rtol=1e-12)
    knife = sixd.lagrange(T, 0, [x1, y1], constraints=[x1 * v1 + y1 * v2])
    with pytest.raises(sixd.ModelError, match=r"not known to be holonomic.*is_holonomic"):
        knife.eliminate()
    with pytest.raises(sixd.ModelError, match="has dissipation or quaternions"):
        sixd.lagrange(T, 0, [x1, y1], dissipation=v1**2, constraints=[y1 - x1]).eliminate()


def test_redundant_constraints_in_numbers(rng):
    """The same constraint twice: the same motion, the multiplier shared."""
    T, q, _ = point()
    phi = q[0] ** 2 + q[1] ** 2 - 1
    once, twice = (sixd.lagrange(T, 0, q, constraints=[phi] * n).substitute({m: 2.0}) for n in (1, 2))
    angle, speed = rng.uniform(-3, 3, (2, 5))
    states = np.stack([np.cos(angle), np.sin(angle)], 1), np.stack([-np.sin(angle), np.cos(angle)], 1) * speed[:, None]
    force = rng.uniform(-1, 1, (5, 2))
    (a, one), (b, two) = (sixd.constrained_dynamics(s, *states, force) for s in (once, twice))
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(two, np.repeat(one / 2, 2, axis=1), rtol=1e-11, atol=1e-12)
    assert sixd.mobility(twice).redundant == 1
