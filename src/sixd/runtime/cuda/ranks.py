"""Programs that run as several processes, one for each GPU: what their environment says about this one.

torchrun sets LOCAL_RANK, RANK and WORLD_SIZE; Slurm and Open MPI number the processes of a machine under names of
their own.
"""

from __future__ import annotations

import os

from sixd.errors import DeviceError, ScalarTypeError
from sixd.runtime.cuda.driver import driver

_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK")


def local_device(where: str) -> int:
    """The number of the GPU that this process uses."""
    rank = _local_rank(where)
    # each process may see one GPU alone, by CUDA_VISIBLE_DEVICES, and there may be more processes than GPUs
    return 0 if rank is None else rank % driver(where).devices


def set_local_rank(where: str, number: int) -> None:
    """Give this worker the GPU that is ``number`` after that of the process that started it."""
    os.environ[_LOCAL[0]] = str((_local_rank(where) or 0) + number)


def _local_rank(where: str) -> int | None:
    """The number of this process on its machine, which it has from the one that started it; None if it has none."""
    name = next((name for name in _LOCAL if name in os.environ), None)
    return None if name is None else _number(where, name)


def share(where: str, count: int) -> slice:
    """The rows of this process, of that many."""
    if isinstance(count, bool) or not hasattr(count, "__index__") or count < 0:
        raise ScalarTypeError(f"{where}: count is {count!r}, expected a whole number of at least 0, of states.")
    total = count.__index__()
    given = [name for name in ("RANK", "WORLD_SIZE") if name in os.environ]
    if not given:
        return slice(0, total)
    if len(given) == 1:
        raise DeviceError(
            f"{where}: the variable {given[0]} is set to {os.environ[given[0]]!r} and the other of RANK and WORLD_SIZE "
            f"is not set, expected both, as torchrun sets them, or none. Set both, or unset it."
        )
    rank, size = (_number(where, name) for name in given)
    if rank >= size:
        raise DeviceError(
            f"{where}: the variables RANK and WORLD_SIZE are set to {rank} and {size}, expected a RANK below "
            f"WORLD_SIZE. Fix them, or unset both."
        )
    return slice(rank * total // size, (rank + 1) * total // size)


def _number(where: str, name: str) -> int:
    text = os.environ[name].strip()
    if not (text.isascii() and text.isdigit()):
        raise DeviceError(
            f"{where}: the variable {name} is set to {os.environ[name]!r}, expected a whole number of at least 0. "
            f"Fix it, or unset it."
        )
    return int(text)
