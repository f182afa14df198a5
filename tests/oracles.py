"""Slow, obvious oracles: loops, the paper's indices, nothing of ours imported."""

import itertools
import math

import numpy as np
from scipy.integrate import quad
from scipy.special import psi
from scipy.stats import norm

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


def reliability_bins(truth, proba, n_bins, z):
    """One dict per bin of confidence: items, means, and the interval by bisection.

    The interval holds every p with |share - p| <= z sqrt(p (1 - p) / n).
    """
    bins = []
    for b in range(n_bins):
        hits, said = [], []
        for c, row in zip(truth, proba, strict=True):
            best = 0
            for k in range(len(row)):
                if row[k] > row[best]:
                    best = k
            if min(int(row[best] * n_bins), n_bins - 1) == b:
                hits.append(1.0 if best == c else 0.0)
                said.append(row[best])
        n = len(hits)
        if not n:
            bins.append({"n_items": 0})
            continue
        share = sum(hits) / n
        bounds = []
        for end in (0.0, 1.0):
            inside, outside = share, end
            for _ in range(60):
                p = (inside + outside) / 2
                if abs(share - p) <= z * math.sqrt(p * (1 - p) / n):
                    inside = p
                else:
                    outside = p
            bounds.append(inside)
        bins.append(
            {
                "n_items": n,
                "confidence": sum(said) / n,
                "accuracy": share,
                "low": bounds[0],
                "high": bounds[1],
            }
        )
    return bins


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


# -- a drawn crowd, and the formulas that models of crowds share ---------------------


def drawn_crowd(seed, *, n_items=7, n_annotators=5, n_classes=3, n_answers=4, n=40):
    """Columns item, annotator, label of a crowd, and its truth and confusion.

    The last item and the last annotator have no answer, the first annotator has one,
    the last class is never true, and some answers are repeated.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes - 1, n_items)
    confusion = np.zeros((n_annotators, n_classes, n_answers))
    for a in range(n_annotators):
        for c in range(n_classes):
            weight = np.ones(n_answers)
            weight[c] = 6.0
            confusion[a, c] = rng.dirichlet(weight)
    item = rng.integers(0, n_items - 1, n)
    annotator = rng.integers(1, n_annotators - 1, n)
    annotator[0] = 0
    item[1], annotator[1] = item[2], annotator[2]
    label = np.zeros(n, dtype=int)
    for row in range(n):
        label[row] = rng.choice(
            n_answers, p=confusion[annotator[row], truth[item[row]]]
        )
    label[1] = label[2]
    order = np.argsort(item, kind="stable")
    columns = {"item": item, "annotator": annotator, "label": label}
    out = {name: column[order].astype(np.int32) for name, column in columns.items()}
    return {**out, "truth": truth, "confusion": confusion}


def evidence_per_item(log_confusion, item, annotator, label, n_items):
    n_classes = log_confusion.shape[1]
    out = np.zeros((n_items, n_classes))
    for n, a, y in zip(item, annotator, label, strict=True):
        for c in range(n_classes):
            out[n, c] += log_confusion[a, c, y]
    return out


def soft_counts(proba, item, annotator, label, shape):
    """shape = (A, C, K)."""
    out = np.zeros(shape)
    for n, a, y in zip(item, annotator, label, strict=True):
        for c in range(shape[1]):
            out[a, c, y] += proba[n, c]
    return out


def evidence_of_others(counts, proba, item, annotator, label):
    """Σ log p(answer | class, the annotator's other items) over an item's answers.

    Who gave one answer to an item several times adds all of them to the counts.
    """
    rows = list(zip(item, annotator, label, strict=True))
    out = np.zeros(proba.shape)
    for n, a, y in rows:
        times = sum(row == (n, a, y) for row in rows)
        for c in range(proba.shape[1]):
            own = times * proba[n, c]
            others, total = counts[a, c, y] - own, counts[a, c].sum() - own
            out[n, c] += math.log(max(others, 1e-9) / max(total, 1e-9))
    return out


def hit_variance(proba, item, annotator, label, n_annotators):
    """Variance of the number of right answers: a sum of Bernoulli variances."""
    out = np.zeros(n_annotators)
    for n, a, y in zip(item, annotator, label, strict=True):
        right = proba[n, y] if y < proba.shape[1] else 0.0
        out[a] += right * (1 - right)
    return out


def with_decoys(given, item, label, weight, log_prior, hard, part):
    """q(z), p(hard) and the best decoy of the label, by going through all states.

    `given[l, c]` is p(answer l | class c); a decoy is a class that was named.
    """
    n_items, n_classes = log_prior.shape
    proba, is_hard = np.zeros((n_items, n_classes)), np.zeros(n_items)
    best = np.full(n_items, -1)
    for n in range(n_items):
        rows = [r for r in range(len(item)) if item[r] == n]
        named = sorted({label[r] for r in rows if label[r] < n_classes})
        mass = {}
        for z in range(n_classes):
            easy = math.prod(given[r, z] ** weight[n] for r in rows)
            mass[z, -1] = math.exp(log_prior[n, z]) * (1 - hard) * easy
            for w in named:
                if w != z:
                    each = [(1 - part) * given[r, z] + part * given[r, w] for r in rows]
                    misled = math.prod(p ** weight[n] for p in each)
                    share = hard / (n_classes - 1)
                    mass[z, w] = math.exp(log_prior[n, z]) * share * misled
        total = sum(mass.values())
        for (z, w), m in mass.items():
            proba[n, z] += m / total
            is_hard[n] += m / total if w >= 0 else 0.0
        label_of_n = int(proba[n].argmax())
        others = [w for w in named if w != label_of_n]
        if others:
            best[n] = max(others, key=lambda w: mass[label_of_n, w])
    return proba, is_hard, best


def right_sure_and_loss(truth, proba):
    """Share of right labels, mean probability of the label, mean log loss."""
    right = sure = loss = 0.0
    for z, row in zip(truth, proba.tolist(), strict=True):
        right += row.index(max(row)) == z
        sure += max(row)
        loss -= math.log(row[z])
    return right / len(truth), sure / len(truth), loss / len(truth)


def normalised(log_joint):
    """Rows of probabilities, and the log of each row's sum."""
    proba, total = np.zeros(log_joint.shape), np.zeros(len(log_joint))
    for n, row in enumerate(log_joint):
        total[n] = np.log(sum(math.exp(x) for x in row))
        for c, x in enumerate(row):
            proba[n, c] = math.exp(x - total[n])
    return proba, total


def entropy(row):
    return -sum(p * math.log(p) for p in row if p > 0)


def vote_proba(votes, gold):
    out = np.zeros(votes.shape)
    for n, row in enumerate(votes):
        for c in range(len(row)):
            if gold[n] >= 0:
                out[n, c] = 1.0 if c == gold[n] else 0.0
            elif sum(row):
                out[n, c] = row[c] / sum(row)
            else:
                out[n, c] = 1 / len(row)
    return out


def log_beta(row):
    return sum(math.lgamma(x) for x in row) - math.lgamma(sum(row))


def dirichlet_kl(counts, prior):
    """By E log of both densities at one row."""
    total = sum(counts)
    out = log_beta(prior) - log_beta(counts)
    for n, a in zip(counts, prior, strict=True):
        out += (n - a) * (float(psi(n)) - float(psi(total)))
    return out


def accuracy_moments(right, a, b):
    """Mean and variance of Beta(a + h, b + n - h), h right answers of n.

    Answer i is right with probability right[i]; all 2^n cases are added up.
    """
    mean, square = 0.0, 0.0
    for case in itertools.product((0, 1), repeat=len(right)):
        weight = np.prod(
            [q if hit else 1 - q for q, hit in zip(right, case, strict=True)]
        )
        hits, n = a + sum(case), a + b + len(right)
        mean += weight * hits / n
        square += weight * hits * (hits + 1) / (n * (n + 1))
    return mean, square - mean**2


def polya_log_evidence(counts, prior):
    """Whole answers one after another: each adds one to what is known."""
    known, out = list(prior), 0.0
    for k, n in enumerate(counts):
        for _ in range(int(n)):
            out += math.log(known[k] / sum(known))
            known[k] += 1
    return out


def penalised_evidence(counts, prior, shape, rate):
    """log p(counts of all annotators | prior of a class) + log Gamma, not normalised.

    `counts` is [A, K]; the other arguments have one entry per answer.
    """
    total = 0.0
    for row in counts:
        total += log_beta(prior + row) - log_beta(prior)
    for k in range(len(prior)):
        total += (shape[k] - 1) * math.log(prior[k]) - rate[k] * prior[k]
    return total


def slopes(function, x, step=1e-3):
    """Gradient and Hessian of a function of a vector, by central differences."""
    size = len(x)
    gradient, hessian = np.zeros(size), np.zeros((size, size))
    unit = step * x[:, None] * np.eye(size)  # relative steps
    for i in range(size):
        up, down = function(x + unit[i]), function(x - unit[i])
        gradient[i] = (up - down) / (2 * unit[i, i])
        for j in range(size):
            corners = [
                s * t * function(x + s * unit[i] + t * unit[j])
                for s in (-1, 1)
                for t in (-1, 1)
            ]
            hessian[i, j] = sum(corners) / (4 * unit[i, i] * unit[j, j])
    return gradient, hessian


def mutual_information(confusion, weights):
    """I(truth; answer) of one annotator, (C, K)."""
    out = 0.0
    for c in range(confusion.shape[0]):
        for k in range(confusion.shape[1]):
            answer = sum(
                weights[j] * confusion[j, k] for j in range(confusion.shape[0])
            )
            if confusion[c, k] > 0 and weights[c] > 0:
                joint = weights[c] * confusion[c, k]
                out += joint * math.log(confusion[c, k] / answer)
    return out


def answers_log_evidence(item, annotator, label, prior, labelling):
    """log p(answers | labelling), every annotator's rows integrated out."""
    n_annotators, n_classes, n_answers = prior.shape
    total = 0.0
    for a in range(n_annotators):
        for c in range(n_classes):
            counts = [0] * n_answers
            for n, who, y in zip(item, annotator, label, strict=True):
                if who == a and labelling[n] == c:
                    counts[y] += 1
            total += polya_log_evidence(counts, prior[a, c])
    return total


def bcc_log_evidence(item, annotator, label, prior, n_items, class_prior):
    """log p(answers) by going through all labellings; prior is (A, C, K)."""
    n_classes = prior.shape[1]
    terms = []
    for labelling in itertools.product(range(n_classes), repeat=n_items):
        per_class = [labelling.count(c) for c in range(n_classes)]
        term = polya_log_evidence(per_class, [class_prior] * n_classes)
        term += answers_log_evidence(item, annotator, label, prior, labelling)
        terms.append(term)
    top = max(terms)
    return top + math.log(sum(math.exp(t - top) for t in terms))


def dawid_skene_step(proba, item, annotator, label, shape, prior, smoothing):
    """One M-step and one E-step; prior is α, shape (A, C, K). Returns q(Z), bound."""
    n_annotators, n_classes, n_answers = shape
    counts = soft_counts(proba, item, annotator, label, shape)
    confusion, share = np.zeros(shape), np.zeros(n_classes)
    for c in range(n_classes):
        share[c] = proba[:, c].sum() + smoothing
        for a in range(n_annotators):
            row = [counts[a, c, k] + prior[a, c, k] - 1 for k in range(n_answers)]
            confusion[a, c] = [x / sum(row) for x in row]
    share = share / share.sum()
    evidence = evidence_per_item(np.log(confusion), item, annotator, label, len(proba))
    new, total = normalised(evidence + np.log(share))
    bound = total.sum() + smoothing * sum(math.log(p) for p in share)
    bound += ((prior - 1) * np.log(confusion)).sum()
    return new, bound


# -- GLAD ----------------------------------------------------------------------------


def glad_evidence(ability, log_easiness, item, annotator, label, shape):
    """log p(answers of n | z = c), shape = (N, C), straight from the definition."""
    out = np.zeros(shape)
    for n, a, y in zip(item, annotator, label, strict=True):
        x = ability[a] * math.exp(log_easiness[n])
        right, wrong = 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(x))
        for c in range(shape[1]):
            out[n, c] += math.log(right if y == c else wrong / (shape[1] - 1))
    return out


