"""The check of XLA's call frame at the first use of ``sixd.jax``, and the slow way where it fails."""

import os
import subprocess
import sys

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed; make ml installs it")

RUN = """
import warnings
import numpy as np, jax, jax.numpy as jnp
import sixd, sixd.jax
from sixd.codegen import xla_frame
{before}
jax.config.update("jax_enable_x64", True)
arm = sixd.zoo.planar(3)
x = np.linspace(-1, 1, 12).reshape(4, 3)
f = lambda q: sixd.jax.inverse_dynamics(arm, q, 2 * q, 3 * q)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    results = [f(x[0]), jax.jit(f)(x), jax.vmap(f)(x), jax.grad(lambda q: f(q).sum())(x[1])]
    motion = sixd.jax.rollout(arm, x[0], x[1], jnp.zeros((5, 3)), 1e-3, fused=True)
faults = [str(w.message) for w in caught if w.category is sixd.CompileWarning]
print(b"".join(np.asarray(r).tobytes() for r in (*results, *motion)).hex())
print(len(faults), *faults)
"""


def run(before=""):
    """The bits of some results, the number of warnings, and their text."""
    command = [sys.executable, "-c", RUN.format(before=before)]
    environment = {**os.environ, "SIXD_CACHE_DIR": "off"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    bits, line = done.stdout.splitlines()[-2:]
    count, _, text = line.partition(" ")
    return bits, int(count), text


@pytest.fixture(scope="module")
def fast():
    return run()


def test_this_jax_is_supported(fast):
    """The check passes. If this fails, jax has a new call frame: change sixd/codegen/xla_frame.py with its c_api.h."""
    assert fast[1:] == (0, "")


@pytest.mark.parametrize(
    ("before", "fault"),
    [
        ("xla_frame._FRAME_SIZE = 176", "call frame's size is 168, expected 176"),
        ("xla_frame._METADATA_SIZE = 44", "the metadata's size is 36, expected 44"),
        ("xla_frame._API_SIZE = 200", "table of functions is 192, expected at least 200"),
        ("import sixd.jax.handlers as h; h.MAJOR = 1", "interface is 0, expected 1"),
        ("import sixd.jax.handlers as h; h._loaded = lambda: 1 / 0", "ZeroDivisionError"),
        ("import sixd.jax.handlers as h; h.MESSAGES = {**h.MESSAGES, 'missing': '?'}", "failed with JaxRuntimeError"),
    ],
)
def test_another_layout_takes_the_slow_way(before, fault, fast):
    """Nothing crashes, one warning says why, and the results have the same bits."""
    bits, count, text = run(before)
    assert count == 1
    assert fault in text
    assert "Results are the same" in text
    assert bits == fast[0]
