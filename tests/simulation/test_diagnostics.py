"""Warnings of simulations: dry friction, steps beyond a method's limit, and motions that diverge."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_array_equal

import sixd
from samples import METHODS
from sixd.simulation import diagnostics
from sixd.simulation.setup import make_setup
from sixd.simulation.stepping import stability
from sixd.simulation.stepping.fixed import Runner

RK4_DECAY = 2.785293563405282  # the real root of |1 + z + z²/2 + z³/6 + z⁴/24| = 1
RK4_SWING = 2 * np.sqrt(2)
# midpoint's iteration reduces an error to this part each time, so that 60 of them reach its tolerance
CONVERGES = (1e-20) ** (0.5 / 60)


def cart(rate=0.0, frequency=0.0, mass=2.0, name="cart", **options):
    """A mass on a rail that slows down at the rate d/m and oscillates at the frequency √(k/m)."""
    builder = sixd.ModelBuilder(name, (0, 0, 0))
    force = {"damping": rate * mass, "stiffness": frequency**2 * mass}
    builder.add_body("cart", "world", sixd.Prismatic("x"), inertia=sixd.Inertia(mass), **force, **options)
    return builder.build()


def warned(*args, **options):
    """Return the motion of a simulation, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sixd.SimulationWarning)
        motion = sixd.simulate(*args, **options)
    return motion, [str(w.message) for w in caught]


# starts -------------------------------------------------------------------------------------------


def test_a_start_in_degrees_is_reported():
    """For joints with limits, beyond them and beyond two turns: in every sample of a batch, once."""
    arm = sixd.zoo.panda_arm()
    degrees = np.array([0, 45, 0, -90, 0, 90, 0])
    _, (text,) = warned(arm, degrees, None, 1e-3)
    assert "simulate: q starts 'joint2' at 45 rad (limits -1.7628 … 1.7628), 'joint4' at -90 rad" in text
    assert "which look like degrees. Convert them: np.radians(q)" in text
    _, texts = warned(arm, np.stack([0 * degrees, degrees]), None, 1e-3)
    assert texts == [text]
    assert warned(arm, np.radians(degrees), None, 1e-3)[1] == []
    assert warned(arm, [0, 3, 0, -10, 0, 4, 0], None, 1e-3)[1] == []
    with pytest.warns(sixd.SimulationWarning, match="ensemble: q starts 'joint2' at 45 rad"):
        sixd.ensemble(arm, np.stack([0 * degrees, degrees]), None, 1e-3)


def test_turns_of_joints_without_limits_are_not_degrees():
    """Metres are not degrees either."""
    assert warned(sixd.zoo.pendulum(), [45.0], None, 1e-3)[1] == []
    assert warned(cart(limits=(-1, 1)), [45.0], None, 1e-3)[1] == []


# steps --------------------------------------------------------------------------------------------

LIMITS = [  # method, rate, frequency, limit of h times 1000
    ("rk4", 1000.0, 0.0, RK4_DECAY),
    ("rk4", 0.0, 1000.0, RK4_SWING),
    ("rk4", 2000.0, 1000.0, RK4_DECAY),  # critically damped: a double mode
    ("euler", 1000.0, 0.0, 2.0),
    ("euler", 0.0, 1000.0, 2.0),
    ("euler", 2000.0, 1000.0, 2 * np.sqrt(2) - 2),  # h²k + 2hd = 4 m
    ("midpoint", 1000.0, 0.0, 2 * CONVERGES),
    ("midpoint", 0.0, 1000.0, 2 * np.sqrt(CONVERGES)),
]


def test_the_list_has_every_method():
    """Except "implicit", which is stable with any step."""
    assert {method for method, *_ in LIMITS} == {*METHODS} - {"implicit"}, "LIMITS has the limits of each method"