def glad_expected_log_joint(ability, log_easiness, rows, proba, spread):
    """E_q log p(y | z) + log priors; rows = (item, annotator, label)."""
    n_classes, out = proba.shape[1], 0.0
    for n, a, y in zip(*rows, strict=True):
        x = ability[a] * math.exp(log_easiness[n])
        right, wrong = 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(x))
        for c in range(n_classes):
            said = right if y == c else wrong / (n_classes - 1)
            out += proba[n, c] * math.log(said)
    out -= sum((x - 1) ** 2 for x in ability) / (2 * spread[0] ** 2)
    return out - sum(x**2 for x in log_easiness) / (2 * spread[1] ** 2)


def spammer_proba(mean, spread, prior_mean, prior_spread, chance, prior_share):
    """P(the ability is exactly chance), by an integral over all other abilities.

    The likelihood is the Gaussian that takes the prior to the posterior.
    """
    precision = spread**-2 - prior_spread**-2
    centre = (mean * spread**-2 - prior_mean * prior_spread**-2) / precision

    def likelihood(ability):
        return math.exp(-precision * (ability - centre) ** 2 / 2)

    def weighted(ability):
        return likelihood(ability) * norm.pdf(ability, prior_mean, prior_spread)

    low, high = mean - 12 * spread, mean + 12 * spread
    skilled = quad(weighted, low, high, epsabs=0, epsrel=1e-10, points=[mean])[0]
    spammer = prior_share * likelihood(chance)
    return spammer / (spammer + (1 - prior_share) * skilled)


# -- Gaussian processes of a crowd ---------------------------------------------------


def se_kernel(scale, variance):
    """k(x, y) = v exp(-|x/s - y/s|² / 2), as a function of two points."""

    def k(x, y):
        squared = 0.0
        for d in range(len(x)):
            s = scale[d] if np.ndim(scale) else scale
            squared += ((x[d] - y[d]) / s) ** 2
        return variance * math.exp(-squared / 2)

    return k


def gram(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X])


