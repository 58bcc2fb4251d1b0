"""Force elements: the law of the ground, points on bodies, joint limits, springs; by closed forms and as compiled code."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import sympy

import samples
import sixd
from sixd.forces.ground import contact_law
from sixd.spatial import cos, sin

K, D = 1e6, 2000.0


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def applied(force, model):
    """tau, f_ext and du/dt of an element as compiled code."""

    def evaluate(q, qd, u):
        a = force.apply(model, 0.0, q, qd, u)
        return a.tau if a.f_ext is None else (a.f_ext, a.rate) if len(u) else a.f_ext

    return sixd.compile(evaluate, model, shapes={"u": (force.size(model),)})


def stepper(force, model, h):
    """One RK4 step of (q, qd, u) in compiled code; quaternions are normalised."""

    def rates(q, qd, u):
        a = force.apply(model, 0.0, q, qd, u)
        tau = np.zeros(model.nv, dtype=int) if a.tau is None else a.tau
        qdd = sixd.forward_dynamics(model, q, qd, tau, f_ext=a.f_ext)
        return model.configuration_rate(q, qd), qdd, a.rate

    def step(q, qd, u):
        x, total = (q, qd, u), (0, 0, 0)
        for k, weight in ((0.5, 1), (0.5, 2), (1, 2), (None, 1)):
            dx = rates(*x)
            total = tuple(a + b * weight for a, b in zip(total, dx, strict=True))
            if k:
                x = tuple(a + b * (h * k) for a, b in zip((q, qd, u), dx, strict=True))
        q, qd, u = (a + b * (h / 6) for a, b in zip((q, qd, u), total, strict=True))
        return model.integrate_row(q, np.zeros(model.nv, dtype=int)), qd, u

    return sixd.compile(step, model, shapes={"u": (force.size(model),)})


def run(force, model, q, qd, duration, h):
    step, x = stepper(force, model, h), (np.asarray(q, float), np.asarray(qd, float), force.start(model))
    for _ in range(round(duration / h)):
        x = step(*x)
    return x


def free_body(inertia, gravity=(0, 0, -9.81)):
    builder = sixd.ModelBuilder("body", gravity)
    builder.add_body("body", "world", sixd.Free(), inertia=inertia)
    return builder.build()


def everywhere(model, rng):
    """Points on every body of a model."""
    return {name: rng.normal(scale=0.3, size=(2, 3)) for name in model.body_names}


# the law ----------------------------------------------------------------------------------------


def law_by_cases(K, D, mu, z, zd, v, u):
    """The law as table C words it, case by case."""
    zr = np.sqrt(max(0.0, -z))
    fn = zr * (-K * z - D * zd)
    if not fn > 0:
        return 0.0, np.zeros(2), -(K / D) * u
    ft = -K * zr * u - D * zr * v
    if np.linalg.norm(ft) > mu * fn:
        ft = ft * (mu * fn / np.linalg.norm(ft))
    return fn, ft, -(ft + K * zr * u) / (D * zr)


@pytest.mark.parametrize(
    ("zd", "vx", "ux", "force", "rate"),
    [
        (-0.1, 0.002, 5e-5, (-1.70763, 37.947332), 0.002),
        (-0.1, 0.05, 2e-4, (-3.7947332, 37.947332), -0.04),
        (0.6, 0.002, 5e-5, (0, 0), -K / D * 5e-5),
    ],
)
def test_the_law_has_the_values_of_the_table(zd, vx, ux, force, rate):
    c = contact_law(K, D, 0.1, -1e-3, zd, np.array([vx, 0]), np.array([ux, 0]))
    close([c.tangential[0], c.normal], force, 1e-6)  # printed digits
    close(c.rate, [rate, 0])


def test_the_law_sticks_slips_and_lets_go_as_it_is_worded(rng):
    """On floats, one point or many, as compiled code, and where everything is zero: without warnings and NaN."""
    n = 2000
    z, zd = rng.normal(scale=1e-3, size=n), rng.normal(scale=0.5, size=n)
    v, u = rng.normal(scale=0.1, size=(2, n)), rng.normal(scale=2e-4, size=(2, n))
    z[:4] = zd[:2] = 0
    v[:, :3] = u[:, [0, 2]] = 0
    kernel = sixd.compile(
        lambda x: contact_law(K, D, 0.4, x[0], x[1], x[2:4], x[4:6]), sixd.zoo.planar(1), shapes={"x": (6,)}
    )
    compiled = kernel(np.vstack([z, zd, v, u]).T)
    with np.errstate(all="raise", under="ignore"):
        together = contact_law(K, D, 0.4, z, zd, v, u)
        for k in range(n):
            fn, ft, rate = law_by_cases(K, D, 0.4, z[k], zd[k], v[:, k], u[:, k])
            one = contact_law(K, D, 0.4, z[k], zd[k], v[:, k], u[:, k])
            # the two forms differ by rounding of K u + D v, some N, and of K/D u, some 0.1 m/s
            for got in (one, [x[..., k] for x in together], [x[k] for x in compiled]):
                close(got[0], fn)
                close(got[1], ft)
                close(got[2], rate)
    stick, slip = (together.demand <= together.limit) & (together.normal > 0), together.demand > together.limit
    assert min(stick.sum(), (slip & (together.normal > 0)).sum(), (together.normal == 0).sum()) > 50


def test_at_a_given_depth_the_law_never_gives_energy(rng):
    """The power of the ground plus the rate of the energy in its springs, at this depth, is at most zero."""
    for _ in range(500):
        z, zd = -abs(rng.normal(scale=1e-3)), rng.normal(scale=0.3)
        v, u = rng.normal(scale=0.1, size=2), rng.normal(scale=3e-4, size=2)
        c = contact_law(K, D, 0.5, z, zd, v, u)
        stored = K * np.sqrt(-z) * (u @ c.rate)
        assert c.tangential @ v + stored <= 1e-12
        assert c.normal >= 0
        assert np.linalg.norm(c.tangential) <= 0.5 * c.normal * (1 + 1e-15)
        # of ground that is not deformed, friction alone: its power is never positive
        assert contact_law(K, D, 0.5, z, zd, v, np.zeros(2)).tangential @ v <= 0


def test_the_law_holds_for_symbols_and_lets_nan_through():
    z, zd, x, y = sympy.symbols("z zd x y", real=True)
    c = contact_law(K, D, sympy.Rational(1, 10), z, zd, np.array([x, 0]), np.array([y, 0]))
    values = {z: -1e-3, zd: -0.1, x: 0.05, y: 2e-4}
    close(
        [float(e.subs(values)) for e in (c.tangential[0], c.normal, c.rate[0])], [-3.79473319, 37.9473319, -0.04], 1e-8
    )
    c = contact_law(K, D, 0.1, np.nan, 0.0, np.zeros(2), np.zeros(2))
    assert np.isnan(c.normal)
    assert np.isnan(c.tangential).all()
    assert np.isnan(c.rate).all()


# points on bodies -------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_ground_acts_on_points_of_every_joint_type(friction, rng):
    """Compiled code agrees with the plain element; the wrenches are those of the contact forces, in power too."""
    model = sixd.zoo.random_tree(1)
    ground = sixd.Ground(
        everywhere(model, rng), stiffness=2e3, damping=50, friction=friction, normal=(1, 2, 3), height=0.4
    )
    kernel, size = applied(ground, model), ground.size(model)
    assert size == (4 * model.nb if friction else 0)
    assert (ground.start(model) == np.zeros(size)).all()
    for q, qd, _ in samples.states(model, rng):
        u = rng.normal(scale=1e-2, size=size)
        got, wanted = kernel(q, qd, u), ground.apply(model, 0.0, q, qd, u)
        close(got[0] if friction else got, wanted.f_ext, 1e-11)  # forces of some 1e3 N
        if friction:
            close(got[1], wanted.rate)
        points, forces = ground.contacts(model, 0.0, q, qd, u)
        assert points.shape == forces.shape == (2 * model.nb, 3)
        normal = np.array([1, 2, 3]) / np.sqrt(14)
        above = points @ normal > 0.4
        assert not forces[above].any()
        assert forces[~above].any()
        close(wanted.f_ext[:, 3:], forces.reshape(model.nb, 2, 3).sum(axis=1))
        # power over the joints = power of the forces on their points
        h, at = 1e-6, []
        for s in (h, -h):
            moved = model.integrate(q, qd * s)
            at.append(ground.contacts(model, 0.0, moved, qd, u)[0])
        speed = (at[0] - at[1]) / (2 * h)
        passive = model.without_passive().with_gravity((0, 0, 0))
        zero = np.zeros(model.nv)
        tau = -sixd.inverse_dynamics(passive, q, zero, zero, f_ext=wanted.f_ext)
        close(tau @ qd, (forces * speed).sum(), 1e-6)  # central differences


def test_a_reduced_model_stands_on_the_ground_too(rng):
    model = sixd.zoo.double_elbow()
    reduced = model.reduce()
    ground = sixd.Ground({"lower": [(1, 0, 0), (0.5, 0.1, 0)]}, normal=(0, 1, 0), height=1.0)
    y, yd, u = np.array([0.1, 0.2]), np.array([1.0, -2.0]), rng.normal(scale=1e-4, size=4)
    got, wanted = ground.apply(reduced, 0.0, y, yd, u), ground.apply(model, 0.0, *reduced.lift(y, yd), u)
    close(got.f_ext, wanted.f_ext)
    assert got.f_ext[2].any()


def test_a_box_sinks_in_until_the_ground_carries_it():
    """fn = m g at depth (m g / (4 K))^(2/3); and there it comes to rest."""
    model = free_body(sixd.box(0.4, 0.3, 0.2, mass=3.0))
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    ground = sixd.Ground({"body": corners})
    depth = (3 * 9.81 / (4 * K)) ** (2 / 3)
    at_rest = np.array([1, 0, 0, 0, 0.3, -0.2, 0.1 - depth])
    f = ground.apply(model, 0.0, at_rest, np.zeros(6), ground.start(model))
    close(f.f_ext[0, 3:], [0, 0, 3 * 9.81])
    close(sixd.forward_dynamics(model, at_rest, np.zeros(6), np.zeros(6), f_ext=f.f_ext), np.zeros(6), 1e-10)
    q, qd, _ = run(ground, model, [1, 0, 0, 0, 0.3, -0.2, 0.101], np.zeros(6), 0.5, ground.time_step(0.75))
    close(q, at_rest, 1e-8)  # what is left of the swinging after 0.5 s
    close(qd, np.zeros(6), 1e-6)


def incline(angle, **options):
    """A block (sliding alone: its four points are at its centre's height) on an incline, x pointing down."""
    model = free_body(sixd.box(0.1, 0.1, 0.1, mass=2.0), (9.81 * np.sin(angle), 0, -9.81 * np.cos(angle)))
    points = [(x, y, 0) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    return model, sixd.Ground({"body": points}, **options)


def test_a_block_sticks_on_a_gentle_incline_and_slips_on_a_steep_one():
    angle, mu = 0.4, 0.3
    model, ground = incline(angle, friction=0.8)
    q, qd, u = run(ground, model, [1, 0, 0, 0, 0, 0, -1e-4], np.zeros(6), 1.0, 2e-4)
    close(qd, np.zeros(6), 1e-6)  # the swinging has died away
    force = ground.contacts(model, 0.0, q, qd, u)[1].sum(axis=0)
    close(force, -2.0 * model.gravity, 1e-4)
    assert 0 < q[4] < 1e-3  # it moved by the ground's own giving way

    model, ground = incline(angle, friction=mu)
    start = run(ground, model, [1, 0, 0, 0, 0, 0, -1e-4], np.zeros(6), 0.5, 2e-4)
    step = stepper(ground, model, 2e-4)
    x = start
    for _ in range(500):
        x = step(*x)
    close((x[1][3] - start[1][3]) / 0.1, 9.81 * (np.sin(angle) - mu * np.cos(angle)), 1e-5)  # g (sin a - mu cos a)


def test_a_sliding_ball_comes_to_roll_with_five_sevenths_of_its_speed():
    """Angular momentum about the contact is kept: v = 5/7 v0 for a homogeneous ball, whatever the friction."""
    radius = 0.1
    model = free_body(sixd.sphere(radius, mass=1.0))
    ground = sixd.Ground({"body": (0, 0, 0, radius)}, friction=0.3)
    depth = (9.81 / K) ** (2 / 3)
    q, qd, _ = run(ground, model, [1, 0, 0, 0, 0, 0, radius - depth], [0, 0, 0, 1.0, 0, 0], 0.3, 2e-4)
    R = sixd.spatial.quaternion_to_rotation(q[:4])
    velocity, spin = R @ qd[3:], R @ qd[:3]
    # what is left of the ground's tangential swinging after 0.3 s
    close(velocity, [5 / 7, 0, 0], 1e-8)
    close(spin, [0, velocity[0] / radius, 0], 1e-8)


def test_a_planar_mechanism_stands_on_y():
    """In the xy-plane the second tangent stays at zero, and the motion in the plane."""
    model = sixd.zoo.planar_body(mass=2.0, inertia=0.1)
    ground = sixd.Ground({"body": [(-0.2, -0.1, 0), (0.2, -0.1, 0)]}, normal=(0, 1, 0), friction=0.4)
    q, qd, u = run(ground, model, [0.3, 0.0, 0.3], [0, 0.5, 0], 1.5, 2e-4)
    assert not u.reshape(2, 2)[:, 1].any()
    close(q[[0, 2]], [0, 0.1 - (2 * 9.81 / (2 * K)) ** (2 / 3)], 1e-6)  # it lies flat, and sank in
    close(qd, np.zeros(3), 1e-5)
    # the same law under the original name
    x = np.array([0.1, 0.3, 0.0995]), np.array([0.2, 0.1, -0.3])
    points, forces = ground.contacts(model, 0.0, *x, np.zeros(4))
    v = sixd.velocity(model, *x, "body", expressed_in="aligned")
    speed = v[3:] + np.cross(v[:3], points - sixd.pose(model, x[0], "body")[:3, 3])
    f, _, _ = sixd.spatial_v2.gcontact(K, D, 0.4, points[:, :2].T, speed[:, :2].T, np.zeros((1, 2)))
    close(forces[:, :2], f.T)


@pytest.mark.parametrize(("heading", "rolls"), [(0.18, True), (0.22, False)])
def test_the_disc_rolls_on_or_falls_over(heading, rolls):
    """Table C's rolling disc: it depends on its heading, as the 16-gon touches down."""
    model = sixd.zoo.rolling_disc(16)
    points = [model.frames[f"contact{k}"].pose[:3, 3] for k in range(32)]
    ground = sixd.Ground({"disc": points}, stiffness=K, damping=D, friction=0.1)
    q = [np.cos(heading / 2), 0, 0, np.sin(heading / 2), 0, 0, 0.1]
    velocity = [0, 0, 0, 0.6 * np.cos(heading), -0.6 * np.sin(heading), 0]
    q, _, _ = run(ground, model, q, velocity, 1.5 if rolls else 1.2, 1e-4)
    axis = sixd.spatial.quaternion_to_rotation(q[:4])[:, 1]
    if rolls:
        assert abs(np.degrees(np.arcsin(axis[2]))) < 15
    else:
        assert np.degrees(np.arccos(abs(axis[2]))) < 1


@pytest.mark.parametrize(
    ("mass", "stiffness", "damping"), [(1.0, 1e6, 2000), (0.01, 1e6, 2000), (50.0, 1e5, 500), (1.0, 1e8, 1e5)]
)
def test_the_proposed_time_step_is_small_enough(mass, stiffness, damping):
    """The speed after an impact of 1 m/s agrees with that of steps a tenth as long."""
    model = free_body(sixd.sphere(0.1, mass=mass))
    ground = sixd.Ground({"body": (0, 0, 0, 0.1)}, stiffness=stiffness, damping=damping)
    h, start = ground.time_step(mass, speed=1.0), [1, 0, 0, 0, 0, 0, 0.1]
    contact = 3.3 * 10 * h  # some π √(m/k)
    speeds = [run(ground, model, start, [0, 0, 0, 0.3, 0, -1.0], contact, s)[1] for s in (h, h / 10)]
    close(speeds[0], speeds[1], 1.5e-2)  # what the rule promises


def test_points_from_shapes():
    builder = sixd.ModelBuilder("shapes")
    builder.add_body("a", "world", sixd.Free(), inertia=sixd.Inertia(1.0))
    builder.add_body("b", "a", sixd.Revolute("x"), inertia=sixd.Inertia(1.0), placement=sixd.placement((1, 0, 0)))
    builder.add_visual("a", sixd.Shape("box", (2.0, 4.0, 6.0)), sixd.placement((0, 0, 1)))
    builder.add_visual("b", sixd.Shape("sphere", (0.5,)))
    builder.add_visual("b", sixd.Shape("cylinder", (0.3, 1.0)))
    builder.add_visual("b", sixd.Shape("capsule", (0.1, 2.0)))
    builder.add_visual("b", sixd.Shape("ellipsoid", (1.0, 2.0, 3.0)))
    model = builder.build()
    ground = sixd.Ground.of(model, rim=5, friction=0.2)
    assert ground.friction == 0.2
    assert {name: len(x) for name, x in ground.points.items()} == {"joint:a": 8, "joint:b": 1 + 10 + 2 + 6}
    assert sorted(map(tuple, np.abs(ground.points["joint:a"]).tolist())) == [(1, 2, 2, 0)] * 4 + [(1, 2, 4, 0)] * 4
    assert [0, 0, 0, 0.5] in ground.points["joint:b"].tolist()
    assert sixd.Ground().size(model) == 2 * (8 + 1 + 16 + 2 + 6)
    # a ball touches with its lowest point
    points, forces = sixd.Ground({"b": (0, 0, 0, 0.5)}).contacts(
        model, 0.0, [1, 0, 0, 0, 0, 0, 0.4, 0.7], np.zeros(7), [0, 0]
    )
    close(points, [[1, 0, -0.1]])
    close(forces, [[0, 0, K * 0.1**1.5]])


def test_ground_is_a_record_that_can_be_pickled(rng):
    model = sixd.zoo.random_tree(1)
    ground = sixd.Ground(everywhere(model, rng), normal=(0, 0, 2), height=0.3)
    assert ground.normal == (0, 0, 1)
    again = pickle.loads(pickle.dumps(ground))
    q, qd, u = model.random_configuration(rng), np.ones(model.nv), np.zeros(ground.size(model))
    assert (again.apply(model, 0.0, q, qd, u).f_ext == ground.apply(model, 0.0, q, qd, u).f_ext).all()
    with pytest.raises(AttributeError):
        ground.height = 1.0
    with pytest.raises(ValueError, match="read-only"):
        ground.points["body1"][0, 0] = 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stiffness": -1}, r"Ground: stiffness is -1, expected at least 0 \[N/m\^1\.5\]"),
        ({"stiffness": 0}, "Ground: stiffness is 0, expected a positive number"),
        ({"damping": 0}, "Ground: damping is 0, expected a positive number with friction"),
        ({"friction": np.nan}, "Ground: friction is nan, expected a finite number"),
        ({"friction": "much"}, "Ground: friction is 'much', expected a finite number"),
        ({"height": np.inf}, r"Ground: height is inf, expected a finite number \[m\]"),
        ({"normal": (0, 0, 0)}, "Ground: normal is .* expected a non-zero finite 3-vector"),
        ({"normal": (0, 1)}, r"Ground: normal has shape \(2,\), expected \(3,\)\."),
        ({"points": [(0, 0, 0)]}, "Ground: points is a list, expected {frame: points"),
        ({"points": {}}, "Ground: points is empty"),
        ({"points": {"body": (0, 0)}}, r"Ground: points of 'body' have shape \(2,\), expected \(k, 3\)"),
        ({"points": {"body": (0, 0, np.nan)}}, "Ground: points of 'body' are .* expected finite numbers"),
        ({"points": {"body": (0, 0, 0, -1)}}, "Ground: points of 'body' are .* radii at least 0"),
    ],
)
def test_errors_of_ground(options, message):
    with pytest.raises(sixd.SixdError, match=message):
        sixd.Ground(**{"points": {"body": (0, 0, 0)}, **options})


