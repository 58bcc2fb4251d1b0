"""Traces: what a function does to scalars, as a graph that is folded, differentiated, evaluated and compiled.

Knows no robot: any function written in NumPy style on the functions of ``sixd.spatial`` can be traced.
"""

from sixd.trace.derivative import jacobian, jvp, sparsity, vjp
from sixd.trace.expr import Expr, Graph
from sixd.trace.ops import Op
from sixd.trace.program import Program, Slot, check, make_program, trace
