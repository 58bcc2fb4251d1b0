"""Elementary functions as vector instructions: a few multiply-adds for all lanes at once, correct to about one ulp.

Each function takes the code being generated and values, and appends instructions to it. A lane's result depends only
on that lane, bit for bit. Rare arguments (huge angles, logarithms of anything but positive normal numbers) go to
functions out of line, which the module has, so that the bits are those of every machine. CPUs without fused
multiply-add, on which the accuracy relies, call libm for all arguments, by the context's table. float32 has its own
sine and cosine; its other functions are computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from sixd.codegen.coefficients import ASIN, ATAN, COS, COS_SINGLE, SIN, SIN_SINGLE, TAN
from sixd.codegen.exponentials import (
    ROUND,
    exponential,
    hyperbolic_tangent,
    unusual_length,
    unusual_logarithm,
    usual_length,
    usual_logarithm,
)
from sixd.codegen.llvm.ir import POINTER, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.machine import offset
from sixd.codegen.range_reduction import small_angle
from sixd.trace.ops import Op

PI, PI_REST = math.pi, 1.2246467991473532e-16


class _Format(NamedTuple):
    """Angles of a float width: its integers, the constant that rounds, parts of π/2, the largest angle, polynomials."""

    integer: str
    width: int
    round: float
    half_pi: tuple[float, float, float]
    largest: float
    sin: tuple[float, ...]
    cos: tuple[float, ...]


# each part is rounded down, so that all are positive and -0.0 minus no quarter turns stays -0.0
HALF_PI = (1.5707963267948966, 6.123233995736765e-17, 1.0828566739219139e-32)
HALF_PI_SINGLE = (1.570796251296997, 7.549789415861596e-08, 5.390302529957765e-15)
# up to the largest angle the number of quarter turns is exact to 1/300, so the remainder barely leaves the polynomials'
# range
FORMATS = {
    "double": _Format("i64", 64, ROUND, HALF_PI, 2.0**42, SIN, COS),
    "float": _Format("i32", 32, 1.5 * 2.0**23, HALF_PI_SINGLE, 2.0**17, SIN_SINGLE, COS_SINGLE),
}


# rare arguments -------------------------------------------------------------------------------------------


def _define_by_lanes(module: Module, function: str, name: str, type: Type, arity: int) -> None:
    """Define a function of ``arity`` arguments, the usual result and a condition: another result where that holds."""
    code = FunctionBody(module)
    args = [Value(code, type, f"%x{i}") for i in range(arity)]
    usual, condition = Value(code, type, "%usual"), Value(code, type.of("i1"), "%condition")
    scalar, result = Type(type.kind), Value(code, type, "poison")
    for lane in range(type.lanes):
        here = args if type.lanes == 1 else [code.emit(scalar, f"extractelement {x}, i32 {lane}") for x in args]
        numbers = here if type.kind == "double" else [x.convert("double") for x in here]
        y = _rare(code, name, *numbers) if module.has_fma else _libm(code, name, *numbers)
        y = y if type.kind == "double" else y.convert("float")
        result = y if type.lanes == 1 else code.emit(type, f"insertelement {result}, {y}, i32 {lane}")
    code.do(f"ret {condition.where(result, usual)}")
    parameters = ", ".join(map(str, (*args, usual, condition)))
    module.define(function, f"internal {type} @{function}({parameters}, ptr %context) cold noinline nounwind", code)


def _libm(code: FunctionBody, name: str, *numbers: Value) -> Value:
    """A call of libm, by the context's table."""
    address = code.load(POINTER, code.at("%context", offset(name)), "align 8")
    return code.emit(Type("double"), f"call double {address.text}({', '.join(map(str, numbers))})")


def _rare(code: FunctionBody, name: str, *numbers: Value) -> Value:
    """A call of the module's function ``rare_…`` of float64."""
    module, function, double = code.module, f"rare_{name}", Type("double")
    if not module.has(function):
        own = FunctionBody(module)
        args = [Value(own, double, f"%x{i}") for i in range(len(numbers))]
        own.do(f"ret {RARE[name](own, *args)}")
        head = f"internal double @{function}({', '.join(map(str, args))}) cold noinline nounwind"
        module.define(function, head, own)
    return code.emit(double, f"call double @{function}({', '.join(map(str, numbers))})")


