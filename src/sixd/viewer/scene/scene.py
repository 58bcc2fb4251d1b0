"""The scene: one JSON object with all that the page shows of a mechanism and its motions.

Body poses are not stored: the page computes them with JavaScript generated from the traced ``body_poses``. In the page
z points up; a mechanism whose gravity points elsewhere is rotated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sixd.api.constraints import assemble
from sixd.engine.targets import js
from sixd.errors import AssemblyError, ModelError, ScalarTypeError, ShapeError, unknown_name
from sixd.geometry import mounts, shapes, sticks
from sixd.geometry.inertias import ellipsoid_radii, principal
from sixd.geometry.pieces import DrawnPiece, box_corners
from sixd.model.joints import Free, Joint, RackAndPinion
from sixd.model.manifold import require_unit_quaternions
from sixd.model.model import Model
from sixd.model.parts import FILE
from sixd.model.printing import describe_joint
from sixd.model.system import System
from sixd.runtime.arrays.registry import require_cpu
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of, tree_behind
from sixd.viewer.scene.drawn_model import by_collisions, drawn_model
from sixd.viewer.scene.motions import ShownMotion, contact_points, pack, read_motions
from sixd.viewer.scene.nearest import NearPairs
from sixd.viewer.scene.packing import Packed, finite_or_none, flat_list
from sixd.viewer.scene.poses import display_turn, kinematics, reach, world_poses

_CAMERA = ("position", "target", "up", "track")


def make_scene(
    system: System,
    trajectory: Any = None,
    *,
    q: Any = None,
    ghost: bool = False,
    names: Sequence[str] | None = None,
    camera: Mapping[str, Any] | None = None,
    title: str | None = None,
    collisions: bool = False,
    near: NearPairs | None = None,
) -> dict[str, Any]:
    """Return the scene of a system with bodies, with the motions of ``trajectory``, or at the configuration q (nq,).

    ``collisions``: with the collision shapes instead of the visual ones. ``near``: pairs with their nearest points.
    """
    notes: list[str] = []
    model = drawn_model(system)
    model = by_collisions(model, notes) if collisions else model
    motions = read_motions(system, trajectory, names, ghost, notes)
    shown = _configuration(system, q, motions, notes)
    turn = display_turn(model)
    program = kinematics(system, turn)
    poses = world_poses(program, shown)
    # sizes are measured in the model's own axes, while the poses in the page are rotated
    own = np.concatenate([np.eye(4)[None], turn.T @ poses[1:]])
    pieces, radius = shapes.draw(model, own, notes, contact_points(model, motions))
    room = reach(motions, pieces, program)
    lowest = float(room[0, 2]) if motions else np.inf
    held = mounts.stand(model, pieces, turn @ own, lowest, radius, sticks.mechanism_size(model, own))
    pieces += held.pieces
    if q is None and not motions:
        shown = _lifted(system, model, shown, pieces, own)
    if near is not None and not motions:
        notes.append("The sliders hide the distances, which are those of the first configuration.")
    packed = Packed(turn)
    for piece in pieces:
        packed.add(piece, piece.name if collisions else "")
    offsets = _offsets(motions, room)
    return {
        "format": 1,
        "title": str(title) if title is not None else system.name,
        "bodies": [{"name": "world"}, *(_body(model, i) for i in model.bodies)],
        "geometries": packed.geometries, "visuals": packed.visuals, "frames": _frames(model, turn),
        "joints": _joints(system, model), "contact_lines": _contact_lines(model),
        "nq": system.nq, "q": flat_list(shown), "kinematics": js.emit(program),
        "trajectories": pack(system, motions, offsets, turn[:3, :3], notes, near),
        "pairs": None if near is None or motions else near.pack(shown[None], notes),
        "camera": None if camera is None else _camera(model, camera, turn),
        "settings": {"loop": True, "speed": 1, "play": True, "ground": held.floor},
        "room": flat_list(room) if motions else None, "notes": notes,
    }  # fmt: skip


def _configuration(system: System, q: Any, motions: Sequence[ShownMotion], notes: list[str]) -> Array:
    """The configuration that is shown first: the argument, that of a motion, or one that satisfies the constraints."""
    if system.constraints and not motions:
        notes.append("The sliders move single joints, they do not keep the constraints.")
    if q is not None:
        return read_configuration(system, q)
    finite = [m.q[0] for m in motions if np.isfinite(m.q[0]).all()]
    if finite:
        return np.asarray(finite[0])
    shown = system.initial_configuration()
    if system.constraints:
        try:
            shown = assemble(system, shown)
        except AssemblyError:
            notes.append("No configuration that satisfies the constraints was found; give one by q=….")
    return shown


def read_configuration(system: System, q: Any) -> Array:
    """Return q (nq,) as floats; raise if it is not a configuration of the system."""
    require_cpu("view", q=q)
    try:
        found = np.asarray(q, dtype=float)
    except (TypeError, ValueError):
        raise ScalarTypeError(f"view: q is {q!r}, expected {system.nq} numbers.") from None
    if found.shape != (system.nq,):
        raise ShapeError(f"view: q has shape {found.shape}, expected ({system.nq},) for {system.name!r}.")
    if not np.isfinite(found).all():
        raise ModelError(f"view: q is {found.tolist()}, expected finite numbers.")
    require_unit_quaternions("view", system, "q", found)
    return found


def _lifted(system: System, model: Model, q: Array, pieces: list[DrawnPiece], poses: Array) -> Array:
    """q with floating bodies set upon the horizontal ground plane of the file, if there is one."""
    level = [p for p in pieces if p.kind == "plane" and p.body == 0 and abs(p.pose[2, 2]) > 0.99]
    lowest = box_corners([p for p in pieces if p.body], poses)[:, 2].min(initial=np.inf)
    floating = [i for i in model.bodies if model.parent[i] == 0 and isinstance(model.joints[i], Free)]
    if system is not model or FILE in model.configurations or not level or not floating or not np.isfinite(lowest):
        return q
    q = q.copy()
    for i in floating:
        q[model.iq[i]][4:] += model.placement[i][:3, :3].T @ (0, 0, level[0].pose[2, 3] - lowest)
    return q


# extents -----------------------------------------------------------------------------------------


def measure(system: System, q: Array) -> tuple[Array, Array, Array]:
    """Return the poses (nb + 1, 4, 4) at the first of the configurations q (r, nq), in world axes, and two boxes.

    The boxes (2, 3) enclose all moving bodies: at the first configuration, and at all of them.
    """
    model, program = drawn_model(system), kinematics(system, np.eye(4))
    start = world_poses(program, q[0])
    pieces, _ = shapes.draw(model, start, [])
    motions = [ShownMotion("", np.arange(float(len(x))), x) for x in (q[:1], q)]
    first, whole = (reach([m], pieces, program) for m in motions)
    return start, first, whole


def _offsets(motions: Sequence[ShownMotion], room: Array) -> Array:
    """Positions (n, 3) of the motions, each of which fits the box ``room``: on a grid, ghosts all at the origin."""
    n = len(motions)
    offsets = np.zeros((n, 3))
    if n < 2 or any(m.ghost for m in motions):
        return offsets
    low, high = room
    step = 1.1 * (high - low)
    columns = int(np.ceil(np.sqrt(2 * n))) if n > 4 else n  # wider than deep, as screens are
    for k in range(n):
        line, column = divmod(k, columns)
        offsets[k, :2] = column * max(step[0], 0.5 * step[1]), line * max(step[1], 0.5 * step[0])
    return offsets - offsets.max(axis=0) / 2


# parts of the scene -------------------------------------------------------------------------------


def _body(model: Model, i: int) -> dict[str, Any]:
    body = principal(model, i)
    entry: dict[str, Any] = {"name": model.body_names[i - 1], "mass": float(model.inertia[i][5, 5])}
    if body is None:
        return {**entry, "com": [0.0, 0.0, 0.0], "ellipsoid": None}
    ellipsoid = {"axes": flat_list(body.axes), "radii": flat_list(ellipsoid_radii(body))}
    return {**entry, "com": flat_list(body.com), "ellipsoid": ellipsoid if any(ellipsoid["radii"]) else None}


def _frames(model: Model, turn: Array) -> list[dict[str, Any]]:
    """The frames of the bodies and added ones; a joint's own frame is that of its body."""
    return [
        {"name": name, "body": f.body, "pose": flat_list(f.pose if f.body else turn @ np.asarray(f.pose, dtype=float))}
        for name, f in model.frames.items()
        if not name.startswith("joint:")
    ]


