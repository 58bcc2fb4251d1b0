"""Limits of the launch of a kernel: whole warps, the shared memory of a block, the distance of rows."""

from __future__ import annotations

WARP = 32  # threads
THREADS = 64  # of a block. Blocks of 32 to 128 differ by some 3 %, those of 256 are up to a third slower for arms
SHARED = 48 * 1024  # bytes of shared memory of a block, without asking the driver for more
FARTHEST = 2**26  # entries: kernels multiply the distance of rows in 32 bits


def block_of(shared: int) -> tuple[int, int]:
    """The threads of a block and its shared memory [bytes], for a kernel whose warps need ``shared`` bytes each."""
    threads = THREADS if shared * (THREADS // WARP) <= SHARED else WARP
    return threads, shared * (threads // WARP)
