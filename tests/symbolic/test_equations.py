"""Closed-form equations of models: against the algorithms on floats, for the zoo and for every joint type."""

import dataclasses
import pickle

import numpy as np
import pytest
import sympy as sp

import sixd
from robots import FIVE, quiet_load
from samples import KINDS, single_joint, states
from sixd.symbolic.ring.normal_form import canonical

SMALL = [name for name in sixd.zoo.names() if sixd.zoo.get(name).nv <= 7 and name != "panda_arm"]


def close(a, b, scale=None):
    """Relative to the largest entry: 1e-12 is asked."""
    size = max(1.0, np.abs(b).max(initial=0.0)) if scale is None else scale
    np.testing.assert_allclose(a / size, b / size, rtol=0, atol=1e-12)


def agree(equations, rng, count=3):
    """Every function on the closed form, compiled, equals the same on its model."""
    model = equations.model
    q, qd, qdd = (np.array(x) for x in zip(*states(model, rng, count), strict=True))
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    close(sixd.mass_matrix(equations, q), sixd.mass_matrix(model, q))
    close(sixd.inverse_dynamics(equations, q, qd, qdd), tau)
    close(sixd.bias_force(equations, q, qd), sixd.bias_force(model, q, qd))
    close(sixd.gravity_force(equations, q), sixd.gravity_force(model, q))
    close(sixd.coriolis_matrix(equations, q, qd), sixd.coriolis_matrix(model, q, qd))
    close(sixd.christoffel(equations, q), sixd.christoffel(model, q))
    for ours, theirs in zip(sixd.energy(equations, q, qd), sixd.energy(model, q, qd), strict=True):
        close(ours, theirs)
    frame = model.frame_names[-1]
    state = dict(zip(equations.q, q[0], strict=True))
    close(np.array(equations.pose(frame).xreplace(state), dtype=float), sixd.pose(model, q[0], frame))
    close(np.array(equations.jacobian(frame).xreplace(state), dtype=float), sixd.jacobian(model, q[0], frame))


@pytest.mark.parametrize(
    "name", [n if sixd.zoo.get(n).nv <= 2 else pytest.param(n, marks=pytest.mark.long) for n in SMALL]
)
def test_zoo(name, rng):
    agree(sixd.equations(sixd.zoo.get(name)), rng)


@pytest.mark.parametrize(
    "kind",
    [k if k in ("helical", "universal", "spherical") else pytest.param(k, marks=pytest.mark.long) for k in KINDS],
)
def test_every_joint_type(kind, rng):
    agree(sixd.equations(single_joint(kind)), rng)


@pytest.mark.parametrize("name", ["puma560", pytest.param("ur5", marks=pytest.mark.long)])
def test_six_axes(name, rng):
    model = sixd.zoo.puma560() if name == "puma560" else quiet_load(FIVE[name])
    equations = sixd.equations(model)
    agree(equations, rng, 4)
    # snapping moves angles by 5e-12, and so the forces by as much
    q, qd, qdd = next(states(model, rng))
    tau = sixd.inverse_dynamics(model, q, qd, qdd)
    np.testing.assert_allclose(sixd.inverse_dynamics(equations, q, qd, qdd), tau, rtol=0, atol=1e-9)


def test_laws_in_closed_form():
    """Ṁ - 2C is skew and C q̇ is what the bias has beyond gravity: exactly, for a spatial arm and a ball joint."""
    for model in (sixd.zoo.craig_arm(), sixd.zoo.spinning_top(), single_joint("spherical", passive=False)):
        e = sixd.equations(model)
        ring, M, C = e.ring, e.polys["M"], e.form.coriolis
        if e.nq == e.nv:
            rate = [[sum(M[i, j].diff(x) * ring.convert(v) for x, v in zip(e.q, e.qd, strict=True)) for j in range(e.nv)] for i in range(e.nv)]  # fmt: skip
            assert all((rate[i][j] - C[i, j] - C[j, i]).is_zero for i in range(e.nv) for j in range(e.nv))
        assert all((M[i, j] - M[j, i]).is_zero for i in range(e.nv) for j in range(e.nv))


