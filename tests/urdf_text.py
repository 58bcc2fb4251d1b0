"""URDF text written link by link, and a check of the error that loading it raises."""

import pytest

import sixd


def link(name, mass=1.0, inertia="ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'", extra=""):
    return f"<link name='{name}'><inertial><mass value='{mass}'/><inertia {inertia}/></inertial>{extra}</link>"


def joint(name, parent, child, kind="revolute", inside="<axis xyz='0 0 1'/>"):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>"


def robot(*parts):
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


CHAIN = robot(link("base"), link("a"), link("b"), joint("j1", "base", "a"), joint("j2", "a", "b", "prismatic"))


def fails(text, *fragments, error=sixd.LoadError):
    with pytest.raises(error) as caught:
        sixd.load(text)
    message = str(caught.value)
    for fragment in fragments:
        assert fragment in message, message
