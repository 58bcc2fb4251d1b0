"""Forces of thrusters and motors: input matrices, their inverse, limits."""

import pickle

import numpy as np
import pytest
import sympy as sp

import samples
import sixd
from sixd.symbolic.echelon import is_zero

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more

q1, q2, u1, u2, r = sp.symbols("q1 q2 u1 u2 r")
s, c = sp.sin, sp.cos
TIP = (q2 * c(q1), q2 * s(q1))  # of the RP arm


def close(a, b, tolerance=1e-12):
    return np.abs(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)).max() <= tolerance


def jets(model=None, **options):
    """Forces on the second link of the RP arm along the world's x and y axes."""
    axes = [(1, 0, 0), (0, 1, 0)]
    thrusters = [
        sixd.Thruster("link2", d, expressed_in="aligned", name=n, **options) for d, n in zip(axes, "xy", strict=True)
    ]
    return sixd.Actuation(model or sixd.zoo.rp_arm(), thrusters)


# ---------------------------------------------------------------------------- table D, thrusters


def test_thrusters_of_the_rp_arm():
    """u = Jᵀf with Jᵀ = [-q2 s1, q2 c1; c1, s1], of determinant -q2: from positions, and from a model."""
    expected = sp.Matrix([[-q2 * s(q1), q2 * c(q1)], [c(q1), s(q1)]])
    T = sixd.point_forces(TIP, (q1, q2))
    assert expected == T
    assert is_zero(T.det() + q2)
    model = sixd.zoo.rp_arm(*sp.symbols("m1 m2 I1 I2 r1 g"))
    assert sp.Matrix(jets(model).matrix(np.array([q1, q2]))) == expected


def test_lagrange_takes_the_input_matrix(rng):
    """The RP arm by energies with these inputs accelerates as the model under T f."""
    arm = sixd.zoo.rp_arm()
    closed = sixd.equations(arm)
    T = sixd.point_forces(TIP, (q1, q2))
    system = sixd.lagrange(closed.T, closed.V, list(closed.q), inputs=T)
    q, f = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
    numbers = np.array(system.input_matrix.subs(dict(zip((q1, q2), q, strict=True))).tolist(), dtype=float)
    assert close(jets(arm).generalized(q, f), numbers @ f)


def test_the_error_names_the_singular_place():
    """At q2 = 0 no force turns the arm: rank one, and what is left over is said."""
    with pytest.raises(
        sixd.SingularError, match=r"cannot produce tau: 1 of 1 is left over at 'link1'.*rank 1 there"
    ) as caught:
        jets().allocate([0.6, 0.0], [1.0, 0.0])
    assert str(caught.value).startswith("Actuation.allocate: ")
    pull = [np.cos(0.6), np.sin(0.6)]
    assert close(jets().allocate([0.6, 0.0], [0.0, 1.0]), pull)  # along the arm they can
    with pytest.raises(sixd.SingularError, match="u1 is left over, and the input matrix .* has rank 1"):
        jets(sixd.zoo.rp_arm(r)).allocate(np.array([q1, sp.Integer(0)]), np.array([u1, u2]))


def test_forces_in_symbols():
    """T⁻¹u = (c1 u2 - s1 u1/q2, s1 u2 + c1 u1/q2)."""
    f = jets(sixd.zoo.rp_arm(r)).allocate(np.array([q1, q2]), np.array([u1, u2]))
    expected = [c(q1) * u2 - s(q1) * u1 / q2, s(q1) * u2 + c(q1) * u1 / q2]
    assert all(is_zero(a - b) for a, b in zip(f, expected, strict=True))


# ---------------------------------------------------------------------------- forces at points


@pytest.mark.parametrize("kind", [tuple, sp.Matrix, sp.ImmutableMatrix, np.array])
def test_points_of_any_kind(kind):
    expected = sixd.point_forces(TIP, (q1, q2))
    assert sixd.point_forces(kind(TIP), kind([q1, q2])) == expected
    assert sixd.point_forces([kind(TIP)], (q1, q2), [[kind((1, 0)), kind((0, 1))]]) == expected


