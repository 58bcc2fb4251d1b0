"""docs/llms.txt: what it names exists."""

import importlib.util
import re

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
    modules = {
        name for name in names if importlib.util.find_spec(f"sixd.{name}")
    }  # sixd.torch is imported by its users
    assert {name for name in names - modules if not hasattr(sixd, name)} == set()
