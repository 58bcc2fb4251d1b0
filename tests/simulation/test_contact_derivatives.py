"""Derivatives through rigid contact: of the problems of impulses and heights, compared with differences of a step.

A step has kinks: a point that is more than 1e-7 m above the ground is not held, and one that is faster than 1e-6 m/s
slides. Differences stay between kinks, and problems are solved more exactly for them than in a simulation.
"""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nonsmooth
import robots
import sixd
from sixd.simulation.gradients.adjoint_steps import forward_step
from sixd.simulation.nonsmooth.contact import displacement, solver
from sixd.simulation.setup import make_setup
from sixd.trace.recipe import Repeated

H, G = 1e-3, nonsmooth.G
BY_Q, BY_QD, BY_TAU = 4e-8, 1e-7, 1e-4  # of differences
CLOSE = 1e-3  # of differences: problems have an error of 1e-11 m/s (also of 1e-10 rad/s), divided by the step
GO2 = robots.ROBOTS / "go2_description/urdf/go2.urdf"


@pytest.fixture
def exact(monkeypatch):
    """Problems are solved to rounding errors; energy that a step gains by such errors is not taken away."""
    monkeypatch.setattr(displacement, "_NOTHING", np.inf)
    monkeypatch.setattr(displacement, "_LIFTED", np.inf)
    monkeypatch.setattr(displacement, "_OFF", {"float64": 1e-15})
    monkeypatch.setattr(solver, "_TOLERANCES", {"float64": (1e-12, 1e-12)})


def differences(model, q, qd, tau=None, **options):
    """(2 nv, 2 nv), with tau (2 nv, 3 nv): the derivatives of the state after a step with respect to q, qd and tau."""
    nv = model.nv

    def after(x):
        controller = {} if tau is None else {"controller": tau + x[2 * nv :]}
        return sixd.step(model, model.integrate(q, x[:nv]), qd + x[nv : 2 * nv], H, **controller, **options)

    n = 2 * nv if tau is None else 3 * nv
    middle = after(np.zeros(n))[0]
    columns = []
    for j, unit in enumerate(np.eye(n)):
        e = BY_Q if j < nv else BY_QD if j < 2 * nv else BY_TAU
        (q1, v1), (q0, v0) = after(e * unit), after(-e * unit)
        columns.append(np.concatenate([model.difference(middle, q1) - model.difference(middle, q0), v1 - v0]) / (2 * e))
    return np.array(columns).T


def require_derivatives(model, q, qd, steps, **options):
    """The matrices of a step after some others agree with differences."""
    before = sixd.simulate(model, q, qd, steps * H, dt=H, **options)
    q, qd = before.q[-1], before.qd[-1]
    A = sixd.step_derivatives(model, q, qd, H, **options).A[: 2 * model.nv, : 2 * model.nv]
    wanted = differences(model, q, qd, **options)
    assert_allclose(A, wanted, rtol=0, atol=CLOSE * max(1, np.abs(wanted).max()))
    return A


def sphere():
    ball = nonsmooth.free_body(sixd.sphere(0.1, mass=1.0), "ball")
    return ball, sixd.RigidGround({"ball": (0, 0, 0, 0.1)}, friction=0.3), [1, 0, 0, 0, 0, 0, 0.1]


def box(friction=0.5):
    model, corners, q = nonsmooth.lying_box()
    return model, sixd.RigidGround({"box": corners}, friction=friction), q


@pytest.mark.long
def test_a_sphere_slides(exact):
    """Its friction rotates with its velocity."""
    model, ground, q = sphere()
    A = require_derivatives(model, q, [0, 0, 0, 1.0, 0.2, 0], 5, forces=ground)
    v = np.array([1.0, 0.2])
    across = np.array([-v[1], v[0]]) / np.linalg.norm(v)
    block = A[9:11, 9:11]
    braked = 0.3 * G * H / np.linalg.norm(v)
    assert across @ block @ across == pytest.approx(1 - braked, rel=0.02)  # friction has slowed the sphere for 5 steps


@pytest.mark.long
def test_a_sphere_rolls(exact):
    model, ground, q = sphere()
    require_derivatives(model, q, [0, 0, 0, 1.0, 0.2, 0], 400, forces=ground)


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "implicit", "euler", "midpoint"])
def test_a_box_slides(exact, method):
    model, ground, q = box()
    require_derivatives(model, q, [0, 0, 0, 1.0, 0.1, 0], 3, forces=ground, method=method)


