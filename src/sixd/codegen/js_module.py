"""JavaScript from recipes: the step of a simulation, with further programs, as the body of one function.

The function has no parameters. It returns an object with ``arrays``, the state and the constants by name as
Float64Arrays, ``step()``, which replaces the state by the next, and ``programs``, functions of arrays: the inputs, then
the outputs. A long program is cut into parts that pass values in an array: browsers interpret, and do not compile,
functions of more than about 60 kB of bytecode.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from sixd.codegen.js import JS
from sixd.codegen.lines import Lines, cut
from sixd.trace import Program, Slot, check
from sixd.trace.program import work_indices
from sixd.trace.stages import ProgramCall, Recipe

# statements of one function, and of the parts of a longer one. V8 leaves functions of more than 60 kB of bytecode to
# its interpreter; a statement takes up to 20 bytes. A humanoid's step took 270 µs while it was interpreted, then 21 µs;
# that of a disc on 32 points of contact took 300 µs in parts of 1000 statements, 130 µs in parts of 400 or 200 (on a
# busy machine); an arm's does not depend on it.
WHOLE, PART = 1000, 400


def emit_js_module(recipe: Recipe, programs: Mapping[str, Program]) -> str:
    """The body of a JavaScript function that returns the step of a recipe and programs by name; see above."""
    every = {id(work.program): work.program for work in recipe.works}
    every |= {id(program): program for program in programs.values()}
    names = {key: f"f{k}" for k, key in enumerate(every)}
    arrays = {name: f"a{k}" for k, name in enumerate(recipe.memory)}
    lines: list[str] = []
    for name, shape in recipe.memory.items():
        lines.append(f"const {arrays[name]} = new Float64Array({math.prod(shape)});")
    for key, program in every.items():
        lines += _definition(names[key], program)
    lines += ["function step() {", *(line for work in recipe.works for line in _call(work, names, arrays))]
    lines += [*_replacement(recipe, arrays), "}"]
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
    names = ", ".join((*inputs, *outputs))
    if len(lines.nodes) + len(lines.results) <= WHOLE:
        yield from (f"function {name}({names}) {{", *lines.whole(), "}")
        return
    parts = cut(lines.nodes, PART)
    last = {a.index: k for k, part in enumerate(parts) for n in part for a in n.args}
    last |= dict.fromkeys(lines.returned, len(parts))
    lines.work_index, size = work_indices(parts, last)
    yield f"const work_{name} = new Float64Array({size});"
    pieces = [*map(lines.statements, parts), *map(lines.writes, cut(lines.results, PART))]
    for k, piece in enumerate(pieces):
        yield from (f"function {name}_{k}(work, {names}) {{", *piece, "}")
    calls = (f"{name}_{k}(work_{name}, {names});" for k in range(len(pieces)))
    yield from (f"function {name}({names}) {{", *calls, "}")


# the step -----------------------------------------------------------------------------------------


def _call(work: ProgramCall, names: Mapping[int, str], arrays: Mapping[str, str]) -> Iterator[str]:
    """The statements of one call; a repeated one works on its outputs, which begin as its first inputs."""
    name, outputs = names[id(work.program)], [arrays[a] for a in work.outputs]
    inputs = [arrays[a] for a in work.inputs]
    if work.most == 1 and not work.when:
        yield f"{name}({', '.join((*inputs, *outputs))});"
        return
    yield from (f"{y}.set({x});" for y, x in zip(outputs, inputs, strict=False))
    inside = f"{name}({', '.join((*outputs, *inputs[len(outputs) :], *outputs))});"
    if work.most > 1:
        inside = f"for (let k = 0; k < {work.most}; k++) {{ {inside} if ({outputs[-1]}[0] === 1) break; }}"
    yield f"if ({arrays[work.when]}[0] !== 0) {inside}" if work.when else inside


def _replacement(recipe: Recipe, arrays: Mapping[str, str]) -> Iterator[str]:
    """The next state in the arrays of the state; results that are states themselves are copied first."""
    pairs = [(arrays[name], arrays[result]) for name, result in zip(recipe.state, recipe.results, strict=True)]
    states = {name for name, _ in pairs}
    copied = {result: f"b{k}" for k, (name, result) in enumerate(pairs) if result in states and result != name}
    yield from (f"const {copy} = {result}.slice();" for result, copy in copied.items())
    yield from (f"{name}.set({copied.get(result, result)});" for name, result in pairs if name != result)
