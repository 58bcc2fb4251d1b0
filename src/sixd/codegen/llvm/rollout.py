"""A loop over time around a recipe: rollouts of many rows, with the arrays of a vector of rows in one block of memory.

The inner loop of a generalised ufunc ``(),(r),(state)…,(constant)…,(r,series)…->(state) or (r,recorded)…``: the number
of records, the number of steps before each of them, and the inputs of the recipe; then its outputs, with an entry for
each record of those that are recorded. Each entry of the memory is a vector, one row per lane; rows are transposed only
when they are read and recorded.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from sixd.codegen.llvm.body import KINDS, Body, Memory
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.loop import RowAccess, VectorRows, define_loop
from sixd.codegen.llvm.machine import LINE, NO_MEMORY, offset
from sixd.codegen.llvm.rolled import context_word, define_rolled, entries_memory, is_large
from sixd.codegen.llvm.rows import Entries
from sixd.trace.program import Program
from sixd.trace.recipe import ProgramCall, Recipe, Repeated, TableCall, Work, calls_in

# operations of a program of a step from which on it is rolled: the step back of a floating anymal, with 10,600, would
# take 1.25 times as long
ROLLED_FROM = 12_000
_ON_STACK = 1 << 18  # bytes of memory; more comes from the heap: stacks of threads have 512 kB on some systems
_LONG = 64  # entries of an array that is copied in a loop; unrolled, an anymal's tangents take LLVM a minute
HEAD = 2  # arrays before those of the recipe: the number of records, and the steps before each


def emit_rollout(recipe: Recipe, dtype: str, lanes: int, has_fma: bool = True) -> str:
    """The LLVM module with ``loop``."""
    module = Module(has_fma)
    type, one = Type(KINDS[dtype], lanes), Type(KINDS[dtype])
    works = Works(module, recipe, type, may_be_on_heap=True)
    code = works.code

    def number(address: Value) -> Value:
        """The whole number at an address, stored as a float."""
        return code.emit(WORD, f"fptosi {code.load(one, address, f'align {one.bytes}')} to i64")

    records = number(code.load(POINTER, code.at("%rows_of", 0), "align 8"))
    counts = code.load(POINTER, code.at("%rows_of", 8 * lanes), "align 8")
    write_rollout(works, HEAD, records, lambda record: number(code.at(counts, record * one.bytes)))
    works.free()
    code.do("ret i1 false")
    head = "internal i1 @vector(ptr %rows_of, ptr %context, i1 %direct) noinline"
    module.define("vector", f"{head} {ATTRIBUTES}", code)
    define_loop(module, HEAD + len(recipe.inputs) + len(recipe.outputs), lanes, {})
    return str(module)


def _write_body(program: Program, code: FunctionBody, type: Type, memory: Memory) -> None:
    """Append the operations of a program."""
    Body(program, code, type, memory).write(None)


def _define_program(module: Module, program: Program, type: Type, name: str, write: Callable[..., Any]) -> None:
    """Define ``void name(ptr in0, …, ptr out0, …, ptr context)``: a program on a vector of rows."""
    code = FunctionBody(module)
    inputs = [Value(code, POINTER, f"%in{k}") for k in range(len(program.inputs))]
    outputs = [Value(code, POINTER, f"%out{k}") for k in range(len(program.outputs))]
    if is_large(program, ROLLED_FROM):
        define_rolled(module, f"{name}.rolled", program, type, None, entries_memory(program, type))
        code.do(f"%arrays = alloca [{max(len(inputs) + len(outputs), 1)} x ptr], align 8")
        for k, array in enumerate([*inputs, *outputs]):
            code.do(f"store {array}, {code.at('%arrays', 8 * k)}, align 8")
        code.emit(Type("i1"), f"call i1 @{name}.rolled(ptr %arrays, ptr %context, i1 false)")
    else:
        _write_program(code, program, type, inputs, outputs, write)
    code.do("ret void")
    arguments = ", ".join([*map(str, inputs), *(f"ptr noalias {x.text}" for x in outputs), "ptr %context"])
    module.define(name, f"internal void @{name}({arguments}) noinline {ATTRIBUTES}", code)


def _write_program(
    code: FunctionBody,
    program: Program,
    type: Type,
    inputs: list[Value],
    outputs: list[Value],
    write: Callable[..., Any],
) -> None:
    """Append the operations of a program on arrays at these addresses, where every entry is a vector."""
    entries = Entries(code, type, program, inputs, outputs)
    entries.fill_zeros()
    write(program, code, type, entries)


class Works:
    """The calls of a recipe in a function, and its arrays in the function's memory, where every entry is a vector.

    Defines the programs in the module; ``code`` is that of the function. ``rows(code, type)`` makes the access to the
    rows of its arrays. The operations of programs that are ``inlined`` are written at each call; the others are
    functions. ``apart``: each array has a block of memory of its own, so that those that are passed to no function
    can be kept in registers. ``write(program, code, type, memory)`` appends operations.
    """

    def __init__(
        self,
        module: Module,
        recipe: Recipe,
        type: Type,
        rows: Callable[[FunctionBody, Type], RowAccess] = VectorRows,
        inlined: Callable[[Program], bool] = lambda _: False,
        apart: bool = False,
        write: Callable[[Program, FunctionBody, Type, Memory], Any] = _write_body,
        may_be_on_heap: bool = False,
    ) -> None:
        self.module, self.recipe, self.type = module, recipe, type
        self.code, self.write_body = FunctionBody(module), write
        self.rows = rows(self.code, type)
        self.names: dict[int, str] = {}
        self.tables = 0
        in_tables = {id(call.program) for call in calls_in(recipe.works) if isinstance(call, TableCall)}
        for program in recipe.programs:
            if id(program) in in_tables or not inlined(program):
                self.names[id(program)] = name = f"program{len(self.names)}"
                _define_program(module, program, type, name, write)
        self.count = {name: math.prod(shape) for name, shape in recipe.memory.items()}
        *starts, end = accumulate(self.count.values(), initial=0)
        self.start = dict(zip(self.count, starts, strict=True))
        # beyond the memory: the results of a call for a row of a table, which are then added to those of other rows
        added = [call for call in calls_in(recipe.works) if isinstance(call, TableCall) and any(call.added)]
        self.spare = end
        self.end = end + max((sum(len(slot.entries) for slot in call.program.outputs) for call in added), default=0)
        self.blocks = sorted({0, *starts, end}) if apart else [0]
        self.on_heap = may_be_on_heap and self.end * type.bytes > _ON_STACK
        if self.on_heap:
            self._allocate()
            return
        for k, (first, after) in enumerate(pairwise([*self.blocks, self.end])):
            size = (after - first) * type.bytes
            self.code.first_lines.append(f"  %memory{k} = alloca [{size} x i8], align {type.bytes}")

    def _allocate(self) -> None:
        """Take the memory from the heap; if there is none, count that and return."""
        code = self.code
        block = code.emit(
            POINTER, f"call ptr {context_word(code, 'malloc').text}(i64 {self.end * self.type.bytes + LINE})"
        )
        code.do(f"br {block.compare('eq', 0)}, label %none, label %got")
        code.begin("none")
        code.emit(WORD, f"atomicrmw add {code.at('%context', offset('count'))}, i64 {NO_MEMORY} monotonic")
        code.do("ret i1 true")
        code.begin("got")
        line = (code.emit(WORD, f"ptrtoint {block} to i64") + (LINE - 1)) & -LINE
        code.do(f"%memory0 = inttoptr {line} to ptr")
        self.block = block

    def free(self) -> None:
        """Give memory from the heap back."""
        if self.on_heap:
            self.code.do(f"call void {context_word(self.code, 'free').text}({self.block})")

    def at(self, entry: int) -> Value:
        """The address of an entry of the memory."""
        k = bisect(self.blocks, entry) - 1
        return self.code.at(f"%memory{k}", (entry - self.blocks[k]) * self.type.bytes)

    def get(self, entry: int) -> Value:
        """The value of an entry."""
        return self.code.load(self.type, self.at(entry), f"align {self.type.bytes}")

    def put(self, value: Value, entry: int) -> None:
        """Set the value of an entry."""
        self.code.do(f"store {value}, {self.at(entry)}, align {self.type.bytes}")

    def read(self, k: int, name: str, record: Value | int = 0) -> None:
        """Read an array of all rows from a record of array k of the function."""
        for j, value in enumerate(self.rows.load(k, record, self.count[name])):
            self.put(value, self.start[name] + j)

    def write(self, k: int, name: str, record: Value | int) -> None:
        """Write an array of all rows to a record of array k of the function."""
        if self.count[name] >= _LONG and isinstance(self.rows, VectorRows):
            self.rows.store_long(k, record, self.count[name], self.at(self.start[name]))
        else:
            self.rows.store(k, record, self.count[name], lambda j: self.get(self.start[name] + j))

    def copy(self, sources: tuple[str, ...], targets: tuple[str, ...], rows: Value | None = None) -> None:
        """Copy arrays, of these rows alone if given; those that are also targets are read before any is written."""

        def read(source: str, target: str) -> list[Value]:
            new = [self.get(self.start[source] + j) for j in range(self.count[source])]
            return new if rows is None else [rows.where(x, self.get(self.start[target] + j)) for j, x in enumerate(new)]

        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
        early = {s: read(s, t) for s, t in pairs if s in targets}
        long = [(s, t) for s, t in pairs if self.count[s] >= _LONG and s not in early]
        for source, target in long:
            self._copy_long(source, target, rows)
        pairs = [pair for pair in pairs if pair not in long]
        for source, target in pairs:
            for j, value in enumerate(early[source] if source in early else read(source, target)):
                self.put(value, self.start[target] + j)

    def _copy_long(self, source: str, target: str, rows: Value | None) -> None:
        """Copy an array in a loop."""
        code, type, align = self.code, self.type, f"align {self.type.bytes}"
        first, last = self.at(self.start[source]), self.at(self.start[target])

        def one(entry: Value) -> None:
            new = code.load(type, code.at(first, entry * type.bytes), align)
            to = code.at(last, entry * type.bytes)
            code.do(f"store {new if rows is None else rows.where(new, code.load(type, to, align))}, {to}, {align}")

        code.repeat(code.const(self.count[source], WORD), one)

    def _call(self, call: ProgramCall) -> None:
        sources, targets = ([self.at(self.start[name]) for name in names] for names in (call.inputs, call.outputs))
        name = self.names.get(id(call.program))
        if name is not None:
            self.code.do(f"call void @{name}({', '.join(map(str, (*sources, *targets)))}, ptr %context)")
            return
        self.code.memo.clear()  # of blocks that may not have been run
        _write_program(self.code, call.program, self.type, sources, targets, self.write_body)

    def _table(self, call: TableCall) -> None:
        """Append a loop over the rows of a table, which holds the distances of their parts from the arrays [bytes]."""
        code, type, slots = self.code, self.type, call.program.outputs
        moving = [k for k, starts in enumerate(call.starts) if starts is not None]
        columns = [call.starts[k] for k in moving]
        words = [start * type.bytes for row in zip(*columns, strict=True) for start in row]
        table = f"table{self.tables}"
        self.tables += 1
        self.module.define_words(table, words or [0])
        for name, is_added in zip(call.outputs, call.added, strict=True):
            if is_added or call.when:
                self._clear(name)

        def one_row(row: Value) -> None:
            at = [self.at(self.start[name]) for name in (*call.inputs, *call.outputs)]
            for column, k in enumerate(moving):
                entry = code.at(f"@{table}", row * (8 * len(moving)) + 8 * column)
                at[k] = code.at(at[k], code.load(WORD, entry, "align 8, !invariant.load !1"))
            targets, spare = at[len(call.inputs) :], self.spare
            arguments = list(at)
            for k, (slot, is_added) in enumerate(zip(slots, call.added, strict=True)):
                if is_added:
                    arguments[len(call.inputs) + k] = self.at(spare)
                    spare += len(slot.entries)
            name = self.names[id(call.program)]
            code.do(f"call void @{name}({', '.join(map(str, arguments))}, ptr %context)")
            for k, (slot, is_added) in enumerate(zip(slots, call.added, strict=True)):
                for j in range(len(slot.entries) if is_added else 0):
                    target = code.at(targets[k], j * type.bytes)
                    new = code.at(arguments[len(call.inputs) + k], j * type.bytes)
                    align = f"align {type.bytes}"
                    code.do(f"store {code.load(type, target, align) + code.load(type, new, align)}, {target}, {align}")

        def row_if_needed(row: Value) -> None:
            flag = code.load(type, code.at(self.at(self.start[call.when]), row * type.bytes), f"align {type.bytes}")
            needed, after = code.label("needed"), code.label("after")
            code.do(f"br {code.any(flag.compare('une', 0.0))}, label %{needed}, label %{after}")
            code.begin(needed)
            one_row(row)
            code.do(f"br label %{after}")
            code.begin(after)

        code.repeat(code.const(call.rows, WORD), row_if_needed if call.when else one_row)

    def _clear(self, name: str) -> None:
        """Set an array to zero."""
        code, zero = self.code, self.code.const(0.0, self.type)
        address = self.at(self.start[name])

        def clear(entry: Value) -> None:
            code.do(f"store {zero}, {code.at(address, entry * self.type.bytes)}, align {self.type.bytes}")

        code.repeat(code.const(self.count[name], WORD), clear)

    def _loop(self, loop: Repeated) -> None:
        """Append a loop. A row that has ended keeps its values, since its neighbours may go on."""
        code = self.code
        again, after = code.label("again"), code.label("after")
        self.copy(loop.inputs, loop.outputs)
        if loop.tape:
            self.put(code.const(0.0, self.type), self.start[loop.made])
        before, needed = code.block, None
        if loop.when:
            needed = code.any(self.get(self.start[loop.when]).compare("une", 0.0))
        if loop.rewinds:
            one = Type(self.type.kind)  # all rows have the same number
            made = code.load(one, self.at(self.start[loop.made]), f"align {one.bytes}")
            count = code.emit(WORD, f"fptosi {made} to i64")
            needed = count.compare("sgt", 0)
        code.do(f"br label %{again}" if needed is None else f"br {needed}, label %{again}, label %{after}")
        code.begin(again)
        iteration = code.emit(WORD, "phi")
        at = len(code.lines) - 1
        for tape, name in zip(loop.tape, loop.outputs, strict=False):
            self._move(self.at(self.start[name]), self._record(tape, name, iteration), self.count[name])
        for tape, name in loop.rewinds:
            self._move(self._record(tape, name, count - 1 - iteration), self.at(self.start[name]), self.count[name])
        self.works(loop.works)
        self.copy(loop.results, loop.outputs, self._runs(loop))
        following = iteration + 1
        if loop.tape:
            number = code.emit(Type(self.type.kind), f"sitofp {following} to {self.type.kind}")
            self.put(code.splat(number, self.type), self.start[loop.made])
        if loop.rewinds:
            more = following.compare("slt", count)
        elif loop.most > 1:
            runs = self._runs(loop)
            assert runs is not None
            more = code.any(runs) & following.compare("slt", loop.most)
        else:
            more = code.const(False, Type("i1"))
        code.lines[at] = f"  {iteration.text} = phi i64 [ 0, %{before} ], [ {following.text}, %{code.block} ]"
        code.do(f"br {more}, label %{again}, label %{after}")
        code.begin(after)

    def _record(self, tape: str, name: str, k: Value) -> Value:
        """The address of an array in a tape, before iteration k."""
        return self.code.at(self.at(self.start[tape]), k * (self.count[name] * self.type.bytes))

    def _move(self, source: Value, target: Value, count: int) -> None:
        """Copy so many entries."""
        for j in range(count):
            x = self.code.load(self.type, self.code.at(source, j * self.type.bytes), f"align {self.type.bytes}")
            self.code.do(f"store {x}, {self.code.at(target, j * self.type.bytes)}, align {self.type.bytes}")

    def _runs(self, loop: Repeated) -> Value | None:
        """Which rows have not ended; None if no row ever does."""
        runs = None
        if loop.most > 1:
            runs = self.get(self.start[loop.outputs[-1]]).compare("une", 1.0)
        if loop.when:
            wanted = self.get(self.start[loop.when]).compare("une", 0.0)
            runs = wanted if runs is None else runs & wanted
        return runs

    def works(self, works: Sequence[Work]) -> None:
        """Append works in order."""
        for work in works:
            if isinstance(work, ProgramCall):
                self._call(work)
            elif isinstance(work, TableCall):
                self._table(work)
            else:
                self._loop(work)

    def step(self) -> None:
        """Append all calls; after the one that computes the guard, go to ``leave`` if it is not 1."""
        code, guard = self.code, self.recipe.guard
        for work in self.recipe.works:
            self.works([work])
            if guard in work.outputs:
                bad = code.any(self.get(self.start[guard]).compare("une", 1.0))
                code.leave_if(bad, "leave")


def write_rollout(works: Works, first: int, records: Value, steps_before: Callable[[Value], Value]) -> None:
    """Append the whole rollout of a vector of rows; ``first`` is the number of the recipe's first array, and
    ``steps_before(record)`` that of the steps before a record.

    Rows whose guard is not 1 are counted, and their state is NaN.
    """
    code, recipe = works.code, works.recipe
    fixed = len(recipe.inputs) - len(recipe.series)
    for k, name in enumerate(recipe.inputs[:fixed]):
        works.read(first + k, name)

    def write_record(record: Value) -> None:
        at = records - 1 - record if recipe.backwards else record
        for k, name in enumerate(recipe.series):
            works.read(first + fixed + k, name, at)
        code.repeat(steps_before(at), lambda _: _write_step(works))
        for name, k in targets.items():
            if recipe.outputs[name]:
                works.write(k, name, at)

    targets = {name: first + len(recipe.inputs) + k for k, name in enumerate(recipe.outputs)}
    code.repeat(records, write_record)
    for name, k in targets.items():
        if not recipe.outputs[name]:
            works.write(k, name, 0)


def _write_step(works: Works) -> None:
    code, recipe = works.code, works.recipe
    works.step()
    works.copy(recipe.results, recipe.state)
    if not recipe.guard:
        return
    code.do("br label %stepped")
    code.begin("leave")
    code.emit(WORD, f"atomicrmw add ptr %context, {works.rows.count_once()} monotonic")
    for name in recipe.state:
        for j in range(works.count[name]):
            works.put(code.const(math.nan, works.type), works.start[name] + j)
    code.do("br label %stepped")
    code.begin("stepped")
