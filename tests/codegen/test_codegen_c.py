"""C code: what it computes against ``Program.evaluate``, compiled without a warning as C and as C++."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from c_compiler import CC, COMPILERS, CXX, STRICT, build, call, needs_cc, pointer
from samples import states
from sixd import atomic
from sixd.algorithms.aba import aba
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import rnea
from sixd.codegen import c, c_rolled
from sixd.codegen.c import C_EXPR, RESERVED, emit
from sixd.spatial import (
    acos,
    asin,
    atan2,
    cos,
    exp,
    hypot,
    log,
    log1p,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
    where,
)
from sixd.spatial.scalar import absolute
from sixd.trace import Op, segments, trace

LANGUAGES = [
    pytest.param("C99", marks=needs_cc),
    pytest.param(
        "C++", marks=pytest.mark.skipif(CXX is None, reason="no C++ compiler: neither g++ nor clang++ nor c++")
    ),
]


@pytest.fixture(params=["whole", "parts", "rolled"])
def cut(request, monkeypatch):
    """As one function, in parts of three statements, and as shapes of segments of three."""
    if request.param == "parts":
        monkeypatch.setattr(c, "WHOLE", 0)
        monkeypatch.setattr(c, "PART", 3)
    if request.param == "rolled":
        roll_all(monkeypatch)
        monkeypatch.setattr(segments, "LONGEST", 3)
        monkeypatch.setattr(segments, "PART", 3)


def roll_all(monkeypatch):
    """Roll programs of one operation and more."""
    monkeypatch.setattr(c_rolled, "FROM", 1)


def compare(code, program, folder, samples, *, dtype=np.float64, rtol=1e-12, **how):
    """Every sample gives what ``evaluate`` gives, relative to the largest entry."""
    function = build(code, folder, **how)
    for arrays in samples:
        arrays = [np.asarray(a, dtype=dtype) for a in arrays]
        for got, want in zip(call(function, program, *arrays, dtype=dtype), program.evaluate(*arrays), strict=True):
            assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max(initial=0.0))


# algorithms ---------------------------------------------------------------------------------------

ALGORITHMS = {
    "rnea": (rnea, ("q", "qd", "qdd")),
    "aba": (aba, ("q", "qd", "tau")),
    "crba": (crba, ("q",)),
}


def traced(model, algorithm):
    function, names = ALGORITHMS[algorithm]
    sizes = {name: (model.nq if name == "q" else model.nv,) for name in names}
    return trace(lambda *arrays: function(model, *arrays), sizes)


@pytest.mark.long
@needs_cc
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_on_every_joint(algorithm, rng, tmp_path):
    """Random trees of all joint types, thousands of operations long."""
    model = sixd.zoo.random_tree(1)
    program = traced(model, algorithm)
    samples = [s[: len(program.inputs)] for s in states(model, rng)]
    compare(emit(program, algorithm), program, tmp_path, samples, optimize="-O1")


@pytest.mark.long
@needs_cc
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_in_single_precision(algorithm, rng, tmp_path):
    """A small tree; the tolerance is float32's, for ABA times the condition number of the mass matrix."""
    model = sixd.zoo.random_tree(3, kinds=("revolute",) * 3)
    program = traced(model, algorithm)
    code = emit(program, algorithm, dtype="float32")
    assert "double" not in code.source + code.header
    assert not re.search(r"\b(sin|cos|sqrt|fabs)\(", code.source)
    samples = [s[: len(program.inputs)] for s in states(model, rng)]
    compare(code, program, tmp_path, samples, dtype=np.float32, rtol=1e-4 if algorithm == "aba" else 1e-5)


@needs_cc
@pytest.mark.parametrize("part", [1, 7, 100])
def test_parts_do_not_change_the_numbers(part, rng, tmp_path, monkeypatch):
    """Every way to cut a program does the same operations on the same numbers."""
    model = sixd.zoo.random_tree(2, kinds=("revolute", "spherical"))
    program = traced(model, "rnea")
    assert program.operations < c.WHOLE
    whole = build(emit(program, "whole"), tmp_path, optimize="-O0")
    monkeypatch.setattr(c, "WHOLE", 0)
    monkeypatch.setattr(c, "PART", part)
    code = emit(program, "parts")
    parts = build(code, tmp_path, optimize="-O0")
    for state in states(model, rng):
        assert_array_equal(call(parts, program, *state), call(whole, program, *state))


def test_parts_share_the_work_array():
    """The array on the stack holds the values that are alive at one time, not every value."""
    program = traced(sixd.zoo.random_tree(1), "aba")
    code = emit(program, "aba")
    (size,) = re.findall(r"^    double work\[(\d+)\];", code.source, re.MULTILINE)
    assert program.operations > 10 * int(size)
    assert f"work array on the stack has {size} numbers" in code.header
    longest = max(len(text.splitlines()) for text in code.source.split("SIXD_PART"))
    assert longest < 3 * c.PART


