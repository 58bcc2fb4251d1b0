"""NVIDIA's assembler, from the package nvidia-cuda-nvcc, a toolkit, or the environment variable SIXD_PTXAS."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest


@cache
def ptxas():
    """Return the path of the assembler; None if it is not installed."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    found = [path for folder in folders for path in sorted(folder.glob("*/bin/ptxas*"))]
    return os.environ.get("SIXD_PTXAS") or (str(found[0]) if found else shutil.which("ptxas"))


def assemble(ptx, arch, folder):
    """Assemble a text for an architecture; fails the test with the assembler's messages."""
    if ptxas() is None:
        pytest.skip("there is no ptxas: pip install nvidia-cuda-nvcc")
    source = Path(folder, "kernel.ptx")
    source.write_text(ptx)
    command = [ptxas(), f"-arch={arch}", "-O0", str(source), "-o", str(source.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return source.with_suffix(".cubin").stat().st_size
