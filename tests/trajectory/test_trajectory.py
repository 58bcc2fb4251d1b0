"""Trajectories: parts, interpolation on the manifold, energies, files, tables and pictures."""

import contextlib
import io
import json
import pickle
import sys
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from samples import KINDS, single_joint
from sixd.trajectory.arrays import KEPT
from sixd.trajectory.labels import labels_of
from sixd.trajectory.panels import short_names
from sixd.trajectory.trajectory import State, Trajectory

ARRAYS = ("t", "q", "qd", "tau", "internal")


def moving(model, t, seed=0, batch=(), speed=1.0):
    """A smooth motion q0 ∘ exp(a sin t) ∘ exp(b t²), its velocity by differences to 1e-11, and made-up forces."""
    rng = np.random.default_rng(seed)
    start = np.array([model.random_configuration(rng) for _ in np.ndindex(batch)]).reshape((*batch, 1, model.nq))
    a, b = (rng.uniform(-speed, speed, (*batch, 1, model.nv)) for _ in range(2))

    def position(t):
        return model.integrate(model.integrate(start, a * np.sin(t)[:, None]), b * (t * t)[:, None])

    def apart(h):
        return model.difference(position(t), position(t + h)) - model.difference(position(t), position(t - h))

    h = 1e-3  # the error of this rule is of the order h⁶
    qd = (45 * apart(h) - 9 * apart(2 * h) + apart(3 * h)) / (60 * h)
    return Trajectory(t, position(t), qd, model, tau=rng.normal(size=qd.shape))


def swing(n=101):
    """Small swings of a pendulum, in closed form to the first order: q = 0.1 cos ωt."""
    model = sixd.zoo.pendulum()
    t = np.linspace(0, 2, n)
    return Trajectory(t, 0.1 * np.cos(3 * t)[:, None], -0.3 * np.sin(3 * t)[:, None], model)


def assert_same(a, b, names=ARRAYS):
    for name in names:
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None), name
        if x is not None:
            assert_array_equal(x, y, err_msg=name)


# shape and parts --------------------------------------------------------------------------------


def test_shape_and_records():
    traj = moving(single_joint("free"), np.linspace(1, 2, 11))
    assert (len(traj), traj.batch, traj.duration, traj.failed) == (11, (), 1.0, 0)
    record = traj[3]
    assert isinstance(record, State)
    assert record.t == traj.t[3]
    assert_array_equal(record.q, traj.q[3])
    assert_array_equal(traj[-1].tau, traj.tau[10])
    assert [r.t for r in traj] == traj.t.tolist()
    some = traj[2:9:3]
    assert_array_equal(some.t, traj.t[2:9:3])
    assert_array_equal(some.qd, traj.qd[2:9:3])
    assert_array_equal(some.tau, traj.tau[2:9:3])
    assert some.system is traj.system
    assert len(traj[5:5]) == 0
    assert traj[5:5].duration == 0
    with pytest.raises(ValueError, match="read-only"):
        traj.q[0] = 0


def test_rollouts_of_a_batch():
    traj = moving(single_joint("spherical"), np.linspace(0, 1, 5), batch=(2, 3))
    energy = traj.energy
    one = traj.row((1, 2))
    assert one.batch == ()
    assert_array_equal(one.q, traj.q[1, 2])
    assert_array_equal(one.energy, energy[1, 2])
    assert traj.row(0).batch == (3,)
    assert traj.row([0]).batch == (1, 3)
    assert_array_equal(traj.row(slice(1, 2)).tau, traj.tau[1:2])
    assert_array_equal(traj.row(energy[..., 0] > 1e9).q, traj.q[energy[..., 0] > 1e9])
    assert [r.q[0, 0] for r in traj.rows] == traj.q[..., 0, 0].ravel().tolist()
    assert list(one.rows) == [one]
    assert_array_equal(traj[2].q, traj.q[..., 2, :])
    assert_array_equal(traj[1:3].q, traj.q[..., 1:3, :])


def test_failed_rollouts():
    t = np.linspace(0, 1, 4)
    q = np.zeros((3, 4, 1))
    q[1, 2:] = np.nan
    traj = Trajectory(t, q, np.where(np.arange(3)[:, None, None] == 2, np.inf, q * 0), sixd.zoo.pendulum())
    assert traj.failed == 2
    assert "2 rollouts failed" in repr(traj)
    assert np.isfinite(traj.energy[0]).all()
    assert np.isnan(traj.energy[1, 2:]).all()
    assert np.isfinite(traj.energy[1, :2]).all()
    assert not np.isfinite(traj.energy[2]).any()
    one = traj.row([1])
    assert repr(one).startswith("<Trajectory of 'pendulum': 1 rollout × 4 records")
    assert "1 rollout failed" in repr(one)


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_energies_that_overflow():
    """Finite states of infinite energy are a result, printed without a warning; they do not count as failed."""
    pytest.importorskip("matplotlib")
    model, t = sixd.zoo.pendulum(), np.linspace(0, 1, 4)
    traj = Trajectory(t, np.zeros((4, 1)), np.full((4, 1), 1e200), model)
    assert repr(traj).endswith("nv = 1, energy not finite>")  # by the plain algorithm
    assert_array_equal(traj.energy, np.inf)
    assert repr(traj).endswith("nv = 1, energy not finite>")
    assert traj.failed == 0
    batch = Trajectory(t, np.zeros((3, 4, 1)), np.array([1e200, 1.0, np.nan])[:, None, None] * np.ones((4, 1)), model)
    _ = batch.energy
    assert repr(batch).endswith("energy changes by 0 J, energy not finite in 1 rollout, 1 rollout failed>")
    lost = {"kinetic": np.full(4, np.inf), "potential": np.full(4, -np.inf)}
    assert np.isnan(Trajectory(t, traj.q, traj.qd, known=lost).energy).all()
    for some in (traj, batch, Trajectory(t, traj.q, traj.qd * 1e107, model)):
        texts = [text.get_text() for axes in some.plot().axes for text in axes.texts]
        assert texts[-1:] == ([] if some.batch else ["not finite, or too large to draw"])


