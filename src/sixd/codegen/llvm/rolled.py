"""Large programs as LLVM code: one small function per shape of segment, called over a table.

The table has runs one after the other: the number of a function and the number of its rows, then the rows. A loop reads
it and calls the functions, so that for a larger mechanism only the table grows, not the code. Loads of inputs and
stores of outputs are functions with rows as well. Values pass from one function to another in the work memory.

Operations and roundings are those of uncut code, so that the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise

import numpy as np

from sixd.codegen.llvm.body import TABLE, Group, Memory, fuse
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, FunctionBody, Module, Type, Value
from sixd.codegen.llvm.machine import LINE, NO_MEMORY, offset
from sixd.codegen.llvm.rows import Entries
from sixd.spatial.scalar import Array
from sixd.trace.ops import Op
from sixd.trace.program import Program
from sixd.trace.rolling import CONSTANT, INSIDE, OUTSIDE, TRUTH, SegmentShape, roll
from sixd.trace.segments import within

# a program of so many operations is rolled, in tests "always" or "never"; shorter ones run up to a tenth faster uncut
FROM = 10_000
WHEN = "by size"
ON_STACK = 1 << 16  # bytes of work memory; more comes from the heap
_ARGUMENTS = "ptr noalias %work, ptr noalias %row, ptr %rows_of, ptr %context, i1 %direct"
_KNOWN = "align 8, !invariant.load !1"


def is_large(program: Program, least: int | None = None) -> bool:
    """Whether a program is to be rolled; ``least``: from so many operations on, ``FROM`` if omitted."""
    return WHEN == "always" or (WHEN == "by size" and program.operations >= (FROM if least is None else least))


def entries_memory(program: Program, type: Type) -> Callable[[FunctionBody], Memory]:
    """Access to a program's arrays entry by entry, whose addresses are in a table at ``%rows_of``."""

    def memory(code: FunctionBody) -> Memory:
        at = [
            code.load(POINTER, code.at("%rows_of", 8 * k), _KNOWN)
            for k in range(len(program.inputs) + len(program.outputs))
        ]
        return Entries(code, type, program, at[: len(program.inputs)], at[len(program.inputs) :], width=8)

    return memory


def define_rolled(
    module: Module,
    name: str,
    program: Program,
    type: Type,
    limit: float | None,
    memory: Callable[[FunctionBody], Memory],
    together: int = 1,
) -> None:
    """Define ``i1 name(ptr rows_of, ptr context, i1 direct)``, which evaluates a program on a vector of rows.

    ``memory`` gives access to the arrays in a function with these arguments. The result is whether a row is suspect:
    see ``Body.write``; without a limit it is false. ``together``: so many sines of one row are computed in a vector.
    """
    module.effort = 1  # at LLVM's level 2 compiling takes 1.3 times as long, and the code is no faster
    _RolledWriter(module, name, program, type, limit, memory, together).define()