@pytest.mark.parametrize(
    ("method", "rate", "frequency", "size"),
    [("rk4", 1000.0, 0.0, 2.5), ("rk4", 0.0, 1000.0, 2.6), ("euler", 1000.0, 0.0, 1.8), ("euler", 0.0, 1000.0, 1.8)],
)
def test_steps_that_are_always_reported(method, rate, frequency, size):
    """Round numbers beyond which users can rely on the warning, which names the joint and the method that helps."""
    h = 1.0005 * size / 1000
    _, (text,) = warned(cart(rate, frequency), [0.1], [1.0], h, dt=h, method=method)
    assert "joint 'cart'" in text
    assert text.endswith('method="implicit".')


@pytest.mark.parametrize(("method", "rate", "frequency", "limit"), LIMITS)
def test_limits_of_steps_are_the_known_ones(method, rate, frequency, limit):
    """Reported from 90 % of the limit on; the suggested step is below that, and beyond the limit the motion grows."""
    model, options = cart(rate, frequency), {"method": method}
    limit /= 1000
    for part, wrong in ((0.88, False), (0.92, True), (5.0, True)):
        h = part * limit
        _, texts = warned(model, [0.1], [1.0], 3 * h, dt=h, **options)
        steps = [text for text in texts if "is beyond" in text]
        assert len(steps) == wrong, texts
        if wrong:
            # the text has three digits; a double mode is known to the root of rounding
            assert float(steps[0].split(f"of method {method!r}, ")[1].split(" s:")[0]) == pytest.approx(limit, rel=1e-2)
            mode = f"a mode mostly of joint 'cart' {'decays' if rate else 'oscillates'} at "
            assert float(steps[0].split(mode)[1].split()[0]) == pytest.approx(1000, rel=1e-2)
            advised = float(steps[0].split("dt ≤ ")[1].split(",")[0])
            assert 0.9 * limit * 0.9 <= advised <= 0.9 * limit
            assert steps[0].endswith(', or method="implicit".')
    h = 0.88 * limit
    decayed, _ = warned(model, [0.1], [1.0], 300 * h, dt=h, **options)
    assert np.abs(decayed.qd[-1]).max() < 500  # it started with 100 m/s or less, which euler resolves roughly
    grown, _ = warned(model, [0.1], [1.0], 300 * 1.05 * limit, dt=1.05 * limit, **options)
    assert not np.abs(grown.qd[-1]).max() < 1e4


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint"])
def test_controllers_that_can_be_traced_count(method):
    """Their derivatives with respect to q and qd: like a spring and a damper of the same size."""
    limit = {"rk4": RK4_DECAY, "euler": 2.0, "midpoint": 2 * CONVERGES}[method] / 1000
    options = {"controller": lambda t, q, qd: -2000 * qd - q, "method": method}
    for part in (0.88, 0.92):
        _, texts = warned(cart(), [0.0], [1.0], 3 * part * limit, dt=part * limit, **options)
        assert len(texts) == (part > 0.9)
        if texts:
            assert f"beyond 90% of the limit of method {method!r}, {limit:.3g} s: by the controller" in texts[0]
    held = {**options, "sample_time": 0.92 * limit}
    assert (
        warned(cart(), [0.0], [1.0], limit, dt=0.92 * limit, **held)[1] == []
    )  # called with numbers: no known derivative


def chain():
    """Three joints, the last of which moves almost no mass; quaternions at the base."""
    builder = sixd.ModelBuilder("chain")
    builder.add_body("ball", "world", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=2.0))
    at = np.eye(4)
    at[2, 3] = -0.5
    builder.add_body("arm", "ball", sixd.Revolute("y"), inertia=sixd.sphere(0.1, mass=1.0), placement=at)
    light = sixd.Inertia(1e-4, (0, 0, 0), np.diag([1e-6] * 3))
    builder.add_body("finger", "arm", sixd.Revolute("z"), inertia=light, placement=at)
    return builder.build()


