"""The order of operations in straight-line code: depth first from the outputs, so that few values live at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sixd.trace.expr import Expr
from sixd.trace.program import Program


def depth_first(program: Program) -> list[tuple[Expr, list[tuple[int, int]]]]:
    """Nodes, arguments first, each with the places (slot, entry) of the outputs that it is.

    An output is complete as early as can be; of the arguments of a node, the one that needs more registers comes first.
    """
    need: dict[int, int] = {}
    for node in program.nodes:
        need[node.index] = _registers([need[a.index] for a in node.args])
    places: dict[int, list[tuple[int, int]]] = {}
    for k, slot in enumerate(program.outputs):
        for j, entry in enumerate(slot.entries):
            places.setdefault(entry.index, []).append((k, j))
    order: list[tuple[Expr, list[tuple[int, int]]]] = []
    done: set[int] = set()
    for slot in program.outputs:
        for entry in slot.entries:
            stack = [(entry, False)]
            while stack:
                node, ready = stack.pop()
                if node.index in done:
                    continue
                if ready or not node.args:
                    done.add(node.index)
                    order.append((node, places.get(node.index, [])))
                    continue
                stack.append((node, True))
                stack.extend((a, False) for a in sorted(node.args, key=lambda a: need[a.index]))
    return order


def _registers(needs: Sequence[int]) -> int:
    """Sethi and Ullman's count for a tree: values live at once when the neediest argument is computed first."""
    return max((n + k for k, n in enumerate(sorted(needs, reverse=True))), default=1)


def uses(program: Program) -> Counter[int]:
    """How often each node is an argument or an output, by index."""
    count = Counter(a.index for node in program.nodes for a in node.args)
    count.update(e.index for slot in program.outputs for e in slot.entries)
    return count
