"""The interface of compiled code to its process: the context, and the offsets of fields in NumPy arrays.

The context is a table of eight-byte words that compiled code reaches by a pointer, so that it needs no linking. The
code adds to ``count`` when a result is suspect (not finite, or very large); the other words are addresses.
``sixd.runtime.python_api.layout_is_known`` checks the offsets before code that uses them runs.
"""

from __future__ import annotations

MATH = ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log")  # of libm, for float64
PYTHON = (
    "array_type", "descr", "array_new", "array_return", "tuple_new", "tuple_set", "decref", "vectorcall", "fallback",
)  # fmt: skip
CONTEXT = ("count", *MATH, *PYTHON)

# memory [bytes]: a cache line, the size of a cache, and the offset in a line at which glibc begins a large array
LINE, CACHE, MALLOC = 64, 8 << 20, 16
# bytes from the start of an object of NumPy's array class
TYPE, DATA, NDIM, SHAPE, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
PAYLOAD = 32  # of a bytes object, which is the context of an entry
CONTIGUOUS_ALIGNED = 0x0001 | 0x0100
TYPE_NUMBER = {"float64": 12, "float32": 11}


def offset(name: str) -> int:
    """Offset of a word in the context [bytes]."""
    return 8 * CONTEXT.index(name)