def sparse_latent(k, Z, X, mean, cov, jitter):
    """Mean and variance of f at X for q(u) = N(mean, cov), one class, no whitening."""
    Kuu = gram(k, Z, Z)
    Kuu = Kuu + jitter * np.mean(np.diag(Kuu)) * np.eye(len(Z))
    means, variances = [], []
    for x in X:
        a = np.linalg.solve(Kuu, np.array([k(z, x) for z in Z]))
        means.append(a @ mean)
        variances.append(k(x, x) - a @ Kuu @ a + a @ cov @ a)
    return np.array(means), np.array(variances)


def gaussian_kl(mean, cov, prior_cov):
    """KL(N(mean, cov) ‖ N(0, prior_cov))."""
    inverse = np.linalg.inv(prior_cov)
    log_dets = np.linalg.slogdet(prior_cov)[1] - np.linalg.slogdet(cov)[1]
    spread = np.trace(inverse @ cov) + mean @ inverse @ mean
    return 0.5 * (spread - len(mean) + log_dets)


def largest_proba(mean, var):
    """P(f_c is the largest) of one item, by adaptive integrals of φ_c Π Φ_j."""
    # Plain floats and math: SciPy's distributions take fifty times as long.
    mean, spread = [float(m) for m in mean], [math.sqrt(v) for v in var]
    out = []
    for c in range(len(mean)):

        def inside(t, c=c):
            x = (t - mean[c]) / spread[c]
            value = math.exp(-x * x / 2) / (spread[c] * math.sqrt(2 * math.pi))
            for j in range(len(mean)):
                if j != c:
                    x = (t - mean[j]) / spread[j]
                    value *= math.erfc(-x / math.sqrt(2)) / 2
            return value

        low, high = mean[c] - 10 * spread[c], mean[c] + 10 * spread[c]
        cuts = [
            m + k * s for m, s in zip(mean, spread, strict=True) for k in range(-8, 9)
        ]
        cuts = sorted({low, high, *(t for t in cuts if low < t < high)})
        pieces = itertools.pairwise(cuts)
        out.append(sum(quad(inside, a, b, epsabs=1e-13)[0] for a, b in pieces))
    return np.array(out)


def robust_max_states(mean, var, epsilon, largest):
    """[(weight, log p(z | f_i is the largest))] of one item."""
    n_classes, weights = len(mean), largest(mean, var)
    out = []
    for i in range(n_classes):
        row = [math.log(epsilon / (n_classes - 1))] * n_classes
        row[i] = math.log(1 - epsilon)
        out.append((weights[i], row))
    return out


def softmax_states(mean, var, nodes):
    """[(weight, log softmax(f))] of one item, node after node."""
    out = []
    for node in nodes:
        f = [mean[c] + math.sqrt(var[c]) * node[c] for c in range(len(mean))]
        total = math.log(sum(math.exp(x) for x in f))
        out.append((1 / len(nodes), [x - total for x in f]))
    return out


def label_terms(states, evidence, factorised):
    """(labels, features, entropy) of one item at its best q(z | f) or q(z)."""
    n_classes = len(evidence)
    average = [sum(w * row[c] for w, row in states) for c in range(n_classes)]
    labels = features = entropies = 0.0
    for weight, row in states:
        prior = average if factorised else row
        joint = np.array([[prior[c] + evidence[c] for c in range(n_classes)]])
        q = normalised(joint)[0][0]
        for c in range(n_classes):
            if q[c] > 0:
                labels += weight * q[c] * evidence[c]
                features += weight * q[c] * row[c]
        entropies += weight * entropy(q)
    return labels, features, entropies


def published_bound(q, rows, counts, prior, latent, epsilon, largest):
    """The paper's bound, term by term, for any table q; rows are (item, who, answer).

    `latent` has mean and variance of f, [N][C]. The two divergences are Gaussian and
    Dirichlet; only the latter is here, as `gaussian_kl` is the former.
    """
    n_items, n_classes = len(q), len(q[0])
    answers = features = entropies = 0.0
    for n, a, y in zip(*rows, strict=True):
        for c in range(n_classes):
            answers += q[n][c] * mean_log_row(counts[a][c])[y]
    for n in range(n_items):
        states = robust_max_states(latent[0][n], latent[1][n], epsilon, largest)
        for c in range(n_classes):
            features += q[n][c] * sum(w * row[c] for w, row in states)
            if q[n][c] > 0:
                entropies -= q[n][c] * math.log(q[n][c])
    kl = 0.0
    for a in range(len(counts)):
        for c in range(n_classes):
            kl += dirichlet_kl(counts[a][c], prior[a][c])
    return answers, features, entropies, kl


def svgpcr_log_evidence(item, annotator, label, prior, labelling_proba):
    """log Σ_Z p(Z) Π p(answers of a on class c), p(Z) as a function of a labelling."""
    n_classes = prior.shape[1]
    n_items = max(item) + 1
    total = 0.0
    for labelling in itertools.product(range(n_classes), repeat=n_items):
        term = answers_log_evidence(item, annotator, label, prior, labelling)
        total += math.exp(term) * labelling_proba(labelling)
    return math.log(total)


def softmax_labelling_proba(cov, n_nodes=40):
    """p(Z) of three items, two classes: Gauss-Hermite over f_1 − f_0 ~ N(0, 2 cov)."""
    node, weight = np.polynomial.hermite_e.hermegauss(n_nodes)
    weight = weight / weight.sum()
    root = np.linalg.cholesky(2 * cov)
    grid = np.array(list(itertools.product(node, repeat=3))) @ root.T
    weights = np.prod(list(itertools.product(weight, repeat=3)), axis=1)

    def proba(labelling):
        side = np.array([1 if z == 1 else -1 for z in labelling])
        return float(weights @ np.prod(1 / (1 + np.exp(-grid * side)), axis=1))

    return proba


def robust_max_labelling_proba(cov, epsilon):
    """p(Z) of three items, two classes: orthants of f_1 − f_0, in closed form."""
    spread = np.sqrt(np.diag(cov))
    correlation = cov / np.outer(spread, spread)

    def orthant(signs):
        angles = 0.0
        for i, j in ((0, 1), (0, 2), (1, 2)):
            angles += math.asin(signs[i] * signs[j] * correlation[i, j])
        return 1 / 8 + angles / (4 * math.pi)

    def proba(labelling):
        total = 0.0
        for largest in itertools.product((0, 1), repeat=3):
            value = orthant([2 * i - 1 for i in largest])
            for z, i in zip(labelling, largest, strict=True):
                value *= 1 - epsilon if z == i else epsilon
            total += value
        return total

    return proba


def gp_regression(cov, y, noise):
    """Posterior of f given y = f + N(0, noise): mean, covariance; without each y."""
    gain = cov @ np.linalg.inv(cov + noise * np.eye(len(y)))
    mean, posterior = gain @ y, cov - gain @ cov
    without = []
    for n in range(len(y)):
        rest = [i for i in range(len(y)) if i != n]
        inverse = np.linalg.inv(cov[np.ix_(rest, rest)] + noise * np.eye(len(rest)))
        a = cov[n, rest] @ inverse
        without.append((a @ y[rest], cov[n, n] - a @ cov[rest, n]))
    return mean, posterior, np.array(without)