def test_the_joint_of_the_mode_is_named():
    """The finger's rate is kd/I = 1e5/s; a physically unstable motion and a soft controller do not matter."""
    model = chain()
    q = model.neutral()

    def law(gain):
        return lambda t, q, qd: -gain * qd

    _, texts = warned(model, q, None, 1e-5, dt=1e-5, controller=law(0.1))
    assert texts == []
    _, texts = warned(model, q, None, 1e-3, controller=law(0.1))
    assert "mostly of joint 'finger' decays at 1e+05 1/s" in texts[0]
    assert "Use dt ≤ 2.4e-05" in texts[0]
    assert warned(model, q, None, 1e-3, dt=1e-3, controller=law(1e-6))[1] == []
    assert warned(sixd.zoo.pendulum(), [np.pi], None, 0.2, dt=0.1, controller=lambda t, q, qd: q * 30)[1] == []


def test_modes_are_those_of_the_exact_linearization():
    """With dual numbers, on quaternions and with constraints: the same modes."""
    damped = replace(chain(), damping=np.array([5.0, 4.0, 3.0, 2.0, 1e-4]))
    linkage = sixd.zoo.four_bar()
    closed = replace(linkage, damping=np.full(linkage.nv, 300.0))
    starts = [
        (damped, damped.integrate(damped.neutral(), [0.3, -0.2, 0.5, 0.4, 0.1])),
        (closed, sixd.assemble(closed, [1.0, -0.5, 1.6], fixed=["crank"])),
    ]
    for model, q in starts:
        exact = sixd.linearize(model, q, np.zeros(model.nv)).eigenvalues
        setup = make_setup("test", sixd.Scenario(model), q, None)
        found = np.linalg.eigvals(stability._linearized(Runner(setup, "rk4", 1e-3), np.array([0]), False)[0])
        largest = np.abs(found).max()
        for mode in exact:
            # rounding has an effect of 1e-6 of 1000/s; gravity moves the projected part, by some 1/s
            assert np.abs(found - mode).min() < 1e-3 * largest
        # the additional ones belong to directions that projections remove
        assert (np.sort(np.abs(found))[: len(found) - len(exact)] < 1e-2 * largest).all()


def test_some_samples_of_a_batch_are_examined():
    damping = np.zeros((40, 1))
    model, options = cart(), {"dt": 1e-3, "parameters": {"damping": damping}}
    assert warned(model, [0.0], [1.0], 2e-3, **options)[1] == []
    damping[-1] = 2 * 4000.0
    _, texts = warned(model, [0.0], [1.0], 2e-3, **options)
    assert len(texts) == 1
    assert "the limit of method 'rk4', 0.000696" in texts[0]
    assert warned(model, np.full((3, 1), np.nan), None, 0.0, **{**options, "parameters": {"damping": [1e9]}})[1] != []
    with pytest.warns(sixd.SimulationWarning, match="^ensemble: the step dt = 0.001 s is beyond the limit") as caught:
        sixd.ensemble(model, [0.0], [1.0], 2e-3, parameters={"damping": damping}, processes=1, chunk=3)
    assert len(caught) == 1


def test_single_precision_and_force_elements():
    """Springs between points, contact with a state of its own, float32: the same limits."""
    spring = sixd.SpringDamper("world", "cart", 2e6, 0.0, 0.0, point_a=(-1.0, 0, 0))
    limit = RK4_SWING / 1000
    for kind in (np.float32, np.float64):
        q = np.array([0.5], dtype=kind)
        for part in (0.85, 0.95):
            _, texts = warned(cart(), q, None, 2 * part * limit, dt=part * limit, forces=spring)
            assert len(texts) == (part > 0.9)
    ball = sixd.ModelBuilder("ball")
    ball.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    ground = sixd.Ground({"ball": (0, 0, 0, 0.1)})
    rest = [1, 0, 0, 0, 0, 0, 0.1 - 4.6e-4]
    assert warned(ball.build(), rest, None, 0.01, dt=ground.time_step(mass=1.0), forces=ground)[1] == []
    _, texts = warned(ball.build(), rest, None, 0.03, dt=0.03, forces=ground)
    assert any("is beyond the limit of method 'rk4'" in text for text in texts)


