"""The code of one row: the function ``entry``, scalar instructions on the data of arrays that were checked before.

Arrays are checked, and results made, by the code in ``sixd.codegen.llvm.shell``, which calls this by a pointer.
"""

from __future__ import annotations

from sixd.codegen.llvm.body import KINDS, Body
from sixd.codegen.llvm.ir import POINTER, Code, Module, Type
from sixd.codegen.llvm.rows import Entries, fill, split_zeros
from sixd.trace.program import Program


def emit_entry(program: Program, dtype: str, limit: float, has_fma: bool = True) -> str:
    """The module with ``bool entry(char **arrays, void *context)``: one row, and whether its result is suspect.

    ``arrays``: the data of the inputs, then of the outputs, which overlap nothing.
    """
    module = Module(has_fma)
    code = Code(module)
    slots = (*program.inputs, *program.outputs)
    data = [code.load(POINTER, code.at("%arrays", 8 * k), "align 8") for k in range(len(slots))]
    inputs, outputs = data[: len(program.inputs)], data[len(program.inputs) :]
    type = Type(KINDS[dtype])
    row = Entries(code, type, program, inputs, outputs, flags=", !invariant.load !1")
    row.outputs, zeros = split_zeros(program, row.outputs)
    for run in zeros:
        fill(code, row.at(outputs, run), type, run[2])
    suspect = Body(program, code, type, row).write(limit, "leave")
    assert suspect is not None
    code.do(f"ret {suspect}")
    code.begin("leave")
    code.do("ret i1 true")
    module.define("entry", "zeroext i1 @entry(ptr %arrays, ptr %context) nounwind", code)
    return str(module)
