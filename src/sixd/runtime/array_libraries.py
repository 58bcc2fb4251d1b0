"""Arrays of other libraries among the arguments of a call: on a GPU, or tensors of PyTorch on the processor.

Nothing is imported here: an argument's class says which library made it, and that is loaded then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixd.errors import DeviceError, ScalarTypeError
from sixd.runtime.cuda.arrays import ON_GPU, Library, refuse_gradient

NUMPY, TENSOR, GPU = range(3)  # kinds of arguments: what NumPy reads, tensors on the processor, arrays on a GPU

# of arrays in the memory of the CPU
NUMPY_LIBRARY = Library(
    np,
    lambda device: 0,
    lambda like, shape: np.empty(shape, like.dtype),
    lambda x, shape: np.ascontiguousarray(np.broadcast_to(x, shape)),
    lambda like, shape, value: np.full(shape, value, like.dtype),
    np.broadcast_to,
    lambda like, array: np.array(array, like.dtype),
    lambda x: x,
    np.copy,
    np.where,
    on_gpu=False,
)

_NUMBERS = (float, int, np.float64, np.float32)
# most arguments are of these types
_PLAIN = frozenset({np.ndarray, list, tuple, type(None), *_NUMBERS})
_KINDS: dict[type, Callable[[Any], int]] = {}  # by type


def kind_of(x: Any) -> int:
    """What an argument is: NUMPY, TENSOR or GPU."""
    kind = type(x)
    return NUMPY if kind in _PLAIN else (_KINDS.get(kind) or _add_kind(kind))(x)


def _add_kind(kind: type) -> Callable[[Any], int]:
    found: Callable[[Any], int] = _plain
    torch = sys.modules.get("torch")
    if kind.__module__.partition(".")[0] == "cupy" and hasattr(kind, "__cuda_array_interface__"):
        found = _on_gpu
    elif torch is not None and issubclass(kind, getattr(torch, "Tensor", ())):
        found = _tensor
    elif (
        hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack_device__") or hasattr(kind, "__getattr__")
    ):
        found = _by_protocols
    return _KINDS.setdefault(kind, found)


def _plain(x: Any) -> int:
    return NUMPY


def _on_gpu(x: Any) -> int:
    return GPU


def _tensor(x: Any) -> int:
    return GPU if x.is_cuda else TENSOR


def _by_protocols(x: Any) -> int:
    if getattr(x, "__cuda_array_interface__", None) is not None:
        return GPU
    side = getattr(x, "__dlpack_device__", None)
    try:
        return GPU if side is not None and int(side()[0]) in ON_GPU else NUMPY
    except Exception:  # not an array after all: refused where it is read
        return NUMPY


def common_kind(where: str, names: Sequence[str], values: Sequence[Any], out: Any = None) -> int:
    """What the arguments of a call are together: one tensor makes all TENSOR; DeviceError if only some are on a GPU.

    ``names`` are those of the values; plain numbers and None go with any kind.
    """
    outs = out if type(out) in (tuple, list) else (out,)
    kinds = [NUMPY if type(x) in _PLAIN else kind_of(x) for x in (*values, *outs)]
    found = max(kinds)
    if found == NUMPY:
        return NUMPY
    labels = (*names, *["out"] * len(outs))
    every = (*values, *outs)
    if found == GPU:
        for name, x, kind in zip(labels, every, kinds, strict=True):
            if kind != GPU and x is not None and type(x) not in _NUMBERS:
                raise _mixed(where, name, x, labels[kinds.index(GPU)], every[kinds.index(GPU)])
    return found


def describe(x: Any) -> str:
    """The class of an argument, as it is known to users."""
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}".removeprefix("builtins.")


def _mixed(where: str, name: str, x: Any, other: str, there: Any) -> DeviceError:
    root, to, back = type(there).__module__.partition(".")[0], "", ""
    if root == "cupy":
        to, back = f", cupy.asarray({name})", f", {other}.get()"
    elif root == "torch":
        to = f", {name}.cuda()" if kind_of(x) == TENSOR else f", torch.as_tensor({name}, device='cuda')"
        back = f", {other}.cpu()"
    return DeviceError(
        f"{where}: {name} is a {describe(x)} in the memory of the processor, but {other} is on a GPU, expected all on "
        f"one side. Copy it there{to}, or the others back{back}."
    )


def require_cpu(where: str, **values: Any) -> None:
    """Raise if one of these arguments is on a GPU."""
    for name, x in values.items():
        if kind_of(x) == GPU:
            raise on_gpu(where, name, x)


def on_gpu(where: str, name: str, x: Any) -> DeviceError:
    """The error for an array on a GPU that is given to a function of the processor."""
    root = type(x).__module__.partition(".")[0]
    copy = {"cupy": f"{name}.get()", "torch": f"{name}.cpu()"}.get(root, "a copy there")
    return DeviceError(
        f"{where}: {name} is a {describe(x)} on a GPU, but this function is not compiled and takes arrays in the "
        f"memory of the processor. Give {copy}."
    )


# tensors on the processor ------------------------------------------------------------------------


def to_numpy(where: str, name: str, x: Any) -> Any:
    """The memory of a tensor as a NumPy array, without a copy; other arguments as they are."""
    if type(x) in _PLAIN or kind_of(x) != TENSOR:
        return x
    if x.requires_grad:
        refuse_gradient(where, name)
    try:
        return x.detach().numpy()
    except (RuntimeError, TypeError) as error:
        raise ScalarTypeError(
            f"{where}: {name} is a tensor without memory that NumPy can read ({error}), expected a dense tensor of "
            f"float64 or float32 on the processor or a CUDA device. Inside torch.compile and torch.func use sixd.torch."
        ) from error


def are_tensors(*values: Any) -> bool:
    """Whether one of the arguments is a tensor on the processor."""
    return any(type(x) not in _PLAIN and kind_of(x) == TENSOR for x in values)


def with_numpy(where: str, names: Sequence[str], call: Callable[..., Any], values: Sequence[Any], out: Any) -> Any:
    """The result of ``call(arrays, out)`` on the memory of tensors, as tensors; ``out`` itself if that is given."""
    arrays = [to_numpy(where, name, x) for name, x in zip(names, values, strict=True)]
    if out is None:
        return as_tensors(call(arrays, None))
    several = isinstance(out, (tuple, list))
    targets = tuple(to_numpy(where, "out", x) for x in out) if several else to_numpy(where, "out", out)
    call(arrays, targets)
    return out


def as_tensors(result: Any) -> Any:
    """The arrays of a result as tensors with the same memory, in the same (named) tuple; other objects as they are."""
    torch = sys.modules["torch"]
    if isinstance(result, tuple):
        parts = [as_tensors(x) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, np.ndarray) and result.dtype != object:
        return torch.from_numpy(result)
    if isinstance(result, np.generic):
        return torch.from_numpy(np.asarray(result).reshape(1)).reshape(())
    return result
