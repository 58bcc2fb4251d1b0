"""C99 from programs: one function in one self-contained file, with a header, straight-line and without state.

It needs only <math.h>, and is also valid C++. No argument is ``restrict``: outputs are written last, so that an output
array may overlap an input array. A long program is cut into parts, static functions that pass values in an array on the
stack, because compilers take more than linear time for one long function. ``c_rolled`` writes large programs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from sixd.atomic import write_together
from sixd.codegen import c_rolled
from sixd.codegen.c_rolled import RolledCode
from sixd.codegen.lines import Language, Lines, cut
from sixd.errors import FileError, ScalarTypeError
from sixd.trace import Op, Program, Slot, check
from sixd.trace.program import work_indices

# {f} is the suffix of float's functions; arguments are names, elements or constants, so need no brackets
C_EXPR: dict[Op, str] = {
    Op.ADD: "{0} + {1}", Op.SUB: "{0} - {1}", Op.MUL: "{0} * {1}", Op.DIV: "{0} / {1}", Op.NEG: "-{0}",
    Op.SIN: "sin{f}({0})", Op.COS: "cos{f}({0})", Op.TAN: "tan{f}({0})", Op.ASIN: "asin{f}({0})",
    Op.ACOS: "acos{f}({0})", Op.ATAN2: "atan2{f}({0}, {1})", Op.SQRT: "sqrt{f}({0})", Op.EXP: "exp{f}({0})",
    Op.LOG: "log{f}({0})", Op.LOG1P: "log1p{f}({0})", Op.TANH: "tanh{f}({0})", Op.HYPOT: "hypot{f}({0}, {1})",
    Op.ABS: "fabs{f}({0})",
    # NaN is passed on, as in NumPy; C's own fmin and fmax would drop it
    Op.SIGN: "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}",
    Op.MIN: "({0} <= {1} || {0} != {0}) ? {0} : {1}", Op.MAX: "({0} >= {1} || {0} != {0}) ? {0} : {1}",
    Op.LT: "{0} < {1}", Op.LE: "{0} <= {1}", Op.EQ: "{0} == {1}",
    Op.NOT: "!{0}", Op.AND: "{0} & {1}", Op.OR: "{0} | {1}", Op.SELECT: "{0} ? {1} : {2}",
}  # fmt: skip

# a program of up to WHOLE statements is one function, a longer one has parts of PART statements. gcc 12 -O1 took for
# 10,000 / 35,000 / 94,000 operations 4 / 37 / 60 s as one function, 1 / 4 / 10 s in parts (241,000: 31 s); the code
# is as fast, and parts of 250 or 1000 do not differ. If clang 22 -O2 inlined the parts, it took three times as long.
WHOLE, PART = 2000, 500
NO_INLINE = """#if defined(__GNUC__)
#define SIXD_PART __attribute__((noinline)) static void
#else
#define SIXD_PART static void
#endif"""

# keywords of C and C++; then macros that <math.h> and compilers define, and names that the code itself uses
_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof asm bool catch char8_t char16_t char32_t class concept const_cast consteval constexpr constinit
    co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept
    nullptr operator private protected public reinterpret_cast requires static_assert static_cast template this
    thread_local throw true try typeid typename typeof typeof_unqual using virtual wchar_t and and_eq bitand bitor compl
    not not_eq or or_eq xor xor_eq
    FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO HUGE
    HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MATH_ERREXCEPT MATH_ERRNO MAXFLOAT NAN NULL M_1_PI M_2_PI M_2_SQRTPI M_E
    M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 DOMAIN OVERFLOW PLOSS SING TLOSS UNDERFLOW
    far i386 linux math_errhandling near signgam unix SIXD_PART work work_k work_n
    work_row work_numbers"""
_CALLED = {f"{word}{f}" for text in C_EXPR.values() for word in re.findall(r"\w+(?={f})", text) for f in ("", "f")}
RESERVED = frozenset(_WORDS.split()) | _CALLED
# names that a generated function would clash with: of <math.h>, of the library, and of headers that it would hide
_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs
    fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p
    log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln
    scalbn significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn"""
