"""A remark on an MJCF scene: what MuJoCo simulates and ``sixd.simulate`` does not, with the call that adds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from sixd.io.mjcf.compiled import FREE, HINGE, SLIDE
from sixd.io.mjcf.geoms import PLANE
from sixd.spatial.rotation import quaternion_to_rotation, tidy_rotation
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from mujoco import MjModel


def scene_remark(compiled: MjModel, disabled: Callable[..., bool]) -> str | None:
    """Return a sentence for files with free bodies and colliding geoms, or with actuators; else None.

    ``disabled`` returns whether the file switches one of the named parts of MuJoCo off.
    """
    kinds, collide = np.asarray(compiled.jnt_type), _colliding(compiled)
    geoms = 0 if disabled("CONTACT", "CONSTRAINT") else int(collide.sum())
    actuators = 0 if disabled("ACTUATION") else int(getattr(compiled, "nactuator", compiled.nu))
    free = bool((kinds == FREE).any())
    if not (geoms and free) and not actuators:
        return None
    limited = np.asarray(compiled.jnt_limited, dtype=bool) & np.isin(kinds, (HINGE, SLIDE))
    limits = 0 if disabled("LIMIT", "CONSTRAINT") else int(limited.sum())
    ground = _ground(compiled, collide) if geoms and free else ""
    missing = {f"collisions ({geoms} geoms; bodies pass through each other)": geoms}
    missing |= {f"joint limits ({limits})": limits, f"actuators ({actuators})": actuators}
    forces = ", ".join([ground] * bool(ground) + ["sixd.RigidLimits()"] * bool(limits))
    call = ", ".join([f"forces=[{forces}]"] * bool(forces) + ["controller=controller"] * bool(actuators))
    actuation = "the joint forces controller(t, q, qd)"
    added = {"the ground plane": ground, "the limits": limits, actuation: actuators}
    hint = f"; sixd.simulate(model, None, None, 1.0, {call}) adds {_present(added)}" if call else ""
    return f"the model leaves out what its file has: {_present(missing)}{hint}"


def _present(parts: Mapping[str, object]) -> str:
    """Return the keys whose values are not 0 or empty, as a list."""
    return ", ".join(text for text, value in parts.items() if value)


def _colliding(compiled: MjModel) -> Array:
    """Return whether each geom (ngeom,) can touch one of a body that moves relative to it and is not its neighbour."""
    weld = np.asarray(compiled.body_weldid)
    body = weld[np.asarray(compiled.geom_bodyid)]
    masks = np.stack([compiled.geom_contype, compiled.geom_conaffinity], axis=1)
    (contype, conaffinity), kind = (x.T for x in np.unique(masks, axis=0, return_inverse=True))
    touch = ((contype[:, None] & conaffinity) | (conaffinity[:, None] & contype)) != 0
    # by kind and body: the number of geoms on it, and on it, its parent and its children
    own = np.zeros((len(touch), len(weld)), dtype=int)
    np.add.at(own, (kind.ravel(), body), 1)
    above = weld[np.asarray(compiled.body_parentid)]
    inner = np.flatnonzero((weld == np.arange(len(weld))) & (above > 0))
    near = own.copy()
    near[:, inner] += own[:, above[inner]]
    np.add.at(near.T, above[inner], own.T[inner])
    return np.asarray((touch @ (own.sum(axis=1, keepdims=True) - near))[kind.ravel(), body] > 0)


def _ground(compiled: MjModel, collide: Array) -> str:
    """Return the call that creates the world's first colliding plane; empty if there is no such plane."""
    for g in np.flatnonzero(collide & (np.asarray(compiled.geom_type) == PLANE)):
        if compiled.geom_bodyid[g] == 0:
            normal = tidy_rotation(quaternion_to_rotation(np.array(compiled.geom_quat[g])))[:, 2]
            height = float(normal @ compiled.geom_pos[g])
            options = [f"height={height:.6g}"] if abs(height) > 1e-12 else []
            if not np.allclose(normal, [0, 0, 1]):
                options.append(f"normal=({', '.join(f'{x:.6g}' for x in normal + 0.0)})")
            return f"sixd.RigidGround({', '.join(options)})"
    return ""