def symbolic_inertia(model):
    """The model with ten symbols for the inertia of each body."""
    bodies = [model.inertia[0]]
    for i in model.bodies:
        m, hx, hy, hz, *J = sp.symbols(f"m{i} hx{i} hy{i} hz{i} Jxx{i} Jyy{i} Jzz{i} Jyz{i} Jxz{i} Jxy{i}")
        bodies.append(sixd.Inertia.from_parameters([m, hx, hy, hz, *J]).matrix)
    return dataclasses.replace(model, inertia=np.array(bodies, dtype=object))


@pytest.mark.long
def test_puma_with_sixty_symbols(rng):
    """Ten symbols for each body; with numbers for them, the numeric equations again."""
    model = sixd.zoo.puma560().without_passive()
    equations = sixd.equations(symbolic_inertia(model))
    assert len(equations.symbols) == 60
    from sixd.spatial.inertia import Inertia

    values = {}
    for i in model.bodies:
        names = ["m", "hx", "hy", "hz", "Jxx", "Jyy", "Jzz", "Jyz", "Jxz", "Jxy"]
        values |= {f"{n}{i}": x for n, x in zip(names, Inertia.from_matrix(model.inertia[i]).parameters, strict=True)}
    table = {s: values[str(s)] for s in equations.symbols}
    q = rng.uniform(-2, 2, 6)
    table |= dict(zip(equations.q, q, strict=True))
    close(np.array(equations.M.subs(table), dtype=float), sixd.mass_matrix(model, q))
    close(np.array(equations.g.subs(table), dtype=float).ravel(), sixd.gravity_force(model, q))


def test_dh_rows_with_symbols():
    """A length, an offset and a twist as symbols: exactly the pose of the textbook's transform."""
    a, d, alpha, m1, m2 = sp.symbols("a d alpha m1 m2")
    rows = [
        {"alpha": 0, "a": 0, "d": d, "mass": m1, "com": (a, 0, 0)},
        {"alpha": alpha, "a": a, "d": 0, "mass": m2, "com": (a, 0, 0)},
    ]
    e = sixd.equations(sixd.from_dh(rows, convention="modified"))
    q1, q2 = e.q
    Rx = sp.Matrix([[1, 0, 0], [0, sp.cos(alpha), -sp.sin(alpha)], [0, sp.sin(alpha), sp.cos(alpha)]])
    rotation = sp.rot_axis3(-q1) * Rx * sp.rot_axis3(-q2)
    difference = e.pose("link2")[:3, :3] - rotation
    assert all(canonical(x) == 0 for x in difference)
    assert canonical(e.M[1, 1] - m2 * a**2) == 0


def test_snap_reports_what_it_moved():
    model = quiet_load(FIVE["ur5"])
    equations = sixd.equations(model)
    assert equations.snapped
    assert all(0 < moved.farthest < 1e-9 for moved in equations.snapped)
    assert "moved by at most" in str(equations.snapped[0])
    assert np.abs(equations.model.placement - model.placement).max() < 1e-9
    raw = sixd.equations(model, snap=0)
    assert raw.snapped == ()
    terms = [max(len(p.terms) for p in e.polys["M"].ravel()) for e in (equations, raw)]
    assert terms[0] <= 83 < terms[1]
    with pytest.raises(sixd.ScalarTypeError, match="snap is -1, expected a small number"):
        sixd.equations(model, snap=-1)


def test_names_that_are_taken():
    """A parameter called q1 is not the first coordinate."""
    e = sixd.equations(sixd.zoo.pendulum(1, mass=sp.Symbol("q1")))
    assert str(e.q[0]) == "q_1"


def test_empty_model():
    e = sixd.equations(sixd.ModelBuilder("nothing").build())
    assert e.M.shape == (0, 0)
    assert e.tau.shape == (0, 1)
    assert e.T == 0


