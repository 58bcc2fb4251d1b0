"""Compiled code as Python objects, by ctypes and the C interfaces of CPython and NumPy.

Makes a context for compiled code, a NumPy generalised ufunc from an inner loop, and a Python function from an entry. An
entry reads fields of arrays directly: ``layout_is_known`` checks their offsets.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from sixd.codegen.llvm import machine
from sixd.codegen.llvm.machine import CONTEXT, MATH

Shape = tuple[int, ...]
_ARRAY_NEW, _ARRAY_RETURN = 93, 76  # indices in NumPy's tables of functions
_UFUNC_FROM_SIGNATURE = 31
_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02


@cache
def _table(name: str) -> Any:
    """A table of NumPy's C interface, as an array of addresses."""
    from numpy._core import _multiarray_umath as core

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * 128).from_address(pointer(getattr(core, name), None))


@cache
def addresses(dtype: str) -> tuple[int, ...]:
    """The words of a context for kernels of that dtype; the count is zero."""
    libm = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    api = ctypes.pythonapi
    values = {
        "array_type": id(np.ndarray),
        "float_type": id(float),
        "descr": id(np.dtype(dtype)),
        "array_new": _table("_ARRAY_API")[_ARRAY_NEW],
        "array_return": _table("_ARRAY_API")[_ARRAY_RETURN],
        "tuple_new": _address(api.PyTuple_New),
        "tuple_set": _address(api.PyTuple_SetItem),
        "decref": _address(api.Py_DecRef),
        "vectorcall": _address(api.PyObject_Vectorcall),
        **{name: _address(getattr(libm, name)) for name in MATH},
    }
    return tuple(values.get(name, 0) for name in CONTEXT)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Context(bytes):
    """The context of an entry; ``owner`` keeps the code alive as long as the Python function made of it."""

    owner: Any


def decline(*_: Any, **__: Any) -> None:
    """The default fallback: returns None, so that the caller takes the general path."""


def make_function(
    address: int, name: str, dtype: str, owner: Any, fallback: Callable[..., Any] = decline
) -> Callable[..., Any]:
    """The Python function whose code, in the fast-call convention, is at ``address``.

    ``fallback`` is called with the same arguments when that code does not accept them, or its results are suspect.
    """
    words = [id(fallback) if word == "fallback" else x for word, x in zip(CONTEXT, addresses(dtype), strict=True)]
    context = Context(struct.pack(f"<{len(CONTEXT)}Q", *words))
    label = name.encode()
    # a PyMethodDef: name, function, flags, documentation
    method = (ctypes.c_void_p * 4)(
        ctypes.cast(ctypes.c_char_p(label), ctypes.c_void_p).value, address, _FASTCALL_WITH_KEYWORDS
    )
    context.owner = (owner, method, label, fallback)
    new = ctypes.pythonapi.PyCMethod_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    return new(ctypes.addressof(method), context, None, None)


class GeneralizedUfunc:
    """A NumPy generalised ufunc, ``ufunc``, from an inner loop at ``address``; suspect results increase ``count``."""

    def __init__(
        self, address: int, name: str, dtype: str, inputs: Sequence[Shape], outputs: Sequence[Shape], owner: Any
    ) -> None:
        self._owner = owner  # of the code
        self.outputs, self.cores = tuple(outputs), (*inputs, *outputs)
        self._context = (ctypes.c_uint64 * len(CONTEXT))(*addresses(dtype))
        self._functions = (ctypes.c_void_p * 1)(address)
        self._data = (ctypes.c_void_p * 1)(ctypes.addressof(self._context))
        number = machine.TYPE_NUMBER[dtype]
        self._types = ctypes.create_string_buffer(bytes([number] * (len(inputs) + len(outputs))))
        texts = (name, signature(inputs, outputs))
        self._texts = [ctypes.create_string_buffer(text.encode()) for text in texts]
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 4, *[ctypes.c_void_p] * 2, ctypes.c_int,
            ctypes.c_void_p,
        )(_table("_UFUNC_API")[_UFUNC_FROM_SIGNATURE])  # fmt: skip
        at = ctypes.addressof
        label, text = map(at, self._texts)
        # one loop, no identity (-1), no documentation
        counts = (len(inputs), len(outputs))
        self.ufunc = make(at(self._functions), at(self._data), at(self._types), 1, *counts, -1, label, None, 0, text)

    @property
    def count(self) -> int:
        """Number of calls of the loop so far that had a suspect result."""
        return self._context[0]


def signature(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> str:
    """NumPy's text for core shapes, such as ``(7),(7),(7)->(7)``."""

    def one(shape: Shape) -> str:
        # NumPy does not accept a fixed length of zero
        return "(" + ",".join(str(n) if n else "none" for n in shape) + ")"

    return ",".join(map(one, inputs)) + "->" + ",".join(map(one, outputs))


@cache
def layout_is_known() -> bool:
    """Whether the fields of arrays and bytes are at the offsets that entries use: True on CPython with NumPy 2."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False or object.__basicsize__ != 16:
        return False

    def read(obj: Any, at: int, kind: Any) -> int:
        return kind.from_address(id(obj) + at).value

    for array in (np.arange(6.0).reshape(2, 3), np.zeros(5, dtype=np.float32)[::2]):
        shape = read(array, machine.SHAPE, ctypes.c_void_p)
        flags = machine.CONTIGUOUS_ALIGNED if array.flags.c_contiguous else 0x100
        good = (
            read(array, machine.TYPE, ctypes.c_void_p) == id(np.ndarray)
            and read(array, machine.DATA, ctypes.c_void_p) == array.ctypes.data
            and read(array, machine.NDIM, ctypes.c_int) == array.ndim
            and tuple((ctypes.c_ssize_t * array.ndim).from_address(shape)) == array.shape
            and read(array, machine.DESCR, ctypes.c_void_p) == id(array.dtype)
            and read(array, machine.FLAGS, ctypes.c_int) & machine.CONTIGUOUS_ALIGNED == flags
        )
        if not good:
            return False
    if read(1.5, machine.FLOAT_VALUE, ctypes.c_double) != 1.5:
        return False
    sample = Context(b"sixdsixd")
    return ctypes.string_at(id(sample) + machine.PAYLOAD, 8) == b"sixdsixd"