def test_repr():
    traj = swing()
    text = repr(traj)
    assert text.startswith("<Trajectory of 'pendulum': 101 records, 0 … 2 s, nq = 1, nv = 1, energy changes by ")
    shown = float(text.split("by ")[1].split()[0])
    assert_allclose(shown, traj.energy[-1] - traj.energy[0], rtol=0.05)  # two digits
    assert repr(traj) == text
    batch = Trajectory(traj.t, traj.q[None].repeat(2, 0), traj.qd[None].repeat(2, 0), traj.system, interrupted=True)
    assert repr(batch) == "<Trajectory of 'pendulum': 2 rollouts × 101 records, 0 … 2 s, nq = 1, nv = 1, interrupted>"
    _ = batch.energy
    assert f"energy changes by {shown:.2g} J" in repr(batch)
    assert repr(Trajectory([0.0], [[0.0]], [[0.0]])) == "<Trajectory: 1 record, 0 … 0 s, nq = 1, nv = 1>"
    assert "0 records, nq = 1" in repr(traj[:0])


def test_concatenate():
    whole = moving(single_joint("free"), np.linspace(0, 1, 11))
    parts = [whole[:4], whole[3:8], whole[8:]]  # the second repeats a record, the third does not
    assert_same(Trajectory.concatenate(iter(parts)), whole)
    assert_same(Trajectory.concatenate([whole[:4], whole[3:4], whole[4:]]), whole)
    _ = [p.energy for p in parts]
    joined = Trajectory.concatenate(parts)
    assert set(joined.known) == {"kinetic", "potential"}
    assert_array_equal(joined.energy, whole.energy)
    batch = moving(single_joint("planar"), np.linspace(0, 1, 6), batch=(3,))
    assert_same(Trajectory.concatenate([batch[:3], batch[2:]]), batch)


def test_replaced_states_have_energies_of_their_own():
    """What is known of a trajectory belongs to its states, parameters and system: it is dropped if these change."""
    traj = moving(sixd.zoo.planar(2), np.linspace(0, 1, 5), batch=(3,))
    _ = traj.energy, traj.constraint_error
    part = traj[2:]
    assert set(part.known) == {"kinetic", "potential", "constraint_error"}
    other = replace(part, q=part.q + 1)
    assert not other.known
    assert_array_equal(other.energy, sum(sixd.energy(traj.system, other.q, other.qd)))
    for change in ({"qd": part.qd * 2}, {"system": sixd.zoo.planar(2)}, {"parameters": {"gravity": np.zeros(3)}}):
        assert not replace(part, **change).known
    for whole in (part, pickle.loads(pickle.dumps(part))):
        again = replace(whole, t=part.t + 1, facts={"dt": 1.0})
        assert_same(again, part, KEPT)
        assert set(again.known) == set(part.known)
    assert_array_equal(
        replace(part, q=part.q + 1, known={"kinetic": np.ones((3, 3))}).kinetic, 1
    )  # passed in with them
    small, large = (len(pickle.dumps(x)) for x in (replace(traj, known={}), traj))
    assert large - small < 4 * traj.energy.nbytes + 2000  # the states are not stored twice


def test_pickles():
    traj = moving(single_joint("free"), np.linspace(0, 1, 5))
    _ = traj.energy, traj.at(0.3)
    again = pickle.loads(pickle.dumps(traj))
    assert_same(traj, again)
    assert_array_equal(again.energy, traj.energy)


# interpolation ----------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_interpolation_converges(kind):
    """On every joint type q at order 4 and qd at order 3; exact at the records; qd is the velocity of q."""
    model = single_joint(kind, passive=False)
    fine = moving(model, np.linspace(0, 1, 161), batch=(2,))
    errors = []
    for step in (16, 8, 4):
        q, qd = fine[::step].at(fine.t)
        assert_array_equal(q[..., ::step, :], fine.q[..., ::step, :])
        assert_array_equal(qd[..., ::step, :], fine.qd[..., ::step, :])
        errors.append([np.abs(model.difference(fine.q, q)).max(), np.abs(fine.qd - qd).max()])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert_allclose(orders, np.tile([4, 3], (2, 1)), atol=0.35)
    # by a central difference, of error h²/6 times the third derivative
    coarse, h = fine[::16], 1e-5
    times = np.linspace(0.03, 0.97, 7)
    rate = model.difference(coarse.at(times - h)[0], coarse.at(times + h)[0]) / (2 * h)
    assert_allclose(rate, coarse.at(times)[1], atol=1e-7)


def test_flat_joints_have_the_classical_cubic():
    """A cubic in time is met exactly, between unequal times too."""
    model = sixd.zoo.planar(2)
    t = np.array([0.0, 0.1, 0.5, 2.0])
    c = np.array([[1.0, -2, 3, 0.5], [0.3, 0.1, -1, 2]])

    def state(t):
        powers = np.array([t**0, t, t**2, t**3])
        rates = np.array([t * 0, t**0, 2 * t, 3 * t**2])
        return (c @ powers).T, (c @ rates).T

    traj = Trajectory(t, *state(t), model)
    times = np.linspace(0, 2, 33)
    q, qd = traj.at(times)
    assert_allclose(q, state(times)[0], atol=1e-13)
    assert_allclose(qd, state(times)[1], atol=1e-13)
    one = traj.at(0.7)
    assert [x.shape for x in one] == [(2,), (2,)]
    assert_allclose(one[0], state(np.array([0.7]))[0][0], atol=1e-14)


def test_interpolation_at_rest_and_by_steady_turning():
    """Where nothing moves φ is 0, where its length has no derivative; a steady screw is met exactly."""
    body = sixd.zoo.single_body()
    q0 = body.random_configuration(1)
    still = Trajectory([0.0, 1.0], [q0, q0], np.zeros((2, 6)), body)
    q, qd = still.at([0.0, 0.25, 1.0])
    assert_allclose(q, np.tile(q0, (3, 1)), atol=1e-15)
    assert_allclose(qd, 0, atol=1e-15)
    v = np.array([0.5, -1.0, 2.0, 0.3, 0.2, -0.1])
    t = np.linspace(0, 1, 4)
    screw = Trajectory(t, body.integrate(q0, np.outer(t, v)), np.tile(v, (4, 1)), body)
    q, qd = screw.at(np.linspace(0, 1, 50))
    assert_allclose(q, body.integrate(q0, np.outer(np.linspace(0, 1, 50), v)), atol=1e-14)
    assert_allclose(qd, np.tile(v, (50, 1)), atol=1e-13)
    assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1, atol=1e-14)


