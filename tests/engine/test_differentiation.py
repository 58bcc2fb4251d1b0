"""``sixd.jvp``, ``vjp``, ``hvp``, ``hessian``: dual numbers, differences, adjoints, parameters, users' functions,
invalid arguments.
"""

import pickle

import numpy as np
import pytest
import sympy as sp

import sixd
from c_compiler import build, call, needs_cc
from samples import KINDS, Parabola, single_joint, states, trees
from sixd.engine.parameters import with_parameters
from sixd.engine.public import declaration
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SixdError, TraceError
from sixd.spatial.dual import duals, parts

MODELS = {f"tree{k}": tree for k, tree in enumerate(trees()[:2])}
MODELS |= {kind: single_joint(kind) for kind in KINDS}
each = pytest.mark.parametrize("name", MODELS)
DYNAMICS = {"inverse": sixd.inverse_dynamics, "forward": sixd.forward_dynamics}
both = pytest.mark.parametrize("way", DYNAMICS)


def error(x, y):
    """Norm of the difference, relative to that of y (or to 1)."""
    assert np.shape(x) == np.shape(y)
    return np.linalg.norm(np.ravel(x - y)) / max(1.0, np.linalg.norm(np.ravel(y)))


def flat(results):
    return np.concatenate([np.ravel(x) for x in (results if isinstance(results, tuple) else (results,))])


def inner(a, b):
    return sum(float(np.sum(np.asarray(x) * y)) for x, y in zip(a, b, strict=True))


def directions(kernel, rng):
    """Return random values for the inputs of a jvp named d_…."""
    shapes = [kernel._function.core(kernel.model, n) for n in kernel.inputs if n.startswith("d_")]
    return [rng.normal(size=shape) for shape in shapes]


def by_duals(function, model, x, dx, **choices):
    """Return the directional derivative of a library function of arrays q, …; x, dx by name."""
    rates = {n: model.configuration_rate(x["q"], d) if n == "q" else d for n, d in dx.items()}
    row = {n: duals(v, np.asarray(rates[n], dtype=float)) for n, v in x.items()}
    made = declaration(function)
    checked = made.check_choices(model, tuple(choices.get(n, d) for n, d in made.choices.items()))
    found = made.row(model, checked, [row[n] for n in made.arrays], row.get("f_ext"))
    return flat(tuple(np.asarray(parts(y)[1], dtype=float) for y in (found if isinstance(found, tuple) else (found,))))


# dual numbers, differences, adjoints ----------------------------------------------------------------


@pytest.mark.many
@each
@both
def test_dual_numbers_and_adjoint(name, way, rng):
    """Every joint type, springs, damping, friction and armature; f_ext is an input, so it is constant in the world."""
    model, function = MODELS[name], DYNAMICS[way]
    forward, reverse = (d(function, model, f_ext=True) for d in (sixd.jvp, sixd.vjp))
    for q, qd, third in states(model, rng, count=3):
        f_ext, w = rng.normal(size=(model.nb, 6)), rng.normal(size=model.nv)
        x, dx = (q, qd, third, f_ext), directions(forward, rng)
        dy = forward(*x, *dx)
        names = forward.inputs[:4]
        expected = by_duals(function, model, dict(zip(names, x, strict=True)), dict(zip(names, dx, strict=True)))
        assert error(dy, expected) < 1e-13
        gradients = reverse(*x, w)
        assert gradients._fields == names
        assert [g.shape for g in gradients] == [(model.nv,)] * 3 + [(model.nb, 6)]
        size = max(1.0, *(np.linalg.norm(g) * np.linalg.norm(d) for g, d in zip(gradients, dx, strict=True)))
        assert abs(inner([w], [dy]) - inner(gradients, dx)) < 1e-12 * size


