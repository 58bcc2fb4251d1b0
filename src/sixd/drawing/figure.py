"""draw: a mechanism as a figure in a textbook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.drawing import bodies, ground, joint_symbols, markings, sample
from sixd.drawing.canvas import Canvas
from sixd.drawing.drawing import Drawing
from sixd.drawing.labels import expression
from sixd.drawing.pen import BAR, Pen
from sixd.drawing.single import draw_single, read_pose
from sixd.drawing.view import View, choose_view
from sixd.errors import ModelError, ScalarTypeError, ShapeError, unknown_name
from sixd.geometry.inertias import principal
from sixd.geometry.pieces import axis_of, box_corners
from sixd.model.model import Model
from sixd.model.parts import Shape
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array, is_number
from sixd.trajectory.labels import tree_behind

_WIDE, _HIGH = 420.0, 300.0  # px that the mechanism fills
_LINKS = ("bars", "shapes")


def draw(
    model: Any,
    q: Any = None,
    *,
    view: Any = None,
    values: Mapping[Any, Any] | None = None,
    links: str = "bars",
    frames: Any = None,
    names: bool | None = None,
    coordinates: Any = None,
    dimensions: bool | None = None,
    masses: bool | None = None,
    gravity: bool | None = None,
    arrows: Mapping[str, Any] | None = None,
    title: str | None = None,
) -> Drawing:
    """Draw a mechanism, or a single body, as a figure in a textbook.

    Links are bars, joints have their usual symbols (a hinge is a circle or a cylinder, by the direction from which it
    is seen), joints on the world stand on hatched ground. What is None below is decided by the size of the mechanism.

    Parameters
    ----------
    model : a ``sixd.Model``, of numbers or symbols, a reduced model, an ``Inertia`` or a ``Shape``.
    q : (nq,) numbers, or symbols, which become the labels of the coordinates; None is a configuration that shows how
        the joints move, with loops closed.
    view : None looks along the common axis of a planar mechanism, else obliquely. Or "front", "top", "side", "iso", or
        the direction (3,) in world axes towards the reader.
    values : numbers for symbols, by symbol or name: lengths for the picture only, labels stay as they are written.
    links : "bars", or "shapes" for the outlines of the model's shapes.
    frames : True (the world and all bodies), False, names of frames, or a mapping from names to poses (4, 4) in the
        world; for an ``Inertia`` or a ``Shape`` in its own frame.
    names, dimensions, masses, gravity : whether to show names of bodies, lengths [m], centres of mass, gravity.
    coordinates : whether to show them, or their labels, one for each entry of q.
    arrows : {label: (point (3,), vector (3,))} in world axes [m].
    title : title of the figure for readers of the page's text; the model's name if omitted.

    Returns
    -------
    A ``Drawing``: shows itself in a notebook; ``save("arm.svg")`` writes it, ``svg`` is its text.

    >>> import sixd
    >>> sixd.draw(sixd.zoo.two_link_arm(), coordinates=["θ1", "θ2"]).title
    'two_link_arm'
    """
    if links not in _LINKS:
        raise unknown_name("draw: links", "word", links, _LINKS)
    extra = _read_arrows(arrows)
    if isinstance(model, (Inertia, Shape)):
        return draw_single(model, view=view, values=values, frames=frames, dimensions=dimensions, arrows=extra,
                           title=title)  # fmt: skip
    source = tree_behind(model)
    if source is None:
        raise ScalarTypeError(
            f"draw: model is a {type(model).__name__}, expected a sixd.Model, an Inertia or a Shape. See sixd.load."
        )
    figure = _Figure(source, q, view, values, links)
    figure.draw_mechanism()
    few = source.nb <= 4
    if _chosen(dimensions, few):
        figure.draw_dimensions(every=dimensions is not None)
    if _chosen(masses, few):
        figure.draw_masses()
    figure.draw_frames(frames)
    figure.draw_coordinates(coordinates)
    if _chosen(names, 1 < source.nb <= 8):
        figure.draw_names()
    for text, (at, vector) in extra.items():
        markings.draw_arrow(figure.pen, at, vector, text)
    if _chosen(gravity, True):
        figure.draw_gravity()
    name = title if title is not None else source.name
    return Drawing(*figure.pen.canvas.svg(name), name)


def _chosen(asked: Any, otherwise: bool) -> bool:
    return otherwise if asked is None else bool(asked)


def _read_arrows(arrows: Any) -> dict[str, tuple[Array, Array]]:
    found = {}
    for text, pair in dict(arrows or {}).items():
        try:
            at, vector = (np.asarray(x, dtype=float) for x in pair)
        except (TypeError, ValueError):
            at = vector = np.zeros(0)
        if at.shape != (3,) or vector.shape != (3,) or not np.isfinite([at, vector]).all():
            raise ShapeError(
                f"draw: arrows[{text!r}] is {pair!r}, expected a point and a vector of three numbers each."
            )
        found[str(text)] = (at, vector)
    return found


class _Figure:
    """A mechanism with numbers, its poses, and the pen that draws it."""

    def __init__(self, source: Model, q: Any, view: Any, values: Any, links: str) -> None:
        self.source, self.links = source, links
        self.model = sample.with_numbers(source, values)
        self.q, self.named = sample.read_configuration(self.model, q)
        self.poses = np.concatenate([np.eye(4)[None], np.asarray(body_poses(self.model, self.q), dtype=float)])
        self.pieces = bodies.body_pieces(self.model, self.poses, links)
        seen = choose_view(self.model, self.poses, view)
        self.pen = Pen(Canvas(), View(seen.axes, seen.planar, self._scale(seen)))
        self.roots = [i for i in self.model.bodies if self.model.parent[i] == 0]

    def _scale(self, view: View) -> float:
        points = [self.poses[i][:3, 3] for i in (0, *self.model.bodies)]
        points += [(self.poses[p.body] @ np.append(p.pose[:3, 3], 1))[:3] for p in self.pieces]
        points += list(box_corners([p for p in self.pieces if p.kind != "sphere"], self.poses))
        for piece in (p for p in self.pieces if p.kind == "sphere"):
            centre = (self.poses[piece.body] @ piece.pose)[:3, 3]
            points += [centre + s * piece.size[0] * axis for s in (-1, 1) for axis in view.axes[:2]]
        for i in self.model.bodies:
            joint: Any = self.model.joints[i]
            if joint.symbol == "pinion":
                points += [self.poses[i][:3, 3] + s * float(joint.radius) * e for s in (-1, 1) for e in np.eye(3)]
        size = np.ptp(view.page(points), axis=0)
        wide = _WIDE if self.model.nb > 1 else 0.7 * _WIDE
        return float(min(wide / max(size[0], 1e-9), _HIGH / max(size[1], 1e-9), 1e9)) if size.max() > 1e-9 else 200.0

    # the mechanism --------------------------------------------------------------------------------

    def draw_mechanism(self) -> None:
        """Draw ground, links, joints and constraints."""
        model, pen = self.model, self.pen
        based = self.links == "shapes" and any(p.body == 0 for p in self.pieces)
        for i in self.roots if not based else ():
            along = self.along(i)
            towards = np.zeros(3) if along is None else self.poses[i][:3, :3] @ along
            ground.draw_support(pen, model, i, self.poses, pen.view.direction(towards))
        bodies.draw_bodies(pen, self.pieces, self.poses, self.links)
        for i in model.bodies:
            if model.joints[i].symbol == "slide":
                self._rail(i)
            if model.joints[i].symbol == "none":  # a dashed line from the world to a floating body
                start = self.poses[model.parent[i]] @ model.placement[i]
                a, b = pen.view.page(start[:3, 3]), pen.view.page(self.poses[i][:3, 3])
                if np.hypot(*(b - a)) > 20:
                    pen.canvas.line("behind", "d", [a, b])
            joint_symbols.draw_joint(pen, model, i, self.poses)
        for constraint, labelled in zip(model.constraints, self.source.constraints, strict=True):
            ground.draw_constraint(pen, model, constraint, self.poses, labelled)

    def _rail(self, i: int) -> None:
        start, end = joint_symbols.rail_ends(self.pen, self.model, i, self.poses)
        if self.model.parent[i] == 0 and self.pen.view.planar:
            a, b = self.pen.view.page(start), self.pen.view.page(end)
            side = np.array([a[1] - b[1], b[0] - a[0]]) / np.hypot(*(b - a))
            side = side if side[1] > 0 or (side[1] == 0 and side[0] > 0) else -side
            ground.hatched_line(self.pen, a + side * 11, b + side * 11, side)
            return
        if self.model.parent[i] == 0:
            ground.plate(self.pen, start, self.pen.px(22), self.pen.px(18))
        depth = self.pen.depth((start + end) / 2, self.model.parent[i] - 1000.5)
        self.pen.canvas.bar("solid", "b", self.pen.view.page(start), self.pen.view.page(end), BAR, depth=depth)

    def along(self, i: int) -> Array | None:
        """The direction (3,) of body i's link in its frame: of its first rod, else to its centre of mass."""
        for piece in self.pieces:
            if piece.body == i and bodies.is_rod(piece):
                p = piece.pose[:3, 3]
                if np.linalg.norm(p) > 1e-9:
                    return np.asarray(p / np.linalg.norm(p))
        for k in self.model.bodies:
            if self.model.parent[k] == i and self.model.joints[k].symbol == "slide":
                axis = axis_of(self.model.joints[k])
                return np.asarray(self.model.placement[k][:3, :3] @ axis)
        points = [self.model.placement[k][:3, 3] for k in self.model.bodies if self.model.parent[k] == i]
        body = principal(self.model, i)
        points += [body.com] if body is not None else []
        for p in points:
            if np.linalg.norm(p) > 1e-9:
                return np.asarray(p / np.linalg.norm(p))
        return None

    # what is written on it ------------------------------------------------------------------------

    def draw_dimensions(self, *, every: bool) -> None:
        """Draw the lengths between joints, to named points, and to centres of mass; ``every`` also across axes."""
        model, source = self.model, self.source
        for i in (0, *model.bodies):
            T, ends = self.poses[i], self._ends(i)
            shown: list[Array] = []
            for numbers, labelled in ends:
                text = markings.length_label(labelled, any_direction=every)
                if text is None or any(np.linalg.norm(numbers - p) < 1e-9 for p in shown):
                    continue
                shown.append(numbers)
                markings.dimension(self.pen, T[:3, 3], (T @ np.append(numbers, 1))[:3], text)
            joint: Any = model.joints[i]
            if joint.symbol == "pinion":
                text = expression(source.joints[i].radius)
                out = self.poses[model.parent[i]][:3, :3] @ model.placement[i][:3, :3] @ (0.0, -1.0, 1.5)
                markings.radius_mark(self.pen, T[:3, 3], out, abs(float(joint.radius)), text)
            body = principal(model, i) if i else None
            if body is None or any(np.linalg.norm(body.com - p) < 1e-9 for p in shown):
                continue
            text = markings.length_label(sample.centre_label(source, i), any_direction=every)
            if text is not None and np.linalg.norm(body.com) > 1e-9:
                markings.dimension(self.pen, T[:3, 3], (T @ np.append(body.com, 1))[:3], text)

    def _ends(self, i: int) -> list[tuple[Array, Array]]:
        """Points (3,) of body i that joints and frames are at: as numbers, and as the model has them."""
        model, source = self.model, self.source
        found = [(model.placement[k][:3, 3], source.placement[k][:3, 3]) for k in model.bodies if model.parent[k] == i]
        for name, frame in model.frames.items():
            if i and frame.body == i and name not in model.body_names and not name.startswith("joint:"):
                found.append((frame.pose[:3, 3], source.frames[name].pose[:3, 3]))
        found = [(np.asarray(p, dtype=float), labelled) for p, labelled in found]
        found = [(p, labelled) for p, labelled in found if np.linalg.norm(p) > 1e-9]
        return found if len(found) <= 4 else []

    def draw_masses(self) -> None:
        """Draw the centres of mass, with symbols of masses where the model has symbols."""
        for i in self.model.bodies:
            body = principal(self.model, i)
            if body is None:
                continue
            mass = self.source.inertia[i][5, 5]
            text = "" if is_number(mass) else expression(mass)
            markings.draw_centre(self.pen, (self.poses[i] @ np.append(body.com, 1))[:3], text)

    def draw_frames(self, frames: Any) -> None:
        """Draw the frames that the user asks for; those of a small mechanism in space if not asked."""
        model, pen = self.model, self.pen
        if frames is None:
            floating = any(not model.joints[i].is_held for i in self.roots)
            flat = pen.view.planar and not floating and model.joints[1].symbol != "pinion"
            frames = () if model.nb > 3 or flat else self._own_frames()
            frames = ("world", *frames)
        elif isinstance(frames, (bool, np.bool_)):
            frames = ("world", *model.body_names) if frames else ()
        elif isinstance(frames, str):
            frames = (frames,)
        if isinstance(frames, Mapping):
            for name, pose in frames.items():
                markings.draw_frame(pen, read_pose(name, pose), str(name), name=str(name))
            return
        for name in _names(frames):
            frame = model.frame(name, "draw")
            T = self.poses[frame.body] @ np.asarray(frame.pose, dtype=float)
            number = model.body_names.index(name) + 1 if name in model.body_names else 0
            below = "" if name == "world" else str(number) if number else name
            near = any(np.linalg.norm(T[:3, 3] - self.poses[i][:3, 3]) < pen.px(5) for i in self.roots)
            size = 50 if name == "world" else 36
            markings.draw_frame(pen, T, below, size=size, flat=pen.view.planar and near)

    def _own_frames(self) -> list[str]:
        """The bodies with a frame worth showing: with mass, neither at the world's frame nor on other joints."""
        model = self.model
        found = [i for i in model.bodies if model.inertia[i].any() and not np.allclose(self.poses[i], np.eye(4))]
        return [model.body_names[i - 1] for i in found if self._before(i) == 0]

    def draw_coordinates(self, coordinates: Any) -> None:
        """Draw the joints' coordinates, with q1, q2, … or the user's labels."""
        model, labels = self.model, self.named or [f"q{k + 1}" for k in range(self.model.nq)]
        shown = model.nb <= 8
        if isinstance(coordinates, (bool, np.bool_)):
            shown = bool(coordinates)
        elif coordinates is not None:
            labels, shown = [str(x) for x in _names(coordinates)], True
            if len(labels) != model.nq:
                raise ShapeError(f"draw: coordinates has {len(labels)} labels, expected {model.nq} for {model.name!r}.")
        for i in model.bodies if shown else ():
            own, before = model.iq[i], self._before(i)
            markings.draw_coordinates(self.pen, model, i, self.q[own], self.poses, labels[own], self.along(i), before)

    def _before(self, i: int) -> int:
        """How many joints before that of body i are at the same point."""
        p = self.poses[i][:3, 3]
        near = [k for k in self.model.bodies if k < i and np.linalg.norm(self.poses[k][:3, 3] - p) < self.pen.px(5)]
        return len(near)

    def draw_names(self) -> None:
        """Write the bodies' names next to them."""
        for i, name in enumerate(self.model.body_names, start=1):
            rods = [p for p in self.pieces if p.body == i]
            body = principal(self.model, i)
            if not rods and body is None:
                continue  # a massless body without extent
            p = rods[0].pose[:3, 3] if rods or body is None else body.com
            at = self.pen.view.page((self.poses[i] @ np.append(p, 1))[:3])
            self.pen.canvas.label(at, name, towards=(1, 1), gap=9, plain=True)

    def draw_gravity(self) -> None:
        """Draw gravity's arrow, unless there is none."""
        g = np.asarray(self.model.gravity, dtype=float)
        if g.any():
            symbols = [str(x).lstrip("-") for x in self.source.gravity if not is_number(x)]
            markings.draw_gravity(self.pen, g, symbols[0] if symbols else "g")


def _names(given: Any) -> Sequence[Any]:
    try:
        return list(given)
    except TypeError:
        raise ModelError(f"draw: got {given!r}, expected True, False or a sequence of names.") from None
