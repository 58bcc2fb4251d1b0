"""JavaScript from recipes: the step of a simulation, with further programs, as the body of one function.

The function has no parameters. It returns an object with ``arrays``, the state and the constants by name as
Float64Arrays, ``step()``, which replaces the state by the next, and ``programs``, functions of arrays: the inputs, then
the outputs. A long program is cut into parts that pass values in an array: browsers interpret, and do not compile,
functions of more than about 60 kB of bytecode.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Iterable, Iterator, Mapping

from sixd.codegen.js import JS
from sixd.codegen.lines import Lines, cut
from sixd.errors import TraceError
from sixd.trace import Program, Slot, check
from sixd.trace.program import work_indices
from sixd.trace.recipe import EachRow, Recipe, Repeated, TableCall, Work, calls_in

# statements of one function, and of the parts of a longer one. V8 leaves functions of more than 60 kB of bytecode to
# its interpreter; a statement takes up to 20 bytes. A humanoid's step took 270 µs while it was interpreted, then 21 µs;
# that of a disc on 32 points of contact took 300 µs in parts of 1000 statements, 130 µs in parts of 400 or 200 (on a
# busy machine); an arm's does not depend on it.
WHOLE, PART = 1000, 400
_DIGITS = string.digits + string.ascii_letters
_WHOLE_NUMBER = re.compile(r"(?<![\w.])(\d+)\.0(?![\w.])")


def emit_js_module(recipe: Recipe, programs: Mapping[str, Program]) -> str:
    """The body of a JavaScript function that returns the step of a recipe and programs by name; see above."""
    every = {id(program): program for program in recipe.programs}
    every |= {id(program): program for program in programs.values()}
    names = {key: f"f{k}" for k, key in enumerate(every)}
    arrays = {name: f"a{k}" for k, name in enumerate(recipe.memory)}
    lines: list[str] = []
    for name, shape in recipe.memory.items():
        lines.append(f"const {arrays[name]} = new Float64Array({math.prod(shape)});")
    for key, program in every.items():
        lines += _definition(names[key], program)
    step = [line for work in recipe.works for line in _work(work, names, arrays)]
    lines += [*_tables(recipe, arrays), "function step() {", *step, *_replacement(recipe, arrays), "}"]
    known = ", ".join(f"{_word(name)}: {arrays[name]}" for name in (*recipe.state, *recipe.constants))
    more = ", ".join(f"{_word(name)}: {names[id(program)]}" for name, program in programs.items())
    lines.append(f"return {{ arrays: {{ {known} }}, step, programs: {{ {more} }} }};")
    return "\n".join(lines)


def _word(name: str) -> str:
    # ASCII, and safe inside a script element
    return json.dumps(name).replace("<", "\\u003c")


# functions ----------------------------------------------------------------------------------------


def _definition(name: str, program: Program) -> Iterator[str]:
    """A function of the program's inputs x0, x1, … and outputs y0, y1, …; an output may be an input's array."""
    check(program)
    inputs = {f"x{k}": slot for k, slot in enumerate(program.inputs)}
    outputs = {f"y{k}": Slot(f"y{k}", slot.shape, slot.entries) for k, slot in enumerate(program.outputs)}
    lines = Lines(JS, program, inputs, outputs)
    lines.local = {n.index: _local(k) for k, n in enumerate(lines.nodes)}
    names = ",".join((*inputs, *outputs))
    if len(lines.nodes) + len(lines.results) <= WHOLE:
        yield from (f"function {name}({names}) {{", *_short(lines.whole()), "}")
        return
    parts = cut(lines.nodes, PART)
    last = {a.index: k for k, part in enumerate(parts) for n in part for a in n.args}
    last |= dict.fromkeys(lines.returned, len(parts))
    lines.work_index, size = work_indices(parts, last)
    yield f"const work_{name} = new Float64Array({size});"
    pieces = [*map(lines.statements, parts), *map(lines.writes, cut(lines.results, PART))]
    for k, piece in enumerate(pieces):
        yield from (f"function {name}_{k}(work,{names}) {{", *_short(piece), "}")
    calls = (f"{name}_{k}(work_{name}, {names});" for k in range(len(pieces)))
    yield from (f"function {name}({names}) {{", *calls, "}")


def _local(k: int) -> str:
    """The name of value k: $0 … $9, $a … $z, $A … $Z, $10 …; no word of the language begins with $."""
    text = ""
    while not text or k:
        k, digit = divmod(k, len(_DIGITS))
        text = _DIGITS[digit] + text
    return f"${text}"


def _short(lines: Iterable[str]) -> Iterator[str]:
    """Statements without spaces, declarations in a row as one: with short names half the characters."""
    before, declared = "", False
    for line in lines:
        text = _WHOLE_NUMBER.sub(r"\1", line.removeprefix("const ").removesuffix(";").replace(" ", ""))
        declares = line.startswith("const ")
        if before:
            yield before + ("," if declared and declares else ";")
        before, declared = text if declared or not declares else f"const {text}", declares
    yield f"{before};"


# the step -----------------------------------------------------------------------------------------


def _work(work: Work, names: Mapping[int, str], arrays: Mapping[str, str]) -> Iterator[str]:
    """The statements of a work."""
    if isinstance(work, Repeated):
        yield from _loop(work, names, arrays)
    elif isinstance(work, TableCall):
        yield from _table(work, names, arrays)
    elif isinstance(work, EachRow):
        yield from _each_row(work, names, arrays)
    else:
        yield f"{names[id(work.program)]}({', '.join(arrays[a] for a in (*work.inputs, *work.outputs))});"


def _loop(loop: Repeated, names: Mapping[int, str], arrays: Mapping[str, str]) -> Iterator[str]:
    """The statements of a loop."""
    if loop.tape or loop.rewinds:
        raise TraceError("JavaScript: loops with tapes, as adjoints have them, cannot be written.")
    outputs = [arrays[a] for a in loop.outputs]
    yield from (f"{y}.set({arrays[x]});" for y, x in zip(outputs, loop.inputs, strict=True))
    if loop.when:
        yield f"if ({arrays[loop.when]}[0] !== 0)"
    yield f"for (let k = 0; k < {loop.most}; k++) {{"
    for work in loop.works:
        yield from _work(work, names, arrays)
    yield from _moves([(arrays[x], y) for x, y in zip(loop.results, outputs, strict=True)])
    yield f"if ({outputs[-1]}[0] === 1) break;" if loop.most > 1 else ""
    yield "}"


def _each_row(loop: EachRow, names: Mapping[int, str], arrays: Mapping[str, str]) -> Iterator[str]:
    """The statements of works for each row of a table."""
    yield from (f"{arrays[y]}.set({arrays[x]});" for y, x in zip(loop.outputs, loop.inputs, strict=True) if x != y)
    yield f"{[list(row) for row in zip(*loop.source_parts, *loop.output_parts, strict=True)]}.forEach((row, k) => {{"
    if loop.when:
        yield f"if ({arrays[loop.when]}[k] === 0) return;"
    for k, (source, name) in enumerate(zip(loop.sources, loop.rows_in, strict=True)):
        part, size = arrays[name], f"{arrays[name]}.length"
        yield f"{part}.set({arrays[source]}.subarray(row[{k}] * {size}, (row[{k}] + 1) * {size}));"
    for work in loop.works:
        yield from _work(work, names, arrays)
    for k, (result, name) in enumerate(zip(loop.results, loop.outputs, strict=True), len(loop.sources)):
        yield f"{arrays[name]}.set({arrays[result]}, row[{k}] * {arrays[result]}.length);"
    yield "});"


def _moves(pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Copies of arrays (source, target); those that are also targets are read before any is written."""
    pairs = [(x, y) for x, y in pairs if x != y]
    targets = {y for _, y in pairs}
    copied = {x: f"b{k}" for k, (x, _) in enumerate(pairs) if x in targets}
    yield from (f"const {copy} = {x}.slice();" for x, copy in copied.items())
    yield from (f"{y}.set({copied.get(x, x)});" for x, y in pairs)


