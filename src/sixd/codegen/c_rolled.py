"""C99 from large programs: one static function per shape of segment, called over tables of addresses and constants.

For a larger mechanism only the tables grow, not the code: see ``sixd.trace.rolling``. Inputs are copied into the work
array first and outputs from it last, so that an output array may overlap an input array.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from sixd.codegen.lines import Language
from sixd.trace import Op, Program, Slot
from sixd.trace.rolling import CONSTANT, INSIDE, OUTSIDE, TRUTH, SegmentShape, roll

FROM = 10_000  # operations: shorter programs are straight-line code
_ON_LINE = 16  # numbers


class RolledCode:
    """The parts of the C text of a program: the definitions before the function, its body, its work array's size.

    ``inputs`` and ``outputs`` are the program's slots by their names in C.
    """

    def __init__(
        self, name: str, language: Language, program: Program, inputs: Mapping[str, Slot], outputs: Mapping[str, Slot]
    ) -> None:
        self.name, self.language, self.inputs, self.outputs = name, language, inputs, outputs
        self.real = language.number.removeprefix("const ")
        self.rolled = roll(program, fuse=False)
        values = {e.value: None for slot in program.outputs for e in slot.entries if e.op is Op.CONST}
        self.constants = {x: self.rolled.size + k for k, x in enumerate(values)}  # their indices in the work array
        self.size = max(self.rolled.size + len(values), 1)

    def definitions(self) -> list[str]:
        """The functions of the shapes, and the tables."""
        lines: list[str] = []
        for k, shape in enumerate(self.rolled.shapes):
            head = f"SIXD_PART {self.name}_part{k}({self.real} *work, const int *row, const {self.real} *numbers)"
            unused = [] if shape.constants else ["(void)numbers;"]
            lines += [head, "{", *(f"    {line}" for line in [*self._statements(shape), *unused]), "}", ""]
        runs = [(shape, len(list(calls))) for shape, calls in groupby(self.rolled.calls)]
        lines += self._table("int", "runs", [x for run in runs for x in run])
        lines += self._table("int", "rows", self.rolled.addresses.tolist())
        lines += self._table(self.real, "numbers", [self.language.literal(x) for x in self.rolled.constants.tolist()])
        for (array, slot), at in zip(self.outputs.items(), self.rolled.outputs, strict=True):
            index = [
                self.constants[e.value] if e.op is Op.CONST else k
                for e, k in zip(slot.entries, at.tolist(), strict=True)
            ]
            lines += self._table("int", array, index) if index else ()
        return lines

    def body(self) -> list[str]:
        """The statements of the function."""
        runs = sum(1 for _ in groupby(self.rolled.calls))
        lines = [
            f"{self.real} work[{self.size}];",
            f"const int *work_row = {self.name}_table_rows;",
            f"const {self.real} *work_numbers = {self.name}_table_numbers;",
            "int work_k, work_n;",
        ]
        for (array, slot), first in zip(self.inputs.items(), self.rolled.inputs, strict=True):
            if slot.entries:
                loop = f"for (work_k = 0; work_k < {len(slot.entries)}; work_k++)"
                lines.append(f"{loop} work[{first} + work_k] = {array}[work_k];")
        lines += [f"work[{k}] = {self.language.literal(x)};" for x, k in self.constants.items()]
        table = f"{self.name}_table_runs"
        lines += [f"for (work_k = 0; work_k < {2 * runs}; work_k += 2) {{", f"    work_n = {table}[work_k + 1];"]
        lines.append(f"    switch ({table}[work_k]) {{")
        for k, shape in enumerate(self.rolled.shapes):
            step = f"work_row += {shape.addresses}, work_numbers += {shape.constants}"
            call = f"{self.name}_part{k}(work, work_row, work_numbers)"
            lines.append(f"    case {k}: for (; work_n > 0; work_n--, {step}) {call}; break;")
        lines += ["    }", "}"]
        for array, slot in self.outputs.items():
            if slot.entries:
                loop = f"for (work_k = 0; work_k < {len(slot.entries)}; work_k++)"
                lines.append(f"{loop} {array}[work_k] = work[{self.name}_table_{array}[work_k]];")
        return lines

    def _table(self, kind: str, name: str, numbers: Sequence[Any]) -> Iterator[str]:
        """A static array; C has none of length 0."""
        texts = [str(x) for x in numbers] or ["0"]
        yield f"static const {kind} {self.name}_table_{name}[{len(texts)}] = {{"
        for k in range(0, len(texts), _ON_LINE):
            yield f"    {', '.join(texts[k : k + _ON_LINE])},"
        yield "};"

    def _statements(self, shape: SegmentShape) -> Iterator[str]:
        """One line per operation, then one per result that is kept."""
        language = self.language
        for k, node in enumerate(shape.nodes):
            args = [self._argument(shape, k, j) for j in range(len(node.args))]
            text = language.expressions[node.op].format(*args, f=language.suffix)
            yield f"{language.truth if node.op.boolean else language.number} t{k} = {text};"
        for k, (node, kept) in enumerate(zip(shape.nodes, shape.results, strict=True)):
            if kept is not None:
                base, offset = kept
                yield f"work[row[{base}] + {offset}] = t{k}{' ? 1 : 0' if node.op.boolean else ''};"

    def _argument(self, shape: SegmentShape, k: int, j: int) -> str:
        kind, detail = shape.arguments[k][j]
        if kind == INSIDE:
            return f"t{detail}"
        if kind == CONSTANT:
            return f"numbers[{detail}]"
        if kind == TRUTH:
            return str(detail)
        text = f"work[row[{kind - OUTSIDE}] + {detail}]"
        return f"({text} != 0)" if shape.nodes[k].args[j].op.boolean else text
