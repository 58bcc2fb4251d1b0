"""Compiled code as Python objects, by ctypes and the C interfaces of CPython and NumPy.

Makes a context for compiled code, a NumPy generalised ufunc from an inner loop, and a class of objects that
compiled code serves. The code of calls reads fields of objects directly: ``layout_is_known`` checks their offsets,
``fast_calls`` those of classes and a call with a known answer. Where a check fails, calls go through ``__call__``.

Environment: with ``SIXD_FAST_CALLS=off`` all calls go through ``__call__``; read when sixd is imported.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from sixd.codegen.llvm import machine
from sixd.codegen.llvm.machine import CONTEXT, HEAP, MATH, NO_MEMORY
from sixd.errors import CompileWarning

Shape = tuple[int, ...]
_ARRAY_NEW, _ARRAY_RETURN = 93, 76  # indices in NumPy's tables of functions
_UFUNC_FROM_SIGNATURE = 31
_KEPT: list[object] = []  # memory that compiled code uses as long as the process lives


@cache
def _table(name: str) -> Any:
    """A table of NumPy's C interface, as an array of addresses."""
    from numpy._core import _multiarray_umath as core

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * 128).from_address(pointer(getattr(core, name), None))


@cache
def addresses() -> tuple[int, ...]:
    """The words of a context; the count is zero."""
    libm = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
    heap = {"malloc": ctypes.pythonapi.PyMem_RawMalloc, "free": ctypes.pythonapi.PyMem_RawFree}
    return (0, *(_address(getattr(libm, name)) for name in MATH), *(_address(heap[name]) for name in HEAP))


class Context:
    """The words that compiled code reaches by a pointer, ``address``."""

    def __init__(self) -> None:
        self._words = (ctypes.c_uint64 * len(CONTEXT))(*addresses())
        self.address = ctypes.addressof(self._words)

    def count(self, where: str) -> int:
        """Number of calls so far that had a suspect result; MemoryError if one had no work memory."""
        count = self._words[0]
        if count >= NO_MEMORY:
            self._words[0] = count % NO_MEMORY
            raise MemoryError(f"{where}: there is no memory for the values that compiled code keeps.")
        return count


@cache
def common_context() -> Context:
    """The context of code that does not count suspect results."""
    return Context()


@cache
def interface() -> dict[str, int]:
    """The words of a plan that are the same in all plans: objects and functions of Python and NumPy."""
    api = ctypes.pythonapi
    functions = {
        "array_new": _table("_ARRAY_API")[_ARRAY_NEW],
        "array_return": _table("_ARRAY_API")[_ARRAY_RETURN],
        "tuple_new": _address(api.PyTuple_New),
        "tuple_set": _address(api.PyTuple_SetItem),
        "incref": _address(api.Py_IncRef),
        "decref": _address(api.Py_DecRef),
        "call_object": _address(api.PyObject_CallObject),
        "vectorcall": _address(api.PyObject_Vectorcall),
        "save_thread": _address(api.PyEval_SaveThread),
        "restore_thread": _address(api.PyEval_RestoreThread),
    }
    objects = {"none": id(None), "array_type": id(np.ndarray), "tuple_type": id(tuple)}
    return {**functions, **objects, "items": _tuple_items()}


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class GeneralizedUfunc:
    """A NumPy generalised ufunc, ``ufunc``, from an inner loop at ``address``; suspect results increase ``count``."""

    def __init__(
        self, address: int, name: str, dtype: str, inputs: Sequence[Shape], outputs: Sequence[Shape], owner: object
    ) -> None:
        self._owner = owner  # of the code
        self.address, self.outputs, self.cores = address, tuple(outputs), (*inputs, *outputs)
        self._context = Context()
        self._functions = (ctypes.c_void_p * 1)(address)
        self._data = (ctypes.c_void_p * 1)(self._context.address)
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
    def context(self) -> int:
        """The address of the loop's context."""
        return self._context.address

    @property
    def count(self) -> int:
        """Number of calls of the loop so far that had a suspect result; MemoryError if one had no work memory."""
        return self._context.count(self.ufunc.__name__)