def test_directions_may_turn_with_a_body():
    across = (-s(q1), c(q1))
    assert sp.Matrix([q2, 0]) == sixd.point_forces(TIP, (q1, q2), across)
    assert sp.Matrix([[q2, 0], [0, 1]]) == sixd.point_forces(TIP, (q1, q2), [across, (c(q1), s(q1))])


def test_several_points():
    points = [TIP, (r * c(q1), r * s(q1))]
    T = sixd.point_forces(points, (q1, q2))
    assert T.shape == (2, 4)
    assert list(T[:, 2:]) == [-r * s(q1), r * c(q1), 0, 0]
    assert sixd.point_forces(points, (q1, q2), [(1, 0), (0, 1)]) == T[:, [0, 3]]
    assert sixd.point_forces([sp.Matrix([q1, q2, 0])], (q1, q2)).shape == (2, 3)


POINT_MISTAKES = [
    ((TIP, (q1, q2), [(1, 0, 0)]), sixd.ShapeError, "direction has 3 components, expected 2"),
    (([TIP, TIP], (q1, q2), [(1, 0)]), sixd.ShapeError, "directions has 1 entries, expected 2, one for each point"),
    ((3, (q1, q2)), sixd.ShapeError, "positions is 3, expected a vector"),
    ((q1, (q1, q2)), sixd.ShapeError, "positions is q1, expected a vector"),
    (((q1,), (q1, q2)), sixd.ShapeError, "position has 1 components, expected 2 or 3"),
    (((q1, sp.Symbol("qd1")), (q1, q2)), sixd.ModelError, "positions contains the velocity qd1"),
]


@pytest.mark.parametrize(("given", "error", "message"), POINT_MISTAKES, ids=lambda v: str(v)[:30])
def test_mistakes_with_points_raise_errors(given, error, message):
    with pytest.raises(error, match=message):
        sixd.point_forces(*given)


# ---------------------------------------------------------------------------- laws over models


