"""Reduced: a model in the independent coordinates y that its explicit constraints leave, q = γ(y) and qd = G(y) yd.

Kinematic functions are computed at the lifted state; matrices are multiplied by G, forces by Gᵀ. G and its rate follow
from γ by dual numbers. Implicit constraints remain, with rows A G.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms import kinematics
from sixd.algorithms import momentum as momenta
from sixd.algorithms.body_dynamics import BodyDynamics, newton_euler
from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.coriolis import coriolis_matrix
from sixd.algorithms.crba import crba
from sixd.algorithms.derivatives.implicit import factored_forward_dynamics
from sixd.algorithms.derivatives.lifted_derivatives import Lifting
from sixd.algorithms.external_forces import external_force
from sixd.algorithms.jacobian import jacobian, jacobian_rate
from sixd.algorithms.passive_forces import passive_force
from sixd.algorithms.regressor import joint_torque_regressor
from sixd.algorithms.rnea import gravity_force, joint_force, rnea
from sixd.constraints.independent import Independent, dependent_order, narrowed_limits
from sixd.errors import unknown_name
from sixd.model import manifold
from sixd.model.constraint import Constraint, Explicit
from sixd.model.model import Model
from sixd.model.parts import Frame
from sixd.model.system import System, register
from sixd.runtime.batch import Argument, apply
from sixd.spatial.dual import derivative, duals, parts
from sixd.spatial.scalar import Array, ArrayLike, Scalar
from sixd.spatial.transform import mirror_upper


def _at_state(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """A method that runs an algorithm on the model at the lifted state."""

    def row(self: Reduced, y: Array, *rates: Array, **options: Any) -> Any:
        return algorithm(self.model, *self.state(y, *rates), **options)

    return row


class Reduced(System):
    """A model in independent coordinates; made by ``model.reduce()``, accepted wherever a model is.

    Its joints are the model's without those that an explicit constraint (``Mimic``, ``Coupling``) makes dependent, in
    the model's order; q, qd, qdd and tau are theirs. A force tau of the model acts as Gᵀtau: see ``force``. f_ext is
    that of the model.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.nb = model, model.name, model.nb
        self.steps = dependent_order(model)
        dependent = {j for c in self.steps for j in c.dependent}
        self.space = Independent(model, dependent)
        self.joint_names = self.space.names
        self.nq, self.nv = self.space.nq, self.space.nv
        self.lower, self.upper = narrowed_limits(model, self.steps, self.space)
        implicit = [c for c in model.constraints if not isinstance(c, Explicit)]
        self.constraints = tuple(Lifted(c) for c in implicit)

    @property
    def symbols(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The symbols of the model's parameters."""
        return self.model.symbols

    @property
    def is_traced(self) -> bool:  # type: ignore[override]
        """Whether parameters of the model are being traced."""
        return self.model.is_traced

    def substitute(self, values: Mapping[Any, Any]) -> Reduced:
        """The reduced model with symbols (or their names) replaced."""
        return Reduced(self.model.substitute(values))

    def frame(self, name: str, where: str = "frame") -> Frame:
        """The model's frame of that name."""
        return self.model.frame(name, where)

    def q_slice(self, joint: str) -> slice:
        """The slice of an independent joint's coordinates in q."""
        return self._slice(joint, self.space.iq)

    def v_slice(self, joint: str) -> slice:
        """The slice of an independent joint's DoF in qd, qdd and tau."""
        return self._slice(joint, self.space.iv)

    def _slice(self, joint: str, slices: list[slice]) -> slice:
        if joint not in self.joint_names:
            raise unknown_name(f"reduced model {self.name!r}", "independent joint", joint, self.joint_names)
        return slices[self.joint_names.index(joint)]

    # the configuration manifold: the independent joints' own spaces -----------------------------------

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) at q (nq,) along qd (nv,), one state of any scalar."""
        return self.space.each(lambda joint, x, dx: joint.configuration_rate(x, dx), q, qd)

    def integrate_row(self, q: Array, dq: Array) -> Array:
        """The configuration (nq,) reached from q by dq (nv,), one state of any scalar."""
        return self.space.each(lambda joint, x, dx: joint.integrate(x, dx), q, dq)

    def difference_row(self, q0: Array, q1: Array) -> Array:
        """The dq (nv,) from q0 to q1 (nq,), one state of any scalar."""
        pairs = zip(self.space.joints, self.space.iq, strict=True)
        return np.concatenate([q0[:0], *(joint.difference(q0[i], q1[i]) for joint, i in pairs)])

    def coadjoint_row(self, q: Array, qd: Array, p: Array) -> Array:
        """p·[qd, e] (nv,) for each DoF e; see ``System.coadjoint_row``."""
        every = zip(self.space.joints, self.space.iq, self.space.iv, strict=True)
        return np.concatenate([qd[:0], *(joint.coadjoint(q[i], qd[k], p[k]) for joint, i, k in every)])

    def neutral(self) -> Array:
        """The joints' neutral configurations (nq,)."""
        return np.concatenate([np.zeros(0), *(joint.neutral() for joint in self.space.joints)])

    def initial_configuration(self) -> Array:
        """The coordinates (nq,) of the independent joints where motions of the model start."""
        q = self.model.initial_configuration()
        return np.concatenate([np.zeros(0), *(q[self.model.q_slice(name)] for name in self.joint_names)])

    def random_configuration(self, rng: manifold.Seed = None, *, size: int | tuple[int, ...] | None = None) -> Array:
        """Configurations (…, nq) drawn within the limits, including those that dependent joints impose."""
        joints = zip(self.space.joints, self.space.iq, strict=True)
        return manifold.random_configuration(joints, self.lower, self.upper, rng, size)

    # from independent coordinates to all of the model's -----------------------------------------------

    def lift(self, y: ArrayLike, yd: ArrayLike | None = None, ydd: ArrayLike | None = None) -> Any:
        """q (…, nq) of the model for y (…, nq); with yd also qd, with ydd also qdd, in a tuple."""
        values = [(n, x) for n, x in (("y", y), ("yd", yd), ("ydd", ydd)) if x is not None]
        arguments = [Argument(n, x, (self.nq if n == "y" else self.nv,)) for n, x in values]

        def one(y: Array, yd: Array | None = None, ydd: Array | None = None) -> Any:
            if yd is None:
                return self.coordinates(y)
            lifted = (self.coordinates(y), self.velocity(y, yd))
            return lifted if ydd is None else (*lifted, self.acceleration(y, yd, ydd))

        return apply("lift", one, arguments)

    def force(self, y: ArrayLike, tau: ArrayLike) -> Array:
        """Gᵀtau (…, nv): the forces on the independent coordinates due to the model's joint forces tau."""
        arguments = [Argument("y", y, (self.nq,)), Argument("tau", tau, (self.model.nv,))]
        return apply("force", lambda y, tau: self.G(y).T @ tau, arguments)

    def coordinates(self, y: Array) -> Array:
        """q = γ(y) (nq of the model), one state of any scalar."""
        known = {name: y[i] for name, i in zip(self.joint_names, self.space.iq, strict=True)}
        for c in self.steps:
            value = c.map(np.concatenate([y[:0], *(known[j] for j in c.independent)]))
            for j in c.dependent:
                n = self.model.joint(j).joint.nq
                known[j], value = value[:n], value[n:]
        return np.concatenate([y[:0], *(known[j] for j in self.model.joint_names)])

    def velocity(self, y: Array, yd: Array) -> Array:
        """qd = G yd (nv of the model), one state of any scalar."""
        _, rate = derivative(self.coordinates, y, self.configuration_rate(y, yd))
        known = {name: yd[i] for name, i in zip(self.joint_names, self.space.iv, strict=True)}
        for c in self.steps:  # on the real line qd is the rate of q
            known |= {j: rate[self.model.q_slice(j)] for j in c.dependent}
        return np.concatenate([yd[:0], *(known[j] for j in self.model.joint_names)])

    def bias(self, y: Array, yd: Array) -> Array:
        """dG/dt yd (nv of the model): qdd at ydd = 0."""
        moving = duals(y, self.configuration_rate(y, yd))
        return parts(self.velocity(moving, duals(yd, np.zeros(self.nv, dtype=int))))[1]

    def acceleration(self, y: Array, yd: Array, ydd: Array) -> Array:
        """qdd = G ydd + dG/dt yd (nv of the model)."""
        return self.G(y) @ ydd + self.bias(y, yd)

    def G(self, y: Array) -> Array:
        """G (nv of the model, nv): qd = G yd."""
        followed = {j for c in self.steps for j in c.independent}
        columns: list[Array] = []
        for name, iv in zip(self.joint_names, self.space.iv, strict=True):
            own = range(self.model.nv)[self.model.v_slice(name)]
            for k, full in zip(range(self.nv)[iv], own, strict=True):
                # a joint on which no other depends has a unit column
                moves = name in followed
                e = np.eye(self.nv if moves else self.model.nv, dtype=int)[k if moves else full]
                columns.append(self.velocity(y, e) if moves else e)
        return np.array(columns).reshape(self.nv, self.model.nv).T

    def G_rate(self, y: Array, yd: Array) -> Array:
        """dG/dt (nv of the model, nv)."""
        return parts(self.G(duals(y, self.configuration_rate(y, yd))))[1]

    def lifting(self, y: Array, *rates: Array) -> Lifting:
        """The model's state, and its derivatives by y and yd; zero along joints on which no other depends."""
        followed = {j for c in self.steps for j in c.independent}
        moving = {k for j in followed & set(self.joint_names) for k in range(self.nv)[self.v_slice(j)]}
        units, still = np.eye(self.nv, dtype=int), np.zeros(self.nq, dtype=int)
        none = np.zeros((self.model.nv, self.nv), dtype=int)

        def bias_derivative(along: Array, rate: Array) -> Array:
            return parts(self.bias(duals(y, along), duals(rates[0], rate)))[1]

        dG = [self.G_rate(y, e) if k in moving else none for k, e in enumerate(units)]
        c_q = [none[:, k] for k in range(self.nv)]
        c_qd = list(c_q)
        for k in moving if rates else ():
            c_q[k] = bias_derivative(self.configuration_rate(y, units[k]), 0 * units[k])
            c_qd[k] = bias_derivative(still, units[k])
        by_q, by_qd = (np.array(c).reshape(none.T.shape).T for c in (c_q, c_qd))
        return Lifting(self.model, self.state(y, *rates), self.G(y), dG, by_q, by_qd)

    # the functions of the library: forces are multiplied by Gᵀ, matrices by G from the right -----------

    def refusal(self, name: str) -> str:
        """The message for a function of the library that is not defined in reduced coordinates."""
        return (
            f"{name}: {self.name!r} is in reduced coordinates, for which this function is not defined. Use the model "
            f"itself, reduced.model, at reduced.lift(y, yd)."
        )

    # functions of the bodies' poses and velocities
    pose_row, body_poses_row = _at_state(kinematics.pose), _at_state(kinematics.body_poses)
    velocity_row, acceleration_row = _at_state(kinematics.velocity), _at_state(kinematics.acceleration)
    energy_row, momentum_row = _at_state(momenta.energy), _at_state(momenta.momentum)
    center_of_mass_row, composite_inertia_row = _at_state(momenta.center_of_mass), _at_state(momenta.composite_inertia)

    def inverse_dynamics_row(self, y: Array, yd: Array, ydd: Array, **force: Array) -> Array:
        """Gᵀtau (nv,)."""
        return self.G(y).T @ rnea(self.model, *self.state(y, yd, ydd), **force)

    def newton_euler_row(self, y: Array, yd: Array, ydd: Array, **options: Any) -> tuple[Array, ...]:
        """The rows of the model's bodies, with Gᵀtau (nv,) for tau."""
        tree = BodyDynamics(*newton_euler(self.model, *self.state(y, yd, ydd), **options))
        return tuple(tree._replace(tau=self.G(y).T @ tree.tau))

    def joint_torque_regressor_row(self, y: Array, yd: Array, ydd: Array) -> Array:
        """GᵀY (nv, 10 nb)."""
        return self.G(y).T @ joint_torque_regressor(self.model, *self.state(y, yd, ydd))

    def bias_force_row(self, y: Array, yd: Array, **force: Array) -> Array:
        """Gᵀ(h + M dG/dt yd) (nv,)."""
        return self.inverse_dynamics_row(y, yd, np.zeros(self.nv, dtype=int), **force)

    def passive_force_row(self, y: Array, yd: Array) -> Array:
        """Gᵀ(damping, friction and springs) (nv,)."""
        return self.G(y).T @ passive_force(self.model, *self.state(y, yd))

    def joint_force_row(self, y: Array, f_ext: Array) -> Array:
        """GᵀJᵀf_ext (nv,)."""
        return self.G(y).T @ joint_force(self.model, self.coordinates(y), f_ext)

    def gravity_force_row(self, y: Array) -> Array:
        """Gᵀg (nv,)."""
        return self.G(y).T @ gravity_force(self.model, self.coordinates(y))

    def external_force_row(self, y: Array, *wrench: Array, **options: Any) -> Array:
        """f_ext (nb, 6) of the model."""
        return external_force(self.model, self.coordinates(y), *wrench, **options)

    def mass_matrix_row(self, y: Array) -> Array:
        """GᵀMG (nv, nv)."""
        G = self.G(y)
        return mirror_upper(G.T @ (crba(self.model, self.coordinates(y)) @ G))

    def forward_dynamics_row(self, y: Array, yd: Array, tau: Array, **force: Array) -> Array:
        """ydd (nv,)."""
        return factored_forward_dynamics(self, y, yd, tau, **force)

    def mass_matrix_solve_row(self, y: Array, b: Array) -> Array:
        """(GᵀMG)⁻¹ b (nv,)."""
        return mass_metric(self, y).solve(b)

    def inverse_mass_matrix_row(self, y: Array) -> Array:
        """(GᵀMG)⁻¹ (nv, nv)."""
        return mirror_upper(mass_metric(self, y).solve(np.eye(self.nv, dtype=int)))

    def coriolis_matrix_row(self, y: Array, yd: Array) -> Array:
        """Gᵀ(C G + M dG/dt) (nv, nv)."""
        (q, qd), G = self.state(y, yd), self.G(y)
        return G.T @ (coriolis_matrix(self.model, q, qd) @ G + crba(self.model, q) @ self.G_rate(y, yd))

    def christoffel_row(self, y: Array) -> Array:
        """Γ (nv, nv, nv): C is linear in yd, so Γ[:, :, k] is that of the k-th unit velocity."""
        slices = [self.coriolis_matrix_row(y, e) for e in np.eye(self.nv, dtype=int)]
        return np.moveaxis(np.array(slices).reshape(self.nv, self.nv, self.nv), 0, 2)

    def centroidal_matrix_row(self, y: Array) -> Array:
        """A_G G (6, nv)."""
        return momenta.centroidal_matrix(self.model, self.coordinates(y)) @ self.G(y)

    def jacobian_row(self, y: Array, **options: Any) -> Array:
        """J G (6, nv)."""
        return jacobian(self.model, self.coordinates(y), **options) @ self.G(y)

    def jacobian_rate_row(self, y: Array, yd: Array, **options: Any) -> Array:
        """dJ/dt G + J dG/dt (6, nv)."""
        q, qd = self.state(y, yd)
        rate = jacobian_rate(self.model, q, qd, **options) @ self.G(y)
        return rate + jacobian(self.model, self.coordinates(y), **options) @ self.G_rate(y, yd)

    def inverse_operational_inertia_row(self, y: Array, **options: Any) -> Array:
        """J G (GᵀMG)⁻¹ GᵀJᵀ (6, 6)."""
        J = self.jacobian_row(y, **options)
        return mirror_upper(J @ mass_metric(self, y).solve(J.T))

    def state(self, y: Array, *rest: Array) -> tuple[Array, ...]:
        """(q, qd, qdd), or the first of them, for y and as many rates as there are; one state of any scalar."""
        state = [self.coordinates(y)]
        if rest:
            state.append(self.velocity(y, rest[0]))
        if len(rest) > 1:
            state.append(self.acceleration(y, *rest))
        return tuple(state)

    def __repr__(self) -> str:
        return f"<Reduced {self.name!r}: nq = {self.nq} of {self.model.nq}, nv = {self.nv} of {self.model.nv}>"


