"""The library's functions as data: which algorithm each runs on a row, on which arrays, with which fixed choices.

``api.py`` documents and calls them, ``compile.py`` traces them, ``evaluate.py`` runs them; a user's own function
becomes one of them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from sixd.algorithms import (
    aba,
    coriolis,
    crba,
    external,
    kinematics,
    rnea,
)
from sixd.algorithms import jacobian as jacobians
from sixd.algorithms import momentum as momenta
from sixd.algorithms import solve as solves
from sixd.algorithms.constrained import dynamics as constrained
from sixd.algorithms.constrained import rows
from sixd.algorithms.constrained.least_norm import COARSE
from sixd.algorithms.singular import LARGEST_CONDITION
from sixd.errors import ScalarTypeError, SingularError, unknown_name
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, is_number

COORDINATES = ("body", "aligned", "world")
KINDS = ("spatial", "classical")
# modules whose functions are the library's
PUBLIC = ("sixd.api.dynamics", "sixd.api.constraints")
_MEANING = {
    "q": "nq", "q0": "nq", "q1": "nq", "f_ext": "nb, 6", "wrench": "6", "point": "3", "t": "a number",
    "lam": "rows of the constraints",
}  # fmt: skip


def meaning(name: str) -> str:
    """The core shape of an array of that name, in words: nq, nv, …"""
    return _MEANING.get(name, "nv")


def core_shape(model: System, name: str) -> tuple[int, ...]:
    """The core shape of an array of that name."""
    if name == "lam":
        return (_constraint_rows(model)[0],)
    shapes = {"nq": (model.nq,), "nv": (model.nv,), "nb, 6": (model.nb, 6), "6": (6,), "3": (3,), "a number": ()}
    return shapes[meaning(name)]


# of each system: the rows of its constraints, and whether one prescribes a rate that depends on time
_ROWS: WeakKeyDictionary[System, tuple[int, bool]] = WeakKeyDictionary()


def _constraint_rows(model: System) -> tuple[int, bool]:
    if model not in _ROWS:
        _ROWS[model] = sum(k for k, _ in rows.row_counts(model)), rows.is_timed(model)
    return _ROWS[model]


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a model and arrays: ``algorithm(model, *arrays, **choices)`` evaluates one row.

    ``choices`` are its fixed arguments and their defaults (... if there is none); ``force`` says whether it takes
    f_ext too, ``solves`` whether it divides by the mass matrix, ``check(name, choices, results)`` gives what a user
    gets of its results, or raises; ``shapes`` are the core shapes of arrays whose names do not tell them. ``named``
    says that its name and its choices tell what it computes, ``judged`` that results which are not finite are errors,
    ``constrained`` that it depends on the model's constraints.
    """

    name: str
    algorithm: Callable[..., Any]
    arrays: tuple[str, ...]
    choices: dict[str, Any] = field(default_factory=dict)
    force: bool = False
    solves: bool = False
    needs_mass: bool = False
    named: bool = True
    judged: bool = True
    constrained: bool = False
    check: Callable[[str, tuple[Any, ...], list[Any]], list[Any]] | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def core(self, model: System, name: str) -> tuple[int, ...]:
        """Core shape of one of its arrays."""
        return self.shapes[name] if name in self.shapes else core_shape(model, name)

    def settle(self, model: System, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The choices checked, and in a form that can be a key."""
        return tuple(_SETTLE[name](self.name, model, x) for name, x in zip(self.choices, given, strict=True))

    def row(
        self,
        model: System,
        choices: tuple[Any, ...],
        arrays: Iterable[Array],
        f_ext: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """The algorithm on one row, with settled choices; ``dtype`` is that of the numbers it is traced for."""
        force = {} if f_ext is None else {"f_ext": f_ext}
        options = dict(zip(self.choices, choices, strict=True))
        if self.constrained and self.solves and dtype == "float32":
            options["limits"] = COARSE
        if not self.named:  # a user's, which calls the library's
            return self.algorithm(model, *arrays, **options, **force)
        return model.apply(self.name, self.algorithm, *arrays, **options, **force)

    def prescribed(self, choices: tuple[Any, ...]) -> frozenset[int]:
        """Bodies whose joints have their motion given, by settled choices."""
        return dict(zip(self.choices, choices, strict=True)).get("given", frozenset())

    def require_numeric(self, where: str, model: System) -> None:
        """Raise if the model has symbols that are not inputs of this function."""
        if any(str(s) not in self.arrays for s in model.symbols):
            model.require_numeric(where)


def _word(name: str, allowed: tuple[str, ...]) -> Callable[[str, System, Any], str]:
    def settle(where: str, model: System, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise unknown_name(f"{where}: {name}", "choice", value, allowed)
        return value

    return settle


def _frame(where: str, model: System, value: Any) -> str:
    model.frame(value, where)
    return str(value)


def _prescribed(where: str, model: Any, given: Any) -> frozenset[int]:
    if isinstance(given, str):
        raise ScalarTypeError(f"{where}: given is the string {given!r}, expected a list of joint names: [{given!r}].")
    if not isinstance(given, Iterable):
        raise ScalarTypeError(f"{where}: given is {given!r}, expected a list of joint names, such as [].")
    return frozenset(model.joint_index(name) for name in given)


def _stabilisation(where: str, model: System, value: Any) -> float:
    if isinstance(value, bool) or not is_number(value) or not 0 <= value < np.inf:
        raise ScalarTypeError(f"{where}: stabilisation is {value!r}, expected a finite number of at least 0 [1/s].")
    return float(value)


_SETTLE: dict[str, Callable[[str, System, Any], Any]] = {
    "frame": _frame,
    "expressed_in": _word("expressed_in", COORDINATES),
    "kind": _word("kind", KINDS),
    "given": _prescribed,
    "stabilisation": _stabilisation,
}


def _hybrid(model: Model, q: Array, qd: Array, qdd: Array, tau: Array, f_ext: Any = None, *, given: Any) -> Any:
    return aba.hybrid(model, given, q, qd, qdd, tau, f_ext=f_ext)


def _operational_inertia(model: Model, q: Array, *, frame: str, expressed_in: str) -> tuple[Array, Array]:
    """Λ, and W = Λ⁻¹ in the frame's own coordinates, by whose rank it is judged."""
    W = jacobians.inverse_operational_inertia(model, q, frame)
    return jacobians.inertia_of_inverse(model, q, frame, W, expressed_in), W


def _full_rank(where: str, choices: tuple[Any, ...], results: list[Any]) -> list[Any]:
    """Λ alone, if W is regular in every row when each of its rows and columns is taken in its own scale."""
    inertia, W = results
    if W.dtype == object:
        return [inertia]
    with np.errstate(all="ignore"):
        size = np.sqrt(np.diagonal(W, axis1=-2, axis2=-1))
        scaled = W / (size[..., :, None] * size[..., None, :])
    finite = np.isfinite(W).all(axis=(-2, -1))
    scaled = np.where(np.isfinite(scaled), scaled, 0).astype(float)
    regular = size.all(axis=-1) & (np.linalg.cond(scaled) < LARGEST_CONDITION[W.dtype.name])
    bad = np.argwhere(finite & ~regular)  # W is NaN where the state is
    if len(bad):
        row = f" in row {tuple(bad[0].tolist())}" if finite.ndim else ""
        raise SingularError(
            f"{where}: frame {choices[0]!r} cannot move in all six directions there{row}, so it has no operational "
            f"inertia. Use sixd.inverse_operational_inertia."
        )
    return [inertia]


def _make(*functions: Function) -> dict[str, Function]:
    return {f.name: f for f in functions}


_FRAMED = {"frame": ..., "expressed_in": "body"}

LIBRARY = _make(
    Function("inverse_dynamics", rnea.rnea, ("q", "qd", "qdd"), force=True),
    Function("forward_dynamics", aba.aba, ("q", "qd", "tau"), force=True, solves=True),
    Function("hybrid_dynamics", _hybrid, ("q", "qd", "qdd", "tau"), {"given": ...}, force=True, solves=True),
    Function("mass_matrix", crba.crba, ("q",)),
    Function("coriolis_matrix", coriolis.coriolis_matrix, ("q", "qd")),
    Function("christoffel", coriolis.christoffel, ("q",)),
    Function("bias_force", rnea.bias_force, ("q", "qd"), force=True),
    Function("gravity_force", rnea.gravity_force, ("q",)),
    Function("inverse_mass_matrix", solves.inverse_mass_matrix, ("q",), solves=True),
    Function("mass_matrix_solve", solves.mass_matrix_solve, ("q", "b"), solves=True),
    Function("energy", momenta.energy, ("q", "qd")),
    Function("momentum", momenta.momentum, ("q", "qd")),
    Function("center_of_mass", momenta.center_of_mass, ("q",), needs_mass=True),
    Function("centroidal_matrix", momenta.centroidal_matrix, ("q",), needs_mass=True),
    Function("composite_inertia", momenta.composite_inertia, ("q",)),
    Function("pose", kinematics.pose, ("q",), {"frame": ...}),
    Function("body_poses", kinematics.body_poses, ("q",)),
    Function("jacobian", jacobians.jacobian, ("q",), _FRAMED),
    Function("jacobian_rate", jacobians.jacobian_rate, ("q", "qd"), _FRAMED),
    Function("velocity", kinematics.velocity, ("q", "qd"), _FRAMED),
    Function("acceleration", kinematics.acceleration, ("q", "qd", "qdd"), {**_FRAMED, "kind": "spatial"}),
    Function("inverse_operational_inertia", jacobians.inverse_operational_inertia, ("q",), _FRAMED, solves=True),
    Function("operational_inertia", _operational_inertia, ("q",), _FRAMED, solves=True, check=_full_rank),
    Function("external_force", external.external_force, ("q", "wrench"), {"frame": ..., "expressed_in": "world"}),
    Function(
        "constrained_dynamics",
        constrained.constrained_dynamics,
        ("q", "qd", "tau"),
        {"stabilisation": 0.0},
        force=True,
        solves=True,
        judged=False,
        constrained=True,
    ),
    Function("projections", constrained.projections, ("q",), solves=True, judged=False, constrained=True),
    Function("constraint_jacobian", rows.constraint_jacobian, ("q",), constrained=True),
    Function("constraint_error", rows.constraint_error, ("q",), constrained=True),
    Function("constraint_velocity", rows.constraint_velocity, ("q", "qd"), constrained=True),
    Function("constraint_forces", rows.constraint_forces, ("q", "lam"), constrained=True),
    Function("integrate", lambda system, q, dq: system.integrate_row(q, dq), ("q", "dq")),
    Function("difference", lambda system, q0, q1: system.difference_row(q0, q1), ("q0", "q1")),
)

# beside a constraint with a prescribed rate, time is one of the arrays
_TIMED = {
    name: replace(LIBRARY[name], arrays=(*LIBRARY[name].arrays, "t"))
    for name in ("constrained_dynamics", "constraint_velocity")
}


def find(name: str, model: System) -> Function:
    """The function of that name for a system: some take the time too, if a constraint depends on it."""
    return _TIMED[name] if name in _TIMED and takes_time(model) else LIBRARY[name]


def takes_time(model: System) -> bool:
    """Whether a constraint of the system prescribes a rate that depends on time."""
    return bool(model.constraints) and _constraint_rows(model)[1]


# a force alone is of three numbers; a point of attack may be given
EXTERNAL_FORCE = {
    (width, with_point): replace(
        LIBRARY["external_force"],
        arrays=("q", "wrench", "point") if with_point else ("q", "wrench"),
        shapes={"wrench": (width,)},
    )
    for width in (3, 6)
    for with_point in (False, True)
}
