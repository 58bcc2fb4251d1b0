"""The site in Chromium, offline, from a folder: a small one built here, and the whole one where `make docs` built it."""

import json
from pathlib import Path

import pytest

from browser import Watched, chromium
from machinery import execute
from machinery.page import all_pages, read

pytestmark = [pytest.mark.long, pytest.mark.one_target]

DOCS = Path(execute.__file__).parents[1]
BUILT = execute.BUILD / "html"
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n"
PAGE = (
    HEAD
    + """# A rolling cone

Where $x^2 + y^2 = r^2$ holds.

```{code-cell} ipython3
import sixd
import sympy as sp

x = sp.Symbol("x")
x**2
```

```{code-cell} ipython3
sixd.view(sixd.zoo.pendulum(), q=[0.5])
```

:::{exercise} Twice
:answer: 2 x sin(x)^2
:variables: x
:check: 2 * x * sp.sin(x) ** 2
How much is it?

**Hint**

More than $x$.
:::

:::{exercise} A number
:answer: 2.5
:check: 2.5
:unit: N
How much?
:::
"""
)


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """A site of two pages, built by sphinx with the project's configuration."""
    pytest.importorskip("myst_nb", reason="sphinx is not installed: make docs sets it up")
    pytest.importorskip("furo")
    from sphinx.cmd.build import main

    folder = tmp_path_factory.mktemp("site")
    source, html, shown = folder / "source", folder / "html", folder / "shown"
    source.mkdir()
    shown.mkdir()
    (source / "index.md").write_text("# A site\n\n```{toctree}\n\ncone\n```\n")
    (source / "cone.md").write_text(PAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "EXECUTED", folder / "executed")
        patch.setattr(execute, "LIVE", shown)
        patch.setattr("machinery.page.DOCS", source)
        patch.setattr("machinery.outputs.STORED", folder / "stored")
        patch.setattr(execute, "BUILD", folder)
        _, failure = execute._one(source / "cone.md", "", True)
        assert failure is None
        arguments = ["-q", "-W", "-b", "html", "-c", str(DOCS), "-D", f"html_extra_path={shown}"]
        assert main([*arguments, str(source), str(html)]) == 0
    return html


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def load(page, path):
    """Load a page of the site and wait until its formulas are set."""
    page.page.goto(path.as_uri())
    page.page.wait_for_load_state("load")
    page.page.evaluate("window.MathJax?.startup?.promise")
    return page


def complaints(page):
    """Errors and warnings of the page and its frames, and requests that leave the folder."""
    outside = [url for url in page.requests if not url.startswith(("file:", "data:", "blob:", "about:"))]
    return page.complaints + outside


def answer(form, text):
    """Type an answer, submit it, and return the verdict and the message."""
    form.locator("input").fill(text)
    form.locator("button").click()
    return form.get_attribute("data-verdict"), form.locator("output").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_page(small_site, browser, width, scheme):
    page = load(Watched(browser, width=width, height=800, color_scheme=scheme), small_site / "cone.html")
    assert page.page.locator("mjx-container").count() >= 3  # in the text, an output and a hint
    page.page.locator("iframe.live").scroll_into_view_if_needed()
    frame = page.page.frame_locator("iframe.live").locator("canvas").first
    frame.wait_for()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(json.loads(background.replace("rgb(", "[").replace(")", "]"))) < 300) == (scheme == "dark")
    assert complaints(page) == []


def test_exercises_check_themselves(small_site, browser):
    page = load(Watched(browser), small_site / "cone.html")
    expression, number = page.page.locator("form.answer").all()
    for right in (
        "2*x*sin(x)^2",
        "2 x sin(x)²",
        "–(–2*x*sin(x)^2)",
        "x (1 - cos(2 x))",
        "2x·sin(x)**2",
        "x*(2 - 2*cos(x)^2)",
    ):
        assert answer(expression, right) == ("right", "Right.")
    for wrong in ("2*x*sin(x)", "-2 x sin(x)^2", "0"):
        assert answer(expression, wrong) == ("wrong", "Not yet.")
    for odd, reason in {"": "type an answer", "2*y": "'y' is not known here: use x", "2*(x": "')' is missing", "sin": "write sin", "2 $ x": "'$' is not understood", "alert(1)": "'alert' is not known", "x +": "missing at the end", "2)": "')' is not expected", "x/0": "not a finite number", "1.2.3": "two numbers in a row", "14,7": "a decimal point, not a comma", "(" * 500: "more than 400"}.items():  # fmt: skip
        verdict, message = answer(expression, odd)
        assert verdict == "unclear"
        assert reason in message
    assert [answer(number, text)[0] for text in ("2.5", "5/2", "2.51", "2.52", "-2.5", "25e-1")] == [
        "right", "right", "right", "wrong", "wrong", "right"
    ]  # fmt: skip
    assert complaints(page) == []


def found_by_search(browser, site, words):
    """Titles that the site's search lists."""
    page = Watched(browser, width=1280, height=900)
    page.page.goto((site / "search.html").as_uri() + "?q=" + words.replace(" ", "+"))
    page.page.locator("#search-results ul.search li a").first.wait_for()
    page.page.wait_for_timeout(500)  # results come one by one
    titles = page.page.locator("#search-results ul.search li a").all_inner_texts()
    assert complaints(page) == []
    return titles


def test_search_from_a_folder(small_site, browser):
    assert "A rolling cone" in found_by_search(browser, small_site, "rolling cone")


needs_site = pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built: make docs")


@needs_site
@pytest.mark.skipif(not (BUILT / "course/motion/sim1_rolling_cone.html").exists(), reason="that page is not written")
def test_whole_site_finds_the_rolling_cone(browser):
    titles = found_by_search(browser, BUILT, "rolling cone")
    assert any("cone" in title.lower() for title in titles)


@needs_site
def test_every_page_of_the_whole_site(browser):
    """No page complains, asks for anything outside, or is wider than a phone; every answer is right in the browser."""
    page, wrong = Watched(browser, width=390, height=800), {}
    for path in sorted(BUILT.rglob("*.html")):
        if "live" in path.relative_to(BUILT).parts or path.name in ("genindex.html", "search.html"):
            continue
        page.complaints.clear()
        load(page, path)
        found = complaints(page)
        if page.page.evaluate("document.documentElement.scrollWidth") > 390:
            found.append("wider than a phone")
        source = DOCS / path.relative_to(BUILT).with_suffix(".md")
        exercises = read(source).exercises if source.exists() else ()
        for form, exercise in zip(page.page.locator("form.answer").all(), exercises, strict=True):
            if answer(form, exercise.options["answer"])[0] != "right":
                found.append(f"the answer of {exercise.title!r} is not right in the browser")
        if found:
            wrong[str(path.relative_to(BUILT))] = found
    assert wrong == {}
    assert all_pages()


@needs_site
def test_formulas_of_the_course_fit_a_screen(browser):
    """At 1200 px none of them is cut, or has to be scrolled."""
    page, wide = Watched(browser, width=1200, height=800), {}
    for path in sorted((BUILT / "course").rglob("*.html")):
        load(page, path)
        formulas = "[...document.querySelectorAll('div.math, div.output.math')].filter((one) => one.offsetParent)"
        cut = page.page.evaluate(
            f"{formulas}.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.slice(0, 60))"
        )
        if cut:
            wide[str(path.relative_to(BUILT))] = cut
    assert wide == {}
