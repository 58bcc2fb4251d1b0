"""Building, editing, printing and checking models."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import FIVE, quiet_load
from samples import states, trees

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show no more


def ball(**options):
    return {"inertia": sixd.sphere(0.1, mass=1.0).translated((0.3, 0, 0)), **options}


@pytest.fixture
def builder():
    b = sixd.ModelBuilder("arm")
    b.add_body("upper", "world", sixd.Revolute("z"), **ball(joint_name="shoulder"))
    b.add_body("lower", "upper", sixd.Revolute("y"), **ball(joint_name="elbow", placement=sixd.placement((1, 0, 0))))
    b.add_frame("tip", "lower", sixd.placement((0, 0, 1)))
    return b


# the builder ----------------------------------------------------------------------------------------


def test_indices_and_names(builder):
    model = builder.build()
    assert (model.nb, model.nq, model.nv, model.parent) == (2, 2, 2, (-1, 0, 1))
    assert model.frame_names == ("world", "joint:shoulder", "upper", "joint:elbow", "lower", "tip")
    assert (model.q_slice("elbow"), model.v_slice("elbow")) == (slice(1, 2), slice(1, 2))
    assert model.joint("elbow").parent_body == "upper"
    assert model.mass == 2.0
    with pytest.raises(sixd.UnknownNameError, match="no joint named 'elbo'. Did you mean 'elbow'?"):
        model.q_slice("elbo")
    with pytest.raises(KeyError):
        model.body_index("unknown")
    with pytest.raises(sixd.UnknownNameError, match="no frame named 'tp'. Did you mean 'tip'?"):
        sixd.pose(model, [0, 0], "tp")
    named = "There are: 'world', 'upper', 'lower', 'tip', 'joint:shoulder', 'joint:elbow'."
    with pytest.raises(sixd.UnknownNameError, match=f"no frame named 'zzz'. {named}"):
        sixd.pose(model, [0, 0], "zzz")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.add_body("x", "uper", sixd.Revolute("z")), "no body named 'uper'. Did you mean 'upper'?"),
        (lambda b: b.add_body("upper", "world", sixd.Revolute("z")), "add_body 'upper': a body or frame of that name exists"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), joint_name="elbow"), "a joint named 'elbow' exists already"),
        (lambda b: b.add_body("", "world", sixd.Revolute("z")), "name is '', expected a non-empty string"),
        (lambda b: b.add_body("x", "world", "revolute"), "joint is 'revolute', expected a joint"),
        (lambda b: b.add_body("x", "world", sixd.Revolute), "expected a joint such as sixd.Revolute"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("w")), "Revolute: axis is 'w', expected 'x', 'y', 'z'"),
        (lambda b: b.add_body("x", "world", sixd.Revolute((0, 0, 0))), r"Revolute: axis is \[0.0, 0.0, 0.0\], expected a non-zero"),
        (lambda b: b.add_body("x", "world", sixd.Prismatic((np.nan, 0, 1))), "Prismatic: axis is .*nan"),
        (lambda b: b.add_body("x", "world", sixd.Revolute((1, 2))), r"axis has shape \(2,\), expected \(3,\)"),
        (lambda b: b.add_body("x", "world", sixd.Helical("z", np.nan)), "Helical: pitch is nan"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), placement=np.eye(3)), r"placement has shape \(3, 3\), expected \(4, 4\)"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), placement=2 * np.eye(4)), "placement is not a rigid pose"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), placement=np.full((4, 4), np.nan)), "contains NaN"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), placement=np.diag([1, 1, -1, 1])), "not a rigid pose"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), inertia=3.0), "inertia is a float, expected a sixd.Inertia"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), damping=np.nan), "damping is .*nan.*, expected finite"),
        (lambda b: b.add_body("x", "world", sixd.Universal(), damping=[1, 2, 3]), r"damping has shape \(3,\), expected a number or \(2,\)"),
        (lambda b: b.add_body("x", "world", sixd.Revolute("z"), limits=3), "limits are 3, expected"),
        (lambda b: b.add_body("x", "world", sixd.Free(), stiffness=1.0), "a free joint cannot have a spring"),
        (lambda b: b.add_body("x", "world", sixd.Spherical(), stiffness=[1, 2, 3]), "stiffness of a spherical joint"),
        (lambda b: b.add_frame("tip", "lower"), "add_frame 'tip': a body or frame of that name exists"),
        (lambda b: b.add_constraint(sixd.Mimic("elbow", "sholder")), "no joint named 'sholder'. Did you mean 'shoulder'?"),
        (lambda b: b.add_constraint("gear"), "expected a sixd.Constraint"),
        (lambda b: sixd.ModelBuilder("m", gravity=(0, 0)), r"gravity has shape \(2,\)"),
        (lambda b: sixd.Inertia(np.nan), "the mass is nan, expected finite"),
    ],
)  # fmt: skip
def test_errors_name_the_call(builder, call, message):
    with pytest.raises(sixd.SixdError, match=message):
        call(builder)


def test_fixed_bodies_are_merged_and_their_frames_kept(builder, rng):
    """A body on fixed joints moves its mass to what carries it; its frame stays."""
    builder.add_body("hand", "lower", sixd.Fixed(), placement=sixd.placement((0, 0, 0.5), (0.1, 0.2, 0.3)), **ball())
    builder.add_body("finger", "hand", sixd.Prismatic("x"), **ball())
    builder.add_body("post", "world", sixd.Fixed(), **ball())
    model = builder.build()
    assert model.body_names == ("upper", "lower", "finger")
    assert model.mass == 4.0  # the post is fixed to the world
    assert model.frames["hand"].body == 2
    q = rng.normal(size=3)
    expected = sixd.pose(model, q, "lower") @ sixd.placement((0, 0, 0.5), (0.1, 0.2, 0.3))
    assert_allclose(sixd.pose(model, q, "hand"), expected, atol=1e-14)
    assert_allclose(sixd.pose(model, q, "post"), np.eye(4))


def test_an_empty_model():
    """No bodies: every function returns arrays of size zero."""
    model = sixd.ModelBuilder("nothing").build()
    assert (model.nb, model.nq, model.nv) == (0, 0, 0)
    nothing = np.zeros(0)
    assert sixd.inverse_dynamics(model, nothing, nothing, nothing).shape == (0,)
    assert sixd.forward_dynamics(model, nothing, nothing, nothing).shape == (0,)
    assert sixd.mass_matrix(model, nothing).shape == (0, 0)
    assert sixd.mass_matrix(model, np.zeros((5, 0))).shape == (5, 0, 0)
    assert sixd.energy(model, nothing, nothing) == (0, 0)
    assert sixd.jacobian(model, nothing, "world").shape == (6, 0)
    assert model.neutral().shape == model.integrate(nothing, nothing).shape == (0,)
    assert "nothing: 0 bodies" in str(model)
    assert sixd.check(model) == []


def test_a_model_is_frozen_and_pickles(rng):
    """Fields and arrays cannot be changed; a pickled copy has the same dynamics and is frozen too."""
    model = trees()[0]
    copy = pickle.loads(pickle.dumps(model))
    for m in (model, copy):
        with pytest.raises(AttributeError):
            m.gravity = (0, 0, 0)
        for array in (m.inertia, m.placement, m.X_tree, m.damping, m.gravity):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(TypeError):
            m.frames["x"] = None
    q, qd, qdd = next(states(model, rng))
    assert np.array_equal(sixd.inverse_dynamics(copy, q, qd, qdd), sixd.inverse_dynamics(model, q, qd, qdd))


# configurations -------------------------------------------------------------------------------------


def test_random_configurations_keep_limits(rng):
    """Within finite limits; else (-pi, pi), ±1 m and unit quaternions; seeds repeat."""
    b = sixd.ModelBuilder("m")
    b.add_body("a", "world", sixd.Revolute("z"), limits=(0.1, 0.2))
    b.add_body("b", "a", sixd.Revolute("z"))
    b.add_body("c", "b", sixd.Prismatic("z"))
    b.add_body("d", "c", sixd.Free())
    b.add_body("e", "d", sixd.Revolute("z"), limits=(5.0, np.inf))
    model = b.build()
    q = np.array([model.random_configuration(rng) for _ in range(300)])
    low, high = q.min(axis=0), q.max(axis=0)
    assert 0.1 <= low[0] < high[0] <= 0.2
    assert -np.pi < low[1] < -2.8 < 2.8 < high[1] < np.pi
    assert -1 < low[2] < -0.9 < 0.9 < high[2] < 1
    assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1)
    assert low[10] >= 5
    assert np.array_equal(model.random_configuration(3), model.random_configuration(3))
    assert_allclose(model.neutral(), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])


def drawable():
    """A model with joints of every way to draw: uniform, quaternions, one of a user's own; its reduction; equations."""

    class Coin(sixd.Joint):
        nq = nv = 1
        transform, subspace = sixd.Revolute("z").transform, sixd.Revolute("z").subspace

        def random(self, rng, lower, upper):
            return np.array([float(rng.integers(2))])

    b = sixd.ModelBuilder("m")
    b.add_body("base", "world", sixd.Free(), limits=(-3, 3))
    b.add_body("a", "base", sixd.Revolute("z"), limits=(0.1, 0.2))
    b.add_body("b", "a", sixd.Spherical())
    b.add_body("c", "b", Coin())
    b.add_body("d", "c", sixd.Prismatic("z"))
    b.add_constraint(sixd.Mimic("d", "a", 2.0))
    model = b.build()
    return [model, model.reduce(), sixd.equations(sixd.zoo.planar(2))]


