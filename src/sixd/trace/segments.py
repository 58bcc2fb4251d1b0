"""Segments: a large program cut at the bodies of the mechanism.

Each operation is assigned to a segment: one body in one sweep over the bodies, as the marks of the trace say. Segments
are executed one after the other. Everything is computed with arrays over nodes, since programs have up to some million
of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixd.spatial.scalar import Array
from sixd.trace.expr import Expr
from sixd.trace.ops import Op
from sixd.trace.program import Program, depth_first

LONGEST = 1000  # operations of a segment; a longer one, such as a program without marks, is cut every PART operations
PART = 500
SHORTEST = 100  # steps along a branch with fewer operations are joined
OPS = tuple(Op)
CODES = {op: k for k, op in enumerate(OPS)}
_ARITY = np.array([op.arity for op in OPS])
INT = np.int32  # of arrays over nodes: 5,000 bodies have three million, with twice as many edges


class Nodes:
    """The nodes of a program as arrays: by position, and by edge from an ``owner`` to its ``argument`` of a ``number``.

    ``product``: per sum or difference the position of the product that is computed with it, because nothing else uses
    it; else -1. ``segment``: numbered in the order of execution; -1 for inputs and constants. ``phase``: of each
    segment, the sweep over the bodies that it is a part of.
    """

    def __init__(self, program: Program, *, fuse: bool) -> None:
        self.program, self.nodes = program, program.nodes
        self.count = len(self.nodes)
        self.index = np.fromiter((n.index for n in self.nodes), INT, self.count)
        self.op = np.fromiter((CODES[n.op] for n in self.nodes), INT, self.count)
        arity = _ARITY[self.op]
        flat = np.fromiter((a.index for n in self.nodes for a in n.args), INT, int(arity.sum()))
        self.owner = np.repeat(np.arange(self.count, dtype=INT), arity)
        self.number = running(self.owner)
        self.argument = np.searchsorted(self.index, flat).astype(INT)
        self.is_input, self.is_constant = self.op == CODES[Op.INPUT], self.op == CODES[Op.CONST]
        self.is_computed = ~(self.is_input | self.is_constant)
        self.outputs = [self.positions(slot.entries) for slot in program.outputs]
        self.is_output = np.zeros(self.count, bool)
        for at in self.outputs:
            self.is_output[at] = True
        self.product = np.full(self.count, -1, INT)
        if fuse:
            self._find_products()
        self.is_absorbed = np.zeros(self.count, bool)
        self.is_absorbed[self.product[self.product >= 0]] = True
        self.segment = self._find_segments()

    def positions(self, entries: Sequence[Expr]) -> Array:
        """The positions of nodes of the program."""
        return np.searchsorted(self.index, np.fromiter((e.index for e in entries), INT, len(entries)))

    def is_op(self, *ops: Op) -> Array:
        """Per node, whether it is one of these operations."""
        return np.isin(self.op, [CODES[op] for op in ops])

    def _find_products(self) -> None:
        uses = np.bincount(self.argument, minlength=self.count)
        for at in self.outputs:
            uses += np.bincount(at, minlength=self.count)
        alone = self.is_op(Op.MUL) & (uses == 1)
        fits = self.is_op(Op.ADD, Op.SUB)[self.owner] & alone[self.argument]
        for number in (1, 0):  # the first product, if both arguments are
            edges = fits & (self.number == number)
            self.product[self.owner[edges]] = self.argument[edges]

    def _find_segments(self) -> Array:
        phase, place = _PhaseFinder(self).phases()
        segment = self._numbered(phase, place)
        if (segment[self.argument] > segment[self.owner]).any():  # bodies visited in no order: as if without marks
            phase, place = np.zeros((2, self.count), np.int64)
            segment = self._numbered(phase, place)
        part = np.zeros(self.count, np.int64)
        for s in np.flatnonzero(np.bincount(segment[self.is_computed]) > LONGEST):
            order = within([self.nodes[k] for k in np.flatnonzero(segment == s)])
            part[self.positions(order)] = np.arange(len(order)) // PART
        segment = self._numbered(segment, part)
        self.phase = np.zeros(int(segment.max(initial=-1)) + 1, INT)
        own = np.flatnonzero(self.is_computed & ~self.is_absorbed)
        self.phase[segment[own]] = phase[own]
        return segment

    def _numbered(self, major: Array, minor: Array) -> Array:
        """Numbers of the pairs, in their order, of computed nodes; a fused product has its sum's."""
        least = minor.min(initial=0)
        key = major.astype(np.int64) * int(minor.max(initial=0) - least + 1) + minor - least
        sums = np.flatnonzero(self.product >= 0)
        key[self.product[sums]] = key[sums]
        numbers = np.full(self.count, -1, INT)
        numbers[self.is_computed] = np.unique(key[self.is_computed], return_inverse=True)[1].ravel()
        return numbers


