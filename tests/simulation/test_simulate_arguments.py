"""Mistakes in the arguments of ``sixd.simulate`` and ``sixd.step``: one clear error each, none passes silently."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_array_equal

import sixd
from sixd.engine import artifact
from sixd.errors import TraceError
from sixd.forces.elements import Applied, Force
from sixd.simulation.simulate import METHODS
from sixd.simulation.stepping.compiled_steps import FIXED_STEP

PENDULUM = sixd.zoo.pendulum()
ARM = sixd.zoo.planar(2)


def run(system=PENDULUM, q=(0.5,), qd=None, duration=0.01, **options):
    return sixd.simulate(system, q, qd, duration, **options)


def symbolic(name="m"):
    builder = sixd.ModelBuilder("rod")
    inertia = sixd.Inertia(sp.Symbol(name), [0, 0, -1], np.diag([0.1, 0.1, 0.1]))
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=inertia)
    return builder.build()


class Misshapen(Force):
    def __init__(self, **fields):
        self.fields = fields

    def apply(self, model, t, q, qd, u):
        return Applied(**self.fields)


class Memory:
    last = 0.0

    def __call__(self, t, q, qd):
        found = q * self.last
        self.last = self.last + 1
        return found


NUMBERS = [-1, np.nan, np.inf, "x", None, True, 1j, [1.0]]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_duration(value):
    with pytest.raises(
        sixd.ScalarTypeError, match=r"simulate: duration is .*, expected a finite number of at least 0 \[s\]"
    ):
        run(duration=value)


@pytest.mark.parametrize("value", [0, *(x for x in NUMBERS if x is not None)], ids=repr)
def test_steps(value):
    for method in ("rk4", "adaptive"):
        with pytest.raises(sixd.ScalarTypeError, match=r"simulate: dt is .*, expected a finite number above 0 \[s\]"):
            run(dt=value, method=method)
    with pytest.raises(sixd.ScalarTypeError, match=r"step: dt is .*, expected a finite number above 0 \[s\]"):
        sixd.step(PENDULUM, [0.5], None, value)
    with pytest.raises(sixd.ScalarTypeError, match=r"sample_time is .*, expected a finite number above 0 \[s\]"):
        run(controller=lambda t, q, qd: -q, sample_time=value)


def test_numbers_of_other_kinds_are_numbers():
    assert len(run(duration=np.float32(0.25), dt=np.float64(0.125))) == 3
    assert len(run(duration=1, dt=np.int64(1))) == 2
    assert len(run(record_every=np.int64(5))) == 3


def test_fixed_steps_ignore_tolerances():
    for tolerances in ({"rtol": 0}, {"rtol": None, "atol": None}):
        assert_array_equal(run(**tolerances).q, run().q)
        sixd.ensemble(PENDULUM, [0.5], None, 0.01, count=2, **tolerances)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True, None], ids=repr)
def test_record_every(value):
    with pytest.raises(sixd.ScalarTypeError, match="record_every is .*, expected a whole number of at least 1"):
        run(record_every=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": 1e300}, r"dt is 0.001 for 1e\+300 s, expected fewer than 1e15 steps"),
        ({"dt": 1e-300}, "expected fewer than 1e15 steps"),
        ({"duration": 1.0, "dt": 1e-12}, r"these are 1e\+12 records, expected at most 1e\+09. Give a longer dt"),
        ({"duration": 1.0, "dt": 1e-12, "method": "adaptive"}, r"these are 1e\+12 records"),
        ({"q": np.float32([0.5]), "duration": 1e5, "record_every": 10**6}, "100000000 steps, expected at most 16777216 in float32"),
        ({"method": "foo"}, f"method: no choice named 'foo'. There are: {str(METHODS)[1:-1]}"),
        ({"method": 3}, "method: no choice named 3"),
        ({"constraints": "x"}, "constraints: no choice named 'x'. There are: 'projected', 'stabilised'"),
        ({"stabilisation": -1}, r"stabilisation is -1, expected a finite number of at least 0 \[1/s\]"),
        ({"method": "adaptive", "rtol": 0}, "rtol is 0, expected a finite number above 0"),
        ({"method": "adaptive", "atol": -1}, "atol is -1, expected a finite number above 0"),
        ({"seed": "x"}, "seed is 'x', expected a whole number of at least 0, some of them, or None"),
        ({"seed": -1}, "seed is -1, expected"),
        ({"on_chunk": 3}, "on_chunk is 3, expected a function of a trajectory"),
        ({"system": 3}, "model is a int, expected a sixd.Model"),
        ({"system": sixd.ModelBuilder("none").build(), "q": []}, "'none' has no degrees of freedom, expected a system that can move"),
    ],
    ids=repr,
)  # fmt: skip
def test_choices_and_sizes(options, message):
    with pytest.raises(sixd.SixdError, match=f"simulate: .*{message}"):
        run(**options)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.5, 0.1], r"q has shape \(2,\), expected \(..., 1\) \(nq of 'pendulum'\)"),
        (0.5, r"q has shape \(\)"),
        ([[0.5], [0.2, 0.3]], "q is a ragged sequence"),
        (["a"], "q holds <U1 values, expected real numbers"),
        ([1j], "q holds complex128 values"),
        ([True], "q holds bool values"),
        ("foo", "q: no configuration named 'foo'. There are: 'random'"),
        ([sp.Symbol("x")], "arguments hold objects, expected numbers. For symbols see sixd.equations"),
    ],
    ids=repr,
)
def test_states(q, message):
    with pytest.raises(sixd.SixdError, match=f"simulate: .*{message}"):
        run(q=q)


def test_states_that_do_not_broadcast():
    with pytest.raises(sixd.ShapeError, match=r"batch dimensions do not broadcast: q \(3,\), qd \(2,\)"):
        run(q=np.zeros((3, 1)), qd=np.zeros((2, 1)))
    with pytest.raises(sixd.ShapeError, match="batch dimensions do not broadcast"):
        run(q=np.zeros((3, 1)), controller=np.zeros((2, 1)))


# controllers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        ([1.0, 2.0], r"controller has shape \(2,\), expected \(..., 1\) \(nv, constant forces\)"),
        (3.0, r"controller has shape \(\)"),
        ([np.nan], "controller holds NaN or infinity, expected finite numbers"),
        ("x", "controller holds <U1 values"),
        (True, "controller holds bool values"),
        (object(), r"controller is a object, expected an array of shape \(..., 1\)"),
        (lambda t, q, qd: 3.0, r"the controller's result has shape \(\), expected \(1,\) for one state"),
        (lambda t, q, qd: np.array([q, q]), r"the controller's result has shape \(2, 1\)"),
        (lambda t, q, qd: None, "the controller's result has shape"),
        (lambda t, q, qd: ["a"], "the controller's result holds <U1 values, expected real numbers"),
        (lambda t, q, qd: [1j], "the controller's result holds complex128 values"),
        (Memory(), "the controller returns other forces when it is traced again: it keeps a memory"),
        (lambda t, q, qd: q * np.random.default_rng().normal(), "it keeps a memory, or draws random numbers. Give sample_time"),
    ],
)  # fmt: skip
def test_controllers(controller, message):
    with pytest.raises(sixd.SixdError, match=f"simulate: .*{message}"):
        run(controller=controller)


@pytest.mark.parametrize("result", [3.0, [1.0, 2.0], None, ["a"], [True], [1j]], ids=repr)
def test_sampled_controllers(result):
    with pytest.raises(sixd.ScalarTypeError, match=r"simulate: controller returns .* at t = 0, expected 1 numbers"):
        run(controller=lambda t, q, qd: result, sample_time=1e-3)


def test_sampling_without_a_function():
    for controller in (None, [1.0]):
        with pytest.raises(
            sixd.ScalarTypeError, match="sample_time is set, but controller is not a function. Leave it out"
        ):
            run(controller=controller, sample_time=0.1)
    with pytest.raises(
        sixd.ScalarTypeError, match="a controller that is called with numbers needs fixed steps, got method 'adaptive'"
    ):
        run(controller=lambda t, q, qd: -q, sample_time=0.1, method="adaptive")


def test_a_result_that_is_nan_is_a_motion_that_is_not_finite():
    with pytest.warns(sixd.SimulationWarning, match="the motion is not finite from t = 0.002 s on"):
        motion = run(controller=lambda t, q, qd: [np.nan] if t else [0.0], sample_time=1e-3)
    assert np.isfinite(motion.q[:2]).all()
    assert np.isnan(motion.q[2:]).all()


# f_ext, forces, parameters, events ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"f_ext": 3}, r"f_ext has shape \(\), expected \(..., 1, 6\)"),
        ({"f_ext": np.zeros(6)}, r"f_ext has shape \(6,\)"),
        ({"f_ext": [[np.nan] * 6]}, "f_ext holds NaN or infinity"),
        ({"f_ext": lambda t, q, qd: np.zeros(6)}, r"the result of f_ext has shape \(6,\), expected \(1, 6\) for one state"),
        ({"f_ext": lambda t, q, qd: [[float(t)] * 6]}, "a traced value was asked for a number"),
        ({"forces": 3}, r"forces holds 3, expected elements such as sixd.Ground\(…\)"),
        ({"forces": None}, "forces holds None, expected elements"),
        ({"forces": [1]}, "forces holds 1, expected elements"),
        ({"forces": Misshapen(tau=np.zeros(3))}, r"tau of Misshapen has shape \(3,\), expected \(1,\)"),
        ({"forces": Misshapen(f_ext=np.zeros(5))}, r"f_ext of Misshapen has shape \(5,\), expected \(1, 6\)"),
        ({"forces": Misshapen(rate=np.zeros(2))}, r"rate of Misshapen has shape \(2,\), expected \(0,\)"),
        ({"parameters": 3}, "parameters is 3, expected a mapping of names to arrays"),
        ({"parameters": ["gravity"]}, r"parameters is \['gravity'\], expected a mapping"),
        ({"parameters": {"mass": 1.0}}, "parameters: no parameter named 'mass'. There are: 'inertia', 'gravity'"),
        ({"parameters": {"gravity": [0, 0]}}, r"gravity has shape \(2,\), expected \(..., 3\)"),
        ({"parameters": {"gravity": [0, 0, np.inf]}}, "gravity holds NaN or infinity"),
        ({"parameters": {"inertia": None}}, r"inertia is a NoneType, expected an array of shape \(..., 1, 10\)"),
        ({"system": symbolic("tau"), "parameters": {"tau": 1.0}}, "parameters has 'tau', which means something else. Rename the symbol"),
        ({"system": symbolic()}, "'rod' has symbolic parameters m, expected numbers"),
        ({"method": "adaptive", "events": 3}, r"events holds 3, expected functions \(t, q, qd\) -> number"),
        ({"method": "adaptive", "events": (3,)}, "events holds 3, expected functions"),
        ({"method": "adaptive", "events": lambda t, q, qd: q[0]}, "events holds <function .*>, expected functions"),
        ({"method": "adaptive", "events": [lambda t, q, qd: q]}, r"an event returns array\(\[0.5\]\) at t = 0, expected a number"),
        ({"method": "adaptive", "events": [lambda t, q, qd: "a"]}, "an event returns 'a' at t = 0"),
        ({"events": [lambda t, q, qd: q[0]]}, "events need an adaptive method, got 'rk4'. Use 'adaptive'"),
    ],
)  # fmt: skip
def test_what_acts(options, message):
    with pytest.raises(sixd.SixdError, match=f"simulate: .*{message}"):
        run(**options)


def test_unassembled_starts():
    model = sixd.zoo.four_bar()
    with pytest.raises(
        sixd.AssemblyError, match=r"simulate: q does not satisfy the constraints of 'four_bar': they are off by"
    ):
        run(model, [1.0, 0.0, 0.0])
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    with pytest.raises(sixd.AssemblyError, match=r"q does not satisfy the constraints of 'four_bar' in state 1"):
        run(model, [q, [1.0, 0, 0], q])
    with pytest.raises(
        sixd.AssemblyError, match=r"qd does not satisfy the constraints .* Start from sixd.assemble\(model, q, qd\)"
    ):
        run(model, q, [1.0, 0.0, 0.0])
    with pytest.warns(sixd.SimulationWarning, match="1 of 2 rollouts"):  # NaN is not rejected here
        run(model, [q, [np.nan, 0, 0]])


def test_steps_reject_what_they_cannot_do():
    class Lag(Force):
        def size(self, model):
            return 1

        def apply(self, model, t, q, qd, u):
            return Applied(tau=-u, rate=q - u)

    with pytest.raises(
        sixd.ScalarTypeError, match="step: an element of forces has a state of its own. Use sixd.simulate"
    ):
        sixd.step(PENDULUM, [0.5], None, 0.1, forces=Lag())
    known = f"There are: {str(FIXED_STEP)[1:-1]}"
    with pytest.raises(sixd.UnknownNameError, match=f"step: method: no choice named 'adaptive'. {known}"):
        sixd.step(PENDULUM, [0.5], None, 0.1, method="adaptive")
    assert run(forces=[Lag()]).internal.shape == (11, 1)


@pytest.mark.parametrize("law", [lambda t, q: q, lambda q: q, lambda t, q, qd, more: q], ids=["two", "one", "four"])
def test_controllers_of_other_arguments(law):
    with pytest.raises(sixd.ScalarTypeError, match=r"controller takes \(.*\), expected a function of \(t, q, qd\)"):
        sixd.simulate(sixd.zoo.pendulum(), [0.1], None, 0.1, controller=law)


def test_more_records_than_there_is_room_for():
    starts = np.zeros((1_000_000, 1))
    with pytest.raises(sixd.ScalarTypeError, match="1000000 rollouts of 1000001 records do not fit into memory"):
        sixd.simulate(sixd.zoo.pendulum(), starts, None, 1000.0)


def test_a_step_of_too_many_arrays_is_rejected(monkeypatch):
    monkeypatch.setattr(artifact, "MOST_ARRAYS", 8)
    with pytest.raises(
        TraceError, match=r"simulate: 1\d arrays go in and out of a step of 'cart_pole', expected at most 8"
    ):
        sixd.simulate(sixd.zoo.cart_pole(), None, None, 0.01, dt=1e-3)
