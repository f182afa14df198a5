"""The command line as a function."""

import pytest
from typer.testing import CliRunner

from wisecrowd.cli import app


@pytest.fixture
def run():
    """Return a function that runs a command: exit code, stdout, stderr."""
    runner = CliRunner()

    def run_command(*arguments):
        return runner.invoke(app, [str(argument) for argument in arguments])

    return run_command
