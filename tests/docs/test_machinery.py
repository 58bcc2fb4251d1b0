"""The runner of the pages: what it reads, shows, compares and refuses."""

from pathlib import Path

import pytest

from machinery import answers, outputs
from machinery.page import DOCS, parse
from machinery.run import PageError, run

pytestmark = pytest.mark.one_target

HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\ncases: [RP arm, 2R arm]\n---\n# A page\n"


def page_of(text, name="course/page.md"):
    return parse(HEAD + text, DOCS / name)


def cell(source, options=""):
    return f"```{{code-cell}} ipython3\n{options}{source}\n```\n"


def exercise(**options):
    lines = "".join(f":{name}: {value}\n" for name, value in options.items())
    return f":::{{exercise}} A question\n{lines}How much?\n\n**Hint**\n\nLittle.\n:::\n"


def test_reads_metadata_cells_and_exercises():
    page = page_of("text\n" + cell("x = 1\nx", ":tags: [hide-input, timing]\n") + exercise(answer=1, check="x"))
    assert page.name == "course/page"
    assert page.runs
    assert page.listed("cases") == ("RP arm", "2R arm")
    assert page.listed("requires") == ()
    (only,) = page.cells
    assert only.source == "x = 1\nx"
    assert only.tags == ("hide-input", "timing")
    assert (HEAD + page.text).count("A page") == 2
    (question,) = page.exercises
    assert question.options == {"answer": "1", "check": "x"}
    assert "Little" in question.text


def test_code_that_is_only_shown_does_not_run():
    page = page_of("````\n" + cell("1 / 0") + "````\n")
    assert page.cells == ()


@pytest.mark.parametrize("text", ["```{code-cell}\nx = 1\n", ":::{exercise} Q\n:answer: 1\n"])
def test_open_fences_are_refused(text):
    with pytest.raises(SyntaxError, match="is not closed"):
        page_of(text)


def test_open_metadata_is_refused():
    with pytest.raises(SyntaxError, match="does not end"):
        parse("---\na: b\n", Path("page.md"))


def test_shows_as_a_notebook_does():
    source = "import sympy\nprint('a', 1)\nsympy.Symbol('x') ** 2"
    result = run(page_of(cell(source) + cell("2;") + cell("y = 3") + cell("display(y, 'text')\nNone")))
    first, hidden, silent, displayed = [[o.data for o in cell] for cell in result.outputs]
    assert first == [{"stdout": "a 1\n"}, {"text/latex": "$\\displaystyle x^{2}$"}]
    assert hidden == silent == []
    assert displayed == [{"text/plain": "3"}, {"text/plain": "'text'"}]


def test_formulas():
    source = "import sympy as sp\nx, thetad1, qdd = sp.symbols('x thetad1 qdd')\n"
    ((first,),) = run(page_of(cell(source + "thetad1 + 2 * qdd"))).outputs
    assert first.data == {"text/latex": r"$\displaystyle 2 \ddot{q} + \dot{\theta}_{1}$"}
    ((both,),) = run(page_of(cell(source + "x, sp.Matrix([x])"))).outputs
    assert both.data == {"text/latex": r"$\displaystyle x,\qquad \left[\begin{matrix}x\end{matrix}\right]$"}
    ((mixed,),) = run(page_of(cell(source + "x, 1"))).outputs
    assert mixed.data == {"text/plain": "(x, 1)"}


def test_viewers_are_saved_next_to_the_site(tmp_path):
    page = page_of(cell("import sixd\nsixd.view(sixd.zoo.pendulum(), q=[0.5])"))
    assert run(page).outputs[0][0].data == {"viewer": ""}
    ((shown,),) = run(page, tmp_path).outputs
    assert 'src="../live/course/page-1-0.html"' in shown.data["viewer"]
    assert (tmp_path / "course" / "page-1-0.html").stat().st_size > 10_000


def test_errors_name_page_cell_and_line():
    page = page_of(cell("x = 1") + "\n" + cell("y = 2\nassert x == y, 'unequal'"))
    with pytest.raises(PageError, match=r"course/page.md:14: cell 2 of course/page: AssertionError: unequal"):
        run(page)
    with pytest.raises(PageError, match="cell 1 of course/page: SyntaxError"):
        run(page_of(cell("x = = 1")))


