"""Models in independent coordinates: every function agrees with the whole model at the lifted state."""

import dataclasses

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from samples import constrained
from sixd.spatial import cos, sin
from sixd.spatial.dual import derivative, duals, parts


def close(x, y, tolerance=1e-11):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


def tree():
    """A free base, a spherical joint and five others; three joints follow: one by two, one of those by a chain."""
    model = sixd.zoo.random_tree(5, kinds=("free", "spherical", "revolute", "prismatic", "universal", "revolute x"))
    kinds = {type(model.joints[i]).__name__: model.joint_names[i - 1] for i in model.bodies}
    hinge, slide, cardan = kinds["Revolute"], kinds["Prismatic"], kinds["Universal"]
    other = next(n for n in model.joint_names if type(model.joint(n).joint).__name__ == "Revolute" and n != hinge)
    return constrained(
        model,
        sixd.Coupling(cardan, (hinge, kinds["Spherical"]), lambda y: np.array([sin(y[0]) * y[2], y[0] * y[0] + y[3]])),
        sixd.Mimic(hinge, other, -1.5, 0.3),
        sixd.Mimic(slide, hinge, 0.4),
    )


MODELS = {
    "double elbow": sixd.zoo.double_elbow(),
    "cam": constrained(sixd.zoo.planar(2), sixd.Coupling("link2", "link1", lambda y: 2 * sin(y))),
    "tree": tree(),
}
# the tree by the plain algorithms alone: compiling every function for it takes half a minute
each_model = pytest.mark.parametrize(
    ("name", "target"),
    [(name, target) for name in MODELS for target in ("compiled", "plain") if name != "tree" or target == "plain"],
    indirect=["target"],
)


def sample(name, rng):
    model = MODELS[name]
    reduced = model.reduce()
    y = reduced.random_configuration(rng)
    yd, ydd = rng.normal(size=(2, reduced.nv))
    return model, reduced, y, yd, ydd, reduced.lift(y, yd, ydd)


@each_model
def test_lifted_states_satisfy_the_constraints(name, rng):
    """γ, G and its rate: φ, its rate and the rate of that vanish."""
    model, reduced, y, yd, _ydd, (q, qd, qdd) = sample(name, rng)
    close(sixd.constraint_error(model, q), np.zeros(model.nv - reduced.nv))
    A = sixd.constraint_jacobian(model, q)
    close(A @ qd, np.zeros(len(A)))
    bias = np.concatenate([c.bias(model, q, qd) for c in model.constraints])
    close(A @ qdd + bias, np.zeros(len(A)))
    close(qd, reduced.G(y) @ yd)
    # G is exactly the derivative of γ in the model's velocities
    _, rate = derivative(reduced.coordinates, y, reduced.configuration_rate(y, yd))
    close(rate.astype(float), model.configuration_rate(q, qd))
    assert reduced.nv == model.nv - len(A)


@each_model
def test_dynamics_agree_with_constrained_dynamics(name, rng):
    """ydd lifted is qdd under the constraints, whatever the joint forces; inverse dynamics inverts forward dynamics."""
    model, reduced, y, yd, _, (q, qd, _) = sample(name, rng)
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    ydd = sixd.forward_dynamics(reduced, y, yd, reduced.force(y, tau), f_ext=f_ext)
    qdd, _ = sixd.constrained_dynamics(model, q, qd, tau, f_ext=f_ext)
    close(reduced.lift(y, yd, ydd)[2], qdd, tolerance=1e-9)
    close(sixd.inverse_dynamics(reduced, y, yd, ydd, f_ext=f_ext), reduced.force(y, tau), tolerance=1e-9)
    M, h = sixd.mass_matrix(reduced, y), sixd.bias_force(reduced, y, yd, f_ext=f_ext)
    close(M @ ydd + h, reduced.force(y, tau), tolerance=1e-9)
    close(sixd.inverse_mass_matrix(reduced, y) @ M, np.eye(reduced.nv), tolerance=1e-9)
    close(sixd.mass_matrix_solve(reduced, y, yd), np.linalg.solve(M, yd), tolerance=1e-9)


