"""``sixd.newton_euler`` on symbols, its steps as text and mathematics, systems of other kinds, and wrong arguments."""

import re

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from samples import KINDS, Parabola
from scalars import hide, reveal
from sixd.symbolic import canonical

FIELDS = ["omega", "omegad", "v", "vd", "vd_com", "velocity", "acceleration", "F", "N", "f", "n", "tau", "gravity"]
L1, L2, M1, M2, V1, V2, g = PARAMETERS = sp.symbols("L1 L2 M1 M2 V1 V2 g", positive=True)


def craig():
    """Craig's exercise 6.5 by DH parameters, and symbols of a state."""
    rows = [
        {"alpha": 0, "a": 0, "d": 0, "mass": M1, "com": (L1, 0, 0), "damping": V1},
        {"alpha": sp.pi / 2, "a": L1, "d": 0, "mass": M2, "com": (L2, 0, 0), "damping": V2},
    ]
    model = sixd.from_dh(rows, gravity=(0, 0, -g), tool=(L2, 0, 0), name="craig 6.5")
    return model, sp.symbols("theta1:3"), sp.symbols("thetad1:3"), sp.symbols("thetadd1:3")


def symbols_of(model):
    """A symbol for each entry of q, qd, qdd and f_ext."""
    sizes = {"q": model.nq, "u": model.nv, "a": model.nv, "e": model.nb * 6}
    q, u, a, e = (np.array(sp.symbols(f"{name}:{n}"), dtype=object) for name, n in sizes.items())
    return q, u, a, e.reshape(model.nb, 6)


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_symbols_then_numbers_equal_numbers(kind, rng):
    """On every joint type, with passive forces and f_ext, in every choice of coordinates."""
    model = sixd.zoo.random_tree(3, kinds=(kind,))
    q, f_ext = model.random_configuration(rng), rng.uniform(-2, 2, (model.nb, 6))
    qd, qdd = rng.uniform(-2, 2, (2, model.nv))
    names = symbols_of(model)
    values = dict(zip(np.concatenate([x.ravel() for x in names]), [*q, *qd, *qdd, *f_ext.ravel()], strict=True))
    for axes in ("body", "world"):
        symbolic = sixd.newton_euler(model, *names[:3], f_ext=names[3], expressed_in=axes)
        assert symbolic.ring is not None  # not by the plain algorithm
        numeric = sixd.newton_euler(model, q, qd, qdd, f_ext=f_ext, expressed_in=axes)
        for field in FIELDS:
            expected, actual = getattr(numeric, field), getattr(symbolic, field)
            assert actual.shape == expected.shape
            function = sp.lambdify(list(values), actual.ravel().tolist(), cse=True)
            # coefficients of 16 digits are rounded once when the ring writes them
            assert_allclose(np.reshape(function(*values.values()), expected.shape), expected, rtol=1e-9, atol=1e-9)


def test_results_are_simplified():
    model, q, qd, qdd = craig()
    r = sixd.newton_euler(model, q, qd, qdd)
    assert r.vd_com[1, 1] == L2 * qdd[1] + sp.sin(q[1]) * (L1 + L2 * sp.cos(q[1])) * qd[0] ** 2
    assert list(r.N.ravel()) == [0] * 6
    assert all(canonical(x) == 0 for x in r.tau - sixd.inverse_dynamics(model, q, qd, qdd))
    columns = [sp.Matrix(x) for x in (q, qd, qdd)]
    assert np.array_equal(sixd.newton_euler(model, *columns).F, r.F)
    half = sixd.newton_euler(model, [0, q[1]], [0, 0], [0, 0])  # numbers among them
    assert half.tau[1] == L2 * M2 * g * sp.cos(q[1])


def test_bodies_of_several_symbolic_masses():
    """A centre of mass that is a quotient: two points on one link."""
    m, n, a, b, q, u, w = sp.symbols("m n a b q u w", positive=True)
    builder = sixd.ModelBuilder("pair", gravity=(0, -g, 0))
    builder.add_body("link", "world", sixd.Revolute("z"), inertia=sixd.point(m, (a, 0, 0)) + sixd.point(n, (b, 0, 0)))
    r = sixd.newton_euler(builder.build(), [q], [u], [w])
    assert canonical(r.F[0, 1] - (m * a + n * b) * w) == 0
    assert canonical(r.vd_com[0, 1] - (m * a + n * b) / (m + n) * w) == 0
    assert canonical(r.N[0, 2] - m * n / (m + n) * (a - b) ** 2 * w) == 0


