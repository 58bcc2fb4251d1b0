"""LLVM's intermediate code as text: values with operators, in the blocks of a function.

A value is a vector of ``lanes`` numbers, or one number if there is one lane; code written on values serves both, and
both float widths. No instruction has a fast-math flag, so that a result does not depend on the number of lanes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, Union

import numpy as np

from sixd.codegen.llvm.machine import EFFORT


class Type(NamedTuple):
    """A scalar kind of LLVM ("double", "float", "i64", "i32", "i1", "ptr") and the number of lanes."""

    kind: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.kind if self.lanes == 1 else f"<{self.lanes} x {self.kind}>"

    def of(self, kind: str) -> Type:
        """The type of that kind with as many lanes."""
        return Type(kind, self.lanes)

    @property
    def suffix(self) -> str:
        """The name in intrinsics: v8f64, f32, …"""
        short = {"double": "f64", "float": "f32"}.get(self.kind, self.kind)
        return short if self.lanes == 1 else f"v{self.lanes}{short}"

    @property
    def bytes(self) -> int:
        """Its size in memory [bytes]."""
        return {"double": 8, "float": 4}[self.kind] * self.lanes

    @property
    def is_float(self) -> bool:
        """Whether it holds floating-point numbers."""
        return self.kind in ("double", "float")


WORD, POINTER = Type("i64"), Type("ptr")
# of functions with vectors. Vectors without a register are on the stack, which begins at any multiple of 16 bytes
# unless it is aligned: then most cross cache lines, and derivatives of a quadruped's dynamics take up to 1.6 times as
# long
ATTRIBUTES = 'alignstack(64) "min-legal-vector-width"="512" "prefer-vector-width"="512"'


def _instruction(on_whole: str, on_float: str = "") -> Callable[[Value, Operand], Value]:
    """Return the operator of ``Value`` that appends the instruction of that name."""

    def operator(self: Value, other: Operand) -> Value:
        right = self.code.lift(other, self.type)
        return self.code.emit(self.type, f"{on_float if self.type.is_float else on_whole} {self}, {right.text}")

    return operator


def _comparison(word: str) -> Callable[[Value, Operand], Value]:
    """Return the operator of ``Value`` for a comparison of floats."""
    return lambda self, other: self.compare(word, other)


Operand = Union["Value", float]  # a value, or a number that becomes one


class Value:
    """A value in generated code: its type and its name there. Operators append instructions."""

    __slots__ = ("code", "text", "type")

    def __init__(self, code: FunctionBody, type: Type, text: str) -> None:
        self.code, self.type, self.text = code, type, text

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    __add__, __sub__ = _instruction("add", "fadd"), _instruction("sub", "fsub")
    __mul__, __truediv__ = _instruction("mul", "fmul"), _instruction("sdiv", "fdiv")

    def __rsub__(self, other: Operand) -> Value:
        return self.code.lift(other, self.type) - self

    def __rmul__(self, other: Operand) -> Value:
        return self.code.lift(other, self.type) * self

    def __rtruediv__(self, other: Operand) -> Value:
        return self.code.lift(other, self.type) / self

    def __neg__(self) -> Value:
        return self.code.emit(self.type, f"fneg {self}") if self.type.is_float else 0 - self

    # of whole numbers and truth values
    __and__, __or__, __xor__ = _instruction("and"), _instruction("or"), _instruction("xor")
    __lshift__, __rshift__ = _instruction("shl"), _instruction("ashr")

    def __invert__(self) -> Value:
        return self ^ (1 if self.type.kind == "i1" else -1)

    # false if a number is NaN
    __lt__, __le__, __gt__ = _comparison("olt"), _comparison("ole"), _comparison("ogt")

    def compare(self, word: str, other: Operand) -> Value:
        """LLVM's comparison of that name (``olt``, ``ugt``, ``uno``, … of floats; ``eq``, ``slt``, … of integers)."""
        right = self.code.lift(other, self.type)
        verb = "fcmp" if self.type.is_float else "icmp"
        return self.code.emit(self.type.of("i1"), f"{verb} {word} {self}, {right.text}")

    def where(self, a: Operand, b: Operand) -> Value:
        """``a`` where this truth value holds, else ``b``; at least one of them is a value."""
        type = next(x.type for x in (a, b) if isinstance(x, Value))
        a, b = self.code.lift(a, type), self.code.lift(b, type)
        return self.code.emit(type, f"select {self}, {a}, {b}")

    # conversions of all lanes ------------------------------------------------------------------------

    def bitcast(self, kind: str) -> Value:
        """The same bits as another kind."""
        type = self.type.of(kind)
        return self.code.emit(type, f"bitcast {self} to {type}")

    def convert(self, kind: str) -> Value:
        """The same number as the other kind of float."""
        type = self.type.of(kind)
        return self.code.emit(type, f"{'fptrunc' if kind == 'float' else 'fpext'} {self} to {type}")


