"""Array arguments of a call on a GPU: validation, leading batch dimensions and dtypes, as in ``runtime/batch.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import DeviceError, ScalarTypeError
from sixd.runtime.array_libraries import GPU, common_kind, kind_of
from sixd.runtime.batch import Argument, Prepared, common_batch
from sixd.runtime.cuda.arrays import layout_of, library_of, read_array

_NUMBERS = (float, int, np.float64, np.float32)


def prepare_on_gpu(where: str, arguments: list[Argument]) -> Prepared:
    """The arguments as arrays on a GPU whose cores and batch dimensions fit; numbers are not read.

    One of them at least is on a GPU; plain numbers for scalars are copied there.
    """
    names = [a.name for a in arguments]
    common_kind(where, names, [a.value for a in arguments])
    like = next(a.value for a in arguments if kind_of(a.value) == GPU)
    first, library = read_array(where, "an array", like), library_of(where, like)
    arrays: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    for name, x, core, _ in arguments:
        if core == () and type(x) in _NUMBERS:
            arrays.append(library.full(like, (), float(x)))
            shapes.append(())
            continue
        array = read_array(where, name, x)
        if array.dtype != first.dtype:
            raise ScalarTypeError(
                f"{where}: {name} holds {array.dtype}, but others {first.dtype}, expected one dtype. Convert it."
            )
        if array.device != first.device and min(array.device, first.device) >= 0:
            raise DeviceError(f"{where}: {name} is on another GPU than others, expected all on one. Copy it.")
        arrays.append(x)
        shapes.append(layout_of(where, name, array, core).batch)
    return Prepared(arrays, common_batch(where, names, shapes), np.dtype(first.dtype).type)


def gpu_of(where: str, x: Any) -> int:
    """The number of the GPU on which an array is; 0 for an empty one."""
    return max(read_array(where, "an array", x).device, 0)
