"""Settings on the command line: friendly options, ``--set``, and what is refused."""

import inspect
from types import NoneType
from typing import Any, Literal

import numpy as np
import pytest

import wisecrowd as wc
from mistakes import one_sentence
from wisecrowd.cli.settings import FRIENDLY, Given, dashed, made_method, made_methods
from wisecrowd.cli.values import Setting, settings_of, types_of, value_of

VALUES = {
    "inducing": ("7", 7),
    "kernel": ("matern32", "matern32"),
    "link": ("robustmax", "robustmax"),
    "epsilon": ("1e-3", 1e-3),
    "prior": ("flat", "flat"),
    "dependence": ("0.25", 0.25),
    "epochs": ("3", 3),
    "time_limit": ("9", 9.0),
    "checkpoint": ("folder/12", "folder/12"),
    "resume": ("true", True),
}
"""Of each friendly option: a text that is not its default, and what it stands for."""


@pytest.fixture
def files(tmp_path):
    rows = [f"{n},{a},{n % 2}" for n in range(8) for a in "abc"]
    (tmp_path / "a.csv").write_text("\n".join(["item,annotator,answer", *rows]))
    np.save(tmp_path / "x.npy", np.arange(8.0)[:, None])
    return tmp_path


@pytest.fixture
def settings_at_fit(run, files, monkeypatch):
    """A function from options to the settings with which a method is fitted."""

    def at_fit(command, *options, kind):
        seen = {}

        def fit(self, *_, **__):
            seen.update(self.get_params())
            raise wc.InputError("enough.")

        monkeypatch.setattr(kind, "fit", fit)
        features = ("-f", files / "x.npy") if command == "fit" else ()
        one_sentence(run(command, files / "a.csv", *features, "-q", *options), "enough")
        return seen

    return at_fit


@pytest.mark.parametrize("name", FRIENDLY)
def test_a_friendly_option_is_short_for_set(name, settings_at_fit):
    text, value = VALUES[name]
    setting = FRIENDLY[name].setting
    own = (dashed(name), text) if FRIENDLY[name].metavar else (dashed(name),)
    by_option = settings_at_fit("fit", *own, kind=wc.SVGPCR)
    by_set = settings_at_fit("fit", "--set", f"{setting}={text}", kind=wc.SVGPCR)
    assert by_option == by_set
    default = settings_at_fit("fit", kind=wc.SVGPCR)
    assert by_option[setting] == value != default[setting]
    others = {**by_option, setting: default[setting]}
    assert others == default


@pytest.mark.parametrize(
    ("name", "setting"),
    [("--prior", "annotator_prior"), ("--dependence", "dependence")],
)
def test_aggregate_has_the_friendly_options_of_bcc(name, setting, settings_at_fit):
    text = {"--prior": "diagonal", "--dependence": "none"}[name]
    command = ("aggregate", "--method", "bcc")
    by_option = settings_at_fit(*command, name, text, kind=wc.BCC)
    by_set = settings_at_fit(*command, "--set", f"{setting}={text}", kind=wc.BCC)
    assert by_option == by_set
    assert by_option[setting] == {"diagonal": "diagonal", "none": None}[text]


def test_the_published_method_is_an_option(settings_at_fit):
    found = settings_at_fit("aggregate", "-m", "bcc", "--as-published", kind=wc.BCC)
    assert found == wc.BCC.as_published(progress=False).get_params()
    found = settings_at_fit(
        "fit", "--as-published", "--set", "batch_size=9", kind=wc.SVGPCR
    )
    expected = wc.SVGPCR.as_published(progress=False, batch_size=9, random_state=0)
    assert found == expected.get_params()


def test_the_seed_goes_where_something_is_random(settings_at_fit):
    assert settings_at_fit("fit", "--seed", 4, kind=wc.SVGPCR)["random_state"] == 4
    found = settings_at_fit("fit", "--set", "random_state=5", kind=wc.SVGPCR)
    assert found["random_state"] == 5


