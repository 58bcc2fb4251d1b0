"""Every example runs, and every example in a docstring says what it prints."""

import doctest
import importlib
import pkgutil
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import sixd

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("[0-9][0-9]_*.py"))
MODULES = sorted(m.name for m in pkgutil.walk_packages(sixd.__path__, "sixd."))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert path.read_text().startswith('"""')


def test_first_look_takes_a_file(tmp_path, monkeypatch, capsys):
    file = tmp_path / "arm.urdf"
    sixd.to_urdf(sixd.zoo.ur_arm(), file)
    monkeypatch.setattr(sys, "argv", ["00_first_look.py", str(file)])
    with np.printoptions():
        runpy.run_path(str(EXAMPLES[0]), run_name="__main__")
    assert "ur_arm: 6 bodies" in capsys.readouterr().out


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