def test_steps_as_data():
    model, q, qd, qdd = craig()
    steps = sixd.newton_euler(model, q, qd, qdd).steps(gravity="base")
    order = [(s.stage, s.name, s.quantity) for s in steps]
    outward = ["omega", "omegad", "vd", "vd_com", "F", "N"]
    assert order[:12] == [("outward", f"link{k}", x) for k in (1, 2) for x in outward]
    assert order[12:16] == [("inward", f"link{k}", x) for k in (2, 1) for x in ("f", "n")]
    assert order[16:] == [("torque", f"joint{k}", "tau") for k in (1, 2)]
    assert len(steps) == 18
    assert list(steps["link1", "vd"]) == [0, 0, g]
    assert list(steps["link1", "F"]) == [-L1 * M1 * qd[0] ** 2, L1 * M1 * qdd[0], M1 * g]
    weight = sixd.newton_euler(model, q, qd, qdd).steps()
    assert list(weight["link1", "vd"]) == [0, 0, 0]
    assert list(weight["link1", "F"]) == [-L1 * M1 * qd[0] ** 2, L1 * M1 * qdd[0], 0]
    for quantity in ("f", "n"):
        assert np.array_equal(weight["link2", quantity], steps["link2", quantity])
    with pytest.raises(sixd.UnknownNameError, match="steps: no quantity named 'w'"):
        steps["link1", "w"]
    with pytest.raises(sixd.UnknownNameError, match="steps: no body named 'link3'. Did you mean 'link2'"):
        steps["link3", "n"]
    with pytest.raises(sixd.UnknownNameError, match=r"expected a name and a quantity: steps\['link2', 'n'\]"):
        steps[0]
    with pytest.raises(sixd.UnknownNameError, match="steps: gravity: no form named 'up'"):
        sixd.newton_euler(model, q, qd, qdd).steps(gravity="up")


def test_steps_as_text():
    model, q, qd, qdd = craig()
    text = str(sixd.newton_euler(model, q, qd, qdd).steps(gravity="base"))
    lines = [re.sub(" +=", " =", line.strip()) for line in text.splitlines()]
    for line in (
        "Newton-Euler of 'craig 6.5', in the axes of each body; the base accelerates by v̇₀ = -g",
        "ω₁ = [0,  0,  θ̇₁]",
        "v̇_C₁ = [-L₁ θ̇₁²,  L₁ θ̈₁,  g]",
        "F₁ = [-L₁ M₁ θ̇₁²,  L₁ M₁ θ̈₁,  M₁ g]",
        "F₂z = -M₂ (L₁ + L₂ cos(θ₂)) θ̈₁ + 2 L₂ M₂ sin(θ₂) θ̇₁ θ̇₂",
        "n = N + c×F + Σ (Rᵀn + P×Rᵀf) of the children",
        "τ = Sᵀ[n; f] + armature q̈ + passive forces",
        "τ₁ = (L₁² M₁ + M₂ (L₁ + L₂ cos(θ₂))²) θ̈₁ - 2 L₂ M₂ (L₁ + L₂ cos(θ₂)) sin(θ₂) θ̇₁ θ̇₂ + V₁ θ̇₁",
    ):
        assert line in lines
    assert max(map(len, text.splitlines())) < 120
    forces = str(sixd.newton_euler(model, q, qd, qdd, f_ext=np.zeros((2, 6), dtype=int)).steps())
    assert "f = F - m g - f_ext + Σ Rᵀf of the children" in forces


def test_steps_as_mathematics():
    model, q, qd, qdd = craig()
    steps = sixd.newton_euler(model, q, qd, qdd).steps()
    markdown = steps._repr_markdown_()
    assert markdown == steps.markdown()
    assert r"{}^{2}\omega_{2} &= \begin{bmatrix} s_{2} \dot{\theta}_{1} \\ c_{2} \dot{\theta}_{1}" in markdown
    assert r"{}^{1}\dot{v}_{C1}" in markdown
    assert r"\tau_{2} &=" in markdown
    assert markdown.count("$$") % 2 == 0
    assert r"{}^{1}N_{1} &= 0" in markdown
    assert r"{}^{1}n_{1y} &= - L_{2} M_{2}" in markdown  # a wide vector is written by its components
    assert r"&\quad {} - g \left(L_{1} M_{1}" in markdown  # and a wide one of these is broken
    assert steps.latex(short=False).count(r"\sin{\left(\theta_{2} \right)}") > 3
    aligned = sixd.newton_euler(model, q, qd, qdd, expressed_in="aligned").steps()
    assert r"{}^{0}\omega_{2}" in aligned.latex()


