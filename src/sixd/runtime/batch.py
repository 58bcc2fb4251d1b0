"""Array arguments of public functions: validation, leading batch dimensions, dtypes and ``out=``.

A function of unbatched arrays is applied to every state of arrays whose leading dimensions broadcast, as in a
NumPy generalised ufunc.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.runtime.arrays.interface import NUMBERS, CpuLibrary, NativeLibrary
from sixd.runtime.arrays.layouts import layout_of
from sixd.runtime.arrays.numpy_arrays import NUMPY
from sixd.runtime.arrays.registry import library_of, maker_of, read_array, require_cpu
from sixd.spatial.scalar import Array, require_scalars

Shape = tuple[int, ...]


class Argument(NamedTuple):
    """An array argument: its name, the user's value, its core shape and the meaning of that shape as text."""

    name: str
    value: Any
    core: tuple[int, ...]
    meaning: str = ""


def apply(
    where: str,
    function: Callable[..., Any],
    arguments: list[Argument],
    *,
    out: Any = None,
) -> Any:
    """``function`` of every state; float32 arguments give float32 results, objects give objects.

    The function may return one array or a tuple of arrays; ``out`` has the same form. NaN in a state gives
    NaN in its result.
    """
    arrays, batch, dtype = broadcast(where, arguments)
    count = math.prod(batch)
    rows = [a.reshape((count, *arg.core)) for a, arg in zip(arrays, arguments, strict=True)]
    with np.errstate(all="ignore"):  # NaN or a zero quaternion in a state gives NaN for this state only
        if count:
            results = [function(*(r[k] for r in rows)) for k in range(count)]
        else:  # no states: one evaluation gives the shapes
            results = [function(*(np.zeros(arg.core) for arg in arguments))]
    several = isinstance(results[0], tuple)
    columns = list(zip(*results, strict=True)) if several else [tuple(results)]
    stacked = [np.array(c, dtype=dtype)[:count].reshape(batch + np.shape(c[0])) for c in columns]
    if out is not None:
        return write(where, stacked, out, several)
    final = tuple(x[()] for x in stacked)  # 0-d arrays become scalars
    return final if several else final[0]


class Prepared(NamedTuple):
    """Checked arrays, the shape to which their leading dimensions broadcast, and the dtype of the results."""

    arrays: list[Any]
    batch: tuple[int, ...]
    dtype: Any


def prepare(where: str, arguments: Sequence[Argument], library: NativeLibrary = NUMPY) -> Prepared:
    """The arguments as arrays of a library whose cores, dtypes and batch dimensions fit; raise if they are others.

    Numbers of arrays on a GPU are not read.
    """
    arrays, shapes, dtype = (_read_on_gpu if library.on_gpu else _read)(where, arguments)
    return Prepared(arrays, common_batch(where, [a.name for a in arguments], shapes), dtype)


def _read(where: str, arguments: Sequence[Argument]) -> tuple[list[Any], list[Shape], Any]:
    """The arguments as NumPy arrays, the batch shape of each, and the dtype of results."""
    arrays = [_to_array(where, a) for a in arguments]
    shapes = [x.shape[: x.ndim - len(a.core)] for a, x in zip(arguments, arrays, strict=True)]
    return arrays, shapes, _result_dtype(arrays)


def _read_on_gpu(where: str, arguments: Sequence[Argument]) -> tuple[list[Any], list[Shape], Any]:
    """The same for arrays on one GPU; plain numbers for scalars are copied there."""
    numbers = [a.core == () and type(a.value) in NUMBERS for a in arguments]
    like = arguments[numbers.index(False)].value
    first = read_array(where, "an array", like)
    arrays: list[Any] = []
    shapes: list[Shape] = []
    for (name, x, core, _), is_number in zip(arguments, numbers, strict=True):
        if is_number:
            arrays.append(maker_of(where, like).full(like, (), float(x)))
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
    return arrays, shapes, np.dtype(first.dtype).type


def broadcast(where: str, arguments: list[Argument]) -> Prepared:
    """:func:`prepare`, with every array as float64 (or object) and of the common batch shape."""
    arrays, shape, dtype = prepare(where, arguments)
    wide = [a if a.dtype == object else a.astype(float, copy=False) for a in arrays]
    same = [np.broadcast_to(a, shape + arg.core) for a, arg in zip(wide, arguments, strict=True)]
    return Prepared(same, shape, dtype)


def _to_array(where: str, argument: Argument) -> Array:
    name, value, core, meaning = argument
    require_unmasked(where, name, value)
    array = _as_numpy(where, name, value, core)
    if array.dtype.kind not in "fiuO":
        raise ScalarTypeError(
            f"{where}: {name} holds {array.dtype} values, expected real numbers (or SymPy expressions). "
            f"Convert it to a float array."
        )
    if array.dtype == object:
        if array.shape == () and core:
            raise ScalarTypeError(
                f"{where}: {name} is a {type(value).__name__}, expected an array of shape {_dots(core)}."
            )
        require_scalars(f"{where}: {name}", array)
    k = len(core)
    if array.ndim < k or array.shape[array.ndim - k :] != core:
        raise ShapeError(
            f"{where}: {name} has shape {array.shape}, expected {_dots(core)}{meaning and f' ({meaning})'}."
            + _hint(array.shape, core)
        )
    return array


