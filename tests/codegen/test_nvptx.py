"""Code for GPUs: its instructions, NVIDIA's assembler, and the same LLVM code run on the CPU."""

import itertools
import re

import numpy as np
import pytest

import group_functions
import sixd
from ptxas import assemble
from samples import KINDS, OPERATIONAL, single_joint
from sixd.codegen.llvm import rolled
from sixd.codegen.llvm.ir import FunctionBody, Module, Type
from sixd.codegen.llvm.machine import host
from sixd.codegen.llvm.vector_math import FUNCTIONS
from sixd.codegen.nvptx import kernel, memory
from sixd.codegen.nvptx.architectures import ARCHITECTURES, architecture_of, check_architecture
from sixd.codegen.nvptx.kernel import emit_kernel, shared_bytes
from sixd.codegen.nvptx.ptx import make_ptx
from sixd.engine.artifact import trace_request
from sixd.engine.functions import LIBRARY, Request
from sixd.errors import UnknownNameError
from sixd.trace.program import trace
from warp import run_kernel

DTYPES = ("float64", "float32")
LIMIT = 1e24
fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
FRAMED = {"given": [], "frame": "body2"}


def traced(name, model, dtype, force=False):
    """Return the program of a library function, with default choices and the frame of a body."""
    function = LIBRARY[name].for_system(model)
    values = [FRAMED[key] if usual is ... else usual for key, usual in function.choices.items()]
    return trace_request(model, Request(function, function.check_choices(model, tuple(values)), dtype, force))


def samples_of(program, model, rng, dtype, n):
    """Return arguments of a program, n samples each."""
    found = []
    for slot in program.inputs:
        if slot.name in ("q", "q0", "q1"):
            found.append(np.stack([model.random_configuration(rng) for _ in range(n)]))
        else:
            found.append(rng.uniform(-2, 2, (n, *slot.shape)))
    return [x.astype(dtype) for x in found]


def emulate(program, dtype, inputs, layout="rows", n=None):
    """Return outputs of the kernel, and its count."""
    n = n or max(map(len, inputs))
    order = "F" if layout == "strided" else "C"
    outputs = [np.full((n, *slot.shape), 7.0, dtype, order=order) for slot in program.outputs]
    text = emit_kernel(program, dtype, LIMIT, layout)
    count = run_kernel(text, shared_bytes(program, dtype, layout), layout, inputs, outputs)
    return outputs, count


def on_cpu(name, model, inputs):
    """Return the public function's results: vector code."""
    function = LIBRARY[name]
    choices = {key: FRAMED[key] for key, usual in function.choices.items() if usual is ...}
    result = getattr(sixd, name)(model, *inputs, **choices)
    return result if isinstance(result, tuple) else (result,)


# instructions -----------------------------------------------------------------------------------------------

ARITHMETIC = re.compile(r"^\s+(?:@!?%p\d+ )?((?:add|sub|mul|fma|mad|div|sqrt|rcp|rsqrt|ex2|lg2|sin|cos|cvt)\.\S*f(?:32|64)\S*)", re.M)  # fmt: skip
ALLOWED = re.compile(
    r"(add|sub|mul|fma|div|rcp|sqrt)\.rn\.f(32|64)|cvt\.rn\.f32\.f64|cvt\.f64\.f32|cvt\.rn\.f64\.s64|rcp\.approx\.ftz\.f64"
)


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["forward_dynamics", "integrate", "difference"])
def test_every_result_is_rounded_once(name, dtype):
    """No instruction is approximate, flushes small numbers to zero, or can be fused by the assembler, except the
    initial value of a reciprocal.
    """
    ptx = make_ptx(emit_kernel(traced(name, sixd.zoo.random_tree(1), dtype), dtype, LIMIT), "sm_90")
    used = set(ARITHMETIC.findall(ptx))
    assert {word for word in used if not ALLOWED.fullmatch(word)} == set()
    assert f"fma.rn.f{dtype[-2:]}" in used
    assert not re.search(r"\.ftz|\.approx|\.full|\.sat", ptx.replace("rcp.approx.ftz.f64", ""))


