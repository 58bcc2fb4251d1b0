"""Steps with rigid contact: laws that hold at every record, on bodies, arms, loops; batches, dtypes, files, the viewer."""

import dataclasses
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nonsmooth
import sixd
from sixd import RigidGround

G = nonsmooth.G
CORNERS = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
BOX = nonsmooth.free_body(sixd.box(0.2, 0.2, 0.1, mass=1.5), "box")
BALL = nonsmooth.free_body(sixd.sphere(0.1, mass=1.0), "ball")
ON_BALL = {"ball": (0, 0, 0, 0.1)}


def thrown(rng, rows=None):
    """Return random states of the box above the ground, moving and rotating."""
    size = () if rows is None else (rows,)
    turn = rng.normal(size=(*size, 4))
    turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
    at = np.concatenate([rng.uniform(-1, 1, (*size, 2)), rng.uniform(0.2, 0.4, (*size, 1))], axis=-1)
    return np.concatenate([turn, at], axis=-1), rng.normal(scale=2.0, size=(*size, 6))


def tumbling(rng, **options):
    q, qd = thrown(rng)
    ground = RigidGround({"box": CORNERS}, **options)
    return sixd.simulate(BOX, q, qd, 1.5, forces=ground), ground


def world_velocity(motion):
    return nonsmooth.velocity_of_origin(BOX, motion.q, motion.qd, "box")


# laws ---------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_a_tumbling_box_obeys_the_laws(restitution, friction, rng):
    """Newton's law for its centre, Coulomb's cone, no pull, no force in the air, no depth."""
    motion, _ = tumbling(rng, restitution=restitution, friction=friction)
    ((name, points, forces),) = motion.contacts()
    assert name == "rigidground"
    h = motion.facts["dt"]
    change = np.diff(world_velocity(motion), axis=0)
    impulse = forces[1:].sum(axis=1) * h - [0, 0, 1.5 * G * h]
    # energy that a step would gain is taken from velocities
    np.testing.assert_allclose(1.5 * change, impulse, atol=1e-6)
    normal, tangent = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    assert normal.min() >= 0
    assert (tangent <= friction * normal * (1 + 1e-9)).all()
    assert points[..., 2].min() >= -1e-6
    air = (points[:-1, :, 2] > 1e-5) & (points[1:, :, 2] > 1e-5)  # before and after a step
    quick = np.abs(np.diff(points[..., 2], axis=0)) > 1e-5  # except that it may have rebounded within it
    assert (normal[1:][air & ~quick] == 0).all()
    assert motion.facts["unsolved"] <= 3


@pytest.mark.long
def test_impacts_remove_energy(rng):
    """No step gains more than RK4's own error and the energy of settling flat, 1e-5 J of some 10 J."""
    for e in (0.0, 0.5):
        motion, _ = tumbling(rng, restitution=e, friction=0.5)
        assert np.diff(motion.energy).max() < 1e-5
        assert motion.energy[-1] < 0.3 * motion.energy[0]


def test_an_elastic_ball_keeps_its_energy():
    """e = 1: rebounds within steps are computed at their times, and return the speed."""
    ground = RigidGround(ON_BALL, restitution=1.0, friction=0.0)
    motion = sixd.simulate(BALL, [1, 0, 0, 0, 0, 0, 0.6], [0, 0, 0, 0.7, 0, 0], 3.0, forces=ground)
    np.testing.assert_allclose(motion.energy, motion.energy[0], rtol=1e-9)  # of ten bounces
    assert motion.q[:, 6].min() >= 0.1
    close = np.abs(motion.q[:, 4] - 0.7 * motion.t).max()
    assert close < 1e-12


