"""Trajectories as files and tables. The suffix gives the format; a file is written whole or not at all.

``.npz`` (NumPy's, without pickles): arrays t (r,), q (…, r, nq), qd (…, r, nv); where the trajectory has them tau and
friction (…, r, nv), internal (…, r, nu), kinetic, potential, energy, constraint_error (…, r) and ``parameters.NAME``
(…, core); and ``meta``, a text in JSON: format "sixd trajectory", version 1, sixd (its version), system (its name),
labels (of q, qd and tau a list of [name, joint, unit]), forces (names of the element classes), interrupted, facts.

``.csv``: one line of names, then one line for each record, with enough digits to read the same bits back. Columns t,
``q.elbow`` …, ``qd.elbow`` …, ``tau.elbow`` …, ``friction.elbow`` …, ``internal.0`` …, energy, kinetic, potential,
constraint_error; joints with several coordinates have ``q.base.qw`` …, ``qd.base.wx`` …. A batch has a column ``row``
first (``row.0``, ``row.1`` … if it has several dimensions). Parameters, facts and units are not stored; numbers are
read as float64 (those of a float32 motion with the same values), and a batch without rollouts or records is read with
the shape (0, …, 0, 0).
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sixd.errors import LoadError, MissingPackageError, SixdError
from sixd.file_limits import excess
from sixd.forces.elements import elements
from sixd.model.system import System, require_system
from sixd.spatial.scalar import Array
from sixd.trajectory.arrays import KEPT, STATES
from sixd.trajectory.labels import Column, Labels, labels_of
from sixd.trajectory.paths import checked_path, open_whole
from sixd.version import __version__

if TYPE_CHECKING:
    from pandas import DataFrame

    from sixd.forces.elements import Force
    from sixd.trajectory.trajectory import Trajectory

FORMAT, VERSION = "sixd trajectory", 1
SUFFIXES = (".npz", ".csv")
_LIKE = {"friction": "tau"}  # arrays with the labels of others
_LINES = 4096  # lines of a CSV file that are formatted at a time
_USED = ("meta", "t", *STATES, *KEPT)  # entries of an .npz file that are read, besides the parameters


def save(traj: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write a trajectory to a file: see ``Trajectory.save``."""
    target, suffix = checked_path("save", path, SUFFIXES)
    arrays = derived_arrays(traj)
    with open_whole("save", path, target) as file:
        (_write_npz if suffix == ".npz" else _write_csv)(traj, arrays, file)


def load(
    make: type[Trajectory], path: str | os.PathLike[str], system: System | None, forces: Force | Iterable[Force]
) -> Trajectory:
    """Read a file and return ``make(**fields)``: see ``Trajectory.load``."""
    if system is not None:
        require_system("load", system)
    forces = elements("load", forces)
    source, suffix = checked_path("load", path, SUFFIXES, LoadError)
    try:
        with open(source, "rb") as file:
            fields = _read_npz(file, source.name) if suffix == ".npz" else _read_csv(file.read(), source.name)
    except OSError as error:
        raise LoadError(f"load: cannot read {str(path)!r}: {error.strerror or error}. Check the path.") from None
    if system is not None:
        _require_names(source.name, fields["labels"], labels_of(system))
    try:
        return make(**fields, system=system, forces=forces)
    except SixdError as error:
        hint = "The file is damaged, or of another system or other forces."
        raise LoadError(f"load: {source.name}: {error} {hint}") from None


def derived_arrays(traj: Trajectory) -> dict[str, Array]:
    """Return those of energy, kinetic, potential and constraint_error (…, r) that the system has."""
    arrays: dict[str, Array] = {}
    for name in ("energy", "kinetic", "potential", "constraint_error"):
        with suppress(SixdError):
            arrays[name] = getattr(traj, name)
    return arrays


def _require_names(file: str, labels: Labels, expected: Labels) -> None:
    for what in ("q", "qd"):
        a, b = labels.names(what), expected.names(what)
        if a != b:
            k = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            got, want = (repr(x[k]) if k < len(x) else "nothing" for x in (a, b))
            raise LoadError(
                f"load: {file}: entry {k} of {what} is {got}, expected {want} of the system. Load it with the system "
                f"that moved, or with none."
            )


# .npz -------------------------------------------------------------------------------------------


def _write_npz(traj: Trajectory, derived: dict[str, Array], file: BinaryIO) -> None:
    meta = {
        "format": FORMAT, "version": VERSION, "sixd": __version__,
        "system": None if traj.system is None else traj.system.name, "labels": traj.labels._asdict(),
        "forces": [type(element).__name__ for element in traj.forces],
        "interrupted": traj.interrupted, "facts": dict(traj.facts),
    }  # fmt: skip
    states = {name: getattr(traj, name) for name in STATES if getattr(traj, name) is not None}
    arrays = {"t": traj.t, **states, **derived, **{f"parameters.{name}": x for name, x in traj.parameters.items()}}
    np.savez(file, **arrays, meta=np.array(json.dumps(meta, default=_plain)))


