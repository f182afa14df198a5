"""A crowd in memory, and the same crowd as a prepared folder."""

import pytest

import wisecrowd as wc

pytest.importorskip("duckdb")


@pytest.fixture(scope="session")
def crowd():
    """Answers, and the gold of every 20th item."""
    crowd = wc.simulate(600, 30, 3, answers_per_item=5, random_state=1)
    answers = wc.Annotations.from_frame(crowd.answers.to_frame())  # who answered
    truth = dict(zip(crowd.answers.items, crowd.classes[crowd.truth], strict=True))
    return answers, {item: truth[item] for item in answers.items[::20].tolist()}


@pytest.fixture(scope="session")
def file(crowd, tmp_path_factory):
    """The answers as a table whose rows are in no order."""
    table = crowd[0].to_frame().sample(frac=1, random_state=0)
    path = tmp_path_factory.mktemp("long") / "answers.parquet"
    table.to_parquet(path)
    return path


@pytest.fixture(scope="session")
def prepared(file, tmp_path_factory):
    """From a number of shards to the prepared folder."""
    from wisecrowd.prepared.write import prepare

    folders = tmp_path_factory.mktemp("prepared")
    return {n: prepare(file, folders / str(n), shards=n) for n in (1, 3)}