@dataclass(frozen=True)
class Lifted(Constraint):
    """An implicit constraint of a model, in its reduced coordinates: A G yd = b(t)."""

    constraint: Constraint

    @property
    def label(self) -> str:
        """Name of the constraint in messages."""
        return self.constraint.label

    def position(self, system: Any, q: Array) -> Array:
        """φ (h,) at the lifted configuration."""
        return self.constraint.position(system.model, system.coordinates(q))

    def velocity(self, system: Any, q: Array, qd: Array) -> Array:
        """A G yd (k,)."""
        return self.constraint.velocity(system.model, system.coordinates(q), system.velocity(q, qd))

    def target(self, t: Scalar) -> Array | None:
        """b(t) (k,), None if it is zero."""
        return self.constraint.target(t)

    def branch(self, system: Any, q: Array) -> Any:
        """A scalar above 0 where the position vanishes as wanted."""
        return self.constraint.branch(system.model, system.coordinates(q))

    def closure(self, system: Any, q: Array) -> tuple[Array, Array]:
        """Residual (h,) and its rows of A G (h, nv), for assembly."""
        error, rows = self.constraint.closure(system.model, system.coordinates(q))
        return error, rows @ system.G(q)

    def jacobian(self, system: Any, q: Array) -> Array:
        """A G (k, nv)."""
        return self.constraint.jacobian(system.model, system.coordinates(q)) @ system.G(q)

    def bias(self, system: Any, q: Array, qd: Array) -> Array:
        """d(A G)/dt yd (k,)."""
        full = system.coordinates(q)
        turning = self.constraint.bias(system.model, full, system.velocity(q, qd))
        return turning + self.constraint.jacobian(system.model, full) @ system.bias(q, qd)


@register
def reduced(model: Model) -> Reduced:
    """Return the model in independent coordinates; ``Model.reduce`` calls it once per model."""
    return Reduced(model)
