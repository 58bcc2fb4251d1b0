"""Small SDF texts: a link with an inertia, a joint, a model, a document."""

INERTIAL = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
AXIS = "<axis><xyz>0 0 1</xyz></axis>"


def link(name, pose="", inside=""):
    at = f"<pose>{pose}</pose>" if pose else ""
    return f"\n<link name='{name}'>{at}{INERTIAL}{inside}</link>"


def joint(name="j", kind="revolute", parent="a", child="b", inside=AXIS, pose=""):
    at = f"<pose>{pose}</pose>" if pose else ""
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f"\n<joint name='{name}' type='{kind}'>{at}{ends}{inside}</joint>"


def model(inside, name="m", pose="", attributes=""):
    at = f"<pose>{pose}</pose>" if pose else ""
    return f"\n<model name='{name}' {attributes}>{at}{inside}\n</model>"


def sdf(inside, version="1.9"):
    return f"<sdf version='{version}'>{inside}\n</sdf>"
