"""Files for maintainers agree with pyproject.toml, the Makefile and the package."""

import re
import tomllib
from pathlib import Path

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


def test_citation_is_of_this_version():
    fields = dict(re.findall(r"^(\S+): (.+)$", text("CITATION.cff"), flags=re.MULTILINE))
    assert fields["version"] == sixd.__version__
    assert fields["license"] == PROJECT["license"]
    assert re.findall(r"- name: (.*)", text("CITATION.cff")) == [author["name"] for author in PROJECT["authors"]]
