"""sixd.torch on the CPU: values, gradients of both orders, torch.compile, vmap, and hostile arguments.

gradcheck compares with central differences of 1e-6, good to some 1e-7 of the function: its own tolerances, 1e-5 absolute
and 1e-3 relative, hold here; those of second derivatives are the same.
"""

import dataclasses
import gc
import itertools
import pickle
import warnings
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make ml")

import sixd  # noqa: E402
import sixd.torch as st  # noqa: E402
from samples import KINDS, single_joint  # noqa: E402
from sixd.engine.functions import LIBRARY  # noqa: E402
from sixd.model.memo import known_of  # noqa: E402
from sixd.torch import operators, rollouts  # noqa: E402

gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
each_kind = pytest.mark.parametrize("kind", KINDS)
HARD = ("free", "spherical")  # joints with quaternions
DT = 0.02


def smooth(model):
    """The model without dry friction, whose steps are functions."""
    return dataclasses.replace(model, friction=0 * model.friction)


def tensors(model, seed=0, rows=2, count=3, scale=1.3, grad=True):
    """A configuration, with quaternions that are not unit, and arrays (rows, nv)."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng, size=rows)
    q = q * (scale if model.nq != model.nv else 1.0)
    found = [q, *rng.uniform(-1, 1, (count - 1, rows, model.nv))]
    return [torch.tensor(x, requires_grad=grad) for x in found]


# values -------------------------------------------------------------------------------------------


def arguments(name, model):
    """Arguments of a function of the library: arrays by their shapes, a frame, some joints."""
    rng, found = np.random.default_rng(1), {}
    declared = LIBRARY[name]
    for array in declared.arrays:
        core = declared.core(model, array)
        is_q = declared.shape(array) == ("nq",)
        found[array] = model.random_configuration(rng, size=3) if is_q else rng.uniform(-1, 1, (3, *core))
    if "frame" in declared.choices:
        found["frame"] = model.frame_names[-1]
    if "given" in declared.choices:
        found["given"] = [model.joint_names[0]]
    return found


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_values_are_those_of_sixd(name):
    model = sixd.zoo.four_bar() if "constrain" in name or name == "projections" else sixd.zoo.random_tree(0)
    if name == "operational_inertia":
        model = sixd.zoo.random_tree(3, kinds=("free", "revolute"))
    given = arguments(name, model)
    own = {"integrate": lambda m, **x: m.integrate(**x), "difference": lambda m, **x: m.difference(**x)}
    there = own.get(name) or getattr(sixd, name)
    expected = there(model, **given)
    if name == "newton_euler":
        expected = expected.raw
    found = getattr(st, name)(
        model, **{k: torch.tensor(x) if isinstance(x, np.ndarray) else x for k, x in given.items()}
    )
    several = isinstance(expected, tuple)
    for x, y in zip(found if several else [found], expected if several else [expected], strict=True):
        assert isinstance(x, torch.Tensor)
        np.testing.assert_array_equal(x.numpy(), y)
    if several and hasattr(expected, "_fields"):
        assert found._fields == expected._fields


def test_every_function_of_the_library_is_there():
    assert set(LIBRARY) <= set(st.__all__)
    assert all(getattr(st, name).__doc__ for name in st.__all__)


def test_float32_and_leading_dimensions():
    model = sixd.zoo.random_tree(0)
    q, qd = tensors(model, rows=6, count=2, scale=1.0, grad=False)
    q, qd = q.float().reshape(2, 3, -1), qd.float()[:3]
    found = st.bias_force(model, q, qd)
    assert found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), sixd.bias_force(model, q.numpy(), qd.numpy()))


def test_strided_and_expanded_tensors():
    model = sixd.zoo.planar(3)
    q, qd, qdd = tensors(model, rows=4, grad=False)
    wide = torch.stack([q, qd, qdd], dim=-1)
    found = st.inverse_dynamics(model, wide[..., 0], wide[..., 1], qdd[:1].expand(4, -1))
    np.testing.assert_array_equal(found, sixd.inverse_dynamics(model, *map(np.asarray, (q, qd, qdd[:1]))))


def test_other_arguments_become_tensors():
    model = sixd.zoo.planar(2)
    q = torch.tensor([0.3, 0.5], dtype=torch.float64)
    found = st.inverse_dynamics(model, q, [1, -2], np.array([0.4, 0.6]))
    np.testing.assert_allclose(found, [1.480974, 0.748563], atol=1e-6)  # as the docs print it


# gradients ----------------------------------------------------------------------------------------


@each_kind
def test_gradients_of_dynamics(kind):
    """Inverse and forward dynamics, both orders, by everything."""
    model = single_joint(kind)
    q, qd, a = tensors(model)
    for function in (st.inverse_dynamics, st.forward_dynamics):
        one = lambda q, qd, a: function(model, q, qd, a)  # noqa: B023, E731
        assert gradcheck(one, (q, qd, a))
        assert gradgradcheck(one, (q, qd, a))


@each_kind
@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_gradients_of_a_step(kind, method):
    model = smooth(single_joint(kind))
    state = tensors(model, rows=1)

    def one(q, qd, tau):
        return st.step(model, q, qd, DT, tau=tau, method=method)

    assert gradcheck(one, state)
    if method == "euler" or kind in HARD:
        assert gradgradcheck(one, state)


@each_kind
def test_gradients_of_a_rollout(kind):
    """Dry friction included, which the random tree has."""
    model = single_joint(kind)
    q, qd, _ = tensors(model, rows=2)
    controls = torch.tensor(np.random.default_rng(3).uniform(-1, 1, (2, 3, model.nv)), requires_grad=True)
    assert gradcheck(lambda *x: tuple(st.rollout(model, *x, DT)), (q, qd, controls))


@pytest.mark.parametrize("name", ["pose", "jacobian", "velocity", "acceleration", "momentum", "energy", "mass_matrix"])
def test_gradients_of_other_functions(name):
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))
    given = arguments(name, model)
    arrays = [torch.tensor(given.pop(n) * 1.1, requires_grad=True) for n in LIBRARY[name].arrays]
    assert gradcheck(lambda *x: getattr(st, name)(model, *x, **given), arrays)


def test_gradients_of_configurations():
    """Results of unit length have the derivative of the projection."""
    model = single_joint("free")
    q, dq = tensors(model, count=2)
    assert gradcheck(lambda q, dq: st.integrate(model, q, dq), (q, dq))
    other = (2 * st.integrate(model, q, dq)).detach().requires_grad_()
    assert gradcheck(lambda q, other: st.difference(model, q, other), (q, other))
    (found,) = torch.autograd.grad(st.integrate(model, q, dq).sum(), q)
    for i in model.bodies:
        if isinstance(model.joints[i], sixd.Free):
            radial = (found * q)[:, model.iq[i]][:, :4].sum(dim=-1)
            assert radial.abs().max() < 1e-12  # a longer quaternion is the same


def test_ambient_gradient_from_the_tangent_space():
    """2 Q g / (q·q) of a quaternion, R g of a free joint's position, where g is the gradient of sixd.vjp."""
    model = sixd.zoo.random_tree(2, kinds=("free",))
    q, qd, qdd = tensors(model, rows=1)
    w = torch.ones(1, model.nv, dtype=torch.float64)
    (found,) = torch.autograd.grad(st.inverse_dynamics(model, q, qd, qdd), q, w)
    g = sixd.vjp(sixd.inverse_dynamics, model, by="q")(*(x.detach().numpy() for x in (q, qd, qdd, w)))[0]
    x, f = q.detach().numpy()[0], found.numpy()[0]
    for i in model.bodies:
        a, (w_, p) = x[model.iq[i]][:4], (g[model.iv[i]][:3], g[model.iv[i]][3:])
        product = [sixd.spatial.quaternion_multiply(a, np.eye(4)[k + 1]) for k in range(3)]
        np.testing.assert_allclose(f[model.iq[i]][:4], 2 * np.array(product).T @ w_ / (a @ a), atol=1e-10)
        np.testing.assert_allclose(f[model.iq[i]][4:], sixd.spatial.quaternion_to_rotation(a) @ p, atol=1e-10)


