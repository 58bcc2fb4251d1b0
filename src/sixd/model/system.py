"""System: what the functions of the library act on.

A ``Model`` is one, a tree of joints; a model reduced to independent coordinates is another, and so are equations of
motion that were given or derived. A system says how many coordinates it has, how they move, which constraints bind
them, and how it computes a function of the library: by a method ``<function>_row`` of its own, or by the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sixd.errors import ModelError, ScalarTypeError
from sixd.model import manifold
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.model.constraint import Constraint
    from sixd.model.parts import Frame

F = TypeVar("F", bound=Callable[..., Any])

# functions of higher layers that methods of systems call, by name
_LIBRARY: dict[str, Callable[..., Any]] = {}


def register(function: F) -> F:
    """Make a function of a higher layer known to the methods of systems, under its name; for use as a decorator."""
    _LIBRARY[function.__name__] = function
    return function


def library(name: str) -> Callable[..., Any]:
    """Return the registered function of that name."""
    return _LIBRARY[name]


class System:
    """Base of all systems: coordinates q (nq,) with rates by qd (nv,), constraints, and the functions of the library.

    A subclass computes a function of the library in its own way by a method ``<function>_row`` on one state of any
    scalar, such as ``mass_matrix_row(q)``.
    """

    name: str
    nq: int
    nv: int
    nb: int = 0
    constraints: tuple[Constraint, ...]
    symbols: tuple[Any, ...] = ()
    joint_names: tuple[str, ...]  # of what has coordinates: joints, or the coordinates themselves
    is_traced: bool = False  # whether parameters are being traced: those of a kernel, inside a user's function

    def __deepcopy__(self, memo: dict[int, Any]) -> System:
        return self  # it never changes, and there is compiled code for this very object

    @property
    def bodies(self) -> range:
        """1 … nb, parents before children."""
        return range(1, self.nb + 1)

    @property
    def dof_parent(self) -> tuple[int, ...]:
        """Per-DoF parent array (nv,), -1 at the root: a chain, where nothing is known of a branching."""
        return tuple(range(-1, self.nv - 1))

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        """Compute the function of the library called ``name`` on one row; ``algorithm`` does so for a tree."""
        own = getattr(self, f"{name}_row", None)
        if own is None:
            raise ModelError(self.refusal(name))
        return own(*arrays, **options)

    def refusal(self, name: str) -> str:
        """The message for a function of the library that is not defined for this system."""
        raise NotImplementedError

    def q_slice(self, joint: str) -> slice:
        """Where the joint's coordinates are in q."""
        raise NotImplementedError

    def v_slice(self, joint: str) -> slice:
        """Where the joint's freedoms are in qd, qdd and tau."""
        raise NotImplementedError

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) at q (nq,) along qd (nv,), one state of any scalar."""
        return qd

    def integrate_row(self, q: Array, dq: Array) -> Array:
        """The configuration (nq,) reached from q by dq (nv,), one state of any scalar."""
        return q + dq

    def difference_row(self, q0: Array, q1: Array) -> Array:
        """The dq (nv,) that leads from q0 to q1 (nq,), one state of any scalar."""
        return q1 - q0

    def coadjoint_row(self, q: Array, qd: Array, p: Array) -> Array:
        """p·[qd, e] (nv,) for each freedom e, brackets of velocities: zero where qd is dq/dt."""
        return np.zeros(self.nv, dtype=int)

    def integrate(self, q: Any, dq: Any) -> Array:
        """Configuration reached from q (…, nq) by the constant velocity dq (…, nv) in unit time."""
        return library("integrate")(self, q, dq)

    def difference(self, q0: Any, q1: Any) -> Array:
        """dq (…, nv) with ``integrate(q0, dq)`` = q1; the shortest way for orientations."""
        return library("difference")(self, q0, q1)

    def neutral(self) -> Array:
        """Configuration (nq,) from which to start."""
        return np.zeros(self.nq)

    def random_configuration(self, rng: Any = None, *, size: Any = None) -> Array:
        """Configurations (…, nq) drawn at random; ``rng`` a generator or seed, ``size`` None, a number or a tuple."""
        generator, shape = manifold.draw_arguments(rng, size)
        return generator.uniform(-np.pi, np.pi, (*shape, self.nq))

    def frame(self, name: str, where: str = "frame") -> Frame:
        """The frame of that name, if the system has frames."""
        raise ModelError(f"{where}: {self.name!r} is a system without bodies and frames, expected a sixd.Model.")

    def substitute(self, values: Mapping[Any, Any]) -> System:
        """The system with symbols (or their names) replaced by numbers or expressions."""
        raise NotImplementedError

    def with_values(self, values: Mapping[str, Any]) -> System:
        """The system with scalars in the place of the symbols of these names."""
        raise NotImplementedError

    def require_numeric(self, where: str) -> None:
        """Raise if parameters are symbolic, naming the symbols."""
        if self.symbols:
            names = ", ".join(str(s) for s in self.symbols)
            raise ScalarTypeError(
                f"{where}: {self.name!r} has symbolic parameters {names}, expected numbers for float arguments. "
                f"Use .substitute({{{self.symbols[0]}: 1.0, …}}), or pass SymPy expressions."
            )


def require_system(where: str, system: object) -> None:
    """Raise unless ``system`` is one."""
    if not isinstance(system, System):
        raise ScalarTypeError(
            f"{where}: model is a {type(system).__name__}, expected a sixd.Model, or a system of equations. "
            f"See sixd.load and sixd.lagrange."
        )