def test_interpolation_of_one_record_and_of_nothing():
    one = moving(single_joint("free"), np.array([0.5]))
    assert_array_equal(one.at(0.5)[0], one.q[0])
    assert one.at([0.5, 0.5])[0].shape == (2, one.q.shape[-1])
    many = moving(single_joint("free"), np.linspace(0, 1, 3))
    assert_array_equal(many.at(np.nextafter(1, 2))[0], many.q[-1])  # a sum of steps may miss the end by rounding
    assert many.at([])[0].shape == (0, many.q.shape[-1])


# what follows from the states -------------------------------------------------------------------


def test_energies_are_those_of_the_library():
    traj = moving(single_joint("free"), np.linspace(0, 1, 5), batch=(3,))
    kinetic, potential = sixd.energy(traj.system, traj.q, traj.qd)
    assert_array_equal(traj.kinetic, kinetic)
    assert_array_equal(traj.potential, potential)
    assert_array_equal(traj.energy, kinetic + potential)
    assert traj.energy is traj.energy
    assert_array_equal(traj.constraint_error, np.zeros((3, 5)))


def test_energy_with_parameters_per_rollout():
    """Each rollout has its own gravity and inertia, the same at all times."""
    model = sixd.zoo.planar(2)
    base = moving(model, np.linspace(0, 1, 4), batch=(3,))
    gravity = np.random.default_rng(0).normal(size=(3, 3))
    inertia = np.array([[model.body_inertia(b).parameters for b in model.body_names]] * 3) * [[[1]], [[2]], [[5]]]
    parameters = {"gravity": gravity, "inertia": inertia}
    traj = Trajectory(base.t, base.q, base.qd, model, parameters=parameters)
    for k, one in enumerate(traj.rows):
        own = model.with_gravity(gravity[k])
        kinetic, potential = sixd.energy(own, base.q[k], base.qd[k])
        assert_allclose(traj.kinetic[k], kinetic * (1, 2, 5)[k], rtol=1e-12)
        assert_allclose(traj.potential[k], potential * (1, 2, 5)[k], rtol=1e-12, atol=1e-12)
        assert_allclose(one.energy, traj.energy[k], rtol=1e-12)
    again = traj.row([2, 0])  # not computed yet in these
    assert_array_equal(again.parameters["gravity"], gravity[[2, 0]])
    shared = Trajectory(base.t, base.q, base.qd, model, parameters={"gravity": [0, 0, 0]})
    assert_array_equal(shared.potential, 0)
    assert shared.row(1).parameters["gravity"].shape == (3,)


def test_symbols_with_values_per_rollout():
    m, g, l, theta, w = sp.symbols("m g l theta w")
    system = sixd.lagrange(m * l**2 * w**2 / 2, -m * g * l * sp.cos(theta), [theta], qd=[w])
    t = np.linspace(0, 1, 5)
    q, qd = np.sin(t)[:, None] * np.ones((2, 1, 1)), np.cos(t)[:, None] * np.ones((2, 1, 1))
    parameters = {"m": np.array([1.0, 2.0]), "g": 9.81, "l": np.array([0.5, 0.7])}
    traj = Trajectory(t, q, qd, system, parameters=parameters)
    for k, (mass, length) in enumerate([(1.0, 0.5), (2.0, 0.7)]):
        assert_allclose(traj.kinetic[k], mass * length**2 * np.cos(t) ** 2 / 2, atol=1e-14)
        assert_allclose(traj.potential[k], -mass * 9.81 * length * np.cos(np.sin(t)), atol=1e-13)
    assert_allclose(traj.at(0.6)[0][:, 0], np.sin(0.6), atol=1e-4)  # fourth order in steps of 0.25
    assert traj.labels.names("q") == ("theta",)


def test_lagrangian_and_reduced_systems():
    theta, w = sp.symbols("theta w")
    system = sixd.lagrange(w**2 / 2, -sp.cos(theta), [theta], qd=[w], name="pendulum")
    t = np.linspace(0, 1, 5)
    traj = Trajectory(t, np.sin(t)[:, None], np.cos(t)[:, None], system)
    assert_allclose(traj.energy, np.cos(t) ** 2 / 2 - np.cos(np.sin(t)), atol=1e-14)
    assert "energy changes by" in repr(traj)

    reduced = sixd.zoo.planar(3).with_constraints(sixd.Mimic("link3", "link1", 2.0)).reduce()
    y = moving(reduced, np.linspace(0, 1, 6))
    lifted = Trajectory(y.t, *reduced.lift(y.q, y.qd), reduced.model)
    assert_allclose(y.energy, lifted.energy, atol=1e-13)
    assert y.labels.names("q") == ("link1", "link2")
    assert_allclose(y.at(0.5)[0][1], lifted.at(0.5)[0][1], atol=1e-13)
    assert_allclose(lifted.constraint_error, 0, atol=1e-15)
    assert lifted.labels.q[0].unit == "rad"


def test_constraint_error():
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    states = q + np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0, np.nan]])
    traj = Trajectory([0.0, 1.0, 2.0], states, np.zeros((3, 3)), model)
    error = traj.constraint_error
    assert error[0] < 1e-9
    assert_allclose(error[1], np.abs(sixd.constraint_error(model, states[1])).max(), rtol=1e-14)
    assert np.isnan(error[2])
    placements = {"placements": model.placement[1:]}
    again = Trajectory(traj.t, states, traj.qd, model, parameters=placements)
    assert_allclose(again.constraint_error, error, atol=1e-14)


class Prod(sixd.Force):
    """A force that grows with the time and its own state, on one point of the first body."""

    def size(self, model):
        return 1

    def apply(self, model, t, q, qd, u):
        return sixd.Applied(rate=u * 0)

    def contacts(self, model, t, q, qd, u):
        point = sixd.pose(model, q, model.body_names[0])[:3, 3]
        return point[None], np.array([[t, u[0], 0]])


class Unseen(Prod):
    contacts = property()  # as good as none

    def size(self, model):
        return 2


