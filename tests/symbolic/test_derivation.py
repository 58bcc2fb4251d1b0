"""Lagrange's equations step by step, b(q, q̇), limits of inputs, and constrained equations in symbols."""

import numpy as np
import pytest
import sympy as sp

import samples
import sixd
from sixd.symbolic import canonical

m1, m2, I1, I2, r1, r2, L1, g = sp.symbols("m1 m2 I1 I2 r1 r2 L1 g")
x, y, theta, xd, yd, thetad, m, I, a, c, F = sp.symbols("x y theta xd yd thetad m I a c F")


def vanishes(entries):
    return all(canonical(sp.together(sp.expand(e))) == 0 for e in entries)


def sleigh(**options):
    """Chaplygin's sleigh: a blade at (x, y), the centre of mass a distance a ahead."""
    q, qd = sp.Matrix([x, y, theta]), sp.Matrix([xd, yd, thetad])
    v = sp.Matrix([x + a * sp.cos(theta), y + a * sp.sin(theta)]).jacobian(q) * qd
    T = m * v.dot(v) / 2 + I * thetad**2 / 2
    blade = sp.sin(theta) * xd - sp.cos(theta) * yd
    return sixd.lagrange(T, m * g * (y + a * sp.sin(theta)), q, constraints=[blade], name="sleigh", **options)


def by_hand(steps):
    """The steps again, by SymPy's own derivatives."""
    system = steps.equations
    q, qd, qdd = (list(s) for s in (system.q, system.qd, system.qdd))
    momenta = [steps.L.diff(v) for v in qd]
    rates = [sum(p.diff(s) * v for s, v in zip(q + qd, qd + qdd, strict=True)) for p in momenta]
    return momenta, rates, [steps.L.diff(s) for s in q]


SYSTEMS = {
    "2R arm": lambda: sixd.equations(sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g)),
    "numbers": lambda: sixd.equations(sixd.zoo.two_link_arm()),
    "sleigh": sleigh,
    "moving frame": lambda: sixd.lagrange(m * ((xd - a * y) ** 2 + (yd + a * x) ** 2) / 2, c * x**2 / 2, [x, y]),
    "springs, damping, friction": lambda: sixd.lagrange(
        m * xd**2 / 2, a * x**2 / 2, [x], dissipation=F * sp.Abs(xd), b=[c * xd * sp.cos(x)]
    ),
}


@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_steps_by_sympy(make):
    steps = make().derivation()
    assert canonical(sp.expand(steps.L - steps.T + steps.V)) == 0
    for ours, theirs in zip((steps.dL_dqd, steps.ddt_dL_dqd, steps.dL_dq), by_hand(steps), strict=True):
        assert vanishes(ours - sp.Matrix(theirs))
    assert vanishes(steps.tau - (steps.ddt_dL_dqd - steps.dL_dq + steps.resistance))
    collected = steps.M * steps.equations.qdd + steps.C * steps.equations.qd + steps.g + steps.b
    assert vanishes(steps.tau - collected)


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_random_trees(seed):
    """τ of the steps is that of inverse dynamics, springs and damping included."""
    rng = np.random.default_rng(seed)
    builder = sixd.ModelBuilder("tree")
    kinds = (sixd.Revolute("z"), sixd.Prismatic("x"), sixd.Revolute("y"), sixd.Helical("z", pitch=0.2))
    for k in range(3):
        builder.add_body(
            f"b{k}",
            "world" if k == 0 else f"b{rng.integers(0, k)}",
            kinds[rng.integers(0, len(kinds))],
            placement=sixd.placement(rng.integers(-2, 3, 3) / 2),
            inertia=sixd.Inertia(1 + k, rng.integers(-2, 3, 3) / 4, (0.5, 0.6, 0.7)),
            damping=0.1 * k,
            stiffness=0.5,
        )
    model = builder.build()
    steps = sixd.equations(model).derivation()
    state = samples.rng_state(model, rng) if hasattr(samples, "rng_state") else [rng.normal(size=3) for _ in range(3)]
    symbols = [*steps.equations.q, *steps.equations.qd, *steps.equations.qdd]
    table = dict(zip(symbols, np.concatenate(state), strict=True))
    result = [(p - s + r).subs(table) for p, s, r in zip(steps.ddt_dL_dqd, steps.dL_dq, steps.resistance, strict=True)]
    np.testing.assert_allclose(
        np.array(result, dtype=float), sixd.inverse_dynamics(model, *state), rtol=1e-11, atol=1e-11
    )


