"""The pictures of docs/friction_stiffness_contact.md and docs/control.md: well-formed, small, and drawn as their script draws."""

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def script():
    """The module docs/make_step_pictures.py."""
    spec = importlib.util.spec_from_file_location("make_step_pictures", DOCS / "make_step_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = {**dict.fromkeys(("friction", "stiffness", "contact"), "friction_stiffness_contact"), "control": "control"}


@pytest.mark.parametrize("name", PAGES)
def test_pictures(name):
    text = (DOCS / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 20_000
    picture = ET.fromstring(text)
    titles = [t.text for t in picture.iter(f"{SVG}text") if t.get("font-size") == "15"]
    assert len(titles) == 3
    assert f"({name}.svg)" in (DOCS / f"{PAGES[name]}.md").read_text(encoding="utf-8")


def test_curves_keep_their_shape():
    """Omitted points are within a tenth of a pixel of the line between their neighbours."""
    x = np.linspace(0, 200, 2000)
    y = 50 * np.sin(x / 10)
    a, b = script()._thinned(x, y)
    assert 50 < len(a) < 400
    assert np.abs(np.interp(x, a, b) - y).max() < 0.6  # lines rise by up to 5: a tenth of a pixel across
