"""Parameters of a model as inputs of a program: the model with traced scalars instead of its numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from sixd.algorithms.constrained.rank import derived
from sixd.constraints.reduced_model import Reduced
from sixd.errors import unknown_name
from sixd.model.model import Model
from sixd.model.numbers import map_numbers
from sixd.model.system import System
from sixd.spatial.expressions import evaluate_expressions
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import is_sympy

# names of a model's parameters, with the shape of the input
PARAMETERS = {
    "inertia": ("nb", 10),
    "gravity": (3,),
    "placements": ("nb", 4, 4),
    "damping": ("nv",),
    "friction": ("nv",),
    "armature": ("nv",),
}


def parameter_shape(where: str, model: System, name: str) -> tuple[int, ...]:
    """The core shape of a parameter: one of ``PARAMETERS``, or a symbol of the model by its name."""
    model = model.model if isinstance(model, Reduced) else model
    if name in PARAMETERS and isinstance(model, Model):
        return tuple(getattr(model, n) if isinstance(n, str) else n for n in PARAMETERS[name])
    symbols = sorted(map(str, model.symbols))
    if name not in symbols:
        known = PARAMETERS if isinstance(model, Model) else ()
        raise unknown_name(f"{where}: parameters", "parameter", name, (*known, *symbols))
    return ()


def with_parameters(model: System, values: Mapping[str, Any]) -> System:
    """The model with the parameters of these names replaced; a symbol's value is a scalar."""
    original = model
    if isinstance(model, Reduced):
        return derived(Reduced(cast(Model, with_parameters(model.model, values))), original)
    if not isinstance(model, Model):
        return derived(model.with_values(values), original)
    symbols = {name: x for name, x in values.items() if name not in PARAMETERS}
    if symbols:
        model = _with_symbols(model, symbols)
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name == "inertia":
            # the world's entry is kept
            bodies = [Inertia.from_parameters(row).matrix for row in value]
            fields["inertia"] = np.array([model.inertia[0].astype(object), *bodies])
        elif name == "placements":
            fields["placement"] = np.array([model.placement[0].astype(object), *value])
        elif name in PARAMETERS:
            fields[name] = value
    return derived(dataclasses.replace(model, **fields), original)


def _with_symbols(model: Model, values: Mapping[str, Any]) -> Model:
    table = {s: values[str(s)] for s in model.symbols if str(s) in values}

    def change(x: Any) -> Any:
        return evaluate_expressions([x], table, "compile")[0] if is_sympy(x) else x

    return map_numbers(model, change)
