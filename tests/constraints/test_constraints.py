"""Kinds of constraints: what their rows are, what their multipliers mean, and what is refused."""

import warnings

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from samples import SEEDS, constrained, states, trees
from sixd.model.constraint import Constraint, Explicit
from sixd.spatial import axis_rotation, cos, sin

# every kind, on frames that every random tree has
KINDS = {
    "weld": sixd.Loop("frame4", "frame9", "weld"),
    "axis": sixd.Loop("frame2", "frame7", "axis"),
    "point": sixd.Loop("world", "frame8", "point"),
    "planar": sixd.Loop("frame10", "world", "planar"),
    "some directions": sixd.Loop("frame3", "frame6", ("rz", "x", "ry")),
    "distance": sixd.Distance("frame3", "frame10", 0.7),
    "knife edge": sixd.KnifeEdge("frame8"),
    "knife edge on a body": sixd.KnifeEdge("frame8", "frame5"),
    "rolling": sixd.Rolling("frame6", 0.2, (1, 2, 3)),
    "rolling on a body": sixd.Rolling("frame9", 0.2, "x", "frame1"),
    "rolling sphere": sixd.RollingSphere("frame5", 0.1, "frame10"),
    "holonomic": sixd.Holonomic(lambda q: [q[3] * q[5] - cos(q[8]), q @ q], name="mixed"),
    "of the model": sixd.Holonomic(lambda model, q: model.frames["frame1"].pose[0, 3] + sin(q[4]) * q[2]),
    "pfaffian": sixd.Pfaffian(lambda model, q: np.array([[q[k % 5] * k for k in range(model.nv)]])),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
TREES = trees()


def close(x, y, tolerance=1e-12):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


@pytest.mark.many
@each_kind
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_rates_of_positions(kind, seed, rng):
    """A qd is ``velocity``; its first rows are the exact rate of ``position``, satisfied or not; dA/dt qd is its rate."""
    model, c = TREES[seed], KINDS[kind]
    for q, qd, _ in states(model, rng, count=3):
        A, phi = c.jacobian(model, q), c.position(model, q)
        velocity = c.velocity(model, q, qd)
        close(A @ qd, velocity)
        close(velocity[: len(phi)], Constraint.velocity(c, model, q, qd))
        close(c.bias(model, q, qd), Constraint.bias(c, model, q, qd), tolerance=1e-11)  # products of three speeds
        close(A, Constraint.jacobian(c, model, q))


@pytest.mark.long
def test_public_functions_stack_the_rows(rng, target):
    """The library's functions on a model with one constraint of each kind, batches included."""
    model = constrained(TREES[1], *KINDS.values())
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    qd = rng.normal(size=(3, model.nv))
    A = sixd.constraint_jacobian(model, q)
    close(A, [np.concatenate([c.jacobian(model, x) for c in KINDS.values()]) for x in q])
    close(sixd.constraint_error(model, q), [np.concatenate([c.position(model, x) for c in KINDS.values()]) for x in q])
    close(sixd.constraint_velocity(model, q, qd), np.einsum("bij,bj->bi", A, qd), tolerance=1e-11)
    lam = rng.normal(size=(3, A.shape[1]))
    forces = sixd.constraint_forces(model, q, lam)
    assert forces.shape == (3, len(KINDS), model.nv)
    close(forces.sum(axis=1), np.einsum("bij,bi->bj", A, lam))
    rows = slice(0, 6)  # of the first kind
    close(forces[:, 0], np.einsum("bij,bi->bj", A[:, rows], lam[:, rows]))


def test_efficient_rows_cost_less_than_differentiated_ones():
    """A loop's own Jacobian takes less than half the operations of the one by dual numbers."""

    class Plain(Constraint):
        frames = ("frame4", "frame9")

        def position(self, system, q):
            return KINDS["weld"].position(system, q)

    counts = [
        sixd.compile(sixd.constraint_jacobian, constrained(TREES[0], c)).program.operations
        for c in (KINDS["weld"], Plain())
    ]
    assert counts[0] < counts[1] / 2


def test_loop_residual_is_the_sine_of_the_angle(rng):
    """Rotation: sin(angle) times the axis, in frame_a's axes; translation: B's origin in A."""
    axis, angle, p = np.array([2.0, -1, 2]) / 3, 0.6, rng.normal(size=3)
    builder = sixd.ModelBuilder("one")
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_frame("place", "world", sixd.placement(p, R=axis_rotation(axis, angle)))
    builder.add_constraint(sixd.Loop("body", "place", "weld"))
    model = builder.build()
    close(sixd.constraint_error(model, model.neutral()), [*(np.sin(angle) * axis), *p])


def test_weld_carries_the_weight():
    """λ of a loop is the force and moment on frame_b's body, about and along frame_a's axes."""
    R = axis_rotation((1, 0, 0), 0.4)
    builder = sixd.ModelBuilder("held", gravity=(0, 0, -10.0))
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=2.0).translated((0.3, 0, 0)))
    builder.add_frame("wall", "world", sixd.placement((0, 0, 1), R=R))
    builder.add_frame("grip", "body", sixd.placement(R=R))
    builder.add_constraint(sixd.Loop("wall", "grip", "weld"))
    model = builder.build()
    q = sixd.assemble(model, model.neutral())
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(6), np.zeros(6))
    close(qdd, np.zeros(6))
    close(lam[3:], R.T @ [0, 0, 20.0])
    close(lam[:3], R.T @ np.cross([0.3, 0, 0], [0, 0, 20.0]))


