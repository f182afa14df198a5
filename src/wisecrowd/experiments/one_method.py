"""One method with settings of your choice on one data set: scores per seed, and means.

Run: python -m wisecrowd.experiments.one_method DATA [METHOD] [NAME=VALUE ...]
     [--seeds N] [--votes] [--published] [--out FOLDER]

DATA is mnist, labelme, sentiment, label-only (six crowds) or simulated (eight crowds of
simulated_crowds). METHOD is a command-line name, svgpcr by default. Settings are those
of the method, such as n_inducing=400 link=robustmax epsilon=1e-3; network=images is the
small convolutional network of docs/deep.md, kernel=images a kernel on its outputs, and
estimator=logistic scikit-learn's LogisticRegression(C=.01) for crowd-em.
--votes fits the method to the majority votes as if they were right.
"""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import wisecrowd as wc
from wisecrowd.annotations.dataset import Dataset
from wisecrowd.datasets import LABEL_ONLY, load_mnist
from wisecrowd.experiments.runner import Job, Outcome, command, kept_in, on_stderr, run
from wisecrowd.experiments.scoring import data_of as crowd_of
from wisecrowd.experiments.scoring import fit, scored, with_settings
from wisecrowd.experiments.simulated_crowds import drawn

IMAGES = wc.ConvNet(shape=(28, 28), channels=(8, 16), pool=False)
WORDS: dict[tuple[str, Any], Any] = {
    ("network", "images"): IMAGES,
    ("kernel", "images"): wc.Deep(IMAGES),
    ("estimator", "logistic"): LogisticRegression(C=0.01, max_iter=2000),
}
SHAPES = (1, 4, 7, 11, 14, 17, 20, 23)  # of the simulated crowds
DATA: dict[str, Sequence[str]] = {
    "mnist": ["mnist"],
    "labelme": ["labelme"],
    "sentiment": ["sentiment"],
    "label-only": LABEL_ONLY,
    "simulated": [f"simulated-{shape}" for shape in SHAPES],
}


def value_of(text: str) -> Any:
    """Read a setting: a number, or a word.

    Examples
    --------
    >>> value_of("1e-3"), value_of("robustmax"), value_of("None")
    (0.001, 'robustmax', None)
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def data_of(name: str, seed: int) -> Dataset:
    """Return a data set by its name; MNIST's annotators are drawn from the seed."""
    if name == "mnist":
        return load_mnist(random_state=seed)
    if name.startswith("simulated-"):
        return drawn(int(name.removeprefix("simulated-")))
    return crowd_of(name)


def made(method: str, seed: int, settings: Mapping[str, Any], published: bool) -> Any:
    """Return the method of that name with these settings."""
    chosen = {k: WORDS.get((k, v), v) for k, v in settings.items()}
    kind = wc.METHODS[method]
    model = kind.as_published(**chosen) if published else kind(**chosen)
    return with_settings(model, random_state=seed, progress=False)


def fitted(
    method: str, seed: int, *, data: str, to: str, published: bool, **settings: Any
) -> Outcome:
    """Fit and score once."""
    given = data_of(data, seed)
    model = made(method, seed, settings, published)
    cost = fit(model, given, to="gold" if method == "svgp" else to, seed=seed)
    found = scored(model, given)
    for name in ("epsilon_", "dependence_", "sharpness_"):
        found |= {name[:-1]: getattr(model, name)} if hasattr(model, name) else {}
    if given.confusion is not None and method != "svgp":
        error = np.abs(model.confusion_ - given.confusion).max()
        found["confusion_error"] = float(error)
    return Outcome(found, cost)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("data", choices=DATA)
    parser.add_argument("method", nargs="?", default="svgpcr")
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--votes", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_intermixed_args(arguments)
    if "=" in args.method:
        args.method, args.settings = "svgpcr", [args.method, *args.settings]
    about = {"to": "votes" if args.votes else "crowd", "published": args.published}
    about |= {k: value_of(v) for k, v in (s.split("=", 1) for s in args.settings)}
    jobs = [
        Job("one-method", args.method, seed, {"data": name, **about}, fitted)
        for name in DATA[args.data]
        for seed in range(args.seeds)
    ]
    with kept_in(args.out) as folder:
        rows = run(jobs, folder, apart=False, say=on_stderr)
    done = [rows.rows[job.key] for job in jobs if not rows.rows[job.key]["note"]]
    table = pd.DataFrame([{**row["scores"], "seconds": row["seconds"]} for row in done])
    print(table.select_dtypes("number").mean().round(4).to_string())


if __name__ == "__main__":
    main()