def test_errors_of_ground_and_model():
    model = sixd.zoo.planar(2)
    with pytest.raises(sixd.UnknownNameError, match="Ground: model 'planar2': no frame named 'link3'. Did you mean"):
        sixd.Ground({"link3": (0, 0, 0)}).size(model)
    with pytest.raises(
        sixd.ModelError, match="Ground: frame 'world' is fixed in the world, expected one of a moving body"
    ):
        sixd.Ground({"world": (0, 0, 0)}).size(model)
    with pytest.raises(sixd.ModelError, match="has no boxes, cylinders, spheres or capsules .* Give points"):
        sixd.Ground().size(model)
    with pytest.raises(sixd.ModelError, match="Ground: rim is 2, expected a whole number of at least 3"):
        sixd.Ground.of(model, rim=2)
    x = sympy.Symbol("x")
    v = sympy.Symbol("v")
    with pytest.raises(sixd.ModelError, match="is a system without bodies and joints, expected a sixd.Model"):
        sixd.Ground({"a": (0, 0, 0)}).size(sixd.lagrange(v**2 / 2, x**2, [x], qd=[v]))
    ground = sixd.Ground({"a": (0, 0, 0)})
    for options, message in (
        ({"mass": 0}, "time_step: mass is 0, expected the mass"),
        ({"mass": 1, "gravity": 0}, "gravity and speed are 0, expected one of them"),
        ({"mass": -1}, r"time_step: mass is -1, expected at least 0 \[kg\]"),
        ({"mass": 1, "speed": np.nan}, "time_step: speed is nan"),
    ):
        with pytest.raises(sixd.ModelError, match=message):
            ground.time_step(**options)


