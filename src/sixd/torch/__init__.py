"""The functions of sixd on tensors of PyTorch: operators with gradients, for torch.compile, vmap and CUDA graphs.

The names are those of sixd: ``sixd.torch.inverse_dynamics(model, q, qd, qdd)``. Functions accept tensors on the CPU and
on NVIDIA's GPUs without a copy, float32 or float64, with leading batch dimensions that broadcast. Gradients are exact,
with respect to all tensors, to any order. Those with respect to a configuration have nq entries, as q has: a quaternion
is a tensor of four numbers like any other. ``step`` and ``rollout`` are differentiable through time. ``distance`` and
``min_distance`` have first derivatives.

PyTorch is not installed with sixd: ``pip install torch``.
"""

from sixd.errors import MissingPackageError

try:
    import torch as _torch
except ImportError as error:
    raise MissingPackageError(
        "sixd.torch: PyTorch is not installed, expected version 2.8 or newer. Install it: pip install 'torch>=2.8'."
    ) from error

from sixd.torch.distances import distance, min_distance
from sixd.torch.functions import FUNCTIONS
from sixd.torch.motions import Motion, rollout, step

globals().update(FUNCTIONS)

__all__ = sorted([*FUNCTIONS, "Motion", "distance", "min_distance", "rollout", "step"])


def __dir__() -> list[str]:
    return list(__all__)
