"""Inverse kinematics: closed forms, robots compared with Pinocchio, limits, constraints, targets out of reach, batches."""

import numpy as np
import pytest

import sixd
from peers import pin
from robots import FIVE, ByName, pinocchio_model, quiet_load
from samples import KINDS, Parabola, constrained, single_joint, trees

ik = sixd.inverse_kinematics


def closed_form(x, y, l1=0.7, l2=0.5):
    """Both solutions (2, 2) of a planar arm, elbow up and down, from the law of cosines."""
    c = (x * x + y * y - l1 * l1 - l2 * l2) / (2 * l1 * l2)
    found = []
    for sign in (1, -1):
        q2 = sign * np.arccos(c)
        found.append([np.arctan2(y, x) - np.arctan2(l2 * np.sin(q2), l1 + l2 * np.cos(q2)), q2])
    return np.array(found)


def planar_2r():
    """Two links of 0.7 and 0.5 m in the xy-plane."""
    builder = sixd.ModelBuilder("2R")
    builder.add_body("upper", "world", sixd.Revolute("z"), inertia=sixd.rod(0.7, mass=1.0))
    builder.add_body(
        "lower", "upper", sixd.Revolute("z"), placement=sixd.placement([0.7, 0, 0]), inertia=sixd.rod(0.5, mass=1.0)
    )
    builder.add_frame("tip", "lower", sixd.placement([0.5, 0, 0]))
    return builder.build()


def test_both_branches_of_a_planar_arm():
    """From a start on each side the elbow goes to that side; the angles are those of the law of cosines."""
    arm, rng = planar_2r(), np.random.default_rng(0)
    angle, radius = rng.uniform(-np.pi, np.pi, 50), rng.uniform(0.3, 1.1, 50)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    targets = np.stack([x, y, 0 * x], axis=1)
    for k, bend in enumerate((1.0, -1.0)):
        start = np.stack([angle - 0.4 * bend, np.full(50, bend)], axis=1)
        found = ik(arm, "tip", targets, q0=start, restarts=0, tol=1e-10)
        assert found.success.all()
        expected = np.array([closed_form(a, b)[k] for a, b in zip(x, y, strict=True)])
        away = (found.q - expected + np.pi) % (2 * np.pi) - np.pi
        assert np.abs(away).max() < 1e-9  # of a tolerance of 1e-10 m


def robot(name):
    """A model, a frame and the joints that are locked."""
    if name == "anymal":
        return quiet_load(FIVE[name], floating_base=True), "LF_FOOT", []
    model = quiet_load(FIVE[name])
    if name == "ur5":
        return model, "tool0", []
    if name == "panda":
        return model, "panda_hand", [j for j in model.joint_names if "finger" in j]
    return model, "gripper_left_base_link", [j for j in model.joint_names if not j.startswith("arm_left")]


def reachable(model, frame, locked, count, seed=0):
    """Poses (count, 4, 4) of random configurations within the limits."""
    q = model.random_configuration(seed, size=count)
    base = np.clip(model.neutral(), model.lower, model.upper)
    for joint in locked:
        q[:, model.q_slice(joint)] = base[model.q_slice(joint)]
    return sixd.pose(model, q, frame)


def within(model, q):
    return (q >= model.lower).all() and (q <= model.upper).all()


@pytest.mark.parametrize(
    ("name", "count"),
    [("ur5", 400), ("panda", 400), ("anymal", 400), ("talos", 400)]
    + [pytest.param(name, 10_000, marks=pytest.mark.long) for name in ("ur5", "panda", "anymal", "talos")],
)
def test_reachable_poses_of_robots(name, count):
    """At least 99.5 % are found at 1e-6 m and rad, within the limits; Pinocchio's forward kinematics agrees."""
    model, frame, locked = robot(name)
    T = reachable(model, frame, locked, count)
    found = ik(model, frame, T, locked=locked, tol=1e-6)
    assert found.success.mean() >= 0.995
    assert within(model, found.q)
    there = sixd.pose(model, found.q, frame)
    turned = np.linalg.norm((there - T)[..., :3, :3], axis=(-1, -2)) / np.sqrt(2)
    moved = np.linalg.norm((there - T)[..., :3, 3], axis=-1)
    assert max(turned[found.success].max(), moved[found.success].max()) < 1e-6
    assert (found.residual[found.success] <= 1e-6).all()
    pinocchio = pinocchio_model(FIVE[name], floating=name == "anymal")
    data, names = pinocchio.createData(), ByName(model, pinocchio)
    for k in np.flatnonzero(found.success)[:20]:
        pin.framesForwardKinematics(pinocchio, data, names.q(found.q[k]))
        theirs = data.oMf[pinocchio.getFrameId(frame)].homogeneous
        assert np.abs(theirs - T[k]).max() < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_type(kind):
    """The last body of a chain with a joint of each type goes to a pose that it can take, and its limits hold."""
    model = single_joint(kind)
    q = model.random_configuration(2, size=20)
    frame = model.body_names[-1]
    found = ik(model, frame, sixd.pose(model, q, frame), q0=model.integrate(q, np.full(model.nv, 0.1)))
    assert found.success.all()
    assert np.abs(sixd.pose(model, found.q, frame) - sixd.pose(model, q, frame)).max() < 1e-6


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))])
def test_random_trees(seed):
    """All joint types at once, two frames."""
    model = trees()[seed]
    q, (a, b) = model.random_configuration(5, size=30), model.body_names[-2:]
    targets = {a: sixd.pose(model, q, a), b: sixd.pose(model, q, b)[:, :3, 3]}
    found = ik(model, targets)
    assert found.success.mean() > 0.9
    there = sixd.pose(model, found.q, a)[found.success]
    assert np.abs(there - targets[a][found.success]).max() < 1e-6


