"""Fast calls check themselves at first use; if that fails, or if they are off, calls take the general path."""

import os
import subprocess
import sys

import pytest

from sixd.runtime import cpython

RUN = """
import warnings
import numpy as np, sixd
from sixd.engine.kernel import Kernel
from sixd.engine.public import PublicFunction
from sixd.runtime import cpython
{before}
arm = sixd.zoo.planar(2)
kernel = sixd.compile(sixd.inverse_dynamics, arm)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = [np.array([0.3, -0.7]), np.array([1.0, 2.0]), np.array([0.5, 0.1])]
    found = [f(*x).tobytes().hex() for _ in range(3) for f in (kernel, lambda *y: sixd.inverse_dynamics(arm, *y))]
assert len(set(found)) == 1
flags = [bool(c.__flags__ & cpython._HAVE_VECTORCALL) for c in (Kernel, PublicFunction)]
word = cpython._read(kernel, 16, cpython.ctypes.c_uint64) if cpython._Words is not object else 0
print(found[0], flags[0], flags[1], word != 0, sum("SIXD_FAST_CALLS" in str(w.message) for w in caught))
"""


def run(before="", **env):
    clean = {k: v for k, v in os.environ.items() if k != "SIXD_FAST_CALLS"}
    command = [sys.executable, "-c", RUN.format(before=before)]
    done = subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(cpython._Words is object, reason="another Python: all calls go the long way")
def test_fast_calls_can_be_turned_off():
    """The same bits, no flag in a class, no warning."""
    bits, *on = run()
    assert on == ["True", "True", "True", "0"]
    assert run(SIXD_FAST_CALLS="off") == [bits, "False", "False", "False", "0"]
    assert run(SIXD_FAST_CALLS=" OFF ")[1] == "False"


@pytest.mark.skipif(cpython._Words is object, reason="another Python: all calls go the long way")
def test_a_fault_is_reported_once_and_calls_take_the_general_path():
    before = "cpython._fault = lambda: 'a fast call differs from a plain one'"
    bits, _, _, attached, warned = run(before)
    assert (attached, warned) == ("False", "1")
    assert bits == run()[0]


@pytest.mark.skipif(cpython._Words is object, reason="another Python: there is no class with words")
@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("_TYPE_FLAGS", 176, "fields of its classes"),
        ("_BASE", 264, "fields of its classes"),
        ("_VECTORCALL_OFFSET", 64, "words of objects"),
        ("_HAVE_VECTORCALL", 0, "does not find the function"),
        ("_Words", object, "layout of its objects"),
        ("_ON", False, "off"),
    ],
)
def test_wrong_layouts_are_noticed(name, value, fault, monkeypatch):
    check = cpython._fault.__wrapped__
    assert check() == ""
    monkeypatch.setattr(cpython, name, value)
    assert fault in check()
