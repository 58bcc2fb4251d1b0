"""Chromium driven by Playwright, with WebGL computed in software, for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sixd

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
FLAGS = (
    # a sandbox needs rights that a container does not give
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    # no requests by the browser itself
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser; skips the test if none is installed."""
    if CHROMIUM is None:
        pytest.skip("no browser: install Debian's package `chromium`")
    playwright = pytest.importorskip("playwright.sync_api", reason="no driver: install the Python package `playwright`")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page, its errors and warnings, and its requests."""

    def __init__(self, browser: Any, *, width: int = 560, height: int = 360, before: str = "", **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height}, **options)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.size = 0  # of a saved page [bytes]
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if before:
            self.page.add_init_script(before)

    def open(self, path: Path) -> Watched:
        """Load a file and wait for its first picture."""
        self.page.goto(path.as_uri())
        self.page.evaluate("sixd.ready")
        self.outside = [url for url in self.requests if url != path.as_uri() and not url.startswith("data:")]
        return self

    def until(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds.

        The driver's own function needs ``eval``, which the page forbids.
        """
        self.page.evaluate(
            f"""new Promise((done, fail) => {{
              const last = performance.now() + 30000;
              const ask = () => ({condition}) ? done() : performance.now() > last ? fail(new Error('waited in vain')) : setTimeout(ask, 20);
              ask();
            }})"""
        )

    def picture(self) -> bytes:
        """The pixels of the three-dimensional view, drawn now, as PNG."""
        address = self.page.evaluate("(sixd.draw(), document.getElementById('view').toDataURL())")
        return str(address).encode()

    def set(self, name: str, value: Any) -> None:
        """Set an option of the page."""
        self.page.evaluate("([name, value]) => { sixd.options[name] = value; }", [name, value])


@contextmanager
def live_pages(browser: Any, folder: Path) -> Iterator[Callable[..., Watched]]:
    """Opens live pages of models, paused at their start; they are closed at the end, so that they do not go on."""
    opened: list[Watched] = []

    def show(model: Any, *, width: int = 640, height: int = 420, **options: Any) -> Watched:
        with sixd.view(model, live=True, open_browser=False, **options) as viewer:
            path = viewer.save_html(folder / "page.html")
        page = Watched(browser, width=width, height=height).open(path)
        page.page.evaluate("sixd.pause(); sixd.simulation.reset()")
        page.size = path.stat().st_size
        opened.append(page)
        return page

    yield show
    for page in opened:
        page.page.close()
