"""The equations of motion of a simulation: a system with controller, external forces, force elements and constraints.

Written for one state of any scalar type: the same lines run on floats and are traced into kernels. Numbers that may
differ from state to state but not in time (held forces, constant ``f_ext``, parameters) are the constants of a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sixd.algorithms.aba import aba
from sixd.algorithms.constrained.dynamics import constrained_dynamics, correction
from sixd.algorithms.constrained.least_norm import COARSE, EXACT, RankLimits
from sixd.algorithms.constrained.rows import constraint_velocity, padded_error
from sixd.algorithms.derivatives import implicit
from sixd.algorithms.rnea import bias_force
from sixd.constraints.reduced_model import Reduced
from sixd.engine.parameters import parameter_shape, with_parameters
from sixd.errors import ScalarTypeError, ShapeError, SixdError, TraceError
from sixd.forces.elements import Applied, Force, element_key, state_slices
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike, Scalar, sign
from sixd.symbolic.equations.dry_friction import dry_friction
from sixd.symbolic.equations.equations import Equations
from sixd.trace.program import Program, trace

Shape = tuple[int, ...]
NOTHING = Applied()
PROJECTED, STABILISED = "projected", "stabilised"
SURFACE = FRICTION, RESTITUTION = "friction of the ground", "restitution of the ground"


@dataclass(frozen=True, eq=False)
class Problem:
    """A system and the forces on it.

    ``law(t, q, qd)`` is a controller that is part of the equations, ``f_ext`` a function of the same arguments;
    ``has_tau`` is whether forces tau (nv,) are among the constants, ``has_f_ext`` whether an array f_ext (nb, 6) is.
    Without ``has_friction`` the joints' dry friction is left out: fixed steps add it as impulses. Without ``sticks`` it
    is known to be zero in every state. ``surface``: which of ``SURFACE`` are constants, numbers that replace those of
    all rigid grounds.
    """

    where: str
    system: System
    law: Callable[..., Any] | None = None
    has_tau: bool = False
    f_ext: Callable[..., Any] | None = None
    has_f_ext: bool = False
    forces: tuple[Force, ...] = ()
    parameters: tuple[str, ...] = ()
    constraints: str = PROJECTED
    stabilisation: float = 0.0
    limits: RankLimits = EXACT
    has_friction: bool = True
    sticks: bool = True
    surface: tuple[str, ...] = ()
    sizes: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(force.size(self.system) for force in self.forces))

    @cached_property
    def nu(self) -> int:
        """Number of entries of the force elements' states."""
        return sum(self.sizes)

    @property
    def is_projected(self) -> bool:
        """Whether each step ends with a projection onto the constraints."""
        return bool(self.system.constraints) and self.constraints == PROJECTED

    @property
    def key(self) -> Any:
        """A key that is unique among problems of one system; None if it has functions or users' elements, which may
        change."""
        elements = tuple(element_key(force) for force in self.forces)
        if self.law is not None or self.f_ext is not None or None in elements:
            return None
        is_coarse = self.limits is COARSE
        forces = self.has_tau, self.has_f_ext, self.has_friction, self.sticks, self.surface
        return *forces, elements, self.parameters, self.constraints, self.stabilisation, is_coarse

    @property
    def constants(self) -> dict[str, Shape]:
        """Names and shapes of the constants."""
        result: dict[str, Shape] = {"tau": (self.system.nv,)} if self.has_tau else {}
        if self.has_f_ext:
            result["f_ext"] = (self.system.nb, 6)
        result |= dict.fromkeys(self.surface, ())
        return result | {name: parameter_shape(self.where, self.system, name) for name in self.parameters}

    @property
    def inputs(self) -> dict[str, Shape]:
        """The constants as inputs of programs, by names that no state has: a model's symbol may be called h or p."""
        return {f"constant {name}": shape for name, shape in self.constants.items()}

    def traced(
        self, function: Callable[..., Any], shapes: Mapping[str, Shape], dtype: str = "float64", *, again: bool = False
    ) -> Program:
        """Return the program of ``function(*arrays, constants)``; a user's controller may be what cannot be traced.
        ``again``: for derivatives, the function can be traced again."""

        def one(*arrays: Any) -> Any:
            return function(*arrays[: len(shapes)], dict(zip(self.constants, arrays[len(shapes) :], strict=True)))

        try:
            with np.errstate(all="ignore"):
                program = trace(one, {**shapes, **self.inputs}, dtype)
                return replace(program, source=one) if again else program
        except TraceError as error:
            raise TraceError(f"{self.where}: {error}") from error
        except SixdError:
            raise
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            if self.law is None and self.f_ext is None:
                raise
            what, hint = "f_ext", ""
            if self.law is not None:
                what, hint = "the controller, or f_ext,", f", or {self.called_with_numbers}"
            raise TraceError(
                f"{self.where}: {what} cannot be run on traced scalars: {error}. Use the functions of sixd.spatial "
                f"(sin, sqrt, where …) instead of NumPy's{hint}."
            ) from error

    @property
    def called_with_numbers(self) -> str:
        """What to do with a controller that must be called as it is."""
        if self.where == "step":
            return "call it yourself, with numbers, and pass its forces as an array"
        return "give sample_time, so that it is called as it is, with numbers"

    def system_with(self, constants: Mapping[str, Any]) -> System:
        """Return the system with the parameters that are among the constants, without friction if that is left out."""
        system = self.system
        if self.parameters:
            system = with_parameters(system, {name: constants[name] for name in self.parameters})
        return system if self.has_friction else without_friction(system)

    def total_force(
        self, system: System, t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any],
        held: Applied = NOTHING,
    ) -> tuple[Array, Array | None, Array]:  # fmt: skip
        """Return the sum of all forces, tau (nv,) and f_ext (nb, 6) or None; and the rates (nu,) of the states u.
        ``held`` are further forces. Users' functions get copies, for they may change their arguments."""
        tau = constants["tau"] if self.has_tau else np.zeros(system.nv, dtype=int)
        f_ext = constants["f_ext"] if self.has_f_ext else None
        if self.law is not None:
            tau = tau + self._shaped("the controller's result", self.law(t, q.copy(), qd.copy()), (system.nv,))
        if self.f_ext is not None:
            f_ext = self._shaped("the result of f_ext", self.f_ext(t, q.copy(), qd.copy()), (system.nb, 6))
        rates: list[Any] = [np.zeros(0, dtype=int)]
        for force, size, at in zip(self.forces, self.sizes, state_slices(self.sizes), strict=True):
            result = force.apply(system, t, q.copy(), qd.copy(), u[at].copy())
            name = type(force).__name__
            if not isinstance(result, Applied):
                raise ScalarTypeError(f"{self.where}: {name}.apply gives {result!r:.80}, expected a sixd.Applied(…).")
            if result.tau is not None:
                tau = tau + self._shaped(f"tau of {name}", result.tau, (system.nv,))
            if result.f_ext is not None:
                more = self._shaped(f"f_ext of {name}", result.f_ext, (system.nb, 6))
                f_ext = more if f_ext is None else f_ext + more
            rates.append(self._shaped(f"rate of {name}", result.rate, (size,)))
        if not self.has_friction and isinstance(system, Equations):
            own = dry_friction(system).coefficients  # it is among their own forces b
            tau = tau + system.evaluate(own, q) * sign(qd)
        if held.tau is not None:
            tau = tau + held.tau
        if held.f_ext is not None:
            f_ext = held.f_ext if f_ext is None else f_ext + held.f_ext
        return tau, f_ext, np.concatenate(rates)

    def net_force(
        self, system: System, t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any],
        held: Applied = NOTHING,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return M qdd (nv,) as it is without constraints, tau minus the bias force; and the rates (nu,) of u."""
        tau, f_ext, rate = self.total_force(system, t, q, qd, u, constants, held)
        force = {} if f_ext is None else {"f_ext": f_ext}
        return tau - system.apply("bias_force", bias_force, q, qd, **force), rate

    def _shaped(self, name: str, value: ArrayLike, shape: Shape) -> Array:
        """Return a result of a user's function as an array; raise unless it has this shape and real numbers."""
        array = np.asarray(value)
        if array.shape != shape:
            raise ShapeError(f"{self.where}: {name} has shape {array.shape}, expected {shape} for one state.")
        if array.dtype.kind not in "fiuO":
            raise ScalarTypeError(f"{self.where}: {name} holds {array.dtype} values, expected real numbers.")
        return array

    def acceleration(
        self, t: Scalar, q: Array, qd: Array, u: Array, constants: Mapping[str, Any], held: Applied = NOTHING
    ) -> tuple[Array, Array]:
        """Return qdd (nv,), and the rates (nu,) of the force elements' states; ``held`` are further forces."""
        system = self.system_with(constants)
        tau, f_ext, rate = self.total_force(system, t, q, qd, u, constants, held)
        force = {} if f_ext is None else {"f_ext": f_ext}
        differentiated = implicit.is_wanted(q, qd, tau)
        if not system.constraints:
            algorithm: Callable[..., Array] = implicit.forward_dynamics if differentiated else aba
            if implicit.is_forward(q, qd, tau):  # a factored M takes half of the operations of a direction
                algorithm = implicit.factored_forward_dynamics
            return system.apply("forward_dynamics", algorithm, q, qd, tau, **force), rate
        strength = self.stabilisation if self.constraints == STABILISED else 0.0
        options: dict[str, Any] = {"stabilisation": strength, "limits": self.limits, **force}
        solve = implicit.constrained_dynamics if differentiated else constrained_dynamics
        return solve(system, q, qd, tau, t, **options)[0], rate

    def on_constraints(self, q: Array, constants: Mapping[str, Any]) -> Array:
        """Return q (nq,) after one Newton step towards the constraints, the smallest in the mass metric."""
        system = self.system_with(constants)
        return system.integrate_row(q, correction(system, q, -padded_error(system, q), self.limits))

    def along_constraints(self, t: Scalar, q: Array, qd: Array, constants: Mapping[str, Any]) -> Array:
        """Return the velocity (nv,) with A qd = b(t) that differs least from qd in the mass metric."""
        system = self.system_with(constants)
        return qd - correction(system, q, constraint_velocity(system, q, qd, t), self.limits)


def without_friction(system: System) -> System:
    """Return a tree, or a reduced one, without dry friction in its joints; another system as it is."""
    if isinstance(system, Reduced):
        return Reduced(without_friction(system.model))  # type: ignore[arg-type]
    if not isinstance(system, Model):
        return system
    return replace(system, friction=np.zeros(system.nv, dtype=int))
