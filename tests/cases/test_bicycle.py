"""The benchmark bicycle as a nonlinear constrained model, compared with the published numbers of two papers.

Linear: J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Proc. R. Soc. A 463 (2007). Nonlinear: P.
Basu-Mandal, A. Chatterjee, J. M. Papadopoulos, "Hands-free circular motions of a benchmark bicycle", the same volume,
table 1.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.optimize import brentq

import sixd
from sixd.algorithms.constrained.dynamics import constrained_dynamics
from sixd.algorithms.constrained.rows import constraint_velocity
from sixd.algorithms.crba import crba
from sixd.algorithms.momentum import energy
from sixd.spatial import axis_rotation, quaternion_from_rotation, quaternion_to_rotation, unskew
from sixd.spatial.dual import derivative

G = 9.81
MODEL = sixd.zoo.bicycle()
LEAN, PITCH, YAW, FORWARD, STEER = 0, 1, 2, 3, MODEL.v_slice("steer").start

# M, C1, K0, K2 as printed, 14 decimals; stability as printed, 10 decimals
PUBLISHED = {
    "M": [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]],
    "C1": [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]],
    "K0": [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]],
    "K2": [[0, 76.59734589573222], [0, 2.65431523794604]],
}
WEAVE, CAPSIZE = 4.2923825363, 6.0242620154


def straight(model, speed):
    """Return the state upright and straight at that speed; the wheels' velocities follow from the constraints."""
    qd = np.zeros(model.nv)
    qd[FORWARD] = speed
    return sixd.assemble(model, model.neutral(), qd, fixed=["base", "steer"])


@cache
def running(speed):
    return sixd.linearize(MODEL, *straight(MODEL, speed), positions=[LEAN, STEER], speeds=[LEAN, STEER])


def second_order(speed):
    """Return M, C, K of M q̈ + C q̇ + K q = f."""
    linear = running(speed)
    M = np.linalg.inv(linear.B[2:, [LEAN, STEER]])
    return M, -M @ linear.A[2:, 2:], -M @ linear.A[2:, :2]


@cache
def coefficients():
    """Return M, C1, K0, K2 from rest and 1 m/s."""
    (M, _, K), (_, C1, K1) = second_order(0.0), second_order(1.0)
    return {"M": M, "C1": C1, "K0": K / G, "K2": K1 - K}


def growth(speed):
    M, C1, K0, K2 = coefficients().values()
    lower = -np.linalg.solve(M, np.hstack([G * K0 + speed**2 * K2, speed * C1]))
    return np.linalg.eigvals(np.vstack([np.eye(4)[2:], lower])).real.max()


def random_state(rng):
    """Return an assembled state with large lean and steer, any heading, rolling."""
    lean, steer = rng.uniform(-0.7, 0.7), rng.uniform(-1.0, 1.0)
    R = axis_rotation((0, 0, 1), rng.uniform(-3, 3)) @ axis_rotation((1, 0, 0), lean)
    start = np.concatenate([quaternion_from_rotation(R), rng.uniform(-1, 1, 3), [rng.uniform(-3, 3), steer, 1.0]])
    return sixd.assemble(MODEL, start, rng.uniform(-3, 3, MODEL.nv), fixed=["steer"])


# the model --------------------------------------------------------------------------------------


def test_mobility():
    """The joints have nine DoFs, two wheels have three equations each; also far from upright."""
    for found in (sixd.mobility(MODEL), sixd.mobility(MODEL, random_state(np.random.default_rng(3))[0])):
        assert (found.nv, found.equations, found.rank, found.freedoms, found.redundant) == (9, 6, 6, 3, 0)


def test_it_stands_where_the_data_say():
    """Masses and centres in the published axes, x forward and z down; lean and steer are positive to the right."""
    q = MODEL.neutral()
    assert_allclose(sixd.constraint_error(MODEL, q), 0, atol=1e-15)
    assert MODEL.inertia[1:, 5, 5].tolist() == [85, 2, 4, 3]
    centre = np.average([[0.3, -0.9], [0, -0.3], [0.9, -0.7], [1.02, -0.35]], axis=0, weights=[85, 2, 4, 3])
    assert_allclose(sixd.center_of_mass(MODEL, q), [centre[0], 0, -centre[1]], atol=1e-15)
    # normal forces balance the weight about the contact points
    _, lam = sixd.constrained_dynamics(MODEL, *straight(MODEL, 4.0), np.zeros(9))
    weight = 94 * G
    assert_allclose(lam, np.array([1 - centre[0] / 1.02, 0, 0, centre[0] / 1.02, 0, 0]) * weight, atol=1e-10)
    right = MODEL.integrate(q, np.eye(9)[LEAN] * 0.1)
    assert sixd.center_of_mass(MODEL, right)[1] < 0  # y is left
    steered = sixd.pose(MODEL, MODEL.integrate(q, np.eye(9)[STEER] * 0.1), "front_frame")
    assert steered[1, 0] < 0