# single operations --------------------------------------------------------------------------------


def every_operation(v):
    """Each operation at least once, of two numbers; the first two are minimum and maximum."""
    x, y = v
    less, most, same = x < y, x <= y, x == y
    return np.array([
        minimum(x, y), maximum(x, y), minimum(x, 1.0), maximum(-2.0, y), minimum(x, np.nan), maximum(x, np.inf),
        x + y, x - y, x * y, x / y, 1 / x, x / 0.0, -x, x * -3.0, 2.5 - x, sin(x), cos(x), tan(x), asin(x), acos(x),
        atan2(y, x), atan2(-1.0, x), sqrt(x), exp(x), log(x), absolute(x), sign(x), sign(-y),
        log1p(x), tanh(x), hypot(x, y), hypot(-1.0, y),
        where(less, x, y), where(most, 1.0, -1.0), where(same, x, 3.0), where(~less, x, 2.0), where(less & ~same, 4.0, y),
        where(less | same, x, 5.0), where(same & 1.0, 6.0, x), where(same | 0.0, x, 7.0), where(x != y, x, 8.0),
        where(x >= -0.0, np.inf, -np.inf), where(x > y, np.nan, 0.1),
    ])  # fmt: skip


AWKWARD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.3, 2.0, 1e-310, -5e-324, 1e308, -40.0, 1e5]


@pytest.mark.many
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operation_on_awkward_numbers(language, tmp_path, cut):
    """NaN, infinities, both zeros, ties, subnormal and huge numbers, in all pairs."""
    program = trace(every_operation, {"v": (2,)})
    assert {n.op for n in program.nodes} == set(Op) - {Op.HELD}
    function = build(emit(program, "f"), tmp_path, language)
    for v in [(x, y) for x in AWKWARD for y in AWKWARD]:
        (got,), (want,) = call(function, program, v), program.evaluate(v)
        assert_allclose(got, want, rtol=1e-12, atol=0, err_msg=str(v))
        # zeros have the same sign, but which of 0 and -0 is the smaller is undefined, as in NumPy
        zeros = np.flatnonzero(want[2:] == 0) + 2
        assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]), err_msg=str(v))


@needs_cc
def test_every_operation_in_single_precision(rng, tmp_path):
    program = trace(every_operation, {"v": (2,)})
    function = build(emit(program, "f", dtype="float32"), tmp_path)
    for v in [*rng.uniform(0.1, 0.9, (20, 2)), (0.5, 0.5), (np.nan, 1), (1, np.nan), (np.inf, -np.inf), (-0.0, 0.0)]:
        v = np.asarray(v, dtype=np.float32)
        got, want = call(function, program, v, dtype=np.float32)[0], program.evaluate(v)[0]
        assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(v))


def test_every_operation_has_an_expression():
    assert set(C_EXPR) == set(Op) - {Op.CONST, Op.INPUT, Op.HELD}


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_constants_are_exact(dtype, language, rng, tmp_path):
    """Every bit of a constant is preserved; numbers beyond the range become the nearest."""
    bits = rng.integers(0, 2**63, 200, dtype=np.int64).view(np.float64)
    numbers = [*bits, *-bits, *rng.normal(size=50), 0.1, 1 / 3, 2**53 + 1, 1e22, 1e300, 5e-324, 2.2250738585072014e-308]
    numbers += [np.finfo(float).max, -np.finfo(float).max, np.inf, -np.inf, np.nan, 0.0, 1e-46, 3.4e38, 1e38]
    program = trace(lambda: np.array(numbers, dtype=object), {})
    (got,) = call(build(emit(program, "f", dtype=dtype), tmp_path, language), program, dtype=dtype)
    with np.errstate(over="ignore"):
        assert_array_equal(got, np.array(numbers).astype(dtype))


# arrays -------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("language", LANGUAGES)
def test_scalars_empty_arrays_and_unused_inputs(language, tmp_path, cut):
    """A scalar is an array of one, an empty array is a pointer that may be NULL; matrices are row-major."""
    program = trace(
        lambda x, e, unused, A: (x * 2, np.zeros((3, 0)), A.T, np.array(4.0), e),
        {"x": (), "e": (0,), "u": (5,), "A": (2, 3)},
    )
    code = emit(program, "f")
    assert "const double x[1], const double *e, const double u[5], const double A[6]" in code.source
    assert "double out0[1], double *out1, double out2[6], double out3[1], double *out4)" in code.header
    assert "out1: 0 numbers, shape (3, 0); never touched, may be NULL" in code.header
    assert "A: 6 numbers, shape (2, 3)" in code.header
    assert "x: 1 number, a scalar" in code.header
    A = np.arange(6.0).reshape(2, 3)
    x, empty, AT, four, _ = call(build(code, tmp_path, language), program, 1.5, [], np.ones(5), A)
    assert (x, four, empty.shape) == (3.0, 4.0, (3, 0))
    assert_array_equal(AT, A.T)