def _as_numpy(where: str, name: str, value: Any, core: tuple[int, ...]) -> Array:
    """``value`` as a NumPy array; another library's array by ``__array__``, or on the CPU by DLPack or that library."""
    try:
        if not hasattr(value, "__array__"):
            if hasattr(value, "__dlpack__"):
                return np.from_dlpack(value)
            if isinstance(library := library_of(value), CpuLibrary):
                return library.to_numpy(where, name, value)
        return np.asarray(value)
    except ValueError:
        if hasattr(value, "__dlpack__"):
            raise _foreign(where, name, value) from None
        raise ShapeError(f"{where}: {name} is a ragged sequence, expected an array of shape {_dots(core)}.") from None
    except (AttributeError, BufferError, RuntimeError, TypeError) as error:
        raise _foreign(where, name, value) from error


def _foreign(where: str, name: str, value: Any) -> Exception:
    require_cpu(where, **{name: value})
    kind = f"{type(value).__module__}.{type(value).__name__}"
    return ScalarTypeError(
        f"{where}: {name} is a {kind} that NumPy cannot read, expected an array in the memory of the CPU. "
        f"Copy it there first."
    )


def require_unmasked(where: str, name: str, value: Any) -> None:
    """Raise for a masked array with masked elements, whose mask would be lost silently."""
    ma = sys.modules.get("numpy.ma")  # np.ma would import it (15 ms); without it there are no masked arrays
    if isinstance(value, getattr(ma, "MaskedArray", ())) and cast(Any, ma).is_masked(value):
        raise ScalarTypeError(f"{where}: {name} is a masked array with gaps. Fill them: {name}.filled(numpy.nan).")


def _hint(shape: tuple[int, ...], core: tuple[int, ...]) -> str:
    if len(core) == 1 and shape[-2:] == (core[0], 1):
        return " Use .ravel() for a column vector."
    if len(core) == 1 and len(shape) == 2 and shape[0] == core[0]:
        return " The batch comes first: transpose it."
    return ""


def _dots(core: tuple[int, ...]) -> str:
    return "(" + ", ".join(["...", *(str(n) for n in core)]) + ")"


def common_batch(
    where: str,
    names: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    rule: Callable[..., tuple[int, ...]] = np.broadcast_shapes,
) -> tuple[int, ...]:
    """The shape to which the batch dimensions of arrays broadcast; ``rule(*shapes)`` is that of their library."""
    try:
        return tuple(rule(*shapes))
    except (ValueError, RuntimeError):
        listed = ", ".join(f"{name} {tuple(shape)}" for name, shape in zip(names, shapes, strict=True))
        raise ShapeError(
            f"{where}: the batch dimensions do not broadcast: {listed}. Give them equal lengths, or 1."
        ) from None


def _result_dtype(arrays: list[Array]) -> Any:
    if any(a.dtype == object for a in arrays):
        return object
    small = all(a.dtype.kind == "f" and a.dtype.itemsize == 4 for a in arrays) and bool(arrays)  # of any byte order
    return np.float32 if small else np.float64


def targets(where: str, out: Any, shapes: list[tuple[int, ...]], dtype: Any, several: bool) -> list[Array]:
    """The arrays of ``out``, checked: of these shapes, writeable, and of a dtype that takes the results."""
    given = list(out) if several and isinstance(out, (tuple, list)) else [out]
    if len(given) != len(shapes):
        raise ShapeError(f"{where}: out has {len(given)} arrays, expected a tuple of {len(shapes)}.")
    for target, shape in zip(given, shapes, strict=True):
        if not isinstance(target, np.ndarray):
            raise ScalarTypeError(f"{where}: out is a {type(target).__name__}, expected a NumPy array.")
        if target.shape != shape:
            raise ShapeError(f"{where}: out has shape {target.shape}, expected {shape}.")
        if not np.can_cast(dtype, target.dtype, "same_kind"):
            raise ScalarTypeError(f"{where}: out holds {target.dtype}, expected {np.dtype(dtype)}.")
        if not target.flags.writeable:
            raise ShapeError(f"{where}: out is read-only, expected a writeable array.")
    return given


def write(where: str, results: list[Any], out: Any, several: bool) -> Any:
    """Copy the results into ``out``, which is checked first, and return it."""
    dtype = results[0].dtype
    for target, result in zip(targets(where, out, [r.shape for r in results], dtype, several), results, strict=True):
        target[...] = result
    return out
