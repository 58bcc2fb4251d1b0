"""Elimination to independent coordinates: constraints solved, energies in the new coordinates."""

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.symbolic.arguments import velocities, with_dots
from sixd.symbolic.echelon import is_zero
from sixd.symbolic.elimination.eliminate import eliminate, solve_for

x, y, z, theta, phi, R, L, a, m, g = sp.symbols("x y z theta phi R L a m g")
xd, yd, thetad, phid = sp.symbols("xd yd thetad phid")
q1, q2, q3 = sp.symbols("q1:4")
s, c = sp.sin, sp.cos


def residual(equations, solution, values):
    """Largest of the constraints at the solution, by numbers."""
    point = {k: sp.Float(v, 30) for k, v in values.items()}
    table = {k: e.xreplace(point).evalf(30) for k, e in solution.items()}
    return max(abs(complex(e.xreplace({**point, **table}).evalf(30))) for e in equations)


# ---------------------------------------------------------------------------- constraints on positions


def test_linear_coordinates_come_first():
    assert solve_for(y - a * x**2, [x, y]) == {y: a * x**2}
    assert solve_for(x - a * y**2, [x, y]) == {x: a * y**2}
    assert solve_for([x - L * c(theta), y - L * s(theta)], [x, y, theta]) == {x: L * c(theta), y: L * s(theta)}


def test_systems_are_solved_in_the_independent_coordinates():
    assert solve_for([x + y + z - 1, x - y], [x, y, z]) == {y: x, z: 1 - 2 * x}
    assert solve_for([sp.Eq(z, x * y), sp.Eq(y, a * x)], [x, y, z]) == {y: a * x, z: a * x**2}
    assert solve_for([], [x, y]) == {}


def test_redundant_constraints_are_ignored():
    assert solve_for([x + y - 1, 2 * x + 2 * y - 2], [x, y]) == {y: 1 - x}


@pytest.mark.parametrize(("at", "sign"), [(0.9, 1), (-0.9, -1)])
def test_a_point_selects_the_branch(at, sign):
    circle = x**2 + y**2 - R**2
    assert solve_for(circle, [x, y], near={x: 0.3, y: at, R: 1}) == {y: sign * sp.sqrt(R**2 - x**2)}
    assert solve_for(circle, [x, y], x, near={x: at, y: 0.3, R: 1}) == {x: sign * sp.sqrt(R**2 - y**2)}


def test_angles_are_solved_by_arcs():
    near = {x: 0.4, theta: 0.5, L: 1, a: 0.3}
    rod = L * c(theta) + a * s(theta) - x
    solution = solve_for(rod, [x, theta], theta, near=near)
    assert residual([rod], solution, {k: near[k] for k in (x, L, a)}) < 1e-25
    assert solve_for(y - L * s(theta), [y, theta], theta, near={y: 0.1, L: 1, theta: 3}) == {
        theta: sp.pi - sp.asin(y / L)
    }


def test_two_spheres_at_once():
    spheres = [(x - a) ** 2 + y**2 - R**2, (x + a) ** 2 + y**2 - L**2]
    solution = solve_for(spheres, [x, y], near={x: 0.1, y: 1, a: 0.5, R: 1, L: 1.2})
    assert residual(spheres, solution, {a: 0.5, R: 1, L: 1.2}) < 1e-25
    assert solution[y].subs({a: 0.5, R: 1, L: 1.2}) > 0


def test_dead_ends_among_the_branches_are_dropped():
    """x = -1 would divide by zero: only x = 1 is left."""
    assert solve_for([x**2 - 1, (x + 1) * y - 2], [x, y]) == {x: 1, y: 1}