@pytest.mark.long
@each_model
def test_kinematics_and_energy(name, rng):
    """Functions of the state are those of the lifted state, Jacobians are multiplied by G."""
    model, reduced, y, yd, ydd, (q, qd, qdd) = sample(name, rng)
    frame, G = model.body_names[-1], reduced.G(y)
    for f in (sixd.pose, sixd.center_of_mass, sixd.composite_inertia, sixd.body_poses):
        options = (frame,) if f is sixd.pose else ()
        close(f(reduced, y, *options), f(model, q, *options))
    for f in (sixd.energy, sixd.momentum):
        close(f(reduced, y, yd), f(model, q, qd))
    close(sixd.energy(reduced, y, yd)[0], yd @ sixd.mass_matrix(reduced, y) @ yd / 2)
    close(sixd.gravity_force(reduced, y), G.T @ sixd.gravity_force(model, q))
    close(sixd.centroidal_matrix(reduced, y), sixd.centroidal_matrix(model, q) @ G)
    for where in ("body", "aligned", "world"):
        J = sixd.jacobian(reduced, y, frame, expressed_in=where)
        close(J @ yd, sixd.velocity(model, q, qd, frame, expressed_in=where))
        rate = sixd.jacobian_rate(reduced, y, yd, frame, expressed_in=where)
        kind = "classical" if where == "aligned" else "spatial"
        acceleration = sixd.acceleration(reduced, y, yd, ydd, frame, expressed_in=where, kind=kind)
        close(J @ ydd + rate @ yd, acceleration)
        close(acceleration, sixd.acceleration(model, q, qd, qdd, frame, expressed_in=where, kind=kind))
        W = sixd.inverse_operational_inertia(reduced, y, frame, expressed_in=where)
        close(W, J @ np.linalg.solve(sixd.mass_matrix(reduced, y), J.T), tolerance=1e-9)
    force = rng.normal(size=6)
    close(sixd.external_force(reduced, y, frame, force), sixd.external_force(model, q, frame, force))


@each_model
def test_coriolis_matrix(name, rng):
    """C yd is the bias without gravity and passive forces, dM/dt = C + Cᵀ, and Γ contracts to C."""
    model = MODELS[name].without_passive()
    reduced = model.reduce()
    y, yd = reduced.random_configuration(rng), rng.normal(size=reduced.nv)
    C = sixd.coriolis_matrix(reduced, y, yd)
    close(C @ yd, sixd.bias_force(reduced, y, yd) - sixd.gravity_force(reduced, y), tolerance=1e-10)
    from sixd.algorithms.crba import crba

    moving = duals(y, reduced.configuration_rate(y, yd))
    close(C + C.T, parts(reduced.apply("mass_matrix", crba, moving))[1].astype(float), tolerance=1e-10)
    close(sixd.christoffel(reduced, y) @ yd, C, tolerance=1e-10)


@pytest.mark.parametrize("target", ["plain"], indirect=True)
def test_operational_inertia(rng):
    """Six degrees of freedom at the frame of a free base; otherwise an error says so."""
    model, reduced, y, *_ = sample("tree", rng)
    free = next(model.body_names[i - 1] for i in model.bodies if isinstance(model.joints[i], sixd.Free))
    inertia = sixd.operational_inertia(reduced, y, free)
    close(inertia @ sixd.inverse_operational_inertia(reduced, y, free), np.eye(6), tolerance=1e-9)
    with pytest.raises(sixd.SingularError, match="cannot move in all six directions"):
        sixd.operational_inertia(MODELS["cam"].reduce(), [0.3], "tip")


def test_manifold(rng):
    """integrate and difference are those of the independent joints."""
    reduced = MODELS["tree"].reduce()
    y, dy = reduced.random_configuration(rng), 0.3 * rng.normal(size=reduced.nv)
    close(reduced.difference(y, reduced.integrate(y, dy)), dy)
    assert reduced.integrate(np.stack([y, y]), dy).shape == (2, reduced.nq)
    close(reduced.neutral(), reduced.integrate(reduced.neutral(), np.zeros(reduced.nv)))


# tables --------------------------------------------------------------------------------------------


