"""Checks of the numbers that the arguments of a simulation are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.spatial.scalar import is_number

Seed = int | Sequence[int] | np.random.SeedSequence | None
_MOST_RECORDS = 1e9


def nonnegative(where: str, name: str, value: float, unit: str) -> float:
    """Return a finite number of at least 0 as a float."""
    if type(value) is float and 0.0 <= value < math.inf:
        return value
    if not _is_finite(value) or value < 0:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a finite number of at least 0 [{unit}].")
    return float(value)


def positive(where: str, name: str, value: float, unit: str) -> float:
    """Return a finite number above 0 as a float."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    if not _is_finite(value) or value <= 0:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a finite number above 0 [{unit}].")
    return float(value)


def finite_time(where: str, t: float) -> float:
    """Return a time [s] as a float."""
    if not _is_finite(t):
        raise ScalarTypeError(f"{where}: t is {t!r}, expected a finite number [s].")
    return float(t)


def _is_finite(value: float) -> bool:
    return not isinstance(value, bool) and is_number(value) and bool(-math.inf < value < math.inf)


def whole(where: str, name: str, value: object, least: int = 1) -> int:
    """Return a whole number of at least ``least`` as an int."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def require_countable(where: str, records: float) -> None:
    """Raise if there are more records than a simulation can be meant to have."""
    if records > _MOST_RECORDS:
        raise ScalarTypeError(
            f"{where}: these are {records:.2g} records, expected at most {_MOST_RECORDS:.0e}. Give a longer dt, or "
            f"record_every."
        )
