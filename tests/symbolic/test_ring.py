"""The ring of trigonometric polynomials: its arithmetic, its normal form, and the library's algorithms on it."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import samples
import sixd
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import tree_forces
from sixd.model.numbers import map_numbers
from sixd.spatial import quaternion_to_rotation
from sixd.symbolic.ring.normal_form import canonical
from sixd.symbolic.ring.ring import ExponentError, Ring

a, b, m, x, y = sp.symbols("a b m x y")
ANGLES, PARAMETERS = (a, b), (m, x)
POINTS = [(0.3, -1.1, 0.7, 1.9), (-2.2, 0.45, 1.3, -0.6), (1.234, 2.5, -0.8, 0.9)]


def values(expr):
    """The expression at three points: an independent test of equality."""
    f = sp.lambdify((*ANGLES, *PARAMETERS), expr, "math")
    return np.array([float(f(*point)) for point in POINTS])


def same_values(e, f):
    """Compared in floats: sums of some ten terms of magnitude 10 at most, so rounding stays well below 1e-9."""
    u, v = values(e), values(f)
    return bool(np.all(np.abs(u - v) < 1e-9 * (1 + np.abs(u))))


# random expressions, and other ways to write them -----------------------------------------------------------


def random_angle(rng):
    angle = sum(int(rng.integers(-2, 3)) * q for q in ANGLES)
    return angle / int(rng.choice([1, 1, 1, 2])) + int(rng.integers(0, 4)) * sp.pi / 2


def random_expression(rng, depth=3):
    kind = rng.integers(0, 6)
    if depth == 0 or kind == 0:
        leaf = rng.integers(0, 4)
        if leaf == 0:
            return sp.Rational(int(rng.integers(-4, 5)), int(rng.integers(1, 4)))
        if leaf == 1:
            return PARAMETERS[rng.integers(0, 2)]
        return (sp.sin if leaf == 2 else sp.cos)(random_angle(rng))
    if kind == 1:
        return random_expression(rng, depth - 1) ** 2
    one, two = random_expression(rng, depth - 1), random_expression(rng, depth - 1)
    return one + two if kind < 4 else one * two


def rewrite_angle(rng, e):
    """sin or cos of an angle by an identity."""
    angle = e.args[0]
    s, c = sp.sin(angle), sp.cos(angle)
    half, other = angle / 2, random_angle(rng)
    if isinstance(e, sp.sin):
        options = [
            2 * sp.sin(half) * sp.cos(half),
            sp.cos(angle - sp.pi / 2),
            sp.sin(angle + other) * sp.cos(other) - sp.cos(angle + other) * sp.sin(other),
            3 * sp.sin(angle / 3) - 4 * sp.sin(angle / 3) ** 3,
            s * (s**2 + c**2),
        ]
    else:
        options = [
            2 * sp.cos(half) ** 2 - 1,
            1 - 2 * sp.sin(half) ** 2,
            sp.sin(angle + sp.pi / 2),
            sp.cos(angle - other) * sp.cos(other) - sp.sin(angle - other) * sp.sin(other),
            c * (1 - sp.sin(other) ** 2) + c * (1 - sp.cos(2 * other)) / 2,
        ]
    return options[rng.integers(0, len(options))]


def rewritten(rng, e):
    """The same function by identities, applied at random."""
    if isinstance(e, (sp.sin, sp.cos)):
        return rewrite_angle(rng, e) if rng.random() < 0.5 else e
    if e.args:
        e = e.func(*(rewritten(rng, part) for part in e.args))
    return sp.expand(e) if rng.random() < 0.2 else e


def mutated(rng, e):
    """Another function, as a rule: one leaf of the expression is changed."""
    leaves = [
        n for n in sp.postorder_traversal(e) if n.is_Rational or n in PARAMETERS or isinstance(n, (sp.sin, sp.cos))
    ]
    leaf = leaves[rng.integers(0, len(leaves))] if leaves else e
    if leaf.is_Rational or leaf == e:
        new = leaf + 1
    elif leaf in PARAMETERS:
        new = leaf + sp.Rational(1, 7)
    else:
        new = leaf.func(leaf.args[0] + (a if rng.random() < 0.5 else sp.pi / 6))
    return e.xreplace({leaf: new})


@pytest.mark.many
@pytest.mark.parametrize("seed", range(25))
def test_equal_functions_become_identical(seed):
    rng = np.random.default_rng(seed)
    e = random_expression(rng)
    f = rewritten(rng, rewritten(rng, e))
    assert same_values(e, f)
    assert canonical(e) == canonical(f)
    assert same_values(e, canonical(e))
    assert canonical(canonical(e)) == canonical(e)


def test_every_result_agrees_with_numbers():
    """Random changes that do or do not change the function: unequal ones stay different, and both cases occur."""
    rng = np.random.default_rng(5)
    results = []
    for k in range(60):
        e = random_expression(rng)
        f = mutated(rng, e) if k % 3 else rewritten(rng, e)
        results.append(same_values(e, f))
        assert (canonical(e) == canonical(f)) == results[-1], (e, f)
    assert 20 <= sum(results) < 30


@pytest.mark.parametrize(
    ("e", "f"),
    [
        (sp.sin(a) ** 2 + sp.cos(a) ** 2, 1),
        (sp.cos(45 * a) ** 2, (1 + sp.cos(90 * a)) / 2),  # multiples too large to be expanded
        (sp.cos(40 * a / 37), 4 * sp.cos(40 * a / 111) ** 3 - 3 * sp.cos(40 * a / 111)),
        (sp.cos(a) ** 40, sp.cos(a / 3 + a * sp.Rational(2, 3)) ** 40),
        (sp.sin(1) ** 2, 1 - sp.cos(1) ** 2),
        (sp.sin(m * x + 2), sp.sin(m * x) * sp.cos(2) + sp.cos(m * x) * sp.sin(2)),
        (sp.sin(a + sp.pi / 6), sp.sqrt(3) * sp.sin(a) / 2 + sp.cos(a) / 2),
        (sp.sqrt(2) * sp.sqrt(3) * x, sp.sqrt(6) * x),
        (sp.sqrt(8) / 4, 1 / sp.sqrt(2)),
        (sp.Add(0.1 * x, 0.2 * x, evaluate=False), 0.3 * x),
        ((1 + x) ** 200, sp.expand((1 + x) ** 200)),
        (sp.exp(sp.sin(a) ** 2), sp.exp(1 - sp.cos(a) ** 2)),
        (sp.Piecewise((x * (x + 1), x > sp.sin(a) ** 2), (0, True)), sp.Piecewise((x**2 + x, x > 1 - sp.cos(a) ** 2), (0, True))),
        (sp.tan(a) * sp.cos(a), sp.sin(a)),
        ((m + x) * (1 / (m + x)) ** 2 * (m**2 + m * x), m),
        (sp.sqrt(x + m) ** 4, (x + m) ** 2),
        (sp.cbrt(m * (m + x)) ** 2, sp.cbrt(m**2 + m * x) ** 2),
        (sp.I * sp.I * x, -x),
        (sp.Function("f")(x) * (x + 1), sp.Function("f")(x) * x + sp.Function("f")(x)),
    ],
    ids=str,
)  # fmt: skip
def test_normal_forms(e, f):
    assert canonical(e) == canonical(f)
    assert canonical(e) != canonical(f + x / 7)


def test_several_expressions_at_once():
    assert canonical(x - x, 2 * x + x) == (0, 3 * x)


def test_quaternions_have_unit_length():
    ring = Ring()
    q = np.array(ring.quaternion(*sp.symbols("w x y z")))
    R = quaternion_to_rotation(q)
    assert np.array_equal(R @ R.T, np.eye(3, dtype=int))
    assert np.dot(np.cross(R[0], R[1]), R[2]) == 1
    assert q[0] * q[0] != 1  # not a consequence of unit length
    assert q @ q == 1


def test_a_quaternion_declared_late_counts_for_elements_before_it():
    ring = Ring()
    w, *v = (ring.symbol(s) for s in sp.symbols("w x y z"))
    before = w * w + v[0] * v[0] + v[1] * v[1] + v[2] * v[2]
    ring.quaternion(*sp.symbols("w x y z"))
    assert before == 1


def test_half_angles_added_late():
    """sin(q/2) after sin(q): elements of both kinds are compared in q/2."""
    ring = Ring()
    q = ring.symbol(a)
    whole = q.sin()
    half = q / 2
    assert whole == 2 * half.sin() * half.cos()
    assert not (whole - 2 * half.sin() * half.cos())
    assert hash(whole) == hash(2 * half.sin() * half.cos())
    assert whole.diff(a) == q.cos()


# arithmetic -----------------------------------------------------------------------------------------------


def test_numbers_on_either_side():
    ring = Ring()
    p = ring.symbol(x)
    for two in (2, 2.0, Fraction(2), np.float64(2), np.int64(2), sp.Integer(2), np.array(2.0)):
        assert two * p == p * two == p + p
        assert two + p == p + two == 1 + p + 1
        assert p - two == -(two - p)
        assert p / two == p * Fraction(1, 2)
    assert 3 / ring.convert(2) == Fraction(3, 2)
    assert +p == p
    assert p**3 == p * p * p
    assert p**0 == 1


def test_arrays_do_their_own_loop():
    ring = Ring()
    p, one = ring.symbol(x), np.array([1, 2])
    for out in (p * one, one * p, one * p + 0, p + one * p - p):
        assert out.dtype == object
        assert out.tolist() == [p, 2 * p]
    assert (np.array([p, 1]) @ np.array([p, 2.0])) == p * p + 2
    assert ((np.array([p, 1]) == p) == [True, False]).all()


def test_decimals_are_exact():
    ring = Ring()
    assert ring.convert(0.1) + ring.convert(0.2) == 0.3
    assert ring.convert(0.1) * 3 == Fraction(3, 10)
    assert ring.convert(1 / 3) * 3 == 1  # the fraction, not the decimal 0.3333333333333333
    assert ring.convert(1e-300) * ring.convert(1e300) == 1
    assert ring.convert(2.0).number == 2
    assert float(ring.convert(0.7)) == 0.7
    assert ring.convert(sp.Float("0.1", 40)) == Fraction(1, 10)


def test_equality_and_hash():
    ring = Ring()
    p, q = ring.symbol(x), ring.symbol(y)
    assert (p + q) * (p - q) == p * p - q * q
    assert hash((p + q) * (p - q)) == hash(p * p - q * q)
    assert hash(ring.convert(0.5) * 2) == hash(1)
    assert p != q
    assert p != "x"
    assert (p == None) is False  # noqa: E711
    assert p != Ring().symbol(x)
    assert p == x
    assert p.number is None
    assert (p - p).is_zero
    assert not (p - p)
    assert bool(p)


def test_roots():
    ring = Ring()
    assert ring.convert(Fraction(9, 4)).sqrt() == Fraction(3, 2)
    assert ring.convert(0).sqrt() == 0
    assert ring.convert(2).sqrt() ** 2 == 2
    assert ring.convert(6).sqrt() == ring.convert(2).sqrt() * ring.convert(3).sqrt()
    assert ring.convert(10007 * 4).sqrt() ** 2 == 40028
    long = ring.convert(0.57735026918962) ** 2 * 3  # nearly 1, as of an axis in a file
    assert long.sqrt().to_sympy().is_Float


@pytest.mark.parametrize("e", [x / 2 + m / 3, 0.3 * x + m**2, 2 * x, x / 7, -x + m, 4 * x**2 + sp.sin(a) / 5], ids=str)
def test_roots_and_inverses_of_polynomials(e):
    ring = Ring()
    p, root, inverse = (ring.convert(f) for f in (e, sp.sqrt(e), 1 / e))
    assert root * root == p
    assert p * inverse == 1
    assert root * ring.convert(1 / sp.sqrt(e)) == 1
    assert (p * p + p) * inverse == p + 1
    point = {x: 0.3, m: 1.9, a: 0.8}
    for f, q in ((sp.sqrt(e), root), (1 / e, inverse)):
        assert float(q.to_sympy().subs(point)) == pytest.approx(float(f.subs(point)), rel=1e-13)


def test_exponents_do_not_run_over():
    ring = Ring()
    p, q = ring.symbol(x), ring.symbol(y)
    assert (p**127 * q).to_sympy() == x**127 * y
    with pytest.raises(ExponentError, match=r"Ring: an exponent is 128, expected less than 128.*Ring\(bits=16\)"):
        p**127 * p
    wide = Ring(bits=16).symbol(x)
    assert (wide**200).to_sympy() == x**200


def test_operations_that_a_polynomial_lacks_raise():
    ring = Ring()
    p = ring.symbol(x)
    with pytest.raises(sixd.SixdError, match=r"Poly: the divisor is x, expected a number.*ring.convert\(1/expr"):
        1 / p
    with pytest.raises(sixd.SingularError, match="Poly: the divisor is 0, expected a nonzero number"):
        p / 0
    with pytest.raises(sixd.SingularError, match="convert: a divisor is 0 in its normal form"):
        ring.convert(1 / (sp.sin(a) ** 2 + sp.cos(a) ** 2 - 1))
    with pytest.raises(sixd.SixdError, match="Poly: the exponent is 0.5, expected a whole number"):
        p**0.5
    with pytest.raises(sixd.SixdError, match="sqrt: the argument is x, expected a number that is not negative"):
        p.sqrt()
    for call in (
        lambda: sixd.spatial.scalar.sign(p),
        lambda: p < 1,
        lambda: abs(p),
        lambda: sixd.spatial.scalar.exp(p),
    ):
        with pytest.raises(sixd.SixdError, match="Poly: a function other than sin, cos and sqrt"):
            call()
    with pytest.raises(sixd.SixdError, match=r"Poly: float\(\) was called on x, expected a number"):
        float(p)
    with pytest.raises(sixd.SixdError, match="two rings were mixed, expected elements of one"):
        p + Ring().symbol(y)
    with pytest.raises(sixd.SixdError, match="convert: got an element of another ring"):
        ring.convert(Ring().one)


@pytest.mark.parametrize(
    "bad", [True, None, "x", 1j, float("nan"), np.inf, sp.oo, sp.nan, sp.Symbol("A", commutative=False)]
)
def test_values_that_cannot_be_converted_raise(bad):
    with pytest.raises(sixd.SixdError, match="convert: got"):
        Ring().convert(bad)


def test_rings_are_pickled():
    ring = Ring()
    p = ring.convert(sp.sin(a) * x + 0.1)
    p.to_sympy()
    q = pickle.loads(pickle.dumps(p))
    assert q.to_sympy() == p.to_sympy()
    assert q * q - 1 == (q - 1) * (q + 1)


# derivatives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "e",
    [
        sp.sin(a / 2 + 2 * b) * x**3 * m,
        sp.cos(a * x) ** 3 * a**2,
        1 / (x + m * sp.cos(a)),
        sp.sqrt(x**2 + sp.sin(a)),
        sp.tan(a) * x,
        sp.exp(-x * sp.cos(a)) * a,
        sp.Function("f")(x, a) ** 2,
        x ** sp.Rational(2, 3) + x**m,
    ],
    ids=str,
)
def test_derivatives(e):
    ring = Ring()
    for symbol in (a, b, x, m):
        assert ring.convert(e).diff(symbol) == ring.convert(e.diff(symbol))


# SymPy's own expressions ------------------------------------------------------------------------------------


def rebuilt(e):
    return e.func(*map(rebuilt, e.args)) if e.args else e


@pytest.mark.parametrize("seed", range(6))
def test_the_expression_is_what_sympy_builds(seed):
    """Structurally equal, in the order of arguments, to the result of SymPy's constructors."""
    rng = np.random.default_rng(seed)
    e = random_expression(rng) * random_expression(rng) + sp.exp(x) * x + sp.sqrt(x + 1) * sp.Float(0.3) * sp.sqrt(2)
    e += (
        sp.Symbol("p", positive=True) ** 2 * sp.Function("g")(x) * sp.Symbol("x10") + sp.Abs(m) * sp.sign(x) + sp.pi * m
    )
    for exact in (False, True):
        out = Ring().convert(e).to_sympy(exact=exact)
        assert rebuilt(out) == out
        assert out.expand() == out
        assert same_values(out.subs(DETAILS), e.subs(DETAILS))


