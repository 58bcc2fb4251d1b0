"""Base parameters: the sums of standard parameters that joint torques depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, require_known
from sixd.identification.structure.columns import INERTIAL, Columns, Friction, make_columns
from sixd.identification.structure.exact import Elements, eliminate
from sixd.identification.structure.observable import Floats, observable
from sixd.lazy import Expr, sympy
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.runtime.batch import Argument, broadcast
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number, object_array
from sixd.symbolic.equations.snap import snap_model

# of a body, those that are kept first: others are regrouped into earlier parameters and into parents
_KEPT_FIRST = ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "hx", "hy", "hz", "Iyy", "m")
_CLEAN = 1e-10  # coefficients within this of a whole number are rounded to it
_LARGEST_DENOMINATOR = 12  # of a coefficient that is written as a fraction
METHODS = ("numeric", "ring")


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters β = ``matrix`` θ of standard parameters θ: torques depend on β alone, τ = W[:, independent] β.

    matrix : (r, p), the identity in the columns ``independent``; floats, or exact SymPy numbers and expressions.
    names : names of the standard parameters (p): m1, hx1, …, Ixy1 of body 1 and so on, then those of the joints.
    independent : numbers of the r columns that are kept, ascending.
    """

    columns: Columns
    matrix: Array
    independent: tuple[int, ...]

    @property
    def model(self) -> Model:
        """The model that the parameters belong to."""
        return self.columns.model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the standard parameters (p)."""
        return self.columns.names

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the standard parameter that each base parameter begins with (r)."""
        return tuple(self.names[j] for j in self.independent)

    @cached_property
    def formulas(self) -> tuple[Expr, ...]:
        """Each base parameter as a SymPy expression in the standard parameters."""
        symbols = [sympy.Symbol(name) for name in self.names]
        terms = [[(j, x) for j, x in enumerate(row) if x != 0] for row in self.matrix]
        return tuple(sympy.Add(*(_shown(x) * symbols[j] for j, x in row)) for row in terms)

    @cached_property
    def unobservable(self) -> tuple[str, ...]:
        """Names of the standard parameters that have no effect on any torque."""
        return tuple(name for name, column in zip(self.names, self.matrix.T, strict=True) if not any(column != 0))

    def of(self, parameters: ArrayLike | Model) -> Array:
        """β (…, r) of standard parameters (…, p), or of a model."""
        theta = self._theta(parameters) if isinstance(parameters, Model) else np.asarray(parameters)
        if theta.ndim == 0 or theta.shape[-1] != len(self.names):
            raise ScalarTypeError(
                f"BaseParameters.of: got shape {theta.shape}, expected (…, {len(self.names)}) standard parameters, or "
                f"a model with the bodies and joints of {self.model.name!r}."
            )
        return theta @ self.matrix.T

    def _theta(self, model: Model) -> Array:
        if (model.nb, model.nv) != (self.model.nb, self.model.nv):
            return np.zeros(0)
        return Columns(model, self.columns.kinds).values

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """W (…, nv, r) with τ = W β, for states q (…, nq), qd and qdd (…, nv)."""
        sizes = {"q": self.model.nq, "qd": self.model.nv, "qdd": self.model.nv}
        arguments = [Argument(name, x, (n,)) for (name, n), x in zip(sizes.items(), (q, qd, qdd), strict=True)]
        arrays, batch, kind = broadcast("BaseParameters.regressor", arguments)
        if kind is object:
            raise ScalarTypeError("BaseParameters.regressor: an argument holds symbols, expected numbers.")
        rows = [x.reshape(-1, x.shape[-1]) for x in arrays]
        return self.columns.regressor(*rows)[..., list(self.independent)].reshape(*batch, self.model.nv, len(self))

    def __len__(self) -> int:
        return len(self.independent)

    def __str__(self) -> str:
        lines = [f"{len(self)} base parameters of {self.model.name}, of {len(self.names)} standard ones"]
        lines += [f"  {formula}" for formula in self.formulas]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<BaseParameters of {self.model.name!r}: {len(self)} of {len(self.names)}>"


