"""Ready-made models: textbook mechanisms, models of Featherstone's course, robots. ``sixd.zoo.names()`` lists them."""

from collections.abc import Callable

from sixd.errors import look_up as _look_up
from sixd.model import Model
from sixd.zoo.benchmark_bicycle import bicycle
from sixd.zoo.closed_loops import ANDREWS_START, andrews, andrews_force, andrews_order, bricard, four_bar
from sixd.zoo.course import (
    autotree,
    double_elbow,
    falling_sphere,
    rack_and_pinion,
    rolling_cone,
    rolling_disc,
    scissor,
    single_body,
    vee,
)
from sixd.zoo.human_figure import humanoid
from sixd.zoo.random_trees import random_tree
from sixd.zoo.robots import panda_arm, ur_arm
from sixd.zoo.textbook import (
    cart_pole,
    craig_arm,
    pendulum,
    planar,
    planar_body,
    point_arm,
    pr_arm,
    puma560,
    rp_arm,
    spinning_top,
    two_link_arm,
)

_MODELS: dict[str, Callable[[], Model]] = {
    make.__name__: make
    for make in (
        andrews, bicycle, bricard, cart_pole, craig_arm, double_elbow, falling_sphere, four_bar, humanoid, panda_arm,
        pendulum, planar, planar_body, point_arm, pr_arm, puma560, rack_and_pinion, random_tree, rolling_cone,
        rolling_disc, rp_arm, scissor, single_body, spinning_top, two_link_arm, ur_arm, vee,
    )
}  # fmt: skip
_MODELS |= {"double_pendulum": lambda: pendulum(2), "tree": lambda: autotree(15, 2.0, 0.3, 0.9)}


def names() -> tuple[str, ...]:
    """Return the names that :func:`get` accepts."""
    return tuple(sorted(_MODELS))


def get(name: str) -> Model:
    """Return the model of that name, with its default parameters."""
    return _look_up("zoo", "model", name, dict(sorted(_MODELS.items())))()
