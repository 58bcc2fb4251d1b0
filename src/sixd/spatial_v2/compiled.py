"""Models recognised by their content, and the compiled code of their dynamics.

A dictionary may be changed between any two calls, so each call compares the values that the dynamics read with those
of earlier calls, as bytes: 4 µs for six bodies. A model with known values has its sixd Model and its compiled code at
once; a new one is read and checked. Where models change at nearly every call, as in a sweep, new ones are not compiled.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sixd.engine.kernel import Kernel, row_kernel
from sixd.errors import TraceError
from sixd.io.spatial_v2.matlab import vector
from sixd.io.spatial_v2.structures import Parts, read
from sixd.locks import Lock
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.spatial_v2.structure import assemble

_FIELDS = ("NB", "parent", "jtype", "Xtree", "I")
_MOST = 64  # models that are remembered
_PATIENCE = 16  # calls of a model before it is compiled in a sweep: compiling takes as long as some 50 plain calls
_LARGE = 30  # bodies beyond which compiling takes longer than a user waits for one call
_FLOAT = np.dtype(float)


class Mechanism:
    """The values of a model dictionary, its sixd Model, and the kernels of the functions called so far."""

    def __init__(self, where: str, model: Mapping[str, Any], content: Any = None) -> None:
        self.parts: Parts = read(where, model, several=True)
        self.tree: Model = assemble(self.parts)
        self.content, self.calls = content, 0
        self.patience = _PATIENCE if content is None or _sweeping() or self.tree.nb > _LARGE else 1
        self._kernels: dict[str, Kernel | None] = {}

    def run(self, name: str, algorithm: Callable[..., Any], **arrays: Array) -> Any:
        """Return ``algorithm(tree, *arrays)`` of one state: compiled, or plain while the model is new or cannot be."""
        self.calls += 1
        try:
            kernel = self._kernels[name]
        except KeyError:
            if self.content is None or self.calls < self.patience:
                return algorithm(self.tree, *arrays.values())
            kernel = self._compile(name, algorithm, arrays)
        return algorithm(self.tree, *arrays.values()) if kernel is None else kernel(*arrays.values())

    def _compile(self, name: str, algorithm: Callable[..., Any], arrays: dict[str, Array]) -> Kernel | None:
        """The kernel of an algorithm; None if it divides by a constant zero, as forward dynamics of no mass does."""
        shapes = {key: x.shape for key, x in arrays.items()}
        try:
            kernel: Kernel | None = row_kernel(name, algorithm, shapes, self.tree, "float64")
        except (TraceError, ArithmeticError):
            kernel = None
        self._kernels[name] = kernel
        return kernel


_known: OrderedDict[Any, Mechanism] = OrderedDict()  # by content, the one used last at the end
_last: dict[int, Mechanism] = {}  # by the dictionary's identity: comparing bytes is faster than hashing them
_new: deque[Mechanism] = deque(maxlen=3)
_lock = Lock()


def mechanism(where: str, model: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism of a model's current values; raise if they are not those of a model."""
    content = _content(model)
    found = _last.get(id(model))
    if found is not None and found.content == content:
        return found
    if content is None:
        return Mechanism(where, model)
    with _lock:
        found = _known.get(content)
        if found is None:
            found = _known[content] = Mechanism(where, model, content)
            _new.append(found)
            if len(_known) > _MOST:
                _known.popitem(last=False)
        _known.move_to_end(content)
        if len(_last) >= _MOST:
            _last.clear()
        _last[id(model)] = found
    return found


def row(where: str, name: str, value: Any, size: int) -> Array:
    """Return a vector of that size as floats; an array that is one already is returned as it is."""
    if type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == (size,):
        return value
    return vector(where, name, value, size)


def _sweeping() -> bool:
    """Whether the models that were new last were not used often enough to pay for their compilation."""
    return len(_new) == _new.maxlen and all(m.calls < _PATIENCE for m in _new)


class _Unknown(Exception):
    """A value whose content cannot be compared."""


def _content(model: Any) -> Any:
    """All values of the model that dynamics read, hashable, equal only if all are equal; None if they are unusual."""
    try:
        return (*(_value(model[name]) for name in _FIELDS), _value(model.get("gravity")))
    except (_Unknown, KeyError, TypeError, AttributeError):
        return None


def _value(x: Any) -> Any:
    kind = type(x)
    if kind is np.ndarray:
        if x.dtype is _FLOAT:
            return x.shape, x.tobytes()
        if x.dtype.kind in "iufb":
            return x.dtype.str, x.shape, x.tobytes()
        if x.dtype == object:
            return x.shape, tuple([_value(entry) for entry in x.ravel().tolist()])
    elif kind is list or kind is tuple:
        return tuple([_value(entry) for entry in x])
    elif kind is str or kind is int or kind is float or x is None:
        return x
    elif isinstance(x, np.generic) and x.dtype.kind in "iufb":
        return x.item()
    elif isinstance(x, Mapping):
        return tuple([(key, _value(entry)) for key, entry in x.items()])
    raise _Unknown