def test_stored_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "STORED", tmp_path)
    shown = run(page_of(cell("print('a =', 0.25)") + cell("print(7)", ":tags: [timing]\n")))
    with pytest.raises(PageError, match="its outputs are not stored"):
        outputs.compare(shown)
    assert outputs.store(shown)
    outputs.compare(shown)
    assert not outputs.store(run(page_of(cell("print('a =', 0.25 + 1e-12)") + cell("print(8)", ":tags: [timing]\n"))))
    other = run(page_of(cell("print('a =', 0.2500001)")))
    with pytest.raises(
        PageError, match=r"page.md:9: cell 1 of course/page[^$]*stored: a = 0.25\n +now: +a = 0.2500001"
    ):
        outputs.compare(other)


@pytest.mark.parametrize(
    ("stored", "now"),
    [
        ("x = 1.0", "x = 1.0000000001"),
        ("[-0.  1.]", "[0. 1.]"),
        ("1e-17", "-3e-16"),
        ("x1 = 2", "x1 = 2.0"),
        ("−2.5", "-2.5"),
    ],
)
def test_numbers_may_differ_by_rounding(stored, now):
    assert outputs.first_difference(stored, now) is None


@pytest.mark.parametrize(
    ("stored", "now"), [("x = 1.0", "x = 1.00000001"), ("x1 = 2", "x2 = 2"), ("a", "a\nb"), ("", "1"), ("a1", "a2")]
)
def test_differences_are_seen(stored, now):
    assert outputs.first_difference(stored, now) is not None


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("x = 14.4879305263", {"answer": "14.48793", "check": "x"}),
        ("x = 1.5", {"answer": "3/2", "check": "x"}),
        ("from math import pi", {"answer": "2 pi", "check": "2 * pi"}),
        ("import sympy as sp\nm, q = sp.symbols('m q1')", {"answer": "2 m sin(q1)^2", "variables": "m q1", "check": "2 * m * sp.sin(q)**2"}),
        ("import sympy as sp\nI = sp.Symbol('I', positive=True)", {"answer": "I/2", "variables": "I", "check": "I / 2"}),
        ("import sympy as sp\nx, I = sp.symbols('x I')", {"answer": "1 - x^2", "variables": "x I", "constraint": "x^2 + I^2 = 1", "check": "I**2"}),
    ],
)  # fmt: skip
def test_right_answers(source, options):
    assert answers.check(run(page_of(cell(source) + exercise(**options)))) == 1


@pytest.mark.parametrize(("tolerance", "expected"), [(None, 3), ("1e-3", 4), ("1e-4", 5), ("0.05", 2), ("0.5", 1)])
def test_digits_that_are_enough(tolerance, expected):
    options = {"answer": 1, "check": 1} | ({"tolerance": tolerance} if tolerance else {})
    (question,) = page_of(exercise(**options)).exercises
    assert answers.digits(question) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answer": "2", "check": "x"}, "the answer is 2.0, but :check: gives 1.0"),
        ({"answer": "1.0002", "check": "x"}, "but :check: gives"),
        ({"answer": "y", "check": "x"}, "has 'y', which is not in :variables:"),
        ({"answer": "x", "variables": "x", "check": "x"}, "but :check: gives 1.0 at"),
        (
            {"answer": "a", "variables": "a b", "constraint": "a = 2", "check": "x"},
            "the answer is 2.0, but :check: gives 1.0 at",
        ),
        ({"answer": "a", "variables": "a", "constraint": "a", "check": "x"}, "ValueError"),
        (
            {"answer": "a", "variables": "a", "constraint": "a = b", "check": "x"},
            "has 'b', which is not in :variables:",
        ),
        ({"answer": "1"}, "has no :check:"),
        ({"check": "x"}, "has no :answer:"),
        ({"answer": "1", "check": "z"}, "NameError"),
        ({"answer": "1", "check": "'text'"}, "is not a number"),
        ({"answer": "1", "check": "float('nan')"}, "is not finite"),
        ({"answer": "1", "check": "x", "tol": "1"}, "unknown option 'tol'"),
    ],
)
def test_wrong_answers_are_refused(options, message):
    with pytest.raises(PageError, match=message):
        answers.check(run(page_of(cell("x = 1.0") + exercise(**options))))