def test_many_random_configurations():
    """size is the leading shape; None is the one draw that it always was."""
    model, reduced, equations = drawable()
    for system in (model, reduced, equations):
        one, n = system.random_configuration(3), system.nq
        assert one.shape == (n,)
        for size, shape in ((4, (4, n)), ((2, 3), (2, 3, n)), ((), (n,)), (0, (0, n)), (np.int64(2), (2, n))):
            assert system.random_configuration(3, size=size).shape == shape
        many = system.random_configuration(3, size=6)
        assert np.array_equal(many, system.random_configuration(3, size=(2, 3)).reshape(6, n))
        assert len(np.unique(many[:, 0])) == 6
        assert_allclose(system.random_configuration(3, size=1)[0], one, atol=1e-15)
        rng = np.random.default_rng(3)
        assert np.array_equal(system.random_configuration(rng), one)
        assert not np.array_equal(system.random_configuration(rng), one)
    q = model.random_configuration(0, size=200)
    assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1, atol=1e-15)
    assert_allclose(np.linalg.norm(q[:, 8:12], axis=1), 1, atol=1e-15)
    assert 2 < np.abs(q[:, 4:7]).max() < 3
    assert 0.1 <= q[:, 7].min() < q[:, 7].max() <= 0.2
    assert set(q[:, 12]) == {0.0, 1.0}
    for size in (-1, 2.5, "3", True, (2, -1), (2, (3,))):
        with pytest.raises(sixd.ScalarTypeError, match="random_configuration: size is .*, expected a whole number"):
            reduced.random_configuration(0, size=size)
    with pytest.raises(sixd.ScalarTypeError, match="rng is 'x', expected a numpy.random.Generator or a seed"):
        equations.random_configuration("x")


