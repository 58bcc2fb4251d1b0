"""``sixd.step`` with the code for one sample: the bits of a rollout, functions traced once, changes between calls."""

import dataclasses
import gc
import threading
import types
import weakref
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import samples
import sixd
from samples import METHODS
from sixd.model import memo
from sixd.simulation import stepper
from sixd.simulation.setup import make_setup
from sixd.simulation.stepping.fixed import Runner
from sixd.spatial import cos, sin, sqrt

ARM = sixd.zoo.planar(2)
H = 0.01


def rollout(system, q, qd, dt, *, t=0.0, method="rk4", **options):
    """Return the step as the first step of a simulation: vector code, and every argument checked."""
    setup = make_setup("step", sixd.Scenario(system, method=method, **options), q, qd, start=float(t))
    *_, last = Runner(setup, method, dt, float(t)).run(np.array([1]), lambda done: None)
    return tuple(x[:, -1].reshape((*setup.batch, x.shape[-1])) for x in (last.q, last.qd))


@pytest.fixture
def general_calls(monkeypatch):
    """The calls of ``sixd.step`` that known code does not serve."""
    calls = []

    def counted(*args, **options):
        calls.append(None)
        return make_setup(*args, **options)

    monkeypatch.setattr("sixd.simulation.stepping.step_code.make_setup", counted)
    return calls


def require_same(system, q, qd, dt=H, calls=None, **options):
    """The first and the later steps have the bits of a rollout; known code makes the later ones."""
    wanted = rollout(system, q, qd, dt, **options)
    for k in range(3):
        before = len(calls or ())
        found = sixd.step(system, q, qd, dt, **options)
        assert isinstance(found, tuple)
        for x, y in zip(found, wanted, strict=True):
            assert type(x) is np.ndarray
            assert x.flags.writeable
            assert x.dtype == y.dtype
            assert_array_equal(x, y)
        if calls is not None:
            assert len(calls) - before == (k == 0)
    return found


def state(system, rng, dtype=float):
    return system.random_configuration(rng).astype(dtype), rng.uniform(-1, 1, system.nv).astype(dtype)


# bits -------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_joint_and_method(kind, method, rng, general_calls):
    model = dataclasses.replace(samples.single_joint(kind), friction=np.zeros(samples.single_joint(kind).nv))
    q, qd = state(model, rng)
    require_same(model, q, qd, calls=general_calls, method=method)
    for q, qd, _ in samples.states(model, rng):
        require_same(model, q * 1.0005, qd, method=method, t=0.3)  # quaternions are made unit


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["revolute", "free"])
def test_float32(kind, method, rng, general_calls):
    model = samples.single_joint(kind, passive=False)
    q, qd = state(model, rng, np.float32)
    require_same(model, q, qd, calls=general_calls, method=method)
    tau, f_ext = (rng.uniform(-1, 1, n).astype(np.float32) for n in (model.nv, (model.nb, 6)))
    require_same(model, q, qd, method=method, controller=tau, f_ext=f_ext, t=0.1)
    # float64 afterwards, and mixed kinds, give the same results as before
    require_same(model, q.astype(float), qd.astype(float), method=method)
    require_same(model, q, qd.astype(float), method=method)
    require_same(model, q, qd, method=method, controller=tau.astype(float))


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_forces_times_and_lengths_are_arguments(method, rng, general_calls):
    """None of them makes new code."""
    model = samples.single_joint("spherical", passive=False)
    q, qd = state(model, rng)

    def law(t, q, qd):
        return -qd * cos(t)

    for k, (tau, f_ext) in enumerate([(None, None), (1, None), (None, 1), (1, 1), (law, None), (law, 1)]):
        for dt, t in ((H, 0.0), (0.5 * H, 1.5), (1, 2), (np.float64(0.3), np.float64(-0.25)), (2e-3, -0.0)):
            controller = rng.uniform(-1, 1, model.nv) if tau == 1 else tau
            force = None if f_ext is None else rng.uniform(-1, 1, (model.nb, 6))
            require_same(model, q, qd, dt, t=t, method=method, controller=controller, f_ext=force)
        assert len(general_calls) == k + 1


