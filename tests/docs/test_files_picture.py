"""The picture of docs/robot_files.md: well-formed, small, named on the page, and made by its Python."""

import xml.etree.ElementTree as ET
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_picture():
    text = (DOCS / "robot_files.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 20_000
    words = {"".join(t.itertext()) for t in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
    assert {"boom", "stick", "tool::bucket", "lift"} <= words
    page = (DOCS / "robot_files.md").read_text(encoding="utf-8")
    assert "(robot_files.svg)" in page
    assert 'figure.save("robot_files.svg")' in page
