"""The arguments that differ among the simulations of an ensemble: sweeps, random draws, and grids of values.

Simulation i's generator is made from the seed and i alone, so that a simulation does not depend on the others.
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
from sixd.spatial.scalar import Array, ArrayLike

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

WHERE = "ensemble"
Entropy = int | list[int]  # the seed as whole numbers


@dataclass(frozen=True, eq=False)
class Draws:
    """The arguments of all simulations: ``run`` and ``qd`` are common to all, ``own`` has arrays (count, core) by name.
    In ``run``, arguments that are in ``own`` are None, except a controller with a table for each simulation."""

    count: int
    run: Scenario
    qd: ArrayLike | None
    own: dict[str, Array]

    def cut(self, first: int, stop: int) -> dict[str, Array]:
        """Return the arrays of the simulations first … stop − 1."""
        return {name: np.ascontiguousarray(x[first:stop]) for name, x in self.own.items()}


def scenario_of(run: Scenario, own: Mapping[str, Array]) -> Scenario:
    """Return the scenario of some simulations from the common one and their own arrays."""
    controller, f_ext = run.controller, own.get("f_ext", run.f_ext)
    if "controller" in own:  # constant forces, or a table for each simulation
        table = own["controller"]
        controller = table if controller is None else type(controller)(table, controller.sample_time)
    parameters = {name: own.get(name, x) for name, x in run.parameters.items()}
    return replace(run, controller=controller, f_ext=f_ext, parameters=parameters)


def make_draws(run: Scenario, q: Any, qd: Any, count: int | None, entropy: Entropy) -> Draws:
    """Return the arguments of all simulations; random ones are drawn in the order q, qd, parameters, controller, f_ext.
    q, qd : arrays, functions that draw, or None; q may be a name."""
    system = run.model
    common = _arguments(run, q, qd)
    known = {"q": (system.nq,), "qd": (system.nv,), "controller": (system.nv,), "f_ext": (system.nb, 6)}
    shapes = {name: known[name] if name in known else parameter_shape(WHERE, system, name) for name in common}
    own: dict[str, Array] = {}
    draws: dict[str, Callable[[np.random.Generator], ArrayLike]] = {}
    for name, x in common.items():
        if is_on_gpu(x):
            raise DeviceError(
                f"{WHERE}: {name} is a {describe(x)} on a GPU, expected an array of the CPU, whose parts are sent to "
                f"workers. Copy it, and give device='cuda' to compute on GPUs; or use sixd.simulate."
            )
        if hasattr(x, "sample"):
            if np.ndim(getattr(x, "tau", ())) == 3:  # a table for each simulation
                own[name] = x.tau
        elif callable(x):
            if name not in ("controller", "f_ext") or _has_one_argument(x):
                draws[name] = x
        elif x is not None and (array := _sweep(name, x, shapes[name])) is not None:
            own[name] = array
    count = _count(count, own, draws)
    own |= _drawn(draws, shapes, count, entropy)
    if "q" not in own:
        own["q"] = np.asarray(common["q"])[None]
    own = {name: np.broadcast_to(x, (count, *x.shape[1:])) for name, x in own.items()}
    common |= {name: None for name in own if not hasattr(common[name], "sample")}
    parameters = {name: common[name] for name in run.parameters}
    shared = replace(run, controller=common["controller"], f_ext=common["f_ext"], parameters=parameters)
    return Draws(count, shared, common["qd"], own)


def grid(**axes: ArrayLike) -> dict[str, Array]:
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


def _arguments(run: Scenario, q: Any, qd: Any) -> dict[str, Any]:
    """Return the arguments by name, in the order in which they are drawn; no parameter has the name of another."""
    if q is None:
        q = run.model.initial_configuration()
    elif isinstance(q, str):
        q = named_start(WHERE, run.model, q)
    return {"q": q, "qd": qd, **run.parameters, "controller": run.controller, "f_ext": run.f_ext}


def _has_one_argument(function: Callable[..., object]) -> bool:
    """Return whether a function has one argument, the generator, and so draws a value."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    plain = [p for p in arguments if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return len(plain) == 1 and all(p.kind is not p.VAR_POSITIONAL for p in arguments)


def _sweep(name: str, x: ArrayLike, core: tuple[int, ...]) -> Array | None:
    """Return an array with a value for each simulation; None if it is one value for all."""
    want = f"({', '.join(map(str, ('count', *core)))}), or one value for all"
    try:
        array = np.asarray(x)
    except ValueError:
        raise ShapeError(f"{WHERE}: {name} is a ragged sequence, expected {want}.") from None
    if array.ndim > len(core) + 1:
        raise ShapeError(f"{WHERE}: {name} has shape {array.shape}, expected {want}.")
    return array if array.ndim == len(core) + 1 else None


def _count(count: int | None, own: Mapping[str, Array], draws: Mapping[str, object]) -> int:
    """Return the number of simulations; raise if the arguments disagree, or do not determine it."""
    lengths = {name: len(x) for name, x in own.items()}
    if count is not None:
        lengths = {"count": whole(WHERE, "count", count), **lengths}
    if not lengths:
        what = "values are drawn" if draws else "all arguments have one value"
        raise ShapeError(f"{WHERE}: {what}, and count is missing, expected the number of simulations. Give count=….")
    many = {name: n for name, n in lengths.items() if n != 1 or name == "count"}
    if len(set(many.values())) > 1:
        each = ", ".join(f"{name} {n}" for name, n in many.items())
        raise ShapeError(
            f"{WHERE}: numbers of simulations are {each}, expected the same for all. For a full grid: sixd.grid."
        )
    if 0 in many.values():
        raise ShapeError(f"{WHERE}: {next(iter(many))} is empty, expected at least one value.")
    return next(iter(many.values()), 1)


def _drawn(
    draws: Mapping[str, Callable[[np.random.Generator], ArrayLike]], shapes: Mapping[str, tuple[int, ...]], count: int,
    entropy: Entropy,
) -> dict[str, Array]:  # fmt: skip
    """Return the arrays (count, core) of all draws; simulation i's generator is made from (seed, i)."""
    values: dict[str, list[Array]] = {name: [] for name in draws}
    for i in range(count) if draws else ():
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(i,)))
        for name, draw in draws.items():
            value = np.asarray(draw(rng))
            if value.shape != shapes[name]:
                raise ShapeError(
                    f"{WHERE}: {name} draws shape {value.shape} for simulation {i}, expected {shapes[name]}."
                )
            values[name].append(value)
    return {name: np.array(x) for name, x in values.items()}