def test_distance_carries_the_tension():
    """A mass that swings on a rod: λ · length is the rod's compression."""
    length, mass, speed = 0.5, 2.0, 3.0
    builder = sixd.ModelBuilder("swing", gravity=(0, 0, -10.0))
    builder.add_body("mass", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=mass))
    builder.add_constraint(sixd.Distance("world", "mass", length))
    model = builder.build()
    q = np.array([1.0, 0, 0, 0, 0, 0, -length])
    qd = np.array([0, 0, 0, speed, 0, 0])
    qdd, lam = sixd.constrained_dynamics(model, q, qd, np.zeros(6))
    close(qdd, [0, 0, 0, 0, 0, speed**2 / length])
    close(lam * length, [-mass * (10.0 + speed**2 / length)])


# table D: the knife edge ---------------------------------------------------------------------------


def knife_edge(constraint, m=2.0, inertia=0.5):
    return constrained(sixd.zoo.planar_body(m, inertia, 0), constraint)


def test_knife_edge_row():
    """The row of table D, whose q is (x, y, θ), on a planar body, whose q is (θ, x, y)."""
    s, c = np.sin(0.7), np.cos(0.7)
    q, qd, tau = np.array([0.7, 0.2, -0.4]), np.array([0.9, 1.5 * c, 1.5 * s]), np.array([0.3, 1, -0.4])
    edge = sixd.Pfaffian(lambda q: np.array([[0, sin(q[0]), -cos(q[0])]]), name="knife edge")
    model = knife_edge(edge)
    qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
    assert_allclose(qdd, [0.6, -0.675747065, 1.195896100], rtol=0, atol=1e-9)  # as many digits as the table has
    assert_allclose(lam, [-3.650154562], rtol=0, atol=1e-9)
    P, P_u = sixd.projections(model, q)
    close(P, [[1, 0, 0], [0, c * c, s * c], [0, s * c, s * s]])
    close(P_u, P.T)
    ready = knife_edge(sixd.KnifeEdge("body"))
    again, lateral = sixd.constrained_dynamics(ready, q, qd, tau)
    close(again, qdd)
    close(lateral, -lam)  # its λ is the force along the body's y


def test_knife_edge_in_symbols():
    """P and λ of the knife edge as closed forms, exact."""
    m, inertia, theta, u1, u2, u3, v, w = sp.symbols("m I theta u1 u2 u3 v w")
    model = knife_edge(sixd.KnifeEdge("body"), m, inertia)
    q = np.array([theta, 0, 0], dtype=object)
    P, _ = sixd.projections(model, q)
    s, c = sp.sin(theta), sp.cos(theta)
    assert sp.simplify(sp.Matrix(P) - sp.Matrix([[1, 0, 0], [0, c**2, s * c], [0, s * c, s**2]])) == sp.zeros(3)
    qdd, lam = sixd.constrained_dynamics(model, q, np.array([w, v * c, v * s]), np.array([u3, u1, u2]))
    assert sp.simplify(lam[0] - (m * v * w - (-s * u1 + c * u2))) == 0
    assert sp.simplify(qdd[0] - u3 / inertia) == 0


def test_exact_numbers_stay_exact():
    """Whole masses next to symbols: no float creeps into the results."""
    inertia, theta, u = sp.symbols("I theta u")
    model = knife_edge(sixd.KnifeEdge("body"), 3, inertia)
    qdd, lam = sixd.constrained_dynamics(model, np.array([theta, 0, 0]), np.array([0, 0, 0]), np.array([0, u, 0]))
    assert not any(sp.sympify(x).atoms(sp.Float) for x in [*qdd, *lam])
    assert sp.simplify(qdd[1] - u * sp.cos(theta) ** 2 / 3) == 0