def test_joints_that_have_no_part_stay():
    """Joints that do not move the frame keep q0, and so do locked ones; a mapping gives their values."""
    model, frame, _ = robot("anymal")
    q0 = model.random_configuration(0)
    T = sixd.pose(model, model.random_configuration(1), frame)
    found = ik(model, frame, T, q0=q0, locked={"LF_HAA": 0.2})
    assert found.success
    assert found.q[model.q_slice("LF_HAA")] == 0.2
    other = [j for j in model.joint_names[1:] if not j.startswith("LF")]
    assert all(np.array_equal(found.q[model.q_slice(j)], q0[model.q_slice(j)]) for j in other)
    held = ik(model, frame, T, q0=q0, locked=["LF_KFE", model.joint_names[0]])
    assert np.array_equal(held.q[:7], q0[:7])
    assert not held.success


def test_limits_are_hard_bounds():
    """A target beyond a limit leaves the joint on it; with other limits, or none, it is reached."""
    arm = planar_2r()
    q = np.array([0.4, 1.2])
    T = sixd.pose(arm, q, "tip")
    bounded = ik(arm, "tip", T, limits=([-1, -0.5], [1, 0.5]))
    assert not bounded.success
    assert abs(bounded.q[1]) == 0.5
    assert bounded.gradient <= 1e-6
    free = ik(arm, "tip", T, limits=False)
    assert free.success
    assert np.abs((free.q - q + np.pi) % (2 * np.pi) - np.pi).max() < 1e-5


def projected_gradient(model, frame, T, q):
    """The projected gradient of ½‖error‖², by differences of the error in plain NumPy."""

    def half_square(x):
        there = sixd.pose(model, x, frame)
        R = T[:3, :3].T @ there[:3, :3]
        w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
        angle = np.arctan2(np.linalg.norm(w), (np.trace(R) - 1) / 2)
        return (np.sum((there - T)[:3, 3] ** 2) + angle**2) / 2

    h = np.eye(model.nv) * 1e-5
    g = np.array([(half_square(model.integrate(q, e)) - half_square(model.integrate(q, -e))) / 2e-5 for e in h])
    return np.clip(q - g, model.lower, model.upper) - q


@pytest.mark.parametrize("name", ["ur5", "panda_arm"])
def test_targets_out_of_reach(name):
    """They end at a minimum of the error within the limits: the projected gradient is at most tol, success is False."""
    model, frame = (robot("ur5")[:2]) if name == "ur5" else (sixd.zoo.panda_arm(), "tool")
    T = sixd.pose(model, model.random_configuration(1, size=60), frame).copy()
    T[:, :3, 3] += np.array([3.0, 0.5, 1.0]) * np.linspace(0.7, 2, 60)[:, None]
    found = ik(model, frame, T)
    assert not found.success.any()
    assert (found.gradient <= 1e-6).all()
    assert within(model, found.q)
    for k in range(0, 60, 6):
        assert (
            np.abs(projected_gradient(model, frame, T[k], found.q[k])).max() < 3e-6
        )  # differences: 1e-9 / 1e-5 and h²
    for k in range(3):  # a minimum, not only a stationary point: no step within the limits is better
        near = found.q[k] + np.random.default_rng(k).normal(scale=1e-2, size=(200, model.nv))
        again = ik(model, frame, T[k], q0=np.clip(near, model.lower, model.upper), restarts=0)
        assert again.residual.min() > found.residual[k] - 1e-9


