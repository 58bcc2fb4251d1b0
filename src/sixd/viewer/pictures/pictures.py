"""Pictures and videos of mechanisms without a window: ``sixd.picture``, and what ``Trajectory.to_video`` does."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import subprocess
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sixd import errors
from sixd.model.system import System, register
from sixd.runtime.arrays.registry import require_cpu
from sixd.simulation.arguments import positive
from sixd.simulation.progress import Progress
from sixd.spatial.scalar import Array
from sixd.trajectory.paths import checked_path, open_whole
from sixd.trajectory.trajectory import Trajectory

_MOST = 8192  # pixels along a side
_OF_PAGES = ("The sliders", "Meshes are shown", "A long motion", "The motion")  # beginnings of notes about pages alone


def picture(
    model: System,
    q: Any = None,
    size: Sequence[int] = (640, 480),
    *,
    path: str | os.PathLike[str] | None = None,
    camera: Mapping[str, Any] | None = None,
    renderer: str | None = None,
    collisions: bool = False,
    distances: bool | float = False,
    pairs: Any = None,
) -> Array:
    """Draw a mechanism without a window: (…, height, width, 3) of uint8, red, green and blue of each pixel.

    q : (…, nq) a configuration, or several, seen by one camera; that of ``sixd.view`` if omitted.
    size, path, camera : width and height [pixels]; a .png file for a single picture; as in ``sixd.view``.
    renderer : "page": as the viewer's page, drawn in a browser of Chromium's family, which takes seconds to start;
        "software": by NumPy, with plainer light. None chooses the page if a browser works: the one that SIXD_BROWSER in
        the environment names, or one on the path.
    collisions, distances, pairs : collision shapes and their nearest points, as in ``sixd.view``.

    >>> import sixd
    >>> sixd.picture(sixd.zoo.pendulum(), [0.5], size=(64, 48), renderer="software").shape
    (48, 64, 3)
    """
    target = None if path is None else checked_path("picture", path, [".png"])[0]
    require_cpu("picture", q=q)
    shape = np.asarray(q, dtype=object).shape
    rows = np.reshape(q, (-1, shape[-1])) if len(shape) > 1 else [q]
    if not len(rows) or (path is not None and len(rows) > 1):
        raise errors.ShapeError(f"picture: q has shape {shape}, expected one configuration, or several without a path.")
    motion = None if len(rows) == 1 else (np.arange(len(rows)), rows)
    shown = camera, renderer, collisions, distances, pairs
    with _drawing("picture", model, motion, rows[0], size, *shown) as draw:
        images = np.array([draw(k) for k in range(len(rows))])
    if target is not None:
        with open_whole("picture", path, target) as file:
            _write_png(file, images[0])
    return images.reshape(*shape[:-1], *images.shape[1:])


@register
def write_video(motion: Trajectory, system: System, path: Any, fps: Any, size: Any, speed: Any, *options: Any) -> Path:
    """See ``Trajectory.to_video``."""
    target, suffix = checked_path("to_video", path, list(_FORMATS))
    write, most, needed, found, how = _FORMATS[suffix]
    if found() is None:
        text = f"to_video: the {needed} is not installed, expected it for {suffix} files. Run: {how}."
        raise errors.MissingPackageError(text)
    fps = positive("to_video", "fps", fps, "1/s")
    step = positive("to_video", "speed", speed, "1") / fps
    if not 0.01 <= fps <= most:
        raise errors.OutOfRangeError(f"to_video: fps is {fps:g}, expected 0.01 … {most} in a {suffix} file.")
    bad = np.flatnonzero(~np.isfinite(np.append(motion.q, motion.qd, axis=-1)).all(axis=-1))
    shown = motion[: bad[0]] if len(bad) else motion
    if motion.batch or not len(shown):
        hint = " Choose one rollout: motion.row(0).to_video(…)." if motion.batch else ""
        raise errors.ModelError(f"to_video: the motion is {motion!r}, expected one with finite records.{hint}")
    if len(bad):
        text = f"to_video: the motion is not finite after t = {shown.t[-1]:g} s, where the video ends."
        warnings.warn(text, errors.SimulationWarning, stacklevel=3)
    times = np.minimum(shown.t[0] + step * np.arange(int(shown.duration / step + 1e-6) + 1), shown.t[-1])
    frames = times, shown.at(times)[0]
    with (
        _drawing("to_video", system, frames, None, size, *options) as draw,
        open_whole("to_video", path, target) as file,
        Progress("video", len(times), None) as bar,
    ):
        write(file, lambda k: bar.update(k) or draw(k), fps, len(times))  # type: ignore[func-returns-value]
    return target


@contextmanager
def _drawing(
    where: str, system: System, motion: Any, q: Any, size: Any, camera: Any, renderer: str | None, collisions: bool,
    distances: Any, pairs: Any,
) -> Iterator[Callable[[int], Array]]:  # fmt: skip
    """A function that draws the frames of a motion (t, q (r, nq)), or the configuration q, as (height, width, 3)."""
    from sixd.viewer.page import html
    from sixd.viewer.pictures.browser import open_page
    from sixd.viewer.pictures.stage import Stage
    from sixd.viewer.scene.drawn_model import drawn_model
    from sixd.viewer.scene.nearest import near_pairs
    from sixd.viewer.scene.poses import display_turn, kinematics
    from sixd.viewer.scene.scene import make_scene, read_configuration

    if renderer is not None:
        errors.require_known(f"{where}: renderer", "choice", renderer, ("page", "software"))
    if np.shape(size) != (2,) or not all(isinstance(x, (int, np.integer)) and 2 <= x <= _MOST for x in size):
        raise errors.ShapeError(f"{where}: size is {size!r}, expected width and height, 2 … {_MOST} pixels each.")
    width, height = map(int, size)
    try:
        turn = display_turn(drawn_model(system))
        near = near_pairs(system, distances, pairs, turn)
        scene = make_scene(system, motion, q=q, camera=camera, collisions=collisions)
        states = np.array([read_configuration(system, row) for row in (motion[1] if motion else [scene["q"]])])
        if near is not None:
            found, rows = near.at(states, scene["notes"])
            scene["pairs"] = {"names": found, "values": []}
    except errors.SixdError as error:
        raise type(error)(str(error).replace("view:", f"{where}:", 1)) from None
    notes = [note for note in scene["notes"] if not note.startswith(_OF_PAGES)]
    if notes:
        warnings.warn(f"{where}: {' '.join(notes)}", errors.ModelWarning, stacklevel=4 if where == "picture" else 5)
    stage = Stage(scene, kinematics(system, turn), states, (width, height))
    if near is not None:
        stage.show_pairs(found, rows)
    scene["settings"] |= {"ground": stage.ground, "play": False}
    draw: Callable[[int], Array] = stage.draw
    with ExitStack() as stack:
        try:
            if renderer != "software":
                evaluate = stack.enter_context(open_page(html(scene)))

                def on_page(frame: int) -> Array:
                    values = [width, height, states[frame].tolist(), *(x.tolist() for x in stage.camera(frame))]
                    if near is not None:
                        values.append(rows[frame].ravel().tolist())
                    pixels = base64.b64decode(evaluate(f"sixd.picture(...{json.dumps(values)})"))
                    return np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 4)[::-1, :, :3]

                on_page(0)
                draw = on_page
        except (OSError, ValueError) as error:
            if renderer == "page":
                text = f"{where}: the page cannot be drawn: {error}. Install Chromium, or use renderer='software'."
                raise errors.MissingPackageError(text) from None
        yield draw


# files --------------------------------------------------------------------------------------------


def _write_png(file: BinaryIO, image: Array) -> None:
    height, width, _ = image.shape
    rows = np.insert(image.reshape(height, -1), 0, 0, axis=1)  # each begins with its filter: none
    file.write(b"\x89PNG\r\n\x1a\n")
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for data in (b"IHDR" + head, b"IDAT" + zlib.compress(rows.tobytes()), b"IEND"):
        file.write(struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data)))


def _write_gif(file: BinaryIO, draw: Callable[[int], Array], fps: float, count: int) -> None:
    from PIL import Image

    # a picture lasts whole hundredths of a second, whose sum is right
    lasting = (10 * np.diff(np.rint(100 / fps * np.arange(count + 1)))).astype(int).tolist()
    # one palette for all, of which rare colours have their share
    colors = np.unique(np.reshape([draw(k) // 4 * 4 for k in {0, count // 2, count - 1}], (-1, 3)), axis=0)
    palette = Image.fromarray(colors[None]).quantize(256)
    images = (Image.fromarray(draw(k)).quantize(palette=palette, dither=Image.Dither.NONE) for k in range(count))
    next(images).save(file, "GIF", save_all=True, append_images=images, duration=lasting, loop=0)


def _write_mp4(file: BinaryIO, draw: Callable[[int], Array], fps: float, count: int) -> None:
    height, width, _ = draw(0).shape
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps!r} -i -"
    # most players need yuv420p, which needs even sizes
    result = "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -pix_fmt yuv420p -movflags +faststart -f mp4"
    command = ["ffmpeg", "-y", "-loglevel", "error", *source.split(), *result.split(), file.name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            for k in range(count):
                process.stdin.write(draw(k).tobytes())
        said = " ".join(process.communicate()[1].decode(errors="replace").split())
    if process.returncode:
        raise OSError(f"ffmpeg says: {said}")


# how videos are written, how many pictures a second, what that needs, and how to get it
_FORMATS: dict[str, tuple[Callable[..., None], int, str, Callable[[], Any], str]] = {
    ".gif": (_write_gif, 50, "package pillow", lambda: find_spec("PIL"), "pip install pillow"),
    ".mp4": (_write_mp4, 1000, "program ffmpeg", lambda: shutil.which("ffmpeg"), "apt install ffmpeg, or write a .gif"),
}
