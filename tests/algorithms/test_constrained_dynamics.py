"""Dynamics under constraints: laws, published mechanisms, other programs, dead centres."""

import ctypes

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from c_compiler import CC, build
from peers import pin
from robots import FIVE, pinocchio_model, quiet_load
from samples import constrained, states
from scalars import hide, reveal
from sixd.algorithms.constrained.rows import constraint_bias, constraint_target
from sixd.algorithms.momentum import energy
from sixd.spatial.dual import duals, parts

# trees in which every joint kind is bound, free and spherical ones among them
SETS = {
    "weld": (0, [sixd.Loop("frame4", "frame9", "weld")]),
    "loops": (1, [sixd.Loop("world", "frame8", "point"), sixd.Loop("frame3", "frame6", ("x", "rz"))]),
    "mixed": (
        2,
        [sixd.Distance("frame3", "frame10", 0.7), sixd.KnifeEdge("frame8"), sixd.Rolling("frame6", 0.2, (1, 2, 3))],
    ),
    "sphere": (3, [sixd.RollingSphere("frame5", 0.1, "frame10"), sixd.Loop("frame1", "frame7", ("rz", "y"))]),
    "own": (
        0,
        [
            sixd.Holonomic(lambda q: q @ np.arange(len(q)) - q[4] * q[3] * q[9], name="sum"),
            sixd.Pfaffian(lambda model, q: np.array([[q[5] * k + 1 for k in range(model.nv)]]), lambda t: [t * t]),
        ],
    ),
}
# large trees by the plain algorithms: compiling each takes seconds and shows no more than the small ones below
each_set = pytest.mark.parametrize("name", SETS)
plainly = pytest.mark.parametrize("target", ["plain"], indirect=True)
both = pytest.mark.parametrize("target", ["compiled", "plain"], indirect=True)
MODELS = {name: constrained(sixd.zoo.random_tree(seed), *parts) for name, (seed, parts) in SETS.items()}


def close(x, y, tolerance=1e-10):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


def kkt(model, q, qd, tau, f_ext=None, t=0.0):
    """The solution of least norm of the dense system [M -Aᵀ; A 0] [qdd; λ] = [tau - h; c], by LAPACK."""
    M, h, A = sixd.mass_matrix(model, q), sixd.bias_force(model, q, qd, f_ext=f_ext), sixd.constraint_jacobian(model, q)
    c = constraint_target(model, t)[1] - constraint_bias(model, q, qd)
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - h, c]).astype(float), rcond=1e-12)[0]
    return x[: model.nv], x[model.nv :], M, h, A, c.astype(float)


@plainly
@each_set
def test_equations_of_motion_hold(name, rng):
    """M qdd + h = tau + Aᵀλ and A qdd = c to rounding, as by a dense solve of both; external forces and time included."""
    model = MODELS[name]
    for q, qd, tau in states(model, rng, count=3):
        f_ext, t = rng.uniform(-3, 3, (model.nb, 6)), rng.uniform()
        qdd, lam = sixd.constrained_dynamics(model, q, qd, tau, f_ext=f_ext, t=t)
        a, multipliers, M, h, A, c = kkt(model, q, qd, tau, f_ext, t)
        scale = max(1.0, np.abs(qdd).max())
        close(A @ qdd, c, tolerance=1e-12 * scale * max(1.0, np.abs(A).max()))
        assert np.abs(M @ qdd + h - tau - A.T @ lam).max() < 1e-11 * scale * np.abs(M).max()
        close(qdd, a, tolerance=1e-9)  # conditions of the dense system reach 1e6
        close(lam, multipliers, tolerance=1e-9)


