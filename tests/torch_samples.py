"""Models and tensors for the tests of sixd.torch."""

import dataclasses

import numpy as np
import torch

from sixd.engine.functions import LIBRARY


def smooth(model):
    """Return the model without dry friction, whose steps are functions."""
    return dataclasses.replace(model, friction=0 * model.friction)


def tensors(model, seed=0, rows=2, count=3, scale=1.0005, grad=True):
    """Return a configuration, with quaternions that are not exactly unit, and arrays (samples, nv)."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng, size=rows)
    q = q * (scale if model.nq != model.nv else 1.0)
    found = [q, *rng.uniform(-1, 1, (count - 1, rows, model.nv))]
    return [torch.tensor(x, requires_grad=grad) for x in found]


def arguments(name, model):
    """Return arguments of a function of the library: arrays by their shapes, a frame, some joints."""
    rng, found = np.random.default_rng(1), {}
    declared = LIBRARY[name]
    for array in declared.arrays:
        core = declared.core(model, array)
        is_q = declared.shape(array) == ("nq",)
        found[array] = model.random_configuration(rng, size=3) if is_q else rng.uniform(-1, 1, (3, *core))
    if "frame" in declared.choices:
        found["frame"] = model.frame_names[-1]
    if "given" in declared.choices:
        found["given"] = [model.joint_names[0]]
    return found