@pytest.mark.parametrize("name", ["inertia", "gravity", "damping", "armature"])
def test_gradients_by_parameters(name):
    model = smooth(single_joint("revolute"))
    values = {
        "inertia": np.array([sixd.Inertia.from_matrix(x).parameters for x in model.inertia[1:]]),
        "gravity": model.gravity,
        "damping": model.damping,
        "armature": model.armature,
    }
    p = torch.tensor(np.array(values[name], dtype=float)[None].repeat(2, 0) * 1.05, requires_grad=True)
    q, qd, a = (x.detach() for x in tensors(model))
    for function in (st.inverse_dynamics, st.forward_dynamics):
        assert gradcheck(lambda p: function(model, q, qd, a, parameters={name: p}), (p,))  # noqa: B023
    assert gradcheck(lambda p: st.step(model, q, qd, DT, tau=a, parameters={name: p}), (p,))
    controls = a[:, None].repeat(1, 2, 1)
    assert gradcheck(lambda p: tuple(st.rollout(model, q, qd, controls, DT, parameters={name: p})), (p,))
    one = p.detach()[0].requires_grad_()  # for all rows
    assert gradcheck(lambda p: tuple(st.rollout(model, q, qd, controls, DT, parameters={name: p})), (one,))


def test_gradients_by_external_forces():
    model = smooth(single_joint("free"))
    q, qd, a = (x.detach() for x in tensors(model))
    force = torch.tensor(np.random.default_rng(5).uniform(-1, 1, (2, model.nb, 6)), requires_grad=True)
    assert gradcheck(lambda f: st.inverse_dynamics(model, q, qd, a, f_ext=f), (force,))
    assert gradcheck(lambda f: st.step(model, q, qd, DT, f_ext=f), (force,))
    assert gradcheck(lambda f: tuple(st.rollout(model, q, qd, a[:, None], DT, f_ext=f)), (force,))


