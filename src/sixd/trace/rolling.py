"""Rolling: the segments of a large program as calls of few functions.

Straight-line code of a mechanism repeats itself from body to body, up to constants and addresses. Segments of the same
shape, that is with the same operations on operands from corresponding memory, share one function. It is called with a
row of numbers: where its operands are, where its results go, and its constants. Results that other segments need pass
through the work memory, an array of values. Shapes are compared after folding, so that no specialisation is lost.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from sixd.spatial.scalar import Array
from sixd.trace.expr import Expr
from sixd.trace.program import Program
from sixd.trace.segments import INT, OPS, Nodes, running

# where the function of a shape has an argument
ABSENT, INSIDE, CONSTANT, TRUTH, OUTSIDE = -1, 0, 1, 2, 3
_TAKES_TRUTH = np.array([[k < op.arity and op.argument_boolean(k) for k in range(3)] for op in OPS])
OWN, OUTPUTS = 3, 2  # blocks of a segment, and the one with outputs
# of a node
KEPT, LATER, OUTPUT, WATCHED, ABSORBED = 1, 2, 4, 8, 16


@dataclass(frozen=True, eq=False)
class SegmentShape:
    """A function for all segments of one shape, described by the nodes of the first, in the order of creation.

    ``arguments``: per node and argument (INSIDE, its index in ``nodes``), (CONSTANT, its index in the row), (TRUTH, 0
    or 1), or (OUTSIDE + index of an address in the row, offset from there). ``results``: per node None, or an (index of
    an address, offset) where it is kept. ``products``: per node the argument that is fused with it, or -1; ``absorbed``
    are the nodes so fused. ``outputs`` of the program, and ``watched`` nodes with the indices of their weights in the
    row, are listed by their indices. A row has some addresses, then some constants.
    """

    nodes: tuple[Expr, ...]
    arguments: tuple[tuple[tuple[int, int], ...], ...]
    results: tuple[tuple[int, int] | None, ...]
    products: tuple[int, ...]
    absorbed: frozenset[int]
    outputs: frozenset[int]
    watched: dict[int, int]
    addresses: int
    constants: int


@dataclass(frozen=True, eq=False)
class RolledProgram:
    """A program as calls of shapes.

    ``calls``: the shape of each. ``addresses`` and ``constants``: their rows, one after the other; an address is an
    index in the work memory, which has ``size`` values. The entries of input k begin at ``inputs[k]``, those of output
    k are at ``outputs[k]``; that of a constant is -1.
    """

    shapes: list[SegmentShape]
    calls: list[int]
    addresses: Array
    constants: Array
    inputs: list[int]
    outputs: list[Array]
    size: int


def roll(program: Program, *, fuse: bool) -> RolledProgram:
    """Cut a program into calls of shapes; ``fuse``: a product that only a sum uses is computed with it."""
    return _Rolling(Nodes(program, fuse=fuse)).rolled()


class _Rolling:
    """Arrays over nodes, and over edges in the order of segments and of nodes in them."""

    def __init__(self, nodes: Nodes) -> None:
        self.n = n = nodes
        self.segments = int(n.segment.max(initial=-1)) + 1
        computed = np.flatnonzero(n.is_computed)
        self.order = computed[np.argsort(n.segment[computed], kind="stable")]
        self.start = np.searchsorted(n.segment[self.order], np.arange(self.segments + 1))
        self.local = np.zeros(n.count, INT)  # index in the segment
        self.local[self.order] = np.arange(len(self.order)) - self.start[n.segment[self.order]]
        edges = np.argsort(n.segment[n.owner], kind="stable")
        self.owner, self.argument, self.number = n.owner[edges], n.argument[edges], n.number[edges]
        self.at = n.segment[self.owner]
        self._find_blocks()
        self._find_arguments()

    def _find_blocks(self) -> None:
        """Blocks of results that are kept, three of each segment: needed in its sweep, needed later, and outputs.

        Thus the memory of short-lived values is soon reused, which halves it. Each entry of an input is a block of its
        own.
        """
        n = self.n
        self.kept = n.is_output & n.is_computed
        crosses = n.is_computed[self.argument] & (n.segment[self.argument] != self.at)
        self.kept[self.argument[crosses]] = True
        later = np.zeros(n.count, bool)
        later[self.argument[crosses & (n.phase[n.segment[self.argument]] != n.phase[self.at])]] = True
        self.kind_of_block = np.where(n.is_output, 2, later)
        self.block = np.where(n.is_computed, OWN * n.segment + self.kind_of_block, 0)
        self.blocks = OWN * self.segments
        inputs = np.flatnonzero(n.is_input)
        self.block[inputs] = self.blocks + np.arange(len(inputs))
        self.offset = np.zeros(n.count, INT)
        holders = self.order[self.kept[self.order]]
        holders = holders[np.argsort(self.block[holders], kind="stable")]
        self.offset[holders] = running(self.block[holders])
        self.width = np.bincount(self.block[holders], minlength=self.blocks)[: self.blocks]

    def _find_arguments(self) -> None:
        """Where each argument is; the sources of each segment, blocks in the order in which they are first read."""
        n, at = self.n, self.at
        constant = n.is_constant[self.argument]
        truth = constant & _TAKES_TRUTH[n.op[self.owner], self.number]
        number = constant & ~truth
        reads = n.is_input[self.argument] | (n.is_computed[self.argument] & (n.segment[self.argument] != at))
        pairs = at[reads].astype(np.int64) * (self.blocks + n.count) + self.block[self.argument[reads]]
        sources, first, which = np.unique(pairs, return_index=True, return_inverse=True)
        by_first = np.argsort(first)
        self.source_of, self.source = np.divmod(sources[by_first], self.blocks + n.count)  # segment, block
        rank = np.empty(len(sources), INT)
        rank[by_first] = running(self.source_of)
        values = np.zeros(len(constant))
        values[constant] = [n.nodes[k].value for k in self.argument[constant].tolist()]
        self.constant_of, self.constant = at[number], values[number]
        kinds = np.zeros(len(at), INT)  # INSIDE
        kinds[reads], kinds[truth], kinds[number] = OUTSIDE + rank[which.ravel()], TRUTH, CONSTANT
        details = self.local[self.argument]
        details[reads] = self.offset[self.argument[reads]]
        details[truth] = values[truth] != 0
        details[number] = running(self.constant_of)
        self.kind, self.detail = np.full((n.count, 3), ABSENT, INT), np.zeros((n.count, 3), INT)
        self.kind[self.owner, self.number], self.detail[self.owner, self.number] = kinds, details

    def rolled(self) -> RolledProgram:
        """The shapes, the memory and the rows."""
        n, ids = self.n, np.arange(self.segments)
        self._find_flags()
        columns = [n.op, self.kind, self.detail, self.offset * self.kept, self.flags, self.fused]
        described = np.column_stack([np.asarray(x, INT) for x in columns])[self.order]
        numbers: dict[bytes, int] = {}
        calls: list[int] = []
        firsts: list[int] = []
        for s in range(self.segments):
            text = described[self.start[s] : self.start[s + 1]].tobytes()
            calls.append(numbers.setdefault(text, len(numbers)))
            if calls[-1] == len(firsts):
                firsts.append(s)
        address, inputs, size = self._memory()
        addresses = _rows((self.source_of, address[self.source]), (np.repeat(ids, OWN), address[: self.blocks]))
        weighed = self.order[self.flags[self.order] & WATCHED > 0]
        constants = _rows((self.constant_of, self.constant), (n.segment[weighed], self.weight[weighed]))
        outputs = [np.where(n.is_constant[at], -1, address[self.block[at]] + self.offset[at]) for at in n.outputs]
        return RolledProgram([self._shape(s) for s in firsts], calls, addresses, constants, inputs, outputs, size)

    def _find_flags(self) -> None:
        n = self.n
        absorbed, first = n.is_absorbed, np.zeros(n.count, bool)
        first[n.owner[(n.number == 0) & (n.product[n.owner] == n.argument)]] = True
        self.fused = np.where(n.product < 0, -1, np.where(first, 0, 1))
        self.weight, watched = np.zeros(n.count), np.zeros(n.count, bool)
        at = n.positions([node for node, _ in n.program.watched])
        self.weight[at], watched[at] = [weight for _, weight in n.program.watched], ~absorbed[at]
        self.flags = KEPT * self.kept + LATER * (self.kind_of_block == 1) + OUTPUT * n.is_output
        self.flags += WATCHED * watched + ABSORBED * absorbed

    def _memory(self) -> tuple[Array, list[int], int]:
        """The address of each block, the address of each input array, and the size of the memory.

        A block that is no longer read is used again for one of the same width.
        """
        n = self.n
        address = np.zeros(self.blocks + n.count, np.int64)
        inputs: list[int] = []
        size = 0
        for slot in n.program.inputs:
            at = np.minimum(n.positions(slot.entries), n.count - 1)
            live = n.index[at] == [e.index for e in slot.entries] if n.count else at < 0
            address[self.block[at[live]]] = size + np.flatnonzero(live)
            inputs.append(size)
            size += len(slot.entries)
        last = np.full(self.blocks + n.count, -1)
        np.maximum.at(last, self.source, self.source_of)
        ends: defaultdict[int, list[int]] = defaultdict(list)
        for b, s in enumerate(last[: self.blocks].tolist()):
            if b % OWN != OUTPUTS:
                ends[s].append(b)
        free: defaultdict[int, list[int]] = defaultdict(list)
        widths = self.width.tolist()
        for s in range(self.segments):
            for b in range(OWN * s, OWN * (s + 1)):
                if free[widths[b]] and b % OWN != OUTPUTS:
                    address[b] = free[widths[b]].pop()
                else:
                    address[b], size = size, size + widths[b]
            for b in ends[s]:
                free[widths[b]].append(int(address[b]))
        return address, inputs, size

    def _shape(self, segment: int) -> SegmentShape:
        """The shape of a segment."""
        n = self.n
        members = self.order[self.start[segment] : self.start[segment + 1]]
        sources, constants = (
            int(np.diff(np.searchsorted(of, (segment, segment + 1)))[0]) for of in (self.source_of, self.constant_of)
        )

        def having(flag: int) -> list[int]:
            return np.flatnonzero(self.flags[members] & flag).tolist()

        kinds, details = self.kind[members].tolist(), self.detail[members].tolist()
        kept, owns = self.kept[members].tolist(), (sources + self.kind_of_block[members]).tolist()
        offsets = self.offset[members].tolist()
        watched = {k: constants + j for j, k in enumerate(having(WATCHED))}
        return SegmentShape(
            nodes=tuple(n.nodes[k] for k in members),
            arguments=tuple(
                tuple((a, b) for a, b in zip(ka, da, strict=True) if a != ABSENT)
                for ka, da in zip(kinds, details, strict=True)
            ),
            results=tuple((o, at) if k else None for k, o, at in zip(kept, owns, offsets, strict=True)),
            products=tuple(self.fused[members].tolist()),
            absorbed=frozenset(having(ABSORBED)),
            outputs=frozenset(having(OUTPUT)),
            watched=watched,
            addresses=sources + OWN,
            constants=constants + len(watched),
        )


def _rows(*parts: tuple[Array, Array]) -> Array:
    """The values of rows one after the other; each part is (the row of each value, ascending; the values)."""
    row = np.concatenate([row for row, _ in parts])
    return np.concatenate([values for _, values in parts])[np.argsort(row, kind="stable")]