def right_together(answers, confusion, proba):
    """Correlation of "is right" between two answers on one item.

    Σ (1[y = z] − p)(1[y' = z] − p') / Σ √(p (1 − p) p' (1 − p')), over the ordered
    pairs of answers on one item, expectations under p(z) = proba.
    """
    joint = spread = 0.0
    for n in range(len(proba)):
        rows = np.flatnonzero(answers.item == n)
        for c in np.flatnonzero(proba[n]):
            p = confusion[answers.annotator[rows], c, c]
            off = (answers.answer[rows] == c) - p
            width = np.sqrt(p * (1 - p))
            joint += proba[n, c] * (off.sum() ** 2 - (off**2).sum())
            spread += proba[n, c] * (width.sum() ** 2 - (width**2).sum())
    return joint / spread


# -- simulated crowds whose annotators depend on one another -------------------------


def mixed_confusion(confusion, truth, difficulty, decoy):
    """Mean of (1 - λ) R[a, c] + λ R[a, w] over the items of class c, by loops."""
    out = np.array(confusion)
    for a in range(confusion.shape[0]):
        for c in range(confusion.shape[1]):
            rows = []
            for n, z in enumerate(truth):
                if z == c:
                    row = (1 - difficulty[n]) * confusion[a, c]
                    if difficulty[n] > 0:
                        row = row + difficulty[n] * confusion[a, decoy[n]]
                    rows.append(row)
            if rows:
                out[a, c] = sum(rows) / len(rows)
    return out


def repeated_confusion(confusion, item, annotator, truth, source):
    """Mean of R[annotator of the repeated row, c] over the answers on class c."""
    out = np.array(confusion)
    for a in range(confusion.shape[0]):
        for c in range(confusion.shape[1]):
            rows = []
            for row in range(len(item)):
                if annotator[row] == a and truth[item[row]] == c:
                    rows.append(confusion[annotator[source[row]], c])
            if rows:
                out[a, c] = sum(rows) / len(rows)
    return out


# -- Answers: rows of (item, annotator, answer) ---------------------------------------


def rows_by_item(rows, n_items):
    """The rows of each item in turn, in the order in which they were given."""
    return [row for n in range(n_items) for row in rows if row[0] == n]


def answer_tensor(rows, shape):
    """How often each annotator gave each answer about each item, [N, A, K]."""
    tensor = np.zeros(shape)
    for n, a, y in rows:
        tensor[n, a, y] += 1
    return tensor


def right_proba(rows, proba):
    """The probability of the class that each answer names; 0 if it names none."""
    n_classes = len(proba[0])
    return [proba[n][y] if y < n_classes else 0.0 for n, _, y in rows]


# -- classifiers by EM -------------------------------------------------------------


def softmax_row(x, weights, bias):
    """p(z = c | x), one class after the other."""
    scores = [
        bias[c] + sum(x[d] * weights[d][c] for d in range(len(x)))
        for c in range(len(bias))
    ]
    total = sum(math.exp(s) for s in scores)
    return [math.exp(s) / total for s in scores]


def logistic_objective(weights, bias, X, proba, precision, smoothing):
    """Σ q log p(z | x), the Gaussian prior of W, a little of each class at x = 0."""
    total = 0.0
    for x, q in zip(X, proba, strict=True):
        p = softmax_row(x, weights, bias)
        total += sum(q[c] * math.log(p[c]) for c in range(len(q)))
    for row in weights:
        total -= sum(precision * w**2 / 2 for w in row)
    at_zero = softmax_row([0.0] * len(weights), weights, bias)
    return total + sum(smoothing * math.log(p) for p in at_zero)


def raykar_log_posterior(rows, X, weights, bias, confusion, prior, precision, small):
    """Log density of answers, rows of R and weights; and q(z) of every item."""
    item, annotator, label = rows
    n_classes = len(bias)
    total, proba = 0.0, np.zeros((len(X), n_classes))
    for n, x in enumerate(X):
        joint = softmax_row(x, weights, bias)
        for i, a, y in zip(item, annotator, label, strict=True):
            if i == n:
                joint = [joint[c] * confusion[a, c, y] for c in range(n_classes)]
        proba[n] = np.array(joint) / sum(joint)
        total += math.log(sum(joint))
    for a in range(confusion.shape[0]):
        for c in range(n_classes):
            for k in range(confusion.shape[2]):
                total += (prior[c, k] - 1) * math.log(confusion[a, c, k])
    nobody = np.zeros((0, n_classes))
    empty = np.zeros((0, len(weights)))
    return total + logistic_objective(
        weights, bias, empty, nobody, precision, small
    ), proba


# -- EBCC --------------------------------------------------------------------------


def mean_log_row(row):
    """E log of a Dirichlet row."""
    return [psi(x) - psi(sum(row)) for x in row]


def ebcc_counts(rho, rows, shape, prior):
    """mu[j, k, m, l]: the prior, and the soft counts of every subtype."""
    n_annotators, n_classes, n_subtypes, _ = shape
    mu = np.zeros(shape)
    cells = list(itertools.product(range(n_classes), range(n_subtypes)))
    for j in range(n_annotators):
        for k, m in cells:
            mu[j, k, m] = prior[k]
    for i, j, answer in zip(*rows, strict=True):
        for k, m in cells:
            mu[j, k, m, answer] += rho[i, k, m]
    return mu


def ebcc_update(rho, rows, shape, a_class, a_subtype, prior):
    """One round of the paper's updates and the bound; shape = (A, C, M, K).

    rho[n][k][m] = q(z = k, g = m); prior[k][l] is that of every annotator and subtype.
    """
    n_annotators, n_classes, n_subtypes, _ = shape
    cells = list(itertools.product(range(n_classes), range(n_subtypes)))
    nu = [a_class + rho[:, k, :].sum() for k in range(n_classes)]
    eta = a_subtype + rho.sum(0)
    mu = ebcc_counts(rho, rows, shape, prior)
    log_tau = mean_log_row(nu)
    log_pi = [mean_log_row(list(eta[k])) for k in range(n_classes)]
    joint = np.zeros(rho.shape)
    for k, m in cells:
        joint[:, k, m] = log_tau[k] + log_pi[k][m]
    for i, j, answer in zip(*rows, strict=True):
        for k, m in cells:
            joint[i, k, m] += mean_log_row(list(mu[j, k, m]))[answer]
    new, _ = normalised(joint.reshape(len(rho), -1))
    new = new.reshape(rho.shape)
    bound = (new * joint).sum() + sum(entropy(row.ravel()) for row in new)
    bound -= dirichlet_kl(np.array(nu), np.full(n_classes, a_class))
    for k in range(n_classes):
        bound -= dirichlet_kl(eta[k], np.full(n_subtypes, a_subtype))
    for j in range(n_annotators):
        for k, m in cells:
            bound -= dirichlet_kl(mu[j, k, m], prior[k])
    return new, bound


# -- Yan ---------------------------------------------------------------------------


def yan_evidence(weights, offset, X, rows, n_classes):
    """Log p(answers of n | z = c), straight from the definition."""
    out = np.zeros((len(X), n_classes))
    for n, a, y in zip(*rows, strict=True):
        s = offset[a] + sum(weights[a][d] * X[n][d] for d in range(X.shape[1]))
        right = 1 / (1 + math.exp(-s))
        for c in range(n_classes):
            out[n, c] += math.log(right if y == c else (1 - right) / (n_classes - 1))
    return out


