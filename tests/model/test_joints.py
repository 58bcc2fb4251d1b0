"""Every joint type: transform, subspace and its rate, the exponential map, limits; and users' own joints."""

import inspect

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm

import sixd
from scalars import Algebraic, Foreign, values
from sixd import Cylindrical, Fixed, Free, Helical, ModelBuilder, ModelError, Planar, Prismatic, RackAndPinion
from sixd.model.joints import BUILT_IN, Revolute, Spherical, Universal, verify_joint
from sixd.model.joints.verify import has_constant_subspace
from sixd.spatial import crm, plucker, pose_from_transform, quaternion_multiply, quaternion_to_rotation, rotz, skew, xlt

PI = np.pi
JOINTS = [
    Fixed(), Revolute("z"), Revolute((1, 2, -2)), Prismatic("x"), Prismatic((0, -1, 1)), Helical("y", 0.3),
    Helical((1, 1, 1), -0.1), Cylindrical((0, -1, 0)), Universal(), Planar(), Planar("x"), Planar((0, 0, -1)),
    Planar((1, 0, 1)), RackAndPinion(0.2), RackAndPinion(-0.1), Spherical(), Free(),
]  # fmt: skip
EXACT = [
    Revolute("z"), Prismatic("x"), Helical("y", sp.Symbol("h")), Cylindrical("z"), Universal(), Planar(),
    RackAndPinion(sp.Symbol("r")), Spherical(), Free(),
]  # fmt: skip
every_joint = pytest.mark.parametrize("joint", JOINTS, ids=repr)
BIAS_ONLY = {
    "bias": lambda self, q, qd: np.array([0, 0, 0, 0, 2 * qd[0] * qd[0], 0]),
    "subspace_rate": sixd.Joint.subspace_rate,
}
quaternion_joint = pytest.mark.parametrize("joint", [Spherical(), Free()], ids=repr)


def sheared(self, q):  # a block that no transform has
    return xlt([q[0], q[0] * q[0], 0]) + np.kron([[0, 0], [1, 0]], np.diag([1, 2, 3]))


def close(a, b, tolerance=1e-13):
    return np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance


def sample(joint, rng):
    unlimited = np.full(joint.nq, np.inf)
    return joint.random(rng, -unlimited, unlimited)


def step(joint, omega, rng):
    """A velocity with the angular part omega; the linear part, where there is one, is random."""
    return np.concatenate([omega, rng.uniform(-1, 1, joint.nv - 3)])


def test_the_list_has_every_type():
    """No built-in joint is left out."""
    assert {type(j) for j in JOINTS} == set(BUILT_IN), "BUILT_IN and JOINTS of this file have the same joints"


def test_constant_subspaces_are_known():
    constant = {type(j) for j in JOINTS if has_constant_subspace(j)}
    assert constant >= {Fixed, Revolute, Prismatic, Helical, Cylindrical, Spherical, Free}
    assert not constant & {Universal, Planar, RackAndPinion}


@every_joint
def test_methods_agree_numerically(joint):
    """The library's own check passes on all of them."""
    verify_joint(joint, samples=10)


@pytest.mark.many
@pytest.mark.parametrize("joint", EXACT, ids=repr)
def test_methods_agree_exactly(joint):
    """By SymPy: dX/dt = −(S q̇)× X, S° = dS/dt and cJ = S° q̇, identically and without floats."""
    q, qd = np.array(sp.symbols(f"q:{joint.nq}", real=True)), np.array(sp.symbols(f"d:{joint.nv}", real=True))
    point = {x: sp.Rational(k * k - 7, k + 3) for k, x in enumerate([*q, *qd])}
    rate = qd
    if isinstance(joint, (Spherical, Free)):
        rate = np.concatenate([quaternion_multiply(q[:4], [0, *qd[:3]]) / sp.Integer(2), qd[3:]])
        rate[4:] = quaternion_to_rotation(q[:4]) @ qd[3:] if joint.nq == 7 else []

    def derivative(A):
        return sum((sp.Matrix(A).diff(x) * r for x, r in zip(q, rate, strict=True)), sp.zeros(*A.shape))

    def vanishes(A):
        # with quaternions at a rational point, exactly: SymPy takes seconds for all
        return (sp.simplify(A) if joint.nq < 4 else A.subs(point)).is_zero_matrix

    X, S, S_ring = joint.transform(q), joint.subspace(q), joint.subspace_rate(q, qd)
    assert vanishes(derivative(X) + sp.Matrix(crm(S @ qd) @ X))
    assert vanishes(derivative(S) - sp.Matrix(S_ring))
    assert vanishes(sp.Matrix(joint.bias(q, qd) - S_ring @ qd))
    assert not sp.Matrix(X).atoms(sp.Float)