def _where_rare(code: FunctionBody, name: str, *cases: tuple[Value, ...]) -> list[Value]:
    """For each case (condition, usual, *args) ``usual``, but where the condition holds the function of that name in
    ``RARE``, or libm's without fma.

    That is a cold call out of line, with all lanes as arguments. In kernels of GPUs, where a call takes registers from
    all code around it, the function is written into the code.
    """
    _, usual, *args = cases[0]
    function = f"{name}_{usual.type.suffix}"

    def call(condition: Value, usual: Value, *args: Value) -> Value:
        passed = ", ".join(map(str, (*args, usual, condition)))
        return code.emit(usual.type, f"call {usual.type} @{function}({passed}, ptr %context)")

    def written(condition: Value, usual: Value, *args: Value) -> Value:
        y = RARE[name](code, *(x if x.type.kind == "double" else x.convert("double") for x in args))
        return condition.where(y if usual.type.kind == "double" else y.convert("float"), usual)

    if not code.module.calls_rare:
        return code.rarely(written, *cases)
    if not code.module.has(function):
        _define_by_lanes(code.module, function, name, usual.type, len(args))
    return code.rarely(call, *cases)


RARE: dict[str, Callable[..., Value]] = {"angle": small_angle}
FUNCTIONS: dict[Op, Callable[..., Value]] = {}