@pytest.mark.long
@plainly
@each_set
def test_redundant_equations(name, rng):
    """Each constraint twice: the same motion, and of all multipliers those of least norm."""
    model = MODELS[name]
    twice = constrained(model, *model.constraints)
    for q, qd, tau in states(model, rng, count=2):
        qdd, lam = sixd.constrained_dynamics(model, q, qd, tau, t=0.3)
        again, doubled = sixd.constrained_dynamics(twice, q, qd, tau, t=0.3)
        close(again, qdd, tolerance=1e-9)
        close(doubled, np.concatenate([lam, lam]) / 2, tolerance=1e-9)
        P, _ = sixd.projections(model, q)
        close(sixd.projections(twice, q)[0], P, tolerance=1e-9)


@plainly
@each_set
def test_projections(name, rng):
    """A P = 0, P² = P, rank nv - k, and what P removes is M-orthogonal to what it keeps."""
    model = MODELS[name]
    q, qd, _ = next(iter(states(model, rng)))
    P, P_u = sixd.projections(model, q)
    M, A = sixd.mass_matrix(model, q), sixd.constraint_jacobian(model, q)
    close(A @ P, np.zeros_like(A))
    close(P @ P, P)
    assert_array_equal(P_u, P.T)
    assert np.linalg.matrix_rank(P, tol=1e-9) == model.nv - len(A)
    assert abs((P @ qd) @ M @ (qd - P @ qd)) < 1e-10 * (qd @ M @ qd)
    close(P_u, np.eye(model.nv) - A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ np.linalg.inv(M)), 1e-8)


@plainly
@pytest.mark.parametrize("name", ["loops", "mixed"])
def test_stabilisation(name, rng):
    """A qdd = db/dt - dA/dt qd - 2ω(A qd - b) - ω²φ, with zeros for rows that have no φ."""
    model, omega = MODELS[name], 7.0
    q, qd, tau = next(iter(states(model, rng)))
    qdd, _ = sixd.constrained_dynamics(model, q, qd, tau, stabilisation=omega)
    A = sixd.constraint_jacobian(model, q)
    drift = []
    for c in model.constraints:
        velocity, phi = c.velocity(model, q, qd), c.position(model, q)
        drift.append(2 * omega * velocity + omega**2 * np.pad(phi, (0, len(velocity) - len(phi))))
    close(A @ qdd, -constraint_bias(model, q, qd) - np.concatenate(drift))


@both
def test_prescribed_rates(rng):
    """A turntable driven at b(t): the rows follow db/dt, and the velocity's error counts from b."""
    drive = sixd.Pfaffian(lambda q: np.array([[1, 0]]), lambda t: [sp_free_sin(t)], name="drive")
    model = constrained(sixd.zoo.planar(2), drive)
    q, qd, t = rng.normal(size=2), rng.normal(size=2), 0.8
    qdd, _lam = sixd.constrained_dynamics(model, q, qd, [0, 0], t=t)
    assert abs(qdd[0] - 3 * np.cos(3 * t)) < 1e-12
    close(sixd.constraint_velocity(model, q, qd, t=t), [qd[0] - np.sin(3 * t)])
    times = np.array([0.0, 0.5, 0.8])
    batch = sixd.constrained_dynamics(model, q, qd, [0, 0], t=times)
    close(batch[0][:, 0], 3 * np.cos(3 * times))
    kernel = sixd.compile(sixd.constrained_dynamics, model)
    assert kernel.inputs == ("q", "qd", "tau", "t")
    close(kernel(q, qd, np.zeros(2), t)[0], qdd)
    _, at = sixd.assemble(model, q, qd, t=t)
    close(at[0], np.sin(3 * t))


def sp_free_sin(t):
    from sixd.spatial import sin

    return sin(t * 3)


@pytest.mark.long
def test_without_constraints(rng):
    """It is forward dynamics, with no multipliers."""
    model = sixd.zoo.random_tree(1)
    q, qd, tau = next(iter(states(model, rng)))
    qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
    assert_array_equal(qdd, sixd.forward_dynamics(model, q, qd, tau))
    assert lam.shape == (0,)
    assert sixd.constraint_error(model, q).shape == (0,)
    assert sixd.constraint_jacobian(model, np.stack([q, q])).shape == (2, 0, model.nv)
    assert_array_equal(sixd.projections(model, q)[0], np.eye(model.nv))