FOUR_BAR = [c(q1) + 3 * c(q2) - 2 * c(q3) - R, s(q1) + 3 * s(q2) - 2 * s(q3)]
UNSOLVED = [
    ((x**2 + y**2 - R**2, [x, y]), {}, "there are 2 branches: .*sqrt.*Give near="),
    ((x**2 + y**2 - R**2, [x, y]), {"near": {x: 0.1, y: 1}}, "near has no value for R"),
    (([x + y - 1, x + y - 2], [x, y]), {}, "contradict each other: they lead to -1 = 0"),
    ((R - 1, [x, y]), {}, "has no coordinate"),
    ((sp.exp(x) + x + y * s(x) * sp.exp(y) - y**2 - c(y), [x, y]), {}, "no closed form was found for"),
    ((FOUR_BAR, [q1, q2, q3], [q2, q3]), {}, r"no closed form was found for \['q2', 'q3'\].*give the map yourself"),
    ((FOUR_BAR, [q1, q2, q3]), {}, "no closed form was found .*or keep the constraints"),
    ((x - y, [x, y], [x, y]), {}, "dependent has 2 coordinates, expected 1"),
    ((x - y, [x, y], z), {}, "no coordinate named 'z'"),
]


@pytest.mark.parametrize(("arguments", "options", "message"), UNSOLVED, ids=lambda v: str(v)[:30])
def test_unsolved_constraints_raise(arguments, options, message):
    with pytest.raises(sixd.ModelError, match=message) as caught:
        solve_for(*arguments, **options)
    assert str(caught.value).startswith("solve_for: ")


def test_wrong_types_raise():
    with pytest.raises(sixd.ScalarTypeError, match="phi is 'x', expected a number or a SymPy expression"):
        solve_for(["x"], [x])
    with pytest.raises(sixd.ScalarTypeError, match="near is 3, expected a mapping"):
        solve_for(x**2 - R, [x], near=3)
    with pytest.raises(sixd.ScalarTypeError, match="phi is 'x', expected a list"):
        solve_for("x", [x])


# ---------------------------------------------------------------------------- energies


def energies():
    return m * (xd**2 + yd**2) / 2, m * g * y


def test_a_point_on_a_circle_by_its_angle():
    """Table D: x² + y² = R² removes a coordinate; a map in a new one gives the pendulum."""
    T, V = energies()
    circle = {x: R * c(phi), y: R * s(phi)}
    free = eliminate(T, V, [x, y], x**2 + y**2 - R**2, explicit=circle, new=[phi])
    assert (free.q, free.qd, free.map) == ((phi,), (phid,), circle)
    assert m * R**2 * phid**2 / 2 == free.T
    assert m * g * R * s(phi) == free.V
    assert sp.Matrix([-R * s(phi), R * c(phi)]) == free.G
    pendulum = sixd.lagrange(free.T, free.V, free.q, qd=free.qd)
    assert is_zero(pendulum.M[0] - m * R**2)
    assert is_zero(pendulum.g[0] - m * g * R * c(phi))


def test_a_point_on_a_circle_with_y_eliminated():
    """Both descriptions have the same energy at the same state, by numbers."""
    T, V = energies()
    free = eliminate(T, V, [x, y], x**2 + y**2 - R**2, dependent=y, near={x: 0, y: -1, R: 1})
    assert (free.q, free.qd) == ((x,), (xd,))
    assert is_zero(free.T - m * R**2 * xd**2 / (2 * (R**2 - x**2)))
    angle, rate, numbers = -1.1, 0.7, {m: 2.0, R: 1.3, g: 9.81}
    state = {x: 1.3 * np.cos(angle), xd: -1.3 * np.sin(angle) * rate}
    assert abs(float(free.T.subs({**numbers, **state})) - 2 * 1.3**2 * rate**2 / 2) < 1e-12
    assert abs(float(free.V.subs({**numbers, **state})) - 2 * 9.81 * 1.3 * np.sin(angle)) < 1e-12