@pytest.mark.many
@each
@both
def test_differences(name, way, rng):
    """Central differences of the function itself: truncation and rounding have an error of 1e-8."""
    model, function = MODELS[name], DYNAMICS[way]
    q, qd, third = next(states(model, rng))
    qd = np.where(np.abs(qd) < 0.1, 0.5, qd)  # friction is discontinuous at rest
    dq, dqd, dthird = rng.normal(size=(3, model.nv))
    h, f_ext = 1e-6, rng.normal(size=(model.nb, 6))
    ahead, behind = (
        function(model, model.integrate(q, s * dq), qd + s * dqd, third + s * dthird, f_ext=f_ext) for s in (h, -h)
    )
    found = sixd.jvp(function, model)(q, qd, third, dq, dqd, dthird, f_ext=f_ext)  # f_ext is fixed at the call
    assert error(found, (ahead - behind) / (2 * h)) < 1e-7


OTHERS = {
    sixd.mass_matrix: {}, sixd.bias_force: {}, sixd.energy: {}, sixd.center_of_mass: {}, sixd.body_poses: {},
    sixd.momentum: {}, sixd.mass_matrix_solve: {}, sixd.inverse_mass_matrix: {}, sixd.coriolis_matrix: {},
    sixd.pose: {"frame": ...}, sixd.jacobian: {"frame": ..., "expressed_in": "aligned"}, sixd.gravity_force: {},
    sixd.joint_torque_regressor: {}, sixd.inverse_operational_inertia: {"frame": ...},
    sixd.operational_inertia: {"frame": ..., "expressed_in": "world"}, sixd.operational_bias: {"frame": ...},
    sixd.dynamically_consistent_inverse: {"frame": ...}, sixd.null_space_projector: {"frame": ...},
}  # fmt: skip


@pytest.mark.many
@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_functions_of_the_library(function, rng):
    model = MODELS["free"]
    choices = {k: model.body_names[-1] if v is ... else v for k, v in OTHERS[function].items()}
    forward, reverse = (d(function, model, **choices) for d in (sixd.jvp, sixd.vjp))
    q, qd, qdd = next(states(model, rng))
    x = {"q": q, "qd": qd, "qdd": qdd, "b": qdd}
    x = {n: x[n] for n in forward.inputs if n in x}
    dx = directions(forward, rng)
    dy = forward(*x.values(), *dx)
    assert error(flat(dy), by_duals(function, model, x, dict(zip(x, dx, strict=True)), **choices)) < 1e-13
    value = sixd.compile(function, model, **choices)(*x.values())
    several = isinstance(value, tuple)
    assert type(dy) is type(value)
    w = [rng.normal(size=np.shape(y)) for y in (value if several else (value,))]
    g = reverse(*x.values(), *w)
    g = g if isinstance(g, tuple) else (g,)
    assert abs(inner(w, dy if several else [dy]) - inner(g, dx)) < 1e-12 * max(
        1, *(np.linalg.norm(a) for a in (*w, *g))
    )


def _systems():
    bar, arm = sixd.zoo.four_bar(), sixd.zoo.planar(3)
    place = sp.Function("x")(sp.Symbol("t"))
    bead = sixd.lagrange((1 + place**2) * place.diff(sp.Symbol("t")) ** 2 / 2, sp.cos(place), [place])
    return {
        "constrained": (sixd.constrained_dynamics, bar, {}),
        "constraints": (sixd.constraint_jacobian, bar, {}),
        "reduced": (sixd.forward_dynamics, bar.reduce(), {}),
        "energies": (sixd.forward_dynamics, bead, {}),
        "hybrid": (sixd.hybrid_dynamics, arm, {"given": arm.joint_names[:1]}),
        "reactions": (sixd.joint_reactions, arm, {}),
        "derivatives": (sixd.inverse_dynamics_derivatives, arm, {}),
    }


