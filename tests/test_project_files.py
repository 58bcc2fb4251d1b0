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


def test_workflow_runs_on_the_supported_pythons():
    (listed,) = re.findall(r"python-version: \[(.*)\]", text(".github/workflows/test.yml"))
    prefix = "Programming Language :: Python :: "
    classifiers = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert re.findall(r'"(.*?)"', listed) == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"


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
