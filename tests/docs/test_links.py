"""Links between the pages lead to files of the repository, so that they work on GitHub as on the site."""

import re

import pytest

from machinery.page import DOCS

pytestmark = pytest.mark.one_target
ROOT = DOCS.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    text = re.sub(r"^(`{3,})[^\n]*\n.*?^\1`*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]+`", "", text)
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "", text, flags=re.DOTALL)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


def test_every_page_is_small():
    assert [str(page) for page in PAGES if len(page.read_text(encoding="utf-8").splitlines()) > 450] == []


def test_folders_are_small():
    folders = {page.parent for page in DOCS.rglob("*.md")} - {DOCS, DOCS / "decisions"}
    assert {str(f): n for f in folders if (n := len([p for p in f.iterdir() if p.is_file()])) > 13} == {}
