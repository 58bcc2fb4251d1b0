"""The order of tasks in straight-line code: depth first from the outputs, so that few values are live at a time.

Long code is cut into blocks, because code generators take more than linear time for long ones. A value that a later
block needs is passed in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program

Group = tuple[int, int, int]  # neighbouring entries of an array: its index, the first entry, the number of entries


class Task(NamedTuple):
    """An operation (``node``), or the load or store of a group of entries; the values it needs and gives."""

    node: Expr | None
    group: Group | None
    needs: tuple[Expr, ...]
    gives: tuple[Expr, ...]

    @property
    def is_load(self) -> bool:
        """Whether it loads inputs."""
        return self.group is not None and bool(self.gives)


def fused_product(node: Expr, uses: Counter[int]) -> Expr | None:
    """The product that is fused with a sum or difference, because nothing else uses it."""
    if node.op in (Op.ADD, Op.SUB):
        for a in node.args:
            if a.op is Op.MUL and uses[a.index] == 1:
                return a
    return None


def tasks(program: Program, inputs: Sequence[Group], outputs: Sequence[Group], fuse: bool) -> list[Task]:
    """All tasks in order; a group is loaded before its first entry is needed, and stored when it is complete."""
    order, uses = depth_first(program), count_uses(program)
    product = {n.index: p for n in order if fuse and (p := fused_product(n, uses)) is not None}
    absorbed = {p.index for p in product.values()}
    live = {n.index for n in order}
    loads: dict[int, Task] = {}
    for group in inputs:
        entries = _entries(program.inputs, group)
        made = Task(None, group, (), tuple(e for e in entries if e.index in live))
        loads |= {e.index: made for e in made.gives}
    missing: dict[int, list[Group]] = {}
    left: Counter[Group] = Counter()
    for group in outputs:
        for e in {e.index: e for e in _entries(program.outputs, group)}.values():
            missing.setdefault(e.index, []).append(group)
            left[group] += 1

    found: list[Task] = []
    loaded: set[Group | None] = set()
    for node in order:
        if node.op is Op.INPUT and loads[node.index].group not in loaded:
            found.append(loads[node.index])
            loaded.add(loads[node.index].group)
        elif node.op not in (Op.INPUT, Op.CONST) and node.index not in absorbed:
            args = [x for a in node.args for x in (a.args if product.get(node.index) is a else (a,))]
            found.append(Task(node, None, tuple(a for a in args if a.op is not Op.CONST), (node,)))
        for group in missing.get(node.index, ()):
            left[group] -= 1
            if not left[group]:
                needs = [e for e in _entries(program.outputs, group) if e.op is not Op.CONST]
                found.append(Task(None, group, tuple(needs), ()))
    return found


def depth_first(program: Program) -> list[Expr]:
    """Nodes, arguments first. Of the arguments of a node, the one that needs more registers comes first.

    Outputs from the last to the first: those of a tree's tips need least. A 7-joint arm's mass matrix takes 35 ns a row
    so, and 42 from the first to the last.
    """
    need: dict[int, int] = {}
    for node in program.nodes:
        need[node.index] = _registers([need[a.index] for a in node.args])
    order: list[Expr] = []
    done: set[int] = set()
    for slot in reversed(program.outputs):
        for entry in reversed(slot.entries):
            stack = [(entry, False)]
            while stack:
                node, ready = stack.pop()
                if node.index in done:
                    continue
                if ready or not node.args:
                    done.add(node.index)
                    order.append(node)
                    continue
                stack.append((node, True))
                stack.extend((a, False) for a in sorted(node.args, key=lambda a: need[a.index]))
    return order


def count_uses(program: Program) -> Counter[int]:
    """How often each node, by index, is an argument or an output."""
    count = Counter(a.index for node in program.nodes for a in node.args)
    count.update(e.index for slot in program.outputs for e in slot.entries)
    return count


def last_blocks(blocks: Sequence[Sequence[Task]]) -> dict[int, int]:
    """The last block that needs each value, for numbers (not truth values) that pass from one block to another."""
    born = {e.index: b for b, block in enumerate(blocks) for task in block for e in task.gives}
    last = {e.index: b for b, block in enumerate(blocks) for task in block for e in task.needs if not e.op.boolean}
    return {index: b for index, b in last.items() if b > born[index]}


def _entries(slots: Sequence[object], group: Group) -> tuple[Expr, ...]:
    k, first, width = group
    return slots[k].entries[first : first + width]  # type: ignore[attr-defined]


def _registers(needs: Sequence[int]) -> int:
    """Sethi and Ullman's count for a tree: values live at once when the neediest argument is computed first."""
    return max((n + k for k, n in enumerate(sorted(needs, reverse=True))), default=1)
