"""A crowd with features, and a model of it."""

import pytest

import wisecrowd as wc


@pytest.fixture(scope="session")
def crowd():
    """Thirty items, nine annotators, three classes and the answer "can't tell"."""
    return wc.simulate(
        30, 9, 3, answers_per_item=5, adversaries=0.2, cant_tell=0.1, n_features=2,
        classes=["blip", "chirp", "whistle"], random_state=1,
    )  # fmt: skip


@pytest.fixture(scope="session")
def gold(crowd):
    return dict(zip(crowd.answers.items, crowd.classes[crowd.truth], strict=True))


@pytest.fixture(scope="session")
def model(crowd):
    return wc.BCC(progress=False).fit(crowd.answers)
