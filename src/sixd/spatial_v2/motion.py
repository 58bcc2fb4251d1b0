"""showmotion: a model, its motion and its drawing instructions in the viewer; and the files that hold them.

The motion shown last is kept here, as in the original, so that ``showmotion("save", file)`` can write it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sixd.atomic import whole_file
from sixd.errors import FileError, LoadError, ModelError, ScalarTypeError, ShapeError
from sixd.io.spatial_v2.matlab import numbers
from sixd.spatial.scalar import Array
from sixd.spatial_v2.drawing import drawn_model, read_camera
from sixd.spatial_v2.structure import Struct

_PLAYABLE = 2  # the form of the files that this function writes and reads
_ABOUT = ("author", "title", "description")
_RAMP = 0.5  # [s] in which a joint goes from 0 to 1, and back, if there is no data


class _Shown:
    """The motion shown last: its viewer, model, data and description."""

    viewer: Any = None
    model: Mapping[str, Any] | None = None
    t: Array | None = None
    q: Array | None = None
    about: dict[str, str]


_shown = _Shown()
_shown.about = {}


def showmotion(model: Any, t_data: Any = None, q_data: Any = None, **options: Any) -> Any:
    """Show a model in motion, in the browser; the viewer is returned.

    ``showmotion(model, t_data, q_data)``: times (n,), not descending, and coordinates NB×n (or NB×1×n), a column a
    time, joined by straight lines. ``showmotion(model)``: each joint in turn goes from 0 to 1 and back in a second.
    ``showmotion(file)`` shows what ``showmotion("save", file)`` wrote: a .mat file with model, t_data, q_data and
    about. ``showmotion("about")`` prints and returns author, title and description of what is shown;
    ``showmotion("about", {…})`` replaces them, the description being the name of a text file, or "" for none.

    ``options`` are those of ``sixd.view``: open_browser, port, …
    """
    if isinstance(model, Mapping):
        if (t_data is None) != (q_data is None):
            raise ScalarTypeError("showmotion: t_data comes without q_data, expected both or none.")
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


def _show(model: Mapping[str, Any], t_data: Any, q_data: Any, about: dict[str, str], options: dict[str, Any]) -> Any:
    from sixd.viewer.scene.scene import measure
    from sixd.viewer.viewer import view

    tree, parts = drawn_model(model)
    t, q = ramps(parts.count) if t_data is None else read_motion(parts.count, t_data, q_data)
    if "camera" not in options:
        options = {**options, "camera": read_camera(model, parts, *measure(tree, q.T))}
    viewer = view(tree, (t, q.T), **{"title": about.get("title") or "showmotion", **options})
    if _shown.viewer is not None:  # one picture, as in the original
        _shown.viewer.close()
    _shown.viewer, _shown.model, _shown.t, _shown.q, _shown.about = viewer, model, t, q, dict(about)
    return viewer


def read_motion(count: int, t_data: Any, q_data: Any) -> tuple[Array, Array]:
    """Times (n,) and coordinates (NB, n), or an error."""
    t, q = numbers("showmotion", "t_data", t_data).ravel(), numbers("showmotion", "q_data", q_data)
    if q.ndim == 3 and q.shape[1] == 1:
        q = q[:, 0]
    q = q[None] if q.ndim == 1 and count == 1 else q
    if q.shape != (count, len(t)):
        raise ShapeError(
            f"showmotion: q_data has shape {q.shape}, expected {count}×{len(t)}: a row a joint, a column a time."
        )
    if not np.isfinite(t).all() or not (np.diff(t) >= 0).all() or not t[-1:] > t[:1]:
        raise ModelError("showmotion: t_data is not ascending, expected times of which the last is after the first.")
    return t, q


def ramps(count: int) -> tuple[Array, Array]:
    """Times and coordinates (NB, n) of a motion in which each joint in turn goes from 0 to 1 and back."""
    t = _RAMP * np.arange(2 * count + 1)
    q = np.zeros((count, len(t)))
    q[np.arange(count), 2 * np.arange(count) + 1] = 1.0
    return t, q


# files --------------------------------------------------------------------------------------------


def _current() -> tuple[Mapping[str, Any], Array, Array]:
    if _shown.model is None or _shown.t is None or _shown.q is None:
        raise ModelError("showmotion: there is no motion yet, expected one. Show it first: showmotion(model, t, q).")
    return _shown.model, _shown.t, _shown.q


def _save(file: Any) -> Path:
    """Write what is shown to a .mat file; one that exists is replaced."""
    from scipy.io import savemat

    model, t, q = _current()
    if not isinstance(file, (str, os.PathLike)) or not str(file):
        raise ScalarTypeError(f"showmotion: the file is {file!r}, expected its name.")
    path = Path(file) if Path(file).suffix else Path(f"{file}.mat")
    fields = {name: _to_cells(x) for name, x in model.items() if not callable(x)}  # functions cannot be saved
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


def _to_cells(x: Any) -> Any:
    """Lists as cells, and structures within them, as .mat files know them."""
    if isinstance(x, Mapping):
        return {name: _to_cells(y) for name, y in x.items() if not callable(y)}
    if isinstance(x, (list, tuple)):
        cell = np.empty(len(x), dtype=object)
        for k, y in enumerate(x):
            cell[k] = _to_cells(y)
        return cell
    return x


def _load(file: str | os.PathLike[str]) -> tuple[Struct, Any, Any, dict[str, str]]:
    from scipy.io import loadmat

    path = Path(file) if Path(file).suffix or Path(file).is_file() else Path(f"{os.fspath(file)}.mat")
    try:
        content = loadmat(io.BytesIO(path.read_bytes()), simplify_cells=True)
    except OSError as error:
        raise LoadError(f"showmotion: cannot read {str(file)!r}: {error.strerror or error}.") from None
    except Exception as error:  # whatever loadmat comes upon
        raise LoadError(f"showmotion: {str(file)!r} cannot be read as a .mat file: {error}.") from None
    about = content.get("about")
    missing = [name for name in ("model", "t_data", "q_data", "about") if name not in content]
    if missing or not isinstance(content["model"], dict) or not isinstance(about, dict):
        lacks = ", ".join(missing) or "a model"
        raise LoadError(f"showmotion: {str(file)!r} is no file of showmotion: it lacks {lacks}.")
    if _PLAYABLE not in np.atleast_1d(about.get("playable", ())).tolist():
        raise LoadError(f"showmotion: {str(file)!r} is of another version, its about.playable lacks {_PLAYABLE}.")
    words = {name: str(about[name]) for name in _ABOUT if isinstance(about.get(name), str)}
    model = Struct(content["model"])
    t, q = np.atleast_1d(content["t_data"]), np.asarray(content["q_data"])
    return model, t, q.reshape(-1, len(t)) if q.ndim == 1 else q, words


def _about(given: Any) -> dict[str, str]:
    """Print, or replace, what is told about the motion."""
    _current()
    if given is None:
        for name in _ABOUT:
            print(f"{name}: {_shown.about.get(name, '')}")
        return {name: _shown.about.get(name, "") for name in _ABOUT}
    if not isinstance(given, Mapping) or set(given) - {*_ABOUT, "playable"}:
        raise ScalarTypeError(f"showmotion: about is {given!r}, expected a dictionary with {', '.join(_ABOUT)}.")
    new = {name: str(given[name]) for name in _ABOUT if name in given}
    if new.get("description"):
        try:
            new["description"] = Path(new["description"]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise LoadError(f"showmotion: the description {new['description']!r} cannot be read: {error}.") from None
    _shown.about = {**_shown.about, **new}
    return dict(_shown.about)
