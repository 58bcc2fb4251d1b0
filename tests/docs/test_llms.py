"""docs/llms.txt: what it names exists."""

import re
from importlib.util import find_spec

import pytest

import sixd
from machinery.page import DOCS

pytestmark = pytest.mark.one_target
TEXT = (DOCS / "llms.txt").read_text(encoding="utf-8")


def test_links():
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 15
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_names():
    names = set(re.findall(r"sixd\.(\w+)", TEXT))
    assert {name for name in names if not hasattr(sixd, name) and not find_spec(f"sixd.{name}")} == set()
