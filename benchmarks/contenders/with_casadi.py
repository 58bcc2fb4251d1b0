"""CasADi's contender: C code that CasADi generates, compiled by the system's compiler, looped over rows in C.

Pinocchio's wheels come without ``pinocchio.casadi``, so the expressions are made by sixd's plain algorithms, run on
scalars that hold a ``casadi.SX``; from there on it is CasADi's own simplification, elimination of common
subexpressions and code generation.
"""

from __future__ import annotations

import ctypes
import operator
import shutil
import subprocess
from pathlib import Path
from typing import Any

import casadi
import numpy as np

from benchmarks.robots import Robot
from benchmarks.tasks import Array, States, Task
from sixd.cli.timing import Contender

FLAGS = ("-O3", "-march=native")
COMPILER = next((path for name in ("gcc", "cc", "clang") if (path := shutil.which(name))), None)

_LOOP = """
void rows(long long n, {parameters}, double* out) {{
  const double* arg[{arg}]; double* res[{res}]; long long iw[{iw}]; double w[{w}];
  for (long long i = 0; i < n; ++i) {{
    {arguments} res[0] = out + i * {width};
    f(arg, res, iw, w, 0);
  }}
}}
"""


class Scalar:
    """A ``casadi.SX`` scalar that NumPy leaves whole in object arrays."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __neg__(self) -> Scalar:
        return Scalar(-self.x)

    def sin(self) -> Scalar:
        return Scalar(casadi.sin(self.x))

    def cos(self) -> Scalar:
        return Scalar(casadi.cos(self.x))


def _bare(x: Any) -> Any:
    return x.x if isinstance(x, Scalar) else float(x)


def _give_operator(word: str) -> None:
    function = getattr(operator, word)

    def forward(self: Scalar, other: Any) -> Any:
        is_array = isinstance(other, np.ndarray) and other.shape != ()
        return NotImplemented if is_array else Scalar(function(self.x, _bare(other)))

    setattr(Scalar, f"__{word}__", forward)
    setattr(Scalar, f"__r{word}__", lambda self, other: Scalar(function(_bare(other), self.x)))


for _word in ("add", "sub", "mul", "truediv"):
    _give_operator(_word)


def expression(task: Task, robot: Robot) -> Any:
    """The task as a ``casadi.Function`` of vectors, its result flattened row by row."""
    model = robot.model
    symbols = [casadi.SX.sym(name, model.nq if name == "q" else model.nv) for name in task.inputs]
    arrays = [np.array([Scalar(s[k]) for k in range(s.numel())], dtype=object) for s in symbols]
    result = task.function(model, *arrays, **task.static(robot))
    flat = casadi.densify(casadi.vertcat(*(casadi.SX(_bare(x)) for x in result.ravel())))
    return casadi.Function("f", symbols, [casadi.cse(flat)])


def batch(name: str, task: Task, robot: Robot, states: States, folder: Path) -> Contender:
    """Generated code on all rows, called once through ctypes with addresses taken beforehand."""
    rows = len(states["q"])
    arrays = [states[key] for key in task.inputs]
    out = np.zeros((rows, *task.result_shape(robot.model)))
    function = _compiled(expression(task, robot), arrays, out, folder / f"{task.word}_{robot.name}_{robot.floating}.c")
    addresses = [x.ctypes.data for x in (*arrays, out)]
    names = {"function": function, "rows": rows, "addresses": addresses, "alive": (arrays, out)}
    statement = "function(rows, *addresses)"

    def result() -> Array:
        exec(statement, names)
        return out

    return Contender(name, statement, names, rows, result)


def _compiled(f: Any, arrays: list[Array], out: Array, path: Path) -> Any:
    """The C function ``rows`` over the generated one."""
    generator = casadi.CodeGenerator("f.c")
    generator.add(f)
    letters = [f"x{k}" for k in range(len(arrays))]
    loop = _LOOP.format(
        parameters=", ".join(f"const double* {x}" for x in letters),
        arguments=" ".join(f"arg[{k}] = {x} + i * {arrays[k].shape[1]};" for k, x in enumerate(letters)),
        width=out[0].size,
        arg=f.sz_arg() + 1, res=f.sz_res() + 1, iw=f.sz_iw() + 1, w=f.sz_w() + 1,
    )  # fmt: skip
    path.write_text(generator.dump() + loop)
    library = path.with_suffix(".so")
    assert COMPILER is not None
    subprocess.run([COMPILER, *FLAGS, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).rows
    function.argtypes = [ctypes.c_longlong] + [ctypes.c_void_p] * (len(arrays) + 1)
    function.restype = None
    return function
