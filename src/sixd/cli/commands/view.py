"""``sixd view``: a robot, or a motion of it, in the browser, or as a page in one file."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import click

import sixd
from sixd.cli.arguments.files import FilePath, free_path, require_ending
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.arguments.state import parse_state
from sixd.cli.group import command
from sixd.cli.output import print_notes, printable
from sixd.cli.usage import wrong_call
from sixd.trajectory.trajectory import Trajectory
from sixd.viewer.session import wants_browser


@command(
    "view",
    ("sixd view panda_arm --save panda.html", "A page in one file, with a slider for each joint; no server."),
    ("sixd simulate double_pendulum --q 2,0.5 -o swing.npz", "Save a motion, then view it:"),
    ("sixd view double_pendulum swing.npz --save swing.html", "A page that plays the motion and plots its energy."),
    ("sixd view double_pendulum --live --q 2,0.5 --save live.html", "A page that simulates it; pull it."),
)
@robot_argument()
@click.argument("trajectory", required=False, type=FilePath(), metavar="[TRAJECTORY]")
@click.option("--q", metavar="STATE", help="Configuration [rad or m]; form and default as in `sixd simulate`.")
@click.option("--live", is_flag=True, help="A page that simulates the robot itself, from --q and --qd.")
@click.option("--qd", metavar="STATE", help="With --live: velocity [rad/s or m/s], in the form of --q.  [default: 0]")
@click.option("--collisions", is_flag=True, help="Draw the collision shapes instead, meshes by their convex hulls.")
@click.option("--distances", type=float, metavar="D", help="Draw lines between collision shapes nearer than D [m].")
@click.option("--port", type=click.IntRange(0, 65535), metavar="P", help="Port on 127.0.0.1.  [default: any]")
@click.option("--save", "path", type=FilePath(), metavar="FILE", help="Write a page to a file instead.")
@click.option("--video", type=FilePath(), metavar="FILE", help="Write the TRAJECTORY as a video: .mp4 or .gif.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def view(source: RobotSource, trajectory: Path | None, path: Path | None, video: Path | None, **options: Any) -> None:
    """Show a robot in the browser: rotate the view, move the joints with sliders, show frames, centres of mass and
    inertia ellipsoids. With a TRAJECTORY (.npz or .csv of `sixd simulate --output`): play it, with its plots.

    With --live the page simulates the robot: pull a body with the mouse, change gravity and damping with sliders, see
    energy, forces and momentum.

    The page is served only to this machine (127.0.0.1) until you press Ctrl-C (exit status 0). With --save it is
    written as one file that works without a server and without a network.
    """
    for option, file in (("save", path), ("video", video)):
        if file is not None:
            require_ending(option, file)
            free_path(file, options["force"])
    if video is not None and trajectory is None:
        raise wrong_call(
            "--video requires a TRAJECTORY. Make one: sixd simulate ROBOT -o motion.npz, or use --video there."
        )
    model = source.load()
    motion = None if trajectory is None else Trajectory.load(trajectory, model)
    if motion is not None and video is not None:
        motion.to_video(video)
        click.echo(f"{video}  ({video.stat().st_size / 1e6:.1f} MB)")
        return
    shown: dict[str, Any] = {"port": options["port"] or 0, "open_browser": False, "live": options["live"]}
    shown |= {"collisions": options["collisions"], "distances": options["distances"] or False}
    shown |= {name: parse_state(model, f"--{name}", options[name]) for name in ("q", "qd") if options[name] is not None}
    with sixd.view(model, motion, **shown) as viewer:
        print_notes(viewer.notes)
        if path is not None:
            viewer.save_html(path)
            click.echo(f"{path}  ({path.stat().st_size / 1e6:.1f} MB)")
            return
        click.echo(f"{printable(model.name)} is shown at {viewer.url}  (Ctrl-C ends)")
        if not options["no_browser"] and wants_browser():
            webbrowser.open(viewer.url)
        viewer.wait()
