"""Rigid contact: motions known exactly, impacts, energy, and MuJoCo's hard contacts."""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mujoco_runs
import nonsmooth
import robots
import sixd

G = nonsmooth.G
GO2 = robots.ROBOTS / "go2_description/urdf/go2.urdf"
BALL = nonsmooth.free_body(sixd.sphere(0.1, mass=1.0), "ball")


def ball_ground(**options):
    return sixd.RigidGround({"ball": (0, 0, 0, 0.1)}, **options)


@pytest.mark.long
@pytest.mark.parametrize(("speed", "friction"), [(1.0, 0.5), (1.3, 0.7)])
def test_a_box_slides_to_rest(speed, friction):
    """It slides by v²/(2 μ g), and then rests."""
    box, corners, q = nonsmooth.lying_box()
    ground = sixd.RigidGround({"box": corners}, friction=friction)
    motion = sixd.simulate(box, q, [0, 0, 0, speed, 0, 0], 0.5, forces=ground)
    # the stopping place is known to the deceleration in a part of a step, a h²/8 = 9e-7 m
    assert abs(motion.q[-1, 4] - speed**2 / (2 * friction * G)) <= 1e-6
    assert np.abs(motion.qd[-1]).max() < 1e-10  # what the solver leaves
    assert (nonsmooth.lying_box()[2][6] - motion.q[:, 6]).max() <= 1e-6


def test_a_sphere_from_sliding_to_rolling():
    """Friction rotates it until it rolls, at 5/7 of its speed; from then on nothing changes."""
    motion = sixd.simulate(BALL, [1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 1.0, 0, 0], 0.6, forces=ball_ground(friction=0.3))
    speed = nonsmooth.velocity_of_origin(BALL, motion.q, motion.qd, "ball")[:, 0]
    rolls = 2 / (7 * 0.3 * G)
    assert np.abs(speed[motion.t > rolls + 1e-3] - 5 / 7).max() <= 1e-7
    slides = motion.t < rolls
    assert np.abs(motion.q[slides, 4] - (motion.t - 0.3 * G * motion.t**2 / 2)[slides]).max() <= 1e-7
    assert (0.1 - motion.q[:, 6]).max() <= 1e-6


@pytest.mark.long
@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_box_on_an_incline(factor):
    """Below the angle of friction it stays, above it it accelerates with g (sin α - μ cos α)."""
    angle = np.arctan(factor * 0.5)
    box, corners, _ = nonsmooth.lying_box()
    normal, q = nonsmooth.on_incline(angle, 0.05)
    ground = sixd.RigidGround({"box": corners}, friction=0.5, normal=normal)
    motion = sixd.simulate(box, q, None, 1.0, forces=ground)
    went = motion.q[:, 4:] - motion.q[0, 4:]
    acceleration = max(0.0, G * (np.sin(angle) - 0.5 * np.cos(angle)))
    expected = acceleration * motion.t**2 / 2
    # with the quaternion of the incline rounded, its corners differ from the plane by 1e-17 m; contacts are solved to 1e-10
    assert np.abs(went @ [np.cos(angle), 0, -np.sin(angle)] - expected).max() <= 1e-6
    assert np.abs(went @ normal).max() <= 1e-6


def test_bounces():
    """A ball with e = 0.8 rises to 0.64 of its height, again and again."""
    motion = sixd.simulate(BALL, [1, 0, 0, 0, 0, 0, 1.1], None, 2.0, forces=ball_ground(restitution=0.8))
    height, first = motion.q[:, 6] - 0.1, np.sqrt(2 / G)
    begin, hop = first, 1.6 * first
    for peak in (0.64, 0.64**2):
        inside = (motion.t > begin) & (motion.t < min(begin + hop, 2.0))
        assert abs(height[inside].max() - peak) <= 1e-3 * peak  # an impact lies within a step: h v of height
        begin, hop = begin + hop, 0.8 * hop
    assert height.min() >= -1e-6


# a quadruped --------------------------------------------------------------------------------------


def dropped(h, duration=1.0, above=0.05):
    model = robots.quiet_load(GO2, floating_base=True)
    q = nonsmooth.go2_stance(model, above)
    ground = sixd.RigidGround(nonsmooth.go2_feet(), friction=0.8)
    law = nonsmooth.go2_pd(model, q)
    every = round(1e-3 / h)
    return model, q, sixd.simulate(model, q, None, duration, dt=h, record_every=every, controller=law, forces=ground)