# joint limits -----------------------------------------------------------------------------------


def slider(**options):
    builder = sixd.ModelBuilder("slider", (0, 0, 0))
    builder.add_body("cart", "world", sixd.Prismatic("x"), inertia=sixd.Inertia(2.0), limits=(-1.0, 0.5), **options)
    return builder.build()


def test_a_cart_meets_its_limit():
    """By default a critically damped spring of 100/s: it goes v/(100 e) beyond, and is never held back."""
    model, limits = slider(), sixd.JointLimits()
    step = stepper(limits, model, 1e-4)
    # just beyond the limit: a step across it is exact to first order only
    x, depth = (np.array([0.5 + 1e-12]), np.array([0.8]), np.zeros(0)), 0.0
    for _ in range(400):
        x = step(*x)
        depth = max(depth, x[0][0] - 0.5)
    close(depth, 0.8 / (100 * np.e), 1e-6)  # steps of 1e-4 s see the peak this closely
    # on the way back the force k d - c v ends where it would pull, at d = 2 v/ω: with d = v t exp(-ω t) at ω t = 2
    at_release = 0.8 * (1 - 2) * np.exp(-2)
    for _ in range(400):
        x = step(*x)
    close(x[1], [at_release], 1e-6)


def test_limits_push_and_never_pull(rng):
    """Springs of your own, both sides; zero within, and where the joint leaves fast."""
    limits, model = sixd.JointLimits(300.0, 20.0), slider()
    for q, qd, tau in (
        (0.2, 5.0, 0.0), (0.6, 0.0, -30.0), (0.6, 1.0, -50.0), (0.6, -2.0, 0.0), (0.6, -1.0, -10.0),
        (-1.1, 0.0, 30.0), (-1.1, -1.0, 50.0), (-1.1, 2.0, 0.0), (0.5, 1.0, 0.0),
    ):  # fmt: skip
        close(limits.apply(model, 0.0, [q], [qd], []).tau, [tau], 1e-12)