@pytest.mark.many
@pytest.mark.parametrize("case", _systems())
def test_other_systems(case, rng):
    """Constraints, reduced coordinates, systems of energies: central differences, and the adjoint."""
    function, system, choices = _systems()[case]
    value, forward, reverse = (d(function, system, **choices) for d in (sixd.compile, sixd.jvp, sixd.vjp))
    x = [rng.uniform(-0.2, 0.2, system.nv) for _ in value.inputs]  # q is a vector in all of them
    if case in ("constrained", "constraints"):
        x[0], x[1:2] = np.asarray(sixd.assemble(system, x[0])), [0 * v for v in x[1:2]]
    dx = directions(forward, rng)
    ahead, behind = (flat(value(*(v + s * d for v, d in zip(x, dx, strict=True)))) for s in (1e-6, -1e-6))
    dy = flat(forward(*x, *dx))
    assert error(dy, (ahead - behind) / 2e-6) < 1e-7
    y = value(*x)
    w = [rng.normal(size=np.shape(r)) for r in (y if isinstance(y, tuple) else (y,))]
    g = reverse(*x, *w)
    g = g if isinstance(g, tuple) else (g,)
    assert abs(flat(tuple(w)) @ dy - inner(g, dx)) < 1e-12 * max(1, np.linalg.norm(flat(g)))


def test_configurations_alone(rng):
    """The result of integrate is a configuration, and each of its entries is differentiated; its input dq and d_q are
    different names.
    """
    model = MODELS["spherical"]
    kernel = sixd.jvp(_integrate, model)
    assert kernel.inputs == ("q", "dq", "d_q", "d_dq")
    q, dq, e, de = model.random_configuration(rng), *rng.normal(size=(3, model.nv))
    h = 1e-6
    ahead, behind = (model.integrate(model.integrate(q, s * e), dq + s * de) for s in (h, -h))
    assert error(kernel(q, dq, e, de), (ahead - behind) / (2 * h)) < 1e-7


def _integrate(model, q, dq):
    return model.integrate_row(q, dq)


# parameters -----------------------------------------------------------------------------------------


@both
def test_parameters(way, rng):
    """Inertia, placements, damping, armature and gravity, with dual numbers in the model, along any change of their
    numbers.
    """
    model, function = sixd.zoo.random_tree(1, kinds=("revolute", "prismatic", "spherical")), DYNAMICS[way]
    values = {
        "inertia": np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]], dtype=float),
        "placements": model.placement[1:].astype(float),
        "damping": np.asarray(model.damping, dtype=float),
        "armature": np.asarray(model.armature, dtype=float),
        "gravity": np.asarray(model.gravity, dtype=float),
    }
    q, qd, third = next(states(model, rng))
    forward = sixd.jvp(function, model, parameters=tuple(values), by=tuple(values))
    reverse = sixd.vjp(function, model, parameters=tuple(values), by=tuple(values))
    dx = directions(forward, rng)
    dy = forward(q, qd, third, *values.values(), *dx)
    moved = with_parameters(model, {n: duals(v, d) for (n, v), d in zip(values.items(), dx, strict=True)})
    made = declaration(function)
    row = [duals(v, np.zeros_like(v)) for v in (q, qd, third)]
    expected = np.asarray(parts(made.algorithm(moved, *row))[1], dtype=float)
    assert error(dy, expected) < 1e-13
    w = rng.normal(size=model.nv)
    g = reverse(q, qd, third, *values.values(), w)
    assert g._fields == tuple(values)
    assert abs(inner([w], [dy]) - inner(g, dx)) < 1e-11 * max(map(np.linalg.norm, g))


def test_symbols(rng):
    m, length = sp.symbols("m length", positive=True)
    builder = sixd.ModelBuilder("pendulum")
    builder.add_body("bob", "world", sixd.Revolute("y"), inertia=sixd.Inertia(m, [0, 0, -length]))
    model = builder.build()
    kernel = sixd.vjp(sixd.forward_dynamics, model, parameters=("m", "length"))
    g = kernel([0.4], [0.3], [0.7], 2.0, 1.5, [1.0])
    assert g._fields == ("q", "qd", "tau", "m", "length")
    # qdd = tau/(m l²) - g/l sin q
    s, gravity = np.sin(0.4), -float(model.gravity[2])
    expected = [
        -gravity / 1.5 * np.cos(0.4),
        0,
        1 / 4.5,
        -0.7 / (4 * 2.25),
        -2 * 0.7 / (2 * 1.5**3) + gravity * s / 2.25,
    ]
    assert error(flat(g), np.array(expected)) < 1e-13


