"""What would be wrong in silence: branches in users' functions, other ranks, stale symbols, float32, roots."""

import dataclasses
import pickle

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.spatial import cos, exp, sin, sqrt, where
from sixd.symbolic import canonical

ARM = sixd.zoo.planar(2)


def bound(function):
    return dataclasses.replace(ARM, constraints=(sixd.Holonomic(function),))


@pytest.mark.parametrize(
    "function",
    [
        lambda q: [q[1] - max(q[0], 0)],
        lambda q: [q[1] if q[0] > 0 else q[0]],
        lambda q: [q[1] - np.where(q > 0, q, -q)[0]],
    ],
    ids=["max", "if", "np.where"],
)
def test_branches_in_a_users_function_are_refused(function):
    for call in (sixd.constraint_jacobian, sixd.constraint_error):
        with pytest.raises(sixd.TraceError, match="asked whether it is true"):
            call(bound(function), [1.0, 1.0])


def test_branches_by_where_are_differentiated(rng):
    model = bound(lambda q: [q[1] - where(q[0] > 0, q[0] * q[0], -q[0])])
    np.testing.assert_allclose(sixd.constraint_jacobian(model, [[2.0, 0.0], [-2.0, 0.0]])[:, 0], [[-4, 1], [1, 1]])
    model = bound(lambda q: [q[1] - where(q[0] == 0, 1 + 0 * q[0], sin(q[0]) / where(q[0] == 0, 1, q[0]))])
    np.testing.assert_allclose(sixd.constraint_jacobian(model, [0.0, 1.0]), [[0, 1]], atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dead_centres_in_both_dtypes(dtype):
    rhombus = sixd.zoo.four_bar(1.0, 1.0, 1.0, 1.0)
    q = np.array([[np.pi, -np.pi, np.pi], [0, 0, 0], [1.0, -1.0, 1.0]], dtype=dtype)
    qdd, lam = sixd.constrained_dynamics(rhombus, q, np.zeros(3, dtype), np.zeros(3, dtype))
    assert qdd.dtype == dtype
    assert np.isnan(qdd[:2]).all()
    assert np.isnan(lam[:2]).all()
    assert np.isfinite(qdd[2]).all()


def test_far_from_where_the_rank_was_found():
    """Rows that are small there for other reasons than a dead centre."""
    model = bound(lambda q: [exp(q[0]) - exp(q[1])])
    qdd, _ = sixd.constrained_dynamics(model, [-20.0, -20.0], np.zeros(2), np.ones(2))
    assert qdd[0] == pytest.approx(qdd[1], rel=1e-12)


def test_a_start_with_zero_derivative_is_passed_over():
    model = bound(lambda q: [sqrt(q[0] * q[0] + q[1] * q[1]) - 1])
    assert sixd.mobility(model).freedoms == 1
    qdd, _ = sixd.constrained_dynamics(model, [0.6, 0.8], np.zeros(2), np.ones(2))
    assert qdd @ [0.6, 0.8] == pytest.approx(0, abs=1e-12)


def test_symbols_of_a_models_constraints_are_replaced():
    l = sp.Symbol("l")
    e = sixd.equations(sixd.zoo.four_bar(crank=l))
    assert canonical(e.substitute({l: 2 * l}).A[0, 1] - e.A[0, 1].subs(l, 2 * l)) == 0
    numeric, model = e.substitute({l: 0.5}), sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    expected = sixd.constrained_dynamics(model, q, np.zeros(3), np.ones(3))
    kernel = sixd.compile(sixd.constrained_dynamics, e, parameters=("l",))
    for got in (
        sixd.constrained_dynamics(numeric, q, np.zeros(3), np.ones(3)),
        kernel(q, np.zeros(3), np.ones(3), 0.5),
    ):
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_equations_can_be_pickled():
    e = sixd.equations(sixd.zoo.four_bar())
    again = pickle.loads(pickle.dumps(e))
    assert again.M == e.M
    assert again.V == e.V
    assert again.A == e.A


def test_time_in_closed_forms():
    x, y, vx, vy, t = sp.symbols("x y vx vy t")
    system = sixd.lagrange((vx**2 + vy**2) / 2, 0, [x, y], qd=[vx, vy], constraints=[vx - sp.sin(t)])
    assert system.constrained().qdd[0] == sp.cos(t)
    with pytest.raises(sixd.ModelError, match="depends on the time t.*Give its rate"):
        sixd.lagrange((vx**2 + vy**2) / 2, 0, [x, y], qd=[vx, vy], constraints=[x - sp.sin(t)])


def test_roots_of_fractions():
    """A spring between two points: the square of a root is what is under it."""
    x, v = sp.symbols("x xd")
    system = sixd.lagrange(v**2 / 2, 50 * (sp.sqrt(x**2 + sp.Rational(1, 4)) - sp.Rational(1, 2)) ** 2, [x])
    force = (50 * (sp.sqrt(x**2 + sp.Rational(1, 4)) - sp.Rational(1, 2)) ** 2).diff(x)
    assert float((system.g[0] - force).subs(x, 0.3)) == pytest.approx(0, abs=1e-12)
    for e in ((sp.sqrt(x + sp.Rational(1, 4)) + 1) ** 2, sp.sin(x + sp.pi / 5) ** 2, (sp.sqrt(x / 3 + 2) - x) ** 3):
        assert abs(sp.N((canonical(e) - e).subs(x, 0.3))) < 1e-12


class Own(sixd.Constraint):
    """A user's constraint that names nothing."""

    def position(self, system, q):
        return q[1:2] - 0.5


@dataclasses.dataclass(frozen=True)
class Level(sixd.Constraint):
    """A user's constraint that names a frame."""

    frame: str

    @property
    def frames(self):
        return (self.frame,)

    def position(self, system, q):
        from sixd.algorithms.kinematics import pose

        return pose(system, q, self.frame)[1:2, 3]


def test_constraints_that_name_nothing_are_dropped_with_a_warning():
    model = dataclasses.replace(ARM, constraints=(Own(),))
    with pytest.warns(sixd.ModelWarning, match="is dropped, since q has other coordinates"):
        assert model.lock({"link1": 0.1}).constraints == ()


def test_frames_of_a_users_constraint_are_renamed():
    model = dataclasses.replace(ARM, constraints=(Level("tip"),))
    both = model.attach(model, "tip", prefix="r_")
    assert [c.frame for c in both.constraints] == ["tip", "r_tip"]
    q = np.array([0.1, 0.2, 0.3, 0.4])
    expected = [np.sin(0.1) + np.sin(0.3), np.sin(0.1) + np.sin(0.3) + np.sin(0.6) + np.sin(1.0)]
    np.testing.assert_allclose(sixd.constraint_error(both, q), expected, rtol=1e-13)


def test_traced_functions_of_duals():
    """2ˣ, xˣ, x⁰ and x¹ at 0."""
    from sixd.spatial.dual import derivative

    point, along = np.array([0.7]), np.array([1.0])
    assert derivative(lambda x: 2**x, point, along)[1][0] == pytest.approx(2**0.7 * np.log(2))
    assert derivative(lambda x: x**x, point, along)[1][0] == pytest.approx(0.7**0.7 * (np.log(0.7) + 1))
    for n in (0, 1):
        assert derivative(lambda x, n=n: x**n, np.zeros(1), along)[1][0] == n
    assert derivative(lambda x: cos(x) ** 2, point, along)[1][0] == pytest.approx(-np.sin(1.4))


def test_rows_that_only_rounding_fills(rng):
    """Wheels on a planar base: their height cannot change, so these rows are nothing, and say nothing."""
    builder = sixd.ModelBuilder("drive")
    builder.add_body("base", "world", sixd.Planar(), inertia=sixd.Inertia(5.0, about_com=(0.1, 0.1, 0.2)))
    wheel = sixd.Inertia(0.5, about_com=(0.0015, 0.0025, 0.0015))
    for side, y in (("left", 0.2), ("right", -0.2)):
        builder.add_body(side, "base", sixd.Revolute("y"), placement=sixd.placement((0, y, 0.1)), inertia=wheel)
        builder.add_constraint(sixd.Rolling(side, 0.1))
    drive = builder.build()
    assert (sixd.mobility(drive).freedoms, sixd.mobility(drive).rank) == (2, 3)
    q, tau = rng.uniform(-1, 1, (2, 5))
    for at in (q, np.zeros(5)):
        qdd, _ = sixd.constrained_dynamics(drive, at, np.zeros(5), tau)
        A, M = sixd.constraint_jacobian(drive, at), sixd.mass_matrix(drive, at)
        right = np.concatenate([tau - sixd.bias_force(drive, at, np.zeros(5)), np.zeros(6)])
        expected = np.linalg.lstsq(np.block([[M, -A.T], [A, np.zeros((6, 6))]]), right, rcond=1e-12)[0][:5]
        np.testing.assert_allclose(qdd, expected, rtol=1e-10, atol=1e-11)


def test_errors_of_a_users_function_name_the_constraint():
    for function, message in (
        (lambda: 0, r"Holonomic\(<lambda>\): its function fails"),
        (lambda q: q[7], "out of bounds"),
        (lambda q: None, "returns None, expected numbers"),
    ):
        with pytest.raises(sixd.ModelError, match=message):
            sixd.constraint_error(bound(function), [0.0, 0.0])


def test_constraints_and_frames_for_a_model_at_hand():
    tall = ARM.with_frame("camera", "link2", sixd.placement((0, 0, 0.1)))
    assert "camera" in tall.frame_names
    held = tall.with_constraints(sixd.Loop("world", "camera", "x"), sixd.Mimic("link2", "link1"))
    assert len(held.constraints) == 2
    assert ARM.constraints == ()
    with pytest.raises(sixd.UnknownNameError, match="no frame named 'tipp'. Did you mean 'tip'"):
        ARM.with_constraints(sixd.Loop("world", "tipp"))
    with pytest.raises(sixd.ModelError, match="exists already"):
        ARM.with_frame("tip", "link2")


def test_what_cannot_be_assembled_is_said():
    far = ARM.with_constraints(sixd.Distance("world", "tip", 5.0))
    assert "no configuration was found" in str(sixd.mobility(far))
    with pytest.raises(sixd.AssemblyError, match=r"Distance\(world, tip\) is off by 10.5 in its own unit"):
        sixd.assemble(far, [0.1, 0.2])


def test_energies_that_depend_on_time_are_refused():
    theta, thetad, t, l = sp.symbols("theta thetad t l")
    with pytest.raises(sixd.ModelError, match=r"depend on the time by t.*constraint on its velocity"):
        sixd.lagrange(thetad**2 / 2, sp.cos(theta) * sp.sin(t), [theta])
    assert sixd.lagrange(thetad**2 / 2, t * theta, [theta], parameters=["t"]).g[0] == t  # a thickness, say
    angle, time = sp.Function("theta"), sp.Symbol("t")
    x = sp.cos(time) + l * sp.sin(angle(time))
    with pytest.raises(sixd.ModelError, match="depend on the time"):
        sixd.lagrange(x.diff(time) ** 2 / 2, 0, [angle(time)])
    with pytest.raises(sixd.ModelError, match="inputs contains the velocity thetad"):
        sixd.lagrange(thetad**2 / 2, 0, [theta], inputs=[[thetad]])


def test_unknown_functions():
    """A bead on the curve y = f(x)."""
    x, xd, m, f = *sp.symbols("x xd m"), sp.Function("f")
    bead = sixd.lagrange(m * (1 + f(x).diff(x) ** 2) * xd**2 / 2, m * f(x), [x])
    assert sp.simplify(bead.M[0] - m * (1 + f(x).diff(x) ** 2)) == 0
    assert sixd.is_holonomic([[f(x), 1, 0]], sp.symbols("x y z")).holonomic


def test_short_hand_is_not_ambiguous():
    q, qd = sp.symbols("q1:13"), sp.symbols("qd1:13")
    many = sixd.lagrange(sum(v**2 for v in qd), sp.cos(q[0] + q[1]) + sp.cos(q[11]), q).latex("g")
    assert "s_{1,2}" in many
    assert "s_{12}" in many
    named = sixd.lagrange(qd[0] ** 2, sp.Symbol("s1") * sp.cos(q[0]), [q[0]]).latex("g")
    assert "\\sin" in named
    theta, phi = sp.symbols("theta1 phi1")
    two = sixd.lagrange(sp.Symbol("thetad1") ** 2 + sp.Symbol("phid1") ** 2, sp.cos(theta) + sp.cos(phi), [theta, phi])
    assert "s_{1}" not in two.latex("g")


def test_new_coordinates_are_found():
    x, y, xd, yd, phi = sp.symbols("x y xd yd phi")
    point = sixd.lagrange((xd**2 + yd**2) / 2, y, [x, y], constraints=x**2 + y**2 - 1)
    assert list(point.eliminate({x: sp.cos(phi), y: sp.sin(phi)}).q) == [phi]


def test_half_angles_that_cancel():
    a = sp.Symbol("a")
    for e in (2 * sp.sin(a / 2) * sp.cos(a / 2) - sp.sin(a), sp.cos(50 * a) - 2 * sp.cos(25 * a) ** 2 + 1):
        assert canonical(e) == 0


@pytest.mark.long
def test_constrained_motion_of_a_loop_takes_a_moment():
    """A long result is left as it comes; it is right."""
    e = sixd.equations(sixd.zoo.four_bar())
    qdd, _ = e.constrained([0, 0, 0])
    q = sixd.assemble(e, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    table = dict(zip([*e.q, *e.qd], [*q, 0, 0, 0], strict=True))
    assert float(qdd[0].xreplace(table)) == pytest.approx(-7.8296390369, rel=1e-9)


def test_small_traps():
    x, xd, y, t = sp.symbols("x xd y t")
    with pytest.raises(sixd.ModelError, match="Is I meant as a moment of inertia"):
        sixd.lagrange(sp.I * xd**2 / 2, 0, [x])
    with pytest.raises(sixd.ShapeError, match="linearize: q is .*expected finite numbers"):
        sixd.lagrange(xd**2 / 2, x**2, [x]).linearize([float("nan")])
    for kind in (lambda: sixd.Loop("tip", "tip"), lambda: sixd.Distance("tip", "tip", 1.0)):
        with pytest.raises(sixd.ModelError, match="both frames are 'tip'"):
            kind()
    with pytest.raises(sixd.ModelError, match="depends on the time besides the coordinates"):
        sixd.body_energy(1, (t, y), (y,))
    angle = sp.Function("theta")(t)  # a coordinate that is a function of time is none of these
    assert sixd.body_energy(1, (sp.cos(angle), sp.sin(angle)), (angle,))[0] == angle.diff(t) ** 2 / 2


def test_assembly_does_not_depend_on_the_scale_of_a_constraint():
    for scale in (1.0, 1e-20, 1e20):
        model = bound(lambda q, scale=scale: [scale * (q[0] - q[1] - 1)])
        q = sixd.assemble(model, [0.0, 0.0])
        assert q[0] - q[1] == pytest.approx(1, abs=1e-10)


DOUBLE_ROOTS = {
    "square": lambda q: [(q[0] - q[1] - 0.3) ** 2, q[0] + q[2] - 0.5],
    "versine": lambda q: [1 - cos(q[0] - q[1] - 0.3), q[0] + q[2] - 0.5],
    "expanded": lambda q: [q[0] * q[0] - 2 * q[0] * q[1] + q[1] * q[1], q[0] + q[2] - 0.5],
}


@pytest.mark.many
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", DOUBLE_ROOTS)
def test_double_roots_are_nan(name, dtype):
    """φ = f²: its row of A vanishes wherever it is assembled, up to what rounding lets assembly leave (1e-8)."""
    arm = sixd.zoo.planar(3).with_constraints(sixd.Holonomic(DOUBLE_ROOTS[name]))
    q = sixd.assemble(arm, [0.3, 0.6, 0.9]).astype(dtype)
    qdd, lam = sixd.constrained_dynamics(arm, q, np.array([0.3, 0.2, 0.1], dtype), np.ones(3, dtype))
    assert np.isnan(qdd).all()
    assert np.isnan(lam).all()
    assert np.isnan(sixd.projections(arm, q)[0]).all()


def test_a_double_root_from_energies():
    x, y, xd, yd = sp.symbols("x y xd yd")
    system = sixd.lagrange((xd**2 + 2 * yd**2) / 2, 0, [x, y], qd=[xd, yd], constraints=[1 - sp.cos(x - y)])
    qdd, _ = sixd.constrained_dynamics(system, sixd.assemble(system, [0.4, 0.9]), [0.3, 0.2], [1.0, 1.0])
    assert np.isnan(qdd).all()


@pytest.mark.parametrize(
    ("function", "at"),
    [
        (lambda q: [1e-9 * (q[0] - q[1] - 1)], [0.95, -0.05]),
        (lambda q: [q[0] * q[0] - 1e-8 * q[1]], [1e-4, 1.0]),
        (lambda q: [(q[0] - q[1]) ** 2 * (q[0] + q[1] - 1)], [0.2, 0.8]),
    ],
    ids=["small", "narrow", "another branch"],
)
def test_small_rows_that_are_no_double_roots(function, at):
    """Small compared with others, narrow, or of a function with double roots elsewhere: A q̈ + dA/dt q̇ = 0 holds."""
    model = bound(function)
    A, qd = sixd.constraint_jacobian(model, at), np.zeros(2)
    qdd, _ = sixd.constrained_dynamics(model, at, qd, np.ones(2))
    assert np.abs(A @ qdd).max() <= 1e-12 * np.abs(A).max() * np.abs(qdd).max() + 1e-14 * np.abs(A).max()