# own kinds, editing, symbols -----------------------------------------------------------------------


def test_a_kind_needs_its_position_alone(rng):
    """A user's class with ``position`` works in every function."""

    class Slot(Constraint):
        joints = ("link1", "link2")

        def position(self, system, q):
            return np.array([sin(q[0]) + q[1] * q[1]])

    model = constrained(sixd.zoo.planar(2), Slot())
    q, qd = sixd.assemble(model, [-0.3, 0.4], [1.0, 1.0])
    close(sixd.constraint_jacobian(model, q), [[np.cos(q[0]), 2 * q[1]]])
    qdd, _ = sixd.constrained_dynamics(model, q, qd, [0.1, 0.2])
    assert abs(np.cos(q[0]) * qdd[0] + 2 * q[1] * qdd[1] - np.sin(q[0]) * qd[0] ** 2 + 2 * qd[1] ** 2) < 1e-12


def test_an_explicit_kind_needs_its_map_alone():
    class Square(Explicit):
        dependent, independent = ("link2",), ("link1",)

        def map(self, y):
            return y * y

    model = constrained(sixd.zoo.planar(2), Square())
    close(sixd.constraint_error(model, [3.0, 10.0]), [1.0])
    close(sixd.constraint_jacobian(model, [3.0, 10.0]), [[-6.0, 1.0]])


def test_constraints_of_a_changed_model():
    """Attached models keep their loops under new names; a submodel drops what leaves it; locks keep loops."""
    bar = sixd.zoo.four_bar()
    base = sixd.zoo.planar(1)
    both = base.attach(bar, "link1", placement=sixd.placement((1, 0, 0)), prefix="bar_")
    assert both.constraints == (sixd.Loop("bar_coupler_end", "bar_rocker_end", "planar"),)
    q = np.array([0.4, *sixd.assemble(bar, [np.pi / 3, -0.5, 1.6])])
    close(sixd.constraint_error(both, q), [0, 0])

    grounded = constrained(sixd.zoo.planar(2), sixd.Loop("world", "tip", "planar"), sixd.Mimic("link2", "link1"))
    there = base.attach(grounded, "link1", placement=sixd.placement((0, 2, 0)), prefix="a_")
    assert there.constraints[0].frames == ("a_world", "a_tip")
    close(sixd.pose(there, there.neutral(), "a_world")[:3, 3], [0, 2, 0])
    assert there.constraints[1].joints == ("a_link2", "a_link1")

    with pytest.warns(sixd.ModelWarning, match="'coupler_end' is left behind"):
        assert bar.submodel("rocker").constraints == ()
    assert bar.lock({"crank": 1.0}).constraints == bar.constraints
    own = constrained(sixd.zoo.planar(2), sixd.Holonomic(lambda q: q[0] - q[1], "equal"))
    with pytest.warns(sixd.ModelWarning, match="q has other coordinates now"):
        assert own.lock({"link1": 0.0}).constraints == ()


def test_symbols_in_constraints():
    """A symbolic length is a parameter of the model like any other."""
    length = sp.Symbol("l", positive=True)
    model = constrained(sixd.zoo.planar(2), sixd.Distance("world", "tip", length))
    assert model.symbols == (length,)
    q = np.array([0.3, 2.0])
    close(sixd.constraint_error(model.substitute({length: 1.0}), q), [np.cos(1.0) ** 2 * 2 - 0.5])
    with pytest.raises(sixd.ScalarTypeError, match="symbolic parameters l"):
        sixd.constraint_error(model, q)
    kernel = sixd.compile(sixd.constraint_error, model, parameters=("l",))
    close(kernel(q, 1.0), [np.cos(1.0) ** 2 * 2 - 0.5])
    dynamics = sixd.compile(sixd.constrained_dynamics, model, parameters=("l",))
    expected = sixd.constrained_dynamics(model.substitute({length: 1.0}), q, [1.0, 0.0], [0.0, 0.0])
    close(dynamics(q, np.array([1.0, 0.0]), np.zeros(2), 1.0)[0], expected[0])


def test_loop_leaves_out_what_carries_both_frames():
    """Rows of a loop between two branches have zeros for the joints below both, exactly."""
    bar = sixd.zoo.planar(3).attach(sixd.zoo.four_bar(), "link3", prefix="bar_")
    A = sixd.constraint_jacobian(bar, np.linspace(0.1, 0.6, 6))
    assert not A[:, :3].any()
    assert A[:, 3:].any(axis=0).all()