# users' functions -----------------------------------------------------------------------------------


def reach(q, qd, goal, model):
    """A cost: the distance of the last body from a goal, and the power."""
    p = sixd.pose(model, q, model.body_names[-1])[:3, 3]
    qdd = sixd.forward_dynamics(model, q, qd, qd * 0)
    return (p - goal) @ (p - goal) + sixd.where(q[0] > 0, qd @ qdd, 0)


def test_own_function(rng):
    model = sixd.zoo.ur_arm()
    q, qd, goal = rng.uniform(0.1, 1, 6), rng.normal(size=6), rng.normal(size=3)
    kernel = sixd.vjp(reach, model, shapes={"goal": (3,)})
    value = sixd.compile(reach, model, shapes={"goal": (3,)})
    assert kernel.inputs == ("q", "qd", "goal", "w")
    g = kernel(q, qd, goal, 2.0)
    h = 1e-6
    for k, found in enumerate(g):
        x = [q, qd, goal]
        for j, e in enumerate(np.eye(len(x[k]))):
            ahead, behind = (value(*(v + s * e if i == k else v for i, v in enumerate(x))) for s in (h, -h))
            assert abs(found[j] - 2 * (ahead - behind) / (2 * h)) < 1e-6 * max(1, np.abs(found).max())


def test_several_functions(rng):
    model = sixd.zoo.planar(3)
    q, qd, d, dd = rng.normal(size=(4, 3))
    kernel = sixd.vjp((sixd.mass_matrix, sixd.bias_force), model)
    assert kernel.inputs == ("q", "qd", "w0", "w1")
    W, w = rng.normal(size=(3, 3)), rng.normal(size=3)
    dM, dh = sixd.jvp((sixd.mass_matrix, sixd.bias_force), model)(q, qd, d, dd)
    assert abs(inner([W, w], [dM, dh]) - inner(kernel(q, qd, W, w), [d, dd])) < 1e-12


def test_own_joint(rng):
    builder = sixd.ModelBuilder("bead")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.Inertia(1.5, [0, 0, 0]))
    model = builder.build()
    x = rng.normal(size=(3, 1))
    derivatives = sixd.inverse_dynamics_derivatives(model, *x)
    found = sixd.vjp(sixd.inverse_dynamics, model)(*x, [1.0])
    assert error(flat(found), flat(tuple(derivatives))) < 1e-13


def test_kernels_of_kernels(rng):
    """A kernel of derivatives can be differentiated, compiled with other functions, and used in a function."""
    model = sixd.zoo.planar(2)
    gradient = sixd.vjp(sixd.energy, model, by="q")
    assert gradient.inputs == ("q", "qd", "w0", "w1")
    second = sixd.jvp(gradient, model, by="q")
    q, qd, dq = rng.normal(size=(3, 2))
    h = 1e-6
    expected = (gradient(q + h * dq, qd, 1, 1) - gradient(q - h * dq, qd, 1, 1)) / (2 * h)
    assert error(second(q, qd, 1.0, 1.0, dq), expected) < 1e-7
    inside = sixd.compile(lambda q, qd: gradient(2 * q, qd, 1, 1), model)
    assert error(inside(q, qd), gradient(2 * q, qd, 1.0, 1.0)) < 1e-14
    twice = sixd.jvp(sixd.jvp(sixd.inverse_dynamics, model, by="qd"), model, by=("qd", "d_qd"))
    assert twice.inputs == ("q", "qd", "qdd", "d_qd", "d_qd_", "d_d_qd")


