"""sixd.torch on the CPU: values, torch.compile, vmap, models in memory, and invalid arguments."""

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
from samples import OPERATIONAL, single_joint  # noqa: E402
from sixd.engine.functions import LIBRARY  # noqa: E402
from sixd.model.memo import known_of  # noqa: E402
from sixd.torch import operators, rollouts  # noqa: E402
from torch_samples import arguments, smooth, tensors  # noqa: E402

DT = 0.02

# values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_values_are_those_of_sixd(name):
    model = sixd.zoo.four_bar() if "constrain" in name or name == "projections" else sixd.zoo.random_tree(0)
    if name in OPERATIONAL:
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


# transformations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(backend):
    """torch.compile(fullgraph=True): functions, steps and rollouts, forward and backward."""
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
    (made,) = {x for x in known_of(model).values() if isinstance(x, rollouts.TorchRollout)}
    torch.library.opcheck(rollouts.operator, ([q, qd, tau[:, None]], made.handle, DT, 0.0))
    records = [x.detach() for x in rollouts.operator([q, qd, tau[:, None]], made.handle, DT, 0.0)]
    weights = [torch.ones_like(x) for x in records[:2]]
    given = [*records, tau.detach()[:, None], *weights]
    torch.library.opcheck(rollouts.gradient_operator, (given, made.handle, DT, 0.0))


# models -------------------------------------------------------------------------------------------


def test_models_are_not_kept():
    """Calls, gradients and rollouts leave nothing in memory."""
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


def test_invalid_arguments():
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
    with pytest.raises(sixd.SixdError, match="expected a sixd.Model"):
        st.step("robot", q, q, DT)
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


def test_singular_samples_raise_on_the_cpu():
    model = sixd.zoo.random_tree(2, kinds=("free",))
    q = torch.zeros(2, model.nq, dtype=torch.float64)
    with pytest.raises(sixd.SingularError, match="quaternion"):
        st.forward_dynamics(
            model, q, torch.zeros(model.nv, dtype=torch.float64), torch.zeros(model.nv, dtype=torch.float64)
        )


def test_second_derivatives_of_rollouts_are_rejected():
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


def test_stacks_of_frames():
    """Several frames, by a mapping: values, and gradients compared with central differences."""
    arm, stack = sixd.zoo.panda_arm(), {"tool": "position", "link4": [3, 5]}
    q = arm.random_configuration(0, size=3)
    for name in ("jacobian", *OPERATIONAL):
        more = {"qd": torch.ones(3, 7, dtype=torch.float64)} if name == "operational_bias" else {}
        x = torch.tensor(q, requires_grad=True)
        found = getattr(st, name)(arm, x, frame=stack, **more)

        def own(q, name=name, more=more):
            return getattr(sixd, name)(arm, q, frame=stack, **{k: v.numpy() for k, v in more.items()})

        np.testing.assert_array_equal(found.detach().numpy(), own(q))
        found.sum().backward()
        d = np.zeros_like(q)
        d[:, 2] = 1e-6
        slope = (own(q + d) - own(q - d)).reshape(3, -1).sum(axis=1) / 2e-6
        np.testing.assert_allclose(
            x.grad[:, 2].numpy(), slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max()
        )  # differences
