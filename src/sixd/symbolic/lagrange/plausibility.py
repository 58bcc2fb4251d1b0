"""Plausibility checks of energies: names that look misspelt, kinetic energy that is negative.

Both give warnings, not errors: a parameter may have such a name, and a mass matrix may be that of a part of a system.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sixd.errors import ModelWarning
from sixd.lazy import Expr, Matrix, Symbol
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.symbolic.closed_form import ClosedForm

_SHORTEST = 3  # letters of names that are compared: l1 is near q1, but is another symbol
_TRIES = 12  # sampled states and parameters at which T must be negative for a warning
_ROUNDING = 1e-9  # of M scaled to a diagonal of ±1: an eigenvalue above -1e-9 does not count as negative


# names ------------------------------------------------------------------------------------------


def warn_of_misspelt(left: Sequence[Expr], known: Sequence[Expr], parameters: Sequence[str]) -> None:
    """Warn of symbols in ``left`` that look like a misspelt coordinate or velocity, unless named in ``parameters``."""
    pairs = [(s, k) for s in left if str(s) not in parameters for k in known if is_misspelt(str(s), str(k))]
    if pairs:
        names = ", ".join(f"{s} (near {k})" for s, k in dict(pairs).items())
        warnings.warn(
            f"lagrange: treated as a constant parameter: {names}. Correct the name if it is misspelt; if not, list the "
            f"parameters: parameters=[{', '.join(map(str, left))}].",
            ModelWarning,
            stacklevel=4,  # the caller of sixd.lagrange
        )


def is_misspelt(name: str, known: str) -> bool:
    """Whether ``name`` looks like ``known`` with one letter wrong, missing, doubled, put in, or two exchanged.

    Not misspelt are names of fewer than three letters; names with other digits or underscores (theta0, theta_r, theta2)
    or of another case (Theta); with a letter before or behind (ktheta, thetar), unless it doubles the last (phii);
    Greek letters (psi is not phi); and, among names of three letters, those with one letter replaced (arm, arc).
    """
    from sympy.core.alphabets import greeks

    letters = [sum(c.isalpha() for c in x) for x in (name, known)]
    stem = "".join(c for c in name if c.isalpha())
    if min(letters) < _SHORTEST or stem.lower() in (*greeks, "lamda") or name.lower() == known.lower():
        return False
    return name in _slips(known, substitutions=letters[1] > _SHORTEST, wrong=name)


def _slips(known: str, *, substitutions: bool, wrong: str) -> Iterator[str]:
    """All variants of ``known`` with one slip; inserted letters are those of ``wrong``."""
    for k, c in enumerate(known):
        if not c.isalpha():
            continue
        head, tail = known[:k], known[k + 1 :]
        yield head + tail
        yield head + c + c + tail
        if tail and tail[0].isalpha():
            yield head + tail[0] + c + tail[1:]
        if k < len(wrong) and wrong[k].isalpha():
            if substitutions and wrong[k].lower() != c.lower():
                yield head + wrong[k] + tail
            if k:
                yield head + wrong[k] + c + tail


# energies ---------------------------------------------------------------------------------------


def warn_if_negative(form: ClosedForm, parameters: Sequence[Expr]) -> None:
    """Warn if the kinetic energy is negative for some velocities, for all sampled states and (positive) parameters."""
    rng = np.random.default_rng(2)
    M = np.zeros((0, 0))
    for _ in range(_TRIES if form.nv else 0):
        values = values_of(form.M, {s: _sample(rng, s) for s in (*parameters, *form.q)})
        if values is None:  # undecidable
            return
        M = values
        if np.isfinite(M).all() and _lowest(M) >= -_ROUNDING:
            return
    if not M.size or not np.isfinite(M).all():
        return
    bad = [str(v) for v, x in zip(form.qd, np.diag(M), strict=True) if x < 0]
    which = f"of {' and of '.join(bad)} alone" if bad else f"of {', '.join(map(str, form.qd))} together"
    warnings.warn(
        f"lagrange: the kinetic energy {which} is negative in all states tried, expected T ≥ 0. Look for a wrong "
        f"sign in T, or for a product of velocities that is too large.",
        ModelWarning,
        stacklevel=4,  # the caller of sixd.lagrange
    )


def values_of(matrix: Matrix, table: dict[Expr, float]) -> Array | None:
    """The floats of a SymPy matrix; None if some are complex, or values of undefined functions."""
    try:
        return np.array(matrix.xreplace(table).evalf(), dtype=float)
    except (TypeError, ValueError):
        return None


def _sample(rng: np.random.Generator, symbol: Symbol) -> float:
    """A random number of any magnitude for a symbol, positive unless it is declared otherwise."""
    size = float(np.exp(rng.uniform(-1.5, 1.5)))
    return -size if symbol.is_negative or symbol.is_nonpositive else size


def _lowest(M: Array) -> float:
    """The lowest eigenvalue of M scaled to a diagonal of ±1, so that units do not matter."""
    size = np.sqrt(np.abs(np.diag(M)))
    size[size == 0] = 1.0
    return float(np.linalg.eigvalsh(M / np.outer(size, size))[0])
