"""Random mechanisms and states, awkward ones among them."""

from __future__ import annotations

import numpy as np

import sixd
from sixd.simulation.stepping.compiled_steps import FIXED_STEP
from sixd.zoo.random_trees import JOINT_KINDS

SEEDS = range(3)


def trees():
    """Random trees with every joint type."""
    return [sixd.zoo.random_tree(seed) for seed in SEEDS]


def single_joint(kind, *, passive=True):
    """Return a moving base body, and a body on a joint of that type."""
    return sixd.zoo.random_tree(7, kinds=("revolute", kind), passive=passive)


def states(model, rng, count=4):
    """States (q, qd, qdd); the second has every angle near 0, the third near pi, with quaternions near -1."""
    for k in range(count):
        q = model.random_configuration(rng)
        if k in (1, 2):
            q = _awkward(model, rng, near=(0.0, np.pi)[k - 1])
        yield q, rng.uniform(-2, 2, model.nv), rng.uniform(-2, 2, model.nv)


def _awkward(model, rng, near):
    q = rng.uniform(-1e-9, 1e-9, model.nq) + near
    for i in model.bodies:
        if isinstance(model.joints[i], (sixd.Spherical, sixd.Free)):
            w = -1.0 if near else 1.0
            quaternion = np.concatenate([[w], rng.uniform(-1e-9, 1e-9, 3)])
            q[model.iq[i]] = np.concatenate([quaternion, rng.uniform(-1, 1, model.joints[i].nq - 4)])
    return q


KINDS = JOINT_KINDS
METHODS = FIXED_STEP  # of simulations; the default is first
# functions of a frame that must be able to move in all directions
OPERATIONAL = ("operational_inertia", "operational_bias", "dynamically_consistent_inverse", "null_space_projector")


class Parabola(sixd.Joint):
    """A point sliding along y = x², the example of ``sixd.Joint``."""

    nq = nv = 1

    def transform(self, q):
        return sixd.spatial.xlt([q[0], q[0] * q[0], 0])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1, 2 * q[0], 0]]).T

    def subspace_rate(self, q, qd):
        return np.array([[0, 0, 0, 0, 2 * qd[0], 0]]).T


def constrained(model, *constraints):
    """Return the model with these constraints added to its own."""
    builder = sixd.ModelBuilder.from_model(model)
    for c in constraints:
        builder.add_constraint(c)
    return builder.build()