def test_parts_of_the_steps():
    model, q, qd, qdd = craig()
    steps = sixd.newton_euler(model, q, qd, qdd).steps()
    part = steps.select("inward", "link1")
    assert [(s.name, s.quantity) for s in part] == [("link1", "f"), ("link1", "n")]
    assert str(part).splitlines()[0].startswith("f₁x = ")
    assert part.markdown().startswith("$$\n\\begin{aligned}\n{}^{1}f_{1} &= ")
    assert len(steps.select("outward")) == 12
    assert len(steps.select(name="link2")) == 8
    with pytest.raises(sixd.UnknownNameError, match="select: no stage named 'out'"):
        steps.select("out")
    with pytest.raises(sixd.UnknownNameError, match="select: no body or joint named 'hand'"):
        steps.select(name="hand")


def test_steps_of_numbers(rng):
    arm = sixd.zoo.planar(2)
    r = sixd.newton_euler(arm, [0.3, 0.5], [1, -2], [0.4, 0.6])
    text = str(r.steps())
    assert "τ₁ = 1.481\n" in text
    assert "ω₂   = [0,  0,  −1]" in text
    assert r"\tau_{1} &= 1.481" in r.steps().latex()
    assert_allclose(r.steps()["link2", "f"], r.f[1])
    top = sixd.zoo.random_tree(4)  # every joint type; several degrees of freedom have a line each
    state = top.random_configuration(rng), *rng.uniform(-1, 1, (2, top.nv))
    steps = sixd.newton_euler(top, *state).steps(gravity="base")
    assert len(steps) == 9 * top.nb
    assert str(steps).count("\n  τ") == top.nv + 1
    noise = sixd.newton_euler(arm, [np.pi / 2, 0], [1, 0], [0, 0]).steps()
    assert "e−1" not in str(noise)  # 6e-17 is written as 0


@pytest.mark.long
def test_batches(rng):
    model = sixd.zoo.random_tree(1)
    q, (qd, qdd) = model.random_configuration(rng, size=(2, 3)), rng.uniform(-1, 1, (2, 3, model.nv))
    r = sixd.newton_euler(model, q, qd, qdd)
    assert r.f.shape == (2, 3, model.nb, 3)
    assert r.velocity.shape == (2, 3, model.nb, 6)
    one = sixd.newton_euler(model, q[1, 2], qd[2], qdd[2])
    for field in FIELDS:
        assert np.array_equal(getattr(r[1, 2], field), getattr(one, field))
    assert str(r[1, 2].steps()) == str(one.steps())
    assert "a batch (2, 3)" in repr(r)
    with pytest.raises(
        sixd.ShapeError, match=r"steps: the result is a batch \(2, 3\), expected one state. Select one: r"
    ):
        r.steps()
    with pytest.raises(sixd.ShapeError, match="the result is of one state"):
        one[0]
    small = sixd.newton_euler(model, *(x.astype(np.float32) for x in (q, qd, qdd)))
    assert small.f.dtype == np.float32
    m, names = craig()[0], craig()[1:]
    both = sixd.newton_euler(m, [names[0], names[1]], names[1], names[2])
    assert both.F.shape == (2, 2, 3)
    assert np.array_equal(both[0].F, sixd.newton_euler(m, *names).F)


def test_kernels_and_c(rng):
    model = sixd.zoo.planar(2)
    state = [0.3, 0.5], [1.0, -2.0], [0.4, 0.6]
    r = sixd.newton_euler(model, *state, expressed_in="world")
    arrays = sixd.compile(sixd.newton_euler, model, expressed_in="world")(*map(np.array, state))
    assert len(arrays) == len(FIELDS)
    for field, x in zip(FIELDS, arrays, strict=True):
        assert_allclose(x, getattr(r, field), atol=1e-14)
    assert "newton_euler" in sixd.export_c(sixd.newton_euler, model).source
    reactions = sixd.compile(sixd.joint_reactions, model)(*map(np.array, state))
    assert_allclose(reactions, sixd.joint_reactions(model, *state), atol=1e-14)


