"""System: the base class of everything that the functions of the library accept as a model.

Systems are a ``Model`` (a tree of joints), a model reduced to independent coordinates, and equations of motion that
were stated or derived. A system defines its coordinates, their rates, its constraints, and how it computes a function
of the library: by its own method ``<function>_row``, or by the algorithm.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sixd import body_marks
from sixd.errors import ModelError, ScalarTypeError
from sixd.model import manifold
from sixd.spatial.scalar import Array, ArrayLike

if TYPE_CHECKING:
    from sixd.model.constraint import Constraint
    from sixd.model.parts import Frame

F = TypeVar("F", bound=Callable[..., Any])

# functions of higher layers by name: those that lower ones call, and all that `@public` declares
REGISTERED: dict[str, Callable[..., Any]] = {}
# the modules that register functions when lower layers first call them
_REGISTERED_BY = {
    "integrate": "sixd.api.manifold",
    "difference": "sixd.api.manifold",
    "mass_matrix": "sixd.api.dynamics",
    "reduced": "sixd.constraints.reduced_model",
    "write_video": "sixd.viewer.pictures.pictures",
}


def register(function: F) -> F:
    """Make a function of a higher layer known under its name; for use as a decorator."""
    REGISTERED[function.__name__] = function
    return function


def library(name: str) -> Callable[..., Any]:
    """Return the registered function of that name; its module is imported at the first call."""
    if name not in REGISTERED:
        importlib.import_module(_REGISTERED_BY[name])
    return REGISTERED[name]


def for_any_system(algorithm: F) -> F:
    """Let an algorithm serve every system that has no method of its own for it, not only trees; a decorator."""
    algorithm.any_system = True  # type: ignore[attr-defined]
    return algorithm


class System:
    """Base of all systems: coordinates q (nq,) with rates by qd (nv,), constraints, and the functions of the library.

    A subclass implements a function of the library by a method ``<function>_row`` on one state of any scalar, such as
    ``mass_matrix_row(q)``.
    """

    name: str
    nq: int
    nv: int
    nb: int = 0
    constraints: tuple[Constraint, ...]
    symbols: tuple[Any, ...] = ()
    joint_names: tuple[str, ...]  # of the joints, or of the coordinates of a system without joints
    is_traced: bool = False  # whether its parameters are traced scalars, as in a user's function in a kernel

    def __deepcopy__(self, memo: dict[int, Any]) -> System:
        return self  # immutable, and compiled code belongs to this very object

    @property
    def bodies(self) -> range:
        """1 … nb, parents before children."""
        return body_marks.bodies(self.nb)

    @property
    def dof_parent(self) -> tuple[int, ...]:
        """Per-DoF parent array (nv,), -1 at the root: a chain, unless the system knows its branches."""
        return tuple(range(-1, self.nv - 1))

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        """Compute the function of the library called ``name`` on one state; ``algorithm`` does so for a tree."""
        own = getattr(self, f"{name}_row", None)
        if own is None and hasattr(algorithm, "any_system"):
            return algorithm(self, *arrays, **options)
        if own is None:
            raise ModelError(self.refusal(name))
        return own(*arrays, **options)

    def require_bodies(self, where: str) -> None:
        """Raise if the system has no bodies on which f_ext could act."""

    def refusal(self, name: str) -> str:
        """The message for a function of the library that is not defined for this system."""
        raise NotImplementedError

    def q_slice(self, joint: str) -> slice:
        """The slice of the joint's coordinates in q."""
        raise NotImplementedError

    def v_slice(self, joint: str) -> slice:
        """The slice of the joint's DoF in qd, qdd and tau."""
        raise NotImplementedError

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) at q (nq,) along qd (nv,), one state of any scalar."""
        return qd

    def integrate_row(self, q: Array, dq: Array) -> Array:
        """The configuration (nq,) reached from q by dq (nv,), one state of any scalar."""
        return q + dq

    def difference_row(self, q0: Array, q1: Array) -> Array:
        """The dq (nv,) from q0 to q1 (nq,), one state of any scalar."""
        return q1 - q0

    def coadjoint_row(self, q: Array, qd: Array, p: Array) -> Array:
        """p·[qd, e] (nv,) for each DoF e, with Lie brackets of velocities: zero where qd is dq/dt."""
        return np.zeros(self.nv, dtype=int)

    def lifting(self, q: Array, *rates: Array) -> Any:
        """How a tree's state depends on q, qd and qdd, if they are other coordinates of a tree; else None."""
        return None

    def integrate(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Configuration reached from q (…, nq) by the constant velocity dq (…, nv) in unit time."""
        return library("integrate")(self, q, dq)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """dq (…, nv) with ``integrate(q0, dq)`` = q1; the shortest rotation for orientations."""
        return library("difference")(self, q0, q1)

    def neutral(self) -> Array:
        """The default configuration (nq,)."""
        return np.zeros(self.nq)

    def initial_configuration(self) -> Array:
        """The configuration (nq,) where motions start by default: that of the model behind it, else neutral."""
        model = getattr(self, "model", None)
        return self.neutral() if model is None else model.initial_configuration()

    def random_configuration(self, rng: manifold.Seed = None, *, size: int | tuple[int, ...] | None = None) -> Array:
        """Configurations (…, nq) drawn at random; ``rng`` a generator or seed, ``size`` None, a number or a tuple."""
        generator, shape = manifold.draw_arguments(rng, size)
        return generator.uniform(-np.pi, np.pi, (*shape, self.nq))

    def frame(self, name: str, where: str = "frame") -> Frame:
        """The frame of that name; raise if the system has no frames."""
        raise ModelError(f"{where}: {self.name!r} is a system without bodies and frames, expected a sixd.Model.")

    def substitute(self, values: Mapping[Any, Any]) -> System:
        """The system with symbols (or their names) replaced by numbers or expressions."""
        raise NotImplementedError

    def with_values(self, values: Mapping[str, Any]) -> System:
        """The system with the symbols of these names replaced by scalars."""
        raise NotImplementedError

    def require_numeric(self, where: str, otherwise: str = "pass SymPy expressions") -> None:
        """Raise if parameters are symbolic, naming the symbols; ``otherwise`` is what one can do but give numbers."""
        if self.symbols:
            names = ", ".join(str(s) for s in self.symbols)
            raise ScalarTypeError(
                f"{where}: {self.name!r} has symbolic parameters {names}, expected numbers for float arguments. "
                f"Use .substitute({{{self.symbols[0]}: 1.0, …}}), or {otherwise}."
            )


def require_system(where: str, system: object, *others: object) -> None:
    """Raise unless ``system`` is a :class:`System`; ``others`` are arguments that it may have been swapped with."""
    if not isinstance(system, System) and any(isinstance(x, System) for x in others):
        raise ScalarTypeError(f"{where}: model is a {type(system).__name__}, expected the model first. Swap them.")
    if not isinstance(system, System):
        raise ScalarTypeError(
            f"{where}: model is a {type(system).__name__}, expected a sixd.Model, or a system of equations. "
            f"See sixd.load and sixd.lagrange."
        )
