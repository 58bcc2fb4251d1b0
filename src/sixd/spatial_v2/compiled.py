"""Models recognised by their content, and the compiled code of their dynamics.

A dictionary may change between any two calls, so each call compares the values that the dynamics read with those of
earlier calls, as bytes: 4 µs for six bodies. For known values the sixd Model and the compiled code are reused; a new
model is read and checked. If models change at nearly every call, as in a sweep, new ones are not compiled.
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
_MOST = 64  # cached models
_PATIENCE = 16  # calls of a model before it is compiled in a sweep: compilation takes as long as some 50 plain calls
_LARGE = 30  # bodies beyond which compilation takes longer than a user waits for one call
_FLOAT = np.dtype(float)


class Mechanism:
    """The values of a model dictionary, its sixd Model, and the kernels of the functions called so far.

    ``floating`` is the same with a free joint in place of the first six; it is created when first needed.
    """

    def __init__(self, parts: Parts, tree: Model, content: Any = None) -> None:
        self.parts, self.tree, self.content, self.calls = parts, tree, content, 0
        # whether the latest new models were used too rarely to be worth compiling
        sweeping = len(_new) == _new.maxlen and all(m.calls < _PATIENCE for m in _new)
        self.patience = _PATIENCE if content is None or sweeping or tree.nb > _LARGE else 1
        self.floating: Mechanism | None = None
        self._kernels: dict[Any, Kernel | None] = {}
        self._seen: deque[Any] = deque(maxlen=_MOST)  # variants that are not compiled

    def state(self, where: str, **vectors: Any) -> dict[str, Array]:
        """Return q and vectors of nv entries as ``state_vector`` returns them."""
        tree = self.tree
        return {name: state_vector(where, name, x, tree.nq if name == "q" else tree.nv) for name, x in vectors.items()}

    def run(self, name: str, algorithm: Callable[..., Any], *, variant: Any = None, **arrays: Array) -> Any:
        """Return ``algorithm(tree, *arrays)`` of one state: compiled, or plain if the model is new or not compilable.

        ``variant`` is anything else that the algorithm depends on; a variant is compiled at its second use.
        """
        self.calls += 1
        key = name, variant, *[x.shape for x in arrays.values()]
        try:
            kernel = self._kernels[key]
        except KeyError:
            is_new = variant is not None and key not in self._seen
            if self.content is None or self.calls < self.patience or is_new:
                self._seen.append(key)
                kernel = None
            else:
                kernel = self._compile(key, algorithm, arrays)
        if kernel is not None:
            return kernel(*arrays.values())
        with np.errstate(all="ignore"):
            return algorithm(self.tree, *arrays.values())

    def _compile(self, key: Any, algorithm: Callable[..., Any], arrays: dict[str, Array]) -> Kernel | None:
        """Return the kernel of an algorithm; None if it divides by a constant zero, as in dynamics without mass."""
        shapes = {name: x.shape for name, x in arrays.items()}
        try:
            kernel: Kernel | None = row_kernel(key[0], algorithm, shapes, self.tree, "float64")
        except (TraceError, ArithmeticError):
            kernel = None
        self._kernels[key] = kernel
        return kernel


_known: OrderedDict[Any, Mechanism] = OrderedDict()  # by content, the most recently used last
_last: dict[int, Mechanism] = {}  # by the dictionary's identity: comparing bytes is faster than hashing them
_new: deque[Mechanism] = deque(maxlen=3)
_lock = Lock()


def mechanism(where: str, model: Mapping[str, Any], *, several: bool = True) -> Mechanism:
    """Return the mechanism of a model's current values; raises if they are invalid.

    ``several`` allows joints of several degrees of freedom.
    """
    mech = _mechanism(where, model)
    if not several and mech.tree.nv != mech.parts.count:
        read(where, model)  # raises
    return mech


def _mechanism(where: str, model: Mapping[str, Any]) -> Mechanism:
    content = _content(model)
    mech = _last.get(id(model))
    if mech is not None and mech.content == content:
        return mech
    if content is None:
        parts = read(where, model, several=True)
        return Mechanism(parts, assemble(parts))
    with _lock:
        mech = _known.get(content)
        if mech is None:
            parts = read(where, model, several=True)
            mech = _known[content] = Mechanism(parts, assemble(parts), content)
            _new.append(mech)
            if len(_known) > _MOST:
                _known.popitem(last=False)
        _known.move_to_end(content)
        if len(_last) >= _MOST:
            _last.clear()
        _last[id(model)] = mech
    return mech


def state_vector(where: str, name: str, value: Any, size: int) -> Array:
    """Return a vector of that size as floats, or with symbols; a vector of floats is returned as it is."""
    if type(value) is np.ndarray and value.dtype is _FLOAT and value.shape == (size,):
        return value
    return vector(where, name, value, size, symbols=True)


class _NotComparable(Exception):
    """A value whose content cannot be compared."""


def _content(model: Any) -> Any:
    """All values of the model that dynamics read, hashable, equal only if all are equal; None if they are unusual."""
    try:
        return (*(_value(model[name]) for name in _FIELDS), _value(model.get("gravity")))
    except (_NotComparable, KeyError, TypeError, AttributeError):
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
        # most are arrays of floats and strings: a function call for each would take a third of the time
        return tuple([
            (e.shape, e.tobytes()) if type(e) is np.ndarray and e.dtype is _FLOAT else e if type(e) is str
            else _value(e) for e in x
        ])  # fmt: skip
    elif kind is str or kind is int or kind is float or x is None:
        return x
    elif isinstance(x, np.generic) and x.dtype.kind in "iufb":
        return x.item()
    elif isinstance(x, Mapping):
        return tuple([(key, _value(entry)) for key, entry in x.items()])
    raise _NotComparable