@pytest.mark.long
def test_samples_of_a_batch(rng):
    """A sample has the same bits alone and in a batch of any shape, with forces for all samples or for each."""
    model = samples.single_joint("free")
    q, qd = (np.array(x) for x in zip(*[state(model, rng) for _ in range(11)], strict=True))
    tau = rng.uniform(-1, 1, (11, model.nv))

    def law(t, q, qd):
        return -qd * 0.1

    for controller in (None, tau[0], tau, law):
        for n in (1, 2, 8, 11):
            given = controller[:n] if controller is tau else controller
            found = require_same(model, q[:n], qd[:n], controller=given)
            for k in range(n):
                alone = sixd.step(model, q[k], qd[k], H, controller=tau[k] if controller is tau else controller)
                assert_array_equal(np.concatenate(alone), np.concatenate([x[k] for x in found]))
    many = np.resize(q, (1200, model.nq)), np.resize(qd, (1200, model.nv))
    found = require_same(model, *many)
    assert_array_equal(found[1][:11], sixd.step(model, q, qd, H)[1])
    require_same(model, q[:6].reshape(2, 3, -1), qd[:6].reshape(2, 3, -1))
    require_same(model, q[:0], qd[:0])
    require_same(model, q[0], qd[:4])


def controllers(model):
    frame = model.body_names[-1]
    target = model.neutral()
    return {
        "PD": sixd.controllers.PD(target, 3.0, 0.5, model=model),
        "PD, gravity": sixd.controllers.PD(target, 3.0, 0.5, model=model, gravity=True),
        "PD, moving": sixd.controllers.PD(lambda t: model.neutral() + sin(t) * 0.1, 3.0, 0.5),
        "ComputedTorque": sixd.controllers.ComputedTorque(model, target, 4.0, 1.0),
        "GravityCompensation": sixd.controllers.GravityCompensation(model),
        "TaskSpacePD": sixd.controllers.TaskSpacePD(model, frame, [0.5, 0.2, 0.1], 5.0, 0.5),
        "OperationalSpace": sixd.controllers.OperationalSpace(
            model, frame, [0.5, 0.2, 0.1], 5.0, rows=(3, 4), regularization=0.1, posture_kd=0.5
        ),
        "Impedance": sixd.controllers.Impedance(model, frame, [0.5, 0.2, 0.1], 5.0, 0.5),
        "Sequence": sixd.controllers.Sequence(np.arange(3.0 * model.nv).reshape(3, model.nv), 0.1),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", controllers(ARM))
def test_every_controller(name, rng, general_calls):
    controller = controllers(ARM)[name]
    q, qd = state(ARM, rng)
    require_same(ARM, q, qd, calls=general_calls, controller=controller)
    for t in (0.05, 0.1, 0.25, 7.0, -1.0):
        require_same(ARM, q, qd, controller=controller, t=t)
    assert len(general_calls) == 1
    require_same(ARM, q.astype("f"), qd.astype("f"), calls=general_calls, controller=controller, t=0.1)
    require_same(ARM, q, qd, method="euler", controller=controller, f_ext=rng.uniform(-1, 1, (ARM.nb, 6)))


@pytest.mark.long
def test_tables_of_forces(rng):
    """A Sequence on a floating base with the midpoint rule, with tables for samples, and of the wrong size."""
    model = samples.single_joint("free")
    q, qd = state(model, rng)
    table = sixd.controllers.Sequence(rng.uniform(-1, 1, (4, model.nv)), 0.1)
    require_same(model, q, qd, method="midpoint", controller=table, t=0.3)
    for dtype in (np.float64, np.float32):
        require_same(model, *(np.array([x, x], dtype) for x in (q, qd)), controller=table, t=0.3)
        require_same(model, q.astype(dtype), qd.astype(dtype), controller=table, f_ext=np.ones((model.nb, 6), dtype))
    times = [*np.arange(-3, 9) * 0.05, *np.nextafter(np.arange(5) * 0.1, -1), -1e9, 1e9, 0.1 - 1e-7, 0.1 - 2e-7]
    for t in map(float, times):
        assert_array_equal(table.held(t), table.sample(t, q, qd))
    rows = sixd.controllers.Sequence(rng.uniform(-1, 1, (2, 4, model.nv)), 0.1)
    assert rows.held(0.0) is None
    require_same(model, np.array([q, q]), np.array([qd, qd]), controller=rows, t=0.3)
    for controller in (rows, sixd.controllers.Sequence(np.ones((4, model.nv + 1)), 0.1)):
        for _ in range(2):
            with pytest.raises(sixd.ShapeError):
                sixd.step(model, q, qd, H, controller=controller)


@pytest.mark.long
def test_force_elements(rng, general_calls):
    model = sixd.zoo.ur_arm()
    q, qd = state(model, rng)
    limits = sixd.JointLimits(stiffness=100.0, damping=1.0)
    for forces in (limits, (limits,), [limits], (limits, limits)):
        require_same(model, q, qd, forces=forces)
    before = len(general_calls)
    require_same(model, q, qd, forces=(x for x in (limits,)))
    assert len(general_calls) == before + 1  # the rollout used the generator up: steps without elements, compiled once
    require_same(model, q, qd, calls=general_calls, forces=FrozenDrag(0.5))
    drag = Drag(0.5)
    for coefficient in (0.5, 0.7):
        drag.coefficient, before = coefficient, len(general_calls)
        require_same(model, q, qd, forces=drag)
        assert len(general_calls) == before + 3  # objects with attributes are read anew


@dataclasses.dataclass(frozen=True)
class FrozenDrag(sixd.Force):
    """A force element of the user's that cannot change."""

    coefficient: float

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=qd * -self.coefficient)