def test_python_code_runs(rng):
    arm = sixd.zoo.craig_arm()
    e = sixd.equations(arm)
    space = {}
    exec(e.code("python", ["mass_matrix", "inverse_dynamics", "gravity_force"]), space)
    q, qd, qdd = rng.uniform(-1, 1, (3, 2))
    np.testing.assert_allclose(
        space["inverse_dynamics"](q, qd, qdd), sixd.inverse_dynamics(arm, q, qd, qdd), rtol=1e-13
    )
    np.testing.assert_allclose(space["mass_matrix"](q), sixd.mass_matrix(arm, q), rtol=1e-13)
    m, l, g = sp.symbols("m l g")
    theta, thetad = sp.symbols("theta thetad")
    pendulum = sixd.lagrange(m * l**2 * thetad**2 / 2, -m * g * l * sp.cos(theta), [theta])
    exec(pendulum.code(), space)
    assert space["inverse_dynamics"]([0.3], [0.0], [0.0], 9.81, 2.0, 1.0)[0] == pytest.approx(19.62 * np.sin(0.3))


def test_c_code_is_the_library_s():
    e = sixd.equations(sixd.zoo.planar(2))
    text = e.code("c", ["mass_matrix", "inverse_dynamics"])
    assert "void mass_matrix(" in text
    assert "void inverse_dynamics(" in text


