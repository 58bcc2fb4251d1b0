"""Implausible or wrong energies: names, signs, symbols that are not declared real, mistakes of beginners."""

import warnings

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import sixd
from sixd.symbolic.lagrange.plausibility import is_misspelt

m, l, g, c, F = sp.symbols("m l g c F")
theta, thetad, thetadd, x, xd = sp.symbols("theta thetad thetadd x xd")
T = m * l**2 * thetad**2 / 2
V = -m * g * l * sp.cos(theta)
SWING = l**2 * m * thetadd + g * l * m * sp.sin(theta)  # τ without friction


# real symbols -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"real": True}, {"positive": True}], ids=str)
def test_dry_friction(options):
    """|q̇| in Rayleigh's function is a force of constant size, however the symbols were declared; they keep their assumptions."""
    q, qd, friction = (sp.Symbol(n, **options) for n in ("theta", "thetad", "F"))
    system = sixd.lagrange(T.subs(thetad, qd), V.subs(theta, q), [q], dissipation=friction * sp.Abs(qd))
    wanted = SWING.subs(theta, q) + friction * (1 if options.get("positive") else sp.sign(qd))
    assert sp.expand(system.tau[0] - wanted) == 0
    assert list(system.q) == [q]


def test_dry_friction_in_numbers():
    system = sixd.lagrange(T, V, [theta], dissipation=F * sp.Abs(thetad)).substitute({m: 1, l: 1, g: 10, F: 0.5})
    tau = sixd.inverse_dynamics(system, [[0.0]] * 3, [[2.0], [0.0], [-2.0]], [[0.0]] * 3)
    np.testing.assert_array_equal(tau, [[0.5], [0.0], [-0.5]])


def test_dry_friction_of_functions_of_time():
    angle = dynamicsymbols("theta")
    rate = angle.diff()
    system = sixd.lagrange(m * l**2 * rate**2 / 2, 0, [angle], dissipation=F * sp.Abs(rate))
    assert system.b[0] == F * sp.sign(thetad)


@pytest.mark.parametrize(
    ("energy", "force"),
    [
        (sp.Abs(theta), sp.sign(theta)),
        (sp.Abs(theta) ** 2, 2 * theta),
        (sp.re(theta) * sp.conjugate(theta), 2 * theta),
        (sp.Max(theta, 0) ** 2, sp.Max(0, theta) * (sp.sign(theta) + 1)),
    ],
    ids=str,
)
def test_potential_energies_of_real_coordinates(energy, force):
    system = sixd.lagrange(T, c * energy, [theta])
    assert sp.expand(system.g[0] - c * force) == 0


def test_linear_equations_beside_dry_friction():
    """Off rest its derivative is zero; at rest it has none."""
    system = sixd.lagrange(T, 0, [theta], dissipation=F * sp.Abs(thetad))
    A, _ = system.linearize([0], [1])
    assert sp.Matrix([[0, 1], [0, 0]]) == A
    with pytest.raises(sixd.ModelError, match="jump in that state, as dry friction does at rest"):
        system.linearize([0])


# names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("theat", "theta"), ("tehta", "theta"), ("thta", "theta"), ("thata", "theta"), ("thetta", "theta"),
        ("heta", "theta"), ("thet", "theta"), ("thetaa", "theta"), ("theata", "theta"), ("phii", "phi"), ("pih", "phi"),
        ("tetad", "thetad"), ("thetda1", "thetad1"), ("thta_1", "theta_1"),
    ],
)  # fmt: skip
def test_misspelt_names(name, known):
    assert is_misspelt(name, known)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("l1", "q1"), ("g1", "q1"), ("m1", "m2"), ("x", "y"), ("xd", "x"), ("theta0", "theta"), ("theta_0", "theta"),
        ("theta3", "theta2"), ("theta", "theta1"), ("theta_r", "theta"), ("thetar", "theta"), ("thetad", "theta"),
        ("ktheta", "theta"), ("dtheta", "theta"), ("Theta", "theta"), ("psi", "phi"), ("zeta", "beta"), ("eta", "beta"),
        ("eta", "theta"), ("arc", "arm"), ("thetadot", "thetad"), ("alpha", "theta"),
    ],
)  # fmt: skip
def test_other_names(name, known):
    assert not is_misspelt(name, known)


