"""The reference has every public name, with its docstring."""

import inspect

import pytest

import sixd
from machinery import reference
from machinery.page import DOCS

pytestmark = pytest.mark.one_target
ENTRIES = {page: reference.entries(page) for page, _, _ in reference.PAGES}


def test_every_public_name_is_there():
    listed = {entry.name for entries in ENTRIES.values() for entry in entries}
    modules = {name for name in sixd.__all__ if inspect.ismodule(getattr(sixd, name))}
    assert {f"sixd.{name}" for name in sixd.__all__} - listed == {f"sixd.{name}" for name in (*modules, "__version__")}
    assert {reference.page_of(name) for name in modules} <= ENTRIES.keys()


def test_every_page_is_there():
    pages = {path.stem for path in (DOCS / "reference").glob("*.md")}
    assert pages == ENTRIES.keys()
    for page, title, _ in reference.PAGES:
        text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
        assert text == f"# {title}\n\n```{{reference}} {page}\n```\n"
        assert ENTRIES[page]
        assert f"reference/{page}\n" in (DOCS / "reference.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ENTRIES)
def test_entries_are_whole(page):
    for entry in ENTRIES[page]:
        text = reference.markdown(entry)
        assert text.startswith("`````{py:")
        assert text.endswith("`````")
        assert inspect.getdoc(entry.thing)
        assert text.count("```pycon") == text.count("```pycon\n>>>")


def test_docstring_as_markdown():
    text = """Sum of a*b and x_1.

    Parameters
    ----------
    q, qd : (…, nq) state [rad],
        in two lines.

    >>> 1 + 1
    2
    """
    assert reference.docstring(text) == (
        "Sum of a\\*b and x\\_1.\n\n**Parameters**\n\n- `q`, `qd`: (…, nq) state \\[rad\\],\n  in two lines.\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )
