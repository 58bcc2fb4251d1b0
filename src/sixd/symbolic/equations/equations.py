"""Equations: equations of motion in closed form, and a system that the functions of the library accept.

M q̈ + C q̇ + g + b = T f. ``from_model.py`` makes them from a model, ``from_energies.py`` from energies. The entries are
in a ``ClosedForm``; printing, source code, linearization and constrained motion are in modules that the methods call.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.constrained.rank import derived
from sixd.algorithms.derivatives.implicit import factored_forward_dynamics
from sixd.algorithms.jacobian import jacobian
from sixd.algorithms.kinematics import body_poses, pose
from sixd.api.declared import LIBRARY
from sixd.engine.parameters import with_parameters
from sixd.errors import ModelError, ScalarTypeError, require_known
from sixd.lazy import Expr, Matrix, sympy
from sixd.model.constraint import Constraint
from sixd.model.joints import replace_parameters
from sixd.model.numbers import substitutions
from sixd.model.system import System
from sixd.spatial.expressions import evaluate_expressions
from sixd.spatial.scalar import Array, Scalar, is_sympy
from sixd.symbolic.arguments import Coordinates, ExprLike, VectorLike
from sixd.symbolic.closed_form import ClosedForm
from sixd.symbolic.equations import constrained_motion, linearization, printing, source_code
from sixd.symbolic.equations.derivation import Derivation, derivation
from sixd.symbolic.equations.input_range import InputRange, input_range
from sixd.symbolic.equations.ring_model import energy_of_bodies, model_constraints, ring_system
from sixd.symbolic.equations.snap import Moved
from sixd.symbolic.lagrange.drawn_bodies import DrawnBody


class Equations(System):
    """Equations of motion in closed form: M q̈ + C q̇ + g + b = τ (= input_matrix · f).

    SymPy fields: coordinates ``q``, ``qd``, ``qdd`` (columns), ``M``, ``C`` with Ṁ - 2C skew, ``Gamma`` (Christoffel
    symbols, C_ij = Σ_k Γ_ijk q̇_k), ``g`` (gravity and other forces of potential energy), ``b`` (damping, friction,
    springs of a model; dissipation and gyroscopic terms of a Lagrangian), ``h`` = C q̇ + g + b, ``tau`` = M q̈ + h,
    energies ``T``, ``V``, Lagrangian ``L``; ``A`` of the constraints. Each is made on first access. ``model`` is the
    (snapped) model that they describe, or None; ``snapped`` lists the numbers changed in it; ``lossy`` says which
    coordinates have dissipation; ``form`` holds the entries as elements of a polynomial ring.

    The object is accepted wherever a Model is: ``sixd.forward_dynamics(equations, q, qd, tau)``, ``sixd.compile``.
    """

    def __init__(
        self,
        name: str,
        form: ClosedForm,
        *,
        constraints: tuple[Constraint, ...],
        lossy: tuple[bool, ...],
        symbols: tuple[Any, ...],
        input_matrix: Matrix | None = None,
        model: System | None = None,
        snapped: tuple[Moved, ...] = (),
        drawn: tuple[DrawnBody, ...] = (),
    ) -> None:
        self.name, self.form = name, form
        self.ring, self.polys, self.parallel = form.ring, form.polys, form.parallel
        self.q, self.qd, self.qdd = form.q, form.qd, form.qdd
        self.nq, self.nv = len(form.q), len(form.qd)
        self.constraints, self.lossy, self.symbols = constraints, lossy, symbols
        self.input_matrix = sympy.eye(self.nv) if input_matrix is None else input_matrix
        self.model, self.snapped, self.drawn = model, snapped, drawn
        self.nb = model.nb if model is not None else len(drawn)
        self.joint_names = model.joint_names if model is not None else tuple(map(str, form.q))
        self._values: dict[Any, Any] = {}  # scalars for symbols, from with_values

    # SymPy fields ---------------------------------------------------------------------------------

    M = property(attrgetter("form.M"), doc="Mass matrix (nv, nv).")
    C = property(attrgetter("form.C"), doc="Coriolis matrix (nv, nv) with Ṁ - 2C skew.")
    Gamma = property(attrgetter("form.Gamma"), doc="Christoffel symbols (nv, nv, nv): C_ij = Σ_k Γ_ijk q̇_k.")
    g = property(attrgetter("form.g"), doc="Forces of potential energy (nv,): those that hold the system at rest.")
    b = property(attrgetter("form.b"), doc="Other forces (nv,): damping, friction, springs, gyroscopic terms.")
    h = property(attrgetter("form.h"), doc="C q̇ + g + b (nv,), the products of velocities collected.")
    tau = property(attrgetter("form.tau"), doc="M q̈ + h (nv,): the generalised forces that produce the motion.")
    T = property(attrgetter("form.T"), doc="Kinetic energy.")
    V = property(attrgetter("form.V"), doc="Potential energy.")
    L = property(lambda self: self.T - self.V, doc="Lagrangian T - V.")

    @cached_property
    def A(self) -> Any:
        """Matrix (k, nv) of the constraints A q̇ = b(t)."""
        return self._constraint_rows(lambda c, q: c.jacobian(self, q))

    @cached_property
    def A_rate(self) -> Any:
        """Ȧ (k, nv), the time derivative of A along q̇ (coordinates that are the integrals of the velocities)."""
        return constrained_motion.rate_of_rows(self)

    @cached_property
    def phi(self) -> Any:
        """Holonomic constraints φ(q) = 0, a column."""
        return self._constraint_rows(lambda c, q: c.position(self, q)[:, None])

    def _constraint_rows(self, rows: Callable[[Constraint, Array], Array]) -> Any:
        """The rows of all constraints: computed in the ring, or on symbols if there are roots or divisions."""
        try:
            return self.form.shown_rows([rows(c, self.form.ring_q) for c in self.constraints])
        except ScalarTypeError:
            return self.form.shown_rows([rows(c, np.array(list(self.q), dtype=object)) for c in self.constraints])

    @cached_property
    def conserved(self) -> dict[Any, Any]:
        """Momenta of cyclic coordinates, by the coordinate, and ``"energy"`` (Jacobi's integral) if it is constant.

        A coordinate is cyclic if L does not depend on it; dissipation in it, or constraints, change its momentum.
        """
        return self.form.conserved(self.lossy, self.constraints)

    def pose(self, frame: str, *, relative_to: str = "world") -> Any:
        """Pose (4, 4) of a frame in the world, or in another frame."""
        return self._frame_matrix("pose", pose, frame=frame, relative_to=relative_to)

    def jacobian(self, frame: str, *, expressed_in: str = "body") -> Any:
        """Jacobian (6, nv) of a frame, angular rows first."""
        return self._frame_matrix("jacobian", jacobian, frame=frame, expressed_in=expressed_in)

    def _frame_matrix(self, name: str, algorithm: Callable[..., Any], **options: str) -> Any:
        if self.model is None:
            raise ModelError(f"{name}: {self.name!r} is defined by energies and has no frames, expected a model's.")
        system = ring_system(self.model, self.ring)
        return self.form.shown_rows([system.apply(name, algorithm, self.form.ring_q, **options)])

    # constrained and linearized motion ------------------------------------------------------------

    def constrained(self, tau: VectorLike | None = None) -> constrained_motion.Constrained:
        """Accelerations and multipliers under generalised forces ``tau`` (nv,), by default the symbols u1, u2, …

        The time of prescribed rates is t. Results hold where φ(q) = 0; long ones are not simplified.
        """
        return constrained_motion.constrained(self, tau)

    def projections(self) -> constrained_motion.Projections:
        """P_u = 1 - Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹, forces without the part that constraints support, where φ = 0; P = P_uᵀ."""
        return constrained_motion.projections(self)

    def constrained_equations(self, tau: VectorLike | None = None) -> constrained_motion.ConstrainedEquations:
        """M q̈ + C q̇ + g + b = τ + Aᵀλ with A q̈ + Ȧ q̇ = ḃ in symbols, and projected: P q̈ = P M⁻¹(τ - C q̇ - g - b).

        ``tau`` (nv,) are the symbols u1, u2, … if omitted; the multipliers are lambda1, lambda2, …
        """
        return constrained_motion.constrained_equations(self, tau)

    def input_range(self, lower: VectorLike | ExprLike, upper: VectorLike | ExprLike) -> InputRange:
        """Generalised forces τ = T(q) f of inputs within a box, lower ≤ f ≤ upper (m,) each: bounds and corners.

        Limits are numbers or symbols; a scalar applies to all inputs.
        """
        return input_range(self, lower, upper)

    def eliminate(
        self,
        explicit: Mapping[Any, Any] | None = None,
        *,
        new: Coordinates | None = None,
        dependent: Coordinates | Expr | None = None,
        near: Mapping[Any, Any] | None = None,
    ) -> Equations:
        """The equations in independent coordinates: the holonomic constraints solved, or satisfied by ``explicit``.

        Parameters
        ----------
        explicit : the old coordinates as functions of the new ones, {x: R*cos(phi), y: R*sin(phi)}; it must satisfy the
            constraints. Without it the constraints are solved for ``dependent`` coordinates, ``near`` a point.
        new : the new coordinates, if they are not among the old ones; by default the symbols that only ``explicit``
            contains, sorted by name.
        """
        return Equations(self.name, **constrained_motion.eliminated(self, explicit, new, dependent, near)._asdict())

    def linearize(
        self, q: VectorLike, qd: VectorLike | None = None, f: VectorLike | ExprLike | None = None
    ) -> linearization.Linear:
        """(A, B) of ẋ = A x + B u for small deviations x = (δq, δq̇) and u = δf from a state and input force.

        q, qd (n,) and f (m,) are numbers or SymPy expressions; qd and f are zero if omitted. Shapes (2n, 2n), (2n, m).
        """
        return linearization.linearize(self, q, qd, f)

    def derivation(self) -> Derivation:
        """Lagrange's equations step by step: T, V, L, ∂L/∂q̇, its time derivative, ∂L/∂q, collected into M, C, g.

        ``print`` it, or use its fields; ``.latex()`` and ``.markdown()`` are text for papers.
        """
        return derivation(self)

    # printing -------------------------------------------------------------------------------------

    def latex(self, *fields: str | Expr | Matrix, short: bool = True, digits: int | None = 4) -> str:
        """LaTeX of some fields ("M", "C", "g", "tau", "Gamma", …), one equation per line; by default M, C, g, and b,
        A and the input matrix T(q) unless they are zero, empty or the identity.

        ``short`` writes s and c for sines and cosines with the numbers of their coordinates: c_{12} = cos(q1 + q2). Of
        "Gamma" only the nonzero symbols are printed. A SymPy expression or matrix is printed in the same letters.
        Floating-point numbers have ``digits`` digits, or all if it is None; ``.M`` and the other fields have all.
        """
        return printing.equations_latex(self, fields, short, digits)

    def markdown(self, *fields: str, short: bool = True, digits: int | None = 4) -> str:
        """The same as Markdown, with a line that explains the letters."""
        return printing.equations_markdown(self, fields, short, digits)

    def code(self, language: str = "python", functions: Sequence[str] = ("inverse_dynamics",)) -> str:
        """Source code of some of mass_matrix, coriolis_matrix, gravity_force, bias_force, inverse_dynamics.

        "python": plain functions of lists that use only ``math``; common subexpressions are computed once. "c": C99 as
        ``sixd.export_c`` writes it. Parameters that are symbols become arguments after the others.
        """
        return source_code.write_functions(self, language, functions)

    def count_ops(self) -> dict[str, int]:
        """Operations of M, C, g and b as printed, their total, and the total with common subexpressions shared."""
        return source_code.count_operations(self)

    def __str__(self) -> str:
        return printing.equations_text(self)

    def __repr__(self) -> str:
        return f"<Equations of {self.name!r}: nq = {self.nq}, nv = {self.nv}>"

    def _repr_markdown_(self) -> str:
        return self.markdown()

    # parameters -----------------------------------------------------------------------------------

    def substitute(self, values: Mapping[Any, Any]) -> Equations:
        """The equations with symbols (or their names) replaced by numbers or expressions."""
        table = substitutions(self, values)

        def change(x: Scalar) -> Any:
            return x.xreplace(table) if is_sympy(x) else x

        form = self.form.replaced(table)
        if self.model is None:
            model, constraints = None, tuple(replace_parameters(c, change) for c in self.constraints)
        else:
            model = self.model.substitute(table)
            constraints = model_constraints(model)
        free = {s for value in table.values() for s in value.free_symbols}
        return Equations(
            self.name,
            form,
            constraints=constraints,
            input_matrix=self.input_matrix.xreplace(table),
            lossy=self.lossy,
            symbols=tuple(sorted((set(self.symbols) - set(table)) | free, key=str)),
            model=model,
            snapped=self.snapped,
            drawn=tuple(body.substituted(table) for body in self.drawn),
        )

    def with_values(self, values: Mapping[str, Any]) -> Equations:
        """The equations with scalars, which may be traced, in place of the symbols of these names."""
        new = copy.copy(self)
        new._values = self._values | {s: values[str(s)] for s in self.symbols if str(s) in values}
        new.symbols = tuple(s for s in self.symbols if str(s) not in values)
        if self.model is not None:
            new.model = with_parameters(self.model, values)
            new.constraints = model_constraints(new.model)
        derived(new, self)
        return new

    @property
    def is_traced(self) -> bool:  # type: ignore[override]
        """Whether all parameters have values by ``with_values``."""
        return bool(self._values) and not self.symbols

    def evaluate(self, field: Matrix | list[Expr], q: Array, qd: Array | None = None) -> Array:
        """Values of a SymPy matrix or array, or of a list of expressions, in one state of any scalar; same shape."""
        table = dict(zip(self.q, q, strict=True)) | self._values
        if qd is not None:
            table |= dict(zip(self.qd, qd, strict=True))
        shape = (len(field),) if isinstance(field, list) else field.shape
        flat = field if isinstance(field, list) else np.array(field.tolist(), dtype=object).ravel()
        return evaluate_expressions(flat, table, self.name).reshape(shape)

    # functions of the library on one state --------------------------------------------------------

    def apply(self, name: str, algorithm: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
        """Compute the function of the library called ``name`` on one state: by a method here, or by the model."""
        if "f_ext" in options:
            self.require_bodies(name)
        if self.model is None or hasattr(self, f"{name}_row"):
            return super().apply(name, algorithm, *arrays, **options)
        return self.model.apply(name, algorithm, *arrays, **options)

    def require_bodies(self, where: str) -> None:
        """Raise: equations have no bodies on which f_ext could act."""
        raise ModelError(f"{where}: {self.name!r} are equations without bodies, expected no f_ext. Use the model.")

    def refusal(self, name: str) -> str:
        """The message for a function that is not defined for a system defined by energies."""
        methods = {n: f"{n.removesuffix('_derivatives')}_row" for n in LIBRARY}
        known = {n for n, method in methods.items() if LIBRARY[n].generic or hasattr(self, method)}
        names = ", ".join(sorted(known - (set() if self.drawn else {"body_poses"})))
        return f"{name}: {self.name!r} is a system defined by energies, without bodies and frames. It has {names}."

    def mass_matrix_row(self, q: Array) -> Array:
        """M (nv, nv)."""
        return self.evaluate(self.M, q)

    def inverse_mass_matrix_row(self, q: Array) -> Array:
        """M⁻¹ (nv, nv)."""
        return mass_metric(self, q).solve(np.eye(self.nv, dtype=int))

    def mass_matrix_solve_row(self, q: Array, rhs: Array) -> Array:
        """M⁻¹ rhs."""
        return mass_metric(self, q).solve(rhs)

    def coriolis_matrix_row(self, q: Array, qd: Array) -> Array:
        """C (nv, nv)."""
        return self.evaluate(self.C, q, qd)

    def christoffel_row(self, q: Array) -> Array:
        """Γ (nv, nv, nv)."""
        return self.evaluate(self.Gamma, q)

    def gravity_force_row(self, q: Array) -> Array:
        """g (nv,)."""
        return self.evaluate(list(self.g), q)

    def passive_force_row(self, q: Array, qd: Array) -> Array:
        """b (nv,); g + b of a system defined by energies, since its springs are part of g."""
        return self.evaluate(list(self.b if self.model is not None else self.g + self.b), q, qd)

    def bias_force_row(self, q: Array, qd: Array) -> Array:
        """h (nv,)."""
        return self.evaluate(list(self.h), q, qd)

    def inverse_dynamics_row(self, q: Array, qd: Array, qdd: Array) -> Array:
        """M qdd + h (nv,)."""
        return self.mass_matrix_row(q) @ qdd + self.bias_force_row(q, qd)

    def forward_dynamics_row(self, q: Array, qd: Array, tau: Array) -> Array:
        """M⁻¹ (tau - h) (nv,)."""
        return factored_forward_dynamics(self, q, qd, tau)

    def energy_row(self, q: Array, qd: Array, *, per: str = "model") -> tuple[Any, ...]:
        """Kinetic and potential energy; of single bodies only if the equations are those of a model."""
        if per != "model":
            return energy_of_bodies(self.model, self.name, q, qd, per)
        return tuple(self.evaluate([self.T, self.V], q, qd))

    def body_poses_row(self, q: Array) -> Array:
        """Poses (nb, 4, 4) of the model's bodies, or of the bodies to draw."""
        if self.model is not None:
            return self.model.apply("body_poses", body_poses, q)
        if not self.drawn:
            raise ModelError(self.refusal("body_poses"))
        rows = self.evaluate([x for body in self.drawn for x in body.pose], q).reshape(-1, 3, 4)
        last = np.broadcast_to(np.array([0, 0, 0, 1]), (len(rows), 1, 4))
        return np.concatenate([rows, last], axis=1)

    # coordinates: those of the model, if there is one; else real numbers --------------------------

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) at q (nq,) along qd (nv,)."""
        return qd if self.model is None else self.model.configuration_rate(q, qd)

    def integrate_row(self, q: Array, dq: Array) -> Array:
        """The configuration (nq,) reached from q by dq (nv,)."""
        return q + dq if self.model is None else self.model.integrate_row(q, dq)

    def difference_row(self, q0: Array, q1: Array) -> Array:
        """The dq (nv,) that leads from q0 to q1 (nq,)."""
        return q1 - q0 if self.model is None else self.model.difference_row(q0, q1)

    def neutral(self) -> Array:
        """The configuration (nq,) to start from: the model's, or zero."""
        return np.zeros(self.nq) if self.model is None else self.model.neutral()

    def frame(self, name: str, where: str = "frame") -> Any:
        """The model's frame of that name."""
        return super().frame(name, where) if self.model is None else self.model.frame(name, where)

    def q_slice(self, joint: str) -> slice:
        """The slice of q that belongs to a joint of the model, or to a coordinate."""
        return self._coordinate_slice(joint) if self.model is None else self.model.q_slice(joint)

    def v_slice(self, joint: str) -> slice:
        """The slice of qd that belongs to a joint of the model, or to a coordinate."""
        return self._coordinate_slice(joint) if self.model is None else self.model.v_slice(joint)

    def _coordinate_slice(self, name: str) -> slice:
        require_known(f"system {self.name!r}", "coordinate", name, self.joint_names)
        k = self.joint_names.index(name)
        return slice(k, k + 1)