def test_limits_of_every_joint_type(rng):
    """All joints of as many coordinates as DoF; compiled code agrees, and so does a kernel with other inertias."""
    builder = sixd.ModelBuilder("joints")
    kinds = (sixd.Free(), sixd.Revolute("x"), sixd.Universal(), sixd.Spherical(), sixd.Planar(), sixd.Prismatic("y"))
    for k, joint in enumerate(kinds):
        limits = (np.full(joint.nq, -0.1), np.r_[np.full(joint.nq - 1, 0.1), np.inf])
        body = sixd.Inertia(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, inertia=body, limits=limits)
    model, force = builder.build(), sixd.JointLimits()
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    plain = np.setdiff1d(np.arange(7, model.nq), np.r_[model.q_slice("b3")])  # not a quaternion
    q[plain] += np.where(rng.uniform(size=len(plain)) < 0.5, 0.2, -0.3)
    tau = force.apply(model, 0.0, q, qd, np.zeros(0)).tau
    close(applied(force, model)(q, qd, np.zeros(0)), tau, 1e-9)  # of some 1e3 N
    curved = np.r_[model.v_slice("b0"), model.v_slice("b3")]
    assert not tau[curved].any()
    assert tau[6:].any()

    def evaluate(model, q, qd):
        return force.apply(model, 0.0, q, qd, np.zeros(0)).tau

    kernel = sixd.compile(evaluate, model, parameters=("inertia",))
    inertia = np.array([model.body_inertia(name).parameters for name in model.body_names])
    close(kernel(q, qd, inertia), tau, 1e-9)
    close(kernel(q, qd * 0, inertia * 2), 2 * force.apply(model, 0.0, q, qd * 0, np.zeros(0)).tau, 1e-9)


