"""A scene at the frames of a picture or a video: its camera, for every renderer, and a renderer in NumPy.

The camera follows ``web/main.js``; positions are in the axes of the page. The renderer gives each triangle one colour,
cuts it into rows of pixels, and finds the nearest one at each pixel by a depth buffer.
"""

from __future__ import annotations

import base64
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from sixd.geometry.pieces import turned_to
from sixd.spatial.scalar import Array
from sixd.trace import Program
from sixd.viewer.scene.nearest import touching
from sixd.viewer.scene.poses import world_poses

_HALF_HEIGHT = np.tan(np.radians(17))  # of the picture at distance 1
_VIEW = -0.87, 0.36  # azimuth and elevation [rad] of the first view
_FILLED = np.array([0.9, 0.88])  # of the picture's width and height, by the mechanism
_SAMPLES = 41  # frames at which the box around the motion is measured
_FINE = 2  # computed pixels along each side of a pixel
_AT_ONCE = 4_000_000  # pixels of triangles that are compared at once
_LIGHT = np.array([0.33, -0.45, 0.83])  # towards the light
_SKY, _PAPER, _INK = np.array([0.90, 0.92, 0.94]), np.array([0.97, 0.975, 0.98]), np.array([0.28, 0.33, 0.42])
# colours of lines between nearest points, of those of shapes that overlap, and of these shapes
_NEAR, _DEEP, _TOUCH = (0.1, 0.45, 0.85), (0.35, 0.0, 0.05), (0.93, 0.15, 0.12)
_DIRECTIONS = np.array(list(product((-1, 0, 1), repeat=3)))