@every_joint
def test_neutral_and_closure(joint, rng):
    """Neutral is the identity; integrate by 0 stays; difference inverts integrate; rates add for vector joints."""
    X = joint.transform(joint.neutral())
    assert close(X, np.eye(6), 1e-15)
    q, dq = sample(joint, rng), rng.uniform(-1, 1, joint.nv)
    assert close(joint.integrate(q, np.zeros(joint.nv)), q, 1e-15)
    assert close(joint.difference(q, joint.integrate(q, dq)), dq)
    assert close(joint.difference(joint.integrate(q, dq), q), -dq)


@pytest.mark.parametrize("joint", [j for j in JOINTS if has_constant_subspace(j)], ids=repr)
@pytest.mark.parametrize("size", [0.0, 1e-160, 1e-9, 0.5, 1.0, 5.0])
def test_constant_subspaces_integrate_to_exponentials(joint, size, rng):
    """Where S is constant, X after a step is exp(−(S dq)×) X before it."""
    q, dq = sample(joint, rng), size * rng.uniform(-1, 1, joint.nv)
    v = joint.subspace(q) @ dq
    assert close(joint.transform(joint.integrate(q, dq)), expm(-crm(v)) @ joint.transform(q), 1e-12)  # expm's accuracy


@every_joint
def test_facts_of_figures_and_tables(joint):
    """One name and one unit for each coordinate, velocity and force; a symbol that figures know, with what it needs."""
    names = joint.dof_names or joint.coordinate_names
    assert len(joint.coordinate_units) == joint.nq
    assert len(joint.dof_units or joint.coordinate_units) == joint.nv
    assert len(joint.coordinate_names or joint.coordinate_units) == joint.nq
    assert len(names or joint.coordinate_units) == len(joint.force_names or names or joint.coordinate_units) == joint.nv
    assert {"1"} >= {*joint.coordinate_units} - {"rad", "m"}
    assert joint.has_quaternion == (joint.coordinate_units[:4] == ("1",) * 4)
    assert joint.has_quaternion or joint.is_vector_space
    needs = {"hinge": "axis", "screw": "axis", "sleeve": "axis", "slide": "axis", "plate": "plane", "pinion": "radius"}
    known = {*needs, "cross", "ball", "none"}
    hint = "give the class one of these symbols, or add a new one here and draw it: CONTRIBUTING.md, How to add a joint"
    assert joint.symbol in known or joint.nv == 0, hint
    assert hasattr(joint, needs.get(joint.symbol, "nv"))


def test_a_joint_of_one_s_own_is_labelled_and_drawn():
    """Names, units and the symbol of its class reach tables, sticks and figures."""

    class Nut(sixd.Joint):
        nq = nv = 2
        coordinate_names, coordinate_units, symbol, axis = ("turn", "slide"), ("rad", "m"), "sleeve", (0, 0, 1)

        def transform(self, q):
            return Cylindrical("z").transform(q)

        def subspace(self, q):
            return Cylindrical("z").subspace(q)

    models = []
    for joint in (Nut(), Cylindrical("z")):
        builder = ModelBuilder("nut")
        builder.add_body("nut", "world", joint, inertia=sixd.Inertia(1.0, (0.1, 0, 0), (0.01, 0.02, 0.02)))
        models.append(builder.build())
    mine, theirs = (sixd.simulate(model, [0, 0], [1, 0], 1e-3).labels for model in models)
    assert mine == theirs
    assert mine.tau[1] == ("nut.slide", "nut", "N")
    figures = [str(sixd.draw(model, [0.4, 0.2])) for model in models]
    assert figures[0] == figures[1]