def test_nan_stays_in_its_row():
    arm = sixd.zoo.panda_arm()
    T = sixd.pose(arm, arm.random_configuration(0, size=12), "tool").copy()
    T[3, 0, 3] = np.nan
    T[7] = np.nan
    with np.errstate(all="raise"):
        found = ik(arm, "tool", T)
    bad = np.isin(np.arange(12), [3, 7])
    assert np.isnan(found.q[bad]).all()
    assert np.isnan(found.residual[bad]).all()
    assert not found.success[bad].any()
    clean = ik(arm, "tool", T[~bad])
    assert np.array_equal(found.q[~bad], clean.q)
    q0 = np.zeros((12, arm.nq))
    q0[5, 2] = np.nan
    assert np.isnan(ik(arm, "tool", clean_targets(arm), q0=q0).q[5]).all()


def clean_targets(arm):
    return sixd.pose(arm, arm.random_configuration(0, size=12), "tool")


def test_rows_do_not_depend_on_their_batch():
    """Equal seeds give equal results; a row alone gives what it gives in a batch."""
    arm = sixd.zoo.ur_arm()
    frame = arm.body_names[-1]
    T = sixd.pose(arm, arm.random_configuration(4, size=40), frame)
    whole = ik(arm, frame, T, seed=5)
    assert np.array_equal(whole.q, ik(arm, frame, T, seed=5).q)
    for k in (0, 17, 39):
        one = ik(arm, frame, T[k], seed=5)
        assert np.array_equal(one.q, whole.q[k])
        assert one.iterations == whole.iterations[k]
    far = sixd.pose(arm, arm.random_configuration(4, size=400), frame).copy()
    far[::10, :3, 3] *= 2.0
    many = ik(arm, frame, far)
    hard = np.argsort(many.iterations)[-20:]  # those with many restarts, and those out of reach
    few = ik(arm, frame, far[hard])
    assert np.array_equal(few.q, many.q[hard])
    assert np.array_equal(few.iterations, many.iterations[hard])
    backwards = ik(arm, frame, T[::-1], seed=5)
    assert np.array_equal(backwards.q[::-1], whole.q)
    assert not np.array_equal(whole.q, ik(arm, frame, T, seed=6).q)
    generator = ik(arm, frame, T, seed=np.random.default_rng(5))
    assert np.array_equal(generator.q, whole.q)


def test_batch_shapes():
    arm = sixd.zoo.panda_arm()
    T = sixd.pose(arm, arm.random_configuration(0, size=(2, 3)), "tool")
    found = ik(arm, "tool", T)
    assert found.q.shape == (2, 3, 7)
    assert found.residual.shape == found.success.shape == found.iterations.shape == found.gradient.shape == (2, 3)
    two = ik(arm, {"tool": [T[0, 0], sixd.Direction(np.zeros((3, 1, 3)) + T[0, 0, :3, 2])]})
    assert two.q.shape == (3, 1, 7)
    started = ik(arm, "tool", T[0, 0], q0=arm.random_configuration(1, size=4))
    assert started.q.shape == (4, 7)
    single = ik(arm, "tool", T[0, 0])
    assert single.q.shape == (7,)
    assert single.success.shape == ()
    for shape in ((0,), (2, 0)):
        empty = ik(arm, "tool", np.zeros((*shape, 4, 4)))
        assert empty.q.shape == (*shape, 7)
        assert empty.success.shape == shape


def test_float32():
    arm = sixd.zoo.panda_arm()
    T = sixd.pose(arm, arm.random_configuration(0, size=100), "tool")
    found = ik(arm, "tool", T.astype(np.float32))
    assert found.q.dtype == found.residual.dtype == np.float32
    assert found.success.mean() > 0.95
    there = sixd.pose(arm, found.q.astype(float), "tool")
    assert np.abs(there - T)[found.success].max() < 2e-4  # tol is 1e-4 in float32


def test_mimic_joints_follow():
    """The dependent joint keeps its law and its own limits, which bind before those of its source."""
    chain = sixd.zoo.planar(3)
    names = chain.joint_names
    model = constrained(chain, sixd.Mimic(names[2], names[1], -0.5, 0.2))
    q = model.reduce().lift(np.random.default_rng(0).uniform(-1, 1, (30, 2)))
    found = ik(model, "tip", sixd.pose(model, q, "tip")[:, :3, 3])
    assert found.success.all()
    np.testing.assert_allclose(found.q[:, 2], -0.5 * found.q[:, 1] + 0.2, atol=1e-15)
    lower, upper = np.full(3, -3.0), np.full(3, 3.0)
    upper[2] = 0.0
    bound = ik(model, "tip", sixd.pose(model, q, "tip")[:, :3, 3], limits=(lower, upper))
    assert (bound.q[:, 2] <= 1e-15).all()
    held = ik(model, "tip", sixd.pose(model, q, "tip")[:, :3, 3], q0=q[0], locked=[names[2]])
    np.testing.assert_allclose(held.q[:, 1:], np.broadcast_to(q[0, 1:], (30, 2)), atol=1e-15)


