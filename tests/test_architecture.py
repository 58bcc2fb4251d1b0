"""The structure of the project: imports go one way, without cycles; files are small and documented."""

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import sixd

SOURCE = Path(sixd.__file__).parent
TESTS = Path(__file__).parent

ROOT = TESTS.parent
# what the last column of CONTRIBUTING's table forbids: modules, without those after them
SUBJECTS = {
    "robots": (["model"], []),
    "graphs": (["trace"], []),
    "traces": (["trace"], []),
    "batches": (["runtime.batch"], []),
    "compiled code": (["codegen", "runtime", "engine"], ["runtime.batch"]),
    "algorithms": (["algorithms"], []),
    "physics": (["algorithms"], []),
    "files": (["io"], []),
    "time steps": (["simulation"], []),
    "pictures": (["geometry", "viewer", "drawing"], []),
    "the page": (["viewer"], []),
    "figures": (["drawing"], []),
}


def rows():
    """The table of CONTRIBUTING.md: the folders and modules of each row, and what they must not know about."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for line in text[text.index("| in `src/sixd`") :].partition("\n\n")[0].splitlines()[2:]:
        where, _, unknown = (cell.strip() for cell in line.strip("|").split(" | "))
        names = [name.strip(" `").removesuffix(".py").replace("/", ".") for name in where.split(",")]
        yield names, [subject.strip() for subject in unknown.strip("| ").split(",") if subject.strip()]


# each layer may import from itself and from those before it
LAYERS = [name for names, _ in rows() for name in names if "." not in name] + ["__main__"]
OPTIONAL = ("torch", "jax")  # layers that need the package of that name
LOADED = ("sixd.spatial", "sixd.model", "sixd.trace")  # by ``import sixd``
MOST_LINES, MOST_FILES = 400, 13


def module_name(path):
    """The dotted name of a source file."""
    return ".".join(("sixd", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
FILES = [path for path in MODULES.values() if path != SOURCE / "__init__.py"]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))


@cache
def syntax(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def nodes(tree, *, typing=True):
    """All nodes of a syntax tree; without ``typing``, blocks under ``if TYPE_CHECKING`` are left out."""
    for child in ast.iter_child_nodes(tree):
        if typing or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from nodes(child, typing=typing)


def imports(path, *, typing=True):
    """Names of the modules that a file imports, also inside functions."""
    for node in nodes(syntax(path), typing=typing):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def statements(path):
    """Names of the modules that a file's statements import, packages among them, when the file is imported or later."""
    for node in nodes(syntax(path), typing=False):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
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


def test_modules_can_be_imported_by_threads():
    """No two threads can wait for each other: each holds the module that it imports, and a module that is the first
    of its package also the package. ``import sixd`` imports ``LOADED`` before there are threads.
    """
    named = {name: set(statements(path)) & MODULES.keys() - {"sixd"} for name, path in MODULES.items()}
    named["sixd"] |= set(sixd._MODULES.values())
    users = {name: {user for user in named if name in named[user]} for name in MODULES}
    graph = {name: set(names) for name, names in named.items() if not name.startswith(LOADED)}
    for name in graph:
        parents = [name.rsplit(".", k)[0] for k in range(1, name.count("."))]
        entered = {p for p in parents if any(not f"{user}.".startswith((f"{p}.", "sixd.cli.")) for user in users[name])}
        graph[name] = {n for n in graph[name] | entered if n in graph and (n in entered or n not in parents)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("threads may wait for each other: " + " <- ".join(error.args[1]))


def within(name, modules):
    """Whether a dotted name without ``sixd.`` is one of these modules or inside of one."""
    return f"{name}.".startswith(tuple(f"{module}." for module in modules))


@pytest.mark.parametrize(("names", "subjects"), [row for row in rows() if row[1]], ids=lambda x: ",".join(x))
def test_folders_do_not_know_what_the_table_forbids(names, subjects):
    """Each row of CONTRIBUTING's table, also by imports inside functions and for type checkers."""
    if subjects == ["everything below"]:
        forbidden = [([name for name in LAYERS if name not in names], [])]
    else:
        forbidden = [SUBJECTS[subject] for subject in subjects]
    inside = {name: path for name, path in MODULES.items() if within(name.removeprefix("sixd."), names)}
    assert inside
    used = {(name, n) for name, path in inside.items() for n in imports(path) if n.startswith("sixd.")}
    tails = {(name, n.removeprefix("sixd.")) for name, n in used}
    assert {x for x in tails for these, but in forbidden if within(x[1], these) and not within(x[1], but)} == set()


def test_the_table_has_every_folder():
    """And it names only folders that exist."""
    listed = [name for names, _ in rows() for name in names]
    assert len(listed) == len(set(listed))
    assert {name for name in listed if f"sixd.{name}" not in MODULES} == set()
    assert {name.split(".")[1] for name in MODULES if "." in name} == set(LAYERS)


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
    assert len(text.splitlines()) <= MOST_LINES, "split the file by concepts"


def test_folders_are_small():
    sizes = Counter(str(path.parent.relative_to(SOURCE)) for path in FILES if path.name != "__init__.py")
    hint = f"a folder has at most {MOST_FILES} files: write into the file of the subject, or into a subfolder"
    assert {folder: n for folder, n in sizes.items() if n > MOST_FILES} == {}, hint


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
    trees = {path: syntax(path) for path in MODULES.values()}
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


MOST_COMPLEX = 20


def decisions(node):
    """The cyclomatic complexity that a statement or expression adds, as the program radon counts it; nested functions
    and classes are counted for themselves.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return 0
    if isinstance(node, ast.Assert):
        return 1
    own = 0
    if isinstance(node, (ast.If, ast.IfExp)):
        own = 1
    elif isinstance(node, ast.Try):
        own = len(node.handlers) + bool(node.orelse)
    elif isinstance(node, ast.BoolOp):
        own = len(node.values) - 1
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        own = 1 + bool(node.orelse)
    elif isinstance(node, ast.comprehension):
        own = 1 + len(node.ifs)
    elif isinstance(node, ast.Match):
        own = sum(not (isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None) for case in node.cases)
    return own + sum(map(decisions, ast.iter_child_nodes(node)))


def test_functions_are_simple():
    functions = [
        (f"{path.relative_to(SOURCE).as_posix()}: {node.name}", 1 + sum(map(decisions, node.body)))
        for path in MODULES.values()
        for node in ast.walk(syntax(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert [name for name, complexity in functions if complexity > MOST_COMPLEX] == [], "split these functions"


# public twins: each is a tuple of its own library's arrays
SHARED_CLASS_NAMES: dict[str, set[str]] = {}


def test_class_names_are_unique():
    """No two files define classes of the same name."""
    places = {}
    for path in MODULES.values():
        for node in ast.walk(syntax(path)):
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
    heavy = ("sympy", "scipy", "mujoco", "trimesh", "pinocchio", "torch", "jax", "clarabel")
    code = f"import sixd, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
