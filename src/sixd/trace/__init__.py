"""Traces: the scalar operations of a function as a graph, which is folded, differentiated, evaluated and compiled.

Any function written in NumPy style on the functions of ``sixd.spatial`` can be traced; nothing here is about robots.
"""

from sixd.trace.derivative import jacobian, jvp, sparsity, vjp
from sixd.trace.expr import Expr, Graph
from sixd.trace.ops import Op
from sixd.trace.program import Program, Slot, check, make_program, trace