@pytest.mark.many
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("inputs", [{}, {"x": (2,)}, {"x": (0,)}])
def test_functions_of_nothing_and_to_nothing(inputs, language, tmp_path, cut):
    nothing = trace(lambda *_: (), inputs)
    empty = trace(lambda *_: np.zeros(0), inputs)
    constant = trace(lambda *_: np.array([1.0, -2.0]), inputs)
    arrays = [np.zeros(shape) for shape in inputs.values()]
    build(emit(nothing, "nothing"), tmp_path, language)(*(pointer(a) for a in arrays))
    assert call(build(emit(empty, "empty"), tmp_path, language), empty, *arrays)[0].shape == (0,)
    assert_array_equal(call(build(emit(constant, "constant"), tmp_path, language), constant, *arrays)[0], [1, -2])


@pytest.mark.many
@needs_cc
@pytest.mark.parametrize("shift", range(-3, 4))
def test_outputs_may_overlap_inputs(shift, tmp_path, cut):
    """All inputs are read before an output is written, wherever the arrays are."""
    program = trace(lambda a, b: (b[::-1], a * 2 + b), {"a": (3,), "b": (3,)})
    function = build(emit(program, "f"), tmp_path)
    memory = np.arange(1.0, 13.0)
    a, b = memory[3:6].copy(), memory[6:9].copy()
    function(*(pointer(memory[k:]) for k in (3, 6, 3 + shift, 6 + shift)))
    assert_array_equal(memory[3 + shift : 9 + shift], np.concatenate([b[::-1], a * 2 + b]))


@needs_cc
def test_threads_may_call_at_once(rng, tmp_path, cut):
    program = trace(lambda x: sin(x) * x[::-1], {"x": (40,)})
    function = build(emit(program, "f"), tmp_path)
    x = rng.normal(size=(400, 40))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda row: call(function, program, row)[0], x))
    assert_allclose(results, program.evaluate(x)[0], rtol=1e-12)


# names and text -----------------------------------------------------------------------------------

BAD_NAMES = ["float", "class", "τ", "2x", "", "a b", "a_b", "a-b", "t0", "t1_", "work", "f", "f_part0", "sin", "NAN",
             "__LINE__", "linux", "lambda", "q*/", "??/\n", "\\", "x_", "%s{0}"]  # fmt: skip


@pytest.mark.many
@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_made_safe(language, tmp_path, cut):
    """Names that are invalid in C are changed, also if they clash; outputs may be named like inputs."""
    program = trace(lambda *x: (sum(sin(a) for a in x), np.array(x[0])), dict.fromkeys(BAD_NAMES, ()))
    outputs = [replace(slot, name=name) for slot, name in zip(program.outputs, ("float", "f"), strict=True)]
    code = emit(replace(program, outputs=tuple(outputs)), "f", comment="*/ ??/\n/* \x00\u202e // \\")
    assert (code.source + code.header).isascii()
    names = re.findall(r"(\w+)\[1\]", re.search(r"void f\(.*\);", code.header)[0])
    assert len(set(names)) == len(BAD_NAMES) + 2
    assert {"float_", "lambda", "a_b", "f_", "float__"} <= set(names)
    assert "float_: 1 number, a scalar; in the program its name is 'float'" in code.header
    values = np.linspace(0.1, 1, len(BAD_NAMES))
    assert_allclose(call(build(code, tmp_path, language), program, *values)[0], sum(np.sin(values)), rtol=1e-12)


@needs_cc
@pytest.mark.parametrize("standard", ["c99", "gnu99", "gnu17"])
def test_macros_of_the_compiler_may_be_names(standard, tmp_path):
    """Whatever <math.h> and the compiler define, an input of that name compiles."""
    command = [CC, f"-std={standard}", "-dM", "-E", "-x", "c", "-"]
    macros = subprocess.run(command, input="#include <math.h>\n", capture_output=True, text=True, check=True).stdout
    names = sorted({*re.findall(r"#define (\w+)", macros), *RESERVED})
    code = emit(trace(lambda *x: np.array(x), dict.fromkeys(names, ())), "f")
    source, _ = code.save(tmp_path)
    command = [CC, f"-std={standard}", *STRICT, "-c", str(source), "-o", str(tmp_path / "f.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "",
        "2x",
        "a b",
        "τ",
        "a\n",
        "float",
        "class",
        "sin",
        "y0",
        "main",
        "math",
        "printf",
        "_f",
        "f;",
        "sqrtf",
        None,
        3,
    ],
)
def test_names_of_functions_are_checked(name):
    with pytest.raises(sixd.errors.ScalarTypeError, match="^emit: name is "):
        emit(trace(lambda x: x, {"x": ()}), name)


