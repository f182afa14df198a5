"""A small crowd on disk, and the command line as a function."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import wisecrowd as wc
from wisecrowd.cli import app


@pytest.fixture
def crowd():
    return wc.simulate(
        60,
        9,
        3,
        answers_per_item=5,
        accuracy=0.9,
        adversaries=0.2,
        classes=["blip", "chirp", "[bold]whistle"],
        random_state=1,
    )


@pytest.fixture
def answers(crowd, tmp_path):
    """A file of answers, with text ids that look like markup."""
    table = crowd.answers.to_frame()
    table["annotator"] = "volunteer " + table["annotator"].astype(str)
    path = tmp_path / "answers.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def gold(crowd, tmp_path):
    path = tmp_path / "gold.csv"
    truth = crowd.classes[crowd.truth]
    pd.DataFrame({"item": crowd.answers.items, "gold": truth}).to_csv(path, index=False)
    return path


@pytest.fixture
def run():
    """Return a function that runs a command: exit code, stdout, stderr."""
    runner = CliRunner()

    def run_command(*arguments):
        return runner.invoke(app, [str(argument) for argument in arguments])

    return run_command
