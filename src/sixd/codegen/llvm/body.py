"""LLVM code of a program: every operation once, one state per vector lane.

It has three forms: ``loop``, the inner loop of a NumPy generalised ufunc, a vector of rows at a time; ``entry``, one
row in scalar code, called from Python; and ``rollout``, a loop over time. All use the same instructions, so that a
row's bits do not depend on its position. Arrays have contiguous cores; rows may have any stride.

Operations come in depth-first order from the outputs, so that few values are live at a time. Code generators take more
than linear time for long code, so ``rolled`` writes large programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from sixd.codegen.llvm.ir import FunctionBody, Type, Value
from sixd.codegen.llvm.vector_math import FUNCTIONS, find_small_angles
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program, Slot, depth_first

# neighbouring entries of an array: its index, the first entry (in code over a table both are values), and how many
Group = tuple[Any, Any, int]
KINDS = {"float64": "double", "float32": "float"}

TABLE: dict[Op, Callable[..., Value]] = {
    Op.ADD: lambda code, a, b: a + b,
    Op.SUB: lambda code, a, b: a - b,
    Op.MUL: lambda code, a, b: a * b,
    Op.DIV: lambda code, a, b: code.divide(a, b),
    Op.NEG: lambda code, a: -a,
    Op.LT: lambda code, a, b: a < b,
    Op.LE: lambda code, a, b: a <= b,
    Op.EQ: lambda code, a, b: a.compare("oeq", b),
    Op.NOT: lambda code, a: ~a,
    Op.AND: lambda code, a, b: a & b,
    Op.OR: lambda code, a, b: a | b,
    Op.SELECT: lambda code, c, a, b: c.where(a, b),
    **FUNCTIONS,
}


class Memory(Protocol):
    """Access to a row's entries: groups of entries are loaded and stored together."""

    inputs: list[Group]
    outputs: list[Group]

    def fill_zeros(self) -> None:
        """Fill the long runs of zeros in outputs, which are not in groups."""

    def load(self, group: Group) -> list[Value]:
        """Load the entries of an input's group."""

    def alike(self, group: Group) -> object:
        """Equal for the groups of one width that the same code can store."""

    def store(self, group: Group, values: list[Value], like: Group | None = None) -> None:
        """Store the entries of an output's group; if the group has values, ``like`` is one that is alike."""


class Body:
    """Writes the operations of a program between loads and stores. A product that only a sum uses is fused with it.

    ``order``: the nodes in the order of their operations, depth-first if omitted.
    """

    def __init__(
        self, program: Program, code: FunctionBody, type: Type, memory: Memory, order: Sequence[Expr] | None = None
    ) -> None:
        self.program, self.code, self.type, self.memory, self.order = program, code, type, memory, order
        self.values: dict[int, Value] = {}
        self.loaded: dict[Group, list[Value]] = {}

    def write(self, limit: float | None) -> Value | None:
        """Append all operations and return whether a row is suspect: a truth value that holds where the sum of the
        squares of all outputs, and of the weighted sum of the watched nodes, exceeds ``limit`` or is NaN. Without a
        limit return None."""
        code = self.code
        outputs = {e.index for slot in self.program.outputs for e in slot.entries}
        weights = {node.index: weight for node, weight in self.program.watched if limit is not None}
        squares, watched = code.const(0.0, self.type), code.const(0.0, self.type)
        for task in tasks(self.program, self.memory.inputs, self.memory.outputs, code.module.has_fma, self.order):
            for node, value in zip(task.gives, self._do(task), strict=True):
                self.values[node.index] = value
                if limit is not None and node.index in outputs:
                    squares = code.fma(value, value, squares)
                if node.index in weights:
                    watched = code.fma(value, code.const(weights[node.index], self.type), watched)
        if weights:
            squares = code.fma(watched, watched, squares)
        return None if limit is None else squares.compare("ugt", limit)

    def _do(self, task: ScheduledTask) -> list[Value]:
        if task.node is not None:
            return [self._operation(task.node, task.product)]
        assert task.group is not None
        if task.gives:
            entries = _entries(self.program.inputs, task.group)
            loaded = dict(zip(entries, self._load(task.group), strict=True))
            return [loaded[e] for e in task.gives]
        self.memory.store(task.group, [self._value(e) for e in _entries(self.program.outputs, task.group)])
        return []

    def load(self, groups: Sequence[Group]) -> None:
        """Append the loads of groups of inputs here, not where they are first needed."""
        for group in groups:
            self._load(group)

    def _load(self, group: Group) -> list[Value]:
        if group not in self.loaded:
            self.loaded[group] = self.memory.load(group)
        return self.loaded[group]

    def test_angles(self) -> None:
        """Append one test of whether an input whose sine or cosine is needed is huge, instead of one test for each."""
        angles, tested = angles_of(self.program), []
        for group in self.memory.inputs:
            needed = [e.index in angles for e in _entries(self.program.inputs, group)]
            if any(needed):
                tested += [x for x, is_angle in zip(self._load(group), needed, strict=True) if is_angle]
        if tested:
            find_small_angles(self.code, *tested)

    def _value(self, node: Expr) -> Value:
        return self.code.const(node.value, self.type) if node.op is Op.CONST else self.values[node.index]

    def _operation(self, node: Expr, product: Expr | None) -> Value:
        if product is None:
            return TABLE[node.op](self.code, *(self._argument(node, k) for k in range(len(node.args))))
        a, b = map(self._value, product.args)
        left, right = node.args
        is_left = product is left
        return fuse(self.code, node.op, a, b, self._value(right if is_left else left), is_left=is_left)

    def _argument(self, node: Expr, k: int) -> Value:
        a = node.args[k]
        if a.op is Op.CONST and node.op.argument_boolean(k):
            return self.code.const(a.value, self.type.of("i1"))
        return self._value(a)