def test_the_first_draw_has_the_bits_it_always_had():
    """Uniform within the limits, joint by joint, quaternions after the positions of a free joint."""
    model = drawable()[0]
    rng = np.random.default_rng(5)
    u = rng.uniform(size=7)[4:]
    parts = [rng.standard_normal(4), -3 * (1 - u) + 3 * u]
    u = rng.uniform(size=1)
    parts += [0.1 * (1 - u) + 0.2 * u, rng.standard_normal(4), [float(rng.integers(2))]]
    u = rng.uniform(size=1)
    parts.append(-1 * (1 - u) + 1 * u)
    for k in (0, 3):
        parts[k] = parts[k] / np.linalg.norm(parts[k])
    assert np.array_equal(model.random_configuration(5), np.concatenate(parts))


def test_integrate_and_difference_batch(rng):
    """Leading dimensions broadcast; wrong lengths raise."""
    model = trees()[1]
    q, dq = model.random_configuration(rng), rng.uniform(-1, 1, (3, 2, model.nv))
    moved = model.integrate(q, dq)
    assert moved.shape == (3, 2, model.nq)
    assert_allclose(model.difference(q, moved), dq, atol=1e-10)
    with pytest.raises(sixd.ShapeError, match=r"integrate: dq has shape \(3,\), expected \(..., "):
        model.integrate(q, np.zeros(3))


# new models from old --------------------------------------------------------------------------------


@pytest.mark.parametrize("model", trees()[:3], ids=lambda m: m.name)
def test_lock_holds_joints(model, rng):
    """A locked model moves as the whole one does with those joints at rest; frames keep their places."""
    q, qd, qdd = next(states(model, rng))
    held = [name for name in model.joint_names if rng.random() < 0.5]
    free = np.ones(model.nv, dtype=bool)
    for name in held:
        free[model.v_slice(name)] = False
    rest = np.concatenate([np.arange(model.nq)[model.q_slice(n)] for n in model.joint_names if n not in held])
    locked = model.lock({name: q[model.q_slice(name)] for name in held})
    assert locked.joint_names == tuple(n for n in model.joint_names if n not in held)
    tau = sixd.inverse_dynamics(model, q, qd * free, qdd * free)
    assert_allclose(
        sixd.inverse_dynamics(locked, q[rest], qd[free], qdd[free]), tau[free], atol=1e-10 * max(1, np.abs(tau).max())
    )
    for frame in model.frame_names:
        assert_allclose(sixd.pose(locked, q[rest], frame), sixd.pose(model, q, frame), atol=1e-12)