def _serves(op: Op, single: bool = False) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Decorator: enter a function in ``FUNCTIONS``. Without fma libm's function is called instead; float32 is computed
    in float64, unless ``single``."""

    def decorate(function: Callable[..., Value]) -> Callable[..., Value]:
        def serve(code: FunctionBody, *args: Value) -> Value:
            type = args[0].type
            if not code.module.has_fma:
                return _where_rare(code, op.word, (code.const(1, type.of("i1")), args[0], *args))[0]
            if single or type.kind == "double":
                return function(code, *args)
            return function(code, *(x.convert("double") for x in args)).convert("float")

        FUNCTIONS[op] = serve
        return function

    return decorate


# angles ---------------------------------------------------------------------------------------------------


def find_small_angles(code: FunctionBody, *angles: Value) -> None:
    """Compute an equal angle that is not huge for each of some angles, with one test for all of them."""
    largest = FORMATS[angles[0].type.kind].largest
    small = _where_rare(code, "angle", *((code.absolute(x) > largest, x, x) for x in angles))
    code.memo |= {("small angle", x.type, x.text): y for x, y in zip(angles, small, strict=True)}


def _quarter_turns(code: FunctionBody, x: Value) -> tuple[Value, Value, Value]:
    """An angle equal to x and not huge, its nearest number of quarter turns, and that number as low bits."""
    key, small = ("quarter turns", x.type, x.text), ("small angle", x.type, x.text)
    if key not in code.memo:
        form = FORMATS[x.type.kind]
        if small not in code.memo:
            find_small_angles(code, x)
        y = code.memo[small]
        rounded = code.fma(y, 2 / math.pi, form.round)
        code.memo[key] = y, rounded - form.round, rounded.bitcast(form.integer)
    return code.memo[key]


def _rest(code: FunctionBody, x: Value) -> tuple[Value, Value, Value, Value]:
    """Sine and cosine of the remainder of x after whole quarter turns; whether their number is odd; its low bits."""
    key = ("rest", x.type, x.text)
    if key not in code.memo:
        form = FORMATS[x.type.kind]
        r, turns, bits = _quarter_turns(code, x)
        # the first difference is exact: by fma, and because the number of quarter turns is the nearest
        for part in form.half_pi:
            r = code.fma(turns, -part, r)
        z = r * r
        # the fused + 0.0 keeps the sign of sin(-0.0), which a product would not
        s = code.fma(r, code.polynomial(z, (0.0, *form.sin)), r)
        c = code.polynomial(z, (1.0, *form.cos))
        code.memo[key] = s, c, (bits & 1).compare("ne", 0), bits << (form.width - 2)
    return code.memo[key]


def _signed(value: Value, bits: Value) -> Value:
    """``value`` with its sign changed where the highest bit is set."""
    form = FORMATS[value.type.kind]
    return (value.bitcast(form.integer) ^ (bits & -(1 << (form.width - 1)))).bitcast(value.type.kind)


@_serves(Op.SIN, single=True)
def sine(code: FunctionBody, x: Value) -> Value:
    """sin x; shares its work with the cosine of x."""
    return _sine_and_cosine(code, x)[0] if code.module.calls_angles else _sine(code, x)


@_serves(Op.COS, single=True)
def cosine(code: FunctionBody, x: Value) -> Value:
    """cos x; shares its work with the sine of x."""
    return _sine_and_cosine(code, x)[1] if code.module.calls_angles else _cosine(code, x)


def _sine(code: FunctionBody, x: Value) -> Value:
    s, c, odd, bits = _rest(code, x)
    return _signed(odd.where(c, s), bits)


def _cosine(code: FunctionBody, x: Value) -> Value:
    s, c, odd, bits = _rest(code, x)
    # one quarter turn on, in the two highest bits
    return _signed(odd.where(s, c), bits + (1 << (FORMATS[x.type.kind].width - 2)))


def _sine_and_cosine(code: FunctionBody, x: Value) -> tuple[Value, Value]:
    """sin x and cos x by one call of a function of the module."""
    key, function, pair = ("called", x.type, x.text), f"sine_cosine_{x.type.suffix}", Type(f"{{{x.type}, {x.type}}}")
    if not code.module.has(function):
        own = FunctionBody(code.module)
        angle = Value(own, x.type, "%x")
        sine = own.emit(pair, f"insertvalue {pair} poison, {_sine(own, angle)}, 0")
        own.do(f"ret {own.emit(pair, f'insertvalue {sine}, {_cosine(own, angle)}, 1')}")
        code.module.define(function, f"internal {pair} @{function}({angle}, ptr %context) noinline nounwind", own)
    if key not in code.memo:
        both = code.emit(pair, f"call {pair} @{function}({x}, ptr %context)")
        code.memo[key] = tuple(code.emit(x.type, f"extractvalue {both}, {k}") for k in range(2))
    return code.memo[key]


@_serves(Op.TAN)
def tangent(code: FunctionBody, x: Value) -> Value:
    """tan x: of the remaining angle, with a low part each; after an odd number of quarter turns -1 / tan."""
    first, second, third = HALF_PI
    y, turns, bits = _quarter_turns(code, x)
    a = code.fma(turns, -first, y)
    b = turns * second
    # h + low = a - turns (second + third), whichever of a and b is larger
    h = a - b
    v = h - a
    low = (a - (h - v)) - (b + v) - code.fma(turns, second, -b)
    low = code.fma(turns, -third, low)
    # tan(h + low) = tan h + low (1 + tan² h)
    w = h * code.polynomial(h * h, (0.0, *TAN))
    t = h + w
    w = w + code.fma(low * t, t, low)
    t = code.intrinsic("copysign", h + w, h)
    rest = (h - t) + w
    # one Newton step
    inverse = -1 / t
    error = code.fma(inverse, rest, code.fma(inverse, t, 1.0))
    return (bits & 1).compare("ne", 0).where(code.fma(inverse, error, inverse), t)


def _arc(code: FunctionBody, x: Value) -> tuple[Value, Value, Value]:
    """Whether |x| > 1/2; a number s up to 1/2, namely |x| or else sqrt((1 - |x|)/2); asin s - s."""
    size = code.absolute(x)
    big = size > 0.5
    z = big.where(code.fma(size, -0.5, 0.5), x * x)
    s = big.where(code.intrinsic("sqrt", z), size)
    return big, s, s * code.polynomial(z, (0.0, *ASIN))


@_serves(Op.ASIN)
def arcsine(code: FunctionBody, x: Value) -> Value:
    """asin x: near ±1 by π/2 - 2 asin sqrt((1 - |x|)/2)."""
    big, s, w = _arc(code, x)
    twice = s + s
    head = PI / 2 - twice
    rest = (PI / 2 - head) - twice
    result = big.where(head + (rest + code.fma(w, -2.0, PI_REST / 2)), s + w)
    return code.intrinsic("copysign", result, x)


@_serves(Op.ACOS)
def arccosine(code: FunctionBody, x: Value) -> Value:
    """acos x: π/2 - asin x, but near ±1 also by the half angle."""
    big, s, w = _arc(code, x)
    near = (x > 0).where(2.0 * (s + w), PI - code.fma(s, 2.0, code.fma(w, 2.0, -PI_REST)))
    signed = code.intrinsic("copysign", w, x)
    return big.where(near, PI / 2 - (x + (signed - PI_REST / 2)))


@_serves(Op.ATAN2)
def arctangent2(code: FunctionBody, y: Value, x: Value) -> Value:
    """The angle of (x, y)."""
    a, b = code.absolute(y), code.absolute(x)
    larger = (a > b).where(a, b)
    # both zero, an infinity, a sum that overflows
    unusual = (larger < 2.0**-900) | (larger > 2.0**1000)
    return _where_rare(code, "atan2", (unusual, _direction(code, y, x), y, x))[0]


def _unusual_direction(code: FunctionBody, y: Value, x: Value) -> Value:
    """The angle of (x, y) of any size: that of a vector in the same direction, of usual size."""
    a, b = code.absolute(y), code.absolute(x)
    larger = (a > b).where(a, b)
    scale = (larger > 1).where(2.0**-200, code.const(2.0**200, x.type))
    infinite, zero = larger.compare("oeq", math.inf), larger.compare("oeq", 0.0)

    def usual(part: Value, size: Value) -> Value:
        unit = size.compare("oeq", math.inf).where(1.0, size * 0.0)  # NaN stays
        return infinite.where(code.intrinsic("copysign", unit, part), part * scale)

    return _direction(
        code, usual(y, a), zero.where(code.intrinsic("copysign", code.const(1.0, x.type), x), usual(x, b))
    )


RARE["atan2"] = _unusual_direction


def _direction(code: FunctionBody, y: Value, x: Value) -> Value:
    """The angle of (x, y): a number of eighths of a turn, plus the arctangent of a quotient up to 1/2."""
    a, b = code.absolute(y), code.absolute(x)
    flat, steep = a + a <= b, b + b <= a
    larger, smaller = (a > b).where(a, b), (a > b).where(b, a)
    total = a + b
    # atan(a/b), π/4 + atan((a - b)/(a + b)), π/2 - atan(b/a); the quotient with a low part
    eighths = flat.where(0.0, steep.where(2.0, code.const(1.0, a.type)))
    above = flat.where(a, steep.where(-b, a - b))
    below = flat.where(b, steep.where(a, total))
    rest = flat.where(0.0, steep.where(0.0, smaller - (total - larger)))
    q = above / below
    low = code.fma(-q, rest, code.fma(-q, below, above)) / below
    z = q * q
    # atan(q + low) = atan q + low (1 - q² + …)
    low = code.fma(q, code.polynomial(z, (0.0, *ATAN)), code.fma(-z, low, low))
    # on the left: π minus all that
    left = x < 0
    eighths, q, low = left.where(4 - eighths, eighths), left.where(-q, q), left.where(-low, low)
    result = code.fma(eighths, PI / 4, q + code.fma(eighths, PI_REST / 4, low))
    return code.intrinsic("copysign", result, y)


# the others -----------------------------------------------------------------------------------------------


_serves(Op.EXP)(exponential)
_serves(Op.TANH)(hyperbolic_tangent)
RARE |= {"log": unusual_logarithm, "hypot": unusual_length}


@_serves(Op.LOG)
def logarithm(code: FunctionBody, x: Value) -> Value:
    """log x."""
    return _where_positive(code, x, usual_logarithm(code, x))


@_serves(Op.LOG1P)
def logarithm_of_sum(code: FunctionBody, x: Value) -> Value:
    """log(1 + x) = log u + c/u, with the rounded sum u and its rounding error, c, which is exact."""
    u = x + 1.0
    c = (x < 1).where(x - (u - 1.0), 1.0 - (u - x))
    return code.intrinsic("copysign", _where_positive(code, u, usual_logarithm(code, u, rest=c / u)), x)


def _where_positive(code: FunctionBody, x: Value, usual: Value) -> Value:
    """``usual``, a logarithm; where x is not a positive normal number, log x."""
    unusual = x.compare("ult", 2.0**-1022) | x.compare("ueq", math.inf)
    return _where_rare(code, "log", (unusual, usual, x))[0]


@_serves(Op.HYPOT)
def length(code: FunctionBody, x: Value, y: Value) -> Value:
    """√(x² + y²)."""
    larger, usual = usual_length(code, x, y)
    return _where_rare(
        code, "hypot", (larger.compare("ult", 2.0**-450) | larger.compare("ugt", 2.0**500), usual, x, y)
    )[0]


def sign(code: FunctionBody, x: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    return (x > 0).where(1, (x < 0).where(-1, x + 0.0))


def minimum(code: FunctionBody, x: Value, y: Value) -> Value:
    """The smaller of two; NaN if one is NaN."""
    return x.compare("uno", x).where(x, (x < y).where(x, y))


def maximum(code: FunctionBody, x: Value, y: Value) -> Value:
    """The larger of two; NaN if one is NaN."""
    return x.compare("uno", x).where(x, (x > y).where(x, y))


FUNCTIONS |= {
    Op.SQRT: lambda code, x: code.intrinsic("sqrt", x),
    Op.ABS: lambda code, x: code.absolute(x),
    Op.SIGN: sign,
    Op.MIN: minimum,
    Op.MAX: maximum,
}
