"""New models from old: lock joints, take a subtree, join two models, replace symbols."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sixd.errors import ModelError, ModelWarning, ScalarTypeError, ShapeError, unknown_name
from sixd.model import validate
from sixd.model.builder import ModelBuilder
from sixd.model.constraint import Constraint, Mimic, renamed
from sixd.model.joints import BUILT_IN, Fixed, replace_parameters, verify_joint
from sixd.model.model import Model
from sixd.model.numbers import arrays_of, normalize_numbers
from sixd.model.parts import Frame, Shape
from sixd.model.system import System
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, is_object, is_zero, require_scalars
from sixd.spatial.transform import compose, pose_from_transform

_EXAMPLE = "(sixd.Shape('box', (0.1, 0.1, 0.2)),)"


def lock(model: Model, joints: Mapping[str, Any]) -> Model:
    """See ``Model.lock``."""
    if not isinstance(joints, Mapping):
        raise ScalarTypeError(f"lock: joints are {joints!r}, expected a mapping such as {{'elbow': 0.3}}.")
    builder = ModelBuilder.from_model(model)
    joints = _with_followers(model, joints)
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


def _with_followers(model: Model, joints: Mapping[str, Any]) -> dict[str, Any]:
    """The locked joints with those that follow them: a mimic joint whose source is held is held too."""
    held, before = dict(joints), -1
    while len(held) != before:  # a joint that follows may lead another
        before = len(held)
        for c in model.constraints:
            if isinstance(c, Mimic) and c.source in held and c.joint not in held:
                held[c.joint] = c.map(np.atleast_1d(np.asarray(held[c.source])))
    return held


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
        part._joint_names[entry.joint_name] = number[old]
    if model.parent[root]:  # the new world stands for another body: what is fixed to the old one stays behind
        del number[0]
    else:
        part.entries[0] = whole.entries[0]
    part.frames |= {
        name: dataclasses.replace(f, body=number[f.body]) for name, f in model.frames.items() if f.body in number
    }
    part.visuals = [dataclasses.replace(v, body=number[v.body]) for v in model.visuals if v.body in number]
    part.notes = [n for n in model.notes if n.where in part.frames or n.where in part._joint_names]
    part.configurations = whole.configurations
    part.constraints = list(model.constraints)
    lost = set(model.frames) - set(part.frames) | ({"world"} if model.parent[root] else set())
    _drop_constraints(part, set(model.joint_names) - set(part._joint_names), "submodel", lost)
    return part.build()


def attach(model: Model, other: Model, frame: str, *, placement: Any, prefix: str) -> Model:
    """See ``Model.attach``."""
    if not isinstance(other, Model) or not isinstance(prefix, str):
        raise ScalarTypeError(f"attach: got {other!r} with the prefix {prefix!r}, expected a sixd.Model and a text.")
    base = model.frame(frame, "attach")
    T = compose(base.pose, validate.pose("attach: placement", placement))
    builder, guest = ModelBuilder.from_model(model), ModelBuilder.from_model(other)
    shift = model.nb
    for name, values in guest.configurations.items():
        own = builder.configurations.setdefault(prefix + name, {})
        own |= {prefix + joint: q for joint, q in values.items()}

    def moved(body: int, pose: Array) -> tuple[int, Array]:
        return (body + shift, pose) if body else (base.body, compose(T, pose))

    for entry in guest.entries[1:]:
        parent, pose = moved(entry.parent, entry.placement)
        name, joint_name = prefix + entry.name, prefix + entry.joint_name
        if name in builder.frames or joint_name in builder._joint_names:
            raise ModelError(
                f"attach: {name!r} names a body or joint in both models, expected different names. Give prefix='…'."
            )
        builder.entries.append(
            dataclasses.replace(entry, parent=parent, placement=pose, name=name, joint_name=joint_name)
        )
        builder._joint_names[joint_name] = len(builder.entries) - 1

    fixed = guest.entries[0].inertia
    if not all(map(is_zero, fixed.parameters)):
        builder.add_inertia(frame, fixed, placement)
    for name, f in other.frames.items():
        if name == "world":
            continue
        head, label = ("joint:", name[6:]) if name.startswith("joint:") else ("", name)
        new = head + prefix + label
        if new in builder.frames:
            raise ModelError(
                f"attach: {new!r} names a frame in both models, expected different names. Give prefix='…'."
            )
        builder.frames[new] = Frame(*moved(f.body, f.pose), _prefixed(f.parent, prefix, frame))
    for v in other.visuals:
        body, pose = moved(v.body, v.pose)
        builder.visuals.append(dataclasses.replace(v, body=body, pose=pose))
    world = f"{prefix or other.name + ':'}world"
    if any("world" in c.frames for c in other.constraints):
        builder.add_frame(world, frame, placement)
    for c in other.constraints:
        builder.constraints.append(
            renamed(c, lambda joint: prefix + joint, lambda f: world if f == "world" else _prefixed(f, prefix, frame))
        )
    if other.nq:
        _drop_constraints(builder, set(), "attach")
    builder.notes.extend(dataclasses.replace(n, where=prefix + n.where) for n in other.notes)
    return builder.build()


def with_constraints(model: Model, constraints: Sequence[Constraint]) -> Model:
    """See ``Model.with_constraints``."""
    builder = ModelBuilder.from_model(model)
    for c in constraints:
        builder.add_constraint(c)
    return normalize_numbers(dataclasses.replace(model, constraints=tuple(builder.constraints)))


def with_frame(model: Model, name: str, parent: str, placement: Any) -> Model:
    """See ``Model.with_frame``."""
    builder = ModelBuilder.from_model(model)
    builder.add_frame(name, parent, placement)
    return normalize_numbers(dataclasses.replace(model, frames=builder.frames))


def with_payload(
    model: Model, name: str, frame: str, inertia: Inertia, *, placement: Any, shapes: Iterable[Shape]
) -> Model:
    """See ``Model.with_payload``."""
    where, builder = f"with_payload {name!r}", ModelBuilder.from_model(model)
    builder.claim(where, name)
    model.frame(frame, where)
    if not isinstance(inertia, Inertia):
        raise ScalarTypeError(f"{where}: inertia is a {type(inertia).__name__}, expected a sixd.Inertia.")
    drawn = tuple(shapes) if isinstance(shapes, Iterable) else (shapes,)
    if not all(isinstance(shape, Shape) for shape in drawn):
        raise ScalarTypeError(f"{where}: shapes is {shapes!r}, expected a tuple of sixd.Shape, such as {_EXAMPLE}.")
    builder.add_frame(name, frame, validate.pose(f"{where}: placement", placement))
    builder.add_inertia(name, inertia)
    for shape in drawn:
        builder.add_visual(name, shape)
    return builder.build()


def substitute(model: Model, values: Mapping[Any, Any]) -> Model:
    """See ``Model.substitute``."""
    table = substitutions(model, values)

    def replaced(x: Any) -> Any:
        if not hasattr(x, "xreplace"):
            return x
        new = x.xreplace(table)  # all at once, so that symbols can change places
        if not new.free_symbols and not (new.is_real and new.is_finite):
            raise ModelError(f"substitute: {x} becomes {new} in model {model.name!r}, expected a finite number.")
        return new

    new = normalize_numbers(map_numbers(model, replaced))
    for i in new.bodies if not new.symbols else ():
        if type(new.joints[i]) not in BUILT_IN:  # a symbolic parameter had put this off
            verify_joint(new.joints[i], name=new.joint_names[i - 1])
    return new


def map_numbers(model: Model, change: Callable[[Any], Any]) -> Model:
    """The model with ``change`` applied to every number of its arrays, joints, frames and mimic relations."""
    every = np.vectorize(change, otypes=[object])
    joints = tuple(replace_parameters(j, change) for j in model.joints)
    arrays: dict[str, Any] = {name: every(a) if a.size else a for name, a in arrays_of(model).items()}
    frames = {name: dataclasses.replace(f, pose=every(f.pose)) for name, f in model.frames.items()}
    constraints = tuple(replace_parameters(c, change) for c in model.constraints)
    return dataclasses.replace(model, joints=joints, frames=frames, constraints=constraints, **arrays)


def substitutions(system: System, values: Mapping[Any, Any]) -> dict[Any, Any]:
    """What each of a system's symbols becomes; a name stands for every symbol that is called so."""
    import sympy

    try:
        pairs = dict(values).items()
    except (TypeError, ValueError):
        raise ScalarTypeError(f"substitute: got {values!r}, expected a mapping such as {{m1: 2.0}}.") from None
    table: dict[Any, Any] = {}
    for key, value in pairs:
        found = [s for s in system.symbols if s == key or (isinstance(key, str) and str(s) == key)]
        if not found:
            names = dict.fromkeys(map(str, system.symbols))
            raise unknown_name(f"substitute: model {system.name!r}", "symbol", str(key), names)
        require_scalars(f"substitute: {key}", value)
        new = sympy.sympify(value)
        if not isinstance(new, sympy.Expr) or (new.is_number and not (new.is_real and new.is_finite)):
            raise ModelError(f"substitute: {key} is {value!r}, expected a finite number or an expression.")
        table |= dict.fromkeys(found, new)
    return table


def _drop_constraints(builder: ModelBuilder, gone: set[str], where: str, frames: set[str] | None = None) -> None:
    """Leave out the constraints of joints and frames that are gone, and those that are functions of the whole q."""
    kept = []
    for c in builder.constraints:
        lost, unseen = sorted(gone & set(c.joints)), sorted((frames or set()) & set(c.frames))
        named = c.by_names and bool(c.joints or c.frames)  # what names nothing may act on any of q
        if not lost and not unseen and named:
            kept.append(c)
            continue
        why = f"{_listed(lost)} moves no more" if lost else f"{_listed(unseen)} is left behind"
        why = why if lost or unseen else "q has other coordinates now"
        if not named or not (set(c.joints) <= gone and set(c.frames) <= (frames or set())):
            warnings.warn(f"{where}: {c} is dropped, since {why}.", ModelWarning, stacklevel=4)
    builder.constraints = kept


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def _prefixed(parent: str, prefix: str, frame: str) -> str:
    if parent in ("world", ""):
        return frame
    return f"joint:{prefix}{parent[6:]}" if parent.startswith("joint:") else prefix + parent
