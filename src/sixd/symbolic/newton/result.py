"""``sixd.newton_euler`` and its result: all intermediate results of the recursive algorithm.

Numbers go through compiled code, SymPy expressions through a ring, other scalars through the plain algorithm.
``steps.py`` writes the steps of the recursion as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from sixd.algorithms import body_dynamics
from sixd.engine.functions import CHOICES
from sixd.engine.public import declaration, public
from sixd.errors import ShapeError, SixdError, require_known
from sixd.model.system import System, register, require_system
from sixd.runtime.batch import Argument, apply
from sixd.spatial.scalar import Array, ArrayLike, object_map
from sixd.symbolic.newton.ring_algorithm import RingAlgorithm, is_symbolic
from sixd.symbolic.newton.steps import FORMS, NewtonEulerSteps, make_steps


def _field(name: str, doc: str) -> property:
    """A property for one of the arrays; its expressions are simplified on first access."""

    def get(result: NewtonEuler) -> Array:
        if name not in result._shown:
            result._shown[name] = result.shown(getattr(result.raw, name))
        return result._shown[name]

    return property(get, doc=doc)


class NewtonEuler:
    """Motion, net force and joint force of every body: the result of ``sixd.newton_euler``.

    Rows are in the order of ``model.body_names``; a batch adds leading dimensions. Vectors are in the body's axes if
    ``expressed_in`` is "body", else in the world's. Expressions are simplified on first access.
    """

    def __init__(
        self,
        model: System,
        expressed_in: str,
        state: tuple[Any, ...],
        has_forces: bool,
        arrays: Sequence[Array],
        ring: RingAlgorithm | None = None,
    ) -> None:
        self.model, self.expressed_in, self.state, self.has_forces = model, expressed_in, state, has_forces
        self.raw = body_dynamics.BodyDynamics(*arrays)  # elements of the ring, if there is one
        self.ring = ring
        self._shown: dict[str, Array] = {}  # simplified so far

    def shown(self, array: Array) -> Array:
        """The array with elements of the ring as simplified expressions."""
        return array if self.ring is None or not np.size(array) else object_map(self.ring.shown, np.asarray(array))

    omega = _field("omega", "Angular velocity ω (…, nb, 3) [rad/s].")
    omegad = _field("omegad", "Angular acceleration ω̇ (…, nb, 3) [rad/s²].")
    v = _field("v", "Velocity (…, nb, 3) of the body's origin [m/s].")
    vd = _field("vd", "Acceleration v̇ (…, nb, 3) of the body's origin [m/s²]: classical, without gravity.")
    vd_com = _field("vd_com", "Acceleration v̇_C (…, nb, 3) of the centre of mass [m/s²]; without mass, of the origin.")
    velocity = _field("velocity", "Spatial velocity [ω; v] (…, nb, 6), as ``sixd.velocity``.")
    acceleration = _field("acceleration", "Spatial acceleration (…, nb, 6), without gravity, as ``sixd.acceleration``.")
    F = _field("F", "Net force F = m v̇_C (…, nb, 3) on the body [N], the rate of its linear momentum.")
    N = _field("N", "Net moment N = I_C ω̇ + ω×I_C ω (…, nb, 3) about the centre of mass [N m].")
    f = _field("f", "Force (…, nb, 3) that the parent exerts on the body through the joint [N].")
    n = _field(
        "n",
        "Moment (…, nb, 3) that the parent exerts through the joint [N m], about the origin of the body, which is at "
        "its joint, or about the world's origin if ``expressed_in`` is 'world'.",
    )
    tau = _field("tau", "Joint forces (…, nv) [N m or N]: Sᵀ[n; f] + armature qdd + passive forces.")
    gravity = _field("gravity", "Gravity (…, nb, 3) [m/s²] in the axes of each body; times its mass it is the weight.")

    def steps(self, *, gravity: str = "weight") -> NewtonEulerSteps:
        """The recursion step by step, in Craig's order: ω, ω̇, v̇, v̇_C, F, N outward, then f, n inward, then τ.

        ``gravity`` "weight": accelerations are those of the motion, and f and n contain the body's weight. "base": the
        base accelerates upwards instead, v̇₀ = -g, so that v̇ and v̇_C contain -g and F the weight; f, n and τ are the
        same.

        ``print`` writes aligned text; a notebook renders mathematics. ``steps["link2", "n"]`` is the value of one step.
        For a batch, select one state first: ``result[3].steps()``.
        """
        require_known("steps: gravity", "form", gravity, FORMS)
        if np.ndim(self.raw.tau) != 1:
            batch = np.shape(self.raw.tau)[:-1]
            one = ", ".join("0" * len(batch))
            raise ShapeError(f"steps: the result is a batch {batch}, expected one state. Select one: result[{one}].")
        return make_steps(self, gravity)

    def __getitem__(self, index: int | slice | tuple[int | slice, ...] | Array) -> NewtonEuler:
        """The result of one state of a batch, or of some."""
        if np.ndim(self.raw.tau) == 1:
            raise ShapeError("newton_euler: the result is of one state, expected a batch to select from.")
        batch = np.shape(self.raw.tau)[:-1]
        own = [np.broadcast_to(x, batch + np.shape(x)[-1:])[index] for x in self.state]
        part = [x[index] for x in self.raw]
        return NewtonEuler(self.model, self.expressed_in, tuple(own), self.has_forces, part, self.ring)

    def __repr__(self) -> str:
        batch = np.shape(self.raw.tau)[:-1]
        of = f", a batch {batch}" if batch else ""
        return f"<NewtonEuler of {self.model.name!r}: {self.model.nb} bodies in {self.expressed_in!r} coordinates{of}>"


def newton_euler(
    model: System,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    f_ext: ArrayLike | None = None,
    expressed_in: str = "body",
) -> NewtonEuler:
    """All intermediate results of recursive Newton-Euler on the way to tau, one row per body.

    Parameters
    ----------
    q, qd, qdd, f_ext : as for ``inverse_dynamics``; also SymPy expressions, in lists or columns.
    expressed_in : "body" (the body's axes and origin), "aligned" (world axes, the body's origin) or "world".

    Returns
    -------
    NewtonEuler : arrays (…, nb, 3) in the order of ``model.body_names``: ``.omega .omegad`` (ω, ω̇), ``.v .vd`` (of the
        body's origin, classical), ``.vd_com`` (of the centre of mass), ``.F .N`` (net force m v̇_C; net moment about
        the centre of mass, I_C ω̇ + ω×I_C ω), ``.f .n`` (the whole force and moment that the joint transmits from the
        parent); ``.velocity .acceleration`` (…, nb, 6), spatial; ``.tau`` (…, nv); ``.gravity`` (…, nb, 3).
        ``.steps()`` writes the recursion as a textbook does.

    Notes
    -----
    Accelerations do not contain gravity; weight is in f and n. For each body F = f + m g + f_ext - Σ f of its
    children, and Sᵀ[n; f] + armature qdd + passive forces = tau. With "world" the spatial vectors and n refer to the
    world's origin; v, vd, vd_com, F and N are those of the body's own points, in world axes.

    Constraints, mimic joints among them, are ignored, as in ``inverse_dynamics``: the tree moves with qdd, and tau is
    the sum of the forces of motors and constraints; see ``joint_reactions``. In reduced coordinates
    (``model.reduce()``) rows are those of the model's bodies and tau those of the independent joints.

    With SymPy expressions the results are in closed form and simplified. Quaternions of four symbols have unit length;
    numbers of placements within 1e-9 of 0 or ±1 are rounded to it, as in ``sixd.equations``. O(n)  [RBDA Table 5.1;
    Craig, *Introduction to Robotics*, section 6.5].

    >>> import sixd
    >>> arm = sixd.zoo.planar(2)
    >>> result = sixd.newton_euler(arm, [0.3, 0.5], [1, -2], [0.4, 0.6])
    >>> result.tau.round(6), result.f.shape
    (array([1.480974, 0.748563]), (2, 3))
    """
    state = _listed(q), _listed(qd), _listed(qdd)
    require_system("newton_euler", model)
    if is_symbolic((*state, f_ext)):
        checked = CHOICES["expressed_in"]("newton_euler", model, expressed_in)
        result = _in_ring(model, state, f_ext, checked)
        if result is not None:
            return result
    arrays: Any = _arrays(model, *state, f_ext=f_ext, expressed_in=expressed_in)
    return NewtonEuler(model, expressed_in, state, f_ext is not None, arrays)


# the arrays alone, by compiled code; declared with the same signature and name
_arrays = public(body_dynamics.newton_euler)(newton_euler)
newton_euler.declared = declaration(_arrays)  # type: ignore[attr-defined]
register(newton_euler)


def _listed(x: Any) -> Any:
    """The argument; a SymPy row or column as a list."""
    return list(x) if getattr(x, "is_Matrix", False) and 1 in x.shape else x


def _in_ring(model: System, state: tuple[Any, ...], f_ext: ArrayLike | None, expressed_in: str) -> NewtonEuler | None:
    """The result in closed form; None if the ring cannot express it, such as quaternions of any length."""
    sizes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    arguments = [
        Argument(name, x, (n,), f"{'nq' if name == 'q' else 'nv'} of model {model.name!r}")
        for (name, n), x in zip(sizes.items(), state, strict=True)
    ]
    if f_ext is not None:
        model.require_bodies("newton_euler")
        arguments.append(Argument("f_ext", f_ext, (model.nb, 6), f"nb, 6 of model {model.name!r}"))
    if getattr(model, "model", model) is None:
        return None  # equations defined by energies: the engine raises
    algorithm = RingAlgorithm(model, expressed_in)
    try:
        arrays = apply("newton_euler", partial(_required, algorithm), arguments)
    except _NotInRing:
        return None
    return NewtonEuler(model, expressed_in, state, f_ext is not None, arrays, algorithm)


class _NotInRing(Exception):
    """The ring has no element for a result."""


def _required(algorithm: RingAlgorithm, *state: Array) -> tuple[Array, ...]:
    try:
        return algorithm.evaluate(*state)
    except SixdError as error:
        raise _NotInRing from error