# second order ---------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("name", KINDS)
@both
def test_second_order(name, way, rng):
    """For every joint type: hvp against differences of vjp, in all inputs at once."""
    model, function = MODELS[name], DYNAMICS[way]
    first, second = sixd.vjp(function, model), sixd.hvp(function, model)
    assert second.inputs == (*first.inputs, *(f"d_{n}" for n in first.inputs[:3]))
    q, qd, x = next(states(model, rng))
    qd = np.where(np.abs(qd) < 0.1, 0.5, qd)  # friction is discontinuous at rest
    w, (dq, dqd, dx), f_ext = rng.normal(size=model.nv), rng.normal(size=(3, model.nv)), rng.normal(size=(model.nb, 6))
    found = second(q, qd, x, w, dq, dqd, dx, f_ext=f_ext)
    h = 1e-6
    ahead, behind = (first(model.integrate(q, s * dq), qd + s * dqd, x + s * dx, w, f_ext=f_ext) for s in (h, -h))
    assert found._fields == first.inputs[:3]
    expected = tuple((a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True))
    assert error(flat(found), flat(expected)) < 1e-7


@pytest.mark.long
@both
def test_hessian(way, rng):
    """Columns are products of hvp, and sum up to the full second derivatives; symmetric without quaternions."""
    for model in (sixd.zoo.planar(2), single_joint("spherical")):
        function, n = DYNAMICS[way], 3 * model.nv
        w, state = (
            rng.normal(size=model.nv),
            (model.random_configuration(rng, size=4), *rng.normal(size=(2, 4, model.nv))),
        )
        H = sixd.hessian(function, model, weight=w)(*state)
        full = sixd.hessian(function, model)(*state)
        assert H.shape == (4, n, n)
        assert full.shape == (4, model.nv, n, n)
        assert error(np.einsum("i,kiab->kab", w, full), H) < 1e-13
        second = sixd.hvp(function, model)
        for k in range(n):
            along = np.split(np.eye(n)[k], 3)
            assert error(np.concatenate(second(*state, w, *along), axis=-1), H[..., k]) < 1e-12
        if model.nq == model.nv:
            assert error(H, np.swapaxes(H, -1, -2)) < 1e-12


def test_hessian_of_an_energy_and_parameters(rng):
    """∂²/∂qd² of the kinetic energy is M; it is linear in the inertias."""
    model = sixd.zoo.panda_arm()
    q, qd = rng.normal(size=(2, 7))
    H = sixd.hessian(sixd.energy, model, weight=(1.0, 0.0), by="qd")(q, qd)
    assert error(H, sixd.mass_matrix(model, q)) < 1e-13
    bodies = np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]], dtype=float)
    kernel = sixd.hvp(sixd.energy, model, parameters=("inertia",), by=("qd", "inertia"))
    d, moved = rng.normal(size=7), rng.normal(size=bodies.shape)
    found = kernel(q, qd, bodies, 1.0, 0.0, d, 0 * moved)
    assert error(found.qd, sixd.mass_matrix(model, q) @ d) < 1e-13
    assert abs(np.sum(found.inertia * bodies) - qd @ sixd.mass_matrix(model, q) @ d) < 1e-11


def test_hessian_hostile():
    model = sixd.zoo.planar(2)
    with pytest.raises(ShapeError, match="weight has shape"):
        sixd.hessian(sixd.inverse_dynamics, model, weight=[1, 2, 3])
    with pytest.raises(ShapeError, match="weight has shape"):
        sixd.hessian(sixd.energy, model, weight=1.0)
    with pytest.raises(ScalarTypeError, match="weight"):
        sixd.hessian(sixd.inverse_dynamics, model, weight="all")


# arrays ---------------------------------------------------------------------------------------------


