"""Every page of the site runs: its cells, its assertions, and the answers of its exercises. Needs no sphinx."""

import importlib.util
import sys

import pytest

from machinery import answers, outputs
from machinery.page import all_pages
from machinery.run import run

PAGES = all_pages()


@pytest.mark.one_target
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_runs(page, monkeypatch, tmp_path):
    for package in page.listed("requires"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{page.name} needs the package {package}")
    monkeypatch.setattr(sys, "argv", [str(page.path)])
    monkeypatch.chdir(tmp_path)  # some write files
    result = run(page)
    assert answers.check(result) == len(page.exercises)


@pytest.mark.one_target
def test_outputs_are_stored_for_every_page_and_no_other():
    stored = {path.relative_to(outputs.STORED).with_suffix("").as_posix() for path in outputs.STORED.rglob("*.txt")}
    assert stored == {page.name for page in PAGES}