def _plain(x: object) -> Any:
    """A fact of a type that JSON does not have."""
    return x.tolist() if isinstance(x, (np.generic, np.ndarray)) else repr(x)


def _read_npz(data: BinaryIO, file: str) -> dict[str, Any]:
    try:
        arrays = _entries(data, file)
        meta = json.loads(str(arrays.pop("meta")))
        if meta["format"] != FORMAT:
            raise KeyError
        version = int(meta["version"])
    except KeyError:
        raise LoadError(f"load: {file} is not a trajectory of sixd, expected one that Trajectory.save wrote.") from None
    except LoadError:
        raise
    except Exception as error:  # a truncated or hostile archive may raise anything in its readers
        raise LoadError(f"load: {file} is damaged, or not an .npz file: {_line(error)}. Save it again.") from None
    if version > VERSION:
        raise LoadError(
            f"load: {file} has version {version} of the format, expected at most {VERSION}. It is from a newer sixd "
            f"({meta.get('sixd')}): install that."
        )
    try:
        labels = Labels(*(tuple(Column(*map(str, c)) for c in meta["labels"][what]) for what in Labels._fields))
        sizes = [arrays[name].shape[-1] for name in ("q", "qd", "qd")]
        if [len(x) for x in labels] != sizes:
            raise ValueError(f"{[len(x) for x in labels]} names for {sizes} entries")
        return {
            "t": arrays["t"],
            **{name: arrays[name] for name in STATES if name in arrays},
            "parameters": {n.removeprefix("parameters."): x for n, x in arrays.items() if n.startswith("parameters.")},
            "known": {name: arrays[name] for name in KEPT if name in arrays},
            "interrupted": bool(meta["interrupted"]),
            "facts": dict(meta["facts"]),
            "labels": labels,
        }
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise LoadError(f"load: {file} is damaged: its contents do not fit ({_line(error)}). Save it again.") from None


def _entries(data: BinaryIO, file: str) -> dict[str, Array]:
    """The arrays of an archive that belong to a trajectory; others are not read."""
    start = data.read(2)
    if start.startswith(b"\x80"):
        raise LoadError(f"load: {file} is a pickle, expected an .npz file that Trajectory.save wrote.")
    if start != b"PK":
        raise ValueError("it is not an archive")
    size = data.seek(0, os.SEEK_END)
    with zipfile.ZipFile(data) as archive:
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        used = {name: x for name, x in members.items() if name in _USED or name.startswith("parameters.")}
        full = sum(member.file_size for member in used.values())
        if problem := excess(size, full):  # save does not compress
            raise LoadError(f"load: {file} {problem}. If that is right, save it without compression: numpy.savez.")
        return {name: _array(archive, member, name, file) for name, member in used.items()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, file: str) -> Array:
    """One array; pickles are refused, since reading one may run arbitrary code."""
    form = np.lib.format
    with archive.open(member) as entry:
        first = form.read_magic(entry) == (1, 0)
        shape, _, dtype = (form.read_array_header_1_0 if first else form.read_array_header_2_0)(entry)
        begins = entry.tell()
    if dtype.hasobject:
        raise LoadError(
            f"load: {file} holds pickled objects in {name!r}, expected only numbers, as Trajectory.save writes. "
            f"Pickles are not read, since they may run arbitrary code."
        )
    if math.prod(shape) * dtype.itemsize != member.file_size - begins:
        raise ValueError(f"{name} has {member.file_size - begins} bytes, expected those of {shape} {dtype}")
    with archive.open(member) as entry:
        array: Array = form.read_array(entry, allow_pickle=False)
    return array


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


# tables -----------------------------------------------------------------------------------------


def columns(traj: Trajectory, derived: dict[str, Array]) -> list[tuple[str, Array]]:
    """Return the columns of a table, each a name and values (…, r)."""
    table = [("t", np.broadcast_to(traj.t, (*traj.batch, len(traj))))]
    for what in STATES:
        x = getattr(traj, what)
        if x is not None:
            names = range(x.shape[-1]) if what == "internal" else traj.labels.names(_LIKE.get(what, what))
            table += [(f"{what}.{name}", x[..., k]) for k, name in enumerate(names)]
    return [*table, *derived.items()]


def index_columns(batch: tuple[int, ...]) -> list[str]:
    """Return the names of the columns that number the rollouts of a batch."""
    return ["row"] if len(batch) == 1 else [f"row.{k}" for k in range(len(batch))]