@pytest.mark.parametrize("angle", [0.0, 1.0, np.pi / 2, 3.0, np.pi])
def test_a_hinge_closes_at_every_angle(angle):
    """Rows of a hinge do not depend on how far it is open, half a turn included: rotations across it are w_x and w_y."""
    builder = sixd.ModelBuilder("one")
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_constraint(sixd.Loop("world", "body", "axis"))
    model = builder.build()
    q = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2), 0, 0, 0])
    A = sixd.constraint_jacobian(model, q)
    R = axis_rotation((0, 0, 1), angle)
    close(sixd.constraint_error(model, q), np.zeros(5))
    close(A[:2], np.hstack([R[:2], np.zeros((2, 3))]))  # world components of ω, given in body axes
    assert np.linalg.matrix_rank(A) == 5


# bad input -----------------------------------------------------------------------------------------


def add(constraint):
    return lambda: constrained(sixd.zoo.planar(2), constraint)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (add(sixd.Loop("tipp", "world")), sixd.UnknownNameError, "no frame named 'tipp'. Did you mean 'tip'"),
        (add(sixd.Coupling("link3", "link1", sin)), sixd.UnknownNameError, "no joint named 'link3'. Did you mean"),
        (lambda: sixd.Loop("a", "b", "planer"), sixd.UnknownNameError, "no word named 'planer'. Did you mean 'planar'"),
        (lambda: sixd.Loop("a", "b", ("x", "w")), sixd.UnknownNameError, "no direction named 'w'"),
        (lambda: sixd.Loop("a", "b", ("x", "x")), sixd.ModelError, "expected at least one, each once"),
        (lambda: sixd.Loop("a", "b", ()), sixd.ModelError, "expected at least one, each once"),
        (lambda: sixd.Loop("a", "b", sixd.Revolute), sixd.ScalarTypeError, "directions is <class .*Revolute'>, expected a word .*hinge about z is 'axis'"),
        (lambda: sixd.Loop("a", "b", sixd.Revolute("z")), sixd.ScalarTypeError, "directions is Revolute.*, expected a word"),
        (lambda: sixd.Loop("a", "b", 3), sixd.ScalarTypeError, "directions is 3, expected a word"),
        (lambda: sixd.Distance("a", "b", -1.0), sixd.ModelError, "length is -1.0, expected a number above 0"),
        (lambda: sixd.Rolling("a", np.nan), sixd.ModelError, "radius is nan, expected a finite number"),
        (lambda: sixd.Rolling("a", 1.0, "w"), sixd.ModelError, "axis is 'w', expected 'x', 'y', 'z' or three"),
        (lambda: sixd.RollingSphere("a", 0), sixd.ModelError, "radius is 0, expected a number above 0"),
        (lambda: sixd.Coupling("a", "a", sin), sixd.ModelError, "expected some dependent ones, each joint once"),
        (lambda: sixd.Coupling("a", "b", 3.0), sixd.ScalarTypeError, "function is 3.0, expected a function"),
        (lambda: sixd.Holonomic(3.0), sixd.ScalarTypeError, "function is 3.0, expected a function"),
        (lambda: sixd.Pfaffian(sin, 2.0), sixd.ScalarTypeError, "function is 2.0, expected a function"),
    ],
)  # fmt: skip
def test_refused_when_made(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (sixd.Holonomic(lambda q: np.zeros((2, 2)), "four"), r"Holonomic\(four\): its function gives shape \(2, 2\)"),
        (sixd.Pfaffian(lambda q: np.zeros((1, 3)), name="wide"), r"wide\): .* shape \(1, 3\), expected \(k, 2\)"),
        (sixd.Pfaffian(lambda q: q[None], lambda t: [t, t]), r"its rate gives shape \(2,\), expected \(1,\)"),
        (sixd.Coupling("link2", "link1", lambda y: [1, 2, 3]), r"gives another number of values|gives shape \(3,\)"),
    ],
)
def test_wrong_shapes_of_own_functions(constraint, message):
    model = constrained(sixd.zoo.planar(2), constraint)
    with pytest.raises(sixd.ModelError, match=message):
        sixd.constrained_dynamics(model, [0.1, 0.2], [0, 0], [0, 0])