class Stage:
    """The bodies of a scene at the configurations q (frames, nq), whose poses ``program`` computes."""

    def __init__(self, scene: dict[str, Any], program: Program, q: Array, size: tuple[int, int]) -> None:
        self.scene, self.program, self.q, self.size, self.seen_from = scene, program, q, size, np.zeros(0)
        self.items: list[tuple[int, Array]] = []  # bodies and the corners (n, 3, 3) of triangles on them
        self.names: list[str] = []  # of their collision shapes, "" for others
        self.pairs: tuple[list[list[str]], Array] = [], np.zeros((len(q), 0, 7))
        poses, outer, colors = world_poses(program, q[np.linspace(0, len(q) - 1, _SAMPLES).astype(int)]), [], []
        shapes = [_triangles(geometry) for geometry in scene["geometries"]]
        for visual in scene["visuals"]:
            (corners, tints), T, color = shapes[visual["geometry"]], np.reshape(visual["pose"], (4, 4)), visual["color"]
            if len(corners):
                points = (corners @ T[:3, :3].T + T[:3, 3]).reshape(-1, 3)
                self.items.append((visual["body"], points.reshape(-1, 3, 3)))
                self.names.append(visual.get("name", ""))
                colors.append(np.insert(color[:3] * tints + np.zeros((len(corners), 3)), 3, color[3], axis=1))
                rim, T = points[(points @ _DIRECTIONS.T).argmax(axis=0)], poses[:, visual["body"]]
                outer.append(rim @ np.swapaxes(T[:, :3, :3], 1, 2) + T[:, None, :3, 3])
        self.colors = np.concatenate([np.zeros((0, 4)), *colors])  # RGBA of all triangles
        reach = np.concatenate(outer or [poses[:, :, :3, 3]], axis=1)  # (samples, n, 3) the outermost points of shapes
        self.extent = float(np.linalg.norm(np.ptp(reach[0], axis=0))) / 2 or 1.0
        # a motion that flies far away is followed
        self.leaves = bool(np.linalg.norm(np.ptp(reach, axis=(0, 1))) > 12 * self.extent)
        self.room = np.array([f(reach[: 1 if self.leaves else None], axis=(0, 1)) for f in (np.min, np.max)])
        kinds, fixed = [g["kind"] for g in scene["geometries"]], [v for v in scene["visuals"] if not v["body"]]
        below, ground = self.room[0, 2] - 0.02 * self.extent, scene["settings"]["ground"]
        level = [v["pose"][11] for v in fixed if kinds[v["geometry"]] == "plane" and v["pose"][10] > 0.9999]
        level.append(below if below < -0.04 * self.extent else 0)
        self.ground = float(level[0] if ground is None else ground)

    def show_pairs(self, names: list[list[str]], rows: Array) -> None:
        """Show nearest points of collision shapes: their names, and the numbers (frames, n, 7) of ``NearPairs``."""
        self.pairs = names, rows

    def camera(self, frame: int) -> tuple[Array, Array, Array]:
        """Return eye, target and "up" (3,) at a frame: those of the scene, or the first view of the page."""
        given, names = self.scene["camera"] or {}, [body["name"] for body in self.scene["bodies"]]
        floating = [joint["body"] for joint in self.scene["joints"] if joint["kind"] == "free"] or [1]
        body = names.index(given["track"]) if given.get("track") else floating[0] if self.leaves and not given else 0
        (first, now), up = world_poses(self.program, self.q[[0, frame]])[:, body, :3, 3], given.get("up") or (0, 0, 1)
        if given.get("position"):
            return now - first + given["position"], now - first + given["target"], np.array(up)
        # a flat mechanism is seen from its broad side; all from where the box around the motion fills the picture
        half = (self.room[1] - self.room[0]) / 2
        flat, wide = min(half[:2]) < 0.3 * max(half[:2]), half[1] < half[0]
        azimuth, elevation = (-1.22 if wide else -0.35, 0.2) if flat else _VIEW
        back = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
        corners = half * _DIRECTIONS @ _axes(back, up).T
        across = np.abs(corners[:, :2]) / (_HALF_HEIGHT * _FILLED * [self.size[0] / self.size[1], 1])
        target = now if body else self.room.mean(axis=0)
        # a body that is followed may turn
        distance = max((corners[:, 2:] + across).max(), (3.8 if body else 1.2) * np.linalg.norm(half), 1e-6)
        return target + distance * back, target, np.array(up)

    def draw(self, frame: int) -> Array:
        """Return the picture (height, width, 3), 0 … 255, of a frame."""
        (width, height), (eye, target, up) = self.size, self.camera(frame)
        poses, axes = world_poses(self.program, self.q[frame]), _axes(eye - target, up)
        placed = [local @ poses[body, :3, :3].T + poses[body, :3, 3] for body, local in self.items]
        marks, tints = self._marks(frame)
        corners, colors = np.concatenate([np.zeros((0, 3, 3)), *placed, marks]), np.concatenate([self.colors, tints])
        count = len(self.colors)
        hit = touching(self.pairs[0], self.pairs[1][frame])
        is_hit = np.repeat([name in hit for name in self.names], [len(x) for x in placed])
        colors[:count][is_hit, :3] = _TOUCH

        def front(corners: Array) -> tuple[Array, Array]:
            """``nearest`` of triangles on the screen; those that reach behind the eye are left out."""
            seen = (corners - eye) @ axes.T
            seen[reduce(np.maximum, seen[..., 2].T) > -0.02 * np.linalg.norm(eye - target)] = np.nan
            scale = _FINE * height / (2 * _HALF_HEIGHT * seen[..., 2])
            x, y = _FINE * width / 2 - seen[..., 0] * scale, _FINE * height / 2 + seen[..., 1] * scale
            return nearest(x, y, scale, _FINE * width, _FINE * height)

        with np.errstate(all="ignore"):  # triangles behind the eye, the floor above the horizon
            normals = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
            normals *= np.sign(np.einsum("ni,ni->n", normals, eye - corners[:, 0]))[:, None]  # towards the eye
            light = 0.7 + 0.1 * normals[:, 2:] + 0.34 * np.maximum(normals @ _LIGHT, 0)[:, None]
            if not np.array_equal(self.seen_from, [eye, target]):
                self.seen_from, self.backdrop = np.array([eye, target]), self._backdrop(eye, target, axes)
            image = self.backdrop.repeat(_FINE, axis=0).repeat(_FINE, axis=1).reshape(-1, 3)
            depth, solid = np.full(len(image), np.inf), self.colors[:, 3] > 0.995
            # the shadow on the floor, the opaque triangles, the nearest transparent ones
            fall = np.maximum(corners[:count][solid, :, 2:] - self.ground, 0) / _LIGHT[2]
            image[(front(corners[:count][solid] - fall * _LIGHT)[0] >= 0) & (eye[2] > self.ground)] *= 0.75
            for layer in (np.flatnonzero(solid), np.flatnonzero(~solid)):
                owner, near = front(corners[layer])
                shown = np.flatnonzero(near < depth)
                depth[shown], owner = near[shown], layer[owner[shown]]
                image[shown] += (colors[owner, :3] * light[owner] - image[shown]) * colors[owner, 3:]
            if len(marks):  # inside of bodies they are faint
                owner, near = front(marks)
                shown = np.flatnonzero(owner >= 0)
                strength = np.where(near[shown] < depth[shown], 1.0, 0.5)[:, None]
                image[shown] += (tints[owner[shown], :3] - image[shown]) * strength
        fine = image.reshape(_FINE * height, _FINE * width, 3)
        total = reduce(np.add, [fine[i::_FINE, j::_FINE] for i, j in product(range(_FINE), repeat=2)])
        return (total * (255 / _FINE**2) + 0.5).clip(0, 255).astype(np.uint8)

    def _marks(self, frame: int) -> tuple[Array, Array]:
        """Triangles (n, 3, 3) and colours (n, 4) of the lines between nearest points, with a ball at each end."""
        rows, thin = self.pairs[1][frame], 0.004 * self.extent
        parts, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 4))]
        ball, _ = _triangles({"kind": "sphere", "size": [3 * thin] * 3})
        rod, _ = _triangles({"kind": "cylinder", "size": [thin, 1]})
        for row in rows[np.isfinite(rows).all(axis=1)].astype(float):
            a, b, length = row[:3], row[3:6], np.linalg.norm(row[3:6] - row[:3])
            own = [ball + a, ball + b]
            if length > thin:
                own.append(rod * [1, 1, length] @ turned_to(b - a).T + (a + b) / 2)
            parts += own
            colors.append(np.tile([*(_DEEP if row[6] < 0 else _NEAR), 1.0], (sum(map(len, own)), 1)))
        return np.concatenate(parts), np.concatenate(colors)

    def _backdrop(self, eye: Array, target: Array, axes: Array) -> Array:
        """The background and the lines of the floor, which fade with the distance: (height, width, 3)."""
        width, height = self.size
        x, y = np.meshgrid((2 * np.arange(width) + 1) / width - 1, (2 * np.arange(height) + 1) / height - 1)
        rays = _unit(np.stack([x * width / height, -y, 0 * x - 1 / _HALF_HEIGHT], axis=-1)) @ axes
        far, distance = (self.ground - eye[2]) / rays[..., 2:], float(np.linalg.norm(eye - target))
        at = (eye + far * rays)[..., :2]
        scale = 0.42 * max(self.extent, 0.25 * distance)
        cell = max(c for c in 10 ** np.floor(np.log10(scale)) * np.array([1, 2, 5]) if c <= scale * 1.000001)
        pixel = (np.abs(np.gradient(at, axis=0)) + np.abs(np.gradient(at, axis=1))) / cell
        lines = np.clip(1 - np.abs((at / cell - 0.5) % 1 - 0.5) / pixel, 0, 1) * np.clip(1.3 - 5 * pixel, 0, 1)
        away = np.hypot(*np.moveaxis(at - target[:2], -1, 0))[..., None] / (4 * max(distance, 2 * self.extent))
        fade = 0.2 * np.clip(1 - away, 0, 1) ** 2 * np.clip(np.abs(rays[..., 2:]) / 0.12, 0, 1) * (far > 0)
        paper = _PAPER + (_SKY - _PAPER) * np.clip(np.hypot(x, y) / 1.2, 0, 1)[..., None] ** 2
        return paper + (_INK - paper) * np.nan_to_num(np.maximum(lines[..., :1], lines[..., 1:]) * fade)


