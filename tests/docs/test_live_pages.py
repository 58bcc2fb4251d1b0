"""The live pages of the site go on by themselves, wherever the reader moves their sliders."""

import importlib.util
import sys

import pytest

from browser import Watched, chromium
from machinery.page import all_pages
from machinery.run import run

pytestmark = [pytest.mark.long, pytest.mark.one_target]

PAGES = [page for page in all_pages() if any("live=True" in cell.source for cell in page.cells)]
SECONDS = 20
# whether a body is in the picture after so many seconds
SEEN = """async (seconds) => {
  sixd.pause();
  sixd.simulation.reset();
  sixd.simulation.advance(seconds / sixd.scene.simulation.h);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))));
  sixd.draw();
  const { left, right, top, bottom } = document.getElementById('view').getBoundingClientRect();
  return sixd.scene.bodies.slice(1).map(({ name }) => sixd.pixel(name)).some(([x, y]) => left < x && x < right && top < y && y < bottom);
}"""
# sliders at their ends and at a fifth of their ranges, in all combinations of up to two, one after the other of more
ENDS = """(seconds) => {
  const sliders = [...document.querySelectorAll('.parameter input[type=range]')], ended = [];
  const move = (slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); };
  const values = sliders.map((one) => [Number(one.min), 0.8 * one.min + 0.2 * one.max, Number(one.max)]);
  const start = sliders.map((one) => Number(one.value)), settings = [start];
  if (sliders.length > 2) values.forEach((list, k) => list.forEach((x) => settings.push(start.with(k, x))));
  else settings.push(...values.reduce((some, list) => some.flatMap((one) => list.map((x) => [...one, x])), [[]]));
  const { simulation } = sixd, steps = Math.round(seconds / sixd.scene.simulation.h);
  sixd.pause();
  for (const setting of settings) {
    sliders.forEach((slider, k) => move(slider, setting[k]));
    simulation.reset();
    simulation.advance(steps);
    if (!(simulation.time > 0.999 * seconds)) ended.push([setting, simulation.time]);
  }
  return ended;
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sliders_at_both_ends(browser, page, monkeypatch, tmp_path):
    """Twenty simulated seconds each: no coordinates are singular where the motion goes, no step is too long."""
    for package in page.listed("requires"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{page.name} needs the package {package}")
    monkeypatch.setattr(sys, "argv", [str(page.path)])
    monkeypatch.chdir(tmp_path)  # some write files
    run(page, tmp_path / "live")
    shown = 0
    for path in sorted((tmp_path / "live").rglob("*.html")):
        opened = Watched(browser).open(path)
        if opened.page.evaluate("Boolean(sixd.simulation)"):
            shown += 1
            assert opened.page.evaluate(SEEN, SECONDS), "all bodies left the picture"
            assert opened.page.evaluate(ENDS, SECONDS) == []
            assert opened.complaints == []
        opened.page.close()
    assert shown


def test_there_are_live_pages():
    assert len(PAGES) > 40
