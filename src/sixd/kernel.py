"""Kernels: functions compiled for one model by ``sixd.compile``, and the same as C source by ``sixd.export_c``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.compile import Request, make_routine, trace_request
from sixd.errors import ScalarTypeError, unknown_name
from sixd.evaluate import evaluate
from sixd.library import LIBRARY, Function, core_shape
from sixd.model.model import Model, require_model
from sixd.parameters import parameter_shape, with_parameters
from sixd.spatial.scalar import Array
from sixd.trace.program import Program

TARGETS = ("cpu",)
DTYPES = ("float64", "float32")
_KNOWN = ("q", "qd", "qdd", "tau", "dq", "f_ext")


class Kernel:
    """A function compiled for one model: call it like the function, without the model.

    Arrays may have leading batch dimensions, which broadcast as those of a NumPy generalised ufunc do; ``out=`` is
    filled if given. Compiled when first called, separately for one row and for batches. Many threads may call it at
    once. It cannot be pickled: pickle the model and compile again, which takes a moment if the code is on disk.
    A kernel of library functions raises where they do; one of your own function, or with parameters, returns inf or NaN
    where it divides by zero.

    Made by ``sixd.compile``. ``name``, ``model``, ``dtype`` and ``inputs`` (names of its arrays, in order) tell what it
    is, ``program`` what it computes.
    """

    def __init__(self, function: Function, model: Model, choices: tuple[Any, ...], dtype: str) -> None:
        self.name, self.model, self.dtype = function.name, model, dtype
        self.inputs = function.arrays
        self._function, self._choices = function, choices
        self._requests = {force: Request(function, choices, dtype, force) for force in (False, True)}
        if any(str(s) not in function.arrays for s in model.symbols):
            model.require_numeric(f"compile: {function.name}")
        # a function that its name does not tell is traced here and now: what it closes over may change later
        self._program = None if function.named else trace_request(model, self._requests[False])
        self._routines = {
            False: make_routine(model, self._requests[False], self._program),
            True: make_routine(model, self._requests[True]),
        }

    def __new__(cls, *args: Any) -> Kernel:
        # a class of its own, for an entry of its own: see _long_way
        return super().__new__(type("Kernel", (cls,), {"__doc__": cls.__doc__}))

    def __call__(self, *arrays: Any, f_ext: Any = None, out: Any = None, **named: Any) -> Any:
        return self._long_way(*arrays, f_ext=f_ext, out=out, **named)

    def _long_way(self, *arrays: Any, f_ext: Any = None, out: Any = None, **named: Any) -> Any:
        """A call that is not, or not yet, for the entry."""
        plain = self._routines[False]
        if f_ext is None and not named and self._function.check is None:
            result = plain.quick(arrays, out)
            if result is not None:
                return result
        if f_ext is not None and "f_ext" in self.inputs:  # a user's function may name an array so
            named, f_ext = {**named, "f_ext": f_ext}, None
        ordered = self._order(arrays, named)
        if f_ext is not None and not self._function.force:
            raise ScalarTypeError(f"{self.name}: f_ext was given, but this function takes no external forces.")
        made = self._routines[f_ext is not None]
        result = evaluate(self._function, self.model, self._choices, ordered, f_ext, out, self.dtype, made)
        make = plain.make_entry  # another thread may take it meanwhile
        if make is not None and not plain.part("entry").singular and self._function.check is None:
            # from now on a call goes to compiled code at once: the entry is no method, and is called without self
            type(self).__call__ = make(self._long_way)  # type: ignore[method-assign]
            plain.make_entry = None
        return result

    def _order(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        given = dict(zip(self.inputs, arrays, strict=False))
        for name in named:
            if name not in self.inputs:
                raise unknown_name(f"kernel {self.name}", "array", name, self.inputs)
        given |= named
        if len(arrays) + len(named) != len(self.inputs) or set(given) != set(self.inputs):
            expected = ", ".join(self.inputs)
            raise ScalarTypeError(
                f"kernel {self.name}: got {len(arrays) + len(named)} arrays, expected {len(self.inputs)}: {expected}. "
                f"The model is part of the kernel."
            )
        return tuple(given[name] for name in self.inputs)

    @property
    def program(self) -> Program:
        """The traced program: its operations, counted by ``program.count()``."""
        return self._program or trace_request(self.model, self._requests[False])

    def __reduce__(self) -> Any:
        raise TypeError(f"kernel {self.name} cannot be pickled. Pickle the model, and call sixd.compile again.")

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.inputs)}) of {self.model.name!r}, {self.dtype}>"


def compile(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: Model,
    *,
    target: str = "cpu",
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Kernel:
    """A kernel of a function for one model: call it like the function, without the model.

    Parameters
    ----------
    function : a function of the library, such as ``sixd.inverse_dynamics``; a function of your own of arrays, written
        in NumPy style on the functions of ``sixd.spatial``, which may call the library's; or several of these in a
        tuple, which then share their common work in one kernel that returns a tuple.
    model : the model for which it is compiled; a function of your own gets it if it has an argument named model.
    target : "cpu".
    dtype : "float64" or "float32".
    parameters : names of what shall be trailing inputs of the kernel instead of constants: "inertia" (nb, 10) with rows
        m, hx, hy, hz, Ixx, Iyy, Izz, Iyz, Ixz, Ixy about the body's origin; "gravity" (3,); "placements" (nb, 4, 4);
        "damping", "friction", "armature" (nv,); or the name of a symbol of the model ().
    shapes : core shapes of the arrays of your own function whose names are not q, qd, qdd, tau, dq or f_ext.
    static : fixed arguments of the function: ``compile(sixd.pose, model, frame="tool")``. Arguments of your own
        function with a default are fixed at that, unless ``shapes`` names them.

    A function of your own is run once, here, on scalars that record what is done to them: what it closes over is fixed
    from then on. ``sixd.spatial`` has sin, cos, tan, asin, acos, atan2, sqrt, exp, log, sign, absolute, minimum,
    maximum and where; conditions are made of single numbers (``where(q[0] > 0, a, b)``), not of whole arrays.

    >>> import numpy as np, sixd
    >>> arm = sixd.zoo.planar(2)
    >>> kernel = sixd.compile((sixd.mass_matrix, sixd.bias_force), arm)
    >>> M, h = kernel(np.array([0.3, 0.5]), np.array([1.0, -2.0]))
    >>> M.shape, h.shape
    ((2, 2), (2,))
    """
    request = _request("compile", function, model, target, dtype, parameters, shapes, static)
    return Kernel(request.function, model, request.choices, request.dtype)


def export_c(
    function: Callable[..., Any] | Sequence[Callable[..., Any]],
    model: Model,
    *,
    name: str | None = None,
    dtype: str = "float64",
    parameters: Sequence[str] = (),
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    **static: Any,
) -> Any:
    """The function for one model as C99: ``.source`` and ``.header``, one self-contained function of plain arrays.

    No allocation, no dependencies but the C library's mathematics. Arguments as for ``compile``; ``name`` is that of
    the C function; ``f_ext=True`` adds external forces as the last input. ``.save(folder)`` writes both files. Where
    the mass matrix is singular the C function gives inf or NaN.
    """
    from sixd.codegen.c import emit

    with_force = static.pop("f_ext", None) not in (None, False)
    request = _request("export_c", function, model, "cpu", dtype, parameters, shapes, static)
    program = trace_request(model, request._replace(force=with_force))
    own = request.function.name.replace("+", "_and_")
    label = name or (own if own.isidentifier() else "function")
    return emit(program, label, dtype=request.dtype, comment=f"{request.function.name} of {model.name}")


# from what a user writes to a request -----------------------------------------------------------------


def _request(
    where: str,
    function: Any,
    model: Model,
    target: str,
    dtype: Any,
    parameters: Sequence[str],
    shapes: Mapping[str, tuple[int, ...]] | None,
    static: dict[str, Any],
) -> Request:
    require_model(where, model)
    dtype = _dtype_name(dtype)
    for name, value, allowed in (("target", target, TARGETS), ("dtype", dtype, DTYPES)):
        if value not in allowed:
            raise unknown_name(f"{where}: {name}", "choice", value, allowed)
    if isinstance(parameters, str):
        raise ScalarTypeError(f"{where}: parameters is a text, expected names in a tuple: ({parameters!r},).")
    several = tuple(function) if isinstance(function, (tuple, list)) else (function,)
    if not several:
        raise ScalarTypeError(f"{where}: got no function, expected one, or some in a tuple.")
    parts = [_part(where, f, model, dict(shapes or {}), static) for f in several]
    own = [name for part in parts if not part.function.named for name in part.function.arrays]
    for name in shapes or ():
        if name not in own:
            raise unknown_name(f"{where}: shapes", "array", name, own)
    known = {name for part in parts for name in part.takes}
    for name in static:
        if name not in known:
            raise unknown_name(where, "argument", name, known)
    if len(parts) == 1 and not parameters:
        return Request(parts[0].function, parts[0].choices, dtype, False)
    return Request(_join(where, parts, model, tuple(parameters)), (), dtype, False)


def _dtype_name(dtype: Any) -> str:
    """The name of what NumPy takes for a dtype: "float32", numpy.float32, …"""
    try:
        return "None" if dtype is None else str(np.dtype(dtype))
    except TypeError:
        return str(dtype)


class _Part(NamedTuple):
    """One of the functions to be compiled, with its settled choices, and the names of all the arguments it can take."""

    function: Function
    choices: tuple[Any, ...]
    takes: tuple[str, ...]
    takes_model: bool = True


def _part(where: str, function: Any, model: Model, shapes: dict[str, Any], static: dict[str, Any]) -> _Part:
    if not callable(function):
        raise ScalarTypeError(f"{where}: function is {function!r}, expected a function, such as sixd.inverse_dynamics.")
    name = getattr(function, "__name__", type(function).__name__)
    if getattr(function, "__module__", "") != "sixd.api" or name not in LIBRARY:
        return _own(where, name, function, model, shapes, static)
    made = LIBRARY[name]
    values = tuple(static.get(choice, default) for choice, default in made.choices.items())
    for choice, value in zip(made.choices, values, strict=True):
        if value is ...:
            got = f" Got {', '.join(static)}." if static else ""
            raise ScalarTypeError(f"{where}: {name} needs {choice}: sixd.{where}(sixd.{name}, model, {choice}=…).{got}")
    return _Part(made, made.settle(model, values), tuple(made.choices))


def _own(
    where: str, name: str, function: Callable[..., Any], model: Model, shapes: dict[str, Any], static: dict[str, Any]
) -> _Part:
    """A user's function: its arguments are arrays, unless they are fixed, have a default, or are the model."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ScalarTypeError(f"{where}: the arguments of {name} cannot be read, expected a Python function.") from None
    arrays: list[str] = []
    for a in arguments:
        if a.kind in (a.VAR_POSITIONAL, a.VAR_KEYWORD, a.POSITIONAL_ONLY) or a.name == "out":
            raise ScalarTypeError(
                f"{where}: {name} takes {a}, expected arguments that can be given by name, none of them called out."
            )
        if a.name not in static and a.name != "model" and (a.default is a.empty or a.name in shapes):
            arrays.append(a.name)
    names = [a.name for a in arguments]
    for unknown in [a for a in arrays if a not in shapes and a not in _KNOWN]:
        raise ScalarTypeError(
            f"{where}: the shape of {unknown!r}, an argument of {name}, is not known. Give, say, "
            f"shapes={{{unknown!r}: (3,)}}, or fix it: {unknown}=…. Known are {', '.join(_KNOWN)}."
        )
    fixed = {k: x for k, x in static.items() if k in names}
    takes_model = "model" in names

    def algorithm(model: Model, *row: Array) -> Any:
        given = {**dict(zip(arrays, row, strict=True)), **fixed}
        return function(**given, **({"model": model} if takes_model else {}))

    sizes = {a: _core(where, a, shapes[a]) if a in shapes else core_shape(model, a) for a in arrays}
    return _Part(
        Function(name, algorithm, tuple(arrays), named=False, judged=False, shapes=sizes), (), tuple(names), takes_model
    )


