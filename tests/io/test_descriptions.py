"""``robot_descriptions:NAME``, with a package of that name that is made here: the true one clones from a network."""

import importlib
import sys

import pytest

import sixd
from sdf_text import INERTIAL
from urdf_text import CHAIN

pytestmark = pytest.mark.one_target

GIT = """
class GitCommandError(Exception):
    stderr = "Cloning into 'x'...\\nfatal: unable to access 'https://example.org/x.git/': Could not resolve host\\n"
raise GitCommandError("Cmd('git') failed due to: exit code(128)\\n  cmdline: git clone")
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package robot_descriptions with a few modules, before any that is installed."""
    folder = tmp_path / "robot_descriptions"
    folder.mkdir()
    (folder / "robots").mkdir()
    (folder / "robots" / "chain.urdf").write_text(CHAIN)
    (folder / "robots" / "m.sdf").write_text(
        f"<sdf version='1.9'><model name='m'><link name='a'>{INERTIAL}</link></model></sdf>"
    )
    modules = {
        "__init__": "",
        "chain_description": f"REPOSITORY_PATH = PACKAGE_PATH = {str(folder)!r}\nURDF_PATH = {str(folder / 'robots' / 'chain.urdf')!r}",
        "sdf_description": f"SDF_PATH = {str(folder / 'robots' / 'm.sdf')!r}",
        "offline_description": GIT,
        "odd_description": "raise ValueError()",
        "empty_description": "",
    }
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    for name in [m for m in sys.modules if m.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield folder
    for name in [m for m in sys.modules if m.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def test_descriptions_load(package):
    assert sixd.load("robot_descriptions:chain_description").nv == 2
    assert sixd.load("robot_descriptions:chain_description", floating_base=True).nv == 8
    assert sixd.load("robot_descriptions:sdf_description").nv == 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("offline", "files of 'offline_description' cannot be fetched: unable to access 'https://example.org/x.git/': Could not resolve host. "),
        ("odd", "files of 'odd_description' cannot be fetched: ValueError. robot_descriptions clones them with Git"),
        ("empty", "has neither a URDF nor an MJCF nor a xacro file"),
        ("chian", "no module of robot_descriptions named 'chian_description'. Did you mean 'chain_description'"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_one_sentence(package, name, message):
    with pytest.raises(sixd.LoadError) as caught:
        sixd.load(f"robot_descriptions:{name}_description")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_of_a_description_that_is_not_xacro(package):
    with pytest.raises(sixd.LoadError, match="is not xacro"):
        sixd.load("robot_descriptions:chain_description", arguments={"a": 1})


def test_without_the_package(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(sixd.MissingPackageError, match="needs the package robot_descriptions: pip install robot_desc"):
        sixd.load("robot_descriptions:panda_description")
