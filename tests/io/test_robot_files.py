"""Files that are something else, files that never end, odd but good ones, and where meshes are looked for."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import pytest

import sixd
from commands import caller
from commands import fails as command_fails
from urdf_text import CHAIN, fails, joint, link, robot


def archive():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("robot.urdf", CHAIN)
    return out.getvalue()


TRIANGLES = b"made by hand".ljust(80) + (2).to_bytes(4, "little") + b"\1" * 100
FOREIGN = {
    "gzip": (gzip.compress(CHAIN.encode()), r"compressed by gzip, expected URDF, SDF, MJCF or \.mat\. Unpack it first \(gunzip\)\."),
    "bzip2": (bz2.compress(CHAIN.encode()), "compressed by bzip2"),
    "xz": (lzma.compress(CHAIN.encode()), "compressed by xz"),
    "zip": (archive(), "a zip archive"),
    "UTF-32": (CHAIN.encode("utf-32"), r"text in UTF-32, .* Save it as UTF-8\."),
    "UTF-32, no mark": (CHAIN.encode("utf-32-be"), "text in UTF-32"),
    "program": (b"\x7fELF\2\1\1\0\0\0", r"a program \(ELF\)"),
    "mesh": (TRIANGLES, r"a mesh \(STL\)"),
    "mesh in letters": (b"solid part\n  facet normal 0 0 1\n", r"a mesh \(STL\)"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0", r"a picture \(PNG\)"),
    "HTML": (b"\n<!DOCTYPE html>\n<html><title>404</title></html>", "an HTML page.*Download the file itself"),
    "old HTML": (b"<HTML><HEAD>", "an HTML page"),
    "LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer.*git lfs pull"),
    "binary": (bytes(range(256)), "the file is binary"),
    "nulls": (b"\0" * 100, "the file is empty"),
    "COLLADA": (b"<COLLADA/>", r"a mesh \(COLLADA\)"),
    "a part": (b"<mujocoinclude/>", "name the file that includes it"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_named(kind):
    data, message = FOREIGN[kind]
    with pytest.raises(sixd.LoadError, match=message):
        sixd.load(data)


ODD = {
    "a declaration in a comment": "<!-- <?xml version='1.0' encoding='latin-1'?> -->\n" + CHAIN,
    "a declaration in a comment after its own": "<?xml version='1.0'?>\n<!-- <?xml version='1.0'?> -->\n" + CHAIN,
    "a declaration in a comment inside": CHAIN.replace("</robot>", "<!-- <?xml version='1.0'?> --></robot>"),
    "a null after it": CHAIN + "\0",
    "nulls and lines after it": CHAIN + "\r\n\0\0\n",
    "a byte-order mark and lines of DOS": "\ufeff" + CHAIN.replace("\n", "\r\n"),
    "an instruction before it": "<?note x?>\n<?xml version='1.0'?>" + CHAIN,
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_load(kind, tmp_path):
    """As text, as bytes and from a file; lines are still counted from the top."""
    path = tmp_path / "robot.urdf"
    path.write_bytes(ODD[kind].encode())
    assert [sixd.load(s).nv for s in (ODD[kind], ODD[kind].encode(), path)] == [2, 2, 2]
    broken = ODD[kind].replace("<axis xyz='0 0 1'/>", "<axis xyz='0 0 o'/>")
    line = broken[: broken.index("0 0 o")].count("\n") + 1
    fails(broken, f"line {line}: ")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark(encoding):
    assert sixd.load(CHAIN.encode(encoding)).nv == 2


def test_an_undeclared_world_is_the_world():
    """A joint whose parent is a world that no <link> declares hangs on the world."""
    text = robot(link("a"), link("b"), joint("j", "world", "a"), joint("k", "a", "b"))
    model = sixd.load(text)
    declared = sixd.load(text.replace("<link name='a'>", "<link name='world'/><link name='a'>", 1))
    for names in ("parent", "body_names", "frame_names"):
        assert getattr(model, names) == getattr(declared, names)
    assert model.parent == (-1, 0, 1)
    fails(robot(link("a"), joint("j", "a", "world")), "no link named 'world'")


def test_deep_nesting():
    """A hundred thousand levels need no recursion."""
    deep = "<a>" * 100_000 + "</a>" * 100_000
    assert sixd.load(CHAIN.replace("</robot>", f"{deep}</robot>")).nv == 2


@pytest.mark.parametrize("cut", [10, 100, 300, -1])
def test_truncated_files(cut):
    with pytest.raises(sixd.LoadError):
        sixd.load(CHAIN.encode()[:cut])


def test_a_comment_without_end():
    """Hostile: neither a hang nor a wrong document."""
    fails("<!--" * 50_000 + CHAIN, "the XML is broken")


# files that never end ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["info", "check", "simulate", "equations", "view", "bench"])
def test_devices_are_refused(command, capsys, tmp_path, monkeypatch):
    text = command_fails(caller(capsys, tmp_path, monkeypatch)(command, "/dev/zero"))
    assert "'/dev/zero' is a device, expected a regular file" in text


def test_pipes_and_endless_files(tmp_path, monkeypatch):
    """A pipe without a writer would wait for ever; reading stops at some size of an endless file."""
    pipe = tmp_path / "robot.urdf"
    os.mkfifo(pipe)
    fails(pipe, "is a pipe, expected a regular file")
    monkeypatch.setattr("sixd.file_limits.LARGEST_ROBOT_FILE", 1 << 20)
    with open("/dev/zero", "rb") as endless:
        fails(endless, "/dev/zero has more than 1 MiB, expected a robot file")
    large = tmp_path / "large.urdf"
    large.write_text(CHAIN + " " * (1 << 20))
    fails(large, "large.urdf has more than 1 MiB")


def test_pipes_of_a_shell():
    """``sixd info <(xacro robot.urdf.xacro)`` names a pipe that ends."""
    reading, writing = os.pipe()
    os.write(writing, CHAIN.encode())
    os.close(writing)
    try:
        assert sixd.load(f"/dev/fd/{reading}").nv == 2
    finally:
        os.close(reading)


# meshes ------------------------------------------------------------------------------------------


def mesh_of(folder, name, at="robot.urdf"):
    """Where the mesh of that name is found for a robot file in ``folder``."""
    shape = f"<visual><geometry><mesh filename='{name}'/></geometry></visual>"
    path = folder / at
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(robot(link("a"), link("b", extra=shape), joint("j", "a", "b")))
    return sixd.load(path).visuals[0].shape.file


@pytest.fixture
def arm(tmp_path):
    """A robot's folder: arm/urdf and arm/meshes/visual/a.stl."""
    (tmp_path / "arm/urdf").mkdir(parents=True)
    (tmp_path / "arm/meshes/visual").mkdir(parents=True)
    (tmp_path / "arm/meshes/visual/a.stl").write_text("solid")
    return tmp_path / "arm"