def nearest(x: Array, y: Array, z: Array, width: int, height: int) -> tuple[Array, Array]:
    """Return the index (height · width,) of the triangle with the smallest z at each pixel, else -1, and that z.

    x, y (n, 3) [pixels] of the corners from the upper left, and z, which is linear on the screen.
    """
    front, owner = np.full(width * height, np.inf), np.full(width * height, -1)
    (x1, x2), (y1, y2), (z1, z2) = ((a[:, 1:] - a[:, :1]).T for a in (x, y, z))
    area = x1 * y2 - x2 * y1
    along, down = (z1 * y2 - z2 * y1) / area, (x1 * z2 - x2 * z1) / area
    y = np.where((area != 0)[:, None], y, np.nan)
    wide, high = (reduce(np.maximum, a.T) - reduce(np.minimum, a.T) for a in (x, y))
    crossed = np.cumsum(np.nan_to_num(wide.clip(1, width) * high.clip(1, height)))
    ends = np.searchsorted(crossed, np.arange(_AT_ONCE, crossed[-1:].sum(), _AT_ONCE))
    for part in np.split(np.arange(len(x)), ends):
        k, row = _pixels(y[part], height)
        t, middle, cuts = part[k], row + 0.5, np.full((len(k), 3), np.nan)
        for a, b in ((0, 1), (1, 2), (2, 0)):
            cut = x[t, a] + (middle - y[t, a]) * ((x[t, b] - x[t, a]) / (y[t, b] - y[t, a]))
            cuts[:, a] = np.where((y[t, a] <= middle) != (y[t, b] <= middle), cut, np.nan)
        k, column = _pixels(cuts, width)
        t, pixel = t[k], row[k] * width + column
        depth = z[t, 0] + (column + 0.5 - x[t, 0]) * along[t] + (middle[k] - y[t, 0]) * down[t]
        np.minimum.at(front, pixel, depth)
        won = depth == front[pixel]
        owner[pixel[won]] = t[won]
    return owner, front