_LIBRARY = """fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal
    isunordered signbit abort abs atexit calloc clock div exit fprintf fputc fputs free fscanf fwrite getenv index main
    malloc memchr memcmp memcpy memmove memset printf putc putchar puts qsort rand random realloc remove rename scanf
    signal snprintf sprintf sscanf strcat strchr strcmp strcpy strlen strncat strncmp strncpy strstr system time
    assert complex ctype errno features limits math stddef stdint stdio stdlib string"""
RESERVED_FUNCTIONS = RESERVED | {w + end for w in _MATH.split() for end in ("", "f", "l")} | set(_LIBRARY.split())

FLOATS = {
    "float64": Language(C_EXPR, "const double", "const int", "NAN", "INFINITY"),
    "float32": Language(C_EXPR, "const float", "const int", "NAN", "INFINITY", suffix="f", kind=np.float32),
}


@dataclass(frozen=True)
class CSource:
    """C code of one function: the text of its file and of its header."""

    name: str
    source: str = field(repr=False)
    header: str = field(repr=False)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write ``<name>.c`` and ``<name>.h`` into a folder, made if needed, both or neither; return their paths."""
        path = Path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"save: cannot make the folder {str(folder)!r}: {error.strerror or error}.") from None
        targets = {path / f"{self.name}.c": self.source, path / f"{self.name}.h": self.header}
        write_together(targets, f"save: cannot write into {str(folder)!r}")
        path_c, path_h = targets
        return path_c, path_h


def emit(program: Program, name: str, *, dtype: DTypeLike = "float64", comment: str = "") -> CSource:
    """The C function ``void name(const double input[size], ..., double output[size])`` of a program.

    Arrays are row-major, a scalar is an array of one; inputs come in the program's order, then outputs in theirs.
    ``comment`` goes into the header. Names that are not valid in C are changed, and the header lists them.

    >>> from sixd.trace import trace
    >>> emit(trace(lambda x: x * x, {"x": ()}), "square").name
    'square'
    """
    _require_function_name(name)
    check(program)
    code = _Code(name, _language(dtype), program)
    return CSource(name, code.source(), code.header(comment))


class _Code:
    """The text of one function: its arrays, its statements cut into parts, and the work array between parts."""

    def __init__(self, name: str, language: Language, program: Program) -> None:
        names = _safe_names([s.name for s in (*program.inputs, *program.outputs)], name)
        self.name, self.real = name, language.number.removeprefix("const ")
        self.inputs = dict(zip(names, program.inputs, strict=False))
        self.outputs = dict(zip(names[len(self.inputs) :], program.outputs, strict=True))
        self.rolled: RolledCode | None = None
        if program.operations >= c_rolled.FROM:
            self.rolled = RolledCode(name, language, program, self.inputs, self.outputs)
            self.size = self.rolled.size
            return
        self.lines = Lines(language, program, self.inputs, self.outputs)
        nodes, results = self.lines.nodes, self.lines.results
        self.whole = len(nodes) + len(results) <= WHOLE
        self.parts = [nodes] if self.whole else cut(nodes, PART)
        self.size = 0
        if not self.whole:
            last = {a.index: k for k, part in enumerate(self.parts) for n in part for a in n.args}
            last |= dict.fromkeys(self.lines.returned, len(self.parts))
            # a part stores after its last read, so it may overwrite values that no later part reads
            self.lines.work_index, self.size = work_indices(self.parts, last)

    def source(self) -> str:
        """The text of the C file."""
        top = [
            f"/* {self.name}: its arguments are described in {self.name}.h. Written by sixd. */",
            "#include <math.h>",
        ]
        if self.rolled is not None:
            top += [NO_INLINE, "", *self.rolled.definitions()]
            body = self.rolled.body()
            used = {array for array, slot in (*self.inputs.items(), *self.outputs.items()) if slot.entries}
        elif self.whole:
            body = self.lines.whole()
            used = _arrays(body)
        else:
            top.append(NO_INLINE)
            body, used = [], set()
            # the results are written last
            pieces = [*map(self.lines.statements, self.parts), *map(self.lines.writes, cut(self.lines.results, PART))]
            for lines in map(list, pieces):
                own, arrays = f"{self.name}_part{len(body)}", _arrays(lines)
                passed = [a for a in (*self.inputs, *self.outputs, "work") if a in arrays]
                heads = [f"{'const ' * (a in self.inputs)}{self.real} *{a}" for a in passed]
                top += ["", *_function(f"SIXD_PART {own}({', '.join(heads)})", lines)]
                body.append(f"{own}({', '.join(passed)});")
                used |= arrays
            if self.size:
                body.insert(0, f"{self.real} work[{self.size}];")
        unused = [f"(void){a};" for a in (*self.inputs, *self.outputs) if a not in used]
        return "\n".join([*top, "", *self.declaration(), "", *_function(self.prototype(), [*body, *unused]), ""])

    def header(self, comment: str) -> str:
        """The text of the header: what the function computes, its arguments in order, its declaration."""
        lines = [f"{self.name}: {comment}" if comment else self.name, ""]
        for title, slots in (("Inputs", self.inputs), ("Outputs", self.outputs)):
            lines.append(f"{title}, in order:" if slots else f"{title}: none.")
            lines += [f"  {array}: {_describe(array, slot)}" for array, slot in slots.items()]
        lines += [
            "",
            "Arrays are row-major: the last index of a shape runs fastest. An output may overlap inputs, but no other",
            "output. The function allocates nothing and keeps no state, so that threads may call it at the same time;",
            f"its work array on the stack has {self.size} numbers. Written by sixd.",
        ]
        guard = f"SIXD_{self.name}_H"
        text = ["/*", *(f" * {line}".rstrip() for part in lines for line in _plain(part)), " */"]
        return "\n".join([*text, f"#ifndef {guard}", f"#define {guard}", "", *self.declaration(), "", "#endif", ""])

    def prototype(self) -> str:
        """The function's prototype."""
        heads = [_parameter(f"const {self.real}", a, slot) for a, slot in self.inputs.items()]
        heads += [_parameter(self.real, a, slot) for a, slot in self.outputs.items()]
        return f"void {self.name}({', '.join(heads) or 'void'})"

    def declaration(self) -> list[str]:
        """The lines of its declaration, with C linkage in C++."""
        plus = "#ifdef __cplusplus"
        return [plus, 'extern "C" {', "#endif", f"{self.prototype()};", plus, "}", "#endif"]


