"""sixd.torch on the CPU: gradients of both orders, steps and rollouts.

gradcheck compares with central differences of 1e-6, accurate to some 1e-7 of the function: its default tolerances, 1e-5
absolute and 1e-3 relative, hold here; those of second derivatives are the same.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make ml")

import sixd  # noqa: E402
import sixd.torch as st  # noqa: E402
from samples import KINDS, single_joint  # noqa: E402
from sixd.engine.functions import LIBRARY  # noqa: E402
from torch_samples import arguments, smooth, tensors  # noqa: E402

gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
each_kind = pytest.mark.parametrize("kind", KINDS)
HARD = ("free", "spherical")  # joints with quaternions
DT = 0.02

# gradients ----------------------------------------------------------------------------------------


@each_kind
def test_gradients_of_dynamics(kind):
    """Inverse and forward dynamics, both orders, with respect to everything."""
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
    """With dry friction, which the random tree has."""
    model = single_joint(kind)
    q, qd, _ = tensors(model, rows=2)
    controls = torch.tensor(np.random.default_rng(3).uniform(-1, 1, (2, 3, model.nv)), requires_grad=True)
    assert gradcheck(lambda *x: tuple(st.rollout(model, *x, DT)), (q, qd, controls))


@pytest.mark.parametrize("name", ["pose", "jacobian", "velocity", "acceleration", "momentum", "energy", "mass_matrix"])
def test_gradients_of_other_functions(name):
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))
    given = arguments(name, model)
    arrays = [torch.tensor(given.pop(n) * 1.0005, requires_grad=True) for n in LIBRARY[name].arrays]
    assert gradcheck(lambda *x: getattr(st, name)(model, *x, **given), arrays)


def test_gradients_of_configurations():
    """Results of unit length have the derivative of the projection."""
    model = single_joint("free")
    q, dq = tensors(model, count=2)
    assert gradcheck(lambda q, dq: st.integrate(model, q, dq), (q, dq))
    other = (1.0005 * st.integrate(model, q, dq)).detach().requires_grad_()
    assert gradcheck(lambda q, other: st.difference(model, q, other), (q, other))
    (found,) = torch.autograd.grad(st.integrate(model, q, dq).sum(), q)
    for i in model.bodies:
        if isinstance(model.joints[i], sixd.Free):
            radial = (found * q)[:, model.iq[i]][:, :4].sum(dim=-1)
            assert radial.abs().max() < 1e-12  # a longer quaternion describes the same orientation


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
def test_gradients_with_respect_to_parameters(name):
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
    one = p.detach()[0].requires_grad_()  # for all samples
    assert gradcheck(lambda p: tuple(st.rollout(model, q, qd, controls, DT, parameters={name: p})), (one,))


def test_gradients_with_respect_to_external_forces():
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


def test_gradients_with_respect_to_the_step():
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
    # the midpoint rule of simulations has momenta as its state, and iterates to 1e-12; inline, sums are in another
    # order
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
    # the midpoint rule iterates to 1e-12, which differences resolve to 1e-6
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


def test_no_steps_and_no_samples():
    model = single_joint("free")
    q, qd, _ = tensors(model, rows=2)
    motion = st.rollout(model, q, qd, torch.zeros(0, model.nv, dtype=torch.float64), DT)
    assert motion.q.shape == (2, 1, model.nq)
    (found,) = torch.autograd.grad(motion.qd.sum(), qd)
    assert (found == 1).all()
    none = q.detach()[:0], qd.detach()[:0]
    assert st.rollout(model, *none, torch.zeros(3, model.nv, dtype=torch.float64), DT).q.shape == (0, 4, model.nq)
    assert st.inverse_dynamics(model, *none, none[1]).shape == (0, model.nv)