def test_closed_loops_stay_closed():
    """A four-bar's coupler goes where it can go; where it cannot, the loop is closed all the same."""
    model = sixd.zoo.four_bar()
    crank = np.linspace(0.2, 1.5, 8)
    q = sixd.assemble(model, np.stack([crank, 0 * crank - 0.5, 0 * crank + 1.6], axis=1), fixed=["crank"])
    targets = sixd.pose(model, q, "coupler_end")[:, :3, 3]
    found = ik(model, "coupler_end", targets)
    assert found.success.all()
    assert np.abs(sixd.constraint_error(model, found.q)).max() < 1e-10
    assert np.abs(sixd.pose(model, found.q, "coupler_end")[:, :3, 3] - targets).max() < 1e-6
    away = ik(model, "coupler_end", targets + np.array([1.0, 2.0, 0.0]))
    assert not away.success.any()
    assert np.abs(sixd.constraint_error(model, away.q)).max() < 1e-10
    assert (away.gradient <= 1e-6).all()


def test_redundant_loops():
    """Bricard's mechanism, whose equations are redundant: points of its rods go where they can, the loop stays closed."""
    model = sixd.zoo.bricard()
    q = sixd.assemble(model, model.neutral())
    for frame in ("rod3", "P5"):
        place = sixd.pose(model, q, frame)[:3, 3]
        there = ik(model, frame, place)
        assert there.success
        away = ik(model, frame, place + 0.1)
        assert not away.success
        assert away.gradient <= 1e-6
        assert np.abs(sixd.constraint_error(model, np.stack([there.q, away.q]))).max() < 1e-10


def test_couplings_hold():
    chain = sixd.zoo.planar(3)
    names = chain.joint_names
    model = constrained(chain, sixd.Coupling(names[2], names[1], lambda y: sixd.spatial.sin(y) * 0.5))
    q = model.reduce().lift(np.random.default_rng(0).uniform(-1, 1, (5, 2)))
    found = ik(model, "tip", sixd.pose(model, q, "tip")[:, :3, 3])
    assert found.success.all()
    np.testing.assert_allclose(found.q[:, 2], 0.5 * np.sin(found.q[:, 1]), atol=1e-14)
    reduced = ik(model.reduce(), "tip", sixd.pose(model, q, "tip")[:, :3, 3])
    assert reduced.q.shape == (5, 2)
    assert reduced.success.all()