def test_steps_as_text_and_latex():
    steps = SYSTEMS["2R arm"]().derivation()
    text = str(steps)
    for line in (
        "two_link_arm: d/dt ∂L/∂q̇ - ∂L/∂q = τ, L = T - V",
        "∂L/∂q₂ = -L₁ m₂ r₂ sin(q₂) (q̇₁² + q̇₁ q̇₂) - g m₂ r₂ cos(q₁ + q₂)",
        "Collected: M q̈ + C q̇ + g = τ",
        "M[1,2] = M[2,1] = I₂ + m₂ r₂ (L₁ cos(q₂) + r₂)",
    ):
        assert line in text
    assert r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}_{1}} &=" in steps.latex()
    assert r"\frac{\partial L}{\partial q_{2}} &= - L_{1} m_{2} r_{2} s_{2}" in steps.latex()
    assert steps._repr_markdown_() == steps.markdown()
    assert "Momenta:\n\n$$" in steps.markdown()
    assert repr(steps) == "<Derivation of 'two_link_arm': Lagrange's equations in 2 coordinates>"
    assert "Damping and friction\nb[1] = F sign(ẋ) + c cos(x) ẋ" in str(
        SYSTEMS["springs, damping, friction"]().derivation()
    )


def test_no_steps_in_quaternions():
    builder = sixd.ModelBuilder("ball")
    builder.add_body("body", "world", sixd.Spherical(), inertia=sixd.box(1, 2, 3, mass=1))
    with pytest.raises(sixd.ModelError, match="derivation: 'ball' has quaternions .* Use revolute joints"):
        sixd.equations(builder.build()).derivation()


# b(q, q̇) -------------------------------------------------------------------------------------------


def pendulum(**options):
    return sixd.lagrange(m * thetad**2 / 2, -m * g * sp.cos(theta), [theta], **options)


@pytest.mark.parametrize("b", [[c * thetad + F * sp.sign(thetad)], {theta: c * thetad + F * sp.sign(thetad)}])
def test_friction_forces_equal_rayleighs_function(b):
    by_forces, by_function = pendulum(b=b), pendulum(dissipation=c * thetad**2 / 2 + F * sp.Abs(thetad))
    assert vanishes(by_forces.tau - by_function.tau)
    assert by_forces.lossy == (True,)
    assert by_forces.conserved == {}
    numbers = {m: 1.0, g: 9.81, c: 0.2, F: 0.3}
    runs = [sixd.simulate(s.substitute(numbers), [1.0], [0.0], duration=1.0, dt=0.01) for s in (by_forces, by_function)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)


def test_forces_without_a_dissipation_function():
    """A force that depends on the other coordinate's velocity: no D has it; both kinds add up."""
    system = sixd.lagrange(m * (xd**2 + yd**2) / 2, 0, [x, y], b=[a * yd, 0], dissipation=c * xd**2 / 2)
    assert list(system.b) == [a * yd + c * xd, 0]
    assert system.lossy == (True, False)


def test_errors_of_forces():
    with pytest.raises(sixd.ShapeError, match="lagrange: b has 2 entries, expected 1"):
        pendulum(b=[1, 2])
    with pytest.raises(sixd.UnknownNameError, match="lagrange: b: .*phi"):
        pendulum(b={sp.Symbol("phi"): 1})
    with pytest.raises(sixd.ScalarTypeError, match="lagrange: b is 'x', expected"):
        pendulum(b="x")


# limits of inputs ----------------------------------------------------------------------------------


