"""showmotion: a model, its motion, its drawing instructions and its camera in the viewer; and files of motions.

The latest motion is kept here, as in the original, so that ``showmotion("save", file)`` can write it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sixd.atomic import whole_file
from sixd.errors import FileError, LoadError, ModelError, ScalarTypeError, ShapeError
from sixd.io.spatial_v2.matlab import count, numbers, scalar, vector
from sixd.io.spatial_v2.structures import Parts, read_mat
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial_v2.structure import Struct, read_model

_PLAYABLE = 2  # version of the files that this function writes and reads
_ABOUT = ("author", "title", "description")
_CELLS = ("jtype", "Xtree", "I")  # fields of a model with an entry for each body
_HALF_HEIGHT = np.tan(np.radians(17))  # of the page's picture, at unit distance
_RAMP = 0.5  # time in which a joint goes from 0 to 1, and back, if there is no data [s]


@dataclass
class _Shown:
    """The latest motion, with its viewer and description."""

    viewer: Any = None
    motion: tuple[Mapping[str, Any], Array, Array] | None = None  # the model, times and coordinates
    about: dict[str, str] = field(default_factory=dict)


_shown = _Shown()


def showmotion(model: Any, t_data: ArrayLike | None = None, q_data: ArrayLike | None = None, **options: Any) -> Any:
    """Show a model in motion in the browser and return the viewer.

    ``showmotion(model, t_data, q_data)``: times (n,), not descending, and coordinates NB×n (or NB×1×n), one column per
    time, interpolated linearly. ``showmotion(model)``: one joint after another goes from 0 to 1 and back in a second.
    ``showmotion(file)`` shows a file written by ``showmotion("save", file)``: a .mat file with model, t_data, q_data
    and about. ``showmotion("about")`` prints and returns author, title and description of the latest motion;
    ``showmotion("about", {…})`` replaces them; the description is the name of a text file, or "" for none.

    ``options`` are those of ``sixd.view``: open_browser, port, …
    """
    if isinstance(model, Mapping):
        if (t_data is None) != (q_data is None):
            raise ScalarTypeError("showmotion: only one of t_data and q_data is passed, expected both or neither.")
        return _show(model, t_data, q_data, {}, options)
    if isinstance(model, (str, os.PathLike)):
        if model == "save":
            return _save(t_data)
        if model == "about":
            return _about(t_data)
        return _show(*_load(model), options)
    raise ScalarTypeError(
        f"showmotion: the first argument is a {type(model).__name__}, expected a model, a file, 'save' or 'about'."
    )


def _show(
    model: Mapping[str, Any],
    t_data: ArrayLike | None,
    q_data: ArrayLike | None,
    about: dict[str, str],
    options: dict[str, Any],
) -> Any:
    from sixd.viewer.scene.scene import measure
    from sixd.viewer.viewer import view

    tree, parts = read_model("showmotion", model)
    t, q = ramps(parts.count) if t_data is None or q_data is None else read_motion(parts.count, t_data, q_data)
    if "camera" not in options:
        options = {**options, "camera": read_camera(model, parts, *measure(tree, q.T))}
    viewer = view(tree, (t, q.T), **{"title": about.get("title") or "showmotion", **options})
    if _shown.viewer is not None:  # one picture, as in the original
        _shown.viewer.close()
    _shown.viewer, _shown.motion, _shown.about = viewer, (model, t, q), dict(about)
    return viewer


def read_motion(nb: int, t_data: ArrayLike, q_data: ArrayLike) -> tuple[Array, Array]:
    """Return times (n,) and coordinates (NB, n), checked."""
    t, q = numbers("showmotion", "t_data", t_data).ravel(), numbers("showmotion", "q_data", q_data)
    if q.ndim == 3 and q.shape[1] == 1:
        q = q[:, 0]
    q = q[None] if q.ndim == 1 and nb == 1 else q
    if q.shape != (nb, len(t)):
        raise ShapeError(
            f"showmotion: q_data has shape {q.shape}, expected {nb}×{len(t)}: a row per joint, a column per time."
        )
    if not np.isfinite(t).all() or not (np.diff(t) >= 0).all() or not t[-1:] > t[:1]:
        raise ModelError("showmotion: t_data is not ascending, expected times of which the last is after the first.")
    return t, q


def ramps(nb: int) -> tuple[Array, Array]:
    """Return times and coordinates (NB, n) of a motion in which one joint after another goes from 0 to 1 and back."""
    t = _RAMP * np.arange(2 * nb + 1)
    q = np.zeros((nb, len(t)))
    q[np.arange(nb), 2 * np.arange(nb) + 1] = 1.0
    return t, q


def read_camera(
    model: Mapping[str, Any], parts: Parts, pose: Array, start: Array, reach: Array
) -> dict[str, Any] | None:
    """Return the viewer's camera for the field ``camera``; None without that field, if the default camera fits.

    ``pose`` (nb + 1, 4, 4) are the bodies' poses at the start; ``start`` and ``reach`` are boxes (2, 3), in the world's
    axes, around all moving bodies at the start and during the whole motion. A zoom of 1 fills the picture at the start.
    The original's tracking follows only the horizontal part of a motion; here the body stays in the middle.
    """
    camera = model.get("camera")
    flat = parts.dimension == 3 and parts.gravity[1] < 0
    if camera is None and not flat:
        return None
    box = reach if camera is None else start
    camera = camera if isinstance(camera, Mapping) else {}
    body = count("showmotion", "camera.body", camera.get("body", 0))
    if body > parts.count:
        raise ModelError(f"showmotion: camera.body is {body}, expected 0 … {parts.count}.")
    direction = _direction(camera, "direction", (0, 0.4, 1) if flat else (0, -1, 0.8))
    up = _direction(camera, "up", (0, 1, 0) if flat else (0, 0, 1))
    if np.linalg.norm(np.cross(direction, up)) < 1e-9:
        raise ModelError("showmotion: camera.up is parallel to camera.direction, expected another direction.")
    zoom = float(scalar("showmotion", "camera.zoom", camera.get("zoom", 1)))
    if not zoom > 0:
        raise ModelError(f"showmotion: camera.zoom is {zoom}, expected a positive number.")
    point = vector("showmotion", "camera.trackpoint", camera.get("trackpoint", np.zeros(3)), 3)
    across, along = vector("showmotion", "camera.locus", camera.get("locus", np.zeros(2)), 2)
    target = pose[body][:3, :3] @ point + pose[body][:3, 3] if body or "trackpoint" in camera else box.mean(axis=0)
    radius = max(float(np.linalg.norm(box[1] - box[0])) / 2, 1e-6)
    distance = radius / _HALF_HEIGHT / zoom
    # the point is at ``locus`` in the picture, so the camera aims next to it
    right = np.cross(up, direction)
    right = right / np.linalg.norm(right)
    half = _HALF_HEIGHT * distance
    target = target - right * (across * half) - np.cross(direction, right) * (along * half)
    name = f"body{body}" if body else None
    return {"position": target + direction * distance, "target": target, "up": up, "track": name}


def _direction(camera: Mapping[str, Any], name: str, usual: tuple[float, ...]) -> Array:
    d = vector("showmotion", f"camera.{name}", camera.get(name, usual), 3)
    length = np.linalg.norm(d)
    if not length > 0 or not np.isfinite(length):
        raise ModelError(f"showmotion: camera.{name} is {d.tolist()}, expected a direction.")
    return d / length


# files --------------------------------------------------------------------------------------------


def _current() -> tuple[Mapping[str, Any], Array, Array]:
    if _shown.motion is None:
        raise ModelError("showmotion: no motion was shown yet. Show one first: showmotion(model, t, q).")
    return _shown.motion


def _save(file: object) -> Path:
    """Write the latest motion to a .mat file; an existing file is replaced."""
    from scipy.io import savemat

    model, t, q = _current()
    if not isinstance(file, (str, os.PathLike)) or not str(file):
        raise ScalarTypeError(f"showmotion: the file is {file!r}, expected its name.")
    path = Path(file) if Path(file).suffix else Path(f"{file}.mat")
    # functions cannot be saved
    fields = {name: _to_cells(x, name in _CELLS) for name, x in model.items() if not callable(x)}
    about = {name: _shown.about.get(name, "") for name in _ABOUT}
    content = {"model": fields, "t_data": t, "q_data": q, "about": {**about, "playable": np.array([_PLAYABLE])}}
    data = io.BytesIO()
    savemat(data, content)
    try:
        with whole_file(path) as out:
            out.write(data.getvalue())
    except OSError as error:
        raise FileError(f"showmotion: cannot write {str(file)!r}: {error.strerror or error}.") from None
    return path


def _to_cells(x: ArrayLike, is_cell: bool = False) -> Any:
    """Return lists as cells, also in structures, for a .mat file; lists of numbers as arrays unless ``is_cell``."""
    if isinstance(x, Mapping):
        return {name: _to_cells(y) for name, y in x.items() if not callable(y)}
    if isinstance(x, (list, tuple)):
        if x and not is_cell and _is_numeric(x):
            return np.asarray(x, dtype=float)
        cell = np.empty(len(x), dtype=object)
        for k, y in enumerate(x):
            cell[k] = _to_cells(y)
        return cell
    return x


def _is_numeric(x: ArrayLike) -> bool:
    """Whether nested lists contain only numbers, in a regular shape."""
    try:
        return np.asarray(x).dtype.kind in "iufb"
    except ValueError:
        return False


def _load(file: str | os.PathLike[str]) -> tuple[Struct, Any, Any, dict[str, str]]:
    path = Path(file) if Path(file).suffix or Path(file).is_file() else Path(f"{os.fspath(file)}.mat")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LoadError(f"showmotion: cannot read {str(file)!r}: {error.strerror or error}.") from None
    content = read_mat(data, f"showmotion: {str(file)!r}")
    about = content.get("about")
    missing = [name for name in ("model", "t_data", "q_data", "about") if name not in content]
    if missing or not isinstance(content["model"], dict) or not isinstance(about, dict):
        lacks = ", ".join(missing) or "a model"
        raise LoadError(f"showmotion: {str(file)!r} is not a file of showmotion: it lacks {lacks}.")
    if _PLAYABLE not in np.atleast_1d(about.get("playable", ())).tolist():
        raise LoadError(f"showmotion: {str(file)!r} is of another version, its about.playable lacks {_PLAYABLE}.")
    texts = {name: str(about[name]) for name in _ABOUT if isinstance(about.get(name), str)}
    model = Struct(content["model"])
    t, q = np.atleast_1d(content["t_data"]), np.asarray(content["q_data"])
    return model, t, q.reshape(-1, len(t)) if q.ndim == 1 else q, texts


def _about(new: object) -> dict[str, str]:
    """Print, or replace, the author, title and description of the motion."""
    _current()
    if new is None:
        texts = {name: _shown.about.get(name, "") for name in _ABOUT}
        print(*(f"{name}: {text}" for name, text in texts.items()), sep="\n")
        return texts
    if not isinstance(new, Mapping) or set(new) - {*_ABOUT, "playable"}:
        raise ScalarTypeError(f"showmotion: about is {new!r}, expected a dictionary with {', '.join(_ABOUT)}.")
    texts = {name: str(new[name]) for name in _ABOUT if name in new}
    if texts.get("description"):
        try:
            texts["description"] = Path(texts["description"]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LoadError(f"showmotion: the description {texts['description']!r} cannot be read: {error}.") from None
    _shown.about = {**_shown.about, **texts}
    return dict(_shown.about)