def fuse(code: FunctionBody, op: Op, a: Value, b: Value, c: Value, *, is_left: bool) -> Value:
    """The sum or difference of a b and c, rounded once; ``is_left``: a b is the first argument."""
    if is_left:
        return code.fma(a, b, c if op is Op.ADD else -c)
    return code.fma(a if op is Op.ADD else -a, b, c)


# tasks and their order -----------------------------------------------------------------------------


class ScheduledTask(NamedTuple):
    """An operation (``node``), or the load or store of a group of entries; the values it needs and gives.

    ``product`` is the argument of a sum or difference that is fused with it, because nothing else uses it.
    """

    node: Expr | None
    group: Group | None
    needs: tuple[Expr, ...]
    gives: tuple[Expr, ...]
    product: Expr | None = None


def tasks(
    program: Program,
    inputs: Sequence[Group],
    outputs: Sequence[Group],
    fuse: bool,
    order: Sequence[Expr] | None = None,
) -> list[ScheduledTask]:
    """All tasks in order; a group is loaded before its first entry is needed, and stored when it is complete.

    ``order``: the nodes in the order of their operations, depth-first if omitted.
    """
    # outputs from the last to the first: those of a tree's tips need least. A 7-joint arm's mass matrix takes 35 ns a
    # row so, and 42 from the first to the last
    if order is None:
        order = depth_first(program.nodes, (entry for slot in program.outputs for entry in slot.entries))
    products = _fused_products(program, order) if fuse else {}
    absorbed = {p.index for p in products.values()}
    loads, stores = _loads(program, inputs, order), _PendingStores(program, outputs)
    scheduled: list[ScheduledTask] = []
    loaded: set[Group | None] = set()
    for node in order:
        if node.op is Op.INPUT:
            load = loads[node.index]
            if load.group not in loaded:
                scheduled.append(load)
                loaded.add(load.group)
        elif node.op is not Op.CONST and node.index not in absorbed:
            scheduled.append(_operation(node, products.get(node.index)))
        scheduled += stores.completed_by(node)
    return scheduled


def _fused_products(program: Program, order: Sequence[Expr]) -> dict[int, Expr]:
    """By the index of a sum or difference: its first argument that is a product and that nothing else uses."""
    uses = Counter(a.index for node in order for a in node.args)
    uses.update(e.index for slot in program.outputs for e in slot.entries)
    sums = (node for node in order if node.op in (Op.ADD, Op.SUB))
    products = {node.index: [a for a in node.args if a.op is Op.MUL and uses[a.index] == 1] for node in sums}
    return {index: args[0] for index, args in products.items() if args}


def _loads(program: Program, groups: Sequence[Group], order: Sequence[Expr]) -> dict[int, ScheduledTask]:
    """By the index of an input: the load of its group."""
    live = {node.index for node in order}
    loads: dict[int, ScheduledTask] = {}
    for group in groups:
        entries = tuple(e for e in _entries(program.inputs, group) if e.index in live)
        loads |= dict.fromkeys((e.index for e in entries), ScheduledTask(None, group, (), entries))
    return loads


def _operation(node: Expr, product: Expr | None) -> ScheduledTask:
    """The task of an operation, fused with a product if there is one."""
    args = [x for a in node.args for x in (a.args if a is product else (a,))]
    return ScheduledTask(node, None, tuple(a for a in args if a.op is not Op.CONST), (node,), product)


class _PendingStores:
    """The stores of groups of outputs; each is due when the last of its entries is known."""

    def __init__(self, program: Program, groups: Sequence[Group]) -> None:
        self._program = program
        self._waiting: dict[int, list[Group]] = {}  # by the index of an entry
        self._missing: Counter[Group] = Counter()  # entries of each group that are not known yet
        for group in groups:
            for index in {e.index for e in _entries(program.outputs, group)}:
                self._waiting.setdefault(index, []).append(group)
                self._missing[group] += 1

    def completed_by(self, node: Expr) -> Iterator[ScheduledTask]:
        """The stores that are due once a node is known."""
        for group in self._waiting.get(node.index, ()):
            self._missing[group] -= 1
            if not self._missing[group]:
                needs = tuple(e for e in _entries(self._program.outputs, group) if e.op is not Op.CONST)
                yield ScheduledTask(None, group, needs, ())


def most_live(scheduled: Sequence[ScheduledTask]) -> int:
    """The largest number of values that are live at a time in a list of tasks."""
    last = {a.index: k for k, task in enumerate(scheduled) for a in task.needs}
    live: set[int] = set()
    most = 0
    for k, task in enumerate(scheduled):
        live.update(e.index for e in task.gives)
        most = max(most, len(live))
        live.difference_update(a.index for a in task.needs if last[a.index] == k)
    return most


def angles_of(program: Program) -> set[int]:
    """The indices of the inputs of which a program has the sine, cosine or tangent."""
    periodic = (Op.SIN, Op.COS, Op.TAN)
    return {n.args[0].index for n in program.nodes if n.op in periodic and n.args[0].op is Op.INPUT}


def _entries(slots: Sequence[Slot], group: Group) -> tuple[Expr, ...]:
    k, first, width = group
    return slots[k].entries[first : first + width]
