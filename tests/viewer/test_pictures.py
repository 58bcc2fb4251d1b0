"""Pictures and videos without a window: what the software renderer draws, that the page draws the same, and files."""

import io
import os
import shutil
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
import pytest

import sixd
from browser import CHROMIUM
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.pictures.stage import Stage, nearest
from sixd.viewer.scene.drawn_model import drawn_model
from sixd.viewer.scene.poses import display_turn, kinematics
from sixd.viewer.scene.scene import make_scene

RED, BLUE = (0.9, 0.1, 0.1, 1.0), (0.1, 0.1, 0.9, 1.0)
TANGENT = np.tan(np.radians(34 / 2))  # half the height of a picture at distance 1
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install Debian's package `chromium`")
needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no encoder: install the program `ffmpeg`")


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setenv("SIXD_BROWSER", "off")


def solids(*shapes):
    """A body that slides along x, with (shape, position, RGBA) on it, far above the floor."""
    builder = sixd.ModelBuilder("solids")
    builder.add_body("body", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0))
    for shape, at, color in shapes:
        builder.add_visual("body", shape, sixd.placement(at), color=color)
    return builder.build()


def ball(radius, at=(0, 0, 0), color=RED):
    return sixd.Shape("sphere", (radius,)), at, color


def soft(model, q=None, size=(160, 120), **options):
    return sixd.picture(model, q, size, renderer="software", **options).astype(int)


def reddish(image):
    return image[..., 0] > image[..., 2] + 60


def bluish(image):
    return image[..., 2] > image[..., 0] + 60


def stage_of(model, q, size):
    scene = make_scene(model, (np.arange(len(q)), q)) if len(q) > 1 else make_scene(model, q=q[0])
    return Stage(scene, kinematics(model, display_turn(drawn_model(model))), np.asarray(q, dtype=float), size)


def seen(stage, frame, points):
    """Points (n, 3) in the picture of a frame: -1 … 1 across and along, as the eye, its target and "up" say."""
    eye, target, up = stage.camera(frame)
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    at = (points - eye) @ np.array([right, np.cross(back, right), -back]).T
    return at[:, :2] / at[:, 2:] / TANGENT / [stage.size[0] / stage.size[1], 1]


# the software renderer ----------------------------------------------------------------------------


def test_nearest_is_the_triangle_in_front_of_each_pixel(monkeypatch):
    """Compared with the definition: the middles of pixels that lie inside a triangle, and the smallest z there."""
    rng = np.random.default_rng(3)
    corners = rng.uniform(-6, 30, (40, 3, 2))
    corners[:5, 2] = corners[:5, 0] + rng.uniform(-0.3, 0.3, (5, 2))  # slivers
    corners[5, 2] = corners[5, 1]  # a line
    corners[6, 0] = np.nan
    z = rng.uniform(1, 2, (40, 3))
    wanted = np.full((20, 25), np.inf)
    for (a, b, c), depths in zip(corners, z, strict=True):
        for row, column in np.ndindex(wanted.shape):
            A = np.array([[*a, 1], [*b, 1], [*c, 1]]).T
            if np.isfinite(A).all() and abs(np.linalg.det(A)) > 1e-9:
                weights = np.linalg.solve(A, [column + 0.5, row + 0.5, 1])
                if (weights >= 0).all():
                    wanted[row, column] = min(wanted[row, column], weights @ depths)
    for at_once in (4_000_000, 100):
        monkeypatch.setattr("sixd.viewer.pictures.stage._AT_ONCE", at_once)
        with np.errstate(all="ignore"):
            owner, front = nearest(corners[..., 0], corners[..., 1], z, 25, 20)
        np.testing.assert_allclose(front.reshape(20, 25), wanted, atol=1e-9)
        assert ((owner >= 0) == np.isfinite(front)).all()