def test_cam_keeps_its_energy_balance():
    """planar(2) with q2 = 2 sin q1, τ = (1, 0) from rest: at any state on its way the power is q1's rate."""
    reduced = MODELS["cam"].reduce()
    y = np.array([0.7])
    speed = np.sqrt(2 * y[0] / sixd.mass_matrix(reduced, y)[0, 0])  # KE = q1, the case collection's law
    ydd = sixd.forward_dynamics(reduced, y, [speed], reduced.force(y, [1.0, 0.0]))
    from sixd.algorithms.momentum import energy

    state = duals(y, np.array([speed])), duals(np.array([speed]), ydd)
    kinetic = reduced.apply("energy", energy, *state)[0]
    close(kinetic.value, y[0])
    close(kinetic.derivative, speed)


def test_only_the_reduced_force_matters():
    reduced = sixd.zoo.double_elbow().reduce()
    close(reduced.force([0.2, 0.7], [1, 2, 3]), reduced.force([0.2, 0.7], [1, 5, 0]))


# implicit constraints stay -------------------------------------------------------------------------


def geared_bar():
    """A four-bar whose crank is driven through a gear by a motor's disc."""
    builder = sixd.ModelBuilder.from_model(sixd.zoo.four_bar())
    builder.add_body("motor", "world", sixd.Revolute("z"), inertia=sixd.cylinder(0.1, 0.1, mass=0.5))
    builder.add_constraint(sixd.Mimic("crank", "motor", 0.25))
    return builder.build()


def test_loops_are_carried_over(rng):
    """A loop in reduced coordinates: assembly, mobility and dynamics as in the whole model."""
    model = geared_bar()
    reduced = model.reduce()
    assert reduced.joint_names == ("coupler", "rocker", "motor")
    assert sixd.mobility(reduced).freedoms == sixd.mobility(model).freedoms == 1
    y, yd = sixd.assemble(reduced, [-0.5, 1.6, np.pi * 4 / 3], [0.3, 0.2, 0.1], fixed=["motor"])
    q, qd = reduced.lift(y, yd)
    close(sixd.constraint_error(model, q), np.zeros(3))
    close(sixd.constraint_jacobian(reduced, y), sixd.constraint_jacobian(model, q)[:2] @ reduced.G(y))
    close(sixd.constraint_velocity(reduced, y, yd), np.zeros(2))
    tau = rng.normal(size=4)
    ydd, lam = sixd.constrained_dynamics(reduced, y, yd, reduced.force(y, tau))
    qdd, multipliers = sixd.constrained_dynamics(model, q, qd, tau)
    close(reduced.lift(y, yd, ydd)[2], qdd, tolerance=1e-9)
    close(lam, multipliers[:2], tolerance=1e-9)
    close(sixd.projections(reduced, y)[0] @ yd, yd, tolerance=1e-9)
    close(sixd.constraint_forces(reduced, y, lam)[0], reduced.G(y).T @ sixd.constraint_forces(model, q, multipliers)[0])


