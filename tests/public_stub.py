"""Write ``src/sixd/__init__.pyi``, from which type checkers and editors know the public names: run this file."""

from pathlib import Path

import sixd

PATH = Path(sixd.__file__).with_suffix(".pyi")


def text():
    """The stub that belongs to the table in ``sixd/__init__.py``."""
    packages = [f"from sixd import {name} as {name}" for name in sixd._PACKAGES]
    names = [f"from {module} import {name} as {name}" for name, module in sixd._MODULES.items()]
    header = '"""The public names of sixd, for type checkers; written by ``tests/public_stub.py``."""'
    body = "\n".join(sorted(packages) + sorted(names, key=lambda line: line.split()[1:4:2]))
    return f"{header}\n\n{body}\n\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in sixd.__all__) + "]\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