def test_gradients_are_summed_where_tensors_were_broadcast():
    model = sixd.zoo.planar(2)
    q, qd, a = tensors(model, rows=3)
    one = qd.detach()[0].clone().requires_grad_()
    assert gradcheck(lambda q, qd, a: st.forward_dynamics(model, q[:, None], qd, a), (q, one, a))


def test_by_the_step():
    model = smooth(single_joint("revolute"))
    q, qd, _ = (x.detach() for x in tensors(model))
    dt = torch.tensor(DT, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda dt: st.step(model, q, qd, dt), (dt,))


# motions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["euler", "rk4", "midpoint", "implicit"])
@pytest.mark.parametrize("friction", [False, True])
def test_steps_and_rollouts_are_those_of_simulations(method, friction):
    model = single_joint("spherical")
    model = model if friction else smooth(model)
    q, qd, tau = tensors(model, grad=False)
    motion = st.rollout(model, q, qd, tau[:, None].expand(-1, 5, -1), DT, method=method)
    expected = sixd.simulate(model, q.numpy(), qd.numpy(), 5 * DT, dt=DT, controller=tau.numpy(), method=method)
    # the midpoint rule of simulations has momenta as its state, and iterates to 1e-12; in line, sums are taken in another order
    np.testing.assert_allclose(motion.q, expected.q, atol=1e-9 if method == "midpoint" else 1e-13)
    np.testing.assert_allclose(motion.qd, expected.qd, atol=1e-9 if method == "midpoint" else 1e-12)
    one = st.step(model, q, qd, DT, tau=tau, method=method)
    for x, y in zip(one, (motion.q[:, 1], motion.qd[:, 1]), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-13)
    policy = st.rollout(model, q, qd, lambda t, q, qd: tau, DT, steps=5, method=method)
    np.testing.assert_allclose(policy.q, motion.q, atol=1e-12)
    assert policy.qd.shape == motion.qd.shape


