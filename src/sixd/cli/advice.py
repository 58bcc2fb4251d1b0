"""What to do about each finding of ``sixd.check``, and whether it is a fault or a remark."""

from __future__ import annotations

from typing import NamedTuple

from sixd.model.parts import Finding


class Advice(NamedTuple):
    """A fault makes results wrong or impossible; a remark tells what the file says and the model does not hold."""

    fault: bool
    text: str


_ADVICE = {
    "missing-inertia": Advice(
        True,
        "Write <inertial> with mass, origin and inertia for this link (those of a solid of its size and mass will do), "
        "or make its joint fixed, so that it is merged with its parent.",
    ),
    "negative-mass": Advice(True, "Correct the sign of the mass; masses that were subtracted belong into one link."),
    "impossible-inertia": Advice(
        True,
        "The principal moments A ≤ B ≤ C of a body satisfy C ≤ A + B, about its centre of mass. Look for a matrix "
        "about another point or in other axes than <origin> says, for grams or millimetres, or for rounded numbers.",
    ),
    "singular-mass-matrix": Advice(
        True,
        "Give what the joint carries a mass and a matrix, give the joint an armature, or make it fixed.",
    ),
    "limits": Advice(True, "Exchange lower and upper."),
    "negative-property": Advice(True, "Damping, friction, stiffness, armature and limits of effort are at least 0."),
    "cannot-assemble": Advice(
        True, "Correct the lengths or frames of the loop; sixd.assemble tells which constraint is farthest off."
    ),
    "redundant-constraints": Advice(
        False, "No fault: the motion is unique. Leave equations out only if you need unique constraint forces."
    ),
    "mimic": Advice(True, "Name an existing joint of one freedom in <mimic>, or remove it."),
    "visual": Advice(False, "For pictures only; correct the shape, or leave it so."),
    "lost-mesh": Advice(False, "For pictures only; give the folder that holds the packages by --package-dir."),
    "misspelt": Advice(True, "Correct the name; what it says is not in the model."),
    "repeated": Advice(True, "Delete the one that is not meant; only the first is in the model."),
    "equality": Advice(False, "Look at model.constraints; constrained_dynamics and simulate hold them exactly."),
    "keyframe": Advice(False, "Correct the keyframe's numbers, or leave it so."),
    "renamed": Advice(False, "Nothing to do; use the new name."),
    "not-carried": Advice(False, "The model behaves as if these were not there; see whether they matter to you."),
    "mujoco": Advice(False, "A remark of MuJoCo's own reader; correct the file where it says so."),
}
_ELSE = Advice(False, "See docs of sixd.check.")


def advice(finding: Finding) -> Advice:
    """What to do about a finding."""
    return _ADVICE.get(finding.code, _ELSE)