def signature(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> str:
    """NumPy's text for core shapes, such as ``(7),(7),(7)->(7)``."""

    def one(shape: Shape) -> str:
        # NumPy does not accept a fixed length of zero
        return "(" + ",".join(str(n) if n else "none" for n in shape) + ")"

    return ",".join(map(one, inputs)) + "->" + ",".join(map(one, outputs))


# layouts -------------------------------------------------------------------------------------------


@cache
def layout_is_known() -> bool:
    """Whether the fields of objects are at the offsets that compiled code uses: True on CPython with NumPy 2."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sys.byteorder != "little":
        return False
    if getattr(sys, "_is_gil_enabled", lambda: True)() is False or object.__basicsize__ != 16:
        return False
    for array in (np.arange(6.0).reshape(2, 3), np.zeros(5, dtype=np.float32)[::2]):
        shape = _read(array, machine.SHAPE, ctypes.c_void_p)
        flags = machine.CONTIGUOUS_ALIGNED if array.flags.c_contiguous else 0x100
        good = (
            _read(array, machine.TYPE, ctypes.c_void_p) == id(np.ndarray)
            and _read(array, machine.DATA, ctypes.c_void_p) == array.ctypes.data
            and _read(array, machine.NDIM, ctypes.c_int) == array.ndim
            and tuple((ctypes.c_ssize_t * array.ndim).from_address(shape)) == array.shape
            and _read(array, machine.DESCR, ctypes.c_void_p) == id(array.dtype)
            and _read(array, machine.FLAGS, ctypes.c_int) & machine.CONTIGUOUS_ALIGNED == flags
        )
        if not good:
            return False
    array.flags.writeable = False
    if _read(array, machine.FLAGS, ctypes.c_int) & machine.WRITEABLE:
        return False
    return _read((1, 2, 3), machine.OBJECT["length"], ctypes.c_ssize_t) == 3 and _tuple_items() > 0


def _read(obj: object, at: int, kind: Any) -> int:
    return kind.from_address(id(obj) + at).value


def _tuple_items() -> int:
    """Bytes from the start of a tuple to its items; 0 if they are elsewhere."""
    sample = (object(), object())
    for at in range(machine.OBJECT["length"] + 8, tuple.__basicsize__ + 1, 8):
        if all(_read(sample, at + 8 * k, ctypes.c_void_p) == id(x) for k, x in enumerate(sample)):
            return at
    return 0


# objects that are called by compiled code ------------------------------------------------------------

_BASETYPE, _HAVE_VECTORCALL = 1 << 10, 1 << 11
_MEMBERS, _READONLY, _PY_SSIZE_T = 72, 1, 19  # Py_tp_members; of a member: its flag and type
_VECTORCALL_OFFSET, _TYPE_FLAGS = 56, 168  # bytes from the start of a class
# fields of classes that Python shows, around those two
_SHOWN = {32: "__basicsize__", 40: "__itemsize__", 208: "__weakrefoffset__", 288: "__dictoffset__"}
_BASE = 256


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _TypeSpec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]  # fmt: skip


def _class_with_words() -> type:
    """A class of objects with two words: the address of a function in the vectorcall convention, and of its data."""
    members = (_Member * 2)(
        _Member(b"__vectorcalloffset__", _PY_SSIZE_T, machine.OBJECT["vectorcall"], _READONLY, None)
    )
    slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(members)))
    spec = _TypeSpec(b"sixd.runtime.cpython.Words", 32, 0, _BASETYPE, slots)
    _KEPT.extend((members, slots, spec))
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    return make(ctypes.addressof(spec))


_ON = os.environ.get("SIXD_FAST_CALLS", "on").strip().lower() != "off"
_Words: Any = _class_with_words() if _ON and layout_is_known() else object


def _fields_agree(cls: type) -> bool:
    """Whether the fields of a class are as Python shows them, also those before and after the two that are used."""
    return (
        _read(cls, _TYPE_FLAGS, ctypes.c_ulong) == cls.__flags__
        and _read(cls, _BASE, ctypes.c_void_p) == (id(cls.__base__) if cls.__base__ else None)
        and all(_read(cls, at, ctypes.c_ssize_t) == getattr(cls, name) for at, name in _SHOWN.items())
    )


def _set_flag(cls: type) -> None:
    """Make Python call the function in an object's first word, unless that is null."""
    ctypes.c_ulong.from_address(id(cls) + _TYPE_FLAGS).value |= _HAVE_VECTORCALL


def _set_words(obj: object, function: int, words: int) -> None:
    ctypes.c_uint64.from_address(id(obj) + machine.OBJECT["words"]).value = words
    ctypes.c_uint64.from_address(id(obj) + machine.OBJECT["vectorcall"]).value = function


@cache
def _fault() -> str:
    """Why calls do not go straight to compiled code; empty if they do. A small object is called in both ways."""
    if not _ON:
        return "off"
    if _Words is object:
        return "the layout of its objects is unknown"

    class Sample(_Words):
        def __call__(self, *args: Any, **named: Any) -> Any:
            return args, named

    def fast(obj: int, args: int, count: int, names: int | None) -> Any:
        called.append(obj)
        keys = () if names is None else ctypes.cast(names, ctypes.py_object).value
        count &= ~(1 << 63)  # the highest bit is a flag
        values = ctypes.cast(args, ctypes.POINTER(ctypes.py_object))[: count + len(keys)]
        return tuple(values[:count]), dict(zip(keys, values[count:], strict=True))

    called: list[int] = []
    classes: tuple[type, ...] = (object, tuple, type, Sample, np.ndarray)
    if not all(map(_fields_agree, classes)):
        return "the fields of its classes are not where they are expected"
    at = machine.OBJECT["vectorcall"]
    if _read(Sample, _VECTORCALL_OFFSET, ctypes.c_ssize_t) != at or Sample.__basicsize__ < _Words.__basicsize__:
        return "the words of objects are not where they are expected"
    before = Sample.__flags__
    _set_flag(Sample)
    if Sample.__flags__ != before | _HAVE_VECTORCALL:
        return "the flag of fast calls cannot be set"
    sample = Sample()
    slow = sample(1.5, "x", key=sample), sample()
    word = ctypes.c_void_p
    entry = ctypes.PYFUNCTYPE(ctypes.py_object, word, word, ctypes.c_size_t, word)(fast)
    _set_words(sample, _address(entry), 1)
    find = ctypes.PYFUNCTYPE(word, ctypes.py_object)(("PyVectorcall_Function", ctypes.pythonapi))
    try:
        if find(sample) != _address(entry):
            return "it does not find the function of a fast call"
        if (sample(1.5, "x", key=sample), sample()) != slow or called != [id(sample)] * 2:
            return "a fast call differs from a plain one"
    finally:
        _set_words(sample, 0, 0)
    return ""


@cache
def fast_calls() -> bool:
    """Whether calls go straight to compiled code; if that was not turned off and fails, there is one warning."""
    fault = _fault()
    if fault and _ON:
        warnings.warn(
            f"sixd: a call takes about 40 us instead of 0.2 us on this Python ({sys.implementation.name} "
            f"{sys.version.split()[0]}): {fault}. Results are the same. Set SIXD_FAST_CALLS=off in the environment to "
            "silence this warning.",
            CompileWarning,
            stacklevel=2,
        )
    return not fault


class Called(_Words):
    """Base of classes whose objects are called by compiled code; until :meth:`_attach` they are called by ``__call__``.

    A call of an object with ``__call__`` alone takes 57 ns more: Python makes a tuple, looks the method up, and unpacks
    the tuple. If its class has a certain flag, Python calls the function in the object's first word instead, unless
    that is null. Classes written in C have the flag; a class statement does not set it.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if _fault() or not _fields_agree(cls):
            return
        if _read(cls, _VECTORCALL_OFFSET, ctypes.c_ssize_t) == machine.OBJECT["vectorcall"]:
            _set_flag(cls)

    def _attach(self, function: int, words: int) -> None:
        """Send calls to the function at that address, with these words; both stay valid as long as the object."""
        if fast_calls() and type(self).__flags__ & _HAVE_VECTORCALL:
            _set_words(self, function, words)
