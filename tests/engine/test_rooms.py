"""The page about the rooms through which calls pass (docs/call_paths.md), compared with recorded calls."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "call_paths.md"

# files of sixd in the order of their first function call or import
WALK = """
import json, os, sys
import numpy as np
import sixd

root = os.path.dirname(sixd.__file__)
sixd.inverse_dynamics, sixd.simulate, sixd.equations  # imported when they are first used
arm, x = sixd.zoo.ur_arm(), np.full(6, 0.3)


def walk(function):
    seen = {}

    def note(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root):
            seen.setdefault(os.path.relpath(name, root).replace(os.sep, "/"))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return list(seen)


walks = {}
walks["`sixd.inverse_dynamics`, first call"] = walk(lambda: sixd.inverse_dynamics(arm, x, x, x))
walks["second call"] = walk(lambda: sixd.inverse_dynamics(arm, x, x, x))
arm = sixd.zoo.ur_arm()
walks["`sixd.simulate`"] = walk(lambda: sixd.simulate(arm, x, 0 * x, duration=0.1, dt=1e-3, progress=False))
arm = sixd.zoo.planar(2)
walks["`sixd.equations`"] = walk(lambda: sixd.equations(arm).M)
print(json.dumps(walks))
"""


@pytest.fixture(scope="module")
def walks():
    environment = {**os.environ, "SIXD_CACHE_DIR": "off"}
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)


def rooms(title):
    """Return the files that the page lists under a walk, room by room."""
    part = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [re.findall(r"`([\w/]+\.py)`", item) for item in re.split(r"^\d+\. ", part, flags=re.MULTILINE)[1:]]


@pytest.mark.long
@pytest.mark.parametrize("title", ["`sixd.inverse_dynamics`, first call", "`sixd.simulate`", "`sixd.equations`"])
def test_the_page_names_the_rooms_in_the_order_of_the_walk(title, walks):
    """Every file that is passed is named once, and nothing else; rooms come in the order of the page."""
    listed, passed = rooms(title), walks[title]
    named = [file for room in listed for file in room]
    assert sorted(named) == sorted(passed)
    first = [min(passed.index(file) for file in room) for room in listed]
    assert first == sorted(first)


@pytest.mark.long
def test_a_second_call_passes_no_file(walks):
    assert walks["second call"] == []
