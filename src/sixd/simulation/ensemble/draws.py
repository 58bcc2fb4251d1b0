"""The arguments that differ from row to row of an ensemble: sweeps, draws from random generators, and grids of values.

Row i's generator is made from the seed and i alone, so that a row does not depend on the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.engine.parameters import parameter_shape
from sixd.errors import DeviceError, ShapeError
from sixd.runtime.arrays.interface import describe
from sixd.runtime.arrays.registry import is_on_gpu
from sixd.simulation.arguments import whole
from sixd.simulation.setup import named_start
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

WHERE = "ensemble"


@dataclass(frozen=True, eq=False)
class Draws:
    """Arguments of ``simulate`` for all rows: those that are common to all, and arrays (count, core) of the others.

    Names are those of the arguments; the name of a parameter has the prefix ``PARAMETER``.
    """

    count: int
    common: dict[str, Any]
    own: dict[str, Array]

    def cut(self, first: int, stop: int) -> dict[str, Array]:
        """Return the arrays of the rows first … stop − 1."""
        return {name: np.ascontiguousarray(x[first:stop]) for name, x in self.own.items()}


PARAMETER = "parameter "


def scenario_of(
    run: Scenario, common: Mapping[str, Any], own: Mapping[str, Array], order: tuple[str, ...]
) -> tuple[Scenario, Any, Any]:
    """Return the scenario of some rows and their starts q, qd, from the common arguments and their own; parameters in
    ``order``."""
    given = {**common, **own}
    parameters = {name: given[PARAMETER + name] for name in order}
    controller, table = given.get("controller"), own.get("controller")
    if table is not None and "controller" in common:  # open loop, a table for each row
        controller = type(common["controller"])(table, common["controller"].sample_time)
    made = replace(run, controller=controller, f_ext=given.get("f_ext"), parameters=parameters)
    return made, given.get("q"), given.get("qd")


def make_rows(run: Scenario, q: Any, qd: Any, count: int | None, entropy: Any) -> Draws:
    """Return the arguments of all rows; random ones are drawn in the order q, qd, parameters, controller, f_ext."""
    system = run.model
    if q is None:
        q = system.initial_configuration()
    elif isinstance(q, str):
        q = named_start(WHERE, system, q)
    given: dict[str, tuple[Any, tuple[int, ...]]] = {"q": (q, (system.nq,)), "qd": (qd, (system.nv,))}
    for name, x in run.parameters.items():
        given[PARAMETER + name] = (x, parameter_shape(WHERE, system, name))
    given |= {"controller": (run.controller, (system.nv,)), "f_ext": (run.f_ext, (system.nb, 6))}

    common: dict[str, Any] = {}
    own: dict[str, Array] = {}
    draws: dict[str, Callable[..., Any]] = {}
    for name, (x, core) in given.items():
        if is_on_gpu(x):
            raise DeviceError(
                f"{WHERE}: {_plain(name)} is a {describe(x)} on a GPU, expected an array of the processor, whose rows "
                f"are sent to workers. Copy it, and give device='cuda' to compute on GPUs; or use sixd.simulate."
            )
        is_law = name in ("controller", "f_ext") and callable(x) and not _takes_one(x)
        if x is None or is_law or hasattr(x, "sample"):
            common[name] = x
            if hasattr(x, "sample") and np.ndim(getattr(x, "tau", ())) == 3:  # a table for each row
                own[name] = x.tau
        elif callable(x):
            draws[name] = x
        else:
            _sort(name, x, core, common, own)
    count = _count(count, own, draws)
    own |= _drawn(draws, {name: core for name, (_, core) in given.items()}, count, entropy)
    own = {name: np.broadcast_to(x, (count, *x.shape[1:])) for name, x in own.items()}
    if "q" in common:
        start = np.asarray(common.pop("q"))
        own["q"] = np.broadcast_to(start, (count, *start.shape))
    return Draws(count, common, own)


def grid(**axes: Any) -> dict[str, Array]:
    """Return all combinations of values, for the ``parameters`` of ``sixd.ensemble``: name -> (count, …).

    The last axis varies fastest.

    >>> import sixd
    >>> {name: x.tolist() for name, x in sixd.grid(mass=[1, 2], length=[0.5, 0.7]).items()}
    {'mass': [1, 1, 2, 2], 'length': [0.5, 0.7, 0.5, 0.7]}
    """
    values = {name: np.asarray(x) for name, x in axes.items()}
    for name, x in values.items():
        if not x.ndim:
            raise ShapeError(f"grid: {name} is {axes[name]!r}, expected a list of values.")
    chosen = np.indices([len(x) for x in values.values()]).reshape(len(values), -1)
    return {name: x[k] for (name, x), k in zip(values.items(), chosen, strict=True)}


def _takes_one(function: Callable[..., Any]) -> bool:
    """Return whether a function takes one argument, the generator, and so draws a row."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    plain = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return len(plain) == 1 and all(p.kind is not p.VAR_POSITIONAL for p in given)


def _sort(name: str, x: Any, core: tuple[int, ...], common: dict[str, Any], own: dict[str, Array]) -> None:
    """Add an array to the common ones, or to those with a row for each."""
    want = f"({', '.join(map(str, ('count', *core)))}), or one row for all"
    try:
        array = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{WHERE}: {_plain(name)} is a ragged sequence, expected {want}.") from None
    if array.ndim > len(core) + 1:
        raise ShapeError(f"{WHERE}: {_plain(name)} has shape {array.shape}, expected {want}.")
    if array.ndim == len(core) + 1:
        own[name] = array
    else:
        common[name] = x


def _count(count: int | None, own: Mapping[str, Array], draws: Mapping[str, Any]) -> int:
    lengths = {name: len(x) for name, x in own.items()}
    if count is not None:
        lengths = {"count": whole(WHERE, "count", count), **lengths}
    if not lengths:
        what = "values are drawn" if draws else "all arguments have one row"
        raise ShapeError(f"{WHERE}: {what}, and count is not given, expected how many rows to simulate. Give count=….")
    many = {name: n for name, n in lengths.items() if n != 1 or name == "count"}
    if len(set(many.values())) > 1:
        each = ", ".join(f"{_plain(name)} {n}" for name, n in many.items())
        raise ShapeError(f"{WHERE}: numbers of rows are {each}, expected the same for all. For a full grid: sixd.grid.")
    found = next(iter(many.values()), 1)
    if not found:
        raise ShapeError(f"{WHERE}: {_plain(next(iter(many)))} has no rows, expected at least one.")
    return found


def _drawn(
    draws: Mapping[str, Callable[..., Any]], cores: Mapping[str, tuple[int, ...]], count: int, entropy: Any
) -> dict[str, Array]:
    """Return the arrays (count, core) of all draws; row i's generator is made from (seed, i)."""
    rows: dict[str, list[Any]] = {name: [] for name in draws}
    for i in range(count) if draws else ():
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(i,)))
        for name, draw in draws.items():
            row = np.asarray(draw(rng))
            if row.shape != cores[name]:
                raise ShapeError(
                    f"{WHERE}: {_plain(name)} draws shape {row.shape} for row {i}, expected {cores[name]}."
                )
            rows[name].append(row)
    return {name: np.array(x) for name, x in rows.items()}


def _plain(name: str) -> str:
    """Return the name of an argument as the user knows it."""
    return name.removeprefix(PARAMETER)