class FunctionBody:
    """The body of a function being generated: lines with numbered values, and the current block.

    ``memo`` keeps intermediate results that later operations can reuse, such as the reduction of an angle for sin and
    cos.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.first_lines: list[str] = []  # known only after the rest is written
        self.lines: list[str] = []
        self.memo: dict[Any, Any] = {}
        self.block = "entry"
        self._count = 0

    def emit(self, type: Type, instruction: str) -> Value:
        """Append an instruction that yields a value."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(self, type, name)

    def do(self, instruction: str) -> None:
        """Append an instruction that yields nothing."""
        self.lines.append(f"  {instruction}")

    def label(self, word: str) -> str:
        """A new name for a block."""
        self._count += 1
        return f"{word}{self._count}"

    def begin(self, label: str) -> None:
        """Start the block of that name; the previous one must end in a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def leave_if(self, condition: Value, label: str) -> None:
        """Go to the block of that name in the rare case that a truth value holds, else continue."""
        after = self.label("ok")
        self.do(f"br {condition}, label %{label}, label %{after}, !prof !0")
        self.begin(after)

    def either(
        self, condition: Value, first: Callable[[], Sequence[Value]], second: Callable[[], Sequence[Value]]
    ) -> Any:
        """Append two blocks, the first for the case that a truth value holds; return the values that they yield."""
        labels, after = (self.label("if"), self.label("else")), self.label("then")
        self.do(f"br {condition}, label %{labels[0]}, label %{labels[1]}")
        ends = []
        for label, write in zip(labels, (first, second), strict=True):
            self.begin(label)
            ends.append((write(), self.block))
            self.do(f"br label %{after}")
        self.begin(after)
        (a, end_a), (b, end_b) = ends
        return [
            self.emit(x.type, f"phi {x.type} [ {x.text}, %{end_a} ], [ {y.text}, %{end_b} ]")
            for x, y in zip(a, b, strict=True)
        ]

    def repeat(self, count: Value, write: Callable[[Value], None]) -> None:
        """Append a loop: what ``write(k)`` appends, for k from 0 to ``count`` - 1."""
        top, after, before = self.label("top"), self.label("after"), self.block
        self.do(f"br {count.compare('sgt', 0)}, label %{top}, label %{after}")
        self.begin(top)
        k = self.emit(WORD, "phi")
        at = len(self.lines) - 1
        write(k)
        following = k + 1
        self.lines[at] = f"  {k.text} = phi i64 [ 0, %{before} ], [ {following.text}, %{self.block} ]"
        self.do(f"br {following.compare('slt', count)}, label %{top}, label %{after}, !llvm.loop !3")
        self.begin(after)

    # memory ------------------------------------------------------------------------------------------

    def at(self, base: Value | str, byte: Value | int) -> Value:
        """The address ``byte`` bytes after a pointer."""
        start = base if isinstance(base, Value) else f"ptr {base}"
        return self.emit(POINTER, f"getelementptr i8, {start}, {self.lift(byte, WORD)}")

    def load(self, type: Type, address: Value, flags: str) -> Value:
        """The value at an address; ``flags`` has the alignment and other attributes."""
        return self.emit(type, f"load {type}, {address}, {flags}")

    # constants ---------------------------------------------------------------------------------------

    def const(self, x: float, type: Type) -> Value:
        """A number in every lane; floats are written by their bits."""
        if type.is_float:
            with np.errstate(over="ignore"):  # a number too large for float32 is infinite there
                rounded = float(np.float32(x)) if type.kind == "float" else float(x)
            word = f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
        else:
            word = "null" if type.kind == "ptr" else str(int(x))
        return Value(self, type, word if type.lanes == 1 else f"splat ({type.kind} {word})")

    def splat(self, x: Value, type: Type) -> Value:
        """A number in every lane of a type."""
        if type.lanes == 1:
            return x
        first = self.emit(type, f"insertelement {type} poison, {x}, i64 0")
        return self.emit(type, f"shufflevector {first}, {type} poison, <{type.lanes} x i32> zeroinitializer")

    def lift(self, x: Operand, type: Type) -> Value:
        """``x`` as a value of that type."""
        return x if isinstance(x, Value) else self.const(x, type)

    # functions of LLVM -------------------------------------------------------------------------------

    def intrinsic(self, name: str, *args: Value) -> Value:
        """``llvm.<name>`` of values of one type, yielding that type."""
        type = args[0].type
        full = f"@llvm.{name}.{type.suffix}"
        self.module.declare(f"declare {type} {full}({', '.join([str(type)] * len(args))})")
        return self.emit(type, f"call {type} {full}({', '.join(map(str, args))})")

    def fma(self, a: Value, b: Operand, c: Operand) -> Value:
        """a b + c, rounded once; with two roundings if the CPU has no such instruction."""
        if not self.module.has_fma:
            return a * b + c
        return self.intrinsic("fma", a, self.lift(b, a.type), self.lift(c, a.type))

    def divide(self, a: Value, b: Value) -> Value:
        """a/b."""
        reciprocal = self.module.reciprocal
        if reciprocal is not None and a.text == self.const(1.0, a.type).text:
            return reciprocal(self, b)
        return a / b

    def polynomial(self, x: Value, coefficients: Iterable[float]) -> Value:
        """Horner's rule; the coefficient of the highest power comes last."""
        *rest, high = coefficients
        result: Any = self.const(high, x.type)
        for c in reversed(rest):
            result = self.fma(result, x, c)
        return result

    def absolute(self, x: Value) -> Value:
        """|x|."""
        return self.intrinsic("fabs", x)

    def any(self, condition: Value) -> Value:
        """Whether a truth value holds in any lane."""
        if condition.type.lanes == 1:
            return condition
        full = f"@llvm.vector.reduce.or.{condition.type.suffix}"
        self.module.declare(f"declare i1 {full}({condition.type})")
        return self.emit(Type("i1"), f"call i1 {full}({condition})")

    def rarely(self, write: Callable[..., Value], *cases: tuple[Value, ...]) -> list[Value]:
        """For each case (condition, usual, *args) ``usual``, but if a condition holds in any lane, the value of
        ``write(condition, usual, *args)``, which appends its code. One test and one branch serve all cases."""
        cold, after, before = self.label("cold"), self.label("after"), self.block
        needed = self.any(reduce(or_, (condition for condition, *_ in cases)))
        self.do(f"br i1 {needed.text}, label %{cold}, label %{after}, !prof !0")
        self.begin(cold)
        rare = [write(*case) for case in cases]
        end = self.block
        self.do(f"br label %{after}")
        self.begin(after)
        return [
            self.emit(usual.type, f"phi {usual.type} [ {usual.text}, %{before} ], [ {y.text}, %{end} ]")
            for (_, usual, *_), y in zip(cases, rare, strict=True)
        ]


