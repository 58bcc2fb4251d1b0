"""The calls, tables and loops of a recipe in a function, and its arrays in the function's memory."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from sixd.codegen.llvm.body import Memory
from sixd.codegen.llvm.ir import POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.loop import RowAccess, VectorRows
from sixd.codegen.llvm.machine import LINE, NO_MEMORY, offset
from sixd.codegen.llvm.recipes.lifetimes import placed
from sixd.codegen.llvm.recipes.programs import define_program, write_body, write_program
from sixd.codegen.llvm.rolled import context_word
from sixd.trace.program import Program
from sixd.trace.recipe import EachRow, ProgramCall, Recipe, Repeated, TableCall, Work, all_works, calls_in, reads_of

_ON_STACK = 1 << 18  # bytes of memory; more comes from the heap: stacks of threads have 512 kB on some systems
_LONG = 64  # entries of an array that is copied in a loop; unrolled, an anymal's tangents take LLVM a minute


class Works:
    """The calls of a recipe in a function, and its arrays in the function's memory, where every entry is a vector.

    Defines the programs in the module; ``code`` is that of the function. ``rows(code, type)`` makes the access to the
    rows of its arrays. The operations of programs that are ``inlined`` are written at each call; the others are
    functions. ``apart``: arrays that are passed to no function have a block of memory of their own, so that they can be
    kept in registers. ``write(program, code, type, memory)`` appends operations.
    """

    def __init__(
        self,
        module: Module,
        recipe: Recipe,
        type: Type,
        rows: Callable[[FunctionBody, Type], RowAccess] = VectorRows,
        inlined: Callable[[Program], bool] = lambda _: False,
        apart: bool = False,
        write: Callable[[Program, FunctionBody, Type, Memory], Any] = write_body,
        may_be_on_heap: bool = False,
    ) -> None:
        self.module, self.recipe, self.type = module, recipe, type
        self.code, self.write_body = FunctionBody(module), write
        self.rows = rows(self.code, type)
        self.names: dict[tuple[int, tuple[bool, ...]], str] = {}
        self.tables = 0
        self.alias: dict[str, Value] = {}  # addresses of rows that arrays are, while works are done for a row
        for call in calls_in(recipe.works):
            is_table = isinstance(call, TableCall)
            if (is_table or not inlined(call.program)) and self._key(call) not in self.names:
                self.names[self._key(call)] = name = f"program{len(self.names)}"
                define_program(module, call.program, type, name, write, self._key(call)[1])
        self.count = {name: math.prod(shape) for name, shape in recipe.memory.items()}
        own = [name for name in self.count if apart and name not in self._passed()]
        self.start, end = placed(recipe, [name for name in self.count if name not in own])
        self.spare, end = end, end + 3  # of ``steps_by_parts``
        starts = list(accumulate((self.count[name] for name in own), initial=end))
        self.start |= dict(zip(own, starts, strict=False))
        self.blocks, self.end = sorted({0, *starts[:-1]}), starts[-1]
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

    @staticmethod
    def _key(call: ProgramCall | TableCall) -> tuple[int, tuple[bool, ...]]:
        """What a function is known by: its program, and which results are added."""
        return id(call.program), call.added if isinstance(call, TableCall) else (False,) * len(call.outputs)

    def _passed(self) -> set[str]:
        """The names of arrays whose addresses are passed to functions, or computed by loops."""
        names: set[str] = set()
        for work in all_works(self.recipe.works):
            if isinstance(work, Repeated):
                names.update(work.tape, *work.rewinds, work.outputs if work.tape else ())
            elif isinstance(work, EachRow):
                names.update((*work.sources, *work.outputs, *([work.when] if work.when else [])))
            elif isinstance(work, TableCall) or self._key(work) in self.names:
                names.update((*work.inputs, *work.outputs, *([work.when] if isinstance(work, TableCall) else [])))
        return names

    def at(self, entry: int) -> Value:
        """The address of an entry of the memory."""
        k = bisect(self.blocks, entry) - 1
        return self.code.at(f"%memory{k}", (entry - self.blocks[k]) * self.type.bytes)

    def place(self, name: str) -> Value:
        """The address of an array: in the memory, or that of the row of another one that it is."""
        return self.alias[name] if name in self.alias else self.at(self.start[name])

    def value(self, name: str, j: int = 0) -> Value:
        """The value of an entry of an array."""
        if name not in self.alias:
            return self.get(self.start[name] + j)
        return self.code.load(
            self.type, self.code.at(self.alias[name], j * self.type.bytes), f"align {self.type.bytes}"
        )

    def get(self, entry: int) -> Value:
        """The value of an entry."""
        return self.code.load(self.type, self.at(entry), f"align {self.type.bytes}")

    def put(self, value: Value, entry: int) -> None:
        """Set the value of an entry."""
        self.code.do(f"store {value}, {self.at(entry)}, align {self.type.bytes}")

    def read(self, k: int, name: str, record: Value | int = 0) -> None:
        """Read an array of all rows from a record of array k of the function."""
        if self.count[name] >= _LONG and isinstance(self.rows, VectorRows):
            self.rows.load_long(k, record, self.count[name], self.place(name))
            return
        for j, value in enumerate(self.rows.load(k, record, self.count[name])):
            self.put(value, self.start[name] + j)

    def write(self, k: int, name: str, record: Value | int) -> None:
        """Write an array of all rows to a record of array k of the function."""
        if self.count[name] >= _LONG and isinstance(self.rows, VectorRows):
            self.rows.store_long(k, record, self.count[name], self.place(name))
        else:
            self.rows.store(k, record, self.count[name], lambda j: self.value(name, j))

    def copy(self, sources: tuple[str, ...], targets: tuple[str, ...], rows: Value | None = None) -> None:
        """Copy arrays, of these rows alone if given; those that are also targets are read before any is written."""

        def read(source: str, target: str) -> list[Value]:
            new = [self.value(source, j) for j in range(self.count[source])]
            return new if rows is None else [rows.where(x, self.value(target, j)) for j, x in enumerate(new)]

        pairs = [
            (s, t) for s, t in zip(sources, targets, strict=True) if s in self.alias or self.start[s] != self.start[t]
        ]
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
        first, last = self.place(source), self.place(target)

        def one(entry: Value) -> None:
            new = code.load(type, code.at(first, entry * type.bytes), align)
            to = code.at(last, entry * type.bytes)
            code.do(f"store {new if rows is None else rows.where(new, code.load(type, to, align))}, {to}, {align}")

        code.repeat(code.const(self.count[source], WORD), one)

    def _call(self, call: ProgramCall) -> None:
        sources, targets = ([self.place(name) for name in names] for names in (call.inputs, call.outputs))
        name = self.names.get(self._key(call))
        if name is not None:
            self.code.do(f"call void @{name}({', '.join(map(str, (*sources, *targets)))}, ptr %context)")
            return
        self.code.memo.clear()  # of blocks that may not have been run
        write_program(self.code, call.program, self.type, sources, targets, self.write_body)

    def _table(self, call: TableCall) -> None:
        """Append a loop over the rows of a table, which holds the distances of their parts from the arrays [bytes]."""
        code = self.code
        moving = [k for k, starts in enumerate(call.starts) if starts is not None]
        part = self._parts([call.starts[k] for k in moving])
        for name, is_added in zip(call.outputs, call.added, strict=True):
            if is_added or call.when:
                self._clear(name)

        def one_row(row: Value) -> None:
            at = [self.place(name) for name in (*call.inputs, *call.outputs)]
            for column, k in enumerate(moving):
                at[k] = part(at[k], row, column)
            code.do(f"call void @{self.names[self._key(call)]}({', '.join(map(str, at))}, ptr %context)")

        self._over_rows(call.rows, call.when, lambda row, _: one_row(row))

    def _parts(self, columns: Sequence[Any]) -> Callable[[Value, Value, int], Value]:
        """A table of where parts of arrays begin, by row; returns the address of the part of a row, from that of the
        array, and the number of its column."""
        words = [start * self.type.bytes for row in zip(*columns, strict=True) for start in row]
        table = f"table{self.tables}"
        self.tables += 1
        self.module.define_words(table, words or [0])

        def part(array: Value, row: Value, column: int) -> Value:
            entry = self.code.at(f"@{table}", row * (8 * len(columns)) + 8 * column)
            return self.code.at(array, self.code.load(WORD, entry, "align 8, !invariant.load !1"))

        return part

    def _over_rows(self, rows: int, when: str, one_row: Callable[[Value, Value | None], None]) -> None:
        """Append a loop over rows; ``one_row`` writes the code of a row, also for the flags of the states that need it.
        Rows that no state needs are left out."""
        code, type = self.code, self.type

        def row_if_needed(row: Value) -> None:
            flag = code.load(type, code.at(self.place(when), row * type.bytes), f"align {type.bytes}")
            needed, after = code.label("needed"), code.label("after")
            wanted = flag.compare("une", 0.0)
            code.do(f"br {code.any(wanted)}, label %{needed}, label %{after}")
            code.begin(needed)
            one_row(row, wanted)
            code.do(f"br label %{after}")
            code.begin(after)

        code.repeat(code.const(rows, WORD), row_if_needed if when else lambda row: one_row(row, None))

    def _each_row(self, loop: EachRow) -> None:
        """Append works for each row of a table."""
        self.copy(loop.inputs, loop.outputs)
        sizes = [self.count[name] for name in (*loop.rows_in, *loop.results)]
        columns = [
            [part * size for part in parts]
            for parts, size in zip((*loop.source_parts, *loop.output_parts), sizes, strict=True)
        ]
        part = self._parts(columns)

        last = loop.works[-1] if loop.works else None
        read = {name for work in loop.works for name in reads_of(work)}

        def one_row(row: Value, wanted: Value | None) -> None:
            for k, (source, name) in enumerate(zip(loop.sources, loop.rows_in, strict=True)):
                self.alias[name] = part(self.place(source), row, k)
            for k, (result, name) in enumerate(zip(loop.results, loop.outputs, strict=True), len(loop.sources)):
                written_last = isinstance(last, ProgramCall) and result in last.outputs and result not in read
                if wanted is None and written_last and loop.results.count(result) == 1:
                    self.alias[result] = part(self.place(name), row, k)
            self.works(loop.works)
            for k, (result, name) in enumerate(zip(loop.results, loop.outputs, strict=True), len(loop.sources)):
                if result not in self.alias or result in loop.rows_in:
                    self._move(self.place(result), part(self.place(name), row, k), self.count[result], wanted)
            for name in (*loop.rows_in, *loop.results):
                self.alias.pop(name, None)

        self._over_rows(loop.rows, loop.when, one_row)

    def _clear(self, name: str) -> None:
        """Set an array to zero."""
        code, zero = self.code, self.code.const(0.0, self.type)
        address = self.place(name)

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
            needed = code.any(self.value(loop.when).compare("une", 0.0))
        if loop.rewinds:
            one = Type(self.type.kind)  # all rows have the same number
            made = code.load(one, self.place(loop.made), f"align {one.bytes}")
            count = code.emit(WORD, f"fptosi {made} to i64")
            needed = count.compare("sgt", 0)
        code.do(f"br label %{again}" if needed is None else f"br {needed}, label %{again}, label %{after}")
        code.begin(again)
        iteration = code.emit(WORD, "phi")
        at = len(code.lines) - 1
        for tape, name in zip(loop.tape, loop.outputs, strict=False):
            self._move(self.place(name), self._record(tape, name, iteration), self.count[name])
        for tape, name in loop.rewinds:
            self._move(self._record(tape, name, count - 1 - iteration), self.place(name), self.count[name])
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
        return self.code.at(self.place(tape), k * (self.count[name] * self.type.bytes))

    def _move(self, source: Value, target: Value, count: int, wanted: Value | None = None) -> None:
        """Copy so many entries, of the states that are ``wanted`` alone if given."""
        code, align = self.code, f"align {self.type.bytes}"
        for j in range(count):
            x = code.load(self.type, code.at(source, j * self.type.bytes), align)
            to = code.at(target, j * self.type.bytes)
            if wanted is not None:
                x = wanted.where(x, code.load(self.type, to, align))
            code.do(f"store {x}, {to}, {align}")

    def _runs(self, loop: Repeated) -> Value | None:
        """Which rows have not ended; None if no row ever does."""
        runs = None
        if loop.most > 1:
            runs = self.value(loop.outputs[-1]).compare("une", 1.0)
        if loop.when:
            wanted = self.value(loop.when).compare("une", 0.0)
            runs = wanted if runs is None else runs & wanted
        return runs

    def steps_by_parts(self, loop: Repeated, steps: Value) -> None:
        """Append so many steps that consist of parts, as one loop over the parts of all steps: a row begins its next
        step while its neighbours are still in theirs.

        What comes before and after the parts of a step is repeated with each of them.
        """
        code, recipe, one = self.code, self.recipe, self.code.const(1.0, self.type)
        before = recipe.works[: recipe.works.index(loop)]
        after = recipe.works[len(before) + 1 :]
        left, new, parts = (self.spare + k for k in range(3))
        number = code.emit(Type(self.type.kind), f"sitofp {steps} to {self.type.kind}")
        self.put(code.splat(number, self.type), left)
        self.put(one, new)
        again, end = code.label("again"), code.label("after")
        code.do(f"br {steps.compare('sgt', 0)}, label %{again}, label %{end}")
        code.begin(again)
        self.works(before)
        begins = self.get(new).compare("une", 0.0)
        self.put(begins.where(0.0, self.get(parts)), parts)
        self.copy(loop.inputs, loop.outputs, begins)
        for work in loop.works:
            self.works([work])
            if isinstance(work, Repeated):
                self.rows.align()
        goes_on = self.get(left).compare("ogt", 0.0)
        self.copy(loop.results, loop.outputs, goes_on)
        count = self.get(parts) + 1.0
        self.put(count, parts)
        flag = self.value(loop.outputs[-1])
        ends = goes_on & (flag.compare("oeq", 1.0) | count.compare("oge", float(loop.most)))
        self.put(ends.where(1.0, code.const(0.0, self.type)), new)
        self.works(after)
        ends = self.get(new).compare("une", 0.0)
        self.copy(recipe.results, recipe.state, ends)
        remain = ends.where(self.get(left) - 1.0, self.get(left))
        self.put(remain, left)
        # a row that has made its last step waits in its state
        self.put(remain.compare("ogt", 0.0).where(self.get(new), one), new)
        code.do(f"br {self.rows.any(remain.compare('ogt', 0.0))}, label %{again}, label %{end}")
        code.begin(end)

    def works(self, works: Sequence[Work]) -> None:
        """Append works in order."""
        for work in works:
            if isinstance(work, ProgramCall):
                self._call(work)
            elif isinstance(work, TableCall):
                self._table(work)
            elif isinstance(work, EachRow):
                self._each_row(work)
            else:
                self._loop(work)

    def step(self) -> None:
        """Append all calls; after the one that computes the guard, go to ``leave`` if it is not 1."""
        code, guard = self.code, self.recipe.guard
        for work in self.recipe.works:
            self.works([work])
            if guard in work.outputs:
                bad = code.any(self.value(guard).compare("une", 1.0))
                code.leave_if(bad, "leave")