def test_a_misspelt_coordinate_is_reported():
    theat, tetad = sp.symbols("theat tetad")
    with pytest.warns(sixd.ModelWarning, match=r"theat \(near theta\).*parameters=\[g, l, m, theat\]"):
        sixd.lagrange(T, -m * g * l * sp.cos(theat), [theta])
    with pytest.warns(sixd.ModelWarning, match=r"tetad \(near thetad\)"):
        sixd.lagrange(T, V, [theta], dissipation=c * thetad * tetad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sixd.lagrange(T, -m * g * l * sp.cos(theat), [theta], parameters=[g, l, m, theat])
        sixd.lagrange(T, c * (theta - sp.Symbol("theta0")) ** 2, [theta])


# signs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (-T - m * xd**2 / 2, "kinetic energy of thetad and of xd alone is negative"),
        (T - m * xd**2 / 2, "kinetic energy of xd alone is negative"),
        (T + m * xd**2 / 2 - 5 * m * l * xd * thetad, "kinetic energy of thetad, xd together is negative"),
    ],
    ids=str,
)
def test_negative_kinetic_energy_is_reported(energy, message):
    with pytest.warns(sixd.ModelWarning, match=message):
        sixd.lagrange(energy, V, [theta, x])


@pytest.mark.parametrize(
    "energy",
    [
        (sp.Symbol("I") - m * l**2) * thetad**2 / 2,  # positive for real bodies, not for all numbers
        -sp.Symbol("n", negative=True) * thetad**2 / 2,
        m * (l**2 * thetad**2 * sp.sin(theta) ** 2) / 2,  # zero somewhere
    ],
    ids=str,
)
def test_kinetic_energy_that_may_be_positive_is_not(energy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sixd.lagrange(energy, 0, [theta])


# mistakes -----------------------------------------------------------------------------------------

t = sp.Symbol("t")
angle = sp.Function("theta")(t)
T_t, V_t = m * l**2 * angle.diff(t) ** 2 / 2, -m * g * l * sp.cos(angle)

MISTAKES = {
    "a product with sign": (
        lambda: sixd.lagrange(T, V, [theta], dissipation=F * thetad * sp.sign(thetad)),
        r"contain DiracDelta\(thetad\), expected energies without jumps.*Write Abs\(x\) for x\*sign\(x\)",
    ),
    "a jump": (lambda: sixd.lagrange(T, c * sp.Heaviside(theta), [theta]), "expected energies without jumps"),
    "a kink in a constraint": (
        lambda: sixd.lagrange(T + m * xd**2 / 2, V, [theta, x], constraints=[x - sp.Abs(theta)]),
        r"the constraint x - Abs\(theta\) = 0 has a kink.*theta for Abs",
    ),
    "position for velocity": (
        lambda: sixd.lagrange(m * l**2 * theta**2 / 2, V, [theta]),
        "T has no square of thetad.*The velocity of theta is called thetad",
    ),
    "another name of the velocity": (
        lambda: sixd.lagrange(m * l**2 * sp.Symbol("theta_dot") ** 2 / 2, V, [theta]),
        r"T has no square of thetad.*Is theta_dot the velocity of theta\? Give qd=",
    ),
    "functions and symbols": (
        lambda: sixd.lagrange(T_t, V_t, [theta]),
        r"contain the function theta\(t\), and q the symbol theta.*Give q=\[theta\(t\)\]",
    ),
    "a function without t": (
        lambda: sixd.lagrange(T_t, V_t, [sp.Function("theta")]),
        r"coordinate theta is a function, expected one of time: theta\(t\)",
    ),
    "a name": (lambda: sixd.lagrange(T, V, ["theta"]), r"is a str, expected a SymPy symbol. Make it by sympy.Symbol\('theta'\)"),
    "exchanged energies": (lambda: sixd.lagrange(V, T, [theta]), "Are T and V exchanged"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    """Refused at once, with what to write."""
    make, message = MISTAKES[name]
    with pytest.raises(sixd.SixdError, match=message):
        make()
