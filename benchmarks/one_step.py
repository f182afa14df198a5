"""One step of learning at LIGO's size: the paper's inference on GPflow 2, and ours.

Both see the same simulated crowd and features. What is timed is a chunk of steps as a
fit takes them; compiling and the start are not counted.

*Theirs* is the paper's bound (eq. 15) with everything learned by Adam in one compiled
function: kernel, inducing points, a whitened q(U), an N x C table of logits for q(Z)
and Dirichlet parameters [A, C, C]; 64 bits, which is GPflow's default. It is given what
makes it fast: flat answers instead of padded ones, and batches that are laid out before
the clock starts. "gpflow" has the Adam of GPflow's documentation, tf.optimizers.Adam;
"gpflow-fused" an older one that does each array in one operation.

*Ours* is the library's own task, `wisecrowd.methods.svgpcr.natural.NaturalTask`, as the
driver of a fit calls it for a chunk of 100 steps: `steps`, which keeps q(z) of the
items seen; `between`, which updates q(R) and its learned prior; and `watched`, the
evidence of all items and the bound for the trace: everything, divided by 100.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow talks as it starts

BATCH, N_INDUCING, N_FEATURES = 500, 100, 256
CHUNK = 100  # steps of ours between two updates of the annotators
THEIR_STEPS = 20
EPSILON = 1e-3
SHARE = 0.1  # of the spread of the features is between classes


class Crowd(NamedTuple):
    """The answers as triples, and a row of features for every item."""

    item: np.ndarray
    annotator: np.ndarray
    label: np.ndarray
    X: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, A, C)."""
        return len(self.X), int(self.annotator.max()) + 1, int(self.label.max()) + 1

    def votes(self) -> np.ndarray:
        """How many chose each class, (N, C)."""
        n_items, _, n_classes = self.shape
        at = self.item * n_classes + self.label
        return np.bincount(at, minlength=n_items * n_classes).reshape(n_items, -1)


def crowd_with_features(table: pd.DataFrame, seed: int) -> Crowd:
    """Standardised features that say something of the class."""
    rng = np.random.default_rng(seed)
    truth = table.drop_duplicates("task").set_index("task")["truth"].sort_index()
    centres = rng.normal(size=(truth.max() + 1, N_FEATURES)).astype("f4")
    X = rng.standard_normal((len(truth), N_FEATURES), dtype="f4") * (1 - SHARE) ** 0.5
    X += SHARE**0.5 * centres[truth.to_numpy()]
    return Crowd(*(table[c].to_numpy() for c in ("task", "worker", "label")), X)


Chunk = Callable[[], int]


def measured_step(crowd: Crowd, package: str, n_chunks: int, seed: int) -> dict:
    """Seconds per step, of the clock and the processor: the median over the chunks."""
    rng = np.random.default_rng(seed)
    take = (theirs if package.startswith("gpflow") else ours)(crowd, package, rng)
    take()  # compiles
    clock, cpu = [], []
    for _ in range(n_chunks):
        began, busy = time.perf_counter(), time.process_time()
        n_steps = take()
        clock.append((time.perf_counter() - began) / n_steps)
        cpu.append((time.process_time() - busy) / n_steps)
    return {
        "seconds": float(np.median(clock)),
        "cpu_seconds": float(np.median(cpu)),
        "chunks": [round(1e3 * seconds, 2) for seconds in clock],
        **getattr(take, "parts", {}),
    }


# -- ours --------------------------------------------------------------------------


def ours(data: Crowd, link: str, rng: np.random.Generator) -> Chunk:
    import jax
    from threadpoolctl import threadpool_limits

    from wisecrowd.fit.stochastic import Place, Run, Schedule, rows_of_chunk

    with jax.enable_x64(True):
        task, state = our_task(data, link, rng)
    n_items = len(data.X)
    schedule = Schedule(n_steps=10**6, batch_size=BATCH, chunk=CHUNK)
    run = Run(state, task.seed, schedule.n_steps)
    parts: dict[str, float] = {}

    def take() -> int:
        nonlocal run
        with jax.enable_x64(True), threadpool_limits(1, user_api="blas"):
            began = time.perf_counter()
            rows = rows_of_chunk(run.seed, n_items, run.step, CHUNK, BATCH)
            state = task.steps(run.state, rows, schedule.pace(run))
            stepped = time.perf_counter()
            place = Place(run.step + CHUNK, run.n_steps, every_item_seen=True)
            state = task.between(state, place)
            done = time.perf_counter()
            assert np.isfinite(task.watched(state).terms["bound"])
        run = run._replace(state=state, step=place.step)
        parts["steps_ms"] = 1e3 * (stepped - began) / CHUNK
        parts["annotators_ms"] = 1e3 * (done - stepped) / CHUNK
        parts["watched_ms"] = 1e3 * (time.perf_counter() - done) / CHUNK
        return CHUNK

    take.parts = parts  # type: ignore[attr-defined]
    return take


