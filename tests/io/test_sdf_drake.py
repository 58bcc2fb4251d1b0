"""SDF files, one for each feature, as drake reads them: masses, inertias, poses, mass matrices, gravity forces.

``tests/data/drake.json`` holds drake's numbers, so that drake need not be installed; where it is, it is asked again.
"""

import json

import pytest

import drake_models
from robots import quiet_load

STORED = json.loads(drake_models.STORED.read_text())["files"]
NAMES = sorted(path.stem for path in drake_models.FOLDER.glob("*.sdf"))


@pytest.mark.targets("plain")
@pytest.mark.parametrize("name", NAMES)
def test_as_drake_read_it(name):
    drake_models.compare(quiet_load(drake_models.FOLDER / f"{name}.sdf"), STORED[name])


@pytest.mark.targets("plain")
@pytest.mark.parametrize("name", NAMES)
def test_as_drake_reads_it(name):
    drake_models.compare(
        quiet_load(drake_models.FOLDER / f"{name}.sdf"), drake_models.read(drake_models.FOLDER / f"{name}.sdf")
    )
