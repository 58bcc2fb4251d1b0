"""How the functions of ``api.py`` are evaluated: the plain algorithm on every row of validated arrays.

One place knows how a state's arrays are named and shaped, and what it means when a result is not finite.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sixd import batch
from sixd.algorithms.singular import singular_joints, vanishing_pivots
from sixd.errors import ModelError, SingularError, unknown_name
from sixd.model.manifold import nonfinite_error
from sixd.model.model import Model, require_model
from sixd.spatial.scalar import Array, is_object

_SUSPECT = 1e12
COORDINATES = ("body", "aligned", "world")
_MEANING = {"q": "nq", "qd": "nv", "qdd": "nv", "tau": "nv", "b": "nv", "f_ext": "nb, 6"}


def run(
    where: str,
    algorithm: Callable[..., Any],
    model: Model,
    out: Any,
    explain: Callable[..., Exception] | None = None,
    **arrays: Any,
) -> Any:
    """The algorithm on every row; ``arrays`` in the order in which the algorithm takes them, f_ext by keyword.

    ``explain(row, q, …)`` makes the error for a row whose result is not finite although its arguments are.
    """
    require_model(where, model)
    shapes = {"nq": (model.nq,), "nv": (model.nv,), "nb, 6": (model.nb, 6)}
    with_force = arrays.get("f_ext") is not None
    given = {name: value for name, value in arrays.items() if name != "f_ext" or with_force}
    arguments = [
        batch.Argument(name, value, shapes[_MEANING[name]], f"{_MEANING[name]} of model {model.name!r}")
        for name, value in given.items()
    ]

    def one(*row: Array) -> Any:
        if not is_object(*row):
            model.require_numeric(where)
        if with_force:
            return algorithm(model, *row[:-1], f_ext=row[-1])
        return algorithm(model, *row)

    return batch.apply(where, one, arguments, out=out, explain=explain or partial(nonfinite_error, model, where))


def solve(
    where: str,
    algorithm: Callable[..., Any],
    model: Model,
    out: Any,
    prescribed: frozenset[int] = frozenset(),
    explain: Callable[..., Exception] | None = None,
    **arrays: Any,
) -> Any:
    """:func:`run` for what divides by the mass matrix: raises where that is singular, to rounding."""
    _require_regular(where, model, prescribed)

    def checked(model: Model, q: Array, *row: Array, **force: Array) -> Any:
        result = algorithm(model, q, *row, **force)
        first = result[0] if isinstance(result, tuple) else result
        # only results this large can come from a pivot at rounding; they alone pay for the look
        suspect = not is_object(first) and first.size and np.abs(first).max() > _SUSPECT
        if suspect and vanishing_pivots(model, q, prescribed):
            return tuple(x * np.nan for x in result) if isinstance(result, tuple) else result * np.nan
        return result

    def singular(row: str, q: Array, *others: Array) -> SingularError:
        with np.errstate(all="ignore"):
            names = [model.joint_names[i - 1] for i in vanishing_pivots(model, q, prescribed)]
        if not names:
            return nonfinite_error(model, where, row, q)
        return SingularError(
            f"{where}: the mass matrix is singular in this configuration{row}: there joints {names} move nothing that "
            f"others do not move already. Move away from it, or give the joints an armature."
        )

    return run(where, checked, model, out, explain or singular, **arrays)


def require_choice(where: str, name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise, suggesting the nearest, unless ``value`` is one of the words allowed."""
    if value not in allowed:
        raise unknown_name(f"{where}: {name}", "choice", value, allowed)


def run_framed(
    where: str,
    algorithm: Callable[..., Any],
    model: Model,
    frame: str,
    expressed_in: str,
    out: Any,
    by: Callable[..., Any] = run,
    **arrays: Any,
) -> Array:
    """:func:`run`, or another way ``by``, for an algorithm of a frame in one of the three coordinates."""
    require_model(where, model)
    require_choice(where, "expressed_in", expressed_in, COORDINATES)
    model.frame(frame, where)

    def bound(model: Model, *row: Array) -> Any:
        return algorithm(model, *row, frame, expressed_in=expressed_in)

    return by(where, bound, model, out, **arrays)


def _require_regular(where: str, model: Model, prescribed: frozenset[int] = frozenset()) -> None:
    require_model(where, model)
    names = singular_joints(model, prescribed)
    if names:
        bodies = [model.body_names[model.joint_index(n) - 1] for n in names]
        raise SingularError(
            f"{where}: the mass matrix of {model.name!r} is singular: joints {list(names)} move no inertia of "
            f"their own (they carry {bodies}). Give those bodies a mass and a matrix, the joints an armature, or lock "
            f"them with model.lock."
        )


def require_mass(where: str, model: Model) -> None:
    """Raise if the model has no mass, and so no centre of mass."""
    require_model(where, model)
    if not model.symbols and model.mass == 0:
        raise ModelError(f"{where}: model {model.name!r} has no mass, so no centre of mass. Give its bodies a mass.")
