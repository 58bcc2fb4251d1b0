"""Fixtures shared by all tests."""

import contextlib
import importlib.util
import itertools
import os
import signal
import tempfile

import numpy as np
import pytest

import sixd
import sixd.api.declared
import sixd.symbolic.newton.result  # with it, LIBRARY of the engine has all functions
from plain import PlainRoutine, plain_algorithms
from sixd.engine import artifact
from sixd.runtime import calls
from sixd.zoo.random_trees import JOINT_KINDS

BOTH = ("compiled", "plain")


def pytest_configure(config):
    """Make a cache of compiled code for this run, which its processes share.

    Ctrl-C interrupts them: a shell starts background programs such that they, and all their children, ignore it.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "SIXD_CACHE_DIR" not in os.environ:
        config.sixd_cache = tempfile.TemporaryDirectory(prefix="sixd-test-")
        os.environ["SIXD_CACHE_DIR"] = config.sixd_cache.name


@pytest.fixture(scope="session", autouse=True)
def code_of_calls():
    """Load the code of calls, which is made once per process: tests count what is compiled for their own calls."""
    calls.shell(artifact.shell)


def pytest_generate_tests(metafunc):
    targets = targets_of(metafunc.definition)
    if targets and not (targets == BOTH and metafunc.definition.get_closest_marker("one_target")):
        metafunc.parametrize("target", targets, indirect=True)


def targets_of(item):
    """Return the targets that a test asks for by its mark: ``pytestmark = pytest.mark.targets("compiled", "plain")``."""
    mark = item.get_closest_marker("targets")
    return mark.args if mark else ()


# compiled laws run in ``make test`` on one tree that has every joint type, on these in ``make long``. Compiling takes
# nearly all of the time: of 100 s of laws, the plain algorithms needed 6
REPEATS = {*JOINT_KINDS, "line", "tree1", "tree2", "random_tree1", "random_tree2", "quadruped", "gripper"}
# fixtures that start processes or a browser, which takes seconds
SLOW_FIXTURES = {"cluster", "browser"}


def takes_long(item):
    """Whether the parameters and fixtures of a test put it into ``make long``."""
    words = set(item.callspec.id.split("-")) if hasattr(item, "callspec") else set()
    return ("compiled" in words and words & REPEATS) or SLOW_FIXTURES & set(item.fixturenames)


# of the cases of a test that is marked ``many``, ``make test`` runs every eighth, starting with the first, and
# ``make long`` the others: the everyday tests then need 5:15 instead of some 14 minutes on two cores, and still touch everything
EVERY = 8


def without_each(items):
    """Return the cases of tests marked ``many`` that ``make test`` skips: all except every eighth of each test."""
    cases = [item for item in items if item.get_closest_marker("many")]
    for _, group in itertools.groupby(cases, lambda item: (item.path, item.originalname)):
        yield from (item for k, item in enumerate(group) if k % EVERY)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark long tests, and run the two largest models of dm_control by the plain algorithms only.

    Compiling for them needs a minute, and talos, which has the same size, is compiled.
    """
    for item in itertools.chain(filter(takes_long, items), without_each(items)):
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
    """Fail a test of the plain algorithms that did not run them: it would test compiled code twice."""
    result = yield
    asked = targets_of(pyfuncitem) == BOTH and pyfuncitem.funcargs.get("target") == "plain"
    if asked and not PlainRoutine.rows and not pyfuncitem.get_closest_marker("one_target"):
        pytest.fail("no plain algorithm ran. Mark a test that calls none, on any target, by pytest.mark.one_target.")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test that stops because an optional package is not installed."""
    try:
        return (yield)
    except BaseException as error:
        for e in filter(lambda e: isinstance(e, sixd.MissingPackageError), causes(error)):
            cause = e.__context__  # only if the package is really missing
            if isinstance(cause, ImportError) and importlib.util.find_spec(str(cause.name).partition(".")[0]) is None:
                pytest.skip(str(e))
        raise


def causes(error):
    """Yield an exception and those that caused it: pytest.warns and others raise an exception of their own."""
    while error is not None:
        yield error
        error = error.__context__


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pytest_terminal_summary(terminalreporter):
    """Print a table of the differences from Pinocchio over all robot files."""
    reports = [r for key in ("passed", "failed") for r in terminalreporter.stats.get(key, [])]
    rows = sorted(text for r in reports for key, text in getattr(r, "user_properties", []) if key == "urdf")
    if rows:
        terminalreporter.section("URDF files compared with Pinocchio: largest scaled difference")
        terminalreporter.line(
            f"{'file':34} {'nv':>4}  {'tau':>8}  {'M':>8}  {'qdd':>8}  {'residual':>8}  {'cond(M)':>8}"
        )
        for row in rows:
            terminalreporter.line(row)