def test_nothing_is_examined_where_no_force_has_a_derivative(monkeypatch):
    monkeypatch.setattr(diagnostics, "step_limit", None)
    sixd.simulate(sixd.zoo.pendulum(), [1.0], None, 0.01)
    sixd.simulate(sixd.zoo.pendulum(), [1.0], None, 0.01, controller=[1.0])
    with pytest.raises(TypeError):
        sixd.simulate(cart(1.0), [1.0], None, 0.01)


# friction -----------------------------------------------------------------------------------------


def rod(friction=0.1):
    builder = sixd.ModelBuilder("rod", (0, 0, 0))
    inertia = sixd.Inertia(0.1, (0, 0, 0), np.diag([2e-5] * 3))
    builder.add_body("rod", "world", sixd.Revolute("z"), inertia=inertia, friction=friction)
    return builder.build()


@pytest.mark.many
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit", "adaptive", "stiff"])
def test_dry_friction_while_sliding_needs_no_warning(method):
    motion, texts = warned(rod(), [0.0], [5.0], 5e-4, dt=1e-4, method=method)
    assert texts == []
    assert motion.qd[-1, 0] == pytest.approx(5 - 0.1 / 2e-5 * 5e-4, abs=1e-9)


@pytest.mark.parametrize("method", ["adaptive", "stiff"])
def test_adaptive_methods_reject_joints_that_stick(method):
    """At the start, and where one comes to rest; the error names a method that supports it."""
    with pytest.raises(sixd.ScalarTypeError, match="joint 'rod' has dry friction and starts at rest.*method=\"rk4\""):
        sixd.simulate(rod(), [[0.0], [0.0]], [[5.0], [0.0]], 1e-3, method=method)
    with pytest.raises(sixd.ScalarTypeError, match=r"comes to rest at t = 0\.001 s: method .* Use method=\"rk4\""):
        sixd.simulate(rod(), [0.0], [5.0], 2e-3, method=method)


def test_where_friction_may_be():
    """In parameters, symbols, equations. It does not affect the check of the step."""
    stops = 0.1 / 2e-5 * 1e-3
    found = sixd.simulate(rod(0.0), [0.0], [stops], 2e-3, parameters={"friction": [[0.0], [0.1]]}).qd[:, -1, 0]
    assert_array_equal(found, [stops, 0])
    symbol = sp.Symbol("f", real=True)
    for value in (0.0, 0.1):
        found = sixd.simulate(rod(symbol), [0.0], [stops], 2e-3, parameters={"f": value}).qd[-1, 0]
        assert found == (0.0 if value else stops)
    x, v, m = sp.Symbol("x", real=True), sp.Symbol("xd", real=True), 2
    dry = sixd.lagrange(m * v**2 / 2, 0, [x], qd=[v], dissipation=sp.Abs(v) / 10)
    motion, texts = warned(dry, [0.0], [0.05], 2.0)
    assert texts == []
    assert motion.qd[-1, 0] == 0
    assert motion.q[-1, 0] == pytest.approx(0.025, abs=1e-12)
    y, w = sp.Symbol("y", real=True), sp.Symbol("yd", real=True)
    crossed = sixd.lagrange(v**2 + w**2, 0, [x, y], qd=[v, w], dissipation=sp.Abs(v + w))
    assert "on 'x', 'y' jump with the sign of a velocity" in warned(crossed, [0.0, 0.0], [1.0, 1.0], 1e-3)[1][0]
    wet = sixd.lagrange(m * v**2 / 2, 0, [x], qd=[v], dissipation=5000 * v**2)
    assert "mode mostly of joint 'x' decays at 5e+03 1/s" in warned(wet, [0.0], [5.0], 1e-3)[1][0]
    # at rest, with a soft controller and with a stiff one
    arm = replace(cart(), friction=np.array([1.0]))
    assert len(warned(arm, [0.0], [0.0], 1e-3, dt=1e-3, controller=lambda t, q, qd: -20 * qd)[1]) == 0
    assert len(warned(arm, [0.0], [0.0], 1e-3, dt=1e-3, controller=lambda t, q, qd: -1e4 * qd)[1]) == 1