# published mechanisms ------------------------------------------------------------------------------


@both
def test_andrews_squeezer():
    """Accelerations and multipliers at the start, as published."""
    model = sixd.zoo.andrews()
    q = sixd.zoo.andrews_order(model, sixd.zoo.ANDREWS_START)
    assert np.abs(sixd.constraint_error(model, q)).max() < 1e-15
    assert (sixd.mobility(model).freedoms, sixd.mobility(model).rank) == (1, 6)
    tau = sixd.zoo.andrews_order(model, [0.033, 0, 0, 0, 0, 0, 0])
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(7), tau, f_ext=sixd.zoo.andrews_force(model, q))
    expected = sixd.zoo.andrews_order(model, [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0])
    assert_allclose(qdd, expected, rtol=1e-9, atol=1e-9 * 14222)
    # published in the axes of the ground and with the other sign; these are in those of K3, K4, K6
    axes = [sixd.pose(model, q, f"{body}_loop")[:2, :2] for body in ("K3", "K4", "K6")]
    world = np.concatenate([R @ lam[2 * k : 2 * k + 2] for k, R in enumerate(axes)])
    assert_allclose(world, [-98.5668703962411, 6.12268834425567, 0, 0, 0, 0], rtol=1e-9, atol=1e-9 * 98.6)


@both
@pytest.mark.parametrize("closed_by", ["planar", "axis", "weld without turning", "point"])
def test_four_bar(closed_by):
    """The crank's acceleration, closed in the plane or in space; redundant equations are counted."""
    words = {"weld without turning": ("rx", "ry", "x", "y", "z")}.get(closed_by, closed_by)
    model = sixd.zoo.four_bar(closed_by=words)
    q = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    close(q, [np.pi / 3, 0.5620698030 - np.pi / 3, 1.6092673542])
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(3), np.zeros(3))
    assert_allclose(qdd[0], -7.8296390369, rtol=1e-10)
    mobility = sixd.mobility(model)
    assert (mobility.freedoms, mobility.rank, mobility.equations) == (1, 2, len(model.constraints[0].directions))
    assert mobility.redundant == {"planar": 0, "point": 1}.get(closed_by, 3)
    close(lam, kkt(model, q, np.zeros(3), np.zeros(3))[1])


@both
def test_bricard():
    """Five equations of rank four; accelerations as published, multipliers of least norm."""
    model = sixd.zoo.bricard()
    zero = np.zeros(5)
    qdd, lam = sixd.constrained_dynamics(model, zero, zero, zero)
    assert_allclose(qdd, 1.9580838323 * np.array([1, -1, 1, -1, 1]), rtol=1e-10)
    close(lam, kkt(model, zero, zero, zero)[1])
    mobility = sixd.mobility(model)
    assert (mobility.freedoms, mobility.rank, mobility.redundant) == (1, 4, 1)
    assert mobility.redundant_in == (("Loop(ground_P5, P5)", 1),)
    # elsewhere on its way
    q, qd = sixd.assemble(model, [0.5, 0, 0, 0, 0], [1, 0, 0, 0, 0], fixed=["rod1"])
    qdd, lam = sixd.constrained_dynamics(model, q, qd, zero)
    expected = kkt(model, q, qd, zero)
    close(qdd, expected[0], tolerance=1e-9)
    close(lam, expected[1], tolerance=1e-9)


@both
def test_gear():
    """Double elbow: only Gᵀtau matters."""
    model = sixd.zoo.double_elbow()
    q, qd = np.array([0.2, 0.7, 0.7]), np.array([0.3, -0.4, -0.4])
    first, _ = sixd.constrained_dynamics(model, q, qd, [1, 2, 3])
    second, _ = sixd.constrained_dynamics(model, q, qd, [1, 5, 0])
    close(first, second)
    assert abs(first[1] - first[2]) < 1e-10 * abs(first[1])
    other, _ = sixd.constrained_dynamics(model, q, qd, [1, 4, 0])
    assert np.abs(other - first).max() > 0.1


