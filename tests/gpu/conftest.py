"""Tests that run on a GPU: skipped, with the reason, on computers without one."""

import os
from pathlib import Path

import pytest

import sixd

# before JAX is imported: each of several processes would reserve three quarters of the card's memory
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    if not sixd.cuda.is_available():
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(
                    pytest.mark.skip(reason="there is no NVIDIA GPU, or no driver of one, on this computer")
                )


@pytest.fixture(params=["cupy", "torch"])
def library(request):
    """A library of arrays: functions that copy a NumPy array to the GPU and back, and its class of arrays."""
    if request.param == "cupy":
        cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
        return cupy.asarray, lambda x: x.get(), cupy.ndarray
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return lambda x: torch.as_tensor(x, device="cuda"), lambda x: x.cpu().numpy(), torch.Tensor
