"""Adaptive methods: tolerances, records, events, batches, constraints, stiff springs, and samples that fail."""

import signal
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import samples
import sixd
from sixd.spatial import sin

PENDULUM = sixd.zoo.pendulum()
DOUBLE = sixd.zoo.pendulum(2)
METHODS = ["adaptive", "stiff"]


def event(function, **attributes):
    for name, value in attributes.items():
        setattr(function, name, value)
    return function


@pytest.mark.parametrize(("method", "loosest"), [("adaptive", 1e-5), ("stiff", 1e-3)])
def test_tolerances_are_kept_in_proportion(method, loosest, rng):
    """Quaternions among the coordinates; the reference is rk4 with short steps."""
    model = sixd.zoo.random_tree(3, passive=False, kinds=("spherical", "prismatic"))
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    exact = sixd.simulate(model, q, qd, 0.5, dt=2e-4)[-1]
    errors, steps = [], []
    for rtol in (1e-4, 1e-6, 1e-8):
        motion = sixd.simulate(model, q, qd, 0.5, method=method, rtol=rtol, atol=rtol * 1e-3)
        errors.append(np.abs(model.difference(exact.q, motion.q[-1])).max())
        steps.append(motion.facts["steps"])
        assert motion.t[-1] == 0.5
        assert len(motion) == steps[-1] + 1
        assert_allclose(np.linalg.norm(motion.q[:, model.q_slice(_spherical(model))], axis=1), 1, atol=1e-12)
        assert motion.facts["rtol"] == rtol
    assert errors[0] < loosest * 10
    assert errors[1] < errors[0] / 5
    assert errors[2] < errors[1] / 5
    assert steps[0] < steps[1] < steps[2]


def _spherical(model):
    return next(n for n in model.joint_names if isinstance(model.joint(n).joint, sixd.Spherical))