# rolling -------------------------------------------------------------------------------------------

ROLLERS = {
    "disc": sixd.Rolling("disc", 0.05, "y"),
    "sphere": sixd.RollingSphere("disc", 0.05),
}


@both
@pytest.mark.parametrize("kind", ROLLERS)
def test_rolling_bodies(kind, rng):
    """The contact's acceleration vanishes, and energy changes by the power of tau alone, exactly."""
    model = constrained(sixd.zoo.rolling_disc(), ROLLERS[kind])
    for _ in range(3):
        q = model.random_configuration(rng)
        q, qd = sixd.assemble(model, q, rng.normal(size=6))
        assert np.abs(sixd.constraint_error(model, q)).max() < 1e-12
        close(sixd.constraint_velocity(model, q, qd), np.zeros(3))
        tau = rng.normal(size=6)
        qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
        A = sixd.constraint_jacobian(model, q)
        # A may be long compared with qdd's components: the disc is 5 cm large
        assert np.abs(A @ qdd + constraint_bias(model, q, qd)).max() < 1e-10 * max(1.0, np.abs(qdd).max() * 0.05)
        moving = duals(q, model.configuration_rate(q, qd)), duals(qd, qdd)
        rate = sum(parts(np.array(energy(model, *moving)))[1])
        assert abs(rate - tau @ qd) < 1e-10 * max(1.0, np.abs(tau @ qd), np.abs(lam).max())


@both
def test_disc_rolls_like_the_textbook():
    """Upright and straight down a slope: acceleration 2/3 g sin, friction 1/3 m g sin."""
    slope, g = 0.2, 9.81
    model = constrained(sixd.zoo.rolling_disc(), ROLLERS["disc"])
    model = model.with_gravity((g * np.sin(slope), 0, -g * np.cos(slope)))
    inertia = model.body_inertia("disc")
    m, J, r = inertia.mass, inertia.matrix[1, 1], 0.05
    q = np.array([1.0, 0, 0, 0, 0, 0, r])
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(6), np.zeros(6))
    a = g * np.sin(slope) / (1 + J / (m * r * r))
    close(qdd, [0, a / r, 0, a, 0, 0])
    close(lam, [m * g * np.cos(slope), -J * a / r**2, 0])


# other programs ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", ["point", "weld"])
def test_pinocchio(kind, rng, target):
    """A UR5 whose tool is held by the world: Pinocchio's constraint dynamics."""
    arm = quiet_load(FIVE["ur5"]).without_passive()
    frame = "wrist_3_link"
    model = constrained(arm, sixd.Loop("world", frame, kind))
    other = pinocchio_model(FIVE["ur5"])
    data, at = other.createData(), other.frames[other.getFrameId(frame)]
    contact = {"point": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}[kind]
    loop = pin.RigidConstraintModel(
        contact, other, 0, pin.SE3.Identity(), at.parentJoint, at.placement, pin.ReferenceFrame.LOCAL
    )
    loops, loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    loops.append(loop)
    loop_data.append(loop.createData())
    pin.initConstraintDynamics(other, data, loops, loop_data)
    settings = pin.ProximalSettings(1e-14, 0.0, 1)
    for _ in range(3):
        q, qd, tau = rng.uniform(-2, 2, (3, 6))
        if kind == "weld":
            # away from a closed loop their rows differ; this one is closed where the arm is
            pose = sixd.pose(arm, q, frame)
            model = constrained(with_frame(arm, "here", pose), sixd.Loop("here", frame, "weld"))
            qd = np.zeros(6)  # no degree of freedom is left
        expected = pin.constraintDynamics(other, data, q, qd, tau, loops, loop_data, settings)
        qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
        close(qdd, expected, tolerance=1e-9)  # the condition of A M⁻¹ Aᵀ
        if kind == "point":
            close(lam, -data.lambda_c[:3], tolerance=1e-9)


