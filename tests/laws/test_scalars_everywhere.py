"""The algorithms run unchanged on floats, on SymPy symbols and on scalars whose values are hidden."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from samples import KINDS, single_joint
from scalars import Opaque, hide, reveal

pytestmark = pytest.mark.targets("plain")  # compiling for each model would take minutes and show nothing more

MODELS = {kind: single_joint(kind) for kind in KINDS}
each_kind = pytest.mark.parametrize("kind", KINDS)

CALLS = {
    "inverse_dynamics": lambda m, q, qd, x, f: sixd.inverse_dynamics(m, q, qd, x, f_ext=f),
    "forward_dynamics": lambda m, q, qd, x, f: sixd.forward_dynamics(m, q, qd, x, f_ext=f),
    "hybrid_dynamics": lambda m, q, qd, x, f: np.concatenate(sixd.hybrid_dynamics(m, ["joint2"], q, qd, x, x, f_ext=f)),
    "mass_matrix": lambda m, q, qd, x, f: sixd.mass_matrix(m, q),
    "coriolis_matrix": lambda m, q, qd, x, f: sixd.coriolis_matrix(m, q, qd),
    "christoffel": lambda m, q, qd, x, f: sixd.christoffel(m, q),
    "bias_force": lambda m, q, qd, x, f: sixd.bias_force(m, q, qd),
    "gravity_force": lambda m, q, qd, x, f: sixd.gravity_force(m, q),
    "energy": lambda m, q, qd, x, f: np.array(sixd.energy(m, q, qd)),
    "momentum": lambda m, q, qd, x, f: sixd.momentum(m, q, qd),
    "energy of bodies": lambda m, q, qd, x, f: np.array(sixd.energy(m, q, qd, per="subtree")),
    "momentum of bodies": lambda m, q, qd, x, f: sixd.momentum(m, q, qd, per="body"),
    "newton_euler": lambda m, q, qd, x, f: sixd.newton_euler(m, q, qd, x, f_ext=f, expressed_in="world").n,
    "joint_reactions": lambda m, q, qd, x, f: sixd.joint_reactions(m, q, qd, x, f_ext=f, expressed_in="aligned"),
    "center_of_mass": lambda m, q, qd, x, f: sixd.center_of_mass(m, q),
    "centroidal_matrix": lambda m, q, qd, x, f: sixd.centroidal_matrix(m, q),
    "composite_inertia": lambda m, q, qd, x, f: sixd.composite_inertia(m, q),
    "inverse_mass_matrix": lambda m, q, qd, x, f: sixd.inverse_mass_matrix(m, q),
    "mass_matrix_solve": lambda m, q, qd, x, f: sixd.mass_matrix_solve(m, q, x),
    "pose": lambda m, q, qd, x, f: sixd.pose(m, q, "frame2"),
    "body_poses": lambda m, q, qd, x, f: sixd.body_poses(m, q),
    "jacobian": lambda m, q, qd, x, f: sixd.jacobian(m, q, "frame2", expressed_in="aligned"),
    "jacobian_rate": lambda m, q, qd, x, f: sixd.jacobian_rate(m, q, qd, "frame2", expressed_in="world"),
    "velocity": lambda m, q, qd, x, f: sixd.velocity(m, q, qd, "frame2", expressed_in="aligned"),
    "acceleration": lambda m, q, qd, x, f: sixd.acceleration(m, q, qd, x, "frame2", kind="classical"),
    "inverse_operational_inertia": lambda m, q, qd, x, f: sixd.inverse_operational_inertia(m, q, "frame2"),
    "external_force": lambda m, q, qd, x, f: sixd.external_force(m, q, "frame2", f[0], expressed_in="body"),
}


def sample(model, rng):
    q = model.random_configuration(rng)
    qd, x = rng.uniform(-2, 2, (2, model.nv))
    return q, qd, x, rng.uniform(-2, 2, (model.nb, 6))


@pytest.mark.many
@each_kind
@pytest.mark.parametrize("call", CALLS)
def test_opaque_scalars(kind, call, rng):
    """Every function computes on every joint type with scalars that raise if their value is read."""
    model, arguments = MODELS[kind], sample(MODELS[kind], rng)
    expected = CALLS[call](model, *arguments)
    got = CALLS[call](model, *(hide(a) for a in arguments))
    assert got.dtype == object
    assert_allclose(reveal(got), expected, rtol=1e-12, atol=1e-12)


def test_opaque_scalar_refuses_to_be_looked_at():
    """The scalar of the test above can fail: its truth, value and order raise."""
    x = Opaque(1.0)
    for look in (bool, float, lambda x: x < 1, lambda x: x == 1, lambda x: np.where(np.array([x]) > 0, 1, 2)):
        with pytest.raises(TypeError, match="looked at"):
            look(x)


@pytest.mark.many
@each_kind
def test_sympy_symbols(kind, rng):
    """Inverse dynamics, M and pose on symbols, with numbers substituted afterwards, equal those on floats."""
    model = sixd.zoo.random_tree(3, kinds=(kind,), passive=False)
    q, qd, qdd, _ = sample(model, rng)
    names = [np.array(sp.symbols(f"{n}:{len(v)}"), dtype=object) for n, v in (("q", q), ("u", qd), ("a", qdd))]
    values = dict(zip(np.concatenate(names), np.concatenate([q, qd, qdd]), strict=True))
    for symbolic, numeric in (
        (sixd.inverse_dynamics(model, *names), sixd.inverse_dynamics(model, q, qd, qdd)),
        (sixd.mass_matrix(model, names[0]), sixd.mass_matrix(model, q)),
        (sixd.pose(model, names[0], "frame1"), sixd.pose(model, q, "frame1")),
    ):
        function = sp.lambdify(list(values), symbolic.ravel().tolist(), cse=True)
        assert_allclose(np.reshape(function(*values.values()), numeric.shape), numeric, rtol=1e-10, atol=1e-10)


def test_symbolic_2r_arm_gives_the_textbooks_equations():
    """RNEA on a 2R arm with symbolic parameters equals the 2R row of the Lagrangian table, exactly."""
    m1, m2, I1, I2, r1, r2, L1, g = sp.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)
    q1, q2, u1, u2, a1, a2 = sp.symbols("q1 q2 u1 u2 a1 a2", real=True)
    arm = sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g)
    tau = sixd.inverse_dynamics(arm, [q1, q2], [u1, u2], [a1, a2])
    M11 = I1 + I2 + m1 * r1**2 + m2 * (L1**2 + r2**2 + 2 * L1 * r2 * sp.cos(q2))
    M12, M22 = I2 + m2 * (r2**2 + L1 * r2 * sp.cos(q2)), I2 + m2 * r2**2
    h = m2 * L1 * r2 * sp.sin(q2)
    c1, c12 = sp.cos(q1), sp.cos(q1 + q2)
    expected = [
        M11 * a1 + M12 * a2 - h * (2 * u1 * u2 + u2**2) + g * ((m1 * r1 + m2 * L1) * c1 + m2 * r2 * c12),
        M12 * a1 + M22 * a2 + h * u1**2 + g * m2 * r2 * c12,
    ]
    for got, want in zip(tau, expected, strict=True):
        assert sp.simplify(sp.expand_trig(got - want)) == 0
        assert not got.atoms(sp.Float)  # exact, not 1.0
    M = sixd.mass_matrix(arm, [q1, q2])
    assert sp.simplify(sp.expand_trig(M[0, 0] - M11)) == 0
    assert sp.simplify(sp.expand_trig(M[0, 1] - M12)) == 0
    qdd = sixd.forward_dynamics(arm, [q1, q2], [u1, u2], tau)
    point = {m1: 2, m2: 3, I1: 4, I2: 5, r1: 1, r2: 2, L1: 3, g: 9, q1: 0.3, q2: 0.5, u1: 1, u2: -2, a1: 0.4, a2: 0.6}
    assert_allclose([float(x.subs(point)) for x in qdd], [0.4, 0.6], atol=1e-12)


def test_symbolic_model_with_floats_names_its_symbols(rng):
    """Floats with a symbolic model raise an error that names the symbols; substitute makes the model numeric."""
    m, length = sp.symbols("m l")
    model = sixd.zoo.pendulum(2, length, m)
    with pytest.raises(sixd.ScalarTypeError, match=r"symbolic parameters l, m.*substitute"):
        sixd.inverse_dynamics(model, [0.1, 0.2], [0, 0], [0, 0])
    numeric = model.substitute({m: 2.0, "l": 0.5})
    assert not numeric.symbols
    reference = sixd.zoo.pendulum(2, 0.5, 2.0)
    q, qd, qdd = rng.normal(size=(3, 2))
    assert_allclose(
        sixd.inverse_dynamics(numeric, q, qd, qdd), sixd.inverse_dynamics(reference, q, qd, qdd), atol=1e-14
    )
    with pytest.raises(sixd.UnknownNameError, match="no symbol named 'mm'. Did you mean 'm'?"):
        model.substitute({"mm": 1.0})


def test_symbols_in_joints_and_placements():
    """Axis, pitch, radius and placement may be symbols too, and are substituted."""
    p, r, x, alpha = sp.symbols("p r x alpha")
    builder = sixd.ModelBuilder("s")
    builder.add_body("a", "world", sixd.Helical("z", p), inertia=sixd.point(1.0, (x, 0, 0)))
    builder.add_body(
        "b", "a", sixd.RackAndPinion(r), placement=sixd.placement((x, 0, 0)), inertia=sixd.point(1, (0, 0, 1))
    )
    builder.add_frame("f", "b", sixd.placement((0, 0, x), rpy=(alpha, 0, 0)))
    model = builder.build()
    assert [str(s) for s in model.symbols] == ["alpha", "p", "r", "x"]
    q = sp.symbols("q0:2")
    tau = sixd.inverse_dynamics(model, q, [0, 1], [1, 0])
    values = {p: 0.1, r: 0.2, x: 0.3, alpha: 0.4}
    numeric = model.substitute(values)
    got = [float(t.subs(values).subs({q[0]: 0.4, q[1]: 0.5})) for t in tau]
    assert_allclose(got, sixd.inverse_dynamics(numeric, [0.4, 0.5], [0, 1], [1, 0]), atol=1e-12)


def test_a_missing_function_of_a_scalar_is_named():
    """The error for a scalar that lacks a function names the function."""

    class Bare(Opaque):
        sign = None

    model = MODELS["revolute"]
    q = model.neutral()
    qd = np.array([Bare(1.0), Bare(2.0)], dtype=object)
    with pytest.raises(sixd.ScalarTypeError, match=r"sign: a scalar of type (Bare|Opaque) has no method 'sign'"):
        sixd.bias_force(model, q, qd)