class _PhaseFinder:
    """Finds phases: consecutive loops over the bodies in one direction are one phase, unless a body needs results of a
    later one.

    A step along a branch, or a few short ones, are a phase of their own. So are operations between two loops, unless
    they use only earlier values: then each moves to the first segment that needs it. Sines and cosines of inputs come
    first.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        marks = np.array([(0, 0, 0), *nodes.program.marks])
        mark = np.searchsorted(marks[:, 0], nodes.index, side="right") - 1
        loop, self.body = marks[mark, 1], marks[mark, 2]
        self.direction = np.where(loop > 0, _directions(marks)[mark], 0)
        self.run = np.where(loop > 0, loop, -mark)  # equal for nodes of one loop, or between two marks
        self.phase = np.full(nodes.count, -1)
        self.place = self.body * self.direction

    def phases(self) -> tuple[Array, Array]:
        """The phase of each node, and its place in the phase."""
        n = self.nodes
        angle = np.full(n.count, -1)
        of_input = n.is_op(Op.SIN, Op.COS)[n.owner] & n.is_input[n.argument]
        angle[n.owner[of_input]] = n.argument[of_input]
        rest = np.flatnonzero(n.is_computed & (angle < 0))
        self.place = np.where(angle >= 0, angle, self.place)
        edge = np.searchsorted(n.owner, np.arange(n.count + 1))
        between: list[Array] = []
        now, going, steps = 0, 0, 0  # the phase, the direction of its sweep, the operations of its steps along a branch
        for run in np.split(rest, np.flatnonzero(np.diff(self.run[rest])) + 1):
            if not len(run):
                continue
            first, last = run[0], run[-1]
            edges = slice(edge[first], edge[last + 1])
            recent = self.phase[n.argument[edges]] == now
            direction = int(self.direction[first])
            if not direction and going and not self.body[first] and not recent.any():
                between.append(run)
                continue
            late = recent & (self.place[n.argument[edges]] > self.place[n.owner[edges]])
            is_step = not direction and self.body[first] > 0
            if is_step and 0 < steps < SHORTEST:
                steps += len(run)
            else:
                steps = len(run) if is_step else 0
                now += direction == 0 or direction != going or bool(late.any())
            self.phase[run], going = now, direction
        if between:
            self._sink(np.concatenate(between), now + 1)
        return self.phase, self.place

    def _sink(self, between: Array, end: int) -> None:
        """Move nodes to the phase and place in which they are first needed."""
        n = self.nodes
        least = int(self.place.min())
        span = int(self.place.max()) - least + 1
        key = self.phase.astype(np.int64) * span + self.place - least
        moves = np.zeros(n.count, bool)
        moves[between] = True
        key[between] = end * span
        from_above = np.flatnonzero(moves[n.argument])[::-1]  # users before what they use
        for owner, argument in zip(n.owner[from_above].tolist(), n.argument[from_above].tolist(), strict=True):
            if key[owner] < key[argument]:
                key[argument] = key[owner]
        self.phase[between], self.place[between] = key[between] // span, key[between] % span + least


def _directions(marks: Array) -> Array:
    """Per mark, 1 if the bodies of its loop ascend, -1 if they descend."""
    loops, first = np.unique(marks[:, 1], return_index=True)
    last = np.searchsorted(loops, marks[:, 1])
    final = np.zeros(len(loops), np.int64)
    final[last] = marks[:, 2]  # the last of a loop wins
    return np.where(final < marks[first, 2], -1, 1)[last]


def running(groups: Array) -> Array:
    """Per element of an array whose equal elements are neighbours, its index among these."""
    starts = np.flatnonzero(np.diff(groups, prepend=groups[:1] - 1))
    return (np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))).astype(INT)


def within(nodes: Sequence[Expr]) -> list[Expr]:
    """The nodes of a segment in depth-first order, from those that no other of them uses."""
    used = {a.index for n in nodes for a in n.args}
    return depth_first(nodes, (n for n in nodes if n.index not in used))
