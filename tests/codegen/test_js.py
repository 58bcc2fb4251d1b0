"""JavaScript from programs, run by Node: every operation, and the poses of every joint type."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import group_functions
import samples
import sixd
from sixd.algorithms.kinematics import body_poses
from sixd.codegen.js import JS_EXPR, emit_js
from sixd.spatial import scalar
from sixd.trace import Op, trace

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed (Debian's package nodejs)")


def run(program, rows):
    """Return outputs (n, size) of a program's JavaScript for samples (n, inputs) of its single input q; NaN and ±∞
    pass.
    """
    body = f"const f = new Function('q', 'out', {json.dumps(emit_js(program))});"
    size = sum(len(slot.entries) for slot in program.outputs)
    numbers = json.dumps([[repr(float(x)) for x in row] for row in rows])
    script = f"""{body}
    const read = s => s === 'inf' ? Infinity : s === '-inf' ? -Infinity : s === 'nan' ? NaN : Number(s);
    const write = x => Object.is(x, -0) ? '-0' : String(x);
    console.log(JSON.stringify({numbers}.map(row => {{
        const out = new Float64Array({size}); f(row.map(read), out); return Array.from(out, write);
    }})));"""
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    words = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}
    return np.array([[float(words.get(x, x)) for x in row] for row in json.loads(done.stdout)]).reshape(-1, size)


def test_every_operation_has_an_expression():
    assert set(JS_EXPR) == set(Op) - {Op.CONST, Op.INPUT, Op.HELD}


# each operation once, through the functions that users write
OPERATIONS = {
    Op.ADD: lambda q: q[0] + q[1], Op.SUB: lambda q: q[0] - q[1], Op.MUL: lambda q: q[0] * q[1],
    Op.DIV: lambda q: q[0] / q[1], Op.NEG: lambda q: -q[0], Op.SIN: lambda q: scalar.sin(q[0]),
    Op.COS: lambda q: scalar.cos(q[0]), Op.TAN: lambda q: scalar.tan(q[0]), Op.ASIN: lambda q: scalar.asin(q[0]),
    Op.ACOS: lambda q: scalar.acos(q[0]), Op.ATAN2: lambda q: scalar.atan2(q[0], q[1]),
    Op.SQRT: lambda q: scalar.sqrt(q[0]), Op.EXP: lambda q: scalar.exp(q[0]), Op.LOG: lambda q: scalar.log(q[0]),
    Op.LOG1P: lambda q: scalar.log1p(q[0]), Op.TANH: lambda q: scalar.tanh(q[0]),
    Op.HYPOT: lambda q: scalar.hypot(q[0], q[1]),
    Op.ABS: lambda q: abs(q[0]), Op.SIGN: lambda q: scalar.sign(q[0]), Op.MIN: lambda q: scalar.minimum(q[0], q[1]),
    Op.MAX: lambda q: scalar.maximum(q[0], q[1]), Op.LT: lambda q: sixd.where(q[0] < q[1], 1, 2),
    Op.LE: lambda q: sixd.where(q[0] <= q[1], 1, 2), Op.EQ: lambda q: sixd.where(q[0] == q[1], 1, 2),
    Op.NOT: lambda q: sixd.where(~(q[0] < q[1]), 1, 2),
    Op.AND: lambda q: sixd.where((q[0] < q[1]) & (q[1] < q[2]), 1, 2),
    Op.OR: lambda q: sixd.where((q[0] < q[1]) | (q[1] < q[2]), 1, 2),
    Op.SELECT: lambda q: sixd.where(q[0] < q[1], q[1], q[2]),
}  # fmt: skip


@needs_node
def test_every_operation_is_as_in_numpy():
    """Each operation is compared with the program's own evaluation, for ordinary and for extreme numbers."""
    assert set(OPERATIONS) == set(JS_EXPR)
    programs = {op: trace(f, {"q": (3,)}) for op, f in OPERATIONS.items()}
    for op, program in programs.items():
        assert op in {n.op for n in program.nodes}
    together = trace(lambda q: np.array([f(q) for f in OPERATIONS.values()]), {"q": (3,)})
    awkward = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 1e300, np.inf, -np.inf, np.nan]
    rows = np.array([(a, b, 0.5) for a in awkward for b in awkward])
    (want,) = together.evaluate(rows)
    got = run(together, rows)
    # V8's functions and NumPy's differ by rounding; sin of 1e300 is exact in both
    np.testing.assert_allclose(got, want, rtol=4e-16, atol=4e-16)
    # signs of zeros, for arithmetic
    assert (np.signbit(got) == np.signbit(want))[:, :5][~np.isnan(want[:, :5])].all()


@needs_node
@pytest.mark.parametrize("model", samples.trees(), ids=lambda m: m.name)
def test_poses_of_every_joint_type(model, rng):
    """The page's kinematics equals that of the library."""
    program = trace(lambda q: body_poses(model, q), {"q": (model.nq,)})
    rows = np.array([q for q, _, _ in samples.states(model, rng)])
    want = sixd.body_poses(model, rows).reshape(len(rows), -1)
    assert np.abs(run(program, rows) - want).max() < 1e-12


@needs_node
def test_numbers_are_exact(rng):
    """Constants of every size and sign come back bit for bit."""
    numbers = [*rng.standard_normal(20) * 10.0 ** rng.integers(-300, 300, 20), 0.1, 5e-324, np.inf, -np.inf]
    got = run(trace(lambda q: np.array(numbers) * 1.0, {"q": (1,)}), [[0.0]])[0]
    assert got.tobytes() == np.array(numbers).tobytes()


@needs_node
def test_several_outputs_follow_one_after_another():
    program = trace(lambda q: (q[0], np.array([q[1], 2.0 * q[0]])), {"q": (2,)})
    assert run(program, [[3.0, 4.0]]).tolist() == [[3.0, 4.0, 6.0]]


@pytest.mark.parametrize("name", ["out", "Math", "class", "t3", "a-b", "ä", "q;alert(1)"])
def test_names_that_are_invalid_in_javascript(name):
    with pytest.raises(
        sixd.ScalarTypeError, match="an input is called .*, expected a valid JavaScript name that is not reserved"
    ):
        emit_js(trace(lambda x: x * 2.0, {name: ()}))


@needs_node
def test_functions_of_groups(rng):
    """Exponentials and logarithms of rotations and poses, and elementary functions, compared with the plain ones."""
    rows = group_functions.arguments(rng, 8)
    expected = [group_functions.all_of_them(row) for row in rows]
    np.testing.assert_allclose(run(group_functions.program(name="q"), rows), expected, atol=1e-13)
