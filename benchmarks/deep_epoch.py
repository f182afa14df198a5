"""One epoch of a crowd layer at LIGO's size, beside a plain loop over annotators.

Run: python benchmarks/deep_epoch.py [--steps 30]
173,565 items with 256 features, 3,443 annotators, 15 classes, 1.8 million answers; the
network of `CrowdLayer()` (128 relu units, dropout .5), a matrix per annotator, batches
of 64 items, Adam. Three ways, in one process:

ours    CrowdLayer: all steps of one epoch, as its trace times them, scoring included
loop    NumPy, in the style of the PyTorch and Keras code: for every batch a loop over
        all annotators, who are skipped if they answered nothing in the batch
dense   JAX, compiled: all annotators at once on items x annotators x classes, masked,
        as the Keras layer "MW" does it

`loop` and `dense` take some steps, and their epoch is extrapolated.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from ligo_size import ligo_crowd

import wisecrowd as wc

BATCH, HIDDEN, RATE = 64, 128, 1e-3


def softmax(x: np.ndarray) -> np.ndarray:
    out = np.exp(x - x.max(-1, keepdims=True))
    return out / out.sum(-1, keepdims=True)


class Batches:
    """Batches as the plain code has them: a dense table of items by annotators."""

    def __init__(self, X: np.ndarray, answers: wc.Annotations) -> None:
        self.X, self.answers = X, answers.codes
        self.rng = np.random.default_rng(0)

    def next(self) -> tuple[np.ndarray, np.ndarray]:
        items = self.rng.permutation(len(self.X))[:BATCH]
        some = self.answers.of_items(items)
        table = np.full((BATCH, some.n_annotators), -1)
        table[some.item, some.annotator] = some.answer
        return self.X[items], table


def started(
    n_features: int, n_annotators: int, n_classes: int
) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {
        "W1": 0.05 * rng.normal(size=(n_features, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "W2": 0.05 * rng.normal(size=(HIDDEN, n_classes)),
        "b2": np.zeros(n_classes),
        "crowd": np.tile(3.0 * np.eye(n_classes), (n_annotators, 1, 1)),
    }
    return {name: value.astype(np.float32) for name, value in made.items()}


def loop_slopes(params: dict, X: np.ndarray, table: np.ndarray, rng) -> dict:
    """Slopes of the mean cross-entropy, one annotator after the other."""
    kept = (rng.random((BATCH, HIDDEN)) < 0.5) * np.float32(2.0)
    hidden = np.maximum(X @ params["W1"] + params["b1"], 0)
    dropped = hidden * kept
    proba = softmax(dropped @ params["W2"] + params["b2"])
    of_proba = np.zeros_like(proba)
    of_crowd = np.zeros_like(params["crowd"])
    n_answers = (table >= 0).sum()
    for a in range(table.shape[1]):
        rows = np.flatnonzero(table[:, a] >= 0)
        if not len(rows):
            continue
        confusion = softmax(params["crowd"][a])
        said = table[rows, a]
        given = confusion[:, said].T
        weight = -1 / (n_answers * (proba[rows] * given).sum(1, keepdims=True))
        of_proba[rows] += weight * given
        slope = np.zeros_like(confusion)
        np.add.at(slope.T, said, weight * proba[rows])
        inner = (slope * confusion).sum(1, keepdims=True)
        of_crowd[a] = confusion * (slope - inner)
    inner = (of_proba * proba).sum(1, keepdims=True)
    logits = proba * (of_proba - inner)
    back = (logits @ params["W2"].T) * kept * (hidden > 0)
    return {
        "W1": X.T @ back, "b1": back.sum(0), "W2": dropped.T @ logits,
        "b2": logits.sum(0), "crowd": of_crowd,
    }  # fmt: skip


def loop_epoch(batches: Batches, n_steps: int, sizes: tuple[int, int, int]) -> float:
    """Seconds of a step of the loop, Adam included."""
    params, rng = started(*sizes), np.random.default_rng(0)
    first, second = ({k: np.zeros_like(v) for k, v in params.items()} for _ in "ab")
    began = time.perf_counter()
    for step in range(1, n_steps + 1):
        slopes = loop_slopes(params, *batches.next(), rng)
        for name, slope in slopes.items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.999 * second[name] + 0.001 * slope**2
            mean = first[name] / (1 - 0.9**step)
            spread = np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8
            params[name] = params[name] - RATE * mean / spread
    return (time.perf_counter() - began) / n_steps


def dense_epoch(batches: Batches, n_steps: int, sizes: tuple[int, int, int]) -> float:
    """Seconds of a compiled step on the dense table, without its compilation."""
    params, adam = started(*sizes), optax.adam(RATE)

    def loss(params, X, table, key):
        hidden = jax.nn.relu(X @ params["W1"] + params["b1"])
        kept = jax.random.bernoulli(key, 0.5, hidden.shape) * 2.0
        proba = jax.nn.softmax((hidden * kept) @ params["W2"] + params["b2"])
        answers = jnp.einsum("bc,ack->bak", proba, jax.nn.softmax(params["crowd"]))
        said = jnp.take_along_axis(answers, jnp.maximum(table, 0)[:, :, None], 2)
        given = table >= 0
        return -jnp.where(given, jnp.log(said[:, :, 0]), 0).sum() / given.sum()

    @jax.jit
    def step(params, memory, X, table, key):
        slope = jax.grad(loss)(params, X, table, key)
        change, memory = adam.update(slope, memory)
        return optax.apply_updates(params, change), memory

    memory, keys = adam.init(params), jax.random.split(jax.random.key(0), n_steps + 1)
    for number, key in enumerate(keys):
        params, memory = step(params, memory, *batches.next(), key)
        jax.block_until_ready(params)
        if not number:
            began = time.perf_counter()
    return (time.perf_counter() - began) / n_steps


def our_epoch(X: np.ndarray, answers: wc.Annotations) -> tuple[float, int]:
    """Seconds of one epoch without the first chunk, which compiles; and its steps."""
    model = wc.CrowdLayer(batch_size=BATCH, max_epochs=1, tol=None, progress=False)
    trace = model.fit(X, answers).trace_
    steps = trace["step"] if "step" in trace else trace.index.to_series()
    seconds = trace["seconds"].iloc[-1] - trace["seconds"].iloc[0]
    return float(seconds / (steps.iloc[-1] - steps.iloc[0])), int(steps.iloc[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30)
    n_steps = parser.parse_args().steps
    crowd = ligo_crowd()
    X = crowd.X.astype(np.float32)
    X = (X - X.mean(0)) / X.std(0)
    batches, sizes = Batches(X, crowd.answers), (256, 3_443, 15)
    per_epoch = -(-len(X) // BATCH)
    ours, _ = our_epoch(X, crowd.answers)
    print(f"ours   {1e3 * ours:8.2f} ms a step, {ours * per_epoch:7.1f} s an epoch")
    for name, measured in (("loop", loop_epoch), ("dense", dense_epoch)):
        each = measured(batches, n_steps, sizes)
        print(
            f"{name:6s} {1e3 * each:8.2f} ms a step, {each * per_epoch:7.1f} s an "
            f"epoch: {each / ours:.1f} times ours",
            flush=True,
        )


if __name__ == "__main__":
    main()
