"""The kernel of a program: its code for one row, which every thread runs on its own row.

``kernel(a0, a1, …, r0, r1, …, n, count)`` has the addresses of the inputs and outputs, the distances of their rows
[entries] (0 repeats one row for all), the number of rows and the address of a count on the device, to which it adds the
number of suspect rows; strided kernels have after each distance of rows those along the array's core dimensions. Blocks
are whole warps. Inputs and outputs do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixd.codegen.llvm.body import KINDS, Body, Memory, angles_of, most_live, tasks
from sixd.codegen.llvm.ir import WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.rolled import define_rolled, entries_memory, is_large
from sixd.codegen.nvptx.launch import WARP
from sixd.codegen.nvptx.memory import INDEX, SHARED, RowMajorArrays, Shares, Strided
from sixd.codegen.nvptx.reciprocal import reciprocal
from sixd.trace.expr import Expr
from sixd.trace.program import Program, by_visits

FLAG = Type("i1")
# operations of a program that is rolled. A floating humanoid's forward dynamics, 13,500 operations in float64: 2.4e8
# rows a second, 6.8e7 if it is rolled; LLVM and NVIDIA's assembler take 2 s for it
FROM = 20_000
# angles of a program whose rare functions are written into the code: with more they are called. On an H200, written and
# called: ABA of a six-joint arm in float32 1.7e10 and 1.36e10 rows a second, but RNEA of a humanoid with 32 joints in
# float64 6.0e8 and 1.30e9, its mass matrix in float32 3.9e8 and 7.8e8. In float64 so few angles are tested together for
# huge ones, with all of them in registers: ABA of a nine-joint arm 2.95e9 instead of 2.5e9, but RNEA of the humanoid
# 1.08e9 instead of 1.28e9. In float32 they are better tested one by one: RNEA of a six-joint arm 3.4e10, not 3.0e10
MOST_ANGLES = 16
# operations of a program, times the bytes of a number, from which on its code is compact: sine and cosine, rare
# functions and copies of tiles are called. What matters is whether the code, 16 bytes an instruction, fits in the 128
# kB of an SM's cache. Rows a second, written and called: ABA of the humanoid in float32 (150 and 124 kB) 1.13e9 and
# 2.0e9, in float64 (238 and 166 kB) 2.6e8 and 4.0e8; RNEA in float64 (144 and 84 kB) 9.6e8 and 1.86e9, but in float32
# (89 and 74 kB) 3.9e9 and 3.7e9; mass matrix in float64 2.5e8 and 3.45e8; ABA of a floating quadruped in float64 1.2e9
# and 2.1e9, but in float32 4.2e9 and 3.1e9
LARGE = 25_000


def emit_kernel(program: Program, dtype: str, limit: float, layout: str = "rows") -> str:
    """The LLVM module of the kernel. ``layout``: "rows", row-major, or "strided"; large programs have only rows.

    Rows are suspect where the sum of squares of the outputs is above ``limit`` or NaN.
    """
    type = Type(KINDS[dtype])
    large = program.operations * type.bytes > LARGE
    few = len(angles_of(program)) <= MOST_ANGLES and not large
    module = Module(on_gpu=True, reciprocal=reciprocal, calls_rare=not few, calls_angles=large)
    code = FunctionBody(module)
    assert layout == "rows" or can_be_strided(program)
    shared = shared_bytes(program, dtype, layout)
    find_row(code, shared)
    if not can_be_strided(program):
        suspect = _call_rolled(code, program, type, limit)
    else:
        memory = (
            Strided(code, type, program) if layout == "strided" else RowMajorArrays(code, type, program, compact=large)
        )
        memory.begin()
        body = Body(program, code, type, memory, order_of(program, memory))
        body.load(memory.direct)
        if dtype == "float64" and few:
            body.test_angles()
        written = body.write(limit)
        memory.finish()
        assert written is not None
        suspect = written
    if shared:  # threads after the last row compute that again
        suspect = suspect & Value(code, WORD, "%number").compare("slt", Value(code, WORD, "%n"))
    code.do(f"br {suspect}, label %report, label %done, !prof !0")
    code.begin("report")
    code.emit(WORD, "atomicrmw add ptr %context, i64 1 monotonic")
    code.do("br label %done")
    code.begin("done")
    code.do("ret void")
    if shared:
        module.define_raw("@tiles = external addrspace(3) global [0 x i8], align 16")
    arguments = ", ".join([*_parameters(program, layout), "i64 %n", "ptr %context"])
    module.define("kernel", f"ptx_kernel void @kernel({arguments}) nounwind", code)
    return str(module)


def order_of(program: Program, memory: Memory, few: int = 0) -> Sequence[Expr] | None:
    """The order of operations in which fewest values are live: as traced, None for depth-first, or by visits.

    Depth-first is also chosen if at most ``few`` values are live in it. By visits has less to do side by side, and is
    chosen only if it saves a tenth.

    Rows a second on an H200: ABA of a humanoid in float64 by visits and depth-first 3.8e8 and 3.2e8, with 3.3 and 6.3
    kB of a row spilled and loaded again; RNEA of a six-joint arm in float64 as traced and by visits, with as many live,
    1.89e10 and 1.74e10.
    """
    ordered = by_visits(program)
    traced, visits, deep = (
        most_live(tasks(program, memory.inputs, memory.outputs, True, order))
        for order in (program.nodes, ordered, None)
    )
    if deep <= few:
        return None
    if visits < 0.9 * min(traced, deep):
        return ordered
    return program.nodes if traced < deep else None


def can_be_strided(program: Program) -> bool:
    """Whether there is a kernel for strided arrays: large programs have only rows."""
    return not is_large(program, FROM)


def shared_bytes(program: Program, dtype: str, layout: str) -> int:
    """The shared memory that each warp of the kernel needs [bytes]."""
    return 0 if layout == "strided" or not can_be_strided(program) else Shares(program, Type(KINDS[dtype])).bytes


def _parameters(program: Program, layout: str) -> list[str]:
    slots = (*program.inputs, *program.outputs)
    parameters = [f"ptr noalias %a{k}" for k in range(len(slots))]
    for k, slot in enumerate(slots):
        parameters.append(f"i64 %r{k}")
        if layout == "strided":
            parameters += [f"i64 %s{k}_{d}" for d in range(len(slot.shape))]
    return parameters


def find_row(code: FunctionBody, shared: int = 0) -> None:
    """Compute ``%row``; go to ``done`` if there is no work.

    With ``shared`` bytes of shared memory a warp, all threads of a warp go on together.
    """
    block, size, thread = (_register(code, name) for name in ("ctaid.x", "ntid.x", "tid.x"))
    wide = [code.emit(WORD, f"zext {x} to i64") for x in (block, size, thread)]
    n = Value(code, WORD, "%n")
    code.do(f"%number = add {wide[0] * wide[1]}, {wide[2].text}")
    number = Value(code, WORD, "%number")
    if not shared:
        code.do(f"br {number.compare('slt', n)}, label %work, label %done")
        code.begin("work")
        code.do("%row = add i64 %number, 0")
        return
    code.do(f"%lane = and {thread}, {WARP - 1}")
    lane = code.emit(WORD, "zext i32 %lane to i64")
    code.do(f"%first = sub {number}, {lane.text}")
    warp = code.emit(INDEX, f"lshr {thread}, {WARP.bit_length() - 1}") * shared
    offset = code.emit(WORD, f"zext {warp} to i64")
    code.do(f"%tile = getelementptr i8, {SHARED} @tiles, {offset}")
    code.do(f"br {Value(code, WORD, '%first').compare('slt', n)}, label %work, label %done")
    code.begin("work")
    code.do(f"%row = call i64 @llvm.smin.i64({number}, {n - 1})")
    left = code.intrinsic("smin", n - Value(code, WORD, "%first"), code.const(WARP, WORD))
    code.do(f"%last = trunc {left - 1} to i32")  # row of the warp


def _register(code: FunctionBody, name: str) -> Value:
    """A special register of the GPU."""
    full = f"@llvm.nvvm.read.ptx.sreg.{name}"
    code.module.declare(f"declare i32 {full}()")
    return code.emit(INDEX, f"call i32 {full}()")


def _call_rolled(code: FunctionBody, program: Program, type: Type, limit: float) -> Value:
    """Call the code of a large program, which finds the addresses of its rows in a table."""
    define_rolled(code.module, "rolled", program, type, limit, entries_memory(program, type))
    count = len(program.inputs) + len(program.outputs)
    code.first_lines.append(f"  %rows_of = alloca [{count} x ptr], align 8")
    rows = RowMajorArrays(code, type, program)
    for k in range(count):
        code.do(f"store {rows.start(k)}, {code.at('%rows_of', 8 * k)}, align 8")
    return code.emit(FLAG, "call i1 @rolled(ptr %rows_of, ptr %context, i1 false)")
