"""A loop over time around a recipe: rollouts of many rows, with the arrays of a vector of rows in one block of memory.

The inner loop of a generalised ufunc ``(),(r),(state)…,(constant)…,(r,series)…->(state) or (r,recorded)…``: the number
of records, the number of steps before each of them, and the inputs of the recipe; then its outputs, with an entry for
each record of those that are recorded. Each entry of the memory is a vector, one row per lane; rows are transposed only
when they are read and recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sixd.codegen.llvm.body import KINDS
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, Module, Type, Value
from sixd.codegen.llvm.loop import define_loop
from sixd.codegen.llvm.recipes.works import Works
from sixd.trace.recipe import Recipe, Repeated, calls_in

_MOSTLY = 0.9  # of the operations of a step, in its parts: the others are repeated with each part
HEAD = 2  # arrays before those of the recipe: the number of records, and the steps before each


def emit_rollout(recipe: Recipe, dtype: str, lanes: int, has_fma: bool = True) -> str:
    """The LLVM module with ``loop``."""
    module = Module(has_fma)
    type, one = Type(KINDS[dtype], lanes), Type(KINDS[dtype])
    works = Works(module, recipe, type, may_be_on_heap=True)
    code = works.code

    def number(address: Value) -> Value:
        """The whole number at an address, stored as a float."""
        return code.emit(WORD, f"fptosi {code.load(one, address, f'align {one.bytes}')} to i64")

    records = number(code.load(POINTER, code.at("%rows_of", 0), "align 8"))
    counts = code.load(POINTER, code.at("%rows_of", 8 * lanes), "align 8")
    write_rollout(works, HEAD, records, lambda record: number(code.at(counts, record * one.bytes)))
    works.free()
    code.do("ret i1 false")
    head = "internal i1 @vector(ptr %rows_of, ptr %context, i1 %direct) noinline"
    module.define("vector", f"{head} {ATTRIBUTES}", code)
    define_loop(module, HEAD + len(recipe.inputs) + len(recipe.outputs), lanes, {})
    return str(module)


def divided(recipe: Recipe) -> Repeated | None:
    """Return the loop over the parts of a step, if a step is little else than such a loop."""
    if recipe.guard or set(recipe.outputs) - set(recipe.state):
        return None  # what else is recorded would be that of a row's next step
    loops = [work for work in recipe.works if isinstance(work, Repeated)]
    if len(loops) != 1 or loops[0].when or loops[0].tape or loops[0].rewinds or loops[0].most == 1:
        return None
    inside = sum(call.program.operations for call in calls_in(loops[0].works))
    return loops[0] if inside > _MOSTLY * recipe.operations else None


def write_rollout(works: Works, first: int, records: Value, steps_before: Callable[[Value], Value]) -> None:
    """Append the whole rollout of a vector of rows; ``first`` is the number of the recipe's first array, and
    ``steps_before(record)`` that of the steps before a record.

    Rows whose guard is not 1 are counted, and their state is NaN.
    """
    code, recipe = works.code, works.recipe
    fixed = len(recipe.inputs) - len(recipe.series)
    for k, name in enumerate(recipe.inputs[:fixed]):
        works.read(first + k, name)

    def write_record(record: Value) -> None:
        at = records - 1 - record if recipe.backwards else record
        for k, name in enumerate(recipe.series):
            works.read(first + fixed + k, name, at)
        loop = divided(recipe)
        if loop is None:
            code.repeat(steps_before(at), lambda _: _write_step(works))
        else:
            works.steps_by_parts(loop, steps_before(at))
        for name, k in targets.items():
            if recipe.outputs[name]:
                works.write(k, name, at)

    targets = {name: first + len(recipe.inputs) + k for k, name in enumerate(recipe.outputs)}
    code.repeat(records, write_record)
    for name, k in targets.items():
        if not recipe.outputs[name]:
            works.write(k, name, 0)


def _write_step(works: Works) -> None:
    code, recipe = works.code, works.recipe
    works.step()
    works.copy(recipe.results, recipe.state)
    if not recipe.guard:
        return
    code.do("br label %stepped")
    code.begin("leave")
    code.emit(WORD, f"atomicrmw add ptr %context, {works.rows.count_once()} monotonic")
    for name in recipe.state:
        for j in range(works.count[name]):
            works.put(code.const(math.nan, works.type), works.start[name] + j)
    code.do("br label %stepped")
    code.begin("stepped")
