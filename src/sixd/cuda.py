"""NVIDIA's GPUs: whether there is one, the share of this process of several, states with undefined results.

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
    """Raise SingularError if results of kernels were undefined for some states since the last check.

    Kernels on a GPU raise no errors. For a state with a singular mass matrix, or with arguments that are not finite,
    the result is NaN, inf or very large, and the device counts the state. This function waits for all work on the
    devices, reads the counts and sets them to zero. Nothing else reports such states.
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

    A program for ``torchrun --nproc-per-node=8 program.py``, here with 1,000,000 states::

        device = torch.device("cuda", sixd.cuda.local_device())
        rows = sixd.cuda.share(1_000_000)
        tau = sixd.inverse_dynamics(model, *(torch.as_tensor(x[rows], device=device) for x in (q, qd, qdd)))
    """
    return ranks.local_device("cuda.local_device")


def share(count: int) -> slice:
    """The states that this process computes, of ``count`` states that all processes compute together.

    The slice depends on RANK and WORLD_SIZE, which torchrun sets, on one machine or several. If neither is set, it has
    all states. The shares are contiguous, in the order of RANK, complete and disjoint, and their sizes differ by one at
    most. A share is empty if there are fewer states than processes. Results do not depend on the share: joined in the
    order of RANK, they are bit-identical to those of one call, on GPUs of one architecture.

    Raises DeviceError if one variable is set without the other, if they are not whole numbers, or RANK is not below
    WORLD_SIZE.

    >>> import sixd
    >>> sixd.cuda.share(10)  # without torchrun
    slice(0, 10, None)
    """
    return ranks.share("cuda.share", count)
