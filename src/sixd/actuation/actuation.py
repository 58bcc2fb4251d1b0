"""Actuation: from the forces of thrusters and motors of a model to joint forces, τ = T(q) f, and back.

T is compiled like every function of a model. Knows frames and joints of a system, not files or equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from sixd.actuation.actuators import Motor, Thruster
from sixd.actuation.allocation import least_norm
from sixd.api import dynamics as api
from sixd.engine.kernel import Kernel
from sixd.engine.kernel import compile as compile_kernel
from sixd.errors import ScalarTypeError
from sixd.model.system import System, require_system
from sixd.runtime import batch
from sixd.spatial.scalar import Array, ArrayLike, is_number, is_object

_ROUNDING = 8 * np.finfo(float).eps  # entries of T below this part of the largest in their column count as zero


@dataclass(frozen=True, eq=False)
class Actuation:
    """Thrusters and motors of a model: m inputs f that produce joint forces τ = T(q) f.

    Every method accepts arrays with leading batch dimensions; SymPy object arrays give SymPy.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.rp_arm()
    >>> jets = [sixd.Thruster("link2", axis, expressed_in="aligned") for axis in np.eye(3)[:2]]
    >>> sixd.Actuation(arm, jets).matrix([np.pi / 2, 0.5]).round(12)
    array([[-0.5,  0. ],
           [ 0. ,  1. ]])
    """

    model: System
    actuators: tuple[Thruster | Motor, ...]
    _kernels: dict[str, Kernel] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        require_system("Actuation", self.model)
        values = [self.actuators] if isinstance(self.actuators, (Thruster, Motor)) else self.actuators
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise ScalarTypeError(f"Actuation: actuators are {values!r}, expected a list of Thruster and Motor.")
        actuators = tuple(values)
        for a in actuators:
            if not isinstance(a, (Thruster, Motor)):
                raise ScalarTypeError(f"Actuation: got {a!r}, expected a sixd.Thruster or a sixd.Motor.")
            a.check(self.model)
        object.__setattr__(self, "actuators", actuators)

    def __getstate__(self) -> dict[str, Any]:  # compiled code is not pickled
        return {**self.__dict__, "_kernels": {}}

    @property
    def m(self) -> int:
        """Number of inputs."""
        return len(self.actuators)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs; input number k without a name is called fk."""
        return tuple(a.name or f"f{k}" for k, a in enumerate(self.actuators))

    @property
    def limits(self) -> tuple[Array, Array]:
        """(lower, upper) of f, each (m,)."""
        low, high = np.array([a.limits for a in self.actuators], dtype=float).reshape(self.m, 2).T
        return low, high

    # forward --------------------------------------------------------------------------------------

    def matrix(self, q: ArrayLike) -> Array:
        """T (…, nv, m): column j has the joint forces of one unit of input j."""
        actuators = self.actuators

        def matrix(model: System, q: Array) -> Array:
            return np.array([a.column(model, q) for a in actuators]).reshape(len(actuators), model.nv).T

        return self._run(matrix, {"q": q})

    def generalized(self, q: ArrayLike, f: ArrayLike) -> Array:
        """τ (…, nv) = T f of inputs f (…, m)."""
        actuators = self.actuators

        def generalized(model: System, q: Array, f: Array) -> Array:
            zero = np.zeros(model.nv, dtype=int)
            return sum((a.column(model, q) * x for a, x in zip(actuators, f, strict=True)), zero)

        return self._run(generalized, {"q": q, "f": f})

    def clip(self, q: ArrayLike, f: ArrayLike) -> Array:
        """f (…, m) clipped to the limits of the inputs; q gives only the batch shape."""
        _, f = self._broadcast("clip", q=q, f=f)
        return np.clip(f, *self.limits)

    def bounds(self, q: ArrayLike) -> tuple[Array, Array]:
        """(lower, upper), each (…, nv): the range of each joint force, for f within its limits.

        The set of all τ is a zonotope inside that box, and need not fill it.
        """
        T = np.asarray(self.matrix(q))
        if is_object(T):
            raise ScalarTypeError("Actuation.bounds: q holds symbols, expected numbers: limits are compared.")
        T = np.where(np.abs(T) <= _ROUNDING * np.abs(T).max(axis=-2, keepdims=True, initial=0), 0, T)
        with np.errstate(invalid="ignore"):  # 0 · inf: an input that does not reach the joint adds nothing
            ends = [np.where(T == 0, 0, T * x) for x in self.limits]
        return np.minimum(*ends).sum(axis=-1), np.maximum(*ends).sum(axis=-1)

    # back -----------------------------------------------------------------------------------------

    def allocate(self, q: ArrayLike, tau: ArrayLike, *, strict: bool = True) -> Array:
        """f (…, m) of least norm with T f = τ; limits are ignored.

        If the actuators cannot produce τ (there are too few, or T loses rank there), a ``SingularError`` names the
        residual; with ``strict=False`` f is NaN in those states instead.
        """
        return self._solve("allocate", q, tau, strict)

    def feedback(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, strict: bool = True) -> Array:
        """f (…, m) that produces the accelerations: T f = M q̈ + h, of least norm; ``strict`` as in ``allocate``."""
        tau = api.inverse_dynamics(self.model, q, qd, qdd)
        return self._solve("feedback", q, tau, strict)

    # implementation -----------------------------------------------------------------------------

    def _solve(self, where: str, q: ArrayLike, tau: ArrayLike, strict: bool) -> Array:
        q, tau = self._broadcast(where, q=q, tau=tau)
        T = self.matrix(q if is_object(q) else q.astype(float))  # float32 would blur its rank
        return least_norm(f"Actuation.{where}", np.asarray(T), tau, self._force_names(), strict)

    def _force_names(self) -> list[str]:
        """Names of the joint forces (nv,), for messages."""
        dofs = {joint: range(self.model.nv)[self.model.v_slice(joint)] for joint in self.model.joint_names}
        return [j if len(own) == 1 else f"{j}[{k}]" for j, own in dofs.items() for k in range(len(own))]

    @cached_property
    def _has_symbols(self) -> bool:
        numbers = [(a.gear,) if isinstance(a, Motor) else (*a.direction, *a.point) for a in self.actuators]
        return bool(self.model.symbols) or not all(map(is_number, chain(*numbers)))

    def _arguments(self, **values: ArrayLike) -> list[batch.Argument]:
        size = {"q": self.model.nq, "f": self.m, "tau": self.model.nv}
        of_model = f"of model {self.model.name!r}"
        meaning = {"q": f"nq {of_model}", "f": "inputs", "tau": f"nv {of_model}"}
        return [batch.Argument(name, x, (size[name],), meaning[name]) for name, x in values.items()]

    def _broadcast(self, where: str, **values: ArrayLike) -> list[Array]:
        """The arrays, checked and broadcast to one batch shape."""
        prepared = batch.broadcast(f"Actuation.{where}", self._arguments(**values))
        return [a if prepared.dtype is object else a.astype(prepared.dtype, copy=False) for a in prepared.arrays]

    def _run(self, function: Callable[..., Any], values: dict[str, Any]) -> Array:
        """A function of one state on all states: compiled, or run directly if the model or an actuator has symbols."""
        where = f"Actuation.{function.__name__}"
        if self._has_symbols:
            arguments = self._arguments(**values)
            if batch.prepare(where, arguments).dtype is not object:
                self.model.require_numeric(where)
                arguments = [a._replace(value=np.asarray(a.value, dtype=object)) for a in arguments]
            return batch.apply(where, lambda *row: function(self.model, *row), arguments)
        if where not in self._kernels:
            shapes = {"f": (self.m,)} if "f" in values else None
            self._kernels[where] = compile_kernel(function, self.model, shapes=shapes)
        return self._kernels[where](*values.values())

    def __repr__(self) -> str:
        return f"<Actuation of {self.model.name!r}: inputs {', '.join(self.names)}>"
