"""Methods that learn from a prepared folder, by one pass per iteration.

Each follows the method of the same name in `methods/`, whose state has a row per item.
Here the state is what the next iteration needs: sums over the items.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from wisecrowd._checks import whole_number
from wisecrowd._types import Array
from wisecrowd.answers import Answers
from wisecrowd.fit.consensus import (
    GAIN,
    LEAST_ITERATIONS,
    PATIENCE,
    labels_by,
    predicted,
)
from wisecrowd.fit.em import SMOOTHING, climb, least_gain
from wisecrowd.fit.trace import Trace
from wisecrowd.fit.variational import climb_with_prior
from wisecrowd.maths import crowd, dirichlet, pairs, pool, together
from wisecrowd.maths.pool import Reading, Witnesses
from wisecrowd.methods.dawid_skene import (
    Params,
    class_shares,
    log_prior,
    most_probable_params,
)
from wisecrowd.prepared.folder import Block
from wisecrowd.prepared.passes import (
    Passes,
    Scratch,
    Sums,
    selective,
    soft_sums,
    sums_of_votes,
)
from wisecrowd.skills import ConfusionMatrices

Proba = Callable[[Block], Float[np.ndarray, "B C"]]
Readings = tuple[Reading, ...]


class End(NamedTuple):
    """Where the learning ends."""

    proba: Proba  # the labels that the annotators are learned from
    skills: ConfusionMatrices  # their prior; counts follow from the final labels
    priors: tuple[Array, ...]  # under which the pool reads the answers
    class_prior: Array | None  # shares of the classes; None: as in the final labels


def labelled_by(params: Params, block: Block) -> tuple[Array, Array]:
    """Return q(z) of some items for these parameters, and log Σ exp of the joint."""
    joint = crowd.evidence_per_item(block.answers, params.log_confusion)
    joint += params.log_class
    return crowd.posterior(crowd.clamped(joint, block.gold))


def sums_by(params: Params) -> Callable[[Block], Sums]:
    """Return what one block adds to the sums of a pass with these parameters."""

    def of(block: Block) -> Sums:
        proba, log_norm = labelled_by(params, block)
        times = 1.0 if block.times is None else block.times
        sums = soft_sums(block, block.answers, proba)
        return {**sums, "log_norm": np.asarray((times * log_norm).sum())}

    return of


# -- Dawid and Skene -----------------------------------------------------------------


def dawid_skene(model: Any, passes: Passes, trace: Trace) -> End:
    """Return the end of EM: `methods/dawid_skene.py`, from sums."""
    prepared = passes.prepared
    given = crowd.annotator_prior(
        model.annotator_prior, prepared.annotators, *prepared.shape[2:]
    )
    prior = np.maximum(given, 1.0) + SMOOTHING

    def update(last: Any) -> tuple[Any, dict[str, float]]:
        sums = last[1]
        params = most_probable_params(sums["items"][None], sums["counts"], prior)
        sums = passes.total_of_patterns(sums_by(params))
        terms = {
            "log_likelihood": float(sums["log_norm"]),
            "log_prior": log_prior(params, prior),
        }
        return (params, sums), {**terms, "bound": passes.agreed(sum(terms.values()))}

    start: Any = None, passes.total_of_patterns(sums_of_votes)
    params, sums = climb(
        update, start, trace=trace, max_iter=model.max_iter,
        tol=least_gain(model.tol, prepared.about["n_answers"]),
    )  # fmt: skip
    diagonal = crowd.diagonal_prior(*prepared.shape[2:], 4.0, 1.0)[None]
    return End(
        lambda block: labelled_by(params, block)[0],
        ConfusionMatrices(given, given),
        (diagonal,),
        class_shares(sums["items"][None]),
    )


# -- BCC -----------------------------------------------------------------------------


class Step(NamedTuple):
    """The sums of a pass, the parameters and the prior that it had, its bound."""

    sums: Sums
    params: Params | None
    prior: Float[np.ndarray, "P C K"]
    bound: float
    number: int


def bcc(model: Any, passes: Passes, trace: Trace) -> End:
    """Return the end of variational Bayes: `fit/variational.py`, from sums."""
    prepared = passes.prepared
    crowd.check_pseudo_items(model.class_pseudo_items, "class_pseudo_items")
    class_prior = float(model.class_pseudo_items)
    skills = ConfusionMatrices.before_answers(
        model.annotator_prior, prepared.annotators, *prepared.shape[2:]
    )
    before = np.full(prepared.shape[2], class_prior)

    def step(last: Step, learn: Any) -> tuple[Step, dict[str, float]]:
        n, prior = last.sums["counts"], last.prior
        if skills.hyper is not None:
            prior = learn(pairs.counts_of(n), prior, skills.hyper)
        classes = class_prior + last.sums["items"]
        params = Params(
            dirichlet.mean_log(classes), dirichlet.mean_log(prior + n, prior)
        )
        sums = passes.total_of_patterns(sums_by(params))
        said = float((sums["counts"] * params.log_confusion).sum())
        of_classes = float(sums["items"] @ params.log_class)
        terms = {
            "answers": said,
            "classes": of_classes,
            "entropy": float(sums["log_norm"]) - said - of_classes,
            "kl_classes": float(dirichlet.kl(classes, before)),
            "kl_annotators": float(dirichlet.kl(prior + n, prior).sum()),
            "log_hyperprior": crowd.log_hyperprior(prior, skills.hyper),
        }
        lost = terms["kl_classes"] + terms["kl_annotators"] - terms["log_hyperprior"]
        bound = passes.agreed(float(sums["log_norm"]) - lost)
        found = Step(sums, params, prior, bound, last.number + 1)
        return found, {**terms, "bound": bound}

    votes = passes.total_of_patterns(sums_of_votes)
    end = climb_with_prior(
        step, Step(votes, None, skills.prior, -np.inf, 0),
        learned=skills.hyper is not None, trace=trace, max_iter=model.max_iter,
        tol=least_gain(model.tol, prepared.about["n_answers"]),
    )  # fmt: skip
    skills = ConfusionMatrices(end.prior, end.prior, skills.hyper)
    params: Any = end.params
    return End(
        lambda block: labelled_by(params, block)[0],
        skills,
        skills.priors(),
        dirichlet.mean(class_prior + end.sums["items"]),
    )


# -- Consensus -----------------------------------------------------------------------


class Rounds(NamedTuple):
    """The labels of `fit/consensus.py: agreed`, round after round, on disk.

    What an item adds to the annotators' counts is removed before it is labelled. So a
    round needs the labels of the one before.
    """

    group: Int[np.ndarray, " A"]  # copies of one another have the same number
    scratch: Scratch  # the labels of every round that is still needed

    def view(self, block: Block) -> Answers:
        """Return the answers on some items; copies give them as one annotator."""
        return together.as_one(block.answers.distinct(), self.group)[0]

    def witnesses(self, number: int, readings: Readings, block: Block) -> Witnesses:
        """Return what is known about some items after this round."""
        answers = self.view(block)
        weight = together.weight_of_copies(answers, np.arange(len(self.group)))
        proba = self.scratch.read(number, block)
        return Witnesses(answers, weight, proba, readings)

    def first(self, block: Block) -> Sums:
        """Label some items by the votes."""
        answers = self.view(block)
        proba = crowd.vote_proba(answers.votes(), block.gold)
        self.scratch.write(0, block, proba)
        return soft_sums(block, answers, proba)

    def following(self, number: int, readings: Readings, block: Block) -> Sums:
        """Label some items, after the round of this number."""
        found = self.witnesses(number, readings, block)
        proba = labels_by(found, block.gold)
        self.scratch.write(number + 1, block, proba)
        return soft_sums(block, found.answers, proba)


def consensus(model: Any, passes: Passes, trace: Trace, scratch: Scratch) -> End:
    """Return the end of the rounds: `fit/consensus.py: agreed`, from sums."""
    whole_number(model.max_iter, "max_iter")
    prepared, sample = passes.prepared, passes.sample
    skills = ConfusionMatrices.before_answers(
        "learned", prepared.annotators, *prepared.shape[2:]
    )
    rounds = Rounds(together.copies(sample.answers.distinct()), scratch)
    rounds.first(sample)
    sums = passes.total(rounds.first)
    who = selective(passes, sums["counts"], rounds.view)
    best, at, last = skills, 0, -np.inf
    for number in range(model.max_iter):
        skills = skills.updated(sums["counts"])
        n_each = sums["items"]
        readings = pool.readings_by(sums["counts"], n_each, skills.priors(), who)
        gain = passes.agreed(predicted(rounds.witnesses(number, readings, sample), who))
        trace.record(bound=gain)
        if number < LEAST_ITERATIONS - 1 or gain >= last + GAIN:
            best, last, at = skills, gain, number
        elif number >= at + PATIENCE:
            break
        following = partial(rounds.following, number, readings)
        following(sample)
        sums = passes.total(following)
        scratch.keep(at, number + 1)
    return End(partial(scratch.read, at), best, best.priors(), None)
