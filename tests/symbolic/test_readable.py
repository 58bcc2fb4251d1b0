"""Readable expressions: what a textbook prints, the same function as the ring element, in few operations."""

import dataclasses
from functools import cache

import numpy as np
import pytest
import sympy as sp

import robots
import sixd
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import gravity_force
from sixd.model.numbers import map_numbers
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.latex import latex
from sixd.symbolic.writing.readable import readable

q1, q2, q3, q4 = Q = sp.symbols("q1:5")
U = sp.symbols("u1:5")
W = sp.symbols("w1:5")
sin, cos = sp.sin, sp.cos
m1, m2, I1, I2, I3, r1, r2, L1, L2, g = sp.symbols("m1 m2 I1 I2 I3 r1 r2 L1 L2 g")


def rebuilt(e):
    return e.func(*map(rebuilt, e.args)) if e.args else e


def snapped(model):
    """The model with rotations within 1e-9 of quarter turns made exact."""
    placement = np.array(model.placement)
    near = np.round(placement[:, :3, :3])
    placement[:, :3, :3] = np.where(np.abs(placement[:, :3, :3] - near) < 1e-9, near, placement[:, :3, :3])
    return dataclasses.replace(model, placement=placement)


def in_ring(model):
    """(ring, q, model) with ring elements for the model's numbers and coordinates."""
    ring = Ring()
    q = np.array([ring.symbol(s) for s in sp.symbols(f"q1:{model.nq + 1}")], dtype=object)

    def change(v):
        keep = isinstance(v, bool) or (not hasattr(v, "free_symbols") and not np.isfinite(v))
        return v if keep else ring.convert(v)

    return ring, q, map_numbers(model, change)


def dynamics(model, parallel=()):
    """M and g of a small model, readable."""
    ring, q, numbers = in_ring(model)

    def show(p):
        return readable(ring.convert(p), parallel)

    return [[show(p) for p in row] for row in crba(numbers, q)], [show(p) for p in gravity_force(numbers, q)]


# what textbooks print -------------------------------------------------------------------------------------


def test_two_link_arm():
    """Spong, Hutchinson, Vidyasagar 7.3.2, with the potential's coefficient a_g."""
    arm = sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g)
    M, force = dynamics(arm, [(q1, q2)])
    assert M[0][0] == I1 + I2 + m1 * r1**2 + m2 * (L1**2 + 2 * L1 * r2 * cos(q2) + r2**2)
    assert M[0][1] == M[1][0] == I2 + m2 * r2 * (L1 * cos(q2) + r2)
    assert M[1][1] == I2 + m2 * r2**2
    assert force[0] == g * ((L1 * m2 + m1 * r1) * cos(q1) + m2 * r2 * cos(q1 + q2))
    assert force[1] == g * m2 * r2 * cos(q1 + q2)
    h, equations = L1 * m2 * r2 * sin(q2), sixd.equations(arm)
    tau, U, W = equations.tau, equations.qd, equations.qdd
    assert tau[0] == W[0] * M[0][0] + W[1] * M[0][1] - (2 * U[0] * U[1] + U[1] ** 2) * h + force[0]
    assert tau[1] == W[0] * M[0][1] + W[1] * M[1][1] + U[0] ** 2 * h + force[1]


def test_spinning_top():
    builder = sixd.ModelBuilder("top", (0, 0, -g))
    builder.add_body("precession", "world", sixd.Revolute("z"))
    builder.add_body("nutation", "precession", sixd.Revolute("y"))
    builder.add_body("top", "nutation", sixd.Revolute("z"), inertia=sixd.Inertia(m1, (0, 0, r1), (I1, I1, I3)))
    M, force = dynamics(builder.build())
    assert M[0][0] == (I1 + m1 * r1**2) * sin(q2) ** 2 + I3 * cos(q2) ** 2
    assert M[0][2] == I3 * cos(q2)
    assert force == [0, -g * m1 * r1 * sin(q2), 0]


def test_euler_angles():
    """The body of Choset's problems 9 and 10, R = Rz(q1) Rx(q3) Rz(q2): products, not double angles."""
    T, V = sixd.body_energy(m1, (0, 0, 0), (q1, q2, q3), euler=("ZXZ", (q1, q3, q2)), inertia=(I1, I2, I3))
    M = sixd.lagrange(T, V, (q1, q2, q3)).M
    assert M[0, 0] == (I1 * sin(q2) ** 2 + I2 * cos(q2) ** 2) * sin(q3) ** 2 + I3 * cos(q3) ** 2
    assert M[0, 1] == I3 * cos(q3)
    assert M[0, 2] == (I1 - I2) * sin(q2) * sin(q3) * cos(q2)
    assert M[2, 2] == I1 * cos(q2) ** 2 + I2 * sin(q2) ** 2


