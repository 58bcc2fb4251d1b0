"""Kernels of NVIDIA's GPUs: functions compiled for one model by ``sixd.compile`` with ``target="cuda"``."""

from __future__ import annotations

from typing import Any

from sixd.engine.artifact import make_routine, trace_request
from sixd.engine.evaluate import require_regular
from sixd.engine.functions import Function, Request, as_function, in_order
from sixd.errors import ScalarTypeError
from sixd.model.system import System
from sixd.trace.program import Program


class DeviceKernel:
    """A function compiled for one model and for GPUs: call it like the function, without the model, with device arrays.

    Arrays of CuPy, CUDA tensors of PyTorch, and others with ``__cuda_array_interface__`` or DLPack are taken without a
    copy, and results are of the first one's kind; ``out=`` is filled if given, and must not overlap an argument.
    Leading dimensions broadcast. A call starts the work on the caller's current stream and returns. Rows in which the
    function is not defined come back as NaN or inf, and nothing raises: they are counted on the device.

    Made by ``sixd.compile(…, target="cuda")``, which needs no GPU. Attributes: ``name``, ``model``, ``dtype``,
    ``inputs`` (names of its arrays, in order), ``arch`` (the architecture of its code), ``ptx`` (the code, as text) and
    ``program`` (the traced operations).
    """

    def __init__(self, request: Request, model: System) -> None:
        function = request.function
        self.name, self.model, self.dtype = function.name, model, request.dtype
        self.inputs, self.arch = function.arrays, request.target.machine_key()
        self._function, self._request = function, request
        function.require_numeric(f"compile: {function.name}", model)
        if function.check is not None:
            raise ScalarTypeError(
                f"compile: {function.name} checks its results on the processor, so it takes CPU arrays only, expected "
                f"target='cpu'."
            )
        # a user's function is traced now: variables that it closes over may change later
        self._program = None if function.named else trace_request(model, request)
        self._routines = {
            False: make_routine(model, request, self._program),
            True: make_routine(model, request._replace(force=True)),
        }

    def __call__(self, *arrays: Any, f_ext: Any = None, out: Any = None, **named: Any) -> Any:
        """Start the computation for arrays on a GPU; see the class."""
        if f_ext is not None and "f_ext" in self.inputs:
            named, f_ext = {**named, "f_ext": f_ext}, None
        ordered = in_order(self.name, self.inputs, arrays, named)
        if f_ext is not None and not self._function.force:
            raise ScalarTypeError(f"{self.name}: f_ext was given, but this function takes no external forces.")
        forced = f_ext is not None
        routine: Any = self._routines[forced]
        names = (*self.inputs, "f_ext") if forced else self.inputs
        given = (*ordered, f_ext) if forced else ordered
        result = routine(names, given, out, lambda part: require_regular(self.name, self.model, part.singular))
        return result if out is not None else self._function.pack(result)

    @property
    def ptx(self) -> str:
        """The code for row-major arrays, as text; compiled at the first use."""
        routine: Any = self._routines[False]
        return str(routine.ptx)

    @property
    def program(self) -> Program:
        """The traced program: its operations, counted by ``program.count()``."""
        return self._program or trace_request(self.model, self._request)

    @property
    def declared(self) -> Function:
        """The function of this kernel, by which it can be compiled with others, differentiated and exported."""
        return as_function(self._function, self._request.choices, self.dtype)

    def __reduce__(self) -> Any:
        raise TypeError(f"kernel {self.name} cannot be pickled. Pickle the model, and call sixd.compile again.")

    def __repr__(self) -> str:
        return f"<DeviceKernel {self.name}({', '.join(self.inputs)}) of {self.model.name!r}, {self.dtype}, {self.arch}>"
