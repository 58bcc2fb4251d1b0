"""Dry friction in steps: every type of joint and system, batches, precisions, and its record in a trajectory."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import nonsmooth
import samples
import sixd
from sixd.algorithms.linear.responses import DenseResponse, SparseResponse
from sixd.simulation.nonsmooth.impulses import predictions
from sixd.simulation.nonsmooth.impulses.joint_rows import joint_rows
from sixd.simulation.nonsmooth.impulses.joint_step import JointSolver
from sixd.simulation.setup import make_setup

METHODS = ("rk4", "euler", "midpoint", "implicit")
H = 1e-3


def setup_of(system, **options):
    return make_setup("simulate", sixd.Scenario(system, **options), None, None)


def rubbing(kind, friction=2.0):
    """A body on a joint of that type with strong friction, without gravity, damping and springs."""
    model = samples.single_joint(kind, passive=False).with_gravity([0, 0, 0])
    return dataclasses.replace(model, friction=np.full(model.nv, friction))


# joints -------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", samples.KINDS)
def test_every_joint_comes_to_rest_and_stays(kind, method, rng):
    """The energy falls in every step, velocities end at 0.0, and from then on no bit of the state changes."""
    model = rubbing(kind)
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv) * 0.05
    motion = sixd.simulate(model, q, qd, 0.3, dt=H, method=method)
    assert (np.diff(motion.energy) <= 1e-15).all()
    assert_array_equal(motion.qd[-1], 0)
    assert motion.facts["unsolved"] == 0
    still = int(np.argmax((motion.qd == 0).all(axis=1)))
    assert 0 < still < len(motion) - 1
    assert_array_equal(motion.q[still:], np.broadcast_to(motion.q[still], motion.q[still:].shape))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["spherical", "free", "universal"])
def test_part_of_a_joint_may_slide(kind, rng):
    """A joint with several DoFs keeps its configuration only while all of them rest."""
    model = rubbing(kind)
    model = dataclasses.replace(model, friction=np.where(np.arange(model.nv) == model.nv - 1, 0.0, 2.0))
    motion = sixd.simulate(model, model.random_configuration(rng), rng.normal(size=model.nv) * 0.05, 0.2, dt=H)
    assert np.isfinite(motion.q).all()
    assert (motion.q[-1] != motion.q[-2]).any()


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_a_force_below_friction_moves_nothing(method):
    arm = dataclasses.replace(sixd.zoo.panda_arm(), friction=np.full(7, 100.0))
    q = np.array([0.3, 0.5, -0.2, -1.5, 0.1, 1.2, 0.4])
    pull = np.array([3.0, -2.0, 1.0, 2.0, -1.0, 0.5, 0.2])
    motion = sixd.simulate(arm, q, None, 0.05, dt=H, method=method, controller=pull)
    assert_array_equal(motion.q, np.broadcast_to(q, motion.q.shape))
    # friction balances the weight and the force
    assert_allclose(motion.friction[-1], sixd.gravity_force(arm, q) - pull, atol=1e-10)


# the same with other systems -----------------------------------------------------------------------


def falling_arm(rng, rows=5):
    arm = dataclasses.replace(sixd.zoo.panda_arm(), friction=np.array([5, 5, 3, 3, 0.5, 0.3, 0.1]))
    return arm, rng.uniform(-1, 1, (rows, 7)), rng.normal(size=(rows, 7))


@pytest.mark.many
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_samples_do_not_depend_on_each_other(method, dtype, rng):
    """Alone or in a batch, one step or many: the same bits."""
    arm, q, qd = falling_arm(rng, 11)
    q, qd = q.astype(dtype), qd.astype(dtype)
    together = sixd.simulate(arm, q, qd, 0.03, dt=H, method=method)
    assert together.q.dtype == dtype
    for i in (0, 4, 10):
        alone = sixd.simulate(arm, q[i], qd[i], 0.03, dt=H, method=method)
        assert_array_equal(alone.q, together.q[i])
        assert_array_equal(alone.friction, together.friction[i])
    one = sixd.step(arm, q[3], qd[3], H, method=method)
    many = sixd.step(arm, q, qd, H, method=method)
    assert_array_equal(one[0], together.q[3, 1])
    assert_array_equal(many[1], together.qd[:, 1])


def test_a_sample_of_nan_affects_no_other(rng):
    arm, q, qd = falling_arm(rng, 9)
    clean = sixd.simulate(arm, q, qd, 0.02, dt=H)
    qd[4, 2] = np.nan
    with pytest.warns(sixd.SimulationWarning, match="1 of 9 rows is not finite"):
        mixed = sixd.simulate(arm, q, qd, 0.02, dt=H)
    others = np.arange(9) != 4
    assert_array_equal(mixed.q[others], clean.q[others])
    assert np.isnan(mixed.q[4, -1]).any()


@pytest.mark.long
def test_the_friction_of_each_sample(rng):
    """As a parameter; samples with zero friction move as if the joint had none."""
    arm, q, qd = falling_arm(rng, 3)
    table = np.array([arm.friction, np.zeros(7), arm.friction * 2])
    bare = dataclasses.replace(arm, friction=np.zeros(7))
    found = sixd.simulate(bare, q, qd, 0.05, dt=H, parameters={"friction": table})
    for i in range(3):
        own = dataclasses.replace(arm, friction=table[i])
        assert_allclose(found.q[i], sixd.simulate(own, q[i], qd[i], 0.05, dt=H).q, atol=1e-12)
    zero = sixd.simulate(arm, q, qd, 0.05, dt=H, parameters={"friction": np.zeros((3, 7))})
    assert zero.friction is None
    assert_allclose(zero.q, sixd.simulate(bare, q, qd, 0.05, dt=H).q, atol=1e-13)
    with pytest.raises(sixd.ScalarTypeError, match="friction is negative.*expected at least 0"):
        sixd.simulate(bare, q, qd, 0.05, parameters={"friction": -table})


def test_negative_friction_is_rejected():
    with pytest.raises(sixd.ModelError, match=r"joint 'rod' of 'rod' has friction -0\.1, expected at least 0"):
        sixd.simulate(nonsmooth.rod(friction=-0.1), [0.0], [1.0], 0.1)


def test_equations_and_model_agree(rng):
    """Equations of motion contain dry friction as the sign of a velocity."""
    model = nonsmooth.stuck_pendulum()
    model = dataclasses.replace(model, friction=np.array([0.8]))
    start = [1.2], [0.5], 4.0
    ours = sixd.simulate(model, *start, dt=H)
    theirs = sixd.simulate(sixd.equations(model), *start, dt=H)
    assert_allclose(theirs.q, ours.q, atol=1e-10)
    assert theirs.qd[-1, 0] == ours.qd[-1, 0] == 0


def fingers():
    """Two fingers, the second moving as -2 times the first, and one on its own."""
    builder = sixd.ModelBuilder("fingers", gravity=(0, 0, 0))
    for name, friction in (("first", 1.0), ("second", 2.0), ("third", 0.5)):
        builder.add_body(name, "world", sixd.Prismatic("x"), inertia=sixd.point(1.0), friction=friction)
    builder.add_constraint(sixd.Mimic("second", "first", -2.0))
    return builder.build()


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "euler", "implicit"])
def test_mimic_joints(method):
    """In all coordinates and in reduced ones: (1 + 2·2) N on 1 + 2²·1 kg stop 1 m/s in 1 s."""
    model = fingers()
    for system, qd in ((model, [1.0, -2.0, 0.3]), (model.reduce(), [1.0, 0.3])):
        motion = sixd.simulate(system, None, qd, 1.5, dt=H, method=method)
        assert_allclose(motion.qd[500, 0], 0.5, atol=1e-8)  # 1e-9 of W is added, because rows depend on each other
        assert_array_equal(motion.qd[-1], 0)
        assert_allclose(motion.q[-1, 0], 0.5, atol=1e-3 if method == "euler" else 1e-6)
        assert motion.constraint_error.max() < 1e-12


def test_joints_that_follow_several_others():
    """A joint that moves with the sum of two: its friction is a row of its own, next to theirs."""
    builder = sixd.ModelBuilder("differential", gravity=(0, 0, 0))
    for name, friction in (("a", 0.0), ("b", 0.0), ("sum", 3.0)):
        builder.add_body(name, "world", sixd.Prismatic("x"), inertia=sixd.point(1.0), friction=friction)
    builder.add_constraint(sixd.Coupling("sum", ("a", "b"), lambda y: y[0] + y[1]))
    model = builder.build().reduce()
    motion = sixd.simulate(model, None, [1.0, 0.5], 1.0, dt=H)
    # a - b is free; a + b stops: then a = -b = 0.25 m/s
    assert_allclose(motion.qd[-1], [0.25, -0.25], atol=1e-9)


def test_a_closed_loop_sticks():
    model = sixd.zoo.get("four_bar")
    model = dataclasses.replace(model, friction=np.full(model.nv, 50.0))
    q = sixd.assemble(model, model.neutral())
    motion = sixd.simulate(model, q, None, 0.2, dt=H)
    assert_array_equal(motion.q, np.broadcast_to(motion.q[0], motion.q.shape))
    assert_array_equal(motion.qd, 0)


# records ------------------------------------------------------------------------------------------


def test_friction_in_a_trajectory(tmp_path):
    """The mean force of the step before each record; files, tables and parts contain it."""
    rod = nonsmooth.rod()
    motion = sixd.simulate(rod, [0.0], [7.7], 5e-3, dt=H)
    assert_allclose(motion.friction[:, 0], [0, -0.1, -2.7 * 2e-5 / H, 0, 0, 0], atol=1e-15)
    for name in ("motion.npz", "motion.csv"):
        motion.save(tmp_path / name)
        assert_array_equal(sixd.Trajectory.load(tmp_path / name, rod).friction, motion.friction)
    assert_array_equal(motion[2:4].friction, motion.friction[2:4])
    assert_array_equal(sixd.Trajectory.concatenate([motion[:3], motion[2:]]).friction, motion.friction)
    assert sixd.simulate(nonsmooth.rod(friction=0.0), [0.0], [5.0], 1e-3).friction is None
    pieces = []
    sixd.simulate(rod, [0.0], [7.7], 5e-3, dt=H, on_chunk=pieces.append)
    assert_array_equal(pieces[0].friction, motion.friction)


def test_friction_in_an_ensemble():
    found = sixd.ensemble(nonsmooth.rod(), [0.0], [[5.0], [7.7], [0.0]], 5e-3, count=3, processes=1, chunk=2, dt=H)
    assert_array_equal(found.qd[:, -1], 0)
    assert_allclose(found.friction[1, :3, 0], [0, -0.1, -2.7 * 2e-5 / H], atol=1e-15)
    assert found.facts["unsolved"] == [0, 0, 0]


# responses ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_both_responses_give_the_same_motion(rng, monkeypatch):
    """Dense W, from recursions or factors, and the sparse mass matrix."""
    tree = sixd.zoo.random_tree(3, passive=True).with_gravity([0, 0, -9.81])
    rows = joint_rows(setup_of(tree).problem)
    assert rows.k == np.count_nonzero(tree.friction)
    q, qd = tree.random_configuration(rng), rng.normal(size=tree.nv)
    found = []
    choose = JointSolver(setup_of(tree).problem, rows, "rk4", "float64").prediction.responses
    assert [type(x) for x in choose] == [DenseResponse, DenseResponse, SparseResponse]
    for k in range(3):
        model = dataclasses.replace(tree)
        with monkeypatch.context() as patch:
            patch.setattr(predictions.Prediction, "responses", property(lambda self, k=k: [choose[k]]))
            found.append(sixd.simulate(model, q, qd, 0.05, dt=H))
    assert_allclose(found[1].q, found[0].q, atol=1e-11)
    assert_allclose(found[2].q, found[0].q, atol=1e-11)
    assert_array_equal(found[2].qd == 0, found[0].qd == 0)
