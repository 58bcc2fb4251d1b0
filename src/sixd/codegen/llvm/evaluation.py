"""Evaluation of a call by a plan: check the arrays, make the results, and call compiled code.

A plan (``sixd.runtime.calls``) is a table of words that lists the core shapes, the functions of Python and NumPy, and
the compiled code, by pointers that may be null. Arrays must be exactly of NumPy's class, hold native floats of one
width, be contiguous and have the right core shapes and one batch shape; ``out`` must not overlap other arrays. All
other calls are declined, and so are batches that are large enough for several threads, and suspect results.

This code serves all shapes and both float widths. Code for specific shapes would be some 5 ns faster, but would have to
be compiled for each combination of shapes. Making and freeing a result takes 40 ns. Reusing freed results would save
about 30 ns, but it cannot be known for certain that an array is free (its buffer may be exported, its memory shared
with a view), so users have ``out=`` for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixd.codegen.llvm.ir import POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.machine import (
    ALIGNED,
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    FLAGS,
    KIND,
    KINDS_OF_PLAN,
    MOST_ARRAYS,
    MOST_DIMENSIONS,
    NDIM,
    OBJECT,
    PLAN,
    SHAPE,
    SPEC,
    TYPE,
    WARN_ON_WRITE,
    WRITEABLE,
    index_of,
)

INT, FLAG = Type("i32"), Type("i1")
DECLINED = "inttoptr (i64 1 to ptr)"  # an address that no object has


def define_evaluate(module: Module) -> None:
    """Define ``evaluate(plan, args, out)``: the result, null after an error, or ``DECLINED``; out may be null."""
    code = FunctionBody(module)
    call, out = _Evaluation(code), Value(code, POINTER, "%out")
    call.read_inputs()
    call.count_rows()
    code.either(out.compare("eq", 0), call.make_outputs, lambda: call.check_outputs(out))
    suspect, held = code.either(call.single, call.compute_row, call.compute_batch)
    call.finish(out, suspect, held)
    module.define("evaluate", "internal ptr @evaluate(ptr %plan, ptr %args, ptr %out) noinline nounwind", code)


class _Evaluation:
    """The parts of ``evaluate``, in their order."""

    def __init__(self, code: FunctionBody) -> None:
        self.code, self.plan = code, Value(code, POINTER, "%plan")
        for name, kind, count in (
            ("data", "ptr", MOST_ARRAYS), ("steps", "i64", MOST_ARRAYS), ("made", "ptr", MOST_ARRAYS),
            ("shape", "i64", 2 * MOST_DIMENSIONS), ("rows", "i64", 1), ("target", "ptr", 1),
        ):  # fmt: skip
            code.do(f"%{name} = alloca [{count} x {kind}], align 8")
        self.inputs, self.outputs, self.array_type = map(self.word, ("arguments", "outputs", "array_type"))

    # the plan ----------------------------------------------------------------------------------------

    def word(self, name: str) -> Value:
        """A word of the plan."""
        return read(self.code, self.plan, 8 * PLAN.index(name))

    def pointer(self, name: str) -> Value:
        """A word of the plan that is an address."""
        return read(self.code, self.plan, 8 * PLAN.index(name), POINTER)

    def of_kind(self, name: str, type: Type = WORD) -> Value:
        """A word of the plan for the arrays' float width."""
        return read(self.code, self.kind, 8 * KIND.index(name), type)

    def spec(self, k: Value) -> _ArraySpec:
        """The plan's words for an array."""
        code = self.code
        table = code.at(self.plan, k * (8 * len(SPEC)) + 8 * index_of("specs"))
        return _ArraySpec(
            *(read(code, table, 8 * n, POINTER if name == "shape" else WORD) for n, name in enumerate(SPEC))
        )

    def call(self, returns: str, function: str | Value, *arguments: object) -> Value:
        """Call a function, or one of the plan by its name."""
        pointer = self.pointer(function) if isinstance(function, str) else function
        text = f"call {returns} {pointer.text}({', '.join(map(str, arguments))})"
        if returns != "void":
            return self.code.emit(Type(returns), text)
        self.code.do(text)
        return pointer

    # arguments ---------------------------------------------------------------------------------------

    def read_inputs(self) -> None:
        """Check all inputs, and keep the addresses of their data."""
        code = self.code
        first = read(code, "%args", 0, POINTER)
        self.decline_if(read(code, first, TYPE).compare("ne", self.array_type))
        self.descr, self.lead = read(code, first, DESCR), read(code, first, SHAPE, POINTER)
        here = [code.at(self.plan, 8 * index_of(kind)) for kind in KINDS_OF_PLAN]
        matches = [read(code, kind, 8 * KIND.index("descr")).compare("eq", self.descr) for kind in here]
        self.decline_if(~(matches[0] | matches[1]))
        self.kind = matches[0].where(here[0], here[1])
        self.size = self.of_kind("size")
        self.batch = _dimensions(code, first) - self.spec(code.const(0, WORD)).dimensions
        self.decline_if(self.batch.compare("ugt", MOST_DIMENSIONS))  # unsigned: if it is negative, too

        def one(k: Value) -> None:
            array = read(code, code.at("%args", k * 8), 0, POINTER)
            self.check(array, self.spec(k), CONTIGUOUS_ALIGNED, CONTIGUOUS_ALIGNED)
            self.keep("data", k, read(code, array, DATA, POINTER))

        code.repeat(self.inputs, one)

    def check(self, array: Value, spec: _ArraySpec, mask: int, flags: int) -> None:
        """Decline unless the object is an array of that core, and of the first array's dtype and batch shape."""
        code = self.code
        self.decline_if(read(code, array, TYPE).compare("ne", self.array_type))
        self.decline_if(read(code, array, DESCR).compare("ne", self.descr))
        self.decline_if((read(code, array, FLAGS, INT) & mask).compare("ne", flags))
        self.decline_if(_dimensions(code, array).compare("ne", spec.dimensions + self.batch))
        shape = read(code, array, SHAPE, POINTER)

        def same(a: Value, b: Value, k: Value) -> None:
            self.decline_if(read(code, code.at(a, k * 8)).compare("ne", read(code, code.at(b, k * 8))))

        code.repeat(self.batch, lambda k: same(shape, self.lead, k))
        code.repeat(spec.dimensions, lambda k: same(code.at(shape, self.batch * 8), spec.shape, k))

    def count_rows(self) -> None:
        """Compute the number of rows, and require the code for it."""
        code = self.code
        self.single = self.batch.compare("eq", 0)
        self.keep("rows", 0, code.const(1, WORD))

        def one() -> Sequence[Value]:
            self.decline_if(self.of_kind("entry").compare("eq", 0))
            return [code.const(1, WORD)]

        def many() -> Sequence[Value]:
            self.decline_if(self.of_kind("loop").compare("eq", 0))

            def multiply(k: Value) -> None:
                n = read(code, code.at(self.lead, k * 8))
                self.keep("shape", k, n)
                self.keep("rows", 0, read(code, "%rows") * n)

            code.repeat(self.batch, multiply)
            rows = read(code, "%rows")
            self.decline_if(rows.compare("sge", self.of_kind("most")))
            return [rows]

        (self.rows,) = code.either(self.single, one, many)

    # outputs -----------------------------------------------------------------------------------------

    def check_outputs(self, out: Value) -> Sequence[Value]:
        """Check ``out``: one array, or a tuple of arrays, which overlap no other array."""
        code = self.code
        self.keep("target", 0, out)

        def several() -> Sequence[Value]:
            kind = read(code, out, TYPE)
            self.decline_if(kind.compare("ne", self.word("tuple_type")) & kind.compare("ne", self.word("named")))
            self.decline_if(read(code, out, OBJECT["length"]).compare("ne", self.outputs))
            return [code.at(out, self.word("items"))]

        is_one = self.outputs.compare("eq", 1)
        (targets,) = code.either(is_one, lambda: [Value(code, POINTER, "%target")], several)
        mask, flags = CONTIGUOUS_ALIGNED | WRITEABLE | WARN_ON_WRITE, CONTIGUOUS_ALIGNED | WRITEABLE

        def one(k: Value) -> None:
            array, number = read(code, code.at(targets, k * 8), 0, POINTER), self.inputs + k
            spec = self.spec(number)
            self.check(array, spec, mask, flags)
            start = read(code, array, DATA)
            end = start + self.bytes_of(spec)

            def apart(j: Value) -> None:  # from the inputs, and from the outputs before
                other = read(code, code.at("%data", j * 8))
                after = other + self.bytes_of(self.spec(j))
                self.decline_if(other.compare("ult", end) & start.compare("ult", after))

            code.repeat(number, apart)
            self.keep("data", number, start)

        code.repeat(self.outputs, one)
        return []

    def make_outputs(self) -> Sequence[Value]:
        """Make new arrays."""
        code = self.code

        def one(k: Value) -> None:
            spec = self.spec(self.inputs + k)
            (shape,) = code.either(self.single, lambda: [spec.shape], lambda: self._whole_shape(k, spec))
            kind = [Value(code, POINTER, self.pointer("array_type").text), _narrow(code, spec.dimensions + self.batch)]
            number = _narrow(code, self.of_kind("type_number"))
            usual = ("ptr null", "ptr null", "i32 0", "i32 0", "ptr null")
            array = self.call("ptr", "array_new", *kind, shape, number, *usual)
            self._drop_if(array.compare("eq", 0), k, "ptr null")
            self.keep("made", k, array)
            self.keep("data", self.inputs + k, read(code, array, DATA, POINTER))

        code.repeat(self.outputs, one)
        return []

    def _whole_shape(self, k: Value, spec: _ArraySpec) -> Sequence[Value]:
        """The shape of the k-th output of a batch."""
        code = self.code
        # larger ones are aligned with care (sixd.runtime.routine.new_array)
        self._drop_if(self.bytes_of(spec).compare("sgt", ALIGNED), k, f"ptr {DECLINED}")
        code.repeat(
            spec.dimensions, lambda j: self.keep("shape", self.batch + j, read(code, code.at(spec.shape, j * 8)))
        )
        return [Value(code, POINTER, "%shape")]

    def bytes_of(self, spec: _ArraySpec) -> Value:
        """The size of an array."""
        return spec.entries * self.size * self.rows

    # results -----------------------------------------------------------------------------------------

    def compute_row(self) -> Sequence[Value]:
        """Call the code of one row; whether it is suspect, and null."""
        code = self.code
        entry, context = self.of_kind("entry", POINTER), self.of_kind("entry_context", POINTER)
        return [self.call("i1", entry, "ptr %data", context), code.const(0, POINTER)]

    def compute_batch(self) -> Sequence[Value]:
        """Call the code of batches; whether a row is suspect, and the owner if it has a new reference, or null."""
        code = self.code
        loop, context = self.of_kind("loop", POINTER), self.of_kind("loop_context", POINTER)
        code.repeat(self.inputs + self.outputs, lambda k: self.keep("steps", k, self.spec(k).entries * self.size))
        before = read(code, context)  # the number of calls with a suspect result
        arguments = ("ptr %data", "ptr %rows", "ptr %steps", context)

        def short() -> Sequence[Value]:
            self.call("void", loop, *arguments)
            return [code.const(0, POINTER)]

        def long() -> Sequence[Value]:
            owner = self.pointer("owner")
            self.call("void", "incref", owner)  # other threads run meanwhile, and could drop the plan
            state = self.call("ptr", "save_thread")
            self.call("void", loop, *arguments)
            self.call("void", "restore_thread", state)
            return [owner]

        (held,) = code.either(self.rows.compare("slt", self.of_kind("long")), short, long)
        return [read(code, context).compare("ne", before), held]

    def finish(self, out: Value, suspect: Value, held: Value) -> None:
        """Return ``out``, or the new arrays: those without dimensions as scalars, several as a tuple."""
        code = self.code
        declined = code.emit(POINTER, f"getelementptr i8, ptr {DECLINED}, i64 0")

        def drop() -> Sequence[Value]:
            self._drop(self.outputs)
            return [declined]

        def decline() -> Sequence[Value]:
            return code.either(out.compare("ne", 0), lambda: [declined], drop)

        def own() -> Sequence[Value]:
            self.call("void", "incref", out)
            return [out]

        def made() -> Sequence[Value]:
            return code.either(self.outputs.compare("eq", 1), lambda: [self._result(code.const(0, WORD))], self._tuple)

        def good() -> Sequence[Value]:
            return code.either(out.compare("ne", 0), own, made)

        def release() -> Sequence[Value]:
            self.call("void", "decref", held)
            return []

        (result,) = code.either(suspect, decline, good)
        code.either(held.compare("eq", 0), list, release)
        code.do(f"ret {result}")
        code.begin("decline")
        code.do(f"ret ptr {DECLINED}")

    def _tuple(self) -> Sequence[Value]:
        """The new arrays in a tuple, or in an object of the class ``named``, made with them as arguments.

        Making that may run any finaliser, so that the plan is not read afterwards.
        """
        code, count = self.code, self.outputs
        put, scalar, free = map(self.pointer, ("tuple_set", "array_return", "decref"))
        named, call = map(self.pointer, ("named", "call_object"))
        pack = self.call("ptr", "tuple_new", count)

        def fill() -> Sequence[Value]:
            code.repeat(count, lambda k: void(self.call("i32", put, pack, k, self._result(k, scalar))))
            return []

        def fail() -> Sequence[Value]:
            self._drop(count, free)
            return []

        def rename() -> Sequence[Value]:
            result = self.call("ptr", call, named, pack)
            self.call("void", free, pack)
            return [result]

        code.either(pack.compare("ne", 0), fill, fail)
        return code.either(pack.compare("ne", 0) & named.compare("ne", 0), rename, lambda: [pack])

    def _result(self, k: Value, scalar: Value | str = "array_return") -> Value:
        """A new array, or its scalar if it has no dimensions."""
        array = read(self.code, self.code.at("%made", k * 8), 0, POINTER)
        bare = _dimensions(self.code, array).compare("eq", 0)
        return self.code.either(bare, lambda: [self.call("ptr", scalar, array)], lambda: [array])[0]

    # small parts -------------------------------------------------------------------------------------

    def decline_if(self, condition: Value) -> None:
        """Decline in the rare case that a truth value holds."""
        self.code.leave_if(condition, "decline")

    def keep(self, name: str, k: Value | int, value: Value) -> None:
        """Store a word in a list of the call."""
        self.code.do(f"store {value}, {self.code.at(f'%{name}', k * 8)}, align 8")

    def _drop(self, count: Value, function: Value | str = "decref") -> None:
        """Free the first ``count`` arrays that were made."""
        code = self.code
        code.repeat(count, lambda j: void(self.call("void", function, read(code, code.at("%made", j * 8), 0, POINTER))))

    def _drop_if(self, condition: Value, count: Value, result: str) -> None:
        """Free the first ``count`` arrays that were made, and return, in the rare case that a truth value holds."""
        code = self.code
        rare, after = code.label("rare"), code.label("ok")
        code.do(f"br {condition}, label %{rare}, label %{after}, !prof !0")
        code.begin(rare)
        self._drop(count)
        code.do(f"ret {result}")
        code.begin(after)


class _ArraySpec(NamedTuple):
    """The words of a plan for an array: dimensions and entries of its core, and the address of the core's shape."""

    dimensions: Value
    entries: Value
    shape: Value


def read(code: FunctionBody, base: Value | str, byte: int = 0, type: Type = WORD) -> Value:
    """A field of an object or a table."""
    return code.load(type, code.at(base, byte), "align 4")


def void(_: Value) -> None:
    """Ignore what a call returns."""


def _dimensions(code: FunctionBody, array: Value) -> Value:
    return code.emit(WORD, f"sext {read(code, array, NDIM, INT)} to i64")


def _narrow(code: FunctionBody, word: Value) -> Value:
    return code.emit(INT, f"trunc {word} to i32")
