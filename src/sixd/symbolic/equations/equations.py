"""Equations: the equations of motion of a system in closed form, and a system that the library's functions accept.

M q̈ + C q̇ + g + b = T f. Entries are kept as elements of a polynomial ring, in which equal functions are identical,
and shown as SymPy expressions to be read. ``derive.py`` makes them from a model, ``lagrange.py`` from energies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.constrained.rank import derived
from sixd.engine.parameters import with_parameters
from sixd.errors import ModelError, unknown_name
from sixd.model.constraint import Constraint
from sixd.model.edit import substitutions
from sixd.model.joints import replace_parameters
from sixd.model.system import System
from sixd.spatial.expressions import evaluate_expressions
from sixd.spatial.scalar import Array, is_sympy, object_map
from sixd.symbolic.equations.constrained import ConstrainedMotion
from sixd.symbolic.equations.fields import Fields
from sixd.symbolic.equations.show import Shown
from sixd.symbolic.equations.snap import Moved
from sixd.symbolic.lagrange.drawn import DrawnBody
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.writing.latex_text import text

if TYPE_CHECKING:
    from sixd.symbolic.ring.ring import Ring


_WIDEST = 2000  # characters of a field that are printed


class Equations(Fields, Shown, ConstrainedMotion, System):
    """Equations of motion in closed form: M q̈ + C q̇ + g + b = τ (= input_matrix · f).

    SymPy fields: coordinates ``q``, ``qd``, ``qdd`` (columns), ``M``, ``C`` with Ṁ - 2C skew, ``Gamma`` (Christoffel
    symbols, C_ij = Σ_k Γ_ijk q̇_k), ``g`` (gravity and other forces of potential energy), ``b`` (damping, friction,
    springs of a model; dissipation and gyroscopic terms of a Lagrangian), ``h`` = C q̇ + g + b, ``tau`` = M q̈ + h,
    energies ``T``, ``V``, Lagrangian ``L``; ``A`` of the constraints. ``model`` is the (snapped) model they belong to,
    ``snapped`` what was moved in it. Each field is made when it is asked for.

    The object itself stands wherever a Model does: ``sixd.forward_dynamics(equations, q, qd, tau)``, ``sixd.compile``.
    """

    def __init__(
        self,
        name: str,
        ring: Ring,
        coordinates: tuple[Sequence[Any], Sequence[Any], Sequence[Any]],
        *,
        M: Array,
        Gamma: Array,
        g: Array,
        b: Array,
        energies: Callable[[], tuple[Poly, Poly]],
        parallel: tuple[tuple[Any, ...], ...] = (),
        constraints: tuple[Constraint, ...] = (),
        input_matrix: Any = None,
        lossy: tuple[bool, ...] | None = None,
        symbols: tuple[Any, ...] = (),
        model: Any = None,
        snapped: tuple[Moved, ...] = (),
        drawn: tuple[DrawnBody, ...] = (),
    ) -> None:
        import sympy

        self.name, self.ring = name, ring
        self.q, self.qd, self.qdd = (sympy.Matrix(len(x), 1, list(x)) for x in coordinates)
        self.nq, self.nv = len(coordinates[0]), len(coordinates[1])
        self.drawn = drawn
        self.nb = model.nb if model is not None else len(drawn)
        self.joint_names = model.joint_names if model is not None else tuple(map(str, coordinates[0]))
        self.polys = {"M": M, "Gamma": Gamma, "g": g, "b": b}
        self._energies = energies
        self.parallel, self.symbols = parallel, symbols
        self.constraints = constraints
        self.lossy = (False,) * self.nv if lossy is None else lossy
        self.input_matrix = sympy.eye(self.nv) if input_matrix is None else input_matrix
        self.model, self.snapped = model, snapped
        self._values: dict[Any, Any] = {}

    @property
    def _letters(self) -> dict[Any, str]:
        """LaTeX of the coordinates; dots for rates, unless the user gave a velocity a name of its own."""
        import sympy

        letters = {x: sympy.latex(x) for x in self.q}
        for k, (v, a) in enumerate(zip(self.qd, self.qdd, strict=True)):
            base = letters[self.q[k]] if self.nq == self.nv else f"q_{{{k + 1}}}"
            letter, line, index = base.partition("_")
            dotted = str(v) == str(a).replace("dd", "d", 1)
            letters[v] = f"\\dot{{{letter}}}{line}{index}" if dotted else f"{{{sympy.latex(v)}}}"
            letters[a] = f"\\ddot{{{letter}}}{line}{index}"
        return letters

    # a system -------------------------------------------------------------------------------------

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        if "f_ext" in options:
            raise ModelError(f"{name}: {self.name!r} are equations without bodies, expected no f_ext. Use the model.")
        if name in _ANSWERS:
            return _ANSWERS[name](self, *arrays)
        if name in ("integrate", "difference"):
            return getattr(self, f"{name}_row")(*arrays)
        if name == "body_poses" and self.drawn:
            return _body_poses(self, *arrays)
        if self.model is None:
            raise ModelError(
                f"{name}: {self.name!r} is a system given by energies, without bodies and frames. It answers "
                f"{', '.join(sorted(set(_ANSWERS)))}."
            )
        return self.model.apply(name, algorithm, *arrays, **options)

    def evaluate(self, field: Any, q: Array, qd: Array | None = None) -> Array:
        """A SymPy matrix or array, or a list of expressions, on one state of any scalar, in its shape."""
        table = dict(zip(self.q, q, strict=True)) | self._values
        if qd is not None:
            table |= dict(zip(self.qd, qd, strict=True))
        shape = (len(field),) if isinstance(field, list) else field.shape
        flat = field if isinstance(field, list) else np.array(field.tolist(), dtype=object).ravel()
        return evaluate_expressions(flat, table, self.name).reshape(shape)

    @property
    def is_traced(self) -> bool:  # type: ignore[override]
        return bool(self._values) and not self.symbols

    def with_values(self, values: Mapping[str, Any]) -> Equations:
        new = self._copy()
        new._values = self._values | {s: values[str(s)] for s in self.symbols if str(s) in values}
        new.symbols = tuple(s for s in self.symbols if str(s) not in values)
        if self.model is not None:
            new.model = with_parameters(self.model, values)
            new.constraints = self._rebound(new.model)
        derived(new, self)
        return new

    def substitute(self, values: Mapping[Any, Any]) -> Equations:
        """The equations with symbols (or their names) replaced by numbers or expressions."""
        return self._replaced(substitutions(self, values))

    def _rebound(self, model: Any) -> tuple[Constraint, ...]:
        """The constraints of ``model``, in the place of those that were its symbolic self's."""
        from sixd.symbolic.equations.derive import Bound

        return tuple(Bound(c, model) for c in model.constraints)

    def _copy(self) -> Equations:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_energies": _Known(self._energies())}

    def _replaced(self, table: Mapping[Any, Any]) -> Equations:
        """With SymPy expressions in the place of symbols, in a ring of its own."""
        from sixd.symbolic.ring.ring import Ring

        ring = Ring()

        def change(p: Poly) -> Poly:
            return ring.convert(p.to_sympy(exact=True).xreplace(dict(table)))

        polys = {key: object_map(change, x) if x.size else x for key, x in self.polys.items()}
        free = {s for value in table.values() for s in value.free_symbols}
        if self.model is None:
            model = None
            constraints = tuple(
                replace_parameters(c, lambda x: x.xreplace(dict(table)) if is_sympy(x) else x) for c in self.constraints
            )
        else:
            model = self.model.substitute(table)
            constraints = self._rebound(model)
        return Equations(
            self.name,
            ring,
            (self.q, self.qd, self.qdd),
            **polys,
            energies=lambda: (change(self._energies()[0]), change(self._energies()[1])),
            parallel=self.parallel,
            constraints=constraints,
            input_matrix=self.input_matrix.xreplace(dict(table)),
            lossy=self.lossy,
            symbols=tuple(sorted((set(self.symbols) - set(table)) | free, key=str)),
            model=model,
            snapped=self.snapped,
            drawn=tuple(body.substituted(table) for body in self.drawn),
        )

    # the manifold of the coordinates is the model's, if there is one; else they are real numbers

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        return qd if self.model is None else self.model.configuration_rate(q, qd)

    def integrate_row(self, q: Array, dq: Array) -> Array:
        return q + dq if self.model is None else self.model.integrate_row(q, dq)

    def difference_row(self, q0: Array, q1: Array) -> Array:
        return q1 - q0 if self.model is None else self.model.difference_row(q0, q1)

    def neutral(self) -> Array:
        return np.zeros(self.nq) if self.model is None else self.model.neutral()

    def frame(self, name: str, where: str = "frame") -> Any:
        return super().frame(name, where) if self.model is None else self.model.frame(name, where)

    def q_slice(self, joint: str) -> slice:
        return self._slice(joint, "q_slice")

    def v_slice(self, joint: str) -> slice:
        return self._slice(joint, "v_slice")

    def _slice(self, joint: str, kind: str) -> slice:
        if self.model is not None:
            return getattr(self.model, kind)(joint)
        if joint not in self.joint_names:
            raise unknown_name(f"system {self.name!r}", "coordinate", joint, self.joint_names)
        k = self.joint_names.index(joint)
        return slice(k, k + 1)

    def __str__(self) -> str:
        form = "M q̈ + C q̇ + g + b = τ, b for damping and friction," if "b" in self._chosen(()) else "M q̈ + C q̇ + g = τ"
        lines = [f"{self.name}: {form} in {', '.join(map(str, self.q))}"]
        # four digits of each number: the fields themselves have all
        lines += [f"{name} = {text(getattr(self, name))}" for name in self._chosen(())]
        long = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]} … ({len(line)} characters)" for line in lines]
        return "\n".join(long)

    def __repr__(self) -> str:
        return f"<Equations of {self.name!r}: nq = {self.nq}, nv = {self.nv}>"


