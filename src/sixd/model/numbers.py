"""The numbers in a model: converted to one type, mapped one at a time, substituted for symbols.

A model without symbols holds floats; next to symbols whole numbers stay exact. Functions that accept a model return a
new one by ``dataclasses.replace``, so nothing here needs the class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.model.joints import BUILT_IN, replace_parameters, verify_joint, with_numbers
from sixd.model.parts import Frame
from sixd.spatial.scalar import Array, Scalar, exact, require_scalars

if TYPE_CHECKING:
    from sixd.model.model import Model
    from sixd.model.system import System


def normalize_numbers(model: Model) -> Model:
    """Return the model with floats everywhere or, if it has symbols, with exact numbers in its arrays and frames."""
    if model.symbols:
        return _mapped(model, exact, lambda part: part)
    return _mapped(model, lambda array: array.astype(float), with_numbers)


def map_numbers(model: Model, change: Callable[[Any], Any]) -> Model:
    """Return the model with ``change`` applied to every number of its arrays, joints, frames and constraints."""
    every = np.vectorize(change, otypes=[object])
    return _mapped(model, lambda a: every(a) if a.size else a, lambda part: replace_parameters(part, change))


def _mapped(model: Model, arrays: Callable[[Array], Array], parts: Callable[[Any], Any]) -> Model:
    """Return the model with a function applied to its arrays and poses, and another to its joints and constraints."""
    fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}
    changes: dict[str, Any] = {name: arrays(x) for name, x in fields.items() if isinstance(x, np.ndarray)}
    changes |= {name: tuple(map(parts, fields[name])) for name in ("joints", "constraints")}
    frames = {name: Frame(f.body, arrays(f.pose), f.parent) for name, f in model.frames.items()}
    collisions = tuple(dataclasses.replace(c, pose=arrays(c.pose)) for c in model.collisions)
    return dataclasses.replace(model, frames=frames, collisions=collisions, **changes)


def substitute(model: Model, values: Mapping[Any, Any]) -> Model:
    """See ``Model.substitute``."""
    table = substitutions(model, values)

    def replaced(x: Scalar) -> Any:
        if not hasattr(x, "xreplace"):
            return x
        new = x.xreplace(table)  # all at once, so that symbols can be exchanged
        if not new.free_symbols and not (new.is_real and new.is_finite):
            raise ModelError(f"substitute: {x} becomes {new} in model {model.name!r}, expected a finite number.")
        return new

    new = normalize_numbers(map_numbers(model, replaced))
    for i in new.bodies if not new.symbols else ():
        if type(new.joints[i]) not in BUILT_IN:  # not verified yet, if a parameter was symbolic
            verify_joint(new.joints[i], name=new.joint_names[i - 1])
    return new


def substitutions(system: System, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the new expression of each symbol in ``values``; a name stands for every symbol of that name."""
    import sympy

    try:
        pairs = dict(values).items()
    except (TypeError, ValueError):
        raise ScalarTypeError(f"substitute: got {values!r}, expected a mapping such as {{m1: 2.0}}.") from None
    table: dict[Any, Any] = {}
    for key, value in pairs:
        matches = [s for s in system.symbols if s == key or (isinstance(key, str) and str(s) == key)]
        if not matches:
            names = dict.fromkeys(map(str, system.symbols))
            raise unknown_name(f"substitute: model {system.name!r}", "symbol", str(key), names)
        require_scalars(f"substitute: {key}", value)
        new = sympy.sympify(value)
        if not isinstance(new, sympy.Expr) or (new.is_number and not (new.is_real and new.is_finite)):
            raise ModelError(f"substitute: {key} is {value!r}, expected a finite number or an expression.")
        table |= dict.fromkeys(matches, new)
    return table
