"""Equations of motion as source code, and the operations in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sixd.api import dynamics as api
from sixd.engine.kernel import export_c
from sixd.errors import require_known
from sixd.lazy import sympy

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations

# the functions: the field that each returns, and its arguments
_FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mass_matrix": ("M", ("q",)),
    "coriolis_matrix": ("C", ("q", "qd")),
    "gravity_force": ("g", ("q",)),
    "bias_force": ("h", ("q", "qd")),
    "inverse_dynamics": ("tau", ("q", "qd", "qdd")),
}


def write_functions(
    system: Equations, language: str = "python", functions: str | Sequence[str] = ("inverse_dynamics",)
) -> str:
    """Source code of some of mass_matrix, coriolis_matrix, gravity_force, bias_force, inverse_dynamics.

    "python": plain functions of lists that use only ``math``; common subexpressions are computed once. "c": C99 as
    ``sixd.export_c`` writes it. Parameters that are symbols become arguments after the others.
    """
    require_known("code: language", "choice", language, ("python", "c"))
    names = [functions] if isinstance(functions, str) else list(functions)
    for name in names:
        require_known("code", "function", name, _FUNCTIONS)
    if language == "c":
        parameters = tuple(map(str, system.symbols))
        return "\n".join(str(export_c(getattr(api, name), system, parameters=parameters).source) for name in names)
    return "\n\n\n".join(["from math import *", *(_python_function(system, name) for name in names)]) + "\n"


def count_operations(system: Equations) -> dict[str, int]:
    """Operations of M, C, g and b as printed, their total, and the total with common subexpressions shared."""
    fields = {name: list(getattr(system, name)) for name in ("M", "C", "g", "b")}
    # M is symmetric: only its upper triangle is computed
    n = system.nv
    fields["M"] = [system.M[i, j] for i in range(n) for j in range(i, n)]
    counts = {name: int(sum(sympy.count_ops(x) for x in entries)) for name, entries in fields.items()}
    shared, left = sympy.cse([x for entries in fields.values() for x in entries], list=False)
    after = sum(sympy.count_ops(x) for _, x in shared) + sum(sympy.count_ops(x) for x in left)
    return counts | {"total": sum(counts.values()), "after_cse": int(after)}


def _python_function(system: Equations, name: str) -> str:
    """The source of a function of lists that returns a list (of rows), with common subexpressions first."""
    field, arguments = _FUNCTIONS[name]
    value = getattr(system, field)
    shared, left = sympy.cse(list(value.flat()), symbols=sympy.numbered_symbols("x_"), list=False)
    lines = [f"def {name}({', '.join([*arguments, *map(str, system.symbols)])}):"]
    lines.append(f'    """{name} of {system.name}."""')
    used = set().union(*(e.free_symbols for e in [*left, *(e for _, e in shared)]))
    for argument in arguments:
        names = getattr(system, argument)
        if used & set(names):
            lines.append(f"    {', '.join(map(str, names))}{',' if len(names) == 1 else ''} = {argument}")
    lines += [f"    {symbol} = {_python(e)}" for symbol, e in shared]
    rows, columns = value.shape
    listed = [_python(e) for e in left]
    if columns == 1:
        lines.append(f"    return [{', '.join(listed)}]")
    else:
        grouped = [f"[{', '.join(listed[i * columns : (i + 1) * columns])}]" for i in range(rows)]
        lines.append("    return [\n" + "".join(f"        {row},\n" for row in grouped) + "    ]")
    return "\n".join(lines)


def _python(expression: object) -> str:
    return str(sympy.pycode(expression)).replace("math.", "")