def test_latex_and_markdown():
    e = sixd.equations(sixd.zoo.two_link_arm(*sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g")))
    text = e.latex()
    assert text.startswith("\\begin{aligned}")
    assert "c_{12}" in text
    assert "\\dot{q}_{1}" in text
    assert "\\cos" in e.latex("g", short=False)
    assert "$$M = " in e.markdown()
    assert e._repr_markdown_() == e.markdown()
    assert "\\ddot" in e.latex("tau")


@pytest.mark.long
def test_operations_beside_sympy_mechanics(rng):
    """SymPy's mechanics module on the same arm: the same functions, and at least eight times the operations."""
    from benchmarks.contenders.with_sympy import derive

    ours = sixd.equations(sixd.zoo.puma560().without_passive())
    theirs = derive(ours.model)
    table = dict(zip(theirs.q, ours.q, strict=True)) | dict(zip(theirs.u, ours.qd, strict=True))
    state = dict(zip([*ours.q, *ours.qd], rng.uniform(-1, 1, 12), strict=True))
    M, h = theirs.mass_matrix.xreplace(table), -theirs.forcing.xreplace(table)
    for a, b in ((ours.M, M), (ours.h, h)):
        close(np.array(a.xreplace(state), dtype=float), np.array(b.xreplace(state), dtype=float))
    counts = ours.count_ops()
    assert sp.count_ops(M) + sp.count_ops(h) > 8 * (counts["M"] + counts["C"] + counts["g"])
    assert sp.count_ops(h) > 8 * sp.count_ops(ours.h)
    assert counts["after_cse"] <= counts["total"]


def test_not_for_anything_else():
    with pytest.raises(sixd.ScalarTypeError, match="equations: model is a str"):
        sixd.equations("arm")
    e = sixd.equations(sixd.zoo.planar(2))
    with pytest.raises(sixd.ModelError, match="are equations without bodies, expected no f_ext"):
        sixd.inverse_dynamics(e, [0.1, 0.2], [0, 0], [0, 0], f_ext=np.zeros((2, 6)))
    with pytest.raises(sixd.ModelError, match="has quaternions, expected coordinates"):
        sixd.equations(sixd.zoo.single_body()).linearize([1, 0, 0, 0, 0, 0, 0])


def coupled():
    """planar(2) with q2 = 2 sin q1."""
    arm = sixd.zoo.planar(2)
    coupling = sixd.Coupling("link2", "link1", lambda y: 2 * sixd.spatial.sin(y))
    return dataclasses.replace(arm, constraints=(coupling,))


@pytest.mark.parametrize("model", [sixd.zoo.double_elbow(), coupled()], ids=["gear", "coupling"])
def test_reduced_models(model, rng):
    """Equations in independent coordinates: against the reduced model on floats."""
    reduced = model.reduce()
    e = sixd.equations(reduced)
    q, qd, qdd = rng.uniform(-1, 1, (3, 5, reduced.nv))
    close(sixd.mass_matrix(e, q), sixd.mass_matrix(reduced, q))
    close(sixd.inverse_dynamics(e, q, qd, qdd), sixd.inverse_dynamics(reduced, q, qd, qdd))
    close(sixd.coriolis_matrix(e, q, qd), sixd.coriolis_matrix(reduced, q, qd))
    for ours, theirs in zip(sixd.energy(e, q, qd), sixd.energy(reduced, q, qd), strict=True):
        close(ours, theirs)
    frame = model.frame_names[-1]
    state = dict(zip(e.q, q[0], strict=True))
    close(np.array(e.jacobian(frame).xreplace(state), dtype=float), sixd.jacobian(reduced, q[0], frame))


def test_a_gear_in_closed_form():
    """The double elbow: both elbows rotate by q2, so the forearm rotates by q1 + 2 q2."""
    e = sixd.equations(sixd.zoo.double_elbow().reduce())
    q2 = e.q[1]
    M22 = sp.Rational(4, 3) + sp.Rational(1, 16) + sp.cos(q2) / 2
    assert abs(float(sp.N((e.M[1, 1] - M22).subs(q2, 0.7)))) < 1e-12


def test_axes_on_different_branches_are_parallel_too():
    """A planar linkage: its loop in angles' sums and differences."""
    e = sixd.equations(sixd.zoo.four_bar())
    q1, q2, q3 = e.q
    assert e.parallel == ((q1, q2, q3),)
    assert sp.count_ops(e.phi) <= 25  # 61 in sines and cosines of each angle
    closure = sp.Matrix([sp.cos(q1) / 2 + 2 * sp.cos(q1 + q2), sp.sin(q1) / 2 + 2 * sp.sin(q1 + q2)])
    rocker = sp.Matrix([2 + sp.Rational(3, 2) * sp.cos(q3), sp.Rational(3, 2) * sp.sin(q3)])
    gap = rocker - closure  # seen from the coupler
    R = sp.Matrix([[sp.cos(q1 + q2), sp.sin(q1 + q2)], [-sp.sin(q1 + q2), sp.cos(q1 + q2)]])
    assert all(canonical(x) == 0 for x in e.phi - R * gap)


def test_long_chains_give_a_warning():
    """A humanoid's arm on its torso has nine successive rotations: half an hour, and a warning."""
    from sixd.symbolic.equations.from_model import _warn_if_long

    with pytest.warns(sixd.CompileWarning, match="talos.*closed form is long.*Lock joints"):
        _warn_if_long(quiet_load(FIVE["talos"]))


def test_equations_are_pickled():
    """Fields, energies among them, are the same after pickling, whether they were asked for before or not."""
    theta, thetad, m, l = sp.symbols("theta thetad m l")
    for e in (
        sixd.equations(sixd.zoo.four_bar()),
        sixd.lagrange(m * l**2 * thetad**2 / 2, -m * l * sp.cos(theta), [theta]).substitute({l: 2}),
    ):
        again = pickle.loads(pickle.dumps(e))
        assert all(getattr(again, name) == getattr(e, name) for name in ("M", "h", "T", "V", "phi", "conserved"))
        assert pickle.loads(pickle.dumps(e)).tau == e.tau


# letters ------------------------------------------------------------------------------------------


def ball_between():
    builder = sixd.ModelBuilder("ball", (0, 0, -9.81))
    point = sixd.point(1.0, (0.5, 0, 0))
    builder.add_body("arm", "world", sixd.Revolute("z"), inertia=point)
    builder.add_body("ball", "arm", sixd.Spherical(), inertia=sixd.Inertia(1.0, (0, 0, 1), (1, 2, 3)))
    builder.add_body("end", "ball", sixd.Revolute("z"), inertia=point, damping=0.5)
    return builder.build()


def test_coordinates_by_name():
    """The same equations in other letters; rates are named after the coordinates."""
    theta = sp.symbols("theta1:3")
    arm = sixd.zoo.point_arm(*sp.symbols("l1 l2 m1 m2 g", positive=True))
    named, plain = sixd.equations(arm, q=theta), sixd.equations(arm)
    table = dict(zip([*plain.q, *plain.qd, *plain.qdd], [*named.q, *named.qd, *named.qdd], strict=True))
    assert list(named.q) == list(theta)
    assert list(map(str, [*named.qd, *named.qdd])) == ["thetad1", "thetad2", "thetadd1", "thetadd2"]
    for field in ("M", "C", "g", "tau", "T", "V"):
        difference = sp.Matrix([getattr(named, field)]) - sp.Matrix([getattr(plain, field)]).xreplace(table)
        assert all(canonical(x) == 0 for x in difference)
    assert "C[2,1] = l₁ l₂ m₂ sin(θ₂) θ̇₁" in str(named)
    assert named.pose("link2")[0, 0] == sp.cos(theta[0] + theta[1])
    unicode = sixd.equations(sixd.zoo.planar(2), q=sp.symbols("θ1 θ2"))
    assert str(unicode).startswith("planar2: M q̈ + C q̇ + g = τ in θ₁, θ₂\n")


def test_names_of_coordinates_are_checked():
    arm = sixd.zoo.planar(2)
    a, b, t = sp.symbols("a b t")
    length = sixd.zoo.point_arm(*sp.symbols("ad l2 m1 m2 g"))
    for model, q, error, message in (
        (arm, [a], sixd.ShapeError, "equations: q has 1 entries, expected 2, for the joints"),
        (arm, a, sixd.ScalarTypeError, "equations: q is a, expected a list of coordinates"),
        (arm, "ab", sixd.ScalarTypeError, "equations: q is 'ab', expected a list of coordinates"),
        (arm, ["a", "b"], sixd.ScalarTypeError, "coordinate 'a' is a str, expected a SymPy symbol"),
        (arm, [a, a], sixd.ModelError, "expected each coordinate once"),
        (
            arm,
            [a, sp.Symbol("ad")],
            sixd.ModelError,
            "names, and those of their rates, differ from all other coordinates",
        ),
        (length, [a, b], sixd.ModelError, "and from the model's parameters"),
        (arm, [a, sp.Function("b")(t)], sixd.ModelError, "expected symbols"),
    ):
        with pytest.raises(error, match=message):
            sixd.equations(model, q=q)


def test_angular_velocities_of_balls_are_omega():
    """Not rates of quaternions; joints after a ball have the letters of their own coordinates."""
    e = sixd.equations(ball_between())
    text, written = str(e), e.latex("C", "tau")
    assert text.startswith(
        "ball: M q̈ + C q̇ + g + b = τ, b for damping, in q₁, q₂, q₃, q₄, q₅, q₆, velocities q̇₁, ω₂, ω₃, ω₄, q̇₆\n"
    )
    assert "ω₂" in text
    assert not any(x in text.partition("\n")[2] for x in ("q̇₂", "q̇₃", "q̇₄", "q̇₅"))
    assert all(x in written for x in (r"\omega_{2}", r"\dot{\omega}_{2}", r"\dot{q}_{6}", r"\ddot{q}_{6}"))
    assert r"\dot{q}_{2}" not in written
    builder = sixd.ModelBuilder("free", (0, 0, -9.81))
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(1, 2, 3, mass=1.0))
    assert "velocities ω₁, ω₂, ω₃, v₄, v₅, v₆" in str(sixd.equations(builder.build()))
    x = sp.symbols("a b1:5 c")
    named = sixd.equations(ball_between(), q=x)
    assert "in a, b₁, b₂, b₃, b₄, c, velocities ȧ, ω₂, ω₃, ω₄, ċ" in str(named)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"stiffness": 3.0}, "springs"),
        ({"damping": 3.0}, "damping"),
        ({"friction": 3.0, "damping": 1.0}, "damping and friction"),
        ({"friction": 3.0, "damping": 1.0, "stiffness": sp.Symbol("k")}, "damping, friction and springs"),
    ],
)
def test_forces_b_are_called_what_they_are(properties, words):
    builder = sixd.ModelBuilder("arm", (0, 0, -9.81))
    builder.add_body("link", "world", sixd.Revolute("y"), inertia=sixd.point(1.0, (1, 0, 0)), **properties)
    e = sixd.equations(builder.build())
    assert str(e).startswith(f"arm: M q̈ + C q̇ + g + b = τ, b for {words}, in q₁\n")
    assert f"$M \\ddot q + C \\dot q + g + b = \\tau$, b for {words}\n" in e.markdown()