def test_limits_of_a_reduced_model():
    builder = sixd.ModelBuilder("gear", (0, 0, 0))
    rod = sixd.rod(1.0, mass=1.0, axis="x").translated((0.5, 0, 0))
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=rod, limits=(-1, 1))
    builder.add_body("b", "a", sixd.Revolute("z"), inertia=rod, placement=sixd.placement((1, 0, 0)))
    builder.add_constraint(sixd.Mimic("b", "a", 2.0))
    reduced = builder.build().reduce()
    close(sixd.JointLimits(100.0, 0.0).apply(reduced, 0.0, [1.1], [0.0], []).tau, [-10.0])
    inertia = sixd.mass_matrix(reduced, [0.0])[0, 0]
    close(sixd.JointLimits().apply(reduced, 0.0, [1.1], [0.0], []).tau, [-0.1 * inertia * 1e4], 1e-10)


def test_errors_of_limits():
    for options, message in (
        ({"stiffness": -1.0}, r"JointLimits: stiffness is -1\.0, expected a finite number of at least 0"),
        ({"damping": [1.0, np.nan]}, "JointLimits: damping is .* expected a finite number"),
        ({"damping": "no"}, "JointLimits: damping is 'no', expected numbers"),
    ):
        with pytest.raises(sixd.SixdError, match=message):
            sixd.JointLimits(**options)
    with pytest.raises(sixd.ModelError, match=r"JointLimits: stiffness has shape \(2,\), expected a number or \(1,\)"):
        sixd.JointLimits([1.0, 2.0]).size(slider())
    assert pickle.loads(pickle.dumps(sixd.JointLimits(3.0))).stiffness == 3.0