# pieces of text ------------------------------------------------------------------------------------


def _arrays(lines: Iterable[str]) -> set[str]:
    """The names of the arrays that lines access."""
    return set(re.findall(r"\b([A-Za-z]\w*)\[", "\n".join(lines)))


def _function(head: str, lines: Iterable[str]) -> list[str]:
    return [head, "{", *(f"    {line}" for line in lines), "}"]


def _parameter(kind: str, array: str, slot: Slot) -> str:
    # C has no arrays of length 0
    return f"{kind} {array}[{len(slot.entries)}]" if slot.entries else f"{kind} *{array}"


def _describe(array: str, slot: Slot) -> str:
    size = f"{len(slot.entries)} numbers, shape {slot.shape}" if slot.shape else "1 number, a scalar"
    empty = "" if slot.entries else "; never touched, may be NULL"
    return f"{size}{empty}" if array == slot.name else f"{size}{empty}; in the program its name is {slot.name!r}"


def _plain(text: str) -> list[str]:
    """Lines that are valid in a comment: printable ASCII, without comment delimiters and trigraphs."""
    lines = ["".join(c if " " <= c <= "~" else ascii(c)[1:-1] for c in line) for line in text.splitlines()] or [""]
    return [re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", line) for line in lines]


# checks of the arguments ----------------------------------------------------------------------------


def _language(dtype: DTypeLike) -> Language:
    try:
        return FLOATS[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise ScalarTypeError(f"emit: dtype is {dtype!r}, expected {' or '.join(map(repr, FLOATS))}.") from None


def _require_function_name(name: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ScalarTypeError(
            f"emit: name is {name!r}, expected a C identifier: ASCII letters, digits and underscores, a letter first."
        )
    if name in RESERVED_FUNCTIONS:
        raise ScalarTypeError(f"emit: name is {name!r}, which is reserved in C, C++ or their library. Choose another.")


def _safe_names(names: Iterable[str], function: str) -> list[str]:
    """Valid C names, all different and none the function's own; valid ones stay as they are."""
    safe: list[str] = []
    for name in names:
        word = re.sub(r"[^A-Za-z0-9_]", "_", name)
        word = word if word[:1].isalpha() else f"x{word}"
        while word in RESERVED or word in safe or re.fullmatch(rf"t\d+|{function}(_(part\d+|table_\w+))?", word):
            word += "_"
        safe.append(word)
    return safe
