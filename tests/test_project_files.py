"""Files for maintainers agree with pyproject.toml, the Makefile and the package."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sixd

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def supported():
    """The versions of Python that the classifiers name."""
    prefix = "Programming Language :: Python :: "
    return [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]


def test_the_first_supported_python_is_required():
    assert PROJECT["requires-python"] == f">={supported()[0]}"
    assert '"' + '", "'.join(supported()) + '"' in text(".github/workflows/test.yml")


@pytest.fixture(scope="module")
def workflow():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; make test installs it")
    return yaml.safe_load(text(".github/workflows/test.yml"))


def test_workflow_runs_on_the_supported_pythons_and_systems(workflow):
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    classifiers = supported()
    assert matrix["python-version"] == classifiers
    assert matrix["system"] == ["ubuntu-latest", "ubuntu-24.04-arm", "macos-latest", "windows-latest"]
    assert matrix.keys() == {"system", "python-version"}  # neither "exclude" nor "include"
    assert set(workflow["jobs"]["ml"]["strategy"]["matrix"]["python-version"]) <= set(classifiers)


def test_commands_of_the_workflow_are_those_of_the_makefile(workflow):
    """Every `make` has a target and variables that the Makefile knows; without make, the same packages and tests."""
    makefile, jobs = text("Makefile"), workflow["jobs"]
    (targets,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    runs = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    calls = [
        line.split()[1:] for lines in runs.values() for run in lines for line in run.splitlines() if "make" in line
    ]
    assert [call[0] for call in calls] == ["test", "ml", "docs"]
    for target, *variables in calls:
        assert target in targets.split()
        assert all(re.search(rf"^{v.partition('=')[0]} \?=", makefile, flags=re.MULTILINE) for v in variables)
    make, windows = runs["test"]
    assert "WORKERS=4" in make
    recipes = re.sub(r" --python \S+|\$\(BIN\)/|\t", "", makefile).replace("$(WORKERS)", "4")
    for command in windows.replace(" --system", "").splitlines():
        assert command in recipes
    conditions = [step["if"] for step in jobs["test"]["steps"] if "run" in step]
    assert conditions == ["runner.os != 'Windows'", "runner.os == 'Windows'"]


def test_workflow_publishes_the_site_that_was_built(workflow):
    """From main alone, after all checks; and only the job that publishes may write."""
    jobs = workflow["jobs"]
    (upload,) = (step for step in jobs["site"]["steps"] if "upload-pages-artifact" in step.get("uses", ""))
    assert upload["with"]["path"] == "build/docs/html"
    assert "build the site in build/docs/html" in text("docs/machinery/__main__.py")
    publish = jobs["publish"]
    assert set(publish["needs"]) == jobs.keys() - {"publish"}
    assert "github.ref == 'refs/heads/main'" in publish["if"]
    assert workflow["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    actions = {step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in actions)
    assert len({action.partition("@")[0] for action in actions}) == len(actions)  # one version of each


def test_hooks_run_what_make_lint_runs():
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", text("Makefile"), flags=re.MULTILINE)
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    assert re.findall(r"entry: (.*)", text(".pre-commit-config.yaml")) == commands


def test_processes_with_jax_share_a_gpu():
    """Each process with JAX reserves 75 % of a card's memory, unless this variable is set before JAX is imported."""
    assert re.search(r"^gpu: export XLA_PYTHON_CLIENT_PREALLOCATE \?= false$", text("Makefile"), flags=re.MULTILINE)
    code = "import os, runpy, sys; runpy.run_path(sys.argv[1]); print(os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'])"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("XLA_")}
    command = [sys.executable, "-c", code, str(ROOT / "tests/gpu/conftest.py")]
    assert subprocess.run(command, env=clean, capture_output=True, text=True, check=True).stdout == "false\n"


def test_jax_has_an_upper_bound():
    """Handlers read XLA's call frame by offsets, which a version of jax may change.

    To raise the bound, write the new one here and in pyproject.toml and run `make ml` and `make gpu`. If
    tests/ml/test_jax_handlers.py fails, compare the offsets in sixd/codegen/xla_frame.py with jaxlib's
    include/xla/ffi/api/c_api.h and correct them; users of that version get a warning until then, and slower calls.
    """
    assert PROJECT["optional-dependencies"]["jax"] == ["jax>=0.10,<0.11"]


def test_citation_is_of_this_version():
    fields = dict(re.findall(r"^(\S+): (.+)$", text("CITATION.cff"), flags=re.MULTILINE))
    assert fields["version"] == sixd.__version__
    assert fields["license"] == PROJECT["license"]
    assert re.findall(r"- name: (.*)", text("CITATION.cff")) == [author["name"] for author in PROJECT["authors"]]


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_files_named_in_the_pages_exist(page):
    """`engine/artifact.py` in a page is the end of a path of this repository."""
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / page
    named = set(re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|js|yml|md))`", path.read_text(encoding="utf-8")))
    files = [
        str(p.relative_to(ROOT))
        for folder in ("src", "tests", "docs", "benchmarks", "examples")
        for p in (ROOT / folder).rglob("*.*")
    ]
    files += [p.name for p in ROOT.iterdir()] + [".github/workflows/test.yml"]
    missing = {n for n in named if not any(f == n or f.endswith("/" + n) for f in files)}
    assert not {n for n in missing if "NAME" not in n}