@pytest.mark.parametrize("expressed_in", ["body", "aligned"])
@pytest.mark.parametrize("model", samples.trees()[:2], ids=lambda m: m.name)
def test_thrusters_do_what_external_forces_do(model, expressed_in, rng):
    """T f is what ``inverse_dynamics`` saves when the same forces are given as f_ext; and its power is f · v."""
    frames = [model.body_names[-1], model.body_names[len(model.body_names) // 2]]
    given = [(f, rng.standard_normal(3), rng.uniform(-0.5, 0.5, 3)) for f in frames]
    actuation = sixd.Actuation(model, [sixd.Thruster(f, d, p, expressed_in=expressed_in) for f, d, p in given])
    q, qd, qdd = next(samples.states(model, rng))
    f = rng.standard_normal(2)
    wrench, power = 0, 0
    for size, (frame, d, p) in zip(f, given, strict=True):
        pose = sixd.pose(model, q, frame)
        force = size * d / np.linalg.norm(d)
        force = pose[:3, :3] @ force if expressed_in == "body" else force
        at = pose[:3, 3] + pose[:3, :3] @ p
        wrench = wrench + sixd.external_force(model, q, frame, force, point=at)
        w, v = np.split(sixd.velocity(model, q, qd, frame, expressed_in="aligned"), 2)
        power += force @ (v + np.cross(w, pose[:3, :3] @ p))
    saved = sixd.inverse_dynamics(model, q, qd, qdd) - sixd.inverse_dynamics(model, q, qd, qdd, f_ext=wrench)
    tau = actuation.generalized(q, f)
    scale = 1 + np.abs(sixd.inverse_dynamics(model, q, qd, qdd)).max()
    assert close(tau, saved, 1e-12 * scale)
    assert close(actuation.matrix(q) @ f, tau, 1e-13 * scale)
    assert close(tau @ qd, power, 1e-12 * scale)


def quadrotor():
    """A free body with four rotors that push along its z axis; yaw by their drag is left out."""
    builder = sixd.ModelBuilder("quadrotor")
    builder.add_body("hull", "world", sixd.Free(), inertia=sixd.Inertia(1.2, (0, 0, 0), (0.01, 0.012, 0.02)))
    at = [(0.2, 0, 0), (0, 0.2, 0), (-0.2, 0, 0), (0, -0.2, 0)]
    rotors = [sixd.Thruster("hull", (0, 0, 1), p, limits=(0, 6), name=f"rotor{k}") for k, p in enumerate(at)]
    model = builder.build()
    return model, sixd.Actuation(model, rotors)


def test_a_quadrotor_hovers(rng):
    """Level, a quarter of the weight each; a force that it cannot produce (a side force, yaw) is an error."""
    model, actuation = quadrotor()
    q = model.neutral()
    assert close(actuation.feedback(q, np.zeros(6), np.zeros(6)), np.full(4, 1.2 * 9.81 / 4))
    with pytest.raises(
        sixd.SingularError, match=r"of -?[\d.]+ is left over at 'hull\[4\]', and the input matrix \(6, 4\) has rank 3"
    ):
        actuation.feedback(q, np.zeros(6), [0, 0, 0, 0, 1, 0])
    low, high = actuation.bounds(q)
    assert close(low, [-1.2, -1.2, 0, 0, 0, 0])
    assert close(high, [1.2, 1.2, 0, 0, 0, 24])


def test_feedback_produces_the_acceleration(rng):
    """forward_dynamics under T f gives back q̈, for a batch of states."""
    arm = sixd.zoo.rp_arm()
    actuation = jets(arm)
    q, qd, qdd = rng.uniform(0.3, 1, (3, 5, 2))
    f = actuation.feedback(q, qd, qdd)
    assert f.shape == (5, 2)
    assert close(sixd.forward_dynamics(arm, q, qd, actuation.generalized(q, f)), qdd, 1e-10)


def test_least_norm(rng):
    """Of all f with T f = τ, that of NumPy's pseudo-inverse; more inputs than DoF."""
    arm = sixd.zoo.two_link_arm()
    actuation = sixd.Actuation(
        arm,
        [sixd.Motor("link1", gear=50), sixd.Motor("link2", gear=-20), sixd.Thruster("link2", (1, 2, 0), (0.3, 0, 0))],
    )
    q, tau = rng.uniform(-1, 1, (4, 2)), rng.uniform(-1, 1, (4, 2))
    f = actuation.allocate(q, tau)
    assert close(f, (np.linalg.pinv(actuation.matrix(q)) @ tau[..., None])[..., 0])
    assert close(actuation.generalized(q, f), tau)
    one = sixd.Actuation(sixd.zoo.two_link_arm(r), actuation.actuators)
    symbolic = one.allocate(np.array([q1, q2]), np.array([u1, u2]))
    values = dict(zip((q1, q2, u1, u2), [*q[0], *tau[0]], strict=True))
    assert close([float(e.subs(values)) for e in symbolic], f[0], 1e-9)  # roots of a direction, cancelled by hand


def test_impossible_rows_alone_are_nan():
    q, tau = [[0.6, 0.0], [0.6, 0.5], [np.nan, 0.5]], [1.0, 2.0]
    f = jets().allocate(q, tau, strict=False)
    assert np.isnan(f).all(axis=1).tolist() == [True, False, True]
    assert close(jets().generalized(q[1], f[1]), tau)
    with pytest.raises(sixd.SingularError, match=r"in state \(0,\)"):
        jets().allocate(q, tau)
    assert np.isnan(jets().allocate(q[2], tau)).all()  # NaN in, NaN out


def test_too_few_inputs_raise_an_error():
    one = sixd.Actuation(sixd.zoo.two_link_arm(), [sixd.Motor("link1")])
    assert close(one.allocate([0.1, 0.2], [3.0, 0.0]), [3.0])
    with pytest.raises(
        sixd.SingularError, match="2 of 2 is left over at 'link2', and there are 1 inputs for 2 joint forces"
    ):
        one.allocate([0.1, 0.2], [1.0, 2.0])
    assert np.isnan(one.feedback([0.1, 0.2], [0, 0], [1, 1], strict=False)).all()


# ---------------------------------------------------------------------------- limits


def test_bounds_hold_and_are_reached(rng):
    """Random inputs within limits stay within, and the corners of the box reach each bound."""
    actuation = jets(limits=(-1, 2))
    q = rng.uniform(0.2, 1, 2)
    low, high = actuation.bounds(q)
    tau = actuation.generalized(q, rng.uniform(-1, 2, (500, 2)))
    assert (tau >= low).all()
    assert (tau <= high).all()
    corners = actuation.generalized(q, [[-1, -1], [-1, 2], [2, -1], [2, 2]])
    assert close(corners.min(axis=0), low)
    assert close(corners.max(axis=0), high)


def test_inputs_that_do_not_reach_a_joint_do_not_bound_it():
    """0 · inf is nothing: an unlimited thruster along the arm gives no torque; cos 90° is rounding, not a way."""
    along = sixd.Actuation(sixd.zoo.rp_arm(), [sixd.Thruster("link2", (1, 0, 0))])
    low, high = along.bounds([0.3, 0.8])
    assert (low.tolist(), high.tolist()) == ([0, -np.inf], [0, np.inf])
    low, high = jets(limits=(0, np.inf)).bounds([np.pi / 2, 0.8])
    assert (low.tolist(), high.tolist()) == ([-np.inf, 0], [0, np.inf])
    with pytest.raises(sixd.ScalarTypeError, match="Actuation.bounds: q holds symbols"):
        along.bounds(np.array([q1, q2]))


def test_clip():
    actuation = jets(limits=(-1, 2))
    assert actuation.clip([0.1, 0.2], [-3, 1.5]).tolist() == [-1, 1.5]
    assert actuation.clip(np.zeros((3, 2)), [5, 5]).tolist() == [[2, 2]] * 3
    assert [x.tolist() for x in actuation.limits] == [[-1, -1], [2, 2]]


# ---------------------------------------------------------------------------- arrays and kernels


def test_batches_dtypes_and_traces(rng):
    actuation = jets()
    q, f = rng.uniform(0.2, 1, (2, 3, 2)), rng.uniform(-1, 1, (3, 2))
    T = actuation.matrix(q)
    assert T.shape == (2, 3, 2, 2)
    assert close(T[1, 2], actuation.matrix(q[1, 2]), 0)
    assert close(actuation.generalized(q, f), (T @ f[..., None])[..., 0])
    small = actuation.matrix(q.astype(np.float32))
    assert small.dtype == np.float32
    assert close(small, T, 1e-6)  # float32
    back = actuation.allocate(q.astype(np.float32), actuation.generalized(q, f).astype(np.float32))
    assert back.dtype == np.float32
    assert close(back, np.broadcast_to(f, back.shape), 1e-5)  # float32

    def damped(q, qd):
        return actuation.generalized(q, -qd)

    kernel = sixd.compile(damped, actuation.model)
    assert close(kernel(q[0, 0], f[0]), -T[0, 0] @ f[0])


def test_no_inputs_and_names():
    none = sixd.Actuation(sixd.zoo.rp_arm(), [])
    assert none.m == 0
    assert none.matrix([0.1, 0.2]).shape == (2, 0)
    assert close(none.generalized([0.1, 0.2], np.zeros(0)), [0, 0])
    two = sixd.Actuation(sixd.zoo.rp_arm(), [sixd.Motor("link1"), sixd.Motor("link2", name="slide")])
    assert two.names == ("f0", "slide")
    assert repr(two) == "<Actuation of 'rp_arm': inputs f0, slide>"


def test_motors_on_joints_of_several_dofs():
    builder = sixd.ModelBuilder("wrist")
    builder.add_body("hand", "world", sixd.Universal(), inertia=sixd.point(1.0, (0, 0, 0.1)), joint_name="wrist")
    actuation = sixd.Actuation(builder.build(), [sixd.Motor("wrist", gear=3, freedom=1)])
    assert actuation.matrix([0.1, 0.2]).tolist() == [[0], [3]]


def test_it_can_be_pickled():
    actuation = jets(limits=(0, 1))
    actuation.matrix([0.1, 0.2])  # compiled code stays behind
    other = pickle.loads(pickle.dumps(actuation))
    assert other.actuators == actuation.actuators
    assert close(other.matrix([0.1, 0.2]), actuation.matrix([0.1, 0.2]), 0)


def test_symbols_in_thrusters():
    lever = sixd.Actuation(
        sixd.zoo.planar(1), [sixd.Thruster("link1", (0, 1, 0), (r, 0, 0)), sixd.Motor("link1", gear=u1)]
    )
    (row,) = lever.matrix([0.3])
    assert is_zero(row[0] - r)
    assert is_zero(row[1] - u1)


def arm():
    return sixd.zoo.rp_arm()


MISTAKES = [
    (
        lambda: sixd.Thruster("link2", (0, 0, 0)),
        sixd.ShapeError,
        "Thruster 'link2': direction is .*expected a non-zero",
    ),
    (lambda: sixd.Thruster("link2", (1, 0)), sixd.ShapeError, r"direction has shape \(2,\), expected \(3,\)"),
    (lambda: sixd.Thruster("link2", "x"), sixd.ScalarTypeError, "direction is 'x'"),
    (lambda: sixd.Thruster("link2", (1, 0, 0), (1, 2)), sixd.ModelError, r"point has shape \(2,\)"),
    (lambda: sixd.Thruster("link2", (1, 0, 0), limits=(1, 0)), sixd.ModelError, "limits are .*expected lower ≤ upper"),
    (lambda: sixd.Thruster("link2", (1, 0, 0), limits=3), sixd.ModelError, "limits are 3, expected two numbers"),
    (lambda: sixd.Thruster("link2", (1, 0, 0), limits=(np.nan, 1)), sixd.ModelError, "expected lower ≤ upper"),
    (lambda: sixd.Thruster("link2", (1, 0, 0), expressed_in="world"), sixd.UnknownNameError, "no choice named 'world'"),
    (lambda: sixd.Motor("link1", gear=0), sixd.ModelError, "gear is 0, expected a finite number other than 0"),
    (lambda: sixd.Motor("link1", gear=np.inf), sixd.ModelError, "gear is inf"),
    (lambda: sixd.Actuation(arm(), [sixd.Thruster("tool", (1, 0, 0))]), sixd.UnknownNameError, "no frame named 'tool'"),
    (lambda: sixd.Actuation(arm(), [sixd.Thruster("world", (1, 0, 0))]), sixd.ModelError, "fixed to the world"),
    (lambda: sixd.Actuation(arm(), [sixd.Motor("elbow")]), sixd.UnknownNameError, "no joint named 'elbow'"),
    (
        lambda: sixd.Actuation(arm(), [sixd.Motor("link1", freedom=1)]),
        sixd.ModelError,
        "DoF 1 of joint 'link1', which has 1",
    ),
    (
        lambda: sixd.Actuation(arm(), ["link1"]),
        sixd.ScalarTypeError,
        "got 'link1', expected a sixd.Thruster or a sixd.Motor",
    ),
    (lambda: sixd.Actuation(arm(), 3), sixd.ScalarTypeError, "actuators are 3, expected a list"),
    (lambda: sixd.Actuation("arm", []), sixd.ScalarTypeError, "Actuation: model is a str"),
    (lambda: jets().matrix([1.0]), sixd.ShapeError, r"q has shape \(1,\)"),
    (lambda: jets().generalized([1.0, 1.0], [1.0]), sixd.ShapeError, r"f has shape \(1,\)"),
    (
        lambda: jets().clip([1.0, 1.0], [1.0]),
        sixd.ShapeError,
        r"Actuation.clip: f has shape \(1,\), expected \(..., 2\)",
    ),
    (lambda: jets().allocate([1.0, 1.0], [1.0]), sixd.ShapeError, r"Actuation.allocate: tau has shape \(1,\)"),
    (lambda: jets(sixd.zoo.rp_arm(r)).matrix([1.0, 1.0]), sixd.ScalarTypeError, "symbolic parameters r"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES, ids=lambda v: "" if callable(v) else str(v)[:40])
def test_mistakes_raise_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