class _RolledWriter:
    """Writes the functions and collects the words of the table."""

    def __init__(
        self, module: Module, name: str, program: Program, type: Type, limit: float | None,
        memory: Callable[[FunctionBody], Memory], together: int,
    ) -> None:  # fmt: skip
        self.module, self.name, self.program, self.type = module, name, program, type
        self.limit, self.memory, self.together = limit, memory, together
        self.rolled = roll(program, fuse=module.has_fma)
        self.functions: dict[str, int] = {}  # their numbers
        self.words: list[int] = []  # in a row of each
        self.table: list[Array] = []
        # behind the values of the program: constant outputs, and the two sums that show whether a row is suspect
        constants = {e.value: None for slot in program.outputs for e in slot.entries if e.op is Op.CONST}
        self.constants = {x: self.rolled.size + k for k, x in enumerate(constants)}
        self.squares = self.rolled.size + len(constants)
        self.weighted = self.squares + 1

    def define(self) -> None:
        """Add the functions, the table, and the loop over it."""
        self._add_constants()
        self._add_inputs()
        self._add_shapes()
        self._add_outputs()
        self._define_loop()

    # functions with rows -------------------------------------------------------------------------------

    def _add(self, name: str, rows: Array, write: Callable[[FunctionBody], None]) -> None:
        """Append calls with these rows (n, words) of the function of that name, which ``write`` writes when it is new.

        Its code finds the row at ``%row``, and the arguments of the whole.
        """
        if name not in self.functions:
            self.functions[name] = len(self.functions)
            self.words.append(rows.shape[1])
            code = FunctionBody(self.module)
            write(code)
            code.do("ret void")
            full = f"{self.name}.{name}"
            self.module.define(full, f"internal void @{full}({_ARGUMENTS}) noinline nounwind {ATTRIBUTES}", code)
        self.table += [np.array([self.functions[name] << 32 | len(rows)], np.uint64), rows.astype(np.uint64).ravel()]

    def _word(self, code: FunctionBody, k: int) -> Value:
        return code.load(WORD, code.at("%row", 8 * k), _KNOWN)

    def _number(self, code: FunctionBody, k: int) -> Value:
        """A constant of the row, in all lanes."""
        one = Type(self.type.kind)
        return code.splat(code.load(one, code.at("%row", 8 * k), _KNOWN), self.type)

    def _bits(self, numbers: Array) -> Array:
        """Numbers as words."""
        with np.errstate(over="ignore"):  # too large for float32: infinite there
            if self.type.kind == "float":
                return np.asarray(numbers, np.float32).view(np.uint32).astype(np.uint64)
        return np.asarray(numbers, float).view(np.uint64)

    def _get(self, code: FunctionBody, address: Value) -> Value:
        return code.load(self.type, address, f"align {self.type.bytes}")

    def _put(self, code: FunctionBody, value: Value, address: Value) -> None:
        code.do(f"store {value}, {address}, align {self.type.bytes}")

    def _at(self, code: FunctionBody, index: int) -> Value:
        """The address of an entry of the work memory."""
        return code.at("%work", index * self.type.bytes)

    def _add_constants(self) -> None:
        """Outputs that are constants."""

        def write(code: FunctionBody) -> None:
            self._put(code, self._number(code, 1), code.at("%work", self._word(code, 0)))

        if self.constants:
            addresses = np.array(list(self.constants.values()), np.uint64) * np.uint64(self.type.bytes)
            self._add("constant", np.column_stack([addresses, self._bits(np.array(list(self.constants)))]), write)

    def _add_inputs(self) -> None:
        """Copy the inputs into the work memory, group by group."""

        def write(code: FunctionBody, k: int, width: int) -> None:
            target = code.at("%work", self._word(code, 1))
            for j, value in enumerate(self.memory(code).load((k, self._word(code, 0), width))):
                self._put(code, value, code.at(target, j * self.type.bytes))

        for (k, width), groups in groupby(self.memory(FunctionBody(self.module)).inputs, key=lambda g: (g[0], g[2])):
            first = np.array([g[1] for g in groups])
            rows = np.column_stack([first, (self.rolled.inputs[k] + first) * self.type.bytes])
            self._add(f"load{k}x{width}", rows, partial(write, k=k, width=width))

    def _add_shapes(self) -> None:
        """The segments in order."""
        shapes, calls = self.rolled.shapes, np.array(self.rolled.calls, int)
        counts = np.array([(s.addresses, s.constants) for s in shapes]).reshape(-1, 2)[calls]
        starts = np.concatenate([[[0, 0]], np.cumsum(counts, axis=0)])
        cuts = [0, *(np.flatnonzero(np.diff(calls)) + 1).tolist(), len(calls)]
        addresses, constants = self.rolled.addresses * self.type.bytes, self._bits(self.rolled.constants)
        for a, b in pairwise(cuts):
            if a < b:
                self._add_calls(calls[a], np.hstack([
                    x[starts[a, k] : starts[b, k]].reshape(b - a, -1).astype(np.uint64)
                    for k, x in enumerate((addresses, constants))
                ]))  # fmt: skip

    def _add_calls(self, number: int, rows: Array) -> None:
        """Calls of a shape; of sines of inputs several at once, if this is code of one row."""
        shape, count = self.rolled.shapes[number], self.together
        if self.type.lanes == 1 < count and _is_sines(shape):
            whole = len(rows) // count * count
            if whole:
                write = partial(self._write_sines, shape=shape, words=rows.shape[1])
                self._add(f"sines{number}", rows[:whole].reshape(whole // count, -1), write)
            rows = rows[whole:]
        if len(rows):
            self._add(f"shape{number}", rows, _ShapeWriter(self, shape).write)

    def _write_sines(self, code: FunctionBody, shape: SegmentShape, words: int) -> None:
        """The sines and cosines of as many angles as a vector has lanes, from as many rows: the bits are the same."""
        vector = Type(self.type.kind, self.together)

        def at(lane: int, base: int, offset: int) -> Value:
            start = code.at("%work", self._word(code, lane * words + base))
            return code.at(start, offset * self.type.bytes)

        angles = code.const(0.0, vector)
        for lane in range(vector.lanes):
            x = self._get(code, at(lane, 0, 0))
            angles = code.emit(vector, f"insertelement {angles}, {x}, i64 {lane}")
        for node, kept in zip(shape.nodes, shape.results, strict=True):
            if kept is None:
                continue
            values = TABLE[node.op](code, angles)
            for lane in range(vector.lanes):
                value = code.emit(self.type, f"extractelement {values}, i64 {lane}")
                self._put(code, value, at(lane, *kept))

    def _add_outputs(self) -> None:
        """Copy the outputs from the work memory, group by group; lines of zeros are not read."""

        def write(code: FunctionBody, like: Group, zeros: Sequence[bool]) -> None:
            addresses = (self._word(code, 2 + j) for j in range(zeros.count(False)))
            values = [
                code.const(0.0, self.type) if is_zero else self._get(code, code.at("%work", next(addresses)))
                for is_zero in zeros
            ]
            self.memory(code).store((self._word(code, 0), self._word(code, 1), len(zeros)), values, like)

        memory, zero = self.memory(FunctionBody(self.module)), self.constants.get(0.0, -1)
        forms: dict[object, int] = {}
        stores: list[tuple[str, Group, list[bool], list[int]]] = []
        for group in memory.outputs:
            k, first, width = group
            entries, at = self.program.outputs[k].entries[first : first + width], self.rolled.outputs[k]
            fixed = [self.constants[e.value] if e.op is Op.CONST else 0 for e in entries]
            at = np.where(at[first : first + width] < 0, fixed, at[first : first + width])
            line = self.type.lanes if self.type.lanes > 1 and width % self.type.lanes == 0 else width
            zeros = np.repeat((at == zero).reshape(-1, line).all(axis=1), line)
            form = forms.setdefault((memory.alike(group), *zeros.tolist()), len(forms))
            row = [k, first, *(at[~zeros] * self.type.bytes).tolist()]
            stores.append((f"store{form}", group, zeros.tolist(), row))
        for name, run in groupby(stores, key=lambda store: store[0]):
            _, groups, flags, rows = zip(*run, strict=True)
            self._add(name, np.array(rows), partial(write, like=groups[0], zeros=flags[0]))

    # the loop over the table ---------------------------------------------------------------------------

    def _define_loop(self) -> None:
        code, end = FunctionBody(self.module), len(self.functions)
        self.table.append(np.array([end << 32], np.uint64))
        self.module.define_raw(_table_text(f"{self.name}.table", np.concatenate(self.table)))
        size = (self.weighted + 1) * self.type.bytes
        on_heap = size > ON_STACK and not self.module.on_gpu
        if not on_heap:
            code.do(f"%work = alloca [{size} x i8], align {LINE}")
        else:
            self._allocate(code, size)
        self.memory(code).fill_zeros()
        for index in (self.squares, self.weighted):
            self._put(code, code.const(0.0, self.type), self._at(code, index))
        code.do("br label %run")
        code.begin("run")
        start, done = code.block, [f"[ %row{k}_next, %call{k} ]" for k in range(end)]
        entry = "got" if on_heap else "entry"
        code.do(f"%head = phi ptr {', '.join([f'[ @{self.name}.table, %{entry} ]', *done])}")
        head = code.load(WORD, Value(code, POINTER, "%head"), _KNOWN)
        number = code.emit(Type("i32"), f"trunc {code.emit(WORD, f'lshr {head}, 32')} to i32")
        count, first = head & 0xFFFFFFFF, code.at("%head", 8)
        code.do(f"switch {number}, label %finish [{' '.join(f'i32 {k}, label %call{k}' for k in range(end))}]")
        for name, k in self.functions.items():
            # a loop of its own for each function: its calls are predicted well
            code.begin(f"call{k}")
            code.do(f"%row{k} = phi ptr [ {first.text}, %{start} ], [ %row{k}_next, %call{k} ]")
            code.do(f"%left{k} = phi i64 [ {count.text}, %{start} ], [ %left{k}_next, %call{k} ]")
            code.do(f"call void @{self.name}.{name}(ptr %work, ptr %row{k}, ptr %rows_of, ptr %context, i1 %direct)")
            code.do(f"%row{k}_next = getelementptr i8, ptr %row{k}, i64 {8 * self.words[k]}")
            code.do(f"%left{k}_next = sub i64 %left{k}, 1")
            more = Value(code, WORD, f"%left{k}_next").compare("ne", 0)
            code.do(f"br {more}, label %call{k}, label %run")
        code.begin("finish")
        suspect = self._suspect(code)
        if on_heap:
            code.do(f"call void {context_word(code, 'free').text}(ptr %memory)")
        code.do(f"ret {suspect}")
        head_text = f"internal i1 @{self.name}(ptr %rows_of, ptr %context, i1 %direct) noinline {ATTRIBUTES}"
        self.module.define(self.name, head_text, code)

    def _allocate(self, code: FunctionBody, size: int) -> None:
        """Work memory from the heap, which begins at a cache line; if there is none, count that and return."""
        code.do(f"%memory = call ptr {context_word(code, 'malloc').text}(i64 {size + LINE})")
        code.do(f"br {Value(code, POINTER, '%memory').compare('eq', 0)}, label %none, label %got")
        code.begin("none")
        code.emit(WORD, f"atomicrmw add {code.at('%context', offset('count'))}, i64 {NO_MEMORY} monotonic")
        code.do("ret i1 true")
        code.begin("got")
        line = (code.emit(WORD, "ptrtoint ptr %memory to i64") + (LINE - 1)) & -LINE
        code.do(f"%work = inttoptr {line} to ptr")

    def _suspect(self, code: FunctionBody) -> Value:
        if self.limit is None:
            return code.const(False, Type("i1"))
        squares = self._get(code, self._at(code, self.squares))
        weighted = self._get(code, self._at(code, self.weighted))
        for slot, at in zip(self.program.outputs, self.rolled.outputs, strict=True):
            for e, index in zip(slot.entries, at.tolist(), strict=True):
                if e.op is Op.INPUT:  # outputs of segments are already in the sum
                    value = self._get(code, self._at(code, index))
                    squares = code.fma(value, value, squares)
        return code.any(code.fma(weighted, weighted, squares).compare("ugt", self.limit))


class _ShapeWriter:
    """Writes the function of a shape."""

    def __init__(self, writer: _RolledWriter, shape: SegmentShape) -> None:
        self.w, self.shape = writer, shape
        self.position = {n.index: k for k, n in enumerate(shape.nodes)}
        self.values: dict[tuple[int, int], Value] = {}  # by (INSIDE, index) or (OUTSIDE + address, offset)
        self.bases: dict[int, Value] = {}

    def write(self, code: FunctionBody) -> None:
        """Append all operations."""
        w, shape = self.w, self.shape
        self.code = code
        for node in within(shape.nodes):
            k = self.position[node.index]
            if k in shape.absorbed:
                continue
            self.values[INSIDE, k] = value = self._operation(k)
            kept = shape.results[k]
            if kept is not None:
                stored = value.where(code.const(1.0, w.type), code.const(0.0, w.type)) if node.op.boolean else value
                w._put(code, stored, self._address(*kept))
        if w.limit is not None:
            self._accumulate(w.squares, [(v, v) for v in (self.values[INSIDE, k] for k in sorted(shape.outputs))])
            self._accumulate(
                w.weighted, [(self.values[INSIDE, k], self._constant(at)) for k, at in shape.watched.items()]
            )

    def _accumulate(self, index: int, factors: list[tuple[Value, Value]]) -> None:
        """Add products to a sum in the work memory."""
        if factors:
            at = self.w._at(self.code, index)
            total = self.w._get(self.code, at)
            for a, b in factors:
                total = self.code.fma(a, b, total)
            self.w._put(self.code, total, at)

    def _operation(self, k: int) -> Value:
        node, which = self.shape.nodes[k], self.shape.products[k]
        if which < 0:
            return TABLE[node.op](self.code, *(self._argument(k, j) for j in range(len(node.args))))
        product = self.position[node.args[which].index]
        a, b = self._argument(product, 0), self._argument(product, 1)
        return fuse(self.code, node.op, a, b, self._argument(k, 1 - which), is_left=which == 0)

    def _argument(self, k: int, j: int) -> Value:
        kind, detail = self.shape.arguments[k][j]
        if kind == CONSTANT:
            return self._constant(detail)
        if kind == TRUTH:
            return self.code.const(detail, self.w.type.of("i1"))
        if (kind, detail) not in self.values:  # of another segment
            value = self.w._get(self.code, self._address(kind - OUTSIDE, detail))
            if self.shape.nodes[k].args[j].op.boolean:
                value = value.compare("une", 0.0)
            self.values[kind, detail] = value
        return self.values[kind, detail]

    def _constant(self, k: int) -> Value:
        return self.w._number(self.code, self.shape.addresses + k)

    def _address(self, base: int, offset: int) -> Value:
        if base not in self.bases:
            self.bases[base] = self.code.at("%work", self.w._word(self.code, base))
        return self.code.at(self.bases[base], offset * self.w.type.bytes)


def _is_sines(shape: SegmentShape) -> bool:
    """Whether a segment has only the sine and cosine of an input, which are not outputs."""
    alone = all(arguments == ((OUTSIDE, 0),) for arguments in shape.arguments)
    return alone and not shape.outputs and all(node.op in (Op.SIN, Op.COS) for node in shape.nodes)


def context_word(code: FunctionBody, name: str) -> Value:
    """A word of the context that is an address."""
    return code.load(POINTER, code.at("%context", offset(name)), "align 8")


def _table_text(name: str, words: Array) -> str:
    """A global of these words; as a text of bytes, which LLVM reads faster than numbers."""
    data = words.astype("<u8").tobytes()
    text = data.hex("\\").upper()
    return f'@{name} = private unnamed_addr constant [{len(data)} x i8] c"\\{text}", align 64'
