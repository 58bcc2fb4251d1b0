"""``sixd.jax`` on a GPU: bit-identical to the CPU, JAX's transformations, rollouts in one launch."""

import numpy as np
import pytest

import sixd
from samples import KINDS, single_joint

jax = pytest.importorskip("jax", reason="JAX is not installed")
if jax.default_backend() != "gpu":
    pytest.skip("JAX has no GPU here: it is installed without CUDA", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402

import sixd.jax as sj  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def on_cpu(function, *arrays):
    processor = jax.devices("cpu")[0]
    with jax.default_device(processor):
        return jax.jit(function)(*(jax.device_put(np.asarray(x), processor) for x in arrays))


def same_bits(function, *arrays):
    found, expected = jax.jit(function)(*arrays), on_cpu(function, *arrays)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint(kind, rng):
    model = single_joint(kind)
    q = np.stack([model.random_configuration(rng) for _ in range(50)])
    qd, tau = rng.uniform(-1, 1, (2, 50, model.nv))

    def cost(*x):
        return jnp.sum(sj.forward_dynamics(model, *x))

    for dtype in ("float64", "float32"):
        x = [a.astype(dtype) for a in (q, qd, tau)]
        same_bits(lambda *x: sj.inverse_dynamics(model, *x), *x)
        same_bits(lambda *x: sj.mass_matrix(model, x[0]), *x)
        same_bits(jax.vmap(jax.grad(cost, (0, 1, 2))), *x)


def test_samples(rng):
    """One sample, one sample for all, an empty batch, a scan, and a sample that is not finite."""
    arm = sixd.zoo.ur_arm()
    q, qd, tau = rng.uniform(-1, 1, (3, 40, 6))
    same_bits(lambda *x: sj.forward_dynamics(arm, *x), q[0], qd[0], tau[0])
    same_bits(lambda *x: sj.forward_dynamics(arm, *x), q, qd[0], tau[0])
    assert sj.forward_dynamics(arm, q[:0], qd[0], tau[0]).shape == (0, 6)

    def step(state, _):
        return sj.step(arm, *state, 1e-3), None

    same_bits(lambda *x: jax.lax.scan(step, x, None, length=50)[0], q, qd)
    q[3, 1] = np.nan
    found = sj.forward_dynamics(arm, q, qd, tau)
    assert np.isnan(found[3]).all()
    assert np.isfinite(np.delete(np.asarray(found), 3, 0)).all()
    with pytest.raises(sixd.SingularError):
        sixd.cuda.check()


@pytest.mark.parametrize("kind", ["free", "revolute"])
def test_rollouts_in_one_launch(kind, rng):
    model = single_joint(kind, passive=False)
    q = np.stack([model.random_configuration(rng) for _ in range(40)])
    qd, taus = rng.uniform(-1, 1, (40, model.nv)), rng.uniform(-1, 1, (40, 20, model.nv))

    def last(q, qd, taus):
        return (sj.rollout(model, q, qd, taus, 1e-2, fused=True).q[..., -1, :] ** 2).sum()

    same_bits(lambda *x: tuple(sj.rollout(model, *x, 1e-2, fused=True)), q, qd, taus)
    same_bits(jax.grad(last, (0, 1, 2)), q, qd, taus)