def test_a_ball_has_the_size_that_perspective_gives_it():
    camera = {"position": (0, -4, 0), "target": (0, 0, 0)}
    image = soft(solids(ball(0.5)), size=(240, 180), camera=camera)
    radius = 180 / 2 / TANGENT * 0.5 / np.sqrt(4**2 - 0.5**2)
    assert reddish(image).sum() == pytest.approx(np.pi * radius**2, rel=0.02)  # 48 sides, and the pixels of the rim
    rows, columns = np.nonzero(reddish(image))
    assert abs(rows.mean() - 89.5) < 0.5
    assert abs(columns.mean() - 119.5) < 0.5


@pytest.mark.parametrize(
    ("shape", "width", "height"),
    [
        (sixd.Shape("box", (0.8, 0.6, 0.4)), 0.8, 0.4),
        (sixd.Shape("cylinder", (0.3, 0.8)), 0.6, 0.8),
        (sixd.Shape("capsule", (0.2, 0.5)), 0.4, 0.9),
        (sixd.Shape("cone", (0.3, 0.8)), 0.6, 0.8),
        (sixd.Shape("ellipsoid", (0.5, 0.3, 0.2)), 1.0, 0.4),
    ],
    ids=lambda x: getattr(x, "kind", ""),
)
def test_shapes_have_their_sizes(shape, width, height):
    """From afar, where perspective hardly matters."""
    image = reddish(
        soft(solids((shape, (0, 0, 0), RED)), size=(200, 200), camera={"position": (0, -40, 0), "target": (0, 0, 0)})
    )
    pixel = 2 * 40 * TANGENT / 200
    rows, columns = np.nonzero(image)
    assert np.ptp(columns) + 1 == pytest.approx(width / pixel, abs=1.5)
    assert np.ptp(rows) + 1 == pytest.approx(height / pixel, abs=1.5)


def test_what_is_nearer_hides_what_is_behind():
    model = solids(ball(0.3, (0, -1, 0), RED), ball(0.3, (0, 1, 0), BLUE))
    for side, test in ((-1, reddish), (1, bluish)):
        image = soft(model, camera={"position": (0, 5 * side, 0), "target": (0, 0, 0)})
        assert test(image)[60, 80]


def test_glass_lets_through_what_is_behind():
    camera = {"position": (0, -5, 0), "target": (0, 0, 0)}
    behind = ball(0.3, (0, 1, 0), BLUE)
    plain, covered = (
        soft(solids(*more, behind), camera=camera)[60, 80] for more in ((), (ball(0.4, (0, -1, 0), (1, 0, 0, 0.5)),))
    )
    assert plain[0] < covered[0] - 60
    assert covered[2] > 60


def test_meshes_and_lines_are_seen():
    corners = np.array([(-1, 0, -1), (1, 0, -1), (0, 0, 1)], dtype=float)
    line = sixd.Shape("line", vertices=np.array([(-1, 0, 0), (1, 0, 0.0)]))
    flat = sixd.Shape("mesh", vertices=corners, triangles=np.array([[0, 1, 2]]))
    camera = {"position": (0, -6, 0), "target": (0, 0, 0)}
    assert reddish(soft(solids((flat, (0, 0, 0), RED)), camera=camera))[60, 80]
    assert reddish(soft(solids((line, (0, 0, 0), RED)), camera=camera)).any(axis=0).sum() > 60


def test_a_body_moves_in_the_picture_as_in_the_world():
    model, camera = solids(ball(0.2)), {"position": (0, -10, 0), "target": (0, 0, 0)}
    images = soft(model, [[-1.0], [0.0], [1.0]], camera=camera)
    assert images.shape == (3, 120, 160, 3)
    middles = [np.nonzero(reddish(image))[1].mean() for image in images]
    np.testing.assert_allclose(np.diff(middles), 120 / 2 / TANGENT / 10, atol=0.5)


def test_a_shadow_lies_on_the_floor():
    image = soft(sixd.zoo.panda_arm(), size=(320, 240))
    bare = soft(sixd.zoo.panda_arm(), size=(320, 240), camera={"position": (9, 9, 300), "target": (9, 9, 299)})
    darker = image.mean(axis=-1) < 0.8 * bare.mean()
    assert darker.any()


