"""The shape of the project: imports go one way, and physics knows nothing of targets, batches or files."""

import ast
from pathlib import Path

import pytest

import sixd

SOURCE = Path(sixd.__file__).parent

# each layer may import from itself and from those before it
LAYERS = [
    "errors",
    "version",
    "locks",
    "waiting",
    "atomic",
    "notebook",
    "spatial",
    "trace",
    "codegen",
    "runtime",
    "model",
    "algorithms",
    "constraints",
    "io",
    "interop",
    "zoo",
    "engine",
    "api",
    "symbolic",
    "actuation",
    "forces",
    "trajectory",
    "simulation",
    "controllers",
    "viewer",
    "spatial_v2",
    "cli",
    "__main__",
]
# `runtime` and `trace` are below them in that order, and must not be seen all the same
PHYSICS = ("spatial", "model/joints", "algorithms")


def imports(path):
    """Names of the sixd layers that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sixd":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("sixd."))


def layer_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    layer = layer_of(path)
    assert layer in LAYERS, f"{layer} is in no layer: name it in LAYERS"
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    assert set(imports(path)) <= allowed


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if str(p.relative_to(SOURCE)).startswith(PHYSICS)],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_physics_knows_no_batches_and_no_traces(path):
    assert not {"runtime", "trace"} & set(imports(path))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_say_what_they_are_for(path):
    """Every module has a header and is small enough to read at one sitting."""
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 370  # api.py, which is mostly docstrings, is the longest


def test_import_is_light():
    """``import sixd`` brings in neither SymPy nor SciPy nor any optional package."""
    import subprocess
    import sys

    code = (
        "import sixd, sys; print([m for m in ('sympy', 'scipy', 'mujoco', 'trimesh', 'pinocchio') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