# springs, and elements of one's own -------------------------------------------------------------


def test_a_spring_takes_what_its_energy_loses(rng):
    """Power = -d/dt ½ k (r - l)² - c ṙ², between bodies and against the world, in compiled code too."""
    model = sixd.zoo.random_tree(2)
    bare = model.without_passive().with_gravity((0, 0, 0))
    a, b = model.body_names[1], model.body_names[-1]
    for ends in ((a, b), ("world", b), (b, "world")):
        spring = sixd.SpringDamper(*ends, 40.0, 3.0, 0.2, point_a=(0.1, 0.2, 0.3), point_b=(0, -0.1, 0.2))
        kernel = applied(spring, model)

        def length(q, spring=spring):
            (a, b), _ = spring.contacts(model, 0.0, q, np.zeros(model.nv), np.zeros(0))
            return np.linalg.norm(b - a)

        for q, qd, _ in samples.states(model, rng, 2):
            f_ext = spring.apply(model, 0.0, q, qd, np.zeros(0)).f_ext
            close(kernel(q, qd, np.zeros(0)), f_ext)
            tau = -sixd.inverse_dynamics(bare, q, np.zeros(model.nv), np.zeros(model.nv), f_ext=f_ext)
            r, h = length(q), 1e-6
            rate = (length(model.integrate(q, qd * h)) - length(model.integrate(q, -qd * h))) / (2 * h)
            close(tau @ qd, -(40 * (r - 0.2) + 3 * rate) * rate, 1e-6)  # central differences