@pytest.mark.long
def test_a_quadruped_lands():
    """A go2 dropped by 5 cm under PD control: steps of 1 ms against steps of 0.1 ms."""
    model, _, motion = dropped(1e-3, 2.0)
    _, _, fine = dropped(1e-4, 2.0)
    assert np.abs(motion.q - fine.q).max() <= 1.3e-4
    assert nonsmooth.deepest_foot(model, motion.q) <= 1e-6


@pytest.mark.long
def test_a_quadruped_against_mujoco():
    """MuJoCo's contacts are soft and its cone is relaxed, by the order of its step of 0.1 ms."""
    model, q, motion = dropped(1e-4)
    theirs = mujoco_runs.ground_model(model, nonsmooth.go2_feet(), 0.8, 1e-4)
    found = mujoco_runs.run(model, theirs, q, np.zeros(model.nv), 1.0, 1e-4, mujoco_runs.leg_pd(q))[0]
    assert np.abs(motion.q - found).max() <= 5e-4


@pytest.mark.long
def test_a_passive_fall_gains_no_energy():
    """A go2 without control folds, on its feet and its trunk; no step gains 1e-5 J."""
    model = robots.quiet_load(GO2, floating_base=True)
    trunk = {"base": [(x, y, -0.06) for x in (-0.19, 0.19) for y in (-0.06, 0.06)]}
    ground = sixd.RigidGround({**nonsmooth.go2_feet(), **trunk}, friction=0.8)
    motion = sixd.simulate(model, nonsmooth.go2_stance(model, 0.1), None, 2.0, forces=ground)
    assert np.diff(motion.energy).max() <= 1e-5


# boxes --------------------------------------------------------------------------------------------

RADIUS = 0.005  # of the balls under a box


def box_on_balls(size, places):
    """Return a box, balls (k, 4) whose lowest points are at these places on its underside, and q on the ground."""
    box, _, q = nonsmooth.lying_box(size)
    return box, np.array([(x, y, RADIUS - size[2] / 2, RADIUS) for x, y in places]), q


def off_mujoco(box, balls, q, qd, friction, duration, slip):
    """Return by how much positions [m] and quaternions are off MuJoCo's run with steps of 0.1 ms, at most."""
    motion = sixd.simulate(box, q, qd, duration, forces=sixd.RigidGround({"box": balls}, friction=friction))
    theirs = mujoco_runs.ground_model(box, {"box": balls}, friction, 1e-4, slip)
    found = mujoco_runs.run(box, theirs, q, qd, duration, 1e-4)[0]
    found[:, :4] *= np.sign(np.sum(found[:, :4] * motion.q[:, :4], axis=1))[:, None]
    off = np.abs(motion.q - found)
    return off[:, 4:].max(), off[:, :4].max()


