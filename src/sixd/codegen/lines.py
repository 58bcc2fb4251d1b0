"""Straight-line statements of a program in a language of C's family: one line an operation, one a result.

What the languages have in common: how values are called and in which order they come. A language is a table of
expressions and the few words beside it. Knows no robot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sixd.trace import Expr, Op, Program, Slot


@dataclass(frozen=True)
class Language:
    """How a language writes operations ({0} … are the arguments, {f} its suffix), numbers, and the names of values."""

    expressions: Mapping[Op, str]
    literal: Callable[[float], str]
    number: str  # the words before the name of a new number
    truth: str  # and of a new truth value
    suffix: str = ""


class Lines:
    """The statements of a program whose inputs and outputs are arrays of these names."""

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
        self.place: dict[int, int] = {}  # of values that pass from one function to another: where in ``work``

    def value(self, node: Expr, here: Collection[int], used: set[str], *, condition: bool = False) -> str:
        """What a value is called in a function that computes those ``here``; the array it lies in joins ``used``."""
        if node.op is Op.CONST:
            return str(int(node.value != 0)) if condition else self.language.literal(node.value)
        if node.index in here:
            return self.local[node.index]
        array, k = ("work", self.place[node.index]) if node.index in self.place else self.element[node.index]
        used.add(array)
        return f"({array}[{k}] != 0)" if condition else f"{array}[{k}]"

    def statements(self, part: Sequence[Expr], used: set[str]) -> Iterator[str]:
        """One line an operation, then one for each value that later parts read."""
        here = {n.index for n in part}
        language = self.language
        for n in part:
            if n.op is Op.INPUT:
                array, k = self.element[n.index]
                used.add(array)
                text = f"{array}[{k}]"
            else:
                args = [self.value(a, here, used, condition=n.op.argument_boolean(k)) for k, a in enumerate(n.args)]
                text = language.expressions[n.op].format(*args, f=language.suffix)
            yield f"{language.truth if n.op.boolean else language.number} {self.local[n.index]} = {text};"
        for n in part:
            if n.index in self.place:
                used.add("work")
                yield f"work[{self.place[n.index]}] = {self.local[n.index]}{' ? 1 : 0' if n.op.boolean else ''};"

    def writes(self, results: Iterable[tuple[str, int, Expr]], here: Collection[int], used: set[str]) -> Iterator[str]:
        """One line a result."""
        for array, k, e in results:
            used.add(array)
            yield f"{array}[{k}] = {self.value(e, here, used)};"

    def whole(self, used: set[str]) -> list[str]:
        """All lines, as the body of one function."""
        return [*self.statements(self.nodes, used), *self.writes(self.results, self.local, used)]