# framing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(640, 480), (300, 900), (900, 200)])
@pytest.mark.parametrize("name", ["pendulum", "panda_arm", "four_bar", "rolling_cone", "bicycle"])
def test_the_first_view_shows_all_and_fills_the_picture(name, size):
    model = sixd.zoo.get(name)
    stage = stage_of(model, [make_scene(model)["q"]], size)
    poses = [np.vstack([rows.reshape(3, 4), [0, 0, 0, 1]]) for rows in stage.program.evaluate(stage.q[0])[0]]
    points = [
        corners.reshape(-1, 3) @ T[:3, :3].T + T[:3, 3]
        for body, corners in stage.items
        for T in [np.eye(4) if body == 0 else poses[body - 1]]
    ]
    reach = np.abs(seen(stage, 0, np.concatenate(points))).max(axis=0)
    assert (reach < 1).all()
    assert reach.max() > 0.45  # a round table touches the box around it at four points


def test_a_body_that_flies_away_stays_in_the_middle():
    builder = sixd.ModelBuilder("thrown")
    builder.add_body("stone", "world", sixd.Free(), inertia=sixd.box(0.2, 0.1, 0.1, mass=1.0))
    model = builder.build()
    flight = sixd.simulate(model, None, [1, 2, 3, 2, 0, 5], 2.0)
    stage = stage_of(model, flight.q[::100], (200, 150))
    for frame, q in enumerate(flight.q[::100]):
        np.testing.assert_allclose(seen(stage, frame, q[None, 4:]), 0, atol=1e-9)
    # a given camera stays, unless it is to follow a body
    camera = {"position": (0, -9, 0), "target": (0, 0, 0)}
    for more, moved in (({}, 0.0), ({"track": "stone"}, flight.q[-1, 4])):
        stage.scene["camera"] = make_scene(model, camera={**camera, **more})["camera"]
        assert stage.camera(len(stage.q) - 1)[0][0] == pytest.approx(moved, abs=0.1 * abs(moved) + 1e-9)


def test_seen_along_up_the_picture_is_well_defined():
    image = soft(solids(ball(0.3)), camera={"position": (0, 0, 5), "target": (0, 0, 0)})
    assert reddish(image)[60, 80]


# both renderers -----------------------------------------------------------------------------------


@needs_browser
@pytest.mark.long
@pytest.mark.parametrize("name", ["panda_arm", "pendulum", "rolling_cone"])
def test_the_page_and_the_software_renderer_draw_the_same(name, tmp_path, monkeypatch):
    """The same bodies at the same pixels: few pixels differ by much, in either of two sizes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = sixd.zoo.get(name)
    for size in ((320, 240), (150, 260)):
        page, own = (sixd.picture(model, size=size, renderer=which).astype(int) for which in ("page", "software"))
        assert page.shape == own.shape
        assert (np.abs(page - own).max(axis=-1) > 70).mean() < 0.02  # light and shadows on bodies differ a little
        assert np.abs(page - own).mean() < 10
    assert list(tmp_path.iterdir()) == []  # the browser has ended, its profile is removed


@needs_browser
@pytest.mark.long
def test_the_page_draws_many_configurations_and_cameras():
    camera = {"position": (0.5, -4, 1), "target": (0, 0, 0), "up": (0, 0.3, 1)}
    model, q = solids(ball(0.3), ball(0.2, (0.6, 0, 0.3), BLUE)), [[-0.4], [0.0], [0.4]]
    page, own = (
        sixd.picture(model, q, (160, 120), camera=camera, renderer=which).astype(int) for which in ("page", "software")
    )
    for test in (reddish, bluish):
        for one, other in zip(page, own, strict=True):
            middles = [np.mean(np.nonzero(test(image)), axis=1) for image in (one, other)]
            np.testing.assert_allclose(*middles, atol=1.0)  # the light leaves other pixels of the rim coloured


def test_without_a_browser_numpy_draws(no_browser):
    model = sixd.zoo.pendulum()
    np.testing.assert_array_equal(sixd.picture(model, [0.4], (80, 60)), soft(model, [0.4], (80, 60)))
    text = "^picture: the page cannot be drawn: no browser is found. Install Chromium, or use renderer='software'.$"
    with pytest.raises(sixd.MissingPackageError, match=text):
        sixd.picture(model, renderer="page")


@pytest.mark.parametrize("program", ["exit 3", "echo rubbish >&4; printf '{}\\0' >&4"])
def test_a_browser_that_fails_is_none(program, tmp_path, monkeypatch):
    fake = tmp_path / "browser"
    fake.write_text(f"#!/bin/sh\n{program}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("SIXD_BROWSER", str(fake))
    model = sixd.zoo.pendulum()
    np.testing.assert_array_equal(sixd.picture(model, [0.4], (80, 60)), soft(model, [0.4], (80, 60)))
    with pytest.raises(sixd.MissingPackageError, match="picture: the page cannot be drawn: "):
        sixd.picture(model, renderer="page")


# pictures as files --------------------------------------------------------------------------------


def read_png(data):
    """The pixels (height, width, 3) of a PNG file without filters."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        chunks[kind] = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(data[at + 4 : at + 8 + size])
        at += size + 12
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_picture_is_written_as_it_is_returned(tmp_path, no_browser):
    image = sixd.picture(sixd.zoo.four_bar(), size=(75, 50), path=tmp_path / "a.png")
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(read_png((tmp_path / "a.png").read_bytes()), image)
    assert [file.name for file in tmp_path.iterdir()] == ["a.png"]


