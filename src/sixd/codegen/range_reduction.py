"""Huge angles, brought within half a turn by whole-number arithmetic: Payne and Hanek's reduction as LLVM code."""

from __future__ import annotations

import math
from itertools import pairwise

from sixd.codegen.llvm.ir import WORD, FunctionBody, Type, Value

TWO_PI_REST = 2.4492935982947064e-16  # 2π minus its float
# the binary digits of 1/(2π): 64 zeros before the point, then 1216 digits
TURNS = (
    0,
    0x28BE60DB9391054A, 0x7F09D5F47D4D3770, 0x36D8A5664F10E410, 0x7F9458EAF7AEF158,
    0x6DC91B8E909374B8, 0x01924BBA82746487, 0x3F877AC72C4A69CF, 0xBA208D7D4BAED121,
    0x3A671C09AD17DF90, 0x4E64758E60D4CE7D, 0x272117E2EF7E4A0E, 0xC7FE25FFF7816603,
    0xFBCBC462D6829B47, 0xDB4D9FB3C9F2C26D, 0xD3D18FD9A797FA8B, 0x5D49EEB1FAF97C5E,
    0xCF41CE7DE294A4BA, 0x9AFED7EC47E35742, 0x1580CC11BF1EDAEA,
)  # fmt: skip


def small_angle(code: FunctionBody, x: Value) -> Value:
    """An angle within ±π that differs from x, which is huge, by whole turns; NaN for an infinite x.

    x = m 2^e with a whole number m. Of m 2^e / (2π) the digits before the point are not needed, so 192 digits of 1/(2π)
    suffice for any e: the first 53 give whole turns, and at least 77 are left of the nearest multiples of π.
    """
    bits, wide = x.bitcast("i64"), Type("i128")
    exponent = (bits >> 52) & 0x7FF
    m = (bits & (2**52 - 1)) | 2**52
    digit = code.intrinsic("smax", exponent - (1075 - 64), code.const(0, WORD))
    if not code.module.has("turns"):
        code.module.define_words("turns", TURNS)
    at = code.at("@turns", (digit >> 6) * 8)
    words = [code.load(WORD, code.at(at, 8 * k), "align 8, !invariant.load !1") for k in range(4)]
    high, middle, low = (code.intrinsic("fshl", a, b, digit & 63) for a, b in pairwise(words))

    def widened(word: Value) -> Value:
        return code.emit(wide, f"zext {word} to i128")

    def upper(number: Value, shift: int) -> Value:
        return code.emit(wide, f"lshr {number}, {shift}")

    # in units of 2^-128 turns; the sum drops whole turns, and as a signed number it is within half a turn
    turns = widened(middle) * widened(m) + upper(widened(low) * widened(m), 64) + (widened(high * m) << 64)
    backwards = turns.compare("slt", 0)
    size = backwards.where(0 - turns, turns)
    code.module.declare("declare i128 @llvm.ctlz.i128(i128, i1)")
    zeros = code.emit(wide, f"call i128 @llvm.ctlz.i128({size}, i1 false)")
    leading = code.emit(WORD, f"trunc {upper(size << zeros, 65)} to i64")
    scale = (1023 - 63 - code.emit(WORD, f"trunc {zeros} to i64")) << 52
    y = code.emit(x.type, f"sitofp {leading} to double") * scale.bitcast("double")
    y = code.fma(y, 2 * math.pi, y * TWO_PI_REST)
    y = (backwards ^ bits.compare("slt", 0)).where(-y, y)
    return exponent.compare("eq", 0x7FF).where(x - x, y)