def test_limits_of_followers_narrow():
    """Mimic joints pass their limits on, through chains and with negative multipliers."""
    builder = sixd.ModelBuilder("fingers")
    for name, limits in (("a", (-2, 2)), ("b", (-1, 0.5)), ("c", (0.0, 3.0))):
        builder.add_body(name, "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0), limits=limits)
    builder.add_constraint(sixd.Mimic("c", "b", -2.0, 1.0))  # b in [-1, 0.5]
    builder.add_constraint(sixd.Mimic("b", "a", 0.5, 0.0))  # a in [-2, 1]
    reduced = builder.build().reduce()
    close(reduced.lower, [-2.0])
    close(reduced.upper, [1.0])
    drawn = reduced.lift(np.array([reduced.random_configuration(k) for k in range(50)]))
    assert (drawn >= reduced.model.lower - 1e-12).all()
    assert (drawn <= reduced.model.upper + 1e-12).all()


# targets and scalars -------------------------------------------------------------------------------


def test_batches_kernels_and_parameters(rng, target):
    """It compiles like a model; the model's numbers can be inputs."""
    model, reduced, y, yd, ydd, _ = sample("double elbow", rng)
    expected = sixd.forward_dynamics(reduced, y, yd, ydd)
    close(sixd.compile(sixd.forward_dynamics, reduced)(y, yd, ydd), expected)
    batch = sixd.forward_dynamics(reduced, np.tile(y, (4, 1)), yd, ydd)
    close(batch, np.tile(expected, (4, 1)))
    inertia = np.array([model.body_inertia(b).parameters for b in model.body_names])
    kernel = sixd.compile(sixd.forward_dynamics, reduced, parameters=("inertia",))
    close(kernel(y, yd, 2 * ydd, 2 * inertia), expected)
    assert reduced.lift(np.tile(y, (4, 1)), yd)[1].shape == (4, 3)


def test_symbols():
    """A geared pair in letters: the reflected inertia."""
    n, I1, I2 = sp.symbols("n I1 I2", positive=True)
    builder = sixd.ModelBuilder("gear", (0, 0, 0))
    for name, moment in (("motor", I1), ("load", I2)):
        builder.add_body(name, "world", sixd.Revolute("z"), inertia=sixd.Inertia(0, (0, 0, 0), (0, 0, moment)))
    builder.add_constraint(sixd.Mimic("motor", "load", n))
    reduced = builder.build().reduce()
    y = np.array([sp.Symbol("y")])
    assert sp.simplify(sixd.mass_matrix(reduced, y)[0, 0] - (I2 + n**2 * I1)) == 0
    number = reduced.substitute({n: 3.0, I1: 2.0, I2: 1.0})
    close(sixd.mass_matrix(number, [0.2]), [[19.0]])
    kernel = sixd.compile(sixd.mass_matrix, reduced, parameters=("n", "I1", "I2"))
    close(kernel(np.array([0.2]), 3.0, 2.0, 1.0), [[19.0]])


def test_without_explicit_constraints_it_is_the_model():
    model = sixd.zoo.four_bar()
    assert model.reduce() is model
    elbow = sixd.zoo.double_elbow()
    assert elbow.reduce() is elbow.reduce()
    assert repr(elbow.reduce()) == "<Reduced 'double_elbow': nq = 2 of 3, nv = 2 of 3>"


# bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            [sixd.Coupling("link2", "link1", cos), sixd.Coupling("link1", "link2", sin)],
            r"reduce: Coupling\(link2, link1\), Coupling\(link1, link2\) of 'planar3' depend on each other in a circle",
        ),
        (
            [sixd.Coupling("link2", "link1", cos), sixd.Mimic("link2", "link3")],
            r"joint 'link2' of 'planar3' is made dependent twice, by Coupling\(link2, link1\) and Mimic\(link2, link3\)",
        ),
    ],
)
def test_circles_and_doubles(constraints, message):
    with pytest.raises(sixd.ModelError, match=message):
        constrained(sixd.zoo.planar(3), *constraints).reduce()


def test_parts_of_the_bias_force(rng):
    """Passive forces and those of f_ext are what they add to the bias force."""
    model = tree()
    none = dict.fromkeys(("damping", "friction", "stiffness"), np.zeros(model.nv))
    bare = dataclasses.replace(model, **none).reduce()
    reduced = model.reduce()
    y, yd, f = reduced.random_configuration(rng), rng.uniform(-1, 1, reduced.nv), rng.uniform(-1, 1, (model.nb, 6))
    bias = sixd.bias_force(bare, y, yd)
    close(reduced.passive_force_row(y, yd), sixd.bias_force(reduced, y, yd) - bias)
    close(reduced.joint_force_row(y, f), bias - sixd.bias_force(bare, y, yd, f_ext=f))


def test_functions_that_make_no_sense():
    reduced = sixd.zoo.double_elbow().reduce()
    zero = np.zeros(2)
    with pytest.raises(sixd.ScalarTypeError, match="hybrid_dynamics: model is a Reduced, expected a sixd.Model"):
        sixd.hybrid_dynamics(reduced, [], zero, zero, zero, zero)
    with pytest.raises(
        sixd.ModelError, match="'double_elbow' is in reduced coordinates, for which this function is not"
    ):
        reduced.apply("unheard_of", lambda system, q: q, zero)
    with pytest.raises(sixd.UnknownNameError, match="no independent joint named 'elbow2'. Did you mean 'elbow1'"):
        reduced.v_slice("elbow2")
    with pytest.raises(sixd.ShapeError, match=r"y has shape \(3,\)"):
        reduced.lift(np.zeros(3))
    with pytest.raises(sixd.ShapeError, match=r"q has shape \(3,\), expected \(..., 2\)"):
        sixd.mass_matrix(reduced, np.zeros(3))
