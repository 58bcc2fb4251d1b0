"""Kernels: functions compiled for one model by ``sixd.compile``, and the same as C source by ``sixd.export_c``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sixd.engine.artifact import shell, trace_request
from sixd.engine.evaluate import evaluate
from sixd.engine.functions import Function, Request
from sixd.engine.gpu_calls import CompiledFunction, DeviceKernel, GpuCalls
from sixd.engine.parameters import parameter_shape, with_parameters
from sixd.engine.request import make_request
from sixd.engine.targets import c, cpu
from sixd.model.system import System
from sixd.runtime import calls
from sixd.runtime.arrays.registry import library_of
from sixd.runtime.cpython import Called, fast_calls
from sixd.runtime.routine import Routine
from sixd.spatial.scalar import Array


class Kernel(Called, CompiledFunction):
    """A function compiled for one model: call it like the function, without the model.

    Arrays may have leading batch dimensions, which broadcast as those of a NumPy generalised ufunc do; ``out=``
    receives the result. PyTorch tensors are accepted, too, and arrays on an NVIDIA GPU, for which it is compiled again;
    results are of the same kind, see :class:`DeviceKernel`. Results are float32 if all arrays are, else float64, unless
    it was compiled for one dtype. It is compiled at its first call, separately for each dtype, and for one state and
    batches. Several threads may call it at the same time. It cannot be pickled: pickle the model and compile again,
    which is fast if the code is on disk. A kernel of library functions raises where they do; one of your own function,
    or with parameters, returns inf or NaN where it divides by zero.

    Made by ``sixd.compile``. Attributes: ``name``, ``model``, ``dtype`` (None: that of the arguments), ``inputs``
    (names of its arrays, in order) and ``program`` (the traced operations).
    """

    _plan: calls.CallPlan
    _provided = 0  # parts of the code

    def __init__(self, request: Request, model: System, *, by_arguments: bool = False) -> None:
        request.function.require_numeric(f"compile: {request.function.name}", model)
        CompiledFunction.__init__(self, request, model, by_arguments=by_arguments)
        self._plain: dict[str, Routine] = {}  # the routines for this CPU without f_ext, by dtype
        self._on_gpu = GpuCalls(request.function, request.choices, self.dtype)

    def __call__(self, *arrays: Any, f_ext: Any = None, out: Any = None, **named: Any) -> Any:
        """Handle the calls that compiled code does not: the first, and those with names or uncommon arrays."""
        if not named and arrays and f_ext is None and library_of(arrays[0]).on_gpu:
            return self._on_gpu(self.model, arrays, None, out, self._find)
        if f_ext is None and not named:
            for routine in tuple(self._plain.values()):
                result = routine.quick(arrays, out)
                if result is not None:
                    return result if out is not None else self._function.pack(result)
        ordered, f_ext = self._ordered(arrays, f_ext, named)
        choices = self._request.choices
        result = evaluate(self._function, self.model, choices, ordered, f_ext, out, self.dtype, self._find, True)
        self._use_code()
        return result

    def _find(self, request: Request) -> Any:
        found = CompiledFunction._find(self, request)
        if request.target is cpu and not request.force:
            self._plain[request.dtype] = found
        return found

    def _use_code(self) -> None:
        """Route later calls directly to compiled code."""
        routines = tuple(self._plain.values())
        provided = sum(routine.provided for routine in routines)
        if provided == self._provided or not fast_calls():
            return
        self._provided = provided
        codes = [code for routine in routines if (code := routine.code) is not None]
        if not codes:
            return
        if "_plan" not in self.__dict__:  # of two threads the first wins
            first = next(routine for routine in routines if routine.provided)
            plan = calls.CallPlan(first.inputs, first.outputs, self.__call__, self, self.inputs, self._function.result)
            self.__dict__.setdefault("_plan", plan)
        for code in codes:
            self._plan.set(code)
        self._attach(calls.shell(shell).address("call"), self._plan.address)


def compile(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    target: str = "cpu",
    arch: str | None = None,
    dtype: str | None = None,
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Any:
    """A kernel of a function for one model: call it like the function, without the model.

    Parameters
    ----------
    function : a function of the library, such as ``sixd.inverse_dynamics``; a function of your own of arrays, written
        in NumPy style on the functions of ``sixd.spatial``, which may call the library's; or several of these in a
        tuple, which then share their common work in one kernel that returns a tuple.
    model : the model for which it is compiled; it is passed to a function of your own that has an argument named model.
    target : "cpu", or "cuda" for NVIDIA's GPUs: a :class:`DeviceKernel`, which takes arrays on a GPU.
    arch : with "cuda" the architecture of the GPU, "sm_75" or newer ("sm_90"); compiling for it needs no GPU. Code runs
        on later ones, too. Without it that of this process's GPU, ``sixd.cuda.local_device()``.
    dtype : "float64" or "float32"; None takes that of the arguments of each call: float32 if all of them are float32
        arrays, else float64. A kernel of float32 raises for float64 arrays instead of rounding them.
    parameters : names of model parameters that become trailing inputs of the kernel instead of constants: "inertia"
        (nb, 10), per body m, hx, hy, hz, Ixx, Iyy, Izz, Iyz, Ixz, Ixy about its origin; "gravity" (3,); "placements"
        (nb, 4, 4); "damping", "friction", "armature" (nv,); or the name of a symbol of the model ().
    shapes : core shapes of the arrays of your own function whose names are not q, qd, qdd, tau, dq or f_ext.
    static : fixed arguments of the function: ``compile(sixd.pose, model, frame="tool")``. Arguments of your own
        function with a default are fixed at that, unless ``shapes`` names them.

    Your own function runs once, at this call, on scalars that trace the operations. From then on, the values of
    variables that it closes over are fixed. ``sixd.spatial`` has sin, cos, tan, asin, acos, atan2, sqrt, exp, log,
    sign, absolute, minimum, maximum and where; conditions are made of single numbers (``where(q[0] > 0, a, b)``), not
    of whole arrays.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2)
    >>> kernel = sixd.compile((sixd.mass_matrix, sixd.bias_force), arm)
    >>> M, h = kernel(np.array([0.3, 0.5]), np.array([1.0, -2.0]))
    >>> M.shape, h.shape
    ((2, 2), (2,))
    """
    request = make_request("compile", function, model, target, dtype, parameters, shapes, static, arch)
    kind = DeviceKernel if request.target.name == "cuda" else Kernel
    return kind(request, model, by_arguments=dtype is None)


def row_kernel(
    name: str, algorithm: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]], system: System, dtype: str
) -> Kernel:
    """Return the kernel of ``algorithm(system, *arrays)``, arrays of these shapes; infinite results are not errors."""
    function = Function(name, algorithm, tuple(shapes), shapes, named=False, check_finite=False)
    return Kernel(Request(function, (), dtype, False), system)


def batched(
    where: str, function: Function, system: System, parameters: Sequence[str], dtype: str
) -> Callable[..., Any]:
    """Return ``f(*arrays, *values)`` of arrays (…, core) and of values (…, core) of the named parameters, one per
    state.

    Without parameters the compiled code is kept with the system, so the function should be defined once in a module;
    with parameters it is traced here.
    """
    if not parameters:
        return lambda *arrays: evaluate(function, system, (), arrays)
    count = len(function.arrays)

    def algorithm(model: System, *row: Array) -> Any:
        own, values = row[:count], dict(zip(parameters, row[count:], strict=True))
        return function.row(with_parameters(model, values), (), own)

    # names with a blank, as a model's symbol may be called p
    cores = {f"the {name}": function.core(system, name) for name in function.arrays}
    cores |= {name: parameter_shape(where, system, name) for name in parameters}
    return row_kernel(function.name, algorithm, cores, system, dtype)


def export_c(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: System,
    *,
    name: str | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Any:
    """The function for one model as C99: ``.source`` and ``.header``, one self-contained function of plain arrays.

    The code allocates no memory and depends only on the C math library. Arguments as for ``compile``; ``name`` is the
    name of the C function; ``f_ext=True`` adds external forces as the last input. ``.save(folder)`` writes both files.
    Where the mass matrix is singular the C function returns inf or NaN.
    """
    with_force = static.pop("f_ext", None) not in (None, False)
    request = make_request("export_c", function, model, "cpu", dtype, parameters, shapes, static)
    program = trace_request(model, request._replace(force=with_force))
    own = request.function.name.replace("+", "_and_")
    label = name or (own if own.isidentifier() else "function")
    return c.emit(program, label, dtype=request.dtype, comment=f"{request.function.name} of {model.name}")