class Module:
    """Functions and declarations as text, and whether the machine has fused multiply-add, and is a GPU.

    ``effort`` is the level, 1 or 2, of LLVM's code generator. ``reciprocal(code, x)`` appends 1/x where a division is
    not the best way. ``calls_rare``: code for rare cases is called, not written where it may be needed; with
    ``calls_angles`` also the code for the sine and cosine of an angle.
    """

    def __init__(
        self,
        has_fma: bool = True,
        on_gpu: bool = False,
        reciprocal: Callable[[FunctionBody, Value], Value] | None = None,
        calls_rare: bool = True,
        calls_angles: bool = False,
    ) -> None:
        self.has_fma, self.on_gpu, self.effort = has_fma, on_gpu, 2
        self.reciprocal, self.calls_rare, self.calls_angles = reciprocal, calls_rare, calls_angles
        self._declared: dict[str, None] = {}
        self._functions: dict[str, str] = {}

    def declare(self, line: str) -> None:
        """Add a declaration, once."""
        self._declared[line] = None

    def has(self, name: str) -> bool:
        """Whether a function of that name was defined."""
        return name in self._functions

    def define(self, name: str, head: str, code: FunctionBody) -> None:
        """Add a function of a new name: ``head`` is the text between ``define`` and the brace."""
        assert not self.has(name), name
        self._functions[name] = "\n".join([f"define {head} {{", "entry:", *code.first_lines, *code.lines, "}"])

    def define_raw(self, text: str) -> None:
        """Add a definition as text."""
        self._functions[text] = text

    def define_words(self, name: str, words: Iterable[int]) -> None:
        """Add a table of constant words of 64 bits."""
        text = ", ".join(f"i64 {word}" for word in words)
        count = text.count("i64")
        self._functions[name] = f"@{name} = private unnamed_addr constant [{count} x i64] [{text}], align 8"

    def __str__(self) -> str:
        # 3: loops are not unrolled, by LLVM or by NVIDIA's assembler
        end = ['!0 = !{!"branch_weights", i32 1, i32 1000000}', "!1 = !{}", "!2 = !{i32 1}", "!3 = distinct !{!3, !4}"]
        end += ['!4 = !{!"llvm.loop.unroll.disable"}', ""]
        return "\n".join([f"{EFFORT}{self.effort}", *self._declared, *self._functions.values(), *end])