@pytest.mark.long
def test_a_box_rests(exact):
    model, ground, q = box()
    A = require_derivatives(model, q, np.zeros(6), 3, forces=ground)
    assert_allclose(
        A[6:, 6:], 0, atol=1e-6
    )  # it stops whatever its velocity was; of 1e-8, the softness of the contact laws


@pytest.mark.long
def test_a_ball_bounces(exact):
    model, _, q = sphere()
    ground = sixd.RigidGround({"ball": (0, 0, 0, 0.1)}, friction=0.3, restitution=0.5)
    fast = [0, 0, 0, 0.3, 0, -1.0]
    require_derivatives(model, [*q[:6], 0.1005], fast, 0, forces=ground)


def cart(friction):
    """A lift on a cart that slides with friction, with a point mass on an arm."""
    builder = sixd.ModelBuilder("cart")
    builder.add_body("cart", "world", sixd.Prismatic("x"), inertia=sixd.point(1.0), friction=0.2)
    builder.add_body("lift", "cart", sixd.Prismatic("z"), inertia=sixd.point(1.0), limits=(-0.1, 1.0))
    builder.add_body("arm", "lift", sixd.Revolute("y"), inertia=sixd.point(1.0, (0.3, 0, 0)), friction=friction)
    return builder.build()


@pytest.mark.long
def test_joints_with_friction_and_limits_and_the_ground(exact):
    """The mass is dragged over the ground; then the mass hits the ground within the step, and the lift nearly its limit.

    A joint that rests, or leans on a limit, is at a kink.
    """
    point = {"arm": (0.3, 0, 0, 0.1)}
    forces = [sixd.RigidGround(point, friction=0.4, height=-0.1), sixd.RigidLimits()]
    require_derivatives(cart(0.1), [0.0, 0.0, 0.0], [0.5, 0.0, 0.0], 3, forces=forces)
    forces = [sixd.RigidGround(point, friction=0.4, height=-0.1999), sixd.RigidLimits()]
    require_derivatives(cart(0.0), [0.0, -0.0995, 0.0], [0.5, -1.0, 0.0], 0, forces=forces)


@pytest.mark.long
def test_many_points(exact):
    """Twelve points on two bodies, two on each of which touch the ground: one force more than velocities. With friction
    the motion would depend on how the weight is shared, which is not determined."""
    feet = np.array([(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.02, 0.0, 0.02)])
    builder = sixd.ModelBuilder("sledge")
    builder.add_body("sledge", "world", sixd.Free(), inertia=sixd.box(0.2, 0.2, 0.1, mass=2.0))
    for name, y in (("left", 0.1), ("right", -0.1)):
        builder.add_body(
            name, "sledge", sixd.Revolute("x"), placement=sixd.placement([0, y, 0]),
            inertia=sixd.box(0.2, 0.04, 0.05, mass=0.5),
        )  # fmt: skip
    tilt, legs = 0.2, np.arange(8) > 5
    q = np.array([1.0, 0, 0, 0, 0, 0, 0, tilt, -tilt])
    model = dataclasses.replace(builder.build(), stiffness=20.0 * legs, damping=0.1 * legs, rest=q.copy())
    low = min(sixd.pose(model, q, "left")[:3, :3][2] @ foot + sixd.pose(model, q, "left")[2, 3] for foot in feet)
    q[6] -= low
    ground = sixd.RigidGround({"left": feet, "right": feet}, friction=0.0)
    motion = sixd.simulate(model, q, [0, 0, 0, 0.3, 0, 0, 0, 0], 0.01, forces=ground)
    touching = (motion.contacts()[0][2][-1, :, 2] > 0).sum()
    assert touching == 4
    require_derivatives(model, q, [0, 0, 0, 0.3, 0, 0, 0, 0], 10, forces=ground)


@pytest.mark.long
def test_a_go2_stands(exact):
    model = robots.quiet_load(GO2, floating_base=True)
    q = nonsmooth.go2_stance(model)
    legs = np.arange(model.nv) >= 6
    model = dataclasses.replace(model, rest=q.copy(), stiffness=60.0 * legs, damping=2.0 * legs)
    ground = sixd.RigidGround(nonsmooth.go2_feet(), friction=0.8)
    require_derivatives(model, q, np.zeros(model.nv), 50, forces=ground)


