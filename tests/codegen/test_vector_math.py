"""Elementary functions in vector code: accuracy, special values, and independence of lanes."""

import ctypes
import ctypes.util
import functools
import itertools
import platform
import re

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from sixd.codegen.llvm.ir import FunctionBody, Module, Type
from sixd.codegen.llvm.machine import CONTEXT, MATH
from sixd.codegen.llvm.vector_math import FUNCTIONS
from sixd.trace.ops import Op

KINDS = {"double": np.float64, "float": np.float32}
LANES = {"double": 8, "float": 16}
LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "ucrtbase")
TABLE = (ctypes.c_void_p * len(CONTEXT))()
for word in MATH:
    TABLE[CONTEXT.index(word)] = ctypes.cast(getattr(LIBM, word), ctypes.c_void_p).value

# 64 bits distinguish half an ulp of float64 from 0.501; elsewhere mpmath does so for fewer samples
WIDE = np.finfo(np.longdouble).nmant >= 63
SAMPLES = 40_000 if WIDE else 500

NUMPY = {Op.SIN: np.sin, Op.COS: np.cos, Op.TAN: np.tan, Op.ASIN: np.arcsin, Op.ACOS: np.arccos, Op.ATAN2: np.arctan2,
         Op.EXP: np.exp, Op.LOG: np.log, Op.LOG1P: np.log1p, Op.TANH: np.tanh, Op.HYPOT: np.hypot, Op.SQRT: np.sqrt, Op.ABS: np.abs, Op.SIGN: np.sign, Op.MIN: np.minimum,
         Op.MAX: np.maximum}  # fmt: skip
# largest errors in some million samples of each range [ulp]: 1.55, 1.55, 1.28, 1.13, 1.09, 0.78, 0.93, 0.83, 0.83,
# 1.57, 0.99;
# those of sine and cosine are of all float32, float64 reaches 1.51 and 1.49
BOUND = {Op.SIN: 1.6, Op.COS: 1.6, Op.TAN: 1.4, Op.ASIN: 1.2, Op.ACOS: 1.2, Op.ATAN2: 0.9, Op.EXP: 1.0, Op.LOG: 0.9,
         Op.LOG1P: 0.9, Op.TANH: 1.7, Op.HYPOT: 1.05}  # fmt: skip
ANGLES = (Op.SIN, Op.COS, Op.TAN)
LARGEST_ANGLE = {"double": 2.0**42, "float": 2.0**17}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 5e-324, -5e-324, 3e38, -3e38,
           1.7e308, -1.7e308, 88.8, -103.9, -104.1, 709.7, 709.8, -745.1, -745.2, np.nextafter(1, 2), np.nextafter(1, 0)]  # fmt: skip


# compiling --------------------------------------------------------------------------------------------------


def source(op, kind, lanes, has_fma):
    """Return a module with f(in…, out, n, context), which applies an operation to n numbers, ``lanes`` at a time."""
    module = Module(has_fma)
    code, type = FunctionBody(module), Type(kind, lanes)
    names = [f"in{k}" for k in range(op.arity)]
    align = KINDS[kind]().itemsize
    code.do("br label %head")
    code.begin("head")
    code.do("%i = phi i64 [ 0, %entry ], [ %next, %tail ]")
    code.do("%more = icmp slt i64 %i, %n")
    code.do("br i1 %more, label %body, label %end")
    code.begin("body")
    places = [code.emit(Type("ptr"), f"getelementptr {kind}, ptr %{x}, i64 %i") for x in (*names, "out")]
    result = FUNCTIONS[op](code, *(code.emit(type, f"load {type}, {p}, align {align}") for p in places[:-1]))
    code.do(f"store {result}, {places[-1]}, align {align}")
    code.do("br label %tail")
    code.begin("tail")
    code.do(f"%next = add i64 %i, {lanes}")
    code.do("br label %head")
    code.begin("end")
    code.do("ret void")
    module.define("f", f"void @f({''.join(f'ptr %{x}, ' for x in names)}ptr %out, i64 %n, ptr %context)", code)
    return str(module)