def yan_objective(weights, offset, X, rows, proba, precision):
    """E_q log p(y | z, x) + log priors; precision = (of weights, of offsets)."""
    total = (proba * yan_evidence(weights, offset, X, rows, proba.shape[1])).sum()
    for a in range(len(offset)):
        total -= precision[0] * sum(w**2 for w in weights[a]) / 2
        total -= precision[1] * (offset[a] - 1) ** 2 / 2
    return total


# -- binary Gaussian processes -----------------------------------------------------


def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + math.exp(-x))


def jaakkola_bound(s, xi):
    """The quadratic in s that is at most log sigma(s), touching it at s = xi."""
    curvature = (logistic(xi) - 0.5) / (2 * xi)
    return math.log(logistic(xi)) + (s - xi) / 2 - curvature * (s**2 - xi**2)


def normal_mean(function, mean, var):
    """E function(f) where f ~ N(mean, var), by integrating the definition."""
    sd = math.sqrt(var)
    return quad(
        lambda u: norm.pdf(u) * function(mean + sd * u), -9, 9, epsabs=1e-12, limit=200
    )[0]


def squared_exponential(x, y, variance, scale):
    """The covariance of two items."""
    square = sum((x[d] - y[d]) ** 2 for d in range(len(x)))
    return variance * math.exp(-square / (2 * scale**2))


def covariance_table(X, Y, variance, scale):
    """The covariance of all pairs."""
    return np.array(
        [[squared_exponential(x, y, variance, scale) for y in Y] for x in X]
    )


def quadratic_posterior(prior_cov, shift, precision):
    """Mean and covariance of f ~ N(0, K) times exp(sum t f - w f^2 / 2): inverses."""
    cov = np.linalg.inv(np.linalg.inv(prior_cov) + np.diag(precision))
    return cov @ shift, cov


def fourier_row(x, frequencies, variance, scale):
    """The features of one item: all cosines, then all sines."""
    angles = [sum(w * v for w, v in zip(row, x, strict=True)) for row in frequencies]
    height = math.sqrt(variance / len(frequencies))
    cosines = [height * math.cos(a / scale) for a in angles]
    return cosines + [height * math.sin(a / scale) for a in angles]


def gpcr_bound(rows, q, mean, cov, xi, counts, prior, prior_cov):
    """The bound of VGPCR with every variational parameter given; q[n] = q(z_n = 1).

    counts and prior are [a][c][k]; the bound on log sigma is that of Jaakkola.
    """
    total = -gaussian_kl(mean, cov, prior_cov)
    for n in range(len(q)):
        curvature = (logistic(xi[n]) - 0.5) / (2 * xi[n])
        square = mean[n] ** 2 + cov[n][n] - xi[n] ** 2
        both = math.log(logistic(xi[n])) - xi[n] / 2 - curvature * square
        total += both + (q[n] - 0.5) * mean[n] + entropy(np.array([q[n], 1 - q[n]]))
    for n, a, y in zip(*rows, strict=True):
        for c, share in ((0, 1 - q[n]), (1, q[n])):
            total += share * (psi(counts[a][c][y]) - psi(sum(counts[a][c])))
    for a in range(len(counts)):
        for c in range(2):
            total -= dirichlet_kl(np.array(counts[a][c]), np.array(prior[a][c]))
    return total


def gpcr_log_evidence(rows, prior, prior_cov, n_nodes=40):
    """Log p(answers) of VGPCR's model: all classes, a grid over f.

    The skills are integrated in closed form. The grid has Gauss-Hermite nodes in the
    coordinates of the Cholesky factor of K.
    """
    n_items = len(prior_cov)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    axes = np.array(list(itertools.product(nodes, repeat=n_items)))
    mass = np.prod(list(itertools.product(weights, repeat=n_items)), axis=1)
    f = axes @ np.linalg.cholesky(prior_cov).T
    mass = mass / mass.sum()
    total = 0.0
    for z in itertools.product((0, 1), repeat=n_items):
        sign = 2 * np.array(z) - 1
        of_classes = float(mass @ np.prod(1 / (1 + np.exp(-f * sign)), axis=1))
        counts = np.zeros(np.shape(prior))
        for n, a, y in zip(*rows, strict=True):
            counts[a, z[n], y] += 1
        log_answers = 0.0
        for a, c in itertools.product(range(len(prior)), range(2)):
            after = log_beta(np.array(prior[a][c]) + counts[a, c])
            log_answers += after - log_beta(np.array(prior[a][c]))
        total += of_classes * math.exp(log_answers)
    return math.log(total)


# -- expectation propagation ---------------------------------------------------------


def crowd_likelihood(f, log_likelihood):
    """p(answers of one item | f): the two classes summed out."""
    none, one = (math.exp(value) for value in log_likelihood)
    return none * norm.cdf(-f) + one * norm.cdf(f)


def tilted_by_grid(mean, variance, log_likelihood):
    """Log norm, mean, variance of N(f; m, v) l(f), and p(z = 1), on a fine grid."""
    f = mean + math.sqrt(variance) * np.linspace(-12, 12, 6001)
    density = norm.pdf(f, mean, math.sqrt(variance))
    weight = density * crowd_likelihood(f, log_likelihood)
    total = np.trapezoid(weight, f)
    first = np.trapezoid(weight * f, f) / total
    second = np.trapezoid(weight * (f - first) ** 2, f) / total
    one = np.trapezoid(density * norm.cdf(f), f) * math.exp(log_likelihood[1]) / total
    return math.log(total), first, second, one


def tilted_by_probit(mean, variance, y):
    """Rasmussen and Williams, eq. 3.58: one certain class, y = -1 or 1."""
    z = y * mean / math.sqrt(1 + variance)
    ratio = norm.pdf(z) / norm.cdf(z)
    first = mean + y * variance * ratio / math.sqrt(1 + variance)
    second = variance - variance**2 * ratio / (1 + variance) * (z + ratio)
    return math.log(norm.cdf(z)), first, second


def sequential_ep(K, moments, n_sweeps):
    """Rasmussen and Williams, algorithm 3.5: one site after the other.

    moments(i, mean, variance) are log norm, mean and variance of the tilted cavity.
    Returns the sites (precision, shift) and q(f) (mean, covariance).
    """
    n = len(K)
    precision, shift = np.zeros(n), np.zeros(n)
    mean, Sigma = np.zeros(n), K.copy()
    for _ in range(n_sweeps):
        for i in range(n):
            tau = 1 / Sigma[i, i] - precision[i]
            nu = mean[i] / Sigma[i, i] - shift[i]
            _, first, second = moments(i, nu / tau, 1 / tau)[:3]
            change = 1 / second - tau - precision[i]
            precision[i] += change
            shift[i] = first / second - nu
            column = Sigma[:, i].copy()
            Sigma -= change / (1 + change * column[i]) * np.outer(column, column)
            mean = Sigma @ shift
    return (precision, shift), (mean, Sigma)


