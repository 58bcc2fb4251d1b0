"""Sliders of a live page: numbers of a system that become symbols, hence inputs of the step, and their ranges.

The symbols of a symbolic system have sliders under their own names. A tree with numbers gets symbols for the strength
of gravity, for damping in all joints, and for the masses of bodies that are asked for. The coefficients of rigid
grounds are constants of the problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, cast

import numpy as np

from sixd.algorithms.crba import crba
from sixd.constraints.reduced_model import Reduced
from sixd.errors import ModelError, OutOfRangeError, ScalarTypeError, unknown_name
from sixd.forces.elements import Force
from sixd.model.model import Model
from sixd.model.system import System
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.problem import FRICTION, RESTITUTION
from sixd.spatial.scalar import Array, is_number, symbols_in

GRAVITY, DAMPING, MASS = "gravity", "damping", "mass:"
GROUND = {"friction": FRICTION, "restitution": RESTITUTION}  # fields of a rigid ground, and constants of problems
_MOST_GRAVITY, _MOST_DAMPING, _MOST_FRICTION = 20.0, 5.0, 1.0  # [m/s²], [1/s]: default ends of the sliders


@dataclass(frozen=True)
class Slider:
    """A number that the reader changes: ``symbol`` is the name of its symbol in the system."""

    symbol: str
    label: str
    unit: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Adjustable:
    """A system with a symbol for each slider, and the same system with the sliders' numbers."""

    system: System
    numeric: System
    sliders: tuple[Slider, ...]

    def at(self, values: Mapping[str, float]) -> System:
        """Return the system with numbers, some of them (by symbol) other than those of the sliders."""
        table = {s.symbol: s.value for s in self.sliders} | dict(values)
        return self.system.substitute(table) if table else self.system


def adjustable(system: System, parameters: Mapping[Any, Any] | None, q: Any = None) -> Adjustable:
    """Return a system with its sliders; raise if a parameter is unknown, or if a symbol has none.

    ``q`` (nq,), if any, is the start: damping is relative to the inertia that each degree of freedom shows there.
    """
    if not isinstance(parameters, (Mapping, NoneType)):
        raise ScalarTypeError(
            f"view: parameters is {parameters!r}, expected a mapping of names to (value, lowest, highest)."
        )
    given = {str(name): x for name, x in (parameters or {}).items()}
    own = {str(s): None for s in system.symbols}
    sliders = [_slider(name, name, "", given.pop(name)) for name in sorted(own) if name in given]
    missing = sorted(set(own) - {s.symbol for s in sliders})
    if missing:
        raise ScalarTypeError(
            f"view: {system.name!r} has symbols without a slider, {', '.join(missing)}; expected parameters = "
            f'{{"{missing[0]}": (value, lowest, highest), …}}.'
        )
    start = {s.symbol: s.value for s in sliders}
    numeric = system.substitute(start) if start else system
    tree = system.model if isinstance(system, Reduced) else system
    if not isinstance(tree, Model):
        _refuse(system, given, ())
        return Adjustable(system, numeric, tuple(sliders))
    bodies = {f"{MASS}{name}": name for name in tree.body_names}
    _refuse(system, given, (GRAVITY, DAMPING, *bodies))
    changed, more = _with_masses(tree, given, bodies)
    changed, some = _with_gravity(changed, given)
    more += some
    changed, some = _with_damping(changed, given, numeric, q)
    more += some
    adjusted: System = changed if system is tree else Reduced(changed)
    return Adjustable(adjusted, numeric, (*sliders, *more))


def on_ground(forces: Sequence[Force], parameters: Any) -> tuple[list[Slider], Any]:
    """Return the sliders of the coefficients of rigid grounds among the forces, and the other parameters.

    A coefficient has one if all grounds have the same, or if its range is given; none if it is None.
    """
    grounds = [force for force in forces if isinstance(force, RigidGround)]
    if not grounds or not isinstance(parameters, (Mapping, NoneType)):
        return [], parameters
    sliders, rest = [], dict(parameters or {})
    for name, symbol in GROUND.items():
        own = [float(getattr(ground, name)) for ground in grounds]
        most = 1.0 if name == "restitution" else max(_MOST_FRICTION, 2 * own[0])
        given = rest.pop(name, (own[0], 0.0, most) if len(set(own)) == 1 else None)
        if given is None:
            continue
        slider = _slider(symbol, name, "", given)
        if slider.low < 0 or (name == "restitution" and slider.high > 1):
            known = "at least 0" if name == "friction" else "from 0 to 1"
            raise OutOfRangeError(f"view: parameters: {name} is {given!r}, expected numbers {known}.")
        sliders.append(slider)
    return sliders, rest


def with_surface(forces: Sequence[Force], sliders: Iterable[Slider]) -> list[Force]:
    """Return the forces with the sliders' numbers in rigid grounds."""
    values: dict[str, Any] = {name: s.value for name, symbol in GROUND.items() for s in sliders if s.symbol == symbol}
    return [replace(force, **values) if isinstance(force, RigidGround) else force for force in forces]