def machine(cpu, **options):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten() + ",-prefer-256-bit" if cpu == "host" else ""
    name = llvm.get_host_cpu_name() if cpu == "host" else cpu
    return llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=2, **options)


@functools.cache
def compiled(op, kind, lanes, cpu="host", has_fma=True):
    """Return the operation as a function of arrays."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(source(op, kind, lanes, has_fma)), machine(cpu, jit=True))
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (op.arity + 1), ctypes.c_int64, ctypes.c_void_p)
    function = prototype(engine.get_function_address("f"))

    def run(*arrays, engine=engine):  # the code lives as long as its engine
        n = len(arrays[0])
        padded = [np.concatenate([x, np.ones(-n % lanes)]).astype(KINDS[kind]) for x in arrays]
        out = np.empty_like(padded[0])
        function(*(x.ctypes.data for x in (*padded, out)), len(out), ctypes.addressof(TABLE))
        return out[:n]

    return run


# samples and errors -----------------------------------------------------------------------------------------


def sized(rng, low, high):
    """Return numbers of either sign, with evenly spread logarithms."""
    return np.exp(rng.uniform(np.log(low), np.log(high), SAMPLES)) * rng.choice([-1, 1], SAMPLES)


def near_quarter_turns(kind):
    """Return the floats in the range that are nearest to multiples of π/2: denominators of continued fractions."""
    bits, found = (53, []) if kind == "double" else (24, [])
    with mpmath.workdps(60):
        for exponent in range(-bits, int(np.log2(LARGEST_ANGLE[kind])) - bits + 1):
            ratio = mpmath.ldexp(2 / mpmath.pi, exponent)  # a whole number m of 2^exponent is m ratio quarter turns
            old, m = 0, 1
            while m < 2**bits:
                found.append(float(mpmath.ldexp(m, exponent)))
                ratio = 1 / (ratio - mpmath.floor(ratio))
                old, m = m, int(mpmath.floor(ratio)) * m + old
    found = np.unique(np.array(found))
    found = found[found > 0.7]
    return np.concatenate([found, -found])


def samples(op, kind, rng):
    """Return arguments in every range that the code treats differently."""
    double = kind == "double"
    tiny, huge = (1e-300, 1e300) if double else (1e-37, 1e37)

    def spread(low, high):
        return rng.uniform(low, high, SAMPLES)

    if op in ANGLES:
        largest = LARGEST_ANGLE[kind]
        turns = np.round(np.abs(sized(rng, 1, largest / 2))) * (np.pi / 2)
        return [
            (spread(-4, 4),),
            (spread(-1e3, 1e3),),
            (spread(-largest, largest),),
            (sized(rng, tiny, largest),),
            (turns,),
        ]
    if op in (Op.ASIN, Op.ACOS):
        return [
            (spread(-1, 1),),
            (sized(rng, tiny, 1),),
            (1 - abs(sized(rng, 1e-16, 0.6)),),
            (abs(sized(rng, 1e-16, 0.6)) - 1,),
        ]
    if op is Op.EXP:
        least, most, lost = (-708, 709.8, -746) if double else (-87, 88.8, -104)
        return [(spread(least, most),), (spread(-1, 1),), (sized(rng, 1e-20, most),), (spread(lost, least),)]
    if op is Op.LOG:
        lost = 1e-323 if double else 1e-44
        return [
            (1 + sized(rng, 1e-16, 0.6),),
            (spread(0.1, 4),),
            (abs(sized(rng, tiny, huge)),),
            (abs(sized(rng, lost, 10 * tiny)),),
        ]
    if op is Op.TANH:
        return [(spread(-0.6, 0.6),), (spread(-25, 25),), (spread(0.54, 0.56),), (sized(rng, tiny, 1e3),)]
    if op is Op.LOG1P:
        return [
            (spread(-1, 1),), (sized(rng, tiny, 0.9),), (abs(sized(rng, tiny, huge)),), (abs(sized(rng, 1e-16, 0.6)) - 1,),
        ]  # fmt: skip
    x = sized(rng, 0.1, 10)
    return [(spread(-1, 1), spread(-1, 1)), (x * spread(0.4, 2.2), x), (x * (1 + sized(rng, 1e-16, 0.1)), x),
            (sized(rng, 1e-20, 1), x), (sized(rng, tiny, huge), sized(rng, tiny, huge)),
            (sized(rng, tiny * 1e-8, tiny), sized(rng, tiny * 1e-8, tiny))]  # fmt: skip


def errors(op, kind, result, *args, exact=not WIDE):
    """Return the distance from the true value, in units of its last place."""
    info = np.finfo(KINDS[kind])
    if exact:
        with mpmath.workdps(60):
            name = op.word
            true = [getattr(mpmath, name)(*map(mpmath.mpf, map(float, x))) for x in zip(*args, strict=True)]
            above = [mpmath.mpf(float(y)) - t for y, t in zip(result, true, strict=True)]
            place = [mpmath.ldexp(1, int(mpmath.frexp(t)[1]) - info.nmant - 1) for t in true]
            least = float(info.smallest_subnormal)
            return np.array([float(abs(d) / max(p, least)) for d, p in zip(above, place, strict=True)])
    with np.errstate(all="ignore"):
        true = NUMPY[op](*(x.astype(np.longdouble) for x in args))
        place = np.ldexp(np.longdouble(1), np.frexp(true)[1] - info.nmant - 1)
        error = abs(result.astype(np.longdouble) - true) / np.maximum(place, info.smallest_subnormal)
        return np.where(np.isinf(true.astype(result.dtype)) & np.isinf(result), 0, error)


def bits(x):
    """Return what a float is made of; all NaN are equal."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype).view(np.int64 if x.itemsize == 8 else np.int32)