@pytest.mark.long
def test_a_sliding_box_against_mujoco():
    """4.9e-5 m while it slides and after it has stopped; with steps of 25 µs MuJoCo is 1.2e-5 m off.

    With friction as stiff as its normals MuJoCo throws the box up by 8 mm, since its cone is convex.
    """
    box, balls, q = box_on_balls((0.2, 0.2, 0.1), [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    position, turn = off_mujoco(box, balls, q, [0, 0, 0, 1.0, 0, 0], 0.5, 0.5, slip=5e-3)
    assert position <= 1e-4
    assert turn <= 1e-4


@pytest.mark.long
def test_a_tipping_box_against_mujoco():
    """Friction stops its lower edge, and it tips over: 1.5e-4 m and 1.3e-3 (a quaternion) at 40 degrees.

    MuJoCo's friction stops the edge later, by a part of 5 ms.
    """
    box, balls, q = box_on_balls((0.1, 0.1, 0.3), [(x, y) for x in (-0.05, 0.05) for y in (-0.05, 0.05)])
    position, turn = off_mujoco(box, balls, q, [0, 0, 0, 0.8, 0, 0], 0.8, 0.25, slip=5e-3)
    assert position <= 5e-4
    assert turn <= 2e-3


TRIPOD = np.array([(0.1, 0.0), (-0.05, 0.09), (-0.05, -0.09)])


def tripod_motion(size, friction, speed, spin, duration):
    """Return x, y and the angle of a box that slides and spins on three points.

    Its weight and the moments of friction about the centre of mass determine the three normal forces.
    """
    arms, inertia = np.column_stack([TRIPOD, np.full(3, -size[2] / 2)]), (size[0] ** 2 + size[1] ** 2) / 12

    def rates(t, y):
        c, s = np.cos(y[2]), np.sin(y[2])
        r = arms @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        v = np.cross([0, 0, y[5]], r) + np.array([y[3], y[4], 0])
        force = [0, 0, 1] - friction * v / np.linalg.norm(v, axis=1)[:, None]
        moment = np.cross(r, force)
        normal = np.linalg.solve([np.ones(3), moment[:, 0], moment[:, 1]], [G, 0, 0])
        return [*y[3:], *(normal @ force)[:2], normal @ moment[:, 2] / inertia]

    start = [0, 0, 0, speed, 0, spin]
    return solve_ivp(rates, (0, duration), start, method="DOP853", rtol=1e-12, atol=1e-14).y[:3, -1]


@pytest.mark.long
def test_a_box_slides_and_spins_on_three_points():
    """Three points share the weight in one way only. Within 1 µm and 1 µrad of the equations of motion.

    MuJoCo is 2.7 mm and 15 mrad off these, with steps of 25 µs as well: each point is lifted off by what it slides.
    """
    size = (0.2, 0.2, 0.1)
    box, balls, q = box_on_balls(size, TRIPOD)
    qd = [0, 0, 5.0, 1.0, 0, 0]
    motion = sixd.simulate(box, q, qd, 0.1, forces=sixd.RigidGround({"box": balls}, friction=0.5))
    *place, angle = tripod_motion(size, 0.5, 1.0, 5.0, 0.1)
    assert (
        np.abs(motion.q[-1, 4:6] - place).max() <= 1e-6
    )  # the method's error: order 2 where directions of slip rotate
    assert abs(2 * np.arctan2(motion.q[-1, 3], motion.q[-1, 0]) - angle) <= 1e-6
    position, turn = off_mujoco(box, balls, q, qd, 0.5, 0.1, slip=5e-3)
    assert position <= 5e-3
    assert turn <= 2e-2


# combinations -------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_loop_with_friction_comes_to_rest_on_the_ground(restitution):
    """One DoF, three joints with friction, a point on the ground: impulses at the edge between sticking and sliding."""
    bar = sixd.zoo.four_bar()
    q = sixd.assemble(bar, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    bar = dataclasses.replace(bar, friction=np.full(bar.nv, 0.2))
    ground = sixd.RigidGround(
        {"coupler": (0, 0, 0)}, friction=0.5, restitution=restitution, normal=(0, 1, 0), height=-0.055
    )
    motion = sixd.simulate(bar, q, None, 2.0, forces=ground)
    assert np.abs(motion.qd[-1]).max() == 0
    assert np.diff(motion.energy).max() < 1e-9
    assert motion.constraint_error.max() < 1e-12


@pytest.mark.long
def test_falls_with_limits_and_friction_stay_finite(rng):
    """A go2 without control, thrown; joints with friction hit their limits while feet and trunk hit the ground."""
    model = robots.quiet_load(GO2, floating_base=True)
    legs = np.arange(model.nv) >= 6
    model = dataclasses.replace(model, friction=0.3 * legs)
    q = np.tile(nonsmooth.go2_stance(model, 0.4), (16, 1))
    q[:, :4] += 0.4 * rng.normal(size=(16, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    trunk = {"base": [(x, y, -0.06) for x in (-0.19, 0.19) for y in (-0.06, 0.06)]}
    ground = sixd.RigidGround({**nonsmooth.go2_feet(), **trunk}, friction=0.8, restitution=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)  # some problems with so many rows are not solved
        motion = sixd.simulate(model, q, 2 * rng.normal(size=(16, 18)), 1.0, forces=(ground, sixd.RigidLimits(0.3)))
    assert motion.failed == 0
    assert np.abs(motion.qd).max() < 300  # rad/s: legs move fast after an impact
    assert (motion.q[..., 7:] <= model.upper[7:]).all()
    assert (motion.q[..., 7:] >= model.lower[7:]).all()
