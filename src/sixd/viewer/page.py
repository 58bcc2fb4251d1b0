"""The page of a scene: one HTML file that contains its style, its program and its data.

Puts the files in ``web/`` together; knows nothing of models or trajectories. A Content-Security-Policy admits only the
scripts written here, by their hashes, and no requests to other servers.
"""

from __future__ import annotations

import base64
import hashlib
import html as markup
import json
import math
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "web"

# in this order, inside one function: each file uses what those before it define
PROGRAM = (
    "data.js", "algebra.js", "shapes.js", "normals.js", "shaders.js", "gpu.js", "camera.js", "controls.js", "motion.js",
    "near.js", "simulation.js", "grip.js", "world.js", "markers.js", "trails.js", "shadows.js", "renderer.js",
    "options.js", "clock.js", "pace.js", "transport.js", "joints.js", "chart.js", "plots.js", "live.js", "interface.js",
    "main.js", "api.js",
)  # fmt: skip


def html(scene: dict[str, Any]) -> str:
    """Return the page that shows ``scene`` as one text that needs neither other files nor a server.

    Generated kinematics and steps are a script of their own, so that the page executes no text. A scene with a key
    ``server`` (the address of a server's state) may send requests to the server it came from, and to no other.
    """
    data = {key: value for key, value in scene.items() if key not in ("kinematics", "simulation_code")}
    parts = {
        "title": markup.escape(_text(scene.get("title") or "sixd")),
        "style": _read("style.css"),
        "scene": _json(data),
        "generated": _function("sixdKinematics", "q, out", scene.get("kinematics") or ""),
        "program": "(() => {\n'use strict';\n" + "\n".join(_read(name) for name in PROGRAM) + "})();\n",
    }
    if scene.get("simulation_code"):
        parts["generated"] += _function("sixdSimulation", "", scene["simulation_code"])
    parts["policy"] = _policy(parts, is_served=bool(scene.get("server")))
    # one pass, so that braces inside a part are not replaced
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def _policy(parts: dict[str, str], *, is_served: bool) -> str:
    """The Content-Security-Policy: these scripts, this style, images inside the page, and nothing else."""
    rules = [
        "default-src 'none'",
        f"script-src {_hash(parts['generated'])} {_hash(parts['program'])}",
        f"style-src {_hash(parts['style'])}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(["connect-src 'self'"] if is_served else []),
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _function(name: str, parameters: str, source: str) -> str:
    """Generated statements as a named function; spaces prevent ``</`` and ``<!--`` from ending the script."""
    safe = source.replace("</", "< /").replace("<!--", "< !--").replace("\r", "\n")
    return f"window.{name} = function ({parameters}) {{\n'use strict';\n{safe}\n}};\n"


def _json(data: dict[str, Any]) -> str:
    """ASCII JSON that is safe inside a script element; infinity and NaN, which JSON does not have, become null."""
    text = json.dumps(_finite(data), allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _text(value: object) -> str:
    # half a surrogate pair, which file names may contain, cannot be encoded in UTF-8
    return str(value).encode("utf-8", "replace").decode()


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
