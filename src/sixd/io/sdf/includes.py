"""``<include>``: the file that a URI names, and the model in it.

Nothing is fetched: ``http://…`` is refused. ``model://NAME`` is a folder or file, searched like a package (see
``find_mesh``): in ``package_dirs``, in the environment's paths, in the file's folder and those above it, and in folders
``models`` in any of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

from sixd.errors import LoadError
from sixd.io.files import read_source, refuse_foreign
from sixd.io.sdf.values import text_in
from sixd.io.urdf.meshes import Folders, is_file, package_roots
from sixd.io.xml import Element, parse

NEWEST = (1, 12)
_OLDEST = (1, 4)
_MOST_INCLUDES = 10_000  # large worlds have hundreds
_MOST_LEVELS = 50  # of files in files


@dataclass(frozen=True, eq=False)
class Document:
    """A file: its SDF version, its folders as ``Source.folders``, and itself and the files that include it."""

    version: tuple[int, int]
    folders: tuple[Path, ...] = ()
    chain: tuple[Path, ...] = ()


def read_version(sdf: Element) -> tuple[int, int]:
    """Return the version of an ``<sdf>`` as numbers; raises for unsupported versions."""
    words = sdf.text("version").split(".")
    if len(words) != 2 or not all(w.isascii() and w.isdecimal() and len(w) < 4 for w in words):
        raise sdf.error(f"<sdf version={sdf.text('version')[:60]!r}>: expected a version such as 1.9.")
    version = int(words[0]), int(words[1])
    if not _OLDEST <= version <= NEWEST:
        raise sdf.error(
            f"SDF {version[0]}.{version[1]} is not supported, expected 1.4 to {NEWEST[0]}.{NEWEST[1]}. "
            f"Convert it with: gz sdf -p FILE."
        )
    return version


@dataclass(eq=False)
class Includes:
    """Finds and parses the files that a document includes, each once."""

    package_dirs: Folders
    count: int = 0
    roots: list[Element] = field(default_factory=list)  # of the files read, each once
    _parsed: dict[Path, Element] = field(default_factory=dict)

    def model(self, include: Element, document: Document) -> tuple[Element, Document]:
        """Return the ``<model>`` that an ``<include>`` names, with the document it is in."""
        uri = text_in(include, "uri")
        self.count += 1
        if self.count > _MOST_INCLUDES:
            raise include.error(f"the document includes more than {_MOST_INCLUDES} models, expected fewer.")
        path = self._find(include, uri, document)
        if path in document.chain:
            names = [p.name for p in document.chain[document.chain.index(path) :]]
            raise include.error(f"the files include each other: {' -> '.join([*names, path.name])}. Leave one out.")
        if len(document.chain) >= _MOST_LEVELS:
            raise include.error(f"files are included {_MOST_LEVELS} levels deep, expected fewer.")
        root = self._parse(include, path, document)
        if root.tag != "sdf":
            hint = "Convert it to SDF with: gz sdf -p FILE." if root.tag == "robot" else "Name an SDF file."
            raise include.error(f"{uri!r} has the root tag <{root.tag}>, expected <sdf>. {hint}")
        models = root.find_all("model")
        if len(models) != 1:
            content = "a <world>" if root.find("world") and not models else f"{len(models)} models"
            raise include.error(f"{uri!r} holds {content}, expected one model.")
        folders = tuple(dict.fromkeys([path.parent, path.resolve().parent]))
        return models[0], Document(read_version(root), folders, (*document.chain, path))

    def _parse(self, include: Element, path: Path, document: Document) -> Element:
        if path not in self._parsed:
            same = path.parent in document.folders
            label = path.name if same else f"{path.parent.name}/{path.name}"
            try:
                data = read_source(path).data
                refuse_foreign(data, label)
                self._parsed[path] = parse(data, label)
                self.roots.append(self._parsed[path])
            except LoadError as error:
                raise include.error(f"cannot include {str(path)!r}: {error}") from None
        return self._parsed[path]

    def _find(self, include: Element, uri: str, document: Document) -> Path:
        scheme = uri.split("://", 1)[0] if "://" in uri else ""
        if scheme in ("http", "https", "fuel"):
            raise include.error(f"{uri!r} is on a network, expected a file. Download it, and name its path.")
        for candidate in self._candidates(uri, scheme, document):
            if is_file(candidate):
                return candidate.resolve()
            chosen = _model_file(candidate)
            if chosen is not None:
                return chosen.resolve()
        where = f"next to {include.source}" if document.folders else "in package_dirs; a text has no folder of its own"
        raise include.error(
            f"the included {uri!r} is not found {where}. Check the path, or pass package_dirs=…, the folders that "
            f"contain the models of model://…."
        )

    def _candidates(self, uri: str, scheme: str, document: Document) -> Iterator[Path]:
        if scheme in ("model", "package"):
            name, _, rest = uri.split("://", 1)[1].partition("/")
            for base in package_roots(self.package_dirs, document.folders):
                yield base / name / rest
                yield base / "models" / name / rest
                if base.name == name:
                    yield base / rest
            return
        path = Path(unquote(urlparse(uri).path) if scheme == "file" else uri).expanduser()
        bases: Iterable[Path] = [*document.folders, *(Path(d) for d in self.package_dirs)]
        yield from (base / path for base in bases)
        if path.is_absolute():
            yield path


def _model_file(folder: Path) -> Path | None:
    """Return the SDF file of a model's folder: the newest that its ``model.config`` lists, or ``model.sdf``."""
    config = folder / "model.config"
    names = ["model.sdf"]
    if is_file(config):
        root = parse(read_source(config).data, f"{folder.name}/model.config")
        listed = [e for e in root.find_all("sdf") if e.content]
        names = [e.content for e in sorted(listed, key=_version_key, reverse=True)] + names
    return next((folder / name for name in names if is_file(folder / name)), None)


def _version_key(element: Element) -> tuple[int, ...]:
    words = element.attributes.get("version", "").split(".")
    return tuple(int(w) for w in words) if all(w.isascii() and w.isdecimal() for w in words) else (0,)
