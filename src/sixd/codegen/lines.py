"""Straight-line statements of a program in a C-like language: one line per operation, one per result.

Names and order of values are the same in all languages; a language is a table of expressions and a few keywords.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sixd.trace import Expr, Op, Program, Slot

T = TypeVar("T")


@dataclass(frozen=True)
class Language:
    """The syntax of a language: operations ({0} … are the arguments, {f} the suffix), declarations, numbers."""

    expressions: Mapping[Op, str]
    number: str  # the keywords that declare a number
    truth: str  # and a truth value
    nan: str
    infinity: str
    suffix: str = ""
    kind: type[np.floating] = np.float64

    def literal(self, x: float) -> str:
        """A number as the shortest decimal that reads back as the same one."""
        with np.errstate(over="ignore"):
            y = self.kind(x)
        if np.isnan(y):
            return self.nan
        text = self.infinity if np.isinf(y) else f"{abs(y)!s}{self.suffix}"
        return f"(-{text})" if np.signbit(y) else text


class Lines:
    """The statements of a program with arrays of these names as inputs and outputs."""

    def __init__(
        self, language: Language, program: Program, inputs: Mapping[str, Slot], outputs: Mapping[str, Slot]
    ) -> None:
        self.language = language
        self.element = {e.index: (a, k) for a, slot in inputs.items() for k, e in enumerate(slot.entries)}
        self.results = [(a, k, e) for a, slot in outputs.items() for k, e in enumerate(slot.entries)]
        # an input that is also a result is a statement, so that it is read before any result is written
        self.returned = {e.index for _, _, e in self.results}
        self.nodes = [n for n in program.nodes if n.args or (n.op is Op.INPUT and n.index in self.returned)]
        self.local = {n.index: f"t{k}" for k, n in enumerate(self.nodes)}
        self.work_index: dict[int, int] = {}  # in ``work``, of values that pass from one function to another

    def value(self, node: Expr, here: Collection[int], *, condition: bool = False) -> str:
        """The expression of a value in a function that computes those ``here``."""
        if node.op is Op.CONST:
            return str(int(node.value != 0)) if condition else self.language.literal(node.value)
        if node.index in here:
            return self.local[node.index]
        array, k = ("work", self.work_index[node.index]) if node.index in self.work_index else self.element[node.index]
        return f"({array}[{k}] != 0)" if condition else f"{array}[{k}]"

    def statements(self, part: Sequence[Expr]) -> Iterator[str]:
        """One line per operation, then one per value that later parts read."""
        here = {n.index for n in part}
        language = self.language
        for n in part:
            if n.op is Op.INPUT:
                array, k = self.element[n.index]
                text = f"{array}[{k}]"
            else:
                args = [self.value(a, here, condition=n.op.argument_boolean(k)) for k, a in enumerate(n.args)]
                text = language.expressions[n.op].format(*args, f=language.suffix)
            yield f"{language.truth if n.op.boolean else language.number} {self.local[n.index]} = {text};"
        for n in part:
            if n.index in self.work_index:
                yield f"work[{self.work_index[n.index]}] = {self.local[n.index]}{' ? 1 : 0' if n.op.boolean else ''};"

    def writes(self, results: Iterable[tuple[str, int, Expr]], here: Collection[int] = ()) -> Iterator[str]:
        """One line per result."""
        return (f"{array}[{k}] = {self.value(e, here)};" for array, k, e in results)

    def whole(self) -> list[str]:
        """All lines, as the body of one function."""
        return [*self.statements(self.nodes), *self.writes(self.results, self.local)]


def cut(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """The items in parts of at most that size."""
    return [items[k : k + size] for k in range(0, len(items), size)]
