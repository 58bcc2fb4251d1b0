"""The MJCF reader: MuJoCo's own compiler reads the file, and its compiled model becomes a Model.

Bodies and joints keep MuJoCo's order, so q and qd equal MuJoCo's qpos and qvel except for the free joint's convention
(``sixd.interop``). Several joints on one body become a chain of massless bodies that ends with the body. Each element
that acts on the dynamics and that a Model cannot hold causes a warning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import LoadError, ModelError
from sixd.io.files import Source, claimed_name
from sixd.io.mjcf.compiled import BALL, FREE, SLIDE, compile_mjcf, complete_names, given_names, import_mujoco
from sixd.io.mjcf.constraints import Equalities
from sixd.io.mjcf.geoms import add_exclusions, add_geoms
from sixd.io.mjcf.scene_remark import scene_remark
from sixd.io.xml import Element
from sixd.model import Fixed, Free, Joint, Model, ModelBuilder, Prismatic, Revolute, Spherical
from sixd.model.parts import FILE, Finding
from sixd.model.validate import InertiaFindings
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import axis_rotation, quaternion_to_rotation, tidy_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

if TYPE_CHECKING:
    from mujoco import MjModel

_FREE_ORDER = [3, 4, 5, 0, 1, 2]  # MuJoCo's free joint has its linear velocities first


def read_mjcf(source: Source, root: Element) -> Model:
    """Return the model of an MJCF document; included files and meshes are in its folder, if it comes from a file."""
    mujoco = import_mujoco()
    compiled, remarks = compile_mjcf(mujoco, source, root)
    reader = _MjcfReader(mujoco, compiled)
    builder = reader.builder
    builder.notes.extend(Finding("mujoco", builder.name, f"MuJoCo says: {text}") for text in remarks)
    remark = scene_remark(compiled, reader.disabled)
    acting = [*not_carried(compiled), *([] if remark is None else [remark])]
    builder.notes.extend(Finding("not-carried", builder.name, text) for text in acting)
    idle = _idle_tendons(compiled)
    if idle:
        text = f"tendons ({idle}) that exert no force by themselves are not supported"
        builder.notes.append(Finding("not-carried", builder.name, text, True))
    for body in range(1, compiled.nbody):
        try:
            reader.add_body(body)
        except ModelError as error:
            raise LoadError(f"{source.name}: body {reader.body_names[body]!r}: {error}") from None
    reader.add_sites()
    reader.add_equalities()
    add_configurations(builder, compiled, reader.joint_names)
    add_geoms(builder, compiled, reader.body_names, with_parent=reader.disabled("FILTERPARENT"))
    add_exclusions(builder, compiled, reader.body_names)
    model = builder.build()
    return dataclasses.replace(model, notes=(*builder.notes, *reader.inertias.of(model, reader.between)))


class _MjcfReader:
    """Adds the compiled model's bodies, sites and equalities to a builder, in MuJoCo's order."""

    def __init__(self, mujoco: ModuleType, compiled: MjModel) -> None:
        self.compiled = compiled
        self._bits = mujoco.mjtDisableBit
        name = bytes(compiled.names).split(b"\0", 1)[0].decode(errors="replace")
        gravity = np.zeros(3) if self.disabled("GRAVITY") else np.array(compiled.opt.gravity)
        self.builder = ModelBuilder(name or "model", gravity)
        self.builder.is_of_file = True
        self.body_names = complete_names(compiled, "body", "body")
        self.joint_names = complete_names(compiled, "jnt", "joint")
        self.used_names = {*self.body_names, *self.joint_names}
        self.inertias = InertiaFindings()
        self.between: set[str] = set()  # massless bodies between the joints of one body
        self.sites: dict[int, str] = {}  # the frames that sites became

    def disabled(self, *flags: str) -> bool:
        """Whether the file switches one of these parts of MuJoCo off."""
        bits = [getattr(self._bits, f"mjDSBL_{flag}", 0) for flag in flags]
        return any(self.compiled.opt.disableflags & int(bit) for bit in bits)

    def add_body(self, b: int) -> None:
        """Add body b with its joints: a chain with one body for each joint, or a fixed body."""
        c = self.compiled
        name, parent = self.body_names[b], self.body_names[c.body_parentid[b]]
        pose = _pose(c.body_pos[b], c.body_quat[b])
        inertia = self._inertia(b, name)
        first, count = c.body_jntadr[b], c.body_jntnum[b]
        if count == 0:
            fixed = claimed_name(f"{name}_fixed", self.used_names)
            self.builder.add_body(name, parent, Fixed(), placement=pose, inertia=inertia, joint_name=fixed)
        for j in range(first, first + count):
            last = j == first + count - 1
            link = name if last else claimed_name(f"{name}:{self.joint_names[j]}", self.used_names)
            if not last:
                self.between.add(link)
            self._add_joint(j, link, parent, pose, inertia if last else None)
            parent, pose = link, np.eye(4)

    def _add_joint(self, j: int, link: str, parent: str, pose: Array, inertia: Inertia | None) -> None:
        """Add one joint: a motion about its anchor, in the body's frame as the earlier joints moved it."""
        c, kind = self.compiled, self.compiled.jnt_type[j]
        anchor, axis, iq = np.array(c.jnt_pos[j]), np.array(c.jnt_axis[j]), c.jnt_qposadr[j]
        joint: Joint
        if kind == FREE:  # its coordinates are in the world, independent of the body's own pose
            joint, pose = Free(), np.eye(4)
        elif kind == BALL:
            joint, pose = Spherical(), pose @ placement(anchor)
        elif kind == SLIDE:  # the zero of q is at -ref
            joint, pose = Prismatic(axis), pose @ placement(anchor - c.qpos0[iq] * axis)
        else:
            R = axis_rotation(axis, -c.qpos0[iq]) if c.qpos0[iq] else np.eye(3)
            joint, pose = Revolute(axis), pose @ placement(anchor, R=R)
        options = self._properties(j, joint)
        if anchor.any() and kind != FREE:
            options["link_pose"] = placement(-anchor)
        name = self.joint_names[j]
        self.builder.add_body(link, parent, joint, placement=pose, inertia=inertia, joint_name=name, **options)

    def _properties(self, j: int, joint: Joint) -> dict[str, Any]:
        c = self.compiled
        iq, iv = (slice(k, k + n) for k, n in ((c.jnt_qposadr[j], joint.nq), (c.jnt_dofadr[j], joint.nv)))
        order = _FREE_ORDER if isinstance(joint, Free) else slice(None)
        values: dict[str, Any] = {"armature": c.dof_armature[iv][order]}
        if not self.disabled("DAMPER", "PASSIVE"):
            values["damping"] = c.dof_damping[iv][order]
        if not self.disabled("FRICTIONLOSS", "CONSTRAINT"):
            values["friction"] = c.dof_frictionloss[iv][order]
        if not self.disabled("SPRING", "PASSIVE") and not isinstance(joint, Free):
            values |= {"stiffness": float(c.jnt_stiffness[j]), "rest": np.array(c.qpos_spring[iq])}
        if joint.nq == 1 and c.jnt_limited[j]:
            values["limits"] = tuple(c.jnt_range[j])
        if joint.nq == 1 and c.jnt_actfrclimited[j]:
            values["effort"] = np.abs(c.jnt_actfrcrange[j]).max()
        return values

    def _inertia(self, b: int, name: str) -> Inertia:
        c = self.compiled
        R = tidy_rotation(quaternion_to_rotation(c.body_iquat[b]))
        inertia = Inertia(c.body_mass[b], c.body_ipos[b], R @ np.diag(c.body_inertia[b]) @ R.T)
        self.inertias.add(name, inertia)
        return inertia

    def add_sites(self) -> None:
        """Add the sites as frames; unnamed ones and those with the name of a body are skipped."""
        c = self.compiled
        for s, name in enumerate(given_names(c, "site")):
            if name and name not in self.builder.frames:
                parent = self.body_names[c.site_bodyid[s]]
                self.builder.add_frame(name, parent, _pose(c.site_pos[s], c.site_quat[s]))
                self.sites[s] = name

    def add_equalities(self) -> None:
        """Add the equalities as constraints, unless the file disables them."""
        if self.compiled.neq:
            equalities = Equalities(self.builder, self.compiled, self.body_names, self.joint_names, self.sites)
            equalities.add(enabled=not self.disabled("EQUALITY", "CONSTRAINT"))