def test_against_solve_ivp(rng):
    """SciPy's own driver on sixd.forward_dynamics makes the same steps if no state has to be projected."""
    q, qd = rng.uniform(-1, 1, (2, 2))

    def rate(t, y):
        return np.append(y[2:], sixd.forward_dynamics(DOUBLE, y[:2], y[2:], [np.sin(t), 0.0]))

    for method, theirs in (("adaptive", "DOP853"), ("stiff", "Radau")):
        found = scipy.integrate.solve_ivp(rate, (0, 1), np.append(q, qd), method=theirs, rtol=1e-8, atol=1e-10)
        motion = sixd.simulate(
            DOUBLE, q, qd, 1.0, method=method, rtol=1e-8, atol=1e-10,
            controller=lambda t, q, qd: np.array([sin(t), 0]),
        )  # fmt: skip
        assert len(motion) == len(found.t)
        # Radau's derivatives are differences, so its steps differ by the effect of rounding
        assert_allclose(motion.t, found.t, rtol=1e-4)
        assert_allclose(motion.q[-1], found.y[:2, -1], atol=1e-7)
        assert_allclose(motion.tau[:, 0], np.sin(motion.t), atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_records_between_steps(method):
    """Dense output at the requested times, the last at the end, whatever the method's own steps."""
    exact = sixd.simulate(PENDULUM, [1.0], [0.5], 1.0, dt=1e-3)
    for dt, every, times in (
        (0.1, 1, np.linspace(0, 1, 11)),
        (0.1, 3, [0, 0.3, 0.6, 0.9, 1]),
        (0.3, 1, [0, 0.3, 0.6, 0.9, 1]),
    ):
        motion = sixd.simulate(PENDULUM, [1.0], [0.5], 1.0, dt=dt, record_every=every, method=method)
        assert_allclose(motion.t, times, atol=1e-15)
        assert motion.t[-1] == 1.0
        chosen = np.rint(1000 * np.array(times)).astype(int)
        assert_allclose(motion.q, exact.q[chosen], atol=1e-7)
        assert_allclose(motion.qd, exact.qd[chosen], atol=1e-7)
    fine = sixd.simulate(PENDULUM, [1.0], [0.5], 1.0, dt=1e-4, method=method)
    assert len(fine) == 10001
    assert fine.facts["steps"] < 1000
    zero = sixd.simulate(PENDULUM, [1.0], [0.5], 0.0, method=method)
    assert_array_equal(zero.t, [0.0])


# batches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_simulations_of_their_own(method, rng):
    """Parameters, forces and controllers per sample; the records at common times."""
    q, gravity, tau = rng.uniform(-1, 1, (3, 1)), rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
    options = {"method": method, "dt": 0.05}
    motion = sixd.simulate(PENDULUM, q, None, 0.5, parameters={"gravity": gravity}, controller=tau, **options)
    assert motion.q.shape == (3, 11, 1)
    assert len(motion.facts["steps"]) == 3
    for k in range(3):
        alone = sixd.simulate(
            PENDULUM, q[k], None, 0.5, parameters={"gravity": gravity[k]}, controller=tau[k], **options
        )
        assert_array_equal(alone.q, motion.q[k])
    default = sixd.simulate(PENDULUM, q.reshape(3, 1, 1), None, 0.5, method=method)
    assert default.q.shape == (3, 1, 201, 1)
    assert_allclose(default.t, np.linspace(0, 0.5, 201))
    nothing = sixd.simulate(PENDULUM, q, None, 0.0, method=method)
    assert nothing.q.shape == (3, 1, 1)
    assert nothing.failed == 0


def test_external_forces_and_elements(rng):
    """A force that depends on time, and an element with a state of its own, agree with rk4."""

    class Lag(sixd.Force):
        def size(self, model):
            return 1

        def apply(self, model, t, q, qd, u):
            return sixd.Applied(tau=u * -5, rate=(q - u) * 3)

    def wind(t, q, qd):
        return np.array([[0, 0, 0, sin(t * 7), 0, 0]])

    options = {"f_ext": wind, "forces": [Lag()]}
    exact = sixd.simulate(PENDULUM, [0.7], None, 0.5, **options)
    for method in METHODS:
        motion = sixd.simulate(PENDULUM, [0.7], None, 0.5, dt=0.1, method=method, **options)
        assert_allclose(motion.q, exact.q[::100], atol=1e-8)
        assert_allclose(motion.internal, exact.internal[::100], atol=1e-8)
    assert np.abs(exact.internal).max() > 0.1


@pytest.mark.parametrize("constraints", ["projected", "stabilised"])
def test_linkage(constraints):
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    exact = sixd.simulate(model, q, None, 1.0, dt=5e-4)
    motion = sixd.simulate(model, q, None, 1.0, dt=0.1, method="adaptive", constraints=constraints)
    assert_allclose(motion.q, exact.q[::200], atol=1e-7)
    assert motion.constraint_error.max() < (1e-12 if constraints == "projected" else 1e-8)
    assert np.ptp(motion.energy) < 1e-6


# events -------------------------------------------------------------------------------------------


def falling():
    """A mass that falls: z = z0 + v t - g t²/2."""
    builder = sixd.ModelBuilder("fall")
    builder.add_body("mass", "world", sixd.Prismatic("z"), inertia=sixd.Inertia(1.0))
    return builder.build()


@pytest.mark.parametrize("method", METHODS)
def test_event_times_in_closed_form(method):
    """Up through 1 m and down again; the top; the ground, where the motion ends."""
    up = event(lambda t, q, qd: q[0] - 1, direction=1)
    down = event(lambda t, q, qd: q[0] - 1, direction=-1)
    any_way = event(lambda t, q, qd: q[0] - 1)
    top = event(lambda t, q, qd: qd[0])
    ground = event(lambda t, q, qd: q[0], terminal=True, direction=-1)
    g, v = 9.81, 6.0
    motion = sixd.simulate(falling(), [0.0], [v], 5.0, method=method, events=[up, down, any_way, top, ground])
    root = np.sqrt(v * v - 2 * g)
    expected = [(v - root) / g], [(v + root) / g], [(v - root) / g, (v + root) / g], [v / g], [2 * v / g]
    for found, times in zip(motion.facts["events"], expected, strict=True):
        assert_allclose(found, times, atol=1e-9)
    assert motion.t[-1] == motion.facts["events"][-1][0]
    assert_allclose(motion.q[-1], 0, atol=1e-9)
    assert_allclose(motion.qd[-1], -v, atol=1e-8)
    recorded = sixd.simulate(falling(), [0.0], [v], 5.0, method=method, dt=0.5, events=[ground])
    assert_allclose(recorded.t, [0, 0.5, 1.0, 2 * v / g], atol=1e-9)
    assert_allclose(recorded.q[:, 0], v * recorded.t - g / 2 * recorded.t**2, atol=1e-8)


def test_the_period_of_a_pendulum():
    """From the complete elliptic integral: it passes the lowest point every half period."""
    crosses = event(lambda t, q, qd: q[0])
    motion = sixd.simulate(PENDULUM, [2.0], None, 10.0, method="adaptive", events=[crosses], rtol=1e-11)
    times = motion.facts["events"][0]
    I, g = sixd.mass_matrix(PENDULUM, [0.0])[0, 0], sixd.gravity_force(PENDULUM, [np.pi / 2])[0]
    half = 2 * np.sqrt(I / abs(g)) * scipy.special.ellipk(np.sin(1.0) ** 2)
    assert len(times) > 3
    assert_allclose(np.diff(times), half, atol=1e-8)


def test_an_event_at_the_start_is_listed():
    """At t = 0 exactly, if the function leaves zero in the event's direction; it ends nothing, and is not listed twice."""
    model, v, g = falling(), 6.0, 9.81

    def ground(**attributes):
        return event(lambda t, q, qd: q[0], **attributes)

    def top(**attributes):
        return event(lambda t, q, qd: qd[0], **attributes)

    kinds = [{}, {"direction": 1}, {"direction": -1}]
    options = {"method": "adaptive", "events": [*(ground(**k) for k in kinds), *(top(**k) for k in kinds)]}
    thrown = sixd.simulate(model, [0.0], [v], 1.0, **options).facts["events"]
    dropped = sixd.simulate(model, [0.0], [0.0], 1.0, **options).facts["events"]
    assert [x.tolist() for x in thrown[:3]] == [[0.0], [0.0], []]
    for found, times in zip(thrown[3:], ([v / g], [], [v / g]), strict=True):
        assert_allclose(found, times, atol=1e-9)
    assert [x.tolist() for x in dropped] == [[0.0], [], [0.0]] * 2
    ended = sixd.simulate(model, [0.0], [v], 5.0, method="adaptive", events=[ground(terminal=True)])
    assert_allclose(ended.facts["events"][0], [0.0, 2 * v / g], atol=1e-9)
    assert ended.t[-1] == ended.facts["events"][0][-1]
    nothing = sixd.simulate(model, [[0.0], [1.0]], None, 0.0, method="adaptive", events=[ground()])
    assert [x[0].tolist() for x in nothing.facts["events"]] == [[0.0], []]


@pytest.mark.parametrize("method", METHODS)
def test_events_of_a_batch(method):
    """A sample that has ended stays where it ended; the others continue, and none has failed."""
    ground = event(lambda t, q, qd: q[0], terminal=True)
    heights = np.array([[1.0], [4.0], [9.0]])
    g = 9.81
    motion = sixd.simulate(falling(), heights, None, 1.0, dt=0.1, method=method, events=[ground])
    ends = np.sqrt(2 * heights[:, 0] / g)
    assert [len(x[0]) for x in motion.facts["events"]] == [1, 1, 0]
    for k in range(3):
        assert_allclose(motion.facts["events"][k][0], ends[k : k + 1][ends[k : k + 1] < 1], atol=1e-9)
        t = np.minimum(motion.t, ends[k])
        assert_allclose(motion.q[k, :, 0], heights[k] - g / 2 * t**2, atol=1e-8)
        assert_allclose(motion.qd[k, :, 0], -g * t, atol=1e-8)
    assert motion.failed == 0


# stiff, failing, interrupted ----------------------------------------------------------------------------


def test_a_hard_spring():
    """1e6 N/m, damped, on 1 kg next to a soft spring: Radau needs few steps where DOP853 needs many."""
    builder = sixd.ModelBuilder("springs", (0, 0, 0))
    builder.add_body("slow", "world", sixd.Prismatic("z"), inertia=sixd.Inertia(1.0), stiffness=1.0)
    builder.add_body("fast", "slow", sixd.Prismatic("z"), inertia=sixd.Inertia(1.0), stiffness=1e6, damping=1e5)
    model = builder.build()
    options = {"rtol": 1e-5, "atol": 1e-8}
    motion = sixd.simulate(model, [1.0, 0.0], None, 3.0, method="stiff", **options)
    # like one mass of 2 kg; the compliance of the stiff spring changes it by 1e-6
    assert_allclose(motion.q[-1, 0], np.cos(3.0 / np.sqrt(2)), atol=1e-3)
    explicit = sixd.simulate(model, [1.0, 0.0], None, 0.01, method="adaptive", **options)
    assert motion.facts["steps"] < explicit.facts["steps"]


@pytest.mark.parametrize("method", METHODS)
def test_samples_that_cannot_continue(method):
    """A force that grows without bound: reported, counted, and the records before are kept."""

    def explosive(t, q, qd):
        return qd * qd * qd * 10

    options = {"method": method, "controller": explosive, "rtol": 1e-4}
    with pytest.warns(sixd.SimulationWarning, match=r"1 of 2 rows is not finite from t = "):
        motion = sixd.simulate(PENDULUM, [[0.0], [0.1]], [[0.0], [3.0]], 1.0, dt=0.05, **options)
    assert motion.failed == 1
    good = np.isfinite(motion.q[1, :, 0])
    assert good[0]
    assert not good[-1]
    assert (np.diff(good.astype(int)) <= 0).all()
    with pytest.warns(sixd.SimulationWarning, match="the motion is not finite"):
        alone = sixd.simulate(PENDULUM, [0.1], [3.0], 1.0, **options)
    assert np.isnan(alone.q[-1]).all()
    assert np.isfinite(alone.q[:-1]).all()
    assert alone.t[-1] == 1.0


class Pressed:
    """A function that passes its calls on, and simulates Ctrl-C in the call with a number."""

    def __init__(self, function, number):
        self.function, self.number, self.calls = function, number, 0

    def __call__(self, *args, **options):
        self.calls += 1
        if self.calls == self.number:
            signal.raise_signal(signal.SIGINT)
        return self.function(*args, **options)


WAYS = ["progress", "event", "rate", "step", "dense output", "record"]


def pressed(way, number, monkeypatch):
    """Return options of a simulation in which Ctrl-C comes in the call of that number of a function, and the function."""
    adaptive = sys.modules["sixd.simulation.stepping.adaptive"]
    if way in ("progress", "event"):
        hook = Pressed(lambda *_: 1.0, number)
        return {"progress": hook} if way == "progress" else {"events": [hook]}, hook
    owner, name = {
        "rate": (adaptive._AdaptiveRun, "_rate"),  # inside SciPy's step
        "step": (adaptive, "_stepped"),
        "dense output": (scipy.integrate.DOP853, "dense_output"),
        "record": (adaptive._AdaptiveRun, "_projected"),
    }[way]
    hook = Pressed(getattr(owner, name), number)
    monkeypatch.setattr(owner, name, lambda *args: hook(*args))
    return {}, hook


@pytest.mark.many
@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("way", WAYS)
def test_interruption(way, rows, monkeypatch):
    """Ctrl-C anywhere: one motion up to there; of a batch the samples that are done, and a part of one."""
    q = [1.0] if rows is None else np.full((rows, 1), 1.0)
    options = {"method": "adaptive", "dt": 0.01}
    whole = sixd.simulate(PENDULUM, q, None, 2.0, **options)
    with monkeypatch.context() as patch:  # how many calls a sample needs
        given, counter = pressed(way, None, patch)
        sixd.simulate(PENDULUM, [1.0], None, 2.0, **options, **given)
    middle = counter.calls // 2 + (0 if rows is None else counter.calls)
    given, _ = pressed(way, middle, monkeypatch)
    with pytest.warns(sixd.SimulationWarning, match="^simulate: interrupted ") as caught:
        part = sixd.simulate(PENDULUM, q, None, 2.0, **options, **given)
    assert len(caught) == 1
    assert part.interrupted
    if rows is None:
        assert 0.5 < part.t[-1] < 1.5
        assert_array_equal(part.q, whole.q[: len(part)])
        assert 0 < part.facts["steps"] < whole.facts["steps"]
    else:
        assert "interrupted when 1 of 3 rows were complete; what was computed is kept." in str(caught[0].message)
        assert_array_equal(part.q[0], whole.q[0])
        done = np.isfinite(part.q[1, :, 0])
        assert 50 < done.sum() < 150
        assert_array_equal(part.q[1, done], whole.q[1, done])
        assert np.isnan(part.q[2, 1:]).all()
        assert part.facts["steps"][0] == whole.facts["steps"][0]
        assert len(part.facts["steps"]) == 3


def test_interrupted_before_anything(monkeypatch):
    """Nothing was computed: the interruption is raised."""
    for way, number in (("step", 1), ("rate", 2), ("event", 1)):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            sixd.simulate(PENDULUM, [1.0], None, 1.0, method="adaptive", **pressed(way, number, patch)[0])


@pytest.mark.parametrize("method", ["rk4", "adaptive", "stiff"])
def test_interrupted_when_it_is_complete(method, monkeypatch):
    """Ctrl-C when the controller's forces at the records are computed loses nothing."""
    collect = sys.modules["sixd.simulation.collect"]
    law = collect._compiled_law
    monkeypatch.setattr(collect, "_compiled_law", lambda setup: Pressed(law(setup), 1))
    with pytest.warns(sixd.SimulationWarning, match="^simulate: interrupted at t = 0.5 s; what was computed is kept"):
        motion = sixd.simulate(PENDULUM, [1.0], None, 0.5, method=method, controller=lambda t, q, qd: -q)
    assert motion.interrupted
    assert motion.t[-1] == 0.5
    assert_array_equal(motion.tau, -motion.q)


def test_interrupted_when_samples_are_joined(monkeypatch):
    adaptive = sys.modules["sixd.simulation.stepping.adaptive"]
    monkeypatch.setattr(adaptive, "_joined", Pressed(adaptive._joined, 1))
    with pytest.warns(sixd.SimulationWarning, match="^simulate: interrupted at t = 0.5 s"):
        motion = sixd.simulate(PENDULUM, [1.0], None, 0.5, method="adaptive")
    assert motion.t[-1] == 0.5


def test_streamed_in_one_piece():
    pieces = []
    last = sixd.simulate(PENDULUM, [1.0], None, 1.0, method="adaptive", on_chunk=pieces.append)
    whole = sixd.simulate(PENDULUM, [1.0], None, 1.0, method="adaptive")
    assert len(pieces) == 1
    assert len(last) == 1
    assert_array_equal(pieces[0].q, whole.q)


def test_an_untraceable_controller_is_rejected():
    with (
        pytest.warns(sixd.SimulationWarning, match="called every step"),
        pytest.raises(sixd.ScalarTypeError, match="needs fixed steps, got method 'stiff'"),
    ):
        sixd.simulate(PENDULUM, [1.0], None, 1.0, method="stiff", controller=lambda t, q, qd: [float(q[0])])
    with pytest.raises(sixd.TraceError, match="a traced value was asked for a number"):
        sixd.simulate(PENDULUM, [1.0], None, 1.0, method="stiff", f_ext=lambda t, q, qd: [[float(q[0])] * 6])


@pytest.mark.parametrize("kind", ["free", "universal"])
def test_single_precision_and_every_state(kind, rng):
    """float32 in, float32 out; the computation is in float64."""
    model = samples.single_joint(kind, passive=False)
    q, qd = model.random_configuration(rng).astype(np.float32), rng.uniform(-1, 1, model.nv).astype(np.float32)
    motion = sixd.simulate(model, q, qd, 0.1, method="adaptive", dt=0.05)
    exact = sixd.simulate(model, q.astype(float), qd.astype(float), 0.1, dt=1e-3, record_every=50)
    assert motion.q.dtype == np.float32
    assert_allclose(motion.q, exact.q, atol=1e-6)