def test_every_system_with_bodies_has_a_picture(no_browser):
    reduced = sixd.zoo.four_bar().reduce()
    assert len(np.unique(sixd.picture(reduced, size=(80, 60)).reshape(-1, 3), axis=0)) > 30


def test_wrong_pictures(no_browser, tmp_path):
    model = sixd.zoo.pendulum(2)
    cases = [
        ({"q": [1.0]}, sixd.ShapeError, r"picture: q has shape \(1,\), expected \(2,\)"),
        ({"q": [[1.0], [2.0]]}, sixd.ShapeError, r"picture: .* expected .* \(…, r, 2\)"),
        ({"q": "home"}, sixd.ScalarTypeError, "picture: q is 'home', expected 2 numbers"),
        ({"q": [[1.0, 2.0], [3.0]]}, sixd.SixdError, "picture: q "),
        ({"q": [1.0, np.nan]}, sixd.ModelError, r"picture: q is \[1.0, nan\], expected finite numbers"),
        ({"q": [[1.0, 2.0], [1.0, np.inf]]}, sixd.ModelError, r"picture: q is \[1.0, inf\], expected finite numbers"),
        ({"q": np.zeros((0, 2))}, sixd.ShapeError, r"picture: q has shape \(0, 2\), expected one configuration"),
        ({"size": (0, 10)}, sixd.ShapeError, r"picture: size is \(0, 10\), expected width and height, 2 … 8192 pixels"),
        ({"size": 640}, sixd.ShapeError, "picture: size is 640, expected"),
        ({"size": (1e9, 10)}, sixd.ShapeError, "picture: size is"),
        ({"renderer": "softwear"}, sixd.UnknownNameError, "picture: renderer: .* Did you mean 'software'?"),
        (
            {"camera": {"position": (0, 0, 0)}},
            sixd.ModelError,
            "picture: camera is .* a position that is not the target",
        ),
        ({"camera": {"from": 1}}, sixd.ScalarTypeError, "picture: camera is"),
        ({"path": tmp_path / "a.jpg"}, sixd.UnknownNameError, "picture: 'a.jpg': no file format named '.jpg'"),
        ({"path": tmp_path / "no" / "a.png"}, sixd.FileError, "picture: cannot write .* Make the folder first."),
        (
            {"q": np.zeros((3, 2)), "path": tmp_path / "a.png"},
            sixd.ShapeError,
            r"q has shape \(3, 2\), .* without a path",
        ),
    ]
    for options, error, text in cases:
        with pytest.raises(error, match=text):
            sixd.picture(model, **options)
    assert list(tmp_path.iterdir()) == []


