"""Nearest points of collision shapes in the page and in pictures: which pairs, where the lines are, what is red."""

import dataclasses
import json
import urllib.request

import numpy as np
import pytest

import sixd
from browser import Watched, chromium
from sixd.viewer.scene.drawn_model import drawn_model
from sixd.viewer.scene.nearest import WIDTH, near_pairs
from sixd.viewer.scene.poses import display_turn
from sixd.viewer.scene.scene import make_scene

pytestmark = pytest.mark.one_target

BALL = sixd.Shape("sphere", (0.1,))


def slider(gravity=(0, 0, -9.81)):
    """A ball that slides along x towards a wall whose face is at x = 0.5; a lamp hangs far above."""
    builder = sixd.ModelBuilder("slider", gravity=gravity)
    builder.add_body("cart", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0), collisions=[BALL])
    wall = sixd.Shape("box", (0.2, 1.0, 1.0))
    builder.add_collision("world", wall, sixd.placement((0.6, 0, 0)), name="wall")
    builder.add_collision("world", BALL, sixd.placement((0, 0, 3)), name="lamp")
    return builder.build()


def scene_of(model, trajectory=None, distances=True, pairs=None, **options):
    near = near_pairs(model, distances, pairs, display_turn(drawn_model(model)))
    return make_scene(model, trajectory, collisions=True, near=near, **options)


def numbers(entry):
    """Pairs (r, n, 7) of an entry of a scene, as numbers."""
    from base64 import b64decode

    flat = np.frombuffer(b64decode(entry["values"]["data"]), dtype=np.float32)
    return flat.reshape(-1, len(entry["names"]), WIDTH) if len(entry["names"]) else flat


def test_pairs_within_reach_of_one_configuration():
    model = slider()
    entry = scene_of(model, q=[0.35])["pairs"]
    assert entry["names"] == [["cart", "wall"]]
    # 1e-7: numbers of the page are float32
    assert numbers(entry)[0, 0] == pytest.approx([0.45, 0, 0, 0.5, 0, 0, 0.05], abs=1e-7)
    assert scene_of(model, q=[0.0])["pairs"]["names"] == []
    far = scene_of(model, q=[0.0], distances=5.0, pairs=("lamp", "*"))["pairs"]
    assert far["names"] == [["lamp", "cart"]]
    assert scene_of(model, q=[0.0], distances=False)["pairs"] is None
    assert scene_of(model, q=[0.35], distances=False, pairs=("wall", "cart"))["pairs"]["names"] == [["wall", "cart"]]


def test_each_record_of_a_motion():
    """Points are in the axes of the page; pairs that are out of reach are NaN."""
    model = slider(gravity=(0, -9.81, 0))  # y points up: the page is turned
    t = np.linspace(0, 1, 6)
    q = np.array([0.0, 0.2, 0.35, 0.45, np.nan, 0.35])[:, None]
    (entry,) = scene_of(model, (t, q))["trajectories"]
    rows = numbers(entry["pairs"])[:, 0]
    assert np.isnan(rows[[0, 1, 4]]).all()
    assert rows[[2, 3, 5], 6] == pytest.approx([0.05, -0.05, 0.05], abs=1e-7)  # float32
    turn = display_turn(model)[:3, :3]
    assert rows[2, :3] == pytest.approx(turn @ [0.45, 0, 0], abs=1e-7)
    assert not np.allclose(turn, np.eye(3))
    assert scene_of(model, (t, q))["pairs"] is None


def test_many_pairs_are_cut_with_a_note():
    builder = sixd.ModelBuilder("many")
    builder.add_body("a", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0), collisions=[BALL])
    for k in range(40):
        builder.add_collision("world", BALL, sixd.placement((0.2 + 0.001 * k, 0, 0)))
    scene = scene_of(builder.build(), q=[0.0])
    assert len(scene["pairs"]["names"]) == 32
    assert numbers(scene["pairs"])[0, :, 6].max() == pytest.approx(0.031, abs=1e-7)  # float32
    assert any("nearest 32 pairs" in note and "8 more" in note for note in scene["notes"])


