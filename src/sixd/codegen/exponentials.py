"""Exponentials, logarithms, the hyperbolic tangent and lengths as vector instructions: the formulas behind
``sixd.codegen.llvm.vector_math``, in float64 and with fused multiply-add."""

from __future__ import annotations

import math

from sixd.codegen.coefficients import EXP, LOG, TANH
from sixd.codegen.llvm.ir import FunctionBody, Value

LOG2, LOG2_REST = math.log(2), 2.3190468138462996e-17
ROUND = 1.5 * 2.0**52  # adding a number below 2^51 rounds that to a whole number, which is then in the low bits


def exponential(code: FunctionBody, x: Value) -> Value:
    """exp x = 2^k exp r, with 2^k as two factors: each is normal even where the result overflows or underflows."""
    # beyond these the result is infinity or zero; NaN stays
    x = (x > 710).where(710, x)
    x = (x < -746).where(-746, x)
    biased = ROUND + 2 * 1023
    rounded = code.fma(x, 1 / LOG2, biased)
    k, bits = rounded - biased, rounded.bitcast("i64")
    r = code.fma(k, -LOG2_REST, code.fma(k, -LOG2, x))
    half = bits >> 1
    return code.polynomial(r, EXP) * (half << 52).bitcast("double") * ((bits - half) << 52).bitcast("double")


def hyperbolic_tangent(code: FunctionBody, x: Value) -> Value:
    """tanh x = 1 - 2/(exp 2x + 1); below 1/2, where that cancels, by a polynomial."""
    size = code.absolute(x)
    near = code.fma(size, code.polynomial(x * x, (0.0, *TANH)), size)
    far = 1 - 2 / (exponential(code, size + size) + 1.0)
    return code.intrinsic("copysign", (size < 0.55).where(near, far), x)


def usual_logarithm(code: FunctionBody, x: Value, shift: float = 0.0, rest: Value | float = 0.0) -> Value:
    """log(x / 2^shift) + rest = k log 2 + log(1 + f) + rest for a positive normal x and a small rest.

    With s = f/(2 + f), log(1 + f) = 2 atanh s = f - f²/2 + s (f²/2 + s²…).
    """
    bits = x.bitcast("i64")
    # the exponent for which 1 + f is between sqrt(1/2) and sqrt(2)
    exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
    f = (bits - (exponent << 52)).bitcast("double") - 1.0
    k = (exponent + 0x4338000000000000).bitcast("double") - (ROUND + shift)
    s = f / (f + 2.0)
    square = f * 0.5 * f
    low = code.fma(k, LOG2_REST, rest) if isinstance(rest, Value) else k * LOG2_REST
    low = code.fma(s, square + code.polynomial(s * s, (0.0, *LOG)), low)
    return code.fma(k, LOG2, f - (square - low))


def unusual_logarithm(code: FunctionBody, x: Value) -> Value:
    """log x of any number: -inf of zero, NaN of negative ones."""
    small = usual_logarithm(code, x * 2.0**54, 54.0)
    edge = x.compare("oeq", 0.0).where(-math.inf, (x < 0).where(math.nan, x))
    return ((x > 0) & (x < 2.0**-1022)).where(small, edge)


def usual_length(code: FunctionBody, x: Value, y: Value) -> tuple[Value, Value]:
    """The larger of |x| and |y|, and √(x² + y²) where its square neither overflows nor vanishes."""
    a, b = code.absolute(x), code.absolute(y)
    larger, smaller = (a > b).where(a, b), (a > b).where(b, a)
    return larger, code.intrinsic("sqrt", code.fma(larger, larger, smaller * smaller))


def unusual_length(code: FunctionBody, x: Value, y: Value) -> Value:
    """√(x² + y²) of any size: infinite if x or y is, else by smaller or larger numbers."""
    larger, _ = usual_length(code, x, y)
    scale, back = ((larger > 1).where(a, code.const(1 / a, x.type)) for a in (2.0**-600, 2.0**600))
    infinite = code.absolute(x).compare("oeq", math.inf) | code.absolute(y).compare("oeq", math.inf)
    return infinite.where(math.inf, usual_length(code, x * scale, y * scale)[1] * back)
