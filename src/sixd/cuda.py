"""NVIDIA's GPUs: whether there is one, the share of this process of several, rows in which functions are not defined.

Functions compute on a GPU if their arrays are there; code without arrays is made by ``sixd.compile(…, target="cuda")``.
"""

from __future__ import annotations

from sixd.errors import SingularError
from sixd.runtime.cuda import ranks
from sixd.runtime.cuda.device import devices_in_use
from sixd.runtime.cuda.driver import is_installed

__all__ = ["check", "is_available", "local_device", "share"]


def is_available() -> bool:
    """Whether this computer has an NVIDIA GPU and its driver. Compiling needs neither, calling a kernel needs both."""
    return is_installed()


def check() -> None:
    """Raise SingularError if kernels met rows in which their function is not defined, since the last check.

    Kernels on a GPU do not raise: a row with a singular mass matrix, or with arguments that are not finite, comes back
    as NaN, inf or very large numbers, and is counted on the device. This function waits for all work on the devices,
    reads the counts and sets them to zero. Without it nothing is ever raised for such rows.
    """
    counts: dict[str, int] = {}
    for gpu in devices_in_use():
        for name, count in gpu.counts("cuda.check").items():
            counts[name] = counts.get(name, 0) + count
    if counts:
        listed = ", ".join(f"{name} ({count:,} states)" for name, count in counts.items())
        raise SingularError(
            f"cuda.check: results are not finite, or too large to be accurate: {listed}. Compute these states on the "
            "CPU, where the error names the cause."
        )


def local_device() -> int:
    """The number of the GPU that this process should use: one process for each GPU of a machine.

    The number of this process among those of its machine (LOCAL_RANK of torchrun, else SLURM_LOCALID, else
    OMPI_COMM_WORLD_LOCAL_RANK), modulo the number of GPUs that it sees; 0 if no such variable is set. sixd uses this
    GPU where it chooses one itself: ``sixd.compile(…, target="cuda")`` without ``arch``. Arrays stay where they are: a
    function computes on the GPU of its arguments.

    Raises DeviceError if such a variable is set and is not a whole number, or if there is then no GPU.

    A program for ``torchrun --nproc-per-node=8 program.py``, here with 1,000,000 rows::

        device = torch.device("cuda", sixd.cuda.local_device())
        rows = sixd.cuda.share(1_000_000)
        tau = sixd.inverse_dynamics(model, *(torch.as_tensor(x[rows], device=device) for x in (q, qd, qdd)))
    """
    return ranks.local_device("cuda.local_device")


def share(count: int) -> slice:
    """The rows that this process computes, of ``count`` rows that all processes compute together.

    By RANK and WORLD_SIZE, which torchrun sets, on one machine or several; all rows if neither is set. The shares are
    contiguous, in the order of RANK, complete and disjoint, and their sizes differ by one at most; a share is empty
    where there are fewer rows than processes. The results of a row do not depend on the share that it is in: joined in
    the order of RANK they are those of one call with all rows, to the last bit, on GPUs of one architecture.

    Raises DeviceError if one variable is set without the other, if they are not whole numbers, or RANK is not below
    WORLD_SIZE.

    >>> import sixd
    >>> sixd.cuda.share(10)  # without torchrun
    slice(0, 10, None)
    """
    return ranks.share("cuda.share", count)
