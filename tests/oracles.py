"""Slow, obvious oracles: loops, the paper's indices, nothing of ours imported."""

import numpy as np

# -- metrics -----------------------------------------------------------------------


def score_of_items(truth, proba, smallest):
    """One dict an item: hit, likelihood, surprise, squared error."""
    rows = []
    for c, p in zip(truth, proba, strict=True):
        best = 0
        for k in range(len(p)):
            if p[k] > p[best]:
                best = k
        squared = 0.0
        for k in range(len(p)):
            squared += (p[k] - (1.0 if k == c else 0.0)) ** 2
        rows.append(
            {
                "accuracy": 1.0 if best == c else 0.0,
                "mean_likelihood": p[c],
                "log_loss": -np.log(max(p[c], smallest)),
                "brier": squared,
            }
        )
    return rows


def area_under_roc(positive, score):
    """Share of (positive, negative) pairs in the right order; a tie is half."""
    right, pairs = 0.0, 0
    for i in range(len(score)):
        for j in range(len(score)):
            if positive[i] and not positive[j]:
                pairs += 1
                right += 1.0 if score[i] > score[j] else 0.0
                right += 0.5 if score[i] == score[j] else 0.0
    return right / pairs if pairs else np.nan


def binned_gap(happened, said, n_bins):
    """Expected calibration error by its definition: bin after bin."""
    total = 0.0
    for b in range(n_bins):
        inside = []
        for i in range(len(said)):
            if min(int(said[i] * n_bins), n_bins - 1) == b:
                inside.append(i)
        if inside:
            frequency = sum(bool(happened[i]) for i in inside) / len(inside)
            confidence = sum(said[i] for i in inside) / len(inside)
            total += len(inside) / len(said) * abs(frequency - confidence)
    return total


def answers_by_item(item, annotator, label):
    """{item: {annotator: [labels]}} of the items that two or more answered."""
    table = {}
    for n, a, y in zip(item, annotator, label, strict=True):
        table.setdefault(n, {}).setdefault(a, []).append(y)
    return {n: given for n, given in table.items() if len(given) > 1}


def agreement_of_two(left, right):
    """Probability that one answer of each, drawn at random, are the same."""
    same = 0
    for y in left:
        for z in right:
            same += y == z
    return same / (len(left) * len(right))


def krippendorff(item, annotator, label, n_answers):
    """Nominal alpha from the coincidence matrix, pair after pair of annotators."""
    coincidence = np.zeros((n_answers, n_answers))
    for given in answers_by_item(item, annotator, label).values():
        for a in given:
            for b in given:
                if a != b:
                    for y in given[a]:
                        for z in given[b]:
                            weight = len(given[a]) * len(given[b]) * (len(given) - 1)
                            coincidence[y, z] += 1 / weight
    total = coincidence.sum()
    observed, expected = 0.0, 0.0
    for y in range(n_answers):
        for z in range(n_answers):
            if y != z:
                observed += coincidence[y, z]
                expected += coincidence[y].sum() * coincidence[z].sum()
    return 1 - (total - 1) * observed / expected if expected > 1e-9 else np.nan


def fleiss(item, annotator, label, n_answers):
    """Fleiss' kappa, item after item, over pairs of annotators."""
    share, agreed, n_given = np.zeros(n_answers), [], 0
    for given in answers_by_item(item, annotator, label).values():
        same, pairs = 0.0, 0
        for a in given:
            n_given += 1
            for y in given[a]:
                share[y] += 1 / len(given[a])
            for b in given:
                if a != b:
                    same += agreement_of_two(given[a], given[b])
                    pairs += 1
        agreed.append(same / pairs)
    if not agreed:
        return np.nan
    chance = sum((s / n_given) ** 2 for s in share)
    if abs(1 - chance) < 1e-12:
        return np.nan
    return (np.mean(agreed) - chance) / (1 - chance)


def cohen(item, annotator, label, n_answers, first, second):
    """(items in common, agreement, kappa) of two annotators."""
    n, same = 0, 0.0
    left, right = np.zeros(n_answers), np.zeros(n_answers)
    for given in answers_by_item(item, annotator, label).values():
        if first in given and second in given:
            n += 1
            same += agreement_of_two(given[first], given[second])
            for y in given[first]:
                left[y] += 1 / len(given[first])
            for y in given[second]:
                right[y] += 1 / len(given[second])
    chance = sum(left[y] * right[y] for y in range(n_answers)) / n**2 if n else 1.0
    kappa = (same / n - chance) / (1 - chance) if abs(1 - chance) > 1e-12 else np.nan
    return n, same / n if n else np.nan, kappa


def confusion_distance(estimated, true, weights):
    """Per annotator: mean absolute, total variation, max; weighted over truths."""
    A, C, K = true.shape
    rows = []
    for a in range(A):
        total = sum(weights[a, c] for c in range(C))
        absolute, variation, largest = 0.0, 0.0, 0.0
        for c in range(C):
            for k in range(K):
                error = abs(estimated[a, c, k] - true[a, c, k])
                absolute += weights[a, c] * error / K
                variation += weights[a, c] * error / 2
                if weights[a, c] > 0:
                    largest = max(largest, error)
        bad = [np.nan] * 3
        rows.append([absolute / total, variation / total, largest] if total else bad)
    return np.array(rows)


# -- simulated crowds --------------------------------------------------------------


def inclusion(weights, n_drawn):
    """Probability that each is among the first drawn without replacement."""

    def go(left, n):
        found = dict.fromkeys(left, 0.0)
        if n == 0:
            return found
        total = sum(weights[a] for a in left)
        for a in left:
            p = weights[a] / total
            found[a] += p
            rest = go([b for b in left if b != a], n - 1)
            for b, q in rest.items():
                found[b] += p * q
        return found

    everyone = go(list(range(len(weights))), n_drawn)
    return np.array([everyone[a] for a in range(len(weights))])


def answer_frequencies(item, annotator, label, truth, shape):
    """Counts [annotator, truth, answer], one annotation after the other."""
    counts = np.zeros(shape)
    for n, a, y in zip(item, annotator, label, strict=True):
        counts[a, truth[n], y] += 1
    return counts


# -- annotations -------------------------------------------------------------------


def answer_counts(item, annotator, label, shape):
    """How often each answer was given: by item [N, K], by annotator [A, K]."""
    n_items, n_annotators, n_answers = shape
    by_item = np.zeros((n_items, n_answers))
    by_annotator = np.zeros((n_annotators, n_answers))
    for n, a, y in zip(item, annotator, label, strict=True):
        by_item[n, y] += 1
        by_annotator[a, y] += 1
    return by_item, by_annotator
