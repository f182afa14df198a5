"""Crowds whose truth and whose confusion matrices are known."""