def test_equations_agree_with_multipliers(rng):
    """A bead on the wire y = a x²: eliminated, and with the constraint's force, give one acceleration."""
    T, V = energies()
    free = eliminate(T, V, [x, y], y - a * x**2)
    free = sixd.lagrange(free.T, free.V, free.q, qd=free.qd).substitute({m: 1.5, g: 9.81, a: 0.4})
    bound = sixd.lagrange(T, V, [x, y], constraints=[y - a * x**2]).substitute({m: 1.5, g: 9.81, a: 0.4})
    px, vx, u = rng.uniform(-1, 1, 3)
    state = ([px, 0.4 * px**2], [vx, 0.8 * px * vx], [u, 0.0])
    qdd, _ = sixd.constrained_dynamics(bound, *state)
    assert abs(sixd.forward_dynamics(free, [px], [vx], [u])[0] - qdd[0]) < 1e-12


def test_coordinates_that_are_functions_of_time():
    t = sp.Symbol("t")
    X, Y = sp.Function("x")(t), sp.Function("y")(t)
    free = eliminate(m * (X.diff(t) ** 2 + Y.diff(t) ** 2) / 2, m * g * Y, [X, Y], Y - a * X)
    assert free.qd == (X.diff(t),)
    assert is_zero(free.T - m * (1 + a**2) * X.diff(t) ** 2 / 2)
    assert m * g * a * X == free.V


def test_names_of_velocities():
    """One rule for all: that of ``sixd.lagrange``."""
    names = {"q1": "qd1", "theta": "thetad", "x_2": "xd_2", "alpha12": "alphad12", "x": "xd"}
    assert {n: with_dots(n) for n in names} == names
    q = [sp.Symbol(n) for n in names]
    T = sum(v**2 for v in velocities("test", q, None))
    assert list(sixd.lagrange(T, 0, q).qd) == list(velocities("test", q, None))


WRONG_MAPS = [
    (
        {"explicit": {x: R * c(phi), y: 2 * R * s(phi)}, "new": [phi]},
        r"leaves 3\*R\*\*2\*sin\(phi\)\*\*2 of the constraint .*expected 0",
    ),
    ({"explicit": {x: R * c(phi)}, "new": [phi]}, "y is neither in explicit nor in new"),
    ({"explicit": {x: R * c(phi), y: x}, "new": [phi]}, "the expression for y is x, expected one in the new"),
    ({"explicit": {x: R * c(phi), y: phi}, "new": [x]}, "new contains x, which explicit replaces"),
    ({"explicit": {z: phi}, "new": [phi]}, "no coordinate named 'z'"),
    ({"new": [phi]}, "new is passed without explicit"),
    ({}, "there are 2 branches"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_MAPS, ids=lambda v: str(v)[:30])
def test_wrong_maps_raise(options, message):
    with pytest.raises(sixd.ModelError, match=message):
        eliminate(*energies(), [x, y], x**2 + y**2 - R**2, **options)
    with pytest.raises(sixd.ScalarTypeError, match="explicit is 3, expected a mapping"):
        eliminate(*energies(), [x, y], explicit=3)


def test_errors_name_the_function_that_was_called():
    """Methods of equations report as ``eliminate``, not as what they call."""
    m, R, xd, yd = sp.symbols("m R xd yd")
    circle = sixd.lagrange(m * (xd**2 + yd**2) / 2, 0, [x, y], constraints=[x**2 + y**2 - R**2])
    for options, message in (
        ({}, "^eliminate: there are 2 branches"),
        ({"near": {x: 0}}, "^eliminate: near has no value for"),
        ({"near": 3}, "^eliminate: near is 3"),
        ({"dependent": [x, y], "near": {x: 1, y: 1, R: 1}}, "^eliminate: "),
        ({"dependent": [R]}, "^eliminate: dependent: no coordinate named 'R'"),
    ):
        with pytest.raises(sixd.SixdError, match=message):
            circle.eliminate(**options)
    with pytest.raises(sixd.ModelError, match="^solve_for: there are 2 branches"):
        solve_for(x**2 + y**2 - R**2, [x, y])