@pytest.mark.many
@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.word)
def test_elementary_functions_need_no_library(op, kind, tmp_path):
    module = Module(on_gpu=True)
    code, type = FunctionBody(module), Type(kind)
    args = [code.load(type, code.at("%a", type.bytes * k), f"align {type.bytes}") for k in range(op.arity)]
    code.do(f"store {FUNCTIONS[op](code, *args)}, {code.at('%a', 64)}, align {type.bytes}")
    code.do("ret void")
    module.define("kernel", "ptx_kernel void @kernel(ptr %a, ptr %context)", code)
    ptx = make_ptx(str(module), "sm_75")
    assert ".extern" not in ptx
    assert {word for word in ARITHMETIC.findall(ptx) if not ALLOWED.fullmatch(word)} == set()
    assemble(ptx, "sm_75", tmp_path)


@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_groups_are_bit_identical_to_the_cpu(dtype, rng):
    """Exponentials, logarithms, lengths and the like in a user's function."""
    shapes = {"x": (group_functions.SIZE,)}
    kernel = sixd.compile(group_functions.all_of_them, sixd.zoo.pendulum(), shapes=shapes, dtype=dtype)
    x = group_functions.arguments(rng, 70).astype(dtype)
    x[::10] *= 1e30
    (found,), _ = emulate(group_functions.program(dtype), dtype, [x])
    np.testing.assert_array_equal(found, kernel(x))


@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_reciprocals_are_rounded_to_nearest(dtype, rng):
    """All exponents except the outermost of float64, digits that are nearly all ones or zeros, zeros, infinities, NaN."""
    digits, word = (52, np.uint64) if dtype == "float64" else (23, np.uint32)
    exponents = np.arange(2**11 if dtype == "float64" else 2**8, dtype=word) << word(digits)
    ends = np.concatenate([np.arange(100), 2**digits - 1 - np.arange(100)]).astype(word)
    found = [exponents | rng.integers(0, 2**digits, len(exponents), dtype=word) for _ in range(4)]
    found += [np.bitwise_or.outer(exponents[[1, 2, 60, 127, 200, -4, -3]], ends).ravel()]
    found += [
        exponents[[0, -1]],
        exponents[[-1]] | word(1),
        exponents[[0, -1]] | word(1) << word(len(exponents).bit_length() + digits - 1),
    ]
    x = np.concatenate(found).view(dtype)[:, None]
    if dtype == "float64":
        x = x[(np.abs(x) < 2.0**1022) & (np.abs(x) >= 2.0**-1022) | (x == 0) | ~np.isfinite(x)][:, None]
    with np.errstate(all="ignore"):
        expected = 1 / x
    (y,), _ = emulate(trace(lambda x: np.array([1 / x[0]]), {"x": (1,)}, dtype), dtype, [x])
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(np.signbit(y)[~np.isnan(y)], np.signbit(expected)[~np.isnan(y)])


# the assembler ----------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", list(LIBRARY))
def test_every_function_assembles(name, dtype, tmp_path):
    """A tree on a free joint with a spherical one, and a loop for functions of constraints."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))
    if LIBRARY[name].generic and name not in OPERATIONAL:
        model = sixd.zoo.four_bar()
    program = traced_for(name, model, dtype)
    assert assemble(make_ptx(emit_kernel(program, dtype, LIMIT), "sm_90"), "sm_90", tmp_path) > 0


def traced_for(name, model, dtype):
    """Return the program of a function, with the frame of the model's last body."""
    FRAMED["frame"] = model.body_names[-1]
    try:
        return traced(name, model, dtype)
    finally:
        FRAMED["frame"] = "body2"


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_assembles(kind, tmp_path):
    model = single_joint(kind)
    for name, dtype, layout in itertools.product(("forward_dynamics", "integrate"), DTYPES, ("rows", "strided")):
        assemble(make_ptx(emit_kernel(traced(name, model, dtype), dtype, LIMIT, layout), "sm_80"), "sm_80", tmp_path)


