"""Files of measured motions: .csv with a header, .npz with arrays t, q and tau."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence

import numpy as np

from sixd.errors import LoadError, ScalarTypeError, UnknownNameError, suggestion
from sixd.model.model import Model
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of
from sixd.trajectory.paths import checked_path

SUFFIXES = (".csv", ".npz")
_TIMES = ("t", "time", "timestamp")
_NEEDED = ("t", "q", "tau")

ColumnNames = Mapping[str, str | Sequence[str]]  # of "t", "q" and "tau", in the header of a file


def read_table(path: str | os.PathLike[str], model: Model, columns: ColumnNames | None) -> dict[str, Array]:
    """t (n,), q (n, nq) and tau (n, nv) of a file."""
    source, suffix = checked_path("record", path, SUFFIXES, LoadError)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise LoadError(f"record: cannot read {str(path)!r}: {error.strerror or error}. Check the path.") from None
    if suffix == ".npz":
        if columns is not None:
            raise ScalarTypeError("record: got columns for an .npz file, expected them for a .csv file only.")
        return _arrays(data, source.name)
    return _columns(data, source.name, model, columns)


def _arrays(data: bytes, file: str) -> dict[str, Array]:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise ValueError("it is a single array")
            arrays = {name: archive[name] for name in _NEEDED if name in archive.files}
            names = archive.files
    except Exception as error:  # a truncated or hostile archive may raise anything in its readers
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise LoadError(f"record: {file} is damaged, or not an .npz file: {reason}. Write it by numpy.savez.") from None
    lost = [name for name in _NEEDED if name not in arrays]
    if lost:
        raise LoadError(
            f"record: {file} has the arrays {', '.join(names[:12]) or 'none'}, expected t, q and tau: "
            f"{', '.join(lost)} is missing."
        )
    return arrays


def _columns(data: bytes, file: str, model: Model, wanted: ColumnNames | None) -> dict[str, Array]:
    try:
        text = data.decode("utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise LoadError(f"record: {file} is not a table: {error}. Expected a .csv file in UTF-8.") from None
    if not lines:
        raise LoadError(f"record: {file} is empty, expected a line of names and lines of numbers.")
    header = [name.strip() for name in lines[0]]
    if all(map(_is_float, header)):
        raise LoadError(
            f"record: {file} starts with numbers ({', '.join(header)[:60]}), expected a line of names: t, "
            f"{', '.join(f'q.{name}' for name in labels_of(model).names('q')[:2])}, …, tau.…"
        )
    indices = _indices(header, model, wanted, file)
    try:
        used = sorted({k for ks in indices.values() for k in ks})
        table = np.array([[float(line[k]) for k in used] for line in lines[1:]]).reshape(-1, len(used))
    except (ValueError, IndexError):
        number, what = _first_bad(lines, used)
        raise LoadError(f"record: {file} is damaged in line {number}: {what}. Remove the line.") from None
    longer = [k for k, line in enumerate(lines) if len(line) > len(header) and any(map(str.strip, line[len(header) :]))]
    if longer:
        raise LoadError(
            f"record: {file} is damaged in line {longer[0] + 1}: it has {len(lines[longer[0]])} entries, expected "
            f"{len(header)}. Numbers must have decimal points, not commas."
        )
    arrays = {name: table[:, [used.index(k) for k in ks]] for name, ks in indices.items()}
    return {**arrays, "t": arrays["t"][:, 0]}


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_bad(lines: list[list[str]], used: list[int]) -> tuple[int, str]:
    """The number of the first line, and the entry, that cannot be read; empty lines are not counted."""
    for number, line in enumerate(lines[1:], start=2):
        for k in used:
            if k >= len(line):
                return number, f"it has {len(line)} entries, expected {len(lines[0])}"
            if not _is_float(line[k]):
                return number, f"{line[k][:30]!r} is not a number"
    return len(lines), "it cannot be read"


def _indices(header: list[str], model: Model, wanted: ColumnNames | None, file: str) -> dict[str, list[int]]:
    """The numbers of the columns of t, q and tau."""
    place = {name: k for k, name in enumerate(header)}
    names = _usual_names(place, model) if wanted is None else _checked_names(wanted, model)
    indices = {key: [_place(name, place, file) for name in own] for key, own in names.items()}
    used = [header[k] for ks in indices.values() for k in ks]
    for name in used:
        if header.count(name) > 1 or used.count(name) > 1:
            who = file if header.count(name) > 1 else "columns="
            raise ScalarTypeError(f"record: {who} has the name {name!r} twice, expected each once.")
    return indices


def _checked_names(wanted: ColumnNames, model: Model) -> dict[str, Sequence[str]]:
    """The names of the columns that the user states; raise if they are too few or too many."""
    if not isinstance(wanted, Mapping) or set(wanted) != set(_NEEDED):
        raise ScalarTypeError(f"record: columns is {wanted!r}, expected names for 't', 'q' and 'tau'.")
    names = {key: [x] if isinstance(x, str) else x for key, x in wanted.items()}
    for key, own in names.items():
        if not isinstance(own, (list, tuple)) or not all(isinstance(name, str) for name in own):
            raise ScalarTypeError(f"record: columns of {key} is {own!r}, expected names in the file's header.")
    for key, count in {"t": 1, "q": model.nq, "tau": model.nv}.items():
        if len(names[key]) != count:
            raise ScalarTypeError(f"record: columns names {len(names[key])} columns for {key}, expected {count}.")
    return names


def _usual_names(place: Mapping[str, int], model: Model) -> dict[str, Sequence[str]]:
    """The names of the columns in the form, of those usual in headers, of which the file has most."""
    names: dict[str, Sequence[str]] = {"t": [next((name for name in _TIMES if name in place), "t")]}
    for what in ("q", "tau"):
        labels = labels_of(model).names(what)
        numbered = [f"{what}{k + 1}" for k in range(len(labels))]
        forms = [[f"{what}.{x}" for x in labels], [f"{what}_{x}" for x in labels], numbered]
        names[what] = max(forms, key=lambda form: sum(name in place for name in form))
    return names


def _place(name: str, place: Mapping[str, int], file: str) -> int:
    if name not in place:
        hint = suggestion(name, place) or f"It has: {', '.join(list(place)[:12])}."
        raise UnknownNameError(
            f"record: {file} has no column {name!r}, expected t, q.JOINT … and tau.JOINT …. {hint} Name them by "
            f"columns={{'t': …, 'q': […], 'tau': […]}}."
        )
    return place[name]
