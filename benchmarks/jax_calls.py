"""The time of ``sixd.jax`` compared with inverse dynamics written in plain JAX: ``python -m benchmarks.jax_calls``.

Both are jitted, and vmapped over rows; contenders alternate in one process, and their results must agree, for which
plain JAX multiplies matrices in full precision on GPUs, too. Prints a table in Markdown. Not a section of the report:
JAX is not among the packages that it needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import sixd
import sixd.jax
from sixd.spatial import Inertia

ROUNDS = 7
LEAST = 0.1  # s of one measurement


def plain_inverse_dynamics(model: sixd.Model) -> Callable[..., Any]:
    """Return the recursive Newton-Euler algorithm in 3-vectors for one row of a tree of revolute joints, unrolled."""
    inertias = [Inertia.from_matrix(matrix) for matrix in model.inertia[1:]]
    masses = [np.array(x.parameters[0]) for x in inertias]
    moments = [np.array(x.parameters[1:4]) for x in inertias]  # mass times centre of mass
    matrices = [np.array(matrix[:3, :3]) for matrix in model.inertia[1:]]
    axes = [np.array(model.joints[i].axis, dtype=float) for i in model.bodies]
    poses = [np.array(model.placement[i]) for i in model.bodies]

    def turn(axis: Any, angle: Any) -> Any:
        x, y, z = axis
        K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return np.eye(3) + jnp.sin(angle) * K + (1 - jnp.cos(angle)) * (K @ K)

    def force(q: Any, qd: Any, qdd: Any) -> Any:
        zero = jnp.zeros(3, q.dtype)
        w, wd, a, R = [zero], [zero], [-jnp.asarray(model.gravity, q.dtype)], [jnp.eye(3, dtype=q.dtype)]
        f, n = [zero], [zero]
        # outward: angular velocity and acceleration, acceleration of the origin, net force and moment there
        for k, i in enumerate(model.bodies):
            p, axis, r = model.parent[i], jnp.asarray(axes[k], q.dtype), jnp.asarray(poses[k][:3, 3], q.dtype)
            R.append((poses[k][:3, :3] @ turn(axes[k], q[k])).astype(q.dtype))
            back = R[i].T
            rate = axis * qd[k]
            w.append(back @ w[p] + rate)
            wd.append(back @ wd[p] + axis * qdd[k] + jnp.cross(w[i], rate))
            a.append(back @ (a[p] + jnp.cross(wd[p], r) + jnp.cross(w[p], jnp.cross(w[p], r))))
            m, h, I = (jnp.asarray(x, q.dtype) for x in (masses[k], moments[k], matrices[k]))
            f.append(m * a[i] + jnp.cross(wd[i], h) + jnp.cross(w[i], jnp.cross(w[i], h)))
            n.append(I @ wd[i] + jnp.cross(w[i], I @ w[i]) + jnp.cross(h, a[i]))
        # inward: project onto the joint, pass the rest to the parent
        tau = [zero[0]] * model.nv
        for k, i in reversed(list(enumerate(model.bodies))):
            p, r = model.parent[i], jnp.asarray(poses[k][:3, 3], q.dtype)
            tau[k] = axes[k] @ n[i]
            passed = R[i] @ f[i]
            f[p], n[p] = f[p] + passed, n[p] + R[i] @ n[i] + jnp.cross(r, passed)
        return jnp.stack(tau).astype(q.dtype)

    return force


def seconds(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """The time of one call, of as many as take ``LEAST``; the results of all are awaited."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            result = function(*arguments)
        jax.block_until_ready(result)
        passed = time.perf_counter() - start
        if passed > LEAST:
            return passed / count
        count *= 2 if passed > LEAST / 10 else 10


def compare(
    contenders: dict[str, Callable[..., Any]], arguments: tuple[Any, ...], tolerance: float
) -> dict[str, float]:
    """The best time of each contender, after their results were compared."""
    results = [jax.tree.leaves(jax.block_until_ready(f(*arguments))) for f in contenders.values()]
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            scale = np.abs(np.asarray(x)).max()
            assert np.allclose(x, y, rtol=0, atol=tolerance * scale), "the contenders differ"
    rounds = [{name: seconds(f, arguments) for name, f in contenders.items()} for _ in range(ROUNDS)]
    return {name: min(r[name] for r in rounds) for name in contenders}


def cases(model: sixd.Model) -> dict[str, dict[str, Callable[..., Any]]]:
    """Contenders by task: inverse dynamics, and the gradients of a sum of squared forces."""
    plain = plain_inverse_dynamics(model)

    def own(*x: Any) -> Any:
        return sixd.jax.inverse_dynamics(model, *x)

    def gradient(f: Callable[..., Any]) -> Callable[..., Any]:
        return jax.grad(lambda *x: jnp.sum(f(*x) ** 2), (0, 1, 2))

    return {
        "inverse dynamics": {"sixd.jax": own, "plain JAX": plain},
        "gradient": {"sixd.jax": gradient(own), "plain JAX": gradient(plain)},
    }


def measure(batches: tuple[int, ...], models: tuple[str, ...] = ("ur_arm", "panda_arm")) -> list[str]:
    """Lines of a table of times, and of the time to trace and compile."""
    lines = [
        "| | rows | dtype | sixd.jax [µs] | plain JAX [µs] | ratio | first call: sixd.jax, plain JAX [s] |",
        "|---|---|---|---|---|---|---|",
    ]
    jax.config.update("jax_default_matmul_precision", "highest")
    rng = np.random.default_rng(1)
    for name in models:
        model = getattr(sixd.zoo, name)()
        for task, contenders in cases(model).items():
            for rows in batches:
                for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
                    shape = (model.nv,) if rows == 1 else (rows, model.nv)
                    x = tuple(jnp.asarray(rng.uniform(-1, 1, shape), dtype) for _ in range(3))
                    made, first = {}, {}
                    for who, f in contenders.items():
                        jitted = jax.jit(f if rows == 1 else jax.vmap(f))
                        start = time.perf_counter()
                        jax.block_until_ready(jitted(*x))
                        made[who], first[who] = jitted, time.perf_counter() - start
                    t = compare(made, x, tolerance)
                    own, plain = 1e6 * t["sixd.jax"], 1e6 * t["plain JAX"]
                    begin = f"{first['sixd.jax']:.2f}, {first['plain JAX']:.2f}"
                    line = (
                        f"| {task}, {name} | {rows} | {dtype} | {own:.1f} | {plain:.1f} | {plain / own:.1f} | {begin} |"
                    )
                    lines.append(line)
                    print(line, flush=True)
    return lines


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    print(f"JAX {jax.__version__} on {jax.devices()[0]}")
    measure((1, 4096))