@pytest.mark.long
def test_other_scalars(rng):
    """Scalars that cannot be looked at go through the plain algorithm."""
    model = sixd.zoo.random_tree(2)
    state = model.random_configuration(rng), *rng.uniform(-1, 1, (2, model.nv))
    expected, got = sixd.newton_euler(model, *state), sixd.newton_euler(model, *map(hide, state))
    for field in FIELDS:
        assert_allclose(reveal(getattr(got, field)), getattr(expected, field), rtol=1e-12, atol=1e-12)
    assert_allclose(
        reveal(sixd.joint_reactions(model, *map(hide, state))), sixd.joint_reactions(model, *state), atol=1e-9
    )
    q = sp.symbols("w x y z")  # a quaternion of any length has no element in the ring
    ball = sixd.zoo.random_tree(3, kinds=("spherical",), passive=False)
    by_hand = sixd.newton_euler(ball, [2 * q[0], q[1], q[2], q[3]], [0, 0, 0], [0, 0, 0])
    assert by_hand.ring is None
    at = dict(zip(q, (0.4, 0.2, 0.4, 0.4), strict=True))
    numeric = sixd.newton_euler(ball, [0.8, 0.2, 0.4, 0.4], np.zeros(3), np.zeros(3))
    assert_allclose([float(x.subs(at)) for x in by_hand.n.ravel()], numeric.n.ravel(), atol=1e-12)


# systems of other kinds -----------------------------------------------------------------------------


def test_empty_models_and_massless_bodies():
    empty = sixd.ModelBuilder("empty").build()
    r = sixd.newton_euler(empty, [], [], [])
    assert r.f.shape == (0, 3)
    assert r.velocity.shape == (0, 6)
    assert r.tau.shape == (0,)
    assert len(r.steps()) == 0
    assert "Newton-Euler of 'empty'" in str(r.steps())
    assert sixd.joint_reactions(empty, [], [], []).shape == (0, 6)
    assert [x.shape for x in sixd.energy(empty, [], [], per="body")] == [(0,), (0,)]
    assert sixd.momentum(empty, [], [], per="subtree").shape == (0, 6)
    builder = sixd.ModelBuilder("arm")
    builder.add_body("light", "world", sixd.Revolute("z"))
    builder.add_body("tip", "light", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=sixd.point(1.0))
    r = sixd.newton_euler(builder.build(), [0.1, 0.2], [1.0, 2.0], [3.0, 4.0])
    assert not r.F[0].any()
    assert np.array_equal(r.vd_com[0], r.vd[0])
    assert np.isfinite(np.concatenate([getattr(r, x).ravel() for x in FIELDS])).all()


def test_bodies_of_massless_links_with_moments():
    """Effi1: link 1 without mass but with moments; f, n and tau are those of the equal model."""
    plain, moved = sixd.zoo.planar(2), sixd.ModelBuilder("moved", gravity=(0, 0, 0))
    extra = sixd.point(1.0, (1, 0, 0))
    link = plain.body_inertia("link1") - extra
    moved.add_body("link1", "world", sixd.Revolute("z"), inertia=link)
    second = plain.body_inertia("link2") + sixd.point(1.0)
    moved.add_body("link2", "link1", sixd.Revolute("z"), placement=sixd.placement((1, 0, 0)), inertia=second)
    state = [0.3, 0.5], [1.0, -2.0], [0.4, 0.6]
    ours, theirs = sixd.newton_euler(moved.build(), *state), sixd.newton_euler(plain, *state)
    assert_allclose(ours.tau, theirs.tau, atol=1e-14)
    assert_allclose(ours.n[0], theirs.n[0], atol=1e-14)
    assert np.isfinite(ours.N).all()


def test_own_joints():
    builder = sixd.ModelBuilder("slide", gravity=(0, -10.0, 0))
    builder.add_body("bead", "world", Parabola(), inertia=sixd.point(2.0))
    model = builder.build()
    r = sixd.newton_euler(model, [0.5], [3.0], [0.0])
    assert_allclose(r.vd[0], [0, 2 * 3.0**2, 0])  # y = x²
    assert_allclose(r.f[0], [0, 2 * (18 + 10), 0])
    x, u, a = sp.symbols("x u a")
    assert sixd.newton_euler(model, [x], [u], [a]).F[0, 1] == 4 * a * x + 4 * u**2


