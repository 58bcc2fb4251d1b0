"""Operational space: laws of Λ, μ, J̄ and N over trees and stacks, closed forms, other programs, singular rows."""

import numpy as np
import pytest
import sympy

import samples
import sixd
from peers import mujoco, pin
from robots import FIVE, pinocchio_model, quiet_load
from sixd.algorithms.jacobian import jacobian as plain_jacobian

COORDINATES = ("body", "aligned", "world")
TERMS = (sixd.operational_inertia, sixd.dynamically_consistent_inverse, sixd.null_space_projector)


def terms(model, q, frame, **options):
    return [f(model, q, frame, **options) for f in TERMS]


def error(found, expected):
    """The largest difference, relative to the largest number."""
    return np.abs(found - expected).max(initial=0.0) / max(1.0, np.abs(expected).max(initial=0.0))


def independent_rows(model, q, expressed_in, rng, most):
    """A stack of random rows of random frames that are well conditioned at q."""
    stack = {}
    M = sixd.mass_matrix(model, q)
    whole = {name: plain_jacobian(model, q, name, expressed_in=expressed_in) for name in model.body_names}
    for _ in range(40):
        name, row = str(rng.choice(model.body_names)), int(rng.integers(6))
        if row in stack.get(name, ()):
            continue
        wider = {**stack, name: (*stack.get(name, ()), row)}
        J = np.concatenate([whole[name][list(rows)] for name, rows in wider.items()])
        u = np.linalg.solve(np.linalg.cholesky(M), J.T)
        u = u / np.maximum(np.linalg.norm(u, axis=0), 1e-12)
        if np.linalg.svd(u, compute_uv=False)[-1] > 0.03 and np.linalg.norm(u, axis=0).min() > 0.5:
            stack = wider
        if sum(map(len, stack.values())) == most:
            break
    return stack