def _pixels(ends: Array, most: int) -> tuple[Array, Array]:
    """(k, i) of each pixel i, 0 … most - 1, whose middle lies between the ends (n, m) of interval k; NaN are none."""
    extremes = reduce(np.fmin, ends.T), reduce(np.fmax, ends.T)
    low, high = (np.ceil(np.nan_to_num(x) - 0.5).clip(0, most).astype(np.int64) for x in extremes)
    k = np.repeat(np.arange(len(ends)), high - low)
    return k, np.arange(len(k)) - (np.cumsum(high - low) - high)[k]


def _unit(x: Array) -> Array:
    return x / np.sqrt(np.einsum("...i,...i->...", x, x))[..., None]  # five times as fast as linalg.norm


def _axes(back: Array, up: Any) -> Array:
    """The axes (3, 3) of a picture in rows: right, up, towards the eye, which is in the direction ``back``."""
    side = np.cross(_unit(np.array(up)), _unit(back))
    right = _unit(side) if np.linalg.norm(side) > 1e-6 else np.array([-np.sin(_VIEW[0]), np.cos(_VIEW[0]), 0])
    return np.array([right, np.cross(_unit(back), right), _unit(back)])


def _triangles(geometry: dict[str, Any]) -> tuple[Array, Array]:
    """Corners (n, 3, 3) of a geometry's triangles, none of a plane, and colours (n or 1, 3) that multiply its own."""
    kind, size = geometry["kind"], np.maximum(np.abs(geometry.get("size", (1.0,))), 1e-9)
    points, faces, colors = (_array(geometry.get(key)).reshape(-1, 3) for key in ("positions", "indices", "colors"))
    arc, r, h = np.linspace(-np.pi / 2, np.pi / 2, 20), size[0], size[-1]
    ball, rod = np.stack([np.cos(arc), np.sin(arc)], axis=1), np.array([(0, -0.5), (1, -0.5), (1, 0.5), (0, 0.5)])
    if kind == "mesh":
        return points[faces].astype(float), colors[faces[:, 0]] / 255 if len(colors) else np.ones((1, 3))
    if kind == "line":  # a narrow strip
        a, b, thin = points[:-1], points[1:], 0.006 * float(np.linalg.norm(np.ptp(points, axis=0)))
        return np.stack([a, b, b + thin, a, b + thin, a + thin], axis=1).reshape(-1, 3, 3), np.ones((1, 3))
    profile, scale = {
        "box": (rod * [np.sqrt(0.5), 1], size),
        "cylinder": (rod * [r, h], 1),
        "cone": (np.array([(0, -h / 4), (r, -h / 4), (0, 0.75 * h)]), 1),
        "capsule": (r * ball + np.outer(np.sign(arc), (0, h / 2)), 1),
        "sphere": (ball, size),
        "ellipsoid": (ball, size),
    }.get(kind, (ball[:1], 1))
    return _turned(profile, 4 if kind == "box" else 48) * scale, np.ones((1, 3))


def _array(packed: dict[str, Any] | None) -> Array:
    return np.zeros(0, int) if packed is None else np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"])


def _turned(profile: Array, columns: int) -> Array:
    """The surface of revolution about z of points (n, 2), radius and height: triangles (m, 3, 3)."""
    (radius, height), angle = profile.T[..., None], (np.arange(columns + 1) + 0.5) * (2 * np.pi / columns)
    grid = np.stack([radius * np.cos(angle), radius * np.sin(angle), height + 0 * angle], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    return np.stack([a, b, c, a, c, d], axis=2).reshape(-1, 3, 3)
