"""The call frame of XLA's foreign function interface: where its fields are, and a check of that.

The offsets are those of ``xla/ffi/api/c_api.h`` in jaxlib, version 0.x of the interface. Every structure states its
size in its first word: ``frame_fault`` finds a changed layout before anything is read through a wrong address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

# of the version of the interface: another major one may have another layout; errors were tried up to this minor one
MAJOR, MINOR = 0, 3

# bytes from the start of a call frame, of XLA's table of functions, and of other structures
FRAME = {
    "extension": 8,
    "api": 16,
    "context": 24,
    "args": 72,
    "rets": 112,
    "attributes": 160,
    "inputs": 56,
    "outputs": 96,
}
API = {"version": 32, "Error_Create": 48, "Stream_Get": 80, "DeviceOrdinal_Get": 184}
BUFFER = {"data": 24, "rank": 32, "dims": 40}
ARRAY = {"size": 8, "data": 16}
METADATA = {"metadata": 24, "major": 24, "minor": 28, "traits": 32}
GRAPHS = 1  # trait: calls may be recorded in a CUDA graph
ERRORS = {"not found": 5, "exhausted": 8, "internal": 13}  # their codes

# sizes in the first words of structures; later versions may append functions to the table
_FRAME_SIZE, _LIST_SIZE, _ATTRIBUTES_SIZE, _API_SIZE = 168, 40, 48, 192
_EXTENSION_SIZE, _METADATA_SIZE, _VERSION_SIZE, _BUFFER_SIZE = 32, 36, 24, 48


class KnownCall(NamedTuple):
    """What the frame of a call has to hold: the shapes of its arrays, and the words of its attribute."""

    inputs: Sequence[tuple[int, ...]]
    outputs: Sequence[tuple[int, ...]]
    words: Sequence[int]


class _LayoutError(Exception):
    pass


def frame_fault(frame: int, known: KnownCall) -> str:
    """How the frame at an address differs from that of a known call; empty if it does not. It may also be a question
    for the handler's metadata, which has no arrays."""
    try:
        _expect("the call frame's size", _word(frame, 0), _FRAME_SIZE)
        if extension := _word(frame, FRAME["extension"]):
            _check_metadata(extension)
        else:
            _check_call(frame, known)
        return ""
    except _LayoutError as error:
        return str(error)


def _check_metadata(extension: int) -> None:
    _expect("the metadata extension's size", _word(extension, 0), _EXTENSION_SIZE)
    metadata = _word(extension, METADATA["metadata"])
    _expect("the metadata's size", _word(metadata, 0), _METADATA_SIZE)
    _expect("the size of the metadata's version", _word(metadata, METADATA["major"] - 16), _VERSION_SIZE)


def _check_call(frame: int, known: KnownCall) -> None:
    api = _word(frame, FRAME["api"])
    if (size := _word(api, 0)) < _API_SIZE:
        raise _LayoutError(f"the size of XLA's table of functions is {size}, expected at least {_API_SIZE}")
    version = ctypes.c_int32.from_address(api + API["version"]).value
    _expect("the major version of XLA's interface", version, MAJOR)
    lists = (("inputs", "args", known.inputs), ("outputs", "rets", known.outputs))
    for count, items, shapes in lists:
        _expect(f"the size of the list of {count}", _word(frame, FRAME[count] - 16), _LIST_SIZE)
        _expect(f"the number of {count}", _word(frame, FRAME[count]), len(shapes))
        buffers = (ctypes.c_uint64 * len(shapes)).from_address(_word(frame, FRAME[items]))
        for buffer, shape in zip(buffers, shapes, strict=True):
            _expect("an array's size", _word(buffer, 0), _BUFFER_SIZE)
            _expect("an array's number of dimensions", _word(buffer, BUFFER["rank"]), len(shape))
            dims = (ctypes.c_int64 * len(shape)).from_address(_word(buffer, BUFFER["dims"]))
            _expect("an array's shape", tuple(dims), tuple(shape))
    _expect("the size of the attributes", _word(frame, FRAME["attributes"] - 40), _ATTRIBUTES_SIZE)
    _expect("the number of attributes", _word(frame, FRAME["attributes"] - 24), 1)
    attribute = _word(_word(frame, FRAME["attributes"]), 0)
    _expect("the attribute's length", _word(attribute, ARRAY["size"]), len(known.words))
    words = (ctypes.c_int64 * len(known.words)).from_address(_word(attribute, ARRAY["data"]))
    _expect("the attribute", tuple(words), tuple(known.words))


def _word(base: int, offset: int) -> int:
    return ctypes.c_uint64.from_address(base + offset).value


def _expect(what: str, value: object, expected: object) -> None:
    if value != expected:
        raise _LayoutError(f"{what} is {value}, expected {expected}")