def every_sample(op, kind, rng):
    """Return arguments of all ranges, special and huge ones, in one array each, of the kind's width."""
    with np.errstate(over="ignore"):
        special = list(itertools.product(SPECIAL, repeat=op.arity))
        given = samples(op, kind, rng) if op in BOUND else [tuple(sized(rng, 1e-5, 1e5) for _ in range(op.arity))]
        parts = [*(tuple(x[:997] for x in part) for part in given), tuple(np.array(special).T)]
        if op in ANGLES:
            parts.append((sized(rng, LARGEST_ANGLE[kind], 1e300)[:997],))
        return [np.concatenate(x).astype(KINDS[kind]) for x in zip(*parts, strict=True)]


# laws -------------------------------------------------------------------------------------------------------


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", BOUND)
def test_results_are_accurate(op, kind, rng):
    """Every range is within the bound of its function; float32 results except sine and cosine are correctly rounded."""
    bound = BOUND[op] if kind == "double" or op in (Op.SIN, Op.COS) else 0.501
    for args in samples(op, kind, rng):
        args = [x.astype(KINDS[kind]) for x in args]
        assert errors(op, kind, compiled(op, kind, LANES[kind])(*args), *args).max() < bound


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ANGLES)
def test_angles_nearest_to_quarter_turns(op, kind):
    """Where sine, cosine and tangent nearly vanish, they are as accurate as elsewhere."""
    x = near_quarter_turns(kind).astype(KINDS[kind])
    assert errors(op, kind, compiled(op, kind, LANES[kind])(x), x, exact=True).max() < BOUND[op]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", ANGLES)
