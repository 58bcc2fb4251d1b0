"""Paths: clear at ten times finer steps than any check, within limits, from end to end; failures and bad input."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from obstacle_courses import AWAY, COURSES, clear_ends, course, dense, scene
from samples import Parabola

FINE = 400  # configurations of each edge


def assert_path(model, path, q0, q1, placements, clearance):
    """The law of every path. 1e-9 m is the accuracy of distances by iterations."""
    assert path.success, path.reason
    assert_array_equal(path.q[[0, -1]], [q0, q1])
    q = dense(model, path.q, FINE)
    assert sixd.min_distance(model, q, path.pairs, placements=placements).min() >= clearance - 1e-9
    assert (q >= model.lower - 1e-9).all()
    assert (q <= model.upper + 1e-9).all()
    y = path.region.space.inner(q)
    assert_allclose(path.region.lifted(y), q, atol=1e-9)  # mimic joints: sums of some 400 steps
    lengths = np.linalg.norm(path.region.difference(y[:-1], y[1:]), axis=1)
    assert path.length == pytest.approx(lengths.sum(), rel=1e-6)  # lengths of short steps cancel


def thrown(name, seed):
    """A random scene, two clear configurations of the mechanism, and a clearance."""
    model, rng = course(name), np.random.default_rng([COURSES.index(name), seed])
    placements, clearance = scene(rng), float(rng.choice([0.0, 0.01]))
    return model, placements, clearance, clear_ends(model, rng, placements, clearance)


@pytest.mark.parametrize("name", COURSES)
def test_random_obstacles(name):
    """None of the paths collides; most are found."""
    tried = found = 0
    for seed in range(6):
        model, placements, clearance, ends = thrown(name, seed)
        if ends is None:
            continue
        path = sixd.plan_path(model, *ends, placements=placements, clearance=clearance, max_rounds=60, max_time=None)
        tried += 1
        if path.success:
            found += 1
            assert_path(model, path, *ends, placements, clearance)
        else:
            assert path.reason.startswith("no path was found within 60 rounds")
    assert found >= 0.6 * tried > 2


@pytest.mark.long
@pytest.mark.parametrize("name", COURSES)
def test_hundreds_of_scenes(name):
    found = curved = 0
    for seed in range(100, 400):
        model, placements, clearance, ends = thrown(name, seed)
        if ends is None:
            continue
        path = sixd.plan_path(model, *ends, placements=placements, clearance=clearance, max_rounds=60, max_time=None)
        if path.success:
            assert_path(model, path, *ends, placements, clearance)
            found, curved = found + 1, curved + (len(path.q) > 2)
    assert found > 150
    assert curved > 15


def swing():
    """A pendulum of two links that has to fold to pass below a ball."""
    return (
        course("arm"),
        {"ball": sixd.placement((0.55, 0.0, 0.8))},
        np.array([0.5, 1.2, 0, 0]),
        np.array([-0.5, 1.2, 0, 0]),
    )


def test_around_a_ball():
    model, placements, q0, q1 = swing()
    path = sixd.plan_path(model, q0, q1, placements=placements, clearance=0.01)
    assert len(path.q) > 2
    assert_path(model, path, q0, q1, placements, 0.01)
    raw = sixd.plan_path(model, q0, q1, placements=placements, clearance=0.01, shorten=False)
    assert_path(model, raw, q0, q1, placements, 0.01)
    assert path.length <= raw.length
    direct = np.linalg.norm(q1 - q0)
    assert direct < path.length < 5 * direct
    assert "waypoints, length" in repr(path)


def test_samples_have_equal_distances():
    model, placements, q0, q1 = swing()
    path = sixd.plan_path(model, q0, q1, placements=placements)
    q = path.sample(501)
    assert_array_equal(q[[0, -1]], [q0, q1])
    steps = np.linalg.norm(np.diff(q, axis=0), axis=1)
    assert np.sort(steps)[-40] == pytest.approx(path.length / 500)  # steps around waypoints are shorter
    with pytest.raises(sixd.ScalarTypeError, match="sample: count is 1, expected a whole number of at least 2"):
        path.sample(1)


def test_equal_seeds_give_equal_paths():
    model, placements, q0, q1 = swing()
    a, b, c = (sixd.plan_path(model, q0, q1, placements=placements, seed=s, max_time=None) for s in (3, 3, 4))
    assert_array_equal(a.q, b.q)
    assert a.checks == b.checks
    assert a.q.shape != c.q.shape or (a.q != c.q).any()
    d = sixd.plan_path(model, q0, q1, placements=placements, seed=np.random.default_rng(3), max_time=None)
    assert_array_equal(a.q, d.q)


def test_straight_edges_and_equal_ends():
    model = course("arm")
    q0, q1 = np.zeros(4), np.full(4, 0.3)
    path = sixd.plan_path(model, q0, q1)
    assert_array_equal(path.q, [q0, q1])
    still = sixd.plan_path(model, q0, q0)
    assert still.success
    assert still.length == 0
    assert_array_equal(still.sample(3), [q0] * 3)


def test_an_end_may_touch_the_clearance():
    """The resolution follows the distance of the ends."""
    model, q1 = course("arm"), np.array([0.8, 1.0, 0, 0])
    q0 = np.array([0.0, 1.2, 0, 0])
    placements = {"ball": sixd.placement((0.6, 0.0, 1.1))}
    least = sixd.min_distance(model, q0, placements=placements)
    for gap in (1e-2, 1e-4):
        path = sixd.plan_path(model, q0, q1, placements=placements, clearance=least - gap)
        assert_path(model, path, q0, q1, placements, least - gap)


def test_locked_joints_stay():
    model, placements, q0, q1 = swing()
    path = sixd.plan_path(model, q0, q1, placements=placements, locked=[model.joint_names[2]])
    assert_path(model, path, q0, q1, placements, 0.0)
    assert np.ptp(path.q[:, 2]) == 0
    with pytest.raises(sixd.ModelError, match="coordinate 0 of a locked joint is 0.5 in q0 and -0.5 in q1"):
        sixd.plan_path(model, q0, q1, locked=[model.joint_names[0]])
    with pytest.raises(sixd.ScalarTypeError, match="locked is a mapping"):
        sixd.plan_path(model, q0, q1, locked={model.joint_names[2]: 0})


def test_limits():
    model, placements, q0, q1 = swing()
    narrow = np.array([-0.6, 0.9, -0.2, -2.0]), np.array([0.6, 2.0, 0.2, 2.0])
    path = sixd.plan_path(model, q0, q1, placements=placements, limits=narrow, max_rounds=100, max_time=None)
    if path.success:
        assert (path.q >= narrow[0] - 1e-9).all()
        assert (path.q <= narrow[1] + 1e-9).all()
    with pytest.raises(sixd.OutOfRangeError, match=r"q0 is 2.6 at joint '.*', expected -2.5 … 2.5. Pass limits=False"):
        sixd.plan_path(model, [2.6, 0, 0, 0], q1)
    assert sixd.plan_path(model, [2.6, 0, 0, 0], [2.6, 0.2, 0, 0], limits=False).success


def test_positions_of_a_free_joint_stay_within_limits():
    """Geodesics of free joints are screws, which bulge."""
    model = course("flyer").with_joints(
        limits={course("flyer").joint_names[0]: ([-np.inf] * 4 + [-1, -1, -1], [np.inf] * 4 + [1, 1, 1])}
    )
    rng = np.random.default_rng(0)
    turned = [np.cos(1.5), 0, 0, -np.sin(1.5)]  # by -3 rad about z
    q0 = np.concatenate([[1, 0, 0, 0], [0.95, 0.9, 0], [0.0]])
    q1 = np.concatenate([turned, [0.9, -0.95, 0], [0.2]])
    path = sixd.plan_path(model, q0, q1, seed=rng)
    assert_path(model, path, q0, q1, None, 0.0)
    straight = dense(model, np.array([q0, q1]), 50)
    assert np.abs(straight[:, 4:7]).max() > 1


def test_a_coupling_follows():
    """Its motion is estimated: the path is clear, and the joint follows its function."""
    arm = course("arm")
    names = arm.joint_names
    model = dataclasses.replace(arm, constraints=(sixd.Coupling(names[3], names[2], lambda y: y * y),))
    q0, q1 = np.array([0.7, 1.2, 0.5, 0.25]), np.array([-0.7, 1.2, -0.5, 0.25])
    placements = {"ball": sixd.placement((0.6, 0.0, 0.8))}
    path = sixd.plan_path(model, q0, q1, placements=placements)
    assert path.success
    q = path.sample(2000)
    assert_allclose(q[:, 3], q[:, 2] ** 2, atol=1e-12)
    assert sixd.min_distance(model, q, placements=placements).min() >= 0
    with pytest.raises(sixd.ModelError, match="where a mimic joint or a coupling of"):
        sixd.plan_path(model, np.array([0.7, 1.2, 0.5, 0.2]), q1)


# no path ------------------------------------------------------------------------------------------


def test_no_path_is_no_error():
    """A planar arm behind a ball that it cannot pass."""
    model = course("arm")
    limits = np.array([-1.0, 1.5, -0.01, -0.01]), np.array([1.0, 1.6, 0.01, 0.01])
    placements = {"ball": sixd.placement((0.6, 0.0, 0.6))}
    q0, q1 = np.array([0.8, 1.55, 0, 0]), np.array([-0.8, 1.55, 0, 0])
    path = sixd.plan_path(model, q0, q1, placements=placements, limits=limits, max_rounds=20, max_time=None)
    assert not path.success
    assert path.q.shape == (0, 4)
    assert path.length == 0
    assert path.reason.startswith("no path was found within 20 rounds, max_rounds: the tree of q0 has")
    assert path.reason in repr(path)
    with pytest.raises(
        sixd.ModelError, match="sample: there is no path, expected one. no path was found within 20 rounds"
    ):
        path.sample(10)
    with pytest.raises(sixd.ModelError, match="there is no path, expected one"):
        sixd.view(model, path, open_browser=False)
    soon = sixd.plan_path(model, q0, q1, placements=placements, limits=limits, max_time=0.0)
    assert "s, max_time" in soon.reason


def test_progress_and_ctrl_c():
    """A search that is interrupted ends; a path that is found is kept."""
    model, placements, q0, q1 = swing()
    seen = []
    path = sixd.plan_path(model, q0, q1, placements=placements, progress=seen.append)
    assert path.success
    assert seen[-1] == 1

    def stop(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sixd.plan_path(model, q0, q1, placements=placements, progress=stop)


def test_ctrl_c_keeps_a_path(monkeypatch):
    from sixd.planning import shortcuts

    def stop(*_):
        raise KeyboardInterrupt

    model, placements, q0, q1 = swing()
    monkeypatch.setattr(shortcuts, "_shortest", stop)
    with pytest.warns(sixd.SimulationWarning, match="interrupted while the path was made shorter"):
        path = sixd.plan_path(model, q0, q1, placements=placements)
    assert_path(model, path, q0, q1, placements, 0.0)


# bad input ----------------------------------------------------------------------------------------


def test_ends_in_collision():
    model = course("arm")
    placements = {"ball": sixd.placement((0.0, 0.0, 0.9))}
    with pytest.raises(
        sixd.ModelError, match=r"plan_path: q0 is in collision: 'link\d.*' and 'ball' overlap by 0\.1\d* m \(and"
    ) as error:
        sixd.plan_path(model, np.zeros(4), np.ones(4), placements=placements)
    assert "expected at least 0 m. Change q0, or leave out pairs that always touch" in str(error.value)
    placements = {"ball": sixd.placement((0.2, 0.0, 0.9))}
    with pytest.raises(sixd.ModelError, match=r"q1 is in collision with the clearance: .* are 0\.0\d+ m apart"):
        sixd.plan_path(model, [0, -1, 0, 0], np.zeros(4), placements=placements, clearance=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q0": [0, 0, np.nan, 0]}, "q0 is nan at 2, expected finite numbers"),
        ({"q1": [0, 0]}, r"q1 has shape \(2,\) of int64, expected \(4,\)"),
        ({"clearance": -1}, "clearance is -1, expected a finite number of at least 0"),
        ({"resolution": 0}, "resolution is 0, expected a finite number above 0"),
        ({"max_time": np.nan}, "max_time is nan"),
        ({"max_rounds": 1.5}, "max_rounds is 1.5"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"placements": {"bal": AWAY}}, "Did you mean 'ball'"),
        ({"placements": {"ball": np.tile(AWAY, (2, 1, 1))}}, r"has shape \(2, 4, 4\), expected \(4, 4\)"),
        ({"pairs": "nothing"}, "nothing"),
        ({"locked": ["nothing"]}, "nothing"),
    ],
)
def test_bad_arguments(changes, message):
    arguments = {"q0": np.zeros(4), "q1": np.full(4, 0.2)} | changes
    with pytest.raises(sixd.SixdError, match=message):
        sixd.plan_path(course("arm"), **arguments)


def test_models_without_paths():
    """Closed loops, and joints whose motion has no bound."""
    arm = course("arm")
    loop = sixd.Holonomic(lambda q: q[:1] - q[1:2] * q[2:3], arm.joint_names)
    model = dataclasses.replace(arm, constraints=(loop,))
    with pytest.raises(sixd.ModelError, match="has the constraint .*, expected a tree"):
        sixd.plan_path(model, np.zeros(4), np.zeros(4))
    builder = sixd.ModelBuilder("slider")
    builder.add_body(
        "a", "world", Parabola(), inertia=sixd.sphere(0.1, mass=1.0), collisions=[sixd.Shape("sphere", (0.1,))]
    )
    model = builder.build().with_collision("world", sixd.Shape("sphere", (0.1,)), AWAY)
    with pytest.raises(
        sixd.ModelError, match="velocity of joint 'a' at a unit rate changes with q, expected a constant"
    ):
        sixd.plan_path(model, [0.0], [1.0])
    with pytest.raises(sixd.ModelError, match="has no collision shapes"):
        sixd.plan_path(sixd.zoo.planar(2), np.zeros(2), np.ones(2))
