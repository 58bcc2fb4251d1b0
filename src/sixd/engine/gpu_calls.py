"""Calls with arrays on NVIDIA's GPUs: of the functions of the library, and of kernels that ``sixd.compile`` makes with
``target="cuda"``.

The code is generated from the same program as the CPU's, for another target, and kept in the same memo.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sixd.engine import artifact
from sixd.engine.artifact import make_routine, trace_request
from sixd.engine.functions import Function, Request, as_function, in_order
from sixd.engine.result_checks import require_mass, require_regular
from sixd.engine.targets import CodeTarget, cuda
from sixd.errors import DeviceError, ScalarTypeError
from sixd.model.memo import remember
from sixd.model.system import System
from sixd.runtime.arrays.registry import common_library, is_on_gpu, look, read_array
from sixd.runtime.cuda.device import device
from sixd.runtime.cuda.routine import MISSED
from sixd.trace.program import Program


class GpuCalls:
    """Calls of a function with checked choices on arrays that are on GPUs; ``dtype`` None takes that of the arrays.

    It keeps the routines that it has found, and not the system.
    """

    def __init__(self, function: Function, choices: tuple[Any, ...], dtype: str | None = None) -> None:
        self.function, self.choices, self.dtype = function, choices, dtype
        self._names = function.arrays, (*function.arrays, "f_ext")
        self._recent: list[Any] = [None, None]  # the routines of the calls before, without and with forces
        self._routines: dict[Any, Any] = {}  # by dtype in the words of a library, GPU, and whether there are forces

    def __call__(
        self,
        model: System,
        arrays: tuple[Any, ...],
        f_ext: Any = None,
        out: Any = None,
        find: Callable[[Request], Any] | None = None,
    ) -> Any:
        """Start the computation; ``find(request)`` gives a routine, by default that of the system's memo."""
        forced = f_ext is not None
        given = (*arrays, f_ext) if forced else arrays
        recent = self._recent[forced]
        if recent is not None:
            result = recent.again(given, out)
            if result is not MISSED:
                return result if out is not None else self.function.pack(result)
        names = self._names[forced]
        try:
            layout, _, number = look(given[0])
            routine = self._routines.get((layout[0], number, forced))
        except (DeviceError, ScalarTypeError):
            routine = None
        if routine is None:
            routine = self._routine(model, names, given, out, forced, find)
        self._recent[forced] = routine
        try:
            result = routine(names, given, out, partial(self._check, model))
        except DeviceError:
            common_library(self.function.name, names, given, out)
            raise
        return result if out is not None else self.function.pack(result)

    def _routine(
        self, model: System, names: tuple[str, ...], given: tuple[Any, ...], out: Any, forced: bool, find: Any
    ) -> Any:
        """The routine for arrays like these, after a check of the arguments."""
        where = self.function.name
        if len(given) != len(names):
            raise ScalarTypeError(f"{where}: got {len(given)} arrays, expected {len(names)}: {', '.join(names)}.")
        common_library(where, names, given, out)
        first = next((k for k, x in enumerate(given) if is_on_gpu(x)), None)
        if first is None:  # numbers alone
            raise ScalarTypeError(f"{where}: no argument is on a GPU, as out is. Copy the arguments there.")
        found = read_array(where, names[first], given[first])
        self.function.require_numeric(where, model)
        require_numbers(where, model)
        target = cuda(device(where, max(found.device, 0)).architecture)
        request = Request(self.function, self.choices, self.dtype or found.dtype, forced, target)
        made = find(request) if find is not None else artifact.routine(model, request)
        if first == 0:
            layout, _, number = look(given[0])
            self._routines[layout[0], number, forced] = made
        return made

    def _check(self, model: System, part: Any) -> None:
        require_mass(self.function, model)
        require_regular(self.function.name, model, part.singular)


def gpu_calls(system: System, function: Function, choices: tuple[Any, ...]) -> GpuCalls:
    """The calls of a function on GPUs, which the system's memo keeps."""
    return remember(system, ("gpu", function, choices), lambda: GpuCalls(function, choices))


def require_numbers(where: str, model: System) -> None:
    """Raise for a model with traced parameters: arrays on a GPU hold numbers, which no trace can take."""
    if model.is_traced:
        raise ScalarTypeError(
            f"{where}: {model.name!r} has parameters that are traced, but arrays on a GPU were passed, expected traced "
            f"arguments. Give the array as an argument of the function that is compiled."
        )