def _table_name(call: TableCall, arrays: Mapping[str, str]) -> str:
    return f"table_{arrays[call.outputs[0]]}"


def _tables(recipe: Recipe, arrays: Mapping[str, str]) -> Iterator[str]:
    """The parts of arrays of each row of a table, and a place for results that are added."""
    for call in calls_in(recipe.works):
        if not isinstance(call, TableCall):
            continue
        slots = (*call.program.inputs, *call.program.outputs)
        added = (*(False for _ in call.inputs), *call.added)
        own = [
            arrays[a] if starts is None else f"{arrays[a]}.subarray({{}}, {{}})"
            for a, starts in zip((*call.inputs, *call.outputs), call.starts, strict=True)
        ]
        rows = []
        for row in range(call.rows):
            parts = [
                text if starts is None else text.format(starts[row], starts[row] + len(slot.entries))
                for text, starts, slot in zip(own, call.starts, slots, strict=True)
            ]
            targets = [p if not a else "null" for p, a in zip(parts, added, strict=True)]
            sums = [p for p, a in zip(parts, added, strict=True) if a]
            rows.append(f"[[{', '.join(targets)}], [{', '.join(sums)}]]")
        yield f"const {_table_name(call, arrays)} = [{', '.join(rows)}];"
        for k, (slot, is_added) in enumerate(zip(slots, added, strict=True)):
            if is_added:
                name = _table_name(call, arrays)
                yield f"const {name}_{k} = new Float64Array({len(slot.entries)});"
                yield f"for (const row of {name}) row[0][{k}] = {name}_{k};"


def _table(call: TableCall, names: Mapping[int, str], arrays: Mapping[str, str]) -> Iterator[str]:
    """The statements of calls for the rows of a table."""
    name = _table_name(call, arrays)
    for a, is_added in zip(call.outputs, call.added, strict=True):
        if is_added or call.when:
            yield f"{arrays[a]}.fill(0);"
    if call.when:
        yield f"{name}.forEach((row, k) => {{ if ({arrays[call.when]}[k] === 0) return;"
    else:
        yield f"{name}.forEach((row) => {{"
    yield f"{names[id(call.program)]}(...row[0]);"
    added = [len(call.inputs) + k for k, is_added in enumerate(call.added) if is_added]
    for sum_number, k in enumerate(added):
        yield f"{name}_{k}.forEach((x, j) => {{ row[1][{sum_number}][j] += x; }});"
    yield "});"


def _replacement(recipe: Recipe, arrays: Mapping[str, str]) -> Iterator[str]:
    """The next state in the arrays of the state."""
    yield from _moves([(arrays[x], arrays[y]) for x, y in zip(recipe.results, recipe.state, strict=True)])
