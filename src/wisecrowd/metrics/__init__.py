"""Scores of class probabilities, agreement of annotators, errors of estimates."""

from wisecrowd.metrics.agreement import (
    CrowdAnswers,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_cohen,
)
from wisecrowd.metrics.confusion import confusion_error
from wisecrowd.metrics.probability import (
    N_BINS,
    SMALLEST_PROBABILITY,
    accuracy,
    auc,
    brier,
    calibration_error,
    log_loss,
    mean_likelihood,
    scores,
    truth_codes,
)
from wisecrowd.metrics.reliability import Reliability, reliability

__all__ = [
    "N_BINS",
    "SMALLEST_PROBABILITY",
    "CrowdAnswers",
    "Reliability",
    "accuracy",
    "auc",
    "brier",
    "calibration_error",
    "confusion_error",
    "fleiss_kappa",
    "krippendorff_alpha",
    "log_loss",
    "mean_likelihood",
    "pairwise_cohen",
    "reliability",
    "scores",
    "truth_codes",
]
