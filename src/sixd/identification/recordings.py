"""Measured motions: from arrays or files to q, qd, qdd and tau, filtered and differentiated without phase."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, require_known
from sixd.identification.least_squares import Reduction, require_finite
from sixd.identification.structure.columns import require_rates
from sixd.identification.tables import ColumnNames, read_table
from sixd.model.joints import Revolute
from sixd.model.model import Model, require_model
from sixd.spatial.scalar import Array, ArrayLike, is_number, require_scalars

METHODS = ("filter", "spectral")
_ORDER = 4  # of the filter, which runs forwards and backwards
_LEAST = 16  # samples
_UNEVEN = 0.02  # largest deviation from even times, in steps
_GAP = 5.0  # steps: a longer one is a gap
_EDGE = 1.0  # length dropped at both ends, in 1/cutoff: the filter lacks the signal before and after
_PER_CUTOFF = 2.5  # samples that are kept in 1/cutoff: more of them would repeat the same noise


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """Samples of a motion: t (n,) [s], q (n, nq), qd, qdd and tau (n, nv); made by ``sixd.identification.record``.

    q, qd and qdd are filtered; tau is as measured. ``reduction`` is the filter for tau and for the columns of a
    regressor, which also thins them; None without a cutoff.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    reduction: Reduction | None = None

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return f"<Recording: {len(self)} samples, {self.t[-1] - self.t[0]:.4g} s, nv = {self.tau.shape[-1]}>"


def measured(
    where: str, q: ArrayLike | Recording, qd: ArrayLike | None, qdd: ArrayLike | None, tau: ArrayLike | None
) -> tuple[Any, Any, Any, Any, Reduction | None]:
    """The arrays of a call, or those of a Recording in place of q, and their filter."""
    if isinstance(q, Recording):
        if qd is not None or qdd is not None or tau is not None:
            raise ScalarTypeError(f"{where}: got arrays in addition to a Recording, expected the recording alone.")
        return q.q, q.qd, q.qdd, q.tau, q.reduction
    lost = [name for name, x in (("qd", qd), ("qdd", qdd), ("tau", tau)) if x is None]
    if lost:
        raise ScalarTypeError(
            f"{where}: {' and '.join(lost)} is missing, expected q, qd, qdd and tau, or a Recording. "
            f"sixd.identification.record differentiates measured q."
        )
    return q, qd, qdd, tau, None


def record(
    model: Model,
    source: str | os.PathLike[str] | Mapping[str, ArrayLike] | None = None,
    *,
    t: ArrayLike | None = None,
    q: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    cutoff: float | None = None,
    method: str = "filter",
    columns: ColumnNames | None = None,
) -> Recording:
    """Measured joint positions and torques, filtered and differentiated without phase: what ``fit`` needs.

    Parameters
    ----------
    source : a file, .csv or .npz, or a mapping with t, q and tau; instead of the three arrays.
    t : (n,) times [s], increasing. Uneven times are interpolated to even ones by cubic splines.
    q, tau : (n, nq), (n, nv) measured positions and torques. Velocities are always computed from q.
    cutoff : [Hz] of the low-pass filter of q and, when parameters are fitted, of tau. About ten times the highest
        frequency of the motion is usual. None: no filter, for data without noise.
    method : "filter" is a Butterworth filter of order 4 forwards and backwards, then central differences of order 4;
        at each end 1/cutoff is dropped. "spectral" is a Fourier series, for whole periods of a periodic motion.
    columns : of a .csv file, {"t": name, "q": [names], "tau": [names]}, if its header is not t, q.JOINT, tau.JOINT
        (or t, q1 …, tau1 …).

    Returns
    -------
    Recording : ``.t .q .qd .qdd .tau``. ``fit`` and ``payload`` filter the torques and the columns of the regressor
        alike: jumps of friction are then smoothed on both sides. They keep 2.5 samples in 1/cutoff: more would repeat
        the same noise, and confidence intervals would be too small.
    """
    require_model("record", model)
    require_rates("record", model)
    require_known("record: method", "method", method, METHODS)
    t, q, tau = _checked(model, _arrays(model, source, columns, t=t, q=q, tau=tau))
    step = float(np.median(np.diff(t)))
    t, (q, tau) = _even(t, step, [q, tau])
    rate = 1 / step
    if cutoff is not None and not (is_number(cutoff) and 0 < float(cutoff) < rate / 2):
        raise ScalarTypeError(
            f"record: cutoff is {cutoff!r}, expected a frequency below {rate / 2:.4g} Hz, half the rate of the samples."
        )
    if cutoff is None:
        qd, qdd = _spectral(q, step, None, 2)[1:] if method == "spectral" else _differences(q, step)
        inner = slice(None) if method == "spectral" else slice(2, -2)  # where differences are of full order
        return Recording(t[inner], q[inner], qd[inner], qdd[inner], tau[inner])
    left = len(range(len(t))[_kept(rate, float(cutoff), method)])
    if left < _LEAST:
        raise ShapeError(
            f"record: {len(t)} samples in {t[-1] - t[0]:.4g} s leave {left} after the filter, expected at least "
            f"{_LEAST}. Measure longer, or raise the cutoff."
        )
    reduction = _reduction(len(t), rate, float(cutoff), method)
    if method == "spectral":
        q, qd, qdd = _spectral(q, step, float(cutoff), 2)
    else:
        q = _filtered(q, _sections(rate, float(cutoff)), rate / float(cutoff))
        qd, qdd = _differences(q, step)
    return Recording(t, q, qd, qdd, tau, reduction)


