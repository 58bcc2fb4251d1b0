"""``newton_euler`` in a ring: the library's algorithm on its elements, so that results are canonical."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sixd.algorithms.body_dynamics import BodyDynamics, centers_of_mass, newton_euler
from sixd.algorithms.passive_forces import passive_force
from sixd.constraints.reduced_model import Reduced
from sixd.lazy import sympy
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, is_number
from sixd.symbolic.equations.from_model import parallel_axes
from sixd.symbolic.equations.ring_model import ring_force, ring_system
from sixd.symbolic.equations.snap import snap_model
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.readable import readable

_SNAP = 1e-9  # as in sixd.equations
_LONGER = 1.5  # a sum over products of rates may have this many times the operations of the shortest form
_MANY_TERMS = 300  # beyond, only that sum is made


class RingAlgorithm:
    """A system with elements of a ring for its numbers; evaluates ``newton_euler`` on SymPy expressions."""

    def __init__(self, system: System, expressed_in: str) -> None:
        tree, _ = snap_model(system.model if isinstance(system, Reduced) else _model(system), _SNAP)
        self.system = tree.reduce() if isinstance(system, Reduced) else tree
        self.tree, self.expressed_in, self.ring = tree, expressed_in, Ring()
        zero = np.zeros(tree.nv, dtype=int)
        bare = dataclasses.replace(tree, damping=zero, friction=zero, stiffness=zero)
        self.numbers = ring_system(bare.reduce() if isinstance(system, Reduced) else bare, self.ring)
        self.centers = self.ring.array(np.array(centers_of_mass(tree), dtype=object))
        self.parallel: tuple[tuple[Any, ...], ...] = ()
        self.rates: set[Any] = set()  # symbols of velocities and accelerations

    def evaluate(self, q: Array, qd: Array, qdd: Array, f_ext: Array | None = None) -> tuple[Array, ...]:
        """The arrays of one state, elements of the ring; raises ``SixdError`` if the ring has no such element."""
        options: dict[str, Any] = {} if f_ext is None else {"f_ext": self.ring.array(f_ext)}
        options |= {"expressed_in": self.expressed_in, "centers": self.centers}
        self.rates |= {x for x in (*qd, *qdd) if getattr(x, "is_Symbol", False)}
        state = self._coordinates(q), self.ring.array(qd), self.ring.array(qdd)
        result = BodyDynamics(*self.numbers.apply("newton_euler", newton_euler, *state, **options))
        tau = self.ring.array(result.tau) + [ring_force(self.ring, x) for x in self._passive(q, qd)]
        self.parallel = self.parallel or parallel_axes(self.system, self.tree, list(q))
        return tuple(self.ring.array(x) for x in result._replace(tau=tau))

    def _coordinates(self, q: Array) -> Array:
        """q (nq,) in the ring; quaternions of four symbols have unit length."""
        elements = self.ring.array(q)
        for name in self.system.joint_names:
            if self.tree.joint(name).joint.has_quaternion:
                start = self.system.q_slice(name).start
                own = list(q[start : start + 4])
                if all(getattr(x, "is_Symbol", False) for x in own) and len(set(own)) == 4:
                    elements[start : start + 4] = self.ring.quaternion(*own)
        return elements

    def _passive(self, q: Array, qd: Array) -> Array:
        """Damping, friction and springs (nv,) as SymPy expressions."""
        if isinstance(self.system, Reduced):
            return self.system.G(q).T @ passive_force(self.tree, *self.system.state(q, qd))
        return passive_force(self.tree, q, qd)

    def shown(self, x: Poly | Scalar) -> Any:
        """The SymPy expression of an element: a sum over products of rates, unless that is much longer than another."""
        if not isinstance(x, Poly):
            return x
        collected = self._collected(x.normalized())
        if len(x.terms) > _MANY_TERMS:
            return collected
        shortest = readable(x, parallel=self.parallel)
        return collected if collected.count_ops() <= _LONGER * shortest.count_ops() else shortest

    def _collected(self, poly: Poly) -> Any:
        """Σ coefficient · product of rates, as textbooks write inertial, Coriolis and centrifugal terms."""
        ring = self.ring
        numbers = {ring.index[s] for s in self.rates if s in ring.index}
        groups: dict[int, dict[int, int]] = {}  # of each product of rates the terms of its coefficient
        for key, value in poly.terms.items():
            product = sum(e << (ring.bits * i) for i, e in ring.exponents(key) if i in numbers)
            groups.setdefault(product, {})[key - product] = value
        summands = []
        for product, terms in groups.items():
            coefficient, factor = Poly(ring, terms, poly.den), Poly(ring, {product: 1}).to_sympy()
            written = readable(coefficient, parallel=self.parallel)
            if product and written.is_Add and written.could_extract_minus_sign():
                written, factor = readable(-coefficient, parallel=self.parallel), -factor
            summands.append(sympy.Mul(factor, written))
        return sympy.Add(*summands)


def _model(system: System) -> Model:
    model = getattr(system, "model", system)
    assert isinstance(model, Model)
    return model


def is_symbolic(arrays: tuple[Any, ...]) -> bool:
    """Whether the arrays hold SymPy expressions, and besides them only numbers."""
    held = [x for x in arrays if not (x is None or (type(x) is np.ndarray and x.dtype.kind != "O"))]
    if not held:  # most calls: 0.5 us
        return False
    values = [x for array in held for x in _flat(array)]
    expressions = [x for x in values if hasattr(x, "free_symbols")]
    return bool(expressions) and all(is_number(x) or hasattr(x, "free_symbols") for x in values)


def _flat(array: object) -> Any:
    """The elements of an array or of nested lists; arrays of other libraries hold no expressions, and are skipped."""
    if isinstance(array, (list, tuple)) or (isinstance(array, np.ndarray) and array.ndim):
        for x in array:
            yield from _flat(x) if isinstance(x, (list, tuple, np.ndarray)) else (x,)
