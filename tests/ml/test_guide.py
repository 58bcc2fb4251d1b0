"""The guide's blocks for PyTorch and JAX run as printed."""

import pytest

from guide import blocks_with


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_blocks_run(package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    for block in blocks_with(package):
        exec(block, {})