def _reduction(count: int, rate: float, cutoff: float, method: str) -> Reduction:
    """The filter for torques and regressors of that many samples."""
    inner = _kept(rate, cutoff, method)
    if method == "spectral":
        waves = 2 * int(cutoff * count / rate) + 1  # sines, cosines and the mean
        return Reduction(partial(_thinned_waves, rate, cutoff, inner), float(np.sqrt(waves / count)))
    from scipy.signal import freqz_sos

    sections = _sections(rate, cutoff)
    gain = np.sqrt((np.abs(freqz_sos(sections, 4096)[1]) ** 4).mean())
    return Reduction(partial(_thinned, sections, rate / cutoff, inner), float(gain))


def _kept(rate: float, cutoff: float, method: str) -> slice:
    """Which samples a reduction keeps: some of each 1/cutoff, without the ends of the filter."""
    thin = max(1, int(rate / (_PER_CUTOFF * cutoff)))
    edge = max(2, round(_EDGE * rate / cutoff))
    return slice(None, None, thin) if method == "spectral" else slice(edge, -edge, thin)


def _thinned_waves(rate: float, cutoff: float, inner: slice, x: Array) -> Array:
    return _spectral(x, 1 / rate, cutoff, 0)[0][inner]


def _thinned(sections: Array, memory: float, inner: slice, x: Array) -> Array:
    return _filtered(x, sections, memory)[inner]


def _arrays(model: Model, source: Any, columns: ColumnNames | None, **given: ArrayLike | None) -> Mapping[str, Any]:
    """The arrays "t", "q" and "tau": the arguments, or those of the source."""
    arrays: Mapping[str, Any] = given
    if source is not None:
        if any(x is not None for x in given.values()):
            raise ScalarTypeError("record: got a source and arrays, expected one of the two.")
        arrays = source if isinstance(source, Mapping) else read_table(source, model, columns)
    elif columns is not None:
        raise ScalarTypeError("record: got columns without a file, expected the path of a .csv file as well.")
    lost = [name for name in ("t", "q", "tau") if arrays.get(name) is None]
    if lost:
        raise ScalarTypeError(f"record: {', '.join(lost)} is missing, expected t, q and tau: arrays, or a file.")
    return arrays