def test_missing_meshes_are_reported(no_browser):
    model = solids((sixd.Shape("mesh", file="nowhere.stl"), (0, 0, 0), RED))
    with pytest.warns(sixd.ModelWarning, match="picture: Meshes not found: nowhere.stl"):
        sixd.picture(model, size=(40, 30))


# videos -------------------------------------------------------------------------------------------


def swing(seconds=1.0, **options):
    return sixd.simulate(sixd.zoo.pendulum(), [1.0], None, seconds, **options)


def read_gif(path):
    """The frames (n, height, width, 3) of a GIF file, and the milliseconds that each lasts."""
    image = pytest.importorskip("PIL.Image").open(path)
    frames, lasting = [], []
    for k in range(image.n_frames):
        image.seek(k)
        frames.append(np.asarray(image.convert("RGB")))
        lasting.append(image.info["duration"])
    return np.array(frames), lasting


def test_a_gif_lasts_as_long_as_the_motion(tmp_path, no_browser):
    pytest.importorskip("PIL")
    motion = swing()
    for fps, speed, count in ((30, 1.0, 31), (7, 1.0, 8), (20, 2.0, 11), (10, 0.5, 21)):
        path = motion.to_video(tmp_path / "a.gif", fps, (64, 48), speed=speed)
        frames, lasting = read_gif(path)
        assert path == tmp_path / "a.gif"
        assert frames.shape == (count, 48, 64, 3)
        assert sum(lasting) == pytest.approx(1000 * count / fps, abs=5)  # hundredths of a second
    assert [file.name for file in tmp_path.iterdir()] == ["a.gif"]


def test_the_frames_of_a_video_are_pictures_of_the_motion(tmp_path, no_browser):
    """Frame k shows the state at the time k / fps, also between the records."""
    pytest.importorskip("PIL")
    motion = swing(record_every=70)
    frames, _ = read_gif(motion.to_video(tmp_path / "a.gif", 10, (64, 48)))
    q, _ = motion.at(np.arange(10) / 10)
    wanted = sixd.picture(motion.system, q, (64, 48))
    assert np.abs(frames[:10].astype(int) - wanted).mean() < 4  # 256 colours


@needs_ffmpeg
def test_an_mp4_has_the_frames_and_the_rate(tmp_path, no_browser):
    path = swing().to_video(tmp_path / "a.mp4", 20, (65, 49))  # odd sizes become even
    raw = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    ).stdout
    frames = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 50, 66, 3)
    assert len(frames) == 21
    assert np.abs(frames[0].astype(int) - frames[10]).max() > 50
    report = subprocess.run(["ffmpeg", "-i", path], capture_output=True, text=True).stderr
    assert "20 fps" in report
    assert "00:00:01.05" in report
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]


@needs_ffmpeg
def test_what_ffmpeg_says_is_reported(tmp_path, no_browser, monkeypatch):
    fake = tmp_path / "bin" / "ffmpeg"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no room for codecs >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent), prepend=os.pathsep)
    with pytest.raises(sixd.FileError, match="to_video: cannot write .*a.mp4': ffmpeg says: no room for codecs"):
        swing(0.2).to_video(tmp_path / "a.mp4", size=(64, 48))
    assert not (tmp_path / "a.mp4").exists()


def test_a_video_that_fails_leaves_the_old_file(tmp_path, no_browser, monkeypatch):
    pytest.importorskip("PIL")
    path = tmp_path / "a.gif"
    path.write_bytes(b"old")
    draw = Stage.draw

    def stop(self, frame):
        if frame == 3:
            raise KeyboardInterrupt
        return draw(self, frame)

    monkeypatch.setattr(Stage, "draw", stop)
    with pytest.raises(KeyboardInterrupt):
        swing(0.3).to_video(path, size=(40, 30))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_motion_that_fails_is_shown_until_then(tmp_path, no_browser):
    pytest.importorskip("PIL")
    t = np.linspace(0, 1, 11)
    q = np.where(t > 0.55, np.nan, t)[:, None]
    motion = Trajectory(t, q, 0 * q + 1, sixd.zoo.pendulum())
    with pytest.warns(sixd.SimulationWarning, match="to_video: the motion is not finite after t = 0.5 s"):
        motion.to_video(tmp_path / "a.gif", 10, (40, 30))
    assert len(read_gif(tmp_path / "a.gif")[0]) == 6