def _pose(position: Array, quaternion: Array) -> Array:
    return placement(np.array(position), R=tidy_rotation(quaternion_to_rotation(quaternion)))


# configurations ---------------------------------------------------------------------------------


def add_configurations(builder: ModelBuilder, compiled: MjModel, joints: list[str]) -> None:
    """Add the keyframes as named configurations (unnamed ones as key0, key1 …), and qpos0 as "file".

    A keyframe called "file" replaces qpos0: ``to_mjcf`` writes one if the configuration "file" is not its qpos0.
    """
    names = complete_names(compiled, "key", "key") if compiled.nkey else []
    configurations = dict(zip(names, compiled.key_qpos, strict=True))
    configurations.setdefault(FILE, compiled.qpos0)
    for name, qpos in configurations.items():
        q = np.array(qpos, dtype=float)
        values = {joint: _coordinates(compiled, j, q) for j, joint in enumerate(joints)}
        try:
            builder.add_configuration(name, values)
        except ModelError as error:
            builder.notes.append(Finding("keyframe", name, f"the keyframe is left out: {error}"))


def _coordinates(compiled: MjModel, j: int, q: Array) -> Array:
    """Return joint j's coordinates from MuJoCo's qpos, where a free joint has its position first."""
    first, kind = compiled.jnt_qposadr[j], compiled.jnt_type[j]
    if kind == FREE:
        return np.concatenate([_unit(q[first + 3 : first + 7]), q[first : first + 3]])
    return _unit(q[first : first + 4]) if kind == BALL else q[first : first + 1]


