"""The commands ``sixd …``: thin edges of the library, one file each.

A command reads its arguments, calls what any user could call, and prints the answer for people or as JSON. Nothing is
computed here that the library does not offer. ``main`` is the entry point, ``run`` the same as a function.
"""

from sixd.cli.entry_point import main, run