def test_perfect_squares():
    """Craig 6.5: the radius of the second mass appears squared."""
    M, _ = dynamics(sixd.zoo.craig_arm(L1, L2, m1, m2, 0, 0, g))
    assert M[0][0] == L1**2 * m1 + m2 * (L1 + L2 * cos(q2)) ** 2


def test_rounded_fractions_are_recognised():
    """Unit rods in floats: 1/12 + 1/4 and so on come out as in exact arithmetic."""
    M, _ = dynamics(sixd.zoo.planar(3), [(q1, q2, q3)])
    assert M[0][0] == 3 * cos(q2) + cos(q3) + cos(q2 + q3) + 4
    assert M[2][2] == sp.Rational(1, 3)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (m1 * cos(q1) * cos(q2) - m1 * sin(q1) * sin(q2), m1 * cos(q1 + q2)),
        (sin(q1 - q2) * m1, m1 * sin(q1 - q2)),
        (sin(q2) * cos(q1), sin(q2) * cos(q1)),
        (I1 - I1 * cos(q1) ** 2 + I3 * cos(q1) ** 2, I1 * sin(q1) ** 2 + I3 * cos(q1) ** 2),
        (I1 - I1 * cos(q3) ** 2, I1 * sin(q3) ** 2),
        (m1 * r1 + m1 * r2 + m2 * r1 + m2 * r2, (m1 + m2) * (r1 + r2)),
        (m1 * r1 - m1 * r2 - m2 * r1 + m2 * r2, (m1 - m2) * (r1 - r2)),
        (2 * m1 + 2 * m2, 2 * m1 + 2 * m2),
        (m1 * r1 / 2 + m1 * r2 / 3, m1 * (r1 / 2 + r2 / 3)),
        (0.3 * m1 * r1 + 0.3 * m1 * r2, 0.3 * m1 * (r1 + r2)),
        (0.3 * m1 * r1 + 0.7 * m1 * r2, m1 * (0.3 * r1 + 0.7 * r2)),
        (-m1 * r1 - m1 * r2, -m1 * (r1 + r2)),
        (m1 * r1**2 + 2 * m1 * r1 * r2 + m1 * r2**2, m1 * (r1 + r2) ** 2),
        (sp.Integer(3), sp.Integer(3)),
        (sp.Integer(0), sp.Integer(0)),
        (m1 / (r1 + r2) + m2 / (r1 + r2), (m1 + m2) / (r1 + r2)),
        (sp.sqrt(2) * m1 + sp.sqrt(2) * m2 * r1, sp.sqrt(2) * (m1 + m2 * r1)),
    ],
    ids=str,
)
def test_short_forms(source, expected):
    """q1 and q2 are parallel, q3 is not."""
    assert readable(Ring().convert(source), [(q1, q2)]) == expected


def test_only_parallel_angles_are_added():
    poly = Ring().convert(sp.expand_trig(cos(q1 + q2)) * m1 + m2)
    assert readable(poly, [(q1, q2)]) == m1 * cos(q1 + q2) + m2
    assert readable(poly, [(q1, q3)]) == readable(poly)
    assert not readable(poly).has(cos(q1 + q2))


def test_collected_by_accelerations_then_velocities():
    u1, u2 = U[:2]
    system = sixd.lagrange(
        (m1 + m2 * cos(q2)) * (u1**2 + u2**2) / 2,
        -g * (m1 + m2) * cos(q1),
        [q1, q2],
        qd=[u1, u2],
        parameters=[m1, m2, g],
    )
    w1, s = system.qdd[0], sin(q2)
    assert system.tau[0] == w1 * (m1 + m2 * cos(q2)) - u1 * u2 * m2 * s + g * (m1 + m2) * sin(q1)


# laws -----------------------------------------------------------------------------------------------------


def random_element(ring, rng, terms):
    total = ring.zero
    angles = [ring.symbol(q) for q in Q]
    symbols = [ring.symbol(s) for s in (m1, m2, *U[:2])]
    for _ in range(terms):
        product = ring.convert(int(rng.integers(-3, 4))) if rng.random() < 0.7 else ring.convert(round(rng.normal(), 3))
        for q in angles:
            product = product * (q.cos(), q.sin(), q.cos() ** 2, 1, 1)[rng.integers(0, 5)]
        for s in symbols:
            product = product * s ** int(rng.integers(0, 2))
        total = total + product
    return total


