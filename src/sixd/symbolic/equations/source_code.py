"""Equations of motion as plain Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations


def write_function(system: Equations, name: str, field: str, arguments: tuple[str, ...]) -> str:
    """The source of a function of lists that returns a field as a list (of rows), shared parts first."""
    import sympy

    value = getattr(system, field)
    entries = list(value.flat())
    shared, left = sympy.cse(entries, symbols=sympy.numbered_symbols("x_"), list=False)
    lines = [f"def {name}({', '.join([*arguments, *map(str, system.symbols)])}):"]
    lines.append(f'    """{name} of {system.name}."""')
    used = set().union(*(e.free_symbols for e in [*left, *(e for _, e in shared)]))
    for argument in arguments:
        names = getattr(system, argument)
        if used & set(names):
            lines.append(f"    {', '.join(map(str, names))}{',' if len(names) == 1 else ''} = {argument}")
    lines += [f"    {symbol} = {_code(e)}" for symbol, e in shared]
    rows, columns = value.shape
    listed = [_code(e) for e in left]
    if columns == 1:
        lines.append(f"    return [{', '.join(listed)}]")
    else:
        grouped = [f"[{', '.join(listed[i * columns : (i + 1) * columns])}]" for i in range(rows)]
        lines.append("    return [\n" + "".join(f"        {row},\n" for row in grouped) + "    ]")
    return "\n".join(lines)


def _code(expression: object) -> str:
    import sympy

    return str(sympy.pycode(expression)).replace("math.", "")
