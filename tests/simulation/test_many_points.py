"""Rigid contact of many points: Newton's method on all laws only, from 9 points on."""

import warnings

import numpy as np
import pytest

import nonsmooth
import sixd

G = nonsmooth.G


def box_on_twelve_points():
    """Return a box with the corners and the middles of the long edges below and above, and q on the ground."""
    box, corners, q = nonsmooth.lying_box()
    corners = np.asarray(corners, dtype=float)
    middles = [(x, 0.0, z) for x in (-0.1, 0.1) for z in (-0.05, 0.05)]
    points = {tuple(float(a) for a in row[:3]) for row in (*corners, *(corners[:, :3] * [1, 1, -1]), *middles)}
    return box, np.array(sorted(points)), q


@pytest.mark.long
def test_a_box_slides_to_rest_and_stays():
    box, points, q = box_on_twelve_points()
    assert len(points) >= 9
    ground = sixd.RigidGround({"box": points}, friction=0.5)
    motion = sixd.simulate(box, q, [0, 0, 0, 1.0, 0, 0], 0.5, forces=ground)
    assert abs(motion.q[-1, 4] - 1 / (2 * 0.5 * G)) <= 1e-6  # it stops within a step, to a h²/8
    assert (
        np.abs(motion.qd[-1]).max() < 1e-9
    )  # a law has an error of 1e-6 of a change of velocity; for rotation: over 0.05 m
    assert motion.facts["unsolved"] == 0
    (_, _, forces), *others = motion.contacts()
    assert not others
    np.testing.assert_allclose(forces[-1].sum(0), [0, 0, nonsmooth_weight(box)], atol=1e-6)


def nonsmooth_weight(model):
    return float(sum(inertia[5, 5] for inertia in model.inertia[1:])) * G


@pytest.mark.long
def test_a_box_slides_down_an_incline():
    box, points, _ = box_on_twelve_points()
    angle = np.arctan(1.001 * 0.5)
    normal, q = nonsmooth.on_incline(angle, 0.05)
    motion = sixd.simulate(box, q, None, 1.0, forces=sixd.RigidGround({"box": points}, friction=0.5, normal=normal))
    went = (motion.q[:, 4:] - motion.q[0, 4:]) @ [np.cos(angle), 0, -np.sin(angle)]
    expected = G * (np.sin(angle) - 0.5 * np.cos(angle)) * motion.t**2 / 2
    assert np.abs(went - expected).max() <= 3e-7  # of 2 mm: 1e-10 m/s are left in a step of 1 ms


@pytest.mark.long
def test_tumbling_samples_are_solved_and_do_not_depend_on_their_batch(rng):
    box, points, q = box_on_twelve_points()
    starts = np.tile(q, (9, 1))
    starts[:, 6] += 0.3
    speeds = 3 * rng.standard_normal((9, 6))
    ground = sixd.RigidGround({"box": points}, friction=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)  # a problem in 10⁴ may reach the limit
        motion = sixd.simulate(box, starts, speeds, 0.6, forces=ground)
        alone = sixd.simulate(box, starts[3], speeds[3], 0.6, forces=ground)
    assert motion.failed == 0
    assert np.sum(motion.facts["unsolved"]) <= 3
    assert np.diff(motion.energy, axis=1).max() < 1e-5  # of some 10 J
    np.testing.assert_array_equal(alone.q, motion.q[3])


@pytest.mark.long
def test_a_sample_does_not_depend_on_others():
    """Samples with two points of each body on the ground and samples with six, in one vector."""
    model, ground, q = nonsmooth.sledge()
    qd = np.zeros((3, model.nv))
    qd[:, 3] = 0.3
    together = sixd.simulate(model, q, qd, 0.05, forces=ground)
    for i in range(3):
        alone = sixd.simulate(model, q[i], qd[i], 0.05, forces=ground)
        np.testing.assert_array_equal(alone.q, together.q[i])
        np.testing.assert_array_equal(alone.qd, together.qd[i])
    touching = (together.contacts()[0][2][..., 2] > 0).sum(2)
    assert touching[0, 1] <= 4 < touching[1, -1]
    heights = together.q[..., 6]
    assert np.isfinite(heights).all()


@pytest.mark.long
def test_heights_of_two_points_of_a_foot():
    """After each step all points are on or above the ground, to 1e-9 m."""
    model, ground, q = nonsmooth.sledge()
    motion = sixd.simulate(model, q, None, 0.1, forces=ground)
    for name, points in ground.points_of(model).items():
        T = np.asarray(sixd.pose(model, motion.q, name))
        lowest = (np.einsum("...j,kj->...k", T[..., 2, :3], points[:, :3]) + T[..., 2, 3:]).min()
        assert lowest > -1e-8  # of second order in the displacement