@pytest.mark.many
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_assembles(arch, tmp_path):
    program = traced("mass_matrix", sixd.zoo.random_tree(7, kinds=("free", "revolute")), "float64")
    made = check_architecture("test", arch)
    ptx = make_ptx(emit_kernel(program, "float64", LIMIT), made)
    assert re.search(rf"^\.target {made}$", ptx, re.M)
    assemble(ptx, arch, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES)
def test_rolled_programs_assemble(dtype, monkeypatch, tmp_path):
    monkeypatch.setattr(rolled, "WHEN", "always")
    program = traced("forward_dynamics", sixd.zoo.random_tree(1), dtype)
    assemble(make_ptx(emit_kernel(program, dtype, LIMIT), "sm_90"), "sm_90", tmp_path)


# the same code on the CPU ------------------------------------------------------------------------------------


@pytest.mark.many
@fused
@pytest.mark.parametrize("layout", ["rows", "strided"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_have_the_bits_of_vector_code(kind, dtype, layout, rng):
    """Inverse and forward dynamics and the mass matrix of every joint type; more samples than a warp has threads."""
    model = single_joint(kind)
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        program = traced(name, model, dtype)
        inputs = samples_of(program, model, rng, dtype, 43)
        expected = on_cpu(name, model, inputs)
        found, _ = emulate(
            program, dtype, [np.asarray(x, order="F" if layout == "strided" else "C") for x in inputs], layout
        )
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)), name


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
def test_wide_rows_by_tiles(n, dtype, rng):
    """Any number of samples: whole warps, parts of one; nothing after the last sample is written."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "revolute"))
    program = traced("mass_matrix", model, dtype)
    assert shared_bytes(program, dtype, "rows") > 0
    inputs = samples_of(program, model, rng, dtype, n)
    expected = on_cpu("mass_matrix", model, inputs)[0]
    memory = np.full((n + 40, *program.outputs[0].shape), 7.0, dtype)
    text = emit_kernel(program, dtype, LIMIT)
    run_kernel(text, shared_bytes(program, dtype, "rows"), "rows", inputs, [memory[:n]])
    assert np.array_equal(memory[:n], expected)
    assert (memory[n:] == 7).all()


@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_sample_for_all(dtype, rng):
    """Arrays with a stride of 0 broadcast, also through tiles."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute"))
    function = LIBRARY["inverse_dynamics"]
    program = trace_request(model, Request(function, (), dtype, True))
    q, qd, qdd, f_ext = samples_of(program, model, rng, dtype, 40)
    assert f_ext[0].size >= 12
    found, _ = emulate(program, dtype, [q, qd[:1], qdd, f_ext[:1]], n=40)
    assert np.array_equal(found[0], sixd.inverse_dynamics(model, q, qd[0], qdd, f_ext=f_ext[0]))


@pytest.mark.long
@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_rolled_kernels_have_the_same_bits(dtype, monkeypatch, rng):
    model = sixd.zoo.random_tree(1)
    program = traced("forward_dynamics", model, dtype)
    inputs = samples_of(program, model, rng, dtype, 35)
    expected = on_cpu("forward_dynamics", model, inputs)
    monkeypatch.setattr(rolled, "WHEN", "always")
    found, _ = emulate(program, dtype, inputs)
    assert np.array_equal(found[0], expected[0])