@pytest.mark.many
@pytest.mark.parametrize("seed", range(8))
def test_the_same_function_in_no_more_operations(seed):
    rng = np.random.default_rng(seed)
    ring = Ring()
    p = random_element(ring, rng, terms=int(rng.integers(2, 40)))
    expanded = p.to_sympy()
    symbols = sorted(expanded.free_symbols, key=str)
    point = rng.uniform(-1.5, 1.5, len(symbols))
    for parallel in ((), [(q1, q2, q3)], [(q1, q3), (q2, q4)]):
        e = readable(p, parallel)
        assert sp.count_ops(e) <= sp.count_ops(expanded)
        assert rebuilt(e) == e  # SymPy leaves it as it is
        values = [float(sp.lambdify(symbols, f, "math")(*point)) for f in (e, expanded)]
        assert values[0] == pytest.approx(values[1], rel=1e-11, abs=1e-11)  # up to 100 terms of size 10
        # back in the ring it is the same element, up to the rounding of floats into the expression
        left = ring.convert(e) - p
        assert max((abs(v / left.den) for v in left.terms.values()), default=0) < 1e-13


def test_the_order_of_terms_does_not_matter():
    ring = Ring()
    p = random_element(ring, np.random.default_rng(1), terms=30)
    backwards = sum((ring.convert(t) for t in reversed(p.to_sympy(exact=True).args)), ring.zero)
    assert backwards == p
    assert readable(backwards, [(q1, q2)]) == readable(p, [(q1, q2)])


@cache
def arm(name):
    return snapped({"ur5": lambda: robots.quiet_load(robots.FIVE["ur5"]), "puma": sixd.zoo.puma560}[name]())


@pytest.mark.parametrize(("name", "parallel"), [("ur5", (1, 2, 3)), ("puma", (1, 2))])
def test_mass_matrix_of_an_industrial_arm(name, parallel, rng):
    """Numbers of the compiled function; a small part of the operations of the expanded form."""
    model = arm(name)
    ring, q, numbers = in_ring(model)
    symbols = sp.symbols("q1:7")
    M = [ring.convert(p) for p in crba(numbers, q)[np.triu_indices(6)]]
    short = [readable(p, [[symbols[k] for k in parallel]]) for p in M]
    values = sp.lambdify(symbols, short, "math")
    for _ in range(3):
        q0 = rng.uniform(-3, 3, 6)
        assert np.allclose(values(*q0), sixd.mass_matrix(model, q0)[np.triu_indices(6)], rtol=0, atol=1e-12)
    assert sum(map(sp.count_ops, short)) < sum(sp.count_ops(p.to_sympy()) for p in M) / 3


# LaTeX ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (sin(q1 + q2), "s_{12}"),
        (cos(q2), "c_{2}"),
        (cos(q2) ** 2, "c_{2}^{2}"),
        (sin(2 * q1), r"\sin{\left(2 q_{1} \right)}"),
        (sin(q1 - q2), "s_{1-2}"),
        (sin(r1), r"\sin{\left(r_{1} \right)}"),
        (sp.tan(q1), r"\tan{\left(q_{1} \right)}"),
        (sp.Matrix([[cos(q1), 1]]), r"\left[\begin{matrix}c_{1} & 1\end{matrix}\right]"),
    ],
    ids=str,
)
def test_short_latex(e, text):
    assert latex(e, Q) == text


def test_long_latex_and_names():
    names = {q1: "q_1", U[0]: r"\dot{q}_1", W[0]: r"\ddot{q}_1"}
    assert latex(m1 * sin(q1) * U[0] + W[0], names) == r"\ddot{q}_1 + m_{1} s_{1} \dot{q}_1"
    assert latex(sin(q1) * U[0], names, short=False) == r"\sin{\left(q_1 \right)} \dot{q}_1"
    assert latex(sin(sp.Symbol("theta1") + sp.Symbol("theta2")), sp.symbols("theta1 theta2")) == "s_{12}"
    assert latex(sin(sp.Symbol("q9") + sp.Symbol("q10")), sp.symbols("q9 q10")) == "s_{9,10}"
    assert latex(sin(sp.Symbol("x")), [sp.Symbol("x")]) == r"\sin{\left(x \right)}"
