"""Numbers that a user gives, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError
from sixd.spatial.scalar import is_number

_MOST_RECORDS = 1e9


def positive(where: str, name: str, value: Any, unit: str, *, zero: bool = True) -> float:
    """A finite number of at least 0, or above it."""
    if isinstance(value, bool) or not is_number(value) or not (0 <= value < np.inf) or (not zero and value == 0):
        raise ScalarTypeError(
            f"{where}: {name} is {value!r}, expected a finite number {'of at least' if zero else 'above'} 0 [{unit}]."
        )
    return float(value)


def whole(where: str, name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a whole number of at least {least}.")
    return int(value)


def require_countable(where: str, records: float) -> None:
    """Raise if nobody can have meant so many records."""
    if records > _MOST_RECORDS:
        raise ScalarTypeError(
            f"{where}: these are {records:.2g} records, expected at most {_MOST_RECORDS:.0e}. Give a longer dt, or "
            f"record_every."
        )