# SO(3) and SE(3) --------------------------------------------------------------------------------------

SIZES = [0.0, 1e-160, 1e-20, 1e-9, 1e-3, 0.4999999, 0.5000001, 1.0, 3.0, PI - 1e-6, PI - 1e-9]


@quaternion_joint
@pytest.mark.parametrize("size", [*SIZES, PI, PI + 1e-9, 2 * PI - 1e-9, 2 * PI, 10.0])
def test_integrate_is_the_matrix_exponential(joint, size, rng):
    """The pose after a step is the pose before times exp of the 4×4 twist; the quaternion stays unit."""
    for axis in (np.array([0, 0, 1.0]), np.array([0.6, 0, -0.8]), np.array([2, -1, 2]) / 3):
        q, dq = sample(joint, rng), step(joint, size * axis, rng)
        twist = np.zeros((4, 4))
        twist[:3, :3], twist[:3, 3] = skew(dq[:3]), dq[3:] if joint.nv == 6 else 0
        after = joint.integrate(q, dq)
        T0, T1 = (pose_from_transform(joint.transform(x)) for x in (q, after))
        assert close(T1, T0 @ expm(twist), 1e-12)  # expm scales and squares: about 1e-13 at 10 rad
        assert after[:4] @ after[:4] == pytest.approx(1, abs=1e-15)


@quaternion_joint
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scales", [(1, 1), (1, -1), (-1, 1), (3.0, 1e-3), (-1e-3, 7.0)])
def test_difference_inverts_integrate(joint, size, scales, rng):
    """Near 0 and near π, for either sign and any length of both quaternions."""
    axis = np.array([2, -1, 2]) / 3
    q0, dq = sample(joint, rng), step(joint, size * axis, rng)
    q1 = joint.integrate(q0, dq)
    q0[:4], q1[:4] = scales[0] * q0[:4], scales[1] * q1[:4]
    back = joint.difference(q0, q1)
    assert close(back, dq, 4e-14)
    assert close(joint.transform(joint.integrate(q0, back)), joint.transform(q1), 4e-15)


@quaternion_joint
@pytest.mark.parametrize("size", [PI, PI + 1e-9, 4.0, 2 * PI - 1e-9, 2 * PI])
def test_difference_beyond_half_a_turn(joint, size, rng):
    """The shortest way is taken, at most π, and reaches the same pose; q and −q do not differ at all."""
    q0, dq = sample(joint, rng), step(joint, size * np.array([0.6, 0, -0.8]), rng)
    q1 = joint.integrate(q0, dq)
    back = joint.difference(q0, q1)
    assert np.linalg.norm(back[:3]) <= PI + 1e-15
    assert close(joint.transform(joint.integrate(q0, back)), joint.transform(q1), 1e-14)
    flipped = q0 * np.array([-1] * 4 + [1] * (joint.nq - 4))
    assert close(joint.difference(q0, flipped), 0, 1e-15)


# conventions ------------------------------------------------------------------------------------------

t, d, h, r, x, y = sp.symbols("theta d h r x y", real=True)
s, c = sp.sin(t), sp.cos(t)


def equal(array, expected):
    return sp.simplify(sp.Matrix(array) - sp.Matrix(expected)).is_zero_matrix


def test_mod2a_cylindrical():
    """X = rotz(θ) xlt([0 0 d]), its lower left block, and S."""
    joint = Cylindrical("z")
    X = joint.transform(np.array([t, d]))
    assert equal(X, rotz(t) @ xlt([0, 0, d]))
    assert equal(X[3:, :3], d * sp.Matrix([[-s, c, 0], [-c, -s, 0], [0, 0, 0]]))
    assert equal(joint.subspace(np.array([t, d])).T, [[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]])