def test_other_arguments_are_checked():
    program = trace(lambda x: x, {"x": ()})
    with pytest.raises(sixd.errors.ScalarTypeError, match="dtype is 'int32', expected 'float64' or 'float32'"):
        emit(program, "f", dtype="int32")
    with pytest.raises(sixd.errors.ScalarTypeError, match="dtype is 'nonsense'"):
        emit(program, "f", dtype="nonsense")
    assert emit(program, "f", dtype=np.float32) == emit(program, "f", dtype="float32")


def test_text_is_a_function_of_the_program():
    """Two traces of one function give the same text, which contains no path and no time."""
    first, second = (emit(traced(sixd.zoo.random_tree(1), "crba"), "crba", comment="M(q)") for _ in range(2))
    assert first == second
    for text in (first.source, first.header):
        assert not re.search(r"__(DATE|TIME|FILE)__|\b20\d\d-", text)
        assert not any(
            place in text for place in (os.getcwd(), str(Path.home()), "/tmp", str(Path(sixd.__file__).parent))
        )
    assert re.findall(r"#include.*", first.source) == ["#include <math.h>"]
    assert "crba: M(q)" in first.header


@pytest.mark.skipif(CC is None or CXX is None, reason="needs a C and a C++ compiler")
@pytest.mark.parametrize("language", LANGUAGES)
def test_header_serves_c_and_cpp(language, tmp_path):
    """The header, included twice, declares the function for both languages, with C's linkage."""
    emit(trace(lambda x: (x + 1, x * 3), {"x": (2,)}), "twice").save(tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "twice.h"\n#include "twice.h"\n'
        "int main(void) { double x[2] = {1, 2}, y[2], z[2]; twice(x, y, z); return (int)(10 * y[1] + z[0]); }\n"
    )
    strict = [*COMPILERS[language], *STRICT]
    subprocess.run([CC, "-std=c99", "-c", "twice.c", "-o", "twice.o"], cwd=tmp_path, check=True)
    subprocess.run([*strict, "-c", "main.c", "-o", "main.o"], cwd=tmp_path, check=True)
    subprocess.run([CC, "main.o", "twice.o", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"]).returncode == 33


# files --------------------------------------------------------------------------------------------


def test_save_writes_both_files_and_no_others(tmp_path):
    code = emit(trace(lambda x: x, {"x": ()}), "f")
    (tmp_path / "f.c").write_text("old")
    assert code.save(str(tmp_path)) == (tmp_path / "f.c", tmp_path / "f.h")
    assert (tmp_path / "f.c").read_text() == code.source
    assert (tmp_path / "f.h").read_text() == code.header
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f.c", "f.h"]
    assert repr(code) == "CSource(name='f')"


def test_save_makes_its_folder(tmp_path):
    code = emit(trace(lambda x: x, {"x": ()}), "f")
    assert code.save(tmp_path / "new" / "c")[0].read_text() == code.source


def test_save_says_what_is_wrong_and_leaves_nothing(tmp_path, monkeypatch):
    code = emit(trace(lambda x: x, {"x": ()}), "f")
    (tmp_path / "file").write_text("")
    for name in ("file", "file/in it"):
        with pytest.raises(sixd.FileError, match=rf"save: cannot make the folder '.*{name}': "):
            code.save(tmp_path / name)
    (tmp_path / "f.h").mkdir()
    with pytest.raises(sixd.FileError, match="save: cannot write into"):
        code.save(tmp_path)
    assert not list(tmp_path.glob(".*"))

    # a full disk while the second file is written leaves the first unchanged
    (tmp_path / "f.h").rmdir()
    (tmp_path / "f.c").write_text("old")
    whole_file, calls = atomic.whole_file, []

    @contextmanager
    def full(path):
        calls.append(path)
        with whole_file(path) as file:
            if len(calls) == 2:
                raise OSError(28, "No space left on device")
            yield file

    monkeypatch.setattr(atomic, "whole_file", full)
    with pytest.raises(sixd.FileError, match="No space left on device"):
        code.save(tmp_path)
    assert (tmp_path / "f.c").read_text() == "old"
    assert not list(tmp_path.glob(".*"))