def test_box_of_inputs():
    """A thruster that rotates: the corners' hull lies in the box, and touches its faces."""
    f = sp.symbols("f", positive=True)
    T = sixd.point_forces((x * sp.cos(theta), x * sp.sin(theta)), (theta, x))
    system = sixd.lagrange(m * (xd**2 + x**2 * thetad**2) / 2, 0, [theta, x], inputs=T)
    result = system.input_range(-f, f)
    assert result.corners.shape == (2, 4)
    state = {theta: 0.4, x: 0.7, f: 3.0}
    low, high, corners = (np.array(e.subs(state), dtype=float) for e in result)
    np.testing.assert_allclose(corners.min(axis=1), low.ravel(), rtol=1e-14)
    np.testing.assert_allclose(corners.max(axis=1), high.ravel(), rtol=1e-14)


def test_box_of_inputs_equals_that_of_actuators():
    arm = sixd.zoo.rp_arm()
    jets = [sixd.Thruster("link2", axis, expressed_in="aligned", limits=(-1, 2)) for axis in np.eye(3)[:2]]
    low, high = sixd.Actuation(arm, jets).bounds([0.4, 0.7])
    T = sixd.point_forces((x * sp.cos(theta), x * sp.sin(theta)), (theta, x))
    system = sixd.lagrange(m * (xd**2 + x**2 * thetad**2) / 2, 0, [theta, x], inputs=T)
    result = system.input_range(-1, [2, 2])
    np.testing.assert_allclose(np.array(result.lower.subs({theta: 0.4, x: 0.7}), dtype=float).ravel(), low, atol=1e-14)
    np.testing.assert_allclose(np.array(result.upper.subs({theta: 0.4, x: 0.7}), dtype=float).ravel(), high, atol=1e-14)


def test_errors_of_limits():
    with pytest.raises(sixd.ShapeError, match="input_range: upper has 2 entries, expected 1"):
        pendulum().input_range(-1, [1, 2])
    with pytest.raises(sixd.ModelError, match="input 1 has the limits 2 and 1, expected lower ≤ upper"):
        pendulum().input_range(2, 1)


# constrained equations -----------------------------------------------------------------------------


@pytest.mark.long
def test_constrained_equations_of_the_sleigh():
    """(10.16), (10.17) and (10.20) hold for the accelerations and multipliers that are solved for."""
    system = sleigh()
    result, (qdd, lam) = system.constrained_equations(), system.constrained()
    assert system.A_rate == sp.Matrix([[thetad * sp.cos(theta), thetad * sp.sin(theta), 0]])
    table = dict(zip(system.qdd, qdd, strict=True)) | dict(zip(result.lam, lam, strict=True))
    on_rows = {xd: c * sp.cos(theta), yd: c * sp.sin(theta)}  # velocities that the blade allows
    names = (x, y, theta, thetad, m, I, a, c, g, *result.u)
    point = {s: sp.Rational(k + 3, k + 7) for k, s in enumerate(names)}
    for block in (result.motion, result.rows, result.projected):
        gaps = [(e.lhs - e.rhs).subs(table, simultaneous=True).subs(on_rows, simultaneous=True) for e in block]
        assert all(abs(e.subs(point).evalf(30)) < 1e-25 for e in gaps)
    for gap in (result.P * result.P - result.P, result.A * result.P):
        assert all(abs(e.subs(point).evalf(30)) < 1e-25 for e in gap)


def test_constrained_equations_as_text_and_latex():
    result = sleigh(b={theta: c * thetad}).constrained_equations()
    text = str(result)
    assert "A q̈ + Ȧ q̇ = ċ\nsin(θ) ẍ - cos(θ) ÿ + cos(θ) θ̇ ẋ + sin(θ) θ̇ ẏ = 0" in text
    assert "Ȧ[1,1] = cos(θ) θ̇" in text
    assert r"\lambda_{1}" in result.latex()
    assert result._repr_markdown_().startswith(r"$M \ddot q + C \dot q + g + b = u + A^T \lambda$")
    assert repr(result) == "<ConstrainedEquations of 'sleigh': 3 + 1 equations>"