class Drag(sixd.Force):
    """A force element of the user's."""

    def __init__(self, coefficient):
        self.coefficient = coefficient

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=qd * -self.coefficient)


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_constraints(method, rng, general_calls):
    """Projected and stabilised, from states on the constraints; others raise the same error as before."""
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, model.neutral())
    q, qd = sixd.assemble(model, q, rng.uniform(-1, 1, model.nv))
    for options in ({}, {"constraints": "stabilised"}, {"constraints": "stabilised", "stabilisation": 5.0}):
        require_same(model, q, qd, calls=general_calls, method=method, **options)
    for wrong in ((q + 0.01, qd), (q, qd + 0.01)):
        for _ in range(2):
            with pytest.raises(sixd.AssemblyError, match="step: q"):
                sixd.step(model, *wrong, H, method=method)
    # an error just below the limit
    require_same(model, q + 1e-8, qd, method=method)


@pytest.mark.long
def test_reduced_models_equations_and_trees(rng, general_calls):
    still = sixd.zoo.random_tree(1)
    tree = dataclasses.replace(still, friction=np.zeros(still.nv))
    for system in (
        sixd.zoo.double_elbow().reduce(),
        sixd.equations(ARM),
        samples.constrained(tree),
        sixd.zoo.humanoid(),
    ):
        q, qd = state(system, rng)
        require_same(system, q, qd, calls=general_calls)


# functions --------------------------------------------------------------------------------------


CALLS = []


def counting(t, q, qd):
    """A controller without a closure."""
    CALLS.append(t)
    return -q * 3.0


