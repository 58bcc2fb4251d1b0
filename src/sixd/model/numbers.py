"""The numbers of a model: floats throughout, or, beside symbols, whole numbers kept exact."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sixd.model.joints import with_numbers
from sixd.model.model import Model
from sixd.spatial.scalar import Array, exact, is_object


def normalize_numbers(model: Model) -> Model:
    """The model with floats in arrays, joints, frames and constraints; beside symbols, with exact arrays and frames."""
    settle_array = exact if model.symbols else _to_float
    arrays: dict[str, Any] = {name: settle_array(array) for name, array in arrays_of(model).items()}
    if model.symbols:
        exactly = {name: dataclasses.replace(f, pose=exact(f.pose)) for name, f in model.frames.items()}
        return dataclasses.replace(model, frames=exactly, **arrays)
    frames = {
        name: dataclasses.replace(f, pose=f.pose.astype(float)) if is_object(f.pose) else f
        for name, f in model.frames.items()
    }
    constraints = tuple(map(with_numbers, model.constraints))
    joints = tuple(map(with_numbers, model.joints))
    return dataclasses.replace(model, joints=joints, frames=frames, constraints=constraints, **arrays)


def _to_float(array: Array) -> Array:
    return array.astype(float)


def arrays_of(model: Model) -> dict[str, Array]:
    """The fields of a model that are arrays, by name."""
    fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
