"""Drawings in Chromium: in light and dark pages ink and paper are the page's own, and nothing is fetched or reported."""

import pytest

import sixd
from browser import Watched, chromium

pytestmark = pytest.mark.one_target

PROBE = """() => {
    const style = (name) => getComputedStyle(document.querySelector('svg.sixd-drawing ' + name));
    return [style('text').fill, style('text').stroke, style('.p').fill, style('.p').stroke];
}"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("paper", "ink"), [("rgb(255, 255, 255)", "rgb(20, 20, 20)"), ("rgb(19, 20, 22)", "rgb(220, 220, 220)")]
)
def test_figures_have_the_colours_of_the_page(tmp_path, paper, ink):
    arm = sixd.zoo.two_link_arm()
    figures = "".join(sixd.draw(model)._repr_html_() for model in (arm, sixd.zoo.craig_arm()))
    page = tmp_path / "page.html"
    style = f"--color-background-primary: {paper}; background: {paper}; color: {ink}"
    page.write_text(f'<!doctype html><meta charset="utf-8"><body style="{style}">{figures}', encoding="utf-8")
    with chromium() as browser:
        watched = Watched(browser)
        watched.page.goto(page.as_uri())
        assert watched.page.evaluate(PROBE) == [ink, paper, paper, ink]
        assert watched.page.locator("svg.sixd-drawing").count() == 2
        wide = watched.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert wide
        assert watched.complaints == []
        assert watched.requests == [page.as_uri()]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_files_follow_the_readers_choice(tmp_path, scheme):
    path = sixd.draw(sixd.zoo.two_link_arm()).save(tmp_path / "arm.svg")
    with chromium() as browser:
        watched = Watched(browser, color_scheme=scheme)
        watched.page.goto(path.as_uri())
        fill, paper, _, _ = watched.page.evaluate(PROBE)
        bright = [sum(map(int, c[4:-1].split(", "))) > 380 for c in (fill, paper)]
        assert bright == ([False, True] if scheme == "light" else [True, False])
        assert watched.complaints == []