def test_a_function_is_traced_once(rng, general_calls):
    law, calls = counting, CALLS
    q, qd = state(ARM, rng)
    first = sixd.step(ARM, q, qd, H, controller=law)
    count = len(calls)
    for k in range(5):
        sixd.step(ARM, q, qd, H * (k + 1), t=k, controller=law)
    assert_array_equal(sixd.step(ARM, q, qd, H, controller=law), first)
    assert len(calls) == count
    assert len(general_calls) == 1
    # samples use the same trace, in whatever order
    rows = sixd.step(ARM, np.array([q, q]), np.array([qd, qd]), H, controller=law)
    assert_array_equal(rows[1][1], first[1])
    assert len(calls) == count
    # another system, method or dtype is traced once more
    for options in ({"method": "euler"}, {"f_ext": np.zeros((ARM.nb, 6))}):
        sixd.step(ARM, q, qd, H, controller=law, **options)
        count, before = len(calls), count
        assert count > before
        sixd.step(ARM, q, qd, H, controller=law, **options)
        assert len(calls) == count


def test_variables_of_a_closure_are_read_anew(rng, general_calls):
    """They may be numbers, which are compared at each call, or arrays and lists, whose function is traced each time."""
    q, qd = state(ARM, rng)
    gain, gains = 2.0, [1.0]

    def law(t, q, qd):
        return -q * gain

    def other(t, q, qd):
        return -q * gains[0]

    first = require_same(ARM, q, qd, calls=general_calls, controller=law)
    gain = 3.0
    second = require_same(ARM, q, qd, calls=general_calls, controller=law)
    assert (second[1] != first[1]).any()
    assert_array_equal(sixd.step(ARM, np.array([q]), np.array([qd]), H, controller=law)[1][0], second[1])
    first = require_same(ARM, q, qd, controller=other)
    gains[0] = 2.0
    assert (require_same(ARM, q, qd, controller=other)[1] != first[1]).any()


class Gains:
    """A controller of the user's, whose attributes change."""

    limit = 5.0

    def __init__(self, kp, target, model=None):
        self.kp, self.target, self.model, self.table = kp, np.array(target, dtype=float), model, {"kd": [0.5]}

    def __call__(self, t, q, qd):
        return (self.target - q) * self.kp - qd * self.table["kd"][0] + self.limit

    def law(self, t, q, qd):
        return self(t, q, qd) * 2

    @property
    def double(self):
        return 2 * self.kp


def use(gains, t, q, qd):
    return gains(t, q, qd) * 3


@pytest.mark.long
@pytest.mark.parametrize(
    "take", [lambda c: c, lambda c: c.law, lambda c: partial(use, c)], ids=["object", "method", "partial"]
)
def test_attributes_that_change_are_read_anew(take, rng, general_calls):
    """An object with attributes is read at every call: its current values always count."""
    q, qd = state(ARM, rng)
    owner = Gains(2.0, [0.1, 0.2], ARM)
    controller = take(owner) if isinstance(take(owner), partial) else None  # bound methods are made anew

    def check(calls):
        before = len(general_calls)
        law = controller or take(owner)
        wanted = rollout(ARM, q, qd, H, controller=law)
        for _ in range(3):
            assert_array_equal(sixd.step(ARM, q, qd, H, controller=controller or take(owner)), wanted)
        assert len(general_calls) - before == calls
        return wanted

    last = check(3)
    changes = [
        lambda: setattr(owner, "kp", 3.0),
        lambda: owner.target.__setitem__(0, -0.5),
        lambda: setattr(owner, "target", np.zeros(2)),
        lambda: owner.table["kd"].__setitem__(0, 0.75),
        lambda: owner.table.update(kd=(0.25,)),
        lambda: setattr(Gains, "limit", 6.0),
        lambda: setattr(owner, "limit", 7.0),
        lambda: setattr(owner, "kp", -0.0),
    ]
    try:
        for change in changes:
            change()
            found = check(3)
            assert (found[1] != last[1]).any()
            last = found
    finally:
        Gains.limit = 5.0
    owner.kp = 0.0  # another zero is another number, though here it has the same effect
    check(3)


class Slotted:
    __slots__ = ("__weakref__", "kp")

    def __init__(self):
        self.kp = 1.0

    def __call__(self, t, q, qd):
        return -q * self.kp


