"""The programs of a recipe as functions, or as operations within another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sixd.codegen.llvm.body import Body, Group, Memory
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.rolled import define_rolled, entries_memory, is_large
from sixd.codegen.llvm.rows import Entries
from sixd.trace.program import Program

# operations of a program of a step from which on it is rolled: the step back of a floating anymal, with 10,600, would
# take 1.25 times as long
ROLLED_FROM = 12_000


def write_body(program: Program, code: FunctionBody, type: Type, memory: Memory) -> None:
    """Append the operations of a program."""
    Body(program, code, type, memory).write(None)


def define_program(
    module: Module, program: Program, type: Type, name: str, write: Callable[..., Any], added: tuple[bool, ...]
) -> None:
    """Define ``void name(ptr in0, …, ptr out0, …, ptr context)``: a program on a vector of rows. Results that are
    ``added`` are added to what is there."""
    code = FunctionBody(module)
    inputs = [Value(code, POINTER, f"%in{k}") for k in range(len(program.inputs))]
    outputs = [Value(code, POINTER, f"%out{k}") for k in range(len(program.outputs))]
    if is_large(program, ROLLED_FROM) and not any(added):
        define_rolled(module, f"{name}.rolled", program, type, None, entries_memory(program, type))
        code.do(f"%arrays = alloca [{max(len(inputs) + len(outputs), 1)} x ptr], align 8")
        for k, array in enumerate([*inputs, *outputs]):
            code.do(f"store {array}, {code.at('%arrays', 8 * k)}, align 8")
        code.emit(Type("i1"), f"call i1 @{name}.rolled(ptr %arrays, ptr %context, i1 false)")
    else:
        write_program(code, program, type, inputs, outputs, write, added)
    code.do("ret void")
    arguments = ", ".join([*map(str, inputs), *(f"ptr noalias {x.text}" for x in outputs), "ptr %context"])
    module.define(name, f"internal void @{name}({arguments}) noinline {ATTRIBUTES}", code)


def write_program(
    code: FunctionBody,
    program: Program,
    type: Type,
    inputs: list[Value],
    outputs: list[Value],
    write: Callable[..., Any],
    added: tuple[bool, ...] = (),
) -> None:
    """Append the operations of a program on arrays at these addresses, where every entry is a vector."""
    entries = _AddedEntries(added, code, type, program, inputs, outputs)
    entries.fill_zeros()
    write(program, code, type, entries)


class _AddedEntries(Entries):
    """Access to a program's arrays, of which some outputs are added to what is there."""

    def __init__(self, added: tuple[bool, ...], *arguments: Any) -> None:
        super().__init__(*arguments)
        self.added = {k for k, is_added in enumerate(added) if is_added}
        self.zeros = [group for group in self.zeros if group[0] not in self.added]

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store, or add, the entries of an output's group."""
        if group[0] in self.added:
            first = self.at(self.targets, group)
            places = [self.code.at(first, j * self.type.bytes) for j in range(len(values))]
            align = f"align {self.type.bytes}"
            values = [self.code.load(self.type, at, align) + x for at, x in zip(places, values, strict=True)]
        super().store(group, values, like)