def test_wrong_videos(tmp_path, no_browser, monkeypatch):
    motion = swing(0.1)
    nothing = Trajectory(motion.t, motion.q * np.nan, motion.qd, motion.system)
    batch = sixd.simulate(motion.system, [[0.1], [0.2]], None, 0.1)
    loaded = Trajectory(motion.t, motion.q, motion.qd)
    monkeypatch.setitem(sys.modules, "PIL", sys.modules.get("PIL", io))  # as if installed
    cases = [
        (
            motion,
            "a.avi",
            {},
            sixd.UnknownNameError,
            "to_video: 'a.avi': no file format named '.avi'. Did you mean '.gif'?",
        ),
        (motion, "a.gif", {"fps": 0}, sixd.ScalarTypeError, "to_video: fps is 0, expected a finite number above 0"),
        (motion, "a.gif", {"fps": -3.0}, sixd.ScalarTypeError, "to_video: fps is -3.0"),
        (motion, "a.gif", {"fps": 60}, sixd.OutOfRangeError, "to_video: fps is 60, expected 0.01 … 50 in a .gif file"),
        (motion, "a.gif", {"speed": np.nan}, sixd.ScalarTypeError, "to_video: speed is nan"),
        (motion, "a.gif", {"size": (0, 0)}, sixd.ShapeError, r"to_video: size is \(0, 0\), expected width and height"),
        (motion, "a.gif", {"renderer": "gpu"}, sixd.UnknownNameError, "to_video: renderer: no choice named 'gpu'"),
        (
            motion,
            "a.gif",
            {"camera": {"track": "rodd"}},
            sixd.UnknownNameError,
            "to_video: camera: .* Did you mean 'rod1'",
        ),
        (
            nothing,
            "a.gif",
            {},
            sixd.ModelError,
            "to_video: the motion is <Trajectory.*failed>, expected one with finite",
        ),
        (
            motion[2:2],
            "a.gif",
            {},
            sixd.ModelError,
            "to_video: the motion is <Trajectory.* 0 records.*>, expected one with",
        ),
        (batch, "a.gif", {}, sixd.ModelError, r"Choose one rollout: motion.row\(0\).to_video"),
        (loaded, "a.gif", {}, sixd.ModelError, "to_video: the trajectory has no system, expected one"),
        (motion, "no/a.gif", {}, sixd.FileError, "to_video: cannot write .* Make the folder first."),
    ]
    for one, name, options, error, text in cases:
        with pytest.raises(error, match=text):
            one.to_video(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_what_a_video_needs_is_named(tmp_path, monkeypatch):
    """In one sentence, before anything is drawn."""
    monkeypatch.setattr(Stage, "draw", lambda *_: pytest.fail("drawn in vain"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(
        sixd.MissingPackageError,
        match="^to_video: the program ffmpeg is not installed, expected it for .mp4 files. Run: apt install ffmpeg",
    ):
        swing(0.1).to_video(tmp_path / "a.mp4")
    with pytest.raises(
        sixd.MissingPackageError,
        match="^to_video: the package pillow is not installed, expected it for .gif files. Run: pip install pillow",
    ):
        swing(0.1).to_video(tmp_path / "a.gif")


def test_a_single_record_is_a_video_of_one_frame(tmp_path, no_browser):
    pytest.importorskip("PIL")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swing(0.1)[:1].to_video(tmp_path / "a.gif", size=(40, 30))
    assert read_gif(tmp_path / "a.gif")[0].shape == (1, 30, 40, 3)
