"""ModelBuilder: a mechanism described body by body, then frozen into a Model.

Every argument is validated when it is added, so that the error names the call that is wrong. ``build`` merges bodies
on fixed joints; their frames stay.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sixd.errors import ModelError, ModelWarning, ScalarTypeError, look_up
from sixd.model import validate
from sixd.model.constraint import Constraint, Mimic, warn_of_zero_rows
from sixd.model.joints import BUILT_IN, Fixed, Joint, has_constant_subspace, parameters_of, verify_joint
from sixd.model.manifold import named_configuration
from sixd.model.model import Model, require_model
from sixd.model.numbers import normalize_numbers
from sixd.model.parts import (
    PER_Q,
    PER_V,
    PROPERTIES,
    Collision,
    Finding,
    Frame,
    Shape,
    Visual,
    joint_values,
    with_names,
)
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, symbols_in
from sixd.spatial.transform import compose

MASSLESS = Inertia(0.0)


@dataclass(frozen=True, eq=False)
class PendingBody:
    """A body before merging: its inertia is in the frame of its own joint."""

    name: str
    parent: int  # index of another entry, 0 is the world
    joint: Joint
    joint_name: str
    placement: Array  # (4, 4) of the joint's predecessor frame in the parent entry's frame
    inertia: Inertia
    values: Mapping[str, Array] = field(default_factory=dict)  # limits and passive properties


class ModelBuilder:
    """Builds a Model: ``add_body`` for each body, parents first, then ``build``.

    >>> import sixd
    >>> builder = sixd.ModelBuilder("pendulum")
    >>> builder.add_body("rod", "world", sixd.Revolute("y"), inertia=sixd.Inertia(1.0, (0, 0, -0.5)))
    >>> builder.build()
    <Model 'pendulum': 1 bodies, nq = 1, nv = 1>
    """

    def __init__(self, name: str = "model", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        if not isinstance(name, str):
            hint = "To extend a model use ModelBuilder.from_model." if isinstance(name, Model) else "Give a name."
            raise ScalarTypeError(f"ModelBuilder: name is {name!r}, expected a string. {hint}")
        self.name = name
        self.gravity = validate.vector("ModelBuilder: gravity", gravity, 3, spread=False)
        world = PendingBody("world", 0, Fixed(), "", np.eye(4), MASSLESS)
        self.entries: list[PendingBody] = [world]
        # of each frame: its entry, its pose in that entry's frame, and the frame it was added to
        self.frames: dict[str, Frame] = {"world": Frame(0, np.eye(4))}
        self.constraints: list[Constraint] = []
        self.visuals: list[Visual] = []
        self.collisions: list[Collision] = []
        self.notes: list[Finding] = []
        self.is_of_file = False  # sixd.load reports what is doubtful in a file, one warning for each kind
        self.configurations: dict[str, dict[str, Array]] = {}  # by name: the coordinates of each joint
        self.disabled_collisions: list[tuple[str, str]] = []  # pairs of frames
        self.joint_numbers: dict[str, int] = {}  # the index of each joint's entry

    @classmethod
    def from_model(cls, model: Model) -> ModelBuilder:
        """Return a builder that holds the bodies, frames and constraints of a model, to be extended.

        Entry i is body i of the model. New bodies come after those, so that the model's coordinates keep their indices
        in q, also in constraints that are functions of the whole q.

        >>> import sixd
        >>> builder = sixd.ModelBuilder.from_model(sixd.zoo.pendulum())
        >>> builder.add_frame("tip", builder.build().body_names[0])
        """
        require_model("ModelBuilder.from_model", model)
        builder = cls(model.name, model.gravity)
        builder.entries[0] = replace(builder.entries[0], inertia=model.body_inertia("world"))
        for i in model.bodies:
            name, joint_name = model.body_names[i - 1], model.joint_names[i - 1]
            inertia, values = Inertia.from_matrix(model.inertia[i]), joint_values(model, i)
            builder.entries.append(
                PendingBody(name, model.parent[i], model.joints[i], joint_name, model.placement[i], inertia, values)
            )
            builder.joint_numbers[joint_name] = i
        builder.frames = dict(model.frames)
        builder.constraints = list(model.constraints)
        builder.visuals = list(model.visuals)
        builder.collisions = list(model.collisions)
        builder.notes = list(model.notes)
        builder.disabled_collisions = list(model.disabled_collisions)
        builder.configurations = {
            name: {joint: q[model.q_slice(joint)] for joint in model.joint_names}
            for name, q in model.configurations.items()
        }
        return builder

    def add_body(
        self,
        name: str,
        parent: str,
        joint: Joint,
        *,
        placement: ArrayLike | None = None,
        inertia: Inertia | None = None,
        joint_name: str | None = None,
        limits: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        armature: ArrayLike = 0.0,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike | None = None,
        effort: ArrayLike = np.inf,
        velocity: ArrayLike = np.inf,
        link_pose: ArrayLike | None = None,
        collisions: Iterable[Shape | tuple[Shape, ArrayLike]] = (),
    ) -> None:
        """Add a body on a joint.

        Parameters
        ----------
        parent : "world", or a body or frame added before.
        joint : how the body moves against its parent.
        placement : (4, 4) pose of the joint frame in the parent's frame; the parent's own frame if omitted.
        inertia : inertia in the body's frame; massless if omitted.
        joint_name : name of the joint; the body's name if omitted.
        limits : (lower, upper), each a number or (nq,).
        damping, friction, armature, stiffness, effort, velocity : a number or (nv,).
        rest : position of the springs at rest, a number or (nq,); the neutral position if omitted.
        link_pose : (4, 4) pose of the body's named frame in its joint frame, if they differ; ``inertia`` and all that
            is added to the body are then in the named frame.
        collisions : shapes for distances and contact, each a ``sixd.Shape`` or a pair (shape, placement) in the body's
            frame; ``add_collision`` names them.
        """
        where = f"add_body {name!r}"
        if not isinstance(joint, Joint):
            raise ScalarTypeError(f"{where}: joint is {joint!r}, expected a joint such as sixd.Revolute('z').")
        if inertia is not None:
            validate.require_inertia(where, inertia)
        joint_name = name if joint_name is None else joint_name
        self.claim(where, name, joint_name)
        base = self._on(where, "body", parent, placement)
        link = validate.pose(f"{where}: link_pose", link_pose)
        if type(joint) not in BUILT_IN:
            if symbols_in([parameters_of(joint)]):
                has_constant_subspace(joint)  # raises if S has no rate; the rest is verified with numbers
            else:
                verify_joint(joint, name=joint_name)
        properties = (limits, damping, friction, armature, stiffness, rest, effort, velocity)
        values = validate.joint_properties(where, joint, dict(zip(PROPERTIES, properties, strict=True)))
        degrees = None if self.is_of_file else validate.in_degrees(joint, values["lower"], values["upper"])
        if degrees is not None:
            warnings.warn(f"{where}: {degrees}.", ModelWarning, stacklevel=2)
        items = [collisions] if isinstance(collisions, Shape) else collisions or ()
        shapes = [item if isinstance(item, (tuple, list)) and len(item) == 2 else (item,) for item in items]
        for shape in shapes:  # before anything is added
            validate.require_solid(where, shape[0])
        body = MASSLESS if inertia is None else inertia.moved(link) if link_pose is not None else inertia
        number = len(self.entries)
        self.entries.append(PendingBody(name, base.body, joint, joint_name, base.pose, body, values))
        self.joint_numbers[joint_name] = number
        self.frames[f"joint:{joint_name}"] = Frame(number, np.eye(4), parent)
        self.frames[name] = Frame(number, link, f"joint:{joint_name}")
        for shape in shapes:
            self.add_collision(name, *shape)

    def add_frame(self, name: str, parent: str, placement: ArrayLike | None = None) -> None:
        """Add a named frame at ``placement`` (4, 4) in the frame of a body, or of another frame."""
        where = f"add_frame {name!r}"
        self.claim(where, name)
        self.frames[name] = self._on(where, "body or frame", parent, placement)

    def add_inertia(self, parent: str, inertia: Inertia, placement: ArrayLike | None = None) -> None:
        """Add inertia to a body, or to the one that carries a frame; it refers to a frame at ``placement`` (4, 4)."""
        validate.require_inertia("add_inertia", inertia)
        base = self._on("add_inertia", "body or frame", parent, placement)
        entry = self.entries[base.body]
        self.entries[base.body] = replace(entry, inertia=entry.inertia + inertia.moved(base.pose))

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint such as ``sixd.Mimic`` or ``sixd.Loop``; the joints and frames it names must exist."""
        if not isinstance(constraint, Constraint):
            raise ScalarTypeError(f"add_constraint: got {constraint!r}, expected a sixd.Constraint.")
        joints = self._joints()
        for joint in constraint.joints:
            look_up("add_constraint", "joint", joint, joints)
        for frame in constraint.frames:
            look_up("add_constraint", "frame", frame, self.frames)
        if isinstance(constraint, Mimic):
            validate.check_mimic(constraint, self.constraints, joints)
        constraint.verify(joints)
        self.constraints.append(constraint)

    def add_configuration(self, name: str, q: ArrayLike | Mapping[str, ArrayLike]) -> None:
        """Add a named configuration, for ``model.configuration(name)``; one of the same name is replaced.

        ``q`` holds the coordinates (nq,) of the joints added so far, or is a mapping such as ``{"elbow": 0.5}``. Joints
        that it does not name, or that are added later, are in their neutral position, mimic joints that follow a named
        one where that puts them.
        """
        where = f"add_configuration {name!r}"
        if not isinstance(name, str) or not name:
            raise ScalarTypeError(f"{where}: name is {name!r}, expected a non-empty string.")
        joints = self._joints()
        if not isinstance(q, Mapping):
            ends = np.cumsum([joint.nq for joint in joints.values()], dtype=int)
            values = validate.vector(f"{where}: q", q, int(ends[-1]) if len(ends) else 0, spread=False)
            q = dict(zip(joints, np.split(values, ends)[:-1], strict=True))
        self.configurations[name] = validate.named_coordinates(where, joints, q)

    def add_visual(
        self,
        parent: str,
        shape: Shape,
        placement: ArrayLike | None = None,
        *,
        color: tuple[float, ...] | None = None,
        name: str = "",
    ) -> None:
        """Add a shape to be drawn on a body or frame; it has no effect on the dynamics."""
        if not isinstance(shape, Shape):
            raise ScalarTypeError(
                f"add_visual: shape is {shape!r}, expected a sixd.Shape such as Shape('box', (1, 2, 3))."
            )
        base = self._on("add_visual", "body or frame", parent, placement)
        self.visuals.append(Visual(base.body, shape, base.pose, color, name))

    def add_collision(
        self,
        parent: str,
        shape: Shape,
        placement: ArrayLike | None = None,
        *,
        name: str = "",
        contype: int | None = None,
        conaffinity: int | None = None,
    ) -> None:
        """Add a shape for distances and contact to a body or frame; it has no effect on the dynamics.

        Without a ``name`` it gets that of ``parent``, with a number if that has several. ``contype`` and
        ``conaffinity`` are bit masks as in MuJoCo, see ``sixd.collision_pairs``; None has all bits.
        """
        where = f"add_collision {name!r}" if name else "add_collision"
        validate.require_solid(where, shape)
        validate.require_masks(where, contype=contype, conaffinity=conaffinity)
        if not isinstance(name, str):
            raise ScalarTypeError(f"add_collision: name is {name!r}, expected a string.")
        if name and not self.is_of_file and any(c.name == name for c in self.collisions):
            raise ModelError(f"{where}: a collision shape of that name exists already. Names must differ.")
        base = self._on(where, "body or frame", parent, placement)
        self.collisions.append(Collision(base.body, shape, base.pose, name, parent, contype, conaffinity))

    def build(self) -> Model:
        """Return the frozen model; bodies on fixed joints are merged into their parents."""
        body_of, pose_in = [0], [np.eye(4)]  # of each entry: the body it belongs to and its pose there
        moving: list[PendingBody] = [replace(self.entries[0], parent=-1)]
        inertia = [self.entries[0].inertia]  # of the world first: the sum of all that is fixed to it
        for entry in self.entries[1:]:
            k, T = body_of[entry.parent], compose(pose_in[entry.parent], entry.placement)
            if isinstance(entry.joint, Fixed):
                inertia[k] = inertia[k] + entry.inertia.moved(T)
            else:
                moving.append(replace(entry, parent=k, placement=T))
                inertia.append(entry.inertia)
                k, T = len(moving) - 1, np.eye(4)
            body_of.append(k)
            pose_in.append(T)
        frames = {
            name: Frame(body_of[f.body], compose(pose_in[f.body], f.pose), f.parent) for name, f in self.frames.items()
        }
        visuals = [replace(v, body=body_of[v.body], pose=compose(pose_in[v.body], v.pose)) for v in self.visuals]
        collisions = [replace(c, body=body_of[c.body], pose=compose(pose_in[c.body], c.pose)) for c in self.collisions]
        joints = {e.joint_name: e.joint for e in moving[1:]}
        values = {key: [np.zeros(0), *(e.values[key] for e in moving[1:])] for key in (*PER_Q, *PER_V)}
        model = Model(
            name=self.name,
            parent=tuple(e.parent for e in moving),
            joints=tuple(e.joint for e in moving),
            body_names=tuple(e.name for e in moving[1:]),
            joint_names=tuple(e.joint_name for e in moving[1:]),
            placement=np.array([e.placement for e in moving]),
            inertia=np.array([i.matrix for i in inertia]),
            gravity=self.gravity,
            frames=frames,
            constraints=tuple(c for c in self.constraints if set(c.joints) <= joints.keys()),
            visuals=tuple(visuals),
            notes=tuple(self.notes),
            configurations={
                name: named_configuration(joints, values, self.constraints).astype(float)
                for name, values in self.configurations.items()
            },
            disabled_collisions=tuple(self.disabled_collisions),
            collisions=with_names(collisions, frames),
            **{key: np.concatenate(parts) for key, parts in values.items()},
        )
        if model.constraints:
            warn_of_zero_rows("build", model)
        return normalize_numbers(model)

    def _on(self, where: str, kind: str, parent: str, placement: ArrayLike | None) -> Frame:
        """Return a frame at ``placement`` in a body or frame added before."""
        base = look_up(where, kind, parent, self.frames)
        return Frame(base.body, compose(base.pose, validate.pose(f"{where}: placement", placement)), parent)

    def _joints(self) -> dict[str, Joint]:
        return {name: self.entries[k].joint for name, k in self.joint_numbers.items()}

    def claim(self, where: str, name: str, joint_name: str | None = None) -> None:
        """Raise unless these names, of a new body or frame and of its joint, are strings that are not in use."""
        for kind, n in (("name", name), ("joint_name", joint_name)):
            if (n is not None or kind == "name") and (not isinstance(n, str) or not n):
                raise ScalarTypeError(f"{where}: {kind} is {n!r}, expected a non-empty string.")
        if name.startswith("joint:"):
            raise ModelError(f"{where}: the prefix 'joint:' is reserved for the frames of joints. Choose another name.")
        if name in self.frames:
            raise ModelError(f"{where}: a body or frame of that name exists already. Names must differ.")
        if joint_name is not None and (joint_name in self.joint_numbers or f"joint:{joint_name}" in self.frames):
            raise ModelError(f"{where}: a joint named {joint_name!r} exists already. Give joint_name=….")