def _joints(system: Any, model: Model) -> list[dict[str, Any]]:
    columns = labels_of(system).q
    by_energies = tree_behind(system) is None  # then coordinates do not belong to joints
    limits = system if hasattr(system, "lower") else model  # equations have the coordinates of their model
    entries = []
    for name in system.joint_names:
        i, own = 0 if by_energies else model.joint_index(name), system.q_slice(name)
        kind = "coordinate" if by_energies else _kind(model.joints[i])
        entries.append({
            "name": name, "kind": kind, "body": i, "q": [own.start, own.stop],
            "labels": [c.name for c in columns[own]],
            "units": [c.shown_unit for c in columns[own]],
            "lower": [None] if by_energies else finite_or_none(limits.lower[own]),
            "upper": [None] if by_energies else finite_or_none(limits.upper[own]),
        })  # fmt: skip
    return entries


def _contact_lines(model: Model) -> list[dict[str, Any]]:
    """The lines along which pinions touch their racks: below the axle, along it, in axes of the rack."""
    return [
        {
            "body": i, "parent": model.parent[i], "axes": flat_list(model.placement[i][:3, :3]),
            "offset": [0.0, 0.0, -float(joint.radius)], "half": 0.35 * abs(float(joint.radius)),
        }
        for i in model.bodies
        if isinstance(joint := model.joints[i], RackAndPinion)
    ]  # fmt: skip


