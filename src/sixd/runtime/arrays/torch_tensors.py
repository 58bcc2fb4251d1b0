"""PyTorch's tensors: on a CUDA device by their own attributes, on the CPU as memory that NumPy reads."""

from __future__ import annotations

import sys
from typing import Any

from sixd.errors import ScalarTypeError
from sixd.runtime.arrays.interface import ArrayLibrary, CpuLibrary, GpuLibrary, Look, not_on_gpu
from sixd.runtime.arrays.layouts import SIZES, DeviceArray, Shape
from sixd.spatial.scalar import Array


class CudaTensors(GpuLibrary):
    """PyTorch on a GPU."""

    copy_to_gpu, copy_to_cpu = "torch.as_tensor({}, device='cuda')", "{}.cpu()"

    def __init__(self, torch: Any) -> None:
        self._torch, self._on_cpu = torch, CpuTensors(torch)
        # the raw handle, if this version has it: a Stream object takes 2 us to make
        self._raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    @classmethod
    def recognize(cls, kind: type) -> ArrayLibrary | None:
        torch = sys.modules.get("torch")
        return cls(torch) if torch is not None and issubclass(kind, getattr(torch, "Tensor", ())) else None

    def of(self, x: Any) -> ArrayLibrary:
        return self if x.is_cuda else self._on_cpu

    def read(self, where: str, name: str, x: Any) -> DeviceArray:
        # its own interface refuses tensors that require gradients
        if not x.is_cuda:
            raise not_on_gpu(where, name, x)
        if x.requires_grad:
            _refuse_gradient(self._torch, where, name)
        dtype = str(x.dtype).removeprefix("torch.")
        if dtype not in SIZES:
            text = f"{where}: {name} holds {dtype}, expected float64 or float32. Convert it: {name}.to(…)."
            raise ScalarTypeError(text)
        strides = tuple(int(s) for s in x.stride())
        return DeviceArray(x.data_ptr(), tuple(map(int, x.shape)), strides, dtype, True, x, x.get_device())

    def look(self, x: Any) -> Look:
        if not x.is_cuda or x.requires_grad:
            self.read("launch", "an array", x)  # raises, unless gradients are not recorded
        address = x.data_ptr()
        return (x.dtype, x.shape, x.stride()), address, x.get_device() if address else -1

    def stream(self, device: int) -> int:
        if self._raw_stream is not None:
            return self._raw_stream(device)
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def empty(self, like: Any, shape: Shape) -> Any:
        return like.new_empty(shape, requires_grad=False)

    def full(self, like: Any, shape: Shape, value: float) -> Any:
        return like.new_full(shape, value, requires_grad=False)

    def upload(self, like: Any, array: Array) -> Any:
        return self._torch.as_tensor(array, device=like.device)

    def download(self, x: Any) -> Array:
        return x.detach().cpu().numpy()

    def view(self, x: Any, shape: Shape) -> Any:
        return x.detach().expand(shape)

    def rows(self, x: Any, shape: Shape) -> Any:
        return x.detach().expand(shape).contiguous()

    def copy(self, x: Any) -> Any:
        return x.clone()

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        return self._torch.where(condition, a, b)


class CpuTensors(CpuLibrary):
    """PyTorch on the CPU, and on devices whose tensors are refused."""

    copy_to_gpu = "{}.cuda()"

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    @classmethod
    def recognize(cls, kind: type) -> ArrayLibrary | None:
        return None  # by the class above, for tensors of both memories are of one class

    def to_numpy(self, where: str, name: str, x: Any) -> Array:
        if x.requires_grad:
            _refuse_gradient(self._torch, where, name)
        try:
            return x.detach().numpy()
        except (RuntimeError, TypeError) as error:
            raise ScalarTypeError(
                f"{where}: {name} is a tensor without memory that NumPy can read ({error}), expected a dense tensor of "
                f"float64 or float32 on the CPU or a CUDA device. Inside torch.compile and torch.func use sixd.torch."
            ) from error

    def from_numpy(self, x: Array) -> Any:
        return self._torch.from_numpy(x)


def _refuse_gradient(torch: Any, where: str, name: str) -> None:
    """Raise for a tensor that requires gradients, while they are recorded: its gradient would be lost silently."""
    if torch.is_grad_enabled():
        raise ScalarTypeError(
            f"{where}: {name} is a tensor that requires gradients, which this function does not pass on. Use the "
            f"function of that name in sixd.torch, or give {name}.detach()."
        )
