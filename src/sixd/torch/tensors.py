"""Tensors as arguments: one dtype, one device, and the core shapes that a function expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.runtime.batch import common_batch

Shape = tuple[int, ...]
NAMES = {torch.float64: "float64", torch.float32: "float32"}
_HALF = (torch.float16, torch.bfloat16)


def kind_of(where: str, values: Sequence[Any]) -> tuple[torch.dtype, torch.device]:
    """The dtype and the device of the tensors among the values; raise if they differ, or if there are none.

    Under autocast tensors of half precision count as float32.
    """
    dtype, device = None, None
    for x in values:
        if not isinstance(x, torch.Tensor):
            continue
        own = torch.float32 if x.dtype in _HALF and torch.is_autocast_enabled(x.device.type) else x.dtype
        if own not in NAMES:
            raise ScalarTypeError(
                f"{where}: a tensor holds {x.dtype}, expected torch.float32 or torch.float64. Convert it: x.double()."
            )
        if dtype is not None and own != dtype:
            raise ScalarTypeError(
                f"{where}: tensors hold {dtype} and {own}, expected one of them in all. Convert one: x.to({dtype})."
            )
        if device is not None and x.device != device:
            raise DeviceError(
                f"{where}: tensors are on {device} and on {x.device}, expected one device. Move one: x.to({device!r})."
            )
        dtype, device = own, x.device
    if dtype is None or device is None:
        raise ScalarTypeError(f"{where}: no argument is a tensor, expected some. Arrays of NumPy: sixd.{where}(…).")
    return dtype, device


def as_tensor(
    where: str, name: str, x: Any, core: Sequence[int | None], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """The argument as a tensor, checked: its last dimensions are ``core``, where None stands for any number."""
    if isinstance(x, torch.Tensor) and x.dtype == dtype and x.shape[x.ndim - len(core) :] == core:
        return x  # most: 1 us less
    if not isinstance(x, torch.Tensor):
        if isinstance(x, (int, float)):
            made = torch.full((), float(x), dtype=dtype, device=device)  # without waiting for the device
        else:
            made = torch.as_tensor(x, dtype=dtype, device=device)
    else:
        made = x if x.dtype == dtype else x.to(dtype)
    n = len(core)
    shape = made.shape[len(made.shape) - n :] if made.ndim >= n else None
    if shape is None or any(want is not None and got != want for got, want in zip(shape, core, strict=True)):
        expected = ", ".join(["…", *("steps" if k is None else str(k) for k in core)])
        raise ShapeError(f"{where}: {name} has shape {tuple(made.shape)}, expected ({expected}).")
    return made


def checked_out(
    where: str, tensors: Sequence[torch.Tensor], out: Any, dtype: torch.dtype, device: torch.device
) -> list[torch.Tensor]:
    """The tensors ``out`` for results as a list; raise if they cannot take these, or if a gradient is wanted."""
    found = list(out) if isinstance(out, (tuple, list)) else [out]
    for x in found:
        if not isinstance(x, torch.Tensor):
            raise ScalarTypeError(f"{where}: out is of type {type(x).__name__}, expected a tensor, or some in a tuple.")
        if x.dtype != dtype:
            raise ScalarTypeError(f"{where}: out holds {x.dtype}, expected {dtype}, as the arguments do.")
        if x.device != device:
            raise DeviceError(f"{where}: out is on {x.device}, expected {device}, where the arguments are.")
    if torch.is_grad_enabled() and any(x.requires_grad for x in (*tensors, *found)):
        raise ScalarTypeError(
            f"{where}: out= was passed, and a tensor has requires_grad, but what is written into out= has no gradient. "
            f"Omit out=, or call it under torch.no_grad()."
        )
    return found


def batch_of(names: Sequence[str], tensors: Sequence[torch.Tensor], dimensions: Sequence[int]) -> tuple[int, ...]:
    """The shape to which the batch dimensions broadcast; ``dimensions``: the number of core dimensions of each tensor.

    PyTorch's own rule keeps sizes that torch.compile does not know yet.
    """
    batches = [x.shape[: x.ndim - n] for x, n in zip(tensors, dimensions, strict=True)]
    plain = [name.removeprefix("the ") for name in names]
    return common_batch("sixd.torch", plain, batches, torch.broadcast_shapes)


def summed_to(gradient: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """The gradient by a tensor of that shape, which was broadcast."""
    return gradient if gradient.shape == torch.Size(shape) else gradient.sum_to_size(shape)


def mapped(
    size: int, tensors: Sequence[torch.Tensor], dims: Sequence[int | None], dimensions: Sequence[int]
) -> list[torch.Tensor]:
    """The tensors with the mapped dimension of ``vmap`` first, and the others where broadcasting wants them."""
    leading = [x.ndim - n - (d is not None) for x, d, n in zip(tensors, dims, dimensions, strict=True)]
    most, found = max(leading), []
    for x, d, own in zip(tensors, dims, leading, strict=True):
        if d is not None:
            first = x.movedim(d, 0)
            x = first.reshape((first.shape[0], *(1,) * (most - own), *first.shape[1:])) if own < most else first
        found.append(x)
    if all(d is None for d in dims):
        found[0] = found[0].expand((size, *(1,) * (most - leading[0]), *found[0].shape))
    return found