def _kind(joint: Joint) -> str:
    """ "revolute", "free", …: the joint's description without its axis."""
    text = describe_joint(joint)
    return text if getattr(joint, "axis", None) is None else text.split(" ")[0]


def _camera(model: Model, camera: Mapping[str, Any], turn: Array) -> dict[str, Any]:
    """The camera in the axes of the page, from world axes."""
    if not isinstance(camera, Mapping) or set(camera) - set(_CAMERA):
        raise ScalarTypeError(
            f"view: camera is {camera!r}, expected a dictionary with some of {', '.join(map(repr, _CAMERA))}."
        )
    found: dict[str, Any] = {
        "track": camera.get("track"), "position": None, "target": [0.0, 0.0, 0.0], "up": [0.0, 0.0, 1.0],
    }  # fmt: skip
    if found["track"] is not None and found["track"] not in model.body_names:
        raise unknown_name("view: camera", "body", found["track"], model.body_names)
    for name in ("position", "target", "up"):
        value = camera.get(name)
        if value is None:
            continue
        point = np.asarray(value)
        if point.shape != (3,) or point.dtype.kind not in "fiu" or not np.isfinite(point).all():
            raise ShapeError(f"view: the camera's {name} is {value!r}, expected three finite numbers.")
        found[name] = flat_list(turn[:3, :3] @ point)
    if found["position"] is None and any(camera.get(name) is not None for name in ("target", "up")):
        raise ModelError("view: the camera has no position, expected three numbers [m].")
    if found["position"] == found["target"] or not any(found["up"]):
        raise ModelError(f"view: camera is {camera!r}, expected a position that is not the target, and a direction up.")
    return found
