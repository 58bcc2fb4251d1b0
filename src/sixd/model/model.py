"""Model: a frozen kinematic tree, ready for the algorithms.

Arrays begin with an entry for body 0, the world, so that no loop needs a root branch. ``inertia[i]`` and
``X_tree[i]`` are 6×6 in RBDA's letters. This module does not depend on file formats, batches of states or
compilers; methods that need a ModelBuilder call functions that ``sixd.model.edit`` registers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.body_marks import Parents
from sixd.errors import ScalarTypeError, look_up, unknown_name
from sixd.model import manifold, numbers, printing, validate
from sixd.model.constraint import Constraint, Explicit
from sixd.model.joints import Joint, parameters_of
from sixd.model.parts import FILE, PROPERTIES, Frames, JointRecord, joint_values
from sixd.model.system import System, library
from sixd.model.tree import Tree, expand_parent
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike, symbols_in
from sixd.spatial.transform import transform_from_pose

if TYPE_CHECKING:
    from sixd.model.parts import Collision, Finding, Frame, Shape, Visual

    JointValues = ArrayLike | Mapping[str, ArrayLike]  # for all joints, or by name
    Placement = ArrayLike | None  # a pose (4, 4), the identity by default


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
    inertia: Array  # (nb + 1, 6, 6) in body coordinates [kg, kg m, kg m²]; entry 0 is of all that is fixed to the world
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
    disabled_collisions: tuple[tuple[str, str], ...] = ()  # pairs of links whose shapes may touch, as in SRDF files
    collisions: tuple[Collision, ...] = ()  # shapes for distances and contact

    def __post_init__(self) -> None:
        for name, array in validate.model_arrays(self).items():
            object.__setattr__(self, name, _read_only(array))
        object.__setattr__(self, "parent", Parents(self.parent))
        object.__setattr__(self, "frames", Frames(dict(self.frames), self.body_names))
        named = {name: _read_only(q) for name, q in self.configurations.items()}
        object.__setattr__(self, "configurations", MappingProxyType(named))

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**state, "frames": dict(self.frames), "configurations": dict(self.configurations)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"configurations": {}, "disabled_collisions": (), "collisions": (), **state})
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
        """Number of degrees of freedom."""
        return sum(j.nv for j in self.joints)

    @cached_property
    def iq(self) -> tuple[slice, ...]:
        """Slices of q that hold each body's joint coordinates; the world's, which is empty, comes first."""
        return _slices([j.nq for j in self.joints])

    @cached_property
    def iv(self) -> tuple[slice, ...]:
        """Slices of qd that hold each body's joint velocities; the world's, which is empty, comes first."""
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
        return _read_only(np.array([transform_from_pose(T) for T in self.placement]))

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
        """Return the index, 1 … nb, of the body of that name."""
        return look_up(f"model {self.name!r}", "body", body, self._body_indices)

    def joint_index(self, joint: str) -> int:
        """Return the index, 1 … nb, of the body that the joint of that name moves."""
        return look_up(f"model {self.name!r}", "joint", joint, self._joint_indices)

    @cached_property
    def _body_indices(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.body_names, start=1)}

    @cached_property
    def _joint_indices(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.joint_names, start=1)}

    def frame(self, name: str, where: str = "frame") -> Frame:
        """Return the frame of that name: its body and its pose there."""
        try:  # 0.1 µs; with look_up, whose message is made first, 0.4
            return self.frames[name]
        except (KeyError, TypeError):
            raise unknown_name(f"{where}: model {self.name!r}", "frame", name, self.frames) from None

    def q_slice(self, joint: str) -> slice:
        """Return the slice of q that holds the joint's coordinates."""
        return self.iq[self.joint_index(joint)]

    def v_slice(self, joint: str) -> slice:
        """Return the slice of qd, qdd and tau that holds the joint's DoF."""
        return self.iv[self.joint_index(joint)]

    @property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the configurations that came with the model, such as the keyframes of an MJCF file."""
        return tuple(self.configurations)

    def configuration(self, name: str | Mapping[str, Any]) -> Array:
        """Return a copy of the configuration (nq,) of that name, or the one of coordinates by names of joints.

        ``model.configuration({"elbow": 0.3})`` [rad, m]; a joint of several coordinates needs an array. Joints that are
        not named are neutral, mimic joints that follow a named one are where that puts them.
        """
        where = f"configuration: model {self.name!r}"
        if not isinstance(name, Mapping):
            return look_up(where, "configuration", name, self.configurations).copy()
        joints = dict(zip(self.joint_names, self.joints[1:], strict=True))
        values = validate.named_coordinates(where, joints, name)
        return manifold.named_configuration(joints, values, self.constraints)

    def joint(self, name: str) -> JointRecord:
        """Return the joint of that name with its bodies, limits and passive properties."""
        i = self.joint_index(name)
        body_names = ("world", *self.body_names)
        return JointRecord(name, self.joints[i], body_names[self.parent[i]], body_names[i], **joint_values(self, i))

    def body_inertia(self, body: str) -> Inertia:
        """Return the inertia of a body and all that is merged into it, in its own frame.

        That of "world" is the inertia of everything that is fixed to the world.
        """
        return Inertia.from_matrix(self.inertia[0 if body == "world" else self.body_index(body)])

    @property
    def mass(self) -> Any:
        """Total mass [kg] of the moving bodies; that of fixed ones is in ``body_inertia("world")``."""
        return sum(self.inertia[i][5, 5] for i in self.bodies)

    # the configuration manifold -------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the configuration (nq,) with every joint at its neutral value: 0, no rotation, at its origin."""
        return np.concatenate([np.zeros(0), *(self.joints[i].neutral() for i in self.bodies)])

    def initial_configuration(self) -> Array:
        """Return where motions start by default (nq,): ``configuration("file")`` of an MJCF file, else neutral."""
        return self.configurations[FILE].copy() if FILE in self.configurations else self.neutral()

    def random_configuration(
        self, rng: np.random.Generator | int | None = None, *, size: int | tuple[int, ...] | None = None
    ) -> Array:
        """Draw configurations (…, nq) within finite limits, else within (-pi, pi) or ±1 m; quaternions uniformly.

        ``rng`` is a NumPy generator or a seed. ``size`` is None for one configuration (nq,), n for (n, nq), a tuple for
        (*size, nq).
        """
        joints = zip(self.joints, self.iq, strict=True)
        return manifold.random_configuration(joints, self.lower, self.upper, rng, size)

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """Return dq/dt (nq,) at q (nq,) along qd (nv,)."""
        return manifold.rate_row(self, q, qd)

    def integrate_row(self, q: Array, dq: Array) -> Array:
        """Return the configuration (nq,) reached from q by dq (nv,)."""
        return manifold.integrate_row(self, q, dq)

    def difference_row(self, q0: Array, q1: Array) -> Array:
        """Return the dq (nv,) that leads from q0 to q1 (nq,)."""
        return manifold.difference_row(self, q0, q1)

    def coadjoint_row(self, q: Array, qd: Array, p: Array) -> Array:
        """Return ad* (nv,) of the momentum p along qd, joint by joint."""
        return manifold.coadjoint_row(self, q, qd, p)

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        """Run the algorithm, which is written for trees, on one state."""
        return algorithm(self, *arrays, **options)

    # symbols --------------------------------------------------------------------------------------

    @cached_property
    def symbols(self) -> tuple[Any, ...]:  # type: ignore[override]
        """SymPy symbols in the parameters, sorted by name."""
        arrays = [v for v in self.__dict__.values() if isinstance(v, np.ndarray)]
        parameters = [parameters_of(part) for part in (*self.joints, *self.constraints)]
        poses = [f.pose for f in self.frames.values()] + [c.pose for c in self.collisions]
        return tuple(sorted(symbols_in([*arrays, *parameters, *poses]), key=str))

    @property
    def is_traced(self) -> bool:  # type: ignore[override]
        """Whether parameters are being traced, as those of a kernel inside a user's function."""
        arrays = (self.inertia, self.placement, self.gravity, self.damping, self.friction, self.armature)
        return any(a.dtype == object for a in arrays) and not self.symbols

    # new models from this one ---------------------------------------------------------------------

    def lock(self, joints: Mapping[str, Any]) -> Model:
        """Return the model with these joints held at these coordinates, their bodies merged.

        ``model.lock({"elbow": 0.3})``; a joint of several coordinates needs an array. Mimic joints that follow a locked
        one are held too; other constraints that involve a locked joint are dropped, with a warning.
        """
        return library("lock")(self, joints)

    def submodel(self, body: str) -> Model:
        """Return the subtree of ``body``, itself included, its joint attached to the world at the same placement.

        If that joint is on the world already, the inertia, frames and shapes fixed to the world are kept.
        """
        return library("submodel")(self, body)

    def attach(self, other: Model, frame: str = "world", *, placement: Placement = None, prefix: str = "") -> Model:
        """Return this model with ``other``'s world fixed to ``frame`` at ``placement`` (4, 4).

        ``prefix`` is put before the names of ``other``. Gravity is this model's; that of ``other`` is dropped. All that
        is fixed to ``other``'s world, such as its root link, becomes part of the body that carries ``frame``.
        """
        return library("attach")(self, other, frame, placement=placement, prefix=prefix)

    def reduce(self) -> System:
        """Return the model in the independent coordinates y that its explicit constraints (as ``Mimic``) leave.

        q = γ(y), qd = G yd: every function of the library accepts it, and its ``lift`` returns the states of this
        model. Other constraints stay. Without explicit constraints the model itself is returned.
        """
        return self._reduced if any(isinstance(c, Explicit) for c in self.constraints) else self

    @cached_property
    def _reduced(self) -> System:
        return library("reduced")(self)

    def with_constraints(self, *constraints: Constraint) -> Model:
        """Return the model with these constraints added; the joints and frames they name must exist."""
        return library("with_constraints")(self, constraints)

    def with_frame(self, name: str, parent: str, placement: Placement = None) -> Model:
        """Return the model with a named frame added at ``placement`` (4, 4) in the frame of a body or another one."""
        return library("with_frame")(self, name, parent, placement)

    def with_collision(
        self, frame: str, shape: Shape, placement: Placement = None, *, name: str = "", **masks: int | None
    ) -> Model:
        """Return the model with a shape added for distances and contact, see ``ModelBuilder.add_collision``."""
        return library("with_collision")(self, frame, shape, placement, name=name, **masks)

    def with_joints(
        self,
        joints: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        limits: JointValues | None = None,
        damping: JointValues | None = None,
        friction: JointValues | None = None,
        armature: JointValues | None = None,
        stiffness: JointValues | None = None,
        rest: JointValues | None = None,
        effort: JointValues | None = None,
        velocity: JointValues | None = None,
    ) -> Model:
        """Return the model with other limits and passive properties of its joints; other properties stay.

        ``model.with_joints({"elbow": {"limits": (-1, 1), "friction": 0.2}}, damping=0.05)``: by name, in terms of the
        arguments below, or for all joints; values by name have priority.

        Parameters
        ----------
        limits : (lower, upper) of q [rad, m]; (-inf, inf) for none.
        damping, friction : viscous [N m s/rad, N s/m] and Coulomb [N m, N], at least 0.
        armature : [kg m², kg], at least 0.
        stiffness, rest : of springs [N m/rad, N/m], at least 0, and where they are at rest [rad, m].
        effort, velocity : the largest force [N m, N] and speed [rad/s, m/s].

        Each is a number, an array of a joint's DoF (limits, rest: coordinates), for all joints an array (nv,) or (nq,),
        or a mapping of joints to values. A number for all joints skips free joints; limits and rest skip balls, too.
        """
        values = (limits, damping, friction, armature, stiffness, rest, effort, velocity)
        return library("with_joints")(self, joints, dict(zip(PROPERTIES, values, strict=True)))

    def with_payload(
        self, name: str, frame: str, inertia: Inertia, *, placement: Placement = None, shapes: Iterable[Shape] = ()
    ) -> Model:
        """Return the model with a rigid body ``name`` fixed to ``frame``, its own frame of that name at ``placement``.

        Parameters
        ----------
        inertia : in the payload's own frame, such as ``sixd.box(0.1, 0.1, 0.2, mass=2.0)``.
        placement : (4, 4) of the payload's frame in ``frame``; the same frame if omitted.
        shapes : shapes to draw, each a ``sixd.Shape`` in the payload's frame.
        """
        return library("with_payload")(self, name, frame, inertia, placement=placement, shapes=shapes)

    def without_passive(self) -> Model:
        """Return the model without damping, friction, stiffness and armature."""
        zero = np.zeros(self.nv, dtype=int if self.symbols else float)
        return dataclasses.replace(self, damping=zero, friction=zero, stiffness=zero, armature=zero)

    def substitute(self, values: Mapping[Any, Any]) -> Model:
        """Return the model with symbols (or their names) replaced: ``model.substitute({m1: 2.0})``."""
        return numbers.substitute(self, values)

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """Return the model in another field of gravity (3,) [m/s²]."""
        g = validate.vector("with_gravity: gravity", gravity, 3, spread=False)
        return numbers.normalize_numbers(dataclasses.replace(self, gravity=g))

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.nb} bodies, nq = {self.nq}, nv = {self.nv}>"

    def __str__(self) -> str:
        return printing.render(self)

    def _repr_html_(self) -> str:
        """The bodies as a table, for notebooks."""
        return printing.render_html(self)


def require_model(where: str, model: object) -> None:
    """Raise unless ``model`` is a Model."""
    if not isinstance(model, Model):
        raise ScalarTypeError(f"{where}: model is a {type(model).__name__}, expected a sixd.Model. See sixd.load.")


def _read_only(array: Array) -> Array:
    array = np.asarray(array).view()
    array.flags.writeable = False
    return array


def _slices(counts: list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(counts).tolist()
    return tuple(slice(end - n, end) for end, n in zip(ends, counts, strict=True))
