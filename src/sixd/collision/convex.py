"""``sixd.convex_collisions``: the meshes among a model's collision shapes replaced by convex hulls or parts."""

from __future__ import annotations

import dataclasses
import warnings
from fnmatch import fnmatchcase
from pathlib import Path

from sixd.errors import FileError, ModelError, ModelWarning, user_level
from sixd.geometry.decomposition import CONCAVITY, convex_parts
from sixd.geometry.hulls import MOST_VERTICES, Hull, convex_hull
from sixd.model.model import Model, require_model
from sixd.model.parts import Collision, Finding, Shape
from sixd.notebook import listed

# of the volume by which a hull may exceed its mesh without a warning: of 323 closed collision meshes of robots 52 % are
# within 0.05, and 45 % exceed 0.1
MOST_EXCESS = 0.1
_MOST_NAMES = 4  # in a warning


def convex_collisions(
    model: Model, names: str = "*", *, vertices: int | None = MOST_VERTICES, decompose: bool | float = False
) -> Model:
    """Return the model with the meshes among its collision shapes replaced by convex hulls.

    Parameters
    ----------
    names : a pattern, such as "gripper_*": only shapes whose name it matches are replaced.
    vertices : a hull with more vertices is simplified to so many of them, and lies inside the exact one; None keeps
        exact hulls.
    decompose : True, or a concavity from 0.01 to 1 (0.05 if True): replaces each mesh by several convex parts,
        NAME:1, NAME:2 … This requires the package coacd, takes seconds a mesh, and is cached on disk.

    The notes of the model (``sixd.check`` prints them) state how far each simplified hull deviates [m]. A warning names
    meshes that are missing, whose shapes are left out, and those that their hulls exceed by more than a tenth of their
    volume. Files are read once in a process as long as they do not change.

    >>> import sixd
    >>> corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    >>> arm = sixd.zoo.pendulum().with_collision("world", sixd.Shape("mesh", vertices=corners))
    >>> sixd.convex_collisions(arm).collisions[0].shape.kind
    'hull'
    """
    require_model("convex_collisions", model)
    _require_match(model, names)
    collisions: list[Collision] = []
    new_names: dict[str, list[str]] = {}
    notes: list[Finding] = []
    for c in model.collisions:
        if c.shape.kind != "mesh" or not fnmatchcase(c.name, names):
            collisions.append(c)
            continue
        try:
            hulls = _hulls(c.shape, vertices, decompose)
        except (FileError, ModelError) as error:
            notes.append(Finding("lost-mesh", c.name, str(error).partition(": ")[2]))
            hulls = []
        own = [c.name] if not decompose else [f"{c.name}:{k}" for k in range(1, len(hulls) + 1)]
        new_names[c.name] = own if hulls else []
        for name, hull in zip(own, hulls, strict=False):
            shape = Shape("hull", vertices=hull.vertices, triangles=hull.triangles)
            collisions.append(dataclasses.replace(c, shape=shape, name=name))
            notes += _findings(name, c.shape, hull)
    _warn(notes)
    paired = ((c, tuple(n for old in c.paired for n in new_names.get(old, [old]))) for c in collisions)
    replaced = tuple(dataclasses.replace(c, paired=others) if c.paired else c for c, others in paired)
    kept = tuple(note for note in notes if note not in model.notes)
    return dataclasses.replace(model, collisions=replaced, notes=(*model.notes, *kept))


def _require_match(model: Model, names: str) -> None:
    """Raise unless the pattern is that of some collision shape, or of all."""
    if names != "*" and not any(fnmatchcase(c.name, names) for c in model.collisions):
        known = listed([repr(c.name) for c in model.collisions], _MOST_NAMES) or "it has none"
        raise ModelError(f"convex_collisions: names is {names!r}, expected a pattern of collision shapes: {known}.")


def _hulls(shape: Shape, vertices: int | None, decompose: bool | float) -> list[Hull]:
    if decompose is False:
        return [convex_hull(shape, most=vertices)]
    return convex_parts(shape, concavity=CONCAVITY if decompose is True else decompose, most=vertices)


def _findings(name: str, shape: Shape, hull: Hull) -> list[Finding]:
    file = "its mesh" if shape.file is None else f"the mesh {Path(shape.file).name}"
    found = []
    if hull.deviation:
        message = f"{file} reaches up to {1e3 * hull.deviation:.3g} mm beyond its hull of {len(hull.vertices)} vertices"
        found.append(Finding("simplified-hull", name, message, True))
    if hull.excess > MOST_EXCESS:
        message = f"{file} is not convex: the volume of its hull is {100 * hull.excess:.0f} % larger"
        found.append(Finding("not-convex", name, message, True))
    return found


def _warn(notes: list[Finding]) -> None:
    """Warn of meshes that are missing, and of those that are not convex."""
    lost = [f"{n.where}: {n.message}" for n in notes if n.code == "lost-mesh"]
    if lost:
        reasons = listed(lost, _MOST_NAMES).removesuffix(".")
        text = (
            f"convex_collisions: {len(lost)} collision shapes are left out. {reasons}. Correct these files, name their "
            f"folder by package_dirs= of sixd.load, or add other shapes by model.with_collision."
        )
        warnings.warn(text, ModelWarning, stacklevel=user_level())
    concave = [f"{n.where}: {n.message}" for n in notes if n.code == "not-convex"]
    if concave:
        text = (
            f"convex_collisions: {len(concave)} collision meshes are not convex, their hulls are used: "
            f"{listed(concave, _MOST_NAMES)}. decompose=True replaces them by convex parts."
        )
        warnings.warn(text, ModelWarning, stacklevel=user_level())