def test_contacts():
    model = single_joint("free")
    t = np.linspace(0, 1, 4)
    base = moving(model, t, batch=(2,))
    internal = np.random.default_rng(0).normal(size=(2, 4, 4))
    traj = Trajectory(t, base.q, base.qd, model, internal=internal, forces=(Prod(), Unseen(), Prod()))
    (first, points, forces), (second, _, others) = traj.contacts()
    assert (first, second) == ("prod", "prod 2")
    poses = sixd.pose(model, base.q, model.body_names[0])
    assert_allclose(points, poses[..., None, :3, 3], atol=1e-14)
    assert_allclose(forces[..., 0, 0], np.tile(t, (2, 1)), atol=1e-15)
    assert_allclose(forces[..., 0, 1], internal[..., 0], atol=1e-15)
    assert_allclose(others[..., 0, 1], internal[..., 3], atol=1e-15)
    assert base.contacts() == []
    with pytest.raises(sixd.ShapeError, match="internal has 0 entries, expected 3 of its forces: Prod 1, Unseen 2"):
        Trajectory(t, base.q, base.qd, model, forces=(Prod(), Unseen()))


def test_contacts_of_the_ground(tmp_path):
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    model = builder.build()
    ground = sixd.Ground({"ball": (0, 0, 0, 0.1)}, friction=0.0)
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0], (3, 1))
    q[:, 6] = 0.2, 0.1, 0.099
    traj = Trajectory([0.0, 1, 2], q, np.zeros((3, 6)), model, forces=(ground,), internal=np.zeros((3, 0)))
    ((name, points, forces),) = traj.contacts()
    assert name == "ground"
    assert_allclose(points[:, 0, 2], q[:, 6] - 0.1, atol=1e-15)
    assert_allclose(forces[:, 0], [[0, 0, 0], [0, 0, 0], [0, 0, 1e6 * 0.001**1.5]], atol=1e-9)
    # an element alone needs no tuple
    traj.save(tmp_path / "a.npz")
    again = Trajectory.load(tmp_path / "a.npz", model, forces=ground)
    assert_array_equal(again.contacts()[0][2], forces)
    with pytest.raises(sixd.ScalarTypeError, match="load: forces holds 'ground', expected elements such as"):
        Trajectory.load(tmp_path / "a.npz", model, forces=["ground"])


# files ------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (1,)], ids=str)
@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_files_keep_every_bit(tmp_path, suffix, batch):
    model = sixd.zoo.random_tree(1)
    traj = moving(model, np.linspace(0, 1, 4), batch=batch)
    internal = np.random.default_rng(0).normal(size=(*batch, 4, 2))
    traj = Trajectory(traj.t, traj.q, traj.qd, model, traj.tau, internal=internal, facts={"dt": 0.1, "method": "rk4"})
    path = tmp_path / f"motion{suffix}"
    traj.save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    for system in (None, model):
        again = Trajectory.load(path, system)
        assert_same(traj, again)
        assert_same(traj, again, ("kinetic", "potential", "energy", "constraint_error"))
        assert again.labels.names("q") == labels_of(model).names("q")
        assert again.system is system
    if suffix == ".npz":
        assert again.facts == {"dt": 0.1, "method": "rk4"}
        assert Trajectory.load(path).labels == labels_of(model)
    # and once more, from what has no system
    Trajectory.load(path).save(tmp_path / f"copy{suffix}")
    assert_same(Trajectory.load(tmp_path / f"copy{suffix}"), traj, (*ARRAYS, "energy"))


def test_npz_as_documented(tmp_path):
    model = sixd.zoo.planar(2)
    base = moving(model, np.linspace(0, 1, 3), batch=(2,))
    gravity = np.ones((2, 3))
    facts = {"dt": np.float64(0.5), "counts": np.arange(2), "odd": {1, 2}}
    traj = Trajectory(base.t, base.q, base.qd, model, parameters={"gravity": gravity}, interrupted=True, facts=facts)
    traj.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        derived = {"energy", "kinetic", "potential", "constraint_error"}
        assert set(file.files) == {"t", "q", "qd", "parameters.gravity", "meta"} | derived
        assert_array_equal(file["energy"], traj.energy)
        meta = json.loads(str(file["meta"]))
    assert (meta["format"], meta["version"], meta["sixd"]) == ("sixd trajectory", 1, sixd.__version__)
    assert meta["system"] == model.name
    assert meta["labels"]["q"] == [["link1", "link1", "rad"], ["link2", "link2", "rad"]]
    again = Trajectory.load(tmp_path / "a.npz", model)
    assert again.interrupted
    assert again.facts == {"dt": 0.5, "counts": [0, 1], "odd": "{1, 2}"}
    assert_array_equal(again.parameters["gravity"], gravity)


