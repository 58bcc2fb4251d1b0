"""``sixd.load``: any robot description to a Model; the format is recognized by the content."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import IO, Any, NamedTuple

import numpy as np

from sixd.errors import LoadError, ModelWarning, ScalarTypeError
from sixd.io.descriptions import PREFIX, find_description
from sixd.io.files import Source, read_source, refuse_foreign
from sixd.io.srdf import add_srdf
from sixd.io.xacro_files import expand, is_xacro
from sixd.io.xml import Element, parse
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
    arguments: Mapping[str, Any] | None = None,
    srdf: str | bytes | os.PathLike[str] | IO[Any] | None = None,
    trust: bool = False,
) -> Model:
    """Return the model of a robot file.

    Parameters
    ----------
    source : a path, the text or bytes of the file, an open file, or a dictionary with the fields of a spatial_v2 model.
        URDF, SDF and MJCF are distinguished by their root tag; ``.mat`` files hold a spatial_v2 model; xacro is
        expanded first (extra ``xacro``), if ``trust`` is True.
        ``"robot_descriptions:panda_description"`` is that module of the package robot_descriptions, if it is installed.
    floating_base : whether a base that the file does not fix moves freely (q = [qw qx qy qz, x y z], relative to its
        pose in the file). If omitted, the format decides: a URDF's root link is fixed to the world; in SDF, each model
        without a joint to the world is free, unless it is static. True frees a URDF's root link, False fixes the
        models of an SDF at their poses. MJCF and spatial_v2 models define their base themselves.
    package_dirs : folders of the packages named in ``package://…`` and of the models in ``model://…``. Meshes are not
        read here and may be missing; a model that an SDF includes must exist.
    arguments : values of a xacro file's arguments, such as ``{"prefix": "left_"}``; an error if the file is not xacro.
    srdf : an SRDF file of the robot, in the forms of ``source``. Its group states become named configurations
        (``GROUP/NAME`` where several groups have a state of that name; joints that it leaves out are neutral, mimic
        joints follow), its disabled pairs of links become ``model.disabled_collisions``.
    trust : whether xacro may be expanded. A xacro file is a program: its Python expressions can do anything that your
        account may do. It runs in a process of its own, for at most a minute and with at most 2 GiB of memory.

    Names in an SDF with several models are ``MODEL::NAME``, those of nested models ``OUTER::INNER::NAME``.

    Possible mistakes in a file (a missing inertia, a misspelt name, an inertia that no body can have) cause one
    ``ModelWarning`` of each kind; ``sixd.check(model)`` lists them. A broken file raises ``LoadError`` with the line.
    """
    if not isinstance(trust, bool):
        raise ScalarTypeError(f"load: trust is {trust!r}, expected True or False.")
    if not isinstance(floating_base, (bool, NoneType)):
        raise ScalarTypeError(f"load: floating_base is {floating_base!r}, expected True or False.")
    if package_dirs is None or isinstance(package_dirs, (str, os.PathLike)):
        package_dirs = [package_dirs] if package_dirs else []
    if not isinstance(package_dirs, Iterable):
        raise ScalarTypeError(f"load: package_dirs is {package_dirs!r}, expected a folder or a list of folders.")
    options = _Options(floating_base, list(package_dirs), arguments, trust)
    if isinstance(source, str) and source.startswith(PREFIX):
        description = find_description(source)
        source = Path(description.path)
        options.package_dirs.extend(description.package_dirs)
        if description.arguments is not None:
            options = options._replace(arguments={**description.arguments, **(arguments or {})})
    with np.errstate(over="ignore", invalid="ignore"):  # absurd numbers are reported as findings
        model = _read(source, options)
    if srdf is not None:
        model = add_srdf(model, _document(read_source(srdf), options)[1])
    for text in summarize(findings_at_load(model)):
        warnings.warn(f"load: {model.name!r}: {text}", ModelWarning, stacklevel=2)
    return model


class _Options(NamedTuple):
    floating_base: bool | None
    package_dirs: list[str | os.PathLike[str]]
    arguments: Mapping[str, Any] | None
    trust: bool


def _read(source: str | bytes | os.PathLike[str] | IO[Any] | Mapping[str, Any], options: _Options) -> Model:
    floating_base, package_dirs, arguments, _ = options
    if isinstance(source, Mapping):
        from sixd.io.spatial_v2.structures import from_structure  # each reader is imported when it is needed

        _without_arguments("a dictionary", arguments)
        return _without_floating(from_structure(source), floating_base)
    read = read_source(source)
    if read.data.startswith(b"MATLAB 5.0") or read.name.endswith(".mat"):
        from sixd.io.spatial_v2.structures import from_mat

        _without_arguments(read.name, arguments)
        return _without_floating(from_mat(read.data, read.name), floating_base)
    read, root = _document(read, options, strict=True)
    if root.tag == "robot":
        from sixd.io.urdf.reader import read_urdf

        return read_urdf(root, floating_base=bool(floating_base), package_dirs=package_dirs, folders=read.folders)
    if root.tag == "sdf":
        from sixd.io.sdf.reader import read_sdf

        return read_sdf(read, root, floating_base=floating_base, package_dirs=package_dirs)
    if root.tag == "mujoco":
        from sixd.io.mjcf.reader import read_mjcf

        return _without_floating(read_mjcf(read, root), floating_base)
    hint = _OTHER_ROOTS.get(root.tag, "Is it a robot file?")
    expected = "expected <robot> (URDF), <sdf> (SDF) or <mujoco> (MJCF)"
    raise LoadError(f"{read.name}: the root tag is <{root.tag}>, {expected}. {hint}")


def _document(read: Source, options: _Options, *, strict: bool = False) -> tuple[Source, Element]:
    """Return a document, expanded if it is xacro, and its root; ``strict`` refuses arguments of other files.

    xacro in a file without the ending ``.xacro`` is expanded if the caller passes ``trust`` or ``arguments``; else the
    reader refuses it and names the line.
    """
    refuse_foreign(read.data, read.name)
    root = parse(read.data, read.name, encoding=read.encoding)
    arguments, trust = options.arguments, options.trust
    asked = trust or arguments is not None or read.name.endswith(".xacro")
    if asked and is_xacro(read, root, arguments if strict else None):
        read = expand(read, arguments, options.package_dirs, trust=trust, all_known=strict)
        root = parse(read.data, f"{read.name}, expanded", encoding=read.encoding)
    return read, root


def _without_arguments(what: str, arguments: object) -> None:
    if arguments is not None:
        raise LoadError(f"load: arguments were passed, but {what} is not xacro. Leave them out.")


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
        kind = f.message if f.code == "not-carried" else f.code  # "not-carried": one sentence for each message
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
