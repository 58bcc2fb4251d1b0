"""The original model constructors: scalable trees, the course's examples, and a sample of drawing instructions.

``appearance`` holds drawing instructions as data: a list of names and their arguments, in which nested lists are
groups with their own colours; one list for the base and one per body.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd import zoo
from sixd.errors import ModelError
from sixd.io.spatial_v2.matlab import count, scalar
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial_v2.algebra import mcI, plnr
from sixd.spatial_v2.floating import floatbase
from sixd.spatial_v2.structure import Struct


def autoTree(nb: int, bf: float = 1, skew: float = 0, taper: float = 1) -> Struct:
    """Return a tree of ``nb`` thin tubes on revolute joints about z, with branching factor ``bf`` ≥ 1.

    Link i is ``taper`` times as long as link i - 1, and of the same shape; link 1 has 1 m and 1 kg. Successive joint
    axes are skewed by ``skew`` [rad].
    """
    n = count("autoTree", "nb", nb, 1)
    bf, skew, taper = (scalar("autoTree", name, x) for name, x in (("bf", bf), ("skew", skew), ("taper", taper)))
    if not bf >= 1:
        raise ModelError(f"autoTree: bf is {bf}, expected a branching factor of at least 1.")
    lengths = [taper**i for i in range(n)]
    links = [[*_along(l, 0.05 * l), "cyl", _pair([0, 0, 0.07 * l]), 0.07 * l] for l in lengths]
    return Struct(NB=n, jtype=["R"] * n, **_bodies(zoo.autotree(n, bf, skew, taper)), appearance=_on_block(links))


def planar(n: int) -> Struct:
    """Return a planar chain of ``n`` unit thin rods (1 kg, 1 m) on joints r, no gravity."""
    n = count("planar", "n", n, 1)
    Xtree, I = [plnr(0.0, [1 if i else 0, 0]) for i in range(n)], [mcI(1.0, [0.5, 0], 1 / 12) for _ in range(n)]
    links = _on_block([[*_bar(1.0, 0.05), "cyl", _pair([0, 0, 0.07]), 0.1] for _ in range(n)])
    return Struct(NB=n, parent=np.arange(n), jtype=["r"] * n, Xtree=Xtree, I=I, appearance=links)


def vee(L2: float = 1) -> Struct:
    """Return two rods floating without gravity, each at 45° to joint 7, which connects their ends.

    The first has 1 m and 1 kg, the second has length [m] and mass [kg] ``L2``.
    """
    model = _floating(zoo.vee(L2), "R")
    direction = np.array([0, 1, 1]) / np.sqrt(2)
    _draw(model, _along(1.0, 0.01), ["cyl", np.array([np.zeros(3), L2 * direction]), 0.01])
    model.camera = Struct(direction=np.array([0, -1, 0.3]), zoom=0.6)
    return model


def singlebody() -> Struct:
    """Return a box 3×2×1 m of 1 kg, one corner at its origin, floating without gravity."""
    model = _floating(zoo.single_body())
    _draw(model, ["colour", np.array([0.7, 0.5, 0.3]), "box", np.array([[0, 0, 0], [3, 2, 1]])])
    model.camera = Struct(direction=np.array([0, -1, 0.4]), zoom=0.3)
    return model


def scissor() -> Struct:
    """Return two plates 0.2×0.1×1 m of 1 kg, side by side, joined by joint 7 about y; floating without gravity."""
    model = _floating(zoo.scissor(), "Ry")
    _draw(model, *(["box", np.array([[-0.1, y, -0.5], [0.1, y + 0.1, 0.5]])] for y in (-0.1, 0.0)))
    return model


def doubleElbow() -> Struct:
    """Return a planar arm of two unit rods with a geared pair of elbows: q3 = q2, through a massless link."""
    rod = mcI(1.0, [0.5, 0], 1 / 12)
    return Struct(
        NB=3,
        parent=np.array([0, 1, 2]),
        jtype=["r"] * 3,
        Xtree=[plnr(0.0, [x, 0]) for x in (0, 1, 0.25)],
        I=[rod, np.zeros((3, 3)), rod.copy()],
        gamma_q=_elbow_gear,
        appearance=Struct(base=[], body=[_bar(length, half) for length, half in ((1, 0.05), (0.25, 0.07), (1, 0.05))]),
    )


def _elbow_gear(model: Mapping[str, Any], qo: ArrayLike, qdo: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """Return the constraint q3 = q2, stabilised with a time constant of 0.1 s."""
    Ts = 0.1
    qo, qdo = np.asarray(qo, dtype=float), np.asarray(qdo, dtype=float)
    G = np.array([[1.0, 0], [0, 1], [0, 1]])
    q, qd = G @ qo[:2], G @ qdo[:2]
    return q, qd, G, 2 / Ts * (qd - qdo) + (q - qo) / Ts**2


def rollingdisc(npt: int) -> Struct:
    """Return a free disc (R = 5 cm, 1 cm thick, 3000 kg/m³) above the ground, with ``npt`` contact points on each rim.

    Its axis is the body's y axis; the camera follows it.
    """
    n = count("rollingdisc", "npt", npt, 1)
    R, T = 0.05, 0.01
    disc = zoo.rolling_disc(n)
    model = _floating(disc)
    del model["gravity"]
    points = [disc.frames[f"contact{k}"].pose[:3, 3] for k in range(2 * n)]
    model.gc = Struct(body=np.full(2 * n, 6), point=np.array(points).T)
    _draw(model, ["facets", n, "cyl", _pair([0, T / 2, 0]), R] if n >= 3 else ["cyl", _pair([0, T / 2, 0]), R])
    model.appearance["base"] = ["tiles", np.array([[-0.1, 1], [-0.3, 1], [0, 0]]), 0.1]
    direction, up = np.array([0, -3, 1]), np.array([0, 0, 1])
    model.camera = Struct(body=6, trackpoint=np.zeros(3), direction=direction, up=up, zoom=0.5)
    return model


def gfxExample(track: object = None) -> Struct:
    """Return ``planar(2)`` with a sample of every drawing instruction; with ``track`` the camera follows body 2."""
    model = planar(2)
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]])
    faces = np.array([[1, 3, 2], [1, 2, 4], [2, 3, 4], [1, 4, 3]])
    red, green, blue = np.eye(3)
    model.appearance = Struct(
        base=[
            ["tiles", np.array([[-1, 3], [-2, 2], [-0.3, -0.3]]), 0.5],
            ["colour", np.array([0.2, 0.2, 0.2]), "line", np.array([[-1, 0, 0], [3, 0, 0]])],
        ],
        body=[
            [*_bar(1.0, 0.05), "facets", 32, "cyl", _pair([0, 0, 0.1]), 0.12],
            ["colour", red, *_along(1.0, 0.05), ["colour", np.array([green, blue]), "sphere", np.array([1, 0, 0]), 0.1],
             ["vertices", corners, "triangles", faces, "colour", blue, "line", np.array([1, 2, 3, 1])]],
        ],
    )  # fmt: skip
    if track is not None:
        model.camera = Struct(body=2, trackpoint=np.array([0.5, 0, 0]), zoom=0.4)
    return model


# parts ------------------------------------------------------------------------------------------


def _bodies(model: Model) -> dict[str, Any]:
    """Return parents, Xtree and I of a sixd model, as fields."""
    fields = {"Xtree": [np.array(X) for X in model.X_tree[1:]], "I": [np.array(I) for I in model.inertia[1:]]}
    return {"parent": np.array(model.parent[1:]), **fields}


def _floating(model: Model, *jtypes: str) -> Struct:
    """Return a sixd model on a free joint, with ``jtypes`` for the others, as a floating-base model without gravity."""
    return floatbase(Struct(NB=model.nb, jtype=["R", *jtypes], **_bodies(model), gravity=np.zeros(3)))


def _draw(model: Struct, *bodies: list[Any]) -> None:
    """Set the drawing instructions of the floating bodies; the first five bodies have none."""
    model.appearance = Struct(base=[], body=[[] for _ in range(5)] + list(bodies))


def _on_block(body: list[Any]) -> Struct:
    """Return the appearance of bodies on a fixed block."""
    return Struct(base=["box", np.array([[-0.2, -0.3, -0.2], [0.2, 0.3, -0.07]])], body=body)


def _along(length: float, radius: float) -> list[Any]:
    """Return a cylinder along x, from the origin."""
    return ["cyl", np.array([[0, 0, 0], [length, 0, 0]]), radius]


def _bar(length: float, half: float) -> list[Any]:
    """Return a square bar along x, from the origin, with half thickness ``half``."""
    return ["box", np.array([[0, -half, -half], [length, half, half]])]


def _pair(half: list[float]) -> Array:
    """Return the centres (2, 3) of a cylinder's end faces, at plus and minus ``half``."""
    return np.array([-np.array(half), np.array(half)])