def ep_evidence(K, precision, shift, moments):
    """Log Z of EP, eq. 3.65, from the means and variances of the sites."""
    n = len(K)
    site_var, site_mean = 1 / precision, shift / precision
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
    mean = Sigma @ shift
    whole = K + np.diag(site_var)
    total = -0.5 * np.linalg.slogdet(whole)[1]
    total -= 0.5 * site_mean @ np.linalg.solve(whole, site_mean)
    for i in range(n):
        tau = 1 / Sigma[i, i] - precision[i]
        m = (mean[i] / Sigma[i, i] - shift[i]) / tau
        both = 1 / tau + site_var[i]  # negative where the precision of the site is
        total += moments(i, m, 1 / tau)[0]
        total += 0.5 * math.log(abs(both)) + (m - site_mean[i]) ** 2 / (2 * both)
    return total


def gp_crowd_by_sampling(K, log_likelihood, n_samples, seed):
    """Evidence, means, variances and p(z = 1) of all items: samples of the prior.

    Also the standard errors of the evidence (relative) and of the means.
    """
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n_samples, len(K))) @ np.linalg.cholesky(K).T
    like = np.ones(n_samples)
    for n in range(len(K)):
        like *= crowd_likelihood(f[:, n], log_likelihood[n])
    evidence = like.mean()
    weight = like / like.sum()
    mean = weight @ f
    variance = weight @ (f - mean) ** 2
    one = np.zeros(len(K))
    for n in range(len(K)):
        joint = norm.cdf(f[:, n]) * math.exp(log_likelihood[n][1])
        one[n] = weight @ (joint / crowd_likelihood(f[:, n], log_likelihood[n]))
    relative = like.std() / evidence / math.sqrt(n_samples)
    error = np.sqrt(weight**2 @ (f - mean) ** 2)
    return evidence, mean, variance, one, relative, error


# -- networks for crowds -------------------------------------------------------------


def softmaxed(row):
    total = sum(math.exp(v) for v in row)
    return [math.exp(v) / total for v in row]


def layer_matrix(kind, params, a, n_classes, n_answers):
    """W[c][k] of annotator a: VW, VW-B or MW."""
    out = [[0.0] * n_answers for _ in range(n_classes)]
    for c in range(n_classes):
        for k in range(n_answers):
            if kind == "mw":
                out[c][k] = float(params["matrix"][a][c][k])
                continue
            if c == k:
                out[c][k] += float(params["weight"][a][c])
            if kind == "vwb" or k >= n_classes:
                out[c][k] += float(params["offset"][a][k])
    return out


def layer_answer(kind, mixture, params, a, proba, n_answers):
    """p(y = k | x, a) of every answer k, from the class probabilities of one item."""
    n_classes = len(proba)
    W = layer_matrix(kind, params, a, n_classes, n_answers)
    if mixture:
        R = [softmaxed(W[c]) for c in range(n_classes)]
        return [
            sum(proba[c] * R[c][k] for c in range(n_classes)) for k in range(n_answers)
        ]
    activation = [
        sum(proba[c] * W[c][k] for c in range(n_classes)) for k in range(n_answers)
    ]
    return softmaxed(activation)


def conal_share(params, x, a):
    """σ(v(x) · u[a]) with vectors of length one."""
    between = [
        sum(x[d] * params["seen"][d][h] for d in range(len(x))) + params["seen_bias"][h]
        for h in range(params["seen"].shape[1])
    ]
    v = [
        sum(between[h] * params["item"][h][e] for h in range(len(between)))
        + params["item_bias"][e]
        for e in range(params["item"].shape[1])
    ]
    u = [float(value) for value in params["annotator"][a]]
    length = math.sqrt(sum(i * i for i in v)) * math.sqrt(sum(i * i for i in u))
    dot = sum(i * j for i, j in zip(v, u, strict=True)) / length
    return 1 / (1 + math.exp(-dot))


def conal_mixed(params, x, a):
    """s W_G + (1 − s) W[a], as published: [C][K]."""
    s = conal_share(params, x, a)
    n_classes, n_answers = params["common"].shape
    return [
        [
            s * params["common"][c][k] + (1 - s) * params["matrix"][a][c][k]
            for k in range(n_answers)
        ]
        for c in range(n_classes)
    ]


def conal_answer(params, x, a, proba):
    """p(y = k | x, a) of every answer k, as published: the activations are mixed."""
    W = conal_mixed(params, x, a)
    return softmaxed(
        [sum(proba[c] * W[c][k] for c in range(len(W))) for k in range(len(W[0]))]
    )


def conal_given(params, x, a, y):
    """p(y | z = c, x, a) of every class c."""
    s = conal_share(params, x, a)
    n_classes = params["common"].shape[0]
    common = [softmaxed(params["common"][c])[y] for c in range(n_classes)]
    own = [softmaxed(params["matrix"][a][c])[y] for c in range(n_classes)]
    return [s * common[c] + (1 - s) * own[c] for c in range(n_classes)]


def items_log_likelihood(proba, given_of_row, rows, gold):
    """Log p(gold, all answers | x) of items; given_of_row(n, a, y) is p(y | c)."""
    out = []
    for n in range(len(proba)):
        joint = [float(p) for p in proba[n]]
        if gold[n] >= 0:
            joint = [p if c == gold[n] else 0.0 for c, p in enumerate(joint)]
        for i, a, y in zip(*rows, strict=True):
            if i == n:
                given = given_of_row(n, a, y)
                joint = [p * g for p, g in zip(joint, given, strict=True)]
        out.append(math.log(sum(joint)))
    return out


def explained_share(proba):
    """1 − mean H(p) / H(mean p)."""
    mean = [sum(row[c] for row in proba) / len(proba) for c in range(len(proba[0]))]
    each = sum(entropy(np.array(row)) for row in proba) / len(proba)
    return max(0.0, 1 - each / entropy(np.array(mean)))


def volume(proba, floor):
    """−log det of (1 / B) Σ p pᵀ + floor · I, by Leibniz's formula."""
    n_classes = len(proba[0])
    gram = [[0.0] * n_classes for _ in range(n_classes)]
    for row in proba:
        for c in range(n_classes):
            for d in range(n_classes):
                gram[c][d] += row[c] * row[d] / len(proba)
    for c in range(n_classes):
        gram[c][c] += floor
    total = 0.0
    for order in itertools.permutations(range(n_classes)):
        n_swapped = sum(
            order[i] > order[j]
            for i in range(n_classes)
            for j in range(i + 1, n_classes)
        )
        term = (-1.0) ** n_swapped
        for c in range(n_classes):
            term *= gram[c][order[c]]
        total += term
    return -math.log(total)


def losses_of_networks(said, proba, log_given, seen):
    """Mean over a batch, summed over networks: of soft labels, and of answers.

    −Σ_c proba_c log p_c and −log Σ_c p_c R_c, of what each network may see.
    """
    of_labels = of_answers = 0.0
    n_networks, n_batch, n_classes = said.shape
    for e in range(n_networks):
        for n in range(n_batch):
            likely = 0.0
            for c in range(n_classes):
                of_labels -= seen[e, n] * proba[n, c] * said[e, n, c] / n_batch
                likely += np.exp(said[e, n, c] + log_given[n, c])
            of_answers -= seen[e, n] * np.log(likely) / n_batch
    return of_labels, of_answers


