"""Fixtures shared by all tests."""

import contextlib
import os
import re
import tempfile

import numpy as np
import pytest

from plain import PlainRoutine, plain_algorithms

# laws and oracles run on compiled code and on the plain algorithms
BOTH_TARGETS = {
    "test_laws", "test_pinocchio", "test_frames", "test_momentum", "test_mjcf", "test_cases", "test_cases_a",
    "test_coriolis",
}  # fmt: skip


# files, states of other programs and models from models: compiling for each would take minutes and show no more
PLAIN = {"test_interop", "test_urdf_write", "test_model"}


def pytest_configure(config):
    """A cache of compiled code for this run alone, shared by its processes."""
    if "SIXD_CACHE_DIR" not in os.environ:
        config.sixd_cache = tempfile.TemporaryDirectory(prefix="sixd-test-")
        os.environ["SIXD_CACHE_DIR"] = config.sixd_cache.name


def moving_joints(path):
    """Joints of a URDF, from a glance at its text."""
    return len(re.findall(r'<joint [^>]*type="(?:revolute|prismatic|continuous)"', path.read_text(errors="ignore")))


def pytest_generate_tests(metafunc):
    module = metafunc.module.__name__
    if module in BOTH_TARGETS and not metafunc.definition.get_closest_marker("one_target"):
        metafunc.parametrize("target", ["compiled", "plain"], indirect=True)
    elif module in PLAIN:
        metafunc.parametrize("target", ["plain"], indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """The two largest of dm_control's models are left to the plain algorithms: compiling for them takes a minute, and
    talos, of the same size, is compiled. Other files of large robots are compiled by ``make long``."""
    for item in items:
        path = getattr(item, "callspec", None) and item.callspec.params.get("path")
        if item.name.startswith("test_every_urdf[compiled-") and moving_joints(path) > 24:
            item.add_marker(pytest.mark.long)
    large = [i for i in items if "compiled-dog.xml" in i.name or "compiled-humanoid_CMU.xml" in i.name]
    config.hook.pytest_deselected(items=large)
    items[:] = [i for i in items if i not in large]


@pytest.fixture(autouse=True)
def target(request):
    """How the public functions are evaluated: "compiled" or "plain"."""
    kind = getattr(request, "param", "compiled")
    with plain_algorithms() if kind == "plain" else contextlib.nullcontext():
        yield kind


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that passed on the plain algorithms has run them: a law that holds for compiled code twice shows nothing."""
    result = yield
    asked = pyfuncitem.module.__name__ in BOTH_TARGETS and pyfuncitem.funcargs.get("target") == "plain"
    if asked and not PlainRoutine.rows and not pyfuncitem.get_closest_marker("one_target"):
        pytest.fail("no plain algorithm ran. Mark a test that calls none, on any target, by pytest.mark.one_target.")
    return result


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pytest_terminal_summary(terminalreporter):
    """One table of what the walk over all robot files saw."""
    reports = [r for key in ("passed", "failed") for r in terminalreporter.stats.get(key, [])]
    rows = sorted(text for r in reports for key, text in getattr(r, "user_properties", []) if key == "urdf")
    if rows:
        terminalreporter.section("URDF files beside Pinocchio: largest scaled difference")
        terminalreporter.line(
            f"{'file':34} {'nv':>4}  {'tau':>8}  {'M':>8}  {'qdd':>8}  {'residual':>8}  {'cond(M)':>8}"
        )
        for row in rows:
            terminalreporter.line(row)
