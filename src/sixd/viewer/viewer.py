"""Viewer: a mechanism and its motions in a page of the browser; ``sixd.view`` makes one.

The modules of the server, the page and the scene are imported when a viewer is made.
"""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.atomic import write_together
from sixd.errors import FileError, ScalarTypeError
from sixd.model.system import System
from sixd.notebook import kernel
from sixd.viewer import session

if TYPE_CHECKING:
    from sixd.viewer.scene.nearest import NearPairs

_CHECK = 0.5  # [s] between checks whether a viewer is closed: on some systems Ctrl-C does not interrupt a longer wait
_RECORDED = ("trajectory", "ghost", "names", "distances", "pairs")  # arguments of view that live pages do not have


class Viewer:
    """A page in the browser, served on this machine until ``close``, the end of a ``with`` block, or of the program.

    ``url`` is its address; ``save_html(path)`` writes it as one file that needs neither server nor network. With
    SIXD_VIEW=off in the environment nothing is served, and ``url`` is empty.
    """

    def __init__(self, system: System, scene: dict[str, Any], port: int = 0, near: NearPairs | None = None) -> None:
        from sixd.viewer.server import Server

        self.system, self.scene, self._near = system, scene, near
        self._server = None if session.is_off() else Server(lambda: self._page(is_served=True), port)

    @property
    def url(self) -> str:
        """The page's address, valid on this machine only; empty if the page is not served."""
        return "" if self._server is None else self._server.url

    @property
    def is_open(self) -> bool:
        """Whether the page is served."""
        return self._server is not None and self._server.is_open

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what is not shown: missing meshes, rollouts left out, records thinned."""
        return tuple(self.scene["notes"])

    def show(self, q: Any) -> None:
        """Show the configuration q (nq,) in all open pages, and in pages saved or opened later."""
        from sixd.viewer.scene.scene import read_configuration

        found = read_configuration(self.system, q).tolist()
        pairs = None if self._near is None else self._near.pack(np.array([found]), [])
        self.scene = {**self.scene, "q": found, "pairs": pairs}
        if self._server is not None:
            self._server.state.set(found, pairs)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path. The page plays offline."""
        target = Path(path).expanduser()
        if target.is_dir() or not target.name:
            raise FileError(f"save_html: {str(path)!r} is a folder, expected the name of a file.")
        write_together({target: self._page(is_served=False)}, f"save_html: cannot write {str(path)!r}")
        return target

    def close(self) -> None:
        """Stop serving the page; pages that are open stay as they are."""
        if self._server is not None:
            self._server.close()

    def wait(self) -> None:
        """Serve until the viewer is closed, or Ctrl-C, which closes it."""
        with suppress(KeyboardInterrupt):
            self.until_closed()
        self.close()

    def until_closed(self) -> None:
        """Serve until the viewer is closed; Ctrl-C raises KeyboardInterrupt."""
        if self._server is not None:
            while not self._server.closed.wait(_CHECK):
                pass

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _page(self, *, is_served: bool) -> str:
        from sixd.viewer.page import html as page

        return page({**self.scene, "server": "/state"} if is_served else self.scene)

    def _repr_html_(self) -> str:
        """The page inside a notebook."""
        text = html.escape(self._page(is_served=False), quote=True)
        return (
            f'<iframe srcdoc="{text}" sandbox="allow-scripts" style="width: 100%; height: 540px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        where = self.url if self.is_open else "closed" if self._server is not None else "not served (SIXD_VIEW=off)"
        return f"<Viewer of {self.system.name!r}: {where}>"


def view(
    model: System,
    trajectory: Any = None,
    *,
    q: Any = None,
    ghost: bool = False,
    names: Sequence[str] | None = None,
    port: int = 0,
    open_browser: bool | None = None,
    block: bool | None = None,
    camera: Mapping[str, Any] | None = None,
    title: str | None = None,
    live: bool = False,
    qd: Any = None,
    parameters: Mapping[Any, Any] | None = None,
    dt: float | None = None,
    method: str = "rk4",
    controller: Any = None,
    forces: Any = (),
    trace: str | Sequence[str] | None = None,
    collisions: bool = False,
    distances: bool | float = False,
    pairs: Any = None,
) -> Viewer:
    """Show a mechanism, or its motions, in a page of the browser; with ``live=True`` in a page that simulates it.

    Returns at once and prints the page's address. A script that was started from a terminal waits at its end until
    Ctrl-C while a viewer is open; see ``block``. Without a terminal it does not, and only ``url`` has the address.

    Without a trajectory the joints have sliders; a trajectory is played, with plots of energy and coordinates next
    to it. Bodies are drawn with the shapes and meshes of the robot's file, or as sticks between their joints.

    A **live** page computes the motion itself, by the same steps as ``sixd.simulate``, while one looks at it, also as a
    saved file: bodies can be grabbed and pulled, sliders change gravity, damping and parameters, and energy, momentum
    and coordinates are plotted as they come.

    Parameters
    ----------
    model : a ``sixd.Model``, a reduced model, or another system with bodies.
    trajectory : a ``Trajectory``, a path of ``sixd.plan_path`` (at 1 rad/s and m/s), a pair (t, q) of arrays (r,) and
        (…, r, nq), or several of them in a list or in a dictionary by name. Rows of a batch, at most 16, are shown side
        by side.
    q : (nq,) the first configuration.
    ghost : show several motions at the same position, all but the first transparent.
    names : names of the trajectories, one each.
    port : port of the page on 127.0.0.1; 0 chooses a free port.
    open_browser : whether to open the page; None opens it from a terminal with a display. False does not print the
        address either.
    block : True waits in this call until Ctrl-C or ``close``; False never waits. None waits at the end of a script, but
        not if it ends with a traceback, if ``open_browser`` is False, without a terminal, in notebooks and other
        interactive sessions, and in tests.
    camera : "position", "target", "up" (3,) in world axes and "track", a body to follow; without a position, the page
        chooses the view.
    title : title of the page; the model's name if omitted.
    live : whether the page simulates. The arguments below are for live pages alone; q is then the start.
    qd : (nv,) the velocity at the start; None: at rest.
    parameters : sliders, name -> (value, lowest, highest): every symbol of a symbolic system; "mass:BODY" [kg]. Those
        named "gravity" [m/s²] and "damping" [1/s], a rate in addition to the model's own damping, are always there,
        and so are "friction" and "restitution" of rigid grounds with the same coefficients, unless it is None.
    dt, method, controller, forces : as in ``sixd.simulate``; the step is 1 ms if omitted, the method has fixed
        steps and is not "midpoint", and a function as controller must be one that can be compiled.
    trace : bodies or frames, by name, whose paths are drawn.
    collisions : draw the model's collision shapes instead, meshes by their convex hulls; bodies without any are sticks.

    distances : draw lines between the nearest points of collision shapes that are nearer than this [m]; True is 0.1 m.
        Shapes that overlap are red, if ``collisions`` are drawn, and so are their lines. Not for live pages.
    pairs : the pairs of ``distances``, as in ``sixd.distance``; None for all that may touch.

    With SIXD_VIEW=off in the environment nothing is opened, served, printed or waited for; ``save_html`` works.

    >>> import sixd
    >>> viewer = sixd.view(sixd.zoo.pendulum(), q=[0.5], open_browser=False)
    >>> viewer.close()
    """
    only_live = {
        "qd": qd, "parameters": parameters, "dt": dt, "method": method, "controller": controller, "forces": forces,
        "trace": trace,
    }  # fmt: skip
    near = None
    if live:
        from sixd.viewer.live.live import make_live_scene

        recorded = {"trajectory": trajectory, "ghost": ghost, "names": names, "distances": distances, "pairs": pairs}
        _require_usual("a live page computes its motion", recorded)
        scene = make_live_scene(model, q=q, camera=camera, title=title, collisions=collisions, **only_live)
    else:
        from sixd.viewer.scene.drawn_model import drawn_model
        from sixd.viewer.scene.nearest import near_pairs
        from sixd.viewer.scene.poses import display_turn
        from sixd.viewer.scene.scene import make_scene

        _require_usual("the page is not live", only_live)
        near = near_pairs(model, distances, pairs, display_turn(drawn_model(model)))
        scene = make_scene(
            model, trajectory, q=q, ghost=ghost, names=names, camera=camera, title=title, collisions=collisions,
            near=near,
        )  # fmt: skip
    viewer = Viewer(model, scene, port, near)
    if not viewer.is_open:
        return viewer
    if block:
        with suppress(KeyboardInterrupt):  # from the moment the address is printed
            _announce(viewer, open_browser, is_blocking=True)
            viewer.until_closed()
        viewer.close()
        return viewer
    _announce(viewer, open_browser)
    if block is None and open_browser is not False and session.is_script():
        session.wait_at_end(viewer)
    return viewer


def _require_usual(why: str, arguments: Mapping[str, Any]) -> None:
    """Raise if one of these arguments is set: each is None, False, empty, or the method "rk4" otherwise."""
    for name, value in arguments.items():
        unused = value is None or value is False or (isinstance(value, (str, tuple)) and value in ("rk4", ()))
        if not unused:
            hint = "Leave it out, or view it without live=True." if name in _RECORDED else "Add live=True."
            raise ScalarTypeError(f"view: {name} is set, but {why}. {hint}")


def _announce(viewer: Viewer, open_browser: bool | None, *, is_blocking: bool = False) -> None:
    """Print the address, and open it in a browser if that is wanted."""
    if is_blocking or (open_browser is not False and kernel() is None):
        if is_blocking or session.is_script() or session.is_interactive():
            session.say(f"sixd: the viewer is at {viewer.url}")
        else:  # the address may be dead before it is read
            how = "Keep it by view(..., block=True), or as a file by view(...).save_html(path)."
            session.say(f"sixd: without a terminal the page closes when this program ends. {how}", sys.stderr)
    if session.wants_browser() if open_browser is None else open_browser:
        import webbrowser

        webbrowser.open(viewer.url)
