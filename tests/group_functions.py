"""One function that calls every elementary and group function of ``sixd.spatial`` that users compile."""

import numpy as np

from sixd import spatial
from sixd.trace import trace

SIZE = 13
SCREWS = np.array([[0, 0, 1, 0, 0, 0], [0, 2, 0, -0.3, 0, 0], [0, 0, 0, 1, 0, 0], [0.6, 0, 0.8, 0.1, 0.2, 0.3]])


def all_of_them(x):
    """The results of all functions at x (13,), as one array."""
    twist, quaternion, omega = x[:6], x[6:10], x[10:13]
    T = spatial.exp_se3(twist)
    chain = spatial.product_of_exponentials(SCREWS, x[2:6], spatial.placement((0.5, 0, 0)))
    results = [
        spatial.tanh(x), spatial.log1p(x * x), spatial.hypot(x, x[::-1]), spatial.clip(x, -0.5, x[::-1]),
        spatial.exp_so3(omega), spatial.log_so3(spatial.exp_so3(omega)), T, spatial.log_se3(T), spatial.adjoint(T),
        chain, spatial.log_se3(chain), spatial.product_of_exponentials([twist], x[:1], T),
        spatial.quaternion_rate(quaternion, omega),
    ]  # fmt: skip
    return np.concatenate([np.ravel(r) for r in results])


def program(dtype="float64", name="x"):
    """Its program, with an input of that name."""
    return trace(all_of_them, {name: (SIZE,)}, dtype)


def arguments(rng, count):
    """Return samples (count, 13) of usual size; every fourth has rotations next to 0, every fourth next to pi."""
    x = rng.uniform(-1, 1, (count, SIZE))
    x[1::4, :3] *= 1e-9
    x[1::4, 10:] *= 1e-17
    turns = x[2::4, 10:]
    x[2::4, 10:] *= (np.pi - 1e-4) / np.linalg.norm(turns, axis=1, keepdims=True)
    return x
