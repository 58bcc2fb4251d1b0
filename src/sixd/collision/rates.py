"""``sixd.jvp`` and ``sixd.vjp`` of the functions of distances: kernels of first derivatives, on any pairs.

Distances that are iterated cannot be traced as one program, so that these functions bring their own derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sixd.collision.derivative_code import DerivativeKind, derivative_code
from sixd.collision.pair_query import PairQuery
from sixd.collision.solids import solid_pairs
from sixd.errors import ScalarTypeError, TraceError, require_known, unknown_name
from sixd.model.model import Model, require_model
from sixd.runtime.arrays.registry import library_of
from sixd.runtime.batch import Argument

F = TypeVar("F", bound=Callable[..., Any])
_DTYPES = ("float64", "float32")


class DistanceDerivative:
    """First derivatives of distances of one model: ``kernel(q, d_q)``, made by ``sixd.jvp``, or ``kernel(q, w)``, made
    by ``sixd.vjp``.

    Arrays may have leading batch dimensions, which broadcast, and may be on an NVIDIA GPU. Attributes: ``name``,
    ``model`` and ``inputs`` (names of its arrays, in order).
    """

    def __init__(
        self, name: str, model: Model, kind: DerivativeKind, pairs: Any, placements: Any, dtype: str | None
    ) -> None:
        self.name, self.model, self.dtype = f"{name}_{'jvp' if kind.forward else 'vjp'}", model, dtype
        self.inputs = ("q", "d_q" if kind.forward else "w")
        self._kind, self._placements = kind, placements
        self._solids = solid_pairs(name, model, pairs)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.model.name!r}: {len(self._solids.pairs)} pairs>"

    def __call__(self, q: Any, along: Any) -> Any:
        """Return the rates of the distances along d_q, or the gradient of the sum of the distances times w."""
        kind, pairs = self._kind, self._solids.pairs
        core = kind.along(self.model, len(pairs))
        if self.dtype is not None and not library_of(q).on_gpu:
            q, along = (np.asarray(x, dtype=self.dtype) for x in (q, along))
        more = [Argument(self.inputs[1], along, core)]
        run = PairQuery(self.name, self.model, q, self._solids.names, self._placements, more)
        if not pairs or not run.count:
            shape = kind.result(self.model, len(pairs))
            return run.library.full(run.like, (*run.batch, *shape), 0.0)[()]
        target, number = run.target()
        code = derivative_code(self.name, self.model, run.solids, kind, run.dtype, target)
        return run.run(code, number)[0][()]


def differentiable(*, least: bool = False) -> Callable[[F], F]:
    """Return a decorator of a function of distances: ``sixd.jvp`` and ``sixd.vjp`` then give its first derivatives."""

    def decorate(function: F) -> F:
        function.differentiate = partial(_differentiate, function.__name__, least)  # type: ignore[attr-defined]
        return function

    return decorate


def _differentiate(
    name: str,
    least: bool,
    where: str,
    model: Model,
    *,
    by: str | Sequence[str] | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    pairs: Any = None,
    placements: Mapping[str, Any] | None = None,
    **static: Any,
) -> DistanceDerivative:
    """Return the kernel of a derivative; the arguments of ``sixd.jvp`` are checked here."""
    if where not in ("jvp", "vjp"):
        raise TraceError(
            f"{where}: the order of derivatives of {name} is 2, expected 1. Use jvp or vjp, or for pairs with closed "
            f"forms a function of your own, {where}(lambda model, q: sixd.{name}(model, q)"
            f"{'' if least else '.distance'}, model)."
        )
    require_model(where, model)
    model.require_numeric(f"{where}: {name}")
    if static:
        raise unknown_name(where, "argument", next(iter(static)), ("pairs", "placements"))
    chosen = ("q",) if by is None else (by,) if isinstance(by, str) else tuple(by)
    for input_name in chosen:
        if input_name != "q":
            raise unknown_name(f"{where}: by", "input", input_name, ("q",))
    if parameters or shapes:
        what = "parameters" if parameters else "shapes"
        raise ScalarTypeError(
            f"{where}: {what} is {(parameters or shapes)!r:.60}, expected none: {name} is differentiated with respect "
            f"to q. Omit {what}=."
        )
    if dtype is not None:
        dtype = str(np.dtype(dtype))
        require_known(f"{where}: dtype", "choice", dtype, _DTYPES)
    return DistanceDerivative(name, model, DerivativeKind(where == "jvp", least), pairs, placements, dtype)