@pytest.mark.parametrize("method", ["midpoint", "implicit"])
def test_gradients_of_other_methods(method):
    model = smooth(single_joint("revolute"))
    q, qd, tau = tensors(model)
    # the midpoint rule iterates to 1e-12, of which differences see 1e-6
    assert gradcheck(lambda *x: st.step(model, *x[:2], DT, tau=x[2], method=method), (q, qd, tau))
    assert gradcheck(lambda *x: tuple(st.rollout(model, *x, DT, method=method)), (q, qd, tau[:, None]))


def test_forces_and_ground():
    """A ball falls onto rigid ground, and a spring pulls: the same as in a simulation, with gradients."""
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Prismatic("z"), inertia=sixd.sphere(0.1, mass=1.0))
    model = builder.build()
    forces = (sixd.RigidGround({"ball": [(0, 0, 0)]}, restitution=0.0),)
    q, qd = torch.tensor([[0.01]], dtype=torch.float64), torch.tensor([[-1.0]], dtype=torch.float64, requires_grad=True)
    motion = st.rollout(model, q, qd, torch.zeros(1, 10, 1, dtype=torch.float64), DT, forces=forces)
    expected = sixd.simulate(model, [[0.01]], [[-1.0]], 10 * DT, dt=DT, forces=forces)
    np.testing.assert_allclose(motion.q.detach(), expected.q, atol=1e-13)
    motion.q[:, -1].sum().backward()
    assert qd.grad is not None
    assert torch.isfinite(qd.grad).all()


def test_constraints():
    model = sixd.zoo.four_bar()
    start = sixd.assemble(model, [np.pi / 3, -0.5, 1.6], fixed=["crank"])
    q = torch.tensor(start[None])
    tau = torch.zeros(1, 4, model.nv, dtype=torch.float64, requires_grad=True)
    motion = st.rollout(model, q, torch.zeros(1, model.nv, dtype=torch.float64), tau, DT)
    assert st.constraint_error(model, motion.q).abs().max() < 1e-10
    assert gradcheck(lambda u: tuple(st.rollout(model, q, 0 * u[:, 0], u, DT)), (tau,))


def test_no_steps_and_no_rows():
    model = single_joint("free")
    q, qd, _ = tensors(model, rows=2)
    motion = st.rollout(model, q, qd, torch.zeros(0, model.nv, dtype=torch.float64), DT)
    assert motion.q.shape == (2, 1, model.nq)
    (found,) = torch.autograd.grad(motion.qd.sum(), qd)
    assert (found == 1).all()
    none = q.detach()[:0], qd.detach()[:0]
    assert st.rollout(model, *none, torch.zeros(3, model.nv, dtype=torch.float64), DT).q.shape == (0, 4, model.nq)
    assert st.inverse_dynamics(model, *none, none[1]).shape == (0, model.nv)


# transformations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(backend):
    """torch.compile(fullgraph=True): functions, steps and rollouts, forward and back."""
    model = smooth(single_joint("free"))
    q, qd, tau = tensors(model)

    def loss(model, q, qd, tau):
        qdd = st.forward_dynamics(model, q, qd, tau)
        q1, v1 = st.step(model, q, qd, DT, tau=tau)
        motion = st.rollout(model, q1, v1, torch.stack([tau, qdd], dim=-2), DT, method="euler")
        tip = st.pose(model, motion.q, model.frame_names[-1])
        return tip.square().sum() + motion.qd[..., -1, :].sin().sum() + sum(st.energy(model, q, qd)).sum()

    expected = torch.autograd.grad(loss(model, q, qd, tau), (q, qd, tau))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.compile(loss, fullgraph=True, backend=backend)
        try:
            value = made(model, q, qd, tau)
        except Exception as error:
            if backend == "inductor" and "compiler" in str(error).lower():
                pytest.skip(f"inductor finds no C++ compiler: {error!r:.80}")
            raise
        found = torch.autograd.grad(value, (q, qd, tau))
        for x, y in zip(found, expected, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)
        other = smooth(sixd.zoo.random_tree(8, kinds=("revolute", "free")))
        state = [x[:, :n] for x, n in zip(tensors(other), (other.nq, other.nv, other.nv), strict=True)]
        torch.testing.assert_close(made(other, *state), loss(other, *state))


