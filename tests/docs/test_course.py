"""The course is whole: every exercise of docs/course/rows.toml has its page, and every page what a page must have."""

import pytest

from machinery.course import COURSE, chapters, shortcomings
from machinery.page import all_pages, read

pytestmark = pytest.mark.one_target

CHAPTERS = chapters()
PAGES = all_pages(COURSE)


def test_no_page_is_missing():
    assert [str(path) for chapter in CHAPTERS for path in chapter.pages if not path.exists()] == []


def test_every_row_is_named_by_its_page():
    """The page that rows.toml gives for a row names that row in its metadata, and no page names a row of another."""
    planned = {
        COURSE / chapter.folder / f"{row.page}.md": {r.row for r in chapter.rows if r.page == row.page}
        for chapter in CHAPTERS
        for row in chapter.rows
    }
    assert {path: set(read(path).listed("cases")) for path in planned} == planned


def test_no_page_outside_the_plan():
    planned = {path for chapter in CHAPTERS for path in chapter.pages}
    assert [str(page.path) for page in PAGES if page.path not in planned] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_what_a_page_must_have(page):
    assert shortcomings(page) == []