def our_task(data: Crowd, link: str, rng: np.random.Generator) -> tuple[Any, Any]:
    """The task of a fit with default settings, and its state before the first step."""
    from wisecrowd import SVGPCR
    from wisecrowd.answers import Answers
    from wisecrowd.maths import crowd
    from wisecrowd.methods.svgpcr.model import Hyper, starting_kernel
    from wisecrowd.methods.svgpcr.natural import NaturalTask
    from wisecrowd.skills import ConfusionMatrices

    n_items, n_annotators, n_classes = data.shape
    answers = Answers.from_codes(
        data.item, data.annotator, data.label, (*data.shape, n_classes)
    )
    unknown = np.full(n_items, -1)
    before = ConfusionMatrices.before_answers(
        "learned", np.arange(n_annotators), n_classes, n_classes
    )
    skills = before.learned_from(answers, crowd.vote_proba(answers.votes(), unknown))
    model = SVGPCR(N_INDUCING, link=link, natural_rate=0.1, scaling="none")
    task = NaturalTask(*model._asked(data.X, answers, unknown, "conditional")[:2])
    kernel = starting_kernel(task.recipe, N_FEATURES, n_classes)
    inducing = data.X[rng.choice(n_items, N_INDUCING, replace=False)]
    return task, task.start(skills, Hyper(kernel, inducing.astype("f8")))


# -- the paper's, on GPflow --------------------------------------------------------


def theirs(data: Crowd, package: str, rng: np.random.Generator) -> Chunk:
    import gpflow
    import tensorflow as tf
    from tf_keras.optimizers import legacy

    n_items, n_annotators, n_classes = data.shape
    votes = data.votes() + 1.0
    share = votes / votes.sum(1, keepdims=True)
    counts = np.ones((n_annotators, n_classes, n_classes))  # [a, true, answer]
    np.add.at(counts.transpose(0, 2, 1), (data.annotator, data.label), share[data.item])
    inducing = data.X[rng.choice(n_items, N_INDUCING, replace=False)]

    kernel = gpflow.kernels.SquaredExponential(2.0, np.sqrt(N_FEATURES))
    points = gpflow.inducing_variables.InducingPoints(inducing.astype("f8"))
    gp = gpflow.models.SVGP(
        kernel,
        gpflow.likelihoods.MultiClass(
            n_classes, gpflow.likelihoods.RobustMax(n_classes, EPSILON)
        ),
        points,
        num_latent_gps=n_classes,
        whiten=True,
    )
    gpflow.set_trainable(gp.likelihood, False)
    logits = tf.Variable(np.log(share))  # q(Z)
    alpha = gpflow.Parameter(counts, transform=gpflow.utilities.positive())  # q(R)
    learned = [*gp.trainable_variables, logits, *alpha.trainable_variables]
    adam = (legacy if package == "gpflow-fused" else tf.optimizers).Adam(0.01)
    every = tf.tile(tf.range(n_classes)[:, None], [1, BATCH])  # each class of each item

    def bound(X: Any, rows: Any, place: Any, who: Any, said: Any) -> Any:
        mean_log = tf.math.digamma(alpha) - tf.math.digamma(
            tf.reduce_sum(alpha, 2, keepdims=True)
        )
        log_q = tf.nn.log_softmax(tf.gather(logits, rows))
        q = tf.exp(log_q)
        answered = tf.gather_nd(
            tf.transpose(mean_log, [0, 2, 1]), tf.stack([who, said], 1)
        )
        evidence = tf.math.unsorted_segment_sum(answered, place, BATCH)
        mean, var = gp.predict_f(X)
        fits = gp.likelihood.variational_expectations(
            tf.tile(X, [n_classes, 1]),
            tf.tile(mean, [n_classes, 1]),
            tf.tile(var, [n_classes, 1]),
            tf.reshape(every, [-1, 1]),
        )
        fits = tf.transpose(tf.reshape(fits, [n_classes, BATCH]))
        items = tf.reduce_sum(q * (evidence + fits - log_q))
        kl_annotators = tf.reduce_sum((alpha - 1.0) * mean_log) - tf.reduce_sum(
            tf.math.lbeta(alpha) + math.lgamma(n_classes)  # the prior is Dir(1, ..., 1)
        )
        return items * (n_items / BATCH) - gp.prior_kl() - kl_annotators

    flat = tf.TensorSpec((None,), "int32")  # one compilation for all batches
    items = (tf.TensorSpec((BATCH, N_FEATURES), "float64"), flat)

    @tf.function(input_signature=[*items, flat, flat, flat])
    def step(X: Any, rows: Any, place: Any, who: Any, said: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = -bound(X, rows, place, who, said)
        slopes = tape.gradient(loss, learned)
        adam.apply_gradients(list(zip(slopes, learned, strict=True)))
        return loss

    batches = [[tf.constant(part) for part in one] for one in laid_out(data, rng)]

    def take() -> int:
        for batch in batches:
            loss = step(*batch)
        assert np.isfinite(float(loss))
        return len(batches)

    return take


def laid_out(data: Crowd, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    """Features, items, and for every answer its place, its annotator and what it is."""
    order = np.argsort(data.item, kind="stable")
    ends = np.searchsorted(data.item[order], np.arange(len(data.X) + 1))
    for _ in range(THEIR_STEPS):
        rows = rng.choice(len(data.X), BATCH, replace=False)
        at = [order[ends[row] : ends[row + 1]] for row in rows]
        place = np.repeat(np.arange(BATCH), [len(some) for some in at])
        flat = np.concatenate(at)
        whole = (rows, place, data.annotator[flat], data.label[flat])
        yield data.X[rows].astype("f8"), *(part.astype("i4") for part in whole)
