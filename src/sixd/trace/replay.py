"""Replay: the operations of a program once more, on other scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.spatial import scalar
from sixd.spatial.scalar import Array, object_array
from sixd.trace.ops import Op
from sixd.trace.program import Program

_OPERATORS: dict[Op, Callable[..., Any]] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.DIV: operator.truediv, Op.NEG: operator.neg,
    Op.LT: operator.lt, Op.LE: operator.le, Op.EQ: operator.eq, Op.NOT: operator.invert, Op.AND: operator.and_,
    Op.OR: operator.or_, Op.SELECT: scalar.where, Op.ABS: scalar.absolute, Op.MIN: scalar.minimum,
    Op.MAX: scalar.maximum,
}  # fmt: skip


def apply(op: Op, *args: Any) -> Any:
    """The result of an operation on scalars of any class."""
    function = _OPERATORS.get(op)
    return function(*args) if function is not None else getattr(scalar, op.word)(*args)


def replay(program: Program, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a program for one state, from arrays of scalars of any kind, such as those of another trace."""
    known: dict[int, Any] = {}
    for slot, array in zip(program.inputs, arrays, strict=True):
        known |= {e.index: x for e, x in zip(slot.entries, np.asarray(array, dtype=object).ravel(), strict=True)}
    for node in program.nodes:
        if node.is_const:
            known[node.index] = node.value
        elif node.op is not Op.INPUT:
            known[node.index] = apply(node.op, *(known[a.index] for a in node.args))
    return tuple(shaped([known[e.index] for e in slot.entries], slot.shape) for slot in program.outputs)


def shaped(entries: list[Any], shape: tuple[int, ...]) -> Array | Any:
    """Entries as an array of a shape; the one entry of a scalar."""
    return object_array(entries, shape) if shape else entries[0]