def test_dependent_joints_live_on_the_real_line():
    with pytest.raises(
        sixd.ModelError, match="makes joint 'joint1' dependent, a Spherical, expected joints with coord"
    ):
        constrained(
            sixd.zoo.random_tree(0, kinds=("spherical", "revolute")),
            *(sixd.Coupling(j, k, sin) for j, k in (("joint1", "joint2"), ("joint2", "joint1"))),
        )


def test_systems_without_frames_are_reported():
    class Line(sixd.constraints.reduced_model.System):
        name, nq, nv, constraints, joint_names = "line", 1, 1, (sixd.Loop("a", "b"),), ("x",)

    with pytest.raises(sixd.ModelError, match=r"Loop\(a, b\): 'line' is a system without bodies and frames"):
        Line().constraints[0].position(Line(), np.zeros(1))


def test_no_warning_on_the_way():
    """Building and evaluating constraints is silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bar = sixd.zoo.four_bar()
        sixd.constrained_dynamics(bar, sixd.assemble(bar, [1.0, -0.5, 1.6]), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("kind", ["holonomic", "weld", "pfaffian", "rolling"])
def test_rows_can_be_differentiated_again(kind, rng):
    """The rate of A itself, by dual numbers through its own derivation: dA/dt qd is ``bias``."""
    from sixd.spatial.dual import duals, parts

    model, c = TREES[2], KINDS[kind]
    q, qd, _ = next(iter(states(model, rng)))
    A, rate = parts(c.jacobian(model, duals(q, model.configuration_rate(q, qd))))
    close(A.astype(float), c.jacobian(model, q))
    close(rate.astype(float) @ qd, c.bias(model, q, qd), tolerance=1e-11)


# rows that are zero everywhere -------------------------------------------------------------------------


def four_bar_about(axis, closed_by, crank=0.5):
    builder = sixd.ModelBuilder("four_bar", (0, 0, -9.81))
    for name, parent, at, length in (("crank", "world", 0, crank), ("coupler", "crank", crank, 2), ("rocker", "world", 2, 1.5)):  # fmt: skip
        rod = sixd.rod(1.0, mass=1.0, axis="x")
        builder.add_body(name, parent, sixd.Revolute(axis), placement=sixd.placement((at, 0, 0)), inertia=rod)
        builder.add_frame(f"{name}_end", name, sixd.placement((length, 0, 0)))
    builder.add_constraint(sixd.Loop("coupler_end", "rocker_end", closed_by))
    return builder.build()


@pytest.mark.parametrize(
    ("axis", "closed_by", "crank", "rows"),
    [("y", "planar", 0.5, "2 of 2"), ("x", "planar", 0.5, "1 and 2 of 2"), ("y", "y", 0.5, "1 of 1"),
     ("y", "planar", sp.Symbol("l"), "2 of 2"), ("z", ("x", "y", "rx"), 0.5, "3 of 3")],
)  # fmt: skip
def test_rows_that_are_zero_everywhere_warn(axis, closed_by, crank, rows):
    """A linkage in the xz-plane closed in x and y has one degree of freedom too many."""
    message = (
        rf"^build: equation {rows} of Loop\(frame_a='coupler_end'.* is zero in every configuration, expected one that"
    )
    with pytest.warns(sixd.ModelWarning, match=message) as found:
        four_bar_about(axis, closed_by, crank)
    assert len(found) == 1
    assert found[0].filename == __file__


def test_rows_that_may_be_zero_do_not_warn():
    """A joint in space closes a planar linkage; wheels roll on planar bases; small rows are not zero."""
    for axis, closed_by, freedoms in (("z", "planar", 1), ("y", ("x", "z"), 1), ("y", "point", 1), ("z", "axis", 1)):
        assert sixd.mobility(four_bar_about(axis, closed_by)).freedoms == freedoms
    sixd.zoo.planar(2).with_constraints(sixd.Holonomic(lambda q: [1e-20 * (q[0] - q[1] - 1)]))


def test_users_functions_that_are_zero_warn():
    arm = sixd.zoo.planar(2)
    with pytest.warns(
        sixd.ModelWarning, match="^with_constraints: equation 2 of 2 of Holonomic.* is zero in every"
    ) as found:
        arm.with_constraints(sixd.Holonomic(lambda q: [q[0] - q[1], 0 * q[0]]))
    assert found[0].filename == __file__


def test_functions_that_fail_raise_where_they_are_used():
    model = sixd.zoo.planar(2).with_constraints(sixd.Holonomic(lambda q: [q[7]]))
    with pytest.raises(sixd.ModelError, match="its function fails"):
        sixd.constraint_error(model, [0.1, 0.2])
