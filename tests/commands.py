"""Running the commands inside the tests' own process."""

import click

from sixd.cli import group, run


def caller(capsys, folder, monkeypatch):
    """A function that runs a command in a folder and returns (status, standard output, standard error)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sixd.slow_work.PATIENCE", float("inf"))  # messages must not depend on the speed of the machine

    def call(*arguments):
        status = run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def find(name):
    """Return the command of that name."""
    return group.make_group("0").get_command(click.Context(click.Command("x")), name)


def fails(result, status=1):
    """Return the one-sentence message on standard error of a command that failed without doing anything."""
    assert result[0] == status
    assert result[1] == ""
    assert result[2].startswith("error: ")
    assert result[2].count("\n") == 1
    assert result[2].rstrip()[-1] in ".?"
    return result[2]