def test_mod2b_helical():
    """d = hθ, S = [0 0 1 0 0 h]ᵀ."""
    joint = Helical("z", h)
    assert equal(joint.transform(np.array([t])), Cylindrical("z").transform(np.array([t, h * t])))
    assert equal(joint.subspace(np.array([t])).T, [[0, 0, 1, 0, 0, h]])


def test_mod2c_rack_and_pinion():
    """X = rotx(θ) xlt([0 −rθ 0]), S = [1 0 0 0 −rc rs]ᵀ, S° = θ̇ [0 0 0 0 rs rc]ᵀ."""
    joint, q, qd = RackAndPinion(r), np.array([t]), np.array([d])
    E = sp.Matrix([[1, 0, 0], [0, c, s], [0, -s, c]])
    assert equal(joint.transform(q), plucker(np.array(E), [0, -r * t, 0]))
    assert equal(joint.subspace(q).T, [[1, 0, 0, 0, -r * c, r * s]])
    assert equal(joint.subspace_rate(q, qd).T, [[0, 0, 0, 0, d * r * s, d * r * c]])


def test_universal_convention():
    """X = roty(q2) rotx(q1); S = [c2 0 s2 …], [0 1 0 …]; S°q̇ = [−s2 0 c2 0 0 0] q̇1 q̇2."""
    joint, q, qd = Universal(), np.array([x, t]), np.array([d, h])
    Rx = sp.Matrix([[1, 0, 0], [0, sp.cos(x), sp.sin(x)], [0, -sp.sin(x), sp.cos(x)]])
    Ry = sp.Matrix([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    assert equal(joint.transform(q)[:3, :3], Ry * Rx)
    assert equal(joint.subspace(q).T, [[c, 0, s, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    assert equal(joint.bias(q, qd), sp.Matrix([-s, 0, c, 0, 0, 0]) * d * h)


def test_planar_convention():
    """q = (θ, x, y): X = rotz(θ) xlt([x y 0]), S and S°q̇ as stated."""
    joint, q, qd = Planar(), np.array([t, x, y]), np.array([d, h, r])
    assert equal(joint.transform(q), rotz(t) @ xlt([x, y, 0]))
    assert equal(joint.subspace(q).T, [[0, 0, 1, 0, 0, 0], [0, 0, 0, c, -s, 0], [0, 0, 0, s, c, 0]])
    assert equal(joint.bias(q, qd), [0, 0, 0, d * (-s * h + c * r), d * (-c * h - s * r), 0])


@pytest.mark.parametrize(("normal", "axes"), [("x", [(0, 0, -1), (0, 1, 0)]), ("y", [(1, 0, 0), (0, 0, -1)])])
def test_planar_across_another_axis(normal, axes):
    """x and y of the plane are those of the frame turned the shortest way from z to the normal."""
    T = pose_from_transform(Planar(normal).transform(np.array([0.3, 2.0, 5.0])))
    assert close(T[:3, 3], 2 * np.array(axes[0]) + 5 * np.array(axes[1]))
    assert close(T[:3, :3], pose_from_transform(Revolute(normal).transform(np.array([0.3])))[:3, :3])


def refused(call, words):
    with pytest.raises(ModelError, match=words):
        call()


def test_parameters():
    """Axes are normalised, exact along coordinates, and compare by value; nonsense is refused."""
    assert Revolute("z") == Revolute((0, 0, 2.0)) == Revolute([0, 0, 1])
    assert hash(Revolute("z")) == hash(Revolute((0, 0, 1)))
    assert [type(a) for a in Prismatic((0.0, -3.0, 0.0)).axis] == [int] * 3
    assert close(Helical((1, 2, -2), 0.1).axis, np.array([1, 2, -2]) / 3, 1e-16)
    refused(lambda: Revolute("w"), "Revolute: axis is 'w', expected 'x', 'y', 'z' or three numbers")
    refused(lambda: Prismatic((0, 0, 0)), r"Prismatic: axis is \[0.0, 0.0, 0.0\], expected a non-zero")
    refused(lambda: Cylindrical((1, np.nan, 0)), "Cylindrical: axis is .* expected a non-zero finite")
    refused(lambda: Planar((1, 2)), r"Planar: axis has shape \(2,\), expected \(3,\)")
    refused(lambda: Helical("z", np.nan), "Helical: pitch is nan, expected a finite number")
    refused(lambda: RackAndPinion(np.inf), "RackAndPinion: radius is inf, expected a finite number")


def test_symbolic_axis():
    """An axis of symbols is unit by division, and turns about itself."""
    a = sp.Symbol("a", real=True)
    joint = Revolute((0, sp.sin(a), sp.cos(a)))
    n = np.array([0, sp.sin(a), sp.cos(a)])
    assert equal(joint.transform(np.array([t]))[:3, :3] @ n, n)


def test_symbolic_normal():
    """A plane's normal may be symbolic, as an axis may."""
    a = sp.Symbol("a", real=True)
    assert Planar((0, sp.sin(a), sp.cos(a))).subspace(np.array([t, x, y])).shape == (6, 3)


# foreign scalars --------------------------------------------------------------------------------------


@every_joint
def test_algebraic_scalars(joint, rng):
    """transform, subspace and bias never ask a scalar for its truth, its float or a comparison."""
    q, qd = sample(joint, rng), rng.uniform(-1, 1, joint.nv)
    Q, QD = (np.array([Algebraic(a) for a in v], dtype=object) for v in (q, qd))
    assert close(values(joint.transform(Q)), joint.transform(q))
    assert joint.nv == 0 or close(values(joint.subspace(Q)), joint.subspace(q))
    assert joint.nv == 0 or close(values(joint.bias(Q, QD)), joint.bias(q, qd))


@quaternion_joint
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_foreign_scalars(joint, size, rng):
    """integrate and difference take both sides of every series through the conditions' own method."""
    q, dq = sample(joint, rng), size * rng.uniform(-1, 1, joint.nv)
    Q, DQ = (np.array([Foreign(a) for a in v]) for v in (q, dq))
    assert close(values(joint.integrate(Q, DQ)), joint.integrate(q, dq))
    assert close(values(joint.difference(Q, joint.integrate(Q, DQ))), dq)


# random configurations --------------------------------------------------------------------------------


@every_joint
def test_random_without_limits(joint, rng):
    """Angles within ±π, lengths within ±1 m, unit quaternions."""
    half = np.full(joint.nq, PI) if joint.half_range is None else np.array(joint.half_range)
    for _ in range(20):
        q = sample(joint, rng)
        assert (np.abs(q) <= half).all()
        if isinstance(joint, (Spherical, Free)):
            assert q[:4] @ q[:4] == pytest.approx(1, abs=1e-15)


@every_joint
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.3), (0.2, 0.2), (-np.inf, -0.5), (50.0, np.inf)])
def test_random_within_limits(joint, low, high, rng):
    """Coordinates without a quaternion respect one or two limits, wherever these lie."""
    for _ in range(10):
        q = joint.random(rng, np.full(joint.nq, low), np.full(joint.nq, high))
        free = q[4:] if isinstance(joint, (Spherical, Free)) else q
        assert ((low <= free) & (free <= high)).all()
        assert np.isfinite(q).all()


# joints of the user -----------------------------------------------------------------------------------


def parabola(**changes):
    """The joint of Joint's docstring, as printed there, with methods replaced."""
    code = sixd.Joint.__doc__.split("::\n")[1]
    space = {"sixd": sixd, "np": np, "xlt": xlt}
    exec(inspect.cleandoc(code), space)
    return type("Parabola", (space["Parabola"],), changes)()


def bead(joint):
    builder = ModelBuilder("bead", gravity=(0, -10, 0))
    builder.add_body("bead", "world", joint, inertia=sixd.point(2.0), joint_name="wire")
    return builder.build()


@pytest.mark.parametrize("changes", [{}, BIAS_ONLY], ids=["subspace_rate", "bias"])
def test_bead_on_a_parabola(changes):
    """The joint of the docstring, and one that defines only bias: M = m(1 + 4x²), h = 4m x ẋ² + 2m g x."""
    model = bead(parabola(**changes))
    q, qd = np.array([0.7]), np.array([-1.3])
    assert close(sixd.mass_matrix(model, q), 2 * (1 + 4 * 0.49))
    assert close(sixd.bias_force(model, q, qd), 4 * 2 * 0.7 * 1.69 + 2 * 2 * 10 * 0.7)
    assert close(sixd.jacobian_rate(model, q, qd, "bead").ravel(), [0, 0, 0, 0, -2.6, 0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"subspace": lambda self, q: np.array([[0, 0, 0, 1, q[0], 0]]).T}, "subspace differs from the derivative"),
        ({"subspace_rate": lambda self, q, qd: np.zeros((6, 1))}, "bias differs from S° qd .*define subspace_rate"),
        ({"subspace": lambda self, q: np.zeros(6)}, r"subspace\(q\) has shape \(6,\), expected \(6, 1\)"),
        ({"transform": lambda self, q: np.eye(4)}, r"transform\(q\) has shape \(4, 4\), expected \(6, 6\)"),
        ({"transform": lambda self, q: 2 * np.eye(6)}, "not a Plücker transform"),
        ({"transform": lambda self, q: np.eye(6) * np.nan}, "not a Plücker transform"),
        ({"neutral": lambda self: np.zeros(2)}, r"neutral\(\) has shape \(2,\), expected \(1,\)"),
        ({"bias": lambda self, q, qd: np.zeros((6, 1))}, r"bias\(q, qd\) has shape \(6, 1\), expected \(6,\)"),
        ({"integrate": lambda self, q, dq: np.zeros(2)}, r"integrate\(q, dq\) has shape \(2,\)"),
        ({"difference": lambda self, q0, q1: q0 - q1}, "difference differs from the inverse of integrate"),
        ({"transform": sheared}, "not a Plücker transform"),
    ],
)
def test_contradictions_are_refused(changes, words):
    """add_body names the joint and the method that is wrong."""
    with pytest.raises(ModelError, match=rf"joint 'wire' \(Parabola\): .*{words}"):
        bead(parabola(**changes))