def test_a_joint_of_ones_own():
    builder = sixd.ModelBuilder("own")
    builder.add_body("a", "world", Parabola(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body(
        "b", "a", sixd.Revolute("z"), placement=sixd.placement([0.1, 0, 0]), inertia=sixd.sphere(0.1, mass=1.0)
    )
    builder.add_frame("t", "b", sixd.placement([0.3, 0, 0]))
    model = builder.build()
    q = np.random.default_rng(0).uniform(-1, 1, (10, 2))
    assert ik(model, "t", sixd.pose(model, q, "t")[:, :3, 3]).success.all()


def test_threads_and_targets_that_are_not_finite():
    arm = sixd.zoo.panda_arm()
    T = sixd.pose(arm, arm.random_configuration(0, size=2000), "tool").copy()
    T[5, 0, 3], T[6, 1, 3] = np.inf, 1e300
    count = sixd.get_num_threads()
    try:
        sixd.set_num_threads(1)
        one = ik(arm, "tool", T)
        sixd.set_num_threads(2)
        two = ik(arm, "tool", T)
    finally:
        sixd.set_num_threads(count)
    assert np.array_equal(one.q, two.q, equal_nan=True)
    assert np.isnan(one.q).any(axis=1).tolist() == [k in (5, 6) for k in range(2000)]


def test_loops_of_rotations_do_not_close_after_half_a_turn():
    """Sines vanish there too, but the weld is upside down: not a solution."""
    builder = sixd.ModelBuilder("weld")
    builder.add_body("a", "world", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body("b", "world", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_constraint(sixd.Loop("a", "b", ("rx", "ry", "rz")))
    model = builder.build()
    rng = np.random.default_rng(0)
    R = np.array([sixd.spatial.rotation_from_vector(rng.normal(size=3)) for _ in range(20)])
    found = ik(model, "a", sixd.Orientation(R), q0=model.random_configuration(1, size=20))
    assert found.success.all()
    poses = [sixd.pose(model, found.q, name)[:, :3, :3] for name in "ab"]
    assert np.abs(poses[0] - poses[1]).max() < 1e-9
    assert np.abs(poses[0] - R).max() < 1e-6


def test_posture():
    """Among the solutions of a redundant arm, the one nearest to the posture: no motion along the solutions is better."""
    arm = sixd.zoo.panda_arm()
    q = arm.random_configuration(3, size=20)
    T, posture = sixd.pose(arm, q, "tool"), (arm.lower + arm.upper) / 2
    plain, found = ik(arm, "tool", T, q0=q), ik(arm, "tool", T, q0=q, posture=posture)
    assert found.success.all()
    away = [np.linalg.norm(x.q - posture, axis=1) for x in (plain, found)]
    assert (away[1] <= away[0] + 1e-9).all()
    assert np.mean(away[1]) < 0.95 * np.mean(away[0])
    left = []
    for k in range(20):
        J = sixd.jacobian(arm, found.q[k], "tool")
        inside = (found.q[k] > arm.lower) & (found.q[k] < arm.upper)
        if inside.all():
            null = np.linalg.svd(J)[2][-1]
            left.append(abs(null @ (found.q[k] - posture)))
    # stationary along the remaining degree of freedom, except for solutions at singular configurations
    assert len(left) > 5
    assert np.median(left) < 1e-5
    assert np.mean(np.array(left) < 1e-4) > 0.8
    alone = ik(arm, "tool", T, posture=posture)
    assert alone.success.mean() > 0.9


def test_paths_are_continuous():
    """Each pose starts from the solution before; steps of q are as small as those of the path."""
    arm = sixd.zoo.panda_arm()
    s = np.linspace(0, 1, 120)[:, None]
    a, b = np.array([0, -0.4, 0, -2.0, 0, 1.8, 0.8]), np.array([0.9, 0.4, 0.3, -1.6, 0.4, 2.2, 0.8])
    T = sixd.pose(arm, a + (b - a) * (3 - 2 * s) * s * s, "tool")
    found = ik(arm, "tool", T, q0=a, path=True)
    assert found.success.all()
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.05
    np.testing.assert_allclose(found.q[0], a, atol=1e-5)
    both = ik(arm, "tool", np.stack([T, T[::-1]]), path=True)
    assert both.q.shape == (2, 120, 7)
    assert both.success.all()
    assert np.abs(np.diff(both.q, axis=1)).max() < 0.05
    nan = T.copy()
    nan[60:62] = np.nan
    gap = ik(arm, "tool", nan, q0=a, path=True)
    assert gap.success[:60].all()
    assert not gap.success[60:62].any()
    assert np.isnan(gap.q[60:62]).all()
    assert gap.success[62:].all()
    assert ik(arm, "tool", np.zeros((0, 4, 4)), path=True).q.shape == (0, 7)
    assert ik(arm, "tool", T[:1], path=True, q0=a).q.shape == (1, 7)


def test_paths_near_a_posture():
    """Each pose has the solution nearest to the posture, continuously; a closed path then closes in q, too."""
    arm = sixd.zoo.panda_arm()
    q = np.array([0, -0.4, 0, -2.0, 0, 1.8, 0.8])
    turn = np.linspace(0, 2 * np.pi, 100)
    circle = np.tile(sixd.pose(arm, q, "tool"), (100, 1, 1))
    circle[:, 1, 3] += 0.15 * np.sin(turn)
    circle[:, 2, 3] -= 0.15 * (1 - np.cos(turn))
    posture = q + np.array([0.3, 0, 0, 0, 0, 0, 0])
    plain, found = (ik(arm, "tool", circle, q0=q, path=True, **more) for more in ({}, {"posture": posture}))
    assert found.success.all()
    assert np.abs(sixd.pose(arm, found.q, "tool") - circle).max() < 2e-6  # tol
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.05
    away = [np.linalg.norm(x.q - posture, axis=1) for x in (plain, found)]
    assert (away[1] <= away[0] + 1e-9).all()
    null = [np.linalg.svd(sixd.jacobian(arm, x, "tool"))[2][-1] for x in found.q]
    assert max(abs(n @ (x - posture)) for n, x in zip(null, found.q, strict=True)) < 1e-5  # to tol
    np.testing.assert_allclose(found.q[-1], found.q[0], atol=1e-5)  # to tol
    assert np.abs(plain.q[-1] - plain.q[0]).max() > 0.05
    # a batch, poses that are not numbers or out of reach, without q0
    nan, far = circle.copy(), circle.copy()
    nan[50], far[50:55, 0, 3] = np.nan, 3.0
    together = ik(arm, "tool", np.stack([circle, nan, far]), posture=posture, path=True)
    assert together.success.sum(axis=1)[:2].tolist() == [100, 99]
    assert together.success[2, :50].all()
    assert together.success[2, 60:].all()  # found again after some poses
    assert np.isnan(together.q).any(axis=-1).sum(axis=1).tolist() == [0, 1, 0]
    np.testing.assert_array_equal(together.q[0], ik(arm, "tool", circle, posture=posture, path=True).q)
    np.testing.assert_allclose(together.q[0], found.q, atol=1e-5)  # to tol
    assert ik(arm, "tool", circle[:0], posture=posture, path=True).q.shape == (0, 7)


def test_a_path_near_a_posture_goes_as_far_as_one_without():
    """Where the nearest solutions end at a limit, the path without the posture is kept; mimic joints hold on it."""
    arm = sixd.zoo.panda_arm()
    s = np.linspace(0, 1, 40)[:, None]
    ends = [arm.random_configuration(k, size=12)[:, None] for k in (5, 6)]
    T = sixd.pose(arm, ends[0] + (ends[1] - ends[0]) * s * 0.6, "tool")
    posture = (arm.lower + arm.upper) / 2
    plain, found = (ik(arm, "tool", T, q0=ends[0][:, 0], path=True, **more) for more in ({}, {"posture": posture}))
    assert (found.success.sum(axis=1) >= plain.success.sum(axis=1)).all()
    nearer = [np.linalg.norm(x.q - posture, axis=-1).mean() for x in (found, plain)]
    assert nearer[0] < 0.9 * nearer[1]


def test_other_targets():
    """Directions, points to look at, the centre of mass, one hand relative to the other."""
    arm = sixd.zoo.panda_arm()
    rng = np.random.default_rng(0)
    along, point = rng.normal(size=(30, 3)), rng.uniform(-1, 1, (30, 3)) + np.array([0, 0, 1])
    found = ik(arm, {"tool": [sixd.Direction(along, "x")]})
    assert found.success.all()
    x = sixd.pose(arm, found.q, "tool")[:, :3, 0]
    np.testing.assert_allclose(x, along / np.linalg.norm(along, axis=1, keepdims=True), atol=2e-6)
    found = ik(arm, "tool", sixd.LookAt(point))
    assert found.success.all()
    T = sixd.pose(arm, found.q, "tool")
    sight = point - T[:, :3, 3]
    np.testing.assert_allclose(T[:, :3, 2], sight / np.linalg.norm(sight, axis=1, keepdims=True), atol=2e-6)
    R = sixd.pose(arm, arm.random_configuration(3, size=30), "tool")[:, :3, :3]
    found = ik(arm, "tool", sixd.Orientation(R))
    assert found.success.all()
    np.testing.assert_allclose(sixd.pose(arm, found.q, "tool")[:, :3, :3], R, atol=2e-6)


def test_whole_body():
    """A quadruped moves its centre of mass with its feet in place; feet are given relative to each other, too."""
    model, _, _ = robot("anymal")
    feet = ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]
    q0 = model.neutral()
    q0[7:] = [-0.1, 0.7, -1, 0.1, 0.7, -1, -0.1, -0.7, 1, 0.1, -0.7, 1]
    there = {foot: sixd.pose(model, q0, foot)[:3, 3] for foot in feet}
    shift = np.array([0.03, 0.02, -0.05])
    found = ik(model, {**there, "world": sixd.CenterOfMass(sixd.center_of_mass(model, q0) + shift)}, q0=q0)
    assert found.success
    np.testing.assert_allclose(sixd.center_of_mass(model, found.q) - sixd.center_of_mass(model, q0), shift, atol=1e-6)
    T = np.linalg.inv(sixd.pose(model, q0, "RF_FOOT")) @ sixd.pose(model, q0, "LF_FOOT")
    T[:3, 3] += [0.02, 0.01, -0.03]
    found = ik(model, {"LF_FOOT": sixd.RelativeTo("RF_FOOT", T[:3, 3]), "RF_FOOT": there["RF_FOOT"]}, q0=q0)
    assert found.success
    seen = np.linalg.inv(sixd.pose(model, found.q, "RF_FOOT")) @ sixd.pose(model, found.q, "LF_FOOT")
    np.testing.assert_allclose(seen[:3, 3], T[:3, 3], atol=2e-6)


def test_weights():
    """Where a pose cannot be reached, the heavier part of the error is the smaller one."""
    arm = planar_2r()
    T = sixd.placement([0.9, 0.3, 0.0], [0, 0, 2.0])
    split = []
    for weights in ((1, 1), (10, 1), (1, 10)):
        found = ik(arm, "tip", T, weights=weights)
        assert not found.success
        there = sixd.pose(arm, found.q, "tip")
        metres = np.linalg.norm((there - T)[:3, 3])
        angle = abs((found.q.sum() - 2.0 + np.pi) % (2 * np.pi) - np.pi)
        assert found.residual == pytest.approx(np.hypot(weights[0] * metres, weights[1] * angle), abs=1e-9)
        split.append((metres, angle))
    assert split[1][0] < split[0][0] < split[2][0]
    assert split[2][1] < split[0][1] < split[1][1]
    both = ik(arm, {"tip": T, "lower": [0.5, 0.3, 0.0]}, weights={"tip": (1, 0), "lower": 1e-3})
    assert both.q.shape == (2,)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"frame": "tol"}, sixd.UnknownNameError, "no frame named 'tol'"),
        ({"frame": 3}, sixd.ScalarTypeError, "expected the name of a frame"),
        (
            {"frame": np.eye(4), "target": "tool"},
            sixd.ScalarTypeError,
            r"They are swapped: .*\(model, 'tool', target\)",
        ),
        ({"frame": np.zeros(7)}, sixd.ScalarTypeError, "frame is a ndarray and target a ndarray"),
        ({"frame": ["tool"]}, sixd.ScalarTypeError, "frame is a list and .* expected the name of a frame"),
        ({"target": np.eye(3)}, sixd.ShapeError, r"is a rotation matrix.* For an orientation: sixd.Orientation\(R\)"),
        ({"target": [np.eye(3)] * 2}, sixd.ShapeError, r"shape \(2, 3, 3\) and is a rotation matrix"),
        ({"target": np.zeros(7)}, sixd.ShapeError, "Pass a configuration as q0="),
        ({"target": "world"}, sixd.ScalarTypeError, "the target of 'tool' is a str, expected an array"),
        ({"target": sixd.zoo.pendulum()}, sixd.ScalarTypeError, "the target of 'tool' is a Model"),
        ({"frame": "world"}, sixd.ModelError, "fixed to the world"),
        ({"frame": {}, "target": None}, sixd.ShapeError, "empty mapping"),
        ({"frame": {"tool": np.eye(4)}}, sixd.ScalarTypeError, "targets in one place"),
        ({"target": None}, sixd.ScalarTypeError, "target is None"),
        ({"target": np.eye(3)[:2, :2]}, sixd.ShapeError, "expected a pose"),
        ({"target": np.diag([1, 1, 2, 1.0])}, sixd.ModelError, "is not a rotation"),
        ({"target": np.diag([1, 1, -1, 1.0])}, sixd.ModelError, "is not a rotation"),
        ({"target": np.eye(4)[[0, 1, 2, 2]]}, sixd.ModelError, "does not end with the row"),
        ({"target": [1.0, "a", 2]}, sixd.ScalarTypeError, "real numbers"),
        ({"target": sixd.Direction([0, 0, 0])}, sixd.ModelError, "has no length"),
        ({"target": sixd.Direction([0, 0, 1], "w")}, sixd.ModelError, "axis is 'w'"),
        ({"target": sixd.CenterOfMass([0, 0, 1])}, sixd.ModelError, "expected that of 'world'"),
        ({"target": sixd.RelativeTo("nowhere", np.eye(4))}, sixd.UnknownNameError, "nowhere"),
        ({"target": sixd.RelativeTo("tool", np.eye(4))}, sixd.ModelError, "on one body"),
        ({"target": sixd.Orientation(np.eye(4))}, sixd.ShapeError, "shape"),
        ({"q0": np.zeros(6)}, sixd.ShapeError, "q0 has shape"),
        ({"posture": np.zeros((2, 8))}, sixd.ShapeError, "posture has shape"),
        ({"q0": np.zeros((2, 7)), "target": np.zeros((3, 4, 4)) + np.eye(4)}, sixd.ShapeError, "do not broadcast"),
        ({"limits": 3}, sixd.ScalarTypeError, "limits"),
        ({"limits": (1, -1)}, sixd.ModelError, "the lower one first"),
        ({"limits": (np.zeros(3), 1)}, sixd.ShapeError, "limits"),
        ({"weights": -1}, sixd.ScalarTypeError, "weight"),
        ({"weights": {"tip": 1}}, sixd.ModelError, "expected frames with a target"),
        ({"locked": "joint1"}, sixd.ScalarTypeError, "names of joints"),
        ({"locked": ["joint9"]}, sixd.UnknownNameError, "joint9"),
        ({"locked": {"joint1": [1, 2]}}, sixd.ShapeError, "finite"),
        ({"locked": {"joint1": "a"}}, sixd.ScalarTypeError, "locked joint 'joint1' is 'a'"),
        ({"target": [[1, 2], [3]]}, sixd.ShapeError, "its rows differ in length"),
        ({"limits": (np.inf, np.inf)}, sixd.ModelError, "finite numbers between"),
        ({"limits": (-np.inf, -np.inf)}, sixd.ModelError, "finite numbers between"),
        ({"restarts": 10**9}, sixd.ScalarTypeError, "restarts is 1000000000, expected at most"),
        ({"restarts": -1}, sixd.ScalarTypeError, "restarts"),
        ({"tol": 0}, sixd.ScalarTypeError, "tol"),
        ({"seed": "x"}, sixd.ScalarTypeError, "seed is 'x'"),
        ({"seed": -1}, sixd.ScalarTypeError, "seed is -1"),
        ({"path": 1}, sixd.ScalarTypeError, "path"),
        ({"path": True}, sixd.ShapeError, "no leading dimension"),
    ],
)
def test_errors(change, error, words):
    arguments = {"frame": "tool", "target": np.eye(4)} | change
    frame, target = arguments.pop("frame"), arguments.pop("target")
    with pytest.raises(error, match=words):
        ik(sixd.zoo.panda_arm(), frame, target, **arguments)


