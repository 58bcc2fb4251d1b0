"""Controllers for tests of worker processes, in a module of their own that workers import quickly."""

import os

import numpy as np


def law(t, q, qd):
    return -3 * q - 0.5 * qd


def noisy(t, q, qd, rng):
    return rng.normal(size=2)


def stepped(t, q, qd):
    return np.array([0.1 * np.sign(float(q[0])), 0.0])


def falls(t, q, qd):
    return q[0] - 0.2


def deadly(t, q, qd):
    os._exit(3)


def hopeless(t, q, qd):
    raise ZeroDivisionError("the law")


def flaky(t, q, qd):
    raise OSError("the disk is away")


class Unspeakable(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.cargo = lambda: None  # cannot be pickled


class Integral:
    """A controller that stores a sum."""

    def __init__(self):
        self.sum = 0.0

    def __call__(self, t, q, qd):
        self.sum += float(q[0])
        return np.array([-self.sum, 0.0])
