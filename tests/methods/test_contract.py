import pytest

import contract
import wisecrowd as wc

# Settings that keep a method quick on thirty items; the contract is the same.
QUICK = {"n_inducing": 5, "max_epochs": 40, "natural_rate": 0.2}
# Learning the dependence takes longer than all the rest; test_bcc.py has it.
GIVEN = {"dependence": 0.1}
NETWORK = {"max_epochs": 100}
SETTINGS = {
    "aggnet": NETWORK,
    "bcc": GIVEN,
    "conal": NETWORK,
    "crowd-em": GIVEN,
    "rffgpcr": {"n_frequencies": 10},
    "vffgpcr": {"n_frequencies": 10, "tol": 1e-3},
    "crowd-layer": NETWORK,
    "svgp": QUICK,
    "svgpcr": {**QUICK, **GIVEN, "networks": False},
}
# Other numbers of answers than of classes; the others with networks are slow: one more
# shape to compile each. So are those of CoNAL, a crowd layer.
WITH_NETWORKS = (contract.answers_that_are_not_classes_work,)
OF_A_KIND = ("conal",)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.slow if name in OF_A_KIND else ())
        for name in sorted(wc.METHODS)
    ],
)
def subject(request):
    name = request.param
    return contract.subject(wc.METHODS[name], **SETTINGS.get(name, {}))


@pytest.mark.parametrize("check", contract.CHECKS, ids=lambda check: check.__name__)
def test_the_contract(subject, check):
    check(subject)


@pytest.fixture(scope="module")
def with_networks():
    return contract.subject(wc.SVGPCR, **QUICK, **GIVEN)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(
            check,
            id=check.__name__,
            marks=() if check in WITH_NETWORKS else pytest.mark.slow,
        )
        for check in contract.CHECKS
    ],
)
def test_the_contract_of_svgpcr_with_networks(with_networks, check):
    check(with_networks)


def test_a_saved_model_answers_as_before(subject, tmp_path):
    pytest.importorskip("wisecrowd.persist")
    contract.a_saved_model_answers_as_before(subject, tmp_path)


def test_every_check_of_the_contract_is_run():
    taking_a_subject = {
        check
        for check in vars(contract).values()
        if getattr(check, "__annotations__", {}).get("subject") is contract.Subject
    }
    assert taking_a_subject == {
        *contract.CHECKS,
        contract.a_saved_model_answers_as_before,
    }
