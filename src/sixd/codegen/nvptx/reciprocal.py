"""Reciprocals on GPUs without a branch, rounded to nearest as everywhere.

NVIDIA's own code tests each number and calls a function for unusual ones, which keeps a thread from computing anything
else meanwhile. Here an approximation y of some 20 bits is refined: with e = 1 - x y, y (1 + e + e²) has an error of e³,
and one more step y + y (1 - x y) is 1/x rounded to nearest [P. Markstein, "Computation of elementary functions",
*IBM J. Res. Dev.* 34 (1990)], unless all digits of x are ones, for which the result is known. float32 is computed in
float64.

Of float64 numbers above 2^1022, whose reciprocals are subnormal, the result is 0, and of subnormal ones it is infinite:
the only operation whose bits differ from the CPU's.
"""

from __future__ import annotations

from sixd.codegen.llvm.ir import FunctionBody, Value

_EXPONENT = -(1 << 52)  # and the sign


def reciprocal(code: FunctionBody, x: Value) -> Value:
    """1/x. Semi-implicit Euler of a six-joint arm in float64 keeps all values in registers with it; otherwise it spills
    250 bytes in each step."""
    if x.type.kind == "float":
        first, is_near, y = _refined(code, x.convert("double"))
        return is_near.where(y, first).convert("float")
    first, is_near, y = _refined(code, x)
    y = code.fma(y, code.fma(-x, y, 1.0), y)
    ones = code.emit(x.type.of("i64"), f"zext {(x.bitcast('i64') | _EXPONENT).compare('eq', -1)} to i64")
    y = (y.bitcast("i64") | ones).bitcast("double")
    # the approximation does not see the lower half of a number, which may be what makes it NaN
    return x.compare("ord", x).where(is_near.where(y, first), x)


def _refined(code: FunctionBody, x: Value) -> tuple[Value, Value, Value]:
    """An approximation of 1/x, whether it is near, and a better one, with an error of some 53 bits.

    It is not near, but right, for zeros, infinities and NaN.
    """
    name = "@llvm.nvvm.rcp.approx.ftz.d"
    code.module.declare(f"declare double {name}(double)")
    first = code.emit(x.type, f"call double {name}({x})")
    error = code.fma(-x, first, 1.0)
    return first, code.absolute(error) < 0.5, code.fma(first, code.fma(error, error, error), first)