def with_frame(model, name, pose):
    builder = sixd.ModelBuilder.from_model(model)
    builder.add_frame(name, "world", pose)
    return builder.build()


# dead centres --------------------------------------------------------------------------------------

FLAT = {
    "parallelogram": (sixd.zoo.four_bar(2.0, 1.0, 2.0, 1.0), [[0, 0, 0], [np.pi, -np.pi, np.pi]], [0.4, -0.4, 0.4]),
    "equal bars": (sixd.zoo.four_bar(1.0, 1.0, 1.0, 1.0), [[0, 0, 0], [0, np.pi, np.pi]], [0.4, -0.4, 0.4]),
    "redundant": (
        sixd.zoo.four_bar(1.0, 1.0, 1.0, 1.0, closed_by=("x", "y", "rx", "z")), [[0, 0, 0], [0, np.pi, np.pi]],
        [0.4, -0.4, 0.4],
    ),
}  # fmt: skip


@pytest.mark.many
@both
@pytest.mark.parametrize("name", FLAT)
def test_dead_centres_are_marked_row_by_row(name, target):
    """Rows in which the rank drops are NaN, no other is touched, nothing raises; ``check`` says why."""
    model, dead, alive = FLAT[name]
    q = np.array([alive, *dead, alive])
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(3), np.zeros(3))
    assert np.isnan(qdd[1:-1]).all()
    assert np.isnan(lam[1:-1]).all()
    single, multipliers = sixd.constrained_dynamics(model, alive, np.zeros(3), np.zeros(3))
    for k in (0, -1):
        close(qdd[k], single, tolerance=1e-14)
        close(lam[k], multipliers, tolerance=1e-14)
    assert np.isnan(sixd.constrained_dynamics(model, dead[1], np.zeros(3), np.zeros(3))[0]).all()
    assert np.isnan(sixd.projections(model, q)[0][1:-1]).all()
    codes = [[f.code for f in sixd.check(model, x)] for x in q]
    assert all("rank-drop" in found for found in codes[1:-1])
    assert not any("rank-drop" in found or "not-assembled" in found for found in (codes[0], codes[-1]))
    near = sixd.constrained_dynamics(model, [1e-5, -1e-5, 1e-5], np.zeros(3), np.zeros(3))[0]
    assert np.isfinite(near).all()


def test_nan_stays_in_its_row(target):
    model = sixd.zoo.four_bar()
    q = np.array([sixd.assemble(model, [1.0, -0.5, 1.6]), [np.nan, 0, 0]])
    qdd, lam = sixd.constrained_dynamics(model, q, np.zeros(3), np.zeros(3))
    assert np.isfinite(qdd[0]).all()
    assert np.isfinite(lam[0]).all()
    assert np.isnan(qdd[1]).all()
    assert np.isnan(lam[1]).all()


def test_singular_mass_matrix_is_reported():
    """A joint that moves nothing raises, as in forward dynamics."""
    builder = sixd.ModelBuilder("light")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0).translated((1, 0, 0)))
    builder.add_body("b", "a", sixd.Revolute("z"))
    builder.add_constraint(sixd.Mimic("b", "a"))
    with pytest.raises(sixd.SingularError, match=r"joints \['b'\] move no inertia"):
        sixd.constrained_dynamics(builder.build(), [0, 0], [0, 0], [0, 0])


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-5])
def test_nearly_dependent_constraints(gap, rng):
    """Two points of a body held that are ``gap`` apart: the rows hold to rounding although A M⁻¹Aᵀ has lost its digits."""
    builder = sixd.ModelBuilder("hung")
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.box(1, 0.7, 0.4, mass=3.0))
    builder.add_body(
        "arm", "body", sixd.Revolute((1, 2, 3)), inertia=sixd.sphere(0.3, mass=1.0).translated((0.5, 0, 0))
    )
    for k, at in enumerate([(0, 0, 0), (gap, 0, 0)]):
        builder.add_frame(f"p{k}", "body", sixd.placement(at))
        builder.add_frame(f"w{k}", "world", sixd.placement(at))
        builder.add_constraint(sixd.Loop(f"w{k}", f"p{k}", "point" if k == 0 else ("y", "z")))
    model = builder.build()
    q = model.neutral()
    qd, tau = np.array([0.7, 0, 0, 0, 0, 0, 1.3]), rng.normal(size=7)
    qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
    A, M = sixd.constraint_jacobian(model, q), sixd.mass_matrix(model, q)
    assert np.abs(A @ qdd + constraint_bias(model, q, qd)).max() < 1e-13 * max(1.0, np.abs(qdd).max())
    # the normal equations would leave 1e-16/gap² of the motion
    exact = sixd.constrained_dynamics(hinged(model), q, qd, tau)[0]
    close(qdd, exact, tolerance=1e-14 / gap)
    assert np.abs(M @ qdd + sixd.bias_force(model, q, qd) - tau - A.T @ lam).max() < 1e-13 * np.abs(lam).max()


