"""Models as dictionaries with the original fields, and the sixd Model of their current values.

A model has NB, parent (1-based, 0 is the base), jtype, Xtree and I, and may have gravity, gamma_q, appearance, camera
and gc; cells are lists. Exercises change models between calls, so every call compares or reads the fields again. Any
symmetric inertia is accepted, physical or not. Planar models (3×3) move in the xy-plane.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.io.spatial_v2.drawing import read_appearance
from sixd.io.spatial_v2.structures import Parts, read
from sixd.model.joints import Fixed
from sixd.model.model import Model
from sixd.model.parts import PER_V, Frame
from sixd.spatial.scalar import exact, is_object

_STRUCTURES = ("appearance", "camera", "gc", "pars")  # fields of models and joint types that have fields


class Struct(dict[str, Any]):
    """A dictionary whose entries are also attributes: ``model.NB`` is ``model["NB"]``.

    Dictionaries in it become structures: ``model.camera.zoom``. As in MATLAB, structures of a model are created by
    assignment: ``model.camera.zoom = 2`` creates ``model.camera``. Unlike in MATLAB, assignment does not copy arrays
    and lists: ``copy.deepcopy(model)`` returns an independent model.
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            if type(self[name]) is dict:
                self[name] = Struct(self[name])
            return self[name]
        if name in _STRUCTURES:
            return _Unassigned(self, name)
        raise AttributeError(f"no field {name!r}; there are {', '.join(self)}. A structure in it: .{name} = Struct().")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        getattr(self, name)  # raises if it does not exist
        del self[name]


class _Unassigned(Struct):
    """An empty structure that becomes a field of its owner as soon as it has a field."""

    def __init__(self, owner: Struct, name: str) -> None:
        super().__init__()
        self.__dict__.update(owner=owner, name=name)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.__dict__["owner"][self.__dict__["name"]] = Struct(self)


def to_model(model: Mapping[str, Any]) -> Model:
    """Return the sixd Model of the dictionary's current values; bodies are ``body1`` …, joints ``joint1`` …

    Unlike ``sixd.load`` it accepts any symmetric inertia, such as that of a massless body with a negative moment. Its
    visuals are those of ``appearance``.
    """
    return read_model("to_model", model)[0]


def read_model(where: str, model: Mapping[str, Any]) -> tuple[Model, Parts]:
    """Return the sixd Model of a dictionary, its appearance included, and the values read from it."""
    parts = read(where, model, several=True)
    visuals = read_appearance(where, model.get("appearance"), parts.count)
    return dataclasses.replace(assemble(parts), visuals=visuals), parts


def assemble(parts: Parts) -> Model:
    """Return the sixd Model, constructed without the builder, which refuses unphysical inertias."""
    n = parts.count
    nq, nv = sum(j.nq for j in parts.joints), sum(j.nv for j in parts.joints)
    per_v: dict[str, Any] = {key: np.full(nv, np.inf if key.endswith("limit") else 0.0) for key in PER_V}
    names = tuple(f"body{i}" for i in range(1, n + 1))
    # a model with symbols has exact whole numbers, so that no 1.0 appears in its equations
    tidy = exact if is_object(parts.placement, parts.inertia, parts.gravity) else np.asarray
    frames = {name: Frame(i, np.eye(4)) for i, name in enumerate(("world", *names))}
    return Model(
        name="spatial_v2", parent=(-1, *parts.parent), joints=(Fixed(), *parts.joints), body_names=names,
        joint_names=tuple(f"joint{i}" for i in range(1, n + 1)),
        placement=tidy(np.concatenate([np.eye(4)[None], parts.placement])),
        inertia=tidy(np.concatenate([np.zeros((1, 6, 6)), parts.inertia])), gravity=tidy(parts.gravity),
        lower=np.full(nq, -np.inf), upper=np.full(nq, np.inf), rest=np.zeros(nq), frames=frames, **per_v,
    )  # fmt: skip