def test_driven_constraints_have_a_rate():
    t = sp.Symbol("t")
    system = sixd.lagrange(m * (xd**2 + yd**2) / 2, 0, [x, y], constraints=[xd - sp.sin(t)])
    assert system.constrained_equations().rows[0].rhs == sp.cos(t)


def test_errors_of_constrained_equations():
    with pytest.raises(sixd.ModelError, match="constrained_equations: .* has no constraints"):
        pendulum().constrained_equations()
    with pytest.raises(sixd.ShapeError, match="constrained_equations: tau has 1 entries, expected 3"):
        sleigh().constrained_equations([1])


# long lines of LaTeX --------------------------------------------------------------------------------


def test_latex_is_broken_outside_of_brackets(monkeypatch):
    from sixd.symbolic.writing.latex_lines import aligned_latex, broken_latex, latex_width

    line = r"\left(a + b\right) \dot{q}_{1} - \frac{c + d}{e} + \left[\begin{matrix}x + y\\z\end{matrix}\right]"
    assert broken_latex(line, 1) == [
        r"\left(a + b\right) \dot{q}_{1}",
        r"- \frac{c + d}{e}",
        r"+ \left[\begin{matrix}x + y\\z\end{matrix}\right]",
    ]
    assert broken_latex(line, 100) == [line]
    assert latex_width(r"\dot{q}_{1} + \theta") == 4.5  # a letter, half of an index, a sign with its room, a letter
    assert aligned_latex([("y", line)]).count(r"\\") == 1  # that of the matrix
    monkeypatch.setattr("sixd.symbolic.equations.derivation.WIDEST", 20)  # too narrow for a matrix
    assert "M_{12} = M_{21} &= " in SYSTEMS["2R arm"]().derivation().latex()


def test_inputs_are_printed_as_the_book_does():
    """d/dt ∂L/∂q̇ - ∂L/∂q = T(q) f, in full; without inputs τ."""
    m, g, theta, r = sp.symbols("m g theta r")
    p = (r * sp.cos(theta), r * sp.sin(theta))
    energies = sixd.body_energy(m, p, (theta, r), gravity=(0, -g))
    thrust = sixd.lagrange(*energies, (theta, r), inputs=sixd.point_forces(p, (theta, r)), name="thrust")
    text = str(thrust.derivation())
    assert text.startswith("thrust: d/dt ∂L/∂q̇ - ∂L/∂q = T(q) f, L = T - V\n")
    assert "-f₁ r sin(θ) + f₂ r cos(θ) = m r² θ̈ + 2 m r ṙ θ̇ + g m r cos(θ)\n" in text
    assert "Collected: M q̈ + C q̇ + g = T(q) f\n" in text
    for shown in (text, str(thrust)):
        assert shown.endswith("T(q)[1,1] = -r sin(θ)\nT(q)[1,2] = r cos(θ)\nT(q)[2,1] = cos(θ)\nT(q)[2,2] = sin(θ)")
    assert str(thrust).startswith("thrust: M q̈ + C q̇ + g = T(q) f in θ, r\n")
    for latex in (thrust.latex(), thrust.markdown(), thrust.derivation().latex(), thrust.derivation().markdown()):
        assert r"T(q) " in latex
    assert r"M \ddot q + C \dot q + g = T(q) f" in thrust.markdown()
    assert (
        r"f_{1} \cos{\left(\theta \right)} + f_{2} \sin{\left(\theta \right)} &= m \ddot{r}"
        in thrust.derivation().latex()
    )
    cart = sixd.lagrange(*energies, (theta, r), inputs=[[0], [1]], name="cart")
    assert "\n0  = m r² θ̈ + 2 m r ṙ θ̇ + g m r cos(θ)\nf₁ = m r̈" in str(cart.derivation())
    assert "T(q)[1,1] = 0\nT(q)[2,1] = 1" in str(cart)
    plain = sixd.lagrange(*energies, (theta, r))
    assert "= τ" in str(plain)
    assert "T(q)" not in str(plain) + str(plain.derivation()) + plain.markdown()