@pytest.mark.parametrize("name", list(wc.METHODS))
def test_every_setting_of_every_method_can_be_set_to_its_default(name):
    kind = wc.METHODS[name]
    given = [
        Given(setting.name, str(setting.default), "")
        for setting in settings_of(kind).values()
    ]
    model = made_method(name, given, seed=0, quiet=True)
    assert model.get_params() == kind().get_params()


def test_the_settings_of_a_method_are_those_of_its_constructor():
    for name, kind in wc.METHODS.items():
        assert set(settings_of(kind)) == set(kind().get_params()), name


@pytest.mark.parametrize(
    ("annotation", "types"),
    [
        (int, {int}),
        (float | None, {float, NoneType}),
        (float | str | None, {float, str, NoneType}),
        (Literal["a", "b"], {str}),
        (np.ndarray | bool, {str, bool}),
        (Any, None),
        (int | Any, None),
        (inspect.Parameter.empty, None),
        ("a text", None),
    ],
)
def test_the_types_of_a_setting_come_from_its_annotation(annotation, types):
    assert types_of(annotation) == (None if types is None else frozenset(types))


@pytest.mark.parametrize(
    ("types", "text", "value"),
    [
        (None, "3", 3), (None, "3.5", 3.5), (None, "none", None), (None, "True", True),
        (None, "se", "se"), ({float}, "3", 3.0), ({str}, "3", "3"),
        ({bool}, "no", False),
        ({str, NoneType}, "None", None), ({float, str}, "learn", "learn"),
        ({int}, "-2", -2),
    ],
)  # fmt: skip
def test_a_text_becomes_the_narrowest_type_that_is_allowed(types, text, value):
    setting = Setting("x", 0, None if types is None else frozenset(types))
    found = value_of(setting, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "svgp", "--dependence", "0.1"),
         ("--dependence 0.1 cannot be used", "svgp has no setting dependence",
          "The settings of svgp are n_inducing, scaling")),
        (("-m", "svgp", "--prior", "flat"), ("svgp has no setting annotator_prior",)),
        (("--set", "magic=3"), ("svgpcr has no setting magic", "n_inducing")),
        (("--set", "magic"), ("--set magic is not NAME=VALUE",)),
        (("--set", "n_inducing=ten"), ("--set n_inducing=ten", "a whole number")),
        (("--inducing", "ten"), ("--inducing ten", "must be a whole number")),
        (("--inducing", "7", "--set", "n_inducing=8"), ("is already given",)),
        (("--set", "tol=1", "--set", "tol=2"), ("--set tol=2", "already given")),
        (("-m", "svgp", "--as-published"), ("svgp", "leave --as-published out")),
    ],
)  # fmt: skip
def test_what_a_method_has_no_setting_for_is_a_sentence(arguments, words, run, files):
    command = ("fit", files / "a.csv", "-f", files / "x.npy", "-q")
    one_sentence(run(*command, *arguments), *words)


def test_an_option_that_an_aggregator_has_no_setting_for_is_a_sentence(run, files):
    result = run("aggregate", files / "a.csv", "-m", "majority-vote", "--prior", "flat")
    one_sentence(result, "--prior flat", "majority-vote are ties, random_state")


def test_a_setting_for_one_method_must_be_one_of_it():
    given = [Given("ties", "first", "--set bcc:ties=first", "bcc")]
    with pytest.raises(wc.InputError, match="bcc has no setting ties"):
        made_methods(["bcc", "majority-vote"], given, seed=0, quiet=True)


def test_settings_change_the_result(run, files):
    """Not only the model: what is printed changes too."""
    both = [
        run("aggregate", files / "a.csv", "-m", "glad", "--json", "-q", *more).stdout
        for more in ((), ("--set", "tol=1"))
    ]
    assert both[0] != both[1]
