"""Derivatives of frames, centre of mass, momentum and energy compared with Pinocchio's, on four robots."""

import numpy as np
import pytest

import sixd
from peers import pin
from robots import FIVE, pinocchio_model, quiet_load

ROBOTS = {
    "ur5": (False, "tool0"),
    "panda": (False, "panda_hand_tcp"),
    "anymal": (True, "LF_FOOT"),
    "talos": (True, None),
}
EQUAL = 1e-12  # norm-wise, relative; measured: 2e-15
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


@pytest.fixture(params=ROBOTS)
def pair(request, rng):
    """The model, Pinocchio's model and data, a state in both orders, the columns' order, and a frame's name."""
    floating, frame = ROBOTS[request.param]
    model = quiet_load(FIVE[request.param], floating_base=floating).without_passive()
    theirs = pinocchio_model(FIVE[request.param], floating=floating)
    neutral = pin.neutral(theirs)
    order = sixd.interop.from_pinocchio(model, neutral, np.arange(model.nv), pinocchio_model=theirs)[1].astype(int)
    state = model.random_configuration(rng), *rng.uniform(-2, 2, (2, model.nv))
    frame = frame or [f.name for f in theirs.frames if f.name in model.frame_names][-1]
    return model, theirs, state, sixd.interop.to_pinocchio(model, *state, pinocchio_model=theirs), order, frame


@pytest.mark.long
def test_frames(pair):
    """In LOCAL and WORLD. Pinocchio's derivative with respect to q in LOCAL_WORLD_ALIGNED is that of WORLD about the
    frame's origin: it neglects the motion of the origin.
    """
    model, theirs, (q, qd, qdd), state, order, frame = pair
    data = theirs.createData()
    pin.computeForwardKinematicsDerivatives(theirs, data, *state)
    number = theirs.getFrameId(frame)
    shift, fixed = sixd.spatial.xlt(sixd.pose(model, q, frame)[:3, 3]), ()
    for choice, name in {"body": "LOCAL", "world": "WORLD", "aligned": "LOCAL_WORLD_ALIGNED"}.items():
        kind = getattr(pin.ReferenceFrame, name)
        velocity = sixd.velocity_derivatives(model, q, qd, frame, expressed_in=choice)
        acceleration = sixd.acceleration_derivatives(model, q, qd, qdd, frame, expressed_in=choice)
        if choice == "aligned":
            velocity, acceleration = velocity._replace(q=shift @ fixed[0]), acceleration._replace(q=shift @ fixed[1])
        fixed = velocity.q, acceleration.q
        expected = pin.getFrameVelocityDerivatives(theirs, data, number, kind)
        assert max(error(x, y[ANGULAR_FIRST][:, order]) for x, y in zip(velocity, expected, strict=True)) < EQUAL
        expected = pin.getFrameAccelerationDerivatives(theirs, data, number, kind)[-3:]
        assert max(error(x, y[ANGULAR_FIRST][:, order]) for x, y in zip(acceleration, expected, strict=True)) < EQUAL


@pytest.mark.long
def test_momentum_mass_and_energy(pair):
    """Its momentum is about the centre of mass c: k_O = k_G + c × p."""
    model, theirs, (q, qd, _), (p, v, a), order, _ = pair
    data = theirs.createData()
    by_q = pin.computeCentroidalDynamicsDerivatives(theirs, data, p, v, a)[0]
    pin.ccrba(theirs, data, p, v)
    A = data.Ag.copy()
    J = pin.jacobianCenterOfMass(theirs, data, p)
    c, linear = data.com[0].copy(), A[:3] @ v
    assert error(sixd.center_of_mass_derivatives(model, q), J[:, order]) < EQUAL
    found = sixd.momentum_derivatives(model, q, qd)
    moved = by_q[3:] + np.cross(J.T, linear).T + np.cross(c, by_q[:3].T).T
    assert error(found.q, np.vstack([moved, by_q[:3]])[:, order]) < EQUAL
    assert error(found.qd, np.vstack([A[3:] + np.cross(c, A[:3].T).T, A[:3]])[:, order]) < EQUAL
    energy = sixd.energy_derivatives(model, q, qd)
    assert error(energy.potential_q, pin.computeGeneralizedGravity(theirs, data, p)[order]) < EQUAL
    M = pin.crba(theirs, data, p)
    assert error(energy.kinetic_qd, ((np.triu(M) + np.triu(M, 1).T) @ v)[order]) < EQUAL