def perceptron(layers, x):
    """Logits of one row: relu between linear layers (weight [out][in], bias [out])."""
    for number, (weight, bias) in enumerate(layers):
        x = [
            sum(weight[o][i] * x[i] for i in range(len(x))) + bias[o]
            for o in range(len(bias))
        ]
        if number < len(layers) - 1:
            x = [max(v, 0.0) for v in x]
    return x


def convolved(image, weight, bias):
    """Relu of a convolution that keeps the size: image [in][h][w], odd kernels."""
    n_out, n_in, size, _ = weight.shape
    reach = size // 2
    _, height, width = image.shape
    out = np.zeros((n_out, height, width))
    for o, i, j in itertools.product(range(n_out), range(height), range(width)):
        total = float(np.ravel(bias[o])[0])
        for c, di, dj in itertools.product(range(n_in), range(size), range(size)):
            row, column = i + di - reach, j + dj - reach
            if 0 <= row < height and 0 <= column < width:
                total += weight[o, c, di, dj] * image[c, row, column]
        out[o, i, j] = max(total, 0.0)
    return out


def pooled(image):
    """The largest of every 2 x 2 pixels; what is left over is cut off."""
    n, height, width = image.shape
    out = np.zeros((n, height // 2, width // 2))
    for c, i, j in np.ndindex(*out.shape):
        out[c, i, j] = image[c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()
    return out


# -- a kernel on the output of a network ----------------------------------------------


def deep_kernel(layers, centre, spread, k):
    """k((g(x) − centre) / spread, (g(y) − centre) / spread), g a perceptron."""

    def out(x):
        raw = perceptron(layers, x)
        return [(raw[e] - centre[e]) / spread for e in range(len(raw))]

    return lambda x, y: k(out(x), out(y))


# -- the pool: labels from all witnesses ----------------------------------------------
# `rows` are (item, annotator, answer) of every answer; a reading is a dictionary of
# counts [A][C][K], totals [A][C] and log_class [C].


def reading(rows, proba, prior, class_prior, selective):
    """Concentrations, what a row of them is divided by, and log shares of classes.

    A row of a selective annotator is divided by what would be expected if the items
    were drawn at random; in between, by the weighted geometric mean.
    """
    n_annotators, (n_classes, n_answers) = len(selective), prior.shape[1:]
    counts = np.zeros((n_annotators, n_classes, n_answers))
    totals = np.zeros((n_annotators, n_classes))
    size = [class_prior + sum(row[c] for row in proba) for c in range(n_classes)]
    shares = [size[c] / sum(size) for c in range(n_classes)]
    for a in range(n_annotators):
        own = prior[a if len(prior) > 1 else 0]
        n_given = sum(annotator == a for _, annotator, _ in rows)
        for c in range(n_classes):
            for k in range(n_answers):
                counts[a, c, k] = own[c, k]
            for n, annotator, y in rows:
                if annotator == a:
                    counts[a, c, y] += proba[n, c]
            drawn = n_given * shares[c] + sum(own[c])
            s = selective[a]
            totals[a, c] = drawn**s * sum(counts[a, c]) ** (1 - s)
    log_class = [math.log(share) for share in shares]
    return {"counts": counts, "totals": totals, "log_class": np.array(log_class)}


def log_given(reading, rows, proba):
    """Log p(y | z = c) of every answer; the item's own part is left out, if it has."""
    out = np.zeros((len(rows), len(reading["log_class"])))
    for r, (n, a, y) in enumerate(rows):
        for c in range(out.shape[1]):
            own = 0.0 if proba is None else proba[n, c]
            seen, total = (
                reading["counts"][a, c, y] - own,
                reading["totals"][a, c] - own,
            )
            out[r, c] = math.log(max(seen, 1e-9) / max(total, 1e-9))
    return out


def weighted_evidence(reading, rows, weight, proba, n_items, lean=None):
    """Σ weight log p(y | z = c), or Σ weight lean[a] log p(y | z = c), per item."""
    said = log_given(reading, rows, proba)
    out = np.zeros((n_items, said.shape[1]))
    for r, (n, a, _) in enumerate(rows):
        for c in range(said.shape[1]):
            out[n, c] += weight[r] * (1.0 if lean is None else lean[a]) * said[r, c]
    return out


def design_effect(n, dependence):
    return 1.0 if n <= 1 else 1 + dependence * (n - 1)


def log_votes(rows, weight, n_items, n_classes):
    """Log shares of the votes, with one more vote that all classes share."""
    out = np.zeros((n_items, n_classes))
    for n in range(n_items):
        votes = [1 / n_classes] * n_classes
        for (item, _, y), w in zip(rows, weight, strict=True):
            if item == n and y < n_classes:
                votes[y] += w
        for c in range(n_classes):
            out[n, c] = math.log(votes[c] / sum(votes))
    return out


def softmaxed_or_known(row, known=-1):
    """The softmax of a row of logs; certain where the class is known."""
    if known >= 0:
        return [1.0 if c == known else 0.0 for c in range(len(row))]
    largest = max(row)
    total = sum(math.exp(x - largest) for x in row)
    return [math.exp(x - largest) / total for x in row]


def pool_labels(rows, weight, proba, readings, pool, gold, beyond=None, verdict=None):
    """The formula at the top of `maths/pool/__init__.py`, a class after the other.

    `pool` is a dictionary; `verdict` stands for what the readings say, if given.
    """
    n_items, n_classes = len(gold), len(pool["shift"])
    votes = log_votes(rows, weight, n_items, n_classes)
    said = [weighted_evidence(r, rows, weight, proba, n_items) for r in readings]
    lean = pool["lean"]
    more = [weighted_evidence(r, rows, weight, proba, n_items, lean) for r in readings]
    d_mean = design_effect(pool["n_mean"], pool["dependence"])
    v, n_readings = pool["votes"], len(readings)
    out = np.zeros((n_items, n_classes))
    for n in range(n_items):
        n_each = sum(
            w for (item, _, _), w in zip(rows, weight, strict=True) if item == n
        )
        d = design_effect(n_each, pool["dependence"])
        for c in range(n_classes):
            of_readings, leaning = 0.0, 0.0
            for m, r in enumerate(readings):
                of_class = r["log_class"][c] / math.sqrt(d_mean)
                of_readings += (of_class + said[m][n, c] / d) / n_readings
                leaning += more[m][n, c] / d / n_readings
            if verdict is not None:
                of_readings = verdict[n, c] / d
            out[n, c] = pool["exponent"] * ((1 - v) * of_readings + v * votes[n, c])
            out[n, c] += pool["shift"][c] + leaning
            if beyond is not None:
                out[n, c] += pool["features"] * beyond[n, c]
        out[n] = softmaxed_or_known(out[n], gold[n])
    return out


def left_out(rows, weight, proba, readings, selective):
    """[(given, others, n_others)] of every answer on an item with more than one.

    `given` and `others` have one list per reading. Answers of annotators who are
    probably selective are left out, but they stay among the others.
    """
    found = []
    said = [log_given(r, rows, proba) for r in readings]
    for at, (n, a, _) in enumerate(rows):
        beside = [i for i, row in enumerate(rows) if row[0] == n and i != at]
        if not beside or selective[a] >= 0.5:
            continue
        given, others = [], []
        for m, r in enumerate(readings):
            given.append([min(math.exp(x), 1.0) for x in said[m][at]])
            others.append(
                [
                    r["log_class"][c] + sum(weight[i] * said[m][i, c] for i in beside)
                    for c in range(len(r["log_class"]))
                ]
            )
        found.append((given, others, sum(weight[i] for i in beside)))
    return found


def items_of_left_out(rows, selective):
    """The items of the answers that `left_out` returns, in its order."""
    return [
        n
        for at, (n, a, _) in enumerate(rows)
        if selective[a] < 0.5 and any(r[0] == n for r in rows[:at] + rows[at + 1 :])
    ]


def left_out_log_likelihood(given, others, n_others, rate, exponent=1.0, more=None):
    """Log of the mean over readings of Σ p(c | others, discounted) p(y | c).

    `more` is added to what the others say about every class.
    """
    d = design_effect(n_others, rate / (1 + rate))
    chance = 0.0
    for p, logs in zip(given, others, strict=True):
        extra = more or [0.0] * len(logs)
        joint = [exponent * x / d + y for x, y in zip(logs, extra, strict=True)]
        of_class = softmaxed_or_known(joint)
        chance += sum(q * g for q, g in zip(of_class, p, strict=True)) / len(given)
    return math.log(max(chance, 1e-12))


def cross_entropy_of_power(log_proba, proba, log_shares, exponent):
    """Mean of −Σ q log softmax(log shares + exponent × log p)."""
    total = 0.0
    for logs, q in zip(log_proba, proba, strict=True):
        joint = [s + exponent * x for s, x in zip(log_shares, logs, strict=True)]
        said = softmaxed_or_known(joint)
        total -= sum(q[c] * math.log(said[c]) for c in range(len(q)))
    return total / len(proba)


def explained_of_labels(log_proba, proba):
    """(H − the least cross-entropy) / (H − mean entropy), over a grid of exponents."""
    n_classes = len(proba[0])
    shares = [sum(row[c] for row in proba) / len(proba) for c in range(n_classes)]
    log_shares = [math.log(s) for s in shares]
    cross = min(
        cross_entropy_of_power(log_proba, proba, log_shares, math.exp(x))
        for x in np.linspace(-4, 1.4, 400)
    )
    unknown = entropy(shares)
    known = unknown - sum(entropy(row) for row in proba) / len(proba)
    return min(max((unknown - cross) / known, 0.0), 1.0)


def gold_loss(witnesses, start, pool, gold, spreads):
    """−log p(gold) − log p(pool) of a pool that gold has moved from its start.

    `witnesses` are the arguments of :func:`pool_labels` before the pool, and beyond;
    spreads are those of (log t, b, log x), and of l.
    """
    *crowd, beyond = witnesses
    proba = pool_labels(*crowd, pool, [-1] * len(gold), beyond)
    loss = -sum(math.log(proba[n, z]) for n, z in enumerate(gold))
    moved = [math.log(pool["exponent"] / start["exponent"])]
    moved += [math.log(pool["features"] / start["features"]), *pool["shift"]]
    loss += sum(0.5 * (x / spreads[0]) ** 2 for x in moved)
    return loss + sum(0.5 * (x / spreads[1]) ** 2 for x in pool["lean"])


# -- annotators who are not independent -----------------------------------------------


def pairs_of_annotators(rows, n_annotators, least):
    """{(a, b): (common items, items with the same answer)}; one answer per item."""
    said = [{n: y for n, annotator, y in rows if annotator == a}
            for a in range(n_annotators)]  # fmt: skip
    found = {}
    for a, b in itertools.combinations(range(n_annotators), 2):
        common = [n for n in said[a] if n in said[b]]
        if len(common) >= least:
            same = sum(said[a][n] == said[b][n] for n in common)
            found[a, b] = (len(common), same)
    return found


def kappa_of_pair(rows, n_answers, a, b, common, agree):
    """Cohen's κ; the shares of an annotator's answers hold one answer of the crowd."""
    crowd = [sum(y == k for _, _, y in rows) / len(rows) for k in range(n_answers)]
    own = {}
    for who in (a, b):
        given = [y for _, annotator, y in rows if annotator == who]
        own[who] = [
            (given.count(k) + crowd[k]) / (len(given) + 1) for k in range(n_answers)
        ]
    chance = sum(own[a][k] * own[b][k] for k in range(n_answers))
    return (agree / common - chance) / max(1 - chance, 0.05)


def are_copies(rows, a, b, least, same, odd):
    """Whether a and b share enough items, nearly all answers, and odd ones too."""
    said = {who: {n: y for n, w, y in rows if w == who} for who in (a, b)}
    common = [n for n in said[a] if n in said[b]]
    alike = [n for n in common if said[a][n] == said[b][n]]
    if len(common) < least or len(alike) < same * len(common):
        return False
    for who in (a, b):
        given = list(said[who].values())
        if max(given.count(y) for y in given) >= same * len(given):
            return False
    n_odd = 0
    for n in alike:
        others = [y for item, w, y in rows if item == n and w not in (a, b)]
        n_odd += bool(others) and 2 * others.count(said[a][n]) < len(others)
    return n_odd >= odd


def selective_proba(rows, a, n_answers, right, wrong):
    """Whether whether a answers is the evidence: the odds of a Beta and a coin."""
    given = [y for _, w, y in rows if w == a]
    if not given:
        return 0.0
    top = max(range(n_answers), key=given.count)
    share = sum(y == top for _, _, y in rows) / len(rows)
    share = min(max(share, 0.02), 0.98)
    if given.count(top) - share * len(given) < 0.5 * (1 - share) * len(given):
        return 0.0
    agree = disagree = 0.0
    for n, w, _ in rows:
        others = [y for item, v, y in rows if item == n and v != a]
        if w == a and others:
            agree += others.count(top) / len(others)
            disagree += 1 - others.count(top) / len(others)

    def log_beta_of(x, y):
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    odds = log_beta_of(right + agree, wrong + disagree) - log_beta_of(right, wrong)
    odds -= agree * math.log(share) + disagree * math.log(1 - share)
    return 1 / (1 + math.exp(-odds))


def q_energy(spectrum, centre, q, seconds, n_moments):
    """|Σ_k w_k X_k exp(2πi k t)|² at so many moments t, a row of a Q-transform.

    w_k = (1 − x²)² with x = (f_k − centre) q / (√11 centre), 0 where |x| > 1, scaled so
    that noise with E|X|² = number of samples has energy 1.
    """
    n_samples = 2 * (len(spectrum) - 1)
    weights = np.zeros(len(spectrum))
    for k in range(len(spectrum)):
        x = (k / seconds - centre) * q / (np.sqrt(11) * centre)
        if abs(x) <= 1:
            weights[k] = (1 - x**2) ** 2
    weights /= np.sqrt(n_samples * (weights**2).sum())
    used = np.flatnonzero(weights)
    energy = np.empty(n_moments)
    for m in range(n_moments):
        turns = used * m / n_moments
        total = (weights[used] * spectrum[used] * np.exp(2j * np.pi * turns)).sum()
        energy[m] = abs(total) ** 2
    return energy


def mean_and_spread(column):
    """Mean and standard deviation of a column, one number after the other."""
    mean = math.fsum(column) / len(column)
    return mean, math.sqrt(math.fsum((x - mean) ** 2 for x in column) / len(column))