DETAILS = {sp.Symbol("p", positive=True): 1.5, sp.Symbol("x10"): 0.7, x: sp.Abs(x)}
DETAILS |= {sp.Function("g")(x): 0.3, sp.Function("g")(sp.Abs(x)): 0.3}


def test_how_numbers_are_shown():
    ring = Ring()
    p = ring.symbol(x)
    third = p * ring.convert(1) / 24 + Fraction(5, 7)
    assert third.to_sympy() == x / 24 + sp.Rational(5, 7)  # no float was converted
    ring.convert(9.81)
    shown = {
        0.5: sp.Rational(1, 2),
        1 / 3: sp.Rational(1, 3),
        2.0: sp.Integer(2),
        0.1: sp.Float(0.1),
        9.81: sp.Float(9.81),
    }
    for value, number in shown.items():
        assert (p * value).to_sympy() == number * x
    assert (p * 9.81).to_sympy(exact=True) == sp.Rational(981, 100) * x
    assert third.to_sympy().args[0] == sp.Rational(5, 7)
    assert third.to_sympy().coeff(x) == sp.Float(1 / 24)


def test_sines_of_numbers_are_exact_inside_and_floats_outside():
    ring = Ring()
    s, c = ring.convert(0.3).sin(), ring.convert(0.3).cos()
    assert s * s + c * c == 1
    assert (s * ring.symbol(x)).to_sympy() == sp.Float(math.sin(0.3)) * x
    assert (s * ring.symbol(x)).to_sympy(exact=True) == sp.sin(sp.Rational(3, 10)) * x


