"""Simulated crowds: the true classes and the confusion matrices are known."""
