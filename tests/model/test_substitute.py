"""Symbols in models: where they may stand, and how they are replaced."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from sixd.spatial import atan2, cos, plucker, sin, xlt

a, b = sp.symbols("a b")


def two_masses(first, second):
    return sixd.from_dh([{"mass": first}, {"a": 1, "mass": second}])


def masses(model):
    return [model.inertia[i][5, 5] for i in model.bodies]


def test_all_symbols_change_at_once():
    """Symbols can change places; expressions may hold those that are replaced."""
    assert masses(two_masses(a, b).substitute({a: b, b: a})) == [b, a]
    assert masses(two_masses(a, b).substitute({a: a + b, b: a})) == [a + b, a]
    assert two_masses(a, b).substitute([(a, 1.0), (b, 2.0)]).mass == 3.0


def test_symbols_of_one_name():
    """Two symbols with one name are two; a name alone stands for both."""
    x, y = sp.Symbol("m"), sp.Symbol("m", positive=True)
    assert masses(two_masses(x, y).substitute({x: 1.0, y: 2.0})) == [1.0, 2.0]
    assert masses(two_masses(x, y).substitute({"m": 3.0})) == [3.0, 3.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({a: sp.oo}, "a is oo, expected a finite number"), ({a: sp.nan}, "a is nan"), ({a: 1j}, "a is 1j, expected numbers"), ({a: sp.I}, "a is I"),
        ({a: None}, "a is None"), ({a: True}, "a is True"), ({a: [1]}, "a is "), ({a: "x"}, "a is 'x'"), (3, "expected a mapping"),
        ({"c": 1.0}, "no symbol named 'c'"), ({a: 0}, "becomes zoo"),
    ],
)  # fmt: skip
def test_invalid_substitutions(values, message):
    with pytest.raises(sixd.SixdError, match=message):
        two_masses(1 / a, 1.0).substitute(values)


def test_symbols_in_frames_and_constraints():
    """A symbol that stands only in a frame, a tool or a mimic relation is the model's too."""
    arm = sixd.from_dh([{"alpha": a, "a": 0.5, "mass": 1, "inertia": (1, 1, 1)}], convention="standard", tool=(b, 0, 0))
    assert arm.symbols == (a, b)
    with pytest.raises(sixd.ScalarTypeError, match="symbolic parameters a, b"):
        sixd.pose(arm, [0.1], "tool")
    numeric = arm.substitute({a: 0.3, b: 0.2})
    expected = sixd.from_dh(
        [{"alpha": 0.3, "a": 0.5, "mass": 1, "inertia": (1, 1, 1)}], convention="standard", tool=(0.2, 0, 0)
    )
    assert_allclose(sixd.pose(numeric, [0.1], "tool"), sixd.pose(expected, [0.1], "tool"), atol=1e-15)
    builder = sixd.ModelBuilder("m")
    for name in "xy":
        builder.add_body(name, "world", sixd.Revolute("z"), inertia=sixd.sphere(1, mass=1.0))
    builder.add_constraint(sixd.Mimic("y", "x", a))
    model = builder.build()
    assert model.symbols == (a,)
    assert model.substitute({a: 2}).constraints == (sixd.Mimic("y", "x", 2.0, 0.0),)


