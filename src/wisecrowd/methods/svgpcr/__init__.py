"""SVGPCR: sparse Gaussian processes learned jointly with every annotator."""

from wisecrowd.methods.svgpcr.estimator import SVGP, SVGPCR

__all__ = ["SVGP", "SVGPCR"]