def test_gyroscopic_forces_are_called_so():
    x, y, xd, yd, w = sp.symbols("x y xd yd w")
    turning = sixd.lagrange(((xd - w * y) ** 2 + (yd + w * x) ** 2) / 2, 0, [x, y])
    assert str(turning).startswith("system: M q̈ + C q̇ + g + b = τ, b for gyroscopic forces, in x, y\n")


# functions of the library on symbols -----------------------------------------------------------------


def test_pose_and_energy_on_symbols_come_simplified(rng):
    l1, l2, m1, m2, g = parameters = sp.symbols("l1 l2 m1 m2 g", positive=True)
    a, b, ad, bd = sp.symbols("a b ad bd")
    arm = sixd.zoo.point_arm(*parameters)
    tip = sixd.pose(arm.with_frame("tip", "link2", sixd.placement((l2, 0, 0))), [a, b], "tip")
    assert list(tip[:, 0]) == [sp.cos(a + b), sp.sin(a + b), 0, 0]
    assert tip[0, 3] == l1 * sp.cos(a) + l2 * sp.cos(a + b)
    T, V = sixd.energy(arm, [a, b], [ad, bd])
    assert g * (l1 * (m1 + m2) * sp.sin(a) + l2 * m2 * sp.sin(a + b)) == V
    assert sp.count_ops(T) <= 26
    assert canonical(T - sixd.equations(arm, q=[a, b]).T) == 0
    parts = sixd.energy(arm, [a, b], [ad, bd], per="body")
    assert [canonical(sum(x) - y) for x, y in zip(parts, (T, V), strict=True)] == [0, 0]
    # expressions and numbers as coordinates, and a batch
    assert sixd.pose(arm, [2 * a, -a], "link2")[0, 0] == sp.cos(a)
    assert sixd.pose(arm, [[a, 0], [a, b]], "link2")[0, 0, 0] == sp.cos(a)


def test_simplified_results_have_the_values(rng):
    for model in (sixd.zoo.ur_arm(), ball_between(), sixd.zoo.double_elbow().reduce(), sixd.zoo.random_tree(2)):
        q, qd = model.random_configuration(rng), rng.standard_normal(model.nv)
        symbols = [sp.symbols(f"{letter}1:{n + 1}") for letter, n in (("x", model.nq), ("y", model.nv))]
        table = dict(zip([*symbols[0], *symbols[1]], [*q, *qd], strict=True))
        for result, expected in zip(sixd.energy(model, *symbols), sixd.energy(model, q, qd), strict=True):
            close(float(sp.sympify(result).xreplace(table)), expected)
        if hasattr(model, "body_names"):
            frame = model.body_names[-1]
            close(
                np.array(sp.Matrix(sixd.pose(model, symbols[0], frame)).xreplace(table), dtype=float),
                sixd.pose(model, q, frame),
            )
