"""The ring of trigonometric polynomials: its arithmetic, its normal form, and the library's algorithms on it."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import samples
import sympy as sp

import sixd
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import newton_euler
from sixd.model.edit import map_numbers
from sixd.spatial import quaternion_to_rotation
from sixd.symbolic.ring import ExponentError, Poly, Ring, canonical

a, b, m, x, y = sp.symbols("a b m x y")
ANGLES, PARAMETERS = (a, b), (m, x)
POINTS = [(0.3, -1.1, 0.7, 1.9), (-2.2, 0.45, 1.3, -0.6), (1.234, 2.5, -0.8, 0.9)]


def values(expr):
    """The expression at three points, the independent judge of equality."""
    f = sp.lambdify((*ANGLES, *PARAMETERS), expr, "math")
    return np.array([float(f(*point)) for point in POINTS])


def same_values(e, f):
    """Judged in floats: sums of some ten terms of size 10 at most, so rounding stays well below 1e-9."""
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
    """The same function by identities, at random places."""
    if isinstance(e, (sp.sin, sp.cos)):
        return rewrite_angle(rng, e) if rng.random() < 0.5 else e
    if e.args:
        e = e.func(*(rewritten(rng, part) for part in e.args))
    return sp.expand(e) if rng.random() < 0.2 else e


def mutated(rng, e):
    """Another function, as a rule: one leaf of the expression is changed."""
    leaves = [n for n in sp.postorder_traversal(e) if n.is_Rational or n in PARAMETERS or isinstance(n, (sp.sin, sp.cos))]
    leaf = leaves[rng.integers(0, len(leaves))] if leaves else e
    if leaf.is_Rational or leaf == e:
        new = leaf + 1
    elif leaf in PARAMETERS:
        new = leaf + sp.Rational(1, 7)
    else:
        new = leaf.func(leaf.args[0] + (a if rng.random() < 0.5 else sp.pi / 6))
    return e.xreplace({leaf: new})


@pytest.mark.parametrize("seed", range(40))
def test_equal_functions_become_identical(seed):
    rng = np.random.default_rng(seed)
    e = random_expression(rng)
    f = rewritten(rng, rewritten(rng, e))
    assert same_values(e, f)
    assert canonical(e) == canonical(f)
    assert same_values(e, canonical(e))
    assert canonical(canonical(e)) == canonical(e)


def test_every_verdict_agrees_with_the_judge():
    """A random change that is or is not one: unequal functions stay different, and both verdicts occur."""
    rng = np.random.default_rng(5)
    verdicts = []
    for k in range(60):
        e = random_expression(rng)
        f = mutated(rng, e) if k % 3 else rewritten(rng, e)
        verdicts.append(same_values(e, f))
        assert (canonical(e) == canonical(f)) == verdicts[-1], (e, f)
    assert 20 <= sum(verdicts) < 30