class Elsewhere:
    """Its gains come from a function."""

    values: ClassVar = {"kp": 1.0}

    def __getattr__(self, name):
        if name not in Elsewhere.values:
            raise AttributeError(name)
        return Elsewhere.values[name]

    def __call__(self, t, q, qd):
        return -q * self.kp


class Nested:
    def __init__(self):
        self.inner = types.SimpleNamespace(kp=1.0)

    def __call__(self, t, q, qd):
        return -q * self.inner.kp


class ByClass:
    kp = 1.0

    @classmethod
    def law(cls, t, q, qd):
        return -q * cls.kp


@dataclasses.dataclass(frozen=True)
class Frozen:
    """It cannot change, but its class and objects of subclasses can."""

    factor: float = 1.0
    kp: ClassVar = 1.0

    def __call__(self, t, q, qd):
        return -q * self.factor * self.kp


class Thawed(Frozen):
    """Attributes that are no fields can be set."""


class OwnPD(sixd.controllers.PD):
    """A controller of the library with an attribute of the user's."""

    kp_of_user = 1.0

    def __call__(self, t, q, qd):
        return super().__call__(t, q, qd) * self.kp_of_user


def closed_over(gains):
    """A frozen object whose method reads a variable of a closure."""

    @dataclasses.dataclass(frozen=True)
    class Local:
        def __call__(self, t, q, qd):
            return -q * gains[0]

    return Local()


GAINS = [1.0]


@pytest.mark.parametrize(
    ("controller", "change"),
    [
        (Slotted(), lambda c: setattr(c, "kp", 2.0)),
        (Elsewhere(), lambda c: Elsewhere.values.update(kp=2.0)),
        (Nested(), lambda c: setattr(c.inner, "kp", 2.0)),
        (ByClass.law, lambda c: setattr(ByClass, "kp", 2.0)),
        (Frozen(), lambda c: setattr(Frozen, "kp", 2.0)),
        (Thawed(), lambda c: setattr(c, "kp", 3.0)),
        (OwnPD([0.1, 0.2], 3.0, 0.1), lambda c: setattr(c, "kp_of_user", 2.0)),
        (closed_over(GAINS), lambda c: GAINS.__setitem__(0, 2.0)),
    ],
    ids=[
        "slots",
        "getattr",
        "nested",
        "class",
        "class of frozen",
        "subclass of frozen",
        "subclass",
        "method's closure",
    ],
)
def test_hidden_state_is_read_anew(controller, change, rng, general_calls):
    """Such controllers are traced at every call."""
    q, qd = state(ARM, rng)
    first = rollout(ARM, q, qd, H, controller=controller)
    for _ in range(2):
        assert_array_equal(sixd.step(ARM, q, qd, H, controller=controller), first)
    change(controller)
    wanted = rollout(ARM, q, qd, H, controller=controller)
    assert (wanted[1] != first[1]).any()
    assert_array_equal(sixd.step(ARM, q, qd, H, controller=controller), wanted)
    assert len(general_calls) == 3


class OwnLimits(sixd.JointLimits):
    """A force element of the library with an attribute of the user's."""

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(tau=qd * -self.drag)


def test_attributes_of_own_elements_are_read_anew(rng):
    q, qd = state(ARM, rng)
    own = OwnLimits(stiffness=1.0)
    for drag in (0.5, 2.0, 2.0, 0.5):
        own.drag = drag
        assert_array_equal(sixd.step(ARM, q, qd, H, forces=own), rollout(ARM, q, qd, H, forces=own))


def recursive():
    """Functions that call each other, by variables of their closures."""

    def law(t, q, qd, turn=0):
        return other(t, q, qd, turn) if turn < 2 else -q

    def other(t, q, qd, turn):
        return law(t, q, qd, turn + 1) * 2.0

    return law


def test_recursive_functions(rng, general_calls):
    q, qd = state(ARM, rng)
    require_same(ARM, q, qd, calls=general_calls, controller=recursive())