def hinged(model):
    """The same body on a hinge about x, by one loop."""
    builder = sixd.ModelBuilder.from_model(model)
    builder.constraints = [sixd.Loop("w0", "p0", ("ry", "rz", "x", "y", "z"))]
    return builder.build()


# scalars and targets -------------------------------------------------------------------------------


@pytest.mark.long
def test_symbols(rng):
    """The four-bar on SymPy symbols, numbers put in afterwards; redundant equations are refused."""
    model = sixd.zoo.four_bar()
    names = np.array(sp.symbols("q1:4 u1:4"), dtype=object)
    qdd, lam = sixd.constrained_dynamics(model, names[:3], names[3:], np.zeros(3, dtype=int))
    q, qd = sixd.assemble(model, [1.0, -0.5, 1.6], [1.0, 0, 0])
    values = sp.lambdify(list(names), [*qdd, *lam], cse=True)(*q, *qd)
    close(values, np.concatenate(sixd.constrained_dynamics(model, q, qd, np.zeros(3))))
    zero = np.zeros(5, dtype=int)
    with pytest.raises(sixd.ScalarTypeError, match="'bricard' are redundant, 5 equations of rank 4, expected indep"):
        sixd.constrained_dynamics(sixd.zoo.bricard(), np.array(sp.symbols("q1:6"), dtype=object), zero, zero)


def test_symbolic_parameters():
    """A pendulum as a point on a rod, all letters: the textbook's tension."""
    m, g, length, v = sp.symbols("m g l v", positive=True)
    builder = sixd.ModelBuilder("swing", (0, -g, 0))
    builder.add_body("x", "world", sixd.Prismatic("x"))
    builder.add_body("y", "x", sixd.Prismatic("y"), inertia=sixd.point(m))
    builder.add_constraint(sixd.Distance("world", "y", length))
    qdd, lam = sixd.constrained_dynamics(builder.build(), np.array([0, -length]), np.array([v, 0]), np.array([0, 0]))
    assert sp.simplify(lam[0] * length + m * (g + v**2 / length)) == 0
    assert [sp.simplify(x) for x in qdd] == [0, v**2 / length]