# laws -------------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.targets("plain")  # compiled laws are below, of joints one by one
@pytest.mark.parametrize("tree", [f"tree{seed}" for seed in samples.SEEDS])
@pytest.mark.parametrize("expressed_in", COORDINATES)
def test_laws_on_every_joint_type(tree, expressed_in, rng, target):
    """Λ J M⁻¹ Jᵀ = 1, J J̄ = 1, N N = N, J M⁻¹ N = 0, J̄ = M⁻¹ Jᵀ Λ, for stacks of rows of several frames."""
    model = sixd.zoo.random_tree(int(tree[-1]))
    q, _, x = next(samples.states(model, rng))
    stack = independent_rows(model, q, expressed_in, rng, most=model.nv // 2)
    options = {"expressed_in": expressed_in}
    J, M = sixd.jacobian(model, q, stack, **options), sixd.mass_matrix(model, q)
    m = len(J)
    assert m > 3
    assert len(stack) > 1
    Lam, J_bar, N = terms(model, q, stack, **options)
    assert error(Lam @ sixd.inverse_operational_inertia(model, q, stack, **options), np.eye(m)) < 1e-9  # condition 1e3
    assert error(Lam, Lam.T) == 0
    assert np.linalg.eigvalsh(Lam)[0] > 0
    assert error(J @ J_bar, np.eye(m)) < 1e-11
    assert error(J_bar, np.linalg.solve(M, J.T) @ Lam) < 1e-10
    assert error(N @ N, N) < 1e-10
    assert abs(np.trace(N) - (model.nv - m)) < 1e-9
    assert error(J @ np.linalg.solve(M, N), np.zeros((m, model.nv))) < 1e-9  # M⁻¹ is up to 1e3
    # velocities that the frames do not show, and forces at the frames that come back
    assert error(J @ (N.T @ x), np.zeros(m)) < 1e-10
    assert error(J_bar.T @ (J.T @ Lam), Lam) < 1e-10


@pytest.mark.many
@pytest.mark.targets("compiled", "plain")
@pytest.mark.parametrize("kind", samples.KINDS)
@pytest.mark.parametrize("expressed_in", COORDINATES)
def test_forces_of_the_frames_accelerate_them_as_prescribed(kind, expressed_in, rng, target):
    """tau = Jᵀ(Λ a + μ) + N tau0 gives the frames the acceleration a, by forward dynamics, whatever tau0."""
    model = sixd.zoo.random_tree(5, kinds=("revolute", kind, "free"))
    q, qd, tau0 = next(samples.states(model, rng))
    stack = independent_rows(model, q, expressed_in, rng, most=5)
    options = {"expressed_in": expressed_in}
    J = sixd.jacobian(model, q, stack, **options)
    Lam, _, N = terms(model, q, stack, **options)
    mu, a = sixd.operational_bias(model, q, qd, stack, **options), rng.normal(size=len(J))
    tau = J.T @ (Lam @ a + mu) + N @ tau0
    qdd = sixd.forward_dynamics(model, q, qd, tau)
    which = "classical" if expressed_in == "aligned" else "spatial"
    found = sixd.acceleration(model, q, qd, qdd, stack, kind=which, **options)
    assert error(found, a) < 1e-9  # μ of some 1e2 N cancels
    assert error(found, J @ qdd + sixd.jacobian_rate(model, q, qd, stack, **options) @ qd) < 1e-10


@pytest.mark.long
def test_a_stack_is_its_frames_one_below_the_other(rng):
    """Rows of jacobian, jacobian_rate, velocity and acceleration, in the order of the names."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))
    q, qd, qdd = next(samples.states(model, rng))
    a, b = model.body_names[1], model.body_names[-1]
    calls = {
        sixd.jacobian: (q,), sixd.jacobian_rate: (q, qd), sixd.velocity: (q, qd), sixd.acceleration: (q, qd, qdd),
    }  # fmt: skip
    for function, arrays in calls.items():
        for where in ("body", "aligned"):
            one, two = (function(model, *arrays, frame, expressed_in=where) for frame in (a, b))
            for frames, expected in (
                ((b, a), np.concatenate([two, one])),
                ([a], one),
                ({a: "position", b: "orientation"}, np.concatenate([one[3:], two[:3]])),
                ({b: (5, 0), a: "pose"}, np.concatenate([two[[5, 0]], one])),
                ((a, (b, np.array([2]))), np.concatenate([one, two[[2]]])),
            ):
                for _ in range(2):  # the second call goes to compiled code at once
                    assert np.array_equal(function(model, *arrays, frames, expressed_in=where), expected)


@pytest.mark.long
def test_batches_dtypes_out_and_kernels(rng):
    """Rows of a batch have the bits of single calls, out= is filled, float32 is near, and kernels join the functions."""
    arm = sixd.zoo.panda_arm()
    q, qd = arm.random_configuration(rng, size=(2, 3)), rng.normal(size=(2, 3, 7))
    stack = {"tool": "position", "link4": (3, 5)}
    for function, arrays in ((sixd.operational_bias, (q, qd)), *((f, (q,)) for f in TERMS)):
        whole = function(arm, *arrays, stack)
        for k in np.ndindex(2, 3):
            assert np.array_equal(whole[k], function(arm, *(x[k] for x in arrays), stack))
        out = np.zeros_like(whole)
        assert function(arm, *arrays, stack, out=out) is out
        assert np.array_equal(out, whole)
        single = function(arm, *(x.astype("f") for x in arrays), stack)
        assert single.dtype == np.float32
        assert error(single, whole) < 1e-2  # conditions of 1e4
        bad = q.copy()
        bad[1, 2] = np.nan
        found = function(arm, bad, *arrays[1:], stack)
        assert np.isnan(found[1, 2]).all()
        assert np.array_equal(found[0], whole[0])
    joined = sixd.compile((*TERMS, sixd.mass_matrix), arm, frame=stack)(q)
    for found, function in zip(joined, TERMS, strict=False):
        assert error(found, function(arm, q, stack)) < 1e-12


# closed forms -----------------------------------------------------------------------------------------


def test_a_planar_arm_in_closed_form():
    """Two links with point masses at their ends, by symbols: Λ = J⁻ᵀ M J⁻¹, and μ by the same."""
    l1, l2, m1, m2, g = sympy.symbols("l1 l2 m1 m2 g", positive=True)
    arm = sixd.zoo.point_arm(l1, l2, m1, m2, g)
    numbers = {l1: 0.7, l2: 0.4, m1: 1.3, m2: 0.8, g: 9.81}
    arm = arm.substitute(numbers)
    arm = arm.with_frame("tip", "link2", sixd.placement((0.4, 0, 0)))
    q, qd = np.array([0.4, 1.1]), np.array([0.9, -1.7])
    s12, c12, s1, c1 = np.sin(q.sum()), np.cos(q.sum()), np.sin(q[0]), np.cos(q[0])
    J = np.array([[-0.7 * s1 - 0.4 * s12, -0.4 * s12], [0.7 * c1 + 0.4 * c12, 0.4 * c12]])
    found = sixd.jacobian(arm, q, "tip", expressed_in="aligned")
    rows = [int(np.argmin(np.abs(found - row).sum(axis=1))) for row in J]  # the plane of the arm
    assert error(found[rows], J) < 1e-14
    M, h = sixd.mass_matrix(arm, q), sixd.bias_force(arm, q, qd)
    w = np.array([qd[0], qd.sum()])
    drift = -np.array([0.7 * c1 * w[0] ** 2 + 0.4 * c12 * w[1] ** 2, 0.7 * s1 * w[0] ** 2 + 0.4 * s12 * w[1] ** 2])
    Ji = np.linalg.inv(J)
    stack = {"tip": tuple(rows)}
    Lam = sixd.operational_inertia(arm, q, stack, expressed_in="aligned")
    assert error(Lam, Ji.T @ M @ Ji) < 1e-13
    # the second link pushes along itself, the first across itself: det Λ = m2 (m1 + m2 sin²q2)/sin²q2
    assert abs(np.linalg.det(Lam) - 0.8 * (1.3 + 0.8 * np.sin(q[1]) ** 2) / np.sin(q[1]) ** 2) < 1e-12
    mu = sixd.operational_bias(arm, q, qd, stack, expressed_in="aligned")
    assert error(mu, Ji.T @ h - Ji.T @ M @ Ji @ drift) < 1e-13
    assert error(sixd.null_space_projector(arm, q, stack, expressed_in="aligned"), np.zeros((2, 2))) < 1e-13


def test_symbols():
    """Λ of an arm of two rods along its second link, as a formula; dependent rows are refused."""
    a, b = sympy.symbols("a b")
    arm = sixd.zoo.planar(2)
    Lam = sixd.operational_inertia(arm, [a, b], {"tip": (3, 4)})
    number = sixd.operational_inertia(arm, [0.3, 1.2], {"tip": (3, 4)})
    assert error(np.array(sympy.Matrix(Lam).subs({a: 0.3, b: 1.2}), dtype=float), number) < 1e-12
    assert abs(sympy.simplify(Lam[0, 0] - sympy.Rational(2, 3) * (1 + 1 / sympy.sin(b) ** 2)).subs({b: 0.7})) < 1e-14
    with pytest.raises(sixd.SingularError, match="dependent in any configuration"):
        sixd.operational_inertia(arm, [a, b], {"tip": (3, 5)})


@pytest.mark.targets("plain")  # compiling takes seconds and shows no more
def test_many_degrees_of_freedom(rng, target):
    """A chain of 110 links, whose M is not factored: the laws, and a stretched pose."""
    chain, tip = sixd.zoo.planar(110), {"tip": (3, 4)}
    q, qd = rng.uniform(-0.3, 0.3, 110), rng.normal(size=110)
    J, M = sixd.jacobian(chain, q, tip), sixd.mass_matrix(chain, q)
    Lam, J_bar, N = terms(chain, q, tip)
    assert error(Lam @ J @ np.linalg.solve(M, J.T), np.eye(2)) < 1e-10
    assert error(J @ J_bar, np.eye(2)) < 1e-10
    assert error(J @ np.linalg.solve(M, N), np.zeros((2, 110))) < 1e-9
    qdd = sixd.forward_dynamics(chain, q, qd, J.T @ sixd.operational_bias(chain, q, qd, tip) + N @ qd)
    assert error(sixd.acceleration(chain, q, qd, qdd, tip), np.zeros(2)) < 1e-8  # μ of some 1e3 N cancels
    with pytest.raises(sixd.SingularError, match="dependent there"):
        sixd.operational_inertia(chain, 0 * q, tip)


def test_a_free_body_has_its_own_inertia(rng):
    """Λ of a floating body's frame is its spatial inertia; μ is v×* I v less weight, in the body's coordinates."""
    builder = sixd.ModelBuilder("drone")
    builder.add_body("drone", "world", sixd.Free(), inertia=sixd.Inertia(1.5, (0.1, 0, 0.2), (0.1, 0.2, 0.25)))
    drone = builder.build()
    q, qd = drone.random_configuration(rng), rng.normal(size=6)
    inertia = drone.inertia[1]
    assert error(sixd.operational_inertia(drone, q, "drone"), inertia) < 1e-13
    weight = sixd.gravity_force(drone, q)
    expected = sixd.spatial.crf(qd) @ (inertia @ qd) + weight
    assert error(sixd.operational_bias(drone, q, qd, "drone"), expected) < 1e-13
    assert error(sixd.null_space_projector(drone, q, "drone"), np.zeros((6, 6))) < 1e-13


# other programs ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("robot", ["panda", "anymal"])
def test_beside_pinocchio(robot, rng):
    """Λ and J̄ from Pinocchio's M and Jacobians, two frames at once; anymal on a floating base."""
    floating = robot == "anymal"
    model = quiet_load(FIVE[robot], floating_base=floating).without_passive()
    theirs = pinocchio_model(FIVE[robot], floating=floating)
    data = theirs.createData()
    frames = {
        "panda": {"panda_hand": "position", "panda_link4": (3, 4)},
        "anymal": {"LF_FOOT": "position", "base": "pose", "RH_FOOT": "position"},
    }[robot]
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    their_q, their_v = sixd.interop.to_pinocchio(model, q, qd)
    M = np.array(pin.crba(theirs, data, their_q))
    M = np.triu(M) + np.triu(M, 1).T
    order = [3, 4, 5, 0, 1, 2]  # their linear rows are first
    parts = {"position": [3, 4, 5], "pose": list(range(6))}
    J, drift = [], []
    pin.computeJointJacobiansTimeVariation(theirs, data, their_q, their_v)
    pin.updateFramePlacements(theirs, data)
    for name, part in frames.items():
        k, rows = theirs.getFrameId(name), parts.get(part, part)
        kind = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J.append(np.array(pin.getFrameJacobian(theirs, data, k, kind))[order][list(rows)])
        rate = np.array(pin.getFrameJacobianTimeVariation(theirs, data, k, kind))[order][list(rows)]
        drift.append(rate @ their_v)
    J, h = np.concatenate(J), np.array(pin.nonLinearEffects(theirs, data, their_q, their_v))
    W = J @ np.linalg.solve(M, J.T)
    options = {"expressed_in": "aligned"}
    Lam = sixd.operational_inertia(model, q, frames, **options)
    assert error(Lam, np.linalg.inv(W)) < 1e-9  # their inverse loses digits by its condition
    mu = np.linalg.solve(W, J @ np.linalg.solve(M, h) - np.concatenate(drift))
    assert error(sixd.operational_bias(model, q, qd, frames, **options), mu) < 1e-8
    a = rng.normal(size=len(J))
    theirs_a = np.linalg.solve(M, J.T) @ np.linalg.solve(W, a)
    mine = sixd.dynamically_consistent_inverse(model, q, frames, **options) @ a
    assert error(sixd.interop.to_pinocchio(model, q, mine)[1], theirs_a) < 1e-9


def test_beside_mujoco(rng):
    """Λ of a floating base with an arm from MuJoCo's full M and Jacobians of a site's body."""
    text = """<mujoco><worldbody><body name='base' pos='0 0 1'><freejoint name='root'/>
      <inertial pos='.1 0 0' mass='3' diaginertia='.1 .2 .25'/>
      <body name='upper' pos='.2 0 0'><joint name='a' axis='0 1 0'/><inertial pos='.2 0 0' mass='1' diaginertia='.01 .02 .02'/>
      <body name='lower' pos='.4 0 0'><joint name='b' axis='0 0 1'/><inertial pos='.1 .1 0' mass='.7' diaginertia='.01 .01 .02'/>
      <body name='hand' pos='.3 0 0'><joint name='c' axis='1 0 0'/><inertial pos='.1 0 .1' mass='.4' diaginertia='.01 .01 .01'/>
      </body></body></body></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    model, data = sixd.load(text), mujoco.MjData(theirs)
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    data.qpos[:], data.qvel[:] = sixd.interop.to_mujoco(model, q, qd)
    mujoco.mj_forward(theirs, data)
    M, blocks = np.zeros((model.nv, model.nv)), []
    mujoco.mj_fullM(theirs, data, M) if _new_order() else mujoco.mj_fullM(theirs, M, data.qM)
    for name in ("hand", "base"):
        linear, angular = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(theirs, data, linear, angular, mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_BODY, name))
        blocks.append(linear[:2] if name == "hand" else np.concatenate([angular, linear]))
    J = np.concatenate(blocks)
    Lam = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    frames = {"hand": (3, 4), "base": "pose"}
    found = sixd.operational_inertia(model, q, frames, expressed_in="aligned")
    assert error(found, Lam) < 1e-9  # their inverse loses digits by its condition


def _new_order():
    """Whether mj_fullM takes the data, as MuJoCo 4 does."""
    return int(mujoco.__version__.split(".")[0]) >= 4


# singular rows ----------------------------------------------------------------------------------------


def test_singular_poses_and_dependent_stacks(rng):
    """An error says which rows; with a regularisation there is a result, that of (J M⁻¹ Jᵀ + δ² 1)⁻¹."""
    arm = sixd.zoo.planar(2)
    tip, stretched = {"tip": (3, 4)}, np.array([0.3, 0.0])
    for function in TERMS:
        with pytest.raises(sixd.SingularError, match=r"the 2 rows of 'tip' are dependent there \(rank 1 of 2, 2 DoF\)"):
            function(arm, stretched, tip)
        function(arm, stretched + np.array([0, 1e-5]), tip)
    with pytest.raises(sixd.SingularError, match="regularization=…"):
        sixd.operational_bias(arm, stretched, stretched, tip)
    with pytest.raises(sixd.SingularError, match="the 2 rows of 'tip' are dependent in any configuration"):
        sixd.operational_inertia(arm, [0.3, 0.5], {"tip": (3, 5)})  # it cannot leave its plane
    with pytest.raises(sixd.SingularError, match="'tip', 'link2' are dependent in any configuration"):
        sixd.null_space_projector(arm, [0.3, 0.5], {"tip": (3, 4), "link2": (3,)})
    for q, frame in ((stretched, tip), ([0.3, 0.5], "tip"), ([0.3, 0.5], ("tip", "link2"))):
        J, M = sixd.jacobian(arm, q, frame), sixd.mass_matrix(arm, q)
        W = J @ np.linalg.solve(M, J.T) + 0.01 * np.eye(len(J))
        Lam, J_bar, N = terms(arm, q, frame, regularization=0.1)
        assert error(Lam @ W, np.eye(len(J))) < 1e-10
        assert error(J_bar, np.linalg.solve(M, J.T) @ Lam) < 1e-10
        assert error(N, np.eye(2) - J.T @ J_bar.T) < 1e-10


ERRORS = {
    "unknown frame": ({"tap": "pose"}, "no frame named 'tap'. Did you mean 'tip'"),
    "unknown part": ({"tip": "poses"}, "frame 'tip': no part named 'poses'. Did you mean 'pose'"),
    "row beyond": ({"tip": (3, 6)}, r"the part of frame 'tip' is \(3, 6\), expected"),
    "row twice": ({"tip": (3, 3)}, "each once"),
    "no rows": ({"tip": ()}, "the part of frame 'tip'"),
    "half a row": ({"tip": (3.5,)}, "the part of frame 'tip'"),
    "no frames": ((), "expected at least one frame"),
    "frame twice": (("tip", "tip"), "each once"),
    "a number": (3, "frame is 3, expected a name, several names, or a mapping"),
    "nothing": (None, "frame is None"),
    "a triple": ((("tip", 3, 4),), "expected names, or pairs"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_of_frames(case):
    frame, message = ERRORS[case]
    for function in (sixd.operational_inertia, sixd.jacobian):
        with pytest.raises(sixd.SixdError, match=message):
            function(sixd.zoo.planar(2), [0.1, 0.2], frame)


def test_other_arguments():
    arm = sixd.zoo.planar(2)
    for value in (-1.0, np.nan, "much", True):
        with pytest.raises(sixd.ScalarTypeError, match="operational_inertia: regularization is"):
            sixd.operational_inertia(arm, [0.1, 0.2], "tip", regularization=value)
    with pytest.raises(sixd.UnknownNameError, match="pose: model 'planar2': no frame named"):
        sixd.pose(arm, [0.1, 0.2], ("tip", "link2"))


def test_reduced_models(rng):
    """A mechanism in independent coordinates, and one from a mimic joint: the laws hold in these."""
    arm = sixd.zoo.planar(3)
    _, second, third = arm.joint_names
    reduced = arm.with_constraints(sixd.Mimic(third, second, multiplier=-0.5)).reduce()
    q, qd, tau0 = np.array([0.3, 0.8]), rng.normal(size=2), rng.normal(size=2)
    for rows in ((3,), (3, 4)):
        stack = {"tip": rows}
        J = sixd.jacobian(reduced, q, stack)
        Lam, _, N = terms(reduced, q, stack)
        a = rng.normal(size=len(rows))
        tau = J.T @ (Lam @ a + sixd.operational_bias(reduced, q, qd, stack)) + N @ tau0
        qdd = sixd.forward_dynamics(reduced, q, qd, tau)
        assert error(sixd.acceleration(reduced, q, qd, qdd, stack), a) < 1e-10
