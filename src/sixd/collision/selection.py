"""Collision shapes by names and patterns: of shapes, links, bodies, subtrees and attached models."""

from __future__ import annotations

from fnmatch import fnmatchcase

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.model.model import Model
from sixd.notebook import listed

_ENDS = ("_", "/", ":", ".")  # of a prefix of names


class Selection:
    """The collision shapes of a model, by their indices."""

    def __init__(self, model: Model, where: str = "collision_pairs") -> None:
        self.model, self.where = model, where
        self.by_name = {c.name: i for i, c in enumerate(model.collisions)}
        body_names = ("world", *model.body_names)
        # of each shape: all names that select it
        self._names = [(c.name, c.link, body_names[c.body]) for c in model.collisions]

    def of(self, term: object) -> list[int]:
        """Return the shapes that a name or pattern selects; raises if there are none."""
        if not isinstance(term, str) or not term:
            raise ScalarTypeError(f"{self.where}: a part is {term!r}, expected a name or a pattern.")
        if term in self.by_name:
            return [self.by_name[term]]
        kind, _, name = term.partition(":")
        if name and kind in ("body", "subtree"):
            bodies = self._bodies(kind, name)
            found = [i for i, c in enumerate(self.model.collisions) if c.body in bodies]
        else:
            found = self._by_names(term)
        if found:
            return found
        if term in self.model.frames or (name and kind in ("body", "subtree")):
            links = listed(dict.fromkeys(c.link for c in self.model.collisions)) or "none"
            raise ModelError(f"{self.where}: {term!r} has no collision shapes, expected one of those with: {links}.")
        known = dict.fromkeys(name for names in self._names for name in names)
        raise unknown_name(self.where, "collision shape, link or body", term, known)

    def _by_names(self, term: str) -> list[int]:
        """Return the shapes by the first rule that finds any: their link, their body, a pattern, a prefix."""
        rules = (
            lambda names: names[1] == term,
            lambda names: names[2] == term,
            lambda names: any(fnmatchcase(name, term) for name in names),
            lambda names: any(name.startswith(term) and _ends(term, name) for name in names),
        )
        some = ([i for i, names in enumerate(self._names) if rule(names)] for rule in rules)
        return next((found for found in some if found), [])

    def _bodies(self, kind: str, name: str) -> set[int]:
        frame = self.model.frame(name, self.where)
        if kind == "body":
            return {frame.body}
        return set(self.model.tree.subtree(frame.body)) if frame.body else {0, *self.model.bodies}


def _ends(prefix: str, name: str) -> bool:
    return prefix.endswith(_ENDS) or name[len(prefix) :].startswith(_ENDS)


def mechanisms(model: Model) -> list[str]:
    """Return for each collision shape the root frame of its mechanism, "" for a shape on the world itself.

    Joints and fixed frames connect links; what only the world connects are different mechanisms.
    """
    return [_root(model, c.link) for c in model.collisions]


def _root(model: Model, link: str) -> str:
    name = link
    while name != "world":
        frame = model.frames.get(name)
        if frame is None or frame.parent in ("", "world") or frame.parent not in model.frames:
            return name
        name = frame.parent
    return ""