def test_a_spring_without_length_has_no_bad_place():
    model = free_body(sixd.Inertia(1.0), (0, 0, 0))
    spring = sixd.SpringDamper("world", "body", 5.0, 1.0)
    at, rest = np.array([1.0, 0, 0, 0, 0, 0, 0]), np.zeros(6)
    assert not applied(spring, model)(at, rest, np.zeros(0)).any()
    at[5] = 2
    close(spring.apply(model, 0.0, at, rest, []).f_ext[0, 3:], [0, -10, 0])


def test_errors_of_springs():
    with pytest.raises(sixd.ModelError, match=r"SpringDamper: damping is -1, expected at least 0 \[N s/m\]"):
        sixd.SpringDamper("a", "b", 1.0, -1)
    with pytest.raises(sixd.ShapeError, match=r"SpringDamper: point_a has shape \(2,\), expected \(3,\)\."):
        sixd.SpringDamper("a", "b", 1.0, point_a=(0, 0))
    model = sixd.zoo.planar(2)
    with pytest.raises(sixd.UnknownNameError, match="SpringDamper: model 'planar2': no frame named 'a'"):
        sixd.SpringDamper("a", "tip", 1.0).size(model)
    with pytest.raises(sixd.ModelError, match="frames 'tip' and 'link2' are fixed in one body, expected two"):
        sixd.SpringDamper("tip", "link2", 1.0).size(model)


