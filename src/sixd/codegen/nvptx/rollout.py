"""The kernel of a recipe: every thread rolls out its own row, all steps and records in one launch.

``kernel(a0, a1, …, r0, r1, …, n, records, first, each, last, count)`` has the addresses of the arrays that are given
and returned, the distances of their rows [entries] (0 repeats one row for all), the number of rows, that of records,
the numbers of steps before the first record, each other and the last one (``last`` if there is one record), and the
address of a count on the device, to which it adds the number of rows whose guard is not 1. An array's records lie one
after the other in each row. Arrays do not overlap, but a state that is returned once may be in the given one's memory.

The arrays of a step are in registers where the programs that use them are written into the kernel.
"""

from __future__ import annotations

from collections import Counter

from sixd.codegen.llvm.body import KINDS
from sixd.codegen.llvm.ir import WORD, Code, Module, Type, Value
from sixd.codegen.llvm.rolled import is_large
from sixd.codegen.llvm.rollout import ROLLED_FROM, Works, write_rollout
from sixd.codegen.nvptx.kernel import find_row, write_body
from sixd.trace.program import Program
from sixd.trace.stages import Recipe

# operations of a program, times its calls in a step, up to which they are written into the kernel
INLINED = 8_000


def emit_rollout_kernel(recipe: Recipe, dtype: str) -> str:
    """The LLVM module of the kernel."""
    module, type = Module(has_heap=False), Type(KINDS[dtype])
    calls = Counter(id(work.program) for work in recipe.works)

    def inlined(program: Program) -> bool:
        return not is_large(program, ROLLED_FROM) and program.operations * calls[id(program)] <= INLINED

    starts: dict[int, Value] = {}
    works = Works(module, recipe, type, lambda _, k: [starts[k]], inlined, apart=True, write=write_body)
    code, arrays = works.code, len(recipe.given) + len(recipe.outputs)
    find_row(code)
    for k in range(arrays):
        distance = Value(code, WORD, "%row") * Value(code, WORD, f"%r{k}")
        starts[k] = code.at(f"%a{k}", distance * type.bytes)
    write_rollout(works, 0, Value(code, WORD, "%records"), lambda record: _steps_before(code, record))
    code.do("br label %done")
    code.begin("done")
    code.do("ret void")
    numbers = ("n", "records", "first", "each", "last")
    arguments = [
        *(f"ptr noalias %a{k}" for k in range(arrays)), *(f"i64 %r{k}" for k in range(arrays)),
        *(f"i64 %{name}" for name in numbers), "ptr %context",
    ]  # fmt: skip
    module.define("kernel", f"ptx_kernel void @kernel({', '.join(arguments)}) nounwind", code)
    return str(module)


def _steps_before(code: Code, record: Value) -> Value:
    """The number of steps before a record."""
    records, first, each, last = (Value(code, WORD, f"%{name}") for name in ("records", "first", "each", "last"))
    return record.compare("eq", records - 1).where(last, record.compare("eq", 0).where(first, each))