def test_batches_and_out(rng):
    model = MODELS["free"]
    kernel = sixd.vjp(sixd.inverse_dynamics, model)
    q = model.random_configuration(rng, size=(3, 5))
    qd, qdd, w = rng.normal(size=(5, model.nv)), rng.normal(size=(3, 1, model.nv)), rng.normal(size=model.nv)
    found = kernel(q, qd, qdd, w)
    assert [g.shape for g in found] == [(3, 5, model.nv)] * 3
    for i, j in np.ndindex(3, 5):
        row = kernel(q[i, j], qd[j], qdd[i, 0], w)
        assert max(map(error, (g[i, j] for g in found), row)) < 1e-13
    out = tuple(np.empty_like(g) for g in found)
    assert kernel(q, qd, qdd, w, out=out) is out
    assert all(np.array_equal(a, b) for a, b in zip(out, found, strict=True))


def test_float32(rng):
    model = sixd.zoo.panda_arm()
    q, qd, qdd, w = rng.normal(size=(4, 7))
    single = sixd.vjp(sixd.inverse_dynamics, model, dtype="float32")
    found = single(*(x.astype("float32") for x in (q, qd, qdd, w)))
    exact = sixd.vjp(sixd.inverse_dynamics, model)(q, qd, qdd, w)
    assert all(x.dtype == np.float32 for x in found)
    assert max(map(error, found, exact)) < 1e-5  # of single precision


@both
def test_nan_stays_in_its_sample(way, rng):
    model = MODELS["free"]
    kernel = sixd.vjp(DYNAMICS[way], model)
    q, (qd, x, w) = model.random_configuration(rng, size=9), rng.normal(size=(3, 9, model.nv))
    before = kernel(q, qd, x, w)
    qd[4, 0] = np.nan
    after = kernel(q, qd, x, w)
    rest = np.arange(9) != 4
    assert all(np.array_equal(a[rest], b[rest]) for a, b in zip(before, after, strict=True))
    assert np.isnan(after.q[4]).any()


@needs_cc
def test_c_export(rng, tmp_path):
    model = MODELS["spherical"]
    kernel = sixd.vjp(sixd.forward_dynamics, model)
    code = sixd.export_c(kernel, model)
    assert code.name == "forward_dynamics_vjp"
    x = (model.random_configuration(rng), *rng.normal(size=(3, model.nv)))
    found = call(build(code, tmp_path), kernel.program, *x)
    assert max(map(error, found, kernel(*x))) < 1e-12


def test_no_degrees_of_freedom():
    builder = sixd.ModelBuilder("block")
    builder.add_body("block", "world", sixd.Fixed(), inertia=sixd.Inertia(1, [0, 0, 0]))
    model = builder.build()
    assert not sixd.vjp(sixd.energy, model, by="q")(np.zeros(0), np.zeros(0), 1.0, 1.0).size
    assert not sixd.jvp(sixd.inverse_dynamics, model)(*[np.zeros(0)] * 6).size


# operations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "most"), [("inverse", 2.7), ("forward", 2.1)])
def test_operations(way, most):
    """A gradient needs at most so many times the operations of the function; forward dynamics uses the implicit rule."""
    for model in (sixd.zoo.ur_arm(), sixd.zoo.panda_arm(), MODELS["tree0"]):
        own = sixd.compile(DYNAMICS[way], model).program.operations
        assert sixd.vjp(DYNAMICS[way], model).program.operations <= most * own


