"""How functions of the library are declared, and the one memo that stores facts about systems."""

import ast
import gc
import inspect
from pathlib import Path

import numpy as np
import pytest

import sixd
from sixd.algorithms.rnea import rnea
from sixd.engine.functions import CHOICES, LIBRARY, Function
from sixd.engine.public import declaration, public
from sixd.model import memo
from sixd.model.system import REGISTERED, library

STATE = [0.3, 0.5], [1.0, -2.0], [0.4, 0.6]


@pytest.fixture
def undeclared(monkeypatch):
    """The declarations of a test are removed after it."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def test_a_declaration_is_all_a_function_needs(undeclared):
    """Signature, docstring and algorithm: the result runs on floats, batches, symbols, kernels and C."""

    @public(lambda model, q, qd, w: rnea(model, q, qd, w * 2), shapes={"w": ("nv",)})
    def doubled(model, q, qd, w, *, out=None):
        """Twice."""

    arm = sixd.zoo.planar(2)
    q, qd, w = map(np.array, STATE)
    tau = sixd.inverse_dynamics(arm, q, qd, 2 * w)
    assert doubled.__doc__ == "Twice."
    assert list(inspect.signature(doubled).parameters) == ["model", "q", "qd", "w", "out"]
    for _ in range(3):  # first the general path, then the entry
        assert np.array_equal(doubled(arm, q, qd, w), tau)
    assert np.array_equal(doubled(arm, [q, q], qd, w), [tau, tau])
    assert np.array_equal(sixd.compile(doubled, arm)(q, qd, w), tau)
    assert "doubled" in sixd.export_c(doubled, arm).source
    with pytest.raises(sixd.ShapeError, match=r"doubled: w has shape \(3,\), expected \(..., 2\) \(nv of model"):
        doubled(arm, q, qd, np.zeros(3))


def test_jax_has_every_function():
    """Read from its source, since JAX may not be installed; ``newton_euler`` returns an object of its own."""
    source = (Path(sixd.__file__).parent / "jax" / "__init__.py").read_text(encoding="utf-8")
    mirrored = {line.partition(" = mirror(")[0] for line in source.splitlines() if " = mirror(" in line}
    missing = set(LIBRARY) - mirrored - {"newton_euler"}
    assert missing == set(), "write NAME = mirror(…) in sixd/jax/__init__.py"


def test_an_array_of_unknown_shape_must_state_it(undeclared):
    with pytest.raises(TypeError, match=r"strange: the shape of its array 'x' is not known. State it: shapes={'x'"):

        @public(rnea)
        def strange(model, q, x): ...

    with pytest.raises(TypeError, match="the shape of its array 'x' is not known"):
        Function("strange", rnea, ("q", "x"))


@pytest.mark.parametrize("name", LIBRARY)
def test_a_signature_states_all_arguments(name):
    """Arrays and choices in the order of the signature; no other place defines them."""
    function = LIBRARY[name]
    front = library(name)
    assert declaration(front) is function
    assert front.__doc__
    names = list(inspect.signature(front).parameters)[1:]
    assert [n for n in names if n in function.arrays] == list(function.arrays)
    assert [n for n in names if n in CHOICES] == list(function.choices)
    assert ("f_ext" in names) == function.force
    if hasattr(sixd, name):
        assert getattr(sixd, name) is front


def test_the_memo_is_cleared_in_one_call():
    """Nothing else remembers a system: afterwards, the next call has no routine, no rank and no rollout."""
    model = sixd.zoo.four_bar()
    q = sixd.assemble(model, [1.0, -0.5, 1.6], fixed=["crank"])
    results = [sixd.inverse_dynamics(model, q, q, q), sixd.constrained_dynamics(model, q, 0 * q, q)[0]]
    sixd.simulate(model, q, 0 * q, duration=0.01, dt=1e-3)
    assert len(memo.known_of(model)) > 5
    memo.clear()
    assert not memo.KNOWN
    assert not any(memo._INDEXES)
    again = [sixd.inverse_dynamics(model, q, q, q), sixd.constrained_dynamics(model, q, 0 * q, q)[0]]
    assert all(map(np.array_equal, results, again))


def test_a_system_is_forgotten_with_its_facts():
    model = sixd.zoo.pendulum(2)
    sixd.mass_matrix(model, [0.1, 0.2])
    key = id(model)
    assert memo.known_of(model)
    assert any(key in index for index in memo._INDEXES)
    del model
    gc.collect()
    assert key not in memo.KNOWN
    assert not any(key in index for index in memo._INDEXES)


def test_a_reduced_model_does_not_keep_its_model_alive():
    before = len(memo.KNOWN)
    for _ in range(3):
        model = sixd.zoo.planar(2).with_constraints(sixd.Mimic("link2", "link1", 2.0, 0.1))
        assert model.reduce() is model.reduce()
        sixd.mass_matrix(model.reduce(), [0.1])
    del model
    gc.collect()
    assert len(memo.KNOWN) <= before


@pytest.mark.long
def test_no_other_cache_of_systems():
    """Everything that is stored per system is in the memo: no weak dictionaries elsewhere, no cached functions of
    systems.
    """
    found = []
    for path in Path(sixd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Name) and node.id in ("WeakKeyDictionary", "WeakValueDictionary"):
                found.append((path.name, node.lineno))
            if isinstance(node, ast.FunctionDef) and any("cache" in ast.dump(d) for d in node.decorator_list):
                arguments = [a.arg for a in node.args.args]
                if {"model", "system"} & set(arguments):
                    found.append((path.name, node.name))
    assert not found


def test_errors_name_the_function_that_was_called():
    """Also if another algorithm, or another layer, detects the error."""
    equations = sixd.equations(sixd.zoo.planar(2))
    for function in (sixd.constrained_dynamics, sixd.inverse_dynamics):
        with pytest.raises(sixd.ModelError, match=rf"^{function.__name__}: .* are equations without bodies"):
            function(equations, *STATE, f_ext=np.zeros((equations.nb, 6)))
    with pytest.raises(sixd.UnknownNameError, match=r"compile: target: no choice named"):
        sixd.compile(sixd.mass_matrix, sixd.zoo.planar(2), target=["cpu"])


def test_public_functions_look_like_functions():
    spec = inspect.getfullargspec(sixd.pose)
    assert (spec.args, spec.kwonlyargs) == (["model", "q", "frame"], ["relative_to", "out"])
    assert sixd.pose.__kwdefaults__ == {"relative_to": "world", "out": None}


def test_the_first_result_owns_its_data():
    model, x = sixd.zoo.planar(2), np.zeros(2)
    assert sixd.inverse_dynamics(model, x, x, x).flags.owndata
    assert sixd.inverse_dynamics(model, *np.zeros((3, 5, 2))).flags.owndata
