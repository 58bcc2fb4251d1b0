"""``fit``: parameters of a model from measured motions and torques."""

from __future__ import annotations

import dataclasses
import os
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sixd.errors import ModelError, ModelWarning, ScalarTypeError, SixdError, require_known
from sixd.identification.least_squares import Factor, Samples, checked_noise, checked_samples, least_squares
from sixd.identification.realisable import METHODS, ConicProblem, model_scale, realisable
from sixd.identification.recordings import Recording, measured
from sixd.identification.structure.base import BaseParameters, base_parameters
from sixd.identification.structure.columns import Columns, Friction, make_columns
from sixd.io.urdf.writer import to_urdf
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike, is_number

Method = bool | str  # True, False, or one of METHODS


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Identified parameters of a model; made by ``sixd.identification.fit``.

    base : the base parameters as sums of standard ones: ``base.formulas``, ``base.labels``.
    base_values, base_covariance : (r,), (r, r): the least-squares estimate, and its covariance.
    parameters : (p,) standard parameters, in the order of ``base.names``; realisable, unless ``consistent`` was False.
    noise : (nv,) standard deviations of tau after the filter of a recording, or their covariance (nv, nv).
    samples : the measured q, qd, qdd and tau (n, …).
    model : the model with the identified parameters.
    """

    base: BaseParameters
    base_values: Array
    base_covariance: Array
    parameters: Array
    noise: Array
    samples: Samples
    condition: float
    consistent: str | bool
    model: Model

    @property
    def columns(self) -> Columns:
        """The standard parameters that are estimated."""
        return self.base.columns

    @property
    def base_deviation(self) -> Array:
        """(r,): standard deviations of the base parameters."""
        return np.sqrt(np.diag(self.base_covariance))

    @property
    def degrees(self) -> int:
        """Degrees of freedom: measured torques minus base parameters."""
        return int(self.samples.torques.size - len(self.base))

    def intervals(self, level: float = 0.95) -> Array:
        """(r, 2): the confidence interval of each base parameter, by Student's distribution."""
        return student_interval("intervals", self.base_values, self.base_deviation, self.degrees, level)

    @cached_property
    def predicted(self) -> Array:
        """(m, nv): torques of the measured motion by the base parameters, after the filter of a recording."""

        def torques(q: Array, qd: Array, qdd: Array) -> Array:
            return self.columns.known(q, qd, qdd) + self.base.regressor(q, qd, qdd) @ self.base_values

        return self.samples.evaluate(torques)

    @cached_property
    def residuals(self) -> Array:
        """(m, nv): measured minus predicted torques, after the filter of a recording."""
        return self.samples.torques - self.predicted

    def _passive(self, kind: str) -> Array:
        kinds = self.columns.kinds
        return self.parameters[self.columns.slice(kind)] if kind in kinds else np.zeros(self.model.nv)

    @property
    def offset(self) -> Array:
        """(nv,): constant torques, which are no part of a model; zero if they were not estimated."""
        return self._passive("offset")

    def to_urdf(self, path: str | os.PathLike[str] | None = None) -> str:
        """The identified model as URDF text, without armature and offsets; with ``path`` also write it."""
        model, lost = self.model, []
        if model.armature.any():
            model, lost = dataclasses.replace(model, armature=np.zeros(model.nv)), ["armature"]
        lost += ["offsets"] if self.offset.any() else []
        if lost:
            message = f"to_urdf: the identified {' and '.join(lost)} are not in the file, URDF does not have them."
            warnings.warn(message, ModelWarning, stacklevel=2)
        return to_urdf(model, path)

    def __str__(self) -> str:
        relative = self.base_deviation / np.maximum(np.abs(self.base_values), 1e-300)
        lines = [repr(self)[1:-1], f"{'':12}{'estimate':>12} {'± 95 %':>10} {'unit':>10}"]
        half = self.intervals()[:, 1] - self.base_values
        units = [self.columns.units[j] for j in self.base.independent]
        for name, x, h, unit, part in zip(self.base.labels, self.base_values, half, units, relative, strict=True):
            lines.append(f"{name:12}{x:12.5g} {h:10.2g} {unit:>10}{'   poor' if part > 0.3 else ''}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<Identification of {self.model.name!r}: {len(self.base)} base parameters from "
            f"{len(self.samples.torques)} samples>"
        )


