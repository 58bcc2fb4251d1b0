"""Parameters of a model as inputs of a program: the model with traced scalars in the place of its numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd import spatial
from sixd.errors import unknown_name
from sixd.model.edit import map_numbers
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.inertia import Inertia

# what a model's numbers can be called, with the shape of the input
PARAMETERS = {
    "inertia": ("nb", 10),
    "gravity": (3,),
    "placements": ("nb", 4, 4),
    "damping": ("nv",),
    "friction": ("nv",),
    "armature": ("nv",),
}
_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan2": "atan2", "sqrt": "sqrt",
    "exp": "exp", "log": "log", "sign": "sign", "Abs": "absolute", "Min": "minimum", "Max": "maximum",
}  # fmt: skip


def parameter_shape(where: str, model: System, name: str) -> tuple[int, ...]:
    """The core shape of a parameter: one of ``PARAMETERS``, or a symbol of the model by its name."""
    if name in PARAMETERS and isinstance(model, Model):
        return tuple(getattr(model, n) if isinstance(n, str) else n for n in PARAMETERS[name])
    symbols = sorted(map(str, model.symbols))
    if name not in symbols:
        known = PARAMETERS if isinstance(model, Model) else ()
        raise unknown_name(f"{where}: parameters", "parameter", name, (*known, *symbols))
    return ()


def with_parameters(model: System, values: Mapping[str, Any]) -> System:
    """The model with the parameters of these names replaced; a symbol's value is a scalar."""
    if not isinstance(model, Model):
        return model.with_values(values)
    symbols = {name: x for name, x in values.items() if name not in PARAMETERS}
    if symbols:
        model = _with_symbols(model, symbols)
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name == "inertia":
            # the world's entry stays
            bodies = [Inertia.from_parameters(row).matrix for row in value]
            fields["inertia"] = np.array([model.inertia[0].astype(object), *bodies])
        elif name == "placements":
            fields["placement"] = np.array([model.placement[0].astype(object), *value])
        elif name in PARAMETERS:
            fields[name] = value
    return dataclasses.replace(model, **fields)


def _with_symbols(model: Model, values: Mapping[str, Any]) -> Model:
    import sympy

    names = {sympy.Symbol(f"_{k}"): s for k, s in enumerate(sorted(model.symbols, key=str))}
    given = [values.get(str(s), s) for s in names.values()]
    functions = {theirs: getattr(spatial, ours) for theirs, ours in _FUNCTIONS.items()}

    def change(x: Any) -> Any:
        if not getattr(x, "free_symbols", None):
            return float(x) if hasattr(x, "free_symbols") else x
        plain = x.xreplace({s: dummy for dummy, s in names.items()})
        return sympy.lambdify(list(names), plain, modules=[functions, "math"])(*given)

    return map_numbers(model, change)