def test_variables_of_a_closure_without_a_value(rng):
    """They are no error unless the function reads them."""
    q, qd = state(ARM, rng)
    reads = False

    def law(t, q, qd):
        return -q * gain if reads else -q

    expected = rollout(ARM, q, qd, H, controller=law)
    assert_array_equal(sixd.step(ARM, q, qd, H, controller=law), expected)
    reads = True
    with pytest.raises(NameError, match="gain"):
        sixd.step(ARM, q, qd, H, controller=law)
    gain = 1.0
    assert_array_equal(sixd.step(ARM, q, qd, H, controller=law), expected)


def test_a_target_that_changes(rng):
    """A controller of sixd cannot be changed, but an object that is its target can."""

    class Target:
        offset = 0.1

        def __call__(self, t):
            return np.array([self.offset, t])

    target = Target()
    controller = sixd.controllers.PD(target, 3.0, 0.1)
    q, qd = state(ARM, rng)
    for offset in (0.1, 0.4, 0.4, 0.1):
        target.offset = offset
        assert_array_equal(
            sixd.step(ARM, q, qd, H, controller=controller), rollout(ARM, q, qd, H, controller=controller)
        )


def law_of(model):
    """A controller with a reference to the system."""
    return lambda t, q, qd: -sixd.gravity_force(model, q) * 2


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        law_of,
        sixd.controllers.GravityCompensation,
        lambda model: Gains(1.0, [0, 0], model),
        lambda model: partial(use, Gains(1.0, [0, 0], model)),
        lambda model: Drag(0.1),
    ],
    ids=["function", "controller", "object", "partial", "force"],
)
def test_functions_die_with_their_code(make, rng):
    """Its code keeps neither a function nor an object alive, nor does anything keep the system; the code is dropped."""
    q, qd = state(ARM, rng)
    model = sixd.zoo.planar(2)
    address = id(model)

    def advance(model, made):
        option = {"forces" if isinstance(made, Drag) else "controller": made}
        for _ in range(2):
            sixd.step(model, q, qd, H, **option)
            sixd.step(model, np.array([q]), np.array([qd]), H, **option)

    made = make(model)
    advance(model, made)
    is_kept = isinstance(made, (types.FunctionType, sixd.controllers.GravityCompensation))  # others can change
    assert len(stepper._KNOWN.get(address, ())) == is_kept
    alive = weakref.ref(made)
    del made
    gc.collect()
    assert alive() is None
    assert not stepper._KNOWN.get(address)
    made = make(model)
    advance(model, made)
    alive = weakref.ref(model)
    del model, made
    gc.collect()
    assert alive() is None
    assert address not in stepper._KNOWN


def test_bound_methods_are_known_by_object_and_function(rng, general_calls):
    """Every access makes a new bound method."""
    q, qd = state(ARM, rng)
    one, two = Gains(1.0, [0, 0]), Gains(1.0, [0, 0])
    for _ in range(3):
        found = sixd.step(ARM, q, qd, H, controller=one.law), sixd.step(ARM, q, qd, H, controller=two.law)
        assert_array_equal(*found)
    assert len(general_calls) == 6  # objects with attributes are read anew
    alive = weakref.ref(one)
    del one
    gc.collect()
    assert alive() is None


@pytest.mark.long
def test_addresses_are_used_again(rng):
    """A new function at the address of a dead one is another function."""
    q, qd = state(ARM, rng)

    def make(k):
        return lambda t, q, qd: -q * k

    seen, last = {}, (0, np.full(2, np.nan))
    for k in range(40):
        law = make(float(k))
        seen.setdefault(id(law), []).append(k)
        found = sixd.step(ARM, q, qd, H, controller=law)
        if k % 10 == 0:
            assert_array_equal(found, rollout(ARM, q, qd, H, controller=law))
        else:
            assert (found[1] != last[1]).any()
        last = found
        del law
    assert max(map(len, seen.values())) > 1


