"""Simulations, steps and gradients of rollouts on a GPU: bit-identical to the CPU."""

import numpy as np
import pytest

import sixd

ROWS = 70


def there(x, to):
    return {name: to(y) for name, y in x.items()} if isinstance(x, dict) else to(x) if isinstance(x, np.ndarray) else x


def assert_same_motion(model, q, qd, duration, library, **options):
    to, back, kind = library
    found = sixd.simulate(model, to(q), to(qd), duration, **{name: there(x, to) for name, x in options.items()})
    true = sixd.simulate(model, q, qd, duration, **options)
    assert type(found.q) is kind
    for name in ("q", "qd", "tau", "friction", "internal"):
        if getattr(true, name) is not None:
            assert np.array_equal(back(getattr(found, name)), getattr(true, name), equal_nan=True), name
    assert np.array_equal(found.to_cpu().energy, true.energy)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "implicit"])
def test_methods(library, rng, method, dtype):
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"), passive=False)
    q = model.random_configuration(rng, size=ROWS).astype(dtype)
    qd = rng.uniform(-1, 1, (ROWS, model.nv)).astype(dtype)
    assert_same_motion(model, q, qd, 0.02, library, method=method, record_every=3)


def test_forces_and_parameters(library, rng):
    arm = sixd.zoo.ur_arm()
    q, qd, tau = rng.uniform(-1, 1, (3, ROWS, 6))
    bodies = np.array([sixd.Inertia.from_matrix(x).parameters for x in arm.inertia[1:]])
    parameters = {"inertia": bodies * rng.uniform(0.5, 2, (ROWS, 1, 1)), "friction": rng.uniform(0.1, 1, (ROWS, 6))}
    assert_same_motion(arm, q, qd, 0.02, library, controller=tau, parameters=parameters, method="euler")
    assert_same_motion(arm, q, qd, 0.02, library, controller=lambda t, q, qd: -0.1 * q * sixd.spatial.cos(t))


@pytest.mark.parametrize("kind", [sixd.Ground, sixd.RigidGround])
def test_ground(library, rng, kind):
    builder = sixd.ModelBuilder("box")
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=0.5))
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0.14], (ROWS, 1))
    q[:, 1:4] += rng.uniform(-0.2, 0.2, (ROWS, 3))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    forces = [kind({"box": corners}, friction=0.5)]
    qd = rng.uniform(-1, 1, (ROWS, 6))
    assert_same_motion(builder.build(), q, qd, 0.2, library, forces=forces, method="euler", record_every=20)


def test_steps(library, rng):
    to, back, _ = library
    arm = sixd.zoo.ur_arm()
    q, qd, tau = rng.uniform(-1, 1, (3, ROWS, 6))
    for method in ("rk4", "euler", "midpoint", "implicit"):
        found = sixd.step(arm, to(q), to(qd), 1e-3, method=method, controller=to(tau))
        for x, y in zip(found, sixd.step(arm, q, qd, 1e-3, method=method, controller=tau), strict=True):
            assert np.array_equal(back(x), y)


def test_gradients(library, rng):
    to, back, _ = library
    arm = sixd.zoo.ur_arm()
    q, qd = rng.uniform(-1, 1, (2, ROWS, 6))
    given, damping = rng.uniform(-1, 1, (ROWS, 20, 6)), rng.uniform(0, 1e-3, (ROWS, 6))
    options = {"cost": lambda t, q, qd, tau: tau @ tau + t * (q @ q), "final": lambda q, qd: qd @ qd}
    found = sixd.rollout_gradient(arm, to(q), to(qd), to(given), parameters={"damping": to(damping)}, **options)
    true = sixd.rollout_gradient(arm, q, qd, given, parameters={"damping": damping}, **options)
    for name in ("cost", "q", "qd", "controls", "last_q", "last_qd"):
        assert np.array_equal(back(getattr(found, name)), getattr(true, name)), name
    assert np.array_equal(back(found.parameters["damping"]), true.parameters["damping"])
