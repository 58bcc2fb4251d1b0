"""The pages of theory: the pieces of source that they name are there, in their order."""

import pytest

from machinery import sources
from machinery.page import read
from machinery.run import PageError

pytestmark = pytest.mark.one_target
PAGES = [read(path) for path in (*sorted(sources.THEORY.glob("*.md")), sources.DOCS / "derivatives.md")]
NOTES = [(page.path.stem, *found) for page in PAGES for found in sources.used(page)]


@pytest.mark.parametrize(("page", "name", "notes"), NOTES, ids=[f"{page}-{name}" for page, name, _ in NOTES])
def test_source_next_to_equations(page, name, notes):
    rows = sources.rows(name, notes)
    assert "\n".join(row.code for row in rows) == sources.source(name)
    equations = [note.partition("=>")[2].strip() for note in notes.strip().splitlines()]
    assert [row.equation for row in rows if row.equation] == [x for x in equations if x]
    root = sources.DOCS.parent
    assert (root / sources.file_of(name)).exists()


def test_every_algorithm_of_the_tree_is_there():
    modules = {name.partition(":")[0].removeprefix("sixd.") for _, name, _ in NOTES}
    assert modules >= {
        f"algorithms.{x}" for x in ("rnea", "crba", "aba", "kinematics", "jacobian", "coriolis", "momentum")
    }


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ("v.append", "has no '=>'"),
        ("no such line => $x$", "no line of the source from line 1 on contains 'no such line'"),
        ("f.append => $f$\nv.append => $v$", "contains 'v.append'"),
    ],
)
def test_pieces_that_are_not_there(notes, message):
    with pytest.raises(PageError, match=message):
        sources.rows("sixd.algorithms.rnea:outward", notes)