def test_a_compiled_graph_keeps_its_model():
    made = torch.compile(lambda m, q: st.gravity_force(m, q).sin(), fullgraph=True, backend="aot_eager")
    q = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    model = sixd.zoo.planar(2)
    value = made(model, q)
    del model
    gc.collect()
    value.sum().backward()
    assert q.grad is not None


@pytest.mark.parametrize("dims", list(itertools.product([0, 1, None], repeat=2)))
def test_vmap(dims):
    if dims == (None, None):
        pytest.skip("vmap needs a mapped argument")
    model = smooth(single_joint("free"))
    q, qd, tau = tensors(model, rows=9, grad=False)
    q, qd = q.reshape(3, 3, -1), qd.reshape(3, 3, -1)  # either of the first two may be mapped

    def one(q, qd):
        motion = st.rollout(model, q, qd, torch.zeros(2, model.nv, dtype=torch.float64), DT)
        return st.inverse_dynamics(model, q, qd, tau[0]), *motion, *st.step(model, q, qd, DT)

    q = q if dims[0] is not None else q[0, 0]
    qd = qd if dims[1] is not None else qd[0, :1]
    found = torch.vmap(one, in_dims=dims)(q, qd)
    rows = [one(*(x if d is None else x.select(d, k) for x, d in zip((q, qd), dims, strict=True))) for k in range(3)]
    for k, x in enumerate(found):
        torch.testing.assert_close(x, torch.stack([row[k] for row in rows]), rtol=0, atol=0)


def test_jacobians_and_hessians_of_torch_func():
    model = smooth(single_joint("revolute"))
    q, qd, tau = (x.detach()[0] for x in tensors(model))
    slopes = sixd.forward_dynamics_derivatives(model, q.numpy(), qd.numpy(), tau.numpy())
    found = torch.func.jacrev(lambda *x: st.forward_dynamics(model, *x), argnums=(0, 1, 2))(q, qd, tau)
    for x, y in zip(found, slopes, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-10)
    _, along = torch.func.jvp(lambda *x: st.forward_dynamics(model, *x), (q, qd, tau), (tau, q, qd))
    expected = sum(x @ y for x, y in zip(found, (tau, q, qd), strict=True))
    torch.testing.assert_close(along, expected)
    batch = torch.vmap(torch.func.jacrev(lambda q: st.mass_matrix(model, q)))(torch.stack([q, 2 * q]))
    assert batch.shape == (2, model.nv, model.nv, model.nq)
    hessian = torch.func.jacrev(torch.func.jacrev(lambda q: st.energy(model, q, qd)[0]))(q)
    expected = sixd.hessian(sixd.energy, model, by="q", weight=(1.0, 0.0))(q.numpy(), qd.numpy())
    np.testing.assert_allclose(hessian, expected, atol=1e-10)
    controls = torch.zeros(3, model.nv, dtype=torch.float64)
    last = torch.func.jacrev(lambda u: st.rollout(model, q, qd, u, DT).q[-1])(controls)
    assert last.shape == (model.nq, 3, model.nv)


def test_opcheck():
    model = smooth(single_joint("free"))
    q, qd, tau = tensors(model)
    st.inverse_dynamics(model, q, qd, tau)
    (made,) = {x for x in known_of(model).values() if isinstance(x, operators.Call)}
    torch.library.opcheck(operators.operator, ([q, qd, tau], made.handle))
    gradient = made.gradient((0, 1))
    torch.library.opcheck(operators.operator, ([q, qd, tau, tau], gradient.handle))
    st.rollout(model, q, qd, tau[:, None], DT)
    (made,) = {x for x in known_of(model).values() if isinstance(x, rollouts.Rolled)}
    torch.library.opcheck(rollouts.operator, ([q, qd, tau[:, None]], made.handle, DT, 0.0))
    records = [x.detach() for x in rollouts.operator([q, qd, tau[:, None]], made.handle, DT, 0.0)]
    weights = [torch.ones_like(x) for x in records[:2]]
    given = [*records, tau.detach()[:, None], *weights]
    torch.library.opcheck(rollouts.gradient_operator, (given, made.handle, DT, 0.0))


# models -------------------------------------------------------------------------------------------


def test_models_are_not_kept():
    """Calls, gradients and rollouts leave nothing behind."""
    gc.collect()
    before = len(operators._CALLS)
    model = smooth(single_joint("free"))
    q, qd, tau = tensors(model)
    st.inverse_dynamics(model, q, qd, tau).sum().backward()
    sum(x.sum() for x in st.rollout(model, q, qd, tau[:, None], DT)).backward()
    st.step(model, q, qd, DT, parameters={"gravity": torch.zeros(3, dtype=torch.float64)})
    assert len(operators._CALLS) > before
    seen = weakref.ref(model)
    del model
    gc.collect()
    assert seen() is None
    assert len(operators._CALLS) == before


def test_an_autograd_graph_keeps_its_model():
    model = single_joint("revolute")
    q, qd, tau = tensors(model)
    value = st.rollout(model, q, qd, st.inverse_dynamics(model, q, qd, tau)[:, None], DT).q.sum()
    del model
    gc.collect()
    value.backward()
    assert torch.isfinite(q.grad).all()


def test_models_of_pickles_and_several_models():
    one, two = sixd.zoo.planar(2), pickle.loads(pickle.dumps(sixd.zoo.planar(2)))
    q = torch.tensor([0.3, 0.5], dtype=torch.float64)
    for model in (one, two, one):
        np.testing.assert_array_equal(st.mass_matrix(model, q), sixd.mass_matrix(one, q.numpy()))
    three = sixd.zoo.planar(3)
    assert st.mass_matrix(three, torch.zeros(3, dtype=torch.float64)).shape == (3, 3)


def test_clearing_the_cache_of_code():
    model = sixd.zoo.planar(2)
    q = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    value = st.gravity_force(model, q)
    sixd.clear_cache()
    value.sum().backward()
    assert torch.isfinite(st.gravity_force(model, q)).all()


# errors -------------------------------------------------------------------------------------------