class _Known:
    """Energies at hand."""

    def __init__(self, energies: tuple[Poly, Poly]) -> None:
        self.energies = energies

    def __call__(self) -> tuple[Poly, Poly]:
        return self.energies


def _inverse_dynamics(system: Equations, q: Array, qd: Array, qdd: Array) -> Array:
    return system.evaluate(system.M, q) @ qdd + _bias_force(system, q, qd)


def _bias_force(system: Equations, q: Array, qd: Array) -> Array:
    return system.evaluate(list(system.h), q, qd)


def _energy(system: Equations, q: Array, qd: Array) -> tuple[Any, Any]:
    T, V = system.evaluate([system.T, system.V], q, qd)
    return T, V


def _body_poses(system: Equations, q: Array) -> Array:
    """Poses (nb, 4, 4) of the bodies that a system given by energies has to be looked at."""
    rows = system.evaluate([x for body in system.drawn for x in body.pose], q).reshape(-1, 3, 4)
    last = np.broadcast_to(np.array([0, 0, 0, 1]), (len(rows), 1, 4))
    return np.concatenate([rows, last], axis=1)


# functions of the library that equations answer by themselves
_ANSWERS: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": _inverse_dynamics,
    "forward_dynamics": lambda s, q, qd, tau: mass_metric(s, q).solve(tau - _bias_force(s, q, qd)),
    "mass_matrix": lambda s, q: s.evaluate(s.M, q),
    "bias_force": _bias_force,
    "gravity_force": lambda s, q: s.evaluate(list(s.g), q),
    "inverse_mass_matrix": lambda s, q: mass_metric(s, q).solve(np.eye(s.nv, dtype=int)),
    "mass_matrix_solve": lambda s, q, rhs: mass_metric(s, q).solve(rhs),
    "coriolis_matrix": lambda s, q, qd: s.evaluate(s.C, q, qd),
    "christoffel": lambda s, q: s.evaluate(s.Gamma, q),
    "energy": _energy,
}
