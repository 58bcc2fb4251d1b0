"""Every example runs, and every example in a docstring prints what it shows."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import runpy
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import sixd
from guide import blocks_with
from peers import mujoco

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
MODULES = sorted(m.name for m in pkgutil.walk_packages(sixd.__path__, "sixd."))
LEARNING = re.compile(r"^import (torch|jax)$", re.MULTILINE)  # an example that needs this package: tests/ml runs it


@pytest.mark.parametrize("path", [p for p in EXAMPLES if not LEARNING.search(p.read_text())], ids=lambda p: p.stem)
def test_example_runs(path, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    with np.printoptions():
        runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
    assert path.read_text().startswith('"""')


def test_first_look_accepts_a_file(tmp_path, monkeypatch, capsys):
    file = tmp_path / "arm.urdf"
    sixd.to_urdf(sixd.zoo.panda_arm(), file)
    monkeypatch.setattr(sys, "argv", ["00_first_look.py", str(file)])
    with np.printoptions():
        runpy.run_path(str(EXAMPLES[0]), run_name="__main__")
    assert "panda_arm: 7 bodies" in capsys.readouterr().out


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    for package in ("torch", "jax"):
        if name.startswith(f"sixd.{package}"):
            pytest.importorskip(package, reason=f"{package} is not installed: make ml")
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("file", ["README.md", "docs/tour.md"])
def test_snippets_run(file, tmp_path, monkeypatch):
    """Every block of Python runs alone, as printed."""
    monkeypatch.setenv("SIXD_VIEW", "off")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_snippets_that_need_no_gpu():
    """Blocks of the guide on GPUs that run everywhere; the others run in tests/gpu and tests/ml."""
    for block in blocks_with(""):
        exec(block, {})


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("how_it_works", 20),
        ("equations", 12),
        ("constraints", 10),
        ("simulation", 16),
        ("forces", 2),
        ("ensembles", 4),
        ("live_pages", 3),
        ("control", 10),
        ("friction_stiffness_contact", 10),
        ("derivatives", 1),
        ("inverse_kinematics", 10),
        ("shapes_and_distances", 18),
        ("robot_files", 7),
        ("identification", 15),
    ],
)
def test_guides_print_what_they_show(name, least, tmp_path, monkeypatch):
    """The Python of a guide runs in order in one namespace; a block in another language is the printed output."""
    monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path))  # the text also sets it; undone here
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # some blocks write files
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    assert "<mujoco" not in text or mujoco.MjModel  # MuJoCo reads the file
    names: dict = {}
    printed = ""
    for language, block in blocks:
        if language == "python":
            assert printed == ""
            with contextlib.redirect_stdout(io.StringIO()) as out, np.printoptions():
                exec(block, names)
            printed = out.getvalue()
        else:
            assert printed == block
            printed = ""
    assert printed == ""
