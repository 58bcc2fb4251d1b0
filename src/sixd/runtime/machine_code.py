"""Machine code in memory: an object file linked into one block of bytes, and that block mapped to be executed.

Linking needs only the distances between the sections of one file, so that a block can be kept on disk and mapped in
later processes without LLVM: that takes 0.1 ms, loading LLVM 80 ms. Only ELF files for x86-64 are linked here, the
format on Linux and on Windows; on other systems the object file is kept, and LLVM's loader links it.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sixd.codegen.llvm.machine import load_llvm
from sixd.locks import FORKS_WAIT

_PC32, _PLT32 = 2, 4  # kinds of relocation: both are a distance of 32 bits
_ALLOCATED, _NOBITS, _RELA, _SYMTAB = 0x2, 8, 4, 2
_OWN = -1  # in place of a section: the code of _PROBE
_Symbol = tuple[str, int, int]  # name, section, offset in it
_UNWINDING = (".eh_frame", ".pdata", ".xdata")  # sections for debuggers: compiled code raises nothing
# a function with more than a page of variables calls this on Windows, with their size in rax: it touches the stack page
# by page from the top, so that the stack grows, and changes no register
_PROBE = bytes.fromhex(
    "50"  # push rax
    "4152"  # push r10
    "4c8d542418"  # lea r10, [rsp + 24]: the stack before the call
    "4981ea00100000"  # next: sub r10, 4096
    "4d8512"  # test [r10], r10
    "482d00100000"  # sub rax, 4096
    "77ee"  # ja next
    "415a58c3"  # pop r10; pop rax; ret
)


class LinkError(Exception):
    """Raised for an object file that cannot be linked into one block here."""


class Image(NamedTuple):
    """Code in the form kept on disk: linked, with the offsets of its functions, or an object file for LLVM's loader."""

    code: bytes
    functions: dict[str, int]
    linked: bool


def make_image(obj: bytes) -> Image:
    """The image of an object file."""
    try:
        code, functions = link(obj)
    except LinkError:
        return Image(obj, {}, linked=False)
    return Image(code, functions, linked=True)