@pytest.mark.parametrize(
    "name",
    [
        "package://arm/meshes/visual/a.stl", "package://arm_support/meshes/visual/a.stl", "package://gone/arm/meshes/visual/a.stl",
        "../meshes/visual/a.stl", "meshes/visual/a.stl", "../../meshes/visual/a.stl", "./meshes/visual/a.stl",
        "file:///home/someone/ros/arm/meshes/visual/a.stl", "/home/someone/arm/meshes/visual/a.stl", "meshes\\visual\\a.stl",
    ],
)  # fmt: skip
def test_meshes_are_found(arm, name):
    """By packages of another name, from a folder above, and by what is left of somebody else's path."""
    found = mesh_of(arm / "urdf", name)
    assert os.path.samefile(found, arm / "meshes/visual/a.stl")


def test_meshes_that_are_not_there(arm):
    """The name itself; a bare file name is not looked for in folders of others, nor a path of any length."""
    long = "package://gone/" + "a/" * 5000 + "a.stl"
    assert mesh_of(arm / "urdf", long) == long
    (arm.parent / "a.stl").write_text("solid")
    for name in ("package://arm/meshes/visual/b.stl", "a.stl", "package://gone/a.stl", "../a.stl"):
        assert mesh_of(arm / "urdf", name) == name
    (arm / "urdf/a.stl").write_text("solid")
    assert mesh_of(arm / "urdf", "package://gone/a.stl") == str(arm / "urdf/a.stl")


def test_meshes_through_a_link(arm, tmp_path):
    """A robot that is reached through a link to its folder finds the files next to the folder itself."""
    (tmp_path / "elsewhere").mkdir()
    shortcut = tmp_path / "elsewhere/robot"
    shortcut.symlink_to(arm / "urdf")
    for name in ("package://arm/meshes/visual/a.stl", "package://gone/meshes/visual/a.stl", "meshes/visual/a.stl"):
        assert os.path.samefile(mesh_of(shortcut, name), arm / "meshes/visual/a.stl")


def test_meshes_of_a_linked_file(arm, tmp_path):
    """Nor does a link to the robot file itself lose them."""
    mesh_of(arm / "urdf", "../meshes/visual/a.stl")
    (tmp_path / "linked.urdf").symlink_to(arm / "urdf/robot.urdf")
    found = sixd.load(tmp_path / "linked.urdf").visuals[0].shape.file
    assert os.path.samefile(found, arm / "meshes/visual/a.stl")


def test_devices_are_not_meshes(arm):
    from sixd.geometry.meshes import read_mesh

    assert mesh_of(arm / "urdf", "/dev/zero") == "/dev/zero"
    with pytest.raises(sixd.FileError, match="'/dev/zero' is not found"):
        read_mesh("/dev/zero")
