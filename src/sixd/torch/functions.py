"""The functions of the library on tensors, generated from their declarations."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from sixd.algorithms.body_dynamics import BodyDynamics
from sixd.algorithms.operational.stack import as_key
from sixd.api import bodies, constraints, derivatives, dynamics, frames, manifold
from sixd.engine.functions import CHOICES, LIBRARY, Function
from sixd.engine.request import make_request
from sixd.errors import ScalarTypeError
from sixd.model.memo import remember
from sixd.model.system import System, require_system
from sixd.symbolic.newton import result as newton
from sixd.torch.operators import Call, call_of, keep, run, run_into
from sixd.torch.tensors import NAMES, as_tensor, checked_out, kind_of

_MODULES = (dynamics, frames, bodies, constraints, derivatives, manifold, newton)
_PUBLIC = {name: vars(module)[name] for name in LIBRARY for module in _MODULES if name in vars(module)}
_RESULTS = {"newton_euler": BodyDynamics}


def _call(
    system: System,
    name: str,
    choices: tuple[Any, ...],
    widths: tuple[int, ...],
    force: bool,
    parameters: tuple[str, ...],
    dtype: str,
) -> Call:
    """The call of a function of the library with these choices, external forces or not, and parameters as inputs."""
    require_system(name, system)

    def make() -> Call:
        declared = LIBRARY[name]
        static = dict(zip(declared.choices, choices, strict=True))
        request = make_request(name, _PUBLIC[name], system, "cpu", dtype, parameters, None, static)
        request = request._replace(force=force)
        adapt = request.function.adapt
        if adapt is not None and not parameters:
            rows = tuple(None if n < 0 else np.zeros(n) for n in widths)
            request = request._replace(function=adapt(request.function, system, request.choices, rows)[0])
        return call_of(system, request)

    return remember(system, ("torch", name, choices, widths, force, parameters, dtype), make)


def _facts(*key: Any) -> tuple[Any, ...]:
    made = _call(*key)
    return made.handle, made.names, made.inputs


@torch.compiler.assume_constant_result
def _constant_facts(address: int, *key: Any) -> tuple[Any, ...]:
    """The handle, names and core shapes of a call, for torch.compile, which knows a model by its address alone."""
    made = _call(ctypes.cast(address, ctypes.py_object).value, *key)
    keep(made)
    return made.handle, made.names, made.inputs


def evaluate(
    name: str,
    system: System,
    arrays: tuple[Any, ...],
    f_ext: Any,
    choices: tuple[Any, ...],
    parameters: Mapping[str, Any] | None,
    out: Any = None,
) -> list[torch.Tensor]:
    """The results of a function of the library; ``arrays`` as its signature has them, None for those not passed.

    ``out``, if passed, receives the results; they then have no gradient.
    """
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ScalarTypeError(f"{name}: parameters is {parameters!r:.60}, expected a mapping of names to tensors.")
    chosen = {} if parameters is None else {str(key): x for key, x in parameters.items()}
    force = () if f_ext is None else (f_ext,)
    dtype, device = kind_of(name, (*arrays, *force, *chosen.values()))
    widths: tuple[int, ...] = ()
    if name in _ADAPTED:
        widths = tuple(-1 if x is None else np.shape(x)[-1] if np.ndim(x) else 0 for x in arrays)
    key = name, choices, widths, f_ext is not None, tuple(chosen), NAMES[dtype]
    if torch.compiler.is_compiling():
        handle, names, cores = _constant_facts(id(system), *key)
    else:
        handle, names, cores = _facts(system, *key)
    # the time, and a point, are arguments that not every call has
    own = arrays[: len(names) - len(force) - len(chosen)]
    given = zip(names, (*own, *chosen.values(), *force), cores, strict=True)
    tensors = [as_tensor(name, label, x, core, dtype, device) for label, x, core in given]
    if out is None:
        return run(tensors, handle)
    results = checked_out(name, tensors, out, dtype, device)
    run_into(tensors, results, handle)
    return results


# functions ----------------------------------------------------------------------------------------

_ADAPTED = frozenset(name for name, declared in LIBRARY.items() if declared.adapt is not None)
_NOTE = """

    Tensors of float32 or float64, on the CPU or on a GPU, with gradients of every order; those with respect to a
    configuration have nq entries. ``parameters``: name -> (…, core), numbers of the model that these tensors replace,
    as in ``sixd.compile``; differentiable, too.
    """


def _front(declared: Function) -> Callable[..., Any]:
    """The function of tensors with the arguments of the declaration."""
    public = _PUBLIC[declared.name]
    signature = inspect.signature(public)
    given = list(signature.parameters.values())
    system, *rest = [p.name for p in given]
    options = [p for p in given if p.kind is p.KEYWORD_ONLY]
    arguments = [p.name for p in given if p.kind is not p.KEYWORD_ONLY]
    arguments += ["*", *(f"{p.name}=default_{p.name}" for p in options), "parameters=None"]
    arrays = [n for n in rest if n not in ("f_ext", "out") and n not in CHOICES]
    keys = {"given": "tuple({})", "frame": "as_key({})" if declared.stacks else "{}"}
    choices = [keys.get(n, "{}").format(n) for n in declared.choices]
    source = f"""def {declared.name}({", ".join(arguments)}):
    found = evaluate({declared.name!r}, {system}, ({", ".join(arrays)},), {"f_ext" if declared.force else None},
        ({"".join(f"{n}, " for n in choices)}), parameters{", out" if "out" in rest else ""})
    {"if out is not None: return out" if "out" in rest else ""}
    return found[0] if len(found) == 1 else tuple(found) if result is None else result(*found)"""
    space: dict[str, Any] = {f"default_{p.name}": p.default for p in options}
    space["as_key"] = as_key
    space |= {"evaluate": evaluate, "result": _RESULTS.get(declared.name, declared.result)}
    exec(compile(source, f"<sixd.torch.{declared.name}>", "exec"), space)
    front = space[declared.name]
    text = inspect.cleandoc(public.__doc__ or "").split(">>>")[0].rstrip()
    front.__doc__, front.__module__ = text + inspect.cleandoc(_NOTE).join(("\n\n", "\n")), "sixd.torch"
    return front


FUNCTIONS: dict[str, Callable[..., Any]] = {name: _front(LIBRARY[name]) for name in _PUBLIC}