@pytest.mark.long
def test_an_incline_is_a_rotated_world():
    """A plane with another normal under rotated gravity gives the rotated motion."""
    angle = 0.3
    q = np.array([1.0, 0, 0, 0, 0, 0, 0.05])
    qd = np.array([0, 0, 0.5, 0.4, 0.3, 0])
    flat = BOX.with_gravity((G * np.sin(angle), 0, -G * np.cos(angle)))
    # on three points: the share of each of four or more points, and so the friction's moment, is not determined
    tripod = [(0.1, 0.0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)]
    ground = RigidGround({"box": tripod}, friction=0.6)
    one = sixd.simulate(flat, q, qd, 0.5, forces=ground)
    normal, tilted = nonsmooth.on_incline(angle, 0.05)
    two = sixd.simulate(BOX, tilted, qd, 0.5, forces=dataclasses.replace(ground, normal=normal))
    np.testing.assert_allclose(two.qd, one.qd, atol=1e-9)  # contacts are solved to 1e-10 m/s
    height = RigidGround({"box": tripod}, friction=0.6, height=0.7)
    three = sixd.simulate(flat, q + np.array([0, 0, 0, 0, 0, 0, 0.7]), qd, 0.5, forces=height)
    np.testing.assert_allclose(three.qd, one.qd, atol=1e-9)


def test_a_point_reverses_on_an_incline():
    """Thrown up an incline steeper than friction, it stops within a step and slides back: v = v0 - a1 t, then a2 t."""
    angle, mu, speed = 0.6, 0.3, 0.5037
    model = BALL.with_gravity((-G * np.sin(angle), 0, -G * np.cos(angle)))
    # a ball whose point of contact is its centre does not roll
    ground = RigidGround({"ball": (0, 0, 0)}, friction=mu)
    motion = sixd.simulate(model, [1, 0, 0, 0, 0, 0, 0], [0, 0, 0, speed, 0, 0], 0.3, forces=ground)
    up, down = (G * (np.sin(angle) + s * mu * np.cos(angle)) for s in (1, -1))
    t, stop = motion.t, speed / up
    later = np.maximum(t - stop, 0)
    early = np.minimum(t, stop)
    x = speed * early - up * early**2 / 2 - down * later**2 / 2
    np.testing.assert_allclose(motion.q[:, 4], x, atol=1e-9)
    np.testing.assert_allclose(motion.qd[:, 3], speed - up * early - down * later, atol=1e-9)


def test_friction_rotates_with_the_sliding_point():
    """A puck that slides across an incline: order 2, because friction follows the velocity within a step."""
    model = BALL.with_gravity((3.0, 0, -G))
    ground = RigidGround({"ball": (0, 0, 0)}, friction=0.25)
    runs = [
        sixd.simulate(model, [1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1.0, 0], 0.4, dt=h, forces=ground).q[-1]
        for h in (4e-3, 2e-3, 1e-3, 1e-4)
    ]
    errors = [np.abs(x - runs[-1]).max() for x in runs[:-1]]
    assert errors[2] < 2e-6
    assert errors[0] / errors[2] > 12  # 16 for order 2


