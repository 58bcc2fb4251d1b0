"""Model: a frozen kinematic tree, ready for the algorithms.

Arrays have an entry for body 0, the world, first, so that no loop needs a root branch. ``inertia[i]`` and
``X_tree[i]`` are 6×6 in RBDA's letters; nothing here knows a file format, a batch of states or a compiler.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, unknown_name
from sixd.model import manifold, system, validate
from sixd.model.constraint import Constraint, Explicit
from sixd.model.joints import Joint, parameters_of
from sixd.model.parts import PER_Q, PER_V, Finding, Frame, Frames, JointRecord, Shape, Visual
from sixd.model.sparsity import expand_parent
from sixd.model.system import System
from sixd.model.tree import Tree
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, symbols_in
from sixd.spatial.transform import transform_from_pose


@dataclass(frozen=True, eq=False, repr=False)
class Model(System):
    """A kinematic tree of rigid bodies. Build one with ``ModelBuilder``, ``sixd.load`` or ``sixd.from_dh``.

    Body i of ``bodies`` = 1 … nb is ``body_names[i - 1]``, moves by ``joints[i]`` against body ``parent[i]``, and
    owns ``q[iq[i]]`` and ``qd[iv[i]]``. Arrays are read-only; change a model by the methods that return a new one.
    """

    name: str
    parent: tuple[int, ...]  # (nb + 1), parent[0] = -1
    joints: tuple[Joint, ...]  # (nb + 1), joints[0] = Fixed()
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    placement: Array  # (nb + 1, 4, 4) pose of each joint's predecessor frame in the parent body
    inertia: Array  # (nb + 1, 6, 6) in body coordinates [kg, kg m, kg m²]; the world's is of what is fixed to it
    gravity: Array  # (3,) [m/s²]
    lower: Array  # (nq,) limits of q
    upper: Array
    rest: Array  # (nq,) rest position of the springs
    stiffness: Array  # (nv,) [N m/rad or N/m], likewise below
    damping: Array
    friction: Array  # Coulomb
    armature: Array  # [kg m² or kg]
    effort_limit: Array
    velocity_limit: Array
    frames: Mapping[str, Frame]
    constraints: tuple[Constraint, ...] = ()
    visuals: tuple[Visual, ...] = ()
    notes: tuple[Finding, ...] = ()
    configurations: Mapping[str, Array] = dataclasses.field(default_factory=dict)  # (nq,) each, by name

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, f.name, _read_only(value))
        object.__setattr__(self, "frames", Frames(dict(self.frames), self.body_names))
        named = {name: _read_only(q) for name, q in self.configurations.items()}
        object.__setattr__(self, "configurations", MappingProxyType(named))

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**state, "frames": dict(self.frames), "configurations": dict(self.configurations)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"configurations": {}, **state})
        self.__post_init__()

    # counts and indices ---------------------------------------------------------------------------

    @property
    def nb(self) -> int:  # type: ignore[override]
        """Number of moving bodies; the world is not counted."""
        return len(self.body_names)

    @cached_property
    def nq(self) -> int:  # type: ignore[override]
        """Number of configuration coordinates."""
        return sum(j.nq for j in self.joints)

    @cached_property
    def nv(self) -> int:  # type: ignore[override]
        """Number of freedoms."""
        return sum(j.nv for j in self.joints)

    @cached_property
    def iq(self) -> tuple[slice, ...]:
        """Slice of q of each body's joint, the world's (empty) first."""
        return _slices([j.nq for j in self.joints])

    @cached_property
    def iv(self) -> tuple[slice, ...]:
        """Slice of qd of each body's joint, the world's (empty) first."""
        return _slices([j.nv for j in self.joints])

    @cached_property
    def tree(self) -> Tree:
        """Index sets κ, μ, ν and depths."""
        return Tree(self.parent)

    @cached_property
    def dof_parent(self) -> tuple[int, ...]:
        """Per-DoF parent array (nv,), -1 at the root: the pattern of the mass matrix."""
        return expand_parent(self.parent, [j.nv for j in self.joints])

    @cached_property
    def X_tree(self) -> Array:
        """(nb + 1, 6, 6): X_tree[i] maps from the parent body's to joint i's predecessor frame."""
        X = np.array([transform_from_pose(T) for T in self.placement])
        X.flags.writeable = False
        return X

    @cached_property
    def a_gravity(self) -> Array:
        """Gravity as a spatial acceleration [0; g] (6,)."""
        return np.concatenate([np.zeros(3, dtype=int), self.gravity])

    # names ----------------------------------------------------------------------------------------

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: links, ``joint:NAME``, added frames, and the world."""
        return tuple(self.frames)

    def body_index(self, body: str) -> int:
        """i in 1 … nb of the body of that name."""
        return self._index(body, "body", self.body_names)

    def joint_index(self, joint: str) -> int:
        """i in 1 … nb of the body that the joint of that name moves."""
        return self._index(joint, "joint", self.joint_names)

    @cached_property
    def _positions(self) -> dict[str, dict[str, int]]:
        kinds = {"body": self.body_names, "joint": self.joint_names}
        return {kind: {name: k + 1 for k, name in enumerate(names)} for kind, names in kinds.items()}

    def _index(self, name: str, kind: str, names: tuple[str, ...]) -> int:
        try:
            return self._positions[kind][name]
        except (KeyError, TypeError):
            raise unknown_name(f"model {self.name!r}", kind, name, names) from None

    def frame(self, name: str, where: str = "frame") -> Frame:
        """The frame of that name: (body, pose in it)."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise unknown_name(f"{where}: model {self.name!r}", "frame", name, self.frames) from None

    def q_slice(self, joint: str) -> slice:
        """Where the joint's coordinates are in q."""
        return self.iq[self.joint_index(joint)]

    def v_slice(self, joint: str) -> slice:
        """Where the joint's freedoms are in qd, qdd and tau."""
        return self.iv[self.joint_index(joint)]

    @property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the configurations that came with the model, such as the keyframes of an MJCF file."""
        return tuple(self.configurations)

    def configuration(self, name: str) -> Array:
        """The configuration (nq,) of that name; a copy, to start from."""
        try:
            return self.configurations[name].copy()
        except (KeyError, TypeError):
            where = f"configuration: model {self.name!r}"
            raise unknown_name(where, "configuration", name, self.configurations) from None

    def joint(self, name: str) -> JointRecord:
        """All that is known of a joint, by its name."""
        i = self.joint_index(name)
        parent = self.parent[i]
        values = {
            f.name: getattr(self, f.name)[(self.iq if f.name in PER_Q else self.iv)[i]]
            for f in dataclasses.fields(JointRecord)
            if f.name in PER_Q + PER_V
        }
        body_names = ("world", *self.body_names)
        return JointRecord(name, self.joints[i], body_names[parent], body_names[i], **values)

    def body_inertia(self, body: str) -> Inertia:
        """Inertia of a body (with all that is merged into it), in its own frame; "world": of what is fixed to it."""
        return Inertia.from_matrix(self.inertia[0 if body == "world" else self.body_index(body)])

    @property
    def mass(self) -> Any:
        """Total mass [kg] of the moving bodies; what is fixed to the world is in ``body_inertia("world")``."""
        return sum(self.inertia[i][5, 5] for i in self.bodies)

    # the configuration manifold -------------------------------------------------------------------

    def neutral(self) -> Array:
        """Configuration (nq,) with every joint at its neutral value."""
        return np.concatenate([np.zeros(0), *(self.joints[i].neutral() for i in self.bodies)])

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, *, size: int | tuple[int, ...] | None = None
    ) -> Array:
        """Configurations (…, nq) drawn within finite limits, else (-pi, pi), ±1 m, uniform quaternions.

        ``rng`` is a NumPy generator or a seed. ``size`` is how many: None for one (nq,), n for (n, nq), a tuple for
        (*size, nq).
        """
        joints = zip(self.joints, self.iq, strict=True)
        return manifold.random_configuration(joints, self.lower, self.upper, rng, size)

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        return manifold.rate_row(self, q, qd)

    def integrate_row(self, q: Array, dq: Array) -> Array:
        return manifold.integrate_row(self, q, dq)

    def difference_row(self, q0: Array, q1: Array) -> Array:
        return manifold.difference_row(self, q0, q1)

    def coadjoint_row(self, q: Array, qd: Array, p: Array) -> Array:
        return manifold.coadjoint_row(self, q, qd, p)

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        """Run the algorithm, which is written for trees, on one row."""
        return algorithm(self, *arrays, **options)

    # symbols --------------------------------------------------------------------------------------

    @cached_property
    def symbols(self) -> tuple[Any, ...]:  # type: ignore[override]
        """SymPy symbols in the parameters, sorted by name."""
        arrays = [v for v in self.__dict__.values() if isinstance(v, np.ndarray)]
        parameters = [parameters_of(j) for j in self.joints]
        poses = [f.pose for f in self.frames.values()]
        relations = [parameters_of(c) for c in self.constraints]
        return tuple(sorted(symbols_in([*arrays, *parameters, *poses, *relations]), key=str))

    @property
    def is_traced(self) -> bool:  # type: ignore[override]
        arrays = (self.inertia, self.placement, self.gravity, self.damping, self.friction, self.armature)
        return any(a.dtype == object for a in arrays) and not self.symbols

    # new models from this one ---------------------------------------------------------------------

    def lock(self, joints: Mapping[str, Any]) -> Model:
        """The model with these joints held at the given coordinates, their bodies merged.

        ``model.lock({"elbow": 0.3})``; a joint of several coordinates takes an array. Mimic joints that follow a locked
        one are held too; other constraints that involve a locked joint are dropped, with a warning.
        """
        from sixd.model.edit import lock

        return lock(self, joints)

    def submodel(self, body: str) -> Model:
        """The tree carried by ``body``, itself included; its joint then hangs on the world at the same placement.

        Where it does so already, what is fixed to the world stays: inertia, frames and shapes.
        """
        from sixd.model.edit import submodel

        return submodel(self, body)

    def attach(self, other: Model, frame: str = "world", *, placement: Any = None, prefix: str = "") -> Model:
        """This model with ``other``'s world fixed to ``frame`` at ``placement`` (4, 4); ``prefix`` marks its names.

        Gravity is this model's; that of ``other`` is left behind with its world. What is fixed to that world, such as
        ``other``'s root link, goes to the body that carries ``frame``.
        """
        from sixd.model.edit import attach

        return attach(self, other, frame, placement=placement, prefix=prefix)

    def reduce(self) -> System:
        """The model in the independent coordinates y that its explicit constraints (``Mimic``, ``Coupling``) leave.

        q = γ(y), qd = G yd: every function of the library acts on it, ``lift`` gives the states of this model. Other
        constraints stay. Itself, if no constraint is explicit.
        """
        return self._reduced if any(isinstance(c, Explicit) for c in self.constraints) else self

    @cached_property
    def _reduced(self) -> System:
        return system.library("reduced")(self)

    def with_constraints(self, *constraints: Constraint) -> Model:
        """The model with these constraints added to those it has; the joints and frames they name must exist."""
        from sixd.model.edit import with_constraints

        return with_constraints(self, constraints)

    def with_frame(self, name: str, parent: str, placement: Any = None) -> Model:
        """The model with a named frame added at ``placement`` (4, 4) in the frame of a body, or in another frame."""
        from sixd.model.edit import with_frame

        return with_frame(self, name, parent, placement)

    def with_payload(
        self, name: str, frame: str, inertia: Inertia, *, placement: Any = None, shapes: Iterable[Shape] = ()
    ) -> Model:
        """The model with a rigid body ``name`` fixed to ``frame``; its own frame, of that name, is at ``placement``.

        Parameters
        ----------
        inertia : in the payload's own frame, such as ``sixd.box(0.1, 0.1, 0.2, mass=2.0)``.
        placement : (4, 4) of the payload's frame in ``frame``; the same frame if omitted.
        shapes : what of it is drawn, each a ``sixd.Shape`` in the payload's frame.
        """
        from sixd.model.edit import with_payload

        return with_payload(self, name, frame, inertia, placement=placement, shapes=shapes)

    def without_passive(self) -> Model:
        """The model without damping, friction, stiffness and armature."""
        zero = np.zeros(self.nv, dtype=int if self.symbols else float)
        return dataclasses.replace(self, damping=zero, friction=zero, stiffness=zero, armature=zero)

    def substitute(self, values: Mapping[Any, Any]) -> Model:
        """The model with symbols (or their names) replaced: ``model.substitute({m1: 2.0})``."""
        from sixd.model.edit import substitute

        return substitute(self, values)

    def with_gravity(self, gravity: Any) -> Model:
        """The model in another field of gravity (3,) [m/s²]."""
        g = validate.vector("with_gravity: gravity", gravity, 3, spread=False)
        from sixd.model.settle import settled

        return settled(dataclasses.replace(self, gravity=g))

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.nb} bodies, nq = {self.nq}, nv = {self.nv}>"

    def __str__(self) -> str:
        from sixd.model.printing import render

        return render(self)

    def _repr_html_(self) -> str:
        """The bodies as a table, for notebooks."""
        from sixd.model.printing import render_html

        return render_html(self)


def require_model(where: str, model: object) -> None:
    """Raise unless ``model`` is a Model."""
    if not isinstance(model, Model):
        raise ScalarTypeError(f"{where}: model is a {type(model).__name__}, expected a sixd.Model. See sixd.load.")


def _read_only(array: Array) -> Array:
    array = array.view()
    array.flags.writeable = False
    return array


def _slices(counts: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(counts).tolist()
    return tuple(slice(end - n, end) for end, n in zip(ends, counts, strict=True))