def base_parameters(
    model: Model, *, friction: Friction = (), armature: bool = False, method: str | None = None, tolerance: float = 1e-5
) -> BaseParameters:
    """The base parameters of a model: which sums of its standard parameters joint torques depend on.

    Parameters
    ----------
    model : its inertias do not matter, only its geometry and whether there is gravity. Geometry may have symbols.
    friction : some of "viscous", "coulomb" and "offset" (True: all) that are parameters of each degree of freedom too.
    armature : whether armature, as of a motor's rotor, is one.
    method : "numeric" computes with floats; "ring" gives closed forms, exact for numbers and symbols; it rounds angles
        within 1e-9 of multiples of 90°. By default "ring" for a model with symbols, else "numeric".
    tolerance : singular values below this part of the largest are zero ("numeric"). An angle that differs from 90° by
        less has the same base parameters as 90°.

    Returns
    -------
    BaseParameters : ``len()``, ``.matrix`` (r, p), ``.independent``, ``.formulas``, ``.of(θ)``, ``.regressor(…)``.

    >>> import sixd
    >>> len(sixd.identification.base_parameters(sixd.zoo.panda_arm()))
    43
    >>> print(sixd.identification.base_parameters(sixd.zoo.planar(2)))
    4 base parameters of planar2, of 20 standard ones
      Izz1 + m2
      hx2
      hy2
      Izz2
    """
    columns = make_columns("base_parameters", model, friction, armature, symbols=True)
    method = method or ("ring" if model.symbols else "numeric")
    require_known("base_parameters: method", "method", method, METHODS)
    if not is_number(tolerance) or not 0 < float(tolerance) < 0.1:
        raise ScalarTypeError(f"base_parameters: tolerance is {tolerance!r}, expected a small number such as 1e-5.")
    if method == "ring":
        return _in_closed_form(columns, float(tolerance))
    model.require_numeric("base_parameters")
    key = ("base parameters", columns.kinds, float(tolerance))
    return BaseParameters(columns, *remember(model, key, lambda: _in_floats(columns, tolerance)))


def _in_floats(columns: Columns, tolerance: float) -> tuple[Array, tuple[int, ...]]:
    floats = Floats(columns.model, tolerance)
    rows = observable(columns.model, columns.kinds, floats)
    scale = np.concatenate([np.tile(floats.scale, columns.model.nb), np.ones(columns.count - 10 * columns.model.nb)])
    return _reduced(rows, _order(columns), scale, tolerance)


def _in_closed_form(columns: Columns, tolerance: float) -> BaseParameters:
    model = snap_model(columns.model, 1e-9)[0]
    elements = Elements(model)
    rows = elements.coefficients(observable(model, columns.kinds, elements))
    reduced, pivots = eliminate(rows, _order(columns))
    if not model.symbols:
        count = len(observable(model, columns.kinds, Floats(model, tolerance)))
        if count != len(reduced):
            raise ModelError(
                f"base_parameters: the closed form of model {model.name!r} has {len(reduced)} parameters, but {count} "
                f"matter: its rotations are decimals, not exactly rotations. Use method='numeric', or give its angles "
                f"as SymPy expressions."
            )
    ranked = sorted(zip(pivots, reduced, strict=True))
    entries = [x for _, row in ranked for x in row]
    entries = [sympy.Rational(x.numerator, x.denominator) if isinstance(x, (int, Fraction)) else x for x in entries]
    return BaseParameters(columns, object_array(entries, (len(ranked), columns.count)), tuple(j for j, _ in ranked))


def _order(columns: Columns) -> list[int]:
    """The columns in the order in which they are kept."""
    bodies = [10 * (i - 1) + INERTIAL.index(name) for i in columns.model.bodies for name in _KEPT_FIRST]
    return [*bodies, *range(10 * columns.model.nb, columns.count)]


def _reduced(rows: Array, order: Sequence[int], scale: Array, tolerance: float) -> tuple[Array, tuple[int, ...]]:
    """Combinations of the rows (r, p) that are the identity in the first independent columns of ``order``.

    ``scale`` (p,) makes the columns comparable; parts of the length ``tolerance`` count as zero.
    """
    rows = np.linalg.qr((rows * scale).T)[0].T
    independent: list[int] = []
    left = rows.copy()  # the columns minus their parts along those that are kept
    for least in (tolerance, 0.0):
        for j in order:
            length = float(np.linalg.norm(left[:, j]))
            if length > least and j not in independent and len(independent) < len(rows):
                direction = left[:, j] / length
                left -= np.outer(direction, direction @ left)
                independent.append(j)
    independent.sort()
    matrix = np.linalg.solve(rows[:, independent], rows) * scale[independent][:, None] / scale
    near = np.rint(matrix)
    return np.where(np.abs(matrix - near) < _CLEAN, near, matrix), tuple(independent)


def _shown(x: Scalar) -> Expr:
    """A coefficient as formulas show it: whole numbers, small fractions, decimals, expressions."""
    if is_number(x):
        return sympy.Integer(int(x)) if float(x).is_integer() else sympy.Float(float(x), 8)
    return sympy.Float(float(x), 15) if x.is_Rational and x.q > _LARGEST_DENOMINATOR else x
