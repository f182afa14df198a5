"""Sparse Gaussian processes on JAX: kernels, links, the posterior of the class."""
