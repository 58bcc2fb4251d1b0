"""The blocks of Python in the guide on GPUs, by what they import."""

import re
from pathlib import Path

_PAGE = Path(__file__).parent.parent / "docs" / "gpu.md"
_PACKAGES = ("cupy", "torch", "jax")


def blocks_with(package):
    """Return the blocks that import a package, or the blocks that import none if it is ""; at least one."""
    blocks = re.findall(r"^```python\n(.*?)^```$", _PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    needed = [[p for p in _PACKAGES if re.search(rf"^import {p}\b", block, flags=re.MULTILINE)] for block in blocks]
    found = [block for block, own in zip(blocks, needed, strict=True) if own == [package] * bool(package)]
    assert found
    return found