@pytest.mark.long
def test_kernels(rng, target):
    """Compiled with fixed stabilisation, with inertias as inputs, in float32, and together with other functions."""
    model = sixd.zoo.bricard()
    q, qd = sixd.assemble(model, [0.5, 0, 0, 0, 0], [1, 0, 0, 0, 0], fixed=["rod1"])
    tau = rng.normal(size=5)
    expected = sixd.constrained_dynamics(model, q, qd, tau, stabilisation=3.0)
    kernel = sixd.compile(sixd.constrained_dynamics, model, stabilisation=3.0)
    for got, want in zip(kernel(q, qd, tau), expected, strict=True):
        close(got, want)
    inertia = np.array([model.body_inertia(b).parameters for b in model.body_names])
    heavy = sixd.compile(sixd.constrained_dynamics, model, parameters=("inertia",))
    close(heavy(q, qd, tau * 2, inertia * 2)[0], sixd.constrained_dynamics(model, q, qd, tau)[0], tolerance=1e-9)
    small = sixd.compile(sixd.constrained_dynamics, model, dtype="float32")
    states = [np.tile(x, (5, 1)).astype("float32") for x in (q, qd, tau)]
    plain = sixd.constrained_dynamics(model, q, qd, tau)
    close(small(*states)[0], np.tile(plain[0], (5, 1)), tolerance=1e-3)  # float32
    both = sixd.compile((sixd.mass_matrix, sixd.constrained_dynamics), model)
    close(both(q, qd, tau)[1], plain[0])
    f_ext = rng.normal(size=(5, 6))
    close(
        both(q, qd, tau, f_ext=f_ext)[1], sixd.constrained_dynamics(model, q, qd, tau, f_ext=f_ext)[0], tolerance=1e-9
    )
    out = np.empty((4, 5)), np.empty((4, 5))
    batch = [np.tile(x, (4, 1)) for x in (q, qd, tau)]
    assert sixd.constrained_dynamics(model, *batch, out=out) is out
    close(out[0], np.tile(plain[0], (4, 1)))


def test_exported_c(tmp_path):
    """The generated C gives the same, NaN in dead centres included."""
    if CC is None:
        pytest.skip("no C compiler")
    model, dead, alive = FLAT["redundant"]
    code = sixd.export_c(sixd.constrained_dynamics, model)
    function = build(code, tmp_path)
    pointer = ctypes.POINTER(ctypes.c_double)
    for q in (np.array(alive, dtype=float), np.array(dead[1], dtype=float)):
        qdd, lam, zero = np.empty(3), np.empty(4), np.zeros(3)
        function(*(x.ctypes.data_as(pointer) for x in (q, zero, zero, qdd, lam)))
        expected = sixd.constrained_dynamics(model, q, zero, zero)
        assert_allclose(qdd, expected[0], rtol=1e-12)
        assert_allclose(lam, expected[1], rtol=1e-12, atol=1e-12)


def test_models_that_differ_by_constraints_alone(target):
    """Compiled code is not confused by trees that are equal."""
    arm = sixd.zoo.planar(2)
    results = [
        sixd.constrained_dynamics(constrained(arm, sixd.Mimic("link2", "link1", k)), [0, 0], [0, 0], [1, 0])[0]
        for k in (1.0, 2.0)
    ]
    close(results[0][1], results[0][0])
    close(results[1][1], 2 * results[1][0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: sixd.constrained_dynamics(m, [0, 0], [0, 0, 0], [0, 0, 0]), sixd.ShapeError, r"q has shape \(2,\)"),
        (
            lambda m: sixd.constrained_dynamics(m, [0] * 3, [0] * 3, [0] * 3, stabilisation=-1),
            sixd.ScalarTypeError,
            "stabilisation is -1, expected a finite number of at least 0",
        ),
        (lambda m: sixd.constrained_dynamics("arm", 0, 0, 0), sixd.ScalarTypeError, "model is a str, expected a sixd"),
        (lambda m: sixd.constraint_forces(m, [0] * 3, [0] * 3), sixd.ShapeError, r"lam has shape \(3,\).*rows of the c"),
        (lambda m: sixd.compile(sixd.projections, m, frame="a"), sixd.UnknownNameError, "no argument named 'frame'"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call(sixd.zoo.four_bar())


def test_scalars_that_cannot_be_looked_at(rng):
    """Independent constraints need no comparison: any scalar with arithmetic will do."""
    model = constrained(sixd.zoo.four_bar(), sixd.Mimic("rocker", "crank", 0.3))
    q, qd, tau = rng.normal(size=(3, 3))
    expected = sixd.constrained_dynamics(model, q, qd, tau, stabilisation=2.0)
    got = sixd.constrained_dynamics(model, hide(q), hide(qd), hide(tau), stabilisation=2.0)
    for x, y in zip(got, expected, strict=True):
        close(reveal(x), y, tolerance=1e-9)