# systems ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_every_method_of_fixed_steps(method):
    """A box that is dropped flat lies still, at its height."""
    ground = RigidGround({"box": CORNERS})
    motion = sixd.simulate(BOX, [1, 0, 0, 0, 0, 0, 0.15], [0, 0, 0, 0.5, 0, 0], 0.6, method=method, forces=ground)
    assert np.abs(motion.qd[-1]).max() < 1e-9
    assert abs(motion.q[-1, 6] - 0.05) < 1e-9
    np.testing.assert_allclose(motion.contacts()[0][2][-1].sum(axis=0), [0, 0, 1.5 * G], atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_all_joint_types(seed, rng):
    """A random tree with points on every body: finite, above the ground, forces within the cone."""
    model = sixd.zoo.random_tree(seed)
    points = {name: rng.normal(scale=0.2, size=(1, 3)) for name in model.body_names[-3:]}
    q = model.random_configuration(rng)
    poses = {name: np.asarray(sixd.pose(model, q, name)) for name in points}
    low = min((poses[name][:3, :3] @ x[0] + poses[name][:3, 3])[2] for name, x in points.items())
    ground = RigidGround(points, friction=0.5, height=low - 0.02)
    push = np.array([[0, 0, 0, 0, 0, -20.0]] * model.nb)
    motion = sixd.simulate(model, q, None, 0.5, forces=ground, f_ext=push)
    ((_, at, forces),) = motion.contacts()
    assert np.isfinite(motion.q).all()
    assert (at[..., 2] - ground.height).min() > -1e-6
    assert (np.linalg.norm(forces[..., :2], axis=-1) <= 0.5 * forces[..., 2] * (1 + 1e-9)).all()
    assert forces[..., 2].max() > 0


def test_an_arm_rests_on_the_ground():
    """A pendulum that falls onto a table: fixed base, singular in y; it lies there with m g l/2 = F l."""
    rod = sixd.ModelBuilder("rod")
    rod.add_body("rod", "world", sixd.Revolute("y"), inertia=sixd.Inertia(1.0, (0.5, 0, 0), (1e-3, 0.09, 0.09)))
    model = rod.build()
    motion = sixd.simulate(model, [-0.5], None, 1.0, forces=RigidGround({"rod": (1.0, 0, 0)}, height=-0.2))
    assert abs(np.sin(motion.q[-1, 0]) - 0.2) < 1e-9
    assert abs(motion.qd[-1, 0]) < 1e-9
    force = motion.contacts()[0][2][-1, 0]
    # the friction at the tip carries a part of the moment: together they balance the weight
    x, z = np.cos(motion.q[-1, 0]), -np.sin(motion.q[-1, 0])
    assert abs(force[2] * x - force[0] * z - G * 0.5 * x) < 1e-6


def test_reduced_models_and_loops(rng):
    """A mechanism with dependent joints, in reduced coordinates and with constraints, has the same contact."""
    model = sixd.zoo.double_elbow().with_gravity((0, -G, 0))
    reduced = model.reduce()
    ground = RigidGround({"lower": [(1.0, 0, 0)]}, normal=(0, 1, 0), height=0.8, friction=0.3)
    y = np.array([0.3, 0.2])
    one = sixd.simulate(reduced, y, None, 0.6, forces=ground)
    q, qd = reduced.lift(y, np.zeros(2))
    two = sixd.simulate(model, q, qd, 0.6, forces=ground)
    # constraints are projected after each step; the contact's second-order errors differ
    np.testing.assert_allclose(two.q, np.asarray(reduced.lift(one.q)), atol=2e-4)
    for motion in (one, two):
        ((_, points, forces),) = motion.contacts()
        assert (points[..., 1] - 0.8).min() > -1e-6
        assert forces[..., 1].max() > 0
    assert two.constraint_error.max() < 1e-9


def test_dry_friction_and_limits_together_with_contact():
    """A cart with friction under an arm on a ball joint: at rest, joints stick exactly while points stick."""
    builder = sixd.ModelBuilder("crane")
    builder.add_body("slider", "world", sixd.Prismatic("z"), inertia=sixd.box(0.1, 0.1, 0.1, mass=1.0), friction=2.0)
    builder.add_body(
        "arm",
        "slider",
        sixd.Revolute("y"),
        inertia=sixd.Inertia(0.5, (0.2, 0, 0), (1e-3, 0.02, 0.02)),
        friction=0.3,
        limits=(-1.0, 0.6),
    )
    model = builder.build()
    ground = RigidGround({"arm": (0.4, 0, 0), "slider": (0, 0, -0.05)}, friction=0.5)
    motion = sixd.simulate(model, [0.4, 0.0], [0.0, 2.0], 1.0, forces=(ground, sixd.RigidLimits()))
    assert (motion.qd[-1] == 0).all()
    assert motion.q[-1].tolist() == motion.q[-50].tolist()
    ((_, points, _),) = motion.contacts()
    assert points[..., 2].min() > -1e-6
    assert (motion.q[:, 1] <= 0.6).all()
    assert motion.friction is not None
    assert np.abs(motion.friction[:, 0]).max() <= 2.0 + 1e-9
    assert np.abs(motion.friction[:, 1]).max() <= 0.3 + 1e-9


# rows, dtypes, steps ------------------------------------------------------------------------------


@pytest.mark.long
def test_a_sample_does_not_depend_on_its_batch(rng):
    q, qd = thrown(rng, 11)
    q[3, 4] = np.nan
    ground = RigidGround({"box": CORNERS}, restitution=0.3, friction=0.5)
    with pytest.warns(sixd.SimulationWarning):
        motion = sixd.simulate(BOX, q, qd, 0.6, forces=ground)
    assert motion.failed == 1
    assert len(motion.facts["unsolved"]) == 11
    for k in (0, 2, 4, 10):
        alone = sixd.simulate(BOX, q[k], qd[k], 0.6, forces=ground)
        assert np.array_equal(alone.q, motion.q[k])
        assert np.array_equal(alone.qd, motion.qd[k])
        assert np.array_equal(alone.internal, motion.internal[k])


def test_single_precision(rng):
    """A box that slides to rest in float32, to the accuracy of float32."""
    box, corners, q = nonsmooth.lying_box()
    ground = RigidGround({"box": corners}, friction=0.5)
    motion = sixd.simulate(box, q.astype(np.float32), np.float32([0, 0, 0, 1, 0, 0]), 0.5, forces=ground)
    assert motion.q.dtype == np.float32
    assert abs(motion.q[-1, 4] - 1 / G) < 2e-4
    assert np.abs(motion.qd[-1]).max() < 1e-4
    assert np.abs(motion.q[:, 6] - q[6]).max() < 1e-5


@pytest.mark.long
def test_a_step_is_the_first_of_a_simulation(rng):
    """To the bit, for one sample and for a batch; the second step begins without a guess."""
    ground = RigidGround({"box": CORNERS}, restitution=0.3, friction=0.5)
    q, qd = thrown(rng, 5)
    q[:, 6] = 0.05
    q[:, :4] = [1, 0, 0, 0]
    motion = sixd.simulate(BOX, q, qd, 2e-3, dt=1e-3, forces=ground)
    for _ in range(2):  # compiled, then known
        found = sixd.step(BOX, q, qd, 1e-3, forces=ground)
        assert np.array_equal(found[0], motion.q[:, 1])
        assert np.array_equal(found[1], motion.qd[:, 1])
        one = sixd.step(BOX, q[1], qd[1], 1e-3, forces=ground)
        assert np.array_equal(one[0], motion.q[1, 1])
    second = sixd.step(BOX, *found, 1e-3, forces=ground)
    np.testing.assert_allclose(second[1], motion.qd[:, 2], atol=1e-3)  # held forces are extrapolated in a simulation


def test_parameters_and_controllers(rng):
    """Gravity per sample, and a traced controller."""
    ground = RigidGround(ON_BALL, friction=0.5)
    gravity = np.array([[0, 0, -9.81], [0, 0, -1.62]])
    motion = sixd.simulate(
        BALL, [1, 0, 0, 0, 0, 0, 0.1], None, 0.2, forces=ground, parameters={"gravity": gravity},
        controller=lambda t, q, qd: np.array([0, 0, 0, 0, 0, -0.5]),
    )  # fmt: skip
    np.testing.assert_allclose(motion.contacts()[0][2][:, -1, 0, 2], [10.31, 2.12], atol=1e-6)


@pytest.mark.long
def test_ensembles_and_files(rng, tmp_path):
    ground = RigidGround({"box": CORNERS}, friction=0.5)
    q, qd = thrown(rng, 4)
    motion = sixd.simulate(BOX, q, qd, 0.3, forces=ground)
    many = sixd.ensemble(BOX, q, qd, 0.3, forces=ground, processes=1)
    assert np.array_equal(many.q, motion.q)
    assert np.array_equal(many.contacts()[0][2], motion.contacts()[0][2])
    for suffix in ("npz", "csv"):
        motion.save(tmp_path / f"motion.{suffix}")
        again = sixd.Trajectory.load(tmp_path / f"motion.{suffix}", BOX, forces=ground)
        assert np.array_equal(again.contacts()[0][2], motion.contacts()[0][2])
    halves = sixd.Trajectory.concatenate([motion[:150], motion[149:]])
    assert np.array_equal(halves.contacts()[0][2], motion.contacts()[0][2])


def test_arrows_in_the_viewer(rng):
    """The page contains the points and forces of the contacts."""
    from sixd.viewer.scene.motions import ShownMotion, _contacts

    ground = RigidGround({"box": CORNERS}, friction=0.5)
    motion = sixd.simulate(BOX, [1, 0, 0, 0, 0, 0, 0.05], None, 0.1, forces=ground)
    found = _contacts(ShownMotion("m", motion.t, motion.q, motion), np.arange(len(motion)), np.eye(3))
    assert found is not None
    assert found["count"] == len(CORNERS)


def test_several_grounds():
    """A ball in a wedge of two planes rests on both, without friction: each carries m g / (2 cos a)."""
    a = np.pi / 4
    planes = [RigidGround(ON_BALL, friction=0.0, normal=(s * np.sin(a), 0, np.cos(a))) for s in (1, -1)]
    at = 0.1 / np.cos(a)
    motion = sixd.simulate(BALL, [1, 0, 0, 0, 0, 0, at + 0.05], None, 0.8, forces=planes)
    assert abs(motion.q[-1, 6] - at) < 1e-8
    names = [name for name, _, _ in motion.contacts()]
    assert len(set(names)) == 2
    for _, _, forces in motion.contacts():
        assert abs(np.linalg.norm(forces[-1, 0]) - G / (2 * np.cos(a))) < 1e-5


@pytest.mark.long
def test_without_gravity():
    """In space: a box pressed onto a wall by a force stays there, one that hits it rebounds."""
    space = BOX.with_gravity((0, 0, 0))
    ground = RigidGround({"box": CORNERS}, restitution=0.5)
    pressed = sixd.simulate(
        space, [1, 0, 0, 0, 0, 0, 0.05], None, 0.2, forces=ground, f_ext=np.array([[0, 0, 0, 0, 0, -3.0]])
    )
    assert np.abs(pressed.q[-1] - pressed.q[0]).max() < 1e-9
    struck = sixd.simulate(space, [1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0, 0, -1.0], 0.2, forces=ground)
    np.testing.assert_allclose(struck.qd[-1], [0, 0, 0, 0, 0, 0.5], atol=1e-9)
    np.testing.assert_allclose(struck.q[-1, 6], 0.05 + 0.5 * (0.2 - 0.05), atol=1e-9)


@pytest.mark.long
def test_unsolved_steps_are_counted(rng):
    """One sweep is not enough for a box that lands on its corners: counted, finite."""
    q, qd = thrown(rng)
    with pytest.warns(sixd.SimulationWarning, match="did not converge"):
        motion = sixd.simulate(BOX, q, qd, 1.0, forces=RigidGround({"box": CORNERS}, sweeps=1))
    assert motion.facts["unsolved"] > 0
    assert np.isfinite(motion.q).all()


# stiff forces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 300.0), (1e6, 1e4)])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_light_foot_under_a_stiff_spring(stiffness, damping, dt):
    """10 kg on a spring on a foot of 10 g, at rest on the ground: implicit steps do not make it lift off."""
    builder = sixd.ModelBuilder("hopper")
    builder.add_body("trunk", "world", sixd.Prismatic("z"), inertia=sixd.point(10.0))
    spring = {"stiffness": stiffness, "damping": damping}
    builder.add_body("foot", "trunk", sixd.Prismatic("z"), inertia=sixd.point(0.01), **spring)
    ground = sixd.RigidGround({"foot": (0, 0, 0)})
    motion = sixd.simulate(builder.build(), None, None, 3.0, dt=dt, method="implicit", forces=ground)
    (_, points, forces), *_ = motion.contacts()
    assert np.abs(points).max() < 1e-9
    assert_allclose(forces[-1, 0], [0, 0, 10.01 * 9.81], rtol=1e-8, atol=1e-12)  # 1e-10 m/s are left
    assert_allclose(motion.q[-1, 1], 10 * 9.81 / stiffness, rtol=1e-7)


@pytest.mark.parametrize("stiffness", [1e4, 1e6])
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
def test_a_spring_between_two_branches(stiffness, dt):
    """Its derivatives are where the mass matrix has zeros: 10 kg rest on a spring on 0.1 kg on the ground."""
    builder = sixd.ModelBuilder("two masses")
    builder.add_body("below", "world", sixd.Prismatic("z"), inertia=sixd.point(0.1))
    at = sixd.placement((0, 0, 0.5))
    builder.add_body("above", "world", sixd.Prismatic("z"), placement=at, inertia=sixd.point(10.0))
    forces = RigidGround({"below": (0, 0, 0)}), sixd.SpringDamper("below", "above", stiffness, stiffness / 50, 0.5)
    motion = sixd.simulate(builder.build(), None, None, 3.0, dt=dt, method="implicit", forces=forces)
    assert_allclose(motion.q[-1], [0, -10 * G / stiffness], atol=1e-8)  # heights below 1e-9 m are left
    assert motion.facts["unsolved"] == 0


@pytest.mark.long
@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("stiffness", [10.0, 1000.0])
def test_a_box_that_sticks_does_not_creep_by_implicit_steps(stiffness, dt):
    """A spring pulls with 2 N, friction can hold 2.9 N. The derivatives of the spring's force are not symmetric."""
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.4, 0.2, 0.1, mass=1.0))
    builder.add_frame("post", "world", sixd.placement((1, 0, 0.05)))
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
    ground = sixd.RigidGround({"box": corners}, friction=0.3)
    spring = sixd.SpringDamper("box", "post", stiffness, 0.0, 1 - 2 / stiffness)
    q = [1, 0, 0, 0, 0, 0, 0.05]
    motion = sixd.simulate(builder.build(), q, None, 2.0, dt=dt, method="implicit", forces=(ground, spring))
    assert_allclose(motion.q[-1], q, atol=1e-10)


