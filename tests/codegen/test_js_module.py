"""Steps of simulations as JavaScript, run by Node, against ``sixd.simulate``: every method, constraints, friction."""

import dataclasses
import json
import shutil
import subprocess

import numpy as np
import pytest

import recipes
import sixd
from sixd.codegen import js_module
from sixd.codegen.js_module import emit_js_module
from sixd.simulation.setup import make_setup
from sixd.simulation.stepping.compiled_steps import make_recipe
from sixd.trace import trace
from sixd.trace.stages import trace_stages

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed (Debian's package nodejs)")


def run(text, script):
    """Return the JSON that a script prints; ``M`` is the module."""
    source = f"const M = (function () {{ 'use strict';\n{text}\n}})();\n{script}"
    done = subprocess.run([NODE, "-"], input=source, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def moved(model, q, qd, steps, method="rk4", **options):
    """Return q and qd after so many steps of 1 ms in JavaScript."""
    setup = make_setup("simulate", sixd.Scenario(model, **{"stabilisation": 0.0} | options), q, qd)
    recipe = make_recipe(setup.problem, method)
    given = {"q": setup.q[0], "qd": setup.qd[0], "u": setup.u[0], "h": [1e-3]}
    given |= {f"constant {name}": x[0].ravel() for name, x in setup.constants.items()}
    start = json.dumps({name: list(map(float, x)) for name, x in given.items()})
    script = f"""const start = {start};
    for (const name in start) M.arrays[name].set(start[name]);
    for (let k = 0; k < {steps}; k++) M.step();
    console.log(JSON.stringify([Array.from(M.arrays.q), Array.from(M.arrays.qd), M.arrays.steps[0]]));"""
    q, qd, count = run(emit_js_module(recipe, {}), script)
    assert count == steps
    return np.array(q), np.array(qd)


def agrees(model, q, qd, steps=200, method="rk4", *, atol=1e-11, **options):
    motion = sixd.simulate(model, q, qd, steps * 1e-3, method=method, **options)
    found = moved(model, q, qd, steps, method, **options)
    np.testing.assert_allclose(found[0], motion.q[-1], rtol=0, atol=atol)
    np.testing.assert_allclose(found[1], motion.qd[-1], rtol=0, atol=100 * atol)


@pytest.mark.parametrize("method", ["rk4", "euler", "implicit"])
def test_methods(method):
    agrees(sixd.zoo.ur_arm(), [0.3, -0.3, -0.4, -0.6, 0.9, 0.0], np.zeros(6), method=method)


@pytest.mark.long
def test_every_joint_type(rng):
    """A random tree; its quaternions move on the group."""
    model = sixd.zoo.random_tree(4)
    agrees(model, model.random_configuration(rng), 0.3 * rng.normal(size=model.nv), 50)


def test_constraints():
    model = sixd.zoo.four_bar()
    agrees(model, sixd.assemble(model, [1.0, -0.3, 1.5]), np.zeros(3))


@pytest.mark.long
def test_dry_friction_and_rigid_limits():
    """Steps that solve for impulses repeat calls, and skip some."""
    puma = sixd.zoo.puma560()
    agrees(puma, np.full(6, 0.1), np.full(6, 0.2))
    stopped = dataclasses.replace(sixd.zoo.pendulum(2), lower=np.full(2, -0.5), upper=np.full(2, 0.5))
    agrees(stopped, [0.49, 0.0], [2.0, -1.0], 60, forces=sixd.RigidLimits())


def test_rigid_ground():
    """A ball that falls, slips and rolls."""
    ball = sixd.zoo.falling_sphere()
    ground = sixd.RigidGround({"sphere": (0, 0, 0, 0.05)}, friction=0.3)
    agrees(ball, [1, 0, 0, 0, 0, 0, 0.06], [0, 0, 0, 1.0, 0, 0], 120, forces=ground)


def test_controller_is_part_of_the_step():
    agrees(sixd.zoo.pendulum(), [0.5], [0.0], controller=lambda t, q, qd: -qd - 3 * q)


def test_long_programs_are_cut(monkeypatch):
    """Parts pass their values in an array; results are written last."""
    model = sixd.zoo.ur_arm()
    whole = moved(model, np.full(6, 0.3), np.full(6, 0.4), 20)
    monkeypatch.setattr(js_module, "WHOLE", 50)
    monkeypatch.setattr(js_module, "PART", 30)
    parts = moved(model, np.full(6, 0.3), np.full(6, 0.4), 20)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


def test_states_may_be_exchanged():
    """A result that is another state is copied before that state is replaced."""
    recipe = trace_stages(lambda stages, a, b: (b, a), {"a": (2,), "b": (2,)}, {})
    script = "M.arrays.a.set([1, 2]); M.arrays.b.set([3, 4]); M.step(); console.log(JSON.stringify([Array.from(M.arrays.a), Array.from(M.arrays.b)]));"
    assert run(emit_js_module(recipe, {}), script) == [[3, 4], [1, 2]]


def test_programs_by_name():
    """Names are text and may contain anything; inputs come first, then outputs."""
    recipe = trace_stages(lambda stages, a: (a * 2,), {"a": ()}, {})
    name = "</script> 'x'"
    program = trace(lambda x, y: (x @ y, x + y), {"x": (2,), "y": (2,)})
    text = emit_js_module(recipe, {name: program})
    assert "</" not in text
    script = f"const s = [0], v = [0, 0]; M.programs[{json.dumps(name)}]([1, 2], [3, 4], s, v); console.log(JSON.stringify([s, v]));"
    assert run(text, script) == [[11], [4, 6]]


def test_tables_and_loops(rng):
    """The same numbers as in compiled code."""

    def stepped(recipe, *state):
        given = json.dumps({name: np.ravel(x).tolist() for name, x in zip(recipe.state, state, strict=True)})
        script = f"""const start = {given};
        for (const name in start) M.arrays[name].set(start[name]);
        M.step();
        console.log(JSON.stringify(Object.keys(start).map((name) => Array.from(M.arrays[name]))));"""
        return run(emit_js_module(recipe, {}), script)

    x, k = rng.normal(size=(5, 3)), rng.uniform(size=6)
    for ours, theirs in zip(stepped(recipes.springs(), x, k), recipes.springs_by_numpy(x, k), strict=True):
        np.testing.assert_allclose(ours, theirs.ravel(), rtol=1e-13, atol=1e-13)
    for start in ((300.0, 0.1, 1.0, 0.0), (1e-4, 0.1, 1.0, 2.0), (300.0, 0.1, 0.0, 0.0)):
        np.testing.assert_allclose(np.ravel(stepped(recipes.nested(), *start)), recipes.nested_by_numbers(*start))
    x, when, y = rng.uniform(0, 100, 4), np.array([1.0, 0.0, 1.0, 1.0]), rng.normal(size=(5, 2))
    found = stepped(recipes.roots(), x, when, y)[2]
    np.testing.assert_allclose(found, recipes.roots_by_numpy(x, when, y).ravel(), rtol=1e-15)
