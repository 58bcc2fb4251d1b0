"""What people search for has a page or a heading under that name; links and installation lines can be used as printed."""

import re

import pytest

from machinery.page import DOCS

pytestmark = pytest.mark.one_target
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
HEADINGS = [
    line.lower() for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")
]
WORDS = [
    "Monte Carlo",
    "domain randomization",
    "LQR",
    "reinforcement learning",
    "trajectory",
    "video",
    "notebook",
    "coming from Drake",
    "tab completion",
]


@pytest.mark.parametrize("words", WORDS)
def test_a_heading_names_it(words):
    assert [line for line in HEADINGS if words.lower() in line]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_read_as_titles(page):
    assert re.findall(r"\[[^]\s]*(?:\.md|\.py|/)\]\(", page.read_text(encoding="utf-8")) == []


def test_packages_are_installed_by_lines_that_work_in_a_clone():
    files = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").glob("*.py")]
    assert [str(file) for file in files if "sixd[" in file.read_text(encoding="utf-8")] == []