def _checked(model: Model, arrays: Mapping[str, ArrayLike]) -> tuple[Array, Array, Array]:
    """t (n,), q (n, nq) and tau (n, nv) as floats; raise if shapes, numbers or times are wrong."""
    shapes = {"t": (), "q": (model.nq,), "tau": (model.nv,)}
    checked: list[Array] = []
    for name, core in shapes.items():
        require_scalars(f"record: {name}", arrays[name])
        x = np.asarray(arrays[name])
        if x.dtype == object or x.shape[1:] != core or x.ndim == 0 or len(x) != len(np.asarray(arrays["t"])):
            wanted = ", ".join(("n", *map(str, core)))
            times = f"n = {len(checked[0])}" if checked else "n"
            raise ShapeError(
                f"record: {name} has shape {x.shape}, expected ({wanted}{',' if not core else ''}) with {times} times."
            )
        checked.append(x.astype(float))
        require_finite("record", name, checked[-1])
    t, q, tau = checked
    if len(t) < _LEAST:
        raise ShapeError(f"record: got {len(t)} samples, expected at least {_LEAST}.")
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        raise ScalarTypeError(
            f"record: t does not increase after sample {back[0]} ({t[back[0]]:.9g} s, then {t[back[0] + 1]:.9g} s), "
            f"expected increasing times. Sort the samples, and remove repeated ones."
        )
    _require_unwrapped(model, q)
    return t, q, tau


def _require_unwrapped(model: Model, q: Array) -> None:
    """Raise if an angle jumps by more than half a turn between samples, as an encoder's does at ±π."""
    for name in model.joint_names:
        if isinstance(model.joint(name).joint, Revolute):
            steps = np.diff(q[:, model.q_slice(name).start])
            far = np.flatnonzero(np.abs(steps) > np.pi)
            if len(far):
                raise ScalarTypeError(
                    f"record: the angle of joint {name!r} jumps by {steps[far[0]]:.4g} rad after sample {far[0]}, "
                    f"expected less than half a turn. Angles must be in rad and continue beyond ±π: numpy.unwrap."
                )


def _even(t: Array, step: float, arrays: list[Array]) -> tuple[Array, list[Array]]:
    """Even times, and the arrays at these times."""
    longest = int(np.argmax(np.diff(t)))
    if t[longest + 1] - t[longest] > _GAP * step:
        raise ScalarTypeError(
            f"record: there is a gap from {t[longest]:.6g} s to {t[longest + 1]:.6g} s, expected steps of about "
            f"{step:.4g} s. Make a recording of each part, and pass their arrays to fit, one after the other."
        )
    mean = (t[-1] - t[0]) / (len(t) - 1)
    even = t[0] + mean * np.arange(len(t))
    if np.abs(t - even).max() <= _UNEVEN * mean:
        return even, arrays
    from scipy.interpolate import CubicSpline

    even = np.arange(t[0], t[-1] + step / 2, step)
    even = even[even <= t[-1]]
    return even, [CubicSpline(t, x)(even) for x in arrays]


def _sections(rate: float, cutoff: float) -> Array:
    """Butterworth's filter."""
    from scipy.signal import butter

    return np.asarray(butter(_ORDER, cutoff, fs=rate, output="sos"))


def _filtered(x: Array, sections: Array, memory: float) -> Array:
    """The signals (n, …) filtered forwards and backwards, extended past their ends by odd reflection."""
    from scipy.signal import sosfiltfilt

    return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=min(len(x) - 1, int(3 * memory))))


def _differences(q: Array, step: float) -> tuple[Array, Array]:
    """First and second derivatives by central differences of order 4; two samples at each end are of lower order."""
    qd, qdd = np.gradient(q, step, axis=0), np.gradient(np.gradient(q, step, axis=0), step, axis=0)
    a, b, c, d, e = q[:-4], q[1:-3], q[2:-2], q[3:-1], q[4:]
    qd[2:-2] = (a - 8 * b + 8 * d - e) / (12 * step)
    qdd[2:-2] = (-a + 16 * b - 30 * c + 16 * d - e) / (12 * step**2)
    return qd, qdd


def _spectral(x: Array, step: float, cutoff: float | None, order: int) -> list[Array]:
    """The signal without frequencies above the cutoff, and its derivatives, as a periodic function."""
    count = len(x)
    frequency = np.fft.rfftfreq(count, step)
    waves = np.fft.rfft(x, axis=0)
    waves[frequency > (np.inf if cutoff is None else cutoff)] = 0
    factor = 2j * np.pi * frequency.reshape(-1, *[1] * (x.ndim - 1))  # of d/dt
    if count % 2 == 0:
        factor[-1] = 0  # the phase of the fastest wave is unknown
    return [np.fft.irfft(waves * factor**k, n=count, axis=0) for k in range(order + 1)]
