"""``sixd.load``: any robot description to a Model; the format is recognized by the content."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import IO, Any

import numpy as np

from sixd.errors import LoadError, ModelWarning, ScalarTypeError
from sixd.io.files import read_source, refuse_foreign
from sixd.io.spatial_v2.structures import from_mat, from_structure
from sixd.io.urdf.reader import read_urdf
from sixd.io.xml import parse
from sixd.model import Model
from sixd.model.parts import Finding
from sixd.model.validate import findings_at_load

_MOST_NAMES, _MOST_MESSAGES = 6, 3  # shown in one warning
_OTHER_ROOTS = {
    "COLLADA": "It is a mesh (COLLADA): name the robot file that uses it.",
    "mujocoinclude": "It is a part of an MJCF file: name the file that includes it.",
    "launch": "It is a launch file: name the robot file that it loads.",
}


def load(
    source: str | bytes | os.PathLike[str] | IO[Any] | Mapping[str, Any],
    *,
    floating_base: bool | None = None,
    package_dirs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = (),
) -> Model:
    """Return the model of a robot file.

    Parameters
    ----------
    source : a path, the text or bytes of the file, an open file, or a dictionary with the fields of a spatial_v2 model.
        URDF and MJCF are distinguished by their root tag; ``.mat`` files hold a spatial_v2 model.
    floating_base : give a URDF's root link a free joint (q = [qw qx qy qz, x y z]).
    package_dirs : folders of the packages named in ``package://…``. Meshes are for viewing and never required.

    Possible mistakes in a file (a missing inertia, a misspelt name, an inertia that no body can have) cause a
    ``ModelWarning`` for each kind, and are listed by ``sixd.check(model)``; a broken file raises ``LoadError`` with the
    line.
    """
    if not isinstance(floating_base, (bool, NoneType)):
        raise ScalarTypeError(f"load: floating_base is {floating_base!r}, expected True or False.")
    if package_dirs is None or isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = [package_dirs] if package_dirs else []
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that no robot has are reported as findings
        model = _read(source, floating_base, package_dirs)
    for text in summarize(findings_at_load(model)):
        warnings.warn(f"load: {model.name!r}: {text}", ModelWarning, stacklevel=2)
    return model


def _read(source: Any, floating_base: bool | None, package_dirs: Iterable[str | os.PathLike[str]]) -> Model:
    if isinstance(source, Mapping):
        return _without_floating(from_structure(source), floating_base)
    read = read_source(source)
    if read.data.startswith(b"MATLAB 5.0") or read.name.endswith(".mat"):
        return _without_floating(from_mat(read.data, read.name), floating_base)
    refuse_foreign(read.data, read.name)
    root = parse(read.data, read.name, encoding=read.encoding)
    if root.tag == "robot":
        return read_urdf(root, floating_base=bool(floating_base), package_dirs=package_dirs, folders=read.folders)
    if root.tag == "sdf":
        from sixd.io.sdf.reader import read_sdf

        return read_sdf(read, root, floating_base=floating_base, package_dirs=package_dirs)
    if root.tag == "mujoco":
        from sixd.io.mjcf.reader import read_mjcf

        return _without_floating(read_mjcf(read, root), floating_base)
    hint = _OTHER_ROOTS.get(root.tag, "Is it a robot file?")
    raise LoadError(
        f"{read.name}: the root tag is <{root.tag}>, expected <robot> (URDF), <sdf> (SDF) or <mujoco> (MJCF). {hint}"
    )


def _without_floating(model: Model, floating_base: bool | None) -> Model:
    if floating_base:
        raise LoadError(
            "load: floating_base=True is for URDF, whose root link has no joint. In MJCF add <freejoint/>; "
            "otherwise build the base with sixd.Free() and model.attach."
        )
    return model


def summarize(findings: Iterable[Finding]) -> list[str]:
    """Return one sentence for each kind of finding, with the names of its bodies or joints."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for f in findings:
        kind = f.message if f.code == "not-carried" else f.code  # those concern the whole model: one sentence each
        kinds.setdefault(kind, {}).setdefault(f.message.rstrip("."), []).append(f.where)
    return [_sentence(names_of) for names_of in kinds.values()]


def _sentence(names_of: dict[str, list[str]]) -> str:
    shown = []
    for message, names in list(names_of.items())[:_MOST_MESSAGES]:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        shown.append(f"{', '.join(names[:_MOST_NAMES])}{more}: {message}")
    rest = [name for names in list(names_of.values())[_MOST_MESSAGES:] for name in names]
    if rest:
        more = ", …" if len(rest) > _MOST_NAMES else ""
        shown.append(f"and {len(rest)} more of this kind ({', '.join(rest[:_MOST_NAMES])}{more}): see sixd.check")
    return "; ".join(shown).replace("?; ", "? ") + ("" if shown[-1].endswith("?") else ".")
