"""Annotations, tables, platforms, data sets and simulated crowds."""