def test_a_wrong_subspace_rate_with_the_right_bias_is_refused():
    """S° of a universal joint put into the other column gives the same S° qd, but wrong Jacobian rates."""

    class Crossed(sixd.Joint):
        nq = nv = 2
        transform, subspace = Universal.transform, Universal.subspace

        def subspace_rate(self, q, qd):
            return Universal().subspace_rate(q, qd[[1, 0]])[:, ::-1]

    with pytest.raises(ModelError, match="subspace_rate"):
        bead(Crossed())


def test_bias_alone_is_not_enough_for_several_degrees_of_freedom():
    """Two degrees of freedom with only bias: the dynamics work, and the error of Jacobian rates names what is missing."""

    class Bent(sixd.Joint):
        nq = nv = 2
        transform, subspace, bias = Universal.transform, Universal.subspace, lambda self, *a: Universal().bias(*a)

    model = bead(Bent())
    state = np.ones(2)
    assert close(sixd.bias_force(model, state, state), sixd.bias_force(bead(Universal()), state, state))
    with pytest.raises(
        ModelError, match=r"Bent: bias is defined but subspace_rate is not.* needs subspace_rate\(q, qd\)"
    ):
        sixd.jacobian_rate(model, state, state, "bead")


def test_objects_that_are_not_joints():
    """A class instead of an object, or a name, is refused; an incomplete joint cannot be made."""
    for joint in (Revolute, "revolute"):
        with pytest.raises(sixd.ScalarTypeError, match=r"add_body 'bead': joint is .*, expected a joint such as"):
            bead(joint)
    with pytest.raises(TypeError, match="abstract"):
        type("Half", (sixd.Joint,), {"nq": 1, "nv": 1})()