def test_csv_as_documented(tmp_path):
    builder = sixd.ModelBuilder("walker")
    builder.add_body("trunk", "world", sixd.Free(), joint_name="base", inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body("arm", "trunk", sixd.Revolute("y"), joint_name="elbow, left", inertia=sixd.point(1.0))
    model = builder.build()
    traj = moving(model, np.array([0.0, 0.1]))
    traj.save(tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    names = ["qw", "qx", "qy", "qz", "x", "y", "z"]
    assert lines[0].startswith(",".join(["t", *(f"q.base.{n}" for n in names), '"q.elbow, left"', "qd.base.wx"]))
    assert lines[0].endswith('"tau.elbow, left",energy,kinetic,potential,constraint_error')
    assert lines[2].split(",")[:2] == ["0.1", repr(float(traj.q[1, 0]))]
    assert len(lines) == 3
    assert_same(Trajectory.load(tmp_path / "a.csv", model), traj)
    batch = moving(model, np.array([0.0, 0.1]), batch=(2,))
    batch.save(tmp_path / "b.csv")
    lines = (tmp_path / "b.csv").read_text().splitlines()
    assert lines[0].startswith("row,t,")
    assert [line.split(",")[0] for line in lines[1:]] == ["0", "0", "1", "1"]
    traj[:0].save(tmp_path / "none.csv")
    assert len(Trajectory.load(tmp_path / "none.csv", model)) == 0
    # what a table cannot tell: the shape of a batch without lines, and that numbers were of single precision
    moving(model, traj.t, batch=(0, 2)).save(tmp_path / "none.csv")
    assert Trajectory.load(tmp_path / "none.csv", model).q.shape == (0, 0, 0, model.nq)
    single = Trajectory(traj.t, traj.q.astype("f4"), traj.qd.astype("f4"), model)
    single.save(tmp_path / "single.csv")
    again = Trajectory.load(tmp_path / "single.csv", model)
    assert again.q.dtype == np.float64
    assert_array_equal(again.q.astype("f4"), single.q)


def test_csv_of_failed_rollouts(tmp_path):
    q = np.array([[0.1], [np.nan], [np.inf]])
    traj = Trajectory([0.0, 1e-300, 5e22], q, -0.0 * np.ones((3, 1)), sixd.zoo.pendulum())
    traj.save(tmp_path / "a.csv")
    again = Trajectory.load(tmp_path / "a.csv")
    assert_same(traj, again)
    assert np.signbit(again.qd).all()


def test_systems_without_an_energy(tmp_path):
    """Without energies a trajectory is stored, drawn and printed all the same."""
    pytest.importorskip("matplotlib")
    traj = Trajectory([0.0, 1.0], np.zeros((2, 2)), np.ones((2, 2)))
    for suffix in (".npz", ".csv"):
        traj.save(tmp_path / f"a{suffix}")
        again = Trajectory.load(tmp_path / f"a{suffix}")
        assert_same(traj, again)
        with pytest.raises(sixd.ModelError, match="^energy: the trajectory has no system, expected one. Load it with"):
            _ = again.energy
    assert again.labels.names("q") == ("0", "1")
    assert len(traj.plot().axes) == 2


# what is wrong with files -------------------------------------------------------------------------


def rewritten(source, path, **changes):
    """The .npz file with entries replaced, those that are None left out."""
    with np.load(source) as file:
        entries = {**{name: file[name] for name in file.files}, **changes}
    np.savez(path, **{name: x for name, x in entries.items() if x is not None})
    return path


def with_meta(source, **changes):
    with np.load(source) as file:
        return np.array(json.dumps({**json.loads(str(file["meta"])), **changes}))


def test_bad_npz(tmp_path):
    traj = swing(5)
    good = tmp_path / "good.npz"
    traj.save(good)
    bad = tmp_path / "bad.npz"

    def refused(match):
        with pytest.raises(sixd.LoadError, match=match):
            Trajectory.load(bad)

    data = good.read_bytes()
    for content in (
        b"",
        b"no archive",
        data[: len(data) // 2],
        data[:300] + b"???" + data[303:],
        b"PK\x03\x04" + b"0" * 50,
    ):
        bad.write_bytes(content)
        refused("^load: bad.npz is damaged, or not an .npz file: ")
    rng = np.random.default_rng(0)
    for _ in range(60):  # some bytes changed anywhere: read all the same, or refused
        torn = bytearray(data)
        for k in rng.integers(0, len(data), 4):
            torn[k] = rng.integers(0, 256)
        bad.write_bytes(torn)
        with contextlib.suppress(sixd.LoadError):
            Trajectory.load(bad)
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    bad.write_bytes(array.getvalue())
    refused("damaged, or not an .npz file")
    np.savez(bad, x=np.zeros(3))
    refused("^load: bad.npz is not a trajectory of sixd, expected one that Trajectory.save wrote.")
    rewritten(good, bad, meta=with_meta(good, format="another"))
    refused("is not a trajectory of sixd")
    rewritten(good, bad, meta=with_meta(good, version=2, sixd="9.0"))
    refused("has version 2 of the format, expected at most 1. It is from a newer sixd \\(9.0\\): install that.")
    rewritten(good, bad, q=None)
    refused("bad.npz is damaged: its contents do not fit")
    rewritten(good, bad, meta=with_meta(good, labels={"q": [], "qd": [], "tau": []}))
    refused("its contents do not fit .* names for")
    rewritten(good, bad, t=np.zeros(5))
    refused("t goes \\[0.0, 0.0\\] at record 0, expected finite times, ascending. The file is damaged, or of another")
    rewritten(good, bad, kinetic=np.zeros(2))
    refused("known\\['kinetic'\\] has shape \\(2,\\), expected \\(5,\\)")
    pickled = np.empty(1, dtype=object)
    pickled[0] = {"a": 1}
    np.savez(bad, q=pickled, meta=with_meta(good))
    refused("bad.npz holds pickled objects in 'q', expected only numbers, as Trajectory.save writes. Pickles are not")
    bad.write_bytes(pickle.dumps(traj))
    refused("bad.npz is a pickle, expected an .npz file that Trajectory.save wrote.")


def test_members_that_are_not_used_are_not_read(tmp_path):
    """A file of 0.3 MB whose other members would unpack to 256 MB; a member is read if it has the size given in its header."""
    traj, good, bad = swing(5), tmp_path / "good.npz", tmp_path / "bad.npz"
    traj.save(good)
    bad.write_bytes(good.read_bytes())
    pickled = np.empty(1, dtype=object)
    np.savez(tmp_path / "other.npz", pickled=pickled)
    other = tmp_path / "other.npz"
    with zipfile.ZipFile(bad, "a", zipfile.ZIP_DEFLATED) as archive, zipfile.ZipFile(other) as source:
        archive.writestr("pickled.npy", source.read("pickled.npy"))
        archive.writestr("notes.txt", "not an array")
        _write_zeros(archive, "q.old.npy", 2**24)
        _write_zeros(archive, "more.npy", 2**24)
    assert bad.stat().st_size < 4e6
    tracemalloc.start()
    try:
        again = Trajectory.load(bad)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1e6
    assert_array_equal(again.q, traj.q)


def _write_zeros(archive, name, count):
    """An array of float64 zeros, which packs a thousandfold."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (count,)})
    with archive.open(name, "w", force_zip64=True) as member:
        member.write(header.getvalue())
        for _ in range(8 * count // 2**20):
            member.write(bytes(2**20))


@pytest.mark.long
def test_members_that_are_too_large_are_refused(tmp_path):
    """By their sizes in the archive, before they are read."""
    traj, good, bad = swing(5), tmp_path / "good.npz", tmp_path / "bad.npz"
    traj.save(good)
    bad.write_bytes(good.read_bytes())
    with zipfile.ZipFile(bad, "a", zipfile.ZIP_DEFLATED) as archive:
        _write_zeros(archive, "parameters.gravity.npy", 2**27)
    with pytest.raises(
        sixd.LoadError, match="^load: bad.npz unpacks from 1.0. MB to 1.07e.03 MB, expected at most 100"
    ):
        Trajectory.load(bad)
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    bad.write_bytes(good.read_bytes())
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr("parameters.gravity.npy", array.getvalue() + bytes(24))
    with pytest.raises(sixd.LoadError, match="parameters.gravity has 24 bytes, expected those of"):
        Trajectory.load(bad)
    # packed as others pack it, it is read
    with np.load(good) as file:
        np.savez_compressed(bad, **{name: file[name] for name in file.files})
    assert_array_equal(Trajectory.load(bad).q, traj.q)


def test_bad_csv(tmp_path):
    path = tmp_path / "bad.csv"

    def refused(text, match):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(sixd.LoadError, match=match):
            Trajectory.load(path)

    refused("", "starts with '', expected the columns t, q")
    refused("time;angle\n1;2\n", "starts with 'time;angle', expected the columns t, q")
    refused(b"\xff\xfe\x00", "is not a table: ")
    refused("t,q.a,qd.a\n0,1\n", "damaged in line 2: it has 2 entries, expected 3. Save it again.")
    refused("t,q.a,qd.a\n0,1,2\n1,x,2\n", "damaged in line 3: could not convert string to float: 'x'")
    refused("t,q.a,qd.a\n1,1,2\n0,1,2\n", "expected finite times, ascending")
    refused("t,q.a,qd.a\n0," + "1" * 200_000 + ",2\n", "damaged in line 1: field larger than")
    for indices in ("0 1", "0 0 1", "1 1 0 0", "0 0 2 2", "0 nan", "-1 0", "0 1e300", "0 0.5"):
        lines = [f"{i},{k}.0,0,0" for k, i in enumerate(indices.split())]
        if indices == "0 1":  # two rollouts of one record each, at other times
            refused(
                "row,t,q.a,qd.a\n" + "\n".join(lines), "has other times in other rollouts, expected the same in all."
            )
        else:
            refused(
                "row,t,q.a,qd.a\n" + "\n".join(lines), "has rollouts that are not complete, expected as many records"
            )


def test_paths_and_systems(tmp_path):
    traj = swing(5)
    with pytest.raises(
        sixd.UnknownNameError, match="^save: 'a.txt': no file format named '.txt'. There are: '.npz', '.csv'."
    ):
        traj.save(tmp_path / "a.txt")
    with pytest.raises(sixd.UnknownNameError, match="^load: 'a': no file format named ''."):
        Trajectory.load(tmp_path / "a")
    with pytest.raises(
        sixd.LoadError, match="^load: cannot read '.*no.npz': No such file or directory. Check the path."
    ):
        Trajectory.load(tmp_path / "no.npz")
    with pytest.raises(sixd.FileError, match="^save: cannot write .*: No such file or directory. Make the folder"):
        traj.save(tmp_path / "nowhere" / "a.npz")
    (tmp_path / "taken.csv").mkdir()
    cases = {
        "a\0.npz": "^save: path is 'a.x00.npz', expected one without null characters.$",
        "\ud800.csv": "^save: path is '.ud800.csv', expected the path of a file \\(.*surrogates not allowed\\).$",
        "~no one at home/a.csv": "^save: path is .* expected the path of a file \\(Could not determine home directory\\).$",
        3: "^save: path is 3, expected the path of a file",
        tmp_path / "taken.csv": "cannot write .*: Is a directory. There is a folder of this name.$",
        tmp_path / ("a" * 300 + ".csv"): "cannot write .*: File name too long. Choose a shorter name.$",
        tmp_path / "taken.csv" / "b.npz" / "c.csv": "No such file or directory. Make the folder first.$",
    }
    for path, match in cases.items():
        with pytest.raises(sixd.FileError, match=match):
            traj.save(path)
    for path in ("a\0.npz", "\ud800.csv", None):
        with pytest.raises(sixd.LoadError, match="^load: path is "):
            Trajectory.load(path)
    for suffix in (".npz", ".csv"):
        traj.save(tmp_path / f"a{suffix}")
        with pytest.raises(
            sixd.LoadError, match="entry 1 of q is nothing, expected 'rod2' of the system. Load it with the"
        ):
            Trajectory.load(tmp_path / f"a{suffix}", sixd.zoo.pendulum(2))
        with pytest.raises(sixd.LoadError, match="entry 0 of q is 'rod1', expected 'link1' of the system"):
            Trajectory.load(tmp_path / f"a{suffix}", sixd.zoo.planar(1))
        with pytest.raises(sixd.ScalarTypeError, match="load: model is a int, expected a sixd.Model"):
            Trajectory.load(tmp_path / f"a{suffix}", 3)


def test_a_file_is_never_half_written(tmp_path, monkeypatch):
    traj = swing(5)
    path = tmp_path / "a.npz"
    traj.save(path)
    before = path.read_bytes()

    def torn(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", torn)
    with pytest.raises(sixd.FileError, match="No space left on device. Make room on the disk.$"):
        traj.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


# tables and pictures ------------------------------------------------------------------------------


@pytest.mark.long
def test_pandas(monkeypatch):
    pytest.importorskip("pandas")
    model = single_joint("free")
    traj = moving(model, np.linspace(0, 1, 3), batch=(2,))
    table = traj.to_pandas()
    assert list(table.columns[:3]) == ["row", "t", f"q.{labels_of(model).q[0].name}"]
    assert table["row"].tolist() == [0, 0, 0, 1, 1, 1]
    assert_array_equal(table["energy"], traj.energy.ravel())
    assert_array_equal(table[[c for c in table if c.startswith("qd.")]].to_numpy(), traj.qd.reshape(6, -1))
    assert_array_equal(traj.row(1).to_pandas()["t"], traj.t)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        sixd.MissingPackageError, match="^to_pandas: the package pandas is not installed, .* pip install pandas"
    ):
        traj.to_pandas()


@pytest.mark.long
def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    traj = moving(sixd.zoo.random_tree(0), np.linspace(0, 1, 9))
    figure = traj.plot(("q", "qd", "tau", "energy"), path=tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert sorted(titles[:3]) == ["coordinates [m]", "coordinates [rad]", "quaternions"]
    assert {"velocities [rad/s]", "torques [N m]", "energy [J]", "change of total energy [J]"} <= set(titles)
    for axes in figure.axes:
        assert len(axes.get_legend().get_texts() if axes.get_legend() else []) <= 12
    assert figure.axes[-1].get_xlabel() == "t [s]"
    # the lowest of those that lie above each other, for each way that a band is divided
    edges = [(*axes.get_subplotspec().get_position(figure).intervalx.round(6),) for axes in figure.axes]
    for k, axes in enumerate(figure.axes):
        assert axes.get_xlabel() == ("" if edges[k] in edges[k + 1 :] else "t [s]")
    # one joint alone, by its values
    (axes,) = traj.plot("q", joints=["joint1"]).axes
    own = traj.system.q_slice("joint1")
    assert_array_equal(axes.lines[0].get_ydata(), traj.q[:, own.start])
    traj.plot("q", path=tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_plot_of_a_controlled_motion_shows_its_forces():
    """In their units, unless they are zero throughout."""
    pytest.importorskip("matplotlib")
    cart = sixd.zoo.get("cart_pole")
    for controller, forces in ((None, []), (lambda t, q, qd: -q - qd, ["forces [N]", "torques [N m]"])):
        motion = sixd.simulate(cart, [0.1, 0.2], None, 0.1, controller=controller)
        figure = motion.plot()
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert [title for title in titles if "N" in title] == forces
        assert titles[0].startswith("coordinates")
        assert titles[-1].startswith("change of total energy")
    drawn = dict(zip(titles, figure.axes, strict=True))["torques [N m]"].lines[0].get_ydata()
    assert_array_equal(drawn, motion.tau[:, 1])


def test_plot_of_constraints_and_of_batches(tmp_path):
    pytest.importorskip("matplotlib")
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"]) + np.linspace(0, 1e-6, 5)[:, None]
    traj = Trajectory(np.linspace(0, 1, 5), q, np.zeros((5, 3)), model)
    figure = traj.plot()
    assert figure.axes[-1].get_yscale() == "log"
    assert figure.axes[-1].get_title(loc="left").startswith("error of the constraints")
    batch = Trajectory(
        swing(9).t, np.zeros((500, 9, 1)) + np.arange(500)[:, None, None], np.zeros((500, 9, 1)), sixd.zoo.pendulum()
    )
    figure = batch.plot()
    assert len([line for line in figure.axes[0].lines if len(line.get_xdata())]) == 200
    assert figure.get_suptitle() == "pendulum: 200 of 500 rollouts"
    assert "kinetic" not in batch.__dict__  # only of the rollouts that are drawn
    long = Trajectory(np.arange(10_001.0), np.zeros((10_001, 1)), np.zeros((10_001, 1)))
    assert len(long.plot("q").axes[0].lines[0].get_xdata()) <= 4000
    assert figure.axes[-2].get_title(loc="left") == "total energy of each rollout [J]"
    assert batch.row([3]).plot("q").get_suptitle() == "pendulum: 1 rollout"


def test_plot_scales_energies():
    """Changes of some 1e-8 J are drawn in nJ."""
    pytest.importorskip("matplotlib")
    t = np.linspace(0, 1, 5)
    known = {"kinetic": 1 + 3e-8 * t, "potential": t * 0 + 2e3}
    figure = Trajectory(t, np.zeros((5, 1)), np.zeros((5, 1)), known=known).plot("energy")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["energy [kJ]", "change of total energy [nJ]"]
    assert_allclose(figure.axes[1].lines[0].get_ydata(), 30 * t, atol=1e-3)  # rounding of 2000 J: 2e-13
    # rollouts that all have one energy: its change alone
    known = {name: np.tile(x, (3, 1)) for name, x in known.items()}
    (axes,) = Trajectory(t, np.zeros((3, 5, 1)), np.zeros((3, 5, 1)), known=known).plot("energy").axes
    assert axes.get_title(loc="left") == "change of total energy of each rollout from the start, 2.001 kJ [nJ]"
    assert_allclose(axes.lines[2].get_ydata(), 30 * t, atol=1e-3)


def test_plot_distinguishes_curves(tmp_path):
    """Zero curves are one, curves upon each other have other dashes, long names leave room for the curves."""
    pytest.importorskip("matplotlib")
    names = [f"left_front_leg_{k}_of_the_walking_machine_shoulder_joint" for k in range(5)]
    builder = sixd.ModelBuilder("walker")
    for parent, name in zip(["world", *names], names, strict=False):
        builder.add_body(name, parent, sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0))
    t = np.linspace(0, 1, 5)
    q = np.stack([t, t + 1e-6, 0 * t, 0 * t, 2 - t], axis=-1)
    figure = Trajectory(t, q, 0 * q, builder.build()).plot(("q", "qd"), path=tmp_path / "a.png")
    first, second = figure.axes
    shown = [text.get_text() for text in first.get_legend().get_texts()]
    assert shown[3:] == ["2 at zero"]
    assert all("_" + k + "_" in name and len(name) <= 18 for k, name in zip("014", shown, strict=False))
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["5 at zero"]
    assert [line.get_linestyle() for line in first.lines if len(line.get_xdata())] == ["-", "--", "-", "-"]
    # at least three quarters of the figure are the curves'
    assert first.get_position().width > 0.75
    assert short_names(["elbow", "wrist"]) == ["elbow", "wrist"]
    assert len(set(short_names(["x" * 40, "x" * 41, "x" * 40]))) == 3


def test_plot_refuses(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    traj = swing(5)
    with pytest.raises(sixd.UnknownNameError, match="plot: what: no choice named 'energies'. Did you mean 'energy'?"):
        traj.plot(["energies"])
    with pytest.raises(sixd.UnknownNameError, match="plot: joints: no joint named 'rod9'. Did you mean 'rod1'?"):
        traj.plot(joints=["rod9"])
    with pytest.raises(sixd.ScalarTypeError, match="plot: there is nothing to draw of \\['tau'\\] in <Trajectory"):
        traj.plot("tau")
    with pytest.raises(sixd.UnknownNameError, match="plot: 'a.xyz': no file format named '.xyz'"):
        traj.plot(path=tmp_path / "a.xyz")
    with pytest.raises(sixd.FileError, match="plot: cannot write .* No such file or directory. Make the folder first."):
        traj.plot(path=tmp_path / "nowhere" / "a.png")
    with pytest.raises(sixd.FileError, match="plot: path is 'a.x00.png', expected one without null characters."):
        traj.plot(path="a\0.png")
    empty = Trajectory(traj.t, np.zeros((0, 5, 1)), np.zeros((0, 5, 1)))
    for nothing in (traj[2:2], empty):
        with pytest.raises(
            sixd.ScalarTypeError, match="plot: there is nothing to draw in <Trajectory.*at least one record"
        ):
            nothing.plot()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        sixd.MissingPackageError, match="^plot: the package matplotlib is not installed.* pip install matplotlib"
    ):
        traj.plot()


def test_show_opens_a_window(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(True))
    pyplot.switch_backend("agg")
    pyplot.close(swing(5).plot("q", show=True))
    assert shown == [True]


# wrong arguments ----------------------------------------------------------------------------------


def test_wrong_arguments():
    model = sixd.zoo.planar(2)
    t, q, v = np.arange(3.0), np.zeros((3, 2)), np.zeros((3, 2))
    cases = [
        (lambda: Trajectory(t, q[:2], v, model), sixd.ShapeError, "q has shape \\(2, 2\\), expected \\(3, 2\\)."),
        (lambda: Trajectory(t, q, v[:, :1], model), sixd.ShapeError, "qd has shape \\(3, 1\\), expected \\(3, 2\\)."),
        (lambda: Trajectory(t, q, v, model, tau=v[0]), sixd.ShapeError, "tau has shape \\(2,\\), expected \\(3, 2\\)."),
        (lambda: Trajectory(t, q[0], v, model), sixd.ShapeError, "q has shape \\(2,\\)"),
        (lambda: Trajectory(t[::-1], q, v), sixd.ShapeError, "t goes \\[2.0, 1.0\\] at record 0, expected finite times"),
        (lambda: Trajectory(t * np.nan, q, v), sixd.ShapeError, "t goes \\[nan, nan\\] at record 0"),
        (lambda: Trajectory(q, q, v), sixd.ShapeError, "t has shape \\(3, 2\\), expected \\(r,\\)"),
        (lambda: Trajectory(t, "abc", v), sixd.ScalarTypeError, "q is a str that holds no numbers, expected an array"),
        (lambda: Trajectory(t, q * 1j, v), sixd.ScalarTypeError, "q is a ndarray that holds no numbers"),
        (lambda: Trajectory(t, q, v, 3), sixd.ScalarTypeError, "Trajectory: model is a int"),
        (lambda: Trajectory(t, q, v, known={"heat": t}), sixd.ShapeError, "known\\['heat'\\]"),
        (lambda: Trajectory(t, q, v, model, parameters={"gravity": np.zeros((4, 3))}), sixd.ShapeError, "parameter 'gravity' has shape \\(4, 3\\), expected \\(3,\\) or \\(3,\\)"),
        (lambda: Trajectory(t, q, v, model, parameters={"gravitation": 1}), sixd.UnknownNameError, "no parameter named 'gravitation'"),
        (lambda: Trajectory(t, q, v)[3], sixd.OutOfRangeError, "no record 3, expected -3 … 2."),
        (lambda: Trajectory(t, q, v)["a"], sixd.ScalarTypeError, "the index is 'a', expected a whole number or a slice"),
        (lambda: Trajectory(t, q, v)[::-1], sixd.OutOfRangeError, "the step of a slice is -1, expected at least 1"),
        (lambda: Trajectory(t, q, v)[::0], sixd.OutOfRangeError, "the step of a slice is 0, expected at least 1: records in the"),
        (lambda: Trajectory(t, q, v)[0.5:], sixd.ScalarTypeError, "expected whole numbers in a slice"),
        (lambda: Trajectory(t, q, v, model, forces=3), sixd.ScalarTypeError, "Trajectory: forces holds 3, expected elements"),
        (lambda: Trajectory(t, q, v).row(0), sixd.OutOfRangeError, "row: the trajectory is one rollout, expected a batch"),
        (lambda: Trajectory(t, q[None], v[None]).row(1), sixd.OutOfRangeError, "row: 1 does not fit a batch of shape \\(1,\\)"),
        (lambda: Trajectory(t, q[None], v[None]).row((..., 0)), sixd.OutOfRangeError, "give an index for each dimension"),
        (lambda: Trajectory(t, q[None], v[None]).row("a"), sixd.OutOfRangeError, "row: 'a' does not fit a batch"),
        (lambda: Trajectory(t, q, v, model).at(2.5), sixd.OutOfRangeError, "at: t is 2.5 s, expected a time within 0.0 … 2.0 s."),
        (lambda: Trajectory(t, q, v, model).at([1, np.nan]), sixd.OutOfRangeError, "at: t is nan s, expected a time within"),
        (lambda: Trajectory(t, q, v, model).at([[1.0]]), sixd.ShapeError, "at: t has shape \\(1, 1\\), expected one time"),
        (lambda: Trajectory(t, q, v, model)[:0].at(0), sixd.OutOfRangeError, "expected a time within records, of which"),
        (lambda: Trajectory(t, q, v).at(1), sixd.ModelError, "at: the trajectory has no system, expected one. Load it"),
        (lambda: Trajectory(t, q, v).constraint_error, sixd.ModelError, "constraint_error: the trajectory has no system"),
        (lambda: Trajectory.concatenate([]), sixd.ShapeError, "concatenate: got no trajectories, expected at least one."),
        (lambda: Trajectory.concatenate([Trajectory(t, q, v)] * 2), sixd.ShapeError, "part 1 starts at 0.0 s, expected a time after 2.0"),
        (lambda: Trajectory.concatenate([Trajectory(t, q, v), Trajectory(t + 2, q, v, model)]), sixd.ShapeError, "part 1 is <Trajectory of 'planar2'.*expected the system and the batch of"),
        (lambda: Trajectory.concatenate([Trajectory(t, q, v), Trajectory(t + 2, q, v, tau=v)]), sixd.ShapeError, "part 1 has another tau than part 0"),
    ]  # fmt: skip
    for call, error, match in cases:
        with pytest.raises(error, match=match):
            call()