# arguments ----------------------------------------------------------------------------------------


def _refuse(system: System, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise unknown_name("view: parameters", "parameter", name, (*known, *map(str, system.symbols)))


def _slider(symbol: str, label: str, unit: str, given: Any) -> Slider:
    wanted = "expected three numbers, (value, lowest, highest)"
    try:
        value, low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise ScalarTypeError(f"view: parameters: {label} is {given!r}, {wanted}.") from None
    if not np.isfinite([value, low, high]).all() or not low <= value <= high or low == high:
        raise OutOfRangeError(f"view: parameters: {label} is {given!r}, {wanted} with lowest ≤ value ≤ highest.")
    return Slider(symbol, label, unit, value, low, high)


# symbols in a tree with numbers -------------------------------------------------------------------


def _symbol(name: str) -> Any:
    import sympy

    return sympy.Symbol(name)


def _with_masses(tree: Model, given: dict[str, Any], bodies: Mapping[str, str]) -> tuple[Model, list[Slider]]:
    """The tree with symbols for some masses; the moments grow with the mass, as of a body of another density."""
    sliders: list[Slider] = []
    inertia = tree.inertia.astype(object)
    for name in [n for n in given if n in bodies]:
        i = tree.body_index(bodies[name])
        mass = tree.inertia[i][5, 5]
        if not is_number(mass) or not mass > 0:
            raise ModelError(f"view: parameters: {name!r} is of a body with mass {mass}, expected a positive number.")
        slider = _slider(f"mass of {bodies[name]}", f"mass of {bodies[name]}", "kg", given.pop(name))
        if slider.low < 0:
            raise OutOfRangeError(f"view: parameters: {name} goes down to {slider.low:g} kg, expected at least 0.")
        inertia[i] = inertia[i] / float(mass) * _symbol(slider.symbol)
        sliders.append(slider)
    return (replace(tree, inertia=inertia) if sliders else tree), sliders


def _with_gravity(tree: Model, given: dict[str, Any]) -> tuple[Model, list[Slider]]:
    """The tree with a symbol for the strength of gravity; the direction stays, -z if there is no gravity."""
    if _hidden(tree.gravity, GRAVITY, given):
        return tree, []
    gravity = np.asarray(tree.gravity, dtype=float)
    strength = float(np.linalg.norm(gravity))
    direction = gravity / strength if strength else np.array([0.0, 0.0, -1.0])
    usual = (strength, 0.0, max(_MOST_GRAVITY, 2 * strength))
    slider = _slider("strength of gravity", "gravity", "m/s²", given.get(GRAVITY, usual))
    return replace(tree, gravity=_scaled(direction, slider.symbol)), [slider]


def _with_damping(tree: Model, given: dict[str, Any], numeric: System, q: Any) -> tuple[Model, list[Slider]]:
    """The tree with further damping: a symbol [1/s] times the inertia that each degree of freedom has at the start."""
    if _hidden(tree.damping, DAMPING, given):
        return tree, []
    slider = _slider("rate of damping", "damping", "1/s", given.get(DAMPING, (0.0, 0.0, _MOST_DAMPING)))
    at = numeric.initial_configuration() if q is None or isinstance(q, str) else np.asarray(q, dtype=float)
    if isinstance(numeric, Reduced):
        at = np.asarray(numeric.coordinates(at), dtype=float)
    model = numeric.model if isinstance(numeric, Reduced) else numeric
    more = _scaled(_shown(np.asarray(crba(cast(Model, model), at), dtype=float)), slider.symbol)
    return replace(tree, damping=np.array([a + b for a, b in zip(tree.damping, more, strict=True)])), [slider]


def _shown(M: Array) -> Array:
    """The inertia of each degree of freedom while the others are free, 1/(M⁻¹)ᵢᵢ, or Mᵢᵢ if M has no inverse.

    Damping by these decays at up to n times the slider's rate, at up to 4 times it in the models of the zoo; by Mᵢᵢ at
    5,000 times it in a pendulum of 10 rods, too fast for steps of 1 ms.
    """
    own = np.diagonal(M)
    try:
        shown = 1 / np.diagonal(np.linalg.inv(M))
    except np.linalg.LinAlgError:
        return own
    return np.where((shown > 0) & (shown <= own), shown, own)


def _hidden(numbers: Array, name: str, given: Mapping[str, Any]) -> bool:
    """Whether there is no slider of that name: it is None, or the model has symbols there."""
    if name in given and given[name] is None:
        return True
    if not symbols_in([numbers]):
        return False
    if name in given:
        raise ScalarTypeError(f"view: parameters: {name} of this model has symbols. Give their ranges instead.")
    return True


def _scaled(numbers: Array, symbol: str) -> Array:
    """The numbers times a symbol; zeros stay numbers, so that they are folded."""
    s = _symbol(symbol)
    return np.array([float(x) * s if x else 0.0 for x in numbers], dtype=object)