def test_the_memo_can_be_cleared(rng):
    q, qd = state(ARM, rng)
    wanted = sixd.step(ARM, q, qd, H)
    memo.clear()
    assert_array_equal(sixd.step(ARM, q, qd, H), wanted)
    assert_array_equal(sixd.step(ARM, q, qd, H), wanted)


def test_threads_step_at_once(rng):
    """Some of them make the first call."""
    model = sixd.zoo.planar(3)
    q, qd = state(model, rng)
    wanted, found = rollout(model, q, qd, H), []

    def work():
        found.extend(sixd.step(model, q, qd, H) for _ in range(50))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 200
    for x in found:
        assert_array_equal(x, wanted)


# arguments of other kinds -----------------------------------------------------------------------


def test_results_are_new_arrays(rng):
    q, qd = state(ARM, rng)
    q_before, qd_before = q.copy(), qd.copy()
    one, two = (sixd.step(ARM, q, qd, H) for _ in range(2))
    one[0][:], one[1][:] = 7, 8
    assert_array_equal(two, rollout(ARM, q, qd, H))
    assert_array_equal((q, qd), (q_before, qd_before))


def test_arrays_of_other_kinds(rng):
    """Lists, whole numbers, views, other byte orders, read-only arrays and subclasses give the same numbers."""
    q, qd = state(ARM, rng)
    tau = rng.uniform(-1, 1, 2)
    wanted = sixd.step(ARM, q, qd, H, controller=tau)
    frozen = q.copy()
    frozen.flags.writeable = False
    wide = np.zeros(4)
    wide[::2] = q
    raw = np.zeros(17, np.uint8)
    odd = raw[1:].view(float)
    odd[:] = q
    for x in (list(q), tuple(q), frozen, wide[::2], odd, q.astype(">f8"), q.view(np.matrix).A1, np.ma.array(q)):
        for _ in range(2):
            assert_array_equal(sixd.step(ARM, x, qd, H, controller=tau), wanted)
            assert_array_equal(sixd.step(ARM, q, qd, H, controller=tau if x is q else list(tau)), wanted)
    whole = sixd.step(ARM, np.array([1, 2]), np.array([0, 1]), 1)
    assert_array_equal(whole, rollout(ARM, [1.0, 2.0], [0.0, 1.0], 1.0))
    assert_array_equal(sixd.step(ARM, q, None, H), rollout(ARM, q, None, H))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_times_that_do_not_fit(rng):
    """Times beyond the range of float32, or whose squares are beyond that of float64."""
    q, qd = state(ARM, rng)
    sixd.step(ARM, q, qd, H)
    for t in (1e35, -1e35, 1e200, 2**60):
        for dtype in (np.float64, np.float32):
            for x, v in ((q.astype(dtype), qd.astype(dtype)), (np.array([q], dtype), np.array([qd], dtype))):
                require_same(ARM, x, v, t=t)
                require_same(ARM, x, v, t=t, controller=wave)
                require_same(ARM, x, v, abs(t), method="euler")


def wave(t, q, qd):
    return q * sin(t)


def test_samples_that_are_not_finite(rng):
    """NaN and infinity in a state stay in its sample, as in a batch; a quaternion of zeros is rejected."""
    q, qd = state(ARM, rng)
    sixd.step(ARM, q, qd, H)
    for bad in (np.nan, np.inf):
        for x, v in ((np.array([bad, 0.1]), qd), (q, np.array([0.1, bad]))):
            with np.errstate(all="ignore"):
                assert_array_equal(sixd.step(ARM, x, v, H), rollout(ARM, x, v, H))
    model = samples.single_joint("spherical")
    q, qd = state(model, rng)
    sixd.step(model, q, qd, H)
    broken = q.copy()
    (ball,) = (i for i in model.bodies if isinstance(model.joints[i], sixd.Spherical))
    broken[model.iq[ball]] = 0
    results = []
    for way in (rollout, sixd.step, sixd.step):
        try:
            results.append(np.concatenate(way(model, broken, qd, H)).tobytes())
        except sixd.SixdError as error:
            results.append(str(error))
    assert len(set(results)) == 1