class CompiledFunction:
    """A function compiled for one model: what kernels for all targets have in common."""

    arch = ""  # the architecture of the code, if there is one for all machines of its target

    def __init__(self, request: Request, model: System, *, by_arguments: bool = False) -> None:
        function = request.function
        self.name, self.model, self.dtype = function.name, model, None if by_arguments else request.dtype
        self.inputs = function.arrays
        self._function, self._request = function, request
        # a user's function is traced now: variables that it closes over may change later
        self._program = None if function.named else trace_request(model, request)
        # by target, whether it takes f_ext, and dtype
        self._routines: dict[tuple[CodeTarget, bool, str], Any] = {}

    def _ordered(self, arrays: tuple[Any, ...], f_ext: Any, named: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        """The arrays of a call in their order, and its external forces."""
        if f_ext is not None and "f_ext" in self.inputs:  # a user's function may name an array so
            named, f_ext = {**named, "f_ext": f_ext}, None
        if named or len(arrays) != len(self.inputs):
            arrays = in_order(self.name, self.inputs, arrays, named)
        if f_ext is not None and not self._function.force:
            raise ScalarTypeError(f"{self.name}: f_ext was passed, but this function takes no external forces.")
        return arrays, f_ext

    def _find(self, request: Request) -> Any:
        """The routine for the target and the dtype of a request."""
        key = request.target, request.force, request.dtype
        found = self._routines.get(key)
        if found is None:
            # a user's function is run once: its program serves for all dtypes
            has_program = not request.force and (request.function.own or request.dtype == self._request.dtype)
            made = make_routine(self.model, request, self._program if has_program else None)
            found = self._routines.setdefault(key, made)
        return found

    @property
    def program(self) -> Program:
        """The traced program: its operations, counted by ``program.count()``."""
        return self._program or trace_request(self.model, self._request)

    @property
    def declared(self) -> Function:
        """The function of this kernel, by which it can be compiled with others, differentiated and exported."""
        return as_function(self._function, self._request.choices)

    def __reduce__(self) -> Any:
        raise TypeError(f"kernel {self.name} cannot be pickled. Pickle the model, and call sixd.compile again.")

    def __repr__(self) -> str:
        facts = ", ".join([repr(self.model.name), self.dtype or "float64 or float32", *[self.arch] * bool(self.arch)])
        return f"<{type(self).__name__} {self.name}({', '.join(self.inputs)}) of {facts}>"


class DeviceKernel(CompiledFunction):
    """A function compiled for one model and for GPUs: call it like the function, without the model, with device arrays.

    Accepts arrays of CuPy, CUDA tensors of PyTorch, and others with ``__cuda_array_interface__`` or DLPack, without a
    copy. Results are of the first one's kind; ``out=`` receives them, and must not overlap an argument. Leading
    dimensions broadcast. A call starts the work on the caller's current stream and returns. If the function is not
    defined for a state, the result is NaN, inf or very large, without an error, and the device counts the state
    (``sixd.cuda.check``).

    ``sixd.compile(…, target="cuda")`` returns it, and needs no GPU. Attributes: ``name``, ``model``, ``dtype`` (None:
    that of the arguments), ``inputs`` (names of its arrays, in order), ``arch`` (the architecture of its code), ``ptx``
    (the code, as text) and ``program`` (the traced operations), both for float64 unless it was made for float32.
    """

    def __init__(self, request: Request, model: System, *, by_arguments: bool = False) -> None:
        super().__init__(request, model, by_arguments=by_arguments)
        self.arch = request.target.machine_key()
        self._recent: Any = None  # the routine of the call before, without f_ext

    def __call__(self, *arrays: Any, f_ext: Any = None, out: Any = None, **named: Any) -> Any:
        """Start the computation for arrays on a GPU; see the class."""
        if f_ext is None and not named and self._recent is not None:
            result = self._recent.again(arrays, out)
            if result is not MISSED:
                return result if out is not None else self._function.pack(result)
        ordered, f_ext = self._ordered(arrays, f_ext, named)
        forced = f_ext is not None
        names = (*self.inputs, "f_ext") if forced else self.inputs
        given = (*ordered, f_ext) if forced else ordered
        on_gpu = (read_array(self.name, n, x).dtype for n, x in zip(names, given, strict=True) if is_on_gpu(x))
        routine = self._routine(forced, self.dtype or next(on_gpu, self._request.dtype))
        if not forced:
            self._recent = routine
        result = routine(names, given, out, self._check)
        return result if out is not None else self._function.pack(result)

    def _routine(self, forced: bool, dtype: str) -> Any:
        return self._find(self._request._replace(force=forced, dtype=dtype))

    def _check(self, part: Any) -> None:
        require_mass(self._function, self.model)
        require_regular(self.name, self.model, part.singular)

    @property
    def ptx(self) -> str:
        """The code for row-major arrays, as text; compiled at the first use."""
        return str(self._routine(False, self._request.dtype).ptx)
