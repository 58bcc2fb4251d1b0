"""The guide's blocks for arrays on a GPU run as printed."""

import pytest

from guide import blocks_with


@pytest.mark.parametrize("block", blocks_with("cupy"))
def test_blocks_run(block):
    pytest.importorskip("cupy", reason="arrays on the GPU are CuPy's")
    exec(block, {})