def test_reduced_models_and_equations():
    tree = sixd.zoo.planar(2).with_constraints(sixd.Mimic("link2", "link1", 2.0))
    reduced = tree.reduce()
    r = sixd.newton_euler(reduced, [0.3], [1.0], [0.4])
    lifted = sixd.newton_euler(tree, *reduced.lift([0.3], [1.0], [0.4]))
    assert_allclose(r.f, lifted.f, atol=1e-14)
    assert_allclose(r.tau, sixd.inverse_dynamics(reduced, [0.3], [1.0], [0.4]), atol=1e-14)
    assert len(r.steps()) == 2 * 8 + 1
    q, u, a = sp.symbols("q u a")
    closed = sixd.newton_euler(reduced, [q], [u], [a])
    value = {q: 0.3, u: 1.0, a: 0.4}
    assert_allclose(float(closed.tau[0].subs(value)), r.tau[0], atol=1e-12)
    assert "τ₁" in str(closed.steps())
    with pytest.raises(sixd.ModelError, match=r"joint_reactions: .* is in reduced coordinates"):
        sixd.joint_reactions(reduced, [0.3], [1.0], [0.4])
    equations = sixd.equations(sixd.zoo.planar(2))
    state = [0.3, 0.5], [1.0, -2.0], [0.4, 0.6]
    assert_allclose(sixd.newton_euler(equations, *state).f, sixd.newton_euler(sixd.zoo.planar(2), *state).f)
    assert sixd.newton_euler(equations, equations.q, equations.qd, equations.qdd).F.shape == (2, 3)
    assert_allclose(
        sixd.energy(equations, *state[:2], per="body"), sixd.energy(equations.model, *state[:2], per="body"), atol=1e-12
    )
    x = sp.Symbol("x")
    energies = sixd.lagrange(sp.Symbol("xd") ** 2, x**2, [x])
    for call in (
        lambda: sixd.newton_euler(energies, [0.1], [0.2], [0.3]),
        lambda: sixd.newton_euler(energies, [x], [x], [x]),
    ):
        with pytest.raises(sixd.ModelError, match=r"newton_euler: .* is a system defined by energies"):
            call()
    with pytest.raises(
        sixd.ModelError, match=r"energy: .* is defined by energies, without bodies. Expected per='model'"
    ):
        sixd.energy(energies, [0.1], [0.2], per="body")


def test_constraints_do_not_change_the_tree():
    model = sixd.zoo.four_bar()
    state = [0.4, 0.5, 0.6], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]
    r = sixd.newton_euler(model, *state)
    assert_allclose(r.tau, sixd.inverse_dynamics(model, *state))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, s: sixd.newton_euler(m, s, s, s[:1]), sixd.ShapeError, r"newton_euler: qdd has shape \(1,\)"),
        (lambda m, s: sixd.newton_euler(m, s, s, ["a", "b"]), sixd.ScalarTypeError, "newton_euler: qdd"),
        (lambda m, s: sixd.newton_euler("arm", s, s, s), sixd.ScalarTypeError, "newton_euler: model is a str"),
        (
            lambda m, s: sixd.newton_euler(m, s, s, s, expressed_in="tool"),
            sixd.UnknownNameError,
            "newton_euler: expressed_in: no choice named 'tool'",
        ),
        (lambda m, s: sixd.newton_euler(m, s, s, s, f_ext=np.zeros(6)), sixd.ShapeError, "newton_euler: f_ext has shape"),
        (
            lambda m, s: sixd.newton_euler(m, sp.symbols("a b c"), s, s),
            sixd.ShapeError,
            r"newton_euler: q has shape \(3,\), expected \(..., 2\) \(nq of model",
        ),
        (
            lambda m, s: sixd.newton_euler(m, sp.symbols("a b"), s, s, expressed_in=3),
            sixd.UnknownNameError,
            "newton_euler: expressed_in: no choice named 3",
        ),
        (
            lambda m, s: sixd.newton_euler(sixd.zoo.pendulum(2, sp.Symbol("l")), s, s, s),
            sixd.ScalarTypeError,
            "newton_euler: .* has symbolic parameters l",
        ),
        (lambda m, s: sixd.joint_reactions(m, s, s, s[:1]), sixd.ShapeError, "joint_reactions: tau has shape"),
        (lambda m, s: sixd.energy(m, s, s, per="link"), sixd.UnknownNameError, "energy: per: no choice named 'link'"),
        (lambda m, s: sixd.momentum(m, s, s, per=None), sixd.UnknownNameError, "momentum: per: no choice named None"),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call(sixd.zoo.planar(2), [0.1, 0.2])


def test_states_that_are_not_numbers():
    """NaN in a state gives NaN in the rows that depend on it, as in the other functions."""
    r = sixd.newton_euler(sixd.zoo.planar(2), [0.1, np.nan], [0.0, 0.0], [0.0, 1.0])
    assert np.isfinite(r.omega[0]).all()
    assert np.isnan(r.f[0]).any()