# divergence ---------------------------------------------------------------------------------------


def test_the_joint_that_went_first_is_named():
    """With the time, and the step that the controller's limit allows."""
    options = {"controller": lambda t, q, qd: -0.1 * qd - 0.1, "dt": 4e-5, "record_every": 2}
    motion, texts = warned(chain(), None, None, 0.01, **options)
    assert motion.failed == 1
    text = next(text for text in texts if "not finite" in text)
    lost = motion.t[int(np.argmax(~np.isfinite(motion.qd[:, 0])))]
    fast = motion.t[int(np.argmax(np.abs(motion.qd).max(axis=1) > 1e3))]
    assert f"the motion is not finite from t = {lost:g} s on, joint 'finger' first, beyond 1000 rad/s" in text
    assert f"at t = {fast:g} s: the step is too long for method 'rk4', whose limit by joint 'finger' is " in text
    assert 'Use dt ≤ 2.4e-05, or method="implicit". trajectory.failed counts them.' in text


def test_finite_but_huge_is_reported_too():
    model = cart(1000.0)
    h = 1.2 * RK4_DECAY / 1000
    motion, texts = warned(model, [[0.0]] * 2, [[0.0], [1.0]], 60 * h, dt=h)
    assert motion.failed == 0
    first = motion.t[int(np.argmax(np.abs(motion.qd[1, :, 0]) > 1e9))]
    assert f"1 of 2 rollouts is faster than 1e+09 rad/s or m/s from t = {first:g} s on, joint 'cart' first" in texts[-1]
    assert "trajectory.failed" not in texts[-1]
    fast = 1e12  # it was so at the start
    assert warned(cart(), [0.0], [fast], 0.01)[1] == []


def test_streamed_and_not_finite():
    """With on_chunk only the last record is available: no joint can be named, and the message has no wrong one."""
    _, texts = warned(cart(1e5), [0.0], [1.0], 0.2, on_chunk=lambda piece: None)
    assert any("the motion is not finite from t = 0.2 s on: " in text for text in texts)
    assert not any("the start is not finite" in text for text in texts)


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_singular_coordinates_are_the_cause(method):
    """A damped top falls until it hangs, where its first and third axes coincide: the step is not too long."""
    top = replace(sixd.zoo.spinning_top(), damping=np.full(3, 1e-3))
    motion, (text,) = warned(top, [0, 0.5, 0], [0, 0, 150], 13.0, method=method)
    assert motion.failed == 1
    lost = int(np.argmax(~np.isfinite(motion.qd[:, 0])))
    assert np.abs(motion.q[:lost, 1] - np.pi).min() < 0.02  # it came there
    assert f"the motion is not finite from t = {motion.t[lost]:g} s on" in text
    assert ": the coordinates are singular there, for 'precession' moves next to no inertia" in text


@pytest.mark.parametrize("damping", [1e80, 1e150, 1e300, -1e80])
def test_limits_near_the_largest_numbers(damping):
    """Maps of errors that overflow are beyond a limit; they lead to the usual warnings, whatever the method."""
    wild = replace(sixd.zoo.pendulum(2), damping=np.full(2, damping))
    for method in ("rk4", "euler", "midpoint"):
        motion, texts = warned(wild, [0.1, 0.2], [1.0, 0.0], 0.01, method=method)
        assert motion.failed == 1
        assert "not finite" in texts[-1]
