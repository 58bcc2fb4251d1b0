"""JavaScript from programs: the body of one straight-line function, for pages that compute without a server.

Operators are written as in C, functions are those of ``Math``.
"""

from __future__ import annotations

import re

from sixd.codegen.c import C_EXPR
from sixd.codegen.lines import Language, Lines
from sixd.errors import ScalarTypeError
from sixd.trace import Op, Program, Slot, check

JS_EXPR: dict[Op, str] = C_EXPR | {
    Op.SIN: "Math.sin({0})", Op.COS: "Math.cos({0})", Op.TAN: "Math.tan({0})", Op.ASIN: "Math.asin({0})",
    Op.ACOS: "Math.acos({0})", Op.ATAN2: "Math.atan2({0}, {1})", Op.SQRT: "Math.sqrt({0})", Op.EXP: "Math.exp({0})",
    Op.LOG: "Math.log({0})", Op.LOG1P: "Math.log1p({0})", Op.TANH: "Math.tanh({0})", Op.HYPOT: "Math.hypot({0}, {1})",
    Op.ABS: "Math.abs({0})",
}  # fmt: skip
_WORDS = """await break case catch class const continue debugger default delete do else enum export extends
    false finally for function if implements import in instanceof interface let new null package private
    protected public return static super switch this throw true try typeof var void while with yield
    arguments eval Math Infinity NaN undefined out"""
_RESERVED = frozenset(_WORDS.split())
JS = Language(JS_EXPR, "const", "const", "NaN", "Infinity")


def emit_js(program: Program) -> str:
    """The body of a JavaScript function with the program's inputs, by name, and ``out`` as parameters.

    Inputs are row-major arrays of numbers, a scalar is an array of length 1; the outputs are written to ``out``, one
    after the other.

    >>> from sixd.trace import trace
    >>> print(emit_js(trace(lambda x: x * x, {"x": ()})))
    const t0 = x[0] * x[0];
    out[0] = t0;
    """
    check(program)
    for slot in program.inputs:
        valid, local = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", slot.name), re.fullmatch(r"t\d+", slot.name)
        if not valid or local or slot.name in _RESERVED:
            raise ScalarTypeError(
                f"emit_js: an input is called {slot.name!r}, expected a valid JavaScript name that is not reserved. "
                f"Choose another."
            )
    entries = tuple(e for slot in program.outputs for e in slot.entries)
    inputs, outputs = {slot.name: slot for slot in program.inputs}, {"out": Slot("out", (len(entries),), entries)}
    return "\n".join(Lines(JS, program, inputs, outputs).whole())
