"""One number that makes a network's probabilities honest, learned from answers."""

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

MOST = 8.0  # times that logits may be divided or multiplied


def tempered(
    log_proba: Float[np.ndarray, "N C"], temperature: float
) -> Float[np.ndarray, "N C"]:
    """Log softmax(log p / T)."""
    divided = log_proba / temperature
    return divided - logsumexp(divided, axis=1, keepdims=True)


def log_likelihood(
    log_proba: Float[np.ndarray, "N C"],
    evidence: Float[np.ndarray, "N C"],
    temperature: float,
) -> float:
    """Σₙ log Σ_c softmax_c(log p / T) e^{evidence_c}, the answers' log-likelihood."""
    said = tempered(log_proba, temperature) + evidence
    return float(logsumexp(said, axis=1).sum())


def fitted_temperature(
    log_proba: Float[np.ndarray, "N C"], evidence: Float[np.ndarray, "N C"]
) -> float:
    """Return the T that makes the answers on held-out items likeliest; 1 without any.

    No class of these items is known. What the annotators say about them stands in for
    it, each as sure as the annotator is good.
    """
    if not len(log_proba):
        return 1.0
    found = minimize_scalar(
        lambda log_t: -log_likelihood(log_proba, evidence, float(np.exp(log_t))),
        bounds=(-np.log(MOST), np.log(MOST)),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))
