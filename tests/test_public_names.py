"""``import sixd`` imports little; every public name is there, and its module is imported when it is first used."""

import importlib
import inspect
import os
import pickle
import pkgutil
import pydoc
import rlcompleter
import subprocess
import sys

import pytest

import public_stub
import sixd

pytestmark = pytest.mark.one_target
START = (
    "import sys, threading, pickle, sixd\nloaded = lambda: [m for m in sys.modules if m.partition('.')[0] == 'sixd']\n"
)


def fresh(code, **environment):
    """Run code in a new process that has imported only sixd, and return the lines it prints."""
    command = [sys.executable, "-c", START + code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_import_loads_little():
    """What every use of a model needs; a first result needs neither pictures nor robot files nor simulation."""
    code = """
print(len(loaded()) <= 60)
arm = sixd.zoo.planar(2)
sixd.mass_matrix(arm, [0.1, 0.2])
unused = "viewer", "drawing", "geometry", "identification", "ik", "io.urdf", "io.sdf", "io.mjcf", "simulation", "symbolic"
print([m for m in loaded() if m.removeprefix("sixd.").startswith(unused)])
"""
    assert fresh(code) == ["True", "[]"]


def test_all_names_are_found():
    """In the list, by tab completion, by help, and by a star import in a new process."""
    assert dir(sixd) == sorted(sixd.__all__) == list(sixd.__all__)
    assert {name for name in sixd.__all__ if not hasattr(sixd, name)} == set()
    completer = rlcompleter.Completer({"sixd": sixd})
    completed = {completer.complete("sixd.inverse_", k) for k in range(4)}
    assert {text and text.removeprefix("sixd.").partition("(")[0] for text in completed} == {
        "inverse_dynamics", "inverse_dynamics_derivatives", "inverse_kinematics", "inverse_mass_matrix",
    }  # fmt: skip
    text = pydoc.render_doc(sixd, renderer=pydoc.plaintext)
    assert [name for name in ("class Model(", "inverse_dynamics(", "class Trajectory(") if name not in text] == []
    assert fresh("from sixd import *\nprint(sorted(set(globals()) & set(sixd.__all__)) == dir(sixd))") == ["True"]


def test_names_are_those_of_their_modules():
    """The table names modules that define the names or collect them, and each object says where it is from."""
    for name, module in sixd._MODULES.items():
        assert getattr(sixd, name) is getattr(importlib.import_module(module), name)
        assert getattr(getattr(sixd, name), "__module__", "sixd").startswith("sixd")
    assert all(inspect.ismodule(getattr(sixd, name)) for name in sixd._PACKAGES)


def test_type_checkers_know_the_same_names():
    assert public_stub.PATH.read_text(encoding="utf-8") == public_stub.text(), "run python tests/public_stub.py"


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="module 'sixd' has no attribute 'forward_dynamic'. Did you mean") as error:
        sixd.forward_dynamic  # noqa: B018
    assert "'forward_dynamics'" in str(error.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'Modle'. Did you mean 'Model'\?$"):
        sixd.Modle  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'simulte' from 'sixd'"):
        exec("from sixd import simulte", {})
    for name in ("_private", "not a name", "a.b", "__wrapped__"):
        assert not hasattr(sixd, name)


def test_packages_of_sixd_are_attributes():
    """Also those that are not public, as they were when all were imported at once."""
    names = {module.name for module in pkgutil.iter_modules(sixd.__path__)} - {"__main__", "torch", "jax"}
    code = f"print([name for name in {sorted(names)} if getattr(sixd, name).__name__ != 'sixd.' + name])"
    assert fresh(code) == ["[]"]


@pytest.mark.parametrize(("name", "says"), [("torch", "PyTorch is not installed"), ("jax", "JAX cannot be imported")])
def test_an_optional_package_that_is_missing_is_named(name, says):
    """By whatever statement asks for it."""
    code = f"""
sys.modules["{name}"] = None
for line in ("sixd.{name}", "import sixd.{name}", "from sixd import {name}", "from sixd.{name} import rollout"):
    try:
        exec(line)
    except sixd.MissingPackageError as error:
        print("{says}" in str(error))
"""
    assert fresh(code) == ["True"] * 4


def test_objects_can_be_pickled_into_a_new_process():
    """Whose first use of sixd is to load them."""
    arm = sixd.zoo.planar(2)
    things = [sixd.inverse_dynamics, sixd.Model, arm, sixd.controllers.GravityCompensation(arm), sixd.simulate]
    code = f"print([type(x).__name__ for x in pickle.loads({pickle.dumps(things)!r})])"
    assert fresh(code) == [str([type(x).__name__ for x in things])]


def test_methods_load_what_they_need():
    """Methods of a model whose functions are in higher layers."""
    code = """
from sixd.zoo.textbook import pendulum
arm = pendulum(2)
print(arm.integrate([0, 0], [1, 2]), arm.difference([0, 0], [1, 2]), arm.reduce().nv)
"""
    assert fresh(code) == ["[1. 2.] [1. 2.] 2"]


def test_threads_import_at_once():
    """Each gets all names and modules, in an order of its own, while the others import the same modules."""
    code = """
import importlib, random
sys.setswitchinterval(1e-6)
start, failed = threading.Barrier(8), []
def use(k):
    names = [*sixd.__all__, *set(sixd._MODULES.values())]
    random.Random(k).shuffle(names)
    start.wait()
    try:
        for name in names:
            importlib.import_module(name) if "." in name else getattr(sixd, name)
    except BaseException as error:
        failed.append(repr(error))
threads = [threading.Thread(target=use, args=(k,)) for k in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(failed)
"""
    assert fresh(code) == ["[]"]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each module")
def test_any_name_can_be_the_first():
    """No module relies on another that happened to be imported before."""
    code = """
import os, numpy, scipy.linalg, sympy, llvmlite.binding
for name in {sixd._MODULES.get(n, n): n for n in sixd.__all__}.values():
    child = os.fork()
    if not child:
        getattr(sixd, name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
"""
    assert fresh(code) == []