def link(obj: bytes) -> tuple[bytes, dict[str, int]]:
    """The sections of an ELF file in one block, with relocations resolved, and the offsets of its functions."""
    is_x86 = obj[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", obj, 18)[0] == 62
    if not is_x86 or sys.platform not in ("linux", "win32"):
        raise LinkError("not an ELF file for x86-64")
    sections = _sections(obj)
    code, start = _join(obj, sections)
    symbols = _symbols(obj, sections)
    if any(name == "__chkstk" for name, *_ in symbols):
        start[_OWN] = len(code)
        symbols = [(name, _OWN, 0) if name == "__chkstk" else (name, k, at) for name, k, at in symbols]
        code += _PROBE
    for s in sections:
        if s.kind == _RELA and s.info in start:
            _relocate(code, obj, s, symbols, start)
    functions = {
        name: start[section] + value for name, section, value in symbols if section in start and name and name[0] != "."
    }
    return bytes(code), functions


def _join(obj: bytes, sections: Sequence[_Section]) -> tuple[bytearray, dict[int, int]]:
    """The sections that code uses, one after the other, and where each begins, by its number."""
    code = bytearray()
    start: dict[int, int] = {}
    for k, s in enumerate(sections):
        if s.flags & _ALLOCATED and s.kind != _NOBITS and s.name not in _UNWINDING:
            code += b"\0" * (-len(code) % max(s.align, 1))
            start[k] = len(code)
            code += obj[s.offset : s.offset + s.size]
    return code, start


def _relocate(
    code: bytearray, obj: bytes, section: _Section, symbols: Sequence[_Symbol], start: Mapping[int, int]
) -> None:
    """Write the distances that a section of relocations lists into the code."""
    for at in range(section.offset, section.offset + section.size, 24):
        offset, info, addend = struct.unpack_from("<QQq", obj, at)
        _, target, value = symbols[info >> 32]
        if target not in start or info & 0xFFFFFFFF not in (_PC32, _PLT32):
            raise LinkError(f"relocation {info & 0xFFFFFFFF} of {symbols[info >> 32]}")
        where = start[section.info] + offset
        struct.pack_into("<i", code, where, start[target] + value + addend - where)


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    info: int
    align: int
    link: int


def _sections(obj: bytes) -> list[_Section]:
    table = struct.unpack_from("<Q", obj, 40)[0]
    size, count, names = struct.unpack_from("<HHH", obj, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", obj, table + k * size) for k in range(count)]
    strings = raw[names][4]
    return [_Section(_string(obj, strings + r[0]), r[1], r[2], r[4], r[5], r[7], r[8], r[6]) for r in raw]


def _symbols(obj: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    """Every symbol of the tables in some sections."""
    symbols = []
    for s in sections:
        if s.kind == _SYMTAB:
            strings = sections[s.link].offset
            for at in range(s.offset, s.offset + s.size, 24):
                name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", obj, at)
                symbols.append((_string(obj, strings + name), section, value))
    return symbols


def _string(obj: bytes, at: int) -> str:
    return obj[at : obj.index(b"\0", at)].decode()


class LoadedImage:
    """An image in executable memory, valid as long as this object lives."""

    def __init__(self, image: Image) -> None:
        self._keep: Any
        if image.linked:
            base, self._keep = _map(image.code)
            self._functions = {name: base + at for name, at in image.functions.items()}
        else:
            self._keep = _load_object(image.code)
            self._functions = {}

    def address(self, name: str) -> int:
        """The address of a function."""
        return self._functions[name] if self._functions else self._keep.get_function_address(name)


def _map(code: bytes) -> tuple[int, Any]:
    """Copy code into new pages that are readable and executable; return their address and the object that owns them."""
    if sys.platform == "win32":
        return _map_on_windows(code)
    pages = mmap.mmap(-1, max(len(code), 1), prot=mmap.PROT_READ | mmap.PROT_WRITE)
    pages.write(code)
    view = ctypes.c_char.from_buffer(pages)
    base = ctypes.addressof(view)
    del view  # otherwise the pages could never be freed
    size = -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE
    if _mprotect()(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    return base, pages


class _Pages:
    """Pages of Windows at an address, freed with this object."""

    def __init__(self, base: int, free: Callable[..., object]) -> None:
        self._base, self._free = base, free

    def __del__(self) -> None:
        self._free(self._base, 0, 0x8000)  # MEM_RELEASE


def _map_on_windows(code: bytes) -> tuple[int, _Pages]:
    kernel = _kernel32()
    base = kernel.VirtualAlloc(None, max(len(code), 1), 0x3000, 0x04)  # MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE
    if not base:
        raise MemoryError(f"there is no memory for {len(code)} bytes of code.")
    pages, before = _Pages(base, kernel.VirtualFree), ctypes.c_uint32()
    ctypes.memmove(base, code, len(code))
    if not kernel.VirtualProtect(base, max(len(code), 1), 0x20, ctypes.byref(before)):  # PAGE_EXECUTE_READ
        raise OSError(ctypes.get_last_error(), "memory cannot be made executable")  # type: ignore[attr-defined]
    return base, pages


@cache
def _kernel32() -> Any:
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    word, size, flags = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    kernel.VirtualAlloc.restype, kernel.VirtualAlloc.argtypes = word, [word, size, flags, flags]
    kernel.VirtualProtect.argtypes = [word, size, flags, word]
    kernel.VirtualFree.argtypes = [word, size, flags]
    return kernel


@cache
def _mprotect() -> Any:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function


def _load_object(obj: bytes) -> Any:
    """Load an object file by LLVM; return the engine that owns the code."""
    llvm = load_llvm()
    with FORKS_WAIT:
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(obj))
        engine.finalize_object()
    return engine
