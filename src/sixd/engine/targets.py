"""Targets: the machines and languages for which programs are compiled. A new target is one more object here.

``cpu`` produces machine code for this CPU; ``cuda(arch)`` code for NVIDIA's GPUs; ``c`` and ``js`` produce source
text of the same programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sixd.codegen.nvptx.architectures import check_architecture
from sixd.errors import ScalarTypeError, require_known
from sixd.locks import FORKS_WAIT
from sixd.runtime.cuda.device import own_architecture
from sixd.runtime.cuda.rollout import DeviceRollout
from sixd.runtime.cuda.routine import DeviceRoutine
from sixd.runtime.machine_code import Image, make_image
from sixd.runtime.routine import Rollout, Routine, load_step
from sixd.trace.program import Program
from sixd.trace.recipe import Recipe


def _no_caller(*_: Any) -> Any:
    raise NotImplementedError("the code of this target is text, to be compiled elsewhere")


@dataclass(frozen=True)
class CodeTarget:
    """A kind of machine or language.

    ``emit`` generates code. For a machine it is ``emit(program, form, dtype, limit)``, which returns an image to keep
    on disk; ``machine_key()`` identifies the machines that can run the image; ``kernel(name, shapes, dtype, provide)``,
    ``rollout(image, name, dtype, inputs, outputs, operations)`` and ``step(image, form, dtype, inputs,
    outputs, operations)`` make the objects that load images and call their code with arrays. A language has only
    ``emit``, which returns its source text.
    """

    name: str
    emit: Callable[..., Any]
    machine_key: Callable[[], str] = str
    kernel: Callable[..., Any] = _no_caller
    rollout: Callable[..., Any] = _no_caller
    step: Callable[..., Any] = _no_caller


def _emit_machine_code(program: Any, form: str, dtype: str, limit: float = 0.0) -> Image:
    """The image of a program for one state ("entry") or for batches ("loop"), of a recipe ("rollout", or for one
    step "step" and "steps"), or of calls from Python ("shell") or XLA ("handlers"), which need no program.

    ``limit``: states whose sum of squared results exceeds it are reported as suspect.
    """
    # imported here: a warm start needs no code generator
    with FORKS_WAIT:
        from sixd.codegen.llvm.machine import assemble, host

    machine = host()
    if form == "entry":
        with FORKS_WAIT:
            from sixd.codegen.llvm.entry import emit_entry
        text = emit_entry(program, dtype, limit, machine.has_fma, machine.lanes(dtype))
    elif form == "shell":
        with FORKS_WAIT:
            from sixd.codegen.llvm.shell import emit_shell
        text = emit_shell()
    elif form == "handlers":
        with FORKS_WAIT:
            from sixd.codegen.xla import emit_handlers
        text = emit_handlers()
    elif form == "loop":
        with FORKS_WAIT:
            from sixd.codegen.llvm.loop import emit_loop
        text = emit_loop(program, dtype, machine.lanes(dtype), limit, machine.has_fma)
    elif form in ("step", "steps"):
        with FORKS_WAIT:
            from sixd.codegen.llvm.recipes.single_step import emit_step
        text = emit_step(program, dtype, 1 if form == "step" else machine.lanes(dtype), machine.has_fma)
    else:
        with FORKS_WAIT:
            from sixd.codegen.llvm.recipes.rollout import emit_rollout
        text = emit_rollout(program, dtype, machine.lanes(dtype), machine.has_fma)
    return make_image(assemble(text, machine))


def _emit_ptx(arch: str, program: Any, form: str, dtype: str, limit: float = 0.0) -> Image:
    """The image as PTX of a program for row-major arrays ("rows") or any others ("strided"), or of a recipe
    ("rollout").

    Its "functions" are numbers that a launch needs: bytes of shared memory of a warp; whether it can be strided; of a
    recipe the number of states, and whether it goes backwards.
    """
    if form == "rollout":
        with FORKS_WAIT:
            from sixd.codegen.nvptx import rollout
            from sixd.codegen.nvptx.ptx import make_ptx

        text = make_ptx(rollout.emit_rollout_kernel(program, dtype), arch)
        shared = rollout.shared_bytes(program, dtype)
        facts = {"states": len(program.state), "backwards": int(program.backwards), "shared": shared}
        facts["waits"] = int(rollout.waits(program))
        return Image(text.encode(), facts, linked=False)
    with FORKS_WAIT:
        from sixd.codegen.nvptx.kernel import can_be_strided, emit_kernel, shared_bytes
        from sixd.codegen.nvptx.ptx import make_ptx

    text = make_ptx(emit_kernel(program, dtype, limit, form), arch)
    facts = {"shared": shared_bytes(program, dtype, form), "strided": int(can_be_strided(program))}
    return Image(text.encode(), facts, linked=False)


@cache
def _cpu_features() -> str:
    """What distinguishes CPUs: on x86-64 their features as NumPy reports them, without LLVM; elsewhere LLVM's,
    for which code is made. NumPy does not report all features of ARM CPUs, and LLVM loads their code anyway."""
    with FORKS_WAIT:
        import platform

    kind = platform.machine()
    if kind in ("x86_64", "AMD64"):
        from numpy._core._multiarray_umath import __cpu_features__ as found

        features = repr(sorted(name for name, there in found.items() if there))
    else:
        from sixd.codegen.llvm.machine import host

        features = host().cpu + host().features
    return kind + platform.system() + features


def _emit_c(program: Program, name: str, **options: Any) -> Any:
    from sixd.codegen.c import emit

    return emit(program, name, **options)


def _emit_js(program: Program | Recipe, programs: Mapping[str, Program] | None = None) -> str:
    """The text of a program, or of a recipe and further programs by name."""
    if isinstance(program, Recipe):
        from sixd.codegen.js_module import emit_js_module

        return emit_js_module(program, programs or {})
    from sixd.codegen.js import emit_js

    return emit_js(program)


cpu = CodeTarget("cpu", _emit_machine_code, _cpu_features, Routine, Rollout, load_step)
c = CodeTarget("c", _emit_c)
js = CodeTarget("js", _emit_js)


@cache
def cuda(arch: str) -> CodeTarget:
    """The target of GPUs; ``arch`` is what ``check_architecture`` returns."""
    return CodeTarget("cuda", partial(_emit_ptx, arch), lambda: arch, DeviceRoutine, DeviceRollout)


def choose_target(where: str, name: str, arch: str | None) -> CodeTarget:
    """The target of that name of ``sixd.compile``; ``arch`` is a GPU's architecture, that of this computer if None."""
    require_known(f"{where}: target", "choice", name, ("cpu", "cuda"))
    if name == "cuda":
        return cuda(own_architecture(where) if arch is None else check_architecture(where, arch))
    if arch is not None:
        raise ScalarTypeError(f"{where}: arch is {arch!r}, but only target='cuda' takes one. The target is {name!r}.")
    return cpu