def test_elastic_rebounds_conserve_the_energy():
    """Of boxes that tumble without friction.

    Each impact gained 1 % when the acceleration before it was used after it.
    """
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=0.5))
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    rng = np.random.default_rng(0)
    turn = rng.normal(size=(10, 4))
    q = np.column_stack([turn / np.linalg.norm(turn, axis=1, keepdims=True), np.zeros((10, 2)), np.full(10, 0.6)])
    qd = rng.normal(size=(10, 6)) * [3, 3, 3, 1, 1, 1]
    ground = sixd.RigidGround({"box": corners}, friction=0.0, restitution=1.0)
    motion = sixd.simulate(builder.build(), q, qd, 1.0, forces=ground)
    assert_allclose(
        motion.energy[:, -1], motion.energy[:, 0], rtol=1e-4
    )  # impact times are accurate to the order of a step


@pytest.mark.long
def test_unsolved_impulses_do_no_harm():
    """Friction 5 on a box that stands on an edge, where sliding has no solution: it once gained 1e19 J in a step."""
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=0.5))
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    ground = sixd.RigidGround({"box": corners}, friction=5.0, restitution=0.5)
    q = [-0.33577243458641676, -0.6222939475616356, -0.33576373198942494, 0.6223100764736181]
    q += [-0.0019210872756072984, -0.04015441824682798, 0.10000493056241368]
    qd = [-2.151583201999295e-12, -0.07685600180645188, -2.741395325504969e-08]
    qd += [-0.013339146467027538, 2.7415168430463857e-09, -0.007685556042469368]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)  # of problems that were not solved
        motion = sixd.simulate(builder.build(), q, qd, 0.1, forces=ground)
    assert np.diff(motion.energy).max() < 1e-4