def test_implicit_rule_inside_a_function(rng):
    """The values that a function computes from accelerations are the usual ones, and so are second derivatives."""
    model = MODELS["spherical"]
    kernel = sixd.vjp(sixd.forward_dynamics, model, by=("q", "tau"))
    q, qd, tau, w, dq = model.random_configuration(rng), *rng.normal(size=(4, model.nv))
    second = sixd.jvp(kernel, model, by="q")(q, qd, tau, w, dq)
    h = 1e-6
    ahead, behind = (kernel(model.integrate(q, s * dq), qd, tau, w) for s in (h, -h))
    for found, a, b in zip(second, ahead, behind, strict=True):
        assert error(found, (a - b) / (2 * h)) < 1e-7

    def power(q, qd, tau, model):
        qdd = sixd.forward_dynamics(model, q, qd, tau)
        return sixd.spatial.sin(qdd @ sixd.mass_matrix_solve(model, q, qdd))

    found = sixd.vjp(power, model)(q, qd, tau, 1.0)
    value = sixd.compile(power, model)
    E = 1e-6 * np.eye(model.nv)
    expected = (value(q, qd, tau + E) - value(q, qd, tau - E)) / 2e-6
    assert error(found.tau, expected) < 1e-6 * max(1, np.abs(found.tau).max())  # nonlinear: truncation


# invalid arguments ----------------------------------------------------------------------------------


def test_invalid_arguments():
    model = sixd.zoo.planar(2)
    x = np.zeros(2)
    for make in (sixd.jvp, sixd.vjp, sixd.hvp, sixd.hessian):
        word = make.__name__
        for arguments, text in {
            "no function": ((3, model), "function is 3, expected a function"),
            "no model": ((sixd.inverse_dynamics, "arm"), word),
            "nothing": (((), model), "got no function"),
        }.values():
            with pytest.raises(SixdError, match=text):
                make(*arguments)
        for options, text in [
            ({"by": "tau"}, "by"), ({"by": ()}, "expected names of inputs, each once: q, qd, qdd"),
            ({"by": ("q", "q")}, "each once"), ({"by": ("q", 3)}, "by"), ({"by": 5}, "by is 5, expected names"),
            ({"f_ext": "yes"}, "f_ext is 'yes', expected True"), ({"parameters": ("mass",)}, "parameters"),
            ({"parameters": "inertia"}, "expected names in a tuple"), ({"dtype": "int8"}, "dtype"),
            ({"frame": "tool"}, "frame"), ({"shapes": {"z": (3,)}}, "shapes"),
        ]:  # fmt: skip
            with pytest.raises(SixdError, match=text):
                make(sixd.inverse_dynamics, model, **options)
        with pytest.raises(ScalarTypeError, match="takes no external forces"):
            make(sixd.mass_matrix, model, f_ext=True)
        with pytest.raises(ScalarTypeError, match="has no inputs"):
            make(lambda: 1.0, model)
        with pytest.raises(TraceError, match="Is a return missing"):
            make(lambda q: None, model)
        with pytest.raises(TraceError, match="condition"):
            make(lambda q: q[0] > 0, model)
        with pytest.raises(ScalarTypeError, match="another model"):
            make(sixd.vjp(sixd.mass_matrix, sixd.zoo.planar(2)), model)
    kernel = sixd.vjp(sixd.inverse_dynamics, model)
    with pytest.raises(ShapeError, match="w"):
        kernel(x, x, x, np.zeros(3))
    with pytest.raises(ScalarTypeError, match="expected 4: q, qd, qdd, w"):
        kernel(x, x, x)
    with pytest.raises(ScalarTypeError, match="SymPy"):
        kernel(sp.symbols("a b"), x, x, x)
    m = sp.Symbol("m")
    builder = sixd.ModelBuilder("unknown mass")
    builder.add_body("bob", "world", sixd.Revolute("y"), inertia=sixd.Inertia(m, [0, 0, -1]))
    with pytest.raises((ModelError, ScalarTypeError), match="m"):
        sixd.vjp(sixd.inverse_dynamics, builder.build())


def test_gradients_can_be_pickled():
    model = sixd.zoo.cart_pole()
    found = sixd.vjp(sixd.inverse_dynamics, model)([0, 0.3], [0, 1], [0.1, 0], [1, 1])
    again = pickle.loads(pickle.dumps(found))
    assert again._fields == found._fields == ("q", "qd", "qdd")
    assert np.array_equal(again.q, found.q)
