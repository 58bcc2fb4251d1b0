"""The way from a Python call to compiled code: functions in CPython's vectorcall convention, for all routines.

``call`` serves an object that is bound to one plan, such as a kernel; ``front`` a public function, which finds the plan
by its first argument, the system, and by its choice (a frame), if it has one. Arguments may be passed by name. Declined
calls go to a fallback, a Python callable.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.evaluation import DECLINED, FLAG, define_evaluate, read
from sixd.codegen.llvm.ir import POINTER, WORD, FunctionBody, Module, Value
from sixd.codegen.llvm.machine import CALL, FRONT, MOST_ARRAYS, OBJECT, SLOT, slot_of

HEAD = "(ptr %self, ptr %args, i64 %n, ptr %names) nounwind"


def emit_shell() -> str:
    """The module with ``call`` and ``front``, each ``PyObject *f(PyObject *self, PyObject **args, size_t n, PyObject
    *names)``."""
    module = Module()
    define_evaluate(module)
    _define_arrange(module)
    _define_call(module)
    _define_front(module)
    return str(module)


def _define_call(module: Module) -> None:
    code = FunctionBody(module)
    plan = read(code, "%self", OBJECT["words"], POINTER)
    arguments, out, *_ = _arguments(code, plan)
    _evaluate(code, plan, plan, arguments, out)
    module.define("call", f"ptr @call{HEAD}", code)


def _define_front(module: Module) -> None:
    code = FunctionBody(module)
    front = read(code, "%self", OBJECT["words"], POINTER)
    arguments, out, *options = _arguments(code, front)
    # functions without a choice have the system there as well
    keys = [read(code, arguments), read(code, code.at(arguments, _word(code, front, "choice") * 8)), *options]
    place = slot_of(*keys) & _word(code, front, "mask")
    slot = code.at(_pointer(code, front, "table"), place * (8 * len(SLOT)))
    for k, key in enumerate(keys):
        code.leave_if(read(code, slot, 8 * k).compare("ne", key), "decline")
    _evaluate(code, front, read(code, slot, 8 * SLOT.index("plan"), POINTER), code.at(arguments, 8), out)
    module.define("front", f"ptr @front{HEAD}", code)


def _arguments(code: FunctionBody, words: Value) -> tuple[Value, ...]:
    """The address of the arguments in their order; ``out``, which may be null; the options."""
    code.do(f"%full = alloca [{MOST_ARRAYS + 4} x ptr], align 8")
    # the highest bit of n means that args[-1] may be overwritten
    number, names = Value(code, WORD, "%n") & (2**63 - 1), Value(code, POINTER, "%names")
    count = _word(code, words, "arguments")

    def plain() -> Sequence[Value]:
        code.leave_if(number.compare("ne", count), "decline")
        usual = [_word(code, words, f"default{k}") for k in range(2)]
        return [Value(code, POINTER, "%args"), code.const(0, POINTER), *usual]

    def named() -> Sequence[Value]:
        out = code.emit(POINTER, f"call ptr @arrange({words}, ptr %args, {number}, ptr %names, ptr %full)")
        code.leave_if(code.emit(FLAG, f"icmp eq {out}, {DECLINED}"), "decline")
        options = [read(code, code.at("%full", (count + k) * 8)) for k in range(2)]
        return [Value(code, POINTER, "%full"), out, *options]

    return tuple(code.either(names.compare("eq", 0), plain, named))


def _define_arrange(module: Module) -> None:
    """Define ``arrange(words, args, number, names, full)``: write all arguments and options into ``full``, in the order
    of the parameters; return ``out`` (null if it is missing or None), or ``DECLINED``."""
    code = FunctionBody(module)
    words, number, names = (
        Value(code, type, text) for type, text in ((POINTER, "%words"), (WORD, "%number"), (POINTER, "%names"))
    )
    code.do("%target = alloca ptr, align 8")
    count, own, none = (_word(code, words, name) for name in ("arguments", "out", "none"))
    parameters, count_named = _pointer(code, words, "parameters"), read(code, names, OBJECT["length"])
    items = code.at(names, _word(code, words, "items"))
    code.leave_if(number.compare("sgt", count), "decline")  # before it is written to
    code.do("store ptr null, ptr %target, align 8")

    def keep(k: Value, value: Value) -> None:
        code.do(f"store {value}, {code.at('%full', k * 8)}, align 8")

    code.repeat(number, lambda k: keep(k, read(code, code.at("%args", k * 8), 0, POINTER)))
    code.repeat(count - number, lambda k: keep(number + k, code.const(0, POINTER)))
    for k in range(2):
        keep(count + k, _pointer(code, words, f"default{k}"))
    last = count + _word(code, words, "options")

    def one(k: Value) -> None:
        name, value = read(code, code.at(items, k * 8)), read(code, code.at("%args", (number + k) * 8))

        def is_out() -> Sequence[Value]:
            code.do(f"store {value.compare('eq', none).where(code.const(0, WORD), value)}, ptr %target, align 8")
            return []

        def is_argument() -> Sequence[Value]:
            code.do(f"br label %{(top := code.label('search'))}")
            before = code.block
            code.begin(top)
            j = code.emit(WORD, f"phi i64 [ {number.text}, %{before} ], [ %following{k.text[1:]}, %{top}next ]")
            code.leave_if(j.compare("sge", last), "decline")  # unknown, or passed twice
            same = read(code, code.at(parameters, j * 8)).compare("eq", name)
            code.do(f"br {same}, label %{top}done, label %{top}next")
            code.begin(f"{top}next")
            code.do(f"%following{k.text[1:]} = add {j}, 1")
            code.do(f"br label %{top}")
            code.begin(f"{top}done")
            keep(j, value)
            return []

        code.either(name.compare("eq", own), is_out, is_argument)

    code.repeat(count_named, one)
    # all arguments that were not passed by position were passed by name
    code.repeat(
        count - number,
        lambda k: code.leave_if(read(code, code.at("%full", (number + k) * 8)).compare("eq", 0), "decline"),
    )
    code.do(f"ret {read(code, '%target', 0, POINTER)}")
    code.begin("decline")
    code.do(f"ret ptr {DECLINED}")
    head = "internal ptr @arrange(ptr %words, ptr %args, i64 %number, ptr %names, ptr %full) noinline nounwind"
    module.define("arrange", head, code)


def _evaluate(code: FunctionBody, words: Value, plan: Value, arrays: Value, out: Value) -> None:
    """Return the result of ``evaluate``, or of the fallback."""
    result = code.emit(POINTER, f"call ptr @evaluate({plan}, {arrays}, {out})")
    code.leave_if(code.emit(FLAG, f"icmp eq {result}, {DECLINED}"), "decline")
    code.do(f"ret {result}")
    code.begin("decline")
    function, fallback = _pointer(code, words, "vectorcall"), _pointer(code, words, "fallback")
    code.do(f"%declined = call ptr {function.text}({fallback}, ptr %args, i64 %n, ptr %names)")
    code.do("ret ptr %declined")


def _word(code: FunctionBody, words: Value, name: str) -> Value:
    """A word that all callable objects, or those of public functions, have."""
    assert FRONT[: len(CALL)] == CALL
    return read(code, words, 8 * FRONT.index(name))


def _pointer(code: FunctionBody, words: Value, name: str) -> Value:
    return read(code, words, 8 * FRONT.index(name), POINTER)