def to_pandas(traj: Trajectory) -> DataFrame:
    """Return the records as a DataFrame: see ``Trajectory.to_pandas``."""
    try:
        import pandas
    except ImportError:
        raise MissingPackageError(
            "to_pandas: the package pandas is not installed, expected it for tables. Run: pip install pandas"
        ) from None
    count, dimensions = math.prod(traj.q.shape[:-1]), len(traj.batch)
    index = np.indices((*traj.batch, len(traj)))[:dimensions].reshape(dimensions, count)
    table = dict(zip(index_columns(traj.batch), index, strict=True))
    table |= {name: np.ravel(x) for name, x in columns(traj, derived_arrays(traj))}
    return pandas.DataFrame(table)


def _write_csv(traj: Trajectory, derived: dict[str, Array], file: BinaryIO) -> None:
    flat = columns(traj, derived)
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow([*index_columns(traj.batch), *(name for name, _ in flat)])
    file.write(text.getvalue().encode())
    for index in np.ndindex(traj.batch):
        start = "".join(f"{i}," for i in index)
        for k in range(0, len(traj), _LINES):
            block = np.stack([x[index][k : k + _LINES] for _, x in flat], axis=-1)
            lines = [start + ",".join(map(repr, numbers)) for numbers in block.tolist()]
            file.write(("\n".join(lines) + "\n").encode())


def _read_csv(data: bytes, file: str) -> dict[str, Any]:
    lines, header, dimensions = _read_header(data, file)
    table = np.array(list(_parsed(lines, len(header), file)), dtype=float).reshape(-1, len(header))
    shape = _shape(table[:, :dimensions], file)
    table = table.reshape((*shape, len(header)))
    times = _common_times(table[..., dimensions], file)
    indices = {name: [k for k, n in enumerate(header) if n.startswith(f"{name}.")] for name in STATES}
    states = {name: table[..., k] for name, k in indices.items() if k}
    known = {name: table[..., header.index(name)] for name in KEPT if name in header}
    names = {name: tuple(header[k].removeprefix(f"{name}.") for k in indices[name]) for name in ("q", "qd")}
    q, v = (tuple(Column(n, n.partition(".")[0]) for n in names[what]) for what in ("q", "qd"))
    nothing = np.zeros((*shape, 0))
    return {"t": times, "q": nothing, "qd": nothing, **states, "known": known, "labels": Labels(q, v, v)}


def _read_header(data: bytes, file: str) -> tuple[Iterator[list[str]], list[str], int]:
    """The lines below the header, the names in the header, and how many of them are dimensions of the batch."""
    try:
        lines = iter(csv.reader(io.StringIO(data.decode(), newline="")))
        header = next(lines, [])
    except (UnicodeDecodeError, csv.Error) as error:
        hint = "Expected one that Trajectory.save wrote."
        raise LoadError(f"load: {file} is not a table: {_line(error)}. {hint}") from None
    batch = [k for k, name in enumerate(header) if name == "row" or name.startswith("row.")]
    if header[len(batch) : len(batch) + 1] != ["t"] or batch != list(range(len(batch))):
        raise LoadError(
            f"load: {file} starts with {','.join(header)[:60]!r}, expected the columns t, q.…, qd.… that "
            f"Trajectory.save writes."
        )
    return lines, header, len(batch)


def _common_times(t: Array, file: str) -> Array:
    """The times (r,) of a column (…, r); raise unless all rollouts have the same."""
    t = t.reshape(math.prod(t.shape[:-1]), t.shape[-1])
    if len(t) and not (t == t[0]).all():
        raise LoadError(f"load: {file} has other times in other rollouts, expected the same in all.")
    return t[0] if len(t) else np.zeros(0)


def _parsed(lines: Iterator[list[str]], width: int, file: str) -> Iterator[list[float]]:
    k = 1
    try:
        for k, line in enumerate(lines, start=2):  # noqa: B007 (used in the error)
            if len(line) != width:
                raise ValueError(f"it has {len(line)} entries, expected {width}")
            yield [float(x) for x in line]
    except (ValueError, csv.Error) as error:
        raise LoadError(f"load: {file} is damaged in line {k}: {_line(error)}. Save it again.") from None


def _shape(index: Array, file: str) -> tuple[int, ...]:
    """The shape (…, r) of a table whose lines belong to the rollouts ``index`` (lines, dimensions of the batch)."""
    lines, dimensions = index.shape
    if not dimensions or not lines:
        return (*([0] * dimensions), lines)
    sizes = index.max(axis=0) + 1
    # more rollouts than lines cannot be complete
    batch = tuple(int(n) for n in sizes) if (np.isfinite(index).all() and (sizes <= lines).all()) else (0,)
    rollouts = math.prod(batch)
    expected = np.repeat(np.indices(batch).reshape(len(batch), -1).T, lines // max(rollouts, 1), axis=0)
    if not 0 < rollouts <= lines or not np.array_equal(index, expected):
        raise LoadError(f"load: {file} has rollouts that are not complete, expected as many records of each, in order.")
    return (*batch, lines // rollouts)
