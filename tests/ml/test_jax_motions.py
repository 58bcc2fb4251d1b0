"""``sixd.jax.step`` and ``sixd.jax.rollout`` on the CPU: sixd's own steps, and derivatives through time."""

import numpy as np
import pytest

import sixd
from samples import KINDS, single_joint
from sixd.errors import ScalarTypeError, ShapeError, SingularError, TraceError, UnknownNameError

jax = pytest.importorskip("jax", reason="JAX is not installed; make ml installs it")

import jax.numpy as jnp  # noqa: E402

import sixd.jax as sj  # noqa: E402

H = 1e-6  # step of central differences
DT = 1e-2


@pytest.fixture(autouse=True)
def wide():
    """float64 in every test."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def arm():
    return sixd.zoo.planar(3)


@pytest.fixture
def state(arm, rng):
    return tuple(rng.uniform(-1, 1, (2, 3)))


def close(found, expected, tolerance=1e-14):
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_every_joint(kind, rng):
    """Values of all methods, and gradients by differences; a whole step may be folded differently, in the last digit."""
    model = single_joint(kind, passive=False)
    q, qd, tau = model.random_configuration(rng), *rng.uniform(-1, 1, (2, model.nv))
    for method in ("rk4", "euler", "implicit"):
        found = jax.jit(lambda *x, m=method: sj.step(model, x[0], x[1], DT, tau=x[2], method=m))(q, qd, tau)
        close(found, sixd.step(model, q, qd, DT, controller=tau, method=method))
    w = rng.uniform(-1, 1, model.nq)

    def cost(q, qd, dt, tau):
        return jnp.sum(w * sj.step(model, q, qd, dt, tau=tau)[0])

    x = (q, qd, np.array(DT), tau)
    dx = [rng.uniform(-1, 1, np.shape(a)) for a in x]
    slopes = jax.grad(cost, (0, 1, 2, 3))(*x)
    high, low = (cost(*(a + h * d for a, d in zip(x, dx, strict=True))) for h in (H, -H))
    along = sum(np.sum(s * d) for s, d in zip(slopes, dx, strict=True))
    assert along == pytest.approx(float((high - low) / (2 * H)), rel=1e-6, abs=1e-7)  # of differences


def test_second_order_of_a_step(arm, state):
    def cost(q):
        return sj.step(arm, q, state[1], DT)[1].sum()

    hessian = jax.hessian(cost)(state[0])
    for k, e in enumerate(np.eye(3)):
        change = (jax.grad(cost)(state[0] + H * e) - jax.grad(cost)(state[0] - H * e)) / (2 * H)
        assert np.allclose(hessian[k], change, atol=1e-7)  # of differences


def test_what_acts_in_a_step(arm, state, rng):
    f_ext = rng.uniform(-1, 1, (arm.nb, 6))
    close(sj.step(arm, *state, DT, f_ext=f_ext), sixd.step(arm, *state, DT, f_ext=f_ext))
    gravity = np.array([[0, -9.81, 0], [0, 0, 0]])
    found = sj.step(arm, *state, DT, parameters={"gravity": gravity})
    for k in range(2):
        close([x[k] for x in found], sixd.step(arm, *state, DT, parameters={"gravity": gravity[k]}))
    slope = jax.grad(lambda g: sj.step(arm, *state, DT, parameters={"gravity": g})[1].sum())(gravity[0])
    assert np.isfinite(slope).all()
    assert np.any(slope != 0)


def test_constraints_are_kept(rng):
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    qd = np.zeros(model.nv)
    close(sj.step(model, q, qd, 1e-3), sixd.step(model, q, qd, 1e-3), 1e-12)


def test_rollout_is_step_after_step(arm, state, rng):
    taus = rng.uniform(-1, 1, (20, 3))
    motion = jax.jit(lambda *x: sj.rollout(arm, *x, DT))(*state, taus)
    q, qd = state
    close([motion.q[0], motion.qd[0]], state)
    for k, tau in enumerate(taus):
        q, qd = sixd.step(arm, q, qd, DT, controller=tau)
        close([motion.q[k + 1], motion.qd[k + 1]], [q, qd], 1e-12)  # rounding grows along the motion
    # batches: samples of the start, of the controls, and by vmap
    many = sj.rollout(arm, np.stack([state[0]] * 2), state[1], np.stack([taus] * 3)[:, None], DT)
    assert many.q.shape == (3, 2, 21, 3)
    close([many.q[2, 1]], [motion.q], 1e-13)
    mapped = jax.vmap(lambda tau: sj.rollout(arm, *state, tau, DT).q)(np.stack([taus, 2 * taus]))
    close([mapped[0]], [motion.q], 1e-13)


def test_gradients_through_time(arm, state, rng):
    taus = rng.uniform(-1, 1, (15, 3))

    def cost(q, qd, taus):
        motion = sj.rollout(arm, q, qd, taus, DT, method="euler")
        return jnp.sum(motion.q**2) + jnp.sum(motion.qd[..., -1, :] ** 2)

    x = (*state, taus)
    dx = [rng.uniform(-1, 1, a.shape) for a in x]
    slopes = jax.jit(jax.grad(cost, (0, 1, 2)))(*x)
    along = sum(np.sum(s * d) for s, d in zip(slopes, dx, strict=True))
    high, low = (cost(*(a + h * d for a, d in zip(x, dx, strict=True))) for h in (H, -H))
    assert along == pytest.approx(float((high - low) / (2 * H)), rel=1e-6)  # of differences
    assert jax.jvp(cost, x, tuple(dx))[1] == pytest.approx(float(along), rel=1e-11)


def test_policies(arm, state):
    def policy(gain):
        return lambda t, q, qd: -gain * q - qd

    motion = sj.rollout(arm, *state, policy(3.0), DT, steps=10)
    q, qd = state
    for _ in range(10):
        q, qd = sixd.step(arm, q, qd, DT, controller=-3.0 * q - qd)
    close([motion.q[-1]], [q], 1e-12)  # rounding grows along the motion
    slope = jax.grad(lambda gain: sj.rollout(arm, *state, policy(gain), DT, steps=10).q[-1].sum())(3.0)
    assert np.isfinite(slope)
    gains = jnp.array([[1.0], [2.0]])
    assert sj.rollout(arm, *state, policy(gains), DT, steps=4).q.shape == (2, 5, 3)
    assert sj.rollout(arm, *state, policy(gains), DT, steps=0).q.shape == (2, 1, 3)


def test_quaternions_are_made_unit(rng):
    model = single_joint("spherical", passive=False)
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    part = next(model.iq[i] for i in model.bodies if model.joints[i].nq == 4)
    q[part] *= 3
    motion = sj.rollout(model, q, qd, np.zeros((3, model.nv)), DT)
    assert np.allclose(np.linalg.norm(motion.q[:, part], axis=1), 1, rtol=1e-14)


def test_dtypes(arm, state):
    single = [x.astype(np.float32) for x in state]
    found = sj.step(arm, *single, DT)  # a number does not widen them
    assert found[0].dtype == jnp.float32
    assert sj.rollout(arm, *single, np.zeros((2, 3), np.float32), DT).q.dtype == jnp.float32
    assert sj.step(arm, *state, DT)[0].dtype == jnp.float64


def test_errors(arm, state):
    with pytest.raises(UnknownNameError, match="rk5"):
        sj.step(arm, *state, DT, method="rk5")
    with pytest.raises(TraceError, match="iterates"):
        sj.step(arm, *state, DT, method="midpoint")
    with pytest.raises(ShapeError, match=r"tau has shape \(2,\), expected \(..., 3\)"):
        sj.step(arm, *state, DT, tau=np.zeros(2))
    with pytest.raises(ScalarTypeError, match="f_ext is a function"):
        sj.step(arm, *state, DT, f_ext=lambda t, q, qd: 0)
    with pytest.raises(ScalarTypeError, match="expected steps="):
        sj.rollout(arm, *state, lambda t, q, qd: q, DT)
    with pytest.raises(ScalarTypeError, match="steps is 3, expected 2"):
        sj.rollout(arm, *state, np.zeros((2, 3)), DT, steps=3)
    with pytest.raises(ShapeError, match=r"controls has shape \(3,\)"):
        sj.rollout(arm, *state, np.zeros(3), DT)
    b = sixd.ModelBuilder("light")
    b.add_body("body", "world", sixd.Revolute("z"))
    with pytest.raises(SingularError, match="light"):
        sj.step(b.build(), np.zeros(1), np.zeros(1), DT)


# all steps in one call ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["spherical", "free", "revolute"])
def test_fused_rollouts_are_the_same(kind, rng):
    """Values, and gradients with respect to start, controls, f_ext and parameters, of samples that share some of them."""
    model = single_joint(kind, passive=False)
    q, qd = model.random_configuration(rng), rng.uniform(-1, 1, (4, model.nv))
    taus, f_ext = rng.uniform(-1, 1, (4, 12, model.nv)), rng.uniform(-1, 1, (model.nb, 6))
    gravity = np.array([0.1, 0.2, -9.0])
    w = rng.uniform(-1, 1, (13, model.nq))

    def cost(q, qd, taus, f_ext, gravity, *, fused):
        options = {"f_ext": f_ext, "parameters": {"gravity": gravity}, "method": "euler", "fused": fused}
        motion = sj.rollout(model, q, qd, taus, DT, **options)
        return jnp.sum(w * motion.q) + jnp.sum(motion.qd[..., 3, :] ** 2), motion

    x = (q, qd, taus, f_ext, gravity)
    results = []
    for fused in (False, True):
        slope = jax.jit(jax.grad(lambda *x, fused=fused: cost(*x, fused=fused)[0], (0, 1, 2, 3, 4)))
        results.append((cost(*x, fused=fused)[1], slope(*x)))
    close(results[1][0], results[0][0], 1e-12)  # rounding grows along the motion
    for a, b in zip(results[1][1], results[0][1], strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_fused_rollouts_under_vmap(arm, state, rng):
    taus = rng.uniform(-1, 1, (5, 7, 3))
    slope = jax.grad(lambda tau: (sj.rollout(arm, *state, tau, DT, fused=True).q ** 2).sum())
    found = jax.jit(jax.vmap(slope))(taus)
    close(found, [slope(tau) for tau in taus])
    one = sj.rollout(arm, *state, taus[0], DT, fused=True)
    assert one.q.shape == (8, 3)
    assert sj.rollout(arm, *state, np.zeros((2, 0, 3)), DT, fused=True).q.shape == (2, 1, 3)


@pytest.mark.parametrize("kind", [sixd.Ground, sixd.RigidGround])
def test_fused_rollouts_with_contact(kind, rng):
    """A body that falls on the ground and slides: gradients by differences, also through impulses."""
    model = sixd.zoo.falling_sphere()
    ground = kind(points={model.body_names[-1]: [[0.0, 0.0, -0.1]]})
    q = np.array([1.0, 0, 0, 0, 0, 0, 0.12])
    taus = np.zeros((60, model.nv))

    def reached(qd):
        motion = sj.rollout(model, q, qd, taus, 2e-3, forces=ground, fused=True, method="euler")
        return motion.q[..., -1, 4:]  # one by one: in their sum they cancel

    qd = np.array([0.1, -0.2, 0.1, 0.5, 0.2, -0.4])
    gradients = np.array([jax.grad(lambda v, k=k: reached(v)[..., k])(qd) for k in range(3)])
    d = rng.uniform(-1, 1, model.nv)
    change = (reached(qd + H * d) - reached(qd - H * d)) / (2 * H)
    assert gradients @ d == pytest.approx(np.asarray(change), rel=1e-4, abs=1e-6)  # of differences
    with pytest.raises(TraceError, match="fused=True"):
        sj.step(model, q, qd, 2e-3, forces=sixd.RigidGround(points={model.body_names[-1]: [[0.0, 0.0, -0.1]]}))


def test_fused_rollouts_name_what_is_missing(arm, state):
    def last(tau):
        return sj.rollout(arm, *state, tau, DT, fused=True).q[-1].sum()

    with pytest.raises(TraceError, match="fused=False"):
        jax.hessian(last)(np.zeros((3, 3)))
    with pytest.raises(ScalarTypeError, match="expected an array with fused=True"):
        sj.rollout(arm, *state, lambda t, q, qd: q, DT, fused=True, steps=3)
