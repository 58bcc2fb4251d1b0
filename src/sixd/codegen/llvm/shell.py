"""The way from a Python call to compiled code: functions in CPython's vectorcall convention, for all routines.

``call`` serves an object that is bound to one plan, such as a kernel; ``front`` a public function, which finds the plan
by its first argument, the system, and by its choice (a frame), if it has one. Calls that ``evaluate`` declines go to a
fallback, a Python callable.
"""

from __future__ import annotations

from sixd.codegen.llvm.evaluation import DECLINED, FLAG, define_evaluate, read
from sixd.codegen.llvm.ir import POINTER, WORD, Code, Module, Value
from sixd.codegen.llvm.machine import FRONT, OBJECT, PLAN, SLOT, slot_of

HEAD = "(ptr %self, ptr %args, i64 %n, ptr %names) nounwind"


def emit_shell() -> str:
    """The module with ``call`` and ``front``, each ``PyObject *f(PyObject *self, PyObject **args, size_t n, PyObject
    *names)``."""
    module = Module()
    define_evaluate(module)
    _define_call(module)
    _define_front(module)
    return str(module)


def _define_call(module: Module) -> None:
    code = Code(module)
    plan, number = _start(code)
    code.leave_if(number.compare("ne", read(code, plan, 8 * PLAN.index("inputs"))), "decline")
    _evaluate(code, plan, Value(code, POINTER, "%args"), number, plan, PLAN)
    module.define("call", f"ptr @call{HEAD}", code)


def _define_front(module: Module) -> None:
    code = Code(module)
    front, number = _start(code)
    arguments, choice_at, out, mask = (
        read(code, front, 8 * FRONT.index(name)) for name in ("arguments", "choice", "out", "mask")
    )
    code.leave_if(number.compare("ne", arguments), "decline")
    code.leave_if(Value(code, POINTER, "%names").compare("ne", 0) & out.compare("eq", 0), "decline")
    # functions without a choice have the system here, too
    system, choice = read(code, "%args"), read(code, code.at("%args", choice_at * 8))
    table = read(code, front, 8 * FRONT.index("table"), POINTER)
    slot = code.at(table, (slot_of(system, choice) & mask) * (8 * len(SLOT)))
    code.leave_if(read(code, slot, 8 * SLOT.index("system")).compare("ne", system), "decline")
    code.leave_if(read(code, slot, 8 * SLOT.index("choice")).compare("ne", choice), "decline")
    plan = read(code, slot, 8 * SLOT.index("plan"), POINTER)
    _evaluate(code, plan, code.at("%args", 8), number, front, FRONT)
    module.define("front", f"ptr @front{HEAD}", code)


def _start(code: Code) -> tuple[Value, Value]:
    """The words of the called object, and the number of positional arguments."""
    # the highest bit of n says that args[-1] may be overwritten
    return read(code, "%self", OBJECT["words"], POINTER), Value(code, WORD, "%n") & (2**63 - 1)


def _evaluate(code: Code, plan: Value, arrays: Value, number: Value, words: Value, names: tuple[str, ...]) -> None:
    """Return the result of ``evaluate``, or of the fallback that the object's words name."""
    named = code.at("%args", number * 8)
    result = code.emit(POINTER, f"call ptr @evaluate({plan}, {arrays}, {named}, ptr %names)")
    code.leave_if(code.emit(FLAG, f"icmp eq {result}, {DECLINED}"), "decline")
    code.do(f"ret {result}")
    code.begin("decline")
    function, fallback = (read(code, words, 8 * names.index(name), POINTER) for name in ("vectorcall", "fallback"))
    code.do(f"%declined = tail call ptr {function.text}({fallback}, ptr %args, i64 %n, ptr %names)")
    code.do("ret ptr %declined")