def test_wheels_touch_with_their_lowest_points(rng):
    """Of all points of each rim, at large lean and steer, none is below the ground, and the lowest is on it."""
    angle = np.linspace(0, 2 * np.pi, 2001)
    for _ in range(4):
        q, _ = random_state(rng)
        for wheel, radius in (("rear_wheel", 0.3), ("front_wheel", 0.35)):
            T = sixd.pose(MODEL, q, wheel)
            height = T[2, 3] + radius * (T[2, 0] * np.cos(angle) + T[2, 2] * np.sin(angle))
            assert height.min() > -1e-10
            assert height.min() < radius * (1 - np.cos(np.pi / 2000)) + 1e-10  # no further from a sampled point
            assert T[2, 3] > 0.2  # the centre is above


def test_motion_satisfies_the_constraints(rng):
    """Accelerations keep the wheels rolling, and the power is that of the applied forces: constraints do no work."""
    for _ in range(5):
        q, qd = random_state(rng)
        tau = rng.uniform(-20, 20, MODEL.nv)
        qdd, _ = constrained_dynamics(MODEL, q, qd, tau)
        direction = np.concatenate([MODEL.configuration_rate(q, qd), qdd])

        def slip(x):
            return constraint_velocity(MODEL, x[: MODEL.nq], x[MODEL.nq :])

        def total(x):
            return np.array([sum(energy(MODEL, x[: MODEL.nq], x[MODEL.nq :]))])

        value, rate = derivative(slip, np.concatenate([q, qd]), direction)
        assert_allclose(value, 0, atol=1e-10)
        assert np.abs(rate).max() < 1e-10 * max(1, np.abs(qdd).max())
        _, power = derivative(total, np.concatenate([q, qd]), direction)
        assert_allclose(power, tau @ qd, rtol=1e-10, atol=1e-10)
        # compiled code agrees with the plain algorithm
        assert_allclose(sixd.constrained_dynamics(MODEL, q, qd, tau)[0], qdd, rtol=1e-11, atol=1e-10)


# published numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLISHED)
def test_linear_equations(name):
    """All four matrices, from the nonlinear model, to 1e-12; 14 decimals are printed."""
    assert_allclose(coefficients()[name], PUBLISHED[name], rtol=0, atol=1e-12)