def test_lock_errors_and_constraints():
    """Unknown joints, wrong sizes, NaN; a mimic joint is held with its source, which it cannot hold."""
    panda = quiet_load(FIVE["panda"])
    with pytest.raises(sixd.UnknownNameError, match="Did you mean 'panda_joint1'?"):
        panda.lock({"pandajoint1": 0})
    with pytest.raises(sixd.ShapeError, match=r"lock: joint 'panda_joint1' got shape \(2,\), expected 1"):
        panda.lock({"panda_joint1": [0, 1]})
    with pytest.raises(sixd.ModelError, match="expected finite coordinates"):
        panda.lock({"panda_joint1": np.nan})
    with pytest.warns(sixd.ModelWarning, match="Mimic.*is dropped"):
        follower = panda.lock({"panda_finger_joint2": 0.01})
    assert (follower.nv, follower.constraints) == (8, ())
    source = panda.lock({"panda_finger_joint1": 0.01})
    assert (source.nv, source.constraints) == (7, ())
    both = panda.lock({"panda_finger_joint1": 0, "panda_finger_joint2": 0})
    assert (both.nv, both.constraints) == (7, ())


def test_submodel_and_attach(rng):
    """Cutting a tree and joining the part on again gives the whole back."""
    model = trees()[2]
    root = next(i for i in model.bodies if i > 1 and model.tree.children(i))
    name = model.body_names[root - 1]
    part = model.submodel(name)
    assert part.nb == len(model.tree.subtree(root))
    parent = model.body_names[model.parent[root] - 1]
    stump = model.lock({j: model.joint(j).joint.neutral() for j in part.joint_names})
    again = stump.attach(part, parent, prefix="p_")
    assert set(part.joint_names) == {n[2:] for n in again.joint_names if n.startswith("p_")}
    q = part.random_configuration(rng)
    whole = stump.random_configuration(rng)
    at = sixd.pose(stump, whole, parent)
    state = np.concatenate([whole, q])
    for frame in part.frame_names:
        if frame.startswith("joint:") or frame == "world":
            continue
        assert_allclose(sixd.pose(again, state, "p_" + frame), at @ sixd.pose(part, q, frame), atol=1e-12)
    with pytest.raises(sixd.ModelError, match="names a body or joint in both models.*prefix"):
        model.attach(part)
    with pytest.raises(sixd.UnknownNameError, match="no frame named 'nowhere'"):
        model.attach(part, "nowhere", prefix="x")


def test_attach_adds_dynamics(rng):
    """An arm on a mobile base: the arm's torques with the base at rest are its own."""
    base = sixd.ModelBuilder("base")
    base.add_body("cart", "world", sixd.Planar(), **ball())
    arm = quiet_load(FIVE["panda"])
    model = base.build().attach(arm, "cart", placement=sixd.placement((0, 0, 0.3)), prefix="arm_")
    assert model.nv == 12
    assert model.constraints[0].joints == ("arm_panda_finger_joint2", "arm_panda_finger_joint1")
    q, qd, qdd = arm.random_configuration(rng), *rng.normal(size=(2, 9))
    zero = np.zeros(3)
    tau = sixd.inverse_dynamics(model, np.r_[zero, q], np.r_[zero, qd], np.r_[zero, qdd])
    assert_allclose(tau[3:], sixd.inverse_dynamics(arm, q, qd, qdd), atol=1e-11)


