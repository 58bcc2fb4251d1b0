"""A loop over time around a recipe: rollouts of many rows, with the arrays of a vector of rows in one block of memory.

The inner loop of a generalised ufunc ``(),(r),(state)…,(constant)…,(r,series)…->(state) or (r,recorded)…``: the number
of records, the number of steps before each of them, and the arrays that the recipe is given; its outputs, those that
are recorded with an entry for each record. Each entry of the memory is a vector, one row per lane; rows are transposed
only when they are read and recorded.
"""

from __future__ import annotations

import math
from itertools import accumulate

from sixd.codegen.llvm.body import KINDS, Body
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, Code, Module, Type, Value
from sixd.codegen.llvm.loop import define_loop, row_addresses
from sixd.codegen.llvm.rolled import define_rolled, entries_memory, is_large
from sixd.codegen.llvm.rows import Entries, load_tile, rows_of_tile, store_rows, tiles
from sixd.trace.program import Program
from sixd.trace.stages import Recipe, Work

# operations of a program of a step from which on it is rolled: the step back of a floating anymal, with 10,600, would
# take 1.25 times as long
ROLLED_FROM = 12_000
HEAD = 2  # arrays before those of the recipe: the number of records, and the steps before each


def emit_rollout(recipe: Recipe, dtype: str, lanes: int, has_fma: bool = True) -> str:
    """The LLVM module with ``loop``."""
    module = Module(has_fma)
    type = Type(KINDS[dtype], lanes)
    _Roll(Works(module, recipe, type)).define()
    define_loop(module, HEAD + len(recipe.given) + len(recipe.outputs), lanes, {})
    return str(module)


def _define_program(module: Module, program: Program, type: Type, name: str) -> None:
    """Define ``void name(ptr in0, …, ptr out0, …, ptr context)``: a program on a vector of rows."""
    code = Code(module)
    inputs = [Value(code, POINTER, f"%in{k}") for k in range(len(program.inputs))]
    outputs = [Value(code, POINTER, f"%out{k}") for k in range(len(program.outputs))]
    # every entry of the memory is a vector
    if is_large(program, ROLLED_FROM):
        define_rolled(module, f"{name}.rolled", program, type, None, entries_memory(program, type))
        code.do(f"%arrays = alloca [{max(len(inputs) + len(outputs), 1)} x ptr], align 8")
        for k, array in enumerate([*inputs, *outputs]):
            code.do(f"store {array}, {code.at('%arrays', 8 * k)}, align 8")
        code.emit(Type("i1"), f"call i1 @{name}.rolled(ptr %arrays, ptr %context, i1 false)")
    else:
        entries = Entries(code, type, program, inputs, outputs)
        entries.fill_zeros()
        Body(program, code, type, entries).write(None)
    code.do("ret void")
    arguments = ", ".join([*map(str, inputs), *(f"ptr noalias {x.text}" for x in outputs), "ptr %context"])
    module.define(name, f"internal void @{name}({arguments}) noinline {ATTRIBUTES}", code)