@pytest.mark.parametrize(
    "joint",
    [
        sixd.Helical("z", sp.pi / 4), sixd.Helical("z", Fraction(1, 3)), sixd.RackAndPinion(sp.Rational(1, 2)), sixd.Revolute((sp.Integer(1), 1, 0)),
        sixd.Revolute((sp.sqrt(2), 0, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_exact_numbers_are_numbers(joint):
    """SymPy's numbers and fractions, in joints, placements, frames and gravity, make a numeric model."""
    builder = sixd.ModelBuilder("m", gravity=(0, 0, -sp.Rational(981, 100)))
    half = sixd.placement((sp.Rational(1, 2), 0, 0), (sp.pi / 2, 0, 0))
    builder.add_body("b", "world", joint, placement=half, inertia=sixd.point(sp.Integer(2), (1, sp.Rational(1, 2), 0)))
    builder.add_frame("f", "b", half)
    model = builder.build().with_gravity((0, 0, -sp.Rational(49, 5)))
    assert model.symbols == ()
    for array in (sixd.pose(model, [0.1], "f"), sixd.inverse_dynamics(model, [0.1], [0.2], [0.3]), model.gravity):
        assert array.dtype == float
    assert "world" in sixd.to_urdf(model.without_passive().with_gravity((0, 0, -9.81)).lock({"b": 0.0}))


@dataclasses.dataclass(frozen=True)
class Stretched(sixd.Joint):
    """A slide that moves ``rate`` times q; ``wrong`` makes S forget that."""

    rate: object
    wrong: bool = False
    nq = nv = 1

    def transform(self, q):
        return xlt([q[0] * self.rate, 0, 0])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1 if self.wrong else self.rate, 0, 0]]).T


def test_joints_of_the_user_are_verified_once_they_are_numeric():
    """A symbolic parameter puts the check off until it is replaced, not away."""
    builder = sixd.ModelBuilder("m")
    builder.add_body("good", "world", Stretched(a), inertia=sixd.point(1.0))
    assert_allclose(sixd.mass_matrix(builder.build().substitute({a: 2.0}), [0.0]), [[4.0]])
    builder.add_body("bad", "world", Stretched(a, wrong=True), inertia=sixd.point(1.0))
    with pytest.raises(sixd.ModelError, match=r"joint 'bad' \(Stretched\): subspace differs"):
        builder.build().substitute({a: 2.0})


class Circle(sixd.Joint):
    """A turn given by (cos, sin); ``neutral`` is forgotten."""

    nq, nv = 2, 1

    def transform(self, q):
        c, s = q
        return plucker(np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]), [0, 0, 0])

    def subspace(self, q):
        return np.eye(6)[:, 2:3]

    def integrate(self, q, dq):
        c, s = cos(dq[0]), sin(dq[0])
        return np.array([q[0] * c - q[1] * s, q[1] * c + q[0] * s])

    def difference(self, q0, q1):
        return np.array([atan2(q0[0] * q1[1] - q0[1] * q1[0], q0 @ q1)])

    def random(self, rng, lower, upper):
        return self.integrate(np.array([1.0, 0.0]), rng.uniform(-3, 3, 1))


class Whole(Circle):
    def neutral(self):
        return np.array([1.0, 0.0])


class Unlike(sixd.Joint):
    nq, nv = 4, 3

    def transform(self, q):
        return np.eye(6)

    def subspace(self, q):
        return np.eye(6)[:, :3]


def test_manifold_joints_of_the_user():
    """A forgotten neutral or integrate is refused with a hint; the whole joint works, with a spring."""
    builder = sixd.ModelBuilder("m", (0, 0, 0))
    with pytest.raises(sixd.ModelError, match=r"not a Plücker transform at q = \[0.0, 0.0\].*define neutral"):
        builder.add_body("b", "world", Circle())
    with pytest.raises(sixd.ModelError, match="If nq and nv differ, define integrate"):
        builder.add_body("b", "world", Unlike())
    builder.add_body("b", "world", Whole(), inertia=sixd.sphere(1, mass=2.5), stiffness=2.0)
    model = builder.build()
    q = np.array([np.cos(0.5), np.sin(0.5)])
    assert_allclose(sixd.bias_force(model, q, [0.0]), [1.0])
    assert_allclose(sixd.energy(model, q, [0.0])[1], 0.25)
    assert_allclose(model.difference(q, model.integrate(q, [0.3])), [0.3])


class OnFloats(Whole):
    def transform(self, q):
        X = np.eye(6)
        X[:2, :2] = X[3:5, 3:5] = [[q[0], q[1]], [-q[1], q[0]]]
        return X


def test_joints_that_cannot_be_traced():
    """A joint that works only on floats raises an error that says how to write it."""
    builder = sixd.ModelBuilder("m")
    builder.add_body("b", "world", OnFloats(), inertia=sixd.sphere(1, mass=2.5))
    with pytest.raises(sixd.TraceError, match=r"bias_force: a traced value was asked for a number.*\['OnFloats'\]"):
        sixd.bias_force(builder.build(), [1.0, 0.0], [0.0])