@pytest.mark.parametrize("length", [1e-200, 1e-30, 1.0, 1e30, 1e200])
def test_directions_of_any_length(length):
    arm = sixd.zoo.panda_arm()
    for kind in ("float64", "float32") if 1e-38 < length < 1e38 else ("float64",):
        wanted = np.array([[0, 0.6, 0.8], [0, 0, np.nan]], kind) * np.array(length, kind)
        found = ik(arm, "tool", sixd.Direction(wanted))
        assert found.success.tolist() == [True, False]
        np.testing.assert_allclose(sixd.pose(arm, found.q[0], "tool")[:3, 2], [0, 0.6, 0.8], atol=1e-4)  # float32
        assert np.isnan(found.q[1]).all()


def test_nan_anywhere_in_a_pose():
    arm = sixd.zoo.panda_arm()
    T = sixd.pose(arm, [0.1, -0.4, 0, -2.0, 0, 1.8, 0.8], "tool")
    poses = np.tile(T, (17, 1, 1))
    poses[np.arange(16), np.arange(16) // 4, np.arange(16) % 4] = np.nan
    found = ik(arm, "tool", poses)
    assert found.success.tolist() == [False] * 16 + [True]
    assert np.isnan(found.q[:16]).all()


def test_three_positions_are_positions():
    """Unless they are a rotation matrix to the last digits; a further dimension says so."""
    arm = sixd.zoo.panda_arm()
    assert ik(arm, "tool", 0.4 * np.eye(3) + 0.1).success.shape == (3,)
    assert ik(arm, "tool", np.eye(3)[..., None, :], restarts=0).success.shape == (3, 1)


def test_errors_of_models():
    arm = sixd.zoo.panda_arm()
    for swapped in (("tool", arm, np.eye(4)), (np.eye(4), "tool", arm)):
        with pytest.raises(sixd.ScalarTypeError, match="inverse_kinematics: model is a .*, expected the model first"):
            ik(*swapped)
    with pytest.raises(sixd.ScalarTypeError, match="differential_ik: model is a ndarray, expected the model first"):
        sixd.differential_ik(np.zeros(7), arm, {"tool": np.zeros(6)})
    with pytest.raises(sixd.ModelError, match="no joint of .* that is not locked"):
        ik(arm, "tool", np.eye(4), locked=arm.joint_names)
    floating = sixd.zoo.random_tree(0, kinds=("free", "revolute"))
    with pytest.raises(sixd.SingularError, match="the quaternion of joint .* is zero in q0"):
        ik(floating, floating.body_names[-1], np.eye(4), q0=np.zeros(floating.nq))
    loops = sixd.ModelBuilder("apart")
    for name in "ab":
        loops.add_body(name, "world", sixd.Revolute("z"), inertia=sixd.rod(1.0, mass=1.0))
        loops.add_frame(f"end_{name}", name, sixd.placement([1.0 if name == "a" else 2.0, 0, 0]))
    loops.add_constraint(sixd.Loop("end_a", "end_b", "point"))
    with pytest.warns(sixd.SimulationWarning, match="constraints of 'apart' do not hold in 1 of 1 samples"):
        assert not ik(loops.build(), "a", sixd.Direction([0, 1, 0], "x"), restarts=2).success
    with pytest.raises(sixd.ScalarTypeError, match="expected a sixd.Model"):
        ik("panda", "tool", np.eye(4))