# the library's algorithms ---------------------------------------------------------------------------------


def in_ring(model, ring):
    return map_numbers(model, lambda v: v if isinstance(v, bool) or not np.isfinite(v) else ring.convert(v))


def at(ring, array, table):
    """Ring elements at numbers, generator by generator: no SymPy."""
    entries = []
    for p in array.ravel():
        p = ring.convert(p).normalized()
        total = 0.0
        for key, v in p.terms.items():
            factor = v / p.den
            for i, e in ring.exponents(key):
                g = ring.generators[i]
                inside = table[g.expr] if g.base is None else float(g.unit) * at(ring, np.array([g.base]), table)[0]
                factor *= {"sin": np.sin, "cos": np.cos, "symbol": float}[g.kind](inside) ** e
            total += factor
        entries.append(total)
    return np.reshape(entries, array.shape)


@pytest.mark.many
@pytest.mark.parametrize("kind", samples.KINDS)
def test_dynamics_of_every_joint_in_the_ring(kind, rng):
    model = samples.single_joint(kind, passive=False)
    ring = Ring()
    names = [sp.symbols(f"{letter}1:{n + 1}") for letter, n in (("q", model.nq), ("u", model.nv), ("w", model.nv))]
    q, qd, qdd = (np.array([ring.symbol(s) for s in group], dtype=object) for group in names)
    for i in model.bodies:
        if isinstance(model.joints[i], (sixd.Spherical, sixd.Free)):
            start = model.iq[i].start
            ring.quaternion(*names[0][start : start + 4])
    exact = in_ring(model, ring)
    M = crba(exact, q)
    tau = tree_forces(exact, q, qd, qdd, exact.a_gravity)
    for q0, v0, a0 in samples.states(model, rng, 2):
        table = dict(zip([s for group in names for s in group], np.concatenate([q0, v0, a0]), strict=True))
        assert np.allclose(at(ring, M, table) + np.diag(model.armature), sixd.mass_matrix(model, q0), atol=1e-10)
        assert np.allclose(
            at(ring, tau, table), sixd.inverse_dynamics(model, q0, v0, a0) - model.armature * a0, atol=1e-9
        )