WRONG = {
    "dt": {"dt": [0, -1.0, np.nan, np.inf, True, "1", None, 1j, [0.1], np.array([0.1])]},
    "t": {"t": [np.nan, np.inf, True, "0", None, [0.0]]},
    "method": {"method": ["adaptive", "rk5", None, ["rk4"], 4]},
    "q": {"q": [np.zeros(3), np.zeros((2, 3)), "zero", np.array(["a", "b"]), np.zeros(2, complex), [None, None]]},
    "qd": {"qd": [np.zeros(3), "rest", np.zeros(2, bool)]},
    "controller": {
        "controller": [np.zeros(3), np.array([np.nan, 0.0]), np.array([np.inf, 0.0]), "PD", np.array("x"), {}]
    },
    "f_ext": {"f_ext": [np.zeros(6), np.full((2, 6), np.nan), "none", np.zeros((3, 6))]},
    "forces": {"forces": [1.0, "ground", [None], {"a": 1}]},
    "constraints": {"constraints": ["none", None, ["projected"]]},
    "stabilisation": {"stabilisation": [-1.0, True, "20", np.nan, [20.0]]},
    "parameters": {"parameters": [3, {"mass": 1.0}]},
    "system": {"system": [None, "arm", 3]},
}
CASES = [(name, value) for options in WRONG.values() for name, values in options.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES, ids=lambda x: repr(x)[:30])
def test_wrong_arguments_are_rejected_as_before(name, value):
    """The same error before and after the step is known."""
    model = sixd.zoo.planar(2)
    good = {"system": model, "q": np.zeros(2), "qd": np.zeros(2), "dt": H}

    def message():
        with pytest.raises(Exception) as caught:  # noqa: PT011  (compared below)
            sixd.step(**{**good, name: value})
        return type(caught.value), str(caught.value)

    before = message()
    array = {"controller": np.zeros(2)} if name == "controller" else {}
    force = {"f_ext": np.zeros((2, 6))} if name == "f_ext" else {}
    for options in ({}, array, force):
        sixd.step(**{**good, **options})
        sixd.step(**{**good, **options})
    assert message() == before
    assert issubclass(before[0], (sixd.SixdError, TypeError))


def test_stateful_elements_and_controllers_are_rejected_at_every_call():
    values = iter(range(1000))

    def counts(t, q, qd):
        return -q * next(values)

    for _ in range(2):
        with pytest.raises(sixd.ScalarTypeError, match="other forces when it is traced again"):
            sixd.step(ARM, np.zeros(2), np.zeros(2), H, controller=counts)

    def stubborn(t, q, qd):
        return np.sqrt(np.abs(np.asarray(q, dtype=float)))

    for _ in range(3):  # called with numbers, with a warning each time
        with pytest.warns(sixd.SimulationWarning, match="cannot be part of the compiled step") as seen:
            found = sixd.step(ARM, np.ones(2), np.zeros(2), H, controller=stubborn)
        assert [w.filename for w in seen] == [__file__]
        assert_array_equal(found, sixd.step(ARM, np.ones(2), np.zeros(2), H, controller=np.ones(2)))


def test_symbols_and_singular_models_are_rejected_at_every_call():
    builder = sixd.ModelBuilder("weightless")
    builder.add_body("a", parent="world", joint=sixd.Revolute("z"))
    model = builder.build()
    for _ in range(2):
        with pytest.raises(sixd.SingularError):
            sixd.step(model, np.zeros(1), np.zeros(1), H)


def test_functions_of_the_library_in_a_controller(rng, general_calls):
    def law(t, q, qd):
        return sixd.gravity_force(ARM, q) - sqrt(qd @ qd + 1) * qd

    q, qd = state(ARM, rng)
    for method in METHODS:
        require_same(ARM, q, qd, calls=general_calls, controller=law, method=method)
