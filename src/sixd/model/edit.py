"""New models from old ones: lock joints, extract a subtree, attach a model, add constraints, frames and payloads.

The functions behind the methods of ``Model`` that need a ``ModelBuilder``; ``register`` makes them known to
that class, which this module and the builder import.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from sixd.errors import ModelError, ModelWarning, ScalarTypeError, ShapeError, look_up, require_known
from sixd.model import validate
from sixd.model.builder import ModelBuilder
from sixd.model.constraint import Constraint, renamed, warn_of_zero_rows, with_followers
from sixd.model.joints import Fixed, Free
from sixd.model.model import Model
from sixd.model.numbers import normalize_numbers
from sixd.model.parts import FILE, PROPERTIES, Frame, Shape, with_names
from sixd.model.system import register
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, is_object, is_zero, require_scalars
from sixd.spatial.transform import compose, pose_from_transform

_EXAMPLE = "(sixd.Shape('box', (0.1, 0.1, 0.2)),)"


@register
def lock(model: Model, joints: Mapping[str, Any]) -> Model:
    """See ``Model.lock``."""
    if not isinstance(joints, Mapping):
        raise ScalarTypeError(f"lock: joints are {joints!r}, expected a mapping such as {{'elbow': 0.3}}.")
    builder = ModelBuilder.from_model(model)
    joints = with_followers(joints, model.constraints)
    for name, value in joints.items():
        i = model.joint_index(name)
        joint = model.joints[i]
        require_scalars(f"lock: joint {name!r}", value)
        q = np.atleast_1d(np.asarray(value))
        if q.shape != (joint.nq,):
            raise ShapeError(f"lock: joint {name!r} got shape {np.shape(value)}, expected {joint.nq} coordinates.")
        if q.dtype != object and not np.isfinite(q.astype(float)).all():
            raise ModelError(f"lock: joint {name!r} is {q.tolist()}, expected finite coordinates.")
        entry = builder.entries[i]
        with np.errstate(all="ignore"):
            X = np.asarray(joint.transform(q))
        if not is_object(X) and not np.isfinite(X).all():
            raise ModelError(f"lock: joint {name!r} is {q.tolist()}, expected a configuration. Is its quaternion zero?")
        held = compose(entry.placement, pose_from_transform(X))
        builder.entries[i] = dataclasses.replace(entry, joint=Fixed(), placement=held)
    _drop_constraints(builder, set(joints), "lock")
    return builder.build()


@register
def submodel(model: Model, body: str) -> Model:
    """See ``Model.submodel``."""
    root = model.body_index(body)
    kept = sorted(model.tree.subtree(root))
    number = {0: 0} | {old: new + 1 for new, old in enumerate(kept)}
    whole = ModelBuilder.from_model(model)
    part = ModelBuilder(f"{model.name}/{body}", model.gravity)
    for old in kept:
        entry = whole.entries[old]
        part.entries.append(dataclasses.replace(entry, parent=number[entry.parent] if old != root else 0))
        part.joint_numbers[entry.joint_name] = number[old]
    if model.parent[root]:  # the new world is another body, so all that is fixed to the old one is dropped
        del number[0]
    else:
        part.entries[0] = whole.entries[0]
    part.frames |= {
        name: dataclasses.replace(f, body=number[f.body]) for name, f in model.frames.items() if f.body in number
    }
    part.visuals = [dataclasses.replace(v, body=number[v.body]) for v in model.visuals if v.body in number]
    part.collisions = [dataclasses.replace(c, body=number[c.body]) for c in model.collisions if c.body in number]
    part.notes = [n for n in model.notes if n.where in part.frames or n.where in part.joint_numbers]
    part.configurations = whole.configurations
    part.disabled_collisions = [pair for pair in model.disabled_collisions if set(pair) <= set(part.frames)]
    part.constraints = list(model.constraints)
    lost = set(model.frames) - set(part.frames) | ({"world"} if model.parent[root] else set())
    _drop_constraints(part, set(model.joint_names) - set(part.joint_numbers), "submodel", lost)
    return part.build()


@register
def attach(model: Model, other: Model, frame: str, *, placement: ArrayLike | None, prefix: str) -> Model:
    """See ``Model.attach``."""
    if not isinstance(other, Model) or not isinstance(prefix, str):
        raise ScalarTypeError(f"attach: got {other!r} with the prefix {prefix!r}, expected a sixd.Model and a string.")
    base = model.frame(frame, "attach")
    T = compose(base.pose, validate.pose("attach: placement", placement))
    builder, guest = ModelBuilder.from_model(model), ModelBuilder.from_model(other)
    guest_name = partial(_prefixed, prefix=prefix, world=frame)

    def moved(body: int, pose: Array) -> tuple[int, Array]:
        """Return the new body, and the pose in it, for a pose in a body of ``other``."""
        return (body + model.nb, pose) if body else (base.body, compose(T, pose))

    def taken(name: str, kind: str) -> ModelError:
        return ModelError(f"attach: {name!r} names a {kind} in both models, expected different names. Give prefix='…'.")

    # bodies with their joints, and the inertia fixed to the other world
    for entry in guest.entries[1:]:
        parent, pose = moved(entry.parent, entry.placement)
        name, joint_name = prefix + entry.name, prefix + entry.joint_name
        if name in builder.frames or joint_name in builder.joint_numbers:
            raise taken(name, "body or joint")
        builder.joint_numbers[joint_name] = len(builder.entries)
        builder.entries.append(
            dataclasses.replace(entry, parent=parent, placement=pose, name=name, joint_name=joint_name)
        )
    fixed = guest.entries[0].inertia
    if not all(map(is_zero, fixed.parameters)):
        builder.add_inertia(frame, fixed, placement)

    # frames and shapes
    for name, f in ((guest_name(old), f) for old, f in other.frames.items() if old != "world"):
        if name in builder.frames:
            raise taken(name, "frame")
        builder.frames[name] = Frame(*moved(f.body, f.pose), guest_name(f.parent))
    _attach_shapes(builder, other, prefix, moved, guest_name)
    _attach_constraints(builder, other, frame, placement, prefix)
    if other.nq:
        _drop_constraints(builder, set(), "attach")

    for name, values in guest.configurations.items():
        own = builder.configurations.setdefault(name if name == FILE else prefix + name, {})
        own |= {prefix + joint: q for joint, q in values.items()}
    builder.disabled_collisions += [(guest_name(a), guest_name(b)) for a, b in other.disabled_collisions]
    builder.notes.extend(dataclasses.replace(n, where=prefix + n.where) for n in other.notes)
    return builder.build()


def _attach_shapes(
    builder: ModelBuilder,
    other: Model,
    prefix: str,
    moved: Callable[[int, Array], tuple[int, Array]],
    guest_name: Callable[[str], str],
) -> None:
    """Add the shapes of ``other``, to draw and for collisions; names of the latter are made different."""
    for v in other.visuals:
        body, pose = moved(v.body, v.pose)
        builder.visuals.append(dataclasses.replace(v, body=body, pose=pose))
    names = _new_names([c.name for c in other.collisions], prefix, {c.name for c in builder.collisions})
    for c in other.collisions:
        body, pose = moved(c.body, c.pose)
        paired = tuple(names.get(name, name) for name in c.paired)
        new = dataclasses.replace(c, body=body, pose=pose, name=names[c.name], link=guest_name(c.link), paired=paired)
        builder.collisions.append(new)


def _attach_constraints(
    builder: ModelBuilder, other: Model, frame: str, placement: ArrayLike | None, prefix: str
) -> None:
    """Add the constraints of ``other``; those with its world get a frame there."""
    world = f"{prefix or other.name + ':'}world"
    if any("world" in c.frames for c in other.constraints):
        builder.add_frame(world, frame, placement)
    for c in other.constraints:
        builder.constraints.append(
            renamed(c, lambda joint: prefix + joint, lambda f: world if f == "world" else _prefixed(f, prefix, frame))
        )


def _new_names(names: Iterable[str], prefix: str, used: set[str]) -> dict[str, str]:
    """Return new names by the old ones: with ``prefix``, and with underscores appended until they are not ``used``."""
    new: dict[str, str] = {}
    for name in names:
        new[name] = prefix + name
        while new[name] in used:
            new[name] += "_"
        used.add(new[name])
    return new


@register
def with_constraints(model: Model, constraints: Sequence[Constraint]) -> Model:
    """See ``Model.with_constraints``."""
    builder = ModelBuilder.from_model(model)
    for c in constraints:
        builder.add_constraint(c)
    found = normalize_numbers(dataclasses.replace(model, constraints=tuple(builder.constraints)))
    warn_of_zero_rows("with_constraints", found, len(model.constraints), level=4)
    return found


@register
def with_frame(model: Model, name: str, parent: str, placement: ArrayLike | None) -> Model:
    """See ``Model.with_frame``."""
    builder = ModelBuilder.from_model(model)
    builder.add_frame(name, parent, placement)
    return normalize_numbers(dataclasses.replace(model, frames=builder.frames))


@register
def with_collision(
    model: Model, frame: str, shape: Shape, placement: ArrayLike | None, *, name: str, **masks: int | None
) -> Model:
    """See ``Model.with_collision``."""
    builder = ModelBuilder.from_model(model)
    builder.add_collision(frame, shape, placement, name=name, **masks)
    return normalize_numbers(dataclasses.replace(model, collisions=with_names(builder.collisions, model.frames)))


@register
def with_joints(model: Model, joints: Mapping[str, Mapping[str, ArrayLike]] | None, values: Mapping[str, Any]) -> Model:
    """See ``Model.with_joints``."""
    where, example = "with_joints", "{'friction': 0.2}"
    given: dict[str, dict[str, Any]] = {name: {} for name in model.joint_names}
    for key, value in values.items():
        for name, x in _each_joint(f"{where}: {key}", model, key, value):
            look_up(f"{where}: {key}", "joint", name, given)[key] = x
    if joints is not None and not isinstance(joints, Mapping):
        raise ScalarTypeError(f"{where}: joints is {joints!r}, expected a mapping such as {{'elbow': {example}}}.")
    for name, own in (joints or {}).items():
        known = look_up(where, "joint", name, given)
        if not isinstance(own, Mapping):
            raise ScalarTypeError(f"{where}: joint {name!r} is {own!r}, expected a mapping such as {example}.")
        for key in own:
            require_known(f"{where}: joint {name!r}", "property", key, PROPERTIES)
        known |= own
    builder, before = ModelBuilder.from_model(model), set(validate.property_findings(model))
    for i, (name, own) in enumerate(given.items(), start=1):
        entry = builder.entries[i]
        new = validate.joint_properties(f"{where}: joint {name!r}", entry.joint, own)
        builder.entries[i] = dataclasses.replace(entry, values={**entry.values, **new})
    changed = builder.build()
    for found in validate.property_findings(changed):
        text = f"{where}: joint {found.where!r}: {found.message}."
        if found not in before and found.code in ("limits", "negative-property"):
            raise ModelError(text)
        if found not in before and found.code == "degrees":
            warnings.warn(text, ModelWarning, stacklevel=3)
    return changed


def _each_joint(where: str, model: Model, key: str, value: object) -> Iterable[tuple[str, Any]]:
    """Return joints and their values for a property of all: a number, an array of the whole model, or a mapping."""
    if value is None or isinstance(value, Mapping):
        return (value or {}).items()
    per_q = key in ("limits", "rest")
    size, cuts = (model.nq, model.iq) if per_q else (model.nv, model.iv)
    parts = validate.pair(where, value) if key == "limits" else (value,)
    require_scalars(where, *parts)
    whole = [np.asarray(x) for x in parts]
    for x in whole:
        if x.shape not in ((), (size,)):
            wanted = f"a number, an array ({size},), or a mapping such as {{{model.joint_names[0]!r}: …}}"
            raise ShapeError(f"{where} has shape {x.shape}, expected {wanted}.")
    found: list[tuple[str, Any]] = []
    for name, joint, cut in zip(model.joint_names, model.joints[1:], cuts[1:], strict=True):
        own = [x[cut] if x.ndim else x[()] for x in whole]
        skipped = not joint.is_vector_space if per_q else isinstance(joint, Free)
        if any(x.ndim for x in whole) or not skipped:
            found.append((name, own if key == "limits" else own[0]))
    if not found:
        raise ModelError(f"{where} is for all joints, and {model.name!r} has none but free ones. Name the joint.")
    return found


@register
def with_payload(
    model: Model, name: str, frame: str, inertia: Inertia, *, placement: ArrayLike | None, shapes: Iterable[Shape]
) -> Model:
    """See ``Model.with_payload``."""
    where, builder = f"with_payload {name!r}", ModelBuilder.from_model(model)
    builder.claim(where, name)
    model.frame(frame, where)
    validate.require_inertia(where, inertia)
    to_draw = tuple(shapes) if isinstance(shapes, Iterable) else (shapes,)
    if not all(isinstance(shape, Shape) for shape in to_draw):
        raise ScalarTypeError(f"{where}: shapes is {shapes!r}, expected a tuple of sixd.Shape, such as {_EXAMPLE}.")
    builder.add_frame(name, frame, validate.pose(f"{where}: placement", placement))
    builder.add_inertia(name, inertia)
    for shape in to_draw:
        builder.add_visual(name, shape)
    return builder.build()


def _drop_constraints(builder: ModelBuilder, gone: Set[str], where: str, frames: Set[str] = frozenset()) -> None:
    """Drop the constraints on joints and frames that are gone, and those that are functions of the whole q."""
    kept = []
    for c in builder.constraints:
        lost, unseen = gone & set(c.joints), frames & set(c.frames)
        named = c.by_names and bool(c.joints or c.frames)  # a constraint without names may depend on any part of q
        if not lost and not unseen and named:
            kept.append(c)
            continue
        names = sorted(lost or unseen)
        listed, one = " and ".join(map(repr, names)), len(names) == 1
        why = ("no longer moves" if one else "no longer move") if lost else f"{'is' if one else 'are'} left behind"
        why = f"{listed} {why}" if listed else "q has other coordinates now"
        if not named or not (set(c.joints) <= gone and set(c.frames) <= frames):
            warnings.warn(f"{where}: {c} is dropped, since {why}.", ModelWarning, stacklevel=4)
    builder.constraints = kept


def _prefixed(name: str, prefix: str, world: str) -> str:
    """Return the name of a frame with ``prefix``; ``world`` for the world and for no frame."""
    if name in ("world", ""):
        return world
    return f"joint:{prefix}{name[6:]}" if name.startswith("joint:") else prefix + name
