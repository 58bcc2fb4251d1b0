"""A library of arrays is one class: a made-up one computes with the functions of sixd, and gets its own arrays back."""

from __future__ import annotations

import numpy as np
import pytest

import sixd
from sixd.errors import DeviceError
from sixd.runtime.arrays import registry
from sixd.runtime.arrays.interface import CpuLibrary
from sixd.runtime.arrays.numpy_arrays import NUMPY, NumpyArrays


class Beads:
    """An array of a made-up library, which NumPy cannot convert by itself."""

    def __init__(self, memory):
        self.memory = memory


class BeadsLibrary(CpuLibrary):
    copy_to_gpu = "beads.to_gpu({})"

    @classmethod
    def recognize(cls, kind):
        return cls() if kind is Beads else None

    def to_numpy(self, where, name, x):
        return x.memory

    def from_numpy(self, x):
        return Beads(x)


@pytest.fixture
def beads(monkeypatch):
    monkeypatch.setattr(registry, "LIBRARIES", [BeadsLibrary, *registry.LIBRARIES])
    yield BeadsLibrary
    registry._FINDERS.pop(Beads, None)
    registry.LOOKS.pop(Beads, None)


@pytest.fixture
def arm():
    return sixd.zoo.planar(3)


def test_functions_and_kernels(beads, arm, rng):
    arrays = rng.uniform(-1, 1, (3, 5, arm.nv))
    own = [Beads(x) for x in arrays]
    for call in (lambda *x: sixd.inverse_dynamics(arm, *x), sixd.compile(sixd.inverse_dynamics, arm)):
        for _ in range(2):  # cold and warm
            found = call(*own)
            assert type(found) is Beads
            assert np.array_equal(found.memory, call(*arrays))
    single = sixd.inverse_dynamics(arm, *(Beads(x[0]) for x in arrays))
    assert np.array_equal(single.memory, sixd.inverse_dynamics(arm, *arrays[:, 0]))


def test_results_in_their_form(beads, arm, rng):
    """Tuples stay tuples, numbers are arrays without dimensions, ``out`` is filled, NumPy's arrays may be mixed in."""
    q, qd = rng.uniform(-1, 1, (2, arm.nv))
    kinetic, potential = sixd.energy(arm, Beads(q), qd)
    assert type(kinetic) is type(potential) is Beads
    assert (kinetic.memory, potential.memory) == sixd.energy(arm, q, qd)
    out = Beads(np.empty((1, arm.nv)))
    assert sixd.gravity_force(arm, Beads(q[None]), out=out) is out
    assert np.array_equal(out.memory[0], sixd.gravity_force(arm, q))


def test_steps(beads, arm, rng):
    q, qd = rng.uniform(-1, 1, (2, arm.nv))
    for found, expected in zip(sixd.step(arm, Beads(q), Beads(qd), 1e-3), sixd.step(arm, q, qd, 1e-3), strict=True):
        assert np.array_equal(found.memory, expected)


def test_motions(beads, arm, rng):
    """A function that records a motion reads the arrays; its records are NumPy's."""
    q, qd = rng.uniform(-1, 1, (2, arm.nv))
    found = sixd.simulate(arm, Beads(q), Beads(qd), 0.01)
    assert np.array_equal(found.q, sixd.simulate(arm, q, qd, 0.01).q)


def test_of_two_libraries_the_first_arguments_counts(beads, arm, monkeypatch):
    class Pearls(Beads):
        pass

    class PearlsLibrary(BeadsLibrary):
        @classmethod
        def recognize(cls, kind):
            return cls() if kind is Pearls else None

        def from_numpy(self, x):
            return Pearls(x)

    monkeypatch.setattr(registry, "LIBRARIES", [PearlsLibrary, *registry.LIBRARIES])
    z = np.zeros(arm.nv)
    assert type(sixd.inverse_dynamics(arm, z, Pearls(z), Beads(z))) is Pearls
    assert type(sixd.inverse_dynamics(arm, Beads(z), Pearls(z), z)) is Beads
    registry._FINDERS.pop(Pearls)
    registry.LOOKS.pop(Pearls)


def test_numpy_is_the_last_library():
    assert registry.LIBRARIES[-1] is NumpyArrays, "NumpyArrays takes every class: put other libraries before it"


def test_which_library(beads):
    x = Beads(np.zeros(3))
    assert type(registry.library_of(x)) is BeadsLibrary
    assert registry.library_of([1.0]) is registry.library_of(np.zeros(2)) is registry.library_of(object()) is NUMPY
    assert registry.common_library("f", ("a", "b"), (np.zeros(3), x)) is registry.library_of(x)
    assert registry.native_library("f", ("a",), (x,)) is NUMPY
    with pytest.raises(DeviceError, match=r"f: a is a \S*Beads in CPU memory, expected an array on a GPU"):
        registry.read_array("f", "a", x)