def fit(
    model: Model,
    q: ArrayLike | Recording,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    noise: ArrayLike | None = None,
    friction: Friction = True,
    armature: bool = False,
    consistent: Method = True,
) -> Identification:
    """Parameters of a model from measured motions and joint torques, by weighted least squares.

    Parameters
    ----------
    model : its geometry is used as it is; its inertias are the prior of ``.parameters``: they decide what the data
        do not determine. Springs, and friction and armature that are not estimated, are those of the model.
    q, qd, qdd, tau : (n, nq), (n, nv) each: a row for each sample; or a ``Recording`` in place of q.
    noise : standard deviation of tau, or one for each degree of freedom (nv,), or their covariance (nv, nv). If
        omitted, one for each degree of freedom is estimated from the residuals.
    friction : which of "viscous", "coulomb" and "offset" are estimated; True: all, False: none.
    armature : whether armature, the inertia of motors, is estimated.
    consistent : True or "lmi" makes the standard parameters physically consistent by a semidefinite program (needs
        Clarabel: pip install clarabel), "log-det" by Newton's method with a divergence from the model as prior;
        False leaves them as they are.

    Returns
    -------
    Identification : ``.base_values``, ``.base_covariance``, ``.intervals()`` of the base parameters; ``.parameters``
        (all standard ones, realisable), ``.model``, ``.to_urdf()``, ``.predicted``, ``.residuals``, ``.noise``,
        ``.condition`` of the weighted regressor.

    The noise of q, qd and qdd is not modelled: filter measurements with ``sixd.identification.record``. Torques and
    every column of the regressor pass through the filter of a recording, so that it causes no bias. Raises
    SingularError, with names of parameters, if the motion does not excite all of them.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2)
    >>> q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, 2))
    >>> tau = sixd.inverse_dynamics(arm, q, qd, qdd)
    >>> result = sixd.identification.fit(arm, q, qd, qdd, tau, friction=False, consistent="log-det")
    >>> np.allclose(result.base_values, result.base.of(arm))
    True
    """
    columns = make_columns("fit", model, friction, armature)
    method = checked_method("fit", consistent)
    samples = checked_samples("fit", model, *measured("fit", q, qd, qdd, tau))
    prescribed = checked_noise("fit", noise, model.nv)
    base = base_parameters(model, friction=[k for k in columns.kinds if k != "armature"], armature=armature)
    known = columns.known(*samples[:3])
    factor, deviations = least_squares("fit", base.regressor, samples, known, prescribed, base.labels)
    values, covariance = factor.solve(), factor.covariance()
    theta = _standard(columns, base, factor, values, method)
    condition = float(np.linalg.cond(factor.R))
    model = _model(columns, theta)
    return Identification(base, values, covariance, theta, deviations, samples, condition, method, model)


def checked_method(where: str, consistent: Method) -> Method:
    """The method for realisable parameters, or False."""
    if isinstance(consistent, (bool, np.bool_)):
        return METHODS[0] if consistent else False
    require_known(f"{where}: consistent", "method", consistent, METHODS)
    return str(consistent)


def student_interval(where: str, values: Array, deviation: Array, degrees: int, level: float) -> Array:
    """(…, 2): values ± the quantile of Student's distribution times their deviations."""
    if not is_number(level) or not 0 < float(level) < 1:
        raise ScalarTypeError(f"{where}: level is {level!r}, expected a probability such as 0.95.")
    from scipy.special import stdtrit

    half = float(stdtrit(max(degrees, 1), (1 + float(level)) / 2)) * deviation
    return np.stack([values - half, values + half], axis=-1)


def _standard(columns: Columns, base: BaseParameters, factor: Factor, values: Array, method: Method) -> Array:
    """Standard parameters with these base parameters, or the nearest that are realisable."""
    prior, scale = columns.values, model_scale(columns)
    if method is False:
        # the smallest change of the prior, in units of each parameter
        change = np.linalg.lstsq(base.matrix * scale, values - base.matrix @ prior, rcond=None)[0]
        return prior + change * scale
    if method == "log-det" and not factor.z.any():  # its optimum is a body almost without mass, at the last bits
        raise SixdError(
            "fit: the torques are all zero, which no body with mass explains. Check signs and units of the data; "
            "consistent=False returns the least squares."
        )
    kinds = [
        k for kind in columns.kinds if kind != "offset" for k in range(*columns.slice(kind).indices(columns.count))
    ]
    H = factor.R @ base.matrix * scale
    problem = ConicProblem(H, factor.z, prior / scale, columns.model.nb, np.array(kinds, dtype=int))
    return realisable("fit", problem, str(method)) * scale


def _model(columns: Columns, theta: Array) -> Model:
    try:
        return columns.model_with(theta)
    except ModelError as error:
        raise ModelError(f"fit: the identified parameters cannot be those of a model: {error}") from None