@dataclass(frozen=True)
class Drag(sixd.Force):
    """The example of ``sixd.Force``: a drag at the origin of a frame, here with a wind that varies."""

    frame: str
    coefficient: float

    def apply(self, model, t, q, qd, u):
        wind = np.array([sin(t), cos(t), 0])
        v = sixd.velocity(model, q, qd, self.frame, expressed_in="aligned")
        f = (v[3:] - wind) * -self.coefficient
        return sixd.Applied(f_ext=sixd.external_force(model, q, self.frame, f, expressed_in="aligned"))


def test_an_element_of_ones_own(rng):
    model, drag = sixd.zoo.random_tree(0), Drag("frame3", 0.7)
    kernel = sixd.compile(lambda t, q, qd: drag.apply(model, t, q, qd, np.zeros(0)).f_ext, model, shapes={"t": ()})
    q, qd = model.random_configuration(rng), rng.normal(size=model.nv)
    close(kernel(0.4, q, qd), drag.apply(model, 0.4, q, qd, np.zeros(0)).f_ext)
    assert drag.size(model) == 0
    assert drag.start(model).shape == (0,)


class Push(sixd.Force):
    """An element that returns its force as it is."""

    def apply(self, model, t, q, qd, u):
        return np.ones(model.nv)


def test_an_element_must_say_what_it_applies():
    with pytest.raises(sixd.ScalarTypeError, match=r"simulate: Push.apply gives array.* expected a sixd.Applied\("):
        sixd.simulate(sixd.zoo.pendulum(), None, None, 0.01, forces=Push())