@pytest.mark.long
@pytest.mark.parametrize("method", ["rk4", "euler", "implicit", "midpoint"])
def test_an_anymal_stands(exact, method):
    """All columns of A and B, to 2e-6 of the largest entry: differences by q have an error of 1e-11 m / 4e-8."""
    model = robots.quiet_load(robots.FIVE["anymal"], floating_base=True)
    q, feet = model.neutral(), {f"{leg}_FOOT": (0, 0, 0, 0.02) for leg in ("LF", "LH", "RF", "RH")}
    for leg, side in (("LF", 1), ("LH", -1), ("RF", 1), ("RH", -1)):
        q[model.q_slice(f"{leg}_HFE")], q[model.q_slice(f"{leg}_KFE")] = 0.4 * side, -0.8 * side
    q[6] += 0.02 - min(sixd.pose(model, q, foot)[2, 3] for foot in feet)
    legs = np.arange(model.nv) >= 6
    model = dataclasses.replace(model, rest=q.copy(), stiffness=200.0 * legs, damping=5.0 * legs)
    options = {"forces": sixd.RigidGround(feet, friction=0.8), "method": method}
    rng = np.random.default_rng(1)
    motion = sixd.simulate(model, q, 0.05 * rng.normal(size=model.nv), 60 * H, dt=H, **options)
    q, qd, tau, nv = motion.q[-1], motion.qd[-1], rng.normal(size=model.nv), model.nv
    A, B = sixd.step_derivatives(model, q, qd, H, tau=tau, **options)
    found = np.concatenate([A[: 2 * nv, : 2 * nv], B[: 2 * nv]], axis=1)
    wanted = differences(model, q, qd, tau=tau, **options)
    assert_allclose(found, wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())


def require_smooth(recipe, works, memory):
    """Compare the smooth functions of loops with the loops' results, along the first iteration of other loops; return
    their number."""
    seen = 0
    for work in works:
        if isinstance(work, Repeated) and work.smooth is None:
            memory.update({name: memory[start] for name, start in zip(work.outputs, work.inputs, strict=True)})
            seen += require_smooth(recipe, work.works, memory)
            memory.update({name: memory[result] for name, result in zip(work.outputs, work.results, strict=True)})
            continue
        recipe.run([work], memory)
        if isinstance(work, Repeated):
            inputs = [memory[name].reshape(recipe.memory[name]) for name in (*work.outputs, *work.reads)]
            seen += 1
            for ours, name in zip(work.smooth().evaluate(*inputs), work.outputs, strict=True):
                expected = memory[name].reshape(recipe.memory[name])
                assert_allclose(ours, expected, rtol=0, atol=1e-9)  # impulses [N s] are solved to 1e-10 m/s
    return seen


def test_derivatives_are_functions_with_the_same_values():
    """With the results of a repeated call as input, its smooth function returns them."""
    for model, ground, q in (sphere(), box()):
        for qd in ([0, 0, 0, 1.0, 0.2, 0], [0.1, 0.2, 0, 0, 0, -0.5]):
            setup = make_setup("step", sixd.Scenario(model, controller=np.zeros(6), forces=ground), q, qd)
            recipe = forward_step(setup.problem, "rk4", "float64", None)
            given = {"q": setup.q[0], "qd": setup.qd[0], "h": H}
            memory = {name: np.ravel(given.get(name, np.zeros(recipe.memory[name]))) for name in recipe.inputs}
            seen = require_smooth(recipe, recipe.works, memory)
            assert seen >= 3


@pytest.mark.long
def test_where_a_box_comes_to_rest():
    """The derivative of its path v²/(2 μ g) with respect to v, through 220 steps."""
    model, ground, q = box()
    v = 1.0
    found = sixd.rollout_gradient(
        model, q, [0, 0, 0, v, 0, 0], np.zeros((220, 6)), dt=H, final=lambda q, qd: q[4], forces=ground
    )
    assert found.cost == pytest.approx(v * v / (2 * 0.5 * G), abs=1e-6)
    # it stops within the last step, so the path has an error of a h²/8, and its derivative one of h
    assert found.qd[3] == pytest.approx(v / (0.5 * G), rel=5 * H)