def test_errors():
    model = slider()
    with pytest.raises(sixd.SixdError, match=r"view: distances is -0.1, expected True or a length above 0 \[m\]"):
        sixd.view(model, distances=-0.1, open_browser=False)
    with pytest.raises(sixd.SixdError, match="has no collision shapes"):
        sixd.view(dataclasses.replace(model, collisions=()), distances=True, open_browser=False)
    with pytest.raises(sixd.SixdError, match="distances is set, but a live page computes its motion"):
        sixd.view(model, distances=True, live=True, open_browser=False)
    with pytest.raises(sixd.SixdError, match="collision_pairs: .*'chart'"):
        sixd.view(model, pairs=("chart", "*"), open_browser=False)


def test_a_configuration_shown_later():
    """``Viewer.show`` sends the distances of the new configuration, and the page keeps them."""
    with sixd.view(slider(), q=[0.0], collisions=True, distances=True, open_browser=False) as viewer:
        viewer.show([0.42])
        with urllib.request.urlopen(f"{viewer.url}state?since=-1") as answer:
            state = json.load(answer)
        assert state["pairs"]["names"] == [["cart", "wall"]] == viewer.scene["pairs"]["names"]


def red(image):
    """Pixels in the colour of shapes that overlap."""
    image = image.astype(int)
    return (image[..., 0] > image[..., 1] + 60) & (image[..., 0] > image[..., 2] + 60)


def test_pictures_by_software():
    """A shape that overlaps is red; a line is blue between shapes that do not."""
    close = {"position": (0.4, -1.2, 0.5), "target": (0.4, 0, 0)}
    options = {"renderer": "software", "collisions": True, "pairs": ("cart", "wall"), "camera": close}
    without = sixd.picture(slider(), [0.35], (160, 120), **{**options, "pairs": None}).astype(int)
    apart, deep = (sixd.picture(slider(), [x], (160, 120), **options).astype(int) for x in (0.35, 0.45))
    assert not red(apart).any()
    assert red(deep).sum() > 200
    changed = (apart != without).any(axis=-1)
    assert 5 < changed.sum() < 200
    assert (apart[changed][:, 2] > apart[changed][:, 0] + 40).mean() > 0.5
    assert (sixd.picture(slider(), [0.0], (160, 120), **options) == without).mean() > 0.8  # no line: too far


def test_videos(tmp_path):
    """Each frame has its own lines and colours."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    model = slider()
    motion = sixd.simulate(model, [0.3], [0.5], 0.4)
    path = motion.to_video(tmp_path / "a.gif", 10, (96, 72), renderer="software", collisions=True, distances=0.3)
    frames = []
    with image.open(path) as video:
        for k in range(video.n_frames):
            video.seek(k)
            frames.append(np.asarray(video.convert("RGB")))
    assert not red(frames[0]).any()
    assert red(frames[-1]).sum() > 50


def test_in_the_page(tmp_path):
    """Lines follow the motion, interpolated between records; sliders of a page without one hide them."""
    t, q = np.linspace(0, 1, 11), np.linspace(0.3, 0.5, 11)[:, None]
    look = "sixd.near().map(({ from, to, distance, names }) => [...from, ...to, distance, names.join()])"
    with chromium() as browser:
        path = sixd.view(slider(), (t, q), collisions=True, distances=True, open_browser=False).save_html(
            tmp_path / "motion.html"
        )
        page = Watched(browser).open(path)
        page.page.evaluate("sixd.pause(); sixd.seek(0.25)")
        ((*points, name),) = page.page.evaluate(look)
        assert name == "cart,wall"
        assert points == pytest.approx([0.45, 0, 0, 0.5, 0, 0, 0.05], abs=1e-6)  # float32
        apart = page.picture()
        page.set("distances", False)
        assert page.picture() != apart
        page.set("distances", True)
        page.page.evaluate("sixd.seek(0.9)")
        assert page.page.evaluate(look)[0][6] == pytest.approx(-0.08, abs=1e-6)  # float32
        assert page.page.evaluate("sixd.touching()") == ["cart", "wall"]
        assert not page.complaints
        path = sixd.view(slider(), q=[0.35], collisions=True, distances=True, open_browser=False).save_html(
            tmp_path / "still.html"
        )
        page = Watched(browser).open(path)
        assert len(page.page.evaluate(look)) == 1
        page.page.evaluate("sixd.setConfiguration([0.36])")
        assert page.page.evaluate(look) == []
        page.page.evaluate("sixd.setConfiguration([0.35])")
        assert len(page.page.evaluate(look)) == 1
        assert not page.complaints
