"""Makes docs/robot_files.svg, the picture of robot_files.md, by the Python of that page.

python docs/make_files_picture.py
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the page's Python, which saves the picture."""
    text = (HERE / "robot_files.md").read_text(encoding="utf-8")
    os.chdir(HERE)
    with contextlib.redirect_stdout(io.StringIO()):
        names: dict[str, object] = {}
        for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
            exec(block, names)


if __name__ == "__main__":
    main()
