"""Does SVGPCR lose classes that the crowd sees? Every link, posterior and prior.

Run: python -m wisecrowd.experiments.lost_classes [--crowds 100] [--every 4]
     [--real NAMES]

Simulated crowds have useless to strong features, 2 to 6 classes and 2 to 4 answers per
item. Each is fitted with the default way to make labels (from the pool), and with the
model's own posterior (dependence=None). `--every 4` fits every fourth setting only,
beginning with another one for each crowd. `--real` adds real crowds with features, with
all settings. A class is lost if most answers on many items name it and hardly any label
does. A lost class without a warning is a fault.
"""

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import wisecrowd as wc
from wisecrowd.experiments.new_items import CROWDS
from wisecrowd.experiments.parts import chosen
from wisecrowd.experiments.runner import command
from wisecrowd.experiments.scoring import data_of

SETTINGS: list[dict[str, Any]] = [
    dict(zip(("dependence", "link", "posterior", "annotator_prior"), each, strict=True))
    for each in product(
        ("learn", None),
        ("softmax", "robustmax"),
        ("conditional", "factorised"),
        ("learned", "diagonal", "flat"),
    )
]


def simulated(seed: int) -> Any:
    """Return a small crowd: few shapes, so that little has to be compiled."""
    rng = np.random.default_rng(seed)
    return wc.simulate(
        120,
        int(rng.choice([8, 20])),
        int(rng.choice([2, 3, 6])),
        answers_per_item=float(rng.choice([2, 3, 4])),
        n_features=4,
        separation=float(rng.choice([0.0, 1.5, 4.0])),
        spammers=float(rng.choice([0.0, 0.3])),
        random_state=seed,
    )


def crowds(n_simulated: int, real: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, features and answers of every crowd."""
    for seed in range(n_simulated):
        made = simulated(seed)
        yield f"simulated {seed}", made.X, made.answers
    for name in real:
        data = data_of(name)
        yield name, data.X, data.answers


def lost(answers: Any, labels: Any) -> list[Any]:
    """Return the classes that were lost, counted one by one, without the library."""
    said: dict[Any, list[Any]] = {}
    frame = answers.to_frame()
    for item, answer in zip(frame["item"], frame["answer"], strict=True):
        said.setdefault(item, []).append(answer)
    out = []
    for c in answers.classes.tolist():
        named = sum(2 * each.count(c) > len(each) for each in said.values())
        n_labels = sum(label == c for label in labels.tolist())
        equal = len(answers.items) / len(answers.classes)
        if named >= max(10, 0.25 * equal) and n_labels < 0.02 * named:
            out.append(c)
    return out


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--crowds", type=int, default=100)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--real")
    given = parser.parse_args(arguments)
    real = chosen(given.real, CROWDS, "crowds")
    n_fits, n_lost, n_silent = (dict.fromkeys(("learn", None), 0) for _ in range(3))
    for place, (name, X, answers) in enumerate(crowds(given.crowds, real)):
        few = name.startswith("simulated")
        for settings in (
            SETTINGS[place % given.every :: given.every] if few else SETTINGS
        ):
            model = wc.SVGPCR(20 if few else 100, progress=False, **settings)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model.fit(X, answers, items=answers.items)
            classes, way = lost(answers, model.labels_), settings["dependence"]
            warned = any("is labelled" in str(w.message) for w in caught)
            n_fits[way] += 1
            n_lost[way] += bool(classes)
            n_silent[way] += bool(classes) and not warned
            if classes or warned:
                print(f"{name} {settings}: lost {classes}, warned {warned}", flush=True)
    for way, kind in (("learn", "labels of the pool"), (None, "its own posterior")):
        print(
            f"{kind}: {n_fits[way]} fits, {n_lost[way]} lost a class, "
            f"{n_silent[way]} of them without a warning"
        )


if __name__ == "__main__":
    main()
