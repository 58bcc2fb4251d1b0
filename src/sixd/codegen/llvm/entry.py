"""The entry of an unbatched call: a function in CPython's fast-call convention that evaluates one row in scalar code.

It accepts the most common arrays (exactly NumPy's class, native float, contiguous, of the right shape). All other
arguments, and every suspect result, go to the fallback in its context, a Python callable.
"""

from __future__ import annotations

from sixd.codegen.llvm.body import KINDS, Body
from sixd.codegen.llvm.ir import POINTER, WORD, Code, Module, Type, Value
from sixd.codegen.llvm.machine import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    FLAGS,
    NDIM,
    PAYLOAD,
    SHAPE,
    TYPE,
    TYPE_NUMBER,
    offset,
)
from sixd.codegen.llvm.rolled import call_rolled, is_large
from sixd.codegen.llvm.rows import Entries
from sixd.trace.program import Program, Slot

INT = Type("i32")


def emit_entry(program: Program, dtype: str, limit: float, has_fma: bool = True) -> str:
    """The module with ``PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)``."""
    module = Module(has_fma)
    code = Code(module)
    code.first_lines.append(f"  %context = getelementptr i8, ptr %self, i64 {PAYLOAD}")
    _require(code, Value(code, WORD, "%nargs").compare("eq", len(program.inputs)))
    _require(code, Value(code, POINTER, "%kwnames").compare("eq", 0))
    objects = [_load(code, "%args", 8 * k, POINTER) for k in range(len(program.inputs))]
    array_type, descr = _word(code, "array_type"), _word(code, "descr")
    # all classes first: only arrays have the other fields
    for obj in objects:
        _require(code, _load(code, obj.text, TYPE, POINTER).compare("eq", array_type))
    for obj, slot in zip(objects, program.inputs, strict=True):
        _require(code, _load(code, obj.text, DESCR, POINTER).compare("eq", descr))
        _require(code, (_load(code, obj.text, FLAGS, INT) & CONTIGUOUS_ALIGNED).compare("eq", CONTIGUOUS_ALIGNED))
        _require(code, _load(code, obj.text, NDIM, INT).compare("eq", len(slot.shape)))
        shape = _load(code, obj.text, SHAPE, POINTER)
        for k, n in enumerate(slot.shape):
            _require(code, _load(code, shape.text, 8 * k, WORD).compare("eq", n))
    inputs = [_load(code, obj.text, DATA, POINTER) for obj in objects]
    arrays = [_new_array(code, k, slot, dtype) for k, slot in enumerate(program.outputs)]
    outputs = [_load(code, array.text, DATA, POINTER) for array in arrays]

    type = Type(KINDS[dtype])
    if is_large(program):
        suspect: Value | None = call_rolled(code, "row", program, type, limit, inputs, outputs)
    else:
        row = Entries(code, type, program, inputs, outputs, flags=", !invariant.load !1")
        row.fill_zeros()
        suspect = Body(program, code, type, row).write(limit)
    assert suspect is not None
    good = code.label("good")
    code.do(f"br i1 {suspect.text}, label %bad, label %{good}")
    code.begin(good)
    code.do(f"ret {_finish(code, program.outputs, arrays)}")

    code.begin("bad")
    for array in arrays:
        _call(code, "void", "decref", f"{array}")
    code.do("br label %decline")
    code.begin("failed")
    code.do("ret ptr null")
    code.begin("decline")
    fallback = _word(code, "fallback")
    code.do(f"ret {_call(code, 'ptr', 'vectorcall', f'{fallback}, ptr %args, i64 %nargs, ptr %kwnames')}")
    module.define("entry", "ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind", code)
    return str(module)


def _new_array(code: Code, k: int, slot: Slot, dtype: str) -> Value:
    """A new array for an output."""
    n = len(slot.shape)
    numbers = ", ".join(f"i64 {m}" for m in slot.shape)
    code.module.define_raw(f"@shape{k} = private unnamed_addr constant [{n} x i64] [{numbers}]")
    kind = f"{_word(code, 'array_type')}, i32 {n}, ptr @shape{k}, i32 {TYPE_NUMBER[dtype]}"
    return _checked(code, _call(code, "ptr", "array_new", f"{kind}, ptr null, ptr null, i32 0, i32 0, ptr null"))


def _finish(code: Code, slots: tuple[Slot, ...], arrays: list[Value]) -> Value:
    """The object to return: arrays of no dimension become scalars, several outputs a tuple."""
    results = [
        array if slot.shape else _call(code, "ptr", "array_return", f"{array}")
        for slot, array in zip(slots, arrays, strict=True)
    ]
    if len(results) == 1:
        return results[0]
    pack = _checked(code, _call(code, "ptr", "tuple_new", f"i64 {len(results)}"))
    for k, result in enumerate(results):
        _call(code, "i32", "tuple_set", f"{pack}, i64 {k}, {result}")
    return pack


def _require(code: Code, condition: Value) -> None:
    """Continue if the condition holds, else go to the fallback."""
    after = code.label("ok")
    code.do(f"br {condition}, label %{after}, label %decline")
    code.begin(after)


def _checked(code: Code, pointer: Value) -> Value:
    """The pointer; if it is null, Python has set an error, which is passed on."""
    after = code.label("ok")
    code.do(f"br {pointer.compare('eq', 0)}, label %failed, label %{after}")
    code.begin(after)
    return pointer


def _load(code: Code, base: str, byte: int, type: Type) -> Value:
    return code.load(type, code.at(base, byte), "align 4")


def _word(code: Code, name: str) -> Value:
    return _load(code, "%context", offset(name), POINTER)


def _call(code: Code, returns: str, name: str, arguments: str) -> Value:
    """Call a function of the context."""
    function = _word(code, name)
    call = f"call {returns} {function.text}({arguments})"
    if returns == "void":
        code.do(call)
        return function
    return code.emit(Type(returns), call)
