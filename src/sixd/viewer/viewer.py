"""Viewer: a mechanism, and its motions, in a page of the browser; ``sixd.view`` makes one.

The server, the page and the scene are made by other files; they are imported when a viewer is made.
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sixd.atomic import write_together
from sixd.errors import FileError
from sixd.model.system import System
from sixd.notebook import kernel
from sixd.viewer import session

_CHECK = 0.5  # [s] between looks at whether a viewer is closed: some systems interrupt no longer wait


class Viewer:
    """A page in the browser, served on this machine until ``close``, the end of a ``with`` block, or of the program.

    ``url`` is its address; ``save_html(path)`` writes it as one file that needs neither server nor network. Where the
    environment has SIXD_VIEW=off nothing is served, and ``url`` is empty.
    """

    def __init__(self, system: System, scene: dict[str, Any], port: int = 0) -> None:
        from sixd.viewer.server import Server

        self.system, self.scene = system, scene
        self._server = None if session.is_off() else Server(lambda: self._page(live=True), port)

    @property
    def url(self) -> str:
        """The page's address, on this machine alone; empty if it is not served."""
        return "" if self._server is None else self._server.url

    @property
    def is_open(self) -> bool:
        """Whether the page is served."""
        return self._server is not None and self._server.is_open

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be shown, or not as given: missing meshes, rows left out, records thinned."""
        return tuple(self.scene["notes"])

    def show(self, q: Any) -> None:
        """Show the configuration q (nq,) in all open pages, and in those saved or opened later."""
        from sixd.viewer.scene.scene import read_configuration

        found = read_configuration(self.system, q).tolist()
        self.scene = {**self.scene, "q": found}
        if self._server is not None:
            self._server.state.set(found)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all, and return its path. It plays offline."""
        target = Path(path).expanduser()
        if target.is_dir() or not target.name:
            raise FileError(f"save_html: {str(path)!r} is a folder, expected the name of a file.")
        try:
            write_together({target: self._page(live=False)})
        except (OSError, ValueError) as error:  # a name with a null byte
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"save_html: cannot write {str(path)!r}: {reason}. Check the folder.") from None
        return target

    def close(self) -> None:
        """Stop serving the page; a page that is open stays as it is."""
        if self._server is not None:
            self._server.close()

    def wait(self) -> None:
        """Serve until the viewer is closed, or Ctrl-C, which closes it."""
        with suppress(KeyboardInterrupt):
            self.until_closed()
        self.close()

    def until_closed(self) -> None:
        """Serve until the viewer is closed; Ctrl-C raises KeyboardInterrupt, as anywhere."""
        if self._server is not None:
            while not self._server.closed.wait(_CHECK):
                pass

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _page(self, *, live: bool) -> str:
        from sixd.viewer.page import html as page

        return page({**self.scene, "live": "/state"} if live else self.scene)

    def _repr_html_(self) -> str:
        """The page inside a notebook."""
        text = html.escape(self._page(live=False), quote=True)
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
) -> Viewer:
    """Look at a mechanism, or at its motions, in a page of the browser.

    Returns at once and prints the page's address. A script that is started from a terminal and ends while a viewer is
    open waits until Ctrl-C, so that the page can be looked at; see ``block``.

    Without a trajectory the joints have sliders; with one it plays, energy and coordinates plotted beside it. Bodies
    are drawn by the shapes and meshes of the robot's file, or else by sticks between their joints.

    Parameters
    ----------
    model : a ``sixd.Model``, or a reduced one.
    trajectory : a ``Trajectory``, a pair (t, q) of arrays (r,) and (…, r, nq), or several of them in a list or in a
        dictionary by name. Rows of a batch, 16 at most, are shown side by side.
    q : (nq,) the configuration to begin with.
    ghost : show several motions in one place, all but the first transparent.
    names : of the trajectories, one each.
    port : where the page is served, on 127.0.0.1 alone; 0 takes a free port.
    open_browser : whether to open the page; None does so from a terminal with a display. False does not print the
        address either.
    block : True waits in this call until Ctrl-C or ``close``; False never waits. None waits at the end of a script, but
        not where it ends with a traceback, where ``open_browser`` is False, without a terminal, in notebooks and other
        interactive sessions, and in tests.
    camera : "position", "target", "up" (3,) in world axes and "track", a body to follow; the page finds its own place
        if omitted.
    title : of the page; the model's name if omitted.

    With SIXD_VIEW=off in the environment nothing is opened, served, printed or waited for; ``save_html`` works.

    >>> import sixd
    >>> viewer = sixd.view(sixd.zoo.pendulum(), q=[0.5], open_browser=False)
    >>> viewer.close()
    """
    from sixd.viewer.scene.scene import make_scene

    scene = make_scene(model, trajectory, q=q, ghost=ghost, names=names, camera=camera, title=title)
    viewer = Viewer(model, scene, port)
    if not viewer.is_open:
        return viewer
    if (open_browser is not False and kernel() is None) or block:
        until = "" if block or session.is_script() or session.is_interactive() else " while this program runs"
        session.say(f"sixd: the viewer is at {viewer.url}{until}")
    if session.wants_browser() if open_browser is None else open_browser:
        import webbrowser

        webbrowser.open(viewer.url)
    if block:
        viewer.wait()
    elif block is None and open_browser is not False and session.is_script():
        session.wait_at_end(viewer)
    return viewer