@fused
@pytest.mark.parametrize("layout", ["rows", "strided"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_compact_code_has_the_same_bits(dtype, layout, monkeypatch, rng, tmp_path):
    """Sine, cosine and copies of tiles by calls, as in large programs; some angles are huge or NaN."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "revolute", "spherical"))
    monkeypatch.setattr(kernel, "LARGE", 0)
    monkeypatch.setattr(memory, "STAGED", 2048)
    monkeypatch.setattr(memory, "FEW_TILES", 0)
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        program = traced(name, model, dtype)
        inputs = samples_of(program, model, rng, dtype, 43)
        angles = [model.iq[i].start for i in model.bodies if isinstance(model.joints[i], sixd.Revolute)]
        for row, size in enumerate((1e3, 1e9, 1e15, np.nan)):
            inputs[0][row, angles] *= size
        order = "F" if layout == "strided" else "C"
        found, _ = emulate(program, dtype, [np.asarray(x, order=order) for x in inputs], layout)
        assert np.array_equal(found[0], on_cpu(name, model, inputs)[0], equal_nan=True), name
        assert np.isnan(found[0][3]).any()
        text = emit_kernel(program, dtype, LIMIT, layout)
        assert "@sine_cosine_f" in text
        assert ("@give_" in text) == (layout == "rows" and name == "mass_matrix")
        assemble(make_ptx(text, "sm_90"), "sm_90", tmp_path)


@fused
@pytest.mark.parametrize("staged", [0, 2**20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_wide_inputs_in_compact_code(dtype, staged, monkeypatch, rng):
    """Rows of inputs are copied by tiles, and as a whole by loops with a remainder."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical", "revolute"), rounds=2)
    for name, value in (("STAGED", staged), ("FEW_TILES", 0), ("TOGETHER", 5)):
        monkeypatch.setattr(memory, name, value)
    monkeypatch.setattr(kernel, "LARGE", 0)
    program = traced("inverse_dynamics", model, dtype)
    for n in (1, 33, 64):
        inputs = samples_of(program, model, rng, dtype, n)
        found, _ = emulate(program, dtype, inputs)
        assert np.array_equal(found[0], on_cpu("inverse_dynamics", model, inputs)[0])
    text = emit_kernel(program, dtype, LIMIT)
    assert ("@take_" in text) == ("@give_" in text) == (staged == 0)
    assert ("!llvm.loop" in text) == (staged > 0)


@fused
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_robots_are_compact(dtype, rng):
    """More than LARGE bytes of operations: no option is set by hand."""
    model = sixd.zoo.random_tree(7, kinds=("revolute", "revolute x"), rounds=5)
    program = traced("forward_dynamics", model, dtype)
    assert program.operations * np.dtype(dtype).itemsize > kernel.LARGE
    assert "@sine_cosine_f" in emit_kernel(program, dtype, LIMIT)
    inputs = samples_of(program, model, rng, dtype, 33)
    found, _ = emulate(program, dtype, inputs)
    assert np.array_equal(found[0], on_cpu("forward_dynamics", model, inputs)[0])


@pytest.mark.parametrize("layout", ["rows", "strided"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix"])
def test_suspect_samples_are_counted(name, layout, rng):
    """Each sample once, although the threads after the last sample repeat it."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute"))
    program = traced(name, model, "float64")
    inputs = samples_of(program, model, rng, "float64", 37)
    for row in (3, 17, 36):
        inputs[0][row] = np.nan
    _, count = emulate(
        program, "float64", [np.asarray(x, order="F" if layout == "strided" else "C") for x in inputs], layout
    )
    assert count == 3


# architectures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"), [("sm_75", "sm_75"), ("sm_88", "sm_87"), ("sm_103", "sm_100"), ("sm_200", "sm_120")]
)
def test_architectures(name, expected):
    assert check_architecture("test", name) == expected


@pytest.mark.parametrize("name", ["sm_70", "sm_91", "sm_90a", "90", "", None, 90, "sm_９０", "sm_9", "sm_90 "])
def test_unknown_architectures(name):
    with pytest.raises(UnknownNameError, match="sm_90|sm_75"):
        check_architecture("test", name)


def test_cards_run_the_newest_known_code():
    assert architecture_of("test", 9, 0) == "sm_90"
    assert architecture_of("test", 10, 1) == "sm_100"
    assert architecture_of("test", 13, 0) == "sm_120"
    with pytest.raises(UnknownNameError, match="sm_70"):
        architecture_of("test", 7, 0)
