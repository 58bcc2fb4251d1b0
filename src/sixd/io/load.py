"""``sixd.load``: any robot description to a Model, by what the file itself says it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO, Any

from sixd.errors import LoadError, ScalarTypeError
from sixd.io.files import read_source
from sixd.io.spatial_v2 import from_mat, from_structure
from sixd.io.urdf import read_urdf
from sixd.io.xml import parse
from sixd.model import Model


def load(
    source: str | bytes | os.PathLike[str] | IO[Any] | Mapping[str, Any],
    *,
    floating_base: bool = False,
    package_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = (),
) -> Model:
    """A model from a robot file.

    Parameters
    ----------
    source : a path, the text or bytes of the file, an open file, or a dictionary with the fields of a spatial_v2 model.
        URDF and MJCF are told apart by their root tag; ``.mat`` files hold a spatial_v2 model.
    floating_base : give a URDF's root link a free joint (q = [qw qx qy qz, x y z]).
    package_dirs : where packages named in ``package://…`` lie. Meshes are for viewing and never required.

    What is doubtful in a file (a missing inertia, a negative mass, an inertia that no body can have) is a
    ``ModelWarning`` and an entry of ``sixd.check(model)``; what is broken raises ``LoadError`` with the line.
    """
    if not isinstance(floating_base, bool):
        raise ScalarTypeError(f"load: floating_base is {floating_base!r}, expected True or False.")
    if package_dirs is None or isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = [package_dirs] if package_dirs else []
    if isinstance(source, Mapping):
        return _without_floating(from_structure(source), floating_base)
    read = read_source(source)
    if read.data.startswith(b"MATLAB 5.0") or read.name.endswith(".mat"):
        return _without_floating(from_mat(read.data, read.name), floating_base)
    if b"<" not in read.data and b"\0" not in read.data[:4]:
        what = "empty" if not read.data.strip() else "no XML and no .mat file"
        raise LoadError(f"{read.name}: the file is {what}, expected URDF, MJCF or .mat.")
    root = parse(read.data, read.name, encoding=read.encoding)
    if root.tag == "robot":
        return read_urdf(root, floating_base=floating_base, package_dirs=package_dirs, folder=read.folder)
    if root.tag == "mujoco":
        from sixd.io.mjcf import read_mjcf

        return _without_floating(read_mjcf(read), floating_base)
    hint = "SDF is not read; convert it to URDF." if root.tag == "sdf" else "Is it a robot file?"
    raise LoadError(f"{read.name}: the root tag is <{root.tag}>, expected <robot> (URDF) or <mujoco> (MJCF). {hint}")


def _without_floating(model: Model, floating_base: bool) -> Model:
    if floating_base:
        raise LoadError(
            "load: floating_base=True is for URDF, whose root link has no joint. In MJCF add <freejoint/>; "
            "otherwise build the base with sixd.Free() and model.attach."
        )
    return model