class Works:
    """The calls of a recipe in a function, and its arrays in the function's memory, where every entry is a vector.

    Defines the programs in the module; ``code`` is that of the function.
    """

    def __init__(self, module: Module, recipe: Recipe, type: Type) -> None:
        self.module, self.recipe, self.type = module, recipe, type
        self.code = Code(module)
        self.names: dict[int, str] = {}
        for work in recipe.works:
            if id(work.program) not in self.names:
                self.names[id(work.program)] = name = f"program{len(self.names)}"
                _define_program(module, work.program, type, name)
        self.count = {name: math.prod(shape) for name, shape in recipe.memory.items()}
        *starts, end = accumulate(self.count.values(), initial=0)
        self.start = dict(zip(self.count, starts, strict=True))
        # beyond the memory: the results of a repeated program, which then replace its own inputs
        repeated = [sum(self.count[name] for name in work.outputs) for work in recipe.works if work.most > 1]
        self.spare, self.end = end, end + max(repeated, default=0)
        self.code.first_lines.append(f"  %memory = alloca [{self.end * type.bytes} x i8], align {type.bytes}")

    def at(self, entry: int) -> Value:
        """The address of an entry of the memory."""
        return self.code.at("%memory", entry * self.type.bytes)

    def get(self, entry: int) -> Value:
        """The value of an entry."""
        return self.code.load(self.type, self.at(entry), f"align {self.type.bytes}")

    def put(self, value: Value, entry: int) -> None:
        """Set the value of an entry."""
        self.code.do(f"store {value}, {self.at(entry)}, align {self.type.bytes}")

    def read(self, k: int, name: str, record: Value | int = 0) -> None:
        """Read an array of all rows from a record of array k of the function."""
        rows, size = row_addresses(self.code, k, self.type.lanes), Type(self.type.kind).bytes
        rows = [self.code.at(row, record * (self.count[name] * size)) for row in rows]
        for first, width in tiles(self.count[name], self.type.lanes):
            for j, value in enumerate(load_tile(self.code, rows, self.type, width, first * size, size)):
                self.put(value, self.start[name] + first + j)

    def write(self, k: int, name: str, record: Value | int) -> None:
        """Write an array of all rows to a record of array k of the function."""
        rows, size = row_addresses(self.code, k, self.type.lanes), Type(self.type.kind).bytes
        addresses = [self.code.at(row, record * (self.count[name] * size)) for row in rows]
        for first, width in tiles(self.count[name], self.type.lanes):
            columns = [self.get(self.start[name] + first + j) for j in range(width)]
            parts = zip(addresses, rows_of_tile(self.code, columns), strict=True)
            store_rows(self.code, [(row, first * size, x) for row, x in parts], f"align {size}")

    def copy(self, sources: tuple[str, ...], targets: tuple[str, ...]) -> None:
        """Copy arrays; all are read before any is written, since a state may be the next value of another."""
        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
        values = [[self.get(self.start[s] + j) for j in range(self.count[s])] for s, _ in pairs]
        for (_, target), column in zip(pairs, values, strict=True):
            for j, value in enumerate(column):
                self.put(value, self.start[target] + j)

    def _move(self, sources: list[int], targets: list[int], sizes: list[int]) -> None:
        """Copy as many arrays as there are targets, from their first entries on."""
        for source, target, size in zip(sources, targets, sizes, strict=False):
            for j in range(size):
                self.put(self.get(source + j), target + j)

    def _call(self, work: Work, inputs: list[int], outputs: list[int]) -> None:
        addresses = ", ".join(str(self.at(entry)) for entry in (*inputs, *outputs))
        self.code.do(f"call void @{self.names[id(work.program)]}({addresses}, ptr %context)")

    def work(self, work: Work) -> None:
        """Append a call."""
        inputs, outputs = ([self.start[n] for n in names] for names in (work.inputs, work.outputs))
        if work.most == 1 and not work.when:
            self._call(work, inputs, outputs)
            return
        code, sizes = self.code, [self.count[n] for n in work.outputs]
        again, after = code.label("again"), code.label("after")
        self._move(inputs, outputs, sizes)
        before = code.block
        if work.when:
            needed = code.any(self.get(self.start[work.when]).compare("une", 0.0))
            code.do(f"br {needed}, label %{again}, label %{after}")
        else:
            code.do(f"br label %{again}")
        code.begin(again)
        if work.most == 1:
            self._call(work, inputs, outputs)
            code.do(f"br label %{after}")
            code.begin(after)
            return
        # the outputs hold the iterated values; the program writes beyond the memory, and its results are copied back
        turn = code.emit(WORD, f"phi i64 [ 0, %{before} ], [ %{again}_next, %{again} ]")
        spare = [self.spare + sum(sizes[:k]) for k in range(len(sizes))]
        self._call(work, [*outputs, *inputs[len(outputs) :]], spare)
        self._move(spare, outputs, sizes)
        code.do(f"%{again}_next = add {turn}, 1")
        left = code.any(self.get(outputs[-1]).compare("une", 1.0))
        more = left & Value(code, WORD, f"%{again}_next").compare("slt", work.most)
        code.do(f"br {more}, label %{again}, label %{after}")
        code.begin(after)


class _Roll:
    """Writes ``i1 vector(ptr rows_of, ptr context, i1 direct)``: the whole rollout of a vector of rows."""

    def __init__(self, works: Works) -> None:
        self.works, self.code, self.recipe, self.type = works, works.code, works.recipe, works.type
        self.size = Type(works.type.kind).bytes

    def define(self) -> None:
        """Add the function to the module."""
        code, recipe = self.code, self.recipe
        fixed = len(recipe.given) - len(recipe.series)
        for k, name in enumerate(recipe.given[:fixed]):
            self.works.read(HEAD + k, name)
        records = self._number(code.load(POINTER, code.at("%rows_of", 0), "align 8"))
        counts = code.load(POINTER, code.at("%rows_of", 8 * self.type.lanes), "align 8")
        code.do(f"br {records.compare('sgt', 0)}, label %record, label %done")

        code.begin("record")
        record = code.emit(WORD, "phi i64 [ 0, %entry ], [ %record_next, %write ]")
        at = records - 1 - record if recipe.backwards else record
        for k, name in enumerate(recipe.series):
            self.works.read(HEAD + fixed + k, name, at)
        steps = self._number(code.at(counts, at * self.size))
        code.do(f"br {steps.compare('sgt', 0)}, label %steps, label %write")
        code.begin("steps")
        step = code.emit(WORD, "phi i64 [ 0, %record ], [ %step_next, %stepped ]")
        for work in recipe.works:
            self.works.work(work)
        self.works.copy(recipe.results, recipe.state)
        code.do("br label %stepped")
        code.begin("stepped")
        code.do(f"%step_next = add {step}, 1")
        code.do(f"br {Value(code, WORD, '%step_next').compare('slt', steps)}, label %steps, label %write")

        code.begin("write")
        targets = {name: HEAD + len(recipe.given) + k for k, name in enumerate(recipe.outputs)}
        for name, k in targets.items():
            if recipe.outputs[name]:
                self.works.write(k, name, at)
        code.do(f"%record_next = add {record}, 1")
        code.do(f"br {Value(code, WORD, '%record_next').compare('slt', records)}, label %record, label %done")
        code.begin("done")
        for name, k in targets.items():
            if not recipe.outputs[name]:
                self.works.write(k, name, 0)
        code.do("ret i1 false")
        head = "internal i1 @vector(ptr %rows_of, ptr %context, i1 %direct) noinline"
        self.works.module.define("vector", f"{head} {ATTRIBUTES}", code)

    def _number(self, address: Value) -> Value:
        """The whole number at an address, stored as a float."""
        return self.code.emit(
            WORD, f"fptosi {self.code.load(Type(self.type.kind), address, f'align {self.size}')} to i64"
        )