def test_without_passive_and_with_gravity(rng):
    """Passive terms are D qd + F sign(qd) + K (q - rest), and armature adds to M's diagonal."""
    model = trees()[0]
    bare = model.without_passive()
    q, qd, qdd = next(states(model, rng))
    extra = sixd.inverse_dynamics(model, q, qd, qdd) - sixd.inverse_dynamics(bare, q, qd, qdd)
    springs = np.concatenate(
        [
            model.stiffness[model.iv[i]] * model.joints[i].difference(model.rest[model.iq[i]], q[model.iq[i]])
            for i in model.bodies
        ]
    )
    expected = model.armature * qdd + model.damping * qd + model.friction * np.sign(qd) + springs
    assert_allclose(extra, expected, atol=1e-11)
    assert_allclose(sixd.mass_matrix(model, q) - sixd.mass_matrix(bare, q), np.diag(model.armature), atol=1e-12)
    assert_allclose(sixd.gravity_force(model, q), sixd.bias_force(bare, q, 0 * qd), atol=1e-12)
    assert_allclose(sixd.gravity_force(bare.with_gravity((0, 0, 0)), q), 0, atol=1e-14)


# words ----------------------------------------------------------------------------------------------


def test_tree_prints(builder):
    """Each level is indented under what carries it."""
    builder.add_body("left", "lower", sixd.Free())
    builder.add_body("right", "lower", sixd.Helical((0, 1, 1), 0.1), limits=(-1, 2), **ball())
    assert str(builder.build()) == (
        "arm: 4 bodies, nq = 10, nv = 9, mass 3 kg\n"
        "world\n"
        "└─ upper  (shoulder: revolute z)  1 kg\n"
        "   └─ lower  (elbow: revolute y)  1 kg\n"
        "      ├─ left  (left: free)  massless\n"
        "      └─ right  (right: helical (0, 0.707, 0.707) -1 … 2)  1 kg"
    )


def test_check_finds_mistakes():
    """Limits the wrong way round, and inertia that only two joints together can see."""
    b = sixd.ModelBuilder("m")
    b.add_body("a", "world", sixd.Revolute("z"), limits=(1, -1))
    b.add_body("b", "a", sixd.Revolute("z"), **ball())
    findings = sixd.check(b.build())
    codes = {(f.code, f.where) for f in findings}
    assert ("limits", "a") in codes
    assert ("singular-mass-matrix", "a") in codes  # turns what b turns already, and nothing else
    assert "exchange them" in str(findings)
    assert str(sixd.check(sixd.zoo.ur_arm())) == "no likely mistakes found"


IN_DEGREES = "its limits -90 … 90 rad are beyond two turns and look like degrees"


def hinge(joint, limits):
    """A body on a joint with limits."""
    builder = sixd.ModelBuilder("hinge")
    builder.add_body("door", "world", joint, limits=limits, inertia=sixd.box(1, 0.1, 2, mass=20))
    return builder.build()


def test_limits_that_look_like_degrees():
    """The builder warns of them, check lists them, and a file's are one warning; edits do not repeat it."""
    with pytest.warns(sixd.ModelWarning, match=f"add_body 'door': {IN_DEGREES}") as caught:
        model = hinge(sixd.Revolute("z"), (-90, 90))
    assert caught[0].filename == __file__
    assert [(f.code, f.where) for f in sixd.check(model)] == [("degrees", "door")]
    assert model.with_payload("sign", "door", sixd.point(1.0)).nb == 1
    with pytest.warns(sixd.ModelWarning, match=f"with_joints: joint 'door': {IN_DEGREES}") as caught:
        hinge(sixd.Revolute("z"), (-1, 1)).with_joints({"door": {"limits": (-90, 90)}})
    assert caught[0].filename == __file__
    text = sixd.to_urdf(model)
    with pytest.warns(sixd.ModelWarning, match=f"load: 'hinge': door: {IN_DEGREES}") as caught:
        sixd.load(text)
    assert len(caught) == 1


def test_limits_that_do_not():
    """Of joints that slide or turn without end, up to two turns, and numbers that stand for no limit."""
    two_turns = 4 * np.pi
    for joint, limits in (
        (sixd.Revolute("z"), (-two_turns, two_turns)),
        (sixd.Revolute("z"), (-1e16, 1e16)),
        (sixd.Revolute("z"), (-np.inf, 90)),
        (sixd.Revolute("z", continuous=True), (-90, 90)),
        (sixd.Prismatic("z"), (-90, 90)),
    ):
        assert sixd.check(hinge(joint, limits)) == []


def test_zoo():
    """Every model of the zoo works and has a page of its own; unknown names are suggested."""
    for name in sixd.zoo.names():
        model = sixd.zoo.get(name)
        q = model.random_configuration(0)
        assert np.isfinite(sixd.inverse_dynamics(model, q, np.ones(model.nv), np.ones(model.nv))).all()
    with pytest.raises(sixd.UnknownNameError, match="Did you mean 'puma560'?"):
        sixd.zoo.get("puma")
