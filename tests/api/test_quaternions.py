"""Quaternions of a wrong length are errors where states enter: another program's order, or numbers not normalised."""

import dataclasses
import sys

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.engine.functions import LIBRARY

ORDER = r"Its order is w, x, y, z, before a position: convert states of MuJoCo or Pinocchio by sixd\.interop"


def body():
    """A new model each time: its first calls are examined."""
    return dataclasses.replace(sixd.zoo.single_body())


def mujoco_order(z=0.5):
    """A configuration with the position first."""
    return np.array([0.1, 0.2, z, 1.0, 0, 0, 0])


def arguments(name, model, q):
    """Arguments of a function of the library: q as given, ones otherwise."""
    declared = LIBRARY[name]
    found = {x: q if declared.shape(x) == ("nq",) else np.ones(declared.core(model, x)) for x in declared.arrays}
    found |= {"frame": "box"} if "frame" in declared.choices else {}
    return found


TAKE_Q = [name for name, x in LIBRARY.items() if ("nq",) in map(x.shape, x.arrays) and "given" not in x.choices]


@pytest.mark.many
@pytest.mark.parametrize("name", TAKE_Q)
def test_every_function_examines_a_models_first_call(name):
    function, model = getattr(sixd, name, None) or getattr(sixd.Model, name), body()
    for q in (mujoco_order(), [5, 0, 0, 0, 0, 0, 0]):
        with pytest.raises(sixd.ScalarTypeError, match=f"^{name}: the quaternion of joint 'box' has length .*{ORDER}"):
            function(model, **arguments(name, model, q))
    with pytest.raises(sixd.SingularError, match=r"joint 'box' is zero in q.*in the order w, x, y, z\..*sixd\.interop"):
        function(model, **arguments(name, model, np.zeros(7)))


ENTRIES = {
    "simulate": lambda m, q: sixd.simulate(m, q, None, 0.01),
    "ensemble": lambda m, q: sixd.ensemble(m, q, None, 0.01, count=2),
    "step": lambda m, q: sixd.step(m, q, np.zeros(6), 1e-3),
    "step_derivatives": lambda m, q: sixd.step_derivatives(m, q, np.zeros(6), 1e-3),
    "rollout_gradient": lambda m, q: sixd.rollout_gradient(m, q, None, np.zeros((3, 6)), dt=1e-3, final=lambda q, qd: q[0]),
    "view": lambda m, q: sixd.view(m, q=q),
    "view of a motion": lambda m, q: sixd.view(m, ([0.0, 1.0], [q, q])),
    "inverse_kinematics": lambda m, q: sixd.inverse_kinematics(m, "box", np.eye(4), q0=q),
    "inverse_kinematics, posture": lambda m, q: sixd.inverse_kinematics(m, "box", np.eye(4), posture=q),
    "differential_ik": lambda m, q: sixd.differential_ik(m, q, {"box": np.zeros(6)}),
    "assemble": lambda m, q: sixd.assemble(m, q),
    "mobility": lambda m, q: sixd.mobility(m, q),
    "linearize": lambda m, q: sixd.linearize(m, q, np.zeros(6)),
    "hybrid_dynamics": lambda m, q: sixd.hybrid_dynamics(m, ["box"], q, *np.zeros((3, 6))),
    "external_force": lambda m, q: sixd.external_force(m, q, "box", np.ones(6)),
    "kernel": lambda m, q: sixd.compile(sixd.pose, m, frame="box")(q),
    "kernel of one's own": lambda m, q: sixd.compile(lambda q: q[:3], m)(q),
    "integrate": lambda m, q: m.integrate(q, np.zeros(6)),
    "difference": lambda m, q: m.difference(m.neutral(), q),
    "controller": lambda m, q: sixd.controllers.ComputedTorque(m, q, 1.0, 1.0),
    "reduced": lambda m, q: sixd.pose(m.reduce(), q, "box"),
}  # fmt: skip


@pytest.mark.many
@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_examines_states(name):
    for q, kind in ((mujoco_order(), sixd.ScalarTypeError), (np.zeros(7), sixd.SingularError)):
        with pytest.raises(kind, match=r"the quaternion of joint 'box' .*w, x, y, z.*sixd\.interop"):
            ENTRIES[name](body(), q)
    ENTRIES[name](body(), [1.0009, 0, 0, 0, 0.1, 0.2, 0.3])  # rounded digits, or drift, pass


def test_the_state_of_a_batch_is_named():
    """The first wrong one; NaN stays in its state, and symbols are not examined."""
    model = body()
    q = np.tile(model.neutral(), (2, 3, 1))
    q[1, 0, 0], q[0, 1, 2] = 0.9, np.nan
    with pytest.raises(sixd.ScalarTypeError, match=r"has length 0\.9 in q of state \(1, 0\), expected 1"):
        sixd.pose(model, q, "box")
    with pytest.raises(sixd.ScalarTypeError, match=r"^simulate: .* in q of state \(1, 0\)"):
        sixd.simulate(model, q, None, 0.01)
    q[1, 0, 0] = 1.0
    found = sixd.pose(model, q, "box")
    assert np.isnan(found[0, 1]).any()
    assert np.isfinite(found[1]).all()
    w = sp.Symbol("w", positive=True)
    assert abs(sixd.pose(body(), [2 * w, 0, 0, 0, 1, 2, 3], "box")[0, 0] - 1) < 1e-12


def test_states_of_other_programs_pass_after_conversion():
    model, q = body(), np.array([0.1, 0.2, 0.3, 0.6, 0, 0.8, 0])
    there = sixd.pose(model, sixd.interop.from_mujoco(model, q), "box")
    assert np.allclose(there[:3, 3], q[:3], rtol=0, atol=1e-15)


def test_warm_calls_are_not_examined():
    """They go from the caller to compiled code, where R divides by q·q."""
    model, q = body(), np.array([0.6, 0, 0.8, 0, 0.1, 0.2, 0.3])
    first = sixd.body_poses(model, q)
    long = q * np.array([2, 2, 2, 2, 1, 1, 1])
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        found = sixd.body_poses(model, long)
    finally:
        sys.setprofile(None)
    assert calls == []
    assert np.allclose(found, first, rtol=0, atol=1e-15)
