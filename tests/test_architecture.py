"""The structure of the project: imports go one way, without cycles; files are small and documented."""

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sixd

SOURCE = Path(sixd.__file__).parent
TESTS = Path(__file__).parent

# each layer may import from itself and from those before it
LAYERS = [
    "errors",
    "version",
    "locks",
    "body_marks",
    "lazy",
    "gc_pause",
    "slow_work",
    "atomic",
    "file_limits",
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
    "cuda",
    "api",
    "inspection",
    "symbolic",
    "actuation",
    "forces",
    "trajectory",
    "identification",
    "simulation",
    "ik",
    "controllers",
    "geometry",
    "viewer",
    "drawing",
    "spatial_v2",
    "torch",
    "jax",
    "cli",
    "__main__",
]
OPTIONAL = ("torch", "jax")  # layers that need the package of that name
# these are above `runtime` and `trace` in that order, but must not import them
PHYSICS = ("spatial", "model/joints", "algorithms")
MOST_LINES, MOST_FILES = 400, 13


def module_name(path):
    """The dotted name of a source file."""
    return ".".join(("sixd", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
FILES = [path for path in MODULES.values() if path != SOURCE / "__init__.py"]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))


def nodes(tree, *, typing=True):
    """All nodes of a syntax tree; without ``typing``, blocks under ``if TYPE_CHECKING`` are left out."""
    for child in ast.iter_child_nodes(tree):
        if typing or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from nodes(child, typing=typing)


def imports(path, *, typing=True):
    """Names of the modules that a file imports, also inside functions."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), typing=typing):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def layers(path):
    """Names of the layers that a file imports."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("sixd.")}


@each_file
def test_imports_go_one_way(path):
    layer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert layer in LAYERS, f"{layer} is not in a layer: name it in LAYERS"
    assert layers(path) <= set(LAYERS[: LAYERS.index(layer) + 1])


def test_no_import_cycles():
    """Imports inside functions count, those for type checkers do not."""
    graph = {name: set(imports(path, typing=False)) & MODULES.keys() - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if str(p.relative_to(SOURCE)).startswith(PHYSICS)],
    ids=lambda p: str(p.relative_to(SOURCE)),
)
def test_physics_knows_no_batches_and_no_traces(path):
    assert not {"runtime", "trace"} & layers(path)


def test_no_module_is_hidden_by_an_object():
    """``sixd.a.b`` is the module of that name, not a function or class that its package imports under the same name."""
    missing = tuple(f"sixd.{name}" for name in OPTIONAL if importlib.util.find_spec(name) is None)
    inner = [n for n in MODULES if n not in ("sixd", "sixd.__main__") and not n.startswith(missing or "none")]
    modules = {name: importlib.import_module(name) for name in inner}
    parents = {name: name.rpartition(".") for name in inner}
    hidden = [name for name, (p, _, last) in parents.items() if getattr(sys.modules[p], last) is not modules[name]]
    assert hidden == []


@each_file
def test_files_say_what_they_are_for(path):
    """Every module has a header, and is small enough to read in one sitting."""
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= MOST_LINES


def test_folders_are_small():
    sizes = Counter(str(path.parent.relative_to(SOURCE)) for path in FILES if path.name != "__init__.py")
    assert {folder: n for folder, n in sizes.items() if n > MOST_FILES} == {}


def public_definitions(tree):
    """Functions, classes and methods whose names, and whose classes' names, do not begin with an underscore."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not node.name.startswith("_"):
                yield node
                yield from public_definitions(node) if isinstance(node, ast.ClassDef) else ()
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from public_definitions(node)


def test_public_definitions_have_docstrings():
    """Methods inherit the docstring of the class that they implement."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES.values()}
    classes = {n.name: n for tree in trees.values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}

    def inherited(cls):
        for base in (classes.get(getattr(base, "id", None)) for base in cls.bases):
            if base is not None:
                yield from (m.name for m in public_definitions(base) if ast.get_docstring(m))
                yield from inherited(base)

    known = {id(m) for cls in classes.values() for m in cls.body if getattr(m, "name", None) in {*inherited(cls)}}
    found = {path: public_definitions(tree) for path, tree in trees.items()}
    bare = [
        f"{path.relative_to(SOURCE)}: {d.name}"
        for path, definitions in found.items()
        for d in definitions
        if not ast.get_docstring(d) and id(d) not in known
    ]
    assert bare == []


# public twins: each is a tuple of its own library's arrays
SHARED_CLASS_NAMES: dict[str, set[str]] = {}


def test_class_names_are_unique():
    """No two files define classes of the same name."""
    places = {}
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(path.relative_to(SOURCE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == SHARED_CLASS_NAMES


def test_no_test_file_imports_another():
    """Shared code is in helper modules in this folder."""
    found = {path: set(imports(path)) for path in TESTS.rglob("*.py")}
    tests = {path.stem for path in found if path.stem.startswith("test_")}
    assert {str(path.relative_to(TESTS)): names & tests for path, names in found.items() if names & tests} == {}


def test_import_is_light():
    """``import sixd`` imports neither SymPy nor SciPy nor any optional package."""
    heavy = ("sympy", "scipy", "mujoco", "trimesh", "pinocchio", "torch", "jax", "clarabel", "sixd.identification")
    code = f"import sixd, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