def test_hostile_arguments():
    model = sixd.zoo.planar(2)
    q = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(sixd.ScalarTypeError, match="no argument is a tensor"):
        st.mass_matrix(model, [0.0, 0.0])
    with pytest.raises(sixd.ScalarTypeError, match="torch.float64 and torch.float32"):
        st.bias_force(model, q, q.float())
    with pytest.raises(sixd.ScalarTypeError, match="torch.float16, expected torch.float32 or torch.float64"):
        st.mass_matrix(model, q.half())
    with pytest.raises(sixd.ScalarTypeError, match="torch.int64"):
        st.mass_matrix(model, q.long())
    with pytest.raises(sixd.DeviceError, match="on cpu and on meta"):
        st.bias_force(model, q, q.to("meta"))
    with pytest.raises(sixd.ShapeError, match=r"mass_matrix: q has shape \(3,\), expected \(…, 2\)"):
        st.mass_matrix(model, torch.zeros(3))
    with pytest.raises(sixd.UnknownNameError, match="tool"):
        st.pose(model, q, "tool")
    with pytest.raises(sixd.UnknownNameError, match="masses"):
        st.mass_matrix(model, q, parameters={"masses": q})
    with pytest.raises(sixd.ScalarTypeError, match="a mapping of names"):
        st.mass_matrix(model, q, parameters=["gravity"])
    with pytest.raises(sixd.SixdError, match="expected a sixd.Model"):
        st.mass_matrix("robot", q)
    with pytest.raises(sixd.ShapeError, match="do not broadcast"):
        st.bias_force(model, torch.zeros(2, 2), torch.zeros(3, 2))
    with pytest.raises(sixd.ShapeError, match="do not broadcast"):
        st.rollout(model, torch.zeros(2, 2), torch.zeros(3, 2), torch.zeros(1, 2), DT)
    with pytest.raises(sixd.UnknownNameError, match="leapfrog"):
        st.step(model, q, q, DT, method="leapfrog")
    with pytest.raises(sixd.ScalarTypeError, match="dt is -1"):
        st.rollout(model, q, q, torch.zeros(3, 2, dtype=torch.float64), -1)
    with pytest.raises(sixd.ScalarTypeError, match="expected steps="):
        st.rollout(model, q, q, lambda t, q, qd: q, DT)
    with pytest.raises(sixd.ShapeError, match=r"controls has shape \(2,\), expected \(…, steps, 2\)"):
        st.rollout(model, q, q, q, DT)
    with pytest.raises(sixd.ScalarTypeError, match="f_ext is a function"):
        st.step(model, q, q, DT, f_ext=lambda t, q, qd: 0)
    with pytest.raises(sixd.ScalarTypeError, match="elements such as"):
        st.step(model, q, q, DT, forces="ground")


def test_singular_rows_raise_on_the_cpu():
    model = sixd.zoo.random_tree(2, kinds=("free",))
    q = torch.zeros(2, model.nq, dtype=torch.float64)
    with pytest.raises(sixd.SingularError, match="quaternion"):
        st.forward_dynamics(
            model, q, torch.zeros(model.nv, dtype=torch.float64), torch.zeros(model.nv, dtype=torch.float64)
        )


def test_second_derivatives_of_rollouts_are_refused():
    model = sixd.zoo.planar(2)
    q, qd, tau = tensors(model)
    (gradient,) = torch.autograd.grad(st.rollout(model, q, qd, tau[:, None], DT).q.sum(), q, create_graph=True)
    with pytest.raises(sixd.TraceError, match="not differentiable"):
        gradient.sum().backward()


def test_autocast_keeps_single_precision():
    model = sixd.zoo.planar(2)
    q = torch.zeros(2, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert st.bias_force(model, q, q.bfloat16()).dtype == torch.float32
        assert st.mass_matrix(model, q.double()).dtype == torch.float64


def test_out():
    model = sixd.zoo.planar(2)
    q, qd, qdd = tensors(model, grad=False)
    out = torch.empty(2, 2, dtype=torch.float64)
    assert st.inverse_dynamics(model, q, qd, qdd, out=out) is out
    np.testing.assert_array_equal(out, sixd.inverse_dynamics(model, *map(np.asarray, (q, qd, qdd))))
    kinetic, potential = torch.empty(2, 2, dtype=torch.float64).unbind(1)
    st.energy(model, q, qd, out=(kinetic, potential))
    np.testing.assert_array_equal(kinetic, sixd.energy(model, q.numpy(), qd.numpy())[0])
    with pytest.raises(sixd.ScalarTypeError, match="out= .*requires_grad"):
        st.inverse_dynamics(model, q.requires_grad_(), qd, qdd, out=out)
    with torch.no_grad():
        st.inverse_dynamics(model, q, qd, qdd, out=out)
    with pytest.raises(sixd.ShapeError, match="out has shape"):
        st.inverse_dynamics(model, q.detach(), qd, qdd, out=out[:1])
    with pytest.raises(sixd.ScalarTypeError, match="out holds torch.float32"):
        st.inverse_dynamics(model, q.detach(), qd, qdd, out=out.float())
    with pytest.raises(sixd.ScalarTypeError, match="expected a tensor"):
        st.inverse_dynamics(model, q.detach(), qd, qdd, out=np.empty((2, 2)))
