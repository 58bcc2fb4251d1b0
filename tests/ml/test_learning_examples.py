"""The examples that need PyTorch or JAX run."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9][0-9]_*.py"))
NEEDS = {path: re.findall(r"^import (torch|jax)$", path.read_text(encoding="utf-8"), re.MULTILINE) for path in EXAMPLES}


@pytest.mark.parametrize("path", [path for path in EXAMPLES if NEEDS[path]], ids=lambda path: path.stem)
def test_example_runs(path, monkeypatch, capsys, tmp_path):
    for package in NEEDS[path]:
        pytest.importorskip(package, reason=f"{package} is not installed: make ml")
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert path.read_text(encoding="utf-8").startswith('"""')
