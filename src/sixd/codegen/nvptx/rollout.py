"""The kernel of a recipe: every thread rolls out its own row, all steps and records in one launch.

``kernel(a0, a1, …, r0, r1, …, n, records, to_first, to_each, to_last, count)`` has the addresses of the recipe's inputs
and outputs, the distances of their rows [entries] (0 repeats one row for all), the number of rows, that of
records, the numbers of steps to the first record, to each other and to the last one (``to_last`` if there is one
record), and the address of a count on the device, to which it adds the number of rows whose guard is not 1. An array's
records lie one after the other in each row. Arrays do not overlap, except that a state of which only the last value is
returned may be in the memory of the initial one. Blocks are whole warps.

The arrays of a step are in registers where the programs that use them are written into the kernel.
"""

from __future__ import annotations

import math
from collections import Counter

from sixd.codegen.llvm.body import KINDS, Body, Memory, angles_of
from sixd.codegen.llvm.ir import WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.recipes.programs import ROLLED_FROM
from sixd.codegen.llvm.recipes.rollout import divided, write_rollout
from sixd.codegen.llvm.recipes.works import Works
from sixd.codegen.llvm.rolled import is_large
from sixd.codegen.nvptx.kernel import MOST_ANGLES, find_row, order_of
from sixd.codegen.nvptx.reciprocal import reciprocal
from sixd.codegen.nvptx.records import ArrayRecords, tile_bytes
from sixd.trace.program import Program
from sixd.trace.recipe import Recipe, calls_in

# operations of a program, times its calls in a step, up to which they are written into the kernel. Steps a second in
# float64 on an H200: of a six-joint arm 1.07e10, with calls 4.2e9; of a quadruped on ground 1.54e8 and 1.37e8
INLINED = 12_000
FEW = 250  # live values


def emit_rollout_kernel(recipe: Recipe, dtype: str) -> str:
    """The LLVM module of the kernel."""
    # rare functions are called: in a step with several evaluations they would be written several times (RK4 of a
    # six-joint arm in float64 spills 360 bytes so, 1,080 with them)
    module, type = Module(on_gpu=True, reciprocal=reciprocal), Type(KINDS[dtype])
    calls = Counter(id(call.program) for call in calls_in(recipe.works))

    def inlined(program: Program) -> bool:
        return not is_large(program, ROLLED_FROM) and program.operations * calls[id(program)] <= INLINED

    works = Works(module, recipe, type, ArrayRecords, inlined, apart=True, write=_write_body)
    code, arrays = works.code, len(recipe.inputs) + len(recipe.outputs)
    find_row(code, shared_bytes(recipe, dtype))
    write_rollout(works, 0, Value(code, WORD, "%records"), lambda record: _steps_before(code, record))
    code.do("br label %done")
    code.begin("done")
    code.do("ret void")
    numbers = ("n", "records", "to_first", "to_each", "to_last")
    arguments = [
        *(f"ptr noalias %a{k}" for k in range(arrays)), *(f"i64 %r{k}" for k in range(arrays)),
        *(f"i64 %{name}" for name in numbers), "ptr %context",
    ]  # fmt: skip
    module.define_raw("@tiles = external addrspace(3) global [0 x i8], align 16")
    module.define("kernel", f"ptx_kernel void @kernel({', '.join(arguments)}) nounwind", code)
    return str(module)


def shared_bytes(recipe: Recipe, dtype: str) -> int:
    """The shared memory that each warp of the kernel needs [bytes]."""
    sizes = [math.prod(recipe.memory[name]) for name in (*recipe.inputs, *recipe.outputs)]
    return tile_bytes(max(sizes, default=1), Type(KINDS[dtype]))


def waits(recipe: Recipe) -> bool:
    """Whether the threads of a block wait for each other: in steps that consist of parts."""
    return divided(recipe) is not None


def _write_body(program: Program, code: FunctionBody, type: Type, memory: Memory) -> None:
    """Append the operations of a program, in depth-first order if registers nearly suffice.

    The traced order has fewer live values where entries are loaded when they are needed, but a state that is in
    registers is live all the time. Bytes that are spilled in a step in float64: semi-implicit Euler of a six-joint arm
    540 as traced and 250 depth-first, of a quadruped on ground 11,000 and 12,000, and 15,000 and 19,000 are loaded.
    """
    body = Body(program, code, type, memory, order_of(program, memory, FEW))
    if len(angles_of(program)) <= MOST_ANGLES:
        body.test_angles()
    body.write(None)


def _steps_before(code: FunctionBody, record: Value) -> Value:
    """The number of steps before a record."""
    records, first, each, last = (
        Value(code, WORD, f"%{name}") for name in ("records", "to_first", "to_each", "to_last")
    )
    return record.compare("eq", records - 1).where(last, record.compare("eq", 0).where(first, each))
