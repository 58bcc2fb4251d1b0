"""Every SDF and xacro file inside four packages of PyPI: it loads, or is refused with a reason.

    python tests/robot_packages.py FOLDER

downloads the packages (385 MB) to FOLDER unless they are there, loads each file, and compares masses, inertias and poses
with drake (SDF) and with Pinocchio (expanded xacro), where these are installed and read the file. The exit status is 1
if a file raises anything but a LoadError, or if a number differs by more than 1e-9.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

import drake_models
import sixd
from peers import Missing, pin
from robots import quiet_load
from sixd.io.files import read_source
from sixd.io.xacro_files import expand

PACKAGES = ("drake", "pybullet", "genesis-world", "robosuite")
# what drake rejects: elements that SDF does not have; masses of zero, which drake replaces by a body of its own
MENDED = {
    r"<mass>0(\.0*)?</mass>": "<mass>1</mass>",
    r"<contact>.*?</contact>": "",
    r"<collision.*?</collision>": "",
}
WANTED = (".sdf", ".world", ".xacro", ".xml", ".config", ".yaml", ".urdf")


def unpack(folder: Path) -> list[Path]:
    """Return the SDF and xacro files of the packages, downloaded and unpacked into a folder."""
    for package in PACKAGES:
        if not list(folder.glob(f"{package.replace('-', '_')}-*.whl")):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
            subprocess.run(command, check=True)
    files = folder / "files"
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(files, [n for n in archive.namelist() if n.endswith(WANTED)])
    return sorted(p for p in files.rglob("*") if p.suffix in (".sdf", ".world", ".xacro"))


def against_drake(path: Path, model: sixd.Model) -> str:
    """Compare an SDF file with drake's reading of it; if drake rejects the file, with its reading of an accepted copy."""
    if isinstance(drake_models.pydrake, Missing):
        return "drake is not installed"
    try:
        drake_models.compare(model, drake_models.read(path))
        return "as drake"
    except (RuntimeError, AssertionError):
        text = mended = path.read_text()
        for pattern, replacement in MENDED.items():
            mended = re.sub(pattern, replacement, mended, flags=re.DOTALL)
        if mended == text:
            raise
    copy = path.with_name(f"mended_{path.stem}.copy")
    copy.write_text(mended)
    drake_models.compare(quiet_load(copy), drake_models.read(copy))
    return "as drake, in a copy without masses of zero and collisions"


def against_pinocchio(path: Path, model: sixd.Model) -> str:
    """Compare an expanded xacro file with Pinocchio's reading of it, at a random configuration."""
    if isinstance(pin, Missing):
        return "Pinocchio is not installed"
    theirs = pin.buildModelFromXML(expand(read_source(path), None, (), trust=True, all_known=True).data.decode())
    data, q = theirs.createData(), model.random_configuration(np.random.default_rng(0))
    own = {model.joint_names[i - 1]: q[model.iq[i]] for i in model.bodies}
    pin.framesForwardKinematics(theirs, data, np.concatenate([own[n] for n in list(theirs.names)[1:]]))
    for frame, place in zip(theirs.frames, data.oMf, strict=True):
        if frame.name in model.frames and frame.type == pin.BODY:
            np.testing.assert_allclose(sixd.pose(model, q, frame.name), place.homogeneous, atol=1e-9)
    for k, name in enumerate(list(theirs.names)[1:], start=1):
        body, inertia = model.body_inertia(model.joint(name).body), theirs.inertias[k]
        np.testing.assert_allclose([body.mass, *body.com], [inertia.mass, *inertia.lever], atol=1e-9)
        np.testing.assert_allclose(body.about_com, inertia.inertia, atol=1e-9)
    return "as Pinocchio"


def main(folder: Path) -> int:
    """Print a line for each file; return the number of files that raised something else or differ."""
    counts = {"loaded": 0, "refused": 0, "wrong": 0, "compared": 0}
    for path in unpack(folder):
        try:
            model = quiet_load(path, trust=True)
            said = against_pinocchio(path, model) if path.suffix == ".xacro" else against_drake(path, model)
            counts["loaded"] += 1
            counts["compared"] += said.startswith("as ")
            said = f"nv = {model.nv}, {said}"
        except sixd.LoadError as error:
            counts["refused"] += 1
            said = f"refused: {error}"
        except Exception as error:
            counts["wrong"] += 1
            said = f"WRONG: {type(error).__name__}: {error}"
        print(f"{path.relative_to(folder / 'files')}: {said}")
    print(", ".join(f"{word}: {n}" for word, n in counts.items()))
    return counts["wrong"]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) > 0 if len(sys.argv) == 2 else __doc__)
