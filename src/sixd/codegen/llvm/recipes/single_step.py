"""A recipe as one call: a single step of one row in scalar code, or of rows, a vector of them at a time.

The programs and the order of their calls are those of a rollout, so that a row's bits are the same. A row whose guard
is not 1 is reported as suspect, and the caller has to do its step.
"""

from __future__ import annotations

from sixd.codegen.llvm.body import KINDS
from sixd.codegen.llvm.ir import ATTRIBUTES, POINTER, WORD, Module, Type
from sixd.codegen.llvm.loop import define_loop
from sixd.codegen.llvm.machine import NO_MEMORY, offset
from sixd.codegen.llvm.recipes.programs import ROLLED_FROM
from sixd.codegen.llvm.recipes.works import Works
from sixd.codegen.llvm.rolled import is_large
from sixd.trace.recipe import Recipe


def emit_step(recipe: Recipe, dtype: str, lanes: int, has_fma: bool = True) -> str:
    """The module with ``entry`` (one lane) or ``loop``, as for a program; arrays: state, constants, results."""
    module = Module(has_fma)
    works = Works(module, recipe, Type(KINDS[dtype], lanes))
    if lanes > 1:
        _define_vector(works, recipe.inputs)
        define_loop(module, len(recipe.inputs) + len(recipe.results), lanes, {})
    else:
        _define_entry(works, recipe.inputs)
    return str(module)


def _define_entry(works: Works, inputs: tuple[str, ...]) -> None:
    """Define ``bool entry(char **arrays, void *context)``: one row, and whether the caller has to do it."""
    code, type, results = works.code, works.type, works.recipe.results
    data = [code.load(POINTER, code.at("%arrays", 8 * k), "align 8") for k in range(len(inputs) + len(results))]
    for address, name in zip(data, inputs, strict=False):
        for j in range(works.count[name]):
            value = code.load(type, code.at(address, j * type.bytes), f"align {type.bytes}")
            works.put(value, works.start[name] + j)
    works.step()
    for address, name in zip(data[len(inputs) :], results, strict=True):
        for j in range(works.count[name]):
            value = works.get(works.start[name] + j)
            code.do(f"store {value}, {code.at(address, j * type.bytes)}, align {type.bytes}")
    _end(works)
    works.module.define("entry", "zeroext i1 @entry(ptr %arrays, ptr %context) nounwind", code)


def _define_vector(works: Works, inputs: tuple[str, ...]) -> None:
    """Define ``i1 vector(ptr rows_of, ptr context, i1 direct)``: one vector of rows, and whether it has such a row."""
    for k, name in enumerate(inputs):
        works.read(k, name)
    works.step()
    for k, name in enumerate(works.recipe.results):
        works.write(len(inputs) + k, name, 0)
    _end(works)
    head = "internal i1 @vector(ptr %rows_of, ptr %context, i1 %direct) noinline"
    works.module.define("vector", f"{head} {ATTRIBUTES}", works.code)


def _end(works: Works) -> None:
    """Return: suspect is also a row for which there was no memory."""
    code = works.code
    if any(is_large(program, ROLLED_FROM) for program in works.recipe.programs):
        count = code.load(WORD, code.at("%context", offset("count")), "align 8")
        code.do(f"ret {count.compare('uge', NO_MEMORY)}")
    else:
        code.do("ret i1 false")
    code.begin("leave")
    code.do("ret i1 true")
