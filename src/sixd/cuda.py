"""NVIDIA's GPUs: whether there is one, and the rows in which functions were not defined.

Code for GPUs is made by ``sixd.compile(…, target="cuda")``.
"""

from __future__ import annotations

from sixd.errors import SingularError
from sixd.runtime.cuda.device import devices_in_use
from sixd.runtime.cuda.driver import is_installed

__all__ = ["check", "is_available"]


def is_available() -> bool:
    """Whether this computer has an NVIDIA GPU and its driver. Compiling needs neither, calling a kernel needs both."""
    return is_installed()


def check() -> None:
    """Raise SingularError if kernels met rows in which their function is not defined, since the last check.

    Kernels on a GPU do not raise: a row with a singular mass matrix, or with arguments that are not finite, comes back
    as NaN, inf or very large numbers, and is counted on the device. This function waits for all work on the devices,
    reads the counts and sets them to zero. Without it nothing is ever raised for such rows.
    """
    found: dict[str, int] = {}
    for gpu in devices_in_use():
        for name, count in gpu.counts("cuda.check").items():
            found[name] = found.get(name, 0) + count
    if found:
        listed = ", ".join(f"{name} ({count:,} rows)" for name, count in found.items())
        raise SingularError(
            f"cuda.check: results are not finite, or too large to be accurate: {listed}. Compute these rows on the "
            f"processor, where the error names the cause."
        )