def test_linear_equations_are_quadratic_in_speed():
    """A third speed adds nothing: damping is proportional to v, stiffness to 1 and v²."""
    M, C1, K0, K2 = coefficients().values()
    for found, expected in zip(second_order(5.0), (M, 5 * C1, G * K0 + 25 * K2), strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_eigenvalues():
    """At 5 m/s; 8 decimals are printed."""
    expected = [-14.07838969, -0.77534188 - 4.46486771j, -0.77534188 + 4.46486771j, -0.32286643]
    assert_allclose(running(5.0).eigenvalues, expected, rtol=0, atol=6e-9)


def test_stable_between_two_speeds():
    """Weave becomes stable and capsize unstable at the published speeds; 10 decimals are printed."""
    assert brentq(growth, 3, 5, xtol=1e-13) == pytest.approx(WEAVE, abs=1e-10)
    assert brentq(growth, 5, 8, xtol=1e-13) == pytest.approx(CAPSIZE, abs=1e-10)
    speeds = np.linspace(0, 30, 601)
    stable = np.array([growth(v) < 0 for v in speeds])
    assert (stable == ((speeds > WEAVE) & (speeds < CAPSIZE))).all()
    # the model itself at these speeds, where the printed digits end; growth changes by 2 1/s per m/s at most
    weave, capsize = running(WEAVE).eigenvalues, running(CAPSIZE).eigenvalues
    assert abs(weave.real.max()) < 1e-9 < abs(weave[np.argmax(weave.real)].imag)
    assert abs(capsize[-1]) < 1e-9


def test_nonlinear_accelerations():
    """A state far from upright, with its accelerations by two methods of the paper; 13 decimals are printed.

    Coordinates: rear wheel's centre x, y, z (x backward, z up), Euler angles θ, ψ, φ about z, x, z (ψ = π/2 upright, φ
    = π without pitch, the last axis is the rear axle), steer ψ_f about the steer axis upward, the wheels' rotations
    β_r, β_f.
    """
    c = np.array([0, 0, 0.2440472102925, 0, 0.9501292851472, 3.1257073014894, 0.2311385135743, 0, 0])
    cd = np.array([
        -2.8069345714545, -0.1480982396001, 0.1058778746261, 0.7830033527065, 0.6068425835418, -0.0119185528069,
        0.4859824687093, 8.9129896614890, 8.0133620584155,
    ])  # fmt: skip
    cdd = np.array([
        -0.5041626315047, -0.3449706619454, -1.4604528332980, 0.8353281706379, -7.8555281128244, 0.1205543897884,
        -4.6198904039403, 1.8472554144217, 2.4548072904550,
    ])  # fmt: skip

    def base(c):
        R = axis_rotation((0, 0, 1), c[3]) @ axis_rotation((1, 0, 0), np.pi / 2 - c[4])
        R = R @ axis_rotation((0, 1, 0), c[5] - np.pi)
        return np.concatenate([R.ravel(), np.array([-c[0], -c[1], c[2]]) - R @ np.array([0, 0, 0.3])])

    def velocity(x):
        place, rate = derivative(base, x[:9], x[9:])
        R = place[:9].reshape(3, 3)
        own = [unskew(R.T @ rate[:9].reshape(3, 3)), R.T @ rate[9:]]
        return np.concatenate([*own, [x[9 + 7], -x[9 + 6], x[9 + 8]]])

    place = base(c)
    q = np.concatenate([quaternion_from_rotation(place[:9].reshape(3, 3)), place[9:], [c[7], -c[6], c[8]]])
    qd, qdd = derivative(velocity, np.concatenate([c, cd]), np.concatenate([cd, cdd]))
    assert_allclose(sixd.constraint_error(MODEL, q), 0, atol=1e-12)
    assert_allclose(sixd.constraint_velocity(MODEL, q, qd), 0, atol=1e-12)
    found, _ = constrained_dynamics(MODEL, q, qd, np.zeros(9))
    assert_allclose(found, qdd, rtol=0, atol=1e-11)


# small motions ----------------------------------------------------------------------------------


def test_steering_turns_it():
    """To first order, rolling gives the yaw rate v δ cos(tilt) / wheelbase and nothing else; on another bicycle than
    the default.
    """
    model = sixd.zoo.bicycle(1.3, 0.05, 0.2, 0.25, 0.3)
    q, qd = straight(model, 3.0)
    linear = sixd.linearize(model, q, qd, positions=[LEAN, STEER], speeds=[LEAN, STEER])
    yaw_rate = linear.dqd[YAW]  # for lean, steer and their rates; positive to the left
    assert_allclose(yaw_rate, [0, -3.0 * np.cos(0.2) / 1.3, 0, -0.05 * np.cos(0.2) / 1.3], atol=1e-13)
    assert_allclose(linear.dq[[PITCH, FORWARD]], 0, atol=1e-13)


def test_pitch_is_of_second_order():
    """Half of lean and steer give a quarter of the pitch: by symmetry no linear term remains."""
    pitch = []
    for size in (0.02, 0.01):
        q = MODEL.integrate(MODEL.neutral(), np.eye(9)[LEAN] * size + np.eye(9)[STEER] * size)
        R = quaternion_to_rotation(sixd.assemble(MODEL, q, fixed=["steer"])[:4])
        pitch.append(np.arctan2(-R[2, 0], R[2, 2]))  # R = Rz(yaw) Rx(lean) Ry(pitch)
    assert abs(pitch[0]) > 1e-6
    assert pitch[0] / pitch[1] == pytest.approx(4, rel=1e-2)  # the rest is of the order of the size


def test_symbolic_parameters():
    """Parameters may be symbols: substituting numbers gives the numeric model."""
    w, c = sp.symbols("w c", positive=True)
    model = sixd.zoo.bicycle(w, c)
    assert {str(s) for s in model.symbols} == {"w", "c"}
    q = MODEL.random_configuration(0)
    numeric = model.substitute({w: 1.02, c: 0.08})
    assert_allclose(crba(numeric, q), crba(MODEL, q), atol=1e-12)