def _unit(quaternion: Array) -> Array:
    length = np.linalg.norm(quaternion)
    return quaternion / length if 0 < length < np.inf else quaternion


# parts of a compiled model that a Model cannot hold -----------------------------------------------


def not_carried(compiled: MjModel) -> Iterator[str]:
    """Yield a sentence for each kind of element that acts on the dynamics and that a Model cannot hold."""

    def count(array: str) -> int:  # elements with a nonzero entry; older versions of MuJoCo lack some arrays
        values = np.asarray(getattr(compiled, array, ()))
        return int(values.reshape(len(values), -1).any(axis=1).sum()) if values.size else 0

    free = np.asarray(compiled.jnt_type) == FREE
    along_axes = np.asarray(compiled.dof_armature) + np.asarray(compiled.dof_frictionloss)
    rotated = sum(bool(along_axes[k]) for k in compiled.jnt_dofadr[free])
    numbers = {
        "tendons ({}) are not supported; they exert no force here": compiled.ntendon - _idle_tendons(compiled),
        "armature of actuators ({}) is not supported; add it to their joints": count("actuator_armature"),
        "damping of actuators ({}) is not supported; add it to their joints": count("actuator_damping"),
        "gravity compensation ({} bodies) is not supported; gravity acts on them": count("body_gravcomp"),
        "polynomial springs ({} joints) are not supported; their linear part is": count("jnt_stiffnesspoly"),
        "polynomial damping ({} degrees of freedom) is not supported; its linear part is": count("dof_dampingpoly"),
        "plastic springs ({} joints) are not supported; they are elastic here": count("jnt_springyield"),
        "springs on free joints ({}) are not supported": np.count_nonzero(compiled.jnt_stiffness[free]),
        "armature or friction on free joints ({}) acts along the world's axes in MuJoCo, the body's here": rotated,
        "flexible bodies ({}) are not supported; only their nodes are": getattr(compiled, "nflex", 0),
        "plugins ({}) are not supported": getattr(compiled, "nplugin", 0),
    }
    yield from (text.format(n) for text, n in numbers.items() if n)
    density, viscosity = compiled.opt.density, compiled.opt.viscosity
    if density > 0 or viscosity > 0:
        yield f"the fluid (density {density:g}, viscosity {viscosity:g}) is not supported; bodies move as in a vacuum"


def _idle_tendons(compiled: MjModel) -> int:
    """Return the number of tendons without spring, damper, friction, limit and armature."""
    acting = np.zeros(compiled.ntendon, dtype=bool)
    for name in ("stiffness", "damping", "frictionloss", "limited", "armature", "stiffnesspoly", "dampingpoly"):
        values = np.asarray(getattr(compiled, f"tendon_{name}", np.zeros(compiled.ntendon)))
        acting |= values.reshape(compiled.ntendon, -1).any(axis=1) if compiled.ntendon else acting
    return int((~acting).sum())
