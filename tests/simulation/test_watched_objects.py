"""Objects in compiled code: whether they have changed, and which cannot be watched."""

import copy
import gc
import random
import threading
import types
import weakref
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np
import pytest

import sixd
from sixd.simulation.watched_objects import Unwatchable, Watched, parts

PENDULUM = sixd.zoo.pendulum()


def watch(value):
    return Watched(value, lambda _: None)


class Law:
    """An object with whatever attributes."""

    gain = 1.0
    table: ClassVar = {"a": [1, 2]}

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __call__(self, t, q, qd):
        return -q * self.gain

    @property
    def twice(self):
        return 2 * self.gain

    @cached_property
    def thrice(self):
        return 3 * self.gain

    @staticmethod
    def one():
        return 1

    @classmethod
    def name(cls):
        return cls.__name__


def f(t):
    return t


def g(t):
    return -t


CHANGES = {
    "number": (1.0, 2.0),
    "sign of zero": (0.0, -0.0),
    "kind of number": (1, 1.0),
    "truth": (1, True),
    "text": ("a", "b"),
    "none": (None, 0),
    "whole": (10**30, 10**30 + 1),
    "numpy number": (np.float32(1), np.float64(1)),
    "numpy value": (np.float64(0.1), np.float64(0.2)),
    "array": (np.zeros(2), np.array([0, 1.0])),
    "shape": (np.zeros(4), np.zeros((2, 2))),
    "dtype": (np.zeros(2, np.int64), np.zeros(2)),
    "list": ([1, [2, 3]], [1, [2, 4]]),
    "length": ([1], [1, 2]),
    "tuple": ((1, 2), [1, 2]),
    "dict": ({"a": 1}, {"a": 2}),
    "names": ({"a": 1}, {"b": 1}),
    "order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "function": (f, g),
    "partial": (partial(f, 1), partial(f, 2)),
    "keywords": (partial(f, t=1), partial(f, t=2)),
    "method": (Law(gain=1.0).__call__, Law(gain=2.0).__call__),
    "object": (Law(gain=1.0), Law(gain=1.0)),
    "system": (PENDULUM, sixd.zoo.pendulum()),
    "controller": (sixd.controllers.PD([0.0], 1.0), sixd.controllers.PD([0.0], 1.0)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_attributes_that_are_replaced(name):
    before, after = CHANGES[name]
    law = Law(x=before)
    watched = watch(law)
    assert not watched.is_fixed
    assert watched.is_unchanged()
    law.x = after
    assert not watched.is_unchanged()
    law.x = before
    assert watched.is_unchanged()


@pytest.mark.parametrize("value", [1.5, "text", np.arange(3.0), [1, 2], {"a": 1}, (1.0, None)], ids=repr)
def test_equal_values_are_as_good_as_the_same(value):
    law = Law(x=value)
    watched = watch(law)
    law.x = type(value)(value) if not isinstance(value, np.ndarray) else value.copy()
    assert watched.is_unchanged()


def test_what_changes_inside():
    """Arrays, lists, dictionaries and objects that are filled anew."""
    inner = Law(k=np.zeros(2), more=[{"deep": [0.0]}])
    law = Law(inner=inner, law=inner.__call__)
    watched = watch(law)
    for change, back in [
        (lambda: inner.k.__setitem__(0, 1), lambda: inner.k.__setitem__(0, 0)),
        (lambda: inner.more[0]["deep"].append(1), lambda: inner.more[0]["deep"].pop()),
        (lambda: setattr(inner, "new", 1), lambda: delattr(inner, "new")),
        (lambda: setattr(law, "__call__", f), lambda: delattr(law, "__call__")),
    ]:
        assert watched.is_unchanged()
        change()
        assert not watched.is_unchanged()
        back()
    assert watched.is_unchanged()


def test_classes_that_change():
    class Base:
        scale = 1.0

        def law(self):
            return self.scale

    class Derived(Base):
        @property
        def gain(self):
            return 1

    law = Derived()
    watched = watch(law)
    assert watched.is_unchanged()
    for owner, name, value in [
        (Base, "scale", 2.0), (Base, "law", lambda self: 2), (Derived, "scale", 3.0), (Derived, "gain", property(f)),
        (Base, "more", 1),
    ]:  # fmt: skip
        had, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        assert not watched.is_unchanged()
        if had:
            setattr(owner, name, before)
        else:
            delattr(owner, name)
        assert watched.is_unchanged()
    law.__class__ = Base
    assert not watched.is_unchanged()


def test_what_python_adds_to_a_class():
    """The first copy of an object leaves a note in its class, which does not change what it does."""

    class Local:
        gain = 1.0

    law = Local()
    watched, entries = watch(law), set(vars(Local))
    copy.deepcopy(law)
    assert set(vars(Local)) - entries == {"__slotnames__"}
    assert watched.is_unchanged()
    Local.more = 1.0
    assert not watched.is_unchanged()
    del Local.more, Local.gain
    assert not watched.is_unchanged()


def test_functions_and_the_librarys_objects_are_fixed():
    assert watch(f).is_fixed
    assert watch(sixd.controllers.PD([0.0], 1.0)).is_fixed
    assert watch(sixd.controllers.PD(f, 1.0)).is_fixed
    assert watch(sixd.controllers.GravityCompensation(PENDULUM)).is_fixed
    assert watch(sixd.JointLimits(stiffness=1.0)).is_fixed
    target = Law(x=1)
    watched = watch(sixd.controllers.PD(target, 1.0, velocity=[0.0]))
    assert watched.is_fixed is False


def cyclic():
    law = Law()
    law.me = law
    return law


def deep():
    x = []
    for _ in range(100):
        x = [x]
    return Law(x=x)


class Slots:
    __slots__ = ("__weakref__", "x")


class Dynamic:
    def __getattr__(self, name):
        raise AttributeError(name)


UNWATCHABLE = {
    "cycle": cyclic(),
    "depth": deep(),
    "slots": Slots(),
    "getattr": Dynamic(),
    "class": Law,
    "class as attribute": Law(x=Law),
    "module": Law(x=types),
    "generator": Law(x=(k for k in range(3))),
    "random numbers": Law(x=random.Random(0)),
    "numpy's": Law(x=np.random.default_rng(0)),
    "lock": Law(x=threading.Lock()),
    "set": Law(x={1, 2}),
    "objects in an array": Law(x=np.array([None])),
    "large array": Law(x=np.zeros(1 << 22)),
    "subclass of an array": Law(x=np.ma.zeros(2)),
    "subclass of a dictionary": Law(x=type("D", (dict,), {})()),
    "keys": Law(x={1: 2}),
    "namespace": Law(x=types.SimpleNamespace(a=1)),
    "cached": lru_cache(f),
    "built in": len,
    "number": 3,
}


@pytest.mark.parametrize("name", UNWATCHABLE)
def test_what_cannot_be_watched(name):
    with pytest.raises(Unwatchable):
        watch(UNWATCHABLE[name])


def test_objects_become_unwatchable():
    law = Law(x=1)
    watched = watch(law)
    law.x = law
    assert not watched.is_unchanged()


def test_nothing_is_kept_alive():
    """Neither the object, nor what it holds, nor its class."""

    class Local:
        def __init__(self):
            self.model, self.law, self.inner = sixd.zoo.pendulum(), lambda t: self.model, Law()

    law = Local()
    dead = []
    watched = Watched(law, dead.append)
    references = [weakref.ref(x) for x in (law, law.model, law.law, law.inner, Local)]
    assert watched.is_unchanged()
    del law, Local
    gc.collect()
    assert [r() for r in references] == [None] * 5
    assert len(dead) == 1
    assert not watched.is_unchanged()


def test_parts():
    law = Law()
    assert parts(f) == (f,)
    assert parts(law) == (law,)
    assert parts(law.__call__) == (law, Law.__call__)
