"""The commands ``sixd …``: a thin layer over the library, one file each.

A command reads its arguments, calls public functions, and prints the result as text or as JSON. Every computation is
the library's. ``main`` is the entry point, ``run`` the same as a function.
"""

from sixd.cli.entry_point import main, run