def test_huge_angles(op, kind, rng):
    """Beyond the range of the fast code, the angle is still right to its rounding."""
    x = sized(rng, LARGEST_ANGLE[kind], 1e300 if kind == "double" else 1e37)[:4000].astype(KINDS[kind])
    result, true = compiled(op, kind, LANES[kind])(x), NUMPY[op](x.astype(np.float64))
    angle = 4 * np.finfo(KINDS[kind]).eps  # of π rounded to this width, and of the function
    assert np.all(abs(result - true) < angle * (1 + true**2 * (op is Op.TAN)))


@pytest.mark.many
@pytest.mark.parametrize("has_fma", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.word)
def test_special_values(op, kind, has_fma):
    """Zeros of either sign, infinities, NaN, borders of domains and of the float formats: as in NumPy."""
    with np.errstate(all="ignore"):
        args = np.array(list(itertools.product(SPECIAL, repeat=op.arity))).T.astype(KINDS[kind])
        true = NUMPY[op](*args)
    result = compiled(op, kind, LANES[kind], has_fma=has_fma)(*args)
    if op in (Op.MIN, Op.MAX):  # of equal zeros, either is right
        result, true = result + 0, true + 0
    huge = abs(args[0]) > LARGEST_ANGLE[kind] if op in ANGLES else False  # see test_huge_angles
    info = np.finfo(KINDS[kind])
    assert np.all(huge | np.isclose(result, true, rtol=4 * info.eps, atol=info.smallest_subnormal, equal_nan=True))
    assert np.array_equal(np.isnan(result), np.isnan(true))
    assert np.all((np.signbit(result) == np.signbit(true)) | np.isnan(true) | huge)


@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.word)
def test_number_of_lanes_changes_no_bit(op, kind, rng):
    args = every_sample(op, kind, rng)
    one, *others = (bits(compiled(op, kind, lanes)(*args)) for lanes in (1, 4, LANES[kind]))
    for other in others:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.word)
def test_lanes_are_independent(op, kind, rng):
    """A special or huge number in a lane does not change its neighbours' bits."""
    lanes = LANES[kind]
    args = [rng.uniform(0.1, 1, 64 * lanes).astype(KINDS[kind]) for _ in range(op.arity)]
    before = bits(compiled(op, kind, lanes)(*args))
    changed = np.arange(64) * lanes + rng.integers(lanes, size=64)
    for x in args:
        x[changed] = rng.choice([1e30, -1e30, 0.0, np.inf, np.nan], 64)
    after = bits(compiled(op, kind, lanes)(*args))
    assert np.array_equal(np.delete(before, changed), np.delete(after, changed))


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="names a CPU of another kind")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.word)
def test_without_fused_multiply_add(op, kind, rng):
    """Old CPUs: libm gives the result, within one unit (glibc's tanh two); only the context's functions are called."""
    args = every_sample(op, kind, rng)
    results = [compiled(op, kind, lanes, cpu="x86-64", has_fma=False)(*args) for lanes in (1, 4)]
    assert np.array_equal(*map(bits, results))
    if op in BOUND:
        fine = np.isfinite([results[0], *args]).all(axis=0) & (results[0] != 0) & (args[0] != 0)
        assert errors(op, kind, results[0][fine], *(x[fine] for x in args)).max() < (2.2 if op is Op.TANH else 1)


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="reads instructions of another kind")
@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512"])
def test_no_function_is_called_by_name(cpu):
    """LLVM inserts no call of a library function into the code."""
    target, seen = machine(cpu, codemodel="small"), set()
    for op, kind, lanes in itertools.product(FUNCTIONS, KINDS, (1, 8)):
        text = target.emit_assembly(llvm.parse_assembly(source(op, kind, lanes, cpu != "x86-64")))
        called = set(re.findall(r"\b(?:callq?|jmp)\s+([A-Za-z_]\w*)", text))
        own = {f"{name}_{Type(k, lanes).suffix}" for name in (op.word, "angle", "log") for k in KINDS}
        assert called <= own | {f"rare_{name}" for name in (op.word, "angle", "log")}
        seen |= called
    assert {"log_v8f64", "atan2_f64"} <= seen  # the module's own are called
