"""Machine code for other computers: Windows' calling convention and memory, keys of CPUs."""

import ctypes
import mmap
import platform

import numpy as np
import pytest

import sixd
from sixd.codegen.llvm.entry import emit_entry
from sixd.codegen.llvm.loop import emit_loop
from sixd.codegen.llvm.machine import CONTEXT, assemble, host, load_llvm
from sixd.engine import targets
from sixd.runtime import machine_code
from sixd.runtime.machine_code import LoadedImage, make_image

x86 = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64", reason="runs code of Windows on Linux on x86-64"
)
ARM = sixd.zoo.ur_arm()
ROWS = 37
# calls by Windows' convention, from functions of this system's
BRIDGE = """
define i1 @entry(ptr %f, ptr %arrays, ptr %context) nounwind {
  %suspect = call win64cc i1 %f(ptr %arrays, ptr %context)
  ret i1 %suspect
}
define void @loop(ptr %f, ptr %arrays, ptr %rows, ptr %steps, ptr %context) nounwind {
  call win64cc void %f(ptr %arrays, ptr %rows, ptr %steps, ptr %context)
  ret void
}
"""


def on_windows(monkeypatch, make, *arguments):
    """Return the result of ``make`` as if LLVM were that of Windows."""
    with monkeypatch.context() as patch:
        patch.setattr(load_llvm(), "get_process_triple", lambda: "x86_64-pc-windows-msvc")
        return make(*arguments)


def module(form, dtype="float64"):
    machine = host()
    program = sixd.compile(sixd.forward_dynamics_derivatives, ARM).program
    if form == "entry":
        return emit_entry(program, dtype, 1e300, machine.has_fma, machine.lanes(dtype))
    return emit_loop(program, dtype, machine.lanes(dtype), 1e300, machine.has_fma)


@pytest.fixture
def bridge():
    """Return functions that call functions of Windows, by their addresses, one for each signature."""
    llvm = load_llvm()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(BRIDGE), machine)
    engine.finalize_object()
    kinds = {"entry": ctypes.CFUNCTYPE(ctypes.c_bool, *[ctypes.c_void_p] * 3)}
    kinds["loop"] = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
    made = {form: kind(engine.get_function_address(form)) for form, kind in kinds.items()}
    yield made
    del engine  # until here it owns the code


@x86
@pytest.mark.parametrize("form", ["entry", "loop"])
def test_code_for_windows_is_linked_and_runs(form, bridge, monkeypatch, rng):
    """ELF files with Windows' calling convention, linked here with a probe of the stack: bit-identical results."""
    obj = on_windows(monkeypatch, assemble, module(form), host())
    assert obj[:4] == b"\x7fELF"
    image = make_image(obj)
    assert image.linked
    code = LoadedImage(image)
    batch = () if form == "entry" else (ROWS,)
    inputs = [rng.uniform(-1, 1, (*batch, 6)) for _ in range(3)]
    expected = sixd.forward_dynamics_derivatives(ARM, *inputs)
    outputs = [np.full_like(x, np.nan) for x in expected]
    every, context = [*inputs, *outputs], (ctypes.c_uint64 * len(CONTEXT))()
    arrays = (ctypes.c_void_p * len(every))(*(x.ctypes.data for x in every))
    if form == "entry":
        assert not bridge[form](code.address(form), arrays, context)
    else:
        steps = (ctypes.c_int64 * len(every))(*(x.strides[0] for x in every))
        bridge[form](code.address(form), arrays, (ctypes.c_int64 * 1)(ROWS), steps, context)
    assert context[0] == 0  # no suspect result
    assert all(np.array_equal(a, b) for a, b in zip(outputs, expected, strict=True))


@x86
@pytest.mark.parametrize("size", [8, 4096, 4104, 12288, 1_000_000])
def test_stack_is_probed(size, bridge, monkeypatch):
    """A function with more than a page of variables touches the stack page by page, as Windows requires, and is right."""
    text = f"""
        define i1 @entry(ptr %arrays, ptr %context) nounwind {{
          %own = alloca [{size} x i8], align 8
          %last = getelementptr i8, ptr %own, i64 {size - 8}
          store volatile ptr %arrays, ptr %own
          %kept = load volatile ptr, ptr %own
          store volatile ptr %context, ptr %last
          %other = load volatile ptr, ptr %last
          store ptr %kept, ptr %other
          ret i1 true
        }}"""
    image = make_image(on_windows(monkeypatch, assemble, text, host()))
    assert image.linked
    assert (machine_code._PROBE in image.code) == (size >= 4096)
    code, found = LoadedImage(image), ctypes.c_void_p()
    assert bridge["entry"](code.address("entry"), 4711, ctypes.addressof(found))
    assert found.value == 4711


@x86
@pytest.mark.parametrize("form", ["shell", "handlers"])
def test_calls_for_windows_are_linked(form, monkeypatch):
    """They need no function of another library."""
    image = on_windows(monkeypatch, targets.cpu.emit, None, form, "")
    assert image.linked
    assert set(image.functions) >= set(targets.cpu.emit(None, form, "").functions)


class Kernel32:
    """Windows' functions of memory, built on this system's."""

    def __init__(self):
        self.pages = {}

    def VirtualAlloc(self, at, size, kind, protection):
        assert (at, kind, protection) == (None, 0x3000, 0x04)
        memory = mmap.mmap(-1, size)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.pages[base] = memory
        return base

    def VirtualProtect(self, base, size, protection, before):
        assert protection == 0x20
        return 1

    def VirtualFree(self, base, size, kind):
        assert (size, kind) == (0, 0x8000)
        del self.pages[base]


def test_memory_on_windows(monkeypatch):
    """Code is copied into pages of Windows, which are freed with the object that keeps them."""
    kernel = Kernel32()
    monkeypatch.setattr(machine_code, "_kernel32", lambda: kernel)
    base, keep = machine_code._map_on_windows(b"\x90\xc3")
    assert ctypes.string_at(base, 2) == b"\x90\xc3"
    assert list(kernel.pages) == [base]
    del keep
    assert not kernel.pages
    monkeypatch.setattr(kernel, "VirtualAlloc", lambda *_: None)
    with pytest.raises(MemoryError, match="no memory for 2 bytes of code"):
        machine_code._map_on_windows(b"\x90\xc3")


@pytest.fixture
def cpu_key(monkeypatch):
    """Return the key of a CPU of that kind, with these features in LLVM's names."""
    llvm = load_llvm()
    caches = (host, targets._cpu_features)

    def key(kind, features):
        class Features(dict):
            def flatten(self):
                return ",".join(self)

        monkeypatch.setattr(platform, "machine", lambda: kind)
        monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: Features.fromkeys(features, True))
        for cached in caches:
            cached.cache_clear()
        return targets._cpu_features()

    yield key
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def test_keys_of_arm_cpus_have_llvms_features(cpu_key):
    """Code that uses SVE2 is not loaded on a CPU without it, even if NumPy reports the same features."""
    keys = [cpu_key("aarch64", f) for f in (["neon", "sve"], ["neon", "sve", "sve2"], ["neon", "sve"])]
    assert keys[0] != keys[1]
    assert keys[0] == keys[2]
    assert cpu_key("x86_64", ["avx"]) == cpu_key("x86_64", ["avx2"])  # NumPy's: without LLVM