def _core(where: str, name: str, shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in sizes):
        raise ScalarTypeError(f"{where}: the shape of {name!r} is {shape!r}, expected whole numbers, such as (3,).")
    return tuple(int(n) for n in sizes)


def _join(where: str, parts: list[_Part], model: Model, parameters: tuple[str, ...]) -> Function:
    """One function of all the arrays that the parts take, then of the parameters, that returns all their results."""
    for part in parts:
        if part.function.check:
            raise ScalarTypeError(f"{where}: {part.function.name} is compiled by itself, without others or parameters.")
        if parameters and not part.takes_model:
            raise ScalarTypeError(
                f"{where}: {part.function.name} takes no model, so it cannot see the parameters {list(parameters)}. "
                f"Give it an argument named model, and use that inside."
            )
    shapes: dict[str, tuple[int, ...]] = {}
    for function, *_ in parts:
        for name in function.arrays:
            core = function.core(model, name)
            if shapes.setdefault(name, core) != core:
                raise ScalarTypeError(
                    f"{where}: {name} has shape {core} in {function.name}, {shapes[name]} before. Give it another name."
                )
    clash = sorted(set(shapes) & set(parameters))
    if clash or len(set(parameters)) != len(parameters):
        raise ScalarTypeError(
            f"{where}: parameters are {list(parameters)}, expected each once and no name of an array."
        )
    arrays = tuple(shapes)
    shapes |= {name: parameter_shape(where, model, name) for name in parameters}

    def algorithm(model: Model, *row: Array, f_ext: Any = None) -> Any:
        given = dict(zip(shapes, row, strict=True))
        if parameters:
            model = with_parameters(model, {name: given[name] for name in parameters})
        results: list[Any] = []
        for function, choices, *_ in parts:
            # an array of that name, which a user's function takes, acts on the library's too
            force = {"f_ext": given.get("f_ext", f_ext)} if function.force else {}
            result = function.algorithm(model, *(given[a] for a in function.arrays), **function.bind(choices), **force)
            results.extend(result if isinstance(result, tuple) else [result])
        return tuple(results) if len(results) > 1 else results[0]

    functions = [part.function for part in parts]
    free = not parameters and all(f.judged and "given" not in f.choices for f in functions)
    return Function(
        "+".join(f.name for f in functions),
        algorithm,
        (*arrays, *parameters),
        force=any(f.force for f in functions),
        solves=free and any(f.solves for f in functions),
        needs_mass=any(f.needs_mass for f in functions),
        named=False,
        judged=free,
        shapes=shapes,
    )
