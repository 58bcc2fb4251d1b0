"""``payload``: mass, centre of mass and inertia of what a robot holds, from measured torques."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sixd.api.dynamics import inverse_dynamics, joint_torque_regressor
from sixd.errors import ModelError, SingularError
from sixd.identification.fitting import Method, checked_method, student_interval
from sixd.identification.least_squares import Samples, checked_noise, checked_samples, factorize, least_squares
from sixd.identification.realisable import WIDTH, ConicProblem, body_scale, realisable
from sixd.identification.recordings import Recording, measured
from sixd.identification.structure.columns import INERTIAL, make_columns
from sixd.identification.structure.observable import transport
from sixd.model.model import Model
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial.transform import transform_from_pose

_LENGTH = 0.1  # m: size of a payload, for the scale of its parameters
_SHARE = 0.1  # mass of a payload relative to the robot's, likewise
_UNKNOWN = 0.3  # deviation, relative to the width of the prior, beyond which the mass was not measured


@dataclass(frozen=True, eq=False, repr=False)
class Payload:
    """What a robot holds; made by ``sixd.identification.payload``.

    frame : the frame that it is fixed to, and in which its inertia is expressed.
    inertia : realisable, unless ``consistent`` was False.
    parameters, covariance : (10,), (10, 10): m, hx hy hz, Ixx Iyy Izz Iyz Ixz Ixy about the frame's origin, of the
        least-squares estimate with a weak prior; the deviation of what the motion did not show is that of the prior.
    offset : (nv,) constant torques; zero if they were not estimated.
    noise : (nv,) standard deviations of tau after the filter of a recording, or their covariance (nv, nv).
    model : the robot with the payload.
    """

    frame: str
    inertia: Inertia
    parameters: Array
    covariance: Array
    offset: Array
    noise: Array
    samples: Samples
    model: Model

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self.inertia.mass)

    @property
    def com(self) -> Array:
        """Centre of mass (3,) [m] in the frame."""
        return np.asarray(self.inertia.com)

    @property
    def deviation(self) -> Array:
        """(10,): standard deviations of the parameters."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def mass_deviation(self) -> float:
        """[kg]."""
        return float(self.deviation[0])

    @property
    def com_deviation(self) -> Array:
        """(3,) [m]: to first order, of c = h / m."""
        jacobian = np.column_stack([-self.com, np.eye(3)]) / self.mass
        return np.sqrt(np.diag(jacobian @ self.covariance[:4, :4] @ jacobian.T))

    def intervals(self, level: float = 0.95) -> Array:
        """(10, 2): the confidence interval of each parameter."""
        degrees = int(self.samples.torques.size) - len(self.parameters)
        return student_interval("intervals", self.parameters, self.deviation, degrees, level)

    @cached_property
    def predicted(self) -> Array:
        """(m, nv): the torques of the robot with its payload, after the filter of a recording."""

        return self.samples.evaluate(lambda *motion: inverse_dynamics(self.model, *motion) + self.offset)

    @cached_property
    def residuals(self) -> Array:
        """(m, nv): measured minus predicted torques, after the filter of a recording."""
        return self.samples.torques - self.predicted

    def __repr__(self) -> str:
        com = ", ".join(f"{x:.4g}" for x in self.com)
        return f"<Payload at {self.frame!r}: {self.mass:.4g} ± {2 * self.mass_deviation:.2g} kg at ({com}) m>"


def payload(
    model: Model,
    frame: str,
    q: ArrayLike | Recording,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    noise: ArrayLike | None = None,
    offset: bool = False,
    consistent: Method = True,
    name: str = "payload",
) -> Payload:
    """The payload at a frame of a robot whose own parameters are known.

    Parameters
    ----------
    model : the robot without the payload.
    frame : the frame that the payload is fixed to, as a tool's.
    q, qd, qdd, tau : (n, nq), (n, nv) each, or a ``Recording`` in place of q.
    noise : as for ``fit``; estimated if omitted.
    offset : whether a constant torque of each degree of freedom, such as a sensor's bias, is estimated as well.
    consistent : as for ``fit``.
    name : of the payload's frame in ``.model``.

    Returns
    -------
    Payload : ``.mass``, ``.com``, ``.inertia``, ``.mass_deviation``, ``.com_deviation``, ``.intervals()``, ``.model``.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.ur_arm()
    >>> loaded = arm.with_payload("can", "link6", sixd.box(0.1, 0.1, 0.2, mass=2.3))
    >>> q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 100, 6))
    >>> round(sixd.identification.payload(arm, "link6", q, qd, qdd, sixd.inverse_dynamics(loaded, q, qd, qdd)).mass, 9)
    2.3
    """
    columns = make_columns("payload", model, ("offset",) if offset else (), armature=False)
    method = checked_method("payload", consistent)
    place = model.frame(frame, "payload")
    if not place.body:
        raise ModelError(f"payload: frame {frame!r} is fixed to the world, expected one that moves.")
    samples = checked_samples("payload", model, *measured("payload", q, qd, qdd, tau))
    prescribed = checked_noise("payload", noise, model.nv)
    own = slice(10 * (place.body - 1), 10 * place.body)
    scale = body_scale(max(_SHARE * float(model.mass), 0.1), _LENGTH)
    moved = transport(transform_from_pose(place.pose)) * scale
    if offset:
        scale = np.concatenate([scale, np.full(model.nv, max(float(np.abs(samples.tau).max(initial=0.0)), 1e-9))])

    def regressor(q: Array, qd: Array, qdd: Array) -> Array:
        body = joint_torque_regressor(model, q, qd, qdd)[..., own] @ moved
        if not offset:
            return body
        return np.concatenate([body, np.broadcast_to(np.diag(scale[10:]), (len(q), model.nv, model.nv))], axis=-1)

    known = inverse_dynamics(model, *samples[:3])
    labels = (*INERTIAL, *(columns.names[10 * model.nb :]))
    ridge = np.full(len(labels), 1 / WIDTH)
    factor, deviations = least_squares("payload", regressor, samples, known, prescribed, labels, ridge)
    x, covariance = factor.solve(), factor.covariance()
    if covariance[0, 0] > (_UNKNOWN * WIDTH) ** 2:
        raise SingularError(
            f"payload: the data do not determine the mass at frame {frame!r}. Move joints that lift or accelerate it, "
            f"so that its torques are above their noise."
        )
    body = x
    if method:
        data = factorize(regressor, samples._replace(tau=samples.tau - known), deviations)
        problem = ConicProblem(data.R, data.z, np.zeros(len(x)), 1, np.zeros(0, dtype=int))
        body = realisable("payload", problem, str(method))
    inertia = Inertia.from_parameters((body * scale)[:10])
    parameters, covariance = (x * scale)[:10], (covariance * scale[:, None] * scale)[:10, :10]
    offsets = (body * scale)[10:] if offset else np.zeros(model.nv)
    model = model.with_payload(name, frame, inertia)
    return Payload(frame, inertia, parameters, covariance, offsets, deviations, samples, model)
