"""The entry of a recipe: one step of one row in scalar code, called from Python in the fast-call convention.

Arrays are accepted as by the entry of a program (``entry.py``); scalars are Python floats. Other arguments, and rows
whose guard is not 1, go to the fallback. The programs and the order of their calls are those of a rollout, so that a
row's bits are the same.
"""

from __future__ import annotations

from sixd.codegen.llvm.body import KINDS
from sixd.codegen.llvm.entry import (
    INT,
    _call,
    _finish,
    _load,
    _new_array,
    _require,
    _word,
)
from sixd.codegen.llvm.ir import POINTER, WORD, Module, Type, Value
from sixd.codegen.llvm.machine import (
    CONTIGUOUS_ALIGNED,
    DATA,
    DESCR,
    FLAGS,
    FLOAT_VALUE,
    NDIM,
    PAYLOAD,
    SHAPE,
    TYPE,
)
from sixd.codegen.llvm.rollout import Works
from sixd.trace.program import Slot
from sixd.trace.stages import Recipe


def emit_step(recipe: Recipe, dtype: str, has_fma: bool = True) -> str:
    """The module with ``PyObject *entry(PyObject *self, PyObject **args, Py_ssize_t nargs, PyObject *kwnames)``.

    Its arguments are the recipe's state and constants, and it returns the recipe's results.
    """
    module, type = Module(has_fma), Type(KINDS[dtype])
    works = Works(module, recipe, type)
    code, given = works.code, (*recipe.state, *recipe.constants)
    code.first_lines.append(f"  %context = getelementptr i8, ptr %self, i64 {PAYLOAD}")
    _require(code, Value(code, WORD, "%nargs").compare("eq", len(given)))
    _require(code, Value(code, POINTER, "%kwnames").compare("eq", 0))
    objects = {name: _load(code, "%args", 8 * k, POINTER) for k, name in enumerate(given)}
    classes = {name: _word(code, "array_type" if recipe.memory[name] else "float_type") for name in given}
    # all classes first: only arrays have the other fields
    for name, obj in objects.items():
        _require(code, _load(code, obj.text, TYPE, POINTER).compare("eq", classes[name]))
    for name, obj in objects.items():
        shape = recipe.memory[name]
        if not shape:
            number = _load(code, obj.text, FLOAT_VALUE, Type("double"))
            works.put(number if dtype == "float64" else number.convert(type.kind), works.start[name])
            continue
        _require(code, _load(code, obj.text, DESCR, POINTER).compare("eq", _word(code, "descr")))
        _require(code, (_load(code, obj.text, FLAGS, INT) & CONTIGUOUS_ALIGNED).compare("eq", CONTIGUOUS_ALIGNED))
        _require(code, _load(code, obj.text, NDIM, INT).compare("eq", len(shape)))
        sizes = _load(code, obj.text, SHAPE, POINTER)
        for k, n in enumerate(shape):
            _require(code, _load(code, sizes.text, 8 * k, WORD).compare("eq", n))
        data = _load(code, obj.text, DATA, POINTER)
        for j in range(works.count[name]):
            value = code.load(type, code.at(data, j * type.bytes), f"align {type.bytes}")
            works.put(value, works.start[name] + j)

    for work in recipe.works:
        works.work(work)
        if recipe.guard in work.outputs:
            _require(code, works.get(works.start[recipe.guard]).compare("oeq", 1.0))
    slots = tuple(Slot(name, recipe.memory[name], ()) for name in recipe.results)
    arrays = [_new_array(code, k, slot, dtype) for k, slot in enumerate(slots)]
    for array, slot in zip(arrays, slots, strict=True):
        data = _load(code, array.text, DATA, POINTER)
        for j in range(works.count[slot.name]):
            value = works.get(works.start[slot.name] + j)
            code.do(f"store {value}, {code.at(data, j * type.bytes)}, align {type.bytes}")
    code.do(f"ret {_finish(code, slots, arrays)}")
    code.begin("failed")
    code.do("ret ptr null")
    code.begin("decline")
    fallback = _word(code, "fallback")
    code.do(f"ret {_call(code, 'ptr', 'vectorcall', f'{fallback}, ptr %args, i64 %nargs, ptr %kwnames')}")
    module.define("entry", "ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind", code)
    return str(module)
